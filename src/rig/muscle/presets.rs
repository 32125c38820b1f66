// SPDX-License-Identifier: MIT OR Apache-2.0
//! The large muscles of a character's limbs and chest, found by its shape and rig without names.
//!
//! Ends are parts of the limb's own measures: along its segments, and out from their middle by parts of their radii. So both sides mirror each
//! other as far as the character does. Pectorals and trapezius belong to upright trunks.

use super::{MuscleRig, place_at};
use crate::Vec3;
use crate::body::{Body, LimbSegments, TrunkFrame};

/// Contraction of the presets: a flexed biceps is about three tenths shorter.
const FULL_CONTRACTION: f64 = 0.3;

/// Name, ends and size of a muscle.
struct Recipe {
    name: &'static str,
    /// Bone and point of the origin, then of the insertion.
    ends: [(u32, Vec3); 2],
    /// Radius and bow, m.
    size: [f64; 2],
}

/// Returns the muscles that a character has: biceps and triceps of its arms, quadriceps and calves of its legs, and pectorals and trapezius of an
/// upright trunk. Each has a name with its side, and contracts by 0.3.
pub(super) fn preset_muscles(body: &Body) -> Vec<(String, MuscleRig)> {
    let anatomy = body.anatomy();
    let Some(trunk) = anatomy.trunk_frame() else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for limb in anatomy.limb_segments() {
        let mut recipes = Vec::from(match limb.at_chest {
            true => arm(&limb),
            false => leg(&limb),
        });
        if limb.at_chest && trunk.upright {
            recipes.extend(chest(body, &limb, &trunk));
        }
        let side = if limb.left { "left" } else { "right" };
        let named = |r: &Recipe| Some((format!("{} {side}", r.name), r.muscle(body)?));
        found.extend(recipes.iter().filter_map(named));
    }
    found
}

impl LimbSegments {
    /// Returns the place at a part of the upper (0) or lower (1) segment, `out` radii towards the flexor side.
    fn place(&self, segment: usize, along: f64, out: f64) -> Vec3 {
        let [from, to] = [self.joints[segment], self.joints[segment + 1]];
        let axis = (to - from).normalize();
        let side = self.flexor - axis * self.flexor.dot(&axis);
        let side = side.try_normalize(1e-6).unwrap_or_default();
        from.lerp(&to, along) + side * (out * self.radii[segment])
    }

    /// Returns a muscle from a place on the upper segment to one on the lower segment, `out` radii towards the flexor side, of a radius in
    /// radii of a segment.
    fn across_joint(
        &self,
        name: &'static str,
        [from, to]: [f64; 2],
        out: f64,
        (radius, segment): (f64, usize),
    ) -> Recipe {
        let [_, upper, lower] = self.bones;
        Recipe {
            name,
            ends: [
                (upper, self.place(0, from, out)),
                (lower, self.place(1, to, out)),
            ],
            size: [radius * self.radii[segment], 0.1 * self.radii[segment]],
        }
    }
}

fn arm(limb: &LimbSegments) -> [Recipe; 2] {
    [
        limb.across_joint("Biceps", [0.1, 0.12], 0.45, (0.5, 0)),
        limb.across_joint("Triceps", [0.12, 0.04], -0.45, (0.5, 0)),
    ]
}

fn leg(limb: &LimbSegments) -> [Recipe; 2] {
    [
        limb.across_joint("Quadriceps", [0.1, 0.08], -0.42, (0.55, 0)),
        limb.across_joint("Calf", [0.97, 0.75], 0.42, (0.55, 1)),
    ]
}

/// Returns the muscles from an upright trunk to an arm; none if no bone carries the trunk there.
fn chest(body: &Body, limb: &LimbSegments, trunk: &TrunkFrame) -> Vec<Recipe> {
    let (shoulder, half) = (limb.joints[0], trunk.half_thickness);
    let middle = trunk.on_axis(shoulder);
    let aside = shoulder - middle;
    let Some(bone) = body.anatomy().trunk_bone(middle) else {
        return Vec::new();
    };
    let [first, upper, _] = limb.bones;
    let sternum =
        middle + trunk.ventral * (0.55 * half) + aside * 0.15 - trunk.axis * (0.25 * half);
    let neck = middle - trunk.ventral * (0.35 * half) + aside * 0.1 + trunk.axis * (0.4 * half);
    let top = shoulder + trunk.axis * (0.4 * limb.radii[0]) - aside * 0.1;
    vec![
        Recipe {
            name: "Pectoral",
            ends: [(bone, sternum), (upper, limb.place(0, 0.2, 0.3))],
            size: [0.4 * half, 0.1 * half],
        },
        Recipe {
            name: "Trapezius",
            ends: [(bone, neck), (first, top)],
            size: [0.3 * half, 0.0],
        },
    ]
}

impl Recipe {
    /// Returns the muscle; `None` if a bone has no length, or if it reaches no flesh.
    fn muscle(&self, body: &Body) -> Option<MuscleRig> {
        let place = |(bone, x): (u32, Vec3)| place_at(body.skeleton(), bone, x).ok();
        let [origin, insertion] = self.ends.map(place);
        let [radius, bow] = self.size;
        let muscle = MuscleRig::new(origin?, insertion?, [FULL_CONTRACTION, radius, bow]).ok()?;
        muscle.check_in(body).ok()?;
        Some(muscle)
    }
}
