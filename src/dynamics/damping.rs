// SPDX-License-Identifier: MIT OR Apache-2.0
//! The damping at which flesh comes to rest as flesh does, whatever its size and softness.
//!
//! Rayleigh damping α M + β K takes `λ(ω) = α/2 + β ω²/2` per second from a swing of angular frequency ω. Wanted is that the body's
//! slowest swing, of frequency ω₀, has fallen to a twentieth after [`SWINGS`] of its own periods or after [`SECONDS`], whichever is sooner:
//!
//! ```text
//! λ₀ = ln 20 / min(SECONDS, SWINGS · 2π/ω₀),   β = TREMBLE / ω₀,   α = 2 λ₀ − β ω₀²
//! ```
//!
//! ω₀ is a Rayleigh quotient: of the displacements u that one g along an axis causes, `ω² = (u · M g)/(u · M u)`, the least of the
//! body's own three axes [rayleigh1877, §88]. Where all flesh yields alike by a part y of a size L, `ω₀² = g/(y L)`: in the middle of the dial
//! 2.6 Hz at two metres, 8 Hz at twenty centimetres.

use super::{Equilibrium, Method, Settings, SimulationError};
use crate::Vec3;
use crate::body::Body;
use crate::solve::NodeMatrix;
use std::f64::consts::TAU;
use std::sync::Arc;

/// Swings have fallen to a twentieth after so many seconds; a quarter of a swing passes between a stop and its farthest point, so
/// that this makes about a second and a quarter.
const SECONDS: f64 = 1.1;
/// The same in periods, which is sooner for what swings more than 4.5 times a second.
const SWINGS: f64 = 5.0;
/// β ω₀, without unit: twice the damping ratio that β gives the slowest swing. Of a body of two metres in the middle of the dial it makes
/// β 0.004 s, about what a backward Euler step of 1/240 s damps by itself: less would need shorter steps.
const TREMBLE: f64 = 0.066;

/// Displacements `[nodes]` (m) of a body in its rest pose by one g more along each of its own axes.
pub(super) fn deflections(body: &Arc<Body>) -> Result<[Vec<Vec3>; 3], SimulationError> {
    let mut balance = Equilibrium::new(body, Method::Warped)?;
    // With gravity as part of the rest shape the body is in balance without the extra pull.
    let mut along = |pull: Vec3| {
        let forces = weights(body, pull);
        balance.solve(Vec3::zeros(), Some(&forces), None)
    };
    let [x, y, z] = pulls(body);
    Ok([along(x)?, along(y)?, along(z)?])
}

/// One g along each of a body's own axes, m/s²: what is found with them stays as the body is turned about z.
fn pulls(body: &Body) -> [Vec3; 3] {
    let (heading, g) = (body.heading(), Settings::default().gravity.norm());
    [Vec3::x(), Vec3::y(), Vec3::z()].map(|axis| heading.to_given(&axis) * g)
}

/// Forces `[nodes]`, N, of an acceleration.
fn weights(body: &Body, pull: Vec3) -> Vec<Vec3> {
    let everywhere = vec![pull; body.nodes()];
    let nodes = 0..body.nodes();
    nodes
        .map(|v| body.mass_matrix().row_times(v, &everywhere))
        .collect()
}

/// Angular frequency of the body's slowest swing, rad/s; infinite where nothing yields.
fn slowest_swing(body: &Arc<Body>) -> Result<f64, SimulationError> {
    let mut slowest = f64::INFINITY;
    for (pull, u) in pulls(body).into_iter().zip(deflections(body)?) {
        let weights = weights(body, pull);
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
/// quarter, or within five of its periods where these are shorter.
///
/// Deviation from a constant α and β: both go with the body's own frequency, so that flesh of any size and softness comes to rest
/// alike. A body without free flesh has that of [`Settings::default`].
///
/// # Errors
/// A singular system.
pub fn default_damping(body: &Arc<Body>) -> Result<(f64, f64), SimulationError> {
    let omega = slowest_swing(body)?;
    if !(omega > 0.0 && omega.is_finite()) {
        let usual = Settings::default();
        return Ok((usual.mass_damping, usual.stiffness_damping));
    }
    let rate = 20f64.ln() / SECONDS.min(SWINGS * TAU / omega);
    let stiffness = TREMBLE / omega;
    Ok((2.0 * rate - stiffness * omega * omega, stiffness))
}
