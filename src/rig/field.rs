// SPDX-License-Identifier: MIT OR Apache-2.0
//! The trait of a template's force field, and the polynomials that fields share. [capell2006, §4.2]
//!
//! Let `W(s) = (1 − s²)²` for `s < 1` and zero beyond, with s the distance divided by the radius R. Its slope vanishes
//! at the boundary, so a field that is W times a smooth one is compact and C¹. With `k = 25√5/16` the largest value of
//! `k s W(s)` is one.

use super::outline::OutlineSegments;
use super::{RigError, Spec};
use crate::{Mat3, Vec3};
use std::f64::consts::PI;

/// Largest number of parameters of a template.
pub(crate) const MAX_PARAMETERS: usize = 3;

/// Values of a template's parameters in order; unused ones are zero.
pub(super) type ParameterValues = [f64; MAX_PARAMETERS];

/// `25√5/16`: one over the largest value of `s W(s)`.
pub(super) const PEAK_NORMALISATION: f64 = 25.0 * 2.236_067_977_499_79 / 16.0;

/// Force at a point and its derivatives, in the template's frame.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ForceDerivatives {
    /// Force per volume, N/m³.
    pub force: Vec3,
    /// Derivative by the point, N/m⁴.
    pub by_place: Mat3,
    /// Derivative by each parameter, in order; unused ones are zero.
    pub by_parameter: [Vec3; MAX_PARAMETERS],
}

/// Force field of one kind of template: compact and C¹, with the strength as its largest force.
///
/// Parameters are lengths first and the strength last. The default methods hold for a field in a ball with the first
/// parameter as its radius; a field of another shape overrides them.
pub(super) trait ForceField: Sync {
    /// Returns name, texts and parameters.
    fn spec(&self) -> &'static Spec;

    /// Returns the force at a point of the frame, N/m³; `None` outside the support.
    fn force(&self, p: &ParameterValues, y: &Vec3) -> Option<Vec3>;

    /// Returns the force and its derivatives at a point of the frame; `None` outside the support.
    fn derivatives(&self, p: &ParameterValues, y: &Vec3) -> Option<ForceDerivatives>;

    /// Returns lines that show the support and the directions of the force, in the template's frame, metres.
    fn outline(&self, p: &ParameterValues) -> OutlineSegments;

    /// Returns the usual tilt of a template's guide at a bone, radians.
    fn tilt(&self) -> f64 {
        0.0
    }

    /// Returns the lengths of a template of usual proportions, as parts of its reach.
    fn usual_proportions(&self) -> &'static [f64] {
        &[1.0]
    }

    /// Returns the indices of two lengths, outer and inner: the first must stay larger than the second.
    fn nested_indices(&self) -> Option<(usize, usize)> {
        None
    }

    /// Returns the index of the length over which the force varies; a quadrature has to resolve it.
    fn resolved_index(&self) -> usize {
        0
    }

    /// Returns the fewest voxels of a quadrature per resolved length.
    fn voxels_per_length(&self) -> f64 {
        4.0
    }

    /// Returns the largest change in one update of a fit while the mouse moves: a part of a length, and a multiple of
    /// other typical changes. New flesh is most of the work of an update.
    fn max_update_change(&self) -> (f64, f64) {
        (0.3, 2.0)
    }

    /// Returns the distance from the frame's origin beyond which the force is zero, metres.
    fn reach(&self, p: &ParameterValues) -> f64 {
        p[0]
    }

    /// Returns the signed distance from a point of the frame to the support, metres; negative inside.
    fn distance(&self, p: &ParameterValues, y: &Vec3) -> f64 {
        y.norm() - p[0]
    }

    /// Returns the window W at a point of the frame, 1 in the middle of the support; `None` outside.
    fn window(&self, p: &ParameterValues, y: &Vec3) -> Option<f64> {
        Some(window_root(y.norm_squared(), p[0])?.powi(2))
    }

    /// Returns the volume of the support, m³.
    fn volume(&self, p: &ParameterValues) -> f64 {
        4.0 / 3.0 * PI * p[0].powi(3)
    }

    /// Returns the depth of flesh that a template under the skin fills, metres.
    fn depth(&self, p: &ParameterValues) -> f64 {
        p[0]
    }

    /// Refuses an inner length that is not smaller than its outer one.
    fn check(&self, p: &ParameterValues) -> Result<(), RigError> {
        match self.nested_indices() {
            Some((outer, inner)) if p[inner] >= p[outer] => {
                let parameters = self.spec().parameters;
                Err(RigError::Nested {
                    inner: (parameters[inner].name, p[inner]),
                    outer: (parameters[outer].name, p[outer]),
                })
            }
            _ => Ok(()),
        }
    }
}

/// Returns `1 − s²`, the square root of W, within the radius; `None` beyond.
#[inline]
pub(super) fn window_root(square: f64, radius: f64) -> Option<f64> {
    let rest = 1.0 - square / (radius * radius);
    (rest > 0.0).then_some(rest)
}

/// W and its derivatives.
pub(super) struct WindowWeight {
    pub value: f64,
    pub by_place: Vec3,
    pub by_radius: f64,
}

impl WindowWeight {
    #[inline]
    pub fn evaluate(y: &Vec3, radius: f64) -> Option<Self> {
        let square = y.norm_squared();
        let rest = window_root(square, radius)?;
        let slope = 4.0 * rest / (radius * radius);
        Some(Self {
            value: rest * rest,
            by_place: y * -slope,
            by_radius: slope * square / radius,
        })
    }
}

/// Returns `f = a p W m/R`, with `m` linear in the point, and its derivatives; those by R and a come first and
/// second.
#[inline]
pub(super) fn windowed_linear_field(
    w: &WindowWeight,
    m: Vec3,
    slope: &Mat3,
    (radius, peak): (f64, f64),
    strength: f64,
) -> ForceDerivatives {
    let unit = peak / radius;
    let scale = strength * unit;
    ForceDerivatives {
        force: m * (scale * w.value),
        by_place: (slope * w.value + m * w.by_place.transpose()) * scale,
        by_parameter: [
            m * (scale * (w.by_radius - w.value / radius)),
            m * (unit * w.value),
            Vec3::zeros(),
        ],
    }
}
