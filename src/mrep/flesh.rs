// SPDX-License-Identifier: MIT OR Apache-2.0
//! Control lattices from figures: cells that follow a limb, with bones on the way from hub to hub.

use super::cells::Complex;
use super::error::MRepError;
use super::figure::{Figure, Kind};
use crate::Vec3;
use crate::aabb;
use crate::lattice::Lattice;
use crate::skeleton::Skeleton;
use crate::surface::{Surface, closest_leaf};
use rayon::prelude::*;

/// Most layers of cells.
const MOST_LAYERS: usize = 16;
/// How much farther out than the boundary corners begin.
const BEGIN: f64 = 1.02;
/// What is left between the skin and the lattice's border, in radii.
const MARGIN: f64 = 0.03;

impl Figure {
    /// A lattice of cells in the figure, in `layers` from the hubs outward: prisms and hexahedra along a tube, tetrahedra and prisms in
    /// its caps; hexahedra on both sides of a slab, prisms and hexahedra around its border. Bones of `skeleton` whose heads and
    /// tails are hubs lie on its edges. Corners move outward along their spokes until all of `covers` lies inside (none: the
    /// boundary).
    ///
    /// # Errors
    /// A figure that folds; layers that are none; what is to be covered lies elsewhere, or cannot be without a fold.
    pub fn lattice(
        &self,
        skeleton: Option<&Skeleton>,
        layers: usize,
        covers: Option<&Surface>,
    ) -> Result<Lattice, MRepError> {
        if !(1..=MOST_LAYERS).contains(&layers) {
            return Err(MRepError::Count {
                what: "the number of layers",
                found: layers,
                least: 1,
                most: MOST_LAYERS,
            });
        }
        let worst = self.worst();
        if worst.legality <= 0.0 {
            return Err(MRepError::Folded {
                legality: worst.legality,
                what: worst.sentence(self),
            });
        }
        let points: Vec<Vec3> = match covers {
            Some(surface) => surface.welded().vertices.clone(),
            None => super::Boundary::new(self, 2)?.positions(self),
        };
        let mut complex = Complex::new(self, layers);
        self.cover(&mut complex, &points)?;
        let lattice = self.built(&complex)?;
        let Some(skeleton) = skeleton else {
            return Ok(lattice);
        };
        let bones = lattice.bones_by_place(skeleton);
        Lattice::with_bones(complex.vertices, complex.cells, bones).map_err(refused)
    }

    fn built(&self, complex: &Complex) -> Result<Lattice, MRepError> {
        Lattice::new(complex.vertices.clone(), complex.cells.clone()).map_err(refused)
    }

    /// Moves outer vertices until all points lie inside.
    pub(super) fn cover(&self, complex: &mut Complex, points: &[Vec3]) -> Result<(), MRepError> {
        const ROUNDS: usize = 60;
        /// Farther out than this many spokes the figure is not what lies inside.
        const FARTHEST: f64 = 3.0;
        let mean = {
            let all = self.atoms();
            all.iter().map(|a| a.radius).sum::<f64>() / all.len() as f64
        };
        let begin = match self.kind() {
            Kind::Tube { spokes, .. } => Complex::circumscribed(spokes),
            Kind::Slab { .. } => 1.0,
        };
        for column in &mut complex.columns {
            column.reach = begin * BEGIN;
        }
        let triangles = complex.triangles();
        for _ in 0..ROUNDS {
            complex.even_ends();
            complex.place();
            let lattice = self.built(complex)?;
            let corners =
                |t: u32| triangles[t as usize].map(|c| complex.vertices[complex.outer(c) as usize]);
            let tree = aabb::hierarchy(
                (0..triangles.len() as u32).map(|t| aabb::bounds(corners(t).iter())),
            );
            // Which columns give way, and by how much.
            let push = |p: &Vec3| {
                let (t, square, at) = closest_leaf(&tree, p, f64::INFINITY, corners)?;
                let outside = lattice.locate(*p).is_none();
                let distance = square.sqrt();
                let margin = MARGIN * mean;
                let lacks = if outside {
                    margin + distance
                } else {
                    margin - distance
                };
                // Half of it will do: what is moved is moved by all that lacks.
                (lacks > 0.5 * margin).then_some((t, lacks, at))
            };
            let pushes: Vec<(u32, f64, [f64; 3])> = points
                .par_iter()
                .with_min_len(64)
                .filter_map(push)
                .collect();
            if pushes.is_empty() {
                return Ok(());
            }
            let mut wanted = vec![0.0_f64; complex.columns.len()];
            for (t, lacks, at) in pushes {
                for (c, share) in triangles[t as usize].into_iter().zip(at) {
                    // Corners that are far from the place hardly help.
                    let more = lacks * (0.25 + share) / complex.columns[c].spoke.norm();
                    wanted[c] = wanted[c].max(more);
                }
            }
            for (column, more) in complex.columns.iter_mut().zip(wanted) {
                column.reach += more;
                if column.reach > FARTHEST {
                    return Err(MRepError::Target(
                        "the surface reaches far beyond the model: give the skin of the limb alone, or fit the model to it first".into(),
                    ));
                }
            }
        }
        Err(MRepError::Target(
            "the surface could not be covered by cells along the model: fit the model to it first, or make it of more atoms and spokes"
                .into(),
        ))
    }
}

fn refused(why: crate::lattice::LatticeError) -> MRepError {
    MRepError::Target(why.to_string())
}

#[cfg(test)]
mod tests;
