// SPDX-License-Identifier: MIT OR Apache-2.0
//! The zero surface of a function on a grid, by marching tetrahedra.
//!
//! Each cube is split into six tetrahedra around its diagonal, which match those of the next cubes. The mesh is closed and manifold, as long
//! as the function is positive on the grid's outside. `[payne1990]`

use super::tetrahedron::CUBE_TETRAHEDRA;
use crate::Vec3;
use std::collections::BTreeMap;

/// Least distance of vertices from the nodes, in edges: triangles there would have no area. A vertex off by a fiftieth of an edge is hardly visible.
const MIN_NODE_DISTANCE: f64 = 0.02;

/// Returns vertices in grid units, and triangles counter-clockwise as seen from where the function is positive.
pub(crate) fn tetrahedra(values: &[f64], nodes: [usize; 3]) -> (Vec<Vec3>, Vec<[u32; 3]>) {
    let [nx, ny, nz] = nodes;
    let number = |i: usize, j: usize, k: usize| i + nx * (j + ny * k);
    let place = |n: usize| Vec3::new((n % nx) as f64, (n / nx % ny) as f64, (n / nx / ny) as f64);
    let (mut vertices, mut triangles) = (Vec::new(), Vec::new());
    let mut at: BTreeMap<(usize, usize), u32> = BTreeMap::new();
    for k in 0..nz - 1 {
        for j in 0..ny - 1 {
            for i in 0..nx - 1 {
                let corners: [usize; 8] =
                    std::array::from_fn(|c| number(i + (c & 1), j + (c >> 1 & 1), k + (c >> 2)));
                let below = corners.iter().filter(|c| values[**c] < 0.0).count();
                if below == 0 || below == 8 {
                    continue;
                }
                let mut vertex = |a: usize, b: usize| -> u32 {
                    let (a, b) = (a.min(b), a.max(b));
                    *at.entry((a, b)).or_insert_with(|| {
                        let t = values[a] / (values[a] - values[b]);
                        let t = t.clamp(MIN_NODE_DISTANCE, 1.0 - MIN_NODE_DISTANCE);
                        vertices.push(place(a).lerp(&place(b), t));
                        vertices.len() as u32 - 1
                    })
                };
                for tetrahedron in CUBE_TETRAHEDRA {
                    let t = tetrahedron.map(|c| corners[c]);
                    cut(t, values, &mut vertex, &mut triangles);
                }
            }
        }
    }
    (vertices, triangles)
}

/// Adds the triangles in one tetrahedron, with consistent orientation.
fn cut(
    t: [usize; 4],
    values: &[f64],
    vertex: &mut impl FnMut(usize, usize) -> u32,
    triangles: &mut Vec<[u32; 3]>,
) {
    // Even permutations of the corners, those inside first.
    let inside = t.map(|v| values[v] < 0.0);
    let order: [usize; 4] = match inside {
        [true, false, false, false] | [true, true, false, false] | [true, true, true, false] => {
            [0, 1, 2, 3]
        }
        [false, true, false, false] | [false, true, true, false] => [1, 2, 0, 3],
        [false, false, true, false] => [2, 0, 1, 3],
        [false, false, false, true] => [3, 0, 2, 1],
        [true, false, true, false] => [2, 0, 1, 3],
        [true, false, false, true] => [0, 3, 1, 2],
        [false, true, false, true] => [3, 1, 0, 2],
        [false, false, true, true] => [2, 3, 0, 1],
        [true, true, false, true] => [0, 3, 1, 2],
        [true, false, true, true] => [0, 2, 3, 1],
        [false, true, true, true] => [1, 3, 2, 0],
        _ => return,
    };
    let [a, b, c, d] = order.map(|i| t[i]);
    match inside.iter().filter(|x| **x).count() {
        1 => triangles.push([vertex(a, b), vertex(a, c), vertex(a, d)]),
        2 => {
            let quad = [vertex(a, c), vertex(a, d), vertex(b, d), vertex(b, c)];
            triangles.push([quad[0], quad[1], quad[2]]);
            triangles.push([quad[0], quad[2], quad[3]]);
        }
        _ => triangles.push([vertex(a, d), vertex(b, d), vertex(c, d)]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::surface::Surface;

    /// The surface of a ball is closed and round, and its triangles face outwards.
    #[test]
    fn marched_ball_is_closed() {
        let n = 24;
        let middle = Vec3::new(11.3, 11.6, 11.45);
        let values: Vec<f64> = (0..n * n * n)
            .map(|k| Vec3::new((k % n) as f64, (k / n % n) as f64, (k / n / n) as f64))
            .map(|p| (p - middle).norm() - 8.0)
            .collect();
        let (vertices, triangles) = tetrahedra(&values, [n, n, n]);
        assert!(
            vertices
                .iter()
                .all(|p| ((p - middle).norm() - 8.0).abs() < 0.1)
        );
        let volume: f64 = triangles
            .iter()
            .map(|t| t.map(|v| vertices[v as usize] - middle))
            .map(|[a, b, c]| a.dot(&b.cross(&c)) / 6.0)
            .sum();
        let ball = 4.0 / 3.0 * std::f64::consts::PI * 512.0;
        assert!((volume / ball - 1.0).abs() < 0.02, "{volume} {ball}");
        let report = Surface::new(vertices, triangles).unwrap().report();
        assert!(report.closed && report.manifold && report.oriented);
        assert_eq!((report.flipped_triangles, report.components), (0, 1));
    }
}
