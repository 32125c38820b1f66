// SPDX-License-Identifier: MIT OR Apache-2.0
//! Python objects of bodies, held weakly, so that shots and clips of one body return one object.

use super::body::PyBody;
use crate::body::Body;
use crate::present::CarriedSurfaces;
use pyo3::prelude::*;
use pyo3::types::{PyWeakrefMethods, PyWeakrefReference};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Python objects of bodies that may be returned again.
static KNOWN_BODIES: Mutex<Vec<Py<PyWeakrefReference>>> = Mutex::new(Vec::new());

fn lock() -> MutexGuard<'static, Vec<Py<PyWeakrefReference>>> {
    KNOWN_BODIES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the first living Python object of a body that fits, and forgets those that are gone.
fn find(py: Python<'_>, fits: impl Fn(&PyBody) -> bool) -> Option<Py<PyBody>> {
    let living = |weak: &Py<PyWeakrefReference>| weak.bind(py).upgrade_as::<PyBody>().ok()?;
    // Taken out meanwhile: a body that dies here may take the lock again.
    let mut known = std::mem::take(&mut *lock());
    let mut found = None;
    known.retain(|weak| {
        let Some(body) = living(weak) else {
            return false;
        };
        if found.is_none() && fits(body.get()) {
            found = Some(body.unbind());
        }
        true
    });
    lock().append(&mut known);
    found
}

impl PyBody {
    /// Returns the Python object of a body with its carried surfaces: the one that there is, or a new one. Shots and clips of one body have one
    /// object, so that it is pickled once with all of them.
    pub(super) fn shared(py: Python<'_>, surfaces: &CarriedSurfaces) -> PyResult<Py<Self>> {
        let same = |known: &Self| known.surfaces().is_same(surfaces);
        match find(py, same) {
            Some(body) => Ok(body),
            None => {
                let body = Bound::new(py, Self::from_surfaces(surfaces.clone()))?;
                body.get().remember(&body)?;
                Ok(body.unbind())
            }
        }
    }

    /// Returns the Python object of a body with any carried surfaces.
    pub(super) fn of_flesh(py: Python<'_>, body: &Arc<Body>) -> PyResult<Py<Self>> {
        match find(py, |known| Arc::ptr_eq(&known.0, body)) {
            Some(body) => Ok(body),
            None => Self::shared(py, &CarriedSurfaces::from(body.clone())),
        }
    }

    /// Makes the Python object of this body the one that [`shared`](Self::shared) returns while it lives.
    pub(super) fn remember(&self, object: &Bound<'_, Self>) -> PyResult<()> {
        let py = object.py();
        if find(py, |known| known.surfaces().is_same(self.surfaces())).is_none() {
            let weak = PyWeakrefReference::new(object)?.unbind();
            lock().push(weak);
        }
        Ok(())
    }
}
