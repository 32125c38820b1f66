// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where a fit begins: as the template lies, or brought to where the target's moments say it is.

use super::super::figure::Figure;
use super::super::moments::Moments;
use super::super::volume::Volume;
use crate::{Mat3, Vec3};

/// The figure as it is; with the middle and size of the target; and turned so that its axes lie on those of the target, each
/// the nearer way round.
pub(super) fn candidates(
    figure: &Figure,
    own: Option<Moments>,
    target: Option<Moments>,
) -> Vec<Figure> {
    let mut all = vec![figure.clone()];
    let (Some(own), Some(target)) = (own, target) else {
        return all;
    };
    let scale = (target.spread.trace() / own.spread.trace()).sqrt();
    if !(scale.is_finite() && scale > 0.0) {
        return all;
    }
    let brought =
        |turn: &Mat3| figure.transformed(scale, turn, target.centre - turn * own.centre * scale);
    all.push(brought(&Mat3::identity()));
    let ((from, _), (to, spreads)) = (own.axes(), target.axes());
    // Axes that spread alike have no direction.
    if spreads[1] < 0.8 * spreads[0] && spreads[2] < 0.8 * spreads[1] {
        let turns = [[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]].map(|[a, b]| {
            let flip = Mat3::from_diagonal(&Vec3::new(a, b, a * b));
            to * flip * from.transpose()
        });
        let nearest = turns.iter().max_by(|a, b| a.trace().total_cmp(&b.trace()));
        all.extend(nearest.map(brought));
    }
    all
}

/// Moments of what is not background in a volume: beyond the level that parts its values best, on the other side of it than most
/// of the outermost voxels are; none where that touches the border in many places.
pub(super) fn of_volume(volume: &Volume) -> Option<Moments> {
    let level = parting_level(volume.values())?;
    let [n, m, l] = volume.shape();
    let mut border = [0_usize; 2];
    let is_high = |i: usize, j: usize, k: usize| volume.values()[(i * m + j) * l + k] > level;
    let outermost = |i: usize, j: usize, k: usize| {
        i == 0 || j == 0 || k == 0 || i + 1 == n || j + 1 == m || k + 1 == l
    };
    let all = || (0..n).flat_map(move |i| (0..m).flat_map(move |j| (0..l).map(move |k| (i, j, k))));
    for (i, j, k) in all().filter(|&(i, j, k)| outermost(i, j, k)) {
        border[usize::from(is_high(i, j, k))] += 1;
    }
    let body_is_high = border[1] < border[0];
    // A body that is cut by the border has its middle elsewhere.
    if 20 * border[usize::from(body_is_high)] > border[0] + border[1] {
        return None;
    }
    let place = |(i, j, k): (usize, usize, usize)| {
        let at = Vec3::new(i as f64, j as f64, k as f64);
        volume.origin() + at.component_mul(&volume.spacing())
    };
    let body = all().filter(|&(i, j, k)| is_high(i, j, k) == body_is_high);
    Moments::of_points(body.map(|at| (place(at), 1.0)))
}

/// The level between values that leaves the least spread on both sides of it [otsu1979]; none where all are alike.
fn parting_level(values: &[f32]) -> Option<f32> {
    const BINS: usize = 256;
    let (least, most) = values
        .iter()
        .fold((f32::INFINITY, f32::NEG_INFINITY), |(lo, hi), v| {
            (lo.min(*v), hi.max(*v))
        });
    let width = (most - least) / BINS as f32;
    if width.is_nan() || width <= 0.0 {
        return None;
    }
    let mut counts = [0.0_f64; BINS];
    for v in values {
        counts[(((v - least) / width) as usize).min(BINS - 1)] += 1.0;
    }
    let whole: f64 = counts.iter().sum();
    let sum: f64 = counts.iter().enumerate().map(|(i, c)| i as f64 * c).sum();
    let (mut below, mut below_sum, mut best) = (0.0, 0.0, (f64::NEG_INFINITY, 0));
    for (i, count) in counts.iter().enumerate().take(BINS - 1) {
        below += count;
        below_sum += i as f64 * count;
        let above = whole - below;
        if below == 0.0 || above == 0.0 {
            continue;
        }
        let apart = below_sum / below - (sum - below_sum) / above;
        let between = below * above * apart * apart;
        if between > best.0 {
            best = (between, i);
        }
    }
    Some(least + width * (best.1 + 1) as f32)
}
