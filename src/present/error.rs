// SPDX-License-Identifier: MIT OR Apache-2.0
//! Errors of display.

use super::SurfaceId;
use crate::kernel::KernelError;
use crate::progress::Cancelled;

/// An error in displaying a surface.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PresentError {
    /// A surface that the body does not carry.
    #[error("the body carries no surface with id {id}: embed it first")]
    Surface {
        /// The id supplied.
        id: SurfaceId,
    },
    /// Amplitudes for a presenter without modes.
    #[error("amplitudes are shown by the modes they belong to, and there are none here")]
    NoModes,
    /// The caller cancelled.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
    /// A state, a target or an output that does not fit.
    #[error(transparent)]
    Kernel(#[from] KernelError),
}
