// SPDX-License-Identifier: MIT OR Apache-2.0
//! All pins of one body.

use super::held::HeldPin;
use super::path::{PinGoal, PinPath};
use super::pin::{Pin, PinId};
use super::point::HeldPoint;
use super::ranks::DependentPin;
use super::solver::PinSolver;
use crate::body::Body;
use crate::dynamics::SimulationError;
use crate::dynamics::skinned::SkinnedLattice;
use crate::{Mat3, Vec3};

/// All pins of one body.
#[derive(Default)]
pub(in crate::dynamics) struct PinSystem {
    /// Ascending numbers.
    pub(super) pins: Vec<HeldPin>,
    /// Number of the next pin.
    pub(super) next: PinId,
    pub(super) solver: PinSolver,
    /// Goals of all pins at the end of the step under way.
    pub(super) goals: Vec<PinGoal>,
    /// Positions in the list of the rigid pins, and those of the independent ones among them; `None`: not known.
    pub(super) rigid: Option<Vec<usize>>,
    pub(super) independent: Vec<usize>,
    pub(super) dependent: Vec<DependentPin>,
    /// Positions in the list of the pins that act, with the compliance of each.
    pub(super) active: Vec<(usize, Mat3)>,
    /// Sums of multipliers, N; forces on all vertices, N; displacements of the free nodes, m.
    pub(super) sums: Vec<f64>,
    pub(super) forces: Vec<Vec3>,
    pub(super) moved: Vec<Vec3>,
    /// Skinned lattice at the end of the frame under way.
    pub(super) end: Option<SkinnedLattice>,
}

/// Points of all pins on one set of functions.
pub(in crate::dynamics) struct PinnedPoints(Vec<HeldPoint>);

impl PinSystem {
    /// Returns whether any pin exists.
    pub fn any(&self) -> bool {
        !self.pins.is_empty()
    }

    /// Returns the position of a pin in the list.
    pub(super) fn index(&self, id: PinId) -> Result<usize, SimulationError> {
        let found = self.pins.binary_search_by_key(&id, |held| held.id);
        found.map_err(|_| SimulationError::NoPin { pin: id })
    }

    /// Adds a pin of a checked point.
    pub(super) fn add(
        &mut self,
        body: &Body,
        pin: Pin,
        point: HeldPoint,
    ) -> Result<PinId, SimulationError> {
        let (pins, freedom) = (self.pins.len() + 1, body.pattern().vertex_of_node().len());
        if pins > freedom {
            return Err(SimulationError::TooManyPins { pins, freedom });
        }
        let id = self.next;
        self.next += 1;
        self.pins.push(HeldPin {
            id,
            pin,
            point,
            present: None,
            path: PinPath::default(),
        });
        self.forget_ranks();
        Ok(id)
    }

    /// Returns all points on another set of functions of the same flesh, for [`replace_points`](Self::replace_points).
    pub fn points_on(&self, body: &Body) -> Result<PinnedPoints, SimulationError> {
        let points = self.pins.iter().map(|held| held.pin.point);
        let points = points.map(|point| HeldPoint::new(body, point));
        Ok(PinnedPoints(points.collect::<Result<_, _>>()?))
    }

    /// Takes all points on another set of functions. Targets, strengths and velocities stay.
    pub fn replace_points(&mut self, points: PinnedPoints) {
        for (held, point) in self.pins.iter_mut().zip(points.0) {
            held.point = point;
        }
        self.solver = PinSolver::default();
        self.sums.clear();
        self.end = None;
        self.forget_ranks();
    }

    /// Forgets which pins depend on each other.
    pub(super) fn forget_ranks(&mut self) {
        self.rigid = None;
        self.independent.clear();
        self.dependent.clear();
        self.active.clear();
    }

    /// Removes all pins; the next one has number 0.
    pub(super) fn clear(&mut self) {
        self.pins.clear();
        self.forget_ranks();
        self.next = 0;
    }
}
