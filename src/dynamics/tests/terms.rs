// SPDX-License-Identifier: MIT OR Apache-2.0
//! Energy terms: derivatives of the flesh's terms, and a custom term that acts in every balance and step.

use super::*;
use crate::dynamics::methods::flesh::{TwistTerm, WarpedCells};
use crate::elasticity::{Elastic, TangentChoice};
use crate::solve::newton::RoundedSum;
use crate::solve::term::tests::{Pin, check_derivatives};
use crate::solve::{Configuration, EnergyTerm, NodeMatrix};

/// Builds a bar with a twist, at a bend, with displaced flesh.
fn flesh() -> (Arc<Body>, SkinnedLattice, Vec<Vec3>) {
    let bar = BarOptions::default();
    let body = bar.build();
    let mut skinned = SkinnedLattice::new(&body).unwrap();
    skinned
        .set(&body, Method::Warped, &bent_pose(&bar, 0.7))
        .unwrap();
    let off = wobble_displacements(&body, 0.02);
    (body, skinned, off)
}

/// The gradients and tangents of the flesh's terms are derivatives of their energies.
#[test]
fn flesh_terms_match_derivatives() {
    let (body, skinned, off) = flesh();
    let load = Load::new(&body, Vec3::new(1.0, 2.0, -9.0), None, &[]);
    let places: Vec<Vec3> = skinned
        .places
        .iter()
        .zip(&off)
        .map(|(p, d)| p + d)
        .collect();
    let at = Configuration {
        origin: None,
        displacements: &places,
        increment: None,
    };
    let turns = &skinned.cell_turns;
    let cells = WarpedCells {
        body: &body,
        turns,
        load: &load,
    };
    check_derivatives(&cells, at, body.pattern(), 1e-4);
    let twist = TwistTerm {
        body: &body,
        skinned: &skinned,
    };
    check_derivatives(&twist, at, body.pattern(), 1e-4);
    let at = Configuration {
        origin: Some(&skinned.places),
        displacements: &off,
        increment: None,
    };
    for model in [
        ElasticModel::StVenantKirchhoff,
        ElasticModel::NeoHookean,
        ElasticModel::Yeoh,
    ] {
        for (turns, tangent) in [
            (None, TangentChoice::Exact(1e-3)),
            (Some(turns.as_slice()), TangentChoice::Exact(0.0)),
        ] {
            let elastic = Elastic {
                elements: body.elements(),
                model,
                turns,
                slots: body.pattern().pair_slots(),
                tangent,
            };
            check_derivatives(&elastic, at, body.pattern(), 1e-6);
        }
    }
}

/// Returns a pin that ties the corner of the bar farthest from its bones to a point beside it.
fn pin(bar: &BarOptions, body: &Body, stiffness: f64, off: Vec3) -> Arc<Pin> {
    let node = bar.vertex(0, 0, bar.cells_along);
    Arc::new(Pin {
        node,
        place: body.rest_shape()[node] + off,
        stiffness,
    })
}

const METHODS: [Method; 8] = [
    Method::Hyperelastic,
    Method::Warped,
    Method::WarpedVertex,
    Method::Blended,
    Method::Linear,
    Method::Linearised,
    Method::Nonlinear,
    Method::NeoHookean,
];

/// Every method balances a term that is added from outside.
#[test]
fn custom_term_is_balanced() {
    let bar = BarOptions::default();
    let body = bar.build();
    let pin = pin(&bar, &body, 40.0, Vec3::new(0.03, -0.05, 0.02));
    for method in METHODS {
        let mut sim = Simulation::new(body.clone(), settings().with_method(method)).unwrap();
        sim.set_terms(vec![pin.clone()]).unwrap();
        sim.reset(&rest_pose(), true, None).unwrap();
        let rest = body.rest_shape();
        let q: Vec<Vec3> = sim
            .lattice_positions()
            .iter()
            .zip(rest)
            .map(|(p, x)| p - x)
            .collect();
        // The force of the flesh equals that of the pin, and there is no other.
        let held = equilibrium_forces(&body, &rest_pose(), &q, settings().gravity, method).unwrap();
        let pull = (pin.place - sim.lattice_positions()[pin.node]) * pin.stiffness;
        assert!(pull.norm() > 0.1, "{method:?} {pull}");
        for (v, f) in held.iter().enumerate() {
            let wanted = if v == pin.node { pull } else { Vec3::zeros() };
            assert!(
                (f - wanted).norm() < 1e-8 * pull.norm(),
                "{method:?} {v} {f}"
            );
        }
    }
}

/// Steps in time lead to the balance of a term.
#[test]
fn steps_reach_term_balance() {
    let bar = BarOptions::default();
    let body = bar.build();
    let far = Vec3::new(0.3, -0.25, 0.2);
    let near = 0.1 * far;
    for (method, solver, stiffness, off) in [
        (Method::Hyperelastic, Solver::Automatic, 40.0, near),
        // So strong that a single linearisation is inaccurate.
        (Method::Hyperelastic, Solver::Automatic, 1e4, far),
        (Method::Warped, Solver::Factor, 40.0, near),
        (Method::Warped, Solver::Iterate, 40.0, near),
        (Method::WarpedVertex, Solver::Factor, 40.0, near),
        (Method::WarpedVertex, Solver::Iterate, 40.0, near),
        (Method::Blended, Solver::Factor, 40.0, near),
        (Method::Linear, Solver::Factor, 40.0, near),
        (Method::Linearised, Solver::Automatic, 40.0, near),
        (Method::Nonlinear, Solver::Automatic, 40.0, near),
    ] {
        let damped = SimulationSettings {
            rate: 48.0,
            mass_damping: Some(8.0),
            solver,
            ..settings()
        };
        let pin = pin(&bar, &body, stiffness, off);
        let mut sim = Simulation::new(body.clone(), damped.with_method(method)).unwrap();
        sim.set_terms(vec![pin.clone()]).unwrap();
        sim.reset(&rest_pose(), true, None).unwrap();
        let balance = sim.lattice_positions().to_vec();
        sim.reset(&rest_pose(), false, None).unwrap();
        let start = max_difference(sim.lattice_positions(), &balance);
        for _ in 0..5 {
            sim.advance(&rest_pose(), 1.0, None, None).unwrap();
        }
        let end = max_difference(sim.lattice_positions(), &balance);
        assert!(
            start > 1e-3 && end < 1e-6 * start,
            "{method:?} {start} {end}"
        );
    }
}

/// A term that is removed leaves no trace in the state.
#[test]
fn removed_term_leaves_no_trace() {
    let bar = BarOptions::default();
    let body = bar.build();
    let pin = pin(&bar, &body, 40.0, Vec3::new(0.1, 0.0, 0.0));
    for method in [
        Method::Linear,
        Method::Warped,
        Method::WarpedVertex,
        Method::Blended,
        Method::Linearised,
    ] {
        let mut sim = Simulation::new(body.clone(), settings().with_method(method)).unwrap();
        sim.reset(&rest_pose(), true, None).unwrap();
        let before = sim.state();
        let step = |sim: &mut Simulation| sim.advance(&rest_pose(), 0.1, None, None).unwrap();
        step(&mut sim);
        let plain = sim.state();
        sim.restore(&before).unwrap();
        sim.set_terms(vec![pin.clone()]).unwrap();
        step(&mut sim);
        assert!(sim.state() != plain);
        sim.restore(&before).unwrap();
        sim.set_terms(Vec::new()).unwrap();
        step(&mut sim);
        assert!(sim.state() == plain);
    }
}

/// Terms that do not fit the body or the method are refused.
#[test]
fn set_terms_refuses_bad_terms() {
    let bar = BarOptions::default();
    let body = bar.build();
    let good = pin(&bar, &body, 1.0, Vec3::zeros());
    let beyond = Arc::new(Pin {
        node: body.node_count(),
        place: Vec3::zeros(),
        stiffness: 1.0,
    });
    let mut sim = Simulation::new(body.clone(), settings().with_method(Method::Warped)).unwrap();
    let error = sim.set_terms(vec![good.clone(), beyond]).unwrap_err();
    assert_eq!(error, SimulationError::Term { index: 1 });
    let mut modal = Simulation::new(body, settings().with_method(Method::Modal)).unwrap();
    assert_eq!(
        modal.set_terms(vec![good.clone()]),
        Err(SimulationError::ModalTerms)
    );
    modal.set_terms(Vec::new()).unwrap();
    let printed = settings().with_method(Method::BlendedPrinted);
    let mut printed = Simulation::new(bar.build(), printed).unwrap();
    assert_eq!(
        printed.set_terms(vec![good.clone()]),
        Err(SimulationError::PrintedTerms)
    );
    let mut printed = Equilibrium::new(&bar.build(), Method::BlendedPrinted).unwrap();
    assert_eq!(
        printed.set_terms(vec![good]),
        Err(SimulationError::PrintedTerms)
    );
}

/// An implicit step evaluates a term at the end of the step.
#[test]
fn implicit_step_evaluates_term_at_end() {
    let bar = BarOptions::default();
    let body = bar.build();
    let h = 1.0 / 48.0;
    let pin = pin(&bar, &body, 40.0, Vec3::new(0.03, -0.05, 0.02));
    for (method, solver) in [
        (Method::Warped, Solver::Factor),
        (Method::Warped, Solver::Iterate),
        (Method::WarpedVertex, Solver::Factor),
        (Method::WarpedVertex, Solver::Iterate),
        (Method::Blended, Solver::Factor),
        (Method::Linear, Solver::Factor),
        (Method::Nonlinear, Solver::Automatic),
        (Method::NeoHookean, Solver::Automatic),
    ] {
        let settings = SimulationSettings {
            solver,
            ..undamped_settings(48.0)
        };
        let mut sim = Simulation::new(body.clone(), settings.with_method(method)).unwrap();
        sim.set_terms(vec![pin.clone()]).unwrap();
        sim.reset(&rest_pose(), false, None).unwrap();
        sim.advance(&rest_pose(), h, None, None).unwrap();
        let after = sim.lattice_positions();
        let rest = body.rest_shape();
        let q: Vec<Vec3> = after.iter().zip(rest).map(|(p, x)| p - x).collect();
        let held = equilibrium_forces(&body, &rest_pose(), &q, Vec3::zeros(), method).unwrap();
        // M v'/h = − ∇V(q') − k (p' − a), from a standstill.
        let pull = (pin.place - after[pin.node]) * pin.stiffness;
        for &v in body.pattern().vertex_of_node() {
            let v = v as usize;
            let mut force = -held[v];
            if v == pin.node {
                force += pull;
            }
            let inertia = body.mass_matrix().row_times(v, sim.lattice_velocities()) / h;
            assert!(
                (inertia - force).norm() < 1e-7 * pull.norm(),
                "{method:?} {v}"
            );
        }
    }
}

/// An `Equilibrium` that is kept accepts further terms.
#[test]
fn equilibrium_accepts_terms() {
    let bar = BarOptions::default();
    let body = bar.build();
    let pin = pin(&bar, &body, 40.0, Vec3::new(0.03, -0.05, 0.02));
    let (pose, gravity) = (rest_pose(), settings().gravity);
    for method in METHODS {
        let mut sim = Simulation::new(body.clone(), settings().with_method(method)).unwrap();
        sim.set_terms(vec![pin.clone()]).unwrap();
        sim.reset(&pose, true, None).unwrap();
        let mut balance = Equilibrium::new(&body, method).unwrap();
        balance.set_pose(&pose).unwrap();
        let free = balance.solve(gravity, None, None).unwrap();
        balance.set_terms(vec![pin.clone()]).unwrap();
        let held = balance.solve(gravity, None, None).unwrap();
        let rest = body.rest_shape();
        for ((q, x), p) in held.iter().zip(rest).zip(sim.lattice_positions()) {
            assert!((q + x - p).norm() < 1e-9, "{method:?}");
        }
        assert!(
            (held[pin.node] - free[pin.node]).norm() > 1e-3,
            "{method:?}"
        );
        balance.set_terms(Vec::new()).unwrap();
        assert_eq!(balance.solve(gravity, None, None).unwrap(), free);
    }
    let nowhere = Arc::new(Pin {
        node: body.node_count(),
        place: Vec3::zeros(),
        stiffness: 1.0,
    });
    let mut balance = Equilibrium::new(&body, Method::Warped).unwrap();
    let error = balance.set_terms(vec![pin, nowhere]).unwrap_err();
    assert!(matches!(error, SimulationError::Term { index: 1 }));
}

/// The rounding bound of a twist is proportional to its energy.
#[test]
fn twist_rounding_scales_with_energy() {
    let (body, _, off) = flesh();
    let bounds = [1.0, 1e3, 1e6].map(|factor| {
        let body = body.with_scaled_stiffness(factor).unwrap();
        let mut skinned = SkinnedLattice::new(&body).unwrap();
        let pose = bent_pose(&BarOptions::default(), 0.7);
        skinned.set(&body, Method::Warped, &pose).unwrap();
        let pairs = skinned.places.iter().zip(&off);
        let places: Vec<Vec3> = pairs.map(|(p, d)| p + d).collect();
        let at = Configuration {
            origin: None,
            displacements: &places,
            increment: None,
        };
        let twist = TwistTerm {
            body: &body,
            skinned: &skinned,
        };
        let mut sum = RoundedSum::default();
        twist.add_value(&at, &mut sum);
        // Both are proportional to the flesh's stiffness.
        (sum.value / factor, sum.rounding / factor)
    });
    let (value, rounding) = bounds[0];
    assert!(rounding > 0.1 * f64::EPSILON * value.abs());
    for (other, bound) in bounds {
        assert!((bound / rounding - 1.0).abs() < 1e-6, "{bound} {rounding}");
        assert!((other - value).abs() <= rounding + bound);
    }
}
