// SPDX-License-Identifier: MIT OR Apache-2.0
//! Starts of a fit: the template as it lies, or moved so that its moments match the target's.

use crate::geometry::moments::BodyMoments;
use crate::mrep::figures::figure::Figure;
use crate::{Mat3, Vec3};

/// A similarity: `x → scale · turn · x + shift`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Similarity {
    pub scale: f64,
    pub turn: Mat3,
    pub shift: Vec3,
}

impl Similarity {
    /// Returns the figure after the similarity.
    pub fn apply(&self, figure: &Figure) -> Figure {
        figure.apply_similarity(self.scale, &self.turn, self.shift)
    }
}

/// Returns the figure as it is, and moved by [`similarities`].
pub(super) fn candidates(
    figure: &Figure,
    own: Option<BodyMoments>,
    target: Option<BodyMoments>,
) -> Vec<Figure> {
    let moved = similarities(own, target)
        .into_iter()
        .map(|s| s.apply(figure));
    std::iter::once(figure.clone()).chain(moved).collect()
}

/// Returns similarities to the centroid and size of the target: without rotation, and with the principal axes aligned by the smallest
/// rotation.
pub(super) fn similarities(
    own: Option<BodyMoments>,
    target: Option<BodyMoments>,
) -> Vec<Similarity> {
    let mut all = Vec::new();
    let (Some(own), Some(target)) = (own, target) else {
        return all;
    };
    let scale = (target.spread.trace() / own.spread.trace()).sqrt();
    if !(scale.is_finite() && scale > 0.0) {
        return all;
    }
    let brought = |turn: &Mat3| Similarity {
        scale,
        turn: *turn,
        shift: target.centre - turn * own.centre * scale,
    };
    all.push(brought(&Mat3::identity()));
    let ((from, _), (to, spreads)) = (own.axes(), target.axes());
    // Axes of similar spread have no defined direction.
    if spreads[1] < 0.8 * spreads[0] && spreads[2] < 0.8 * spreads[1] {
        let turns = [[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]].map(|[a, b]| {
            let flip = Mat3::from_diagonal(&Vec3::new(a, b, a * b));
            to * flip * from.transpose()
        });
        let nearest = turns.iter().max_by(|a, b| a.trace().total_cmp(&b.trace()));
        all.extend(nearest.map(brought));
    }
    all
}
