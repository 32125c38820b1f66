// SPDX-License-Identifier: MIT OR Apache-2.0
//! File format of a clip: its body, its displayed frames, and the state to extend it from. The container is that of [`crate::store`]. Contents of
//! files are checked like arguments.

use super::construction::{build_simulation, prepare_parting};
use super::forces::DriveAtFrame;
use super::frame::{ClipFrame, FrameContacts, ModalFrame};
use super::resumable::{MAX_RESTARTED_FRAMES, OPEN_FRAMES, ResumableRun};
use super::scene::Membership;
use super::{Clip, ClipSettings, PinTrack, Texts};
use crate::Vec3;
use crate::body::{Body, check_factors};
use crate::contact::{BuriedBone, ContactPoint, PreparedContact, StoredContact};
use crate::dynamics::Scene;
use crate::exclusive::{Exclusive, LockError};
use crate::kernel::LocalPositions;
use crate::modal::{DeformSettings, Modes, StoredModes};
use crate::present::{CarriedSurfaces, Presentation, Presenter};
use crate::progress::Silent;
use crate::range::{MAX_COORDINATE, all_storable, is_storable};
use crate::skeleton::Pose;
use crate::store::{self, StoreError, named_texts};
use serde::{Deserialize, Deserializer, Serialize};
use std::borrow::Cow;
use std::path::Path;
use std::sync::{Arc, RwLock};

/// Kind of the file.
const FILE_KIND: &str = "clip";

/// All of a clip. `B` is the body with its carried surfaces, borrowed when writing.
#[derive(Serialize, Deserialize)]
struct StoredClip<'a, B> {
    body: B,
    membership: Cow<'a, Membership>,
    modal: Option<(StoredModes, DeformSettings)>,
    settings: ClipSettings,
    contact: Option<StoredContact<'a>>,
    frames: Vec<StoredFrame<'a>>,
    run: Option<StoredRun<'a>>,
    loop_gap: Option<f64>,
    #[serde(deserialize_with = "named_texts")]
    texts: Texts,
}

#[derive(Serialize, Deserialize)]
struct StoredFrame<'a> {
    origin: [f32; 3],
    points: Cow<'a, [[f32; 3]]>,
    inverted: u32,
    folded: Option<u32>,
    unconverged: u32,
    active: u32,
    shown: StoredDisplay<'a>,
    contacts: Cow<'a, [ContactPoint]>,
    held_cells: u32,
    buried: Cow<'a, [BuriedBone]>,
}

#[derive(Serialize, Deserialize)]
enum StoredDisplay<'a> {
    Skin(Cow<'a, Presentation>),
    Modes {
        amplitudes: Cow<'a, [f64]>,
        pose: Cow<'a, Pose>,
    },
}

#[derive(Serialize, Deserialize)]
struct StoredRun<'a> {
    begun: u64,
    poses: Cow<'a, [Pose]>,
    forces: Vec<Option<Cow<'a, [Vec3]>>>,
    stiffness: Vec<Option<Cow<'a, [f64]>>>,
    pins: Cow<'a, [PinTrack]>,
    state: Cow<'a, [u8]>,
}

impl Clip {
    /// Writes the clip with its body to a file. On an error an earlier file stays. Apart from the body it takes about 24 bytes per lattice vertex and
    /// 64 per bone of every frame.
    ///
    /// # Errors
    /// [`StoreError`]; a clip that the caller is extending.
    pub fn save(&self, path: &Path) -> Result<(), StoreError> {
        let saved = self.with_stored(|stored| store::save(path, FILE_KIND, &stored));
        saved.unwrap_or_else(|in_use| {
            Err(StoreError::Unwritable {
                path: path.to_owned(),
                what: in_use.to_string(),
            })
        })
    }

    fn with_stored<T>(
        &self,
        work: impl FnOnce(StoredClip<'_, &CarriedSurfaces>) -> T,
    ) -> Result<T, LockError> {
        // Extending changes both the run and the frames.
        let run = self.run.lock()?;
        let frames = self.read_frames();
        let modal = |modes: &Arc<Modes>| {
            (
                StoredModes::new(modes),
                self.settings.simulation.deform_settings(),
            )
        };
        Ok(work(StoredClip {
            body: self.presenter.surfaces(),
            membership: Cow::Borrowed(&self.membership),
            modal: self.modes.as_ref().map(modal),
            settings: self.settings.clone(),
            contact: self.contact().map(StoredContact::new),
            frames: frames.iter().filter_map(ClipFrame::to_stored).collect(),
            run: run.as_ref().map(ResumableRun::to_stored),
            loop_gap: self.loop_gap,
            texts: self.texts.clone(),
        }))
    }

    /// Reads a clip that [`save`](Self::save) wrote. Every frame shows the same as before without a new simulation, and the clip can be extended as
    /// before.
    ///
    /// # Errors
    /// [`StoreError`]: not a Thew file, another version or kind, damaged, refused by the disk.
    pub fn load(path: &Path) -> Result<Self, StoreError> {
        store::load::<LoadedClip>(path, FILE_KIND).map(|read| read.0)
    }
}

/// A clip that was read.
struct LoadedClip(Clip);

impl<'de> Deserialize<'de> for LoadedClip {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let stored = StoredClip::<CarriedSurfaces>::deserialize(deserializer)?;
        let clip = stored.into_clip().map_err(serde::de::Error::custom)?;
        Ok(Self(clip))
    }
}

impl StoredClip<'_, CarriedSurfaces> {
    /// Builds the clip. Returns a sentence for parts that do not fit together.
    fn into_clip(mut self) -> Result<Clip, String> {
        let body = self.body.body().clone();
        let modes = self.take_modes(&body)?;
        self.settings.check().map_err(|e| e.to_string())?;
        let contact = self.take_contact(&body)?;
        let modal = self.settings.simulation.method == crate::dynamics::Method::Modal;
        fits(
            modal == modes.is_some(),
            "its modes do not belong to its method",
        )?;
        fits(!self.frames.is_empty(), "it has no frames")?;
        let frames: Option<Vec<ClipFrame>> = self
            .frames
            .into_iter()
            .map(|frame| frame.into_frame(&body, modes.as_deref()))
            .collect();
        let frames = frames.ok_or("one of its frames does not fit its body")?;
        let cyclic = self.settings.cyclic;
        fits(
            !(self.run.is_some() && cyclic)
                && self.loop_gap.is_some() == cyclic
                && self
                    .loop_gap
                    .is_none_or(|gap| gap >= 0.0 && is_storable(gap)),
            "it says both that it is a cycle and that it is not",
        )?;
        let run = match self.run {
            Some(run) => {
                let run = run.into_run(&body, frames.len());
                Some(run.ok_or("what it needs to continue does not fit its body")?)
            }
            None => None,
        };
        let membership = self.membership.into_owned();
        fits(
            (membership.body as usize) < membership.names.len()
                && !(membership.is_shared() && contact.is_none()),
            "it belongs to a scene that cannot exist",
        )?;
        if let Some(state) = run.as_ref().and_then(ResumableRun::resume_state) {
            // The state of a scene can be checked in full only with all its clips; check the part of this body.
            let (own, bodies) = (membership.body as usize, membership.names.len());
            let (state, contact) = match membership.is_shared() {
                true => (Scene::body_state(state, own, bodies), None),
                false => (Some(state), contact.as_ref()),
            };
            let state = state.ok_or("what it needs to continue does not belong to its scene")?;
            let restored = build_simulation(&body, modes.as_ref(), contact, &self.settings)
                .and_then(|mut s| s.restore(state));
            restored.map_err(|e| e.to_string())?;
        }
        Ok(Clip {
            parting: prepare_parting(contact.as_ref(), modes.is_some()),
            presenter: Presenter::with_modes(
                self.body,
                modes.clone(),
                self.settings.simulation.deform_settings(),
            ),
            body,
            membership,
            modes,
            contact,
            settings: self.settings,
            frames: RwLock::new(frames),
            run: Exclusive::new(run),
            loop_gap: self.loop_gap,
            texts: self.texts,
        })
    }

    /// Takes the modes with the settings of their display.
    fn take_modes(&mut self, body: &Arc<Body>) -> Result<Option<Arc<Modes>>, String> {
        let Some((modes, show)) = self.modal.take() else {
            return Ok(None);
        };
        let modes = modes
            .into_modes(body)
            .ok_or("its modes do not fit its body")?;
        self.settings.simulation.set_deform_settings(show);
        Ok(Some(Arc::new(modes)))
    }

    /// Takes the contact settings, prepared for the body.
    fn take_contact(&mut self, body: &Arc<Body>) -> Result<Option<PreparedContact>, String> {
        let Some(contact) = self.contact.take() else {
            return Ok(None);
        };
        fits(
            self.settings.simulation.method.supports_contact(),
            "its method does not support contact",
        )?;
        let contact = contact
            .into_contact()
            .and_then(|c| c.prepare(body, &Silent));
        contact.map(Some).map_err(|e| e.to_string())
    }
}

/// Returns `what` as the error unless the part is good.
fn fits(good: bool, what: &str) -> Result<(), String> {
    if good { Ok(()) } else { Err(what.to_owned()) }
}

impl ClipFrame {
    /// Returns the stored form; `None` for a frame without display data, which no simulation produces.
    fn to_stored(&self) -> Option<StoredFrame<'_>> {
        let shown = match (&self.modal, &self.presentation) {
            (Some(modal), _) => StoredDisplay::Modes {
                amplitudes: Cow::Borrowed(&modal.amplitudes),
                pose: Cow::Borrowed(&modal.pose),
            },
            (None, Some(presentation)) => StoredDisplay::Skin(Cow::Borrowed(presentation)),
            (None, None) => return None,
        };
        Some(StoredFrame {
            origin: self.lattice.origin,
            points: Cow::Borrowed(&self.lattice.points),
            inverted: self.inverted,
            folded: self.folded,
            unconverged: self.unconverged,
            active: self.active,
            shown,
            contacts: Cow::Borrowed(&self.contacts.points),
            held_cells: self.contacts.held_cells,
            buried: Cow::Borrowed(&self.contacts.buried),
        })
    }
}

impl StoredFrame<'_> {
    fn into_frame(self, body: &Body, modes: Option<&Modes>) -> Option<ClipFrame> {
        let (nodes, cells) = (body.node_count(), body.lattice().cells().len());
        let count = |n: u32| n as usize <= cells;
        let mut numbers = self.points.iter().flatten().chain(&self.origin);
        let mut good = self.points.len() == nodes
            && numbers.all(|&x| f64::from(x).abs() <= MAX_COORDINATE)
            && count(self.inverted)
            && self.active as usize <= nodes
            && self.folded.is_none_or(count)
            && count(self.held_cells)
            && self.contacts.iter().all(ContactPoint::is_valid);
        let bones = body.skeleton().len();
        good &= self.buried.iter().all(|b| b.is_valid(bones));
        let (presentation, modal) = match self.shown {
            StoredDisplay::Skin(presentation) => {
                good &= modes.is_none() && presentation.fits(bones, nodes);
                (Some(Arc::new(presentation.into_owned())), None)
            }
            StoredDisplay::Modes { amplitudes, pose } => {
                good &= modes.is_some_and(|modes| modes.len() == amplitudes.len())
                    && amplitudes.iter().all(|q| q.abs() <= MAX_COORDINATE)
                    && pose.maps().len() == bones
                    && self.folded.is_some();
                let modal = ModalFrame {
                    amplitudes: amplitudes.into_owned(),
                    pose: pose.into_owned(),
                };
                (None, Some(Arc::new(modal)))
            }
        };
        let lattice = LocalPositions {
            origin: self.origin,
            points: self.points.into_owned(),
            placed: body.basis().coarse_len(),
        };
        good.then(|| ClipFrame {
            lattice: Arc::new(lattice),
            presentation,
            inverted: self.inverted,
            folded: self.folded,
            unconverged: self.unconverged,
            active: self.active,
            modal,
            contacts: FrameContacts {
                points: self.contacts.into_owned().into(),
                held_cells: self.held_cells,
                buried: self.buried.into_owned().into(),
            },
            parted: Arc::default(),
        })
    }
}

impl ResumableRun {
    fn to_stored(&self) -> StoredRun<'_> {
        let forces = |at: &'_ DriveAtFrame| at.forces.as_deref().map(|f| Cow::Owned(f.to_vec()));
        let stiffness =
            |at: &'_ DriveAtFrame| at.stiffness.as_deref().map(|s| Cow::Owned(s.to_vec()));
        StoredRun {
            begun: self.begun as u64,
            poses: Cow::Borrowed(&self.poses),
            forces: self.forces.iter().map(forces).collect(),
            stiffness: self.forces.iter().map(stiffness).collect(),
            pins: Cow::Borrowed(&self.pins),
            state: Cow::Borrowed(&self.state),
        }
    }

    /// Returns the state that the clip continues from; `None` where it is simulated again from the start.
    fn resume_state(&self) -> Option<&[u8]> {
        (self.frames > MAX_RESTARTED_FRAMES).then_some(&self.state)
    }
}

impl StoredRun<'_> {
    fn into_run(self, body: &Body, frames: usize) -> Option<ResumableRun> {
        let begun = usize::try_from(self.begun).ok()?;
        let frames = frames.checked_sub(begun).filter(|&own| own > 0)?;
        let (nodes, kept) = (body.node_count(), frames.min(MAX_RESTARTED_FRAMES));
        let sound = |f: &Option<Cow<'_, [Vec3]>>| {
            f.as_ref()
                .is_none_or(|f| f.len() == nodes && f.iter().all(all_storable))
        };
        let good = self.poses.len() == kept
            && self.poses.iter().all(|p| p.check(body.skeleton()).is_ok())
            && self.forces.len() == kept
            && self.forces.iter().all(sound)
            && self.stiffness.len() == kept
            && self
                .stiffness
                .iter()
                .flatten()
                .all(|factors| check_factors(body, factors).is_ok())
            && self.pins.iter().all(|pin| pin.fits(frames))
            && (frames <= OPEN_FRAMES || !self.state.is_empty());
        good.then(|| ResumableRun {
            begun,
            frames,
            poses: self.poses.into_owned(),
            forces: (self.forces.into_iter().zip(self.stiffness))
                .map(|(forces, stiffness)| DriveAtFrame {
                    forces: forces.map(|f| Arc::from(f.into_owned())),
                    stiffness: stiffness.map(|s| Arc::from(s.into_owned())),
                })
                .collect(),
            pins: self.pins.into_owned(),
            state: self.state.into_owned().into(),
        })
    }
}

#[cfg(test)]
mod tests;
