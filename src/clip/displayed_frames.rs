// SPDX-License-Identifier: MIT OR Apache-2.0
//! Displayed frames of a clip: its body and carried surfaces, looked up in any order.

use super::frame::{ClipFrame, FrameContacts};
use super::{Clip, ClipError, clamp_frame};
use crate::contact::BuriedBone;
use crate::kernel::LocalPositions;
use crate::present::{Instant, OutputSpace, PresentError, Presenter, SurfaceId, WarpPresenter};
use crate::progress::{Progress, report_progress};
use std::sync::Arc;

impl Clip {
    /// Returns the lattice at a frame. Frames beyond the ends show the ends.
    pub fn lattice(&self, frame: i64) -> Arc<LocalPositions> {
        self.frame(frame).lattice
    }

    /// Returns world positions `[n · 3]`, metres, of a surface at a frame. Frames beyond the ends show the ends.
    ///
    /// # Errors
    /// A surface that the body does not carry.
    pub fn positions(&self, frame: i64, surface: SurfaceId) -> Result<Vec<f32>, ClipError> {
        let mut out = vec![0.0; 3 * self.vertices(surface)?];
        self.show_frame(frame, |at| {
            self.presenter
                .positions(surface, at, &OutputSpace::WORLD, &mut out)
        })?;
        Ok(out)
    }

    /// Calls `show` with a frame's instant, whose surface is parted if the clip parts surfaces. Frames beyond the ends show the ends.
    ///
    /// # Errors
    /// The errors of `show`; a surface that cannot be parted.
    pub fn show_frame(
        &self,
        frame: i64,
        show: impl FnOnce(Instant<'_>) -> Result<(), PresentError>,
    ) -> Result<(), ClipError> {
        let frame = self.parted_frame(frame)?;
        Ok(show(self.frame_instant(&frame))?)
    }

    /// Returns the offsets that the flesh adds to the artist's skin at a frame, `[n · 3]`, metres, world axes. The displayed surface is the skin plus
    /// these, however the skin was computed. Frames beyond the ends show the ends.
    ///
    /// # Errors
    /// As [`positions`](Self::positions).
    pub fn offsets(&self, frame: i64, surface: SurfaceId) -> Result<Vec<f32>, ClipError> {
        let mut out = vec![0.0; 3 * self.vertices(surface)?];
        self.show_frame(frame, |at| {
            self.presenter
                .offsets(surface, at, &OutputSpace::WORLD, &mut out)
        })?;
        Ok(out)
    }

    /// Returns the plain skin and the displayed skin of the body at a frame, `[n · 3]` each, metres in world axes, from an origin near the body, so
    /// that lengths on both keep their digits far from the world's.
    ///
    /// # Errors
    /// As [`positions`](Self::positions).
    pub fn skins(&self, frame: i64) -> Result<[Vec<f32>; 2], ClipError> {
        let mut plain = vec![0.0; 3 * self.vertices(SurfaceId::OWN)?];
        let mut shown = plain.clone();
        self.show_frame(frame, |at| {
            self.presenter
                .skins(SurfaceId::OWN, at, [&mut plain, &mut shown])
        })?;
        Ok([plain, shown])
    }

    /// Writes the velocities of a displayed surface at a frame, `[n · 3]`, m/s, mapped by `target` from world axes. They are differences between the
    /// frames before and after, at the ends one-sided.
    ///
    /// # Errors
    /// A surface that the body does not carry, an array of another length.
    pub fn velocities_into(
        &self,
        frame: i64,
        surface: SurfaceId,
        target: &OutputSpace,
        out: &mut [f32],
    ) -> Result<(), ClipError> {
        let last = self.len().saturating_sub(1) as i64;
        let at = frame.clamp(0, last);
        let (before, after) = ((at - 1).max(0), (at + 1).min(last));
        let seconds = (after - before).max(1) as f64 / self.settings.fps;
        let (before, after) = (self.parted_frame(before)?, self.parted_frame(after)?);
        let instants = (self.frame_instant(&before), self.frame_instant(&after));
        Ok(self
            .presenter
            .velocities(surface, instants, seconds, target, out)?)
    }

    /// Returns world positions `[frames · n · 3]`, metres, of a surface at all frames. With a graphics device each frame is fetched while the next is
    /// computed.
    ///
    /// # Errors
    /// A surface that the body does not carry, cancellation by the progress.
    pub fn all_positions(
        &self,
        surface: SurfaceId,
        progress: &dyn Progress,
    ) -> Result<Vec<f32>, ClipError> {
        let frames = self.parted_frames(progress)?;
        let mut out = vec![0.0; 3 * self.vertices(surface)? * frames.len()];
        let instants: Vec<Instant<'_>> = frames.iter().map(|f| self.frame_instant(f)).collect();
        let world = &OutputSpace::WORLD;
        self.presenter
            .all_positions(surface, &instants, world, progress, &mut out)?;
        Ok(out)
    }

    fn frame_instant<'a>(&self, frame: &'a ClipFrame) -> Instant<'a> {
        frame.instant(self.settings.simulation.max_offset)
    }

    /// Returns the largest distance in each frame between the flesh of the body's own surface and its skin, before the limit on the display, as a
    /// part of the body's size.
    ///
    /// # Errors
    /// None for a simulated clip.
    pub fn max_skin_deviations(&self) -> Result<Vec<f32>, ClipError> {
        let own = SurfaceId::OWN;
        let mut scratch = vec![0.0; 3 * self.vertices(own)?];
        let size = self.body.size().max(f64::MIN_POSITIVE) as f32;
        let mut max_skin_deviation = |frame: i64| -> Result<f32, ClipError> {
            let frame = self.frame(frame);
            let instant = self.frame_instant(&frame);
            Ok(self.presenter.max_deviation(own, instant, &mut scratch)? / size)
        };
        (0..self.len() as i64)
            .map(&mut max_skin_deviation)
            .collect()
    }

    /// Returns the contacts at a frame; empty in clips without contact. With the modal method these are the parted pairs, without forces. Frames
    /// beyond the ends show the ends.
    ///
    /// # Errors
    /// As [`positions`](Self::positions).
    pub fn contacts(&self, frame: i64) -> Result<FrameContacts, ClipError> {
        let frame = self.parted_frame(frame)?;
        Ok(match frame.parted.get() {
            Some(parted) => FrameContacts {
                points: parted.points.clone(),
                ..frame.contacts
            },
            None => frame.contacts,
        })
    }

    /// Returns the bones that lie in other flesh or in colliders at a frame; contact cannot move them. Frames beyond the ends show the ends.
    pub fn buried_bones(&self, frame: i64) -> Arc<[BuriedBone]> {
        self.frame(frame).contacts.buried
    }

    /// Returns the additional share of the joints' elastic shape at a frame where the skin lies in itself, `[nodes]`, 0 to 1; `None` without folds.
    /// Frames beyond the ends show the ends.
    pub fn folds(&self, frame: i64) -> Option<Vec<f32>> {
        let shown = self.frame(frame).presentation?;
        shown.folds().map(<[f32]>::to_vec)
    }

    /// Returns the number of cells near inversion at a frame whose vertices are all held by bones. Frames beyond the ends show the ends.
    pub fn held_cells(&self, frame: i64) -> u32 {
        self.frame(frame).contacts.held_cells
    }

    /// Returns the amplitudes of the modal method at a frame; `None` with other methods.
    pub fn amplitudes(&self, frame: i64) -> Option<Vec<f64>> {
        self.frame(frame).modal.map(|m| m.amplitudes.clone())
    }

    /// Returns the presenter, which computes the displayed surfaces.
    pub fn presenter(&self) -> &Presenter {
        &self.presenter
    }

    /// Returns the presenter of the modal method's surfaces; `None` with other methods.
    pub fn deformer(&self) -> Option<&WarpPresenter> {
        self.presenter.warp()
    }

    fn frame(&self, frame: i64) -> ClipFrame {
        self.indexed_frame(frame).1
    }

    /// Returns a frame with its clamped index.
    fn indexed_frame(&self, frame: i64) -> (usize, ClipFrame) {
        let frames = self.read_frames();
        let at = clamp_frame(frame, frames.len());
        (at, frames[at].clone())
    }

    /// Returns a frame, whose surface is parted if the clip parts surfaces.
    fn parted_frame(&self, frame: i64) -> Result<ClipFrame, ClipError> {
        let (at, frame) = self.indexed_frame(frame);
        self.part_surface(at, &frame)?;
        Ok(frame)
    }

    fn parted_frames(&self, progress: &dyn Progress) -> Result<Vec<ClipFrame>, ClipError> {
        let frames = self.read_frames().clone();
        for (at, frame) in frames.iter().enumerate() {
            if self.parting.is_some() {
                report_progress(
                    progress,
                    at as f64 / frames.len() as f64,
                    "Parting the surface",
                )?;
            }
            self.part_surface(at, frame)?;
        }
        Ok(frames)
    }

    /// Computes the parting of a frame, unless it is known. Every thread gets the same result.
    fn part_surface(&self, at: usize, frame: &ClipFrame) -> Result<(), ClipError> {
        let (Some(parting), Some(modal)) = (&self.parting, &frame.modal) else {
            return Ok(());
        };
        if frame.parted.get().is_none() {
            let posed = (modal.amplitudes.as_slice(), &modal.pose);
            let posed = (posed, self.settings.simulation.max_offset);
            let presenter = &self.presenter;
            let found = presenter.part_surface(parting, posed, &frame.lattice, at)?;
            frame.parted.get_or_init(|| found);
        }
        Ok(())
    }

    /// Returns the number of vertices of a surface.
    ///
    /// # Errors
    /// A surface that the body does not carry.
    pub fn vertices(&self, surface: SurfaceId) -> Result<usize, ClipError> {
        Ok(self.presenter.vertices(surface)?)
    }
}
