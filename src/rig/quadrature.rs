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

use super::guide::GuideFrame;
use super::template::{MOST, Template, TemplateKind};
use crate::body::{Body, Brick};
use crate::{Mat3, Vec3};
use smallvec::SmallVec;
use std::f64::consts::PI;
use std::sync::Arc;

/// One item for each function of a cell.
type Cell<T> = SmallVec<[T; 8]>;

/// Fewest voxels per radius.
const FINE: f64 = 4.0;
/// Fewest voxels per radius of a torus's tube; the grid's errors even out around the ring.
const FINE_TUBE: f64 = 3.0;
/// Smallest tube radius, as a part of the torus's support radius, that is resolved; a thinner one would take too many
/// points.
const THINNEST: f64 = 1.0 / 64.0;

/// Returns the level that resolves a template.
pub(super) fn level(body: &Body, template: &Template) -> u32 {
    let radius = template.radius().max(template.support_radius() * THINNEST);
    body.points().level(radius / fine(template.kind()))
}

/// Returns the range of template radii that a level resolves, metres.
pub(super) fn radii(body: &Body, level: u32, kind: TemplateKind) -> (f64, f64) {
    let least = body.points().spacing(level) * fine(kind);
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
pub(super) fn points(body: &Body, level: u32, template: &Template) -> f64 {
    let r = template.radius();
    let volume = match template.kind() {
        TemplateKind::Torus => 2.0 * (PI * r).powi(2) * (template.support_radius() - r),
        _ => 4.0 / 3.0 * PI * r.powi(3),
    };
    volume.min(body.size().powi(3)) / body.points().spacing(level).powi(3)
}

fn fine(kind: TemplateKind) -> f64 {
    match kind {
        TemplateKind::Torus => FINE_TUBE,
        _ => FINE,
    }
}

/// Derivatives of `Σ u·Q` by the template's parameters and by the frame's motion.
#[derive(Debug, Default)]
pub(super) struct Sums {
    pub by_parameter: [f64; MOST],
    /// Derivative by the frame's spin about its origin, per radian, rest axes.
    pub by_spin: Vec3,
    /// Derivative by the frame's velocity, per metre, rest axes.
    pub by_velocity: Vec3,
}

/// Adds the generalised forces of a template to `out[nodes]`, N; returns `false` if it lies outside the flesh.
pub(super) fn add_forces(
    body: &Body,
    level: u32,
    template: &Template,
    frame: &GuideFrame,
    out: &mut [Vec3],
) -> bool {
    let mut any = false;
    for brick in bricks(body, level, template, frame) {
        for run in brick.runs(body.basis()) {
            let mut sums: Cell<Vec3> = SmallVec::from_elem(Vec3::zeros(), run.functions.len());
            let mut touched = false;
            for (p, values) in run.points() {
                let Some(force) = template.force_within(&frame.local(&p.place)) else {
                    continue;
                };
                touched = true;
                let force = force * p.volume;
                for (sum, &w) in sums.iter_mut().zip(values) {
                    *sum += force * w;
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

/// Returns the derivatives of `Σ field·Q`; `None` if the template lies outside the flesh.
pub(super) fn forces_vjp(
    body: &Body,
    level: u32,
    template: &Template,
    frame: &GuideFrame,
    field: &[Vec3],
) -> Option<Sums> {
    let mut any = false;
    // In the template's frame.
    let mut sums = Sums::default();
    for brick in bricks(body, level, template, frame) {
        for run in brick.runs(body.basis()) {
            let local = |&v: &u32| frame.rotation.tr_mul(&field[v as usize]);
            let field: Cell<Vec3> = run.functions.iter().map(local).collect();
            for (p, values) in run.points() {
                let y = frame.local(&p.place);
                let Some(d) = template.derivatives(&y) else {
                    continue;
                };
                any = true;
                let u: Vec3 = field.iter().zip(values).map(|(u, w)| u * *w).sum();
                let u = u * p.volume;
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

/// Derivatives of the generalised forces themselves, `[nodes]` each, rest axes.
#[derive(Debug)]
pub(super) struct Tangents {
    /// Q, N.
    pub forces: Vec<Vec3>,
    /// Derivatives by each of the template's parameters; unused ones are zero.
    pub by_parameter: [Vec<Vec3>; MOST],
    /// Derivatives by a spin of the frame about its origin around rest axes, N per radian.
    pub by_spin: [Vec<Vec3>; 3],
    /// Derivatives by a velocity of the frame along rest axes, N/m.
    pub by_velocity: [Vec<Vec3>; 3],
}

/// Number of fields: force, parameters, spins, velocities.
const TANGENTS: usize = 1 + MOST + 6;

/// Returns the generalised forces and their derivatives; `None` if the template lies outside the flesh.
pub(super) fn tangents(
    body: &Body,
    level: u32,
    template: &Template,
    frame: &GuideFrame,
) -> Option<Tangents> {
    let mut any = false;
    let mut out: [Vec<Vec3>; TANGENTS] =
        std::array::from_fn(|_| vec![Vec3::zeros(); body.node_count()]);
    let axes = Mat3::identity();
    for brick in bricks(body, level, template, frame) {
        for run in brick.runs(body.basis()) {
            // In the template's frame.
            let none = [Vec3::zeros(); TANGENTS];
            let mut sums: Cell<_> = SmallVec::from_elem(none, run.functions.len());
            let mut touched = false;
            for (p, values) in run.points() {
                let y = frame.local(&p.place);
                let Some(d) = template.derivatives(&y) else {
                    continue;
                };
                touched = true;
                let mut each = [d.force; TANGENTS];
                each[1..=MOST].copy_from_slice(&d.by_parameter);
                for axis in 0..3 {
                    let e = axes.column(axis);
                    each[1 + MOST + axis] = e.cross(&d.force) - d.by_place * e.cross(&y);
                    each[4 + MOST + axis] = -d.by_place.column(axis);
                }
                for (sums, w) in sums.iter_mut().zip(values) {
                    let w = w * p.volume;
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
    let [forces, a, b, c, mut motions @ ..] = out;
    // Spins and velocities are still about the frame's own axes.
    let (spins, velocities) = motions.split_at_mut(3);
    for of_axes in [spins, velocities] {
        for v in 0..body.node_count() {
            let own = Mat3::from_columns(&[of_axes[0][v], of_axes[1][v], of_axes[2][v]]);
            let rest = own * frame.rotation.transpose();
            for (axis, of_axis) in of_axes.iter_mut().enumerate() {
                of_axis[v] = rest.column(axis).into_owned();
            }
        }
    }
    let [d, e, f, g, h, i] = motions;
    any.then_some(Tangents {
        forces,
        by_parameter: [a, b, c],
        by_spin: [d, e, f],
        by_velocity: [g, h, i],
    })
}

/// Returns the bricks that a template reaches.
fn bricks(body: &Body, level: u32, template: &Template, frame: &GuideFrame) -> Vec<Arc<Brick>> {
    let extent = Vec3::repeat(template.support_radius());
    let around = (frame.origin - extent, frame.origin + extent);
    body.points().within(level, around, |middle, radius| {
        template.distance(&frame.local(&middle)) < radius
    })
}
