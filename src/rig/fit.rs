// SPDX-License-Identifier: MIT OR Apache-2.0
//! Pulling the skin: the parameters of a rig that bring points of the surface to where they are wanted.
//! [capell2006, §4.2, eqs 17 to 20]
//!
//! Minimises `C(η) = Σ_j |p_j − p̄_j|² + Σ_k ξ_k (η⁰_k − η_k)²` within bounds by L-BFGS-B ([`Lbfgsb`]), with p_j the places
//! of vertices of the body's own surface in static equilibrium at a pose.
//!
//! With a linearised method the places are affine in the rig's generalised forces: `p_j = p_j⁰ + Σ_i L_jiᵀ Q_i(η)`, where the
//! *levers* `L_j = Rᵀ A⁻ᵀ φ(x_j)` are three adjoint solves per point. [`Fit`] makes them once per pose and keeps them, so that
//! an evaluation of C and of its gradient is only the rig's quadrature, `dC/dη = ∂C/∂η + (dQ/dη)ᵀ Σ_j 2 L_j (p_j − p̄_j)`,
//! and a drag of the mouse costs no solve at all.
//!
//! While the mouse moves, an update may only take so many evaluations ([`Wishes::evaluations`]): it gives the best so far,
//! from which the next one goes on.
//!
//! Deviations: the adjoint is Aᵀ's, the print's is that of a symmetric A (math.md 9); B is Gauss and Newton's second
//! derivative, which the derivatives of Q give for nothing, as long as that leads on, and L-BFGS's own otherwise; the level
//! of the quadrature is held during a minimisation, which is repeated where its result asks for another one and
//! evaluations are not counted. Places are those of the embedding alone, without the limit that is laid around the artist's
//! skin when flesh is shown. C has several valleys: where the nearest does not meet the points, a few others are tried.

mod error;
#[cfg(test)]
mod tests;
mod wishes;

pub use error::FitError;
pub use wishes::{Named, Wishes};

use super::Rig;
use crate::Vec3;
use crate::body::Body;
use crate::dynamics::{Equilibrium, Method, SimulationError};
use crate::lattice::Embedding;
use crate::skeleton::Pose;
use crate::solve::lbfgsb::{Lbfgsb, Local, Minimum};
use nalgebra::{DMatrix, DVector};
use std::collections::BTreeMap;
use std::sync::Arc;
use wishes::{Attempt, Goals};

/// A minimisation is made this often where its result asks for other circumstances, and so often before radii are kept
/// where they fit the quadrature's level.
const ROUNDS: usize = 6;
const FREE_ROUNDS: usize = 3;
/// Typical changes of placement that the first step may make, at first.
const CAUTIOUS: f64 = 1.0;
/// What another valley must leave at most of the cost.
const WORTH: f64 = 0.99;
/// Points this close, as a part of the body's size, count as met.
const MET: f64 = 1e-5;
/// A parameter that moves no point by more than this part of the body's size, per typical change, has no effect.
const STILL: f64 = 1e-12;

/// A point of the skin and where it is wanted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Target {
    /// Vertex of the body's own surface.
    pub vertex: u32,
    /// World, metres.
    pub place: Vec3,
}

/// What a fit found.
#[derive(Debug, Clone, PartialEq)]
pub struct Fitted {
    /// η, all of the rig's parameters in their order.
    pub parameters: Vec<f64>,
    /// C there, m².
    pub cost: f64,
    /// How often forces and their derivatives were integrated.
    pub evaluations: usize,
}

/// Fits rigs of one body at one pose, again and again.
///
/// Results depend on the arguments alone, never on what was asked before.
pub struct Fit {
    balance: Equilibrium,
    gravity: Vec3,
    /// Generalised forces of other rigs, rest axes.
    others: Option<Vec<Vec3>>,
    embedding: Arc<Embedding>,
    /// Places of the lattice's vertices without the rig.
    places: Vec<Vec3>,
    /// `Rᵀ A⁻ᵀ φ` by vertex of the surface, along x, y and z.
    levers: BTreeMap<u32, Arc<Levers>>,
}

/// How far a point moves along x, y and z per N on each lattice vertex, rest axes, `[3][dofs]`, m/N.
type Levers = [Vec<Vec3>; 3];

impl Fit {
    /// Prepares fits of a body at a pose, under gravity (m/s²) and the generalised forces of other rigs (`[dofs]`, N, rest
    /// axes).
    ///
    /// # Errors
    /// A method whose balance is not linear in forces; a pose or forces that do not fit; a singular system.
    pub fn new(
        body: &Arc<Body>,
        method: Method,
        pose: &Pose,
        gravity: Vec3,
        rest_forces: Option<&[Vec3]>,
    ) -> Result<Self, FitError> {
        if method.model().is_some() || method == Method::Modal {
            return Err(SimulationError::Adjoint { method }.into());
        }
        let mut balance = Equilibrium::new(body, method)?;
        balance.set_pose(pose)?;
        let q = balance.solve(gravity, None, rest_forces)?;
        let rest = body.lattice().vertices();
        let embedding = body
            .embedding(0)
            .unwrap_or_else(|| Arc::new(Embedding::default()));
        Ok(Self {
            balance,
            gravity,
            others: rest_forces.map(<[Vec3]>::to_vec),
            embedding,
            places: q.iter().zip(rest).map(|(q, x)| q + x).collect(),
            levers: BTreeMap::new(),
        })
    }

    /// The body.
    pub fn body(&self) -> &Arc<Body> {
        self.balance.body()
    }

    /// The pose.
    pub fn pose(&self) -> &Pose {
        self.balance.pose()
    }

    /// The parameters that bring points nearest to their targets; what cannot be reached is approached.
    ///
    /// # Errors
    /// Points or wishes that make no sense, a template that starts wholly outside the flesh, points that no parameter
    /// moves.
    pub fn fit(
        &mut self,
        rig: &Rig,
        points: &[Target],
        wishes: &Wishes,
    ) -> Result<Fitted, FitError> {
        let goals = Goals::new(rig, self.body(), wishes)?;
        let pull = self.pull(rig, points, &goals)?;
        let level = rig.level(pull.body, &goals.start)?;
        let first = pull.look(&goals.start, level)?;
        pull.check_effect(&first.moves)?;
        if let Some(most) = wishes.evaluations {
            return pull.follow(first.local, level, most);
        }
        let mut best = pull.descend(first.local, &goals.start, level, CAUTIOUS)?;
        for attempt in Attempt::OTHERS {
            if best.cost <= pull.enough() {
                break;
            }
            let start = goals.start_of(&attempt);
            // It may leave the flesh, or be no torus any more.
            let Ok(level) = rig.level(pull.body, &start) else {
                continue;
            };
            let Ok(View { local, .. }) = pull.look(&start, level) else {
                continue;
            };
            let found = pull.descend(local, &start, level, attempt.reach)?;
            best.evaluations += found.evaluations;
            // Another valley has to be worth it.
            if found.cost < WORTH * best.cost {
                (best.cost, best.parameters) = (found.cost, found.parameters);
            }
        }
        Ok(best)
    }

    /// C (m²) and its derivative by every parameter of the rig, in order, at the start that the wishes name.
    ///
    /// # Errors
    /// As [`fit`](Self::fit); points that no parameter moves are none.
    pub fn gradient(
        &mut self,
        rig: &Rig,
        points: &[Target],
        wishes: &Wishes,
    ) -> Result<(f64, Vec<f64>), FitError> {
        let goals = Goals::new(rig, self.body(), wishes)?;
        let eta = goals.asked.clone();
        let pull = self.pull(rig, points, &goals)?;
        let level = rig.level(pull.body, &eta)?;
        let local = pull.look(&eta, level)?.local;
        Ok((local.value, local.gradient))
    }

    /// Displacements `q[dofs]` from rest (m, world axes) with the rig at η.
    ///
    /// # Errors
    /// Parameters that the rig refuses, a template wholly outside the flesh.
    pub fn displacements(&mut self, rig: &Rig, eta: &[f64]) -> Result<Vec<Vec3>, FitError> {
        let mut forces = rig.forces(self.balance.body(), eta)?;
        for (f, other) in forces.iter_mut().zip(self.others.iter().flatten()) {
            *f += other;
        }
        Ok(self.balance.solve(self.gravity, None, Some(&forces))?)
    }

    /// Checks points and makes the levers that are missing.
    fn pull<'a>(
        &'a mut self,
        rig: &'a Rig,
        points: &'a [Target],
        goals: &'a Goals,
    ) -> Result<Pull<'a>, FitError> {
        if points.is_empty() {
            return Err(FitError::NoPoints);
        }
        let vertices = self.embedding.len();
        for (index, point) in points.iter().enumerate() {
            if point.vertex as usize >= vertices {
                return Err(FitError::Vertex {
                    index,
                    vertex: point.vertex,
                    vertices,
                });
            }
            if point.place.iter().any(|x| !x.is_finite()) {
                return Err(FitError::Target {
                    index,
                    place: point.place.into(),
                });
            }
        }
        // Those of points that are pulled no more would only pile up.
        self.levers
            .retain(|vertex, _| points.iter().any(|p| p.vertex == *vertex));
        for point in points {
            if !self.levers.contains_key(&point.vertex) {
                let levers = self.levers_of(point.vertex)?;
                self.levers.insert(point.vertex, Arc::new(levers));
            }
        }
        let held = points.iter().filter_map(|target| {
            let free = self.embedding.place(target.vertex as usize, &self.places);
            Some(Held {
                target: target.place,
                free,
                levers: self.levers.get(&target.vertex)?.clone(),
            })
        });
        Ok(Pull {
            body: self.balance.body(),
            rig,
            held: held.collect(),
            goals,
        })
    }

    fn levers_of(&mut self, vertex: u32) -> Result<Levers, FitError> {
        let (indices, weights) = (
            self.embedding.indices[vertex as usize],
            self.embedding.weights[vertex as usize],
        );
        let mut levers = Levers::default();
        for (axis, lever) in levers.iter_mut().enumerate() {
            let mut g = vec![Vec3::zeros(); self.body().dofs()];
            for (&i, &w) in indices.iter().zip(&weights) {
                if let Ok(i) = usize::try_from(i) {
                    g[i][axis] += w;
                }
            }
            *lever = self.balance.adjoint(&g)?;
            for (l, turn) in lever.iter_mut().zip(self.balance.turns()) {
                *l = turn.tr_mul(l);
            }
        }
        Ok(levers)
    }
}

/// A point that is pulled.
struct Held {
    target: Vec3,
    /// Its place without the rig.
    free: Vec3,
    levers: Arc<Levers>,
}

/// C at a place.
struct View {
    local: Local,
    /// How far a parameter moves any point along any axis, m per unit.
    moves: Vec<f64>,
}

/// C of one fit.
struct Pull<'a> {
    body: &'a Body,
    rig: &'a Rig,
    held: Vec<Held>,
    goals: &'a Goals,
}

impl Pull<'_> {
    /// C (m²), its derivative by η and Gauss and Newton's second one, of a level of the quadrature.
    fn look(&self, eta: &[f64], level: u32) -> Result<View, FitError> {
        let (forces, slopes) = self.rig.tangents_at_level(self.body, eta, level)?;
        let n = eta.len();
        let (mut value, mut gradient) = (0.0, vec![0.0; n]);
        let mut curvature = DMatrix::zeros(n, n);
        let mut most = vec![0.0_f64; n];
        for held in &self.held {
            for (axis, lever) in held.levers.iter().enumerate() {
                let miss = held.free[axis] - held.target[axis] + work(lever, &forces);
                let moves: Vec<f64> = slopes.iter().map(|s| work(lever, s)).collect();
                value += miss * miss;
                for ((g, most), m) in gradient.iter_mut().zip(&mut most).zip(&moves) {
                    *g += 2.0 * miss * m;
                    *most = most.max(m.abs());
                }
                let moves = DVector::from_vec(moves);
                curvature.ger(2.0, &moves, &moves, 1.0);
            }
        }
        let Goals {
            preferred, weights, ..
        } = self.goals;
        for k in 0..n {
            let off = eta[k] - preferred[k];
            value += weights[k] * off * off;
            gradient[k] += 2.0 * weights[k] * off;
            curvature[(k, k)] += 2.0 * weights[k];
        }
        let local = Local {
            value,
            gradient,
            curvature: Some(curvature),
        };
        Ok(View { local, moves: most })
    }

    /// Refuses points that no parameter moves that may change.
    fn check_effect(&self, moves: &[f64]) -> Result<(), FitError> {
        let goals = self.goals;
        let still = STILL * self.body.size();
        let mut each = moves.iter().zip(&goals.scales).zip(&goals.bounds);
        let any = each.any(|((m, scale), (lower, upper))| lower < upper && m * scale > still);
        if any || goals.all_fixed() {
            return Ok(());
        }
        Err(FitError::NoEffect {
            rig: self.rig.name().to_owned(),
        })
    }

    /// An update while the mouse moves: one round, from the start, and the next sees to what its result asks for.
    fn follow(&self, here: Local, level: u32, most: usize) -> Result<Fitted, FitError> {
        let start = &self.goals.start;
        let mut bounds = self.goals.bounds_around(start);
        self.goals.keep_near(&mut bounds, start);
        let found = self.minimise(start, here, level, &bounds, (CAUTIOUS, most))?;
        Ok(Fitted {
            parameters: found.x,
            cost: found.value / self.unit(),
            evaluations: found.evaluations,
        })
    }

    /// The minimum that lies downhill from a start, at the level that it wants itself.
    fn descend(
        &self,
        mut here: Local,
        start: &[f64],
        mut level: u32,
        reach: f64,
    ) -> Result<Fitted, FitError> {
        let mut best = Fitted {
            parameters: start.to_vec(),
            cost: here.value,
            evaluations: 1,
        };
        for round in 0..ROUNDS {
            let mut bounds = self.goals.bounds_around(&best.parameters);
            if round >= FREE_ROUNDS {
                let radii = self.rig.radii_at(self.body, level);
                self.goals.keep_radii(&mut bounds, radii);
            }
            let limits = (reach, usize::MAX);
            let found = self.minimise(&best.parameters, here, level, &bounds, limits)?;
            best.evaluations += found.evaluations.saturating_sub(1);
            let wanted = self.rig.level(self.body, &found.x)?;
            if wanted == level && !self.goals.is_stopped(&found.x, &bounds) {
                (best.cost, best.parameters) = (found.value / self.unit(), found.x);
                break;
            }
            let Ok(View { local, .. }) = self.look(&found.x, wanted) else {
                break;
            };
            best.evaluations += 1;
            // What the level that it wants makes no better was better by its quadrature only.
            if local.value >= best.cost {
                break;
            }
            (level, best.cost, best.parameters) = (wanted, local.value, found.x);
            here = local;
        }
        Ok(best)
    }

    /// C of points that count as met, m².
    fn enough(&self) -> f64 {
        MET * MET * self.held.len() as f64 / self.unit()
    }

    /// C is minimised in units in which the body's size is one.
    fn unit(&self) -> f64 {
        1.0 / self.body.size().powi(2)
    }

    /// The minimum of C at a level, in units in which the body's size is one, from a start that has been looked at.
    fn minimise(
        &self,
        start: &[f64],
        here: Local,
        level: u32,
        bounds: &[(f64, f64)],
        (reach, evaluations): (f64, usize),
    ) -> Result<Minimum, FitError> {
        let unit = self.unit();
        let settings = Lbfgsb {
            iterations: 200,
            evaluations,
            reach,
            gradient: 1e-12,
            decrease: 1e-6,
            patience: 5,
            enough: self.enough() * unit,
            ..Lbfgsb::default()
        };
        let mut known = Some(here);
        // Refused where the template leaves the flesh; the start lies in it.
        let mut function = |eta: &[f64]| {
            let known = known.take().filter(|_| eta == start);
            let mut local = match known {
                Some(known) => known,
                None => self.look(eta, level).ok()?.local,
            };
            local.value *= unit;
            local.gradient.iter_mut().for_each(|g| *g *= unit);
            local.curvature = local.curvature.map(|c| c * unit);
            Some(local)
        };
        let scales = self.goals.reaches();
        Ok(settings.minimise(start, &scales, bounds, &mut function)?)
    }
}

/// What forces do along a lever: how far they move its point.
fn work(lever: &[Vec3], forces: &[Vec3]) -> f64 {
    lever.iter().zip(forces).map(|(l, f)| l.dot(f)).sum()
}
