// SPDX-License-Identifier: MIT OR Apache-2.0
//! File format of a shot. The container is that of [`crate::store`]. Contents of files are checked like arguments.

use super::restarts::split_at_restarts;
use super::{Shot, ShotModes, clone_rigs};
use crate::clip::{ClipSettings, PinTrack, Texts};
use crate::contact::StoredContact;
use crate::dynamics::Method;
use crate::modal::{DeformSettings, StoredModes};
use crate::present::CarriedSurfaces;
use crate::range::is_storable;
use crate::rig::{format_rigs, parse_rigs};
use crate::skeleton::Pose;
use crate::store::{self, StoreError, named_texts, text};
use serde::{Deserialize, Deserializer, Serialize};
use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

/// Kind of the file.
const FILE_KIND: &str = "shot";

/// All of a shot. `B` is the body with its carried surfaces, borrowed when writing.
#[derive(Serialize, Deserialize)]
struct StoredShot<'a, B> {
    #[serde(deserialize_with = "text")]
    name: String,
    body: B,
    poses: Cow<'a, [Pose]>,
    restarts: Vec<u64>,
    settings: ClipSettings,
    contact: Option<StoredContact<'a>>,
    modes: StoredShotModes,
    show: DeformSettings,
    #[serde(deserialize_with = "text")]
    rigs: String,
    controls: Option<Cow<'a, [f64]>>,
    pins: Cow<'a, [PinTrack]>,
    #[serde(deserialize_with = "named_texts")]
    texts: Texts,
}

#[derive(Serialize, Deserialize)]
enum StoredShotModes {
    Usual,
    Lowest(u32),
    These(StoredModes),
}

impl Shot {
    /// Writes the shot with its body to a file. On an error an earlier file stays. Apart from the body it takes 96 bytes per bone of every pose.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn save(&self, path: &Path) -> Result<(), StoreError> {
        let unwritable = |what| StoreError::Unwritable {
            path: path.to_owned(),
            what,
        };
        let rigs = format_rigs(&clone_rigs(&self.rigs)).map_err(|e| unwritable(e.to_string()))?;
        let damped = self
            .settings
            .simulation
            .clone()
            .for_body(self.surfaces.body());
        let simulation = damped.map_err(|e| unwritable(e.to_string()))?;
        let stored = StoredShot {
            name: self.name.clone(),
            body: &self.surfaces,
            poses: Cow::Borrowed(&self.poses),
            restarts: self.restarts.iter().map(|&r| r as u64).collect(),
            show: simulation.deform_settings(),
            settings: ClipSettings {
                simulation,
                ..self.settings.clone()
            },
            contact: self.contact.as_ref().map(StoredContact::new),
            modes: match &self.modes {
                ShotModes::Usual => StoredShotModes::Usual,
                ShotModes::Lowest(count) => {
                    StoredShotModes::Lowest(u32::try_from(*count).unwrap_or(u32::MAX))
                }
                ShotModes::These(modes) => StoredShotModes::These(StoredModes::new(modes)),
            },
            rigs,
            controls: self.controls.as_deref().map(Cow::Borrowed),
            pins: Cow::Borrowed(&self.pins),
            texts: self.texts.clone(),
        };
        store::save(path, FILE_KIND, &stored)
    }

    /// Reads a shot that [`save`](Self::save) wrote.
    ///
    /// # Errors
    /// [`StoreError`]: not a Thew file, another version or kind, damaged, refused by the disk.
    pub fn load(path: &Path) -> Result<Self, StoreError> {
        store::load::<LoadedShot>(path, FILE_KIND).map(|read| read.0)
    }
}

/// A shot that was read.
struct LoadedShot(Shot);

impl<'de> Deserialize<'de> for LoadedShot {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let stored = StoredShot::<CarriedSurfaces>::deserialize(deserializer)?;
        let shot = stored.into_shot().map_err(serde::de::Error::custom)?;
        Ok(Self(shot))
    }
}

impl StoredShot<'_, CarriedSurfaces> {
    /// Builds the shot. Returns a sentence for parts that do not fit together.
    fn into_shot(mut self) -> Result<Shot, String> {
        let fits = |good: bool, what: &str| if good { Ok(()) } else { Err(what.to_owned()) };
        let body = self.body.body().clone();
        self.settings.check().map_err(|e| e.to_string())?;
        fits(!self.poses.is_empty(), "it has no poses")?;
        let wrong = self.poses.iter().map(|pose| pose.check(body.skeleton()));
        let wrong = wrong
            .enumerate()
            .find_map(|(i, pose)| Some((i, pose.err()?)));
        if let Some((i, error)) = wrong {
            return Err(format!("pose {i}: {error}"));
        }
        let modes = match self.modes {
            StoredShotModes::Usual => ShotModes::Usual,
            StoredShotModes::Lowest(count) => ShotModes::Lowest(count as usize),
            StoredShotModes::These(modes) => {
                let modes = modes.into_modes(&body);
                ShotModes::These(Arc::new(modes.ok_or("its modes do not fit its body")?))
            }
        };
        let modal = self.settings.simulation.method == Method::Modal;
        fits(
            modal || matches!(modes, ShotModes::Usual),
            "its modes do not belong to its method",
        )?;
        let contact = self.contact.map(StoredContact::into_contact).transpose();
        let contact = contact.map_err(|e| e.to_string())?;
        if let Some(contact) = &contact {
            let checked = contact.check(body.surface());
            let checked = checked.and_then(|()| contact.check_clip(self.poses.len()));
            checked.map_err(|e| e.to_string())?;
            fits(
                self.settings.simulation.method.supports_contact(),
                "its method does not support contact",
            )?;
        }
        let rigs = parse_rigs("its list of rigs", &self.rigs).map_err(|e| e.to_string())?;
        let expected = self.poses.len().checked_mul(rigs.len());
        let controls = self.controls.as_ref();
        fits(
            controls.is_none_or(|c| Some(c.len()) == expected && c.iter().all(|&c| is_storable(c))),
            "its controls do not fit its rigs and poses",
        )?;
        let pins = self.pins.iter();
        fits(
            pins.clone().all(|pin| pin.fits(self.poses.len())),
            "its pins do not fit its poses",
        )?;
        let restarts = self.restarts.iter().map(|&r| usize::try_from(r));
        let restarts = restarts.collect::<Result<Vec<_>, _>>();
        let restarts = restarts.map_err(|e| e.to_string())?;
        let tracks = self.settings.tracks.check_frames(self.poses.len());
        tracks.map_err(|e| e.to_string())?;
        split_at_restarts(self.poses.len(), &restarts).map_err(|e| e.to_string())?;
        fits(
            restarts.is_empty() || !self.settings.cyclic,
            "it is a cycle that begins anew",
        )?;
        self.settings.simulation.set_deform_settings(self.show);
        Ok(Shot {
            restarts,
            name: self.name,
            surfaces: self.body,
            poses: self.poses.into_owned(),
            settings: self.settings,
            modes,
            contact,
            rigs: rigs.into_iter().map(Arc::new).collect(),
            controls: self.controls.map(Cow::into_owned),
            pins: self.pins.into_owned(),
            texts: self.texts,
        })
    }
}
