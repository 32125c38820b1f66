// SPDX-License-Identifier: MIT OR Apache-2.0
//! Weights and matrices in single precision, and the errors that they leave.

use super::own_skin::OwnSkin;
use super::rig::VertexSkin;
use super::source::Source;
use rayon::prelude::*;

/// Returns weights of own bones and helpers, `[n, b + h]`. Each row adds up to 1 but for rounding.
pub(super) fn dense_weights(
    own: &OwnSkin,
    skins: &[VertexSkin],
    bone_count: usize,
    helpers: usize,
) -> Vec<f32> {
    let width = bone_count + helpers;
    let mut dense = vec![0.0_f32; skins.len() * width];
    for (v, (row, skin)) in dense.chunks_exact_mut(width).zip(skins).enumerate() {
        for (&b, w) in own.row(v).0.iter().zip(&skin.own) {
            row[b as usize] = *w as f32;
        }
        for &(h, w) in &skin.helpers {
            row[bone_count + h as usize] = w as f32;
        }
        // The heaviest takes what rounding has left.
        let sum: f64 = row.iter().map(|w| f64::from(*w)).sum();
        if let Some(heaviest) = row.iter_mut().max_by(|a, b| a.total_cmp(b)) {
            *heaviest = (f64::from(*heaviest) + 1.0 - sum) as f32;
        }
    }
    dense
}

/// Distances of vertices from their places.
pub(super) struct Measured {
    /// Largest of each frame, m.
    pub errors: Vec<f32>,
    /// Vertex that is farthest away in each frame.
    pub farthest: Vec<u32>,
    /// Root of the mean square of all, m.
    pub rms: f64,
}

/// Measures all vertices in all frames, moved by weights `[n, b + h]`, the own bones' matrices and those of the helpers
/// `[f, h, 4, 4]`.
pub(super) fn measure(source: &Source<'_>, weights: &[f32], transforms: &[f32]) -> Measured {
    let (bones, vertices) = (source.bone_count, source.frames.vertex_count());
    let width = weights.len() / vertices;
    let size = 16 * (width - bones);
    let entries: Vec<Vec<(usize, f64)>> = weights
        .chunks_exact(width)
        .map(|row| {
            let row = row.iter().enumerate().filter(|r| *r.1 != 0.0);
            row.map(|(b, w)| (b, f64::from(*w))).collect()
        })
        .collect();
    let of_frame = |f: usize| {
        let (own, helpers) = (source.matrices(f), &transforms[f * size..][..size]);
        let (mut largest, mut sum) = ((0.0_f64, 0), 0.0);
        let seen = source.frames.frame(f).chunks_exact(3);
        for (v, (p, to)) in source.rest.chunks_exact(3).zip(seen).enumerate() {
            let mut left = [0, 1, 2].map(|i| f64::from(to[i]));
            for &(b, w) in &entries[v] {
                let m = match b.checked_sub(bones) {
                    None => &own[16 * b..][..12],
                    Some(h) => &helpers[16 * h..][..12],
                };
                for (i, left) in left.iter_mut().enumerate() {
                    let row = &m[4 * i..][..4];
                    let turned: f64 = (0..3).map(|j| f64::from(row[j]) * f64::from(p[j])).sum();
                    *left -= w * (turned + f64::from(row[3]));
                }
            }
            let square: f64 = left.iter().map(|x| x * x).sum();
            sum += square;
            if square > largest.0 {
                largest = (square, v as u32);
            }
        }
        (largest.0.sqrt() as f32, largest.1, sum)
    };
    let frames: Vec<(f32, u32, f64)> = (0..source.frames.len())
        .into_par_iter()
        .map(of_frame)
        .collect();
    let total: f64 = frames.iter().map(|f| f.2).sum();
    Measured {
        errors: frames.iter().map(|f| f.0).collect(),
        farthest: frames.iter().map(|f| f.1).collect(),
        rms: (total / (vertices * frames.len()) as f64).sqrt(),
    }
}
