// SPDX-License-Identifier: MIT OR Apache-2.0
//! Solves for several right-hand sides with a supernodal Cholesky factor, on all threads.
//!
//! The factor is read once for all columns, which takes about as long as for one. Disjoint subtrees of the
//! elimination tree are solved in parallel. Each has rows of its own; its updates of the rows above (the top)
//! are summed in the order of the subtrees. The choice of subtrees depends on the pattern alone, so results
//! do not depend on the number of threads.

use faer::linalg::matmul::matmul;
use faer::linalg::triangular_solve::{
    solve_lower_triangular_in_place, solve_upper_triangular_in_place,
};
use faer::prelude::{Reborrow, ReborrowMut};
use faer::sparse::linalg::cholesky::supernodal::{
    SupernodalLltRef, SupernodeRef, SymbolicSupernodalCholesky,
};
use faer::{Accum, MatMut, MatRef, Par};
use rayon::prelude::*;
use std::ops::Range;

/// Largest share of the factor in one subtree; larger subtrees are split.
const MAX_SUBTREE_SHARE: f64 = 0.15;
/// Factors with fewer values are solved in one piece.
const MIN_SUBTREE_VALUES: usize = 100_000;

/// Independent subtrees of the supernodal elimination tree, and the supernodes above them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Subtrees {
    /// Supernodes of each subtree, ascending.
    parts: Vec<Range<usize>>,
    /// Supernodes above the subtrees, ascending.
    top: Vec<usize>,
    /// Rows of each subtree.
    rows: Vec<Range<usize>>,
    /// Rows of the top, ascending, and the position of each row among them.
    top_rows: Vec<u32>,
    place: Vec<u32>,
}

impl Subtrees {
    /// Splits the elimination tree of a factor into subtrees and a top.
    pub fn new(factor: &SymbolicSupernodalCholesky<u32>) -> Self {
        let count = factor.n_supernodes();
        let (begin, end) = (factor.supernode_begin(), factor.supernode_end());
        let values = factor.col_ptr_for_val();
        // Supernodes are postordered: a subtree is a run that ends with its root.
        let mut first: Vec<usize> = (0..count).collect();
        let mut children: Vec<Vec<usize>> = vec![Vec::new(); count];
        let mut roots = Vec::new();
        for s in 0..count {
            match factor.supernode(s).pattern().first() {
                Some(&row) => {
                    let parent = end.partition_point(|&e| e <= row);
                    first[parent] = first[parent].min(first[s]);
                    children[parent].push(s);
                }
                None => roots.push(s),
            }
        }
        let size = |s: usize| (values[s + 1] - values[first[s]]) as usize;
        let largest =
            ((factor.len_val() as f64 * MAX_SUBTREE_SHARE) as usize).max(MIN_SUBTREE_VALUES);
        let (mut parts, mut top) = (Vec::new(), Vec::new());
        let mut open = roots;
        while let Some(s) = open.pop() {
            if size(s) <= largest {
                parts.push(first[s]..s + 1);
            } else {
                top.push(s);
                open.extend(&children[s]);
            }
        }
        parts.sort_by_key(|p| p.start);
        top.sort_unstable();
        // Small neighbours share a task.
        let mut merged: Vec<Range<usize>> = Vec::new();
        for part in parts {
            match merged.last_mut() {
                Some(last)
                    if last.end == part.start
                        && (values[part.end] - values[last.start]) as usize <= largest =>
                {
                    last.end = part.end;
                }
                _ => merged.push(part),
            }
        }
        let rows: Vec<Range<usize>> = merged
            .iter()
            .map(|p| begin[p.start] as usize..end[p.end - 1] as usize)
            .collect();
        let top_rows: Vec<u32> = top.iter().flat_map(|&s| begin[s]..end[s]).collect();
        let mut place = vec![0; factor.nrows()];
        for (i, &row) in top_rows.iter().enumerate() {
            place[row as usize] = i as u32;
        }
        Self {
            parts: merged,
            top,
            rows,
            top_rows,
            place,
        }
    }

    /// Solves in place. Rows are in elimination order.
    pub fn solve(&self, factor: SupernodalLltRef<'_, u32, f64>, x: MatMut<'_, f64>) {
        let mut rows = to_row_major(x.rb());
        self.solve_rows(factor, &mut rows, x.ncols());
        copy_to_columns(&rows, x);
    }

    /// Solves in place for `width` right-hand sides, stored row by row, so that rows are gathered and scattered whole.
    pub fn solve_rows(
        &self,
        factor: SupernodalLltRef<'_, u32, f64>,
        rows: &mut [f64],
        width: usize,
    ) {
        if width == 0 {
            return;
        }
        let longest = (0..factor.symbolic().n_supernodes())
            .map(|s| factor.supernode(s).pattern().len())
            .max()
            .unwrap_or(0);
        let mut top = vec![0.0; self.top_rows.len() * width];
        let mut update = vec![0.0; longest * width];
        self.eliminate_forwards(factor, rows, &mut top, &mut update);
        self.substitute_backwards(factor, rows, &mut top, &mut update);
    }

    /// Eliminates subtrees, then the top. `update` is a buffer for one supernode.
    fn eliminate_forwards(
        &self,
        factor: SupernodalLltRef<'_, u32, f64>,
        rows: &mut [f64],
        top: &mut [f64],
        update: &mut [f64],
    ) {
        let (width, room) = (rows.len() / self.place.len().max(1), update.len());
        let above: Vec<Vec<f64>> = self
            .subtree_rows(rows, width)
            .into_par_iter()
            .zip(&self.parts)
            .map(|((own, x), part)| {
                let mut above = vec![0.0; top.len()];
                let mut update = vec![0.0; room];
                for s in part.clone() {
                    let s = factor.supernode(s);
                    eliminate(
                        s,
                        &mut x[(s.start() - own.start) * width..],
                        &mut update,
                        width,
                    );
                    for (&row, update) in s.pattern().iter().zip(update.chunks_exact(width)) {
                        let to = if own.contains(&(row as usize)) {
                            &mut x[(row as usize - own.start) * width..][..width]
                        } else {
                            &mut above[self.place[row as usize] as usize * width..][..width]
                        };
                        to.iter_mut().zip(update).for_each(|(x, u)| *x -= u);
                    }
                }
                above
            })
            .collect();
        for (top, &row) in top.chunks_exact_mut(width).zip(&self.top_rows) {
            top.copy_from_slice(&rows[row as usize * width..][..width]);
        }
        for above in above {
            top.iter_mut().zip(above).for_each(|(t, a)| *t += a);
        }
        let place = |row: u32| self.place[row as usize] as usize * width;
        for &s in &self.top {
            let s = factor.supernode(s);
            eliminate(s, &mut top[place(s.start() as u32)..], update, width);
            for (&row, update) in s.pattern().iter().zip(update.chunks_exact(width)) {
                let to = &mut top[place(row)..][..width];
                to.iter_mut().zip(update).for_each(|(x, u)| *x -= u);
            }
        }
    }

    /// Substitutes in the top, then in subtrees. `update` is a buffer for one supernode.
    fn substitute_backwards(
        &self,
        factor: SupernodalLltRef<'_, u32, f64>,
        rows: &mut [f64],
        top: &mut [f64],
        update: &mut [f64],
    ) {
        let (width, room) = (rows.len() / self.place.len().max(1), update.len());
        let place = |row: u32| self.place[row as usize] as usize * width;
        for &s in self.top.iter().rev() {
            let s = factor.supernode(s);
            for (&row, above) in s.pattern().iter().zip(update.chunks_exact_mut(width)) {
                above.copy_from_slice(&top[place(row)..][..width]);
            }
            substitute(s, &mut top[place(s.start() as u32)..], update, width);
        }
        for (top, &row) in top.chunks_exact(width).zip(&self.top_rows) {
            rows[row as usize * width..][..width].copy_from_slice(top);
        }
        let tasks = self.subtree_rows(rows, width).into_par_iter();
        tasks.zip(&self.parts).for_each(|((own, x), part)| {
            let mut update = vec![0.0; room];
            for s in part.clone().rev() {
                let s = factor.supernode(s);
                for (&row, above) in s.pattern().iter().zip(update.chunks_exact_mut(width)) {
                    above.copy_from_slice(if own.contains(&(row as usize)) {
                        &x[(row as usize - own.start) * width..][..width]
                    } else {
                        &top[place(row)..][..width]
                    });
                }
                substitute(s, &mut x[(s.start() - own.start) * width..], &update, width);
            }
        });
    }

    /// Returns the rows of each subtree as mutable slices.
    fn subtree_rows<'a>(
        &self,
        x: &'a mut [f64],
        width: usize,
    ) -> Vec<(Range<usize>, &'a mut [f64])> {
        let mut rest = x;
        let mut done = 0;
        let mut pieces = Vec::with_capacity(self.rows.len());
        for rows in &self.rows {
            let (_, from) = rest.split_at_mut((rows.start - done) * width);
            let (piece, after) = from.split_at_mut(rows.len() * width);
            pieces.push((rows.clone(), piece));
            rest = after;
            done = rows.end;
        }
        pieces
    }
}

/// Copies a column-major matrix to a row-major array.
pub(super) fn to_row_major(x: MatRef<'_, f64>) -> Vec<f64> {
    let width = x.ncols();
    let mut rows = vec![0.0; x.nrows() * width];
    for (j, column) in x.col_iter().enumerate() {
        for (row, &value) in rows.chunks_exact_mut(width).zip(column.iter()) {
            row[j] = value;
        }
    }
    rows
}

/// Copies a row-major array back to a column-major matrix.
pub(super) fn copy_to_columns(rows: &[f64], x: MatMut<'_, f64>) {
    let width = x.ncols();
    for (j, column) in x.col_iter_mut().enumerate() {
        for (row, value) in rows.chunks_exact(width).zip(column.iter_mut()) {
            *value = row[j];
        }
    }
}

/// Solves the rows of a supernode and writes to `update` what they subtract from the rows of its pattern.
fn eliminate(s: SupernodeRef<'_, u32, f64>, x: &mut [f64], update: &mut [f64], width: usize) {
    let size = s.val().ncols();
    let (top, bottom) = s.val().split_at_row(size);
    let below = bottom.nrows();
    let mut x = MatMut::from_row_major_slice_mut(&mut x[..size * width], size, width);
    solve_lower_triangular_in_place(top, x.rb_mut(), Par::Seq);
    let update = MatMut::from_row_major_slice_mut(&mut update[..below * width], below, width);
    matmul(update, Accum::Replace, bottom, x.rb(), 1.0, Par::Seq);
}

/// Solves the rows of a supernode by back substitution from `above`, the solved rows of its pattern.
fn substitute(s: SupernodeRef<'_, u32, f64>, x: &mut [f64], above: &[f64], width: usize) {
    let size = s.val().ncols();
    let (top, bottom) = s.val().split_at_row(size);
    let below = bottom.nrows();
    let mut x = MatMut::from_row_major_slice_mut(&mut x[..size * width], size, width);
    let above = MatRef::from_row_major_slice(&above[..below * width], below, width);
    matmul(
        x.rb_mut(),
        Accum::Add,
        bottom.transpose(),
        above,
        -1.0,
        Par::Seq,
    );
    solve_upper_triangular_in_place(top.transpose(), x, Par::Seq);
}

#[cfg(test)]
mod tests {
    use crate::solve::{Graph, SparseCholesky, SymbolicCholesky};
    use crate::{Mat3, Vec3};
    use faer::Mat;
    use std::sync::Arc;

    /// A tree that is divided between threads gives the same solutions as single solves.
    #[test]
    fn divided_tree_solves_alike() {
        // Two grids apart, so that the tree has two roots, each large enough to be parted.
        let n = 13;
        let at = |g: usize, i: usize, j: usize, k: usize| (i + n * (j + n * (k + n * g))) as u32;
        let (mut edges, mut centres) = (Vec::new(), Vec::new());
        for g in 0..2 {
            for k in 0..n {
                for j in 0..n {
                    for i in 0..n {
                        centres.push(Vec3::new(i as f64, j as f64, (k + 2 * n * g) as f64));
                        if i + 1 < n {
                            edges.push((at(g, i, j, k), at(g, i + 1, j, k)));
                        }
                        if j + 1 < n {
                            edges.push((at(g, i, j, k), at(g, i, j + 1, k)));
                        }
                        if k + 1 < n {
                            edges.push((at(g, i, j, k), at(g, i, j, k + 1)));
                        }
                    }
                }
            }
        }
        let graph = Graph::from_edges(centres.len(), edges.iter().copied());
        let symbolic = Arc::new(SymbolicCholesky::new(&graph, &centres).unwrap());
        let trees = symbolic.subtrees.as_ref().unwrap();
        assert!(trees.parts.len() > 2 && !trees.top.is_empty());
        let mut solver = SparseCholesky::new(symbolic.clone()).unwrap();
        for (e, &(a, b)) in edges.iter().enumerate() {
            let g = Vec3::new(1.0, (e as f64).sin(), (e as f64).cos());
            let block = g * g.transpose() + Mat3::identity();
            let (a, b) = (a as usize, b as usize);
            for (i, j, sign) in [(a, a, 1.0), (b, b, 1.0), (a, b, -1.0)] {
                solver.add(symbolic.slot(i, j).unwrap(), &(block * sign));
            }
        }
        for i in 0..centres.len() {
            solver.add_scalar(symbolic.slot(i, i).unwrap(), 0.01);
        }
        solver.factor().unwrap();
        let order = &symbolic.ordering().order;
        let rhs = |row: usize, column: usize| ((row * (column + 1)) as f64).cos();
        let mut x = Mat::from_fn(3 * centres.len(), 3, rhs);
        solver.solve_columns(x.as_mut());
        for j in 0..3 {
            let mut single = vec![Vec3::zeros(); centres.len()];
            for (p, &node) in order.iter().enumerate() {
                single[node as usize] =
                    Vec3::new(rhs(3 * p, j), rhs(3 * p + 1, j), rhs(3 * p + 2, j));
            }
            solver.solve(&mut single);
            let largest = single.iter().map(Vec3::amax).fold(0.0, f64::max);
            for (p, &node) in order.iter().enumerate() {
                for c in 0..3 {
                    assert!((x[(3 * p + c, j)] - single[node as usize][c]).abs() < 1e-11 * largest);
                }
            }
        }
    }
}
