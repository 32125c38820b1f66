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
mod functions;
pub(super) mod placement;
pub(super) mod points;
mod posed;
mod sculpt;
pub(super) mod turns;

pub(super) use sculpt::MAX_POINTS;
pub use sculpt::{Sculpt, SculptPoint};
pub use turns::BoneTurn;

use super::surface_fit::SurfaceFitReport;
use super::{Parameter, ParameterKind, RigError, Spec};
use crate::Vec3;
use crate::basis::ActiveSet;
use crate::body::Body;
use functions::OwnFunctions;
use posed::PosedGoal;
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
    /// Forces on all functions.
    forces: Vec<Option<Arc<[Vec3]>>>,
    /// The rig's own functions.
    own: Option<Arc<OwnFunctions>>,
    /// The last set that holds these, and the forces of each sculpt on it.
    among: Option<(ActiveSet, Vec<Arc<[Vec3]>>)>,
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

    /// Returns the forces of a sculpt on a body at strength 1, `[nodes]`, N, rest axes: those of a fit in all functions, or, with flags `among`,
    /// of one in the rig's own functions. The latter act on the own functions and those with a flag.
    ///
    /// # Errors
    /// A bone that the body's skeleton lacks; a system that cannot be solved.
    pub(super) fn forces(
        &self,
        index: usize,
        body: &Body,
        among: Option<&[bool]>,
    ) -> Result<Arc<[Vec3]>, RigError> {
        if let Some(flags) = among.filter(|_| body.basis().levels() > 0) {
            return self.forces_among(index, body, flags);
        }
        if let Some(forces) = self.cached(body, |known| known.forces[index].clone()) {
            return Ok(forces);
        }
        let mut forces = vec![Vec3::zeros(); body.node_count()];
        let goals = PosedGoal::of_sculpts(&self.sculpts[index..=index], body)?;
        if let Some(goal) = goals.iter().flatten().next() {
            forces = goal.correction(body)?.forces;
        }
        let forces: Arc<[Vec3]> = forces.into();
        self.cache(body, |known| known.forces[index] = Some(forces.clone()));
        Ok(forces)
    }

    /// Returns the forces of a sculpt in the rig's own functions, on these and those with a flag.
    fn forces_among(
        &self,
        index: usize,
        body: &Body,
        flags: &[bool],
    ) -> Result<Arc<[Vec3]>, RigError> {
        let own = self.own_functions(body)?;
        let set = own.set_with(flags);
        let known = self.cached(body, |known| {
            let (_, forces) = known.among.as_ref().filter(|(of, _)| *of == set)?;
            Some(forces[index].clone())
        });
        if let Some(forces) = known {
            return Ok(forces);
        }
        let all = own.forces_on(&set, body)?;
        let forces = all[index].clone();
        self.cache(body, |known| known.among = Some((set, all)));
        Ok(forces)
    }

    /// Returns the functions of a body with finer levels that the rig needs.
    ///
    /// # Errors
    /// A bone that the body's skeleton lacks; a system that cannot be solved.
    fn own_functions(&self, body: &Body) -> Result<Arc<OwnFunctions>, RigError> {
        if let Some(own) = self.cached(body, |known| known.own.clone()) {
            return Ok(own);
        }
        let own = Arc::new(OwnFunctions::choose(&self.sculpts, body)?);
        self.cache(body, |known| known.own = Some(own.clone()));
        Ok(own)
    }

    /// Sets the flags of the functions of a body that the rig needs.
    ///
    /// # Errors
    /// A bone that the body's skeleton lacks; a system that cannot be solved.
    pub(super) fn mark_functions(&self, body: &Body, flags: &mut [bool]) -> Result<(), RigError> {
        if body.basis().levels() > 0 {
            let own = self.own_functions(body)?;
            own.set.functions().for_each(|a| flags[a as usize] = true);
        }
        Ok(())
    }

    /// Returns what is known for a body.
    fn cached<T>(&self, body: &Body, read: impl Fn(&CachedForces) -> Option<T>) -> Option<T> {
        let identity = Arc::downgrade(body.identity());
        let kept = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        let known = kept.as_ref().filter(|k| k.body.ptr_eq(&identity))?;
        read(known)
    }

    /// Keeps what has been found for a body, and forgets other bodies.
    fn cache(&self, body: &Body, write: impl FnOnce(&mut CachedForces)) {
        let identity = Arc::downgrade(body.identity());
        let mut kept = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        let known = kept.take().filter(|k| k.body.ptr_eq(&identity));
        let mut known = known.unwrap_or_else(|| CachedForces {
            body: identity,
            forces: vec![None; self.sculpts.len()],
            own: None,
            among: None,
        });
        write(&mut known);
        *kept = Some(known);
    }
}
