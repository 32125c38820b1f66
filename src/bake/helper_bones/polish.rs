// SPDX-License-Identifier: MIT OR Apache-2.0
//! Weights of few bones of a vertex towards the least largest error, by least squares with larger weights of frames with larger errors.

use super::alignment::{apply, dot};
use super::problem::Problem;
use super::rig::{Rig, VertexSkin};
use super::simplex::{MAX_WEIGHTS, SmallSystem};

/// Fits with changed weights of frames.
const TURNS: usize = 4;

/// Power of the square error with which a frame weighs. Power 8 of errors would need 3, with which turns swing; half of it does not.
const POWER: f64 = 1.5;

/// Least weight of a frame.
const MIN_WEIGHT: f64 = 1e-3;

/// Chosen bones of a vertex: helpers, then all of its own as one.
struct Blend<'a> {
    problem: &'a Problem,
    vertex: usize,
    count: usize,
    /// Where each bone puts the vertex, `[bone, f]`.
    places: Vec<Vec<[f64; 3]>>,
}

/// Returns the sum of the eighth powers of the errors of a vertex, and its skin with the least such sum that is found.
pub(super) fn polish_skin(
    problem: &Problem,
    rig: &Rig,
    vertex: usize,
    skin: &VertexSkin,
) -> (f64, VertexSkin) {
    let blend = Blend::new(problem, rig, vertex, skin);
    let mut weights = [0.0; MAX_WEIGHTS];
    for (to, (_, w)) in weights.iter_mut().zip(&skin.helpers) {
        *to = *w;
    }
    if skin.kept > 0 {
        weights[blend.count - 1] = skin.own_share();
    }
    let score = |squares: &[f64]| -> f64 { squares.iter().map(|x| x.powi(4)).sum() };
    let mut squares = blend.squares(&weights);
    let mut best = (score(&squares), weights);
    for _ in 0..TURNS {
        let next = blend.fit(&squares);
        squares = blend.squares(&next);
        let now = score(&squares);
        if now < best.0 {
            best = (now, next);
        }
    }
    let (score, weights) = best;
    let own_left = skin.kept > 0 && weights[blend.count - 1] > 0.0;
    let helpers = skin.helpers.iter().zip(weights).filter(|h| h.1 > 0.0);
    let found = VertexSkin {
        kept: if own_left { skin.kept } else { 0 },
        helpers: helpers.map(|(h, w)| (h.0, w)).collect(),
    };
    (score, found)
}

impl<'a> Blend<'a> {
    fn new(problem: &'a Problem, rig: &Rig, vertex: usize, skin: &VertexSkin) -> Self {
        let p = &problem.rest[vertex];
        let frames = 0..problem.frame_count;
        let of_helper = |h: u32| rig.maps[h as usize].iter().map(|m| apply(m, p)).collect();
        let mut places: Vec<Vec<[f64; 3]>> = skin.helpers.iter().map(|h| of_helper(h.0)).collect();
        if skin.kept > 0 {
            let (bones, weights) = problem.own.row(vertex);
            let sum: f64 = weights[..skin.kept].iter().sum();
            let place = |f: usize| {
                let mut at = [0.0; 3];
                for (&b, w) in bones[..skin.kept].iter().zip(weights) {
                    let x = apply(&problem.pose(f)[b as usize], p);
                    (0..3).for_each(|i| at[i] += w / sum * x[i]);
                }
                at
            };
            places.push(frames.map(place).collect());
        }
        Self {
            problem,
            vertex,
            count: places.len(),
            places,
        }
    }

    /// Returns the square error of each frame.
    fn squares(&self, weights: &[f64; MAX_WEIGHTS]) -> Vec<f64> {
        let of_frame = |f: usize| {
            let to = self.problem.target(f, self.vertex);
            let along = |i: usize| {
                let at: f64 = (self.places.iter().zip(weights))
                    .map(|(p, w)| w * p[f][i])
                    .sum();
                (at - to[i]).powi(2)
            };
            (0..3).map(along).sum()
        };
        (0..self.problem.frame_count).map(of_frame).collect()
    }

    /// Fits weights by least squares in which frames weigh by their present square errors.
    fn fit(&self, squares: &[f64]) -> [f64; MAX_WEIGHTS] {
        let max = squares.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
        let mut system = SmallSystem::zeros(self.count);
        for (f, square) in squares.iter().enumerate() {
            let omega = (square / max).powf(POWER) + MIN_WEIGHT;
            let to = self.problem.target(f, self.vertex);
            for i in 0..self.count {
                let at = &self.places[i][f];
                for j in 0..=i {
                    let product = omega * dot(at, &self.places[j][f]);
                    system.gram[i][j] += product;
                    if j < i {
                        system.gram[j][i] += product;
                    }
                }
                system.right[i] += omega * dot(at, &to);
            }
        }
        system.solve()
    }
}
