// SPDX-License-Identifier: MIT OR Apache-2.0
//! The warp on graphics devices, through wgpu: Vulkan, Metal or Direct3D 12. Without the feature `gpu` there are
//! none.
//!
//! | file | what |
//! | --- | --- |
//! | `device` | adapters, and a device opened once for all surfaces that use it |
//! | `engine` | one surface on a device: what is uploaded and read back in a frame, two of them in flight |
//! | `measure` | what the kernels and copies take on the device itself |
//! | `upload` | what is uploaded once, in chunks |
//! | `warp.wgsl` | the kernels |

#[cfg(feature = "gpu")]
mod device;
#[cfg(feature = "gpu")]
mod engine;
#[cfg(feature = "gpu")]
mod measure;
#[cfg(feature = "gpu")]
mod upload;

#[cfg(feature = "gpu")]
pub use engine::GpuWarp;

use super::{KernelError, WarpEngine, WarpModel};
use std::sync::Arc;

/// Which graphics device is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Adapter<'a> {
    /// The best one that is hardware: discrete, then integrated, then virtual, then others.
    Hardware,
    /// The best one, software where there is nothing else.
    Any,
    /// By its number or a part of its name in [`gpu_adapters`]; also software.
    Named(&'a str),
}

/// Names of all graphics devices that could be used, the best first; software ones say so. A failing driver has
/// none.
pub fn gpu_adapters() -> Vec<String> {
    #[cfg(feature = "gpu")]
    return device::adapters().iter().map(|a| a.label.clone()).collect();
    #[cfg(not(feature = "gpu"))]
    Vec::new()
}

/// Whether there is a graphics device that is hardware.
pub(super) fn hardware() -> bool {
    #[cfg(feature = "gpu")]
    return device::adapters().iter().any(|a| !a.software);
    #[cfg(not(feature = "gpu"))]
    false
}

/// An engine on a graphics device.
///
/// # Errors
/// [`KernelError::Device`], with what was wrong.
pub(super) fn open(
    model: &Arc<WarpModel>,
    adapter: Adapter<'_>,
) -> Result<Arc<dyn WarpEngine>, KernelError> {
    #[cfg(feature = "gpu")]
    return Ok(Arc::new(GpuWarp::new(model.clone(), adapter)?));
    #[cfg(not(feature = "gpu"))]
    {
        let _ = (model, adapter);
        Err(KernelError::Device {
            reason: "this build has no engine for graphics devices".into(),
        })
    }
}
