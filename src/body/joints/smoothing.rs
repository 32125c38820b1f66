// SPDX-License-Identifier: MIT OR Apache-2.0
//! Smoothing over the skin: rounds of `x ← x + λ (mean of the neighbours − x)`, with a share λ per vertex.
//!
//! n rounds of share λ spread a vertex's value over √(n λ) of its edges. Shares are chosen to spread over a wanted
//! length, independent of the resolution. The number of rounds bounds that length: a share above [`MAX_SHARE`] would
//! oscillate.

use crate::Vec3;
use crate::geometry::groups::{Groups, directed_edges};
use rayon::prelude::*;

/// Largest share. An alternation from vertex to vertex is then multiplied by −0.2 each round, and vanishes after a
/// few.
const MAX_SHARE: f64 = 0.6;
/// Fewest vertices per parallel task.
const MIN_TASK_VERTICES: usize = 2048;

/// Neighbours of each vertex.
#[derive(Debug, Clone)]
pub(super) struct Links {
    neighbours: Groups,
    /// Mean squared edge length of each vertex, m²; 0 for fixed vertices: without neighbours or on borders.
    squares: Vec<f64>,
}

/// Shares λ of each vertex and the number of rounds.
#[derive(Debug, Clone)]
pub(super) struct Shares {
    of: Vec<f32>,
    rounds: usize,
}

impl Links {
    /// Links vertices along the edges of triangles. Vertices on edges that do not belong to exactly two triangles are
    /// fixed.
    pub fn new(vertices: &[Vec3], triangles: &[[u32; 3]]) -> Self {
        let mut edges = directed_edges(triangles.iter().copied());
        let mut stays = vec![false; vertices.len()];
        for same in edges.chunk_by(|a, b| a == b) {
            if same.len() != 2 {
                stays[same[0].0 as usize] = true;
            }
        }
        edges.dedup();
        let neighbours = Groups::new(vertices.len(), edges.iter().copied());
        let square = |v: usize| {
            let near = neighbours.members(v);
            if stays[v] || near.is_empty() {
                return 0.0;
            }
            let length = |&n: &u32| (vertices[n as usize] - vertices[v]).norm_squared();
            near.iter().map(length).sum::<f64>() / near.len() as f64
        };
        Self {
            squares: (0..vertices.len()).map(square).collect(),
            neighbours,
        }
    }

    /// Returns shares by which `rounds` rounds smooth over `length` metres at each vertex.
    pub fn shares(&self, rounds: usize, length: impl Fn(usize) -> f64) -> Shares {
        let share = |(v, &square): (usize, &f64)| match square > 0.0 {
            true => (length(v).powi(2) / (rounds as f64 * square)).clamp(0.0, MAX_SHARE) as f32,
            false => 0.0,
        };
        Shares {
            of: self.squares.iter().enumerate().map(share).collect(),
            rounds,
        }
    }

    /// Smooths the values of all vertices in place.
    pub fn smooth<const N: usize>(&self, shares: &Shares, values: &mut Vec<[f32; N]>) {
        let mut next = values.clone();
        for _ in 0..shares.rounds {
            let from: &[[f32; N]] = values;
            let round = |(v, to): (usize, &mut [f32; N])| {
                let share = shares.of[v];
                if share == 0.0 {
                    return;
                }
                let near = self.neighbours.members(v);
                let mut sum = [0.0; N];
                for &n in near {
                    let x = &from[n as usize];
                    (0..N).for_each(|k| sum[k] += x[k]);
                }
                let part = share / near.len() as f32;
                let own = &from[v];
                (0..N).for_each(|k| to[k] = own[k] * (1.0 - share) + sum[k] * part);
            };
            let all = next
                .par_iter_mut()
                .with_min_len(MIN_TASK_VERTICES)
                .enumerate();
            all.for_each(round);
            std::mem::swap(values, &mut next);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Builds a flat square grid of the given side with `count` vertices each way.
    fn grid(count: u32, side: f64) -> (Vec<Vec3>, Vec<[u32; 3]>) {
        let place = |i: u32| Vec3::new(f64::from(i % count), f64::from(i / count), 0.0) * side;
        let mut triangles = Vec::new();
        for y in 0..count - 1 {
            for x in 0..count - 1 {
                let [a, b] = [x + y * count, x + (y + 1) * count];
                triangles.extend([[a, a + 1, b], [b, a + 1, b + 1]]);
            }
        }
        ((0..count * count).map(place).collect(), triangles)
    }

    /// Smoothing keeps values at borders, and linear fields everywhere.
    #[test]
    fn smooth_keeps_borders_and_flat_fields() {
        let (vertices, triangles) = grid(21, 0.1);
        let links = Links::new(&vertices, &triangles);
        let shares = links.shares(16, |_| 0.2);
        let wide = |x: &Vec3| [x.x as f32, x.y as f32, (7.0 * x.x).sin() as f32, 1.0];
        let given: Vec<[f32; 4]> = vertices.iter().map(wide).collect();
        let mut values = given.clone();
        links.smooth(&shares, &mut values);
        for (v, (a, b)) in given.iter().zip(&values).enumerate() {
            let (x, y) = (v % 21, v / 21);
            if x % 20 == 0 || y % 20 == 0 {
                assert_eq!(a, b);
            }
            assert!((b[3] - 1.0).abs() < 1e-5);
            // Away from borders what is linear stays: neighbours lie around it.
            assert!((a[0] - b[0]).abs() < 1e-4 && (a[1] - b[1]).abs() < 1e-4);
        }
        assert!(
            given
                .iter()
                .zip(&values)
                .any(|(a, b)| (a[2] - b[2]).abs() > 0.1)
        );
    }

    /// Smoothing spreads a single value over the given length, for grids of any fineness.
    #[test]
    fn smooth_reaches_given_length() {
        let spread = |count: u32, side: f64, length: f64| {
            let (vertices, triangles) = grid(count, side);
            let links = Links::new(&vertices, &triangles);
            let shares = links.shares(16, |_| length);
            let middle = (count * count / 2) as usize;
            let mut values = vec![[0.0f32]; vertices.len()];
            values[middle] = [1.0];
            links.smooth(&shares, &mut values);
            let far = vertices.iter().zip(&values);
            let far = far.map(|(x, w)| (x - vertices[middle]).norm_squared() * f64::from(w[0]));
            far.sum::<f64>().sqrt()
        };
        for (count, side) in [(41, 0.1), (81, 0.05)] {
            let found = spread(count, side, 0.12);
            assert!((found - 0.12).abs() < 0.003, "{found}");
        }
        // Sixteen rounds reach no farther than their largest shares.
        assert!(spread(81, 0.05, 9.0) < 0.05 * 1.2 * (16.0 * MAX_SHARE).sqrt());
    }
}
