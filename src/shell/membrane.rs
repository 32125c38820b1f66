// SPDX-License-Identifier: MIT OR Apache-2.0
//! Lengths of edges and areas of triangles, with their first and second derivatives.

use crate::{Mat3, Vec3};

/// Lower bound of an edge's length, as a share of its rest length, which keeps derivatives finite.
const MIN_LENGTH_RATIO: f64 = 1e-6;

/// The geometry of an edge at given ends.
#[derive(Debug, Clone, Copy)]
pub(super) struct EdgeGeometry {
    /// Length, m.
    pub length: f64,
    /// Unit vector from the first end to the second; zero where they coincide.
    pub along: Vec3,
}

impl EdgeGeometry {
    /// Measures an edge at its two ends.
    pub fn new(x: [Vec3; 2]) -> Self {
        let e = x[1] - x[0];
        let length = e.norm();
        let along = if length > 0.0 {
            e / length
        } else {
            Vec3::zeros()
        };
        Self { length, along }
    }

    /// Returns the second derivative of `½ k (|e| − L)²` with respect to the second end: `k (d dᵀ + (1 − L/|e|) (I − d dᵀ))`.
    /// The convex form omits the buckling of compressed edges.
    pub fn hessian(&self, k: f64, rest: f64, least: f64, convex: bool) -> Mat3 {
        let line = self.along * self.along.transpose();
        let mut across = 1.0 - rest / self.length.max(MIN_LENGTH_RATIO * least);
        if convex {
            across = across.max(0.0);
        }
        (line + (Mat3::identity() - line) * across) * k
    }
}

/// The geometry of a triangle at given corners.
#[derive(Debug, Clone, Copy)]
pub(super) struct FaceGeometry {
    /// Area, m².
    pub area: f64,
    /// Unit normal; zero without area.
    n: Vec3,
    /// Side opposite each corner, all in one direction of rotation.
    sides: [Vec3; 3],
}

impl FaceGeometry {
    /// Measures a triangle at its three corners.
    pub fn new(x: [Vec3; 3]) -> Self {
        let sides = [x[2] - x[1], x[0] - x[2], x[1] - x[0]];
        let normal = sides[2].cross(&-sides[1]);
        let size = normal.norm();
        let n = if size > 0.0 {
            normal / size
        } else {
            Vec3::zeros()
        };
        Self {
            area: 0.5 * size,
            n,
            sides,
        }
    }

    /// Returns `∂A/∂xᵢ = ½ n × sᵢ`.
    pub fn gradient(&self) -> [Vec3; 3] {
        self.sides.map(|s| self.n.cross(&s) * 0.5)
    }

    /// Calls `give` with the second derivative of `½ k (A − Ā)²` for `i ≤ j`. Areas have the lower bound `least`.
    ///
    /// `∂²A/∂xᵢ∂xⱼ = (sᵢ·sⱼ)/(4A) n nᵀ ∓ ½ [n]×`, minus for the next corner, plus for the last. The first part is the tension
    /// across the triangle, positive semi-definite. The second is the area in the plane, a form S with the eigenvalues ±√3/2,
    /// twice each, on the complement P of translations: `½ (√3/2 |w| P + w S)` is the positive semi-definite part of `w S`.
    pub fn hessian(
        &self,
        k: f64,
        rest: f64,
        least: f64,
        convex: bool,
        mut give: impl FnMut(usize, usize, &Mat3),
    ) {
        let w = k * (self.area - rest);
        let gradient = self.gradient();
        let normal = self.n * self.n.transpose();
        let cross = self.n.cross_matrix();
        let mut pull = w / (4.0 * self.area.max(least));
        let mut plane = Mat3::zeros();
        let mut turned = w;
        if convex {
            pull = pull.max(0.0);
            plane = (Mat3::identity() - normal) * (0.75f64.sqrt() * w.abs() * 0.5);
            turned *= 0.5;
        }
        for i in 0..3 {
            for j in i..3 {
                let side = [0.0, -0.5, 0.5][j - i];
                let centred = if i == j { 2.0 / 3.0 } else { -1.0 / 3.0 };
                let block = (gradient[i] * k) * gradient[j].transpose()
                    + normal * (pull * self.sides[i].dot(&self.sides[j]))
                    + cross * (turned * side)
                    + plane * centred;
                give(i, j, &block);
            }
        }
    }
}
