// SPDX-License-Identifier: MIT OR Apache-2.0
//! The lattice's part of a joint's shape: displacements that restore the volume of flesh where bones bend it.
//!
//! Bones carry lattice vertices to T(x). Flesh then loses some volume on the inner side of a joint and gains some on the outer.
//! The displacements u that restore it minimise, over the pieces c of flesh,
//!
//! ```text
//! Σ V_c [ ½ |∇u|² / s_c² + φ_c ψ(J_c) ],   ψ'(J) = κ w(J) (J − 1),   J_c = det ∇(T + u) / s_c³
//! ```
//!
//! with V_c the volume of flesh in a piece and s_c the bones' stretch of it. A bend itself costs nothing, so nothing pulls the outer side
//! in. T loses more volume in large cells than the skin by dual quaternions does, about as much as smoothing removes. In a cell that
//! flesh hardly fills (a finger) T does not represent the skin's loss, and φ_c, from 0 to 1, leaves it out. With ∇ of dual
//! quaternions at the middle of each cell's flesh in place of ∇T thin limbs in large cells swell less too, but the outer side of
//! twelve joints of humans reached 0.81 of that at rest in place of 0.90, and the sharpest folds had 71° in place of 63.
//!
//! u is the result of [`GAUSS_NEWTON_STEPS`] undamped Gauss-Newton steps from u = 0; it is 0 at held vertices. The result depends on the pose alone
//! and is smooth in it. A minimum searched for until convergence pops from one fold to another. Each step assembles and factors a
//! matrix of the lattice's pattern, which is positive definite as long as bones hold the flesh.

use super::skinned::carried_position;
use super::{SimulationError, position_error};
use crate::body::Body;
use crate::geometry::matrix::cofactor;
use crate::lattice::Cell;
use crate::skeleton::{BonePoses, Pose};
use crate::solve::SparseCholesky;
use crate::{Mat3, Vec3};

/// Gauss-Newton steps from u = 0. Four to six leap by up to 3.7 % of the body's size a frame in clips; three by 2 %.
const GAUSS_NEWTON_STEPS: usize = 3;
/// κ, weight of volume against gradients. With half the value an arm bent by 112° loses 1.2 % of its volume instead of 0.6, with twice 0.1, but
/// leaps by 0.97 % of the size in 8° instead of 0.82.
const VOLUME_WEIGHT: f64 = 4.0;
/// w of flesh with more volume than at rest: stretched skin may gain volume, compressed skin must not lose it. With half the value a person's
/// elbow at 102° gains 10 % of a ball as wide as the joint instead of 0.6, with twice it loses 5.5.
const SWOLLEN_WEIGHT: f64 = 0.4;
/// Range of J over which w passes from 1 to [`SWOLLEN_WEIGHT`]. With half the value the elbow gains 3 %, with twice it loses 2; the arm's volume
/// changes by 0.2 %.
const TRANSITION_WIDTH: f64 = 0.1;
/// J below which w grows, up to [`CRUSHED_WEIGHT`] times at J = 0. With half of either value the arm loses 0.7 % instead of 0.6; with twice the
/// values it leaps by 0.95 and 1.07 % of the size instead of 0.82.
const CRUSHING_VOLUME: f64 = 0.3;
const CRUSHED_WEIGHT: f64 = 3.0;
/// Upper limit of |J − 1| in the pressure: inverted flesh pushes no harder. With half the value an arm bent by 112° loses 1.1 % of its volume
/// instead of 0.6, with twice 0.9.
const MAX_VOLUME_CHANGE: f64 = 0.6;
/// Shares of a cell filled by flesh at which φ leaves 0 and reaches 1. With fingers and wrists included, hands lose or gain 0.29 of their
/// volume where they bend, without them 0.19; with more left out, knees fold sharply.
const FILLED_SHARES: (f64, f64) = (0.1, 0.4);
/// Smallest stretch of a piece by bones, so that bones scaled to zero give finite numbers. A thousandth is far below any intended stretch.
const MIN_STRETCH: f64 = 1e-3;

/// Solver for u.
pub(super) struct VolumeBalance {
    /// φ of each cell.
    heeded: Vec<f64>,
    bones: BonePoses,
    solver: SparseCholesky,
    /// Negative gradient, then step, of each free node.
    nodes: Vec<Vec3>,
    /// Gradient by all lattice vertices.
    gradient: Vec<Vec3>,
}

impl VolumeBalance {
    pub fn new(body: &Body) -> Result<Self, SimulationError> {
        let pattern = body.pattern();
        Ok(Self {
            heeded: volume_weights(body),
            bones: BonePoses::new(body.skeleton(), &Pose::rest(body.skeleton().len()))?,
            solver: SparseCholesky::new(pattern.symbolic().clone())?,
            nodes: vec![Vec3::zeros(); pattern.vertex_of_node().len()],
            gradient: vec![Vec3::zeros(); body.node_count()],
        })
    }

    /// Returns u `[nodes]`, metres, world axes, of a body at a pose.
    pub fn solve(&mut self, body: &Body, pose: &Pose) -> Result<Vec<Vec3>, SimulationError> {
        let (pose, scale) = pose.remove_scale();
        self.bones.set(body.skeleton(), &pose)?;
        let flesh = CarriedFlesh {
            body,
            carried: carried_gradients(body, &carried_positions(body, &self.bones, &pose)),
            stretches: cell_stretches(body, &pose),
            heeded: &self.heeded,
        };
        let mut u = vec![Vec3::zeros(); body.node_count()];
        for _ in 0..GAUSS_NEWTON_STEPS {
            self.solver.clear();
            flesh.linearise(&u, &mut self.gradient, Some(&mut self.solver));
            let free = body.pattern().vertex_of_node();
            for (node, &v) in self.nodes.iter_mut().zip(free) {
                *node = -self.gradient[v as usize];
            }
            self.solver.factor()?;
            self.solver.solve(&mut self.nodes);
            for (d, &v) in self.nodes.iter().zip(free) {
                u[v as usize] += d;
            }
        }
        u.iter_mut().for_each(|u| *u *= scale);
        position_error(&u).map_or(Ok(u), Err)
    }
}

/// Returns T(x) of the lattice vertices, `[nodes]`.
fn carried_positions(body: &Body, bones: &BonePoses, pose: &Pose) -> Vec<Vec3> {
    let rest = body.rest_shape().iter().enumerate();
    rest.map(|(v, x)| carried_position(body, bones, pose, v, *x))
        .collect()
}

/// Returns ∇T of each piece if the bones carry the lattice vertices to `places`.
fn carried_gradients(body: &Body, places: &[Vec3]) -> Vec<Mat3> {
    let elements = body.elements();
    let mut all = Vec::new();
    for e in 0..elements.len() {
        let corners = elements.corners(e);
        all.extend(elements.pieces(e).map(|piece| -> Mat3 {
            let corners = corners.iter().zip(piece.gradients);
            corners
                .map(|(&a, g)| places[a as usize] * g.transpose())
                .sum()
        }));
    }
    all
}

/// Returns the stretch of each cell by the bones: the cube root of the factor by which they multiply its volume.
fn cell_stretches(body: &Body, pose: &Pose) -> Vec<f64> {
    let volumes: Vec<f64> = pose
        .maps()
        .iter()
        .map(|map| map.linear.determinant())
        .collect();
    let weights = body.cell_weights();
    let stretch = |c| {
        let (mut sum, mut total) = (0.0, 0.0);
        for (bone, weight) in weights.row(c) {
            sum += volumes[bone as usize] * weight;
            total += weight;
        }
        let stretch: f64 = if total > 0.0 { sum / total } else { 1.0 };
        stretch.cbrt().abs().max(MIN_STRETCH).copysign(stretch)
    };
    (0..body.elements().len()).map(stretch).collect()
}

/// Returns φ of each element, from the share of its cell that flesh fills.
fn volume_weights(body: &Body) -> Vec<f64> {
    let (lattice, elements, basis) = (body.lattice(), body.elements(), body.basis());
    let of = |(c, cell): (u32, &Cell)| {
        let corners = lattice.corners(c);
        let pieces = basis.elements(c).flat_map(|e| elements.pieces(e as usize));
        let flesh: f64 = pieces.map(|piece| piece.volume).sum();
        let share = flesh / cell.volume(&corners).abs().max(f64::MIN_POSITIVE);
        let (from, to) = FILLED_SHARES;
        let part = ((share - from) / (to - from)).clamp(0.0, 1.0);
        std::iter::repeat_n(part * part * (3.0 - 2.0 * part), basis.elements(c).len())
    };
    (0u32..).zip(lattice.cells()).flat_map(of).collect()
}

/// Flesh carried by bones at a pose.
struct CarriedFlesh<'a> {
    body: &'a Body,
    /// ∇T of each piece.
    carried: Vec<Mat3>,
    /// s and φ of each cell.
    stretches: Vec<f64>,
    heeded: &'a [f64],
}

impl CarriedFlesh<'_> {
    /// Computes the energy's gradient at u by all lattice vertices, and adds the Gauss-Newton matrix to `solver`.
    fn linearise(
        &self,
        u: &[Vec3],
        gradient: &mut [Vec3],
        mut solver: Option<&mut SparseCholesky>,
    ) {
        gradient.fill(Vec3::zeros());
        let (elements, slots) = (self.body.elements(), self.body.pattern().pair_slots());
        let (mut first, mut carried) = (0, self.carried.iter());
        for (e, (s, heeded)) in self.stretches.iter().zip(self.heeded).enumerate() {
            let corners = elements.corners(e);
            for piece in elements.pieces(e) {
                let mut h = Mat3::zeros();
                for (&a, g) in corners.iter().zip(piece.gradients) {
                    h += u[a as usize] * g.transpose();
                }
                let Some(carried) = carried.next() else {
                    return;
                };
                let f = (carried + h) / *s;
                let cofactor = cofactor(&f) / *s;
                let (force, stiffness) = pressure(f.determinant());
                let (force, stiffness) = (force * heeded, stiffness * heeded);
                let plain = piece.volume / (s * s);
                let stress = h * plain + cofactor * (force * piece.volume);
                for (&a, g) in corners.iter().zip(piece.gradients) {
                    gradient[a as usize] += stress * g;
                }
                let Some(solver) = solver.as_deref_mut() else {
                    continue;
                };
                let mut pair = first;
                for (i, ga) in piece.gradients.iter().enumerate() {
                    let along = cofactor * ga * (stiffness * piece.volume);
                    for gb in &piece.gradients[i..] {
                        if let Some(slot) = slots[pair] {
                            solver.add(slot, &(along * (cofactor * gb).transpose()));
                            solver.add_scalar(slot, plain * ga.dot(gb));
                        }
                        pair += 1;
                    }
                }
            }
            first += corners.len() * (corners.len() + 1) / 2;
        }
    }
}

/// Returns ψ' at a relative volume J, and its derivative as the Gauss-Newton step takes it.
fn pressure(j: f64) -> (f64, f64) {
    let swollen = 0.5 * (1.0 + ((j - 1.0) / TRANSITION_WIDTH).tanh());
    let crushed = ((CRUSHING_VOLUME - j) / CRUSHING_VOLUME).clamp(0.0, 1.0);
    let weight =
        (1.0 + (SWOLLEN_WEIGHT - 1.0) * swollen) * (1.0 + (CRUSHED_WEIGHT - 1.0) * crushed);
    let stiffness = VOLUME_WEIGHT * weight;
    (
        stiffness * (j - 1.0).clamp(-MAX_VOLUME_CHANGE, MAX_VOLUME_CHANGE),
        stiffness,
    )
}

#[cfg(test)]
mod tests;
