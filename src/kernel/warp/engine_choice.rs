// SPDX-License-Identifier: MIT OR Apache-2.0
//! Choice of an engine by the measured cost of a frame, on this machine and for this surface.
//!
//! The real kernels are run a few times, transfers included. A graphics device takes a tenth of a second to open, so
//! it is tried only if the processor needs more than [`MIN_DEVICE_TIME`] for a frame. Software devices are used only
//! on request.

use super::cpu::{CpuWarp, Threads};
use super::gpu::{self, Adapter};
use super::{FrameOutput, KernelError, WarpEngine, WarpInput, WarpModel};
use std::sync::Arc;
use std::time::Instant;

/// Time of a frame on the processor above which a graphics device is tried, s.
const MIN_DEVICE_TIME: f64 = 1e-3;
/// Measured runs after a first unmeasured one; the shortest counts.
const TIMED_RUNS: usize = 3;
/// Time after which no further run is begun, s.
const MAX_TIMING: f64 = 0.05;

/// Requested engine.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum EngineChoice {
    /// The fastest engine measured.
    #[default]
    Auto,
    /// The processor.
    Cpu,
    /// The best graphics device; a software device if there is no other.
    Gpu,
    /// A graphics device by its number or a part of its name in [`gpu_adapters`](super::gpu_adapters).
    Adapter(String),
}

impl EngineChoice {
    /// Parses "auto", "cpu", "gpu" or "gpu:NAME".
    ///
    /// # Errors
    /// Any other text.
    pub fn parse(text: &str) -> Result<Self, KernelError> {
        match text.trim() {
            "auto" => Ok(Self::Auto),
            "cpu" => Ok(Self::Cpu),
            "gpu" => Ok(Self::Gpu),
            other => match other.strip_prefix("gpu:").map(str::trim) {
                Some(name) if !name.is_empty() => Ok(Self::Adapter(name.into())),
                _ => Err(KernelError::Engine { name: other.into() }),
            },
        }
    }

    /// Replaces "gpu" by the device with this number or part of a name. Other choices stay, as do all if `device` is empty.
    pub(crate) fn with_device(self, device: &str) -> Self {
        match (self, device.trim()) {
            (Self::Gpu, device) if !device.is_empty() => Self::Adapter(device.into()),
            (engine, _) => engine,
        }
    }
}

impl std::fmt::Display for EngineChoice {
    /// Writes the text that [`parse`](Self::parse) reads.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Cpu => f.write_str("cpu"),
            Self::Gpu => f.write_str("gpu"),
            Self::Adapter(device) => write!(f, "gpu:{device}"),
        }
    }
}

impl From<EngineChoice> for String {
    fn from(engine: EngineChoice) -> Self {
        engine.to_string()
    }
}

impl TryFrom<String> for EngineChoice {
    type Error = KernelError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::parse(&text)
    }
}

/// Measured cost of a frame on an engine.
#[derive(Debug, Clone, PartialEq)]
pub struct EngineTiming {
    /// Name of the engine.
    pub engine: String,
    /// Time of a frame, transfers included, s.
    pub seconds: f64,
}

impl std::fmt::Display for EngineTiming {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {:.3} ms", self.engine, 1e3 * self.seconds)
    }
}

/// An engine and the measurements that led to it.
pub(super) struct MeasuredEngine {
    pub engine: Arc<dyn WarpEngine>,
    pub measured: Vec<EngineTiming>,
    /// Warning about a request that could not be met.
    pub warning: Option<String>,
}

impl MeasuredEngine {
    /// Chooses the engine for a model.
    pub(super) fn new(model: &Arc<WarpModel>, wanted: &EngineChoice) -> Self {
        let adapter = match wanted {
            EngineChoice::Cpu => return Self::fastest_cpu(model),
            EngineChoice::Auto => {
                let mut choice = Self::fastest_cpu(model);
                let cost = choice.cost();
                if cost > MIN_DEVICE_TIME {
                    choice.try_device(model, cost);
                }
                return choice;
            }
            EngineChoice::Gpu => Adapter::Any,
            EngineChoice::Adapter(name) => Adapter::Named(name),
        };
        match open_device(model, adapter) {
            Ok(choice) => choice,
            Err(error) => {
                let mut choice = Self::fastest_cpu(model);
                choice.warning = Some(fallback_warning(&error));
                choice
            }
        }
    }

    /// Returns the faster engine on the processor.
    pub(super) fn fastest_cpu(model: &Arc<WarpModel>) -> Self {
        let one: Arc<dyn WarpEngine> = Arc::new(CpuWarp::new(model.clone(), Threads::One));
        let mut measured = vec![measure(one.as_ref())];
        let mut engine = one;
        if rayon::current_num_threads() > 1 {
            let all: Arc<dyn WarpEngine> = Arc::new(CpuWarp::new(model.clone(), Threads::All));
            measured.push(measure(all.as_ref()));
            if measured[1].seconds < measured[0].seconds {
                engine = all;
            }
        }
        Self {
            engine,
            measured,
            warning: None,
        }
    }

    /// Returns the shortest time, s.
    fn cost(&self) -> f64 {
        let seconds = self.measured.iter().map(|m| m.seconds);
        seconds.fold(f64::INFINITY, f64::min)
    }

    /// Switches to the best graphics device if it is faster.
    fn try_device(&mut self, model: &Arc<WarpModel>, cost: f64) {
        if gpu::has_hardware() {
            match open_device(model, Adapter::Hardware) {
                Ok(device) => {
                    if device.cost() < cost {
                        self.engine = device.engine;
                    }
                    self.measured.extend(device.measured);
                }
                Err(error) => self.warning = Some(fallback_warning(&error)),
            }
        }
    }
}

/// Returns the warning when the processor replaces a device.
pub(super) fn fallback_warning(error: &KernelError) -> String {
    format!("{error}; the processor is used instead")
}

/// Opens an engine on a device and runs it once to show that it works.
fn open_device(
    model: &Arc<WarpModel>,
    adapter: Adapter<'_>,
) -> Result<MeasuredEngine, KernelError> {
    let engine = gpu::open(model, adapter)?;
    let measured = try_measure(engine.as_ref())?;
    Ok(MeasuredEngine {
        engine,
        measured: vec![measured],
        warning: None,
    })
}

/// Measures an engine; an infinite time if it fails.
fn measure(engine: &dyn WarpEngine) -> EngineTiming {
    // Engines on the processor cannot fail on amplitudes of zero.
    try_measure(engine).unwrap_or_else(|_| EngineTiming {
        engine: engine.name().into(),
        seconds: f64::INFINITY,
    })
}

/// Measures the cost of a frame at rest, the shortest of a few runs.
fn try_measure(engine: &dyn WarpEngine) -> Result<EngineTiming, KernelError> {
    let model = engine.model();
    let amplitudes = vec![0.0; model.modes()];
    let mut out = vec![0.0; 3 * model.vertices()];
    let mut seconds = f64::INFINITY;
    let all = Instant::now();
    for run in 0..=TIMED_RUNS {
        let start = Instant::now();
        engine.frame_into(WarpInput::new(&amplitudes, FrameOutput::Rest), &mut out)?;
        // The first run wakes threads and fetches pages; it counts only if it is the only one.
        if run > 0 || all.elapsed().as_secs_f64() > MAX_TIMING {
            seconds = seconds.min(start.elapsed().as_secs_f64());
        }
        if all.elapsed().as_secs_f64() > MAX_TIMING {
            break;
        }
    }
    Ok(EngineTiming {
        engine: engine.name().into(),
        seconds,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An engine is chosen by its name, and other text is refused.
    #[test]
    fn engine_choice_parses_names() {
        let parsed = |text: &str| EngineChoice::parse(text).ok();
        assert_eq!(parsed("auto"), Some(EngineChoice::Auto));
        assert_eq!(parsed(" cpu"), Some(EngineChoice::Cpu));
        assert_eq!(parsed("gpu"), Some(EngineChoice::Gpu));
        let named = EngineChoice::Adapter("Radeon".into());
        assert_eq!(parsed("gpu: Radeon "), Some(named));
        for wrong in ["", "gpu:", "gpu: ", "cuda", "cpu:0"] {
            assert_eq!(parsed(wrong), None, "{wrong}");
        }
    }
}
