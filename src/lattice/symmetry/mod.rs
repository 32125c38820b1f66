// SPDX-License-Identifier: MIT OR Apache-2.0
//! Lattices of mirror-symmetric characters: half a lattice on one side of the plane, and its mirror image.
//!
//! The plane is found from the bones and verified by the skin ([`find`]). In a frame with the plane at x = 0, points are
//! placed at x ≥ 0 only, and those on the plane stay on it. The plane is a side of the points' convex hull, so it is
//! tiled by faces of their Delaunay tetrahedra, and no cell crosses it. The mirror image of these cells
//! then joins them face to face ([`reflect`]).
//!
//! A character counts as symmetric within [`SYMMETRY_TOLERANCE`]. Bones are averaged over both sides. Cells are kept if
//! they or their images meet the skin, so that both halves of the skin are contained.

mod find;
mod half;
mod plane;
mod reflect;

pub(super) use plane::MirrorFrame;
pub use plane::MirrorPlane;

use super::bones::BoneSegment;
use super::builder::Builder;
use super::unit::UnitCharacter;
use super::{Lattice, LatticeError, assemble};
use crate::progress::Progress;
use crate::surface::Surface;
use half::HalfSkeleton;
use reflect::HalfLattice;
use std::borrow::Cow;

/// Largest distance between a character and its mirror image, as a share of its size. A tenth of it refuses characters
/// that artists call symmetric, whose files hold rounded numbers; ten times as much is a visible difference.
pub(super) const SYMMETRY_TOLERANCE: f64 = 1e-3;

/// Smallest dihedral angle of the half's cells, radians, below which the lattice is built as a whole: that of slivers
/// between the plane and bones beside it. A half of it leaves cells whose stiffness is a hundred times that of others.
const MIN_ANGLE: f64 = 1.0 * std::f64::consts::PI / 180.0;

/// Decision whether a mirror-symmetric character gets a mirror-symmetric lattice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Symmetry {
    /// The lattice is mirrored if rest skeleton and skin are mirror images to a thousandth of the size.
    #[default]
    Auto,
    /// The lattice is built as a whole, symmetric or not.
    Off,
}

/// Builds a mirrored lattice in the own unit; `None` if the character has no mirror plane, or if none with all four
/// conditions results.
///
/// # Errors
/// [`LatticeError::Cancelled`].
pub(super) fn enclose_mirrored(
    own: &UnitCharacter,
    segments: &[BoneSegment],
    h: f64,
    notes: &[String],
    progress: &dyn Progress,
) -> Result<Option<Lattice>, LatticeError> {
    let Some((plane, partners)) = find::mirror_plane(&own.surface, segments, h) else {
        return Ok(None);
    };
    let frame = MirrorFrame::new(plane);
    let Some(half) = HalfSkeleton::new(&frame, segments, &partners, h) else {
        return Ok(None);
    };
    match build_both_halves(own, &frame, &half, h, notes, progress) {
        Err(LatticeError::Cancelled(c)) => Err(c.into()),
        Err(_) => Ok(None),
        Ok(lattice) => {
            let holds = lattice.check(&own.surface, &own.skeleton).is_empty();
            Ok(holds.then_some(lattice))
        }
    }
}

/// Builds the half at x ≥ 0 of a frame, and the whole in the own unit.
fn build_both_halves(
    own: &UnitCharacter,
    frame: &MirrorFrame,
    half: &HalfSkeleton,
    h: f64,
    notes: &[String],
    progress: &dyn Progress,
) -> Result<Lattice, LatticeError> {
    let surface: Cow<'_, Surface> = match frame.is_own() {
        true => Cow::Borrowed(own.surface.as_ref()),
        false => {
            let moved = own.surface.map_in_own_unit(|p| frame.to_frame(p));
            Cow::Owned(moved.map_err(|e| LatticeError::Failed(e.to_string()))?)
        }
    };
    let mut builder = Builder::new_half(&surface, &half.segments, h, progress)?;
    builder.fill(progress)?;
    let mesh = builder.tetrahedralise(progress)?;
    if mesh.worst < MIN_ANGLE {
        return Err(LatticeError::Failed(
            "the mirrored cells are too flat".into(),
        ));
    }
    let (split, count) = assemble::split_cells(&mesh, &surface, &half.segments, h, true, progress)?;
    let chains = assemble::chains(&half.segments, &mesh.skeleton, split.vertices.len());
    let lattice = HalfLattice {
        copies: split.cells.len() - count,
        split,
        chains,
    };
    lattice.reflect(half, frame, &surface, own, notes.to_vec())
}

#[cfg(test)]
mod tests;
