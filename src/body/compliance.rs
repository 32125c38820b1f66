// SPDX-License-Identifier: MIT OR Apache-2.0
//! Linear response of the flesh at rest to forces: `q = K⁻¹ F` on the free vertices, with the twist's Hessian in K.
//! [capell2006, eq. 13, where all frames are the identity]
//!
//! K is factored on first use and kept with the body.

use super::Body;
use crate::Vec3;
use crate::solve::{Assembly, SolveError, SparseCholesky};
use std::sync::{Mutex, OnceLock, PoisonError};

/// Factors of K, set on first use.
#[derive(Default)]
pub(super) struct RestFactors(OnceLock<Mutex<SparseCholesky>>);

impl Body {
    /// Returns the displacements `[nodes]`, m, of the flesh at rest under generalised forces `[nodes]`, N, to first
    /// order. Held vertices stay; missing forces count as zero.
    ///
    /// # Errors
    /// A singular system.
    pub fn static_displacements(&self, forces: &[Vec3]) -> Result<Vec<Vec3>, SolveError> {
        let factors = match self.compliance.0.get() {
            Some(factors) => factors,
            None => {
                let made = self.rest_factors()?;
                self.compliance.0.get_or_init(|| Mutex::new(made))
            }
        };
        let free = self.pattern.vertex_of_node();
        let at = |&v: &u32| forces.get(v as usize).copied().unwrap_or_default();
        let mut nodes: Vec<Vec3> = free.iter().map(at).collect();
        let mut factors = factors.lock().unwrap_or_else(PoisonError::into_inner);
        match self.linear_form()? {
            None => factors.solve(&mut nodes),
            Some(form) => {
                let mut nodal = nodes.clone();
                form.free_values.to_nodal_forces(&nodes, &mut nodal);
                factors.solve(&mut nodal);
                form.free_values.to_coefficients(&nodal, &mut nodes);
            }
        }
        let mut displacements = vec![Vec3::zeros(); self.node_count()];
        for (node, &v) in nodes.iter().zip(free) {
            displacements[v as usize] = *node;
        }
        Ok(displacements)
    }

    /// Factors K, in nodal functions if there are any.
    fn rest_factors(&self) -> Result<SparseCholesky, SolveError> {
        if let Some(form) = self.linear_form()? {
            let mut matrix = SparseCholesky::new(form.pattern.symbolic().clone())?;
            let mut assembly = Assembly::new(&form.pattern, &mut matrix);
            assembly.add_scalars(&form.twist);
            for (slot, block) in (0..self.elements.len()).flat_map(|e| form.stiffness(e)) {
                assembly.add_at(Some(slot), block);
            }
            matrix.factor()?;
            return Ok(matrix);
        }
        let mut matrix = SparseCholesky::new(self.pattern.symbolic().clone())?;
        matrix.clear();
        let entries = self.pattern.entry_slots().iter().zip(self.twist.data());
        for (slot, value) in entries {
            if let Some(slot) = slot {
                matrix.add_scalar(*slot, *value);
            }
        }
        let slots = self.pattern.pair_slots();
        for cell in self.blocks.iter() {
            for (block, slot) in cell.stiffness.iter().zip(&slots[cell.first_pair..]) {
                if let Some(slot) = slot {
                    matrix.add(*slot, block);
                }
            }
        }
        matrix.factor()?;
        Ok(matrix)
    }
}
