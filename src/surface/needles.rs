// SPDX-License-Identifier: MIT OR Apache-2.0
//! Subdivision of long thin triangles (needles) for winding trees. Needles make wide nodes, to which hardly any query point
//! is far, so every query visits all triangles of a fan. Their pieces have the same winding number and make small nodes.
use crate::Vec3;

/// Length, as a share of the bounding box's diagonal, above which a needle is cut.
const MIN_NEEDLE_LENGTH: f64 = 0.06;
/// Ratio of length to height above which a triangle is a needle.
const MIN_NEEDLE_RATIO: f64 = 4.0;
/// Length, as a share of the diagonal, below which pieces are not cut further.
const MAX_PIECE_LENGTH: f64 = 0.03;
/// Number of needles below which none is cut.
const MIN_NEEDLES: usize = 200;
/// Smallest ratio of needles to other long triangles at which needles are cut: the others make wide nodes anyway.
const MIN_NEEDLE_SURPLUS: usize = 10;

/// Cuts needles to pieces and returns the pieces' corners and source ids, or the input where cutting does not pay.
pub(super) fn cut_needles(triangles: Vec<[Vec3; 3]>, ids: Vec<u32>) -> (Vec<[Vec3; 3]>, Vec<u32>) {
    let (lo, hi) = crate::geometry::aabb::bounds(triangles.iter().flatten());
    let diagonal = (hi - lo).norm();
    let is_needle = |x: &[Vec3; 3], long: f64, slender: f64| {
        longest_edge(x).is_some_and(|(_, l, height)| l > long * diagonal && l > slender * height)
    };
    let count = |slender| {
        let needles = triangles
            .iter()
            .filter(|x| is_needle(x, MIN_NEEDLE_LENGTH, slender));
        needles.count()
    };
    let (thin, all) = (count(MIN_NEEDLE_RATIO), count(0.0));
    if thin < MIN_NEEDLES || thin < MIN_NEEDLE_SURPLUS * (all - thin) {
        return (triangles, ids);
    }
    let (mut pieces, mut of) = (Vec::new(), Vec::new());
    let mut left = Vec::new();
    for (triangle, id) in triangles.into_iter().zip(ids) {
        left.push(triangle);
        let short = if is_needle(&triangle, MIN_NEEDLE_LENGTH, MIN_NEEDLE_RATIO) {
            MAX_PIECE_LENGTH
        } else {
            f64::INFINITY
        };
        while let Some(x) = left.pop() {
            match longest_edge(&x) {
                Some((k, ..)) if is_needle(&x, short, MIN_NEEDLE_RATIO) => {
                    let [a, b, c] = [0, 1, 2].map(|i| x[(k + i) % 3]);
                    let middle = (a + b) / 2.0;
                    left.extend([[a, middle, c], [middle, b, c]]);
                }
                _ => {
                    pieces.push(x);
                    of.push(id);
                }
            }
        }
    }
    (pieces, of)
}

/// Returns the index of the longest edge's first corner, the edge's length and the height above it; `None` for a point.
fn longest_edge(x: &[Vec3; 3]) -> Option<(usize, f64, f64)> {
    let length = |k: usize| (x[(k + 1) % 3] - x[k]).norm();
    let k = (0..3).max_by(|&i, &j| length(i).total_cmp(&length(j)))?;
    let area = (x[1] - x[0]).cross(&(x[2] - x[0])).norm();
    (length(k) > 0.0).then(|| (k, length(k), area / length(k)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The flat fan of `n` triangles around the origin.
    fn fan(n: u32) -> Vec<[Vec3; 3]> {
        let at = |i: u32| {
            let angle = std::f64::consts::TAU * f64::from(i) / f64::from(n);
            Vec3::new(angle.cos(), angle.sin(), 0.0)
        };
        (0..n).map(|i| [Vec3::zeros(), at(i), at(i + 1)]).collect()
    }

    fn area(x: &[Vec3; 3]) -> Vec3 {
        (x[1] - x[0]).cross(&(x[2] - x[0])) / 2.0
    }

    /// The pieces of a needle are short and cover its area exactly.
    #[test]
    fn cut_pieces_cover_needles() {
        let n = 700;
        let whole = fan(n);
        let (pieces, of) = cut_needles(whole.clone(), (0..n).collect());
        assert!(pieces.len() > whole.len() && pieces.len() == of.len());
        let mut areas = vec![Vec3::zeros(); whole.len()];
        for (x, &id) in pieces.iter().zip(&of) {
            let (_, length, height) = longest_edge(x).unwrap();
            assert!(
                length <= MAX_PIECE_LENGTH * 8.0_f64.sqrt() || length <= MIN_NEEDLE_RATIO * height
            );
            areas[id as usize] += area(x);
        }
        for (x, sum) in whole.iter().zip(areas) {
            assert!((area(x) - sum).norm() < 1e-12);
        }
    }

    /// Needles stay whole if they are few or lie among large triangles.
    #[test]
    fn cut_keeps_few_needles() {
        let few = fan(150);
        assert_eq!(cut_needles(few.clone(), (0..150).collect()).0, few);
        let mut mixed = fan(700);
        mixed.extend(fan(8).into_iter().flat_map(|x| vec![x; 20]));
        let count = mixed.len();
        assert_eq!(cut_needles(mixed, vec![0; count]).0.len(), count);
    }
}
