// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bytes read as the numbers that entry points take: mostly sensible ones, and those at which arithmetic breaks.

use thew::{Mat4, Vec3};

/// What a caller may also hand over.
pub const NASTY: [f64; 16] = [
    0.0,
    -0.0,
    f64::NAN,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::MAX,
    -f64::MAX,
    f64::MIN_POSITIVE,
    1e150,
    1e-150,
    1e12,
    -1e12,
    1e6,
    5e-324,
    9007199254740993.0,
    1e-12,
];

/// Reads from the front; past the end everything is zero.
pub struct Bytes<'a>(pub &'a [u8]);

impl Bytes<'_> {
    pub fn byte(&mut self) -> u8 {
        let Some((&first, rest)) = self.0.split_first() else {
            return 0;
        };
        self.0 = rest;
        first
    }

    /// Up to and with `most`.
    pub fn up_to(&mut self, most: usize) -> usize {
        usize::from(self.byte()) % (most + 1)
    }

    /// An index into `count` things, now and then one that names nothing.
    pub fn index(&mut self, count: usize) -> u32 {
        match self.byte() {
            255 => u32::MAX,
            254 => count as u32,
            byte => (usize::from(byte) % count.max(1)) as u32,
        }
    }

    /// Tenths between −12 and 12, seldom one of [`NASTY`] or any eight bytes.
    pub fn number(&mut self) -> f64 {
        match self.byte() {
            255 => NASTY[usize::from(self.byte()) % NASTY.len()],
            254 => f64::from_le_bytes(std::array::from_fn(|_| self.byte())),
            byte => (f64::from(byte) - 120.0) / 10.0,
        }
    }

    pub fn numbers<const N: usize>(&mut self) -> [f64; N] {
        std::array::from_fn(|_| self.number())
    }

    pub fn place(&mut self) -> Vec3 {
        Vec3::from(self.numbers::<3>())
    }

    pub fn places(&mut self, count: usize) -> Vec<Vec3> {
        (0..count).map(|_| self.place()).collect()
    }

    /// A map near the identity, or any.
    pub fn matrix(&mut self) -> Mat4 {
        let mut matrix = Mat4::identity();
        for _ in 0..self.up_to(12) {
            let (row, column) = (self.up_to(3), self.up_to(3));
            matrix[(row, column)] = self.number();
        }
        matrix
    }
}

/// Panics unless all of some results are finite.
pub fn finite<'a>(what: &str, places: impl IntoIterator<Item = &'a Vec3>) {
    for (i, place) in places.into_iter().enumerate() {
        assert!(
            place.iter().all(|x| x.is_finite()),
            "{what} {i} is {place:?}"
        );
    }
}
