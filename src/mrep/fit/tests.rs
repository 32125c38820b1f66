// SPDX-License-Identifier: MIT OR Apache-2.0
//! Fits to shapes with known answers.

use super::*;
use crate::Mat3;
use crate::mrep::fixture::{ellipsoid, helix};
use crate::progress::Silent;
use crate::surface::shapes::{self, Random, TestMesh};
use std::f64::consts::TAU;

/// Builds a superquadric, twisted and bent.
fn superquadric(n: u32) -> TestMesh {
    shapes::sphere(1.0, n).map_vertices(|p| {
        let p = p.map(|x: f64| x.signum() * x.abs().powf(0.8));
        let p = Vec3::new(p.x * 2.0, p.y * 1.0, p.z * 0.5);
        let (sin, cos) = (0.25 * p.x).sin_cos();
        let p = Vec3::new(p.x, p.y * cos - p.z * sin, p.y * sin + p.z * cos);
        let (sin, cos) = (0.3 * p.x).sin_cos();
        let r = 1.0 / 0.3 + p.z;
        Vec3::new(r * sin, p.y, r * cos - 1.0 / 0.3)
    })
}

fn surface(shape: TestMesh) -> Surface {
    Surface::new(shape.vertices, shape.triangles).unwrap()
}

fn template() -> Figure {
    ellipsoid([2.0, 1.0, 0.5], 3, 7, 0.8)
}

fn fit(figure: &Figure, surface: &Surface, settings: &FigureFitSettings) -> FigureFit {
    figure
        .fit_surface(surface, None, settings, &Silent)
        .unwrap()
}

fn turn() -> Mat3 {
    *nalgebra::Rotation3::new(Vec3::new(0.4, -1.1, 2.0)).matrix()
}

/// Returns the largest difference between atoms of two figures, in sizes.
fn difference(a: &Figure, b: &Figure) -> f64 {
    let size = a.size();
    let of = |(a, b): (&crate::mrep::Atom, &crate::mrep::Atom)| {
        let lengths = a.lengths.iter().zip(&b.lengths).map(|(a, b)| (a - b).abs());
        ((a.hub - b.hub).norm() / size)
            .max((a.radius - b.radius).abs() / size)
            .max((a.frame - b.frame).amax())
            .max((a.angle - b.angle).abs())
            .max((a.end - b.end).abs())
            .max(lengths.fold(0.0, f64::max))
    };
    a.atoms().iter().zip(b.atoms()).map(of).fold(0.0, f64::max)
}

/// A fit reaches a bent superquadric, and every accepted step lowers the energy.
#[test]
fn fit_reaches_bent_superquadric() {
    let surface = surface(superquadric(64));
    let fit = fit(&template(), &surface, &FigureFitSettings::default());
    let names: Vec<&str> = fit.stages.iter().map(|s| &s.name[..]).collect();
    assert_eq!(names, ["similarity", "atoms", "boundary"]);
    for stage in &fit.stages {
        assert!(stage.energies.len() > 1, "{stage:?}");
        assert!(stage.energies.windows(2).all(|w| w[1] < w[0]), "{stage:?}");
    }
    let [_, atoms, boundary] = &fit.stages[..] else {
        panic!("three stages");
    };
    let size = surface.size();
    assert!(
        atoms.report.mean < 2e-3 * size && atoms.report.dice > 0.985,
        "{atoms:?}"
    );
    assert!(
        boundary.report.mean < 4e-4 * size && boundary.report.dice > 0.995,
        "{boundary:?}"
    );
    assert!(fit.figure.legality() > 0.03);
}

/// A fit finds a body that is moved, turned and of another size.
#[test]
fn fit_finds_moved_scaled_body() {
    for (scale, angle) in [(1.0, 0.0), (2.0, 0.5), (0.4, -0.5), (1.3, 1.4)] {
        let turn =
            *nalgebra::Rotation3::new(Vec3::new(0.3, 0.9, -0.3).normalize() * angle).matrix();
        let moved =
            surface(superquadric(32).map_vertices(|p| turn * p * scale + Vec3::new(5.0, 0.5, 1.4)));
        let fit = fit(&template(), &moved, &FigureFitSettings::default());
        let atoms = &fit.stages[1].report;
        assert!(
            atoms.mean < 2e-3 * moved.size(),
            "{scale} {angle} {:?}",
            fit.stages
        );
    }
}

/// An input that is moved, turned, scaled and renumbered gives the same model, moved likewise.
#[test]
fn fit_is_equivariant() {
    let shape = superquadric(32);
    let here = fit(
        &template(),
        &surface(shape.clone()),
        &FigureFitSettings::default(),
    );
    let (scale, turn, shift) = (0.3, turn(), Vec3::new(3.0, -2.0, 1.0));
    let order = Random(7).permutation(shape.vertices.len());
    let mut moved = TestMesh {
        vertices: vec![Vec3::zeros(); order.len()],
        triangles: shape
            .triangles
            .iter()
            .rev()
            .map(|t| t.map(|v| order[v as usize] as u32))
            .collect(),
    };
    for (v, p) in shape.vertices.iter().enumerate() {
        moved.vertices[order[v]] = turn * p * scale + shift;
    }
    let there = fit(
        &template().apply_similarity(scale, &turn, shift),
        &surface(moved),
        &FigureFitSettings::default(),
    );
    let expected = here.figure.apply_similarity(scale, &turn, shift);
    let off = difference(&expected, &there.figure);
    assert!(off < 1e-9, "{off:e}");
    for (p, q) in here.positions.iter().zip(&there.positions) {
        let off = (turn * p * scale + shift - q).norm() / expected.size();
        assert!(off < 1e-9, "{off:e}");
    }
}

/// A tube is fitted while its held hubs stay in place.
#[test]
fn fit_keeps_held_hubs() {
    // The helix itself, thicker, with the radius that it swells by.
    let truth = helix(7, 8);
    let thicker: Vec<_> = (truth.atoms().iter().enumerate())
        .map(|(i, atom)| crate::mrep::Atom {
            radius: atom.radius * (1.15 + 0.1 * (i as f64 / 6.0 * TAU).sin()),
            ..atom.clone()
        })
        .collect();
    let thicker = Figure::tube(thicker).unwrap();
    let boundary = Boundary::new(&thicker, 3).unwrap();
    let surface = Surface::new(boundary.positions(&thicker), boundary.triangles.clone()).unwrap();
    let settings = FigureFitSettings {
        held: (0..7).collect(),
        ..FigureFitSettings::default()
    };
    let fit = fit(&truth, &surface, &settings);
    for (a, b) in fit.figure.atoms().iter().zip(truth.atoms()) {
        assert_eq!(a.hub, b.hub);
    }
    assert_eq!(fit.stages[0].name, "atoms");
    assert!(
        fit.stages[0].report.mean < 1e-3 * surface.size(),
        "{:?}",
        fit.stages
    );
}

/// Where an open surface ends, the boundary goes on as the prior expects.
#[test]
fn fit_extends_beyond_open_rim() {
    // Without its cap of negative x the body's boundary stays where neighbours expect it.
    let mut shape = superquadric(48);
    let whole = fit(
        &template(),
        &surface(shape.clone()),
        &FigureFitSettings::default(),
    );
    shape
        .triangles
        .retain(|t| t.iter().all(|&v| shape.vertices[v as usize].x > -1.4));
    let open = fit(&template(), &surface(shape), &FigureFitSettings::default());
    // It goes on beyond the rim, and where there is a surface it is on it.
    assert!(open.figure.legality() > 0.03);
    assert!(open.figure.size() > 0.85 * whole.figure.size());
    let atoms = &open.stages[1].report;
    assert!(atoms.mean < 2e-3 * open.figure.size(), "{atoms:?}");
}

/// Input that cannot be fitted is refused with the reason, and a fit can be cancelled.
#[test]
fn fit_refuses_bad_input_and_stops() {
    let surface = surface(superquadric(16));
    let said = |figure: &Figure, weights: Option<&[f64]>, settings: FigureFitSettings| {
        figure
            .fit_surface(&surface, weights, &settings, &Silent)
            .unwrap_err()
            .to_string()
    };
    let with = |held: Vec<usize>, prior: f64| FigureFitSettings {
        held,
        prior,
        ..FigureFitSettings::default()
    };
    assert!(said(&template(), None, with(vec![21], 1.0)).contains("held hub is 21"));
    assert!(said(&template(), None, with(vec![], f64::NAN)).contains("prior"));
    assert!(said(&template(), Some(&[1.0]), with(vec![], 1.0)).contains("1 entries"));
    let n = surface.vertices().len();
    assert!(said(&template(), Some(&vec![0.0; n]), with(vec![], 1.0)).contains("above zero"));
    assert!(said(&template(), Some(&vec![2.0; n]), with(vec![], 1.0)).contains("between 0 and 1"));
    let mut atoms = helix(7, 8).atoms().to_vec();
    atoms.iter_mut().for_each(|a| a.radius *= 5.0);
    let folded = Figure::tube(atoms).unwrap();
    assert!(said(&folded, None, with(vec![], 1.0)).contains("folds"));
    let stop = |_: f64, _: &str| false;
    let stopped = template().fit_surface(&surface, None, &FigureFitSettings::default(), &stop);
    assert!(matches!(stopped, Err(MRepError::Cancelled(_))));
}

/// Renders a body as a volume: `inside` in it, `outside` around it, partial volumes at its surface, and noise whose deviation is a share of the step.
fn picture(
    body: &Surface,
    voxel: Vec3,
    [inside, outside]: [f64; 2],
    noise: f64,
    rounded: bool,
) -> Volume {
    let margin = voxel * 8.0;
    let (lo, hi) = body.bounds();
    let origin = lo - margin;
    let shape: [usize; 3] =
        std::array::from_fn(|a| ((hi + margin - origin)[a] / voxel[a]).ceil() as usize + 1);
    let mut random = Random(11);
    let mut normal = || (0..12).map(|_| random.next()).sum::<f64>() - 6.0;
    let mut values = Vec::new();
    for i in 0..shape[0] {
        for j in 0..shape[1] {
            for k in 0..shape[2] {
                let at = Vec3::new(i as f64, j as f64, k as f64);
                let p = origin + at.component_mul(&voxel);
                // Averages over the voxel near the surface.
                let far = body.signed_distance(p);
                let share = if far.abs() > voxel.norm() {
                    f64::from(u8::from(far < 0.0))
                } else {
                    let parts = (0..27).map(|m| {
                        let at = Vec3::new((m % 3) as f64, (m / 3 % 3) as f64, (m / 9) as f64);
                        let q = p + ((at - Vec3::repeat(1.0)) / 3.0).component_mul(&voxel);
                        f64::from(u8::from(body.contains(q)))
                    });
                    parts.sum::<f64>() / 27.0
                };
                let value = outside + (inside - outside) * (share + noise * normal());
                values.push(if rounded { value.round() } else { value } as f32);
            }
        }
    }
    Volume::new(values, shape, voxel, origin).unwrap()
}

/// Returns Dice's coefficient: twice the shared volume over the sum of both.
fn dice(fit: &FigureFit, truth: &Surface) -> f64 {
    let body = Surface::new(fit.positions.clone(), fit.boundary.triangles.clone()).unwrap();
    let (lo, hi) = truth.bounds();
    let mut counts = [0, 0];
    for x in crate::geometry::samples::even_points(20_000) {
        let p = lo + (hi - lo).component_mul(&(x * 1.1 - Vec3::repeat(0.05)));
        let (a, b) = (body.contains(p), truth.contains(p));
        counts[0] += usize::from(a && b);
        counts[1] += usize::from(a) + usize::from(b);
    }
    2.0 * f64::from(counts[0] as u32) / f64::from(counts[1] as u32)
}

/// Bodies are found in volumes that are noisy, dark, rounded or coarsely sliced.
#[test]
fn fit_volume_tolerates_poor_images() {
    let body = surface(superquadric(32));
    let fine = Vec3::repeat(0.08);
    for (name, voxel, levels, noise, rounded) in [
        ("40 %", fine, [1.0, 0.0], 0.4, false),
        ("dark", fine, [-200.0, 900.0], 0.1, false),
        ("16 bit", fine, [41_000.0, 12_000.0], 0.1, true),
        ("thick", Vec3::new(0.06, 0.06, 0.18), [1.0, 0.0], 0.1, false),
        (
            "thick along x",
            Vec3::new(0.24, 0.06, 0.06),
            [1.0, 0.0],
            0.1,
            false,
        ),
    ] {
        let volume = picture(&body, voxel, levels, noise, rounded);
        let fit = template()
            .fit_volume(&volume, &FigureFitSettings::default(), &Silent)
            .unwrap();
        let far = fit.positions.iter().map(|p| body.signed_distance(*p).abs());
        let mean = far.sum::<f64>() / fit.positions.len() as f64 / volume.voxel_size();
        let dice = dice(&fit, &body);
        assert!(dice > 0.975 && mean < 0.2, "{name}: {dice} {mean}");
        let found = fit.levels.unwrap();
        let step = levels[0] - levels[1];
        assert!(
            (found.inside - levels[0]).abs() < 0.1 * step.abs(),
            "{name}: {found:?}"
        );
        assert!(
            (found.outside - levels[1]).abs() < 0.1 * step.abs(),
            "{name}: {found:?}"
        );
        let names: Vec<&str> = fit.stages.iter().map(|s| &s.name[..]).collect();
        assert_eq!(
            names[1..],
            ["atoms at blur 3", "atoms at blur 1.5", "atoms", "boundary"]
        );
        for stage in &fit.stages {
            assert!(
                stage.energies.windows(2).all(|w| w[1] < w[0]),
                "{name} {stage:?}"
            );
        }
    }
}

/// A volume that the model does not lie in, or without contrast, is refused.
#[test]
fn fit_volume_refuses_no_overlap() {
    let body = surface(superquadric(16));
    let volume = picture(&body, Vec3::repeat(0.16), [1.0, 0.0], 0.0, false);
    let said = |volume: &Volume, figure: &Figure| {
        figure
            .fit_volume(volume, &FigureFitSettings::default(), &Silent)
            .unwrap_err()
            .to_string()
    };
    let away = template().apply_similarity(1.0, &Mat3::identity(), Vec3::new(20.0, 0.0, 0.0));
    assert!(said(&volume, &away).contains("outside the volume"));
    let flat = Volume::new(
        vec![3.0; volume.values().len()],
        volume.shape(),
        volume.spacing(),
        volume.origin(),
    );
    assert!(said(&flat.unwrap(), &template()).contains("no contrast"));
}

/// A prior trained on a family predicts the part of a member that is not seen.
#[test]
fn trained_prior_predicts_unseen() {
    // Tubes that bend and swell together.
    let base = helix(6, 6);
    let member = |a: f64| {
        let mut step = vec![0.0; base.step_to(&base).len()];
        let mut from = 0;
        for i in 0..6 {
            step[from + 2] = 0.25 * a * (i as f64 - 2.5).powi(2);
            step[from + 3] = 0.5 * a * (i as f64 / 2.5 - 1.0);
            from += base.kind().role(i).unknown_count(6);
        }
        base.apply_step(&step)
    };
    let figures: Vec<Figure> = [-0.7, -0.4, 0.0, 0.3, 0.6].map(member).to_vec();
    let family = Arc::new(Statistics::new(&figures).unwrap());
    // Of another member the half with the higher u has no weight.
    let truth = member(-0.55);
    let boundary = Boundary::new(&truth, 3).unwrap();
    let positions = boundary.positions(&truth);
    let seen = |v: u32| boundary.coordinates[v as usize][0] < 0.5;
    let half = boundary
        .triangles
        .iter()
        .filter(|t| t.iter().all(|&v| seen(v)))
        .copied()
        .collect();
    let half = Surface::new(positions, half).unwrap();
    let error = |family: Option<Arc<Statistics>>| {
        let settings = FigureFitSettings {
            similarity: false,
            boundary: false,
            family,
            ..FigureFitSettings::default()
        };
        let fit = fit(&base, &half, &settings);
        let far = fit.figure.atoms().iter().zip(truth.atoms()).skip(3);
        far.map(|(a, b)| (a.hub - b.hub).norm()).sum::<f64>() / truth.size()
    };
    let (without, with) = (error(None), error(Some(family)));
    assert!(with < 0.3 * without && with < 0.1, "{without} {with}");
}

/// A fit finds the body of a volume that is moved, turned and larger.
#[test]
fn fit_volume_finds_moved_body() {
    let turn = *nalgebra::Rotation3::new(Vec3::new(0.2, 0.5, -0.3)).matrix();
    let shift = Vec3::new(1.4, 0.5, 1.0);
    let body = surface(superquadric(32).map_vertices(|p| turn * p * 1.3 + shift));
    let volume = picture(&body, Vec3::repeat(0.12), [0.0, 1.0], 0.1, false);
    let fit = template()
        .fit_volume(&volume, &FigureFitSettings::default(), &Silent)
        .unwrap();
    let dice = dice(&fit, &body);
    assert!(dice > 0.97, "{dice} {:?}", fit.stages);
}

/// A body that is only a few voxels thick is found.
#[test]
fn fit_volume_finds_thin_body() {
    // Two and a half voxels to both sides of its sheet.
    let body = surface(superquadric(32).map_vertices(|p| Vec3::new(p.x, p.y, 0.4 * p.z)));
    for (noise, least) in [(0.0, 0.965), (0.4, 0.95)] {
        let volume = picture(&body, Vec3::repeat(0.08), [1.0, 0.0], noise, false);
        let start = Figure::slab_around_volume(&volume, 3, 7).unwrap();
        let fit = start
            .fit_volume(&volume, &FigureFitSettings::default(), &Silent)
            .unwrap();
        let far = fit.positions.iter().map(|p| body.signed_distance(*p).abs());
        let mean = far.sum::<f64>() / fit.positions.len() as f64 / volume.voxel_size();
        let dice = dice(&fit, &body);
        assert!(dice > least && mean < 0.2, "{noise}: {dice} {mean}");
    }
}
