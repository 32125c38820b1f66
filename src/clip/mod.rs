// SPDX-License-Identifier: MIT OR Apache-2.0
//! A simulated clip: the unit of preview and bake.
//!
//! ```
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/shapes/arm.rs"));
//! # fn main() -> Result<(), Any> {
//! use thew::clip::ClipSettings;
//! use thew::dynamics::{Method, SimulationSettings};
//! use thew::present::SurfaceId;
//! use thew::shot::Shot;
//!
//! let settings = ClipSettings::new(24.0, SimulationSettings::for_method(Method::Warped));
//! // An arm of flesh (`examples/shapes/arm.rs`) whose elbow bends: a clip made in two parts is the clip made in one.
//! let poses = (0..12).map(|frame| bent(0.08 * frame as f64)).collect::<Result<Vec<_>, _>>()?;
//! let body = body()?;
//! let (whole, _) = Shot::new(body.clone(), poses.clone(), settings.clone()).simulate(&Silent)?;
//! let (parts, _) = Shot::new(body, poses[..5].to_vec(), settings).simulate(&Silent)?;
//! parts.extend(&poses[5..], None, &Silent)?;
//! let skin = SurfaceId::OWN;
//! assert_eq!(whole.positions(11, skin)?, parts.positions(11, skin)?);
//! # Ok(())
//! # }
//! ```
//!
//! | file | content |
//! | --- | --- |
//! | `construction`, `settings` | construction of clips and their settings |
//! | `resumable`, `cycle`, `period`, `run_in` | runs through poses: once and extensible, or in a cycle; poses of a cycle and of a run-in |
//! | `bodies`, `scene` | bodies advanced together; clips of bodies that touch each other |
//! | `forces`, `pins`, `belt` | external forces and stiffness by frame; tracks of pins; those of a belt |
//! | `frame`, `displayed_frames`, `notes` | one stored frame; displayed frames; sentences about overlaps |
//! | `stored`, `error` | file format, errors |
//!
//! The clip stores the lattice of every frame (12 bytes a vertex). Frames are looked up, so the order of visits does not change them. Several threads
//! may read a [`Clip`] while one extends it.
//!
//! Bones move C¹ between frames, which requires the neighbouring frames. At the end of a clip the later ones are unknown, so [`Clip::extend`]
//! simulates the last intervals again: a clip simulated in two parts is, bit for bit, the clip simulated in one. [`Clip::save`] writes the clip with
//! its body to one file. A clip from [`Clip::load`] shows the same frames and can be extended as the saved one.

mod belt;
mod bodies;
mod construction;
mod cycle;
mod displayed_frames;
mod error;
mod forces;
mod frame;
mod notes;
mod period;
mod pins;
mod resumable;
mod run_in;
mod scene;
mod settings;
mod stored;

pub use belt::{Belt, BeltSettings};
pub use error::ClipError;
pub use forces::FrameForces;
pub use pins::PinTrack;
pub(crate) use pins::check_tracks;
pub use settings::ClipSettings;

use crate::Vec3;
use crate::body::Body;
use crate::contact::{Contact, Parting, PartingOffsets, PreparedContact};
use crate::exclusive::Exclusive;
use crate::kernel::LocalPositions;
use crate::modal::Modes;
use crate::present::{CarriedSurfaces, Presenter};
use crate::progress::Progress;
use crate::skeleton::Pose;
use bodies::{Bodies, ClipDrive};
use construction::build_simulation;
pub(crate) use construction::{ClipParts, ModeSelection};
use forces::ForceSchedule;
pub use frame::FrameContacts;
use frame::{ClipFrame, ModalFrame};
use resumable::ResumableRun;
use scene::Membership;
pub use scene::SceneMember;
use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

/// Named texts that travel with a clip through files: data that the clip itself does not know, such as its rigs.
pub type Texts = BTreeMap<String, String>;

/// A simulated clip.
#[derive(Debug)]
pub struct Clip {
    body: Arc<Body>,
    membership: Membership,
    /// Modes of the modal method.
    modes: Option<Arc<Modes>>,
    contact: Option<PreparedContact>,
    /// Parting of the surface with the modal method, in place of contacts.
    parting: Option<Parting>,
    presenter: Presenter,
    settings: ClipSettings,
    frames: RwLock<Vec<ClipFrame>>,
    /// State from which the clip can be extended; locked while it is extended.
    run: Exclusive<Option<ResumableRun>>,
    loop_gap: Option<f64>,
    texts: Texts,
}

impl Clip {
    /// Appends frames for the poses that follow, with forces at each of them. The last two frames are simulated again, now that the poses after them
    /// are known; a clip of fewer than six frames is simulated again as a whole. The clip then equals one simulated at once.
    ///
    /// # Errors
    /// As [`Shot::simulate`](crate::shot::Shot::simulate); the clip then stays as it was. Cycles cannot be extended, and clips of a scene only
    /// [together](Self::extend_scene).
    pub fn extend(
        &self,
        poses: &[Pose],
        forces: Option<&dyn FrameForces>,
        progress: &dyn Progress,
    ) -> Result<(), ClipError> {
        self.append_alone((poses, forces, &[]), false, progress)
    }

    /// Extends as [`extend`](Self::extend) does, with the pins of the new frames: tracks of the clip's points, in their order, with an entry for each
    /// new pose. [`extend`](Self::extend) holds pins at their last targets.
    ///
    /// # Errors
    /// As [`extend`](Self::extend); tracks of other points or lengths.
    pub fn extend_pinned(
        &self,
        poses: &[Pose],
        forces: Option<&dyn FrameForces>,
        pins: &[PinTrack],
        progress: &dyn Progress,
    ) -> Result<(), ClipError> {
        self.append_alone((poses, forces, pins), false, progress)
    }

    /// Appends frames that start afresh, like a clip of their own: settled in their first pose or run in to it, regardless of the frames before. It
    /// serves cuts, where a character is elsewhere from one frame to the next. Colliders continue their motions.
    ///
    /// # Errors
    /// As [`extend`](Self::extend).
    pub fn restart(
        &self,
        poses: &[Pose],
        forces: Option<&dyn FrameForces>,
        progress: &dyn Progress,
    ) -> Result<(), ClipError> {
        self.append_alone((poses, forces, &[]), true, progress)
    }

    /// Appends frames to a clip of a body alone, which continue it or start afresh (`anew`).
    pub(crate) fn append_alone(
        &self,
        new: ClipDrive,
        anew: bool,
        progress: &dyn Progress,
    ) -> Result<(), ClipError> {
        if self.membership.is_shared() {
            return Err(ClipError::SceneExtension);
        }
        Self::append(&[self], &[new], anew, progress)
    }

    /// Builds a new simulation of its body, without a pose.
    fn build_bodies(&self) -> Result<Bodies, ClipError> {
        let (modes, contact) = (self.modes.as_ref(), self.contact.as_ref());
        let simulation = build_simulation(&self.body, modes, contact, &self.settings)?;
        Ok(Bodies::Alone(Box::new(simulation)))
    }

    /// Returns the number of frames.
    pub fn len(&self) -> usize {
        self.read_frames().len()
    }

    /// Returns whether there are no frames; never true for a simulated clip.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the body.
    pub fn body(&self) -> &Arc<Body> {
        &self.body
    }

    /// Returns the body with its carried surfaces.
    pub fn surfaces(&self) -> &CarriedSurfaces {
        self.presenter.surfaces()
    }

    /// Returns the modes of the modal method; `None` with other methods.
    pub fn modes(&self) -> Option<&Arc<Modes>> {
        self.modes.as_ref()
    }

    /// Returns the settings of contact; `None` without contact.
    pub fn contact(&self) -> Option<&Contact> {
        self.contact.as_ref().map(PreparedContact::contact)
    }

    /// Replaces the texts that travel with the clip.
    pub fn with_texts(self, texts: Texts) -> Self {
        Self { texts, ..self }
    }

    /// Returns the texts that travel with the clip, by name.
    pub fn texts(&self) -> &Texts {
        &self.texts
    }

    /// Returns the settings, with the damping of the body in place of `None`.
    pub fn settings(&self) -> &ClipSettings {
        &self.settings
    }

    /// Returns the positions of all nodes in a frame, and their sway where it is known, metres.
    ///
    /// # Panics
    /// If there is no such frame.
    pub(crate) fn positions_and_sway(&self, frame: usize) -> (Vec<Vec3>, Option<Vec<Vec3>>) {
        let frames = self.read_frames();
        let frame = &frames[frame];
        let nodes = 0..frame.lattice.points.len();
        let positions = nodes.map(|v| frame.lattice.world(v)).collect();
        let sway = frame.presentation.as_ref().and_then(|shown| shown.sway());
        let vector = |v: &[f32; 3]| Vec3::from(v.map(f64::from));
        (
            positions,
            sway.map(|sway| sway.iter().map(vector).collect()),
        )
    }

    /// Returns the number of inverted cells in each frame.
    pub fn inverted_cells(&self) -> Vec<u32> {
        self.read_frames().iter().map(|f| f.inverted).collect()
    }

    /// Returns the number of cells in each frame that the bones alone invert, whatever the flesh does. With the modal method these are cells of the
    /// skin's own map, with others cells of the joints' elastic shape. `None` where sway is not separated from that shape.
    pub fn folded_cells(&self) -> Option<Vec<u32>> {
        self.read_frames().iter().map(|f| f.folded).collect()
    }

    /// Returns the number of steps in each frame, with the hyperelastic method, that ended short of their tolerance. The flesh went on from the best
    /// point found.
    pub fn unconverged_steps(&self) -> Vec<u32> {
        self.read_frames().iter().map(|f| f.unconverged).collect()
    }

    /// Returns the number of functions of the body that were active at each frame: all of them, unless the motion adapts.
    pub fn active_functions(&self) -> Vec<u32> {
        self.read_frames().iter().map(|f| f.active).collect()
    }

    /// Returns the largest distance between a lattice vertex at the end and at the beginning of a cycle, metres; `None` for other clips.
    pub fn loop_gap(&self) -> Option<f64> {
        self.loop_gap
    }

    /// Returns the memory of the frames, bytes.
    pub fn bytes(&self) -> usize {
        let frames = self.read_frames();
        let points: usize = frames.iter().map(|f| f.lattice.points.len()).sum();
        let modal = |f: &ModalFrame| {
            size_of::<ModalFrame>() + 8 * f.amplitudes.len() + size_of_val(f.pose.maps())
        };
        let modal: usize = frames.iter().flat_map(|f| &f.modal).map(|m| modal(m)).sum();
        let reaches = frames.iter().flat_map(|f| &f.presentation);
        points * size_of::<[f32; 3]>()
            + modal
            + reaches.map(|r| r.bytes()).sum::<usize>()
            + frames.iter().map(|f| f.contacts.bytes()).sum::<usize>()
            + frames
                .iter()
                .filter_map(|f| f.parted.get())
                .map(PartingOffsets::bytes)
                .sum::<usize>()
            + frames.len() * (size_of::<ClipFrame>() + size_of::<LocalPositions>())
    }

    fn read_frames(&self) -> std::sync::RwLockReadGuard<'_, Vec<ClipFrame>> {
        self.frames.read().unwrap_or_else(PoisonError::into_inner)
    }
}

fn clamp_frame(frame: i64, frames: usize) -> usize {
    usize::try_from(frame)
        .unwrap_or(0)
        .min(frames.saturating_sub(1))
}

fn check(body: &Body, poses: &[Pose], first: usize) -> Result<(), ClipError> {
    for (i, pose) in poses.iter().enumerate() {
        let frame = first + i;
        pose.check(body.skeleton())
            .map_err(|source| ClipError::Pose { frame, source })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
