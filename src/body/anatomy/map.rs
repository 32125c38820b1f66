// SPDX-License-Identifier: MIT OR Apache-2.0
//! The map of flesh, 0 the skin as it is to 1 as soft as it gets, out of what is known of a body. In this order:
//!
//! 1. *Depth*: half the thickness by rays on the trunk, where bones lie anywhere; on limbs the distance to the carrying bones, at
//!    most three quarters of the thickness. Flesh is depth over that of the trunk's thickest tenth.
//! 2. *Thin* parts are hard: wings, fins, ears, feathers, horns, insects' legs.
//! 3. *Limbs* are soft at the trunk and hard beyond their middle, compact *ends* (skulls, hands, feet) throughout.
//! 4. *In the trunk* ribs and back keep half; the belly keeps all, and so do what bulges in front and a rump.
//! 5. *Small pieces* (eyes, teeth, straps) are as hard as the skin they lie on.
//! 6. What is said to be *hard* (hooves, horns, armour by their materials) is.
//! 7. Smoothed over the skin, and the same on both sides.

use super::Anatomy;
use super::kind::Kind;
use super::mirror::MIRROR;
use super::point_tree::PointTree;
use super::skin::Skin;
use super::statistics::{exceeded, smoothstep};

/// Flesh of hard parts: stiffness is at its greatest there, and of what sway is left a tenth is shown. At 0.05 heads that
/// hang on soft necks still show 0.5 % of the size.
pub(super) const FIRM: f64 = 0.02;
/// The part of the trunk's skin that is deeper than where flesh is 1. Half and twice of it change the maps of ten known characters by 0.024 on the
/// mean at most.
const THICKEST: f64 = 0.1;
/// How far the map is smoothed over the skin, as a part of the size. Half and twice of it change the maps of ten known characters by 0.014 on the
/// mean at most.
const SMOOTHED: f64 = 0.015;
/// Thickness over the trunk's median: hard below the first, untouched above the second. With half of both a spider's legs have 0.16 instead of 0.10;
/// with twice a fox's map changes by 0.05 on the mean.
const THIN: (f64, f64) = (0.18, 0.38);
/// Way along a limb: soft up to the first, hard from the second on; a knee is at 0.45 of leg and foot. With half of both a horse's map changes by
/// 0.04 on the mean and somewhere by 0.65; with twice a person's head, hands and feet have 0.23 instead of 0.04, a frog's 0.11 instead of 0.02.
const ALONG: (f64, f64) = (0.25, 0.55);
/// The same of rubber.
const ALONG_TOON: (f64, f64) = (0.5, 0.95);
/// What ribs and back keep of their flesh: four times the stiffness. With half of it a horse's back has 0.41 instead of 0.56; with twice, which is
/// all, 0.99.
const KEPT: f64 = 0.5;
/// What the trunk of a shell keeps whose abdomen cannot be told. No known character needs it.
const KEPT_SHELL: f64 = 0.25;
/// From the hips 0 to the chest 1: ribs begin; from the back -1 to the front 1: the belly begins; the rump ends. With half of both places of the ribs
/// a fox's map changes by 0.06 on the mean, with twice a bull's by 0.02; of those of the belly and the rump none by more than 0.008.
const RIBS: (f64, f64) = (0.50, 0.75);
const FRONT: (f64, f64) = (-0.5, 0.2);
const RUMP: (f64, f64) = (0.10, 0.35);
/// What bellies and rumps keep of who stands upright, and limbs: stiffness goes by its square. On people who run bare breasts
/// move by 15 cm against the trunk, half of that up and down [scurr2011]; the skin of thighs by far less, shanks less again
/// [leardini2005]; that a belly lies between is a guess.
const BELLY_UPRIGHT: f64 = 0.75;
const LIMBS_UPRIGHT: f64 = 0.6;
/// What the patches of breasts keep at least; the roundest keep all.
const BREASTS: f64 = 0.9;
/// Where an insect's abdomen ends before its last pair of limbs, along its trunk. With half of both a spider's abdomen has 0.74 of flesh instead of
/// 0.67, with twice 0.54.
const ABDOMEN: (f64, f64) = (-0.05, 0.2);
/// A piece with less of the area is a small one. Half and twice of it change the map of one of ten known characters, by 0.016 on the mean at most.
const SMALL: f64 = 0.03;
/// It lies on other skin up to the first distance between vertices, of the size, and is off it from the second on: 1 and 4 cm of a person, whose mesh
/// has edges of that length. Half and twice of both change the map of one of ten known characters, by 0.003 on the mean.
const LIES_ON: (f64, f64) = (0.005, 0.02);

/// The map at the skin's vertices. hard: which part of each is of something hard, where anything is.
pub(super) fn flesh(anatomy: &Anatomy, hard: Option<&[f64]>) -> Vec<f64> {
    let skin = &anatomy.skin;
    let mut f = match anatomy.machine {
        true => vec![FIRM; skin.len()],
        false => soft_parts(anatomy, hard),
    };
    for (f, carried) in f.iter_mut().zip(&anatomy.carried) {
        *f = if *carried { f.clamp(FIRM, 1.0) } else { 0.0 };
    }
    f
}

fn soft_parts(anatomy: &Anatomy, hard: Option<&[f64]>) -> Vec<f64> {
    let (skin, trunk, along) = (&anatomy.skin, &anatomy.trunk, &anatomy.along);
    let toon = anatomy.kind == Kind::Toon;
    let mine = anatomy.on_trunk_mask();
    let area = |f: &[f64], v: usize| (f[v], skin.area[v]);
    let own = || (0..skin.len()).filter(|&v| mine[v]);
    let deep = exceeded(own().map(|v| area(&anatomy.depth, v)), THICKEST);
    let head = toon.then(|| anatomy.head_share());
    let upright = !toon && anatomy.stance.as_ref().is_some_and(|(s, _)| s.upright);
    let limbs = |v: usize| match upright {
        true => 1.0 - (1.0 - LIMBS_UPRIGHT) * (1.0 - trunk.share[v].clamp(0.0, 1.0)),
        false => 1.0,
    };
    let mut f: Vec<f64> = (0..skin.len())
        .map(|v| {
            let depth = anatomy.depth[v] / deep.max(f64::MIN_POSITIVE);
            let thin = smoothstep(THIN, anatomy.diameters[v] / anatomy.thick);
            let firm = match &head {
                Some(head) => smoothstep(ALONG_TOON, along.plain[v] * (1.0 - head[v])),
                None => smoothstep(ALONG, along.way[v]),
            };
            depth.clamp(0.0, 1.0) * thin * (1.0 - firm) * limbs(v)
        })
        .collect();
    if let Some(kept) = kept_on_trunk(anatomy) {
        for v in 0..skin.len() {
            f[v] *= 1.0 - trunk.share[v] * (1.0 - kept[v]);
        }
        let most = exceeded(own().map(|v| area(&f, v)), 0.5 * THICKEST).max(1e-9);
        f.iter_mut().for_each(|f| *f = (*f / most).min(1.0));
    }
    follow_large_pieces(skin, &mut f);
    if let Some(hard) = hard {
        f.iter_mut()
            .zip(hard)
            .for_each(|(f, hard)| *f *= 1.0 - hard);
    }
    skin.smooth(&mut f, SMOOTHED * skin.span);
    mean_of_sides(anatomy, &mut f);
    f
}

/// What flesh keeps on the trunk; none where it keeps all of it.
fn kept_on_trunk(anatomy: &Anatomy) -> Option<Vec<f64>> {
    let n = anatomy.skin.len();
    if anatomy.kind == Kind::Toon {
        return None;
    }
    let Some((stance, places)) = &anatomy.stance else {
        return (anatomy.kind == Kind::Insect).then(|| vec![KEPT_SHELL; n]);
    };
    if anatomy.kind == Kind::Insect {
        let abdomen = |v: usize| 1.0 - smoothstep(ABDOMEN, places.along[v]);
        return Some((0..n).map(abdomen).collect());
    }
    let upright = stance.upright;
    let chest = upright
        .then(|| super::parts::chest_share(anatomy))
        .flatten();
    let soft = if upright { BELLY_UPRIGHT } else { 1.0 };
    let kept = |v: usize| {
        let (t, u) = (places.along[v], places.front[v]);
        let belly = (1.0 - smoothstep(RIBS, t)) * smoothstep(FRONT, u) * soft;
        let patch = chest.as_ref().map_or(0.0, |chest| BREASTS * chest[v]);
        let breast = (smoothstep((0.0, 0.5), u) * places.round[v]).max(patch);
        let rump = match upright {
            true => (1.0 - smoothstep(RUMP, t)) * smoothstep((0.1, 0.6), -u) * soft,
            false => 0.0,
        };
        KEPT + (1.0 - KEPT) * belly.max(breast).max(rump)
    };
    Some((0..n).map(kept).collect())
}

/// Small pieces get what the nearest skin of large ones has where they lie on it, and at most that elsewhere: a strap on a
/// belly goes with it, a feather or a spike leaves it with its own stiffness.
fn follow_large_pieces(skin: &Skin, f: &mut [f64]) {
    let mut area = vec![0.0; skin.islands];
    for (a, &island) in skin.area.iter().zip(&skin.island) {
        area[island as usize] += a;
    }
    let least = SMALL * area.iter().sum::<f64>();
    let large: Vec<bool> = skin
        .island
        .iter()
        .map(|&i| area[i as usize] > least)
        .collect();
    for (v, near) in skin.nearest_of(&large) {
        let gap = (skin.x[v] - skin.x[near]).norm() / skin.span;
        let off = smoothstep(LIES_ON, gap);
        f[v] = f[near] + off * (f[v].min(f[near]) - f[near]);
    }
}

/// What lies where a vertex's mirror image does has as much flesh.
fn mean_of_sides(anatomy: &Anatomy, f: &mut [f64]) {
    let (skin, plane) = (&anatomy.skin, &anatomy.plane);
    if !plane.is_there() {
        return;
    }
    let tree = PointTree::new(&skin.x);
    let before = f.to_vec();
    for (f, x) in f.iter_mut().zip(&skin.x) {
        if let Some((i, distance)) = tree.nearest(&plane.image(x))
            && distance < MIRROR * skin.span
        {
            *f = 0.5 * (*f + before[i]);
        }
    }
}
