// SPDX-License-Identifier: MIT OR Apache-2.0
//! Fits of `thew.MRep`.

use super::volume::PyVolume;
use super::{PyMRep, PyMRepFamily, from_coordinates};
use crate::mrep::{Figure, Fit, FitSettings, Kind, MRepError, Model, Report, Volume};
use crate::progress::Progress;
use crate::python::arrays::{as_array, floats, integers, kind_of};
use crate::python::errors::{IntoPy, input};
use crate::python::surface::PySurface;
use crate::surface::Surface;
use numpy::{IntoPyArray, PyArray1, PyArray2};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::Arc;

/// What a model is fitted to.
pub(super) enum Target {
    Surface(Arc<Surface>, Option<Vec<f64>>),
    Volume(Arc<Volume>),
}

impl Target {
    pub fn new(target: &Bound<'_, PyAny>, weights: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        if let Ok(surface) = target.cast::<PySurface>() {
            let surface = surface.get().0.clone();
            let n = surface.vertices().len();
            let weights = weights
                .map(|w| floats(w, "weights", &[Some(n)]))
                .transpose()?;
            return Ok(Self::Surface(surface, weights.map(|w| w.data)));
        }
        if let Ok(volume) = target.cast::<PyVolume>() {
            if weights.is_some() {
                return Err(input(
                    "weights: they are of the vertices of a surface; a volume has none",
                ));
            }
            return Ok(Self::Volume(volume.get().0.clone()));
        }
        let kind = target.get_type().name()?;
        Err(input(format!(
            "target: expected a thew.Surface or a thew.Volume, got {kind}"
        )))
    }

    pub fn fit(
        &self,
        figure: &Figure,
        settings: &FitSettings,
        progress: &dyn Progress,
    ) -> Result<Fit, MRepError> {
        match self {
            Self::Surface(surface, weights) => {
                figure.fit_surface(surface, weights.as_deref(), settings, progress)
            }
            Self::Volume(volume) => figure.fit_volume(volume, settings, progress),
        }
    }
}

/// Names of the stages.
const STAGES: [&str; 3] = ["similarity", "atoms", "boundary"];

pub(super) fn settings(
    figure: &Figure,
    stages: Option<Vec<String>>,
    prior: f64,
    held: Option<&Bound<'_, PyAny>>,
    family: Option<&PyMRepFamily>,
) -> PyResult<FitSettings> {
    let stages = stages.unwrap_or(STAGES.map(String::from).to_vec());
    if let Some(other) = stages.iter().find(|s| !STAGES.contains(&&s[..])) {
        return Err(input(format!(
            "stages: there is no '{other}'; there are 'similarity', 'atoms' and 'boundary'"
        )));
    }
    let has = |name: &str| stages.iter().any(|s| s == name);
    Ok(FitSettings {
        similarity: has("similarity"),
        atoms: has("atoms"),
        boundary: has("boundary"),
        prior,
        held: held.map_or(Ok(Vec::new()), |held| self::held(figure, held))?,
        family: family.map(|f| f.statistics.clone()),
    })
}

/// Indices of atoms from such, or from a mask shaped as the figure.
fn held(figure: &Figure, held: &Bound<'_, PyAny>) -> PyResult<Vec<usize>> {
    let array = as_array(held, "held")?;
    if kind_of(&array)? == "b" {
        let shape: Vec<usize> = array.getattr("shape")?.extract()?;
        let own = match figure.kind() {
            Kind::Slab { rows, cols } => vec![rows, cols],
            Kind::Tube { atoms, .. } => vec![atoms],
        };
        if shape != own {
            return Err(input(format!(
                "held: expected a mask of shape {own:?}, got {shape:?}"
            )));
        }
        return array
            .call_method0("ravel")?
            .call_method0("nonzero")?
            .get_item(0)?
            .extract();
    }
    let (indices, _) = integers(&array, "held")?;
    let atoms = figure.kind().atoms();
    let index = |i: i64| {
        let refused = || input(format!("held: there is no atom {i}, the model has {atoms}"));
        usize::try_from(i)
            .ok()
            .filter(|i| *i < atoms)
            .ok_or_else(refused)
    };
    indices.into_iter().map(index).collect()
}

/// How good a fit is; `str()` of it is a sentence.
#[pyclass(name = "MRepReport", module = "thew", frozen)]
pub(in crate::python) struct PyMRepReport(Report);

#[pymethods]
impl PyMRepReport {
    /// Mean distance from the surface to the boundary, weighted by area, metres; of a volume from the boundary to the step.
    #[getter]
    fn mean(&self) -> f64 {
        self.0.mean
    }

    /// 99 % of the area are nearer than this, metres.
    #[getter]
    fn percentile_99(&self) -> f64 {
        self.0.ninety_nine
    }

    /// Largest distance, metres.
    #[getter]
    fn largest(&self) -> f64 {
        self.0.largest
    }

    /// Twice the volume that both share over the sum of both: 1 where they are the same. Of a volume: with the voxels beyond the
    /// middle of both levels. NaN where vertices had different weights: a limb is not the whole body.
    #[getter]
    fn dice(&self) -> f64 {
        self.0.dice
    }

    fn __str__(&self) -> String {
        let Report {
            mean,
            ninety_nine,
            largest,
            dice,
        } = self.0;
        format!(
            "{:.3} mm from the target on the mean, 99 % nearer than {:.3} mm, {:.3} mm at most{}.",
            1e3 * mean,
            1e3 * ninety_nine,
            1e3 * largest,
            match dice.is_nan() {
                true => String::new(),
                false => format!("; Dice {dice:.4}"),
            }
        )
    }

    fn __repr__(&self) -> String {
        format!("<thew.MRepReport: {}>", self.__str__())
    }
}

/// A fitted model.
#[pyclass(name = "MRepFit", module = "thew", frozen)]
pub(in crate::python) struct PyMRepFit {
    fit: Fit,
    name: String,
    surface: Arc<Surface>,
}

impl PyMRepFit {
    pub fn new(fit: Fit, name: String) -> PyResult<Self> {
        let surface = Surface::new(fit.positions.clone(), fit.boundary.triangles.clone());
        let surface = Arc::new(surface.map_err(IntoPy::into_py)?);
        Ok(Self { fit, name, surface })
    }
}

#[pymethods]
impl PyMRepFit {
    /// The model.
    #[getter]
    fn mrep(&self) -> PyResult<PyMRep> {
        let model = Model::new(vec![(self.name.clone(), self.fit.figure.clone())]);
        model.map(Into::into).map_err(IntoPy::into_py)
    }

    /// Its boundary, moved onto the target by the last stage.
    #[getter]
    fn surface(&self) -> PySurface {
        PySurface(self.surface.clone())
    }

    /// Coordinates (u, v, φ, 1) of the vertices of `surface`, float64 [p,4].
    #[getter]
    fn surface_coordinates<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray2<f64>> {
        from_coordinates(py, &self.fit.boundary.coordinates)
    }

    /// Minus the logarithm of the posterior at the beginning of each stage and after each of its steps, {stage: float64}; it falls. A
    /// volume has stages "atoms at blur 3" and "atoms at blur 1.5", in voxels (less where the body is thin), before "atoms".
    #[getter]
    fn posterior<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let out = PyDict::new(py);
        for stage in &self.fit.stages {
            let energies: Bound<'_, PyArray1<f64>> = stage.energies.clone().into_pyarray(py);
            out.set_item(&stage.name, energies)?;
        }
        Ok(out)
    }

    /// How good the fit was at the end of each stage, {stage: MRepReport}, in their order.
    #[getter]
    fn stages<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let out = PyDict::new(py);
        for stage in &self.fit.stages {
            out.set_item(&stage.name, Py::new(py, PyMRepReport(stage.report))?)?;
        }
        Ok(out)
    }

    /// How good it is at the end of the last stage; None without stages.
    #[getter]
    fn report(&self) -> Option<PyMRepReport> {
        self.fit
            .stages
            .last()
            .map(|stage| PyMRepReport(stage.report))
    }

    /// What is wrong with the model, a sentence each: a target that is neither slab nor tube as the model is. Empty if it is sound.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.fit.notes(&self.name)
    }

    /// Values inside and outside of the boundary, of a volume; None of a surface.
    #[getter]
    fn levels(&self) -> Option<(f64, f64)> {
        self.fit.levels.map(|l| (l.inside, l.outside))
    }

    fn __repr__(&self) -> String {
        let report = self
            .fit
            .stages
            .last()
            .map(|s| PyMRepReport(s.report).__str__());
        format!("<thew.MRepFit: {}>", report.unwrap_or("no stages".into()))
    }
}
