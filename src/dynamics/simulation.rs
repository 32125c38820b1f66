// SPDX-License-Identifier: MIT OR Apache-2.0
//! A body in motion: its state, and how poses advance it.

use super::bends::BendMotion;
use super::forces::{ExternalForces, Load, check_forces, check_terms};
use super::lockstep::{self, Drive};
use super::shape::Shape;
use super::skinned::SkinnedLattice;
use super::stepper::{self, NodalState, Start, Stepper};
use super::touching::Touching;
use super::{Method, Settings, SimulationError};
use crate::Vec3;
use crate::body::Body;
use crate::contact::Parting;
use crate::modal::Modes;
use crate::present::Snapshot;
use crate::progress::{Paced, Progress, Silent};
use crate::skeleton::{FrameMotion, Pose};
use crate::solve::EnergyTerm;
use std::sync::Arc;

/// A frame is taken to start with the velocity of the one before while it is at most so much longer.
const LONGER: f64 = 2.0;

/// Steps may be so much longer than asked for, relative: film at 23.976 frames per second, 1.001 times as slow as at 24, then
/// takes as many steps a frame, and looks the same.
const SLACK: f64 = 0.01;

/// A body in motion.
pub struct Simulation {
    pub(super) body: Arc<Body>,
    pub(super) method: Method,
    pub(super) settings: Settings,
    pub(super) nodes: NodalState,
    pub(super) shape: Shape,
    /// How the joints' own shape moves.
    pub(super) bending: BendMotion,
    pub(super) history: Option<PoseHistory>,
    pub(super) now: SkinnedLattice,
    pub(super) next: SkinnedLattice,
    pub(super) external: ExternalForces,
    pub(super) terms: Vec<Arc<dyn EnergyTerm>>,
    pub(super) touching: Option<Box<Touching>>,
    /// Of the modal method, in place of contacts.
    pub(super) parting: Option<Box<Parting>>,
    pub(super) stepper: Box<dyn Stepper>,
    /// Steps that had not converged when the last frame began.
    pub(super) unconverged_before: usize,
    /// Scratch: the pose at the end of the present step.
    pub(super) moving: Pose,
}

/// Where the bones are and how they came there.
#[derive(Debug, Clone)]
pub(super) struct PoseHistory {
    /// At the start of the last frame.
    pub before: Pose,
    /// At present.
    pub pose: Pose,
    /// Seconds between the two.
    pub duration: f64,
}

impl Simulation {
    /// A simulation of a body, not yet in any pose.
    ///
    /// # Errors
    /// Settings out of range, by name.
    pub fn new(
        body: Arc<Body>,
        method: Method,
        settings: Settings,
    ) -> Result<Self, SimulationError> {
        Self::build(body, method, None, settings)
    }

    /// A simulation of a body of flesh by its modes, not yet in any pose. How stiff it is the modes say: they may be
    /// [scaled](Modes::scaled) ones.
    ///
    /// # Errors
    /// Modes of another body, or of one without a skeleton; settings out of range, by name.
    pub fn modal(
        body: Arc<Body>,
        modes: Arc<Modes>,
        settings: Settings,
    ) -> Result<Self, SimulationError> {
        if !modes.are_of(&body) {
            return Err(SimulationError::OtherModes {
                nodes: modes.nodes(),
                lattice: body.nodes(),
            });
        }
        Self::build(body, Method::Modal, Some(modes), settings)
    }

    fn build(
        body: Arc<Body>,
        method: Method,
        modes: Option<Arc<Modes>>,
        settings: Settings,
    ) -> Result<Self, SimulationError> {
        settings.check()?;
        let (vertices, nodes) = (body.lattice().vertices(), body.nodes());
        Ok(Self {
            shape: Shape::new(&body, method, settings.solver, settings.elastic_joints)?,
            nodes: NodalState {
                positions: vertices.to_vec(),
                velocities: vec![Vec3::zeros(); nodes],
            },
            bending: BendMotion::new(nodes),
            history: None,
            now: SkinnedLattice::new(&body)?,
            next: SkinnedLattice::new(&body)?,
            external: ExternalForces::none(nodes),
            terms: Vec::new(),
            touching: None,
            parting: None,
            stepper: stepper::stepper(&body, method, modes, &settings)?,
            unconverged_before: 0,
            moving: Pose::rest(body.skeleton().len()),
            body,
            method,
            settings,
        })
    }

    /// The body.
    pub fn body(&self) -> &Arc<Body> {
        &self.body
    }

    /// The method of motion.
    pub fn method(&self) -> Method {
        self.method
    }

    /// The settings.
    pub fn settings(&self) -> Settings {
        self.settings
    }

    /// The modes of the modal method.
    pub fn modes(&self) -> Option<&Arc<Modes>> {
        self.stepper.modal().map(|(modes, _)| modes)
    }

    /// Amplitudes of the modal method's modes.
    pub fn amplitudes(&self) -> Option<&[f64]> {
        self.stepper.modal().map(|(_, amplitudes)| amplitudes)
    }

    /// Lets further energies of the lattice vertices' positions (world axes) act from now on, besides those of the flesh: no
    /// part of a [`state`](Self::state). Linearised methods take each linearised where a step begins, balances where the bones
    /// carry the flesh; of the hyperelastic method positions are T(x) + u, without the joints' own elastic shape.
    ///
    /// # Errors
    /// The modal method, whose flesh has amplitudes only; a term of nodes that are not there, or that couples some that share
    /// no cell.
    pub fn set_terms(&mut self, terms: Vec<Arc<dyn EnergyTerm>>) -> Result<(), SimulationError> {
        if self.stepper.is_relative() && !terms.is_empty() {
            return Err(SimulationError::ModalTerms);
        }
        check_terms(&self.body, &terms)?;
        self.terms = terms;
        Ok(())
    }

    /// Another gravity from now on, which has been checked.
    pub(super) fn set_gravity(&mut self, gravity: Vec3) {
        self.settings.gravity = gravity;
    }

    /// Starts at rest at a pose: in static equilibrium when `settled` (with contact one where nothing overlaps, without
    /// friction), else in the skinned shape. Generalised forces in rest
    /// axes (N, `[nodes]`; none = none) act from there.
    ///
    /// # Errors
    /// A pose that does not fit the skeleton; forces that do not fit the body; a singular system.
    pub fn reset(
        &mut self,
        pose: &Pose,
        settled: bool,
        rest_forces: Option<&[Vec3]>,
    ) -> Result<(), SimulationError> {
        self.reset_watched(pose, settled, rest_forces, &Silent)
    }

    /// [`reset`](Self::reset); nonlinear balances ask before each of Newton's steps whether to go on.
    ///
    /// # Errors
    /// As [`reset`](Self::reset); a stop by the progress, which keeps the state as it was.
    pub fn reset_watched(
        &mut self,
        pose: &Pose,
        settled: bool,
        rest_forces: Option<&[Vec3]>,
        progress: &dyn Progress,
    ) -> Result<(), SimulationError> {
        self.reset_under(pose, settled, (None, rest_forces), progress)
    }

    /// With `(forces, rest_forces)`, the former in world axes and forgotten when it is done.
    pub(super) fn reset_under(
        &mut self,
        pose: &Pose,
        settled: bool,
        (world_forces, rest_forces): (Option<&[Vec3]>, Option<&[Vec3]>),
        progress: &dyn Progress,
    ) -> Result<(), SimulationError> {
        check_forces(&self.body, world_forces)?;
        check_forces(&self.body, rest_forces)?;
        let touches = settled && self.touching.is_some() && self.parting.is_none();
        let former = touches.then(|| self.state());
        self.next.set(&self.body, self.method, pose)?;
        let turns = &self.next.turns;
        let forces = self.external.turned(turns, world_forces, rest_forces, 1.0);
        let load = Load::new(&self.body, self.settings.gravity, forces, &self.terms);
        let start = Start {
            body: &self.body,
            method: self.method,
            pose,
            skinned: &self.next,
            load: &load,
            settled,
            progress,
        };
        self.unconverged_before = self.stepper.unconverged();
        self.stepper.reset(&start, &mut self.nodes)?;
        if let Some(touching) = &mut self.touching {
            touching.stand(&[&self.nodes.positions]);
        }
        self.external.set(rest_forces);
        self.nodes.velocities.fill(Vec3::zeros());
        self.bending.set_rate(None);
        self.history = Some(PoseHistory {
            before: pose.clone(),
            pose: pose.clone(),
            duration: 0.0,
        });
        std::mem::swap(&mut self.now, &mut self.next);
        self.show_modes();
        self.shape.set_folds(None);
        self.take_shape()?;
        if let Some(former) = former {
            let settled = self.settle_touching((world_forces, rest_forces), progress);
            if settled.is_err() {
                self.restore(&former)?;
            }
            return settled;
        }
        Ok(())
    }

    /// The shape of the present state.
    pub(super) fn take_shape(&mut self) -> Result<(), SimulationError> {
        match &self.history {
            Some(history) => {
                let skinned = (&history.pose, &self.now);
                let positions = &self.nodes.positions;
                self.shape.take(&self.body, self.method, skinned, positions)
            }
            None => Ok(()),
        }
    }

    /// Positions and velocities from amplitudes.
    pub(super) fn show_modes(&mut self) {
        if let Some(history) = &self.history {
            let (now, nodes) = (&self.now, &mut self.nodes);
            self.stepper.show(&self.body, now, &history.pose, nodes);
        }
    }

    /// Advances to a pose over `dt` seconds in `ceil(dt · rate)` equal steps, with generalised forces on the lattice's
    /// vertices (N, `[nodes]`): `forces` in world axes, constant over the time; `rest_forces` in rest axes at its end, where
    /// they go linearly from those of the call before, turned along with the flesh at every step.
    ///
    /// The first time after a reset the flesh sets out with the velocity of its bones. From then on the
    /// bones start with the mean velocity of the frame before and end with their own: C¹, but half a frame
    /// behind; where the frames that follow are known, [`advance_motion`](Self::advance_motion) does
    /// better.
    ///
    /// # Errors
    /// A time or forces that are not finite, a pose that does not fit; motion that is no longer finite:
    /// then the state before the failing step is kept.
    pub fn advance(
        &mut self,
        pose: &Pose,
        dt: f64,
        forces: Option<&[Vec3]>,
        rest_forces: Option<&[Vec3]>,
    ) -> Result<(), SimulationError> {
        self.advance_watched(pose, dt, (forces, rest_forces), &Silent)
    }

    /// [`advance`](Self::advance) with `(forces, rest_forces)`, with progress.
    ///
    /// # Errors
    /// As [`advance`](Self::advance); a stop by the progress, which keeps the state of the step before.
    pub fn advance_watched(
        &mut self,
        pose: &Pose,
        dt: f64,
        forces: (Option<&[Vec3]>, Option<&[Vec3]>),
        progress: &dyn Progress,
    ) -> Result<(), SimulationError> {
        let motion = self.motion_to(pose, dt)?;
        self.advance_motion(&motion, dt, forces, progress)
    }

    /// The bones' motion from the present pose to another one in `dt` seconds, with whose velocity the flesh sets out after a
    /// reset.
    pub(super) fn motion_to(
        &mut self,
        pose: &Pose,
        dt: f64,
    ) -> Result<FrameMotion, SimulationError> {
        let history = self.history.as_ref().ok_or(SimulationError::NotReset)?;
        let skeleton = self.body.skeleton();
        if history.duration == 0.0 {
            let motion = FrameMotion::between(skeleton, &history.pose, pose)?;
            self.move_with(&motion, dt)?;
            return Ok(motion);
        }
        let former = FrameMotion::between(skeleton, &history.before, &history.pose)?;
        // A velocity carried on over a much longer frame would be a wide swing.
        let ratio = (dt / history.duration).min(LONGER);
        Ok(FrameMotion::following(skeleton, &former, pose, ratio)?)
    }

    /// Advances along a frame's bone motion over `dt` seconds, with `(forces, rest_forces)` as in
    /// [`advance`](Self::advance); it should start in the present pose.
    ///
    /// # Errors
    /// As [`advance_watched`](Self::advance_watched).
    pub fn advance_motion(
        &mut self,
        motion: &FrameMotion,
        dt: f64,
        forces: (Option<&[Vec3]>, Option<&[Vec3]>),
        progress: &dyn Progress,
    ) -> Result<(), SimulationError> {
        let steps = self.steps_to_take(dt, forces)?;
        if steps == 0 {
            return Ok(());
        }
        let progress = Paced::new(progress);
        let drive = Drive {
            motion,
            forces: forces.0,
            rest_forces: forces.1,
        };
        let mut touching = self.touching.take();
        if let Some(touching) = touching.as_mut().filter(|_| self.parting.is_some()) {
            touching.next_span();
        }
        let in_steps = self.parting.is_none();
        let done = lockstep::advance(
            &mut [self],
            touching.as_deref_mut().filter(|_| in_steps),
            &[drive],
            (dt, steps),
            &progress,
        );
        self.touching = touching;
        self.show_modes();
        let shaped = self.take_shape();
        done.map_err(|(_, error)| error).and(shaped)
    }

    /// Gives the flesh the velocity that it has when it is frozen to its bones at the start of a motion
    /// that takes `dt` seconds: a character that is carried along does not lag behind at the start.
    ///
    /// # Errors
    /// Before the first reset; a motion of another skeleton.
    pub fn move_with(&mut self, motion: &FrameMotion, dt: f64) -> Result<(), SimulationError> {
        if self.history.is_none() {
            return Err(SimulationError::NotReset);
        }
        let steps = self.steps(dt);
        // Amplitudes are relative to the bones: frozen flesh has none.
        if steps == 0 || !dt.is_finite() || self.stepper.is_relative() {
            return Ok(());
        }
        motion.write(1.0 / steps as f64, &mut self.moving);
        self.next.set(&self.body, self.method, &self.moving)?;
        let step = dt / steps as f64;
        let nodes = self.nodes.positions.iter().zip(&mut self.nodes.velocities);
        for (v, (p, velocity)) in nodes.enumerate() {
            *velocity = (self.now.carry(&self.next, v, *p) - p) / step;
        }
        Ok(())
    }

    /// In how many steps it could advance over a time.
    pub(super) fn steps_to_take(
        &self,
        dt: f64,
        forces: (Option<&[Vec3]>, Option<&[Vec3]>),
    ) -> Result<usize, SimulationError> {
        if self.history.is_none() {
            return Err(SimulationError::NotReset);
        }
        check_forces(&self.body, forces.0)?;
        check_forces(&self.body, forces.1)?;
        match (0.0..=1e4).contains(&dt) {
            true => Ok(self.steps(dt)),
            false => Err(SimulationError::Setting {
                what: "dt",
                range: "between 0 and 10000 seconds",
                value: dt,
            }),
        }
    }

    /// A whole number of steps fills the time: the fewest that are no longer than asked for, but for [`SLACK`].
    fn steps(&self, dt: f64) -> usize {
        (dt * self.settings.rate / (1.0 + SLACK) - 1e-6)
            .ceil()
            .max(0.0) as usize
    }

    /// Positions of the lattice's vertices `[nodes]`, metres.
    pub fn lattice_positions(&self) -> &[Vec3] {
        &self.shape.places
    }

    /// The sway of the lattice's vertices `[nodes]`, metres, world axes: what the flesh does beyond the balance without loads in
    /// which the bones alone hold it. None where nobody wants it: with elastic joints shown whole other methods than the
    /// hyperelastic one do not part it off, and the modal one never does.
    pub fn sway(&self) -> Option<&[Vec3]> {
        (!self.shape.sway.is_empty()).then_some(&self.shape.sway)
    }

    /// Where the skin, as the bones alone carry it, lies in itself, so that what is shown has more of the joints' elastic shape, `[nodes]`, 0
    /// to 1; none without contact, or where all of that shape is shown.
    pub fn folds(&self) -> &[f64] {
        &self.shape.folds
    }

    /// What gives the flesh of bent joints its volume back where they are shown, `[nodes]`, metres, world axes; none where they are
    /// not: with another method than the hyperelastic one, or Elastic Joints at 0.
    pub fn joint_volume(&self) -> &[Vec3] {
        &self.shape.joints
    }

    /// Velocities of the lattice's vertices `[nodes]`, m/s.
    pub fn lattice_velocities(&self) -> &[Vec3] {
        &self.nodes.velocities
    }

    /// What there is to show of it: the lattice, and how it is shown at the pose it stands in (amplitudes are shown instead where
    /// there are any).
    pub fn snapshot(&self) -> Snapshot {
        let (positions, sway) = (self.lattice_positions(), self.sway());
        let showing = self.settings.showing();
        Snapshot::new(&self.body, positions, sway, self.pose(), showing)
            .with_folds(self.folds())
            .with_joints(self.joint_volume())
    }

    /// The pose that the body stands in.
    pub fn pose(&self) -> Option<&Pose> {
        self.history.as_ref().map(|h| &h.pose)
    }

    /// Where the bones alone carry the lattice's vertices `[nodes]`, metres.
    pub fn carried_positions(&self) -> &[Vec3] {
        &self.now.places
    }

    /// Steps so far, of the hyperelastic method, whose minimisation stopped short of its tolerance: the flesh goes on from the best
    /// point that was found. They are no part of a [`state`](Self::state).
    pub fn unconverged_steps(&self) -> usize {
        self.stepper.unconverged()
    }

    /// Steps of the last frame that stopped short so.
    pub fn unconverged_in_frame(&self) -> usize {
        self.stepper.unconverged() - self.unconverged_before
    }

    /// Cells that are inverted at present.
    pub fn inverted_cells(&self) -> usize {
        self.body.inverted_cells(&self.shape.places)
    }
}
