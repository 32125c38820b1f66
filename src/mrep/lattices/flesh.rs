// SPDX-License-Identifier: MIT OR Apache-2.0
//! Control lattices from figures: cells that follow a limb, with bones along the line of hubs.

use crate::Vec3;
use crate::geometry::aabb;
use crate::lattice::Lattice;
use crate::mrep::error::MRepError;
use crate::mrep::figures::boundary::mesh;
use crate::mrep::figures::figure::{Figure, FigureKind};
use crate::mrep::initial::bone_runs::bone_spans;
use crate::mrep::lattices::cells::FigureCells;
use crate::mrep::lattices::cut::sample_triangle;
use crate::progress::Silent;
use crate::skeleton::Skeleton;
use crate::surface::{Surface, closest_leaf};
use rayon::prelude::*;

/// Largest number of layers: at sixteen a cell is a sixteenth of a radius thick, far below what the cells along and around resolve.
const MAX_LAYERS: usize = 16;
/// Initial distance of the outer corners, over that of the boundary. Its excess over 1 is more than half of [`SKIN_MARGIN`], so corners need not
/// move where the skin is the boundary.
const INITIAL_REACH: f64 = 1.02;
/// Largest distance between points to be covered, over the surface's size. Two centimetres of a person, far less than a cell.
const SAMPLE_SPACING: f64 = 0.01;
/// Margin between the skin and the lattice's border, in radii. A round lattice with that margin has a cross section 6 % larger than the skin's.
const SKIN_MARGIN: f64 = 0.03;

impl Figure {
    /// Builds a lattice of cells in the figure, in `layers` from the hubs outward. A tube gets prisms and hexahedra along it, tetrahedra and
    /// prisms in its caps. A slab gets hexahedra on both sides, prisms and hexahedra around its border.
    ///
    /// Bones of `skeleton` whose heads and tails are hubs lie on edges. Where a last bone ends before its flesh, the hubs from its head on
    /// become its virtual tip. Corners move outward along their spokes until all of `covers` lies inside (`None`: the boundary).
    ///
    /// # Errors
    /// A figure that folds; zero or too many layers; a surface to cover that lies elsewhere, or cannot be covered without a fold.
    pub fn lattice(
        &self,
        skeleton: Option<&Skeleton>,
        layers: usize,
        covers: Option<&Surface>,
    ) -> Result<Lattice, MRepError> {
        if !(1..=MAX_LAYERS).contains(&layers) {
            return Err(MRepError::Count {
                what: "the number of layers",
                found: layers,
                least: 1,
                most: MAX_LAYERS,
            });
        }
        let worst = self.legality_minimum();
        if worst.legality <= 0.0 {
            return Err(MRepError::Folded {
                legality: worst.legality,
                what: worst.describe_fold(self),
            });
        }
        let points: Vec<Vec3> = match covers {
            Some(surface) => sample_surface(surface),
            None => mesh(self, 2, &Silent)?.0,
        };
        let (figure, complex, lattice) = self.clone().fill(layers, &points)?;
        let Some(skeleton) = skeleton else {
            return Ok(lattice);
        };
        let mut bones = lattice.find_bone_chains(skeleton);
        for run in bone_spans(&figure, skeleton).unwrap_or_default() {
            let hubs = run.hubs_on_bone(&figure, 0..=figure.atoms().len() - 1);
            if let Some(chain) = hubs.filter(|_| run.tip) {
                bones.tip_bones.push(run.bone);
                bones.chains.push(chain);
            }
        }
        bones.bone_of_vertex = bones.drivers(complex.vertices.len());
        Lattice::with_bones(complex.vertices, complex.cells, bones).map_err(lattice_error)
    }

    /// Builds cells that contain all points. Beyond the boundary spokes of neighbours may cross and turn cells over. Atoms between joints are
    /// then left out: longer cells tolerate more bending.
    fn fill(
        mut self,
        layers: usize,
        points: &[Vec3],
    ) -> Result<(Self, FigureCells, Lattice), MRepError> {
        loop {
            let mut complex = FigureCells::new(&self, layers);
            let covered = self.cover(&mut complex, points);
            let lattice = self.build_lattice(&complex)?;
            let faults = lattice.faulty_cells();
            if faults.is_empty() {
                return covered.map(|()| (self, complex, lattice));
            }
            self = match self.without_atom_near(&lattice, &faults) {
                Some(fewer) => fewer,
                None => return Err(covered.err().unwrap_or_else(inversion_error)),
            };
        }
    }

    /// Returns a tube without the atom nearest to most of some cells; ends and joints stay. `None`: there is no such atom.
    fn without_atom_near(&self, lattice: &Lattice, cells: &[usize]) -> Option<Self> {
        let FigureKind::Tube { atoms, .. } = self.kind() else {
            return None;
        };
        let free: Vec<usize> = (1..atoms - 1).filter(|i| !self.is_joint(*i)).collect();
        let mut votes = vec![0usize; atoms];
        for &cell in cells {
            let centre = lattice.cell_centre(cell);
            votes[self.nearest_hub(free.iter().copied(), &centre)?] += 1;
        }
        let most = free.into_iter().rev().max_by_key(|i| votes[*i])?;
        let kept: Vec<usize> = (0..atoms).filter(|i| *i != most).collect();
        self.with_atom_subset(&kept).ok()
    }

    fn build_lattice(&self, complex: &FigureCells) -> Result<Lattice, MRepError> {
        Lattice::new(complex.vertices.clone(), complex.cells.clone()).map_err(lattice_error)
    }

    /// Moves outer vertices until all points lie inside.
    pub(in crate::mrep) fn cover(
        &self,
        complex: &mut FigureCells,
        points: &[Vec3],
    ) -> Result<(), MRepError> {
        /// Largest number of rounds. Corners move in each by the largest gap, so that a few suffice where the figure lies in the skin. Where sixty do
        /// not, pushing one corner uncovers what another held.
        const MAX_COVER_ROUNDS: usize = 60;
        /// Largest reach, in spokes or mean radii; beyond it the figure does not match the points.
        const MAX_REACH: f64 = 3.0;
        let mean = self.mean_radius();
        let begin = match self.kind() {
            FigureKind::Tube { spokes, .. } => FigureCells::circumscription_factor(spokes),
            FigureKind::Slab { .. } => 1.0,
        };
        for column in &mut complex.columns {
            column.reach = begin * INITIAL_REACH;
        }
        let triangles = complex.triangles();
        for _ in 0..MAX_COVER_ROUNDS {
            complex.even_out_ends();
            complex.place_vertices();
            let pushes = self.pushes(complex, &triangles, points)?;
            if pushes.is_empty() {
                return Ok(());
            }
            let mut wanted = vec![0.0_f64; complex.columns.len()];
            for (t, lacks, at) in pushes {
                for (c, share) in triangles[t as usize].into_iter().zip(at) {
                    // Corners far from the point hardly help.
                    let more = lacks * (0.25 + share) / complex.columns[c].spoke.norm();
                    wanted[c] = wanted[c].max(more);
                }
            }
            for (column, more) in complex.columns.iter_mut().zip(wanted) {
                column.reach += more;
                let spoke = column.spoke.norm();
                if column.reach * spoke > MAX_REACH * spoke.max(mean) {
                    return Err(MRepError::Target(
                        "the surface, or the model's own boundary, reaches far beyond cells along its atoms: cover \
                         the skin of the limb alone, fit the model to it first, or end it before its sharpest bend".into(),
                    ));
                }
            }
        }
        Err(MRepError::Target(
            "the surface could not be covered by cells along the model: fit the model to it first, or give it more \
             atoms and spokes"
                .into(),
        ))
    }

    /// Finds the points that lie outside or too near the border. Each has its nearest outer triangle, its gap (m), and barycentric coordinates.
    fn pushes(
        &self,
        complex: &FigureCells,
        triangles: &[[usize; 3]],
        points: &[Vec3],
    ) -> Result<Vec<(u32, f64, [f64; 3])>, MRepError> {
        let mean = self.mean_radius();
        let lattice = self.build_lattice(complex)?;
        let corners = |t: u32| {
            triangles[t as usize].map(|c| complex.vertices[complex.outer_vertex(c) as usize])
        };
        let bounds = (0..triangles.len() as u32).map(|t| aabb::bounds(corners(t).iter()));
        let tree = aabb::hierarchy(bounds);
        let push = |p: &Vec3| {
            let (t, square, at) = closest_leaf(&tree, p, f64::INFINITY, corners)?;
            let outside = lattice.locate(*p).is_none();
            let distance = square.sqrt();
            let local = triangles[t as usize].map(|c| complex.columns[c].spoke.norm());
            let margin = SKIN_MARGIN * mean.min(local.iter().sum::<f64>() / 3.0);
            let lacks = if outside {
                margin + distance
            } else {
                margin - distance
            };
            // Half the margin suffices: a moved corner moves by the whole gap.
            (lacks > 0.5 * margin).then_some((t, lacks, at))
        };
        Ok(points
            .par_iter()
            .with_min_len(64)
            .filter_map(push)
            .collect())
    }
}

/// Returns points of a surface, at most `SAMPLE_SPACING` of its size apart.
fn sample_surface(surface: &Surface) -> Vec<Vec3> {
    let welded = surface.welded();
    let mut points = welded.vertices.clone();
    for t in &welded.triangles {
        let corners = t.map(|v| welded.vertices[v as usize]);
        sample_triangle(corners, SAMPLE_SPACING * surface.size(), &mut points);
    }
    points
}

fn inversion_error() -> MRepError {
    MRepError::Target(
        "cells wide enough for the surface would be turned over where the model bends: fit it closer to the surface, or end it before".into(),
    )
}

fn lattice_error(why: crate::lattice::LatticeError) -> MRepError {
    MRepError::Target(why.to_string())
}

#[cfg(test)]
mod tests;
