// SPDX-License-Identifier: MIT OR Apache-2.0
//! Nonlinear statics and implicit steps of a body with a skeleton.
//!
//! A step is backward Euler, as in [`crate::dynamics::methods::warped`]: held vertices at the pose, gravity less that of the rest shape
//! (the sculpt sags already), twist energy, and damping relative to flesh that is frozen to its bones during the step:
//!
//! ```text
//! M (v' − v)/h + (α M + β K)(v' − v_skin) + ∇V(q') + Mt p' = t + f_g + F,   p' = x + q' = p + h v'
//! ```
//!
//! with K the stiffness of the carried flesh, projected to be positive semi-definite, and β reduced by h, the numerical damping of
//! backward Euler. Newton's method starts from the carried flesh: moved rigidly with its bones, it is no more deformed than
//! before. If this does not converge or inverts pieces, it starts again by way of neo-Hookean flesh, then from the skinned
//! shape.
//!
//! The rotation in f_g is the skeleton's, as in the other methods, so that the load has a potential.

use super::super::{Method, SimulationError, SkinnedLattice, equilibrium, lost};
use super::STEP;
use super::potential::{Balancer, Domain, FLOOR, Increment};
use super::statics::{Balance, better, follow};
use crate::Vec3;
use crate::body::Body;
use crate::dynamics::forces::Load;
use crate::dynamics::methods::stepper::{NodalState, Step, Stepper};
use crate::elasticity::{Elastic, Model, Tangent};
use crate::progress::Progress;
use crate::skeleton::{FrameMotion, Pose};
use crate::solve::{Newton, NewtonError, NodeMatrix, SolveError};

fn domain(body: &Body, model: Model) -> Domain<'_> {
    Domain {
        elastic: Elastic {
            elements: body.elements(),
            model,
            turns: None,
            slots: body.pattern().pair_slots(),
            tangent: Tangent::Exact(FLOOR),
        },
        pattern: body.pattern(),
        mass: body.mass_matrix(),
        twist: Some(body.twist_matrix()),
    }
}

/// Computes the non-elastic forces on flesh at displacements `q`: twist, gravity, external ones.
fn loads(body: &Body, skinned: &SkinnedLattice, load: &Load, q: &[Vec3], out: &mut [Vec3]) {
    out.copy_from_slice(&skinned.twist_loads);
    load.add_net_weight(body, skinned, out);
    let (twist, rest) = (body.twist_matrix(), body.lattice().vertices());
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
pub(in super::super) fn forces_at(
    body: &Body,
    model: Model,
    skinned: &SkinnedLattice,
    load: &Load,
    q: &[Vec3],
) -> Vec<Vec3> {
    let mut outer = vec![Vec3::zeros(); body.node_count()];
    loads(body, skinned, load, q, &mut outer);
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

/// Returns the positions in balance at a pose. The search starts from the warped balance. If that fails or leaves flesh inverted, it
/// starts from the skin by way of neo-Hookean flesh, and then follows the bones from rest. The result has the fewest inverted pieces.
pub(in super::super) fn settled(
    body: &Body,
    (method, model): (Method, Model),
    (pose, skinned): (&Pose, &SkinnedLattice),
    load: &Load,
    progress: &dyn Progress,
) -> Result<Vec<Vec3>, SimulationError> {
    let rest = body.lattice().vertices();
    let mut balancer = Balancer::new(body.pattern(), body.node_count())?;
    let zero = vec![Vec3::zeros(); body.node_count()];
    let mut forces = zero.clone();
    let mut solve = |skinned: &SkinnedLattice, load: &Load, detour: bool, q: &mut [Vec3]| {
        for v in body.held_vertices() {
            q[v as usize] = skinned.places[v as usize] - rest[v as usize];
        }
        loads(body, skinned, load, q, &mut forces);
        let increment = Increment {
            mass: 0.0,
            inertia: &zero,
            damping: 0.0,
            lag: &zero,
            forces: &forces,
            terms: load.terms,
            origin: rest,
        };
        let (domain, options) = (domain(body, model), Newton::default());
        if detour {
            balancer.balance_by_detour(domain, increment, q, &options, progress)
        } else {
            balancer.balance(domain, increment, q, &options, progress)
        }
    };

    let warped = equilibrium::linearised(body, Method::Warped, skinned, load)?;
    let detour = model == Model::StVenantKirchhoff;
    let mut found = Err(NewtonError::Start);
    for (guess, detour) in [(&warped, false), (&skinned.places, detour)] {
        let mut q: Vec<Vec3> = guess.iter().zip(rest).map(|(p, x)| p - x).collect();
        let next = solve(skinned, load, detour, &mut q)
            .map(|outcome| Balance::new(body.elements(), q, outcome));
        found = better(found, next);
        if let Err(NewtonError::Cancelled(stop)) = found {
            return Err(stop.into());
        }
        if found.as_ref().is_ok_and(|b| b.inverted == 0) {
            break;
        }
    }
    if !found.as_ref().is_ok_and(|b| b.inverted == 0) {
        let motion = FrameMotion::between(body.skeleton(), &Pose::rest(pose.maps().len()), pose)?;
        let mut between = pose.clone();
        let (mut before, mut after) = (SkinnedLattice::new(body)?, SkinnedLattice::new(body)?);
        let mut share = zero.clone();
        let mut failed = None;
        let along = follow(body.elements(), zero.clone(), |from, to, q| {
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
            solve(&after, &load, false, q)
        });
        if let Some(error) = failed {
            return Err(error);
        }
        found = better(found, along);
    }
    let mut p = found?.displacements;
    for (p, x) in p.iter_mut().zip(rest) {
        *p += x;
    }
    lost(&p).map_or(Ok(p), Err)
}

/// Initial guess of a step's minimisation.
#[derive(Clone, Copy, PartialEq)]
enum Attempt {
    /// The carried flesh.
    Carried,
    /// The carried flesh, by way of neo-Hookean flesh.
    Detour,
    /// The skinned shape.
    Skinned,
}

/// Stepper of the nonlinear methods: solver and buffers of a step.
pub(in super::super) struct NonlinearStepper {
    model: Model,
    balancer: Balancer,
    best: Vec<Vec3>,
    displacements: Vec<Vec3>,
    inertia: Vec<Vec3>,
    lag: Vec<Vec3>,
    forces: Vec<Vec3>,
}

impl NonlinearStepper {
    pub fn new(body: &Body, model: Model) -> Result<Self, SolveError> {
        let zero = vec![Vec3::zeros(); body.node_count()];
        Ok(Self {
            model,
            balancer: Balancer::new(body.pattern(), body.node_count())?,
            best: zero.clone(),
            displacements: zero.clone(),
            inertia: zero.clone(),
            lag: zero.clone(),
            forces: zero,
        })
    }
}

impl Stepper for NonlinearStepper {
    fn step(&mut self, step: &Step, nodes: &mut NodalState) -> Result<(), SimulationError> {
        let (body, from, to, h) = (step.body, step.from, step.to, step.duration);
        let (positions, velocities) = (&mut nodes.positions, &mut nodes.velocities);
        let beta = step.implicit_stiffness_damping();
        let rest = body.lattice().vertices();
        for ((q, p), x) in self.best.iter_mut().zip(&*positions).zip(rest) {
            *q = p - x;
        }
        let inverted = body.elements().inverted(&self.best);
        let mut found: Result<usize, NewtonError> = Err(NewtonError::Start);
        for attempt in [Attempt::Carried, Attempt::Detour, Attempt::Skinned] {
            if attempt == Attempt::Detour && self.model != Model::StVenantKirchhoff {
                continue;
            }
            for v in 0..body.node_count() {
                let p = positions[v];
                let skin = from.carry(to, v, p);
                let held = body.bone_of_vertex()[v].is_some();
                let skinned = held || attempt == Attempt::Skinned;
                let guess = if skinned { to.places[v] } else { skin };
                let way = guess - p;
                self.displacements[v] = guess - rest[v];
                self.inertia[v] = (way / h - velocities[v]) / h;
                self.lag[v] = Vec3::zeros();
                if !held {
                    self.inertia[v] += (guess - skin) * (step.mass_damping / h);
                    self.lag[v] = (guess - skin) * (beta / h);
                }
            }
            loads(body, to, &step.load, &self.displacements, &mut self.forces);
            let increment = Increment {
                mass: 1.0 / (h * h) + step.mass_damping / h,
                inertia: &self.inertia,
                damping: beta / h,
                lag: &self.lag,
                forces: &self.forces,
                terms: step.load.terms,
                origin: rest,
            };
            let (q, domain) = (&mut self.displacements, domain(body, self.model));
            let outcome = if attempt == Attempt::Detour {
                self.balancer
                    .balance_by_detour(domain, increment, q, &STEP, step.progress)
            } else {
                self.balancer
                    .balance(domain, increment, q, &STEP, step.progress)
            };
            match (outcome, &found) {
                (Ok(_), _) => {
                    let turned = body.elements().inverted(&self.displacements);
                    if found.as_ref().is_ok_and(|best| *best <= turned) {
                        continue;
                    }
                    self.best.copy_from_slice(&self.displacements);
                    found = Ok(turned);
                    if turned <= inverted {
                        break;
                    }
                }
                (Err(NewtonError::Cancelled(stop)), _) => return Err(stop.into()),
                (Err(error), Err(_)) => found = Err(error),
                (Err(_), Ok(_)) => {}
            }
        }
        found?;
        for (q, x) in self.best.iter_mut().zip(rest) {
            *q += x;
        }
        if let Some(error) = lost(&self.best) {
            return Err(error);
        }
        for ((p, velocity), next) in positions.iter_mut().zip(velocities).zip(&self.best) {
            *velocity = (next - *p) / h;
            *p = *next;
        }
        Ok(())
    }
}
