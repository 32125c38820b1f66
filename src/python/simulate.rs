// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bindings of `thew.simulate`.

use super::arguments::Arguments;
use super::clip::PyClip;
use super::shot::{PyShot, read_shot};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

/// Simulates `poses[f,b,4,4]` at `fps` frames per second and returns a Clip. Frame 0 is the settled first pose, moving as its bones move.
///
/// - `rigs`: `Rig`s that push the flesh. `controls[f,r]`: value of each rig's control at every frame, linear between frames. None: every
///   rig at its last sample throughout.
/// - `preroll`: frames of run-in before frame 0, in which the joints come from a standstill.
/// - `cyclic`: True if the poses are a cycle, which may travel; it is run until its state repeats.
/// - `restarts`: frames above 0, ascending, in which the flesh begins anew as in frame 0. They are cuts, after which the character is
///   elsewhere.
/// - `pins`: `PinTrack`s of points that are held, with an entry for each pose. A run-in carries their first targets along with the bones.
/// - `fields`: `ForceField`s that accelerate the flesh.
/// - `gravity`: as a setting, or `[f,3]`, one per frame, linear in between. A model that already sags does so under the first one.
/// - `stiffness[f]`: factors on the stiffness of all flesh, 0.1 to 100, linear between frames; or `softness[f]`, the dial 0 to 1 at every frame.
///   They need a method whose stiffness can change.
/// - `modes`, `contact`, `colliders`: as in `Simulation`.
/// - `settings` and further keywords: a `SimulationSettings`, and settings by name that replace its own.
///
/// Raises Cancelled, InputError (poses by frame), MotionError (naming the frame).
#[pyfunction]
#[pyo3(
    signature = (*arguments, **keywords),
    text_signature = "(body, poses, fps, rigs=None, controls=None, preroll=0, cyclic=False, progress=None, *, \
        modes=None, contact=None, colliders=None, restarts=None, pins=None, fields=None, gravities=None, stiffness=None, \
        softness=None, settings=None, **keywords)"
)]
pub(super) fn simulate(
    py: Python<'_>,
    arguments: &Bound<'_, PyTuple>,
    keywords: Option<&Bound<'_, PyDict>>,
) -> PyResult<PyClip> {
    const ARGUMENT_NAMES: [&str; 8] = [
        "body", "poses", "fps", "rigs", "controls", "preroll", "cyclic", "progress",
    ];
    let given = Arguments::new("simulate", &ARGUMENT_NAMES, arguments, keywords)?;
    let progress = given.take("progress", |p| Ok(p.clone().unbind()))?;
    PyShot(read_shot(py, given)?).simulate(py, progress)
}
