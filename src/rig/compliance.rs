// SPDX-License-Identifier: MIT OR Apache-2.0
//! How far flesh yields to a rig, and how far it can before it folds.
//!
//! Forces are linear in a rig's strength, and so are the displacements of flesh at rest, to first order. A rig's *yield* is
//! how far the body's own surface is moved at most, in metres, at rest: what an artist sees of a strength, and what a rig
//! should keep when the flesh becomes softer or the character another one. One solve gives the yield per N/m³, and with it
//! the strengths between which no flesh is pressed flat ([`FLATTEST`]).
//!
//! Other rigs, gravity and poses are left out: it is a measure of one rig, and a limit for one rig by itself.

use super::folding::room;
use super::{Rig, RigError, Sample};
use crate::Vec3;
use crate::body::Body;
use crate::progress::{Paced, Progress, step};

pub use super::folding::FLATTEST;

/// Skin that a strength of E/size moves by no more than this part of the body's size does not yield.
const STILL: f64 = 1e-9;

/// How flesh at rest answers a rig at some parameters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Compliance {
    /// How far a vertex of the body's own surface moves at most, m per N/m³; zero where bones hold all flesh in reach.
    pub per_strength: f64,
    /// The strengths between which no flesh is pressed flat, N/m³; infinite without end.
    pub strengths: (f64, f64),
}

/// A sample whose strength was lowered because flesh would fold.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Lowered {
    /// Its control; none for a rig without samples.
    pub control: Option<f64>,
    /// N/m³, as it was.
    pub from: f64,
    /// N/m³, as it is now.
    pub to: f64,
}

impl Lowered {
    /// It said of a rig of some name.
    pub fn sentence(&self, rig: &str) -> String {
        let at = self
            .control
            .map_or(String::new(), |c| format!(" at control {c}"));
        let Self { from, to, .. } = self;
        format!(
            "rig '{rig}'{at}: the strength of {from:.3e} N/m³ would fold flesh, so {to:.3e} N/m³ push instead"
        )
    }
}

impl Rig {
    /// How the flesh of a body at rest answers the rig at η; the strength in it does not matter.
    ///
    /// # Errors
    /// As [`forces`](Self::forces); flesh that cannot be solved for.
    pub fn compliance(&self, body: &Body, eta: &[f64]) -> Result<Compliance, RigError> {
        // A strength of everyday size, so that numbers stay in range.
        let usual = body.material().young() / body.size();
        let forces = self.forces(body, &self.with_strength(eta, usual))?;
        let line = body.displaced_by(&forces)?;
        let still = vec![Vec3::zeros(); line.len()];
        let (least, most) = room(body.elements(), &still, &line);
        let embedding = body.embedding();
        let far = (0..embedding.len()).map(|i| embedding.place(i, &line).norm());
        let moved = far.fold(0.0, f64::max);
        let moved = if moved > STILL * body.size() {
            moved
        } else {
            0.0
        };
        Ok(Compliance {
            per_strength: moved / usual,
            strengths: (least * usual, most * usual),
        })
    }

    /// The yield of each sample, m, negative where the strength is; of a rig without samples the only one. A sample whose
    /// template lies outside the flesh counts as the nearest one that does not.
    ///
    /// # Errors
    /// As [`compliance`](Self::compliance).
    pub fn yields(&self, body: &Body, progress: &dyn Progress) -> Result<Vec<f64>, RigError> {
        let states = self.states();
        let per_strength = self.per_strengths(body, &states, progress)?;
        let each = states.iter().zip(per_strength);
        Ok(each.map(|(eta, c)| eta[self.strength()] * c).collect())
    }

    /// The rig with the strengths at which the flesh of a body yields to each sample as far as asked for, m; of a rig without
    /// samples to the only state. None leaves a strength as it is.
    ///
    /// # Errors
    /// Another number of yields than of samples; as [`compliance`](Self::compliance); a yield where bones hold all flesh in
    /// reach, or that is not finite.
    pub fn with_yields(
        &self,
        body: &Body,
        yields: &[Option<f64>],
        progress: &dyn Progress,
    ) -> Result<Self, RigError> {
        let mut states = self.states();
        if yields.len() != states.len() {
            return Err(RigError::Yields {
                expected: states.len(),
                given: yields.len(),
            });
        }
        if let Some(value) = yields.iter().flatten().find(|y| !y.is_finite()) {
            let (name, value) = ("yields", *value);
            return Err(RigError::NonFinite { name, value });
        }
        // What is not asked for need not be known.
        let per_strength = match yields.iter().flatten().all(|y| *y == 0.0) {
            true => vec![1.0; states.len()],
            false => self.per_strengths(body, &states, progress)?,
        };
        for ((eta, wanted), c) in states.iter_mut().zip(yields).zip(per_strength) {
            match *wanted {
                None => continue,
                Some(0.0) => eta[self.strength()] = 0.0,
                Some(_) if c <= 0.0 => return Err(RigError::Held),
                Some(wanted) => eta[self.strength()] = wanted / c,
            }
        }
        self.with_states(states)
    }

    /// The rig with strengths at which, by itself and at rest, it presses no flesh of a body flat, and what was lowered for
    /// that. Between samples, where strength and position pass from one to the next, nothing is looked at.
    ///
    /// # Errors
    /// As [`compliance`](Self::compliance), but for samples outside the flesh: they stay.
    pub fn unfolding(
        &self,
        body: &Body,
        progress: &dyn Progress,
    ) -> Result<(Self, Vec<Lowered>), RigError> {
        let mut states = self.states();
        let (count, progress) = (states.len() as f64, Paced::new(progress));
        let mut lowered = Vec::new();
        let at = self.strength();
        for (i, eta) in states.iter_mut().enumerate() {
            step(&progress, i as f64 / count, "measuring rigs")?;
            let from = eta[at];
            if from == 0.0 {
                continue;
            }
            let (least, most) = match self.compliance(body, eta) {
                Ok(compliance) => compliance.strengths,
                Err(RigError::Outside) => continue,
                Err(error) => return Err(error),
            };
            let to = from.clamp(least, most);
            if to != from {
                eta[at] = to;
                let control = self.samples().get(i).map(|s| s.control);
                lowered.push(Lowered { control, from, to });
            }
        }
        let rig = match lowered.is_empty() {
            true => self.clone(),
            false => self.with_states(states)?,
        };
        Ok((rig, lowered))
    }

    /// Without its samples.
    pub(super) fn plain(&self) -> Option<Self> {
        Self::new(
            self.name(),
            *self.template(),
            self.guide().clone(),
            Vec::new(),
        )
        .ok()
    }

    /// Whether its strengths are those of another rig, which is the same otherwise, up to a part of themselves.
    pub(super) fn is_near(&self, other: &Self, part: f64) -> bool {
        let at = self.strength();
        let mut each = self.states().into_iter().zip(other.states());
        each.all(|(a, b)| (a[at] - b[at]).abs() <= part * b[at].abs())
    }

    /// η with another strength.
    pub(super) fn with_strength(&self, eta: &[f64], strength: f64) -> Vec<f64> {
        let mut eta = eta.to_vec();
        if let Some(slot) = eta.get_mut(self.strength()) {
            *slot = strength;
        }
        eta
    }

    /// The index of the strength among the parameters: the last of the template's.
    pub(in crate::rig) fn strength(&self) -> usize {
        self.template().parameters().len() - 1
    }

    /// η of each sample, or the own one without samples.
    fn states(&self) -> Vec<Vec<f64>> {
        match self.samples() {
            [] => vec![self.own_parameters()],
            samples => samples.iter().map(|s| s.parameters.clone()).collect(),
        }
    }

    /// The rig with other parameters in its samples; without samples as its own.
    fn with_states(&self, states: Vec<Vec<f64>>) -> Result<Self, RigError> {
        let (name, guide) = (self.name(), self.guide().clone());
        if self.samples().is_empty() {
            let eta = states.into_iter().next().unwrap_or_default();
            return Self::new(name, self.template_at(&eta)?, guide, Vec::new());
        }
        let each = self.samples().iter().zip(states);
        let samples = each.map(|(sample, parameters)| Sample {
            control: sample.control,
            parameters,
        });
        Self::new(name, *self.template(), guide, samples.collect())
    }

    /// Yield per strength of each state; outside the flesh that of the nearest one that is not.
    fn per_strengths(
        &self,
        body: &Body,
        states: &[Vec<f64>],
        progress: &dyn Progress,
    ) -> Result<Vec<f64>, RigError> {
        let (count, progress) = (states.len() as f64, Paced::new(progress));
        let mut found: Vec<Option<f64>> = Vec::new();
        for (i, eta) in states.iter().enumerate() {
            step(&progress, i as f64 / count, "measuring rigs")?;
            found.push(match self.compliance(body, eta) {
                Ok(compliance) => Some(compliance.per_strength),
                Err(RigError::Outside) => None,
                Err(error) => return Err(error),
            });
        }
        let known: Vec<usize> = (0..found.len()).filter(|&k| found[k].is_some()).collect();
        let nearest = |i: usize| {
            let after = known.partition_point(|&k| k < i);
            let two = known[after.saturating_sub(1)..].iter().take(2);
            // The first of two that are as near.
            let nearest = two.min_by_key(|k| k.abs_diff(i));
            nearest.and_then(|&k| found[k])
        };
        let each = (0..found.len()).map(|i| nearest(i).ok_or(RigError::Outside));
        each.collect()
    }
}
