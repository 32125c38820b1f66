// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bindings of `thew.RigFit`, and of `thew.fit_rig` and `thew.fit_gradient` for single calls.

use super::arguments::Arguments;
use super::arrays::{List, WholeNumber, read_finite_points, read_pose, read_vector, text};
use super::body::PyBody;
use super::dynamics::{parse_method, read_gravity};
use super::errors::{IntoPy, input_error, run_detached, run_locked};
use super::present::{DisplayArguments, SurfaceView};
use super::progress::run_reporting;
use super::rig::PyRig;
use crate::exclusive::Exclusive;
use crate::present::{Presenter, Snapshot};
use crate::rig::{NamedValues, Rig, RigFit, RigFitError, RigFitResult, RigFitSettings, SkinTarget};
use numpy::PyArray2;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Repeated fits of one rig of a body at a pose. The systems of the pose and the points are solved once [capell2006, §4.2.2, eqs 17 to 20].
///
/// RigFit(body, rig, pose, gravity=None, method="warped", rest_forces=None):
///
/// - `pose[b,4,4]`: the pose.
/// - `gravity[3]`: m/s². None: earth's, along -z.
/// - `method`: "warped", "warped_vertex" or "linear".
/// - `rest_forces[nodes,3]`: forces of other rigs, N, rest axes.
///
/// Raises InputError, and RigError for a sculpted rig or a muscle, which have no template.
#[pyclass(name = "RigFit", module = "thew", frozen)]
pub(super) struct PyRigFit {
    fit: Exclusive<RigFit>,
    rig: Arc<Rig>,
    presenter: Presenter,
    last: Mutex<Option<RigFitResult>>,
}

impl PyRigFit {
    fn with_fit<T: Send, E: IntoPy + Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut RigFit, &Rig) -> Result<T, E> + Send,
    ) -> PyResult<T> {
        run_locked(py, &self.fit, |fit| work(fit, &self.rig))
    }
}

impl PyRigFit {
    /// Reads the fit of a rig at a pose from the arguments of a call.
    fn from_arguments(py: Python<'_>, given: &Arguments<'_>) -> PyResult<Self> {
        let body = given.require("body", |b| Ok(b.extract::<Py<PyBody>>()?))?;
        let rig = given.require("rig", |r| Ok(r.extract::<Py<PyRig>>()?))?;
        let pose = given.require("pose", |p| Ok(p.clone()))?;
        let (gravity, forces) = (given.any("gravity")?, given.any("rest_forces")?);
        let method = given.take("method", |m| text(m).map(str::to_owned))?;
        let method = method.as_deref().unwrap_or("warped");
        let (body, rig) = (body.get(), rig.get());
        Self::new(
            py,
            body,
            rig,
            &pose,
            gravity.as_ref(),
            method,
            forces.as_ref(),
        )
    }

    /// Fits the rig to the points in the arguments of a call.
    fn fit_points<'py>(
        &self,
        py: Python<'py>,
        given: Arguments<'py>,
        evaluations: Option<WholeNumber>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let points = given.require("points", read_targets)?;
        let mut options = read_options(&given, "start")?;
        options.bounds = read_limits(given.any("bounds")?.as_ref())?;
        options.evaluations = evaluations.map(|n| n.to_index() as usize);
        let progress = given.progress()?;
        given.finish()?;
        let fitted = run_reporting(py, progress, &self.fit, |fit, progress| {
            fit.fit_with_progress(&self.rig, &points, &options, progress)
        })?;
        let named = named_dict(py, &self.rig, &fitted.parameters);
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(fitted);
        named
    }

    /// Returns the cost and its slopes at the points in the arguments of a call.
    fn cost_and_slopes<'py>(
        &self,
        py: Python<'py>,
        given: Arguments<'py>,
    ) -> PyResult<(f64, Bound<'py, PyDict>)> {
        let points = given.require("points", read_targets)?;
        let options = read_options(&given, "parameters")?;
        given.finish()?;
        let (cost, slopes) = self.with_fit(py, |fit, rig| fit.gradient(rig, &points, &options))?;
        Ok((cost, named_dict(py, &self.rig, &slopes)?))
    }

    fn read_last<T>(&self, what: impl FnOnce(&RigFitResult) -> T) -> Option<T> {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        last.as_ref().map(what)
    }
}

#[pymethods]
impl PyRigFit {
    #[new]
    #[pyo3(signature = (body, rig, pose, gravity=None, method="warped", rest_forces=None))]
    fn new(
        py: Python<'_>,
        body: &PyBody,
        rig: &PyRig,
        pose: &Bound<'_, PyAny>,
        gravity: Option<&Bound<'_, PyAny>>,
        #[pyo3(from_py_with = text)] method: &str,
        rest_forces: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let (pose, method) = (self::read_pose(pose)?, self::parse_method(method)?);
        let gravity = self::read_gravity(gravity)?;
        let others = rest_forces.map(|f| read_finite_points(f, "rest_forces"));
        let others = others.transpose()?;
        let rig = rig.0.clone();
        RigFit::check_kind(&rig).map_err(IntoPy::into_py)?;
        let fit = run_detached(py, || {
            RigFit::new(&body.0, method, &pose, gravity, others.as_deref()).map_err(IntoPy::into_py)
        })?;
        let fit = Exclusive::new(fit);
        let last = Mutex::new(None);
        Ok(Self {
            fit,
            rig,
            presenter: Presenter::new(body.surfaces().clone()),
            last,
        })
    }

    /// Fits the rig to `points` [(vertex of the body's own surface, world target[3]), ...] and returns all its parameters, {name: value}.
    ///
    /// They bring the points nearest to their targets in equilibrium. A target out of reach is approached, and no flesh is pressed flatter
    /// than 0.3 of its volume; `reached` and `folding` report how far that came.
    ///
    /// - `start`, `preferred`: {parameter: value}. None: the rig's last sample.
    /// - `weights`: {parameter: ξ}, m² per unit². None: zero, but a gentle one for preferred parameters.
    /// - `bounds`: {parameter: (lower, upper)}, None for no bound, in place of the usual ones.
    /// - `evaluations`: largest number of evaluations, for an update while the mouse moves. The result is the best so far, from which the
    ///   next update goes on. None: as many as needed, within some seconds of work, and then the best so far.
    ///
    /// Raises InputError, RigError, OutsideError, Cancelled.
    #[pyo3(
        signature = (*arguments, **keywords),
        text_signature = "($self, points, start=None, preferred=None, weights=None, bounds=None, evaluations=None, progress=None)"
    )]
    fn fit<'py>(
        &self,
        py: Python<'py>,
        arguments: &Bound<'py, PyTuple>,
        keywords: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        const NAMES: [&str; 7] = [
            "points",
            "start",
            "preferred",
            "weights",
            "bounds",
            "evaluations",
            "progress",
        ];
        let given = Arguments::new("fit", &NAMES, arguments, keywords)?;
        let evaluations = given.take("evaluations", |n| n.extract::<WholeNumber>())?;
        self.fit_points(py, given, evaluations)
    }

    /// Share of the way from the points at the start to their targets that the last `fit` came, 0 to 1, by the root of the sum of squares;
    /// None before one.
    #[getter]
    fn reached(&self) -> Option<f64> {
        self.read_last(|fitted| fitted.reached)
    }

    /// True if more strength would fold flesh at the result of the last `fit`; None before one.
    #[getter]
    fn folding(&self) -> Option<bool> {
        self.read_last(|fitted| fitted.folding)
    }

    /// Number of times that the last `fit` integrated the rig's forces; None before one.
    #[getter]
    fn evaluations(&self) -> Option<usize> {
        self.read_last(|fitted| fitted.evaluations)
    }

    /// Returns the cost (m²) that `fit` minimises, and its derivative by every parameter, {name: derivative}. `parameters` that are not
    /// named are those of the rig's last sample. None: all.
    #[pyo3(
        signature = (*arguments, **keywords),
        text_signature = "($self, points, parameters=None, preferred=None, weights=None)"
    )]
    fn gradient<'py>(
        &self,
        py: Python<'py>,
        arguments: &Bound<'py, PyTuple>,
        keywords: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<(f64, Bound<'py, PyDict>)> {
        const NAMES: [&str; 4] = ["points", "parameters", "preferred", "weights"];
        let given = Arguments::new("gradient", &NAMES, arguments, keywords)?;
        self.cost_and_slopes(py, given)
    }

    /// Returns the positions of the vertices of the body's own surface in equilibrium with the rig, as the lattice has them, float32 [n,3],
    /// metres, world axes. `parameters` that are not named are those of the rig's last sample. None: all. `to` and `onto` are as in
    /// `Clip.offsets`.
    #[pyo3(signature = (parameters=None, to=None, onto=None))]
    fn positions<'py>(
        &self,
        py: Python<'py>,
        parameters: Option<&Bound<'py, PyAny>>,
        to: Option<&Bound<'py, PyAny>>,
        onto: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyArray2<f32>>> {
        let display = DisplayArguments::new(None, to, onto)?;
        let options = RigFitSettings {
            start: read_named_values(parameters, "parameters")?,
            ..RigFitSettings::default()
        };
        let snapshot = self.with_fit(py, |fit, rig| {
            let eta = options.parameters(rig, fit.body())?;
            let q = fit.displacements(rig, &eta)?;
            Ok::<_, RigFitError>(Snapshot::from_displacements(fit.body(), &q))
        })?;
        (&self.presenter, &snapshot).quantity_array(py, (), Presenter::positions, display)
    }

    fn __repr__(&self) -> String {
        format!("<thew.RigFit: {}>", self.rig.name())
    }
}

/// Calls `RigFit(...).fit(...)` once and returns all parameters of the rig. They bring `points` [(vertex of the body's own surface, world
/// target[3]), ...] nearest to their targets in equilibrium at `pose[b,4,4]` [capell2006, §4.2.2].
#[pyfunction]
#[pyo3(
    signature = (*arguments, **keywords),
    text_signature = "(body, rig, pose, points, preferred=None, weights=None, start=None, bounds=None, gravity=None, method='warped', rest_forces=None, progress=None)"
)]
pub(super) fn fit_rig<'py>(
    py: Python<'py>,
    arguments: &Bound<'py, PyTuple>,
    keywords: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyDict>> {
    const NAMES: [&str; 12] = [
        "body",
        "rig",
        "pose",
        "points",
        "preferred",
        "weights",
        "start",
        "bounds",
        "gravity",
        "method",
        "rest_forces",
        "progress",
    ];
    let given = Arguments::new("fit_rig", &NAMES, arguments, keywords)?;
    PyRigFit::from_arguments(py, &given)?.fit_points(py, given, None)
}

/// Calls `RigFit(...).gradient(...)` once and returns the cost (m²) of `points` [(vertex, world target[3]), ...] at `parameters` (None: the
/// rig's last sample), and its derivative by every parameter [capell2006, §4.2.2, eq. 20].
#[pyfunction]
#[pyo3(
    signature = (*arguments, **keywords),
    text_signature = "(body, rig, pose, points, parameters=None, preferred=None, weights=None, gravity=None, method='warped', rest_forces=None)"
)]
pub(super) fn fit_gradient<'py>(
    py: Python<'py>,
    arguments: &Bound<'py, PyTuple>,
    keywords: Option<&Bound<'py, PyDict>>,
) -> PyResult<(f64, Bound<'py, PyDict>)> {
    const NAMES: [&str; 10] = [
        "body",
        "rig",
        "pose",
        "points",
        "parameters",
        "preferred",
        "weights",
        "gravity",
        "method",
        "rest_forces",
    ];
    let given = Arguments::new("fit_gradient", &NAMES, arguments, keywords)?;
    PyRigFit::from_arguments(py, &given)?.cost_and_slopes(py, given)
}

/// Reads points and their targets, [(vertex, target[3]), ...].
pub(super) fn read_targets(object: &Bound<'_, PyAny>) -> PyResult<Vec<SkinTarget>> {
    let refused = |_| input_error("points: expected a list of (vertex, target[3])");
    let List(each) = object.extract().map_err(refused)?;
    let each: Vec<Bound<'_, PyAny>> = each;
    each.iter()
        .enumerate()
        .map(|(i, pair)| {
            let (vertex, place): (Bound<'_, PyAny>, Bound<'_, PyAny>) =
                pair.extract().map_err(refused)?;
            let wrong = |_| {
                let shown = vertex.str().map(|s| s.to_string()).unwrap_or_default();
                input_error(format!(
                    "points[{i}]: the vertex must be a whole number that is not negative, but is {shown}"
                ))
            };
            let index = vertex.extract::<WholeNumber>().map_err(wrong)?;
            let (vertex, place) = (
                index.to_index(),
                read_vector(&place, "a target of points")?,
            );
            Ok(SkinTarget { vertex, place })
        })
        .collect()
}

/// Reads the settings of a fit from the arguments of a call; `start` names the argument with its first parameters.
fn read_options(given: &Arguments<'_>, start: &str) -> PyResult<RigFitSettings> {
    Ok(RigFitSettings {
        start: read_named_values(given.any(start)?.as_ref(), "parameters")?,
        preferred: read_named_values(given.any("preferred")?.as_ref(), "preferred")?,
        weights: read_named_values(given.any("weights")?.as_ref(), "weights")?,
        ..RigFitSettings::default()
    })
}

/// Reads {parameter: number}.
fn read_named_values(object: Option<&Bound<'_, PyAny>>, what: &str) -> PyResult<NamedValues> {
    let dict = object.map(|o| {
        let refused = |_| input_error(format!("{what}: expected a dict {{parameter: number}}"));
        o.extract().map_err(refused)
    });
    Ok(dict.transpose()?.unwrap_or_default())
}

/// Reads {parameter: (lower, upper)}, either `None` for no bound.
fn read_limits(object: Option<&Bound<'_, PyAny>>) -> PyResult<BTreeMap<String, (f64, f64)>> {
    type ParameterLimits = BTreeMap<String, (Option<f64>, Option<f64>)>;
    let Some(object) = object else {
        return Ok(BTreeMap::new());
    };
    let refused = |_| input_error("bounds: expected a dict {parameter: (lower, upper)}");
    let limits: ParameterLimits = object.extract().map_err(refused)?;
    let open = |(name, (lower, upper)): (String, (Option<f64>, Option<f64>))| {
        let lower = lower.unwrap_or(f64::NEG_INFINITY);
        (name, (lower, upper.unwrap_or(f64::INFINITY)))
    };
    Ok(limits.into_iter().map(open).collect())
}

fn named_dict<'py>(py: Python<'py>, rig: &Rig, values: &[f64]) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (name, value) in rig.parameter_names().iter().zip(values) {
        dict.set_item(*name, value)?;
    }
    Ok(dict)
}
