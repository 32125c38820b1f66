// SPDX-License-Identifier: MIT OR Apache-2.0
//! Contact in the steps of one body: where its flesh is shown before and after each, and what contact displaces.
//!
//! The balance without loads, to which sway is added where flesh is shown, is solved for once a frame; during it what it adds to
//! the skinned shape turns along with the bones.

use super::forces::Load;
use super::stepper::{NodalState, Step, StepInParts};
use super::{Method, Simulation, SimulationError, SkinnedLattice};
use crate::body::Body;
use crate::contact::{
    Collider, ContactError, ContactOptions, ContactPoint, ContactSkin, Contacts, Crease, Creases,
    Live, Parted, Parting, Posed, PreparedContact, ShownVertices, Span, Swept,
};
use crate::kernel::LocalPositions;
use crate::present::{PresentError, Presenter};
use crate::skeleton::{FrameMotion, Pose};
use crate::{Mat3, Vec3};
use std::sync::Arc;

/// Contact of one body.
pub(super) struct Touching {
    skin: Arc<ContactSkin>,
    options: ContactOptions,
    colliders: Vec<Arc<Collider>>,
    /// Where the motions of colliders go in the next frame; none: on by one entry.
    span: Option<Span>,
    /// The entry of their motions at which they are.
    entry: usize,
    contacts: Contacts,
    /// In place of the contacts, where that is asked for.
    creases: Option<Creases>,
    /// What the balance without loads adds to the skinned shape, in rest axes.
    bend: Vec<Vec3>,
    /// How its vertices were turned when the frame began.
    begun: Vec<Mat3>,
    /// Whether the last step was displaced.
    touched: bool,
    /// At the end of the frame.
    end: SkinnedLattice,
    before: Lattice,
    after: Lattice,
}

/// A lattice as contact sees it.
#[derive(Default)]
struct Lattice {
    base: Vec<Vec3>,
    sway: Vec<Vec3>,
    vertices: ShownVertices,
}

/// How the flesh of a simulation is shown.
#[derive(Clone, Copy)]
pub(super) struct Shown {
    pub method: Method,
    /// Whether sway is parted from what the bones do.
    pub parted: bool,
    pub joints: f64,
}

impl Lattice {
    fn set(
        &mut self,
        (skin, shown): (&ContactSkin, Shown),
        skinned: &SkinnedLattice,
        bend: &[Vec3],
        positions: &[Vec3],
    ) {
        self.vertices.clear(skin.body().surface().vertices().len());
        self.base.clear();
        self.sway.clear();
        for (v, p) in positions.iter().enumerate() {
            let place = skinned.places[v];
            let base = match shown.parted {
                true => place + skinned.turns[v] * bend[v],
                false => place,
            };
            let sway = match shown.method {
                Method::Hyperelastic => p - place,
                _ => p - base,
            };
            self.base.push(base);
            self.sway.push(sway);
        }
    }

    fn posed<'a>(&'a self, skin: &'a ContactSkin, pose: &'a Pose, shown: Shown) -> Posed<'a> {
        Posed {
            skin,
            pose,
            base: &self.base,
            sway: &self.sway,
            joints: if shown.parted { shown.joints } else { 1.0 },
            bounded: shown.parted,
            shown: &self.vertices,
        }
    }
}

impl Touching {
    pub fn new(contact: &PreparedContact) -> Result<Self, SimulationError> {
        let (skin, options) = (contact.skin().clone(), contact.options());
        let body = skin.body();
        Ok(Self {
            contacts: Contacts::new(options, &contact.contact().colliders),
            colliders: contact.contact().colliders.clone(),
            span: None,
            entry: 0,
            creases: Creases::new(options.response),
            bend: vec![Vec3::zeros(); body.nodes()],
            begun: vec![Mat3::identity(); body.nodes()],
            touched: false,
            end: SkinnedLattice::new(body)?,
            before: Lattice::default(),
            after: Lattice::default(),
            options,
            skin,
        })
    }

    pub fn points(&self) -> &[ContactPoint] {
        match &self.creases {
            Some(creases) => creases.points(),
            None => self.contacts.points(),
        }
    }

    pub fn held_cells(&self) -> usize {
        self.contacts.held_cells()
    }

    /// Whether the last step was displaced.
    pub fn has_touched(&self) -> bool {
        self.touched
    }

    /// Balances are frictionless.
    pub fn set_friction(&mut self, on: bool) {
        let friction = if on { self.options.friction } else { 0.0 };
        self.contacts.set_friction(friction);
    }

    pub fn live(&self) -> &[Live] {
        self.contacts.live()
    }

    /// What pushed the free nodes in the last step, N; nothing where nothing did.
    pub fn pushes(&self) -> &[Vec3] {
        self.contacts.pushes().first().map_or(&[], |p| p)
    }

    /// Contacts from what [`Live::numbers`] gave; none where they are of another skin.
    pub fn read(&self, numbers: &[f64]) -> Option<Vec<Live>> {
        records(numbers, Live::NUMBERS, |part| {
            Live::read(part, &[&self.skin], &self.colliders)
        })
    }

    pub fn restore(&mut self, live: Vec<Live>, pushes: Vec<Vec<Vec3>>) {
        self.contacts.restore(live, pushes);
        self.restore_creases(Vec::new());
    }

    /// The crease method, where it takes the place of contacts.
    pub fn creases(&self) -> Option<&Creases> {
        self.creases.as_ref()
    }

    /// Looks for creases at these pairs of vertices from now on.
    pub fn set_seeds(&mut self, seeds: &[[u32; 2]]) -> Result<(), ContactError> {
        let creases = self.creases.as_mut().ok_or(ContactError::NoCreases)?;
        creases.set_seeds(seeds, &self.skin)
    }

    /// A collision list from what [`Crease::numbers`] gave; none where it is of another skin.
    pub fn read_creases(&self, numbers: &[f64]) -> Option<Vec<Crease>> {
        records(numbers, Crease::NUMBERS, |part| {
            Crease::read(part, &self.skin)
        })
    }

    pub fn restore_creases(&mut self, list: Vec<Crease>) {
        if let Some(creases) = &mut self.creases {
            creases.restore(list);
        }
    }

    /// How flesh touches, and the skin that was prepared for it.
    pub fn setting(&self) -> (&Arc<ContactSkin>, ContactOptions) {
        (&self.skin, self.options)
    }

    /// The entry of the colliders' motions at which they are; none without colliders.
    pub fn entry(&self) -> Option<usize> {
        (!self.colliders.is_empty()).then_some(self.entry)
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

    /// Before the first step of a frame: `bent` is the balance without loads at its beginning, if that is known.
    pub fn begin(
        &mut self,
        (body, shown): (&Body, Shown),
        (pose, now): (&Pose, &SkinnedLattice),
        motion: &FrameMotion,
        positions: &[Vec3],
        bent: Option<&dyn Fn(usize) -> Vec3>,
        span: Option<&Span>,
    ) -> Result<(), SimulationError> {
        for (v, bend) in self.bend.iter_mut().enumerate() {
            *bend = match bent {
                Some(bent) => now.turns[v].tr_mul(&(bent(v) - now.places[v])),
                None => Vec3::zeros(),
            };
        }
        self.begun.copy_from_slice(&now.turns);
        self.end.set(body, shown.method, motion.to())?;
        self.before
            .set((&self.skin, shown), now, &self.bend, positions);
        let carried: Vec<Vec3> = positions
            .iter()
            .enumerate()
            .map(|(v, p)| now.carry(&self.end, v, *p))
            .collect();
        self.after
            .set((&self.skin, shown), &self.end, &self.bend, &carried);
        if self.creases.is_some() {
            return Ok(());
        }
        let swept = Swept {
            from: self.before.posed(&self.skin, pose, shown),
            to: self.after.posed(&self.skin, motion.to(), shown),
            itself: self.options.self_contact,
        };
        self.contacts.begin(&[swept], span);
        Ok(())
    }

    /// What pushed the vertices in the last step, `[nodes]`, N, turned along to the step's end; none where nothing did.
    fn pushed(&self, step: &Step) -> Option<Vec<Vec3>> {
        let pushes = self.contacts.pushes().first()?;
        let mut pushed = vec![Vec3::zeros(); step.body.nodes()];
        let free = step.body.pattern().vertex_of_node();
        for (push, &v) in pushes.iter().zip(free) {
            let v = v as usize;
            pushed[v] = step.to.turns[v] * step.from.turns[v].tr_mul(push);
        }
        Some(pushed)
    }

    /// Takes one step from one pose to another.
    pub fn step(
        &mut self,
        stepper: &mut dyn StepInParts,
        step: &Step,
        shown: Shown,
        (from, to): (&Pose, &Pose),
        nodes: &mut NodalState,
    ) -> Result<(), SimulationError> {
        self.before
            .set((&self.skin, shown), step.from, &self.bend, &nodes.positions);
        // Under the forces of the step before contacts are found where they are, and flesh is not strained to be pushed back.
        let pushed = self.pushed(step);
        let all: Option<Vec<Vec3>> = pushed.as_ref().map(|pushed| match step.load.forces {
            Some(forces) => forces.iter().zip(pushed).map(|(f, p)| f + p).collect(),
            None => pushed.clone(),
        });
        let load = Load {
            forces: all.as_deref().or(step.load.forces),
            ..*step.load
        };
        let step = &Step {
            load: &load,
            ..*step
        };
        stepper.propose(step, nodes)?;
        let mut proposal = stepper.proposal(step)?;
        let free = step.body.pattern().vertex_of_node();
        let pushed = pushed.map(|f| vec![free.iter().map(|&v| f[v as usize]).collect()]);
        let former = (
            self.contacts.live().to_vec(),
            self.contacts.pushes().to_vec(),
        );
        self.after
            .set((&self.skin, shown), step.to, &self.bend, proposal.positions);
        if let Some(creases) = &mut self.creases {
            let former = creases.list().to_vec();
            let displaced = creases.step(
                &self.before.posed(&self.skin, from, shown),
                &self.after.posed(&self.skin, to, shown),
                &mut proposal.factored,
            );
            let accepted = stepper.accept(step, nodes, displaced.as_deref());
            if accepted.is_err() {
                creases.restore(former);
            }
            return accepted;
        }
        let displaced = self.contacts.step(
            (
                &[self.before.posed(&self.skin, from, shown)],
                &[self.after.posed(&self.skin, to, shown)],
            ),
            (step.end - step.part, step.end),
            &|_, v| step.to.turns[v] * self.begun[v].transpose(),
            &mut [&mut proposal.factored],
            pushed,
            step.duration,
        );
        self.touched = displaced.is_some();
        let displaced = displaced.as_ref().map(|all| &all[0][..]);
        let accepted = stepper.accept(step, nodes, displaced);
        if accepted.is_err() {
            self.contacts.restore(former.0, former.1);
        }
        accepted
    }
}

/// Records of so many numbers each; none where one of them is none, or a part of one is left.
fn records<T>(
    numbers: &[f64],
    length: usize,
    read: impl Fn(&[f64]) -> Option<T>,
) -> Option<Vec<T>> {
    let parts = numbers.chunks_exact(length);
    match parts.remainder() {
        [] => parts.map(read).collect(),
        _ => None,
    }
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
            return Ok(());
        };
        if !self.method.touches() {
            return Err(SimulationError::ContactMethod {
                method: self.method,
            });
        }
        let parted = self.method == Method::Modal;
        if parted && contact.contact().refuse_creases().is_err() {
            return Err(ContactError::ModalCreases.into());
        }
        if !Arc::ptr_eq(contact.skin().body(), &self.body) {
            return Err(SimulationError::ContactBody);
        }
        self.touching = Some(Box::new(Touching::new(&contact)?));
        self.parting = parted.then(|| Box::new(Parting::new(&contact)));
        Ok(())
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
        let entry = self.touching.as_ref().and_then(|t| t.entry()).unwrap_or(0);
        let lattice = LocalPositions::new(self.lattice_positions());
        let posed = (posed, self.settings.max_offset);
        presenter.parted(parting, posed, &lattice, entry).map(Some)
    }

    /// Lets colliders go so in the next frame, in place of on by one entry.
    pub(crate) fn set_collider_span(&mut self, span: Span) {
        if let Some(touching) = &mut self.touching {
            touching.set_span(span);
        }
    }

    /// What touches at present, and with which forces; nothing with the modal method, whose surface alone is
    /// [parted](Self::parted).
    pub fn contacts(&self) -> &[ContactPoint] {
        self.touching.as_ref().map_or(&[], |t| t.points())
    }

    /// Cells near inversion whose vertices all hang on bones: contact cannot help these.
    pub fn held_cells(&self) -> usize {
        self.touching.as_ref().map_or(0, |t| t.held_cells())
    }
}
