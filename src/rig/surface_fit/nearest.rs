// SPDX-License-Identifier: MIT OR Apache-2.0
//! Goals of the skin from a surface of another mesh: nearest points, round by round. [besl1992, chen1992]
//!
//! In each round every selected vertex looks for the nearest point of the surface, and one correction brings the skin there. Distances along
//! the surface count little, so that the skin slides. A vertex counts by the cosine between its normal and the surface's, and by the cosine between
//! the latter and the way there: skin beyond the rim of a partial scan is drawn to nothing.

use super::error::SurfaceFitError;
use super::target::PosedSkin;
use crate::Vec3;
use crate::progress::{Progress, report_progress};
use crate::rig::sculpted::correction::{CorrectionSystem, SkinGoal};
use crate::surface::Surface;
use rayon::prelude::*;

/// Rounds, with the smoothness falling from 1 to [`LAST_SMOOTHNESS`]: large motions come before detail.
const ROUNDS: usize = 10;
/// Smoothness of the last round.
const LAST_SMOOTHNESS: f64 = 0.03;
/// Least distance of the selected skin from the surface, as a share of the body's size, from which the surface shows other skin: two hands'
/// breadths of a person. A scan of the selected skin crosses it, or lies some centimetres off.
const MAX_MISS: f64 = 0.1;
/// Distance below which a vertex lies on the surface, as a share of the body's size.
const TOUCHING: f64 = 1e-9;

/// A surface to which skin is brought.
pub(super) struct NearestPoints<'a> {
    pub skin: &'a PosedSkin<'a>,
    pub target: &'a Surface,
    /// Size of the body at the pose, m.
    pub size: f64,
}

/// The nearest point of the surface to a vertex of the skin.
#[derive(Debug, Clone, Copy, Default)]
struct Match {
    /// Way to the point, m.
    way: Vec3,
    /// Unit normal there.
    normal: Vec3,
    /// Share by which the vertex counts, 0 to 1.
    trust: f64,
}

impl NearestPoints<'_> {
    /// Returns the goal of all rounds, in which distances along the surface count whole.
    ///
    /// # Errors
    /// A surface that is far away, or does not face the skin; a singular system; cancellation.
    pub fn goal(
        &self,
        system: &mut CorrectionSystem,
        progress: &dyn Progress,
    ) -> Result<SkinGoal, SurfaceFitError> {
        let mut u = vec![Vec3::zeros(); self.skin.body.node_count()];
        for round in 0..ROUNDS {
            report_progress(
                progress,
                round as f64 / ROUNDS as f64,
                "matching the surface",
            )?;
            let (matches, goal) = self.round_goal(&u);
            if round == 0 {
                self.skin.refuse_far(|v| matches[v].way, self.size)?;
                self.refuse_missed(&matches)?;
            }
            if !matches.iter().any(|m| m.trust > 0.0) {
                return Err(SurfaceFitError::Unmatched);
            }
            let normals = matches.iter().zip(&self.skin.select);
            let normals = normals.map(|(m, s)| if *s > 0.0 { m.normal } else { Vec3::zeros() });
            system.set_goal(&SkinGoal {
                normals: normals.collect(),
                ..goal
            });
            let share = round as f64 / (ROUNDS - 1) as f64;
            u = system.solve(LAST_SMOOTHNESS.powf(share))?;
        }
        Ok(self.round_goal(&u).1)
    }

    /// Refuses a surface that no selected skin is near.
    fn refuse_missed(&self, matches: &[Match]) -> Result<(), SurfaceFitError> {
        let distances = self.skin.selected().map(|v| matches[v].way.norm());
        let distance = distances.fold(f64::INFINITY, f64::min);
        let reach = MAX_MISS * self.size;
        match distance > reach {
            true => Err(SurfaceFitError::Missed { distance, reach }),
            false => Ok(()),
        }
    }

    /// Returns the mean distance of the skin from the surface after a correction `u[nodes]`, with the weights of a goal, m.
    pub fn distance(&self, goal: &SkinGoal, u: &[Vec3]) -> f64 {
        let matches = self.matches(u);
        let weights = goal.weights.iter().zip(&self.skin.select);
        let selected = SkinGoal {
            weights: weights.map(|(w, s)| w * s).collect(),
            ..SkinGoal::default()
        };
        selected.mean(|v| matches[v].way)
    }

    /// Returns the nearest points after a correction, and the goal of reaching them.
    fn round_goal(&self, u: &[Vec3]) -> (Vec<Match>, SkinGoal) {
        let matches = self.matches(u);
        let embedding = self.skin.body.embedding();
        let wish = |v: usize| embedding.position(v, u) + matches[v].way;
        let goal = self.skin.goal(wish, |v| matches[v].trust);
        (matches, goal)
    }

    /// Returns the nearest point of the surface for each vertex of the skin after a correction.
    fn matches(&self, u: &[Vec3]) -> Vec<Match> {
        let embedding = self.skin.body.embedding();
        let moved = |(v, p): (usize, &Vec3)| p + embedding.position(v, u);
        let places: Vec<Vec3> = self.skin.places.iter().enumerate().map(moved).collect();
        let normals = vertex_normals(&places, self.skin.body.surface().triangles());
        let welded = self.target.welded();
        let nearest = |(v, p): (usize, &Vec3)| {
            if self.skin.select[v] <= 0.0 || self.skin.areas[v] <= 0.0 {
                return Match::default();
            }
            let found = self.target.closest_point(*p);
            let corners = welded.triangles[found.triangle as usize];
            let [a, b, c] = corners.map(|w| welded.vertices[w as usize]);
            let normal = (b - a)
                .cross(&(c - a))
                .try_normalize(0.0)
                .unwrap_or_default();
            let way = found.point - p;
            let straight = match way.try_normalize(TOUCHING * self.size) {
                Some(way) => way.dot(&normal).abs(),
                None => 1.0,
            };
            let trust = normal.dot(&normals[v]) * straight;
            Match { way, normal, trust }
        };
        let mut matches: Vec<Match> = places.par_iter().enumerate().map(nearest).collect();
        // Either mesh may be inside out: the sides that mostly face each other count.
        let facing = matches.iter().zip(&self.skin.areas);
        let side: f64 = facing.map(|(m, area)| m.trust * area).sum();
        for m in &mut matches {
            m.trust = (m.trust * side.signum()).max(0.0);
        }
        matches
    }
}

/// Returns the unit normals of vertices, weighted by area; zero without faces.
fn vertex_normals(vertices: &[Vec3], triangles: &[[u32; 3]]) -> Vec<Vec3> {
    let mut normals = vec![Vec3::zeros(); vertices.len()];
    for t in triangles {
        let [a, b, c] = t.map(|v| vertices[v as usize]);
        let normal = (b - a).cross(&(c - a));
        t.iter().for_each(|&v| normals[v as usize] += normal);
    }
    let unit = |n: &Vec3| n.try_normalize(0.0).unwrap_or_default();
    normals.iter().map(unit).collect()
}
