// SPDX-License-Identifier: MIT OR Apache-2.0
//! A warped surface: its model, the chosen engine, and the processor as fallback.

use super::engine_choice::{MeasuredEngine, fallback_warning};
use super::{
    BoneMaps, EngineChoice, EngineTiming, FrameOutput, KernelError, WarpEngine, WarpInput,
    WarpModel,
};
use crate::progress::{Progress, Silent};
use std::sync::{Arc, PoisonError, RwLock};

/// A model and its engine. A graphics device that fails is replaced by the processor with one warning; results stay
/// right.
pub struct Deformer {
    model: Arc<WarpModel>,
    state: RwLock<DeformerState>,
}

struct DeformerState {
    engine: Arc<dyn WarpEngine>,
    measured: Vec<EngineTiming>,
    /// All warnings; the first `taken` of them have been returned.
    warnings: Vec<String>,
    taken: usize,
}

impl Deformer {
    /// Chooses the engine. Failures of a device are [`warnings`](Self::warnings), not errors.
    pub fn new(model: WarpModel, wanted: &EngineChoice) -> Self {
        let model = Arc::new(model);
        let choice = MeasuredEngine::new(&model, wanted);
        Self {
            model,
            state: RwLock::new(DeformerState {
                engine: choice.engine,
                measured: choice.measured,
                warnings: choice.warning.into_iter().collect(),
                taken: 0,
            }),
        }
    }

    /// Uses an existing engine, without measuring its cost.
    pub fn with_engine(engine: Arc<dyn WarpEngine>) -> Self {
        Self {
            model: engine.model().clone(),
            state: RwLock::new(DeformerState {
                engine,
                measured: Vec::new(),
                warnings: Vec::new(),
                taken: 0,
            }),
        }
    }

    /// Returns the surface.
    pub fn model(&self) -> &Arc<WarpModel> {
        &self.model
    }

    /// Returns the current device's name: "CPU, 2 threads", "GPU NAME".
    pub fn engine(&self) -> String {
        self.current_engine().name().to_string()
    }

    /// Returns the cost of a frame on each engine that was tried.
    pub fn timings(&self) -> Vec<EngineTiming> {
        self.read_state().measured.clone()
    }

    /// Returns measurements and choice in one line: "CPU, 1 thread: 0.620 ms; CPU, 2 threads: 0.310 ms; chosen: CPU,
    /// 2 threads".
    pub fn report(&self) -> String {
        let state = self.read_state();
        let tried = state.measured.iter();
        let mut parts: Vec<String> = tried.map(ToString::to_string).collect();
        parts.push(format!("chosen: {}", state.engine.name()));
        parts.extend(state.warnings.iter().cloned());
        parts.join("; ")
    }

    /// Returns all warnings about the engine.
    pub fn warnings(&self) -> Vec<String> {
        self.read_state().warnings.clone()
    }

    /// Returns the warnings since the last call, to be shown once.
    pub fn take_warnings(&self) -> Vec<String> {
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        let new = state
            .warnings
            .get(state.taken..)
            .unwrap_or_default()
            .to_vec();
        state.taken = state.warnings.len();
        new
    }

    /// Writes displacements `[vertices · 3]` in rest space, metres.
    ///
    /// # Errors
    /// Errors of [`WarpEngine::frames_into`].
    pub fn displacements_into(
        &self,
        amplitudes: &[f64],
        out: &mut [f32],
    ) -> Result<(), KernelError> {
        self.frame_into(WarpInput::new(amplitudes, FrameOutput::Displacements), out)
    }

    /// Writes world positions `[vertices · 3]`, metres; at rest without bones.
    ///
    /// # Errors
    /// Errors of [`WarpEngine::frames_into`].
    pub fn positions_into(
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

    /// Writes one frame `[vertices · 3]`, metres.
    ///
    /// # Errors
    /// Errors of [`WarpEngine::frames_into`].
    pub fn frame_into(&self, frame: WarpInput<'_>, out: &mut [f32]) -> Result<(), KernelError> {
        self.frames_into(&[frame], &Silent, out)
    }

    /// Writes a clip `[frames · vertices · 3]`, metres; much faster than frame by frame.
    ///
    /// # Errors
    /// Errors of [`WarpEngine::frames_into`].
    pub fn frames_into(
        &self,
        frames: &[WarpInput<'_>],
        progress: &dyn Progress,
        out: &mut [f32],
    ) -> Result<(), KernelError> {
        let engine = self.current_engine();
        match engine.frames_into(frames, progress, out) {
            Err(error @ KernelError::Device { .. }) => {
                let engine = self.fall_back(&engine, &error);
                engine.frames_into(frames, progress, out)
            }
            done => done,
        }
    }

    fn read_state(&self) -> std::sync::RwLockReadGuard<'_, DeformerState> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn current_engine(&self) -> Arc<dyn WarpEngine> {
        self.read_state().engine.clone()
    }

    /// Replaces an engine that failed, once even if several threads see the failure; returns the current engine.
    fn fall_back(&self, failed: &Arc<dyn WarpEngine>, error: &KernelError) -> Arc<dyn WarpEngine> {
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        if Arc::ptr_eq(&state.engine, failed) {
            let choice = MeasuredEngine::fastest_cpu(&self.model);
            state.engine = choice.engine;
            state.measured.extend(choice.measured);
            state.warnings.push(fallback_warning(error));
        }
        state.engine.clone()
    }
}
