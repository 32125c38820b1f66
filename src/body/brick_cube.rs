// SPDX-License-Identifier: MIT OR Apache-2.0
//! Cubes of bricks, halved until they are single bricks: the search for those in a box.

/// A cube of bricks, `2^doublings` along an edge.
pub(super) struct BrickCube {
    pub first: [i32; 3],
    pub doublings: u32,
}

impl BrickCube {
    /// Returns the smallest cube that starts at brick `first` and holds the bricks from `first` to `last`.
    pub fn from_range(first: [i32; 3], last: [i32; 3]) -> Self {
        let longest = (0..3).map(|k| last[k] - first[k] + 1).max().unwrap_or(0);
        let doublings = u32::try_from(longest).unwrap_or(0).next_power_of_two();
        Self {
            first,
            doublings: doublings.trailing_zeros(),
        }
    }

    pub fn meets(&self, first: [i32; 3], last: [i32; 3]) -> bool {
        let size = 1 << self.doublings;
        (0..3).all(|k| self.first[k] <= last[k] && self.first[k] + size > first[k])
    }

    /// Returns the eight cubes of half the size.
    pub fn halves(&self) -> impl Iterator<Item = Self> + '_ {
        let doublings = self.doublings - 1;
        (0..8).map(move |i| Self {
            first: std::array::from_fn(|k| self.first[k] + ((i >> k & 1) << doublings)),
            doublings,
        })
    }
}
