// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bent joints as the default method shows them, on a closed tube around two bones.

use super::*;
use crate::body::BodySettings;
use crate::dynamics::bends::BendCache;
use crate::dynamics::lifts::PoseLifts;
use crate::lattice::{EncloseSettings, Lattice};
use crate::present::{OutputSpace, Presenter, SurfaceId};
use crate::progress::Silent;
use crate::skeleton::{Affine, BonePoses, Skeleton, SkinWeights};
use crate::surface::Surface;
use nalgebra::Rotation3;

const RINGS: usize = 40;
const RING_VERTICES: usize = 20;

/// Builds a tube along x from −0.1 to 1.1 m, 0.2 m thick, whose skin blends from one bone to the other about the
/// middle.
fn tube() -> Arc<Body> {
    let mut vertices = vec![Vec3::new(-0.1, 0.0, 0.0), Vec3::new(1.1, 0.0, 0.0)];
    for i in 1..=RINGS {
        let turn = std::f64::consts::PI * i as f64 / (RINGS + 1) as f64;
        let radius = 0.1 * turn.sin().powf(0.3);
        for j in 0..RING_VERTICES {
            let (s, c) = (std::f64::consts::TAU * j as f64 / RING_VERTICES as f64).sin_cos();
            vertices.push(Vec3::new(0.5 - 0.6 * turn.cos(), radius * c, radius * s));
        }
    }
    let at = |ring: usize, j: usize| (2 + ring * RING_VERTICES + j % RING_VERTICES) as u32;
    let mut triangles = Vec::new();
    for j in 0..RING_VERTICES {
        triangles.push([0, at(0, j + 1), at(0, j)]);
        triangles.push([1, at(RINGS - 1, j), at(RINGS - 1, j + 1)]);
        for i in 0..RINGS - 1 {
            triangles.push([at(i, j), at(i, j + 1), at(i + 1, j + 1)]);
            triangles.push([at(i, j), at(i + 1, j + 1), at(i + 1, j)]);
        }
    }
    let row = |p: &Vec3| {
        let lower = ((p.x - 0.4) / 0.2).clamp(0.0, 1.0);
        [(0, 1.0 - lower), (1, lower)]
    };
    let weights = SkinWeights::from_rows(2, vertices.iter().map(row)).unwrap();
    let surface = Arc::new(Surface::new(vertices, triangles).unwrap());
    let end = |x: f64| Vec3::new(x, 0.0, 0.0);
    let skeleton = Skeleton::new(
        vec!["upper".into(), "lower".into()],
        vec![None, Some(0)],
        vec![end(0.0), end(0.5)],
        vec![end(0.5), end(1.0)],
    );
    let skeleton = Arc::new(skeleton.unwrap());
    let settings = EncloseSettings::default();
    let lattice = Lattice::enclose(&surface, &skeleton, Some(&weights), settings, &Silent);
    let lattice = Arc::new(lattice.unwrap());
    let settings = BodySettings {
        region_weights: Some(weights),
        ..Default::default()
    };
    let material = crate::elasticity::Material::default();
    let body = Body::new(&surface, &skeleton, &lattice, material, &settings, &Silent);
    Arc::new(body.unwrap())
}

fn bent_pose(degrees: f64) -> Pose {
    let joint = Vec3::new(0.5, 0.0, 0.0);
    let turn = Rotation3::from_scaled_axis(Vec3::z() * degrees.to_radians()).into_inner();
    let lower = Affine {
        linear: turn,
        translation: joint - turn * joint,
    };
    Pose::new(vec![Affine::identity(), lower]).unwrap()
}

/// Returns the displayed shape of unloaded flesh at a pose.
fn displayed_shape(body: &Arc<Body>, pose: &Pose, share: f64) -> Vec<Vec3> {
    let settings = SimulationSettings {
        gravity: Vec3::zeros(),
        elastic_joints: share,
        ..SimulationSettings::with_default_damping()
    };
    let mut simulation =
        Simulation::new(body.clone(), settings.with_method(Method::Hyperelastic)).unwrap();
    simulation.reset(pose, true, None).unwrap();
    positions(&simulation, &Presenter::new(body.clone()), SurfaceId::OWN)
}

fn positions(simulation: &Simulation, presenter: &Presenter, id: SurfaceId) -> Vec<Vec3> {
    let mut out = vec![0.0; 3 * presenter.vertices(id).unwrap()];
    let snapshot = simulation.snapshot();
    presenter
        .positions(id, snapshot.instant(), &OutputSpace::WORLD, &mut out)
        .unwrap();
    let vector = |v: &[f32]| Vec3::new(v[0].into(), v[1].into(), v[2].into());
    out.chunks_exact(3).map(vector).collect()
}

/// Returns the skin by linear blending and by dual quaternions.
fn skinned_positions(body: &Body, pose: &Pose) -> [Vec<Vec3>; 2] {
    let bones = BonePoses::new(body.skeleton(), pose).unwrap();
    let rest = body.surface().vertices();
    let each = |place: &dyn Fn(usize, Vec3) -> Vec3| -> Vec<Vec3> {
        let all = rest.iter().enumerate();
        all.map(|(v, x)| place(v, *x)).collect()
    };
    [
        each(&|v, x| bones.linear_blend(body.skin().row(v), x)),
        each(&|v, x| bones.place(body.skin().row(v), x)),
    ]
}

fn volume(body: &Body, places: &[Vec3]) -> f64 {
    let triangles = body.surface().triangles().iter();
    let six = triangles.map(|t| {
        let [a, b, c] = t.map(|v| places[v as usize]);
        a.dot(&b.cross(&c))
    });
    six.sum::<f64>() / 6.0
}

fn max_distance(a: &[Vec3], b: &[Vec3]) -> f64 {
    let pairs = a.iter().zip(b);
    pairs.map(|(a, b)| (a - b).norm()).fold(0.0, f64::max)
}

#[test]
fn rest_pose_shows_rest_shape() {
    let body = tube();
    let rest = body.surface().vertices();
    assert!(max_distance(&displayed_shape(&body, &bent_pose(0.0), 1.0), rest) < 1e-6);
}

/// A share of zero shows the plain skin, and a share of one half shows the mean of skin and full lift.
#[test]
fn lift_share_interpolates() {
    let (body, pose) = (tube(), bent_pose(100.0));
    let [linear, _] = skinned_positions(&body, &pose);
    let none = displayed_shape(&body, &pose, 0.0);
    assert!(max_distance(&none, &linear) < 1e-6);
    let whole = displayed_shape(&body, &pose, 1.0);
    assert!(max_distance(&none, &whole) > 0.03);
    let half: Vec<Vec3> = none
        .iter()
        .zip(&whole)
        .map(|(a, b)| (a + b) / 2.0)
        .collect();
    assert!(max_distance(&displayed_shape(&body, &pose, 0.5), &half) < 1e-6);
}

/// The lifted shape moves, turns and scales with the bones.
#[test]
fn lift_is_equivariant() {
    let (body, pose) = (tube(), bent_pose(100.0));
    let alone = displayed_shape(&body, &pose, 1.0);
    for scale in [1.0, 3.0] {
        let by = Affine {
            linear: Rotation3::from_euler_angles(0.7, -0.4, 2.0).into_inner() * scale,
            translation: Vec3::new(5.0, -7.0, 2.0),
        };
        let moved: Vec<Vec3> = alone.iter().map(|p| by.apply(*p)).collect();
        let found = displayed_shape(&body, &pose.apply_map(&by), 1.0);
        // Places ten metres off have a micrometre in f32.
        assert!(
            max_distance(&moved, &found) < 2e-5,
            "{}",
            max_distance(&moved, &found)
        );
    }
}

/// A bent tube keeps more of its volume than by linear or dual quaternion skinning.
#[test]
fn bent_tube_keeps_volume() {
    let body = tube();
    let whole = volume(&body, body.surface().vertices());
    // At 60° dual quaternions lose a quarter per cent: there is little to restore.
    for degrees in [90.0, 110.0, 120.0] {
        let pose = bent_pose(degrees);
        let off = |places: &[Vec3]| (volume(&body, places) / whole - 1.0).abs();
        let [linear, dual] = skinned_positions(&body, &pose).map(|places| off(&places));
        let ours = off(&displayed_shape(&body, &pose, 1.0));
        assert!(
            ours < linear && ours < dual,
            "{degrees}: {ours} {linear} {dual}"
        );
    }
}

/// The displayed shape changes smoothly with the angle of the bend.
#[test]
fn lift_is_smooth_in_angle() {
    let body = tube();
    let at: Vec<_> = (0..=65)
        .map(|i| displayed_shape(&body, &bent_pose(2.0 * f64::from(i)), 1.0))
        .collect();
    let mut farthest = 0.0_f64;
    for three in at.windows(3) {
        for ((a, b), c) in three[0].iter().zip(&three[1]).zip(&three[2]) {
            farthest = farthest.max((a - b * 2.0 + c).norm());
        }
    }
    // A point 0.6 m from the joint moves by 21 mm in two degrees; its path bends by 0.7 mm.
    assert!(farthest < 2.5e-3, "{farthest}");
}

/// A surface that the body carries is lifted with it.
#[test]
fn carried_surface_is_lifted() {
    let (body, pose) = (tube(), bent_pose(100.0));
    let presenter = Presenter::new(body.clone());
    let vertices: Vec<Vec3> = body.surface().vertices().iter().rev().copied().collect();
    let last = vertices.len() as u32 - 1;
    let triangles = body.surface().triangles().iter();
    let reversed = triangles.map(|t| t.map(|v| last - v)).collect();
    let sleeve = Surface::new(vertices, reversed).unwrap();
    let id = presenter.surfaces().carry(&sleeve);
    let settings = SimulationSettings {
        gravity: Vec3::zeros(),
        ..SimulationSettings::with_default_damping()
    };
    let mut simulation =
        Simulation::new(body.clone(), settings.with_method(Method::Hyperelastic)).unwrap();
    simulation.reset(&pose, true, None).unwrap();
    let snapshot = simulation.snapshot();
    let offsets = |id| {
        let mut out = vec![0.0; 3 * presenter.vertices(id).unwrap()];
        let shown = presenter.offsets(id, snapshot.instant(), &OutputSpace::WORLD, &mut out);
        shown.unwrap();
        let vector = |v: &[f32]| Vec3::new(v[0].into(), v[1].into(), v[2].into());
        out.chunks_exact(3).map(vector).collect::<Vec<_>>()
    };
    let (own, mut worn) = (offsets(SurfaceId::OWN), offsets(id));
    worn.reverse();
    assert!(max_distance(&own, &vec![Vec3::zeros(); own.len()]) > 0.03);
    assert!(max_distance(&own, &worn) < 1e-5);
}

/// Bones that are scaled to zero or mirrored give finite positions.
#[test]
fn degenerate_bones_stay_finite() {
    let body = tube();
    for scale in [0.0, -1.0] {
        let bone = Affine {
            linear: crate::Mat3::identity() * scale,
            translation: Vec3::new(0.5, 0.0, 0.0) * (1.0 - scale),
        };
        let pose = Pose::new(vec![Affine::identity(), bone]).unwrap();
        assert!(
            displayed_shape(&body, &pose, 1.0)
                .iter()
                .all(|p| p.norm() < 10.0)
        );
    }
}

/// Lifts are scaled by their share and kept for both ends of a frame.
#[test]
fn lifts_cache_frame_ends() {
    let body = tube();
    let mut bends = BendCache::new(&body, Method::Warped, Solver::Automatic, true).unwrap();
    let mut at = |lifts: &mut PoseLifts, pose: &Pose| -> Vec<Vec3> {
        let found = lifts.lifts_at(&body, &mut bends, pose).unwrap();
        found.to_vec()
    };
    let [mut whole, mut half, mut none] = [1.0, 0.5, 0.0].map(PoseLifts::new);
    let (some, more) = (bent_pose(60.0), bent_pose(100.0));
    let first = at(&mut whole, &some);
    assert_eq!(first.len(), body.surface().vertices().len());
    let largest = |all: &[Vec3]| all.iter().map(Vec3::norm).fold(0.0, f64::max);
    let second = at(&mut whole, &more);
    assert!(largest(&first) > 1e-4 && largest(&second) > largest(&first));
    for (a, b) in first.iter().zip(at(&mut half, &some)) {
        assert!((a * 0.5 - b).norm() < 1e-12);
    }
    assert!(at(&mut none, &some).is_empty());
    assert!(largest(&at(&mut whole, &Pose::rest(2))) < 1e-6);
    // Both ends are as before, in any order of calls.
    for (pose, known) in [(&more, &second), (&some, &first), (&more, &second)] {
        assert_eq!(&at(&mut whole, pose), known);
    }
}
