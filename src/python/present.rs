// SPDX-License-Identifier: MIT OR Apache-2.0
//! The common methods of classes that show surfaces: `positions` and `offsets` at an instant, in a space (`to`), added to an array (`onto`).
//!
//! Such a class implements [`SurfaceView`], which provides a presenter and an instant. Everything else is here.

use super::arrays::{WholeNumber, from_f32, read_floats};
use super::errors::{IntoPy, input_error, run_detached};
use crate::body::Body;
use crate::dynamics::{joint_volume, sway};
use crate::present::{
    DisplaySettings, Instant, OutputSpace, PresentError, Presenter, Snapshot, SurfaceId,
};
use crate::skeleton::{Affine, Pose};
use crate::{Mat4, Vec3};
use numpy::{PyArray2, PyArrayMethods, PyReadwriteArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;
use std::sync::Arc;

/// Returns the id of a surface from its number. Default: the body's own.
pub(super) fn surface_id(number: Option<WholeNumber>) -> SurfaceId {
    number.map_or(SurfaceId::OWN, |n| SurfaceId::new(n.0))
}

/// Reads the space of results from `to[4,4]`, a map of the world's metres. Default: the world's metres.
pub(super) fn read_target(to: Option<&Bound<'_, PyAny>>) -> PyResult<OutputSpace> {
    let Some(to) = to else {
        return Ok(OutputSpace::WORLD);
    };
    let matrix = match to.cast::<PyArray2<f64>>() {
        // This runs at every frame of a playback: a matrix that fits is read without numpy.
        Ok(array) if array.shape() == [4, 4] => {
            let numbers = array.try_readonly().ok();
            numbers.map(|n| Mat4::from_fn(|r, c| n.as_array()[(r, c)]))
        }
        _ => None,
    };
    let matrix = match matrix {
        Some(matrix) => matrix,
        None => Mat4::from_row_slice(&read_floats(to, "to", &[Some(4), Some(4)])?.data),
    };
    let affine = Affine::from_matrix(&matrix).ok_or_else(|| {
        input_error(
            "to: expected an affine map of the world's metres: finite numbers within 1e12, and 0, 0, 0, 1 in the last row",
        )
    })?;
    OutputSpace::new(affine).map_err(IntoPy::into_py)
}

/// Arguments of a call in addition to the instant.
pub(super) struct DisplayArguments<'py> {
    pub surface: SurfaceId,
    target: OutputSpace,
    onto: Option<Bound<'py, PyArray2<f32>>>,
}

impl<'py> DisplayArguments<'py> {
    pub fn new(
        number: Option<WholeNumber>,
        to: Option<&Bound<'py, PyAny>>,
        onto: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Self> {
        let array = |onto: &Bound<'py, PyAny>| match onto.cast::<PyArray2<f32>>() {
            Ok(array) => Ok(array.clone()),
            Err(_) => Err(input_error(
                "onto: expected a float32 array of shape (any, 3)",
            )),
        };
        Ok(Self {
            surface: surface_id(number),
            target: read_target(to)?,
            onto: onto.map(array).transpose()?,
        })
    }

    /// Returns the array that `show` fills: a new one, or the one that results are added onto.
    pub fn fill_array<E: IntoPy>(
        self,
        py: Python<'py>,
        vertices: impl FnOnce(SurfaceId) -> Result<usize, E>,
        show: impl FnOnce(SurfaceId, &OutputSpace, &mut [f32]) -> PyResult<()>,
    ) -> PyResult<Bound<'py, PyArray2<f32>>> {
        let vertices = vertices(self.surface).map_err(IntoPy::into_py)?;
        let Some(array) = self.onto else {
            let mut out = vec![0.0; 3 * vertices];
            show(self.surface, &self.target, &mut out)?;
            return from_f32(py, out);
        };
        let shape = array.shape();
        if shape != [vertices, 3] {
            return Err(input_error(format!(
                "onto: expected a float32 array of shape ({vertices}, 3), got ({}, {})",
                shape[0], shape[1]
            )));
        }
        let locked = array.try_readwrite();
        let mut locked: PyReadwriteArray2<'_, f32> = locked
            .map_err(|_| input_error("onto: the array cannot be written to, or is in use"))?;
        let ordered = locked.is_c_contiguous();
        let out = locked.as_slice_mut().ok().filter(|_| ordered);
        let out = out.ok_or_else(|| input_error("onto: the array must be C-contiguous"))?;
        show(self.surface, &self.target.with_addition(), out)?;
        drop(locked);
        Ok(array)
    }
}

/// Quantity of a surface at an instant: `Presenter::positions` or `Presenter::offsets`.
pub(super) type Quantity =
    fn(&Presenter, SurfaceId, Instant<'_>, &OutputSpace, &mut [f32]) -> Result<(), PresentError>;

/// Receiver of an instant.
pub(super) type InstantReceiver<'a> =
    dyn FnMut(Instant<'_>) -> Result<(), PresentError> + Send + 'a;

/// A class that shows the surfaces of bodies at instants.
pub(super) trait SurfaceView {
    /// Name of an instant: a frame, a body of a scene, or nothing for the present.
    type InstantKey: Copy;

    /// Returns the presenter of the surfaces at an instant.
    fn presenter(&self, at: Self::InstantKey) -> PyResult<&Presenter>;

    /// Passes the instant to `show`, without the interpreter's lock.
    fn visit_instant(
        &self,
        py: Python<'_>,
        at: Self::InstantKey,
        show: &mut InstantReceiver<'_>,
    ) -> PyResult<()>;

    /// Returns a quantity of a surface at an instant, float32 [n,3].
    fn quantity_array<'py>(
        &self,
        py: Python<'py>,
        at: Self::InstantKey,
        quantity: Quantity,
        display: DisplayArguments<'py>,
    ) -> PyResult<Bound<'py, PyArray2<f32>>> {
        let presenter = self.presenter(at)?;
        display.fill_array(
            py,
            |id| presenter.vertices(id),
            |id, target, out| {
                self.visit_instant(py, at, &mut |instant| {
                    quantity(presenter, id, instant, target, out)
                })
            },
        )
    }
}

/// A view of a snapshot that nobody else changes.
impl SurfaceView for (&Presenter, &Snapshot) {
    type InstantKey = ();

    fn presenter(&self, (): ()) -> PyResult<&Presenter> {
        Ok(self.0)
    }

    fn visit_instant(
        &self,
        py: Python<'_>,
        (): (),
        show: &mut InstantReceiver<'_>,
    ) -> PyResult<()> {
        run_detached(py, || show(self.1.instant()).map_err(IntoPy::into_py))
    }
}

impl IntoPy for PresentError {
    fn into_py(self) -> PyErr {
        match self {
            Self::Cancelled(stop) => stop.into_py(),
            Self::Kernel(error) => error.into_py(),
            _ => input_error(self.to_string()),
        }
    }
}

/// Returns flesh at displacements `q` under a pose, as a simulation by the default method shows it.
pub(super) fn posed_snapshot(
    body: &Arc<Body>,
    q: &[Vec3],
    pose: &Pose,
    showing: DisplaySettings,
) -> PyResult<Snapshot> {
    let sway = sway(body, pose, q).map_err(IntoPy::into_py)?;
    let rest = body.rest_shape();
    let moved: Vec<Vec3> = q.iter().zip(rest).map(|(q, x)| q + x).collect();
    let snapshot = Snapshot::new(body, &moved, Some(&sway), Some(pose), showing);
    if showing.elastic_joints == 0.0 {
        return Ok(snapshot);
    }
    let volume = joint_volume(body, pose).map_err(IntoPy::into_py)?;
    Ok(snapshot.with_joints(&volume))
}
