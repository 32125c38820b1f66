// SPDX-License-Identifier: MIT OR Apache-2.0
//! Cache of the lifts of a body's own skin at bent joints. The surfaces of a body show the same instant one after the other, and
//! velocities also need the instant before.

use crate::body::JointShape;
use crate::kernel::LocalMaps;
use std::sync::{Arc, Mutex, PoisonError};

/// Number of instants kept.
const CACHED_INSTANTS: usize = 3;

type VertexLifts = Arc<Vec<[f32; 3]>>;

/// The last results, newest first.
#[derive(Default)]
pub(super) struct LiftCache(Mutex<Vec<CachedLifts>>);

struct CachedLifts {
    maps: LocalMaps,
    /// Displacements that restore the volume of bent joints, `[nodes]`, metres.
    u: Vec<[f32; 3]>,
    lifts: VertexLifts,
}

impl std::fmt::Debug for LiftCache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("KnownLifts")
    }
}

impl LiftCache {
    /// Returns [`JointShape::lifts`] of a body's skin, from the cache if possible.
    pub fn lifts_at(&self, joints: &JointShape, maps: &LocalMaps, u: &[[f32; 3]]) -> VertexLifts {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let same = |known: &&CachedLifts| known.maps == *maps && known.u == u;
        if let Some(known) = known.iter().find(same) {
            return known.lifts.clone();
        }
        // Other threads may read in the meantime.
        drop(known);
        let lifts = Arc::new(joints.lifts(maps, u));
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.truncate(CACHED_INSTANTS - 1);
        let (maps, u) = (maps.clone(), u.to_vec());
        known.insert(
            0,
            CachedLifts {
                maps,
                u,
                lifts: lifts.clone(),
            },
        );
        lifts
    }
}
