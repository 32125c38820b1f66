// SPDX-License-Identifier: MIT OR Apache-2.0
//! Ties between figures: where two meet in the template, each predicts a hub of the other.
//!
//! The nearest hub j of the other figure, larger by s = r_j / r̂_j than in the template and rotated by R = F_j F̂_jᵀ, predicts
//! `x_i* = x_j + s R (x̂_i − x̂_j)`, as neighbours within a figure do. Figures whose spheres at these hubs do not touch have no tie.
//!
//! Source: the multi-object scale of [oguz2005, slide 14]; the prediction by one hub of either is ours.

use super::unknowns::AtomUnknowns;
use crate::Vec3;
use crate::mrep::figures::figure::Figure;
use faer::Mat;

/// Standard deviation of a hub from the other figure's prediction, in radii: a limb moves farther from its parent than an atom from
/// its neighbour, whose deviation is 0.2.
const HUB_DEVIATION: f64 = 0.3;

/// Predicted position of a hub, from another figure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct HubTie {
    /// Index of the atom.
    pub atom: usize,
    /// Predicted position, metres.
    pub wanted: Vec3,
    /// Standard deviation from it, metres.
    pub deviation: f64,
}

/// Returns the nearest hubs of two figures of a model. `None`: their spheres do not touch.
pub(super) fn nearest_hubs(a: &Figure, b: &Figure) -> Option<[usize; 2]> {
    let all = (0..a.atoms().len()).flat_map(|i| (0..b.atoms().len()).map(move |j| [i, j]));
    let apart = |[i, j]: [usize; 2]| (a.atoms()[i].hub - b.atoms()[j].hub).norm();
    let nearest = all.min_by(|p, q| apart(*p).total_cmp(&apart(*q)))?;
    let reach =
        a.atoms()[nearest[0]].mean_spoke_length() + b.atoms()[nearest[1]].mean_spoke_length();
    (apart(nearest) <= reach).then_some(nearest)
}

impl HubTie {
    /// Ties atom `i` of a figure to atom `j` of another, from both templates and the other's current state.
    pub fn new(
        [i, j]: [usize; 2],
        template: &Figure,
        other_template: &Figure,
        other: &Figure,
    ) -> Self {
        let (from, before, now) = (
            &template.atoms()[i],
            &other_template.atoms()[j],
            &other.atoms()[j],
        );
        let scale = now.mean_spoke_length() / before.mean_spoke_length();
        let turn = now.frame * before.frame.transpose();
        Self {
            atom: i,
            wanted: now.hub + turn * (from.hub - before.hub) * scale,
            deviation: HUB_DEVIATION * from.mean_spoke_length() * scale,
        }
    }

    /// Returns the difference from the prediction over the deviation.
    fn residual(&self, figure: &Figure) -> Vec3 {
        (figure.atoms()[self.atom].hub - self.wanted) / self.deviation
    }
}

/// Returns minus the logarithm of the ties' prior.
pub(super) fn energy(ties: &[HubTie], figure: &Figure) -> f64 {
    let squares = ties.iter().map(|tie| tie.residual(figure).norm_squared());
    0.5 * squares.sum::<f64>()
}

/// Returns the residuals and their derivatives, one column per residual.
pub(super) fn residuals(
    ties: &[HubTie],
    figure: &Figure,
    unknowns: &AtomUnknowns,
) -> (Vec<f64>, Mat<f64>) {
    let values = ties
        .iter()
        .flat_map(|tie| <[f64; 3]>::from(tie.residual(figure)));
    let mut slopes = Mat::zeros(unknowns.len(), 3 * ties.len());
    for (k, tie) in ties.iter().enumerate() {
        let atom = &figure.atoms()[tie.atom];
        for axis in 0..3 {
            for c in 0..3 {
                let slope = atom.frame[(c, axis)] * atom.radius / tie.deviation;
                slopes[(unknowns.first_unknown(tie.atom) + axis, 3 * k + c)] = slope;
            }
        }
    }
    (values.collect(), slopes)
}

#[cfg(test)]
mod tests {
    use super::super::super::fixture::helix;
    use super::*;
    use crate::Mat3;

    /// Two tubes, the second of which begins where the first ends.
    fn pair() -> [Figure; 2] {
        let first = helix(5, 6);
        let ends = [first.atoms()[4].hub, first.atoms()[0].hub];
        let second = first.apply_similarity(0.6, &Mat3::identity(), ends[0] - ends[1] * 0.6);
        [first, second]
    }

    /// Figures are tied at their nearest hubs, and figures far apart are not tied.
    #[test]
    fn meeting_at_nearest_hubs() {
        let [a, b] = pair();
        assert_eq!(nearest_hubs(&a, &b), Some([4, 0]));
        let far = b.apply_similarity(1.0, &Mat3::identity(), Vec3::repeat(100.0));
        assert_eq!(nearest_hubs(&a, &far), None);
    }

    /// A similarity of all figures costs nothing, and the slopes agree with finite differences.
    #[test]
    fn ties_ignore_common_similarity() {
        let [a, b] = pair();
        let turn = *nalgebra::Rotation3::new(Vec3::new(0.4, -1.0, 0.3)).matrix();
        let moved =
            |figure: &Figure| figure.apply_similarity(1.7, &turn, Vec3::new(3.0, -2.0, 1.0));
        let ties = [HubTie::new([4, 0], &a, &b, &moved(&b))];
        assert!(energy(&ties, &moved(&a)) < 1e-24);
        // As it was, the hub is elsewhere.
        let unknowns = AtomUnknowns::new(&a, &[]);
        let (values, slopes) = residuals(&ties, &a, &unknowns);
        let halves: f64 = values.iter().map(|v| 0.5 * v * v).sum();
        assert!(halves > 1.0 && (halves - energy(&ties, &a)).abs() < 1e-9 * halves);
        for u in 0..unknowns.len() {
            let at = |h: f64| {
                let mut step = vec![0.0; unknowns.len()];
                step[u] = h;
                residuals(&ties, &unknowns.apply_step(&a, &step), &unknowns).0
            };
            let h = 1e-6;
            for (k, (after, before)) in at(h).iter().zip(at(-h)).enumerate() {
                let difference = (after - before) / (2.0 * h);
                assert!((difference - slopes[(u, k)]).abs() < 1e-6, "{u} {k}");
            }
        }
    }
}
