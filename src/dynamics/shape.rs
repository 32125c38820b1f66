// SPDX-License-Identifier: MIT OR Apache-2.0
//! The shape that flesh shows, parted into what the bones make and what it does by itself.
//!
//! `q = q_bend + u`: q_bend is the flesh in balance at the pose without any load (no gravity, no forces), u its **sway**. How
//! much of each is shown is not decided here. For the hyperelastic method the sway is what is simulated; for the other
//! methods the balance is solved for and taken away.

use super::forces::Load;
use super::system::System;
use super::{Method, SimulationError, SkinnedLattice, Solver, equilibrium};
use crate::Vec3;
use crate::body::Body;
use crate::progress::Silent;
use crate::skeleton::Pose;

/// Positions of the lattice's vertices and their sway, metres, world axes.
pub(super) struct Shape {
    /// q + x, `[nodes]`.
    pub places: Vec<Vec3>,
    /// u, `[nodes]`; empty where nobody wants it.
    pub sway: Vec<Vec3>,
    system: Option<System>,
}

impl Shape {
    /// `parted`: the sway is wanted.
    pub fn new(body: &Body, method: Method, parted: bool) -> Result<Self, SimulationError> {
        let wanted = match method {
            Method::Hyperelastic => Some(Method::Warped),
            Method::Modal => None,
            _ => parted.then_some(method),
        };
        let linear = wanted.filter(|method| method.model().is_none());
        let system = linear.map(|method| System::new(body, method, Solver::Factor));
        Ok(Self {
            places: body.lattice().vertices().to_vec(),
            sway: vec![Vec3::zeros(); if wanted.is_some() { body.nodes() } else { 0 }],
            system: system.transpose()?,
        })
    }

    /// Whether sway is parted off.
    pub fn is_parted(&self) -> bool {
        !self.sway.is_empty()
    }

    /// Takes up the positions of a simulation that stands in `skinned`, those of `pose`.
    pub fn take(
        &mut self,
        body: &Body,
        method: Method,
        (pose, skinned): (&Pose, &SkinnedLattice),
        positions: &[Vec3],
    ) -> Result<(), SimulationError> {
        self.places.copy_from_slice(positions);
        if self.sway.is_empty() {
            return Ok(());
        }
        let bend = match &mut self.system {
            Some(system) => equilibrium::balanced(system, body, skinned, &Load::NONE)?,
            None => equilibrium::settled(body, method, pose, skinned, &Load::NONE, &Silent)?,
        };
        if method == Method::Hyperelastic {
            for (v, place) in self.places.iter_mut().enumerate() {
                self.sway[v] = positions[v] - skinned.places[v];
                *place = bend[v] + self.sway[v];
            }
        } else {
            for ((sway, p), bend) in self.sway.iter_mut().zip(positions).zip(&bend) {
                *sway = p - bend;
            }
        }
        Ok(())
    }
}
