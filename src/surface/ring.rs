// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rings of skin around a line, such as the one under a belt.
//!
//! The section of a surface by a plane consists of curves, one in each connected run of triangles that the plane cuts. Triangles of the welded
//! copy are oriented alike, so that every curve has a direction. A curve goes around a point of the plane if the angles under which the point
//! sees its pieces sum to a full turn. Of several such curves, one around the other as of clothes in one mesh, the longest counts.

use super::{Surface, WeldedSurface};
use crate::Vec3;
use crate::geometry::sets::DisjointSets;
use std::collections::BTreeMap;
use std::f64::consts::PI;

/// A ring of skin around a point.
#[derive(Debug, Clone, PartialEq)]
pub struct SkinRing {
    /// Vertices of the surface's input on the ring, ascending.
    pub vertices: Vec<u32>,
    /// Length of the section, m.
    pub girth: f64,
    /// Centre of the section, m.
    pub centre: Vec3,
}

/// One curve of a section.
#[derive(Debug, Clone, Copy, Default)]
struct SectionCurve {
    length: f64,
    /// Integral of the place along the curve, m².
    moment: Vec3,
    /// Angle under which the point sees it, radians.
    angle: f64,
}

/// The section of a welded surface by a plane.
struct Section<'a> {
    places: &'a [Vec3],
    /// A point of the plane, and its unit normal.
    point: Vec3,
    normal: Vec3,
    /// Height of each welded vertex above the plane, m.
    heights: Vec<f64>,
    /// Edges that the plane cuts.
    edges: Vec<[u32; 2]>,
    /// Pieces of the section, each from one of these edges to another.
    pieces: Vec<(u32, u32)>,
}

impl<'a> Section<'a> {
    fn new(welded: &'a WeldedSurface, point: Vec3, normal: Vec3) -> Self {
        let places = welded.vertices.iter();
        let heights: Vec<f64> = places.map(|x| (x - point).dot(&normal)).collect();
        let mut numbers: BTreeMap<[u32; 2], u32> = BTreeMap::new();
        let (mut edges, mut pieces) = (Vec::new(), Vec::new());
        for triangle in &welded.triangles {
            let (mut down, mut up) = (None, None);
            for k in 0..3 {
                let (a, b) = (triangle[k], triangle[(k + 1) % 3]);
                let (above, then) = (heights[a as usize] >= 0.0, heights[b as usize] >= 0.0);
                if above != then {
                    let edge = [a.min(b), a.max(b)];
                    let number = *numbers.entry(edge).or_insert_with(|| {
                        edges.push(edge);
                        edges.len() as u32 - 1
                    });
                    *if above { &mut down } else { &mut up } = Some(number);
                }
            }
            pieces.extend(down.zip(up));
        }
        Self {
            places: &welded.vertices,
            point,
            normal,
            heights,
            edges,
            pieces,
        }
    }

    /// Returns the end of a cut edge that is nearer to the plane.
    fn nearer_end(&self, edge: usize) -> u32 {
        let [a, b] = self.edges[edge];
        let height = |v: u32| self.heights[v as usize].abs();
        if height(a) <= height(b) { a } else { b }
    }

    /// Returns where the plane cuts an edge.
    fn crossing(&self, edge: u32) -> Vec3 {
        let [a, b] = self.edges[edge as usize].map(|v| v as usize);
        let share = self.heights[a] / (self.heights[a] - self.heights[b]);
        self.places[a] + (self.places[b] - self.places[a]) * share
    }

    /// Sums the curves by the smallest cut edge of each.
    fn curves(&self, sets: &mut DisjointSets) -> BTreeMap<u32, SectionCurve> {
        let mut curves: BTreeMap<u32, SectionCurve> = BTreeMap::new();
        for &(a, b) in &self.pieces {
            let curve = curves.entry(sets.root(a)).or_default();
            let (from, to) = (self.crossing(a), self.crossing(b));
            let length = (to - from).norm();
            curve.length += length;
            curve.moment += (from + to) * (0.5 * length);
            let (u, v) = (from - self.point, to - self.point);
            curve.angle += u.cross(&v).dot(&self.normal).atan2(u.dot(&v));
        }
        curves
    }
}

impl Surface {
    /// Returns the skin around a point in the plane across `axis`: the vertices within half of `width` (m) of the plane that hang together with
    /// the section, and at any width the nearer end of each edge that the plane cuts. `None`: no section goes around the point, or the axis is
    /// no direction.
    pub fn ring(&self, point: Vec3, axis: Vec3, width: f64) -> Option<SkinRing> {
        let normal = axis.try_normalize(f64::MIN_POSITIVE)?;
        let section = Section::new(&self.welded, point, normal);
        let mut sets = DisjointSets::new(section.edges.len());
        for &(a, b) in &section.pieces {
            sets.join(a, b);
        }
        let curves = section.curves(&mut sets);
        let around = curves.iter().filter(|(_, curve)| curve.angle.abs() > PI);
        let (&root, curve) =
            around.max_by(|a, b| a.1.length.total_cmp(&b.1.length).then(b.0.cmp(a.0)))?;
        let own = (0..section.edges.len()).filter(|&e| sets.root(e as u32) == root);
        let first = own.map(|e| section.nearer_end(e)).collect();
        Some(SkinRing {
            vertices: self.grown_band(first, &section.heights, 0.5 * width),
            girth: curve.length,
            centre: curve.moment / curve.length,
        })
    }

    /// Returns the input vertices of a band that grows from welded vertices over edges, as far as `reach` from the plane.
    fn grown_band(&self, first: Vec<u32>, heights: &[f64], reach: f64) -> Vec<u32> {
        let welded = &self.welded;
        let mut inside = vec![false; welded.vertices.len()];
        first.iter().for_each(|&v| inside[v as usize] = true);
        let near = |v: u32| heights[v as usize].abs() <= reach;
        let mut grows = reach > 0.0;
        while grows {
            grows = false;
            for triangle in &welded.triangles {
                if !triangle.iter().any(|&v| inside[v as usize]) {
                    continue;
                }
                for &v in triangle {
                    if !inside[v as usize] && near(v) {
                        inside[v as usize] = true;
                        grows = true;
                    }
                }
            }
        }
        let inputs = welded.first_input_vertices();
        let mut band: Vec<u32> = (0..inside.len())
            .filter(|&v| inside[v])
            .map(|v| inputs[v])
            .collect();
        band.sort_unstable();
        band
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::surface::shapes;

    /// Returns a tube of `rings` rings of 24 vertices around z, of radius `r` and 1 m long, at x.
    fn tube(x: f64, r: f64, rings: usize) -> (Vec<Vec3>, Vec<[u32; 3]>) {
        let n = 24;
        let at = |i: usize, k: usize| {
            let angle = std::f64::consts::TAU * k as f64 / n as f64;
            Vec3::new(
                x + r * angle.cos(),
                r * angle.sin(),
                i as f64 / (rings - 1) as f64,
            )
        };
        let places = (0..rings)
            .flat_map(|i| (0..n).map(move |k| at(i, k)))
            .collect();
        let mut triangles = Vec::new();
        for i in 0..rings - 1 {
            for k in 0..n {
                let v = |i: usize, k: usize| (i * n + k % n) as u32;
                triangles.push([v(i, k), v(i, k + 1), v(i + 1, k + 1)]);
                triangles.push([v(i, k), v(i + 1, k + 1), v(i + 1, k)]);
            }
        }
        (places, triangles)
    }

    /// The ring of a tube is its row of vertices, as long as its polygon, around its centre, whatever stands beside or inside.
    #[test]
    fn ring_goes_around_line() {
        let (mut places, mut triangles) = tube(0.0, 0.3, 11);
        for (x, r) in [(0.0, 0.2), (1.0, 0.4)] {
            let (others, more) = tube(x, r, 11);
            let first = places.len() as u32;
            places.extend(others);
            triangles.extend(more.iter().map(|t| t.map(|v| v + first)));
        }
        let surface = Surface::new(places.clone(), triangles).unwrap();
        let ring = surface
            .ring(Vec3::new(0.05, 0.02, 0.52), Vec3::z() * 3.0, 0.0)
            .unwrap();
        assert_eq!(ring.vertices, (5 * 24..6 * 24).collect::<Vec<u32>>());
        let side = 2.0 * 0.3 * (PI / 24.0).sin();
        approx::assert_relative_eq!(ring.girth, 24.0 * side, max_relative = 0.02);
        assert!(ring.girth >= 24.0 * side * 0.99);
        assert!((ring.centre - Vec3::new(0.0, 0.0, 0.52)).norm() < 1e-3);
        let wide = surface
            .ring(Vec3::new(0.0, 0.0, 0.5), Vec3::z(), 0.21)
            .unwrap();
        assert_eq!(wide.vertices, (4 * 24..7 * 24).collect::<Vec<u32>>());
        for (point, axis) in [
            (Vec3::new(0.5, 0.0, 0.5), Vec3::z()),
            (Vec3::new(0.0, 0.0, 3.0), Vec3::z()),
            (Vec3::new(0.0, 0.0, 0.5), Vec3::zeros()),
            (Vec3::new(0.0, 0.0, 0.5), Vec3::repeat(f64::NAN)),
        ] {
            assert_eq!(surface.ring(point, axis, 0.1), None, "{point} {axis}");
        }
    }

    /// A moved and turned surface has the moved and turned ring.
    #[test]
    fn ring_moves_with_surface() {
        let shapes::TestMesh {
            vertices: places,
            triangles,
        } = shapes::sphere(1.0, 6);
        let surface = Surface::new(places.clone(), triangles.clone()).unwrap();
        let by = nalgebra::Isometry3::new(Vec3::new(4.0, -2.0, 1.0), Vec3::new(0.4, 1.0, -0.3));
        let moved = places
            .iter()
            .map(|x| (by * nalgebra::Point3::from(*x)).coords);
        let moved = Surface::new(moved.collect(), triangles).unwrap();
        let point = Vec3::new(0.1, -0.1, 0.23);
        let axis = Vec3::new(0.1, 0.3, 1.0);
        let one = surface.ring(point, axis, 0.3).unwrap();
        let other = moved
            .ring(
                (by * nalgebra::Point3::from(point)).coords,
                by.rotation * axis,
                0.3,
            )
            .unwrap();
        assert_eq!(one.vertices, other.vertices);
        approx::assert_relative_eq!(one.girth, other.girth, max_relative = 1e-9);
        assert!(((by * nalgebra::Point3::from(one.centre)).coords - other.centre).norm() < 1e-9);
    }
}
