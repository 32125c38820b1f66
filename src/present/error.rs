// SPDX-License-Identifier: MIT OR Apache-2.0
//! What can go wrong when something is shown.

use super::SurfaceId;
use crate::kernel::KernelError;
use crate::progress::Cancelled;

/// Why nothing can be shown.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PresentError {
    /// A surface that the body does not carry.
    #[error("the body carries no surface with id {id}: embed it first")]
    Surface {
        /// The id asked for.
        id: SurfaceId,
    },
    /// Amplitudes where nothing shows modes.
    #[error("amplitudes are shown by the modes they belong to, and there are none here")]
    NoModes,
    /// The caller stopped.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
    /// A state, a target or an output that does not fit.
    #[error(transparent)]
    Kernel(#[from] KernelError),
}
