// SPDX-License-Identifier: MIT OR Apache-2.0
//! Locations of parts that an artist may want soft: belly, breasts, buttocks, tail, cheeks, jowls, ears.
//!
//! Parts follow from the shape alone. The belly is the foremost middle of the trunk; breasts are the foremost round
//! fifth off the plane above it; buttocks are the hindmost skin at the hips. The tail is the branch in the plane at
//! the hips, the head that at the chest. Paired parts are mirror images of each other.

use super::Anatomy;
use super::regions::TrunkCoordinates;
use super::stance::Stance;
use super::statistics::{mean_point, quantile, smoothstep};
use crate::Vec3;

/// Names of parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PartName {
    /// The front of the trunk, or its underside.
    Belly,
    /// Breasts or breast muscles of upright characters.
    Chest,
    /// The hindmost skin at the hips.
    Buttocks,
    /// The branch in the middle at the hips.
    Tail,
    /// The middle of each side of the face.
    Cheeks,
    /// The skin below the cheeks.
    Jowls,
    /// Thin skin far to the sides of the head.
    Ears,
}

impl PartName {
    /// Returns the name in settings.
    pub fn name(self) -> &'static str {
        match self {
            Self::Belly => "belly",
            Self::Chest => "chest",
            Self::Buttocks => "buttocks",
            Self::Tail => "tail",
            Self::Cheeks => "cheeks",
            Self::Jowls => "jowls",
            Self::Ears => "ears",
        }
    }
}

/// A part of a body.
#[derive(Debug, Clone)]
pub struct BodyPart {
    /// Name of the part.
    pub name: PartName,
    /// One or two round patches of skin: centre and radius, metres.
    pub patches: Vec<(Vec3, f64)>,
    /// Membership of each vertex of the original surface, 0 to 1.
    pub share: Vec<f64>,
}

/// Measurements from which parts are located.
struct Finder<'a> {
    anatomy: &'a Anatomy,
    stance: &'a Stance,
    coordinates: &'a TrunkCoordinates,
    /// Signed distance of each vertex from the mirror plane, metres.
    aside: Vec<f64>,
    /// 0.9-quantile of that distance on the trunk, metres.
    width: f64,
    /// `true`: the trunk mostly carries the vertex.
    on_trunk: Vec<bool>,
    /// Half the trunk's thickness, metres.
    half_thickness: f64,
}

/// Returns all parts that can be located.
pub(super) fn find(anatomy: &Anatomy) -> Vec<BodyPart> {
    let Some(finder) = Finder::new(anatomy) else {
        return Vec::new();
    };
    let mut parts = Vec::new();
    parts.extend(finder.belly());
    parts.extend(finder.chest());
    parts.extend(finder.buttocks());
    finder.add_head_and_tail(&mut parts);
    parts
}

/// Returns the membership of each vertex of the skin in breasts; `None` if they cannot be located.
pub(super) fn chest_share(anatomy: &Anatomy) -> Option<Vec<f64>> {
    let finder = Finder::new(anatomy)?;
    Some(anatomy.skin.gather_values(&finder.chest()?.share))
}

impl<'a> Finder<'a> {
    fn new(anatomy: &'a Anatomy) -> Option<Self> {
        let (stance, coordinates) = anatomy.stance.as_ref()?;
        let skin = &anatomy.skin;
        let aside: Vec<f64> = skin
            .x
            .iter()
            .map(|x| anatomy.plane.signed_distance(x))
            .collect();
        let on_trunk: Vec<bool> = anatomy.trunk.share.iter().map(|s| *s > 0.5).collect();
        let wide = (0..skin.len())
            .filter(|&v| on_trunk[v])
            .map(|v| aside[v].abs());
        Some(Finder {
            width: quantile(wide.collect(), 0.9).unwrap_or(0.0),
            half_thickness: 0.5 * anatomy.thick,
            anatomy,
            stance,
            coordinates,
            aside,
            on_trunk,
        })
    }

    fn belly(&self) -> Option<BodyPart> {
        let (t, u) = (&self.coordinates.along, &self.coordinates.front);
        let above = if self.stance.upright { 0.50 } else { 0.60 };
        let is = |v: usize| {
            let middle = u[v] > 0.3 && self.aside[v].abs() < 0.35 * self.width;
            self.on_trunk[v] && middle && t[v] > 0.10 && t[v] < above
        };
        // Weighted by protrusion.
        let ahead = |v: usize| self.stance.forward_distance(&self.anatomy.skin.x[v]);
        let low = self.quantile(is, ahead, 0.3)?;
        let centre = self.mean_position(is, |v| {
            (ahead(v) - low).max(0.0) + 1e-6 * self.half_thickness
        })?;
        Some(self.round_part(PartName::Belly, vec![(centre, 1.1 * self.half_thickness)]))
    }

    fn chest(&self) -> Option<BodyPart> {
        if !self.stance.upright {
            return None;
        }
        let (t, u, w) = (&self.coordinates.along, &self.coordinates.front, self.width);
        let is = |v: usize| {
            let aside = self.aside[v].abs();
            let breast = t[v] > 0.55 && t[v] < 0.92 && u[v] > 0.2;
            self.on_trunk[v] && breast && aside > 0.25 * w && aside < 0.9 * w
        };
        let ahead = |v: usize| self.stance.forward_distance(&self.anatomy.skin.x[v]);
        let middle = self.quantile(is, ahead, 0.5)?;
        let score = |v: usize| (ahead(v) - middle).max(0.0) * (0.1 + self.coordinates.round[v]);
        let best = self.quantile(is, score, 0.8)?;
        let foremost = |v: usize| is(v) && score(v) >= best;
        let centre = self.mean_mirrored_position(foremost, score)?;
        Some(self.paired_part(PartName::Chest, centre, 0.6 * self.half_thickness))
    }

    fn buttocks(&self) -> Option<BodyPart> {
        let (anatomy, axis) = (self.anatomy, self.stance.axis());
        let (t, w) = (&self.coordinates.along, self.width);
        let legs = anatomy.trunk.limbs.iter().filter(|&&(c, b)| {
            let joint = anatomy.bones.joint(b, c) - self.stance.hips;
            !anatomy.bones.middle[c] && joint.dot(&axis) < 0.4 * self.stance.length()
        });
        let legs: Vec<usize> = legs
            .flat_map(|&(c, b)| anatomy.bones.bones_beyond(c, b))
            .collect();
        let leg = anatomy.skin.bone_share(&anatomy.bones.bone_mask(&legs));
        let upright = self.stance.upright;
        let is = |v: usize| match upright {
            true => {
                let aside = self.aside[v].abs();
                let at_hips = t[v] > -0.3 && t[v] < 0.15 && aside > 0.15 * w && aside < 0.8 * w;
                at_hips && (self.on_trunk[v] || anatomy.along.way[v] < 0.3)
            }
            false => leg[v] > 0.2 && anatomy.along.way[v] < 0.4,
        };
        let behind = |v: usize| match upright {
            true => -self.stance.forward_distance(&anatomy.skin.x[v]),
            false => -(anatomy.skin.x[v] - self.stance.hips).dot(&axis),
        };
        let most = self.quantile(is, behind, 0.8)?;
        let centre = self.mean_mirrored_position(is, |v| (behind(v) - most).max(0.0))?;
        Some(self.paired_part(PartName::Buttocks, centre, 0.8 * self.half_thickness))
    }

    /// Adds tail, cheeks, jowls and ears, found on the branches in the plane.
    fn add_head_and_tail(&self, parts: &mut Vec<BodyPart>) {
        let (anatomy, axis) = (self.anatomy, self.stance.axis());
        let mut branches: Vec<(f64, Vec<usize>)> = Vec::new();
        for &(c, b) in &anatomy.trunk.limbs {
            let list = anatomy.bones.bones_beyond(c, b);
            if list.iter().any(|&b| anatomy.bones.middle[b]) {
                let joint = anatomy.bones.joint(b, c) - self.stance.hips;
                branches.push((joint.dot(&axis), list));
            }
        }
        branches.sort_by(|a, b| a.0.total_cmp(&b.0));
        let Some((_, head)) = branches.last() else {
            return;
        };
        if branches.len() > 1 {
            parts.extend(self.tail(&branches[0].1));
        }
        let ends: Vec<usize> = head
            .iter()
            .copied()
            .filter(|&b| anatomy.along.ends[b])
            .collect();
        let chosen = if ends.is_empty() { head } else { &ends };
        let share = anatomy.skin.bone_share(&anatomy.bones.bone_mask(chosen));
        let head: Vec<bool> = share.iter().map(|s| *s > 0.5).collect();
        if head.iter().filter(|h| **h).count() > 20 {
            self.add_face(&head, parts);
        }
    }

    fn tail(&self, bones: &[usize]) -> Option<BodyPart> {
        let anatomy = self.anatomy;
        let share = anatomy.skin.bone_share(&anatomy.bones.bone_mask(bones));
        let is = |v: usize| share[v] > 0.5;
        let centre = self.mean_position(is, |_| 1.0)?;
        let mine = (0..anatomy.skin.len()).filter(|&v| is(v));
        let radius = mine.map(|v| (anatomy.skin.x[v] - centre).norm());
        let radius = radius.fold(0.0, f64::max);
        // Softest at its tip, as a tail hangs.
        let soft =
            |v: usize| share[v] * (0.4 + 0.6 * smoothstep((0.0, 0.6), anatomy.along.plain[v]));
        let share: Vec<f64> = (0..anatomy.skin.len()).map(soft).collect();
        Some(BodyPart {
            name: PartName::Tail,
            patches: vec![(centre, radius)],
            share: anatomy.skin.to_original(&share, 0.0),
        })
    }

    fn add_face(&self, head: &[bool], parts: &mut Vec<BodyPart>) {
        let (skin, stance) = (&self.anatomy.skin, self.stance);
        // The skull's frame: up is along the neck of upright characters, else away from the belly; ahead is the other
        // axis.
        let (up, ahead) = match stance.upright {
            true => (stance.axis(), stance.ventral),
            false => (-stance.ventral, stance.axis()),
        };
        let (h, a) = (
            |v: usize| skin.x[v].dot(&up),
            |v: usize| skin.x[v].dot(&ahead),
        );
        let l = |v: usize| self.aside[v].abs();
        let own = |v: usize| head[v];
        let bounds = || {
            let (lo, hi) = (self.quantile(own, a, 0.02)?, self.quantile(own, a, 0.98)?);
            let face = |v: usize| head[v] && a(v) > lo + 0.55 * (hi - lo);
            let top = self.quantile(own, h, 1.0)?;
            let bottom = self
                .quantile(face, h, 0.0)
                .or_else(|| self.quantile(own, h, 0.0))?;
            Some((lo, hi, bottom, (top - bottom).max(1e-9 * skin.span)))
        };
        let Some((lo, hi, bottom, height)) = bounds() else {
            return;
        };
        let wide = self.quantile(own, l, 0.9).unwrap_or(0.0);
        let rows = [
            (PartName::Cheeks, (0.22, 0.45), 0.35),
            (PartName::Jowls, (0.02, 0.20), 0.25),
        ];
        for (name, (low, high), from) in rows {
            let is = |v: usize| {
                let level = (h(v) - bottom) / height;
                let face = head[v] && a(v) > lo + 0.55 * (hi - lo);
                face && level > low && level < high && l(v) > from * wide && l(v) < 0.85 * wide
            };
            if let Some(centre) = self.mean_mirrored_position(is, |_| 1.0) {
                parts.push(self.paired_part(name, centre, 0.16 * height));
            }
        }
        parts.extend(self.ears(head, |v| a(v) < lo + 0.75 * (hi - lo), 0.2 * height));
    }

    fn ears(&self, head: &[bool], behind: impl Fn(usize) -> bool, radius: f64) -> Option<BodyPart> {
        let (own, l) = (|v: usize| head[v], |v: usize| self.aside[v].abs());
        let thick = |v: usize| self.anatomy.diameters[v];
        let usual = self.quantile(own, thick, 0.5)?;
        let far = self.quantile(own, l, 0.99)?;
        let is = |v: usize| head[v] && thick(v) < 0.35 * usual && behind(v) && l(v) > 0.75 * far;
        let centre = self.mean_mirrored_position(is, |_| 1.0)?;
        Some(self.paired_part(PartName::Ears, centre, radius))
    }

    fn selected_vertices(&self, is: impl Fn(usize) -> bool) -> impl Iterator<Item = usize> {
        (0..self.anatomy.skin.len()).filter(move |&v| is(v))
    }

    fn quantile(
        &self,
        is: impl Fn(usize) -> bool,
        of: impl Fn(usize) -> f64,
        q: f64,
    ) -> Option<f64> {
        quantile(self.selected_vertices(is).map(of).collect(), q)
    }

    /// Returns the mean position of selected skin, weighted by area and `weight`.
    fn mean_position(
        &self,
        is: impl Fn(usize) -> bool,
        weight: impl Fn(usize) -> f64,
    ) -> Option<Vec3> {
        let skin = &self.anatomy.skin;
        mean_point(
            self.selected_vertices(is)
                .map(|v| (skin.x[v], weight(v) * skin.area[v])),
        )
    }

    /// Returns the mean position of selected skin after both sides are mirrored onto one.
    fn mean_mirrored_position(
        &self,
        is: impl Fn(usize) -> bool,
        weight: impl Fn(usize) -> f64,
    ) -> Option<Vec3> {
        let (skin, plane) = (&self.anatomy.skin, &self.anatomy.plane);
        let on_one_side = |x: Vec3| match plane.signed_distance(&x) < 0.0 {
            true => plane.image(&x),
            false => x,
        };
        mean_point(
            self.selected_vertices(is)
                .map(|v| (on_one_side(skin.x[v]), weight(v) * skin.area[v])),
        )
    }

    fn paired_part(&self, name: PartName, centre: Vec3, radius: f64) -> BodyPart {
        let image = self.anatomy.plane.image(&centre);
        self.round_part(name, vec![(centre, radius), (image, radius)])
    }

    /// Returns a part of round patches: 1 at their centres on the skin, falling to 0 at their radius.
    fn round_part(&self, name: PartName, mut patches: Vec<(Vec3, f64)>) -> BodyPart {
        let skin = &self.anatomy.skin;
        // A mean of skin positions lies below the skin.
        for (centre, _) in &mut patches {
            let apart = |v: &usize| (skin.x[*v] - *centre).norm_squared();
            let near = (0..skin.len()).min_by(|a, b| apart(a).total_cmp(&apart(b)));
            *centre = near.map_or(*centre, |v| skin.x[v]);
        }
        let share = |x: &Vec3| {
            let of = |(c, r): &(Vec3, f64)| smoothstep((1.0, 0.0), (x - c).norm() / r);
            patches.iter().map(of).fold(0.0, f64::max)
        };
        let share: Vec<f64> = skin.x.iter().map(share).collect();
        let share = skin.to_original(&share, 0.0);
        BodyPart {
            name,
            patches,
            share,
        }
    }
}
