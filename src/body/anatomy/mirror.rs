// SPDX-License-Identifier: MIT OR Apache-2.0
//! Detection of the plane that mirrors a body onto itself.
//!
//! Candidates are the principal planes of points over the skin. Each is refined by the mean direction between points
//! and the nearest points to their mirror images. The plane with the smallest 80th percentile of distances wins, so
//! that a prop, a parting or a scar does not count. O(n log n).

use super::point_tree::PointTree;
use super::scatter::{scatter_points, thin_points};
use super::skin::BodySkin;
use super::statistics::quantile;
use crate::{Mat3, Vec3};
use rayon::prelude::*;

/// Largest error of a mirror plane, as a part of the size: half of it loses scanned people, twice it finds mirror
/// planes in hands.
pub(super) const MAX_MIRROR_ERROR: f64 = 0.02;
/// Number of points over the skin in addition to its corners, and number of mirrored points among all of them. Halving
/// or doubling them leaves the maps of ten known characters the same to 0.001.
const SURFACE_POINTS: usize = 4000;
const MIRRORED_POINTS: usize = 3000;
/// Rounds of refinement; the direction settles after two or three. Halving or doubling them leaves the maps of ten known
/// characters the same to 0.001.
const REFINEMENT_ROUNDS: usize = 6;

/// A mirror plane: points x with `normal · x = offset`.
#[derive(Debug, Clone, Copy)]
pub(super) struct MirrorPlane {
    pub normal: Vec3,
    pub offset: f64,
    /// 80th percentile of the distance of mirrored points from the skin, as a part of the size.
    pub error: f64,
}

impl MirrorPlane {
    /// Finds the better of the mirror planes of all skin and of its largest piece, as props stand aside.
    pub fn find(skin: &BodySkin) -> Self {
        let whole = from_points(skin, &scatter_points(skin, SURFACE_POINTS, |_| true));
        let mut area = vec![0.0; skin.islands];
        for (a, &island) in skin.area.iter().zip(&skin.island) {
            area[island as usize] += a;
        }
        let largest = (0..area.len()).max_by(|&a, &b| area[a].total_cmp(&area[b]).then(b.cmp(&a)));
        let Some(largest) = largest.filter(|&i| area[i] < (1.0 - 1e-6) * area.iter().sum::<f64>())
        else {
            return whole;
        };
        let mine = |f: usize| skin.island[skin.triangles[f][0] as usize] as usize == largest;
        let one = from_points(skin, &scatter_points(skin, SURFACE_POINTS, mine));
        let rounded = |p: &MirrorPlane| (p.error * 1e4).round();
        match rounded(&one) <= rounded(&whole) {
            true => one,
            false => whole,
        }
    }

    /// Returns whether the body has a mirror plane.
    pub fn exists(&self) -> bool {
        self.error < MAX_MIRROR_ERROR
    }

    /// Returns the signed distance to the plane.
    pub fn signed_distance(&self, x: &Vec3) -> f64 {
        x.dot(&self.normal) - self.offset
    }

    /// Returns the mirror image of a point.
    pub fn image(&self, x: &Vec3) -> Vec3 {
        x - self.normal * (2.0 * self.signed_distance(x))
    }

    /// Returns the projection of a direction onto the plane.
    pub fn project_direction(&self, v: &Vec3) -> Vec3 {
        v - self.normal * v.dot(&self.normal)
    }
}

fn from_points(skin: &BodySkin, points: &[Vec3]) -> MirrorPlane {
    let middle = points.iter().sum::<Vec3>() / points.len().max(1) as f64;
    let spread: Mat3 = points
        .iter()
        .map(|x| (x - middle) * (x - middle).transpose())
        .sum();
    let tree = PointTree::new(points);
    let samples = thin_points(points, MIRRORED_POINTS);
    let axes = spread.symmetric_eigen().eigenvectors;
    let planes =
        (0..3).map(|k| refine(skin, &tree, points, &samples, axes.column(k).into(), middle));
    let best = planes.min_by(|a, b| a.error.total_cmp(&b.error));
    best.unwrap_or(MirrorPlane {
        normal: Vec3::x(),
        offset: middle.x,
        error: f64::INFINITY,
    })
}

/// Refines a plane through the middle by the points nearest to mirror images.
fn refine(
    skin: &BodySkin,
    tree: &PointTree,
    points: &[Vec3],
    samples: &[Vec3],
    normal: Vec3,
    middle: Vec3,
) -> MirrorPlane {
    let mut plane = MirrorPlane {
        normal,
        offset: normal.dot(&middle),
        error: f64::INFINITY,
    };
    let partners = |plane: &MirrorPlane| -> Vec<(f64, Vec3)> {
        let of = |x: &Vec3| match tree.nearest(&plane.image(x)) {
            Some((i, distance)) => (distance, x - points[i]),
            None => (f64::INFINITY, Vec3::zeros()),
        };
        samples.par_iter().with_min_len(256).map(of).collect()
    };
    for _ in 0..REFINEMENT_ROUNDS {
        let found = partners(&plane);
        let Some(limit) = quantile(found.iter().map(|f| f.0).collect(), 0.7) else {
            return plane;
        };
        let near: Vec<(Vec3, Vec3)> = found
            .iter()
            .zip(samples)
            .filter(|(f, _)| f.0 <= limit)
            .map(|(f, x)| (f.1, x - f.1 * 0.5))
            .collect();
        let far = near
            .iter()
            .filter(|(step, _)| step.norm() > 0.05 * skin.span);
        if far.clone().count() < 10 {
            break;
        }
        let sum: Vec3 = far
            .map(|(step, _)| step * step.dot(&plane.normal).signum())
            .sum();
        let Some(normal) = sum.try_normalize(1e-9 * skin.span) else {
            break;
        };
        plane.normal = normal;
        let offsets = near.iter().map(|(_, half)| half.dot(&normal)).collect();
        plane.offset = quantile(offsets, 0.5).unwrap_or(plane.offset);
    }
    let distances = partners(&plane).iter().map(|f| f.0).collect();
    plane.error = quantile(distances, 0.8).unwrap_or(f64::INFINITY) / skin.span;
    plane
}
