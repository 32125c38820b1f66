// SPDX-License-Identifier: MIT OR Apache-2.0
//! Subsets of the functions: those of level 0, and some details. [capell2002, §4.7]
//!
//! The functions of a subset live on coarser elements where fine details are missing: a cell whose finest active function has
//! level j is divided into the hexahedra of its j-times subdivided cell, and one without active details is one element. Integrals over
//! these are sums of those over the elements that they consist of, so a step costs what the active functions need.

/// A set of the functions of a basis, which holds all of level 0.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ActiveSet {
    /// One bit per function, 64 in a word.
    words: Vec<u64>,
    /// Number of functions of level 0, which come first, and of all.
    coarse: usize,
    len: usize,
}

impl ActiveSet {
    /// Creates the set of the functions of level 0, of a basis with `coarse` of these and `len` functions in all.
    pub(super) fn coarse(coarse: usize, len: usize) -> Self {
        let mut set = Self {
            words: vec![0; len.div_ceil(64)],
            coarse,
            len,
        };
        (0..coarse as u32).for_each(|a| set.insert(a));
        set
    }

    /// Returns the same set with some details, by number; `None` if a number is not that of a detail.
    pub fn with_details(mut self, details: impl IntoIterator<Item = u32>) -> Option<Self> {
        for a in details {
            if !(self.coarse..self.len).contains(&(a as usize)) {
                return None;
            }
            self.insert(a);
        }
        Some(self)
    }

    /// Returns whether a function is in the set.
    #[inline]
    pub fn contains(&self, function: u32) -> bool {
        self.words[function as usize / 64] >> (function % 64) & 1 == 1
    }

    /// Adds a function.
    pub fn insert(&mut self, function: u32) {
        self.words[function as usize / 64] |= 1 << (function % 64);
    }

    /// Removes a detail.
    pub fn remove(&mut self, detail: u32) {
        self.words[detail as usize / 64] &= !(1 << (detail % 64));
    }

    /// Returns the functions of the set, ascending.
    pub fn functions(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.len as u32).filter(|&a| self.contains(a))
    }

    /// Returns the number of functions in the set.
    pub fn count(&self) -> usize {
        self.words.iter().map(|w| w.count_ones() as usize).sum()
    }

    /// Returns whether the set holds all functions of the basis.
    pub fn is_whole(&self) -> bool {
        self.count() == self.len
    }
}
