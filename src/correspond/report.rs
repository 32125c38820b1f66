// SPDX-License-Identifier: MIT OR Apache-2.0
//! Report of a correspondence: distances of the skins, inverted cells.

use super::align::Alignment;
use super::bones::CharacterBones;
use super::lattice_map::LatticeMap;
use super::skin::{SkinSamples, TargetSkin};
use crate::Vec3;
use crate::body::Body;

/// Numbers about a correspondence.
#[derive(Debug, Clone, PartialEq)]
pub struct CorrespondenceReport {
    /// Number of pairs of bones.
    pub pairs: usize,
    /// Bones with skin that have no partner, of the source and of the target.
    pub alone: [Vec<u32>; 2],
    /// `true`: the target lies or looks another way, so that the source was turned by its principal axes.
    pub turned: bool,
    /// Distance of the mapped skin from the target's skin, metres: mean by area.
    pub mean_distance: f64,
    /// The distance that 95 % of the mapped skin keeps, metres.
    pub most_distance: f64,
    /// The target's size, metres.
    pub size: f64,
    /// Number of lattice vertices at which the map turns inside out; the bones' own maps give its derivatives there.
    pub inverted: usize,
    /// Number of lattice vertices.
    pub vertices: usize,
}

impl CorrespondenceReport {
    pub(super) fn new(
        sides: [(&Body, &CharacterBones); 2],
        alignment: &Alignment,
        (samples, skin): (&SkinSamples, &TargetSkin),
        places: &[Vec3],
        map: &LatticeMap,
    ) -> Self {
        let alone = [0, 1].map(|side| {
            let paired = |b: usize| {
                let mut bones = alignment.pairs.iter().map(|p| [p.source, p.target][side]);
                bones.any(|bone| bone == b)
            };
            let mut alone: Vec<u32> = (sides[side].1.tree.order.iter())
                .filter(|&&b| !paired(b))
                .map(|&b| b as u32)
                .collect();
            alone.sort_unstable();
            alone
        });
        let distance = |v: &u32| {
            skin.nearest(places[*v as usize])
                .map_or(0.0, |hit| hit.distance)
        };
        let distances = samples.vertices.iter().map(distance);
        let mut weighed: Vec<(f64, f64)> = distances.zip(samples.areas.iter().copied()).collect();
        weighed.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut covered = 0.0;
        let most = weighed.iter().find(|(_, area)| {
            covered += area;
            covered >= 0.95
        });
        Self {
            pairs: alignment.pairs.len(),
            alone,
            turned: alignment.turned,
            mean_distance: weighed.iter().map(|(distance, area)| distance * area).sum(),
            most_distance: most.or(weighed.last()).map_or(0.0, |found| found.0),
            size: skin.size,
            inverted: map.inverted,
            vertices: map.places.len(),
        }
    }
}

impl std::fmt::Display for CorrespondenceReport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [source, target] = [0, 1].map(|side| self.alone[side].len());
        let share = |distance: f64| 100.0 * distance / self.size;
        write!(
            f,
            "{} pairs of bones; {source} bones of the source and {target} of the target have no partner.",
            self.pairs
        )?;
        if self.turned {
            write!(f, " The target lies or looks another way.")?;
        }
        write!(
            f,
            " The mapped skin is {:.2} % of the size off the target's skin on the mean, and within {:.2} % for 95 % of it.",
            share(self.mean_distance),
            share(self.most_distance)
        )?;
        if self.inverted > 0 {
            write!(
                f,
                " The map turns inside out at {} of {} lattice vertices, where the bones' own maps stand in.",
                self.inverted, self.vertices
            )?;
        }
        Ok(())
    }
}
