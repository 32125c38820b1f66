// SPDX-License-Identifier: MIT OR Apache-2.0
//! A volume as target: profiles along the boundary's normals, compared with a step between two levels.
//!
//! Along each normal seven points within ±0.6 r are compared with a step between the level inside and that outside. The step is blurred like the
//! picture: by its own blur, by the extent of a voxel and by interpolation. Differences are relative to the step's height, with the largest weight in
//! the middle. Levels are estimated on both sides of the boundary, so that either may be the brighter one.
//!
//! Source: [oguz2005, slide 13; pizer2003, §4.2], there with templates of profiles; the step is ours.

use super::evidence::{Evidence, Likelihood};
use super::offsets::{Observation, ObservedTarget};
use super::report::FitReport;
use super::surface::OBSERVATIONS_PER_ATOM;
use crate::geometry::moments::vertex_areas;
use crate::mrep::error::MRepError;
use crate::mrep::figures::boundary::{Boundary, BoundaryShape};
use crate::mrep::volume::Volume;
use crate::{Mat3, Vec3};
use rayon::prelude::*;

/// Successive blurs in voxels, with the standard deviations of values from the step, in its height. Each blur is about half of the last. The
/// narrowest leaves 9 % of a wave of two voxels, the shortest that a grid holds.
pub(super) const BLURS: [[f64; 2]; 3] = [[3.0, 0.2], [1.5, 0.1], [0.7, 0.05]];
/// Half length of a profile, in radii: less than one, so that a profile does not reach the other side of the body. With half and twice of it Dice's
/// coefficient with a superquadric grows by 0.004 at most.
const PROFILE_HALF_LENGTH: f64 = 0.6;
/// Points on a profile, a fifth of a radius apart: odd, so that one lies on the boundary.
const PROFILE_POINTS: usize = 7;
/// Width of the weights along a profile, in its half length. Half and twice of it change Dice's coefficient with a superquadric by 0.004 at most.
const PROFILE_WEIGHT_WIDTH: f64 = 0.6;
/// Least height of the step, over the range of all values. Half and twice of it leave fits to a superquadric's picture the same.
const MIN_STEP_HEIGHT: f64 = 0.02;

/// Values of a volume on both sides of a boundary.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Levels {
    /// Value just inside of the boundary.
    pub inside: f64,
    /// Value just outside of the boundary.
    pub outside: f64,
}

/// Returns points along a profile, in its half length, and their weights, which sum up to one.
fn profile_points() -> [(f64, f64); PROFILE_POINTS] {
    let place = |k: usize| 2.0 * k as f64 / (PROFILE_POINTS - 1) as f64 - 1.0;
    let weight = |x: f64| (-0.5 * (x / PROFILE_WEIGHT_WIDTH).powi(2)).exp();
    let sum: f64 = (0..PROFILE_POINTS).map(|k| weight(place(k))).sum();
    std::array::from_fn(|k| (place(k), weight(place(k)) / sum))
}

/// A blurred volume.
pub(super) struct BlurredVolume {
    pub volume: Volume,
    /// Standard deviation of its blur, metres.
    blur: f64,
    /// Standard deviation of values from the step, in its height.
    deviation: f64,
}

impl BlurredVolume {
    /// Blurs a volume by one of [`BLURS`], by at most `most` voxels, but never less than the sharpest of them.
    pub fn from_volume(volume: &Volume, [voxels, deviation]: [f64; 2], most: f64) -> Self {
        let least = BLURS[BLURS.len() - 1][0];
        let blur = voxels.min(most).max(least) * volume.voxel_size();
        Self {
            volume: volume.blur(blur),
            blur,
            deviation,
        }
    }

    /// Builds the likelihood for a boundary.
    ///
    /// # Errors
    /// See [`VolumeLikelihood::new`].
    pub fn likelihood<'a>(
        &'a self,
        boundary: &'a Boundary,
        start: &BoundaryShape,
        atoms: usize,
    ) -> Result<VolumeLikelihood<'a>, MRepError> {
        VolumeLikelihood::new(
            &self.volume,
            [self.blur, self.deviation],
            boundary,
            start,
            atoms,
        )
    }
}

/// Likelihood of a figure's boundary given a volume.
pub(super) struct VolumeLikelihood<'a> {
    /// Blurred volume.
    volume: &'a Volume,
    /// Standard deviation of its blur, metres.
    blur: f64,
    pub levels: Levels,
    /// Shares of the boundary's area, and radii, at the start.
    areas: Vec<f64>,
    radii: Vec<f64>,
    triangles: &'a [[u32; 3]],
    observations: f64,
    /// Standard deviation of values from the step, in its height.
    deviation: f64,
}

impl<'a> VolumeLikelihood<'a> {
    /// Builds the likelihood, with levels estimated at `start`.
    ///
    /// # Errors
    /// A boundary that lies outside of the volume; no step across it.
    pub fn new(
        volume: &'a Volume,
        [blur, deviation]: [f64; 2],
        boundary: &'a Boundary,
        start: &BoundaryShape,
        atoms: usize,
    ) -> Result<Self, MRepError> {
        let mut areas = vertex_areas(&start.positions, &boundary.triangles);
        let whole: f64 = areas.iter().sum();
        areas.iter_mut().for_each(|a| *a /= whole);
        Ok(Self {
            levels: estimate_levels(volume, start)?,
            volume,
            blur,
            deviation,
            areas,
            radii: start.radii.clone(),
            triangles: &boundary.triangles,
            observations: OBSERVATIONS_PER_ATOM * atoms as f64,
        })
    }

    /// Measures how well a boundary meets the step.
    pub fn report(&self, boundary: &Boundary, shape: &BoundaryShape) -> FitReport {
        let (seen, _) = self.observations(shape);
        FitReport::from_volume(self.volume, self.levels, &seen, boundary, shape)
    }

    /// Returns the standard deviation of the step's blur in a direction: the picture's blur, with the voxel's box and interpolation.
    fn width(&self, normal: &Vec3) -> f64 {
        let box_and_tent = normal.component_mul(&self.volume.spacing()).norm_squared() / 4.0;
        (self.blur * self.blur + box_and_tent).sqrt()
    }

    /// Compares the profile at a boundary vertex: returns half its weighted squared differences, their gradient and the Gauss-Newton block.
    fn compare_profile(&self, y: &Vec3, normal: &Vec3, radius: f64) -> (f64, Vec3, Mat3) {
        let Levels { inside, outside } = self.levels;
        let height = inside - outside;
        let width = self.width(normal);
        let (mut energy, mut gradient, mut block) = (0.0, Vec3::zeros(), Mat3::zeros());
        for (x, weight) in profile_points() {
            let t = x * PROFILE_HALF_LENGTH * radius;
            let Some((value, slope)) = self.volume.sample(&(y + normal * t)) else {
                // Unknown there; moving there must not lower the energy.
                energy += 0.5 * weight;
                continue;
            };
            let expected = outside + height * normal_cdf(-t / width);
            let difference = (value - expected) / height;
            let slope = slope / height;
            energy += 0.5 * weight * difference * difference;
            gradient += slope * (weight * difference);
            block += slope * slope.transpose() * weight;
        }
        (energy, gradient, block)
    }

    /// Compares the profiles at all vertices.
    fn compare_profiles(&self, shape: &BoundaryShape) -> Vec<(f64, Vec3, Mat3)> {
        (0..shape.positions.len())
            .into_par_iter()
            .with_min_len(64)
            .map(|v| self.compare_profile(&shape.positions[v], &shape.normals[v], self.radii[v]))
            .collect()
    }
}

/// Returns the mean squared slope over a profile of a blurred step of height one.
fn ideal_slope(width: f64, radius: f64) -> f64 {
    let slope =
        |t: f64| (-0.5 * (t / width).powi(2)).exp() / (width * std::f64::consts::TAU.sqrt());
    profile_points()
        .iter()
        .map(|(x, w)| w * slope(x * PROFILE_HALF_LENGTH * radius).powi(2))
        .sum::<f64>()
        .max(1e-12 / (radius * radius))
}

impl ObservedTarget for VolumeLikelihood<'_> {
    /// Returns the distance of each vertex along its normal from where the step is steepest.
    fn observations(&self, shape: &BoundaryShape) -> (Vec<Observation>, f64) {
        let mut corner = vec![None; shape.positions.len()];
        for (t, triangle) in (0u32..).zip(self.triangles) {
            for (k, &v) in triangle.iter().enumerate() {
                corner[v as usize].get_or_insert((t, k));
            }
        }
        let mut sum = 0.0;
        let mut all = Vec::new();
        for (v, (energy, gradient, block)) in self.compare_profiles(shape).into_iter().enumerate() {
            let normal = shape.normals[v];
            let (width, radius) = (self.width(&normal), self.radii[v]);
            // Reference: an ideal step's squared slopes under the same weights.
            let ideal = ideal_slope(width, radius);
            sum += self.areas[v] * energy / ideal;
            let (slope, square) = (gradient.dot(&normal), normal.dot(&(block * normal)));
            let Some((triangle, k)) = corner[v] else {
                continue;
            };
            let mut directions = [Vec3::zeros(); 3];
            directions[k] = normal;
            // Steeper than expected is noise, flatter is hardly a step: neither locates the boundary well.
            let sure = (square / ideal).min(1.0);
            let farthest = 0.5 * PROFILE_HALF_LENGTH * radius;
            all.push(Observation {
                distance: (-slope / square.max(0.2 * ideal)).clamp(-farthest, farthest),
                weight: self.areas[v] * sure,
                triangle,
                directions,
                radius,
            });
        }
        (all, sum)
    }
}

impl Likelihood for VolumeLikelihood<'_> {
    fn evidence(&self, shape: &BoundaryShape) -> Evidence {
        let scale = self.observations / (self.deviation * self.deviation);
        let mut energy = 0.0;
        let mut gradient = Vec::with_capacity(shape.positions.len());
        let mut blocks = Vec::with_capacity(shape.positions.len());
        for (v, (e, g, b)) in (0u32..).zip(self.compare_profiles(shape)) {
            let weight = scale * self.areas[v as usize];
            energy += weight * e;
            gradient.push(g * weight);
            blocks.push((v, v, b * weight));
        }
        Evidence {
            energy,
            reported: energy,
            gradient,
            blocks,
        }
    }
}

/// Estimates the levels on both sides of a boundary: medians of values a third to two thirds of a radius away from it. Only its thicker half counts,
/// as a blurred thin body does not reach its level.
fn estimate_levels(volume: &Volume, shape: &BoundaryShape) -> Result<Levels, MRepError> {
    let mut radii = shape.radii.clone();
    radii.sort_by(f64::total_cmp);
    let least = radii[radii.len() / 2];
    let thick = (shape.positions.iter().zip(&shape.normals).zip(&shape.radii))
        .filter(|(_, r)| **r >= least);
    let places = thick.clone().count();
    let side = |shares: [f64; 3]| {
        let mut values = Vec::new();
        for ((y, n), r) in thick.clone() {
            let at = |share: &f64| {
                volume
                    .sample(&(y + n * (share * r)))
                    .map(|(value, _)| value)
            };
            values.extend(shares.iter().filter_map(at));
        }
        values.sort_by(f64::total_cmp);
        (values.get(values.len() / 2).copied(), values.len())
    };
    let (inside, seen) = side([-0.33, -0.5, -0.67]);
    let (outside, _) = side([0.33, 0.5, 0.67]);
    // At least half of the points have to lie in the volume: the rest of the boundary would be guessed.
    let (Some(inside), Some(outside), true) = (inside, outside, 2 * seen > 3 * places) else {
        return Err(MRepError::Outside {
            from: volume.origin().into(),
            to: far_corner(volume).into(),
        });
    };
    let (least, most) = (volume.values().iter())
        .fold((f32::INFINITY, f32::NEG_INFINITY), |(lo, hi), v| {
            (lo.min(*v), hi.max(*v))
        });
    let range = f64::from(most) - f64::from(least);
    if (inside - outside).abs() <= MIN_STEP_HEIGHT * range || range == 0.0 {
        return Err(MRepError::Target(format!(
            "the volume has no contrast at the model's boundary (about {inside:.4} inside and {outside:.4} outside, of a range of \
             {range:.4}): place the model on the body that it should find"
        )));
    }
    Ok(Levels { inside, outside })
}

fn far_corner(volume: &Volume) -> Vec3 {
    let [n, m, k] = volume.shape().map(|n| (n - 1) as f64);
    volume.origin() + Vec3::new(n, m, k).component_mul(&volume.spacing())
}

/// Returns the share of a standard normal distribution below `x`.
fn normal_cdf(x: f64) -> f64 {
    0.5 * libm::erfc(-x / std::f64::consts::SQRT_2)
}
