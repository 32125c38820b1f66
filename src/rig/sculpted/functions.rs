// SPDX-License-Identifier: MIT OR Apache-2.0
//! The finer functions of a body that sculpts need, and the forces on them. [capell2006, §4.5]
//!
//! Level 0 is fitted first. Where the skin then is far from its goals, functions of level 1 are activated: those that carry a vertex
//! beyond ε. So it goes on, level by level, and the last set is fitted once more. ε is the largest distance for which the vertices beyond it
//! hold [`COVERED`] of the squared distance that is left. What functions could gain elsewhere is little, whatever the size of the shape.
//!
//! The choice follows from the points of a sculpt and the body, so that it is the same for every mesh, and each body gets those of its own lattice.
//! Sculpts of one rig share a set: their forces are linear in between.
//!
//! Where functions of other rigs are active too, the forces act on these as well. They are `Rᵀ A u` there, so that the correction stays what
//! it is, and corrections of several rigs add up. Without them two bumps a cell apart relaxed into each other's functions and lost all that finer
//! functions gain.
//!
//! Deviation: the paper compares with the distance of the target from the reached surface, and does not fit the last functions.

use super::correction::SkinGoal;
use super::posed::{PosedGoal, holding_forces};
use super::sculpt::Sculpt;
use crate::Vec3;
use crate::basis::ActiveSet;
use crate::body::{Body, BodyError};
use crate::lattice::Embedding;
use crate::rig::RigError;
use crate::skeleton::Pose;
use crate::solve::SolveError;
use std::sync::Arc;

/// Share of the squared distance left that is beyond ε. The rest is a sixth of the distance: the most that functions can miss of what all of
/// them gain. Bumps on a man miss 0.2 to 4 % of it, with 1 to 8 % of the functions.
const COVERED: f64 = 0.97;
/// Distance that is seen, as a share of the largest offset: functions are not activated for less.
const MIN_DISTANCE: f64 = 0.005;
/// Forces on functions of other rigs, as shares of the largest, that are left out: the level 0 part of a shape reaches far, and would activate
/// these functions while their own rigs rest. Two bumps 10 cm apart on a chest then miss 2.8 % of the gain in place of 2.6 %; at 1e-3, 18 %.
const MIN_FORCE: f64 = 1e-4;

/// Functions of a body that a rig needs, and what each of its sculpts does in them.
#[derive(Debug)]
pub(super) struct OwnFunctions {
    /// All of level 0, and some details.
    pub set: ActiveSet,
    corrections: Vec<HeldCorrection>,
}

/// Correction of a sculpt in the rig's own functions.
#[derive(Debug)]
struct HeldCorrection {
    /// Pose of the sculpt; `None`: it has no points.
    pose: Option<Pose>,
    /// Displacements, `[nodes]`, m; zero in other functions.
    u: Vec<Vec3>,
    /// Forces on the own functions, `[nodes]`, N, rest axes; zero on others.
    forces: Arc<[Vec3]>,
}

impl OwnFunctions {
    /// Chooses the functions of a body with finer levels.
    ///
    /// # Errors
    /// A bone that the body's skeleton lacks; a system that cannot be solved.
    pub fn choose(sculpts: &[Sculpt], body: &Body) -> Result<Self, RigError> {
        let goals = PosedGoal::of_sculpts(sculpts, body)?;
        let mut set = body.basis().coarse_set();
        let mut former: Option<(ActiveSet, Body)> = None;
        for level in 1..=body.basis().levels() {
            let active = active_body(body, &set, former.as_ref())?;
            let mut next = set.clone();
            for goal in goals.iter().flatten() {
                let u = goal.correction(&active)?.u;
                for v in far_vertices(&goal.goal, active.embedding(), &u) {
                    let carrying = body.embedding().row(v).map(|(a, _)| a);
                    let finer = carrying.filter(|&a| body.basis().level_of(a) == level);
                    finer.for_each(|a| next.insert(a as u32));
                }
            }
            former = Some((std::mem::replace(&mut set, next), active));
        }
        let active = active_body(body, &set, former.as_ref())?;
        let count = body.node_count();
        let corrections = goals.into_iter().map(|goal| {
            let Some(goal) = goal else {
                let none = vec![Vec3::zeros(); count];
                return Ok(HeldCorrection {
                    pose: None,
                    forces: none.clone().into(),
                    u: none,
                });
            };
            let own = goal.correction(&active)?;
            Ok(HeldCorrection {
                pose: Some(goal.pose),
                u: spread(&set, &own.u, count),
                forces: spread(&set, &own.forces, count).into(),
            })
        });
        let corrections = corrections.collect::<Result<_, RigError>>()?;
        Ok(Self { set, corrections })
    }

    /// Returns the own functions and those with a flag.
    pub fn set_with(&self, flags: &[bool]) -> ActiveSet {
        let mut set = self.set.clone();
        let flagged = (0..).zip(flags).filter(|(_, flag)| **flag);
        flagged.for_each(|(a, _)| set.insert(a));
        set
    }

    /// Returns the forces of each sculpt on the functions of a set that holds the own ones, `[nodes]`, N, rest axes; zero on others, and where
    /// they are below [`MIN_FORCE`].
    ///
    /// # Errors
    /// A system that cannot be assembled; forces that overflow.
    pub fn forces_on(&self, set: &ActiveSet, body: &Body) -> Result<Vec<Arc<[Vec3]>>, RigError> {
        if *set == self.set {
            return Ok(self.corrections.iter().map(|c| c.forces.clone()).collect());
        }
        let active = active_body(body, set, None)?;
        let forces = self.corrections.iter().map(|correction| {
            let Some(pose) = &correction.pose else {
                return Ok(correction.forces.clone());
            };
            let u: Vec<Vec3> = set.functions().map(|a| correction.u[a as usize]).collect();
            let mut forces = holding_forces(&active, pose, &u)?;
            let least = MIN_FORCE * forces.iter().map(Vec3::norm).fold(0.0, f64::max);
            for (a, f) in set.functions().zip(&mut forces) {
                if !self.set.contains(a) && f.norm() < least {
                    *f = Vec3::zeros();
                }
            }
            Ok(spread(set, &forces, body.node_count()).into())
        });
        forces.collect()
    }
}

/// Returns values of the functions of a set for all functions: zero for others.
fn spread(set: &ActiveSet, values: &[Vec3], count: usize) -> Vec<Vec3> {
    let mut all = vec![Vec3::zeros(); count];
    for (a, value) in set.functions().zip(values) {
        all[a as usize] = *value;
    }
    all
}

/// Returns the body with the functions of a set.
fn active_body(
    body: &Body,
    set: &ActiveSet,
    former: Option<&(ActiveSet, Body)>,
) -> Result<Body, RigError> {
    let former = former.map(|(set, body)| (set, body));
    let nodes = set.count();
    body.with_active(set, former).map_err(|error| match error {
        BodyError::Solve(error) => error.into(),
        _ => SolveError::TooLarge { nodes }.into(),
    })
}

/// Returns the vertices beyond ε of their goals after a correction `u[nodes]`.
fn far_vertices(goal: &SkinGoal, embedding: &Embedding, u: &[Vec3]) -> Vec<usize> {
    let counted = (0..goal.weights.len()).filter(|&v| goal.weights[v] > 0.0);
    let distance = |v: usize| (embedding.position(v, u) - goal.offsets[v]).norm();
    let mut left: Vec<(f64, usize)> = counted.map(|v| (distance(v), v)).collect();
    left.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let square = |&(d, v): &(f64, usize)| goal.weights[v] * d * d;
    let most = goal.offsets.iter().map(Vec3::norm).fold(0.0, f64::max);
    let mut uncovered = COVERED * left.iter().map(square).sum::<f64>();
    let far = left.into_iter().take_while(|vertex| {
        let counts = uncovered > 0.0 && vertex.0 > MIN_DISTANCE * most;
        uncovered -= square(vertex);
        counts
    });
    far.map(|(_, v)| v).collect()
}
