// SPDX-License-Identifier: MIT OR Apache-2.0
//! Signed distance to the boundary of Ω, sampled on a grid for quick queries.
//!
//! Values are exact at nodes near the boundary and approximate far from it: see `node_distances.rs`.
use super::Surface;
use super::node_distances::NodeDistances;
use crate::Vec3;
use crate::progress::{Cancelled, Progress};

/// Signed distances at the nodes of a regular grid, interpolated trilinearly.
#[derive(Debug, Clone)]
pub struct DistanceGrid {
    lo: Vec3,
    spacing: f64,
    nodes: [usize; 3],
    values: Vec<f32>,
    /// Input units per unit of `values`.
    scale: f64,
}

impl DistanceGrid {
    /// Covers the surface's bounds, widened by `pad` on every side; `spacing` and `pad` are in input units.
    /// A spacing that would take over 30 million nodes is coarsened.
    pub fn new(
        surface: &Surface,
        spacing: f64,
        pad: f64,
        progress: &dyn Progress,
    ) -> Result<Self, Cancelled> {
        let (lo, hi) = surface.bounds();
        let pad = Vec3::repeat(pad.max(0.0));
        Self::with_bounds(surface, lo - pad, hi + pad, spacing, progress)
    }

    /// Covers a box, at least.
    pub fn with_bounds(
        surface: &Surface,
        lo: Vec3,
        hi: Vec3,
        spacing: f64,
        progress: &dyn Progress,
    ) -> Result<Self, Cancelled> {
        let frame = surface.frame;
        let (from, to) = (frame.to_local(&lo), frame.to_local(&hi));
        let samples =
            NodeDistances::sample(surface.domain(), from, to, spacing / frame.scale, progress)?;
        Ok(Self {
            lo: frame.to_given(&samples.lo),
            spacing: samples.spacing * frame.scale,
            nodes: samples.nodes,
            values: samples.values,
            scale: frame.scale,
        })
    }

    /// Returns the distance between nodes, input units.
    pub fn spacing(&self) -> f64 {
        self.spacing
    }

    /// Returns the number of nodes along each axis.
    pub fn nodes(&self) -> [usize; 3] {
        self.nodes
    }

    /// Returns the corners of the box that the grid covers.
    pub fn bounds(&self) -> (Vec3, Vec3) {
        (
            self.lo,
            self.node([self.nodes[0] - 1, self.nodes[1] - 1, self.nodes[2] - 1]),
        )
    }

    /// Returns the position of a node.
    pub fn node(&self, at: [usize; 3]) -> Vec3 {
        self.lo + Vec3::from_fn(|k, _| at[k] as f64) * self.spacing
    }

    /// Returns the signed distance at a node, input units; `at` must lie within [`nodes`](Self::nodes).
    pub fn value(&self, at: [usize; 3]) -> f64 {
        self.values[(at[2] * self.nodes[1] + at[1]) * self.nodes[0] + at[0]] as f64 * self.scale
    }

    /// Returns the signed distance at a point, negative in Ω. Outside the grid it is the value at the
    /// nearest point of the grid's box plus the distance to the box. Infinite at a point that is not
    /// finite.
    pub fn distance_at(&self, p: Vec3) -> f64 {
        if !is_finite_point(&p) {
            return f64::INFINITY;
        }
        let (cell, f, outside) = self.locate(&p);
        let c = self.corner_values(cell);
        let mix = |a: f64, b: f64, t: f64| a + (b - a) * t;
        let x = [0, 2, 4, 6].map(|i| mix(c[i], c[i + 1], f.x));
        let y = [mix(x[0], x[1], f.y), mix(x[2], x[3], f.y)];
        mix(y[0], y[1], f.z) + outside.norm()
    }

    /// Returns the gradient of [`distance_at`](Self::distance_at): about unit length, away from Ω; zero at a point that is
    /// not finite.
    pub fn gradient(&self, p: Vec3) -> Vec3 {
        if !is_finite_point(&p) {
            return Vec3::zeros();
        }
        let (cell, f, outside) = self.locate(&p);
        let c = self.corner_values(cell);
        let mut inner = Vec3::zeros();
        for (i, value) in c.iter().enumerate() {
            let high = [i & 1 == 1, i & 2 == 2, i & 4 == 4];
            let weight = |k: usize| if high[k] { f[k] } else { 1.0 - f[k] };
            let slope = |k: usize| if high[k] { 1.0 } else { -1.0 };
            inner.x += value * slope(0) * weight(1) * weight(2);
            inner.y += value * weight(0) * slope(1) * weight(2);
            inner.z += value * weight(0) * weight(1) * slope(2);
        }
        inner /= self.spacing;
        let away = outside.norm();
        if away > 0.0 {
            // Along an axis on which p is outside, the inner value is constant.
            inner.zip_apply(&outside, |g, o| {
                if o != 0.0 {
                    *g = 0.0
                }
            });
            inner += outside / away;
        }
        inner
    }

    /// Returns the lowest node of a point's cell (after clamping the point to the box), the position in that
    /// cell, 0 to 1, and the vector from the clamped point to the point.
    fn locate(&self, p: &Vec3) -> ([usize; 3], Vec3, Vec3) {
        let (lo, hi) = self.bounds();
        let inside = p.sup(&lo).inf(&hi);
        let g = (inside - lo) / self.spacing;
        let cell = [0, 1, 2].map(|k| (g[k] as usize).min(self.nodes[k] - 2));
        let f = Vec3::from_fn(|k, _| (g[k] - cell[k] as f64).clamp(0.0, 1.0));
        (cell, f, p - inside)
    }

    /// Returns the values at the corners of a cell, in the order `i + 2j + 4k`.
    fn corner_values(&self, cell: [usize; 3]) -> [f64; 8] {
        let (dy, dz) = (self.nodes[0], self.nodes[0] * self.nodes[1]);
        let first = cell[2] * dz + cell[1] * dy + cell[0];
        [0, 1, dy, dy + 1, dz, dz + 1, dz + dy, dz + dy + 1]
            .map(|offset| self.values[first + offset] as f64 * self.scale)
    }
}

/// Returns whether a point and its norm are finite.
fn is_finite_point(p: &Vec3) -> bool {
    p.norm_squared().is_finite()
}

#[cfg(test)]
mod tests {
    use super::super::shapes::*;
    use super::*;
    use crate::progress::Silent;

    fn surface(shape: &TestMesh) -> Surface {
        Surface::new(shape.vertices.clone(), shape.triangles.clone()).unwrap()
    }

    /// Near nodes have exact distances, far ones approximate distances, and all have the right sign.
    #[test]
    fn grid_distances_near_and_far() {
        let mut open = torus(1.0, 0.4, 60);
        open.triangles.drain(100..160);
        let shells = sphere(1.0, 30).merge(&sphere(0.5, 20).flip_triangles());
        let cape = sphere(1.0, 30).merge(&plane(4).map_vertices(|v| v + Vec3::x() * 2.5));
        for shape in [torus(1.0, 0.4, 60), open, shells, cape] {
            let shape = shape.map_vertices(|v| v * 30.0 + Vec3::new(500.0, 0.0, -20.0));
            let s = surface(&shape);
            let h = s.size() / 60.0;
            let grid = DistanceGrid::new(&s, h, 10.0, &Silent).unwrap();
            let n = grid.nodes();
            for i in 0..n[0] * n[1] * n[2] {
                let at = [i % n[0], i / n[0] % n[1], i / (n[0] * n[1])];
                let (d, a) = (s.signed_distance(grid.node(at)), grid.value(at));
                if d.abs() < 1.5 * h {
                    assert!((d - a).abs() < 1e-4 * h, "{d} {a}");
                } else {
                    assert!((a / d - 1.0).abs() < 0.25, "{d} {a}");
                }
            }
        }
    }

    /// Between nodes and outside the box, the distance is continuous and agrees with its gradient.
    #[test]
    fn grid_gradient_matches_distance() {
        let s = surface(&sphere(1.0, 30));
        let grid =
            DistanceGrid::with_bounds(&s, Vec3::repeat(-1.2), Vec3::repeat(1.5), 0.05, &Silent)
                .unwrap();
        let (lo, hi) = grid.bounds();
        assert!((0..3).all(|k| lo[k] <= -1.2 && hi[k] >= 1.5));
        for p in random_points(2000, 4.0, 6) {
            if p.norm() < 0.2 {
                continue;
            }
            let e = 1e-6;
            let g = grid.gradient(p);
            for k in 0..3 {
                let step = Vec3::ith(k, e);
                let slope = (grid.distance_at(p + step) - grid.distance_at(p - step)) / (2.0 * e);
                assert!((slope - g[k]).abs() < 0.02, "{slope} {g}");
            }
            // Beyond the box the sum of two distances is at least the true one and of its order.
            let (a, d) = (grid.distance_at(p), p.norm() - 1.0);
            assert!(
                a > d - 0.2 * d.abs() - 0.01 && a < 1.8 * d.abs() + 0.05,
                "{a} {d}"
            );
        }
    }

    /// The grid can be cancelled while it is built, and its progress rises to 1.
    #[test]
    fn grid_cancels_and_reports_progress() {
        let s = surface(&sphere(1.0, 12));
        let stop = |fraction: f64, _: &str| fraction < 0.2;
        assert_eq!(
            DistanceGrid::new(&s, 0.05, 0.1, &stop).unwrap_err(),
            Cancelled
        );
        let last = std::sync::Mutex::new(-1.0);
        let watch = |fraction: f64, _: &str| {
            let mut last = last.lock().unwrap();
            assert!(fraction >= *last && fraction <= 1.0);
            *last = fraction;
            true
        };
        assert!(DistanceGrid::new(&s, 0.05, 0.1, &watch).is_ok());
        assert_eq!(*last.lock().unwrap(), 1.0);
    }

    /// A spacing that is not usable is replaced by one that is.
    #[test]
    fn grid_corrects_bad_spacing() {
        let s = surface(&cuboid(Vec3::repeat(1.0)));
        for spacing in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e9] {
            let grid = DistanceGrid::new(&s, spacing, 0.1, &Silent).unwrap();
            assert!(grid.distance_at(Vec3::zeros()).is_finite());
        }
    }
}
