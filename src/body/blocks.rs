// SPDX-License-Identifier: MIT OR Apache-2.0
//! Integrals of all cells in flat arrays.

use crate::elasticity::CellIntegrals;
use crate::lattice::Cell;
use crate::range::is_kept;
use crate::{Mat3, Vec3};

/// The integrals of all cells, concatenated.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Blocks {
    corner_starts: Vec<u32>,
    pair_starts: Vec<u32>,
    corners: Vec<u32>,
    stiffness: Vec<Mat3>,
    weight: Vec<f64>,
    volume: Vec<f64>,
    fraction: Vec<f64>,
}

/// One cell of [`Blocks`].
#[derive(Debug, Clone, Copy)]
pub struct CellBlocks<'a> {
    /// Lattice vertices.
    pub corners: &'a [u32],
    /// Stiffness of corner pairs a ≤ b, row by row, N/m.
    pub stiffness: &'a [Mat3],
    /// `∫ ρ φ_a`, kg.
    pub weight: &'a [f64],
    /// Index of the cell's first pair among all pairs.
    pub first_pair: usize,
}

impl Blocks {
    /// Returns these blocks with a stiffness multiplied by `factor`.
    pub(super) fn stiffened(&self, factor: f64) -> Self {
        Self {
            stiffness: self.stiffness.iter().map(|b| b * factor).collect(),
            ..self.clone()
        }
    }

    pub(super) fn new(cells: &[Cell], integrals: &[CellIntegrals]) -> Self {
        let mut all = Self {
            corner_starts: vec![0],
            pair_starts: vec![0],
            corners: Vec::new(),
            stiffness: Vec::new(),
            weight: Vec::new(),
            volume: integrals.iter().map(|c| c.volume).collect(),
            fraction: integrals.iter().map(|c| c.fraction).collect(),
        };
        for (cell, c) in cells.iter().zip(integrals) {
            all.corners.extend(cell.corners());
            all.weight.extend(&c.weight);
            all.stiffness.extend(&c.stiffness);
            all.corner_starts.push(all.corners.len() as u32);
            all.pair_starts.push(all.stiffness.len() as u32);
        }
        all
    }

    /// Returns whether these are valid integrals of `cells`; checks data read from outside.
    pub(super) fn fits(&self, cells: &[Cell]) -> bool {
        let starts_fit = |starts: &[u32], count: fn(usize) -> usize, len: usize| {
            starts.first() == Some(&0)
                && starts.len() == cells.len() + 1
                && starts.last().is_some_and(|&s| s as usize == len)
                && starts.windows(2).zip(cells).all(|(s, cell)| {
                    s[0].checked_add(count(cell.corners().len()) as u32) == Some(s[1])
                })
        };
        starts_fit(&self.corner_starts, |n| n, self.corners.len())
            && starts_fit(&self.pair_starts, |n| n * (n + 1) / 2, self.stiffness.len())
            && self.weight.len() == self.corners.len()
            && self.volume.len() == cells.len()
            && self.fraction.len() == cells.len()
            && cells.iter().flat_map(|c| c.corners()).eq(&self.corners)
            && self.stiffness.iter().flatten().all(|&x| is_kept(x))
            && self.volume.iter().all(|&x| x >= 0.0 && is_kept(x))
            && [&self.weight, &self.fraction]
                .into_iter()
                .flatten()
                .all(|&x| is_kept(x))
    }

    /// Returns the number of cells.
    pub fn len(&self) -> usize {
        self.volume.len()
    }

    /// Returns whether there are no cells.
    pub fn is_empty(&self) -> bool {
        self.volume.is_empty()
    }

    /// Returns one cell.
    #[inline]
    pub fn cell(&self, c: usize) -> CellBlocks<'_> {
        let corners = self.corner_starts[c] as usize..self.corner_starts[c + 1] as usize;
        let pairs = self.pair_starts[c] as usize..self.pair_starts[c + 1] as usize;
        CellBlocks {
            corners: &self.corners[corners.clone()],
            weight: &self.weight[corners],
            first_pair: pairs.start,
            stiffness: &self.stiffness[pairs],
        }
    }

    /// Returns all cells in order.
    pub fn iter(&self) -> impl Iterator<Item = CellBlocks<'_>> {
        (0..self.len()).map(|c| self.cell(c))
    }

    /// Returns the volume of flesh per cell, m³.
    pub fn volumes(&self) -> &[f64] {
        &self.volume
    }

    /// Returns the share of each cell that is flesh, 0 to 1.
    pub fn fractions(&self) -> &[f64] {
        &self.fraction
    }
}

impl CellBlocks<'_> {
    /// Returns `S z`, with one vector per corner.
    #[inline]
    pub fn multiply(&self, z: &[Vec3; 8]) -> [Vec3; 8] {
        let n = self.corners.len();
        let mut y = [Vec3::zeros(); 8];
        let mut pair = 0;
        for a in 0..n {
            y[a] += self.stiffness[pair] * z[a];
            pair += 1;
            for b in a + 1..n {
                let s = &self.stiffness[pair];
                y[a] += s * z[b];
                y[b] += s.tr_mul(&z[a]);
                pair += 1;
            }
        }
        y
    }
}
