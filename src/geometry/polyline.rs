// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rows of points: arc lengths, points between them, smoothing.

use crate::Vec3;

/// Returns the arc length of each point of a row.
pub(crate) fn arc_lengths(row: &[Vec3]) -> Vec<f64> {
    let mut along = vec![0.0];
    for pair in row.windows(2) {
        along.push(along[along.len() - 1] + (pair[1] - pair[0]).norm());
    }
    along
}

/// Returns the point of a row at an arc length; `along`: the [`arc_lengths`] of its points.
pub(crate) fn point_at(row: &[Vec3], along: &[f64], length: f64) -> Vec3 {
    let k = along
        .partition_point(|x| *x <= length)
        .clamp(1, row.len() - 1);
    let step = along[k] - along[k - 1];
    let share = if step > 0.0 {
        (length - along[k - 1]) / step
    } else {
        0.0
    };
    row[k - 1].lerp(&row[k], share.clamp(0.0, 1.0))
}

/// Returns `count` points at even steps along a row, from one arc length to another.
pub(crate) fn resample(row: &[Vec3], [from, to]: [f64; 2], count: usize) -> Vec<Vec3> {
    let along = arc_lengths(row);
    let share = |i: usize| i as f64 / (count - 1) as f64;
    (0..count)
        .map(|i| point_at(row, &along, from + (to - from) * share(i)))
        .collect()
}

/// Moves each inner point half of the way to the mean of its neighbours, several times.
pub(crate) fn smooth(row: &mut [Vec3], rounds: usize) {
    for _ in 0..rounds {
        let before = row.to_vec();
        for i in 1..row.len() - 1 {
            row[i] = before[i] * 0.5 + (before[i - 1] + before[i + 1]) * 0.25;
        }
    }
}
