// SPDX-License-Identifier: MIT OR Apache-2.0
//! Frames in which the flesh of each cell is linear.
//!
//! The warped method has one frame for each cell, the skeleton's blended rotation there. Blended linearisation has the
//! frames of all bones that a cell follows, and blends their energies: `Σ_i w_i ½ (R_iᵀ p − x)ᵀ S_c (R_iᵀ p − x)`.

use crate::Mat3;
use crate::dynamics::{Method, SkinnedLattice};
use crate::skeleton::SkinWeights;

/// Frames of the cells of one body at one pose.
#[derive(Clone, Copy)]
pub(in crate::dynamics) enum CellFrames<'a> {
    /// One rotation of each cell.
    Single(&'a [Mat3]),
    /// Rotations of the bones, and the weights with which each cell follows them; they add up to one.
    Blended {
        bones: &'a [Mat3],
        weights: &'a SkinWeights,
    },
}

impl<'a> CellFrames<'a> {
    /// Returns the frames of a method at the pose of `skinned`, which has been set with this method.
    pub fn new(method: Method, weights: &'a SkinWeights, skinned: &'a SkinnedLattice) -> Self {
        match method.has_regions() {
            true => Self::Blended {
                bones: &skinned.bone_turns,
                weights,
            },
            false => Self::Single(&skinned.cell_turns),
        }
    }

    /// Returns the rotations on which the frames depend.
    pub fn turns(&self) -> &'a [Mat3] {
        match self {
            Self::Single(turns) => turns,
            Self::Blended { bones, .. } => bones,
        }
    }

    /// Calls `visit` with the weight and the rotation of each frame of a cell.
    #[inline]
    pub fn visit(&self, cell: usize, mut visit: impl FnMut(f64, &Mat3)) {
        match self {
            Self::Single(turns) => visit(1.0, &turns[cell]),
            Self::Blended { bones, weights } => {
                for (bone, weight) in weights.row(cell) {
                    visit(weight, &bones[bone as usize]);
                }
            }
        }
    }
}
