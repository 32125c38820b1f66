// SPDX-License-Identifier: MIT OR Apache-2.0
//! Modal warping on a clamped bar.

use super::*;
use crate::Vec3;
use crate::elasticity::Material;
use crate::geometry::rotation_vector;
use crate::progress::Silent;
use crate::tets::{MassKind, TetMesh};
use std::sync::Arc;

/// Returns the modes of a bar along x, clamped at x = 0, of cubes in six tetrahedra each; the paper's has 99 nodes.
fn bar(count: usize) -> Arc<Modes> {
    let mesh = TetMesh::grid([10, 2, 2], [1.0, 0.2, 0.2]).unwrap();
    let x = mesh.vertices();
    let fixed: Vec<usize> = (0..x.len()).filter(|&v| x[v].x < 1e-9).collect();
    let material = Material::new(1e5, 0.4, 1000.0).unwrap();
    let system = ModalSystem::for_tets(&mesh, &material, MassKind::Consistent, &fixed).unwrap();
    Arc::new(Modes::compute(&system, count, None, &Silent).unwrap())
}

/// Returns the node nearest to a point.
fn nearest_node(modes: &Modes, at: [f64; 3]) -> usize {
    let far = |x: &Vec3| (x - Vec3::from(at)).norm();
    let rest = modes.functions().rest_shape();
    (0..rest.len())
        .min_by(|&a, &b| far(&rest[a]).total_cmp(&far(&rest[b])))
        .unwrap()
}

fn simulate_fall(modes: &Arc<Modes>, rate: f64, integrator: Integrator) -> Vec<Vec3> {
    let settings = ModalSettings {
        step: 1.0 / rate,
        integrator,
        gravity: Vec3::new(0.0, 0.0, -5.0),
        ..ModalSettings::default()
    };
    let mut simulation = ModalSimulation::new(modes.clone(), settings).unwrap();
    let tip = nearest_node(modes, [1.0, 0.1, 0.1]);
    let mut path = Vec::new();
    for i in 1..=(rate * 8.0) as usize {
        simulation.advance(None).unwrap();
        if i % (rate / 24.0) as usize == 0 {
            path.push(simulation.displacement(tip));
        }
    }
    path
}

/// Returns the largest distance between two paths, relative to the largest travel of the second.
fn path_difference(a: &[Vec3], b: &[Vec3]) -> f64 {
    let travel = b.iter().map(|p| p.norm()).fold(0.0, f64::max);
    a.iter()
        .zip(b)
        .map(|(a, b)| (a - b).norm())
        .fold(0.0, f64::max)
        / travel
}

/// A falling bar at 24 steps per second moves nearly as at 960, and the error falls with second order.
#[test]
fn falling_bar_converges() {
    let modes = bar(12);
    let fine = simulate_fall(&modes, 960.0, Integrator::Exact);
    let coarse = path_difference(&simulate_fall(&modes, 24.0, Integrator::Exact), &fine);
    assert!(coarse < 0.01, "{coarse}");
    // Second order: four times the steps give about a sixteenth of the error.
    let better = path_difference(&simulate_fall(&modes, 96.0, Integrator::Exact), &fine);
    assert!(better < coarse / 10.0, "{better} {coarse}");
    // The paper's integrator is of first order and converges to the same motion.
    let printed = simulate_fall(&modes, 960.0, Integrator::SemiImplicit);
    let start = 24;
    assert!(path_difference(&printed[..start], &fine[..start]) < 0.05);
}

/// A warped bar that settles keeps its length, and an unwarped one grows longer.
#[test]
fn settle_keeps_warped_length() {
    let modes = bar(16);
    let settled = |warp: bool| {
        let settings = ModalSettings {
            gravity: Vec3::new(0.0, 0.0, -5.0),
            warp,
            ..ModalSettings::default()
        };
        let mut simulation = ModalSimulation::new(modes.clone(), settings).unwrap();
        simulation.settle(None).unwrap();
        let before = simulation.amplitudes().to_vec();
        for _ in 0..5 {
            simulation.advance(None).unwrap();
        }
        for (a, b) in simulation.amplitudes().iter().zip(&before) {
            assert!((a - b).abs() < 1e-9, "{a} {b}");
        }
        let rest = modes.functions().rest_shape();
        let u = simulation.displacements();
        let axis: Vec<Vec3> = (0..=10)
            .map(|i| nearest_node(&modes, [f64::from(i) / 10.0, 0.1, 0.1]))
            .map(|v| rest[v] + u[v])
            .collect();
        axis.windows(2).map(|p| (p[1] - p[0]).norm()).sum::<f64>()
    };
    assert!((settled(true) - 1.0).abs() < 0.02, "{}", settled(true));
    assert!(settled(false) > 1.2, "{}", settled(false));
}

fn constrained_simulation(
    integrator: Integrator,
    holds: &[Hold],
    exercised: Option<&[usize]>,
) -> ModalSimulation {
    let modes = bar(16);
    let settings = ModalSettings {
        integrator,
        ..ModalSettings::default()
    };
    let mut simulation = ModalSimulation::new(modes, settings).unwrap();
    simulation.constrain(holds, exercised).unwrap();
    simulation
}

/// Constraints hold position and velocity, and their forces do not ring.
#[test]
fn constraints_hold_without_ringing() {
    let modes = bar(16);
    let tip = nearest_node(&modes, [1.0, 0.1, 0.1]);
    let position = Hold {
        node: tip,
        target: HoldTarget::Position(Vec3::new(-0.2, 0.1, 0.45)),
    };
    let orientation = Hold {
        node: tip,
        target: HoldTarget::Orientation(Vec3::new(0.6, -0.8, 0.2)),
    };
    for integrator in Integrator::ALL {
        for holds in [
            vec![position],
            vec![orientation],
            vec![position, orientation],
        ] {
            let mut simulation = constrained_simulation(integrator, &holds, None);
            let mut forces = Vec::new();
            for step in 0..240 {
                simulation.advance(None).unwrap();
                let now = simulation.constraint_accuracy();
                assert!(
                    !now.overdetermined && now.distance < 1e-6 && now.angle < 1e-6,
                    "{now:?}"
                );
                let w = modes.rotation(simulation.amplitudes(), tip);
                for hold in &holds {
                    let off = match hold.target {
                        HoldTarget::Position(u) => simulation.displacement(tip) - u,
                        HoldTarget::Orientation(r) => w - r,
                    };
                    assert!(off.norm() < 1e-6, "{off}");
                }
                // The node's velocity follows from that of the amplitudes.
                if step > 0 && integrator == Integrator::Exact {
                    let e = 1e-6;
                    let at = |s: f64| -> Vec<f64> {
                        let pairs = simulation.amplitudes().iter().zip(simulation.velocities());
                        pairs.map(|(q, v)| q + s * v).collect()
                    };
                    let place = |q: &[f64]| {
                        rotation_vector::mean_rotation(&modes.rotation(q, tip))
                            * modes.displacement(q, tip)
                    };
                    if holds[0] == position {
                        let velocity = (place(&at(e)) - place(&at(-e))) / (2.0 * e);
                        assert!(velocity.norm() < 1e-5, "{velocity}");
                    }
                }
                let sum = now.forces.iter().map(|f| f.1.norm()).sum::<f64>();
                forces.push(sum);
            }
            let early = forces[..60].iter().copied().fold(0.0, f64::max);
            let late = forces[180..].iter().copied().fold(0.0, f64::max);
            assert!(late <= 1.001 * early, "{integrator:?} {late} {early}");
        }
    }
}

/// Displacements stay bounded and the constraint holds for any choice of exercised nodes.
#[test]
fn exercised_nodes_keep_motion_bounded() {
    let modes = bar(32);
    let tip = nearest_node(&modes, [1.0, 0.1, 0.1]);
    let rest = modes.functions().rest_shape();
    let at = |x: f64| -> Vec<usize> {
        (0..rest.len())
            .filter(|&v| (rest[v].x - x).abs() < 1e-9)
            .collect()
    };
    let hold = Hold {
        node: tip,
        target: HoldTarget::Position(Vec3::new(-0.1, 0.0, 0.3)),
    };
    let middle = vec![nearest_node(&modes, [0.5, 0.1, 0.1])];
    for (integrator, warp) in [
        (Integrator::Exact, true),
        (Integrator::Exact, false),
        (Integrator::SemiImplicit, true),
        (Integrator::SemiImplicit, false),
    ] {
        for exercised in [None, Some(at(1.0)), Some(at(0.5)), Some(middle.clone())] {
            let settings = ModalSettings {
                step: 1.0 / 60.0,
                integrator,
                warp,
                gravity: Vec3::new(0.0, 0.0, -5.0),
                ..ModalSettings::default()
            };
            let mut simulation = ModalSimulation::new(modes.clone(), settings).unwrap();
            simulation.constrain(&[hold], exercised.as_deref()).unwrap();
            for step in 0..900 {
                simulation.advance(None).unwrap();
                let far = simulation
                    .displacements()
                    .iter()
                    .map(Vec3::norm)
                    .fold(0.0, f64::max);
                assert!(
                    far < 1.5,
                    "{integrator:?} {warp} {exercised:?} {step}: {far}"
                );
                assert!(simulation.constraint_accuracy().distance < 1e-6);
            }
        }
    }
}

/// A dragged node follows its target, and after release nothing is held.
#[test]
fn dragged_node_follows_target() {
    let modes = bar(16);
    let tip = nearest_node(&modes, [1.0, 0.1, 0.1]);
    let mut simulation = constrained_simulation(Integrator::Exact, &[], None);
    for i in 1..=90 {
        let t = f64::from(i) / 30.0;
        let target = Vec3::new(0.0, 0.2 * (2.0 * t).sin(), 0.3 * (1.0 - t.cos()));
        let hold = Hold {
            node: tip,
            target: HoldTarget::Position(target),
        };
        simulation.constrain(&[hold], None).unwrap();
        simulation.advance(None).unwrap();
        assert!((simulation.displacement(tip) - target).norm() < 1e-6);
        let swing = simulation
            .displacements()
            .iter()
            .map(Vec3::norm)
            .fold(0.0, f64::max);
        assert!(swing < 1.0, "{i}: {swing}");
    }
    // After release the bar swings on, and no constraint acts any more.
    simulation.constrain(&[], None).unwrap();
    simulation.advance(None).unwrap();
    assert!(simulation.constraint_accuracy().forces.is_empty());
}

/// The displacements of a bent bar stay bounded while its tip is led round a loop.
#[test]
fn looped_tip_keeps_bar_whole() {
    let mesh = TetMesh::grid([20, 4, 4], [1.0, 0.2, 0.2]).unwrap();
    let x = mesh.vertices();
    let fixed: Vec<usize> = (0..x.len()).filter(|&v| x[v].x < 1e-9).collect();
    for (young, rate) in [(2e4, 30), (2e5, 60), (2e5, 240), (2e6, 240)] {
        let material = Material::new(young, 0.4, 1000.0).unwrap();
        let system = ModalSystem::for_tets(&mesh, &material, MassKind::Consistent, &fixed).unwrap();
        let modes = Arc::new(Modes::compute(&system, 32, None, &Silent).unwrap());
        let settings = ModalSettings {
            step: 1.0 / f64::from(rate),
            gravity: Vec3::new(0.0, 0.0, -5.0),
            ..ModalSettings::default()
        };
        let mut simulation = ModalSimulation::new(modes.clone(), settings).unwrap();
        simulation.settle(None).unwrap();
        let tip = nearest_node(&modes, [1.0, 0.1, 0.1]);
        let start = simulation.displacement(tip);
        for i in 1..=3 * rate {
            let turn = std::f64::consts::TAU * f64::from(i) / f64::from(3 * rate);
            let target = start + 0.15 * Vec3::new(0.0, turn.sin(), 1.0 - turn.cos());
            let hold = Hold {
                node: tip,
                target: HoldTarget::Position(target),
            };
            simulation.constrain(&[hold], None).unwrap();
            simulation.advance(None).unwrap();
            assert!((simulation.displacement(tip) - target).norm() < 1e-6);
            // The tip itself moves 0.3 m from its hanging position.
            let far = simulation
                .displacements()
                .iter()
                .map(Vec3::norm)
                .fold(0.0, f64::max);
            assert!(
                far < start.norm() + 0.6,
                "{young}, {rate}: {far} m in step {i}"
            );
        }
    }
}

/// Exercised nodes may differ from held ones, and constraints that contradict each other are reported.
#[test]
fn overdetermined_constraints_are_reported() {
    let modes = bar(16);
    let (tip, middle) = (
        nearest_node(&modes, [1.0, 0.1, 0.1]),
        nearest_node(&modes, [0.6, 0.2, 0.2]),
    );
    let hold = Hold {
        node: tip,
        target: HoldTarget::Position(Vec3::new(-0.05, 0.0, 0.3)),
    };
    let mut simulation = constrained_simulation(Integrator::SemiImplicit, &[hold], Some(&[middle]));
    simulation.advance(None).unwrap();
    assert!((simulation.displacement(tip) - Vec3::new(-0.05, 0.0, 0.3)).norm() < 1e-6);
    assert!(
        simulation
            .constraint_accuracy()
            .forces
            .iter()
            .all(|f| f.0 == middle)
    );
    // The same node at two positions: the mean is nearest.
    let other = Hold {
        target: HoldTarget::Position(Vec3::new(-0.05, 0.0, 0.1)),
        ..hold
    };
    let mut torn = constrained_simulation(Integrator::SemiImplicit, &[hold, other], None);
    torn.advance(None).unwrap();
    assert!(torn.constraint_accuracy().overdetermined);
    assert!((torn.displacement(tip) - Vec3::new(-0.05, 0.0, 0.2)).norm() < 1e-5);
}

/// Impossible constraints, forces and amplitudes are refused, and huge forces leave the amplitudes finite.
#[test]
fn simulation_refuses_bad_input() {
    let modes = bar(4);
    let at = |node, target| Hold { node, target };
    let mut simulation = ModalSimulation::new(modes.clone(), ModalSettings::default()).unwrap();
    let up = HoldTarget::Position(Vec3::z());
    let fixed = nearest_node(&modes, [0.0, 0.0, 0.0]);
    for (holds, exercised) in [
        (at(9999, up), None),
        (at(fixed, up), None),
        (
            at(50, HoldTarget::Orientation(Vec3::new(f64::NAN, 0.0, 0.0))),
            None,
        ),
        (at(50, up), Some(vec![fixed])),
        (at(50, up), Some(vec![1234])),
    ] {
        assert!(
            simulation
                .constrain(&[holds], exercised.as_deref())
                .is_err()
        );
    }
    let mut bad = vec![Vec3::zeros(); modes.node_count()];
    bad[7].x = f64::INFINITY;
    assert!(
        simulation
            .advance(Some(&bad))
            .unwrap_err()
            .to_string()
            .contains('7')
    );
    assert!(simulation.advance(Some(&bad[1..])).is_err());
    assert!(simulation.set_amplitudes(&[f64::NAN; 4]).is_err());
    bad[7].x = 1e300;
    let before = simulation.amplitudes().to_vec();
    for _ in 0..4 {
        let _ = simulation.advance(Some(&bad));
        assert!(simulation.amplitudes().iter().all(|q| q.is_finite()));
    }
    assert!(before.iter().all(|&q| q == 0.0));
}
