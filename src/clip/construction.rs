// SPDX-License-Identifier: MIT OR Apache-2.0
//! Construction of clips: modes, prepared contact, simulated frames.

use super::bodies::{Bodies, ClipDrive};
use super::resumable::{ResumableRun, continue_run};
use super::scene::Membership;
use super::{Clip, ClipError, ClipFrame, ClipSettings, Texts, check, cycle};
use crate::body::Body;
use crate::contact::{Contact, Parting, PreparedContact};
use crate::dynamics::{DEFAULT_MODE_COUNT, Method, Simulation, SimulationError};
use crate::exclusive::Exclusive;
use crate::modal::Modes;
use crate::present::{CarriedSurfaces, Presenter};
use crate::progress::{Progress, StageProgress};
use std::sync::{Arc, RwLock};

/// Modes that the modal method uses.
pub(crate) enum ModeSelection {
    /// Number of lowest modes to compute; `None`: the usual number, or as many as there are.
    Lowest(Option<usize>),
    /// Modes supplied by the caller.
    These(Arc<Modes>),
}

/// Body, modes and contact of a clip.
pub(crate) struct ClipParts<'a> {
    pub surfaces: CarriedSurfaces,
    /// Modes; only the modal method uses them.
    pub modes: ModeSelection,
    pub contact: Option<&'a Contact>,
}

impl Clip {
    /// Computes the modes, prepares contact, and simulates.
    ///
    /// # Errors
    /// As [`Shot::simulate`](crate::shot::Shot::simulate).
    pub(crate) fn simulate(
        parts: ClipParts<'_>,
        drive: ClipDrive,
        settings: ClipSettings,
        progress: &dyn Progress,
    ) -> Result<Self, ClipError> {
        let (method, surfaces) = (settings.simulation.method, parts.surfaces);
        if let Some(contact) = parts.contact {
            if !method.supports_contact() {
                return Err(SimulationError::ContactMethod { method }.into());
            }
            contact.check_clip(drive.0.len())?;
        }
        let body = surfaces.body();
        let ready = |contact: &Contact| contact.prepare(body, progress);
        let contact = parts.contact.map(ready).transpose()?;
        let part = |from, to| StageProgress {
            whole: progress,
            from,
            to,
        };
        let (modes, rest) = match parts.modes {
            _ if method != Method::Modal => (None, 0.0),
            ModeSelection::These(modes) => (Some(modes), 0.0),
            ModeSelection::Lowest(count) => {
                let count = count.unwrap_or_else(|| DEFAULT_MODE_COUNT.min(body.free_dofs()));
                let found = Modes::for_body(body, count, &part(0.0, 0.5));
                (Some(Arc::new(found.map_err(SimulationError::from)?)), 0.5)
            }
        };
        Self::build(
            surfaces,
            (modes, contact),
            drive,
            settings,
            &part(rest, 1.0),
        )
    }

    fn build(
        surfaces: CarriedSurfaces,
        (modes, contact): (Option<Arc<Modes>>, Option<PreparedContact>),
        (poses, forces, pins): ClipDrive,
        settings: ClipSettings,
        progress: &dyn Progress,
    ) -> Result<Self, ClipError> {
        settings.check()?;
        let body = surfaces.body().clone();
        check(&body, poses, 0)?;
        if poses.is_empty() {
            return Err(ClipError::NoPoses);
        }
        let simulation = build_simulation(&body, modes.as_ref(), contact.as_ref(), &settings)?;
        let settings = ClipSettings {
            simulation: simulation.settings().clone(),
            ..settings
        };
        let alone = Bodies::Alone(Box::new(simulation));
        let results = run_bodies(alone, &[(poses, forces, pins)], &settings, progress)?;
        let Some((frames, run, loop_gap)) = results.into_iter().next() else {
            return Err(ClipError::NoPoses);
        };
        Ok(Self {
            parting: prepare_parting(contact.as_ref(), modes.is_some()),
            presenter: Presenter::with_modes(
                surfaces,
                modes.clone(),
                settings.simulation.deform_settings(),
            ),
            body,
            membership: Membership::for_single_body(String::new()),
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
type RunOutcome = (Vec<ClipFrame>, Option<ResumableRun>, Option<f64>);

/// Simulates bodies through their poses, once or until they repeat.
pub(super) fn run_bodies(
    bodies: Bodies,
    drives: &[ClipDrive],
    settings: &ClipSettings,
    progress: &dyn Progress,
) -> Result<Vec<RunOutcome>, ClipError> {
    if settings.cyclic {
        let results = cycle::simulate(bodies, drives, settings, progress)?.into_iter();
        return Ok(results
            .map(|(frames, gap)| (frames, None, Some(gap)))
            .collect());
    }
    let begun = vec![ResumableRun::default(); drives.len()];
    let results = continue_run(&begun, bodies, drives, settings, progress)?.into_iter();
    Ok(results
        .map(|(frames, run)| (frames, Some(run), None))
        .collect())
}

/// Builds a simulation without a pose, with its contact and tracks.
pub(super) fn build_simulation(
    body: &Arc<Body>,
    modes: Option<&Arc<Modes>>,
    contact: Option<&PreparedContact>,
    clip: &ClipSettings,
) -> Result<Simulation, SimulationError> {
    let settings = clip.simulation.clone();
    let mut simulation = match modes {
        Some(modes) => Simulation::with_modes(body.clone(), modes.clone(), settings),
        None => Simulation::new(body.clone(), settings),
    }?;
    simulation.set_contact(contact.cloned())?;
    simulation.set_tracks(&clip.tracks, clip.fps);
    Ok(simulation)
}

/// Prepares the parting of the surface of modal flesh with contact; `None` for others.
pub(super) fn prepare_parting(contact: Option<&PreparedContact>, modal: bool) -> Option<Parting> {
    contact.filter(|_| modal).map(Parting::new)
}
