// SPDX-License-Identifier: MIT OR Apache-2.0
//! Times of kernels and copies on the device itself, without transfers: the time of many in one submission minus
//! that of one, divided by their difference in number. This needs no timer of the device, which not all have.

use super::super::model::WarpInput;
use super::super::{KernelError, WarpEngine};
use super::device::{FRAME_TIMEOUT, GpuDevice, device_error};
use super::engine::GpuWarp;
use super::upload::create_buffer;
use std::sync::PoisonError;
use std::time::Instant;
use wgpu::BufferUsages as Usage;

/// Largest buffer to copy, bytes.
const MAX_COPY_BYTES: u64 = 1 << 30;

impl GpuWarp {
    /// Returns the time of the kernels alone for a frame, s, from submissions of `repeats + 1` and of one.
    ///
    /// # Errors
    /// Errors of a frame.
    pub fn kernel_seconds(&self, frame: &WarpInput<'_>, repeats: u32) -> Result<f64, KernelError> {
        let prepared = self.model().prepare(frame)?;
        let work = self.work.lock().unwrap_or_else(PoisonError::into_inner);
        self.device
            .run_guarded(|| work.upload_frame(&self.device, 0, &prepared))?;
        seconds_per_repeat(&self.device, repeats, |encoder| {
            work.encode_kernels(encoder, 0)
        })
    }

    /// Returns the bandwidth of copies within the device's memory, bytes per second, read and written together.
    ///
    /// # Errors
    /// A device that fails.
    pub fn copy_bandwidth(&self, repeats: u32) -> Result<f64, KernelError> {
        let device = &self.device;
        let size = MAX_COPY_BYTES.min(device.device.limits().max_buffer_size) / 1024 * 1024;
        let [from, to] = device.run_guarded(|| {
            [(); 2]
                .map(|()| create_buffer(device, size as usize, Usage::COPY_SRC | Usage::COPY_DST))
        })?;
        let seconds = seconds_per_repeat(device, repeats, |encoder| {
            encoder.copy_buffer_to_buffer(&from, 0, &to, 0, size);
        })?;
        Ok(2.0 * size as f64 / seconds)
    }
}

/// Returns the time of one repeat, s, from the shorter of two measurements of each.
fn seconds_per_repeat(
    device: &GpuDevice,
    repeats: u32,
    encode: impl Fn(&mut wgpu::CommandEncoder),
) -> Result<f64, KernelError> {
    let run = |count: u32| {
        device.run_guarded(|| {
            let mut encoder = device.device.create_command_encoder(&Default::default());
            (0..count).for_each(|_| encode(&mut encoder));
            let start = Instant::now();
            device.queue.submit([encoder.finish()]);
            let done = device.device.poll(wgpu::PollType::Wait {
                submission_index: None,
                timeout: Some(FRAME_TIMEOUT),
            });
            let seconds = start.elapsed().as_secs_f64();
            done.map(|_| seconds)
                .map_err(|e| device_error(e.to_string()))
        })?
    };
    run(1)?;
    let one = run(1)?.min(run(1)?);
    let many = run(repeats + 1)?.min(run(repeats + 1)?);
    Ok((many - one) / f64::from(repeats))
}
