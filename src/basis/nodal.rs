// SPDX-License-Identifier: MIT OR Apache-2.0
//! Values at centres in place of coefficients, for sums over elements and for solvers.
//!
//! A displacement is `Σ_a φ_a(x) x_a`. Its *nodal values* are those at the centres of the functions, `y_a = Σ_b T_ab x_b` with
//! `T_ab = φ_b(centre of a)`. Finer functions are zero at the centres of coarser ones: T is triangular with ones on its diagonal. In nodal
//! values the displacement is `Σ_b ψ_b(x) y_b` with the *nodal functions* `ψ_b = Σ_a φ_a (T⁻¹)_ab`. They span the same space. ψ_b is not zero
//! on the elements around its centre alone, and on those of vertices without a function of their own that follow it by means. Where a
//! function of level 0 meets each detail of its cells, ψ_b meets its neighbours: the matrices have a fraction of the entries.
//!
//! Vectors of displacements, velocities and accelerations transform by T, forces by `T⁻ᵀ`, matrices by `T⁻ᵀ A T⁻¹`.

use super::Basis;
use super::values::BasisRow;
use crate::Vec3;
use crate::solve::{NodeMatrix, ScalarMatrix};

/// Smallest entry of T⁻¹. Means of eight at three levels are 2⁻⁹, and rounding leaves 1e-15.
const MIN_ENTRY: f64 = 1e-12;

/// The transform between coefficients and nodal values.
#[derive(Debug, Clone)]
pub struct NodalValues {
    /// T, and T⁻¹.
    values: ScalarMatrix,
    inverse: ScalarMatrix,
}

impl NodalValues {
    /// Computes the transform of a basis.
    pub fn new(basis: &Basis) -> Self {
        let n = basis.len();
        let (mut values, mut inverse) = (Rows::default(), Rows::default());
        let mut sums = vec![0.0; n];
        let mut columns: Vec<u32> = Vec::new();
        for a in 0..n as u32 {
            let mut row = basis.centre_row(a as usize);
            row.sort_unstable_by_key(|&(b, _)| b);
            // Substitution: all other functions of the row are coarser, and their rows known.
            columns.push(a);
            sums[a as usize] = 1.0;
            for &(b, value) in row.iter().filter(|&&(b, _)| b != a) {
                for (c, entry) in inverse.row(b) {
                    columns.push(c);
                    sums[c as usize] -= value * entry;
                }
            }
            columns.sort_unstable();
            columns.dedup();
            for c in columns.drain(..) {
                let sum = std::mem::take(&mut sums[c as usize]);
                if sum.abs() > MIN_ENTRY {
                    inverse.push(c, sum);
                }
            }
            row.iter().for_each(|&(b, value)| values.push(b, value));
            values.end_row();
            inverse.end_row();
        }
        Self {
            values: values.into_matrix(n),
            inverse: inverse.into_matrix(n),
        }
    }

    /// Returns the transform between coefficients and values of the `kept` functions (ascending) alone, where all others stay zero.
    pub fn restrict_to(&self, kept: &[u32]) -> Self {
        Self {
            values: self.values.restrict_to(kept),
            inverse: self.inverse.restrict_to(kept),
        }
    }

    /// Returns whether the `held` functions alone determine the values at their centres.
    pub fn separates(&self, held: &[bool]) -> bool {
        let mut apart = true;
        let columns = self.values.indices();
        for a in (0..held.len()).filter(|&a| held[a]) {
            let row = &columns[self.values.row_range(a)];
            apart &= row.iter().all(|&b| held[b as usize]);
        }
        apart
    }

    /// Returns T⁻¹.
    pub fn inverse(&self) -> &ScalarMatrix {
        &self.inverse
    }

    /// Writes the nodal values of coefficients `x` to `y`.
    pub fn to_values(&self, x: &[Vec3], y: &mut [Vec3]) {
        self.values.times(x, y);
    }

    /// Writes the coefficients of nodal values `y` to `x`.
    pub fn to_coefficients(&self, y: &[Vec3], x: &mut [Vec3]) {
        self.inverse.times(y, x);
    }

    /// Writes the forces on nodal values, given `forces` on coefficients, to `out`.
    pub fn to_nodal_forces(&self, forces: &[Vec3], out: &mut [Vec3]) {
        out.fill(Vec3::zeros());
        for (a, force) in forces.iter().enumerate() {
            for i in self.inverse.row_range(a) {
                out[self.inverse.indices()[i] as usize] += force * self.inverse.data()[i];
            }
        }
    }

    /// Returns `T⁻ᵀ A T⁻¹` of a matrix A of coefficients. Entries that cancel are left as rounding errors.
    pub fn transform_matrix(&self, matrix: &ScalarMatrix) -> ScalarMatrix {
        let back: ScalarMatrix = self.inverse.transpose_view().to_csr();
        &(&back * matrix) * &self.inverse
    }
}

impl Basis {
    /// Returns the functions that are not zero at a function's centre, with their values there: its own, one, and those of coarser levels.
    pub fn centre_row(&self, function: usize) -> BasisRow {
        match (&self.details, function.checked_sub(self.coarse_len())) {
            (Some(details), Some(detail)) => details.centre_row(&self.lattice, detail),
            _ => std::iter::once((function as u32, 1.0)).collect(),
        }
    }
}

/// Rows of a matrix that grows.
struct Rows {
    starts: Vec<u32>,
    columns: Vec<u32>,
    entries: Vec<f64>,
}

impl Default for Rows {
    fn default() -> Self {
        Self {
            starts: vec![0],
            columns: Vec::new(),
            entries: Vec::new(),
        }
    }
}

impl Rows {
    fn push(&mut self, column: u32, entry: f64) {
        self.columns.push(column);
        self.entries.push(entry);
    }

    fn end_row(&mut self) {
        self.starts.push(self.columns.len() as u32);
    }

    fn row(&self, row: u32) -> impl Iterator<Item = (u32, f64)> + '_ {
        let run = self.starts[row as usize] as usize..self.starts[row as usize + 1] as usize;
        let columns = self.columns[run.clone()].iter().copied();
        columns.zip(self.entries[run].iter().copied())
    }

    fn into_matrix(self, n: usize) -> ScalarMatrix {
        ScalarMatrix::new((n, n), self.starts, self.columns, self.entries)
    }
}
