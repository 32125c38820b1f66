// SPDX-License-Identifier: MIT OR Apache-2.0
//! A surface that is shown: its model with the engine that was chosen, and the processor to fall back on.

use super::choose::{Choice, fallen};
use super::{Bones, EngineChoice, KernelError, Measured, Shown, WarpEngine, WarpInput, WarpModel};
use crate::progress::{Progress, Silent};
use std::sync::{Arc, PoisonError, RwLock};

/// A model and its engine. A graphics device that cannot be used, or no longer, is replaced by the processor with one
/// warning; results are right all the same.
pub struct Deformer {
    model: Arc<WarpModel>,
    state: RwLock<State>,
}

struct State {
    engine: Arc<dyn WarpEngine>,
    measured: Vec<Measured>,
    /// All that was said, and how much of it has been taken.
    warnings: Vec<String>,
    taken: usize,
}

impl Deformer {
    /// Chooses the engine; nothing that goes wrong with a device is an error: see [`warnings`](Self::warnings).
    pub fn new(model: WarpModel, wanted: &EngineChoice) -> Self {
        let model = Arc::new(model);
        let choice = Choice::new(&model, wanted);
        Self {
            model,
            state: RwLock::new(State {
                engine: choice.engine,
                measured: choice.measured,
                warnings: choice.warning.into_iter().collect(),
                taken: 0,
            }),
        }
    }

    /// With an engine that was made already; its cost is not known.
    pub fn with_engine(engine: Arc<dyn WarpEngine>) -> Self {
        Self {
            model: engine.model().clone(),
            state: RwLock::new(State {
                engine,
                measured: Vec::new(),
                warnings: Vec::new(),
                taken: 0,
            }),
        }
    }

    /// The surface.
    pub fn model(&self) -> &Arc<WarpModel> {
        &self.model
    }

    /// Where it runs now: "CPU, 2 threads", "GPU NAME".
    pub fn engine(&self) -> String {
        self.current().name().to_string()
    }

    /// What a frame costs on each engine that was tried.
    pub fn measured(&self) -> Vec<Measured> {
        self.read().measured.clone()
    }

    /// What was measured and chosen, in one line:
    /// "CPU, 1 thread: 0.620 ms; CPU, 2 threads: 0.310 ms; chosen: CPU, 2 threads".
    pub fn report(&self) -> String {
        let state = self.read();
        let tried = state.measured.iter();
        let mut parts: Vec<String> = tried.map(ToString::to_string).collect();
        parts.push(format!("chosen: {}", state.engine.name()));
        parts.extend(state.warnings.iter().cloned());
        parts.join("; ")
    }

    /// Everything a person should know about the engine.
    pub fn warnings(&self) -> Vec<String> {
        self.read().warnings.clone()
    }

    /// Those warnings that were not taken before: each is to be shown once.
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

    /// Displacements `[vertices · 3]` in rest space, metres.
    ///
    /// # Errors
    /// See [`WarpEngine::frames_into`].
    pub fn displacements_into(
        &self,
        amplitudes: &[f64],
        out: &mut [f32],
    ) -> Result<(), KernelError> {
        self.frame_into(WarpInput::new(amplitudes, Shown::Displacements), out)
    }

    /// World positions `[vertices · 3]`, metres, under bones if there are any.
    ///
    /// # Errors
    /// See [`WarpEngine::frames_into`].
    pub fn positions_into(
        &self,
        amplitudes: &[f64],
        bones: Option<&Bones>,
        out: &mut [f32],
    ) -> Result<(), KernelError> {
        self.frame_into(WarpInput::new(amplitudes, Shown::positions(bones)), out)
    }

    /// One frame `[vertices · 3]`, metres.
    ///
    /// # Errors
    /// See [`WarpEngine::frames_into`].
    pub fn frame_into(&self, frame: WarpInput<'_>, out: &mut [f32]) -> Result<(), KernelError> {
        self.frames_into(&[frame], &Silent, out)
    }

    /// A clip `[frames · vertices · 3]`, metres; much faster than frame by frame.
    ///
    /// # Errors
    /// See [`WarpEngine::frames_into`].
    pub fn frames_into(
        &self,
        frames: &[WarpInput<'_>],
        progress: &dyn Progress,
        out: &mut [f32],
    ) -> Result<(), KernelError> {
        let engine = self.current();
        match engine.frames_into(frames, progress, out) {
            Err(error @ KernelError::Device { .. }) => {
                let engine = self.fall_back(&engine, &error);
                engine.frames_into(frames, progress, out)
            }
            done => done,
        }
    }

    fn read(&self) -> std::sync::RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn current(&self) -> Arc<dyn WarpEngine> {
        self.read().engine.clone()
    }

    /// Replaces an engine that failed, once, whoever comes first.
    fn fall_back(&self, failed: &Arc<dyn WarpEngine>, error: &KernelError) -> Arc<dyn WarpEngine> {
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        if Arc::ptr_eq(&state.engine, failed) {
            let choice = Choice::processor(&self.model);
            state.engine = choice.engine;
            state.measured.extend(choice.measured);
            state.warnings.push(fallen(error));
        }
        state.engine.clone()
    }
}
