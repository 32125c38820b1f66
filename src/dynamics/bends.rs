// SPDX-License-Identifier: MIT OR Apache-2.0
//! Joints' own elastic shape: the balance without loads at a pose, and its motion within a frame.
//!
//! With T(x) the carried position of a lattice vertex and R the skeleton's rotation there, the balance q_bend adds
//! `w = q_bend − T(x)` to the skinned shape. [`BendCache`] solves for it at poses, once a frame. Within a frame [`BendMotion`]
//! interpolates `Rᵀ w` linearly in time between the frame's ends: w turns along with the bones. Its second difference ẅ per step is
//! an acceleration that the flesh feels as inertia, because `q = q_bend + u` has mass and not `T(x) + u`. Without it, firm flesh
//! on bending limbs sways 0.6 to 0.8 times as much as exact flesh.

use super::volume::VolumeBalance;
use super::{Method, SimulationError, SkinnedLattice, Solver};
use crate::Vec3;
use crate::body::Body;
use crate::dynamics::forces::Load;
use crate::dynamics::methods::balance::balanced_positions;
use crate::dynamics::methods::blended::RegionalRest;
use crate::dynamics::methods::linear_balance::solve_balance;
use crate::dynamics::methods::system::LinearSystem;
use crate::progress::Silent;
use crate::skeleton::Pose;

/// Cache of balances without loads. The last two are kept: as a rule those of a frame's ends.
pub(super) struct BendCache {
    method: Method,
    /// System of a method whose balance is linear.
    system: Option<LinearSystem>,
    /// State of rest of a method with regions.
    regional: Option<Box<RegionalRest>>,
    /// Solver for the lost volume of bent joints, if joints are shown.
    volume: Option<VolumeBalance>,
    skinned: SkinnedLattice,
    known: [Option<BendBalance>; 2],
}

/// Balance without loads at one pose.
pub(super) struct BendBalance {
    pose: Pose,
    /// q_bend, `[nodes]`, metres, world axes.
    pub places: Vec<Vec3>,
    /// T(x), `[nodes]`, metres, world axes.
    pub skinned: Vec<Vec3>,
    /// Rᵀ w, `[nodes]`, metres, rest axes.
    pub added: Vec<Vec3>,
    /// Displacements that restore the volume of carried flesh, `[nodes]`, metres, world axes; empty if joints are not shown.
    pub volume: Vec<Vec3>,
}

impl BendCache {
    /// Prepares the balances of a body by a method other than the modal one. `joints`: whether bent joints are shown.
    pub fn new(
        body: &Body,
        method: Method,
        solver: Solver,
        joints: bool,
    ) -> Result<Self, SimulationError> {
        let linear = method.linear_form();
        let system = linear.map(|method| match (method, solver) {
            (Method::Warped, Solver::Automatic | Solver::Iterate) => {
                LinearSystem::for_balances(body)
            }
            // One factor serves all poses or acts as the preconditioner.
            _ => LinearSystem::new(body, method, Solver::Factor),
        });
        Ok(Self {
            method,
            regional: match method {
                Method::BlendedPrinted => Some(Box::new(RegionalRest::new(body, method, None)?)),
                _ => None,
            },
            system: system.transpose()?,
            volume: joints.then(|| VolumeBalance::new(body)).transpose()?,
            skinned: SkinnedLattice::new(body)?,
            known: [None, None],
        })
    }

    /// Returns the balance at a pose.
    pub fn balance_at(
        &mut self,
        body: &Body,
        pose: &Pose,
    ) -> Result<&BendBalance, SimulationError> {
        let is_of = |known: &Option<BendBalance>| known.as_ref().is_some_and(|k| k.pose == *pose);
        if is_of(&self.known[1]) {
            self.known.swap(0, 1);
        } else if !is_of(&self.known[0]) {
            let bend = self.solve(body, pose)?;
            self.known.swap(0, 1);
            self.known[0] = Some(bend);
        }
        self.known[0].as_ref().ok_or(SimulationError::NotReset)
    }

    fn solve(&mut self, body: &Body, pose: &Pose) -> Result<BendBalance, SimulationError> {
        let skinned = &mut self.skinned;
        skinned.set(body, self.method, pose)?;
        let places = match (&mut self.system, &mut self.regional) {
            (_, Some(regional)) => regional.solve(body, skinned, &Load::ZERO)?,
            (Some(system), None) => solve_balance(system, body, skinned, &Load::ZERO)?,
            (None, None) => {
                balanced_positions(body, self.method, pose, skinned, &Load::ZERO, &Silent)?
            }
        };
        let volume = match &mut self.volume {
            Some(volume) => volume.solve(body, pose)?,
            None => Vec::new(),
        };
        let frames = skinned.places.iter().zip(&skinned.turns);
        let added = places.iter().zip(frames);
        Ok(BendBalance {
            pose: pose.clone(),
            added: added.map(|(p, (t, turn))| turn.tr_mul(&(p - t))).collect(),
            skinned: skinned.places.clone(),
            places,
            volume,
        })
    }
}

/// Motion of w through the steps of a frame.
pub(super) struct BendMotion {
    /// Rᵀ w at the frame's ends, `[nodes]`; empty between frames.
    ends: [Vec<Vec3>; 2],
    /// ẇ over the last step, m/s, world axes. `None`: the next step's ẇ is used, so that nothing jerks.
    rate: Option<Vec<Vec3>>,
    /// ẇ of the step under way.
    next_rate: Vec<Vec3>,
    acceleration: Vec<Vec3>,
}

impl BendMotion {
    /// Creates the motion of `nodes` nodes at rest.
    pub fn new(nodes: usize) -> Self {
        let zero = vec![Vec3::zeros(); nodes];
        Self {
            ends: [Vec::new(), Vec::new()],
            rate: None,
            next_rate: zero.clone(),
            acceleration: zero,
        }
    }

    /// Starts a frame between the balances at two poses.
    pub fn begin(
        &mut self,
        bends: &mut BendCache,
        body: &Body,
        (from, to): (&Pose, &Pose),
    ) -> Result<(), SimulationError> {
        for (end, pose) in self.ends.iter_mut().zip([from, to]) {
            end.clone_from(&bends.balance_at(body, pose)?.added);
        }
        Ok(())
    }

    /// Finishes the frame.
    pub fn end(&mut self) {
        self.ends.iter_mut().for_each(Vec::clear);
    }

    /// Computes ẅ of a step of `duration` seconds from `from` to `to`, `[nodes]`, m/s², world axes. The step ends at `end` of the frame,
    /// 0 to 1, and covers `part` of it. `None` between frames.
    pub fn accelerate(
        &mut self,
        (from, to): (&SkinnedLattice, &SkinnedLattice),
        (end, part): (f64, f64),
        duration: f64,
    ) -> Option<&[Vec3]> {
        let [first, last] = &self.ends;
        if first.is_empty() {
            return None;
        }
        for (v, (a, b)) in first.iter().zip(last).enumerate() {
            let at = |s: f64| a + (b - a) * s;
            let (before, after) = (from.turns[v] * at(end - part), to.turns[v] * at(end));
            let rate = (after - before) / duration;
            let former = self.rate.as_ref().map_or(rate, |rate| rate[v]);
            self.next_rate[v] = rate;
            self.acceleration[v] = (rate - former) / duration;
        }
        Some(&self.acceleration)
    }

    /// Accepts the step computed last.
    pub fn advance(&mut self) {
        if self.ends[0].is_empty() {
            return;
        }
        match &mut self.rate {
            Some(rate) => std::mem::swap(rate, &mut self.next_rate),
            none => *none = Some(self.next_rate.clone()),
        }
    }

    /// Returns ẇ over the last step, m/s, if known.
    pub fn rate(&self) -> Option<&[Vec3]> {
        self.rate.as_deref()
    }

    /// Sets ẇ over the last step, `None` if unknown, and finishes the frame.
    pub fn set_rate(&mut self, rate: Option<Vec<Vec3>>) {
        self.rate = rate;
        self.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::body::fixture::BarOptions;
    use crate::skeleton::{Affine, FrameMotion};
    use nalgebra::Rotation3;

    /// Returns the pose of the bar with the upper bone turned about the joint.
    fn bent_pose(angle: f64) -> Pose {
        let (turn, joint) = (Rotation3::new(Vec3::x() * angle), Vec3::z() * 0.8);
        let upper = Affine {
            linear: turn.into_inner(),
            translation: joint - turn * joint,
        };
        Pose::new(vec![Affine::identity(), upper]).unwrap()
    }

    /// The rates of a frame's steps add up to the displacement from the balance at its start to the balance at its end.
    #[test]
    fn bend_steps_join_balances() {
        let body = BarOptions::default().build();
        let mut bends = BendCache::new(&body, Method::Warped, Solver::Factor, false).unwrap();
        let mut motion = BendMotion::new(body.node_count());
        let (poses, steps, duration) = ([bent_pose(0.2), bent_pose(0.9)], 5, 0.01);
        let between = FrameMotion::from_endpoints(body.skeleton(), &poses[0], &poses[1]).unwrap();
        let mut frames = [(); 2].map(|()| SkinnedLattice::new(&body).unwrap());
        let none = motion.accelerate((&frames[0], &frames[1]), (1.0, 0.2), duration);
        assert!(none.is_none(), "no frame has begun");
        motion
            .begin(&mut bends, &body, (&poses[0], &poses[1]))
            .unwrap();
        let added = |bends: &mut BendCache, pose: &Pose| -> Vec<Vec3> {
            let bend = bends.balance_at(&body, pose).unwrap();
            let pairs = bend.places.iter().zip(&bend.skinned);
            pairs.map(|(p, t)| p - t).collect()
        };
        let (first, last) = (added(&mut bends, &poses[0]), added(&mut bends, &poses[1]));
        let mut way = vec![Vec3::zeros(); body.node_count()];
        let mut speed = way.clone();
        for step in 0..steps {
            let at = |s: usize| between.pose_at(s as f64 / steps as f64);
            let [from, to] = &mut frames;
            from.set(&body, Method::Warped, &at(step)).unwrap();
            to.set(&body, Method::Warped, &at(step + 1)).unwrap();
            let part = 1.0 / steps as f64;
            let end = (step + 1) as f64 * part;
            let accelerations = motion
                .accelerate((from, to), (end, part), duration)
                .unwrap();
            let accelerations = accelerations.to_vec();
            motion.advance();
            let rates = motion.rate().unwrap();
            for v in 0..body.node_count() {
                way[v] += rates[v] * duration;
                // From step to step a rate changes by its acceleration; before the first step there is no rate.
                if step > 0 {
                    speed[v] += accelerations[v] * duration;
                    assert!((speed[v] - rates[v]).norm() < 1e-9);
                } else {
                    assert_eq!(accelerations[v], Vec3::zeros());
                    speed[v] = rates[v];
                }
            }
        }
        let most = last.iter().map(Vec3::norm).fold(0.0, f64::max);
        assert!(most > 1e-3, "{most}");
        for (v, way) in way.iter().enumerate() {
            assert!((way - (last[v] - first[v])).norm() < 1e-9, "{v}");
        }
        motion.end();
        assert!(
            motion
                .accelerate((&frames[0], &frames[1]), (1.0, 0.2), duration)
                .is_none()
        );
    }
}
