// SPDX-License-Identifier: MIT OR Apache-2.0
//! Lengths of edges and areas of triangles: how they change, and how that changes.

use crate::{Mat3, Vec3};

/// Share of the length at rest below which an edge does not count as shorter: derivatives stay finite.
const FLOOR: f64 = 1e-6;

/// An edge where its ends are.
#[derive(Debug, Clone, Copy)]
pub(super) struct Edge {
    /// Length.
    pub length: f64,
    /// From its first end to its second; zero where they are the same.
    pub along: Vec3,
}

impl Edge {
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

    /// The second derivative of `½ k (|e| − L)²` by the second end, twice: `k (d dᵀ + (1 − L/|e|) (I − d dᵀ))`; the convex one
    /// leaves out that pressed edges want to turn aside.
    pub fn hessian(&self, k: f64, rest: f64, least: f64, convex: bool) -> Mat3 {
        let line = self.along * self.along.transpose();
        let mut across = 1.0 - rest / self.length.max(FLOOR * least);
        if convex {
            across = across.max(0.0);
        }
        (line + (Mat3::identity() - line) * across) * k
    }
}

/// A triangle where its corners are.
#[derive(Debug, Clone, Copy)]
pub(super) struct Face {
    /// Area.
    pub area: f64,
    /// Unit normal; zero without area.
    n: Vec3,
    /// Opposite to each corner, all one way round.
    sides: [Vec3; 3],
}

impl Face {
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

    /// `∂A/∂xᵢ = ½ n × sᵢ`.
    pub fn gradient(&self) -> [Vec3; 3] {
        self.sides.map(|s| self.n.cross(&s) * 0.5)
    }

    /// Gives the second derivative of `½ k (A − Ā)²` for `i ≤ j`; areas below `least` do not count as smaller.
    ///
    /// `∂²A/∂xᵢ∂xⱼ = (sᵢ·sⱼ)/(4A) n nᵀ ∓ ½ [n]×`, minus for the next corner, plus for the last. The first part is the pull
    /// across the triangle, positive semi-definite. The second is the area in the plane, a form with the eigenvalues ±√3/2,
    /// twice each, on what is left without shifts: `½ (√3/2 |w| P + w S)` is what is not negative in `w S`.
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
