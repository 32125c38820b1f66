// SPDX-License-Identifier: MIT OR Apache-2.0
//! Quality of a fit.

use super::FigureFit;
use super::curved::CurvedMesh;
use super::offsets::Observation;
use super::target::SurfaceTarget;
use super::volume::Levels;
use crate::Vec3;
use crate::geometry::samples::even_points;
use crate::mrep::figures::boundary::{Boundary, BoundaryShape};
use crate::mrep::figures::figure::FigureKind;
use crate::mrep::volume::Volume;
use crate::surface::Surface;
use rayon::prelude::*;

/// Distances between a surface and a boundary, and the overlap of both bodies.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FitReport {
    /// Mean distance from the surface to the boundary, weighted by area, metres.
    pub mean: f64,
    /// Distance within which 99 % of the area lie, metres.
    pub ninety_nine: f64,
    /// Largest distance of a vertex, metres.
    pub largest: f64,
    /// Dice's coefficient: twice the shared volume over the sum of both; 1 for equal bodies. NaN where parts of the surface have different
    /// weights.
    pub dice: f64,
}

impl FitReport {
    /// Report without any comparison: all NaN.
    pub(super) const UNKNOWN: Self = Self {
        mean: f64::NAN,
        ninety_nine: f64::NAN,
        largest: f64::NAN,
        dice: f64::NAN,
    };

    pub(super) fn new(
        target: &SurfaceTarget<'_>,
        boundary: &Boundary,
        shape: &BoundaryShape,
    ) -> Self {
        let mesh = CurvedMesh::from_shape(shape, &boundary.triangles, &target.pieces);
        let welded = target.surface.welded();
        let far = |p: &Vec3| mesh.distance(p);
        let distances: Vec<Option<f64>> = welded
            .vertices
            .par_iter()
            .with_min_len(256)
            .map(far)
            .collect();
        let seen = (distances.into_iter().zip(&target.areas))
            .filter_map(|(d, area)| d.map(|d| (d, *area)))
            .collect();
        // The overlap is undefined for a part of a body.
        let dice = match target.has_uniform_weight() {
            true => dice(target.surface, shape, &boundary.triangles),
            false => f64::NAN,
        };
        Self::from_distances(seen, dice)
    }

    /// Measures a fit to a volume: distances of the boundary's vertices from the step along their normals, and the overlap with the voxels
    /// beyond the mean of both levels, in a box around the body.
    pub(super) fn from_volume(
        volume: &Volume,
        levels: Levels,
        seen: &[Observation],
        boundary: &Boundary,
        shape: &BoundaryShape,
    ) -> Self {
        let seen = seen.iter().map(|o| (o.distance.abs(), o.weight)).collect();
        let Ok(body) = Surface::new(shape.positions.clone(), boundary.triangles.clone()) else {
            return Self::from_distances(seen, f64::NAN);
        };
        let margin = Vec3::repeat(0.05 * body.size() + volume.voxel_size());
        let (lo, hi) = body.bounds();
        let middle = 0.5 * (levels.inside + levels.outside);
        let voxels = volume.voxels_in_box(&(lo - margin), &(hi + margin));
        let counts = voxels.into_par_iter().map(|(p, value)| {
            let seen = (value > middle) == (levels.inside > middle);
            (body.is_wound(p), seen)
        });
        Self::from_distances(seen, dice_coefficient(counts))
    }

    /// Computes the statistics of distances and weights.
    fn from_distances(mut seen: Vec<(f64, f64)>, dice: f64) -> Self {
        seen.retain(|(_, area)| *area > 0.0);
        seen.sort_by(|a, b| a.0.total_cmp(&b.0));
        let whole: f64 = seen.iter().map(|(_, area)| area).sum();
        let mean = seen.iter().map(|(d, area)| d * area).sum::<f64>() / whole;
        let mut sum = 0.0;
        let ninety_nine = seen.iter().find(|(_, area)| {
            sum += area;
            sum >= 0.99 * whole
        });
        let largest = seen.last().map_or(f64::NAN, |(d, _)| *d);
        Self {
            mean,
            ninety_nine: ninety_nine.map_or(largest, |(d, _)| *d),
            largest,
            dice,
        }
    }
}

impl FigureFit {
    /// Returns a sentence about the model `name` if the target is not a body of its figure's kind.
    pub fn notes(&self, name: &str) -> Vec<String> {
        /// Largest mean distance of the target without a note, in mean radii.
        const MAX_DISTANCE_WITHOUT_NOTE: f64 = 0.1;
        /// The same for a part of a body, whose neighbouring skin belongs to it only in part.
        const MAX_PART_DISTANCE_WITHOUT_NOTE: f64 = 0.25;
        let coarse = ["similarity", "object", "sections"];
        let last = self.stages.last();
        let Some(stage) = last.filter(|s| !coarse.contains(&&s.name[..])) else {
            return Vec::new();
        };
        let FitReport { mean, dice, .. } = stage.report;
        let radius = self.figure.mean_radius();
        let most = if dice.is_nan() {
            MAX_PART_DISTANCE_WITHOUT_NOTE
        } else {
            MAX_DISTANCE_WITHOUT_NOTE
        };
        if mean.is_nan() || mean <= most * radius {
            return Vec::new();
        }
        let (what, why) = match self.figure.kind() {
            FigureKind::Slab { rows, cols } => (
                format!("the slab '{name}' of {rows} x {cols} atoms"),
                "has a hole or is as narrow as it is thick is not a slab: use a tube",
            ),
            FigureKind::Tube { atoms, .. } => (
                format!("the tube '{name}' of {atoms} atoms"),
                "closes to a ring or is much wider than thick is not a tube: use a slab",
            ),
        };
        vec![format!(
            "{what} does not model its target: that is {:.3} mm away on average, and the mean radius is {:.3} mm. A \
             target that branches, {why}, or fit one part by its weights; where the model is only too coarse, use more atoms.",
            1e3 * mean,
            1e3 * radius
        )]
    }
}

/// Returns Dice's coefficient of pairs of memberships.
fn dice_coefficient(pairs: impl ParallelIterator<Item = (bool, bool)>) -> f64 {
    let counts = pairs
        .map(|(a, b)| [usize::from(a && b), usize::from(a) + usize::from(b)])
        .reduce(|| [0; 2], |a, b| [a[0] + b[0], a[1] + b[1]]);
    2.0 * counts[0] as f64 / counts[1].max(1) as f64
}

/// Number of points at which the overlap is sampled. At a share of one half the standard error is 0.006 for random points.
const OVERLAP_SAMPLES: usize = 8_000;

/// Returns Dice's coefficient of both bodies, sampled.
fn dice(target: &Surface, shape: &BoundaryShape, triangles: &[[u32; 3]]) -> f64 {
    let Ok(body) = Surface::new(shape.positions.clone(), triangles.to_vec()) else {
        return f64::NAN;
    };
    let ((a, b), (c, d)) = (target.bounds(), body.bounds());
    let (lo, hi) = (a.inf(&c), b.sup(&d));
    dice_coefficient(even_points(OVERLAP_SAMPLES).into_par_iter().map(|x| {
        let p = lo + (hi - lo).component_mul(&x);
        (body.is_wound(p), target.is_wound(p))
    }))
}
