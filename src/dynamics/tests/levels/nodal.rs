// SPDX-License-Identifier: MIT OR Apache-2.0
//! Nodal functions, in which steps are solved, against the functions of the body.

use super::*;
use crate::solve::term::tests::Pin as Spring;
use crate::solve::{EnergyTerm, ScalarMatrix};

/// Nodal values and coefficients describe the same shape: its energy, its inertia and its twist are those of the body, and nodal functions
/// are one at their own centres and zero at others.
#[test]
fn nodal_functions_describe_same_flesh() {
    for levels in 1..=2 {
        let body = half_bar(levels);
        let form = body.nodal_form().unwrap().unwrap();
        let n = body.node_count();
        let x: Vec<Vec3> = (0..n)
            .map(|a| Vec3::new((a as f64).sin(), (2.0 * a as f64).cos(), 0.3) * 0.02)
            .collect();
        let (mut y, mut back) = (x.clone(), x.clone());
        form.values.to_values(&x, &mut y);
        for (a, y) in y.iter().enumerate() {
            let row = body.basis().centre_row(a);
            let value: Vec3 = row.iter().map(|&(b, w)| x[b as usize] * w).sum();
            assert!((value - y).norm() < 1e-14);
        }
        form.values.to_coefficients(&y, &mut back);
        assert!(max_difference(&x, &back) < 1e-13);
        // Work of forces is the same.
        let mut forces = x.clone();
        form.values.to_nodal_forces(&x, &mut forces);
        let work = |f: &[Vec3], d: &[Vec3]| f.iter().zip(d).map(|(f, d)| f.dot(d)).sum::<f64>();
        let (wanted, found) = (work(&x, &x), work(&forces, &y));
        assert!((wanted - found).abs() < 1e-10 * wanted, "{wanted} {found}");
        let model = ElasticModel::Yeoh;
        let (wanted, found) = (
            body.elements().energy(model, &x),
            form.elements.energy(model, &y),
        );
        assert!((wanted - found).abs() < 1e-9 * wanted, "{wanted} {found}");
        for (own, nodal) in [
            (body.mass_matrix(), &form.mass),
            (body.twist_matrix(), &form.twist),
        ] {
            let square = |matrix: &ScalarMatrix, x: &[Vec3]| -> f64 {
                (0..n).map(|v| x[v].dot(&matrix.row_times(v, x))).sum()
            };
            let (wanted, found) = (square(own, &x), square(nodal, &y));
            assert!((wanted - found).abs() < 1e-9 * wanted, "{wanted} {found}");
        }
        // That is the point of it.
        assert!(form.mass.nnz() < body.mass_matrix().nnz());
    }
}

/// A term without force has steps and balances solved in the body's own functions: they are those solved in nodal functions. So
/// are the displacements of pins. Steps of the default method with little strain are one linear system; those with more are iterated to some
/// per cent of their change, which differs.
#[test]
fn nodal_functions_change_no_motion() {
    let bar = BarOptions::default();
    for (levels, method, pinned, bend) in [
        (1, Method::Hyperelastic, false, 0.02),
        (1, Method::Hyperelastic, true, 0.02),
        (1, Method::Warped, true, 0.2),
        (2, Method::Warped, false, 0.2),
    ] {
        let body = Arc::new(half_bar(levels));
        let last = body.node_count() - 1;
        let run = |terms: Vec<Arc<dyn EnergyTerm>>| {
            let settings = SimulationSettings {
                solver: Solver::Factor,
                rate: 96.0,
                ..SimulationSettings::for_method(method)
            };
            let mut simulation = Simulation::new(body.clone(), settings).unwrap();
            simulation.set_terms(terms).unwrap();
            simulation.reset(&rest_pose(), true, None).unwrap();
            if pinned {
                let place = Vec3::new(-0.13, 0.02, 1.13);
                let target = place + Vec3::new(0.0, 0.25, 0.1) * bend;
                let pin = Pin::new(PinPoint::Place(place), target);
                simulation.pin(pin).unwrap();
            }
            for frame in 1..=2 {
                let pose = bent_pose(&bar, bend * f64::from(frame));
                simulation.advance(&pose, 1.0 / 24.0, None, None).unwrap();
            }
            simulation.nodes.positions.clone()
        };
        let idle = Spring {
            node: last,
            place: Vec3::zeros(),
            stiffness: 0.0,
        };
        let (nodal, own) = (run(Vec::new()), run(vec![Arc::new(idle)]));
        let apart = max_difference(&nodal, &own);
        assert!(apart < 1e-8 * body.size(), "{levels} {method:?} {apart}");
        assert!(max_difference(&nodal, body.rest_shape()) > 0.05 * bend);
    }
}
