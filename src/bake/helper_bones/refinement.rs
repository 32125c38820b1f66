// SPDX-License-Identifier: MIT OR Apache-2.0
//! Weights of all vertices and maps in all frames, from helpers that were found on some of them.

use super::alignment::{Map, from_map, to_map};
use super::emphasis::Emphasis;
use super::growth::largest;
use super::hierarchy::set_parents;
use super::places::errors;
use super::problem::Problem;
use super::rig::Rig;
use super::settings::HelperBonesSettings;
use super::transforms::fit_transforms;
use super::weights::{FixedSums, fit_weights};
use crate::bake::BakeError;
use crate::geometry::rotation::best_rotation;
use crate::progress::{Progress, report_progress};
use crate::{Mat3, Vec3};

/// Fits of the maps alone.
const MAP_SWEEPS: usize = 3;

/// Part of the largest error at which vertices begin to weigh more in a frame.
const AIM: f32 = 0.5;

/// Fits the weights of all vertices and the maps to a problem in turn, towards the least largest error. Returns the best found.
pub(super) fn refine(
    problem: &Problem,
    mut rig: Rig,
    settings: &HelperBonesSettings,
    sweeps: usize,
    progress: &dyn Progress,
) -> Result<Rig, BakeError> {
    let sums = FixedSums::new(problem);
    let all: Vec<u32> = (0..problem.vertex_count() as u32).collect();
    let mut emphasis = Emphasis::ones(problem);
    let mut best: Option<(f32, Rig)> = None;
    for sweep in 0..sweeps {
        report_progress(
            progress,
            sweep as f64 / sweeps as f64,
            "Fitting helper bones",
        )?;
        let choices = fit_weights(problem, &sums, &rig, &emphasis, settings, &all, sweep > 0);
        rig.skins = choices.into_iter().map(|c| c.skin).collect();
        set_parents(&mut rig, problem, settings.plain_at_rest());
        fit_transforms(problem, &mut rig, &emphasis);
        let errors = errors(problem, &rig);
        let max = largest(&errors);
        if best.as_ref().is_none_or(|b| max < b.0) {
            best = Some((max, rig.clone()));
        }
        if sweep > 0 {
            emphasis.update(&errors, AIM * max);
        }
    }
    Ok(best.map_or(rig, |b| b.1))
}

/// Fits the maps alone, towards the least largest error.
pub(super) fn refine_maps(problem: &Problem, rig: &mut Rig) {
    let mut emphasis = Emphasis::ones(problem);
    for _ in 0..MAP_SWEEPS {
        fit_transforms(problem, rig, &emphasis);
        let errors = errors(problem, rig);
        emphasis.update(&errors, AIM * largest(&errors));
    }
}

/// Returns the maps of the helpers in other frames: each moves with its parent from the nearest frame that has one.
pub(super) fn carry_maps(
    from: &Problem,
    rig: &Rig,
    from_frames: &[u32],
    to: &Problem,
    to_frames: &[u32],
) -> Vec<Vec<Map>> {
    let nearest = |g: u32| {
        let after = from_frames.partition_point(|&f| f < g);
        let candidates = after.saturating_sub(1)..(after + 1).min(from_frames.len());
        candidates
            .min_by_key(|&i| from_frames[i].abs_diff(g))
            .unwrap_or(0)
    };
    let carried = |h: usize, g: usize| {
        let f = nearest(to_frames[g]);
        if from_frames[f] == to_frames[g] {
            return rig.maps[h][f];
        }
        let parent = rig.parents[h] as usize;
        let (before, at) = rigid_part(&from.pose(f)[parent]);
        let (after, to) = rigid_part(&to.pose(g)[parent]);
        let (linear, translation) = from_map(&rig.maps[h][f]);
        let turn = after * before.transpose();
        to_map(&(turn * linear), &(to + turn * (translation - at)))
    };
    (0..rig.maps.len())
        .map(|h| (0..to_frames.len()).map(|g| carried(h, g)).collect())
        .collect()
}

/// Returns the rotation nearest to a map, and its translation.
fn rigid_part(map: &Map) -> (Mat3, Vec3) {
    let (linear, translation) = from_map(map);
    (
        best_rotation(&linear).unwrap_or_else(Mat3::identity),
        translation,
    )
}
