// SPDX-License-Identifier: MIT OR Apache-2.0
//! Detection of the plane that mirrors the bones and the skin of a character onto themselves.
//!
//! Candidates are the planes midway between two bones, the farthest apart first, and the plane of least scatter for
//! bones that all lie in one plane. Bones on a line lie in many: then the candidates are those across the principal axes
//! of the skin beside the line, unless it is as wide as deep. Every bone must have its image, to within the tolerance:
//! another bone, or itself. The plane is then fitted to all pairs. Of several planes that mirror bones and skin, the one
//! with most pairs wins. Names are not read. O(n²) in the bones for each candidate, O(m log m) in the skin.

use super::super::bones::{BoneSegment, WELD_DISTANCE};
use super::{MirrorPlane, SYMMETRY_TOLERANCE};
use crate::surface::Surface;
use crate::{Mat3, Vec3};
use rayon::prelude::*;

/// Largest distance of a bone from its image, as a share of the distance within which a lattice follows bones: less
/// than one, as bones are averaged and then welded.
const BONE_SHARE: f64 = 0.9;
/// Factor on the tolerance for planes before they are fitted: two bones that are off by the tolerance tilt the plane
/// between them.
const ROUGH_FACTOR: f64 = 5.0;
/// Smallest distance of two bones that define a plane, as a share of the size: nearer ones give no direction.
const MIN_SEPARATION: f64 = 0.02;
/// Largest number of planes tried. Symmetric characters need one or two; the bound is for rigs of hundreds of equal
/// bones.
const MAX_PLANES: usize = 512;
/// Factor on the tolerance for the centres of triangles, which only tell missing or additional ones: quadrilaterals that
/// are not plane and divided along the other diagonal on the other side are off by up to twice the tolerance. Holes of this
/// size are a sixteenth of a usual cell.
const CENTRE_FACTOR: f64 = 5.0;
/// Difference of normals and, in sizes, of offsets within which two planes are the same: the tolerance. With twenty times
/// as much the plane between one hand's first and the other's second finger hides the true one.
const SAME_PLANE: f64 = SYMMETRY_TOLERANCE;
/// Relative difference of the skin's second moments beside a line of bones below which the skin is as wide as deep and
/// gives no plane: round limbs of a dozen sides differ by less.
const MIN_FLATNESS: f64 = 0.05;
/// Distance from an axis or from the origin below which a plane's normal or offset is rounded to it: residue of
/// rounding to the own unit's quantum.
const SNAP_DISTANCE: f64 = 1e-7;

/// Returns the plane that mirrors the character, and for each bone segment its mirror image, or itself in the plane.
/// Tips have themselves. `None` if there is no such plane.
pub(super) fn mirror_plane(
    surface: &Surface,
    segments: &[BoneSegment],
    h: f64,
) -> Option<(MirrorPlane, Vec<usize>)> {
    let size = surface.size();
    let tolerance = (SYMMETRY_TOLERANCE * size).min(BONE_SHARE * WELD_DISTANCE * h);
    let bones: Vec<&BoneSegment> = segments.iter().filter(|s| !s.tip).collect();
    let mut best: Option<(usize, MirrorPlane, Vec<usize>)> = None;
    let mut tried: Vec<MirrorPlane> = Vec::new();
    for rough in candidates(surface, &bones, tolerance) {
        if tried.len() == MAX_PLANES || tried.iter().any(|t| are_same(t, &rough, size)) {
            continue;
        }
        tried.push(rough);
        let fitted = pair_bones(&bones, &rough, ROUGH_FACTOR * tolerance)
            .and_then(|partners| fit_plane(&bones, &rough, &partners));
        let Some(plane) = fitted else { continue };
        let Some(partners) = pair_bones(&bones, &plane, tolerance) else {
            continue;
        };
        let pairs = (0..).zip(&partners).filter(|(i, j)| i != *j).count();
        if best.as_ref().is_none_or(|b| pairs > b.0) && mirrors_skin(surface, &plane) {
            best = Some((pairs, plane, partners));
        }
    }
    let (_, plane, partners) = best?;
    let numbers: Vec<usize> = (0..segments.len()).filter(|&i| !segments[i].tip).collect();
    let mut out: Vec<usize> = (0..segments.len()).collect();
    for (i, j) in partners.into_iter().enumerate() {
        out[numbers[i]] = numbers[j];
    }
    Some((plane, out))
}

/// Returns the planes that may mirror the bones, the most certain first.
fn candidates(surface: &Surface, bones: &[&BoneSegment], tolerance: f64) -> Vec<MirrorPlane> {
    let size = surface.size();
    let near = ROUGH_FACTOR * tolerance;
    let length = |s: &BoneSegment| (s.tail - s.head).norm();
    let total: f64 = bones.iter().map(|s| length(s)).sum();
    if total.is_nan() || total <= 0.0 {
        return Vec::new();
    }
    let weighted = |s: &&BoneSegment| (s.head + s.tail) * (0.5 * length(s) / total);
    let centre: Vec3 = bones.iter().map(weighted).sum();
    let from = |p: Vec3| (p - centre).norm();
    let mut pairs: Vec<(f64, Vec3, Vec3)> = Vec::new();
    for (i, a) in bones.iter().enumerate() {
        for b in &bones[i + 1..] {
            let alike = (length(a) - length(b)).abs() <= near
                && (from(a.head) - from(b.head)).abs() <= near
                && (from(a.tail) - from(b.tail)).abs() <= near;
            let (p, q) = ((a.head + a.tail) * 0.5, (b.head + b.tail) * 0.5);
            if alike && (p - q).norm() > MIN_SEPARATION * size {
                pairs.push(((p - q).norm(), p, q));
            }
        }
    }
    pairs.sort_by(|a, b| b.0.total_cmp(&a.0));
    let midway = |&(_, p, q): &(f64, Vec3, Vec3)| {
        let normal = (p - q).normalize();
        MirrorPlane {
            normal,
            offset: normal.dot(&((p + q) * 0.5)),
        }
    };
    let mut planes: Vec<MirrorPlane> = pairs.iter().map(midway).collect();
    planes.extend(planes_of_bones(surface, bones, centre, tolerance));
    planes
}

/// Returns the plane of least scatter of the bones; for bones on a line, the planes through it across the principal
/// axes of the skin, the wider first.
fn planes_of_bones(
    surface: &Surface,
    bones: &[&BoneSegment],
    centre: Vec3,
    tolerance: f64,
) -> Vec<MirrorPlane> {
    let ends = || bones.iter().flat_map(|s| [s.head, s.tail]);
    let [(_, least), (_, across), (_, along)] = principal_axes(ends().map(|p| (1.0, p - centre)));
    let through = |normal: Vec3| MirrorPlane {
        normal,
        offset: normal.dot(&centre),
    };
    let off_line = ends().map(|p| (p - centre).dot(&across).abs());
    if off_line.fold(0.0, f64::max) > 2.0 * ROUGH_FACTOR * tolerance {
        return vec![through(least)];
    }
    let welded = surface.welded();
    // The midpoints of its edges give the second moments of a triangle exactly.
    let beside = welded.triangles.iter().flat_map(|t| {
        let [a, b, c] = t.map(|v| welded.vertices[v as usize] - centre);
        let area = (b - a).cross(&(c - a)).norm();
        let midpoints = [(a + b) * 0.5, (b + c) * 0.5, (c + a) * 0.5];
        midpoints.map(|p| (area, p - along * p.dot(&along)))
    });
    let [_, (narrow, y), (wide, x)] = principal_axes(beside);
    match wide - narrow > MIN_FLATNESS * wide {
        true => vec![through(x), through(y)],
        false => Vec::new(),
    }
}

/// Returns the second moments of weighted vectors along their principal axes, and the axes, the smallest first.
fn principal_axes(vectors: impl Iterator<Item = (f64, Vec3)>) -> [(f64, Vec3); 3] {
    let scatter: Mat3 = vectors.map(|(w, p)| p * p.transpose() * w).sum();
    let eigen = scatter.symmetric_eigen();
    let mut axes = [0, 1, 2].map(|k| (eigen.eigenvalues[k], eigen.eigenvectors.column(k).into()));
    axes.sort_by(|a: &(f64, Vec3), b| a.0.total_cmp(&b.0));
    axes
}

/// Returns whether two planes are nearly the same.
fn are_same(a: &MirrorPlane, b: &MirrorPlane, size: f64) -> bool {
    let sign = a.normal.dot(&b.normal).signum();
    (a.normal - b.normal * sign).norm() < SAME_PLANE
        && (a.offset - b.offset * sign).abs() < SAME_PLANE * size
}

/// Returns for each bone the bone that is its image, within `tolerance` at both ends; `None` if one has none.
///
/// A bone in the plane is its own image. Bones on one another are matched in their order.
fn pair_bones(bones: &[&BoneSegment], plane: &MirrorPlane, tolerance: f64) -> Option<Vec<usize>> {
    let distance = |a: &BoneSegment, b: &BoneSegment| {
        let head = (plane.image(a.head) - b.head).norm();
        head.max((plane.image(a.tail) - b.tail).norm())
    };
    let mut partner: Vec<Option<usize>> = vec![None; bones.len()];
    for i in 0..bones.len() {
        if partner[i].is_some() {
            continue;
        }
        // Its image is twice as far from a bone as the plane is.
        if distance(bones[i], bones[i]) <= 2.0 * tolerance {
            partner[i] = Some(i);
            continue;
        }
        let free = (i + 1..bones.len()).filter(|&j| partner[j].is_none());
        let near = free
            .map(|j| (distance(bones[i], bones[j]), j))
            .filter(|d| d.0 <= tolerance)
            .min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)))?;
        partner[i] = Some(near.1);
        partner[near.1] = Some(i);
    }
    partner.into_iter().collect()
}

/// Fits a plane to bones and their images; `None` if they give no direction.
fn fit_plane(
    bones: &[&BoneSegment],
    rough: &MirrorPlane,
    partners: &[usize],
) -> Option<MirrorPlane> {
    let ends = |i: usize| [bones[i].head, bones[i].tail];
    let mut sum = Vec3::zeros();
    for (i, &j) in partners.iter().enumerate().filter(|(i, j)| i < *j) {
        for (p, q) in ends(i).into_iter().zip(ends(j)) {
            sum += (p - q) * (p - q).dot(&rough.normal).signum();
        }
    }
    let mut normal = sum.try_normalize(0.0).unwrap_or(rough.normal);
    // The first component that is not small is positive, so that the two halves have an order.
    let first = normal.iter().position(|x| x.abs() > 0.3)?;
    let sign = normal[first].signum();
    normal *= sign;
    let axis = Vec3::ith(first, 1.0);
    if (normal - axis).norm() < SNAP_DISTANCE {
        normal = axis;
    }
    let all = (0..bones.len()).flat_map(ends);
    let offset = all.map(|p| p.dot(&normal)).sum::<f64>() / (2 * bones.len()) as f64;
    let offset = match offset.abs() < SNAP_DISTANCE {
        true => 0.0,
        false => offset,
    };
    (normal.iter().all(|x| x.is_finite()) && offset.is_finite())
        .then_some(MirrorPlane { normal, offset })
}

/// Returns whether the images of all vertices lie on the skin, and those of the triangles' centres near it.
fn mirrors_skin(surface: &Surface, plane: &MirrorPlane) -> bool {
    /// Step of the samples that refuse most other planes at once.
    const COARSE_STEP: usize = 61;
    let farthest = SYMMETRY_TOLERANCE * surface.size();
    let welded = surface.welded();
    let distance = |p: Vec3| surface.closest_point(plane.image(p)).distance;
    let off = |p: Vec3| distance(p) > farthest;
    let vertices = &welded.vertices;
    if vertices.iter().step_by(COARSE_STEP).any(|p| off(*p)) {
        return false;
    }
    let centre = |t: &[u32; 3]| t.map(|v| vertices[v as usize]).iter().sum::<Vec3>() / 3.0;
    let astray = |t: &[u32; 3]| distance(centre(t)) > CENTRE_FACTOR * farthest;
    !vertices.par_iter().any(|p| off(*p)) && !welded.triangles.par_iter().any(astray)
}
