// SPDX-License-Identifier: MIT OR Apache-2.0
//! A simulated clip: the unit of preview and bake.
//!
//! ```
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/shapes/arm.rs"));
//! # fn main() -> Result<(), Any> {
//! use thew::clip::{Clip, ClipSettings};
//! use thew::dynamics::{Method, Settings};
//! use thew::present::SurfaceId;
//!
//! let settings = ClipSettings {
//!     fps: 24.0,
//!     method: Method::Warped,
//!     simulation: Settings::default(),
//!     preroll: 0,
//!     cyclic: false,
//! };
//! // An arm of flesh (`examples/shapes/arm.rs`) whose elbow bends: a clip made in two parts is the clip made in one.
//! let poses = (0..12).map(|frame| bent(0.08 * frame as f64)).collect::<Result<Vec<_>, _>>()?;
//! let body = body()?;
//! let whole = Clip::simulate(body.clone(), &poses, None, settings, &Silent)?;
//! let parts = Clip::simulate(body, &poses[..5], None, settings, &Silent)?;
//! parts.extend(&poses[5..], None, &Silent)?;
//! let skin = SurfaceId::OWN;
//! assert_eq!(whole.positions(11, skin)?, parts.positions(11, skin)?);
//! # Ok(())
//! # }
//! ```
//!
//! Every frame's lattice is kept (12 bytes a vertex), so frames are looked up, never raced: whatever the
//! order in which they are visited, they show the same. A [`Clip`] may be read from several threads while
//! it is extended by one.
//!
//! Bones move C¹ between frames with knowledge of the frames around. The last intervals of a clip lack that knowledge, so
//! [`Clip::extend`] makes them again: a clip that is made in two parts is, bit for bit, the clip made
//! in one. [`Clip::save`] writes it with its body to one file; what [`Clip::load`] reads shows and goes on as the saved one.

mod bodies;
mod cycle;
mod error;
mod forces;
mod frame;
mod making;
mod notes;
mod period;
mod resumable;
mod run_in;
mod scene;
mod shown;
mod stored;

pub use error::ClipError;
pub use forces::FrameForces;

use crate::body::Body;
use crate::contact::{Contact, Parted, Parting, PreparedContact};
use crate::dynamics::{Method, Settings};
use crate::exclusive::Exclusive;
use crate::kernel::LocalPositions;
use crate::modal::Modes;
use crate::present::{CarriedSurfaces, Presenter};
use crate::progress::Progress;
use crate::skeleton::Pose;
use bodies::{Bodies, Drive};
use forces::ForceSchedule;
pub use frame::FrameContacts;
use frame::{ClipFrame, ModalFrame};
use making::fresh;
pub(crate) use making::{ModesOf, Ways};
use resumable::ResumableRun;
use scene::Membership;
pub use scene::SceneMember;
use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

/// Most frames of run-in: each is kept as a pose.
const LONGEST_PREROLL: usize = 100_000;

/// Texts by name that travel with a clip through files: what it does not know itself, such as its rigs.
pub type Texts = BTreeMap<String, String>;

/// How a clip is simulated.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct ClipSettings {
    /// Frames per second, `fps / fps_base` of the scene.
    pub fps: f64,
    /// The method of motion.
    pub method: Method,
    /// Steps, gravity and damping.
    pub simulation: Settings,
    /// Frames of run-in before the first: the joints come from a standstill and reach the first pose with its velocity,
    /// while the whole travels on. Without it the clip starts in static equilibrium.
    pub preroll: usize,
    /// The poses are a cycle: the clip is the steady state that repeats with them.
    pub cyclic: bool,
}

impl ClipSettings {
    /// Refuses what nothing can run with.
    ///
    /// # Errors
    /// A frame rate or a run-in out of its range; settings of the simulation.
    pub fn check(&self) -> Result<(), ClipError> {
        if !(0.1..=1e4).contains(&self.fps) {
            return Err(ClipError::Fps(self.fps));
        }
        if self.preroll > LONGEST_PREROLL {
            return Err(ClipError::Preroll(self.preroll));
        }
        Ok(self.simulation.check()?)
    }
}

/// A simulated clip.
#[derive(Debug)]
pub struct Clip {
    body: Arc<Body>,
    membership: Membership,
    /// Of the modal method.
    modes: Option<Arc<Modes>>,
    contact: Option<PreparedContact>,
    /// Of the modal method, in place of contacts.
    parting: Option<Parting>,
    presenter: Presenter,
    settings: ClipSettings,
    frames: RwLock<Vec<ClipFrame>>,
    /// What is needed to go on; locked by whoever extends.
    run: Exclusive<Option<ResumableRun>>,
    loop_gap: Option<f64>,
    texts: Texts,
}

impl Clip {
    /// Appends frames for the poses that follow, with forces at each of them. The last two frames so far are made again, now that it
    /// is known where the bones go from there, fewer than six as a whole: the clip is then the same as if simulated at once.
    ///
    /// # Errors
    /// As [`simulate`](Self::simulate); the clip then stays as it was. Cycles cannot be extended, and clips of a scene only
    /// [together](Self::extend_scene).
    pub fn extend(
        &self,
        poses: &[Pose],
        forces: Option<&dyn FrameForces>,
        progress: &dyn Progress,
    ) -> Result<(), ClipError> {
        self.append_alone((poses, forces), false, progress)
    }

    /// Appends frames that begin anew: as a clip of their own, settled in their first pose or run in to it, whatever was before. It
    /// serves cuts, where a character is elsewhere from one frame to the next. Colliders go on along their motions.
    ///
    /// # Errors
    /// As [`extend`](Self::extend).
    pub fn restart(
        &self,
        poses: &[Pose],
        forces: Option<&dyn FrameForces>,
        progress: &dyn Progress,
    ) -> Result<(), ClipError> {
        self.append_alone((poses, forces), true, progress)
    }

    fn append_alone(
        &self,
        new: Drive,
        anew: bool,
        progress: &dyn Progress,
    ) -> Result<(), ClipError> {
        if self.membership.is_shared() {
            return Err(ClipError::SceneExtension);
        }
        Self::append(&[self], &[new], anew, progress)
    }

    /// Its body, which has not begun.
    fn again(&self) -> Result<Bodies, ClipError> {
        let (modes, contact) = (self.modes.as_ref(), self.contact.as_ref());
        let simulation = fresh(&self.body, modes, contact, self.settings)?;
        Ok(Bodies::Alone(Box::new(simulation)))
    }

    /// Number of frames.
    pub fn len(&self) -> usize {
        self.read().len()
    }

    /// No frames; never true of a clip that was simulated.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The body.
    pub fn body(&self) -> &Arc<Body> {
        &self.body
    }

    /// The body and what it carries.
    pub fn surfaces(&self) -> &CarriedSurfaces {
        self.presenter.surfaces()
    }

    /// The modes of the modal method.
    pub fn modes(&self) -> Option<&Arc<Modes>> {
        self.modes.as_ref()
    }

    /// How it touches.
    pub fn contact(&self) -> Option<&Contact> {
        self.contact.as_ref().map(PreparedContact::contact)
    }

    /// The same with texts that travel with it.
    pub fn with_texts(self, texts: Texts) -> Self {
        Self { texts, ..self }
    }

    /// Texts that travel with it, by name.
    pub fn texts(&self) -> &Texts {
        &self.texts
    }

    /// How it was simulated.
    pub fn settings(&self) -> ClipSettings {
        self.settings
    }

    /// Number of inverted cells in each frame.
    pub fn inverted_cells(&self) -> Vec<u32> {
        self.read().iter().map(|f| f.inverted).collect()
    }

    /// Number of cells that the bones alone invert in each frame, which nothing that the flesh does undoes: with the modal method those of the
    /// skin's own map, with others those of the joints' elastic shape; none where sway is not parted from that.
    pub fn folded_cells(&self) -> Option<Vec<u32>> {
        self.read().iter().map(|f| f.folded).collect()
    }

    /// Number of steps in each frame, of the hyperelastic method, that ended short of their tolerance: the flesh went on from the best
    /// point that was found.
    pub fn unconverged_steps(&self) -> Vec<u32> {
        self.read().iter().map(|f| f.unconverged).collect()
    }

    /// Of a cycle: the largest distance, metres, between a lattice vertex at its end and at its beginning.
    pub fn loop_gap(&self) -> Option<f64> {
        self.loop_gap
    }

    /// Bytes that the frames take.
    pub fn bytes(&self) -> usize {
        let frames = self.read();
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
                .map(Parted::bytes)
                .sum::<usize>()
            + frames.len() * (size_of::<ClipFrame>() + size_of::<LocalPositions>())
    }

    fn read(&self) -> std::sync::RwLockReadGuard<'_, Vec<ClipFrame>> {
        self.frames.read().unwrap_or_else(PoisonError::into_inner)
    }
}

fn clamped(frame: i64, frames: usize) -> usize {
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
