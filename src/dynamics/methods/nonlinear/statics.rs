// SPDX-License-Identifier: MIT OR Apache-2.0
//! Nonlinear static equilibrium of any body of [`Elements`]: tetrahedra or cells of a lattice.
//!
//! Newton's method starts from the prescribed positions of the fixed nodes at full load. Under compression St. Venant-Kirchhoff
//! flesh has minima with inverted pieces. If the first try ends in one or does not converge, two more follow: from the
//! balance of neo-Hookean flesh, and with the load increased in steps, each from the balance before it. The result is the one with
//! the fewest inverted pieces. Loads beyond the strength of St. Venant-Kirchhoff flesh leave some (a fibre pushes
//! back most at 58 % of its length).

use super::potential::{Balancer, ElasticDomain, Increment};
use crate::Vec3;
use crate::dynamics::SimulationError;
use crate::elasticity::{ElasticModel, Elements};
use crate::progress::{Progress, StageProgress};
use crate::solve::matrix::zeros;
use crate::solve::{Newton, NewtonError, Outcome, Pattern, ScalarMatrix};

/// Static balance of a body.
#[derive(Debug, Clone, PartialEq)]
pub struct Balance {
    /// Displacements `[nodes]`, m.
    pub displacements: Vec<Vec3>,
    /// Outcome of the last minimisation.
    pub outcome: Outcome,
    /// Number of inverted or flat pieces; zero unless the load is too large for the model.
    pub inverted: usize,
}

/// Returns the displacements at which elastic forces balance `forces[nodes]` (N, constant, world axes), with the `fixed` nodes at
/// their `prescribed[nodes]` displacements (m; `None`: zero). Entries of free nodes are the initial guess. `rest[nodes]` are the
/// rest positions, m.
///
/// # Errors
/// Arrays have another length or are not finite; no node is fixed; no element with volume holds a free node; nothing holds a part of
/// the body; Newton's method does not converge; a cancellation.
pub fn equilibrium(
    elements: &Elements,
    rest: &[Vec3],
    model: ElasticModel,
    (fixed, prescribed): (&[bool], Option<&[Vec3]>),
    forces: &[Vec3],
    options: &Newton,
    progress: &dyn Progress,
) -> Result<Balance, SimulationError> {
    let zero = vec![Vec3::zeros(); elements.node_count()];
    let prescribed = prescribed.unwrap_or(&zero);
    check(elements, rest, fixed, &[prescribed, forces])?;
    if !fixed.contains(&true) {
        return Err(SimulationError::NoSupport);
    }
    let mass: ScalarMatrix = zeros(elements.node_count(), elements.all_corners());
    let pattern = Pattern::new(elements.all_corners(), &mass, fixed, rest)?;
    let domain = ElasticDomain::new(elements, model, &pattern, &mass);
    let mut balancer = Balancer::new(&pattern, elements.node_count())?;
    let mut solve = |forces: &[Vec3], detour: bool, q: &mut [Vec3], progress: &dyn Progress| {
        let increment = Increment {
            forces,
            origin: rest,
            ..Increment::zero(&zero)
        };
        balancer.balance_or_detour(domain, increment, q, detour, options, progress)
    };
    let part = |from, to| StageProgress {
        whole: progress,
        from,
        to,
    };
    let mut found = Err(NewtonError::Start);
    for detour in [false, true] {
        if detour && model != ElasticModel::StVenantKirchhoff {
            break;
        }
        let mut q = prescribed.to_vec();
        let progress = if detour {
            part(0.3, 0.6)
        } else {
            part(0.0, 0.3)
        };
        let outcome = solve(forces, detour, &mut q, &progress);
        let next = outcome.map(|outcome| Balance::new(elements, q, outcome));
        found = choose_less_inverted(found, next);
        match &found {
            Ok(balance) if balance.inverted == 0 => return found.map_err(Into::into),
            Err(error) if !may_retry(error) => return found.map_err(Into::into),
            _ => {}
        }
    }
    let mut load = zero.clone();
    let stepped = follow_path(elements, zero.clone(), |from, to, q| {
        for (v, fixed) in fixed.iter().enumerate() {
            load[v] = forces[v] * to;
            q[v] = if *fixed {
                prescribed[v] * to
            } else {
                q[v] + prescribed[v] * (to - from)
            };
        }
        solve(&load, false, q, &part(0.6 + 0.4 * from, 0.6 + 0.4 * to))
    });
    choose_less_inverted(found, stepped).map_err(Into::into)
}

impl Balance {
    pub(super) fn new(elements: &Elements, displacements: Vec<Vec3>, outcome: Outcome) -> Self {
        Self {
            inverted: elements.inverted_piece_count(&displacements),
            displacements,
            outcome,
        }
    }
}

/// Returns the balance with fewer inverted pieces, or the first if they are equal.
pub(super) fn choose_less_inverted(
    first: Result<Balance, NewtonError>,
    second: Result<Balance, NewtonError>,
) -> Result<Balance, NewtonError> {
    match (first, second) {
        (_, Err(error @ NewtonError::Cancelled(_))) => Err(error),
        (Ok(a), Ok(b)) if b.inverted < a.inverted => Ok(b),
        (Err(_), second) => second,
        (first, _) => first,
    }
}

/// Length of the shortest part of a path: six halvings of the first one, a quarter. If it fails, so does the search.
const MIN_PATH_PART: f64 = 1.0 / 256.0;
/// Length down to which parts that invert flesh are shortened: three halvings of the first one, a quarter. A part of
/// this length is accepted even if it inverts flesh.
const MIN_REFINED_PART: f64 = 1.0 / 32.0;

/// Follows a balance along a path from 0 to 1: `solve(from, to, q)` takes `q` from balance at `from` to balance at `to`. Parts
/// that fail are halved.
pub(super) fn follow_path(
    elements: &Elements,
    start: Vec<Vec3>,
    mut solve: impl FnMut(f64, f64, &mut [Vec3]) -> Result<Outcome, NewtonError>,
) -> Result<Balance, NewtonError> {
    let mut q = start;
    let mut inverted = elements.inverted_piece_count(&q);
    let mut next = q.clone();
    let (mut at, mut length) = (0.0, 0.25);
    loop {
        let to = f64::min(at + length, 1.0);
        next.copy_from_slice(&q);
        let solved = solve(at, to, &mut next);
        let turned = elements.inverted_piece_count(&next);
        match solved {
            Ok(outcome) if turned <= inverted || length <= MIN_REFINED_PART => {
                std::mem::swap(&mut q, &mut next);
                (at, inverted) = (to, turned);
                length *= 2.0;
                if at >= 1.0 {
                    return Ok(Balance::new(elements, q, outcome));
                }
            }
            Err(error) if length <= MIN_PATH_PART || !may_retry(&error) => return Err(error),
            _ => length *= 0.5,
        }
    }
}

/// Returns whether a shorter part may succeed after this error.
fn may_retry(error: &NewtonError) -> bool {
    !matches!(error, NewtonError::Cancelled(_) | NewtonError::Solve(_))
}

/// Checks that arrays have one finite entry per node and that each free node is in an element with volume.
pub(super) fn check(
    elements: &Elements,
    rest: &[Vec3],
    fixed: &[bool],
    vectors: &[&[Vec3]],
) -> Result<(), SimulationError> {
    let expected = elements.node_count();
    let lengths = vectors.iter().map(|v| v.len());
    for given in lengths.chain([rest.len(), fixed.len()]) {
        if given != expected {
            return Err(SimulationError::Length { expected, given });
        }
    }
    for x in vectors.iter().chain([&rest]) {
        if let Some(index) = x.iter().position(|x| !x.iter().all(|x| x.is_finite())) {
            return Err(SimulationError::Vector { index });
        }
    }
    let mut attached = fixed.to_vec();
    for e in 0..elements.len() {
        if elements.pieces(e).any(|piece| piece.volume > 0.0) {
            for &v in elements.corners(e) {
                attached[v as usize] = true;
            }
        }
    }
    match attached.iter().position(|&a| !a) {
        Some(node) => Err(SimulationError::Unattached { node }),
        None => Ok(()),
    }
}
