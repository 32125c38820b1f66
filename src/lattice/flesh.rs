// SPDX-License-Identifier: MIT OR Apache-2.0
//! Ownership of flesh among overlapping copies of a cell.
//!
//! After virtual-node splitting several cells overlap in space. Each owns the flesh near its own samples: surface
//! points with the outward direction, and points inside. A point belongs to the copy of its nearest sample. Samples of
//! skin that the point lies in front of do not count.

use super::samples::Samples;
use super::symmetry::MirrorFrame;
use crate::Vec3;
use crate::surface::{OwnUnit, Surface};

/// Marks a missing cell or group.
pub(crate) const NO_CELL: u32 = u32::MAX;

/// Ownership of flesh for cells that have copies.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub(crate) struct FleshOwnership {
    /// For each cell, its group of copies; [`NO_CELL`] for a cell without copies.
    group: Vec<u32>,
    /// Ranges of samples: `starts[g] .. starts[g + 1]` for group `g`.
    starts: Vec<u32>,
    samples: Samples,
    /// The cell that owns each sample.
    owners: Vec<u32>,
    /// For each welded surface vertex, the cell that holds it; [`NO_CELL`] outside the lattice.
    vertex_owner: Vec<u32>,
    /// Digest of the surface that `vertex_owner` refers to.
    digest: u64,
}

/// Point of flesh, with the cell that owns it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FleshSample {
    pub group: u32,
    pub position: Vec3,
    /// Outward unit normal on skin, zero inside.
    pub normal: Vec3,
    pub owner: u32,
}

impl FleshOwnership {
    /// Collects samples, in the order of their groups; `group` holds each cell's group ([`NO_CELL`] without copies).
    /// `halved`: the cells fill one side of the plane x = 0.
    pub fn new(
        group: Vec<u32>,
        samples: &[FleshSample],
        vertex_owner: Vec<u32>,
        surface: &Surface,
        halved: bool,
    ) -> Self {
        let groups = group
            .iter()
            .filter(|&&g| g != NO_CELL)
            .max()
            .map_or(0, |&g| g + 1);
        // On a mirror plane at x = 0, the images of samples are rounded as they are.
        let origin = match halved {
            true => Vec3::new(0.0, surface.bounds().0.y, surface.bounds().0.z),
            false => surface.bounds().0,
        };
        let start = |g: u32| samples.partition_point(|s| s.group < g) as u32;
        let points = samples.iter().map(|s| (s.position, s.normal));
        Self {
            group,
            starts: (0..=groups).map(start).collect(),
            samples: Samples::new(origin, points),
            owners: samples.iter().map(|s| s.owner).collect(),
            vertex_owner,
            digest: digest(surface),
        }
    }

    /// Converts flesh found in a character's own unit to the units of the input.
    pub(super) fn into_input_unit(
        mut self,
        unit: OwnUnit,
        own: &Surface,
        original: &Surface,
    ) -> Self {
        self.samples = self.samples.into_input_unit(unit);
        self.for_surface(own, original)
    }

    /// Replaces a surface by the same one elsewhere.
    fn for_surface(mut self, own: &Surface, original: &Surface) -> Self {
        // Rounding may weld vertices that are distinct in the input, and vice versa.
        let mut vertex_owner = vec![NO_CELL; original.welded().vertices.len()];
        let of = original
            .welded()
            .of_vertex
            .iter()
            .zip(&own.welded().of_vertex);
        for (&to, &from) in of.filter(|(to, from)| **to != NO_CELL && **from != NO_CELL) {
            vertex_owner[to as usize] = self.vertex_owner[from as usize];
        }
        self.vertex_owner = vertex_owner;
        self.digest = digest(original);
        self
    }

    /// Appends the mirror images in x = 0 of all cells; replaces the cells that hold the welded vertices.
    pub(super) fn reflect(mut self, vertex_owner: Vec<u32>) -> Self {
        let count = self.group.len() as u32;
        let groups = self.starts.len().saturating_sub(1) as u32;
        let image = |g: &u32| if *g == NO_CELL { NO_CELL } else { g + groups };
        let images: Vec<u32> = self.group.iter().map(image).collect();
        self.group.extend(images);
        let end = self.samples.len() as u32;
        let starts: Vec<u32> = self.starts.iter().skip(1).map(|s| s + end).collect();
        self.starts.extend(starts);
        self.samples.add_images();
        let owners: Vec<u32> = self.owners.iter().map(|o| o + count).collect();
        self.owners.extend(owners);
        self.vertex_owner = vertex_owner;
        self
    }

    /// Converts flesh from the frame of a mirror plane to the own unit.
    pub(super) fn into_own_frame(
        mut self,
        frame: &MirrorFrame,
        moved: &Surface,
        own: &Surface,
    ) -> Self {
        if frame.is_own() {
            return self;
        }
        let (point, direction) = (
            |p: &Vec3| frame.to_own(p),
            |v: &Vec3| frame.direction_to_own(v),
        );
        self.samples = self.samples.into_frame(point, direction);
        self.for_surface(moved, own)
    }

    /// Extends the flesh by cells without copies; replaces the cells that hold the welded vertices of the whole
    /// surface.
    pub(super) fn extend_cells(
        mut self,
        cells: usize,
        vertex_owner: Vec<u32>,
        surface: &Surface,
    ) -> Self {
        self.group.extend(std::iter::repeat_n(NO_CELL, cells));
        self.vertex_owner = vertex_owner;
        self.digest = digest(surface);
        self
    }

    /// Returns whether flesh read from a file is valid for a lattice of `cells` cells.
    pub fn fits(&self, cells: usize) -> bool {
        let groups = self.starts.len().saturating_sub(1);
        let cell = |&c: &u32| (c as usize) < cells;
        self.group.len() == cells
            && self
                .group
                .iter()
                .all(|&g| g == NO_CELL || (g as usize) < groups)
            && self.starts.is_sorted()
            && self.samples.is_valid()
            && self.starts.last().copied().unwrap_or(0) as usize == self.samples.len()
            && self.owners.len() == self.samples.len()
            && self.owners.iter().all(cell)
            && self.vertex_owner.iter().all(|c| *c == NO_CELL || cell(c))
    }

    /// Returns the copy of `cell` whose flesh is at `point`; the cell itself if it has no copies.
    pub fn owner(&self, cell: u32, point: Vec3) -> u32 {
        let group = self.group.get(cell as usize).copied().unwrap_or(NO_CELL);
        if group == NO_CELL {
            return cell;
        }
        let range = self.starts[group as usize] as usize..self.starts[group as usize + 1] as usize;
        let nearest = self.samples.nearest(range, point);
        nearest.map_or(cell, |s| self.owners[s])
    }

    /// Returns for each welded vertex the cell that holds it ([`NO_CELL`] outside the lattice); `None` if `surface` is not
    /// the one that was split.
    pub fn vertex_owner(&self, surface: &Surface) -> Option<&[u32]> {
        let same = self.vertex_owner.len() == surface.welded().vertices.len()
            && self.digest == digest(surface);
        same.then_some(&self.vertex_owner[..])
    }
}

/// Hashes the welded vertices and triangles, bit for bit (FNV-1a over 64-bit words).
fn digest(surface: &Surface) -> u64 {
    let welded = surface.welded();
    let positions = welded
        .vertices
        .iter()
        .flat_map(|v| [v.x, v.y, v.z])
        .map(f64::to_bits);
    let corners = welded.triangles.iter().flatten().map(|&v| u64::from(v));
    positions
        .chain(corners)
        .fold(0xCBF2_9CE4_8422_2325, |hash: u64, word| {
            let mixed = (hash ^ word).wrapping_mul(0x0000_0100_0000_01B3);
            // A product carries bits upwards only.
            mixed ^ mixed >> 32
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two sheets a hair apart, each with flesh behind it: cells 1 and 2 are copies, cell 0 is whole.
    fn flesh(surface: &Surface) -> FleshOwnership {
        let mut samples = Vec::new();
        for (owner, side) in [(1, -1.0), (2, 1.0)] {
            for i in 0..25 {
                let at = |x: f64| Vec3::new(x * side, f64::from(i % 5), f64::from(i / 5));
                samples.push(FleshSample {
                    group: 0,
                    position: at(0.01),
                    normal: Vec3::new(-side, 0.0, 0.0),
                    owner,
                });
                samples.push(FleshSample {
                    group: 0,
                    position: at(1.0),
                    normal: Vec3::zeros(),
                    owner,
                });
            }
        }
        let owners = vec![1, 2, NO_CELL];
        FleshOwnership::new(vec![NO_CELL, 0, 0], &samples, owners, surface, false)
    }

    fn triangle(x: f64) -> Surface {
        let vertices = vec![Vec3::new(x, 0.0, 0.0), Vec3::y(), Vec3::z()];
        Surface::new(vertices, vec![[0, 1, 2]]).expect("has area")
    }

    /// Flesh belongs to the skin that it lies behind, even if another sheet is nearer.
    #[test]
    fn owner_is_skin_in_front() {
        let flesh = flesh(&triangle(1.0));
        for i in 0..200 {
            let f = |k: f64| (f64::from(i) * k).fract();
            let (y, z) = (f(0.618) * 4.0, f(0.324) * 4.0);
            // Far nearer to the other sheet than to any sample of the sheet in front.
            for x in [0.02, 0.1, 0.4, 0.9] {
                assert_eq!(flesh.owner(1, Vec3::new(-x, y, z)), 1);
                assert_eq!(flesh.owner(1, Vec3::new(x, y, z)), 2);
            }
        }
        assert_eq!(flesh.owner(0, Vec3::x()), 0);
        assert_eq!(flesh.owner(7, Vec3::x()), 7);
        assert_eq!(FleshOwnership::default().owner(3, Vec3::x()), 3);
    }

    /// Owners of vertices are known only for the surface that they were made for.
    #[test]
    fn vertex_owner_needs_same_surface() {
        let flesh = flesh(&triangle(1.0));
        assert_eq!(
            flesh.vertex_owner(&triangle(1.0)),
            Some(&[1, 2, NO_CELL][..])
        );
        assert_eq!(flesh.vertex_owner(&triangle(1.0 + 1e-15)), None);
    }

    /// Flesh is unchanged after it is encoded and decoded.
    #[test]
    fn flesh_serialisation_round_trip() {
        let flesh = flesh(&triangle(1.0));
        let config = bincode::config::standard();
        let bytes = bincode::serde::encode_to_vec(&flesh, config).expect("encodes");
        let (back, used): (FleshOwnership, usize) =
            bincode::serde::decode_from_slice(&bytes, config).expect("decodes");
        assert_eq!((back, used), (flesh, bytes.len()));
    }
}
