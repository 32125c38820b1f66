// SPDX-License-Identifier: MIT OR Apache-2.0
//! Choice of the functions that are kept: independent on the flesh Ω, zero on the bones. [capell2002, §3.1]
//!
//! The paper keeps every function that is not zero on Ω. These can be dependent there (an error of the paper). With N_v the
//! finest nodal function at vertex v of K_J, the functions of all vertices span the same space as all N_v, and
//! `N_v = Σ_u h_u φ_u` with `h_u = N_v(u) − mean of N_v over the parents of u`. Whatever vanishes on Ω is a combination of
//!
//! - N_v at each *dead* vertex, where N_v is zero on Ω, and
//! - for flesh that touches a few pieces of a hexahedron only, N_v less a combination of others ([`super::slivers`]).
//!
//! Each of these *relations* makes one function superfluous. A detail at a dead vertex is dropped itself. Functions of level 0
//! always stay, because they alone carry rigid motions and coarse shapes. For their relations, and for those of slivers, a
//! detail is dropped by Gaussian elimination: the finest one of those with large coefficients. Where a relation has a function
//! that the bones hold, dropping that one resolves it.

use super::complex::Complex;
use super::slivers::{FinestNodes, NodalRelation};
use std::collections::BTreeMap;

/// Coefficients of functions by vertex, of a combination that is zero on the flesh.
type Relation = BTreeMap<u32, f64>;

/// Smallest coefficient that can be a pivot, relative to the row's largest. Those of relations without rounding are 2⁻⁹ or larger.
const MIN_COEFFICIENT: f64 = 1e-9;
/// Share of the largest coefficient from which a finer function is dropped in place of it. At 1 coarse functions would be dropped, which
/// adaptation needs; at 0.01 the kept functions would be less independent.
const PIVOT_SHARE: f64 = 0.1;

/// Returns whether the function at each vertex of K_J is kept; `held` marks those that are not zero on the bones.
pub(super) fn kept_functions(complex: &Complex, nodes: &FinestNodes, held: &[bool]) -> Vec<bool> {
    let coarse = complex.counts[0] as usize;
    let is_detail = |v: u32| v as usize >= coarse;
    let children = Children::new(complex);
    let resolved = resolve_dead_details(complex, nodes, &children);
    let dead = (0..coarse as u32).filter(|&v| !nodes.live[v as usize]);
    let dead = dead.map(|v| NodalRelation::from([(v, 1.0)]));
    let all = dead.chain(nodes.relations.iter().cloned());
    let reduce = |relation: NodalRelation| resolved.reduce(children.to_functions(&relation));
    let mut rows: Vec<Relation> = all.map(reduce).collect();

    let mut kept: Vec<bool> = (0..complex.len())
        .map(|v| v < coarse || nodes.live[v] && !held[v])
        .collect();
    eliminate(&mut rows, |row| {
        largest(row, |v| is_detail(v) && held[v as usize])
    });
    let dropped = eliminate(&mut rows, |row| {
        let most = row[&largest(row, is_detail)?].abs();
        let large = row
            .iter()
            .filter(|&(&v, c)| is_detail(v) && c.abs() >= PIVOT_SHARE * most);
        large.map(|(&v, _)| v).max()
    });
    for v in dropped {
        kept[v as usize] = false;
    }
    kept
}

/// Returns the column with the largest coefficient among some; `None` if they are all zero or rounding.
fn largest(row: &Relation, among: impl Fn(u32) -> bool) -> Option<u32> {
    let least = MIN_COEFFICIENT * row.values().fold(0.0, |most: f64, c| most.max(c.abs()));
    let some = row.iter().filter(|&(&v, c)| among(v) && c.abs() > least);
    some.max_by(|a, b| a.1.abs().total_cmp(&b.1.abs()))
        .map(|(&v, _)| v)
}

/// Eliminates by pivots that `choose` finds, and removes the rows that have one. Returns the pivots' columns. A row without
/// a pivot never gets one: only rows with the pivot's column change.
fn eliminate(rows: &mut Vec<Relation>, choose: impl Fn(&Relation) -> Option<u32>) -> Vec<u32> {
    let mut pivots = Vec::new();
    let mut i = 0;
    while i < rows.len() {
        let Some(pivot) = choose(&rows[i]) else {
            i += 1;
            continue;
        };
        let row = rows.remove(i);
        for other in rows.iter_mut() {
            if let Some(c) = other.remove(&pivot) {
                add_scaled(other, &row, -c / row[&pivot], pivot);
            }
        }
        pivots.push(pivot);
    }
    pivots
}

/// Adds a multiple of a row to another, except for one column.
fn add_scaled(to: &mut Relation, row: &Relation, scale: f64, except: u32) {
    for (&v, c) in row.iter().filter(|(v, _)| **v != except) {
        *to.entry(v).or_default() += c * scale;
    }
}

/// For each dead detail, the combination of functions at vertices that are not dead details, that equals it on the flesh.
struct ResolvedDetails(BTreeMap<u32, Relation>);

impl ResolvedDetails {
    /// Returns a relation in which no dead detail is left.
    fn reduce(&self, mut relation: Relation) -> Relation {
        let dead: Vec<u32> = relation
            .keys()
            .copied()
            .filter(|v| self.0.contains_key(v))
            .collect();
        for v in dead {
            if let Some(c) = relation.remove(&v) {
                add_scaled(&mut relation, &self.0[&v], c, v);
            }
        }
        relation
    }
}

/// Resolves dead details from the finest to the coarsest: the relation of one has functions at finer vertices only.
fn resolve_dead_details(
    complex: &Complex,
    nodes: &FinestNodes,
    children: &Children,
) -> ResolvedDetails {
    let mut resolved = ResolvedDetails(BTreeMap::new());
    for v in (complex.counts[0]..complex.len() as u32).rev() {
        if !nodes.live[v as usize] {
            let mut row = children.to_functions(&NodalRelation::from([(v, 1.0)]));
            row.remove(&v);
            let mut row = resolved.reduce(row);
            row.values_mut().for_each(|c| *c = -*c);
            resolved.0.insert(v, row);
        }
    }
    resolved
}

/// Vertices of which each vertex is a parent, with its share.
struct Children {
    starts: Vec<u32>,
    all: Vec<(u32, f64)>,
}

impl Children {
    fn new(complex: &Complex) -> Self {
        let mut counts = vec![0; complex.len() + 1];
        for v in 0..complex.len() {
            complex
                .parents(v)
                .iter()
                .for_each(|&p| counts[p as usize + 1] += 1);
        }
        for v in 0..complex.len() {
            counts[v + 1] += counts[v];
        }
        let starts = counts.clone();
        let mut all = vec![(0, 0.0); counts[complex.len()] as usize];
        for v in 0..complex.len() {
            let parents = complex.parents(v);
            for &p in parents {
                all[counts[p as usize] as usize] = (v as u32, 1.0 / parents.len() as f64);
                counts[p as usize] += 1;
            }
        }
        Self { starts, all }
    }

    /// Returns the coefficients of functions, of a combination of finest nodal functions.
    fn to_functions(&self, nodal: &NodalRelation) -> Relation {
        let mut relation = Relation::new();
        for (&v, &c) in nodal {
            *relation.entry(v).or_default() += c;
            let (from, to) = (self.starts[v as usize], self.starts[v as usize + 1]);
            for &(child, share) in &self.all[from as usize..to as usize] {
                *relation.entry(child).or_default() -= c * share;
            }
        }
        relation
    }
}
