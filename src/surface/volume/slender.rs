// SPDX-License-Identifier: MIT OR Apache-2.0
//! Winding numbers of long thin triangles. In the tree they make wide nodes that are far from nothing, and
//! every query comes to all triangles of a fan; cut to pieces, which wind alike, they do not.
use super::super::domain::Domain;
use super::super::winding::WindingTree;
use crate::Vec3;
use std::sync::Arc;

/// Triangles longer than this part of the box's diagonal,
const LONG: f64 = 0.06;
/// and than so many times their height, are cut.
const SLENDER: f64 = 4.0;
/// Fewer of them are no trouble.
const FEW: usize = 200;
/// They are cut where so many come on each that is as long but not as thin: those make wide nodes anyway.
const MOSTLY: usize = 10;

/// The winding tree of Ω, of pieces of the triangles where that is quicker.
pub(super) fn tree(vertices: &[Vec3], triangles: &[[u32; 3]], domain: &Domain) -> Arc<WindingTree> {
    let (lo, hi) = crate::aabb::bounds(vertices);
    let long = LONG * (hi - lo).norm();
    let corner = |&t: &u32| triangles[t as usize].map(|v| vertices[v as usize]);
    let is_long = |x: &[Vec3; 3]| longest(x).is_some_and(|(_, l, _)| l > long);
    let cut =
        |x: &[Vec3; 3]| longest(x).is_some_and(|(_, l, height)| l > long && l > SLENDER * height);
    let count = |which: &dyn Fn(&[Vec3; 3]) -> bool| {
        let bodies = domain.bodies.iter().map(corner);
        bodies.filter(|x| which(x)).count()
    };
    let (thin, all) = (count(&cut), count(&is_long));
    if thin < FEW || thin < MOSTLY * (all - thin) {
        return domain.winding.clone();
    }
    let mut pieces = Vec::new();
    let mut left: Vec<[Vec3; 3]> = domain.bodies.iter().map(corner).collect();
    while let Some(x) = left.pop() {
        match longest(&x) {
            Some((k, ..)) if cut(&x) => {
                let [a, b, c] = [0, 1, 2].map(|i| x[(k + i) % 3]);
                let middle = (a + b) / 2.0;
                left.extend([[a, middle, c], [middle, b, c]]);
            }
            _ => pieces.push(x),
        }
    }
    let vertices: Vec<Vec3> = pieces.iter().flatten().copied().collect();
    let all = 0..pieces.len() as u32;
    let triangles: Vec<[u32; 3]> = all.clone().map(|i| [3 * i, 3 * i + 1, 3 * i + 2]).collect();
    Arc::new(WindingTree::new(&vertices, &triangles, all.collect()))
}

/// The edge from which corner on is longest, its length and the height above it; none for a point.
fn longest(x: &[Vec3; 3]) -> Option<(usize, f64, f64)> {
    let length = |k: usize| (x[(k + 1) % 3] - x[k]).norm();
    let k = (0..3).max_by(|&i, &j| length(i).total_cmp(&length(j)))?;
    let area = (x[1] - x[0]).cross(&(x[2] - x[0])).norm();
    (length(k) > 0.0).then(|| (k, length(k), area / length(k)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::surface::Surface;
    use crate::surface::shapes::random_points;

    #[test]
    fn pieces_of_a_fan_wind_like_the_fan() {
        let n = 700;
        let mut vertices = vec![Vec3::new(0.1, 0.0, 1.0)];
        vertices.extend((0..n).map(|i| {
            let a = std::f64::consts::TAU * f64::from(i) / f64::from(n);
            Vec3::new(a.cos(), a.sin(), 0.0)
        }));
        let next = |i: i32| (1 + i % n) as u32;
        let triangles = (0..n).map(|i| [0, next(i), next(i + 1)]).collect();
        let surface = Surface::new(vertices, triangles).expect("a fan");
        let domain = surface.domain();
        let pieces = tree(&surface.local, &surface.welded.triangles, domain);
        assert!(!Arc::ptr_eq(&pieces, &domain.winding));
        for p in random_points(300, 0.6, 4) {
            let (cut, whole) = (pieces.at(&p), domain.winding.at(&p));
            assert!((cut - whole).abs() < 0.01, "{cut} {whole} at {p}");
        }
    }
}
