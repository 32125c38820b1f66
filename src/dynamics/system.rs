// SPDX-License-Identifier: MIT OR Apache-2.0
//! Warped elastic forces of all cells, and the sparse system of their stiffness. [capell2006, §3.3]
//!
//! Cell form: `f = Σ_c − R_c S_c (R_cᵀ p − x)`, with R_c the skeleton's blended rotation at cell c, known
//! before the step. It is symmetric, has no ghost forces, and is linear in p: `f = b − A p` with
//! `A = Σ R_c S_c R_cᵀ + Mt`, `b = Σ R_c S_c x + Σ_β Mt_β T_β(x)`, Mt_β the twist's Hessian of bone β.
//!
//! Deviation: the print's vertex form turns each vertex's forces by its own R, which makes A unsymmetric
//! (math.md 9).

use super::Frames;
use super::forces::Load;
use crate::body::Body;
use crate::solve::{SolveError, SparseCholesky};
use crate::{Mat3, Vec3};

/// The sparse system `m M + s A` on the free vertices of one body; all buffers allocated once.
pub(super) struct System {
    solver: SparseCholesky,
    /// Numbers of `m M + s Mt`, which no pose changes.
    base: Vec<f64>,
    scales: Option<(f64, f64)>,
    /// The turns that the present factorisation was made with.
    turns: Vec<Mat3>,
    /// One entry per free vertex: right-hand side, then solution.
    pub nodes: Vec<Vec3>,
    /// One entry per lattice vertex.
    sums: Vec<Vec3>,
}

impl System {
    pub fn new(body: &Body) -> Result<Self, SolveError> {
        let solver = SparseCholesky::new(body.pattern().symbolic().clone())?;
        Ok(Self {
            base: vec![0.0; solver.values().len()],
            scales: None,
            turns: vec![Mat3::zeros(); body.blocks().len()],
            nodes: vec![Vec3::zeros(); body.pattern().vertex_of_node().len()],
            sums: vec![Vec3::zeros(); body.dofs()],
            solver,
        })
    }

    /// Makes and factors `mass · M + stiffness · A`; nothing is done when nothing has changed.
    pub fn factor(
        &mut self,
        body: &Body,
        frames: &Frames,
        mass: f64,
        stiffness: f64,
    ) -> Result<(), SolveError> {
        if self.scales != Some((mass, stiffness)) {
            self.solver.clear();
            let (m, t) = (body.mass_matrix().values(), body.twist_matrix().values());
            for (slot, (m, t)) in body.pattern().entry_slots().iter().zip(m.iter().zip(t)) {
                if let Some(slot) = slot {
                    self.solver.add_scalar(*slot, mass * m + stiffness * t);
                }
            }
            self.base.copy_from_slice(self.solver.values());
        } else if self.turns == frames.cell_turns {
            return Ok(());
        }
        // Not to be trusted again until the factorisation has succeeded.
        self.scales = None;
        self.solver.set_values(&self.base);
        let slots = body.pattern().pair_slots();
        for (cell, turn) in body.blocks().iter().zip(&frames.cell_turns) {
            let scaled = turn * stiffness;
            let back = turn.transpose();
            for (block, slot) in cell.stiffness.iter().zip(&slots[cell.first_pair..]) {
                if let Some(slot) = slot {
                    self.solver.add(*slot, &(scaled * block * back));
                }
            }
        }
        self.solver.factor()?;
        self.turns.copy_from_slice(&frames.cell_turns);
        self.scales = Some((mass, stiffness));
        Ok(())
    }

    /// Sets the right-hand side to `scale · (b + f_g + forces) − A z`, on the free vertices.
    ///
    /// With z = scale · p that is scale times the force at p.
    pub fn set_forces(
        &mut self,
        body: &Body,
        frames: &Frames,
        load: &Load,
        scale: f64,
        z: &[Vec3],
    ) {
        let rest = body.lattice().vertices();
        self.sums.fill(Vec3::zeros());
        for (cell, turn) in body.blocks().iter().zip(&frames.cell_turns) {
            let mut d = [Vec3::zeros(); 8];
            for (d, &a) in d.iter_mut().zip(cell.corners) {
                *d = turn.tr_mul(&z[a as usize]) - rest[a as usize] * scale;
            }
            // Stiffness does not feel translations; taking one out keeps far-away characters exact.
            let first = d[0];
            d[..cell.corners.len()].iter_mut().for_each(|d| *d -= first);
            let force = cell.multiply(&d);
            let g = (load.gravity - turn * load.gravity_at_rest) * scale;
            for ((&a, f), &w) in cell.corners.iter().zip(&force).zip(cell.weight) {
                self.sums[a as usize] += g * w - turn * f;
            }
        }
        for (node, &v) in self.nodes.iter_mut().zip(body.pattern().vertex_of_node()) {
            let v = v as usize;
            *node =
                self.sums[v] + frames.twist_loads[v] * scale - body.twist_matrix().row_times(v, z);
            if let Some(forces) = load.forces {
                *node += forces[v] * scale;
            }
        }
    }

    /// Solves with the last factorisation: right-hand side in `nodes`, solution in its place.
    ///
    /// # Errors
    /// None of a factored system.
    pub fn solve(&mut self) -> Result<(), SolveError> {
        self.solver.solve(&mut self.nodes);
        Ok(())
    }

    /// As [`solve`](Self::solve), with the transposed matrix.
    ///
    /// # Errors
    /// As [`solve`](Self::solve).
    pub fn solve_transposed(&mut self) -> Result<(), SolveError> {
        self.solve()
    }
}
