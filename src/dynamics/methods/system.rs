// SPDX-License-Identifier: MIT OR Apache-2.0
//! Elastic forces of the methods with linear forces, and the sparse systems of their stiffness. [capell2006, §3.3]
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
use crate::body::{Body, NodalForm};
use crate::dynamics::forces::Load;
use crate::dynamics::methods::cells::CellMatrix;
use crate::dynamics::methods::flesh::WarpedCells;
use crate::dynamics::methods::further::LinearisedTerms;
use crate::dynamics::methods::vertex::VertexMatrix;
use crate::dynamics::{Method, SkinnedLattice, Solver};
use crate::solve::{Inverse, NodeMatrix, SolveError, SparseCholesky};
use std::sync::Arc;

/// Sparse system `m M + s A` on the free vertices of one body; all buffers are allocated once.
pub(in crate::dynamics) struct LinearSystem {
    form: MatrixForm,
    /// Right-hand side, then solution, one entry per free vertex.
    pub nodes: Vec<Vec3>,
    /// Scratch, one entry per lattice vertex.
    sums: Vec<Vec3>,
}

enum MatrixForm {
    Cells(Box<CellMatrix>),
    Vertices(Box<VertexMatrix>),
}

impl LinearSystem {
    /// Creates the system of a method with linear forces.
    pub fn new(body: &Body, method: Method, solver: Solver) -> Result<Self, SolveError> {
        let form = match method {
            Method::WarpedVertex => {
                MatrixForm::Vertices(Box::new(VertexMatrix::new(body, solver)?))
            }
            _ => MatrixForm::Cells(Box::new(CellMatrix::new(body, solver)?)),
        };
        Ok(Self::from_form(form, body))
    }

    /// Creates the system of the cell form for one or two balances at each of many poses.
    pub fn for_balances(body: &Body) -> Result<Self, SolveError> {
        Ok(Self::from_form(
            MatrixForm::Cells(Box::new(CellMatrix::with_sweeps(body)?)),
            body,
        ))
    }

    fn from_form(form: MatrixForm, body: &Body) -> Self {
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
        further: &LinearisedTerms,
    ) -> Result<(), SolveError> {
        match &mut self.form {
            MatrixForm::Cells(cells) => cells.prepare(body, skinned, mass, stiffness, further),
            MatrixForm::Vertices(vertices) => {
                vertices.prepare(body, skinned, mass, stiffness, further)
            }
        }
    }

    /// Forgets the matrix, as the stiffness of the body has changed. The vertex form keeps a stiffness of its own.
    pub fn forget_matrix(&mut self) {
        if let MatrixForm::Cells(cells) = &mut self.form {
            cells.forget();
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
            MatrixForm::Cells(_) => {
                let turns = &skinned.cell_turns;
                WarpedCells { body, turns, load }.forces(scale, z, &mut self.sums);
            }
            MatrixForm::Vertices(form) => {
                form.forces(body, skinned, load, scale, z, &mut self.sums)
            }
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

    /// Sets the right-hand side to `scale · (f_g + forces) − A z`, on the free vertices.
    ///
    /// With z = scale · u this is scale times the force on flesh with the sway u about its carried shape, which is at rest.
    pub fn set_sway_forces(
        &mut self,
        body: &Body,
        skinned: &SkinnedLattice,
        load: &Load,
        scale: f64,
        z: &[Vec3],
    ) {
        self.set_forces(body, skinned, &Load::ZERO, 0.0, z);
        self.sums.fill(Vec3::zeros());
        load.add_net_weight(body, skinned, &mut self.sums);
        for (node, &v) in self.nodes.iter_mut().zip(body.pattern().vertex_of_node()) {
            let v = v as usize;
            let given = load.forces.map_or(Vec3::zeros(), |forces| forces[v]);
            *node += (self.sums[v] + given) * scale;
        }
    }

    /// Adds `scale` times the forces of further terms to the right-hand side.
    pub fn add_further_forces(&mut self, body: &Body, further: &LinearisedTerms, scale: f64) {
        if further.terms.is_empty() {
            return;
        }
        self.sums.fill(Vec3::zeros());
        for term in further.terms {
            term.add_gradient(&further.configuration(), &mut self.sums);
        }
        for (node, &v) in self.nodes.iter_mut().zip(body.pattern().vertex_of_node()) {
            *node -= self.sums[v as usize] * scale;
        }
    }

    /// Solves the prepared system in place: `nodes` holds the right-hand side, then the solution.
    ///
    /// # Errors
    /// Iterations do not converge and factoring fails too.
    pub fn solve(&mut self, body: &Body, further: &LinearisedTerms) -> Result<(), SolveError> {
        match &mut self.form {
            MatrixForm::Cells(cells) => cells.solve(&mut self.nodes),
            MatrixForm::Vertices(vertices) => vertices.solve(&mut self.nodes, false, body, further),
        }
    }

    /// Returns `A z` on the free vertices.
    pub fn product(&mut self, body: &Body, skinned: &SkinnedLattice, z: &[Vec3]) -> Vec<Vec3> {
        self.set_forces(body, skinned, &Load::ZERO, 0.0, z);
        self.nodes.iter().map(|f| -f).collect()
    }

    /// Solves in place with the factor of the prepared matrix; for the vertex form, that of its symmetric preconditioner.
    pub fn substitute(&mut self, x: &mut [Vec3]) {
        match &mut self.form {
            MatrixForm::Cells(cells) => cells.substitute(x),
            MatrixForm::Vertices(vertices) => vertices.preconditioner().substitute(x),
        }
    }

    /// Returns the nodal functions in which [`factored_matrix`](Self::factored_matrix) and [`assemble`](Self::assemble) have the matrix of a
    /// body with details; `None`: it is in the body's own. Further terms change that for good.
    pub fn nodal_form(&mut self) -> Option<Arc<NodalForm>> {
        match &mut self.form {
            MatrixForm::Cells(cells) => cells.nodal_form(),
            MatrixForm::Vertices(vertices) => vertices.preconditioner().nodal_form(),
        }
    }

    /// Returns the factored matrix; for the vertex form, that of its symmetric preconditioner.
    ///
    /// # Errors
    /// The matrix is singular.
    pub fn factored_matrix(&mut self) -> Result<&mut SparseCholesky, SolveError> {
        match &mut self.form {
            MatrixForm::Cells(cells) => cells.factored_matrix(),
            MatrixForm::Vertices(vertices) => vertices.factored_matrix(),
        }
    }

    /// Assembles `mass · M + stiffness · A` of the cell form, to be factored on first use; for the vertex form, that of its symmetric
    /// preconditioner.
    ///
    /// # Errors
    /// The matrix is singular.
    pub fn assemble(
        &mut self,
        body: &Body,
        skinned: &SkinnedLattice,
        mass: f64,
        stiffness: f64,
    ) -> Result<&mut Inverse, SolveError> {
        let cells = match &mut self.form {
            MatrixForm::Cells(cells) => cells,
            MatrixForm::Vertices(vertices) => vertices.preconditioner(),
        };
        cells.assembled_matrix(body, skinned, mass, stiffness)
    }

    /// Solves the transposed system without further terms, as [`solve`](Self::solve) does.
    ///
    /// # Errors
    /// As [`solve`](Self::solve).
    pub fn solve_transposed(&mut self, body: &Body) -> Result<(), SolveError> {
        let none = &LinearisedTerms::EMPTY;
        match &mut self.form {
            MatrixForm::Cells(cells) => cells.solve(&mut self.nodes),
            MatrixForm::Vertices(vertices) => vertices.solve(&mut self.nodes, true, body, none),
        }
    }
}
