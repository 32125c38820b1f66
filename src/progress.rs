//! Progress and cancel: one hook for Blender's bar, the command line and the cancel key.

/// Told how far a long computation has come; answers whether to go on.
///
/// Implemented for closures, so `&|fraction: f64, stage: &str| true` is a progress.
pub trait Progress: Sync {
    /// `fraction` runs from 0 to 1 over the whole call; `stage` is a short phrase for people.
    /// Returns false to cancel.
    fn report(&self, fraction: f64, stage: &str) -> bool;
}

impl<F: Fn(f64, &str) -> bool + Sync> Progress for F {
    fn report(&self, fraction: f64, stage: &str) -> bool {
        self(fraction, stage)
    }
}

/// A stage of something longer: what it reports from 0 to 1 is told on as a share of the whole.
pub struct Part<'a> {
    /// The progress of the whole.
    pub whole: &'a dyn Progress,
    /// Where in the whole the stage begins.
    pub from: f64,
    /// Where it ends.
    pub to: f64,
}

impl Progress for Part<'_> {
    fn report(&self, fraction: f64, stage: &str) -> bool {
        let fraction = self.from + (self.to - self.from) * fraction.clamp(0.0, 1.0);
        self.whole.report(fraction, stage)
    }
}

/// Reports to nobody and never cancels.
pub struct Silent;

impl Progress for Silent {
    fn report(&self, _: f64, _: &str) -> bool {
        true
    }
}

/// The caller asked to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("cancelled")]
pub struct Cancelled;

/// Reports, and turns a "stop" into an error that `?` carries out.
pub fn step(progress: &dyn Progress, fraction: f64, stage: &str) -> Result<(), Cancelled> {
    if progress.report(fraction, stage) {
        Ok(())
    } else {
        Err(Cancelled)
    }
}
