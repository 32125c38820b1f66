// SPDX-License-Identifier: MIT OR Apache-2.0
//! The functions in which the systems of a body are assembled and solved, and their solver: its own, or the
//! [nodal functions](crate::body::NodalForm) of a body with details.

use crate::Mat3;
use crate::body::{Body, NodalForm};
use crate::dynamics::Solver;
use crate::elasticity::Elements;
use crate::solve::{Inverse, NodeMatrix, Pattern, ScalarMatrix, SolveError};

/// Bodies with fewer free vertices are factored. At 255, a factorisation with its substitution takes 0.18 ms and iterations 0.10 ms;
/// below, the saving is too small to give up digits for.
const MIN_ITERATIVE_VERTICES: usize = 128;

/// Maximum number of iterations with [`Solver::Iterate`], whatever factoring costs. In exact arithmetic conjugate gradients end after as
/// many iterations as there are unknowns, here those of 667 vertices.
const MAX_ITERATIONS: usize = 2_000;

/// The flesh of a body in the functions in which a step is solved: its own, or the nodal ones of its basis.
#[derive(Clone, Copy)]
pub(super) struct StepSpace<'a> {
    pub elements: &'a Elements,
    /// Element of the body whose rotation each element takes; `None`: they are the same.
    owners: Option<&'a [u32]>,
    pub pattern: &'a Pattern,
    pub mass: &'a ScalarMatrix,
    pub twist: &'a ScalarMatrix,
    /// Number of functions that sum to one, which come first.
    placed: usize,
}

impl<'a> StepSpace<'a> {
    /// Takes a body's own functions.
    pub fn of_body(body: &'a Body) -> Self {
        Self {
            elements: body.elements(),
            owners: None,
            pattern: body.pattern(),
            mass: body.mass_matrix(),
            twist: body.twist_matrix(),
            placed: body.basis().coarse_len(),
        }
    }

    /// Takes nodal functions, or a body's own without these.
    pub fn of(body: &'a Body, form: Option<&'a NodalForm>) -> Self {
        form.map_or_else(|| Self::of_body(body), Self::nodal)
    }

    /// Takes nodal functions.
    pub fn nodal(form: &'a NodalForm) -> Self {
        Self {
            elements: &form.elements,
            owners: Some(&form.owners),
            pattern: &form.pattern,
            mass: &form.mass,
            twist: &form.twist,
            placed: form.elements.node_count(),
        }
    }

    /// Returns the element of the body whose rotation an element takes.
    pub fn owner(&self, element: u32) -> u32 {
        self.owners
            .map_or(element, |owners| owners[element as usize])
    }

    /// Returns the rotation of each element from those of the body's; gathers them in `buffer` if they are not the same.
    pub fn element_turns<'b>(&self, turns: &'b [Mat3], buffer: &'b mut Vec<Mat3>) -> &'b [Mat3] {
        let Some(owners) = self.owners else {
            return turns;
        };
        buffer.clear();
        buffer.extend(owners.iter().map(|&e| turns[e as usize]));
        buffer
    }

    /// Returns the mass that pulls at a node where all flesh accelerates alike, kg.
    pub fn carried_mass(&self, node: usize) -> f64 {
        let row = self.mass.row_range(node);
        let columns = &self.mass.indices()[row.clone()];
        let placed = columns.partition_point(|&b| (b as usize) < self.placed);
        self.mass.data()[row][..placed].iter().sum()
    }

    /// Returns whether factoring always costs less than iterations.
    pub fn has_few_nodes(&self) -> bool {
        self.pattern.vertex_of_node().len() < MIN_ITERATIVE_VERTICES
    }

    /// Creates the solver of the systems.
    pub fn solver(&self, solver: Solver) -> Result<Inverse, SolveError> {
        let symbolic = self.pattern.symbolic();
        let mut inverse = match solver {
            Solver::Automatic if self.has_few_nodes() => Inverse::with_factor(symbolic)?,
            Solver::Factor => Inverse::with_factor(symbolic)?,
            Solver::Automatic | Solver::Iterate => Inverse::with_sweeps(symbolic)?,
        };
        if solver == Solver::Iterate {
            inverse.set_limit(MAX_ITERATIONS);
        }
        Ok(inverse)
    }
}
