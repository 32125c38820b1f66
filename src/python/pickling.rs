// SPDX-License-Identifier: MIT OR Apache-2.0
//! Pickles of the classes that have files: their bytes, with header and checksum, which are checked as files are.
//!
//! Shots, clips and modes of flesh are pickled beside their body, whose Python object is the same for all of one body. Python's pickle then holds
//! the body once. `thew/_pickling.py` registers the two functions.

use super::body::PyBody;
use super::clip::PyClip;
use super::collider::PyCollider;
use super::errors::{IntoPy, input_error, run_detached};
use super::force_field::PyForceField;
use super::lattice::PyLattice;
use super::modal::PyModes;
use super::shell::PyShell;
use super::shot::PyShot;
use super::spacetime::PySpacetime;
use super::tets::PyTetMesh;
use crate::clip::Clip;
use crate::contact::Collider;
use crate::force_fields::ForceField;
use crate::lattice::Lattice;
use crate::modal::Modes;
use crate::shell::Shell;
use crate::shot::Shot;
use crate::spacetime::Spacetime;
use crate::store::{self, StoreError};
use crate::tets::TetMesh;
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::path::PathBuf;
use std::sync::Arc;

/// Kinds in the header of bytes that are no files of their own.
const LATTICE_KIND: &str = "lattice";
const TETS_KIND: &str = "tets";
const SHELL_KIND: &str = "shell";
const COLLIDER_KIND: &str = "collider";
const FIELD_KIND: &str = "force-field";

/// Name of the class, bytes, and the body beside them.
type Parts<'py> = (&'static str, Bound<'py, PyBytes>, Option<Py<PyBody>>);

/// Returns the name of pickled bytes in sentences.
fn sentence_name(class: &str) -> PathBuf {
    PathBuf::from(format!("a pickled thew.{class}"))
}

/// Returns the parts of a pickled object.
#[pyfunction]
#[pyo3(name = "_pickle_parts")]
pub(super) fn pickle_parts<'py>(thing: &Bound<'py, PyAny>) -> PyResult<Parts<'py>> {
    let py = thing.py();
    let written = |class: &'static str,
                   bytes: &(dyn Fn() -> Result<Vec<u8>, StoreError> + Sync),
                   body: Option<Py<PyBody>>| {
        let bytes = run_detached(py, || bytes().map_err(IntoPy::into_py))?;
        Ok((class, PyBytes::new(py, &bytes), body))
    };
    let name = sentence_name(thing.get_type().name()?.to_str()?);
    if let Ok(body) = thing.cast::<PyBody>() {
        let body = body.get();
        return written("Body", &|| body.to_bytes(&name), None);
    }
    if let Ok(shot) = thing.cast::<PyShot>() {
        let shot = &shot.get().0;
        let body = PyBody::shared(py, &shot.surfaces)?;
        return written("Shot", &|| shot.to_bytes(&name), Some(body));
    }
    if let Ok(clip) = thing.cast::<PyClip>() {
        let clip = clip.get().clip();
        let body = PyBody::shared(py, clip.surfaces())?;
        return written("Clip", &|| clip.to_bytes(&name), Some(body));
    }
    if let Ok(modes) = thing.cast::<PyModes>() {
        let modes = &modes.get().0;
        let body = modes.body().map(|body| PyBody::of_flesh(py, body));
        return written("Modes", &|| modes.to_bytes(&name), body.transpose()?);
    }
    if let Ok(motion) = thing.cast::<PySpacetime>() {
        let motion = &motion.get().motion;
        let bytes = run_detached(py, || {
            let motion = motion.lock().map_err(IntoPy::into_py)?;
            motion.to_bytes(&name).map_err(IntoPy::into_py)
        })?;
        return Ok(("Spacetime", PyBytes::new(py, &bytes), None));
    }
    if let Ok(lattice) = thing.cast::<PyLattice>() {
        let lattice: &Lattice = &lattice.get().0;
        let bytes = || store::to_bytes(&name, LATTICE_KIND, lattice);
        return written("Lattice", &bytes, None);
    }
    if let Ok(mesh) = thing.cast::<PyTetMesh>() {
        let mesh: &TetMesh = &mesh.get().0;
        return written("TetMesh", &|| store::to_bytes(&name, TETS_KIND, mesh), None);
    }
    if let Ok(shell) = thing.cast::<PyShell>() {
        let shell: &Shell = &shell.get().0;
        return written("Shell", &|| store::to_bytes(&name, SHELL_KIND, shell), None);
    }
    if let Ok(collider) = thing.cast::<PyCollider>() {
        let collider: &Collider = &collider.get().0;
        let bytes = || store::to_bytes(&name, COLLIDER_KIND, collider);
        return written("Collider", &bytes, None);
    }
    if let Ok(field) = thing.cast::<PyForceField>() {
        let field: &ForceField = &field.get().0;
        let bytes = || store::to_bytes(&name, FIELD_KIND, field);
        return written("ForceField", &bytes, None);
    }
    Err(PyTypeError::new_err(format!(
        "a {} has no bytes to be pickled",
        thing.get_type().name()?
    )))
}

/// Returns the object of the parts that [`pickle_parts`] returned. Raises StorageError for damaged bytes.
#[pyfunction]
#[pyo3(name = "_restore_pickled")]
pub(super) fn restore_pickled(
    class: &Bound<'_, PyAny>,
    bytes: &Bound<'_, PyBytes>,
    body: Option<&Bound<'_, PyBody>>,
) -> PyResult<Py<PyAny>> {
    let (py, class) = (bytes.py(), super::arrays::text(class)?);
    let (name, bytes) = (sentence_name(class), bytes.as_bytes());
    if let Some(body) = body {
        // What is read next to it returns this one.
        body.get().remember(body)?;
    }
    let required = || {
        let missing = || input_error(format!("{} needs its body beside it", name.display()));
        body.map(|body| body.get()).ok_or_else(missing)
    };
    /// Reads a value without the interpreter.
    fn read<T: Send>(
        py: Python<'_>,
        read: impl FnOnce() -> Result<T, StoreError> + Send,
    ) -> PyResult<T> {
        run_detached(py, || read().map_err(IntoPy::into_py))
    }
    match class {
        "Body" => read(py, || PyBody::from_bytes(&name, bytes))?.into_py_any(py),
        "Shot" => {
            let body = required()?.surfaces().clone();
            PyShot(read(py, || Shot::from_bytes(&name, bytes, body))?).into_py_any(py)
        }
        "Clip" => {
            let body = required()?.surfaces().clone();
            let clip = read(py, || Clip::from_bytes(&name, bytes, body))?;
            PyClip::from_clip(clip)?.into_py_any(py)
        }
        "Modes" => {
            let body = body.map(|body| body.get().0.clone());
            let modes = read(py, || Modes::from_bytes(&name, bytes, body.as_ref()))?;
            PyModes(Arc::new(modes)).into_py_any(py)
        }
        "Spacetime" => {
            let motion = read(py, || Spacetime::from_bytes(&name, bytes))?;
            PySpacetime::new_of(motion).into_py_any(py)
        }
        "Lattice" => {
            let lattice = read(py, || store::from_bytes(&name, LATTICE_KIND, bytes))?;
            PyLattice(Arc::new(lattice)).into_py_any(py)
        }
        "TetMesh" => {
            let mesh = read(py, || store::from_bytes(&name, TETS_KIND, bytes))?;
            PyTetMesh(Arc::new(mesh)).into_py_any(py)
        }
        "Shell" => {
            let shell = read(py, || store::from_bytes(&name, SHELL_KIND, bytes))?;
            PyShell(Arc::new(shell)).into_py_any(py)
        }
        "Collider" => {
            let collider = read(py, || store::from_bytes(&name, COLLIDER_KIND, bytes))?;
            PyCollider(Arc::new(collider)).into_py_any(py)
        }
        "ForceField" => {
            let field: ForceField = read(py, || store::from_bytes(&name, FIELD_KIND, bytes))?;
            field.check().map_err(|e| input_error(e.to_string()))?;
            PyForceField(field).into_py_any(py)
        }
        _ => Err(input_error(format!(
            "there is no pickled thew.{class}: it is of another version of Thew, or damaged"
        ))),
    }
}
