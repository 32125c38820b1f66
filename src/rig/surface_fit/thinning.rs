// SPDX-License-Identifier: MIT OR Apache-2.0
//! The points of a sculpt: as few as hold the whole fit within a tolerance.
//!
//! A point is the mean of a group of vertices of one bone that lie close together: of their places, and of their offsets in rest axes. Groups
//! are added, farthest first, until the correction of the points is that of all vertices within the tolerance. Only vertices that move, or are
//! to move, take part: elsewhere the elastic energy keeps flesh still by itself.

use super::error::SurfaceFitError;
use super::smoothness::SmoothCorrection;
use crate::Vec3;
use crate::body::Body;
use crate::progress::{Progress, report_progress};
use crate::rig::sculpted::correction::{CorrectionSystem, SkinGoal};
use crate::rig::sculpted::placement::{PlacedSculpt, main_bone};
use crate::rig::sculpted::points::FarthestFirst;
use crate::rig::{BoneTurn, Sculpt, SculptPoint};
use crate::skeleton::BonePoses;

/// Shares of the largest displacement below which a vertex counts as still, tried in turn: with the first, points that hold skin beside
/// the shape may be missing.
const STILL: [f64; 3] = [1e-3, 1e-5, 0.0];
/// Growth of the number of points from one trial to the next; each trial costs a factorisation.
const GROWTH: f64 = 1.5;

/// A fit whose goal is to be kept as points.
pub(super) struct WholeFit<'a> {
    pub body: &'a Body,
    pub bones: &'a BonePoses,
    pub turns: Vec<BoneTurn>,
    pub goal: &'a SkinGoal,
    pub correction: &'a SmoothCorrection,
}

impl WholeFit<'_> {
    /// Returns the sculpt whose correction misses the whole one by at most a share of it, with that correction.
    pub fn sculpt(
        &self,
        system: &mut CorrectionSystem,
        tolerance: f64,
        progress: &dyn Progress,
    ) -> Result<(Sculpt, Vec<Vec3>), SurfaceFitError> {
        let embedding = self.body.embedding();
        let moved = |v: usize| embedding.position(v, &self.correction.u);
        let whole = self.goal.mean(moved);
        let areas = &self.goal.weights;
        let all: Vec<u32> = (0..areas.len() as u32)
            .filter(|&v| areas[v as usize] > 0.0)
            .collect();
        let reach = |v: u32| {
            moved(v as usize)
                .norm()
                .max(self.goal.offsets[v as usize].norm())
        };
        let most = all.iter().map(|&v| reach(v)).fold(0.0, f64::max);
        let mut tried = Default::default();
        let places = self.body.surface().vertices();
        let skin = self.body.skin();
        let bones: Vec<u32> = (0..areas.len())
            .map(|v| main_bone(skin, v).unwrap_or(0))
            .collect();
        for still in STILL {
            let moving = all.iter().copied().filter(|&v| reach(v) >= still * most);
            let candidates: Vec<u32> = moving.collect();
            let mut set = FarthestFirst::new(places, &bones, candidates);
            let mut count = self.touched_nodes(set.candidates()).max(8);
            loop {
                report_progress(progress, 0.5, "choosing points of the skin")?;
                set.grow(count);
                let sculpt = self.grouped(&set.groups(), &bones)?;
                let placed = PlacedSculpt::new(&sculpt, self.body)?;
                system.set_goal(&placed.goal(self.body, self.bones));
                let u = system.solve(self.correction.smoothness)?;
                let missed = self.goal.mean(|v| embedding.position(v, &u) - moved(v));
                tried = (sculpt, u);
                if missed <= tolerance * whole {
                    return Ok(tried);
                }
                if count >= set.candidates().len() {
                    break;
                }
                count = (count as f64 * GROWTH) as usize + 1;
            }
        }
        Ok(tried)
    }

    /// Returns the number of lattice nodes that move some vertices: about as many points determine a correction.
    fn touched_nodes(&self, vertices: &[u32]) -> usize {
        let mut touched = vec![false; self.body.node_count()];
        for &v in vertices {
            self.body
                .embedding()
                .row(v as usize)
                .for_each(|(a, _)| touched[a] = true);
        }
        touched.iter().filter(|t| **t).count()
    }

    /// Returns the sculpt with a point for each group of vertices, which follow one bone each.
    fn grouped(&self, groups: &[Vec<u32>], bones: &[u32]) -> Result<Sculpt, SurfaceFitError> {
        let (skeleton, skin) = (self.body.skeleton(), self.body.skin());
        let places = self.body.surface().vertices();
        let mut names: Vec<String> = Vec::new();
        let mut index = vec![None; skeleton.len()];
        let point = |group: &Vec<u32>| {
            let bone = bones[group[0] as usize] as usize;
            let bone = *index[bone].get_or_insert_with(|| {
                names.push(skeleton.names()[bone].clone());
                names.len() as u32 - 1
            });
            let (mut area, mut place, mut offset) = (0.0, Vec3::zeros(), Vec3::zeros());
            for v in group.iter().map(|&v| v as usize) {
                let weight = self.goal.weights[v];
                let turned = self.bones.rotation(skin.row(v)).inverse() * self.goal.offsets[v];
                area += weight;
                place += places[v] * weight;
                offset += turned * weight;
            }
            SculptPoint {
                place: place / area,
                area,
                bone,
                offset: offset / area,
            }
        };
        let points = groups.iter().map(point).collect();
        let turns = self.turns.clone();
        Ok(Sculpt::new(
            turns,
            names,
            points,
            self.correction.smoothness,
        )?)
    }
}
