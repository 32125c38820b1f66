// SPDX-License-Identifier: MIT OR Apache-2.0
//! Errors of the search for eigenpairs.

use crate::progress::Cancelled;
use crate::solve::SolveError;

/// Reason why eigenpairs could not be computed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum EigenError {
    /// Matrices and positions of different sizes.
    #[error(
        "stiffness of {stiffness} nodes, mass of {mass} and positions of {centres} do not fit: give all three for the same free nodes"
    )]
    Sizes {
        /// Rows of the stiffness.
        stiffness: usize,
        /// Rows of the mass.
        mass: usize,
        /// Number of positions.
        centres: usize,
    },
    /// A request for zero modes.
    #[error("no modes were asked for: ask for at least one")]
    None,
    /// More modes than degrees of freedom.
    #[error(
        "{asked} modes were asked for, but the body has only {free} degrees of freedom: ask for fewer or refine it"
    )]
    TooMany {
        /// Requested number of modes.
        asked: usize,
        /// Number of degrees of freedom, three per free node.
        free: usize,
    },
    /// A setting out of range.
    #[error("{name} must be {range}, not {value}")]
    Setting {
        /// Name of the setting.
        name: &'static str,
        /// Permitted range.
        range: &'static str,
        /// Value of the setting.
        value: f64,
    },
    /// An entry that is not finite.
    #[error("the {what} at free node {node} is not a finite number: check positions and material")]
    NotFinite {
        /// Kind of the entry: stiffness, mass or position.
        what: &'static str,
        /// The node.
        node: usize,
    },
    /// A diagonal entry of the mass that is not positive.
    #[error(
        "free node {node} has the mass {mass}: every free node needs a positive one (it may be in no element)"
    )]
    Massless {
        /// The node.
        node: usize,
        /// Its entry on the diagonal.
        mass: f64,
    },
    /// The mass is not positive definite.
    #[error("the mass matrix is not positive definite: check densities and inverted elements")]
    Mass,
    /// The stiffness has a negative eigenvalue, or the shift is not below all of them.
    #[error(
        "the stiffness less {shift} times the mass is not positive definite at free node {node}: \
             check for inverted elements, or give a smaller shift"
    )]
    Indefinite {
        /// The shift.
        shift: f64,
        /// A node with a pivot that is not positive.
        node: usize,
    },
    /// A negative eigenvalue was found.
    #[error(
        "the stiffness has the negative eigenvalue {value}: check for inverted elements and the material"
    )]
    Negative {
        /// The eigenvalue.
        value: f64,
    },
    /// Numbers overflow.
    #[error("numbers overflow: stiffness and mass are too far apart in size")]
    Overflow,
    /// The limit on restarts was reached.
    #[error(
        "only {found} of {asked} modes converged in {restarts} restarts: \
             improve very flat elements, or ask for a larger tolerance"
    )]
    NotConverged {
        /// Number of converged modes.
        found: usize,
        /// Requested number of modes.
        asked: usize,
        /// Number of restarts.
        restarts: usize,
    },
    /// Memory or indices ran out.
    #[error(transparent)]
    Solve(#[from] SolveError),
    /// Stopped by the caller.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}
