// SPDX-License-Identifier: MIT OR Apache-2.0
//! Search for the pose: its unknowns, cost and derivatives.

use super::features::Features;
use crate::geometry::rotation::best_rotation;
use crate::progress::Cancelled;
use crate::skeleton::blend_share::BlendShare;
use crate::skeleton::{Affine, BonePoses, Pose, RigidTransform, SkeletonError};
use crate::solve::marquardt::{DampedProblem, damped_step};
use crate::{Mat3, Vec3};
use faer::Mat;
use nalgebra::{Rotation3, UnitQuaternion};

/// Largest turn in one step, rad: about as far as linearised turns lead downhill.
const MAX_STEP_ANGLE: f64 = 0.8;
/// Unknowns of the rigid motion: its displacement in units of distance, then its turn about the features' centre.
const RIGID_UNKNOWNS: usize = 6;

/// Turns of a skeleton, and the pose and features that they give.
#[derive(Debug, Clone)]
pub(super) struct PosedFeatures {
    /// Rigid motion of the whole after the start.
    base: RigidTransform,
    /// Turn of each turning bone against the bone above, in the axes of the start.
    turns: Vec<UnitQuaternion<f64>>,
    /// Moves of the roots that may move, m, in the axes of the start.
    moves: Vec<Vec3>,
    /// Motion of each bone after the start.
    motions: Vec<RigidTransform>,
    /// Pose.
    pub pose: Pose,
    bones: BonePoses,
    /// Positions of the features, m.
    pub places: Vec<Vec3>,
    cost: f64,
}

/// Search for the pose of features at given targets.
pub(super) struct PoseSearch<'a> {
    features: &'a Features<'a>,
    targets: Vec<Vec3>,
}

/// Gradient and approximate second derivatives of the cost (their lower triangle), and the centre of the rigid turn.
pub(super) struct Slopes {
    pub gradient: Vec<f64>,
    hessian: Mat<f64>,
    pub centre: Vec3,
}

impl<'a> PoseSearch<'a> {
    pub fn new(features: &'a Features<'a>, targets: Vec<Vec3>) -> Self {
        Self { features, targets }
    }

    /// Returns the start, moved as a whole to fit the targets best.
    pub fn rigid_start(&self) -> Result<PosedFeatures, SkeletonError> {
        let turns = vec![UnitQuaternion::identity(); self.features.turning.len()];
        let moves = vec![Vec3::zeros(); self.features.moving.len()];
        let start = self.posed(RigidTransform::identity(), turns, moves)?;
        let weights: Option<Vec<f64>> = (self.features.metrics.as_ref())
            .map(|metrics| metrics.iter().map(Mat3::trace).collect());
        let base = best_rigid_motion(&start.places, &self.targets, weights.as_deref());
        let moved = self.posed(base, start.turns.clone(), start.moves.clone())?;
        // Points that may slide along planes can be nearer before the motion that brings them nearest to places.
        let stays = self.features.metrics.is_some() && start.cost <= moved.cost;
        Ok(if stays { start } else { moved })
    }

    /// Returns the same turns with these features and targets.
    pub fn place_again(&self, at: PosedFeatures) -> Result<PosedFeatures, SkeletonError> {
        self.posed(at.base, at.turns, at.moves)
    }

    /// Poses the skeleton and its features.
    fn posed(
        &self,
        base: RigidTransform,
        turns: Vec<UnitQuaternion<f64>>,
        moves: Vec<Vec3>,
    ) -> Result<PosedFeatures, SkeletonError> {
        let Features {
            skeleton,
            start,
            moving,
            ..
        } = self.features;
        let mut motions = vec![base; skeleton.len()];
        for &bone in skeleton.topological_order() {
            let b = bone as usize;
            let above = skeleton.parents()[b].map_or(base, |p| motions[p as usize]);
            if let Ok(t) = self.features.turning.binary_search(&bone) {
                let head = start.maps()[b].apply(skeleton.heads()[b]);
                motions[b] = turn_about(&above, &turns[t], head);
                if let Ok(r) = moving.binary_search(&t) {
                    motions[b].translation += base.rotation * moves[r];
                }
            } else {
                motions[b] = above;
            }
        }
        let map = |(motion, start): (&RigidTransform, &Affine)| Affine {
            linear: motion.rotation.to_rotation_matrix() * start.linear,
            translation: motion.apply(start.translation),
        };
        let pose = Pose::new(motions.iter().zip(start.maps()).map(map).collect())?;
        let bones = BonePoses::new(skeleton, &pose)?;
        let places = self.features.points.iter().enumerate();
        let places: Vec<Vec3> = places
            .map(|(k, &x)| bones.place(self.features.weights.row(k), x))
            .collect();
        Ok(PosedFeatures {
            cost: self.cost(&places, &turns, &moves),
            base,
            turns,
            moves,
            motions,
            pose,
            bones,
            places,
        })
    }

    fn cost(&self, places: &[Vec3], turns: &[UnitQuaternion<f64>], moves: &[Vec3]) -> f64 {
        let off = places.iter().zip(&self.targets);
        let off = off
            .enumerate()
            .map(|(k, (p, target))| match &self.features.metrics {
                Some(metrics) => (p - target).dot(&(metrics[k] * (p - target))),
                None => (p - target).norm_squared(),
            });
        let off: f64 = off.sum();
        let turned: f64 = turns.iter().map(|t| t.scaled_axis().norm_squared()).sum();
        let moved: f64 = moves.iter().map(|m| m.norm_squared()).sum();
        let moved = moved / self.features.unit.powi(2);
        self.distance_weight() * off + self.features.turn_cost * (turned + moved)
    }

    /// Weight of a squared distance, per m². Metrics are one on the mean.
    fn distance_weight(&self) -> f64 {
        1.0 / (self.features.len() as f64 * self.features.unit.powi(2))
    }

    /// Derivatives of a feature's position by all unknowns that move it, as pairs of the first unknown and three columns.
    pub fn feature_derivatives(
        &self,
        at: &PosedFeatures,
        k: usize,
        centre: Vec3,
    ) -> Vec<(usize, Mat3)> {
        let Features {
            skeleton,
            chains,
            turning,
            moving,
            weights,
            unit,
            ..
        } = self.features;
        let first_move = self.first_move();
        let origin = at.bones.posed_origin();
        let place = at.places[k] - origin;
        let mut shares: Vec<(usize, BlendShare)> = Vec::new();
        at.bones.for_each_share(weights.row(k), |bone, share| {
            for &t in &chains[bone as usize] {
                match shares.iter_mut().find(|(other, _)| *other == t) {
                    Some((_, sum)) => sum.add(&share),
                    None => shares.push((t, share)),
                }
            }
        });
        let turns = shares.iter().map(|(t, share)| {
            let b = turning[*t] as usize;
            let head = at.pose.maps()[b].apply(skeleton.heads()[b]) - origin;
            (RIGID_UNKNOWNS + 3 * t, share.derivative(place, head))
        });
        let moves = shares.iter().filter_map(|(t, share)| {
            let r = moving.binary_search(t).ok()?;
            Some((first_move + 3 * r, share.move_derivative() * *unit))
        });
        let rigid = [
            (0, Mat3::from_diagonal_element(*unit)),
            (3, -(at.places[k] - centre).cross_matrix()),
        ];
        rigid.into_iter().chain(turns).chain(moves).collect()
    }

    /// Moves and turns by a step; all turns are in world axes and act at once.
    pub fn stepped(
        &self,
        at: &PosedFeatures,
        step: &[f64],
        centre: Vec3,
    ) -> Result<PosedFeatures, SkeletonError> {
        let vector = |i: usize| Vec3::from_column_slice(&step[i..i + 3]);
        let mut base = turn_about(
            &RigidTransform::identity(),
            &UnitQuaternion::from_scaled_axis(vector(3)),
            centre,
        );
        base.translation += vector(0) * self.features.unit;
        let base = RigidTransform {
            rotation: renormalised(base.rotation * at.base.rotation),
            translation: base.apply(at.base.translation),
        };
        let turns = at.turns.iter().enumerate().map(|(t, turn)| {
            let axes = self.axes_above(at, t);
            let more = axes.inverse() * vector(RIGID_UNKNOWNS + 3 * t);
            renormalised(UnitQuaternion::from_scaled_axis(more) * turn)
        });
        let moves = at.moves.iter().enumerate().map(|(r, moved)| {
            let more = vector(self.first_move() + 3 * r) * self.features.unit;
            moved + at.base.rotation.inverse() * more
        });
        self.posed(base, turns.collect(), moves.collect())
    }

    /// Returns the first unknown of the roots' moves, which follow the turns; in units of distance.
    fn first_move(&self) -> usize {
        RIGID_UNKNOWNS + 3 * self.features.turning.len()
    }

    /// Returns the rotation since the start of the bone above a turning one.
    fn axes_above(&self, at: &PosedFeatures, turning: usize) -> UnitQuaternion<f64> {
        let bone = self.features.turning[turning] as usize;
        let parent = self.features.skeleton.parents()[bone];
        parent.map_or(at.base, |p| at.motions[p as usize]).rotation
    }
}

impl DampedProblem for PoseSearch<'_> {
    type SearchPoint = PosedFeatures;
    type Derivatives = Slopes;
    type Error = Cancelled;

    fn energy(&self, at: &PosedFeatures) -> f64 {
        at.cost
    }

    fn derivatives(&mut self, at: &PosedFeatures) -> Result<Option<Slopes>, Cancelled> {
        let unknowns = self.first_move() + 3 * at.moves.len();
        let centre = mean(&at.places);
        let mut gradient = vec![0.0; unknowns];
        let mut hessian = Mat::<f64>::zeros(unknowns, unknowns);
        let (weight, turn_cost) = (2.0 * self.distance_weight(), self.features.turn_cost);
        for (k, target) in self.targets.iter().enumerate() {
            let off = at.places[k] - target;
            let columns = self.feature_derivatives(at, k, centre);
            let metric = self.features.metrics.as_ref().map(|metrics| metrics[k]);
            for (i, a) in &columns {
                let a = &metric.map_or(*a, |m| m * a);
                let slope = a.tr_mul(&off) * weight;
                (0..3).for_each(|r| gradient[i + r] += slope[r]);
                for (j, b) in columns.iter().filter(|(j, _)| j <= i) {
                    let block = a.tr_mul(b) * weight;
                    for (r, c) in (0..9).map(|n| (n % 3, n / 3)) {
                        hessian[(i + r, j + c)] += block[(r, c)];
                    }
                }
            }
        }
        let turns = at.turns.iter().enumerate();
        let turns = turns.map(|(t, turn)| self.axes_above(at, t) * turn.scaled_axis());
        let moves = at.moves.iter();
        let moves = moves.map(|moved| at.base.rotation * moved / self.features.unit);
        for (n, from_start) in turns.chain(moves).enumerate() {
            for r in 0..3 {
                let i = RIGID_UNKNOWNS + 3 * n + r;
                gradient[i] += 2.0 * turn_cost * from_start[r];
                hessian[(i, i)] += 2.0 * turn_cost;
            }
        }
        Ok(Some(Slopes {
            gradient,
            hessian,
            centre,
        }))
    }

    fn find_lower(
        &mut self,
        at: &PosedFeatures,
        slopes: &Slopes,
        damping: f64,
    ) -> Option<(PosedFeatures, f64)> {
        let free = vec![false; slopes.gradient.len()];
        let mut step = damped_step(&slopes.hessian, &slopes.gradient, &free, damping)?;
        let turns = step[3..self.first_move()].chunks_exact(3);
        let angles = turns.map(Vec3::from_column_slice);
        let largest = angles.map(|turn| turn.norm()).fold(0.0, f64::max);
        let share = if largest > MAX_STEP_ANGLE {
            MAX_STEP_ANGLE / largest
        } else {
            1.0
        };
        step.iter_mut().for_each(|x| *x *= share);
        let next = self.stepped(at, &step, slopes.centre).ok()?;
        (next.cost < at.cost).then_some((next, share))
    }
}

/// Returns a motion after a turn about a point: `x → motion(turn (x − about) + about)`.
fn turn_about(motion: &RigidTransform, turn: &UnitQuaternion<f64>, about: Vec3) -> RigidTransform {
    let rotation = renormalised(motion.rotation * turn);
    RigidTransform {
        rotation,
        translation: motion.apply(about) - rotation * about,
    }
}

/// Returns a rotation without the rounding of its products, which would grow along chains of bones and over steps.
fn renormalised(rotation: UnitQuaternion<f64>) -> UnitQuaternion<f64> {
    UnitQuaternion::new_normalize(rotation.into_inner())
}

/// Returns the rigid motion that carries points, weighted or all alike, nearest to their targets. [kabsch1976]
fn best_rigid_motion(points: &[Vec3], targets: &[Vec3], weights: Option<&[f64]>) -> RigidTransform {
    let weight = |k: usize| weights.map_or(1.0, |w| w[k]);
    let centre_of = |points: &[Vec3]| match weights {
        Some(weights) => weighted_mean(points, weights),
        None => mean(points),
    };
    let (centre, goal) = (centre_of(points), centre_of(targets));
    let pairs = points.iter().zip(targets).enumerate();
    let moment: Mat3 = pairs
        .map(|(k, (p, t))| weight(k) * (t - goal) * (p - centre).transpose())
        .sum();
    let rotation = best_rotation(&moment).unwrap_or_else(Mat3::identity);
    let rotation =
        UnitQuaternion::from_rotation_matrix(&Rotation3::from_matrix_unchecked(rotation));
    RigidTransform {
        rotation,
        translation: goal - rotation * centre,
    }
}

fn mean(points: &[Vec3]) -> Vec3 {
    points.iter().sum::<Vec3>() / points.len() as f64
}

fn weighted_mean(points: &[Vec3], weights: &[f64]) -> Vec3 {
    let sum = points.iter().zip(weights).map(|(p, w)| p * *w);
    sum.sum::<Vec3>() / weights.iter().sum::<f64>()
}
