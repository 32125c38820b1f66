// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bindings of `thew.WigglySpline`.

use super::arrays::{finite, floats, integer};
use super::errors::{IntoPy, detached, input};
use crate::spacetime::{Joint, Knot, KnotData, Layout, Oscillator, WigglySpline, check_splines};
use numpy::ndarray::{Array1, Array2};
use numpy::{IntoPyArray, PyArrayDyn};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::sync::Arc;

/// Splines through values that need the least acting force [kass2008; hildebrandt2012, §4.2].
///
/// The spline minimises ∫ r² with r = ω'' + 2·damping·ω' + stiffness·ω + gravity. WigglySpline(times, values, stiffness, damping,
/// gravity=0.0, ...):
///
/// - `times[m+1]`, `values[m+1]` or `values[m+1,d]`: the knots.
/// - `stiffness`, `damping`, `gravity`: numbers or [d] each; `stiffness` may be negative.
/// - `start_velocity`, `end_velocity`: slopes at the ends. None: the natural end (r = 0).
/// - `cyclic`: True if the last value is the first again.
/// - `knot_velocities`: {index: slope}, or {index: (before, behind)} for a cut, None in place of one that is free. {index: None} prescribes
///   nothing.
///
/// Raises InputError naming the knot.
#[pyclass(name = "WigglySpline", module = "thew", frozen)]
pub(super) struct PyWigglySpline {
    spline: WigglySpline,
    /// True if the values came as numbers.
    single: bool,
}

/// Reads one number for each mode.
fn each(object: &Bound<'_, PyAny>, name: &str, modes: usize) -> PyResult<Vec<f64>> {
    if object.len().is_err()
        && let Ok(number) = object.extract::<f64>()
    {
        if !crate::range::is_sound(number) {
            return Err(input(format!("{name} is {number}: give a finite number")));
        }
        return Ok(vec![number; modes]);
    }
    let numbers = floats(object, name, &[Some(modes)])?;
    finite(&numbers, name)?;
    Ok(numbers.data)
}

#[pymethods]
impl PyWigglySpline {
    #[new]
    #[pyo3(
        signature = (times, values, stiffness, damping, gravity=None, start_velocity=Slope::Zero, end_velocity=Slope::Zero, cyclic=false, knot_velocities=None),
        text_signature = "(times, values, stiffness, damping, gravity=0.0, start_velocity=0.0, end_velocity=0.0, cyclic=False, knot_velocities=None)"
    )]
    #[allow(clippy::too_many_arguments)]
    fn new(
        py: Python<'_>,
        times: &Bound<'_, PyAny>,
        values: &Bound<'_, PyAny>,
        stiffness: &Bound<'_, PyAny>,
        damping: &Bound<'_, PyAny>,
        gravity: Option<&Bound<'_, PyAny>>,
        start_velocity: Slope,
        end_velocity: Slope,
        cyclic: bool,
        knot_velocities: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let times = floats(times, "times", &[None])?;
        let count = times.data.len();
        let single = floats(values, "values", &[Some(count)]).is_ok();
        let wanted: &[Option<usize>] = if single {
            &[Some(count)]
        } else {
            &[Some(count), None]
        };
        let values = floats(values, "values", wanted)?;
        finite(&values, "values")?;
        let modes = values.shape.get(1).copied().unwrap_or(1);
        let number = |object: &Bound<'_, PyAny>, name| each(object, name, modes);
        let (stiffness, damping) = (number(stiffness, "stiffness")?, number(damping, "damping")?);
        let gravity = gravity.map_or(Ok(vec![0.0; modes]), |g| number(g, "gravity"))?;
        let oscillators: Vec<Oscillator> = (0..modes)
            .map(|i| Oscillator {
                stiffness: stiffness[i],
                damping: damping[i],
                gravity: gravity[i],
            })
            .collect();
        check_splines(&times.data, &oscillators).map_err(IntoPy::into_py)?;
        if cyclic {
            let last = values.data.len() - modes;
            let size = values.data.iter().fold(1e-300f64, |m, x| m.max(x.abs()));
            for i in 0..modes {
                let off = (values.data[i] - values.data[last + i]).abs();
                if off > 1e-9 * size {
                    return Err(input(format!(
                        "values: the last is {off} away from the first; a cyclic spline ends where it begins"
                    )));
                }
            }
        }
        let mut joints = vec![Joint::Smooth; count];
        let mut slopes = [vec![vec![0.0; count]; modes], vec![vec![0.0; count]; modes]];
        let set = |slopes: &mut [Vec<Vec<f64>>; 2],
                   knot: usize,
                   side: usize,
                   slope: &Option<Vec<f64>>| {
            if let Some(slope) = slope {
                for (mode, &value) in slope.iter().enumerate() {
                    slopes[side][mode][knot] = value;
                }
            }
        };
        if !cyclic {
            for (knot, slope, name) in [
                (0, start_velocity, "start_velocity"),
                (count - 1, end_velocity, "end_velocity"),
            ] {
                if let Some(slope) = slope.each(py, name, modes)? {
                    joints[knot] = Joint::Given;
                    let slope = Some(slope);
                    set(&mut slopes, knot, 0, &slope);
                    set(&mut slopes, knot, 1, &slope);
                }
            }
        }
        for (knot, given) in knot_velocities.into_iter().flatten() {
            let knot: i64 = knot
                .extract()
                .map_err(|_| input("knot_velocities: keys are numbers of knots"))?;
            let knot = usize::try_from(knot)
                .ok()
                .filter(|&k| k < count)
                .ok_or_else(|| {
                    input(format!(
                        "knot_velocities: there is no knot {knot}; there are {count}"
                    ))
                })?;
            let name = format!("knot_velocities[{knot}]");
            let slope = |object: &Bound<'_, PyAny>| -> PyResult<Option<Vec<f64>>> {
                if object.is_none() {
                    return Ok(None);
                }
                each(object, &name, modes).map(Some)
            };
            if given.is_none() {
                continue;
            }
            let (before, behind, joint) = if let Ok(pair) = given.cast::<PyTuple>() {
                if pair.len() != 2 {
                    return Err(input(format!(
                        "{name}: expected a slope or a pair (before, behind)"
                    )));
                }
                let (before, behind) = (slope(&pair.get_item(0)?)?, slope(&pair.get_item(1)?)?);
                let joint = Joint::Cut {
                    incoming: before.is_some(),
                    outgoing: behind.is_some(),
                };
                (before, behind, joint)
            } else {
                let slope = slope(&given)?;
                (slope.clone(), slope, Joint::Given)
            };
            joints[knot] = joint;
            set(&mut slopes, knot, 0, &before);
            set(&mut slopes, knot, 1, &behind);
            if cyclic && (knot == 0 || knot == count - 1) {
                joints[0] = joint;
                joints[count - 1] = joint;
                for other in [0, count - 1] {
                    set(&mut slopes, other, 0, &before);
                    set(&mut slopes, other, 1, &behind);
                }
            }
        }
        let knots = times.data.iter().zip(joints);
        let knots = knots.map(|(&time, joint)| Knot {
            time,
            valued: true,
            joint,
        });
        let layout = Arc::new(Layout::new(knots.collect(), cyclic));
        let [before, behind] = slopes;
        let given = (0..modes).map(|mode| {
            let mut values: Vec<f64> = values
                .data
                .iter()
                .skip(mode)
                .step_by(modes)
                .copied()
                .collect();
            if cyclic {
                values[count - 1] = values[0];
            }
            KnotData {
                values,
                incoming: before[mode].clone(),
                outgoing: behind[mode].clone(),
            }
        });
        let given = given.collect();
        let spline = detached(py, || Ok(WigglySpline::new(layout, oscillators, given)))?;
        Ok(Self { spline, single })
    }

    /// Returns the spline, or its derivative of order up to 3, at times `t`: float64 [t], or [t,d]. Beyond the ends the end values are
    /// held; cyclic ones repeat. At a cut the side behind counts.
    #[pyo3(signature = (t, derivative=0))]
    fn __call__<'py>(
        &self,
        t: &Bound<'py, PyAny>,
        #[pyo3(from_py_with = integer)] derivative: i64,
    ) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
        let scalar = t.len().is_err();
        let times = if scalar {
            vec![
                t.extract::<f64>()
                    .map_err(|_| input("t: expected a time or an array of times"))?,
            ]
        } else {
            floats(t, "t", &[None])?.data
        };
        if let Some(at) = times.iter().position(|t| !t.is_finite()) {
            return Err(input(format!("t[{at}] is no finite number")));
        }
        if !(0..=3).contains(&derivative) {
            return Err(input(format!(
                "derivative: expected 0, 1, 2 or 3, got {derivative}"
            )));
        }
        let values = detached(t.py(), || {
            Ok(self.spline.sample(&times, derivative as usize))
        })?;
        let n = times.len();
        let at = |i: usize, mode: usize| values[mode * n + i];
        Ok(self.array(t.py(), n, scalar, at))
    }

    /// Slopes at the knots, float64 [m+1] or [m+1,d]; at a cut those behind it.
    #[getter]
    fn slopes<'py>(&self, py: Python<'py>) -> Bound<'py, PyArrayDyn<f64>> {
        let n = self.spline.layout().knots().len();
        self.array(py, n, false, |k, mode| self.spline.data(mode).outgoing[k])
    }

    /// Cost ∫ r² over the whole spline: a number, or float64 [d] for values [m+1,d].
    #[getter]
    fn cost<'py>(&self, py: Python<'py>) -> Bound<'py, PyAny> {
        if self.single {
            return pyo3::types::PyFloat::new(py, self.spline.cost(0)).into_any();
        }
        let costs = Array1::from_shape_fn(self.spline.len(), |mode| self.spline.cost(mode));
        costs.into_pyarray(py).into_any()
    }

    fn __repr__(&self) -> String {
        let knots = self.spline.layout().knots().len();
        format!(
            "<thew.WigglySpline: {knots} knots, {} modes>",
            self.spline.len()
        )
    }
}

impl PyWigglySpline {
    fn array<'py>(
        &self,
        py: Python<'py>,
        n: usize,
        scalar: bool,
        at: impl Fn(usize, usize) -> f64,
    ) -> Bound<'py, PyArrayDyn<f64>> {
        let modes = self.spline.len();
        match (self.single, scalar) {
            (true, true) => numpy::ndarray::arr0(at(0, 0)).into_dyn(),
            (true, false) => Array1::from_shape_fn(n, |i| at(i, 0)).into_dyn(),
            (false, true) => Array1::from_shape_fn(modes, |mode| at(0, mode)).into_dyn(),
            (false, false) => Array2::from_shape_fn((n, modes), |(i, mode)| at(i, mode)).into_dyn(),
        }
        .into_pyarray(py)
    }
}

/// A slope at an end: zero by default, natural for None.
enum Slope {
    Zero,
    Natural,
    Given(Py<PyAny>),
}

impl<'a, 'py> FromPyObject<'a, 'py> for Slope {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        Ok(if object.is_none() {
            Self::Natural
        } else {
            Self::Given(object.to_owned().unbind())
        })
    }
}

impl Slope {
    fn each(&self, py: Python<'_>, name: &str, modes: usize) -> PyResult<Option<Vec<f64>>> {
        match self {
            Self::Zero => Ok(Some(vec![0.0; modes])),
            Self::Natural => Ok(None),
            Self::Given(object) => each(object.bind(py), name, modes).map(Some),
        }
    }
}
