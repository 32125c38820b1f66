// SPDX-License-Identifier: MIT OR Apache-2.0
//! Modelling of new keyframes inside the reduced space by dragging points. [hildebrandt2012, §4.4]
//!
//! Minimises the elastic energy over shapes of the space with some vertices at given positions, exactly or with a weight. The energy is that of the
//! body, or of a body at rest where the drag begins. Method: Newton's method in the coordinates that the dragged vertices leave free.

use super::motion::{Spacetime, check_weight};
use super::options::{RestShape, check_shape};
use super::partial::{PartialConditions, PartialKeyframe};
use super::rigid::best_placement;
use super::space::ShapeSpace;
use super::{Deformable, SpacetimeError};
use crate::Vec3;
use crate::progress::{Progress, report_progress};
use crate::solve::tall::{matrix_vector, product, transposed_vector};
use faer::prelude::Solve;
use faer::{Mat, Side};

/// Maximum number of Newton steps; each assembles the whole body once.
const MAX_NEWTON_STEPS: usize = 30;
/// Length of a step, as a share of the size, below which iteration stops.
const STEP_TOLERANCE: f64 = 1e-6;

impl Spacetime {
    /// Returns the shape of least energy that has `vertices` at `positions`, as close as the space allows, or attracts them with a weight in the norm
    /// of the mass. The search starts at `shape`. Where keyframes are their own rests, energy is that of the change from `shape`.
    ///
    /// # Errors
    /// Shapes of another body, vertices that do not exist, positions that are not finite, a vertex at two positions, cancelled.
    pub fn model_shape(
        &self,
        shape: &[Vec3],
        vertices: Vec<u32>,
        positions: Vec<Vec3>,
        weight: Option<f64>,
        progress: &dyn Progress,
    ) -> Result<Vec<Vec3>, SpacetimeError> {
        check_shape(shape, self.node_count(), || "the shape to model".to_owned())?;
        check_weight(weight)?;
        let masses = self.body.masses();
        let own = self.rigid_motion_path().map(|path| {
            (
                best_placement(&self.space.reference, shape, masses),
                path.pivot,
            )
        });
        let dragged = PartialKeyframe {
            id: 0,
            time: self.times()[0],
            vertices,
            positions,
            weight,
        };
        dragged.check(self.node_count(), (dragged.time, dragged.time))?;
        let rows =
            PartialKeyframe::all_conditions(&[dragged], &self.space, masses, &|_| own.map(|o| o.0));
        let Some(rows) = rows.first() else {
            return Ok(shape.to_vec());
        };
        let aligned = own.map_or_else(|| shape.to_vec(), |(at, pivot)| at.align(shape, pivot));
        // Where keyframes are their own rests, so is the start: energy measures the change.
        let body = match self.rests {
            RestShape::Body => self.body.clone(),
            RestShape::Keyframes => {
                let crumpled = || SpacetimeError::Crumpled {
                    what: "the shape to model".to_owned(),
                };
                self.body.with_rest_shape(&aligned).ok_or_else(crumpled)?
            }
        };
        let drag = DragEnergy {
            space: &self.space,
            body: body.as_ref(),
            stiffness: self.settings().stiffness,
            rows,
            soft: weight.is_some(),
        };
        let mut q = self.space.coordinates(&aligned);
        if !drag.soft {
            drag.project_onto_conditions(&mut q);
        }
        drag.descend(&mut q, progress)?;
        let modelled = self.space.shape(&q);
        Ok(match own {
            Some((at, pivot)) => {
                let to = |x: &Vec3| at.turn * (x - pivot) + at.centre;
                modelled.iter().map(to).collect()
            }
            None => modelled,
        })
    }
}

/// The energy over the reduced space, with conditions on dragged vertices.
struct DragEnergy<'a> {
    space: &'a ShapeSpace,
    body: &'a dyn Deformable,
    stiffness: f64,
    rows: &'a PartialConditions,
    /// `true`: conditions are energies instead of exact.
    soft: bool,
}

impl DragEnergy<'_> {
    fn energy(&self, q: &[f64]) -> f64 {
        let mut sum = self.stiffness * self.body.energy(&self.space.shape(q));
        if self.soft {
            let has = matrix_vector(&self.rows.rows, q);
            let wanted = self.rows.wanted.iter().zip(&self.rows.compliance);
            for (h, (w, c)) in has.iter().zip(wanted) {
                sum += (h - w).powi(2) / c;
            }
        }
        sum
    }

    /// Returns the gradient and the second derivatives of the energy.
    fn derivatives(&self, q: &[f64]) -> (Vec<f64>, Mat<f64>) {
        let (space, body, rows) = (self.space, self.body, self.rows);
        let x = space.shape(q);
        let gradient = body.gradient(&x);
        let mut slope = space.project(|v| gradient[v] * self.stiffness);
        let mut hessian = space.reduce_matrix(&body.hessian(&x)) * faer::Scale(self.stiffness);
        if self.soft {
            let has = matrix_vector(&rows.rows, q);
            for (r, has) in has.iter().enumerate() {
                let twice = 2.0 / rows.compliance[r];
                for i in 0..q.len() {
                    let own = twice * rows.rows[(r, i)];
                    slope[i] += own * (has - rows.wanted[r]);
                    for j in 0..q.len() {
                        hessian[(i, j)] += own * rows.rows[(r, j)];
                    }
                }
            }
        }
        (slope, hessian)
    }

    /// Moves onto the conditions along the directions of least resistance.
    fn project_onto_conditions(&self, q: &mut [f64]) {
        let rows = &self.rows.rows;
        let has = matrix_vector(rows, q);
        let missing: Vec<f64> = (self.rows.wanted.iter().zip(has))
            .map(|(w, h)| w - h)
            .collect();
        let (_, hessian) = self.derivatives(q);
        let yielding = factor_convex(&hessian, &self.space.mass);
        let right = yielding.solve(&rows.transpose().to_owned());
        let schur = product(rows.as_ref(), right.as_ref());
        let missing = Mat::from_fn(missing.len(), 1, |i, _| missing[i]);
        let push = &right * schur.partial_piv_lu().solve(&missing);
        let plain = transposed_vector(rows, missing.col_as_slice(0));
        let good = push.norm_max().is_finite();
        for (i, q) in q.iter_mut().enumerate() {
            *q += if good { push[(i, 0)] } else { plain[i] };
        }
    }

    /// Lowers the energy by Newton steps in the coordinates that exact conditions leave free.
    fn descend(&self, q: &mut Vec<f64>, progress: &dyn Progress) -> Result<(), SpacetimeError> {
        // The orthogonal complement of an orthonormal set.
        let rows = &self.rows.rows;
        let free = orthonormal_complement(rows, if self.soft { 0 } else { rows.nrows() }, q.len());
        let within = |m: &Mat<f64>| {
            let right = product(m.as_ref(), free.as_ref());
            product(free.transpose().to_owned().as_ref(), right.as_ref())
        };
        let mut energy = self.energy(q);
        let size = (self.space.reference.len() as f64).sqrt();
        for k in 0..MAX_NEWTON_STEPS {
            report_progress(progress, k as f64 / MAX_NEWTON_STEPS as f64, "Modelling")?;
            if free.ncols() == 0 {
                break;
            }
            let (slope, hessian) = self.derivatives(q);
            let slope = transposed_vector(&free, &slope);
            let solver = factor_convex(&within(&hessian), &within(&self.space.mass));
            let right = Mat::from_fn(slope.len(), 1, |i, _| -slope[i]);
            let direction = solver.solve(&right);
            let direction = matrix_vector(&free, direction.col_as_slice(0));
            let promised: f64 = transposed_vector(&free, &direction)
                .iter()
                .zip(&slope)
                .map(|(a, b)| a * b)
                .sum();
            let share = self.search_line(q, &mut energy, &direction, promised);
            let length = direction.iter().map(|d| d * d).sum::<f64>().sqrt();
            let far: f64 = q.iter().map(|q| q * q).sum::<f64>().sqrt().max(size * 1e-9);
            if share.is_none_or(|share| share * length <= STEP_TOLERANCE * far) {
                break;
            }
        }
        Ok(())
    }

    /// Moves along a direction until the energy has fallen by a share of what the slope promises. Returns the share of the step; `None`: the energy
    /// does not fall.
    fn search_line(
        &self,
        q: &mut Vec<f64>,
        energy: &mut f64,
        direction: &[f64],
        promised: f64,
    ) -> Option<f64> {
        let mut share = 1.0;
        while share > 1e-6 {
            let pairs = q.iter().zip(direction);
            let trial: Vec<f64> = pairs.map(|(q, d)| q + share * d).collect();
            let next = self.energy(&trial);
            if next.is_finite() && next <= *energy + 1e-4 * share * promised {
                (*q, *energy) = (trial, next);
                return Some(share);
            }
            share *= 0.5;
        }
        None
    }
}

/// Factors a matrix, plus a multiple of another one large enough to make it positive definite.
fn factor_convex(matrix: &Mat<f64>, mass: &Mat<f64>) -> faer::linalg::solvers::Llt<f64> {
    let ratio = matrix.norm_max() / mass.norm_max().max(f64::MIN_POSITIVE);
    let mut raised = 1e-9 * ratio.max(f64::MIN_POSITIVE);
    loop {
        let sum = matrix + mass * faer::Scale(raised);
        if let Ok(factor) = sum.llt(Side::Lower) {
            return factor;
        }
        raised *= 10.0;
        if !raised.is_finite() || raised > 1e6 * ratio.max(1.0) {
            // The matrix is not finite: use the identity.
            let unit = Mat::<f64>::identity(mass.nrows(), mass.ncols());
            if let Ok(factor) = unit.llt(Side::Lower) {
                return factor;
            }
        }
    }
}

/// Returns an orthonormal basis of the complement of the first `kept` rows of an orthonormal set.
fn orthonormal_complement(rows: &Mat<f64>, kept: usize, d: usize) -> Mat<f64> {
    if kept == 0 {
        return Mat::identity(d, d);
    }
    let columns = Mat::from_fn(d, kept, |i, j| rows[(j, i)]);
    let q = columns.qr().compute_Q();
    q.subcols(kept.min(d), d - kept.min(d)).to_owned()
}
