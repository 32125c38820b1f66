// SPDX-License-Identifier: MIT OR Apache-2.0
//! How a clip comes to be: modes found, contact made ready, frames simulated.

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

/// Which modes the modal method takes.
pub(crate) enum ModesOf {
    /// So many of the lowest ones; none: the usual number, or as many as there are.
    Lowest(Option<usize>),
    These(Arc<Modes>),
}

/// What a clip is made with besides its settings.
pub(crate) struct Ways<'a> {
    /// None with other methods than the modal one.
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
    /// Simulates a body over poses at equal distances in time, with forces at each of them (none = none) that are linear in
    /// between.
    ///
    /// Frame 0 is the static equilibrium at the first pose under its forces (after the run-in, if any; in a cycle the state
    /// that repeats), moving along with its bones. In the run-in a frame has the forces of the one that it reflects; the
    /// forces of a cycle repeat with its poses.
    ///
    /// # Errors
    /// Poses of another skeleton and forces that cannot be had, by frame; settings out of range; a stop by the progress.
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

    /// Simulates a body that touches: as [`simulate`](Self::simulate), with contact. Modal flesh moves as without; its surface is
    /// parted in each frame that is shown.
    ///
    /// # Errors
    /// As [`simulate`](Self::simulate); a method that knows no contact, regions of another surface, options out of range, colliders
    /// whose motion ends before the poses do.
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

    /// Finds so many modes of a body and simulates them.
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

    /// Simulates the modes of a body of flesh: as [`simulate`](Self::simulate), with the modal method.
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

    /// Finds the modes, makes contact ready, and simulates.
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

/// What a run makes of each body: its frames, what is needed to go on, and of a cycle how far its end is from its beginning, metres.
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

/// A simulation that has not begun.
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

/// What parts the surface of modal flesh that touches.
pub(super) fn parting(contact: Option<&PreparedContact>, modal: bool) -> Option<Parting> {
    contact.filter(|_| modal).map(Parting::new)
}
