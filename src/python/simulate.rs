// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bindings of `thew.simulate`.

use super::arrays::{List, integer, optional_real, optional_text, real, text};
use super::body::PyBody;
use super::clip::PyClip;
use super::contact::PyContact;
use super::shot::PyShot;
use pyo3::prelude::*;

/// Simulates `poses[f,b,4,4]` at `fps` frames per second and returns a Clip. Frame 0 is the settled first pose, moving as its bones move.
///
/// - `rigs`: `Rig`s that push the flesh. `controls[f,r]`: value of each rig's control at every frame, linear between frames. None: every
///   rig at its last sample throughout.
/// - `preroll`: frames of run-in before frame 0, in which the joints come from a standstill.
/// - `cyclic`: True if the poses are a cycle, which may travel; it is run until its state repeats.
/// - `restarts`: frames above 0, ascending, in which the flesh begins anew as in frame 0. They are cuts, after which the character is
///   elsewhere.
/// - `contact`, `colliders` and further settings: those of `Simulation`; with the method "modal" also `engine`, `device`, `form` and
///   `precision` of `Deformer`.
///
/// Raises Cancelled, InputError (poses by frame), MotionError (naming the frame).
#[pyfunction]
#[pyo3(signature = (body, poses, fps, rigs=None, controls=None, preroll=0, cyclic=false, progress=None,
    method="hyperelastic", rate=240.0, gravity=None, mass_damping=None, stiffness_damping=None,
    max_offset=None, modes=None, engine="auto", device=None, form="embedded",
    precision="f32", solver="auto", elastic_joints=1.0, contact=None,
    colliders=None, *, restarts=None))]
#[allow(clippy::too_many_arguments)]
pub(super) fn simulate(
    py: Python<'_>,
    body: &PyBody,
    poses: &Bound<'_, PyAny>,
    #[pyo3(from_py_with = real)] fps: f64,
    rigs: Option<List<Bound<'_, PyAny>>>,
    controls: Option<&Bound<'_, PyAny>>,
    #[pyo3(from_py_with = integer)] preroll: i64,
    cyclic: bool,
    progress: Option<Py<PyAny>>,
    #[pyo3(from_py_with = text)] method: &str,
    #[pyo3(from_py_with = real)] rate: f64,
    gravity: Option<&Bound<'_, PyAny>>,
    #[pyo3(from_py_with = optional_real)] mass_damping: Option<f64>,
    #[pyo3(from_py_with = optional_real)] stiffness_damping: Option<f64>,
    #[pyo3(from_py_with = optional_real)] max_offset: Option<f64>,
    modes: Option<&Bound<'_, PyAny>>,
    #[pyo3(from_py_with = text)] engine: &str,
    #[pyo3(from_py_with = optional_text)] device: Option<&str>,
    #[pyo3(from_py_with = text)] form: &str,
    #[pyo3(from_py_with = text)] precision: &str,
    #[pyo3(from_py_with = text)] solver: &str,
    #[pyo3(from_py_with = real)] elastic_joints: f64,
    contact: Option<PyRef<'_, PyContact>>,
    colliders: Option<List<Bound<'_, PyAny>>>,
    restarts: Option<&Bound<'_, PyAny>>,
) -> PyResult<PyClip> {
    let shot = PyShot::new(
        py,
        body,
        poses,
        fps,
        rigs,
        controls,
        preroll,
        cyclic,
        None,
        method,
        rate,
        gravity,
        mass_damping,
        stiffness_damping,
        max_offset,
        modes,
        engine,
        device,
        form,
        precision,
        solver,
        elastic_joints,
        contact,
        colliders,
        "",
        restarts,
    )?;
    shot.simulate(py, progress)
}
