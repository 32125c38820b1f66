// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bindings of `thew.Correspondence`.

use super::arrays::{List, WholeNumber, fitting, from_points, numbers, read_pose, text};
use super::body::PyBody;
use super::errors::{IntoPy, input_error, run_detached};
use super::progress::with_progress;
use crate::Vec3;
use crate::correspond::{Correspondence, CorrespondenceReport, CorrespondenceSettings};
use crate::rig::BoneRef;
use crate::skeleton::Skeleton;
use numpy::ndarray::{Array2, Array3};
use numpy::{IntoPyArray, PyArray1, PyArray2, PyArray3};
use pyo3::prelude::*;
use pyo3::types::PyString;
use std::sync::Arc;

/// A map from one character to another: pairs of bones, places of the skin, and rigs and poses carried along it
/// [capell2006, §4.4].
///
/// Correspondence(source_body, target_body, bones=None, landmarks=(), names=True, progress=None):
///
/// - `source_body`, `target_body`: bodies of any meshes, skeletons and lattices, in any unit.
/// - `bones`: pairs (source, target) of bones by name or number, which are kept; the rest is found by shape and names. None: no such pairs.
/// - `landmarks[l,2,3]`: pairs of points on the two skins at rest, metres, that the map brings together.
/// - `names`: whether names of bones count, parts and sides in several languages.
///
/// Raises CorrespondenceError where bones are unknown or in two pairs, landmarks are not finite or off the skin, or the
/// characters have no bones in common.
#[pyclass(name = "Correspondence", module = "thew", frozen)]
pub(super) struct PyCorrespondence(pub Arc<Correspondence>);

#[pymethods]
impl PyCorrespondence {
    #[new]
    #[pyo3(signature = (source_body, target_body, bones=None, landmarks=None, names=true, progress=None))]
    fn new(
        py: Python<'_>,
        source_body: &PyBody,
        target_body: &PyBody,
        bones: Option<&Bound<'_, PyAny>>,
        landmarks: Option<&Bound<'_, PyAny>>,
        names: bool,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        let settings = CorrespondenceSettings {
            bones: bones.map(read_pairs).transpose()?.unwrap_or_default(),
            landmarks: landmarks
                .map(read_landmarks)
                .transpose()?
                .unwrap_or_default(),
            names,
        };
        let found = with_progress(py, progress, |progress| {
            let found = Correspondence::new(&source_body.0, &target_body.0, &settings, progress);
            found.map_err(IntoPy::into_py)
        })?;
        Ok(Self(Arc::new(found)))
    }

    /// Pairs of bones by name, [(source, target)]; with some of them changed they can be passed as `bones`.
    #[getter]
    fn bones(&self) -> Vec<(String, String)> {
        let name = |skeleton: &Skeleton, bone: u32| skeleton.names()[bone as usize].clone();
        let [source, target] = [self.0.source(), self.0.target()].map(|body| body.skeleton());
        let pairs = self.0.pairs().iter();
        pairs
            .map(|pair| (name(source, pair.source), name(target, pair.target)))
            .collect()
    }

    /// Pairs of bones by number, int32 [p,2], in the order of `bones`.
    #[getter]
    fn pairs<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray2<i32>> {
        let pairs = self.0.pairs();
        let pairs: Vec<[u32; 2]> = pairs.iter().map(|p| [p.source, p.target]).collect();
        index_pairs(py, &pairs)
    }

    /// Cost of each pair, float64 [p]: 0 for equal bones, less where names agree, 0.75 and more where they hardly match;
    /// NaN for pairs that were passed.
    #[getter]
    fn costs<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        let costs = self
            .0
            .pairs()
            .iter()
            .map(|pair| pair.cost.unwrap_or(f64::NAN));
        costs.collect::<Vec<_>>().into_pyarray(py)
    }

    /// Places on the target of the vertices of the source's surface, float64 [n,3], metres.
    #[getter]
    fn places<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray2<f64>> {
        from_points(py, self.0.places())
    }

    /// Report of the correspondence; `str()` of it is a few sentences.
    #[getter]
    fn report(&self) -> PyCorrespondenceReport {
        PyCorrespondenceReport(self.0.report().clone(), self.alone())
    }

    /// Returns the pairs by number with left and right of the target exchanged, int32 [p,2], to be passed as `bones`.
    fn swapped_sides<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray2<i32>> {
        index_pairs(py, &self.0.pairs_with_sides_swapped())
    }

    /// Returns a pose of the source as the target takes it, float64 [b,4,4]: each bone turns relative to the bone above it
    /// as its partner does, about axes turned from one rest pose to the other. Bones without a partner follow the bone
    /// above them. Raises InputError.
    fn pose<'py>(
        &self,
        py: Python<'py>,
        pose: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyArray3<f64>>> {
        let pose = read_pose(pose)?;
        let carried = run_detached(py, || self.0.carry_pose(&pose).map_err(IntoPy::into_py))?;
        let maps: Vec<_> = carried.maps().iter().map(|map| map.to_matrix()).collect();
        let matrices = Array3::from_shape_fn((maps.len(), 4, 4), |(b, i, k)| maps[b][(i, k)]);
        Ok(matrices.into_pyarray(py))
    }

    fn __repr__(&self) -> String {
        format!("<thew.Correspondence: {}>", self.0.report())
    }
}

impl PyCorrespondence {
    /// Returns the names of bones with skin that have no partner, of the source and of the target.
    fn alone(&self) -> [Vec<String>; 2] {
        let [source, target] = &self.0.report().alone;
        [(source, self.0.source()), (target, self.0.target())].map(|(bones, body)| {
            let names = body.skeleton().names();
            bones.iter().map(|&b| names[b as usize].clone()).collect()
        })
    }
}

/// Numbers about a correspondence; `str()` of it is a few sentences.
#[pyclass(name = "CorrespondenceReport", module = "thew", frozen)]
pub(super) struct PyCorrespondenceReport(CorrespondenceReport, [Vec<String>; 2]);

#[pymethods]
impl PyCorrespondenceReport {
    /// Names of bones of the source that carry skin and have no partner.
    #[getter]
    fn alone_in_source(&self) -> Vec<String> {
        self.1[0].clone()
    }

    /// Names of bones of the target that carry skin and have no partner.
    #[getter]
    fn alone_in_target(&self) -> Vec<String> {
        self.1[1].clone()
    }

    /// `true`: the target lies or looks another way, so that the source was turned by its principal axes.
    #[getter]
    fn turned(&self) -> bool {
        self.0.turned
    }

    /// Mean distance by area of the mapped skin from the target's, metres.
    #[getter]
    fn mean_distance(&self) -> f64 {
        self.0.mean_distance
    }

    /// Distance that 95 % of the mapped skin keeps from the target's, metres.
    #[getter]
    fn percentile_95(&self) -> f64 {
        self.0.most_distance
    }

    /// Share of the lattice at which the map turns inside out; there the bones' own maps carry offsets.
    #[getter]
    fn inverted(&self) -> f64 {
        self.0.inverted as f64 / self.0.vertices.max(1) as f64
    }

    fn __str__(&self) -> String {
        self.0.to_string()
    }

    fn __repr__(&self) -> String {
        format!("<thew.CorrespondenceReport: {}>", self.0)
    }
}

fn index_pairs<'py>(py: Python<'py>, pairs: &[[u32; 2]]) -> Bound<'py, PyArray2<i32>> {
    Array2::from_shape_fn((pairs.len(), 2), |(p, side)| pairs[p][side] as i32).into_pyarray(py)
}

/// Reads pairs of bones by name or number.
fn read_pairs(object: &Bound<'_, PyAny>) -> PyResult<Vec<[BoneRef; 2]>> {
    let refused =
        || input_error("bones: expected a list of (source, target), names or numbers of bones");
    let List(items) = object
        .extract::<List<Bound<'_, PyAny>>>()
        .map_err(|_| refused())?;
    let pair = |item: &Bound<'_, PyAny>| -> PyResult<[BoneRef; 2]> {
        let (source, target): (Bound<'_, PyAny>, Bound<'_, PyAny>) = match item.extract() {
            Ok(pair) => pair,
            Err(_) => {
                let List(both) = item
                    .extract::<List<Bound<'_, PyAny>>>()
                    .map_err(|_| refused())?;
                let [source, target] = <[_; 2]>::try_from(both).map_err(|_| refused())?;
                (source, target)
            }
        };
        Ok([read_bone(&source)?, read_bone(&target)?])
    };
    items.iter().map(pair).collect()
}

fn read_bone(object: &Bound<'_, PyAny>) -> PyResult<BoneRef> {
    match object.is_instance_of::<PyString>() {
        true => Ok(BoneRef::Name(text(object)?.to_owned())),
        false => Ok(BoneRef::Index(object.extract::<WholeNumber>()?.to_index())),
    }
}

/// Reads pairs of points. Numbers that are not finite are told with the landmark.
fn read_landmarks(object: &Bound<'_, PyAny>) -> PyResult<Vec<[Vec3; 2]>> {
    let given = numbers(object, "landmarks")?;
    if given.data.is_empty() {
        return Ok(Vec::new());
    }
    let given = fitting(given, "landmarks", &[None, Some(2), Some(3)])?;
    let point = |p: &[f64]| Vec3::new(p[0], p[1], p[2]);
    let pairs = given.data.chunks_exact(6);
    Ok(pairs.map(|p| [point(&p[..3]), point(&p[3..])]).collect())
}
