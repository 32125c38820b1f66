// SPDX-License-Identifier: MIT OR Apache-2.0
//! Corrections of flesh in balance that bring the skin towards goals, regularised by their elastic energy. [capell2006, §4.3]
//!
//! The goals are displacements d of the skin's vertices beyond a balance at a pose, with weights W of sum one. E maps the
//! displacements u of the free nodes to the skin, A is the stiffness at the pose. The correction minimises
//! `|E u − d|²_W + ξ uᵀ A u`, so it solves
//!
//! `(EᵀWE + ξ A) u = EᵀW d`, `ξ = η tr(EᵀWE)/tr(A)`,
//!
//! with the smoothness η, a number without unit. The forces `Q = Rᵀ A u` in rest axes hold the flesh there. A row of E has the nodes of one
//! cell, so that EᵀWE lies in the pattern of A, and a solution costs one factorisation with the symbolic part of the body.
//!
//! Both traces are those of level 0, so that η means the same with finer functions and without them.
//!
//! Deviation: (23) of the paper penalises displacements from rest, which the pose alone makes large, and moves a target that is the balance
//! already. Here u counts from the balance.

use crate::body::Body;
use crate::dynamics::PosedStiffness;
use crate::lattice::Embedding;
use crate::solve::{Assembly, SolveError, SparseCholesky};
use crate::{Mat3, Vec3};

/// Share of a distance along the surface that counts, where goals have normals: skin slides. [rig_transfer: stage 4]
const SLIDING: f64 = 0.1;

/// Displacements of a body's skin that are wanted at a pose, in world axes.
#[derive(Debug, Clone, Default)]
pub(in crate::rig) struct SkinGoal {
    /// Weight of each vertex, zero or positive.
    pub weights: Vec<f64>,
    /// Wanted displacement of each vertex, m.
    pub offsets: Vec<Vec3>,
    /// Unit normals along which distances count whole, across them by [`SLIDING`]; zero vectors and an empty list: distances count whole.
    pub normals: Vec<Vec3>,
}

impl SkinGoal {
    /// Returns the weight of a vertex as a matrix.
    fn metric(&self, vertex: usize) -> Mat3 {
        let weight = self.weights[vertex];
        match self.normals.get(vertex) {
            Some(n) if *n != Vec3::zeros() => {
                (Mat3::identity() * SLIDING + n * n.transpose() * (1.0 - SLIDING)) * weight
            }
            _ => Mat3::identity() * weight,
        }
    }

    /// Returns the root of the weighted mean square of `distance` over the vertices, m; zero without weights.
    pub fn mean(&self, distance: impl Fn(usize) -> Vec3) -> f64 {
        let counted = |&(v, _): &(usize, &f64)| self.weights[v] > 0.0;
        let each = self.weights.iter().enumerate().filter(counted);
        let (sum, total) = each.fold((0.0, 0.0), |(sum, total), (v, w)| {
            (sum + w * distance(v).norm_squared(), total + w)
        });
        if total > 0.0 {
            (sum / total).sqrt()
        } else {
            0.0
        }
    }

    /// Returns the weighted sum of `value` over the vertices.
    pub fn sum(&self, value: impl Fn(usize) -> f64) -> f64 {
        let counted = self.weights.iter().enumerate().filter(|(_, w)| **w > 0.0);
        counted.map(|(v, w)| w * value(v)).sum()
    }

    /// Returns the mean distance of the skin from its goals after a correction `u[nodes]`, m.
    pub fn distance(&self, embedding: &Embedding, u: &[Vec3]) -> f64 {
        self.mean(|v| embedding.position(v, u) - self.offsets[v])
    }
}

/// The system of corrections of one body at one pose; buffers are allocated once.
pub(in crate::rig) struct CorrectionSystem<'a> {
    body: &'a Body,
    turns: &'a [Mat3],
    matrix: SparseCholesky,
    /// Values of A, and its trace on level 0.
    elastic: (Vec<f64>, f64),
    /// Values of EᵀWE, and its trace on level 0.
    goals: (Vec<f64>, f64),
    /// Sum of the goals' weights.
    total: f64,
    /// EᵀW d on the free nodes.
    right: Vec<Vec3>,
}

impl<'a> CorrectionSystem<'a> {
    /// Assembles the stiffness at a pose; without goals yet.
    ///
    /// # Errors
    /// Memory for the factorisation runs out.
    pub fn new(stiffness: &'a PosedStiffness) -> Result<Self, SolveError> {
        let body = stiffness.body();
        let mut matrix = SparseCholesky::new(body.pattern().symbolic().clone())?;
        stiffness.add_to(&mut Assembly::new(body.pattern(), &mut matrix));
        let elastic = (matrix.values().to_vec(), coarse_trace(body, &matrix));
        Ok(Self {
            body,
            turns: stiffness.turns(),
            goals: (vec![0.0; elastic.0.len()], 0.0),
            elastic,
            total: 0.0,
            right: vec![Vec3::zeros(); matrix.symbolic().node_count()],
            matrix,
        })
    }

    /// Sets the goals.
    pub fn set_goal(&mut self, goal: &SkinGoal) {
        let (embedding, pattern) = (self.body.embedding(), self.body.pattern());
        self.matrix.clear();
        self.right.fill(Vec3::zeros());
        let mut assembly = Assembly::new(pattern, &mut self.matrix);
        let total: f64 = goal.weights.iter().sum();
        for (v, _) in (goal.weights.iter().enumerate()).filter(|(_, w)| **w > 0.0) {
            let metric = goal.metric(v) / total;
            let wanted = metric * goal.offsets[v];
            for (i, (a, x)) in embedding.row(v).enumerate() {
                if let Some(node) = pattern.node_of_vertex(a) {
                    self.right[node as usize] += wanted * x;
                }
                for (b, y) in embedding.row(v).skip(i) {
                    assembly.add(a, b, &(metric * (x * y)));
                }
            }
        }
        let trace = coarse_trace(self.body, &self.matrix);
        self.goals = (self.matrix.values().to_vec(), trace);
        self.total = total;
    }

    /// Returns the trace of EᵀWE with the goals' weights as they are, not divided by their sum. Goals on a part of the skin act like those of
    /// all skin if their smoothness is larger by the ratio of the two.
    pub fn weight(&self) -> f64 {
        self.goals.1 * self.total
    }

    /// Returns the correction `[nodes]` of the smoothness η, m, world axes; zero where bones hold all of the skin that has goals.
    ///
    /// # Errors
    /// The system is singular to rounding, as for a very small η.
    pub fn solve(&mut self, smoothness: f64) -> Result<Vec<Vec3>, SolveError> {
        let mut u = vec![Vec3::zeros(); self.body.node_count()];
        if self.goals.1 <= 0.0 {
            return Ok(u);
        }
        let scale = smoothness * self.goals.1 / self.elastic.1;
        let both = self.goals.0.iter().zip(&self.elastic.0);
        let values: Vec<f64> = both.map(|(goal, elastic)| goal + scale * elastic).collect();
        self.matrix.set_values(&values);
        self.matrix.factor()?;
        let mut nodes = self.right.clone();
        self.matrix.solve(&mut nodes);
        for (x, &v) in nodes.iter().zip(self.body.pattern().vertex_of_node()) {
            u[v as usize] = *x;
        }
        Ok(u)
    }

    /// Returns the forces `Rᵀ A u`, `[nodes]`, N, rest axes, that hold a correction `u[nodes]`; zero on held nodes.
    pub fn forces(&mut self, u: &[Vec3]) -> Vec<Vec3> {
        let free = self.body.pattern().vertex_of_node();
        let nodes: Vec<Vec3> = free.iter().map(|&v| u[v as usize]).collect();
        let mut product = nodes.clone();
        self.matrix.set_values(&self.elastic.0);
        self.matrix.multiply(&nodes, &mut product);
        let mut forces = vec![Vec3::zeros(); u.len()];
        for (f, &v) in product.iter().zip(free) {
            forces[v as usize] = self.turns[v as usize].tr_mul(f);
        }
        forces
    }
}

/// Returns the sum of the diagonal entries of the free functions of level 0.
fn coarse_trace(body: &Body, matrix: &SparseCholesky) -> f64 {
    let (free, coarse) = (body.pattern().vertex_of_node(), body.basis().coarse_len());
    matrix.trace_of(|node| (free[node] as usize) < coarse)
}
