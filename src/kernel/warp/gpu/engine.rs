// SPDX-License-Identifier: MIT OR Apache-2.0
//! One surface on a graphics device.
//!
//! Modes, rows, rest shape and skin are uploaded once and stay. A frame uploads only amplitudes and bones' maps, and
//! downloads results. A surface is split into chunks, so that no binding exceeds the device's limit. Everything that
//! changes exists twice (a slot): while the results of one frame are read, the next one is computed.

use super::super::model::{PreparedFrame, WarpInput, WarpModel};
use super::super::{KernelError, WarpEngine};
use super::Adapter;
use super::device::{FRAME_TIMEOUT, GpuDevice, device_error};
use super::upload::{OutputBuffers, SurfaceBuffers, Upload, WORKGROUP_SIZE, create_buffer};
use crate::kernel::cpu::PackedRows;
use crate::kernel::limit::MapColumns;
use crate::progress::{Progress, report_progress};
use bytemuck::{cast_slice, cast_slice_mut};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use wgpu::BufferUsages as Usage;

/// Bytes of a frame's data before its amplitudes, as in the kernels.
const HEADER_BYTES: usize = 72;

/// A surface warped on a graphics device.
pub struct GpuWarp {
    pub(super) device: Arc<GpuDevice>,
    model: Arc<WarpModel>,
    name: String,
    pub(super) work: Mutex<GpuWork>,
}

/// Kernels and buffers on the device.
pub(super) struct GpuWork {
    /// Kernels that warp nodes, for the embedded form only; they run first.
    nodes: Vec<Dispatch>,
    surface: Vec<Dispatch>,
    outputs: Vec<OutputBuffers>,
    slots: [FrameSlot; 2],
    /// Reason of a failure, after which no frame runs.
    broken: Option<String>,
}

/// One kernel on one chunk, with bindings for each slot.
struct Dispatch {
    pipeline: wgpu::ComputePipeline,
    groups: [wgpu::BindGroup; 2],
    workgroups: u32,
}

/// Buffers uploaded for a frame.
struct FrameSlot {
    frame: wgpu::Buffer,
    bones: wgpu::Buffer,
}

/// A frame in flight.
struct PendingFrame {
    slot: usize,
    index: wgpu::SubmissionIndex,
    /// Receives, for each output, whether it can be read.
    mapped: Receiver<bool>,
}

impl GpuWarp {
    /// Uploads a surface to a device, which is shared with other surfaces.
    ///
    /// # Errors
    /// [`KernelError::Device`]: no such adapter, too little memory, or limits too small for the surface.
    pub fn new(model: Arc<WarpModel>, adapter: Adapter<'_>) -> Result<Self, KernelError> {
        Self::with_limit(model, adapter, u64::MAX)
    }

    /// Acts as [`new`](Self::new), with bindings of at most `largest` bytes even if the device allows more.
    ///
    /// # Errors
    /// Errors of [`new`](Self::new).
    pub fn with_limit(
        model: Arc<WarpModel>,
        adapter: Adapter<'_>,
        largest: u64,
    ) -> Result<Self, KernelError> {
        Self::on_device(GpuDevice::open_shared(adapter)?, model, largest)
    }

    pub(super) fn on_device(
        device: Arc<GpuDevice>,
        model: Arc<WarpModel>,
        largest: u64,
    ) -> Result<Self, KernelError> {
        let work = device.run_guarded(|| GpuWork::new(&device, &model, largest))??;
        Ok(Self {
            name: format!("GPU {}", device.label),
            device,
            model,
            work: Mutex::new(work),
        })
    }

    fn run_frames(
        &self,
        work: &mut GpuWork,
        frames: &[PreparedFrame<'_>],
        progress: &dyn Progress,
        out: &mut [f32],
    ) -> Result<(), KernelError> {
        let size = 3 * self.model.vertices();
        let mut outputs = out.chunks_exact_mut(size.max(1));
        let mut under_way: Option<PendingFrame> = None;
        for (i, frame) in frames.iter().enumerate() {
            if let Err(cancel) =
                report_progress(progress, i as f64 / frames.len() as f64, "deforming")
            {
                if let Some(sent) = under_way.take() {
                    self.device
                        .run_guarded(|| work.fetch(&self.device, &sent, None))??;
                }
                return Err(cancel.into());
            }
            let sent = self
                .device
                .run_guarded(|| work.send(&self.device, i % 2, frame))?;
            if let Some(before) = under_way.replace(sent) {
                let out = outputs.next();
                self.device
                    .run_guarded(|| work.fetch(&self.device, &before, out))??;
            }
        }
        if let Some(last) = under_way {
            let out = outputs.next();
            self.device
                .run_guarded(|| work.fetch(&self.device, &last, out))??;
        }
        Ok(())
    }
}

impl WarpEngine for GpuWarp {
    fn name(&self) -> &str {
        &self.name
    }

    fn model(&self) -> &Arc<WarpModel> {
        &self.model
    }

    fn frames_into(
        &self,
        frames: &[WarpInput<'_>],
        progress: &dyn Progress,
        out: &mut [f32],
    ) -> Result<(), KernelError> {
        let prepared = self.model.prepare_all(frames, out.len())?;
        if out.is_empty() {
            return Ok(());
        }
        let mut work = self.work.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(reason) = &work.broken {
            return Err(device_error(reason.clone()));
        }
        let done = match frames.iter().any(|frame| frame.target.adds_results()) {
            false => self.run_frames(&mut work, &prepared, progress, out),
            // Added only once complete: a device that fails halfway leaves the sums unchanged.
            true => {
                let mut fresh = vec![0.0; out.len()];
                let done = self.run_frames(&mut work, &prepared, progress, &mut fresh);
                if done.is_ok() {
                    let size = out.len() / frames.len();
                    let each = out.chunks_exact_mut(size).zip(fresh.chunks_exact(size));
                    for (frame, (out, fresh)) in frames.iter().zip(each) {
                        match frame.target.adds_results() {
                            true => out.iter_mut().zip(fresh).for_each(|(out, x)| *out += x),
                            false => out.copy_from_slice(fresh),
                        }
                    }
                }
                done
            }
        };
        if let Err(KernelError::Device { reason }) = &done {
            // Buffers may be left mapped, so the device is not used again.
            work.broken = Some(reason.clone());
            self.device.give_up(reason);
        }
        done
    }
}

impl GpuWork {
    fn new(device: &GpuDevice, model: &WarpModel, largest: u64) -> Result<Self, KernelError> {
        let up = Upload::new(device, largest);
        let bones = model.bones().map_or(1, |b| b + 1);
        let slots = [(); 2].map(|()| FrameSlot {
            frame: create_buffer(
                device,
                HEADER_BYTES + 8 * model.modes(),
                Usage::STORAGE | Usage::COPY_DST,
            ),
            bones: create_buffer(
                device,
                size_of::<MapColumns>() * bones,
                Usage::STORAGE | Usage::COPY_DST,
            ),
        });
        let mut work = Self {
            nodes: Vec::new(),
            surface: Vec::new(),
            outputs: Vec::new(),
            slots,
            broken: None,
        };
        match &model.rows {
            None => work.prepare_vertices(&up, model)?,
            Some(rows) => work.prepare_embedded(&up, model, rows)?,
        }
        device.queue.submit([]);
        Ok(work)
    }

    /// Prepares the per-vertex form.
    fn prepare_vertices(&mut self, up: &Upload<'_>, model: &WarpModel) -> Result<(), KernelError> {
        let per_point = up
            .mode_bytes_per_point(model)
            .max(up.surface_bytes_per_point(model));
        for (from, to) in up.point_ranges(model.vertices(), per_point)? {
            let (pipeline, at_once) = up.warp_pipeline(model);
            let modes = up.upload_modes(model, from, to);
            let settings = up.upload_settings([to - from, model.modes(), 0, 3]);
            let surface = up.upload_surface(model, from, to);
            let output = up.create_output(to - from);
            let groups = [0, 1].map(|slot| {
                let slot_of = &self.slots[slot];
                let inputs = [&settings, &slot_of.frame, &modes, &up.nothing];
                up.bind_group(
                    inputs,
                    &surface,
                    &slot_of.bones,
                    output.results[slot].as_entire_binding(),
                )
            });
            self.surface.push(Dispatch {
                pipeline,
                groups,
                workgroups: (to - from).div_ceil(WORKGROUP_SIZE * at_once) as u32,
            });
            self.outputs.push(output);
        }
        Ok(())
    }

    /// Prepares the embedded form: nodes, then the surface.
    fn prepare_embedded(
        &mut self,
        up: &Upload<'_>,
        model: &WarpModel,
        rows: &PackedRows,
    ) -> Result<(), KernelError> {
        let (count, wide) = (model.blocks.points, 4 * size_of::<f32>());
        let cuts = up.point_ranges(count, up.mode_bytes_per_point(model))?;
        if count * wide > up.largest {
            return Err(device_error(format!(
                "{count} nodes are too many for one binding"
            )));
        }
        let moved = [(); 2].map(|()| create_buffer(up.device, count * wide, Usage::STORAGE));
        let none = SurfaceBuffers::empty(up);
        for (from, to) in cuts {
            let (pipeline, at_once) = up.warp_pipeline(model);
            let modes = up.upload_modes(model, from, to);
            let settings = up.upload_settings([to - from, model.modes(), 0, 4]);
            let groups = [0, 1].map(|slot| {
                let inputs = [&settings, &self.slots[slot].frame, &modes, &up.nothing];
                let part = wgpu::BindingResource::Buffer(wgpu::BufferBinding {
                    buffer: &moved[slot],
                    offset: (from * wide) as u64,
                    size: wgpu::BufferSize::new(((to - from) * wide) as u64),
                });
                up.bind_group(inputs, &none, &up.nothing, part)
            });
            self.nodes.push(Dispatch {
                pipeline,
                groups,
                workgroups: (to - from).div_ceil(WORKGROUP_SIZE * at_once) as u32,
            });
        }
        let padded;
        let (corners, all): (usize, &[u8]) = match rows {
            PackedRows::Four(rows) => (4, cast_slice(rows)),
            PackedRows::Eight(rows) => (8, cast_slice(rows)),
            PackedRows::Long(rows) => {
                padded = rows.pad_rows();
                (padded.0, cast_slice(&padded.1))
            }
        };
        for (from, to) in up.point_ranges(
            rows.len(),
            up.surface_bytes_per_point(model).max(8 * corners),
        )? {
            let rows = up.upload_bytes(&all[8 * corners * from..8 * corners * to]);
            let settings = up.upload_settings([to - from, model.modes(), corners, 3]);
            let surface = up.upload_surface(model, from, to);
            let output = up.create_output(to - from);
            let groups = [0, 1].map(|slot| {
                let slot_of = &self.slots[slot];
                let inputs = [&settings, &slot_of.frame, &moved[slot], &rows];
                up.bind_group(
                    inputs,
                    &surface,
                    &slot_of.bones,
                    output.results[slot].as_entire_binding(),
                )
            });
            self.surface.push(Dispatch {
                pipeline: up.device.embedded.clone(),
                groups,
                workgroups: (to - from).div_ceil(WORKGROUP_SIZE) as u32,
            });
            self.outputs.push(output);
        }
        Ok(())
    }

    /// Uploads the data of a frame.
    pub(super) fn upload_frame(&self, device: &GpuDevice, slot: usize, frame: &PreparedFrame<'_>) {
        let (maps, limit) = frame.finish.maps_and_limit();
        let limit = if limit.is_finite() { limit } else { -1.0 };
        let mut columns = frame.writing.columns();
        columns[3][3] = limit;
        let code = [f32::from_bits(frame.finish.output_code()), 0.0];
        let head: [&[u8]; 2] = [cast_slice(&columns), cast_slice(&code)];
        let slot = &self.slots[slot];
        let bytes = [head[0], head[1], cast_slice(&frame.amplitudes)].concat();
        device.queue.write_buffer(&slot.frame, 0, &bytes);
        if !maps.is_empty() {
            device.queue.write_buffer(&slot.bones, 0, cast_slice(maps));
        }
    }

    /// Encodes every kernel once.
    pub(super) fn encode_kernels(&self, encoder: &mut wgpu::CommandEncoder, slot: usize) {
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
        for dispatch in self.nodes.iter().chain(&self.surface) {
            pass.set_pipeline(&dispatch.pipeline);
            pass.set_bind_group(0, &dispatch.groups[slot], &[]);
            pass.dispatch_workgroups(dispatch.workgroups, 1, 1);
        }
    }

    /// Uploads a frame and submits its kernels; the results arrive later.
    fn send(&self, device: &GpuDevice, slot: usize, frame: &PreparedFrame<'_>) -> PendingFrame {
        self.upload_frame(device, slot, frame);
        let mut encoder = device.device.create_command_encoder(&Default::default());
        self.encode_kernels(&mut encoder, slot);
        for output in &self.outputs {
            let (from, to) = (&output.results[slot], &output.staging[slot]);
            encoder.copy_buffer_to_buffer(from, 0, to, 0, from.size());
        }
        let index = device.queue.submit([encoder.finish()]);
        let (sender, mapped) = channel();
        for output in &self.outputs {
            let sender = sender.clone();
            let on_mapped = move |done: Result<(), _>| {
                let _ = sender.send(done.is_ok()); // nobody listens once the wait was given up
            };
            output.staging[slot].map_async(wgpu::MapMode::Read, .., on_mapped);
        }
        PendingFrame {
            slot,
            index,
            mapped,
        }
    }

    /// Waits for a frame and copies its results to `out`, or discards them.
    fn fetch(
        &self,
        device: &GpuDevice,
        sent: &PendingFrame,
        out: Option<&mut [f32]>,
    ) -> Result<(), KernelError> {
        let waiting = wgpu::PollType::Wait {
            submission_index: Some(sent.index.clone()),
            timeout: Some(FRAME_TIMEOUT),
        };
        device
            .device
            .poll(waiting)
            .map_err(|e| device_error(e.to_string()))?;
        // Another thread that polls the device may have received the results and be about to pass them on.
        let mut answers = self
            .outputs
            .iter()
            .map(|_| sent.mapped.recv_timeout(FRAME_TIMEOUT));
        if !answers.all(|answer| answer == Ok(true)) {
            return Err(device_error("its results could not be read"));
        }
        let mut rest: &mut [u8] = match out {
            Some(out) => cast_slice_mut(out),
            None => &mut [],
        };
        for output in &self.outputs {
            let staging = &output.staging[sent.slot];
            let view = staging.slice(..).get_mapped_range();
            let view = view.map_err(|e| device_error(e.to_string()))?;
            let (here, after) = rest.split_at_mut(view.len().min(rest.len()));
            here.copy_from_slice(&view[..here.len()]);
            rest = after;
            drop(view);
            staging.unmap();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::{Deformer, FrameOutput, Precision};
    use super::*;
    use crate::Vec3;

    /// If the device is lost in use, the processor replaces it with one warning.
    #[test]
    fn lost_device_falls_back_once() {
        let Ok(device) = GpuDevice::open_exclusive(Adapter::Any) else {
            let required = std::env::var_os("THEW_REQUIRE_GPU").is_some();
            assert!(!required, "THEW_REQUIRE_GPU is set, but there is no device");
            return;
        };
        let modes = vec![vec![Vec3::new(0.5, -0.25, 1.0); 40]; 3];
        let rest = vec![Vec3::new(1.0, 2.0, 3.0); 40];
        let model = WarpModel::per_vertex(&modes, &modes, None, &rest, None, Precision::F32);
        let model = Arc::new(model.expect("a good model"));
        let engine =
            GpuWarp::on_device(device.clone(), model, u64::MAX).expect("takes the surface");
        let deformer = Deformer::with_engine(Arc::new(engine));
        let q = [0.3, -0.1, 0.2];
        let frame = || {
            let mut out = vec![f32::NAN; 120];
            let done = deformer.frame_into(WarpInput::new(&q, FrameOutput::Rest), &mut out);
            done.expect("shown all the same");
            out
        };
        let before = frame();
        assert!(deformer.engine().starts_with("GPU") && deformer.warnings().is_empty());

        device.device.destroy();
        for _ in 0..3 {
            let apart = before.iter().zip(frame()).map(|(a, b)| (a - b).abs());
            assert!(apart.fold(0.0, f32::max) < 1e-6);
        }
        assert!(
            deformer.engine().starts_with("CPU"),
            "{}",
            deformer.report()
        );
        assert_eq!(deformer.warnings().len(), 1, "{}", deformer.report());
        assert!(device.loss_reason().is_some());
    }
}
