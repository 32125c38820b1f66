// SPDX-License-Identifier: MIT OR Apache-2.0
//! Pins in saved states.

use super::held::{HeldPin, PresentTarget};
use super::path::PinPath;
use super::pin::{Pin, PinId, PinPoint};
use super::point::HeldPoint;
use super::system::PinSystem;
use crate::Vec3;
use crate::body::Body;
use crate::dynamics::SimulationError;
use crate::dynamics::sections::{SectionKind, SectionReader, SectionWriter};

/// Number of the next pin; then per pin: its number, vertex or -1, place, target, strength, whether it has a present target, that target,
/// its strength, whether it has a velocity, that velocity.
const PINS: SectionKind = SectionKind::required("pins", 1);
/// Numbers per pin.
const NUMBER_COUNT: usize = 18;

const ERROR: SimulationError = SimulationError::State("its pins do not fit the body");

impl PinSystem {
    /// Writes all pins; nothing without pins.
    pub fn save(&self, state: &mut SectionWriter) {
        if !self.any() {
            return;
        }
        let first = std::iter::once(f64::from(self.next));
        state.add_numbers(
            PINS,
            first.chain(self.pins.iter().flat_map(HeldPin::numbers)),
        );
    }

    /// Reads the output of [`save`](Self::save).
    pub fn read(body: &Body, state: &mut SectionReader) -> Result<Self, SimulationError> {
        let mut system = Self::default();
        let Some(numbers) = state.take_numbers(PINS)? else {
            return Ok(system);
        };
        let Some((&next, numbers)) = numbers.split_first() else {
            return Err(ERROR);
        };
        let records = numbers.chunks_exact(NUMBER_COUNT);
        if !records.remainder().is_empty() {
            return Err(ERROR);
        }
        for record in records {
            let held = HeldPin::from_numbers(body, record)?;
            if system.pins.last().is_some_and(|last| last.id >= held.id) {
                return Err(ERROR);
            }
            system.pins.push(held);
        }
        system.next = read_id(next)?;
        let free = body.pattern().vertex_of_node().len();
        let numbered = system.pins.iter().all(|held| held.id < system.next);
        match numbered && system.pins.len() <= free {
            true => Ok(system),
            false => Err(ERROR),
        }
    }
}

impl HeldPin {
    fn numbers(&self) -> [f64; NUMBER_COUNT] {
        let (vertex, place) = match self.pin.point {
            PinPoint::Vertex(vertex) => (f64::from(vertex), Vec3::zeros()),
            PinPoint::Place(place) => (-1.0, place),
        };
        let flag = |there: bool| f64::from(u8::from(there));
        let now = self.present;
        let velocity = now.and_then(|now| now.velocity);
        let (at, strength) = now.map_or((Vec3::zeros(), 0.0), |now| (now.target, now.strength));
        let speed = velocity.unwrap_or_default();
        let (to, own) = (self.pin.target, self.pin.strength);
        [
            f64::from(self.id),
            vertex,
            place.x,
            place.y,
            place.z,
            to.x,
            to.y,
            to.z,
            own,
            flag(now.is_some()),
            at.x,
            at.y,
            at.z,
            strength,
            flag(velocity.is_some()),
            speed.x,
            speed.y,
            speed.z,
        ]
    }

    fn from_numbers(body: &Body, x: &[f64]) -> Result<Self, SimulationError> {
        let vector = |k: usize| Vec3::new(x[k], x[k + 1], x[k + 2]);
        let point = match x[1] < 0.0 {
            true => PinPoint::Place(vector(2)),
            false => PinPoint::Vertex(read_id(x[1])?),
        };
        let is_strength = |x: f64| (0.0..=1.0).contains(&x);
        let is_flag = |x: f64| x == 0.0 || x == 1.0;
        if !(is_strength(x[8]) && is_strength(x[13]) && is_flag(x[9]) && is_flag(x[14])) {
            return Err(ERROR);
        }
        let present = (x[9] == 1.0).then(|| PresentTarget {
            target: vector(10),
            strength: x[13],
            velocity: (x[14] == 1.0).then(|| vector(15)),
        });
        Ok(Self {
            id: read_id(x[0])?,
            pin: Pin {
                point,
                target: vector(5),
                strength: x[8],
            },
            point: HeldPoint::new(body, point).map_err(|_| ERROR)?,
            present,
            path: PinPath::default(),
        })
    }
}

fn read_id(x: f64) -> Result<PinId, SimulationError> {
    match x >= 0.0 && x < f64::from(PinId::MAX) && x.fract() == 0.0 {
        true => Ok(x as PinId),
        false => Err(ERROR),
    }
}
