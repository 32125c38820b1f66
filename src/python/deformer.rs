// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bindings of `thew.Deformer` and `thew.gpu_adapters`.

use super::arguments::Arguments;
use super::arrays::{self, read_weights, real, text};
use super::errors::{IntoPy, input_error, run_detached, warn};
use super::modal::{PyModes, read_amplitudes};
use super::present::DisplayArguments;
use super::surface::PySurface;
use crate::kernel::{BoneMaps, Deformer, FrameOutput, KernelError, WarpInput};
use crate::modal::{DeformSettings, Modes};
use crate::present::DisplaySettings;
use crate::skeleton::Pose;
use numpy::PyArray2;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::sync::Arc;

/// A surface under amplitudes, in real time: `u = R̃(Ψq) Φq` for each vertex [choi2003, §4.2].
///
/// Deformer(modes, surface | points, form="vertex", engine="auto", precision="f32", device=None, skin_weights=None, max_offset=None):
///
/// - `surface` or `points[n,3]`: the vertices, embedded in the body's nodes.
/// - `form`: "vertex" warps each vertex, reading six numbers a mode for it; "embedded" warps the nodes that carry it.
/// - `engine`: "auto" (the one measured to be quickest), "cpu" or "gpu". A device that cannot be used is replaced by the processor with one
///   warning.
/// - `precision`: of the stored modes, "f32" or "f16".
/// - `device`: a part of the graphics device's name, or its number in `gpu_adapters`.
/// - `skin_weights[n,b]`: weights of the vertices, on a Body only. None: the body's own.
/// - `max_offset`: largest distance from its skin at which `positions` shows flesh, as a part of the body's size, on a Body only.
#[pyclass(name = "Deformer", module = "thew", frozen)]
pub(super) struct PyDeformer {
    deformer: Deformer,
    modes: Arc<Modes>,
    max_offset: Option<f64>,
}

#[pymethods]
impl PyDeformer {
    #[new]
    #[pyo3(
        signature = (*arguments, **keywords),
        text_signature = "(modes, surface, form='vertex', engine='auto', precision='f32', device=None, skin_weights=None, max_offset=None)"
    )]
    fn new(
        py: Python<'_>,
        arguments: &Bound<'_, PyTuple>,
        keywords: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        const NAMES: [&str; 8] = [
            "modes",
            "surface",
            "form",
            "engine",
            "precision",
            "device",
            "skin_weights",
            "max_offset",
        ];
        let given = Arguments::new("Deformer", &NAMES, arguments, keywords)?;
        let modes = given.require("modes", |m| Ok(m.extract::<Py<PyModes>>()?.get().0.clone()))?;
        let surface = &given.require("surface", |s| Ok(s.clone()))?;
        let name = |of: &str, usual: &str| {
            let named = given.take(of, |name| text(name).map(str::to_owned))?;
            Ok::<_, PyErr>(named.unwrap_or_else(|| usual.to_owned()))
        };
        let (form, engine) = (name("form", "vertex")?, name("engine", "auto")?);
        let precision = name("precision", "f32")?;
        let device = given.take("device", |d| text(d).map(str::to_owned))?;
        let skin_weights = given.any("skin_weights")?;
        let max_offset = given.take("max_offset", real)?;
        given.finish()?;
        let options = DeformSettings::from_names(&form, &precision, &engine, device.as_deref())
            .map_err(IntoPy::into_py)?;
        let bones = modes.body().map(|b| b.skeleton().len());
        if let Some(max_offset) = max_offset.filter(|r| !(*r > 0.0 && r.is_finite())) {
            return Err(input_error(format!(
                "max_offset must be a positive part of the body's size, not {max_offset}"
            )));
        }
        let given = surface.cast::<PySurface>().ok().map(|s| s.get().0.clone());
        let (rest, surface) = match given {
            Some(surface) => (surface.vertices().to_vec(), Some(surface)),
            None => (arrays::read_finite_points(surface, "points")?, None),
        };
        if max_offset.is_some() && bones.is_none() {
            return Err(input_error(
                "max_offset needs modes of a Body: a TetMesh has no skin to stay near",
            ));
        }
        let painted = match (&skin_weights, bones) {
            (None, _) => None,
            (Some(w), Some(bones)) => Some(read_weights(w, "skin_weights", rest.len(), bones)?),
            (Some(_), None) => {
                return Err(input_error(
                    "skin_weights need modes of a Body: a TetMesh has no bones",
                ));
            }
        };
        let deformer = run_detached(py, || {
            modes.check_near(&rest).map_err(IntoPy::into_py)?;
            let (embedding, skin) = match &surface {
                Some(surface) => modes.embed_surface(surface),
                None => modes.embed_points(&rest),
            };
            let skin = painted.or(skin);
            let made = modes.deformer(&embedding, &rest, skin.as_ref(), &options);
            made.map_err(IntoPy::into_py)
        })?;
        let made = Self {
            deformer,
            modes,
            max_offset,
        };
        made.issue_warnings(py)?;
        Ok(made)
    }

    /// Returns the displacements at `amplitudes[m]`, float32 [n,3], metres, in rest axes. `to` and `onto` are as in `Clip.offsets`.
    #[pyo3(signature = (amplitudes, to=None, onto=None))]
    fn displacements<'py>(
        &self,
        py: Python<'py>,
        amplitudes: &Bound<'py, PyAny>,
        to: Option<&Bound<'py, PyAny>>,
        onto: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyArray2<f32>>> {
        let display = DisplayArguments::new(None, to, onto)?;
        self.frame_array(py, amplitudes, None, display, |_| {
            FrameOutput::Displacements
        })
    }

    /// Returns the positions at `amplitudes[m]`, float32 [n,3], metres, world axes: at rest, or on a Body under `pose[b,4,4]`. `to` and
    /// `onto` are as in `Clip.offsets`.
    #[pyo3(signature = (amplitudes, pose=None, to=None, onto=None))]
    fn positions<'py>(
        &self,
        py: Python<'py>,
        amplitudes: &Bound<'py, PyAny>,
        pose: Option<&Bound<'py, PyAny>>,
        to: Option<&Bound<'py, PyAny>>,
        onto: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyArray2<f32>>> {
        let display = DisplayArguments::new(None, to, onto)?;
        self.frame_array(py, amplitudes, pose, display, |bones| {
            bones.map_or(FrameOutput::Rest, FrameOutput::Posed)
        })
    }

    /// Returns the offsets that `amplitudes[m]` add to the skin, float32 [n,3], metres, world axes: `positions` less those at no amplitude,
    /// at rest or on a Body under `pose[b,4,4]`. `to` and `onto` are as in `Clip.offsets`.
    #[pyo3(signature = (amplitudes, pose=None, to=None, onto=None))]
    fn offsets<'py>(
        &self,
        py: Python<'py>,
        amplitudes: &Bound<'py, PyAny>,
        pose: Option<&Bound<'py, PyAny>>,
        to: Option<&Bound<'py, PyAny>>,
        onto: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyArray2<f32>>> {
        let display = DisplayArguments::new(None, to, onto)?;
        self.frame_array(py, amplitudes, pose, display, |bones| {
            bones.map_or(FrameOutput::Displacements, FrameOutput::Offsets)
        })
    }

    /// Engine that runs it now: "CPU, 2 threads", "GPU NAME".
    #[getter]
    fn engine(&self) -> String {
        self.deformer.engine()
    }

    /// Measured cost of a frame on each engine that was tried, {engine: seconds}.
    #[getter]
    fn measured(&self) -> std::collections::BTreeMap<String, f64> {
        let tried = self.deformer.timings().into_iter();
        tried.map(|m| (m.engine, m.seconds)).collect()
    }

    /// Measurement and choice of the engine, in one line.
    #[getter]
    fn report(&self) -> String {
        self.deformer.report()
    }

    /// Warnings: requests that could not be met.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.deformer.warnings()
    }

    /// Number of vertices.
    fn __len__(&self) -> usize {
        self.deformer.model().vertices()
    }

    fn __repr__(&self) -> String {
        format!(
            "<thew.Deformer: {} vertices, {} modes, {}>",
            self.deformer.model().vertices(),
            self.modes.len(),
            self.deformer.engine()
        )
    }
}

impl PyDeformer {
    /// Returns the array of one frame.
    fn frame_array<'py>(
        &self,
        py: Python<'py>,
        amplitudes: &Bound<'py, PyAny>,
        pose: Option<&Bound<'py, PyAny>>,
        display: DisplayArguments<'py>,
        output: impl for<'a> FnOnce(Option<&'a BoneMaps>) -> FrameOutput<'a> + Send,
    ) -> PyResult<Bound<'py, PyArray2<f32>>> {
        let q = self::read_amplitudes(amplitudes, "amplitudes", self.modes.len())?;
        let pose = pose.map(arrays::read_pose).transpose()?;
        let model = self.deformer.model();
        let array = display.fill_array(
            py,
            |_| Ok::<_, KernelError>(model.vertices()),
            |_, target, out| {
                run_detached(py, || {
                    let bones = pose
                        .as_ref()
                        .map(|pose| self.bone_transforms(pose))
                        .transpose();
                    let bones = bones.map_err(IntoPy::into_py)?;
                    let frame = WarpInput::new(&q, output(bones.as_ref())).with_target(*target);
                    self.deformer
                        .frame_into(frame, out)
                        .map_err(IntoPy::into_py)
                })
            },
        )?;
        self.issue_warnings(py)?;
        Ok(array)
    }

    fn bone_transforms(&self, pose: &Pose) -> Result<BoneMaps, KernelError> {
        let showing = DisplaySettings {
            max_offset: self.max_offset,
            ..DisplaySettings::default()
        };
        let body = self.modes.body();
        let limit = body.and_then(|body| showing.offset_limit(body, pose));
        self.deformer.model().pose(pose, limit)
    }

    /// Issues the warnings that are new, each once.
    fn issue_warnings(&self, py: Python<'_>) -> PyResult<()> {
        for warning in self.deformer.take_warnings() {
            warn(py, &warning)?;
        }
        Ok(())
    }
}

/// Returns the names of the graphics devices that could be used, the best first; names of software ones say so.
#[pyfunction]
pub(super) fn gpu_adapters(py: Python<'_>) -> PyResult<Vec<String>> {
    run_detached(py, || Ok(crate::kernel::gpu_adapters()))
}
