// SPDX-License-Identifier: MIT OR Apache-2.0
//! Fitting of a rig's parameters that bring points of the surface to their targets. [capell2006, §4.2.2, eqs 17 to 20]
//!
//! Minimises `C(η) = Σ_j |p_j − p̄_j|² + Σ_k ξ_k (η⁰_k − η_k)²` within bounds by L-BFGS-B
//! ([`Lbfgsb`](crate::solve::Lbfgsb)). The p_j are positions of vertices of the body's own surface in static
//! equilibrium at a pose.
//!
//! With a linearised method the positions are affine in the rig's generalised forces:
//! `p_j = p_j⁰ + Σ_i L_jiᵀ Q_i(η)`. The *sensitivities* `L_j = Rᵀ A⁻ᵀ φ(x_j)` take three adjoint solves per point.
//! [`RigFit`] computes them once per pose and keeps them. An evaluation of C and its gradient,
//! `dC/dη = ∂C/∂η + (dQ/dη)ᵀ Σ_j 2 L_j (p_j − p̄_j)`, is then only the rig's quadrature, and a drag of the mouse
//! costs no solve at all.
//!
//! While the mouse moves, [`RigFitSettings::evaluations`] limits the evaluations of an update. The update returns the
//! best result found, and the next one continues from there.
//!
//! No fit folds flesh: strengths stay in the range at which no flesh is pressed flatter than
//! [`MIN_VOLUME_RATIO`](super::MIN_VOLUME_RATIO). A fit reports the share of the distance that it covered.
//!
//! Deviations: the adjoint is Aᵀ's, the paper's is that of a symmetric A (docs/methods/rigging.md). B is the Gauss-Newton
//! approximation, which the derivatives of Q give at no cost, as long as it makes progress, and L-BFGS's own
//! otherwise. The level of the quadrature is fixed during a minimisation, which is repeated if its result needs
//! another level and the number of evaluations is not limited. Positions are those of the embedding alone, without
//! the limit around the artist's skin that is applied when flesh is shown. C has several local minima: if the nearest
//! does not meet the points, a few others are tried.

mod error;
mod fitted;
mod folding_limit;
mod options;
mod pose;
mod pull;
#[cfg(test)]
mod tests;

pub use error::RigFitError;
pub use fitted::RigFitResult;
pub use options::{NamedValues, RigFitSettings};
pub use pose::{FleshPose, fit_pose};

use super::{Rig, RigKind};
use crate::Vec3;
use crate::body::Body;
use crate::dynamics::{Equilibrium, Method, SimulationError};
use crate::lattice::Embedding;
use crate::progress::{PacedProgress, Progress, Silent};
use crate::skeleton::Pose;
use fitted::Sensitivities;
use folding_limit::{CachedStrengths, FoldingLimit};
use options::ResolvedOptions;
use pull::{FitProblem, MAX_POINTS, PulledPoint};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A point of the skin and its target.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SkinTarget {
    /// Vertex of the body's own surface.
    pub vertex: u32,
    /// Target position, world, metres.
    pub place: Vec3,
}

/// Repeated fits of rigs of one body at one pose.
///
/// Results depend on the arguments alone, never on earlier calls.
pub struct RigFit {
    balance: Equilibrium,
    gravity: Vec3,
    /// Generalised forces of other rigs, N, rest axes.
    others: Option<Vec<Vec3>>,
    embedding: Arc<Embedding>,
    /// Displacements of the lattice's vertices without the rig, metres.
    without: Vec<Vec3>,
    /// Strengths at which flesh does not fold, at the last parameters used.
    known: Option<CachedStrengths>,
    /// `Rᵀ A⁻ᵀ φ` by vertex of the surface, along x, y and z.
    sensitivities: BTreeMap<u32, Arc<Sensitivities>>,
}

impl RigFit {
    /// Refuses a rig without a template, whose parameters no fit can find.
    ///
    /// # Errors
    /// A sculpted rig, or a muscle.
    pub fn check_kind(rig: &Rig) -> Result<(), RigFitError> {
        match rig.kind() {
            RigKind::Force(_) => Ok(()),
            RigKind::Sculpted(_) | RigKind::Muscle(_) => Err(RigFitError::kind_of(rig)),
        }
    }

    /// Prepares fits of a body at a pose, under gravity (m/s²) and the generalised forces of other rigs (`[nodes]`,
    /// N, rest axes).
    ///
    /// # Errors
    /// A method whose balance is not linear in forces; a pose or forces that do not fit; a singular system.
    pub fn new(
        body: &Arc<Body>,
        method: Method,
        pose: &Pose,
        gravity: Vec3,
        rest_forces: Option<&[Vec3]>,
    ) -> Result<Self, RigFitError> {
        if !method.is_linear() {
            return Err(SimulationError::Adjoint { method }.into());
        }
        let mut balance = Equilibrium::new(body, method)?;
        balance.set_pose(pose)?;
        let without = balance.solve(gravity, None, rest_forces)?;
        let embedding = body.embedding().clone();
        Ok(Self {
            balance,
            gravity,
            others: rest_forces.map(<[Vec3]>::to_vec),
            embedding,
            without,
            known: None,
            sensitivities: BTreeMap::new(),
        })
    }

    /// Returns the body.
    pub fn body(&self) -> &Arc<Body> {
        self.balance.body()
    }

    /// Returns the pose.
    pub fn pose(&self) -> &Pose {
        self.balance.pose()
    }

    /// Returns the parameters that bring points nearest to their targets.
    ///
    /// Without a limit of evaluations in the options, forces are integrated at ten million points of flesh at most;
    /// the result is the best found by then.
    ///
    /// # Errors
    /// Invalid points or options, a template that starts wholly outside the flesh, or points that no parameter moves.
    pub fn fit(
        &mut self,
        rig: &Rig,
        points: &[SkinTarget],
        options: &RigFitSettings,
    ) -> Result<RigFitResult, RigFitError> {
        self.fit_with_progress(rig, points, options, &Silent)
    }

    /// Fits as [`fit`](Self::fit) does; the progress may cancel, and gets the fraction of the largest permitted work.
    ///
    /// # Errors
    /// Errors of [`fit`](Self::fit); cancellation by the progress.
    pub fn fit_with_progress(
        &mut self,
        rig: &Rig,
        points: &[SkinTarget],
        options: &RigFitSettings,
        progress: &dyn Progress,
    ) -> Result<RigFitResult, RigFitError> {
        let body = self.body().clone();
        let resolved = ResolvedOptions::new(rig, &body, options)?;
        let held = self.pulled_points(points)?;
        let pull = FitProblem {
            body: &body,
            rig,
            held,
            resolved: &resolved,
            progress: PacedProgress::new(progress),
            stopped: Cell::new(false),
            spent: Cell::new(0.0),
            budget: match options.evaluations {
                Some(_) => f64::INFINITY,
                None => MAX_POINTS,
            },
        };
        let mut whole = FoldingLimit {
            rig,
            balance: &mut self.balance,
            gravity: self.gravity,
            others: self.others.as_deref(),
            without: &self.without,
            known: &mut self.known,
        };
        pull.fit(&mut whole, options.evaluations)
    }

    /// Returns C (m²) and its derivative by every parameter of the rig, in order, at the options' start.
    ///
    /// # Errors
    /// Errors of [`fit`](Self::fit), except for points that no parameter moves.
    pub fn gradient(
        &mut self,
        rig: &Rig,
        points: &[SkinTarget],
        options: &RigFitSettings,
    ) -> Result<(f64, Vec<f64>), RigFitError> {
        let body = self.body().clone();
        let resolved = ResolvedOptions::new(rig, &body, options)?;
        let pull = FitProblem {
            body: &body,
            rig,
            held: self.pulled_points(points)?,
            resolved: &resolved,
            progress: PacedProgress::new(&Silent),
            stopped: Cell::new(false),
            spent: Cell::new(0.0),
            budget: f64::INFINITY,
        };
        let level = rig.level(&body, &resolved.asked)?;
        let local = pull.evaluate(&resolved.asked, level)?.local;
        Ok((local.value, local.gradient))
    }

    /// Returns the displacements `q[nodes]` from rest (m, world axes) with the rig at η.
    ///
    /// # Errors
    /// Parameters that the rig refuses, or a template wholly outside the flesh.
    pub fn displacements(&mut self, rig: &Rig, eta: &[f64]) -> Result<Vec<Vec3>, RigFitError> {
        let mut forces = rig.forces(self.balance.body(), eta)?;
        for (f, other) in forces.iter_mut().zip(self.others.iter().flatten()) {
            *f += other;
        }
        Ok(self.balance.solve(self.gravity, None, Some(&forces))?)
    }

    /// Checks points and computes the missing sensitivities.
    fn pulled_points(&mut self, points: &[SkinTarget]) -> Result<Vec<PulledPoint>, RigFitError> {
        check_targets(points, self.embedding.len())?;
        // Sensitivities of points no longer pulled are dropped.
        self.sensitivities
            .retain(|vertex, _| points.iter().any(|p| p.vertex == *vertex));
        for point in points {
            if !self.sensitivities.contains_key(&point.vertex) {
                let sensitivities = self.vertex_sensitivities(point.vertex)?;
                self.sensitivities
                    .insert(point.vertex, Arc::new(sensitivities));
            }
        }
        let rest = self.body().rest_shape();
        let places: Vec<Vec3> = self.without.iter().zip(rest).map(|(q, x)| q + x).collect();
        let held = points.iter().filter_map(|target| {
            Some(PulledPoint {
                target: target.place,
                free: self.embedding.position(target.vertex as usize, &places),
                sensitivities: self.sensitivities.get(&target.vertex)?.clone(),
            })
        });
        Ok(held.collect())
    }

    fn vertex_sensitivities(&mut self, vertex: u32) -> Result<Sensitivities, RigFitError> {
        let mut sensitivities = Sensitivities::default();
        for (axis, sensitivity) in sensitivities.iter_mut().enumerate() {
            let mut g = vec![Vec3::zeros(); self.body().node_count()];
            for (i, w) in self.embedding.row(vertex as usize) {
                g[i][axis] += w;
            }
            *sensitivity = self.balance.adjoint(&g)?;
            for (l, turn) in sensitivity.iter_mut().zip(self.balance.turns()) {
                *l = turn.tr_mul(l);
            }
        }
        Ok(sensitivities)
    }
}

/// Refuses an empty list, vertices that the surface does not have, and targets that are not finite.
fn check_targets(points: &[SkinTarget], vertices: usize) -> Result<(), RigFitError> {
    if points.is_empty() {
        return Err(RigFitError::NoPoints);
    }
    for (index, point) in points.iter().enumerate() {
        if point.vertex as usize >= vertices {
            return Err(RigFitError::Vertex {
                index,
                vertex: point.vertex,
                vertices,
            });
        }
        if point.place.iter().any(|x| !x.is_finite()) {
            return Err(RigFitError::Target {
                index,
                place: point.place.into(),
            });
        }
    }
    Ok(())
}
