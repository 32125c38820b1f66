// SPDX-License-Identifier: MIT OR Apache-2.0
//! Pose from features: turns of bones that bring points of the skin to known positions. [capell2006, §4.3.1, eq. 22]
//!
//! **Problem.** A feature is a point of the rest skin with weights of bones and a target p̄_k. Unknowns are one rigid motion of the whole,
//! and a turn of each bone of which features tell, about its head, which takes along all bones below it. Where several roots carry skin, such
//! as the bones of feet that goals lead, each of them also has a displacement. They minimise
//!
//! `Σ (p_k − p̄_k)ᵀ M_k (p_k − p̄_k) / (N (s/10)²) + μ (Σ |θ_b|² + Σ |t_r|² / (s/10)²)`
//!
//! over N features, with metrics M_k that are one on the mean: the identity for places, n nᵀ for planes, as of the nearest points of a scan
//! [chen1992]. p_k is the dual-quaternion skin, s the diagonal of the box around bones and features at rest, θ_b the rotation vector
//! of bone b's turn against the bone above, and t_r the displacement of root r.
//!
//! **Method.** Damped Gauss-Newton steps ([`marquardt`](crate::solve::marquardt)) from the best rigid fit [kabsch1976]. The derivatives of
//! the skin are exact ([`BlendShare`](super::blend_share::BlendShare)). Turns are unit quaternions, so they stay rotations.
//!
//! **Deviations.** The paper minimises the distances alone by L-BFGS-B. Sums of squares converge in a few damped steps, and μ makes turns
//! unique that features show badly. It also keeps rough features from turning bones far that move little skin: a turn stays as it is
//! at the start unless that costs more than μ.
//!
//! **Cost.** Per step, products of the unknowns on each feature's chains of bones, and one dense factorisation.
//!
//! **Failure.** A local minimum: a pose far from the start can come back with a limb bent the other way. With one feature per bone the twist
//! is free, and μ keeps it at the start's. No turn explains bones that stretch or move away from their joints; some distance then remains.

mod features;
mod search;
#[cfg(test)]
mod tests;

use super::{Pose, Skeleton, SkeletonError, SkinWeights};
use crate::Vec3;
use crate::progress::{Progress, Silent};
use crate::solve::marquardt::{self, MarquardtSettings};
use features::Features;
pub use features::PoseFitSettings;
use search::{PoseSearch, PosedFeatures};

/// Returns the pose that brings features nearest to their targets.
///
/// Features are rest positions `points[p]` (m) with skin weights `weights[p]`; `targets[p]` are their positions in the world (m). Features
/// without weights follow no bone and are ignored.
///
/// # Errors
/// Numbers of points, weights and targets that differ; positions that are not finite; fewer than three features; features or targets in a
/// line; a start with another number of bones; bones that do not exist; a cost of turns that is not above 0 and finite; metrics of another
/// number, that are not symmetric and positive semidefinite, or all zero.
///
/// ```
/// use thew::Vec3;
/// use thew::skeleton::{BonePoses, PoseFitSettings, Skeleton, SkinWeights, fit_pose};
///
/// let (hip, knee, foot) = (Vec3::zeros(), Vec3::new(0.0, 0.0, -0.5), Vec3::new(0.0, 0.0, -1.0));
/// let names = vec!["thigh".into(), "shin".into()];
/// let leg = Skeleton::new(names, vec![None, Some(0)], vec![hip, knee], vec![knee, foot])?;
/// // Three features on each bone.
/// let on_bone = |x: f64| [[0.1, 0.0, -x], [-0.1, 0.0, -x - 0.1], [0.0, 0.1, -x - 0.2]].map(Vec3::from);
/// let points = [on_bone(0.1), on_bone(0.6)].concat();
/// let weights = SkinWeights::from_rows(2, (0..6).map(|k| [(k / 3, 1.0)]))?;
/// // The shin is bent by 1 rad about the knee.
/// let bend = nalgebra::Rotation3::from_axis_angle(&Vec3::x_axis(), 1.0);
/// let mut targets = points.clone();
/// targets[3..].iter_mut().for_each(|p| *p = knee + bend * (*p - knee));
/// let pose = fit_pose(&leg, &points, &weights, &targets, &PoseFitSettings::default())?;
/// let turn = BonePoses::new(&leg, &pose)?.bone_rotation(1);
/// assert!((turn.angle() - 1.0).abs() < 1e-4);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn fit_pose(
    skeleton: &Skeleton,
    points: &[Vec3],
    weights: &SkinWeights,
    targets: &[Vec3],
    settings: &PoseFitSettings,
) -> Result<Pose, SkeletonError> {
    let still = vec![Vec3::zeros(); points.len()];
    PoseFit::new(skeleton, points, weights, settings)?.fit(&still, targets, &Silent)
}

/// Repeated fits of a pose to the same features. Each continues from the pose of the last.
pub(crate) struct PoseFit<'a> {
    features: Features<'a>,
    last: Option<PosedFeatures>,
}

impl<'a> PoseFit<'a> {
    /// Prepares fits to features.
    ///
    /// # Errors
    /// Errors of [`fit_pose`], except for targets.
    pub fn new(
        skeleton: &'a Skeleton,
        points: &[Vec3],
        weights: &SkinWeights,
        settings: &PoseFitSettings,
    ) -> Result<Self, SkeletonError> {
        Ok(Self {
            features: Features::new(skeleton, points, weights, settings)?,
            last: None,
        })
    }

    /// Returns the pose that brings the features, displaced at rest by some vectors, nearest to their targets.
    ///
    /// # Errors
    /// Targets of another number, not finite or in a line; a stop by the progress.
    pub fn fit(
        &mut self,
        displacements: &[Vec3],
        targets: &[Vec3],
        progress: &dyn Progress,
    ) -> Result<Pose, SkeletonError> {
        /// Steps stop when two in a row lower the cost by less than a thousandth, or do not lower it. The least damping
        /// leaves room for twists that a few features hardly show.
        const SETTINGS: MarquardtSettings = MarquardtSettings {
            steps: 60,
            tries: 8,
            least: 1e-9,
            factors: [6.0, 4.0],
            little: (1e-3, 2),
            settled: f64::INFINITY,
        };
        let targets = self.features.used_targets(targets)?;
        self.features.displace(displacements);
        let mut search = PoseSearch::new(&self.features, targets);
        let start = match self.last.take() {
            Some(last) => search.place_again(last)?,
            None => search.rigid_start()?,
        };
        let found = marquardt::minimise(
            &mut search,
            start,
            &SETTINGS,
            (progress, "fitting the pose"),
        )?;
        let pose = found.pose.clone();
        self.last = Some(found);
        Ok(pose)
    }
}
