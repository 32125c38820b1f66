// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compares the search for folds with determinants at many sampled points.

use super::*;
use crate::lattice::corner_volume;
use crate::lattice::limb::crumpled_cell;
use crate::surface::shapes::Random;

/// Returns the least determinant on a grid of local coordinates.
fn sampled_minimum(cell: &Cell, x: &[Vec3], n: usize) -> f64 {
    let steps = 0..=n;
    let mut least = f64::INFINITY;
    for i in steps.clone() {
        for j in steps.clone() {
            for k in steps.clone() {
                let l = Vec3::new(i as f64, j as f64, k as f64) / n as f64;
                if cell.inside_margin(l) >= 0.0 {
                    least = least.min(cell.jacobian(x, l).determinant());
                }
            }
        }
    }
    least
}

/// The check for folds agrees with the determinant at many sampled points.
#[test]
fn fold_agrees_with_sampling() {
    let mut random = Random(5);
    // Cells that fold at a corner, inside alone, nowhere.
    let mut counts = [[0; 3]; 2];
    for i in 0..3000 {
        let jitter = 0.5 * random.next();
        let (cell, mut x) = crumpled_cell(i % 2, jitter, &mut random);
        if i % 4 < 2 {
            // Nearly half a turn from bottom to top.
            let m = [[-1.3, 0.4], [0.4, -0.9]].map(|row| row.map(|x| x * random.next()));
            for (p, q) in x.iter_mut().zip(mapped_cell(i % 2, m).1) {
                *p = *p * 0.3 + q;
            }
        }
        let frames = cell.corner_frames().iter();
        let corners = frames.map(|frame| corner_volume(*frame, |i| x[i]));
        if corners.fold(f64::INFINITY, f64::min) <= 1e-12 {
            counts[i % 2][0] += 1;
            continue;
        }
        let least = sampled_minimum(&cell, &x, 12);
        match find_fold(&cell, &x, 1e-12) {
            Some(l) => {
                assert!(cell.inside_margin(l) >= 0.0);
                let there = cell.jacobian(&x, l).determinant();
                assert!(there <= 1e-11, "{there}: {cell:?} {x:?}");
                counts[i % 2][1] += 1;
            }
            None => {
                assert!(least > 0.0, "{least}: {cell:?} {x:?}");
                counts[i % 2][2] += 1;
            }
        }
    }
    // Each happens often enough to count.
    assert!(counts.iter().flatten().all(|&n| n > 10), "{counts:?}");
}

/// The Bernstein coefficients, also of halved cells, evaluate to the determinant.
#[test]
fn bernstein_form_matches_determinant() {
    let mut random = Random(8);
    for _ in 0..50 {
        let (cell, x) = crumpled_cell(0, 0.5, &mut random);
        // Halved a few times, it is still the same polynomial.
        let mut part = Determinant::from_hexahedron(&x);
        for _ in 0..4 {
            part = part.halves()[usize::from(random.next() < 0.5)];
        }
        for part in [Determinant::from_hexahedron(&x), part] {
            let l = Vec3::from_fn(|_, _| random.next());
            let basis = |x: f64| [(1.0 - x) * (1.0 - x), 2.0 * x * (1.0 - x), x * x];
            let weights = [basis(l.x), basis(l.y), basis(l.z)];
            let value: f64 = (0..27)
                .map(|i| {
                    let w = weights[0][i % 3] * weights[1][i / 3 % 3] * weights[2][i / 9];
                    part.coefficients[i] * w
                })
                .sum();
            let place = part.low + l.component_mul(&part.size);
            let expected = cell.jacobian(&x, place).determinant();
            assert!((value - expected).abs() < 1e-12, "{value} {expected}");
        }
    }
}

/// Builds a prism or hexahedron whose bottom is regular and whose top is the bottom under a linear map `m`.
fn mapped_cell(kind: usize, m: [[f64; 2]; 2]) -> (Cell, Vec<Vec3>) {
    let (cell, mut x) = crumpled_cell(kind, 0.0, &mut Random(0));
    for p in x.iter_mut().filter(|p| p.z > 0.5) {
        let [x, y] = m.map(|row| row[0] * p.x + row[1] * p.y);
        *p = Vec3::new(x, y, 1.0);
    }
    (cell, x)
}

/// A cell between two parallel triangles or squares folds exactly where the quadratic in the height does.
#[test]
fn fold_matches_quadratic_criterion() {
    // At a height c the section is the bottom under (1 − c) I + c m, whose determinant
    // (1 − c)² + c (1 − c) tr m + c² det m is positive on the way where tr m > −2 √det m.
    let mut random = Random(1);
    let mut folds = 0;
    for i in 0..400 {
        let m = [[0; 2]; 2].map(|row| row.map(|_| 3.0 * random.next() - 2.0));
        let (det, trace) = (m[0][0] * m[1][1] - m[0][1] * m[1][0], m[0][0] + m[1][1]);
        if det < 0.01 {
            continue;
        }
        let (cell, x) = mapped_cell(i % 2, m);
        let expected = trace <= -2.0 * det.sqrt();
        assert_eq!(find_fold(&cell, &x, 1e-12).is_some(), expected, "{m:?}");
        folds += u32::from(expected);
    }
    assert!((20..200).contains(&folds), "{folds}");
}
