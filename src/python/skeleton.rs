// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bindings of `thew.Skeleton`.

use super::arrays::{
    List, from_points, from_pose, read_finite_points, read_integers, read_points, read_pose,
    read_weights, real, text,
};
use super::errors::{IntoPy, input_error, run_detached};
use super::pose_fit::read_pose_fit;
use super::progress::with_progress;
use super::surface::PySurface;
use crate::Vec3;
use crate::skeleton::{self, BonePoses, Skeleton};
use numpy::{IntoPyArray, PyArray1, PyArray2, PyArray3};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::sync::Arc;

/// Reads the index of the bone above each bone, -1 for a root.
fn read_parents(given: &Bound<'_, PyAny>, name: &str) -> PyResult<Vec<Option<u32>>> {
    let (numbers, shape) = read_integers(given, name)?;
    if shape.len() != 1 {
        return Err(input_error(format!("{name}: expected one index per bone")));
    }
    if let Some(bone) = numbers.iter().position(|&p| p < -1) {
        return Err(input_error(format!(
            "{name}[{bone}] is {}: a parent is a bone's index, or -1 for a root",
            numbers[bone]
        )));
    }
    let above = |&p: &i64| (p >= 0).then(|| u32::try_from(p).unwrap_or(u32::MAX));
    Ok(numbers.iter().map(above).collect())
}

/// Converts the index of the bone above each bone to int32, -1 for a root.
fn parents_to_int32<'py>(py: Python<'py>, above: &[Option<u32>]) -> Bound<'py, PyArray1<i32>> {
    let indices = above.iter().map(|p| p.map_or(-1, |p| p as i32));
    indices.collect::<Vec<_>>().into_pyarray(py)
}

/// Bones at rest in world space.
///
/// Skeleton(names, parents, heads, tails, elsewhere=None):
///
/// - `names`: names of the bones. Equal names are allowed.
/// - `parents[b]`: index of each bone's parent, -1 for a root. Parents need not come before their children; several roots are allowed.
/// - `heads[b,3]`, `tails[b,3]`: ends of the bones, metres. Bones of no length are allowed.
/// - `elsewhere[o]`: for each bone of the character that carries other meshes only, the nearest of these bones above it (-1: none). It
///   tells which part of the character a mesh is.
///
/// Raises InputError naming the bone.
#[pyclass(name = "Skeleton", module = "thew", frozen)]
pub(super) struct PySkeleton(pub Arc<Skeleton>);

#[pymethods]
impl PySkeleton {
    #[new]
    #[pyo3(signature = (names, parents, heads, tails, elsewhere=None))]
    fn new(
        names: List<String>,
        parents: &Bound<'_, PyAny>,
        heads: &Bound<'_, PyAny>,
        tails: &Bound<'_, PyAny>,
        elsewhere: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let parents = read_parents(parents, "parents")?;
        let elsewhere = elsewhere
            .map(|e| read_parents(e, "elsewhere"))
            .transpose()?;
        let names = names.0;
        let (heads, tails) = match names.is_empty() {
            true => (Vec::new(), Vec::new()),
            false => (read_points(heads, "heads")?, read_points(tails, "tails")?),
        };
        let skeleton = Skeleton::new(names, parents, heads, tails)
            .and_then(|bones| bones.with_elsewhere(elsewhere.unwrap_or_default()))
            .map_err(IntoPy::into_py)?;
        Ok(Self(Arc::new(skeleton)))
    }

    /// Names of the bones.
    #[getter]
    fn names(&self) -> Vec<String> {
        self.0.names().to_vec()
    }

    /// Parents, int32 [b]; -1 for a root.
    #[getter]
    fn parents<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i32>> {
        parents_to_int32(py, self.0.parents())
    }

    /// Nearest of these bones above each bone of the character that carries other meshes only, int32 [o]; -1: none.
    #[getter]
    fn elsewhere<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i32>> {
        parents_to_int32(py, self.0.elsewhere())
    }

    /// Rest heads, float64 [b,3], metres.
    #[getter]
    fn heads<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray2<f64>> {
        from_points(py, self.0.heads())
    }

    /// Rest tails, float64 [b,3], metres.
    #[getter]
    fn tails<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray2<f64>> {
        from_points(py, self.0.tails())
    }

    /// Returns a skeleton whose arbitrary tails point where the flesh is; glTF and FBX know joints only. A tail points at the child with
    /// most skin; if that is one of a mirrored pair, as a shoulder is, at a single one, as the neck; for a leaf that sticks out, towards the
    /// middle of its skin. `skin_weights[n,b]`: weights of the surface's vertices.
    /// Raises Cancelled, InputError.
    #[pyo3(signature = (surface, skin_weights, progress=None))]
    fn refit_tails(
        &self,
        py: Python<'_>,
        surface: &PySurface,
        skin_weights: &Bound<'_, PyAny>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        let n = surface.0.vertices().len();
        let skin = read_weights(skin_weights, "skin_weights", n, self.0.len())?;
        let skeleton = with_progress(py, progress, |progress| {
            surface.0.prepare(progress).map_err(IntoPy::into_py)?;
            Ok(self.0.refit_tails(&surface.0, &skin))
        })?;
        Ok(Self(Arc::new(skeleton)))
    }

    /// Returns the positions to which a pose carries rest points `points[p,3]`, float64 [p,3], metres.
    ///
    /// - `skin_weights[p,b]`: weights of the points; a point whose row has no weight stays in place.
    /// - `pose[b,4,4]`: maps of the bones from rest to posed.
    /// - `blend`: "dual" blends rotations and translations as dual quaternions and stretch linearly; the flesh is measured against it.
    ///   "linear" is Blender's Armature modifier without Preserve Volume.
    #[pyo3(signature = (points, skin_weights, pose, blend="dual"))]
    fn skin<'py>(
        &self,
        py: Python<'py>,
        points: &Bound<'py, PyAny>,
        skin_weights: &Bound<'py, PyAny>,
        pose: &Bound<'py, PyAny>,
        #[pyo3(from_py_with = text)] blend: &str,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let points = read_finite_points(points, "points")?;
        let skin = read_weights(skin_weights, "skin_weights", points.len(), self.0.len())?;
        let pose = self::read_pose(pose)?;
        let linear = match blend {
            "dual" => false,
            "linear" => true,
            _ => {
                return Err(input_error(format!(
                    "there is no blend '{blend}'; there are: 'dual', 'linear'"
                )));
            }
        };
        let places = run_detached(py, || {
            let poses = BonePoses::new(&self.0, &pose).map_err(IntoPy::into_py)?;
            let place = |(v, &x): (usize, &Vec3)| match linear {
                true => poses.linear_blend(skin.row(v), x),
                false => poses.place(skin.row(v), x),
            };
            Ok(points.iter().enumerate().map(place).collect::<Vec<_>>())
        })?;
        Ok(from_points(py, &places))
    }

    /// Returns the pose that brings features nearest to their targets, float64 [b,4,4] [capell2006, §4.3.1, eq. 22].
    ///
    /// A feature is a rest point `points[p,3]` of the skin with `skin_weights[p,b]`; `targets[p,3]` are its positions in the world, metres.
    /// The whole moves rigidly, and each bone of which features tell turns about its head. Positions are those of `skin(..., blend="dual")`.
    /// Three features per bone show its turn; with fewer its twist stays near the start's. Features without weights are ignored.
    ///
    /// - `start[b,4,4]`: pose at which the search starts. None: rest.
    /// - `bones`: bones that may turn, by name or index; others follow the bone above as at the start. None: all of which features tell.
    /// - `turn_cost`: cost of a turn by 1 rad from the start, in squared distances of a tenth of the size, on the mean of the features. The
    ///   default meets exact features. Rough ones, clicked or of a scan, want some hundred times the square of
    ///   their error over the size: 1e-3 for 3 mm on a person.
    /// - `metrics[p,3,3]`: weight of each feature's squared distance, symmetric and positive semidefinite: the identity for a place in space,
    ///   n nᵀ for a plane across n. None: identities.
    ///
    /// Raises InputError: fewer than three features, features or targets in a line, a `turn_cost` that is not above 0 and finite, metrics
    /// that are not symmetric and positive semidefinite.
    #[pyo3(signature = (points, skin_weights, targets, start=None, bones=None, turn_cost=1e-7, metrics=None))]
    #[allow(clippy::too_many_arguments)] // keywords of Python
    fn fit_pose<'py>(
        &self,
        py: Python<'py>,
        points: &Bound<'py, PyAny>,
        skin_weights: &Bound<'py, PyAny>,
        targets: &Bound<'py, PyAny>,
        start: Option<&Bound<'py, PyAny>>,
        bones: Option<&Bound<'py, PyAny>>,
        #[pyo3(from_py_with = real)] turn_cost: f64,
        metrics: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyArray3<f64>>> {
        let points = read_finite_points(points, "points")?;
        let skin = read_weights(skin_weights, "skin_weights", points.len(), self.0.len())?;
        let targets = read_finite_points(targets, "targets")?;
        let settings = read_pose_fit(&self.0, (start, bones), (turn_cost, metrics))?;
        let pose = run_detached(py, || {
            skeleton::fit_pose(&self.0, &points, &skin, &targets, &settings)
                .map_err(IntoPy::into_py)
        })?;
        Ok(from_pose(py, &pose))
    }

    fn __copy__(me: Py<Self>) -> Py<Self> {
        me
    }

    fn __deepcopy__(me: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        me
    }

    fn __getnewargs__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let (names, parents) = (self.names(), self.parents(py));
        (names, parents, self.heads(py), self.tails(py)).into_pyobject(py)
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }

    fn __repr__(&self) -> String {
        format!("<thew.Skeleton: {} bones>", self.0.len())
    }
}
