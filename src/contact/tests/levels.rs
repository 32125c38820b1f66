// SPDX-License-Identifier: MIT OR Apache-2.0
//! Contact of a body with details: cells near inversion, and cells that carry the displayed skin.

use super::*;
use crate::body::{Body, BodySettings};
use crate::contact::search::warped_cells::node_warps;
use crate::elasticity::Material;

/// Returns a bar with one level of details.
fn bar() -> BarOptions {
    BarOptions {
        cells_along: 2,
        cells_across: 1,
        length: 0.4,
        hexahedra: true,
        bones: false,
        settings: BodySettings {
            basis_levels: 1,
            ..Default::default()
        },
        ..BarOptions::default()
    }
}

/// Returns coefficients of different small sizes.
fn wobble(body: &Body, size: f64) -> Vec<Vec3> {
    let of = |v: usize| {
        Vec3::new(
            (v as f64).sin(),
            (2.0 * v as f64).sin(),
            (1.3 * v as f64).cos(),
        )
    };
    (0..body.node_count()).map(|v| of(v) * size).collect()
}

/// Calls `test` with the flesh of a bar at some coefficients.
fn with_flesh(body: &Arc<Body>, base: &[Vec3], sway: &[Vec3], test: impl FnOnce(&PosedFlesh)) {
    let skin = ContactSkin::new(body, None, &Silent).unwrap();
    let mut shown = DisplayedVertices::default();
    shown.clear(body.surface().vertices().len());
    test(&PosedFlesh {
        skin: &skin,
        pose: &Pose::rest(body.skeleton().len()),
        base,
        sway,
        joints: 1.0,
        lifts: SkinLifts::ZERO,
        folds: &[],
        bounded: false,
        shown: &shown,
    });
}

/// Rows of flat cells have the slopes of the least determinant of each element, by all of its functions.
#[test]
fn cell_rows_follow_differences() {
    let body = bar().build();
    let flat = |x: &Vec3| Vec3::new(x.x, x.y, 0.18 * x.z);
    let base: Vec<Vec3> = body.rest_shape().iter().map(flat).collect();
    let sway = wobble(&body, 1e-3);
    let cells: Vec<u32> = (0..body.lattice().cells().len() as u32).collect();
    with_flesh(&body, &base, &sway, |posed| {
        let mut rows = ConstraintSet::default();
        let held = cells::add_cell_rows(
            (0, &cells),
            (posed, posed),
            (f64::INFINITY, 0.03),
            &mut rows,
        );
        assert_eq!(held, 0);
        assert_eq!(rows.rows.len(), body.basis().element_count());
        for (element, row) in rows.rows.iter().enumerate() {
            let normal = rows.entries(&row.normal);
            assert!(normal.len() > 4, "details take part");
            let least = |node: usize, step: Vec3| {
                let mut sway = sway.clone();
                sway[node] += step;
                let moved = PosedFlesh {
                    sway: &sway,
                    ..*posed
                };
                let mut found = Vec::new();
                let mut add = |j: f64| found.push(j);
                (cells.iter()).for_each(|&c| cells::visit_determinants(&moved, c, |_, j| add(j)));
                found[element]
            };
            let slope = |e: &ConstraintEntry| {
                let node = body.pattern().vertex_of_node()[e.node as usize] as usize;
                let along = |k| {
                    let step = Vec3::ith(k, 1e-7);
                    (least(node, step) - least(node, -step)) / 2e-7
                };
                Vec3::from_fn(|k, _| along(k))
            };
            let slopes: Vec<Vec3> = normal.iter().map(slope).collect();
            let size = slopes.iter().map(Vec3::norm_squared).sum::<f64>().sqrt();
            for (entry, slope) in normal.iter().zip(slopes) {
                assert!((slope / size - entry.direction).norm() < 1e-6);
            }
        }
    });
}

/// Cells that carry the skin move with it where details alone displace it.
#[test]
fn warps_follow_details() {
    // The skin has vertices between those of the lattice, where details are not zero.
    let finer = BarOptions {
        cells_along: 4,
        cells_across: 2,
        ..bar()
    };
    let (plain, finer) = (bar().build(), finer.build());
    let body = Body::new(
        finer.surface(),
        plain.skeleton(),
        plain.lattice(),
        Material::default(),
        &bar().settings,
        &Silent,
    );
    let body = Arc::new(body.unwrap());
    let coarse = body.basis().coarse_len();
    let mut sway = vec![Vec3::zeros(); body.node_count()];
    sway[coarse..].fill(Vec3::x() * 1e-2);
    let cells: Vec<u32> = (0..body.lattice().cells().len() as u32).collect();
    with_flesh(&body, body.rest_shape(), &sway, |posed| {
        let mut largest = 0.0_f64;
        for proxy in posed.skin.proxies() {
            let offset = posed.offset(&proxy.point);
            let moved = posed.point(&proxy.point) - proxy.rest;
            assert!((offset - moved).norm() < 1e-12);
            largest = largest.max(offset.norm());
        }
        let warps = node_warps(posed, &cells);
        assert!(warps[coarse..].iter().all(|w| *w == Vec3::zeros()));
        let most = warps.iter().map(|w| w.norm()).fold(0.0, f64::max);
        assert!(most > 0.1 * largest && most <= largest + 1e-12);
    });
}
