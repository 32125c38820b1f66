// SPDX-License-Identifier: MIT OR Apache-2.0
//! The region of the flesh, and the share of each piece of a cell that is flesh.
//!
//! A piece that the boundary may cut is sampled at a fixed set of points.

use crate::Vec3;
use crate::basis::{Basis, BasisValues, CellPiece, FleshShares};
use crate::lattice::Lattice;
use crate::progress::{Cancelled, Progress, report_progress};
use crate::surface::Surface;
use rayon::prelude::*;
use std::sync::Arc;

/// Region of the flesh, and its division among cells.
pub trait FleshDomain: Sync {
    /// Returns the distance to the boundary of the flesh, m, negative inside. It need not be exact, but must not exceed
    /// the true distance by much: it only decides where sampling is unnecessary.
    fn signed_distance(&self, p: Vec3) -> f64;
    /// Returns whether the point lies in flesh.
    fn contains(&self, p: Vec3) -> bool;
    /// Returns the cell that owns the flesh at a point, among the cells that overlap `cell` in space.
    fn owner(&self, cell: u32, p: Vec3) -> u32;
}

/// Flesh inside a surface, divided among the virtual copies of a lattice's cells.
pub struct EnclosedFlesh<'a> {
    /// Surface that bounds the flesh.
    pub surface: &'a Surface,
    /// Lattice that decides which copy owns the flesh.
    pub lattice: &'a Lattice,
}

impl FleshDomain for EnclosedFlesh<'_> {
    fn signed_distance(&self, p: Vec3) -> f64 {
        self.surface.signed_distance(p)
    }
    fn contains(&self, p: Vec3) -> bool {
        self.surface.contains(p)
    }
    fn owner(&self, cell: u32, p: Vec3) -> u32 {
        self.lattice.owner(cell, p)
    }
}

/// Returns the shares of flesh in the pieces of all cells after `level` subdivisions.
///
/// # Errors
/// [`Cancelled`] if the progress stops it.
pub fn flesh_shares(
    lattice: &Arc<Lattice>,
    flesh: &dyn FleshDomain,
    level: usize,
    progress: &dyn Progress,
) -> Result<FleshShares, Cancelled> {
    let basis = Basis::new(lattice.clone());
    let subdivision = basis.subdivision(level);
    let cells = lattice.cells().len() as u32;
    let mut all = Vec::with_capacity(cells as usize);
    let mut chunk = Vec::new();
    let mirrored = match lattice.mirror_plane() {
        Some(_) => mirrored_pieces(&subdivision.pieces(0)),
        None => Vec::new(),
    };
    const CHUNK_CELLS: u32 = 64;
    for first in (0..cells).step_by(CHUNK_CELLS as usize) {
        report_progress(
            progress,
            f64::from(first) / f64::from(cells),
            "Measuring the flesh",
        )?;
        (first..(first + CHUNK_CELLS).min(cells))
            .into_par_iter()
            .map(|c| {
                cell_shares(
                    CellSampling::new(lattice, c, &mirrored),
                    &lattice.corners(c),
                    &subdivision.pieces(c),
                    &|p| flesh.contains(p) && flesh.owner(c, p) == c,
                    &|p| flesh.signed_distance(p),
                )
            })
            .collect_into_vec(&mut chunk);
        all.append(&mut chunk);
    }
    Ok(FleshShares { level, cells: all })
}

/// Returns the shares of flesh in the pieces of one cell.
fn cell_shares(
    sampling: CellSampling,
    corners: &[Vec3],
    pieces: &[CellPiece],
    owns: &dyn Fn(Vec3) -> bool,
    distance: &dyn Fn(Vec3) -> f64,
) -> Vec<f64> {
    let bound = DistanceBound::new(corners, distance);
    let count = pieces.len();
    let share = |(i, piece): (usize, &CellPiece)| match piece.volume > 0.0 {
        true => owned_share(&piece.corners, sampling.piece(i, count), owns, &bound),
        false => 0.0,
    };
    pieces.iter().enumerate().map(share).collect()
}

/// Choice of the sample points in the pieces of a cell: the image of a cell is sampled at the images of its points.
#[derive(Clone, Copy)]
struct CellSampling<'a> {
    /// Number of the cell whose points they are.
    cell: usize,
    /// Piece of that cell for each piece, and the corners in its order; empty: the same.
    order: &'a [(usize, [usize; 4])],
}

impl<'a> CellSampling<'a> {
    fn new(lattice: &Lattice, cell: u32, mirrored: &'a [(usize, [usize; 4])]) -> Self {
        let original = lattice.mirror_original(cell);
        Self {
            cell: original.unwrap_or(cell) as usize,
            order: if original.is_some() { mirrored } else { &[] },
        }
    }

    /// Returns the number of the sample points of a piece, of `count` pieces, and the order of its corners for them.
    fn piece(&self, i: usize, count: usize) -> (usize, [usize; 4]) {
        let same = (i, [0, 1, 2, 3]);
        let (piece, order) = self.order.get(i).copied().unwrap_or(same);
        (self.cell * count + piece, order)
    }
}

/// Returns for each piece of a tetrahedron with its last two corners swapped the piece at the same place without, and
/// the order of its corners there.
fn mirrored_pieces(pieces: &[CellPiece]) -> Vec<(usize, [usize; 4])> {
    /// Largest difference of equal values, which are sums in another order.
    const SAME: f64 = 1e-9;
    let is_image = |p: &BasisValues, q: &BasisValues| {
        let mut swapped = [0, 1, 3, 2].iter().zip(q);
        swapped.all(|(&k, q)| (p[k] - q).abs() < SAME)
    };
    let order = |i: usize, j: usize| {
        let own = pieces[i].values.iter();
        let corner = |q: &BasisValues| own.clone().position(|p| is_image(p, q));
        let [a, b, c, d] = [0, 1, 2, 3].map(|k| corner(&pieces[j].values[k]));
        Some([a?, b?, c?, d?])
    };
    let all = 0..pieces.len();
    let of = |i: usize| all.clone().find_map(|j| Some((j, order(i, j)?)));
    let found: Option<Vec<_>> = all.clone().map(of).collect();
    found.unwrap_or_default()
}

/// Bound on the distances in a cell, from the exact distance at its centre.
struct DistanceBound<'a> {
    centre: Vec3,
    at_centre: f64,
    exact: &'a dyn Fn(Vec3) -> f64,
}

impl<'a> DistanceBound<'a> {
    fn new(corners: &[Vec3], exact: &'a dyn Fn(Vec3) -> f64) -> Self {
        let centre = corners.iter().sum::<Vec3>() / corners.len() as f64;
        Self {
            centre,
            at_centre: exact(centre),
            exact,
        }
    }

    /// Returns a distance accurate enough to tell whether the boundary comes nearer than `radius`: a distance changes
    /// no faster than the point moves.
    fn distance(&self, p: Vec3, radius: f64) -> f64 {
        let least = self.at_centre.abs() - (p - self.centre).norm();
        if least >= radius {
            least.copysign(self.at_centre)
        } else {
            (self.exact)(p)
        }
    }
}

/// Samples per tetrahedron that the boundary may cut. Each share is accurate to a tenth, and their sum much more so, as
/// every tetrahedron has its own points.
const CUT_SAMPLES: usize = 10;

/// Returns the share of a tetrahedron that is owned flesh. Each `number` has its own samples, so that their errors do
/// not repeat in the next tetrahedron; `order` is that of the corners for them.
fn owned_share(
    x: &[Vec3; 4],
    (number, order): (usize, [usize; 4]),
    owns: &dyn Fn(Vec3) -> bool,
    bound: &DistanceBound,
) -> f64 {
    let centre = (x[0] + x[1] + x[2] + x[3]) / 4.0;
    let radius = x.iter().map(|v| (v - centre).norm()).fold(0.0, f64::max);
    let d = bound.distance(centre, radius);
    if d >= radius {
        return 0.0;
    }
    if d <= -radius {
        // The boundary does not pass through: the whole is one piece of flesh with one owner.
        return if owns(centre) { 1.0 } else { 0.0 };
    }
    let x = &order.map(|k| x[k]);
    let first = CUT_SAMPLES * number;
    let inside = (first..first + CUT_SAMPLES)
        .filter(|&i| owns(sample_point(x, i)))
        .count();
    inside as f64 / CUT_SAMPLES as f64
}

/// Returns evenly spread points: a rank-1 lattice in the unit cube, folded into the tetrahedron by sorting.
fn sample_point(x: &[Vec3; 4], i: usize) -> Vec3 {
    // Powers of the inverse of g with g⁴ = g + 1, the plastic constant's relative in three dimensions, spread evenly.
    const GENERATOR: [f64; 3] = [
        0.819_172_513_396_164_5,
        0.671_043_606_703_789_2,
        0.549_700_477_901_970_3,
    ];
    let mut u = GENERATOR.map(|a| (0.5 + a * (i as f64 + 1.0)).fract());
    u.sort_by(f64::total_cmp);
    x[0] * u[0] + x[1] * (u[1] - u[0]) + x[2] * (u[2] - u[1]) + x[3] * (1.0 - u[2])
}
