// SPDX-License-Identifier: MIT OR Apache-2.0
//! Constraints on positions and orientations of nodes: their targets now and in the step before.

use super::budget::Budget;
use super::check::check_finite;
use super::{ModalError, Modes};
use crate::Vec3;
use crate::geometry::aabb;
use nalgebra::DVector;

/// Largest length of a target, metres or radians.
const MAX_TARGET_LENGTH: f64 = 1e9;
/// Largest deviation at which constraints count as satisfied, as a share of the body's size.
pub(super) const TARGET_TOLERANCE: f64 = 1e-6;
/// Motion of a target in one step, as a share of the body's size, beyond which it is a jump.
const MAX_TARGET_STEP: f64 = 0.1;
/// Weight of a radian where constraints conflict, as a share of the body's size.
pub(super) const RADIAN_WEIGHT: f64 = 0.1;

/// Target of a constraint on one node.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum HoldTarget {
    /// A displacement from rest, metres.
    Position(Vec3),
    /// A rotation vector, radians.
    Orientation(Vec3),
}

/// A constraint on one node.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hold {
    /// Index of the node.
    pub node: usize,
    /// Target of the constraint.
    pub target: HoldTarget,
}

/// All constraints of a simulation, and the nodes at which their forces act.
#[derive(Debug, Clone, Default)]
pub(super) struct ModalConstraints {
    pub(super) rows: Vec<HoldRow>,
    /// Nodes at which the forces act.
    pub(super) exercised: Vec<usize>,
    /// Size of the body, metres.
    pub(super) size: f64,
    pub(super) budget: Budget,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct HoldRow {
    pub hold: Hold,
    /// Target in the step before, if the constraint existed then.
    pub before: Option<Vec3>,
}

impl HoldTarget {
    pub(super) fn vector(&self) -> Vec3 {
        match self {
            Self::Position(v) | Self::Orientation(v) => *v,
        }
    }

    fn is_same_kind(&self, other: &Self) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }
}

impl ModalConstraints {
    /// Returns a copy with other constraints. Those that existed before keep their last targets, hence their velocities.
    /// Forces act at `exercised` nodes; `None`: at the constrained ones and, for orientations, their neighbours.
    pub fn with_holds(
        &self,
        modes: &Modes,
        holds: &[Hold],
        exercised: Option<&[usize]>,
    ) -> Result<Self, ModalError> {
        let nodes = modes.node_count();
        for hold in holds {
            let node = hold.node;
            let what = "a constraint";
            if node >= nodes {
                return Err(ModalError::Node { what, node, nodes });
            }
            if modes.fixed_mask()[node] {
                return Err(ModalError::Supported { node });
            }
            let target = hold.target.vector();
            check_finite("the target of a constraint", target)?;
            if target.norm() > MAX_TARGET_LENGTH {
                return Err(ModalError::Setting {
                    what: "the target of a constraint",
                    range: "within a billion metres or radians",
                    value: target.amax(),
                });
            }
        }
        let mut chosen: Vec<usize> = match exercised {
            Some(named) => named.to_vec(),
            None => holds
                .iter()
                .flat_map(|h| default_exercised_nodes(modes, h))
                .collect(),
        };
        let what = "the list of exercised nodes";
        if let Some(&node) = chosen.iter().find(|&&n| n >= nodes) {
            return Err(ModalError::Node { what, node, nodes });
        }
        chosen.retain(|&n| !modes.fixed_mask()[n]);
        chosen.sort_unstable();
        chosen.dedup();
        if chosen.is_empty() && !holds.is_empty() {
            return Err(ModalError::NotExercised);
        }
        let before = |hold: &Hold| {
            let same =
                |r: &&HoldRow| r.hold.node == hold.node && r.hold.target.is_same_kind(&hold.target);
            self.rows.iter().find(same).and_then(|r| r.before)
        };
        let row = |hold: &Hold| HoldRow {
            hold: *hold,
            before: before(hold),
        };
        Ok(Self {
            rows: holds.iter().map(row).collect(),
            exercised: chosen,
            size: aabb::diagonal(modes.functions().lattice().vertices()).max(f64::MIN_POSITIVE),
            budget: self.budget.clone(),
        })
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Ends a step: its targets become those of the step before.
    pub fn end_step(&mut self) {
        for row in &mut self.rows {
            row.before = Some(row.hold.target.vector());
        }
    }

    /// Discards the energy bound after the state was changed from outside.
    pub fn restart(&mut self) {
        self.budget = Budget::default();
    }

    /// Discards the last targets, and with them the velocities.
    pub fn forget_targets(&mut self) {
        self.rows.iter_mut().for_each(|r| r.before = None);
    }

    /// Returns whether a target is new or jumps. The body is then brought there at rest instead of being hurled.
    pub fn has_leap(&self) -> bool {
        let far = MAX_TARGET_STEP * self.size;
        let leap = |row: &HoldRow| {
            row.before
                .is_none_or(|b| self.target_displacement(row, b).norm() > far)
        };
        self.rows.iter().any(leap)
    }

    /// Returns whether no target is new or moves.
    pub fn is_still(&self) -> bool {
        let still = |row: &HoldRow| row.before == Some(row.hold.target.vector());
        self.rows.iter().all(still)
    }

    /// Returns all targets, orientations scaled to metres.
    pub fn targets(&self) -> DVector<f64> {
        let mut all = DVector::zeros(3 * self.rows.len());
        for (r, row) in self.rows.iter().enumerate() {
            let target = row.hold.target.vector() * self.scale(&row.hold.target);
            all.fixed_rows_mut::<3>(3 * r).copy_from(&target);
        }
        all
    }

    /// Returns the velocities of the targets over the last step; zero where they jumped.
    pub fn velocities(&self, step: f64) -> DVector<f64> {
        self.displacements() / step
    }

    /// Returns the displacements of the targets in the last step, orientations scaled to metres; zero where they jumped.
    pub fn displacements(&self) -> DVector<f64> {
        let mut all = DVector::zeros(3 * self.rows.len());
        for (r, row) in self.rows.iter().enumerate() {
            let moved = row.before.map(|b| self.target_displacement(row, b));
            let moved = moved.filter(|m| m.norm() <= MAX_TARGET_STEP * self.size);
            all.fixed_rows_mut::<3>(3 * r)
                .copy_from(&moved.unwrap_or_default());
        }
        all
    }

    /// Returns the displacement of a target since the step before, orientations scaled to metres.
    fn target_displacement(&self, row: &HoldRow, before: Vec3) -> Vec3 {
        (row.hold.target.vector() - before) * self.scale(&row.hold.target)
    }

    pub fn scale(&self, target: &HoldTarget) -> f64 {
        match target {
            HoldTarget::Position(_) => 1.0,
            HoldTarget::Orientation(_) => RADIAN_WEIGHT * self.size,
        }
    }
}

/// Returns the default exercised nodes of a constraint.
fn default_exercised_nodes(modes: &Modes, hold: &Hold) -> Vec<usize> {
    match hold.target {
        HoldTarget::Position(_) => vec![hold.node],
        HoldTarget::Orientation(_) => modes
            .neighbours(hold.node)
            .iter()
            .map(|&n| n as usize)
            .collect(),
    }
}
