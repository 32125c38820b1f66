// SPDX-License-Identifier: MIT OR Apache-2.0
//! The modal warp of a surface \[choi2003, §3\]: `u_i = R̃(w_i) Φ_i q` with `w_i = Ψ_i q`, for every vertex of
//! every frame.
//!
//! `R̃(w) = 1 + [ŵ]ₓ (1 − cos θ)/θ + [ŵ]ₓ² (1 − sin θ/θ)`, θ = |w|. The output is the displacement u, the rest
//! shape plus u, or `T(x + u)`. T blends the bones' maps by the artist's own skin weights; the distance from the
//! skin T(x) is softly limited on request.
//!
//! The kernel has two forms. *Per vertex*: six numbers per mode are read for every vertex, as in the paper.
//! *Embedded*: the nodes of the body are warped and each vertex follows a few of them, so that the memory
//! read does not depend on the number of modes. Between nodes the forms differ by the bending of the warp inside
//! one cell.
//!
//! | file | content |
//! | --- | --- |
//! | `blocks` | mode values packed for one sequential stream, in f32 or f16 |
//! | `turn` | R̃ on sixteen vertices at once |
//! | `vertex_output` | from a displacement to the output |
//! | `model` | everything about one surface that is constant over frames |
//! | `cpu` | the engines on the processor, one thread or all |
//! | `gpu` | the engine on graphics devices |
//! | `engine_choice` | choice of an engine by measurement |
//! | `deformer` | a model with its chosen engine, and the fallback to the processor |
//!
//! Every engine agrees with the formula in double precision to 1e-5 of the size of the body (f16: to the rounding
//! of the stored modes, 2⁻¹² of each mode's largest value on average). The two on the processor agree with each
//! other bit by bit.

mod blocks;
mod cpu;
mod deformer;
mod engine_choice;
mod gpu;
mod model;
mod turn;
mod vertex_output;

pub use blocks::Precision;
pub use cpu::{CpuWarp, Instructions, Threads};
pub use deformer::Deformer;
pub use engine_choice::{EngineChoice, EngineTiming};
#[cfg(feature = "gpu")]
pub use gpu::GpuWarp;
pub use gpu::{Adapter, gpu_adapters};
pub use model::{BoneMaps, FrameOutput, WarpForm, WarpInput, WarpModel};

use super::KernelError;
use crate::progress::{Progress, Silent};
use std::sync::Arc;

/// An engine that warps one surface.
pub trait WarpEngine: Send + Sync {
    /// Returns the device's name: "CPU, 2 threads", "GPU NAME".
    fn name(&self) -> &str;

    /// Returns the surface.
    fn model(&self) -> &Arc<WarpModel>;

    /// Writes every frame `[frames · vertices · 3]`, metres. The progress is reported between frames.
    ///
    /// # Errors
    /// Amplitudes that are not one finite number per mode or carry the surface out of single precision, bones of
    /// another model, an output of the wrong length, a device that fails, or cancellation.
    fn frames_into(
        &self,
        frames: &[WarpInput<'_>],
        progress: &dyn Progress,
        out: &mut [f32],
    ) -> Result<(), KernelError>;

    /// Writes one frame `[vertices · 3]`, metres.
    ///
    /// # Errors
    /// Errors of [`frames_into`](Self::frames_into).
    fn frame_into(&self, frame: WarpInput<'_>, out: &mut [f32]) -> Result<(), KernelError> {
        self.frames_into(&[frame], &Silent, out)
    }

    /// Writes displacements `[vertices · 3]` in rest space, metres, for one amplitude per mode.
    ///
    /// # Errors
    /// Errors of [`frames_into`](Self::frames_into).
    fn displacements_into(&self, amplitudes: &[f64], out: &mut [f32]) -> Result<(), KernelError> {
        self.frame_into(WarpInput::new(amplitudes, FrameOutput::Displacements), out)
    }

    /// Writes world positions `[vertices · 3]`, metres; at rest without bones.
    ///
    /// # Errors
    /// Errors of [`frames_into`](Self::frames_into).
    fn positions_into(
        &self,
        amplitudes: &[f64],
        bones: Option<&BoneMaps>,
        out: &mut [f32],
    ) -> Result<(), KernelError> {
        self.frame_into(
            WarpInput::new(amplitudes, FrameOutput::positions(bones)),
            out,
        )
    }
}
