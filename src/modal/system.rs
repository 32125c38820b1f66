// SPDX-License-Identifier: MIT OR Apache-2.0
//! Input of a modal analysis: stiffness, mass, elements and supports, of tetrahedra or of a body of flesh.

use super::ModalError;
use crate::basis::Basis;
use crate::body::{Body, NodalForm};
use crate::elasticity::{Elements, Material};
use crate::solve::eigen::EigenError;
use crate::solve::{BlockMatrix, NodeMatrix, ScalarMatrix};
use crate::tets::{MassKind, TetMesh};
use crate::{Mat3, Vec3};
use std::sync::Arc;

/// A linear elastic body with supports.
#[derive(Debug, Clone)]
pub struct ModalSystem {
    pub(super) functions: Basis,
    pub(super) body: Option<Arc<Body>>,
    pub(super) elements: Elements,
    pub(super) stiffness: BlockMatrix,
    pub(super) mass: ScalarMatrix,
    pub(super) fixed: Vec<bool>,
    /// Nodal functions of a body with details, in which its modes are computed.
    pub(super) nodal: Option<Arc<NodalForm>>,
}

impl ModalSystem {
    /// Builds a system from a tetrahedral body of one material with `fixed` nodes, in any order.
    ///
    /// # Errors
    /// A node that does not exist.
    pub fn for_tets(
        mesh: &TetMesh,
        material: &Material,
        mass: MassKind,
        fixed: &[usize],
    ) -> Result<Self, ModalError> {
        let elements = mesh.elements(material);
        let (stiffness, (mass, lattice)) = rayon::join(
            || elements.stiffness_matrix(),
            || (mesh.mass_matrix(material, mass), mesh.lattice()),
        );
        Ok(Self {
            functions: Basis::new(Arc::new(lattice?)),
            body: None,
            nodal: None,
            stiffness,
            mass,
            fixed: node_mask(mesh.vertices().len(), fixed)?,
            elements,
        })
    }

    /// Builds a system from a body of flesh. Nodes that follow bones are fixed, as are those in `also`. The
    /// twist energy is part of the stiffness.
    ///
    /// # Errors
    /// A node that does not exist; lumped masses of a body with details.
    pub fn for_body(body: &Arc<Body>, mass: MassKind, also: &[usize]) -> Result<Self, ModalError> {
        if mass == MassKind::Lumped {
            check_details(body)?;
        }
        let mut fixed = node_mask(body.node_count(), also)?;
        body.held_vertices().for_each(|v| fixed[v as usize] = true);
        let nodal = body.nodal_form().map_err(EigenError::from)?;
        let nodal = nodal.filter(|form| form.values.separates(&fixed));
        Ok(Self {
            nodal: nodal.cloned(),
            functions: body.basis().clone(),
            body: Some(body.clone()),
            mass: match mass {
                MassKind::Consistent => body.mass_matrix().clone(),
                MassKind::Lumped => body.mass_matrix().lump_rows(),
            },
            elements: body.elements().clone(),
            stiffness: body.stiffness_matrix(true),
            fixed,
        })
    }

    /// Returns the rest positions of the nodes, metres.
    pub fn rest_positions(&self) -> &[Vec3] {
        self.functions.rest_shape()
    }

    /// Returns stiffness and mass of the `free` nodes, in nodal functions where there are any: the eigenvalues are the same, and the matrices
    /// have a fraction of the entries.
    pub(super) fn eigenproblem(&self, free: &[u32]) -> (BlockMatrix, ScalarMatrix) {
        let Some(form) = &self.nodal else {
            return (
                self.stiffness.restrict_to(free),
                self.mass.restrict_to(free),
            );
        };
        let mut stiffness = form.mass.map(|_| Mat3::zeros());
        form.elements.add_stiffness(&mut stiffness);
        let entries = stiffness.data_mut().iter_mut().zip(form.twist.data());
        entries.for_each(|(block, &twist)| *block += Mat3::from_diagonal_element(twist));
        (stiffness.restrict_to(free), form.mass.restrict_to(free))
    }

    /// Returns the mass that pulls at a node where all flesh accelerates alike, kg.
    pub(super) fn carried_mass(&self, node: usize) -> f64 {
        let placed = self.functions.coarse_len();
        let row = self.mass.row_range(node);
        let columns = &self.mass.indices()[row.clone()];
        let count = columns.partition_point(|&b| (b as usize) < placed);
        let mut sum = 0.0;
        self.mass.data()[row][..count].iter().for_each(|m| sum += m);
        sum
    }

    /// Returns the nodes that are not fixed, ascending.
    pub fn free_nodes(&self) -> Vec<u32> {
        let free = self.fixed.iter().enumerate().filter(|(_, f)| !**f);
        free.map(|(v, _)| v as u32).collect()
    }
}

/// Refuses a body with details: lumped masses are those of functions that sum to one.
fn check_details(body: &Body) -> Result<(), ModalError> {
    match body.basis().levels() {
        0 => Ok(()),
        levels => Err(ModalError::Details { levels }),
    }
}

/// Returns the mask of the `named` ones of `nodes` nodes.
pub(crate) fn node_mask(nodes: usize, named: &[usize]) -> Result<Vec<bool>, ModalError> {
    let mut mask = vec![false; nodes];
    for &node in named {
        *mask.get_mut(node).ok_or(ModalError::Node {
            what: "the list of fixed nodes",
            node,
            nodes,
        })? = true;
    }
    Ok(mask)
}
