// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bindings of `thew.Spacetime`.

use super::arguments::Arguments;
use super::arrays::{
    WholeNumber, fill_frames, from_points, optional_real, read, read_finite_points, read_floats,
    read_integers, read_vector, real,
};
use super::body::PyBody;
use super::errors::{IntoPy, input_error, run_detached, run_locked};
use super::keyframes::{self, Pace, Paces, PySpacetimeSettings};
use super::material::PyMaterial;
use super::progress::with_progress;
use super::settings::Setting;
use super::shell::PyShell;
use super::tets::PyTetMesh;
use crate::elasticity::{ElasticModel, Material};
use crate::exclusive::Exclusive;
use crate::spacetime::{Deformable, ElasticSolid, Spacetime, SpacetimeError, Velocity};
use numpy::ndarray::Array2;
use numpy::{IntoPyArray, PyArray1, PyArray2, PyArray3};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::path::PathBuf;
use std::sync::Arc;

/// A motion through keyframes with the least acting force [hildebrandt2012].
///
/// Spacetime(body, keyframes, times, stiffness=1.0, damping=(0.0, 0.0), ...):
///
/// - `body`: a Shell, a TetMesh or a Body (n: its lattice vertices).
/// - `keyframes[m+1,n,3]`: positions, metres. `times[m+1]`: rising, seconds.
/// - `material`: that of a TetMesh, Material() by default; a Shell and a Body have their own.
/// - `stiffness`, `damping`, `settings` and further keywords: a `SpacetimeSettings`, and settings by name that replace its own.
///
/// Raises InputError naming keyframe, vertex or time, MotionError where a keyframe is crumpled, Cancelled.
#[pyclass(name = "Spacetime", module = "thew", frozen)]
pub(super) struct PySpacetime {
    pub(super) motion: Arc<Exclusive<Spacetime>>,
    pub(super) nodes: usize,
}

/// Two arrays of numbers.
type ArrayPair<'py> = (Bound<'py, PyArray2<f64>>, Bound<'py, PyArray2<f64>>);

impl PySpacetime {
    /// Takes a motion.
    pub(super) fn new_of(motion: Spacetime) -> Self {
        Self {
            nodes: motion.node_count(),
            motion: Arc::new(Exclusive::new(motion)),
        }
    }
}

pub(super) fn read_times(t: &Bound<'_, PyAny>) -> PyResult<Vec<f64>> {
    // `real` alone would take an array of one number, too.
    let times = match t.len() {
        Ok(_) => read_floats(t, "t", &[None])?.data,
        Err(_) => vec![super::arrays::real(t)?],
    };
    match times.iter().position(|t| !t.is_finite()) {
        Some(at) => Err(input_error(format!("t[{at}] is not a finite number"))),
        None => Ok(times),
    }
}

/// Reads a body that can be moved through keyframes.
fn read_deformable(
    body: &Bound<'_, PyAny>,
    material: Option<&PyMaterial>,
    unit: Option<f64>,
) -> PyResult<Arc<dyn Deformable>> {
    let measured = |solid: ElasticSolid| -> PyResult<Arc<dyn Deformable>> {
        Ok(match unit {
            None => Arc::new(solid),
            Some(unit) => Arc::new(solid.in_unit(unit).map_err(IntoPy::into_py)?),
        })
    };
    if let Ok(tets) = body.cast::<PyTetMesh>() {
        let material = material.map_or_else(Material::default, |m| m.0);
        let solid =
            ElasticSolid::from_tets(&tets.get().0, &material, ElasticModel::StVenantKirchhoff);
        return measured(solid);
    }
    if material.is_some() {
        return Err(input_error(
            "material: a Shell and a Body have their own; give one with a TetMesh alone",
        ));
    }
    if let Ok(shell) = body.cast::<PyShell>() {
        if unit.is_some() {
            return Err(input_error(
                "unit: a Shell has its own; give one with a TetMesh or a Body alone",
            ));
        }
        return Ok(shell.get().0.clone());
    }
    match body.cast::<PyBody>() {
        Ok(body) => {
            let solid = ElasticSolid::from_body(&body.get().0, ElasticModel::StVenantKirchhoff);
            measured(solid.map_err(IntoPy::into_py)?)
        }
        Err(_) => Err(input_error("body: expected a Shell, a TetMesh or a Body")),
    }
}

#[pymethods]
impl PySpacetime {
    #[new]
    #[pyo3(
        signature = (*arguments, **keywords),
        text_signature = "(body, keyframes, times, stiffness=None, damping=None, *, material=None, progress=None, settings=None, **keywords)"
    )]
    fn new(
        py: Python<'_>,
        arguments: &Bound<'_, PyTuple>,
        keywords: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        const NAMES: [&str; 5] = ["body", "keyframes", "times", "stiffness", "damping"];
        let given = Arguments::new("Spacetime", &NAMES, arguments, keywords)?;
        let body = given.require("body", |b| Ok(b.clone()))?;
        let material = given.take("material", |m| Ok(m.extract::<Py<PyMaterial>>()?))?;
        let keyframes = given.require("keyframes", |k| keyframes::read_frames(k, "keyframes"))?;
        let times = given.require("times", |t| Ok(read_floats(t, "times", &[None])?.data))?;
        let progress = given.progress()?;
        given.drop_none(&["stiffness", "damping"])?;
        let motion_settings = given.settings_of::<PySpacetimeSettings>()?;
        let body = read_deformable(&body, material.as_ref().map(Py::get), motion_settings.unit)?;
        let (nodes, last) = (body.rest().len(), keyframes.len().saturating_sub(1));
        let (settings, options) = motion_settings.of_motion(nodes, last)?;
        let motion = with_progress(py, progress, |progress| {
            Spacetime::new(body, keyframes, times, settings, &options, progress)
                .map_err(IntoPy::into_py)
        })?;
        Ok(Self::new_of(motion))
    }

    /// Writes the motion with its body to a file, with all its changes: versioned, checksummed, whole or not at all. Raises StorageError.
    fn save(&self, py: Python<'_>, #[pyo3(from_py_with = read)] path: PathBuf) -> PyResult<()> {
        run_locked(py, &self.motion, |motion| motion.save(&path))
    }

    /// Reads a motion that `save` wrote. Raises StorageError for a file that is not Thew's, of another version or kind, damaged or refused by
    /// the disk.
    #[staticmethod]
    fn load(py: Python<'_>, #[pyo3(from_py_with = read)] path: PathBuf) -> PyResult<Self> {
        run_detached(py, || {
            Spacetime::load(&path)
                .map(Self::new_of)
                .map_err(IntoPy::into_py)
        })
    }

    /// Returns the motion at times `t`, float32 [t,n,3]. Beyond the ends the end keyframes are held; cycles repeat.
    fn __call__<'py>(&self, t: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyArray3<f32>>> {
        let times = read_times(t)?;
        fill_frames(t.py(), (times.len(), self.nodes), |out| {
            self.with_motion(t.py(), |motion| {
                motion.positions_into(&times, out);
                Ok(())
            })
        })
    }

    /// Returns cubic splines through the same keyframes with the same prescribed velocities at times `t`, float32 [t,n,3].
    fn plain<'py>(&self, t: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyArray3<f32>>> {
        let times = read_times(t)?;
        fill_frames(t.py(), (times.len(), self.nodes), |out| {
            self.with_motion(t.py(), |motion| {
                motion.cubic_positions_into(&times, out);
                Ok(())
            })
        })
    }

    /// Returns coordinates along the leading directions in which the keyframes differ, of the motion and of plain cubic splines: float64
    /// [t,k] and [t,k]. k is at most `count`, and smaller if there are fewer directions.
    fn curves<'py>(&self, t: &Bound<'py, PyAny>, count: WholeNumber) -> PyResult<ArrayPair<'py>> {
        let times = read_times(t)?;
        let (ours, plain) =
            self.with_motion(
                t.py(),
                |motion| Ok(motion.principal_curves(&times, count.0)),
            )?;
        let array = |data: Vec<f64>| {
            let columns = data.len() / times.len().max(1);
            let array =
                Array2::from_shape_fn((times.len(), columns), |(i, k)| data[i * columns + k]);
            array.into_pyarray(t.py())
        };
        Ok((array(ours), array(plain)))
    }

    /// Number of coordinates of the reduced space.
    #[getter]
    fn dimension(&self, py: Python<'_>) -> PyResult<usize> {
        self.with_motion(py, |motion| Ok(motion.dimension()))
    }

    /// Times of the keyframes, float64 [m+1], s.
    #[getter]
    fn times<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        Ok(self
            .with_motion(py, |motion| Ok(motion.times().to_vec()))?
            .into_pyarray(py))
    }

    /// Squared acting force per mass, integrated, kg·m²/s³ (with a `unit`, its square in place of m²). It is the mean over the linearisations of what deforms the body; where rigid
    /// motion is taken out, the shares of the centre and of the rotation are added.
    #[getter]
    fn cost(&self, py: Python<'_>) -> PyResult<f64> {
        self.with_motion(py, |motion| Ok(motion.cost()))
    }

    /// Largest distance of the motion from its keyframes' mean, as a multiple of that of plain cubic splines; 1 where it stays within.
    /// Lengths are those of the mass.
    #[getter]
    fn reach(&self, py: Python<'_>) -> PyResult<f64> {
        self.with_motion(py, |motion| Ok(motion.relative_reach()))
    }

    /// Remarks about the motion, one sentence each.
    #[getter]
    fn notes(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.with_motion(py, |motion| Ok(motion.notes().to_vec()))
    }

    /// Changes times, stiffness, damping, gravity, start_velocity, end_velocity or velocities; settings that are not named stay. The
    /// preprocess is not repeated. An error changes nothing.
    #[pyo3(signature = (**changes))]
    fn set(&self, py: Python<'_>, changes: Option<&Bound<'_, PyDict>>) -> PyResult<()> {
        let (mut settings, last, cyclic) = self.with_motion(py, |m| {
            Ok((m.settings().clone(), m.times().len() - 1, m.is_cyclic()))
        })?;
        let mut times = None;
        for (name, value) in changes.into_iter().flatten() {
            let name: String = read(&name)?;
            match name.as_str() {
                "times" => times = Some(read_floats(&value, "times", &[None])?.data),
                "stiffness" => settings.stiffness = real(&value)?,
                "damping" => {
                    let pair = read_floats(&value, "damping", &[Some(2)])?.data;
                    settings.damping = (pair[0], pair[1]);
                }
                "gravity" => settings.gravity = read_vector(&value, "gravity")?,
                "start_velocity" | "end_velocity" if cyclic => {}
                "start_velocity" | "end_velocity" => {
                    let key = if name == "start_velocity" { 0 } else { last };
                    match Option::<Pace>::read(&value, &name)? {
                        Some(given) => {
                            let each = Velocity::Given(given.each(self.nodes));
                            settings.velocities.insert(key, each)
                        }
                        None => settings.velocities.remove(&key),
                    };
                }
                "velocities" => {
                    // Those at the ends are start_velocity and end_velocity.
                    settings
                        .velocities
                        .retain(|&key, _| key == 0 || key == last);
                    if let Some(given) = Option::<Paces>::read(&value, &name)? {
                        given.add_to(&mut settings.velocities, self.nodes);
                    }
                }
                _ => {
                    return Err(input_error(format!(
                        "set: there is no '{name}'; there are times, stiffness, damping, gravity, start_velocity, end_velocity and \
                         velocities"
                    )));
                }
            }
        }
        self.with_motion(py, |motion| motion.update(times, Some(settings)))
    }

    /// Moves keyframe `k` to `shape[n,3]`, or to the nearest shape of the space, and returns the distance of the farthest vertex from it.
    fn r#move(&self, k: WholeNumber, shape: &Bound<'_, PyAny>) -> PyResult<f64> {
        let given = read_finite_points(shape, "shape")?;
        self.with_motion(shape.py(), |motion| motion.reshape(k.0, &given))
    }

    /// Adds a keyframe of `shape[n,3]` at a time between the first and the last one and returns its number; later ones count one more.
    ///
    /// The space is kept, and the part of the shape that it lacks is added, with the shape's own modes. This is far quicker than a new
    /// motion, and the result is the same. Raises InputError, MotionError where the shape is crumpled, Cancelled; nothing is changed then.
    #[pyo3(signature = (time, shape, progress=None))]
    fn insert(
        &self,
        #[pyo3(from_py_with = real)] time: f64,
        shape: &Bound<'_, PyAny>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<usize> {
        let given = read_finite_points(shape, "shape")?;
        with_progress(shape.py(), progress, |progress| {
            let mut motion = self.motion.lock().map_err(IntoPy::into_py)?;
            motion
                .insert(time, &given, progress)
                .map_err(IntoPy::into_py)
        })
    }

    /// Puts vertices at `positions[len,3]` at a time, exactly, or draws them there by a weight (in the norm of the mass). Returns a number
    /// by which to `drop` this partial keyframe. Raises InputError naming a vertex that would be in two places.
    #[pyo3(signature = (time, vertices, positions, weight=None))]
    fn partial(
        &self,
        #[pyo3(from_py_with = real)] time: f64,
        vertices: &Bound<'_, PyAny>,
        positions: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = optional_real)] weight: Option<f64>,
    ) -> PyResult<usize> {
        let (vertices, positions) = (
            read_vertex_indices(vertices)?,
            read_finite_points(positions, "positions")?,
        );
        let py_positions = positions;
        Python::attach(|py| {
            self.with_motion(py, |motion| {
                motion.add_partial(time, vertices, py_positions, weight)
            })
        })
    }

    /// Draws the motion towards keyframe `k` by `weight` instead of through it. None: it goes through it again.
    #[pyo3(signature = (k, weight))]
    fn soften(
        &self,
        py: Python<'_>,
        k: WholeNumber,
        #[pyo3(from_py_with = optional_real)] weight: Option<f64>,
    ) -> PyResult<()> {
        self.with_motion(py, |motion| motion.soften(k.0, weight))
    }

    /// Removes a partial keyframe.
    fn drop(&self, py: Python<'_>, id: WholeNumber) -> PyResult<()> {
        self.with_motion(py, |motion| motion.drop_partial(id.0))
    }

    /// Returns the shape of the space with the least energy, begun at `shape[n,3]`, that has vertices at `positions[len,3]`: float64 [n,3],
    /// a new keyframe. With `rest="keyframes"` it has the least change. The positions are met as nearly as the space allows, or drawn to by
    /// a weight. Raises InputError, Cancelled.
    #[pyo3(signature = (shape, vertices, positions, weight=None, progress=None))]
    fn model<'py>(
        &self,
        shape: &Bound<'py, PyAny>,
        vertices: &Bound<'py, PyAny>,
        positions: &Bound<'py, PyAny>,
        #[pyo3(from_py_with = optional_real)] weight: Option<f64>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let given = read_finite_points(shape, "shape")?;
        let (vertices, positions) = (
            read_vertex_indices(vertices)?,
            read_finite_points(positions, "positions")?,
        );
        let modelled = with_progress(shape.py(), progress, |progress| {
            let motion = self.motion.lock().map_err(IntoPy::into_py)?;
            let modelled = motion.model_shape(&given, vertices, positions, weight, progress);
            modelled.map_err(IntoPy::into_py)
        })?;
        Ok(from_points(shape.py(), &modelled))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        self.with_motion(py, |m| {
            let (keys, d) = (m.times().len(), m.dimension());
            Ok(format!(
                "<thew.Spacetime: {keys} keyframes, {d} dimensions>"
            ))
        })
    }
}

impl PySpacetime {
    fn with_motion<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut Spacetime) -> Result<T, SpacetimeError> + Send,
    ) -> PyResult<T> {
        super::errors::run_locked(py, &self.motion, work)
    }
}

fn read_vertex_indices(object: &Bound<'_, PyAny>) -> PyResult<Vec<u32>> {
    let (numbers, _) = read_integers(object, "vertices")?;
    let number = |v: i64| {
        u32::try_from(v).map_err(|_| input_error(format!("vertices: there is no vertex {v}")))
    };
    numbers.into_iter().map(number).collect()
}
