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
//! that they give a little (ε) is what makes the forces of each of them unique, and what keeps friction from chattering.
//!
//! D is never made: what a row's force does to the lattice vertices that contacts touch is a product with W, the part of A⁻¹
//! between these, and is computed for rows that come to push. W may be a little old: what it leaves is found by one solve with A
//! itself, and corrected.

use crate::Vec3;
use nalgebra::DMatrix;

/// Sweeps at most, and the change (of the largest force) at which they end.
const SWEEPS: usize = 60;
const SETTLED: f64 = 1e-4;

/// Flesh that gives way: one body.
pub(crate) trait Flexible {
    /// `A⁻¹ f` in place, on the free nodes.
    fn displace(&mut self, forces: &mut [Vec3]);
    /// Columns of A⁻¹ at some free nodes, `[3 nodes, 3 t]`.
    fn columns(&mut self, nodes: &[u32]) -> DMatrix<f64>;
}

/// The part of A⁻¹ between some nodes of one body, which grows.
#[derive(Debug, Clone, Default)]
pub(crate) struct Compliance {
    /// Free nodes, in the order in which they came; and where each free node is among them.
    nodes: Vec<u32>,
    places: Vec<u32>,
    /// Columns at them, whole.
    columns: Vec<f64>,
    /// W, `[3 t, 3 t]`.
    matrix: DMatrix<f64>,
}

impl Compliance {
    const NONE: u32 = u32::MAX;

    /// Takes up further nodes, at the present state of the flesh.
    pub fn cover(&mut self, nodes: &[u32], free: usize, flesh: &mut dyn Flexible) {
        self.places.resize(free, Self::NONE);
        let known = self.nodes.len();
        for &node in nodes {
            let place = &mut self.places[node as usize];
            if *place == Self::NONE {
                *place = self.nodes.len() as u32;
                self.nodes.push(node);
            }
        }
        if self.nodes.len() == known {
            return;
        }
        let new = flesh.columns(&self.nodes[known..]);
        self.columns.extend(new.as_slice());
        let height = 3 * free;
        let at = |i: usize| 3 * self.nodes[i / 3] as usize + i % 3;
        let count = 3 * self.nodes.len();
        // A column knows its own time's A: of two that differ a little the older one counts, for both.
        self.matrix = DMatrix::from_fn(count, count, |i, j| {
            let (row, column) = (i.max(j), i.min(j));
            self.columns[column * height + at(row)]
        });
    }

    /// W between the nodes in the order in which they came.
    pub fn matrix(&self) -> &DMatrix<f64> {
        &self.matrix
    }

    fn place(&self, node: u32) -> usize {
        self.places.get(node as usize).map_or(0, |&p| p as usize)
    }
}

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
    pub normal: Vec<Entry>,
    /// What there is to spare, metres; negative: what has to be made up for.
    pub gap: f64,
    /// Rows of both tangents and how far they slide in the step, m; with the coefficient.
    pub friction: Option<Friction>,
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
    pub tangents: [Vec<Entry>; 2],
    pub slides: [f64; 2],
    pub coefficient: f64,
    /// N; taken as the first guess.
    pub forces: [f64; 2],
}

impl Constraint {
    /// Counts from where flesh would be without displacements, per body of its free nodes, that it has.
    pub fn without(&mut self, displaced: &[Vec<Vec3>]) {
        let along = |entries: &[Entry]| {
            let part = |e: &Entry| {
                e.direction
                    .dot(&displaced[e.body as usize][e.node as usize])
            };
            entries.iter().map(part).sum::<f64>()
        };
        self.gap -= along(&self.normal);
        if let Some(friction) = &mut self.friction {
            for (slide, tangent) in friction.slides.iter_mut().zip(&friction.tangents) {
                *slide -= along(tangent);
            }
        }
    }
}

/// All rows of the constraints side by side, with what they need while they are swept.
struct Rows<'a> {
    rows: Vec<Row<'a>>,
    blocks: Vec<Block>,
    compliances: &'a [Compliance],
    /// Where each body's part of `moved` begins.
    starts: Vec<usize>,
    /// W Cᵀ λ of all bodies.
    moved: Vec<f64>,
}

/// One constraint among the rows.
#[derive(Clone, Copy)]
struct Block {
    /// Its row; with friction it has two more.
    first: usize,
    friction: Option<f64>,
    limit: f64,
}

struct Row<'a> {
    entries: &'a [Entry],
    /// Where the node of each entry lies in `moved`.
    places: Vec<usize>,
    /// b.
    offset: f64,
    force: f64,
    /// D_jj and ε.
    own: f64,
    give: f64,
    /// W c, per body that it pushes, made when it first pushes.
    response: Vec<(usize, Vec<f64>)>,
}

impl Row<'_> {
    fn value(&self, moved: &[f64]) -> f64 {
        let part = |(e, &at): (&Entry, &usize)| {
            let d = e.direction;
            d.x * moved[at] + d.y * moved[at + 1] + d.z * moved[at + 2]
        };
        let pairs = self.entries.iter().zip(&self.places);
        self.offset + self.give * self.force + pairs.map(part).sum::<f64>()
    }
}

impl<'a> Rows<'a> {
    fn of(constraints: &'a [Constraint], compliances: &'a [Compliance], compliance: f64) -> Self {
        let mut starts = vec![0];
        for c in compliances {
            starts.push(starts[starts.len() - 1] + c.matrix.nrows());
        }
        let mut all = Self {
            rows: Vec::new(),
            blocks: Vec::new(),
            compliances,
            moved: vec![0.0; starts[starts.len() - 1]],
            starts,
        };
        for constraint in constraints {
            let friction = constraint.friction.as_ref();
            let first = all.rows.len();
            all.blocks.push(Block {
                first,
                friction: friction.map(|f| f.coefficient),
                limit: constraint.limit,
            });
            let force = constraint.force.clamp(0.0, constraint.limit);
            all.add(&constraint.normal, constraint.gap, force);
            for k in 0..2 {
                if let Some(f) = friction {
                    all.add(&f.tangents[k], f.slides[k], f.forces[k]);
                }
            }
            // Tangents give alike in all directions.
            let stiffest = all.rows[first..].iter().skip(1).map(|r| r.own);
            let stiffest = stiffest.fold(0.0, f64::max);
            for (k, row) in all.rows[first..].iter_mut().enumerate() {
                if k > 0 {
                    row.own = stiffest;
                }
                row.give = compliance * row.own * constraint.give.max(1.0);
            }
        }
        for j in 0..all.rows.len() {
            let force = std::mem::take(&mut all.rows[j].force);
            all.set(j, force);
        }
        all
    }

    fn add(&mut self, entries: &'a [Entry], offset: f64, force: f64) {
        let place = |e: &Entry| {
            let body = e.body as usize;
            self.starts[body] + 3 * self.compliances[body].place(e.node)
        };
        let places: Vec<usize> = entries.iter().map(place).collect();
        let mut own = 0.0;
        for (a, &i) in entries.iter().zip(&places) {
            for (b, &j) in entries.iter().zip(&places) {
                if a.body == b.body {
                    let body = a.body as usize;
                    let (i, j) = (i - self.starts[body], j - self.starts[body]);
                    let w = self.compliances[body].matrix.fixed_view::<3, 3>(i, j);
                    own += a.direction.dot(&(w * b.direction));
                }
            }
        }
        self.rows.push(Row {
            entries,
            places,
            offset,
            force,
            own,
            give: 0.0,
            response: Vec::new(),
        });
    }

    /// Sets the force of a row; gives the size of the change.
    fn set(&mut self, j: usize, force: f64) -> f64 {
        let row = &mut self.rows[j];
        let change = force - row.force;
        if change == 0.0 {
            return 0.0;
        }
        if row.response.is_empty() {
            row.response = responses(row.entries, &row.places, self.compliances, &self.starts);
        }
        row.force = force;
        for (start, response) in &row.response {
            let moved = &mut self.moved[*start..*start + response.len()];
            for (m, r) in moved.iter_mut().zip(response) {
                *m += r * change;
            }
        }
        change.abs()
    }

    /// Projected Gauss-Seidel from the forces at hand, in the order of the constraints.
    fn sweep(&mut self) {
        for _ in 0..SWEEPS {
            let (mut largest, mut change) = (0.0_f64, 0.0_f64);
            for i in 0..self.blocks.len() {
                let Block {
                    first: j,
                    friction,
                    limit,
                } = self.blocks[i];
                let row = &self.rows[j];
                // A row that moves nothing can do nothing.
                if !(row.own > 0.0 && row.own.is_finite()) {
                    continue;
                }
                let force = row.force - row.value(&self.moved) / (row.own + row.give);
                let force = force.clamp(0.0, limit);
                change = change.max(self.set(j, force));
                largest = largest.max(force);
                let Some(coefficient) = friction else {
                    continue;
                };
                if force == 0.0 && self.rows[j + 1].force == 0.0 && self.rows[j + 2].force == 0.0 {
                    continue;
                }
                let bound = coefficient * force;
                let mut across = [0.0; 2];
                if self.rows[j + 1].own > 0.0 {
                    across = [1, 2].map(|k| {
                        let row = &self.rows[j + k];
                        row.force - row.value(&self.moved) / (row.own + row.give)
                    });
                }
                let size = across[0].hypot(across[1]);
                if size > bound {
                    across = across.map(|t| t * (bound / size));
                }
                for (k, force) in across.into_iter().enumerate() {
                    change = change.max(self.set(j + 1 + k, force));
                }
            }
            if change <= SETTLED * largest {
                break;
            }
        }
    }

    /// `Cᵀ λ` of each body.
    fn pushes(&self, nodes: &[usize]) -> Vec<Vec<Vec3>> {
        let mut pushes: Vec<Vec<Vec3>> = nodes.iter().map(|&n| vec![Vec3::zeros(); n]).collect();
        for row in self.rows.iter().filter(|row| row.force != 0.0) {
            for e in row.entries {
                pushes[e.body as usize][e.node as usize] += e.direction * row.force;
            }
        }
        pushes
    }

    /// `A⁻¹ Cᵀ λ` of each body, by A itself.
    fn displaced(&self, flesh: &mut [&mut dyn Flexible], nodes: &[usize]) -> Vec<Vec<Vec3>> {
        let mut moved = self.pushes(nodes);
        for (flesh, moved) in flesh.iter_mut().zip(&mut moved) {
            flesh.displace(moved);
        }
        moved
    }
}

/// `W c` for each body that a row pushes.
fn responses(
    entries: &[Entry],
    places: &[usize],
    compliances: &[Compliance],
    starts: &[usize],
) -> Vec<(usize, Vec<f64>)> {
    let mut all: Vec<(usize, Vec<f64>)> = Vec::new();
    for (entry, &place) in entries.iter().zip(places) {
        let body = entry.body as usize;
        let matrix = &compliances[body].matrix;
        let start = starts[body];
        let at = all.iter().position(|(s, _)| *s == start);
        let at = at.unwrap_or_else(|| {
            all.push((start, vec![0.0; matrix.nrows()]));
            all.len() - 1
        });
        for k in 0..3 {
            let column = matrix.column(place - start + k);
            let by = entry.direction[k];
            for (m, w) in all[at].1.iter_mut().zip(column.iter()) {
                *m += w * by;
            }
        }
    }
    all
}

/// Solves for the forces of the constraints and gives, per body, how they displace its free nodes, and how they push these, N.
pub(crate) fn solve(
    constraints: &mut [Constraint],
    compliances: &[Compliance],
    flesh: &mut [&mut dyn Flexible],
    nodes: &[usize],
    compliance: f64,
) -> (Vec<Vec<Vec3>>, Vec<Vec<Vec3>>) {
    let mut rows = Rows::of(constraints, compliances, compliance);
    rows.sweep();
    let first = rows.displaced(flesh, nodes);
    // What A gives in place of W, for the second round.
    for row in &mut rows.rows {
        let mut apart = 0.0;
        for (e, &at) in row.entries.iter().zip(&row.places) {
            let told = Vec3::new(rows.moved[at], rows.moved[at + 1], rows.moved[at + 2]);
            apart += e
                .direction
                .dot(&(first[e.body as usize][e.node as usize] - told));
        }
        row.offset += apart;
    }
    rows.sweep();
    let moved = rows.displaced(flesh, nodes);
    let pushes = rows.pushes(nodes);
    let forces: Vec<f64> = rows.rows.iter().map(|row| row.force).collect();
    let mut j = 0;
    for constraint in constraints.iter_mut() {
        constraint.force = forces[j];
        j += 1;
        if let Some(friction) = &mut constraint.friction {
            friction.forces = [forces[j], forces[j + 1]];
            j += 2;
        }
    }
    (moved, pushes)
}
