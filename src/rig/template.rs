// SPDX-License-Identifier: MIT OR Apache-2.0
//! Force-field templates: the table of kinds, and a kind with its parameters. [capell2006, §4.2]

use super::RigError;
use super::field::{ForceDerivatives, ParameterValues};
use super::quadrature::FieldIntegrals;
use super::{ParameterKind, Spec, fields};
use crate::Vec3;
use crate::range::is_sound;

/// Kinds of templates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TemplateKind {
    /// Pushes along Z.
    Bump,
    /// Pushes away from the centre.
    Radial,
    /// Squeezes along Z and widens across, as a muscle does.
    Bulge,
    /// Pushes away from a circle about Z: a lip, a nostril.
    Torus,
    /// Turns about Z.
    #[cfg(test)]
    Vortex,
}

impl TemplateKind {
    /// All kinds. The order is that of menus, whose numbers .blend files store: append only.
    pub const ALL: &[Self] = &[
        Self::Bump,
        Self::Radial,
        Self::Bulge,
        Self::Torus,
        #[cfg(test)]
        Self::Vortex,
    ];

    pub(super) fn field(self) -> &'static dyn FieldIntegrals {
        match self {
            Self::Bump => &fields::BumpField,
            Self::Radial => &fields::RadialField,
            Self::Bulge => &fields::BulgeField,
            Self::Torus => &fields::TorusField,
            #[cfg(test)]
            Self::Vortex => &fields::VortexField,
        }
    }

    /// Returns the kind's name, texts and parameters: lengths first, the strength last.
    pub fn spec(self) -> &'static Spec {
        self.field().spec()
    }

    /// Returns the kind's name in the interface.
    pub fn name(self) -> &'static str {
        self.spec().name
    }

    /// Returns the usual tilt of a guide at a bone, radians.
    pub fn tilt(self) -> f64 {
        self.field().tilt()
    }
}

impl std::str::FromStr for TemplateKind {
    type Err = RigError;

    fn from_str(name: &str) -> Result<Self, RigError> {
        let known = Self::ALL.iter().find(|kind| kind.name() == name);
        known
            .copied()
            .ok_or_else(|| RigError::Template { name: name.into() })
    }
}

/// A template with its parameters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Template {
    kind: TemplateKind,
    values: ParameterValues,
}

impl Template {
    /// Builds a template from its parameters in the order of [`TemplateKind::spec`], metres and N/m³.
    ///
    /// # Errors
    /// A wrong number of parameters, one that is not finite, a radius that is not positive, or a tube as thick as its
    /// ring.
    pub fn new(kind: TemplateKind, parameters: &[f64]) -> Result<Self, RigError> {
        let known = kind.spec().parameters;
        if parameters.len() != known.len() {
            return Err(RigError::Count {
                expected: known.len(),
                given: parameters.len(),
            });
        }
        let mut values = ParameterValues::default();
        for ((value, &given), p) in values.iter_mut().zip(parameters).zip(known) {
            let name = p.name;
            if !is_sound(given) {
                return Err(RigError::NonFinite { name, value: given });
            }
            if p.kind == ParameterKind::Radius && given <= 0.0 {
                return Err(RigError::Radius { name, value: given });
            }
            *value = given;
        }
        kind.field().check(&values)?;
        Ok(Self { kind, values })
    }

    /// Builds a template of usual proportions that reaches as far as `reach`, metres; strength in N/m³.
    ///
    /// # Errors
    /// Errors of [`new`](Self::new).
    pub fn with_reach(kind: TemplateKind, reach: f64, strength: f64) -> Result<Self, RigError> {
        let lengths = kind
            .field()
            .usual_proportions()
            .iter()
            .map(|part| part * reach);
        Self::new(kind, &lengths.chain([strength]).collect::<Vec<_>>())
    }

    /// Returns the kind.
    pub fn kind(&self) -> TemplateKind {
        self.kind
    }

    /// Returns the parameters, in the order of [`TemplateKind::spec`].
    pub fn parameters(&self) -> &[f64] {
        &self.values[..self.kind.spec().parameters.len()]
    }

    pub(super) fn parameter_values(&self) -> &ParameterValues {
        &self.values
    }

    /// Returns the largest force, N/m³; negative for a reversed force.
    pub fn strength(&self) -> f64 {
        self.values[self.parameters().len() - 1]
    }

    /// Returns the distance from the frame's origin beyond which the force is zero, metres.
    pub fn support_radius(&self) -> f64 {
        self.kind.field().reach(&self.values)
    }

    /// Returns the radius over which the force varies, metres; a quadrature has to resolve it.
    pub fn radius(&self) -> f64 {
        self.values[self.kind.field().resolved_index()]
    }

    /// Returns the depth of flesh that the template fills below a skin, metres.
    pub fn depth(&self) -> f64 {
        self.kind.field().depth(&self.values)
    }

    /// Returns the signed distance from a point of the frame to the support of the force, metres; negative inside.
    pub fn distance(&self, y: &Vec3) -> f64 {
        self.kind.field().distance(&self.values, y)
    }

    /// Returns the force at a point of the frame, N/m³; zero outside the support.
    pub fn force(&self, y: &Vec3) -> Vec3 {
        self.kind.field().force(&self.values, y).unwrap_or_default()
    }

    /// Returns the force and its derivatives at a point of the frame; `None` outside the support.
    pub fn derivatives(&self, y: &Vec3) -> Option<ForceDerivatives> {
        self.kind.field().derivatives(&self.values, y)
    }

    /// Returns line segments that show the support and the directions of the force, in the frame, metres.
    pub fn outline(&self) -> Vec<[Vec3; 2]> {
        self.kind.field().outline(&self.values)
    }
}

#[cfg(test)]
mod tests;
