// SPDX-License-Identifier: MIT OR Apache-2.0
//! Features of a skeleton, checked, and the bones that they may turn.

use crate::geometry::aabb::diagonal;
use crate::geometry::moments::BodyMoments;
use crate::range::{is_position, is_sound, max_abs_entry};
use crate::skeleton::{Pose, Skeleton, SkeletonError, SkinWeights};
use crate::{Mat3, Vec3};

/// Share of the size that counts as one unit of distance.
const DISTANCE_UNIT: f64 = 0.1;
/// Width over length of a set of points that counts as a line. Positions in single precision are on a line to 1e-7.
const LINE_WIDTH: f64 = 1e-5;

/// Slack of the symmetry of a metric, and of its smallest eigenvalue, as a share of its largest entry: n nᵀ of single precision.
const METRIC_ROUNDING: f64 = 1e-6;

/// Options of a fit of a pose.
#[derive(Debug, Clone)]
pub struct PoseFitSettings {
    /// Pose at which the search starts, and from which turns are measured. `None`: the rest pose.
    pub start: Option<Pose>,
    /// Bones that may turn; others follow the bone above as at the start. `None`: all of which features tell.
    pub bones: Option<Vec<u32>>,
    /// Weight μ of the turns from the start, per rad², and of the roots' moves, per squared unit of distance, a tenth of the size.
    /// Default: 1e-7, so that a turn of 1 rad costs as much as features that are all off by 3e-5 sizes.
    /// Features that are off by a share e of the size want some hundred e².
    pub turn_cost: f64,
    /// Weight of each feature's squared distance, rᵀ M r, symmetric and positive semidefinite: the identity for a place in space,
    /// n nᵀ for a plane across n. `None`: identities.
    pub metrics: Option<Vec<Mat3>>,
}

impl Default for PoseFitSettings {
    fn default() -> Self {
        Self {
            start: None,
            bones: None,
            turn_cost: 1e-7,
            metrics: None,
        }
    }
}

impl PoseFitSettings {
    /// Refuses a cost and metrics that are not sound.
    fn check(&self, features: usize) -> Result<(), SkeletonError> {
        let cost = self.turn_cost;
        if !(cost > 0.0 && is_sound(cost)) {
            return Err(SkeletonError::TurnCost { cost });
        }
        let check = |metrics: &Vec<Mat3>| check_metrics(metrics, features);
        self.metrics.as_ref().map_or(Ok(()), check)
    }
}

/// Features with weights, and the bones that may turn.
pub(super) struct Features<'a> {
    pub skeleton: &'a Skeleton,
    pub start: Pose,
    /// Rest positions with displacements, m.
    pub points: Vec<Vec3>,
    rest: Vec<Vec3>,
    pub weights: SkinWeights,
    /// Index of each feature among those passed in.
    used: Vec<usize>,
    /// Number of features passed in.
    given: usize,
    /// Bones that may turn.
    pub turning: Vec<u32>,
    /// Bones of `turning` without a bone above, as indices into it. They may also move.
    pub moving: Vec<usize>,
    /// Each bone and those above it that may turn, as indices into `turning`.
    pub chains: Vec<Vec<usize>>,
    /// Unit of distance, m.
    pub unit: f64,
    /// Weight μ of the turns.
    pub turn_cost: f64,
    /// Weight of each feature's squared distance, in all their number. `None`: identities.
    pub metrics: Option<Vec<Mat3>>,
}

impl<'a> Features<'a> {
    /// Checks features and finds the bones of which they tell.
    pub fn new(
        skeleton: &'a Skeleton,
        points: &[Vec3],
        weights: &SkinWeights,
        settings: &PoseFitSettings,
    ) -> Result<Self, SkeletonError> {
        let (bones, given) = (skeleton.len(), points.len());
        if weights.len() != given || weights.bone_count != bones {
            return Err(SkeletonError::WeightCount {
                expected: given * bones,
                given: weights.len() * weights.bone_count,
            });
        }
        check_positions(points, "feature")?;
        settings.check(given)?;
        let allowed = allowed_bones(bones, settings.bones.as_deref())?;
        let start = settings.start.clone();
        let start = start.unwrap_or_else(|| Pose::rest(bones));
        start.check(skeleton)?;

        let has_weights = |&k: &usize| weights.row(k).next().is_some();
        let used: Vec<usize> = (0..given).filter(has_weights).collect();
        let rows = used.iter().map(|&k| weights.row(k).collect::<Vec<_>>());
        let weights = SkinWeights::from_rows(bones, rows)?;
        let points: Vec<Vec3> = used.iter().map(|&k| points[k]).collect();
        if points.len() < 3 {
            let features = points.len();
            return Err(SkeletonError::FeatureCount { features });
        }
        refuse_line(&points, "features")?;
        let ends = skeleton.heads().iter().chain(skeleton.tails());
        let size = diagonal(ends.chain(&points)) * start.scale();
        let metrics = settings.metrics.as_ref();
        let metrics = metrics.map(|m| scaled_metrics(used.iter().map(|&k| m[k])));
        let metrics = metrics.transpose()?;
        let turning = turning_bones(skeleton, &weights, &allowed);
        let is_root = |&t: &usize| skeleton.parents()[turning[t] as usize].is_none();
        Ok(Self {
            moving: (0..turning.len()).filter(is_root).collect(),
            chains: chains(skeleton, &turning),
            skeleton,
            start,
            rest: points.clone(),
            points,
            weights,
            given,
            turning,
            metrics,
            used,
            unit: DISTANCE_UNIT * size,
            turn_cost: settings.turn_cost,
        })
    }

    /// Returns the targets of the features with weights.
    pub fn used_targets(&self, targets: &[Vec3]) -> Result<Vec<Vec3>, SkeletonError> {
        if targets.len() != self.given {
            return Err(SkeletonError::TargetCount {
                features: self.given,
                targets: targets.len(),
            });
        }
        check_positions(targets, "target")?;
        let targets: Vec<Vec3> = self.used.iter().map(|&k| targets[k]).collect();
        refuse_line(&targets, "targets")?;
        Ok(targets)
    }

    /// Displaces the rest positions of the features, all that were passed in.
    pub fn displace(&mut self, displacements: &[Vec3]) {
        for ((point, rest), &k) in self.points.iter_mut().zip(&self.rest).zip(&self.used) {
            *point = rest + displacements[k];
        }
    }

    /// Returns the number of features.
    pub fn len(&self) -> usize {
        self.points.len()
    }
}

fn check_positions(positions: &[Vec3], noun: &'static str) -> Result<(), SkeletonError> {
    match positions.iter().position(|p| !is_position(p)) {
        Some(index) => Err(SkeletonError::FeatureNonFinite { noun, index }),
        None => Ok(()),
    }
}

/// Refuses metrics of another number, and matrices that are not symmetric and positive semidefinite.
fn check_metrics(metrics: &[Mat3], features: usize) -> Result<(), SkeletonError> {
    if metrics.len() != features {
        let metrics = metrics.len();
        return Err(SkeletonError::MetricCount { features, metrics });
    }
    let is_metric = |m: &Mat3| {
        let slack = METRIC_ROUNDING * max_abs_entry(m);
        is_sound(max_abs_entry(m))
            && (m - m.transpose()).amax() <= slack
            && m.symmetric_eigenvalues().min() >= -slack
    };
    match metrics.iter().position(|m| !is_metric(m)) {
        Some(index) => Err(SkeletonError::Metric { index }),
        None => Ok(()),
    }
}

/// Returns metrics, made symmetric and scaled so that a third of their traces is one on the mean, as of identities.
fn scaled_metrics(metrics: impl Iterator<Item = Mat3>) -> Result<Vec<Mat3>, SkeletonError> {
    let metrics: Vec<Mat3> = metrics.map(|m| 0.5 * (m + m.transpose())).collect();
    let mean = metrics.iter().map(Mat3::trace).sum::<f64>() / (3 * metrics.len()) as f64;
    if !(mean > 0.0 && (1.0 / mean).is_finite()) {
        return Err(SkeletonError::NoMetric);
    }
    Ok(metrics.into_iter().map(|m| m / mean).collect())
}

/// Refuses points in a line, about which they could turn freely.
fn refuse_line(points: &[Vec3], noun: &'static str) -> Result<(), SkeletonError> {
    let moments = BodyMoments::from_points(points.iter().map(|&p| (p, 1.0)));
    let spreads = moments.map_or(Vec3::zeros(), |m| m.axes().1);
    if spreads[1] > LINE_WIDTH * LINE_WIDTH * spreads[0] {
        Ok(())
    } else {
        Err(SkeletonError::FeatureLine { noun })
    }
}

/// Returns for each bone whether it may turn.
fn allowed_bones(bones: usize, wanted: Option<&[u32]>) -> Result<Vec<bool>, SkeletonError> {
    let Some(wanted) = wanted else {
        return Ok(vec![true; bones]);
    };
    let mut allowed = vec![false; bones];
    for &bone in wanted {
        let slot = allowed.get_mut(bone as usize);
        *slot.ok_or(SkeletonError::UnknownBone { bone, bones })? = true;
    }
    Ok(allowed)
}

/// Returns the bones of which features tell: those that, with the bones below them, carry a part of some feature and not all of every one.
/// A bone that carries all features wholly turns them as the rigid motion does. A root is among them only beside other roots with skin.
fn turning_bones(skeleton: &Skeleton, weights: &SkinWeights, allowed: &[bool]) -> Vec<u32> {
    /// Weight below which rows that sum to one differ by rounding.
    const ROUNDING: f64 = 1e-9;
    let bones = skeleton.len();
    let (mut least, mut most) = (vec![1.0_f64; bones], vec![0.0_f64; bones]);
    for k in 0..weights.len() {
        let mut carried = vec![0.0; bones];
        for (bone, weight) in weights.row(k) {
            carried[bone as usize] += weight;
        }
        for &bone in skeleton.topological_order().iter().rev() {
            if let Some(parent) = skeleton.parents()[bone as usize] {
                carried[parent as usize] += carried[bone as usize];
            }
        }
        for (b, share) in carried.into_iter().enumerate() {
            least[b] = least[b].min(share);
            most[b] = most[b].max(share);
        }
    }
    (0..bones as u32)
        .filter(|&b| allowed[b as usize])
        .filter(|&b| most[b as usize] > ROUNDING && least[b as usize] < 1.0 - ROUNDING)
        .collect()
}

/// Returns for each bone the turning ones among itself and those above it, as indices into `turning`.
fn chains(skeleton: &Skeleton, turning: &[u32]) -> Vec<Vec<usize>> {
    let mut chains: Vec<Vec<usize>> = vec![Vec::new(); skeleton.len()];
    for &bone in skeleton.topological_order() {
        let parent = skeleton.parents()[bone as usize];
        let mut chain = parent.map_or_else(Vec::new, |p| chains[p as usize].clone());
        chain.extend(turning.binary_search(&bone));
        chains[bone as usize] = chain;
    }
    chains
}
