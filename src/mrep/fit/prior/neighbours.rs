// SPDX-License-Identifier: MIT OR Apache-2.0
//! Template prior: each atom relates to its neighbours as in the template.
//!
//! Two neighbours predict each other. Neighbour j, larger by s = r_j / r̂_j than in the template and rotated by R = F_j F̂_jᵀ, predicts
//! `x_i* = x_j + s R (x̂_i − x̂_j)` and a frame R F̂_i. Both directions count half. A similarity of all atoms changes nothing.
//!
//! Source: [oguz2005, slides 10 to 12; pizer2003, §4.3], there with one deviation for all that differs.

use super::super::unknowns::AtomUnknowns;
#[cfg(test)]
use crate::Vec3;
use crate::geometry::rotation::{inverse_right_jacobian, logarithm};
use crate::mrep::figures::atom::{ANGLE, Atom, LOG_END, LOG_RADIUS, ROTATION, Role};
use crate::mrep::figures::figure::Figure;

/// Standard deviations: place in r, log r, rotation in radians, object angle, log η, log ρ. With half and twice of each limbs of five known
/// characters are missed by 0.08 to 0.32 % of the size, with these by 0.08 to 0.31.
const PLACE_DEVIATION: f64 = 0.2;
const RADIUS_DEVIATION: f64 = 0.15;
const FRAME_DEVIATION: f64 = 0.25;
const OBJECT_ANGLE_DEVIATION: f64 = 0.2;
const END_FACTOR_DEVIATION: f64 = 0.15;
const LENGTH_DEVIATION: f64 = 0.15;

/// A residual with its derivatives by unknowns.
pub(super) struct Residual {
    pub value: f64,
    pub slopes: Vec<(usize, f64)>,
}

/// Returns all residuals of a figure against its template; their squares halved are the energy.
pub(super) fn residuals(
    figure: &Figure,
    template: &Figure,
    unknowns: &AtomUnknowns,
) -> Vec<Residual> {
    let mut out = Vec::new();
    for [a, b] in figure.kind().neighbours() {
        for (i, j) in [(a, b), (b, a)] {
            let pair = NeighbourPair {
                atoms: [i, j].map(|k| &figure.atoms()[k]),
                template: [i, j].map(|k| &template.atoms()[k]),
                roles: [i, j].map(|k| figure.kind().role(k)),
                first: [i, j].map(|k| unknowns.first_unknown(k)),
            };
            pair.add_residuals(&mut out);
        }
    }
    // Both directions of a pair count half.
    let half = 0.5_f64.sqrt();
    for residual in &mut out {
        residual.value *= half;
        residual.slopes.iter_mut().for_each(|(_, s)| *s *= half);
    }
    out
}

/// An atom and the neighbour that predicts it, in this order.
struct NeighbourPair<'a> {
    atoms: [&'a Atom; 2],
    template: [&'a Atom; 2],
    roles: [Role; 2],
    first: [usize; 2],
}

impl NeighbourPair<'_> {
    fn add_residuals(&self, out: &mut Vec<Residual>) {
        self.add_place_residuals(out);
        self.add_frame_residuals(out);
        let [i, j] = self.first;
        let mut difference = |unknown: [usize; 2], value: f64, deviation: f64| {
            out.push(Residual {
                value: value / deviation,
                slopes: vec![
                    (i + unknown[0], 1.0 / deviation),
                    (j + unknown[1], -1.0 / deviation),
                ],
            });
        };
        let grown = |k: usize| (self.atoms[k].radius / self.template[k].radius).ln();
        difference([LOG_RADIUS; 2], grown(0) - grown(1), RADIUS_DEVIATION);
        let opened = |k: usize| self.atoms[k].angle - self.template[k].angle;
        difference([ANGLE; 2], opened(0) - opened(1), OBJECT_ANGLE_DEVIATION);
        for q in 0..self.atoms[0].lengths.len() {
            let longer = |k: usize| (self.atoms[k].lengths[q] / self.template[k].lengths[q]).ln();
            let unknown = self.roles.map(|role| role.length_index(q));
            difference(unknown, longer(0) - longer(1), LENGTH_DEVIATION);
        }
        if self.roles[0].is_closing() {
            out.push(Residual {
                value: (self.atoms[0].end / self.template[0].end).ln() / END_FACTOR_DEVIATION,
                slopes: vec![(i + LOG_END, 1.0 / END_FACTOR_DEVIATION)],
            });
        }
    }

    /// Adds `(x_i − x_i*) / √(r_i r_j)`, in the neighbour's axes.
    fn add_place_residuals(&self, out: &mut Vec<Residual>) {
        let ([atom, other], [from, to]) = (self.atoms, [self.template[1], self.template[0]]);
        let [i, j] = self.first;
        let grown = other.radius / from.radius;
        // Predicted offset in the axes of the template's neighbour, scaled.
        let local = from.frame.transpose() * (to.hub - from.hub) * grown;
        let unit = PLACE_DEVIATION * (atom.mean_spoke_length() * other.mean_spoke_length()).sqrt();
        let axes = other.frame.transpose();
        let off = axes * (atom.hub - other.hub) - local;
        let own = axes * atom.frame * atom.radius;
        // A rotation of the neighbour rotates the axes, but not the prediction in them: only the difference of hubs rotates back.
        let turns = (off + local).cross_matrix();
        for c in 0..3 {
            let value = off[c] / unit;
            let mut slopes = vec![
                (i + LOG_RADIUS, -0.5 * value),
                (j + LOG_RADIUS, -local[c] / unit - 0.5 * value),
                (j + c, -other.radius / unit),
            ];
            // The unit also grows with the mean of log ρ.
            for (first, role, atom) in [(i, self.roles[0], atom), (j, self.roles[1], other)] {
                let count = atom.lengths.len();
                let each = -0.5 * value / count as f64;
                slopes.extend((0..count).map(|q| (first + role.length_index(q), each)));
            }
            for k in 0..3 {
                slopes.push((i + k, own[(c, k)] / unit));
                slopes.push((j + ROTATION + k, turns[(c, k)] / unit));
            }
            out.push(Residual { value, slopes });
        }
    }

    /// Adds `log((R F̂_i)ᵀ F_i)`.
    fn add_frame_residuals(&self, out: &mut Vec<Residual>) {
        let ([atom, other], [to, from]) = (self.atoms, self.template);
        let [i, j] = self.first;
        let off = to.frame.transpose() * from.frame * other.frame.transpose() * atom.frame;
        let vector = logarithm(&off);
        let by_own = inverse_right_jacobian(&vector);
        let by_other = by_own * atom.frame.transpose() * other.frame;
        for c in 0..3 {
            let mut slopes = Vec::with_capacity(6);
            for k in 0..3 {
                slopes.push((i + ROTATION + k, by_own[(c, k)] / FRAME_DEVIATION));
                slopes.push((j + ROTATION + k, -by_other[(c, k)] / FRAME_DEVIATION));
            }
            out.push(Residual {
                value: vector[c] / FRAME_DEVIATION,
                slopes,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::super::fixture::{ellipsoid, helix};
    use super::*;

    fn figures() -> [Figure; 2] {
        [ellipsoid([2.0, 1.2, 0.6], 3, 4, 0.8), helix(4, 5)]
    }

    /// A figure after a random step of all unknowns.
    fn perturb(figure: &Figure, unknowns: &AtomUnknowns, size: f64) -> Figure {
        let mut random = crate::surface::shapes::Random(3);
        let step: Vec<f64> = (0..unknowns.len())
            .map(|_| size * (random.next() - 0.5))
            .collect();
        unknowns.apply_step(figure, &step)
    }

    /// The derivatives of the prior agree with finite differences.
    #[test]
    fn neighbours_derivatives_match_differences() {
        for template in figures() {
            let unknowns = AtomUnknowns::new(&template, &[]);
            // Object angles at their limit have no derivative.
            let narrower = |atom: &Atom| Atom {
                angle: atom.angle.min(1.2),
                ..atom.clone()
            };
            let template = template.with_atoms(template.atoms().iter().map(narrower).collect());
            let figure = perturb(&template, &unknowns, 0.3);
            let exact = residuals(&figure, &template, &unknowns);
            for unknown in 0..unknowns.len() {
                let h = 1e-6;
                let at = |h: f64| {
                    let mut step = vec![0.0; unknowns.len()];
                    step[unknown] = h;
                    residuals(&unknowns.apply_step(&figure, &step), &template, &unknowns)
                };
                let (after, before) = (at(h), at(-h));
                for (k, residual) in exact.iter().enumerate() {
                    let difference = (after[k].value - before[k].value) / (2.0 * h);
                    let slope: f64 = (residual.slopes.iter())
                        .filter(|(u, _)| *u == unknown)
                        .map(|(_, s)| s)
                        .sum();
                    assert!(
                        (difference - slope).abs() < 1e-6,
                        "{k} {unknown}: {difference} {slope}"
                    );
                }
            }
        }
    }

    /// The prior does not change under a similarity of the whole figure.
    #[test]
    fn neighbours_ignore_similarity() {
        let turn = *nalgebra::Rotation3::new(Vec3::new(0.4, -1.1, 2.0)).matrix();
        for template in figures() {
            let unknowns = AtomUnknowns::new(&template, &[]);
            let moved = template.apply_similarity(3.0, &turn, Vec3::new(1.0, 2.0, 3.0));
            assert!(
                residuals(&moved, &template, &unknowns)
                    .iter()
                    .all(|r| r.value.abs() < 1e-9)
            );
            let figure = perturb(&template, &unknowns, 0.3);
            let energy = |f: &Figure| {
                let all = residuals(f, &template, &unknowns);
                all.iter().map(|r| 0.5 * r.value * r.value).sum::<f64>()
            };
            let moved = figure.apply_similarity(0.2, &turn, Vec3::new(1.0, 2.0, 3.0));
            assert!(energy(&figure) > 0.1);
            assert!((energy(&moved) / energy(&figure) - 1.0).abs() < 1e-9);
        }
    }
}
