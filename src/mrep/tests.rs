// SPDX-License-Identifier: MIT OR Apache-2.0
//! Boundaries, legality and coordinates of figures with known answers.

use super::fixture::{ellipsoid, helix};
use super::*;
use crate::mrep::figures::boundary::{Boundary, mesh};
use crate::progress::{Cancelled, Silent};
use crate::surface::Surface;
use crate::surface::shapes::Random;
use crate::{Mat3, Vec3};
use std::f64::consts::TAU;

const AXES: [f64; 3] = [2.0, 1.2, 0.6];

/// Distance from a point to the ellipsoid, to first order of how far it is off.
fn ellipsoid_distance(p: &Vec3) -> f64 {
    let scaled = p.component_div(&Vec3::from(AXES));
    let slope = scaled.component_div(&Vec3::from(AXES));
    (scaled.norm_squared() - 1.0) / (2.0 * slope.norm())
}

fn surface(figure: &Figure, level: u32) -> Surface {
    let boundary = Boundary::new(figure, level).unwrap();
    Surface::new(boundary.positions(figure), boundary.triangles.clone()).unwrap()
}

/// Figures of both kinds, coarse and fine.
fn figures() -> [Figure; 4] {
    [
        ellipsoid(AXES, 5, 9, 0.8),
        ellipsoid(AXES, 3, 7, 0.8),
        helix(13, 8),
        helix(5, 3),
    ]
}

/// The boundary converges to an ellipsoid faster than with the second order of the spacing.
#[test]
fn ellipsoid_boundary_converges() {
    let size = 2.0 * Vec3::from(AXES).norm();
    let errors = |rows, cols| {
        let figure = ellipsoid(AXES, rows, cols, 0.8);
        assert!(figure.legality() > 0.03, "{}", figure.legality());
        let boundary = Boundary::new(&figure, 3).unwrap();
        let off: Vec<f64> = (boundary.positions(&figure).iter())
            .map(|p| ellipsoid_distance(p).abs() / size)
            .collect();
        let mean = off.iter().sum::<f64>() / off.len() as f64;
        (off.iter().copied().fold(0.0, f64::max), mean)
    };
    let (middle, fine) = (errors(5, 9), errors(9, 17));
    assert!(middle.0 < 4e-3 && middle.1 < 5e-4, "{middle:?}");
    assert!(
        fine.0 < middle.0 / 4.0 && fine.1 < middle.1 / 4.0,
        "{middle:?} {fine:?}"
    );
}

/// The mesh, sites and radii made without the maps to atoms equal those of the full boundary.
#[test]
fn mesh_matches_boundary() {
    for figure in figures() {
        for level in 0..4 {
            let boundary = Boundary::new(&figure, level).unwrap();
            let (vertices, triangles) = mesh(&figure, level, &Silent).unwrap();
            assert_eq!(triangles, boundary.triangles);
            assert_eq!(vertices, boundary.positions(&figure));
            assert_eq!(
                site_coordinates(&figure, level).unwrap(),
                boundary.coordinates
            );
            let radii = site_radii(&figure, level, &Silent).unwrap();
            assert_eq!(radii, boundary.radii(&figure));
        }
    }
}

/// A level that would give too many vertices is refused before any work is done.
#[test]
fn boundary_size_checked_first() {
    for figure in figures() {
        for level in [11, 40, u32::MAX] {
            let refused = |e| matches!(e, MRepError::Level { .. });
            assert!(refused(mesh(&figure, level, &Silent).unwrap_err()));
            assert!(refused(site_coordinates(&figure, level).unwrap_err()));
            assert!(refused(site_radii(&figure, level, &Silent).unwrap_err()));
            assert!(refused(Boundary::new(&figure, level).unwrap_err()));
        }
    }
    // Weights of a limb for all vertices are refused where the vertices alone are not.
    let limb = helix(13, 8);
    assert_eq!(site_coordinates(&limb, 7).unwrap().len(), 1_833_986);
    assert!(Boundary::new(&limb, 7).is_err());
}

#[test]
fn boundary_can_be_cancelled() {
    let stop = |_: f64, _: &str| false;
    for figure in figures() {
        assert_eq!(
            mesh(&figure, 2, &stop).unwrap_err(),
            MRepError::Cancelled(Cancelled)
        );
        assert_eq!(
            site_radii(&figure, 2, &stop).unwrap_err(),
            MRepError::Cancelled(Cancelled)
        );
    }
}

/// The boundary of a tube along a helix has the radius that varies along it.
#[test]
fn tube_boundary_has_varying_radius() {
    let figure = helix(13, 8);
    let boundary = Boundary::new(&figure, 3).unwrap();
    for (p, [u, ..]) in boundary
        .positions(&figure)
        .iter()
        .zip(&boundary.coordinates)
    {
        if !(0.0..=1.0).contains(u) {
            continue;
        }
        // The nearest place of the helix, by Newton's method along it.
        let curve = |s: f64| {
            let (sin, cos) = (2.0 * s).sin_cos();
            let at = Vec3::new(2.0 * cos, 2.0 * sin, 1.5 * s);
            let slope = Vec3::new(-4.0 * sin, 4.0 * cos, 1.5);
            (at, slope)
        };
        let mut s = *u;
        for _ in 0..20 {
            let (at, slope) = curve(s);
            s += (p - at).dot(&slope) / slope.norm_squared();
        }
        let radius = 0.5 + 0.2 * (s * TAU / 2.0).sin();
        let off = ((p - curve(s).0).norm() - radius).abs() / figure.size();
        assert!(off < 2e-4, "{u} {off}");
    }
}

/// Boundaries are closed and face outward at every level.
#[test]
fn boundary_is_closed_and_oriented() {
    for figure in figures() {
        for level in 0..4 {
            let surface = surface(&figure, level);
            let report = surface.report();
            assert!(
                report.closed && report.manifold,
                "{:?} {level}",
                figure.kind()
            );
            assert_eq!(report.flipped_triangles, 0, "{:?} {level}", figure.kind());
        }
    }
}

/// Every point inside a figure has coordinates, and these lead back to it.
#[test]
fn interior_coordinates_round_trip() {
    for figure in figures() {
        let mut random = Random(5);
        let surface = surface(&figure, 4);
        let (lo, hi) = crate::geometry::aabb::bounds(surface.vertices().iter().copied());
        let points: Vec<Vec3> = (0..5000)
            .map(|_| Vec3::new(random.next(), random.next(), random.next()))
            .map(|x| lo + (hi - lo).component_mul(&x))
            .collect();
        let found = figure.coordinates(&points);
        let back = figure.points(&found).unwrap();
        for ((p, c), q) in points.iter().zip(&found).zip(&back) {
            let depth = surface.signed_distance(*p);
            if c[0].is_nan() {
                assert!(depth > 0.0, "{p:?} lies {depth} inside {:?}", figure.kind());
                continue;
            }
            // The mesh is a polyhedron in the boundary.
            assert!(
                (c[3] < 1.0) == (depth < 0.0) || depth.abs() < 1e-2,
                "{p:?} {c:?} {depth}"
            );
            assert!((p - q).norm() < 1e-12, "{p:?} {c:?} {q:?}");
        }
    }
}

/// Points near the end hubs of a tube have coordinates, even if the spokes differ much in length.
#[test]
fn end_hub_coordinates_round_trip() {
    // Spokes of very different lengths: which of them is nearest says nothing about the direction.
    let mut atoms = helix(9, 8).atoms().to_vec();
    for atom in &mut atoms {
        (atom.lengths.iter_mut().enumerate()).for_each(|(q, l)| *l *= [1.0, 0.6, 0.4, 0.6][q % 4]);
    }
    let flat = Figure::tube(atoms).unwrap();
    for figure in figures().into_iter().chain([flat]) {
        let FigureKind::Tube { .. } = figure.kind() else {
            continue;
        };
        let mut random = Random(11);
        let coordinates: Vec<[f64; 4]> = (0..600)
            .map(|i| {
                let p = 0.999 * random.next();
                let depth = 10_f64.powf(-6.0 * random.next());
                let u = if i % 2 == 0 { -p } else { 1.0 + p };
                [u, 0.0, TAU * random.next(), depth]
            })
            .collect();
        let points = figure.points(&coordinates).unwrap();
        let found = figure.coordinates(&points);
        let back = figure.points(&found).unwrap();
        for ((p, q), (c, d)) in points.iter().zip(&back).zip(coordinates.iter().zip(&found)) {
            assert!((p - q).norm() < 1e-12, "{c:?} {d:?}");
            assert!((c[3] - d[3]).abs() < 1e-9, "{c:?} {d:?}");
        }
    }
}

/// The coordinates of the boundary give its positions, with the last of them 1.
#[test]
fn boundary_coordinates_round_trip() {
    for figure in figures() {
        let boundary = Boundary::new(&figure, 2).unwrap();
        let positions = boundary.positions(&figure);
        let points = figure.points(&boundary.coordinates).unwrap();
        for (p, q) in positions.iter().zip(&points) {
            assert!((p - q).norm() < 1e-13, "{p:?} {q:?}");
        }
        for c in figure.coordinates(&positions) {
            assert!((c[3] - 1.0).abs() < 1e-9, "{c:?}");
        }
    }
}

/// Coordinates and legality do not change under a similarity.
#[test]
fn coordinates_are_similarity_invariant() {
    let turn = *nalgebra::Rotation3::new(Vec3::new(0.4, -1.1, 2.0)).matrix();
    let shift = Vec3::new(3.0, -1.0, 0.5);
    for figure in figures() {
        let moved = figure.apply_similarity(2.5, &turn, shift);
        assert!((moved.legality() - figure.legality()).abs() < 1e-9);
        let boundary = Boundary::new(&figure, 1).unwrap();
        let inner: Vec<[f64; 4]> = (boundary.coordinates.iter())
            .map(|[u, v, around, _]| [*u, *v, *around, 0.6])
            .collect();
        let [here, there] = [&figure, &moved].map(|f| f.points(&inner).unwrap());
        for (p, q) in here.iter().zip(&there) {
            assert!((turn * p * 2.5 + shift - q).norm() < 1e-12);
        }
    }
}

/// Spokes that cross are reported together with the nearest atom.
#[test]
fn check_reports_crossing_spokes() {
    let mut atoms = helix(7, 6).atoms().to_vec();
    assert!(helix(7, 6).check().is_empty());
    // The spokes towards the axis that it winds around go beyond its centre of curvature where the tube is thickest.
    for atom in &mut atoms {
        atom.lengths[3] = 3.6;
    }
    let folded = Figure::tube(atoms).unwrap();
    assert!(folded.legality() <= 0.0);
    let [said] = &folded.check()[..] else {
        panic!("one sentence");
    };
    assert!(
        said.contains("near atom [3]") && said.contains("radius"),
        "{said}"
    );
}

/// Atoms that do not make a figure are refused, and the error names the entry.
#[test]
fn figure_refuses_bad_atoms() {
    let good = helix(5, 6).atoms().to_vec();
    let with = |change: &dyn Fn(&mut Atom)| {
        let mut atoms = good.clone();
        change(&mut atoms[2]);
        Figure::tube(atoms).unwrap_err().to_string()
    };
    let said = [
        with(&|a| a.radius = 0.0),
        with(&|a| a.hub.x = f64::NAN),
        with(&|a| a.frame = Mat3::repeat(0.3)),
        with(&|a| a.angle = 4.0),
        with(&|a| a.lengths[1] = -1.0),
        with(&|a| a.lengths = vec![1.0; 3]),
        with(&|a| a.hub = good[1].hub),
    ];
    let parts = [
        "radius", "hub", "frame", "angle", "length", "lengths", "coincide",
    ];
    for (said, part) in said.iter().zip(parts) {
        assert!(
            said.contains(part)
                && (said.contains("[2]") || part == "lengths" || part == "coincide"),
            "{said}"
        );
    }
    let too_few = Figure::tube(good[..1].to_vec()).unwrap_err();
    assert!(too_few.to_string().contains("2 to"), "{too_few}");
    let rows = Figure::slab(3, 3, good.clone()).unwrap_err();
    assert!(rows.to_string().contains("5 entries"), "{rows}");
}

/// Coordinates outside the figure's range are refused, and NaN gives NaN.
#[test]
fn points_refuse_bad_coordinates() {
    let tube = helix(5, 6);
    let slab = ellipsoid(AXES, 3, 7, 0.8);
    for (figure, wrong) in [
        (&tube, [2.5, 0.0, 0.0, 0.5]),
        (&tube, [0.5, 0.0, f64::INFINITY, 0.5]),
        (&slab, [0.5, 0.5, 0.3, 0.5]),
        (&slab, [1.5, 0.5, 1.0, 0.5]),
        (&slab, [0.5, 0.5, 1.0, f64::INFINITY]),
    ] {
        let said = figure
            .points(&[[0.0, 0.0, 1.0, 1.0], wrong])
            .unwrap_err()
            .to_string();
        assert!(said.starts_with("coordinates 1 "), "{said}");
    }
    assert!(tube.points(&[[f64::NAN; 4]]).unwrap()[0].x.is_nan());
    let lost = Vec3::new(f64::NAN, 0.0, 0.0);
    assert!(
        tube.coordinates(&[lost, Vec3::repeat(1e9)])
            .iter()
            .all(|c| c[0].is_nan())
    );
}

/// A slab around a body lies in it and follows a similarity of it.
#[test]
fn slab_around_body_is_equivariant() {
    let egg = crate::surface::shapes::sphere(1.0, 24).map_vertices(|p| {
        Vec3::new(
            2.0 * p.x + 0.3 * p.x * p.x,
            p.y * (1.1 + 0.2 * p.x + 0.1 * p.y),
            0.5 * p.z + 0.05 * p.z * p.z,
        )
    });
    let turn = *nalgebra::Rotation3::new(Vec3::new(0.4, -1.1, 2.0)).matrix();
    let shift = Vec3::new(3.0, -1.0, 0.5);
    let moved = egg.clone().map_vertices(|p| turn * p * 0.4 + shift);
    let [here, there] = [egg.clone(), moved].map(|s| {
        Figure::slab_around(&Surface::new(s.vertices, s.triangles).unwrap(), 3, 7).unwrap()
    });
    assert!(here.check().is_empty());
    for (a, b) in here
        .apply_similarity(0.4, &turn, shift)
        .atoms()
        .iter()
        .zip(there.atoms())
    {
        assert!((a.hub - b.hub).norm() < 1e-9 && (a.frame - b.frame).amax() < 1e-9);
    }
    let egg = Surface::new(egg.vertices, egg.triangles).unwrap();
    assert!(here.atoms().iter().all(|a| egg.contains(a.hub)));
    let far = Boundary::new(&here, 2).unwrap().positions(&here);
    let mean = far
        .iter()
        .map(|p| egg.signed_distance(*p).abs())
        .sum::<f64>()
        / far.len() as f64;
    assert!(mean < 0.03 * egg.size(), "{mean}");
    // Balls and rods have no sheet, but a slab all the same.
    for stretch in [1.0, 3.0] {
        let rod = crate::surface::shapes::sphere(1.0, 16)
            .map_vertices(|p| Vec3::new(stretch * p.x, p.y, p.z));
        let rod = Surface::new(rod.vertices, rod.triangles).unwrap();
        assert!(Figure::slab_around(&rod, 3, 5).unwrap().check().is_empty());
    }
    let flat = crate::surface::shapes::plane(4);
    let flat = Surface::new(flat.vertices, flat.triangles).unwrap();
    assert!(
        Figure::slab_around(&flat, 3, 5)
            .unwrap_err()
            .to_string()
            .contains("no volume")
    );
}
