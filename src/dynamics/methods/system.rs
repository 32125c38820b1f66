// SPDX-License-Identifier: MIT OR Apache-2.0
//! Elastic forces of the linearised methods, and the sparse systems of their stiffness. [capell2006, §3.3]
//!
//! **Cell form**: `f = Σ_c − R_c S_c (R_cᵀ p − x)`, R_c the skeleton's blended rotation at cell c, known
//! before the step. It is symmetric, has no ghost forces, and is linear in p: `f = b − A p` with
//! `A = Σ R_c S_c R_cᵀ + Mt`, `b = Σ R_c S_c x + Σ_β Mt_β T_β(x)`, Mt_β the twist's Hessian of bone β. Its matrix is in
//! [`crate::dynamics::methods::cells`]. All R_c = 1 gives the global linear method.
//!
//! **Vertex form**, as printed: [`crate::dynamics::methods::vertex`].
//!
//! **Further terms** are linearised at the start of the step, with convex Hessians. Their Hessians are added to the matrix, their
//! forces to the right-hand side. They are not damped.

use crate::Vec3;
use crate::body::Body;
use crate::dynamics::forces::Load;
use crate::dynamics::methods::cells::CellMatrix;
use crate::dynamics::methods::flesh::WarpedCells;
use crate::dynamics::methods::further::Linearised;
use crate::dynamics::methods::vertex::VertexMatrix;
use crate::dynamics::{Method, SkinnedLattice, Solver};
use crate::solve::{NodeMatrix, SolveError, SparseCholesky};

/// Sparse system `m M + s A` on the free vertices of one body; all buffers are allocated once.
pub(in crate::dynamics) struct System {
    form: Form,
    /// Right-hand side, then solution, one entry per free vertex.
    pub nodes: Vec<Vec3>,
    /// Scratch, one entry per lattice vertex.
    sums: Vec<Vec3>,
}

enum Form {
    Cells(Box<CellMatrix>),
    Vertices(Box<VertexMatrix>),
}

impl System {
    /// Creates the system of a linearised method.
    pub fn new(body: &Body, method: Method, solver: Solver) -> Result<Self, SolveError> {
        let form = match method {
            Method::WarpedVertex => Form::Vertices(Box::new(VertexMatrix::new(body, solver)?)),
            _ => Form::Cells(Box::new(CellMatrix::new(body, solver)?)),
        };
        Ok(Self::of(form, body))
    }

    /// Creates the system of the cell form for one or two balances at each of many poses.
    pub fn of_balances(body: &Body) -> Result<Self, SolveError> {
        Ok(Self::of(
            Form::Cells(Box::new(CellMatrix::swept(body)?)),
            body,
        ))
    }

    fn of(form: Form, body: &Body) -> Self {
        Self {
            form,
            nodes: vec![Vec3::zeros(); body.pattern().vertex_of_node().len()],
            sums: vec![Vec3::zeros(); body.node_count()],
        }
    }

    /// Prepares `mass · M + stiffness · A` with further terms for solving; does nothing if nothing has changed.
    pub fn prepare(
        &mut self,
        body: &Body,
        skinned: &SkinnedLattice,
        mass: f64,
        stiffness: f64,
        further: &Linearised,
    ) -> Result<(), SolveError> {
        match &mut self.form {
            Form::Cells(cells) => cells.prepare(body, skinned, mass, stiffness, further),
            Form::Vertices(vertices) => vertices.prepare(body, skinned, mass, stiffness, further),
        }
    }

    /// Sets the right-hand side to `scale · (b + f_g + forces) − A z`, on the free vertices.
    ///
    /// With z = scale · p this is scale times the force at p.
    pub fn set_forces(
        &mut self,
        body: &Body,
        skinned: &SkinnedLattice,
        load: &Load,
        scale: f64,
        z: &[Vec3],
    ) {
        match &self.form {
            Form::Cells(_) => {
                let turns = &skinned.cell_turns;
                WarpedCells { body, turns, load }.forces(scale, z, &mut self.sums);
            }
            Form::Vertices(form) => form.forces(body, skinned, load, scale, z, &mut self.sums),
        }
        for (node, &v) in self.nodes.iter_mut().zip(body.pattern().vertex_of_node()) {
            let v = v as usize;
            *node =
                self.sums[v] + skinned.twist_loads[v] * scale - body.twist_matrix().row_times(v, z);
            if let Some(forces) = load.forces {
                *node += forces[v] * scale;
            }
        }
    }

    /// Adds `scale` times the forces of further terms to the right-hand side.
    pub fn add_further_forces(&mut self, body: &Body, further: &Linearised, scale: f64) {
        if further.terms.is_empty() {
            return;
        }
        self.sums.fill(Vec3::zeros());
        for term in further.terms {
            term.add_gradient(&further.at(), &mut self.sums);
        }
        for (node, &v) in self.nodes.iter_mut().zip(body.pattern().vertex_of_node()) {
            *node -= self.sums[v as usize] * scale;
        }
    }

    /// Solves the prepared system in place: `nodes` holds the right-hand side, then the solution.
    ///
    /// # Errors
    /// Iterations do not converge and factoring fails too.
    pub fn solve(&mut self, body: &Body, further: &Linearised) -> Result<(), SolveError> {
        match &mut self.form {
            Form::Cells(cells) => cells.solve(&mut self.nodes),
            Form::Vertices(vertices) => vertices.solve(&mut self.nodes, false, body, further),
        }
    }

    /// Returns the factored matrix; for the vertex form, that of its symmetric preconditioner.
    ///
    /// # Errors
    /// The matrix is singular.
    pub fn factored(&mut self) -> Result<&mut SparseCholesky, SolveError> {
        match &mut self.form {
            Form::Cells(cells) => cells.factored(),
            Form::Vertices(vertices) => vertices.factored(),
        }
    }

    /// Solves the transposed system without further terms, as [`solve`](Self::solve) does.
    ///
    /// # Errors
    /// As [`solve`](Self::solve).
    pub fn solve_transposed(&mut self, body: &Body) -> Result<(), SolveError> {
        let none = &Linearised::NONE;
        match &mut self.form {
            Form::Cells(cells) => cells.solve(&mut self.nodes),
            Form::Vertices(vertices) => vertices.solve(&mut self.nodes, true, body, none),
        }
    }
}
