// SPDX-License-Identifier: MIT OR Apache-2.0
//! A matrix that changes and is solved with a few times between changes: by its factor, or by [iterations](super::sweeps) where
//! they cost less.
//!
//! A factor costs `Σ c²` over the blocks c of its columns; an iteration costs the blocks of the matrix. For a human the former
//! grows with the square of the number of nodes, the latter linearly. Iterations that would cost more than the factor are
//! abandoned, and the matrix is factored instead.

use super::krylov::StoppingCriteria;
use super::sweeps::Sweeps;
use super::{SolveError, SparseCholesky, SymbolicCholesky};
use crate::Vec3;
use nalgebra::DMatrix;
use std::sync::Arc;

/// Residual of the iterations as a share of the right-hand side, in the norm of the preconditioner. An arm that swings for a
/// second, and a man who runs, then stay within 2e-7 of their size of the results by factors.
const DEFAULT_TOLERANCE: f64 = 1e-6;

/// Costs of a block of the factor and of a unit of `Σ c²`, in matrix blocks read by an iteration: 0.12 µs and 2.7 ns against 3.9
/// ns, fitted to a man of 386 and of 3,064 free nodes. At 7,208 they make the factor twice as expensive as it is, and iterations
/// cost a tenth of either.
const COST_PER_BLOCK: f64 = 30.0;
const COST_PER_SQUARE: f64 = 0.7;

/// A linear solver for the directions of Newton's method and the chord method.
pub trait LinearSolver {
    /// Returns the matrix, to be written.
    fn matrix(&mut self) -> &mut SparseCholesky;

    /// Adopts the current matrix for the next solutions.
    ///
    /// # Errors
    /// A matrix that proves not positive definite.
    fn adopt_matrix(&mut self) -> Result<(), SolveError>;

    /// Solves in place with the matrix adopted last, one vector per node.
    ///
    /// # Errors
    /// A matrix that proves not positive definite.
    fn solve(&mut self, x: &mut [Vec3]) -> Result<(), SolveError>;
}

impl LinearSolver for SparseCholesky {
    fn matrix(&mut self) -> &mut SparseCholesky {
        self
    }

    fn adopt_matrix(&mut self) -> Result<(), SolveError> {
        self.factor()
    }

    fn solve(&mut self, x: &mut [Vec3]) -> Result<(), SolveError> {
        SparseCholesky::solve(self, x);
        Ok(())
    }
}

/// A solver with a matrix and its factor, its sweeps, or both.
pub struct Inverse {
    matrix: SparseCholesky,
    /// Whether the factor is that of the adopted matrix.
    factored: bool,
    sweeps: Option<Box<Sweeps>>,
    sweeping: bool,
    stop: StoppingCriteria,
}

impl Inverse {
    /// Creates a solver that factors.
    ///
    /// # Errors
    /// [`SolveError::TooLarge`] when memory runs out.
    pub fn with_factor(symbolic: &Arc<SymbolicCholesky>) -> Result<Self, SolveError> {
        Ok(Self {
            matrix: SparseCholesky::new(symbolic.clone())?,
            factored: false,
            sweeps: None,
            sweeping: false,
            stop: StoppingCriteria {
                tolerance: DEFAULT_TOLERANCE,
                iterations: 0,
            },
        })
    }

    /// Creates a solver that iterates as long as this costs less than factoring.
    ///
    /// # Errors
    /// The errors of [`with_factor`](Self::with_factor).
    pub fn with_sweeps(symbolic: &Arc<SymbolicCholesky>) -> Result<Self, SolveError> {
        let sweeps = Sweeps::new(symbolic);
        let ordering = symbolic.ordering();
        let factor = COST_PER_BLOCK * ordering.blocks as f64 + COST_PER_SQUARE * ordering.cost;
        let mut inverse = Self::with_factor(symbolic)?;
        inverse.stop.iterations = (factor / sweeps.block_count().max(1) as f64) as usize;
        inverse.sweeps = Some(Box::new(sweeps));
        inverse.sweeping = true;
        Ok(inverse)
    }

    /// Switches iterations on or off. On has an effect only on a solver made by [`with_sweeps`](Self::with_sweeps).
    pub fn enable_sweeps(&mut self, on: bool) {
        self.sweeping = on && self.sweeps.is_some();
    }

    /// Sets the largest number of iterations of a solution, whatever factoring costs.
    pub fn set_limit(&mut self, iterations: usize) {
        self.stop.iterations = iterations;
    }

    /// Sets the residual that iterations leave, as a share of the right-hand side.
    pub fn set_tolerance(&mut self, tolerance: f64) {
        self.stop.tolerance = tolerance;
    }

    /// Solves in place with the matrix adopted last, one vector per node. Iterations start from `guess` (`None`: zero).
    ///
    /// # Errors
    /// A matrix that proves not positive definite.
    pub fn solve_from(&mut self, x: &mut [Vec3], guess: Option<&[Vec3]>) -> Result<(), SolveError> {
        if let (Some(sweeps), true, false) = (&mut self.sweeps, self.sweeping, self.factored)
            && sweeps.solve(x, guess, self.stop).is_some()
        {
            return Ok(());
        }
        self.factored_matrix()?.solve(x);
        Ok(())
    }

    /// Adopts the current matrix; the first solution that needs its factor computes it.
    pub fn postpone_factor(&mut self) {
        self.factored = false;
    }

    /// Returns the number of iterations of a solution with the current matrix; `None` where factoring costs less.
    pub fn measure_iterations(&mut self, x: &mut [Vec3]) -> Option<usize> {
        let sweeps = self.sweeps.as_mut()?;
        sweeps.set_matrix(self.matrix.values()).ok()?;
        sweeps.solve(x, None, self.stop)
    }

    /// Solves in place by the factor of the matrix adopted last, one vector per node. Computes the factor if it is missing. Where
    /// rounding makes factoring fail, solves by iterations.
    pub fn solve_by_factor(&mut self, x: &mut [Vec3]) {
        match self.factored_matrix() {
            Ok(matrix) => matrix.solve(x),
            Err(_) => self.solve_by_sweeps(x),
        }
    }

    /// Returns columns of the inverse at some nodes, as [`SparseCholesky::inverse_columns`], by the solver of
    /// [`solve_by_factor`](Self::solve_by_factor).
    pub fn inverse_columns(&mut self, nodes: &[u32], scale: f64) -> DMatrix<f64> {
        if let Ok(matrix) = self.factored_matrix() {
            return matrix.inverse_columns(nodes, scale);
        }
        let count = self.matrix.symbolic().node_count();
        let mut all = DMatrix::zeros(3 * count, 3 * nodes.len());
        for (j, mut column) in all.column_iter_mut().enumerate() {
            let mut x = vec![Vec3::zeros(); count];
            x[nodes[j / 3] as usize][j % 3] = scale;
            self.solve_by_sweeps(&mut x);
            let numbers = x.iter().flat_map(|x| x.iter());
            column.iter_mut().zip(numbers).for_each(|(to, x)| *to = *x);
        }
        all
    }

    /// Solves by iterations; sets `x` to zero where these do not converge either.
    fn solve_by_sweeps(&mut self, x: &mut [Vec3]) {
        let sweeps = self.sweeps.as_mut();
        if sweeps.and_then(|s| s.solve(x, None, self.stop)).is_none() {
            x.fill(Vec3::zeros());
        }
    }

    /// Returns the matrix with the factor of the matrix adopted last.
    ///
    /// # Errors
    /// A matrix that is not positive definite.
    pub fn factored_matrix(&mut self) -> Result<&mut SparseCholesky, SolveError> {
        if !self.factored {
            self.matrix.factor()?;
            self.factored = true;
        }
        Ok(&mut self.matrix)
    }
}

impl LinearSolver for Inverse {
    fn matrix(&mut self) -> &mut SparseCholesky {
        &mut self.matrix
    }

    fn adopt_matrix(&mut self) -> Result<(), SolveError> {
        self.factored = false;
        match &mut self.sweeps {
            Some(sweeps) if self.sweeping => sweeps.set_matrix(self.matrix.values()),
            _ => self.factored_matrix().map(|_| ()),
        }
    }

    fn solve(&mut self, x: &mut [Vec3]) -> Result<(), SolveError> {
        self.solve_from(x, None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::solve::sweeps::tests::{grid, pull};

    fn inverse_of(matrix: &SparseCholesky) -> Inverse {
        let mut inverse = Inverse::with_sweeps(matrix.symbolic()).unwrap();
        inverse.matrix().set_values(matrix.values());
        inverse
    }

    /// If iterations exceed the limit, the solver takes a factor instead.
    #[test]
    fn inverse_falls_back_to_factor() {
        // Masses that hold each node by itself, and hardly any.
        for (mass, iterates) in [(10.0, true), (1e-7, false)] {
            let mut matrix = grid(6, mass);
            let mut inverse = inverse_of(&matrix);
            inverse.set_limit(12);
            assert_eq!(
                inverse.measure_iterations(&mut pull(216)).is_some(),
                iterates
            );
            let (mut x, mut wanted) = (pull(216), pull(216));
            inverse.adopt_matrix().unwrap();
            inverse.solve(&mut x).unwrap();
            assert_eq!(inverse.factored, !iterates);
            matrix.factor().unwrap();
            matrix.solve(&mut wanted);
            let largest = wanted.iter().map(Vec3::norm).fold(0.0, f64::max);
            for (a, b) in x.iter().zip(&wanted) {
                assert!((a - b).norm() < 1e-4 * largest);
            }
        }
    }

    /// The displacements and columns for contact equal those of the factor.
    #[test]
    fn contact_columns_match_factor() {
        let mut matrix = grid(4, 1.0);
        let mut inverse = inverse_of(&matrix);
        inverse.adopt_matrix().unwrap();
        matrix.factor().unwrap();
        let (mut x, mut wanted) = (pull(64), pull(64));
        inverse.solve_by_factor(&mut x);
        matrix.solve(&mut wanted);
        assert_eq!(x, wanted);
        let nodes = [3, 17];
        let columns = inverse.inverse_columns(&nodes, 0.5);
        assert_eq!(columns, matrix.inverse_columns(&nodes, 0.5));
    }

    /// An indefinite matrix is an error, and its displacements are zero.
    #[test]
    fn indefinite_matrix_displaces_nothing() {
        let mut matrix = grid(4, 1.0);
        for v in 0..64 {
            let slot = matrix.symbolic().slot(v, v).unwrap();
            matrix.add_scalar(slot, -1.6);
        }
        let mut inverse = inverse_of(&matrix);
        let solved = inverse
            .adopt_matrix()
            .and_then(|()| inverse.solve(&mut pull(64)));
        assert!(matches!(solved, Err(SolveError::Singular { .. })));
        let mut x = pull(64);
        inverse.solve_by_factor(&mut x);
        assert!(x.iter().all(|x| *x == Vec3::zeros()));
        assert!(inverse.inverse_columns(&[5], 1.0).iter().all(|&x| x == 0.0));
    }
}
