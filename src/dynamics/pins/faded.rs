// SPDX-License-Identifier: MIT OR Apache-2.0
//! Pins beside details that fade out of the displayed shape.
//!
//! Flesh that adapts shows what former details displaced for a while ([`FadedShape`]), at pinned points, too. Let f, g and l be
//! what fades of positions, of sway and of the skin of bent joints at a point, in rest axes. Sway u is shown as `b + s (f − g) + l + bound(w (u + g))`,
//! with s the share of the joints' elastic shape. So b becomes `b + s (f − g) + l`, and z becomes `z − g`: the goals of pins take off what
//! is left at the end of the frame.

use super::pin::PinPoint;
use super::point::{HeldPoint, ZeroSway, find_row};
use crate::Vec3;
use crate::dynamics::adapting::FadedShape;
use crate::dynamics::skinned::SkinnedLattice;

/// Fading displacements of a body at an instant, with those of its skin.
pub(super) struct FadedFlesh<'a> {
    faded: FadedShape<'a>,
    /// Displacements of the skin of bent joints, `[vertices]`, m, world axes; empty: none.
    lifts: Vec<Vec3>,
}

impl<'a> FadedFlesh<'a> {
    /// Prepares what fades; `share` of the joints' own shape is shown.
    pub fn new(faded: FadedShape<'a>, share: f64) -> Self {
        let joints = &faded.shape.joints;
        let mut lifts = Vec::new();
        if !joints.is_empty() {
            lifts = faded.body.joints().moved_skin(joints);
            lifts.iter_mut().for_each(|lift| *lift *= share);
        }
        Self { faded, lifts }
    }

    /// Returns zero sway at a point with what fades there.
    pub fn add_to(
        &self,
        zero: ZeroSway,
        (held, point): (&HeldPoint, PinPoint),
        skinned: &SkinnedLattice,
    ) -> ZeroSway {
        let row = find_row(self.faded.body, point).unwrap_or_default();
        let at = |part: &[Vec3]| -> Vec3 {
            let values = row.iter();
            values
                .map(|&(a, value)| part.get(a as usize).copied().unwrap_or_default() * value)
                .sum()
        };
        let (place, sway) = (at(&self.faded.shape.places), at(&self.faded.shape.sway));
        let lift = match point {
            PinPoint::Vertex(vertex) => self.lifts.get(vertex as usize).copied(),
            PinPoint::Place(_) => None,
        };
        // Points without skin are shown at the joints' own shape, and the skin of bent joints replaces it.
        let lift = lift.unwrap_or_default() * (1.0 - zero.bent);
        let turned = |d: Vec3| held.turn(skinned).tr_mul(&d);
        ZeroSway {
            own: zero.own - turned(sway),
            shown: zero.shown + turned((place - sway) * zero.bent + lift),
            ..zero
        }
    }
}
