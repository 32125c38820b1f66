// SPDX-License-Identifier: MIT OR Apache-2.0
//! Stance of the trunk: its axis from hips to chest, the direction of its belly, and whether it stands upright.
//!
//! The axis joins the junctions of paired limbs. The head is the branch in the mirror plane with the thickest and
//! most finely modelled far half; the chest is its end of the trunk. The belly faces the direction across the axis in
//! which paired limbs lead: an animal's legs hang below its trunk, a person's toes lie ahead of the hips.

use super::bones::{BoneTree, skin_reach};
use super::limbs::LimbFractions;
use super::mirror::MirrorPlane;
use super::skin::BodySkin;
use super::statistics::{mean_point, quantile};
use super::trunk::{MIN_LIMB_AREA, MIN_LIMB_REACH, Trunk};
use crate::{Mat3, Vec3};

/// Largest lead of limbs across the trunk, as a part of their reach, of upright characters. With half of it the maps
/// of a man and a spider change by 0.02 on the mean; with twice, a frog's map by 0.01.
const MAX_UPRIGHT_LEAD: f64 = 0.35;

/// A frame of the trunk.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stance {
    /// End of the trunk at the hips, on its axis.
    pub hips: Vec3,
    /// End of the trunk at the chest, on its axis.
    pub chest: Vec3,
    /// Direction of the belly, a unit vector.
    pub ventral: Vec3,
    /// `true`: the limbs continue along the trunk.
    pub upright: bool,
}

/// Points of a paired limb from which the stance follows.
struct PairedLimb {
    joint: Vec3,
    tip: Vec3,
    /// Vector from the shank to the toes.
    foot: Vec3,
}

impl Stance {
    /// Finds the stance; `None` for a body without two paired limbs, a possible head, or a distinct belly side.
    pub fn find(
        skin: &BodySkin,
        bones: &BoneTree,
        trunk: &Trunk,
        along: &LimbFractions,
        diameters: &[f64],
        plane: &MirrorPlane,
    ) -> Option<Self> {
        let (limbs, heads) = branches(skin, bones, trunk, along, diameters);
        if limbs.len() < 2 {
            return None;
        }
        let head = heads
            .into_iter()
            .max_by(|a, b| a.0.total_cmp(&b.0))
            .map(|h| h.1)?;
        let own = || (0..skin.len()).filter(|&v| trunk.share[v] > 0.5);
        let centre = mean_point(own().map(|v| (skin.x[v], skin.area[v])))?;
        let joints = limbs.iter().map(|l| l.joint).sum::<Vec3>() / limbs.len() as f64;
        let (girdles, spread) = principal_direction(
            limbs
                .iter()
                .map(|l| (plane.project_direction(&(l.joint - joints)), 1.0)),
        );
        // The spread of two girdles is more reliable than the shape between them.
        let mut axis = match spread.sqrt() > 0.15 * skin.span {
            true => girdles,
            false => {
                principal_direction(
                    own().map(|v| (plane.project_direction(&(skin.x[v] - centre)), skin.area[v])),
                )
                .0
            }
        };
        if (head - centre).dot(&axis) < 0.0 {
            axis = -axis;
        }
        let heights: Vec<f64> = own().map(|v| (skin.x[v] - centre).dot(&axis)).collect();
        let (low, high) = (quantile(heights.clone(), 0.05)?, quantile(heights, 0.95)?);

        let across = |v: Vec3| {
            let v = plane.project_direction(&v);
            v - axis * v.dot(&axis)
        };
        let leads = limbs.iter().map(|l| l.tip - l.joint);
        let reach: f64 = leads.clone().map(|l| l.norm()).sum();
        let mut lead: Vec3 = leads.map(across).sum();
        let upright = lead.norm() < MAX_UPRIGHT_LEAD * reach;
        if upright {
            // Limbs continue along the trunk, so the belly faces where feet point.
            let mut order: Vec<&PairedLimb> = limbs.iter().collect();
            let height = |l: &PairedLimb| (l.tip - l.joint).dot(&axis);
            order.sort_by(|a, b| height(a).total_cmp(&height(b)));
            lead = order.iter().take(2).map(|l| across(l.foot)).sum();
        }
        (lead.norm() >= 0.005 * skin.span && high > low).then(|| Self {
            hips: centre + axis * low,
            chest: centre + axis * high,
            ventral: lead.normalize(),
            upright,
        })
    }

    /// Returns the unit vector from the hips to the chest.
    pub fn axis(&self) -> Vec3 {
        (self.chest - self.hips).normalize()
    }

    /// Returns the length from the hips to the chest, metres.
    pub fn length(&self) -> f64 {
        (self.chest - self.hips).norm()
    }

    /// Returns the coordinate along the trunk: 0 at the hips, 1 at the chest.
    pub fn trunk_coordinate(&self, x: &Vec3) -> f64 {
        (x - self.hips).dot(&self.axis()) / self.length()
    }

    /// Returns the distance ahead of the hips in the direction of the belly, metres.
    pub fn forward_distance(&self, x: &Vec3) -> f64 {
        (x - self.hips).dot(&self.ventral)
    }
}

/// Returns paired limbs, and branches of the middle as (score as a head, joint with the trunk).
fn branches(
    skin: &BodySkin,
    bones: &BoneTree,
    trunk: &Trunk,
    along: &LimbFractions,
    diameters: &[f64],
) -> (Vec<PairedLimb>, Vec<(f64, Vec3)>) {
    let whole: f64 = bones.area.iter().sum();
    let (mut limbs, mut heads) = (Vec::new(), Vec::new());
    for &(c, b) in &trunk.limbs {
        let list = bones.bones_beyond(c, b);
        let own = skin.bone_share(&bones.bone_mask(&list));
        let joint = bones.joint(b, c);
        let mine = |v: &usize| own[*v] > 0.5;
        if list.iter().any(|&b| bones.middle[b]) {
            let far = (0..skin.len()).filter(mine).filter(|&v| along.way[v] > 0.5);
            let far: Vec<f64> = far.map(|v| diameters[v]).collect();
            let count = far.len() as f64;
            if let Some(usual) = quantile(far, 0.5) {
                heads.push((count * usual, joint));
            }
            continue;
        }
        let area: f64 = list.iter().map(|&b| bones.area[b]).sum();
        if skin_reach(skin, &own, &joint).0 <= MIN_LIMB_REACH * skin.span
            || area <= MIN_LIMB_AREA * whole
        {
            continue;
        }
        let middle = |chosen: &dyn Fn(usize) -> bool| {
            let these = (0..skin.len()).filter(mine).filter(|&v| chosen(v));
            mean_point(these.map(|v| (skin.x[v], skin.area[v])))
        };
        let plain = |v: usize| along.plain[v];
        let Some(tip) = middle(&|v| along.way[v] > 0.6) else {
            continue;
        };
        let toes = middle(&|v| plain(v) > 0.9);
        let shank = middle(&|v| plain(v) > 0.55 && plain(v) < 0.8);
        let foot = toes.zip(shank).map(|(toes, shank)| toes - shank);
        limbs.push(PairedLimb {
            joint,
            tip,
            foot: foot.unwrap_or_default(),
        });
    }
    (limbs, heads)
}

/// Returns the principal direction of weighted vectors, and the sum of their squares along it.
fn principal_direction(vectors: impl Iterator<Item = (Vec3, f64)>) -> (Vec3, f64) {
    let spread: Mat3 = vectors.map(|(v, w)| v * v.transpose() * w).sum();
    let eigen = spread.symmetric_eigen();
    let most = eigen.eigenvalues.imax();
    (
        eigen.eigenvectors.column(most).into(),
        eigen.eigenvalues[most],
    )
}
