// SPDX-License-Identifier: MIT OR Apache-2.0
//! Selection of the atoms of a piece that get cells. Where atoms are close together in a thick limb, cells would be slices that turn
//! over when the limb bends.

use crate::mrep::error::MRepError;
use crate::mrep::figures::atom::Role;
use crate::mrep::figures::figure::Figure;
use crate::mrep::lattices::cells::AtomSpan;

/// Least length of a cell along the limb, over the distance of its corners from the hub, where there is a choice. A joint that bends by
/// 46° turns its disc by half of that, and edges inside the bend get shorter by tan 23° = 0.42 of that distance.
const MIN_CELL_LENGTH: f64 = 0.7;
/// Least length of a cell at an open end, where there is no choice; pieces with shorter cells are refused. It is above the 0.42 that a joint of 46°
/// takes.
const MIN_END_CELL_LENGTH: f64 = 0.5;

/// A piece of a tube, reduced to the atoms that get cells.
#[derive(Debug)]
pub(super) struct ThinnedTube {
    /// Tube with the atoms that get cells, and with the whole tube's first and last atom.
    pub figure: Figure,
    /// Range of the piece in `figure`.
    pub span: AtomSpan,
    /// Indices of its atoms in the whole tube.
    pub kept: Vec<usize>,
}

/// Removes atoms of a piece that are too close to others for its thickness; ends and joints stay. `None`: cells at its open ends would
/// be too short.
///
/// # Errors
/// Atoms that do not form a tube.
pub(super) fn thin_span(figure: &Figure, span: AtomSpan) -> Result<Option<ThinnedTube>, MRepError> {
    let (from, to) = (span.first.0, span.last.0);
    let stays = |i: usize| i == from || i == to || figure.is_joint(i);
    let mut kept = vec![from];
    for i in from + 1..=to {
        while let Some(&before) = kept.last() {
            let near = shortest_edge_ratio(figure, [before, i]) < MIN_CELL_LENGTH;
            if stays(i) && near && !stays(before) {
                kept.pop();
                continue;
            }
            if stays(i) || !near {
                kept.push(i);
            }
            break;
        }
    }
    let n = kept.len();
    let ends = [
        (span.first, [kept[0], kept[1]]),
        (span.last, [kept[n - 2], kept[n - 1]]),
    ];
    let short = |((_, closed), pair): &((usize, bool), [usize; 2])| {
        !closed && shortest_edge_ratio(figure, *pair) < MIN_END_CELL_LENGTH
    };
    if ends.iter().any(short) {
        return Ok(None);
    }
    // A tube's first and last atoms have end spokes, unlike those between, so they stay in the figure.
    let before = usize::from(from > 0);
    let last = figure.atoms().len() - 1;
    kept.splice(0..0, (from > 0).then_some(0));
    kept.extend((to < last).then_some(last));
    Ok(Some(ThinnedTube {
        figure: figure.with_atom_subset(&kept)?,
        span: AtomSpan {
            first: (before, span.first.1),
            last: (before + n - 1, span.last.1),
        },
        kept,
    }))
}

/// Returns the shortest edge along the limb between two atoms' spokes, over the larger distance of its ends from their hubs.
fn shortest_edge_ratio(figure: &Figure, pair: [usize; 2]) -> f64 {
    let [from, to] = pair.map(|i| figure.atoms()[i].vectors(figure.kind().role(i)));
    let way = to[0] - from[0];
    let long = way.norm().max(f64::MIN_POSITIVE);
    let edge = |q: usize| {
        let [x, y] = [from[Role::spoke_index(q)], to[Role::spoke_index(q)]];
        (way + y - x).dot(&way) / (long * x.norm().max(y.norm()))
    };
    let edges = (0..figure.kind().spoke_count()).map(edge);
    edges.fold(f64::INFINITY, f64::min)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mrep::figures::atom::Atom;
    use crate::{Mat3, Vec3};
    use std::f64::consts::FRAC_PI_2;

    /// A straight tube of radius 1 with hubs at these places along x, scaled, and joints at some of them.
    fn tube(places: &[f64], scale: f64, joints: &[usize]) -> Figure {
        let atom = |x: &f64| Atom {
            hub: Vec3::new(x * scale, 0.0, 0.0),
            frame: Mat3::identity(),
            radius: scale,
            angle: FRAC_PI_2,
            lengths: vec![1.0; 6],
            end: 1.0,
        };
        let figure = Figure::tube(places.iter().map(atom).collect()).unwrap();
        let joints = joints.iter().map(|i| figure.knots()[*i]).collect();
        Figure::tube_with_knots(figure.atoms().to_vec(), None, joints).unwrap()
    }

    /// Atoms are removed until cells are long enough for their thickness, and no joint is removed.
    #[test]
    fn thinned_keeps_joints() {
        let places: Vec<f64> = (0..40).map(|i| 0.2 * f64::from(i)).collect();
        for scale in [1.0, 0.01] {
            let figure = tube(&places, scale, &[3, 11, 29, 39]);
            for (first, last) in [(4, 36), (4, 39), (6, 34)] {
                let span = AtomSpan {
                    first: (first, false),
                    last: (last, last == 39),
                };
                let thin = thin_span(&figure, span).unwrap().unwrap();
                let (from, to) = (thin.span.first.0, thin.span.last.0);
                let kept = &thin.kept[from..=to];
                assert_eq!((kept[0], kept[kept.len() - 1]), (first, last));
                assert_eq!(thin.figure.atoms().len(), thin.kept.len());
                for (atom, i) in thin.figure.atoms().iter().zip(&thin.kept) {
                    assert_eq!(atom.hub, figure.atoms()[*i].hub);
                }
                let joints: Vec<usize> = [3, 11, 29, 39]
                    .into_iter()
                    .filter(|j| (first..=last).contains(j))
                    .collect();
                assert!(joints.iter().all(|j| kept.contains(j)), "{kept:?}");
                let stays = |i: &usize| joints.contains(i) || *i == first || *i == last;
                for pair in kept.windows(2) {
                    let long = 0.2 * (pair[1] - pair[0]) as f64;
                    assert!(
                        long >= MIN_CELL_LENGTH || pair.iter().all(stays),
                        "{kept:?}: {pair:?}"
                    );
                    // No more is left out than has to be.
                    assert!(long < 2.0 * MIN_CELL_LENGTH + 0.4, "{kept:?}: {pair:?}");
                }
            }
        }
    }

    /// A tube whose cells are long enough keeps all its atoms within the span.
    #[test]
    fn thinned_keeps_long_cells() {
        let places: Vec<f64> = (0..9).map(f64::from).collect();
        let figure = tube(&places, 1.0, &[]);
        let span = AtomSpan {
            first: (2, false),
            last: (8, true),
        };
        let thin = thin_span(&figure, span).unwrap().unwrap();
        assert_eq!(thin.kept, [0, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!((thin.span.first, thin.span.last), ((1, false), (7, true)));
    }

    /// A span that begins just before a joint has no valid cells.
    #[test]
    fn thinned_rejects_start_before_joint() {
        let places = [0.0, 1.0, 2.0, 2.4, 3.0, 4.0, 5.0];
        let figure = tube(&places, 1.0, &[0, 3, 6]);
        let from = |first: usize| {
            let span = AtomSpan {
                first: (first, false),
                last: (6, true),
            };
            thin_span(&figure, span).unwrap().map(|thin| thin.kept)
        };
        assert_eq!(from(2), None);
        assert_eq!(from(1), Some(vec![0, 1, 3, 5, 6]));
        assert_eq!(from(3), Some(vec![0, 3, 5, 6]));
    }
}
