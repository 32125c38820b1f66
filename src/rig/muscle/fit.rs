// SPDX-License-Identifier: MIT OR Apache-2.0
//! Displacements of flesh at rest that come nearest to wanted ones at its points, regularised by elastic energy.
//!
//! E maps the displacements u of free nodes to points of flesh with weights W, A is the stiffness at rest. A field with the wish d solves
//! `(EᵀWE + ξ A) u = EᵀW d`, as corrections of the skin do ([`crate::rig::SculptedRig`]). A row of E has the nodes of one element, so that the
//! system has the pattern of A and one factorisation serves all wishes. ξ = η tr(EᵀWE)/tr(A), with both traces over the nodes that the
//! points reach: the stiffness of other flesh does not count.

use crate::body::Body;
use crate::dynamics::{PosedStiffness, SimulationError};
use crate::rig::RigError;
use crate::skeleton::Pose;
use crate::solve::{Assembly, SparseCholesky};
use crate::{Mat3, Vec3};

/// Smoothness η. With a third of it single vertices of the lattice beside a muscle move up to four times as far as its belly; with three times
/// muscles bulge by a quarter less.
const SMOOTHNESS: f64 = 1.0;

/// Points of flesh with the functions that move them.
#[derive(Debug, Default)]
pub(super) struct FleshRows {
    /// Functions and values of all points, consecutively.
    entries: Vec<(usize, f64)>,
    /// End of each point's entries, and its weight.
    points: Vec<(usize, f64)>,
}

impl FleshRows {
    pub fn push(&mut self, functions: &[u32], values: &[f64], weight: f64) {
        let row = functions
            .iter()
            .map(|&a| a as usize)
            .zip(values.iter().copied());
        self.entries.extend(row);
        self.points.push((self.entries.len(), weight));
    }

    /// Returns entries and weight of each point.
    fn iter(&self) -> impl Iterator<Item = (&[(usize, f64)], f64)> {
        let starts = std::iter::once(0).chain(self.points.iter().map(|p| p.0));
        let points = self.points.iter().zip(starts);
        points.map(|(&(end, weight), start)| (&self.entries[start..end], weight))
    }

    /// Returns the weighted products of a field `u[nodes]` with the wish of each point, and with itself.
    pub fn products(&self, u: &[Vec3], wish: &[Vec3]) -> (f64, f64) {
        let each = self.iter().zip(wish);
        each.fold((0.0, 0.0), |(with, own), ((row, weight), d)| {
            let moved: Vec3 = row.iter().map(|&(a, x)| u[a] * x).sum();
            (
                with + weight * moved.dot(d),
                own + weight * moved.dot(&moved),
            )
        })
    }
}

/// The factored system of one body and its points.
pub(super) struct FieldFit<'a> {
    body: &'a Body,
    matrix: SparseCholesky,
    /// Values of A.
    elastic: Vec<f64>,
}

impl<'a> FieldFit<'a> {
    /// Factors the system; `None` where bones hold all points.
    ///
    /// # Errors
    /// The flesh's linear system cannot be solved.
    pub fn new(body: &'a Body, rows: &FleshRows) -> Result<Option<Self>, RigError> {
        let rest = Pose::rest(body.skeleton().len());
        let stiffness = PosedStiffness::new(body, &rest).map_err(|error| match error {
            SimulationError::Solve(error) => RigError::Flesh(error),
            _ => RigError::TooFar,
        })?;
        let pattern = body.pattern();
        let mut matrix = SparseCholesky::new(pattern.symbolic().clone())?;
        stiffness.add_to(&mut Assembly::new(pattern, &mut matrix));
        let elastic = matrix.values().to_vec();
        matrix.clear();
        let mut assembly = Assembly::new(pattern, &mut matrix);
        let mut reached = vec![false; body.node_count()];
        for (row, weight) in rows.iter() {
            for (i, &(a, x)) in row.iter().enumerate() {
                reached[a] = true;
                for &(b, y) in &row[i..] {
                    assembly.add(a, b, &(Mat3::identity() * (weight * x * y)));
                }
            }
        }
        let goal = matrix.trace();
        let stiff = body.stiffness_matrix(true);
        let own = pattern.vertex_of_node().iter();
        let own = own.filter(|&&v| reached[v as usize]);
        let stiff: f64 = own
            .filter_map(|&v| stiff.get(v as usize, v as usize))
            .map(|block| block.trace())
            .sum();
        if goal <= 0.0 || stiff <= 0.0 {
            return Ok(None);
        }
        let scale = SMOOTHNESS * goal / stiff;
        let both = matrix.values().iter().zip(&elastic);
        let values: Vec<f64> = both.map(|(goal, elastic)| goal + scale * elastic).collect();
        matrix.set_values(&values);
        matrix.factor()?;
        Ok(Some(Self {
            body,
            matrix,
            elastic,
        }))
    }

    /// Returns the field `[nodes]` nearest to a wish of each point, m.
    pub fn solve(&mut self, rows: &FleshRows, wish: &[Vec3]) -> Vec<Vec3> {
        let pattern = self.body.pattern();
        let free = pattern.vertex_of_node();
        let mut nodes = vec![Vec3::zeros(); free.len()];
        for ((row, weight), d) in rows.iter().zip(wish) {
            for &(a, x) in row {
                if let Some(node) = pattern.node_of_vertex(a) {
                    nodes[node as usize] += d * (weight * x);
                }
            }
        }
        self.matrix.solve(&mut nodes);
        let mut u = vec![Vec3::zeros(); self.body.node_count()];
        for (x, &v) in nodes.iter().zip(free) {
            u[v as usize] = *x;
        }
        u
    }

    /// Returns the forces that hold fields `[nodes]`, N; zero on held nodes.
    pub fn forces<const N: usize>(mut self, fields: &[Vec<Vec3>; N]) -> [Vec<Vec3>; N] {
        let free = self.body.pattern().vertex_of_node();
        self.matrix.set_values(&self.elastic);
        fields.each_ref().map(|u| {
            let nodes: Vec<Vec3> = free.iter().map(|&v| u[v as usize]).collect();
            let mut product = nodes.clone();
            self.matrix.multiply(&nodes, &mut product);
            let mut forces = vec![Vec3::zeros(); u.len()];
            for (f, &v) in product.iter().zip(free) {
                forces[v as usize] = *f;
            }
            forces
        })
    }
}
