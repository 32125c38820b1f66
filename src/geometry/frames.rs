// SPDX-License-Identifier: MIT OR Apache-2.0
//! Frames of minimal rotation along a row of hubs, and the one rule for the side on which the angle φ around the row begins.

use super::polyline::arc_lengths;
use crate::{Mat3, Vec3};

/// Least vertical component of a direction that counts as upright. Such a direction is within 26° of the vertical, and less than 0.44 of z lies
/// across it.
const MIN_UPRIGHT_COMPONENT: f64 = 0.9;
/// Least total bend that defines the direction in which a chain bends, radians. Halving or doubling it leaves tubes along limbs of five known
/// characters the same.
const MIN_BEND: f64 = 0.1;

/// Returns the smallest rotation that takes one unit vector to another. `None`: they are opposite.
pub(crate) fn shortest_rotation(from: &Vec3, to: &Vec3) -> Option<Mat3> {
    let (axis, cos) = (from.cross(to), from.dot(to));
    let cross = axis.cross_matrix();
    (1.0 + cos > 1e-12).then(|| Mat3::identity() + cross + cross * cross / (1.0 + cos))
}

/// Returns the total bend of a row of unit directions, radians: the sum of all bends, transported back to the first direction and projected across
/// it. `None`: it is below 0.1, or a direction is opposite to the next.
pub(crate) fn total_bend(directions: &[Vec3]) -> Option<Vec3> {
    let first = directions.first()?;
    let (mut bend, mut back) = (Vec3::zeros(), Mat3::identity());
    for pair in directions.windows(2) {
        // Tangent at the first direction towards the second, as long as the angle.
        let (cos, sin) = (pair[0].dot(&pair[1]), pair[0].cross(&pair[1]).norm());
        let way = (pair[1] - pair[0] * cos).try_normalize(0.0);
        bend += back * way.unwrap_or_default() * sin.atan2(cos);
        back *= shortest_rotation(&pair[0], &pair[1])?.transpose();
    }
    let bend = bend - first * first.dot(&bend);
    (bend.norm() >= MIN_BEND).then_some(bend)
}

/// Returns the side on which φ begins: the unit vector n across the first direction, to which the first spoke of every tube points.
///
/// The rule is the same for all tubes, along bones or not. It depends on the directions of the row alone, not on the number of hubs, their
/// spacing or the spokes.
///
/// * A row that bends by 0.1 radians or more begins on the side of its [`total_bend`], which turns with the body.
/// * A straight row has no side of its own. It begins above (z), or in front (−y) where it stands within 26° of the vertical.
pub(crate) fn reference_side(directions: &[Vec3]) -> Vec3 {
    let first = directions.first().copied().unwrap_or(Vec3::x());
    let across = |v: Vec3| v - first * first.dot(&v);
    let towards = match total_bend(directions) {
        Some(bend) => bend,
        None if first.z.abs() < MIN_UPRIGHT_COMPONENT => across(Vec3::z()),
        None => across(-Vec3::y()),
    };
    towards.normalize()
}

/// Returns unit directions along a line at its points: Gaussian means of the segments' directions, with a standard deviation of `width` along the
/// line. Without smoothing, neighbouring spokes cross at corners.
fn smoothed_directions(hubs: &[Vec3], width: f64) -> Vec<Vec3> {
    let along = arc_lengths(hubs);
    // Gaussian weight, around the arc length `x`, of a segment between two arc lengths.
    let weight = |x: f64, from: f64, to: f64| {
        let below = |s: f64| 0.5 * libm::erfc((x - s) / width / std::f64::consts::SQRT_2);
        below(to) - below(from)
    };
    (0..hubs.len())
        .map(|i| {
            // Beyond both ends the line continues straight.
            let part = |k: usize| {
                let from = if k == 0 { f64::NEG_INFINITY } else { along[k] };
                let to = if k + 2 == hubs.len() {
                    f64::INFINITY
                } else {
                    along[k + 1]
                };
                (hubs[k + 1] - hubs[k]).normalize() * weight(along[i], from, to)
            };
            let sum: Vec3 = (0..hubs.len() - 1).map(part).sum();
            let segment = i.min(hubs.len() - 2);
            let own = (hubs[segment + 1] - hubs[segment]).normalize();
            // The directions of a line that turns straight back cancel.
            sum.try_normalize(1e-6).unwrap_or(own)
        })
        .collect()
}

/// Returns frames along a row of hubs, with directions smoothed over a `width`, metres.
pub(crate) fn hub_frames(hubs: &[Vec3], width: f64) -> Vec<Mat3> {
    transport_frames(&smoothed_directions(hubs, width))
}

/// Returns frames with columns b (given unit vectors), b⊥ and n, each the smallest rotation of the one before.
/// The first n points to the [`reference_side`].
pub(crate) fn transport_frames(directions: &[Vec3]) -> Vec<Mat3> {
    let mut n = reference_side(directions);
    let mut frames = Vec::with_capacity(directions.len());
    for (i, b) in directions.iter().enumerate() {
        if i > 0 {
            let last = directions[i - 1];
            let whole = 1.0 + last.dot(b);
            // A direction opposite to the last one has no smallest rotation: n stays.
            if whole > 1e-9 {
                n -= (last + b) * (n.dot(b) / whole);
            }
        }
        // Removes rounding that adds up over many rotations.
        n = (n - b * n.dot(b)).normalize();
        frames.push(Mat3::from_columns(&[*b, n.cross(b), n]));
    }
    frames
}

#[cfg(test)]
mod tests {
    use super::*;
    use nalgebra::Rotation3;

    /// Frames are rotations that point along the row and towards its bend.
    #[test]
    fn frames_follow_bend() {
        let directions: Vec<Vec3> = (0..9)
            .map(|i| {
                let (sin, cos) = (0.15 * f64::from(i)).sin_cos();
                Vec3::new(cos, -sin, 0.0)
            })
            .collect();
        for (frame, b) in transport_frames(&directions).iter().zip(&directions) {
            let off = (frame.transpose() * frame - Mat3::identity()).amax();
            assert!(off < 1e-14 && (frame.determinant() - 1.0).abs() < 1e-14);
            assert!((frame.column(0) - b).norm() < 1e-15);
            // In a plane nothing turns about the row: n is b turned by a right angle.
            let inner = Vec3::new(b.y, -b.x, 0.0);
            assert!((frame.column(2) - inner).norm() < 1e-12, "{frame}");
        }
    }

    /// Frames of straight rows face up, and those of upright rows face the front.
    #[test]
    fn straight_rows_face_up() {
        let n = |b: Vec3| transport_frames(&[b, b])[0].column(2).into_owned();
        assert!((n(Vec3::x()) - Vec3::z()).norm() < 1e-15);
        assert!((n(-Vec3::z()) + Vec3::y()).norm() < 1e-15);
        // Bent to half a turn there is a side as well.
        let half: Vec<Vec3> = (0..=8)
            .map(|i| (std::f64::consts::PI * f64::from(i) / 8.0).sin_cos())
            .map(|(sin, cos)| Vec3::new(cos, sin, 0.0))
            .collect();
        assert!((reference_side(&half) - Vec3::y()).norm() < 1e-12);
    }

    /// The frames of a turned row are the turned frames.
    #[test]
    fn frames_turn_with_row() {
        let turn = Rotation3::new(Vec3::new(1.0, -0.4, 2.0));
        let row: Vec<Vec3> = (0..7)
            .map(|i| Vec3::new(1.0, 0.2 * f64::from(i), 0.03 * f64::from(i * i)).normalize())
            .collect();
        let turned: Vec<Vec3> = row.iter().map(|b| turn * b).collect();
        let pairs = transport_frames(&row)
            .into_iter()
            .zip(transport_frames(&turned));
        for (a, b) in pairs {
            assert!((turn.matrix() * a - b).amax() < 1e-12);
        }
    }
}
