// SPDX-License-Identifier: MIT OR Apache-2.0
//! Balances of pinned flesh.
//!
//! The forces λ of the pins are found by Newton's method on the gaps: each round balances the flesh under `Cᵀ λ` and adds
//! `(C A⁻¹ Cᵀ + D)⁻¹` times what is left of the gaps, with A the stiffness at the pose without strain. It is exact after one round for linear
//! flesh. Flesh that stiffens takes several, and a round that widens the largest gap is halved. Where the rounds do not suffice, a last
//! linear correction puts the points in place, and the motion does the rest.

use super::held::PresentTarget;
use super::path::PinPath;
use super::system::PinSystem;
use crate::Vec3;
use crate::dynamics::forces::Load;
use crate::dynamics::methods::stepper::{
    FactoredStep, NodalState, ResetInput, StepFactor, Stepper,
};
use crate::dynamics::methods::system::LinearSystem;
use crate::dynamics::shape::FleshShape;
use crate::dynamics::{Method, SimulationError, Solver};

/// Largest gap of a balance, as a share of the body's size.
const REST_TOLERANCE: f64 = 1e-10;
/// Most balances of flesh that pins hold. Yeoh's flesh pulled by a fifth of its size takes nine.
const MAX_BALANCES: usize = 40;

impl PinSystem {
    /// Sets targets that stay relative to the bones of a pose, and checks them.
    pub fn begin_rest(
        &mut self,
        start: &ResetInput,
        (shape, share): (&mut FleshShape, f64),
    ) -> Result<(), SimulationError> {
        for held in &mut self.pins {
            let (of, at) = ((start.body, start.method), (start.pose, start.skinned));
            let zero = held.point.zero_sway(of, (&mut *shape, share), at)?;
            let target = held.point.relative(start.skinned, held.pin.target);
            held.path = PinPath::constant(target, zero, held.pin.strength);
        }
        self.set_goals(start.skinned, 1.0);
        self.check_targets(&start.skinned.places, start.body.size())
    }

    /// Notes the targets as reached, or, for flesh that starts in its skinned shape, as still to be reached.
    pub fn end_rest(&mut self, settled: bool) {
        for held in &mut self.pins {
            held.present = settled.then_some(PresentTarget {
                target: held.pin.target,
                strength: held.pin.strength,
                velocity: None,
            });
        }
    }

    /// Brings flesh that is in balance without pins into balance with them.
    pub fn balance(
        &mut self,
        stepper: &mut dyn Stepper,
        start: &ResetInput,
        nodes: &mut NodalState,
    ) -> Result<(), SimulationError> {
        if self.active.is_empty() {
            return Ok(());
        }
        let (body, free) = (start.body, start.body.pattern().vertex_of_node());
        let form = match start.method {
            Method::Linear => Method::Linear,
            _ => Method::Warped,
        };
        let mut system = LinearSystem::new(body, form, Solver::Factor)?;
        let form = system.nodal_form();
        let mut scratch = Vec::new();
        let mut flesh = FactoredStep {
            solver: StepFactor::Pending(system.assemble(body, start.skinned, 0.0, 1.0)?),
            scale: 1.0,
            form,
            scratch: &mut scratch,
        };
        self.solver.factor(&mut flesh, free.len());
        self.sums.clear();
        let enough = REST_TOLERANCE * body.size();
        let mut best = self.close_gaps(&nodes.positions);
        let mut places = nodes.positions.clone();
        let mut before = vec![0.0; self.sums.len()];
        for _ in 0..MAX_BALANCES {
            if best <= enough {
                break;
            }
            self.add_pin_forces(start.load.forces, body.node_count(), free);
            let load = Load {
                forces: Some(&self.forces),
                ..*start.load
            };
            let pulled = ResetInput {
                load: &load,
                ..*start
            };
            let tried = self.sums.clone();
            let balanced = stepper.reset(&pulled, nodes);
            if let Err(SimulationError::Cancelled(_)) = balanced {
                return balanced;
            }
            let gap = match balanced {
                Ok(()) => self.close_gaps(&nodes.positions),
                Err(_) => f64::INFINITY,
            };
            if gap < best {
                (best, before) = (gap, tried);
                places.clone_from(&nodes.positions);
                continue;
            }
            // Half the way from the best forces.
            self.sums = before
                .iter()
                .zip(&tried)
                .map(|(a, b)| 0.5 * (a + b))
                .collect();
        }
        nodes.positions = places;
        self.sums = before;
        self.close_gaps(&nodes.positions);
        self.moved.clear();
        self.moved.resize(free.len(), Vec3::zeros());
        self.solver.add_displacements(&mut self.moved);
        for (d, &v) in self.moved.iter().zip(free) {
            nodes.positions[v as usize] += d;
        }
        Ok(())
    }
}
