// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sparse symmetric systems on lattice vertices: thin layers over faer.
//!
//! Unknowns are three per *node* (a free lattice vertex), so ordering and symbolic analysis work on the
//! graph of nodes and every nonzero is a 3x3 block. [`ordering`] chooses the elimination order,
//! [`cholesky`] factors again and again with the same pattern and no allocation, [`krylov`] does with fewer factorisations,
//! [`pattern`] says where an element's blocks go, [`newton`] minimises an energy, [`lbfgsb`] a function of few variables
//! within bounds, [`eigen`] finds vibration modes.

pub mod cholesky;
mod columns;
mod dissection;
pub mod eigen;
pub mod krylov;
pub mod lbfgsb;
pub mod matrix;
pub mod newton;
pub mod ordering;
pub mod pattern;
mod symbolic;

pub use cholesky::SparseCholesky;
pub use lbfgsb::{Lbfgsb, LbfgsbError, Local, Minimum};
pub use matrix::{BlockMatrix, Csr, NodeMatrix, ScalarMatrix};
pub use newton::{Newton, NewtonError, Outcome};
pub use ordering::{Graph, Ordering, OrderingKind};
pub use pattern::Pattern;
pub use symbolic::{Slot, Symbolic};

/// Why a system could not be solved.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum SolveError {
    /// The symbolic analysis ran out of memory or of indices.
    #[error(
        "the system of {nodes} lattice vertices is too large to factorise: use fewer cells across"
    )]
    TooLarge {
        /// Nodes of the system.
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
    /// Iterations that lead nowhere.
    #[error(
        "the balance of the vertex form could not be found at this pose, which bends the flesh too far for it: take the \
         method 'warped'"
    )]
    NotConverged,
}
