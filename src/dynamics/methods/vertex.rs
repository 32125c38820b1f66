// SPDX-License-Identifier: MIT OR Apache-2.0
//! Skeletally warped linearisation in vertex form, as printed. [capell2006, §3.3, eq. 8; signs corrected]
//!
//! `f_i = − Σ_j R_i S_ij (R_iᵀ (x_j + q_j − c_i) − x_j)`, j over held vertices too: each vertex sees all of the flesh around it
//! in its own frame. With `A_ij = R_i S_ij R_iᵀ` this is linear, but A is not symmetric (by some percent at bends of 60°),
//! and the forces between two vertices do not cancel. Twist is as in the cell form ([`crate::dynamics::methods::system`]). Gravity less that of the
//! rest shape, `f_g = m_i g − R_i m_i g_rest`, turns with the vertex as all forces at rest do (m_i its share of mass).
//!
//! `c_i = p'_i − R_i x_i`, with p'_i the skinned position, drops out: rows of S sum to zero over the lattice's vertices, so S does not depend on a frame's
//! origin. Forces are therefore computed relative to the vertex itself, which keeps characters far from the origin exact.
//!
//! **Solved** by GMRES preconditioned by the cell form's matrix, which differs from A only where the skeleton bends. The
//! transposed system has the same preconditioner, which is symmetric. The alternative is faer's sparse LU with its symbolic
//! part reused, which `cargo bench --bench warped` measures beside it. A balance at a strong bend costs about the same by
//! both (LU 0.8 to 1.5 times GMRES at 350 to 1,000 vertices). In steps, mass brings A and its preconditioner together,
//! and GMRES adds half to two thirds of the time of LU. GMRES also needs no second kind of factor, allocates nothing after the
//! first steps, and scales with the body as the substitutions do. LU would be better only for many balances at one pose.

use crate::body::Body;
use crate::dynamics::forces::Load;
use crate::dynamics::methods::cells::CellMatrix;
use crate::dynamics::methods::further::LinearisedTerms;
use crate::dynamics::{SkinnedLattice, Solver};
use crate::solve::krylov::{Gmres, PreconditionedSystem, StoppingCriteria};
use crate::solve::{BlockMatrix, NodeMatrix, ScalarMatrix, SolveError, SparseCholesky};
use crate::{Mat3, Vec3};

/// Stopping criteria of GMRES.
const GMRES_CRITERIA: StoppingCriteria = StoppingCriteria {
    tolerance: 1e-12,
    iterations: 512,
};

/// Maximum number of iterations with the preconditioner that is not factored at the pose.
const MAX_STALE_ITERATIONS: usize = 60;

/// Matrices and solver of the vertex form of one body.
pub(in crate::dynamics) struct VertexMatrix {
    /// S at all vertices, and m_i.
    stiffness: BlockMatrix,
    shares: Vec<f64>,
    /// M, Mt and S between free vertices, in one pattern.
    mass: ScalarMatrix,
    twist: ScalarMatrix,
    between: BlockMatrix,
    /// `m M + s A` in that pattern, and its m and s.
    matrix: BlockMatrix,
    scales: Option<(f64, f64)>,
    turns: Vec<Mat3>,
    preconditioner: CellMatrix,
    method: Gmres,
}

impl VertexMatrix {
    pub fn new(body: &Body, solver: Solver) -> Result<Self, SolveError> {
        let stiffness = body.stiffness_matrix(false);
        let free = body.pattern().vertex_of_node();
        let mut shares = vec![0.0; body.node_count()];
        for cell in body.blocks().iter() {
            for (&a, w) in cell.nodes.iter().zip(cell.weight) {
                shares[a as usize] += w;
            }
        }
        let between = stiffness.restrict_to(free);
        Ok(Self {
            stiffness,
            shares,
            mass: body.mass_matrix().restrict_to(free),
            twist: body.twist_matrix().restrict_to(free),
            matrix: between.clone(),
            between,
            scales: None,
            turns: vec![Mat3::zeros(); free.len()],
            preconditioner: CellMatrix::new(body, solver)?,
            method: Gmres::new(free.len()),
        })
    }

    /// Returns the factored symmetric matrix of the cell form, which preconditions the vertex form.
    pub fn factored_matrix(&mut self) -> Result<&mut SparseCholesky, SolveError> {
        self.preconditioner.factored_matrix()
    }

    /// Returns the symmetric matrix of the cell form, which preconditions the vertex form.
    pub fn preconditioner(&mut self) -> &mut CellMatrix {
        &mut self.preconditioner
    }

    /// Prepares `mass · M + stiffness · A` for [`solve`](Self::solve), with further terms in its preconditioner; does nothing if
    /// nothing has changed.
    pub fn prepare(
        &mut self,
        body: &Body,
        skinned: &SkinnedLattice,
        mass: f64,
        stiffness: f64,
        further: &LinearisedTerms,
    ) -> Result<(), SolveError> {
        let free = body.pattern().vertex_of_node();
        let turns = || free.iter().map(|&v| &skinned.turns[v as usize]);
        let same = self.scales == Some((mass, stiffness)) && turns().eq(&self.turns);
        self.scales = None;
        self.preconditioner
            .prepare(body, skinned, mass, stiffness, further)?;
        if !same {
            for (row, turn) in turns().enumerate() {
                self.turns[row] = *turn;
                let (scaled, back) = (turn * stiffness, turn.transpose());
                for i in self.mass.row_range(row) {
                    let plain = mass * self.mass.data()[i] + stiffness * self.twist.data()[i];
                    self.matrix.data_mut()[i] =
                        scaled * self.between.data()[i] * back + Mat3::from_diagonal_element(plain);
                }
            }
        }
        self.scales = Some((mass, stiffness));
        Ok(())
    }

    /// Computes elastic forces and gravity, without the twist: `scale · (b + f_g) − A z`, at every vertex.
    pub fn forces(
        &self,
        body: &Body,
        skinned: &SkinnedLattice,
        load: &Load,
        scale: f64,
        z: &[Vec3],
        sums: &mut [Vec3],
    ) {
        let rest = body.rest_shape();
        for (v, sum) in sums.iter_mut().enumerate() {
            let turn = &skinned.turns[v];
            let mut force = Vec3::zeros();
            let row = self.stiffness.row_range(v);
            // Details do not take part in a translation. Every detail shares elements with lattice vertices, which come first.
            let origin = match body.is_detail(v) {
                true => self.stiffness.indices()[row.start] as usize,
                false => v,
            };
            for i in row {
                let other = self.stiffness.indices()[i] as usize;
                let d = match body.is_detail(other) {
                    true => turn.tr_mul(&z[other]),
                    false => {
                        turn.tr_mul(&(z[other] - z[origin])) - (rest[other] - rest[origin]) * scale
                    }
                };
                force += self.stiffness.data()[i] * d;
            }
            let g = load.net_gravity(turn) * scale;
            *sum = g * self.shares[v] - turn * force;
        }
    }

    /// Solves in place with the matrix or its transpose, plus further terms; one entry per free vertex.
    pub fn solve(
        &mut self,
        x: &mut [Vec3],
        transposed: bool,
        body: &Body,
        further: &LinearisedTerms,
    ) -> Result<(), SolveError> {
        let whole = match further.terms {
            [] => Vec::new(),
            _ => vec![Vec3::zeros(); body.node_count()],
        };
        let mut system = PreconditionedVertexMatrix {
            matrix: &self.matrix,
            preconditioner: &mut self.preconditioner,
            transposed,
            exactly: false,
            body,
            further,
            whole: (whole.clone(), whole),
        };
        if system.preconditioner.is_iterating() {
            let few = StoppingCriteria {
                iterations: MAX_STALE_ITERATIONS,
                ..GMRES_CRITERIA
            };
            if self.method.solve(&mut system, x, few).is_some() {
                return Ok(());
            }
            system.preconditioner.factor()?;
            system.exactly = true;
        }
        match self.method.solve(&mut system, x, GMRES_CRITERIA) {
            Some(_) => Ok(()),
            None => Err(SolveError::NotConverged),
        }
    }
}

/// Vertex form's matrix, preconditioned by the cell form's.
struct PreconditionedVertexMatrix<'a> {
    matrix: &'a BlockMatrix,
    preconditioner: &'a mut CellMatrix,
    transposed: bool,
    exactly: bool,
    body: &'a Body,
    further: &'a LinearisedTerms<'a>,
    /// Input and product of further terms, one entry per vertex; empty without further terms.
    whole: (Vec<Vec3>, Vec<Vec3>),
}

impl PreconditionedSystem for PreconditionedVertexMatrix<'_> {
    fn apply(&mut self, x: &[Vec3], y: &mut [Vec3]) {
        if self.transposed {
            y.fill(Vec3::zeros());
            for (row, x) in x.iter().enumerate() {
                for i in self.matrix.row_range(row) {
                    let column = self.matrix.indices()[i] as usize;
                    y[column] += self.matrix.data()[i].tr_mul(x);
                }
            }
        } else {
            self.matrix.times(x, y);
        }
        if self.further.terms.is_empty() {
            return;
        }
        let (given, product) = &mut self.whole;
        let free = self.body.pattern().vertex_of_node();
        for (x, &v) in x.iter().zip(free) {
            given[v as usize] = *x;
        }
        product.fill(Vec3::zeros());
        for term in self.further.terms {
            term.add_product(&self.further.configuration(), true, given, product);
        }
        for (y, &v) in y.iter_mut().zip(free) {
            *y += product[v as usize] * self.further.factor;
        }
    }
    fn precondition(&mut self, x: &mut [Vec3]) {
        if self.exactly {
            self.preconditioner.substitute(x);
        } else {
            self.preconditioner.precondition(x);
        }
    }
}
