// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whether the volume between hubs and boundary folds anywhere, rims and caps included.
//!
//! The determinant of ∂X has to keep its sign from the hub to the boundary [damon2003: `det(I − τ r S_rad) > 0`]. It is measured
//! relative to the spoke's length times the larger of the areas that the two other columns span, without their angle, at the hub
//! and here: 1 where all is at right angles and nothing is squeezed, 0 at a fold.

use super::figure::Figure;
use super::pieces::Piece;
use rayon::prelude::*;

/// Shares of each interval that are looked at: near seams, not on them (a slab's corners are degenerate).
const SHARES: [f64; 4] = [0.04, 0.35, 0.65, 0.96];
/// Depths that are looked at, along which the determinant is quadratic.
const DEPTHS: [f64; 5] = [0.0, 0.25, 0.5, 0.75, 1.0];

/// The worst place of a figure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Worst {
    pub legality: f64,
    /// (u, v, φ, τ).
    pub at: [f64; 4],
}

/// How legal a piece is at (s, t), at some depth.
pub(super) fn at(piece: &Piece, s: f64, t: f64, depth: f64) -> f64 {
    let local = piece.at(s, t);
    let [a, b, spoke] = piece.columns(&local, s, depth);
    let [a0, b0, _] = piece.columns(&local, s, 0.0);
    let det = a.cross(&b).dot(&spoke) * piece.sign;
    let span = (a.norm() * b.norm()).max(a0.norm() * b0.norm()) * spoke.norm();
    if span > 0.0 { det / span } else { 0.0 }
}

/// The worst place of each interval between atoms and spokes.
fn worst_of_intervals(piece: &Piece) -> Vec<Worst> {
    let mut all = Vec::new();
    let [s, t] = piece.knots();
    for s in s.windows(2) {
        for t in t.windows(2) {
            let mut worst = Worst {
                legality: f64::INFINITY,
                at: [0.0; 4],
            };
            for a in SHARES {
                for b in SHARES {
                    let (s, t) = (s[0] + a * (s[1] - s[0]), t[0] + b * (t[1] - t[0]));
                    for depth in DEPTHS {
                        // What is no number is no legal figure.
                        let legality = Some(at(piece, s, t, depth))
                            .filter(|x| !x.is_nan())
                            .unwrap_or(-1.0);
                        if legality < worst.legality {
                            let [u, v, around] = piece.coordinates(s, t);
                            worst = Worst {
                                legality,
                                at: [u, v, around, depth],
                            };
                        }
                    }
                }
            }
            all.push(worst);
        }
    }
    all
}

impl Figure {
    pub(super) fn worst(&self) -> Worst {
        let pieces = Piece::all(self);
        let all: Vec<Worst> = pieces
            .par_iter()
            .flat_map_iter(worst_of_intervals)
            .collect();
        let least = |a: Worst, b: Worst| if b.legality < a.legality { b } else { a };
        all.into_iter().reduce(least).unwrap_or(Worst {
            legality: -1.0,
            at: [0.0; 4],
        })
    }

    /// The worst place of each interval that is less legal than `least`.
    pub(super) fn folds(&self, least: f64) -> Vec<Worst> {
        let pieces = Piece::all(self);
        let all = pieces.par_iter().flat_map_iter(worst_of_intervals);
        all.filter(|worst| worst.legality < least).collect()
    }

    /// How far the volume is from a fold, at most 1: above zero the coordinates of all its points are unique near each, at zero
    /// or below it folds. It is sampled, at sixteen places of each interval between atoms and at five depths.
    pub fn legality(&self) -> f64 {
        self.worst().legality
    }

    /// What is wrong with the figure, a sentence each; nothing if it is legal.
    pub fn check(&self) -> Vec<String> {
        let worst = self.worst();
        if worst.legality > 0.0 {
            return Vec::new();
        }
        vec![worst.sentence(self)]
    }
}

impl Worst {
    /// Where it folds, and what to do.
    pub fn sentence(&self, figure: &Figure) -> String {
        let [u, v, around, depth] = self.at;
        let atom = figure.nearest_atom(u, v);
        let what = if depth == 0.0 {
            "neighbouring hubs or spokes are turned over (look at its frame and the order of the hubs)"
        } else {
            "neighbouring spokes cross (make its radius smaller, or turn the spokes apart)"
        };
        format!(
            "the figure folds at (u, v, φ, τ) = ({u:.2}, {v:.2}, {around:.2}, {depth:.2}), near atom {}: {what}",
            figure.kind().name(atom)
        )
    }
}
