// SPDX-License-Identifier: MIT OR Apache-2.0
//! The domain Ω and its volume: cavities, overlaps, holes, sheets.
use super::*;

/// An inner shell that faces inward is a cavity, and one that faces outward is ignored.
#[test]
fn inward_shells_are_cavities() {
    let (outer, inner) = (sphere(1.0, 24), sphere(0.5, 16));
    let (big, small) = (outer.signed_volume(), inner.signed_volume());
    let cavity = outer.clone().merge(&inner.clone().flip_triangles());
    let nested = outer.clone().merge(&inner);
    let core = cavity.clone().merge(&sphere(0.2, 12));
    let core_volume = sphere(0.2, 12).signed_volume();
    for (shape, volume, at_centre, interior) in [
        (cavity.clone(), big - small, false, 0),
        (cavity.flip_triangles(), big - small, false, 0),
        (nested.clone(), big, true, inner.triangles.len()),
        (
            nested.clone().flip_triangles(),
            big,
            true,
            inner.triangles.len(),
        ),
        (core, big - small + core_volume, true, 0),
        (
            translate(outer.flip_triangles(), Vec3::x() * 3.0).merge(&inner),
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
    // A shell inside the body does not affect the distance.
    assert!(surface(&nested).signed_distance(Vec3::new(0.5, 0.0, 0.0)) < -0.45);
}

/// A filled surface has no cavities and is otherwise unchanged.
#[test]
fn fill_cavities_removes_cavities() {
    let (outer, inner) = (sphere(1.0, 24), sphere(0.5, 16));
    let hollow = outer.clone().merge(&inner.clone().flip_triangles());
    for shape in [
        hollow.clone(),
        hollow.clone().flip_triangles(),
        split_vertices(&hollow),
    ] {
        let filled = surface(&shape).fill_cavities();
        assert!(filled.contains(Vec3::zeros()) && filled.contains(Vec3::x() * 0.7));
        assert_relative_eq!(filled.volume(), outer.signed_volume(), max_relative = 5e-3);
        assert_eq!(filled.vertices(), surface(&shape).vertices());
    }
    // A surface without inner walls is unchanged, whether open or closed.
    let mut open = outer.clone();
    open.triangles.truncate(open.triangles.len() / 2);
    for shape in [outer.clone(), outer.merge(&inner), open] {
        assert_eq!(surface(&shape).fill_cavities().triangles(), shape.triangles);
    }
}

/// The common volume of pieces that overlap counts once.
#[test]
fn overlapping_pieces_count_once() {
    let half = Vec3::repeat(0.5);
    let shape = cuboid(half).merge(&translate(cuboid(half), Vec3::new(0.5, 0.1, 0.2)));
    let s = surface(&shape);
    assert_relative_eq!(s.volume(), 2.0 - 0.5 * 0.9 * 0.8, max_relative = 0.01);
    // Far apart they simply add up.
    let apart = cuboid(half).merge(&translate(cuboid(half), Vec3::repeat(3.0)));
    assert_relative_eq!(surface(&apart).volume(), 2.0, max_relative = 1e-9);
}

/// A body with holes still has its volume and interior.
#[test]
fn holes_keep_body_solid() {
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

/// Sheets get a layer of a small thickness that counts as inside.
#[test]
fn sheets_get_layer() {
    let single = TestMesh {
        vertices: vec![Vec3::zeros(), Vec3::x(), Vec3::y()],
        triangles: vec![[0, 1, 2]],
    };
    let mut holed = plane(8);
    holed.triangles.drain(40..52);
    let flattened = lumpy_body(16).map_vertices(|v| Vec3::new(v.x, v.y, 1e-6 * v.z));
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
                assert!(s.contains(centre + normal.normalize() * (0.9 * s.layer_half_thickness())));
                assert_relative_eq!(
                    s.signed_distance(centre),
                    -s.layer_half_thickness(),
                    max_relative = 1e-6
                );
                normal.norm() / 2.0
            })
            .sum();
        // Twice the half thickness, and rims; both sides of the flattened body share one layer.
        let sheet = 2.0 * s.layer_half_thickness() * area;
        assert!(
            s.volume() > 0.45 * sheet && s.volume() < 1.3 * sheet,
            "{} {sheet}",
            s.volume()
        );
        assert!(!s.contains(Vec3::repeat(5.0)));
    }
}

/// Layers of hair above a head do not hollow it out.
#[test]
fn hair_layers_keep_head_solid() {
    // Five caps above a sphere, all turned outward, and one card through its middle.
    let mut shape = sphere(1.0, 24);
    let body = shape.triangles.len();
    for k in 0..5 {
        let lift = 1.02 + 0.01 * k as f64;
        let cap = plane(6).map_vertices(|v| {
            let (x, y) = (0.25 * v.x, 0.25 * v.y);
            Vec3::new(x, y, lift - 0.5 * (x * x + y * y))
        });
        shape = shape.merge(&cap);
    }
    shape = shape.merge(&plane(4).map_vertices(|v| v * 0.3));
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

/// Walls with gaps between them form one body.
#[test]
fn separate_walls_form_body() {
    let walls = cuboid(Vec3::repeat(1.0));
    let mut gaps = TestMesh {
        vertices: vec![],
        triangles: vec![],
    };
    for quad in walls.triangles.chunks(2) {
        let wall = TestMesh {
            vertices: walls.vertices.clone(),
            triangles: quad.to_vec(),
        };
        let used: Vec3 = quad
            .iter()
            .flatten()
            .map(|&v| walls.vertices[v as usize])
            .sum::<Vec3>()
            / 6.0;
        gaps = gaps.merge(&wall.map_vertices(|v| v + used * 1e-3));
    }
    for shape in [gaps.clone(), gaps.flip_triangles()] {
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
