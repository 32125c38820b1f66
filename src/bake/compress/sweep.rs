// SPDX-License-Identifier: MIT OR Apache-2.0
//! One sweep of the minimax fit: keys by curves, weights by errors, curves by keys.
//!
//! Offsets X `[F, 3n]` are fitted by `W P`, curves W `[F, K]` times keys P `[K, 3n]`. Each pair of frame f and vertex v has a weight
//! ω ≥ 1. Curves come in orthonormal.
//!
//! 1. Keys minimise `Σ ω |x − W P|²` vertex by vertex.
//! 2. Weights of pairs whose error e exceeds the aim grow by `(e / aim)^GROWTH` (Lawson's rule); weights above 1 shrink by the same rule.
//! 3. Curves minimise the same sum with the new weights, frame by frame.
//!
//! Only vertices of the core are visited. All others have weights of 1 and keys `Wᵀ X`, so that the sum over them needs no more than
//! their `X Xᵀ`.

use super::blocks::Block;
use super::core::Core;
use super::offsets::Offsets;
use super::products::{multiply, row_major, solve_positive};
use faer::{Accum, Mat};
use rayon::prelude::*;

/// Exponent of Lawson's rule. At 1 the fit needs 1.6 times the sweeps; from 2 on weights oscillate and the largest error stays above
/// the aim.
const GROWTH: f32 = 1.5;

/// Largest weight of a pair: beyond it single precision loses the other pairs of its vertex.
const MAX_WEIGHT: f32 = 1e5;

/// Part of the largest diagonal that is added to it: directions in which keys have nothing get no curves.
const RIDGE: f64 = 1e-9;

/// Fits keys of the core to orthonormal `curves` `[F, count]`, and raises weights of errors over `aim` (m). Returns the largest error
/// as it is seen.
pub(super) fn fit_keys(
    offsets: &Offsets<'_>,
    core: &mut Core,
    curves: &[f32],
    count: usize,
    aim: f32,
) -> f32 {
    let pairs = core.blocks.par_iter().zip(&mut core.extra);
    let fitted: Vec<(Vec<f32>, f32, usize)> = pairs
        .map(|(block, extra)| {
            let keys = weighted_keys(block, extra, curves, count);
            let left = residual(block, curves, &keys, count);
            let error = weigh(offsets, block, &left, extra, aim);
            let heavy = extra.iter().filter(|more| **more > 0.0).count();
            (keys, error, heavy)
        })
        .collect();
    core.keys.clear();
    core.heavy_pairs = 0;
    let mut largest = 0.0_f32;
    for (keys, error, heavy) in fitted {
        core.keys.push(keys);
        core.heavy_pairs += heavy;
        largest = largest.max(error);
    }
    largest
}

/// Returns the keys `[3, w, count]` of a block for weights of 1: `Xᵀ W`.
pub(super) fn plain_keys(block: &Block, curves: &[f32], count: usize) -> Vec<f32> {
    let mut keys = vec![0.0; 3 * block.width() * count];
    let x = row_major(&block.x, 3 * block.width());
    multiply(
        &mut keys,
        Accum::Replace,
        x.transpose(),
        row_major(curves, count),
        1.0,
    );
    keys
}

/// Returns what keys leave of a block, `[f, 3, w]`.
pub(super) fn residual(block: &Block, curves: &[f32], keys: &[f32], count: usize) -> Vec<f32> {
    let mut left = block.x.clone();
    let (w, p) = (row_major(curves, count), row_major(keys, count));
    multiply(&mut left, Accum::Add, w, p.transpose(), -1.0);
    left
}

fn weighted_keys(block: &Block, extra: &[f32], curves: &[f32], count: usize) -> Vec<f32> {
    let mut keys = plain_keys(block, curves, count);
    let w = block.width();
    let mut heavy: Vec<Vec<(u32, f32)>> = vec![Vec::new(); w];
    for (f, row) in extra.chunks_exact(w).enumerate() {
        for (j, more) in row.iter().enumerate().filter(|(_, more)| **more > 0.0) {
            heavy[j].push((f as u32, *more));
        }
    }
    for (j, pairs) in heavy.iter().enumerate().filter(|(_, p)| !p.is_empty()) {
        refit_vertex(block, j, pairs, curves, count, &mut keys);
    }
    keys
}

/// Corrects the keys of vertex j, which are those for weights of 1, by what pairs (frame, ω − 1) weigh more.
///
/// With S the rows of the curves and T what the keys leave, each times √(ω − 1), the correction is `(1 + Sᵀ S)⁻¹ Sᵀ T`, which is
/// `Sᵀ (1 + S Sᵀ)⁻¹ T`: the smaller of the two systems is solved.
fn refit_vertex(
    block: &Block,
    j: usize,
    pairs: &[(u32, f32)],
    curves: &[f32],
    count: usize,
    keys: &mut [f32],
) {
    let w = block.width();
    let row = |f: u32| &curves[f as usize * count..][..count];
    let roots: Vec<f64> = pairs.iter().map(|p| f64::from(p.1).sqrt()).collect();
    let s = Mat::from_fn(pairs.len(), count, |i, k| {
        roots[i] * f64::from(row(pairs[i].0)[k])
    });
    let left = Mat::from_fn(pairs.len(), 3, |i, d| {
        let key = &keys[(d * w + j) * count..][..count];
        let shown: f32 = key.iter().zip(row(pairs[i].0)).map(|(p, w)| p * w).sum();
        roots[i] * f64::from(block.at(pairs[i].0 as usize, j)[d] - shown)
    });
    let identity = |n: usize| Mat::<f64>::identity(n, n);
    let change = match pairs.len() < count {
        true => s.transpose() * solve_positive(identity(pairs.len()) + &s * s.transpose(), left),
        false => solve_positive(identity(count) + s.transpose() * &s, s.transpose() * left),
    };
    for d in 0..3 {
        let key = &mut keys[(d * w + j) * count..][..count];
        key.iter_mut()
            .enumerate()
            .for_each(|(k, p)| *p += change[(k, d)] as f32);
    }
}

/// Updates the weights of a block by its errors, and returns the largest.
fn weigh(offsets: &Offsets<'_>, block: &Block, left: &[f32], extra: &mut [f32], aim: f32) -> f32 {
    let w = block.width();
    let (mut largest, mut squares) = (0.0_f32, vec![0.0_f32; w]);
    for (f, (left, extra)) in left
        .chunks_exact(3 * w)
        .zip(extra.chunks_exact_mut(w))
        .enumerate()
    {
        square_lengths(left, &mut squares);
        let enough = (aim / offsets.stretch(f).max(f32::MIN_POSITIVE)).powi(2);
        for (j, (square, extra)) in squares.iter().zip(extra).enumerate() {
            if *square <= enough && *extra == 0.0 {
                continue;
            }
            let residual = [0, 1, 2].map(|d| left[d * w + j]);
            let error = block.seen_length(offsets, (f, j), residual);
            largest = largest.max(error);
            if *extra > 0.0 || error > aim {
                let weight = (1.0 + *extra) * (error / aim).powf(GROWTH);
                *extra = (weight.min(MAX_WEIGHT) - 1.0).max(0.0);
            }
        }
    }
    largest
}

/// Computes the squares of the lengths of residuals `[3, w]`.
fn square_lengths(residuals: &[f32], to: &mut [f32]) {
    let (x, rest) = residuals.split_at(to.len());
    let (y, z) = rest.split_at(to.len());
    for (((to, x), y), z) in to.iter_mut().zip(x).zip(y).zip(z) {
        *to = x * x + y * y + z * z;
    }
}

/// Fits curves `[F, count]` to the keys of the core and to those of all other vertices, frame by frame. They are not orthonormal.
pub(super) fn fit_curves(core: &Core, curves: &[f32], count: usize) -> Vec<f32> {
    let frames = curves.len() / count;
    let (gram, right) = unweighted_sums(core, curves, count);
    let largest = (0..count).map(|k| gram[k * count + k]).fold(0.0, f64::max);
    let ridge = (RIDGE * largest).max(f64::MIN_POSITIVE);
    let rows = (0..frames).into_par_iter().flat_map_iter(|f| {
        let (square, product) = heavy_sums(core, f, count);
        let matrix = Mat::from_fn(count, count, |i, k| {
            gram[i * count + k]
                + f64::from(square[i * count + k])
                + if i == k { ridge } else { 0.0 }
        });
        let own = &right[f * count..][..count];
        let row = solve_positive(
            matrix,
            Mat::from_fn(count, 1, |k, _| f64::from(own[k]) + f64::from(product[k])),
        );
        (0..count).map(move |k| row[(k, 0)] as f32)
    });
    rows.collect()
}

/// Returns `P Pᵀ` and `X Pᵀ` `[F, count]` for weights of 1.
fn unweighted_sums(core: &Core, curves: &[f32], count: usize) -> (Vec<f64>, Vec<f32>) {
    let frames = curves.len() / count;
    let w = row_major(curves, count);
    let mut right = vec![0.0; frames * count];
    multiply(
        &mut right,
        Accum::Replace,
        row_major(&core.outside, frames),
        w,
        1.0,
    );
    let mut gram = vec![0.0_f32; count * count];
    multiply(
        &mut gram,
        Accum::Replace,
        w.transpose(),
        row_major(&right, count),
        1.0,
    );
    let mut gram: Vec<f64> = gram.into_iter().map(f64::from).collect();
    let parts: Vec<(Vec<f32>, Vec<f32>)> = core
        .blocks
        .par_iter()
        .zip(&core.keys)
        .map(|(block, keys)| {
            let p = row_major(keys, count);
            let (mut square, mut right) = (vec![0.0; count * count], vec![0.0; frames * count]);
            multiply(&mut square, Accum::Replace, p.transpose(), p, 1.0);
            multiply(
                &mut right,
                Accum::Replace,
                row_major(&block.x, 3 * block.width()),
                p,
                1.0,
            );
            (square, right)
        })
        .collect();
    for (square, part) in parts {
        gram.iter_mut()
            .zip(square)
            .for_each(|(to, x)| *to += f64::from(x));
        right.iter_mut().zip(part).for_each(|(to, x)| *to += x);
    }
    (gram, right)
}

/// Returns what the pairs of a frame weigh more than 1: `Σ (ω − 1) P Pᵀ` `[count, count]` and `Σ (ω − 1) P x` `[count]`.
fn heavy_sums(core: &Core, f: usize, count: usize) -> (Vec<f32>, Vec<f32>) {
    let (mut rows, mut values) = (Vec::new(), Vec::new());
    for ((block, extra), keys) in core.blocks.iter().zip(&core.extra).zip(&core.keys) {
        let w = block.width();
        let row = &extra[f * w..][..w];
        for (j, more) in row.iter().enumerate().filter(|(_, more)| **more > 0.0) {
            let (root, at) = (more.sqrt(), block.at(f, j));
            for (d, x) in at.into_iter().enumerate() {
                rows.extend(
                    keys[(d * w + j) * count..][..count]
                        .iter()
                        .map(|p| root * p),
                );
                values.push(root * x);
            }
        }
    }
    let (mut square, mut product) = (vec![0.0; count * count], vec![0.0; count]);
    if !rows.is_empty() {
        let p = row_major(&rows, count);
        multiply(&mut square, Accum::Replace, p.transpose(), p, 1.0);
        multiply(
            &mut product,
            Accum::Replace,
            p.transpose(),
            row_major(&values, 1),
            1.0,
        );
    }
    (square, product)
}

/// Returns the largest error of each vertex of all blocks for keys that curves determine by weights of 1; those below `enough` are not
/// exact.
pub(super) fn plain_errors(
    offsets: &Offsets<'_>,
    blocks: &[Block],
    curves: &[f32],
    count: usize,
    enough: f32,
) -> Vec<f32> {
    let of_block = |block: &Block| {
        let left = residual(block, curves, &plain_keys(block, curves, count), count);
        let w = block.width();
        let (mut largest, mut squares) = (vec![0.0_f32; w], vec![0.0_f32; w]);
        for (f, left) in left.chunks_exact(3 * w).enumerate() {
            square_lengths(left, &mut squares);
            let stretch = offsets.stretch(f);
            for (j, (square, largest)) in squares.iter().zip(&mut largest).enumerate() {
                let bound = square * stretch * stretch;
                if bound <= *largest * *largest {
                    continue;
                }
                let error = match bound > enough * enough {
                    true => block.seen_length(offsets, (f, j), [0, 1, 2].map(|d| left[d * w + j])),
                    false => bound.sqrt(),
                };
                *largest = largest.max(error);
            }
        }
        largest
    };
    blocks.par_iter().flat_map_iter(of_block).collect()
}
