// SPDX-License-Identifier: MIT OR Apache-2.0
//! Damping with which flesh comes to rest as real flesh does, at any size and softness.
//!
//! Rayleigh damping α M + β K damps a swing of angular frequency ω at the rate `λ(ω) = α/2 + β ω²/2`, 1/s. The body's slowest swing,
//! of frequency ω₀, should fall to a twentieth after [`SETTLING_PERIODS`] of its own periods or after [`SETTLING_SECONDS`], whichever is sooner:
//!
//! ```text
//! λ₀ = ln 20 / min(SETTLING_SECONDS, SETTLING_PERIODS · 2π/ω₀),   β = BETA_OMEGA / ω₀,   α = 2 λ₀ − β ω₀²
//! ```
//!
//! ω₀ is a Rayleigh quotient: for the displacements u under one g along an axis, `ω² = (u · M g)/(u · M u)`; the least over the
//! body's own three axes [rayleigh1877, §88]. If all flesh yields alike by a part y of a size L, `ω₀² = g/(y L)`: at the middle of the
//! dial 2.6 Hz at two metres, 8 Hz at twenty centimetres.

use super::settings::DEFAULT_DAMPING;
use super::{Equilibrium, Method, SimulationError, SimulationSettings};
use crate::Vec3;
use crate::body::Body;
use crate::solve::NodeMatrix;
use std::f64::consts::TAU;
use std::sync::Arc;

/// Time in which swings fall to a twentieth, s. A quarter of a swing passes between a stop and its farthest point, so that this makes
/// about a second and a quarter.
const SETTLING_SECONDS: f64 = 1.1;
/// Number of periods in which swings fall to a twentieth; the sooner limit for swings above 4.5 Hz.
const SETTLING_PERIODS: f64 = 5.0;
/// β ω₀, dimensionless: twice the damping ratio that β gives the slowest swing. A body of two metres at the middle of the dial gets
/// β = 0.004 s, about the numerical damping of a backward Euler step of 1/240 s: less would need shorter steps.
const BETA_OMEGA: f64 = 0.066;

/// Returns displacements `[nodes]` (m) of a body in its rest pose under one additional g along each of its own axes.
pub(super) fn deflections(body: &Arc<Body>) -> Result<[Vec<Vec3>; 3], SimulationError> {
    let mut balance = Equilibrium::new(body, Method::Warped)?;
    // Gravity is part of the rest shape: the body is in balance without the extra pull.
    let mut along = |pull: Vec3| {
        let forces = acceleration_forces(body, pull);
        balance.solve(Vec3::zeros(), Some(&forces), None)
    };
    let [x, y, z] = axis_accelerations(body);
    Ok([along(x)?, along(y)?, along(z)?])
}

/// Returns one g along each of a body's own axes, m/s². Results with them do not depend on a rotation of the body about z.
fn axis_accelerations(body: &Body) -> [Vec3; 3] {
    let (heading, g) = (body.heading(), SimulationSettings::default().gravity.norm());
    [Vec3::x(), Vec3::y(), Vec3::z()].map(|axis| heading.to_given(&axis) * g)
}

/// Returns the forces `[nodes]`, N, of a uniform acceleration.
fn acceleration_forces(body: &Body, pull: Vec3) -> Vec<Vec3> {
    let everywhere = vec![pull; body.node_count()];
    let nodes = 0..body.node_count();
    nodes
        .map(|v| body.mass_matrix().row_times(v, &everywhere))
        .collect()
}

/// Returns the angular frequency of the body's slowest swing, rad/s; infinite if nothing yields.
fn slowest_swing(body: &Arc<Body>) -> Result<f64, SimulationError> {
    let mut slowest = f64::INFINITY;
    for (pull, u) in axis_accelerations(body).into_iter().zip(deflections(body)?) {
        let weights = acceleration_forces(body, pull);
        let (mut work, mut motion) = (0.0, 0.0);
        for (v, u_v) in u.iter().enumerate() {
            work += u_v.dot(&weights[v]);
            motion += u_v.dot(&body.mass_matrix().row_times(v, &u));
        }
        if motion > 0.0 {
            slowest = slowest.min((work / motion).sqrt());
        }
    }
    Ok(slowest)
}

/// Returns the damping (α in 1/s, β in s) at which the slowest swing of a body falls to a twentieth within about a second and a
/// quarter, or within five of its periods if these are shorter.
///
/// Deviation from a constant α and β: both scale with the body's own frequency, so that flesh of any size and softness comes to
/// rest alike. A body without free flesh gets `DEFAULT_DAMPING`.
///
/// # Errors
/// The system is singular.
pub fn default_damping(body: &Arc<Body>) -> Result<(f64, f64), SimulationError> {
    let omega = slowest_swing(body)?;
    if !(omega > 0.0 && omega.is_finite()) {
        return Ok(DEFAULT_DAMPING);
    }
    let rate = 20f64.ln() / SETTLING_SECONDS.min(SETTLING_PERIODS * TAU / omega);
    let stiffness = BETA_OMEGA / omega;
    Ok((2.0 * rate - stiffness * omega * omega, stiffness))
}

impl SimulationSettings {
    /// Returns the settings with the damping of a body in place of a damping that is `None`.
    ///
    /// # Errors
    /// The system of the body is singular.
    pub fn for_body(mut self, body: &Arc<Body>) -> Result<Self, SimulationError> {
        if self.mass_damping.is_none() || self.stiffness_damping.is_none() {
            let usual = default_damping(body)?;
            self.mass_damping.get_or_insert(usual.0);
            self.stiffness_damping.get_or_insert(usual.1);
        }
        Ok(self)
    }
}
