// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bodies with levels of details against subdivided lattices.

use super::*;
use crate::basis::subdivided_lattice;
use crate::body::fixture::FullSpace;
use crate::modal::{ModalError, ModalSystem, Modes};
use crate::progress::Silent;
use crate::tets::MassKind;

/// Returns positions at the vertices of the subdivided lattice, from coefficients of a basis over the whole lattice.
fn vertex_positions(body: &Body, p: &[Vec3], vertices: &[Vec3]) -> Vec<Vec3> {
    let embedding = body.basis().embed(vertices);
    (0..vertices.len())
        .map(|v| embedding.position(v, p))
        .collect()
}

/// A body with J levels deforms as one over the J-times subdivided lattice, by every method.
#[test]
fn levels_equal_subdivided_lattice() {
    for levels in 1..=2 {
        let coarse = mixed_lattice();
        let (x, cells) = subdivided_lattice(&coarse, levels);
        let fine = body_in(
            hold_side(x.clone(), cells, 0),
            &FullSpace,
            &BodySettings {
                level: 0,
                ..unloaded()
            },
        );
        let fine = Arc::new(fine.unwrap());
        let own = Arc::new(body_in(coarse, &FullSpace, &with_levels(levels)).unwrap());
        assert_eq!(own.free_dofs(), fine.free_dofs());
        // The same forces, on the nodes of either.
        let push: Vec<Vec3> = x
            .iter()
            .map(|x| Vec3::new(x.y.sin(), x.x, -x.z) * 30.0)
            .collect();
        let rows = own.basis().embed(&x);
        let mut pushed = vec![Vec3::zeros(); own.node_count()];
        for (v, f) in push.iter().enumerate() {
            rows.row(v).for_each(|(a, w)| pushed[a] += f * w);
        }
        let methods = Method::ALL.into_iter().filter(|m| *m != Method::Modal);
        for method in methods {
            let gravity = Vec3::new(1.0, 2.0, -3.0);
            let solve = |body: &Arc<Body>, forces: &[Vec3]| {
                equilibrium(body, &rest_pose(), Some(forces), None, gravity, method).unwrap()
            };
            let (wanted, found) = (solve(&fine, &push), solve(&own, &pushed));
            let found = vertex_positions(&own, &found, &x);
            let size = wanted.iter().map(|q| q.norm()).fold(0.0, f64::max);
            assert!(size > 0.01);
            let apart = max_difference(&wanted, &found);
            assert!(apart < 1e-7 * size, "{levels} {method:?} {apart} {size}");
        }
    }
}

/// Modes of a body with J levels have the frequencies of those over the J-times subdivided lattice, and the same shapes at its vertices. Lumped
/// masses are refused.
#[test]
fn modes_equal_subdivided_lattice() {
    for levels in 1..=2 {
        let coarse = mixed_lattice();
        let (x, cells) = subdivided_lattice(&coarse, levels);
        let settings = BodySettings {
            level: 0,
            ..unloaded()
        };
        let fine = body_in(hold_side(x.clone(), cells, 0), &FullSpace, &settings);
        let fine = Arc::new(fine.unwrap());
        let own = Arc::new(body_in(coarse, &FullSpace, &with_levels(levels)).unwrap());
        let [wanted, found] = [&fine, &own].map(|body| Modes::for_body(body, 6, &Silent).unwrap());
        for (a, b) in wanted.eigenvalues().iter().zip(found.eigenvalues()) {
            assert!((a - b).abs() < 1e-6 * a, "{levels} {a} {b}");
        }
        for (a, b) in wanted.shapes().iter().zip(found.shapes()) {
            let b = vertex_positions(&own, b, &x);
            let size = a.iter().map(|u| u.norm()).fold(0.0, f64::max);
            let turned: Vec<Vec3> = b.iter().map(|u| -u).collect();
            let apart = max_difference(a, &b).min(max_difference(a, &turned));
            assert!(apart < 1e-3 * size, "{levels} {apart} {size}");
        }
        let lumped = ModalSystem::for_body(&own, MassKind::Lumped, &[]);
        assert!(matches!(lumped, Err(ModalError::Details { .. })));
    }
}
