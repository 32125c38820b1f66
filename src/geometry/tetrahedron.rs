// SPDX-License-Identifier: MIT OR Apache-2.0
//! Measures of a single tetrahedron, and the exact test against a triangle.

use crate::Vec3;

/// Tetrahedra of a cube, one along each of the six paths from corner 0 to 7. Bits of a corner are its x, y and z.
pub(crate) const CUBE_TETRAHEDRA: [[usize; 4]; 6] = [
    [0, 1, 3, 7],
    [0, 3, 2, 7],
    [0, 2, 6, 7],
    [0, 6, 4, 7],
    [0, 4, 5, 7],
    [0, 5, 1, 7],
];

/// Sorts the vertices of a face in ascending order.
pub(crate) fn sort_vertices(mut face: [u32; 3]) -> [u32; 3] {
    face.sort_unstable();
    face
}

/// Returns the four faces by their vertices, ascending; face `i` lies opposite corner `i`.
pub(crate) fn faces(corners: &[u32; 4]) -> [[u32; 3]; 4] {
    [0, 1, 2, 3].map(|i| sort_vertices([1, 2, 3].map(|k| corners[(i + k) % 4])))
}

/// Returns the signed volume.
pub(crate) fn volume(x: &[Vec3; 4]) -> f64 {
    (x[1] - x[0]).cross(&(x[2] - x[0])).dot(&(x[3] - x[0])) / 6.0
}

/// Returns the smallest height; zero for a flat tetrahedron.
pub(crate) fn height(x: &[Vec3; 4]) -> f64 {
    let area = |[a, b, c]: [usize; 3]| 0.5 * (x[b] - x[a]).cross(&(x[c] - x[a])).norm();
    let largest = [[0, 1, 2], [0, 1, 3], [0, 2, 3], [1, 2, 3]]
        .map(area)
        .into_iter()
        .fold(f64::MIN_POSITIVE, f64::max);
    3.0 * volume(x).abs() / largest
}

/// Returns the quality that construction climbs: the smallest of `min(θ, π − θ)` over the six dihedral
/// angles, radians; −1 if inverted or flat.
pub(crate) fn quality(x: &[Vec3; 4]) -> f64 {
    let (a, b, c) = (x[1] - x[0], x[2] - x[0], x[3] - x[0]);
    if a.cross(&b).dot(&c) <= 0.0 {
        return -1.0;
    }
    // Outward normals of the faces opposite each corner.
    let d = x[2] - x[1];
    let e = x[3] - x[1];
    let n = [d.cross(&e), c.cross(&b), a.cross(&c), b.cross(&a)];
    let mut unit = [Vec3::zeros(); 4];
    for (u, n) in unit.iter_mut().zip(n) {
        let l = n.norm();
        if l < 1e-300 {
            return -1.0;
        }
        *u = n / l;
    }
    // The largest |cos θ| belongs to the worst angle, small or large.
    let mut worst = 0.0f64;
    for i in 0..4 {
        for j in i + 1..4 {
            worst = worst.max(unit[i].dot(&unit[j]).abs());
        }
    }
    worst.min(1.0).acos()
}

/// Returns whether a closed triangle and a closed tetrahedron intersect, by separating axes; a gap
/// below `tolerance` counts as touching.
pub(crate) fn meets_triangle(x: &[Vec3; 4], t: &[Vec3; 3], tolerance: f64) -> bool {
    let separated = |axis: Vec3| {
        let l2 = axis.norm_squared();
        if l2 < 1e-280 {
            return false;
        }
        let range = |points: &[Vec3]| {
            points
                .iter()
                .fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), p| {
                    let d = axis.dot(&(p - x[0]));
                    (lo.min(d), hi.max(d))
                })
        };
        let ((a, b), (c, d)) = (range(x), range(t));
        let gap = tolerance * l2.sqrt();
        c > b + gap || a > d + gap
    };
    let e = [t[1] - t[0], t[2] - t[0], t[2] - t[1]];
    if separated(e[0].cross(&e[1])) {
        return false;
    }
    for f in [[1, 2, 3], [0, 3, 2], [0, 1, 3], [0, 2, 1]] {
        if separated((x[f[1]] - x[f[0]]).cross(&(x[f[2]] - x[f[0]]))) {
            return false;
        }
    }
    for i in 0..4 {
        for j in i + 1..4 {
            let d = x[j] - x[i];
            if e.iter().any(|e| separated(d.cross(e))) {
                return false;
            }
        }
    }
    true
}

/// Returns the nearest point of a segment and its parameter.
pub(crate) fn closest_on_segment(a: Vec3, b: Vec3, p: Vec3) -> (Vec3, f64) {
    let d = b - a;
    let l2 = d.norm_squared();
    let t = if l2 > 0.0 {
        ((p - a).dot(&d) / l2).clamp(0.0, 1.0)
    } else {
        0.0
    };
    (a + d * t, t)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the barycentric coordinates of a point.
    fn barycentric(x: &[Vec3; 4], p: Vec3) -> [f64; 4] {
        let mut l = [0.0; 4];
        for (i, l) in l.iter_mut().enumerate() {
            let mut y = *x;
            y[i] = p;
            *l = volume(&y) / volume(x);
        }
        l
    }

    fn regular() -> [Vec3; 4] {
        [
            [1.0, 1.0, 1.0],
            [-1.0, 1.0, -1.0],
            [1.0, -1.0, -1.0],
            [-1.0, -1.0, 1.0],
        ]
        .map(Vec3::from)
    }

    /// Volume, quality and barycentric coordinates of a regular tetrahedron are exact.
    #[test]
    fn regular_tetrahedron_measures() {
        let x = regular();
        assert!((volume(&x) - 8.0 / 3.0).abs() < 1e-14);
        assert!((quality(&x) - (1.0f64 / 3.0).acos()).abs() < 1e-12);
        let l = barycentric(&x, Vec3::new(0.2, -0.1, 0.3));
        let back: Vec3 = x.iter().zip(l).map(|(x, l)| x * l).sum();
        assert!((back - Vec3::new(0.2, -0.1, 0.3)).norm() < 1e-14);
    }

    /// The quality of a sliver is near zero, and that of an inverted tetrahedron is −1.
    #[test]
    fn quality_flags_slivers() {
        let mut x = regular();
        x[3] = (x[0] + x[1] + x[2]) / 3.0 + Vec3::new(-1.0, -1.0, 1.0) * 1e-3;
        assert!(quality(&x).abs() < 0.02);
        x.swap(0, 1);
        assert_eq!(quality(&x), -1.0);
    }

    /// The test of a triangle against a tetrahedron agrees with dense sampling.
    #[test]
    fn triangle_test_matches_sampling() {
        // A triangle that shrinks towards its centroid keeps meeting a tetrahedron only if a dense
        // sample of it does; compared on many placements.
        let x = regular();
        let mut both = [0; 2];
        for k in 0..400 {
            let f = |s: f64| ((k as f64 + 1.0) * s).sin() * 1.4;
            let c = Vec3::new(f(12.9898), f(78.233), f(37.719));
            let t = [
                c + Vec3::new(f(3.1), f(1.7), f(0.9)) * 0.4,
                c + Vec3::new(f(5.3), f(2.9), f(7.7)) * 0.4,
                c + Vec3::new(f(9.1), f(4.3), f(6.1)) * 0.4,
            ];
            let n = 60;
            let mut best = f64::NEG_INFINITY;
            for i in 0..=n {
                for j in 0..=n - i {
                    let (u, v) = (i as f64 / n as f64, j as f64 / n as f64);
                    let p = t[0] + (t[1] - t[0]) * u + (t[2] - t[0]) * v;
                    let l = barycentric(&x, p);
                    best = best.max(l.into_iter().fold(f64::INFINITY, f64::min));
                }
            }
            let hit = meets_triangle(&x, &t, 0.0);
            if best > 0.0 {
                assert!(hit);
            }
            if best < -0.03 {
                assert!(!hit, "placement {k}: {best}");
            }
            both[hit as usize] += 1;
        }
        assert!(both[0] > 20 && both[1] > 20);
    }
}
