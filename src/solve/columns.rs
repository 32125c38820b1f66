// SPDX-License-Identifier: MIT OR Apache-2.0
//! Solves for several right-hand sides with a supernodal Cholesky factor, on all threads.
//!
//! The factor is read once for all columns, which takes about as long as for one. Subtrees of the elimination
//! tree without a common ancestor among them are solved side by side: each has rows of its own, and what it
//! takes from the rows above (the top) is summed in the order of the subtrees. Which subtrees these are
//! depends on the pattern alone, so results do not depend on how many threads there are.

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

/// A subtree with no more than this share of the factor is not parted further.
const SHARE: f64 = 0.15;
/// Factors with fewer numbers are solved in one piece.
const SMALL: usize = 100_000;

/// Supernodes in subtrees that need nothing of one another, and the rest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Subtrees {
    /// Supernodes of each subtree, ascending.
    parts: Vec<Range<usize>>,
    /// Supernodes above them.
    top: Vec<usize>,
    /// Rows of each subtree.
    rows: Vec<Range<usize>>,
    /// Rows of the top, ascending, and where each row lies among them.
    top_rows: Vec<u32>,
    place: Vec<u32>,
}

impl Subtrees {
    /// Parts the elimination tree of a factor.
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
        let largest = ((factor.len_val() as f64 * SHARE) as usize).max(SMALL);
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

    /// Solves in place; rows in the order of elimination.
    pub fn solve(&self, factor: SupernodalLltRef<'_, u32, f64>, mut x: MatMut<'_, f64>) {
        // Numbers of a row side by side: rows are gathered and scattered whole.
        let width = x.ncols();
        let mut rows = vec![0.0; x.nrows() * width];
        for (j, column) in x.rb().col_iter().enumerate() {
            for (row, &value) in rows.chunks_exact_mut(width).zip(column.iter()) {
                row[j] = value;
            }
        }
        let longest = (0..factor.symbolic().n_supernodes())
            .map(|s| factor.supernode(s).pattern().len())
            .max()
            .unwrap_or(0);
        let room = || vec![0.0; longest * width];

        // Forwards: subtrees, then the top.
        let mut top = vec![0.0; self.top_rows.len() * width];
        let above: Vec<Vec<f64>> = self
            .rows_of(&mut rows, width)
            .into_par_iter()
            .zip(&self.parts)
            .map(|((own, x), part)| {
                let mut above = vec![0.0; top.len()];
                let mut update = room();
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
        let mut update = room();
        let place = |row: u32| self.place[row as usize] as usize * width;
        for &s in &self.top {
            let s = factor.supernode(s);
            eliminate(s, &mut top[place(s.start() as u32)..], &mut update, width);
            for (&row, update) in s.pattern().iter().zip(update.chunks_exact(width)) {
                let to = &mut top[place(row)..][..width];
                to.iter_mut().zip(update).for_each(|(x, u)| *x -= u);
            }
        }
        // Backwards: the top, then subtrees.
        for &s in self.top.iter().rev() {
            let s = factor.supernode(s);
            for (&row, above) in s.pattern().iter().zip(update.chunks_exact_mut(width)) {
                above.copy_from_slice(&top[place(row)..][..width]);
            }
            substitute(s, &mut top[place(s.start() as u32)..], &update, width);
        }
        for (top, &row) in top.chunks_exact(width).zip(&self.top_rows) {
            rows[row as usize * width..][..width].copy_from_slice(top);
        }
        let tasks = self.rows_of(&mut rows, width).into_par_iter();
        tasks.zip(&self.parts).for_each(|((own, x), part)| {
            let mut update = room();
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
        for (j, column) in x.rb_mut().col_iter_mut().enumerate() {
            for (row, value) in rows.chunks_exact(width).zip(column.iter_mut()) {
                *value = row[j];
            }
        }
    }

    /// The rows of each subtree.
    fn rows_of<'a>(&self, x: &'a mut [f64], width: usize) -> Vec<(Range<usize>, &'a mut [f64])> {
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

/// Solves the rows of a supernode and gives what they take from the rows of its pattern.
fn eliminate(s: SupernodeRef<'_, u32, f64>, x: &mut [f64], update: &mut [f64], width: usize) {
    let size = s.val().ncols();
    let (top, bottom) = s.val().split_at_row(size);
    let below = bottom.nrows();
    let mut x = MatMut::from_row_major_slice_mut(&mut x[..size * width], size, width);
    solve_lower_triangular_in_place(top, x.rb_mut(), Par::Seq);
    let update = MatMut::from_row_major_slice_mut(&mut update[..below * width], below, width);
    matmul(update, Accum::Replace, bottom, x.rb(), 1.0, Par::Seq);
}

/// Solves the rows of a supernode, given those of its pattern.
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
