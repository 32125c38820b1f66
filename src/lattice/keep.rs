// SPDX-License-Identifier: MIT OR Apache-2.0
//! Choice of the tetrahedra that become cells: those that meet the surface or lie in Ω, one around every sub-segment,
//! and one on the flesh side of every required face. The tetrahedra tile space, so the surface is contained by
//! construction.

use super::segments::ProtectedSkeleton;
use crate::Vec3;
use crate::geometry::tetrahedron::{faces, meets_triangle, sort_vertices};
use crate::surface::DistanceGrid;
use crate::surface::Surface;
use rayon::prelude::*;
use std::collections::BTreeMap;

/// Returns for each tetrahedron whether it is kept. `halved`: also if its mirror image in x = 0 is.
pub(crate) fn select(
    x: &[Vec3],
    tets: &[[u32; 4]],
    surface: &Surface,
    grid: &DistanceGrid,
    skeleton: &ProtectedSkeleton,
    (h, halved): (f64, bool),
) -> Vec<bool> {
    let mut keep: Vec<bool> = tets
        .par_iter()
        .map_init(Vec::new, |near, t| {
            let corners = t.map(|v| x[v as usize]);
            meets_domain(&corners, surface, grid, h, near)
                || halved && meets_domain(&mirror_image(&corners), surface, grid, h, near)
        })
        .collect();
    visit_face_sides(x, tets, skeleton, |t, _, fleshy| keep[t] = fleshy);
    keep_around_bones(tets, skeleton, &mut keep, x.len());
    keep
}

/// Returns the required faces with skin behind them, which would need a tetrahedron on the side that must stay empty.
pub(crate) fn crossed_faces(
    x: &[Vec3],
    tets: &[[u32; 4]],
    surface: &Surface,
    grid: &DistanceGrid,
    skeleton: &ProtectedSkeleton,
    h: f64,
) -> Vec<usize> {
    let mut found = Vec::new();
    visit_face_sides(x, tets, skeleton, |t, face, fleshy| {
        let needed = || {
            meets_domain(
                &tets[t].map(|v| x[v as usize]),
                surface,
                grid,
                h,
                &mut Vec::new(),
            )
        };
        if !fleshy && needed() {
            found.push(face);
        }
    });
    found
}

/// Visits each tetrahedron at a required face: passes its index, the face's index, and whether it is on the flesh side. Of
/// the two at a face, the one on the flesh side is kept and the other is not.
fn visit_face_sides(
    x: &[Vec3],
    tets: &[[u32; 4]],
    skeleton: &ProtectedSkeleton,
    mut visit: impl FnMut(usize, usize, bool),
) {
    if skeleton.faces.is_empty() {
        return;
    }
    let numbered = (0..).zip(&skeleton.faces);
    let required: BTreeMap<[u32; 3], (usize, [u32; 3])> =
        numbered.map(|(i, &f)| (sort_vertices(f), (i, f))).collect();
    for (t, corners) in tets.iter().enumerate() {
        for (i, face) in faces(corners).iter().enumerate() {
            let Some((number, face)) = required.get(face) else {
                continue;
            };
            let [a, b, c] = face.map(|v| x[v as usize]);
            let apex = x[corners[i] as usize];
            let fleshy = (b - a).cross(&(c - a)).dot(&(apex - a)) > 0.0;
            visit(t, *number, fleshy);
        }
    }
}

/// Returns whether a tetrahedron meets the surface or lies in Ω. `near` is scratch space.
fn meets_domain(
    x: &[Vec3; 4],
    surface: &Surface,
    grid: &DistanceGrid,
    h: f64,
    near: &mut Vec<u32>,
) -> bool {
    let centre = (x[0] + x[1] + x[2] + x[3]) / 4.0;
    let radius = x.iter().map(|p| (p - centre).norm()).fold(0.0, f64::max);
    let d = grid.distance_at(centre);
    let samples = sample_points(x);
    // The interpolating grid is trusted only well away from the surface and if all samples agree: at a hole Ω ends far
    // from any triangle, and the distance jumps from one sign to the other.
    if d.abs() > radius + 0.5 * h && samples.iter().all(|&p| grid.distance_at(p) * d > 0.0) {
        return d < 0.0;
    }
    let lo = x[0].inf(&x[1]).inf(&x[2]).inf(&x[3]);
    let hi = x[0].sup(&x[1]).sup(&x[2]).sup(&x[3]);
    let slack = Vec3::repeat(1e-7 * h);
    near.clear();
    surface.triangles_in_box(lo - slack, hi + slack, near);
    let welded = surface.welded();
    let hit = near.iter().any(|&t| {
        let t = welded.triangles[t as usize].map(|v| welded.vertices[v as usize]);
        meets_triangle(x, &t, 1e-7 * h)
    });
    // A tetrahedron without a triangle in it is entirely inside or outside, except at holes and thin layers. There Ω
    // ends away from triangles, and a few samples decide.
    hit || samples.iter().any(|&p| surface.contains(p))
}

/// Returns the mirror image in x = 0, as positive as the tetrahedron.
fn mirror_image(x: &[Vec3; 4]) -> [Vec3; 4] {
    [x[0], x[1], x[3], x[2]].map(|p| Vec3::new(-p.x, p.y, p.z))
}

/// Returns the centre, corners, edge centres and face centres.
fn sample_points(x: &[Vec3; 4]) -> [Vec3; 15] {
    let mut s = [Vec3::zeros(); 15];
    for (bits, s) in s.iter_mut().enumerate() {
        let of: Vec3 = (0..4)
            .filter(|i| (bits + 1) >> i & 1 == 1)
            .map(|i| x[i])
            .sum();
        *s = of / f64::from((bits as u32 + 1).count_ones());
    }
    s
}

/// Keeps one tetrahedron around every sub-segment and skeleton point that lacks one.
fn keep_around_bones(
    tets: &[[u32; 4]],
    skeleton: &ProtectedSkeleton,
    keep: &mut [bool],
    vertices: usize,
) {
    let fixed = skeleton.points.len() as u32;
    let far = (vertices - super::fill::FAR_CORNER_COUNT) as u32;
    let mut edges: BTreeMap<(u32, u32), bool> = skeleton
        .edges
        .iter()
        .map(|&(a, b, _)| ((a.min(b), a.max(b)), false))
        .collect();
    let mut points = vec![false; fixed as usize];
    for pass in 0..2 {
        for (t, corners) in tets.iter().enumerate() {
            let candidate = if pass == 0 {
                keep[t]
            } else {
                !keep[t] && corners.iter().all(|&v| v < far)
            };
            if !candidate {
                continue;
            }
            for i in 0..4 {
                if corners[i] < fixed && !std::mem::replace(&mut points[corners[i] as usize], true)
                {
                    keep[t] = true;
                }
                for j in i + 1..4 {
                    let e = (corners[i].min(corners[j]), corners[i].max(corners[j]));
                    if let Some(found) = edges.get_mut(&e)
                        && !std::mem::replace(found, true)
                    {
                        keep[t] = true;
                    }
                }
            }
        }
    }
}
