// SPDX-License-Identifier: MIT OR Apache-2.0
//! Vertices that a new helper can bring nearer to their places: only their weights are fitted again when it is tried.

use super::alignment::{apply, dot};
use super::problem::Problem;
use super::rig::Rig;
use super::simplex::gain_towards;
use rayon::prelude::*;

/// Least part of the square distance of a vertex by which a helper lowers it alone. At a twentieth of it largest errors were
/// up to 1.7 times as large on two characters, and smaller on none by more than a quarter.
const MIN_GAIN: f64 = 0.02;

/// Returns the vertices that have a helper, or come nearer if weight moves to it: of all their bones, or of its parent and the helpers
/// of that one where the plain skin is kept.
pub(super) fn reach(problem: &Problem, rig: &Rig, helper: u32, plain_at_rest: bool) -> Vec<u32> {
    let parent = rig.parents[helper as usize];
    let gives = |bone: u32| !plain_at_rest || bone == parent;
    let within = |v: &u32| {
        let (skin, p) = (&rig.skins[*v as usize], &problem.rest[*v as usize]);
        if skin.helpers.iter().any(|h| h.0 == helper) {
            return true;
        }
        let (bones, _) = problem.own.row(*v as usize);
        if plain_at_rest && !bones[..skin.own.len()].contains(&parent) {
            return false;
        }
        let (mut slope, mut length, mut square) = (0.0, 0.0, 0.0);
        for f in 0..problem.frame_count {
            let (pose, to) = (problem.pose(f), problem.target(f, *v as usize));
            let moved = apply(&rig.maps[helper as usize][f], p);
            let (mut left, mut way) = (to, [0.0; 3]);
            let mut add = |at: [f64; 3], w: f64, gives: bool| {
                let share = if gives { w } else { 0.0 };
                (0..3).for_each(|i| left[i] -= w * at[i]);
                (0..3).for_each(|i| way[i] += share * (moved[i] - at[i]));
            };
            for (&b, &w) in bones.iter().zip(&skin.own) {
                add(apply(&pose[b as usize], p), w, gives(b));
            }
            for &(h, w) in &skin.helpers {
                let of_parent = gives(rig.parents[h as usize]);
                add(apply(&rig.maps[h as usize][f], p), w, of_parent);
            }
            slope += dot(&way, &left);
            length += dot(&way, &way);
            square += dot(&left, &left);
        }
        gain_towards(slope, length) > MIN_GAIN * square
    };
    let vertices = (0..problem.vertex_count() as u32).into_par_iter();
    vertices.with_min_len(64).filter(within).collect()
}
