// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rows of pins that depend on each other, and pins that ask for different places.
//!
//! Gram-Schmidt orthogonalisation, twice for each row, of the values of the free functions; rows come in the order of their pins. r
//! pins on n functions cost r² n operations, once for each set of rigid pins.

use super::held::HeldPin;
use super::path::PinGoal;
use super::pin::{DroppedPin, PinPoint};
use super::point::HeldPoint;
use crate::Vec3;
use crate::body::Body;
use crate::dynamics::SimulationError;
use std::collections::BTreeMap;

/// Remainder of a row, as a share of its norm, below which it is a combination of earlier ones. Held apart, such pins would strain their
/// cell ten thousand times as much as they differ.
const DEPENDENCE_TOLERANCE: f64 = 1e-4;
/// Distance of a dropped pin's target from the combination of the others' targets, as a share of the body's size, beyond which they
/// conflict. Targets that move as flesh does differ by at most the remainder, which is below 1e-4 of a cell.
const CONFLICT_TOLERANCE: f64 = 1e-4;
/// Share in a combination below which a pin is not named.
const MIN_NAMED_SHARE: f64 = 1e-6;
/// Remainder, as a share of the row's norm, that a vertex chosen from many adds to the others. At half the value pins strain single
/// cells; at twice a belt holds at half as many points.
const MIN_CHOSEN_REMAINDER: f64 = 0.3;

/// Orthonormal rows over some of the functions.
#[derive(Default)]
struct RowBasis {
    /// Column of each function that any row has.
    columns: BTreeMap<u32, usize>,
    rows: Vec<Vec<f64>>,
    /// Coefficients of each row of `rows` by the rows that were kept, lower triangular.
    by_kept: Vec<Vec<f64>>,
}

/// A row relative to a basis.
struct RowRemainder {
    /// Remainder, dense, and its norm as a share of the row's.
    remainder: Vec<f64>,
    share: f64,
    norm: f64,
    /// Coefficients of the row's projection by the kept rows.
    by_kept: Vec<f64>,
}

impl RowBasis {
    fn columns_of(points: &[&HeldPoint]) -> Self {
        let mut columns = BTreeMap::new();
        for &(node, _) in points.iter().flat_map(|point| &point.free) {
            let next = columns.len();
            columns.entry(node).or_insert(next);
        }
        Self {
            columns,
            ..Self::default()
        }
    }

    fn remainder(&self, row: &[(u32, f64)]) -> RowRemainder {
        let mut left = vec![0.0; self.columns.len()];
        for (node, value) in row {
            left[self.columns[node]] += value;
        }
        let norm = dot(&left, &left).sqrt();
        let mut by_kept = vec![0.0; self.rows.len()];
        for _ in 0..2 {
            for (q, of_kept) in self.rows.iter().zip(&self.by_kept) {
                let along = dot(q, &left);
                left.iter_mut().zip(q).for_each(|(x, q)| *x -= along * q);
                by_kept
                    .iter_mut()
                    .zip(of_kept)
                    .for_each(|(x, c)| *x += along * c);
            }
        }
        RowRemainder {
            share: dot(&left, &left).sqrt() / norm,
            norm,
            remainder: left,
            by_kept,
        }
    }

    fn keep(&mut self, row: RowRemainder) {
        let length = row.share * row.norm;
        let q = row.remainder.iter().map(|x| x / length).collect();
        let mut of_kept: Vec<f64> = row.by_kept.iter().map(|c| -c / length).collect();
        of_kept.push(length.recip());
        self.rows.push(q);
        self.by_kept.push(of_kept);
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// A rigid pin whose row is a combination of those of other pins.
pub(super) struct DependentPin {
    /// Position in the list.
    pub index: usize,
    /// Positions of the others with their shares in the combination.
    shares: Vec<(usize, f64)>,
}

impl DependentPin {
    /// Returns the report.
    pub fn report(&self, pins: &[HeldPin]) -> DroppedPin {
        let named = self.shares.iter();
        let named = named.filter(|(_, share)| share.abs() > MIN_NAMED_SHARE);
        DroppedPin {
            pin: pins[self.index].id,
            others: named.map(|&(k, _)| pins[k].id).collect(),
        }
    }

    /// Checks that the pin's target is the combination of the others'. `goals` are the places of all pins in the method's positions,
    /// `held` the positions of the lattice's vertices, of which those that bones hold are read.
    ///
    /// # Errors
    /// [`SimulationError::PinConflict`].
    pub fn check(
        &self,
        pins: &[HeldPin],
        (goals, held, size): (&[PinGoal], &[Vec3], f64),
    ) -> Result<(), SimulationError> {
        // What is left for the free functions.
        let wanted = |i: usize| goals[i].place - pins[i].point.known_part(held);
        let shares = self.shares.iter();
        let asked: Vec3 = shares.map(|&(k, share)| wanted(k) * share).sum();
        let distance = (asked - wanted(self.index)).norm();
        if distance <= CONFLICT_TOLERANCE * size {
            return Ok(());
        }
        let DroppedPin { pin, others } = self.report(pins);
        Err(SimulationError::PinConflict {
            pin,
            others,
            distance,
        })
    }
}

/// Splits rigid pins, by their positions in the list, into independent and dependent ones.
pub(super) fn split_rigid(pins: &[HeldPin], rigid: &[usize]) -> (Vec<usize>, Vec<DependentPin>) {
    let points: Vec<&HeldPoint> = rigid.iter().map(|&i| &pins[i].point).collect();
    let mut basis = RowBasis::columns_of(&points);
    let (mut kept, mut dependent) = (Vec::new(), Vec::new());
    for &index in rigid {
        let row = basis.remainder(&pins[index].point.free);
        if row.share > DEPENDENCE_TOLERANCE {
            basis.keep(row);
            kept.push(index);
        } else {
            let shares = kept.iter().copied().zip(row.by_kept).collect();
            dependent.push(DependentPin { index, shares });
        }
    }
    (kept, dependent)
}

/// Chooses vertices of a body's surface whose pins are well independent: each adds at least three tenths of its row to the others. The
/// vertex with the largest remainder comes first, then the next; of equal ones the first in the list. Vertices that cannot be pinned are left out.
/// At most `most` are chosen; the result is in the order of `vertices`.
///
/// # Errors
/// A vertex that the surface lacks; a singular body.
pub fn independent_vertices(
    body: &Body,
    vertices: &[u32],
    most: usize,
) -> Result<Vec<u32>, SimulationError> {
    let mut points = Vec::new();
    for &vertex in vertices {
        match HeldPoint::at(body, PinPoint::Vertex(vertex)) {
            Ok(point) => points.push((vertex, point)),
            Err(SimulationError::PinOnBone { .. } | SimulationError::PinRigid { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    let all: Vec<&HeldPoint> = points.iter().map(|(_, point)| point).collect();
    let mut basis = RowBasis::columns_of(&all);
    let mut left: Vec<(usize, RowRemainder)> = (0..all.len())
        .map(|k| (k, basis.remainder(&all[k].free)))
        .collect();
    let mut chosen = Vec::new();
    while chosen.len() < most.min(basis.columns.len()) {
        let larger = |best: Option<usize>, k: usize| match best {
            Some(best) if left[k].1.share <= left[best].1.share + 1e-12 => Some(best),
            _ => Some(k),
        };
        let Some(best) = (0..left.len()).fold(None, larger) else {
            break;
        };
        if left[best].1.share < MIN_CHOSEN_REMAINDER {
            break;
        }
        let (point, row) = left.swap_remove(best);
        chosen.push(points[point].0);
        basis.keep(row);
        let q = &basis.rows[basis.rows.len() - 1];
        for (_, row) in &mut left {
            let along = dot(q, &row.remainder);
            row.remainder
                .iter_mut()
                .zip(q)
                .for_each(|(x, q)| *x -= along * q);
            row.share = dot(&row.remainder, &row.remainder).sqrt() / row.norm;
            row.by_kept.push(0.0);
        }
        left.retain(|(_, row)| row.share >= MIN_CHOSEN_REMAINDER);
        left.sort_by_key(|(k, _)| *k);
    }
    let is_chosen = |v: &u32| chosen.contains(v);
    let mut result: Vec<u32> = vertices.iter().copied().filter(is_chosen).collect();
    let mut seen = std::collections::BTreeSet::new();
    result.retain(|v| seen.insert(*v));
    Ok(result)
}
