// SPDX-License-Identifier: MIT OR Apache-2.0
//! Several figures with names, and one boundary around all of them, blended where they branch.

use super::boundary::Boundary;
use super::error::MRepError;
use super::figure::Figure;
use super::marching;
use crate::progress::{Progress, step};
use crate::surface::{DistanceGrid, Surface};
use crate::{Mat3, Vec3, aabb};
use rayon::prelude::*;

/// Level of the boundaries whose distances are taken.
const LEVEL: u32 = 2;
/// Most nodes of the grid.
const MOST: f64 = 4e6;
/// Figures that overlap by less than this part of the thinner one's mean radius are beside each other.
const DEEP: f64 = 0.1;
/// Finest level.
const HIGHEST: u32 = 6;

/// Figures that make one body: a torso and its limbs, a hand and its fingers.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Model {
    /// Their names and themselves, in the order they were joined in.
    pub figures: Vec<(String, Figure)>,
}

impl Model {
    /// Figures under names of their own.
    ///
    /// # Errors
    /// None at all, more or fewer names than figures, empty names or ones that occur twice.
    pub fn join(figures: Vec<Figure>, names: Vec<String>) -> Result<Self, MRepError> {
        if names.len() != figures.len() {
            return Err(MRepError::Length {
                what: "the list of names",
                found: names.len(),
                expected: figures.len(),
            });
        }
        let setting = |value: &str, range| MRepError::Setting {
            name: "the name of a figure",
            value: format!("'{value}'"),
            range,
        };
        for (i, name) in names.iter().enumerate() {
            if name.is_empty() {
                return Err(setting(name, "one that is not empty"));
            }
            if names[..i].contains(name) {
                return Err(setting(name, "one that no other figure has"));
            }
        }
        if figures.is_empty() {
            return Err(MRepError::Count {
                what: "the list of figures",
                found: 0,
                least: 1,
                most: usize::MAX,
            });
        }
        Ok(Self {
            figures: names.into_iter().zip(figures).collect(),
        })
    }

    /// One closed mesh around all figures: vertices, and triangles counter-clockwise from outside.
    ///
    /// Where figures overlap they are blended over `blend` times the thinner one's mean radius (0: creases); those that are only beside
    /// each other are not. At `level` l the mesh has edges of about the thinnest figure's mean radius over 2^l, or of what four million
    /// nodes of a grid allow. The boundary of one figure alone is its own.
    ///
    /// # Errors
    /// A blend that is negative or above 4, a level above 6, a stop by the progress.
    pub fn boundary(
        &self,
        level: u32,
        blend: f64,
        progress: &dyn Progress,
    ) -> Result<(Vec<Vec3>, Vec<[u32; 3]>), MRepError> {
        if !(0.0..=4.0).contains(&blend) {
            return Err(MRepError::Setting {
                name: "the blend",
                value: blend.to_string(),
                range: "between 0 and 4",
            });
        }
        let [(_, first), rest @ ..] = &self.figures[..] else {
            return Ok(Default::default());
        };
        if rest.is_empty() {
            let boundary = Boundary::new(first, level)?;
            return Ok((boundary.positions(first), boundary.triangles));
        }
        if level > HIGHEST {
            return Err(MRepError::Setting {
                name: "the level of a boundary around several figures",
                value: level.to_string(),
                range: "at most 6",
            });
        }
        // In the axes and the size of an atom, so that the grid goes along with the model.
        let atom = &first.atoms()[0];
        let (turn, size) = (atom.frame.transpose(), atom.radius);
        let figures: Vec<Figure> = (self.figures.iter())
            .map(|(_, figure)| figure.transformed(1.0 / size, &turn, -(turn * atom.hub) / size))
            .collect();
        let (vertices, triangles) = blended(&figures, level, blend, progress)?;
        let back = |p: Vec3| atom.frame * p * size + atom.hub;
        Ok((vertices.into_iter().map(back).collect(), triangles))
    }

    /// The model after a similarity: `x → scale · turn · x + shift`.
    pub fn transformed(&self, scale: f64, turn: &Mat3, shift: Vec3) -> Self {
        let moved = |(name, figure): &(String, Figure)| {
            (name.clone(), figure.transformed(scale, turn, shift))
        };
        Self {
            figures: self.figures.iter().map(moved).collect(),
        }
    }
}

/// Mean of a figure's radii.
fn mean_radius(figure: &Figure) -> f64 {
    let atoms = figure.atoms();
    atoms.iter().map(|a| a.radius).sum::<f64>() / atoms.len() as f64
}

/// Two figures that overlap: where, and how far from there.
struct Overlap {
    pair: [usize; 2],
    centre: Vec3,
    reach: f64,
    /// The thinner one's mean radius.
    radius: f64,
}

fn blended(
    figures: &[Figure],
    level: u32,
    blend: f64,
    progress: &dyn Progress,
) -> Result<(Vec<Vec3>, Vec<[u32; 3]>), MRepError> {
    let radii: Vec<f64> = figures.iter().map(mean_radius).collect();
    let mut sorted = radii.clone();
    sorted.sort_by(f64::total_cmp);
    // Of two figures the thinner counts: the widest blend is that of the two thickest.
    let (thinnest, widest) = (sorted[0], blend * sorted[sorted.len() - 2]);
    let surfaces: Vec<Surface> = (figures.iter())
        .map(|figure| {
            let boundary = Boundary::new(figure, LEVEL)?;
            Surface::new(boundary.positions(figure), boundary.triangles)
                .map_err(|e| MRepError::Target(format!("a figure's boundary is no surface: {e}")))
        })
        .collect::<Result<_, _>>()?;
    let (lo, hi) = aabb::bounds(surfaces.iter().flat_map(|s| <[Vec3; 2]>::from(s.bounds())));
    let coarsest = ((hi - lo).add_scalar(2.0 * widest).product() / MOST).cbrt();
    let spacing = (thinnest / f64::from(1u32 << level)).max(coarsest);
    let pad = Vec3::repeat(widest + 2.0 * spacing);
    let (lo, hi) = (lo - pad, hi + pad);
    // Grids know distances well enough where they do not count, and quickly.
    let near = widest + 2.0 * spacing;
    let mut grids = Vec::new();
    for (i, surface) in surfaces.iter().enumerate() {
        let done = 0.8 * i as f64 / surfaces.len() as f64;
        step(progress, done, "measuring distances from the figures")?;
        let silent = &crate::progress::Silent;
        grids.push(DistanceGrid::new(surface, spacing, near, silent)?);
    }
    step(progress, 0.8, "blending the figures")?;
    let nodes = (hi - lo).map(|x| (x / spacing).ceil() as usize + 1);
    let nodes = [nodes.x, nodes.y, nodes.z];
    let place = |k: usize| {
        let (i, j) = (k % nodes[0], k / nodes[0] % nodes[1]);
        lo + Vec3::new(i as f64, j as f64, (k / nodes[0] / nodes[1]) as f64) * spacing
    };
    let exact = |i: usize, p: &Vec3| -> f64 {
        // Beyond its box a figure is at least as far as that.
        let (lo, hi) = surfaces[i].bounds();
        let outside = (lo - p).sup(&(p - hi)).sup(&Vec3::zeros()).norm();
        if outside >= near {
            return outside;
        }
        let rough = grids[i].at(*p);
        if rough.abs() < near {
            surfaces[i].signed_distance(*p)
        } else {
            rough
        }
    };
    let overlaps = overlaps(&surfaces, spacing, &|[i, j]| radii[i].min(radii[j]), &exact);
    let value = |k: usize| {
        let p = place(k);
        let all: Vec<f64> = (0..surfaces.len()).map(|i| exact(i, &p)).collect();
        let least = all.iter().copied().fold(f64::INFINITY, f64::min);
        if widest == 0.0 || least > widest {
            return least;
        }
        let smooth = overlaps.iter().map(|overlap| {
            let ([a, b], width) = (overlap.pair.map(|i| all[i]), blend * overlap.radius);
            let far = (p - overlap.centre).norm() - overlap.reach;
            let near = (1.0 - far / (2.0 * width)).clamp(0.0, 1.0);
            let both = (1.0 - (a - b).abs() / width).max(0.0);
            a.min(b) - 0.25 * width * near * near * (3.0 - 2.0 * near) * both * both
        });
        smooth.fold(least, f64::min)
    };
    let count = nodes.iter().product::<usize>();
    let values: Vec<f64> = (0..count)
        .into_par_iter()
        .with_min_len(256)
        .map(value)
        .collect();
    step(progress, 0.9, "meshing the boundary")?;
    let (vertices, triangles) = marching::tetrahedra(&values, nodes);
    let placed = vertices.into_iter().map(|p| lo + p * spacing);
    Ok((placed.collect(), triangles))
}

/// Pairs of figures that are inside of each other, at some of so many places along each side of the box that both
/// have in common.
fn overlaps(
    surfaces: &[Surface],
    spacing: f64,
    radius: &(dyn Fn([usize; 2]) -> f64 + Sync),
    distance: &(dyn Fn(usize, &Vec3) -> f64 + Sync),
) -> Vec<Overlap> {
    const PLACES: f64 = 24.0;
    let pairs = (0..surfaces.len()).flat_map(|i| (i + 1..surfaces.len()).map(move |j| [i, j]));
    let pairs: Vec<[usize; 2]> = pairs.collect();
    let one = |pair: &[usize; 2]| {
        let [a, b] = pair.map(|i| surfaces[i].bounds());
        let (lo, hi) = (a.0.sup(&b.0), a.1.inf(&b.1));
        let span = hi - lo;
        if span.min() <= 0.0 {
            return None;
        }
        let step = (span.max() / PLACES).max(0.5 * spacing);
        let counts = span.map(|x| (x / step) as usize + 1);
        let places = (0..counts.product()).map(|k| {
            let at = [
                k % counts.x,
                k / counts.x % counts.y,
                k / counts.x / counts.y,
            ];
            // In the middle of its share of the box.
            lo + Vec3::from_fn(|axis, _| span[axis] * (at[axis] as f64 + 0.5) / counts[axis] as f64)
        });
        let both: Vec<Vec3> = places
            .filter(|p| pair.iter().all(|i| distance(*i, p) < -DEEP * radius(*pair)))
            .collect();
        if both.is_empty() {
            return None;
        }
        let centre = both.iter().sum::<Vec3>() / both.len() as f64;
        let far = both.iter().map(|p| (p - centre).norm());
        Some(Overlap {
            pair: *pair,
            centre,
            reach: far.fold(0.0, f64::max),
            radius: radius(*pair),
        })
    };
    pairs.par_iter().filter_map(one).collect()
}

#[cfg(test)]
mod tests;
