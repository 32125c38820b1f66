// SPDX-License-Identifier: MIT OR Apache-2.0
//! Settings of a fit of helper bones, checked.

use crate::bake::BakeError;

/// Most influences of a vertex: what engines can read.
pub const MAX_INFLUENCES: usize = 8;

/// Largest number of helpers: a byte indexes as many bones, own ones among them, and many engines store no more. Twice as many
/// take two to three times as long.
pub const MAX_HELPERS: usize = 256;

/// Settings of [`helper_bones`](super::helper_bones).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HelperBonesSettings {
    /// Largest number of helpers, 1 to [`MAX_HELPERS`].
    pub count: usize,
    /// Largest number of bones of a vertex, own ones and helpers, 1 to [`MAX_INFLUENCES`].
    pub influences: usize,
    /// Largest distance, m, of the skin from the plain one in the given poses while helpers rest relative to their parents. With `Some`,
    /// a helper takes weight from its parent alone, and both add up to the weight that the artist gave this bone: with 0, the plain skin
    /// shows in every pose. Above 0, light own bones may leave. `None`: helpers take weight from all own bones.
    pub rest_tolerance: Option<f64>,
}

impl HelperBonesSettings {
    /// Returns whether helpers take weight from their parents alone.
    pub(super) fn plain_at_rest(&self) -> bool {
        self.rest_tolerance.is_some()
    }

    /// Checks the numbers.
    pub(super) fn check(&self) -> Result<(), BakeError> {
        let setting = |what, range, value: usize| {
            let value = value as f64;
            Err(BakeError::Setting { what, range, value })
        };
        if !(1..=MAX_HELPERS).contains(&self.count) {
            let range = "from 1 to 256 (many engines take no more bones)";
            return setting("the number of helper bones", range, self.count);
        }
        if !(1..=MAX_INFLUENCES).contains(&self.influences) {
            let what = "the number of influences of a vertex";
            return setting(what, "from 1 to 8", self.influences);
        }
        if let Some(value) = self
            .rest_tolerance
            .filter(|t| !(*t >= 0.0 && t.is_finite()))
        {
            let (what, range) = ("the tolerance at rest", "at least 0");
            return Err(BakeError::Setting { what, range, value });
        }
        Ok(())
    }
}
