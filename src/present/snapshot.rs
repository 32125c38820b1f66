// SPDX-License-Identifier: MIT OR Apache-2.0
//! A state as it is kept to be shown: the lattice and the pose in f32 about local origins, and what an artist chose about it.
//! Nothing else turns f64 into what kernels take.

use super::Posed;
use crate::Vec3;
use crate::body::Body;
use crate::kernel::{Lifts, LocalMaps, LocalPositions, Present};
use crate::range::FARTHEST;
use crate::skeleton::Pose;

/// What an artist chooses about what is shown.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Showing {
    /// Share of the joints' own shape in place of the artist's skin, 0 to 1.
    pub elastic_joints: f64,
    /// Farthest from the skin, as a part of the body's size; none = no limit.
    pub max_offset: Option<f64>,
}

impl Default for Showing {
    /// The flesh as it is.
    fn default() -> Self {
        Self {
            elastic_joints: 1.0,
            max_offset: None,
        }
    }
}

impl Showing {
    /// How far flesh is shown from its skin at a pose, metres; none = no limit. It is a part of the pose's size.
    pub fn limit(&self, body: &Body, pose: &Pose) -> Option<f64> {
        self.max_offset.map(|part| part * body.size_in(pose))
    }
}

/// A pose at which surfaces are shown, and how.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Presentation {
    maps: LocalMaps,
    sway: Option<Vec<[f32; 3]>>,
    elastic_joints: f32,
    /// Where bent joints are shown: what gives their flesh its volume back, `[nodes]`, metres, world axes, and their share. The lattice's
    /// own bend is then not shown.
    joints: Option<(Vec<[f32; 3]>, f32)>,
    /// Where the skin folds into itself and more of the joints' elastic shape is shown, `[nodes]`, 0 to 1.
    folds: Option<Vec<f32>>,
    /// Metres.
    max_offset: f32,
}

impl Presentation {
    /// For lattice positions in `lattice` with a sway `[nodes]` (m, world axes; none: all is shown as the bones' work).
    pub fn new(
        body: &Body,
        pose: &Pose,
        lattice: &LocalPositions,
        sway: Option<&[Vec3]>,
        showing: Showing,
    ) -> Self {
        let limit = showing.limit(body, pose);
        let max_offset = limit.map(|metres| (metres as f32).max(f32::MIN_POSITIVE));
        Self {
            maps: LocalMaps::new(pose, body.rest_origin(), lattice.origin),
            sway: sway.map(|sway| sway.iter().map(|u| u.cast::<f32>().into()).collect()),
            elastic_joints: showing.elastic_joints as f32,
            joints: None,
            folds: None,
            max_offset: max_offset.unwrap_or(f32::INFINITY),
        }
    }

    /// Memory, bytes.
    pub fn bytes(&self) -> usize {
        let sway = self.sway.as_ref().map_or(0, |s| size_of_val(s.as_slice()));
        let folds = self.folds.as_ref().map_or(0, |f| size_of_val(f.as_slice()));
        let joints = self
            .joints
            .as_ref()
            .map_or(0, |(u, _)| size_of_val(u.as_slice()));
        size_of::<Self>() + self.maps.bytes() + sway + joints + folds
    }

    /// Whether it is of so many bones and lattice vertices, and sound.
    pub(crate) fn fits(&self, bones: usize, nodes: usize) -> bool {
        let sound = |sway: &Vec<[f32; 3]>| {
            let mut all = sway.iter().flatten();
            sway.len() == nodes && all.all(|&x| f64::from(x).abs() <= FARTHEST)
        };
        let part = |folds: &Vec<f32>| {
            let mut all = folds.iter();
            folds.len() == nodes && all.all(|f| (0.0..=1.0).contains(f))
        };
        self.maps.fits(bones)
            && self.folds.as_ref().is_none_or(part)
            && self.sway.as_ref().is_none_or(sound)
            && self
                .joints
                .as_ref()
                .is_none_or(|(u, share)| sound(u) && (0.0..=1.0).contains(share))
            && (0.0..=1.0).contains(&self.elastic_joints)
            && self.max_offset > 0.0
    }

    /// Where the skin folds into itself, how much more of the joints' elastic shape is shown, `[nodes]`; none: nowhere.
    pub fn folds(&self) -> Option<&[f32]> {
        self.folds.as_deref()
    }

    /// The pose and what gives the flesh of bent joints its volume back; none where they are not shown.
    pub(super) fn joints(&self) -> Option<(&LocalMaps, &[[f32; 3]])> {
        let (u, _) = self.joints.as_ref()?;
        Some((&self.maps, u))
    }

    /// For the kernel, with how far the skin of bent joints is from the artist's.
    pub(super) fn present<'a>(
        &'a self,
        lattice: &'a LocalPositions,
        lifts: Option<&'a [[f32; 3]]>,
    ) -> Present<'a> {
        let share = self.joints.as_ref().map_or(0.0, |(_, share)| *share);
        Present {
            lattice,
            sway: self.sway.as_deref(),
            maps: &self.maps,
            elastic_joints: self.elastic_joints,
            lifts: lifts.map(|of| Lifts { of, share }),
            folds: self.folds.as_deref(),
            max_offset: self.max_offset,
        }
    }

    /// Whether the lattice's own shape is all that is shown, of flesh that is the same everywhere.
    pub(super) fn is_plain(&self) -> bool {
        self.sway.is_none() && self.elastic_joints == 1.0 && self.max_offset == f32::INFINITY
    }
}

/// A lattice as it is kept to be shown.
#[derive(Debug, Clone, PartialEq)]
pub struct Snapshot {
    /// Where its vertices are.
    pub lattice: LocalPositions,
    /// How it is shown at the pose it stands in; none: as the lattice has it.
    pub presentation: Option<Presentation>,
}

impl Snapshot {
    /// Lattice positions `[nodes]` (m) with their sway (see [`Presentation::new`]) at a pose; without one, as the lattice has it.
    pub fn new(
        body: &Body,
        positions: &[Vec3],
        sway: Option<&[Vec3]>,
        pose: Option<&Pose>,
        showing: Showing,
    ) -> Self {
        let lattice = LocalPositions::new(positions);
        let how = |pose| Presentation::new(body, pose, &lattice, sway, showing);
        Self {
            presentation: pose.map(how),
            lattice,
        }
    }

    /// The same with folds `[nodes]`, 0 to 1: where the skin lies in itself, so that more of the joints' elastic shape is shown. None
    /// of them: as it is.
    pub fn with_folds(mut self, folds: &[f64]) -> Self {
        if let Some(presentation) = &mut self.presentation
            && folds.iter().any(|&f| f > 0.0)
        {
            presentation.folds = Some(folds.iter().map(|&f| f as f32).collect());
        }
        self
    }

    /// The same with bent joints shown, whose flesh `volume[nodes]` (m, world axes) gives its volume back, in place of the lattice's own
    /// bend. None of it: as it is.
    pub fn with_joints(mut self, volume: &[Vec3]) -> Self {
        if let Some(presentation) = &mut self.presentation
            && !volume.is_empty()
        {
            let u = volume.iter().map(|u| u.cast::<f32>().into()).collect();
            presentation.joints = Some((u, presentation.elastic_joints));
            presentation.elastic_joints = 0.0;
        }
        self
    }

    /// Displacements `[nodes]` (m) as the lattice has them.
    pub fn displaced(body: &Body, displacements: &[Vec3]) -> Self {
        let rest = body.lattice().vertices();
        let positions: Vec<Vec3> = displacements.iter().zip(rest).map(|(q, x)| q + x).collect();
        Self::new(body, &positions, None, None, Showing::default())
    }

    /// To be shown.
    pub fn instant(&self) -> Instant<'_> {
        Instant::Lattice(&self.lattice, self.presentation.as_ref())
    }
}

/// One instant, to be shown.
#[derive(Debug, Clone, Copy)]
pub enum Instant<'a> {
    /// A lattice, and how it is shown; without that, as it is.
    Lattice(&'a LocalPositions, Option<&'a Presentation>),
    /// Amplitudes and a pose, and how far flesh is shown from its skin, a part of the body's size.
    Modal(Posed<'a>, Option<f64>),
    /// The same, with what is added to vertices of the body's own surface, metres, world axes, so that it [parts](super::Presenter::parted).
    Parted(Posed<'a>, Option<f64>, &'a [(u32, Vec3)]),
}

impl<'a> Instant<'a> {
    /// Without what parts it, and that.
    pub(super) fn unparted(self) -> (Self, &'a [(u32, Vec3)]) {
        match self {
            Self::Parted(posed, max_offset, moves) => (Self::Modal(posed, max_offset), moves),
            other => (other, &[]),
        }
    }
}
