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

pub(super) use bulge::Bulge;
pub(super) use bump::Bump;
pub(super) use radial::Radial;
pub(super) use torus::Torus;
#[cfg(test)]
pub(super) use vortex::Vortex;

use super::field::{Derivatives, Field, PEAK, Values, Weight, linear, window};
use super::outline::{self, Lines};
use super::{Parameter, ParameterKind, Spec};
use crate::{Mat3, Vec3};
use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, PI};

const RADIUS: Parameter = Parameter {
    name: "radius",
    kind: ParameterKind::Radius,
    label: "Radius",
    doc: "Distance from its middle that the field reaches",
    default: 0.1,
    range: (0.0, 1.0),
};

const STRENGTH: Parameter = Parameter {
    name: "strength",
    kind: ParameterKind::Strength,
    label: "Strength",
    doc: "Largest force on a cubic metre of flesh, in newtons (gravity pulls with about 10 000); negative reverses the field",
    default: 40e3,
    range: (-500e3, 500e3),
};
