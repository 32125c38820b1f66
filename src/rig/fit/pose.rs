// SPDX-License-Identifier: MIT OR Apache-2.0
//! Pose at which flesh in balance brings features of the skin to known positions. [capell2006, §4.3.1, eq. 22]
//!
//! **Method.** The pose decides where the skin is, and flesh adds its own displacement. The features' displacements in the axes of their bones
//! are frozen and a pose is fitted with them ([`skeleton::fit_pose`](crate::skeleton::fit_pose)); the balance there gives new ones. Where flesh is
//! coarse it follows a bone by little more than half of the skin's turn, and plain repetition converges slowly. [`Anderson`]'s acceleration brings
//! bent limbs from 40° to a hundredth of a degree in a dozen rounds, and fine flesh in half of them.
//!
//! **Deviation.** The paper's points are those of the skeleton's own deformation; here they are those of flesh under its weight.
//!
//! **Cost.** One balance and a few steps of the fit per round.
//!
//! **Failure.** A turn that flesh hardly follows, as that of a bone's end or of a shoulder blade without flesh of its own, is hardly found: the
//! rounds do not come to rest, and the result says so.

use super::{RigFitError, SkinTarget};
use crate::Vec3;
use crate::body::Body;
use crate::dynamics::{Equilibrium, Method};
use crate::progress::{Progress, StageProgress, report_progress};
use crate::skeleton::{BonePoses, Pose, PoseFit, PoseFitSettings, SkinWeights};
use crate::solve::anderson::Anderson;
use nalgebra::DVector;
use std::sync::Arc;

/// Largest number of rounds; coarse flesh of whole characters takes about fourteen to a hundredth of a degree.
const POSE_ROUNDS: usize = 20;
/// Change of all displacements, in sizes of the body, below which the rounds end. It is that of a forearm that turns by a thousandth of a degree.
const DISPLACEMENT_TOLERANCE: f64 = 2e-6;

/// Pose that was found with flesh in balance.
#[derive(Debug, Clone)]
pub struct FleshPose {
    /// The pose.
    pub pose: Pose,
    /// Root mean square distance of the points from their targets in balance there, m.
    pub missed: f64,
    /// `true`: the displacements of the flesh came to rest, so that the rounds ended by themselves.
    pub is_settled: bool,
}

/// Returns the pose at which points of the body's own surface, as the lattice has them in balance under gravity (m/s²), are nearest to their targets.
/// Where the rounds do not come to rest, it is that of the nearest round.
///
/// # Errors
/// Points that the surface does not have; positions, start and bones as in [`skeleton::fit_pose`](crate::skeleton::fit_pose); a balance that
/// cannot be solved; a stop by the progress.
pub fn fit_pose(
    body: &Arc<Body>,
    method: Method,
    points: &[SkinTarget],
    gravity: Vec3,
    settings: &PoseFitSettings,
    progress: &dyn Progress,
) -> Result<FleshPose, RigFitError> {
    super::check_targets(points, body.embedding().len())?;
    let vertices = || points.iter().map(|p| p.vertex as usize);
    let surface = body.surface().vertices();
    let rest: Vec<Vec3> = vertices().map(|v| surface[v]).collect();
    let rows = vertices().map(|v| body.skin().row(v).collect::<Vec<_>>());
    let weights = SkinWeights::from_rows(body.skeleton().len(), rows)?;
    let mut fit = PoseFit::new(body.skeleton(), &rest, &weights, settings)?;
    let mut balance = Equilibrium::new(body, method)?;
    let (mut anderson, mut displacements) =
        (Anderson::default(), vec![Vec3::zeros(); points.len()]);
    let targets: Vec<Vec3> = points.iter().map(|p| p.place).collect();
    let mut best = FleshPose {
        pose: Pose::rest(body.skeleton().len()),
        missed: f64::INFINITY,
        is_settled: false,
    };
    for round in 0..POSE_ROUNDS {
        let fraction = |round: usize| round as f64 / POSE_ROUNDS as f64;
        report_progress(progress, fraction(round), "fitting the pose")?;
        let part = StageProgress {
            whole: progress,
            from: fraction(round),
            to: fraction(round + 1),
        };
        let pose = fit.fit(&displacements, &targets, &part)?;
        balance.set_pose(&pose)?;
        let q = balance.solve_with_progress(gravity, (None, None), &part)?;
        let places: Vec<Vec3> = (body.rest_shape().iter().zip(&q))
            .map(|(x, q)| x + q)
            .collect();
        let bones = BonePoses::new(body.skeleton(), &pose)?;
        let displaced = vertices().zip(&displacements).enumerate();
        let displaced: Vec<Vec3> = displaced
            .map(|(k, (v, &d))| {
                let skin = bones.place(weights.row(k), rest[k] + d);
                let missing = body.embedding().position(v, &places) - skin;
                d + bones.rotation(weights.row(k)).inverse() * missing
            })
            .collect();
        let changes = displaced.iter().zip(&displacements);
        let change = changes.map(|(new, d)| (new - d).norm()).fold(0.0, f64::max);
        let is_settled = change <= DISPLACEMENT_TOLERANCE * body.size();
        let reached = vertices().map(|v| body.embedding().position(v, &places));
        let squares = reached.zip(&targets).map(|(x, t)| (x - t).norm_squared());
        let missed = (squares.sum::<f64>() / points.len() as f64).sqrt();
        if is_settled || missed < best.missed {
            best = FleshPose {
                pose,
                missed,
                is_settled,
            };
        }
        if is_settled {
            break;
        }
        displacements =
            from_numbers(&anderson.next(to_numbers(&displacements), &to_numbers(&displaced)));
    }
    Ok(best)
}

fn to_numbers(vectors: &[Vec3]) -> DVector<f64> {
    DVector::from_iterator(3 * vectors.len(), vectors.iter().flatten().copied())
}

fn from_numbers(numbers: &DVector<f64>) -> Vec<Vec3> {
    let rows = numbers.as_slice().chunks_exact(3);
    rows.map(Vec3::from_column_slice).collect()
}
