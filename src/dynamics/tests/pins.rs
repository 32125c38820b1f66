// SPDX-License-Identifier: MIT OR Apache-2.0
//! Points of the flesh held at targets.

use super::*;
use crate::contact::Contact;
use crate::contact::tests::ShapedBar;
use crate::progress::Silent;

/// Methods whose points can be pinned.
const PINNED_METHODS: [Method; 9] = [
    Method::Hyperelastic,
    Method::Warped,
    Method::WarpedVertex,
    Method::Blended,
    Method::BlendedPrinted,
    Method::Linear,
    Method::Linearised,
    Method::Nonlinear,
    Method::NeoHookean,
];

/// A place in the flesh of the default bar, beside its bones.
const SIDE: Vec3 = Vec3::new(0.13, 0.02, 1.13);
/// Another one.
const OTHER_SIDE: Vec3 = Vec3::new(-0.15, -0.11, 0.62);

fn simulation(method: Method) -> (BarOptions, Simulation) {
    let bar = BarOptions::default();
    let mut sim = Simulation::new(bar.build(), settings().with_method(method)).unwrap();
    sim.reset(&rest_pose(), true, None).unwrap();
    (bar, sim)
}

fn pinned_place(x: Vec3) -> PinPoint {
    PinPoint::Place(x)
}

fn gap(sim: &mut Simulation, point: Vec3, target: Vec3) -> f64 {
    (sim.point_position(pinned_place(point)).unwrap() - target).norm()
}

/// Pins hold moving targets in every method while the bones bend, to rounding.
#[test]
fn pins_hold_in_motion() {
    for method in PINNED_METHODS {
        let (bar, mut sim) = simulation(method);
        let slow = matches!(method, Method::Nonlinear | Method::NeoHookean);
        let first = sim.pin(Pin::new(pinned_place(SIDE), SIDE)).unwrap();
        let second = sim
            .pin(Pin::new(pinned_place(OTHER_SIDE), OTHER_SIDE))
            .unwrap();
        for frame in 1..=if slow { 3 } else { 8 } {
            let t = 0.12 * f64::from(frame);
            let to = SIDE + Vec3::new(0.05 * t, 0.08 * t.sin(), -0.02);
            sim.move_pin(first, to, None).unwrap();
            sim.move_pin(second, OTHER_SIDE, None).unwrap();
            sim.advance(&bent_pose(&bar, 0.5 * t), 1.0 / 24.0, None, None)
                .unwrap();
            for (place, target) in [(SIDE, to), (OTHER_SIDE, OTHER_SIDE)] {
                let gap = gap(&mut sim, place, target);
                assert!(gap < 1e-6 * SIZE, "{method:?} {frame}: {gap:.3e}");
            }
        }
        let moved = max_difference(sim.lattice_positions(), sim.carried_positions());
        assert!(moved > 1e-3, "{method:?}");
    }
}

/// Pins that move along with a rigid pose leave flesh undisturbed: steady travel exactly, and a turn as far as without pins.
#[test]
fn rigid_motion_with_pins_is_undisturbed() {
    let run = |method: Method, pinned: bool, at: &dyn Fn(f64) -> Isometry3<f64>| {
        let (_, mut sim) = simulation(method);
        let point = pinned_place(SIDE);
        let id = pinned.then(|| sim.pin(Pin::new(point, SIDE)).unwrap());
        for frame in 1..6 {
            let by = at(f64::from(frame));
            if let Some(id) = id {
                let to = (by * nalgebra::Point3::from(SIDE)).coords;
                sim.move_pin(id, to, None).unwrap();
            }
            sim.advance(&pose(&[by; 2]), 1.0 / 24.0, None, None)
                .unwrap();
        }
        relative_shape(&sim)
    };
    let travel = |t: f64| Isometry3::translation(0.1 * t, -0.05 * t, 0.02 * t);
    for method in PINNED_METHODS {
        let moved = run(method, true, &travel);
        assert!(moved < 1e-9, "{method:?}: {moved:.3e}");
    }
    // About the bones, so that their own motion is a turn.
    let turn = |t: f64| Isometry3::rotation(Vec3::z() * (0.05 * t));
    for method in [Method::Hyperelastic, Method::Warped, Method::Nonlinear] {
        let (moved, free) = (run(method, true, &turn), run(method, false, &turn));
        assert!(
            moved < 1.5 * free + 1e-9,
            "{method:?}: {moved:.3e} {free:.3e}"
        );
    }
}

/// Returns the largest distance of a lattice vertex from its carried position.
fn relative_shape(sim: &Simulation) -> f64 {
    max_difference(&sim.nodes.positions, sim.carried_positions())
}

/// A body that stands still with pins at their places is not disturbed at all.
#[test]
fn pins_in_place_change_nothing() {
    for method in PINNED_METHODS {
        let (_, mut sim) = simulation(method);
        sim.pin(Pin::new(pinned_place(SIDE), SIDE)).unwrap();
        sim.reset(&rest_pose(), true, None).unwrap();
        for _ in 0..3 {
            sim.advance(&rest_pose(), 1.0 / 24.0, None, None).unwrap();
        }
        let moved = max_difference(sim.lattice_positions(), sim.body().rest_shape());
        assert!(moved < 1e-9, "{method:?}: {moved:.3e}");
    }
}

/// After removal the motion has the bits of flesh that never had pins, and it comes back to its balance.
#[test]
fn removed_pins_leave_no_trace() {
    for method in [
        Method::Hyperelastic,
        Method::Warped,
        Method::Linearised,
        Method::Blended,
    ] {
        let (bar, mut sim) = simulation(method);
        let id = sim.pin(Pin::new(pinned_place(SIDE), SIDE)).unwrap();
        sim.move_pin(id, SIDE + Vec3::new(0.02, 0.0, 0.01), None)
            .unwrap();
        for _ in 0..4 {
            sim.advance(&rest_pose(), 1.0 / 24.0, None, None).unwrap();
        }
        sim.unpin(id).unwrap();
        let body = sim.body().clone();
        let mut other = Simulation::new(body, settings().with_method(method)).unwrap();
        other.restore(&sim.state()).unwrap();
        assert_eq!(other.pins().len(), 0);
        // No faster: the pressed side of St. Venant-Kirchhoff flesh folds for good where bones jolt, with or without pins.
        for bend in [0.0, 0.04, 0.08, 0.12, 0.08, 0.04] {
            let to = bent_pose(&bar, bend);
            for sim in [&mut sim, &mut other] {
                sim.advance(&to, 1.0 / 24.0, None, None).unwrap();
            }
            assert!(sim.state() == other.state(), "{method:?}");
        }
        let away = max_difference(sim.lattice_positions(), sim.carried_positions());
        for _ in 0..96 {
            sim.advance(&rest_pose(), 1.0 / 24.0, None, None).unwrap();
        }
        let back = max_difference(sim.lattice_positions(), sim.body().rest_shape());
        assert!(
            away > 1e-3 && back < 0.02 * away,
            "{method:?}: {away:.3e} {back:.3e}"
        );
    }
}

/// States with pins are exact: motion from a restored one has the same bits.
#[test]
fn states_with_pins_are_exact() {
    let (bar, mut sim) = simulation(Method::Hyperelastic);
    let id = sim.pin(Pin::new(pinned_place(SIDE), SIDE)).unwrap();
    sim.pin(Pin {
        strength: 0.4,
        ..Pin::new(PinPoint::Vertex(5), Vec3::new(0.3, 0.1, 0.0))
    })
    .unwrap();
    let at = |frame: i32| SIDE + Vec3::new(0.01, 0.02, 0.0) * f64::from(frame);
    let run = |sim: &mut Simulation, frames: std::ops::Range<i32>| {
        for frame in frames {
            sim.move_pin(id, at(frame), Some(1.0 - 0.1 * f64::from(frame % 3)))
                .unwrap();
            sim.advance(
                &bent_pose(&bar, 0.05 * f64::from(frame)),
                1.0 / 24.0,
                None,
                None,
            )
            .unwrap();
        }
    };
    run(&mut sim, 0..4);
    let kept = sim.state();
    run(&mut sim, 4..8);
    let end = sim.state();
    let mut other = Simulation::new(sim.body().clone(), settings()).unwrap();
    other.restore(&kept).unwrap();
    assert!(other.state() == kept);
    run(&mut other, 4..8);
    assert!(other.state() == end);
    // Cut or forged pins are refused and change nothing.
    let mut forged = kept.clone();
    let at = kept.windows(4).position(|w| w == b"pins").unwrap();
    forged[at + 32..at + 40].copy_from_slice(&(-3.5f64).to_le_bytes());
    assert!(matches!(
        other.restore(&forged),
        Err(SimulationError::State(_))
    ));
    assert!(other.state() == end);
}

/// A pin of strength s takes its point the share s of the way at rest, where flesh is linear.
#[test]
fn strength_is_share_of_way_at_rest() {
    let way = Vec3::new(0.02, 0.0, 0.0);
    let mut moved = Vec::new();
    for strength in [0.0, 0.3, 0.7, 1.0] {
        let (_, mut sim) = simulation(Method::Warped);
        let pin = Pin::new(pinned_place(SIDE), SIDE + way);
        sim.pin(Pin { strength, ..pin }).unwrap();
        sim.reset(&rest_pose(), true, None).unwrap();
        let place = sim.point_position(pinned_place(SIDE)).unwrap();
        let share = (place - SIDE).dot(&way) / way.norm_squared();
        let miss = (place - SIDE - way * strength).norm();
        assert!(miss < 1e-9, "{strength}: {share} {miss:.3e}");
        moved.push(share);
        // A balance stays.
        let before = sim.lattice_positions().to_vec();
        for _ in 0..4 {
            sim.advance(&rest_pose(), 1.0 / 24.0, None, None).unwrap();
        }
        assert!(
            max_difference(sim.lattice_positions(), &before) < 1e-9,
            "{strength}"
        );
    }
    assert!(moved.windows(2).all(|w| w[0] < w[1]));
}

/// Balances with pins are at rest in every method: the motion from them stays.
#[test]
fn pinned_balances_stay() {
    for method in PINNED_METHODS {
        let (_, mut sim) = simulation(method);
        sim.pin(Pin::new(
            pinned_place(SIDE),
            SIDE + Vec3::new(0.04, -0.02, 0.01),
        ))
        .unwrap();
        sim.reset(&rest_pose(), true, None).unwrap();
        let before = sim.lattice_positions().to_vec();
        let moved = max_difference(&before, sim.body().rest_shape());
        sim.advance(&rest_pose(), 1.0 / 24.0, None, None).unwrap();
        let drift = max_difference(sim.lattice_positions(), &before);
        // Regions rest a little apart from their own balance.
        let allowed = if method.has_regions() { 0.2 } else { 1e-3 };
        assert!(
            moved > 0.03 && drift < allowed * moved,
            "{method:?}: {drift:.3e}"
        );
    }
}

/// Pins at the same place, or more in a cell than it has freedom, are dropped and named; other targets are conflicts.
#[test]
fn dependent_pins_are_dropped_or_named() {
    let (_, mut sim) = simulation(Method::Warped);
    let first = sim.pin(Pin::new(pinned_place(SIDE), SIDE)).unwrap();
    let twin = sim.pin(Pin::new(pinned_place(SIDE), SIDE)).unwrap();
    let report = |pin, others: &[u32]| DroppedPin {
        pin,
        others: others.to_vec(),
    };
    assert_eq!(sim.dropped_pins(), [report(twin, &[first])]);
    let to = SIDE + Vec3::new(0.01, 0.0, 0.0);
    sim.move_pin(first, to, None).unwrap();
    let before = sim.state();
    let refused = sim.advance(&rest_pose(), 0.05, None, None).unwrap_err();
    let SimulationError::PinConflict {
        pin,
        others,
        distance,
    } = &refused
    else {
        panic!("{refused}")
    };
    assert_eq!((*pin, &others[..]), (twin, &[first][..]));
    assert!((distance - 0.01).abs() < 1e-9);
    assert!(sim.state() == before);
    assert!(sim.reset(&rest_pose(), true, None).is_err());
    assert!(sim.state() == before);
    sim.move_pin(twin, to, None).unwrap();
    sim.advance(&rest_pose(), 0.05, None, None).unwrap();
    assert!(gap(&mut sim, SIDE, to) < 1e-9);
    // A soft pin at a held place pulls in vain, and is no conflict.
    sim.move_pin(twin, SIDE, Some(0.5)).unwrap();
    sim.advance(&rest_pose(), 0.05, None, None).unwrap();
    assert!(sim.dropped_pins().is_empty() && gap(&mut sim, SIDE, to) < 1e-9);
    // Five points of a tetrahedron: the fifth is a combination of four, unless a bone holds a corner.
    let body = sim.body().clone();
    let cell = (0..body.lattice().cells().len() as u32)
        .find(|&c| {
            let free = |&&v: &&u32| body.bone_of_vertex()[v as usize].is_none();
            let corners = body.lattice().cells()[c as usize].corners();
            corners.iter().filter(free).count() == corners.len()
        })
        .unwrap();
    let corners = body.lattice().corners(cell);
    let mean = corners.iter().sum::<Vec3>() / corners.len() as f64;
    sim.unpin_all();
    for corner in &corners {
        let place = mean + (corner - mean) * 0.8;
        sim.pin(Pin::new(pinned_place(place), place)).unwrap();
    }
    assert!(sim.dropped_pins().is_empty());
    let last = sim.pin(Pin::new(pinned_place(mean), mean)).unwrap();
    assert_eq!(sim.dropped_pins(), [report(last, &[0, 1, 2, 3])]);
    sim.advance(&rest_pose(), 0.05, None, None).unwrap();
}

/// Points that cannot be pinned are refused by kind.
#[test]
fn bad_pins_are_refused() {
    let (bar, mut sim) = simulation(Method::Hyperelastic);
    let place = Vec3::new(3.0, 0.0, 0.0);
    let mut error = |pin: Pin| sim.pin(pin).unwrap_err();
    let outside = error(Pin::new(pinned_place(place), place));
    assert!(
        matches!(outside, SimulationError::PinOutside { .. }),
        "{outside}"
    );
    let nan = Vec3::repeat(f64::NAN);
    let unsound = error(Pin::new(pinned_place(nan), SIDE));
    assert!(matches!(unsound, SimulationError::PinOutside { .. }));
    let bone = Vec3::new(0.0, 0.0, 0.4 * bar.length / 0.8 * 0.5);
    let held = error(Pin::new(pinned_place(bone), bone));
    assert!(matches!(held, SimulationError::PinOnBone { .. }), "{held}");
    assert_eq!(
        error(Pin::new(pinned_place(SIDE), nan)),
        SimulationError::PinTarget
    );
    let vertex = error(Pin::new(PinPoint::Vertex(1000), SIDE));
    assert!(matches!(
        vertex,
        SimulationError::PinVertex { vertex: 1000, .. }
    ));
    let strong = Pin {
        strength: 1.5,
        ..Pin::new(pinned_place(SIDE), SIDE)
    };
    assert!(matches!(
        error(strong),
        SimulationError::Setting {
            what: "strength",
            ..
        }
    ));
    assert_eq!(
        sim.move_pin(7, SIDE, None),
        Err(SimulationError::NoPin { pin: 7 })
    );
    assert_eq!(sim.unpin(0), Err(SimulationError::NoPin { pin: 0 }));
    // More pins than freedom.
    let freedom = sim.body().pattern().vertex_of_node().len();
    for _ in 0..freedom {
        sim.pin(Pin::new(pinned_place(SIDE), SIDE)).unwrap();
    }
    let refused = sim.pin(Pin::new(pinned_place(SIDE), SIDE)).unwrap_err();
    assert_eq!(
        refused,
        SimulationError::TooManyPins {
            pins: freedom + 1,
            freedom
        }
    );
    let body = sim.body().clone();
    let mut modal = Simulation::new(body, settings().with_method(Method::Modal)).unwrap();
    let refused = modal.pin(Pin::new(pinned_place(SIDE), SIDE)).unwrap_err();
    assert_eq!(refused, SimulationError::PinMethod);
}

/// The shown vertex is at its target at a bent joint too, whatever share of the joint's own shape is shown.
#[test]
fn pinned_vertices_are_shown_at_targets() {
    use crate::present::{CarriedSurfaces, Presenter, SurfaceId};
    for (method, share) in [
        (Method::Hyperelastic, 1.0),
        (Method::Hyperelastic, 0.0),
        (Method::Warped, 0.4),
        (Method::Warped, 1.0),
    ] {
        let flesh = ShapedBar::new(|x| *x, 0.0);
        let body = flesh.skin.body().clone();
        let settings = SimulationSettings {
            elastic_joints: share,
            ..settings().with_method(method)
        };
        let mut sim = Simulation::new(body.clone(), settings).unwrap();
        let rest = Pose::rest(body.skeleton().len());
        sim.reset(&rest, true, None).unwrap();
        let vertices = body.surface().vertices();
        let near: Vec<u32> = (0..vertices.len() as u32)
            .filter(|&v| (vertices[v as usize].z - 0.8).abs() < 0.12)
            .collect();
        let chosen = independent_vertices(&body, &near, 3).unwrap();
        assert_eq!(chosen.len(), 3);
        let joint = Translation3::new(0.0, 0.0, 0.8);
        let turn = UnitQuaternion::from_scaled_axis(Vec3::new(0.35, 0.0, 0.0));
        let mut maps = vec![Isometry3::identity(); body.skeleton().len()];
        *maps.last_mut().unwrap() = joint * turn * joint.inverse();
        let mut targets = Vec::new();
        for &v in &chosen {
            let x = body.surface().vertices()[v as usize];
            let target = x + Vec3::new(0.004, 0.006, 0.002);
            sim.pin(Pin::new(PinPoint::Vertex(v), target)).unwrap();
            targets.push(target);
        }
        for _ in 0..3 {
            sim.advance(&pose(&maps), 1.0 / 24.0, None, None).unwrap();
        }
        let presenter = Presenter::new(CarriedSurfaces::from(body.clone()));
        let mut shown = vec![0.0f32; 3 * body.surface().vertices().len()];
        let snapshot = sim.snapshot();
        let world = crate::kernel::OutputSpace::WORLD;
        presenter
            .positions(SurfaceId::OWN, snapshot.instant(), &world, &mut shown)
            .unwrap();
        for (&v, target) in chosen.iter().zip(&targets) {
            let at = Vec3::from_fn(|k, _| f64::from(shown[3 * v as usize + k]));
            let gap = (at - target).norm();
            assert!(
                gap < 1e-5 * body.size(),
                "{method:?} {share} {v}: {gap:.3e}"
            );
        }
    }
}

/// Pins hold while contact pushes, and contact has its way elsewhere.
#[test]
fn pins_hold_in_contact() {
    let flesh = ShapedBar::new(|x| *x, 0.0);
    let body = flesh.skin.body().clone();
    let mut sim = Simulation::new(body.clone(), settings()).unwrap();
    let floor = crate::contact::Collider::plane(
        Vec3::new(0.0, 0.0, flesh_bottom(&body) + 0.004 * body.size()),
        Vec3::z(),
    );
    let contact = Contact {
        colliders: vec![Arc::new(floor.unwrap())],
        ..Contact::default()
    };
    sim.set_contact(Some(contact.prepare(&body, &Silent).unwrap()))
        .unwrap();
    let rest = Pose::rest(body.skeleton().len());
    sim.reset(&rest, false, None).unwrap();
    // Two at the floor, which the floor cannot lift, and two in the middle.
    let chosen = independent_vertices(&body, &[0, 1, 141, 143], 4).unwrap();
    assert_eq!(chosen.len(), 4);
    let targets: Vec<Vec3> = chosen
        .iter()
        .map(|&v| body.surface().vertices()[v as usize] + Vec3::new(0.005, 0.0, 0.0))
        .collect();
    for (&v, &target) in chosen.iter().zip(&targets) {
        sim.pin(Pin::new(PinPoint::Vertex(v), target)).unwrap();
    }
    let mut touched = false;
    for _ in 0..6 {
        sim.advance(&rest, 1.0 / 24.0, None, None).unwrap();
        touched |= !sim.contacts().is_empty();
        for (&v, target) in chosen.iter().zip(&targets) {
            let at = sim.point_position(PinPoint::Vertex(v)).unwrap();
            assert!((at - target).norm() < 1e-6 * body.size(), "{v}");
        }
    }
    assert!(touched);
}

fn flesh_bottom(body: &Body) -> f64 {
    let z = body.surface().vertices().iter().map(|x| x.z);
    z.fold(f64::INFINITY, f64::min)
}

/// Chosen vertices are independent of each other, and a repeated vertex counts once.
#[test]
fn chosen_vertices_are_independent() {
    let body = ShapedBar::new(|x| *x, 0.0).skin.body().clone();
    let count = body.surface().vertices().len() as u32;
    let all: Vec<u32> = (0..count).chain(0..count).collect();
    let chosen = independent_vertices(&body, &all, usize::MAX).unwrap();
    let free = body.pattern().vertex_of_node().len();
    assert!(chosen.len() > 4 && chosen.len() <= free, "{}", chosen.len());
    let mut sim = Simulation::new(body.clone(), settings().with_method(Method::Warped)).unwrap();
    sim.reset(&Pose::rest(body.skeleton().len()), true, None)
        .unwrap();
    for &v in &chosen {
        let x = body.surface().vertices()[v as usize];
        sim.pin(Pin::new(PinPoint::Vertex(v), x)).unwrap();
    }
    assert!(sim.dropped_pins().is_empty());
    assert!(independent_vertices(&body, &[count], 1).is_err());
    assert!(independent_vertices(&body, &[], 1).unwrap().is_empty());
}
