// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bindings of the fits of `thew.MRep`.

use super::volume::PyVolume;
use super::{PyMRep, PyMRepFamily, from_coordinates};
use crate::mrep::{
    Figure, FigureFit, FigureFitSettings, FigureKind, FitReport, MRepError, Model, Volume,
};
use crate::progress::Progress;
use crate::python::arguments::Arguments;
use crate::python::arrays::{List, as_array, kind_of, read_floats, read_integers, real};
use crate::python::errors::{IntoPy, input_error};
use crate::python::progress::with_progress;
use crate::python::surface::PySurface;
use crate::surface::Surface;
use numpy::{IntoPyArray, PyArray1, PyArray2};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::sync::Arc;

/// Target of a fit.
pub(super) enum MRepFitTarget {
    /// A surface, with weights by figure.
    Surface(Arc<Surface>, Option<Vec<Vec<f64>>>),
    Volume(Arc<Volume>),
}

impl MRepFitTarget {
    /// Reads a surface or a volume. A model of several `figures` has a row of weights of the surface's vertices for each.
    pub fn new(
        target: &Bound<'_, PyAny>,
        weights: Option<&Bound<'_, PyAny>>,
        figures: usize,
    ) -> PyResult<Self> {
        if let Ok(surface) = target.cast::<PySurface>() {
            let surface = surface.get().0.clone();
            let n = surface.vertices().len();
            let shape: &[Option<usize>] = match figures {
                1 => &[Some(n)],
                _ => &[Some(figures), Some(n)],
            };
            let weights = weights
                .map(|w| read_floats(w, "weights", shape))
                .transpose()?;
            let rows = |w: Vec<f64>| w.chunks(n.max(1)).map(<[f64]>::to_vec).collect();
            return Ok(Self::Surface(surface, weights.map(|w| rows(w.data))));
        }
        if let Ok(volume) = target.cast::<PyVolume>() {
            if weights.is_some() {
                return Err(input_error(
                    "weights: they belong to the vertices of a surface; a volume has none",
                ));
            }
            return Ok(Self::Volume(volume.get().0.clone()));
        }
        let kind = target.get_type().name()?;
        Err(input_error(format!(
            "target: expected a thew.Surface or a thew.Volume, got {kind}"
        )))
    }

    /// Returns the fits, in the order of the figures.
    pub fn fit(
        &self,
        model: &Model,
        settings: &FigureFitSettings,
        progress: &dyn Progress,
    ) -> Result<Vec<FigureFit>, MRepError> {
        match self {
            Self::Surface(surface, weights) => {
                model.fit_surface(surface, weights.as_deref(), settings, progress)
            }
            Self::Volume(volume) => {
                let fit = model
                    .single_figure()?
                    .fit_volume(volume, settings, progress)?;
                Ok(vec![fit])
            }
        }
    }
}

/// Names of the stages.
const STAGE_NAMES: [&str; 4] = ["similarity", "sections", "atoms", "boundary"];
/// Stages of a fit by default.
const DEFAULT_STAGES: [&str; 3] = ["similarity", "atoms", "boundary"];

/// Fits a model to the target in the arguments of a call.
pub(super) fn fitted<'py>(
    py: Python<'py>,
    model: &Model,
    arguments: &Bound<'py, PyTuple>,
    keywords: Option<&Bound<'py, PyDict>>,
) -> PyResult<PyMRepFit> {
    const NAMES: [&str; 7] = [
        "target", "stages", "prior", "held", "weights", "family", "progress",
    ];
    let given = Arguments::new("fit", &NAMES, arguments, keywords)?;
    let target = given.require("target", |t| Ok(t.clone()))?;
    let stages = given.take("stages", List::<String>::from_object)?;
    let prior = given.take("prior", real)?.unwrap_or(1.0);
    let (held, weights) = (given.any("held")?, given.any("weights")?);
    let family = given.take("family", |f| Ok(f.extract::<Py<PyMRepFamily>>()?))?;
    let progress = given.progress()?;
    given.finish()?;
    let family = family.as_ref().map(Py::get);
    let settings = read_settings(model, stages.map(|s| s.0), prior, held.as_ref(), family)?;
    let names: Vec<String> = model
        .figures()
        .iter()
        .map(|(name, _)| name.clone())
        .collect();
    let target = MRepFitTarget::new(&target, weights.as_ref(), names.len())?;
    with_progress(py, progress, |progress| {
        let fits = target
            .fit(model, &settings, progress)
            .map_err(IntoPy::into_py)?;
        PyMRepFit::new(names.into_iter().zip(fits).collect())
    })
}

fn read_settings(
    model: &Model,
    stages: Option<Vec<String>>,
    prior: f64,
    held: Option<&Bound<'_, PyAny>>,
    family: Option<&PyMRepFamily>,
) -> PyResult<FigureFitSettings> {
    let stages = stages.unwrap_or(DEFAULT_STAGES.map(String::from).to_vec());
    if let Some(other) = stages.iter().find(|s| !STAGE_NAMES.contains(&&s[..])) {
        return Err(input_error(format!(
            "stages: there is no '{other}'; there are 'similarity', 'sections', 'atoms' and 'boundary'"
        )));
    }
    let has = |name: &str| stages.iter().any(|s| s == name);
    Ok(FigureFitSettings {
        similarity: has("similarity"),
        sections: has("sections"),
        atoms: has("atoms"),
        boundary: has("boundary"),
        prior,
        held: match held {
            None => Vec::new(),
            Some(held) => {
                self::read_held_atoms(model.single_figure().map_err(IntoPy::into_py)?, held)?
            }
        },
        family: family.map(|f| f.statistics.clone()),
    })
}

/// Reads indices of atoms, or a mask shaped as the figure.
fn read_held_atoms(figure: &Figure, held: &Bound<'_, PyAny>) -> PyResult<Vec<usize>> {
    let array = as_array(held, "held")?;
    if kind_of(&array)? == "b" {
        let shape: Vec<usize> = array.getattr("shape")?.extract()?;
        let own = match figure.kind() {
            FigureKind::Slab { rows, cols } => vec![rows, cols],
            FigureKind::Tube { atoms, .. } => vec![atoms],
        };
        if shape != own {
            return Err(input_error(format!(
                "held: expected a mask of shape {own:?}, got {shape:?}"
            )));
        }
        return array
            .call_method0("ravel")?
            .call_method0("nonzero")?
            .get_item(0)?
            .extract();
    }
    let (indices, _) = read_integers(&array, "held")?;
    let atoms = figure.kind().atom_count();
    let index = |i: i64| {
        let refused = || input_error(format!("held: there is no atom {i}, the model has {atoms}"));
        usize::try_from(i)
            .ok()
            .filter(|i| *i < atoms)
            .ok_or_else(refused)
    };
    indices.into_iter().map(index).collect()
}

/// Measures of how good a fit is; `str()` of it is a sentence.
#[pyclass(name = "MRepReport", module = "thew", frozen)]
pub(in crate::python) struct PyMRepReport(FitReport);

#[pymethods]
impl PyMRepReport {
    /// Mean distance from the surface to the boundary, weighted by area, metres; for a volume, from the boundary to the step.
    #[getter]
    fn mean(&self) -> f64 {
        self.0.mean
    }

    /// Distance within which 99 % of the area lie, metres.
    #[getter]
    fn percentile_99(&self) -> f64 {
        self.0.ninety_nine
    }

    /// Largest distance, metres.
    #[getter]
    fn largest(&self) -> f64 {
        self.0.largest
    }

    /// Dice coefficient: twice the volume that both share over the sum of both; 1 where they are the same. For a volume it is with the
    /// voxels beyond the middle of both levels. NaN where vertices had different weights, as a limb is not the whole body.
    #[getter]
    fn dice(&self) -> f64 {
        self.0.dice
    }

    fn __str__(&self) -> String {
        let FitReport {
            mean,
            ninety_nine,
            largest,
            dice,
        } = self.0;
        format!(
            "{:.3} mm from the target on average, 99 % nearer than {:.3} mm, {:.3} mm at most{}.",
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
    /// Fits with the names of their figures, at least one.
    fits: Vec<(String, FigureFit)>,
    surface: Arc<Surface>,
}

impl PyMRepFit {
    pub fn new(fits: Vec<(String, FigureFit)>) -> PyResult<Self> {
        let (mut positions, mut triangles) = (Vec::new(), Vec::new());
        for (_, fit) in &fits {
            let first = positions.len() as u32;
            positions.extend_from_slice(&fit.positions);
            let own = fit.boundary.triangles.iter();
            triangles.extend(own.map(|t| t.map(|v| v + first)));
        }
        let surface = Arc::new(Surface::new(positions, triangles).map_err(IntoPy::into_py)?);
        Ok(Self { fits, surface })
    }

    /// Returns the fit of the only figure, or refuses several.
    fn only_fit(&self) -> PyResult<&FigureFit> {
        match &self.fits[..] {
            [(_, fit)] => Ok(fit),
            several => {
                let names: Vec<&str> = several.iter().map(|(name, _)| &name[..]).collect();
                Err(input_error(format!(
                    "this fit has {} figures ({}): use one of its `figures`",
                    several.len(),
                    names.join(", ")
                )))
            }
        }
    }
}

#[pymethods]
impl PyMRepFit {
    /// Fitted model.
    #[getter]
    fn mrep(&self) -> PyResult<PyMRep> {
        let figures = self.fits.iter();
        let figures = figures.map(|(name, fit)| (name.clone(), fit.figure.clone()));
        let model = Model::new(figures.collect());
        model.map(Into::into).map_err(IntoPy::into_py)
    }

    /// Fits of the figures, each by itself; for one figure the fit alone. Stages and coordinates are properties of a single one.
    #[getter]
    fn figures(&self) -> PyResult<Vec<Self>> {
        let each = self.fits.iter();
        each.map(|(name, fit)| Self::new(vec![(name.clone(), fit.clone())]))
            .collect()
    }

    /// Boundary of the model, moved onto the target by the last stage; of several figures all boundaries, as pieces.
    #[getter]
    fn surface(&self) -> PySurface {
        PySurface(self.surface.clone())
    }

    /// Coordinates (u, v, φ, 1) of the vertices of `surface`, float64 [p,4].
    #[getter]
    fn surface_coordinates<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        Ok(from_coordinates(py, &self.only_fit()?.boundary.coordinates))
    }

    /// Minus the logarithm of the posterior at the beginning of each stage and after each of its steps, {stage: float64 [s]}; it falls.
    ///
    /// A volume has stages "atoms at blur 3" and "atoms at blur 1.5", in voxels (less where the body is thin), before "atoms". Of several
    /// figures "similarity" is the sum of all, and "object", each figure as one, comes after it.
    #[getter]
    fn posterior<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let out = PyDict::new(py);
        for stage in &self.only_fit()?.stages {
            let energies: Bound<'_, PyArray1<f64>> = stage.energies.clone().into_pyarray(py);
            out.set_item(&stage.name, energies)?;
        }
        Ok(out)
    }

    /// Reports at the end of each stage, {stage: MRepReport}, in their order.
    #[getter]
    fn stages<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let out = PyDict::new(py);
        for stage in &self.only_fit()?.stages {
            out.set_item(&stage.name, Py::new(py, PyMRepReport(stage.report))?)?;
        }
        Ok(out)
    }

    /// Report at the end of the last stage; None without stages.
    #[getter]
    fn report(&self) -> PyResult<Option<PyMRepReport>> {
        let last = self.only_fit()?.stages.last();
        Ok(last.map(|stage| PyMRepReport(stage.report)))
    }

    /// Faults of the model, one sentence each: a target that is neither slab nor tube as the model is. Empty if it is sound.
    #[getter]
    fn notes(&self) -> Vec<String> {
        let each = self.fits.iter();
        each.flat_map(|(name, fit)| fit.notes(name)).collect()
    }

    /// Values inside and outside of the boundary, for a volume; None for a surface.
    #[getter]
    fn levels(&self) -> PyResult<Option<(f64, f64)>> {
        Ok(self.only_fit()?.levels.map(|l| (l.inside, l.outside)))
    }

    fn __repr__(&self) -> String {
        let of = |(name, fit): &(String, FigureFit)| {
            let report = fit.stages.last();
            let report = report.map(|s| PyMRepReport(s.report).__str__());
            let report = report.unwrap_or("no stages".into());
            match self.fits.len() {
                1 => report,
                _ => format!("{name}: {report}"),
            }
        };
        let all: Vec<String> = self.fits.iter().map(of).collect();
        format!("<thew.MRepFit: {}>", all.join(" "))
    }
}
