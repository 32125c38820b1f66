// SPDX-License-Identifier: MIT OR Apache-2.0
//! Generalised forces of a rig of any kind at a control and parameters, and their derivatives.

use super::{Rig, RigError, RigKind, samples};
use crate::Vec3;
use crate::body::Body;

impl Rig {
    /// Returns the generalised forces `[nodes]`, N, in rest axes, before they turn with the flesh; of a sculpted rig those of its last
    /// sample.
    ///
    /// # Errors
    /// Errors of [`place`](Self::place); a template wholly outside the flesh; forces that overflow.
    pub fn forces(&self, body: &Body, eta: &[f64]) -> Result<Vec<Vec3>, RigError> {
        self.forces_at_control(body, f64::INFINITY, eta)
    }

    /// Returns the generalised forces `[nodes]`, N, in rest axes, with the parameters η. A sculpted rig takes its shapes around the
    /// control; the forces of a template depend on η alone.
    ///
    /// # Errors
    /// Errors of [`forces`](Self::forces); for a sculpted rig, a bone that the body's skeleton lacks.
    pub fn forces_at_control(
        &self,
        body: &Body,
        control: f64,
        eta: &[f64],
    ) -> Result<Vec<Vec3>, RigError> {
        let forces = self.forces_in_flesh(body, control, eta, None)?;
        forces.ok_or(RigError::Outside)
    }

    /// Returns the forces of [`forces_at_control`](Self::forces_at_control) for motions in which only some functions of a body with finer levels
    /// are active: `among[nodes]` flags those of all rigs together ([`functions`](Self::functions)). A sculpted rig makes its shape in its own
    /// functions, and acts on these and the flagged ones, so that shapes of several rigs add up. A template and a muscle act on the functions that
    /// they meet.
    ///
    /// # Errors
    /// Errors of [`forces_at_control`](Self::forces_at_control); flags of another number.
    pub fn forces_among(
        &self,
        body: &Body,
        control: f64,
        eta: &[f64],
        among: &[bool],
    ) -> Result<Vec<Vec3>, RigError> {
        if among.len() != body.node_count() {
            return Err(RigError::Field {
                expected: body.node_count(),
                given: among.len(),
            });
        }
        let forces = self.forces_in_flesh(body, control, eta, Some(among))?;
        forces.ok_or(RigError::Outside)
    }

    /// Returns the flag of each function of a body, `[nodes]`: whether the rig needs it. Those of level 0 always act. Finer ones are chosen so
    /// that the skin comes nearly as near to a sculpted shape as with all of them; a template needs those that its field meets at a sample, a muscle
    /// those that its points and the skin around it reach.
    ///
    /// # Errors
    /// Errors of [`forces`](Self::forces), except for a template outside the flesh.
    pub fn functions(&self, body: &Body) -> Result<Vec<bool>, RigError> {
        let coarse = body.basis().coarse_len();
        let mut flags: Vec<bool> = (0..body.node_count()).map(|a| a < coarse).collect();
        if let RigKind::Sculpted(sculpted) = &self.kind {
            sculpted.mark_functions(body, &mut flags)?;
            return Ok(flags);
        }
        for (control, eta) in self.states() {
            let forces = self.forces_in_flesh(body, control, &eta, None)?;
            for (flag, f) in flags.iter_mut().zip(forces.iter().flatten()) {
                *flag |= *f != Vec3::zeros();
            }
        }
        Ok(flags)
    }

    /// Returns the control and parameters of each sample; without samples, the rig's own parameters.
    pub(super) fn states(&self) -> Vec<(f64, Vec<f64>)> {
        let sampled = self.samples.iter();
        let states: Vec<_> = sampled.map(|s| (s.control, s.parameters.clone())).collect();
        match states.is_empty() {
            true => vec![(0.0, self.own_parameters())],
            false => states,
        }
    }

    /// Returns the forces of [`forces_at_control`](Self::forces_at_control), or of [`forces_among`](Self::forces_among) with flags; `None` for a
    /// template wholly outside the flesh.
    pub(super) fn forces_in_flesh(
        &self,
        body: &Body,
        control: f64,
        eta: &[f64],
        among: Option<&[bool]>,
    ) -> Result<Option<Vec<Vec3>>, RigError> {
        self.check_numbers(eta)?;
        match &self.kind {
            RigKind::Force(force) => force.integral(body, eta, None)?.forces(),
            RigKind::Muscle(muscle) => match muscle.forces(body, eta) {
                Err(RigError::Outside) => Ok(None),
                forces => forces.map(Some),
            },
            RigKind::Sculpted(sculpted) => {
                let mut sum = vec![Vec3::zeros(); body.node_count()];
                let Some((a, b, t)) = samples::bracket(&self.samples, control) else {
                    return Ok(Some(sum));
                };
                for (index, share) in [(a, 1.0 - t), (b, t)] {
                    if share != 0.0 {
                        let own = sculpted.forces(index, body, among)?;
                        let add = |(sum, f): (&mut Vec3, &Vec3)| *sum += f * (share * eta[0]);
                        sum.iter_mut().zip(own.iter()).for_each(add);
                    }
                }
                Ok(Some(sum))
            }
        }
    }

    /// Returns the forces of [`forces`](Self::forces) at a fixed level of the quadrature: C¹ in η.
    ///
    /// # Errors
    /// Errors of [`forces`](Self::forces); a sculpted rig.
    pub fn forces_at_level(
        &self,
        body: &Body,
        eta: &[f64],
        level: u32,
    ) -> Result<Vec<Vec3>, RigError> {
        let forces = self.integral(body, eta, Some(level))?.forces()?;
        forces.ok_or(RigError::Outside)
    }

    /// Adds the forces at a control to `out[nodes]`; adds nothing if the template lies outside the flesh.
    ///
    /// # Errors
    /// Errors of [`forces`](Self::forces), except for a template outside the flesh; a control that is not finite, or
    /// an array of another length. `out` is then unchanged.
    pub fn add_forces(&self, body: &Body, gamma: f64, out: &mut [Vec3]) -> Result<(), RigError> {
        self.add_forces_among(body, gamma, None, out)
    }

    /// Adds the forces of [`add_forces`](Self::add_forces), or those of [`forces_among`](Self::forces_among) with flags.
    ///
    /// # Errors
    /// Errors of [`add_forces`](Self::add_forces).
    pub(super) fn add_forces_among(
        &self,
        body: &Body,
        gamma: f64,
        among: Option<&[bool]>,
        out: &mut [Vec3],
    ) -> Result<(), RigError> {
        if !gamma.is_finite() {
            return Err(RigError::Control { value: gamma });
        }
        check_field(body, out)?;
        let eta = self.parameters(gamma);
        if let Some(own) = self.forces_in_flesh(body, gamma, &eta, among)? {
            out.iter_mut().zip(own).for_each(|(sum, f)| *sum += f);
        }
        Ok(())
    }

    /// Returns the derivative of `Σ_i field_i · Q_i`, with `field[nodes]`, by every parameter; of a sculpted rig at its last sample.
    ///
    /// # Errors
    /// Errors of [`forces`](Self::forces); a field of another length or not finite.
    pub fn forces_vjp(
        &self,
        body: &Body,
        eta: &[f64],
        field: &[Vec3],
    ) -> Result<Vec<f64>, RigError> {
        self.forces_vjp_at_control(body, f64::INFINITY, eta, field)
    }

    /// Returns the derivative of [`forces_vjp`](Self::forces_vjp) for the forces of [`forces_at_control`](Self::forces_at_control).
    ///
    /// # Errors
    /// Errors of [`forces_vjp`](Self::forces_vjp).
    pub fn forces_vjp_at_control(
        &self,
        body: &Body,
        control: f64,
        eta: &[f64],
        field: &[Vec3],
    ) -> Result<Vec<f64>, RigError> {
        check_field(body, field)?;
        match &self.kind {
            RigKind::Force(_) | RigKind::Muscle(_) => {
                self.integral(body, eta, None)?.forces_vjp(field)
            }
            RigKind::Sculpted(_) => {
                let whole = self.forces_at_control(body, control, &self.with_strength(eta, 1.0))?;
                Ok(vec![whole.iter().zip(field).map(|(f, w)| f.dot(w)).sum()])
            }
        }
    }

    /// Returns the derivative of [`forces_vjp`](Self::forces_vjp) at a fixed level: exact for
    /// [`forces_at_level`](Self::forces_at_level).
    ///
    /// # Errors
    /// Errors of [`forces_vjp`](Self::forces_vjp).
    pub fn forces_vjp_at_level(
        &self,
        body: &Body,
        eta: &[f64],
        level: u32,
        field: &[Vec3],
    ) -> Result<Vec<f64>, RigError> {
        check_field(body, field)?;
        self.integral(body, eta, Some(level))?.forces_vjp(field)
    }

    /// Returns the approximate number of flesh points in the rig's template at a level: the cost of an integral.
    pub(crate) fn point_count_at_level(
        &self,
        body: &Body,
        eta: &[f64],
        level: u32,
    ) -> Result<f64, RigError> {
        Ok(self.integral(body, eta, Some(level))?.point_count())
    }

    /// Returns the forces of [`forces_at_level`](Self::forces_at_level) and their exact derivative by every
    /// parameter, `[nodes]` each.
    ///
    /// # Errors
    /// Errors of [`forces`](Self::forces).
    pub fn tangents_at_level(
        &self,
        body: &Body,
        eta: &[f64],
        level: u32,
    ) -> Result<(Vec<Vec3>, Vec<Vec<Vec3>>), RigError> {
        self.integral(body, eta, Some(level))?.tangents()
    }
}

/// Returns the sum of the forces of rigs `[nodes]` at their controls; rigs outside the flesh add nothing.
///
/// # Errors
/// Numbers of controls and rigs that differ; errors of [`Rig::add_forces`], naming the rig.
pub fn sum_forces(rigs: &[Rig], body: &Body, controls: &[f64]) -> Result<Vec<Vec3>, RigError> {
    if rigs.len() != controls.len() {
        return Err(RigError::Controls {
            rigs: rigs.len(),
            given: controls.len(),
        });
    }
    let mut out = vec![Vec3::zeros(); body.node_count()];
    for (rig, &gamma) in rigs.iter().zip(controls) {
        rig.add_forces(body, gamma, &mut out)
            .map_err(|e| e.in_rig(rig.name()))?;
    }
    Ok(out)
}

pub(super) fn check_field(body: &Body, field: &[Vec3]) -> Result<(), RigError> {
    if field.len() != body.node_count() {
        return Err(RigError::Field {
            expected: body.node_count(),
            given: field.len(),
        });
    }
    match field.iter().position(|f| !f.iter().all(|x| x.is_finite())) {
        Some(dof) => Err(RigError::FieldNonFinite { dof }),
        None => Ok(()),
    }
}
