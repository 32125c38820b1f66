// SPDX-License-Identifier: MIT OR Apache-2.0
//! Pins of a simulation: added, moved and removed between frames, and held in every step.

use super::faded::FadedFlesh;
use super::held::{HeldPin, PresentTarget};
use super::path::PinPath;
use super::pin::{DroppedPin, Pin, PinId, PinPoint};
use super::point::{HeldPoint, ZeroSway};
use super::ranks::split_rigid;
use super::system::PinSystem;
use crate::Vec3;
use crate::dynamics::adapting::Adapting;
use crate::dynamics::body_step::BodyStep;
use crate::dynamics::firmness::body_at_ease;
use crate::dynamics::methods::stepper::{NodalState, SplitStep, Step};
use crate::dynamics::skinned::SkinnedLattice;
use crate::dynamics::{Method, Simulation, SimulationError};
use crate::range::is_position;
use crate::skeleton::{FrameMotion, Pose};

/// Distance that pins of a method with nonlinear steps may miss, as a share of the body's size. Their last linear correction then leaves rounding.
const ROUND_TOLERANCE: f64 = 1e-9;

impl Simulation {
    /// Pins a point of the flesh from now on and returns the number of the pin. Until the end of the next frame the point moves from where it
    /// is shown to its target; a [`reset`](Self::reset) holds it there at once. Pins are part of a [`state`](Self::state). The module's docs
    /// (`dynamics::pins`) define strength and dependent pins.
    ///
    /// # Errors
    /// The method is modal; the point is outside the flesh, is held by bones or shows no sway; the target is not finite, the strength not in 0 to 1;
    /// more pins than free vertices.
    pub fn pin(&mut self, pin: Pin) -> Result<PinId, SimulationError> {
        if self.method() == Method::Modal {
            return Err(SimulationError::PinMethod);
        }
        check_target(pin.target, pin.strength)?;
        let point = HeldPoint::new(body_at_ease(&self.body, &self.firmness), pin.point)?;
        self.pins
            .add(body_at_ease(&self.body, &self.firmness), pin, point)
    }

    /// Pins a point as [`pin`](Self::pin) does; `target` `None`: where the point is shown now.
    ///
    /// # Errors
    /// As [`pin`](Self::pin); without a target, a simulation that has not been reset.
    pub fn pin_point(
        &mut self,
        point: PinPoint,
        target: Option<Vec3>,
        strength: f64,
    ) -> Result<PinId, SimulationError> {
        if self.method() == Method::Modal {
            return Err(SimulationError::PinMethod);
        }
        let target = match target {
            Some(target) => target,
            None => self.point_position(point)?,
        };
        self.pin(Pin {
            point,
            target,
            strength,
        })
    }

    /// Sets the target and the strength (`None`: unchanged) of a pin at the end of the next frame.
    ///
    /// # Errors
    /// There is no such pin; the target is not finite, the strength not in 0 to 1.
    pub fn move_pin(
        &mut self,
        id: PinId,
        target: Vec3,
        strength: Option<f64>,
    ) -> Result<(), SimulationError> {
        let index = self.pins.index(id)?;
        let pin = &mut self.pins.pins[index].pin;
        let strength = strength.unwrap_or(pin.strength);
        check_target(target, strength)?;
        (pin.target, pin.strength) = (target, strength);
        Ok(())
    }

    /// Removes a pin. Its point goes on with the velocity it has, and nothing of the pin is left.
    ///
    /// # Errors
    /// There is no such pin.
    pub fn unpin(&mut self, id: PinId) -> Result<(), SimulationError> {
        let index = self.pins.index(id)?;
        self.pins.pins.remove(index);
        self.pins.forget_ranks();
        Ok(())
    }

    /// Removes all pins; the next one has number 0.
    pub fn unpin_all(&mut self) {
        self.pins.clear();
    }

    /// Returns all pins with their numbers, ascending.
    pub fn pins(&self) -> impl ExactSizeIterator<Item = (PinId, &Pin)> {
        self.pins.pins.iter().map(|held| (held.id, &held.pin))
    }

    /// Returns the pins whose rows other pins give already, by their present strengths. They have no effect.
    pub fn dropped_pins(&self) -> Vec<DroppedPin> {
        let pins = &self.pins.pins;
        let rigid: Vec<usize> = (0..pins.len())
            .filter(|&i| pins[i].pin.strength == 1.0)
            .collect();
        let (_, dependent) = split_rigid(pins, &rigid);
        dependent.iter().map(|pin| pin.report(pins)).collect()
    }

    /// Returns the present position of a point of the flesh as pins count it, m: where a vertex is shown, and the place in the lattice of
    /// another point.
    ///
    /// # Errors
    /// The point is outside the flesh or held by bones; the simulation has not been reset.
    pub fn point_position(&mut self, point: PinPoint) -> Result<Vec3, SimulationError> {
        let held = HeldPoint::at(body_at_ease(&self.body, &self.firmness), point)?;
        self.shown_position(&held, point)
    }

    fn shown_position(
        &mut self,
        point: &HeldPoint,
        named: PinPoint,
    ) -> Result<Vec3, SimulationError> {
        let history = self.history.as_ref().ok_or(SimulationError::NotReset)?;
        let (method, share) = (self.settings.method, self.settings.elastic_joints);
        let zero = point.zero_sway(
            (&**body_at_ease(&self.body, &self.firmness), method),
            (&mut self.shape, share),
            (&history.pose, &self.now),
        )?;
        let faded = faded_flesh(self.adapting.as_deref(), &self.now, (None, share));
        let zero = faded.map_or(zero, |faded| faded.add_to(zero, (point, named), &self.now));
        let own = point.relative(&self.now, point.position(&self.nodes.positions));
        Ok(point.placed(&self.now, point.shown_of_own(&zero, own)))
    }

    /// Carries the targets of pins along with the bones from one pose to another.
    pub(crate) fn carry_pins(
        &self,
        pins: &mut [Pin],
        (from, to): (&Pose, &Pose),
    ) -> Result<(), SimulationError> {
        let (body, method) = (
            body_at_ease(&self.body, &self.firmness),
            self.settings.method,
        );
        let mut ends = [SkinnedLattice::new(body)?, SkinnedLattice::new(body)?];
        ends[0].set(body, method, from)?;
        ends[1].set(body, method, to)?;
        for pin in pins {
            let point = HeldPoint::at(body, pin.point)?;
            let target = point.relative(&ends[0], pin.target);
            pin.target = point.placed(&ends[1], target);
        }
        Ok(())
    }

    /// Prepares the paths of all pins in a frame of `dt` seconds along a motion. Checks for conflicts before anything changes.
    pub(in crate::dynamics) fn begin_pins(
        &mut self,
        motion: &FrameMotion,
        dt: f64,
    ) -> Result<(), SimulationError> {
        if !self.pins.any() {
            return Ok(());
        }
        let history = self.history.as_ref().ok_or(SimulationError::NotReset)?;
        let (body, method) = (
            body_at_ease(&self.body, &self.firmness),
            self.settings.method,
        );
        let mut end = match self.pins.end.take() {
            Some(end) => end,
            None => SkinnedLattice::new(body)?,
        };
        end.set(body, method, motion.end_pose())?;
        let share = self.settings.elastic_joints;
        let adapting = self.adapting.as_deref();
        let ends = [
            (&history.pose, &self.now, None),
            (motion.end_pose(), &end, Some(dt)),
        ];
        let faded = ends.map(|(_, at, dt)| faded_flesh(adapting, at, (dt, share)));
        for held in &mut self.pins.pins {
            let (point, of) = (&held.point, (&**body, method));
            let mut zero = [ZeroSway::default(); 2];
            for (zero, (pose, at, _)) in zero.iter_mut().zip(ends) {
                *zero = point.zero_sway(of, (&mut self.shape, share), (pose, at))?;
            }
            let begun = match &held.present {
                Some(present) => point.relative(&self.now, present.target),
                None => {
                    let own = point.relative(&self.now, point.position(&self.nodes.positions));
                    let from = add_faded(&faded[0], zero[0], held, &self.now);
                    point.shown_of_own(&from, own)
                }
            };
            let target = point.relative(&end, held.pin.target);
            let mean = target - begun;
            let before = held.present.and_then(|present| present.velocity);
            let strength = held.present.map_or(held.pin.strength, |p| p.strength);
            held.path = PinPath {
                targets: [begun, target],
                slopes: [before.map_or(mean, |velocity| velocity * dt), mean],
                zero,
                strengths: [strength, held.pin.strength],
            };
        }
        // Whether targets conflict does not depend on what fades.
        self.pins.set_goals(&end, 1.0);
        let checked = self.pins.check_targets(&end.places, self.body.size());
        for held in &mut self.pins.pins {
            for (k, (_, at, _)) in ends.into_iter().enumerate() {
                held.path.zero[k] = add_faded(&faded[k], held.path.zero[k], held, at);
            }
        }
        self.pins.end = Some(end);
        checked
    }

    /// Takes the paths of all pins up within a frame along a motion, on other functions.
    pub(in crate::dynamics) fn resume_pins(
        &mut self,
        motion: &FrameMotion,
    ) -> Result<(), SimulationError> {
        if !self.pins.any() {
            return Ok(());
        }
        let history = self.history.as_ref().ok_or(SimulationError::NotReset)?;
        let (body, method) = (
            body_at_ease(&self.body, &self.firmness),
            self.settings.method,
        );
        let share = self.settings.elastic_joints;
        let mut skinned = SkinnedLattice::new(body)?;
        let ends = [
            (&history.before, None),
            (motion.end_pose(), Some(history.duration)),
        ];
        for (k, (pose, dt)) in ends.into_iter().enumerate() {
            skinned.set(body, method, pose)?;
            let faded = faded_flesh(self.adapting.as_deref(), &skinned, (dt, share));
            for held in &mut self.pins.pins {
                let (of, at) = ((&**body, method), (pose, &skinned));
                let zero = held.point.zero_sway(of, (&mut self.shape, share), at)?;
                held.path.zero[k] = add_faded(&faded, zero, held, &skinned);
            }
        }
        self.pins.end = Some(skinned);
        Ok(())
    }

    /// Notes where pins are once `gone` of a frame of `dt` seconds has passed.
    pub(in crate::dynamics) fn end_pins(&mut self, gone: f64, dt: f64) {
        if gone == 0.0 {
            return;
        }
        for held in &mut self.pins.pins {
            let path = &held.path;
            let target = match gone >= 1.0 {
                true => held.pin.target,
                false => held.point.placed(&self.now, path.target(gone)),
            };
            held.present = Some(PresentTarget {
                target,
                strength: path.strength(gone),
                velocity: (gone >= 1.0 && dt > 0.0).then(|| path.slopes[1] / dt),
            });
        }
    }
}

/// Returns what fades with bones at a pose: at present, or after a frame of `dt` seconds. `share` of the joints' own shape is shown.
fn faded_flesh<'a>(
    adapting: Option<&'a Adapting>,
    skinned: &SkinnedLattice,
    (dt, share): (Option<f64>, f64),
) -> Option<FadedFlesh<'a>> {
    let faded = adapting?.faded(skinned.bones(), dt)?;
    Some(FadedFlesh::new(faded, share))
}

/// Returns zero sway at a pin with what fades there, if anything does.
fn add_faded(
    faded: &Option<FadedFlesh>,
    zero: ZeroSway,
    held: &HeldPin,
    skinned: &SkinnedLattice,
) -> ZeroSway {
    match faded {
        Some(faded) => faded.add_to(zero, (&held.point, held.pin.point), skinned),
        None => zero,
    }
}

/// Checks the numbers of a pin.
fn check_target(target: Vec3, strength: f64) -> Result<(), SimulationError> {
    if !is_position(&target) {
        return Err(SimulationError::PinTarget);
    }
    match (0.0..=1.0).contains(&strength) {
        true => Ok(()),
        false => Err(SimulationError::Setting {
            what: "strength",
            range: "between 0 (off) and 1 (held)",
            value: strength,
        }),
    }
}

impl PinSystem {
    /// Sets the goals at the share `s` of the frame and the pins that act there.
    pub fn set_goals(&mut self, to: &SkinnedLattice, s: f64) {
        let goals = self
            .pins
            .iter()
            .map(|held| held.path.goal(&held.point, to, s));
        self.goals.clear();
        self.goals.extend(goals);
        let goals = &self.goals;
        let rigid = || (0..goals.len()).filter(move |&i| goals[i].is_rigid());
        if !self
            .rigid
            .as_ref()
            .is_some_and(|known| known.iter().copied().eq(rigid()))
        {
            let rigid: Vec<usize> = rigid().collect();
            (self.independent, self.dependent) = split_rigid(&self.pins, &rigid);
            self.rigid = Some(rigid);
        }
        self.active.clear();
        for (i, goal) in self.goals.iter().enumerate() {
            let acts = !goal.is_rigid() || self.independent.binary_search(&i).is_ok();
            if let Some(give) = goal.give.filter(|_| acts) {
                self.active.push((i, give));
            }
        }
        let (pins, active) = (&self.pins, self.active.iter());
        let rows = active.map(|&(i, give)| (&pins[i].point.free[..], give));
        self.solver.set_active(rows);
    }

    /// Checks the targets of dependent pins, with `held` as in [`DependentPin::check`](super::ranks::DependentPin::check).
    pub(super) fn check_targets(&self, held: &[Vec3], size: f64) -> Result<(), SimulationError> {
        let at = (&self.goals[..], held, size);
        self.dependent
            .iter()
            .try_for_each(|pin| pin.check(&self.pins, at))
    }

    /// Moves the proposed end of a step to the goals of the pins.
    ///
    /// # Errors
    /// As [`SplitStep::propose`].
    pub fn hold_step(
        &mut self,
        stepper: &mut dyn SplitStep,
        step: &Step,
        nodes: &NodalState,
    ) -> Result<(), SimulationError> {
        if self.active.is_empty() {
            return Ok(());
        }
        let vertices = step.body.pattern().vertex_of_node();
        let mut proposal = stepper.proposal(step)?;
        self.solver.factor(&mut proposal.factored, vertices.len());
        self.sums.clear();
        let mut largest = self.close_gaps(proposal.positions);
        let enough = ROUND_TOLERANCE * step.body.size();
        for _ in 1..stepper.pin_rounds() {
            if largest <= enough {
                break;
            }
            self.add_pin_forces(step.load.forces, step.body.node_count(), vertices);
            stepper.propose(&step.with_forces(Some(&self.forces)), nodes)?;
            let proposal = stepper.proposal(step)?;
            largest = self.close_gaps(proposal.positions);
        }
        self.moved.clear();
        self.moved.resize(vertices.len(), Vec3::zeros());
        self.solver.add_displacements(&mut self.moved);
        stepper.displace(step, &self.moved)
    }

    /// Computes the multipliers that close the gaps at `positions` and adds them to the sums. Returns the largest gap, m.
    pub(super) fn close_gaps(&mut self, positions: &[Vec3]) -> f64 {
        self.sums.resize(3 * self.active.len(), 0.0);
        let (pins, goals, active, sums) = (&self.pins, &self.goals, &self.active, &self.sums);
        let gap = |k: usize| {
            let (i, give) = active[k];
            let own = Vec3::from_column_slice(&sums[3 * k..3 * k + 3]);
            goals[i].place - pins[i].point.position(positions) - give * own
        };
        let largest = (0..active.len()).map(|k| gap(k).norm()).fold(0.0, f64::max);
        let added = self.solver.multipliers(gap);
        for (sum, x) in self.sums.iter_mut().zip(added) {
            *sum += x;
        }
        largest
    }

    /// Sets the forces of the pins with other forces, N, on all `nodes` vertices.
    pub(super) fn add_pin_forces(&mut self, others: Option<&[Vec3]>, nodes: usize, free: &[u32]) {
        self.forces.clear();
        match others {
            Some(others) => self.forces.extend_from_slice(others),
            None => self.forces.resize(nodes, Vec3::zeros()),
        }
        self.solver.add_forces(&self.sums, free, &mut self.forces);
    }
}

impl BodyStep<'_> {
    /// Takes the step by itself: with pins in two parts.
    pub(in crate::dynamics) fn take(&mut self) -> Result<(), SimulationError> {
        let Some(pins) = &mut self.pins else {
            return self.stepper.step(&self.step, self.nodes);
        };
        let stepper = self
            .stepper
            .split_step()
            .ok_or(SimulationError::PinMethod)?;
        stepper.propose(&self.step, self.nodes)?;
        pins.hold_step(stepper, &self.step, self.nodes)?;
        stepper.accept(&self.step, self.nodes, None)
    }
}
