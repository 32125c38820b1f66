// SPDX-License-Identifier: MIT OR Apache-2.0
//! Data uploaded to a graphics device once: modes, rest shape and skin, in chunks that its bindings can hold.

use super::super::KernelError;
use super::super::blocks::{HalfRow, ModeValues, ROWS_PER_MODE, SingleRow};
use super::super::model::WarpModel;
use super::super::turn::LANES;
use super::device::{FRAME_TIMEOUT, GpuDevice, device_error};
use crate::kernel::cpu::PackedRow;
use crate::kernel::limit::BoneWeight;
use bytemuck::{Pod, Zeroable, cast_slice};
use wgpu::BufferUsages as Usage;

// SAFETY: sixteen numbers each, no padding, any bits are a value.
unsafe impl Zeroable for SingleRow {}
// SAFETY: as above.
unsafe impl Pod for SingleRow {}
// SAFETY: as above.
unsafe impl Zeroable for HalfRow {}
// SAFETY: as above.
unsafe impl Pod for HalfRow {}
// SAFETY: two numbers of four bytes, no padding.
unsafe impl Zeroable for BoneWeight {}
// SAFETY: as above.
unsafe impl Pod for BoneWeight {}
// SAFETY: `N` numbers of four bytes twice, no padding.
unsafe impl<const N: usize> Zeroable for PackedRow<N> {}
// SAFETY: as above.
unsafe impl<const N: usize> Pod for PackedRow<N> {}

/// Points are split in multiples of this: whole workgroups, whole blocks, aligned bindings.
const RANGE_MULTIPLE: usize = 128;
/// Workgroups of a dispatch that every device allows.
const MAX_WORKGROUPS: usize = 65_535;
/// Largest binding requested, even if a device allows more.
const MAX_BINDING_BYTES: u64 = 1 << 30;
/// Bytes uploaded in one piece; bounds the staging memory.
const UPLOAD_BYTES: usize = 32 << 20;
/// Invocations of a workgroup, as in the kernels.
pub(super) const WORKGROUP_SIZE: usize = 64;

/// Buffers of the surface: rest positions, offsets and pairs of the skin.
pub(super) struct SurfaceBuffers([wgpu::Buffer; 3]);

impl SurfaceBuffers {
    pub(super) fn empty(up: &Upload<'_>) -> Self {
        Self([(); 3].map(|()| up.nothing.clone()))
    }
}

/// Buffers read back from one chunk, for each slot.
pub(super) struct OutputBuffers {
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
            .min(MAX_BINDING_BYTES);
        Self {
            device,
            largest: largest as usize,
            workgroups: MAX_WORKGROUPS.min(most),
            nothing: create_buffer(device, 0, Usage::STORAGE),
        }
    }

    /// Returns ranges of points whose largest buffer, with `bytes` per point, fits a binding.
    pub(super) fn point_ranges(
        &self,
        points: usize,
        bytes: usize,
    ) -> Result<Vec<(usize, usize)>, KernelError> {
        let fits = (self.largest / bytes.max(1)).min(self.workgroups * WORKGROUP_SIZE);
        let size = fits / RANGE_MULTIPLE * RANGE_MULTIPLE;
        if size == 0 {
            let largest = self.largest;
            return Err(device_error(format!(
                "its bindings hold {largest} bytes, too few for {RANGE_MULTIPLE} vertices of {bytes}"
            )));
        }
        let starts = (0..points).step_by(size);
        Ok(starts
            .map(|from| (from, (from + size).min(points)))
            .collect())
    }

    /// Returns the bytes of the mode values of a point.
    pub(super) fn mode_bytes_per_point(&self, model: &WarpModel) -> usize {
        let number = match model.blocks.values {
            ModeValues::F32(_) => 4,
            ModeValues::F16(_) => 2,
        };
        ROWS_PER_MODE * model.modes() * number
    }

    /// Returns the bytes of the longest surface buffer per point.
    pub(super) fn surface_bytes_per_point(&self, model: &WarpModel) -> usize {
        let pairs = |v| model.skin.as_ref().and_then(|s| s.pairs.row(v));
        let longest = (0..model.vertices())
            .filter_map(pairs)
            .map(<[_]>::len)
            .max();
        // Rest positions and results need 12 bytes.
        (longest.unwrap_or(0) * size_of::<BoneWeight>()).max(12)
    }

    /// Returns the kernel of the warp, and the points per invocation.
    pub(super) fn warp_pipeline(&self, model: &WarpModel) -> (wgpu::ComputePipeline, usize) {
        match model.blocks.values {
            ModeValues::F32(_) => (self.device.vertices_f32.clone(), 1),
            ModeValues::F16(_) => (self.device.vertices_f16.clone(), 2),
        }
    }

    /// Uploads the mode values of a range of points.
    pub(super) fn upload_modes(&self, model: &WarpModel, from: usize, to: usize) -> wgpu::Buffer {
        let row = |point: usize| point.div_ceil(LANES) * ROWS_PER_MODE * model.modes();
        let range = row(from)..row(to);
        match &model.blocks.values {
            ModeValues::F32(rows) => self.upload_bytes(cast_slice(&rows[range])),
            ModeValues::F16(rows) => self.upload_bytes(cast_slice(&rows[range])),
        }
    }

    pub(super) fn upload_surface(
        &self,
        model: &WarpModel,
        from: usize,
        to: usize,
    ) -> SurfaceBuffers {
        let rest = self.upload_bytes(cast_slice(&model.rest.points[from..to]));
        let Some(skin) = &model.skin else {
            return SurfaceBuffers([rest, self.nothing.clone(), self.nothing.clone()]);
        };
        let (mut offsets, mut pairs) = (vec![0u32], Vec::<BoneWeight>::new());
        for row in (from..to).filter_map(|v| skin.pairs.row(v)) {
            pairs.extend_from_slice(row);
            offsets.push(pairs.len() as u32);
        }
        let skin = [cast_slice(&offsets), cast_slice(&pairs)].map(|bytes| self.upload_bytes(bytes));
        let [offsets, pairs] = skin;
        SurfaceBuffers([rest, offsets, pairs])
    }

    pub(super) fn upload_settings(&self, numbers: [usize; 4]) -> wgpu::Buffer {
        let to = create_buffer(self.device, 16, Usage::UNIFORM | Usage::COPY_DST);
        let numbers = numbers.map(|n| n as u32);
        self.device.queue.write_buffer(&to, 0, cast_slice(&numbers));
        to
    }

    pub(super) fn create_output(&self, points: usize) -> OutputBuffers {
        let results = || create_buffer(self.device, 12 * points, Usage::STORAGE | Usage::COPY_SRC);
        let staging = || create_buffer(self.device, 12 * points, Usage::MAP_READ | Usage::COPY_DST);
        OutputBuffers {
            results: [results(), results()],
            staging: [staging(), staging()],
        }
    }

    pub(super) fn upload_bytes(&self, bytes: &[u8]) -> wgpu::Buffer {
        let to = create_buffer(self.device, bytes.len(), Usage::STORAGE | Usage::COPY_DST);
        for (i, piece) in bytes.chunks(UPLOAD_BYTES).enumerate() {
            self.device
                .queue
                .write_buffer(&to, (i * UPLOAD_BYTES) as u64, piece);
            if piece.len() == UPLOAD_BYTES {
                self.device.queue.submit([]);
                // Waits for the uploads; the enclosing error scope reports failures.
                let _ = self.device.device.poll(wgpu::PollType::Wait {
                    submission_index: None,
                    timeout: Some(FRAME_TIMEOUT),
                });
            }
        }
        to
    }

    pub(super) fn bind_group(
        &self,
        inputs: [&wgpu::Buffer; 4],
        surface: &SurfaceBuffers,
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
pub(super) fn create_buffer(device: &GpuDevice, bytes: usize, usage: Usage) -> wgpu::Buffer {
    device.device.create_buffer(&wgpu::BufferDescriptor {
        label: None,
        size: bytes.max(64).next_multiple_of(4) as u64,
        usage,
        mapped_at_creation: false,
    })
}
