// SPDX-License-Identifier: MIT OR Apache-2.0
//! The map of flesh from a body's anatomy: 0 keeps the skin as it is, 1 is the softest. In this order:
//!
//! 1. *Depth*: half the thickness by rays on the trunk, where bones lie anywhere; on limbs the distance to the
//!    carrying bones, at most three quarters of the thickness. Flesh is depth relative to that of the trunk's
//!    thickest tenth.
//! 2. *Thin* parts are hard: wings, fins, ears, feathers, horns, insects' legs.
//! 3. *Limbs* are soft at the trunk and hard beyond their middle, compact *ends* (skulls, hands, feet) throughout.
//! 4. *In the trunk* ribs and back keep half; the belly, bulges in front and a rump keep all.
//! 5. *Small pieces* (eyes, teeth, straps) are as hard as the skin on which they lie.
//! 6. *Hard* material (hooves, horns, armour) is hard.
//! 7. The map is smoothed over the skin, and averaged over both sides.

use super::Anatomy;
use super::kind::CharacterKind;
use super::mirror::MAX_MIRROR_ERROR;
use super::point_tree::PointTree;
use super::skin::BodySkin;
use super::statistics::{area_quantile, smoothstep};

/// Flesh of hard parts: the stiffness is largest there, and a tenth of the remaining sway is shown. At 0.05 heads
/// that hang on soft necks still show 0.5 % of the size.
pub(super) const HARD_PART_FLESH: f64 = 0.02;
/// Part of the trunk's skin whose depth exceeds that of flesh 1. Halving or doubling it changes the maps of ten known
/// characters by 0.024 on the mean at most.
const DEEP_AREA_SHARE: f64 = 0.1;
/// Length over which the map is smoothed over the skin, as a part of the size. Halving or doubling it changes the maps
/// of ten known characters by 0.014 on the mean at most.
const SMOOTHING_RADIUS: f64 = 0.015;
/// Thickness relative to the trunk's median: hard below the first, unchanged above the second. With half of both a
/// spider's legs have 0.16 instead of 0.10; with twice, a fox's map changes by 0.05 on the mean.
const THIN_THICKNESS_RANGE: (f64, f64) = (0.18, 0.38);
/// Fraction along a limb: soft up to the first, hard from the second on; a knee is at 0.45 of leg and foot. With half
/// of both a horse's map changes by 0.04 on the mean and somewhere by 0.65; with twice, a person's head, hands and
/// feet have 0.23 instead of 0.04, a frog's 0.11 instead of 0.02.
const LIMB_RANGE: (f64, f64) = (0.25, 0.55);
/// The same fractions for toons. Limbs of rubber are soft to their middle, and hard at hands and feet alone.
const TOON_LIMB_RANGE: (f64, f64) = (0.5, 0.95);
/// Flesh kept at ribs and back: four times the stiffness. With half of it, a horse's back has 0.41 instead of 0.56;
/// with twice, which is all, 0.99.
const BACK_FLESH: f64 = 0.5;
/// Flesh kept on the trunk of an insect whose abdomen cannot be located. No known character needs it.
const SHELL_FLESH: f64 = 0.25;
/// Coordinates on the trunk: start of the ribs (hips 0 to chest 1), start of the belly (back -1 to front 1), and end
/// of the rump (hips 0 to chest 1). With half of both numbers for the ribs a fox's map changes by 0.06 on the mean,
/// with twice, a bull's by 0.02; of those for the belly and the rump none by more than 0.008.
const RIBS_RANGE: (f64, f64) = (0.50, 0.75);
const FRONT_RANGE: (f64, f64) = (-0.5, 0.2);
const RUMP_RANGE: (f64, f64) = (0.10, 0.35);
/// Flesh kept on bellies and rumps, and on limbs, of upright characters; stiffness goes by its square. On people who
/// run, bare breasts move by 15 cm against the trunk, half of that up and down [scurr2011]; the skin of thighs by far
/// less, shanks less again [leardini2005]. That a belly lies between is a guess.
const UPRIGHT_BELLY_FLESH: f64 = 0.75;
const UPRIGHT_LIMB_FLESH: f64 = 0.6;
/// Flesh kept at least in the patches of breasts; the roundest skin keeps all. Nearly all: no bone lies in them.
const MIN_BREAST_FLESH: f64 = 0.9;
/// End of an insect's abdomen before its last pair of limbs, along its trunk. With half of both, a spider's abdomen
/// has 0.74 of flesh instead of 0.67, with twice 0.54.
const ABDOMEN_RANGE: (f64, f64) = (-0.05, 0.2);
/// Largest share of the area of a small piece. Halving or doubling it changes the map of one of ten known characters, by
/// 0.016 on the mean at most.
const SMALL_PIECE_SHARE: f64 = 0.03;
/// Distance of a small piece from other skin's vertices, as a part of the size: it lies on the skin up to the first,
/// and is off it from the second on. They are 1 and 4 cm of a person, whose mesh has edges of that length. Halving or
/// doubling both changes the map of one of ten known characters, by 0.003 on the mean.
const PIECE_DISTANCE_RANGE: (f64, f64) = (0.005, 0.02);

/// Returns the map at the skin's vertices. `hard`: share of hard material at each; `None`: 0.
pub(super) fn skin_flesh_map(anatomy: &Anatomy, hard: Option<&[f64]>) -> Vec<f64> {
    let skin = &anatomy.skin;
    let mut f = match anatomy.machine {
        true => vec![HARD_PART_FLESH; skin.len()],
        false => soft_parts(anatomy, hard),
    };
    for (f, carried) in f.iter_mut().zip(&anatomy.carried) {
        *f = if *carried {
            f.clamp(HARD_PART_FLESH, 1.0)
        } else {
            0.0
        };
    }
    f
}

/// Returns the map of a body of flesh by the seven steps, before its range is clamped.
fn soft_parts(anatomy: &Anatomy, hard: Option<&[f64]>) -> Vec<f64> {
    let (skin, trunk, along) = (&anatomy.skin, &anatomy.trunk, &anatomy.along);
    let toon = anatomy.kind == CharacterKind::Toon;
    let on_trunk = anatomy.on_trunk_mask();
    let area = |f: &[f64], v: usize| (f[v], skin.area[v]);
    let own = || (0..skin.len()).filter(|&v| on_trunk[v]);
    let deep = area_quantile(own().map(|v| area(&anatomy.depth, v)), DEEP_AREA_SHARE);
    let head = toon.then(|| anatomy.head_share());
    let upright = !toon && anatomy.stance.as_ref().is_some_and(|(s, _)| s.upright);
    let limbs = |v: usize| match upright {
        true => 1.0 - (1.0 - UPRIGHT_LIMB_FLESH) * (1.0 - trunk.share[v].clamp(0.0, 1.0)),
        false => 1.0,
    };
    let mut f: Vec<f64> = (0..skin.len())
        .map(|v| {
            let depth = anatomy.depth[v] / deep.max(f64::MIN_POSITIVE);
            let thin = smoothstep(THIN_THICKNESS_RANGE, anatomy.diameters[v] / anatomy.thick);
            let firm = match &head {
                Some(head) => smoothstep(TOON_LIMB_RANGE, along.plain[v] * (1.0 - head[v])),
                None => smoothstep(LIMB_RANGE, along.way[v]),
            };
            depth.clamp(0.0, 1.0) * thin * (1.0 - firm) * limbs(v)
        })
        .collect();
    if let Some(kept) = trunk_flesh(anatomy) {
        for v in 0..skin.len() {
            f[v] *= 1.0 - trunk.share[v] * (1.0 - kept[v]);
        }
        let most = area_quantile(own().map(|v| area(&f, v)), 0.5 * DEEP_AREA_SHARE).max(1e-9);
        f.iter_mut().for_each(|f| *f = (*f / most).min(1.0));
    }
    follow_large_pieces(skin, &mut f);
    if let Some(hard) = hard {
        f.iter_mut()
            .zip(hard)
            .for_each(|(f, hard)| *f *= 1.0 - hard);
    }
    skin.smooth(&mut f, SMOOTHING_RADIUS * skin.span);
    average_sides(anatomy, &mut f);
    f
}

/// Returns the share of flesh kept on the trunk; `None`: all of it.
fn trunk_flesh(anatomy: &Anatomy) -> Option<Vec<f64>> {
    let n = anatomy.skin.len();
    if anatomy.kind == CharacterKind::Toon {
        return None;
    }
    let Some((stance, places)) = &anatomy.stance else {
        return (anatomy.kind == CharacterKind::Insect).then(|| vec![SHELL_FLESH; n]);
    };
    if anatomy.kind == CharacterKind::Insect {
        let abdomen = |v: usize| 1.0 - smoothstep(ABDOMEN_RANGE, places.along[v]);
        return Some((0..n).map(abdomen).collect());
    }
    let upright = stance.upright;
    let chest = upright
        .then(|| super::parts::chest_share(anatomy))
        .flatten();
    let soft = if upright { UPRIGHT_BELLY_FLESH } else { 1.0 };
    let kept = |v: usize| {
        let (t, u) = (places.along[v], places.front[v]);
        let belly = (1.0 - smoothstep(RIBS_RANGE, t)) * smoothstep(FRONT_RANGE, u) * soft;
        let patch = chest
            .as_ref()
            .map_or(0.0, |chest| MIN_BREAST_FLESH * chest[v]);
        let breast = (smoothstep((0.0, 0.5), u) * places.round[v]).max(patch);
        let rump = match upright {
            true => (1.0 - smoothstep(RUMP_RANGE, t)) * smoothstep((0.1, 0.6), -u) * soft,
            false => 0.0,
        };
        BACK_FLESH + (1.0 - BACK_FLESH) * belly.max(breast).max(rump)
    };
    Some((0..n).map(kept).collect())
}

/// Sets small pieces to the value of the nearest skin of large ones if they lie on it, and bounds them by it
/// elsewhere. A strap on a belly moves with it; a feather or a spike leaves it with its own stiffness.
fn follow_large_pieces(skin: &BodySkin, f: &mut [f64]) {
    let mut area = vec![0.0; skin.islands];
    for (a, &island) in skin.area.iter().zip(&skin.island) {
        area[island as usize] += a;
    }
    let least = SMALL_PIECE_SHARE * area.iter().sum::<f64>();
    let large: Vec<bool> = skin
        .island
        .iter()
        .map(|&i| area[i as usize] > least)
        .collect();
    for (v, near) in skin.nearest_chosen(&large) {
        let gap = (skin.x[v] - skin.x[near]).norm() / skin.span;
        let off = smoothstep(PIECE_DISTANCE_RANGE, gap);
        f[v] = f[near] + off * (f[v].min(f[near]) - f[near]);
    }
}

/// Averages each vertex with the skin at its mirror image.
fn average_sides(anatomy: &Anatomy, f: &mut [f64]) {
    let (skin, plane) = (&anatomy.skin, &anatomy.plane);
    if !plane.exists() {
        return;
    }
    let tree = PointTree::new(&skin.x);
    let before = f.to_vec();
    for (f, x) in f.iter_mut().zip(&skin.x) {
        if let Some((i, distance)) = tree.nearest(&plane.image(x))
            && distance < MAX_MIRROR_ERROR * skin.span
        {
            *f = 0.5 * (*f + before[i]);
        }
    }
}
