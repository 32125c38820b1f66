// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sparse symmetric systems on lattice vertices: thin layers over faer.
//!
//! ```
//! use thew::solve::{Evaluation, Lbfgsb};
//!
//! // Rosenbrock's valley, with x at most one half: the minimum lies on the bound.
//! let mut valley = |x: &[f64]| {
//!     let (a, b) = (1.0 - x[0], x[1] - x[0] * x[0]);
//!     Some(Evaluation {
//!         value: a * a + 100.0 * b * b,
//!         gradient: vec![-2.0 * a - 400.0 * b * x[0], 200.0 * b],
//!         curvature: None,
//!     })
//! };
//! let bounds = [(f64::NEG_INFINITY, 0.5), (f64::NEG_INFINITY, f64::INFINITY)];
//! let found = Lbfgsb::default().minimise(&[-1.2, 1.0], &[1.0, 1.0], &bounds, &mut valley)?;
//! assert!((found.x[0] - 0.5).abs() < 1e-9 && (found.x[1] - 0.25).abs() < 1e-6);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! There are three unknowns per *node* (a free lattice vertex). Ordering and symbolic analysis work on the graph of nodes, and every
//! entry of a matrix is a 3x3 block.
//!
//! - [`ordering`] chooses the elimination order.
//! - Matrices are [sprs](matrix)'s; [`pattern`] finds the slots of an element's blocks.
//! - [`cholesky`] factors repeatedly with the same pattern and without allocation.
//! - [`krylov`] needs fewer factorisations, [`sweeps`] needs none, and [`inverse`] takes whichever costs less.
//! - [`term`] defines energies of nodes, [`quadratic`] those with a constant Hessian, and [`potential`] adds them up.
//! - [`newton`] minimises them, [`chord`] with fewer factorisations.
//! - [`lbfgsb`] minimises a function of few variables within bounds, `marquardt` energies with approximate second derivatives;
//!   `anderson` accelerates fixed-point iterations.
//! - [`eigen`] finds vibration modes.

pub(crate) mod anderson;
pub mod cholesky;
pub mod chord;
mod columns;
mod dissection;
pub mod eigen;
pub mod inverse;
pub mod krylov;
pub mod lbfgsb;
pub(crate) mod marquardt;
pub mod matrix;
pub mod newton;
pub mod nodal;
pub mod ordering;
pub mod pattern;
pub mod potential;
pub mod quadratic;
pub mod sweeps;
mod symbolic;
pub(crate) mod tall;
pub mod term;

pub use cholesky::SparseCholesky;
pub use chord::Chord;
pub use inverse::{Inverse, LinearSolver};
pub use krylov::ConjugateGradients;
pub use lbfgsb::{Evaluation, Lbfgsb, LbfgsbError, Minimum};
pub use matrix::{BlockMatrix, NodeMatrix, ScalarMatrix};
pub use newton::{Newton, NewtonError, Outcome};
pub use ordering::{Graph, Ordering, OrderingKind};
pub use pattern::Pattern;
pub use potential::{Potential, PotentialBuffers};
pub use quadratic::{ConstantForces, ScalarTerm};
pub use symbolic::{BlockSlot, SymbolicCholesky};
pub use term::{Assembly, Configuration, EnergyTerm};

/// Reason why a system could not be solved.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SolveError {
    /// The symbolic analysis or a factorisation ran out of memory or of indices.
    #[error(
        "the system of {nodes} lattice vertices is too large to factorise: use fewer cells across"
    )]
    TooLarge {
        /// Number of nodes of the system.
        nodes: usize,
    },
    /// A pivot was not positive.
    #[error(
        "the stiffness of the flesh is singular at free lattice vertex {node}: \
         nothing holds it (check that the bones reach this part and that the material is valid)"
    )]
    Singular {
        /// Node in the caller's numbering.
        node: usize,
    },
    /// The iterations did not converge.
    #[error(
        "the balance of the vertex form could not be found at this pose, which bends the flesh too far for it: use \
         the method 'warped'"
    )]
    NotConverged,
}
