// SPDX-License-Identifier: MIT OR Apache-2.0
//! Static equilibrium at a pose, and its inverse. [capell2006, §3.3, eq. 10 in cell form]
//!
//! `A q = b − A x + f_g + F` on the free vertices, bone vertices at their places: one factorisation. The nonlinear methods
//! minimise instead ([`super::nonlinear`]).

use super::system::{Load, System};
use super::{Frames, Method, SimulationError, check_forces, check_gravity, lost, nonlinear};
use crate::Vec3;
use crate::body::Body;
use crate::skeleton::Pose;

/// Displacements `q[dofs]` from rest (metres, world axes) at which the flesh is in balance at a pose, under
/// gravity (m/s²) and generalised forces (N, world axes; none = none).
///
/// # Errors
/// Forces of the wrong length or not finite, a pose that does not fit the skeleton, a singular system; for nonlinear
/// methods no convergence.
pub fn equilibrium(
    body: &Body,
    pose: &Pose,
    forces: Option<&[Vec3]>,
    gravity: Vec3,
    method: Method,
) -> Result<Vec<Vec3>, SimulationError> {
    check_method(method)?;
    check_gravity(gravity)?;
    check_forces(body, forces)?;
    let mut frames = Frames::new(body)?;
    frames.set(body, method, pose)?;
    let mut p = balanced(
        body,
        method,
        pose,
        &frames,
        &Load::new(body, gravity, forces),
    )?;
    for (p, x) in p.iter_mut().zip(body.lattice().vertices()) {
        *p -= x;
    }
    Ok(p)
}

/// The generalised forces (N, world axes; zero on bone vertices) that hold the flesh at displacements
/// `q[dofs]` at a pose: the inverse of [`equilibrium`] where q has its bone vertices in place.
///
/// # Errors
/// As [`equilibrium`].
pub fn equilibrium_forces(
    body: &Body,
    pose: &Pose,
    q: &[Vec3],
    gravity: Vec3,
    method: Method,
) -> Result<Vec<Vec3>, SimulationError> {
    check_method(method)?;
    check_gravity(gravity)?;
    check_forces(body, Some(q))?;
    let mut frames = Frames::new(body)?;
    frames.set(body, method, pose)?;
    if let Some(model) = method.model() {
        let load = Load::new(body, gravity, None);
        return Ok(nonlinear::forces_at(body, model, &frames, &load, q));
    }
    let mut system = System::new(body)?;
    let rest = body.lattice().vertices();
    let p: Vec<Vec3> = q.iter().zip(rest).map(|(q, x)| q + x).collect();
    system.set_forces(body, &frames, &Load::new(body, gravity, None), 1.0, &p);
    let mut forces = vec![Vec3::zeros(); body.dofs()];
    for (f, &v) in system.nodes.iter().zip(body.pattern().vertex_of_node()) {
        forces[v as usize] = -f;
    }
    Ok(forces)
}

/// Modes cannot take every shape: their balance is that of amplitudes.
fn check_method(method: Method) -> Result<(), SimulationError> {
    match method {
        Method::Modal => Err(SimulationError::ModalBalance),
        _ => Ok(()),
    }
}

/// Positions in balance by a method.
pub(super) fn balanced(
    body: &Body,
    method: Method,
    pose: &Pose,
    frames: &Frames,
    load: &Load,
) -> Result<Vec<Vec3>, SimulationError> {
    match method.model() {
        Some(model) => nonlinear::settled(body, (method, model), pose, frames, load),
        None => settled(body, frames, load),
    }
}

/// Positions in balance by the linearised methods.
pub(super) fn settled(
    body: &Body,
    frames: &Frames,
    load: &Load,
) -> Result<Vec<Vec3>, SimulationError> {
    let mut system = System::new(body)?;
    let mut p = frames.places.clone();
    system.factor(body, frames, 0.0, 1.0)?;
    system.set_forces(body, frames, load, 1.0, &p);
    system.solve();
    for (d, &v) in system.nodes.iter().zip(body.pattern().vertex_of_node()) {
        p[v as usize] += d;
    }
    lost(&p).map_or(Ok(p), Err)
}
