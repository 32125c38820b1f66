// SPDX-License-Identifier: MIT OR Apache-2.0
//! Empty balls through the ends of sub-segments. An edge with an empty ball is an edge of the Delaunay
//! tetrahedralisation, whichever points are added outside the ball.
//!
//! The smallest ball has the edge as its diameter. If another skeleton point beside the edge lies in it, a ball with
//! its centre moved to the other side may still be empty.

use crate::Vec3;

/// Largest displacement of a ball's centre, as a share of the edge's length.
const MAX_CENTRE_SHIFT: f64 = 0.5;
/// Share of the radius beyond which a point counts as on the sphere, not inside.
const INNER_RADIUS_SHARE: f64 = 1.0 - 1e-9;

/// A ball.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ball {
    pub centre: Vec3,
    pub radius: f64,
}

impl Ball {
    /// Returns the ball through `x` and `y` whose centre is displaced from the midpoint by `by`, across the edge.
    fn through_edge(x: Vec3, y: Vec3, by: Vec3) -> Self {
        let half = (x - y).norm() / 2.0;
        Self {
            centre: (x + y) / 2.0 + by,
            radius: if by == Vec3::zeros() {
                half
            } else {
                half.hypot(by.norm())
            },
        }
    }

    pub fn contains(&self, p: Vec3) -> bool {
        (p - self.centre).norm() < self.radius * INNER_RADIUS_SHARE
    }
}

/// Returns the ball with an edge as its diameter.
pub(crate) fn smallest_ball(points: &[Vec3], a: u32, b: u32) -> Ball {
    Ball::through_edge(points[a as usize], points[b as usize], Vec3::zeros())
}

/// Returns the smallest ball through the corners of a triangle.
///
/// If it is empty, the triangle is a face of the Delaunay tetrahedralisation.
pub(crate) fn triangle_ball(a: Vec3, b: Vec3, c: Vec3) -> Ball {
    let (p, q) = (b - a, c - a);
    let n = p.cross(&q);
    let twice = 2.0 * n.norm_squared();
    let to = (n.cross(&p) * q.norm_squared() + q.cross(&n) * p.norm_squared()) / twice;
    // A triangle without area has no such ball and is never a face of a cell: any ball of radius zero will do.
    let to = if to.iter().all(|x| x.is_finite()) {
        to
    } else {
        Vec3::zeros()
    };
    Ball {
        centre: a + to,
        radius: to.norm(),
    }
}

/// Returns the points inside the ball with an edge as its diameter, other than the edge's ends.
pub(crate) fn encroaching_points(points: &[Vec3], a: u32, b: u32) -> Vec<u32> {
    let ball = smallest_ball(points, a, b);
    (0..points.len() as u32)
        .filter(|&k| k != a && k != b && ball.contains(points[k as usize]))
        .collect()
}

/// Returns a ball through both ends of an edge that holds no other point, if one is found nearby.
pub(crate) fn empty_ball(points: &[Vec3], a: u32, b: u32) -> Option<Ball> {
    let (x, y) = (points[a as usize], points[b as usize]);
    let smallest = Ball::through_edge(x, y, Vec3::zeros());
    let length = 2.0 * smallest.radius;
    let axis = (y - x) / length;
    // Farthest distance from the midpoint that any ball tried here covers.
    let reach = (MAX_CENTRE_SHIFT + MAX_CENTRE_SHIFT.hypot(0.5)) * length;
    let near: Vec<Vec3> = (0..points.len() as u32)
        .filter(|&k| k != a && k != b)
        .map(|k| points[k as usize] - smallest.centre)
        .filter(|r| r.norm_squared() < reach * reach)
        .collect();
    let mut by = Vec3::zeros();
    // Each point keeps the centre in a half-plane across the edge: project onto one after another.
    for _ in 0..40 {
        let ball = Ball::through_edge(x, y, by);
        let Some(r) = near.iter().find(|r| ball.contains(smallest.centre + **r)) else {
            return Some(ball);
        };
        let across = r - axis * axis.dot(r);
        let room = r.norm_squared() - smallest.radius.powi(2) - 2.0 * across.dot(&by);
        by += across * ((room / 2.0 - 1e-6 * length * length) / across.norm_squared());
        if by.norm() > MAX_CENTRE_SHIFT * length || !by.iter().all(|x| x.is_finite()) {
            return None;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An edge whose smallest ball is empty gets that ball.
    #[test]
    fn smallest_ball_used_when_empty() {
        let points = [Vec3::zeros(), Vec3::x(), Vec3::new(0.5, 0.6, 0.0)];
        let ball = empty_ball(&points, 0, 1).expect("empty");
        assert_eq!((ball.centre, ball.radius), (Vec3::x() / 2.0, 0.5));
    }

    /// The corners of a triangle lie on its ball, and the ball's centre lies in the plane of the triangle.
    #[test]
    fn circumscribed_ball_of_triangle() {
        let [a, b, c] = [[1.0, 0.2, 0.0], [-0.3, 0.7, 0.4], [0.1, -0.9, 2.0]].map(Vec3::from);
        let ball = triangle_ball(a, b, c);
        for x in [a, b, c] {
            assert!(((x - ball.centre).norm() - ball.radius).abs() < 1e-12);
        }
        let normal = (b - a).cross(&(c - a));
        assert!(normal.dot(&(ball.centre - a)).abs() < 1e-12);
    }

    /// The ball of an edge shifts away from points beside the edge and still passes through both ends.
    #[test]
    fn ball_avoids_nearby_points() {
        for (k, beside) in [[0.93, 0.07, 0.0], [0.5, 0.3, 0.1], [0.04, -0.05, 0.05]]
            .into_iter()
            .enumerate()
        {
            let p = Vec3::from(beside);
            let points = [Vec3::zeros(), Vec3::x(), p];
            assert_eq!(encroaching_points(&points, 0, 1), vec![2], "point {k}");
            let ball = empty_ball(&points, 0, 1).expect("on the other side");
            for end in [points[0], points[1]] {
                assert!(((end - ball.centre).norm() - ball.radius).abs() < 1e-12);
            }
            assert!((p - ball.centre).norm() > ball.radius * INNER_RADIUS_SHARE);
        }
    }

    /// An edge with a point on it, or with points all around it, has no empty ball.
    #[test]
    fn no_empty_ball_when_blocked() {
        assert!(empty_ball(&[Vec3::zeros(), Vec3::x(), Vec3::x() * 0.4], 0, 1).is_none());
        let around = [[1.0, 0.0], [-0.5, 0.8], [-0.5, -0.8]];
        let mut points = vec![Vec3::zeros(), Vec3::x()];
        points.extend(around.map(|[y, z]| Vec3::new(0.5, 0.1 * y, 0.1 * z)));
        assert!(empty_ball(&points, 0, 1).is_none());
    }
}
