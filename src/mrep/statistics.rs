// SPDX-License-Identifier: MIT OR Apache-2.0
//! Statistics of a family of figures: their mean, their principal modes of variation, and how typical another figure is.
//!
//! Figures of one kind are aligned by similarities. Atoms and their differences from the mean are averaged on the product of
//! positions, logarithms of lengths, and rotations. This is principal geodesic analysis [fletcher2004, §4], in the tangent space
//! of the mean. All directions that the modes do not explain share one small deviation.

use super::error::MRepError;
use crate::geometry::rotation::{best_rotation, logarithm, renormalise};
use crate::mrep::figures::figure::Figure;
use crate::{Mat3, Vec3};
use faer::{Mat, Side};

/// Share of the variance that the modes explain. A direction left out then has a seventh of the whole deviation at most, √0.02.
const EXPLAINED_VARIANCE: f64 = 0.98;
/// Least deviation along unexplained directions: no family is known better. It is about a tenth of the deviations between neighbours.
const MIN_REST_DEVIATION: f64 = 0.02;

/// Mean and modes of a family of figures.
#[derive(Debug, Clone)]
pub struct Statistics {
    mean: Figure,
    /// Unit modes, one per column; one row per number of the atoms.
    modes: Mat<f64>,
    deviations: Vec<f64>,
    rest: f64,
}

impl Statistics {
    /// Learns from at least two figures of one kind, with equal numbers of atoms and spokes. The mean has the place and size of
    /// the first.
    ///
    /// # Errors
    /// Fewer than two figures; figures of different kinds.
    pub fn new(figures: &[Figure]) -> Result<Self, MRepError> {
        let [first, others @ ..] = figures else {
            return Err(too_few_error(0));
        };
        if others.is_empty() {
            return Err(too_few_error(1));
        }
        if let Some(i) = others.iter().position(|f| f.kind() != first.kind()) {
            return Err(MRepError::Family {
                index: i + 1,
                first: first.kind(),
                found: others[i].kind(),
            });
        }
        /// Number of rounds after which the mean stands still.
        const MEAN_ITERATIONS: usize = 20;
        let mut mean = first.clone();
        let mut aligned = figures.to_vec();
        for _ in 0..MEAN_ITERATIONS {
            for figure in &mut aligned {
                *figure = figure.align_to(&mean);
            }
            let mut sum = vec![0.0; mean.step_to(&mean).len()];
            for figure in &aligned {
                for (s, x) in sum.iter_mut().zip(mean.step_to(figure)) {
                    *s += x / aligned.len() as f64;
                }
            }
            mean = mean.apply_step(&sum).align_to(first);
            if sum.iter().all(|x| x.abs() < 1e-12) {
                break;
            }
        }
        let rows: Vec<Vec<f64>> = aligned
            .iter()
            .map(|figure| mean.step_to(&figure.align_to(&mean)))
            .collect();
        let (modes, deviations, rest) = principal_directions(&rows);
        Ok(Self {
            mean,
            modes,
            deviations,
            rest,
        })
    }

    /// Returns the mean figure.
    pub fn mean(&self) -> &Figure {
        &self.mean
    }

    /// Returns the standard deviation of each mode, the largest first.
    pub fn deviations(&self) -> &[f64] {
        &self.deviations
    }

    /// Returns a unit mode. For each atom it has: displacement of the hub over r in its axes (3), log r, rotation in its axes (3,
    /// radians), object angle, log end factor where the boundary closes, logs of relative lengths.
    pub fn mode(&self, k: usize) -> Vec<f64> {
        self.modes.col(k).iter().copied().collect()
    }

    /// Returns the deviation along directions that the modes do not explain.
    pub fn rest_deviation(&self) -> f64 {
        self.rest
    }

    /// Returns the figure at the given numbers of deviations along the first modes.
    pub fn figure(&self, scores: &[f64]) -> Figure {
        let mut step = vec![0.0; self.modes.nrows()];
        for (k, score) in scores.iter().enumerate().take(self.deviations.len()) {
            for (s, m) in step.iter_mut().zip(self.modes.col(k).iter()) {
                *s += score * self.deviations[k] * m;
            }
        }
        self.mean.apply_step(&step)
    }

    /// Returns a figure's distance from the mean along each mode, in deviations, and the root mean square along all other
    /// directions. Place, rotation and size of the whole do not count.
    ///
    /// # Errors
    /// A figure of another kind.
    pub fn scores(&self, figure: &Figure) -> Result<(Vec<f64>, f64), MRepError> {
        self.check(figure)?;
        let tangent = self.mean.step_to(&figure.align_to(&self.mean));
        let along: Vec<f64> = (0..self.deviations.len())
            .map(|k| {
                self.modes
                    .col(k)
                    .iter()
                    .zip(&tangent)
                    .map(|(m, x)| m * x)
                    .sum()
            })
            .collect();
        let square = |x: &[f64]| x.iter().map(|x| x * x).sum::<f64>();
        let left = (square(&tangent) - square(&along)).max(0.0);
        let free = (tangent.len() - along.len()).max(1) as f64;
        let scores = along
            .iter()
            .zip(&self.deviations)
            .map(|(x, d)| x / d)
            .collect();
        Ok((scores, (left / free).sqrt() / self.rest))
    }

    pub(super) fn check(&self, figure: &Figure) -> Result<(), MRepError> {
        if figure.kind() == self.mean.kind() {
            return Ok(());
        }
        Err(MRepError::Family {
            index: 0,
            first: self.mean.kind(),
            found: figure.kind(),
        })
    }

    /// Returns the inverse covariance times a vector.
    pub(super) fn apply_precision(&self, tangent: &[f64]) -> Vec<f64> {
        let base = 1.0 / (self.rest * self.rest);
        let mut out: Vec<f64> = tangent.iter().map(|x| x * base).collect();
        for (k, deviation) in self.deviations.iter().enumerate() {
            let mode = self.modes.col(k);
            let along: f64 = mode.iter().zip(tangent).map(|(m, x)| m * x).sum();
            let factor = along * (1.0 / (deviation * deviation) - base);
            for (o, m) in out.iter_mut().zip(mode.iter()) {
                *o += factor * m;
            }
        }
        out
    }

    /// Returns the modes, the inverse covariance along each less that of the rest, and that of the rest.
    pub(super) fn precision(&self) -> (&Mat<f64>, Vec<f64>, f64) {
        let base = 1.0 / (self.rest * self.rest);
        let along = self.deviations.iter().map(|d| 1.0 / (d * d) - base);
        (&self.modes, along.collect(), base)
    }
}

fn too_few_error(found: usize) -> MRepError {
    MRepError::Count {
        what: "the number of figures to learn from",
        found,
        least: 2,
        most: usize::MAX,
    }
}

/// Returns the principal directions of rows, their deviations, and that of the rest.
fn principal_directions(rows: &[Vec<f64>]) -> (Mat<f64>, Vec<f64>, f64) {
    let (n, m) = (rows.len(), rows[0].len());
    // The small Gram matrix of rows has the same eigenvalues as the large covariance matrix.
    let product = |i: usize, j: usize| -> f64 {
        rows[i]
            .iter()
            .zip(&rows[j])
            .map(|(a, b)| a * b)
            .sum::<f64>()
            / (n - 1) as f64
    };
    let gram = Mat::from_fn(n, n, product);
    let total: f64 = (0..n).map(|i| gram[(i, i)]).sum();
    let mut pairs: Vec<(f64, Vec<f64>)> = match gram.self_adjoint_eigen(Side::Lower) {
        Ok(eigen) => (0..n)
            .map(|k| {
                let vector = eigen.U().col(k).iter().copied().collect();
                (eigen.S().column_vector()[k], vector)
            })
            .collect(),
        Err(_) => Vec::new(),
    };
    pairs.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut kept = Vec::new();
    let mut explained = 0.0;
    for (value, vector) in pairs.into_iter().take(n - 1) {
        if explained >= EXPLAINED_VARIANCE * total || value <= 1e-12 * total.max(1e-12) {
            break;
        }
        explained += value;
        let mut mode = vec![0.0; m];
        for (row, x) in rows.iter().zip(&vector) {
            mode.iter_mut().zip(row).for_each(|(m, r)| *m += x * r);
        }
        let norm = mode.iter().map(|x| x * x).sum::<f64>().sqrt();
        // Eigenvectors have no sign: the largest number becomes positive.
        let largest = mode.iter().fold(0.0_f64, |a, b| {
            if b.abs() > a.abs() * (1.0 + 1e-9) {
                *b
            } else {
                a
            }
        });
        let sign = largest.signum() / norm;
        kept.push((
            value.sqrt(),
            mode.into_iter().map(|x| x * sign).collect::<Vec<f64>>(),
        ));
    }
    let left = ((total - explained).max(0.0) / (m - kept.len()).max(1) as f64).sqrt();
    let rest = left.max(MIN_REST_DEVIATION);
    // Modes that vary less than the unexplained rest are dropped.
    kept.retain(|(deviation, _)| *deviation > rest);
    let modes = Mat::from_fn(m, kept.len(), |i, k| kept[k].1[i]);
    (
        modes,
        kept.into_iter().map(|(deviation, _)| deviation).collect(),
        rest,
    )
}

impl Figure {
    /// Returns the step to another figure, atoms concatenated.
    pub(super) fn step_to(&self, other: &Self) -> Vec<f64> {
        let of = |(i, (a, b))| -> Vec<f64> {
            let (a, b): (&super::Atom, &super::Atom) = (a, b);
            a.difference(self.kind().role(i), b)
        };
        self.atoms()
            .iter()
            .zip(other.atoms())
            .enumerate()
            .flat_map(of)
            .collect()
    }

    /// Returns the figure after a step of all atoms.
    pub(super) fn apply_step(&self, step: &[f64]) -> Self {
        let mut from = 0;
        let mut atoms = Vec::with_capacity(self.atoms().len());
        for (i, atom) in self.atoms().iter().enumerate() {
            let role = self.kind().role(i);
            let to = from + role.unknown_count(self.kind().spoke_count());
            atoms.push(atom.apply_step(role, &step[from..to]));
            from = to;
        }
        self.with_atoms(atoms)
    }

    /// Aligns the figure with another of its kind by a similarity. It matches the centroid of the hubs, the mean logarithm of the
    /// spokes' lengths, and the rotation that brings hubs and frames nearest. A mean of figures aligned with one has the same
    /// place and size.
    pub(super) fn align_to(&self, other: &Self) -> Self {
        let n = self.atoms().len() as f64;
        let pairs = || self.atoms().iter().zip(other.atoms());
        let centre = |figure: &Self| figure.atoms().iter().map(|a| a.hub).sum::<Vec3>() / n;
        let (from, to) = (centre(self), centre(other));
        // Positions count in radii, frames in radians.
        let mut covariance = Mat3::zeros();
        for (a, b) in pairs() {
            let (p, q) = (a.hub - from, b.hub - to);
            covariance += q * p.transpose() / (a.radius * b.radius) + b.frame * a.frame.transpose();
        }
        let turn = aligning_rotation(&covariance);
        let grown = |figure: &Self| -> f64 {
            let of = |a: &super::Atom| {
                let lengths = a.lengths.iter().map(|x| x.ln());
                a.radius.ln() + lengths.sum::<f64>() / a.lengths.len() as f64
            };
            figure.atoms().iter().map(of).sum::<f64>() / n
        };
        let scale = (grown(other) - grown(self)).exp();
        self.apply_similarity(scale, &turn, to - turn * from * scale)
    }
}

/// Returns the rotation R that maximises the trace of Rᵀ M.
fn aligning_rotation(m: &Mat3) -> Mat3 {
    let Some(turn) = best_rotation(m) else {
        return Mat3::identity();
    };
    let turn = renormalise(&turn);
    if logarithm(&turn).iter().all(|x| x.is_finite()) {
        turn
    } else {
        Mat3::identity()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mrep::fixture::{ellipsoid, helix};
    use crate::surface::shapes::Random;

    /// Helices that are thicker and stretched by two random numbers, anywhere in space.
    fn family(count: usize) -> (Vec<Figure>, Vec<[f64; 2]>) {
        let base = helix(5, 6);
        let mut random = Random(4);
        let mut numbers = Vec::new();
        let figures = (0..count)
            .map(|_| {
                let [a, b] = [random.next() - 0.5, random.next() - 0.5];
                numbers.push([a, b]);
                let mut step = vec![0.0; base.step_to(&base).len()];
                let mut from = 0;
                for i in 0..5 {
                    step[from + 3] = 0.6 * a * (1.0 - i as f64 / 2.0);
                    step[from + 6] = 0.5 * b * (i as f64 - 2.0);
                    from += base.kind().role(i).unknown_count(6);
                }
                let turn =
                    nalgebra::Rotation3::new(Vec3::new(random.next(), 3.0 * random.next(), 1.0));
                let shift = Vec3::new(random.next(), 5.0, -random.next());
                base.apply_step(&step)
                    .apply_similarity(0.5 + random.next(), turn.matrix(), shift)
            })
            .collect();
        (figures, numbers)
    }

    /// A family that differs in two ways has about two modes, which explain new members too.
    #[test]
    fn statistics_find_two_modes() {
        let (figures, _) = family(12);
        let statistics = Statistics::new(&figures[..9]).unwrap();
        assert!(
            (2..=3).contains(&statistics.deviations().len()),
            "{:?}",
            statistics.deviations()
        );
        for figure in &figures {
            let (scores, rest) = statistics.scores(figure).unwrap();
            assert!(
                scores.iter().all(|s| s.abs() < 3.5) && rest < 1.5,
                "{scores:?} {rest}"
            );
            let again = statistics.figure(&scores);
            let (same, _) = statistics.scores(&again).unwrap();
            for (a, b) in scores.iter().zip(&same) {
                assert!((a - b).abs() < 0.05, "{scores:?} {same:?}");
            }
        }
        // One that bulges as none of them does is not typical.
        let mut atoms = figures[0].atoms().to_vec();
        atoms[2].lengths[1] *= 2.0;
        let (_, rest) = statistics.scores(&Figure::tube(atoms).unwrap()).unwrap();
        assert!(rest > 2.0, "{rest}");
    }

    /// The scores of a figure do not change under a similarity, and the mean is the most typical figure.
    #[test]
    fn scores_ignore_similarity() {
        let (figures, _) = family(8);
        let statistics = Statistics::new(&figures).unwrap();
        let turn = *nalgebra::Rotation3::new(Vec3::new(0.4, -1.1, 2.0)).matrix();
        for figure in &figures {
            let moved = figure.apply_similarity(0.01, &turn, Vec3::new(1.0, 2.0, 3.0));
            let (here, there) = (
                statistics.scores(figure).unwrap(),
                statistics.scores(&moved).unwrap(),
            );
            for (a, b) in here.0.iter().zip(&there.0) {
                assert!((a - b).abs() < 1e-9);
            }
        }
        let (scores, rest) = statistics.scores(statistics.mean()).unwrap();
        assert!(
            scores.iter().all(|s| s.abs() < 1e-9) && rest < 1e-6,
            "{scores:?} {rest}"
        );
        let mut sum = vec![0.0; statistics.deviations().len()];
        for figure in &figures {
            let (scores, _) = statistics.scores(figure).unwrap();
            sum.iter_mut().zip(scores).for_each(|(s, x)| *s += x);
        }
        // Turned onto each other by the nearest frames, averaged by logarithms: the same to second order.
        assert!(sum.iter().all(|s| s.abs() < 1e-2), "{sum:?}");
    }

    /// Too few figures, or figures of different kinds, are refused.
    #[test]
    fn statistics_refuse_few_or_unlike() {
        let (figures, _) = family(2);
        assert!(
            Statistics::new(&figures[..1])
                .unwrap_err()
                .to_string()
                .contains("is 1")
        );
        let mixed = [figures[0].clone(), ellipsoid([2.0, 1.2, 0.6], 3, 5, 0.8)];
        assert!(
            Statistics::new(&mixed)
                .unwrap_err()
                .to_string()
                .contains("figure 1")
        );
        // Two that are alike have no modes, and are typical all the same.
        let same = Statistics::new(&[figures[0].clone(), figures[0].clone()]).unwrap();
        assert!(same.deviations().is_empty() && same.scores(&figures[0]).unwrap().1 < 1e-3);
    }
}
