// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rays and closest points for shapes that are queried only a few times. Every triangle is tested, in parallel, which
//! is quicker than building a hierarchy. Triangles are neither welded nor oriented. A triangle with a corner that is not
//! finite is never hit.

use super::{ClosestPoint, RayHit};
use crate::Vec3;
use parry3d_f64::query::PointQueryWithLocation;
use parry3d_f64::shape::Triangle;
use rayon::prelude::*;

/// Number of triangles that one thread tests at a time.
const CHUNK_SIZE: usize = 4096;

/// Returns the first triangle, front or back, that a ray hits farther than `min_distance` away; `direction` has any
/// length.
///
/// A ray through an edge or a corner does not slip between triangles that share it. Corners are projected along the ray
/// and the signs of areas compared, which are exactly opposite on both sides of an edge [woop2013, §3].
///
/// ```
/// use thew::{Vec3, surface::cast_ray};
///
/// let corners = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]].map(Vec3::from);
/// let hit = cast_ray(&corners, &[[0, 1, 2]], Vec3::new(0.25, 0.5, 3.0), -Vec3::z(), 0.0).unwrap();
/// assert_eq!((hit.distance, hit.barycentric, hit.front), (3.0, [0.25, 0.25, 0.5], true));
/// ```
pub fn cast_ray(
    vertices: &[Vec3],
    triangles: &[[u32; 3]],
    origin: Vec3,
    direction: Vec3,
    min_distance: f64,
) -> Option<RayHit> {
    let along = direction.try_normalize(0.0)?;
    let (right, up) = perpendicular_axes(&along);
    let nearest = nearest_triangle(triangles, |t| {
        let corners = t.map(|v| vertices[v as usize] - origin);
        let flat = corners.map(|c| (c.dot(&right), c.dot(&up)));
        let area = |i: usize, j: usize| flat[i].0 * flat[j].1 - flat[i].1 * flat[j].0;
        let areas = [area(1, 2), area(2, 0), area(0, 1)];
        let whole: f64 = areas.iter().sum();
        let met = areas.iter().all(|&a| a >= 0.0) || areas.iter().all(|&a| a <= 0.0);
        if !met || whole == 0.0 {
            return None;
        }
        let barycentric = areas.map(|a| a / whole);
        let distance: f64 = (0..3)
            .map(|i| barycentric[i] * corners[i].dot(&along))
            .sum();
        (distance > min_distance).then_some((distance, barycentric))
    });
    let (distance, triangle, barycentric) = nearest?;
    let [a, b, c] = triangles[triangle as usize].map(|v| vertices[v as usize]);
    Some(RayHit {
        point: a * barycentric[0] + b * barycentric[1] + c * barycentric[2],
        distance,
        triangle,
        barycentric,
        front: (b - a).cross(&(c - a)).dot(&along) < 0.0,
    })
}

/// Returns the nearest point of a shape; `None` without triangles, or if `point` is not finite.
///
/// ```
/// use thew::{Vec3, surface::closest_point};
///
/// let corners = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]].map(Vec3::from);
/// let closest = closest_point(&corners, &[[0, 1, 2]], Vec3::new(0.5, -2.0, 0.0)).unwrap();
/// assert_eq!((closest.point, closest.distance), (Vec3::new(0.5, 0.0, 0.0), 2.0));
/// ```
pub fn closest_point(
    vertices: &[Vec3],
    triangles: &[[u32; 3]],
    point: Vec3,
) -> Option<ClosestPoint> {
    let nearest = nearest_triangle(triangles, |t| {
        // Relative to the point, so that rounding is relative to the distance.
        let [a, b, c] = t.map(|v| {
            let corner = vertices[v as usize] - point;
            [corner.x, corner.y, corner.z].into()
        });
        let (found, place) =
            Triangle::new(a, b, c).project_local_point_and_get_location([0.0; 3].into(), false);
        Some((found.point.length(), place.barycentric_coordinates()?))
    });
    let (distance, triangle, barycentric) = nearest?;
    let corners = triangles[triangle as usize].map(|v| vertices[v as usize]);
    Some(ClosestPoint {
        point: (0..3).map(|i| corners[i] * barycentric[i]).sum(),
        distance,
        triangle,
        barycentric,
    })
}

/// Returns the triangle with the least distance, the first of equal ones; distances that are not finite are left out.
fn nearest_triangle(
    triangles: &[[u32; 3]],
    test: impl Fn(&[u32; 3]) -> Option<(f64, [f64; 3])> + Sync,
) -> Option<(f64, u32, [f64; 3])> {
    let nearer = |a: (f64, u32, [f64; 3]), b: (f64, u32, [f64; 3])| {
        if (b.0, b.1) < (a.0, a.1) { b } else { a }
    };
    let chunks = triangles.par_chunks(CHUNK_SIZE).enumerate();
    let of_chunk = |(i, chunk): (usize, &[[u32; 3]])| {
        let ids = (i * CHUNK_SIZE) as u32..;
        let found = ids.zip(chunk).filter_map(|(id, t)| {
            let (distance, barycentric) = test(t)?;
            distance.is_finite().then_some((distance, id, barycentric))
        });
        found.reduce(nearer)
    };
    chunks.filter_map(of_chunk).reduce_with(nearer)
}

/// Returns two unit vectors that form a right-handed orthonormal frame before `along`.
fn perpendicular_axes(along: &Vec3) -> (Vec3, Vec3) {
    let axis = along.iamin();
    let right = Vec3::ith(axis, 1.0).cross(along).normalize();
    (right, along.cross(&right))
}

#[cfg(test)]
mod tests {
    use super::super::Surface;
    use super::super::shapes::{cuboid, random_points, sphere};
    use super::*;

    /// A scan of all triangles finds the same closest points and ray hits as the hierarchy.
    #[test]
    fn scan_matches_hierarchy() {
        let shape = sphere(1.0, 40);
        let surface = Surface::new(shape.vertices.clone(), shape.triangles.clone()).unwrap();
        let (points, directions) = (random_points(200, 2.0, 1), random_points(200, 1.0, 2));
        let mut met = 0;
        for (&p, &d) in points.iter().zip(&directions) {
            let ours = closest_point(&shape.vertices, &shape.triangles, p).unwrap();
            let theirs = surface.closest_point(p);
            assert!((ours.distance - theirs.distance).abs() < 1e-12);
            assert!(((ours.point - p).norm() - ours.distance).abs() < 1e-12);
            let ours = cast_ray(&shape.vertices, &shape.triangles, p, d, 0.0);
            let theirs = surface.intersect_ray(p, d);
            assert_eq!(ours.is_some(), theirs.is_some());
            if let (Some(ours), Some(theirs)) = (ours, theirs) {
                assert!((ours.distance - theirs.distance).abs() < 1e-10);
                assert!((ours.point - p - d.normalize() * ours.distance).norm() < 1e-12);
                assert_eq!(ours.front, theirs.front);
                met += 1;
            }
        }
        assert!((20..180).contains(&met));
    }

    /// Rays through edges and corners do not slip between triangles.
    #[test]
    fn rays_hit_edges_and_corners() {
        let shape = sphere(1.0, 12);
        for t in &shape.triangles {
            let [a, b, c] = t.map(|v| shape.vertices[v as usize]);
            for target in [a, b, c, (a + b) / 2.0, (b + c) * 0.5, a * 0.3 + c * 0.7] {
                for origin in [Vec3::zeros(), Vec3::new(0.3, -0.5, 0.2)] {
                    let hit = cast_ray(
                        &shape.vertices,
                        &shape.triangles,
                        origin,
                        target - origin,
                        0.0,
                    );
                    assert!(hit.is_some_and(|hit| hit.distance < (target - origin).norm() + 1e-12));
                }
            }
        }
    }

    /// Rays from far away hit a tiny box on its front and then on its back.
    #[test]
    fn rays_hit_tiny_distant_box() {
        let shape = cuboid(Vec3::repeat(1e-8));
        for d in random_points(100, 1.0, 3) {
            let d = d.normalize();
            let hit = cast_ray(&shape.vertices, &shape.triangles, -d, d, 0.0).unwrap();
            assert!((hit.distance - 1.0).abs() < 2e-8);
            let beyond = cast_ray(&shape.vertices, &shape.triangles, -d, d, hit.distance).unwrap();
            assert!(beyond.distance > hit.distance && !beyond.front && hit.front);
        }
    }

    /// Triangles without area act as lines and points.
    #[test]
    fn scan_degenerate_triangles() {
        let vertices =
            [[0.0; 3], [1.0, 0.0, 0.0], [2.0, 0.0, 0.0], [5.0, 5.0, 5.0]].map(Vec3::from);
        let p = Vec3::new(1.25, 1.0, 0.0);
        let closest = closest_point(&vertices, &[[0, 1, 2], [3, 3, 3]], p).unwrap();
        assert!((closest.point - Vec3::new(1.25, 0.0, 0.0)).norm() < 1e-12);
        let closest = closest_point(&vertices, &[[3, 3, 3]], Vec3::zeros()).unwrap();
        assert!((closest.distance - 75.0_f64.sqrt()).abs() < 1e-12);
        assert!(
            cast_ray(
                &vertices,
                &[[3, 3, 3]],
                Vec3::zeros(),
                Vec3::repeat(1.0),
                0.0
            )
            .is_none()
        );
    }

    /// Triangles and queries that are not finite are never hit.
    #[test]
    fn scan_ignores_nonfinite_input() {
        let mut shape = cuboid(Vec3::repeat(1.0));
        shape.vertices[0] = Vec3::repeat(f64::NAN);
        let (v, t) = (&shape.vertices, &shape.triangles);
        for d in random_points(50, 1.0, 4) {
            if let Some(hit) = cast_ray(v, t, Vec3::zeros(), d, 0.0) {
                assert!(hit.distance.is_finite() && !t[hit.triangle as usize].contains(&0));
            }
            let closest = closest_point(v, t, d).unwrap();
            assert!(closest.distance.is_finite() && !t[closest.triangle as usize].contains(&0));
        }
        assert!(closest_point(v, t, Vec3::repeat(f64::NAN)).is_none());
        assert!(cast_ray(v, t, Vec3::zeros(), Vec3::zeros(), 0.0).is_none());
        assert!(closest_point(v, &[], Vec3::zeros()).is_none());
    }
}
