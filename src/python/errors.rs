// SPDX-License-Identifier: MIT OR Apache-2.0
//! Errors of the modules as Python exceptions. The classes live in `thew._errors`, as each has two bases.

use super::process;
use crate::body::BodyError;
use crate::clip::ClipError;
use crate::contact::ContactError;
use crate::dynamics::SimulationError;
use crate::elasticity::{MaterialError, ModelError};
use crate::exclusive::{Exclusive, InUse};
use crate::kernel::KernelError;
use crate::lattice::LatticeError;
use crate::modal::ModalError;
use crate::mrep::MRepError;
use crate::progress::Cancelled;
use crate::rig::{FitError, RigError};
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
fn class<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyType>> {
    static MODULE: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
    let module = MODULE.get_or_try_init(py, || {
        PyModule::import(py, "thew._errors").map(|m| m.unbind())
    })?;
    Ok(module.bind(py).getattr(name)?.cast_into::<PyType>()?)
}

fn raise(name: &str, message: String) -> PyErr {
    Python::attach(|py| match class(py, name) {
        Ok(class) => PyErr::from_type(class, message),
        Err(error) => error,
    })
}

/// Makes the error for an argument that cannot be used.
pub(super) fn input(message: impl Into<String>) -> PyErr {
    raise("InputError", message.into())
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

fn cancelled() -> PyErr {
    raise("Cancelled", "cancelled".into())
}

impl IntoPy for SurfaceError {
    fn into_py(self) -> PyErr {
        input(self.to_string())
    }
}

impl IntoPy for SkeletonError {
    fn into_py(self) -> PyErr {
        input(self.to_string())
    }
}

impl IntoPy for MaterialError {
    fn into_py(self) -> PyErr {
        input(self.to_string())
    }
}

impl IntoPy for ModelError {
    fn into_py(self) -> PyErr {
        input(self.to_string())
    }
}

impl IntoPy for InUse {
    fn into_py(self) -> PyErr {
        input(format!("this cannot be used now: {self}"))
    }
}

impl IntoPy for Cancelled {
    fn into_py(self) -> PyErr {
        cancelled()
    }
}

impl IntoPy for LatticeError {
    fn into_py(self) -> PyErr {
        match self {
            Self::Cancelled(_) => cancelled(),
            Self::Failed(_) => raise("MotionError", self.to_string()),
            _ => input(self.to_string()),
        }
    }
}

impl IntoPy for BodyError {
    fn into_py(self) -> PyErr {
        match self {
            Self::Cancelled(_) => cancelled(),
            Self::Solve(_) => raise("MotionError", self.to_string()),
            _ => input(self.to_string()),
        }
    }
}

impl IntoPy for ContactError {
    fn into_py(self) -> PyErr {
        match self {
            Self::Cancelled(_) => cancelled(),
            _ => input(self.to_string()),
        }
    }
}

impl IntoPy for SimulationError {
    fn into_py(self) -> PyErr {
        match self {
            Self::Contact(error) => error.into_py(),
            Self::Body(error) => error.into_py(),
            Self::Modal(error) => error.into_py(),
            Self::Cancelled(_) | Self::Newton(NewtonError::Cancelled(_)) => cancelled(),
            _ if self.is_of_motion() => raise("MotionError", self.to_string()),
            _ => input(self.to_string()),
        }
    }
}

impl IntoPy for FitError {
    fn into_py(self) -> PyErr {
        match self {
            Self::Cancelled(_) => cancelled(),
            Self::Simulation(error) => error.into_py(),
            Self::Rig(error) => error.into_py(),
            Self::Minimise(_) => raise("MotionError", self.to_string()),
            _ => input(self.to_string()),
        }
    }
}

impl IntoPy for ClipError {
    fn into_py(self) -> PyErr {
        match self {
            Self::Cancelled(_) => cancelled(),
            Self::Frame { .. } => raise("MotionError", self.to_string()),
            Self::Simulation(error) => error.into_py(),
            Self::Kernel(error) => error.into_py(),
            Self::Present(error) => error.into_py(),
            _ => input(self.to_string()),
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
            Self::Cancelled(_) => cancelled(),
            Self::Overflow | Self::Solve(_) => raise("MotionError", self.to_string()),
            _ => input(self.to_string()),
        }
    }
}

impl IntoPy for SpacetimeError {
    fn into_py(self) -> PyErr {
        match self {
            Self::Cancelled(_) => cancelled(),
            Self::Crumpled { .. }
            | Self::Runaway { .. }
            | Self::Overflow { .. }
            | Self::Modes { .. } => raise("MotionError", self.to_string()),
            _ => input(self.to_string()),
        }
    }
}

impl IntoPy for TetError {
    fn into_py(self) -> PyErr {
        match self {
            Self::Cancelled(_) => cancelled(),
            Self::Disk { .. } => raise("StorageError", self.to_string()),
            Self::File { .. } | Self::Content { .. } => raise("TetFileError", self.to_string()),
            _ => raise("TetError", self.to_string()),
        }
    }
}

impl IntoPy for ModalError {
    fn into_py(self) -> PyErr {
        match self {
            Self::Cancelled(_) | Self::Eigen(EigenError::Cancelled(_)) => cancelled(),
            Self::NonFinite | Self::NoBalance => raise("MotionError", self.to_string()),
            Self::Tets(error) => error.into_py(),
            _ => raise("ModalError", self.to_string()),
        }
    }
}

impl IntoPy for RigError {
    fn into_py(self) -> PyErr {
        match self {
            Self::Cancelled(_) => cancelled(),
            Self::Disk { .. } => raise("StorageError", self.to_string()),
            Self::File { .. } => raise("RigFileError", self.to_string()),
            Self::Outside => raise("OutsideError", self.to_string()),
            _ => raise("RigError", self.to_string()),
        }
    }
}

impl IntoPy for MRepError {
    fn into_py(self) -> PyErr {
        match self {
            Self::Cancelled(_) => cancelled(),
            Self::Disk { .. } => raise("StorageError", self.to_string()),
            Self::File { .. } => raise("MRepFileError", self.to_string()),
            _ => raise("MRepError", self.to_string()),
        }
    }
}

impl IntoPy for KernelError {
    fn into_py(self) -> PyErr {
        match self {
            Self::Cancelled(_) => cancelled(),
            _ => input(self.to_string()),
        }
    }
}

impl IntoPy for StoreError {
    fn into_py(self) -> PyErr {
        raise("StorageError", self.to_string())
    }
}

/// Turns a panic into `thew.InternalError`.
pub(super) fn guard<T>(work: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|cause| Err(panicked(cause.as_ref())))
}

fn panicked(cause: &(dyn Any + Send)) -> PyErr {
    let text = cause
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| cause.downcast_ref::<&str>().copied())
        .unwrap_or("unknown cause");
    internal(text.to_owned())
}

/// Makes the error for a mistake in Thew itself.
pub(super) fn internal(cause: String) -> PyErr {
    raise(
        "InternalError",
        format!("a mistake in Thew itself, please report it: {cause}"),
    )
}

/// Runs long work without the interpreter, guarded.
pub(super) fn detached<T: Send>(
    py: Python<'_>,
    work: impl FnOnce() -> PyResult<T> + Send,
) -> PyResult<T> {
    py.detach(|| process::run(|| guard(work), || ()))
}

/// Runs long work on the content of a lock, without the interpreter. The lock is released before an error takes the interpreter again; a
/// thread that held it while waiting for the lock would wait for ever.
pub(super) fn locked<S: Send, T: Send, E: IntoPy + Send>(
    py: Python<'_>,
    state: &Exclusive<S>,
    work: impl FnOnce(&mut S) -> Result<T, E> + Send,
) -> PyResult<T> {
    detached(py, || {
        let done = work(&mut *state.lock().map_err(IntoPy::into_py)?);
        done.map_err(IntoPy::into_py)
    })
}
