// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bindings of `thew.ForceField`, and the tracks of a call: force fields, gravity and stiffness by frames.

use super::arguments::Arguments;
use super::arrays::{
    List, ShapedNumbers, check_finite, from_points, integer, numbers, read_finite_points,
    read_floats, real, text,
};
use super::body::PyBody;
use super::errors::{IntoPy, input_error, run_detached};
use crate::dynamics::{Tracks, softness_factors};
use crate::force_fields::{Falloff, FieldKind, FieldShape, FieldSide, ForceField, NUMBERS};
use crate::{Mat3, Vec3};
use nalgebra::{Isometry3, Rotation3, UnitQuaternion};
use numpy::ndarray::Array3;
use numpy::{IntoPyArray, PyArray1, PyArray2, PyArray3};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

/// A force field of a scene, such as wind, which accelerates flesh at every frame of a clip.
///
/// ForceField(kind, strength=1.0, matrices=None, ...):
///
/// - `kind`: "wind" (along the field's z axis), "force" (away from it), "vortex" (around its z axis), "turbulence" (smooth noise in space) or
///   "drag" (against the motion).
/// - `strength`: acceleration of flesh, m/s². Every number may be one, or `[f]`, one per frame.
/// - `matrices`: place `[4,4]` or places `[f,4,4]`, m; scale does not matter. None: the origin.
/// - `shape`: what distances count from: "point", "line" (its z axis) or "plane" (across it).
/// - `falloff`: "sphere" (by that distance), "tube" (along the axis and by the distance from it) or "cone" (by the angle to it, degrees).
/// - `side`: "both", "positive" or "negative" side of the plane across the axis.
/// - `power`, `min_distance`, `max_distance`: the strength is multiplied by `(1 + d − min)^−power`, by 1 up to the least distance and by 0 beyond
///   the largest. `radial_power`, `min_radius` and `max_radius` do the same across the axis. None: no limit.
/// - `gravitation`: True: a force also falls with the square of the distance.
/// - `flow`: rate, 1/s, at which flesh takes on the motion of the air: flesh that follows is pushed less.
/// - `linear_drag`, `quadratic_drag`: of drag, 1/s and 1/m.
/// - `size`, `seed`, `global_space`: of turbulence: length of its noise, its seed, and whether it stays in the world.
/// - `noise`: changes of the strength in time, m/s²; `start`: time of frame 0, s.
/// - `unit`: metres in which distances and sizes count.
/// - `name`: for sentences.
///
/// Fields act on mass: a strength of 9.81 is as much as gravity. Raises InputError, naming the field.
#[pyclass(name = "ForceField", module = "thew", frozen)]
pub(super) struct PyForceField(pub ForceField);

/// Reads one of the names of a choice.
fn read_choice<T: Copy>(
    object: &Bound<'_, PyAny>,
    what: &str,
    all: &[T],
    name: impl Fn(T) -> &'static str,
) -> PyResult<T> {
    let given = text(object)?;
    all.iter()
        .copied()
        .find(|each| name(*each) == given)
        .ok_or_else(|| {
            let known: Vec<&str> = all.iter().map(|each| name(*each)).collect();
            let known = known.join("', '");
            input_error(format!("{what} must be '{known}', not '{given}'"))
        })
}

/// Reads one number or one per frame, finite or infinite.
pub(super) fn read_track(object: &Bound<'_, PyAny>, name: &str) -> PyResult<Vec<f64>> {
    if object.len().is_err() {
        return Ok(vec![real(object)?]);
    }
    let ShapedNumbers { data, shape } = numbers(object, name)?;
    match shape.len() == 1 && !data.is_empty() {
        true => Ok(data),
        false => Err(input_error(format!(
            "{name}: expected a number, or one for each frame"
        ))),
    }
}

/// Returns place and axes of a matrix, whose scale does not matter.
fn read_place(m: &[f64], entry: usize) -> PyResult<Isometry3<f64>> {
    let column = |k: usize| Vec3::new(m[k], m[4 + k], m[8 + k]);
    let z = column(2);
    let bad = || input_error(format!("matrices[{entry}] has no z axis of finite length"));
    let z = z.try_normalize(1e-30).ok_or_else(bad)?;
    let across = |v: Vec3| (v - z * z.dot(&v)).try_normalize(1e-9);
    let x = column(0).try_normalize(1e-30).and_then(across);
    let x = x
        .or_else(|| across(Vec3::x()))
        .or_else(|| across(Vec3::y()));
    let x = x.ok_or_else(bad)?;
    let turn = Mat3::from_columns(&[x, z.cross(&x), z]);
    let turn = UnitQuaternion::from_rotation_matrix(&Rotation3::from_matrix_unchecked(turn));
    Ok(Isometry3::from_parts(column(3).into(), turn))
}

fn read_places(object: &Bound<'_, PyAny>) -> PyResult<Vec<Isometry3<f64>>> {
    let given = numbers(object, "matrices")?;
    check_finite(&given, "matrices")?;
    let whole = matches!(given.shape[..], [4, 4] | [_, 4, 4]) && !given.data.is_empty();
    if !whole {
        return Err(input_error(
            "matrices: expected an array of shape (4, 4) or (frames, 4, 4)",
        ));
    }
    let all = given.data.chunks_exact(16).enumerate();
    all.map(|(entry, m)| read_place(m, entry)).collect()
}

impl PyForceField {
    fn number<'py>(&self, py: Python<'py>, name: &str) -> Bound<'py, PyArray1<f64>> {
        let all = NUMBERS.iter().zip(&self.0.numbers);
        let mut all = all.filter(|(spec, _)| spec.name == name);
        let values = all.next().map(|(spec, values)| match values.is_empty() {
            true => vec![spec.default],
            false => values.clone(),
        });
        values.unwrap_or_default().into_pyarray(py)
    }
}

#[pymethods]
impl PyForceField {
    #[new]
    #[pyo3(
        signature = (*arguments, **keywords),
        text_signature = "(kind, strength=1.0, matrices=None, *, name=None, shape='point', falloff='sphere', side='both', \
            gravitation=False, global_space=False, seed=0, unit=1.0, start=0.0, flow=0.0, noise=0.0, size=1.0, linear_drag=0.0, \
            quadratic_drag=0.0, power=0.0, radial_power=0.0, min_distance=0.0, max_distance=None, min_radius=0.0, max_radius=None)"
    )]
    fn new(arguments: &Bound<'_, PyTuple>, keywords: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        const POSITIONAL: [&str; 3] = ["kind", "strength", "matrices"];
        let given = Arguments::new("ForceField", &POSITIONAL, arguments, keywords)?;
        let kind = given.require("kind", |k| {
            read_choice(k, "kind", FieldKind::ALL, FieldKind::name)
        })?;
        let mut field = ForceField::new(kind);
        if let Some(name) = given.take("name", |n| text(n).map(str::to_owned))? {
            field.name = name;
        }
        if let Some(shape) = given.take("shape", |s| {
            read_choice(s, "shape", FieldShape::ALL, FieldShape::name)
        })? {
            field.shape = shape;
        }
        if let Some(falloff) = given.take("falloff", |f| {
            read_choice(f, "falloff", Falloff::ALL, Falloff::name)
        })? {
            field.falloff = falloff;
        }
        if let Some(side) = given.take("side", |s| {
            read_choice(s, "side", FieldSide::ALL, FieldSide::name)
        })? {
            field.side = side;
        }
        field.gravitation = given
            .take("gravitation", |g| g.extract())?
            .unwrap_or_default();
        field.global = given
            .take("global_space", |g| g.extract())?
            .unwrap_or_default();
        if let Some(seed) = given.take("seed", integer)? {
            field.seed = u32::try_from(seed).map_err(|_| {
                input_error(format!("seed must lie between 0 and 2³² − 1, not {seed}"))
            })?;
        }
        field.unit = given.take("unit", real)?.unwrap_or(1.0);
        field.start = given.take("start", real)?.unwrap_or_default();
        if let Some(places) = given.take("matrices", read_places)? {
            field.places = places;
        }
        for (spec, values) in NUMBERS.iter().zip(&mut field.numbers) {
            if let Some(track) = given.take(spec.name, |n| read_track(n, spec.name))? {
                *values = track;
            }
        }
        given.finish()?;
        field
            .check()
            .map_err(|error| input_error(error.to_string()))?;
        Ok(Self(field))
    }

    /// Kind: "wind", "force", "vortex", "turbulence" or "drag".
    #[getter]
    fn kind(&self) -> &'static str {
        self.0.kind.name()
    }

    /// Name, for sentences.
    #[getter]
    fn name(&self) -> &str {
        &self.0.name
    }

    /// Shape from which distances count.
    #[getter]
    fn shape(&self) -> &'static str {
        self.0.shape.name()
    }

    /// Shape of the falloff.
    #[getter]
    fn falloff(&self) -> &'static str {
        self.0.falloff.name()
    }

    /// Side of the plane across its axis on which it acts.
    #[getter]
    fn side(&self) -> &'static str {
        self.0.side.name()
    }

    /// True: a force falls with the square of the distance too.
    #[getter]
    fn gravitation(&self) -> bool {
        self.0.gravitation
    }

    /// True: turbulence stays in the world.
    #[getter]
    fn global_space(&self) -> bool {
        self.0.global
    }

    /// Seed of noise and turbulence.
    #[getter]
    fn seed(&self) -> u32 {
        self.0.seed
    }

    /// Length in which distances count, m.
    #[getter]
    fn unit(&self) -> f64 {
        self.0.unit
    }

    /// Time of frame 0, s.
    #[getter]
    fn start(&self) -> f64 {
        self.0.start
    }

    /// Places, float64 [f,4,4], m.
    #[getter]
    fn matrices<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray3<f64>> {
        let places = &self.0.places;
        let array = Array3::from_shape_fn((places.len(), 4, 4), |(f, i, j)| {
            places[f].to_homogeneous()[(i, j)]
        });
        array.into_pyarray(py)
    }

    /// Acceleration, m/s², float64 [f], of one entry while it stays.
    #[getter]
    fn strength<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.number(py, "strength")
    }

    /// Rate at which flesh takes on the motion of the air, 1/s, float64 [f], of one entry while it stays.
    #[getter]
    fn flow<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.number(py, "flow")
    }

    /// Changes of the strength in time, m/s², float64 [f], of one entry while it stays.
    #[getter]
    fn noise<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.number(py, "noise")
    }

    /// Length of turbulence, units, float64 [f], of one entry while it stays.
    #[getter]
    fn size<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.number(py, "size")
    }

    /// Linear drag, 1/s, float64 [f], of one entry while it stays.
    #[getter]
    fn linear_drag<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.number(py, "linear_drag")
    }

    /// Quadratic drag, 1/m, float64 [f], of one entry while it stays.
    #[getter]
    fn quadratic_drag<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.number(py, "quadratic_drag")
    }

    /// Power of the falloff, float64 [f], of one entry while it stays.
    #[getter]
    fn power<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.number(py, "power")
    }

    /// Power of the falloff across the axis, float64 [f], of one entry while it stays.
    #[getter]
    fn radial_power<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.number(py, "radial_power")
    }

    /// Distance up to which the field is whole, units, float64 [f], of one entry while it stays.
    #[getter]
    fn min_distance<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.number(py, "min_distance")
    }

    /// Distance beyond which the field does not act, units, float64 [f], of one entry while it stays; infinite: no limit.
    #[getter]
    fn max_distance<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.number(py, "max_distance")
    }

    /// Distance from the axis up to which the field is whole, units or degrees, float64 [f], of one entry while it stays.
    #[getter]
    fn min_radius<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.number(py, "min_radius")
    }

    /// Distance from the axis beyond which the field does not act, units or degrees, float64 [f], of one entry while it stays; infinite: no limit.
    #[getter]
    fn max_radius<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.number(py, "max_radius")
    }

    /// Returns the acceleration of flesh at `points[n,3]` (m) with `velocities[n,3]` (m/s; None: at rest) at a frame of a clip of `fps`
    /// frames per second, float64 [n,3], m/s². Raises InputError.
    #[pyo3(signature = (points, velocities=None, frame=0, fps=24.0))]
    fn accelerations<'py>(
        &self,
        py: Python<'py>,
        points: &Bound<'_, PyAny>,
        velocities: Option<&Bound<'_, PyAny>>,
        #[pyo3(from_py_with = integer)] frame: i64,
        #[pyo3(from_py_with = real)] fps: f64,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let points = read_finite_points(points, "points")?;
        let velocities = match velocities {
            Some(given) => {
                let shape = [Some(points.len()), Some(3)];
                check_finite(&read_floats(given, "velocities", &shape)?, "velocities")?;
                read_finite_points(given, "velocities")?
            }
            None => vec![Vec3::zeros(); points.len()],
        };
        if !(fps > 0.0 && fps.is_finite()) {
            return Err(input_error(format!("fps must be positive, not {fps}")));
        }
        let state = self.0.state_at(usize::try_from(frame).unwrap_or(0), fps);
        let each = points.iter().zip(&velocities).map(|(x, v)| {
            let (acceleration, rate) = self.0.acceleration(&state, x, v);
            acceleration - v * rate
        });
        Ok(from_points(py, &each.collect::<Vec<_>>()))
    }

    fn __copy__(me: Py<Self>) -> Py<Self> {
        me
    }

    fn __deepcopy__(me: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        me
    }

    fn __repr__(&self) -> String {
        let (name, kind) = (&self.0.name, self.0.kind.name());
        format!("<thew.ForceField: {name}, {kind}>")
    }
}

/// Reads a list of fields; an item of another type is refused by its index.
fn read_fields(list: List<Bound<'_, PyAny>>) -> PyResult<Vec<ForceField>> {
    let field = |(i, field): (usize, Bound<'_, PyAny>)| match field.cast::<PyForceField>() {
        Ok(field) => Ok(field.get().0.clone()),
        Err(_) => Err(input_error(format!("fields[{i}] is not a thew.ForceField"))),
    };
    list.0.into_iter().enumerate().map(field).collect()
}

/// Takes `fields`, `gravities`, `stiffness` and `softness` from the arguments of a call, and a `gravity` that has one entry per frame, whose first
/// becomes the setting.
pub(super) fn take_tracks<'py>(
    py: Python<'py>,
    given: &Arguments<'py>,
    body: &PyBody,
) -> PyResult<Tracks> {
    let common = take_common_tracks(py, given)?;
    let softness = given.take("softness", |s| read_track(s, "softness"))?;
    let stiffness = given.take("stiffness", |s| read_track(s, "stiffness"))?;
    Ok(Tracks {
        stiffness: stiffness_factors(py, body, softness, stiffness)?,
        ..common
    })
}

/// Takes those tracks from the arguments of a call that act on any body: `fields`, `gravities`, and a `gravity` that has one entry per frame.
pub(super) fn take_common_tracks<'py>(py: Python<'py>, given: &Arguments<'py>) -> PyResult<Tracks> {
    let fields = given.take("fields", List::from_object)?;
    let fields = fields.map(read_fields).transpose()?.unwrap_or_default();
    let mut gravity = given.take("gravities", |g| read_finite_points(g, "gravities"))?;
    if let Some(object) = given.any("gravity")? {
        let by_frame = |object: &Bound<'_, PyAny>| {
            let shape = numbers(object, "gravity").map(|read| read.shape.len());
            shape.is_ok_and(|dimensions| dimensions == 2)
        };
        if by_frame(&object) {
            let rows = read_finite_points(&object, "gravity")?;
            let Some(first) = rows.first() else {
                return Err(input_error(
                    "gravity: give one vector, or one for each frame",
                ));
            };
            given.put("gravity", vec![first.x, first.y, first.z].into_pyarray(py))?;
            gravity = Some(rows);
        } else {
            given.put("gravity", object)?;
        }
    }
    Ok(Tracks {
        fields,
        gravity: gravity.unwrap_or_default(),
        stiffness: Vec::new(),
    })
}

/// Returns the factors on the stiffness of a body's flesh of dials, or as given; none if all are 1.
pub(super) fn stiffness_factors(
    py: Python<'_>,
    body: &PyBody,
    softness: Option<Vec<f64>>,
    stiffness: Option<Vec<f64>>,
) -> PyResult<Vec<f64>> {
    let mut factors = match softness {
        Some(dials) => run_detached(py, || {
            softness_factors(&body.0, &dials).map_err(IntoPy::into_py)
        })?,
        None => stiffness.unwrap_or_default(),
    };
    if factors.iter().all(|factor| *factor == 1.0) {
        factors.clear();
    }
    Ok(factors)
}
