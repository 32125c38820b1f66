// SPDX-License-Identifier: MIT OR Apache-2.0
//! Nonlinear statics of a body with a skeleton.
//!
//! The rotation in f_g is the skeleton's, as in the other methods, so that the load has a potential.

use super::body_balancer::BodyBalancer;
use super::potential::Increment;
use super::statics::{Balance, choose_less_inverted, follow_path};
use crate::Vec3;
use crate::body::Body;
use crate::dynamics::forces::Load;
use crate::dynamics::methods::linear_balance::linear_balance;
use crate::dynamics::{Method, SimulationError, SkinnedLattice, position_error};
use crate::elasticity::ElasticModel;
use crate::progress::Progress;
use crate::skeleton::{FrameMotion, Pose};
use crate::solve::{Newton, NewtonError, NodeMatrix, Outcome};

/// Computes the non-elastic forces on flesh at displacements `q`: twist, gravity, external ones.
pub(in crate::dynamics) fn compute_loads(
    body: &Body,
    skinned: &SkinnedLattice,
    load: &Load,
    q: &[Vec3],
    out: &mut [Vec3],
) {
    out.copy_from_slice(&skinned.twist_loads);
    load.add_net_weight(body, skinned, out);
    let (twist, rest) = (body.twist_matrix(), body.rest_shape());
    for (v, out) in out.iter_mut().enumerate() {
        for i in twist.row_range(v) {
            let c = twist.indices()[i] as usize;
            *out -= (rest[c] + q[c]) * twist.data()[i];
        }
        if let Some(forces) = load.forces {
            *out += forces[v];
        }
    }
}

/// Returns the forces (N; zero on held vertices) that hold the flesh at displacements `q`.
pub(in crate::dynamics) fn forces_at(
    body: &Body,
    model: ElasticModel,
    skinned: &SkinnedLattice,
    load: &Load,
    q: &[Vec3],
) -> Vec<Vec3> {
    let mut outer = vec![Vec3::zeros(); body.node_count()];
    compute_loads(body, skinned, load, q, &mut outer);
    let mut forces = outer.clone();
    body.elements().gradient(model, q, &mut forces);
    for (v, (f, outer)) in forces.iter_mut().zip(&outer).enumerate() {
        *f = match body.bone_of_vertex()[v] {
            Some(_) => Vec3::zeros(),
            None => *f - outer,
        };
    }
    forces
}

/// Minimisations of one body at successive poses.
struct Settling<'a> {
    body: &'a Body,
    model: ElasticModel,
    progress: &'a dyn Progress,
    balancer: BodyBalancer,
    /// Zero on all nodes.
    zero: Vec<Vec3>,
    forces: Vec<Vec3>,
}

impl Settling<'_> {
    /// Minimises from the guess in `q`, with held vertices at the pose of `skinned`.
    fn solve(
        &mut self,
        skinned: &SkinnedLattice,
        load: &Load,
        detour: bool,
        q: &mut [Vec3],
    ) -> Result<Outcome, NewtonError> {
        let (body, rest) = (self.body, self.body.rest_shape());
        for v in body.held_vertices() {
            q[v as usize] = skinned.places[v as usize] - rest[v as usize];
        }
        compute_loads(body, skinned, load, q, &mut self.forces);
        let increment = Increment {
            forces: &self.forces,
            terms: load.terms,
            origin: rest,
            ..Increment::zero(&self.zero)
        };
        let (flesh, options) = ((body, self.model), Newton::default());
        self.balancer
            .balance_or_detour(flesh, increment, q, detour, &options, self.progress)
    }

    /// Follows the bones from rest to a pose, under a growing load.
    fn follow_bones(
        &mut self,
        method: Method,
        pose: &Pose,
        load: &Load,
    ) -> Result<Result<Balance, NewtonError>, SimulationError> {
        let (body, rest) = (self.body, self.body.rest_shape());
        let motion =
            FrameMotion::from_endpoints(body.skeleton(), &Pose::rest(pose.maps().len()), pose)?;
        let mut between = pose.clone();
        let (mut before, mut after) = (SkinnedLattice::new(body)?, SkinnedLattice::new(body)?);
        let mut share = self.zero.clone();
        let mut failed = None;
        let along = follow_path(body.elements(), self.zero.clone(), |from, to, q| {
            motion.write(from, &mut between);
            let set = before.set(body, method, &between);
            motion.write(to, &mut between);
            if let Err(error) = set.and_then(|()| after.set(body, method, &between)) {
                failed = Some(error);
                return Err(NewtonError::Start);
            }
            for (v, q) in q.iter_mut().enumerate() {
                *q = before.carry(&after, v, rest[v] + *q) - rest[v];
            }
            let given = load.forces.map(|forces| {
                let both = share.iter_mut().zip(forces);
                both.for_each(|(share, f)| *share = f * to);
                share.as_slice()
            });
            let load = Load {
                forces: given,
                ..*load
            };
            self.solve(&after, &load, false, q)
        });
        failed.map_or(Ok(along), Err)
    }
}

/// Returns the positions in balance at a pose. The search starts from the warped balance. If that fails or leaves flesh inverted, it
/// starts from the skin by way of neo-Hookean flesh, and then follows the bones from rest. The result has the fewest inverted pieces.
pub(in crate::dynamics) fn balanced_positions(
    body: &Body,
    (method, model): (Method, ElasticModel),
    (pose, skinned): (&Pose, &SkinnedLattice),
    load: &Load,
    progress: &dyn Progress,
) -> Result<Vec<Vec3>, SimulationError> {
    let rest = body.rest_shape();
    let zero = vec![Vec3::zeros(); body.node_count()];
    let mut settling = Settling {
        body,
        model,
        progress,
        balancer: BodyBalancer::new(body)?,
        forces: zero.clone(),
        zero,
    };
    let warped = linear_balance(body, Method::Warped, skinned, load)?;
    let detour = model == ElasticModel::StVenantKirchhoff;
    let mut found = Err(NewtonError::Start);
    for (guess, detour) in [(&warped, false), (&skinned.places, detour)] {
        let mut q: Vec<Vec3> = guess.iter().zip(rest).map(|(p, x)| p - x).collect();
        let next = settling
            .solve(skinned, load, detour, &mut q)
            .map(|outcome| Balance::new(body.elements(), q, outcome));
        found = choose_less_inverted(found, next);
        if let Err(NewtonError::Cancelled(stop)) = found {
            return Err(stop.into());
        }
        if found.as_ref().is_ok_and(|b| b.inverted == 0) {
            break;
        }
    }
    if !found.as_ref().is_ok_and(|b| b.inverted == 0) {
        found = choose_less_inverted(found, settling.follow_bones(method, pose, load)?);
    }
    let mut p = found?.displacements;
    for (p, x) in p.iter_mut().zip(rest) {
        *p += x;
    }
    position_error(&p).map_or(Ok(p), Err)
}
