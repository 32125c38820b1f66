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
//! share of flesh ([`super::flesh`]). Cells with next to no flesh would make the system near singular.
//! So a cell counts for at least [`STIFFNESS_FLOOR`] of its volume in stiffness, and for [`MASS_FLOOR`] in mass and weight: thin
//! limbs, which fill little of their cells, gain hardly any weight. With details so does each element that has flesh at all, and each of its
//! pieces counts for at least [`PIECE_FLOOR`] in stiffness.
//! The reported volume is that of the flesh alone.

use super::flesh::{FleshDomain, flesh_shares};
use super::paint::{PaintFactors, PaintMap};
use super::{Elements, Material};
use crate::basis::{Basis, BasisValues, CellPiece, FleshShares};
use crate::progress::{Cancelled, Progress};
use crate::{Mat3, Vec3};
use rayon::prelude::*;

/// Smallest share of a cell that counts as flesh in its stiffness. In systems that are factored its size hardly
/// matters.
pub const STIFFNESS_FLOOR: f64 = 0.05;
/// Smallest share of a piece that counts as flesh in the stiffness of an element with details that has flesh. A hundredth holds a flake as
/// firmly as flesh a hundred times as soft; none lets some details of a frog turn about an edge without force.
pub const PIECE_FLOOR: f64 = 0.01;
/// Smallest share of a cell that counts as flesh in mass and weight. Limbs that fill a hundredth of their cells still keep their own weight.
pub const MASS_FLOOR: f64 = 0.005;

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
    /// Lamé's first parameter of each piece, Pa.
    pub lame: Vec<f64>,
    /// Shear modulus of each piece, Pa.
    pub shear: Vec<f64>,
}

impl CellIntegrals {
    /// Starts without pieces, for `n` functions.
    fn zero(n: usize) -> Self {
        Self {
            volume: 0.0,
            fraction: 0.0,
            mass: vec![0.0; n * (n + 1) / 2],
            stiffness: vec![Mat3::zeros(); n * (n + 1) / 2],
            weight: vec![0.0; n],
            pieces: Vec::new(),
            gradients: Vec::new(),
            lame: Vec::new(),
            shear: Vec::new(),
        }
    }

    /// Adds a piece that represents the volumes `w` of stiff and `heavy` of heavy flesh, m³.
    fn add_piece(&mut self, piece: &CellPiece, (w, heavy): (f64, f64), moduli: &Moduli) {
        let &Moduli {
            lame,
            shear,
            density,
        } = moduli;
        let n = self.weight.len();
        let sum = |a: usize| -> f64 { piece.values.iter().map(|s| s[a]).sum() };
        let sums: BasisValues = (0..n).map(sum).collect();
        let mut pair = 0;
        for a in 0..n {
            self.weight[a] += density * heavy / 4.0 * sums[a];
            for b in a..n {
                let products: f64 = piece.values.iter().map(|s| s[a] * s[b]).sum();
                self.mass[pair] += density * heavy / 20.0 * (sums[a] * sums[b] + products);
                let (ga, gb) = (piece.gradients[a], piece.gradients[b]);
                self.stiffness[pair] += (ga * gb.transpose() * lame
                    + gb * ga.transpose() * shear
                    + Mat3::identity() * (shear * ga.dot(&gb)))
                    * w;
                pair += 1;
            }
        }
        self.pieces.push(w);
        self.gradients.extend(&piece.gradients);
        self.lame.push(lame);
        self.shear.push(shear);
    }

    /// Collects the pieces of all cells.
    pub fn elements(basis: &Basis, integrals: &[Self]) -> Elements {
        let mut elements = Elements::with_details(basis.len(), basis.coarse_len());
        for (functions, c) in basis.all_functions().zip(integrals) {
            let gradients = c.gradients.chunks_exact(functions.len());
            let pieces = c
                .pieces
                .iter()
                .zip(gradients)
                .zip(c.lame.iter().zip(&c.shear));
            elements.push(
                functions,
                pieces.map(
                    |((&volume, gradients), (&lame, &shear))| super::ElementPiece {
                        gradients,
                        volume,
                        lame,
                        shear,
                    },
                ),
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
        for moduli in [&mut self.lame, &mut self.shear] {
            // Those of a body without details are the same everywhere in a cell.
            if moduli.iter().any(|&x| x != moduli[0]) {
                let parts = self.pieces.iter().zip(&*moduli);
                moduli[0] = parts.map(|(w, x)| w * x).sum::<f64>() / whole;
            }
            moduli.truncate(1);
        }
        self.pieces = vec![whole];
        self.gradients = mean.to_vec();
    }
}

/// Integrates all elements over the flesh inside a domain, by `level` subdivisions of each cell.
///
/// # Errors
/// [`Cancelled`] if the progress stops it.
pub fn integrate(
    basis: &Basis,
    flesh: &dyn FleshDomain,
    material: &Material,
    painted: &PaintMap,
    level: usize,
    progress: &dyn Progress,
) -> Result<Vec<CellIntegrals>, Cancelled> {
    let shares = flesh_shares(basis.lattice(), flesh, level, progress)?;
    Ok(integrate_shares(basis, &shares, material, painted))
}

/// Integrates all elements over known shares of flesh.
pub fn integrate_shares(
    basis: &Basis,
    shares: &FleshShares,
    material: &Material,
    painted: &PaintMap,
) -> Vec<CellIntegrals> {
    let subdivision = basis.subdivision(shares.level);
    let cells = (0..shares.cells.len() as u32).into_par_iter();
    let of_cell = |cell: u32| {
        let elements = basis.elements(cell).map(|e| subdivision.pieces(e));
        CellFlesh {
            basis,
            cell,
            elements: elements.collect(),
            shares: &shares.cells[cell as usize],
        }
        .integrate(material, painted)
    };
    cells.flat_map_iter(of_cell).collect()
}

/// Pieces of the elements of one cell, and their shares of flesh.
struct CellFlesh<'a> {
    basis: &'a Basis,
    cell: u32,
    elements: Vec<Vec<CellPiece<'a>>>,
    shares: &'a [f64],
}

impl CellFlesh<'_> {
    fn integrate(&self, material: &Material, painted: &PaintMap) -> Vec<CellIntegrals> {
        let pieces = || self.elements.iter().flatten().zip(self.shares);
        let whole: f64 = pieces().map(|(p, _)| p.volume).sum();
        let volume: f64 = pieces().map(|(p, share)| p.volume * share).sum();
        let fraction = if whole > 0.0 { volume / whole } else { 0.0 };
        // The amount below a floor is spread evenly over the cell, and over each element with flesh: details may live there alone.
        let lifts = lifts(fraction);
        let mut rest = self.shares;
        let element = |pieces: &Vec<CellPiece>| {
            let (own, others) = rest.split_at(pieces.len());
            rest = others;
            self.integrate_element(pieces, own, lifts, (material, painted))
        };
        self.elements.iter().map(element).collect()
    }

    fn integrate_element(
        &self,
        pieces: &[CellPiece],
        shares: &[f64],
        lifts: [f64; 2],
        (material, painted): (&Material, &PaintMap),
    ) -> CellIntegrals {
        let n = pieces.first().map_or(0, |p| p.gradients.len());
        let whole: f64 = pieces.iter().map(|p| p.volume).sum();
        let volume: f64 = pieces
            .iter()
            .zip(shares)
            .map(|(p, share)| p.volume * share)
            .sum();
        let mut out = CellIntegrals::zero(n);
        out.volume = volume;
        out.fraction = if whole > 0.0 { volume / whole } else { 0.0 };
        let [mut lift, mut ballast] = lifts;
        if out.fraction > 0.0 {
            let own = self::lifts(out.fraction);
            (lift, ballast) = (lift.max(own[0]), ballast.max(own[1]));
        }
        // A flake of flesh that hangs on the rest by an edge or a vertex would swing there without force.
        let floor = match self.basis.levels() > 0 && out.fraction > 0.0 {
            true => PIECE_FLOOR,
            false => 0.0,
        };
        for (piece, share) in pieces.iter().zip(shares) {
            let w = piece.volume * (share + lift).max(floor);
            if w == 0.0 {
                continue;
            }
            let heavy = piece.volume * (share + ballast);
            let moduli = Moduli::new(material, &self.factors(painted, piece));
            out.add_piece(piece, (w, heavy), &moduli);
        }
        if n == 4 {
            out.merge();
        }
        out
    }

    /// Returns the painted factors of a piece: those of the cell, or those at the piece's centre.
    fn factors(&self, painted: &PaintMap, piece: &CellPiece) -> PaintFactors {
        let corners = self.basis.lattice().cells()[self.cell as usize].corners();
        let mean = |i: usize| piece.values.iter().map(|values| values[i]).sum::<f64>() / 4.0;
        let values = corners.iter().enumerate().map(|(i, &v)| (v, mean(i)));
        painted.factors(self.cell, values)
    }
}

/// Returns the amounts by which the share of flesh lies below the floors of stiffness and mass.
fn lifts(fraction: f64) -> [f64; 2] {
    [STIFFNESS_FLOOR, MASS_FLOOR].map(|floor| (floor - fraction).max(0.0))
}

/// Material of one piece.
struct Moduli {
    lame: f64,
    shear: f64,
    density: f64,
}

impl Moduli {
    fn new(material: &Material, painted: &PaintFactors) -> Self {
        let poisson = (material.poisson() * painted.poisson).clamp(-0.99, 0.495);
        let young = material.young() * painted.stiffness;
        Self {
            shear: young / (2.0 * (1.0 + poisson)),
            lame: young * poisson / ((1.0 + poisson) * (1.0 - 2.0 * poisson)),
            density: material.density() * painted.density,
        }
    }
}

#[cfg(test)]
mod tests;
