// SPDX-License-Identifier: MIT OR Apache-2.0
//! Python objects of bodies, held weakly, so that shots and clips of one body return one object.

use super::body::PyBody;
use pyo3::prelude::*;
use pyo3::types::{PyWeakrefMethods, PyWeakrefReference};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Python objects of bodies that may be returned again.
static KNOWN_BODIES: Mutex<Vec<Py<PyWeakrefReference>>> = Mutex::new(Vec::new());

fn lock() -> MutexGuard<'static, Vec<Py<PyWeakrefReference>>> {
    KNOWN_BODIES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the first living Python object of a body that fits, and forgets those that are gone.
pub(super) fn find(py: Python<'_>, fits: impl Fn(&PyBody) -> bool) -> Option<Py<PyBody>> {
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

/// Adds the object of a body.
pub(super) fn remember(body: Py<PyWeakrefReference>) {
    lock().push(body);
}
