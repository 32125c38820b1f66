// SPDX-License-Identifier: MIT OR Apache-2.0
//! Weights of few bones of a vertex towards the least largest error, by least squares with larger weights of frames with larger errors.

use super::alignment::{apply, dot};
use super::problem::Problem;
use super::rig::{Rig, VertexSkin};
use super::simplex::{MAX_WEIGHTS, SmallSystem};

/// Fits with changed weights of frames.
const TURNS: usize = 4;

/// Least weight of a frame.
const MIN_WEIGHT: f64 = 1e-3;

/// Chosen bones of a vertex: helpers, then its own ones, which are one column unless the plain skin is kept.
struct Blend<'a> {
    problem: &'a Problem,
    vertex: usize,
    plain_at_rest: bool,
    /// Own bones of each own column.
    own: Vec<Vec<usize>>,
    system: SmallSystem,
    start: [f64; MAX_WEIGHTS],
    /// Where each bone puts the vertex, `[bone, f]`.
    places: Vec<Vec<[f64; 3]>>,
}

/// Returns the sum of the eighth powers of the errors of a vertex, and its skin with the least such sum that is found.
pub(super) fn polish_skin(
    problem: &Problem,
    rig: &Rig,
    vertex: usize,
    skin: &VertexSkin,
    plain_at_rest: bool,
) -> (f64, VertexSkin) {
    let blend = Blend::new(problem, rig, vertex, skin, plain_at_rest);
    let score = |squares: &[f64]| -> f64 { squares.iter().map(|x| x.powi(4)).sum() };
    let mut squares = blend.squares(&blend.start);
    let mut best = (score(&squares), blend.start);
    for _ in 0..TURNS {
        let next = blend.fit(&squares);
        squares = blend.squares(&next);
        let now = score(&squares);
        if now < best.0 {
            best = (now, next);
        }
    }
    (best.0, blend.skin(skin, &best.1))
}

impl<'a> Blend<'a> {
    fn new(
        problem: &'a Problem,
        rig: &Rig,
        vertex: usize,
        skin: &VertexSkin,
        plain_at_rest: bool,
    ) -> Self {
        let p = &problem.rest[vertex];
        let (bones, weights) = problem.own.row(vertex);
        let positive = (0..skin.own.len()).filter(|&i| skin.own[i] > 0.0);
        let own: Vec<Vec<usize>> = match plain_at_rest {
            true => positive.map(|i| vec![i]).collect(),
            false if skin.own.is_empty() => Vec::new(),
            false => vec![positive.collect()],
        };
        let helpers = skin.helpers.len();
        let mut blend = Self {
            problem,
            vertex,
            plain_at_rest,
            system: SmallSystem::zeros(helpers + own.len()),
            own,
            start: [0.0; MAX_WEIGHTS],
            places: Vec::new(),
        };
        let group_of = |bone: u32| bones.iter().position(|b| *b == bone).unwrap_or(0);
        for (i, &(h, w)) in skin.helpers.iter().enumerate() {
            blend.start[i] = w;
            let place = |m| apply(m, p);
            (blend.places).push(rig.maps[h as usize].iter().map(place).collect());
            if plain_at_rest {
                blend.system.groups[i] = group_of(rig.parents[h as usize]);
            }
        }
        for (i, column) in blend.own.iter().enumerate() {
            let total: f64 = column.iter().map(|&b| skin.own[b]).sum();
            blend.start[helpers + i] = total;
            let place = |f: usize| {
                let mut at = [0.0; 3];
                for &b in column {
                    let x = apply(&problem.pose(f)[bones[b] as usize], p);
                    (0..3).for_each(|i| at[i] += skin.own[b] / total * x[i]);
                }
                at
            };
            (blend.places).push((0..problem.frame_count).map(place).collect());
            if plain_at_rest {
                blend.system.groups[helpers + i] = column[0];
            }
        }
        if plain_at_rest {
            let kept = &weights[..skin.own.len()];
            let sum: f64 = kept.iter().sum();
            for (total, w) in blend.system.totals.iter_mut().zip(kept) {
                *total = w / sum;
            }
        }
        blend
    }

    /// Returns the skin with other weights.
    fn skin(&self, skin: &VertexSkin, weights: &[f64; MAX_WEIGHTS]) -> VertexSkin {
        let helpers = skin.helpers.iter().zip(weights).filter(|h| *h.1 > 0.0);
        let mut found = VertexSkin {
            own: skin.own.clone(),
            helpers: helpers.map(|(h, w)| (h.0, *w)).collect(),
        };
        for (i, column) in self.own.iter().enumerate() {
            let at = skin.helpers.len() + i;
            let factor = weights[at] / self.start[at];
            column.iter().for_each(|&b| found.own[b] *= factor);
        }
        // Where the plain skin is kept, each own bone has its place.
        if !self.plain_at_rest && found.own_share() == 0.0 {
            found.own.clear();
        }
        found
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
        let mut system = self.system.clone();
        for (f, square) in squares.iter().enumerate() {
            // A power of 1.5. Power 8 of errors would need 3, with which turns swing; half of it does not.
            let part = square / max;
            let omega = part * part.sqrt() + MIN_WEIGHT;
            let to = self.problem.target(f, self.vertex);
            for i in 0..self.places.len() {
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
