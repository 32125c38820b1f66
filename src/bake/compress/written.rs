// SPDX-License-Identifier: MIT OR Apache-2.0
//! Keys and curves as they are written: scaled, rounded, and measured after it.

use super::offsets::Offsets;
use super::packed::{Packed, Quantisation};
use super::products::{multiply, row_major};
use super::search::Factors;
use faer::Accum;
use half::f16;
use rayon::prelude::*;

/// Part of the tolerance that small entries of keys may add up to before they are kept: far below what is seen, and files that
/// store only entries other than 0 become smaller.
const NEGLIGIBLE: f32 = 0.01;

/// Factors of one region as keys and curves: curves reach from −1 to 1, and entries that are not seen are 0.
pub(super) struct Scaled {
    /// Curves `[F, K]`.
    pub curves: Vec<f32>,
    /// Keys `[K, m, 3]`.
    pub keys: Vec<f32>,
    /// K.
    pub count: usize,
}

impl Scaled {
    /// Scales and signs factors: the largest magnitude of a curve is 1 and positive. The key that moves vertices farthest is first.
    pub(super) fn new(factors: &Factors, tolerance: f32) -> Self {
        let (count, frames) = (factors.count, factors.curves.len() / factors.count.max(1));
        let width = factors.keys.len() / count.max(1);
        let peak = |k: usize| {
            let values = (0..frames).map(|f| factors.curves[f * count + k]);
            values.fold(0.0_f32, |a, b| if b.abs() > a.abs() { b } else { a })
        };
        let key = |k: usize| &factors.keys[k * width..][..width];
        let reach = |k: usize| peak(k).abs() * longest(key(k));
        let reaches: Vec<f32> = (0..count).map(reach).collect();
        let mut order: Vec<usize> = (0..count).filter(|&k| reaches[k] > 0.0).collect();
        order.sort_by(|&a, &b| reaches[b].total_cmp(&reaches[a]));
        let scaled = |&k: &usize| key(k).iter().map(move |x| x * peak(k));
        let keys: Vec<f32> = order.iter().flat_map(scaled).collect();
        let row = |f: usize| {
            order
                .iter()
                .map(move |&k| factors.curves[f * count + k] / peak(k))
        };
        let mut made = Self {
            curves: (0..frames).flat_map(row).collect(),
            count: order.len(),
            keys,
        };
        made.drop_negligible(NEGLIGIBLE * tolerance, width);
        made
    }

    /// Sets the smallest entries of each vertex to 0 while they add up to less than `limit`, m. Curves do not exceed 1.
    fn drop_negligible(&mut self, limit: f32, width: usize) {
        for v in 0..width / 3 {
            let length = |k: usize| {
                let x = &self.keys[k * width + 3 * v..][..3];
                (x[0] * x[0] + x[1] * x[1] + x[2] * x[2]).sqrt()
            };
            let lengths: Vec<f32> = (0..self.count).map(length).collect();
            let mut order: Vec<usize> = (0..self.count).collect();
            order.sort_by(|&a, &b| lengths[a].total_cmp(&lengths[b]));
            let mut sum = 0.0;
            for k in order {
                sum += lengths[k];
                if sum > limit {
                    break;
                }
                self.keys[k * width + 3 * v..][..3].fill(0.0);
            }
        }
    }
}

fn longest(key: &[f32]) -> f32 {
    let squares = key
        .chunks_exact(3)
        .map(|x| x[0] * x[0] + x[1] * x[1] + x[2] * x[2]);
    squares.fold(0.0, f32::max).sqrt()
}

/// Joins the keys of regions to those of the whole mesh, rounds them, and measures what they miss.
pub(super) fn join(
    regions: &[(Offsets<'_>, Scaled)],
    whole: &Offsets<'_>,
    quantise: Option<Quantisation>,
) -> Packed {
    let (frames, vertices) = (whole.frame_count(), whole.vertices().len());
    let count: usize = regions.iter().map(|(_, scaled)| scaled.count).sum();
    let (mut keys, mut curves) = (vec![0.0; count * 3 * vertices], vec![0.0; frames * count]);
    let mut first = 0;
    for (offsets, scaled) in regions {
        let width = 3 * offsets.vertices().len();
        for k in 0..scaled.count {
            let key = &mut keys[(first + k) * 3 * vertices..][..3 * vertices];
            for (x, &v) in scaled.keys[k * width..][..width]
                .chunks_exact(3)
                .zip(offsets.vertices())
            {
                key[3 * v as usize..][..3].copy_from_slice(x);
            }
            for f in 0..frames {
                curves[f * count + first + k] = scaled.curves[f * scaled.count + k];
            }
        }
        first += scaled.count;
    }
    let rounded = keys
        .par_chunks_exact_mut(3 * vertices)
        .map(|key| round(key, quantise));
    let steps = rounded.collect();
    let mut packed = Packed {
        count,
        vertex_count: vertices,
        errors: vec![0.0; frames],
        worst_vertices: vec![0; frames],
        rms: 0.0,
        keys,
        curves,
        steps,
    };
    measure(whole, &mut packed);
    packed
}

/// Rounds a key in place to numbers that the storage holds. Returns its step, m: what a unit of int16 stands for; 0 if it has none.
fn round(key: &mut [f32], quantise: Option<Quantisation>) -> f32 {
    match quantise {
        None => 0.0,
        Some(Quantisation::Half) => {
            key.iter_mut().for_each(|x| *x = f16::from_f32(*x).to_f32());
            0.0
        }
        Some(Quantisation::Int16) => {
            let step = key.iter().fold(0.0_f32, |most, x| most.max(x.abs())) / f32::from(i16::MAX);
            if step > 0.0 {
                key.iter_mut().for_each(|x| *x = (*x / step).round() * step);
            }
            step
        }
    }
}

/// Measures keys and curves against the offsets of the whole mesh, as they are seen.
fn measure(offsets: &Offsets<'_>, packed: &mut Packed) {
    let (frames, vertices) = (packed.errors.len(), packed.vertex_count);
    let groups: Vec<(Vec<(f32, u32)>, f64)> = offsets
        .groups()
        .into_par_iter()
        .map(|group| {
            let mut worst = vec![(0.0_f32, 0_u32); frames];
            let mut squares = 0.0_f64;
            for chunk in group {
                let left = left_of(offsets, packed, chunk);
                let width = chunk.len();
                for (f, row) in left.chunks_exact(3 * width).enumerate() {
                    for (j, &v) in chunk.iter().enumerate() {
                        let residual = [0, 1, 2].map(|d| row[d * width + j]);
                        let error = offsets.seen_length(f, v, &residual, 0.0);
                        squares += f64::from(error).powi(2);
                        if error > worst[f].0 {
                            worst[f] = (error, v);
                        }
                    }
                }
            }
            (worst, squares)
        })
        .collect();
    let mut sum = 0.0;
    for (worst, squares) in groups {
        sum += squares;
        for (f, (error, vertex)) in worst.into_iter().enumerate() {
            if error > packed.errors[f] {
                packed.errors[f] = error;
                packed.worst_vertices[f] = vertex;
            }
        }
    }
    packed.rms = (sum / (frames * vertices) as f64).sqrt();
}

/// Returns what keys leave of the offsets of some vertices, `[f, 3, vertices]`.
fn left_of(offsets: &Offsets<'_>, packed: &Packed, vertices: &[u32]) -> Vec<f32> {
    let count = packed.count;
    let mut left = offsets.read(vertices);
    let keys: Vec<f32> = packed
        .keys
        .chunks_exact(3 * packed.vertex_count)
        .flat_map(|key| {
            (0..3).flat_map(move |d| vertices.iter().map(move |&v| key[3 * v as usize + d]))
        })
        .collect();
    if count > 0 {
        let (w, p) = (
            row_major(&packed.curves, count),
            row_major(&keys, 3 * vertices.len()),
        );
        multiply(&mut left, Accum::Add, w, p, -1.0);
    }
    left
}
