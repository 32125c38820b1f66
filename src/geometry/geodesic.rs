// SPDX-License-Identifier: MIT OR Apache-2.0
//! Distances along a surface from one of its vertices.
//!
//! Distances spread from vertex to vertex like a wave. Across a triangle's edge they come from a virtual source in its plane that
//! reproduces the distances at the edge's ends, else along the edges. Vertices whose distance falls are revisited, so that obtuse
//! triangles do no harm. The error is a few percent, which suffices for rings.
//!
//! Source: `[kimmel1998]` for the wave over triangles; the update is that of a point source.

use super::groups::Groups;
use crate::Vec3;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Relative improvement below which a distance counts as unchanged. A thousand additions of double precision err by as much.
const DISTANCE_TOLERANCE: f64 = 1e-13;

/// A triangle mesh with the triangles at each vertex.
pub(crate) struct GeodesicMesh {
    pub vertices: Vec<Vec3>,
    pub triangles: Vec<[u32; 3]>,
    around: Groups,
}

impl GeodesicMesh {
    pub fn new(vertices: Vec<Vec3>, triangles: Vec<[u32; 3]>) -> Self {
        Self {
            around: Groups::from_elements(vertices.len(), &triangles),
            vertices,
            triangles,
        }
    }

    /// Returns the distance of each vertex from a source, metres; infinite where unreachable.
    pub fn distances(&self, source: u32) -> Vec<f64> {
        let mut far = vec![f64::INFINITY; self.vertices.len()];
        far[source as usize] = 0.0;
        // The bits of non-negative numbers are ordered like the numbers.
        let mut heap = BinaryHeap::from([Reverse((0u64, source))]);
        while let Some(Reverse((bits, v))) = heap.pop() {
            if f64::from_bits(bits) > far[v as usize] {
                continue;
            }
            for &t in self.around.members(v as usize) {
                let corners = self.triangles[t as usize];
                let k = corners.iter().position(|c| *c == v).unwrap_or(0);
                let [b, c] = [corners[(k + 1) % 3], corners[(k + 2) % 3]];
                for (known, to) in [(b, c), (c, b)] {
                    let found = self.corner_distance([v, known, to], &far);
                    let old = far[to as usize];
                    if found < old - DISTANCE_TOLERANCE * found {
                        far[to as usize] = found;
                        heap.push(Reverse((found.to_bits(), to)));
                    }
                }
            }
        }
        far
    }

    /// Returns the distance of a triangle's third corner from those of the other two.
    fn corner_distance(&self, [a, b, c]: [u32; 3], far: &[f64]) -> f64 {
        let [p, q, x] = [a, b, c].map(|v| self.vertices[v as usize]);
        let (at_p, at_q) = (far[a as usize], far[b as usize]);
        let along_edges = (at_p + (x - p).norm()).min(at_q + (x - q).norm());
        let edge = q - p;
        let long = edge.norm();
        if !at_q.is_finite() || long == 0.0 {
            return along_edges;
        }
        let way = (x - p).dot(&edge) / long;
        let height = ((x - p).norm_squared() - way * way).max(0.0).sqrt();
        // Position of the virtual source, on the other side of the edge.
        let foot = (at_p * at_p - at_q * at_q + long * long) / (2.0 * long);
        let below = at_p * at_p - foot * foot;
        if below < 0.0 || height == 0.0 {
            return along_edges;
        }
        let below = below.sqrt();
        let crossing = foot + (way - foot) * below / (below + height);
        if (0.0..=long).contains(&crossing) {
            (way - foot).hypot(height + below)
        } else {
            along_edges
        }
    }
}

/// Returns the index of the largest finite value, the first among equals; 0 if there are none.
pub(crate) fn farthest_index(values: &[f64]) -> u32 {
    let finite = (0u32..).zip(values).filter(|(_, x)| x.is_finite());
    let farther = |a: (u32, f64), (v, x): (u32, &f64)| if *x > a.1 { (v, *x) } else { a };
    finite.fold((0, f64::NEG_INFINITY), farther).0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::surface::shapes::{plane, sphere};

    #[test]
    fn plane_distances_are_straight() {
        let plane = plane(12);
        let mesh = GeodesicMesh::new(plane.vertices, plane.triangles);
        for source in [0, 5, 80] {
            let far = mesh.distances(source);
            for (x, d) in mesh.vertices.iter().zip(&far) {
                let straight = (x - mesh.vertices[source as usize]).norm();
                assert!(
                    (d - straight).abs() < 0.02 * straight + 1e-12,
                    "{d} {straight}"
                );
            }
        }
    }

    #[test]
    fn sphere_distances_are_arcs() {
        let ball = sphere(1.0, 40);
        let mesh = GeodesicMesh::new(ball.vertices, ball.triangles);
        let far = mesh.distances(700);
        let from = mesh.vertices[700];
        for (x, d) in mesh.vertices.iter().zip(&far) {
            assert!(
                (d - from.angle(x)).abs() < 0.03 * (0.2 + d),
                "{d} {}",
                from.angle(x)
            );
        }
        let opposite = mesh.vertices[farthest_index(&far) as usize];
        assert!((opposite + from).norm() < 0.1);
    }
}
