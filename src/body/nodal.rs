// SPDX-License-Identifier: MIT OR Apache-2.0
//! A body's flesh in the [nodal functions](crate::basis::NodalValues) of its basis, in which steps with details are assembled and solved.
//!
//! An element with details has a dozen functions and more, most of them on each of its pieces; of the nodal functions four live on a piece
//! as a rule. So pieces become elements of their own. Energies, forces and matrices are those of the body's elements in other coordinates.

use super::Body;
use crate::basis::NodalValues;
use crate::elasticity::{ElementPiece, Elements};
use crate::solve::matrix::zeros;
use crate::solve::{BlockSlot, NodeMatrix, Pattern, ScalarMatrix, SolveError};
use crate::{Mat3, Vec3};
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

/// Smallest gradient of a nodal function on a piece, relative to the largest there: far above rounding.
const MIN_GRADIENT: f64 = 1e-12;
/// Smallest entry of a matrix, relative to the diagonal: far above rounding, and far below what moves flesh.
const MIN_ENTRY: f64 = 1e-10;
/// Share of the largest diagonal entry that counts as size of each: entries of 1e-14 of it are rounding errors.
const ROUNDED_SHARE: f64 = 1e-4;

/// Form of a body, made on first use; `None` inside for bodies that have none.
#[derive(Default)]
pub(super) struct CachedNodalForm(OnceLock<Option<Arc<NodalForm>>>);

/// Flesh in nodal functions, numbered like the functions of the body.
#[derive(Debug)]
pub(crate) struct NodalForm {
    /// Transform of all nodes, and of the free ones in the order of the pattern.
    pub values: NodalValues,
    pub free_values: NodalValues,
    /// Pieces of the body's elements as elements of their own, and the body's element of each.
    pub elements: Elements,
    pub owners: Vec<u32>,
    pub pattern: Pattern,
    pub mass: ScalarMatrix,
    /// Twist stiffness, with the sparsity of the mass.
    pub twist: ScalarMatrix,
    stiffness: NodalStiffness,
}

/// Stiffness at rest of each of the body's elements, in blocks with their slots in the pattern.
#[derive(Debug)]
struct NodalStiffness {
    /// First block of each element, and the number of all.
    starts: Vec<u32>,
    slots: Vec<BlockSlot>,
    /// Blocks, N/m.
    blocks: Vec<Mat3>,
}

impl Body {
    /// Returns the flesh in nodal functions; `None` without details. It is made on first use.
    ///
    /// # Errors
    /// Memory for the factorisation runs out.
    pub(crate) fn nodal_form(&self) -> Result<Option<&Arc<NodalForm>>, SolveError> {
        if self.basis.levels() == 0 {
            return Ok(None);
        }
        if let Some(made) = self.nodal.0.get() {
            return Ok(made.as_ref());
        }
        let made = NodalForm::new(self)?.map(Arc::new);
        Ok(self.nodal.0.get_or_init(|| made).as_ref())
    }

    /// Returns the flesh in nodal functions for linear forces, which are those of the body's blocks; `None` also for bodies whose merged pieces
    /// have another stiffness. A step with the stiffness of the ones and the forces of the others swings by itself.
    ///
    /// # Errors
    /// The errors of [`nodal_form`](Self::nodal_form).
    pub(crate) fn linear_form(&self) -> Result<Option<&Arc<NodalForm>>, SolveError> {
        match self.merged_pieces {
            true => Ok(None),
            false => self.nodal_form(),
        }
    }
}

impl NodalForm {
    /// Builds the form of a body; `None` where values at held nodes depend on free ones, so that they cannot be held.
    fn new(body: &Body) -> Result<Option<Self>, SolveError> {
        let values = NodalValues::new(&body.basis);
        let held: Vec<bool> = body.bone_of_vertex.iter().map(Option::is_some).collect();
        if !values.separates(&held) {
            return Ok(None);
        }
        let (elements, owners) = nodal_pieces(&body.elements, values.inverse());
        let raw = [&body.mass, &body.twist].map(|matrix| values.transform_matrix(matrix));
        let [mass, twist] = trim_matrices(&elements, &raw);
        let pattern = Pattern::new(elements.all_corners(), &mass, &held, body.basis.centres())?;
        Ok(Some(Self {
            stiffness: NodalStiffness::new(&elements, &owners, body.elements.len(), &pattern),
            free_values: values.restrict_to(pattern.vertex_of_node()),
            values,
            elements,
            owners,
            pattern,
            mass,
            twist,
        }))
    }

    /// Returns the stiffness at rest of one of the body's elements: blocks with their slots.
    pub fn stiffness(&self, element: usize) -> impl Iterator<Item = (BlockSlot, &Mat3)> {
        let stiffness = &self.stiffness;
        let run = stiffness.starts[element] as usize..stiffness.starts[element + 1] as usize;
        let slots = stiffness.slots[run.clone()].iter().copied();
        slots.zip(&stiffness.blocks[run])
    }
}

impl NodalStiffness {
    /// Sums the stiffness of pieces, of which `owners` are the elements; there are `count` of these.
    fn new(pieces: &Elements, owners: &[u32], count: usize, pattern: &Pattern) -> Self {
        let mut all = Self {
            starts: vec![0],
            slots: Vec::new(),
            blocks: Vec::new(),
        };
        let mut pair = 0;
        let mut places: BTreeMap<BlockSlot, usize> = BTreeMap::new();
        let mut owners = owners.iter().enumerate().peekable();
        for element in 0..count {
            places.clear();
            while let Some((p, _)) = owners.next_if(|(_, owner)| **owner as usize == element) {
                let n = pieces.corners(p).len();
                for piece in pieces.pieces(p) {
                    let mut own = pair;
                    for (i, ga) in piece.gradients.iter().enumerate() {
                        for gb in &piece.gradients[i..] {
                            if let Some(slot) = pattern.pair_slots()[own] {
                                let at = *places.entry(slot).or_insert_with(|| {
                                    all.slots.push(slot);
                                    all.blocks.push(Mat3::zeros());
                                    all.blocks.len() - 1
                                });
                                all.blocks[at] += piece.stiffness_block(ga, gb);
                            }
                            own += 1;
                        }
                    }
                }
                pair += n * (n + 1) / 2;
            }
            all.starts.push(all.blocks.len() as u32);
        }
        all
    }
}

/// Returns the pieces of all elements as elements of their own, with the nodal functions that are not constant there, and the element of each.
fn nodal_pieces(elements: &Elements, inverse: &ScalarMatrix) -> (Elements, Vec<u32>) {
    let mut pieces = Elements::new(elements.node_count());
    let mut owners = Vec::new();
    let (mut nodes, mut entries): (Vec<u32>, Vec<(usize, usize, f64)>) = (Vec::new(), Vec::new());
    let (mut sums, mut own_nodes, mut own): (Vec<Vec3>, Vec<u32>, Vec<Vec3>) = Default::default();
    for e in 0..elements.len() {
        let rows = || {
            elements
                .corners(e)
                .iter()
                .map(|&a| inverse.row_range(a as usize))
        };
        nodes.clear();
        rows().for_each(|row| nodes.extend(&inverse.indices()[row]));
        nodes.sort_unstable();
        nodes.dedup();
        entries.clear();
        for (place, row) in rows().enumerate() {
            for i in row {
                let to = nodes.partition_point(|&b| b < inverse.indices()[i]);
                entries.push((place, to, inverse.data()[i]));
            }
        }
        for piece in elements.pieces(e) {
            sums.clear();
            sums.resize(nodes.len(), Vec3::zeros());
            for &(place, to, entry) in &entries {
                sums[to] += piece.gradients[place] * entry;
            }
            let steepest = sums.iter().map(Vec3::norm).fold(0.0, f64::max);
            own_nodes.clear();
            own.clear();
            for (&node, g) in nodes.iter().zip(&sums) {
                if g.norm() > MIN_GRADIENT * steepest {
                    own_nodes.push(node);
                    own.push(*g);
                }
            }
            pieces.push(
                &own_nodes,
                [ElementPiece {
                    gradients: &own,
                    ..piece
                }],
            );
            owners.push(e as u32);
        }
    }
    (pieces, owners)
}

/// Returns matrices with one pattern: entries between nodes that share an element, and others that are no rounding errors.
fn trim_matrices(elements: &Elements, raw: &[ScalarMatrix; 2]) -> [ScalarMatrix; 2] {
    let mut pairs: Vec<[u32; 2]> = Vec::new();
    for matrix in raw {
        let diagonal = |v: usize| matrix.get(v, v).copied().unwrap_or(0.0).abs();
        let largest = (0..matrix.rows()).map(diagonal).fold(0.0, f64::max);
        for a in 0..matrix.rows() {
            for i in matrix.row_range(a) {
                let b = matrix.indices()[i];
                let size = (diagonal(a) * diagonal(b as usize)).sqrt();
                let least = MIN_ENTRY * size.max(ROUNDED_SHARE * largest);
                if (b as usize) < a && matrix.data()[i].abs() > least {
                    pairs.push([b, a as u32]);
                }
            }
        }
    }
    let corners = elements.all_corners();
    let pattern: ScalarMatrix = zeros(
        elements.node_count(),
        corners.chain(pairs.iter().map(|pair| &pair[..])),
    );
    raw.each_ref().map(|matrix| {
        let mut trimmed = pattern.clone();
        for a in 0..matrix.rows() {
            for i in matrix.row_range(a) {
                trimmed.add(a as u32, matrix.indices()[i], matrix.data()[i]);
            }
        }
        trimmed
    })
}
