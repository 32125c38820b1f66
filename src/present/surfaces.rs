// SPDX-License-Identifier: MIT OR Apache-2.0
//! The shown surfaces of one body.

use super::{CarriedSurface, PresentError};
use crate::body::Body;
use crate::surface::Surface;
use std::sync::{Arc, PoisonError, RwLock};

/// Identifies a surface of a body: its own, or one that it carries.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SurfaceId(usize);

impl SurfaceId {
    /// The body's own surface.
    pub const OWN: Self = Self(0);

    /// Creates the id of a number: 0 is the body's own surface, others follow in the order in which they were added.
    pub const fn new(number: usize) -> Self {
        Self(number)
    }

    /// Returns the number.
    pub const fn number(self) -> usize {
        self.0
    }
}

impl std::fmt::Display for SurfaceId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// A body and its carried surfaces, its own first. Clones share them: a surface added to one is added to all. Surfaces are
/// added and never change, so an id stays valid.
#[derive(Debug, Clone)]
pub struct CarriedSurfaces {
    body: Arc<Body>,
    all: Arc<RwLock<Vec<Arc<CarriedSurface>>>>,
}

impl CarriedSurfaces {
    /// Creates the list with the body's own surface only.
    pub fn new(body: Arc<Body>) -> Self {
        let own = CarriedSurface::for_body(&body);
        Self::from_list(body, vec![Arc::new(own)])
    }

    /// Creates the list of surfaces embedded in the lattice of a body.
    pub(crate) fn from_list(body: Arc<Body>, all: Vec<Arc<CarriedSurface>>) -> Self {
        Self {
            body,
            all: Arc::new(RwLock::new(all)),
        }
    }

    /// Returns a copy of the present surfaces for a body of the same lattice and skin, with softer or firmer flesh.
    #[must_use]
    pub fn with_body(&self, body: Arc<Body>) -> Self {
        Self::from_list(body, self.list())
    }

    /// Returns whether this is the same list of surfaces, so that one added here is added there.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.all, &other.all)
    }

    /// Returns the body.
    pub fn body(&self) -> &Arc<Body> {
        &self.body
    }

    /// Adds another surface (clothes, eyes) and returns its id.
    pub fn carry(&self, surface: &Surface) -> SurfaceId {
        let carried = Arc::new(CarriedSurface::new(&self.body, surface));
        let mut all = self.all.write().unwrap_or_else(PoisonError::into_inner);
        all.push(carried);
        SurfaceId(all.len() - 1)
    }

    /// Returns a surface by its id.
    ///
    /// # Errors
    /// [`PresentError::Surface`]: the id is unknown.
    pub fn get(&self, id: SurfaceId) -> Result<Arc<CarriedSurface>, PresentError> {
        let all = self.all.read().unwrap_or_else(PoisonError::into_inner);
        all.get(id.0).cloned().ok_or(PresentError::Surface { id })
    }

    /// Returns all surfaces, by id.
    pub(crate) fn list(&self) -> Vec<Arc<CarriedSurface>> {
        let all = self.all.read().unwrap_or_else(PoisonError::into_inner);
        all.clone()
    }
}

impl From<Arc<Body>> for CarriedSurfaces {
    fn from(body: Arc<Body>) -> Self {
        Self::new(body)
    }
}
