// SPDX-License-Identifier: MIT OR Apache-2.0
//! Contacts, friction and cells near inversion as one mixed complementarity problem on factored flesh. [otaduy2009; docs/methods/contact.md]
//!
//! With δ° the step without contact and A its matrix, the step is `δ = δ° + A⁻¹ Cᵀ λ`. For each unilateral row
//!
//! ```text
//! 0 ≤ λ ⟂ b + D λ + ε λ ≥ 0,   D = C A⁻¹ Cᵀ,   ε = compliance · D_jj
//! ```
//!
//! and for the two tangents of a contact `|τ| ≤ μ λ`, within a disc, against motion along them. Contacts outnumber degrees of freedom: their
//! compliance ε makes the force of each unique and keeps friction from chattering. Tangents yield by the change of their force since the last step,
//! `ε (τ − τ′)`, like springs that stay where they first held. A tangent that yielded by its whole force in every step would creep.
//!
//! D is never formed. The response of the pushed lattice vertices to a row's force is a product with W, the part of A⁻¹ between these
//! ([`crate::contact::response::compliance`]). It is computed only for rows that come to push. W may be slightly outdated: one solve with A itself
//! finds the error, which is then corrected.

mod sweeps;

use crate::Vec3;
use crate::contact::response::compliance::{ComplianceColumns, FlexibleBody};
use std::ops::Range;
use sweeps::SearchDirection;

/// Squared length below which all entries of a row count as zero, so that it moves nothing. Entries are shares of one: this is a millionth.
const ZERO_NORM_SQUARED: f64 = 1e-12;

/// Least number of rows for whose responses room is made at once. Of 200 nodes twice the value takes 77 kB more; half makes room twice as often.
const ROWS_AT_ONCE: usize = 16;

/// One block of a row of C: the direction of a force on one node of one body.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ConstraintEntry {
    pub body: u32,
    /// Free node of the body.
    pub node: u32,
    pub direction: Vec3,
}

/// One unilateral row, with or without friction.
#[derive(Debug, Clone, Default)]
pub(crate) struct Constraint {
    /// Range among the [entries](ConstraintSet::entries).
    pub normal: Range<usize>,
    /// Gap, metres; negative where it has to be made up for.
    pub gap: f64,
    /// Tangents, with their slip in the step, metres, and the coefficient.
    pub friction: Option<Friction>,
    /// ε over D_jj, from the settings of the bodies that touch.
    pub compliance: f64,
    /// Factor on ε, at least 1. It grows where displayed sway is nearly exhausted, for which no force may make up.
    pub give: f64,
    /// Upper bound of the force, N.
    pub limit: f64,
    /// Normal force, N; on entry the first guess.
    pub force: f64,
}

/// The tangents of a contact.
#[derive(Debug, Clone, Default)]
pub(crate) struct Friction {
    pub tangents: [Range<usize>; 2],
    pub slides: [f64; 2],
    pub coefficient: f64,
    /// Tangential forces, N; on entry the first guess.
    pub forces: [f64; 2],
}

/// All constraints of a step. Kept from step to step for its memory.
#[derive(Debug, Default)]
pub(crate) struct ConstraintSet {
    pub rows: Vec<Constraint>,
    /// Entries of all rows, side by side.
    entries: Vec<ConstraintEntry>,
}

impl ConstraintSet {
    pub fn clear(&mut self) {
        self.rows.clear();
        self.entries.clear();
    }

    /// Adds the entries of one row or one tangent and returns their range.
    pub fn add_entries(
        &mut self,
        entries: impl IntoIterator<Item = ConstraintEntry>,
    ) -> Range<usize> {
        let first = self.entries.len();
        self.entries.extend(entries);
        first..self.entries.len()
    }

    /// Returns the entries in a range.
    pub fn entries(&self, of: &Range<usize>) -> &[ConstraintEntry] {
        &self.entries[of.clone()]
    }

    /// Returns the entries of all rows.
    pub fn all_entries(&self) -> &[ConstraintEntry] {
        &self.entries
    }

    /// Returns whether no force along a row's normal would move anything.
    pub fn is_immovable(&self, row: &Constraint) -> bool {
        let still = |e: &ConstraintEntry| e.direction.norm_squared() < ZERO_NORM_SQUARED;
        self.entries(&row.normal).iter().all(still)
    }

    /// Subtracts from gaps and slips the displacements already in them, per body and free node, metres.
    pub fn subtract_displacements(&mut self, displaced: &[Vec<Vec3>]) {
        let entries = &self.entries;
        let along = |of: &Range<usize>| {
            let part = |e: &ConstraintEntry| {
                e.direction
                    .dot(&displaced[e.body as usize][e.node as usize])
            };
            entries[of.clone()].iter().map(part).sum::<f64>()
        };
        for row in &mut self.rows {
            row.gap -= along(&row.normal);
            if let Some(friction) = &mut row.friction {
                for (slide, tangent) in friction.slides.iter_mut().zip(&friction.tangents) {
                    *slide -= along(tangent);
                }
            }
        }
    }
}

/// All rows of the constraints side by side, with the working data of the sweeps. Kept from step to step for its memory.
#[derive(Default)]
pub(crate) struct ProjectedGaussSeidel {
    rows: Vec<ConstraintRow>,
    blocks: Vec<ConstraintBlock>,
    /// Entries of all rows, each with the position of its node in `moved`.
    entries: Vec<(ConstraintEntry, usize)>,
    /// First index in `moved` of each body.
    starts: Vec<usize>,
    /// `W Cᵀ λ` at the nodes of the compliances.
    moved: Vec<f64>,
    /// `W c` of the rows that have pushed, one after the other; and the parts of `moved` that they belong to.
    responses: Vec<f64>,
    spans: Vec<ResponseSpan>,
    direction: SearchDirection,
}

/// One constraint among the rows.
#[derive(Clone, Copy)]
struct ConstraintBlock {
    /// Index of its normal row; with friction two tangents follow.
    first: usize,
    friction: Option<f64>,
    limit: f64,
}

struct ConstraintRow {
    entries: Range<usize>,
    /// b.
    offset: f64,
    force: f64,
    /// D_jj and ε.
    diagonal: f64,
    give: f64,
    /// Range among the spans, computed when the row first pushes.
    spans: Option<Range<usize>>,
}

/// Response of the nodes of one body to a row.
#[derive(Clone, Copy)]
struct ResponseSpan {
    moved: usize,
    response: usize,
    len: usize,
}

impl ProjectedGaussSeidel {
    fn set_up(&mut self, all: &ConstraintSet, compliances: &[ComplianceColumns]) {
        self.rows.clear();
        self.blocks.clear();
        self.entries.clear();
        self.responses.clear();
        self.spans.clear();
        self.place_nodes(compliances);
        for constraint in &all.rows {
            let friction = constraint.friction.as_ref();
            let first = self.rows.len();
            self.blocks.push(ConstraintBlock {
                first,
                friction: friction.map(|f| f.coefficient),
                limit: constraint.limit,
            });
            let force = constraint.force.clamp(0.0, constraint.limit);
            let normal = all.entries(&constraint.normal);
            self.add_row(normal, constraint.gap, force, compliances);
            for k in 0..2 {
                if let Some(f) = friction {
                    let tangent = all.entries(&f.tangents[k]);
                    self.add_row(tangent, f.slides[k], f.forces[k], compliances);
                }
            }
            // The compliance of tangents is the same in all directions.
            let stiffest = self.rows[first..].iter().skip(1).map(|r| r.diagonal);
            let stiffest = stiffest.fold(0.0, f64::max);
            for (k, row) in self.rows[first..].iter_mut().enumerate() {
                if k > 0 {
                    row.diagonal = stiffest;
                }
                row.give = constraint.compliance * row.diagonal * constraint.give.max(1.0);
                // Tangents that hold have already yielded by the last step's force.
                if k > 0 {
                    row.offset -= row.give * row.force;
                }
            }
        }
        for j in 0..self.rows.len() {
            let force = std::mem::take(&mut self.rows[j].force);
            self.set_force(j, force, compliances);
        }
    }

    /// Numbers the nodes of all compliances.
    fn place_nodes(&mut self, compliances: &[ComplianceColumns]) {
        let mut count = 0;
        self.starts.clear();
        for compliance in compliances {
            self.starts.push(count);
            count += compliance.order();
        }
        self.moved.clear();
        self.moved.resize(count, 0.0);
    }

    fn add_row(
        &mut self,
        entries: &[ConstraintEntry],
        offset: f64,
        force: f64,
        compliances: &[ComplianceColumns],
    ) {
        let first = self.entries.len();
        for &entry in entries {
            let body = entry.body as usize;
            let place = compliances[body].node_index(entry.node);
            self.entries.push((entry, self.starts[body] + 3 * place));
        }
        let mut own = 0.0;
        for (a, i) in &self.entries[first..] {
            for (b, j) in &self.entries[first..] {
                if a.body == b.body {
                    let (start, compliance) = self.compliance(compliances, a.body);
                    let matrix = compliance.matrix();
                    let w = matrix.fixed_view::<3, 3>(i - start, j - start);
                    own += a.direction.dot(&(w * b.direction));
                }
            }
        }
        self.rows.push(ConstraintRow {
            entries: first..self.entries.len(),
            offset,
            force,
            diagonal: own,
            give: 0.0,
            spans: None,
        });
    }

    /// Returns the first index in `moved` of a body, and its compliance.
    fn compliance<'a>(
        &self,
        compliances: &'a [ComplianceColumns],
        body: u32,
    ) -> (usize, &'a ComplianceColumns) {
        (self.starts[body as usize], &compliances[body as usize])
    }

    /// Returns `b + D λ + ε λ` of a row.
    fn row_value(&self, j: usize) -> f64 {
        let row = &self.rows[j];
        let part = |(e, at): &(ConstraintEntry, usize)| {
            let (d, m) = (e.direction, &self.moved[*at..*at + 3]);
            d.x * m[0] + d.y * m[1] + d.z * m[2]
        };
        let entries = &self.entries[row.entries.clone()];
        row.offset + row.give * row.force + entries.iter().map(part).sum::<f64>()
    }

    /// Returns the force for which a row's value is zero.
    fn zeroing_force(&self, j: usize) -> f64 {
        let row = &self.rows[j];
        row.force - self.row_value(j) / (row.diagonal + row.give)
    }

    /// Sets the force of a row and returns the size of the change.
    fn set_force(&mut self, j: usize, force: f64, compliances: &[ComplianceColumns]) -> f64 {
        let change = force - self.rows[j].force;
        if change == 0.0 {
            return 0.0;
        }
        let spans = self.response_spans(j, compliances);
        self.rows[j].force = force;
        for span in &self.spans[spans] {
            let moved = &mut self.moved[span.moved..span.moved + span.len];
            let response = &self.responses[span.response..span.response + span.len];
            for (m, r) in moved.iter_mut().zip(response) {
                *m += r * change;
            }
        }
        change.abs()
    }

    /// Returns the spans of a row's response `W c` on each body that it pushes.
    fn response_spans(&mut self, j: usize, compliances: &[ComplianceColumns]) -> Range<usize> {
        if let Some(spans) = &self.rows[j].spans {
            return spans.clone();
        }
        let first = self.spans.len();
        for (entry, place) in &self.entries[self.rows[j].entries.clone()] {
            let (start, compliance) = self.compliance(compliances, entry.body);
            let len = compliance.order();
            let known = self.spans[first..].iter().find(|s| s.moved == start);
            let span = known.copied().unwrap_or_else(|| {
                let span = ResponseSpan {
                    moved: start,
                    response: self.responses.len(),
                    len,
                };
                grow_slowly(&mut self.responses, len);
                self.spans.push(span);
                span
            });
            let response = &mut self.responses[span.response..span.response + len];
            let columns = compliance.node_columns((place - start) / 3);
            let (x, rest) = columns.split_at(len);
            let (y, z) = rest.split_at(len);
            let d = entry.direction;
            for (m, ((x, y), z)) in response.iter_mut().zip(x.iter().zip(y).zip(z)) {
                *m = *m + x * d.x + y * d.y + z * d.z;
            }
        }
        let spans = first..self.spans.len();
        self.rows[j].spans = Some(spans.clone());
        spans
    }

    /// Computes `Cᵀ λ` of each body, N.
    fn compute_pushes(&self, nodes: &[usize], pushes: &mut Vec<Vec<Vec3>>) {
        pushes.resize_with(nodes.len(), Vec::new);
        for (pushes, &count) in pushes.iter_mut().zip(nodes) {
            pushes.clear();
            pushes.resize(count, Vec3::zeros());
        }
        for row in self.rows.iter().filter(|row| row.force != 0.0) {
            for (e, _) in &self.entries[row.entries.clone()] {
                pushes[e.body as usize][e.node as usize] += e.direction * row.force;
            }
        }
    }

    /// Solves for the forces of the constraints. `moved` receives per body the displacements of its free nodes, `pushes` the forces on these, N.
    pub fn solve(
        &mut self,
        constraints: &mut ConstraintSet,
        compliances: &[ComplianceColumns],
        flesh: &mut [&mut dyn FlexibleBody],
        nodes: &[usize],
        (moved, pushes): (&mut Vec<Vec<Vec3>>, &mut Vec<Vec<Vec3>>),
    ) {
        self.set_up(constraints, compliances);
        self.settle(compliances);
        self.compute_pushes(nodes, moved);
        apply_inverses(flesh, moved);
        // Correct b by the difference between A⁻¹ and W for the second round.
        for row in &mut self.rows {
            let mut error = 0.0;
            for (e, at) in &self.entries[row.entries.clone()] {
                let by_compliance = Vec3::from_column_slice(&self.moved[*at..*at + 3]);
                error += e
                    .direction
                    .dot(&(moved[e.body as usize][e.node as usize] - by_compliance));
            }
            row.offset += error;
        }
        self.settle(compliances);
        self.compute_pushes(nodes, pushes);
        self.compute_pushes(nodes, moved);
        apply_inverses(flesh, moved);
        let mut forces = self.rows.iter().map(|row| row.force);
        let mut next = || forces.next().unwrap_or_default();
        for constraint in &mut constraints.rows {
            constraint.force = next();
            if let Some(friction) = &mut constraint.friction {
                friction.forces = [next(), next()];
            }
        }
    }
}

/// Appends zeros to the responses of rows, `count` for one more row. Room is made for few rows at a time: responses take megabytes, and doubled room
/// would be as much again.
fn grow_slowly(responses: &mut Vec<f64>, count: usize) {
    let len = responses.len();
    if responses.capacity() < len + count {
        responses.reserve_exact((ROWS_AT_ONCE * count).max(len / 8));
    }
    responses.resize(len + count, 0.0);
}

/// Applies `A⁻¹` to the forces on each body, in place, with A itself.
fn apply_inverses(flesh: &mut [&mut dyn FlexibleBody], forces: &mut [Vec<Vec3>]) {
    for (flesh, forces) in flesh.iter_mut().zip(forces) {
        flesh.displace(forces);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Room for responses exceeds what they need by an eighth or by that for few rows.
    #[test]
    fn grow_slowly_leaves_little_room() {
        let mut responses = Vec::new();
        for row in 1..1000 {
            grow_slowly(&mut responses, 30);
            assert_eq!(responses.len(), 30 * row);
            let spare = responses.capacity() - responses.len();
            assert!(spare <= (30 * ROWS_AT_ONCE).max(responses.len() / 8));
        }
    }
}
