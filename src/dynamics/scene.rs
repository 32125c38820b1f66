// SPDX-License-Identifier: MIT OR Apache-2.0
//! Several bodies in motion that touch each other.

use super::adapting::ActiveForces;
use super::body_step::FrameDrive;
use super::forces::NodalForces;
use super::lockstep;
use super::sections::{SectionReader, SectionWriter};
use super::settling::settle_together;
use super::touching::{ContactSystem, Failure};
use super::{Method, PinId, PinPoint, Simulation, SimulationError};
use crate::Vec3;
use crate::contact::{BuriedBone, Collider, ColliderSpan, ContactPoint, PreparedContact};
use crate::progress::{PacedProgress, Progress};
use crate::skeleton::{FrameMotion, Pose};
use std::sync::Arc;

/// First bytes of a scene's state.
const MAGIC: &[u8; 8] = b"thewsc01";

/// Several bodies in motion with contact between them, with colliders that are shared by all, and with self-contact according to each
/// body's settings. Steps are taken in lockstep; contact forces on both sides are equal and opposite. A scene of one body moves it
/// bit for bit as its [`Simulation`] does.
pub struct Scene {
    bodies: Vec<Simulation>,
    contacts: Vec<PreparedContact>,
    colliders: Vec<Arc<Collider>>,
    touching: ContactSystem,
}

impl Scene {
    /// Creates a scene of simulations, each with the contact of its body. Between two bodies, friction is the geometric mean and thickness the
    /// mean of both sides' values; compliance is the largest of all.
    ///
    /// # Errors
    /// The list is empty; a method supports no contact; a skin is of another body; a crease method is set; the bodies' rates differ.
    pub fn new(members: Vec<(Simulation, PreparedContact)>) -> Result<Self, SimulationError> {
        let (mut bodies, contacts): (Vec<Simulation>, Vec<PreparedContact>) =
            members.into_iter().unzip();
        let rate = bodies.first().map(|b| b.settings().rate);
        let rate = rate.ok_or(SimulationError::EmptyScene)?;
        let mut colliders: Vec<Arc<Collider>> = Vec::new();
        let mut active = Vec::with_capacity(bodies.len());
        for (k, (body, contact)) in bodies.iter_mut().zip(&contacts).enumerate() {
            let name_body = |error| attribute_error((k, error));
            let creases = contact.contact().refuse_creases();
            creases.map_err(|error| name_body(error.into()))?;
            if body.method() == Method::Modal {
                return Err(name_body(SimulationError::ModalScene));
            }
            body.check_contact(contact).map_err(name_body)?;
            // The scene keeps the contacts.
            body.set_contact(None).map_err(name_body)?;
            let own = body.contact_of_active(contact.clone());
            let own = own.map_err(name_body)?;
            body.enable_folds(&own);
            active.push(own);
            if body.settings().rate != rate {
                let (first, other) = (rate, body.settings().rate);
                return Err(name_body(SimulationError::SceneRate { first, other }));
            }
            add_colliders(&mut colliders, &contact.contact().colliders);
        }
        Ok(Self {
            touching: ContactSystem::for_bodies(&active, colliders.clone())?,
            bodies,
            contacts,
            colliders,
        })
    }

    /// Returns the bodies, in the order of [`new`](Self::new).
    pub fn bodies(&self) -> &[Simulation] {
        &self.bodies
    }

    /// Returns the bodies, whose pins may change; anything else is set by the scene.
    pub(crate) fn bodies_mut(&mut self) -> &mut [Simulation] {
        &mut self.bodies
    }

    /// Returns a body for its pins.
    fn body_mut(&mut self, body: usize) -> Result<&mut Simulation, SimulationError> {
        let count = self.bodies.len();
        let found = self.bodies.get_mut(body);
        found.ok_or(SimulationError::SceneBody { body, count })
    }

    /// Pins a point of a body, as [`Simulation::pin_point`] does.
    ///
    /// # Errors
    /// There is no such body; as [`Simulation::pin_point`], naming the body.
    pub fn pin(
        &mut self,
        body: usize,
        point: PinPoint,
        target: Option<Vec3>,
        strength: f64,
    ) -> Result<PinId, SimulationError> {
        let pinned = self.body_mut(body)?.pin_point(point, target, strength);
        pinned.map_err(|error| attribute_error((body, error)))
    }

    /// Moves a pin of a body, as [`Simulation::move_pin`] does.
    ///
    /// # Errors
    /// There is no such body; as [`Simulation::move_pin`], naming the body.
    pub fn move_pin(
        &mut self,
        body: usize,
        id: PinId,
        target: Vec3,
        strength: Option<f64>,
    ) -> Result<(), SimulationError> {
        let moved = self.body_mut(body)?.move_pin(id, target, strength);
        moved.map_err(|error| attribute_error((body, error)))
    }

    /// Removes a pin of a body, as [`Simulation::unpin`] does.
    ///
    /// # Errors
    /// There is no such body or pin.
    pub fn unpin(&mut self, body: usize, id: PinId) -> Result<(), SimulationError> {
        let removed = self.body_mut(body)?.unpin(id);
        removed.map_err(|error| attribute_error((body, error)))
    }

    /// Returns the colliders, shared by all bodies.
    pub fn colliders(&self) -> &[Arc<Collider>] {
        &self.colliders
    }

    /// Puts each body at rest at a pose: in equilibrium if `settled`, else in the skinned shape. Each body is settled by itself, without
    /// friction, and then together with the others, from positions at which contact has parted their overlaps. `rest_forces`: one entry
    /// per body, N, as in [`Simulation::reset`].
    ///
    /// # Errors
    /// As [`Simulation::reset`], naming the body; the number of poses or forces is not that of bodies. The previous state stays.
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
            // A body may still hold the contact that it was settled with.
            self.bodies.iter_mut().for_each(|body| body.touching = None);
            self.restore(&former)?;
        }
        done.map_err(attribute_error)
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
            let alone = body.on_active(&contact.with_colliders(&self.colliders));
            let mut reset = || {
                if settled {
                    body.touching = Some(Box::new(ContactSystem::new(&alone)?));
                }
                body.reset_with_progress(pose, settled, *forces, progress)
            };
            reset().map_err(|error| (k, error))?;
        }
        let followed = self.follow_functions(None);
        followed.map_err(|error| (0, error))?;
        let places = self.bodies.iter().map(|body| &body.nodes.positions[..]);
        self.touching.reset(&places.collect::<Vec<_>>());
        let own = self.bodies.iter_mut().map(|body| body.touching.take());
        if let [Some(own)] = &own.collect::<Vec<_>>()[..] {
            self.touching.copy_contacts(own);
        }
        if settled && self.bodies.len() > 1 {
            let active = |(body, forces): (&Simulation, &Option<&[Vec3]>)| {
                ActiveForces::new(body.adapting.as_deref(), (None, *forces))
            };
            let active: Vec<_> = self.bodies.iter().zip(rest_forces).map(active).collect();
            let forces = active.iter().zip(rest_forces);
            let forces: Vec<NodalForces> = forces.map(|(own, f)| own.or((None, *f))).collect();
            let mut bodies: Vec<&mut Simulation> = self.bodies.iter_mut().collect();
            settle_together(&mut bodies, &mut self.touching, &forces, progress)?;
        }
        Ok(())
    }

    /// Advances each body to a pose over `dt` seconds, as [`Simulation::advance`] does. `forces`: per body, in world and in rest axes.
    ///
    /// # Errors
    /// As [`Simulation::advance`], naming the body. The state before the call stays; after a cancellation, that of the previous
    /// step.
    pub fn advance(
        &mut self,
        poses: &[Pose],
        dt: f64,
        forces: &[NodalForces],
        progress: &dyn Progress,
    ) -> Result<(), SimulationError> {
        self.check(poses.len())?;
        self.restore_on_error(|scene| {
            let all = scene.bodies.iter_mut().zip(poses).enumerate();
            let motion = |(k, (body, pose)): (usize, (&mut Simulation, &Pose))| {
                let motion = body.frame_motion(pose, dt);
                motion.map_err(|error| attribute_error((k, error)))
            };
            let motions: Vec<FrameMotion> = all.map(motion).collect::<Result<_, _>>()?;
            scene.advance_bodies(&motions, dt, forces, progress)
        })
    }

    /// Advances each body along a frame's bone motion over `dt` seconds, as [`Simulation::advance_motion`] does.
    ///
    /// # Errors
    /// As [`advance`](Self::advance).
    pub fn advance_motions(
        &mut self,
        motions: &[FrameMotion],
        dt: f64,
        forces: &[NodalForces],
        progress: &dyn Progress,
    ) -> Result<(), SimulationError> {
        self.restore_on_error(|scene| scene.advance_bodies(motions, dt, forces, progress))
    }

    /// Runs `work` and restores the former state if it fails. A cancellation keeps the state of the previous step.
    fn restore_on_error(
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

    fn advance_bodies(
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
            let taken = body.check_frame(dt, *forces);
            steps = taken.map_err(|error| attribute_error((k, error)))?;
        }
        if steps == 0 {
            return Ok(());
        }
        let drives = motions
            .iter()
            .zip(forces)
            .map(|(motion, forces)| FrameDrive {
                motion,
                forces: forces.0,
                rest_forces: forces.1,
            });
        let drives: Vec<FrameDrive> = drives.collect();
        self.change_functions(|body, k| body.activate_forced(forces[k].1))?;
        let mut bodies: Vec<&mut Simulation> = self.bodies.iter_mut().collect();
        let progress = PacedProgress::new(progress);
        let touching = Some(&mut self.touching);
        let done = lockstep::advance(&mut bodies, touching, &drives, (dt, steps), &progress);
        if done.is_ok() {
            self.bodies.iter_mut().for_each(|body| body.fade(dt));
        }
        let shaped = self.update_shapes();
        done.map_err(attribute_error).and(shaped)?;
        self.change_functions(|body, k| body.adapt_after(forces[k].1, dt))
    }

    /// Changes the active functions of bodies by `change`, which gets a body with its index and returns whether they have changed.
    fn change_functions(
        &mut self,
        change: impl Fn(&mut Simulation, usize) -> Result<bool, SimulationError>,
    ) -> Result<(), SimulationError> {
        for (k, body) in self.bodies.iter_mut().enumerate() {
            if body.adapting.is_none() {
                continue;
            }
            let pushes = body.spread_pushes(self.touching.pushes(k));
            if change(body, k).map_err(|error| attribute_error((k, error)))? {
                let skin = body.on_active(&self.contacts[k]);
                let pushes = body.gather_pushes(&pushes);
                self.touching.replace_skin(k, skin.skin(), pushes)?;
            }
        }
        Ok(())
    }

    /// Takes the skins of bodies that adapt on their active functions, with contact forces on all functions of each body; `None`: zero.
    fn follow_functions(&mut self, pushes: Option<&[Vec<Vec3>]>) -> Result<(), SimulationError> {
        for (k, body) in self.bodies.iter().enumerate() {
            if body.adapting.is_some() {
                let zero = || vec![Vec3::zeros(); body.body().node_count()];
                let pushes = pushes.map_or_else(zero, |all| all[k].clone());
                let skin = body.on_active(&self.contacts[k]);
                let pushes = body.gather_pushes(&pushes);
                self.touching.replace_skin(k, skin.skin(), pushes)?;
            }
        }
        Ok(())
    }

    /// Returns the contact forces of the last step on all functions of each body, N.
    fn spread_pushes(&self) -> Vec<Vec<Vec3>> {
        let all = self.bodies.iter().enumerate();
        all.map(|(k, body)| body.spread_pushes(self.touching.pushes(k)))
            .collect()
    }

    fn update_shapes(&mut self) -> Result<(), SimulationError> {
        self.bodies
            .iter_mut()
            .try_for_each(Simulation::update_shape)
    }

    /// Sets the velocities of each body's flesh to those of its bones, as [`Simulation::match_bone_velocities`] does.
    ///
    /// # Errors
    /// The errors of [`Simulation::match_bone_velocities`], naming the body.
    pub fn match_bone_velocities(
        &mut self,
        motions: &[FrameMotion],
        dt: f64,
    ) -> Result<(), SimulationError> {
        self.check(motions.len())?;
        let all = self.bodies.iter_mut().zip(motions).enumerate();
        for (k, (body, motion)) in all {
            let moved = body.match_bone_velocities(motion, dt);
            moved.map_err(|error| attribute_error((k, error)))?;
        }
        Ok(())
    }

    /// Sets the entry of the colliders' motions at which resets put them.
    pub(crate) fn set_first_collider_entry(&mut self, entry: usize) {
        self.touching.set_first_entry(entry);
    }

    /// Sets the span of the colliders' motions for the next frame, in place of one entry.
    pub(crate) fn set_collider_span(&mut self, span: ColliderSpan) {
        self.touching.set_span(span);
    }

    /// Returns the present contacts, sorted by body. A contact between two bodies appears for both, equal and opposite; self-contact
    /// appears once.
    pub fn contacts(&self) -> Vec<ContactPoint> {
        let (points, count) = (self.touching.points(), self.bodies.len());
        let between = |c: &&ContactPoint| c.other_body != c.body && (c.other_body as usize) < count;
        let others = points.iter().filter(between).map(ContactPoint::swap_sides);
        let mut all: Vec<ContactPoint> = points.iter().copied().chain(others).collect();
        all.sort_by_key(|c| c.body);
        all
    }

    /// Returns the forces that pushed a body's lattice vertices in the last step, `[nodes]`, N, world axes: those of contacts and of cells
    /// near inversion. Forces on vertices held by bones are not included. `None` if there is no such body.
    pub fn contact_forces(&self, body: usize) -> Option<Vec<Vec3>> {
        let pushed = self.bodies.get(body)?;
        Some(pushed.spread_pushes(self.touching.pushes(body)))
    }

    /// Returns for each body the bones that lie in other flesh or in colliders at present; contact cannot move them out.
    pub fn buried_bones(&self) -> Vec<Vec<BuriedBone>> {
        let places = self.bodies.iter().map(|body| &body.shape.places[..]);
        self.touching.find_buried_bones(&places.collect::<Vec<_>>())
    }

    /// Returns the number of cells near inversion whose vertices are all held by bones: contact cannot help these.
    pub fn held_cells(&self, body: usize) -> usize {
        self.touching.held_cells(body)
    }

    /// Returns the exact state: 16 bytes, then the state of each body and of the contacts, each after its length in 8 bytes.
    pub fn state(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend((self.bodies.len() as u64).to_le_bytes());
        let mut touching = SectionWriter::new();
        self.touching.save(&mut touching);
        let states = self.bodies.iter().map(Simulation::state);
        for state in states.chain(std::iter::once(touching.finish())) {
            bytes.extend((state.len() as u64).to_le_bytes());
            bytes.extend(state);
        }
        bytes
    }

    /// Restores a [`state`](Self::state) of these bodies.
    ///
    /// # Errors
    /// [`SimulationError::State`] or another error of a saved state; the present state stays.
    pub fn restore(&mut self, bytes: &[u8]) -> Result<(), SimulationError> {
        let parts = split_state(bytes, self.bodies.len()).ok_or(SimulationError::State(
            "it has another number of bodies, or is cut off",
        ))?;
        let former: Vec<Vec<u8>> = self.bodies.iter().map(Simulation::state).collect();
        let pushes = self.spread_pushes();
        let done = self.restore_parts(&parts);
        if done.is_err() {
            for (body, former) in self.bodies.iter_mut().zip(&former) {
                body.restore(former)?;
            }
            self.follow_functions(Some(&pushes))?;
        }
        done
    }

    /// Restores the states of the bodies and, last, of the contacts. On an error the bodies' states are lost.
    fn restore_parts(&mut self, parts: &[&[u8]]) -> Result<(), SimulationError> {
        for (k, (body, part)) in self.bodies.iter_mut().zip(parts).enumerate() {
            let restored = body.restore(part);
            restored.map_err(|error| attribute_error((k, error)))?;
        }
        self.follow_functions(None)?;
        let mut touching = SectionReader::read(parts[self.bodies.len()])?;
        let kept = self.touching.read(&mut touching)?;
        touching.finish()?;
        self.touching.restore(kept);
        Ok(())
    }

    /// Returns the state of one body from a state of `bodies` bodies; `None` if the bytes are not such a state.
    pub(crate) fn body_state(bytes: &[u8], body: usize, bodies: usize) -> Option<&[u8]> {
        split_state(bytes, bodies)?[..bodies].get(body).copied()
    }

    fn check(&self, given: usize) -> Result<(), SimulationError> {
        match self.bodies.len() {
            expected if expected == given => Ok(()),
            expected => Err(SimulationError::SceneLength { expected, given }),
        }
    }
}

/// Adds a body's colliders that `known` lacks. A collider appears as often as in the body that has it most often.
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

/// Splits a scene's state into the states of `bodies` bodies and, last, that of the contacts.
fn split_state(bytes: &[u8], bodies: usize) -> Option<Vec<&[u8]>> {
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

/// Names the body in an error.
fn attribute_error((body, error): Failure) -> SimulationError {
    SimulationError::for_body(body, error)
}
