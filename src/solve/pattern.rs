// SPDX-License-Identifier: MIT OR Apache-2.0
//! Unknowns of a body, and the slots of each cell's blocks in the system matrix.

use super::{BlockSlot, Graph, NodeMatrix, ScalarMatrix, SolveError, SymbolicCholesky};
use crate::Vec3;
use std::sync::Arc;

/// Marks a vertex that is not an unknown.
const HELD_VERTEX: u32 = u32::MAX;

/// The unknowns of a body and the symbolic factorisation of its systems.
#[derive(Debug)]
pub struct Pattern {
    node_of_vertex: Vec<u32>,
    vertex_of_node: Vec<u32>,
    symbolic: Arc<SymbolicCholesky>,
    pair_slots: Vec<Option<BlockSlot>>,
    entry_slots: Vec<Option<BlockSlot>>,
}

impl Pattern {
    /// Analyses the system whose unknowns are the vertices that are not `held`. `cells` are the corners of each
    /// cell, `matrix` has an entry wherever two vertices share a cell, `vertices` are the rest positions, m.
    ///
    /// # Errors
    /// [`SolveError::TooLarge`] when indices or memory run out.
    pub fn new<'a>(
        cells: impl IntoIterator<Item = &'a [u32]>,
        matrix: &ScalarMatrix,
        held: &[bool],
        vertices: &[Vec3],
    ) -> Result<Self, SolveError> {
        let mut node_of_vertex = vec![HELD_VERTEX; held.len()];
        let mut vertex_of_node = Vec::new();
        for v in 0..held.len() {
            if !held[v] {
                node_of_vertex[v] = vertex_of_node.len() as u32;
                vertex_of_node.push(v as u32);
            }
        }
        let free = |v: u32| Some(node_of_vertex[v as usize]).filter(|&n| n != HELD_VERTEX);
        let mut edges = Vec::new();
        for row in 0..matrix.rows() as u32 {
            for i in matrix.row_range(row as usize) {
                let column = matrix.indices()[i];
                if let (true, Some(a), Some(b)) = (row < column, free(row), free(column)) {
                    edges.push((a, b));
                }
            }
        }
        let graph = Graph::from_edges(vertex_of_node.len(), edges);
        let centres: Vec<Vec3> = vertex_of_node
            .iter()
            .map(|&v| vertices[v as usize])
            .collect();
        let symbolic = SymbolicCholesky::new(&graph, &centres)?;
        let slot = |a: u32, b: u32| symbolic.slot(free(a)? as usize, free(b)? as usize);
        let mut pair_slots = Vec::new();
        for corners in cells {
            for (i, &a) in corners.iter().enumerate() {
                pair_slots.extend(corners[i..].iter().map(|&b| slot(a, b)));
            }
        }
        let mut entry_slots = vec![None; matrix.indices().len()];
        for row in 0..matrix.rows() as u32 {
            for i in matrix.row_range(row as usize) {
                let column = matrix.indices()[i];
                if row <= column {
                    entry_slots[i] = slot(row, column);
                }
            }
        }
        Ok(Self {
            node_of_vertex,
            vertex_of_node,
            symbolic: Arc::new(symbolic),
            pair_slots,
            entry_slots,
        })
    }

    /// Returns the vertex of each node.
    pub fn vertex_of_node(&self) -> &[u32] {
        &self.vertex_of_node
    }

    /// Returns the node of a vertex; `None` where it is held.
    pub fn node_of_vertex(&self, vertex: usize) -> Option<u32> {
        Some(self.node_of_vertex[vertex]).filter(|&n| n != HELD_VERTEX)
    }

    /// Returns whether the system has an entry for the block of two vertices. This holds where they share a cell, or
    /// where one of them is held.
    pub fn has_entry(&self, a: usize, b: usize) -> bool {
        let count = self.node_of_vertex.len();
        if a >= count || b >= count {
            return false;
        }
        match (self.node_of_vertex(a), self.node_of_vertex(b)) {
            (Some(a), Some(b)) => self.symbolic.slot(a as usize, b as usize).is_some(),
            _ => true,
        }
    }

    /// Returns the symbolic factorisation, shared by all systems of the body.
    pub fn symbolic(&self) -> &Arc<SymbolicCholesky> {
        &self.symbolic
    }

    /// Returns the slot of the stiffness block of each corner pair, cell by cell; `None` where a corner is held.
    pub fn pair_slots(&self) -> &[Option<BlockSlot>] {
        &self.pair_slots
    }

    /// Returns the slot of each entry of a [`ScalarMatrix`]; of a symmetric pair only the upper entry has one.
    pub fn entry_slots(&self) -> &[Option<BlockSlot>] {
        &self.entry_slots
    }
}
