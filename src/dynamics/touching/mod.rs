// SPDX-License-Identifier: MIT OR Apache-2.0
//! Contact in the lockstep of one or more bodies: contact state, search and displacements.

mod body;
mod state;

pub(super) use body::{FleshDisplay, FrameStart};

use super::SimulationError;
use super::body_step::BodyStep;
use super::pins::PinnedFlesh;
use crate::Vec3;
use crate::contact::{
    BuriedBone, Collider, ColliderSpan, ContactError, ContactPoint, ContactSettings, ContactSkin,
    Contacts, Crease, Creases, FlexibleBody, PosedFlesh, PreparedContact, StandingBody, SweptBody,
};
use crate::dynamics::methods::stepper::{NodalState, SplitStep, Step};
use body::TouchingBody;
use smallvec::SmallVec;
use std::sync::Arc;

/// One entry for each body; that of a single body is not allocated.
pub(super) type PerBody<T> = SmallVec<[T; 1]>;

/// Index of the body that could not take a step, and the error.
pub(super) type Failure = (usize, SimulationError);

/// Contact of some bodies with themselves, with each other and with colliders.
pub(super) struct ContactSystem {
    bodies: Vec<TouchingBody>,
    /// Contact options of each body.
    options: Vec<ContactSettings>,
    colliders: Vec<Arc<Collider>>,
    /// Span of the colliders' motions for the next frame; `None`: one entry onwards.
    span: Option<ColliderSpan>,
    /// Entries of the colliders' motions after a reset and at present.
    first: usize,
    pub(super) entry: usize,
    contacts: Contacts,
    /// Creases, which replace the contacts of a single body if requested.
    creases: Option<Creases>,
    /// True before the frame's first step, during which the search for contact pairs runs in parallel; and the frame's collider span.
    fresh: bool,
    frame_span: Option<ColliderSpan>,
    /// True if the last step was displaced; and the displacements of the free nodes of each body.
    touched: bool,
    moved: Vec<Vec<Vec3>>,
    pushed: PushLoads,
}

/// Contact forces of the last step, N, for each body at all lattice vertices, rotated to the end of the present step; and their
/// sums with the external forces there.
#[derive(Default)]
struct PushLoads {
    pushes: Vec<Vec<Vec3>>,
    loads: Vec<Vec<Vec3>>,
}

impl ContactSystem {
    /// Creates the contact of one body.
    pub fn new(contact: &PreparedContact) -> Result<Self, SimulationError> {
        let mut touching = Self::for_bodies(
            std::slice::from_ref(contact),
            contact.contact().colliders.clone(),
        )?;
        touching.creases = Creases::new(contact.options().response);
        Ok(touching)
    }

    /// Creates the contact of bodies among each other, with colliders for all of them.
    pub fn for_bodies(
        contacts: &[PreparedContact],
        colliders: Vec<Arc<Collider>>,
    ) -> Result<Self, SimulationError> {
        let options: Vec<ContactSettings> = contacts.iter().map(PreparedContact::options).collect();
        let bodies = contacts.iter().map(|c| TouchingBody::new(c.skin()));
        Ok(Self {
            bodies: bodies.collect::<Result<_, _>>()?,
            contacts: Contacts::new(&options, &colliders),
            colliders,
            span: None,
            first: 0,
            entry: 0,
            creases: None,
            fresh: false,
            frame_span: None,
            touched: false,
            moved: Vec::new(),
            pushed: PushLoads::default(),
            options,
        })
    }

    pub fn points(&self) -> &[ContactPoint] {
        match &self.creases {
            Some(creases) => creases.points(),
            None => self.contacts.points(),
        }
    }

    pub fn held_cells(&self, body: usize) -> usize {
        self.contacts.held_cells(body)
    }

    /// Returns whether the last step was displaced.
    pub fn was_displaced(&self) -> bool {
        self.touched
    }

    /// Switches friction on or off; balances are frictionless.
    pub fn set_friction(&mut self, on: bool) {
        let frictionless = |o: &ContactSettings| ContactSettings {
            friction: if on { o.friction } else { 0.0 },
            ..*o
        };
        let options: Vec<ContactSettings> = self.options.iter().map(frictionless).collect();
        self.contacts.set_options(&options);
    }

    /// Returns the contact forces on the free nodes of a body in the last step, N; empty if there were none.
    pub fn pushes(&self, body: usize) -> &[Vec3] {
        self.contacts.pushes().get(body).map_or(&[], |p| p)
    }

    /// Replaces the skin of a body by that of one with other functions. `pushes` are the forces of the last step on its free nodes, N.
    pub fn replace_skin(
        &mut self,
        body: usize,
        skin: &Arc<ContactSkin>,
        pushes: Vec<Vec3>,
    ) -> Result<(), SimulationError> {
        self.bodies[body] = TouchingBody::new(skin)?;
        self.contacts.replace_pushes(body, pushes);
        Ok(())
    }

    /// Removes all contacts, as after a reset.
    pub fn clear(&mut self) {
        self.contacts.restore(Vec::new(), Vec::new());
        self.restore_creases(Vec::new());
    }

    /// Resets contact for bodies at `places`: colliders are at the [first](Self::set_first_entry) entry of their motions, and a collider that
    /// encloses a body becomes a room of it.
    pub fn reset(&mut self, places: &[&[Vec3]]) {
        self.clear();
        self.set_entry(self.first);
        let standing = standing_bodies(&self.bodies, &self.options, places);
        self.contacts.find_rooms(&standing, self.first);
    }

    /// Returns for each body the bones that lie in other flesh or in colliders.
    pub fn find_buried_bones(&self, places: &[&[Vec3]]) -> Vec<Vec<BuriedBone>> {
        let standing = standing_bodies(&self.bodies, &self.options, places);
        self.contacts.find_buried_bones(&standing, self.entry)
    }

    /// Copies the contacts of `other`, which has the same bodies.
    pub fn copy_contacts(&mut self, other: &Self) {
        let (live, pushes) = (other.contacts.live_contacts(), other.contacts.pushes());
        self.contacts.restore(live.to_vec(), pushes.to_vec());
    }

    /// Returns the crease method, if it replaces contacts.
    pub fn creases(&self) -> Option<&Creases> {
        self.creases.as_ref()
    }

    /// Sets the pairs of vertices at which the search for creases starts.
    pub fn set_seeds(&mut self, seeds: &[[u32; 2]]) -> Result<(), ContactError> {
        let creases = self.creases.as_mut().ok_or(ContactError::NoCreases)?;
        creases.set_seeds(seeds, &self.bodies[0].skin)
    }

    fn restore_creases(&mut self, list: Vec<Crease>) {
        if let Some(creases) = &mut self.creases {
            creases.restore(list);
        }
    }

    /// Returns the prepared skin and the contact options of a body.
    pub fn body_contact(&self, body: usize) -> (&Arc<ContactSkin>, ContactSettings) {
        (&self.bodies[body].skin, self.options[body])
    }

    /// Sets the entry of the colliders' motions at which resets put them.
    pub fn set_first_entry(&mut self, entry: usize) {
        self.first = entry;
    }

    /// Returns the constant span at which colliders stay while bodies come to rest after a reset.
    pub fn resting_span(&self) -> ColliderSpan {
        ColliderSpan::between_entries(self.first, self.first)
    }

    /// Puts the colliders at an entry of their motions.
    pub fn set_entry(&mut self, entry: usize) {
        self.entry = entry;
        self.span = None;
    }

    /// Sets the span of the colliders' motions for the next frame.
    pub fn set_span(&mut self, span: ColliderSpan) {
        self.span = Some(span);
    }

    /// Returns the colliders' span in the frame that begins, and moves them to its end.
    pub fn advance_span(&mut self) -> ColliderSpan {
        let next = ColliderSpan::between_entries(self.entry, self.entry + 1);
        let span = self.span.take().unwrap_or(next);
        self.entry = span.to;
        span
    }

    /// Prepares for a frame in which colliders move through a span of their motions; `None`: no colliders.
    pub fn begin(
        &mut self,
        begun: &[FrameStart],
        span: Option<&ColliderSpan>,
    ) -> Result<(), SimulationError> {
        for (body, begun) in self.bodies.iter_mut().zip(begun) {
            body.begin(begun)?;
        }
        self.fresh = self.creases.is_none();
        self.frame_span = span.copied();
        Ok(())
    }

    /// Takes one step of all bodies. An error names the body; those before it have taken the step.
    pub fn step(&mut self, bodies: &mut [BodyStep]) -> Result<(), Failure> {
        if !self.fresh {
            for (seen, body) in self.bodies.iter_mut().zip(&*bodies) {
                seen.set_before(body.shown, &body.step, &body.nodes.positions);
            }
        }
        // The proposal includes the last step's contact forces: contacts are then found in place, and flesh is not strained to be pushed back.
        let mut pushed = std::mem::take(&mut self.pushed);
        let any = self.compute_loads(bodies, &mut pushed);
        let mut steps = PerBody::with_capacity(bodies.len());
        for (k, body) in bodies.iter().enumerate() {
            let forces = any.then(|| &pushed.loads[k][..]);
            steps.push(body.step.with_forces(forces));
        }
        let done = self.take_step(bodies, &steps, any.then_some(&pushed.pushes[..]));
        drop(steps);
        self.pushed = pushed;
        done
    }

    /// Computes the contact forces of the last step and the loads with them; returns false if there were none.
    fn compute_loads(&self, bodies: &[BodyStep], pushed: &mut PushLoads) -> bool {
        let pushes = self.contacts.pushes();
        let PushLoads { pushes: all, loads } = pushed;
        all.resize_with(pushes.len(), Vec::new);
        loads.resize_with(pushes.len(), Vec::new);
        for (k, pushes) in pushes.iter().enumerate() {
            let step = &bodies[k].step;
            self.bodies[k].rotate_pushes(step, pushes, &mut all[k]);
            loads[k].clone_from(&all[k]);
            for (load, force) in loads[k]
                .iter_mut()
                .zip(step.load.forces.into_iter().flatten())
            {
                *load += force;
            }
        }
        !pushes.is_empty()
    }

    /// Takes one step of all bodies under the last step's contact forces.
    fn take_step(
        &mut self,
        bodies: &mut [BodyStep],
        steps: &[Step],
        pushed: Option<&[Vec<Vec3>]>,
    ) -> Result<(), Failure> {
        let former = self.creases.as_ref().map(|c| c.list().to_vec());
        let displaced = self.displacements(bodies, steps, pushed)?;
        for (k, (body, step)) in bodies.iter_mut().zip(steps).enumerate() {
            let moved = displaced.then(|| &self.moved[k][..]);
            let stepper = split_step(body);
            let accepted = stepper.and_then(|(s, nodes)| s.accept(step, nodes, moved));
            if let Err(error) = accepted {
                match former {
                    Some(former) => self.restore_creases(former),
                    None => self.contacts.undo(),
                }
                return Err((k, error));
            }
        }
        self.touched = displaced;
        Ok(())
    }

    /// Proposes the steps. In parallel with the first ones of a frame, the frame's contact pairs are searched for.
    fn propose(&mut self, bodies: &mut [BodyStep], steps: &[Step]) -> Result<(), Failure> {
        let fresh = std::mem::take(&mut self.fresh);
        let all = self.bodies.iter().zip(&self.options).zip(&*bodies);
        let swept = all.filter(|_| fresh).map(|((seen, options), body)| {
            let (from, to) = (body.poses.0, body.step.motion.end_pose());
            SweptBody {
                from: seen.before.posed_flesh(&seen.skin, from, body.shown),
                to: Some(seen.after.posed_flesh(&seen.skin, to, body.shown)),
                itself: options.self_contact,
            }
        });
        let swept: PerBody<SweptBody> = swept.collect();
        let (contacts, span) = (&mut self.contacts, self.frame_span.as_ref());
        // Only this thread checks for cancellation.
        rayon::in_place_scope(|scope| {
            if fresh {
                scope.spawn(|_| contacts.begin(&swept, span));
            }
            for (k, (body, step)) in bodies.iter_mut().zip(steps).enumerate() {
                propose_step(body, step).map_err(|error| (k, error))?;
            }
            Ok(())
        })
    }

    /// Proposes the steps and computes the displacements of each body's free nodes at their ends; returns false without contact.
    fn displacements(
        &mut self,
        bodies: &mut [BodyStep],
        steps: &[Step],
        pushed: Option<&[Vec<Vec3>]>,
    ) -> Result<bool, Failure> {
        self.propose(bodies, steps)?;
        let (mut proposals, mut seen) = (PerBody::new(), PerBody::new());
        for (k, (body, step)) in bodies.iter_mut().zip(steps).enumerate() {
            let (shown, poses) = (body.shown, body.poses);
            let pins = body.pins.as_deref_mut();
            let stepper = body.stepper.split_step();
            let stepper = stepper.ok_or((k, contact_error(shown)))?;
            let proposal = stepper.proposal(step).map_err(|error| (k, error))?;
            self.bodies[k].set_after(shown, step, proposal.positions);
            proposals.push(PinnedFlesh {
                flesh: proposal.factored,
                pins,
            });
            seen.push((shown, poses));
        }
        let all = || self.bodies.iter().zip(&seen);
        let before =
            all().map(|(b, (shown, (from, _)))| b.before.posed_flesh(&b.skin, from, *shown));
        let before: PerBody<PosedFlesh> = before.collect();
        let after = all().map(|(b, (shown, (_, to)))| b.after.posed_flesh(&b.skin, to, *shown));
        let after: PerBody<PosedFlesh> = after.collect();
        if let Some(creases) = &mut self.creases {
            let flesh = &mut proposals[0];
            let moved = creases.step(&before[0], &after[0], flesh);
            self.moved = Vec::from_iter(moved);
            return Ok(!self.moved.is_empty());
        }
        let flesh = proposals.iter_mut().map(|p| p as _);
        let mut flesh: PerBody<&mut dyn FlexibleBody> = flesh.collect();
        let (bodies, step) = (&self.bodies, &steps[0]);
        Ok(self.contacts.step(
            (&before, &after),
            ((step.end - step.part, step.end), step.duration),
            &|body, v| bodies[body].rotation(&steps[body], v),
            &mut flesh,
            pushed,
            &mut self.moved,
        ))
    }
}

fn standing_bodies<'a>(
    bodies: &'a [TouchingBody],
    options: &[ContactSettings],
    places: &[&'a [Vec3]],
) -> PerBody<StandingBody<'a>> {
    let all = bodies.iter().zip(options).zip(places);
    let standing = all.map(|((body, options), places)| StandingBody {
        skin: &body.skin,
        places,
        itself: options.self_contact,
    });
    standing.collect()
}

/// Returns the stepper of a body that takes steps in parts, and the body's nodal state.
fn split_step<'a>(
    body: &'a mut BodyStep,
) -> Result<(&'a mut dyn SplitStep, &'a mut NodalState), SimulationError> {
    let shown = body.shown;
    let stepper = body.stepper.split_step();
    let stepper = stepper.ok_or(contact_error(shown))?;
    Ok((stepper, body.nodes))
}

fn contact_error(shown: FleshDisplay) -> SimulationError {
    SimulationError::ContactMethod {
        method: shown.method,
    }
}

/// Proposes the step of a body, with its pins held.
fn propose_step(body: &mut BodyStep, step: &Step) -> Result<(), SimulationError> {
    let shown = body.shown;
    let stepper = body.stepper.split_step();
    let stepper = stepper.ok_or(contact_error(shown))?;
    stepper.propose(step, body.nodes)?;
    match &mut body.pins {
        Some(pins) => pins.hold_step(stepper, step, body.nodes),
        None => Ok(()),
    }
}
