// SPDX-License-Identifier: MIT OR Apache-2.0
//! Dihedral angle of a hinge (an edge between two triangles), its gradient and its Hessian.
//!
//! Corners are the edge `x₀ x₁` and the two opposite vertices `x₂`, `x₃`. With `e = x₁ − x₀` the normals are `n₁ = e × (x₂ −
//! x₀)` and `n₂ = (x₃ − x₀) × e`, equal where the hinge is flat; `θ = atan2((n₂ × n₁)·ê, n₁·n₂)`. Another numbering of the
//! corners may change its sign, at rest and deformed alike.
//!
//! All derivatives follow from the frame of each wing: `ê`, the unit vector t in the wing from the edge's line to the opposite
//! vertex, the unit normal n, the height h, and the position s of the height's foot along the edge. With `c = (s − 1, −s, 1)`
//! for `x₀`, `x₁` and the opposite vertex, and `d = (−1, 1, 0)`:
//!
//! - gradient: the sum over both wings of `cᵢ n / h`;
//! - second derivative: `− (cᵢcⱼ/h² + dᵢdⱼ/(2l²)) (n tᵀ + t nᵀ) − (cᵢdⱼ ê nᵀ + dᵢcⱼ n êᵀ)/(l h)`.
//!
//! The term in `1/(2l²)` is symmetric only in the sum over both wings; half of either wing's term is exact there.

use crate::{Mat3, Vec3};
use std::f64::consts::PI;

/// Lower bound of lengths and heights, as a share of the hinge's rest length, which keeps derivatives finite.
const MIN_LENGTH_RATIO: f64 = 1e-5;

/// One of the two triangles of a hinge.
#[derive(Debug, Clone, Copy, Default)]
struct Wing {
    /// Unit normal; zero without area.
    n: Vec3,
    /// Unit vector from the edge to the opposite vertex; zero without area.
    t: Vec3,
    /// Reciprocal of the height.
    inverse: f64,
    /// Coefficients c of `x₀`, `x₁` and the opposite vertex.
    c: [f64; 3],
}

/// The geometry of a hinge at given corners.
#[derive(Debug, Clone, Copy)]
pub(super) struct Hinge {
    /// Angle θ, from −π to π.
    pub angle: f64,
    /// Unit vector ê along the edge.
    edge: Vec3,
    /// Reciprocal of the edge's length.
    inverse: f64,
    wings: [Wing; 2],
}

/// Returns the dihedral angle alone, bit for bit as [`Hinge::new`] computes it.
pub(super) fn angle(x: [Vec3; 4]) -> f64 {
    let (e, a, b) = (x[1] - x[0], x[2] - x[0], x[3] - x[0]);
    dihedral_angle(&e, &e.cross(&a), &b.cross(&e))
}

/// Returns the angle from the edge and both (unnormalised) normals; 0 without an edge.
fn dihedral_angle(e: &Vec3, n1: &Vec3, n2: &Vec3) -> f64 {
    let length = e.norm();
    if length > 0.0 {
        (n2.cross(n1).dot(e) / length).atan2(n1.dot(n2))
    } else {
        0.0
    }
}

/// Wraps a difference of angles into (−π, π].
pub(super) fn wrap_angle(difference: f64) -> f64 {
    if difference > PI {
        difference - 2.0 * PI
    } else if difference <= -PI {
        difference + 2.0 * PI
    } else {
        difference
    }
}

impl Hinge {
    /// Computes the geometry at four corners. `length` is the edge's rest length, for the lower bounds.
    pub fn new(x: [Vec3; 4], length: f64) -> Self {
        let (e, a, b) = (x[1] - x[0], x[2] - x[0], x[3] - x[0]);
        let least = MIN_LENGTH_RATIO * length;
        let inverse = 1.0 / e.norm().max(least);
        let edge = e * inverse;
        let (n1, n2) = (e.cross(&a), b.cross(&e));
        let wing = |to: &Vec3, normal: &Vec3, side: f64| {
            let size = normal.norm();
            let height = size * inverse;
            let n = if size > 0.0 {
                normal / size
            } else {
                Vec3::zeros()
            };
            let s = to.dot(&edge) * inverse;
            Wing {
                n,
                t: n.cross(&edge) * side,
                inverse: 1.0 / height.max(least),
                c: [s - 1.0, -s, 1.0],
            }
        };
        Self {
            angle: dihedral_angle(&e, &n1, &n2),
            edge,
            inverse,
            wings: [wing(&a, &n1, 1.0), wing(&b, &n2, -1.0)],
        }
    }

    /// Returns the largest change of the angle when an opposite vertex moves by a distance, rad.
    pub fn max_rotation(&self, distance: f64) -> f64 {
        distance * self.wings[0].inverse.max(self.wings[1].inverse)
    }

    /// Returns `∂θ/∂xᵢ`.
    pub fn gradient(&self) -> [Vec3; 4] {
        let [one, two] = &self.wings;
        let (p, q) = (one.n * one.inverse, two.n * two.inverse);
        [
            p * one.c[0] + q * two.c[0],
            p * one.c[1] + q * two.c[1],
            p,
            q,
        ]
    }

    /// Calls `give` with `a ∂θ/∂xᵢ (∂θ/∂xⱼ)ᵀ + b ∂²θ/∂xᵢ∂xⱼ` for `i ≤ j`.
    pub fn hessian(&self, a: f64, b: f64, mut give: impl FnMut(usize, usize, &Mat3)) {
        let d = [-1.0, 1.0, 0.0, 0.0];
        let gradient = self.gradient();
        let mut bends = [Mat3::zeros(); 2];
        let mut shears = [Mat3::zeros(); 2];
        let mut twist = Mat3::zeros();
        for (i, wing) in self.wings.iter().enumerate() {
            let half = wing.n * wing.t.transpose();
            let q = half + half.transpose();
            bends[i] = q * (-b * wing.inverse * wing.inverse);
            twist += q * (-0.5 * b * self.inverse * self.inverse);
            shears[i] = self.edge * wing.n.transpose() * (-b * self.inverse * wing.inverse);
        }
        let [one, two] = &self.wings;
        let c = [
            [one.c[0], one.c[1], 1.0, 0.0],
            [two.c[0], two.c[1], 0.0, 1.0],
        ];
        for i in 0..4 {
            for j in i..4 {
                let mut block = (gradient[i] * a) * gradient[j].transpose();
                for w in 0..2 {
                    let (ci, cj) = (c[w][i], c[w][j]);
                    block += bends[w] * (ci * cj)
                        + shears[w] * (ci * d[j])
                        + shears[w].transpose() * (d[i] * cj);
                }
                if i < 2 && j < 2 {
                    block += twist * (d[i] * d[j]);
                }
                give(i, j, &block);
            }
        }
    }
}
