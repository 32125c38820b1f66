// SPDX-License-Identifier: MIT OR Apache-2.0
//! Contact in saved states.

use super::ContactSystem;
use crate::Vec3;
use crate::contact::{ContactSkin, Crease, LiveContact};
use crate::dynamics::SimulationError;
use crate::dynamics::sections::{SectionKind, SectionReader, SectionWriter};

/// Per contact: body, point, other body, triangle, weights of its corners, force, friction, side.
const CONTACTS: SectionKind = SectionKind::required("contacts", 2);
/// Forces of contacts and cells on the free nodes, one body after the other, N.
const PUSHES: SectionKind = SectionKind::required("contact pushes", 1);
/// Present entry of the colliders' motions.
const COLLIDERS: SectionKind = SectionKind::required("colliders", 1);
/// Per collider, a flag for each body: 1 if it is a room of the body, else 0.
const ROOMS: SectionKind = SectionKind::required("rooms", 1);
/// Per element of the collision list, in order of entry: vertex, triangle, weights of its corners.
const CREASES: SectionKind = SectionKind::required("creases", 1);

/// Contact state read from a saved state.
#[derive(Default)]
pub(in crate::dynamics) struct SavedContactState {
    live: Vec<LiveContact>,
    pushes: Vec<Vec<Vec3>>,
    creases: Vec<Crease>,
    entry: usize,
    rooms: Vec<Vec<bool>>,
}

impl ContactSystem {
    /// Writes all contact data on which the next steps depend.
    pub fn save(&self, state: &mut SectionWriter) {
        let live = self.contacts.live_contacts();
        if !live.is_empty() {
            state.add_numbers(CONTACTS, live.iter().flat_map(LiveContact::numbers));
        }
        let pushes = self.contacts.pushes();
        if !pushes.is_empty() {
            state.add_vectors(PUSHES, &pushes.concat());
        }
        if !self.colliders.is_empty() {
            state.add_numbers(COLLIDERS, std::iter::once(self.entry as f64));
        }
        let rooms = self.contacts.rooms().iter().flatten();
        if !self.contacts.rooms().is_empty() {
            state.add_numbers(ROOMS, rooms.map(|&room| f64::from(u8::from(room))));
        }
        if let Some(creases) = &self.creases
            && !creases.list().is_empty()
        {
            state.add_numbers(CREASES, creases.list().iter().flat_map(Crease::numbers));
        }
    }

    /// Reads the output of [`save`](Self::save); changes nothing.
    pub fn read(&self, state: &mut SectionReader) -> Result<SavedContactState, SimulationError> {
        let mut kept = SavedContactState::default();
        if self.creases.is_some() {
            let numbers = state.take_numbers(CREASES)?.unwrap_or_default();
            let skin = &self.bodies[0].skin;
            let read = split_records(&numbers, Crease::NUMBER_COUNT, |part| {
                Crease::from_numbers(part, skin)
            });
            kept.creases =
                read.ok_or(SimulationError::State("its creases belong to another skin"))?;
        } else {
            let numbers = state.take_numbers(CONTACTS)?.unwrap_or_default();
            let skins: Vec<&ContactSkin> = self.bodies.iter().map(|b| &*b.skin).collect();
            let read = split_records(&numbers, LiveContact::NUMBER_COUNT, |part| {
                LiveContact::from_numbers(part, &skins, &self.colliders)
            });
            kept.live = read.ok_or(SimulationError::State(
                "its contacts belong to another skin",
            ))?;
            let free = |skin: &&ContactSkin| skin.body().pattern().vertex_of_node().len();
            let counts: Vec<usize> = skins.iter().map(free).collect();
            let pushes = state.take_optional_vectors(PUSHES, counts.iter().sum())?;
            if let Some(mut left) = pushes.as_deref() {
                for &count in &counts {
                    let (own, others) = left.split_at(count);
                    kept.pushes.push(own.to_vec());
                    left = others;
                }
            }
        }
        if !self.colliders.is_empty() {
            kept.entry = match state.take_numbers(COLLIDERS)?.as_deref() {
                None => 0,
                Some(&[entry]) if entry >= 0.0 && entry.fract() == 0.0 => entry as usize,
                Some(_) => return Err(SimulationError::State("its colliders have no positions")),
            };
            if let Some(rooms) = state.take_numbers(ROOMS)? {
                let fits = rooms.len() == self.colliders.len() * self.bodies.len()
                    && rooms.iter().all(|&room| room == 0.0 || room == 1.0);
                if !fits {
                    return Err(SimulationError::State(
                        "its rooms belong to other colliders",
                    ));
                }
                let of = |rooms: &[f64]| rooms.iter().map(|&room| room == 1.0).collect();
                kept.rooms = rooms.chunks_exact(self.bodies.len()).map(of).collect();
            }
        }
        Ok(kept)
    }

    /// Applies the result of [`read`](Self::read).
    pub fn restore(&mut self, kept: SavedContactState) {
        self.contacts.restore(kept.live, kept.pushes);
        self.contacts.set_rooms(kept.rooms);
        self.set_entry(kept.entry);
        self.restore_creases(kept.creases);
    }
}

/// Splits numbers into records of a fixed length; `None` if a record is invalid or incomplete.
fn split_records<T>(
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
