// SPDX-License-Identifier: MIT OR Apache-2.0
//! A shell as an [`EnergyTerm`], to be minimised together with other terms in time steps and static solves.

use super::Shell;
use crate::solve::matrix::NodeMatrix;
use crate::solve::newton::{ForceMagnitude, RoundedSum};
use crate::solve::{Assembly, BlockSlot, Configuration, EnergyTerm, Pattern, SolveError};
use crate::{Mat3, Vec3};

/// A shell with the slots of its blocks in a factorisation.
#[derive(Debug, Clone, Copy)]
pub struct ShellTerm<'a> {
    /// The shell.
    pub shell: &'a Shell,
    /// Slot of each Hessian entry: the [`entry_slots`](Pattern::entry_slots) of the shell's [`solve_pattern`](Shell::solve_pattern).
    pub slots: &'a [Option<BlockSlot>],
    /// Isotropic increase of each diagonal block of the convex Hessian, as a share of the block's mean. Stiffnesses of crumpled
    /// shells are so far apart that rounding would make it indefinite; 1e-9 mostly prevents that. Larger values shorten steps, most
    /// at the stiffest vertices (Marquardt 1963).
    pub damping: f64,
}

impl Shell {
    /// Analyses the sparsity of this shell's linear systems (symbolic factorisation) with the vertices in `held` fixed.
    ///
    /// # Errors
    /// [`SolveError::TooLarge`] when indices or memory run out.
    pub fn solve_pattern(&self, held: &[bool]) -> Result<Pattern, SolveError> {
        Pattern::new([], &self.pattern.scalars(), held, &self.vertices)
    }
}

impl ShellTerm<'_> {
    /// Returns the Hessian's blocks in the order of its entries.
    fn blocks(&self, at: &Configuration, convex: bool) -> Vec<Mat3> {
        let shell = self.shell;
        let mut blocks = shell.sums(&positions(at)).hessian(convex);
        if convex && self.damping > 0.0 {
            for node in 0..shell.node_count() {
                if let Some(entry) = shell.pattern.diagonal(node) {
                    let raised = blocks[entry].trace() / 3.0 * self.damping;
                    blocks[entry] += Mat3::from_diagonal_element(raised);
                }
            }
        }
        blocks
    }
}

/// Returns the positions of all nodes.
fn positions(at: &Configuration) -> Vec<Vec3> {
    (0..at.displacements.len())
        .map(|v| at.position(v))
        .collect()
}

impl EnergyTerm for ShellTerm<'_> {
    fn add_value(&self, at: &Configuration, sum: &mut RoundedSum) {
        let own = self.shell.rounded_energy(&positions(at));
        sum.value += own.value;
        sum.rounding += own.rounding;
    }

    fn add_gradient(&self, at: &Configuration, gradient: &mut [Vec3]) -> ForceMagnitude {
        self.shell.sums(&positions(at)).add_gradient(gradient)
    }

    fn add_hessian(&self, at: &Configuration, convex: bool, into: &mut Assembly) {
        let blocks = self.blocks(at, convex);
        for (slot, block) in self.slots.iter().zip(&blocks) {
            // Entries below the diagonal have no slot.
            into.add_at(*slot, block);
        }
    }

    fn add_product(&self, at: &Configuration, convex: bool, x: &[Vec3], y: &mut [Vec3]) {
        let matrix = self.shell.pattern.matrix(self.blocks(at, convex));
        for (row, y) in y.iter_mut().enumerate() {
            *y += matrix.row_times(row, x);
        }
    }

    fn visit_pairs(&self, visit: &mut dyn FnMut(usize, usize)) {
        for row in 0..self.shell.node_count() {
            for &column in self.shell.pattern.row(row) {
                visit(row, column as usize);
            }
        }
    }
}
