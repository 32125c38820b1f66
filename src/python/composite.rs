// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bindings of `thew.Composite` and `thew.composite`.

use super::arrays::fill_frames;
use super::errors::{IntoPy, input_error, run_detached};
use super::spacetime::{PySpacetime, read_times};
use crate::exclusive::Exclusive;
use crate::spacetime::{Composite, Spacetime};
use numpy::{IntoPyArray, PyArray1, PyArray3};
use pyo3::prelude::*;
use std::sync::Arc;

/// Motions one after another, as `composite` joins them.
#[pyclass(name = "Composite", module = "thew", frozen)]
pub(super) struct PyComposite {
    segments: Vec<Arc<Exclusive<Spacetime>>>,
    nodes: usize,
}

/// Joins motions of one body, each beginning when the one before ends, with other fixed parts and velocities in each. Later changes of a
/// motion show in the composite. Raises InputError naming the segment that does not follow in time or in shape.
#[pyfunction]
pub(super) fn composite(py: Python<'_>, motions: &Bound<'_, PyAny>) -> PyResult<PyComposite> {
    let mut segments = Vec::new();
    let mut nodes = 0;
    for motion in motions.try_iter()? {
        let motion = motion?;
        let Ok(motion) = motion.cast::<PySpacetime>() else {
            return Err(input_error("motions: expected a list of Spacetime"));
        };
        nodes = motion.get().nodes;
        if segments
            .iter()
            .any(|s| Arc::ptr_eq(s, &motion.get().motion))
        {
            return Err(input_error(
                "motions: the same motion is in the list twice; make a second one like it",
            ));
        }
        segments.push(motion.get().motion.clone());
    }
    let joined = PyComposite { segments, nodes };
    joined
        .with_composite(py, |composite| composite.check_shapes())?
        .map_err(IntoPy::into_py)?;
    Ok(joined)
}

impl PyComposite {
    fn with_composite<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&Composite) -> T + Send,
    ) -> PyResult<T> {
        run_detached(py, || {
            let mut guards = Vec::new();
            for segment in &self.segments {
                guards.push(segment.lock().map_err(IntoPy::into_py)?);
            }
            let composite = Composite::from_checked_segments(guards.iter().map(|g| &**g).collect());
            Ok(work(&composite.map_err(IntoPy::into_py)?))
        })
    }
}

#[pymethods]
impl PyComposite {
    /// Returns the motion at times `t`, float32 [t,n,3]. At a time where two segments meet the later one shows.
    fn __call__<'py>(&self, t: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyArray3<f32>>> {
        let times = read_times(t)?;
        fill_frames(t.py(), (times.len(), self.nodes), |out| {
            self.with_composite(t.py(), |composite| composite.positions_into(&times, out))
        })
    }

    /// Returns cubic splines through the same keyframes at times `t`, float32 [t,n,3].
    fn plain<'py>(&self, t: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyArray3<f32>>> {
        let times = read_times(t)?;
        fill_frames(t.py(), (times.len(), self.nodes), |out| {
            self.with_composite(t.py(), |composite| {
                composite.cubic_positions_into(&times, out)
            })
        })
    }

    /// Times at which segments begin, and the end of the last one, float64 [s+1], s.
    #[getter]
    fn times<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        Ok(self
            .with_composite(py, |composite| composite.times())?
            .into_pyarray(py))
    }
}
