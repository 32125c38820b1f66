// SPDX-License-Identifier: MIT OR Apache-2.0
//! A surface prepared as a target of fits: all quantities that do not depend on the current figure.

use super::curved::{CurvedMesh, MeshPoint};
use crate::geometry::moments::vertex_areas;
use crate::mrep::error::MRepError;
use crate::mrep::figures::figure::Figure;
use crate::surface::Surface;
use crate::{Mat3, Vec3};

/// A surface prepared as a target of fits.
pub(super) struct SurfaceTarget<'a> {
    pub surface: &'a Surface,
    /// Area of each welded vertex, times the caller's weight.
    pub areas: Vec<f64>,
    /// Welded triangles. Ties between equally near points are broken along a direction that turns with the template and is along none
    /// of its axes.
    pub pieces: CurvedMesh<'a>,
    /// Weight of each welded vertex, from the caller.
    weights: Vec<f64>,
    /// Mask of the welded vertices on a rim of the surface.
    rim: Vec<bool>,
}

/// Returns a direction that turns with a figure.
fn tie_direction(figure: &Figure) -> Vec3 {
    figure.atoms()[0].frame * Vec3::new(1.0, 2.0_f64.sqrt(), 3.0_f64.sqrt())
}

impl<'a> SurfaceTarget<'a> {
    /// Prepares a surface. `given`: weights of its original vertices, 0 (not seen) to 1.
    ///
    /// # Errors
    /// Weights that do not match, or leave nothing; a surface that is flat where it counts.
    pub fn new(
        surface: &'a Surface,
        given: Option<&[f64]>,
        template: &Figure,
    ) -> Result<Self, MRepError> {
        let welded = surface.welded();
        let weights = match given {
            None => vec![1.0; welded.vertices.len()],
            Some(given) => welded_weights(surface, given)?,
        };
        let mut areas = vertex_areas(&welded.vertices, &welded.triangles);
        let mut normals = vec![Vec3::zeros(); welded.vertices.len()];
        let mut edges = std::collections::HashMap::new();
        for t in &welded.triangles {
            let [a, b, c] = t.map(|v| welded.vertices[v as usize]);
            let normal = (b - a)
                .cross(&(c - a))
                .try_normalize(0.0)
                .unwrap_or_default();
            let corners = [a, b, c];
            for k in 0..3 {
                let (here, next, last) = (corners[k], corners[(k + 1) % 3], corners[(k + 2) % 3]);
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
            pieces: CurvedMesh::new(
                &welded.vertices,
                &welded.triangles,
                normals,
                tie_direction(template),
            ),
            weights,
            rim,
        })
    }

    /// Returns whether all of the surface has one weight.
    pub fn has_uniform_weight(&self) -> bool {
        self.weights.windows(2).all(|w| w[0] == w[1])
    }

    /// Returns the weight of a point of a welded triangle; zero at the rim of an open surface.
    pub fn weight_at(&self, at: MeshPoint) -> f64 {
        let (corners, barycentric) = (
            self.surface.welded().triangles[at.triangle as usize],
            at.barycentric,
        );
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

/// Returns the weights of welded vertices: the largest of the original vertices' weights.
fn welded_weights(surface: &Surface, given: &[f64]) -> Result<Vec<f64>, MRepError> {
    let count = surface.vertices().len();
    MRepError::check_length("the list of weights", given.len(), count)?;
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

/// Returns whether weighted points lie in one plane, or on one line.
fn is_flat(points: &[Vec3], counts: &[f64]) -> bool {
    /// Thickness of a flat set, over its spread. Far above rounding, 1e-8 in lengths, and thinner than any body.
    const FLATNESS_TOLERANCE: f64 = 1e-6;
    let whole: f64 = counts.iter().sum();
    let seen = || points.iter().zip(counts);
    let middle = seen().map(|(p, c)| p * *c).sum::<Vec3>() / whole;
    let about = |(p, c): (&Vec3, &f64)| (p - middle) * (p - middle).transpose() * *c;
    let spread = seen().map(about).sum::<Mat3>() / whole;
    spread.symmetric_eigenvalues().min() <= FLATNESS_TOLERANCE * FLATNESS_TOLERANCE * spread.trace()
}
