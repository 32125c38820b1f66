// SPDX-License-Identifier: MIT OR Apache-2.0
//! Closest point, first hit of a ray, and triangles whose boxes meet a box, by parry's bounding volume hierarchy.
use crate::Vec3;
use crate::geometry::aabb::to_parry;
use parry3d_f64::math::Vector;
use parry3d_f64::partitioning::{Bvh, BvhBuildStrategy, BvhLeafCost, BvhNode};
use parry3d_f64::query::details::local_ray_intersection_with_triangle;
use parry3d_f64::query::{PointQueryWithLocation, Ray};
use parry3d_f64::shape::Triangle;

/// Some triangles of a surface, in local coordinates, and a hierarchy of their boxes.
#[derive(Clone)]
pub(super) struct TriangleHierarchy {
    bvh: Bvh,
    triangles: Vec<Triangle>,
    ids: Vec<u32>,
}

/// A point of a triangle, as the result of a query.
#[derive(Debug, Clone, Copy)]
pub(super) struct TriangleHit {
    pub point: Vec3,
    /// Distance from the query point, or along the ray in units of its direction.
    pub distance: f64,
    pub triangle: u32,
    pub barycentric: [f64; 3],
}

/// A candidate of the search, ordered by squared distance.
struct TriangleCandidate {
    distance2: f64,
    point: Vector,
    barycentric: [f64; 3],
}

impl TriangleCandidate {
    fn from_triangle(triangle: &Triangle, q: Vector) -> Option<Self> {
        let (projection, place) = triangle.project_local_point_and_get_location(q, false);
        Some(Self {
            distance2: projection.point.distance_squared(q),
            point: projection.point,
            barycentric: place.barycentric_coordinates()?,
        })
    }
}

/// Returns the squared distance of a point from a triangle, and the barycentric coordinates of the nearest point;
/// `None` if the triangle or the point is not finite.
pub(crate) fn closest_of_triangle(corners: [Vec3; 3], p: &Vec3) -> Option<(f64, [f64; 3])> {
    let [a, b, c] = corners.map(|x| to_glam(&x));
    let found = TriangleCandidate::from_triangle(&Triangle::new(a, b, c), to_glam(p))?;
    Some((found.distance2, found.barycentric))
}

/// Returns the leaf of a hierarchy over triangles that is nearest to a point and closer than `within`, with the squared
/// distance and the barycentric coordinates there. The boxes of the hierarchy may be larger than the triangles.
pub(crate) fn closest_leaf(
    bvh: &Bvh,
    p: &Vec3,
    within: f64,
    corners: impl Fn(u32) -> [Vec3; 3],
) -> Option<(u32, f64, [f64; 3])> {
    let q = to_glam(p);
    let (leaf, best) = bvh.find_best(
        within * within,
        |node: &BvhNode, _: f64| squared_box_distance(node, q),
        |leaf, _| {
            let [a, b, c] = corners(leaf).map(|x| to_glam(&x));
            TriangleCandidate::from_triangle(&Triangle::new(a, b, c), q)
        },
    )?;
    Some((leaf, best.distance2, best.barycentric))
}

/// Searches like [`closest_leaf`] without a limit. Among points that are equally near up to rounding it returns the one
/// farthest back along `towards`. So symmetric shapes give the same answer wherever they lie and however they are numbered.
pub(crate) fn closest_leaf_towards(
    bvh: &Bvh,
    p: &Vec3,
    towards: &Vec3,
    corners: impl Fn(u32) -> [Vec3; 3],
) -> Option<(u32, f64, [f64; 3])> {
    /// Relative difference below which squared distances are equal.
    const TIE_TOLERANCE: f64 = 1e-9;
    let (q, towards) = (to_glam(p), to_glam(towards).normalize_or_zero());
    let near = |node: &BvhNode, _: f64| squared_box_distance(node, q) * (1.0 - TIE_TOLERANCE);
    let (leaf, best) = bvh.find_best(f64::INFINITY, near, |leaf, _| {
        let [a, b, c] = corners(leaf).map(|x| to_glam(&x));
        let found = TriangleCandidate::from_triangle(&Triangle::new(a, b, c), q)?;
        let distance = found.distance2.sqrt();
        let along = if distance > 0.0 {
            (found.point - q).dot(towards) / distance
        } else {
            0.0
        };
        Some(TieBreakCandidate {
            cost: found.distance2 * (1.0 + TIE_TOLERANCE * along),
            found,
        })
    })?;
    Some((leaf, best.found.distance2, best.found.barycentric))
}

/// A candidate whose cost breaks ties between equally near ones.
struct TieBreakCandidate {
    cost: f64,
    found: TriangleCandidate,
}

impl BvhLeafCost for TieBreakCandidate {
    fn cost(&self) -> f64 {
        self.cost
    }
}

/// Returns the leaf of a hierarchy over points that is nearest to `p`, and the squared distance; `None` if `p` is not
/// finite.
pub(crate) fn closest_point_leaf(
    bvh: &Bvh,
    p: &Vec3,
    point: impl Fn(u32) -> Vec3,
) -> Option<(u32, f64)> {
    let q = to_glam(p);
    bvh.find_best(
        f64::INFINITY,
        |node: &BvhNode, _: f64| squared_box_distance(node, q),
        |leaf, _| Some(to_glam(&point(leaf)).distance_squared(q)),
    )
}

/// Returns the squared distance of a point from a node's box.
fn squared_box_distance(node: &BvhNode, q: Vector) -> f64 {
    let outside = (node.mins() - q).max(q - node.maxs()).max(Vector::ZERO);
    outside.length_squared()
}

impl BvhLeafCost for TriangleCandidate {
    fn cost(&self) -> f64 {
        self.distance2
    }
}

impl std::fmt::Debug for TriangleHierarchy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Nearest({} triangles)", self.triangles.len())
    }
}

impl TriangleHierarchy {
    /// Builds a hierarchy over the `chosen` triangles.
    pub fn new(vertices: &[Vec3], triangles: &[[u32; 3]], chosen: Vec<u32>) -> Self {
        let triangles: Vec<Triangle> = chosen
            .iter()
            .map(|&t| {
                let [a, b, c] = triangles[t as usize].map(|v| to_glam(&vertices[v as usize]));
                Triangle::new(a, b, c)
            })
            .collect();
        let boxes = triangles.iter().map(Triangle::local_aabb).enumerate();
        Self {
            bvh: Bvh::from_iter(BvhBuildStrategy::Binned, boxes),
            triangles,
            ids: chosen,
        }
    }

    /// Returns the nearest point closer than `within`; `None` if every point is farther or `p` is not finite.
    pub fn closest(&self, p: &Vec3, within: f64) -> Option<TriangleHit> {
        let q = to_glam(p);
        let node_cost = |node: &BvhNode, _: f64| squared_box_distance(node, q);
        let (leaf, best) = self.bvh.find_best(within * within, node_cost, |leaf, _| {
            TriangleCandidate::from_triangle(&self.triangles[leaf as usize], q)
        })?;
        Some(TriangleHit {
            point: from_glam(best.point),
            distance: best.distance2.sqrt(),
            triangle: self.ids[leaf as usize],
            barycentric: best.barycentric,
        })
    }

    /// Returns the first triangle, front or back, that a ray hits.
    pub fn intersect_ray(&self, origin: &Vec3, direction: &Vec3) -> Option<TriangleHit> {
        let ray = Ray::new(to_glam(origin), to_glam(direction));
        let cost = |node: &BvhNode, best: f64| node.cast_ray(&ray, best);
        let hit = |leaf: u32| {
            let t = &self.triangles[leaf as usize];
            local_ray_intersection_with_triangle(t.a, t.b, t.c, &ray)
        };
        let (leaf, distance) = self.bvh.find_best(f64::MAX, cost, |leaf, _| {
            hit(leaf).map(|(at, _)| at.time_of_impact)
        })?;
        let (_, b) = hit(leaf)?;
        Some(TriangleHit {
            point: from_glam(ray.point_at(distance)),
            distance,
            triangle: self.ids[leaf as usize],
            barycentric: b.to_array(),
        })
    }

    /// Appends the triangles whose boxes meet a box, in ascending order.
    pub fn triangles_in_box(&self, lo: &Vec3, hi: &Vec3, found: &mut Vec<u32>) {
        let query = to_parry(lo, hi);
        let start = found.len();
        found.extend(
            self.bvh
                .intersect_aabb(&query)
                .map(|leaf| self.ids[leaf as usize]),
        );
        found[start..].sort_unstable();
    }
}

fn to_glam(v: &Vec3) -> Vector {
    Vector::new(v.x, v.y, v.z)
}

fn from_glam(v: Vector) -> Vec3 {
    Vec3::new(v.x, v.y, v.z)
}

#[cfg(test)]
mod tests {
    use super::super::shapes::*;
    use super::*;

    fn nearest(shape: &TestMesh) -> TriangleHierarchy {
        let all = (0..shape.triangles.len() as u32).collect();
        TriangleHierarchy::new(&shape.vertices, &shape.triangles, all)
    }

    /// The closest point of a box is the point clamped to it.
    #[test]
    fn closest_on_box_is_clamped_point() {
        let half = Vec3::new(1.0, 0.5, 0.25);
        let nearest = nearest(&cuboid(half));
        for p in random_points(500, 3.0, 1) {
            let clamped = p.sup(&-half).inf(&half);
            if clamped == p {
                continue;
            }
            let found = nearest.closest(&p, f64::INFINITY).unwrap();
            assert!((found.point - clamped).norm() < 1e-12);
            assert!((found.distance - (p - clamped).norm()).abs() < 1e-12);
            assert!(nearest.closest(&p, found.distance * 0.999).is_none());
        }
    }

    /// Rays from the centre of a box meet its faces.
    #[test]
    fn ray_from_box_centre() {
        let half = Vec3::new(1.0, 0.5, 0.25);
        let shape = cuboid(half);
        let nearest = nearest(&shape);
        for d in random_points(300, 1.0, 2) {
            let found = nearest.intersect_ray(&Vec3::zeros(), &d).unwrap();
            let expected = half.component_div(&d.abs()).min();
            assert!((found.distance - expected).abs() < 1e-9 * expected);
            let t = shape.triangles[found.triangle as usize];
            let mixed: Vec3 = (0..3)
                .map(|i| shape.vertices[t[i] as usize] * found.barycentric[i])
                .sum();
            assert!((mixed - found.point).norm() < 1e-12);
        }
        assert!(
            nearest
                .intersect_ray(&Vec3::new(2.0, 0.0, 0.0), &Vec3::x())
                .is_none()
        );
    }

    /// The triangles found in a box are those whose own boxes meet it.
    #[test]
    fn triangles_in_box_matches_brute_force() {
        let shape = sphere(1.0, 20);
        let nearest = nearest(&shape);
        for (i, c) in random_points(50, 1.0, 3).iter().enumerate() {
            let half = Vec3::repeat(0.01 * i as f64);
            let (lo, hi) = (c - half, c + half);
            let mut found = vec![];
            nearest.triangles_in_box(&lo, &hi, &mut found);
            let expected: Vec<u32> = (0u32..)
                .zip(&shape.triangles)
                .filter(|(_, t)| {
                    let (a, b) = crate::geometry::aabb::bounds(
                        t.iter().map(|&v| shape.vertices[v as usize]),
                    );
                    (0..3).all(|k| a[k] <= hi[k] && b[k] >= lo[k])
                })
                .map(|(i, _)| i)
                .collect();
            assert_eq!(found, expected);
        }
    }

    /// A single triangle has a closest point, and a query that is not finite finds none.
    #[test]
    fn nearest_single_triangle_and_nan() {
        let shape = TestMesh {
            vertices: vec![Vec3::zeros(), Vec3::x(), Vec3::y()],
            triangles: vec![[0, 1, 2]],
        };
        let nearest = nearest(&shape);
        let found = nearest
            .closest(&Vec3::new(0.2, 0.2, 3.0), f64::INFINITY)
            .unwrap();
        assert!((found.distance - 3.0).abs() < 1e-12);
        assert!(
            nearest
                .closest(&Vec3::repeat(f64::NAN), f64::INFINITY)
                .is_none()
        );
    }
}
