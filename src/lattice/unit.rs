// SPDX-License-Identifier: MIT OR Apache-2.0
//! Conversion of characters to their own unit ([`OwnUnit`]) and of lattices back, so that scale has no
//! influence.

use super::{BoneChains, Lattice, LatticeError, MirrorPlane};
use crate::Vec3;
use crate::geometry::aabb;
use crate::geometry::tetrahedron::closest_on_segment;
use crate::skeleton::Skeleton;
use crate::surface::{Heading, OwnUnit, QUANTUM, Surface};
use std::sync::Arc;

/// Distance within which a vertex counts as on a bone and is moved exactly there, in the own unit.
const BONE_SNAP_DISTANCE: f64 = 4.0 * QUANTUM;

/// A character in its own unit.
pub(crate) struct UnitCharacter {
    pub surface: Arc<Surface>,
    pub skeleton: Skeleton,
}

impl OwnUnit {
    /// Returns the unit of a character, along its own axes.
    pub(crate) fn for_character(surface: &Surface, skeleton: &Skeleton) -> Self {
        Self::with_heading(surface, heading(surface, skeleton))
    }

    /// Converts a character to its own unit.
    pub(crate) fn convert(
        self,
        surface: &Surface,
        skeleton: &Skeleton,
    ) -> Result<UnitCharacter, LatticeError> {
        let all = |points: &[Vec3]| points.iter().map(|p| self.to_own(p)).collect();
        let failed = |e: String| LatticeError::Failed(e);
        let own = match self.heading {
            Heading::ALIGNED => surface.in_own_unit().cloned(),
            _ => self.convert_surface(surface).ok().map(Arc::new),
        };
        Ok(UnitCharacter {
            surface: own.ok_or_else(|| {
                failed("the mesh has no triangle that is left in its own unit".into())
            })?,
            skeleton: Skeleton::new(
                skeleton.names().to_vec(),
                skeleton.parents().to_vec(),
                all(skeleton.heads()),
                all(skeleton.tails()),
            )
            .map_err(|e| failed(e.to_string()))?,
        })
    }

    /// Converts a lattice built around `own` back to the character's input units. Vertices on bones lie exactly
    /// on them.
    pub(crate) fn restore_lattice(
        self,
        lattice: Lattice,
        own: &UnitCharacter,
        surface: &Surface,
        skeleton: &Skeleton,
    ) -> Result<Lattice, LatticeError> {
        let mut vertices: Vec<Vec3> = lattice.vertices.iter().map(|x| self.to_given(x)).collect();
        self.snap_to_bones(&mut vertices, &lattice.bones, skeleton);
        // Copies of a cell are recognised by their corners' positions.
        let bits = |v: u32| lattice.vertices[v as usize].map(f64::to_bits);
        let mut same: Vec<u32> = (0..vertices.len() as u32).collect();
        same.sort_by_key(|&v| (<[u64; 3]>::from(bits(v)), v));
        for pair in same.windows(2).filter(|p| bits(p[0]) == bits(p[1])) {
            vertices[pair[1] as usize] = vertices[pair[0] as usize];
        }
        let mut out = Lattice::with_bones(vertices, lattice.cells, lattice.bones)?;
        out.notes = lattice.notes;
        out.flesh = lattice
            .flesh
            .map(|flesh| flesh.into_input_unit(self, &own.surface, surface));
        out.parts = lattice.parts.map(|parts| parts.into_input_unit(self));
        out.mirror_plane = lattice.mirror_plane.map(|plane| {
            let normal = self.heading.to_given(&plane.normal);
            let offset = plane.offset * self.scale + normal.dot(&self.origin);
            MirrorPlane { normal, offset }
        });
        Ok(out)
    }

    fn snap_to_bones(self, vertices: &mut [Vec3], bones: &BoneChains, skeleton: &Skeleton) {
        let mut done = vec![false; vertices.len()];
        let near = BONE_SNAP_DISTANCE * self.scale;
        for (&bone, chain) in bones.used_bones.iter().zip(&bones.chains) {
            let (head, tail) = (
                skeleton.heads()[bone as usize],
                skeleton.tails()[bone as usize],
            );
            for &v in chain {
                if done[v as usize] {
                    continue;
                }
                let x = &mut vertices[v as usize];
                let joint = [head, tail].into_iter().find(|j| (*x - j).norm() <= near);
                let exact = joint.unwrap_or_else(|| closest_on_segment(head, tail, *x).0);
                if (*x - exact).norm() <= near {
                    *x = exact;
                    done[v as usize] = joint.is_some();
                }
            }
        }
    }
}

/// Returns the heading of a character: that of its bones, which sculpting does not change, or else that of its
/// skin.
pub(crate) fn heading(surface: &Surface, skeleton: &Skeleton) -> Heading {
    // Relative to the middle and the bones' own size: no power of a coordinate overflows, and props do not
    // count.
    let ends = skeleton.heads().iter().chain(skeleton.tails());
    let (lo, hi) = aabb::bounds(ends);
    let (middle, size) = (lo + (hi - lo) * 0.5, (hi - lo).norm());
    if !(size > 0.0 && size.is_finite()) {
        return surface.heading();
    }
    let near = |p: &Vec3| (p - middle) / size;
    let bones = skeleton.heads().iter().zip(skeleton.tails());
    let bones: Vec<_> = bones
        .flat_map(|(a, b)| bone_quadrature(near(a), near(b)))
        .collect();
    Heading::from_points(&bones).unwrap_or_else(|| surface.heading())
}

/// Returns quadrature points of a bone, each with its share of the length: Simpson's rule, exact for third
/// moments.
fn bone_quadrature(head: Vec3, tail: Vec3) -> [(f64, Vec3); 3] {
    let sixth = (tail - head).norm() / 6.0;
    [
        (sixth, head),
        (4.0 * sixth, (head + tail) * 0.5),
        (sixth, tail),
    ]
}
