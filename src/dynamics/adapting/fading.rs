// SPDX-License-Identifier: MIT OR Apache-2.0
//! Displacements that former active functions leave behind, faded out of the displayed shape.
//!
//! When the set of active functions changes, the displayed shape before the change less that after it is stored for each function of
//! the whole body, in axes that turn with the bones. It is added to the display, and decays with [`TIME_CONSTANT`]. A decay without a
//! beginning of its own needs no clock, whatever the changes that follow each other.

use super::whole_shape::WholeShape;
use crate::Vec3;
use crate::body::Body;
use crate::dynamics::SimulationError;
use crate::dynamics::sections::{SectionKind, SectionReader, SectionWriter};
use crate::skeleton::BonePoses;

/// Time constant of the decay, s: after a quarter of a second, in which nobody sees a change of this size, a twentieth is left. With a third
/// of it details that swing leave a jolt; with three times it flesh creeps after its motion.
const TIME_CONSTANT: f64 = 0.25 / 3.0;
/// Largest displacement, in sizes of the body, that is dropped. It is a thousandth of what is seen.
const MIN_DISPLACEMENT: f64 = 1e-6;

/// Per fading displacement: part of the shape, function, displacement in rest axes.
const FADING: SectionKind = SectionKind::required("fading details", 1);
/// Numbers of a displacement in [`FADING`].
const RECORD: usize = 5;

/// Fading displacements of positions, sway and joints, `[functions]` each, m, rest axes; empty: none.
#[derive(Default)]
pub(in crate::dynamics) struct Fading([Vec<Vec3>; 3]);

/// Fading displacements of a body at an instant.
pub(in crate::dynamics) struct FadedShape<'a> {
    /// The whole body.
    pub body: &'a Body,
    /// Displacements of positions, sway and joints, m, world axes; the other parts are empty.
    pub shape: WholeShape,
}

impl Fading {
    /// Drops everything.
    pub fn clear(&mut self) {
        self.0.iter_mut().for_each(Vec::clear);
    }

    /// Lets `dt` seconds pass for a body of this size, m.
    pub fn decay(&mut self, dt: f64, size: f64) {
        let left = self.shares_left(dt, size);
        for (part, share) in self.0.iter_mut().zip(left) {
            match share > 0.0 {
                true => part.iter_mut().for_each(|d| *d *= share),
                false => part.clear(),
            }
        }
    }

    /// Returns the share of each part that is left after `dt` seconds; 0: it is dropped.
    fn shares_left(&self, dt: f64, size: f64) -> [f64; 3] {
        let share = (-dt / TIME_CONSTANT).exp();
        [0, 1, 2].map(|k| {
            let norms = self.0[k].iter().map(|d| (d * share).norm());
            match norms.fold(0.0, f64::max) < MIN_DISPLACEMENT * size {
                true => 0.0,
                false => share,
            }
        })
    }

    /// Adds the displacements to a shape of a body whose bones have a pose.
    pub fn add_to(&self, shape: &mut WholeShape, body: &Body, bones: &BonePoses) {
        self.add_shares([1.0; 3], shape, body, bones);
    }

    fn add_shares(&self, shares: [f64; 3], shape: &mut WholeShape, body: &Body, bones: &BonePoses) {
        let parts = self.0.iter().zip(shares).zip(shape.parts_mut());
        for ((part, share), shown) in parts {
            if part.is_empty() || share == 0.0 {
                continue;
            }
            shown.resize(part.len(), Vec3::zeros());
            for (a, d) in part.iter().enumerate() {
                if *d != Vec3::zeros() {
                    shown[a] += bones.rotation(body.region_weights().row(a)) * (d * share);
                }
            }
        }
    }

    /// Returns the displacements with bones at a pose: those of the present, or those left after a frame of `dt` seconds. `None`: nothing
    /// fades.
    pub fn shape<'a>(
        &self,
        body: &'a Body,
        bones: &BonePoses,
        dt: Option<f64>,
    ) -> Option<FadedShape<'a>> {
        if self.0.iter().all(Vec::is_empty) {
            return None;
        }
        let shares = dt.map_or([1.0; 3], |dt| self.shares_left(dt, body.size()));
        let mut shape = WholeShape::default();
        self.add_shares(shares, &mut shape, body, bones);
        Some(FadedShape { body, shape })
    }

    /// Adds what a shape was before, less what it is now.
    pub fn add_difference(
        &mut self,
        before: &WholeShape,
        now: &WholeShape,
        body: &Body,
        bones: &BonePoses,
    ) {
        // Rounding is not stored.
        let least = MIN_DISPLACEMENT * 1e-3 * body.size();
        let count = body.node_count();
        let shapes = before.parts().into_iter().zip(now.parts());
        for (part, (before, now)) in self.0.iter_mut().zip(shapes) {
            let at = |shape: &[Vec3], a: usize| shape.get(a).copied().unwrap_or_default();
            for a in 0..count {
                let d = at(before, a) - at(now, a);
                if d.norm() > least {
                    part.resize(count, Vec3::zeros());
                    part[a] += bones.rotation(body.region_weights().row(a)).inverse() * d;
                }
            }
        }
    }

    pub fn save(&self, state: &mut SectionWriter) {
        let mut numbers = Vec::new();
        for (k, part) in self.0.iter().enumerate() {
            for (a, d) in part
                .iter()
                .enumerate()
                .filter(|(_, d)| **d != Vec3::zeros())
            {
                numbers.extend([k as f64, a as f64, d.x, d.y, d.z]);
            }
        }
        if !numbers.is_empty() {
            state.add_numbers(FADING, numbers.into_iter());
        }
    }

    /// Reads the output of [`save`](Self::save), for a body of `count` functions.
    pub fn read(state: &mut SectionReader, count: usize) -> Result<Self, SimulationError> {
        let mut fading = Self::default();
        let numbers = state.take_numbers(FADING)?.unwrap_or_default();
        let fault = SimulationError::State("its fading details belong to another body");
        let records = numbers.chunks_exact(RECORD);
        if !records.remainder().is_empty() {
            return Err(fault);
        }
        for record in records {
            let (part, a) = (record[0], record[1]);
            let fits = part.fract() == 0.0 && a.fract() == 0.0;
            if !(fits && (0.0..3.0).contains(&part) && (0.0..count as f64).contains(&a)) {
                return Err(fault);
            }
            let part = &mut fading.0[part as usize];
            part.resize(count, Vec3::zeros());
            part[a as usize] = Vec3::new(record[2], record[3], record[4]);
        }
        Ok(fading)
    }
}
