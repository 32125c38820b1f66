// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tracks of a simulation over a frame: gravity at an instant, and the forces of fields.
//!
//! A field accelerates the flesh of each cell at the cell's centre of mass, whose position and velocity follow from those of the cell's nodes:
//! with `w_a = ∫ ρ φ_a`, the force on node a is `w_a · acceleration`. A uniform field so has the forces of gravity, and the sum of all forces on
//! a cell is exact; a field that varies within a cell is resolved as finely as the cells are. [one-point quadrature]
//!
//! Fields act at the positions at a step's start, with places and numbers of its end. Of the velocity, drag and flow take away the share that an
//! implicit step of h would: `(a − c v) / (1 + c h)`, which no rate c makes unstable. Modal flesh has fields where its bones carry it. Gravity and fields
//! are linear between frames.

use super::methods::stepper::NodalState;
use super::{SkinnedLattice, Tracks};
use crate::Vec3;
use crate::body::Body;
use crate::force_fields::{FieldState, ForceField};
use nalgebra::Isometry3;
use std::sync::Arc;

/// Rounds in which a balance follows fields that change from place to place.
pub(super) const MAX_BALANCE_ROUNDS: usize = 4;
/// Change of the forces, relative to the largest, below which a balance has followed them.
const BALANCE_TOLERANCE: f64 = 1e-3;

/// Tracks of a simulation, at the ends of the frame at hand.
pub(super) struct Driving {
    pub tracks: Arc<Tracks>,
    fps: f64,
    /// Frame at whose stiffness the next call ends.
    pub to: usize,
    /// Gravity at the ends of the frame; `None`: that of the settings.
    gravity: [Option<Vec3>; 2],
    /// States of all fields at the ends of the frame.
    fields: [Vec<FieldState>; 2],
    /// Scratch: forces of one instant, world axes, N.
    pub forces: Vec<Vec3>,
}

/// Positions and velocities of the nodes at which fields act, and the step's duration; 0 at rest.
pub(super) struct Motion<'a> {
    pub positions: &'a [Vec3],
    /// Velocities; `None`: at rest.
    pub velocities: Option<&'a dyn Fn(usize) -> Vec3>,
    pub duration: f64,
}

impl Driving {
    pub fn new(tracks: Arc<Tracks>, fps: f64) -> Self {
        let mut driving = Self {
            tracks,
            fps,
            to: 0,
            gravity: [None; 2],
            fields: [Vec::new(), Vec::new()],
            forces: Vec::new(),
        };
        driving.set_span(0, 0, &Isometry3::identity());
        driving
    }

    pub fn set_span(&mut self, from: usize, to: usize, moved: &Isometry3<f64>) {
        self.to = to;
        for ((frame, gravity), states) in [from, to]
            .into_iter()
            .zip(&mut self.gravity)
            .zip(&mut self.fields)
        {
            *gravity = self.tracks.gravity_at(frame);
            let fields = self.tracks.fields.iter();
            *states = fields
                .map(|field| field.state_at(frame, self.fps).transform(moved))
                .collect();
        }
    }

    /// Returns gravity at a share of the frame; `None`: that of the settings.
    pub fn gravity_at(&self, share: f64) -> Option<Vec3> {
        let [from, to] = self.gravity;
        let (from, to) = (from?, to?);
        // Exact at the end and where nothing changes.
        Some(if from == to {
            to
        } else {
            from * (1.0 - share) + to * share
        })
    }

    /// Sets the forces of all fields at a share of the frame.
    pub fn set_forces(&mut self, body: &Body, share: f64, at: &Motion) {
        let [from, to] = &self.fields;
        let states = from.iter().zip(to).map(|(a, b)| a.interpolate(b, share));
        let states: Vec<FieldState> = states.collect();
        let fields: Vec<(&ForceField, &FieldState)> =
            self.tracks.fields.iter().zip(&states).collect();
        self.forces.clear();
        self.forces.resize(body.node_count(), Vec3::zeros());
        for cell in body.blocks().iter() {
            let placed = body.placed_count(cell.nodes);
            let mass: f64 = cell.weight[..placed].iter().sum();
            if mass <= 0.0 {
                continue;
            }
            let (mut x, mut v) = (Vec3::zeros(), Vec3::zeros());
            for (&a, &w) in cell.nodes.iter().zip(cell.weight) {
                x += at.positions[a as usize] * w;
                if let Some(velocity) = at.velocities {
                    v += velocity(a as usize) * w;
                }
            }
            let (x, v) = (x / mass, v / mass);
            let (mut acceleration, mut rate) = (Vec3::zeros(), 0.0);
            for (field, state) in &fields {
                let (own, slowing) = field.acceleration(state, &x, &v);
                acceleration += own;
                rate += slowing;
            }
            if rate != 0.0 {
                acceleration = (acceleration - v * rate) / (1.0 + at.duration * rate);
            }
            for (&a, &w) in cell.nodes.iter().zip(cell.weight) {
                self.forces[a as usize] += acceleration * w;
            }
        }
    }

    /// Returns given forces together with those of the fields in a step that ends at a share of the frame.
    pub fn step_forces<'a>(
        &'a mut self,
        body: &Body,
        nodes: &NodalState,
        (from, to): (&SkinnedLattice, &SkinnedLattice),
        (share, duration, relative): (f64, f64, bool),
        given: Option<&'a [Vec3]>,
    ) -> Option<&'a [Vec3]> {
        if self.tracks.fields.is_empty() {
            return given;
        }
        let carried = |v: usize| (to.places[v] - from.places[v]) / duration;
        let own = |v: usize| nodes.velocities[v];
        let motion = Motion {
            positions: if relative {
                &from.places
            } else {
                &nodes.positions
            },
            velocities: Some(if relative { &carried } else { &own }),
            duration,
        };
        self.set_forces(body, share, &motion);
        if let Some(given) = given {
            self.forces.iter_mut().zip(given).for_each(|(f, g)| *f += g);
        }
        Some(&self.forces)
    }
}

/// Returns whether forces have changed by more than a balance needs to follow.
pub(super) fn have_changed(before: &[Vec3], after: &[Vec3]) -> bool {
    let largest = |all: &mut dyn Iterator<Item = f64>| all.fold(0.0, f64::max);
    let change = largest(&mut before.iter().zip(after).map(|(a, b)| (a - b).norm()));
    change > BALANCE_TOLERANCE * largest(&mut after.iter().map(Vec3::norm))
}
