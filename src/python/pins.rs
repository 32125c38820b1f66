// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bindings of `thew.Pin`, `thew.PinTrack` and `thew.independent_vertices`.

use super::arrays::{List, WholeNumber, from_points, read_finite_points, read_floats, read_vector};
use super::body::PyBody;
use super::errors::{IntoPy, input_error, run_detached};
use crate::Vec3;
use crate::clip::PinTrack;
use crate::dynamics::{Pin, PinId, PinPoint, Simulation, SimulationError, independent_vertices};
use numpy::{IntoPyArray, PyArray1, PyArray2};
use pyo3::prelude::*;

/// Reads a point of the flesh: the number of a vertex, or a place at rest `[3]`, m.
pub(super) fn read_point(object: &Bound<'_, PyAny>) -> PyResult<PinPoint> {
    if let Ok(vertex) = object.extract::<WholeNumber>() {
        return Ok(PinPoint::Vertex(vertex.to_index()));
    }
    if object.len().is_ok_and(|length| length == 3) {
        return Ok(PinPoint::Place(read_vector(object, "point")?));
    }
    Err(input_error(format!(
        "point: expected the number of a vertex, or a place (x, y, z) at rest in metres, got {}",
        object.repr()?
    )))
}

fn point_object<'py>(py: Python<'py>, point: PinPoint) -> PyResult<Bound<'py, PyAny>> {
    Ok(match point {
        PinPoint::Vertex(vertex) => vertex.into_pyobject(py)?.into_any(),
        PinPoint::Place(place) => [place.x, place.y, place.z].into_pyobject(py)?.into_any(),
    })
}

fn vector_array<'py>(py: Python<'py>, v: Vec3) -> Bound<'py, PyArray1<f64>> {
    vec![v.x, v.y, v.z].into_pyarray(py)
}

/// A pin of a `Simulation`, as it was when `Simulation.pins` returned it.
#[pyclass(name = "Pin", module = "thew", frozen)]
pub(super) struct PyPin {
    id: PinId,
    pin: Pin,
    others: Option<Vec<PinId>>,
}

impl PyPin {
    /// Returns all pins of a simulation.
    pub(super) fn all(simulation: &Simulation) -> Vec<Self> {
        let dropped = simulation.dropped_pins();
        let others = |id: PinId| {
            dropped
                .iter()
                .find(|d| d.pin == id)
                .map(|d| d.others.clone())
        };
        let pins = simulation.pins();
        pins.map(|(id, pin)| Self {
            id,
            pin: *pin,
            others: others(id),
        })
        .collect()
    }
}

#[pymethods]
impl PyPin {
    /// Number of the pin.
    #[getter]
    fn id(&self) -> PinId {
        self.id
    }

    /// Point of the flesh: a vertex of the surface, or a place at rest, m.
    #[getter]
    fn point<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        point_object(py, self.pin.point)
    }

    /// Target, float64 [3], m, world axes.
    #[getter]
    fn target<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        vector_array(py, self.pin.target)
    }

    /// Strength, 0 to 1.
    #[getter]
    fn strength(&self) -> f64 {
        self.pin.strength
    }

    /// Numbers of the pins that hold its point already, so that it has no effect. None: it has.
    #[getter]
    fn superfluous(&self) -> Option<Vec<PinId>> {
        self.others.clone()
    }

    fn __repr__(&self) -> String {
        let (id, pin) = (self.id, &self.pin);
        format!("<thew.Pin {id}: {}, strength {}>", pin.point, pin.strength)
    }
}

/// A point of the flesh held through a clip.
///
/// PinTrack(point, targets, strengths=None):
///
/// - `point`: a vertex of the body's surface, or a place `[3]` in the flesh at rest, m.
/// - `targets[f,3]`: where the point is at every frame, m, world axes. It moves smoothly in between.
/// - `strengths[f]`: 0 (off) to 1 (held) at every frame, linear in between, as in `Simulation.pin`. None: 1.
///
/// Raises InputError.
#[pyclass(name = "PinTrack", module = "thew", frozen)]
pub(super) struct PyPinTrack(pub PinTrack);

impl PyPinTrack {
    /// Returns a track, or the reason why it is none.
    pub(super) fn checked(track: PinTrack) -> PyResult<Self> {
        if let Some(wrong) = track.strengths.iter().find(|s| !(0.0..=1.0).contains(*s)) {
            return Err(input_error(format!(
                "strengths must be between 0 (off) and 1 (held), not {wrong}"
            )));
        }
        match track.fits(track.targets.len()) {
            true => Ok(Self(track)),
            false => Err(SimulationError::PinTarget.into_py()),
        }
    }
}

#[pymethods]
impl PyPinTrack {
    #[new]
    #[pyo3(signature = (point, targets, strengths=None))]
    fn new(
        point: &Bound<'_, PyAny>,
        targets: &Bound<'_, PyAny>,
        strengths: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let targets = read_finite_points(targets, "targets")?;
        let strengths = strengths.map(|s| read_floats(s, "strengths", &[Some(targets.len())]));
        Self::checked(PinTrack {
            point: read_point(point)?,
            strengths: strengths.transpose()?.map_or(Vec::new(), |s| s.data),
            targets,
        })
    }

    /// Point of the flesh: a vertex of the surface, or a place at rest, m.
    #[getter]
    fn point<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        point_object(py, self.0.point)
    }

    /// Targets, float64 [f,3], m, world axes.
    #[getter]
    fn targets<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray2<f64>> {
        from_points(py, &self.0.targets)
    }

    /// Strengths, float64 [f]. None: 1 throughout.
    #[getter]
    fn strengths<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray1<f64>>> {
        let strengths = &self.0.strengths;
        (!strengths.is_empty()).then(|| strengths.clone().into_pyarray(py))
    }

    fn __len__(&self) -> usize {
        self.0.targets.len()
    }

    fn __copy__(me: Py<Self>) -> Py<Self> {
        me
    }

    fn __deepcopy__(me: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        me
    }

    fn __repr__(&self) -> String {
        let frames = self.0.targets.len();
        format!("<thew.PinTrack: {}, {frames} frames>", self.0.point)
    }
}

/// Reads a list of tracks; an item of another type is refused by its index.
pub(super) fn read_tracks(list: List<Bound<'_, PyAny>>) -> PyResult<Vec<PinTrack>> {
    let track = |(i, track): (usize, Bound<'_, PyAny>)| match track.cast::<PyPinTrack>() {
        Ok(track) => Ok(track.get().0.clone()),
        Err(_) => Err(input_error(format!("pins[{i}] is not a thew.PinTrack"))),
    };
    list.0.into_iter().enumerate().map(track).collect()
}

/// Chooses from `vertices` (numbers of the body's surface) those whose pins hold different parts of the flesh, at most `most`, int list. A belt
/// of many vertices is so held at as many points as its cells allow. Vertices that bones hold or whose flesh is painted rigid are left out.
/// Raises InputError.
#[pyfunction]
#[pyo3(name = "independent_vertices", signature = (body, vertices, most=None))]
pub(super) fn py_independent_vertices(
    py: Python<'_>,
    body: &PyBody,
    vertices: List<WholeNumber>,
    most: Option<WholeNumber>,
) -> PyResult<Vec<u32>> {
    let vertices: Vec<u32> = vertices.0.iter().map(|v| v.to_index()).collect();
    let most = most.map_or(usize::MAX, |most| most.0);
    run_detached(py, || {
        independent_vertices(&body.0, &vertices, most).map_err(IntoPy::into_py)
    })
}
