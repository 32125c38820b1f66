// SPDX-License-Identifier: MIT OR Apache-2.0
//! Frames of minimal rotation along a row of points.

use crate::{Mat3, Vec3};

/// Least vertical component of a direction that counts as upright. Such a direction is within 26° of the vertical, and less than 0.44 of z lies
/// across it.
const UPRIGHT: f64 = 0.9;
/// Least total bend that defines the direction in which a chain bends, radians. Half and twice of it leave tubes along limbs of five known
/// characters the same.
const LEAST_BEND: f64 = 0.1;
/// Half length over which directions are averaged, in radii: frames that turn faster make spokes cross. Half and twice of it change the legality of
/// a tube in a superquadric by 0.006 at most.
const REACH: f64 = 0.7;

/// Returns the smallest rotation that takes one unit vector to another. `None`: they are opposite.
pub(crate) fn shortest(from: &Vec3, to: &Vec3) -> Option<Mat3> {
    let (axis, cos) = (from.cross(to), from.dot(to));
    let cross = axis.cross_matrix();
    (1.0 + cos > 1e-12).then(|| Mat3::identity() + cross + cross * cross / (1.0 + cos))
}

/// Returns the total bend of a row of unit directions, radians: the sum of all bends, transported back to the first direction and projected across
/// it. `None`: it is below 0.1, or a direction is opposite to the next.
pub(crate) fn bend(directions: &[Vec3]) -> Option<Vec3> {
    let first = directions.first()?;
    let (mut bend, mut back) = (Vec3::zeros(), Mat3::identity());
    for pair in directions.windows(2) {
        // Tangent at the first direction towards the second, as long as the angle.
        let (cos, sin) = (pair[0].dot(&pair[1]), pair[0].cross(&pair[1]).norm());
        let way = (pair[1] - pair[0] * cos).try_normalize(0.0);
        bend += back * way.unwrap_or_default() * sin.atan2(cos);
        back *= shortest(&pair[0], &pair[1])?.transpose();
    }
    let bend = bend - first * first.dot(&bend);
    (bend.norm() >= LEAST_BEND).then_some(bend)
}

/// Returns the unit vector across the first direction to which every tube's first spoke points. It is the direction of the bend. For a straight row
/// it is up (z), or the front (−y) where the row is nearly upright.
pub(crate) fn side(directions: &[Vec3]) -> Vec3 {
    let first = directions.first().copied().unwrap_or(Vec3::x());
    let across = |v: Vec3| v - first * first.dot(&v);
    let towards = match bend(directions) {
        Some(bend) => bend,
        None if first.z.abs() < UPRIGHT => across(Vec3::z()),
        None => across(-Vec3::y()),
    };
    towards.normalize()
}

/// Returns frames with columns b (given unit vectors), b⊥ and n, each the smallest rotation of the one before. `None`: a direction is opposite to
/// the next. The first n points to the [`side`].
pub(crate) fn along(directions: &[Vec3]) -> Option<Vec<Mat3>> {
    let first = directions.first()?;
    let mut n = side(directions);
    let mut frames = Vec::with_capacity(directions.len());
    let mut before = *first;
    for b in directions {
        n = shortest(&before, b)? * n;
        // Removes rounding that adds up over many rotations.
        n = (n - b * b.dot(&n)).normalize();
        frames.push(Mat3::from_columns(&[*b, n.cross(b), n]));
        before = *b;
    }
    Some(frames)
}

/// Returns the mean direction of a row of hubs around each hub, over some radii; beyond its ends the row continues straight.
pub(crate) fn eased(hubs: &[Vec3], radii: &[f64]) -> Vec<Vec3> {
    let steps: Vec<f64> = hubs.windows(2).map(|w| (w[1] - w[0]).norm()).collect();
    // Point at a distance along the row from a hub, ahead or back.
    let walk = |from: usize, far: f64, ahead: bool| {
        let (mut at, mut left) = (from, far);
        loop {
            let next = if ahead { at + 1 } else { at.wrapping_sub(1) };
            let Some(there) = hubs.get(next) else {
                let inner = if ahead { at - 1 } else { at + 1 };
                return hubs[at] + (hubs[at] - hubs[inner]).normalize() * left;
            };
            let step = steps[at.min(next)];
            if left <= step {
                return hubs[at].lerp(there, left / step);
            }
            (at, left) = (next, left - step);
        }
    };
    let one = |(i, r): (usize, &f64)| {
        let chord = walk(i, REACH * r, true) - walk(i, REACH * r, false);
        let next = (i + 1).min(hubs.len() - 1);
        // A row that returns to its start has no chord.
        let step = hubs[next.max(1)] - hubs[next.max(1) - 1];
        chord.try_normalize(0.2 * r).unwrap_or(step.normalize())
    };
    radii.iter().enumerate().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use nalgebra::Rotation3;

    #[test]
    fn frames_are_rotations_that_point_where_the_row_bends() {
        let directions: Vec<Vec3> = (0..9)
            .map(|i| {
                let (sin, cos) = (0.15 * f64::from(i)).sin_cos();
                Vec3::new(cos, -sin, 0.0)
            })
            .collect();
        for (frame, b) in along(&directions).unwrap().iter().zip(&directions) {
            let off = (frame.transpose() * frame - Mat3::identity()).amax();
            assert!(off < 1e-14 && (frame.determinant() - 1.0).abs() < 1e-14);
            assert!((frame.column(0) - b).norm() < 1e-15);
            // In a plane nothing turns about the row: n is b turned by a right angle.
            let inner = Vec3::new(b.y, -b.x, 0.0);
            assert!((frame.column(2) - inner).norm() < 1e-12, "{frame}");
        }
    }

    #[test]
    fn straight_rows_look_up_and_upright_ones_to_the_front() {
        let n = |b: Vec3| along(&[b, b]).unwrap()[0].column(2).into_owned();
        assert!((n(Vec3::x()) - Vec3::z()).norm() < 1e-15);
        assert!((n(-Vec3::z()) + Vec3::y()).norm() < 1e-15);
        assert!(along(&[Vec3::x(), -Vec3::x()]).is_none());
        // Bent to half a turn there is a side as well.
        let half: Vec<Vec3> = (0..=8)
            .map(|i| (std::f64::consts::PI * f64::from(i) / 8.0).sin_cos())
            .map(|(sin, cos)| Vec3::new(cos, sin, 0.0))
            .collect();
        assert!((side(&half) - Vec3::y()).norm() < 1e-12);
    }

    #[test]
    fn a_bent_row_turns_with_its_frames() {
        let turn = Rotation3::new(Vec3::new(1.0, -0.4, 2.0));
        let row: Vec<Vec3> = (0..7)
            .map(|i| Vec3::new(1.0, 0.2 * f64::from(i), 0.03 * f64::from(i * i)).normalize())
            .collect();
        let turned: Vec<Vec3> = row.iter().map(|b| turn * b).collect();
        let pairs = along(&row)
            .unwrap()
            .into_iter()
            .zip(along(&turned).unwrap());
        for (a, b) in pairs {
            assert!((turn.matrix() * a - b).amax() < 1e-12);
        }
    }
}
