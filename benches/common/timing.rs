// SPDX-License-Identifier: MIT OR Apache-2.0
//! How benches time.

use std::time::Instant;

/// Median of the seconds that a run takes; runs are given their number.
pub fn median(count: usize, mut run: impl FnMut(usize)) -> f64 {
    let mut seconds: Vec<f64> = (0..count)
        .map(|i| {
            let started = Instant::now();
            run(i);
            started.elapsed().as_secs_f64()
        })
        .collect();
    seconds.sort_by(f64::total_cmp);
    seconds[count / 2]
}
