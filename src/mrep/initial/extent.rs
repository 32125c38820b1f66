// SPDX-License-Identifier: MIT OR Apache-2.0
//! Ellipsoid of a body: its centre, its axes and their ratios from the second moments, and its volume.

use crate::geometry::matrix::principal_axes;
use crate::geometry::moments::integrals;
use crate::geometry::sets::DisjointSets;
use crate::mrep::error::MRepError;
use crate::surface::{Surface, TriangleRole};
use crate::{Mat3, Vec3};
use std::collections::BTreeMap;
use std::f64::consts::TAU;

/// Skewness along an axis above which it decides the axis's sign. It is a thousand times the rounding of vertices in single precision, 1e-7, and far
/// below a cone's skewness, 0.86.
const MIN_SKEWNESS: f64 = 1e-4;

/// An ellipsoid: centre, axes (columns of a rotation, the longest first), and half axes.
pub(in crate::mrep) struct Ellipsoid {
    pub centre: Vec3,
    pub axes: Mat3,
    pub half: [f64; 3],
}

/// Returns the integral of the third power of the coordinate along an axis.
fn third_moment(triangles: &[[Vec3; 3]], axis: &Vec3) -> f64 {
    let one = |[a, b, c]: &[Vec3; 3]| {
        let volume = a.dot(&b.cross(c)) / 6.0;
        let [p, q, r] = [a, b, c].map(|x| x.dot(axis));
        // Sum of all products of three corner coordinates, each once.
        let two = |x: f64, y: f64| x * x + x * y + y * y;
        let all = p * p * p + p * p * (q + r) + p * two(q, r) + (q + r) * (q * q + r * r);
        volume * all / 20.0
    };
    triangles.iter().map(one).sum()
}

/// Returns triangles that close the holes of a mesh: cones from each rim to its centroid.
fn closing_triangles(vertices: &[Vec3], triangles: &[[u32; 3]]) -> Vec<[Vec3; 3]> {
    // Directed uses of each edge, less those in the opposite direction.
    let mut edges: BTreeMap<[u32; 2], i32> = BTreeMap::new();
    for t in triangles {
        for k in 0..3 {
            let (a, b) = (t[k], t[(k + 1) % 3]);
            *edges.entry([a.min(b), a.max(b)]).or_default() += if a < b { 1 } else { -1 };
        }
    }
    let rims: Vec<([u32; 2], i32)> = edges.into_iter().filter(|(_, n)| *n != 0).collect();
    let mut sets = DisjointSets::new(vertices.len());
    for ([a, b], _) in &rims {
        sets.join(*a, *b);
    }
    let mut middles: BTreeMap<u32, (Vec3, f64)> = BTreeMap::new();
    for ([a, b], _) in &rims {
        let [p, q] = [a, b].map(|v| vertices[*v as usize]);
        let sum = middles.entry(sets.root(*a)).or_default();
        sum.0 += (p + q) * (0.5 * (p - q).norm());
        sum.1 += (p - q).norm();
    }
    let lid = |([a, b], left): ([u32; 2], i32)| {
        let (sum, length) = middles.get(&sets.root(a)).copied().unwrap_or_default();
        let [p, q] = [a, b].map(|v| vertices[v as usize]);
        let one = if left > 0 {
            [q, p, sum / length]
        } else {
            [p, q, sum / length]
        };
        std::iter::repeat_n(one, left.unsigned_abs() as usize)
    };
    rims.into_iter().flat_map(lid).collect()
}

impl Ellipsoid {
    /// Fits an ellipsoid to the volume that a surface's skin bounds, with holes closed by cones. The two strongest skewnesses set the axes' signs, so
    /// that the axes turn with the body. Where the body is symmetric, the largest coordinate of an axis sets its sign.
    ///
    /// # Errors
    /// A surface that bounds no volume.
    pub fn from_surface(surface: &Surface) -> Result<Self, MRepError> {
        let welded = surface.welded();
        let skin = surface.triangle_roles().iter().zip(&welded.triangles);
        let skin = skin.filter(|(role, _)| **role == TriangleRole::Skin);
        let skin: Vec<[u32; 3]> = skin.map(|(_, t)| *t).collect();
        let corners = skin.iter().map(|t| t.map(|v| welded.vertices[v as usize]));
        let mut triangles: Vec<[Vec3; 3]> = corners.collect();
        triangles.extend(closing_triangles(&welded.vertices, &skin));
        let refuse = |what: &str| Err(MRepError::Target(what.into()));
        if triangles.is_empty() {
            return refuse(
                "the surface bounds no volume (it is a sheet): close it, or give it thickness, before a figure is put into it",
            );
        }
        // Moments are about the skin's centroid and in units of its size, to reduce the effect of gaps and rounding.
        let size = surface.size();
        let (mut middle, mut area) = (Vec3::zeros(), 0.0);
        for [a, b, c] in &triangles {
            let own = (b - a).cross(&(c - a)).norm();
            area += own;
            middle += (a + b + c) * (own / 3.0);
        }
        middle /= area;
        let shift = |triangles: &mut [[Vec3; 3]], origin: Vec3, scale: f64| {
            let moved = triangles.iter_mut().flatten();
            moved.for_each(|x| *x = (*x - origin) / scale);
        };
        shift(&mut triangles, middle, size);
        let (volume, first, _) = integrals(triangles.iter().copied());
        if volume <= 1e-9 {
            return refuse(
                "the surface bounds next to no volume: close it, or give it thickness, before a figure is put into it",
            );
        }
        let centre = first / volume;
        shift(&mut triangles, centre, 1.0);
        let (volume, _, second) = integrals(triangles.iter().copied());
        let (mut axes, variances) = principal_axes(&(second / volume));
        if variances[2].is_nan() || variances[2] <= 1e-12 * variances[0] {
            return refuse("the surface bounds a volume without thickness: no figure fits into it");
        }
        let skews: [f64; 3] = std::array::from_fn(|k| {
            third_moment(&triangles, &axes[k]) / volume / variances[k].powf(1.5)
        });
        let mut strongest = [0, 1, 2];
        strongest.sort_by(|&i, &j| skews[j].abs().total_cmp(&skews[i].abs()));
        for k in strongest {
            let largest = axes[k][axes[k].iamax()];
            let sign = if skews[k].abs() >= MIN_SKEWNESS {
                skews[k]
            } else {
                largest
            };
            if sign < 0.0 {
                axes[k] = -axes[k];
            }
        }
        let half = variances.map(|x| (5.0 * x).sqrt());
        // Reduces the half axes to the body's volume: limbs reach far and fill little.
        let fill = (volume / (2.0 / 3.0 * TAU * half.iter().product::<f64>())).cbrt();
        let mut axes = Mat3::from_columns(&axes);
        if axes.determinant() < 0.0 {
            let least = strongest[2];
            let turned = -axes.column(least);
            axes.set_column(least, &turned);
        }
        Ok(Self {
            centre: middle + centre * size,
            axes,
            half: half.map(|x| x * fill * size),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::surface::shapes::{plane, sphere};

    /// The ellipsoid of an egg has the axes that the egg was made with, and follows a similarity.
    #[test]
    fn ellipsoid_recovers_axes() {
        // Skewed along two axes.
        let egg = sphere(1.0, 60).map_vertices(|p| {
            let wide = 1.0 + 0.2 * p.x;
            Vec3::new(2.0 * p.x, 1.2 * wide * p.y + 0.1 * p.y * p.y, 0.6 * p.z)
        });
        let turn = *nalgebra::Rotation3::new(Vec3::new(0.4, 1.1, -2.0)).matrix();
        let shift = Vec3::new(10.0, 3.0, -5.0);
        let of = |shape: crate::surface::shapes::TestMesh| {
            Ellipsoid::from_surface(&Surface::new(shape.vertices, shape.triangles).unwrap())
                .unwrap()
        };
        let plain = of(egg.clone());
        for (half, known) in plain.half.iter().zip([2.0, 1.2, 0.6]) {
            assert!((half / known - 1.0).abs() < 0.05, "{:?}", plain.half);
        }
        let moved = of(egg.map_vertices(|p| turn * p * 3.0 + shift));
        assert!((turn * plain.centre * 3.0 + shift - moved.centre).norm() < 1e-9);
        assert!((turn * plain.axes - moved.axes).amax() < 1e-9);
        assert!((moved.axes.determinant() - 1.0).abs() < 1e-12);
    }

    /// Holes of an open surface are closed at their middles.
    #[test]
    fn ellipsoid_closes_holes() {
        let whole = sphere(1.0, 40).map_vertices(|p| Vec3::new(2.0 * p.x, 1.5 * p.y, p.z));
        let mut open = whole.clone();
        let low = |t: &[u32; 3]| t.iter().any(|&v| whole.vertices[v as usize].z < -0.9);
        open.triangles.retain(|t| !low(t));
        let of = |shape: &crate::surface::shapes::TestMesh| {
            let surface = Surface::new(shape.vertices.clone(), shape.triangles.clone());
            Ellipsoid::from_surface(&surface.unwrap()).unwrap()
        };
        let (whole, open) = (of(&whole), of(&open));
        assert!((whole.centre - open.centre).norm() < 0.05);
        for (a, b) in whole.half.iter().zip(&open.half) {
            assert!((a / b - 1.0).abs() < 0.05);
        }
        assert!((whole.half[0] - 2.0).abs() < 0.01);
    }

    /// A surface without volume is refused.
    #[test]
    fn ellipsoid_refuses_sheet() {
        let refused = |shape: crate::surface::shapes::TestMesh| {
            let surface = Surface::new(shape.vertices, shape.triangles).unwrap();
            Ellipsoid::from_surface(&surface).err().unwrap().to_string()
        };
        assert!(refused(plane(4)).contains("sheet"));
    }
}
