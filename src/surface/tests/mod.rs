// SPDX-License-Identifier: MIT OR Apache-2.0
//! Properties of the module as a whole, on shapes made by code.
mod defects;
mod domains;

use super::shapes::*;
use super::*;
use crate::progress::Silent;
use approx::assert_relative_eq;
use nalgebra::Rotation3;

fn surface(shape: &TestMesh) -> Surface {
    Surface::new(shape.vertices.clone(), shape.triangles.clone()).unwrap()
}

fn translate(shape: TestMesh, by: Vec3) -> TestMesh {
    shape.map_vertices(|v| v + by)
}

/// Reverses the orientation of a share of the triangles, chosen at random.
fn flip_random_triangles(mut shape: TestMesh, share: f64) -> TestMesh {
    let mut random = Random(11);
    for t in &mut shape.triangles {
        if random.next() < share {
            t.swap(1, 2);
        }
    }
    shape
}

/// Gives every triangle its own vertices.
fn split_vertices(shape: &TestMesh) -> TestMesh {
    let corners = shape.triangles.iter().flatten();
    TestMesh {
        vertices: corners.map(|&v| shape.vertices[v as usize]).collect(),
        triangles: (0..shape.triangles.len() as u32)
            .map(|t| [3 * t, 3 * t + 1, 3 * t + 2])
            .collect(),
    }
}

/// A body with limbs of different size and no symmetry.
fn lumpy_body(n: u32) -> TestMesh {
    sphere(1.0, n).map_vertices(|v| {
        let bump = 1.0 + 0.3 * (3.0 * v.x).sin() * (2.0 * v.y + 0.5).cos() + 0.2 * v.z;
        Vec3::new(1.5 * v.x, v.y, 0.7 * v.z) * bump
    })
}

/// Clean bodies are kept as they are and have their exact volume.
#[test]
fn clean_bodies_are_unchanged() {
    for shape in [
        sphere(1.0, 20),
        cuboid(Vec3::new(1.0, 2.0, 0.5)),
        torus(1.0, 0.3, 40),
        lumpy_body(24),
    ] {
        let s = surface(&shape);
        let report = s.report();
        assert!(report.is_clean(), "{report}");
        assert!(report.to_string().contains("closed and clean"));
        assert_eq!(s.welded().vertices, shape.vertices);
        assert_eq!(s.welded().triangles, shape.triangles);
        assert_relative_eq!(s.volume(), shape.signed_volume(), max_relative = 1e-9);
    }
    assert_relative_eq!(
        surface(&cuboid(Vec3::new(1.0, 2.0, 0.5))).volume(),
        8.0,
        max_relative = 1e-12
    );
}

/// Queries follow a similarity of the surface and do not depend on the order of its elements.
#[test]
fn queries_are_similarity_invariant() {
    let shape = lumpy_body(16);
    let plain = surface(&shape);
    let points = random_points(300, 2.0, 5);
    let turn = Rotation3::from_euler_angles(0.3, -1.1, 2.0);
    for (scale, offset) in [(1e-4, 0.0), (1e4, 0.0), (1.0, 1e6), (173.0, -31.0)] {
        let to = |p: Vec3| turn * p * scale + Vec3::new(1.0, -1.0, 0.5) * offset;
        let mut other = shape.clone().map_vertices(to);
        let mut random = Random(3);
        let order = random.permutation(other.triangles.len());
        other.triangles = order.iter().map(|&t| other.triangles[t]).collect();
        let order = random.permutation(other.vertices.len());
        let mut place = vec![0; order.len()];
        order
            .iter()
            .enumerate()
            .for_each(|(new, &old)| place[old] = new as u32);
        other.vertices = order.iter().map(|&v| other.vertices[v]).collect();
        other
            .triangles
            .iter_mut()
            .flatten()
            .for_each(|v| *v = place[*v as usize]);
        let other = surface(&other);
        assert!(other.report().is_clean(), "{}", other.report());
        // At an offset of a million, coordinates of size one carry ten digits.
        assert_relative_eq!(
            other.volume(),
            plain.volume() * scale.powi(3),
            max_relative = 1e-7
        );
        for p in &points {
            let q = to(*p);
            let (a, b) = (plain.signed_distance(*p), other.signed_distance(q) / scale);
            assert!((a - b).abs() < 1e-7, "{a} {b}");
            assert!((plain.winding_number(*p) - other.winding_number(q)).abs() < 0.02);
            let (a, b) = (
                plain.closest_point(*p).distance,
                other.closest_point(q).distance / scale,
            );
            assert!((a - b).abs() < 1e-7, "{a} {b}");
        }
    }
}

#[test]
fn builds_are_bit_identical() {
    let shape = flip_random_triangles(split_vertices(&lumpy_body(16)), 0.4).merge(&plane(3));
    let (a, b) = (surface(&shape), surface(&shape));
    assert_eq!(a.welded().triangles, b.welded().triangles);
    assert_eq!(a.triangle_roles(), b.triangle_roles());
    assert_eq!(a.volume().to_bits(), b.volume().to_bits());
    let points = random_points(200, 2.0, 9);
    assert_eq!(a.winding_numbers(&points), b.winding_numbers(&points));
    let one_by_one: Vec<f64> = points.iter().map(|p| b.winding_number(*p)).collect();
    assert_eq!(a.winding_numbers(&points), one_by_one);
}

/// No query gives NaN, whatever the point.
#[test]
fn queries_never_give_nan() {
    let s = surface(&lumpy_body(8).merge(&translate(plane(2), Vec3::x() * 3.0)));
    let grid = DistanceGrid::new(&s, s.size() / 20.0, 0.1, &Silent).unwrap();
    for p in [
        Vec3::repeat(f64::NAN),
        Vec3::repeat(f64::INFINITY),
        Vec3::repeat(1e200),
        Vec3::x() * -1e308,
    ] {
        assert!(!s.winding_number(p).is_nan());
        assert!(!s.signed_distance(p).is_nan());
        assert!(!s.closest_point(p).distance.is_nan());
        assert!(s.closest_point(p).point.iter().all(|x| x.is_finite()));
        assert!(!s.contains(p));
        assert!(
            s.intersect_ray(p, Vec3::x())
                .is_none_or(|hit| hit.distance >= 0.0)
        );
        assert!(s.intersect_ray(Vec3::zeros(), p).is_none() || p.iter().all(|x| x.is_finite()));
        assert!(!grid.distance_at(p).is_nan());
        assert!(grid.gradient(p).iter().all(|x| !x.is_nan()));
    }
    assert!(s.intersect_ray(Vec3::zeros(), Vec3::zeros()).is_none());
}

/// Rays and boxes take and return input coordinates, not the internal ones.
#[test]
fn queries_use_given_coordinates() {
    let offset = Vec3::new(1e5, -2e5, 3e5);
    let s = surface(&translate(sphere(100.0, 40), offset));
    let hit = s
        .intersect_ray(offset + Vec3::x() * 500.0, -Vec3::x() * 7.0)
        .unwrap();
    assert!((hit.distance - 400.0).abs() < 0.5 && hit.front);
    assert!((hit.point - offset - Vec3::x() * 100.0).norm() < 0.5);
    assert!(!s.intersect_ray(offset, Vec3::y()).unwrap().front);
    let mut found = vec![7];
    s.triangles_in_box(
        offset - Vec3::repeat(1e3),
        offset + Vec3::repeat(1e3),
        &mut found,
    );
    assert_eq!(
        found[1..],
        (0..s.welded().triangles.len() as u32).collect::<Vec<_>>()
    );
    // A box that only touches a vertex still finds its triangles.
    let v = s.welded().vertices[17];
    found.clear();
    s.triangles_in_box(v, v, &mut found);
    let around = (0u32..)
        .zip(&s.welded().triangles)
        .filter(|(_, t)| t.contains(&17));
    assert!(around.map(|(t, _)| t).all(|t| found.contains(&t)));
}
