// SPDX-License-Identifier: MIT OR Apache-2.0
//! Disjoint sets of the numbers 0 to n − 1, joined one by one.

/// Disjoint sets; each is represented by its smallest member.
#[derive(Debug, Clone)]
pub(crate) struct DisjointSets(Vec<u32>);

impl DisjointSets {
    /// Creates `count` sets of one number each.
    pub fn new(count: usize) -> Self {
        Self((0..count as u32).collect())
    }

    /// Returns the smallest member of a number's set.
    pub fn root(&mut self, mut v: u32) -> u32 {
        while self.0[v as usize] != v {
            let up = self.0[self.0[v as usize] as usize];
            self.0[v as usize] = up;
            v = up;
        }
        v
    }

    /// Joins the sets of two numbers; returns whether they were different.
    pub fn join(&mut self, a: u32, b: u32) -> bool {
        let (a, b) = (self.root(a), self.root(b));
        self.0[a.max(b) as usize] = a.min(b);
        a != b
    }

    /// Returns the index of each number's set, in order of appearance.
    pub fn set_numbers(mut self) -> Vec<u32> {
        let mut of_root = vec![u32::MAX; self.0.len()];
        let mut count = 0;
        (0..self.0.len() as u32)
            .map(|v| {
                let slot = &mut of_root[self.root(v) as usize];
                if *slot == u32::MAX {
                    *slot = count;
                    count += 1;
                }
                *slot
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The root of a set is its smallest member for any order of joins.
    #[test]
    fn root_is_smallest_member() {
        let pairs = [(5, 3), (1, 5), (6, 2)];
        for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0]] {
            let mut sets = DisjointSets::new(7);
            for i in order {
                let (a, b) = pairs[i];
                assert!(sets.join(a, b) && !sets.join(b, a));
            }
            let roots: Vec<u32> = (0..7).map(|v| sets.root(v)).collect();
            assert_eq!(roots, [0, 1, 2, 1, 4, 1, 2]);
            assert_eq!(sets.set_numbers(), [0, 1, 2, 1, 3, 1, 2]);
        }
    }
}
