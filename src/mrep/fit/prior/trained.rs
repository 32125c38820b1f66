// SPDX-License-Identifier: MIT OR Apache-2.0
//! Family prior: half the squared distance of a figure from the family's mean, in deviations, wherever the figure lies.
//!
//! A similarity first moves the mean to where the figure is most typical. There the place has no first-order effect, so that derivatives may
//! take it as fixed.
//!
//! Source: [fletcher2004, §5].

use super::super::super::statistics::Statistics;
use super::super::unknowns::AtomUnknowns;
use crate::geometry::rotation::{inverse_right_jacobian, logarithm};
use crate::mrep::figures::figure::Figure;
use crate::{Mat3, Vec3};
use faer::Mat;
use nalgebra::{SMatrix, SVector};

/// Returns the mean, moved to where the figure is most typical.
fn align_mean(figure: &Figure, family: &Statistics) -> Figure {
    /// Largest number of Newton's steps on seven unknowns: the start is near.
    const MAX_NEWTON_STEPS: usize = 6;
    let mut mean = family.mean().align_to(figure);
    let mut energy = distance(&mean, figure, family);
    for _ in 0..MAX_NEWTON_STEPS {
        let step = similarity_step(&mean, figure, family);
        let moved = mean.transform_about_centroid(&step);
        let after = distance(&moved, figure, family);
        if after >= energy {
            break;
        }
        let fall = energy - after;
        (mean, energy) = (moved, after);
        if fall <= 1e-12 * energy {
            break;
        }
    }
    mean
}

fn distance(mean: &Figure, figure: &Figure, family: &Statistics) -> f64 {
    let tangent = mean.step_to(figure);
    0.5 * family
        .apply_precision(&tangent)
        .iter()
        .zip(&tangent)
        .map(|(a, b)| a * b)
        .sum::<f64>()
}

/// Returns the Gauss-Newton step of the mean's similarity: shift in its own size, rotation, logarithm of the scale.
fn similarity_step(mean: &Figure, figure: &Figure, family: &Statistics) -> SVector<f64, 7> {
    let tangent = mean.step_to(figure);
    // Central differences suffice: few are needed, and they need not be exact to converge. About the cube root of rounding, 6e-6, balances
    // their two errors.
    const DIFFERENCE_STEP: f64 = 1e-5;
    let column = |k: usize| -> Vec<f64> {
        let at = |h: f64| {
            let mut step = SVector::zeros();
            step[k] = h;
            mean.transform_about_centroid(&step).step_to(figure)
        };
        at(DIFFERENCE_STEP)
            .iter()
            .zip(at(-DIFFERENCE_STEP))
            .map(|(a, b)| (a - b) / (2.0 * DIFFERENCE_STEP))
            .collect()
    };
    let columns: Vec<Vec<f64>> = (0..7).map(column).collect();
    let white: Vec<Vec<f64>> = columns.iter().map(|c| family.apply_precision(c)).collect();
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>();
    let matrix = SMatrix::<f64, 7, 7>::from_fn(|i, j| dot(&white[i], &columns[j]));
    let right = SVector::<f64, 7>::from_fn(|i, _| -dot(&white[i], &tangent));
    matrix
        .cholesky()
        .map_or(SVector::zeros(), |factor| factor.solve(&right))
}

impl Figure {
    /// Returns the figure after a similarity about the centroid of its hubs: shift in the figure's size, rotation, logarithm of the scale.
    fn transform_about_centroid(&self, step: &SVector<f64, 7>) -> Self {
        let centre = self.atoms().iter().map(|a| a.hub).sum::<Vec3>() / self.atoms().len() as f64;
        let turn = nalgebra::Rotation3::new(Vec3::new(step[3], step[4], step[5]));
        let turn: &Mat3 = turn.matrix();
        let scale = step[6].exp();
        let shift = Vec3::new(step[0], step[1], step[2]) * self.size();
        self.apply_similarity(scale, turn, centre + shift - turn * centre * scale)
    }
}

pub(super) fn energy(figure: &Figure, family: &Statistics) -> f64 {
    distance(&align_mean(figure, family), figure, family)
}

pub(super) fn add_derivatives(
    figure: &Figure,
    unknowns: &AtomUnknowns,
    family: &Statistics,
    factor: f64,
    gradient: &mut [f64],
    hessian: &mut Mat<f64>,
) {
    let mean = align_mean(figure, family);
    let white = family.apply_precision(&mean.step_to(figure));
    // Derivatives of the differences by the figure's own unknowns: two blocks of three per atom, else the identity.
    let blocks: Vec<(Mat3, Mat3)> = (mean.atoms().iter().zip(figure.atoms()))
        .map(|(mean, atom)| {
            let turn = mean.frame.transpose() * atom.frame;
            let hub = turn * (atom.radius / mean.radius);
            (hub, inverse_right_jacobian(&logarithm(&turn)))
        })
        .collect();
    // Transposed blocks times a vector.
    let pulled = |x: &[f64]| -> Vec<f64> {
        let mut out = x.to_vec();
        for (i, (hub, turn)) in blocks.iter().enumerate() {
            let first = unknowns.first_unknown(i);
            for (from, block) in [(first, hub), (first + 4, turn)] {
                let part = block.transpose() * Vec3::from_column_slice(&x[from..from + 3]);
                out[from..from + 3].copy_from_slice(part.as_slice());
            }
        }
        out
    };
    for (g, x) in gradient.iter_mut().zip(pulled(&white)) {
        *g += factor * x;
    }
    let (modes, along, base) = family.precision();
    for (k, beyond) in along.into_iter().enumerate() {
        let mode: Vec<f64> = modes.col(k).iter().copied().collect();
        let mode = pulled(&mode);
        for (j, b) in mode.iter().enumerate() {
            for (i, a) in mode.iter().enumerate() {
                hessian[(i, j)] += factor * beyond * a * b;
            }
        }
    }
    let mut own = vec![true; gradient.len()];
    for (i, (hub, turn)) in blocks.iter().enumerate() {
        let first = unknowns.first_unknown(i);
        for (from, block) in [(first, hub), (first + 4, turn)] {
            let product = block.transpose() * block * (base * factor);
            for a in 0..3 {
                own[from + a] = false;
                for b in 0..3 {
                    hessian[(from + a, from + b)] += product[(a, b)];
                }
            }
        }
    }
    for (i, own) in own.into_iter().enumerate() {
        if own {
            hessian[(i, i)] += base * factor;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::super::fixture::helix;
    use super::*;

    /// The derivatives of the trained prior agree with finite differences, and a similarity does not change its
    /// energy.
    #[test]
    fn trained_derivatives_and_similarity() {
        let base = helix(4, 5);
        let mut random = crate::surface::shapes::Random(6);
        let count = base.step_to(&base).len();
        let mut shaken = |size: f64| {
            let step: Vec<f64> = (0..count).map(|_| size * (random.next() - 0.5)).collect();
            base.apply_step(&step)
        };
        let figures: Vec<Figure> = (0..6).map(|_| shaken(0.4)).collect();
        let family = Statistics::new(&figures).unwrap();
        let figure = shaken(0.4);
        let unknowns = AtomUnknowns::new(&figure, &[]);
        let mut gradient = vec![0.0; count];
        let mut hessian = Mat::zeros(count, count);
        add_derivatives(
            &figure,
            &unknowns,
            &family,
            1.0,
            &mut gradient,
            &mut hessian,
        );
        for k in 0..count {
            let at = |h: f64| {
                let mut step = vec![0.0; count];
                step[k] = h;
                energy(&unknowns.apply_step(&figure, &step), &family)
            };
            let difference = (at(1e-5) - at(-1e-5)) / 2e-5;
            let scale = hessian[(k, k)].sqrt() * (1.0 + energy(&figure, &family).sqrt());
            assert!(
                (difference - gradient[k]).abs() < 1e-3 * scale,
                "{k}: {difference} {}",
                gradient[k]
            );
        }
        let turn = *nalgebra::Rotation3::new(Vec3::new(0.4, -1.1, 2.0)).matrix();
        let moved = figure.apply_similarity(3.0, &turn, Vec3::new(1.0, 2.0, 3.0));
        let (here, there) = (energy(&figure, &family), energy(&moved, &family));
        assert!((here / there - 1.0).abs() < 1e-6, "{here} {there}");
    }
}
