// SPDX-License-Identifier: MIT OR Apache-2.0
//! One boundary around several figures: a smooth minimum of their signed distances on a grid, blended where they branch, and meshed.

use crate::Vec3;
use crate::geometry::aabb;
use crate::geometry::marching;
use crate::mrep::error::MRepError;
use crate::mrep::figures::boundary::mesh;
use crate::mrep::figures::figure::Figure;
use crate::progress::{Progress, Silent, report_progress};
use crate::surface::{DistanceGrid, Surface};
use rayon::prelude::*;

/// Level of the boundaries whose distances are measured. Four chords over a right angle are off by 2 % of the radius at most.
const DISTANCE_LEVEL: u32 = 2;
/// Largest number of grid nodes. 158 along each side of a cube. Their values take 32 MB.
const MAX_GRID_NODES: f64 = 4e6;
/// Least depth of an overlap that is blended, in mean radii of the thinner figure; shallower figures count as adjacent.
const MIN_OVERLAP_DEPTH: f64 = 0.1;

/// Region in which two figures overlap: the pair, and a sphere around it.
struct FigureOverlap {
    pair: [usize; 2],
    centre: Vec3,
    reach: f64,
    /// The thinner one's mean radius.
    radius: f64,
}

impl FigureOverlap {
    /// Returns the smooth minimum of both distances at a point, over a width of `blend` radii.
    fn blended_distance(&self, p: &Vec3, distances: &[f64], blend: f64) -> f64 {
        let ([a, b], width) = (self.pair.map(|i| distances[i]), blend * self.radius);
        let far = (p - self.centre).norm() - self.reach;
        let near = (1.0 - far / (2.0 * width)).clamp(0.0, 1.0);
        let both = (1.0 - (a - b).abs() / width).max(0.0);
        a.min(b) - 0.25 * width * near * near * (3.0 - 2.0 * near) * both * both
    }
}

/// Signed distances from figures, exact within `near` of them.
struct FigureDistances<'a> {
    surfaces: &'a [Surface],
    grids: Vec<DistanceGrid>,
    near: f64,
}

impl FigureDistances<'_> {
    fn distance(&self, figure: usize, p: &Vec3) -> f64 {
        // Outside its bounding box a figure is at least as far as the box.
        let (lo, hi) = self.surfaces[figure].bounds();
        let outside = (lo - p).sup(&(p - hi)).sup(&Vec3::zeros()).norm();
        if outside >= self.near {
            return outside;
        }
        let rough = self.grids[figure].distance_at(*p);
        if rough.abs() < self.near {
            self.surfaces[figure].signed_distance(*p)
        } else {
            rough
        }
    }
}

pub(in crate::mrep) fn blended_boundary(
    figures: &[Figure],
    level: u32,
    blend: f64,
    progress: &dyn Progress,
) -> Result<(Vec<Vec3>, Vec<[u32; 3]>), MRepError> {
    let radii: Vec<f64> = figures.iter().map(Figure::mean_radius).collect();
    let mut sorted = radii.clone();
    sorted.sort_by(f64::total_cmp);
    // The thinner figure of a pair sets its blend; the widest blend is that of the two thickest.
    let (thinnest, widest) = (sorted[0], blend * sorted[sorted.len() - 2]);
    let surfaces: Vec<Surface> = (figures.iter())
        .map(|figure| {
            report_progress(progress, 0.0, "boundary")?;
            let (vertices, triangles) = mesh(figure, DISTANCE_LEVEL, &Silent)?;
            Surface::new(vertices, triangles).map_err(|e| {
                MRepError::Target(format!("a figure's boundary is not a surface: {e}"))
            })
        })
        .collect::<Result<_, _>>()?;
    let (lo, hi) = aabb::bounds(surfaces.iter().flat_map(|s| <[Vec3; 2]>::from(s.bounds())));
    let coarsest = ((hi - lo).add_scalar(2.0 * widest).product() / MAX_GRID_NODES).cbrt();
    let spacing = (thinnest / f64::from(1u32 << level)).max(coarsest);
    let pad = Vec3::repeat(widest + 2.0 * spacing);
    let (lo, hi) = (lo - pad, hi + pad);
    // Away from the surface, where precision does not matter, the grid's distances are good enough and fast.
    let near = widest + 2.0 * spacing;
    let mut grids = Vec::new();
    for (i, surface) in surfaces.iter().enumerate() {
        let done = 0.8 * i as f64 / surfaces.len() as f64;
        report_progress(progress, done, "measuring distances from the figures")?;
        let silent = &crate::progress::Silent;
        grids.push(DistanceGrid::new(surface, spacing, near, silent)?);
    }
    report_progress(progress, 0.8, "blending the figures")?;
    let nodes = (hi - lo).map(|x| (x / spacing).ceil() as usize + 1);
    let nodes = [nodes.x, nodes.y, nodes.z];
    let place = |k: usize| {
        let (i, j) = (k % nodes[0], k / nodes[0] % nodes[1]);
        lo + Vec3::new(i as f64, j as f64, (k / nodes[0] / nodes[1]) as f64) * spacing
    };
    let distances = FigureDistances {
        surfaces: &surfaces,
        grids,
        near,
    };
    let exact = |i: usize, p: &Vec3| distances.distance(i, p);
    let overlaps = find_overlaps(&surfaces, spacing, &|[i, j]| radii[i].min(radii[j]), &exact);
    let value = |k: usize| {
        let p = place(k);
        let all: Vec<f64> = (0..surfaces.len()).map(|i| exact(i, &p)).collect();
        let least = all.iter().copied().fold(f64::INFINITY, f64::min);
        if widest == 0.0 || least > widest {
            return least;
        }
        let smooth = overlaps.iter().map(|o| o.blended_distance(&p, &all, blend));
        smooth.fold(least, f64::min)
    };
    let count = nodes.iter().product::<usize>();
    let values: Vec<f64> = (0..count)
        .into_par_iter()
        .with_min_len(256)
        .map(value)
        .collect();
    report_progress(progress, 0.9, "meshing the boundary")?;
    let (vertices, triangles) = marching::tetrahedra(&values, nodes);
    let placed = vertices.into_iter().map(|p| lo + p * spacing);
    Ok((placed.collect(), triangles))
}

/// Returns the pairs of figures whose interiors overlap, sampled on a grid in the intersection of their bounding boxes.
fn find_overlaps(
    surfaces: &[Surface],
    spacing: f64,
    radius: &(dyn Fn([usize; 2]) -> f64 + Sync),
    distance: &(dyn Fn(usize, &Vec3) -> f64 + Sync),
) -> Vec<FigureOverlap> {
    /// Samples along the longest side: an overlap as wide as a twelfth of it is met at two, and a pair takes 14,000 distances at
    /// most.
    const OVERLAP_SAMPLES: f64 = 24.0;
    let pairs = (0..surfaces.len()).flat_map(|i| (i + 1..surfaces.len()).map(move |j| [i, j]));
    let pairs: Vec<[usize; 2]> = pairs.collect();
    let one = |pair: &[usize; 2]| {
        let [a, b] = pair.map(|i| surfaces[i].bounds());
        let (lo, hi) = (a.0.sup(&b.0), a.1.inf(&b.1));
        let span = hi - lo;
        if span.min() <= 0.0 {
            return None;
        }
        let step = (span.max() / OVERLAP_SAMPLES).max(0.5 * spacing);
        let counts = span.map(|x| (x / step) as usize + 1);
        let places = (0..counts.product()).map(|k| {
            let at = [
                k % counts.x,
                k / counts.x % counts.y,
                k / counts.x / counts.y,
            ];
            // In the middle of its cell.
            lo + Vec3::from_fn(|axis, _| span[axis] * (at[axis] as f64 + 0.5) / counts[axis] as f64)
        });
        let both: Vec<Vec3> = places
            .filter(|p| {
                pair.iter()
                    .all(|i| distance(*i, p) < -MIN_OVERLAP_DEPTH * radius(*pair))
            })
            .collect();
        if both.is_empty() {
            return None;
        }
        let centre = both.iter().sum::<Vec3>() / both.len() as f64;
        let far = both.iter().map(|p| (p - centre).norm());
        Some(FigureOverlap {
            pair: *pair,
            centre,
            reach: far.fold(0.0, f64::max),
            radius: radius(*pair),
        })
    };
    pairs.par_iter().filter_map(one).collect()
}
