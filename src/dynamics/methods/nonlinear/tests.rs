// SPDX-License-Identifier: MIT OR Apache-2.0
//! Nonlinear statics and motion: the bar of [choi2003, fig. 4], energies, orders of accuracy, hard loads.

use super::*;
use crate::Vec3;
use crate::elasticity::elements::tetrahedral_mass;
use crate::elasticity::{ElasticModel, Elements, Material};
use crate::geometry::tetrahedron::CUBE_TETRAHEDRA;
use crate::progress::Silent;
use crate::solve::nodal::norm;
use crate::solve::{NewtonError, NodeMatrix, ScalarMatrix};
use nalgebra::UnitQuaternion;
use std::sync::Arc;

use crate::dynamics::SimulationError;

/// A bar along x, clamped at x = 0: 1 x 0.2 x 0.2 m in cubes of six tetrahedra.
struct ClampedBar {
    x: Vec<Vec3>,
    elements: Elements,
    mass: ScalarMatrix,
    fixed: Vec<bool>,
    across: usize,
    along: usize,
}

fn build_bar(along: usize, across: usize, material: &Material) -> ClampedBar {
    let m = across + 1;
    let at = |i: usize, j: usize, k: usize| (j + m * (k + m * i)) as u32;
    let mut x = Vec::new();
    for i in 0..=along {
        for k in 0..m {
            for j in 0..m {
                let side = |j: usize| 0.2 * (j as f64 / across as f64 - 0.5);
                x.push(Vec3::new(i as f64 / along as f64, side(j), side(k)));
            }
        }
    }
    let mut tets = Vec::new();
    for i in 0..along {
        for k in 0..across {
            for j in 0..across {
                let h: [u32; 8] =
                    std::array::from_fn(|c| at(i + (c & 1), j + (c >> 1 & 1), k + (c >> 2)));
                for t in CUBE_TETRAHEDRA {
                    tets.push(t.map(|c| h[c]));
                }
            }
        }
    }
    ClampedBar {
        elements: Elements::tetrahedra(&x, &tets, material),
        mass: tetrahedral_mass(&x, &tets, material.density()),
        fixed: x.iter().map(|x| x.x == 0.0).collect(),
        x,
        across,
        along,
    }
}

impl ClampedBar {
    fn weight(&self, g: Vec3) -> Vec<Vec3> {
        let everywhere = vec![g; self.x.len()];
        (0..self.x.len())
            .map(|v| self.mass.row_times(v, &everywhere))
            .collect()
    }

    /// Returns the length of the middle line from the clamped end to the tip.
    fn axis_length(&self, u: &[Vec3]) -> f64 {
        let m = self.across + 1;
        let middle = self.across / 2 * (1 + m);
        let places: Vec<Vec3> = (0..=self.along)
            .map(|i| middle + i * m * m)
            .map(|v| self.x[v] + u[v])
            .collect();
        places.windows(2).map(|p| (p[1] - p[0]).norm()).sum()
    }

    fn solve_statics(
        &self,
        model: ElasticModel,
        forces: &[Vec3],
    ) -> Result<Balance, SimulationError> {
        let options = Newton::default();
        equilibrium(
            &self.elements,
            &self.x,
            model,
            (&self.fixed, None),
            forces,
            &options,
            &Silent,
        )
    }

    /// Returns the residual forces on free nodes, as a part of the forces.
    fn residual_ratio(&self, model: ElasticModel, u: &[Vec3], forces: &[Vec3]) -> f64 {
        let mut g = forces.to_vec();
        self.elements.gradient(model, u, &mut g);
        for v in 0..g.len() {
            g[v] = if self.fixed[v] {
                Vec3::zeros()
            } else {
                g[v] - forces[v]
            };
        }
        norm(&g) / norm(forces)
    }
}

fn figure_4() -> Material {
    Material::new(1e5, 0.4, 1000.0).unwrap()
}

/// A sagging nonlinear bar keeps its length, while the linear bar grows longer.
#[test]
fn sagging_bar_keeps_length() {
    for (along, across) in [(10, 2), (20, 4)] {
        let bar = build_bar(along, across, &figure_4());
        let forces = bar.weight(Vec3::new(0.0, 0.0, -5.0));
        let linear = bar.solve_statics(ElasticModel::Linear, &forces).unwrap();
        assert!(linear.outcome.iterations() <= 2);
        let gain = bar.axis_length(&linear.displacements) - 1.0;
        assert!(gain > 0.1, "{gain}");
        for model in [ElasticModel::StVenantKirchhoff, ElasticModel::NeoHookean] {
            let found = bar.solve_statics(model, &forces).unwrap();
            let length = bar.axis_length(&found.displacements);
            // Neo-Hookean flesh is softer in tension than in compression, so the line of no stretch is not the middle.
            let kept = if model == ElasticModel::NeoHookean {
                0.03
            } else {
                0.01
            };
            assert!((length - 1.0).abs() < kept, "{model:?} {length}");
            // On the finer grid St. Venant-Kirchhoff flesh gives way where the clamp presses it to 55 % of its length.
            assert!(found.inverted == 0 || (along, model) == (20, ElasticModel::StVenantKirchhoff));
            assert!(bar.residual_ratio(model, &found.displacements, &forces) < 1e-9);
            // Near the solution the residual is squared each time, down to rounding.
            let start = norm(&forces);
            let r = found.outcome.residuals.iter().map(|r| r / start);
            let r: Vec<f64> = r.skip_while(|&r| r > 1e-2).collect();
            assert!((2..=4).contains(&r.len()), "{r:?}");
            let constant = (r[1] / (r[0] * r[0])).max(1.0);
            for pair in r.windows(2) {
                assert!(
                    pair[1] < 10.0 * constant * pair[0] * pair[0] + 1e-10,
                    "{r:?}"
                );
            }
            assert!(r[r.len() - 1] < 1e-8);
        }
    }
}

/// If clamp and loads are turned and moved, the static solution is turned and moved.
#[test]
fn statics_follow_rigid_motion() {
    let bar = build_bar(6, 2, &figure_4());
    let forces = bar.weight(Vec3::new(1.0, 2.0, -5.0));
    let turn = UnitQuaternion::from_scaled_axis(Vec3::new(0.5, -1.0, 2.0));
    for model in [ElasticModel::StVenantKirchhoff, ElasticModel::NeoHookean] {
        let u = bar.solve_statics(model, &forces).unwrap().displacements;
        // Only the clamped end is turned at first: the search turns the rest, from a start far away.
        let far = Vec3::new(1000.0, -300.0, 20.0);
        let turned: Vec<Vec3> = bar.x.iter().map(|x| turn * x - x + far).collect();
        let pulled: Vec<Vec3> = forces.iter().map(|f| turn * f).collect();
        let options = Newton::default();
        let found = equilibrium(
            &bar.elements,
            &bar.x,
            model,
            (&bar.fixed, Some(&turned)),
            &pulled,
            &options,
            &Silent,
        )
        .unwrap();
        for ((v, u), x) in found.displacements.iter().zip(&u).zip(&bar.x) {
            assert!((v + x - far - turn * (u + x)).norm() < 1e-7);
        }
    }
}

/// Loads that fold the bar give a finite solution or an error.
#[test]
fn folding_loads_stay_finite() {
    let bar = build_bar(8, 2, &figure_4());
    for pull in [
        Vec3::new(-40.0, 0.0, -1.0),
        Vec3::new(0.0, 0.0, -200.0),
        Vec3::new(-2000.0, 3.0, 0.0),
    ] {
        let forces = bar.weight(pull);
        for model in [ElasticModel::StVenantKirchhoff, ElasticModel::NeoHookean] {
            match bar.solve_statics(model, &forces) {
                Ok(found) => {
                    assert!(bar.residual_ratio(model, &found.displacements, &forces) < 1e-8);
                }
                Err(SimulationError::Newton(NewtonError::NotConverged { .. })) => {
                    assert_eq!(model, ElasticModel::StVenantKirchhoff);
                }
                Err(error) => panic!("{error}"),
            }
        }
    }
}

/// While loads grow in steps, the reported progress does not fall below that of the attempt with the whole load.
#[test]
fn progress_does_not_fall_back() {
    let bar = build_bar(8, 2, &figure_4());
    let mut grown = 0;
    for pull in [Vec3::new(-40.0, 0.0, -1.0), Vec3::new(-2000.0, 3.0, 0.0)] {
        for model in [ElasticModel::StVenantKirchhoff, ElasticModel::NeoHookean] {
            let shares = std::sync::Mutex::new(Vec::new());
            let listen = |share: f64, _: &str| {
                shares.lock().unwrap().push(share);
                true
            };
            // The result does not matter here.
            let _ = equilibrium(
                &bar.elements,
                &bar.x,
                model,
                (&bar.fixed, None),
                &bar.weight(pull),
                &Newton::default(),
                &listen,
            );
            let shares = shares.into_inner().unwrap();
            assert!(shares.iter().all(|share| (0.0..=1.0).contains(share)));
            // The attempt with the whole load ends at 0.6.
            let late = shares.iter().skip_while(|share| **share <= 0.6 + 1e-9);
            assert!(late.clone().all(|share| *share >= 0.6 - 1e-9), "{shares:?}");
            grown += late.count();
        }
    }
    assert!(grown > 0);
}

/// A bar that starts inside out returns to its rest shape.
#[test]
fn inverted_bar_recovers() {
    let bar = build_bar(4, 2, &figure_4());
    let mirrored: Vec<Vec3> = (bar.x.iter())
        .map(|x| Vec3::new(-2.0 * x.x, 0.3 * (9.0 * x.z).sin() * x.x, 0.0))
        .collect();
    let found = equilibrium(
        &bar.elements,
        &bar.x,
        ElasticModel::NeoHookean,
        (&bar.fixed, Some(&mirrored)),
        &vec![Vec3::zeros(); bar.x.len()],
        &Newton::default(),
        &Silent,
    )
    .unwrap();
    assert_eq!(found.inverted, 0);
    assert!(found.displacements.iter().all(|u| u.norm() < 1e-6));
}

/// Input that has no equilibrium is refused, and the error names the cause.
#[test]
fn statics_refuse_bad_input() {
    let bar = build_bar(2, 1, &figure_4());
    let k = bar.x.len();
    let zero = vec![Vec3::zeros(); k];
    let run = |fixed: &[bool], forces: &[Vec3], progress: &dyn crate::progress::Progress| {
        let options = Newton::default();
        let model = ElasticModel::StVenantKirchhoff;
        equilibrium(
            &bar.elements,
            &bar.x,
            model,
            (fixed, None),
            forces,
            &options,
            progress,
        )
    };
    let floating = run(&vec![false; k], &zero, &Silent).unwrap_err();
    assert_eq!(floating, SimulationError::NoSupport);
    let short = run(&bar.fixed, &zero[1..], &Silent).unwrap_err();
    assert!(matches!(short, SimulationError::Length { .. }));
    let mut odd = zero.clone();
    odd[3].y = f64::NAN;
    let nan = run(&bar.fixed, &odd, &Silent).unwrap_err();
    assert_eq!(nan, SimulationError::Vector { index: 3 });
    let pull = bar.weight(Vec3::new(0.0, 0.0, -5.0));
    let stopped = run(&bar.fixed, &pull, &|_: f64, _: &str| false).unwrap_err();
    assert!(matches!(
        stopped,
        SimulationError::Newton(NewtonError::Cancelled(_))
    ));
    let mut x = bar.x.clone();
    x.push(Vec3::new(9.0, 0.0, 0.0));
    let lonely = Elements::tetrahedra(&x, &[[0, 1, 2, 4]], &figure_4());
    let options = Newton::default();
    let fixed: Vec<bool> = (0..x.len()).map(|v| v != 4 && v != 6).collect();
    let error = equilibrium(
        &lonely,
        &x,
        ElasticModel::NeoHookean,
        (&fixed, None),
        &vec![Vec3::zeros(); x.len()],
        &options,
        &Silent,
    );
    assert_eq!(error, Err(SimulationError::Unattached { node: 6 }));
}

fn moving_bar(bar: &ClampedBar, settings: NonlinearSettings) -> NonlinearSimulation {
    let elements = Arc::new(bar.elements.clone());
    NonlinearSimulation::new(elements, bar.mass.clone(), &bar.x, &bar.fixed, settings).unwrap()
}

/// Simulates the bar under gravity for a time, in equal steps.
fn simulate_fall(
    bar: &ClampedBar,
    integrator: NonlinearIntegrator,
    steps: usize,
    seconds: f64,
) -> NonlinearSimulation {
    let mut sim = moving_bar(
        bar,
        NonlinearSettings {
            integrator,
            step: 1.0 / steps as f64,
            ..Default::default()
        },
    );
    let forces = bar.weight(Vec3::new(0.0, 0.0, -5.0));
    for _ in 0..(steps as f64 * seconds) as usize {
        sim.step(&forces, None, &Silent).unwrap();
    }
    sim
}

/// The error of each integrator falls with its order as the step shrinks.
#[test]
fn integrators_converge_with_order() {
    let bar = build_bar(5, 1, &figure_4());
    for (integrator, order) in [
        (NonlinearIntegrator::BackwardEuler, 1),
        (NonlinearIntegrator::Midpoint, 2),
    ] {
        let end = |integrator, steps| {
            simulate_fall(&bar, integrator, steps, 0.25)
                .displacements()
                .to_vec()
        };
        let exact = end(NonlinearIntegrator::Midpoint, 6400);
        let errors = [800, 1600].map(|steps| {
            let off = end(integrator, steps).into_iter().zip(&exact);
            norm(&off.map(|(u, exact)| u - exact).collect::<Vec<_>>())
        });
        let found = (errors[0] / errors[1]).log2();
        assert!((found - f64::from(order)).abs() < 0.25, "{found}");
    }
}

/// The midpoint rule conserves energy, and backward Euler dissipates it.
#[test]
fn midpoint_conserves_energy() {
    let bar = build_bar(5, 1, &figure_4());
    let forces = bar.weight(Vec3::new(0.0, 0.0, -5.0));
    let total = |sim: &NonlinearSimulation| {
        let work: f64 = forces
            .iter()
            .zip(sim.displacements())
            .map(|(f, u)| f.dot(u))
            .sum();
        (sim.energy() - work, sim.energy())
    };
    let (kept, scale) = total(&simulate_fall(
        &bar,
        NonlinearIntegrator::Midpoint,
        240,
        2.0,
    ));
    assert!(kept.abs() < 0.02 * scale, "{kept} {scale}");
    let (lost, _) = total(&simulate_fall(
        &bar,
        NonlinearIntegrator::BackwardEuler,
        240,
        2.0,
    ));
    assert!(lost < -0.02 * scale, "{lost}");
}

/// Damped motion ends in the static solution, and a free body keeps its momentum.
#[test]
fn damped_motion_reaches_statics() {
    let bar = build_bar(5, 1, &figure_4());
    let forces = bar.weight(Vec3::new(0.0, 0.0, -5.0));
    let damped = NonlinearSettings {
        mass_damping: 4.0,
        stiffness_damping: 0.02,
        step: 1.0 / 60.0,
        ..Default::default()
    };
    let mut sim = moving_bar(&bar, damped);
    for _ in 0..600 {
        sim.step(&forces, None, &Silent).unwrap();
    }
    let still = bar
        .solve_statics(ElasticModel::StVenantKirchhoff, &forces)
        .unwrap();
    let off = sim.displacements().iter().zip(&still.displacements);
    assert!(off.map(|(a, b)| (a - b).norm()).fold(0.0, f64::max) < 1e-6);

    // A free bar, thrown with a spin: its centre flies straight, and momentum is conserved.
    let mut loose = bar;
    loose.fixed.fill(false);
    for integrator in [
        NonlinearIntegrator::BackwardEuler,
        NonlinearIntegrator::Midpoint,
    ] {
        let mut sim = moving_bar(
            &loose,
            NonlinearSettings {
                integrator,
                ..Default::default()
            },
        );
        let spin = Vec3::new(0.3, 2.0, 1.0);
        let start: Vec<Vec3> = loose.x.iter().map(|x| spin.cross(x) + Vec3::x()).collect();
        let zero = vec![Vec3::zeros(); loose.x.len()];
        sim.set_state(&zero, &start).unwrap();
        let momentum =
            |v: &[Vec3]| -> Vec3 { (0..v.len()).map(|i| loose.mass.row_times(i, v)).sum() };
        let before = momentum(&start);
        for _ in 0..48 {
            sim.step(&zero, None, &Silent).unwrap();
        }
        assert!((momentum(sim.velocities()) - before).norm() < 1e-6 * before.norm());
        assert!(
            loose
                .elements
                .energy(ElasticModel::StVenantKirchhoff, sim.displacements())
                < 0.1
        );
    }
}

/// Held nodes follow their targets, and a failed step leaves the state unchanged.
#[test]
fn failed_step_keeps_state() {
    let bar = build_bar(4, 1, &figure_4());
    let mut sim = moving_bar(&bar, NonlinearSettings::default());
    let zero = vec![Vec3::zeros(); bar.x.len()];
    let mut target = zero.clone();
    for i in 1..=24 {
        target.fill(Vec3::new(0.0, 0.01 * f64::from(i), 0.0));
        sim.step(&zero, Some(&target), &Silent).unwrap();
    }
    for (v, fixed) in bar.fixed.iter().enumerate() {
        let u = sim.displacements()[v];
        assert!(u.iter().all(|u| u.is_finite()));
        if *fixed {
            assert!((u - target[v]).norm() < 1e-12);
            assert!((sim.velocities()[v] - Vec3::new(0.0, 2.4, 0.0)).norm() < 1e-9);
        }
    }
    let (u, v) = (sim.displacements().to_vec(), sim.velocities().to_vec());
    let stopped = sim.step(&bar.weight(Vec3::x()), None, &|_: f64, _: &str| false);
    assert!(stopped.is_err());
    assert!(sim.step(&zero[1..], None, &Silent).is_err());
    let huge = vec![Vec3::repeat(1e300); bar.x.len()];
    assert!(sim.step(&huge, None, &Silent).is_err());
    assert_eq!((sim.displacements(), sim.velocities()), (&u[..], &v[..]));
}
