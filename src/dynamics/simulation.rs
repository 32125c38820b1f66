// SPDX-License-Identifier: MIT OR Apache-2.0
//! A body in motion: its state, and the steps that advance it from pose to pose.

use super::adapting::{ActiveForces, Adapting};
use super::bends::BendMotion;
use super::driving::{Driving, MAX_BALANCE_ROUNDS, have_changed};
use super::firmness::{Firmness, body_at_ease};
use super::forces::{ExternalForces, Load, NodalForces, check_forces, check_terms};
use super::methods;
use super::pins::PinSystem;
use super::shape::FleshShape;
use super::skinned::SkinnedLattice;
use super::touching::ContactSystem;
use super::{Method, SimulationError, SimulationSettings};
use crate::Vec3;
use crate::body::Body;
use crate::contact::Parting;
use crate::dynamics::methods::stepper::{NodalState, ResetInput, Stepper};
use crate::modal::Modes;
use crate::progress::{Progress, Silent};
use crate::skeleton::{FrameMotion, Pose};
use crate::solve::EnergyTerm;
use std::sync::Arc;

/// Upper limit of a frame's duration relative to the previous frame's when the bones' previous velocity is carried over.
const MAX_DURATION_RATIO: f64 = 2.0;

/// Relative excess over the requested step length that is allowed. Film at 23.976 frames per second, 1.001 times as slow
/// as at 24, then takes as many steps a frame and looks the same.
const STEP_LENGTH_TOLERANCE: f64 = 0.01;

/// A body in motion: its nodal state, pose history, settings and stepper.
pub struct Simulation {
    pub(super) body: Arc<Body>,
    pub(super) settings: SimulationSettings,
    pub(super) nodes: NodalState,
    pub(super) shape: FleshShape,
    /// Motion of the joints' own shape.
    pub(super) bending: BendMotion,
    pub(super) history: Option<PoseHistory>,
    /// Skinned lattice at the current pose, and at the end of a step under way.
    pub(super) now: SkinnedLattice,
    pub(super) next: SkinnedLattice,
    pub(super) external: ExternalForces,
    pub(super) terms: Vec<Arc<dyn EnergyTerm>>,
    pub(super) touching: Option<Box<ContactSystem>>,
    /// Parting of the shown surface: the modal method's substitute for contact.
    pub(super) parting: Option<Box<Parting>>,
    pub(super) stepper: Box<dyn Stepper>,
    /// The whole body, if only some of its functions are active; `body` then has these alone.
    pub(super) adapting: Option<Box<Adapting>>,
    /// Factors on the stiffness of cells, if it is led; `body` is then a copy with the stiffness of the moment.
    pub(super) firmness: Option<Box<Firmness>>,
    /// Fields, gravity and stiffness that change from frame to frame.
    pub(super) driving: Option<Box<Driving>>,
    /// Points of the flesh held at targets.
    pub(super) pins: PinSystem,
    /// Count of unconverged steps when the last frame began.
    pub(super) unconverged_before: usize,
    /// Scratch: the pose at the end of the current step.
    pub(super) moving: Pose,
}

/// The current pose, the pose before it, and the time between them.
#[derive(Debug, Clone)]
pub(super) struct PoseHistory {
    /// Pose at the start of the last frame.
    pub before: Pose,
    /// Current pose.
    pub pose: Pose,
    /// Time between the two poses, s; 0 after a reset.
    pub duration: f64,
}

impl Simulation {
    /// Creates a simulation of a body, without a pose: [`reset`](Self::reset) sets the first one.
    ///
    /// # Errors
    /// A setting is out of range (the error names it); the system is singular.
    pub fn new(body: Arc<Body>, settings: SimulationSettings) -> Result<Self, SimulationError> {
        Self::build(body, None, settings)
    }

    /// Creates a modal simulation of a body with the modes supplied, without a pose. The modes determine the stiffness:
    /// they may be [scaled](Modes::scale_stiffness) ones.
    ///
    /// # Errors
    /// The modes belong to another body or to one without a skeleton; a setting is out of range (the error names it).
    pub fn with_modes(
        body: Arc<Body>,
        modes: Arc<Modes>,
        settings: SimulationSettings,
    ) -> Result<Self, SimulationError> {
        if !modes.belong_to(&body) {
            return Err(SimulationError::OtherModes {
                nodes: modes.node_count(),
                lattice: body.node_count(),
            });
        }
        let method = Method::Modal;
        Self::build(body, Some(modes), SimulationSettings { method, ..settings })
    }

    fn build(
        body: Arc<Body>,
        modes: Option<Arc<Modes>>,
        settings: SimulationSettings,
    ) -> Result<Self, SimulationError> {
        settings.check()?;
        let settings = settings.for_body(&body)?;
        let mut adapting = Adapting::new(&body, &settings).map(Box::new);
        let body = match &mut adapting {
            Some(adapting) => adapting.coarse_body()?,
            None => body,
        };
        let (vertices, nodes) = (body.rest_shape(), body.node_count());
        Ok(Self {
            shape: FleshShape::new(
                &body,
                settings.method,
                settings.solver,
                settings.elastic_joints,
            )?,
            nodes: NodalState {
                positions: vertices.to_vec(),
                velocities: vec![Vec3::zeros(); nodes],
            },
            bending: BendMotion::new(nodes),
            history: None,
            now: SkinnedLattice::new(&body)?,
            next: SkinnedLattice::new(&body)?,
            external: ExternalForces::zero(nodes),
            terms: Vec::new(),
            touching: None,
            parting: None,
            stepper: methods::build_stepper(&body, modes, &settings)?,
            adapting,
            firmness: None,
            driving: None,
            pins: PinSystem::default(),
            unconverged_before: 0,
            moving: Pose::rest(body.skeleton().len()),
            body,
            settings,
        })
    }

    /// Returns the body, with all its functions, at ease.
    pub fn body(&self) -> &Arc<Body> {
        match &self.adapting {
            Some(adapting) => adapting.whole(),
            None => body_at_ease(&self.body, &self.firmness),
        }
    }

    /// Returns the method of motion.
    pub fn method(&self) -> Method {
        self.settings.method
    }

    /// Returns the settings, with the damping of the body in place of `None`.
    pub fn settings(&self) -> &SimulationSettings {
        &self.settings
    }

    /// Returns the modes of the modal method; `None` with other methods.
    pub fn modes(&self) -> Option<&Arc<Modes>> {
        self.stepper.modal_amplitudes().map(|(modes, _)| modes)
    }

    /// Returns the amplitudes of the modal method's modes; `None` with other methods.
    pub fn amplitudes(&self) -> Option<&[f64]> {
        self.stepper
            .modal_amplitudes()
            .map(|(_, amplitudes)| amplitudes)
    }

    /// Sets energy terms of the lattice vertices' positions (world axes) that act in addition to the flesh's own energy.
    /// They are not part of a [`state`](Self::state). Linearised methods linearise each term at the start of a step; balances linearise it
    /// at the carried shape. The hyperelastic method evaluates terms at T(x) + u, without the joints' own elastic shape.
    ///
    /// # Errors
    /// The method is modal, whose only unknowns are amplitudes, or the printed form of the blended one; a term refers to missing nodes or couples nodes that share no cell.
    pub fn set_terms(&mut self, terms: Vec<Arc<dyn EnergyTerm>>) -> Result<(), SimulationError> {
        if self.stepper.is_relative() && !terms.is_empty() {
            return Err(SimulationError::ModalTerms);
        }
        if self.method() == Method::BlendedPrinted && !terms.is_empty() {
            return Err(SimulationError::PrintedTerms);
        }
        if self.adapting.is_some() && !terms.is_empty() {
            return Err(SimulationError::Adaptation(
                "further energy terms act on functions that may leave: use adapt 'none'",
            ));
        }
        check_terms(&self.body, &terms)?;
        self.terms = terms;
        Ok(())
    }

    /// Sets the gravity of the following steps; the caller has checked it.
    pub(super) fn set_gravity(&mut self, gravity: Vec3) {
        self.settings.gravity = gravity;
    }

    /// Puts the body at rest at a pose: in static equilibrium if `settled`, else in the skinned shape. With contact, the
    /// equilibrium is free of overlap and without friction. `rest_forces`, generalised forces in rest axes (N, `[nodes]`), act from
    /// then on; `None`: zero.
    ///
    /// # Errors
    /// The pose does not fit the skeleton; the forces do not fit the body; the system is singular.
    pub fn reset(
        &mut self,
        pose: &Pose,
        settled: bool,
        rest_forces: Option<&[Vec3]>,
    ) -> Result<(), SimulationError> {
        self.reset_with_progress(pose, settled, rest_forces, &Silent)
    }

    /// Resets as [`reset`](Self::reset) does, with progress: nonlinear balances can be cancelled before each Newton step.
    ///
    /// # Errors
    /// As [`reset`](Self::reset); a cancellation, which keeps the previous state.
    pub fn reset_with_progress(
        &mut self,
        pose: &Pose,
        settled: bool,
        rest_forces: Option<&[Vec3]>,
        progress: &dyn Progress,
    ) -> Result<(), SimulationError> {
        self.reset_with_forces(pose, settled, (None, rest_forces), progress)
    }

    /// Resets with `(forces, rest_forces)`. The former are in world axes and act during the reset only.
    pub(super) fn reset_with_forces(
        &mut self,
        pose: &Pose,
        settled: bool,
        (world_forces, rest_forces): (Option<&[Vec3]>, Option<&[Vec3]>),
        progress: &dyn Progress,
    ) -> Result<(), SimulationError> {
        check_forces(self.body(), world_forces)?;
        check_forces(self.body(), rest_forces)?;
        let forces = (world_forces, rest_forces);
        match self.adapting {
            Some(_) => self.reset_adapting(pose, settled, forces, progress),
            None => self.reset_active(pose, settled, forces, progress),
        }
    }

    /// Resets the active functions, with forces on the functions of the whole body.
    pub(super) fn reset_active(
        &mut self,
        pose: &Pose,
        settled: bool,
        forces: NodalForces,
        progress: &dyn Progress,
    ) -> Result<(), SimulationError> {
        let gathered = ActiveForces::new(self.adapting.as_deref(), forces);
        let (world_forces, rest_forces) = gathered.or(forces);
        let touches = settled && self.touching.is_some() && self.parting.is_none();
        let former = touches.then(|| self.state());
        self.tense(1.0)?;
        self.next.set(&self.body, self.settings.method, pose)?;
        self.unconverged_before = self.unconverged_steps();
        let gravity = self.gravity_at(1.0);
        let mut field_forces = self.rest_field_forces(None, world_forces);
        let mut rounds = 0;
        loop {
            let given = field_forces.as_deref().or(world_forces);
            let forces = self
                .external
                .world_forces(&self.next, given, rest_forces, 1.0);
            let load = Load {
                gravity,
                ..Load::new(&self.body, self.settings.gravity, forces, &self.terms)
            };
            let start = ResetInput {
                body: &self.body,
                method: self.settings.method,
                pose,
                skinned: &self.next,
                load: &load,
                settled,
                progress,
            };
            let mut former_places = Vec::new();
            if self.pins.any() {
                former_places.clone_from(&self.nodes.positions);
                let shown = (&mut self.shape, self.settings.elastic_joints);
                self.pins.begin_rest(&start, shown)?;
            }
            self.stepper.reset(&start, &mut self.nodes)?;
            if settled && self.pins.any() {
                let stepper = &mut *self.stepper;
                let balanced = self.pins.balance(stepper, &start, &mut self.nodes);
                if balanced.is_err() {
                    self.nodes.positions = former_places;
                }
                balanced?;
            }
            rounds += 1;
            let follows = settled && !self.stepper.is_relative() && !self.pins.any();
            let Some(before) = field_forces.take().filter(|_| follows) else {
                break;
            };
            // Fields act where the balance is.
            let positions = std::mem::take(&mut self.nodes.positions);
            let after = self.rest_field_forces(Some(&positions), world_forces);
            self.nodes.positions = positions;
            match after {
                Some(after) if rounds < MAX_BALANCE_ROUNDS && have_changed(&before, &after) => {
                    field_forces = Some(after);
                }
                _ => break,
            }
        }
        self.pins.end_rest(settled);
        if let Some(touching) = &mut self.touching {
            touching.reset(&[&self.nodes.positions]);
        }
        self.external.set(rest_forces);
        self.end_stiffness(1.0);
        self.nodes.velocities.fill(Vec3::zeros());
        self.bending.set_rate(None);
        self.history = Some(PoseHistory {
            before: pose.clone(),
            pose: pose.clone(),
            duration: 0.0,
        });
        std::mem::swap(&mut self.now, &mut self.next);
        self.update_from_modes();
        self.shape.set_folds(None);
        self.update_shape()?;
        if let Some(former) = former {
            let settled = self.settle_touching((world_forces, rest_forces), progress);
            if settled.is_err() {
                self.restore(&former)?;
            }
            return settled;
        }
        Ok(())
    }

    /// Updates the shape from the current state.
    pub(super) fn update_shape(&mut self) -> Result<(), SimulationError> {
        match &self.history {
            Some(history) => {
                let skinned = (&history.pose, &self.now);
                let positions = &self.nodes.positions;
                let body = body_at_ease(&self.body, &self.firmness);
                self.shape
                    .update(body, self.settings.method, skinned, positions)?;
            }
            None => return Ok(()),
        }
        self.show_whole();
        Ok(())
    }

    /// Computes positions and velocities from amplitudes.
    pub(super) fn update_from_modes(&mut self) {
        if let Some(history) = &self.history {
            let (now, nodes) = (&self.now, &mut self.nodes);
            self.stepper.show(&self.body, now, &history.pose, nodes);
        }
    }

    /// Advances to a pose over `dt` seconds in equal steps of at most about `1 / rate`. Generalised forces act on the lattice's
    /// vertices (N, `[nodes]`). `forces` are in world axes and constant over the time. `rest_forces` are in rest axes and hold at
    /// its end: they vary linearly from those of the previous call and turn with the flesh at every step.
    ///
    /// In the first frame after a reset the flesh starts with the velocity of its bones. In later frames the bones start
    /// with the mean velocity of the previous frame and end with their own: C¹, but half a frame late. If the following frames are
    /// known, [`advance_motion`](Self::advance_motion) does better.
    ///
    /// # Errors
    /// The time or forces are not finite; the pose does not fit; the motion is no longer finite, and then the state before the
    /// failing step is kept.
    pub fn advance(
        &mut self,
        pose: &Pose,
        dt: f64,
        forces: Option<&[Vec3]>,
        rest_forces: Option<&[Vec3]>,
    ) -> Result<(), SimulationError> {
        self.advance_with_progress(pose, dt, (forces, rest_forces), &Silent)
    }

    /// Advances as [`advance`](Self::advance) does, with `(forces, rest_forces)` and progress.
    ///
    /// # Errors
    /// As [`advance`](Self::advance); a cancellation, which keeps the state of the previous step.
    pub fn advance_with_progress(
        &mut self,
        pose: &Pose,
        dt: f64,
        forces: (Option<&[Vec3]>, Option<&[Vec3]>),
        progress: &dyn Progress,
    ) -> Result<(), SimulationError> {
        let motion = self.frame_motion(pose, dt)?;
        self.advance_motion(&motion, dt, forces, progress)
    }

    /// Returns the bones' motion from the current pose to another in `dt` seconds. After a reset it also starts the flesh with the
    /// velocity of this motion.
    pub(super) fn frame_motion(
        &mut self,
        pose: &Pose,
        dt: f64,
    ) -> Result<FrameMotion, SimulationError> {
        let history = self.history.as_ref().ok_or(SimulationError::NotReset)?;
        let skeleton = self.body.skeleton();
        if history.duration == 0.0 {
            let motion = FrameMotion::from_endpoints(skeleton, &history.pose, pose)?;
            self.match_bone_velocities(&motion, dt)?;
            return Ok(motion);
        }
        let former = FrameMotion::from_endpoints(skeleton, &history.before, &history.pose)?;
        // A velocity extrapolated over a much longer frame would swing the bones widely.
        let ratio = (dt / history.duration).min(MAX_DURATION_RATIO);
        Ok(FrameMotion::continue_from(skeleton, &former, pose, ratio)?)
    }

    /// Sets the flesh's velocities to those of flesh frozen to its bones at the start of a motion of `dt` seconds.
    /// A character that is carried along then does not lag behind at the start.
    ///
    /// # Errors
    /// The simulation has not been reset; the motion belongs to another skeleton.
    pub fn match_bone_velocities(
        &mut self,
        motion: &FrameMotion,
        dt: f64,
    ) -> Result<(), SimulationError> {
        if self.history.is_none() {
            return Err(SimulationError::NotReset);
        }
        let steps = self.step_count(dt);
        // Amplitudes are relative to the bones: those of frozen flesh stay constant.
        if steps == 0 || !dt.is_finite() || self.stepper.is_relative() {
            return Ok(());
        }
        motion.write(1.0 / steps as f64, &mut self.moving);
        self.next
            .set(&self.body, self.settings.method, &self.moving)?;
        let step = dt / steps as f64;
        let nodes = self.nodes.positions.iter().zip(&mut self.nodes.velocities);
        for (v, (p, velocity)) in nodes.enumerate() {
            *velocity = (self.now.carry(&self.next, v, *p) - p) / step;
        }
        Ok(())
    }

    /// Checks time and forces, and returns the number of steps that fill the time.
    pub(super) fn check_frame(
        &self,
        dt: f64,
        forces: (Option<&[Vec3]>, Option<&[Vec3]>),
    ) -> Result<usize, SimulationError> {
        if self.history.is_none() {
            return Err(SimulationError::NotReset);
        }
        check_forces(self.body(), forces.0)?;
        check_forces(self.body(), forces.1)?;
        match (0.0..=1e4).contains(&dt) {
            true => Ok(self.step_count(dt)),
            false => Err(SimulationError::Setting {
                what: "dt",
                range: "between 0 and 10000 seconds",
                value: dt,
            }),
        }
    }

    /// Returns the fewest equal steps that fill the time, each at most `(1 + STEP_LENGTH_TOLERANCE) / rate` long.
    fn step_count(&self, dt: f64) -> usize {
        (dt * self.settings.rate / (1.0 + STEP_LENGTH_TOLERANCE) - 1e-6)
            .ceil()
            .max(0.0) as usize
    }

    /// Returns the current pose; `None` before the first reset.
    pub fn pose(&self) -> Option<&Pose> {
        self.history.as_ref().map(|h| &h.pose)
    }

    /// Returns the total number of steps whose minimisation stopped short of its tolerance (hyperelastic method). The
    /// flesh continues from the best point found. The count is not part of a [`state`](Self::state).
    pub fn unconverged_steps(&self) -> usize {
        let former = self.adapting.as_ref().map_or(0, |a| a.unconverged());
        former + self.stepper.unconverged_steps()
    }

    /// Returns the number of steps of the last frame that stopped short of their tolerance.
    pub fn unconverged_in_frame(&self) -> usize {
        self.unconverged_steps() - self.unconverged_before
    }
}
