// SPDX-License-Identifier: MIT OR Apache-2.0
//! Spacetime control: motions through keyframes with the least acting force. [hildebrandt2012, §4]
//!
//! [`WigglySpline`] interpolates numbers, [`Spacetime`] shapes of any [`Deformable`]. [`Composite`] joins such motions.

mod beside;
mod blend;
mod composite;
mod coupled;
mod deformable;
mod error;
mod functions;
mod ghosts;
mod inserting;
mod interval;
mod knots;
mod linear;
mod modelling;
mod motion;
mod options;
mod partial;
mod passing;
mod positions;
mod prepare;
mod range;
mod rigid;
mod show;
mod solved;
mod solving;
mod space;
mod spline;
mod system;
mod turning;

pub use composite::Composite;
pub use deformable::{Deformable, ElasticSolid};
pub use error::SpacetimeError;
pub use interval::{IntervalEnds, Oscillator};
pub use knots::{Knot, KnotData, KnotJoint, KnotLayout};
pub use motion::Spacetime;
pub use options::{Ghosts, RestShape, RigidMotion, SpaceSettings, SpacetimeSettings, Velocity};
pub use range::check_splines;
pub use spline::WigglySpline;

#[cfg(test)]
mod tests;
