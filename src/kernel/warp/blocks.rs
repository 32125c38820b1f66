// SPDX-License-Identifier: MIT OR Apache-2.0
//! Mode values packed for one sequential stream: `[block][mode][Φx Φy Φz Ψx Ψy Ψz][16 points]`, in f32 or f16.
//!
//! A block of sixteen points is summed over all modes in registers and written once. Each mode is stored divided
//! by a power of two near its largest value, which multiplies the amplitude instead. This is exact, and keeps f16
//! away from its smallest numbers.

use super::turn::LANES;
use crate::Vec3;
use rayon::prelude::*;

/// Precision of stored mode values; sums are always in f32.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Precision {
    /// 24 bytes per vertex (or node) and mode.
    #[default]
    F32,
    /// 12 bytes; each value is rounded to eleven bits, at most 2.5e-4 of the largest of its mode.
    F16,
}

impl Precision {
    /// Returns "f32" or "f16".
    pub fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::F16 => "f16",
        }
    }

    /// Returns the precision of a name; `None` for other names.
    pub fn parse(name: &str) -> Option<Self> {
        match name {
            "f32" => Some(Self::F32),
            "f16" => Some(Self::F16),
            _ => None,
        }
    }
}

/// Rows of a mode in a block.
pub(super) const ROWS_PER_MODE: usize = 6;

/// One component of one mode at the points of a block.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
pub(super) struct SingleRow(pub [f32; LANES]);

/// One component of one mode at the points of a block, in half precision.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(32))]
pub(super) struct HalfRow(pub [u16; LANES]);

/// The packed modes of a surface or a body.
#[derive(Debug, Clone)]
pub(super) struct ModeBlocks {
    pub points: usize,
    pub modes: usize,
    pub values: ModeValues,
    /// Powers of two that multiply the amplitudes of shape and rotation, per mode.
    pub scales: Vec<[f64; 2]>,
    /// Largest displacement and rotation at an amplitude of one, per mode.
    pub peaks: Vec<[f64; 2]>,
}

/// Rows `[block][mode][6]`.
#[derive(Debug, Clone)]
pub(super) enum ModeValues {
    F32(Vec<SingleRow>),
    F16(Vec<HalfRow>),
}

/// A row that is filled from the numbers of its points.
trait Pack: Copy + Send + Sync {
    const EMPTY: Self;
    /// Largest stored value, as a power of two.
    const MAX_EXPONENT: i32;
    fn set(&mut self, lane: usize, value: f64);
}

impl Pack for SingleRow {
    const EMPTY: Self = Self([0.0; LANES]);
    const MAX_EXPONENT: i32 = 0;
    fn set(&mut self, lane: usize, value: f64) {
        self.0[lane] = value as f32;
    }
}

impl Pack for HalfRow {
    const EMPTY: Self = Self([0; LANES]);
    const MAX_EXPONENT: i32 = 14;
    fn set(&mut self, lane: usize, value: f64) {
        self.0[lane] = half::f16::from_f64(value).to_bits();
    }
}

impl ModeBlocks {
    /// Packs shape and rotation vector, returned by `value(mode, point)`.
    pub(super) fn new(
        precision: Precision,
        points: usize,
        modes: usize,
        value: impl Fn(usize, usize) -> [Vec3; 2] + Sync,
    ) -> Self {
        let peaks: Vec<[f64; 2]> = (0..modes)
            .into_par_iter()
            .map(|mode| {
                let both = (0..points).map(|p| value(mode, p).map(|v| v.norm()));
                both.fold([0.0f64; 2], |m, v| [m[0].max(v[0]), m[1].max(v[1])])
            })
            .collect();
        let (values, scales) = match precision {
            Precision::F32 => {
                let scales = scales::<SingleRow>(&peaks);
                (ModeValues::F32(pack(points, &scales, value)), scales)
            }
            Precision::F16 => {
                let scales = scales::<HalfRow>(&peaks);
                (ModeValues::F16(pack(points, &scales, value)), scales)
            }
        };
        Self {
            points,
            modes,
            values,
            scales,
            peaks,
        }
    }

    pub(super) fn precision(&self) -> Precision {
        match self.values {
            ModeValues::F32(_) => Precision::F32,
            ModeValues::F16(_) => Precision::F16,
        }
    }

    /// Returns the memory of the values, bytes.
    pub(super) fn bytes(&self) -> usize {
        match &self.values {
            ModeValues::F32(v) => size_of_val(v.as_slice()),
            ModeValues::F16(v) => size_of_val(v.as_slice()),
        }
    }
}

/// Returns powers of two near the largest values, per mode.
fn scales<P: Pack>(peaks: &[[f64; 2]]) -> Vec<[f64; 2]> {
    let scale = |peak: f64| {
        if peak > 0.0 {
            2f64.powi((peak.log2().floor() as i32 - P::MAX_EXPONENT).max(-1000))
        } else {
            1.0
        }
    };
    peaks.iter().map(|p| p.map(scale)).collect()
}

/// Packs values divided by their scales into rows.
fn pack<P: Pack>(
    points: usize,
    scales: &[[f64; 2]],
    value: impl Fn(usize, usize) -> [Vec3; 2] + Sync,
) -> Vec<P> {
    let per_block = ROWS_PER_MODE * scales.len();
    let mut rows = vec![P::EMPTY; points.div_ceil(LANES) * per_block];
    let blocks = rows.par_chunks_mut(per_block.max(1)).enumerate();
    blocks.for_each(|(block, rows)| {
        let modes = rows.chunks_exact_mut(ROWS_PER_MODE).zip(scales).enumerate();
        for (mode, (rows, scales)) in modes {
            for point in (block * LANES)..((block + 1) * LANES).min(points) {
                let both = value(mode, point);
                for (row, k) in rows.iter_mut().zip(0..) {
                    let value = both[k / 3][k % 3] / scales[k / 3];
                    row.set(point % LANES, value);
                }
            }
        }
    });
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Stored values times their scale equal the modes within the precision.
    #[test]
    fn scaled_values_equal_modes() {
        let value = |m: usize, p: usize| {
            let x = (m * 37 + p * 11 + 1) as f64;
            let size = 10f64.powi(m as i32 * 9 - 20);
            [
                size * Vec3::new(x.sin(), x.cos(), 0.3),
                Vec3::new(0.0, x.sin(), 2.0) / size,
            ]
        };
        for precision in [Precision::F32, Precision::F16] {
            let blocks = ModeBlocks::new(precision, 37, 5, value);
            let bound = if precision == Precision::F32 {
                6e-8
            } else {
                5e-4
            };
            for (m, p) in (0..5).flat_map(|m| (0..37).map(move |p| (m, p))) {
                for k in 0..ROWS_PER_MODE {
                    let row = ((p / LANES) * 5 + m) * ROWS_PER_MODE + k;
                    let stored = match &blocks.values {
                        ModeValues::F32(v) => v[row].0[p % LANES],
                        ModeValues::F16(v) => half::f16::from_bits(v[row].0[p % LANES]).to_f32(),
                    };
                    let got = f64::from(stored) * blocks.scales[m][k / 3];
                    let wanted = value(m, p)[k / 3][k % 3];
                    let error = (got - wanted).abs() / blocks.peaks[m][k / 3];
                    assert!(error < bound, "{precision:?} {m} {p} {k}: {error}");
                }
            }
        }
    }

    /// Modes of zero displacement are stored as zero with scale one.
    #[test]
    fn still_modes_store_zero() {
        let blocks = ModeBlocks::new(Precision::F16, 3, 1, |_, _| [Vec3::zeros(); 2]);
        assert_eq!(blocks.scales, [[1.0; 2]]);
        let ModeValues::F16(rows) = &blocks.values else {
            panic!("asked for f16");
        };
        assert!(rows.iter().all(|r| r.0 == [0; LANES]));
    }

    /// A precision is found by its exact name only.
    #[test]
    fn precision_names_parse() {
        for precision in [Precision::F32, Precision::F16] {
            assert_eq!(Precision::parse(precision.name()), Some(precision));
        }
        for other in ["", "f64", "F32", "f16 "] {
            assert_eq!(Precision::parse(other), None);
        }
    }
}
