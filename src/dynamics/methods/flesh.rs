// SPDX-License-Identifier: MIT OR Apache-2.0
//! Energies of the methods with linear forces as energy terms; displacements are positions.
//!
//! [`WarpedCells`] is the cell form of [`crate::dynamics::methods::system`]. It has an energy because its rotations do not depend on the flesh. The
//! vertex form has no energy, as its matrix is not symmetric. [`TwistTerm`] acts on both.

use crate::body::Body;
use crate::dynamics::SkinnedLattice;
use crate::dynamics::forces::Load;
use crate::solve::newton::{ForceMagnitude, RoundedSum};
use crate::solve::nodal::norm;
use crate::solve::{Assembly, Configuration, EnergyTerm, NodeMatrix};
use crate::{Mat3, Vec3};
use smallvec::SmallVec;

/// The term `½ Σ_c (R_cᵀ p − x)ᵀ S_c (R_cᵀ p − x) − f_gᵀ p`: linear flesh in turned cells, and its net weight.
pub(in crate::dynamics) struct WarpedCells<'a> {
    pub body: &'a Body,
    /// R_c of each cell.
    pub turns: &'a [Mat3],
    pub load: &'a Load<'a>,
}

/// Displacements and forces at the nodes of one cell, in memory kept from cell to cell.
#[derive(Default)]
pub(in crate::dynamics) struct CellBuffers([SmallVec<[Vec3; 8]>; 2]);

impl CellBuffers {
    /// Returns both with one entry per node of a cell.
    pub fn resize(&mut self, nodes: usize) -> (&mut [Vec3], &mut [Vec3]) {
        let [d, force] = &mut self.0;
        d.resize(nodes, Vec3::zeros());
        force.resize(nodes, Vec3::zeros());
        (d, force)
    }
}

impl WarpedCells<'_> {
    /// Sets `sums[nodes]` to `scale · (b + f_g) − A z`, A and b without the twist, in one pass. With z = scale · p this is scale times
    /// the force at p.
    pub fn forces(&self, scale: f64, z: &[Vec3], sums: &mut [Vec3]) {
        let rest = self.body.rest_shape();
        sums.fill(Vec3::zeros());
        let mut of_cell = CellBuffers::default();
        for (cell, turn) in self.body.blocks().iter().zip(self.turns) {
            let (d, force) = of_cell.resize(cell.nodes.len());
            for (d, &a) in d.iter_mut().zip(cell.nodes) {
                *d = turn.tr_mul(&z[a as usize]) - rest[a as usize] * scale;
            }
            // Stiffness is invariant to translation, which details do not take part in; subtracting one keeps characters far from
            // the origin exact.
            let first = d[0];
            let placed = self.body.placed_count(cell.nodes);
            d[..placed].iter_mut().for_each(|d| *d -= first);
            cell.multiply(d, force);
            let g = self.load.net_gravity(turn) * scale;
            for ((&a, f), &w) in cell.nodes.iter().zip(&*force).zip(cell.weight) {
                sums[a as usize] += g * w - turn * f;
            }
        }
    }
}

impl EnergyTerm for WarpedCells<'_> {
    fn add_value(&self, at: &Configuration, sum: &mut RoundedSum) {
        let rest = self.body.rest_shape();
        let p = at.displacements;
        let mut of_cell = CellBuffers::default();
        for (cell, turn) in self.body.blocks().iter().zip(self.turns) {
            let first = cell.nodes[0] as usize;
            let (d, force) = of_cell.resize(cell.nodes.len());
            for (d, &a) in d.iter_mut().zip(cell.nodes) {
                let a = a as usize;
                *d = match self.body.is_detail(a) {
                    true => turn.tr_mul(&p[a]),
                    false => turn.tr_mul(&(p[a] - p[first])) - (rest[a] - rest[first]),
                };
            }
            cell.multiply(d, force);
            let g = self.load.net_gravity(turn);
            let nodes = cell.nodes.iter().zip(&*d).zip(&*force).zip(cell.weight);
            for (((&a, d), f), &w) in nodes {
                let (square, line) = (0.5 * d.dot(f), g.dot(&p[a as usize]) * w);
                sum.value += square - line;
                sum.rounding += 4.0 * f64::EPSILON * (square.abs() + line.abs());
            }
        }
    }

    fn add_gradient(&self, at: &Configuration, gradient: &mut [Vec3]) -> ForceMagnitude {
        let mut forces = vec![Vec3::zeros(); gradient.len()];
        self.forces(1.0, at.displacements, &mut forces);
        gradient.iter_mut().zip(&forces).for_each(|(g, f)| *g -= f);
        let size = norm(&forces);
        ForceMagnitude {
            size,
            rounding: f64::EPSILON * size,
        }
    }

    fn add_hessian(&self, _: &Configuration, _: bool, into: &mut Assembly) {
        add_cells(self.body, self.turns.iter(), into);
    }

    fn add_product(&self, _: &Configuration, _: bool, x: &[Vec3], y: &mut [Vec3]) {
        let mut product = vec![Vec3::zeros(); y.len()];
        self.forces(0.0, x, &mut product);
        y.iter_mut().zip(&product).for_each(|(y, f)| *y -= f);
    }

    fn is_quadratic(&self) -> bool {
        true
    }

    fn visit_pairs(&self, visit: &mut dyn FnMut(usize, usize)) {
        for cell in self.body.blocks().iter() {
            for (i, &a) in cell.nodes.iter().enumerate() {
                let others = &cell.nodes[i..];
                others.iter().for_each(|&b| visit(a as usize, b as usize));
            }
        }
    }
}

/// Adds `Σ_c R_c S_c R_cᵀ` to the assembly.
pub(in crate::dynamics) fn add_cells<'a>(
    body: &Body,
    turns: impl Iterator<Item = &'a Mat3>,
    into: &mut Assembly,
) {
    let slots = body.pattern().pair_slots();
    for (cell, turn) in body.blocks().iter().zip(turns) {
        let scaled = turn * into.factor();
        let back = turn.transpose();
        for (block, slot) in cell.stiffness.iter().zip(&slots[cell.first_pair..]) {
            if slot.is_some() {
                into.add_multiplied_at(*slot, &(scaled * block * back));
            }
        }
    }
}

/// The term `½ pᵀ Mt p − pᵀ Σ_β Mt_β T_β(x)`, which keeps flesh from spinning about straight bones.
pub(in crate::dynamics) struct TwistTerm<'a> {
    pub body: &'a Body,
    pub skinned: &'a SkinnedLattice,
}

impl EnergyTerm for TwistTerm<'_> {
    fn add_value(&self, at: &Configuration, sum: &mut RoundedSum) {
        for (v, p) in at.displacements.iter().enumerate() {
            let pull = self.body.twist_matrix().row_times(v, at.displacements);
            let (square, line) = (0.5 * p.dot(&pull), p.dot(&self.skinned.twist_loads[v]));
            sum.value += square - line;
            sum.rounding += 4.0 * f64::EPSILON * (square.abs() + line.abs());
        }
    }

    fn add_gradient(&self, at: &Configuration, gradient: &mut [Vec3]) -> ForceMagnitude {
        let mut forces = ForceMagnitude::default();
        for (v, g) in gradient.iter_mut().enumerate() {
            let pull = self.body.twist_matrix().row_times(v, at.displacements);
            let force = pull - self.skinned.twist_loads[v];
            *g += force;
            forces.size += force.norm_squared();
            forces.rounding += pull.norm_squared();
        }
        ForceMagnitude {
            size: forces.size.sqrt(),
            rounding: 4.0 * f64::EPSILON * forces.rounding.sqrt(),
        }
    }

    fn add_hessian(&self, _: &Configuration, _: bool, into: &mut Assembly) {
        into.add_scalars(self.body.twist_matrix());
    }

    fn add_product(&self, _: &Configuration, _: bool, x: &[Vec3], y: &mut [Vec3]) {
        for (v, y) in y.iter_mut().enumerate() {
            *y += self.body.twist_matrix().row_times(v, x);
        }
    }

    fn visit_pairs(&self, visit: &mut dyn FnMut(usize, usize)) {
        self.body.twist_matrix().visit_pairs(visit);
    }

    fn is_quadratic(&self) -> bool {
        true
    }
}
