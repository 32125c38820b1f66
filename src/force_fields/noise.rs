// SPDX-License-Identifier: MIT OR Apache-2.0
//! Smooth noise with a seed, zero on average: gradient noise on the integer lattice.
//!
//! Each corner of a cell has a random gradient. The value is the blend of the corners' linear functions by `6t⁵ − 15t⁴ + 10t³`, so it is twice
//! continuously differentiable and zero at corners. Gradients come in opposite pairs, hence the mean is zero. They are hashes of the corner and the
//! seed by SplitMix64's finaliser: only whole numbers and exact operations, so every machine has the same bits. Three dimensions have the twelve
//! edges of a cube as gradients, and two octaves, the second of half the size and weight.

use crate::Vec3;

/// Factor that keeps one octave of the noise in space between −1 and 1: with these gradients it reaches 1.036.
const SPATIAL_BOUND: f64 = 1.0 / 1.04;
/// Weights of the octaves.
const OCTAVES: [(f64, f64); 2] = [(1.0, 2.0 / 3.0), (2.0, 1.0 / 3.0)];
/// Largest value of the noise in time: both ends of a second give 1/2.
const TEMPORAL_SCALE: f64 = 2.0;

/// Mixes the bits of a number (SplitMix64's finaliser).
fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Returns a hash of a lattice point, a stream and a seed.
fn hash(seed: u32, stream: u64, corner: [i64; 3]) -> u64 {
    let mut h = mix(u64::from(seed) ^ (stream << 32) ^ 0x9e37_79b9_7f4a_7c15);
    for x in corner {
        h = mix(h ^ (x as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    }
    h
}

fn fade(t: f64) -> f64 {
    t * t * t * (t * (t * 6.0 - 15.0) + 10.0)
}

fn blend(a: f64, b: f64, t: f64) -> f64 {
    a + (b - a) * t
}

/// Returns g · d for the gradient of a hash: one of the twelve edges of a cube.
fn edge_gradient(hash: u64, d: &Vec3) -> f64 {
    let sign = |bit: u64, x: f64| if (hash >> bit) & 1 == 0 { x } else { -x };
    let [a, b] = match (hash >> 2) % 3 {
        0 => [d.x, d.y],
        1 => [d.y, d.z],
        _ => [d.z, d.x],
    };
    sign(0, a) + sign(1, b)
}

/// Returns the whole and the fractional part of a coordinate. Coordinates beyond the whole numbers of a double count as 0.
fn split(x: f64) -> (i64, f64) {
    let whole = x.floor();
    if whole.abs() < 9e15 {
        (whole as i64, x - whole)
    } else {
        (0, 0.0)
    }
}

/// Returns one octave of one stream, between −1 and 1.
fn octave(seed: u32, stream: u64, p: &Vec3) -> f64 {
    let ((i, x), (j, y), (k, z)) = (split(p.x), split(p.y), split(p.z));
    let corner = |di: i64, dj: i64, dk: i64| {
        let d = Vec3::new(x - di as f64, y - dj as f64, z - dk as f64);
        edge_gradient(hash(seed, stream, [i + di, j + dj, k + dk]), &d)
    };
    let (u, v, w) = (fade(x), fade(y), fade(z));
    let edge = |dj: i64, dk: i64| blend(corner(0, dj, dk), corner(1, dj, dk), u);
    let face = |dk: i64| blend(edge(0, dk), edge(1, dk), v);
    SPATIAL_BOUND * blend(face(0), face(1), w)
}

/// Returns three independent components of noise at a point, between −1 and 1 each.
pub(super) fn noise_3d(seed: u32, p: &Vec3) -> Vec3 {
    let component = |stream: u64| {
        let octaves = OCTAVES.iter().zip(0..);
        octaves
            .map(|((frequency, weight), n)| {
                weight * octave(seed, 2 * stream + n, &(p * *frequency))
            })
            .sum::<f64>()
    };
    Vec3::new(component(1), component(2), component(3))
}

/// Returns noise at a time, between −1 and 1.
pub(super) fn noise_1d(seed: u32, t: f64) -> f64 {
    let (i, x) = split(t);
    let slope = |at: i64| {
        let h = hash(seed, 0, [at, 0, 0]) >> 11;
        h as f64 / (1u64 << 52) as f64 - 1.0
    };
    TEMPORAL_SCALE * blend(slope(i) * x, slope(i + 1) * (x - 1.0), fade(x))
}
