// SPDX-License-Identifier: MIT OR Apache-2.0
//! A surface as target: how far it is from the boundary and the boundary from it, over the radius.
//!
//! Each vertex of the surface is compared with the nearest triangle of the boundary mesh and each vertex of that with the nearest
//! triangle of the surface. A triangle stands for the curved piece through its corners: with normals m̄ between them and m_k at
//! them, `d = ½ [m̄·(p − Σβ_k y_k) + Σβ_k m_k·(p − y_k)]` is the distance to that to second order, so that neither mesh looks
//! smaller than what it was made of. Areas and radii are those of the boundary that a fit starts from.
//!
//! Pairs that face away from each other tell nothing about where to go, and count as a radius apart; where the boundary is nearest
//! to the rim of an open surface nothing was seen, and nothing counts.
//!
//! Source: [oguz2005, slide 13]; distances as here are ours.

use super::super::boundary::{Boundary, Shape};
use super::super::error::MRepError;
use super::super::figure::Figure;
use super::evidence::{Evidence, Likelihood};
use super::offsets::{Observation, Seen};
use crate::aabb;
use crate::surface::{Surface, closest_leaf, closest_leaf_towards};
use crate::{Mat3, Vec3};
use parry3d_f64::partitioning::Bvh;
use rayon::prelude::*;

/// Deviations of the surface from the boundary in radii: steps are made for one after the other, the last is reported.
pub(super) const DEVIATIONS: [f64; 2] = [0.1, 0.03];
/// Observations that an atom has on the whole, however many vertices there are: neighbours repeat each other.
pub(super) const PER_ATOM: f64 = 8.0;

/// A surface made ready: what does not depend on the figure.
pub(super) struct Target<'a> {
    pub surface: &'a Surface,
    /// Of each welded vertex: its share of the area, times the caller's weight.
    pub areas: Vec<f64>,
    /// Outward unit normals of welded vertices, zero where there is none.
    pub normals: Vec<Vec3>,
    /// The caller's weights of welded vertices.
    weights: Vec<f64>,
    /// Vertices on a rim of the surface.
    rim: Vec<bool>,
    tree: Bvh,
    /// Which of equally near places is meant: a direction that goes along with the template and is along none of its axes.
    towards: Vec3,
}

/// A direction that goes along with a figure.
fn towards(figure: &Figure) -> Vec3 {
    figure.atoms()[0].frame * Vec3::new(1.0, 2.0_f64.sqrt(), 3.0_f64.sqrt())
}

impl<'a> Target<'a> {
    /// Of a surface, whose vertices as given may have weights from 0 (not seen) to 1.
    ///
    /// # Errors
    /// Weights that do not fit, or leave nothing.
    pub fn new(
        surface: &'a Surface,
        given: Option<&[f64]>,
        template: &Figure,
    ) -> Result<Self, MRepError> {
        let welded = surface.welded();
        let weights = match given {
            None => vec![1.0; welded.vertices.len()],
            Some(given) => of_welded(surface, given)?,
        };
        let mut areas = vec![0.0; welded.vertices.len()];
        let mut normals = vec![Vec3::zeros(); welded.vertices.len()];
        let mut edges = std::collections::HashMap::new();
        for t in &welded.triangles {
            let [a, b, c] = t.map(|v| welded.vertices[v as usize]);
            let area = 0.5 * (b - a).cross(&(c - a)).norm();
            let normal = (b - a)
                .cross(&(c - a))
                .try_normalize(0.0)
                .unwrap_or_default();
            let corners = [a, b, c];
            for k in 0..3 {
                let (here, next, last) = (corners[k], corners[(k + 1) % 3], corners[(k + 2) % 3]);
                areas[t[k] as usize] += area / 3.0;
                normals[t[k] as usize] += normal * (next - here).angle(&(last - here));
                let (v, w) = (t[k], t[(k + 1) % 3]);
                *edges.entry((v.min(w), v.max(w))).or_insert(0_u32) += 1;
            }
        }
        for n in &mut normals {
            *n = n.try_normalize(1e-12).unwrap_or_default();
        }
        for (area, weight) in areas.iter_mut().zip(&weights) {
            *area *= weight;
        }
        let mut rim = vec![false; welded.vertices.len()];
        for ((v, w), count) in edges {
            if count == 1 {
                (rim[v as usize], rim[w as usize]) = (true, true);
            }
        }
        if areas.iter().sum::<f64>() <= 0.0 {
            return Err(MRepError::Target(
                "no vertex of the surface has a weight above zero: there is nothing to fit to"
                    .into(),
            ));
        }
        if is_flat(&welded.vertices, &areas) {
            return Err(MRepError::Target(
                "the surface is flat where it counts: it bounds no body that a model could be fitted to".into(),
            ));
        }
        Ok(Self {
            surface,
            areas,
            normals,
            weights,
            rim,
            tree: hierarchy(&welded.vertices, &welded.triangles),
            towards: towards(template),
        })
    }

    /// Whether all of the surface counts alike.
    pub fn is_whole(&self) -> bool {
        self.weights.windows(2).all(|w| w[0] == w[1])
    }

    /// The nearest welded triangle to a point, and the weights of its corners.
    fn nearest(&self, p: &Vec3) -> Option<(u32, [f64; 3])> {
        nearest(
            &self.tree,
            p,
            &self.towards,
            &self.surface.welded().vertices,
            &self.surface.welded().triangles,
        )
    }

    /// The curved piece at a place of a welded triangle: corners, normals, weights.
    fn piece(&self, triangle: u32, barycentric: [f64; 3]) -> Piece {
        let welded = self.surface.welded();
        let corners = welded.triangles[triangle as usize];
        Piece {
            corners: corners.map(|v| welded.vertices[v as usize]),
            normals: corners.map(|v| self.normals[v as usize]),
            barycentric,
        }
    }

    /// How much a place of a welded triangle counts: not at the rim of an open surface.
    fn counts(&self, triangle: u32, barycentric: [f64; 3]) -> f64 {
        let corners = self.surface.welded().triangles[triangle as usize];
        let on = |k: usize| barycentric[k] > 1e-9;
        let rim = (0..3).all(|k| !on(k) || self.rim[corners[k] as usize]);
        if rim && !(0..3).all(on) {
            return 0.0;
        }
        (0..3)
            .map(|k| barycentric[k] * self.weights[corners[k] as usize])
            .sum()
    }
}

/// Weights of welded vertices from those of the vertices as given: the largest of those that were one.
fn of_welded(surface: &Surface, given: &[f64]) -> Result<Vec<f64>, MRepError> {
    if given.len() != surface.vertices().len() {
        return Err(MRepError::Length {
            what: "the list of weights",
            found: given.len(),
            expected: surface.vertices().len(),
        });
    }
    if let Some(v) = given.iter().position(|w| !(0.0..=1.0).contains(w)) {
        return Err(MRepError::Setting {
            name: "a weight of the surface",
            value: format!("{} at vertex {v}", given[v]),
            range: "between 0 and 1",
        });
    }
    let welded = surface.welded();
    let mut weights = vec![0.0_f64; welded.vertices.len()];
    for (&w, given) in welded.of_vertex.iter().zip(given) {
        if let Some(weight) = weights.get_mut(w as usize) {
            *weight = weight.max(*given);
        }
    }
    Ok(weights)
}

/// Whether points that count lie in one plane, or on one line.
fn is_flat(points: &[Vec3], counts: &[f64]) -> bool {
    /// In parts of the whole spread.
    const THIN: f64 = 1e-6;
    let whole: f64 = counts.iter().sum();
    let seen = || points.iter().zip(counts);
    let middle = seen().map(|(p, c)| p * *c).sum::<Vec3>() / whole;
    let about = |(p, c): (&Vec3, &f64)| (p - middle) * (p - middle).transpose() * *c;
    let spread = seen().map(about).sum::<Mat3>() / whole;
    spread.symmetric_eigenvalues().min() <= THIN * THIN * spread.trace()
}

/// A place of a triangle that stands for a curved piece.
pub(super) struct Piece {
    corners: [Vec3; 3],
    normals: [Vec3; 3],
    barycentric: [f64; 3],
}

impl Piece {
    /// The normal there; zero where corners have none.
    fn normal(&self) -> Vec3 {
        let sum = (0..3)
            .map(|k| self.normals[k] * self.barycentric[k])
            .sum::<Vec3>();
        sum.try_normalize(1e-12).unwrap_or_default()
    }

    /// Signed distance of a point, positive outside, and minus its derivatives by the corners.
    pub fn distance(&self, p: &Vec3) -> (f64, [Vec3; 3]) {
        let mean = self.normal();
        let directions = std::array::from_fn(|k| {
            let sum = mean + self.normals[k];
            // Where a corner has no normal the middle's has to do.
            let normal = if self.normals[k].norm_squared() > 0.0 {
                sum * 0.5
            } else {
                mean
            };
            normal * self.barycentric[k]
        });
        let sum = |k: usize| -> f64 {
            let d: &[Vec3; 3] = &directions;
            d[k].dot(&(p - self.corners[k]))
        };
        ((0..3).map(sum).sum(), directions)
    }
}

/// Boxes around triangles.
fn hierarchy(vertices: &[Vec3], triangles: &[[u32; 3]]) -> Bvh {
    let corners = |t: &[u32; 3]| t.map(|v| vertices[v as usize]);
    aabb::hierarchy(triangles.iter().map(|t| aabb::bounds(corners(t).iter())))
}

/// The nearest triangle to a point, and the weights of its corners.
fn nearest(
    tree: &Bvh,
    p: &Vec3,
    towards: &Vec3,
    vertices: &[Vec3],
    triangles: &[[u32; 3]],
) -> Option<(u32, [f64; 3])> {
    let corners = |t: u32| triangles[t as usize].map(|v| vertices[v as usize]);
    let (triangle, _, barycentric) = closest_leaf_towards(tree, p, towards, corners)?;
    Some((triangle, barycentric))
}

/// A boundary mesh that nearest places are asked of.
pub(super) struct Mesh<'a> {
    shape: &'a Shape,
    triangles: &'a [[u32; 3]],
    tree: Bvh,
    towards: Vec3,
}

impl<'a> Mesh<'a> {
    /// `target` says which of equally near places is meant.
    pub fn new(shape: &'a Shape, triangles: &'a [[u32; 3]], target: &Target<'_>) -> Self {
        Self {
            shape,
            triangles,
            tree: hierarchy(&shape.positions, triangles),
            towards: target.towards,
        }
    }

    /// The nearest triangle to a point, and the weights of its corners.
    pub fn nearest(&self, p: &Vec3) -> Option<(u32, [f64; 3])> {
        nearest(
            &self.tree,
            p,
            &self.towards,
            &self.shape.positions,
            self.triangles,
        )
    }

    /// How far a point is from it.
    pub fn distance(&self, p: &Vec3) -> Option<f64> {
        let corners = |t: u32| self.triangles[t as usize].map(|v| self.shape.positions[v as usize]);
        let (_, square, _) = closest_leaf(&self.tree, p, f64::INFINITY, corners)?;
        Some(square.sqrt())
    }

    fn piece(&self, triangle: u32, barycentric: [f64; 3]) -> Piece {
        let corners = self.triangles[triangle as usize];
        Piece {
            corners: corners.map(|v| self.shape.positions[v as usize]),
            normals: corners.map(|v| self.shape.normals[v as usize]),
            barycentric,
        }
    }
}

/// A surface seen from the boundary of a figure.
pub(super) struct SurfaceLikelihood<'a> {
    target: &'a Target<'a>,
    triangles: &'a [[u32; 3]],
    /// Shares of the boundary's area, and radii, at the start.
    areas: Vec<f64>,
    radii: Vec<f64>,
    /// Observations of either direction in all.
    observations: f64,
    /// Which of the deviations steps are made for.
    pub deviation: f64,
    /// Weights of both kinds sum up to these.
    sums: [f64; 2],
}

impl<'a> SurfaceLikelihood<'a> {
    pub fn new(
        target: &'a Target<'a>,
        boundary: &'a Boundary,
        start: &Shape,
        atoms: usize,
    ) -> Self {
        let areas = areas(start, &boundary.triangles);
        Self {
            target,
            triangles: &boundary.triangles,
            sums: [target.areas.iter().sum(), areas.iter().sum()],
            areas,
            radii: start.radii.clone(),
            observations: 0.5 * PER_ATOM * atoms as f64,
            deviation: DEVIATIONS[0],
        }
    }

    /// From each vertex of the surface to the boundary; none where it faces away.
    fn of_surface(&self, mesh: &Mesh<'_>) -> Vec<Option<Observation>> {
        let welded = self.target.surface.welded();
        let one = |(v, p): (usize, &Vec3)| {
            let area = self.target.areas[v];
            if area == 0.0 {
                return None;
            }
            let (triangle, barycentric) = mesh.nearest(p)?;
            let piece = mesh.piece(triangle, barycentric);
            let (distance, directions) = piece.distance(p);
            let corners = self.triangles[triangle as usize];
            let radius = (0..3)
                .map(|k| barycentric[k] * self.radii[corners[k] as usize])
                .sum();
            let facing = piece.normal().dot(&self.target.normals[v]);
            Some(Observation {
                distance: if facing > 0.0 { distance } else { f64::NAN },
                weight: area / self.sums[0],
                triangle,
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

    /// From a vertex of the boundary to the surface: distance, weight, and the direction in which it falls.
    fn of_vertex(&self, shape: &Shape, v: usize) -> Option<(f64, f64, Vec3)> {
        let (y, normal) = (&shape.positions[v], &shape.normals[v]);
        let (triangle, barycentric) = self.target.nearest(y)?;
        let counts = self.target.counts(triangle, barycentric);
        if counts == 0.0 || normal.norm_squared() == 0.0 {
            return None;
        }
        let piece = self.target.piece(triangle, barycentric);
        let (distance, directions) = piece.distance(y);
        let direction: Vec3 = directions.iter().sum();
        let facing = direction.dot(normal) > 0.0;
        Some((
            // Outside of the boundary the surface is where the vertex is inside of the surface.
            if facing { -distance } else { f64::NAN },
            counts * self.areas[v] / self.sums[1],
            direction,
        ))
    }
}

/// Shares of vertices in the area of a mesh.
pub(super) fn areas(shape: &Shape, triangles: &[[u32; 3]]) -> Vec<f64> {
    let mut areas = vec![0.0; shape.positions.len()];
    for t in triangles {
        let [a, b, c] = t.map(|v| shape.positions[v as usize]);
        let area = (b - a).cross(&(c - a)).norm() / 6.0;
        t.iter().for_each(|&v| areas[v as usize] += area);
    }
    areas
}

impl Likelihood for SurfaceLikelihood<'_> {
    fn evidence(&self, shape: &Shape) -> Evidence {
        let mesh = Mesh::new(shape, self.triangles, self.target);
        let mut squares = 0.0;
        let mut gradient = vec![Vec3::zeros(); shape.positions.len()];
        let mut own = vec![Mat3::zeros(); shape.positions.len()];
        let mut shared = vec![[Mat3::zeros(); 3]; self.triangles.len()];
        // Residuals are distances over this.
        let scale = self.observations / (self.deviation * self.deviation);
        // A pair that faces away counts as a radius.
        let relative = |distance: f64, radius: f64| {
            if distance.is_nan() {
                1.0
            } else {
                distance / radius
            }
        };
        for seen in self.of_surface(&mesh).into_iter().flatten() {
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
            .map(|v| self.of_vertex(shape, v))
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
            reported: energy(DEVIATIONS[1]),
            gradient,
            blocks,
        }
    }
}

impl Seen for SurfaceLikelihood<'_> {
    fn observations(&self, shape: &Shape) -> (Vec<Observation>, f64) {
        let mesh = Mesh::new(shape, self.triangles, self.target);
        let mut all: Vec<Observation> = self.of_surface(&mesh).into_iter().flatten().collect();
        all.retain(|seen| !seen.distance.is_nan());
        // Any triangle at a vertex, with all the weight on its corner.
        let mut corner = vec![None; shape.positions.len()];
        for (t, triangle) in (0u32..).zip(self.triangles) {
            for (k, &v) in triangle.iter().enumerate() {
                corner[v as usize].get_or_insert((t, k));
            }
        }
        for (v, corner) in corner.iter().enumerate() {
            let (Some((triangle, k)), Some((distance, weight, direction))) =
                (corner, self.of_vertex(shape, v))
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
