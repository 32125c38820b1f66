// SPDX-License-Identifier: MIT OR Apache-2.0
//! Skin weights as plain data for files.

use crate::skeleton::SkinWeights;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
pub(super) struct StoredWeights {
    offsets: Vec<u32>,
    bones: Vec<u32>,
    weights: Vec<f64>,
}

impl StoredWeights {
    pub fn new(weights: &SkinWeights) -> Self {
        Self {
            offsets: weights.offsets.clone(),
            bones: weights.bones.clone(),
            weights: weights.weights.clone(),
        }
    }

    /// Returns whether these are weights of `rows` points.
    pub fn fits(&self, rows: usize) -> bool {
        self.offsets.len() == rows + 1
            && self.offsets.windows(2).all(|o| o[0] <= o[1])
            && self
                .offsets
                .last()
                .is_some_and(|&o| o as usize == self.bones.len())
            && self.weights.len() == self.bones.len()
            && self.weights.iter().all(|x| (0.0..=MAX_WEIGHT).contains(x))
    }

    /// Returns whether all its bones are among so many.
    pub fn names_bones(&self, bones: usize) -> bool {
        self.bones.iter().all(|&x| (x as usize) < bones)
    }

    pub fn into_weights(self, bone_count: usize) -> SkinWeights {
        SkinWeights {
            offsets: self.offsets,
            bones: self.bones,
            weights: self.weights,
            bone_count,
        }
    }
}

/// Upper bound of a bone's weight: 1 plus rounding.
const MAX_WEIGHT: f64 = 1.0 + 1e-9;
