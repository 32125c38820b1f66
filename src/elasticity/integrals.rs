// SPDX-License-Identifier: MIT OR Apache-2.0
//! Mass, stiffness and gravity of each cell, integrated over its flesh. [capell2002, §3.3]
//!
//! A cell is subdivided `level` times and cut into tetrahedra T with corners v_i, on which the cell's
//! functions φ_a are linear with constant gradients g_a. With w_T = |T| · (share of T that is flesh):
//!
//! - mass `M_ab = Σ ρ w_T/20 Σ_ij φ_a(v_i) φ_b(v_j) (1 + δ_ij)`
//! - stiffness `S_ab = Σ w_T (λ g_a g_bᵀ + G g_b g_aᵀ + G (g_a·g_b) I)`
//! - weight `f_a = Σ ρ w_T/4 Σ_i φ_a(v_i)`, to be multiplied by the acceleration of gravity
//!
//! Deviations: the paper keeps cut tetrahedra whole, which overestimates the volume (an error of the paper). Here each counts by its
//! share of flesh, sampled at a fixed set of points. Cells with next to no flesh would make the system near singular.
//! So a cell counts for at least [`STIFFNESS_FLOOR`] of its volume in stiffness, and for [`MASS_FLOOR`] in mass and weight: thin
//! limbs, which fill little of their cells, gain hardly any weight. The reported volume is that of the flesh alone.

use super::{Elements, Material};
use crate::basis::{Basis, BasisValues, CellPiece};
use crate::lattice::Lattice;
use crate::progress::{Cancelled, Progress, report_progress};
use crate::surface::Surface;
use crate::{Mat3, Vec3};
use rayon::prelude::*;

/// Smallest share of a cell that counts as flesh in its stiffness. In systems that are factored its size hardly
/// matters.
pub const STIFFNESS_FLOOR: f64 = 0.05;
/// Smallest share of a cell that counts as flesh in mass and weight. Limbs that fill a hundredth of their cells still keep their own weight.
pub const MASS_FLOOR: f64 = 0.005;

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

/// Painted factors of one cell on the material's parameters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PaintFactors {
    /// Factor on Young's modulus.
    pub stiffness: f64,
    /// Factor on the density.
    pub density: f64,
    /// Factor on Poisson's ratio.
    pub poisson: f64,
}

impl Default for PaintFactors {
    fn default() -> Self {
        Self {
            stiffness: 1.0,
            density: 1.0,
            poisson: 1.0,
        }
    }
}

/// Integrals of one cell. Blocks belong to pairs a ≤ b of its functions, row by row: (0,0), (0,1), …, (1,1), …
#[derive(Debug, Clone, PartialEq)]
pub struct CellIntegrals {
    /// Volume of flesh, m³, not floored.
    pub volume: f64,
    /// Share of the cell's volume that is flesh, not floored.
    pub fraction: f64,
    /// `∫ ρ φ_a φ_b`, kg, per pair.
    pub mass: Vec<f64>,
    /// Stiffness blocks, N/m, per pair; the block of (b, a) is the transpose.
    pub stiffness: Vec<Mat3>,
    /// `∫ ρ φ_a`, kg, per function.
    pub weight: Vec<f64>,
    /// Volumes of the pieces with constant gradients over which `stiffness` is summed, m³, [`STIFFNESS_FLOOR`] included.
    pub pieces: Vec<f64>,
    /// Gradients of the functions on each piece, consecutively, 1/m.
    pub gradients: Vec<Vec3>,
    /// Lamé's first parameter, Pa.
    pub lame: f64,
    /// Shear modulus, Pa.
    pub shear: f64,
}

impl CellIntegrals {
    /// Collects the pieces of all cells.
    pub fn elements(basis: &Basis, integrals: &[Self]) -> Elements {
        let mut elements = Elements::new(basis.len());
        for (functions, c) in basis.all_functions().zip(integrals) {
            let gradients = c.gradients.chunks_exact(functions.len());
            let pieces = c.pieces.iter().zip(gradients);
            elements.push(
                functions,
                pieces.map(|(&volume, gradients)| super::ElementPiece {
                    gradients,
                    volume,
                    lame: c.lame,
                    shear: c.shear,
                }),
            );
        }
        elements
    }

    /// Merges all pieces into one: the four functions of a tetrahedron's vertices have constant gradients.
    fn merge(&mut self) {
        let whole: f64 = self.pieces.iter().sum();
        if whole <= 0.0 {
            return;
        }
        let mut mean = [Vec3::zeros(); 4];
        for (w, gradients) in self.pieces.iter().zip(self.gradients.chunks_exact(4)) {
            for (mean, g) in mean.iter_mut().zip(gradients) {
                *mean += g * (w / whole);
            }
        }
        self.pieces = vec![whole];
        self.gradients = mean.to_vec();
    }
}

/// Integrates all cells; `painted` holds one entry per cell, or is empty.
///
/// # Errors
/// [`Cancelled`] if the progress stops it.
pub fn integrate(
    basis: &Basis,
    flesh: &dyn FleshDomain,
    material: &Material,
    painted: &[PaintFactors],
    level: usize,
    progress: &dyn Progress,
) -> Result<Vec<CellIntegrals>, Cancelled> {
    let subdivision = basis.subdivision(level);
    let cells = basis.lattice().cells().len() as u32;
    let mut all = Vec::with_capacity(cells as usize);
    let mut chunk = Vec::new();
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
                let painted = painted.get(c as usize).copied().unwrap_or_default();
                integrate_cell(
                    c as usize,
                    &basis.lattice().corners(c),
                    subdivision.pieces(c),
                    &|p| flesh.contains(p) && flesh.owner(c, p) == c,
                    &|p| flesh.signed_distance(p),
                    material,
                    painted,
                )
            })
            .collect_into_vec(&mut chunk);
        all.append(&mut chunk);
    }
    Ok(all)
}

fn integrate_cell<'a>(
    number: usize,
    corners: &[Vec3],
    pieces: impl ExactSizeIterator<Item = CellPiece<'a>>,
    owns: &dyn Fn(Vec3) -> bool,
    distance: &dyn Fn(Vec3) -> f64,
    material: &Material,
    painted: PaintFactors,
) -> CellIntegrals {
    let bound = DistanceBound::new(corners, distance);
    let count = pieces.len();
    let with_share = |(i, piece): (usize, CellPiece<'a>)| {
        let share = match piece.volume > 0.0 {
            true => owned_share(&piece.corners, number * count + i, owns, &bound),
            false => 0.0,
        };
        (piece, share)
    };
    let pieces: Vec<(CellPiece<'a>, f64)> = pieces.enumerate().map(with_share).collect();
    let whole: f64 = pieces.iter().map(|(p, _)| p.volume).sum();
    let volume: f64 = pieces.iter().map(|(p, share)| p.volume * share).sum();
    let fraction = if whole > 0.0 { volume / whole } else { 0.0 };
    // The amount below a floor is spread evenly over the cell.
    let [lift, ballast] = [STIFFNESS_FLOOR, MASS_FLOOR].map(|floor| (floor - fraction).max(0.0));

    let poisson = (material.poisson() * painted.poisson).clamp(-0.99, 0.495);
    let young = material.young() * painted.stiffness;
    let density = material.density() * painted.density;
    let shear = young / (2.0 * (1.0 + poisson));
    let lame = young * poisson / ((1.0 + poisson) * (1.0 - 2.0 * poisson));

    let n = pieces.first().map_or(0, |(p, _)| p.gradients.len());
    let mut out = CellIntegrals {
        volume,
        fraction,
        mass: vec![0.0; n * (n + 1) / 2],
        stiffness: vec![Mat3::zeros(); n * (n + 1) / 2],
        weight: vec![0.0; n],
        pieces: Vec::new(),
        gradients: Vec::new(),
        lame,
        shear,
    };
    for (piece, share) in &pieces {
        let w = piece.volume * (share + lift);
        if w == 0.0 {
            continue;
        }
        let heavy = piece.volume * (share + ballast);
        let sum = |a: usize| -> f64 { piece.values.iter().map(|s| s[a]).sum() };
        let sums: BasisValues = (0..n).map(sum).collect();
        let mut pair = 0;
        for a in 0..n {
            out.weight[a] += density * heavy / 4.0 * sums[a];
            for b in a..n {
                let products: f64 = piece.values.iter().map(|s| s[a] * s[b]).sum();
                out.mass[pair] += density * heavy / 20.0 * (sums[a] * sums[b] + products);
                let (ga, gb) = (piece.gradients[a], piece.gradients[b]);
                out.stiffness[pair] += (ga * gb.transpose() * lame
                    + gb * ga.transpose() * shear
                    + Mat3::identity() * (shear * ga.dot(&gb)))
                    * w;
                pair += 1;
            }
        }
        out.pieces.push(w);
        out.gradients.extend(&piece.gradients);
    }
    if n == 4 {
        out.merge();
    }
    out
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
/// not repeat in the next tetrahedron.
fn owned_share(
    x: &[Vec3; 4],
    number: usize,
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

#[cfg(test)]
mod tests;
