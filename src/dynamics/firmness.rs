// SPDX-License-Identifier: MIT OR Apache-2.0
//! Stiffness of the flesh in motion, led from outside: a tense muscle is firmer. [capell2006, §6, future work]
//!
//! The elastic stiffness of each cell of the lattice is multiplied by a factor. During a call it goes linearly from the factors of the call
//! before to its own, so that a control that changes from frame to frame gives no jolts. Factors are part of a simulation's state.
//!
//! A step sees a copy of the body with the stiffness at the step's end. Its system is assembled and factored anew when this has changed.
//! Stiffness damping is the flesh's own viscosity and grows with the stiffness. The twist energy takes the factor that all cells
//! share (`crate::body::tense`). The joints' own elastic shape is that of flesh at ease: with one factor for all cells it does not depend on the factor.
//!
//! Neglected is the work that the change of stiffness itself does on strained flesh within a step, which is of the order of the step.

use crate::body::Body;
use std::sync::Arc;

/// Factors on the stiffness of the cells of one body, `[cells]` each.
pub(super) struct Firmness {
    /// The body at ease.
    pub ease: Arc<Body>,
    /// Factors at the end of the last call.
    pub now: Vec<f64>,
    /// Factors at the end of the next call.
    pub end: Vec<f64>,
    /// Factors of the body at hand.
    pub at_hand: Vec<f64>,
    /// Scratch: factors at an instant.
    pub instant: Vec<f64>,
}

impl Firmness {
    pub fn at_ease(ease: Arc<Body>) -> Self {
        let ones = vec![1.0; ease.lattice().cells().len()];
        Self {
            ease,
            now: ones.clone(),
            end: ones.clone(),
            at_hand: ones.clone(),
            instant: ones,
        }
    }

    /// Sets the instant at the share `s` from the present factors to those at the end; returns whether the body at hand has others.
    pub fn set_instant(&mut self, s: f64) -> bool {
        let ends = self.now.iter().zip(&self.end);
        for (instant, (now, end)) in self.instant.iter_mut().zip(ends) {
            // Exact at both ends and where nothing changes.
            *instant = if now == end {
                *end
            } else {
                now * (1.0 - s) + end * s
            };
        }
        self.instant != self.at_hand
    }
}

/// Returns the body at ease, of which the shape of joints and the springs of pins are.
pub(super) fn body_at_ease<'a>(
    body: &'a Arc<Body>,
    firmness: &'a Option<Box<Firmness>>,
) -> &'a Arc<Body> {
    firmness.as_ref().map_or(body, |firmness| &firmness.ease)
}
