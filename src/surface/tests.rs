// SPDX-License-Identifier: MIT OR Apache-2.0
//! Properties of the room as a whole, on shapes made by code.
use super::shapes::*;
use super::*;
use crate::progress::Silent;
use approx::assert_relative_eq;
use nalgebra::Rotation3;

fn surface(shape: &Shape) -> Surface {
    Surface::new(shape.vertices.clone(), shape.triangles.clone()).unwrap()
}

fn moved(shape: Shape, by: Vec3) -> Shape {
    shape.mapped(|v| v + by)
}

/// Turns a share of the triangles round.
fn shuffled_directions(mut shape: Shape, share: f64) -> Shape {
    let mut random = Random(11);
    for t in &mut shape.triangles {
        if random.next() < share {
            t.swap(1, 2);
        }
    }
    shape
}

/// Gives every triangle its own vertices.
fn unwelded(shape: &Shape) -> Shape {
    let corners = shape.triangles.iter().flatten();
    Shape {
        vertices: corners.map(|&v| shape.vertices[v as usize]).collect(),
        triangles: (0..shape.triangles.len() as u32)
            .map(|t| [3 * t, 3 * t + 1, 3 * t + 2])
            .collect(),
    }
}

/// A body with limbs of different size and no symmetry.
fn lumpy(n: u32) -> Shape {
    sphere(1.0, n).mapped(|v| {
        let bump = 1.0 + 0.3 * (3.0 * v.x).sin() * (2.0 * v.y + 0.5).cos() + 0.2 * v.z;
        Vec3::new(1.5 * v.x, v.y, 0.7 * v.z) * bump
    })
}

#[test]
fn clean_bodies_are_kept_and_have_their_exact_volume() {
    for shape in [
        sphere(1.0, 20),
        cuboid(Vec3::new(1.0, 2.0, 0.5)),
        torus(1.0, 0.3, 40),
        lumpy(24),
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

#[test]
fn queries_do_not_depend_on_place_turn_scale_or_order() {
    let shape = lumpy(16);
    let plain = surface(&shape);
    let points = random_points(300, 2.0, 5);
    let turn = Rotation3::from_euler_angles(0.3, -1.1, 2.0);
    for (scale, offset) in [(1e-4, 0.0), (1e4, 0.0), (1.0, 1e6), (173.0, -31.0)] {
        let to = |p: Vec3| turn * p * scale + Vec3::new(1.0, -1.0, 0.5) * offset;
        let mut other = shape.clone().mapped(to);
        let mut random = Random(3);
        let order = random.order(other.triangles.len());
        other.triangles = order.iter().map(|&t| other.triangles[t]).collect();
        let order = random.order(other.vertices.len());
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
fn two_builds_are_bit_identical() {
    let shape = shuffled_directions(unwelded(&lumpy(16)), 0.4).with(&plane(3));
    let (a, b) = (surface(&shape), surface(&shape));
    assert_eq!(a.welded().triangles, b.welded().triangles);
    assert_eq!(a.triangle_roles(), b.triangle_roles());
    assert_eq!(a.volume().to_bits(), b.volume().to_bits());
    let points = random_points(200, 2.0, 9);
    assert_eq!(a.winding_numbers(&points), b.winding_numbers(&points));
    let one_by_one: Vec<f64> = points.iter().map(|p| b.winding_number(*p)).collect();
    assert_eq!(a.winding_numbers(&points), one_by_one);
}

#[test]
fn vertices_within_the_tolerance_are_welded_and_others_are_not() {
    let shape = unwelded(&sphere(1.0, 12));
    let size = surface(&shape).size();
    for (jitter, joined) in [(0.0, true), (0.3e-6, true), (1e-5, false)] {
        let mut random = Random(2);
        let noise = Vec3::repeat(jitter * size);
        let jittered = shape.clone().mapped(|v| v + noise * (random.next() - 0.5));
        let report = surface(&jittered).report();
        assert_eq!(report.closed, joined, "{jitter}: {report}");
    }
    let s = surface(&shape);
    assert_eq!(s.welded().of_vertex.len(), shape.vertices.len());
    for (v, &w) in shape.vertices.iter().zip(&s.welded().of_vertex) {
        assert!((s.welded().vertices[w as usize] - v).norm() < 1e-9);
    }
}

#[test]
fn a_fine_mesh_does_not_collapse_by_chains() {
    // A strip sampled at 0.8 of the tolerance: each vertex may join one neighbour, not all.
    let mut shape = plane(1);
    let step = 0.8e-6 * 8f64.sqrt();
    for i in 0..1000 {
        let n = shape.vertices.len() as u32;
        shape
            .vertices
            .push(Vec3::new(i as f64 * step - 0.5, 0.0, 0.0));
        shape.triangles.push([0, 1, n]);
    }
    assert!(surface(&shape).welded().vertices.len() >= 400);
}

#[test]
fn useless_triangles_and_vertices_are_dropped_and_counted() {
    let mut shape = cuboid(Vec3::repeat(1.0));
    let n = shape.vertices.len() as u32;
    shape.triangles.push([0, 0, 5]); // repeated corner
    shape.triangles.push(shape.triangles[3]); // duplicate
    let [a, b, c] = shape.triangles[4];
    shape.triangles.push([b, a, c]); // reversed duplicate
    shape.vertices.push(Vec3::new(50.0, 0.0, 0.0)); // nothing uses it
    shape.vertices.push(shape.vertices[2]); // only a repeated corner uses it
    shape.triangles.push([n + 1, n + 1, 0]);
    let s = surface(&shape);
    let report = s.report();
    assert_eq!(report.degenerate_triangles, 2);
    assert_eq!(report.duplicate_triangles, 2);
    assert_eq!(report.unused_vertices, 1);
    assert!(report.closed && report.manifold && report.oriented);
    assert_eq!(s.welded().of_vertex[n as usize], u32::MAX);
    assert_eq!(
        s.welded().of_vertex[n as usize + 1],
        s.welded().of_vertex[2]
    );
    assert_relative_eq!(s.volume(), 8.0, max_relative = 1e-12);
    assert_relative_eq!(s.size(), 12f64.sqrt(), max_relative = 1e-12);
    assert_eq!(s.welded().source, (0..12).collect::<Vec<u32>>());
}

#[test]
fn a_flat_triangle_along_an_edge_does_not_open_the_body() {
    // The first edge of the cube gets a middle vertex on one side only, bridged by a triangle without area.
    let mut shape = cuboid(Vec3::repeat(1.0));
    let [a, b, c] = shape.triangles[0];
    let m = shape.vertices.len() as u32;
    shape
        .vertices
        .push((shape.vertices[a as usize] + shape.vertices[b as usize]) * 0.5);
    shape.triangles[0] = [a, m, c];
    shape.triangles.push([m, b, c]);
    shape.triangles.push([a, b, m]);
    let s = surface(&shape);
    let report = s.report();
    assert!(report.closed && report.manifold, "{report}");
    assert_eq!(report.degenerate_triangles, 1);
    assert_relative_eq!(s.volume(), 8.0, max_relative = 1e-9);
}

#[test]
fn bodies_are_turned_outward_however_they_come() {
    for (shape, flipped) in [
        (torus(1.0, 0.4, 30).reversed(), 900),
        (shuffled_directions(torus(1.0, 0.4, 30), 0.5), 0),
        (shuffled_directions(torus(1.0, 0.4, 30).reversed(), 0.1), 0),
    ] {
        let s = surface(&shape);
        assert_relative_eq!(
            s.volume(),
            torus(1.0, 0.4, 30).signed_volume(),
            max_relative = 1e-9
        );
        assert!(s.winding_number(Vec3::x()) > 0.9);
        let report = s.report();
        assert_eq!(report.oriented, flipped != 0);
        assert!(
            report.flipped_triangles > 0 && (flipped == 0 || report.flipped_triangles == flipped)
        );
    }
}

#[test]
fn inward_shells_are_cavities_and_outward_ones_are_ignored() {
    let (outer, inner) = (sphere(1.0, 24), sphere(0.5, 16));
    let (big, small) = (outer.signed_volume(), inner.signed_volume());
    let cavity = outer.clone().with(&inner.clone().reversed());
    let nested = outer.clone().with(&inner);
    let core = cavity.clone().with(&sphere(0.2, 12));
    let core_volume = sphere(0.2, 12).signed_volume();
    for (shape, volume, at_centre, interior) in [
        (cavity.clone(), big - small, false, 0),
        (cavity.reversed(), big - small, false, 0),
        (nested.clone(), big, true, inner.triangles.len()),
        (nested.clone().reversed(), big, true, inner.triangles.len()),
        (core, big - small + core_volume, true, 0),
        (
            moved(outer.reversed(), Vec3::x() * 3.0).with(&inner),
            big + small,
            true,
            0,
        ),
    ] {
        let s = surface(&shape);
        assert_relative_eq!(s.volume(), volume, max_relative = 5e-3);
        assert_eq!(s.contains(Vec3::zeros()), at_centre);
        assert_eq!(s.report().interior_triangles, interior);
        assert_eq!(s.report().thin_triangles, 0);
    }
    // The distance does not see a shell inside the body.
    assert!(surface(&nested).signed_distance(Vec3::new(0.5, 0.0, 0.0)) < -0.45);
}

#[test]
fn interpenetrating_pieces_count_once() {
    let half = Vec3::repeat(0.5);
    let shape = cuboid(half).with(&moved(cuboid(half), Vec3::new(0.5, 0.1, 0.2)));
    let s = surface(&shape);
    assert_relative_eq!(s.volume(), 2.0 - 0.5 * 0.9 * 0.8, max_relative = 0.01);
    // Far apart they simply add up.
    let apart = cuboid(half).with(&moved(cuboid(half), Vec3::repeat(3.0)));
    assert_relative_eq!(surface(&apart).volume(), 2.0, max_relative = 1e-9);
}

#[test]
fn holes_leave_a_body_a_body() {
    for (from, to) in [(0, 30), (400, 520)] {
        let mut shape = sphere(1.0, 24);
        let whole = shape.signed_volume();
        shape.triangles.drain(from..to);
        let s = surface(&shape);
        let report = s.report();
        assert!(!report.closed && report.boundary_edges > 0);
        assert_eq!((report.thin_triangles, report.interior_triangles), (0, 0));
        assert_relative_eq!(s.volume(), whole, max_relative = 0.03);
        for p in random_points(500, 1.5, 4) {
            if (p.norm() - 1.0).abs() > 0.15 {
                assert_eq!(s.contains(p), p.norm() < 1.0, "{p}");
            }
        }
    }
}

#[test]
fn sheets_get_a_layer() {
    let single = Shape {
        vertices: vec![Vec3::zeros(), Vec3::x(), Vec3::y()],
        triangles: vec![[0, 1, 2]],
    };
    let mut holed = plane(8);
    holed.triangles.drain(40..52);
    let flattened = lumpy(16).mapped(|v| Vec3::new(v.x, v.y, 1e-6 * v.z));
    for shape in [single, plane(2), holed, moebius(60), flattened] {
        let s = surface(&shape);
        assert_eq!(s.report().thin_triangles, s.welded().triangles.len());
        let area: f64 = s
            .welded()
            .triangles
            .iter()
            .map(|t| {
                let [a, b, c] = t.map(|v| s.welded().vertices[v as usize]);
                let (centre, normal) = ((a + b + c) / 3.0, (b - a).cross(&(c - a)));
                assert!(s.contains(centre));
                assert!(s.contains(centre + normal.normalize() * (0.9 * s.layer())));
                assert_relative_eq!(s.signed_distance(centre), -s.layer(), max_relative = 1e-6);
                normal.norm() / 2.0
            })
            .sum();
        // Twice the half thickness, and rims; both sides of the flattened body share one layer.
        let sheet = 2.0 * s.layer() * area;
        assert!(
            s.volume() > 0.45 * sheet && s.volume() < 1.3 * sheet,
            "{} {sheet}",
            s.volume()
        );
        assert!(!s.contains(Vec3::repeat(5.0)));
    }
}

#[test]
fn layers_of_hair_do_not_dig_into_the_head() {
    // Five caps above a sphere, all turned outward, and one card through its middle.
    let mut shape = sphere(1.0, 24);
    let body = shape.triangles.len();
    for k in 0..5 {
        let lift = 1.02 + 0.01 * k as f64;
        let cap = plane(6).mapped(|v| {
            let (x, y) = (0.25 * v.x, 0.25 * v.y);
            Vec3::new(x, y, lift - 0.5 * (x * x + y * y))
        });
        shape = shape.with(&cap);
    }
    shape = shape.with(&plane(4).mapped(|v| v * 0.3));
    let s = surface(&shape);
    for (t, role) in s.triangle_roles().iter().enumerate() {
        let expected = match t {
            t if t < body => TriangleRole::Skin,
            t if t < body + 5 * 72 => TriangleRole::Thin,
            _ => TriangleRole::Interior,
        };
        assert_eq!(*role, expected, "triangle {t}");
    }
    for p in random_points(2000, 1.0, 8) {
        assert!(s.contains(p) == (p.norm() < 1.0) || p.norm() > 0.98, "{p}");
    }
}

#[test]
fn walls_with_gaps_between_them_are_a_body() {
    let walls = cuboid(Vec3::repeat(1.0));
    let mut gaps = Shape {
        vertices: vec![],
        triangles: vec![],
    };
    for quad in walls.triangles.chunks(2) {
        let wall = Shape {
            vertices: walls.vertices.clone(),
            triangles: quad.to_vec(),
        };
        let used: Vec3 = quad
            .iter()
            .flatten()
            .map(|&v| walls.vertices[v as usize])
            .sum::<Vec3>()
            / 6.0;
        gaps = gaps.with(&wall.mapped(|v| v + used * 1e-3));
    }
    for shape in [gaps.clone(), gaps.reversed()] {
        let s = surface(&shape);
        assert_eq!(s.report().components, 6);
        assert!(
            s.contains(Vec3::zeros())
                && s.contains(Vec3::repeat(0.9))
                && !s.contains(Vec3::x() * 1.1)
        );
        assert_eq!(s.report().skin_triangles, 12);
    }
}

#[test]
fn what_cannot_be_computed_with_is_refused_by_index() {
    let cube = cuboid(Vec3::repeat(1.0));
    let mut broken = cube.clone();
    broken.vertices[5].y = f64::NAN;
    broken.vertices[7].x = f64::INFINITY;
    let refused =
        |shape: &Shape| Surface::new(shape.vertices.clone(), shape.triangles.clone()).unwrap_err();
    assert_eq!(
        refused(&broken),
        SurfaceError::NonFinite {
            vertex: 5,
            count: 2
        }
    );
    // An unused vertex counts too.
    let mut loose = cube.clone();
    loose.vertices.push(Vec3::repeat(f64::NAN));
    assert_eq!(
        refused(&loose),
        SurfaceError::NonFinite {
            vertex: 8,
            count: 1
        }
    );
    let mut wild = cube.clone();
    wild.triangles[4][1] = 8;
    let expected = SurfaceError::IndexOutOfRange {
        triangle: 4,
        index: 8,
        vertices: 8,
    };
    assert_eq!(refused(&wild), expected);
    assert!(
        refused(&wild)
            .to_string()
            .contains("triangle 4 refers to vertex 8")
    );
    assert_eq!(
        Surface::new(vec![], vec![]).unwrap_err(),
        SurfaceError::NoVertices
    );
    let points = Surface::new(cube.vertices.clone(), vec![]).unwrap_err();
    assert_eq!(points, SurfaceError::NoTriangles { vertices: 8 });
    for flat in [
        cube.clone().mapped(|_| Vec3::x()),
        cube.clone().mapped(|v| v.x * Vec3::new(1.0, 2.0, 3.0)),
        cube.mapped(|v| v * 1e300),
    ] {
        assert_eq!(refused(&flat), SurfaceError::Empty);
    }
}

#[test]
fn no_query_gives_not_a_number() {
    let s = surface(&lumpy(8).with(&moved(plane(2), Vec3::x() * 3.0)));
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
        assert!(s.ray(p, Vec3::x()).is_none_or(|hit| hit.distance >= 0.0));
        assert!(s.ray(Vec3::zeros(), p).is_none() || p.iter().all(|x| x.is_finite()));
        assert!(!grid.at(p).is_nan());
        assert!(grid.gradient(p).iter().all(|x| !x.is_nan()));
    }
    assert!(s.ray(Vec3::zeros(), Vec3::zeros()).is_none());
}

#[test]
fn rays_and_boxes_speak_given_coordinates() {
    let offset = Vec3::new(1e5, -2e5, 3e5);
    let s = surface(&moved(sphere(100.0, 40), offset));
    let hit = s.ray(offset + Vec3::x() * 500.0, -Vec3::x() * 7.0).unwrap();
    assert!((hit.distance - 400.0).abs() < 0.5 && hit.front);
    assert!((hit.point - offset - Vec3::x() * 100.0).norm() < 0.5);
    assert!(!s.ray(offset, Vec3::y()).unwrap().front);
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
