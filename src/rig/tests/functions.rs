// SPDX-License-Identifier: MIT OR Apache-2.0
//! Functions of bodies with finer levels that rigs need: where they are, how many, and what they gain.

use super::*;
use crate::body::BodySettings;
use crate::dynamics::{Adaptation, Method, Simulation, SimulationSettings};
use crate::elasticity::Material;
use crate::lattice::{EncloseSettings, Lattice};
use crate::progress::Silent;
use crate::skeleton::{Pose, Skeleton, SkinWeights};
use crate::surface::Surface;
use std::f64::consts::TAU;
use std::sync::{Arc, OnceLock};

/// Returns a tube of flesh around two bones along z, with skin finer than its lattice.
fn tube(basis_levels: usize) -> Arc<Body> {
    const RINGS: u32 = 40;
    const AROUND: u32 = 24;
    let ring = |k: u32| {
        let along = f64::from(k) / f64::from(RINGS - 1);
        let radius = if k == 0 || k == RINGS - 1 { 0.05 } else { 0.1 };
        (0..AROUND).map(move |j| {
            let (s, c) = (TAU * f64::from(j) / f64::from(AROUND)).sin_cos();
            Vec3::new(radius * c, radius * s, along)
        })
    };
    let mut vertices: Vec<Vec3> = (0..RINGS).flat_map(ring).collect();
    vertices.extend([Vec3::zeros(), Vec3::z()]);
    let at = |k: u32, j: u32| k * AROUND + j % AROUND;
    let mut triangles = Vec::new();
    for j in 0..AROUND {
        let ends = RINGS * AROUND;
        triangles.push([ends, at(0, j + 1), at(0, j)]);
        triangles.push([ends + 1, at(RINGS - 1, j), at(RINGS - 1, j + 1)]);
        for k in 0..RINGS - 1 {
            triangles.push([at(k, j), at(k, j + 1), at(k + 1, j + 1)]);
            triangles.push([at(k, j), at(k + 1, j + 1), at(k + 1, j)]);
        }
    }
    let rows = vertices.iter().map(|x| {
        let upper = ((x.z - 0.4) / 0.2).clamp(0.0, 1.0);
        [(0, 1.0 - upper), (1, upper)]
    });
    let skin = SkinWeights::from_rows(2, rows).unwrap();
    let surface = Arc::new(Surface::new(vertices, triangles).unwrap());
    let names = vec!["lower".into(), "upper".into()];
    let heads = vec![Vec3::z() * 0.05, Vec3::z() * 0.5];
    let tails = vec![Vec3::z() * 0.5, Vec3::z() * 0.95];
    let skeleton = Skeleton::new(names, vec![None, Some(0)], heads, tails);
    let skeleton = Arc::new(skeleton.unwrap());
    let settings = EncloseSettings {
        cells_across: 8.0,
        ..Default::default()
    };
    let lattice = Lattice::enclose(&surface, &skeleton, Some(&skin), settings, &Silent);
    let lattice = Arc::new(lattice.unwrap());
    let options = BodySettings {
        region_weights: Some(skin),
        basis_levels,
        level: basis_levels.max(1),
        ..Default::default()
    };
    let material = Material::default();
    let body = Body::new(&surface, &skeleton, &lattice, material, &options, &Silent);
    Arc::new(body.unwrap())
}

fn rest() -> Pose {
    Pose::rest(2)
}

/// Returns the wish of a bump on one side of the tube, m: narrower than a cell.
fn bump(body: &Body) -> Vec<Vec3> {
    let wish = |x: &Vec3| {
        let away = (x - Vec3::new(0.1, 0.0, 0.75)).norm() / 0.05;
        Vec3::x() * (0.01 * (-away * away).exp())
    };
    body.surface().vertices().iter().map(wish).collect()
}

/// Returns the body with one level, and the rig of the bump.
fn bumped() -> &'static (Arc<Body>, Rig) {
    static BUMPED: OnceLock<(Arc<Body>, Rig)> = OnceLock::new();
    BUMPED.get_or_init(|| {
        let body = tube(1);
        let skin = skin(&body, None, Adaptation::None);
        let target: Vec<Vec3> = skin.iter().zip(bump(&body)).map(|(p, d)| p + d).collect();
        let settings = SurfaceFitSettings {
            gravity: Vec3::zeros(),
            ..Default::default()
        };
        let target = SurfaceTarget::Vertices(&target);
        let rig = fit_surface(&body, &rest(), target, &settings, &Silent).unwrap();
        (body, rig)
    })
}

/// Returns the skin at rest under forces in a motion that adapts.
fn skin(body: &Arc<Body>, forces: Option<&[Vec3]>, adapt: Adaptation) -> Vec<Vec3> {
    let settings = SimulationSettings {
        adapt,
        gravity: Vec3::zeros(),
        ..SimulationSettings::for_method(Method::Warped)
    };
    let mut sim = Simulation::new(body.clone(), settings).unwrap();
    sim.reset(&rest(), true, forces).unwrap();
    let embedding = body.embedding();
    let places = sim.lattice_positions();
    (0..embedding.len())
        .map(|v| embedding.position(v, places))
        .collect()
}

/// Few functions are chosen, all near the bump, and with them alone the skin comes nearly as near as with all.
#[test]
fn few_functions_gain_most() {
    let (body, rig) = bumped();
    let (coarse, flags) = (body.basis().coarse_len(), rig.functions(body).unwrap());
    assert!(flags[..coarse].iter().all(|own| *own));
    let own: Vec<usize> = (coarse..flags.len()).filter(|&a| flags[a]).collect();
    let share = own.len() as f64 / (flags.len() - coarse) as f64;
    assert!(!own.is_empty() && share < 0.2, "{share}");
    let centres = body.basis().centres();
    let away = |a: usize| (centres[a] - Vec3::new(0.1, 0.0, 0.75)).norm();
    let size = body.size();
    assert!(own.iter().all(|&a| away(a) < 0.35 * size));

    let forces = |body: &Body| rig.forces_at_control(body, 1.0, &[1.0]).unwrap();
    let left = |skin: Vec<Vec3>| {
        let missed = skin.iter().zip(body.surface().vertices()).zip(bump(body));
        missed
            .map(|((p, x), d)| (p - x - d).norm_squared())
            .sum::<f64>()
            .sqrt()
    };
    let adapted = rig.forces_among(body, 1.0, &[1.0], &flags).unwrap();
    for (a, f) in adapted.iter().enumerate() {
        assert!(flags[a] || *f == Vec3::zeros());
    }
    let plain = tube(0);
    let none = left(skin(&plain, Some(&forces(&plain)), Adaptation::None));
    let all = left(skin(body, Some(&forces(body)), Adaptation::None));
    let some = left(skin(body, Some(&adapted), Adaptation::Rigs));
    assert!(all < 0.7 * none, "{all} {none}");
    let missed = (some - all) / (none - all);
    assert!(missed < 0.2, "{missed}: {none} {some} {all}");
}

/// The functions are the same for any mesh of the character and in files, and without finer levels all are needed.
#[test]
fn functions_follow_the_rig() {
    let (body, rig) = bumped();
    let flags = rig.functions(body).unwrap();
    let text = format_rigs(std::slice::from_ref(rig)).unwrap();
    let again = parse_rigs("rigs", &text).unwrap();
    assert_eq!(again[0].functions(body).unwrap(), flags);
    let plain = tube(0);
    assert_eq!(
        rig.functions(&plain).unwrap(),
        vec![true; plain.node_count()]
    );
    let own = rig.forces_among(&plain, 1.0, &[1.0], &vec![true; plain.node_count()]);
    assert_eq!(own, rig.forces_at_control(&plain, 1.0, &[1.0]));
    let other = rig.forces_among(body, 1.0, &[1.0], &[true]);
    assert!(matches!(other, Err(RigError::Field { given: 1, .. })));
    // Half the offsets need the same functions, whose forces are half as large.
    let half = rig.forces_among(body, 0.5, &[1.0], &flags).unwrap();
    let whole = rig.forces_among(body, 1.0, &[1.0], &flags).unwrap();
    for (h, w) in half.iter().zip(&whole) {
        assert!((h * 2.0 - w).norm() <= 1e-12 * w.norm());
    }
}

/// A rig makes the same shape where other functions are active too: forces on these keep it from relaxing into them.
#[test]
fn shape_stays_among_other_functions() {
    let (body, rig) = bumped();
    let own = rig.functions(body).unwrap();
    let embedding = body.embedding();
    let mut more = own.clone();
    for v in 0..embedding.len() {
        if bump(body)[v].norm() > 1e-4 {
            embedding.row(v).for_each(|(a, _)| more[a] = true);
        }
    }
    assert!(more != own);
    let placed = |flags: &[bool]| {
        let forces = rig.forces_among(body, 1.0, &[1.0], flags).unwrap();
        skin(body, Some(&forces), Adaptation::Rigs)
    };
    let (alone, among, all) = (placed(&own), placed(&more), placed(&vec![true; own.len()]));
    let size = bump(body).iter().map(Vec3::norm).fold(0.0, f64::max);
    for ((a, b), c) in alone.iter().zip(&among).zip(&all) {
        assert!((a - b).norm() < 1e-2 * size && (a - c).norm() < 1e-2 * size);
    }
}

/// A template needs the functions that its field meets, at any of its samples, and none of finer levels where it misses the flesh.
#[test]
fn template_needs_functions_in_its_field() {
    let (body, _) = bumped();
    let coarse = body.basis().coarse_len();
    let template = Template::new(TemplateKind::Bump, &[0.05, 1e4]).unwrap();
    let guide = |x: f64| {
        let frame = frame_at(Vec3::new(x, 0.0, 0.75));
        Guide::free(frame, [0.0; 6]).unwrap()
    };
    let rig = Rig::new("Bump", template, guide(0.08), Vec::new()).unwrap();
    let flags = rig.functions(body).unwrap();
    let forces = rig.forces(body, &rig.own_parameters()).unwrap();
    for (a, f) in forces.iter().enumerate() {
        assert_eq!(flags[a], a < coarse || *f != Vec3::zeros());
    }
    let finer = flags[coarse..].iter().filter(|own| **own).count();
    assert!(finer > 0 && finer < (flags.len() - coarse) / 4, "{finer}");
    let outside = Rig::new("Far", template, guide(9.0), Vec::new()).unwrap();
    let flags = outside.functions(body).unwrap();
    assert!(
        flags
            .iter()
            .enumerate()
            .all(|(a, own)| *own == (a < coarse))
    );
}

/// A muscle needs the functions that its points and the skin around it reach, and acts on no others. Functions that do not act hold the skin back
/// somewhat.
#[test]
fn muscle_needs_functions_in_its_reach() {
    let (body, _) = bumped();
    let coarse = body.basis().coarse_len();
    let place = |bone: u32, along: f64| MusclePlace {
        bone: BoneRef::Index(bone),
        values: [along, 0.0, 0.05],
    };
    let muscle = MuscleRig::new(place(0, 0.6), place(1, 0.4), [0.3, 0.03, 0.0]).unwrap();
    let rig = Rig::muscle("biceps", muscle, Vec::new()).unwrap();
    let flags = rig.functions(body).unwrap();
    let finer = flags[coarse..].iter().filter(|own| **own).count();
    assert!(finer > 0 && finer < (flags.len() - coarse) / 2, "{finer}");
    let eta = rig.own_parameters();
    let forces = rig.forces_among(body, 1.0, &eta, &flags).unwrap();
    assert_eq!(forces, rig.forces(body, &eta).unwrap());
    for (a, f) in forces.iter().enumerate() {
        assert!(flags[a] || *f == Vec3::zeros());
    }
    let still = skin(body, None, Adaptation::None);
    let some = skin(body, Some(&forces), Adaptation::Rigs);
    let all = skin(body, Some(&forces), Adaptation::None);
    let far = |a: &[Vec3], b: &[Vec3]| {
        let each = a.iter().zip(b).map(|(a, b)| (a - b).norm());
        each.fold(0.0, f64::max)
    };
    let (moved, missed) = (far(&all, &still), far(&all, &some));
    assert!(moved > 1e-3 && missed < 0.25 * moved, "{missed} of {moved}");
}
