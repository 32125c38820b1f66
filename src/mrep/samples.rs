// SPDX-License-Identifier: MIT OR Apache-2.0
//! Points that bodies are compared at.

use crate::Vec3;

/// Points spread evenly over the unit cube: multiples of powers of the plastic number's cousin in three dimensions, less the whole.
pub(super) fn evenly(count: usize) -> Vec<Vec3> {
    /// Real root of x⁴ = x + 1.
    const ROOT: f64 = 1.220_744_084_605_76;
    let step = Vec3::new(1.0 / ROOT, 1.0 / (ROOT * ROOT), 1.0 / (ROOT * ROOT * ROOT));
    (0..count)
        .map(|i| (Vec3::repeat(0.5) + step * i as f64).map(f64::fract))
        .collect()
}
