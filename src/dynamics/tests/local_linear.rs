// SPDX-License-Identifier: MIT OR Apache-2.0
//! Linearisation once a step and blended local linearisation, against the nonlinear method and each other.

use super::*;
use crate::progress::Silent;
use crate::skeleton::Affine;
use crate::solve::term::tests::Pin;
use nalgebra::Rotation3;

/// Returns a bar whose painted weights pass from one bone to the other over its middle half.
pub(super) fn painted_bar() -> BarOptions {
    let bar = BarOptions::default();
    BarOptions {
        settings: BodySettings {
            region_weights: Some(bar.painted_weights()),
            ..Default::default()
        },
        ..bar
    }
}

fn free_settings() -> SimulationSettings {
    SimulationSettings {
        gravity: Vec3::zeros(),
        ..settings()
    }
}

/// Returns where a body of a method comes to rest at a pose without gravity, from the balance in which it starts.
fn rest_positions(body: &Arc<Body>, method: Method, pose: &Pose, rate: f64) -> Vec<Vec3> {
    let settings = SimulationSettings {
        rate,
        mass_damping: Some(20.0),
        stiffness_damping: Some(0.0),
        ..free_settings()
    };
    let mut sim = Simulation::new(body.clone(), settings.with_method(method)).unwrap();
    sim.reset(pose, true, None).unwrap();
    for _ in 0..12 {
        sim.advance(pose, 0.5, None, None).unwrap();
    }
    sim.lattice_positions().to_vec()
}

/// In every method with turning frames flesh follows a rigid motion of all bones, and stays there.
#[test]
fn rigid_poses_are_exact() {
    let body = painted_bar().build();
    let turn = UnitQuaternion::from_scaled_axis(Vec3::new(0.7, -1.9, 0.4));
    let at = Isometry3::from_parts(Translation3::new(30.0, -2.0, 5.0), turn);
    let carried: Vec<Vec3> = body
        .rest_shape()
        .iter()
        .map(|x| (at * nalgebra::Point3::from(*x)).coords)
        .collect();
    for method in Method::ALL.into_iter().filter(|m| *m != Method::Linear) {
        let mut sim = Simulation::new(body.clone(), free_settings().with_method(method)).unwrap();
        sim.reset(&pose(&[at; 2]), true, None).unwrap();
        let off = max_difference(sim.lattice_positions(), &carried);
        assert!(off < 1e-9, "{method:?} {off}");
        sim.advance(&pose(&[at; 2]), 0.25, None, None).unwrap();
        let off = max_difference(sim.lattice_positions(), &carried);
        assert!(off < 1e-9, "{method:?} {off}");
    }
}

/// Flesh that travels and turns as its bones do in a step has no lag in rotated methods.
#[test]
fn rigid_steps_are_exact() {
    let body = painted_bar().build();
    let turn = |a: f64| {
        pose(
            &[Isometry3::from_parts(
                Translation3::new(0.1 * a, 0.0, 0.2 * a),
                UnitQuaternion::from_axis_angle(&nalgebra::Vector3::z_axis(), a),
            ); 2],
        )
    };
    let damped = SimulationSettings {
        mass_damping: Some(50.0),
        stiffness_damping: Some(0.1),
        ..undamped_settings(24.0)
    };
    for method in [Method::Blended, Method::Linearised] {
        let mut sim = Simulation::new(body.clone(), damped.clone().with_method(method)).unwrap();
        sim.reset(&turn(0.0), false, None).unwrap();
        let mut after = SkinnedLattice::new(&body).unwrap();
        after.set(&body, method, &turn(0.7)).unwrap();
        // Inertia is balanced by a velocity that equals the step's own.
        for v in 0..body.node_count() {
            sim.nodes.velocities[v] = (after.places[v] - sim.nodes.positions[v]) * 24.0;
        }
        sim.advance(&turn(0.7), 1.0 / 24.0, None, None).unwrap();
        let lag = max_difference(&after.places, sim.lattice_positions());
        assert!(lag < 1e-9, "{method:?} {lag}");
    }
}

/// The error against the nonlinear balance falls with the square of the bend; that of the printed form with the bend.
#[test]
fn error_falls_with_bend() {
    let bar = painted_bar();
    let body = bar.build();
    for (method, order) in [
        (Method::Warped, 2.0),
        (Method::Blended, 2.0),
        (Method::Linearised, f64::INFINITY),
        (Method::BlendedPrinted, 1.0),
    ] {
        let error = |angle: f64| {
            let pose = bent_pose(&bar, angle);
            let exact = rest_positions(&body, Method::Nonlinear, &pose, 24.0);
            max_difference(&rest_positions(&body, method, &pose, 240.0), &exact)
        };
        let (far, near) = (error(0.04), error(0.02));
        if order.is_infinite() {
            assert!(far < 1e-7, "{method:?} {far}");
        } else {
            let found = (far / near).log2();
            assert!((found - order).abs() < 0.2, "{method:?} {found} {near}");
        }
    }
}

/// A settled start of regions is the rest of their own steps, whatever their length, damping and loads; other steps end nearby.
#[test]
fn regions_start_at_rest() {
    let bar = painted_bar();
    let body = bar.build();
    let (at, forces) = (bent_pose(&bar, 1.0), wobble_displacements(&body, 1.0));
    for method in [Method::Blended, Method::BlendedPrinted] {
        let settled = |rate: f64, damping: f64| {
            let settings = SimulationSettings {
                rate,
                mass_damping: Some(damping),
                stiffness_damping: Some(2e-3 * damping),
                ..settings()
            };
            let mut sim = Simulation::new(body.clone(), settings.with_method(method)).unwrap();
            sim.reset(&at, true, Some(&forces)).unwrap();
            let start = sim.lattice_positions().to_vec();
            for _ in 0..12 {
                sim.advance(&at, 1.0 / 24.0, None, Some(&forces)).unwrap();
            }
            let off = max_difference(sim.lattice_positions(), &start);
            assert!(off < 1e-9, "{method:?} {rate} {off}");
            start
        };
        let usual = settled(240.0, 0.0);
        let q = equilibrium(&body, &at, None, Some(&forces), settings().gravity, method).unwrap();
        let places: Vec<Vec3> = q
            .iter()
            .zip(body.rest_shape())
            .map(|(q, x)| q + x)
            .collect();
        assert!(max_difference(&usual, &places) < 1e-9);
        for (rate, damping) in [(24.0, 0.0), (480.0, 0.0), (240.0, 4.0)] {
            let off = max_difference(&usual, &settled(rate, damping));
            assert!(off > 1e-5 && off < 0.05 * SIZE, "{method:?} {rate} {off}");
        }
    }
}

/// Turning the bones, the forces and the state turns the motion, except in the printed form.
#[test]
fn motion_turns_with_bones() {
    let bar = painted_bar();
    let body = bar.build();
    let turn = Rotation3::from_euler_angles(0.4, -0.9, 2.0);
    let forces = wobble_displacements(&body, 1.0);
    for (method, exact) in [
        (Method::Blended, true),
        (Method::Linearised, true),
        (Method::BlendedPrinted, false),
    ] {
        let run = |turn: &Rotation3<f64>| {
            let map = Affine {
                linear: *turn.matrix(),
                translation: Vec3::zeros(),
            };
            let at = |angle: f64| bent_pose(&bar, angle).apply_map(&map);
            let turned: Vec<Vec3> = forces.iter().map(|f| turn * f).collect();
            let settings = free_settings().with_method(method);
            let mut sim = Simulation::new(body.clone(), settings).unwrap();
            sim.reset(&at(0.0), true, None).unwrap();
            for i in 1..=6 {
                let pose = at(0.1 * f64::from(i));
                sim.advance(&pose, 1.0 / 24.0, Some(&turned), None).unwrap();
            }
            let back = sim.lattice_positions().iter();
            back.map(|p| turn.inverse() * p).collect::<Vec<_>>()
        };
        let off = max_difference(&run(&Rotation3::identity()), &run(&turn));
        assert!((off < 1e-9) == exact, "{method:?} {off}");
    }
}

/// With shorter steps, motion linearised once a step approaches the nonlinear motion. Stiffness damping is left out: both take it from
/// Hessians that differ where flesh is pressed.
#[test]
fn linearised_approaches_nonlinear() {
    let bar = painted_bar();
    let body = bar.build();
    let forces = wobble_displacements(&body, 0.3);
    let run = |method, rate| {
        let settings = SimulationSettings {
            rate,
            stiffness_damping: Some(0.0),
            ..settings()
        };
        let mut sim = Simulation::new(body.clone(), settings.with_method(method)).unwrap();
        sim.reset(&rest_pose(), true, None).unwrap();
        for i in 1..=5 {
            let pose = bent_pose(&bar, 0.05 * f64::from(i));
            sim.advance(&pose, 1.0 / 24.0, Some(&forces), None).unwrap();
        }
        sim.lattice_positions().to_vec()
    };
    let errors = [120.0, 240.0, 480.0].map(|rate| {
        max_difference(
            &run(Method::Linearised, rate),
            &run(Method::Nonlinear, rate),
        )
    });
    assert!(errors[0] > 1e-8 && errors[0] < 0.01 * SIZE, "{errors:?}");
    for pair in errors.windows(2) {
        assert!(pair[1] < 0.6 * pair[0], "{errors:?}");
    }
}

/// Returns the kinetic energy of a simulation.
fn kinetic_energy(sim: &Simulation, body: &Body) -> f64 {
    let velocities = &sim.nodes.velocities;
    let of = |(v, velocity): (usize, &Vec3)| {
        0.5 * velocity.dot(&body.mass_matrix().row_times(v, velocities))
    };
    velocities.iter().enumerate().map(of).sum()
}

/// Displaces the free nodes of a simulation.
pub(super) fn strike(sim: &mut Simulation, body: &Body, size: f64) {
    for (v, d) in wobble_displacements(body, size).into_iter().enumerate() {
        if body.bone_of_vertex()[v].is_none() {
            sim.nodes.positions[v] += d;
        }
    }
}

/// The energy of flesh that is linearised once a step does not grow without forces.
#[test]
fn linearised_energy_never_grows() {
    let bar = painted_bar();
    let body = bar.build();
    let at = bent_pose(&bar, 0.6);
    for settings in [
        undamped_settings(240.0),
        undamped_settings(48.0),
        free_settings(),
    ] {
        let dt = 1.0 / settings.rate;
        let method = settings.with_method(Method::Linearised);
        let mut sim = Simulation::new(body.clone(), method).unwrap();
        let energy = |sim: &Simulation| {
            let p = &sim.nodes.positions;
            let q: Vec<Vec3> = p
                .iter()
                .zip(body.rest_shape())
                .map(|(p, x)| p - x)
                .collect();
            let twist = |(v, p): (usize, &Vec3)| {
                let pull = body.twist_matrix().row_times(v, &sim.nodes.positions);
                p.dot(&(pull * 0.5 - sim.now.twist_loads[v]))
            };
            kinetic_energy(sim, &body)
                + body.elements().energy(ElasticModel::StVenantKirchhoff, &q)
                + p.iter().enumerate().map(twist).sum::<f64>()
        };
        sim.reset(&at, true, None).unwrap();
        let least = energy(&sim);
        strike(&mut sim, &body, 0.01);
        let start = energy(&sim) - least;
        let mut last = start;
        for _ in 0..120 {
            sim.advance(&at, dt, None, None).unwrap();
            let now = energy(&sim) - least;
            assert!(now <= last + 1e-9 * start, "{now} {last} {start}");
            last = now;
        }
        assert!(start > 0.01 && last < 0.5 * start, "{start} {last}");
    }
}

/// Blended flesh that is struck calms down from the first step on, at any bend, step length and Poisson's ratio.
#[test]
fn blended_energy_never_exceeds_start() {
    for (poisson, angle) in [(0.4, 0.0), (0.4, 1.0), (0.48, 1.6)] {
        let bar = BarOptions {
            material: Material::new(2e4, poisson, 1000.0).unwrap(),
            ..painted_bar()
        };
        let body = bar.build();
        let (stiffness, at) = (body.stiffness_matrix(true), bent_pose(&bar, angle));
        for (rate, method) in [24.0, 48.0, 240.0]
            .into_iter()
            .flat_map(|rate| [(rate, Method::Blended), (rate, Method::BlendedPrinted)])
        {
            let settings = undamped_settings(rate).with_method(method);
            let mut sim = Simulation::new(body.clone(), settings).unwrap();
            sim.reset(&at, true, None).unwrap();
            let still = sim.nodes.positions.clone();
            // An energy of both bones' frames: that of displacements seen from the skeleton.
            let energy = |sim: &Simulation| {
                let all = sim.nodes.positions.iter().zip(&still).zip(&sim.now.turns);
                let d: Vec<Vec3> = all.map(|((p, s), turn)| turn.tr_mul(&(p - s))).collect();
                let elastic = |(v, d_v): (usize, &Vec3)| 0.5 * d_v.dot(&stiffness.row_times(v, &d));
                kinetic_energy(sim, &body) + d.iter().enumerate().map(elastic).sum::<f64>()
            };
            strike(&mut sim, &body, 0.01);
            let start = energy(&sim);
            for _ in 0..120 {
                sim.advance(&at, 1.0 / rate, None, None).unwrap();
                let now = energy(&sim);
                assert!(
                    now <= start,
                    "{method:?} {poisson} {angle} {rate} {now} {start}"
                );
            }
            assert!(energy(&sim) < 0.5 * start);
        }
    }
}

/// With one bone there is one region, and blended motion is warped motion.
#[test]
fn one_region_equals_warped() {
    let bar = BarOptions {
        bones: false,
        ..Default::default()
    };
    let body = bar.build();
    let run = |method| {
        let mut sim = Simulation::new(body.clone(), settings().with_method(method)).unwrap();
        sim.reset(&rest_pose(), true, None).unwrap();
        for i in 1..=12 {
            let turn = UnitQuaternion::from_scaled_axis(Vec3::new(0.1, 0.05, 0.0) * f64::from(i));
            let at = Isometry3::from_parts(Translation3::identity(), turn);
            sim.advance(&pose(&[at; 2]), 1.0 / 24.0, None, None)
                .unwrap();
        }
        sim.lattice_positions().to_vec()
    };
    let (blended, warped) = (run(Method::Blended), run(Method::Warped));
    assert!(max_difference(&blended, &warped) < 1e-9 * SIZE);
    assert!(max_difference(&blended, body.rest_shape()) > 0.1);
}

/// At slight bends steps by regions stay near steps that solve the whole system.
#[test]
fn regions_step_like_whole_system() {
    let bar = painted_bar();
    let body = bar.build();
    let forces = wobble_displacements(&body, 2.0);
    let run = |whole: bool| {
        let settings = settings().with_method(Method::Blended);
        let mut sim = Simulation::new(body.clone(), settings).unwrap();
        if whole {
            // A term without effect: with further terms the whole system is solved.
            let idle = Pin {
                node: 0,
                place: Vec3::zeros(),
                stiffness: 0.0,
            };
            sim.set_terms(vec![Arc::new(idle)]).unwrap();
        }
        sim.reset(&rest_pose(), true, None).unwrap();
        for i in 1..=8 {
            let pose = bent_pose(&bar, 0.002 * f64::from(i));
            sim.advance(&pose, 1.0 / 24.0, Some(&forces), None).unwrap();
        }
        (
            sim.lattice_positions().to_vec(),
            max_difference(sim.lattice_positions(), sim.carried_positions()),
        )
    };
    let ((regions, sway), (whole, _)) = (run(false), run(true));
    let off = max_difference(&regions, &whole);
    assert!(off < 0.05 * sway && off > 0.0, "{off} {sway}");
}

/// One thread and two give the same bits.
#[test]
fn threads_keep_bits() {
    let bar = BarOptions {
        cells_across: 6,
        cells_along: 24,
        ..Default::default()
    };
    let body = bar.build();
    for method in [Method::Blended, Method::BlendedPrinted, Method::Linearised] {
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
            pool.build().unwrap().install(|| {
                let damped = SimulationSettings {
                    mass_damping: Some(4.0),
                    stiffness_damping: Some(0.004),
                    ..settings()
                };
                let mut sim = Simulation::new(body.clone(), damped.with_method(method)).unwrap();
                sim.reset(&rest_pose(), false, None).unwrap();
                let motion = FrameMotion::from_endpoints(
                    body.skeleton(),
                    &rest_pose(),
                    &bent_pose(&bar, 0.3),
                );
                sim.advance_motion(&motion.unwrap(), 1.0 / 48.0, (None, None), &Silent)
                    .unwrap();
                sim.state()
            })
        };
        assert!(run(1) == run(2), "{method:?}");
    }
}
