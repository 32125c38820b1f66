// SPDX-License-Identifier: MIT OR Apache-2.0
//! A motion through keyframes as plain data for files: its body, the results of the preprocess and all changes since. The splines are solved again,
//! to the same bits. What was read is checked like arguments.

use super::deformable::StoredSolid;
use super::frame_writer::FrameWriter;
use super::linear::{Linearisation, StoredLinearisation};
use super::motion::check_weight;
use super::options::{RestShape, SpaceSettings, SpacetimeSettings};
use super::partial::PartialKeyframe;
use super::prepare::{Ghost, check_keyframes};
use super::rigid::RigidPlacement;
use super::solution::{KeyVelocities, MotionSolution};
use super::space::StoredSpace;
use super::{Deformable, ElasticSolid, Spacetime};
use crate::Vec3;
use crate::range::{all_storable, is_storable};
use crate::shell::Shell;
use crate::store::{self, StoreError, texts};
use serde::{Deserialize, Deserializer, Serialize};
use std::any::Any;
use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

/// Kind of the file.
const FILE_KIND: &str = "spacetime";

/// A body that moves.
#[derive(Serialize, Deserialize)]
enum StoredDeformable<'a> {
    Shell(Cow<'a, Shell>),
    Solid(StoredSolid<'a>),
}

#[derive(Serialize, Deserialize)]
struct StoredSpacetime<'a> {
    body: StoredDeformable<'a>,
    space: StoredSpace<'a>,
    linearisations: Vec<StoredLinearisation<'a>>,
    linearisation_of: Cow<'a, [usize]>,
    ghosts: Cow<'a, [Ghost]>,
    cyclic: bool,
    rests: RestShape,
    modes: usize,
    keyframes: Cow<'a, [Vec<Vec3>]>,
    coordinates: Cow<'a, [Vec<f64>]>,
    places: Option<Cow<'a, [RigidPlacement]>>,
    weights: Cow<'a, [Option<f64>]>,
    times: Cow<'a, [f64]>,
    settings: Cow<'a, SpacetimeSettings>,
    partials: Cow<'a, [PartialKeyframe]>,
    next: usize,
    #[serde(deserialize_with = "texts")]
    notes: Vec<String>,
}

/// A motion that was read.
struct LoadedSpacetime(Spacetime);

impl<'de> Deserialize<'de> for LoadedSpacetime {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let stored = StoredSpacetime::deserialize(deserializer)?;
        let motion = stored.into_motion().map_err(serde::de::Error::custom)?;
        Ok(Self(motion))
    }
}

impl Spacetime {
    /// Writes the motion with its body to a file. On an error an earlier file stays.
    ///
    /// # Errors
    /// [`StoreError`]; a body that is neither a [`Shell`] nor an [`ElasticSolid`].
    pub fn save(&self, path: &Path) -> Result<(), StoreError> {
        store::save(path, FILE_KIND, &self.to_stored(path)?)
    }

    /// Reads a motion that [`save`](Self::save) wrote.
    ///
    /// # Errors
    /// [`StoreError`]: not a Thew file, another version or kind, damaged, refused by the disk.
    pub fn load(path: &Path) -> Result<Self, StoreError> {
        store::load::<LoadedSpacetime>(path, FILE_KIND).map(|read| read.0)
    }

    /// Returns the bytes of the motion's file.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn to_bytes(&self, name: &Path) -> Result<Vec<u8>, StoreError> {
        store::to_bytes(name, FILE_KIND, &self.to_stored(name)?)
    }

    /// Reads the bytes of [`to_bytes`](Self::to_bytes).
    ///
    /// # Errors
    /// [`StoreError`]: other bytes, another version, damaged, another body.
    pub fn from_bytes(name: &Path, bytes: &[u8]) -> Result<Self, StoreError> {
        store::from_bytes::<LoadedSpacetime>(name, FILE_KIND, bytes).map(|read| read.0)
    }

    fn to_stored(&self, path: &Path) -> Result<StoredSpacetime<'_>, StoreError> {
        let body: &dyn Any = self.body.as_ref();
        let shell = body.downcast_ref::<Shell>();
        let solid = body.downcast_ref::<ElasticSolid>();
        let body = match (shell, solid) {
            (Some(shell), _) => StoredDeformable::Shell(Cow::Borrowed(shell)),
            (_, Some(solid)) => StoredDeformable::Solid(StoredSolid::new(solid)),
            _ => {
                return Err(StoreError::Unwritable {
                    path: path.to_owned(),
                    what: "its body is of a kind that files do not hold".into(),
                });
            }
        };
        let linearisations = self.linearisations.iter();
        Ok(StoredSpacetime {
            body,
            space: StoredSpace::new(&self.space),
            linearisations: linearisations.map(StoredLinearisation::new).collect(),
            linearisation_of: Cow::Borrowed(&self.linearisation_of),
            ghosts: Cow::Borrowed(&self.ghosts),
            cyclic: self.cyclic,
            rests: self.rests,
            modes: self.modes,
            keyframes: Cow::Borrowed(&self.keyframes),
            coordinates: Cow::Borrowed(&self.coordinates),
            places: self.places.as_deref().map(Cow::Borrowed),
            weights: Cow::Borrowed(&self.weights),
            times: Cow::Borrowed(&self.times),
            settings: Cow::Borrowed(&self.settings),
            partials: Cow::Borrowed(&self.partials),
            next: self.next,
            notes: self.notes.clone(),
        })
    }
}

impl StoredSpacetime<'_> {
    /// Builds the motion. Returns a sentence for parts that do not fit together.
    fn into_motion(self) -> Result<Spacetime, String> {
        let body: Arc<dyn Deformable> = match self.body {
            StoredDeformable::Shell(shell) => Arc::new(shell.into_owned()),
            StoredDeformable::Solid(solid) => Arc::new(solid.into_solid()?),
        };
        let (nodes, keys) = (body.rest().len(), self.keyframes.len());
        let say = |e: super::SpacetimeError| e.to_string();
        let options = SpaceSettings {
            cyclic: self.cyclic,
            ..SpaceSettings::default()
        };
        check_keyframes(body.as_ref(), &self.keyframes, &self.times, &options).map_err(say)?;
        self.settings.check(nodes, keys).map_err(say)?;
        let space = self.space.into_space(body.masses());
        let space = space.ok_or("its reduced space does not fit its body")?;
        let d = space.dimension();
        let linearisations = self.linearisations.into_iter();
        let linearisations: Option<Vec<Linearisation>> = linearisations
            .map(|one| one.into_linearisation(&space))
            .collect();
        let linearisations =
            linearisations.ok_or("its linearisations do not fit its reduced space")?;
        let known = |&at: &usize| at < linearisations.len();
        let places = self.places.map(Cow::into_owned);
        let fits = self.linearisation_of.len() == keys
            && self.linearisation_of.iter().all(known)
            && self.ghosts.iter().all(|ghost| {
                known(&ghost.linearisation)
                    && ghost.interval + 1 < keys
                    && (0.0..=1.0).contains(&ghost.share)
            })
            && self.coordinates.len() == keys
            && self.coordinates.iter().all(|c| c.len() == d)
            && self.coordinates.iter().flatten().all(|&x| is_storable(x))
            && places.as_ref().is_none_or(|all| {
                let sound = |at: &RigidPlacement| {
                    at.turn.iter().all(|&x| is_storable(x)) && all_storable(&at.centre)
                };
                all.len() == keys && all.iter().all(sound)
            })
            && self.weights.len() == keys
            && self.partials.iter().all(|partial| partial.id < self.next);
        if !fits {
            return Err("its keyframes do not fit its reduced space".into());
        }
        let span = (self.times[0], self.times[keys - 1]);
        for partial in self.partials.iter() {
            partial.check(nodes, span).map_err(say)?;
            check_weight(partial.weight).map_err(say)?;
        }
        for &weight in self.weights.iter() {
            check_weight(weight).map_err(say)?;
        }
        let mut motion = Spacetime {
            shown: Arc::new(FrameWriter::new(&space)),
            body,
            space: Arc::new(space),
            linearisations: Arc::new(linearisations),
            linearisation_of: self.linearisation_of.into_owned(),
            ghosts: self.ghosts.into_owned(),
            cyclic: self.cyclic,
            rests: self.rests,
            modes: self.modes,
            weights: self.weights.into_owned(),
            slopes: KeyVelocities::empty(keys),
            keyframes: self.keyframes.into_owned(),
            coordinates: self.coordinates.into_owned(),
            places,
            times: self.times.into_owned(),
            settings: self.settings.into_owned(),
            partials: self.partials.into_owned(),
            next: self.next,
            notes: self.notes,
            solved: MotionSolution::empty(),
        };
        motion.slopes = motion.key_velocities();
        motion.solved = motion.solve().map_err(say)?;
        Ok(motion)
    }
}
