// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bindings of `thew.Rig` and its files.

use super::arrays::{
    List, check_finite, from_points, optional_real, read, read_floats, read_nodal, real, text,
};
use super::body::PyBody;
use super::correspond::PyCorrespondence;
use super::errors::{IntoPy, input_error, run_detached, warn};
use super::guide::{PyBoneGuide, PyFreeGuide, PySkinGuide};
use super::progress::with_progress;
use super::rig_samples::read_samples;
use super::surface_fit::PySurfaceFitReport;
use super::template::{PyTemplate, from_matrix, named_numbers, parameter_units, values_by_name};
use crate::rig::{Guide, MusclePlace, Rig, RigCompliance, RigError, RigKind, load, save};
use numpy::{IntoPyArray, PyArray1, PyArray2};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use std::path::PathBuf;
use std::sync::Arc;

/// A template on a guide, driven by one control [capell2006, §4]. Other kinds are shapes of the skin at poses (`fit_surface`) and muscles (`muscle`).
///
/// Rig(template, guide, samples=[(gamma, {parameter: value})], name="Rig"):
///
/// - Parameters are those of the template and of the guide. A sample holds all of them; those that it does not name are as in the template
///   and the guide.
/// - `samples` may come in any order. Between them parameters are linear in gamma, outside constant. Without samples the rig is the same at
///   every gamma.
///
/// Raises RigError naming the sample or the parameter.
#[pyclass(name = "Rig", module = "thew", frozen)]
pub(super) struct PyRig(pub Arc<Rig>);

impl PyRig {
    /// Returns η at a control (`None`: the last sample), some of its parameters replaced by name.
    pub(super) fn read_parameters(
        &self,
        gamma: Option<f64>,
        parameters: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Vec<f64>> {
        let eta = match gamma {
            Some(value) if !value.is_finite() => {
                return Err(RigError::Control { value }.into_py());
            }
            Some(gamma) => self.0.parameters(gamma),
            None => self.0.last_parameters(),
        };
        let named = parameters.map(named_numbers).transpose()?;
        let named = named.unwrap_or_default();
        let named = named.iter().map(|(name, value)| (name.as_str(), *value));
        self.0
            .replace_parameters(eta, named)
            .map_err(IntoPy::into_py)
    }

    fn measure_compliance(
        &self,
        py: Python<'_>,
        body: &PyBody,
        gamma: Option<f64>,
        parameters: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<RigCompliance> {
        let eta = self.read_parameters(gamma, parameters)?;
        run_detached(py, || {
            let control = gamma.unwrap_or(f64::INFINITY);
            let answer = self.0.compliance_at_control(&body.0, control, &eta);
            answer.map_err(IntoPy::into_py)
        })
    }

    /// Returns η by name.
    pub(super) fn parameter_dict<'py>(
        &self,
        py: Python<'py>,
        eta: &[f64],
    ) -> PyResult<Bound<'py, PyDict>> {
        values_by_name(py, self.0.parameter_names(), eta)
    }
}

#[pymethods]
impl PyRig {
    #[new]
    #[pyo3(signature = (template, guide, samples=None, name="Rig"))]
    fn new(
        template: &PyTemplate,
        guide: &Bound<'_, PyAny>,
        samples: Option<&Bound<'_, PyAny>>,
        #[pyo3(from_py_with = text)] name: &str,
    ) -> PyResult<Self> {
        let guide = if let Ok(g) = guide.cast::<PyBoneGuide>() {
            g.get().0.clone()
        } else if let Ok(g) = guide.cast::<PySkinGuide>() {
            g.get().0.clone()
        } else if let Ok(g) = guide.cast::<PyFreeGuide>() {
            g.get().0.clone()
        } else {
            return Err(input_error(
                "guide: expected a thew.BoneGuide, SkinGuide or FreeGuide",
            ));
        };
        let plain = Rig::new(name, template.0, guide.clone(), Vec::new());
        let plain = plain.map_err(RigError::into_py)?;
        let recorded = read_samples(&plain, samples)?;
        Rig::new(name, template.0, guide, recorded)
            .map(|rig| Self(Arc::new(rig)))
            .map_err(IntoPy::into_py)
    }

    /// Name that the artist gave it.
    #[getter]
    fn name(&self) -> &str {
        self.0.name()
    }

    /// Firmness: how many times its own stiffness tense flesh gains per unit of the control [capell2006, §6]. 0 by default.
    #[getter]
    fn firmness(&self) -> f64 {
        self.0.firmness()
    }

    /// Returns the rig with another firmness. In a clip each cell of the lattice has its elastic stiffness times 1 + Σ firmness · tension,
    /// between 0.1 and 100. A negative firmness softens. The motion then needs the method "hyperelastic", "warped", "linear", "linearised",
    /// "nonlinear" or "neohookean", and a body without details. Raises RigError for a sculpted rig, which makes no flesh tense.
    fn with_firmness(&self, #[pyo3(from_py_with = real)] firmness: f64) -> PyResult<Self> {
        let rig = Rig::clone(&self.0).with_firmness(firmness);
        rig.map(|rig| Self(Arc::new(rig))).map_err(IntoPy::into_py)
    }

    /// Returns how tense the rig makes the flesh of each cell of a body's lattice, float64 [c]: gamma times the rig's share of tense flesh,
    /// the mean over the cell. A template's share is 1 in its middle and 0 where its force ends. Raises RigError where the guide's bone or face
    /// is missing.
    fn tension<'py>(
        &self,
        py: Python<'py>,
        body: &PyBody,
        #[pyo3(from_py_with = real)] gamma: f64,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let tension = run_detached(py, || {
            self.0.tension(&body.0, gamma).map_err(IntoPy::into_py)
        })?;
        let none = || vec![0.0; body.0.lattice().cells().len()];
        Ok(tension.unwrap_or_else(none).into_pyarray(py))
    }

    /// Kind of rig: "force", a template on a guide, "sculpted", shapes of the skin (`fit_surface`), or "muscle" (`muscle`).
    #[getter]
    fn kind(&self) -> &'static str {
        self.0.kind().name()
    }

    /// Template with its own parameters; None for a sculpted rig or a muscle.
    #[getter]
    fn template(&self) -> Option<PyTemplate> {
        self.0.template().copied().map(PyTemplate)
    }

    /// Guide with its own parameters; None for a sculpted rig or a muscle.
    #[getter]
    fn guide<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Some(guide) = self.0.guide().cloned() else {
            return Ok(None);
        };
        Ok(Some(match guide {
            Guide::Bone { .. } => Bound::new(py, PyBoneGuide(guide))?.into_any(),
            Guide::Skin { .. } => Bound::new(py, PySkinGuide(guide))?.into_any(),
            Guide::Free { .. } => Bound::new(py, PyFreeGuide(guide))?.into_any(),
        }))
    }

    /// Ends of a muscle as bone guides, (origin, insertion); None for other rigs.
    #[getter]
    fn ends(&self) -> PyResult<Option<(PyBoneGuide, PyBoneGuide)>> {
        let RigKind::Muscle(muscle) = self.0.kind() else {
            return Ok(None);
        };
        let guide = |place: &MusclePlace| {
            let [along, angle, distance] = place.values;
            Guide::bone(place.bone.clone(), [along, angle, distance, 0.0])
                .map(PyBoneGuide)
                .map_err(RigError::into_py)
        };
        Ok(Some((guide(muscle.origin())?, guide(muscle.insertion())?)))
    }

    /// Report of the fit that made a sculpted rig; None for other rigs, and for rigs from files.
    #[getter]
    fn report(&self) -> Option<PySurfaceFitReport> {
        match self.0.kind() {
            RigKind::Force(_) | RigKind::Muscle(_) => None,
            RigKind::Sculpted(sculpted) => sculpted.report().copied().map(PySurfaceFitReport),
        }
    }

    /// Recorded samples, [(gamma, {parameter: value})], by ascending gamma.
    #[getter]
    fn samples<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let samples = self.0.samples().iter();
        let samples: Vec<_> = samples
            .map(|s| PyResult::Ok((s.control, self.parameter_dict(py, &s.parameters)?)))
            .collect::<Result<_, _>>()?;
        PyList::new(py, samples)
    }

    /// Names of all parameters in order: the template's, then the guide's. A sculpted rig has the strength alone: 1 is the whole shape.
    #[getter]
    fn parameter_names<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.0.parameter_names())
    }

    /// Unit of each parameter, {name: unit}.
    #[getter]
    fn units<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        parameter_units(py, self.0.parameter_names(), self.0.parameter_kinds())
    }

    /// Returns all parameters at `gamma`, {name: value}. None: the last sample's.
    #[pyo3(signature = (gamma=None))]
    fn parameters<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = optional_real)] gamma: Option<f64>,
    ) -> PyResult<Bound<'py, PyDict>> {
        self.parameter_dict(py, &self.read_parameters(gamma, None)?)
    }

    /// Returns the generalised forces on a body, float64 [nodes,3], N, rest axes, before the turn with the flesh.
    ///
    /// - `gamma`: value of the control. None: the last sample.
    /// - `parameters`: some of them replaced by name.
    /// - `functions[nodes]`, bool: the `functions` of all rigs of a simulation with `adapt="rigs"` together. A sculpted rig then makes its shape
    ///   in its own ones, and acts on these and the given ones, so that shapes of several rigs add up. None: it acts on all functions.
    ///
    /// A muscle that would press flesh flat contracts less, and warns (RuntimeWarning).
    ///
    /// The forces of a sculpted rig are those that bring this body's skin to its shapes. They are computed at the first call and kept for
    /// the last body.
    ///
    /// Raises OutsideError where the template lies wholly outside the flesh, RigError where the guide's bone or face, or a bone of a sculpted
    /// rig, is missing.
    #[pyo3(signature = (body, gamma=None, parameters=None, functions=None))]
    fn forces<'py>(
        &self,
        py: Python<'py>,
        body: &PyBody,
        #[pyo3(from_py_with = optional_real)] gamma: Option<f64>,
        parameters: Option<&Bound<'py, PyDict>>,
        functions: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let eta = self.read_parameters(gamma, parameters)?;
        let among = functions.map(|given| {
            let flags = read_floats(given, "functions", &[Some(body.0.node_count())])?;
            check_finite(&flags, "functions")?;
            PyResult::Ok(flags.data.iter().map(|&flag| flag != 0.0).collect())
        });
        let among: Option<Vec<bool>> = among.transpose()?;
        let (forces, lowered) = run_detached(py, || {
            let control = gamma.unwrap_or(f64::INFINITY);
            let forces = match &among {
                Some(among) => self.0.forces_among(&body.0, control, &eta, among),
                None => self.0.forces_at_control(&body.0, control, &eta),
            };
            let lowered = self.0.lowered_contraction(&body.0, &eta);
            let both = forces.and_then(|forces| Ok((forces, lowered?)));
            both.map_err(IntoPy::into_py)
        })?;
        if let Some(lowered) = lowered {
            warn(py, &lowered.sentence(self.0.name()))?;
        }
        Ok(from_points(py, &forces))
    }

    /// Returns which functions of a body the rig needs, bool [nodes]: all of level 0, and finer ones where coarser ones leave the skin far from
    /// its shapes, or that a template's field or the points of a muscle meet at a sample. Simulations with `adapt="rigs"` activate them while the
    /// rig acts.
    ///
    /// Raises RigError where the guide's bone or face, or a bone of a sculpted rig, is missing.
    fn functions<'py>(
        &self,
        py: Python<'py>,
        body: &PyBody,
    ) -> PyResult<Bound<'py, PyArray1<bool>>> {
        let flags = run_detached(py, || self.0.functions(&body.0).map_err(IntoPy::into_py))?;
        Ok(flags.into_pyarray(py))
    }

    /// Returns the vector-Jacobian product of `forces` with `field[nodes,3]`: the derivatives of the sum of `field` times `forces` by every
    /// parameter, {name: derivative}.
    #[pyo3(signature = (body, field, gamma=None, parameters=None))]
    fn forces_vjp<'py>(
        &self,
        py: Python<'py>,
        body: &PyBody,
        field: &Bound<'py, PyAny>,
        #[pyo3(from_py_with = optional_real)] gamma: Option<f64>,
        parameters: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let field = read_nodal(field, "field", body.0.node_count())?;
        let eta = self.read_parameters(gamma, parameters)?;
        let derivatives = run_detached(py, || {
            let control = gamma.unwrap_or(f64::INFINITY);
            let pulled = (self.0).forces_vjp_at_control(&body.0, control, &eta, &field);
            pulled.map_err(IntoPy::into_py)
        })?;
        self.parameter_dict(py, &derivatives)
    }

    /// Returns the template's frame in rest space, columns X Y Z origin, float64 [4,4]. Raises RigError for a sculpted rig.
    #[pyo3(signature = (body, gamma=None, parameters=None))]
    fn frame<'py>(
        &self,
        py: Python<'py>,
        body: &PyBody,
        #[pyo3(from_py_with = optional_real)] gamma: Option<f64>,
        parameters: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let eta = self.read_parameters(gamma, parameters)?;
        let frame = self.0.frame(&body.0, &eta).map_err(RigError::into_py)?;
        Ok(from_matrix(py, &frame.matrix()))
    }

    /// Returns how far flesh yields to the rig: the most that the skin of a body at rest moves, metres per N/m³ of strength, to first
    /// order. It is zero where bones hold all the flesh in reach. `gamma` and `parameters` are as in `forces`. Raises OutsideError,
    /// RigError.
    #[pyo3(signature = (body, gamma=None, parameters=None))]
    fn compliance<'py>(
        &self,
        py: Python<'py>,
        body: &PyBody,
        #[pyo3(from_py_with = optional_real)] gamma: Option<f64>,
        parameters: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<f64> {
        let compliance = self.measure_compliance(py, body, gamma, parameters)?;
        Ok(compliance.per_strength)
    }

    /// Returns the strengths (N/m³) between which the rig by itself presses no flesh of a body at rest flatter than 0.3 of its volume;
    /// infinite without a limit. `gamma` and `parameters` are as in `forces`. Raises OutsideError, RigError.
    #[pyo3(signature = (body, gamma=None, parameters=None))]
    fn strength_range<'py>(
        &self,
        py: Python<'py>,
        body: &PyBody,
        #[pyo3(from_py_with = optional_real)] gamma: Option<f64>,
        parameters: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<(f64, f64)> {
        let compliance = self.measure_compliance(py, body, gamma, parameters)?;
        Ok(compliance.strengths)
    }

    /// Returns the largest displacement of the skin of a body at rest under each sample, float64 [s], metres, negative where the strength
    /// is; [1] for a rig without samples. Samples outside the flesh go by the nearest one within. Raises OutsideError, RigError.
    fn peak_displacements<'py>(
        &self,
        py: Python<'py>,
        body: &PyBody,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let peaks = with_progress(py, None, |progress| {
            let peaks = self.0.peak_displacements(&body.0, progress);
            peaks.map_err(IntoPy::into_py)
        })?;
        Ok(peaks.into_pyarray(py))
    }

    /// Returns the rig with the strengths at which its `peak_displacements` on a body are `displacements[s]`, metres. None in it: that
    /// strength stays. A muscle gets the contractions that reach them. `rig.with_peak_displacements(other, rig.peak_displacements(body))` does to
    /// another body what the rig does to this one. Raises OutsideError, and RigError where bones hold all the flesh in reach, or where no
    /// contraction of a muscle reaches a distance.
    fn with_peak_displacements(
        &self,
        py: Python<'_>,
        body: &PyBody,
        displacements: &Bound<'_, PyAny>,
    ) -> PyResult<Self> {
        let refused = |_| input_error("displacements: expected one number, or None, per sample");
        let List(displacements) = displacements.extract().map_err(refused)?;
        let made = with_progress(py, None, |progress| {
            let made = self
                .0
                .with_peak_displacements(&body.0, &displacements, progress);
            made.map_err(IntoPy::into_py)
        })?;
        Ok(Self(Arc::new(made)))
    }

    /// Returns the rig with strengths clamped to where, by itself, it presses no flesh of a body at rest flatter than 0.3 of its volume.
    /// `simulate` pushes with these. Of a muscle the contraction is clamped. A sculpted rig, which acts at its poses and not at rest, comes back as
    /// it is. Raises RigError.
    fn clamped(&self, py: Python<'_>, body: &PyBody) -> PyResult<Self> {
        let (made, _) = with_progress(py, None, |progress| {
            let made = self.0.with_clamped_strengths(&body.0, progress);
            made.map_err(IntoPy::into_py)
        })?;
        Ok(Self(Arc::new(made)))
    }

    /// Returns the rig as it is on another character: at the corresponding place, as large as the limb there, and as strong as that flesh
    /// needs to yield in proportion. `link` is a Correspondence from the body of this rig to the other. Raises CorrespondenceError for a rig of
    /// another body, one on a bone that has no partner and none above it that has one, and a muscle over a joint whose bones have one partner.
    fn retarget(&self, py: Python<'_>, link: &PyCorrespondence) -> PyResult<Self> {
        let carried = run_detached(py, || link.0.carry_rig(&self.0).map_err(IntoPy::into_py))?;
        Ok(Self(Arc::new(carried)))
    }

    /// Returns what keeps the rig from pushing this body, one sentence each; empty if nothing does.
    fn check(&self, py: Python<'_>, body: &PyBody) -> PyResult<Vec<String>> {
        run_detached(py, || Ok(self.0.check(&body.0)))
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.0 == other.0
    }

    fn __copy__(me: Py<Self>) -> Py<Self> {
        me
    }

    fn __deepcopy__(me: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        me
    }

    fn __repr__(&self) -> String {
        let what = match self.0.kind() {
            RigKind::Force(force) => {
                let (template, guide) = (force.template(), force.guide());
                format!(
                    "{} on a {} guide",
                    template.kind().name(),
                    guide.spec().name
                )
            }
            kind => kind.name().to_owned(),
        };
        let (name, samples) = (self.0.name(), self.0.samples().len());
        format!("<thew.Rig '{name}': {what}, {samples} samples>")
    }
}

/// Writes rigs to a small text file (TOML), sculpted ones with five digits; it is whole or as it was before. `body`: its flesh's
/// `peak_displacements` are written beside the strengths, so that the file may be read for another body. Raises StorageError.
#[pyfunction]
#[pyo3(signature = (path, rigs, body=None))]
pub(super) fn save_rigs(
    py: Python<'_>,
    #[pyo3(from_py_with = read)] path: PathBuf,
    rigs: List<PyRef<'_, PyRig>>,
    body: Option<&PyBody>,
) -> PyResult<()> {
    let rigs: Vec<Rig> = rigs.0.iter().map(|rig| Rig::clone(&rig.0)).collect();
    let body = body.map(|body| body.0.clone());
    with_progress(py, None, |progress| {
        save(&path, &rigs, body.as_deref(), progress).map_err(IntoPy::into_py)
    })
}

/// Reads rigs that `save_rigs` or a person wrote. `body`: strengths are those at which its flesh moves as far as the file says. None:
/// strengths are those in the file. Raises RigFileError naming line and key, StorageError.
#[pyfunction]
#[pyo3(signature = (path, body=None))]
pub(super) fn load_rigs(
    py: Python<'_>,
    #[pyo3(from_py_with = read)] path: PathBuf,
    body: Option<&PyBody>,
) -> PyResult<Vec<PyRig>> {
    let body = body.map(|body| body.0.clone());
    let rigs = with_progress(py, None, |progress| {
        load(&path, body.as_deref(), progress).map_err(IntoPy::into_py)
    })?;
    Ok(rigs.into_iter().map(|rig| PyRig(Arc::new(rig))).collect())
}

/// Returns rigs as the text of a file, exact to the bit.
#[pyfunction]
pub(super) fn format_rigs(rigs: List<PyRef<'_, PyRig>>) -> PyResult<String> {
    let rigs: Vec<Rig> = rigs.0.iter().map(|rig| Rig::clone(&rig.0)).collect();
    crate::rig::format_rigs(&rigs).map_err(IntoPy::into_py)
}

/// Reads rigs from the text of a file, with the strengths in it. Raises RigFileError naming line and key.
#[pyfunction]
pub(super) fn parse_rigs(
    py: Python<'_>,
    #[pyo3(from_py_with = text)] text: &str,
) -> PyResult<Vec<PyRig>> {
    let rigs = run_detached(py, || {
        crate::rig::parse_rigs("the text", text).map_err(IntoPy::into_py)
    })?;
    Ok(rigs.into_iter().map(|rig| PyRig(Arc::new(rig))).collect())
}
