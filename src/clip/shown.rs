// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a clip shows: frames of its body and of what that carries, looked up in any order.

use super::frame::{ClipFrame, FrameContacts};
use super::{Clip, ClipError, clamped};
use crate::contact::BuriedBone;
use crate::kernel::LocalPositions;
use crate::present::{Instant, Presenter, SurfaceId, Target, WarpPresenter};
use crate::progress::{Progress, step};
use std::sync::Arc;

impl Clip {
    /// The lattice at a frame; frames beyond the ends show the ends.
    pub fn lattice(&self, frame: i64) -> Arc<LocalPositions> {
        self.frame(frame).lattice
    }

    /// World positions `[n · 3]`, metres, of a surface at a frame. Frames beyond the ends show the ends.
    ///
    /// # Errors
    /// A surface that the body does not carry.
    pub fn positions(&self, frame: i64, surface: SurfaceId) -> Result<Vec<f32>, ClipError> {
        let mut out = vec![0.0; 3 * self.vertices(surface)?];
        self.positions_into(frame, surface, &Target::WORLD, &mut out)?;
        Ok(out)
    }

    /// As [`positions`](Self::positions), into an array at hand, where the target has them.
    ///
    /// # Errors
    /// A surface that the body does not carry, an array of another length.
    pub fn positions_into(
        &self,
        frame: i64,
        surface: SurfaceId,
        target: &Target,
        out: &mut [f32],
    ) -> Result<(), ClipError> {
        let frame = self.shown(frame)?;
        Ok(self
            .presenter
            .positions(surface, self.instant(&frame), target, out)?)
    }

    /// What the flesh adds to the artist's own skin at a frame, `[n · 3]`, metres, world axes: what is shown is the skin plus
    /// this, whichever way the skin was made. Frames beyond the ends show the ends.
    ///
    /// # Errors
    /// As [`positions`](Self::positions).
    pub fn offsets(&self, frame: i64, surface: SurfaceId) -> Result<Vec<f32>, ClipError> {
        let mut out = vec![0.0; 3 * self.vertices(surface)?];
        self.offsets_into(frame, surface, &Target::WORLD, &mut out)?;
        Ok(out)
    }

    /// As [`offsets`](Self::offsets), into an array at hand, where the target has them.
    ///
    /// # Errors
    /// As [`positions_into`](Self::positions_into).
    pub fn offsets_into(
        &self,
        frame: i64,
        surface: SurfaceId,
        target: &Target,
        out: &mut [f32],
    ) -> Result<(), ClipError> {
        let frame = self.shown(frame)?;
        Ok(self
            .presenter
            .offsets(surface, self.instant(&frame), target, out)?)
    }

    /// How fast what is shown moves at a frame, `[n · 3]`, m/s, world axes, or what the target makes of that: by the frames
    /// before and after it, at the ends by the one that there is.
    ///
    /// # Errors
    /// As [`positions_into`](Self::positions_into).
    pub fn velocities_into(
        &self,
        frame: i64,
        surface: SurfaceId,
        target: &Target,
        out: &mut [f32],
    ) -> Result<(), ClipError> {
        let last = self.len().saturating_sub(1) as i64;
        let at = frame.clamp(0, last);
        let (before, after) = ((at - 1).max(0), (at + 1).min(last));
        let seconds = (after - before).max(1) as f64 / self.settings.fps;
        let (before, after) = (self.shown(before)?, self.shown(after)?);
        let instants = (self.instant(&before), self.instant(&after));
        Ok(self
            .presenter
            .velocities(surface, instants, seconds, target, out)?)
    }

    /// World positions `[frames · n · 3]`, metres, of a surface at all frames; where a graphics device shows them, one is
    /// brought back while the next is computed.
    ///
    /// # Errors
    /// A surface that the body does not carry, a stop by the progress.
    pub fn all_positions(
        &self,
        surface: SurfaceId,
        progress: &dyn Progress,
    ) -> Result<Vec<f32>, ClipError> {
        let frames = self.all_shown(progress)?;
        let mut out = vec![0.0; 3 * self.vertices(surface)? * frames.len()];
        let instants: Vec<Instant<'_>> = frames.iter().map(|f| self.instant(f)).collect();
        let world = &Target::WORLD;
        self.presenter
            .all_positions(surface, &instants, world, progress, &mut out)?;
        Ok(out)
    }

    fn instant<'a>(&self, frame: &'a ClipFrame) -> Instant<'a> {
        frame.instant(self.settings.simulation.max_offset)
    }

    /// [`max_skin_deviations`](Self::max_skin_deviations) as they were called.
    ///
    /// # Errors
    /// As there.
    #[deprecated(note = "renamed to max_skin_deviations")]
    pub fn strays(&self) -> Result<Vec<f32>, ClipError> {
        self.max_skin_deviations()
    }

    /// How far the flesh of the body's own surface strays from its skin, before the limit on what is shown: the
    /// largest distance in each frame as a part of the body's size.
    ///
    /// # Errors
    /// None that a clip which was simulated can meet.
    pub fn max_skin_deviations(&self) -> Result<Vec<f32>, ClipError> {
        let own = SurfaceId::OWN;
        let mut scratch = vec![0.0; 3 * self.vertices(own)?];
        let size = self.body.size().max(f64::MIN_POSITIVE) as f32;
        let mut max_skin_deviation = |frame: i64| -> Result<f32, ClipError> {
            let frame = self.frame(frame);
            let instant = self.instant(&frame);
            Ok(self.presenter.max_deviation(own, instant, &mut scratch)? / size)
        };
        (0..self.len() as i64)
            .map(&mut max_skin_deviation)
            .collect()
    }

    /// What touches at a frame; nothing in clips without contact. Of the modal method what was parted on the surface, without
    /// forces. Frames beyond the ends show the ends.
    ///
    /// # Errors
    /// As [`positions`](Self::positions).
    pub fn contacts(&self, frame: i64) -> Result<FrameContacts, ClipError> {
        let frame = self.shown(frame)?;
        Ok(match frame.parted.get() {
            Some(parted) => FrameContacts {
                points: parted.points.clone(),
                ..frame.contacts
            },
            None => frame.contacts,
        })
    }

    /// Bones that lie in other flesh or in colliders at a frame, which contact moves out of nothing. Frames beyond the ends show the
    /// ends.
    pub fn buried_bones(&self, frame: i64) -> Arc<[BuriedBone]> {
        self.frame(frame).contacts.buried
    }

    /// How much more of the joints' elastic shape is shown at a frame where the skin lies in itself, `[nodes]`, 0 to 1; none where it
    /// nowhere does. Frames beyond the ends show the ends.
    pub fn folds(&self, frame: i64) -> Option<Vec<f32>> {
        let shown = self.frame(frame).presentation?;
        shown.folds().map(<[f32]>::to_vec)
    }

    /// Cells near inversion at a frame whose vertices all hang on bones. Frames beyond the ends show the ends.
    pub fn held_cells(&self, frame: i64) -> u32 {
        self.frame(frame).contacts.held_cells
    }

    /// Amplitudes of the modal method at a frame.
    pub fn amplitudes(&self, frame: i64) -> Option<Vec<f64>> {
        self.frame(frame).modal.map(|m| m.amplitudes.clone())
    }

    /// What shows it.
    pub fn presenter(&self) -> &Presenter {
        &self.presenter
    }

    /// What shows the modal method's surfaces.
    pub fn deformer(&self) -> Option<&WarpPresenter> {
        self.presenter.warp()
    }

    fn frame(&self, frame: i64) -> ClipFrame {
        self.numbered(frame).1
    }

    /// A frame, and which of all it is.
    fn numbered(&self, frame: i64) -> (usize, ClipFrame) {
        let frames = self.read();
        let at = clamped(frame, frames.len());
        (at, frames[at].clone())
    }

    /// A frame as its surface is shown: parted, where that is asked for.
    fn shown(&self, frame: i64) -> Result<ClipFrame, ClipError> {
        let (at, frame) = self.numbered(frame);
        self.part(at, &frame)?;
        Ok(frame)
    }

    fn all_shown(&self, progress: &dyn Progress) -> Result<Vec<ClipFrame>, ClipError> {
        let frames = self.read().clone();
        for (at, frame) in frames.iter().enumerate() {
            if self.parting.is_some() {
                step(
                    progress,
                    at as f64 / frames.len() as f64,
                    "Parting the surface",
                )?;
            }
            self.part(at, frame)?;
        }
        Ok(frames)
    }

    /// Finds what parts a frame, unless it is known. Whoever does finds the same.
    fn part(&self, at: usize, frame: &ClipFrame) -> Result<(), ClipError> {
        let (Some(parting), Some(modal)) = (&self.parting, &frame.modal) else {
            return Ok(());
        };
        if frame.parted.get().is_none() {
            let posed = (modal.amplitudes.as_slice(), &modal.pose);
            let posed = (posed, self.settings.simulation.max_offset);
            let presenter = &self.presenter;
            let found = presenter.parted(parting, posed, &frame.lattice, at)?;
            frame.parted.get_or_init(|| found);
        }
        Ok(())
    }

    /// Number of vertices of a surface.
    ///
    /// # Errors
    /// A surface that the body does not carry.
    pub fn vertices(&self, surface: SurfaceId) -> Result<usize, ClipError> {
        Ok(self.presenter.vertices(surface)?)
    }
}
