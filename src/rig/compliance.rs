// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compliance of flesh to a rig, and the strengths at which flesh folds.
//!
//! Forces are linear in a rig's strength, and so are the displacements of flesh at rest, to first order. A rig's
//! *peak displacement* is the largest displacement of the body's own surface at rest, metres (`yields` in files). An
//! artist sees a strength by it, and a rig should keep it when the flesh becomes softer or the character changes. One
//! solve gives the *compliance*, the peak displacement per N/m³, and with it the range of strengths at which no flesh
//! is pressed flat ([`MIN_VOLUME_RATIO`]).
//!
//! Other rigs, gravity and poses are left out: compliance and limits are those of one rig alone.

use super::folding::unfolded_range;
use super::{Rig, RigError, RigKind, Sample};
use crate::Vec3;
use crate::body::Body;
use crate::progress::{PacedProgress, Progress, report_progress};

pub use super::folding::MIN_VOLUME_RATIO;

/// Displacement, as a part of the body's size, at a strength of E/size, up to which skin counts as fixed.
const FIXED_SKIN_TOLERANCE: f64 = 1e-9;

/// Contraction at which a muscle's compliance is measured: small, so that it is that of the linear response, and far above rounding.
const USUAL_CONTRACTION: f64 = 0.1;

/// Response of flesh at rest to a rig at some parameters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RigCompliance {
    /// Largest displacement of a vertex of the body's own surface, m per N/m³; zero if bones hold all flesh in reach.
    pub per_strength: f64,
    /// Range of strengths at which no flesh is pressed flat, N/m³; unbounded ends are infinite.
    pub strengths: (f64, f64),
}

/// A sample whose strength, or whose muscle's contraction, was lowered to keep flesh from folding.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LoweredStrength {
    /// Control of the sample. `None`: the rig has no samples.
    pub control: Option<f64>,
    /// Former strength, N/m³, or contraction.
    pub from: f64,
    /// New strength, N/m³, or contraction.
    pub to: f64,
    /// `true`: a muscle's contraction.
    pub is_contraction: bool,
}

impl LoweredStrength {
    /// Returns a sentence about a rig of this name.
    pub fn sentence(&self, rig: &str) -> String {
        let at = self
            .control
            .map_or(String::new(), |c| format!(" at control {c}"));
        let Self { from, to, .. } = self;
        if self.is_contraction {
            return format!(
                "rig '{rig}'{at}: a contraction of {from:.3} would fold flesh, so {to:.3} is used instead"
            );
        }
        format!(
            "rig '{rig}'{at}: the strength of {from:.3e} N/m³ would fold flesh, so {to:.3e} N/m³ is used instead"
        )
    }
}

impl Rig {
    /// Returns the response of a body's flesh at rest to the rig at η; the strength in η is ignored. A sculpted rig takes its last sample,
    /// and its compliance is that per share of the whole, m; that of a muscle is per unit of contraction, m.
    ///
    /// # Errors
    /// Errors of [`forces`](Self::forces); a linear system that cannot be solved.
    pub fn compliance(&self, body: &Body, eta: &[f64]) -> Result<RigCompliance, RigError> {
        self.compliance_at_control(body, f64::INFINITY, eta)
    }

    /// Returns the response of [`compliance`](Self::compliance) to the forces of [`forces_at_control`](Self::forces_at_control).
    ///
    /// # Errors
    /// Errors of [`compliance`](Self::compliance).
    pub fn compliance_at_control(
        &self,
        body: &Body,
        control: f64,
        eta: &[f64],
    ) -> Result<RigCompliance, RigError> {
        // A usual strength keeps numbers in range.
        let usual = match self.kind() {
            RigKind::Force(_) => body.material().young() / body.size(),
            RigKind::Sculpted(_) => 1.0,
            RigKind::Muscle(_) => USUAL_CONTRACTION,
        };
        let forces = self.forces_at_control(body, control, &self.with_strength(eta, usual))?;
        let line = body.static_displacements(&forces)?;
        let still = vec![Vec3::zeros(); line.len()];
        let (least, most) = unfolded_range(body.elements(), &still, &line);
        let moved = skin_peak(body, &line);
        let moved = if moved > FIXED_SKIN_TOLERANCE * body.size() {
            moved
        } else {
            0.0
        };
        Ok(RigCompliance {
            per_strength: moved / usual,
            strengths: (least * usual, most * usual),
        })
    }

    /// Returns the largest displacement of the skin of a body at rest under each sample, m, with the sign of the
    /// strength; without samples, that of the rig itself. A sample with its template outside the flesh takes the
    /// displacement per strength of the nearest sample inside.
    ///
    /// # Errors
    /// Errors of [`compliance`](Self::compliance).
    pub fn peak_displacements(
        &self,
        body: &Body,
        progress: &dyn Progress,
    ) -> Result<Vec<f64>, RigError> {
        let states = self.sample_states();
        let per_strength = self.state_compliances(body, &states, progress)?;
        let each = states.iter().zip(per_strength);
        each.map(|((_, eta), c)| self.peak_at(body, eta, c))
            .collect()
    }

    /// Returns the peak displacement at η, m, of a rig that moves the skin by `c` m per strength; that of a muscle is measured.
    fn peak_at(&self, body: &Body, eta: &[f64], c: f64) -> Result<f64, RigError> {
        let linear = eta[self.strength_index()] * c;
        Ok(self.muscle_peak(body, eta)?.unwrap_or(linear))
    }

    /// Returns the rig with the strengths at which its [`peak_displacements`](Self::peak_displacements) on a body are
    /// `displacements`, m. `None` keeps a strength. A muscle gets the contractions that reach them.
    ///
    /// # Errors
    /// Numbers of displacements and samples that differ; errors of [`compliance`](Self::compliance); a displacement that is not
    /// finite, or not zero where bones hold all flesh in reach; a distance that no contraction of a muscle reaches.
    pub fn with_peak_displacements(
        &self,
        body: &Body,
        displacements: &[Option<f64>],
        progress: &dyn Progress,
    ) -> Result<Self, RigError> {
        let mut states = self.sample_states();
        if displacements.len() != states.len() {
            return Err(RigError::Displacements {
                expected: states.len(),
                given: displacements.len(),
            });
        }
        if let Some(value) = displacements.iter().flatten().find(|y| !y.is_finite()) {
            let (name, value) = ("displacements", *value);
            return Err(RigError::NonFinite { name, value });
        }
        // Displacements of zero need no solve.
        let per_strength = match displacements.iter().flatten().all(|y| *y == 0.0) {
            true => vec![1.0; states.len()],
            false => self.state_compliances(body, &states, progress)?,
        };
        for (((_, eta), wanted), c) in states.iter_mut().zip(displacements).zip(per_strength) {
            match *wanted {
                None => continue,
                // A state that moves nothing and is to move nothing stays.
                Some(wanted) if wanted == self.peak_at(body, eta, c)? => continue,
                Some(0.0) => eta[self.strength_index()] = 0.0,
                Some(_) if c <= 0.0 => return Err(RigError::Held),
                Some(wanted) => {
                    let contraction = self.contraction_for_peak(body, eta, wanted)?;
                    eta[self.strength_index()] = contraction.unwrap_or(wanted / c);
                }
            }
        }
        self.with_sample_states(states)
    }

    /// Returns the rig with strengths limited so that, by itself and at rest, it presses no flesh of a body flat, and
    /// the lowered samples. States between samples, with interpolated strength and position, are not checked. Sculpted rigs act at poses of
    /// their own, not at rest, and are returned as they are. Of muscles the contraction is lowered.
    ///
    /// # Errors
    /// Errors of [`compliance`](Self::compliance), except for samples outside the flesh, which are kept.
    pub fn with_clamped_strengths(
        &self,
        body: &Body,
        progress: &dyn Progress,
    ) -> Result<(Self, Vec<LoweredStrength>), RigError> {
        if let RigKind::Sculpted(_) = self.kind() {
            return Ok((self.clone(), Vec::new()));
        }
        let mut states = self.sample_states();
        let (count, progress) = (states.len() as f64, PacedProgress::new(progress));
        let mut lowered = Vec::new();
        let at = self.strength_index();
        for (i, (_, eta)) in states.iter_mut().enumerate() {
            report_progress(&progress, i as f64 / count, "measuring rigs")?;
            let from = eta[at];
            if from == 0.0 {
                continue;
            }
            let to = match self.unfolding_strength(body, eta) {
                Err(RigError::Outside) => continue,
                to => to?,
            };
            if to != from {
                eta[at] = to;
                let control = self.samples().get(i).map(|s| s.control);
                let is_contraction = matches!(self.kind(), RigKind::Muscle(_));
                lowered.push(LoweredStrength {
                    control,
                    from,
                    to,
                    is_contraction,
                });
            }
        }
        let rig = match lowered.is_empty() {
            true => self.clone(),
            false => self.with_sample_states(states)?,
        };
        Ok((rig, lowered))
    }

    /// Returns the lowered contraction with which a muscle at η presses no flesh of a body at rest flat; `None` for one that is not lowered,
    /// for a muscle outside the flesh, and for other rigs.
    ///
    /// # Errors
    /// Errors of [`forces`](Self::forces).
    pub fn lowered_contraction(
        &self,
        body: &Body,
        eta: &[f64],
    ) -> Result<Option<LoweredStrength>, RigError> {
        if !matches!(self.kind(), RigKind::Muscle(_)) {
            return Ok(None);
        }
        let to = match self.unfolding_strength(body, eta) {
            Err(RigError::Outside) => return Ok(None),
            to => to?,
        };
        let from = eta[self.strength_index()];
        Ok((to != from).then_some(LoweredStrength {
            control: None,
            from,
            to,
            is_contraction: true,
        }))
    }

    /// Returns the strength of η, N/m³, or the contraction of a muscle, limited so that the rig presses no flesh of a body at rest flat.
    fn unfolding_strength(&self, body: &Body, eta: &[f64]) -> Result<f64, RigError> {
        if let RigKind::Muscle(muscle) = self.kind() {
            return muscle.bearable_contraction(body, eta);
        }
        let (least, most) = self.compliance(body, eta)?.strengths;
        Ok(eta[self.strength_index()].clamp(least, most))
    }

    /// Returns the rig without its samples.
    pub(super) fn without_samples(&self) -> Option<Self> {
        self.with_samples(Vec::new()).ok()
    }

    /// Returns whether the strengths equal those of an otherwise equal rig, up to a relative difference `part`.
    pub(super) fn has_equal_strengths(&self, other: &Self, part: f64) -> bool {
        let at = self.strength_index();
        let mut each = self.sample_states().into_iter().zip(other.sample_states());
        each.all(|((_, a), (_, b))| (a[at] - b[at]).abs() <= part * b[at].abs())
    }

    /// Returns η with another strength.
    pub(super) fn with_strength(&self, eta: &[f64], strength: f64) -> Vec<f64> {
        let mut eta = eta.to_vec();
        if let Some(slot) = eta.get_mut(self.strength_index()) {
            *slot = strength;
        }
        eta
    }

    /// Returns the index of the strength among the parameters: the last of the template's.
    pub(in crate::rig) fn strength_index(&self) -> usize {
        match self.kind() {
            RigKind::Force(force) => force.template().parameters().len() - 1,
            RigKind::Sculpted(_) | RigKind::Muscle(_) => 0,
        }
    }

    /// Returns control and η of each sample, or the rig's own η without samples.
    fn sample_states(&self) -> Vec<(f64, Vec<f64>)> {
        match self.samples() {
            [] => vec![(0.0, self.own_parameters())],
            samples => {
                let state = |s: &Sample| (s.control, s.parameters.clone());
                samples.iter().map(state).collect()
            }
        }
    }

    /// Returns the rig with other parameters: of its samples, or its own without samples.
    fn with_sample_states(&self, states: Vec<(f64, Vec<f64>)>) -> Result<Self, RigError> {
        if self.samples().is_empty() {
            let (_, eta) = states.into_iter().next().unwrap_or_default();
            return match self.kind() {
                RigKind::Force(force) => {
                    let (template, guide) = (self.template_at(&eta)?, force.guide().clone());
                    let made = Self::new(self.name(), template, guide, Vec::new())?;
                    made.with_firmness(self.firmness())
                }
                RigKind::Sculpted(_) => Ok(self.clone()),
                RigKind::Muscle(muscle) => {
                    let made = muscle.with_parameters(&eta)?;
                    Self::muscle(self.name(), made, Vec::new())?.with_firmness(self.firmness())
                }
            };
        }
        let each = self.samples().iter().zip(states);
        let samples = each.map(|(sample, (_, parameters))| Sample {
            control: sample.control,
            parameters,
        });
        self.with_samples(samples.collect())
    }

    /// Returns the displacement per strength of each state, m per N/m³; a state outside the flesh takes that of the
    /// nearest one inside.
    fn state_compliances(
        &self,
        body: &Body,
        states: &[(f64, Vec<f64>)],
        progress: &dyn Progress,
    ) -> Result<Vec<f64>, RigError> {
        let (count, progress) = (states.len() as f64, PacedProgress::new(progress));
        let mut found: Vec<Option<f64>> = Vec::new();
        for (i, (control, eta)) in states.iter().enumerate() {
            report_progress(&progress, i as f64 / count, "measuring rigs")?;
            found.push(match self.compliance_at_control(body, *control, eta) {
                Ok(compliance) => Some(compliance.per_strength),
                Err(RigError::Outside) => None,
                Err(error) => return Err(error),
            });
        }
        let known: Vec<usize> = (0..found.len()).filter(|&k| found[k].is_some()).collect();
        let nearest = |i: usize| {
            let after = known.partition_point(|&k| k < i);
            let two = known[after.saturating_sub(1)..].iter().take(2);
            // The first of two equally near.
            let nearest = two.min_by_key(|k| k.abs_diff(i));
            nearest.and_then(|&k| found[k])
        };
        let each = (0..found.len()).map(|i| nearest(i).ok_or(RigError::Outside));
        each.collect()
    }
}

/// Returns the largest displacement of a vertex of a body's own surface in a field `[nodes]`, m.
pub(in crate::rig) fn skin_peak(body: &Body, field: &[Vec3]) -> f64 {
    let embedding = body.embedding();
    let far = (0..embedding.len()).map(|i| embedding.position(i, field).norm());
    far.fold(0.0, f64::max)
}
