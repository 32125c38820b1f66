// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bars that touch each other and colliders: contact forces, their reports, and the motion of colliders.

use super::*;
use crate::contact::{Collider, ColliderMotion, Contact, ContactPoint};
use crate::progress::Silent;
use crate::skeleton::Affine;
use crate::surface::Surface;
use crate::surface::shapes::cuboid;
use nalgebra::Vector3;

const FRAME: f64 = 1.0 / 24.0;

/// Returns the pose of a bar across the z axis, moved aside.
fn across_pose(aside: f64) -> Pose {
    let turn = UnitQuaternion::from_axis_angle(&Vector3::x_axis(), 1.2);
    let middle = Translation3::new(0.0, 0.0, 0.8);
    let whole = Translation3::new(aside, 0.0, 0.0) * middle * turn * middle.inverse();
    pose(&[whole; 2])
}

fn scene(colliders: Vec<Arc<Collider>>) -> Scene {
    let contact = Contact {
        colliders,
        ..Contact::default()
    };
    let member = || {
        let body = BarOptions::default().build();
        let prepared = contact.prepare(&body, &Silent).unwrap();
        let settings = SimulationSettings {
            gravity: Vec3::zeros(),
            ..settings()
        };
        let bar = Simulation::new(body, settings.with_method(Method::Hyperelastic));
        (bar.unwrap(), prepared)
    };
    Scene::new(vec![member(), member()]).unwrap()
}

fn advance(scene: &mut Scene, poses: &[Pose]) {
    let free = vec![(None, None); poses.len()];
    scene.advance(poses, FRAME, &free, &Silent).unwrap();
}

/// Returns the force along the normal, and the force across it.
fn split_force(contact: &ContactPoint) -> (f64, Vec3) {
    let along = contact.force.dot(&contact.normal);
    (along, contact.force - contact.normal * along)
}

/// Two bars that are pressed together push each other apart and come to rest.
#[test]
fn pressed_bars_separate() {
    let mut both = scene(Vec::new());
    let poses = [rest_pose(), across_pose(0.37)];
    let shares = std::sync::Mutex::new(Vec::new());
    let listen = |share: f64, _: &str| {
        shares.lock().unwrap().push(share);
        true
    };
    both.reset(&poses, true, &[None, None], &listen).unwrap();
    let shares = shares.into_inner().unwrap();
    assert!(shares.iter().all(|share| (0.0..=1.0).contains(share)));
    let rest: Vec<Vec<Vec3>> = both
        .bodies()
        .iter()
        .map(|b| b.lattice_positions().to_vec())
        .collect();
    for _ in 0..12 {
        advance(&mut both, &poses);
    }
    let contacts = both.contacts();
    assert!(contacts.len() > 3 && contacts.len().is_multiple_of(2));
    let mut pushed = 0.0;
    for c in &contacts {
        let (along, across) = split_force(c);
        assert!(
            (c.normal.norm() - 1.0).abs() < 1e-9 && c.gap > -3e-3,
            "{}",
            c.gap
        );
        assert!(along >= 0.0 && across.norm() <= 0.3 * along + 1e-6);
        // The second bar is at larger x.
        let sign = if c.body == 0 { -1.0 } else { 1.0 };
        assert!(c.normal.x * sign > 0.3, "{}", c.normal);
        pushed += along;
        // The other bar has the same contact with the opposite force.
        let same = |o: &&ContactPoint| o.body == c.other_body && (o.force + c.force).norm() < 1e-9;
        assert!(contacts.iter().any(|o| same(&o)));
    }
    assert!(pushed > 1.0, "{pushed}");
    // Settled, they stay about where they are, though they were parted from 3 cm of overlap.
    for (body, rest) in both.bodies().iter().zip(&rest) {
        let gone = max_difference(body.lattice_positions(), rest);
        let pressed = max_difference(rest, body.carried_positions());
        assert!(
            pressed > 8e-3 && gone < 0.15 * pressed,
            "{gone} of {pressed}"
        );
    }
    assert_eq!((both.held_cells(0), both.held_cells(1)), (0, 0));
}

/// Flesh in a plane is pushed out of it, and each contact is reported once.
#[test]
fn plane_contact_pushes_out() {
    let plane = Arc::new(Collider::plane(Vec3::x() * -0.19, Vec3::x()).unwrap());
    let mut both = scene(vec![plane]);
    // The second bar touches nothing.
    let poses = [rest_pose(), across_pose(2.0)];
    both.reset(&poses, true, &[None, None], &Silent).unwrap();
    advance(&mut both, &poses);
    let contacts = both.contacts();
    assert!(contacts.len() > 5);
    for c in &contacts {
        assert_eq!((c.body, c.other_body), (0, 2));
        assert!((c.normal - Vec3::x()).norm() < 1e-9 && c.gap > -2e-3);
        assert!((c.point.x + 0.19 - c.gap).abs() < 1e-9);
    }
    let total: Vec3 = contacts.iter().map(|c| c.force).sum();
    assert!(
        total.x > 1.0 && total.yz().norm() < 0.05 * total.x,
        "{total}"
    );
    let forces = both.contact_forces(0).unwrap();
    let free: Vec3 = forces.iter().sum();
    assert!(free.x > 0.1 * total.x && free.x < 1.01 * total.x, "{free}");
    assert!(
        both.contact_forces(1)
            .unwrap()
            .iter()
            .all(|f| f.norm() == 0.0)
    );
    assert!(both.contact_forces(2).is_none());
}

/// A state in contact continues with the same bits after it is restored.
#[test]
fn contact_state_keeps_bits() {
    let mut first = scene(Vec::new());
    let poses = |frame: usize| [rest_pose(), across_pose(0.41 - 0.01 * frame as f64)];
    first
        .reset(&poses(0), true, &[None, None], &Silent)
        .unwrap();
    for frame in 1..4 {
        advance(&mut first, &poses(frame));
    }
    assert!(!first.contacts().is_empty());
    let mut second = scene(Vec::new());
    second.restore(&first.state()).unwrap();
    for frame in 4..7 {
        for scene in [&mut first, &mut second] {
            advance(scene, &poses(frame));
        }
        assert_eq!(first.contacts(), second.contacts());
        for (a, b) in first.bodies().iter().zip(second.bodies()) {
            assert_eq!(a.lattice_positions(), b.lattice_positions());
        }
    }
}

/// Builds a block beside the bar that comes nearer with each entry of its motion, and overlaps it in the last.
fn approaching_collider() -> Arc<Collider> {
    let shape = cuboid(Vec3::new(0.1, 0.3, 0.3));
    let surface = Arc::new(Surface::new(shape.vertices, shape.triangles).unwrap());
    let at = |x: f64| Affine {
        translation: Vec3::new(x, 0.0, 0.8),
        ..Affine::identity()
    };
    let way = [0.6, 0.55, 0.5, 0.45, 0.285].map(at).to_vec();
    Arc::new(Collider::mesh(surface, ColliderMotion::Carried(way)).unwrap())
}

fn build_beside(collider: Arc<Collider>) -> Simulation {
    let body = BarOptions::default().build();
    let contact = Contact {
        colliders: vec![collider],
        ..Contact::default()
    };
    let prepared = contact.prepare(&body, &Silent).unwrap();
    let mut sim = Simulation::new(
        body,
        undamped_settings(240.0).with_method(Method::Hyperelastic),
    )
    .unwrap();
    sim.set_contact(Some(prepared)).unwrap();
    sim
}

/// A collider advances by one entry per frame, from the entry that a reset chooses.
#[test]
fn colliders_advance_with_frames() {
    for first in [0, 2, 3] {
        let mut sim = build_beside(approaching_collider());
        sim.set_first_collider_entry(first);
        sim.reset(&rest_pose(), false, None).unwrap();
        for entry in first + 1..5 {
            sim.advance(&rest_pose(), FRAME, None, None).unwrap();
            assert_eq!(sim.contacts().is_empty(), entry < 4, "{first} {entry}");
        }
        // After the last entry it stays.
        sim.advance(&rest_pose(), FRAME, None, None).unwrap();
        assert!(!sim.contacts().is_empty());
        let pushed: Vec3 = sim.contacts().iter().map(|c| c.force).sum();
        assert!(
            pushed.x < -1.0 && pushed.x.abs() > pushed.yz().norm(),
            "{pushed}"
        );
    }
}

/// A frame can lead colliders from any entry to any other.
#[test]
fn collider_span_moves_colliders() {
    use crate::contact::ColliderSpan;
    let mut sim = build_beside(approaching_collider());
    sim.reset(&rest_pose(), false, None).unwrap();
    sim.set_collider_span(ColliderSpan::between_entries(3, 4));
    sim.advance(&rest_pose(), FRAME, None, None).unwrap();
    assert!(!sim.contacts().is_empty());
    sim.reset(&rest_pose(), false, None).unwrap();
    sim.set_collider_span(ColliderSpan::between_entries(4, 0));
    sim.advance(&rest_pose(), FRAME, None, None).unwrap();
    sim.advance(&rest_pose(), FRAME, None, None).unwrap();
    assert!(sim.contacts().is_empty());
}

/// A simulation returns the settings it was built with.
#[test]
fn simulation_keeps_settings() {
    let requested = undamped_settings(120.0);
    let bar = BarOptions::default().build();
    let sim = Simulation::new(bar, requested.with_method(Method::Warped)).unwrap();
    assert_eq!(*sim.settings(), requested.with_method(Method::Warped));
}

/// The search for seeds of creases visits each pose, reports its progress and leaves the state unchanged.
#[test]
fn crease_seeds_scan_poses() {
    let body = BarOptions::default().build();
    let mut contact = Contact::default();
    contact.options.response = crate::contact::ContactResponse::Creases;
    let prepared = contact.prepare(&body, &Silent).unwrap();
    let mut sim = Simulation::new(body, settings().with_method(Method::Hyperelastic)).unwrap();
    sim.set_contact(Some(prepared)).unwrap();
    sim.reset(&rest_pose(), true, None).unwrap();
    let before = sim.lattice_positions().to_vec();
    let shares = std::sync::Mutex::new(Vec::new());
    let listen = |share: f64, _: &str| {
        shares.lock().unwrap().push(share);
        true
    };
    let bar = BarOptions::default();
    let poses = [bent_pose(&bar, 0.2), bent_pose(&bar, 0.3)];
    sim.find_crease_seeds(&poses, 2.0 * FRAME, &listen).unwrap();
    // Two frames on the way to each of two poses.
    let shares = shares.into_inner().unwrap();
    assert_eq!(shares, [0.25, 0.5, 0.75, 1.0]);
    assert_eq!(sim.lattice_positions(), before);
    let refused = sim.find_crease_seeds(&poses, 0.0, &Silent);
    assert!(matches!(refused, Err(SimulationError::Setting { .. })));
}
