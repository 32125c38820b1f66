// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tension: how far the skin around each vertex is stretched or compressed against the plain skin, for materials with wrinkles.
//!
//! With l the length of an edge as shown and l₀ on the plain skin, the tension of a vertex is `Σ l / Σ l₀ − 1` over its edges: the
//! mean of `l / l₀ − 1`, weighted by l₀. It is 0 on the plain skin and for rigid motions, −0.5 where edges are half as long, 1
//! where they are twice as long, and the same at every scale. Weighting by length makes it a mean over the skin around the
//! vertex: dense edges count no more than sparse ones, and an edge without length on the plain skin divides by nothing. Lengths are
//! taken rather than areas, since a wrinkle compresses skin in one direction, and areas of skin that is stretched in the other
//! one stay the same; a half in length is a quarter in area. A vertex without edges, or whose edges have no length on the plain
//! skin, has tension 0. Cost: linear in the number of edges.

use super::{BakeError, Counted};
use crate::range::MAX_COORDINATE;

/// Returns the edges of triangles, each once, sorted.
pub fn triangle_edges(triangles: &[[u32; 3]]) -> Vec<[u32; 2]> {
    let sides = |&[a, b, c]: &[u32; 3]| [[a, b], [b, c], [c, a]];
    let mut edges: Vec<[u32; 2]> = triangles.iter().flat_map(sides).collect();
    for edge in &mut edges {
        edge.sort_unstable();
    }
    edges.sort_unstable();
    edges.dedup();
    edges
}

/// Returns the tension of each vertex, `[n]`, as the module says. `plain` and `shown`: positions `[n, 3]` in one unit.
///
/// # Errors
/// Fails if the positions are not of the same number of vertices or not finite, or if an edge names another vertex.
pub fn tension(edges: &[[u32; 2]], plain: &[f32], shown: &[f32]) -> Result<Vec<f32>, BakeError> {
    let vertices = plain.len() / 3;
    for (what, given) in [("plain", plain), ("shown", shown)] {
        if given.len() != 3 * vertices {
            return Err(BakeError::Count {
                what: format!("{what} has"),
                unit: Counted::Vertices,
                other: "plain has",
                expected: vertices,
                given: given.len() / 3,
            });
        }
        let is_usable = |x: &f32| f64::from(x.abs()) <= MAX_COORDINATE;
        if let Some(at) = given.iter().position(|x| !is_usable(x)) {
            let vertex = at / 3;
            return Err(BakeError::Point { what, vertex });
        }
    }
    let length = |positions: &[f32], [a, b]: [usize; 2]| {
        let along = |k| f64::from(positions[3 * b + k]) - f64::from(positions[3 * a + k]);
        (along(0).powi(2) + along(1).powi(2) + along(2).powi(2)).sqrt()
    };
    let mut sums = vec![[0.0_f64; 2]; vertices];
    for (index, edge) in edges.iter().enumerate() {
        if let Some(&vertex) = edge.iter().find(|&&v| v as usize >= vertices) {
            let what = "edge";
            return Err(BakeError::Corner {
                what,
                index,
                vertex,
                vertices,
            });
        }
        let ends = edge.map(|v| v as usize);
        let lengths = [length(plain, ends), length(shown, ends)];
        for v in ends {
            sums[v][0] += lengths[0];
            sums[v][1] += lengths[1];
        }
    }
    let ratio = |[plain, shown]: [f64; 2]| match plain > 0.0 {
        true => (shown / plain - 1.0) as f32,
        false => 0.0,
    };
    Ok(sums.into_iter().map(ratio).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Vec3;
    use nalgebra::Rotation3;

    /// Two triangles of a square of 0.2 m, with uneven edges.
    const SQUARE: [f32; 12] = [0.0, 0.0, 0.0, 0.2, 0.0, 0.0, 0.2, 0.2, 0.05, 0.0, 0.2, 0.0];
    const TRIANGLES: [[u32; 3]; 2] = [[0, 1, 2], [2, 3, 0]];

    fn moved(map: impl Fn(Vec3) -> Vec3) -> Vec<f32> {
        let points = SQUARE
            .chunks(3)
            .map(|p| map(Vec3::new(p[0].into(), p[1].into(), p[2].into())));
        points
            .flat_map(|p| p.cast::<f32>().as_slice().to_vec())
            .collect()
    }

    fn all_near(found: &[f32], expected: f32) -> bool {
        found.iter().all(|t| (t - expected).abs() < 2e-6)
    }

    /// Shared edges of triangles count once.
    #[test]
    fn edges_of_triangles_count_once() {
        assert_eq!(
            triangle_edges(&TRIANGLES),
            [[0, 1], [0, 2], [0, 3], [1, 2], [2, 3]]
        );
        assert!(triangle_edges(&[]).is_empty());
    }

    /// The plain skin and rigid motions have none, half the length −0.5, twice the length 1, at every scale.
    #[test]
    fn tension_is_relative_length() {
        let edges = triangle_edges(&TRIANGLES);
        let turn = Rotation3::from_euler_angles(0.4, -1.3, 2.0);
        let rigid = moved(|p| turn * p + Vec3::new(0.3, 1.0, -0.2));
        assert!(
            tension(&edges, &SQUARE, &SQUARE)
                .unwrap()
                .iter()
                .all(|&t| t == 0.0)
        );
        assert!(all_near(&tension(&edges, &SQUARE, &rigid).unwrap(), 0.0));
        assert!(all_near(
            &tension(&edges, &SQUARE, &moved(|p| turn * p * 0.5)).unwrap(),
            -0.5
        ));
        assert!(all_near(
            &tension(&edges, &SQUARE, &moved(|p| p * 2.0)).unwrap(),
            1.0
        ));
        let squeeze = |p: Vec3| Vec3::new(0.5 * p.x, p.y, p.z);
        let (small, large) = (moved(squeeze), moved(|p| 1e3 * squeeze(p)));
        let found = tension(&edges, &SQUARE, &small).unwrap();
        let scaled = tension(&edges, &moved(|p| 1e3 * p), &large).unwrap();
        assert!(found.iter().zip(&scaled).all(|(a, b)| (a - b).abs() < 1e-5));
        assert!(found.iter().all(|&t| t < -0.1));
    }

    /// Edges without length and vertices without edges give numbers; what does not fit is refused by its place.
    #[test]
    fn tension_of_defects() {
        let point = [1.0_f32; 6];
        assert_eq!(
            tension(&[[0, 1]], &point, &[0.0, 0.0, 0.0, 1.0, 0.0, 0.0]).unwrap(),
            [0.0, 0.0]
        );
        assert_eq!(tension(&[], &point, &point).unwrap(), [0.0, 0.0]);
        assert_eq!(tension(&[], &[], &[]).unwrap(), [0.0_f32; 0]);
        let corner = BakeError::Corner {
            what: "edge",
            index: 1,
            vertex: 2,
            vertices: 2,
        };
        assert_eq!(tension(&[[0, 1], [2, 0]], &point, &point), Err(corner));
        assert!(matches!(
            tension(&[], &point, &[0.0; 3]),
            Err(BakeError::Count { .. })
        ));
        let mut bad = point;
        bad[4] = f32::NAN;
        let error = BakeError::Point {
            what: "shown",
            vertex: 1,
        };
        assert_eq!(tension(&[], &point, &bad), Err(error));
    }
}
