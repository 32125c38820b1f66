// SPDX-License-Identifier: MIT OR Apache-2.0
//! Displayed surfaces compared with world positions mapped one by one in f64.

use super::*;
use crate::body::fixture::BarOptions;
use crate::body::{Body, BodySettings};
use crate::kernel::KernelError;
use crate::modal::{DeformSettings, Modes};
use crate::progress::Silent;
use crate::skeleton::{Affine, Pose};
use crate::{Mat3, Vec3};
use nalgebra::Rotation3;
use std::sync::Arc;

const BODY_SURFACE: SurfaceId = SurfaceId::OWN;

/// Builds a bar whose flesh is thick at one end and thin at the other.
fn body() -> Arc<Body> {
    let bar = BarOptions::default();
    let weights = bar.painted_weights();
    let flesh = (0..weights.len()).map(|v| 0.2 + 0.8 * (v % 9) as f64 / 8.0);
    let settings = BodySettings {
        flesh: Some(flesh.collect()),
        region_weights: Some(weights),
        ..Default::default()
    };
    BarOptions { settings, ..bar }.build()
}

/// Returns the pose with the upper bone bent, and all of it moved to a point.
fn pose(place: Vec3) -> Pose {
    let turn = Rotation3::from_euler_angles(0.4, 0.1, 0.2).into_inner();
    let joint = Vec3::new(0.0, 0.0, 0.8);
    let upper = Affine {
        linear: turn,
        translation: joint - turn * joint,
    };
    let whole = Affine {
        linear: Mat3::identity(),
        translation: place,
    };
    let bent = Pose::new(vec![Affine::identity(), upper]).unwrap();
    bent.apply_map(&whole)
}

/// Returns a map that is sheared, mirrored and in other units, with its origin at a point.
fn object_map(place: Vec3) -> Affine {
    let linear = Mat3::new(0.0, -80.0, 9.0, 30.0, 4.0, 0.0, 0.0, 20.0, 110.0);
    Affine {
        linear,
        translation: -(linear * place),
    }
}

/// Returns the skinned lattice with a sway that differs from vertex to vertex.
fn snapshot(body: &Body, pose: &Pose, joints: f64) -> Snapshot {
    let rest = body.rest_shape();
    let weights = body.region_weights();
    let skinned = |v: usize| -> Vec3 {
        let row = weights.row(v);
        row.map(|(b, w)| pose.maps()[b as usize].apply(rest[v]) * w)
            .sum()
    };
    let sway: Vec<Vec3> = rest
        .iter()
        .map(|x| Vec3::new(0.05 * x.z, -0.02, 0.03 * x.x))
        .collect();
    let positions: Vec<Vec3> = (0..rest.len()).map(|v| skinned(v) + sway[v]).collect();
    let showing = DisplaySettings {
        elastic_joints: joints,
        max_offset: Some(0.02),
    };
    Snapshot::new(body, &positions, Some(&sway), Some(pose), showing)
}

fn display_surface(
    presenter: &Presenter,
    at: Instant<'_>,
    target: &OutputSpace,
    offsets: bool,
) -> Vec<Vec3> {
    let mut out = vec![0.0; 3 * presenter.vertices(BODY_SURFACE).unwrap()];
    match offsets {
        true => presenter
            .offsets(BODY_SURFACE, at, target, &mut out)
            .unwrap(),
        false => presenter
            .positions(BODY_SURFACE, at, target, &mut out)
            .unwrap(),
    }
    vectors(&out)
}

fn vectors(numbers: &[f32]) -> Vec<Vec3> {
    let vector = |v: &[f32]| Vec3::new(v[0].into(), v[1].into(), v[2].into());
    numbers.chunks_exact(3).map(vector).collect()
}

fn max_difference(a: &[Vec3], b: &[Vec3]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter()
        .zip(b)
        .map(|(a, b)| (a - b).norm())
        .fold(0.0, f64::max)
}

/// Runs work for every kind of instant of a presenter, near the world's origin and far away.
fn for_each_instant(work: impl Fn(&str, &Presenter, Instant<'_>, Vec3)) {
    let body = body();
    let modes = Arc::new(Modes::for_body(&body, 4, &Silent).unwrap());
    let options = DeformSettings {
        engine: crate::kernel::EngineChoice::Cpu,
        ..DeformSettings::default()
    };
    let presenter = Presenter::with_modes(body.clone(), Some(modes), options);
    for place in [Vec3::zeros(), Vec3::new(1e5, -6e4, 8e4)] {
        let pose = pose(place);
        for joints in [0.0, 0.4, 1.0] {
            let snapshot = snapshot(&body, &pose, joints);
            work("skinned", &presenter, snapshot.instant(), place);
            let bare = Instant::Lattice(&snapshot.lattice, None);
            work("bare", &presenter, bare, place);
        }
        let q = [0.3, -0.2, 0.1, 0.05];
        let modal = Instant::Modal((&q, &pose), Some(0.02));
        work("modal", &presenter, modal, place);
    }
}

/// Positions in another space are the world positions, mapped.
#[test]
fn target_maps_world_places() {
    for_each_instant(|kind, presenter, at, place| {
        // Positions as seen from near the body keep their digits, wherever the world's origin is.
        let near = OutputSpace::WORLD.with_origin([place.x as f32, place.y as f32, place.z as f32]);
        let world = display_surface(presenter, at, &near, false);
        let map = object_map(place);
        let target = OutputSpace::new(map).unwrap();
        let expected: Vec<Vec3> = world.iter().map(|p| map.linear * p).collect();
        let found = display_surface(presenter, at, &target, false);
        // The object's coordinates reach 200: a few roundings of that in f32.
        assert!(max_difference(&found, &expected) < 1e-4, "{kind}");
        let offsets: Vec<Vec3> = display_surface(presenter, at, &near, true)
            .iter()
            .map(|u| map.linear * u)
            .collect();
        assert_eq!(kind == "bare", offsets.iter().all(|u| u.norm() < 1e-9));
        let found = display_surface(presenter, at, &target, true);
        assert!(max_difference(&found, &offsets) < 1e-5, "{kind}");
    });
}

/// The world target agrees with an identity map within rounding.
#[test]
fn world_matches_identity() {
    for_each_instant(|kind, presenter, at, place| {
        let world = display_surface(presenter, at, &OutputSpace::WORLD, false);
        let identity = OutputSpace::new(Affine::identity()).unwrap();
        let mapped = display_surface(presenter, at, &identity, false);
        assert!(
            max_difference(&world, &mapped) < 1e-7 * (1.0 + place.norm()),
            "{kind}"
        );
        assert!(!world.is_empty());
    });
}

/// Shares of offsets that are added up give the whole.
#[test]
fn added_shares_sum_up() {
    for_each_instant(|kind, presenter, at, place| {
        let target = OutputSpace::new(object_map(place)).unwrap();
        let whole = display_surface(presenter, at, &target, true);
        let mut out = vec![0.0; 3 * whole.len()];
        presenter
            .offsets(BODY_SURFACE, at, &target.with_factor(0.25), &mut out)
            .unwrap();
        presenter
            .offsets(
                BODY_SURFACE,
                at,
                &target.with_factor(0.75).with_addition(),
                &mut out,
            )
            .unwrap();
        assert!(max_difference(&vectors(&out), &whole) < 1e-5, "{kind}");
        presenter
            .positions(BODY_SURFACE, at, &target.with_addition(), &mut out)
            .unwrap();
        let both: Vec<Vec3> = display_surface(presenter, at, &target, false)
            .iter()
            .zip(&whole)
            .map(|(p, u)| p + u)
            .collect();
        assert!(max_difference(&vectors(&out), &both) < 1e-4, "{kind}");
    });
}

/// Velocities are differences of positions, also far from the origin.
#[test]
fn velocities_match_differences() {
    let body = body();
    let presenter = Presenter::new(body.clone());
    let place = Vec3::new(1e5, -6e4, 8e4);
    let step = Vec3::new(0.02, 0.0, -0.01);
    let [from, to] = [place, place + step].map(|place| snapshot(&body, &pose(place), 1.0));
    let target = OutputSpace::new(object_map(place)).unwrap();
    let mut out = vec![0.0; 3 * presenter.vertices(BODY_SURFACE).unwrap()];
    let instants = (from.instant(), to.instant());
    presenter
        .velocities(BODY_SURFACE, instants, 0.04, &target, &mut out)
        .unwrap();
    let expected = object_map(place).linear * step / 0.04;
    for v in vectors(&out) {
        assert!((v - expected).norm() < 1e-2, "{v} {expected}");
    }
}

/// The plain skin and the displayed skin differ by the offsets, and keep their digits far from the world's origin.
#[test]
fn skins_differ_by_offsets() {
    for_each_instant(|what, presenter, at, place| {
        let mut skins = [(); 2].map(|()| vec![0.0; 3 * presenter.vertices(BODY_SURFACE).unwrap()]);
        let [plain, shown] = &mut skins;
        presenter.skins(BODY_SURFACE, at, [plain, shown]).unwrap();
        let [plain, shown] = skins.map(|skin| vectors(&skin));
        let near = OutputSpace::WORLD.with_origin([place.x as f32, place.y as f32, place.z as f32]);
        let offsets = display_surface(presenter, at, &near, true);
        let moved: Vec<Vec3> = plain.iter().zip(&offsets).map(|(p, o)| p + o).collect();
        let miss = max_difference(&moved, &shown);
        // Rounding of coordinates of a few metres in single precision.
        assert!(miss < 2e-6, "{what}: {miss}");
        assert!(shown.iter().all(|x| x.norm() < 10.0), "{what}");
    });
}

/// All presenters that share carried surfaces know them.
#[test]
fn carried_surfaces_are_shared() {
    let body = body();
    let surfaces = CarriedSurfaces::new(body.clone());
    let presenter = Presenter::new(surfaces.clone());
    let sleeve = surfaces.carry(body.surface());
    assert_eq!(sleeve, SurfaceId::new(1));
    let snapshot = snapshot(&body, &pose(Vec3::zeros()), 1.0);
    let n = presenter.vertices(BODY_SURFACE).unwrap();
    assert_eq!(presenter.vertices(sleeve), Ok(n));
    let mut out = [(); 2].map(|()| vec![0.0; 3 * n]);
    for (id, out) in [BODY_SURFACE, sleeve].into_iter().zip(&mut out) {
        presenter
            .positions(id, snapshot.instant(), &OutputSpace::WORLD, out)
            .unwrap();
    }
    assert!(max_difference(&vectors(&out[0]), &vectors(&out[1])) < 0.1);
    // Firmer flesh carries the present surfaces; those added later are its own.
    let firm = surfaces.with_body(Arc::new(body.with_scaled_stiffness(2.0).unwrap()));
    assert_eq!(firm.carry(body.surface()), SurfaceId::new(2));
    let id = SurfaceId::new(2);
    assert_eq!(presenter.vertices(id), Err(PresentError::Surface { id }));
}

/// Output of wrong length, unknown surfaces and missing modes are refused.
#[test]
fn present_refuses_bad_input() {
    let body = body();
    let presenter = Presenter::new(body.clone());
    let pose = pose(Vec3::zeros());
    let snapshot = snapshot(&body, &pose, 1.0);
    let mut short = vec![0.0; 5];
    let (given, expected) = (5, 3 * presenter.vertices(BODY_SURFACE).unwrap());
    for at in [
        snapshot.instant(),
        Instant::Lattice(&snapshot.lattice, None),
    ] {
        let refused = KernelError::Output { expected, given }.into();
        let target = &OutputSpace::WORLD;
        assert_eq!(
            presenter.positions(BODY_SURFACE, at, target, &mut short),
            Err(refused)
        );
        let refused = KernelError::Output { expected, given }.into();
        assert_eq!(
            presenter.offsets(BODY_SURFACE, at, target, &mut short),
            Err(refused)
        );
    }
    let modal = Instant::Modal((&[1.0], &pose), None);
    let refused = presenter.offsets(BODY_SURFACE, modal, &OutputSpace::WORLD, &mut short);
    assert_eq!(refused, Err(PresentError::NoModes));
}
