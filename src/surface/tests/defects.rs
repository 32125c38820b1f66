// SPDX-License-Identifier: MIT OR Apache-2.0
//! Defects: welding, removal of degenerate triangles, orientation, refusals.
use super::*;

/// Vertices within the tolerance are welded, and others are not.
#[test]
fn welding_respects_tolerance() {
    let shape = split_vertices(&sphere(1.0, 12));
    let size = surface(&shape).size();
    for (jitter, joined) in [(0.0, true), (0.3e-6, true), (1e-5, false)] {
        let mut random = Random(2);
        let noise = Vec3::repeat(jitter * size);
        let jittered = shape
            .clone()
            .map_vertices(|v| v + noise * (random.next() - 0.5));
        let report = surface(&jittered).report();
        assert_eq!(report.closed, joined, "{jitter}: {report}");
    }
    let s = surface(&shape);
    assert_eq!(s.welded().of_vertex.len(), shape.vertices.len());
    for (v, &w) in shape.vertices.iter().zip(&s.welded().of_vertex) {
        assert!((s.welded().vertices[w as usize] - v).norm() < 1e-9);
    }
}

/// Welding does not join a chain of close vertices into one.
#[test]
fn welding_does_not_chain() {
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

/// Degenerate and duplicate triangles and unused vertices are dropped and counted.
#[test]
fn degenerate_elements_are_dropped() {
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

/// A triangle without area along an edge does not open the body.
#[test]
fn flat_triangle_keeps_body_closed() {
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

/// Bodies are oriented outward, whatever the orientation of their triangles.
#[test]
fn bodies_are_oriented_outward() {
    for (shape, flipped) in [
        (torus(1.0, 0.4, 30).flip_triangles(), 900),
        (flip_random_triangles(torus(1.0, 0.4, 30), 0.5), 0),
        (
            flip_random_triangles(torus(1.0, 0.4, 30).flip_triangles(), 0.1),
            0,
        ),
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

/// Coordinates and indices that are not usable are refused by index.
#[test]
fn surface_refuses_bad_input() {
    let cube = cuboid(Vec3::repeat(1.0));
    let mut broken = cube.clone();
    broken.vertices[5].y = f64::NAN;
    broken.vertices[7].x = f64::INFINITY;
    let refused = |shape: &TestMesh| {
        Surface::new(shape.vertices.clone(), shape.triangles.clone()).unwrap_err()
    };
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
        cube.clone().map_vertices(|_| Vec3::x()),
        cube.clone()
            .map_vertices(|v| v.x * Vec3::new(1.0, 2.0, 3.0)),
        cube.clone().map_vertices(|v| v * 1e-300),
    ] {
        assert_eq!(refused(&flat), SurfaceError::Empty);
    }
    let far = SurfaceError::NonFinite {
        vertex: 0,
        count: 8,
    };
    assert_eq!(refused(&cube.map_vertices(|v| v * 1e13)), far);
}
