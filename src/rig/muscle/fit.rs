// SPDX-License-Identifier: MIT OR Apache-2.0
//! Displacements of flesh at rest that come nearest to wanted ones at its points, regularised by elastic energy.
//!
//! E maps the displacements u of free nodes to points of flesh with symmetric weights W (3 × 3 at each), A is the stiffness at rest. A field with
//! the wish d solves `(EᵀWE + ξ A) u = EᵀW d`, as corrections of the skin do ([`crate::rig::SculptedRig`]). A row of E has the nodes of one
//! element, so that the system has the pattern of A and one factorisation serves all wishes. ξ = η tr(EᵀWE)/tr(A), with both traces over the nodes
//! that the points reach: the stiffness of other flesh does not count.
//!
//! The forces that hold a field are A u = EᵀW (d − E u)/ξ. In this form they are exactly zero on functions that no point reaches, so that an
//! adaptive motion needs only those that do.

use crate::body::Body;
use crate::dynamics::{PosedStiffness, SimulationError};
use crate::rig::RigError;
use crate::skeleton::Pose;
use crate::solve::{Assembly, SparseCholesky};
use crate::{Mat3, Vec3};

/// Smoothness η. Bulges are brought to their height afterwards, so that it forms them only: with a third of it skin creases by a half more as an
/// elbow bends, with twice by a fifth less, and the deeper muscles of a coarse lattice then need more than the largest factor.
const SMOOTHNESS: f64 = 3.0;

/// Points of flesh with the functions that move them.
#[derive(Debug, Default)]
pub(super) struct FleshRows {
    /// Functions and values of all points, consecutively.
    entries: Vec<(usize, f64)>,
    /// End of each point's entries, and its weight.
    points: Vec<(usize, Mat3)>,
}

impl FleshRows {
    pub fn push(&mut self, functions: &[u32], values: &[f64], weight: Mat3) {
        let row = functions
            .iter()
            .map(|&a| a as usize)
            .zip(values.iter().copied());
        self.entries.extend(row);
        self.points.push((self.entries.len(), weight));
    }

    /// Returns entries and weight of each point.
    fn iter(&self) -> impl Iterator<Item = (&[(usize, f64)], &Mat3)> {
        let starts = std::iter::once(0).chain(self.points.iter().map(|p| p.0));
        let points = self.points.iter().zip(starts);
        points.map(|((end, weight), start)| (&self.entries[start..*end], weight))
    }

    /// Returns EᵀW d `[nodes]` for the wish d of each point.
    pub fn gather(&self, nodes: usize, wish: &[Vec3]) -> Vec<Vec3> {
        let mut sum = vec![Vec3::zeros(); nodes];
        for ((row, weight), d) in self.iter().zip(wish) {
            let pull = weight * d;
            row.iter().for_each(|&(a, x)| sum[a] += pull * x);
        }
        sum
    }

    /// Returns E u, the displacement of each point under a field `u[nodes]`.
    fn displacements(&self, u: &[Vec3]) -> Vec<Vec3> {
        let moved = |row: &[(usize, f64)]| row.iter().map(|&(a, x)| u[a] * x).sum();
        self.iter().map(|(row, _)| moved(row)).collect()
    }
}

/// A field of displacements of flesh at rest, and what holds it.
#[derive(Debug)]
pub(super) struct HeldField {
    /// Displacements `[nodes]`, m.
    pub displacements: Vec<Vec3>,
    /// Generalised forces `[nodes]`, N, rest axes; zero on held nodes and on functions that no point reaches.
    pub forces: Vec<Vec3>,
}

/// The factored system of one body and its points.
pub(super) struct FieldFit<'a> {
    body: &'a Body,
    rows: &'a FleshRows,
    matrix: SparseCholesky,
    /// Factor ξ of the stiffness.
    scale: f64,
}

impl<'a> FieldFit<'a> {
    /// Factors the system; `None` where bones hold all points.
    ///
    /// # Errors
    /// The flesh's linear system cannot be solved.
    pub fn new(body: &'a Body, rows: &'a FleshRows) -> Result<Option<Self>, RigError> {
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
                    assembly.add(a, b, &(weight * (x * y)));
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
            rows,
            matrix,
            scale,
        }))
    }

    /// Returns the field nearest to a wish of each point, m.
    pub fn nearest(&mut self, wish: &[Vec3]) -> HeldField {
        let pull = self.rows.gather(self.body.node_count(), wish);
        self.solve(&pull)
    }

    /// Returns the field by which flesh yields to generalised forces `[nodes]`, N, while the points would stay.
    pub fn yielding(&mut self, forces: &[Vec3]) -> HeldField {
        let pull: Vec<Vec3> = forces.iter().map(|f| f * self.scale).collect();
        self.solve(&pull)
    }

    /// Returns the field under pulls `[nodes]`, the right-hand side of the system.
    fn solve(&mut self, pull: &[Vec3]) -> HeldField {
        let free = self.body.pattern().vertex_of_node();
        let mut nodes: Vec<Vec3> = free.iter().map(|&v| pull[v as usize]).collect();
        self.matrix.solve(&mut nodes);
        let mut displacements = vec![Vec3::zeros(); pull.len()];
        for (x, &v) in nodes.iter().zip(free) {
            displacements[v as usize] = *x;
        }
        let held = self.rows.displacements(&displacements);
        let held = self.rows.gather(pull.len(), &held);
        let mut forces = vec![Vec3::zeros(); pull.len()];
        for &v in free {
            let v = v as usize;
            forces[v] = (pull[v] - held[v]) / self.scale;
        }
        HeldField {
            displacements,
            forces,
        }
    }
}
