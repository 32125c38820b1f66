// SPDX-License-Identifier: MIT OR Apache-2.0
//! Spacetime control: motions through keyframes with the least acting force. [hildebrandt2012, §4]
//!
//! [`WigglySpline`] interpolates numbers, [`Spacetime`] shapes of any [`Deformable`]. [`Composite`] joins such motions.
//!
//! | module | contents |
//! | --- | --- |
//! | `spline`, `interval`, `functions` | wiggly splines, one interval as a finite element, its entire functions |
//! | `knots`, `system`, `coupled` | unknowns at the knots, the banded system of one mode, conditions that couple modes |
//! | `deformable` | bodies that can be moved: energies, derivatives, masses |
//! | `options`, `range`, `error` | settings, valid ranges, errors |
//! | `prepare`, `space`, `linear` | the preprocess: aligned keyframes, the reduced space, linearisations |
//! | `ghosts`, `ghost_times`, `blend` | additional shapes to linearise around, times at which they are passed, blending over time |
//! | `rigid`, `turning` | the rigid motion that is factored out, angular velocity from rotation vectors |
//! | `motion`, `solving`, `solution` | a motion and its changes, the solution of its splines, the result |
//! | `partial`, `inserting`, `modelling` | positions of some vertices, insertion of keyframes, new shapes by dragging |
//! | `positions`, `frame_writer`, `comparison` | vertices at any times, in f32 for many frames; comparison with cubic splines |
//! | `composite` | motions in sequence |
//! | `stored`, `dense` | files, dense matrices in them |

mod blend;
mod comparison;
mod composite;
mod coupled;
mod deformable;
mod dense;
mod error;
mod frame_writer;
mod functions;
mod ghost_times;
mod ghosts;
mod inserting;
mod interval;
mod knots;
mod linear;
mod modelling;
mod motion;
mod options;
mod partial;
mod positions;
mod prepare;
mod range;
mod rigid;
mod solution;
mod solving;
mod space;
mod spline;
mod stored;
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
