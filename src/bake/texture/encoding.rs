// SPDX-License-Identifier: MIT OR Apache-2.0
//! Offsets as 16 bits: half floats, or steps between bounds.
//!
//! Both decode as `offset = min + scale · value`, with the value as a shader samples it: the half float itself, or the step divided
//! by 65535. Half floats round by at most 2⁻¹¹ of the offset (0.03 mm from 63 to 125 mm). Steps round by half of 1/65535 of the range of
//! all offsets along an axis (0.001 mm of 136 mm), wherever they are in it.

use half::f16;
use std::str::FromStr;

/// Largest offset that half floats hold, m; beyond it they round to infinity.
pub(super) const MAX_HALF: f64 = 65504.0;
/// Largest step.
const MAX_STEP: f64 = 65535.0;

/// Image format of a vertex animation texture.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TextureFormat {
    /// OpenEXR, half floats: metres.
    #[default]
    Exr,
    /// PNG of 16 bits: steps between the bounds of all offsets.
    Png,
}

impl FromStr for TextureFormat {
    type Err = ();

    fn from_str(name: &str) -> Result<Self, ()> {
        match name {
            "exr" => Ok(Self::Exr),
            "png" => Ok(Self::Png),
            _ => Err(()),
        }
    }
}

impl TextureFormat {
    /// Returns the ending of its files.
    pub fn ending(self) -> &'static str {
        match self {
            Self::Exr => "exr",
            Self::Png => "png",
        }
    }
}

/// Meaning of the 16 bits of a channel.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Encoding {
    /// Half floats, m.
    Half,
    /// Steps from `min` in 65535ths of `scale`, m.
    Steps { min: [f64; 3], scale: [f64; 3] },
}

impl Encoding {
    /// Returns the encoding of offsets between bounds.
    pub fn between(format: TextureFormat, min: [f64; 3], max: [f64; 3]) -> Self {
        match format {
            TextureFormat::Exr => Self::Half,
            TextureFormat::Png => Self::Steps {
                min,
                scale: [0, 1, 2].map(|axis| max[axis] - min[axis]),
            },
        }
    }

    /// Returns `min` and `scale` of the formula that decodes.
    pub fn decoding(&self) -> ([f64; 3], [f64; 3]) {
        match *self {
            Self::Half => ([0.0; 3], [1.0; 3]),
            Self::Steps { min, scale } => (min, scale),
        }
    }

    /// Encodes an offset along an axis, which must be within the bounds.
    pub fn encode(&self, axis: usize, offset: f64) -> u16 {
        match self {
            Self::Half => f16::from_f64(offset).to_bits(),
            Self::Steps { min, scale } if scale[axis] > 0.0 => {
                // A cast saturates.
                ((offset - min[axis]) / scale[axis] * MAX_STEP).round() as u16
            }
            Self::Steps { .. } => 0,
        }
    }

    /// Decodes an offset along an axis.
    pub fn decode(&self, axis: usize, bits: u16) -> f64 {
        match self {
            Self::Half => f16::from_bits(bits).to_f64(),
            Self::Steps { min, scale } => min[axis] + f64::from(bits) / MAX_STEP * scale[axis],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rounding stays within what the module says, and bounds and axes without range are exact.
    #[test]
    fn encodings_round_as_documented() {
        let (min, max) = ([-0.068, 0.0, 0.25], [0.068, 1.0, 0.25]);
        let steps = Encoding::between(TextureFormat::Png, min, max);
        let half = Encoding::between(TextureFormat::Exr, min, max);
        for i in 0..=1000 {
            let x = -0.068 + 0.136e-3 * f64::from(i);
            assert!(
                (steps.decode(0, steps.encode(0, x)) - x).abs() <= 0.5 * 0.136 / 65535.0 + 1e-15
            );
            assert!((half.decode(0, half.encode(0, x)) - x).abs() <= x.abs() / 2048.0 + 3e-8);
        }
        assert_eq!(steps.decode(0, steps.encode(0, -0.068)), -0.068);
        assert_eq!(steps.encode(1, 1.0), 65535);
        assert_eq!(steps.decode(1, 65535), 1.0);
        assert_eq!(steps.decode(2, steps.encode(2, 0.25)), 0.25);
        assert_eq!(half.decode(0, half.encode(0, MAX_HALF)), MAX_HALF);
        assert_eq!(half.encode(0, 0.0), 0);
    }
}
