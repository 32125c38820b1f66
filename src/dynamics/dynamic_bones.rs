// SPDX-License-Identifier: MIT OR Apache-2.0
//! Dynamic bones: a tail, an ear or a pigtail whose bones follow the flesh. [capell2006, §6, future work]
//!
//! **Motion.** The chosen bones, with all below them, hold no flesh ([`Body::with_free_bones`]). The flesh around them is elastic about the shape
//! that the animated bones give it, made firmer by a factor, as a limb without bones is far too soft. It is simulated through the poses.
//!
//! **Turns.** The flesh of each bone then counts as one rigid body: D is the rotation that brings its nodes from where the animated bones carry
//! them to where they are, in least squares weighted by mass and squared region weight [kabsch1976]. Relative to the bone above, D is kept within
//! a limit. From the top down each bone turns by D about its head, which its parent carries, so that no joint opens.
//!
//! Deviations from the sketch in the paper, which has one rigid body per bone in the equations of motion: here flesh bends inside a bone while it
//! moves, and only the result is rigid; limits act on the result, not on the motion. The poses drive the body itself afterwards, whose flesh then
//! sways on the moved bones.

use super::skinned::SkinnedLattice;
use super::{Method, Simulation, SimulationError, SimulationSettings};
use crate::body::{Body, STIFFNESS_FACTORS};
use crate::geometry::rotation::best_rotation;
use crate::geometry::rotation_vector;
use crate::progress::{Progress, report_progress};
use crate::skeleton::{Affine, FrameMotion, Pose, Skeleton};
use crate::{Mat3, Vec3};
use nalgebra::Rotation3;
use std::sync::Arc;

/// Settings of dynamic bones.
#[derive(Debug, Clone, PartialEq)]
pub struct DynamicBoneSettings {
    /// Bones that follow the flesh; all below them do too.
    pub bones: Vec<u32>,
    /// Frames per second.
    pub fps: f64,
    /// Factor on the stiffness of the flesh around them, in [`STIFFNESS_FACTORS`].
    pub firmness: f64,
    /// Largest turn of a bone against the one above, beyond the animated one, radians.
    pub limit: f64,
    /// Settings of the motion.
    pub simulation: SimulationSettings,
}

impl DynamicBoneSettings {
    /// Default of [`firmness`](Self::firmness): a tail of flesh half a metre long and 5 cm thick then swings about once in three seconds, without it
    /// once in eight.
    pub const FIRMNESS: f64 = 8.0;

    /// Creates the settings of some bones, without a limit.
    pub fn new(bones: Vec<u32>, fps: f64) -> Self {
        Self {
            bones,
            fps,
            firmness: Self::FIRMNESS,
            limit: f64::INFINITY,
            simulation: SimulationSettings::default(),
        }
    }

    fn check(&self) -> Result<(), SimulationError> {
        let wrong = |what, range, value| Err(SimulationError::Setting { what, range, value });
        if !(1e-3..=1e5).contains(&self.fps) {
            return wrong(
                "fps",
                "between 0.001 and 100000 frames per second",
                self.fps,
            );
        }
        if !(STIFFNESS_FACTORS.0..=STIFFNESS_FACTORS.1).contains(&self.firmness) {
            return wrong("firmness", "between 0.1 and 100", self.firmness);
        }
        if self.limit.is_nan() || self.limit < 0.0 {
            return wrong("limit", "an angle of 0 or more", self.limit);
        }
        match self.bones.is_empty() {
            true => Err(SimulationError::NoDynamicBones),
            false => Ok(()),
        }
    }
}

/// Returns the poses in which the chosen bones follow the flesh through `poses`. The first pose is settled, and the flesh starts with the velocity of
/// its bones.
///
/// # Errors
/// A setting out of range; unknown bones, or ones without another bone to hang on; a method whose stiffness cannot change; poses that do not
/// fit; cancellation.
pub fn follow_bones(
    body: &Arc<Body>,
    poses: &[Pose],
    settings: &DynamicBoneSettings,
    progress: &dyn Progress,
) -> Result<Vec<Pose>, SimulationError> {
    let mut flesh = FreedFlesh::new(body, settings)?;
    let Some(first) = poses.first() else {
        return Ok(Vec::new());
    };
    let mut simulation = Simulation::new(flesh.body.clone(), settings.simulation.clone())?;
    if settings.firmness != 1.0 {
        simulation.set_stiffness(Some(&flesh.factors()))?;
    }
    report_progress(progress, 0.0, "settling the flesh")?;
    simulation.reset_with_progress(first, true, None, progress)?;
    let (skeleton, dt) = (body.skeleton(), 1.0 / settings.fps);
    let mut followed = Vec::with_capacity(poses.len());
    for (i, pose) in poses.iter().enumerate() {
        if i > 0 {
            let motion = FrameMotion::from_pose_series(skeleton, poses, i - 1)?;
            if i == 1 {
                simulation.match_bone_velocities(&motion, dt)?;
            }
            let done = i as f64 / poses.len() as f64;
            let stage = format!("simulating frame {i}");
            report_progress(progress, done, &stage)?;
            let same = |_: f64, _: &str| progress.report(done, &stage);
            simulation.advance_motion(&motion, dt, (None, None), &same)?;
        }
        followed.push(flesh.follow(simulation.lattice_positions(), simulation.sway(), pose)?);
    }
    report_progress(progress, 1.0, "simulated")?;
    Ok(followed)
}

/// Flesh around bones that follow it.
pub(crate) struct FreedFlesh {
    /// The body without the hold of these bones.
    pub body: Arc<Body>,
    freed: Vec<u32>,
    firmness: f64,
    follower: BoneFollower,
    skinned: SkinnedLattice,
    method: Method,
}

impl FreedFlesh {
    /// Frees the flesh of bones.
    ///
    /// # Errors
    /// Errors of [`follow_bones`] that are not of poses.
    pub fn new(body: &Arc<Body>, settings: &DynamicBoneSettings) -> Result<Self, SimulationError> {
        settings.check()?;
        let method = settings.simulation.method;
        if !method.follows_stiffness() {
            return Err(SimulationError::DynamicBoneMethod { method });
        }
        if body.basis().levels() > 0 {
            return Err(SimulationError::DynamicBoneDetails);
        }
        let freed = body.bones_below(&settings.bones)?;
        let body = Arc::new(body.with_free_bones(&settings.bones)?);
        Ok(Self {
            follower: BoneFollower::new(&body, &freed, settings.limit)?,
            skinned: SkinnedLattice::new(&body)?,
            firmness: settings.firmness,
            freed,
            body,
            method,
        })
    }

    /// Returns the factors on the stiffness of each cell, which make this flesh firm.
    pub fn factors(&self) -> Vec<f64> {
        firm_factors(&self.body, &self.freed, self.firmness)
    }

    /// Returns the pose in which the bones follow the flesh at positions `[nodes]` with a sway, if it is known, from the animated pose.
    pub fn follow(
        &mut self,
        positions: &[Vec3],
        sway: Option<&[Vec3]>,
        pose: &Pose,
    ) -> Result<Pose, SimulationError> {
        self.skinned.set(&self.body, self.method, pose)?;
        let places = &self.skinned.places;
        let sway = |v: u32| match sway {
            Some(sway) => sway[v as usize],
            None => positions[v as usize] - places[v as usize],
        };
        self.follower
            .follow(self.body.skeleton(), (places, &sway), pose)
    }
}

/// Returns the factors on the stiffness of each cell: the more its flesh follows the freed bones, the nearer to `firmness`.
fn firm_factors(body: &Body, freed: &[u32], firmness: f64) -> Vec<f64> {
    let of_cell = |cell: u32| {
        let elements = body.basis().elements(cell);
        let shares = elements
            .clone()
            .map(|element| share_of(body.cell_weights().row(element as usize), freed));
        let factor = 1.0 + (firmness - 1.0) * shares.sum::<f64>() / elements.len().max(1) as f64;
        // Weights that sum to one do so by rounding.
        factor.clamp(STIFFNESS_FACTORS.0, STIFFNESS_FACTORS.1)
    };
    (0..body.lattice().cells().len() as u32)
        .map(of_cell)
        .collect()
}

/// Returns the sum of weights of some bones.
fn share_of(row: impl Iterator<Item = (u32, f64)>, bones: &[u32]) -> f64 {
    let own = row.filter(|(b, _)| bones.binary_search(b).is_ok());
    own.map(|(_, w)| w).sum()
}

/// The flesh of each freed bone, as weighted nodes.
struct BoneFollower {
    /// Freed bones, each after the one above.
    order: Vec<u32>,
    /// Nodes of each, with weights in kg, which sum to more than zero; a bone without flesh follows the one above.
    nodes: Vec<Vec<(u32, f64)>>,
    limit: f64,
}

impl BoneFollower {
    fn new(body: &Body, freed: &[u32], limit: f64) -> Result<Self, SimulationError> {
        let topological = body.skeleton().topological_order().iter();
        let order: Vec<u32> = topological
            .filter(|b| freed.binary_search(b).is_ok())
            .copied()
            .collect();
        let of_bone = |&bone: &u32| {
            let placed = 0..body.basis().coarse_len() as u32;
            let weighted = placed.filter_map(|v| {
                let share = share_of(body.region_weights().row(v as usize), &[bone]);
                let weight = share * share * body.carried_mass(v as usize);
                (weight > 0.0).then_some((v, weight))
            });
            weighted.collect()
        };
        let nodes: Vec<Vec<(u32, f64)>> = order.iter().map(of_bone).collect();
        match nodes.iter().all(Vec::is_empty) {
            true => Err(SimulationError::NoDynamicBones),
            false => Ok(Self {
                order,
                nodes,
                limit,
            }),
        }
    }

    /// Returns the pose in which the freed bones follow the flesh, from the animated one.
    fn follow(
        &self,
        skeleton: &Skeleton,
        (places, sway): (&[Vec3], &dyn Fn(u32) -> Vec3),
        pose: &Pose,
    ) -> Result<Pose, SimulationError> {
        let mut maps = pose.maps().to_vec();
        let mut turns = vec![Mat3::identity(); maps.len()];
        for (&bone, nodes) in self.order.iter().zip(&self.nodes) {
            let b = bone as usize;
            let above = skeleton.parents()[b].map(|p| p as usize);
            let carrying = above.map_or(Mat3::identity(), |p| turns[p]);
            let own = fitted_turn(nodes, places, sway).unwrap_or(carrying);
            turns[b] = carrying * limited(&(carrying.transpose() * own), self.limit);
            let animated = pose.maps()[b];
            let head = animated.apply(skeleton.heads()[b]);
            // Where the bone above carries the head, which it may be stretched away from.
            let carried = above.map_or(head, |p| carry(&pose.maps()[p], &maps[p], head));
            let linear = turns[b] * animated.linear;
            maps[b] = Affine {
                linear,
                translation: carried - linear * skeleton.heads()[b],
            };
        }
        Ok(Pose::new(maps)?)
    }
}

/// Returns the rotation that brings nodes from their places to those with their sway; `None`: without nodes off a line.
fn fitted_turn(nodes: &[(u32, f64)], places: &[Vec3], sway: impl Fn(u32) -> Vec3) -> Option<Mat3> {
    let total: f64 = nodes.iter().map(|n| n.1).sum();
    let mean = |of: &dyn Fn(u32) -> Vec3| -> Vec3 {
        nodes.iter().map(|&(v, w)| of(v) * (w / total)).sum()
    };
    let (from, moved) = (mean(&|v| places[v as usize]), mean(&sway));
    let (mut sum, mut spread) = (Mat3::zeros(), Mat3::zeros());
    for &(v, w) in nodes {
        let x = places[v as usize] - from;
        sum += (x + sway(v) - moved) * x.transpose() * w;
        spread += x * x.transpose() * w;
    }
    let sizes = spread.symmetric_eigenvalues();
    let second = sizes.sum() - sizes.max() - sizes.min();
    // Nodes on a line leave the turn about it free.
    (second > 1e-9 * sizes.max())
        .then(|| best_rotation(&sum))
        .flatten()
}

/// Returns a rotation with an angle of at most `limit`, radians.
fn limited(turn: &Mat3, limit: f64) -> Mat3 {
    let vector = Rotation3::from_matrix_unchecked(*turn).scaled_axis();
    match vector.norm() > limit {
        true => rotation_vector::rotation(&(vector * (limit / vector.norm()))),
        false => *turn,
    }
}

/// Returns where a bone carries a point of its animated pose to when its map changes.
fn carry(animated: &Affine, moved: &Affine, point: Vec3) -> Vec3 {
    match animated.linear.try_inverse() {
        Some(back) => moved.apply(back * (point - animated.translation)),
        None => point,
    }
}
