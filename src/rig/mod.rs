// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rigging with forces: fields that push the flesh, each placed on a character and driven by one control.
//! [capell2006, §4]
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
//! | file | content |
//! | --- | --- |
//! | `parameter` | the table of parameters: names, units, ranges, defaults, texts |
//! | `field`, `fields` | a template's force field in its own frame, one file each |
//! | `template` | the table of templates; a template with its numbers |
//! | `frame`, `guide` | a rigid frame; its position: at a bone, under a point of the skin, anywhere |
//! | `samples` | parameters recorded at values of the control, linear between |
//! | `outline` | lines that show a field |
//! | `quadrature` | generalised forces of a field in the flesh, and their derivatives |
//! | `muscle` | spindles of flesh between two places on bones, whose bellies widen at constant volume |
//! | `force` | a template on a guide: its frame, and its forces at given parameters |
//! | `evaluation` | generalised forces of a rig of any kind at a control, and their derivatives |
//! | `tension`, `cell_means` | stiffness of the flesh, led by rigs; means over the flesh of cells |
//! | `compliance`, `folding` | displacement of the flesh by a rig, and the strengths up to which no flesh folds |
//! | `rig_forces` | rigs in a moving clip, one control each at every frame |
//! | `fit` | parameters, or the pose, that bring points of the skin to targets |
//! | `sculpted` | rigs that hold shapes of the skin at poses |
//! | `surface_fit` | sculpted rigs from target shapes of the skin |
//! | `file` | rigs as a small text file |
//!
//! A rig's parameters η are its template's, then its guide's, in a fixed order and by name. Its generalised forces
//! `Q_i = ∫_Ω f φ_i` are in rest axes; dynamics turns them with the flesh, once. Forces of several rigs add up.

mod cell_means;
mod compliance;
mod error;
mod evaluation;
mod field;
mod fields;
mod file;
pub mod fit;
mod folding;
mod force;
mod frame;
mod guide;
mod muscle;
mod outline;
mod parameter;
mod quadrature;
mod rig_forces;
mod samples;
mod sculpted;
pub mod surface_fit;
mod template;
mod tension;
#[cfg(test)]
mod tests;

pub use compliance::{LoweredStrength, MIN_VOLUME_RATIO, RigCompliance};
pub use error::RigError;
pub use evaluation::sum_forces;
pub use field::ForceDerivatives;
pub use file::{format_rigs, load, parse_rigs, save};
pub use fit::{NamedValues, RigFit, RigFitError, RigFitResult, RigFitSettings, SkinTarget};
pub use force::ForceRig;
pub use frame::GuideFrame;
pub use guide::{BoneRef, Guide, GuideMotion, GuidePlacement};
pub use muscle::{MusclePlace, MuscleRig, muscles};
pub use parameter::{Parameter, ParameterKind, Spec};
pub use rig_forces::RigForces;
pub use samples::Sample;
pub use sculpted::{BoneTurn, Sculpt, SculptPoint, SculptedRig};
pub use surface_fit::{
    SurfaceFitError, SurfaceFitReport, SurfaceFitSettings, SurfaceTarget, fit_surface,
};
pub use template::{Template, TemplateKind};
pub use tension::sum_stiffness;

use crate::body::Body;
use crate::range::is_sound;
use force::TemplateIntegral;

/// Kinds of rigs. Code that depends on the kind matches on it.
#[derive(Debug, Clone, PartialEq)]
pub enum RigKind {
    /// A force field on a guide.
    Force(ForceRig),
    /// Shapes of the skin at poses.
    Sculpted(SculptedRig),
    /// A spindle of flesh between two places on bones, which contracts.
    Muscle(MuscleRig),
}

impl RigKind {
    /// Returns the kinds that are no template on a guide, with their parameters.
    pub fn specs() -> [&'static Spec; 2] {
        [SculptedRig::spec(), MuscleRig::spec()]
    }

    /// Returns the name of the kind in code and files.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Force(_) => "force",
            Self::Sculpted(_) => SculptedRig::spec().name,
            Self::Muscle(_) => MuscleRig::spec().name,
        }
    }
}

/// A source of forces with recorded samples over a control.
#[derive(Debug, Clone, PartialEq)]
pub struct Rig {
    name: String,
    kind: RigKind,
    samples: Vec<Sample>,
    /// Names of all parameters.
    names: Vec<&'static str>,
    kinds: Vec<ParameterKind>,
    firmness: f64,
}

impl Rig {
    /// Builds a rig of a template on a guide; without samples it is the same for every control. Samples may come in
    /// any order.
    ///
    /// # Errors
    /// Two samples at one control, and samples that are not finite, have another number of parameters, or define no
    /// field; each error names the sample.
    pub fn new(
        name: impl Into<String>,
        template: Template,
        guide: Guide,
        samples: Vec<Sample>,
    ) -> Result<Self, RigError> {
        Self::from_kind(
            name.into(),
            RigKind::Force(ForceRig::new(template, guide)),
            samples,
        )
    }

    /// Builds a sculpted rig from a sculpt and its strength (1: the whole shape) at each value of the control, in any order.
    ///
    /// # Errors
    /// Two sculpts at one control; a control or a strength that is not finite.
    pub fn sculpted(
        name: impl Into<String>,
        mut sculpts: Vec<(f64, f64, Sculpt)>,
    ) -> Result<Self, RigError> {
        sculpts.sort_by(|a, b| a.0.total_cmp(&b.0));
        let samples = sculpts.iter().map(|&(control, strength, _)| Sample {
            control,
            parameters: vec![strength],
        });
        let samples = samples.collect();
        let sculpts = sculpts.into_iter().map(|(.., sculpt)| sculpt).collect();
        let kind = RigKind::Sculpted(SculptedRig::new(sculpts));
        Self::from_kind(name.into(), kind, samples)
    }

    /// Builds a muscle; without samples it is the same for every control. Samples may come in any order.
    ///
    /// # Errors
    /// Two samples at one control, and samples that are not finite, have another number of parameters, or define no muscle; each error names
    /// the sample.
    pub fn muscle(
        name: impl Into<String>,
        muscle: MuscleRig,
        samples: Vec<Sample>,
    ) -> Result<Self, RigError> {
        Self::from_kind(name.into(), RigKind::Muscle(muscle), samples)
    }

    fn from_kind(name: String, kind: RigKind, samples: Vec<Sample>) -> Result<Self, RigError> {
        let specs = match &kind {
            RigKind::Force(force) => force.parameter_specs().to_vec(),
            RigKind::Sculpted(_) => vec![SculptedRig::spec()],
            RigKind::Muscle(_) => vec![MuscleRig::spec()],
        };
        if let RigKind::Sculpted(sculpted) = &kind
            && sculpted.sculpts().len() != samples.len()
        {
            return Err(RigError::SculptSamples {
                expected: sculpted.sculpts().len(),
                given: samples.len(),
            });
        }
        let mut rig = Self {
            name,
            kind,
            samples: Vec::new(),
            names: specs.iter().flat_map(|s| s.parameter_names()).collect(),
            kinds: specs.iter().flat_map(|s| s.parameter_kinds()).collect(),
            firmness: 0.0,
        };
        for (index, sample) in samples.iter().enumerate() {
            rig.check_parameters(&sample.parameters)
                .map_err(|e| e.in_sample(index))?;
        }
        rig.samples = samples::sort_samples(samples)?;
        Ok(rig)
    }

    /// Returns the rig with other samples.
    ///
    /// # Errors
    /// Errors of [`new`](Self::new).
    pub fn with_samples(&self, samples: Vec<Sample>) -> Result<Self, RigError> {
        let made = Self::from_kind(self.name.clone(), self.kind.clone(), samples)?;
        Ok(Self {
            firmness: self.firmness,
            ..made
        })
    }

    /// Returns the name that the artist chose.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the kind, with its template and guide, or its sculpts.
    pub fn kind(&self) -> &RigKind {
        &self.kind
    }

    /// Returns the template with its own parameters; `None` for a sculpted rig and a muscle.
    pub fn template(&self) -> Option<&Template> {
        self.force().ok().map(ForceRig::template)
    }

    /// Returns the guide with its own parameters; `None` for a sculpted rig and a muscle.
    pub fn guide(&self) -> Option<&Guide> {
        self.force().ok().map(ForceRig::guide)
    }

    /// Returns the template on its guide.
    fn force(&self) -> Result<&ForceRig, RigError> {
        match &self.kind {
            RigKind::Force(force) => Ok(force),
            RigKind::Sculpted(_) | RigKind::Muscle(_) => Err(RigError::NoTemplate),
        }
    }

    /// Returns the samples, by ascending control.
    pub fn samples(&self) -> &[Sample] {
        &self.samples
    }

    /// Returns the names of all parameters: the template's, then the guide's; of a sculpted rig, its strength.
    pub fn parameter_names(&self) -> &[&'static str] {
        &self.names
    }

    /// Returns the kind of each parameter.
    pub fn parameter_kinds(&self) -> &[ParameterKind] {
        &self.kinds
    }

    /// Returns the parameters of the template and the guide as passed to [`new`](Self::new), without samples.
    pub fn own_parameters(&self) -> Vec<f64> {
        match &self.kind {
            RigKind::Force(force) => force.parameters(),
            RigKind::Muscle(muscle) => muscle.parameters(),
            RigKind::Sculpted(_) => SculptedRig::spec()
                .parameters
                .iter()
                .map(|p| p.default)
                .collect(),
        }
    }

    /// Returns η at a control γ: linear between samples, constant outside; the rig's own parameters without samples.
    /// NaN counts as below all samples.
    pub fn parameters(&self, gamma: f64) -> Vec<f64> {
        samples::interpolate(&self.samples, gamma).unwrap_or_else(|| self.own_parameters())
    }

    /// Returns η of the last sample, or the rig's own parameters without samples: the state displayed without a control.
    pub fn last_parameters(&self) -> Vec<f64> {
        self.parameters(f64::INFINITY)
    }

    /// Returns η with some parameters replaced by name.
    ///
    /// # Errors
    /// A name that the rig does not have, or a value that is not finite.
    pub fn replace_parameters<'a>(
        &self,
        mut eta: Vec<f64>,
        named: impl IntoIterator<Item = (&'a str, f64)>,
    ) -> Result<Vec<f64>, RigError> {
        for (name, value) in named {
            let at = self.names.iter().position(|&n| n == name);
            let at = at.ok_or_else(|| RigError::unknown_parameter(name, &self.names))?;
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

    /// Returns the template with the parameters η; checks the guide's parameters too.
    ///
    /// # Errors
    /// A wrong number of parameters, one that is not finite, or a radius that is not positive.
    pub fn template_at(&self, eta: &[f64]) -> Result<Template, RigError> {
        self.check_numbers(eta)?;
        self.force()?.template_at(eta)
    }

    /// Refuses parameters of another number, or that are not finite.
    fn check_numbers(&self, eta: &[f64]) -> Result<(), RigError> {
        if eta.len() != self.names.len() {
            return Err(RigError::Count {
                expected: self.names.len(),
                given: eta.len(),
            });
        }
        let mut named = self.names.iter().zip(eta);
        match named.find(|(_, value)| !is_sound(**value)) {
            Some((name, &value)) => Err(RigError::NonFinite { name, value }),
            None => Ok(()),
        }
    }

    /// Refuses parameters with which the rig has no field.
    fn check_parameters(&self, eta: &[f64]) -> Result<(), RigError> {
        self.check_numbers(eta)?;
        match &self.kind {
            RigKind::Force(force) => force.template_at(eta).map(drop),
            RigKind::Sculpted(_) => Ok(()),
            RigKind::Muscle(muscle) => muscle.check(eta),
        }
    }

    /// Returns the integral of the rig's forces over the flesh of a body at η; without a level, at the one that resolves the template.
    fn integral<'a>(
        &self,
        body: &'a Body,
        eta: &[f64],
        level: Option<u32>,
    ) -> Result<TemplateIntegral<'a>, RigError> {
        self.check_numbers(eta)?;
        self.force()?.integral(body, eta, level)
    }

    /// Returns the template's frame in rest space, and its motion with the guide's parameters.
    ///
    /// # Errors
    /// Parameters as in [`template_at`](Self::template_at); a bone or face that the body does not have.
    pub fn place(&self, body: &Body, eta: &[f64]) -> Result<GuidePlacement, RigError> {
        self.check_parameters(eta)?;
        self.force()?.place(body, eta)
    }

    /// Returns the template's frame in rest space.
    ///
    /// # Errors
    /// Errors of [`place`](Self::place).
    pub fn frame(&self, body: &Body, eta: &[f64]) -> Result<GuideFrame, RigError> {
        Ok(self.place(body, eta)?.frame)
    }

    /// Returns the level of the quadrature at η. A fit that compares forces of similar parameters keeps it fixed.
    ///
    /// # Errors
    /// Errors of [`template_at`](Self::template_at).
    pub fn level(&self, body: &Body, eta: &[f64]) -> Result<u32, RigError> {
        self.check_parameters(eta)?;
        self.force()?.level(body, eta)
    }

    /// Returns the range of radii (for a torus, of its tube) for which a level is selected, metres.
    pub(crate) fn level_radii(&self, body: &Body, level: u32) -> (f64, f64) {
        match &self.kind {
            RigKind::Force(force) => force.field().level_radii(body, level),
            RigKind::Sculpted(_) | RigKind::Muscle(_) => (0.0, f64::INFINITY),
        }
    }

    /// Returns one sentence for each reason why the rig cannot push this body; empty if it can.
    pub fn check(&self, body: &Body) -> Vec<String> {
        let name = &self.name;
        if let Ok(force) = self.force()
            && let Err(error) = force.place(body, &self.own_parameters())
        {
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
            let forces = self.forces_at_control(body, s.control, &s.parameters);
            let error = forces.err()?;
            Some(format!("Rig '{name}' at control {}: {error}.", s.control))
        };
        self.samples.iter().filter_map(problem).collect()
    }

    /// Returns the rig with the digits of files: of a sculpted one five, of others all.
    fn rounded(&self) -> Self {
        let kind = match &self.kind {
            RigKind::Force(_) | RigKind::Muscle(_) => return self.clone(),
            RigKind::Sculpted(sculpted) => RigKind::Sculpted(sculpted.rounded()),
        };
        Self {
            kind,
            ..self.clone()
        }
    }
}
