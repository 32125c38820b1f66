// SPDX-License-Identifier: MIT OR Apache-2.0
//! The force fields of the templates, one file each. [capell2006, §4.2]
//!
//! Deviation: the paper only describes its fields; these polynomials are ours. A negative strength reverses a force.

mod bulge;
mod bump;
mod radial;
mod torus;
#[cfg(test)]
mod vortex;

pub(super) use bulge::BulgeField;
pub(super) use bump::BumpField;
pub(super) use radial::RadialField;
pub(super) use torus::TorusField;
#[cfg(test)]
pub(super) use vortex::VortexField;

use super::field::{
    ForceDerivatives, ForceField, PEAK_NORMALISATION, ParameterValues, WindowWeight, window_root,
    windowed_linear_field,
};
use super::outline::{self, OutlineSegments};
use super::{Parameter, ParameterKind, Spec};
use crate::{Mat3, Vec3};
use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, PI};

const RADIUS_PARAMETER: Parameter = Parameter {
    name: "radius",
    kind: ParameterKind::Radius,
    label: "Radius",
    doc: "Distance from its middle that the field, or the muscle, reaches",
    default: 0.1,
    range: (0.0, 1.0),
};

const STRENGTH_PARAMETER: Parameter = Parameter {
    name: "strength",
    kind: ParameterKind::Strength,
    label: "Strength",
    doc: "Largest force on a cubic metre of flesh, in newtons (gravity pulls with about 10 000); negative reverses the field",
    default: 40e3,
    range: (-500e3, 500e3),
};
