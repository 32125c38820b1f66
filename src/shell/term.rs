// SPDX-License-Identifier: MIT OR Apache-2.0
//! A shell's energy as an energy term: what steps and balances minimise beside others.

use super::Shell;
use crate::Vec3;
use crate::solve::matrix::NodeMatrix;
use crate::solve::newton::{Forces, Rounded};
use crate::solve::{Assembly, Configuration, EnergyTerm, Pattern, Slot, SolveError};

/// A shell with the places of its blocks in a factorisation.
#[derive(Debug, Clone, Copy)]
pub struct ShellTerm<'a> {
    /// The shell.
    pub shell: &'a Shell,
    /// Where its entries go: [`entry_slots`](Pattern::entry_slots) of its [`solve_pattern`](Shell::solve_pattern).
    pub slots: &'a [Option<Slot>],
}

impl Shell {
    /// The unknowns and the symbolic factorisation of systems of this shell, some of its vertices held.
    ///
    /// # Errors
    /// [`SolveError::TooLarge`] when indices or memory do not suffice.
    pub fn solve_pattern(&self, held: &[bool]) -> Result<Pattern, SolveError> {
        Pattern::new([], &self.pattern.scalars(), held, &self.vertices)
    }
}

/// Positions of all nodes.
fn positions(at: &Configuration) -> Vec<Vec3> {
    (0..at.displacements.len())
        .map(|v| at.position(v))
        .collect()
}

impl EnergyTerm for ShellTerm<'_> {
    fn add_value(&self, at: &Configuration, sum: &mut Rounded) {
        let own = self.shell.rounded_energy(&positions(at));
        sum.value += own.value;
        sum.rounding += own.rounding;
    }

    fn add_gradient(&self, at: &Configuration, gradient: &mut [Vec3]) -> Forces {
        self.shell.sums(&positions(at)).add_gradient(gradient)
    }

    fn add_hessian(&self, at: &Configuration, convex: bool, into: &mut Assembly) {
        let blocks = self.shell.sums(&positions(at)).hessian(convex);
        for (slot, block) in self.slots.iter().zip(&blocks) {
            // Entries below the diagonal have none.
            into.add_at(*slot, block);
        }
    }

    fn add_product(&self, at: &Configuration, convex: bool, x: &[Vec3], y: &mut [Vec3]) {
        let shell = self.shell;
        let matrix = shell
            .pattern
            .matrix(shell.sums(&positions(at)).hessian(convex));
        for (row, y) in y.iter_mut().enumerate() {
            *y += matrix.row_times(row, x);
        }
    }

    fn visit_pairs(&self, visit: &mut dyn FnMut(usize, usize)) {
        for row in 0..self.shell.nodes() {
            for &column in self.shell.pattern.row(row).1 {
                visit(row, column as usize);
            }
        }
    }
}
