// SPDX-License-Identifier: MIT OR Apache-2.0
//! The four conditions on a control lattice [capell2002, §3.1; condition (i) mended: the *intersection* of two cells]:
//!
//! 1. two cells meet in a common face, edge or vertex, or not at all. Exceptions: virtual copies (cells with the same
//!    corner positions) overlap in space, and so may cells along limbs and those of the rest, which are separate parts;
//! 2. every used bone is a union of edges;
//! 3. the domain Ω lies inside the cells;
//! 4. every vertex of a cell has valence 3 in it (three distinct edges, a corner that is not inverted), and the cell is
//!    inverted nowhere inside.
//!
//! Faces with four corners are bilinear patches and need not be planar.

mod bilinear;
mod folding;
mod meeting;
mod overlap;
mod violation;

pub use violation::Violation;

use super::vicinity::Vicinity;
use super::{Cell, Lattice, corner_volume, heading};
use crate::Vec3;
use crate::skeleton::Skeleton;
use crate::surface::Surface;
pub(super) use meeting::MergedGeometry;
use rayon::prelude::*;
use std::collections::BTreeSet;

/// Largest distance of a chain's vertex from its bone, as a share of the cell size: joints may be welded.
const MAX_BONE_DISTANCE: f64 = super::bones::WELD_DISTANCE;

impl Lattice {
    /// Tests the four conditions for the used bones and returns the violations; empty if all hold.
    pub fn check(&self, surface: &Surface, skeleton: &Skeleton) -> Vec<Violation> {
        let mut found = Vec::new();
        let sound = self.check_cells(&mut found);
        let geometry = MergedGeometry::new(self);
        self.check_meeting(&geometry, &sound, &mut found);
        self.check_bones(surface, skeleton, &mut found);
        self.check_containment(surface, &geometry, &mut found);
        found
    }

    /// Returns the cells that violate condition 4.
    pub(crate) fn faulty_cells(&self) -> Vec<usize> {
        let sound = self.check_cells(&mut Vec::new());
        (0..sound.len()).filter(|cell| !sound[*cell]).collect()
    }

    /// Tests condition 4, including the orientation that all other tests rely on. Returns for each cell whether it
    /// holds.
    fn check_cells(&self, found: &mut Vec<Violation>) -> Vec<bool> {
        let of_cell = |cell: usize| {
            let kind = self.cells[cell].name();
            self.find_fault(cell).map(|fault| match fault {
                CellFault::Repeated(vertex) => Violation::RepeatedCorner { cell, kind, vertex },
                CellFault::Corner(vertex) => Violation::Inverted { cell, kind, vertex },
                CellFault::Inside(at) => Violation::Folded { cell, kind, at },
            })
        };
        let faults: Vec<Option<Violation>> =
            (0..self.cells.len()).into_par_iter().map(of_cell).collect();
        let sound = faults.iter().map(Option::is_none).collect();
        found.extend(faults.into_iter().flatten());
        sound
    }

    fn find_fault(&self, cell: usize) -> Option<CellFault> {
        let c = &self.cells[cell];
        let corners = c.corners();
        let mut numbered = corners.iter().enumerate();
        if let Some((_, &v)) = numbered.find(|(i, v)| corners[..*i].contains(v)) {
            return Some(CellFault::Repeated(v));
        }
        let x = self.corners(cell as u32);
        let length = |e: &[usize; 2]| (x[e[0]] - x[e[1]]).norm();
        let scale = c.edges().iter().map(length).fold(0.0, f64::max);
        let flat = 1e-12 * scale.powi(3);
        let mut frames = c.corner_frames().iter();
        if let Some([i, ..]) = frames.find(|frame| corner_volume(**frame, |i| x[i]) <= flat) {
            return Some(CellFault::Corner(corners[*i]));
        }
        folding::find_fold(c, &x, flat).map(|l| CellFault::Inside(c.position(&x, l)))
    }

    /// Tests condition 2.
    fn check_bones(&self, surface: &Surface, skeleton: &Skeleton, found: &mut Vec<Violation>) {
        let bones = &self.bones;
        if bones.chains.len() != bones.used_bones.len() + bones.tip_bones.len() {
            found.push(Violation::Chains(format!(
                "{} chains of vertices for {} bones and {} tips",
                bones.chains.len(),
                bones.used_bones.len(),
                bones.tip_bones.len()
            )));
            return;
        }
        let edges = self.edges();
        let limit = MAX_BONE_DISTANCE * self.cell_size();
        let vicinity = Vicinity::new(surface, heading(surface, skeleton));
        for (i, chain) in bones.chains.iter().enumerate() {
            let used = bones.used_bones.get(i);
            let bone = used.or_else(|| bones.tip_bones.get(i - bones.used_bones.len()));
            let Some(&b) = bone.filter(|&&b| (b as usize) < skeleton.len()) else {
                found.push(Violation::Chains(format!(
                    "chain {i} has no bone in the skeleton"
                )));
                continue;
            };
            let name = &skeleton.names()[b as usize];
            if chain.is_empty() || chain.iter().any(|&v| v as usize >= self.vertices.len()) {
                found.push(Violation::Chains(format!(
                    "the chain of bone '{name}' is broken"
                )));
                continue;
            }
            for w in chain.windows(2) {
                if !edges.contains(&(w[0].min(w[1]), w[0].max(w[1]))) {
                    found.push(Violation::MissingEdge {
                        bone: name.clone(),
                        from: w[0],
                        to: w[1],
                    });
                }
            }
            let at = |v: u32| self.vertices[v as usize];
            let (head, tail) = match used {
                Some(_) => (skeleton.heads()[b as usize], skeleton.tails()[b as usize]),
                None => (at(chain[0]), at(chain[chain.len() - 1])),
            };
            let tail = if chain.len() == 1 { head } else { tail };
            // A bone that leads far away from the body may be followed within its vicinity only.
            let near = vicinity.followed_part(head, tail).unwrap_or((head, tail));
            for (k, &vertex) in chain.iter().enumerate() {
                let x = at(vertex);
                let distance = match k {
                    0 => (x - head).norm().min((x - near.0).norm()),
                    k if k + 1 == chain.len() => (x - tail).norm().min((x - near.1).norm()),
                    _ => (x - crate::geometry::tetrahedron::closest_on_segment(head, tail, x).0)
                        .norm(),
                };
                if distance > limit {
                    found.push(Violation::OffBone {
                        bone: name.clone(),
                        vertex,
                        distance,
                        limit,
                    });
                }
            }
        }
    }

    /// Returns the cells' edges, each from its lower vertex to its higher.
    pub(super) fn edges(&self) -> BTreeSet<(u32, u32)> {
        let of_cell = |c: &Cell| {
            let corners = c.corners();
            let ends = c.edges().iter().map(|e| (corners[e[0]], corners[e[1]]));
            ends.map(|(a, b)| (a.min(b), a.max(b))).collect::<Vec<_>>()
        };
        self.cells.iter().flat_map(of_cell).collect()
    }

    /// Returns the cell size away from local refinement, m: the 0.9 quantile of the cells' longest edges, with limbs
    /// the 0.98 quantile.
    pub(super) fn cell_size(&self) -> f64 {
        let longest = |(cell, c): (usize, &Cell)| {
            let x = self.corners(cell as u32);
            let length = |e: &[usize; 2]| (x[e[0]] - x[e[1]]).norm();
            c.edges().iter().map(length).fold(0.0, f64::max)
        };
        let mut all: Vec<f64> = self.cells.iter().enumerate().map(longest).collect();
        all.sort_by(f64::total_cmp);
        // Cells along limbs, and around their ends, are as small as in the medial model.
        let last = if self.parts.is_some() { 98 } else { 90 };
        all.get(last * all.len() / 100).copied().unwrap_or(0.0)
    }

    /// Tests condition 3: samples of every triangle lie in cells, and no flesh lies behind a free face.
    fn check_containment(
        &self,
        surface: &Surface,
        geometry: &MergedGeometry,
        found: &mut Vec<Violation>,
    ) {
        let welded = surface.welded();
        let size = surface.size();
        let outside: Vec<Violation> = welded
            .triangles
            .par_iter()
            .enumerate()
            .filter_map(|(t, triangle)| {
                let x = triangle.map(|v| welded.vertices[v as usize]);
                let longest = (0..3)
                    .map(|k| (x[k] - x[(k + 1) % 3]).norm())
                    .fold(0.0, f64::max);
                let n = ((longest / (0.02 * size)).ceil() as usize).clamp(1, 24);
                for i in 0..=n {
                    for j in 0..=n - i {
                        let (u, v) = (i as f64 / n as f64, j as f64 / n as f64);
                        let p = x[0] + (x[1] - x[0]) * u + (x[2] - x[0]) * v;
                        if self.locate(p).is_none() {
                            return Some(Violation::Uncontained {
                                at: p,
                                triangle: welded.source[t],
                            });
                        }
                    }
                }
                None
            })
            .collect();
        found.extend(outside);
        for (face, cell) in geometry.free_faces(self) {
            let centre: Vec3 = face
                .iter()
                .map(|&v| self.vertices[v as usize])
                .sum::<Vec3>()
                / face.len() as f64;
            // Cells of another part may continue there.
            let goes_on = |c: u32| self.are_parted(cell, c as usize) && self.contains(c, centre);
            if surface.contains(centre)
                && surface.signed_distance(centre) < -1e-3 * size
                && !self.locator.cells_around(centre).any(goes_on)
            {
                found.push(Violation::Opening { face, cell });
            }
        }
    }
}

/// Defect of a cell.
enum CellFault {
    /// Vertex that the cell uses twice.
    Repeated(u32),
    /// Corner that is flat or inverted.
    Corner(u32),
    /// Point inside that is flat or inverted.
    Inside(Vec3),
}

#[cfg(test)]
mod tests;
