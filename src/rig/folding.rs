// SPDX-License-Identifier: MIT OR Apache-2.0
//! Range of a line of displacements over which no flesh is pressed flat.
//!
//! In linearised flesh displacements are affine in a rig's strength a, and so is the gradient of each piece,
//! `F = F₀ + a G`. The volume ratio `det F` is therefore a cubic in a, and the first a at which it falls to a bound
//! is found to rounding.

use crate::elasticity::Elements;
use crate::geometry::matrix::cofactor;
use crate::{Mat3, Vec3};

/// Smallest volume, relative to rest, to which a rig may press flesh.
pub const MIN_VOLUME_RATIO: f64 = 0.3;
/// Factor by which flesh that is already flat without the rig may get flatter.
const FURTHER_FLATTENING_FACTOR: f64 = 0.5;
/// Multiple of the line beyond which the range counts as infinite.
const UNBOUNDED_MULTIPLE: f64 = 1e6;
/// Bisection steps that find a bound to rounding.
const BISECTION_STEPS: usize = 80;

/// Returns the range of t around 0 for which every element of `from[nodes] + t·line[nodes]` keeps `det F` ≥
/// [`MIN_VOLUME_RATIO`], or half of its value at t = 0 if that is less. Pieces that are already inverted are ignored.
/// Unbounded ends are infinite.
pub(super) fn unfolded_range(elements: &Elements, from: &[Vec3], line: &[Vec3]) -> (f64, f64) {
    let (mut least, mut most) = (-UNBOUNDED_MULTIPLE, UNBOUNDED_MULTIPLE);
    for e in 0..elements.len() {
        let corners = elements.corners(e);
        for piece in elements.pieces(e).filter(|p| p.volume > 0.0) {
            let (mut f, mut g) = (Mat3::identity(), Mat3::zeros());
            for (&v, gradient) in corners.iter().zip(piece.gradients) {
                f += from[v as usize] * gradient.transpose();
                g += line[v as usize] * gradient.transpose();
            }
            let volume = f.determinant();
            if volume.is_nan() || volume <= 0.0 {
                continue;
            }
            let left = CubicPolynomial::from_determinant(
                &f,
                &g,
                MIN_VOLUME_RATIO.min(FURTHER_FLATTENING_FACTOR * volume),
            );
            most = left.positive_until(most);
            least = -left.mirror().positive_until(-least);
        }
    }
    let open = |x: f64| {
        if x.abs() < UNBOUNDED_MULTIPLE {
            x
        } else {
            x * f64::INFINITY
        }
    };
    (open(least), open(most))
}

/// The cubic `c₀ + c₁ a + c₂ a² + c₃ a³`, positive at 0.
#[derive(Debug, Clone, Copy)]
struct CubicPolynomial([f64; 4]);

impl CubicPolynomial {
    /// Returns `det (F + a G) − bound`.
    fn from_determinant(f: &Mat3, g: &Mat3, bound: f64) -> Self {
        Self([
            f.determinant() - bound,
            cofactor(f).dot(g),
            cofactor(g).dot(f),
            g.determinant(),
        ])
    }

    /// Returns the cubic in `−a`.
    fn mirror(self) -> Self {
        let [a, b, c, d] = self.0;
        Self([a, -b, c, -d])
    }

    fn value_at(&self, x: f64) -> f64 {
        let [a, b, c, d] = self.0;
        a + x * (b + x * (c + x * d))
    }

    /// Returns the largest number up to `end` before which the cubic is nowhere negative.
    fn positive_until(&self, end: f64) -> f64 {
        let mut from = 0.0;
        for to in self.stationary_points().into_iter().chain([end]) {
            if !(to > from && to <= end) {
                continue;
            }
            if self.value_at(to) < 0.0 {
                return self.bisect_root(from, to);
            }
            from = to;
        }
        end
    }

    /// Returns the stationary points, ascending; infinite for missing ones.
    fn stationary_points(&self) -> [f64; 2] {
        let [_, b, c, d] = self.0;
        // 3 d x² + 2 c x + b = 0, without cancellation.
        let q = c * c - 3.0 * b * d;
        if q.is_nan() || q < 0.0 {
            return [f64::INFINITY; 2];
        }
        let s = -(c + c.signum() * q.sqrt());
        let (one, two) = (s / (3.0 * d), b / s);
        let real = |x: f64| if x.is_nan() { f64::INFINITY } else { x };
        let (one, two) = (real(one), real(two));
        [one.min(two), one.max(two)]
    }

    /// Bisects between a positive and a negative value of the cubic; returns the positive side of the root.
    fn bisect_root(&self, mut positive: f64, mut negative: f64) -> f64 {
        for _ in 0..BISECTION_STEPS {
            let middle = 0.5 * (positive + negative);
            if self.value_at(middle) < 0.0 {
                negative = middle;
            } else {
                positive = middle;
            }
        }
        positive
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::elasticity::Material;
    use crate::surface::shapes::Random;

    fn single_element() -> (Elements, Vec<Vec3>) {
        let x = vec![
            Vec3::zeros(),
            Vec3::new(0.3, 0.0, 0.1),
            Vec3::new(0.0, 0.2, 0.0),
            Vec3::new(0.1, 0.1, 0.4),
        ];
        let elements = Elements::tetrahedra(&x, &[[0, 1, 2, 3]], &Material::default());
        (elements, x)
    }

    /// Returns the ratio of the piece's volume to its rest volume.
    fn volume_ratio(x: &[Vec3], q: &[Vec3]) -> f64 {
        let of = |p: &[Vec3]| (p[1] - p[0]).cross(&(p[2] - p[0])).dot(&(p[3] - p[0]));
        let p: Vec<Vec3> = x.iter().zip(q).map(|(x, q)| x + q).collect();
        of(&p) / of(x)
    }

    /// Flesh is at its flattest at the ends of the range, and nowhere within it.
    #[test]
    fn range_ends_at_flattest() {
        let (elements, x) = single_element();
        let mut random = Random(5);
        let mut found = 0;
        for _ in 0..300 {
            let mut any = |size: f64| -> Vec<Vec3> {
                (0..4)
                    .map(|_| Vec3::from_fn(|_, _| size * (2.0 * random.next() - 1.0)))
                    .collect()
            };
            let (from, line) = (any(0.05), any(0.1));
            let at =
                |a: f64| -> Vec<Vec3> { from.iter().zip(&line).map(|(q, d)| q + d * a).collect() };
            let start = volume_ratio(&x, &from);
            if start <= 0.0 {
                continue;
            }
            let bound = MIN_VOLUME_RATIO.min(0.5 * start);
            let (least, most) = unfolded_range(&elements, &from, &line);
            assert!(least < 0.0 && most > 0.0);
            for end in [least, most] {
                // Far out rounding decides.
                if end.abs() < 50.0 {
                    found += 1;
                    assert!((volume_ratio(&x, &at(end)) - bound).abs() < 1e-9, "{end}");
                    assert!(volume_ratio(&x, &at(end * (1.0 + 1e-6))) < bound);
                }
                let far = end.clamp(-50.0, 50.0);
                for i in 0..200 {
                    let a = far * f64::from(i) / 200.0;
                    assert!(volume_ratio(&x, &at(a)) > bound, "{a} of {far}");
                }
            }
        }
        assert!(found > 200, "{found}");
    }

    /// A displacement that flattens nothing has an unbounded range, and inverted elements do not limit it.
    #[test]
    fn range_unbounded_without_flattening() {
        let (elements, x) = single_element();
        let still = vec![Vec3::zeros(); 4];
        let open = (f64::NEG_INFINITY, f64::INFINITY);
        assert_eq!(unfolded_range(&elements, &still, &still), open);
        assert_eq!(unfolded_range(&elements, &still, &[Vec3::x(); 4]), open);
        // Growing: endless that way, and back until the last third of the volume.
        let (least, most) = unfolded_range(&elements, &still, &x);
        assert_eq!(most, f64::INFINITY);
        assert!(
            (least + 1.0 - MIN_VOLUME_RATIO.cbrt()).abs() < 1e-9,
            "{least}"
        );
        // What is inverted already has no say.
        let turned: Vec<Vec3> = x.iter().map(|x| Vec3::new(-2.0 * x.x, 0.0, 0.0)).collect();
        assert_eq!(unfolded_range(&elements, &turned, &x), open);
    }
}
