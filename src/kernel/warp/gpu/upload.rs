// SPDX-License-Identifier: MIT OR Apache-2.0
//! Data uploaded to a graphics device once: modes, rest shape and skin, in chunks that its bindings can hold.

use super::super::KernelError;
use super::super::blocks::{Half, ROWS, Single, Values};
use super::super::model::WarpModel;
use super::super::turn::LANES;
use super::device::{GpuDevice, PATIENCE, failed};
use crate::kernel::cpu::Row;
use crate::kernel::limit::Pair;
use bytemuck::{Pod, Zeroable, cast_slice};
use wgpu::BufferUsages as Usage;

// SAFETY: sixteen numbers each, no padding, any bits are a value.
unsafe impl Zeroable for Single {}
// SAFETY: as above.
unsafe impl Pod for Single {}
// SAFETY: as above.
unsafe impl Zeroable for Half {}
// SAFETY: as above.
unsafe impl Pod for Half {}
// SAFETY: two numbers of four bytes, no padding.
unsafe impl Zeroable for Pair {}
// SAFETY: as above.
unsafe impl Pod for Pair {}
// SAFETY: `N` numbers of four bytes twice, no padding.
unsafe impl<const N: usize> Zeroable for Row<N> {}
// SAFETY: as above.
unsafe impl<const N: usize> Pod for Row<N> {}

/// Points are split in multiples of this: whole workgroups, whole blocks, aligned bindings.
const CUT: usize = 128;
/// Workgroups of a dispatch that every device allows.
const WORKGROUPS: usize = 65_535;
/// Largest binding requested, even if a device allows more.
const LARGEST: u64 = 1 << 30;
/// Bytes uploaded in one piece; bounds the staging memory.
const PIECE: usize = 32 << 20;
/// Invocations of a workgroup, as in the kernels.
pub(super) const WORKGROUP: usize = 64;

/// Buffers of the surface: rest positions, offsets and pairs of the skin.
pub(super) struct Surface([wgpu::Buffer; 3]);

impl Surface {
    pub(super) fn none(up: &Upload<'_>) -> Self {
        Self([(); 3].map(|()| up.nothing.clone()))
    }
}

/// Buffers read back from one chunk, for each slot.
pub(super) struct Output {
    pub results: [wgpu::Buffer; 2],
    pub staging: [wgpu::Buffer; 2],
}

/// Uploads buffers to the device.
pub(super) struct Upload<'a> {
    pub device: &'a GpuDevice,
    /// Largest size of a binding, bytes.
    pub largest: usize,
    /// Largest number of workgroups of a dispatch.
    workgroups: usize,
    /// Placeholder for bindings that a kernel does not use.
    pub nothing: wgpu::Buffer,
}

impl<'a> Upload<'a> {
    /// Prepares uploads to a device, with bindings of at most `largest` bytes.
    pub(super) fn new(device: &'a GpuDevice, largest: u64) -> Self {
        let limits = device.device.limits();
        let most = limits.max_compute_workgroups_per_dimension as usize;
        let largest = largest
            .min(limits.max_storage_buffer_binding_size)
            .min(limits.max_buffer_size)
            .min(LARGEST);
        Self {
            device,
            largest: largest as usize,
            workgroups: WORKGROUPS.min(most),
            nothing: buffer(device, 0, Usage::STORAGE),
        }
    }

    /// Returns ranges of points whose largest buffer, with `bytes` per point, fits a binding.
    pub(super) fn cuts(
        &self,
        points: usize,
        bytes: usize,
    ) -> Result<Vec<(usize, usize)>, KernelError> {
        let fits = (self.largest / bytes.max(1)).min(self.workgroups * WORKGROUP);
        let size = fits / CUT * CUT;
        if size == 0 {
            let largest = self.largest;
            return Err(failed(format!(
                "its bindings hold {largest} bytes, too few for {CUT} vertices of {bytes}"
            )));
        }
        let starts = (0..points).step_by(size);
        Ok(starts
            .map(|from| (from, (from + size).min(points)))
            .collect())
    }

    pub(super) fn modes_of_a_point(&self, model: &WarpModel) -> usize {
        let number = match model.blocks.values {
            Values::F32(_) => 4,
            Values::F16(_) => 2,
        };
        ROWS * model.modes() * number
    }

    pub(super) fn surface_of_a_point(&self, model: &WarpModel) -> usize {
        let pairs = |v| model.skin.as_ref().and_then(|s| s.pairs.row(v));
        let longest = (0..model.vertices())
            .filter_map(pairs)
            .map(<[_]>::len)
            .max();
        // Rest positions and results need 12 bytes.
        (longest.unwrap_or(0) * size_of::<Pair>()).max(12)
    }

    /// Returns the kernel of the warp, and the points per invocation.
    pub(super) fn warp(&self, model: &WarpModel) -> (wgpu::ComputePipeline, usize) {
        match model.blocks.values {
            Values::F32(_) => (self.device.vertices_f32.clone(), 1),
            Values::F16(_) => (self.device.vertices_f16.clone(), 2),
        }
    }

    pub(super) fn modes(&self, model: &WarpModel, from: usize, to: usize) -> wgpu::Buffer {
        let row = |point: usize| point.div_ceil(LANES) * ROWS * model.modes();
        let range = row(from)..row(to);
        match &model.blocks.values {
            Values::F32(rows) => self.buffer(cast_slice(&rows[range])),
            Values::F16(rows) => self.buffer(cast_slice(&rows[range])),
        }
    }

    pub(super) fn surface(&self, model: &WarpModel, from: usize, to: usize) -> Surface {
        let rest = self.buffer(cast_slice(&model.rest.points[from..to]));
        let Some(skin) = &model.skin else {
            return Surface([rest, self.nothing.clone(), self.nothing.clone()]);
        };
        let (mut offsets, mut pairs) = (vec![0u32], Vec::<Pair>::new());
        for row in (from..to).filter_map(|v| skin.pairs.row(v)) {
            pairs.extend_from_slice(row);
            offsets.push(pairs.len() as u32);
        }
        let skin = [cast_slice(&offsets), cast_slice(&pairs)].map(|bytes| self.buffer(bytes));
        let [offsets, pairs] = skin;
        Surface([rest, offsets, pairs])
    }

    pub(super) fn settings(&self, numbers: [usize; 4]) -> wgpu::Buffer {
        let to = buffer(self.device, 16, Usage::UNIFORM | Usage::COPY_DST);
        let numbers = numbers.map(|n| n as u32);
        self.device.queue.write_buffer(&to, 0, cast_slice(&numbers));
        to
    }

    pub(super) fn output(&self, points: usize) -> Output {
        let results = || buffer(self.device, 12 * points, Usage::STORAGE | Usage::COPY_SRC);
        let staging = || buffer(self.device, 12 * points, Usage::MAP_READ | Usage::COPY_DST);
        Output {
            results: [results(), results()],
            staging: [staging(), staging()],
        }
    }

    pub(super) fn buffer(&self, bytes: &[u8]) -> wgpu::Buffer {
        let to = buffer(self.device, bytes.len(), Usage::STORAGE | Usage::COPY_DST);
        for (i, piece) in bytes.chunks(PIECE).enumerate() {
            self.device
                .queue
                .write_buffer(&to, (i * PIECE) as u64, piece);
            if piece.len() == PIECE {
                self.device.queue.submit([]);
                // Waits for the uploads; the enclosing error scope reports failures.
                let _ = self.device.device.poll(wgpu::PollType::Wait {
                    submission_index: None,
                    timeout: Some(PATIENCE),
                });
            }
        }
        to
    }

    pub(super) fn group(
        &self,
        inputs: [&wgpu::Buffer; 4],
        surface: &Surface,
        bones: &wgpu::Buffer,
        results: wgpu::BindingResource<'_>,
    ) -> wgpu::BindGroup {
        let buffers = inputs.into_iter().chain(&surface.0).chain([bones]);
        let resources = buffers
            .map(wgpu::Buffer::as_entire_binding)
            .chain([results]);
        let entries: Vec<wgpu::BindGroupEntry<'_>> = (0..)
            .zip(resources)
            .map(|(binding, resource)| wgpu::BindGroupEntry { binding, resource })
            .collect();
        self.device
            .device
            .create_bind_group(&wgpu::BindGroupDescriptor {
                label: None,
                layout: &self.device.layout,
                entries: &entries,
            })
    }
}

/// Creates a buffer of at least `bytes` bytes; never an empty one, which could not be bound.
pub(super) fn buffer(device: &GpuDevice, bytes: usize, usage: Usage) -> wgpu::Buffer {
    device.device.create_buffer(&wgpu::BufferDescriptor {
        label: None,
        size: bytes.max(64).next_multiple_of(4) as u64,
        usage,
        mapped_at_creation: false,
    })
}
