// SPDX-License-Identifier: MIT OR Apache-2.0
//! Minimiser of the flesh of one body, in nodal functions where it has details.

use super::potential::{Balancer, ElasticDomain, Increment};
use crate::Vec3;
use crate::body::{Body, NodalForm};
use crate::elasticity::ElasticModel;
use crate::progress::Progress;
use crate::solve::{Newton, NewtonError, Outcome, SolveError};
use std::sync::Arc;

/// A [`Balancer`] with vectors of the body's own functions.
pub(super) struct BodyBalancer {
    /// Nodal functions in which it minimises; `None`: in the body's own.
    form: Option<Arc<NodalForm>>,
    balancer: Balancer,
    /// Displacements, z, w and f in nodal functions.
    displacements: Vec<Vec3>,
    inertia: Vec<Vec3>,
    lag: Vec<Vec3>,
    forces: Vec<Vec3>,
}

impl BodyBalancer {
    /// Creates a minimiser, with all buffers.
    pub fn new(body: &Body) -> Result<Self, SolveError> {
        Self::with_form(body, body.nodal_form()?.cloned())
    }

    fn with_form(body: &Body, form: Option<Arc<NodalForm>>) -> Result<Self, SolveError> {
        let pattern = form.as_ref().map_or(body.pattern(), |form| &form.pattern);
        let values = vec![Vec3::zeros(); form.as_ref().map_or(0, |_| body.node_count())];
        Ok(Self {
            balancer: Balancer::new(pattern, body.node_count())?,
            form,
            displacements: values.clone(),
            inertia: values.clone(),
            lag: values.clone(),
            forces: values,
        })
    }

    /// Minimises as [`Balancer::balance_or_detour`] does.
    pub fn balance_or_detour(
        &mut self,
        (body, model): (&Body, ElasticModel),
        increment: Increment,
        q: &mut [Vec3],
        detour: bool,
        options: &Newton,
        progress: &dyn Progress,
    ) -> Result<Outcome, NewtonError> {
        if self.form.is_some() && !increment.terms.is_empty() {
            // Further terms know the body's own functions alone.
            *self = Self::with_form(body, None)?;
        }
        let Some(form) = &self.form else {
            let domain = ElasticDomain::of_body(body, model);
            return self
                .balancer
                .balance_or_detour(domain, increment, q, detour, options, progress);
        };
        let values = &form.values;
        values.to_values(q, &mut self.displacements);
        values.to_values(increment.inertia, &mut self.inertia);
        values.to_values(increment.lag, &mut self.lag);
        values.to_nodal_forces(increment.forces, &mut self.forces);
        let increment = Increment {
            inertia: &self.inertia,
            lag: &self.lag,
            forces: &self.forces,
            ..increment
        };
        let domain = ElasticDomain {
            twist: Some(&form.twist),
            ..ElasticDomain::new(&form.elements, model, &form.pattern, &form.mass)
        };
        let displacements = &mut self.displacements;
        let outcome = self.balancer.balance_or_detour(
            domain,
            increment,
            displacements,
            detour,
            options,
            progress,
        );
        values.to_coefficients(displacements, q);
        outcome
    }
}
