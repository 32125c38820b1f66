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

/// Least depth of a muscle's middle under the skin, in its radii. Its share of the flesh is small beyond.
const COVER: f64 = 0.8;
/// Shares of its usual distance from the middle of a limb at which a muscle is tried in turn.
const OUT_SHARES: [f64; 4] = [1.0, 0.75, 0.5, 0.25];

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
            true => arm(body, &limb),
            false => leg(body, &limb),
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
    /// radii of a segment. Where the skin there is too near, it lies nearer to the segment's middle.
    fn across_joint(
        &self,
        body: &Body,
        name: &'static str,
        [from, to]: [f64; 2],
        out: f64,
        (radius, segment): (f64, usize),
    ) -> Recipe {
        let [_, upper, lower] = self.bones;
        let size = [radius * self.radii[segment], 0.1 * self.radii[segment]];
        let ends = |share: f64| {
            [
                self.place(0, from, share * out),
                self.place(1, to, share * out),
            ]
        };
        let is_covered = |[a, b]: &[Vec3; 2]| {
            let depth = -body.surface().signed_distance((a + b) * 0.5);
            depth >= COVER * size[0]
        };
        let nearer = OUT_SHARES.into_iter().map(ends).find(is_covered);
        let [origin, insertion] = nearer.unwrap_or_else(|| ends(0.0));
        Recipe {
            name,
            ends: [(upper, origin), (lower, insertion)],
            size,
        }
    }
}

fn arm(body: &Body, limb: &LimbSegments) -> [Recipe; 2] {
    [
        limb.across_joint(body, "Biceps", [0.1, 0.12], 0.45, (0.5, 0)),
        limb.across_joint(body, "Triceps", [0.12, 0.04], -0.45, (0.5, 0)),
    ]
}

fn leg(body: &Body, limb: &LimbSegments) -> [Recipe; 2] {
    [
        limb.across_joint(body, "Quadriceps", [0.1, 0.08], -0.42, (0.55, 0)),
        limb.across_joint(body, "Calf", [0.97, 0.75], 0.42, (0.55, 1)),
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
