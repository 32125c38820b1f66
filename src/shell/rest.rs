// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rest quantities of a shell: lengths, areas and angles at rest, and the stiffness of each part.
//!
//! With k = 2 k_L/|ē|, 2 k_A/Ā and 6 k_B |ē|²/(Ā₁ + Ā₂) every part's energy is half of k times a squared difference. k_L, k_A and k_B are
//! those of the material times u³, u² and u⁴ of its unit u ([`size`](super::size)).
//!
//! The factors k divide by lengths and areas. Nearly degenerate edges and triangles would drown all others in rounding, so they count as
//! a little larger ([`MIN_EDGE_LENGTH_RATIO`], [`MIN_HEIGHT_RATIO`]). This affects only the factors: differences are taken from the actual
//! rest values, so the energy at rest is exactly zero. A triangle without height has no angle with its neighbours. So below that bound the
//! factor of a hinge falls with the square of its triangles' height, to zero.

use super::hinge::angle;
use super::material::ShellMaterial;
use super::membrane::{EdgeGeometry, FaceGeometry};
use super::mesh::ShellMesh;
use crate::Vec3;
use rayon::prelude::*;

/// Lower bound of an edge's length in its factor, as a share of the mean length.
pub(super) const MIN_EDGE_LENGTH_RATIO: f64 = 1e-6;
/// Lower bound of a triangle's height in its factor, as a share of its longest side.
pub(super) const MIN_HEIGHT_RATIO: f64 = 1e-3;

/// Rest data of an edge, a face or a hinge.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct PartRest {
    /// Length, area or angle at rest.
    pub rest: f64,
    /// k: twice the energy per squared change.
    pub k: f64,
    /// Rest length or area with its lower bound; of a hinge, the length of its edge.
    pub scale: f64,
}

/// Rest data of all parts.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ShellRest {
    pub edges: Vec<PartRest>,
    pub faces: Vec<PartRest>,
    pub hinges: Vec<PartRest>,
    /// Mean length of the edges, m.
    pub length: f64,
    /// Number of edges below the lower bound.
    pub short: usize,
    /// Number of faces below the lower bound.
    pub thin: usize,
}

impl ShellRest {
    /// Computes the rest data of a mesh with rest positions `x`. Where all edges are points, all factors are zero.
    pub fn new(mesh: &ShellMesh, material: &ShellMaterial, x: &[Vec3]) -> Self {
        let at = |v: u32| x[v as usize];
        let unit = material.unit.unwrap_or(1.0);
        let [per_length, per_area, per_angle] = [3, 2, 4].map(|power| unit.powi(power));
        let lengths: Vec<f64> = mesh
            .edges
            .par_iter()
            .map(|ends| EdgeGeometry::new(ends.map(at)).length)
            .collect();
        let length = lengths.iter().sum::<f64>() / lengths.len() as f64;
        let least = (MIN_EDGE_LENGTH_RATIO * length).max(f64::MIN_POSITIVE.sqrt());
        let edges: Vec<PartRest> = mesh
            .edges
            .par_iter()
            .zip(&lengths)
            .map(|(ends, &rest)| {
                let scale = rest.max(least);
                let k = 2.0 * per_length * material.stretching.mean(ends) / scale;
                PartRest { rest, k, scale }
            })
            .collect();
        // Longest side and area of each face.
        let sizes: Vec<(f64, f64)> = mesh
            .faces
            .par_iter()
            .map(|&[a, b, c]| {
                let [a, b, c] = [a, b, c].map(at);
                let longest = (b - a).norm().max((c - b).norm()).max((a - c).norm());
                (longest.max(least), FaceGeometry::new([a, b, c]).area)
            })
            .collect();
        let floor = |longest: f64| 0.5 * MIN_HEIGHT_RATIO * longest * longest;
        let faces: Vec<PartRest> = mesh
            .faces
            .par_iter()
            .zip(&sizes)
            .map(|(corners, &(longest, rest))| {
                let scale = rest.max(floor(longest));
                let k = 2.0 * per_area * material.area.mean(corners) / scale;
                PartRest { rest, k, scale }
            })
            .collect();
        let hinges = mesh
            .hinges
            .par_iter()
            .zip(&mesh.wings)
            .map(|(corners, wings)| {
                let ends = [corners[0], corners[1]];
                let long = EdgeGeometry::new(ends.map(at)).length;
                let scale = long.max(least);
                let mut k = 6.0 * per_angle * material.bending.mean(&ends) * long * long
                    / wings.map(|w| faces[w as usize].scale).iter().sum::<f64>();
                for &wing in wings {
                    let (longest, area) = sizes[wing as usize];
                    let height = 2.0 * area / scale;
                    k *= (height / (MIN_HEIGHT_RATIO * longest)).min(1.0).powi(2);
                }
                let rest = angle(corners.map(at));
                PartRest { rest, k, scale }
            })
            .collect();
        Self {
            short: lengths.iter().filter(|l| **l < least).count(),
            thin: sizes.iter().filter(|(l, a)| *a < floor(*l)).count(),
            edges,
            faces,
            hinges,
            length,
        }
    }

    /// Returns the mass of each vertex: density times a third of the area of each face around it. Also returns the number of vertices
    /// whose mass was raised to a small share of the mean.
    pub fn masses(&self, mesh: &ShellMesh, material: &ShellMaterial) -> (Vec<f64>, usize) {
        /// Lower bound of a mass, as a share of the mean.
        const MIN_MASS_RATIO: f64 = 1e-6;
        let mut masses = vec![0.0; mesh.nodes];
        let distribute = |masses: &mut [f64], area: fn(&PartRest) -> f64| {
            for (corners, part) in mesh.faces.iter().zip(&self.faces) {
                let third = material.density.mean(corners) * area(part) / 3.0;
                corners.iter().for_each(|&v| masses[v as usize] += third);
            }
        };
        distribute(&mut masses, |part| part.rest);
        let sum: f64 = masses.iter().sum();
        if sum <= 0.0 {
            // No triangle with a density has an area: take the bounded areas.
            distribute(&mut masses, |part| part.scale);
        }
        let mean = masses.iter().sum::<f64>() / masses.len() as f64;
        let least = if mean > 0.0 {
            MIN_MASS_RATIO * mean
        } else {
            1.0
        };
        let light = masses.iter().filter(|m| **m < least).count();
        masses.iter_mut().for_each(|m| *m = m.max(least));
        (masses, light)
    }
}
