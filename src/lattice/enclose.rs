// SPDX-License-Identifier: MIT OR Apache-2.0
//! Automatic construction of a lattice around a surface and a skeleton, with one setting.
//!
//! The tetrahedralisation is Delaunay and conforms to the bones: protected skeleton points and a relaxed, graded
//! body-centred cubic fill. Tetrahedra that meet Ω become cells. Hill climbing and Steiner points improve them. Virtual
//! nodes separate parts of the body that share a cell [molino2004].

use super::assemble::assemble;
use super::bones::{self, BoneSegment};
use super::builder::Builder;
use super::symmetry::{self, Symmetry};
use super::unit::UnitCharacter;
use super::{Lattice, LatticeError};
use crate::Vec3;
use crate::progress::{Progress, StageProgress, report_progress};
use crate::skeleton::{Skeleton, SkinWeights};
use crate::surface::{OwnUnit, Surface};
use std::sync::atomic::{AtomicU64, Ordering};

/// Settings of [`Lattice::enclose`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EncloseSettings {
    /// Cells along the diagonal of the body's box; 2 to 64, useful 10 to 14.
    pub cells_across: f64,
    /// Whether the lattice of a mirror-symmetric character is mirrored.
    pub symmetric: Symmetry,
}

impl Default for EncloseSettings {
    fn default() -> Self {
        Self {
            cells_across: 12.0,
            symmetric: Symmetry::Auto,
        }
    }
}

impl Lattice {
    /// Builds a lattice around a surface and a skeleton.
    ///
    /// `skin` holds the weights of the surface's input vertices. They choose the bones, their virtual tips and, where
    /// the body is cut into copies, the parts. Without them the nearest bones serve.
    ///
    /// Deterministic: the same input gives the same bits; at another scale, or turned about z, the same lattice up to
    /// rounding. It is built along the character's own axes: the principal axes of its bones, projected along z (of its
    /// skin if the bones lie above one another). The −y axis points towards the farther extent. Around a character whose
    /// bones and skin are mirror images to a thousandth of its size, the lattice is its own mirror image
    /// ([`Lattice::mirror_plane`]), unless [`EncloseSettings::symmetric`] is off.
    ///
    /// # Errors
    /// [`LatticeError::CellsAcross`]; [`LatticeError::Weights`] if the weights do not fit; [`LatticeError::Cancelled`];
    /// [`LatticeError::Failed`].
    pub fn enclose(
        surface: &Surface,
        skeleton: &Skeleton,
        skin: Option<&SkinWeights>,
        settings: EncloseSettings,
        progress: &dyn Progress,
    ) -> Result<Self, LatticeError> {
        check_settings(surface, skeleton, skin, settings)?;
        report_progress(progress, 0.0, "finding the bones")?;
        let unit = OwnUnit::for_character(surface, skeleton);
        let own = unit.convert(surface, skeleton)?;
        let first = StageProgress {
            whole: progress,
            from: 0.0,
            to: 0.02,
        };
        own.surface.prepare(&first)?;
        let lattice = enclose_in_own_unit(&own, skin, settings, progress)?;
        unit.restore_lattice(lattice, &own, surface, skeleton)
    }
}

/// Builds a lattice around a character in its own unit.
fn enclose_in_own_unit(
    own: &UnitCharacter,
    skin: Option<&SkinWeights>,
    settings: EncloseSettings,
    progress: &dyn Progress,
) -> Result<Lattice, LatticeError> {
    let h = own.surface.size() / settings.cells_across;
    let mut notes = Vec::new();
    let segments = bones::select(&own.surface, &own.skeleton, skin, h, &mut notes);
    let mut rest = StageProgress {
        whole: progress,
        from: 0.0,
        to: 1.0,
    };
    if settings.symmetric == Symmetry::Auto {
        let first = SeenProgress::new(progress);
        if let Some(lattice) = symmetry::enclose_mirrored(own, &segments, h, &notes, &first)? {
            return Ok(lattice);
        }
        rest.from = first.reached();
    }
    enclose_segments(&own.surface, &segments, &[], h, notes, &rest)
}

/// Progress of an attempt, which remembers how far it came.
struct SeenProgress<'a> {
    whole: &'a dyn Progress,
    /// Bits of the largest fraction; those of positive numbers have the order of the numbers.
    reached: AtomicU64,
}

impl<'a> SeenProgress<'a> {
    fn new(whole: &'a dyn Progress) -> Self {
        Self {
            whole,
            reached: AtomicU64::new(0),
        }
    }

    fn reached(&self) -> f64 {
        f64::from_bits(self.reached.load(Ordering::Relaxed))
    }
}

impl Progress for SeenProgress<'_> {
    fn report(&self, fraction: f64, stage: &str) -> bool {
        let bits = fraction.max(0.0).to_bits();
        self.reached.fetch_max(bits, Ordering::Relaxed);
        self.whole.report(fraction, stage)
    }
}

/// Builds a lattice around a surface and bone segments, both in their own unit, with `faces` as faces of cells.
pub(super) fn enclose_segments(
    surface: &Surface,
    segments: &[BoneSegment],
    faces: &[[Vec3; 3]],
    h: f64,
    notes: Vec<String>,
    progress: &dyn Progress,
) -> Result<Lattice, LatticeError> {
    let mut builder = Builder::new(surface, segments, faces, h, progress)?;
    builder.fill(progress)?;
    let mesh = builder.tetrahedralise(progress)?;
    assemble(&mesh, surface, segments, h, notes, progress)
}

/// Checks the settings, and that the skin weights fit the surface and the skeleton.
pub(crate) fn check_settings(
    surface: &Surface,
    skeleton: &Skeleton,
    skin: Option<&SkinWeights>,
    settings: EncloseSettings,
) -> Result<(), LatticeError> {
    if !(2.0..=64.0).contains(&settings.cells_across) {
        return Err(LatticeError::CellsAcross(settings.cells_across));
    }
    skin.map_or(Ok(()), |skin| check_weights(surface, skeleton, skin))
}

fn check_weights(
    surface: &Surface,
    skeleton: &Skeleton,
    skin: &SkinWeights,
) -> Result<(), LatticeError> {
    let (rows, n) = (
        skin.offsets.len().saturating_sub(1),
        surface.vertices().len(),
    );
    if rows != n {
        return Err(LatticeError::Weights(format!(
            "there are skin weights for {rows} vertices, but the mesh has {n}"
        )));
    }
    if skin.bone_count != skeleton.len() {
        return Err(LatticeError::Weights(format!(
            "there are skin weights for {} bones, but the skeleton has {}",
            skin.bone_count,
            skeleton.len()
        )));
    }
    if skin.is_zero() {
        return Err(LatticeError::Weights(
            "all skin weights are zero: no vertex follows any bone; give those of the mesh, or leave them out to use \
             the nearest bones"
                .into(),
        ));
    }
    Ok(())
}
