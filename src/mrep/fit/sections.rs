// SPDX-License-Identifier: MIT OR Apache-2.0
//! Atoms that move together, between the whole figure and each atom alone: the object, and its sections from joint to joint.
//!
//! Steps of all atoms are restricted to those that move, rotate and scale each section as one. Atoms at a joint belong half to
//! either section.
//!
//! Source: the scales of [oguz2005, slide 14]. That they are subspaces of the atoms' own steps is ours.

use super::unknowns::AtomUnknowns;
use crate::Vec3;
use crate::mrep::figures::atom::{LOG_RADIUS, ROTATION};
use crate::mrep::figures::figure::{Figure, FigureKind};
use faer::Mat;

/// Unknowns of each section: displacement 3 in radii, rotation 3, logarithm of the scale.
const SECTION_UNKNOWNS: usize = 7;

/// Shares of each atom in each section, `[section][atom]`; those of an atom sum up to one.
pub(super) struct FigureSections(Vec<Vec<f64>>);

impl FigureSections {
    /// Takes the figure as one section.
    pub fn from_whole_figure(figure: &Figure) -> Self {
        Self(vec![vec![1.0; figure.kind().atom_count()]])
    }

    /// Divides a tube from joint to joint. `None`: no joint lies between the ends.
    pub fn between_joints(figure: &Figure) -> Option<Self> {
        let FigureKind::Tube { atoms, .. } = figure.kind() else {
            return None;
        };
        let inner: Vec<usize> = (1..atoms - 1).filter(|i| figure.is_joint(*i)).collect();
        if inner.is_empty() {
            return None;
        }
        let bounds = [&[0], &inner[..], &[atoms - 1]].concat();
        let section = |w: &[usize]| {
            let share = |i: usize| match i {
                _ if i < w[0] || i > w[1] => 0.0,
                _ if (i == w[0] && i > 0) || (i == w[1] && i < atoms - 1) => 0.5,
                _ => 1.0,
            };
            (0..atoms).map(share).collect()
        };
        Some(Self(bounds.windows(2).map(section).collect()))
    }

    /// Returns the changes of all unknowns, one column per degree of freedom of a section. Unknowns in `blocked` do not change.
    pub fn motion_directions(
        &self,
        figure: &Figure,
        unknowns: &AtomUnknowns,
        blocked: &[bool],
    ) -> Mat<f64> {
        let mut out = Mat::zeros(unknowns.len(), SECTION_UNKNOWNS * self.0.len());
        for (s, shares) in self.0.iter().enumerate() {
            let atoms = || figure.atoms().iter().zip(shares).enumerate();
            let all: f64 = shares.iter().sum();
            let centre = atoms().map(|(_, (a, w))| a.hub * *w).sum::<Vec3>() / all;
            let size = atoms()
                .map(|(_, (a, w))| a.mean_spoke_length() * w)
                .sum::<f64>()
                / all;
            // Axes that turn with the figure.
            let own = atoms().find(|(_, (_, w))| **w > 0.0);
            let Some((_, (first, _))) = own else {
                continue;
            };
            for (i, (atom, &share)) in atoms() {
                if share == 0.0 {
                    continue;
                }
                let arm = atom.hub - centre;
                let to_own = atom.frame.transpose() * share;
                let mut set = |way: usize, row: usize, value: f64| {
                    let row = unknowns.first_unknown(i) + row;
                    if !blocked[row] {
                        out[(row, SECTION_UNKNOWNS * s + way)] = value;
                    }
                };
                for (k, axis) in first.frame.column_iter().enumerate() {
                    let moved = to_own * axis * (size / atom.radius);
                    let turned = to_own * axis.cross(&arm) / atom.radius;
                    let turn = to_own * axis;
                    for c in 0..3 {
                        set(k, c, moved[c]);
                        set(3 + k, c, turned[c]);
                        set(3 + k, ROTATION + c, turn[c]);
                    }
                }
                let grown = to_own * arm / atom.radius;
                for c in 0..3 {
                    set(6, c, grown[c]);
                }
                set(6, LOG_RADIUS, share);
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::fixture::{ellipsoid, helix};
    use super::*;
    use crate::Mat3;

    /// The shares of an atom sum to one, and sections meet at the joints.
    #[test]
    fn section_shares_sum_to_one() {
        let straight = helix(7, 5);
        assert!(FigureSections::between_joints(&straight).is_none());
        assert!(FigureSections::between_joints(&ellipsoid([2.0, 1.0, 0.5], 3, 5, 0.8)).is_none());
        let knots = straight.knots().to_vec();
        let joints = vec![knots[0], knots[2], knots[5], knots[6]];
        let jointed = Figure::tube_with_knots(straight.atoms().to_vec(), Some(knots), joints)
            .expect("a tube");
        let Some(FigureSections(shares)) = FigureSections::between_joints(&jointed) else {
            panic!("three sections");
        };
        assert_eq!(shares.len(), 3);
        for i in 0..7 {
            let sum: f64 = shares.iter().map(|s| s[i]).sum();
            assert!((sum - 1.0).abs() < 1e-15, "{i}");
        }
        assert_eq!(shares[1], [0.0, 0.0, 0.5, 1.0, 1.0, 0.5, 0.0]);
    }

    /// The directions of motion of a whole figure are similarities.
    #[test]
    fn whole_section_moves_by_similarities() {
        for figure in [ellipsoid([2.0, 1.2, 0.6], 3, 5, 0.8), helix(5, 6)] {
            let unknowns = AtomUnknowns::new(&figure, &[]);
            let blocked = vec![false; unknowns.len()];
            let ways = FigureSections::from_whole_figure(&figure)
                .motion_directions(&figure, &unknowns, &blocked);
            let hubs = figure.atoms().iter().map(|a| a.hub);
            let centre = hubs.sum::<Vec3>() / figure.atoms().len() as f64;
            let size = figure.mean_radius();
            let axes = figure.atoms()[0].frame;
            for way in 0..SECTION_UNKNOWNS {
                let h = 1e-5;
                let step: Vec<f64> = (0..unknowns.len()).map(|u| h * ways[(u, way)]).collect();
                let moved = unknowns.apply_step(&figure, &step);
                let (mut turn, mut scale, mut shift) = (Mat3::identity(), 1.0, Vec3::zeros());
                match way {
                    0..3 => shift = axes.column(way) * (size * h),
                    3..6 => {
                        let about = axes.column(way - 3) * h;
                        turn = *nalgebra::Rotation3::new(about).matrix();
                    }
                    _ => scale = h.exp(),
                }
                let wanted =
                    figure.apply_similarity(scale, &turn, centre - turn * centre * scale + shift);
                for (a, b) in moved.atoms().iter().zip(wanted.atoms()) {
                    assert!((a.hub - b.hub).norm() < 10.0 * h * h, "{way}");
                    assert!((a.frame - b.frame).norm() < 10.0 * h * h, "{way}");
                    assert!((a.radius - b.radius).abs() < 10.0 * h * h, "{way}");
                }
            }
        }
    }
}
