// SPDX-License-Identifier: MIT OR Apache-2.0
//! Graphics devices: enumeration and opening.
//!
//! Drivers are foreign code, so each call goes through [`GpuDevice::run_guarded`], which prints nothing. It turns every
//! failure into one error: an error scope, a lost device, or a panic within wgpu, which is how wgpu reports a device
//! lost while it waits.

use super::super::KernelError;
use super::Adapter;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process;
use std::sync::{Arc, Mutex, Once, OnceLock, PoisonError, Weak};
use std::time::Duration;
use wgpu::DeviceType;

/// Longest time of a frame; beyond, the device counts as lost.
pub(super) const FRAME_TIMEOUT: Duration = Duration::from_secs(60);

/// Bindings of every kernel: one uniform, seven read, one written.
const BINDING_COUNT: u32 = 9;

/// An enumerated adapter.
#[derive(Clone)]
pub(super) struct AdapterEntry {
    pub label: String,
    pub software: bool,
    adapter: wgpu::Adapter,
}

/// Returns all adapters, the best first. They are enumerated once: drivers take their time, and some write to the
/// terminal.
pub(super) fn adapters() -> &'static [AdapterEntry] {
    static ADAPTERS: OnceLock<(u32, Vec<AdapterEntry>)> = OnceLock::new();
    // Loading drivers runs foreign code, some of which is known to panic inside wgpu; the list is then empty.
    let found = || (process::id(), catch_panic(enumerate).unwrap_or_default());
    match ADAPTERS.get_or_init(found) {
        (process, all) if *process == process::id() => all,
        // Drivers do not survive a fork.
        _ => &[],
    }
}

fn enumerate() -> Vec<AdapterEntry> {
    let backends = wgpu::Backends::VULKAN | wgpu::Backends::METAL | wgpu::Backends::DX12;
    let mut wanted = wgpu::InstanceDescriptor::new_without_display_handle();
    wanted.backends = backends;
    wanted.flags = wgpu::InstanceFlags::empty();
    let instance = wgpu::Instance::new(wanted);
    let mut found: Vec<(u8, AdapterEntry)> = Vec::new();
    for adapter in pollster::block_on(instance.enumerate_adapters(backends)) {
        let info = adapter.get_info();
        let rank = match info.device_type {
            DeviceType::DiscreteGpu => 0,
            DeviceType::IntegratedGpu => 1,
            DeviceType::VirtualGpu => 2,
            DeviceType::Other => 3,
            DeviceType::Cpu => 4,
        };
        let software = info.device_type == DeviceType::Cpu;
        let kind = if software { ", software" } else { "" };
        let label = format!("{} ({:?}{kind})", info.name.trim(), info.backend);
        let like = |f: &&(u8, AdapterEntry)| f.1.label.starts_with(&label);
        let label = match found.iter().filter(like).count() {
            0 => label,
            n => format!("{label} #{}", n + 1),
        };
        let one = AdapterEntry {
            label,
            software,
            adapter,
        };
        found.push((rank, one));
    }
    // The sort is stable: equals keep the driver's order.
    found.sort_by_key(|f| f.0);
    found.into_iter().map(|f| f.1).collect()
}

/// A device with the kernels compiled.
pub(super) struct GpuDevice {
    pub device: wgpu::Device,
    pub queue: wgpu::Queue,
    pub label: String,
    pub layout: wgpu::BindGroupLayout,
    pub vertices_f32: wgpu::ComputePipeline,
    pub vertices_f16: wgpu::ComputePipeline,
    pub embedded: wgpu::ComputePipeline,
    lost: Arc<Mutex<Option<String>>>,
    /// Process that opened the device.
    process: u32,
}

impl GpuDevice {
    /// Returns a device, shared by all surfaces that use it.
    ///
    /// # Errors
    /// No such adapter, or a failing one.
    pub(super) fn open_shared(which: Adapter<'_>) -> Result<Arc<Self>, KernelError> {
        static OPEN_DEVICES: Mutex<Vec<Weak<GpuDevice>>> = Mutex::new(Vec::new());
        let found = find_adapter(which)?;
        let mut open = OPEN_DEVICES.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|device| {
            device
                .upgrade()
                .is_some_and(|c| c.loss_reason().is_none() && c.process == process::id())
        });
        let same = |device: &Arc<GpuDevice>| device.label == found.label;
        if let Some(device) = open.iter().filter_map(Weak::upgrade).find(same) {
            return Ok(device);
        }
        let device = Arc::new(Self::open(found)?);
        open.push(Arc::downgrade(&device));
        Ok(device)
    }

    /// Opens a device without sharing it.
    #[cfg(test)]
    pub(super) fn open_exclusive(which: Adapter<'_>) -> Result<Arc<Self>, KernelError> {
        Ok(Arc::new(Self::open(find_adapter(which)?)?))
    }

    fn open(found: AdapterEntry) -> Result<Self, KernelError> {
        let limits = found.adapter.limits();
        if limits.max_storage_buffers_per_shader_stage < BINDING_COUNT - 1
            || limits.max_compute_invocations_per_workgroup < 64
        {
            return Err(device_error("its limits are too small for the kernels"));
        }
        let wanted = wgpu::DeviceDescriptor {
            label: Some("thew"),
            required_limits: limits,
            ..Default::default()
        };
        let (device, queue) =
            catch_panic(|| pollster::block_on(found.adapter.request_device(&wanted)))?
                .map_err(|e| device_error(e.to_string()))?;
        let lost = Arc::new(Mutex::new(None));
        let reported = lost.clone();
        device.set_device_lost_callback(move |_, reason| {
            let reason = if reason.is_empty() {
                "it was lost"
            } else {
                &reason
            };
            let mut reported = reported.lock().unwrap_or_else(PoisonError::into_inner);
            reported.get_or_insert_with(|| reason.trim().to_string());
        });
        // Scopes catch errors; errors outside of them must not end the program.
        device.on_uncaptured_error(Arc::new(|_| ()));
        let made = catch_device_errors(&device, &lost, || {
            let layout = layout(&device);
            let kernels = pipelines(&device, &layout);
            (layout, kernels)
        })?;
        let (layout, [vertices_f32, vertices_f16, embedded]) = made;
        Ok(Self {
            device,
            queue,
            label: found.label,
            layout,
            vertices_f32,
            vertices_f16,
            embedded,
            lost,
            process: process::id(),
        })
    }

    /// Returns the reason why the device is lost, if it is.
    pub(super) fn loss_reason(&self) -> Option<String> {
        let lost = self.lost.lock().unwrap_or_else(PoisonError::into_inner);
        lost.clone()
    }

    /// Marks the device as lost after a failed frame, so that it is not used again.
    pub(super) fn give_up(&self, reason: &str) {
        let mut lost = self.lost.lock().unwrap_or_else(PoisonError::into_inner);
        lost.get_or_insert_with(|| reason.to_string());
    }

    /// Runs code that talks to the device.
    ///
    /// # Errors
    /// Any failure of the device meanwhile.
    pub(super) fn run_guarded<T>(&self, run: impl FnOnce() -> T) -> Result<T, KernelError> {
        if self.process != process::id() {
            return Err(device_error("it was opened before this process was forked"));
        }
        catch_device_errors(&self.device, &self.lost, run)
    }
}

/// Returns an error of the device.
pub(super) fn device_error(reason: impl Into<String>) -> KernelError {
    KernelError::Device {
        reason: reason.into(),
    }
}

fn find_adapter(which: Adapter<'_>) -> Result<AdapterEntry, KernelError> {
    let all = adapters();
    let names: Vec<&str> = all.iter().map(|a| a.label.as_str()).collect();
    let place = match which {
        Adapter::Hardware => all.iter().position(|a| !a.software),
        Adapter::Any => (!all.is_empty()).then_some(0),
        Adapter::Named(name) => {
            let number = name.trim().parse().ok().filter(|&i: &usize| i < all.len());
            let lower = name.trim().to_lowercase();
            let holds = |label: &&str| label.to_lowercase().contains(&lower);
            number.or_else(|| names.iter().position(holds))
        }
    };
    let reason = || match (which, names.is_empty()) {
        (Adapter::Named(name), false) => {
            format!("none is called '{name}'; there are: {}", names.join("; "))
        }
        _ => "none was found".into(),
    };
    let found = place.and_then(|i| all.get(i));
    found.cloned().ok_or_else(|| device_error(reason()))
}

fn catch_device_errors<T>(
    device: &wgpu::Device,
    lost: &Mutex<Option<String>>,
    run: impl FnOnce() -> T,
) -> Result<T, KernelError> {
    use wgpu::ErrorFilter::{Internal, OutOfMemory, Validation};
    let is_lost = || lost.lock().unwrap_or_else(PoisonError::into_inner).clone();
    if let Some(reason) = is_lost() {
        return Err(device_error(reason));
    }
    let scopes = [Internal, OutOfMemory, Validation].map(|filter| device.push_error_scope(filter));
    let value = catch_panic(run);
    let mut trouble = None;
    for scope in scopes.into_iter().rev() {
        if let Some(error) = pollster::block_on(scope.pop()) {
            trouble.get_or_insert(error.to_string());
        }
    }
    match trouble.or_else(is_lost) {
        Some(reason) => Err(device_error(reason)),
        None => value,
    }
}

thread_local! {
    static PANIC_SILENCED: Cell<bool> = const { Cell::new(false) };
}

/// Catches a panic of foreign code without printing anything.
fn catch_panic<T>(run: impl FnOnce() -> T) -> Result<T, KernelError> {
    static PANIC_HOOK: Once = Once::new();
    PANIC_HOOK.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if !PANIC_SILENCED.try_with(Cell::get).unwrap_or(false) {
                usual(panic);
            }
        }));
    });
    let before = PANIC_SILENCED.replace(true);
    let value = catch_unwind(AssertUnwindSafe(run));
    PANIC_SILENCED.set(before);
    value.map_err(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        device_error(text.unwrap_or("its driver failed"))
    })
}

fn layout(device: &wgpu::Device) -> wgpu::BindGroupLayout {
    let entries: Vec<wgpu::BindGroupLayoutEntry> = (0..BINDING_COUNT)
        .map(|binding| wgpu::BindGroupLayoutEntry {
            binding,
            visibility: wgpu::ShaderStages::COMPUTE,
            ty: wgpu::BindingType::Buffer {
                ty: match binding {
                    0 => wgpu::BufferBindingType::Uniform,
                    _ => wgpu::BufferBindingType::Storage {
                        read_only: binding + 1 < BINDING_COUNT,
                    },
                },
                has_dynamic_offset: false,
                min_binding_size: None,
            },
            count: None,
        })
        .collect();
    device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
        label: Some("thew warp"),
        entries: &entries,
    })
}

fn pipelines(device: &wgpu::Device, layout: &wgpu::BindGroupLayout) -> [wgpu::ComputePipeline; 3] {
    let source = wgpu::ShaderModuleDescriptor {
        label: Some("thew warp"),
        source: wgpu::ShaderSource::Wgsl(include_str!("warp.wgsl").into()),
    };
    // SAFETY: the kernels read rows, bones and modes by indices that `WarpModel` checked and `engine` packed, and
    // return where their vertex is beyond the chunk; their loops are bounded by counts made there.
    let module = unsafe {
        device.create_shader_module_trusted(source, wgpu::ShaderRuntimeChecks::unchecked())
    };
    let layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
        label: Some("thew warp"),
        bind_group_layouts: &[Some(layout)],
        immediate_size: 0,
    });
    ["vertices_f32", "vertices_f16", "embedded"].map(|entry| {
        device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: Some(entry),
            layout: Some(&layout),
            module: &module,
            entry_point: Some(entry),
            compilation_options: wgpu::PipelineCompilationOptions {
                zero_initialize_workgroup_memory: false,
                ..Default::default()
            },
            cache: None,
        })
    })
}
