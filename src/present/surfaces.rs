// SPDX-License-Identifier: MIT OR Apache-2.0
//! The surfaces that are shown of one body.

use super::{CarriedSurface, PresentError};
use crate::body::Body;
use crate::surface::Surface;
use std::sync::{Arc, PoisonError, RwLock};

/// Which surface of a body: its own, or one that it was made to carry.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SurfaceId(usize);

impl SurfaceId {
    /// The body's own.
    pub const OWN: Self = Self(0);

    /// By its number: 0 is the body's own, others in the order in which they were carried.
    pub const fn new(number: usize) -> Self {
        Self(number)
    }

    /// Its number.
    pub const fn number(self) -> usize {
        self.0
    }
}

impl std::fmt::Display for SurfaceId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// A body and the surfaces that it carries, its own first. Clones share them: a surface that one of them takes up is known
/// to all. Surfaces are added and never change, so an id means the same for good.
#[derive(Debug, Clone)]
pub struct CarriedSurfaces {
    body: Arc<Body>,
    all: Arc<RwLock<Vec<Arc<CarriedSurface>>>>,
}

impl CarriedSurfaces {
    /// The body with its own surface alone.
    pub fn new(body: Arc<Body>) -> Self {
        let own = CarriedSurface::own(&body);
        Self::of(body, vec![Arc::new(own)])
    }

    /// A body with surfaces embedded in its lattice.
    pub(crate) fn of(body: Arc<Body>, all: Vec<Arc<CarriedSurface>>) -> Self {
        Self {
            body,
            all: Arc::new(RwLock::new(all)),
        }
    }

    /// The surfaces that there are now, carried by a body of the same lattice and skin: softer or firmer flesh.
    #[must_use]
    pub fn carried_by(&self, body: Arc<Body>) -> Self {
        Self::of(body, self.list())
    }

    /// The body.
    pub fn body(&self) -> &Arc<Body> {
        &self.body
    }

    /// Makes the body carry another surface (clothes, eyes).
    pub fn carry(&self, surface: &Surface) -> SurfaceId {
        let carried = Arc::new(CarriedSurface::new(&self.body, surface));
        let mut all = self.all.write().unwrap_or_else(PoisonError::into_inner);
        all.push(carried);
        SurfaceId(all.len() - 1)
    }

    /// A surface by its id.
    ///
    /// # Errors
    /// [`PresentError::Surface`]: there is none.
    pub fn get(&self, id: SurfaceId) -> Result<Arc<CarriedSurface>, PresentError> {
        let all = self.all.read().unwrap_or_else(PoisonError::into_inner);
        all.get(id.0).cloned().ok_or(PresentError::Surface { id })
    }

    /// All of them, by id.
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
