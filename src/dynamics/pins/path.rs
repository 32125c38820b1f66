// SPDX-License-Identifier: MIT OR Apache-2.0
//! Targets of a pin within a frame.
//!
//! A target moves relative to the bones of its point, in rest axes, by a cubic: it starts with the velocity with which the last frame
//! ended and ends with its own mean velocity, like bones whose next pose is not known yet. A pin that moves with a rigid pose therefore
//! never disturbs the flesh, however far the pose turns in a frame, and nothing jerks where frames meet.

use super::point::{HeldPoint, ZeroSway};
use crate::dynamics::skinned::SkinnedLattice;
use crate::{Mat3, Vec3};

/// Strengths within this of 0 and 1 count as off and as held: rounding of a constant strength between frames.
const STRENGTH_ROUNDING: f64 = 1e-9;

/// Target of a pin from a frame's beginning to its end; relative to the skinned point, in rest axes, m.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct PinPath {
    pub targets: [Vec3; 2],
    /// Slopes per frame at both ends, m.
    pub slopes: [Vec3; 2],
    pub zero: [ZeroSway; 2],
    pub strengths: [f64; 2],
}

/// Where a pin holds its point at the end of a step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct PinGoal {
    /// Place in the method's own positions, m, world axes.
    pub place: Vec3,
    /// Compliance of the pin, m/N, world axes; 0: rigid. `None`: off.
    pub give: Option<Mat3>,
}

impl PinGoal {
    pub fn is_rigid(&self) -> bool {
        self.give.is_some_and(|give| give == Mat3::zeros())
    }
}

impl PinPath {
    /// Builds a path that stays relative to the bones.
    pub fn constant(target: Vec3, zero: ZeroSway, strength: f64) -> Self {
        Self {
            targets: [target; 2],
            slopes: [Vec3::zeros(); 2],
            zero: [zero; 2],
            strengths: [strength; 2],
        }
    }

    /// Returns the shown target at the share `s` of the frame, relative to the skinned point, in rest axes.
    pub fn target(&self, s: f64) -> Vec3 {
        let [from, to] = self.targets;
        if s >= 1.0 {
            return to;
        }
        let (t, u) = (s * s, 1.0 - s);
        from + (to - from) * (t * (3.0 - 2.0 * s)) + self.slopes[0] * (s * u * u)
            - self.slopes[1] * (t * u)
    }

    pub fn strength(&self, s: f64) -> f64 {
        let [from, to] = self.strengths;
        from + (to - from) * s
    }

    /// Returns where the pin holds its point at the share `s` of the frame, with the skinned lattice there.
    pub fn goal(&self, point: &HeldPoint, skinned: &SkinnedLattice, s: f64) -> PinGoal {
        let [from, to] = self.zero;
        let between = |a: Vec3, b: Vec3| a + (b - a) * s;
        let zero = ZeroSway {
            own: between(from.own, to.own),
            shown: between(from.shown, to.shown),
            ..to
        };
        let own = point.own_of_shown(&zero, self.target(s));
        let strength = self.strength(s);
        PinGoal {
            place: point.placed(skinned, own),
            give: match strength {
                s if s <= STRENGTH_ROUNDING => None,
                s if s >= 1.0 - STRENGTH_ROUNDING => Some(Mat3::zeros()),
                s => {
                    let turn = point.turn(skinned);
                    Some(turn * point.compliance * turn.transpose() * ((1.0 - s) / s))
                }
            },
        }
    }
}
