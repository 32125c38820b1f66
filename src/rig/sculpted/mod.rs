// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rigs of the kind *sculpted*: shapes of the skin at poses, kept apart from any mesh and lattice. [capell2006, §4.3]
//!
//! A sample is a [`Sculpt`]: a pose, and displacements that points of the skin are to make there. Its forces on a body are those of the
//! [correction](correction) that fits them at that pose, so that they follow the body's lattice and stiffness. They are computed on first
//! use and kept. Between samples forces are linear in the control. The only parameter is the strength, 1 for the whole effect.
//!
//! Offsets from the balance at the pose are kept because they carry over: on a finer lattice the skin then misses the same shape by a
//! twentieth, while forces of another lattice, or tractions, miss it by more than the whole.

pub(super) mod correction;
pub(super) mod placement;
pub(super) mod points;
mod sculpt;
pub(super) mod turns;

pub(super) use sculpt::MAX_POINTS;
pub use sculpt::{Sculpt, SculptPoint};
pub use turns::BoneTurn;

use super::surface_fit::SurfaceFitReport;
use super::{Parameter, ParameterKind, RigError, Spec};
use crate::Vec3;
use crate::body::Body;
use crate::dynamics::{PosedStiffness, SimulationError};
use crate::skeleton::BonePoses;
use correction::CorrectionSystem;
use placement::PlacedSculpt;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// The table of the kind's parameters.
static SPEC: Spec = Spec {
    name: "sculpted",
    label: "Sculpted",
    doc: "Brings the skin to sculpted shapes at recorded poses",
    icon: "SCULPTMODE_HLT",
    parameters: &[Parameter {
        name: "strength",
        kind: ParameterKind::Factor,
        label: "Strength",
        doc: "Share of the sculpted shape: 1 is the whole",
        default: 1.0,
        range: (0.0, 1.0),
    }],
};

/// Sculpts in the order of the rig's samples.
#[derive(Debug, Clone)]
pub struct SculptedRig {
    sculpts: Vec<Sculpt>,
    report: Option<SurfaceFitReport>,
    cache: Arc<Mutex<Option<CachedForces>>>,
}

/// Forces of each sculpt on the last body, as far as they are known.
#[derive(Debug)]
struct CachedForces {
    body: Weak<()>,
    forces: Vec<Option<Arc<[Vec3]>>>,
}

impl PartialEq for SculptedRig {
    fn eq(&self, other: &Self) -> bool {
        self.sculpts == other.sculpts
    }
}

impl SculptedRig {
    pub(super) fn new(sculpts: Vec<Sculpt>) -> Self {
        Self {
            sculpts,
            report: None,
            cache: Arc::default(),
        }
    }

    pub(super) fn with_report(mut self, report: SurfaceFitReport) -> Self {
        self.report = Some(report);
        self
    }

    /// Returns the sculpts in the order of the rig's samples.
    pub fn sculpts(&self) -> &[Sculpt] {
        &self.sculpts
    }

    /// Returns the report of the fit that made the rig; `None` for a rig from a file.
    pub fn report(&self) -> Option<&SurfaceFitReport> {
        self.report.as_ref()
    }

    pub(super) fn spec() -> &'static Spec {
        &SPEC
    }

    /// Returns the rig with the digits of files.
    pub(super) fn rounded(&self) -> Self {
        Self::new(self.sculpts.iter().map(Sculpt::rounded).collect())
    }

    /// Returns the forces of a sculpt on a body at strength 1, `[nodes]`, N, rest axes.
    ///
    /// # Errors
    /// A bone that the body's skeleton lacks; a system that cannot be solved.
    pub(super) fn forces(&self, index: usize, body: &Body) -> Result<Arc<[Vec3]>, RigError> {
        let lock = || self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        let identity = Arc::downgrade(body.identity());
        if let Some(known) = &*lock()
            && known.body.ptr_eq(&identity)
            && let Some(forces) = &known.forces[index]
        {
            return Ok(forces.clone());
        }
        let forces: Arc<[Vec3]> = sculpt_forces(&self.sculpts[index], body)?.into();
        let mut kept = lock();
        if !kept
            .as_ref()
            .is_some_and(|known| known.body.ptr_eq(&identity))
        {
            *kept = Some(CachedForces {
                body: identity,
                forces: vec![None; self.sculpts.len()],
            });
        }
        if let Some(known) = &mut *kept {
            known.forces[index] = Some(forces.clone());
        }
        Ok(forces)
    }
}

/// Returns the forces that hold the correction of a sculpt on a body, `[nodes]`, N, rest axes.
fn sculpt_forces(sculpt: &Sculpt, body: &Body) -> Result<Vec<Vec3>, RigError> {
    let pose = turns::turned_pose(body.skeleton(), sculpt.turns())?;
    let placed = PlacedSculpt::new(sculpt, body)?;
    if sculpt.points().is_empty() {
        return Ok(vec![Vec3::zeros(); body.node_count()]);
    }
    let too_far = |_| RigError::TooFar;
    let bones = BonePoses::new(body.skeleton(), &pose).map_err(too_far)?;
    let stiffness = PosedStiffness::new(body, &pose).map_err(|error| match error {
        SimulationError::Solve(error) => RigError::Flesh(error),
        _ => RigError::TooFar,
    })?;
    let mut system = CorrectionSystem::new(&stiffness)?;
    system.set_goal(&placed.goal(body, &bones));
    let u = system.solve(sculpt.smoothness())?;
    let forces = system.forces(&u);
    match forces.iter().flatten().all(|x| x.is_finite()) {
        true => Ok(forces),
        false => Err(RigError::Overflow),
    }
}
