// SPDX-License-Identifier: MIT OR Apache-2.0
//! Generalised forces of a force field in the flesh, and their derivatives. [capell2006, eq. 6]
//!
//! `Q_i = ∫_Ω f φ_i ≈ Σ_p V_p f(x_p) φ_i(x_p)` over the body's own points of flesh ([`crate::body::FleshPoints`]). At
//! the selected level, four to eight voxels span the template's radius (three to six that of a torus's tube), so that
//! templates smaller than a cell are resolved. The points are fixed and f is C¹. At a fixed level Q is therefore C¹
//! in everything that moves f, with an exact derivative. Between levels Q jumps by the error of the quadrature: some
//! tenths of a percent inside the flesh, up to two percent where the skin cuts the template.
//!
//! Let `f(x) = R g(Rᵀ(x − o))`, u a field of the nodes, and the frame move with spin ω and velocity v. Then
//! `d Σ u·Q = ω · Σ V (f×u − (x−o)×t) − v · Σ V t`, with `t = R (∂g/∂y)ᵀ Rᵀ u`: two sums serve all parameters of a
//! guide.

use super::GuideFrame;
use super::cell_means::mean_over_cells;
use super::field::{ForceField, MAX_PARAMETERS, ParameterValues};
use crate::body::{Body, Brick};
use crate::{Mat3, Vec3};
use smallvec::SmallVec;
use std::sync::Arc;

/// One item for each function of a cell.
type PerFunction<T> = SmallVec<[T; 8]>;

/// Smallest resolved length of a template, as a part of its reach; a smaller one would take too many points.
const MIN_RESOLVED_SHARE: f64 = 1.0 / 64.0;

/// Derivatives of `Σ u·Q` by the template's parameters and by the frame's motion.
#[derive(Debug, Default)]
pub(super) struct WorkDerivatives {
    pub by_parameter: [f64; MAX_PARAMETERS],
    /// Derivative by the frame's spin about its origin, per radian, rest axes.
    pub by_spin: Vec3,
    /// Derivative by the frame's velocity, per metre, rest axes.
    pub by_velocity: Vec3,
}

/// Derivatives of the generalised forces themselves, `[nodes]` each, rest axes.
#[derive(Debug)]
pub(super) struct ForceTangents {
    /// Q, N.
    pub forces: Vec<Vec3>,
    /// Derivatives by each of the template's parameters; unused ones are zero.
    pub by_parameter: [Vec<Vec3>; MAX_PARAMETERS],
    /// Derivatives by a spin of the frame about its origin around rest axes, N per radian.
    pub by_spin: [Vec<Vec3>; 3],
    /// Derivatives by a velocity of the frame along rest axes, N/m.
    pub by_velocity: [Vec<Vec3>; 3],
}

/// Number of fields: force, parameters, spins, velocities.
const FIELD_COUNT: usize = 1 + MAX_PARAMETERS + 6;

/// Integrals of a field over flesh. Each field has its own compiled loops: a call per point would double the time.
pub(super) trait FieldIntegrals: ForceField {
    /// Returns the level that resolves a template.
    fn resolving_level(&self, body: &Body, p: &ParameterValues) -> u32 {
        let radius = p[self.resolved_index()].max(self.reach(p) * MIN_RESOLVED_SHARE);
        body.points().level(radius / self.voxels_per_length())
    }

    /// Returns the range of resolved lengths of a level, metres.
    fn level_radii(&self, body: &Body, level: u32) -> (f64, f64) {
        let least = body.points().spacing(level) * self.voxels_per_length();
        let most = if level == 0 {
            f64::INFINITY
        } else {
            2.0 * least
        };
        // Kept off the boundary, where rounding decides.
        (least * (1.0 + 1e-9), most * (1.0 - 1e-9))
    }

    /// Returns the approximate number of points of a level in a template: its volume in voxels, at most that of the
    /// body's box.
    fn point_count(&self, body: &Body, level: u32, p: &ParameterValues) -> f64 {
        self.volume(p).min(body.size().powi(3)) / body.points().spacing(level).powi(3)
    }

    /// Returns the bricks that a template reaches.
    fn reached_bricks(
        &self,
        body: &Body,
        level: u32,
        p: &ParameterValues,
        frame: &GuideFrame,
    ) -> Vec<Arc<Brick>> {
        let extent = Vec3::repeat(self.reach(p));
        let around = (frame.origin - extent, frame.origin + extent);
        body.points()
            .bricks_in_box(level, around, |middle, radius| {
                self.distance(p, &frame.to_local(&middle)) < radius
            })
    }

    /// Adds the generalised forces of a template to `out[nodes]`, N; returns `false` if it lies outside the flesh.
    fn add_forces(
        &self,
        body: &Body,
        level: u32,
        p: &ParameterValues,
        frame: &GuideFrame,
        out: &mut [Vec3],
    ) -> bool {
        let mut any = false;
        for brick in self.reached_bricks(body, level, p, frame) {
            for run in brick.runs(body.basis()) {
                let mut sums: PerFunction<_> =
                    SmallVec::from_elem(Vec3::zeros(), run.functions.len());
                let mut touched = false;
                for (point, values) in run.points() {
                    let Some(force) = self.force(p, &frame.to_local(&point.place)) else {
                        continue;
                    };
                    touched = true;
                    let force = force * point.volume;
                    for (sum, w) in sums.iter_mut().zip(values) {
                        *sum += force * *w;
                    }
                }
                if touched {
                    any = true;
                    for (&v, sum) in run.functions.iter().zip(&sums) {
                        out[v as usize] += frame.rotation * sum;
                    }
                }
            }
        }
        any
    }

    /// Returns the mean of the window over the flesh of each cell, `[cells]`; `None` if the template lies outside the flesh.
    fn window_means(
        &self,
        body: &Body,
        level: u32,
        p: &ParameterValues,
        frame: &GuideFrame,
    ) -> Option<Vec<f64>> {
        let bricks = self.reached_bricks(body, level, p, frame);
        let points = bricks.iter().flat_map(|brick| brick.points());
        let shares = points.filter_map(|point| {
            let share = self.window(p, &frame.to_local(&point.place))?;
            Some((point.element, point.volume, share))
        });
        mean_over_cells(body, shares)
    }

    /// Returns the derivatives of `Σ field·Q`; `None` if the template lies outside the flesh.
    fn work_derivatives(
        &self,
        body: &Body,
        level: u32,
        p: &ParameterValues,
        frame: &GuideFrame,
        field: &[Vec3],
    ) -> Option<WorkDerivatives> {
        let mut any = false;
        // In the template's frame.
        let mut sums = WorkDerivatives::default();
        for brick in self.reached_bricks(body, level, p, frame) {
            for run in brick.runs(body.basis()) {
                let local = |&v: &u32| frame.rotation.tr_mul(&field[v as usize]);
                let field: PerFunction<Vec3> = run.functions.iter().map(local).collect();
                for (point, values) in run.points() {
                    let y = frame.to_local(&point.place);
                    let Some(d) = self.derivatives(p, &y) else {
                        continue;
                    };
                    any = true;
                    let u: Vec3 = field.iter().zip(values).map(|(u, w)| u * *w).sum();
                    let u = u * point.volume;
                    for (sum, by) in sums.by_parameter.iter_mut().zip(&d.by_parameter) {
                        *sum += by.dot(&u);
                    }
                    let t = d.by_place.tr_mul(&u);
                    sums.by_spin += d.force.cross(&u) - y.cross(&t);
                    sums.by_velocity -= t;
                }
            }
        }
        sums.by_spin = frame.rotation * sums.by_spin;
        sums.by_velocity = frame.rotation * sums.by_velocity;
        any.then_some(sums)
    }

    /// Returns the generalised forces and their derivatives; `None` if the template lies outside the flesh.
    fn force_tangents(
        &self,
        body: &Body,
        level: u32,
        p: &ParameterValues,
        frame: &GuideFrame,
    ) -> Option<ForceTangents> {
        let mut any = false;
        let mut out: [Vec<Vec3>; FIELD_COUNT] =
            std::array::from_fn(|_| vec![Vec3::zeros(); body.node_count()]);
        let axes = Mat3::identity();
        for brick in self.reached_bricks(body, level, p, frame) {
            for run in brick.runs(body.basis()) {
                // In the template's frame.
                let none = [Vec3::zeros(); FIELD_COUNT];
                let mut sums: PerFunction<_> = SmallVec::from_elem(none, run.functions.len());
                let mut touched = false;
                for (point, values) in run.points() {
                    let y = frame.to_local(&point.place);
                    let Some(d) = self.derivatives(p, &y) else {
                        continue;
                    };
                    touched = true;
                    let mut each = [d.force; FIELD_COUNT];
                    each[1..=MAX_PARAMETERS].copy_from_slice(&d.by_parameter);
                    for axis in 0..3 {
                        let e = axes.column(axis);
                        each[1 + MAX_PARAMETERS + axis] =
                            e.cross(&d.force) - d.by_place * e.cross(&y);
                        each[4 + MAX_PARAMETERS + axis] = -d.by_place.column(axis);
                    }
                    for (sums, w) in sums.iter_mut().zip(values) {
                        let w = w * point.volume;
                        for (sum, each) in sums.iter_mut().zip(&each) {
                            *sum += each * w;
                        }
                    }
                }
                if touched {
                    any = true;
                    for (&v, sums) in run.functions.iter().zip(&sums) {
                        for (out, sum) in out.iter_mut().zip(sums) {
                            out[v as usize] += frame.rotation * sum;
                        }
                    }
                }
            }
        }
        any.then(|| ForceTangents::new(out, frame))
    }
}

impl<F: ForceField> FieldIntegrals for F {}

impl ForceTangents {
    /// Sorts the fields. Spins and velocities about the frame's own axes become those about rest axes.
    fn new(mut fields: [Vec<Vec3>; FIELD_COUNT], frame: &GuideFrame) -> Self {
        for of_axes in fields[1 + MAX_PARAMETERS..].chunks_mut(3) {
            for v in 0..of_axes[0].len() {
                let own = Mat3::from_columns(&[of_axes[0][v], of_axes[1][v], of_axes[2][v]]);
                let rest = own * frame.rotation.transpose();
                for (axis, of_axis) in of_axes.iter_mut().enumerate() {
                    of_axis[v] = rest.column(axis).into_owned();
                }
            }
        }
        let mut fields = fields.into_iter();
        let mut next = || fields.next().unwrap_or_default();
        Self {
            forces: next(),
            by_parameter: std::array::from_fn(|_| next()),
            by_spin: std::array::from_fn(|_| next()),
            by_velocity: std::array::from_fn(|_| next()),
        }
    }
}
