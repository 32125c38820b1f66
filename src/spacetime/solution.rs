// SPDX-License-Identifier: MIT OR Apache-2.0
//! Solution of a motion, and the velocities prescribed in it.

use super::blend::Station;
use super::rigid::{RigidPath, VelocitySplit};
use super::spline::WigglySpline;

/// Solution of the splines.
pub(super) struct MotionSolution {
    pub stations: Vec<Station>,
    /// Splines around each linearisation.
    pub splines: Vec<WigglySpline>,
    pub rigid: Option<RigidPath>,
    pub misses: Vec<(usize, f64)>,
}

impl MotionSolution {
    /// Creates an empty solution.
    pub fn empty() -> Self {
        Self {
            stations: Vec::new(),
            splines: Vec::new(),
            rigid: None,
            misses: Vec::new(),
        }
    }
}

/// Prescribed velocities before and behind each keyframe.
#[derive(Debug, Clone)]
pub(super) struct KeyVelocities {
    /// Coordinates of the velocities; empty where nothing is prescribed.
    pub sides: [Vec<Vec<f64>>; 2],
    /// Velocities of the rigid motion that is factored out.
    pub parted: [Vec<Option<VelocitySplit>>; 2],
}

impl KeyVelocities {
    pub fn empty(keys: usize) -> Self {
        Self {
            sides: [vec![Vec::new(); keys], vec![Vec::new(); keys]],
            parted: [vec![None; keys], vec![None; keys]],
        }
    }
}
