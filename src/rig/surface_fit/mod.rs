// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sculpted rigs from target shapes of the skin: a corrective shape at a pose becomes forces that live in moving flesh. [capell2006, §4.3]
//!
//! ```
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/shapes/arm.rs"));
//! # fn main() -> Result<(), Any> {
//! use thew::dynamics::{Equilibrium, Method};
//! use thew::progress::Silent;
//! use thew::rig::{SurfaceFitSettings, SurfaceTarget, fit_surface};
//!
//! let body = body()?; // of an arm of flesh around two bones: `examples/shapes/arm.rs`
//! let settings = SurfaceFitSettings::default();
//! let mut balance = Equilibrium::new(&body, Method::Warped)?;
//! balance.set_pose(&bent(0.8)?)?;
//! let q = balance.solve(settings.gravity, None, None)?;
//! let places: Vec<Vec3> = q.iter().zip(body.rest_shape()).map(|(q, x)| q + x).collect();
//! let skin = |v: usize| body.embedding().position(v, &places);
//! // The skin is to be two per cent thicker all around.
//! let target: Vec<Vec3> = (0..body.embedding().len()).map(|v| skin(v) * 1.02).collect();
//! let rig = fit_surface(&body, &bent(0.8)?, SurfaceTarget::Vertices(&target), &settings, &Silent)?;
//! let forces = rig.forces(&body, &rig.last_parameters())?;
//! let q = balance.solve(settings.gravity, None, Some(&forces))?;
//! assert!(q.iter().any(|q| q.norm() > 0.0));
//! # Ok(())
//! # }
//! ```
//!
//! The skin in balance at the pose gives the wished offsets of its vertices (`target`) or, for a surface of another mesh, those of the nearest
//! points (`nearest`). A correction of the flesh fits them (`sculpted`), as smooth as the target allows
//! (`smoothness`). Points of the skin keep the wish (`thinning`).
//!
//! A correction made at one pose and faded in by its forces alone is off on the way there by a quarter of it. Further samples on the way hold
//! the share s of the offsets at the share s of every bone's turn. Deviation: the paper keeps forces of one pose (21).

mod balanced;
mod error;
mod nearest;
mod settings;
mod smoothness;
mod target;
#[cfg(test)]
mod tests;
mod thinning;

pub use error::SurfaceFitError;
pub use settings::SurfaceFitSettings;
pub use target::SurfaceTarget;

use super::sculpted::correction::CorrectionSystem;
use super::sculpted::turns::own_turns;
use super::{Rig, RigKind, Sculpt};
use crate::Vec3;
use crate::body::Body;
use crate::dynamics::{PosedStiffness, SimulationError};
use crate::progress::{Progress, report_progress};
use crate::skeleton::{BonePoses, Pose};
use balanced::BalancedFlesh;
use nearest::NearestPoints;
use smoothness::smooth_correction;
use std::sync::Arc;
use target::PosedSkin;
use thinning::WholeFit;

/// Distance, as a share of the body's size, below which a target is the balance: places in single precision are that exact.
const MIN_DISTANCE: f64 = 1e-6;
/// Result of a surface fit in numbers. Distances are root mean squares over the selected skin, m.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SurfaceFitReport {
    /// Distance of the skin from the target without the rig.
    pub start: f64,
    /// Distance with the rig.
    pub left: f64,
    /// Distance that the body's lattice cannot show.
    pub bound: f64,
    /// Smoothness η of the correction.
    pub smoothness: f64,
    /// Number of lattice cells that are inverted in balance with the rig.
    pub inverted: usize,
}

/// Returns the sculpted rig that brings the skin of a body, in balance at a pose, to a target: whole at the settings' control, nothing at 0.
/// A target that is the balance gives a rig without effect.
///
/// # Errors
/// A target or settings that do not fit the body; a target farther away than the body is large; a surface that no selected skin is near; a balance
/// that fails; cancellation.
pub fn fit_surface(
    body: &Arc<Body>,
    pose: &Pose,
    target: SurfaceTarget,
    settings: &SurfaceFitSettings,
    progress: &dyn Progress,
) -> Result<Rig, SurfaceFitError> {
    settings.check()?;
    report_progress(progress, 0.0, "finding the balance")?;
    let mut flesh = BalancedFlesh::new(body, pose, settings, progress)?;
    let skin = PosedSkin::new(
        body,
        &flesh.positions,
        settings.select.as_deref(),
        settings.hold,
    )?;
    let size = body.posed_size(pose);
    let stiffness = PosedStiffness::new(body, pose)?;
    let mut system = CorrectionSystem::new(&stiffness)?;
    let goal = match target {
        SurfaceTarget::Vertices(places) => skin.vertex_goal(places, size)?,
        SurfaceTarget::Surface(target) => {
            let skin = &skin;
            NearestPoints { skin, target, size }.goal(&mut system, progress)?
        }
    };
    report_progress(progress, 0.4, "fitting the surface")?;
    let smoothness = settings.smoothness;
    let mut correction = smooth_correction(&mut system, body.embedding(), &goal, smoothness)?;
    let mut u = vec![Vec3::zeros(); body.node_count()];
    let mut sculpt = Sculpt::default();
    if goal.mean(|v| goal.offsets[v]) > MIN_DISTANCE * size {
        let wish = flesh.compensated_goal(&mut system, &goal, &mut correction, progress)?;
        if let Some(wish) = wish {
            let bones = BonePoses::new(body.skeleton(), pose).map_err(SimulationError::from)?;
            let whole = WholeFit {
                body,
                bones: &bones,
                turns: own_turns(body.skeleton(), pose),
                goal: &wish,
                correction: &correction,
            };
            (sculpt, u) = whole.sculpt(&mut system, settings.tolerance, progress)?;
            u = flesh.response(&mut system, u, progress)?;
        }
    }
    let distance = |u: &[Vec3]| match target {
        SurfaceTarget::Vertices(_) => goal.distance(body.embedding(), u),
        SurfaceTarget::Surface(target) => {
            let skin = &skin;
            NearestPoints { skin, target, size }.distance(&goal, u)
        }
    };
    let moved: Vec<Vec3> = flesh.positions.iter().zip(&u).map(|(p, u)| p + u).collect();
    Ok(
        sampled_rig(&sculpt, settings)?.with_report(SurfaceFitReport {
            start: distance(&vec![Vec3::zeros(); u.len()]),
            left: distance(&u),
            bound: correction.bound,
            smoothness: correction.smoothness,
            inverted: body.inverted_cell_count(&moved),
        }),
    )
}

/// Returns the rig of a sculpt: nothing at 0, then its share s at the share s of the control and of the pose.
fn sampled_rig(sculpt: &Sculpt, settings: &SurfaceFitSettings) -> Result<Rig, SurfaceFitError> {
    let steps = settings.steps;
    let on_the_way = (1..=steps).map(|step| {
        let s = f64::from(step) / f64::from(steps);
        let part = if step == steps {
            sculpt.clone()
        } else {
            sculpt.on_the_way(s)
        };
        (settings.control * s, 1.0, part)
    });
    let samples = std::iter::once((0.0, 1.0, Sculpt::default())).chain(on_the_way);
    Ok(Rig::sculpted(settings.name.clone(), samples.collect())?)
}

impl Rig {
    /// Returns the sculpted rig with the report of its fit.
    fn with_report(self, report: SurfaceFitReport) -> Self {
        match self.kind {
            RigKind::Force(_) | RigKind::Muscle(_) => self,
            RigKind::Sculpted(sculpted) => Self {
                kind: RigKind::Sculpted(sculpted.with_report(report)),
                ..self
            },
        }
    }
}
