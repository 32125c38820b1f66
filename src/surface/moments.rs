// SPDX-License-Identifier: MIT OR Apache-2.0
//! Moments of triangles: the coefficients of the far field in [`super::winding`].

use crate::Vec3;
use smallvec::SmallVec;

/// Raw moments about a centre, with y the position from it and n the unit normal: N_i = ∫n_i, M_ij = ∫n_i y_j,
/// R_ijk = ∫n_i y_j y_k.
#[derive(Clone)]
pub(super) struct Moments {
    pub centre: Vec3,
    area: f64,
    pub n: Vec3,
    m: crate::Mat3,
    r: [crate::Mat3; 3],
}

impl Default for Moments {
    fn default() -> Self {
        let zero = crate::Mat3::zeros();
        Self {
            centre: Vec3::zeros(),
            area: 0.0,
            n: Vec3::zeros(),
            m: zero,
            r: [zero; 3],
        }
    }
}

impl Moments {
    /// Computes the moments of triangles about their area centroid.
    pub fn from_triangles(triangles: &[[Vec3; 3]]) -> Self {
        let each = triangles.iter().map(|[a, b, c]| {
            let n = (b - a).cross(&(c - a)) * 0.5;
            (n, n.norm(), (a + b + c) / 3.0)
        });
        let each: SmallVec<[(Vec3, f64, Vec3); 8]> = each.collect();
        let mut out = Self {
            area: each.iter().map(|(_, area, _)| area).sum(),
            centre: weighted_mean(each.iter().map(|&(_, area, centroid)| (area, centroid))),
            ..Self::default()
        };
        for (&(n, _, centroid), corners) in each.iter().zip(triangles) {
            let mean = centroid - out.centre;
            // ∫ y yᵀ over a triangle of unit area is (Σ y_i y_iᵀ + 9 m mᵀ) / 12.
            let mut yy = mean * mean.transpose() * 9.0;
            for x in corners {
                let y = x - out.centre;
                yy += y * y.transpose();
            }
            out.n += n;
            out.m += n * mean.transpose();
            for i in 0..3 {
                out.r[i] += yy * (n[i] / 12.0);
            }
        }
        out
    }

    /// Combines the moments of two nodes about their common centroid.
    pub fn sum(a: &Self, b: &Self) -> Self {
        let mut out = Self {
            area: a.area + b.area,
            centre: weighted_mean([(a.area, a.centre), (b.area, b.centre)].into_iter()),
            ..Self::default()
        };
        for part in [a, b] {
            let s = part.centre - out.centre;
            out.n += part.n;
            out.m += part.m + part.n * s.transpose();
            for i in 0..3 {
                let row = part.m.row(i).transpose();
                out.r[i] += part.r[i]
                    + row * s.transpose()
                    + s * row.transpose()
                    + s * s.transpose() * part.n[i];
            }
        }
        out
    }

    /// Returns −3 times the symmetric traceless part of M, as coefficients of a quadratic form.
    pub fn quadratic(&self) -> [f64; 6] {
        let third = self.m.trace() / 3.0;
        let diagonal = |i: usize| -3.0 * (self.m[(i, i)] - third);
        let off = |i: usize, j: usize| -3.0 * (self.m[(i, j)] + self.m[(j, i)]);
        [
            diagonal(0),
            diagonal(1),
            diagonal(2),
            off(0, 1),
            off(0, 2),
            off(1, 2),
        ]
    }

    /// Returns 15/2 times the symmetric traceless part of R, as coefficients of a cubic form.
    pub fn cubic(&self) -> [f64; 10] {
        let symmetric = |i: usize, j: usize, k: usize| {
            (self.r[i][(j, k)] + self.r[j][(i, k)] + self.r[k][(i, j)]) / 3.0
        };
        let trace = [0, 1, 2].map(|k| symmetric(0, 0, k) + symmetric(1, 1, k) + symmetric(2, 2, k));
        let part = |i: usize, j: usize, k: usize| {
            let delta = |a: usize, b: usize, c: usize| if a == b { trace[c] } else { 0.0 };
            symmetric(i, j, k) - (delta(i, j, k) + delta(i, k, j) + delta(j, k, i)) / 5.0
        };
        // The factor counts the permutations of the indices.
        let term = |f: f64, i: usize, j: usize, k: usize| 7.5 * f * part(i, j, k);
        [
            term(1.0, 0, 0, 0),
            term(1.0, 1, 1, 1),
            term(1.0, 2, 2, 2),
            term(3.0, 0, 0, 1),
            term(3.0, 0, 0, 2),
            term(3.0, 0, 1, 1),
            term(3.0, 1, 1, 2),
            term(3.0, 0, 2, 2),
            term(3.0, 1, 2, 2),
            term(6.0, 0, 1, 2),
        ]
    }
}

/// Returns the weighted mean; the plain mean if the weights vanish.
fn weighted_mean(points: impl Iterator<Item = (f64, Vec3)> + Clone) -> Vec3 {
    let total: f64 = points.clone().map(|(w, _)| w).sum();
    if total > 0.0 {
        points.map(|(w, x)| x * (w / total)).sum()
    } else {
        let count = points.clone().count().max(1) as f64;
        points.map(|(_, x)| x / count).sum()
    }
}
