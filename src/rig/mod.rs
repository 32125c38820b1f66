// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rigging with forces: fields that push the flesh, placed on a character and driven by one control each. [capell2006, §4]
//!
//! ```
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/shapes/arm.rs"));
//! # fn main() -> Result<(), Any> {
//! use thew::rig::{BoneRef, Guide, Rig, Template, TemplateKind};
//!
//! let body = body()?; // of an arm of flesh around two bones: `examples/shapes/arm.rs`
//! // A bump of 0.1 m and 2e4 N/m³ beside the middle of the upper arm pushes along its own Z, which is outward.
//! let bump = Template::new(TemplateKind::Bump, &[0.1, 2e4])?;
//! let guide = Guide::bone(BoneRef::Name("upper".into()), [0.5, 0.0, 0.02, 0.0])?;
//! let rig = Rig::new("Bump", bump, guide, Vec::new())?;
//! let eta = rig.own_parameters();
//! let total: Vec3 = rig.forces(&body, &eta)?.iter().sum();
//! let outward = rig.frame(&body, &eta)?.rotation.column(2).into_owned();
//! assert!(total.dot(&outward) > 0.999 * total.norm() && total.norm() > 1.0);
//! # Ok(())
//! # }
//! ```
//!
//! | file | what |
//! | --- | --- |
//! | `template` | the force field in a frame of its own: bump, radial, bulge, torus |
//! | `guide` | where the frame sits: at a bone, under a point of the skin, anywhere |
//! | `parameter` | kinds of parameters: units, what fits take for usual |
//! | `samples` | parameters recorded at values of the control, linear between |
//! | `quadrature` | generalised forces of a field in the flesh, and their derivatives |
//! | `compliance`, `folding` | how far flesh yields to a rig, and how far it can before it folds |
//! | `rig_forces` | rigs in a moving clip, a control for each at every frame |
//! | `file` | rigs as a small text file |
//!
//! A rig's parameters η are those of its template, then those of its guide, in a fixed order and by name. Its generalised
//! forces `Q_i = ∫_Ω f φ_i` are in rest axes; dynamics turns them with the flesh, once. Forces of several rigs add up.

mod compliance;
mod error;
mod file;
pub mod fit;
mod folding;
mod guide;
mod parameter;
mod quadrature;
mod rig_forces;
mod samples;
mod template;
#[cfg(test)]
mod tests;

pub use compliance::{Compliance, FLATTEST, Lowered};
pub use error::RigError;
pub use file::{load, parsed, save, written};
pub use fit::{Fit, FitError, FitOptions, Fitted, Named, Target};
pub use guide::{BoneRef, Guide, GuideFrame, Motion, Placed};
pub use parameter::ParameterKind;
pub use rig_forces::RigForces;
pub use samples::Sample;
pub use template::{Derivatives, Template, TemplateKind};

/// [`RigForces`] as it was called.
#[deprecated(note = "renamed to RigForces")]
pub type Led = RigForces;

/// [`GuideFrame`] as it was called.
#[deprecated(note = "renamed to GuideFrame")]
pub type Frame = GuideFrame;

/// [`FitOptions`] as they were called.
#[deprecated(note = "renamed to FitOptions")]
pub type Wishes = FitOptions;

use crate::Vec3;
use crate::body::Body;
use crate::range::is_sound;

/// A template on a guide, with recorded samples over a control.
#[derive(Debug, Clone, PartialEq)]
pub struct Rig {
    name: String,
    template: Template,
    guide: Guide,
    samples: Vec<Sample>,
    /// Of the template, then of the guide.
    names: Vec<&'static str>,
    kinds: Vec<ParameterKind>,
}

impl Rig {
    /// A rig; without samples it is the same for every control. Samples may come in any order.
    ///
    /// # Errors
    /// Samples at equal controls, that are not finite, that have another number of parameters, or whose
    /// parameters make no field; each names the sample.
    pub fn new(
        name: impl Into<String>,
        template: Template,
        guide: Guide,
        samples: Vec<Sample>,
    ) -> Result<Self, RigError> {
        let names = [template.kind().parameter_names(), guide.parameter_names()].concat();
        let kinds = [template.kind().parameter_kinds(), guide.parameter_kinds()].concat();
        let mut rig = Self {
            name: name.into(),
            template,
            guide,
            samples: Vec::new(),
            names,
            kinds,
        };
        for (index, sample) in samples.iter().enumerate() {
            rig.template_at(&sample.parameters)
                .map_err(|e| e.in_sample(index))?;
        }
        rig.samples = samples::sorted(samples)?;
        Ok(rig)
    }

    /// What the artist calls it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The template with its own parameters.
    pub fn template(&self) -> &Template {
        &self.template
    }

    /// The guide with its own parameters.
    pub fn guide(&self) -> &Guide {
        &self.guide
    }

    /// What was recorded, by ascending control.
    pub fn samples(&self) -> &[Sample] {
        &self.samples
    }

    /// Names of all parameters: the template's, then the guide's.
    pub fn parameter_names(&self) -> &[&'static str] {
        &self.names
    }

    /// What kind of number each of them is.
    pub fn parameter_kinds(&self) -> &[ParameterKind] {
        &self.kinds
    }

    /// The parameters of the template and the guide as they were made, samples aside.
    pub fn own_parameters(&self) -> Vec<f64> {
        [self.template.parameters(), self.guide.values()].concat()
    }

    /// η at a control γ: linear between samples, constant outside; the own ones without samples. A control that is not a
    /// number counts as below all.
    pub fn parameters(&self, gamma: f64) -> Vec<f64> {
        samples::at(&self.samples, gamma).unwrap_or_else(|| self.own_parameters())
    }

    /// η of the last sample, or the own ones without samples: the state that is shown when no control is given.
    pub fn last_parameters(&self) -> Vec<f64> {
        self.parameters(f64::INFINITY)
    }

    /// η with some parameters replaced by name.
    ///
    /// # Errors
    /// A name that the rig does not have, a value that is not finite.
    pub fn with_named<'a>(
        &self,
        mut eta: Vec<f64>,
        named: impl IntoIterator<Item = (&'a str, f64)>,
    ) -> Result<Vec<f64>, RigError> {
        for (name, value) in named {
            let at = self.names.iter().position(|&n| n == name);
            let at = at.ok_or_else(|| RigError::unknown(name, &self.names))?;
            if !is_sound(value) {
                let name = self.names[at];
                return Err(RigError::NonFinite { name, value });
            }
            if let Some(slot) = eta.get_mut(at) {
                *slot = value;
            }
        }
        Ok(eta)
    }

    /// The template with the parameters η; the guide's are looked at too.
    ///
    /// # Errors
    /// A wrong number of them, one that is not finite, a radius that is not positive.
    pub fn template_at(&self, eta: &[f64]) -> Result<Template, RigError> {
        if eta.len() != self.names.len() {
            return Err(RigError::Count {
                expected: self.names.len(),
                given: eta.len(),
            });
        }
        let mut named = self.names.iter().zip(eta);
        if let Some((name, &value)) = named.find(|(_, value)| !is_sound(**value)) {
            return Err(RigError::NonFinite { name, value });
        }
        let kind = self.template.kind();
        Template::new(kind, &eta[..kind.parameter_names().len()])
    }

    /// Where the guide places the template, in rest space, and how it moves with the guide's parameters.
    ///
    /// # Errors
    /// Parameters as in [`template_at`](Self::template_at); a bone or face that the body does not have.
    pub fn place(&self, body: &Body, eta: &[f64]) -> Result<Placed, RigError> {
        self.template_at(eta)?;
        let own = self.template.parameters().len();
        self.guide.place(body, &eta[own..])
    }

    /// The template's frame in rest space.
    ///
    /// # Errors
    /// As [`place`](Self::place).
    pub fn frame(&self, body: &Body, eta: &[f64]) -> Result<GuideFrame, RigError> {
        Ok(self.place(body, eta)?.frame)
    }

    /// The level of the quadrature at η. A fit that compares forces of near parameters holds it fixed.
    ///
    /// # Errors
    /// As [`template_at`](Self::template_at).
    pub fn level(&self, body: &Body, eta: &[f64]) -> Result<u32, RigError> {
        Ok(quadrature::level(body, &self.template_at(eta)?))
    }

    /// The radii (of a torus, those of its tube), from and below, for which a level is the one wanted; metres.
    pub(crate) fn radii_at(&self, body: &Body, level: u32) -> (f64, f64) {
        quadrature::radii(body, level, self.template.kind())
    }

    /// Generalised forces `[nodes]`, N, rest axes, before the turn with the flesh.
    ///
    /// # Errors
    /// As [`place`](Self::place); a template wholly outside the flesh; forces beyond what numbers hold.
    pub fn forces(&self, body: &Body, eta: &[f64]) -> Result<Vec<Vec3>, RigError> {
        self.forces_at_level(body, eta, self.level(body, eta)?)
    }

    /// As [`forces`](Self::forces), with the level of the quadrature given: C¹ in η.
    ///
    /// # Errors
    /// As [`forces`](Self::forces).
    pub fn forces_at_level(
        &self,
        body: &Body,
        eta: &[f64],
        level: u32,
    ) -> Result<Vec<Vec3>, RigError> {
        let mut out = vec![Vec3::zeros(); body.nodes()];
        if !self.add(body, eta, level, &mut out)? {
            return Err(RigError::Outside);
        }
        Ok(out)
    }

    /// Adds the forces at a control to `out[nodes]`; nothing where the template lies outside the flesh.
    ///
    /// # Errors
    /// As [`forces`](Self::forces) but for the guide's frame; a control that is not finite, an array of another length.
    /// `out` is then as it was.
    pub fn add_forces(&self, body: &Body, gamma: f64, out: &mut [Vec3]) -> Result<(), RigError> {
        if !gamma.is_finite() {
            return Err(RigError::Control { value: gamma });
        }
        check_field(body, out)?;
        let eta = self.parameters(gamma);
        let mut own = vec![Vec3::zeros(); out.len()];
        if self.add(body, &eta, self.level(body, &eta)?, &mut own)? {
            out.iter_mut().zip(own).for_each(|(sum, f)| *sum += f);
        }
        Ok(())
    }

    /// Whether there was any flesh to push.
    fn add(
        &self,
        body: &Body,
        eta: &[f64],
        level: u32,
        out: &mut [Vec3],
    ) -> Result<bool, RigError> {
        let template = self.template_at(eta)?;
        let frame = self.frame(body, eta)?;
        let any = quadrature::add_forces(body, level, &template, &frame, out);
        if out.iter().all(|f| f.iter().all(|x| x.is_finite())) {
            Ok(any)
        } else {
            Err(RigError::Overflow)
        }
    }

    /// The derivative of `Σ_i field_i · Q_i` by every parameter, `field[nodes]`.
    ///
    /// # Errors
    /// As [`forces`](Self::forces); a field of another length or not finite.
    pub fn pull_back(
        &self,
        body: &Body,
        eta: &[f64],
        field: &[Vec3],
    ) -> Result<Vec<f64>, RigError> {
        self.pull_back_at_level(body, eta, self.level(body, eta)?, field)
    }

    /// As [`pull_back`](Self::pull_back), the exact derivative of [`forces_at_level`](Self::forces_at_level).
    ///
    /// # Errors
    /// As [`pull_back`](Self::pull_back).
    pub fn pull_back_at_level(
        &self,
        body: &Body,
        eta: &[f64],
        level: u32,
        field: &[Vec3],
    ) -> Result<Vec<f64>, RigError> {
        check_field(body, field)?;
        let template = self.template_at(eta)?;
        let Placed { frame, motions } = self.place(body, eta)?;
        let sums = quadrature::pull_back(body, level, &template, &frame, field)
            .ok_or(RigError::Outside)?;
        let of_template = &sums.by_parameter[..template.parameters().len()];
        let of_guide = motions
            .iter()
            .map(|m| m.spin.dot(&sums.by_spin) + m.velocity.dot(&sums.by_velocity));
        let all: Vec<f64> = of_template.iter().copied().chain(of_guide).collect();
        if all.iter().all(|x| x.is_finite()) {
            Ok(all)
        } else {
            Err(RigError::Overflow)
        }
    }

    /// Returns about how many points of flesh an integral over the rig's template takes at a level: the work of it.
    pub(crate) fn points_at_level(
        &self,
        body: &Body,
        eta: &[f64],
        level: u32,
    ) -> Result<f64, RigError> {
        Ok(quadrature::points(body, level, &self.template_at(eta)?))
    }

    /// The forces of [`forces_at_level`](Self::forces_at_level) and their exact derivative by every parameter, `[nodes]` each.
    ///
    /// # Errors
    /// As [`forces`](Self::forces).
    pub fn tangents_at_level(
        &self,
        body: &Body,
        eta: &[f64],
        level: u32,
    ) -> Result<(Vec<Vec3>, Vec<Vec<Vec3>>), RigError> {
        let template = self.template_at(eta)?;
        let Placed { frame, motions } = self.place(body, eta)?;
        let tangents =
            quadrature::tangents(body, level, &template, &frame).ok_or(RigError::Outside)?;
        let of_motion = |m: &Motion| {
            let by = |v: usize| -> Vec3 {
                let axes = 0..3;
                axes.map(|a| {
                    tangents.by_spin[a][v] * m.spin[a] + tangents.by_velocity[a][v] * m.velocity[a]
                })
                .sum()
            };
            (0..body.nodes()).map(by).collect()
        };
        let of_guide: Vec<Vec<Vec3>> = motions.iter().map(of_motion).collect();
        let of_template = tangents.by_parameter.into_iter();
        let slopes = of_template
            .take(template.parameters().len())
            .chain(of_guide);
        let all = (tangents.forces, slopes.collect::<Vec<_>>());
        let mut each = all.1.iter().flatten().chain(&all.0);
        if each.all(|f| f.iter().all(|x| x.is_finite())) {
            Ok(all)
        } else {
            Err(RigError::Overflow)
        }
    }

    /// What keeps the rig from pushing this body, one sentence each; empty when nothing does.
    pub fn check(&self, body: &Body) -> Vec<String> {
        let name = &self.name;
        if let Err(error) = self.frame(body, &self.own_parameters()) {
            return vec![format!("Rig '{name}': {error}.")];
        }
        if self.samples.is_empty() {
            let own = self.forces(body, &self.own_parameters());
            return own
                .err()
                .map(|e| format!("Rig '{name}': {e}."))
                .into_iter()
                .collect();
        }
        let problem = |s: &Sample| {
            let error = self.forces(body, &s.parameters).err()?;
            Some(format!("Rig '{name}' at control {}: {error}.", s.control))
        };
        self.samples.iter().filter_map(problem).collect()
    }
}

/// The sum of the forces of rigs `[nodes]` at their controls; those outside the flesh add nothing.
///
/// # Errors
/// Another number of controls than of rigs; as [`Rig::add_forces`], naming the rig.
pub fn sum(rigs: &[Rig], body: &Body, controls: &[f64]) -> Result<Vec<Vec3>, RigError> {
    if rigs.len() != controls.len() {
        return Err(RigError::Controls {
            rigs: rigs.len(),
            given: controls.len(),
        });
    }
    let mut out = vec![Vec3::zeros(); body.nodes()];
    for (rig, &gamma) in rigs.iter().zip(controls) {
        rig.add_forces(body, gamma, &mut out)
            .map_err(|e| e.in_rig(rig.name()))?;
    }
    Ok(out)
}

fn check_field(body: &Body, field: &[Vec3]) -> Result<(), RigError> {
    if field.len() != body.nodes() {
        return Err(RigError::Field {
            expected: body.nodes(),
            given: field.len(),
        });
    }
    match field.iter().position(|f| !f.iter().all(|x| x.is_finite())) {
        Some(dof) => Err(RigError::FieldNonFinite { dof }),
        None => Ok(()),
    }
}
