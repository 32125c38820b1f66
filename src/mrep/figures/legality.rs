// SPDX-License-Identifier: MIT OR Apache-2.0
//! Legality: whether the volume between hubs and boundary folds anywhere, rims and caps included.
//!
//! The determinant of ∂X has to keep its sign from the hub to the boundary [damon2003: `det(I − τ r S_rad) > 0`]. It is divided
//! by the spoke's length times the product of the lengths of the two other columns, at the hub or at this depth, whichever is
//! larger. The result is 1 where all is at right angles and nothing is squeezed, and 0 at a fold.

use crate::mrep::figures::figure::Figure;
use crate::mrep::figures::pieces::FigurePiece;
use rayon::prelude::*;

/// Sampled fractions of each interval: near the seams, not on them (a slab's corners are degenerate).
const SAMPLE_FRACTIONS: [f64; 4] = [0.04, 0.35, 0.65, 0.96];
/// Sampled depths τ; the determinant is quadratic along them. Between them it falls by a 128th of its second derivative at most.
const SAMPLE_DEPTHS: [f64; 5] = [0.0, 0.25, 0.5, 0.75, 1.0];

/// Least legality that steps of a fit leave and that an initial slab has. With half of it a horse's leg ends at 0.016 and is missed by 0.124 % of the
/// size instead of 0.129, with twice at 0.06 and by 0.139.
pub(in crate::mrep) const MIN_LEGALITY: f64 = 0.03;

/// Least legality of a figure or a piece, and its coordinates.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::mrep) struct LegalityMinimum {
    pub legality: f64,
    /// (u, v, φ, τ).
    pub at: [f64; 4],
}

/// Returns the legality of a piece at (s, t) and a depth; 0 where a column vanishes.
pub(in crate::mrep) fn legality_at(piece: &FigurePiece, s: f64, t: f64, depth: f64) -> f64 {
    let local = piece.evaluate(s, t);
    let [a, b, spoke] = piece.columns(&local, s, depth);
    let [a0, b0, _] = piece.columns(&local, s, 0.0);
    let det = a.cross(&b).dot(&spoke) * piece.sign;
    let span = (a.norm() * b.norm()).max(a0.norm() * b0.norm()) * spoke.norm();
    if span > 0.0 { det / span } else { 0.0 }
}

/// Returns the least legal place of a piece.
fn piece_minimum(piece: &FigurePiece) -> LegalityMinimum {
    let mut worst = LegalityMinimum {
        legality: f64::INFINITY,
        at: [0.0; 4],
    };
    let [s, t] = piece.knots();
    for s in s.windows(2) {
        for t in t.windows(2) {
            for (a, b) in SAMPLE_FRACTIONS
                .iter()
                .flat_map(|a| SAMPLE_FRACTIONS.map(|b| (a, b)))
            {
                let (s, t) = (s[0] + a * (s[1] - s[0]), t[0] + b * (t[1] - t[0]));
                for depth in SAMPLE_DEPTHS {
                    // NaN counts as illegal.
                    let legality = Some(legality_at(piece, s, t, depth))
                        .filter(|x| !x.is_nan())
                        .unwrap_or(-1.0);
                    if legality < worst.legality {
                        let [u, v, around] = piece.coordinates(s, t);
                        worst = LegalityMinimum {
                            legality,
                            at: [u, v, around, depth],
                        };
                    }
                }
            }
        }
    }
    worst
}

impl Figure {
    pub(in crate::mrep) fn legality_minimum(&self) -> LegalityMinimum {
        let pieces = FigurePiece::for_figure(self);
        let all: Vec<LegalityMinimum> = pieces.par_iter().map(piece_minimum).collect();
        let least =
            |a: LegalityMinimum, b: LegalityMinimum| if b.legality < a.legality { b } else { a };
        all.into_iter().reduce(least).unwrap_or(LegalityMinimum {
            legality: -1.0,
            at: [0.0; 4],
        })
    }

    /// Returns the relative distance of the volume from a fold, at most 1. Above zero the coordinates of all points are locally
    /// unique; at zero or below the volume folds. It is sampled at sixteen places of each interval between atoms and at five
    /// depths.
    pub fn legality(&self) -> f64 {
        self.legality_minimum().legality
    }

    /// Returns a sentence about the worst fold; empty for a legal figure.
    pub fn check(&self) -> Vec<String> {
        let worst = self.legality_minimum();
        if worst.legality > 0.0 {
            return Vec::new();
        }
        vec![worst.describe_fold(self)]
    }
}

impl LegalityMinimum {
    /// Returns a sentence that names the place of the fold and a remedy.
    pub fn describe_fold(&self, figure: &Figure) -> String {
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
