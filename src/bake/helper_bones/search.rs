// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rounds of a search: helpers begin on the vertices and frames where errors are largest, and are refined on all.
//!
//! Each round after the first takes the helpers of least use away and lets others begin where errors then are largest. That leaves
//! local minima that fits in turn cannot leave.

use super::emphasis::Emphasis;
use super::growth::{Growth, largest};
use super::places::errors;
use super::problem::Problem;
use super::refinement::{carry_maps, refine};
use super::rig::Rig;
use super::settings::HelperBonesSettings;
use super::transforms::fit_transforms;
use crate::bake::BakeError;
use crate::progress::{Progress, StageProgress};

/// Rounds. With one, the largest error of 32 helpers was three times as large on a lively character of 14 clips; six were no better on all.
const ROUNDS: usize = 4;

/// Part of the helpers that a round replaces.
const REPLACED: f64 = 0.25;

/// Fits of weights and maps to all vertices in the last round, by the pairs of vertices and frames that they take together; the other
/// rounds have one. More lower the largest error further, ever more slowly.
const LAST_PAIRS: usize = 16_000_000;
const LAST_SWEEPS: (usize, usize) = (6, 12);

/// Vertices and frames on which helpers begin. With two thirds of them largest errors were a quarter larger.
const VERTICES: usize = 1500;
pub(super) const FRAMES: usize = 60;

/// Power of errors by which vertices and frames are chosen.
const POWER: i32 = 4;

/// Distance below which no helper is needed, in units of the size: 0.01 mm for a person.
const STILL: f32 = 2e-5;

/// Returns the helpers with the least largest error that is found, and the weights of all vertices.
pub(super) fn find_rig(
    problem: &Problem,
    settings: &HelperBonesSettings,
    progress: &dyn Progress,
) -> Result<Rig, BakeError> {
    let mut rig = Rig::bare(problem);
    let mut best: Option<(f32, Rig)> = None;
    for round in 0..ROUNDS {
        // The first round adds all helpers, the last has most sweeps.
        let ends = [0.0, 0.3, 0.45, 0.6, 1.0];
        let stage = StageProgress {
            whole: progress,
            from: ends[round],
            to: ends[round + 1],
        };
        let left = errors(problem, &rig);
        if largest(&left) <= STILL {
            break;
        }
        let sweeps = match round + 1 {
            ROUNDS => (LAST_PAIRS / problem.pair_count()).clamp(LAST_SWEEPS.0, LAST_SWEEPS.1),
            _ => 1,
        };
        rig = next_rig(problem, &rig, &left, settings, sweeps, &stage)?;
        let max = largest(&errors(problem, &rig));
        if best.as_ref().is_none_or(|b| max < b.0) {
            best = Some((max, rig.clone()));
        }
    }
    Ok(best.map_or(rig, |b| b.1))
}

/// Replaces some helpers on the worst vertices and frames, adds those that are missing, and refines all.
fn next_rig(
    problem: &Problem,
    rig: &Rig,
    left: &[Vec<f32>],
    settings: &HelperBonesSettings,
    sweeps: usize,
    progress: &dyn Progress,
) -> Result<Rig, BakeError> {
    let stage = |from, to| StageProgress {
        whole: progress,
        from,
        to,
    };
    let (vertices, frames) = worst_sample(left);
    let some = problem.subset(&vertices, &frames);
    let mut growth = Growth::new(&some, rig.subset(&vertices, &frames), settings);
    growth.remove_helpers((rig.maps.len() as f64 * REPLACED).ceil() as usize);
    growth.add_helpers(STILL, &stage(0.0, 0.6))?;

    // All vertices in the same frames, where the maps are known, then all frames.
    let all: Vec<u32> = (0..problem.vertex_count() as u32).collect();
    let every: Vec<u32> = (0..problem.frame_count as u32).collect();
    let wide = problem.subset(&all, &frames);
    let mut next = Rig::bare(&wide);
    next.maps = growth.rig.maps;
    next.parents = growth.rig.parents;
    for (&v, skin) in vertices.iter().zip(growth.rig.skins) {
        next.skins[v as usize] = skin;
    }
    let mut next = refine(&wide, next, settings, 1, &stage(0.6, 0.7))?;
    next.maps = carry_maps(&wide, &next, &frames, problem, &every);
    fit_transforms(problem, &mut next, &Emphasis::ones(problem));
    refine(problem, next, settings, sweeps, &stage(0.7, 1.0))
}

/// Returns the vertices and the frames with the largest errors of their neighbours in the mesh's order and in time.
fn worst_sample(errors: &[Vec<f32>]) -> (Vec<u32>, Vec<u32>) {
    let power = |e: &f32| f64::from(*e).powi(POWER);
    let of_frames: Vec<f64> = errors.iter().map(|e| e.iter().map(power).sum()).collect();
    let vertices = errors.first().map_or(0, Vec::len);
    let of_vertex = |v: usize| errors.iter().map(|e| power(&e[v])).sum();
    let of_vertices: Vec<f64> = (0..vertices).map(of_vertex).collect();
    (
        worst_of_blocks(&of_vertices, VERTICES),
        worst_of_blocks(&of_frames, FRAMES),
    )
}

/// Returns the index of the largest value in each of at most `most` blocks.
fn worst_of_blocks(values: &[f64], most: usize) -> Vec<u32> {
    let blocks = values.len().min(most);
    let of_block = |b: usize| {
        let range = b * values.len() / blocks..(b + 1) * values.len() / blocks;
        range.reduce(|best, i| if values[i] > values[best] { i } else { best })
    };
    let worst = (0..blocks).filter_map(of_block);
    worst.map(|i| i as u32).collect()
}
