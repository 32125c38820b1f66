// SPDX-License-Identifier: MIT OR Apache-2.0
//! Moments of a body up to the second, and the area of each vertex.

use super::matrix::principal_axes;
use crate::{Mat3, Vec3};

/// Centroid and covariance of a body.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BodyMoments {
    pub centre: Vec3,
    /// Mean of `(x − centre)(x − centre)ᵀ`.
    pub spread: Mat3,
}

impl BodyMoments {
    /// Computes the moments of weighted points. `None`: their weights do not sum up to a positive number.
    pub fn from_points(points: impl Iterator<Item = (Vec3, f64)> + Clone) -> Option<Self> {
        let mass: f64 = points.clone().map(|(_, w)| w).sum();
        if !(mass.is_finite() && mass > 0.0) {
            return None;
        }
        let centre = points.clone().map(|(p, w)| p * w).sum::<Vec3>() / mass;
        let spread = points.map(|(p, w)| {
            let arm = p - centre;
            arm * arm.transpose() * w
        });
        Some(Self {
            centre,
            spread: spread.sum::<Mat3>() / mass,
        })
    }

    /// Computes the moments of the solid that closed triangles bound, by tetrahedra from one point. `None`:
    /// its volume is not positive.
    pub fn from_solid(vertices: &[Vec3], triangles: &[[u32; 3]]) -> Option<Self> {
        let from = vertices.first()?;
        let corners = |t: &[u32; 3]| t.map(|v| vertices[v as usize] - from);
        let (mass, first, second) = integrals(triangles.iter().map(corners));
        if !(mass.is_finite() && mass > 0.0) {
            return None;
        }
        let centre = first / mass;
        Some(Self {
            centre: from + centre,
            spread: second / mass - centre * centre.transpose(),
        })
    }

    /// Returns the principal axes as columns of a rotation, that of the largest spread first, and the spreads
    /// along them.
    pub fn axes(&self) -> (Mat3, Vec3) {
        let ([a, b, _], values) = principal_axes(&self.spread);
        let axes = Mat3::from_columns(&[a, b, a.cross(&b)]);
        (axes, Vec3::from(values).map(|x| x.max(0.0)))
    }
}

/// Returns volume, and integrals of x and x xᵀ, of the tetrahedra between the origin and triangles.
pub(crate) fn integrals(triangles: impl IntoIterator<Item = [Vec3; 3]>) -> (f64, Vec3, Mat3) {
    let mut sums = (0.0, Vec3::zeros(), Mat3::zeros());
    for [a, b, c] in triangles {
        let volume = a.dot(&b.cross(&c)) / 6.0;
        let sum = a + b + c;
        let squares = a * a.transpose() + b * b.transpose() + c * c.transpose();
        sums.0 += volume;
        sums.1 += sum * (volume / 4.0);
        sums.2 += (squares + sum * sum.transpose()) * (volume / 20.0);
    }
    sums
}

/// Returns each vertex's area: a third of the triangles around it.
pub(crate) fn vertex_areas<'a>(
    vertices: &[Vec3],
    triangles: impl IntoIterator<Item = &'a [u32; 3]>,
) -> Vec<f64> {
    let mut areas = vec![0.0; vertices.len()];
    for t in triangles {
        let [a, b, c] = t.map(|v| vertices[v as usize]);
        let area = (b - a).cross(&(c - a)).norm() / 6.0;
        t.iter().for_each(|&v| areas[v as usize] += area);
    }
    areas
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::surface::shapes;

    /// The moments of a turned and moved box are exact.
    #[test]
    fn box_moments_are_exact() {
        let half = Vec3::new(3.0, 2.0, 1.0);
        let turn = *nalgebra::Rotation3::new(Vec3::new(0.4, -1.1, 2.0)).matrix();
        let shift = Vec3::new(5.0, -3.0, 2.0);
        let shape = shapes::cuboid(half).map_vertices(|p| turn * p + shift);
        let moments = BodyMoments::from_solid(&shape.vertices, &shape.triangles).unwrap();
        assert!((moments.centre - shift).norm() < 1e-9);
        let (axes, spreads) = moments.axes();
        for k in 0..3 {
            assert!((spreads[k] - half[k] * half[k] / 3.0).abs() < 1e-9);
            assert!((axes.column(k).dot(&turn.column(k)).abs() - 1.0).abs() < 1e-9);
        }
        assert!((axes.determinant() - 1.0).abs() < 1e-12);
        assert!(BodyMoments::from_solid(&shape.vertices, &[]).is_none());
    }
}
