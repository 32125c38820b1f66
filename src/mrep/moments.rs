// SPDX-License-Identifier: MIT OR Apache-2.0
//! The ellipsoid that a body is most like: the same volume's centre, and the same second moments.

use super::error::MRepError;
use crate::surface::{Surface, TriangleRole};
use crate::{Mat3, Vec3};

/// What is missing of a skin, as its areas' sum over its area, up to which the rest tells the moments.
const GAPS: f64 = 0.03;
/// Skewness along an axis from which on it decides the axis's sign.
const LEAST_SKEW: f64 = 1e-4;

/// Centre, axes (a rotation's columns, the longest first) and half axes of an ellipsoid.
pub(super) struct Ellipsoid {
    pub centre: Vec3,
    pub axes: Mat3,
    pub half: [f64; 3],
}

/// Volume, and integrals of x and x xᵀ over it, of the tetrahedra between the origin and triangles.
fn integrals(triangles: &[[Vec3; 3]]) -> (f64, Vec3, Mat3) {
    let mut sums = (0.0, Vec3::zeros(), Mat3::zeros());
    for [a, b, c] in triangles {
        let volume = a.dot(&b.cross(c)) / 6.0;
        let sum = a + b + c;
        let squares = a * a.transpose() + b * b.transpose() + c * c.transpose();
        sums.0 += volume;
        sums.1 += sum * (volume / 4.0);
        sums.2 += (squares + sum * sum.transpose()) * (volume / 20.0);
    }
    sums
}

/// Integral of the third power of the coordinate along an axis.
fn cubes(triangles: &[[Vec3; 3]], axis: &Vec3) -> f64 {
    let one = |[a, b, c]: &[Vec3; 3]| {
        let volume = a.dot(&b.cross(c)) / 6.0;
        let [p, q, r] = [a, b, c].map(|x| x.dot(axis));
        // All products of three of the corners' coordinates, each once.
        let two = |x: f64, y: f64| x * x + x * y + y * y;
        let all = p * p * p + p * p * (q + r) + p * two(q, r) + (q + r) * (q * q + r * r);
        volume * all / 20.0
    };
    triangles.iter().map(one).sum()
}

impl Ellipsoid {
    /// Of the volume that a surface's skin bounds. The axes' signs are those of the two strongest skewnesses, so that they go along with
    /// the body; where it is symmetric, those of the largest coordinates.
    ///
    /// # Errors
    /// A surface that bounds no volume, or lacks so much that its moments are not known.
    pub fn of(surface: &Surface) -> Result<Self, MRepError> {
        let welded = surface.welded();
        let skin = surface.triangle_roles().iter().zip(&welded.triangles);
        let skin = skin.filter(|(role, _)| **role == TriangleRole::Skin);
        let mut triangles: Vec<[Vec3; 3]> = skin
            .map(|(_, t)| t.map(|v| welded.vertices[v as usize]))
            .collect();
        let refuse = |what: &str| Err(MRepError::Target(what.into()));
        if triangles.is_empty() {
            return refuse(
                "the surface bounds no volume (it is a sheet): close it, or give it thickness, before a figure is put into it",
            );
        }
        // About the middle of the skin and in its size, so that gaps and rounding matter least.
        let size = surface.size();
        let (mut middle, mut area, mut open) = (Vec3::zeros(), 0.0, Vec3::zeros());
        for [a, b, c] in &triangles {
            let n = (b - a).cross(&(c - a)) * 0.5;
            area += n.norm();
            open += n;
            middle += (a + b + c) * (n.norm() / 3.0);
        }
        middle /= area;
        if open.norm() > GAPS * area {
            return refuse(
                "the surface is too open for its volume to be known: close its holes before a figure is put into it",
            );
        }
        let shift = |triangles: &mut [[Vec3; 3]], origin: Vec3, scale: f64| {
            let moved = triangles.iter_mut().flatten();
            moved.for_each(|x| *x = (*x - origin) / scale);
        };
        shift(&mut triangles, middle, size);
        let (volume, first, _) = integrals(&triangles);
        if volume <= 1e-9 {
            return refuse(
                "the surface bounds next to no volume: close it, or give it thickness, before a figure is put into it",
            );
        }
        let centre = first / volume;
        shift(&mut triangles, centre, 1.0);
        let (volume, _, second) = integrals(&triangles);
        let eigen = (second / volume).symmetric_eigen();
        let mut order = [0, 1, 2];
        order.sort_by(|&i, &j| eigen.eigenvalues[j].total_cmp(&eigen.eigenvalues[i]));
        let variances = order.map(|i| eigen.eigenvalues[i]);
        if variances[2].is_nan() || variances[2] <= 1e-12 * variances[0] {
            return refuse("the surface bounds a volume without thickness: no figure fits into it");
        }
        let mut axes = order.map(|i| eigen.eigenvectors.column(i).into_owned());
        let skews: [f64; 3] =
            std::array::from_fn(|k| cubes(&triangles, &axes[k]) / volume / variances[k].powf(1.5));
        let mut strongest = [0, 1, 2];
        strongest.sort_by(|&i, &j| skews[j].abs().total_cmp(&skews[i].abs()));
        for k in strongest {
            let largest = axes[k][axes[k].iamax()];
            let sign = if skews[k].abs() >= LEAST_SKEW {
                skews[k]
            } else {
                largest
            };
            if sign < 0.0 {
                axes[k] = -axes[k];
            }
        }
        let mut axes = Mat3::from_columns(&axes);
        if axes.determinant() < 0.0 {
            let least = strongest[2];
            let turned = -axes.column(least);
            axes.set_column(least, &turned);
        }
        Ok(Self {
            centre: middle + centre * size,
            axes,
            half: variances.map(|x| (5.0 * x).sqrt() * size),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::surface::shapes::{plane, sphere};

    #[test]
    fn an_egg_has_the_axes_it_was_made_of() {
        // Skewed along two axes.
        let egg = sphere(1.0, 60).mapped(|p| {
            let wide = 1.0 + 0.2 * p.x;
            Vec3::new(2.0 * p.x, 1.2 * wide * p.y + 0.1 * p.y * p.y, 0.6 * p.z)
        });
        let turn = *nalgebra::Rotation3::new(Vec3::new(0.4, 1.1, -2.0)).matrix();
        let shift = Vec3::new(10.0, 3.0, -5.0);
        let of = |shape: crate::surface::shapes::Shape| {
            Ellipsoid::of(&Surface::new(shape.vertices, shape.triangles).unwrap()).unwrap()
        };
        let plain = of(egg.clone());
        for (half, known) in plain.half.iter().zip([2.0, 1.2, 0.6]) {
            assert!((half / known - 1.0).abs() < 0.05, "{:?}", plain.half);
        }
        let moved = of(egg.mapped(|p| turn * p * 3.0 + shift));
        assert!((turn * plain.centre * 3.0 + shift - moved.centre).norm() < 1e-9);
        assert!((turn * plain.axes - moved.axes).amax() < 1e-9);
        assert!((moved.axes.determinant() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn what_has_no_volume_is_refused() {
        let refused = |shape: crate::surface::shapes::Shape| {
            let surface = Surface::new(shape.vertices, shape.triangles).unwrap();
            Ellipsoid::of(&surface).err().unwrap().to_string()
        };
        assert!(refused(plane(4)).contains("sheet"));
        let mut bowl = sphere(1.0, 20);
        bowl.triangles.truncate(bowl.triangles.len() / 2);
        let said = refused(bowl);
        assert!(said.contains("open") || said.contains("sheet"), "{said}");
    }
}
