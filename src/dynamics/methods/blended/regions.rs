// SPDX-License-Identifier: MIT OR Apache-2.0
//! Regions of a body, and one pass over them: each solves its own implicit step, and the results are blended.
//!
//! In its own frame the matrix of a region never changes, so that it is factored once for all steps of a length. One pass over
//! all regions is a sweep of the restricted additive Schwarz method.

use crate::body::Body;
use crate::dynamics::SkinnedLattice;
use crate::solve::{BlockMatrix, Graph, NodeMatrix, SolveError, SparseCholesky, SymbolicCholesky};
use crate::{Mat3, Vec3};
use rayon::prelude::*;
use std::sync::Arc;

/// Rings of cells around the nodes with a weight. They keep what a region leaves out of a step away from the nodes that count.
const RINGS: usize = 2;

/// Weight below which a node does not belong to a region. A hundredth of a step that another region solves slightly
/// differently is invisible, and regions stay small.
const MIN_WEIGHT: f64 = 0.01;

/// Number of nodes in all regions from which several threads solve them. The rows and substitutions of so many take about a
/// millisecond.
const MIN_PARALLEL_NODES: usize = 2_000;

/// Factors of M and of S + Mt in the matrices of the regions: 1 + hα, and h² + hβ.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::dynamics) struct StepScales {
    pub mass: f64,
    pub stiffness: f64,
}

/// The regions of one body.
pub(in crate::dynamics) struct Regions {
    regions: Vec<Region>,
    scales: Option<StepScales>,
    parallel: bool,
}

/// One region.
pub(super) struct Region {
    bone: usize,
    /// Whether its stiffness turns with the bone.
    turns: bool,
    /// Free nodes of the region, as nodes of the body, ascending.
    nodes: Vec<u32>,
    /// Numbers of these among the body's free nodes.
    unknowns: Vec<u32>,
    /// Weight of each; zero in the rings.
    weights: Vec<f64>,
    /// Nodes that share a cell with one of the region.
    near: Vec<u32>,
    /// S_i at rest, all nodes, with the sparsity of the mass.
    stiffness: Arc<BlockMatrix>,
    matrix: SparseCholesky,
    /// Right-hand side, then solution, in the region's frame.
    solution: Vec<Vec3>,
    /// Operand of the stiffness in the region's frame, one entry per node of the body.
    operand: Vec<Vec3>,
}

/// Returns the weights of the nodes for each bone, `[bones][nodes]`: without small ones, adding up to one.
pub(super) fn node_weights(body: &Body) -> Vec<Vec<f64>> {
    let mut weights = vec![vec![0.0; body.node_count()]; body.skeleton().len()];
    let mut add_node = |v: usize| {
        let row = body.region_weights().row(v);
        let largest = row.clone().map(|(_, w)| w).fold(0.0, f64::max);
        let kept = row.filter(|(_, w)| *w >= MIN_WEIGHT.min(largest));
        let total: f64 = kept.clone().map(|(_, w)| w).sum();
        for (bone, w) in kept {
            weights[bone as usize][v] = w / total;
        }
    };
    (0..body.node_count()).for_each(&mut add_node);
    weights
}

/// Returns the regions for the `weights[bones][nodes]`, with rings.
pub(super) fn regions(body: &Body, weights: &[Vec<f64>]) -> Result<Vec<Region>, SolveError> {
    let stiffness = Arc::new(body.stiffness_matrix(false));
    let mut regions = Vec::new();
    for (bone, weights) in weights.iter().enumerate() {
        let mut inside: Vec<bool> = weights.iter().map(|&w| w > 0.0).collect();
        grow(body, &mut inside, RINGS);
        let region = Region::new(body, (bone, true), weights, &inside, &stiffness)?;
        regions.extend(region);
    }
    Ok(regions)
}

/// Grows a set of nodes by rings of cells.
fn grow(body: &Body, inside: &mut [bool], rings: usize) {
    for _ in 0..rings {
        let before = inside.to_vec();
        for nodes in body.basis().all_functions() {
            if nodes.iter().any(|&v| before[v as usize]) {
                nodes.iter().for_each(|&v| inside[v as usize] = true);
            }
        }
    }
}

impl Region {
    /// Creates the region of a bone with `weights[nodes]` on the free nodes that are `inside`; `None` without any.
    pub fn new(
        body: &Body,
        (bone, turns): (usize, bool),
        weights: &[f64],
        inside: &[bool],
        stiffness: &Arc<BlockMatrix>,
    ) -> Result<Option<Self>, SolveError> {
        let pattern = body.pattern();
        let free = pattern.vertex_of_node().iter();
        let nodes: Vec<u32> = free.copied().filter(|&v| inside[v as usize]).collect();
        if nodes.iter().all(|&v| weights[v as usize] == 0.0) {
            return Ok(None);
        }
        let mass = body.mass_matrix();
        let neighbours = |&v: &u32| &mass.indices()[mass.row_range(v as usize)];
        let mut near: Vec<u32> = nodes.iter().flat_map(neighbours).copied().collect();
        near.sort_unstable();
        near.dedup();
        let mut edges = Vec::new();
        for (i, v) in (0u32..).zip(&nodes) {
            let places = neighbours(v).iter().map(|w| nodes.binary_search(w));
            let after = places.flatten().map(|j| j as u32).filter(|&j| i < j);
            edges.extend(after.map(|j| (i, j)));
        }
        let centres = body.basis().centres();
        let centres: Vec<Vec3> = nodes.iter().map(|&v| centres[v as usize]).collect();
        let graph = Graph::from_edges(nodes.len(), edges);
        let unknown = |&v: &u32| pattern.node_of_vertex(v as usize);
        Ok(Some(Self {
            bone,
            turns,
            unknowns: nodes.iter().filter_map(unknown).collect(),
            weights: nodes.iter().map(|&v| weights[v as usize]).collect(),
            near,
            stiffness: stiffness.clone(),
            matrix: SparseCholesky::new(Arc::new(SymbolicCholesky::new(&graph, &centres)?))?,
            solution: vec![Vec3::zeros(); nodes.len()],
            operand: vec![Vec3::zeros(); body.node_count()],
            nodes,
        }))
    }

    /// Factors the matrix of the region.
    fn factor(&mut self, body: &Body, scales: StepScales) -> Result<(), SolveError> {
        let (mass, twist) = (body.mass_matrix(), body.twist_matrix());
        self.matrix.clear();
        for (i, &v) in self.nodes.iter().enumerate() {
            for entry in mass.row_range(v as usize) {
                let Ok(j) = self.nodes.binary_search(&mass.indices()[entry]) else {
                    continue;
                };
                let slot = self.matrix.symbolic().slot(i, j);
                if let Some(slot) = slot.filter(|_| i <= j) {
                    let plain =
                        mass.data()[entry] * scales.mass + twist.data()[entry] * scales.stiffness;
                    let block = self.stiffness.data()[entry] * scales.stiffness;
                    self.matrix.add(slot, &block);
                    self.matrix.add_scalar(slot, plain);
                }
            }
        }
        self.matrix.factor()
    }

    /// Returns the rotation of the region's frame.
    fn turn(&self, skinned: &SkinnedLattice) -> Mat3 {
        match self.turns {
            true => skinned.bone_turns[self.bone],
            false => Mat3::identity(),
        }
    }

    /// Solves for the forces `given − S_i (z − scale T_i(x))`, S_i turned, in the region's frame.
    fn solve(
        &mut self,
        body: &Body,
        skinned: &SkinnedLattice,
        (scale, z): (f64, &[Vec3]),
        given: &[Vec3],
    ) {
        let turn = self.turn(skinned);
        let (rest, motion) = (body.rest_shape(), skinned.bones().rigid_motion(self.bone));
        for &v in &self.near {
            let v = v as usize;
            // Details have no place of their own and take no part in a translation.
            let origin = match body.is_detail(v) {
                true => Vec3::zeros(),
                false => motion.apply(rest[v]),
            };
            self.operand[v] = turn.tr_mul(&(z[v] - origin * scale));
        }
        for ((d, &v), &node) in self
            .solution
            .iter_mut()
            .zip(&self.unknowns)
            .zip(&self.nodes)
        {
            let pull = self.stiffness.row_times(node as usize, &self.operand);
            *d = turn.tr_mul(&given[v as usize]) - pull;
        }
        self.matrix.solve(&mut self.solution);
    }
}

impl Regions {
    /// Collects the regions of a body.
    pub(super) fn new(regions: Vec<Region>) -> Self {
        let all: usize = regions.iter().map(|r| r.nodes.len()).sum();
        Self {
            regions,
            scales: None,
            parallel: all >= MIN_PARALLEL_NODES,
        }
    }

    /// Factors the matrices of all regions; does nothing if nothing has changed.
    ///
    /// # Errors
    /// The matrix of a region is singular.
    pub fn prepare(&mut self, body: &Body, scales: StepScales) -> Result<(), SolveError> {
        if self.scales == Some(scales) {
            return Ok(());
        }
        // Invalid until everything has succeeded.
        self.scales = None;
        for region in &mut self.regions {
            region.factor(body, scales)?;
        }
        self.scales = Some(scales);
        Ok(())
    }

    /// Computes `Σ_i W_i K_i⁻¹ (x − S_i (z − scale T_i(x)))` in place: `x` has one entry per free node, `z` one per node.
    pub fn solve(
        &mut self,
        body: &Body,
        skinned: &SkinnedLattice,
        (scale, z): (f64, &[Vec3]),
        x: &mut [Vec3],
    ) {
        let given = &*x;
        let solve = |region: &mut Region| region.solve(body, skinned, (scale, z), given);
        match self.parallel {
            true => self.regions.par_iter_mut().for_each(solve),
            false => self.regions.iter_mut().for_each(solve),
        }
        x.fill(Vec3::zeros());
        for region in &self.regions {
            let turn = region.turn(skinned);
            let solved = region.unknowns.iter().zip(&region.solution);
            for ((&v, d), &w) in solved.zip(&region.weights) {
                if w > 0.0 {
                    x[v as usize] += turn * d * w;
                }
            }
        }
    }
}
