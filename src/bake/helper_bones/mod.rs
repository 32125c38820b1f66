// SPDX-License-Identifier: MIT OR Apache-2.0
//! Helper bones: few rigid bones beside a character's own, which carry the motion of its flesh in all clips.
//!
//! A vertex p is seen at `s Σ ŵ_b M_b p + Σ w_h T_h p` with `s + Σ w_h = 1`: its own bones in their proportions ŵ, and helpers with
//! rigid maps T_h of their own in each frame. At most a few of all weights are not 0. Weights and maps are fitted in turn (smooth
//! skinning decomposition with rigid bones [le2012]): weights by sparse least squares that are not negative, maps by weighted
//! Procrustes problems. Deviations from the paper: own bones and their proportions are given; helpers begin one by one where errors
//! are largest, rather than from clusters; sums over frames come from tables of pairs of bones; frames in which a vertex is far from
//! its place weigh more, as the largest error is what is seen.
//!
//! Cost: helpers begin on some vertices and frames. Then a sweep over all takes products of vertices, frames and helpers. The result
//! is a local minimum.
//!
//! | file | content |
//! | --- | --- |
//! | `settings` | what is asked |
//! | `source` | the input, checked |
//! | `alignment` | axes that move with the character |
//! | `own_skin` | weights of the character's own bones |
//! | `problem` | some vertices and frames in these axes |
//! | `rig` | helpers, their maps and weights |
//! | `seeding` | where a helper begins, and how it moves |
//! | `growth` | helpers added one by one |
//! | `reach` | vertices that a new helper can bring nearer |
//! | `weights` | sums over frames for the weights of a vertex |
//! | `choice` | few bones of a vertex |
//! | `shares` | few bones of a vertex whose helpers take weight from their parents alone |
//! | `polish` | weights of few bones towards the least largest error |
//! | `places` | where a rig puts vertices |
//! | `procrustes` | the rotation nearest to a matrix |
//! | `simplex` | weights of few bones |
//! | `transforms` | maps of the helpers |
//! | `emphasis` | larger weights of large errors |
//! | `refinement` | all vertices and frames |
//! | `search` | rounds of both |
//! | `hierarchy` | parents, heads and tails |
//! | `written` | single precision, and errors measured on it |

mod alignment;
mod choice;
mod emphasis;
mod growth;
mod hierarchy;
mod own_skin;
mod places;
mod polish;
mod problem;
mod procrustes;
mod reach;
mod refinement;
mod rig;
mod search;
mod seeding;
mod settings;
mod shares;
mod simplex;
mod source;
#[cfg(test)]
mod tests;
mod transforms;
mod weights;
mod written;

pub use settings::{HelperBonesSettings, MAX_HELPERS, MAX_INFLUENCES};

use super::{BakeError, VertexFrames};
use crate::Vec3;
use crate::progress::{Progress, StageProgress};
use crate::skeleton::SkinWeights;
use problem::Problem;
use rig::Rig;
use source::Source;

/// Most pairs of a vertex and a frame to which weights are fitted, 48 MB of targets. Maps are fitted in all frames.
const FITTED_PAIRS: usize = 4_000_000;

/// Helper bones beside the bones of a character.
#[derive(Debug, Clone, PartialEq)]
pub struct HelperBones {
    /// N, the number of helpers; fewer than asked for if more are of no use.
    pub count: usize,
    /// Number of the character's own bones, b.
    pub bone_count: usize,
    /// Weights of own bones, then helpers, `[n, b + N]`.
    pub weights: Vec<f32>,
    /// Rigid matrices of the helpers from rest, `[f, N, 4, 4]`.
    pub transforms: Vec<f32>,
    /// Heads at rest, m.
    pub heads: Vec<Vec3>,
    /// Tails at rest, m.
    pub tails: Vec<Vec3>,
    /// Own bone of each helper: the one from which it takes weight where the plain skin is kept, else the one that carries most of
    /// its skin.
    pub parents: Vec<u32>,
    /// Largest distance of a vertex from its place in each frame, m.
    pub errors: Vec<f32>,
    /// Vertex that is farthest from its place in each frame.
    pub farthest: Vec<u32>,
    /// Root of the mean square distance over all vertices and frames, m.
    pub rms: f64,
}

impl HelperBones {
    /// Returns the frame, the vertex and the size of the largest error.
    pub fn worst(&self) -> (usize, u32, f32) {
        let mut worst = 0;
        for (f, e) in self.errors.iter().enumerate() {
            if *e > self.errors[worst] {
                worst = f;
            }
        }
        (worst, self.farthest[worst], self.errors[worst])
    }
}

/// Fits helper bones to the frames of all clips.
///
/// `rest` `[n, 3]`: the mesh before its bones act, m. `frames`: posed positions, as they should be seen. `poses` `[f, b, 4, 4]` of each
/// clip: matrices of the character's bones from rest. `weights`: skin weights of all vertices.
///
/// # Errors
/// Fails for settings out of range, arrays of other sizes, numbers that are not finite, a vertex without weights, or if the caller stops.
pub fn helper_bones(
    rest: &[f32],
    frames: &VertexFrames<'_>,
    poses: Vec<&[f32]>,
    weights: &SkinWeights,
    settings: &HelperBonesSettings,
    progress: &dyn Progress,
) -> Result<HelperBones, BakeError> {
    settings.check()?;
    let source = Source::new(frames, rest, poses, weights, settings)?;
    fit_source(&source, settings, FITTED_PAIRS, progress)
}

/// Fits weights to at most `pairs` pairs of a vertex and a frame, and maps to all frames.
fn fit_source(
    source: &Source<'_>,
    settings: &HelperBonesSettings,
    pairs: usize,
    progress: &dyn Progress,
) -> Result<HelperBones, BakeError> {
    let fit = Fit::new(source, settings, pairs, progress)?;
    let transforms = fit.transforms(source, pairs, progress)?;
    Ok(fit.write(source, transforms))
}

/// Weights of all vertices, fitted to some frames.
struct Fit {
    problem: Problem,
    frames: Vec<u32>,
    rig: Rig,
}

impl Fit {
    /// Lets helpers begin, and fits them to all vertices.
    fn new(
        source: &Source<'_>,
        settings: &HelperBonesSettings,
        pairs: usize,
        progress: &dyn Progress,
    ) -> Result<Self, BakeError> {
        let (vertices, frames) = (source.frames.vertex_count(), source.frames.len());
        let all: Vec<u32> = (0..vertices as u32).collect();
        let fitted = spread(frames, (pairs / vertices).max(search::FRAMES));
        let mut problem = Problem::new(source, &all, &fitted);
        let stage = |from, to| StageProgress {
            whole: progress,
            from,
            to,
        };
        let twice = problem.own.may_leave();
        let first = if twice { 0.5 } else { 0.95 };
        let mut rig = search::find_rig(&problem, settings, &stage(0.0, first))?;
        if twice {
            // A search in which light bones stay may find a better local minimum.
            problem.own.keep_all();
            let other = search::find_rig(&problem, settings, &stage(first, 0.95))?;
            let max = |rig| growth::largest(&places::errors(&problem, rig));
            if max(&other) < max(&rig) {
                rig = other;
            }
        }
        let rig = rig.without_unused();
        Ok(Self {
            problem,
            frames: fitted,
            rig,
        })
    }

    /// Returns the matrices of the helpers in all frames, `[f, N, 4, 4]`.
    fn transforms(
        &self,
        source: &Source<'_>,
        pairs: usize,
        progress: &dyn Progress,
    ) -> Result<Vec<f32>, BakeError> {
        let helpers = self.rig.maps.len();
        let frames = source.frames.len();
        let all: Vec<u32> = (0..self.problem.vertex_count() as u32).collect();
        let mut to = Vec::with_capacity(16 * frames * helpers);
        let every: Vec<u32> = (0..frames as u32).collect();
        for block in every.chunks((pairs / all.len()).max(1)) {
            let fraction = 0.95 + 0.05 * f64::from(block[0]) / frames as f64;
            crate::progress::report_progress(progress, fraction, "Fitting frames")?;
            let fitted = block.iter().all(|f| self.frames.binary_search(f).is_ok());
            let mut rig = self.rig.clone();
            if !fitted {
                let problem = Problem::new(source, &all, block);
                let (from, known) = (&self.problem, &self.frames);
                rig.maps = refinement::carry_maps(from, &rig, known, &problem, block);
                refinement::refine_maps(&problem, &mut rig);
            }
            for (at, &f) in block.iter().enumerate() {
                for maps in &rig.maps {
                    let at = if fitted {
                        self.frames.partition_point(|&g| g < f)
                    } else {
                        at
                    };
                    let alignment = &source.alignments[f as usize];
                    let (linear, translation) = alignment.world_map(&maps[at], &source.rest_frame);
                    for i in 0..3 {
                        to.extend((0..3).map(|j| linear[(i, j)] as f32));
                        to.push(translation[i] as f32);
                    }
                    to.extend([0.0, 0.0, 0.0, 1.0]);
                }
            }
        }
        Ok(to)
    }

    /// Rounds the weights, measures, and describes the helpers.
    fn write(self, source: &Source<'_>, transforms: Vec<f32>) -> HelperBones {
        let (rig, count, bones) = (&self.rig, self.rig.maps.len(), source.bone_count);
        let weights = written::dense_weights(&self.problem.own, &rig.skins, bones, count);
        let measured = written::measure(source, &weights, &transforms);
        let world = |p: Vec3| p * source.rest_frame.size + source.rest_frame.centre;
        let places = hierarchy::heads_and_tails(&self.problem, rig);
        HelperBones {
            count,
            bone_count: bones,
            weights,
            transforms,
            heads: places.iter().map(|p| world(p.0)).collect(),
            tails: places.iter().map(|p| world(p.1)).collect(),
            parents: rig.parents.clone(),
            errors: measured.errors,
            farthest: measured.farthest,
            rms: measured.rms,
        }
    }
}

/// Returns at most `most` of `count` indices at even distances.
fn spread(count: usize, most: usize) -> Vec<u32> {
    let chosen = count.min(most);
    (0..chosen).map(|i| (i * count / chosen) as u32).collect()
}
