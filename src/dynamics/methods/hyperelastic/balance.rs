// SPDX-License-Identifier: MIT OR Apache-2.0
//! Static balance of the sway at a pose, and the forces that hold a sway.

use crate::body::Body;
use crate::dynamics::forces::Load;
use crate::dynamics::methods::nonlinear::{Balancer, EIGENVALUE_FLOOR, ElasticDomain, Increment};
use crate::dynamics::methods::step_space::StepSpace;
use crate::dynamics::{SimulationError, SkinnedLattice};
use crate::elasticity::{Elastic, ElasticModel, Elements, TangentChoice};
use crate::progress::Progress;
use crate::solve::{Configuration, EnergyTerm, Newton, NewtonError, NodeMatrix, Pattern};
use crate::{Mat3, Vec3};

/// Elastic energy of the flesh.
pub(super) const MODEL: ElasticModel = ElasticModel::Yeoh;

/// Computes the non-elastic forces on flesh with a sway: gravity, external forces, and those of the twist.
pub(super) fn compute_loads(
    body: &Body,
    skinned: &SkinnedLattice,
    load: &Load,
    sway: &[Vec3],
    out: &mut [Vec3],
) {
    out.fill(Vec3::zeros());
    for (cell, turn) in body.blocks().iter().zip(&skinned.cell_turns) {
        let g = load.net_gravity(turn);
        for (&a, &w) in cell.nodes.iter().zip(cell.weight) {
            out[a as usize] += g * w;
        }
    }
    for (v, out) in out.iter_mut().enumerate() {
        *out -= body.twist_matrix().row_times(v, sway);
        if let Some(forces) = load.forces {
            *out += forces[v];
        }
    }
}

/// Returns the elastic energy of elements relative to their rotations.
pub(super) fn elastic_energy<'a>(
    elements: &'a Elements,
    pattern: &'a Pattern,
    turns: &'a [Mat3],
    tangent: TangentChoice,
) -> Elastic<'a> {
    Elastic {
        elements,
        model: MODEL,
        turns: Some(turns),
        slots: pattern.pair_slots(),
        tangent,
    }
}

/// Returns the flesh of a space with its energy relative to the rotations of its elements, for minimisations.
pub(super) fn elastic_domain<'a>(space: &StepSpace<'a>, turns: &'a [Mat3]) -> ElasticDomain<'a> {
    let tangent = TangentChoice::Exact(EIGENVALUE_FLOOR);
    ElasticDomain {
        elastic: elastic_energy(space.elements, space.pattern, turns, tangent),
        pattern: space.pattern,
        mass: space.mass,
        twist: Some(space.twist),
    }
}

/// Share of the balancing forces that may remain when the search for a balance stalls. The energy of flesh that a pose has
/// folded has kinks at which Newton's method goes back and forth. A residual of this size is invisible.
const STALL_TOLERANCE: f64 = 1e-3;

/// Returns the sway of the flesh in balance at a pose.
pub(in crate::dynamics) fn balance(
    body: &Body,
    skinned: &SkinnedLattice,
    load: &Load,
    progress: &dyn Progress,
) -> Result<Vec<Vec3>, SimulationError> {
    let (sway, left) = nearest_balance(body, skinned, load, progress)?;
    match left {
        Some(error) if !is_near_balance(&error) => Err(error.into()),
        _ => Ok(sway),
    }
}

/// Returns whether the residual is small enough to accept the result as a balance.
fn is_near_balance(error: &NewtonError) -> bool {
    let NewtonError::NotConverged {
        residual, wanted, ..
    } = error
    else {
        return false;
    };
    residual * Newton::default().tolerance <= STALL_TOLERANCE * wanted
}

/// Returns the sway nearest to balance found at a pose, and the error if it did not converge.
///
/// # Errors
/// As [`balance`], except for missing convergence.
pub(in crate::dynamics) fn nearest_balance(
    body: &Body,
    skinned: &SkinnedLattice,
    load: &Load,
    progress: &dyn Progress,
) -> Result<(Vec<Vec3>, Option<NewtonError>), SimulationError> {
    let zero = vec![Vec3::zeros(); body.node_count()];
    let (mut forces, mut sway) = (zero.clone(), zero.clone());
    compute_loads(body, skinned, load, &sway, &mut forces);
    // Further terms know the body's own functions alone.
    let form = match load.terms.is_empty() {
        true => body.nodal_form()?.cloned(),
        false => None,
    };
    let space = StepSpace::of(body, form.as_deref());
    if let Some(form) = &form {
        form.values.to_nodal_forces(&forces.clone(), &mut forces);
    }
    let increment = Increment {
        forces: &forces,
        terms: load.terms,
        origin: &skinned.places,
        ..Increment::zero(&zero)
    };
    let mut balancer = Balancer::new(space.pattern, body.node_count())?;
    let options = Newton::default();
    let mut turns = Vec::new();
    let turns = space.element_turns(&skinned.cell_turns, &mut turns);
    let domain = elastic_domain(&space, turns);
    let found = balancer.balance(domain, increment, &mut sway, &options, progress);
    if let Some(form) = &form {
        form.values.to_coefficients(&sway.clone(), &mut sway);
    }
    match found {
        Ok(_) => Ok((sway, None)),
        Err(error @ NewtonError::NotConverged { .. }) => Ok((sway, Some(error))),
        Err(error) => Err(error.into()),
    }
}

/// Returns the forces (N; zero on held vertices) that hold the flesh at a sway.
pub(in crate::dynamics) fn forces_at(
    body: &Body,
    skinned: &SkinnedLattice,
    load: &Load,
    sway: &[Vec3],
) -> Vec<Vec3> {
    let mut outer = vec![Vec3::zeros(); body.node_count()];
    compute_loads(body, skinned, load, sway, &mut outer);
    let mut forces = vec![Vec3::zeros(); body.node_count()];
    let at = Configuration {
        origin: Some(&skinned.places),
        displacements: sway,
        increment: None,
    };
    let turns = &skinned.cell_turns;
    elastic_energy(
        body.elements(),
        body.pattern(),
        turns,
        TangentChoice::Guarded,
    )
    .add_gradient(&at, &mut forces);
    for (v, (f, outer)) in forces.iter_mut().zip(&outer).enumerate() {
        *f = match body.bone_of_vertex()[v] {
            Some(_) => Vec3::zeros(),
            None => *f - outer,
        };
    }
    forces
}
