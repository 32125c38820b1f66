// SPDX-License-Identifier: MIT OR Apache-2.0
//! The warp on graphics devices, through wgpu: Vulkan, Metal or Direct3D 12. Without the feature `gpu` the list
//! of devices is empty.
//!
//! | file | content |
//! | --- | --- |
//! | `device` | adapters, and a device opened once for all surfaces that use it |
//! | `engine` | one surface on a device: uploads and downloads of a frame, two frames in flight |
//! | `measure` | times of kernels and copies on the device itself |
//! | `upload` | data uploaded once, in chunks |
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

/// Selection of a graphics device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Adapter<'a> {
    /// The best hardware device: discrete, then integrated, then virtual, then others.
    Hardware,
    /// The best device; a software device if there is no other.
    Any,
    /// By its number or a part of its name in [`gpu_adapters`]; software devices included.
    Named(&'a str),
}

/// Returns the names of all usable graphics devices, the best first; software ones are marked. A failing driver
/// yields an empty list.
pub fn gpu_adapters() -> Vec<String> {
    #[cfg(feature = "gpu")]
    return device::adapters().iter().map(|a| a.label.clone()).collect();
    #[cfg(not(feature = "gpu"))]
    Vec::new()
}

/// Returns whether there is a hardware graphics device.
pub(super) fn has_hardware() -> bool {
    #[cfg(feature = "gpu")]
    return device::adapters().iter().any(|a| !a.software);
    #[cfg(not(feature = "gpu"))]
    false
}

/// Opens an engine on a graphics device.
///
/// # Errors
/// [`KernelError::Device`] with the reason.
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
