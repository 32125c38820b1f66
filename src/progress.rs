//! Progress and cancellation: one hook for Blender's bar, the command line and the cancel key.
//!
//! ```
//! use std::sync::Mutex;
//! use thew::surface::Surface;
//! use thew::{Vec3, progress::Cancelled};
//!
//! let corners = [[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]].map(Vec3::from);
//! let surface = Surface::new(corners.to_vec(), vec![[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])?;
//! let reported = Mutex::new(Vec::new());
//! let stop = |fraction: f64, _stage: &str| {
//!     reported.lock().expect("nobody panics").push(fraction);
//!     false
//! };
//! assert_eq!(surface.measure_volume(&stop), Err(Cancelled));
//! assert_eq!(reported.lock().expect("nobody panics").len(), 1); // the first report cancelled
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use rayon::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Receives the progress of a long computation and decides whether to continue.
///
/// It is implemented for closures, so `&|fraction: f64, stage: &str| true` is a progress.
pub trait Progress: Sync {
    /// Reports progress and returns false to cancel. `fraction` runs from 0 to 1 over the whole call; `stage` is a
    /// short phrase for people.
    fn report(&self, fraction: f64, stage: &str) -> bool;
}

impl<F: Fn(f64, &str) -> bool + Sync> Progress for F {
    fn report(&self, fraction: f64, stage: &str) -> bool {
        self(fraction, stage)
    }
}

/// Maps the progress of a stage, 0 to 1, to a range of the whole computation.
pub struct StageProgress<'a> {
    /// Progress of the whole.
    pub whole: &'a dyn Progress,
    /// Fraction of the whole at the start of the stage.
    pub from: f64,
    /// Fraction of the whole at its end.
    pub to: f64,
}

impl Progress for StageProgress<'_> {
    fn report(&self, fraction: f64, stage: &str) -> bool {
        let fraction = self.from + (self.to - self.from) * fraction.clamp(0.0, 1.0);
        self.whole.report(fraction, stage)
    }
}

/// Passes on at most twenty reports a second, for steps faster than any display.
pub struct PacedProgress<'a> {
    whole: &'a dyn Progress,
    begin: Instant,
    /// Time of the last report, ms since `begin`.
    last: AtomicU64,
}

impl<'a> PacedProgress<'a> {
    /// Wraps a progress; the first report comes after a pause.
    pub fn new(whole: &'a dyn Progress) -> Self {
        Self {
            whole,
            begin: Instant::now(),
            last: AtomicU64::new(0),
        }
    }
}

impl Progress for PacedProgress<'_> {
    fn report(&self, fraction: f64, stage: &str) -> bool {
        /// Shortest time between reports, ms.
        const REPORT_INTERVAL_MS: u64 = 50;
        let now = self.begin.elapsed().as_millis() as u64;
        if now < self.last.load(Ordering::Relaxed) + REPORT_INTERVAL_MS {
            return true;
        }
        self.last.store(now, Ordering::Relaxed);
        self.whole.report(fraction, stage)
    }
}

/// Ignores reports and never cancels.
pub struct Silent;

impl Progress for Silent {
    fn report(&self, _: f64, _: &str) -> bool {
        true
    }
}

/// Error: the caller cancelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("cancelled")]
pub struct Cancelled;

/// Reports progress, and turns a cancellation into an error for `?`.
pub fn report_progress(
    progress: &dyn Progress,
    fraction: f64,
    stage: &str,
) -> Result<(), Cancelled> {
    if progress.report(fraction, stage) {
        Ok(())
    } else {
        Err(Cancelled)
    }
}

/// Returns `f` of each of `0..count`, in order, computed in parallel with progress.
///
/// # Errors
/// A stop by the progress.
pub fn map_parallel<T: Send>(
    count: usize,
    (progress, stage): (&dyn Progress, &str),
    f: impl Fn(usize) -> T + Sync,
) -> Result<Vec<T>, Cancelled> {
    let chunk = (count / 64).max(1024);
    let mut all = Vec::with_capacity(count);
    for first in (0..count).step_by(chunk) {
        report_progress(progress, first as f64 / count as f64, stage)?;
        let range = first..(first + chunk).min(count);
        all.par_extend(range.into_par_iter().with_min_len(16).map(&f));
    }
    Ok(all)
}
