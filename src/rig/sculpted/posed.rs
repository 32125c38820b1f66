// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sculpts on a body: their goals at their poses, and the corrections that come nearest to these.

use super::correction::{CorrectionSystem, SkinGoal};
use super::placement::SculptPlacement;
use super::sculpt::Sculpt;
use super::turns::turned_pose;
use crate::Vec3;
use crate::body::Body;
use crate::dynamics::{PosedStiffness, SimulationError};
use crate::rig::RigError;
use crate::skeleton::{BonePoses, Pose};

/// A sculpt on a body: its pose, and what the skin is to do there.
pub(super) struct PosedGoal {
    /// Pose of the goal.
    pub pose: Pose,
    /// Wanted displacements of the skin, world axes.
    pub goal: SkinGoal,
    smoothness: f64,
}

/// Correction of a body with some functions.
pub(super) struct Correction {
    /// Displacements, `[nodes]`, m.
    pub u: Vec<Vec3>,
    /// Forces that hold them, `[nodes]`, N, rest axes.
    pub forces: Vec<Vec3>,
}

impl PosedGoal {
    /// Places sculpts on a body; `None` for one without points.
    ///
    /// # Errors
    /// A bone that the body's skeleton lacks.
    pub fn of_sculpts(sculpts: &[Sculpt], body: &Body) -> Result<Vec<Option<Self>>, RigError> {
        let mut placement = SculptPlacement::new(body);
        let placed = sculpts.iter().map(|sculpt| {
            let pose = turned_pose(body.skeleton(), sculpt.turns())?;
            let placed = placement.place(sculpt)?;
            if sculpt.points().is_empty() {
                return Ok(None);
            }
            let bones = BonePoses::new(body.skeleton(), &pose).map_err(|_| RigError::TooFar)?;
            Ok(Some(Self {
                goal: placed.goal(body, &bones),
                smoothness: sculpt.smoothness(),
                pose,
            }))
        });
        placed.collect()
    }

    /// Returns the correction that comes nearest to the goal in the functions of a body, which may be some of those of the whole one.
    ///
    /// # Errors
    /// A system that cannot be solved; forces that overflow.
    pub fn correction(&self, body: &Body) -> Result<Correction, RigError> {
        let stiffness = stiffness_at(body, &self.pose)?;
        let mut system = CorrectionSystem::new(&stiffness)?;
        system.set_goal(&self.goal);
        let u = system.solve(self.smoothness)?;
        let forces = checked(system.forces(&u))?;
        Ok(Correction { u, forces })
    }
}

/// Returns the forces `[nodes]`, N, rest axes, that hold displacements `u[nodes]`, m, of a body at a pose.
///
/// # Errors
/// A pose out of range; forces that overflow.
pub(super) fn holding_forces(body: &Body, pose: &Pose, u: &[Vec3]) -> Result<Vec<Vec3>, RigError> {
    let stiffness = stiffness_at(body, pose)?;
    checked(CorrectionSystem::new(&stiffness)?.forces(u))
}

fn stiffness_at<'a>(body: &'a Body, pose: &Pose) -> Result<PosedStiffness<'a>, RigError> {
    PosedStiffness::new(body, pose).map_err(|error| match error {
        SimulationError::Solve(error) => RigError::Flesh(error),
        _ => RigError::TooFar,
    })
}

fn checked(forces: Vec<Vec3>) -> Result<Vec<Vec3>, RigError> {
    match forces.iter().flatten().all(|x| x.is_finite()) {
        true => Ok(forces),
        false => Err(RigError::Overflow),
    }
}
