// SPDX-License-Identifier: MIT OR Apache-2.0
//! Properties of the tetrahedralisation.

use super::*;
use crate::geometry::tetrahedron::volume;
use std::collections::{BTreeMap, BTreeSet};

fn random_points(n: usize, seed: u64) -> Vec<Vec3> {
    let unit = |k: u64| scramble_bits(k) as f64 / u64::MAX as f64;
    (0..n as u64)
        .map(|i| seed * 1_000_003 + 3 * i)
        .map(|k| Vec3::new(unit(k), unit(k + 1) * 2.0, unit(k + 2)))
        .collect()
}

fn bcc_points(n: u32, a: f64) -> Vec<Vec3> {
    let mut points = Vec::new();
    for i in 0..n {
        for j in 0..n {
            for k in 0..n {
                let p = Vec3::new(f64::from(i), f64::from(j), f64::from(k)) * a;
                points.push(p);
                points.push(p + Vec3::repeat(a / 2.0));
            }
        }
    }
    points
}

fn sphere_points(n: usize) -> Vec<Vec3> {
    random_points(n, 11)
        .into_iter()
        .map(|p| (p - Vec3::new(0.5, 1.0, 0.5)).normalize())
        .collect()
}

fn corner_points(points: &[Vec3], t: &[u32; 4]) -> [Vec3; 4] {
    t.map(|i| points[i as usize])
}

fn coord(p: &Vec3) -> Coord3D<f64> {
    Coord3D {
        x: p.x,
        y: p.y,
        z: p.z,
    }
}

fn canonical_set(t: &[[u32; 4]], names: &[u32]) -> BTreeSet<[u32; 4]> {
    t.iter()
        .map(|t| {
            let mut t = t.map(|i| names[i as usize]);
            t.sort_unstable();
            t
        })
        .collect()
}

/// Asserts that the tetrahedra are positive, meet face to face, are locally Delaunay (hence Delaunay) and use every
/// point, and that their hull is convex. Returns the sum of the volumes.
fn assert_delaunay(points: &[Vec3], tets: &[[u32; 4]]) -> f64 {
    let mut faces: BTreeMap<[u32; 3], Vec<(usize, u32)>> = BTreeMap::new();
    let mut used = vec![false; points.len()];
    let mut total = 0.0;
    for (i, t) in tets.iter().enumerate() {
        let x = corner_points(points, t);
        let [a, b, c, d] = x.each_ref().map(coord);
        assert!(orient3d(a, b, c, d) < 0.0, "cell {i} is not positive");
        total += volume(&x);
        for f in 0..4 {
            used[t[f] as usize] = true;
            let mut face = OPPOSITE_CORNERS[f].map(|k| t[k]);
            face.sort_unstable();
            faces.entry(face).or_default().push((i, t[f]));
        }
    }
    assert!(used.iter().all(|&u| u));
    for (face, cells) in &faces {
        assert!(cells.len() <= 2, "{face:?}");
        let (i, apex) = cells[0];
        let [a, b, c, d] = corner_points(points, &tets[i]).each_ref().map(coord);
        if let Some(&(_, other)) = cells.get(1) {
            let other = coord(&points[other as usize]);
            assert!(insphere(b, a, c, d, other) <= 0.0, "{face:?}");
        } else {
            let [u, v, w] = face.map(|k| coord(&points[k as usize]));
            let side = orient3d(u, v, w, coord(&points[apex as usize]));
            for p in points {
                let s = orient3d(u, v, w, coord(p));
                assert!(
                    s == 0.0 || (s > 0.0) == (side > 0.0),
                    "{face:?} is not on the hull"
                );
            }
        }
    }
    total
}

/// No point lies inside the circumscribed sphere of any tetrahedron.
#[test]
fn delaunay_of_random_points() {
    let points = random_points(900, 1);
    let tets = delaunay(&points).expect("in general position");
    assert_delaunay(&points, &tets);
    // The whole set against every sphere, not only across faces.
    for t in &tets {
        let [a, b, c, d] = corner_points(&points, t).each_ref().map(coord);
        for (i, p) in points.iter().enumerate() {
            let corner = t.contains(&(i as u32));
            assert!(corner || insphere(b, a, c, d, coord(p)) < 0.0);
        }
    }
}

/// Points of body-centred cubic lattices, with many cospherical ones, fill their convex hull.
#[test]
fn delaunay_of_bcc_lattices() {
    for (n, a) in [(2, 1.0), (5, 1.0), (6, 0.1)] {
        let points = bcc_points(n, a);
        let tets = delaunay(&points).expect("spans space");
        let volume = assert_delaunay(&points, &tets);
        let hull = hull_volume(&points, &tets);
        assert!((volume - hull).abs() < 1e-9 * hull);
    }
}

/// Returns the volume of the hull, from the outer faces alone.
fn hull_volume(points: &[Vec3], tets: &[[u32; 4]]) -> f64 {
    let mut faces: BTreeMap<[u32; 3], [u32; 3]> = BTreeMap::new();
    for t in tets {
        for f in OPPOSITE_CORNERS {
            let face = f.map(|k| t[k]);
            let mut key = face;
            key.sort_unstable();
            if faces.remove(&key).is_none() {
                faces.insert(key, face);
            }
        }
    }
    let p = |i: u32| points[i as usize];
    let six = faces
        .values()
        .map(|&[a, b, c]| p(a).cross(&p(b)).dot(&p(c)));
    (six.sum::<f64>() / 6.0).abs()
}

/// The volumes of the tetrahedra add up to that of the convex hull.
#[test]
fn delaunay_fills_convex_hull() {
    let mut points = random_points(400, 5);
    for i in 0..8 {
        let bit = |b: i32| if i >> b & 1 == 1 { 40.0 } else { -40.0 };
        points.push(Vec3::new(bit(0), bit(1), bit(2)));
    }
    let tets = delaunay(&points).expect("spans space");
    let volume = assert_delaunay(&points, &tets);
    assert!((volume - 80.0f64.powi(3)).abs() < 1e-6);
    let points = sphere_points(300);
    let tets = delaunay(&points).expect("spans space");
    let volume = assert_delaunay(&points, &tets);
    assert!((volume - hull_volume(&points, &tets)).abs() < 1e-12);
}

/// Grids, planes, lines and duplicate points are triangulated, and each place is used once.
#[test]
fn delaunay_of_degenerate_points() {
    // A cubic grid with every point twice, a plane far away, and points on one line.
    let mut points: Vec<Vec3> = (0..125)
        .map(|i| Vec3::new((i % 5) as f64, (i / 5 % 5) as f64, (i / 25) as f64) / 3.0)
        .collect();
    let distinct = points.len();
    points.extend_from_within(..);
    let tets = delaunay(&points).expect("spans space");
    let used: BTreeSet<u32> = tets.iter().flatten().copied().collect();
    assert_eq!(used.len(), distinct);
    let volume: f64 = tets
        .iter()
        .map(|t| volume(&corner_points(&points, t)))
        .sum();
    assert!((volume - (4.0f64 / 3.0).powi(3)).abs() < 1e-12);

    let mut points: Vec<Vec3> = (0..40)
        .map(|i| Vec3::new(i as f64 * 0.1, 0.0, 0.0))
        .collect();
    points.extend((0..40).map(|i| Vec3::new(2.0, 0.3 + i as f64 * 0.1, 0.0)));
    points.push(Vec3::new(0.0, 0.0, 1.0));
    let tets = delaunay(&points).expect("spans space");
    assert_delaunay(&points, &tets);
}

/// The set of tetrahedra does not depend on the order of the points.
#[test]
fn delaunay_independent_of_order() {
    for points in [
        random_points(500, 9),
        bcc_points(5, 0.37),
        sphere_points(200),
    ] {
        let tets = delaunay(&points).expect("spans space");
        let same: Vec<u32> = (0..points.len() as u32).collect();
        let mut shuffled = same.clone();
        shuffled.sort_by_key(|&i| scramble_bits(u64::from(i) + 77));
        let moved: Vec<Vec3> = shuffled.iter().map(|&i| points[i as usize]).collect();
        let again = delaunay(&moved).expect("spans space");
        assert_eq!(
            canonical_set(&tets, &same),
            canonical_set(&again, &shuffled)
        );
    }
}

/// Scaling the points by a power of two does not change the tetrahedra.
#[test]
fn delaunay_independent_of_scale() {
    let points = random_points(200, 3);
    let tets = delaunay(&points).expect("spans space");
    for exponent in [-240, -40, 40, 240] {
        let s = 2.0f64.powi(exponent);
        let scaled: Vec<Vec3> = points.iter().map(|p| p * s).collect();
        assert_eq!(delaunay(&scaled).expect("spans space"), tets);
    }
}

/// Points in a plane and points that are not finite are refused.
#[test]
fn delaunay_refuses_flat_or_nan() {
    let flat: Vec<Vec3> = (0..30)
        .map(|i| Vec3::new((i % 6) as f64, (i / 6) as f64, 0.0))
        .collect();
    for points in [&flat[..], &flat[..3], &flat[..6], &flat[..1], &[]] {
        assert_eq!(delaunay(points), Err(DelaunayError::Flat));
    }
    let mut broken = random_points(10, 1);
    broken[7].y = f64::NAN;
    assert_eq!(delaunay(&broken), Err(DelaunayError::NonFinite(7)));
}
