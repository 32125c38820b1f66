// SPDX-License-Identifier: MIT OR Apache-2.0
//! Small statistics over the skin: quantiles, means by area, smooth steps.

use crate::Vec3;

/// Returns the q-quantile, linear between neighbours; `None` without values.
pub(super) fn quantile(mut values: Vec<f64>, q: f64) -> Option<f64> {
    let last = values.len().checked_sub(1)?;
    values.sort_unstable_by(f64::total_cmp);
    let at = q.clamp(0.0, 1.0) * last as f64;
    let low = at.floor() as usize;
    let part = at - low as f64;
    Some(values[low] + part * (values[(low + 1).min(last)] - values[low]))
}

/// Returns the value that this part of the area exceeds; 0 without area.
pub(super) fn area_quantile(pairs: impl Iterator<Item = (f64, f64)>, part: f64) -> f64 {
    let mut all: Vec<(f64, f64)> = pairs.filter(|(_, area)| *area > 0.0).collect();
    all.sort_by(|a, b| b.0.total_cmp(&a.0));
    let wanted = part * all.iter().map(|x| x.1).sum::<f64>();
    let mut sum = 0.0;
    for &(value, area) in &all {
        sum += area;
        if sum >= wanted {
            return value;
        }
    }
    all.last().map_or(0.0, |x| x.0)
}

/// Returns the weighted mean of points; `None` if the weights vanish.
pub(super) fn mean_point(points: impl Iterator<Item = (Vec3, f64)>) -> Option<Vec3> {
    let add = |(sum, total): (Vec3, f64), (x, w): (Vec3, f64)| (sum + x * w, total + w);
    let (sum, total) = points.fold((Vec3::zeros(), 0.0), add);
    (total > 0.0).then(|| sum / total)
}

/// Returns a smooth step from 0 at `from` to 1 at `to`.
pub(super) fn smoothstep((from, to): (f64, f64), x: f64) -> f64 {
    let u = ((x - from) / (to - from)).clamp(0.0, 1.0);
    u * u * (3.0 - 2.0 * u)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A quantile is interpolated between its neighbours in the sorted list, and an empty list has no quantile.
    #[test]
    fn quantile_interpolates_neighbours() {
        assert_eq!(quantile(vec![3.0, 1.0, 2.0], 0.5), Some(2.0));
        assert_eq!(quantile(vec![0.0, 10.0], 0.25), Some(2.5));
        assert_eq!(quantile(vec![], 0.5), None);
        assert_eq!(
            area_quantile([(1.0, 9.0), (5.0, 1.0)].into_iter(), 0.1),
            5.0
        );
        assert_eq!(
            area_quantile([(1.0, 9.0), (5.0, 1.0)].into_iter(), 0.2),
            1.0
        );
        assert_eq!(smoothstep((1.0, 2.0), 1.5), 0.5);
    }
}
