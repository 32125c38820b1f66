// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rigs of the kind *force*: a template on a guide, and the integrals of its field over flesh.

use super::quadrature::FieldIntegrals;
use super::{Guide, GuideFrame, GuideMotion, GuidePlacement, RigError, Spec, Template};
use crate::Vec3;
use crate::body::Body;

/// A template on a guide. Its parameters are the template's, then the guide's.
#[derive(Debug, Clone, PartialEq)]
pub struct ForceRig {
    template: Template,
    guide: Guide,
}

/// Forces and their derivative by every parameter, `[nodes]` each.
type ForcesAndTangents = (Vec<Vec3>, Vec<Vec<Vec3>>);

impl ForceRig {
    pub(super) fn new(template: Template, guide: Guide) -> Self {
        Self { template, guide }
    }

    /// Returns the template with its own parameters.
    pub fn template(&self) -> &Template {
        &self.template
    }

    /// Returns the guide with its own parameters.
    pub fn guide(&self) -> &Guide {
        &self.guide
    }

    pub(super) fn field(&self) -> &'static dyn FieldIntegrals {
        self.template.kind().field()
    }

    /// Returns the tables of the template's and the guide's parameters.
    pub(super) fn parameter_specs(&self) -> [&'static Spec; 2] {
        [self.template.kind().spec(), self.guide.spec()]
    }

    pub(super) fn parameters(&self) -> Vec<f64> {
        [self.template.parameters(), self.guide.values()].concat()
    }

    /// Returns η of the template and of the guide.
    fn split_parameters<'a>(&self, eta: &'a [f64]) -> (&'a [f64], &'a [f64]) {
        eta.split_at(self.template.parameters().len().min(eta.len()))
    }

    pub(super) fn template_at(&self, eta: &[f64]) -> Result<Template, RigError> {
        Template::new(self.template.kind(), self.split_parameters(eta).0)
    }

    pub(super) fn place(&self, body: &Body, eta: &[f64]) -> Result<GuidePlacement, RigError> {
        self.guide.place(body, self.split_parameters(eta).1)
    }

    pub(super) fn level(&self, body: &Body, eta: &[f64]) -> Result<u32, RigError> {
        Ok(self
            .field()
            .resolving_level(body, self.template_at(eta)?.parameter_values()))
    }

    /// Returns how tense the rig makes the flesh of each cell at η, `[cells]`: γ times the mean of the template's window. `None`: the template
    /// lies outside the flesh.
    pub(super) fn tension(
        &self,
        body: &Body,
        gamma: f64,
        eta: &[f64],
    ) -> Result<Option<Vec<f64>>, RigError> {
        let shares = self.integral(body, eta, None)?.window_means();
        Ok(shares.map(|shares| shares.iter().map(|share| share * gamma).collect()))
    }

    /// Returns the integral at η; without a level, at the level that resolves the template.
    pub(super) fn integral<'a>(
        &self,
        body: &'a Body,
        eta: &[f64],
        level: Option<u32>,
    ) -> Result<TemplateIntegral<'a>, RigError> {
        let template = self.template_at(eta)?;
        let placed = self.place(body, eta)?;
        let resolving = || {
            self.field()
                .resolving_level(body, template.parameter_values())
        };
        let level = level.unwrap_or_else(resolving);
        Ok(TemplateIntegral {
            body,
            template,
            placed,
            level,
        })
    }
}

/// A template placed in the flesh of a body, with the level of its quadrature.
pub(super) struct TemplateIntegral<'a> {
    body: &'a Body,
    template: Template,
    placed: GuidePlacement,
    level: u32,
}

impl TemplateIntegral<'_> {
    fn field_and_frame(&self) -> (&'static dyn FieldIntegrals, &GuideFrame) {
        (self.template.kind().field(), &self.placed.frame)
    }

    /// Returns the approximate number of flesh points in the template: the cost of an integral.
    pub fn point_count(&self) -> f64 {
        let (field, _) = self.field_and_frame();
        field.point_count(self.body, self.level, self.template.parameter_values())
    }

    /// Returns the generalised forces `[nodes]`, N; `None` if the template lies outside the flesh.
    pub fn forces(&self) -> Result<Option<Vec<Vec3>>, RigError> {
        let mut out = vec![Vec3::zeros(); self.body.node_count()];
        let ((field, frame), p) = (self.field_and_frame(), self.template.parameter_values());
        let any = field.add_forces(self.body, self.level, p, frame, &mut out);
        check_finite(out.iter().flatten())?;
        Ok(any.then_some(out))
    }

    /// Returns the mean of the template's window over the flesh of each cell, `[cells]`; `None` if it lies outside the flesh.
    pub fn window_means(&self) -> Option<Vec<f64>> {
        let ((field, frame), p) = (self.field_and_frame(), self.template.parameter_values());
        field.window_means(self.body, self.level, p, frame)
    }

    /// Returns the derivative of `Σ field·Q` by every parameter.
    pub fn forces_vjp(&self, field: &[Vec3]) -> Result<Vec<f64>, RigError> {
        let ((own, frame), p) = (self.field_and_frame(), self.template.parameter_values());
        let sums = own.work_derivatives(self.body, self.level, p, frame, field);
        let sums = sums.ok_or(RigError::Outside)?;
        let of_template = &sums.by_parameter[..self.template.parameters().len()];
        let motions = self.placed.motions.iter();
        let of_guide =
            motions.map(|m| m.spin.dot(&sums.by_spin) + m.velocity.dot(&sums.by_velocity));
        let all: Vec<f64> = of_template.iter().copied().chain(of_guide).collect();
        check_finite(&all)?;
        Ok(all)
    }

    /// Returns the forces and their derivative by every parameter.
    pub fn tangents(&self) -> Result<ForcesAndTangents, RigError> {
        let ((field, frame), p) = (self.field_and_frame(), self.template.parameter_values());
        let tangents = field.force_tangents(self.body, self.level, p, frame);
        let tangents = tangents.ok_or(RigError::Outside)?;
        let of_motion = |m: &GuideMotion| -> Vec<Vec3> {
            let by = |v: usize| -> Vec3 {
                let axes = 0..3;
                axes.map(|a| {
                    tangents.by_spin[a][v] * m.spin[a] + tangents.by_velocity[a][v] * m.velocity[a]
                })
                .sum()
            };
            (0..self.body.node_count()).map(by).collect()
        };
        let of_guide: Vec<Vec<Vec3>> = self.placed.motions.iter().map(of_motion).collect();
        let of_template = tangents.by_parameter.into_iter();
        let own = self.template.parameters().len();
        let slopes: Vec<Vec<Vec3>> = of_template.take(own).chain(of_guide).collect();
        check_finite(slopes.iter().flatten().chain(&tangents.forces).flatten())?;
        Ok((tangents.forces, slopes))
    }
}

/// Refuses numbers that overflowed.
fn check_finite<'a>(numbers: impl IntoIterator<Item = &'a f64>) -> Result<(), RigError> {
    match numbers.into_iter().all(|x| x.is_finite()) {
        true => Ok(()),
        false => Err(RigError::Overflow),
    }
}
