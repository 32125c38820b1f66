// SPDX-License-Identifier: MIT OR Apache-2.0
//! Construction of clips: modes, prepared contact, simulated frames.

use super::bodies::{Bodies, Drive};
use super::resumable::{ResumableRun, go_on};
use super::scene::Membership;
use super::{Clip, ClipError, ClipFrame, ClipSettings, FrameForces, Texts, check, cycle};
use crate::body::Body;
use crate::contact::{Contact, Parting, PreparedContact};
use crate::dynamics::{MODES, Method, Simulation, SimulationError};
use crate::exclusive::Exclusive;
use crate::modal::{DeformOptions, Modes};
use crate::present::{CarriedSurfaces, Presenter};
use crate::progress::{Part, Progress};
use crate::skeleton::Pose;
use std::sync::{Arc, RwLock};

/// Modes that the modal method uses.
pub(crate) enum ModesOf {
    /// This number of the lowest modes; `None`: the usual number, or as many as there are.
    Lowest(Option<usize>),
    These(Arc<Modes>),
}

/// Inputs of a clip other than its settings.
pub(crate) struct Ways<'a> {
    /// `None` with other methods than the modal one.
    pub modes: Option<ModesOf>,
    pub show: DeformOptions,
    pub contact: Option<&'a Contact>,
}

impl Ways<'_> {
    fn usual(method: Method) -> Self {
        Self {
            modes: (method == Method::Modal).then_some(ModesOf::Lowest(None)),
            show: DeformOptions::default(),
            contact: None,
        }
    }
}

impl Clip {
    /// Simulates a body over poses at equal distances in time. `forces` act at each pose and are linear in between; `None`: no forces.
    ///
    /// Frame 0 is the static equilibrium at the first pose under its forces, moving along with its bones. After a run-in it is the state reached
    /// there, in a cycle the state that repeats. All of the run-in has the forces of frame 0. The forces of a cycle repeat with its poses.
    ///
    /// # Errors
    /// Poses of another skeleton and forces that cannot be computed, by frame; settings out of range; cancellation by the progress.
    pub fn simulate(
        body: impl Into<CarriedSurfaces>,
        poses: &[Pose],
        forces: Option<&dyn FrameForces>,
        settings: ClipSettings,
        progress: &dyn Progress,
    ) -> Result<Self, ClipError> {
        let ways = Ways::usual(settings.method);
        Self::made(body.into(), ways, (poses, forces), settings, progress)
    }

    /// Simulates a body with contact, otherwise as [`simulate`](Self::simulate). Modal flesh moves as without contact; its surface is parted in each
    /// frame that is shown.
    ///
    /// # Errors
    /// As [`simulate`](Self::simulate); a method without contact, regions of another surface, options out of range, colliders whose motion ends
    /// before the poses do.
    pub fn simulate_touching(
        body: impl Into<CarriedSurfaces>,
        contact: &Contact,
        poses: &[Pose],
        forces: Option<&dyn FrameForces>,
        settings: ClipSettings,
        progress: &dyn Progress,
    ) -> Result<Self, ClipError> {
        let ways = Ways {
            contact: Some(contact),
            ..Ways::usual(settings.method)
        };
        Self::made(body.into(), ways, (poses, forces), settings, progress)
    }

    /// Computes the `count` lowest modes of a body and simulates them.
    ///
    /// # Errors
    /// As [`simulate`](Self::simulate); a body without free flesh.
    pub fn simulate_counted(
        body: impl Into<CarriedSurfaces>,
        count: usize,
        show: DeformOptions,
        poses: &[Pose],
        forces: Option<&dyn FrameForces>,
        settings: ClipSettings,
        progress: &dyn Progress,
    ) -> Result<Self, ClipError> {
        let method = Method::Modal;
        let ways = Ways {
            modes: Some(ModesOf::Lowest(Some(count))),
            show,
            contact: None,
        };
        let settings = ClipSettings { method, ..settings };
        Self::made(body.into(), ways, (poses, forces), settings, progress)
    }

    /// Simulates given modes of a body, otherwise as [`simulate`](Self::simulate) with the modal method.
    ///
    /// # Errors
    /// As [`simulate`](Self::simulate); modes of another body.
    pub fn simulate_modes(
        body: impl Into<CarriedSurfaces>,
        modes: Arc<Modes>,
        show: DeformOptions,
        poses: &[Pose],
        forces: Option<&dyn FrameForces>,
        settings: ClipSettings,
        progress: &dyn Progress,
    ) -> Result<Self, ClipError> {
        let method = Method::Modal;
        let settings = ClipSettings { method, ..settings };
        let ways = Ways {
            modes: Some(ModesOf::These(modes)),
            show,
            contact: None,
        };
        Self::made(body.into(), ways, (poses, forces), settings, progress)
    }

    /// Computes the modes, prepares contact, and simulates.
    ///
    /// # Errors
    /// As [`simulate_touching`](Self::simulate_touching).
    pub(crate) fn made(
        surfaces: CarriedSurfaces,
        ways: Ways<'_>,
        of: (&[Pose], Option<&dyn FrameForces>),
        settings: ClipSettings,
        progress: &dyn Progress,
    ) -> Result<Self, ClipError> {
        if let Some(contact) = ways.contact {
            let method = settings.method;
            if !method.touches() {
                return Err(SimulationError::ContactMethod { method }.into());
            }
            contact.check_clip(of.0.len())?;
        }
        let body = surfaces.body();
        let ready = |contact: &Contact| contact.prepare(body, progress);
        let contact = ways.contact.map(ready).transpose()?;
        let part = |from, to| Part {
            whole: progress,
            from,
            to,
        };
        let (modes, rest) = match ways.modes {
            None => (None, 0.0),
            Some(ModesOf::These(modes)) => (Some(modes), 0.0),
            Some(ModesOf::Lowest(count)) => {
                let count = count.unwrap_or_else(|| MODES.min(body.free_dofs()));
                let found = Modes::of_body(body, count, &part(0.0, 0.5));
                (Some(Arc::new(found.map_err(SimulationError::from)?)), 0.5)
            }
        };
        let how = (modes, ways.show, contact);
        Self::make(surfaces, how, of, settings, &part(rest, 1.0))
    }

    fn make(
        surfaces: CarriedSurfaces,
        (modes, show, contact): (Option<Arc<Modes>>, DeformOptions, Option<PreparedContact>),
        (poses, forces): (&[Pose], Option<&dyn FrameForces>),
        settings: ClipSettings,
        progress: &dyn Progress,
    ) -> Result<Self, ClipError> {
        settings.check()?;
        let body = surfaces.body().clone();
        check(&body, poses, 0)?;
        if poses.is_empty() {
            return Err(ClipError::NoPoses);
        }
        let simulation = fresh(&body, modes.as_ref(), contact.as_ref(), settings)?;
        let alone = Bodies::Alone(Box::new(simulation));
        let made = run(alone, &[(poses, forces)], settings, progress)?;
        let Some((frames, run, loop_gap)) = made.into_iter().next() else {
            return Err(ClipError::NoPoses);
        };
        Ok(Self {
            parting: parting(contact.as_ref(), modes.is_some()),
            presenter: Presenter::with_modes(surfaces, modes.clone(), show),
            body,
            membership: Membership::alone(String::new()),
            modes,
            contact,
            settings,
            frames: RwLock::new(frames),
            run: Exclusive::new(run),
            loop_gap,
            texts: Texts::new(),
        })
    }
}

/// Result of a run for each body: its frames, the state to extend it from, and for a cycle the distance between end and beginning, metres.
type Made = (Vec<ClipFrame>, Option<ResumableRun>, Option<f64>);

/// Takes bodies through their poses, once or until they repeat.
pub(super) fn run(
    bodies: Bodies,
    drives: &[Drive],
    settings: ClipSettings,
    progress: &dyn Progress,
) -> Result<Vec<Made>, ClipError> {
    if settings.cyclic {
        let made = cycle::simulate(bodies, drives, settings, progress)?.into_iter();
        return Ok(made
            .map(|(frames, gap)| (frames, None, Some(gap)))
            .collect());
    }
    let begun = vec![ResumableRun::default(); drives.len()];
    let made = go_on(&begun, bodies, drives, settings, progress)?.into_iter();
    Ok(made
        .map(|(frames, run)| (frames, Some(run), None))
        .collect())
}

/// Builds a simulation at its start.
pub(super) fn fresh(
    body: &Arc<Body>,
    modes: Option<&Arc<Modes>>,
    contact: Option<&PreparedContact>,
    settings: ClipSettings,
) -> Result<Simulation, SimulationError> {
    let mut simulation = match modes {
        Some(modes) => Simulation::modal(body.clone(), modes.clone(), settings.simulation),
        None => Simulation::new(body.clone(), settings.method, settings.simulation),
    }?;
    simulation.set_contact(contact.cloned())?;
    Ok(simulation)
}

/// Prepares the parting of the surface of modal flesh with contact; `None` for others.
pub(super) fn parting(contact: Option<&PreparedContact>, modal: bool) -> Option<Parting> {
    contact.filter(|_| modal).map(Parting::new)
}
