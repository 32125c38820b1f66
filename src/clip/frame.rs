// SPDX-License-Identifier: MIT OR Apache-2.0
//! One frame of a clip: its lattice, and the data that show its surfaces.

use crate::Vec3;
use crate::contact::{BuriedBone, ContactPoint, PartingOffsets};
use crate::dynamics::Simulation;
use crate::kernel::LocalPositions;
use crate::present::{Instant, Presentation, Snapshot};
use crate::skeleton::Pose;
use nalgebra::Isometry3;
use std::sync::{Arc, OnceLock};

/// One frame of a clip.
#[derive(Debug, Clone)]
pub(super) struct ClipFrame {
    pub lattice: Arc<LocalPositions>,
    /// Data for its display; `None` with the modal method.
    pub presentation: Option<Arc<Presentation>>,
    /// Number of inverted cells; and of cells that the bones alone invert, if known.
    pub inverted: u32,
    pub folded: Option<u32>,
    /// Steps that led to it and ended short of their tolerance.
    pub unconverged: u32,
    /// Functions of the body that were active.
    pub active: u32,
    /// Data of the modal method, in place of the presentation.
    pub modal: Option<Arc<ModalFrame>>,
    pub contacts: FrameContacts,
    /// Parting of the surface with the modal method, computed on first use.
    pub parted: Arc<OnceLock<PartingOffsets>>,
}

/// Displayed lattice of a frame, world axes.
pub(super) struct FrameShape<'a> {
    /// Positions, metres.
    pub positions: &'a [Vec3],
    /// Sway, the part of the displacements that is not the joints' own shape, metres.
    pub sway: Option<&'a [Vec3]>,
    /// Displacements that restore the volume of bent joints: [`Simulation::joint_volume`].
    pub joints: &'a [Vec3],
}

/// Contacts in a frame of a clip.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FrameContacts {
    /// Contact points with their forces.
    pub points: Arc<[ContactPoint]>,
    /// Number of cells near inversion whose vertices are all held by bones: contact cannot help these.
    pub held_cells: u32,
    /// Bones that lie in other flesh or in colliders. Contact cannot move them.
    pub buried: Arc<[BuriedBone]>,
}

impl FrameContacts {
    /// Returns a copy moved rigidly.
    pub(super) fn transform(&self, by: &Isometry3<f64>) -> Self {
        let moved = |c: &ContactPoint| ContactPoint {
            point: by.rotation * c.point + by.translation.vector,
            normal: by.rotation * c.normal,
            force: by.rotation * c.force,
            ..*c
        };
        Self {
            points: self.points.iter().map(moved).collect(),
            held_cells: self.held_cells,
            buried: self.buried.clone(),
        }
    }

    pub(super) fn bytes(&self) -> usize {
        size_of_val(&*self.points) + size_of_val(&*self.buried)
    }
}

/// Displayed data of a frame of the modal method.
#[derive(Debug)]
pub(super) struct ModalFrame {
    pub amplitudes: Vec<f64>,
    pub pose: Pose,
}

impl ModalFrame {
    /// Returns the same flesh at another pose.
    pub fn with_pose(&self, pose: Pose) -> Self {
        Self {
            amplitudes: self.amplitudes.clone(),
            pose,
        }
    }
}

impl ClipFrame {
    /// Returns the data that show the frame. With modes `max_offset` limits the distance from the skin, as a part of the body's size.
    pub fn instant(&self, max_offset: Option<f64>) -> Instant<'_> {
        let Some(modal) = &self.modal else {
            return Instant::Lattice(&self.lattice, self.presentation.as_deref());
        };
        let posed = (modal.amplitudes.as_slice(), &modal.pose);
        match self.parted.get() {
            Some(parted) => Instant::Parted(posed, max_offset, &parted.moves),
            None => Instant::Modal(posed, max_offset),
        }
    }

    /// Builds a frame of a simulation from its displayed lattice, its pose and its contacts.
    pub fn new(
        simulation: &Simulation,
        contacts: FrameContacts,
        shape: &FrameShape,
        pose: Option<&Pose>,
    ) -> Self {
        let body = simulation.body();
        let amplitudes = simulation.amplitudes().map(<[f64]>::to_vec);
        let modal = amplitudes.zip(pose.cloned());
        let modal = modal.map(|(amplitudes, pose)| ModalFrame { amplitudes, pose });
        let unmoved = |sway: &[Vec3]| -> Vec<Vec3> {
            let all = shape.positions.iter().zip(sway);
            all.map(|(p, u)| p - u).collect()
        };
        let folded = match &modal {
            Some(_) => Some(simulation.inverted_cells_at(simulation.carried_positions())),
            None => shape
                .sway
                .map(|sway| simulation.inverted_cells_at(&unmoved(sway))),
        };
        let showing = simulation.settings().display_settings();
        let pose = pose.filter(|_| modal.is_none());
        let shown = Snapshot::new(body, shape.positions, shape.sway, pose, showing);
        let shown = shown.with_folds(simulation.folds());
        let shown = shown.with_joints(shape.joints);
        Self {
            lattice: Arc::new(shown.lattice),
            presentation: shown.presentation.map(Arc::new),
            inverted: simulation.inverted_cells_at(shape.positions) as u32,
            folded: folded.map(|count| count as u32),
            unconverged: simulation.unconverged_in_frame() as u32,
            active: simulation.active_functions() as u32,
            modal: modal.map(Arc::new),
            contacts,
            parted: Arc::default(),
        }
    }
}
