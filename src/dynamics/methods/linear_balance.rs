// SPDX-License-Identifier: MIT OR Apache-2.0
//! Static balance by a method whose forces are linear in the positions.

use crate::Vec3;
use crate::body::Body;
use crate::dynamics::forces::Load;
use crate::dynamics::methods::further::LinearisedTerms;
use crate::dynamics::methods::system::LinearSystem;
use crate::dynamics::{Method, SimulationError, SkinnedLattice, Solver, position_error};

/// Returns the positions in balance by a method with linear forces.
pub(in crate::dynamics) fn linear_balance(
    body: &Body,
    method: Method,
    skinned: &SkinnedLattice,
    load: &Load,
) -> Result<Vec<Vec3>, SimulationError> {
    let mut system = LinearSystem::new(body, method, Solver::Factor)?;
    solve_balance(&mut system, body, skinned, load)
}

/// Returns the positions in balance by a system: one Newton step from the skinned shape, exact as forces are linear. Further
/// terms are linearised there.
pub(in crate::dynamics) fn solve_balance(
    system: &mut LinearSystem,
    body: &Body,
    skinned: &SkinnedLattice,
    load: &Load,
) -> Result<Vec<Vec3>, SimulationError> {
    solve_from_carried(system, body, skinned, load, false)
}

/// Returns the positions in balance of flesh whose sway about the carried shape is linear, as [`solve_balance`] does.
pub(in crate::dynamics) fn solve_sway_balance(
    system: &mut LinearSystem,
    body: &Body,
    skinned: &SkinnedLattice,
    load: &Load,
) -> Result<Vec<Vec3>, SimulationError> {
    solve_from_carried(system, body, skinned, load, true)
}

/// Takes one Newton step from the carried shape, at which a `sway` has no elastic forces.
fn solve_from_carried(
    system: &mut LinearSystem,
    body: &Body,
    skinned: &SkinnedLattice,
    load: &Load,
    sway: bool,
) -> Result<Vec<Vec3>, SimulationError> {
    let mut p = skinned.places.clone();
    let further = LinearisedTerms {
        terms: load.terms,
        positions: &skinned.places,
        factor: 1.0,
    };
    system.prepare(body, skinned, 0.0, 1.0, &further)?;
    match sway {
        true => system.set_sway_forces(body, skinned, load, 1.0, &vec![Vec3::zeros(); p.len()]),
        false => system.set_forces(body, skinned, load, 1.0, &p),
    }
    system.add_further_forces(body, &further, 1.0);
    system.solve(body, &further)?;
    for (d, &v) in system.nodes.iter().zip(body.pattern().vertex_of_node()) {
        p[v as usize] += d;
    }
    position_error(&p).map_or(Ok(p), Err)
}
