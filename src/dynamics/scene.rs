// SPDX-License-Identifier: MIT OR Apache-2.0
//! Several bodies in motion that touch each other.

use super::forces::NodalForces;
use super::lockstep::{self, Drive};
use super::sections::{Sections, Writer};
use super::settling::settle_together;
use super::touching::{Failure, Touching};
use super::{Method, Simulation, SimulationError};
use crate::Vec3;
use crate::contact::{BuriedBone, Collider, ContactPoint, PreparedContact, Span};
use crate::progress::{Paced, Progress};
use crate::skeleton::{FrameMotion, Pose};
use std::sync::Arc;

/// What the state of a scene begins with.
const MAGIC: &[u8; 8] = b"thewsc01";

/// Several bodies in motion that touch themselves, as each is asked to, each other, and colliders, which all of them touch. Steps are taken
/// side by side; what touches pushes both sides alike. A body alone moves by the same bits as its [`Simulation`].
pub struct Scene {
    bodies: Vec<Simulation>,
    contacts: Vec<PreparedContact>,
    colliders: Vec<Arc<Collider>>,
    touching: Touching,
}

impl Scene {
    /// Of simulations, each with how its body touches. Between bodies friction is the geometric mean of both sides', thickness the
    /// mean; compliance is the largest of all.
    ///
    /// # Errors
    /// No body; a method that knows no contact, a skin of another body, the crease methods; bodies whose steps are of different
    /// lengths.
    pub fn new(members: Vec<(Simulation, PreparedContact)>) -> Result<Self, SimulationError> {
        let (mut bodies, contacts): (Vec<Simulation>, Vec<PreparedContact>) =
            members.into_iter().unzip();
        let rate = bodies.first().map(|b| b.settings().rate);
        let rate = rate.ok_or(SimulationError::EmptyScene)?;
        let mut colliders: Vec<Arc<Collider>> = Vec::new();
        for (k, (body, contact)) in bodies.iter_mut().zip(&contacts).enumerate() {
            let told = |error| in_scene((k, error));
            let creases = contact.contact().refuse_creases();
            creases.map_err(|error| told(error.into()))?;
            if body.method() == Method::Modal {
                return Err(told(SimulationError::ModalScene));
            }
            body.check_contact(contact).map_err(told)?;
            // What touches the scene keeps.
            body.set_contact(None).map_err(told)?;
            body.fold_as(contact);
            if body.settings().rate != rate {
                let (first, other) = (rate, body.settings().rate);
                return Err(told(SimulationError::SceneRate { first, other }));
            }
            add_colliders(&mut colliders, &contact.contact().colliders);
        }
        Ok(Self {
            touching: Touching::of(&contacts, colliders.clone())?,
            bodies,
            contacts,
            colliders,
        })
    }

    /// The bodies, in the order in which they were given.
    pub fn bodies(&self) -> &[Simulation] {
        &self.bodies
    }

    /// What all of them touch besides.
    pub fn colliders(&self) -> &[Arc<Collider>] {
        &self.colliders
    }

    /// Starts at rest at a pose of each body: when `settled`, each in balance by itself, without friction, and then with the
    /// others, from where they are parted as contact parts what overlaps; else in the skinned shape. `rest_forces`: of each
    /// body, N, as of [`Simulation::reset`].
    ///
    /// # Errors
    /// As of [`Simulation::reset`], naming the body; another number of poses or forces than of bodies. The state stays as it was.
    pub fn reset(
        &mut self,
        poses: &[Pose],
        settled: bool,
        rest_forces: &[Option<&[Vec3]>],
        progress: &dyn Progress,
    ) -> Result<(), SimulationError> {
        self.check(poses.len())?;
        self.check(rest_forces.len())?;
        let former = self.state();
        let done = self.reset_all(poses, settled, rest_forces, progress);
        if done.is_err() {
            // What each was settled with may be there still.
            self.bodies.iter_mut().for_each(|body| body.touching = None);
            self.restore(&former)?;
        }
        done.map_err(in_scene)
    }

    fn reset_all(
        &mut self,
        poses: &[Pose],
        settled: bool,
        rest_forces: &[Option<&[Vec3]>],
        progress: &dyn Progress,
    ) -> Result<(), Failure> {
        let parts = self.bodies.iter_mut().zip(&self.contacts).zip(poses);
        for (k, (((body, contact), pose), forces)) in parts.zip(rest_forces).enumerate() {
            let alone = contact.with_colliders(&self.colliders);
            let mut reset = || {
                if settled {
                    body.touching = Some(Box::new(Touching::new(&alone)?));
                }
                body.reset_watched(pose, settled, *forces, progress)
            };
            reset().map_err(|error| (k, error))?;
        }
        let places = self.bodies.iter().map(|body| &body.nodes.positions[..]);
        self.touching.stand(&places.collect::<Vec<_>>());
        let own = self.bodies.iter_mut().map(|body| body.touching.take());
        if let [Some(own)] = &own.collect::<Vec<_>>()[..] {
            self.touching.follow(own);
        }
        if settled && self.bodies.len() > 1 {
            let forces: Vec<NodalForces> = rest_forces.iter().map(|f| (None, *f)).collect();
            let mut bodies: Vec<&mut Simulation> = self.bodies.iter_mut().collect();
            settle_together(&mut bodies, &mut self.touching, &forces, progress)?;
        }
        Ok(())
    }

    /// Advances each body to a pose over `dt` seconds, as [`Simulation::advance`] does; `forces`: of each body, in world and in
    /// rest axes.
    ///
    /// # Errors
    /// As of [`Simulation::advance`], naming the body; the state before the call stays, and of a stop by the progress that of the step
    /// before.
    pub fn advance(
        &mut self,
        poses: &[Pose],
        dt: f64,
        forces: &[NodalForces],
        progress: &dyn Progress,
    ) -> Result<(), SimulationError> {
        self.check(poses.len())?;
        self.or_as_before(|scene| {
            let all = scene.bodies.iter_mut().zip(poses).enumerate();
            let motion = |(k, (body, pose)): (usize, (&mut Simulation, &Pose))| {
                let motion = body.motion_to(pose, dt);
                motion.map_err(|error| in_scene((k, error)))
            };
            let motions: Vec<FrameMotion> = all.map(motion).collect::<Result<_, _>>()?;
            scene.go(&motions, dt, forces, progress)
        })
    }

    /// Advances each body along a frame's bone motion over `dt` seconds, as [`Simulation::advance_motion`] does.
    ///
    /// # Errors
    /// As of [`advance`](Self::advance).
    pub fn advance_motions(
        &mut self,
        motions: &[FrameMotion],
        dt: f64,
        forces: &[NodalForces],
        progress: &dyn Progress,
    ) -> Result<(), SimulationError> {
        self.or_as_before(|scene| scene.go(motions, dt, forces, progress))
    }

    /// Does something after which, if it fails, all is as it was; a stop by the progress keeps the state of the step before.
    fn or_as_before(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<(), SimulationError>,
    ) -> Result<(), SimulationError> {
        let former = self.state();
        let done = work(self);
        if let Err(error) = &done
            && !matches!(error, SimulationError::Cancelled(_))
        {
            self.restore(&former)?;
        }
        done
    }

    fn go(
        &mut self,
        motions: &[FrameMotion],
        dt: f64,
        forces: &[NodalForces],
        progress: &dyn Progress,
    ) -> Result<(), SimulationError> {
        self.check(motions.len())?;
        self.check(forces.len())?;
        let mut steps = 0;
        for (k, (body, forces)) in self.bodies.iter().zip(forces).enumerate() {
            let taken = body.steps_to_take(dt, *forces);
            steps = taken.map_err(|error| in_scene((k, error)))?;
        }
        if steps == 0 {
            return Ok(());
        }
        let drives = motions.iter().zip(forces).map(|(motion, forces)| Drive {
            motion,
            forces: forces.0,
            rest_forces: forces.1,
        });
        let drives: Vec<Drive> = drives.collect();
        let mut bodies: Vec<&mut Simulation> = self.bodies.iter_mut().collect();
        let progress = Paced::new(progress);
        let touching = Some(&mut self.touching);
        let done = lockstep::advance(&mut bodies, touching, &drives, (dt, steps), &progress);
        let shaped = self.take_shapes();
        done.map_err(in_scene).and(shaped)
    }

    fn take_shapes(&mut self) -> Result<(), SimulationError> {
        self.bodies.iter_mut().try_for_each(Simulation::take_shape)
    }

    /// Gives the flesh of each body the velocity of its bones, as [`Simulation::move_with`] does.
    ///
    /// # Errors
    /// As of [`Simulation::move_with`], naming the body.
    pub fn move_with(&mut self, motions: &[FrameMotion], dt: f64) -> Result<(), SimulationError> {
        self.check(motions.len())?;
        let all = self.bodies.iter_mut().zip(motions).enumerate();
        for (k, (body, motion)) in all {
            let moved = body.move_with(motion, dt);
            moved.map_err(|error| in_scene((k, error)))?;
        }
        Ok(())
    }

    /// Lets resets put colliders at an entry of their motions.
    pub(crate) fn begin_colliders_at(&mut self, entry: usize) {
        self.touching.begin_at(entry);
    }

    /// Lets colliders go so in the next frame, in place of on by one entry.
    pub(crate) fn set_collider_span(&mut self, span: Span) {
        self.touching.set_span(span);
    }

    /// What touches at present. What two bodies do to each other is there for both of them, equal and opposite; of a body that
    /// touches itself once.
    pub fn contacts(&self) -> Vec<ContactPoint> {
        let (points, count) = (self.touching.points(), self.bodies.len());
        let between = |c: &&ContactPoint| c.other != c.body && (c.other as usize) < count;
        let others = points
            .iter()
            .filter(between)
            .map(ContactPoint::seen_by_other);
        let mut all: Vec<ContactPoint> = points.iter().copied().chain(others).collect();
        all.sort_by_key(|c| c.body);
        all
    }

    /// What pushed the lattice vertices of a body in the last step, contacts and cells near inversion, `[nodes]`, N, world axes; what
    /// pushes those that hang on bones is not in it. None of a body that is not there.
    pub fn contact_forces(&self, body: usize) -> Option<Vec<Vec3>> {
        let of = self.bodies.get(body)?.body();
        let mut forces = vec![Vec3::zeros(); of.nodes()];
        let free = of.pattern().vertex_of_node();
        for (push, &v) in self.touching.pushes(body).iter().zip(free) {
            forces[v as usize] = *push;
        }
        Some(forces)
    }

    /// Of each body the bones that lie in other flesh or in colliders at present, which contact moves out of nothing.
    pub fn buried_bones(&self) -> Vec<Vec<BuriedBone>> {
        let places = self.bodies.iter().map(Simulation::lattice_positions);
        self.touching.buried(&places.collect::<Vec<_>>())
    }

    /// Cells near inversion of a body whose vertices all hang on bones: contact cannot help these.
    pub fn held_cells(&self, body: usize) -> usize {
        self.touching.held_cells(body)
    }

    /// The state, exactly: after 16 bytes that of each body, with its length in 8, and what touches.
    pub fn state(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend((self.bodies.len() as u64).to_le_bytes());
        let mut touching = Writer::new();
        self.touching.save(&mut touching);
        let states = self.bodies.iter().map(Simulation::state);
        for state in states.chain(std::iter::once(touching.finish())) {
            bytes.extend((state.len() as u64).to_le_bytes());
            bytes.extend(state);
        }
        bytes
    }

    /// Takes back a state that [`state`](Self::state) gave, of these bodies.
    ///
    /// # Errors
    /// [`SimulationError::State`] and its like; the present state stays.
    pub fn restore(&mut self, bytes: &[u8]) -> Result<(), SimulationError> {
        let parts = parts(bytes, self.bodies.len()).ok_or(SimulationError::State(
            "it is of another number of bodies, or cut off",
        ))?;
        let mut touching = Sections::read(parts[self.bodies.len()])?;
        let kept = self.touching.read(&mut touching)?;
        touching.finish()?;
        let former: Vec<Vec<u8>> = self.bodies.iter().map(Simulation::state).collect();
        for (k, part) in parts[..self.bodies.len()].iter().enumerate() {
            if let Err(error) = self.bodies[k].restore(part) {
                for (body, former) in self.bodies[..k].iter_mut().zip(&former) {
                    body.restore(former)?;
                }
                return Err(in_scene((k, error)));
            }
        }
        self.touching.take_up(kept);
        Ok(())
    }

    /// The part of a state of so many bodies that is of one of them; none of what is no such state.
    pub(crate) fn state_of(bytes: &[u8], body: usize, bodies: usize) -> Option<&[u8]> {
        parts(bytes, bodies)?[..bodies].get(body).copied()
    }

    fn check(&self, given: usize) -> Result<(), SimulationError> {
        match self.bodies.len() {
            expected if expected == given => Ok(()),
            expected => Err(SimulationError::SceneLength { expected, given }),
        }
    }
}

/// Adds the colliders of one body that those before it do not have: each is there as often as in the body that has most of it.
fn add_colliders(known: &mut Vec<Arc<Collider>>, own: &[Arc<Collider>]) {
    let mut met = vec![false; known.len()];
    for collider in own {
        let mut left = met.iter().zip(known.iter());
        match left.position(|(met, known)| !met && known.is_same(collider)) {
            Some(at) => met[at] = true,
            None => {
                known.push(collider.clone());
                met.push(true);
            }
        }
    }
}

/// The states of so many bodies, and after them what touches.
fn parts(bytes: &[u8], bodies: usize) -> Option<Vec<&[u8]>> {
    let rest = bytes.strip_prefix(MAGIC)?;
    let (count, mut rest) = rest.split_first_chunk::<8>()?;
    let mut parts = Vec::new();
    if u64::from_le_bytes(*count) != bodies as u64 {
        return None;
    }
    for _ in 0..=bodies {
        let (length, left) = rest.split_first_chunk::<8>()?;
        let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
        let (part, left) = left.split_at_checked(length)?;
        parts.push(part);
        rest = left;
    }
    rest.is_empty().then_some(parts)
}

/// Says of which body an error is.
fn in_scene((body, error): Failure) -> SimulationError {
    SimulationError::in_scene(body, error)
}
