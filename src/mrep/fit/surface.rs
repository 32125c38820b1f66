// SPDX-License-Identifier: MIT OR Apache-2.0
//! A surface as target: distances from the surface to the boundary and back, over the radius.
//!
//! Each vertex of the surface is compared with the nearest piece of the boundary, and each vertex of the boundary with the nearest piece of the
//! surface ([`super::curved`]). Areas and radii are those of the boundary at the start of a fit.
//!
//! Pairs that face away from each other give no direction, and count as one radius apart. Boundary vertices nearest to the rim of an open surface
//! do not count: nothing was seen there.
//!
//! Source: [oguz2005, slide 13]; distances as here are ours.

use super::curved::CurvedMesh;
use super::evidence::{Evidence, Likelihood};
use super::offsets::{Observation, ObservedTarget};
use super::target::SurfaceTarget;
use crate::geometry::moments::vertex_areas;
use crate::mrep::figures::boundary::{Boundary, BoundaryShape};
use crate::{Mat3, Vec3};
use rayon::prelude::*;

/// Standard deviations of the surface from the boundary, in radii: steps use one after the other, the last is reported. With half of both limbs of
/// five known characters are missed by 0.07 to 0.20 % of the size instead of 0.08 to 0.31, with twice by 0.09 to 0.28.
pub(super) const SURFACE_DEVIATIONS: [f64; 2] = [0.1, 0.03];
/// Effective number of observations per atom, for any number of vertices: neighbours repeat each other. With half and twice of them limbs of five
/// known characters are missed by 0.07 to 0.26 % of the size instead of 0.08 to 0.31.
pub(super) const OBSERVATIONS_PER_ATOM: f64 = 8.0;

/// Likelihood of a figure's boundary given a surface.
pub(super) struct SurfaceLikelihood<'a> {
    target: &'a SurfaceTarget<'a>,
    triangles: &'a [[u32; 3]],
    /// Area of each boundary vertex, and its radius, at the start, m² and m.
    areas: Vec<f64>,
    radii: Vec<f64>,
    /// Effective number of observations in either direction.
    observations: f64,
    /// Deviation for which steps are made.
    pub deviation: f64,
    /// Sums of the weights: of the surface's vertices, and of the boundary's.
    sums: [f64; 2],
}

impl<'a> SurfaceLikelihood<'a> {
    pub fn new(
        target: &'a SurfaceTarget<'a>,
        boundary: &'a Boundary,
        start: &BoundaryShape,
        atoms: usize,
    ) -> Self {
        let areas = vertex_areas(&start.positions, &boundary.triangles);
        Self {
            target,
            triangles: &boundary.triangles,
            sums: [target.areas.iter().sum(), areas.iter().sum()],
            areas,
            radii: start.radii.clone(),
            observations: 0.5 * OBSERVATIONS_PER_ATOM * atoms as f64,
            deviation: SURFACE_DEVIATIONS[0],
        }
    }

    /// Compares each vertex of the surface with the boundary; the distance is NaN where that faces away.
    fn observe_surface(&self, mesh: &CurvedMesh<'_>) -> Vec<Option<Observation>> {
        let welded = self.target.surface.welded();
        let one = |(v, p): (usize, &Vec3)| {
            let area = self.target.areas[v];
            if area == 0.0 {
                return None;
            }
            let normal = &self.target.pieces.normals[v];
            let at = mesh.nearest_point(p)?;
            let piece = mesh.piece_at(at);
            let (distance, directions) = piece.distance(p);
            let corners = self.triangles[at.triangle as usize];
            let radius = (0..3)
                .map(|k| at.barycentric[k] * self.radii[corners[k] as usize])
                .sum();
            let facing = piece.normal().dot(normal) > 0.0;
            Some(Observation {
                distance: if facing { distance } else { f64::NAN },
                weight: area / self.sums[0],
                triangle: at.triangle,
                directions,
                radius,
            })
        };
        (welded
            .vertices
            .par_iter()
            .enumerate()
            .with_min_len(256)
            .map(one))
        .collect()
    }

    /// Compares a vertex of the boundary with the surface: returns distance, weight, and the direction in which it falls.
    fn observe_vertex(&self, shape: &BoundaryShape, v: usize) -> Option<(f64, f64, Vec3)> {
        let (y, normal) = (&shape.positions[v], &shape.normals[v]);
        let target = &self.target.pieces;
        let at = target.nearest_point(y)?;
        let counts = self.target.weight_at(at);
        if counts == 0.0 || normal.norm_squared() == 0.0 {
            return None;
        }
        let piece = target.piece_at(at);
        let (distance, directions) = piece.distance(y);
        let direction: Vec3 = directions.iter().sum();
        let facing = direction.dot(normal) > 0.0;
        Some((
            // The surface is outside of the boundary where the vertex is inside of the surface.
            if facing { -distance } else { f64::NAN },
            counts * self.areas[v] / self.sums[1],
            direction,
        ))
    }
}

impl Likelihood for SurfaceLikelihood<'_> {
    fn evidence(&self, shape: &BoundaryShape) -> Evidence {
        let mesh = CurvedMesh::from_shape(shape, self.triangles, &self.target.pieces);
        let mut squares = 0.0;
        let mut gradient = vec![Vec3::zeros(); shape.positions.len()];
        let mut own = vec![Mat3::zeros(); shape.positions.len()];
        let mut shared = vec![[Mat3::zeros(); 3]; self.triangles.len()];
        // Residuals are distances over radius and deviation.
        let scale = self.observations / (self.deviation * self.deviation);
        // A pair that faces away counts as one radius.
        let relative = |distance: f64, radius: f64| {
            if distance.is_nan() {
                1.0
            } else {
                distance / radius
            }
        };
        for seen in self.observe_surface(&mesh).into_iter().flatten() {
            let Observation {
                distance,
                weight,
                triangle,
                directions,
                radius,
                ..
            } = seen;
            squares += weight * relative(distance, radius).powi(2);
            if distance.is_nan() {
                continue;
            }
            let weight = weight * scale / (radius * radius);
            let corners = self.triangles[triangle as usize];
            for k in 0..3 {
                let v = corners[k] as usize;
                gradient[v] -= directions[k] * (weight * distance);
                own[v] += directions[k] * directions[k].transpose() * weight;
                let next = directions[(k + 1) % 3];
                shared[triangle as usize][k] += directions[k] * next.transpose() * weight;
            }
        }
        let vertices: Vec<_> = (0..shape.positions.len())
            .into_par_iter()
            .with_min_len(64)
            .map(|v| self.observe_vertex(shape, v))
            .collect();
        for (v, seen) in vertices.into_iter().enumerate() {
            let Some((distance, weight, direction)) = seen else {
                continue;
            };
            let radius = self.radii[v];
            squares += weight * relative(distance, radius).powi(2);
            if distance.is_nan() {
                continue;
            }
            let weight = weight * scale / (radius * radius);
            gradient[v] -= direction * (weight * distance);
            own[v] += direction * direction.transpose() * weight;
        }
        let mut blocks: Vec<(u32, u32, Mat3)> = (0u32..).zip(own).map(|(v, b)| (v, v, b)).collect();
        for (t, shared) in self.triangles.iter().zip(shared) {
            for (k, block) in shared.into_iter().enumerate() {
                if block != Mat3::zeros() {
                    blocks.push((t[k], t[(k + 1) % 3], block));
                }
            }
        }
        let energy = |deviation: f64| 0.5 * squares * self.observations / (deviation * deviation);
        Evidence {
            energy: energy(self.deviation),
            reported: energy(SURFACE_DEVIATIONS[1]),
            gradient,
            blocks,
        }
    }
}

impl ObservedTarget for SurfaceLikelihood<'_> {
    fn observations(&self, shape: &BoundaryShape) -> (Vec<Observation>, f64) {
        let mesh = CurvedMesh::from_shape(shape, self.triangles, &self.target.pieces);
        let mut all: Vec<Observation> = self.observe_surface(&mesh).into_iter().flatten().collect();
        all.retain(|seen| !seen.distance.is_nan());
        // Any triangle at the vertex, with all the weight on that corner.
        let mut corner = vec![None; shape.positions.len()];
        for (t, triangle) in (0u32..).zip(self.triangles) {
            for (k, &v) in triangle.iter().enumerate() {
                corner[v as usize].get_or_insert((t, k));
            }
        }
        for (v, corner) in corner.iter().enumerate() {
            let (Some((triangle, k)), Some((distance, weight, direction))) =
                (corner, self.observe_vertex(shape, v))
            else {
                continue;
            };
            if distance.is_nan() {
                continue;
            }
            let mut directions = [Vec3::zeros(); 3];
            directions[*k] = direction;
            all.push(Observation {
                distance,
                weight,
                triangle: *triangle,
                directions,
                radius: self.radii[v],
            });
        }
        let misfit = all.iter().map(|o| o.weight * o.distance.powi(2)).sum();
        (all, misfit)
    }
}
