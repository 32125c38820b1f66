// SPDX-License-Identifier: MIT OR Apache-2.0
//! R̃(w) a for sixteen vertices at once, in f32: `a + A w×a + B w×(w×a)`, `A = (1 − cos θ)/θ²`,
//! `B = (1 − sin θ/θ)/θ²`.
//!
//! Below θ = 1 both are power series in θ², smooth through zero. Above, sine and cosine are polynomials of the
//! remainder modulo π/2. Errors stay below 2e-7 of |a|. All code is loops over the lanes without calls, which
//! compilers turn into vector instructions.

/// Vertices per block.
pub(super) const LANES: usize = 16;

/// One number of every vertex of a block.
pub(super) type Lanes = [f32; LANES];

/// Largest angle with a phase in f32; larger ones are replaced by it for the phase only.
const MAX_PHASE_ANGLE: f32 = 1_048_576.0;

/// Returns displacements from linear ones `a` and rotation vectors `w`, components first.
#[inline(always)]
pub(super) fn turn(a: &[Lanes; 3], w: &[Lanes; 3]) -> [Lanes; 3] {
    let mut square = [0.0f32; LANES];
    for l in 0..LANES {
        square[l] = w[0][l] * w[0][l] + w[1][l] * w[1][l] + w[2][l] * w[2][l];
    }
    let (first, second) = coefficients(&square);
    let once = cross(w, a);
    let twice = cross(w, &once);
    let mut u = *a;
    for k in 0..3 {
        for l in 0..LANES {
            u[k][l] += first[l] * once[k][l] + second[l] * twice[k][l];
        }
    }
    u
}

#[inline(always)]
fn cross(a: &[Lanes; 3], b: &[Lanes; 3]) -> [Lanes; 3] {
    let mut c = [[0.0f32; LANES]; 3];
    for (k, c) in c.iter_mut().enumerate() {
        let (i, j) = ((k + 1) % 3, (k + 2) % 3);
        for (l, c) in c.iter_mut().enumerate() {
            *c = a[i][l] * b[j][l] - a[j][l] * b[i][l];
        }
    }
    c
}

/// Returns A and B from θ².
#[inline(always)]
fn coefficients(square: &Lanes) -> (Lanes, Lanes) {
    let (mut first, mut second) = ([0.0f32; LANES], [0.0f32; LANES]);
    let mut largest = 0.0f32;
    for l in 0..LANES {
        let x = square[l];
        first[l] = 0.5
            + x * (-1.0 / 24.0
                + x * (1.0 / 720.0 + x * (-1.0 / 40_320.0 + x * (1.0 / 3_628_800.0))));
        second[l] = 1.0 / 6.0
            + x * (-1.0 / 120.0
                + x * (1.0 / 5_040.0 + x * (-1.0 / 362_880.0 + x * (1.0 / 39_916_800.0))));
        largest = if x > largest { x } else { largest };
    }
    if largest >= 1.0 {
        for l in 0..LANES {
            let x = if square[l] > 1.0 { square[l] } else { 1.0 };
            let angle = x.sqrt();
            let (sine, cosine) = sine_and_cosine(angle);
            let (a, b) = ((1.0 - cosine) / x, (angle - sine) / (angle * x));
            let near = square[l] < 1.0;
            first[l] = if near { first[l] } else { a };
            second[l] = if near { second[l] } else { b };
        }
    }
    (first, second)
}

/// Returns sine and cosine of an angle of at least zero; polynomials of \[cephes\], remainder by three parts of
/// π/2.
#[inline(always)]
fn sine_and_cosine(angle: f32) -> (f32, f32) {
    /// Adding this rounds to a whole number, which is then in the lowest bits.
    const ROUNDING_OFFSET: f32 = 12_582_912.0;
    let angle = if angle < MAX_PHASE_ANGLE {
        angle
    } else {
        MAX_PHASE_ANGLE
    };
    let shifted = angle * std::f32::consts::FRAC_2_PI + ROUNDING_OFFSET;
    let quarter = shifted.to_bits();
    let turns = shifted - ROUNDING_OFFSET;
    let r = ((angle - turns * 1.570_312_5) - turns * 4.837_513e-4) - turns * 7.549_79e-8;
    let z = r * r;
    let s = r + r * z * (-0.166_666_55 + z * (8.332_161e-3 + z * -1.951_529_6e-4));
    let c = 1.0 - 0.5 * z + z * z * (4.166_664_6e-2 + z * (-1.388_731_6e-3 + z * 2.443_315_7e-5));
    let swapped = quarter & 1 == 1;
    let (sine, cosine) = if swapped { (c, s) } else { (s, c) };
    let sign = |bits: u32| (bits & 2) << 30;
    (
        f32::from_bits(sine.to_bits() ^ sign(quarter)),
        f32::from_bits(cosine.to_bits() ^ sign(quarter.wrapping_add(1))),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Vec3;

    fn exact_displacement(w: Vec3, a: Vec3) -> Vec3 {
        let t = w.norm();
        if t < 1e-4 {
            return a + w.cross(&a) / 2.0 + w.cross(&w.cross(&a)) / 6.0;
        }
        let n = w / t;
        let (once, twice) = (n.cross(&a), n.cross(&n.cross(&a)));
        a + once * ((1.0 - t.cos()) / t) + twice * (1.0 - t.sin() / t)
    }

    fn lanes(v: Vec3) -> [Lanes; 3] {
        [
            [v.x as f32; LANES],
            [v.y as f32; LANES],
            [v.z as f32; LANES],
        ]
    }

    /// The turn in single precision agrees with double precision for every angle.
    #[test]
    fn turn_matches_double_precision() {
        let a = Vec3::new(0.3, -0.5, 0.7);
        let n = Vec3::new(1.0, 2.0, -0.5).normalize();
        for i in 0..40_000 {
            let angle = 1e-5 * f64::from(i) * (1.0 + 1e-4 * f64::from(i));
            // The rotation vector is the one that f32 holds; what is tested is the arithmetic.
            let w = lanes(n * angle);
            let held = Vec3::new(w[0][3].into(), w[1][3].into(), w[2][3].into());
            let u = turn(&lanes(a), &w);
            let got = Vec3::new(u[0][3].into(), u[1][3].into(), u[2][3].into());
            let error = (got - exact_displacement(held, a)).norm();
            assert!(error < 4e-7, "angle {angle}: {error}");
        }
    }

    /// Lanes with small and large angles do not influence each other.
    #[test]
    fn turn_lanes_are_independent() {
        let a = lanes(Vec3::new(1.0, -2.0, 0.5));
        let along = |step: f32| std::array::from_fn(|l| step * l as f32);
        let w: [Lanes; 3] = [0.3, 0.0, -0.1].map(along);
        let together = turn(&a, &w);
        for l in 0..LANES {
            let alone = turn(&a, &std::array::from_fn(|k| [w[k][l]; LANES]));
            for k in 0..3 {
                assert_eq!(together[k][l].to_bits(), alone[k][0].to_bits());
            }
        }
    }

    /// Absurdly large angles give finite and bounded results.
    #[test]
    fn absurd_angles_stay_bounded() {
        for angle in [1e3f32, 1e6, 1e9, 1e17] {
            let u = turn(
                &lanes(Vec3::new(1.0, 1.0, 1.0)),
                &[[angle; LANES], [0.0; LANES], [0.0; LANES]],
            );
            let norm = (0..3).map(|k| u[k][0] * u[k][0]).sum::<f32>().sqrt();
            assert!(norm < 3.0, "{angle}: {norm}");
        }
    }
}
