// SPDX-License-Identifier: MIT OR Apache-2.0
//! A state for display: the lattice and the pose in f32 about local origins, and the artist's options.
//! No other code converts f64 to the kernels' input.

use crate::Vec3;
use crate::body::Body;
use crate::kernel::{DisplayState, JointLiftOffsets, LocalMaps, LocalPositions};
use crate::range::MAX_COORDINATE;
use crate::skeleton::Pose;

/// Amplitudes and a pose.
pub type ModalPose<'a> = (&'a [f64], &'a Pose);

/// Display options that an artist sets.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DisplaySettings {
    /// Share of the joints' own shape in place of the artist's skin, 0 to 1.
    pub elastic_joints: f64,
    /// Largest distance from the skin, relative to the body's size; `None`: unlimited.
    pub max_offset: Option<f64>,
}

impl Default for DisplaySettings {
    /// Shows the flesh unchanged.
    fn default() -> Self {
        Self {
            elastic_joints: 1.0,
            max_offset: None,
        }
    }
}

impl DisplaySettings {
    /// Returns the largest distance of flesh from its skin at a pose, metres: `max_offset` times the pose's size. `None`: unlimited.
    pub fn offset_limit(&self, body: &Body, pose: &Pose) -> Option<f64> {
        self.max_offset.map(|part| part * body.posed_size(pose))
    }
}

/// Pose and options with which surfaces are shown.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Presentation {
    maps: LocalMaps,
    sway: Option<Vec<[f32; 3]>>,
    elastic_joints: f32,
    /// Displacements that restore the volume of bent joints, `[nodes]`, metres, world axes, and their share; `None` if joints are not
    /// shown. If they are, the lattice's own bend is not.
    joints: Option<(Vec<[f32; 3]>, f32)>,
    /// Folds, `[nodes]`, 0 to 1: more of the joints' elastic shape is shown where the skin folds into itself.
    folds: Option<Vec<f32>>,
    /// Largest distance from the skin, metres; infinite: unlimited.
    max_offset: f32,
}

impl Presentation {
    /// Returns the sway, `[nodes]`, m, world axes; `None`: all is shown as the joints' own shape.
    pub(crate) fn sway(&self) -> Option<&[[f32; 3]]> {
        self.sway.as_deref()
    }

    /// Creates a presentation of lattice positions with a sway `[nodes]` (m, world axes; `None`: all is shown as the joints' own shape).
    pub fn new(
        body: &Body,
        pose: &Pose,
        lattice: &LocalPositions,
        sway: Option<&[Vec3]>,
        showing: DisplaySettings,
    ) -> Self {
        let limit = showing.offset_limit(body, pose);
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

    /// Returns the memory in use, bytes.
    pub fn bytes(&self) -> usize {
        let sway = self.sway.as_ref().map_or(0, |s| size_of_val(s.as_slice()));
        let folds = self.folds.as_ref().map_or(0, |f| size_of_val(f.as_slice()));
        let joints = self
            .joints
            .as_ref()
            .map_or(0, |(u, _)| size_of_val(u.as_slice()));
        size_of::<Self>() + self.maps.bytes() + sway + joints + folds
    }

    /// Returns whether it fits `bones` bones and `nodes` lattice vertices, with all values in range.
    pub(crate) fn fits(&self, bones: usize, nodes: usize) -> bool {
        let sound = |sway: &Vec<[f32; 3]>| {
            let mut all = sway.iter().flatten();
            sway.len() == nodes && all.all(|&x| f64::from(x).abs() <= MAX_COORDINATE)
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

    /// Returns the folds `[nodes]`, the extra share of the joints' elastic shape where the skin folds into itself; `None`: zero.
    pub fn folds(&self) -> Option<&[f32]> {
        self.folds.as_deref()
    }

    /// Returns the pose and the displacements that restore the volume of bent joints; `None` if joints are not shown.
    pub(super) fn joints(&self) -> Option<(&LocalMaps, &[[f32; 3]])> {
        let (u, _) = self.joints.as_ref()?;
        Some((&self.maps, u))
    }

    /// Returns the kernel's input, with the lifts of bent joints from the artist's skin.
    pub(super) fn present<'a>(
        &'a self,
        lattice: &'a LocalPositions,
        lifts: Option<&'a [[f32; 3]]>,
    ) -> DisplayState<'a> {
        let share = self.joints.as_ref().map_or(0.0, |(_, share)| *share);
        DisplayState {
            lattice,
            sway: self.sway.as_deref(),
            maps: &self.maps,
            elastic_joints: self.elastic_joints,
            lifts: lifts.map(|of| JointLiftOffsets { of, share }),
            folds: self.folds.as_deref(),
            max_offset: self.max_offset,
        }
    }

    /// Returns whether the lattice's own shape is shown unchanged.
    pub(super) fn is_unchanged(&self) -> bool {
        self.sway.is_none() && self.elastic_joints == 1.0 && self.max_offset == f32::INFINITY
    }
}

/// A lattice for display.
#[derive(Debug, Clone, PartialEq)]
pub struct Snapshot {
    /// Positions of the lattice's vertices.
    pub lattice: LocalPositions,
    /// Presentation at the current pose; `None`: the lattice is shown unchanged.
    pub presentation: Option<Presentation>,
}

impl Snapshot {
    /// Creates a snapshot of lattice positions `[nodes]` (m) with their sway (see [`Presentation::new`]) at a pose; `None`: shown unchanged.
    pub fn new(
        body: &Body,
        positions: &[Vec3],
        sway: Option<&[Vec3]>,
        pose: Option<&Pose>,
        showing: DisplaySettings,
    ) -> Self {
        let lattice = LocalPositions::with_details(positions, body.basis().coarse_len());
        let how = |pose| Presentation::new(body, pose, &lattice, sway, showing);
        Self {
            presentation: pose.map(how),
            lattice,
        }
    }

    /// Sets folds `[nodes]`, 0 to 1: where the skin intersects itself, more of the joints' elastic shape is shown. Changes nothing if
    /// all are zero.
    pub fn with_folds(mut self, folds: &[f64]) -> Self {
        if let Some(presentation) = &mut self.presentation
            && folds.iter().any(|&f| f > 0.0)
        {
            presentation.folds = Some(folds.iter().map(|&f| f as f32).collect());
        }
        self
    }

    /// Shows bent joints, with displacements `volume[nodes]` (m, world axes) that restore their volume, in place of the lattice's own
    /// bend. Changes nothing if it is empty.
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

    /// Creates a snapshot of displacements `[nodes]` (m), shown unchanged.
    pub fn from_displacements(body: &Body, displacements: &[Vec3]) -> Self {
        let rest = body.rest_shape();
        let positions: Vec<Vec3> = displacements.iter().zip(rest).map(|(q, x)| q + x).collect();
        Self::new(body, &positions, None, None, DisplaySettings::default())
    }

    /// Returns the instant to show.
    pub fn instant(&self) -> Instant<'_> {
        Instant::Lattice(&self.lattice, self.presentation.as_ref())
    }
}

/// One instant to show.
#[derive(Debug, Clone, Copy)]
pub enum Instant<'a> {
    /// A lattice and its presentation; `None`: the lattice is shown unchanged.
    Lattice(&'a LocalPositions, Option<&'a Presentation>),
    /// Amplitudes and a pose, and the largest distance of flesh from its skin, relative to the body's size.
    Modal(ModalPose<'a>, Option<f64>),
    /// As [`Modal`](Self::Modal), with displacements of vertices that [part](super::Presenter::part_surface) the body's own surface, metres, world
    /// axes.
    Parted(ModalPose<'a>, Option<f64>, &'a [(u32, Vec3)]),
}

impl<'a> Instant<'a> {
    /// Splits off the displacements that part the surface.
    pub(super) fn split_parting(self) -> (Self, &'a [(u32, Vec3)]) {
        match self {
            Self::Parted(posed, max_offset, moves) => (Self::Modal(posed, max_offset), moves),
            other => (other, &[]),
        }
    }
}
