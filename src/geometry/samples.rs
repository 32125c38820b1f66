// SPDX-License-Identifier: MIT OR Apache-2.0
//! Quasi-random sample points at which bodies are compared.

use crate::Vec3;

/// Returns points spread evenly over the unit cube: fractional parts of multiples of powers of 1/`ROOT`, as with the plastic number
/// in two dimensions.
pub(crate) fn even_points(count: usize) -> Vec<Vec3> {
    /// Real root of x⁴ = x + 1.
    const ROOT: f64 = 1.220_744_084_605_76;
    let step = Vec3::new(1.0 / ROOT, 1.0 / (ROOT * ROOT), 1.0 / (ROOT * ROOT * ROOT));
    (0..count)
        .map(|i| (Vec3::repeat(0.5) + step * i as f64).map(f64::fract))
        .collect()
}
