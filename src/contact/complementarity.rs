// SPDX-License-Identifier: MIT OR Apache-2.0
//! Contacts, friction and cells near inversion as one mixed complementarity problem on factored flesh. [contact.md; otaduy2009]
//!
//! With δ° the step without contact and A its matrix, the step is `δ = δ° + A⁻¹ Cᵀ λ`. Of each unilateral row
//!
//! ```text
//! 0 ≤ λ ⟂ b + D λ + ε λ ≥ 0,   D = C A⁻¹ Cᵀ,   ε = compliance · D_jj
//! ```
//!
//! and of the two tangents of a contact `|τ| ≤ μ λ`, against motion along them, within a disc. Contacts outnumber degrees of freedom:
//! that they give a little (ε) is what makes the forces of each of them unique, and what keeps friction from chattering. Tangents give by what
//! their force has changed since the step before, `ε (τ − τ′)`, as springs that hold on where they took hold: one that gave by
//! its whole force in every step would creep.
//!
//! D is never made: what a row's force does to the lattice vertices that rows push is a product with W, the part of A⁻¹
//! between these ([`super::compliance`]), and is computed for rows that come to push. W may be a little old: what it leaves is found by one solve with A
//! itself, and corrected.

mod sweeps;

use super::compliance::{Compliance, Flexible};
use crate::Vec3;
use nalgebra::DMatrixView;
use std::ops::Range;
use sweeps::Way;

/// A row of which no entry is larger, squared, moves nothing. Entries are shares of one: this is a millionth.
const STILL: f64 = 1e-12;

/// A force on one node of one body.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Entry {
    pub body: u32,
    /// Free node.
    pub node: u32,
    pub direction: Vec3,
}

/// One unilateral row, with or without friction.
#[derive(Debug, Clone, Default)]
pub(crate) struct Constraint {
    /// Of the [entries](Constraints::entries).
    pub normal: Range<usize>,
    /// What there is to spare, metres; negative: what has to be made up for.
    pub gap: f64,
    /// Rows of both tangents and how far they slide in the step, m; with the coefficient.
    pub friction: Option<Friction>,
    /// ε over D_jj: bodies that touch have each its own.
    pub compliance: f64,
    /// By how much more it gives than others: where what is shown of sway is nearly exhausted, no force may make up for that.
    pub give: f64,
    /// The largest force that it may take, N.
    pub limit: f64,
    /// N; taken as the first guess.
    pub force: f64,
}

/// The tangents of a contact.
#[derive(Debug, Clone, Default)]
pub(crate) struct Friction {
    pub tangents: [Range<usize>; 2],
    pub slides: [f64; 2],
    pub coefficient: f64,
    /// N; taken as the first guess.
    pub forces: [f64; 2],
}

/// All of a step; kept from one to the next for their memory.
#[derive(Debug, Default)]
pub(crate) struct Constraints {
    pub rows: Vec<Constraint>,
    /// Those of all rows, side by side.
    entries: Vec<Entry>,
}

impl Constraints {
    pub fn clear(&mut self) {
        self.rows.clear();
        self.entries.clear();
    }

    /// Adds entries of one row, tangents apart.
    pub fn add_entries(&mut self, entries: impl IntoIterator<Item = Entry>) -> Range<usize> {
        let first = self.entries.len();
        self.entries.extend(entries);
        first..self.entries.len()
    }

    /// Some of them.
    pub fn entries(&self, of: &Range<usize>) -> &[Entry] {
        &self.entries[of.clone()]
    }

    /// Those of all rows.
    pub fn all_entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Whether no force along a row would move anything.
    pub fn is_held(&self, row: &Constraint) -> bool {
        let still = |e: &Entry| e.direction.norm_squared() < STILL;
        self.entries(&row.normal).iter().all(still)
    }

    /// Counts from where flesh would be without displacements, per body of its free nodes, that it has.
    pub fn without(&mut self, displaced: &[Vec<Vec3>]) {
        let entries = &self.entries;
        let along = |of: &Range<usize>| {
            let part = |e: &Entry| {
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

/// All rows of the constraints side by side, with what they need while they are swept; kept from step to step for its memory.
#[derive(Default)]
pub(crate) struct Rows {
    rows: Vec<Row>,
    blocks: Vec<Block>,
    /// Of all rows, and where the node of each lies in `moved`.
    entries: Vec<(Entry, usize)>,
    parts: Vec<Part>,
    /// W Cᵀ λ of the nodes that rows push.
    moved: Vec<f64>,
    /// W c of rows that have pushed, one after the other; and which parts of `moved` they are of.
    responses: Vec<f64>,
    spans: Vec<Span>,
    way: Way,
}

/// The nodes of one body that rows push.
#[derive(Default)]
struct Part {
    /// Where it begins in `moved`.
    start: usize,
    /// Places among the nodes of the compliance, ascending, and of each of these which one it is here.
    places: Vec<u32>,
    here: Vec<u32>,
    /// W, `[3 t, 3 t]`.
    matrix: Vec<f64>,
}

/// One constraint among the rows.
#[derive(Clone, Copy)]
struct Block {
    /// Its row; with friction it has two more.
    first: usize,
    friction: Option<f64>,
    limit: f64,
}

struct Row {
    entries: Range<usize>,
    /// b.
    offset: f64,
    force: f64,
    /// D_jj and ε.
    own: f64,
    give: f64,
    /// Made when it first pushes.
    spans: Option<Range<usize>>,
}

/// What a row does to the nodes of one body.
#[derive(Clone, Copy)]
struct Span {
    moved: usize,
    response: usize,
    len: usize,
}

impl Part {
    fn view(&self) -> DMatrixView<'_, f64> {
        DMatrixView::from_slice(&self.matrix, 3 * self.places.len(), 3 * self.places.len())
    }
}

impl Rows {
    fn set_up(&mut self, all: &Constraints, compliances: &[Compliance]) {
        self.rows.clear();
        self.blocks.clear();
        self.entries.clear();
        self.responses.clear();
        self.spans.clear();
        self.gather(all.all_entries(), compliances);
        for constraint in &all.rows {
            let friction = constraint.friction.as_ref();
            let first = self.rows.len();
            self.blocks.push(Block {
                first,
                friction: friction.map(|f| f.coefficient),
                limit: constraint.limit,
            });
            let force = constraint.force.clamp(0.0, constraint.limit);
            let normal = all.entries(&constraint.normal);
            self.add(normal, constraint.gap, force, compliances);
            for k in 0..2 {
                if let Some(f) = friction {
                    let tangent = all.entries(&f.tangents[k]);
                    self.add(tangent, f.slides[k], f.forces[k], compliances);
                }
            }
            // Tangents give alike in all directions.
            let stiffest = self.rows[first..].iter().skip(1).map(|r| r.own);
            let stiffest = stiffest.fold(0.0, f64::max);
            for (k, row) in self.rows[first..].iter_mut().enumerate() {
                if k > 0 {
                    row.own = stiffest;
                }
                row.give = constraint.compliance * row.own * constraint.give.max(1.0);
                // Where tangents hold on they have given by the force of the step before already.
                if k > 0 {
                    row.offset -= row.give * row.force;
                }
            }
        }
        for j in 0..self.rows.len() {
            let force = std::mem::take(&mut self.rows[j].force);
            self.set(j, force);
        }
    }

    /// W between the nodes that are pushed now.
    fn gather(&mut self, entries: &[Entry], compliances: &[Compliance]) {
        self.parts.resize_with(compliances.len(), Part::default);
        for (part, compliance) in self.parts.iter_mut().zip(compliances) {
            part.here.clear();
            part.here.resize(compliance.len(), Compliance::NONE);
        }
        for entry in entries {
            let body = entry.body as usize;
            self.parts[body].here[compliances[body].place(entry.node)] = 0;
        }
        let mut start = 0;
        for (part, compliance) in self.parts.iter_mut().zip(compliances) {
            part.places.clear();
            for (place, here) in (0u32..).zip(&mut part.here) {
                if *here != Compliance::NONE {
                    *here = part.places.len() as u32;
                    part.places.push(place);
                }
            }
            compliance.gather(&part.places, &mut part.matrix);
            part.start = start;
            start += 3 * part.places.len();
        }
        self.moved.clear();
        self.moved.resize(start, 0.0);
    }

    fn add(&mut self, entries: &[Entry], offset: f64, force: f64, compliances: &[Compliance]) {
        let first = self.entries.len();
        for &entry in entries {
            let body = entry.body as usize;
            let part = &self.parts[body];
            let here = part.here[compliances[body].place(entry.node)] as usize;
            self.entries.push((entry, part.start + 3 * here));
        }
        let mut own = 0.0;
        for (a, i) in &self.entries[first..] {
            for (b, j) in &self.entries[first..] {
                if a.body == b.body {
                    let part = &self.parts[a.body as usize];
                    let view = part.view();
                    let w = view.fixed_view::<3, 3>(i - part.start, j - part.start);
                    own += a.direction.dot(&(w * b.direction));
                }
            }
        }
        self.rows.push(Row {
            entries: first..self.entries.len(),
            offset,
            force,
            own,
            give: 0.0,
            spans: None,
        });
    }

    /// b + D λ + ε λ of a row.
    fn value(&self, j: usize) -> f64 {
        let row = &self.rows[j];
        let part = |(e, at): &(Entry, usize)| {
            let (d, m) = (e.direction, &self.moved[*at..*at + 3]);
            d.x * m[0] + d.y * m[1] + d.z * m[2]
        };
        let entries = &self.entries[row.entries.clone()];
        row.offset + row.give * row.force + entries.iter().map(part).sum::<f64>()
    }

    /// The force that would make up for a row's value.
    fn wanted(&self, j: usize) -> f64 {
        let row = &self.rows[j];
        row.force - self.value(j) / (row.own + row.give)
    }

    /// Sets the force of a row; gives the size of the change.
    fn set(&mut self, j: usize, force: f64) -> f64 {
        let change = force - self.rows[j].force;
        if change == 0.0 {
            return 0.0;
        }
        let spans = self.spans(j);
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

    /// What a row does to each body that it pushes: `W c`.
    fn spans(&mut self, j: usize) -> Range<usize> {
        if let Some(spans) = &self.rows[j].spans {
            return spans.clone();
        }
        let first = self.spans.len();
        for (entry, place) in &self.entries[self.rows[j].entries.clone()] {
            let part = &self.parts[entry.body as usize];
            let len = 3 * part.places.len();
            let known = self.spans[first..].iter().find(|s| s.moved == part.start);
            let span = known.copied().unwrap_or_else(|| {
                let span = Span {
                    moved: part.start,
                    response: self.responses.len(),
                    len,
                };
                self.responses.resize(span.response + len, 0.0);
                self.spans.push(span);
                span
            });
            let response = &mut self.responses[span.response..span.response + len];
            let columns = &part.matrix[(place - part.start) * len..][..3 * len];
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

    /// `Cᵀ λ` of each body.
    fn push(&self, nodes: &[usize], pushes: &mut Vec<Vec<Vec3>>) {
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

    /// Solves for the forces of the constraints and gives, per body, how they displace its free nodes, and how they push these, N.
    pub fn solve(
        &mut self,
        constraints: &mut Constraints,
        compliances: &[Compliance],
        flesh: &mut [&mut dyn Flexible],
        nodes: &[usize],
        (moved, pushes): (&mut Vec<Vec<Vec3>>, &mut Vec<Vec<Vec3>>),
    ) {
        self.set_up(constraints, compliances);
        self.settle();
        self.push(nodes, moved);
        displace(flesh, moved);
        // What A gives in place of W, for the second round.
        for row in &mut self.rows {
            let mut apart = 0.0;
            for (e, at) in &self.entries[row.entries.clone()] {
                let told = Vec3::from_column_slice(&self.moved[*at..*at + 3]);
                apart += e
                    .direction
                    .dot(&(moved[e.body as usize][e.node as usize] - told));
            }
            row.offset += apart;
        }
        self.settle();
        self.push(nodes, pushes);
        self.push(nodes, moved);
        displace(flesh, moved);
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

/// `A⁻¹` times forces on each body, in place, by A itself.
fn displace(flesh: &mut [&mut dyn Flexible], forces: &mut [Vec<Vec3>]) {
    for (flesh, forces) in flesh.iter_mut().zip(forces) {
        flesh.displace(forces);
    }
}
