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
//! Pairs of weight 1 share one matrix; the few others add their own terms to it. A sweep costs three products of `F · 3n · K`.

use super::offsets::Offsets;
use super::products::{multiply, packed_index, packed_len, row_major, solve_packed};
use faer::Accum;
use rayon::prelude::*;

/// Exponent of Lawson's rule. At 1 the fit needs 1.6 times the sweeps; from 2 on weights oscillate and the largest error stays above
/// the aim.
const GROWTH: f32 = 1.5;

/// Largest weight of a pair: beyond it single precision loses the other pairs of its vertex.
const MAX_WEIGHT: f32 = 1e5;

/// Pivots are raised to this part of the largest diagonal: curves and keys are single precision.
const PIVOT_FLOOR: f64 = 1e-9;

/// Pairs of one vertex that weigh more than 1: the frame, and ω − 1.
type ExtraWeights = Vec<(u32, f32)>;

/// Weights of pairs of frames and vertices, in the order of the vertices of [`Offsets`].
#[derive(Clone)]
pub(super) struct PairWeights(Vec<ExtraWeights>);

impl PairWeights {
    /// Returns weights of 1.
    pub(super) fn ones(offsets: &Offsets<'_>) -> Self {
        Self(vec![Vec::new(); offsets.vertices().len()])
    }

    /// Returns the number of pairs that weigh more than 1.
    pub(super) fn len(&self) -> usize {
        self.0.iter().map(Vec::len).sum()
    }
}

/// Curves and keys fitted by a sweep.
pub(super) struct Swept {
    /// Largest error as it is seen, of the curves that came in and the keys fitted to them, m.
    pub max_error: f32,
    /// Number of pairs whose error exceeds the aim.
    pub above_aim: usize,
    /// Keys `[K, chunk, 3]` of each chunk of vertices.
    pub keys: Vec<Vec<f32>>,
    /// Curves `[F, K]` fitted to these keys; not orthonormal. Empty if they were not asked for.
    pub curves: Vec<f32>,
}

/// What a sweep does beside fitting keys.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum SweepKind {
    /// Fits keys and measures.
    Measure,
    /// Updates weights by errors over `aim` (m), and fits curves.
    Refine {
        /// Error above which weights grow, m.
        aim: f32,
    },
}

/// Sweeps once from orthonormal `curves` `[F, count]`.
pub(super) fn sweep(
    offsets: &Offsets<'_>,
    curves: &[f32],
    count: usize,
    weights: &mut PairWeights,
    kind: SweepKind,
) -> Swept {
    let mut extras = std::mem::take(&mut weights.0).into_iter();
    let groups: Vec<Vec<(&[u32], Vec<ExtraWeights>)>> = offsets
        .groups()
        .into_iter()
        .map(|group| {
            let chunks = group.into_iter();
            chunks
                .map(|c| (c, extras.by_ref().take(c.len()).collect()))
                .collect()
        })
        .collect();
    let sums: Vec<GroupSums> = groups
        .into_par_iter()
        .map(|group| {
            let mut sums = GroupSums::new(offsets.frame_count(), count, kind);
            let mut buffers = Buffers::default();
            for (chunk, extras) in group {
                sums.add_chunk(offsets, curves, (chunk, extras), &mut buffers);
            }
            sums
        })
        .collect();
    let fitted = match kind {
        SweepKind::Measure => Vec::new(),
        SweepKind::Refine { .. } => fit_curves(&sums, offsets.frame_count(), count),
    };
    let mut swept = Swept {
        max_error: 0.0,
        above_aim: 0,
        keys: Vec::new(),
        curves: fitted,
    };
    for sum in sums {
        swept.max_error = swept.max_error.max(sum.max_error);
        swept.above_aim += sum.above_aim;
        swept.keys.extend(sum.keys);
        weights.0.extend(sum.extras);
    }
    swept
}

/// Fits curves `[F, count]` frame by frame: `(P Pᵀ + extra) w = P x`.
fn fit_curves(sums: &[GroupSums], frames: usize, count: usize) -> Vec<f32> {
    let total = |values: fn(&GroupSums) -> &[f32]| {
        let mut total = vec![0.0_f64; values(&sums[0]).len()];
        for sum in sums {
            total
                .iter_mut()
                .zip(values(sum))
                .for_each(|(to, x)| *to += f64::from(*x));
        }
        total
    };
    let gram = total(|sum| &sum.gram);
    let mut right = total(|sum| &sum.right);
    let mut matrices = total(|sum| &sum.extra);
    let largest = (0..count)
        .map(|k| gram[packed_index(k, k)])
        .fold(0.0, f64::max);
    let floor = (PIVOT_FLOOR * largest).max(f64::MIN_POSITIVE);
    let rows = right.par_chunks_exact_mut(count);
    rows.zip(matrices.par_chunks_exact_mut(packed_len(count)))
        .for_each(|(right, matrix)| {
            matrix.iter_mut().zip(&gram).for_each(|(m, g)| *m += g);
            solve_packed(matrix, right, 1, floor);
        });
    debug_assert_eq!(right.len(), frames * count);
    right.iter().map(|x| *x as f32).collect()
}

/// Offsets of a chunk, what keys leave of them, and the products of keys.
#[derive(Default)]
struct Buffers {
    x: Vec<f32>,
    left: Vec<f32>,
    square: Vec<f32>,
    own: Vec<f32>,
}

/// Sums over the chunks of a group.
struct GroupSums {
    count: usize,
    kind: SweepKind,
    max_error: f32,
    above_aim: usize,
    keys: Vec<Vec<f32>>,
    extras: Vec<ExtraWeights>,
    /// `P Pᵀ`, packed.
    gram: Vec<f32>,
    /// `X Pᵀ` `[F, K]`, weighted.
    right: Vec<f32>,
    /// `Σ (ω − 1) P Pᵀ` of each frame, packed.
    extra: Vec<f32>,
}

impl GroupSums {
    fn new(frames: usize, count: usize, kind: SweepKind) -> Self {
        let sized = |len: usize| match kind {
            SweepKind::Measure => Vec::new(),
            SweepKind::Refine { .. } => vec![0.0; len],
        };
        Self {
            count,
            kind,
            max_error: 0.0,
            above_aim: 0,
            keys: Vec::new(),
            extras: Vec::new(),
            gram: sized(packed_len(count)),
            right: sized(frames * count),
            extra: sized(frames * packed_len(count)),
        }
    }

    fn add_chunk(
        &mut self,
        offsets: &Offsets<'_>,
        curves: &[f32],
        (chunk, mut extras): (&[u32], Vec<ExtraWeights>),
        buffers: &mut Buffers,
    ) {
        let (count, width) = (self.count, 3 * chunk.len());
        let Buffers { x, left, .. } = buffers;
        offsets.read(chunk, x);
        let w = row_major(curves, count);
        let mut keys = vec![0.0; count * width];
        multiply(
            &mut keys,
            Accum::Replace,
            w.transpose(),
            row_major(x, width),
            1.0,
        );
        for (j, extra) in extras
            .iter()
            .enumerate()
            .filter(|(_, extra)| !extra.is_empty())
        {
            fit_vertex(curves, x, (width, j), extra, &mut keys);
        }
        left.clear();
        left.extend_from_slice(x);
        multiply(left, Accum::Add, w, row_major(&keys, width), -1.0);
        for (j, (&vertex, extra)) in chunk.iter().zip(&mut extras).enumerate() {
            self.weigh_vertex(offsets, vertex, left, (width, j), extra);
        }
        if let SweepKind::Refine { .. } = self.kind {
            self.add_products(&keys, &extras, width, buffers);
        }
        self.keys.push(keys);
        self.extras.extend(extras);
    }

    /// Measures the errors of a vertex, and updates its weights.
    fn weigh_vertex(
        &mut self,
        offsets: &Offsets<'_>,
        vertex: u32,
        left: &[f32],
        (width, j): (usize, usize),
        extra: &mut ExtraWeights,
    ) {
        let mut old = std::mem::take(extra).into_iter().peekable();
        for f in 0..offsets.frame_count() {
            let this = |(frame, _): &(u32, f32)| *frame == f as u32;
            let had = old.next_if(this).map_or(0.0, |(_, more)| more);
            let residual = &left[f * width + 3 * j..][..3];
            let enough = if had > 0.0 { 0.0 } else { self.max_error };
            let more = match self.kind {
                SweepKind::Measure => {
                    let error = offsets.seen_length(f, vertex, residual, enough);
                    self.max_error = self.max_error.max(error);
                    had
                }
                SweepKind::Refine { aim } => {
                    let error = offsets.seen_length(f, vertex, residual, enough.min(aim));
                    self.max_error = self.max_error.max(error);
                    self.above_aim += usize::from(error > aim);
                    match had > 0.0 || error > aim {
                        true => ((1.0 + had) * (error / aim).powf(GROWTH)).min(MAX_WEIGHT) - 1.0,
                        false => 0.0,
                    }
                }
            };
            if more > 0.0 {
                extra.push((f as u32, more));
            }
        }
    }

    /// Adds the products of keys with themselves and with the offsets.
    fn add_products(
        &mut self,
        keys: &[f32],
        extras: &[ExtraWeights],
        width: usize,
        buffers: &mut Buffers,
    ) {
        let count = self.count;
        let Buffers { x, square, own, .. } = buffers;
        let p = row_major(keys, width);
        square.resize(count * count, 0.0);
        multiply(square, Accum::Replace, p, p.transpose(), 1.0);
        for i in 0..count {
            for k in 0..=i {
                self.gram[packed_index(i, k)] += square[i * count + k];
            }
        }
        multiply(
            &mut self.right,
            Accum::Add,
            row_major(x, width),
            p.transpose(),
            1.0,
        );
        own.resize(packed_len(count), 0.0);
        for (j, extra) in extras
            .iter()
            .enumerate()
            .filter(|(_, extra)| !extra.is_empty())
        {
            let key = |k: usize| &keys[k * width + 3 * j..][..3];
            for i in 0..count {
                for k in 0..=i {
                    own[packed_index(i, k)] = dot3(key(i), key(k));
                }
            }
            for &(f, more) in extra {
                let f = f as usize;
                let matrix = &mut self.extra[f * own.len()..][..own.len()];
                matrix
                    .iter_mut()
                    .zip(own.iter())
                    .for_each(|(to, p)| *to += more * p);
                let at = &x[f * width + 3 * j..][..3];
                for (k, to) in self.right[f * count..][..count].iter_mut().enumerate() {
                    *to += more * dot3(at, key(k));
                }
            }
        }
    }
}

fn dot3(a: &[f32], b: &[f32]) -> f32 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// Fits the keys of the j-th vertex of a chunk with its weights; `keys` has those of weights 1, which are `Wᵀ x`.
fn fit_vertex(
    curves: &[f32],
    x: &[f32],
    (width, j): (usize, usize),
    extra: &ExtraWeights,
    keys: &mut [f32],
) {
    let count = keys.len() / width;
    let mut matrix = vec![0.0_f64; packed_len(count)];
    let mut right = vec![0.0_f64; 3 * count];
    for k in 0..count {
        matrix[packed_index(k, k)] = 1.0;
        for d in 0..3 {
            right[3 * k + d] = keys[k * width + 3 * j + d].into();
        }
    }
    for &(f, more) in extra {
        let f = f as usize;
        let row = &curves[f * count..][..count];
        let at = &x[f * width + 3 * j..][..3];
        for i in 0..count {
            let scaled = f64::from(more) * f64::from(row[i]);
            let entries = &mut matrix[packed_index(i, 0)..][..=i];
            entries
                .iter_mut()
                .zip(row)
                .for_each(|(m, w)| *m += scaled * f64::from(*w));
            for d in 0..3 {
                right[3 * i + d] += scaled * f64::from(at[d]);
            }
        }
    }
    solve_packed(&mut matrix, &mut right, 3, PIVOT_FLOOR);
    for k in 0..count {
        for d in 0..3 {
            keys[k * width + 3 * j + d] = right[3 * k + d] as f32;
        }
    }
}
