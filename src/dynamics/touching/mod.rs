// SPDX-License-Identifier: MIT OR Apache-2.0
//! Contact in the steps of bodies that are taken side by side, often of one alone: what touches, and what it displaces.

mod body;
mod state;

pub(super) use body::{Begun, Shown};

use super::lockstep::InStep;
use super::stepper::{NodalState, Step, StepInParts};
use super::{Method, Simulation, SimulationError};
use crate::Vec3;
use crate::contact::{
    BuriedBone, Collider, ContactError, ContactOptions, ContactPoint, ContactResponse, ContactSkin,
    Contacts, Crease, Creases, Flexible, Parted, Parting, Posed, PreparedContact, Span, Standing,
    Swept,
};
use crate::kernel::LocalPositions;
use crate::present::{PresentError, Presenter};
use body::TouchingBody;
use smallvec::SmallVec;
use std::sync::Arc;

/// One for each body; that of a body alone is not allocated.
type Each<T> = SmallVec<[T; 1]>;

/// Which body could not take a step, and why.
pub(super) type Failure = (usize, SimulationError);

/// Contact of some bodies with themselves, with each other and with colliders.
pub(super) struct Touching {
    bodies: Vec<TouchingBody>,
    /// How each of them touches.
    options: Vec<ContactOptions>,
    colliders: Vec<Arc<Collider>>,
    /// Where the motions of colliders go in the next frame; none: on by one entry.
    span: Option<Span>,
    /// The entry of their motions at which they are after a reset, and that at which they are.
    first: usize,
    entry: usize,
    contacts: Contacts,
    /// In place of the contacts of a body alone, where that is asked for.
    creases: Option<Creases>,
    /// Whether the frame's first step is still to come, beside which what may touch is searched for, and how colliders go in it.
    fresh: bool,
    way: Option<Span>,
    /// Whether the last step was displaced, and by how much the free nodes of each body.
    touched: bool,
    moved: Vec<Vec<Vec3>>,
    pushed: Pushed,
}

/// What pushed in the last step, N, of each body at all lattice vertices, turned along to the end of the present one; and the forces
/// there with those that act besides.
#[derive(Default)]
struct Pushed {
    pushes: Vec<Vec<Vec3>>,
    loads: Vec<Vec<Vec3>>,
}

impl Touching {
    /// Of one body.
    pub fn new(contact: &PreparedContact) -> Result<Self, SimulationError> {
        let mut touching = Self::of(
            std::slice::from_ref(contact),
            contact.contact().colliders.clone(),
        )?;
        touching.creases = Creases::new(contact.options().response);
        Ok(touching)
    }

    /// Of bodies among each other, with colliders for all of them.
    pub fn of(
        contacts: &[PreparedContact],
        colliders: Vec<Arc<Collider>>,
    ) -> Result<Self, SimulationError> {
        let options: Vec<ContactOptions> = contacts.iter().map(PreparedContact::options).collect();
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
            way: None,
            touched: false,
            moved: Vec::new(),
            pushed: Pushed::default(),
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

    /// Whether the last step was displaced.
    pub fn has_touched(&self) -> bool {
        self.touched
    }

    /// Balances are frictionless.
    pub fn set_friction(&mut self, on: bool) {
        let frictionless = |o: &ContactOptions| ContactOptions {
            friction: if on { o.friction } else { 0.0 },
            ..*o
        };
        let options: Vec<ContactOptions> = self.options.iter().map(frictionless).collect();
        self.contacts.set_options(&options);
    }

    /// What pushed the free nodes of a body in the last step, N; nothing where nothing did.
    pub fn pushes(&self, body: usize) -> &[Vec3] {
        self.contacts.pushes().get(body).map_or(&[], |p| p)
    }

    /// Lets nothing touch, as after a reset.
    pub fn clear(&mut self) {
        self.contacts.restore(Vec::new(), Vec::new());
        self.restore_creases(Vec::new());
    }

    /// Lets bodies stand where their lattices are, as after a reset: colliders are at the [first](Self::begin_at) entry of their
    /// motions, and those that enclose a body are rooms of it.
    pub fn stand(&mut self, places: &[&[Vec3]]) {
        self.clear();
        self.set_entry(self.first);
        let standing = standing(&self.bodies, &self.options, places);
        self.contacts.find_rooms(&standing, self.first);
    }

    /// Of each body the bones that lie in other flesh or in colliders.
    pub fn buried(&self, places: &[&[Vec3]]) -> Vec<Vec<BuriedBone>> {
        let standing = standing(&self.bodies, &self.options, places);
        self.contacts.buried(&standing, self.entry)
    }

    /// Takes up what touches of another that has the same bodies.
    pub fn follow(&mut self, other: &Self) {
        let (live, pushes) = (other.contacts.live(), other.contacts.pushes());
        self.contacts.restore(live.to_vec(), pushes.to_vec());
    }

    /// The crease method, where it takes the place of contacts.
    pub fn creases(&self) -> Option<&Creases> {
        self.creases.as_ref()
    }

    /// Looks for creases at these pairs of vertices from now on.
    pub fn set_seeds(&mut self, seeds: &[[u32; 2]]) -> Result<(), ContactError> {
        let creases = self.creases.as_mut().ok_or(ContactError::NoCreases)?;
        creases.set_seeds(seeds, &self.bodies[0].skin)
    }

    fn restore_creases(&mut self, list: Vec<Crease>) {
        if let Some(creases) = &mut self.creases {
            creases.restore(list);
        }
    }

    /// How the flesh of a body touches, and its skin, prepared.
    pub fn setting(&self, body: usize) -> (&Arc<ContactSkin>, ContactOptions) {
        (&self.bodies[body].skin, self.options[body])
    }

    /// Lets resets put colliders at an entry of their motions.
    pub fn begin_at(&mut self, entry: usize) {
        self.first = entry;
    }

    /// Returns where colliders stay while bodies come to rest after a reset.
    pub fn resting_span(&self) -> Span {
        Span::between(self.first, self.first)
    }

    /// Puts the colliders at an entry of their motions.
    pub fn set_entry(&mut self, entry: usize) {
        self.entry = entry;
        self.span = None;
    }

    /// Lets the colliders go so in the next frame.
    pub fn set_span(&mut self, span: Span) {
        self.span = Some(span);
    }

    /// The way of the colliders in the frame that begins, after which they are at its end.
    pub fn next_span(&mut self) -> Span {
        let next = Span::between(self.entry, self.entry + 1);
        let span = self.span.take().unwrap_or(next);
        self.entry = span.to;
        span
    }

    /// Before the first step of a frame, in which colliders go through a span of their motion; none: there are none in it.
    pub fn begin(&mut self, begun: &[Begun], span: Option<&Span>) -> Result<(), SimulationError> {
        for (body, begun) in self.bodies.iter_mut().zip(begun) {
            body.begin(begun)?;
        }
        self.fresh = self.creases.is_none();
        self.way = span.copied();
        Ok(())
    }

    /// Takes one step of all bodies; on an error says of which. Bodies before that one have taken the step.
    pub fn step(&mut self, bodies: &mut [InStep]) -> Result<(), Failure> {
        if !self.fresh {
            for (seen, body) in self.bodies.iter_mut().zip(&*bodies) {
                seen.set_before(body.shown, &body.step, &body.nodes.positions);
            }
        }
        // Under the forces of the step before contacts are found where they are, and flesh is not strained to be pushed back.
        let mut pushed = std::mem::take(&mut self.pushed);
        let any = self.load(bodies, &mut pushed);
        let mut steps = Each::with_capacity(bodies.len());
        for (k, body) in bodies.iter().enumerate() {
            let forces = any.then(|| &pushed.loads[k][..]);
            steps.push(body.step.under(forces));
        }
        let done = self.take(bodies, &steps, any.then_some(&pushed.pushes[..]));
        drop(steps);
        self.pushed = pushed;
        done
    }

    /// What pushed in the last step; false: nothing did.
    fn load(&self, bodies: &[InStep], pushed: &mut Pushed) -> bool {
        let pushes = self.contacts.pushes();
        let Pushed { pushes: all, loads } = pushed;
        all.resize_with(pushes.len(), Vec::new);
        loads.resize_with(pushes.len(), Vec::new);
        for (k, pushes) in pushes.iter().enumerate() {
            let step = &bodies[k].step;
            self.bodies[k].turn_along(step, pushes, &mut all[k]);
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

    /// Takes one step of all bodies under what pushed.
    fn take(
        &mut self,
        bodies: &mut [InStep],
        steps: &[Step],
        pushed: Option<&[Vec<Vec3>]>,
    ) -> Result<(), Failure> {
        let former = self.creases.as_ref().map(|c| c.list().to_vec());
        let displaced = self.displaced(bodies, steps, pushed)?;
        for (k, (body, step)) in bodies.iter_mut().zip(steps).enumerate() {
            let moved = displaced.then(|| &self.moved[k][..]);
            let stepper = in_parts(body);
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

    /// Proposes the steps; beside the first ones of a frame what may touch in that is searched for.
    fn propose(&mut self, bodies: &mut [InStep], steps: &[Step]) -> Result<(), Failure> {
        let fresh = std::mem::take(&mut self.fresh);
        let all = self.bodies.iter().zip(&self.options).zip(&*bodies);
        let swept = all.filter(|_| fresh).map(|((seen, options), body)| {
            let (from, to) = (body.poses.0, body.step.motion.to());
            Swept {
                from: seen.before.posed(&seen.skin, from, body.shown),
                to: Some(seen.after.posed(&seen.skin, to, body.shown)),
                itself: options.self_contact,
            }
        });
        let swept: Each<Swept> = swept.collect();
        let (contacts, span) = (&mut self.contacts, self.way.as_ref());
        // This thread asks the progress.
        rayon::in_place_scope(|scope| {
            if fresh {
                scope.spawn(|_| contacts.begin(&swept, span));
            }
            for (k, (body, step)) in bodies.iter_mut().zip(steps).enumerate() {
                let parts = in_parts(body);
                let proposed = parts.and_then(|(stepper, nodes)| stepper.propose(step, nodes));
                proposed.map_err(|error| (k, error))?;
            }
            Ok(())
        })
    }

    /// Proposes the steps, and finds by how much the free nodes of each body are displaced where they end; false: nothing touches.
    fn displaced(
        &mut self,
        bodies: &mut [InStep],
        steps: &[Step],
        pushed: Option<&[Vec<Vec3>]>,
    ) -> Result<bool, Failure> {
        self.propose(bodies, steps)?;
        let (mut proposals, mut seen) = (Each::new(), Each::new());
        for (k, (body, step)) in bodies.iter_mut().zip(steps).enumerate() {
            let (shown, poses) = (body.shown, body.poses);
            let (stepper, _) = in_parts(body).map_err(|error| (k, error))?;
            let proposal = stepper.proposal(step).map_err(|error| (k, error))?;
            self.bodies[k].set_after(shown, step, proposal.positions);
            proposals.push(proposal);
            seen.push((shown, poses));
        }
        let all = || self.bodies.iter().zip(&seen);
        let before = all().map(|(b, (shown, (from, _)))| b.before.posed(&b.skin, from, *shown));
        let before: Each<Posed> = before.collect();
        let after = all().map(|(b, (shown, (_, to)))| b.after.posed(&b.skin, to, *shown));
        let after: Each<Posed> = after.collect();
        if let Some(creases) = &mut self.creases {
            let flesh = &mut proposals[0].factored;
            let moved = creases.step(&before[0], &after[0], flesh);
            self.moved = Vec::from_iter(moved);
            return Ok(!self.moved.is_empty());
        }
        let flesh = proposals.iter_mut().map(|p| &mut p.factored as _);
        let mut flesh: Each<&mut dyn Flexible> = flesh.collect();
        let (bodies, step) = (&self.bodies, &steps[0]);
        Ok(self.contacts.step(
            (&before, &after),
            ((step.end - step.part, step.end), step.duration),
            &|body, v| bodies[body].turn(&steps[body], v),
            &mut flesh,
            pushed,
            &mut self.moved,
        ))
    }
}

fn standing<'a>(
    bodies: &'a [TouchingBody],
    options: &[ContactOptions],
    places: &[&'a [Vec3]],
) -> Each<Standing<'a>> {
    let all = bodies.iter().zip(options).zip(places);
    let standing = all.map(|((body, options), places)| Standing {
        skin: &body.skin,
        places,
        itself: options.self_contact,
    });
    standing.collect()
}

/// What takes the steps of a body in parts.
fn in_parts<'a>(
    body: &'a mut InStep,
) -> Result<(&'a mut dyn StepInParts, &'a mut NodalState), SimulationError> {
    let method = body.shown.method;
    let stepper = body.stepper.in_parts();
    let stepper = stepper.ok_or(SimulationError::ContactMethod { method })?;
    Ok((stepper, body.nodes))
}

impl Simulation {
    /// Lets the flesh touch itself and colliders from now on; none: it passes through all. Modal flesh moves as without; its
    /// surface is [parted](Self::parted).
    ///
    /// # Errors
    /// A method that knows no contact, a skin of another body.
    pub fn set_contact(&mut self, contact: Option<PreparedContact>) -> Result<(), SimulationError> {
        let Some(contact) = contact else {
            (self.touching, self.parting) = (None, None);
            self.shape.fold(None);
            return Ok(());
        };
        self.check_contact(&contact)?;
        let parted = self.method == Method::Modal;
        self.touching = Some(Box::new(Touching::new(&contact)?));
        self.parting = parted.then(|| Box::new(Parting::new(&contact)));
        self.fold_as(&contact);
        Ok(())
    }

    /// Refuses what [`set_contact`](Self::set_contact) does.
    pub(super) fn check_contact(&self, contact: &PreparedContact) -> Result<(), SimulationError> {
        let method = self.method;
        if !method.touches() {
            return Err(SimulationError::ContactMethod { method });
        }
        if method == Method::Modal && contact.contact().refuse_creases().is_err() {
            return Err(ContactError::ModalCreases.into());
        }
        match Arc::ptr_eq(contact.skin().body(), &self.body) {
            true => Ok(()),
            false => Err(SimulationError::ContactBody),
        }
    }

    /// Shows more of the joints' elastic shape where the skin lies in itself, if contact is to part it there.
    pub(super) fn fold_as(&mut self, contact: &PreparedContact) {
        let options = contact.options();
        let bends = self.method != Method::Hyperelastic && self.settings.elastic_joints == 1.0;
        let folds = options.self_contact && !bends;
        let folds = folds && options.response == ContactResponse::Complementarity;
        self.shape.fold(folds.then_some(contact.skin()));
    }

    /// Lets resets put colliders at an entry of their motions.
    pub(crate) fn begin_colliders_at(&mut self, entry: usize) {
        if let Some(touching) = &mut self.touching {
            touching.begin_at(entry);
        }
    }

    /// Lets colliders go so in the next frame, in place of on by one entry.
    pub(crate) fn set_collider_span(&mut self, span: Span) {
        if let Some(touching) = &mut self.touching {
            touching.set_span(span);
        }
    }

    /// What parts the surface as a presenter shows it at present; none of another method than the modal one, and without contact.
    ///
    /// # Errors
    /// As [`Presenter::positions`].
    pub fn parted(&self, presenter: &Presenter) -> Result<Option<Parted>, PresentError> {
        let posed = self.amplitudes().zip(self.pose());
        let Some((parting, posed)) = self.parting.as_deref().zip(posed) else {
            return Ok(None);
        };
        let entry = self.touching.as_ref().map_or(0, |t| t.entry);
        let lattice = LocalPositions::new(self.lattice_positions());
        let posed = (posed, self.settings.max_offset);
        presenter.parted(parting, posed, &lattice, entry).map(Some)
    }

    /// What touches at present, and with which forces; nothing with the modal method, whose surface alone is
    /// [parted](Self::parted).
    pub fn contacts(&self) -> &[ContactPoint] {
        self.touching.as_ref().map_or(&[], |t| t.points())
    }

    /// Bones that lie in other flesh or in colliders at present, which contact moves out of nothing.
    pub fn buried_bones(&self) -> Vec<BuriedBone> {
        let buried = |t: &Touching| t.buried(&[self.lattice_positions()]).pop();
        let touching = self.touching.as_deref();
        touching.and_then(buried).unwrap_or_default()
    }

    /// Cells near inversion whose vertices all hang on bones: contact cannot help these.
    pub fn held_cells(&self) -> usize {
        self.touching.as_ref().map_or(0, |t| t.held_cells(0))
    }
}
