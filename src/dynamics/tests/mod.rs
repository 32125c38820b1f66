// SPDX-License-Identifier: MIT OR Apache-2.0
//! Properties of motion, checked on bars of flesh.

use super::forces::Load;
use super::methods::system;
use super::simulation::PoseHistory;
use super::*;
use crate::body::fixture::BarOptions;
use crate::body::{Body, BodySettings};
use crate::elasticity::{ElasticModel, Material};
use crate::skeleton::{FrameMotion, Pose};
use crate::solve::NodeMatrix;
use crate::{Mat3, Mat4, Vec3};
use nalgebra::{Isometry3, Translation3, UnitQuaternion};
use std::sync::Arc;

mod adapting;
mod balance;
mod dynamic_bones;
mod firmness;
mod forces;
mod forms;
mod hyperelastic;
mod invariance;
mod joints;
mod jolts;
mod levels;
mod linearised;
mod local_linear;
mod modal;
mod nonlinear;
mod pins;
mod scenes;
mod sections;
mod solvers;
mod states;
mod terms;
mod twist;

const SIZE: f64 = 1.7;

fn pose(maps: &[Isometry3<f64>]) -> Pose {
    let matrices: Vec<Mat4> = maps.iter().map(|m| m.to_homogeneous()).collect();
    Pose::from_matrices(&matrices).unwrap()
}

fn rest_pose() -> Pose {
    pose(&[Isometry3::identity(); 2])
}

/// Returns the pose with the upper bone turned about the x axis at the joint in the middle.
fn bent_pose(bar: &BarOptions, angle: f64) -> Pose {
    let joint = Translation3::new(0.0, 0.0, 0.5 * bar.length);
    let turn = joint
        * UnitQuaternion::from_axis_angle(&nalgebra::Vector3::x_axis(), angle)
        * joint.inverse();
    pose(&[
        bar.frame * bar.frame.inverse(),
        bar.frame * turn * bar.frame.inverse(),
    ])
}

fn wobble_displacements(body: &Body, size: f64) -> Vec<Vec3> {
    (0..body.node_count())
        .map(|v| {
            let x = body.rest_shape()[v];
            let f = |a: f64| (a * (x.x + 2.0 * x.y + 3.0 * x.z)).sin() * size;
            Vec3::new(f(11.0), f(7.0), f(5.0))
        })
        .collect()
}

fn max_difference(a: &[Vec3], b: &[Vec3]) -> f64 {
    a.iter()
        .zip(b)
        .map(|(a, b)| (a - b).norm())
        .fold(0.0, f64::max)
}

fn settings() -> SimulationSettings {
    SimulationSettings::with_default_damping()
}

fn undamped_settings(rate: f64) -> SimulationSettings {
    SimulationSettings {
        rate,
        gravity: Vec3::zeros(),
        mass_damping: Some(0.0),
        stiffness_damping: Some(0.0),
        ..settings()
    }
}

/// In the rest pose flesh at rest does not move.
#[test]
fn rest_pose_stays_still() {
    for (hexahedra, method) in [
        (false, Method::Hyperelastic),
        (true, Method::Hyperelastic),
        (false, Method::Warped),
        (true, Method::Warped),
        (false, Method::Blended),
        (true, Method::BlendedPrinted),
        (false, Method::Linear),
        (false, Method::Linearised),
        (true, Method::Linearised),
        (false, Method::Nonlinear),
        (true, Method::NeoHookean),
    ] {
        let bar = BarOptions {
            hexahedra,
            ..Default::default()
        };
        let body = bar.build();
        let mut sim = Simulation::new(body.clone(), settings().with_method(method)).unwrap();
        for settled in [false, true] {
            sim.reset(&rest_pose(), settled, None).unwrap();
            for _ in 0..24 {
                sim.advance(&rest_pose(), 1.0 / 24.0, None, None).unwrap();
            }
            assert!(max_difference(sim.lattice_positions(), body.rest_shape()) < 1e-12);
        }
    }
}

/// Flesh sags if the rest shape does not include gravity.
#[test]
fn sag_without_rest_gravity() {
    let bar = BarOptions {
        settings: BodySettings {
            rest_includes_gravity: false,
            ..Default::default()
        },
        ..Default::default()
    };
    let body = bar.build();
    let q = equilibrium(
        &body,
        &rest_pose(),
        None,
        None,
        settings().gravity,
        Method::Warped,
    )
    .unwrap();
    let sag: f64 = q.iter().map(|q| q.z).sum::<f64>() / q.len() as f64;
    assert!(sag < -1e-3, "{sag}");
    // The bar turned upside down sags the other way, seen from itself: with the option on too.
    let over = pose(
        &[Isometry3::from_parts(
            Translation3::identity(),
            UnitQuaternion::from_axis_angle(&nalgebra::Vector3::x_axis(), std::f64::consts::PI),
        ); 2],
    );
    let body = BarOptions::default().build();
    let q = equilibrium(&body, &over, None, None, settings().gravity, Method::Warped).unwrap();
    let sag: f64 = (0..body.node_count())
        .map(|v| {
            let x = body.rest_shape()[v];
            q[v].z + x.z + x.z
        })
        .sum();
    assert!(sag < -1e-3, "{sag}");
}

/// Flesh in uniform travel does not lag behind its bones.
#[test]
fn uniform_travel_has_no_lag() {
    let body = BarOptions::default().build();
    let mut sim = Simulation::new(body.clone(), settings().with_method(Method::Warped)).unwrap();
    let speed = Vec3::new(3.0, -1.0, 0.5);
    sim.reset(&rest_pose(), true, None).unwrap();
    sim.nodes.velocities.fill(speed);
    let carried =
        |t: f64| pose(&[Isometry3::from_parts((speed * t).into(), UnitQuaternion::identity()); 2]);
    sim.history = Some(PoseHistory {
        before: carried(-1.0 / 24.0),
        pose: rest_pose(),
        duration: 1.0 / 24.0,
    });
    for frame in 1..=48 {
        let shift = speed * (f64::from(frame) / 24.0);
        sim.advance(&carried(f64::from(frame) / 24.0), 1.0 / 24.0, None, None)
            .unwrap();
        let moved: Vec<Vec3> = body
            .lattice()
            .vertices()
            .iter()
            .map(|x| x + shift)
            .collect();
        assert!(max_difference(sim.lattice_positions(), &moved) < 1e-10);
    }
}

/// Flesh that turns slowly as a whole does not lag behind its bones.
#[test]
fn slow_turn_has_no_lag() {
    let body = BarOptions::default().build();
    let free = SimulationSettings {
        gravity: Vec3::zeros(),
        ..settings()
    };
    let mut sim = Simulation::new(body.clone(), free.with_method(Method::Warped)).unwrap();
    sim.reset(&rest_pose(), true, None).unwrap();
    let at = |t: f64| {
        let axis = nalgebra::Unit::new_normalize(Vec3::new(1.0, 0.4, 0.2));
        UnitQuaternion::from_axis_angle(&axis, 0.06 * t)
    };
    for frame in 1..=120 {
        let t = f64::from(frame) / 24.0;
        let p = pose(&[Isometry3::from_parts(Translation3::identity(), at(t)); 2]);
        sim.advance(&p, 1.0 / 24.0, None, None).unwrap();
        let moved: Vec<Vec3> = body
            .lattice()
            .vertices()
            .iter()
            .map(|x| at(t) * x)
            .collect();
        // The start from rest is a jerk of its own; it has died away after three seconds.
        if frame > 72 {
            assert!(max_difference(sim.lattice_positions(), &moved) < 1e-4 * SIZE);
        }
    }
}

/// Damping does not act on flesh that moves rigidly with its bones, at any speed.
#[test]
fn rigid_motion_has_no_drag() {
    // Velocity and acceleration aside, the damping terms alone must vanish: compare damped and undamped
    // steps of flesh that moves as its bones do.
    let body = BarOptions::default().build();
    let turn = |a: f64| {
        pose(
            &[Isometry3::from_parts(
                Translation3::new(0.1 * a, 0.0, 0.2 * a),
                UnitQuaternion::from_axis_angle(&nalgebra::Vector3::z_axis(), a),
            ); 2],
        )
    };
    let run = |mass_damping: f64, stiffness_damping: f64| {
        let settings = SimulationSettings {
            mass_damping: Some(mass_damping),
            stiffness_damping: Some(stiffness_damping),
            ..undamped_settings(24.0)
        };
        let mut sim = Simulation::new(body.clone(), settings.with_method(Method::Warped)).unwrap();
        sim.reset(&turn(0.0), false, None).unwrap();
        // Inertia is balanced by a velocity that equals the step's own.
        let mut after = SkinnedLattice::new(&body).unwrap();
        after.set(&body, Method::Warped, &turn(0.7)).unwrap();
        for v in 0..body.node_count() {
            sim.nodes.velocities[v] = (after.places[v] - sim.nodes.positions[v]) * 24.0;
        }
        sim.advance(&turn(0.7), 1.0 / 24.0, None, None).unwrap();
        (max_difference(&after.places, sim.lattice_positions()), sim)
    };
    let (lag, _) = run(50.0, 0.1);
    assert!(lag < 1e-12, "{lag}");
    let (lag, _) = run(0.0, 0.0);
    assert!(lag < 1e-12, "{lag}");
}

/// Vertices on bones lie exactly where the affine maps of their bones put them.
#[test]
fn bone_vertices_follow_bones() {
    let bar = BarOptions::default();
    let body = bar.build();
    let mut sim = Simulation::new(body.clone(), settings().with_method(Method::Warped)).unwrap();
    sim.reset(&rest_pose(), true, None).unwrap();
    // A stretched and sheared bone: the whole affine map counts.
    let mut maps = bent_pose(&bar, 0.5).maps().to_vec();
    maps[1].linear *= Mat3::from_diagonal(&Vec3::new(1.1, 0.9, 1.2));
    let target = Pose::new(maps.clone()).unwrap();
    sim.advance(&target, 0.1, None, None).unwrap();
    for v in body.bone_vertices() {
        let bone = body.bone_of_vertex()[v as usize].unwrap();
        let x = body.rest_shape()[v as usize];
        let place = maps[bone as usize].apply(x);
        assert!((sim.lattice_positions()[v as usize] - place).norm() < 1e-12);
    }
}

/// Half the step halves the error.
#[test]
fn integrator_is_first_order() {
    let bar = BarOptions::default();
    let body = bar.build();
    let forces = wobble_displacements(&body, 5.0);
    let run = |rate: f64| {
        let settings = SimulationSettings { rate, ..settings() };
        let mut sim = Simulation::new(body.clone(), settings.with_method(Method::Warped)).unwrap();
        sim.reset(&rest_pose(), true, None).unwrap();
        sim.advance(&rest_pose(), 0.25, Some(&forces), None)
            .unwrap();
        sim.lattice_positions().to_vec()
    };
    let [a, b, c] = [960.0, 1920.0, 3840.0].map(run);
    // Richardson: successive differences of a first-order method halve.
    let ratio = max_difference(&a, &b) / max_difference(&b, &c);
    assert!((1.6..2.4).contains(&ratio), "{ratio}");
}

/// A clamped bar oscillates at the frequency of its longitudinal wave.
#[test]
fn clamped_bar_frequency() {
    // Longitudinal waves in a bar without lateral strain: f = sqrt(E/ρ) / (4 L).
    let bar = BarOptions {
        bones: false,
        material: Material::new(2e4, 0.0, 1000.0).unwrap(),
        cells_along: 24,
        cells_across: 1,
        ..Default::default()
    };
    let body = bar.build();
    let exact = (2e4f64 / 1000.0).sqrt() / (4.0 * bar.length);
    let mut sim = Simulation::new(
        body.clone(),
        undamped_settings(2000.0).with_method(Method::Warped),
    )
    .unwrap();
    sim.reset(&rest_pose(), true, None).unwrap();
    for (p, x) in sim.nodes.positions.iter_mut().zip(body.rest_shape()) {
        p.z += 0.02 * (std::f64::consts::FRAC_PI_2 * x.z / bar.length).sin();
    }
    let tip = bar.vertex(0, 0, 24);
    let (mut crossings, mut last) = (Vec::new(), 0.02);
    for i in 1..=4000 {
        sim.advance(&rest_pose(), 5e-4, None, None).unwrap();
        let now = sim.lattice_positions()[tip].z - bar.length;
        if last > 0.0 && now <= 0.0 {
            crossings.push((f64::from(i) - now / (now - last)) * 5e-4);
        }
        last = now;
    }
    let n = crossings.len() - 1;
    let measured = n as f64 / (crossings[n] - crossings[0]);
    assert!((measured / exact - 1.0).abs() < 0.01, "{measured} {exact}");
}

/// The energy of flesh without external forces never grows.
#[test]
fn energy_never_grows() {
    let bar = BarOptions::default();
    let body = bar.build();
    let p = bent_pose(&bar, 0.6);
    let mut skinned = SkinnedLattice::new(&body).unwrap();
    skinned.set(&body, Method::Warped, &p).unwrap();
    let balance = super::methods::linear_balance::linear_balance(
        &body,
        Method::Warped,
        &skinned,
        &Load::new(&body, Vec3::zeros(), None, &[]),
    )
    .unwrap();
    let energy = |sim: &Simulation| {
        let d: Vec<Vec3> = sim
            .nodes
            .positions
            .iter()
            .zip(&balance)
            .map(|(p, b)| p - b)
            .collect();
        let mut e = 0.0;
        for v in 0..body.node_count() {
            let m = body.mass_matrix().row_times(v, &sim.nodes.velocities);
            let t = body.twist_matrix().row_times(v, &d);
            e += 0.5 * sim.nodes.velocities[v].dot(&m) + 0.5 * d[v].dot(&t);
        }
        for (cell, turn) in body.blocks().iter().zip(&skinned.cell_turns) {
            let turned = |&a: &u32| turn.tr_mul(&d[a as usize]);
            let z: Vec<Vec3> = cell.nodes.iter().map(turned).collect();
            let mut y = vec![Vec3::zeros(); z.len()];
            cell.multiply(&z, &mut y);
            e += 0.5 * y.iter().zip(&z).map(|(y, z)| y.dot(z)).sum::<f64>();
        }
        e
    };
    for damping in [
        undamped_settings(240.0),
        SimulationSettings {
            gravity: Vec3::zeros(),
            ..settings()
        },
    ] {
        let mut sim = Simulation::new(body.clone(), damping.with_method(Method::Warped)).unwrap();
        sim.reset(&p, true, None).unwrap();
        for (v, d) in wobble_displacements(&body, 0.05).into_iter().enumerate() {
            if body.bone_of_vertex()[v].is_none() {
                sim.nodes.positions[v] += d;
            }
        }
        let start = energy(&sim);
        let mut last = start;
        for _ in 0..240 {
            sim.advance(&p, 1.0 / 240.0, None, None).unwrap();
            let now = energy(&sim);
            assert!(now <= last * (1.0 + 1e-9) + 1e-15);
            last = now;
        }
        assert!(start > 0.1 && last < 0.5 * start);
    }
}

/// Elastic forces sum to zero, also far from the origin.
#[test]
fn elastic_forces_sum_to_zero() {
    let bar = BarOptions {
        settings: BodySettings {
            twist: twist::no_twist(),
            ..Default::default()
        },
        bones: false,
        ..Default::default()
    };
    let body = bar.build();
    let far = Isometry3::translation(2e5, -3e5, 1e5);
    let mut skinned = SkinnedLattice::new(&body).unwrap();
    skinned
        .set(&body, Method::Warped, &pose(&[far; 2]))
        .unwrap();
    let mut system = system::LinearSystem::new(&body, Method::Warped, Solver::Factor).unwrap();
    let p: Vec<Vec3> = skinned
        .places
        .iter()
        .zip(wobble_displacements(&body, 0.01))
        .map(|(x, d)| x + d)
        .collect();
    let load = Load::new(&body, Vec3::zeros(), None, &[]);
    system.set_forces(&body, &skinned, &load, 1.0, &p);
    let size: f64 = system.nodes.iter().map(|f| f.norm()).sum();
    // Only free vertices are summed: let the clamped face be undeformed, so that it holds with nothing.
    let near: Vec<Vec3> = body
        .lattice()
        .vertices()
        .iter()
        .zip(&p)
        .map(|(x, p)| {
            if x.z < 0.5 {
                x + far.translation.vector
            } else {
                *p
            }
        })
        .collect();
    system.set_forces(&body, &skinned, &load, 1.0, &near);
    let sum: Vec3 = system.nodes.iter().sum();
    assert!(sum.norm() < 1e-6 * size, "{} {size}", sum.norm());
}

/// A turned body keeps its shape by the warped method, while linear strain swells it.
#[test]
fn warping_keeps_turned_shape() {
    let body = BarOptions::default().build();
    let over = pose(
        &[Isometry3::from_parts(
            Translation3::identity(),
            UnitQuaternion::from_axis_angle(&nalgebra::Vector3::y_axis(), 1.5),
        ); 2],
    );
    let edge = |method| {
        let q = equilibrium(&body, &over, None, None, Vec3::zeros(), method).unwrap();
        let x = body.rest_shape();
        let turned: Vec<Vec3> = x.iter().map(|x| over.maps()[0].apply(*x)).collect();
        let p: Vec<Vec3> = q.iter().zip(x).map(|(q, x)| q + x).collect();
        max_difference(&p, &turned)
    };
    assert!(edge(Method::Warped) < 1e-10);
    assert!(edge(Method::Linear) > 0.1);
}

/// The stiffness matrix agrees with the elastic forces and their energy.
#[test]
fn stiffness_matrix_matches_forces() {
    let body = BarOptions::default().build();
    let mut skinned = SkinnedLattice::new(&body).unwrap();
    skinned.set(&body, Method::Warped, &rest_pose()).unwrap();
    let mut system = system::LinearSystem::new(&body, Method::Warped, Solver::Factor).unwrap();
    let d = wobble_displacements(&body, 0.01);
    let p: Vec<Vec3> = body
        .lattice()
        .vertices()
        .iter()
        .zip(&d)
        .map(|(x, d)| x + d)
        .collect();
    system.set_forces(
        &body,
        &skinned,
        &Load::new(&body, Vec3::zeros(), None, &[]),
        1.0,
        &p,
    );
    let csr = body.stiffness(true);
    for (f, &v) in system.nodes.iter().zip(body.pattern().vertex_of_node()) {
        for r in 0..3 {
            let row = 3 * v as usize + r;
            let range = csr.indptr().outer_inds_sz(row);
            assert!(csr.indices()[range.clone()].windows(2).all(|w| w[0] < w[1]));
            let sum: f64 = range
                .map(|i| (csr.data()[i], csr.indices()[i] as usize))
                .map(|(entry, c)| entry * d[c / 3][c % 3])
                .sum();
            assert!((sum + f[r]).abs() < 1e-9 * (1.0 + sum.abs()));
        }
    }
    let energy = body.elements().energy(ElasticModel::Linear, &d);
    let twistless = body.stiffness(false);
    let mut half = 0.0;
    for row in 0..3 * body.node_count() {
        for i in twistless.indptr().outer_inds_sz(row) {
            let c = twistless.indices()[i] as usize;
            half += 0.5 * d[row / 3][row % 3] * twistless.data()[i] * d[c / 3][c % 3];
        }
    }
    assert!((energy - half).abs() < 1e-9 * energy);
}
