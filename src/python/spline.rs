// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bindings of `thew.WigglySpline`.

use super::arguments::Arguments;
use super::arrays::{check_finite, integer, read_floats};
use super::errors::{IntoPy, input_error, run_detached};
use crate::spacetime::{
    Knot, KnotData, KnotJoint, KnotLayout, Oscillator, WigglySpline, check_splines,
};
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
fn read_per_mode(object: &Bound<'_, PyAny>, name: &str, modes: usize) -> PyResult<Vec<f64>> {
    if object.len().is_err()
        && let Ok(number) = object.extract::<f64>()
    {
        if !crate::range::is_sound(number) {
            return Err(input_error(format!(
                "{name} is {number}: give a finite number"
            )));
        }
        return Ok(vec![number; modes]);
    }
    let numbers = read_floats(object, name, &[Some(modes)])?;
    check_finite(&numbers, name)?;
    Ok(numbers.data)
}

/// Values at the knots, `[knots · modes]`.
struct KnotValues {
    data: Vec<f64>,
    modes: usize,
    /// True if they came as numbers.
    single: bool,
}

impl KnotValues {
    /// Reads `values[m+1]` or `values[m+1,d]`.
    fn read(object: &Bound<'_, PyAny>, count: usize) -> PyResult<Self> {
        let single = read_floats(object, "values", &[Some(count)]).is_ok();
        let wanted: &[Option<usize>] = if single {
            &[Some(count)]
        } else {
            &[Some(count), None]
        };
        let values = read_floats(object, "values", wanted)?;
        check_finite(&values, "values")?;
        Ok(Self {
            modes: values.shape.get(1).copied().unwrap_or(1),
            data: values.data,
            single,
        })
    }

    /// Refuses a cycle that does not end where it begins.
    fn check_closed(&self) -> PyResult<()> {
        let last = self.data.len() - self.modes;
        let size = self.data.iter().fold(1e-300f64, |m, x| m.max(x.abs()));
        for i in 0..self.modes {
            let off = (self.data[i] - self.data[last + i]).abs();
            if off > 1e-9 * size {
                return Err(input_error(format!(
                    "values: the last is {off} away from the first; a cyclic spline ends where it begins"
                )));
            }
        }
        Ok(())
    }

    /// Returns the values of one mode; the last of a cycle is the first again.
    fn mode_values(&self, mode: usize, cyclic: bool) -> Vec<f64> {
        let mut values: Vec<f64> = (self.data.iter().skip(mode))
            .step_by(self.modes)
            .copied()
            .collect();
        if cyclic && let [first, .., last] = values.as_mut_slice() {
            *last = *first;
        }
        values
    }
}

fn read_oscillators(stiffness: &[f64], damping: &[f64], gravity: &[f64]) -> Vec<Oscillator> {
    let oscillator = |i: usize| Oscillator {
        stiffness: stiffness[i],
        damping: damping[i],
        gravity: gravity[i],
    };
    (0..stiffness.len()).map(oscillator).collect()
}

/// Prescribed slopes: the joint of each knot, and the slopes before and behind it, `[modes][knots]`.
struct KnotSlopes {
    joints: Vec<KnotJoint>,
    sides: [Vec<Vec<f64>>; 2],
}

impl KnotSlopes {
    fn new(count: usize, modes: usize) -> Self {
        let zero = || vec![vec![0.0; count]; modes];
        Self {
            joints: vec![KnotJoint::Smooth; count],
            sides: [zero(), zero()],
        }
    }

    fn modes(&self) -> usize {
        self.sides[0].len()
    }

    fn set_slopes(&mut self, knot: usize, joint: KnotJoint, slopes: &[Option<Vec<f64>>; 2]) {
        self.joints[knot] = joint;
        for (side, slope) in self.sides.iter_mut().zip(slopes) {
            for (mode, &value) in slope.iter().flatten().enumerate() {
                side[mode][knot] = value;
            }
        }
    }

    /// Prescribes the slope at an end; `None`: its natural end.
    fn set_end(&mut self, knot: usize, slope: Option<Vec<f64>>) {
        if slope.is_some() {
            self.set_slopes(knot, KnotJoint::Given, &[slope.clone(), slope]);
        }
    }

    /// Reads an entry of `knot_velocities`. Both ends of a cycle are one knot.
    fn read(
        &mut self,
        knot: &Bound<'_, PyAny>,
        given: &Bound<'_, PyAny>,
        cyclic: bool,
    ) -> PyResult<()> {
        let (knot, last) = (self.index(knot)?, self.joints.len() - 1);
        let name = format!("knot_velocities[{knot}]");
        let slope = |object: &Bound<'_, PyAny>| match object.is_none() {
            true => Ok(None),
            false => read_per_mode(object, &name, self.modes()).map(Some),
        };
        let (joint, slopes) = if given.is_none() {
            return Ok(());
        } else if let Ok(pair) = given.cast::<PyTuple>() {
            if pair.len() != 2 {
                return Err(input_error(format!(
                    "{name}: expected a slope or a pair (before, behind)"
                )));
            }
            let slopes = [slope(&pair.get_item(0)?)?, slope(&pair.get_item(1)?)?];
            let joint = KnotJoint::Cut {
                incoming: slopes[0].is_some(),
                outgoing: slopes[1].is_some(),
            };
            (joint, slopes)
        } else {
            let slope = slope(given)?;
            (KnotJoint::Given, [slope.clone(), slope])
        };
        let ends = cyclic && (knot == 0 || knot == last);
        for knot in if ends { vec![0, last] } else { vec![knot] } {
            self.set_slopes(knot, joint, &slopes);
        }
        Ok(())
    }

    fn index(&self, knot: &Bound<'_, PyAny>) -> PyResult<usize> {
        let count = self.joints.len();
        let knot: i64 = knot
            .extract()
            .map_err(|_| input_error("knot_velocities: keys are numbers of knots"))?;
        let index = usize::try_from(knot).ok().filter(|&k| k < count);
        index.ok_or_else(|| {
            input_error(format!(
                "knot_velocities: there is no knot {knot}; there are {count} knots"
            ))
        })
    }

    fn build_layout(&self, times: &[f64], cyclic: bool) -> KnotLayout {
        let knots = times.iter().zip(&self.joints);
        let knots = knots.map(|(&time, &joint)| Knot {
            time,
            valued: true,
            joint,
        });
        KnotLayout::new(knots.collect(), cyclic)
    }

    fn build_knot_data(&self, values: &KnotValues, cyclic: bool) -> Vec<KnotData> {
        let mode = |mode| KnotData {
            values: values.mode_values(mode, cyclic),
            incoming: self.sides[0][mode].clone(),
            outgoing: self.sides[1][mode].clone(),
        };
        (0..values.modes).map(mode).collect()
    }
}

#[pymethods]
impl PyWigglySpline {
    #[new]
    #[pyo3(
        signature = (*arguments, **keywords),
        text_signature = "(times, values, stiffness, damping, gravity=0.0, start_velocity=0.0, end_velocity=0.0, cyclic=False, knot_velocities=None)"
    )]
    fn new(
        py: Python<'_>,
        arguments: &Bound<'_, PyTuple>,
        keywords: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        const NAMES: [&str; 9] = [
            "times",
            "values",
            "stiffness",
            "damping",
            "gravity",
            "start_velocity",
            "end_velocity",
            "cyclic",
            "knot_velocities",
        ];
        let given = Arguments::new("WigglySpline", &NAMES, arguments, keywords)?;
        let needed = |name| given.require(name, |object| Ok(object.clone()));
        let (times, values) = (&needed("times")?, &needed("values")?);
        let (stiffness, damping) = (&needed("stiffness")?, &needed("damping")?);
        let gravity = given.any("gravity")?;
        let slope = |name| Ok::<_, PyErr>(EndSlope::of(given.object(name)?));
        let (start_velocity, end_velocity) = (slope("start_velocity")?, slope("end_velocity")?);
        let cyclic = given.take("cyclic", |c| c.extract())?.unwrap_or(false);
        let knot_velocities = given.take("knot_velocities", |k| Ok(k.cast::<PyDict>()?.clone()))?;
        given.finish()?;
        let times = read_floats(times, "times", &[None])?.data;
        let values = KnotValues::read(values, times.len())?;
        let number = |object: &Bound<'_, PyAny>, name| read_per_mode(object, name, values.modes);
        let oscillators = read_oscillators(
            &number(stiffness, "stiffness")?,
            &number(damping, "damping")?,
            &gravity.map_or(Ok(vec![0.0; values.modes]), |g| number(&g, "gravity"))?,
        );
        check_splines(&times, &oscillators).map_err(IntoPy::into_py)?;
        let mut slopes = KnotSlopes::new(times.len(), values.modes);
        if cyclic {
            values.check_closed()?;
        } else {
            slopes.set_end(0, start_velocity.each(py, "start_velocity", values.modes)?);
            let end = end_velocity.each(py, "end_velocity", values.modes)?;
            slopes.set_end(times.len() - 1, end);
        }
        for (knot, given) in knot_velocities.iter().flatten() {
            slopes.read(&knot, &given, cyclic)?;
        }
        let single = values.single;
        let data = slopes.build_knot_data(&values, cyclic);
        let layout = Arc::new(slopes.build_layout(&times, cyclic));
        let spline = run_detached(py, || Ok(WigglySpline::new(layout, oscillators, data)))?;
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
                    .map_err(|_| input_error("t: expected a time or an array of times"))?,
            ]
        } else {
            read_floats(t, "t", &[None])?.data
        };
        if let Some(at) = times.iter().position(|t| !t.is_finite()) {
            return Err(input_error(format!("t[{at}] is not a finite number")));
        }
        if !(0..=3).contains(&derivative) {
            return Err(input_error(format!(
                "derivative: expected 0, 1, 2 or 3, got {derivative}"
            )));
        }
        let values = run_detached(t.py(), || {
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
        self.array(py, n, false, |k, mode| {
            self.spline.knot_data(mode).outgoing[k]
        })
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
enum EndSlope {
    Zero,
    Natural,
    Given(Py<PyAny>),
}

impl EndSlope {
    fn of(given: Option<Bound<'_, PyAny>>) -> Self {
        match given {
            None => Self::Zero,
            Some(object) if object.is_none() => Self::Natural,
            Some(object) => Self::Given(object.unbind()),
        }
    }

    fn each(&self, py: Python<'_>, name: &str, modes: usize) -> PyResult<Option<Vec<f64>>> {
        match self {
            Self::Zero => Ok(Some(vec![0.0; modes])),
            Self::Natural => Ok(None),
            Self::Given(object) => read_per_mode(object.bind(py), name, modes).map(Some),
        }
    }
}
