// SPDX-License-Identifier: MIT OR Apache-2.0
//! Surfaces of a body under modes and a pose, `p = T(x + R̃(Ψq) Φq)`, T by the artist's own skin weights.

use super::{CarriedSurfaces, DisplaySettings, ModalPose, PresentError, SurfaceId};
use crate::kernel::{BoneMaps, Deformer, FrameOutput, KernelError, OutputSpace, WarpInput};
use crate::modal::{DeformSettings, Modes};
use crate::progress::{Progress, Silent};
use crate::skeleton::Pose;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Converter of amplitudes of modes to the surfaces of a body; each surface is prepared on first use.
pub struct WarpPresenter {
    surfaces: CarriedSurfaces,
    modes: Arc<Modes>,
    settings: DeformSettings,
    ready: Mutex<BTreeMap<SurfaceId, Arc<Deformer>>>,
}

impl std::fmt::Debug for WarpPresenter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WarpPresenter")
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

impl WarpPresenter {
    /// Creates a presenter by modes of the body.
    pub fn new(surfaces: CarriedSurfaces, modes: Arc<Modes>, settings: DeformSettings) -> Self {
        Self {
            surfaces,
            modes,
            settings,
            ready: Mutex::new(BTreeMap::new()),
        }
    }

    /// Returns the settings of the deformers.
    pub fn settings(&self) -> &DeformSettings {
        &self.settings
    }

    /// Returns the deformer of a surface.
    ///
    /// # Errors
    /// The body does not carry the surface; the modes cannot be represented in single precision.
    pub fn surface(&self, id: SurfaceId) -> Result<Arc<Deformer>, PresentError> {
        let mut ready = self.ready.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(deformer) = ready.get(&id) {
            return Ok(deformer.clone());
        }
        let carried = self.surfaces.get(id)?;
        let rest = carried.rest_positions(self.surfaces.body());
        let (embedding, skin) = (carried.embedding(), Some(carried.skin()));
        let made = self
            .modes
            .deformer(embedding, &rest, skin, &self.settings)?;
        let deformer = Arc::new(made);
        ready.insert(id, deformer.clone());
        Ok(deformer)
    }

    /// Computes the positions `[frames · vertices · 3]`, metres, of a surface under amplitudes and poses. No vertex is farther from its
    /// skin than `max_offset`, relative to the body's size.
    ///
    /// # Errors
    /// As [`surface`](Self::surface); amplitudes or poses are of other modes or skeletons; the output has another length.
    pub fn positions(
        &self,
        id: SurfaceId,
        frames: &[ModalPose<'_>],
        max_offset: Option<f64>,
        target: &OutputSpace,
        progress: &dyn Progress,
        out: &mut [f32],
    ) -> Result<(), PresentError> {
        let deformer = self.surface(id)?;
        let poses = frames.iter().map(|(_, pose)| pose);
        let bones: Vec<BoneMaps> = poses
            .map(|pose| self.bone_maps(&deformer, pose, max_offset))
            .collect::<Result<_, _>>()?;
        let inputs = frames.iter().zip(&bones);
        let inputs: Vec<WarpInput<'_>> = inputs
            .map(|((q, _), bones)| {
                WarpInput::new(q, FrameOutput::Posed(bones)).with_target(*target)
            })
            .collect();
        Ok(deformer.frames_into(&inputs, progress, out)?)
    }

    /// Computes the modes' offsets from the skin of a surface, `[vertices · 3]`, metres, limited to `max_offset`, relative to the
    /// body's size.
    ///
    /// # Errors
    /// As [`positions`](Self::positions).
    pub fn offsets(
        &self,
        id: SurfaceId,
        (q, pose): ModalPose<'_>,
        max_offset: Option<f64>,
        target: &OutputSpace,
        out: &mut [f32],
    ) -> Result<(), PresentError> {
        if target.is_world() && !target.adds_results() {
            return self.offsets_by_difference(id, (q, pose), max_offset, out);
        }
        let deformer = self.surface(id)?;
        let bones = self.bone_maps(&deformer, pose, max_offset)?;
        let input = WarpInput::new(q, FrameOutput::Offsets(&bones)).with_target(*target);
        Ok(deformer.frames_into(&[input], &Silent, out)?)
    }

    /// Computes offsets in world axes as the difference of two positions in f32, bit for bit as earlier bakes have them.
    fn offsets_by_difference(
        &self,
        id: SurfaceId,
        (q, pose): ModalPose<'_>,
        max_offset: Option<f64>,
        out: &mut [f32],
    ) -> Result<(), PresentError> {
        let vertices = self.surface(id)?.model().vertices();
        let (expected, given) = (3 * vertices, out.len());
        if expected != given {
            return Err(KernelError::Output { expected, given }.into());
        }
        let still = vec![0.0; q.len()];
        let mut both = vec![0.0; 6 * vertices];
        let frames = [(q, pose), (still.as_slice(), pose)];
        self.positions(
            id,
            &frames,
            max_offset,
            &OutputSpace::WORLD,
            &Silent,
            &mut both,
        )?;
        let (moved, skin) = both.split_at(3 * vertices);
        for ((out, moved), skin) in out.iter_mut().zip(moved).zip(skin) {
            *out = moved - skin;
        }
        Ok(())
    }

    /// Returns the largest distance of a surface's vertex from its skin, metres, without a limit.
    ///
    /// # Errors
    /// As [`positions`](Self::positions).
    pub fn max_deviation(&self, id: SurfaceId, posed: ModalPose<'_>) -> Result<f32, PresentError> {
        let vertices = self.surface(id)?.model().vertices();
        let mut away = vec![0.0; 3 * vertices];
        self.offsets_by_difference(id, posed, None, &mut away)?;
        let norm = |v: &[f32]| v.iter().map(|x| x * x).sum::<f32>();
        Ok(away.chunks_exact(3).map(norm).fold(0.0, f32::max).sqrt())
    }

    /// Returns the bones' maps of a surface at a pose, with offsets limited to `max_offset`.
    fn bone_maps(
        &self,
        deformer: &Deformer,
        pose: &Pose,
        max_offset: Option<f64>,
    ) -> Result<BoneMaps, KernelError> {
        let showing = DisplaySettings {
            max_offset,
            ..DisplaySettings::default()
        };
        let limit = showing.offset_limit(self.surfaces.body(), pose);
        deformer.model().pose(pose, limit)
    }
}
