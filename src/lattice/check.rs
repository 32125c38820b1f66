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

use super::vicinity::Vicinity;
use super::{Cell, Lattice, heading};
use crate::Vec3;
use crate::skeleton::Skeleton;
use crate::surface::Surface;
use meeting::Geometry;
use rayon::prelude::*;
use std::collections::BTreeSet;

/// Violated condition of a lattice, with its location.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Violation {
    /// Condition 1: a face belongs to more than two cells.
    #[error("condition 1: face {face:?} belongs to {cells} cells; two at most may share one")]
    FaceShared {
        /// Vertices of the face, ascending.
        face: Vec<u32>,
        /// Number of cells.
        cells: usize,
    },
    /// Condition 1: two cells have the same corners.
    #[error("condition 1: cells {0} and {1} have the same corners")]
    Duplicate(usize, usize),
    /// Condition 1: two cells overlap.
    #[error("condition 1: cells {0} and {1} overlap")]
    Overlap(usize, usize),
    /// Condition 1: a vertex lies on a cell without being its corner.
    #[error("condition 1: vertex {vertex} lies on cell {cell} without being one of its corners")]
    Hanging {
        /// Index of the vertex.
        vertex: u32,
        /// Index of the cell.
        cell: usize,
    },
    /// Condition 2: an edge of a bone's chain is missing in the cells.
    #[error(
        "condition 2: bone '{bone}' needs an edge between vertices {from} and {to}, no cell has it"
    )]
    MissingEdge {
        /// Name of the bone.
        bone: String,
        /// First vertex of the edge.
        from: u32,
        /// Second vertex of the edge.
        to: u32,
    },
    /// Condition 2: a vertex of a chain lies off its bone.
    #[error(
        "condition 2: vertex {vertex} of bone '{bone}' lies {distance:.3e} off the bone, more than {limit:.3e}"
    )]
    OffBone {
        /// Name of the bone.
        bone: String,
        /// Index of the vertex.
        vertex: u32,
        /// Distance from the bone, m.
        distance: f64,
        /// Largest distance allowed for welded joints, m.
        limit: f64,
    },
    /// Condition 2: the chains do not fit the bones.
    #[error("condition 2: {0}")]
    Chains(String),
    /// Condition 3: the surface leaves the lattice.
    #[error("condition 3: the surface leaves the lattice at ({:.4}, {:.4}, {:.4}), near triangle {triangle}", at.x, at.y, at.z)]
    Uncontained {
        /// Point on the surface, m.
        at: Vec3,
        /// Triangle number in the input mesh.
        triangle: u32,
    },
    /// Condition 3: flesh continues beyond a free face.
    #[error("condition 3: the flesh goes on beyond the free face {face:?} of cell {cell}")]
    Opening {
        /// Vertices of the face.
        face: Vec<u32>,
        /// Cell of the face.
        cell: usize,
    },
    /// Condition 4: a cell uses a vertex twice.
    #[error("condition 4: cell {cell} ({kind}) uses vertex {vertex} twice")]
    RepeatedCorner {
        /// Index of the cell.
        cell: usize,
        /// Kind of the cell, as [`Cell::name`].
        kind: &'static str,
        /// Index of the vertex.
        vertex: u32,
    },
    /// Condition 4: a cell is flat or inverted at a corner.
    #[error("condition 4: cell {cell} ({kind}) is flat or turned over at vertex {vertex}")]
    Inverted {
        /// Index of the cell.
        cell: usize,
        /// Kind of the cell, as [`Cell::name`].
        kind: &'static str,
        /// Vertex at the corner.
        vertex: u32,
    },
    /// Condition 4: a cell is flat or inverted inside, though at none of its corners.
    #[error("condition 4: cell {cell} ({kind}) is flat or turned over inside, at ({:.4}, {:.4}, {:.4}), though at none of its corners", at.x, at.y, at.z)]
    Folded {
        /// Index of the cell.
        cell: usize,
        /// Kind of the cell, as [`Cell::name`].
        kind: &'static str,
        /// Point inside the cell, m.
        at: Vec3,
    },
}

/// Largest distance of a chain's vertex from its bone, as a share of the cell size: joints may be welded.
const WELD_LIMIT: f64 = super::segments::WELD;

impl Lattice {
    /// Tests the four conditions for the used bones and returns the violations; empty if all hold.
    pub fn check(&self, surface: &Surface, skeleton: &Skeleton) -> Vec<Violation> {
        let mut found = Vec::new();
        let sound = self.check_cells(&mut found);
        let geometry = Geometry::new(self);
        self.check_meeting(&geometry, &sound, &mut found);
        self.check_bones(surface, skeleton, &mut found);
        self.check_containment(surface, &geometry, &mut found);
        found
    }

    /// Returns the cells that violate condition 4.
    pub(crate) fn faults(&self) -> Vec<usize> {
        let sound = self.check_cells(&mut Vec::new());
        (0..sound.len()).filter(|cell| !sound[*cell]).collect()
    }

    /// Tests condition 4, including the orientation that all other tests rely on. Returns for each cell whether it
    /// holds.
    fn check_cells(&self, found: &mut Vec<Violation>) -> Vec<bool> {
        let of_cell = |cell: usize| {
            let kind = self.cells[cell].name();
            self.fault(cell).map(|fault| match fault {
                Fault::Repeated(vertex) => Violation::RepeatedCorner { cell, kind, vertex },
                Fault::Corner(vertex) => Violation::Inverted { cell, kind, vertex },
                Fault::Inside(at) => Violation::Folded { cell, kind, at },
            })
        };
        let faults: Vec<Option<Violation>> =
            (0..self.cells.len()).into_par_iter().map(of_cell).collect();
        let sound = faults.iter().map(Option::is_none).collect();
        found.extend(faults.into_iter().flatten());
        sound
    }

    fn fault(&self, cell: usize) -> Option<Fault> {
        let c = &self.cells[cell];
        let corners = c.corners();
        let mut numbered = corners.iter().enumerate();
        if let Some((_, &v)) = numbered.find(|(i, v)| corners[..*i].contains(v)) {
            return Some(Fault::Repeated(v));
        }
        let x = self.corners(cell as u32);
        let length = |e: &[usize; 2]| (x[e[0]] - x[e[1]]).norm();
        let scale = c.edges().iter().map(length).fold(0.0, f64::max);
        let flat = 1e-12 * scale.powi(3);
        let turned = (0..corners.len()).find(|&i| corner_volume(c, &x, i) <= flat);
        if let Some(i) = turned {
            return Some(Fault::Corner(corners[i]));
        }
        folding::fold(c, &x, flat).map(|l| Fault::Inside(c.position(&x, l)))
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
        let limit = WELD_LIMIT * self.cell_size();
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
            let near = vicinity.part(head, tail).unwrap_or((head, tail));
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
        geometry: &Geometry,
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
            let goes_on = |c: u32| self.parted(cell, c as usize) && self.holds(c, centre);
            if surface.contains(centre)
                && surface.signed_distance(centre) < -1e-3 * size
                && !self.locator.boxes_around(centre).any(goes_on)
            {
                found.push(Violation::Opening { face, cell });
            }
        }
    }
}

/// Defect of a cell.
enum Fault {
    /// Vertex that the cell uses twice.
    Repeated(u32),
    /// Corner that is flat or inverted.
    Corner(u32),
    /// Point inside that is flat or inverted.
    Inside(Vec3),
}

/// Returns the volume of the parallelepiped of the three edges at a corner, oriented with the cell.
fn corner_volume(cell: &Cell, x: &[Vec3], corner: usize) -> f64 {
    let neighbours: &[[usize; 3]] = match cell {
        Cell::Tetrahedron(_) => &[[1, 2, 3], [0, 3, 2], [0, 1, 3], [0, 2, 1]],
        Cell::Prism(_) => &[
            [1, 2, 3],
            [2, 0, 4],
            [0, 1, 5],
            [5, 4, 0],
            [3, 5, 1],
            [4, 3, 2],
        ],
        Cell::Hexahedron(_) => &[
            [1, 2, 4],
            [3, 0, 5],
            [0, 3, 6],
            [2, 1, 7],
            [6, 5, 0],
            [4, 7, 1],
            [7, 4, 2],
            [5, 6, 3],
        ],
    };
    let [a, b, c] = neighbours[corner].map(|i| x[i] - x[corner]);
    a.cross(&b).dot(&c)
}

#[cfg(test)]
mod tests;
