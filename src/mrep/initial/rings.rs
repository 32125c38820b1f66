// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rings: level sets of a function over a mesh, and the pieces of mesh between them.
//!
//! Successive values divide the mesh into pieces, which rings join. Pieces with one ring on either side form limbs, pieces with
//! more are branches, pieces with a single ring are tips. This is the Reeb graph of the function, at a finite number of values.
//! [biasotti2008, §4]

use crate::Vec3;
use crate::geometry::geodesic::GeodesicMesh;
use crate::geometry::sets::DisjointSets;
use std::collections::BTreeMap;

/// A connected component of a level set.
#[derive(Debug, Clone, Copy)]
pub(in crate::mrep) struct Ring {
    /// Index of its value in the levels.
    pub level: usize,
    /// Centroid of the curve.
    pub centre: Vec3,
    /// Length of the curve, metres.
    pub length: f64,
    /// Pieces on its sides of smaller and of larger values.
    pub pieces: [usize; 2],
}

/// All rings, level by level, and the number of pieces.
pub(in crate::mrep) struct Rings {
    pub rings: Vec<Ring>,
    pub pieces: usize,
}

impl Ring {
    /// Returns the radius of a circle of this length.
    pub fn radius(&self) -> f64 {
        self.length / std::f64::consts::TAU
    }
}

/// Numbering of the parts of triangles between levels: pairs (triangle, band).
struct TriangleBands {
    /// Lowest and highest band of each triangle.
    range: Vec<[usize; 2]>,
    /// Number of each triangle's lowest band.
    first: Vec<usize>,
    count: usize,
}

impl TriangleBands {
    fn new(mesh: &GeodesicMesh, band: &[usize]) -> Self {
        let range: Vec<[usize; 2]> = (mesh.triangles.iter())
            .map(|t| {
                let of = t.map(|v| band[v as usize]);
                [of[0].min(of[1]).min(of[2]), of[0].max(of[1]).max(of[2])]
            })
            .collect();
        let mut count = 0;
        let first = range.iter().map(|[lo, hi]| {
            count += hi - lo + 1;
            count - (hi - lo + 1)
        });
        Self {
            first: first.collect(),
            range,
            count,
        }
    }

    fn band_index(&self, triangle: usize, band: usize) -> usize {
        self.first[triangle] + band - self.range[triangle][0]
    }
}

impl Rings {
    /// Finds the rings of a function given at the vertices, at ascending `levels`.
    pub fn new(mesh: &GeodesicMesh, values: &[f64], levels: &[f64]) -> Self {
        let band: Vec<usize> = (values.iter())
            .map(|x| levels.partition_point(|level| level <= x))
            .collect();
        let bands = TriangleBands::new(mesh, &band);
        let mut pieces = DisjointSets::new(bands.count);
        // Triangles that share an edge share a ring's point wherever the edge crosses a level.
        let mut edges: BTreeMap<[u32; 2], u32> = BTreeMap::new();
        let mut points = DisjointSets::new(bands.count);
        for (t, corners) in mesh.triangles.iter().enumerate() {
            for k in 0..3 {
                let [a, b] = [corners[k], corners[(k + 1) % 3]];
                let other = *edges.entry([a.min(b), a.max(b)]).or_insert(t as u32) as usize;
                let [a, b] = [band[a as usize], band[b as usize]];
                let [lo, hi] = [a.min(b), a.max(b)];
                for band in lo..=hi {
                    let pair = [t, other].map(|t| bands.band_index(t, band) as u32);
                    pieces.join(pair[0], pair[1]);
                    // A band's number also stands for the level at its top in the sets of rings.
                    if band < hi {
                        points.join(pair[0], pair[1]);
                    }
                }
            }
        }
        let pieces = pieces.set_numbers();
        let mut sums: BTreeMap<(usize, u32), (Vec3, f64, [usize; 2])> = BTreeMap::new();
        for (t, corners) in mesh.triangles.iter().enumerate() {
            let [lo, hi] = bands.range[t];
            for (level, value) in levels.iter().enumerate().take(hi).skip(lo) {
                let number = bands.band_index(t, level);
                let ends = crossing(mesh, corners, values, &band, level, *value);
                let length = (ends[1] - ends[0]).norm();
                let above = bands.band_index(t, level + 1);
                let both = [number, above].map(|n| pieces[n] as usize);
                let root = points.root(number as u32);
                let sum = sums
                    .entry((level, root))
                    .or_insert((Vec3::zeros(), 0.0, both));
                sum.0 += (ends[0] + ends[1]) * (0.5 * length);
                sum.1 += length;
            }
        }
        let rings = sums.into_iter().filter(|(_, (_, length, _))| *length > 0.0);
        Self {
            rings: rings
                .map(|((level, _), (sum, length, pieces))| Ring {
                    level,
                    centre: sum / length,
                    length,
                    pieces,
                })
                .collect(),
            pieces: pieces.iter().max().map_or(0, |m| *m as usize + 1),
        }
    }
}

/// Returns the segment in which a level crosses a triangle, between corners of bands up to `below` and those above.
fn crossing(
    mesh: &GeodesicMesh,
    corners: &[u32; 3],
    values: &[f64],
    band: &[usize],
    below: usize,
    level: f64,
) -> [Vec3; 2] {
    let mut ends = [Vec3::zeros(); 2];
    let mut found = 0;
    for k in 0..3 {
        let [a, b] = [corners[k], corners[(k + 1) % 3]].map(|v| v as usize);
        if (band[a] <= below) != (band[b] <= below) && found < 2 {
            let t = (level - values[a]) / (values[b] - values[a]);
            ends[found] = mesh.vertices[a].lerp(&mesh.vertices[b], t.clamp(0.0, 1.0));
            found += 1;
        }
    }
    ends
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::surface::shapes::{sphere, torus};

    fn heights(shape: crate::surface::shapes::TestMesh, levels: &[f64]) -> Rings {
        let mesh = GeodesicMesh::new(shape.vertices, shape.triangles);
        let x: Vec<f64> = mesh.vertices.iter().map(|p| p.x).collect();
        Rings::new(&mesh, &x, levels)
    }

    /// A ball has one circular ring at each height.
    #[test]
    fn ball_has_one_ring_per_level() {
        let levels = [-0.8, -0.3, 0.1, 0.6];
        let found = heights(sphere(1.0, 60), &levels);
        assert_eq!((found.rings.len(), found.pieces), (4, 5));
        for ring in &found.rings {
            let x = levels[ring.level];
            assert!((ring.radius() - (1.0 - x * x).sqrt()).abs() < 5e-3);
            assert!((ring.centre - Vec3::x() * x).norm() < 1e-9);
            assert_ne!(ring.pieces[0], ring.pieces[1]);
        }
    }

    /// A torus has two rings at heights in its middle and one at each end.
    #[test]
    fn torus_has_two_middle_rings() {
        let found = heights(torus(1.0, 0.3, 48), &[-1.1, -0.3, 0.3, 1.1]);
        let at = |level| found.rings.iter().filter(move |r| r.level == level).count();
        assert_eq!([0, 1, 2, 3].map(at), [1, 2, 2, 1]);
        // Tips, a branch on either side, and two pieces between them.
        assert_eq!(found.pieces, 6);
    }
}
