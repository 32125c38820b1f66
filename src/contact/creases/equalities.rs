// SPDX-License-Identifier: MIT OR Apache-2.0
//! Equalities held by an orthonormal basis of their rows, and the choice of held rows. `[capell2006, §3.4.2, eq. 12]`
//!
//! A row c measures the motion of one point along the normal of another, beyond the step without contact. When it is held, this cancels its motion s
//! in the step without contact. With A the matrix of the step, C the rows and δ the displacement,
//!
//! ```text
//! δ = A⁻¹ Q z,   Cᵀ P = Q R,   Qᵀ A⁻¹ Q z = y,   Rᵀ y = −Pᵀ s
//! ```
//!
//! Q comes from a QR decomposition with pivots and has as many orthonormal columns as the rows have rank. The paper projects these directions out of
//! the velocities in conjugate gradients, as `[baraff1998]` does; the Schur form is the same projection, on the factor of the step. Combinations of
//! other rows are held as far as their motion agrees with the others.
//!
//! One Cholesky factor of `C A⁻¹ Cᵀ` predicts for all k at once the effect of holding the first k rows on all others. Each prediction is verified on
//! the basis.

use crate::Vec3;
use crate::contact::response::compliance::{ComplianceColumns, FlexibleBody};
use nalgebra::linalg::{Cholesky, ColPivQR};
use nalgebra::{DMatrix, DVector, RowDVector};

/// Remainder, relative to the largest row, below which a row counts as a combination of others. Neighbouring points of one cell differ by so little;
/// holding these differences too would let forces grow without bound.
const RANK_TOLERANCE: f64 = 1e-2;
/// Term added to the diagonal of `C A⁻¹ Cᵀ`, relative to its largest entry, so that it can be factored with dependent rows.
/// It is half a million times rounding, and too small to change a force visibly.
const DIAGONAL_SHIFT: f64 = 1e-10;
/// Rounds in which closing rows are added; later rounds only release pulls. Rows that close and open in turn would never end otherwise.
const MAX_CLOSING_ROUNDS: usize = 40;

/// χ at the end of a step as a linear function of the displacements of free nodes.
#[derive(Debug, Clone, Default)]
pub(super) struct CreaseRow {
    pub entries: Vec<(u32, Vec3)>,
    /// χ without displacements, metres.
    pub gap: f64,
    /// s: opening in the step without displacements, metres.
    pub motion: f64,
}

/// Rows, and the compliance of the nodes that they push.
pub(super) struct Equalities {
    nodes: Vec<u32>,
    free: usize,
    /// Cᵀ, `[3 nodes, rows]`.
    columns: DMatrix<f64>,
    /// W, A⁻¹ between the nodes.
    compliance: DMatrix<f64>,
    gaps: DVector<f64>,
    motions: DVector<f64>,
}

/// A set of held rows.
#[derive(Debug, Clone)]
pub(super) struct ActiveSet {
    /// Indices of the held rows.
    pub rows: Vec<usize>,
    /// Multiplier of each held row, N: positive pushes apart, negative pulls together; zero for combinations of others.
    pub multipliers: Vec<f64>,
    /// Number of independent rows.
    #[cfg(test)]
    pub rank: usize,
    /// Opening of all rows, held or not, by the displacements, metres.
    opened: DVector<f64>,
    /// Q z, N at the nodes.
    forces: DVector<f64>,
}

impl Equalities {
    pub fn new(rows: &[CreaseRow], free: usize, flesh: &mut dyn FlexibleBody) -> Self {
        let mut nodes: Vec<u32> = rows
            .iter()
            .flat_map(|row| row.entries.iter().map(|(node, _)| *node))
            .collect();
        nodes.sort_unstable();
        nodes.dedup();
        let mut compliance = ComplianceColumns::default();
        compliance.add_nodes(&nodes, free, flesh);
        let mut columns = DMatrix::zeros(3 * nodes.len(), rows.len());
        for (j, row) in rows.iter().enumerate() {
            for (node, direction) in &row.entries {
                if let Ok(place) = nodes.binary_search(node) {
                    let mut part = columns.fixed_view_mut::<3, 1>(3 * place, j);
                    part += direction;
                }
            }
        }
        Self {
            gaps: DVector::from_iterator(rows.len(), rows.iter().map(|row| row.gap)),
            motions: DVector::from_iterator(rows.len(), rows.iter().map(|row| row.motion)),
            compliance: compliance.matrix().into_owned(),
            columns,
            nodes,
            free,
        }
    }

    fn empty_set(&self) -> ActiveSet {
        ActiveSet {
            rows: Vec::new(),
            multipliers: Vec::new(),
            #[cfg(test)]
            rank: 0,
            opened: DVector::zeros(self.gaps.len()),
            forces: DVector::zeros(self.columns.nrows()),
        }
    }

    /// Holds some rows; `None` where it fails numerically.
    pub fn hold(&self, rows: Vec<usize>) -> Option<ActiveSet> {
        if rows.is_empty() || self.nodes.is_empty() {
            return Some(self.empty_set());
        }
        let qr = ColPivQR::new(self.columns.select_columns(&rows));
        let upper = qr.r();
        let largest = upper[(0, 0)].abs();
        let count = upper.nrows().min(upper.ncols());
        let independent =
            (0..count).take_while(|&j| upper[(j, j)].abs() > RANK_TOLERANCE * largest);
        let rank = independent.count();
        if rank == 0 {
            return Some(ActiveSet {
                multipliers: vec![0.0; rows.len()],
                rows,
                ..self.empty_set()
            });
        }
        // Row numbers and required openings, in the order of the pivots.
        let mut order = RowDVector::from_fn(rows.len(), |_, j| j);
        qr.p().permute_columns(&mut order);
        let basis = qr.q().columns(0, rank).into_owned();
        let upper = upper.view((0, 0), (rank, rank)).into_owned();
        let wanted = DVector::from_fn(rank, |j, _| -self.motions[rows[order[j]]]);
        let along = upper.tr_solve_upper_triangular(&wanted)?;
        let given = &self.compliance * &basis;
        let schur = basis.tr_mul(&given);
        let schur = (&schur + schur.transpose()) * 0.5;
        let z = Cholesky::new(schur)?.solve(&along);
        let pushes = upper.solve_upper_triangular(&z)?;
        let mut multipliers = vec![0.0; rows.len()];
        for j in 0..rank {
            multipliers[order[j]] = pushes[j];
        }
        let held = ActiveSet {
            rows,
            multipliers,
            #[cfg(test)]
            rank,
            opened: self.columns.tr_mul(&(&given * &z)),
            forces: basis * z,
        };
        held.opened.iter().all(|x| x.is_finite()).then_some(held)
    }

    /// Returns χ of all rows, held or not, at the end of the step, metres.
    pub fn values(&self, held: &ActiveSet) -> DVector<f64> {
        &self.gaps + &held.opened
    }

    /// Returns the opening of all rows in the step, metres.
    pub fn openings(&self, held: &ActiveSet) -> DVector<f64> {
        &self.motions + &held.opened
    }

    /// Holds the first n rows, where n is the smallest number with which all later ones are exterior. `[capell2006, eq. 12]`
    pub fn hold_first(&self) -> Option<ActiveSet> {
        for n in self.predict_counts() {
            let held = self.hold((0..n).collect())?;
            if self.values(&held).iter().skip(n).all(|&x| x > 0.0) {
                return Some(held);
            }
        }
        self.hold((0..self.gaps.len()).collect())
    }

    /// Predicts the numbers of held rows with which all later rows are exterior, ascending.
    fn predict_counts(&self) -> Vec<usize> {
        let n = self.gaps.len();
        let mut square = self.columns.tr_mul(&(&self.compliance * &self.columns));
        let largest = square.diagonal().amax();
        for j in 0..n {
            square[(j, j)] += largest * DIAGONAL_SHIFT;
        }
        let Some(lower) = Cholesky::new(square).map(Cholesky::unpack) else {
            return (0..=n).collect();
        };
        let Some(steps) = lower.solve_lower_triangular(&-&self.motions) else {
            return (0..=n).collect();
        };
        let mut values = self.gaps.clone();
        let mut found = Vec::new();
        for k in 0..=n {
            if values.iter().skip(k).all(|&x| x > 0.0) {
                found.push(k);
            }
            if k < n {
                values.axpy(steps[k], &lower.column(k), 1.0);
            }
        }
        found
    }

    /// Holds rows that push, releasing rows by the sign of their multipliers. At the end none pulls, and, if the rounds suffice, no other row
    /// overlaps and closes. `None` where it fails numerically.
    pub fn hold_pushing(&self) -> Option<ActiveSet> {
        let closing = |gap: f64, motion: f64| gap < 0.0 && motion < 0.0;
        let pairs = self.gaps.iter().zip(&self.motions).enumerate();
        let mut rows: Vec<usize> = pairs
            .filter(|(_, (gap, motion))| closing(**gap, **motion))
            .map(|(j, _)| j)
            .collect();
        for round in 0.. {
            let held = self.hold(rows)?;
            let pairs = held.rows.iter().zip(&held.multipliers);
            let mut kept: Vec<usize> = pairs
                .filter(|(_, push)| **push >= 0.0)
                .map(|(j, _)| *j)
                .collect();
            if kept.len() == held.rows.len() && round < MAX_CLOSING_ROUNDS {
                let (values, openings) = (self.values(&held), self.openings(&held));
                let pairs = values.iter().zip(&openings).enumerate();
                let missing = pairs
                    .filter(|(j, (gap, motion))| closing(**gap, **motion) && !held.rows.contains(j))
                    .map(|(j, _)| j);
                kept.extend(missing);
                kept.sort_unstable();
            }
            if kept == held.rows {
                return Some(held);
            }
            rows = kept;
        }
        None
    }

    /// Returns the displacements of all free nodes, metres, computed with A itself.
    pub fn displacements(&self, held: &ActiveSet, flesh: &mut dyn FlexibleBody) -> Vec<Vec3> {
        let mut moved = vec![Vec3::zeros(); self.free];
        for (&node, force) in self
            .nodes
            .iter()
            .zip(held.forces.as_slice().chunks_exact(3))
        {
            moved[node as usize] = Vec3::new(force[0], force[1], force[2]);
        }
        flesh.displace(&mut moved);
        moved
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contact::tests::CoupledSprings;

    const NODES: usize = 12;

    /// Builds a row between two nodes; the same seed gives the same row.
    fn build_row(seed: u32, gap: f64, motion: f64) -> CreaseRow {
        let wave = |k: u32| f64::from(17 * seed + 5 * k + 1).sin();
        let n = Vec3::new(wave(0), wave(1), wave(2)).normalize();
        let (a, b) = (seed % 12, (seed * 5 + 3) % 12);
        CreaseRow {
            entries: vec![(a, n), (b, -n * 0.8)],
            gap,
            motion,
        }
    }

    fn row_opening(row: &CreaseRow, moved: &[Vec3]) -> f64 {
        let part = |(node, n): &(u32, Vec3)| n.dot(&moved[*node as usize]);
        row.entries.iter().map(part).sum()
    }

    fn build_equalities(rows: &[CreaseRow]) -> (Equalities, CoupledSprings) {
        let mut springs = CoupledSprings::new(NODES, 1.0);
        (Equalities::new(rows, NODES, &mut springs), springs)
    }

    /// Builds rows of which some overlap and close, some open, and some are apart.
    fn mixed_rows() -> Vec<CreaseRow> {
        (0..14)
            .map(|i| {
                let wave = (1.7 * f64::from(i)).sin();
                build_row(i, 0.02 - 0.004 * f64::from(13 - i), -0.01 + 0.012 * wave)
            })
            .collect()
    }

    /// Rows that are held as equalities do not move, while flesh elsewhere does.
    #[test]
    fn held_rows_do_not_open() {
        let rows = mixed_rows();
        let (equalities, mut springs) = build_equalities(&rows);
        let held = equalities.hold((0..9).collect()).unwrap();
        assert_eq!(held.rank, 9);
        let moved = equalities.displacements(&held, &mut springs);
        for (j, row) in rows.iter().enumerate() {
            let opened = row_opening(row, &moved);
            assert!((equalities.openings(&held)[j] - row.motion - opened).abs() < 1e-9);
            if j < 9 {
                assert!((row.motion + opened).abs() < 1e-9, "{j}");
            }
        }
        assert!(moved.iter().any(|d| d.norm() > 1e-3));
    }

    /// Rows that depend on others add nothing to the rank and do not change the displacements.
    #[test]
    fn duplicate_rows_count_once() {
        let single = [
            build_row(0, -1.0, -0.02),
            build_row(1, -1.0, 0.01),
            build_row(2, -1.0, -0.03),
        ];
        let mut double = single.to_vec();
        double.extend(single.iter().cloned());
        // The sum of two rows, which moves as they do.
        double.push(CreaseRow {
            entries: [&single[0].entries[..], &single[1].entries[..]].concat(),
            gap: -2.0,
            motion: single[0].motion + single[1].motion,
        });
        let (once, mut springs) = build_equalities(&single);
        let held = once.hold((0..3).collect()).unwrap();
        let moved = once.displacements(&held, &mut springs);
        let (twice, mut springs) = build_equalities(&double);
        let all = twice.hold((0..double.len()).collect()).unwrap();
        assert_eq!((held.rank, all.rank), (3, 3));
        let again = twice.displacements(&all, &mut springs);
        for (a, b) in moved.iter().zip(&again) {
            assert!((a - b).norm() < 1e-12);
        }
        for row in &double {
            assert!((row.motion + row_opening(row, &again)).abs() < 1e-9);
        }
    }

    /// `hold_first` holds the smallest number of leading rows that keeps all the others open.
    #[test]
    fn hold_first_finds_fewest_rows() {
        let mut numbers = Vec::new();
        for open in [0.0, 0.01, 0.02, 0.03, 0.08] {
            let mut rows = mixed_rows();
            rows.iter_mut().for_each(|row| row.gap += open);
            let (equalities, _) = build_equalities(&rows);
            let suffices = |n: &usize| {
                let held = equalities.hold((0..*n).collect()).unwrap();
                equalities.values(&held).iter().skip(*n).all(|&x| x > 0.0)
            };
            let fewest = (0..=rows.len()).find(suffices).unwrap();
            let held = equalities.hold_first().unwrap();
            assert_eq!(held.rows, (0..fewest).collect::<Vec<_>>());
            numbers.push(fewest);
        }
        // All, some and none.
        assert!(numbers.iter().any(|&n| n > 0 && n < 14), "{numbers:?}");
        assert_eq!(numbers[4], 0);
    }

    /// After rows that pull are released, all held rows push, and no other row both overlaps and closes.
    #[test]
    fn hold_pushing_leaves_no_overlap() {
        let rows = mixed_rows();
        let (equalities, _) = build_equalities(&rows);
        let all = equalities.hold((0..rows.len()).collect()).unwrap();
        assert!(all.multipliers.iter().any(|&push| push < 0.0));
        let held = equalities.hold_pushing().unwrap();
        assert!(!held.rows.is_empty() && held.multipliers.iter().all(|&push| push >= 0.0));
        let (values, openings) = (equalities.values(&held), equalities.openings(&held));
        for j in 0..rows.len() {
            assert!(
                held.rows.contains(&j) || values[j] >= 0.0 || openings[j] >= 0.0,
                "{j}"
            );
        }
    }

    /// Rows without entries add nothing to the rank and have no multiplier.
    #[test]
    fn immovable_rows_are_skipped() {
        let mut still = build_row(0, -1.0, -0.1);
        still.entries.clear();
        let (equalities, mut springs) =
            build_equalities(&[still.clone(), build_row(1, -1.0, -0.1)]);
        let held = equalities.hold(vec![0, 1]).unwrap();
        assert_eq!((held.rank, held.multipliers[0]), (1, 0.0));
        let (alone, _) = build_equalities(&[still]);
        let held = alone.hold_first().unwrap();
        assert_eq!(held.rank, 0);
        assert!(
            equalities
                .displacements(&equalities.empty_set(), &mut springs)
                .iter()
                .all(|d| d.norm() == 0.0)
        );
    }
}
