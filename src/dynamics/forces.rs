// SPDX-License-Identifier: MIT OR Apache-2.0
//! External forces, and their values at a step.
//!
//! All are generalised forces on lattice vertices, N. Some are in world axes and constant over a call; others are in *rest
//! axes*: they belong to the flesh and turn with it, `R_i Q_i` with R_i the skeleton's blended rotation at vertex i.
//! [capell2006, §4.1, eq. 15, turned once: docs/methods/rigging.md]
//!
//! Rest-axes forces hold at the end of a call. During the call they vary linearly from those of the previous one, so that a control
//! that changes from frame to frame gives no jolts. They are part of a simulation's state.

use super::{SimulationError, SkinnedLattice};
use crate::body::Body;
use crate::range::all_sound;
use crate::solve::EnergyTerm;
use crate::{Mat3, Vec3};
use std::sync::Arc;

/// Generalised forces on the lattice vertices of one body, `[nodes]`, N, in world axes and in rest axes; `None`: zero.
pub type NodalForces<'a> = (Option<&'a [Vec3]>, Option<&'a [Vec3]>);

/// Non-elastic forces at one instant.
#[derive(Clone, Copy)]
pub(super) struct Load<'a> {
    /// Acceleration of gravity, m/s².
    pub gravity: Vec3,
    /// Gravity under which the modelled shape sags already, m/s².
    pub gravity_at_rest: Vec3,
    /// Generalised forces on lattice vertices, world axes, N.
    pub forces: Option<&'a [Vec3]>,
    /// Further energies of the lattice vertices' positions.
    pub terms: &'a [Arc<dyn EnergyTerm>],
}

impl<'a> Load<'a> {
    /// Load without gravity and forces.
    pub const ZERO: Load<'static> = Load {
        gravity: Vec3::new(0.0, 0.0, 0.0),
        gravity_at_rest: Vec3::new(0.0, 0.0, 0.0),
        forces: None,
        terms: &[],
    };

    pub fn new(
        body: &Body,
        gravity: Vec3,
        forces: Option<&'a [Vec3]>,
        terms: &'a [Arc<dyn EnergyTerm>],
    ) -> Self {
        Self {
            gravity,
            gravity_at_rest: if body.rest_includes_gravity() {
                gravity
            } else {
                Vec3::zeros()
            },
            forces,
            terms,
        }
    }

    /// Returns the net acceleration of flesh turned by R, `g − R g_rest`, m/s²: gravity less that held up by the rest shape.
    pub fn net_gravity(&self, turn: &Mat3) -> Vec3 {
        self.gravity - turn * self.gravity_at_rest
    }

    /// Adds the weight of each cell's flesh under [`net_gravity`](Self::net_gravity) to its corners: forces `[nodes]`, N, world
    /// axes.
    pub fn add_net_weight(&self, body: &Body, skinned: &SkinnedLattice, forces: &mut [Vec3]) {
        for (cell, turn) in body.blocks().iter().zip(&skinned.cell_turns) {
            let g = self.net_gravity(turn);
            for (&a, &w) in cell.nodes.iter().zip(cell.weight) {
                forces[a as usize] += g * w;
            }
        }
    }
}

/// Rest-axes forces of a body, and the sum of all its forces in world axes.
#[derive(Debug)]
pub(super) struct ExternalForces {
    /// Present forces, rest axes, N.
    rest: Vec<Vec3>,
    /// Scratch: forces of one instant, world axes, N.
    world: Vec<Vec3>,
}

impl ExternalForces {
    pub fn zero(nodes: usize) -> Self {
        Self {
            rest: vec![Vec3::zeros(); nodes],
            world: vec![Vec3::zeros(); nodes],
        }
    }

    /// Returns the present forces in rest axes.
    pub fn rest_forces(&self) -> &[Vec3] {
        &self.rest
    }

    /// Returns whether any force is non-zero at present.
    pub fn is_nonzero(&self) -> bool {
        self.rest.iter().any(|f| *f != Vec3::zeros())
    }

    /// Sets the present forces to `end`; `None`: zero.
    pub fn set(&mut self, end: Option<&[Vec3]>) {
        self.advance_towards(end, 1.0);
    }

    /// Moves the present forces by the share `s` towards `end`.
    pub fn advance_towards(&mut self, end: Option<&[Vec3]>, s: f64) {
        for v in 0..self.rest.len() {
            self.rest[v] = self.interpolate(end, s, v);
        }
    }

    fn interpolate(&self, end: Option<&[Vec3]>, s: f64, v: usize) -> Vec3 {
        let end = end.map_or(Vec3::zeros(), |end| end[v]);
        // Exact at both ends.
        self.rest[v] * (1.0 - s) + end * s
    }

    /// Returns all forces in world axes at a pose, at the share `s` from the present to `end`, with the pull of bones that have a twist of
    /// their own. `None`: zero.
    pub fn world_forces<'a>(
        &'a mut self,
        skinned: &SkinnedLattice,
        world: Option<&'a [Vec3]>,
        end: Option<&[Vec3]>,
        s: f64,
    ) -> Option<&'a [Vec3]> {
        let turning = end.is_some() || self.is_nonzero();
        if !turning && skinned.twist_pull.is_empty() {
            return world;
        }
        for (v, turn) in skinned.turns.iter().enumerate() {
            let given = world.map_or(Vec3::zeros(), |f| f[v]);
            self.world[v] = given + turn * self.interpolate(end, s, v);
        }
        for (sum, pull) in self.world.iter_mut().zip(&skinned.twist_pull) {
            *sum += pull;
        }
        Some(&self.world)
    }
}

/// Checks that terms refer to existing nodes and couple only nodes that share a cell.
pub(super) fn check_terms(
    body: &Body,
    terms: &[Arc<dyn EnergyTerm>],
) -> Result<(), SimulationError> {
    match terms.iter().position(|t| !t.fits_pattern(body.pattern())) {
        Some(index) => Err(SimulationError::Term { index }),
        None => Ok(()),
    }
}

/// Checks that there is one finite vector per lattice vertex.
pub(super) fn check_forces(body: &Body, forces: Option<&[Vec3]>) -> Result<(), SimulationError> {
    let Some(forces) = forces else {
        return Ok(());
    };
    if forces.len() != body.node_count() {
        return Err(SimulationError::Length {
            expected: body.node_count(),
            given: forces.len(),
        });
    }
    match forces.iter().position(|f| !all_sound(f)) {
        Some(index) => Err(SimulationError::Vector { index }),
        None => Ok(()),
    }
}
