// SPDX-License-Identifier: MIT OR Apache-2.0
//! The assignment problem: pairs of rows and columns with the largest sum of gains.

/// Returns the column of each row, at most one row each, with the largest sum of `gain(row, column)`; gains of zero or less stay
/// unassigned. The Hungarian method by shortest
/// paths, O(n³) of the longer side n.
pub(super) fn assign(
    rows: usize,
    columns: usize,
    gain: impl Fn(usize, usize) -> f64,
) -> Vec<Option<usize>> {
    let n = rows.max(columns);
    let cost = |i: usize, j: usize| match i < rows && j < columns {
        true => -gain(i, j).max(0.0),
        false => 0.0,
    };
    // Row and column 0 stand for none.
    let (mut of_row, mut of_column) = (vec![0.0; n + 1], vec![0.0; n + 1]);
    let (mut row_at, mut way) = (vec![0usize; n + 1], vec![0usize; n + 1]);
    for row in 1..=n {
        row_at[0] = row;
        let mut column = 0;
        let mut least = vec![f64::INFINITY; n + 1];
        let mut used = vec![false; n + 1];
        while row_at[column] != 0 {
            used[column] = true;
            let from = row_at[column];
            let (mut step, mut next) = (f64::INFINITY, 0);
            for j in (1..=n).filter(|&j| !used[j]) {
                let reduced = cost(from - 1, j - 1) - of_row[from] - of_column[j];
                if reduced < least[j] {
                    (least[j], way[j]) = (reduced, column);
                }
                if least[j] < step {
                    (step, next) = (least[j], j);
                }
            }
            for j in 0..=n {
                if used[j] {
                    of_row[row_at[j]] += step;
                    of_column[j] -= step;
                } else {
                    least[j] -= step;
                }
            }
            column = next;
        }
        while column != 0 {
            row_at[column] = row_at[way[column]];
            column = way[column];
        }
    }
    let mut found = vec![None; rows];
    for (column, row) in row_at.into_iter().skip(1).take(columns).enumerate() {
        if row <= rows && gain(row - 1, column) > 0.0 {
            found[row - 1] = Some(column);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn total(gains: &[Vec<f64>], found: &[Option<usize>]) -> f64 {
        let of = |(row, column): (usize, &Option<usize>)| column.map_or(0.0, |j| gains[row][j]);
        found.iter().enumerate().map(of).sum()
    }

    /// Tries every assignment of the rows from `row` on.
    fn best(gains: &[Vec<f64>], row: usize, used: &mut Vec<bool>) -> f64 {
        if row == gains.len() {
            return 0.0;
        }
        let mut most = best(gains, row + 1, used);
        for j in 0..used.len() {
            if !used[j] {
                used[j] = true;
                most = most.max(gains[row][j] + best(gains, row + 1, used));
                used[j] = false;
            }
        }
        most
    }

    /// The sum of gains is the largest of all assignments, with more rows, more columns, and losses.
    #[test]
    fn assignment_is_best_of_all() {
        let mut seed = 7u64;
        let mut random = || {
            seed = seed
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            (seed >> 33) as f64 / (1u64 << 31) as f64 - 0.3
        };
        for (rows, columns) in [(1, 1), (3, 3), (2, 5), (5, 2), (4, 4), (5, 5)] {
            for _ in 0..20 {
                let gains: Vec<Vec<f64>> = (0..rows)
                    .map(|_| (0..columns).map(|_| random()).collect())
                    .collect();
                let found = assign(rows, columns, |i, j| gains[i][j]);
                let expected = best(&gains, 0, &mut vec![false; columns]);
                assert!((total(&gains, &found) - expected).abs() < 1e-12);
            }
        }
        assert_eq!(assign(2, 0, |_, _| 1.0), [None, None]);
        assert!(assign(0, 2, |_, _| 1.0).is_empty());
    }
}
