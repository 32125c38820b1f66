// SPDX-License-Identifier: MIT OR Apache-2.0
//! Errors of the modules as Python exceptions. The classes live in `thew._errors`, as each has two bases.

use super::shutdown::WorkingCall;
use super::{process, threads};
use crate::bake::BakeError;
use crate::body::BodyError;
use crate::clip::ClipError;
use crate::contact::ContactError;
use crate::correspond::CorrespondenceError;
use crate::dynamics::SimulationError;
use crate::elasticity::{ElasticModelError, MaterialError};
use crate::exclusive::{Exclusive, LockError};
use crate::kernel::KernelError;
use crate::lattice::LatticeError;
use crate::modal::ModalError;
use crate::mrep::MRepError;
use crate::progress::Cancelled;
use crate::rig::{RigError, RigFitError, SurfaceFitError};
use crate::shell::ShellError;
use crate::shot::ShotError;
use crate::skeleton::SkeletonError;
use crate::solve::NewtonError;
use crate::solve::eigen::EigenError;
use crate::spacetime::SpacetimeError;
use crate::store::StoreError;
use crate::surface::SurfaceError;
use crate::tets::TetError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Returns an exception class by its name.
pub(super) fn exception_class<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyType>> {
    static MODULE: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
    let module = MODULE.get_or_try_init(py, || {
        PyModule::import(py, "thew._errors").map(|m| m.unbind())
    })?;
    Ok(module.bind(py).getattr(name)?.cast_into::<PyType>()?)
}

fn build_error(name: &str, message: String) -> PyErr {
    Python::attach(|py| match exception_class(py, name) {
        Ok(class) => PyErr::from_type(class, message),
        Err(error) => error,
    })
}

/// Makes the error for an argument that cannot be used.
pub(super) fn input_error(message: impl Into<String>) -> PyErr {
    build_error("InputError", message.into())
}

/// Warns the user of a result that may not be the intended one.
pub(super) fn warn(py: Python<'_>, message: &str) -> PyResult<()> {
    let kind = py.get_type::<pyo3::exceptions::PyRuntimeWarning>();
    py.import("warnings")?
        .call_method1("warn", (message, kind))
        .map(drop)
}

/// Warns of a balance in which flesh is inside out.
pub(super) fn warn_inverted(py: Python<'_>, count: usize, what: &str) -> PyResult<()> {
    warn(
        py,
        &format!(
            "{count} {what} are inverted in this balance: the load is more than the flesh bears. Use stiffer flesh or \
             a smaller load; neo-Hookean flesh bears more than St. Venant-Kirchhoff's"
        ),
    )
}

/// Conversion of a module's errors to exceptions.
pub(super) trait IntoPy {
    fn into_py(self) -> PyErr;
}

/// Makes the error of work that was told to stop.
pub(super) fn cancelled_error() -> PyErr {
    build_error("Cancelled", "cancelled".into())
}

impl IntoPy for SurfaceError {
    fn into_py(self) -> PyErr {
        input_error(self.to_string())
    }
}

impl IntoPy for SkeletonError {
    fn into_py(self) -> PyErr {
        match self {
            Self::Cancelled(_) => cancelled_error(),
            _ => input_error(self.to_string()),
        }
    }
}

impl IntoPy for MaterialError {
    fn into_py(self) -> PyErr {
        input_error(self.to_string())
    }
}

impl IntoPy for ElasticModelError {
    fn into_py(self) -> PyErr {
        input_error(self.to_string())
    }
}

impl IntoPy for LockError {
    fn into_py(self) -> PyErr {
        input_error(format!("this cannot be used now: {self}"))
    }
}

impl IntoPy for Cancelled {
    fn into_py(self) -> PyErr {
        cancelled_error()
    }
}

impl IntoPy for LatticeError {
    fn into_py(self) -> PyErr {
        match self {
            Self::Cancelled(_) => cancelled_error(),
            Self::Failed(_) => build_error("MotionError", self.to_string()),
            Self::Conditions(_) => build_error("LatticeError", self.to_string()),
            _ => input_error(self.to_string()),
        }
    }
}

impl IntoPy for BodyError {
    fn into_py(self) -> PyErr {
        match self {
            Self::Cancelled(_) => cancelled_error(),
            Self::Solve(_) => build_error("MotionError", self.to_string()),
            _ => input_error(self.to_string()),
        }
    }
}

impl IntoPy for BakeError {
    fn into_py(self) -> PyErr {
        match self {
            Self::Cancelled(_) => cancelled_error(),
            Self::File { .. } => build_error("StorageError", self.to_string()),
            _ => input_error(self.to_string()),
        }
    }
}

impl IntoPy for ContactError {
    fn into_py(self) -> PyErr {
        match self {
            Self::Cancelled(_) => cancelled_error(),
            _ => input_error(self.to_string()),
        }
    }
}

impl IntoPy for SimulationError {
    fn into_py(self) -> PyErr {
        match self {
            Self::Contact(error) => error.into_py(),
            Self::Body(error) => error.into_py(),
            Self::Modal(error) => error.into_py(),
            Self::Cancelled(_) | Self::Newton(NewtonError::Cancelled(_)) => cancelled_error(),
            _ if self.is_motion_failure() => build_error("MotionError", self.to_string()),
            _ => input_error(self.to_string()),
        }
    }
}

impl IntoPy for RigFitError {
    fn into_py(self) -> PyErr {
        match self {
            Self::Cancelled(_) => cancelled_error(),
            Self::Simulation(error) => error.into_py(),
            Self::Pose(error) => error.into_py(),
            Self::Rig(error) => error.into_py(),
            Self::Minimise(_) => build_error("MotionError", self.to_string()),
            Self::Kind { .. } => build_error("RigError", self.to_string()),
            _ => input_error(self.to_string()),
        }
    }
}

impl IntoPy for SurfaceFitError {
    fn into_py(self) -> PyErr {
        match self {
            Self::Cancelled(_) => cancelled_error(),
            Self::Simulation(error) => error.into_py(),
            Self::Rig(error) => error.into_py(),
            Self::Solve(_) => build_error("MotionError", self.to_string()),
            _ => input_error(self.to_string()),
        }
    }
}

impl IntoPy for ClipError {
    fn into_py(self) -> PyErr {
        match self {
            Self::Cancelled(_) => cancelled_error(),
            Self::Frame { .. } => build_error("MotionError", self.to_string()),
            Self::Simulation(error) => error.into_py(),
            Self::Kernel(error) => error.into_py(),
            Self::Present(error) => error.into_py(),
            _ => input_error(self.to_string()),
        }
    }
}

impl IntoPy for ShotError {
    fn into_py(self) -> PyErr {
        match self {
            Self::Rig(error) => error.into_py(),
            Self::Clip(error) => error.into_py(),
        }
    }
}

impl IntoPy for ShellError {
    fn into_py(self) -> PyErr {
        match self {
            Self::Cancelled(_) => cancelled_error(),
            Self::Overflow | Self::Solve(_) => build_error("MotionError", self.to_string()),
            _ => input_error(self.to_string()),
        }
    }
}

impl IntoPy for SpacetimeError {
    fn into_py(self) -> PyErr {
        match self {
            Self::Cancelled(_) => cancelled_error(),
            Self::Crumpled { .. }
            | Self::Runaway { .. }
            | Self::Overflow { .. }
            | Self::Modes { .. } => build_error("MotionError", self.to_string()),
            _ => input_error(self.to_string()),
        }
    }
}

impl IntoPy for TetError {
    fn into_py(self) -> PyErr {
        match self {
            Self::Cancelled(_) => cancelled_error(),
            Self::Disk { .. } => build_error("StorageError", self.to_string()),
            Self::File { .. } | Self::Content { .. } => {
                build_error("TetFileError", self.to_string())
            }
            _ => build_error("TetError", self.to_string()),
        }
    }
}

impl IntoPy for ModalError {
    fn into_py(self) -> PyErr {
        match self {
            Self::Cancelled(_) | Self::Eigen(EigenError::Cancelled(_)) => cancelled_error(),
            Self::NonFinite | Self::NoBalance => build_error("MotionError", self.to_string()),
            Self::Tets(error) => error.into_py(),
            _ => build_error("ModalError", self.to_string()),
        }
    }
}

impl IntoPy for RigError {
    fn into_py(self) -> PyErr {
        match self {
            Self::Cancelled(_) => cancelled_error(),
            Self::Disk { .. } => build_error("StorageError", self.to_string()),
            Self::File { .. } => build_error("RigFileError", self.to_string()),
            Self::Outside => build_error("OutsideError", self.to_string()),
            _ => build_error("RigError", self.to_string()),
        }
    }
}

impl IntoPy for CorrespondenceError {
    fn into_py(self) -> PyErr {
        match self {
            Self::Cancelled(_) => cancelled_error(),
            Self::Pose(error) => error.into_py(),
            _ => build_error("CorrespondenceError", self.to_string()),
        }
    }
}

impl IntoPy for MRepError {
    fn into_py(self) -> PyErr {
        match self {
            Self::Cancelled(_) => cancelled_error(),
            Self::Disk { .. } => build_error("StorageError", self.to_string()),
            Self::File { .. } => build_error("MRepFileError", self.to_string()),
            _ => build_error("MRepError", self.to_string()),
        }
    }
}

impl IntoPy for KernelError {
    fn into_py(self) -> PyErr {
        match self {
            Self::Cancelled(_) => cancelled_error(),
            _ => input_error(self.to_string()),
        }
    }
}

impl IntoPy for StoreError {
    fn into_py(self) -> PyErr {
        build_error("StorageError", self.to_string())
    }
}

/// Turns a panic into `thew.InternalError`.
pub(super) fn guard_panics<T>(work: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|cause| Err(panic_error(cause.as_ref())))
}

fn panic_error(cause: &(dyn Any + Send)) -> PyErr {
    let text = cause
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| cause.downcast_ref::<&str>().copied())
        .unwrap_or("unknown cause");
    internal_error(text.to_owned())
}

/// Makes the error for a mistake in Thew itself.
pub(super) fn internal_error(cause: String) -> PyErr {
    build_error(
        "InternalError",
        format!("a mistake in Thew itself, please report it: {cause}"),
    )
}

/// Runs long work without the interpreter, guarded.
pub(super) fn run_detached<T: Send>(
    py: Python<'_>,
    work: impl FnOnce() -> PyResult<T> + Send,
) -> PyResult<T> {
    threads::prepare(py)?;
    let _call = WorkingCall::begin()?;
    py.detach(|| process::run_parallel(|| guard_panics(work), || ()))
}

/// Runs long work on the content of a lock, without the interpreter. The lock is released before an error takes the interpreter again; a
/// thread that held it while waiting for the lock would wait for ever.
pub(super) fn run_locked<S: Send, T: Send, E: IntoPy + Send>(
    py: Python<'_>,
    state: &Exclusive<S>,
    work: impl FnOnce(&mut S) -> Result<T, E> + Send,
) -> PyResult<T> {
    run_detached(py, || {
        let done = work(&mut *state.lock().map_err(IntoPy::into_py)?);
        done.map_err(IntoPy::into_py)
    })
}
