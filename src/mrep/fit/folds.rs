// SPDX-License-Identifier: MIT OR Apache-2.0
//! Penalty near folds of the boundary: a fit steers around folds, where a mere test would stop it in front of one.
//!
//! At boundary vertices the volume element det(∂y/∂s, ∂y/∂t, S) is divided by the lengths of its columns, at the hub or here. It is penalised below
//! [`PENALTY_THRESHOLD`]. It is the quantity that [legality](crate::mrep::figures::legality) measures at depth 1.

use super::unknowns::{AtomUnknowns, VectorDerivatives};
use crate::Vec3;
use crate::mrep::figures::boundary::{Boundary, WeightMatrix, figure_vectors, multiply};
use crate::mrep::figures::figure::Figure;
use faer::Mat;

/// Relative volume element above which there is no penalty. With half of it a leg keeps a legality of 0.12 instead of 0.21, with twice 0.39, and is
/// missed by no more.
const PENALTY_THRESHOLD: f64 = 0.25;
/// Standard deviation of the shortfall below [`PENALTY_THRESHOLD`], relative to it. With half of it a horse's leg is missed by 0.12 % of the size
/// instead of 0.13, with twice by 0.22.
const SHORTFALL_DEVIATION: f64 = 0.15;
/// Effective number of observations per atom, over all its vertices. With half of them a horse's leg is missed by 0.16 % of the size instead of 0.13,
/// with twice by 0.09.
const OBSERVATIONS_PER_ATOM: f64 = 8.0;

/// Fold penalty over the vertices of a boundary.
pub(super) struct FoldPenalty<'a> {
    boundary: &'a Boundary,
    /// Mask of the vectors that are hubs.
    hubs: Vec<bool>,
    /// Sign of the volume element at each vertex; zero where it vanishes for any figure.
    signs: Vec<f64>,
    weight: f64,
}

/// Columns of a vertex's volume element, and the two of the hub below.
struct VolumeElement {
    columns: [Vec3; 3],
    hub: [Vec3; 2],
}

impl VolumeElement {
    /// Returns the two reference columns, and whether they are the hub's. They are the vertex's or the hub's, whichever have the larger product of
    /// lengths. Where the hub does not move by t, the vertex's second column stands in for it.
    fn reference_columns(&self) -> ([Vec3; 2], bool) {
        let [a, b, _] = self.columns;
        let [c, d] = self.hub;
        let d = if d == Vec3::zeros() { b } else { d };
        if c.norm() * d.norm() > a.norm() * b.norm() {
            ([c, d], true)
        } else {
            ([a, b], false)
        }
    }

    fn relative_volume(&self) -> f64 {
        let [a, b, spoke] = self.columns;
        let ([c, d], _) = self.reference_columns();
        let span = c.norm() * d.norm() * spoke.norm();
        if span > 0.0 {
            a.cross(&b).dot(&spoke) / span
        } else {
            0.0
        }
    }
}

/// For all vertices: the tangents, the hubs' contribution to them, and the spokes.
struct VolumeElements {
    tangents: [Vec<Vec3>; 2],
    hub_tangents: [Vec<Vec3>; 2],
    spokes: Vec<Vec3>,
}

impl<'a> FoldPenalty<'a> {
    /// Builds the penalty for figures like a template that does not fold.
    pub fn new(boundary: &'a Boundary, template: &Figure) -> Self {
        let kind = template.kind();
        let mut hubs = Vec::new();
        for i in 0..kind.atom_count() {
            hubs.push(true);
            hubs.resize(
                hubs.len() + kind.role(i).vector_count(kind.spoke_count()) - 1,
                false,
            );
        }
        let mut folds = Self {
            boundary,
            hubs,
            signs: Vec::new(),
            weight: (OBSERVATIONS_PER_ATOM * kind.atom_count() as f64 / boundary.len() as f64)
                .sqrt()
                / SHORTFALL_DEVIATION,
        };
        let elements = folds.elements(&figure_vectors(template));
        /// Relative volume element below that of any legal figure.
        const MIN_VOLUME_ELEMENT: f64 = 1e-3;
        let sign = |v: usize| {
            let value = elements.element(v).relative_volume();
            if value.abs() < MIN_VOLUME_ELEMENT {
                0.0
            } else {
                value.signum()
            }
        };
        folds.signs = (0..boundary.len()).map(sign).collect();
        folds
    }

    fn elements(&self, vectors: &[Vec3]) -> VolumeElements {
        let hubs_alone: Vec<Vec3> = (vectors.iter().zip(&self.hubs))
            .map(|(v, is_hub)| if *is_hub { *v } else { Vec3::zeros() })
            .collect();
        let without: Vec<Vec3> = vectors
            .iter()
            .zip(&hubs_alone)
            .map(|(v, h)| v - h)
            .collect();
        let [a, b] = &self.boundary.tangents;
        VolumeElements {
            tangents: [multiply(a, vectors), multiply(b, vectors)],
            hub_tangents: [multiply(a, &hubs_alone), multiply(b, &hubs_alone)],
            spokes: multiply(&self.boundary.value, &without),
        }
    }

    /// Returns the weighted shortfall below [`PENALTY_THRESHOLD`] at a vertex. `None`: no shortfall.
    fn weighted_shortfall(&self, element: &VolumeElement, v: usize) -> Option<f64> {
        let value = element.relative_volume() * self.signs[v];
        (self.signs[v] != 0.0 && value < PENALTY_THRESHOLD)
            .then(|| self.weight * (1.0 - value / PENALTY_THRESHOLD))
    }

    pub fn energy(&self, vectors: &[Vec3]) -> f64 {
        let elements = self.elements(vectors);
        let all = (0..self.boundary.len())
            .filter_map(|v| self.weighted_shortfall(&elements.element(v), v));
        all.map(|x| 0.5 * x * x).sum()
    }

    /// Returns the residuals and their derivatives, one column per residual.
    pub fn residuals(
        &self,
        vectors: &[Vec3],
        unknowns: &AtomUnknowns,
        derivatives: &VectorDerivatives,
    ) -> (Vec<f64>, Mat<f64>) {
        let elements = self.elements(vectors);
        let seen: Vec<(usize, f64)> = (0..self.boundary.len())
            .filter_map(|v| Some((v, self.weighted_shortfall(&elements.element(v), v)?)))
            .collect();
        let mut slopes = Mat::zeros(unknowns.len(), seen.len());
        for (column, (v, _)) in seen.iter().enumerate() {
            let element = elements.element(*v);
            let factor = -self.weight * self.signs[*v] / PENALTY_THRESHOLD;
            for (vector, pull) in self.element_derivatives(&element, *v) {
                let first = unknowns.first_unknown_of_vector(vector);
                for (u, d) in derivatives[vector].iter().enumerate() {
                    slopes[(first + u, column)] += factor * pull.dot(d);
                }
            }
        }
        (seen.into_iter().map(|(_, x)| x).collect(), slopes)
    }

    /// Returns the derivatives of a vertex's relative element by the vectors that it depends on.
    fn element_derivatives(&self, element: &VolumeElement, v: usize) -> Vec<(usize, Vec3)> {
        let [a, b, spoke] = element.columns;
        let ([c, d], at_hub) = element.reference_columns();
        let value = element.relative_volume();
        let span = c.norm() * d.norm() * spoke.norm();
        // Derivatives of the determinant, and of the logarithms of the lengths of reference.
        let log = |x: &Vec3| x * (value / x.norm_squared());
        let (by_a, by_b) = (b.cross(&spoke) / span, spoke.cross(&a) / span);
        let by_spoke = a.cross(&b) / span - log(&spoke);
        let (from_c, from_d) = (log(&c), log(&d));
        let whole_d = !at_hub || element.hub[1] == Vec3::zeros();
        let mut out = Vec::new();
        let mut add = |map: &WeightMatrix, pull: &dyn Fn(bool) -> Vec3| {
            if let Some(row) = map.outer_view(v) {
                out.extend(
                    row.iter()
                        .map(|(vector, w)| (vector, pull(self.hubs[vector]) * *w)),
                );
            }
        };
        let [first, second] = &self.boundary.tangents;
        add(first, &|is_hub| {
            if !at_hub || is_hub {
                by_a - from_c
            } else {
                by_a
            }
        });
        add(second, &|is_hub| {
            if whole_d || is_hub {
                by_b - from_d
            } else {
                by_b
            }
        });
        add(&self.boundary.value, &|is_hub| {
            if is_hub { Vec3::zeros() } else { by_spoke }
        });
        out
    }
}

impl VolumeElements {
    fn element(&self, v: usize) -> VolumeElement {
        VolumeElement {
            columns: [self.tangents[0][v], self.tangents[1][v], self.spokes[v]],
            hub: [self.hub_tangents[0][v], self.hub_tangents[1][v]],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::fixture::{ellipsoid, helix};
    use super::*;

    /// A sound figure has little fold energy, and the derivatives agree with finite differences.
    #[test]
    fn folds_energy_and_derivatives() {
        for sound in [ellipsoid([2.0, 1.2, 0.6], 3, 5, 0.8), helix(5, 6)] {
            let boundary = Boundary::new(&sound, 1).unwrap();
            let folds = FoldPenalty::new(&boundary, &sound);
            assert!(folds.energy(&figure_vectors(&sound)) < 1.0);
            let unknowns = AtomUnknowns::new(&sound, &[]);
            let mut random = crate::surface::shapes::Random(3);
            let mut step: Vec<f64> = (0..unknowns.len())
                .map(|_| 0.6 * (random.next() - 0.5))
                .collect();
            // Narrower than a right angle, where object angles can go both ways.
            for i in 0..sound.kind().atom_count() {
                step[unknowns.first_unknown(i) + crate::mrep::figures::atom::ANGLE] = -0.3;
                step[unknowns.first_unknown(i) + crate::mrep::figures::atom::LOG_RADIUS] = 0.6;
            }
            let figure = unknowns.apply_step(&sound, &step);
            let derivatives = unknowns.derivatives(&figure);
            let (values, slopes) =
                folds.residuals(&figure_vectors(&figure), &unknowns, &derivatives);
            assert!(values.len() > 5, "{}", values.len());
            let energy: f64 = values.iter().map(|x| 0.5 * x * x).sum();
            assert!((energy - folds.energy(&figure_vectors(&figure))).abs() < 1e-9 * energy);
            for unknown in 0..unknowns.len() {
                let at = |h: f64| {
                    let mut step = vec![0.0; unknowns.len()];
                    step[unknown] = h;
                    folds.energy(&figure_vectors(&unknowns.apply_step(&figure, &step)))
                };
                let difference = (at(1e-6) - at(-1e-6)) / 2e-6;
                let slope: f64 = values
                    .iter()
                    .enumerate()
                    .map(|(k, x)| x * slopes[(unknown, k)])
                    .sum();
                let scale = energy.max(slope.abs()).max(1.0);
                assert!(
                    (difference - slope).abs() < 1e-5 * scale,
                    "{unknown}: {difference} {slope}"
                );
            }
        }
    }
}
