// SPDX-License-Identifier: MIT OR Apache-2.0
//! Comparison of a motion with plain cubic splines through the same keyframes: leading coordinates, and relative reach.

use super::motion::Spacetime;
use crate::solve::tall::product;
use faer::Mat;

impl Spacetime {
    /// Returns the coordinates along the leading principal components of the keyframes, weighted by mass, for the motion and for
    /// cubic splines: `[times][count]` each.
    pub fn principal_curves(&self, times: &[f64], count: usize) -> (Vec<f64>, Vec<f64>) {
        let keys = self.key_coordinates();
        let keys = Mat::from_fn(self.dimension(), keys.len(), |i, k| keys[k][i]);
        let count = count.min(keys.nrows()).min(keys.ncols());
        let Ok(svd) = self.mass_scaled_deviations(&keys).thin_svd() else {
            return (Vec::new(), Vec::new());
        };
        let leading = svd.U().subcols(0, count).transpose().to_owned();
        let along = |q: &Mat<f64>| -> Vec<f64> {
            let found = product(leading.as_ref(), self.mass_scaled_deviations(q).as_ref());
            let all = (0..q.ncols()).flat_map(|t| (0..count).map(move |c| (c, t)));
            all.map(|at| found[at]).collect()
        };
        (
            along(&self.coordinates_at(times)),
            along(&self.cubic_coordinates_at(times)),
        )
    }

    /// Returns the largest distance from the keyframes' mean, as a multiple of that of cubic splines, at least 1. Distances are in
    /// the norm of the mass. Rigid motion that was factored out does not count.
    pub fn relative_reach(&self) -> f64 {
        /// Samples of an interval.
        const SAMPLES_PER_INTERVAL: usize = 16;
        let within = |pair: &[f64]| {
            let (start, step) = (pair[0], (pair[1] - pair[0]) / SAMPLES_PER_INTERVAL as f64);
            (0..SAMPLES_PER_INTERVAL).map(move |i| start + step * i as f64)
        };
        let instants: Vec<f64> = self.times().windows(2).flat_map(within).collect();
        let farthest = |q: Mat<f64>| {
            let away = self.mass_scaled_deviations(&q);
            let lengths = (0..away.ncols()).map(|t| away.col(t).norm_l2());
            lengths.fold(0.0, f64::max)
        };
        let plain = farthest(self.cubic_coordinates_at(&instants));
        let ours = farthest(self.coordinates_at(&instants));
        if plain > 0.0 {
            (ours / plain).max(1.0)
        } else {
            1.0
        }
    }

    /// Returns `Lᵀ (q − mean of the keyframes)` of columns q, with the mass `L Lᵀ`: Euclidean lengths are then those of the mass
    /// norm.
    fn mass_scaled_deviations(&self, q: &Mat<f64>) -> Mat<f64> {
        let keys = self.key_coordinates();
        let mean = |i: usize| keys.iter().map(|k| k[i]).sum::<f64>() / keys.len() as f64;
        let mean: Vec<f64> = (0..self.dimension()).map(mean).collect();
        let away = Mat::from_fn(q.nrows(), q.ncols(), |i, t| q[(i, t)] - mean[i]);
        let lifted = self.space.factor.transpose().to_owned();
        product(lifted.as_ref(), away.as_ref())
    }
}
