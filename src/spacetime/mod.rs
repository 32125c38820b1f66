// SPDX-License-Identifier: MIT OR Apache-2.0
//! Spacetime control: motions through keyframes with the least acting force. [hildebrandt2012]

mod functions;
mod interval;
mod knots;
mod spline;

pub use interval::{Ends, Oscillator};
pub use knots::{Joint, Knot, KnotData, Layout};
pub use spline::WigglySpline;

#[cfg(test)]
mod tests;
