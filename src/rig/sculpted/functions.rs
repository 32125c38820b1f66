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
//! Deviation: the paper compares with the distance of the target from the reached surface, and does not fit the last functions.

use super::correction::SkinGoal;
use super::posed::PosedGoal;
use super::sculpt::Sculpt;
use crate::Vec3;
use crate::basis::ActiveSet;
use crate::body::{Body, BodyError};
use crate::lattice::Embedding;
use crate::rig::RigError;
use crate::solve::SolveError;
use std::sync::Arc;

/// Share of the squared distance left that is beyond ε. The rest is a sixth of the distance: the most that functions can miss of what all of
/// them gain. Bumps on a man miss 0.2 to 4 % of it, with 1 to 8 % of the functions.
const COVERED: f64 = 0.97;
/// Distance that is seen, as a share of the largest offset: functions are not activated for less.
const MIN_DISTANCE: f64 = 0.005;

/// Functions of a body that a rig needs, and the forces of each of its sculpts on them.
#[derive(Debug)]
pub(super) struct OwnFunctions {
    /// All of level 0, and some details.
    pub set: ActiveSet,
    /// Forces of each sculpt, `[nodes]`, N, rest axes; zero on other functions.
    pub forces: Vec<Arc<[Vec3]>>,
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
        let forces = goals.iter().map(|goal| {
            let mut all = vec![Vec3::zeros(); body.node_count()];
            if let Some(goal) = goal {
                let own = goal.correction(&active)?.forces;
                for (a, f) in set.functions().zip(own) {
                    all[a as usize] = f;
                }
            }
            Ok(all.into())
        });
        let forces = forces.collect::<Result<_, RigError>>()?;
        Ok(Self { set, forces })
    }
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
