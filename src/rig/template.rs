// SPDX-License-Identifier: MIT OR Apache-2.0
//! Force-field templates: the field of a rig, in a frame of its own. [capell2006, §4.2]
//!
//! Let `W(s) = (1 − s²)²` for `s < 1` and zero beyond, with s the distance divided by the radius R. With
//! `k = 25√5/16` the largest force is the strength a:
//!
//! | template | force |
//! | --- | --- |
//! | bump | `a W Z` |
//! | radial | `a k W x/R` |
//! | bulge | `a (k/2) W (x_⊥ − 2 x_∥)/R`, about the axis Z |
//! | torus | `a k W(\|v\|/R) v/R`, v from the nearest point of the circle of radius A about Z, `R < A` |
//!
//! All are compact and C¹: W and its slope vanish at the boundary, and W is zero on the torus's axis, where v is not
//! smooth. Deviation: the paper only describes its fields; these polynomials are ours. A negative strength reverses
//! the force.

use super::{ParameterKind, RigError};
use crate::range::is_sound;
use crate::{Mat3, Vec3};

/// Largest number of parameters of a template.
pub(crate) const MOST: usize = 3;

/// `25√5/16`: one over the largest value of `s W(s)`.
const PEAK: f64 = 25.0 * 2.236_067_977_499_79 / 16.0;

/// Kinds of templates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TemplateKind {
    /// Pushes along Z.
    Bump,
    /// Pushes away from the centre.
    Radial,
    /// Squeezes along Z and widens across, as a muscle does.
    Bulge,
    /// Pushes away from a circle about Z: a lip, a nostril.
    Torus,
}

impl TemplateKind {
    /// All kinds.
    pub const ALL: [Self; 4] = [Self::Bump, Self::Radial, Self::Bulge, Self::Torus];

    /// Returns the kind's name in the interface.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bump => "bump",
            Self::Radial => "radial",
            Self::Bulge => "bulge",
            Self::Torus => "torus",
        }
    }

    /// Returns the names of its parameters, in order: lengths first, the strength last.
    pub fn parameter_names(self) -> &'static [&'static str] {
        match self {
            Self::Bump | Self::Radial | Self::Bulge => &["radius", "strength"],
            Self::Torus => &["ring_radius", "tube_radius", "strength"],
        }
    }

    /// Returns the kind of each parameter.
    pub fn parameter_kinds(self) -> &'static [ParameterKind] {
        use ParameterKind::{Radius, Strength};
        match self {
            Self::Bump | Self::Radial | Self::Bulge => &[Radius, Strength],
            Self::Torus => &[Radius, Radius, Strength],
        }
    }
}

impl std::str::FromStr for TemplateKind {
    type Err = RigError;

    fn from_str(name: &str) -> Result<Self, RigError> {
        let known = Self::ALL.into_iter().find(|kind| kind.name() == name);
        known.ok_or_else(|| RigError::Template { name: name.into() })
    }
}

/// A template with its parameters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Template {
    kind: TemplateKind,
    /// Values in the kind's order; unused ones are zero.
    values: [f64; MOST],
}

/// Force at a point and its derivatives, in the template's frame.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Derivatives {
    /// Force per volume, N/m³.
    pub force: Vec3,
    /// Derivative by the point, N/m⁴.
    pub by_place: Mat3,
    /// Derivatives by each parameter, in order; unused ones are zero.
    pub by_parameter: [Vec3; MOST],
}

impl Template {
    /// Builds a template from its parameters in the order of [`TemplateKind::parameter_names`], metres and N/m³.
    ///
    /// # Errors
    /// A wrong number of parameters, one that is not finite, a radius that is not positive, or a tube as thick as its
    /// ring.
    pub fn new(kind: TemplateKind, parameters: &[f64]) -> Result<Self, RigError> {
        let names = kind.parameter_names();
        if parameters.len() != names.len() {
            return Err(RigError::Count {
                expected: names.len(),
                given: parameters.len(),
            });
        }
        let mut values = [0.0; MOST];
        for ((value, &given), &name) in values.iter_mut().zip(parameters).zip(names) {
            if !is_sound(given) {
                return Err(RigError::NonFinite { name, value: given });
            }
            if name != "strength" && given <= 0.0 {
                return Err(RigError::Radius { name, value: given });
            }
            *value = given;
        }
        if kind == TemplateKind::Torus && values[1] >= values[0] {
            return Err(RigError::Tube {
                tube: values[1],
                ring: values[0],
            });
        }
        Ok(Self { kind, values })
    }

    /// Returns the kind.
    pub fn kind(&self) -> TemplateKind {
        self.kind
    }

    /// Returns the parameters, in the order of [`TemplateKind::parameter_names`].
    pub fn parameters(&self) -> &[f64] {
        &self.values[..self.kind.parameter_names().len()]
    }

    /// Returns the largest force, N/m³; negative for a reversed force.
    pub fn strength(&self) -> f64 {
        self.values[self.parameters().len() - 1]
    }

    /// Returns the distance from the frame's origin beyond which the force is zero, metres.
    pub fn support_radius(&self) -> f64 {
        match self.kind {
            TemplateKind::Torus => self.values[0] + self.values[1],
            _ => self.values[0],
        }
    }

    /// Returns the radius over which the force varies, metres; a quadrature has to resolve it.
    pub fn radius(&self) -> f64 {
        match self.kind {
            TemplateKind::Torus => self.values[1],
            _ => self.values[0],
        }
    }

    /// Returns the signed distance from a point of the frame to the support of the force, metres; negative inside.
    pub fn distance(&self, y: &Vec3) -> f64 {
        match self.kind {
            TemplateKind::Torus => (y.xy().norm() - self.values[0]).hypot(y.z) - self.values[1],
            _ => y.norm() - self.values[0],
        }
    }

    /// Returns the force at a point of the frame, N/m³; zero outside the support.
    #[inline]
    pub fn force(&self, y: &Vec3) -> Vec3 {
        self.force_within(y).unwrap_or_default()
    }

    /// Returns the force of [`force`](Self::force); `None` outside the support.
    #[inline]
    pub(crate) fn force_within(&self, y: &Vec3) -> Option<Vec3> {
        let [radius, strength, _] = self.values;
        match self.kind {
            TemplateKind::Bump => {
                let w = strength * window(y.norm_squared(), radius)?.powi(2);
                Some(Vec3::new(0.0, 0.0, w))
            }
            TemplateKind::Radial => {
                let w = window(y.norm_squared(), radius)?.powi(2);
                Some(y * (strength * PEAK / radius * w))
            }
            TemplateKind::Bulge => {
                let w = window(y.norm_squared(), radius)?.powi(2);
                Some(y.component_mul(&SQUEEZE) * (0.5 * strength * PEAK / radius * w))
            }
            TemplateKind::Torus => {
                let [ring, tube, strength] = self.values;
                let rho = y.xy().norm();
                let out = rho - ring;
                let w = window(out * out + y.z * y.z, tube)?.powi(2);
                // The axis lies outside the support.
                let v = Vec3::new(y.x * out / rho, y.y * out / rho, y.z);
                Some(v * (strength * PEAK / tube * w))
            }
        }
    }

    /// Returns the force and its derivatives at a point of the frame; `None` outside the support.
    // Left to the compiler, some kinds are not inlined into the quadrature, which then takes twice as long for them.
    #[inline(always)]
    pub fn derivatives(&self, y: &Vec3) -> Option<Derivatives> {
        let [radius, strength, _] = self.values;
        let (zero, up) = (Vec3::zeros(), Vec3::z());
        match self.kind {
            TemplateKind::Bump => {
                let w = Weight::at(y, radius)?;
                Some(Derivatives {
                    force: up * (strength * w.value),
                    by_place: up * w.by_place.transpose() * strength,
                    by_parameter: [up * (strength * w.by_radius), up * w.value, zero],
                })
            }
            TemplateKind::Radial => Some(linear(
                &Weight::at(y, radius)?,
                *y,
                &Mat3::identity(),
                (radius, PEAK),
                strength,
            )),
            TemplateKind::Bulge => Some(linear(
                &Weight::at(y, radius)?,
                y.component_mul(&SQUEEZE),
                &Mat3::from_diagonal(&SQUEEZE),
                (radius, 0.5 * PEAK),
                strength,
            )),
            TemplateKind::Torus => {
                let [ring, tube, strength] = self.values;
                let rho = y.xy().norm();
                let out = rho - ring;
                if out * out + y.z * y.z >= tube * tube {
                    return None;
                }
                let across = Vec3::new(y.x / rho, y.y / rho, 0.0);
                let along = Vec3::new(-across.y, across.x, 0.0);
                let v = across * out + up * y.z;
                let of_v = linear(
                    &Weight::at(&v, tube)?,
                    v,
                    &Mat3::identity(),
                    (tube, PEAK),
                    strength,
                );
                // v follows the point except around the circle, and moves by −across with the ring's radius.
                let v_by_y = Mat3::identity() - along * along.transpose() * (ring / rho);
                Some(Derivatives {
                    force: of_v.force,
                    by_place: of_v.by_place * v_by_y,
                    by_parameter: [
                        -(of_v.by_place * across),
                        of_v.by_parameter[0],
                        of_v.by_parameter[1],
                    ],
                })
            }
        }
    }
}

/// Factors of the bulge: it widens across and squeezes along Z.
const SQUEEZE: Vec3 = Vec3::new(1.0, 1.0, -2.0);

/// Returns `1 − s²`, the square root of W, within the radius; `None` beyond.
#[inline]
fn window(square: f64, radius: f64) -> Option<f64> {
    let rest = 1.0 - square / (radius * radius);
    (rest > 0.0).then_some(rest)
}

/// W and its derivatives.
struct Weight {
    value: f64,
    by_place: Vec3,
    by_radius: f64,
}

impl Weight {
    #[inline]
    fn at(y: &Vec3, radius: f64) -> Option<Self> {
        let square = y.norm_squared();
        let rest = window(square, radius)?;
        let slope = 4.0 * rest / (radius * radius);
        Some(Self {
            value: rest * rest,
            by_place: y * -slope,
            by_radius: slope * square / radius,
        })
    }
}

/// Returns `f = a p W m/R`, with `m` linear in the point, and its derivatives; those by R and a come first and
/// second.
#[inline]
fn linear(
    w: &Weight,
    m: Vec3,
    slope: &Mat3,
    (radius, peak): (f64, f64),
    strength: f64,
) -> Derivatives {
    let unit = peak / radius;
    let scale = strength * unit;
    Derivatives {
        force: m * (scale * w.value),
        by_place: (slope * w.value + m * w.by_place.transpose()) * scale,
        by_parameter: [
            m * (scale * (w.by_radius - w.value / radius)),
            m * (unit * w.value),
            Vec3::zeros(),
        ],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::surface::shapes::{Random, random_points};

    fn templates() -> [Template; 4] {
        let of = |kind, p: &[f64]| Template::new(kind, p).unwrap();
        [
            of(TemplateKind::Bump, &[0.3, 700.0]),
            of(TemplateKind::Radial, &[0.2, -50.0]),
            of(TemplateKind::Bulge, &[0.25, 20.0]),
            of(TemplateKind::Torus, &[0.3, 0.12, 90.0]),
        ]
    }

    #[test]
    fn the_largest_force_is_the_strength() {
        for t in templates() {
            // A search that narrows down around the best point so far.
            let (mut best, mut at, mut span) = (0.0, Vec3::zeros(), t.support_radius());
            let mut random = Random(7);
            for round in 0..400 {
                for _ in 0..500 {
                    let y = at + Vec3::from_fn(|_, _| (2.0 * random.next() - 1.0) * span);
                    let force = t.force(&y).norm();
                    if force > best {
                        (best, at) = (force, y);
                    }
                }
                if round > 20 {
                    span *= 0.95;
                }
            }
            let strength = t.strength().abs();
            assert!((best - strength).abs() < 1e-9 * strength, "{t:?}: {best}");
        }
    }

    #[test]
    fn derivatives_agree_with_differences() {
        for t in templates() {
            let mut inside = 0;
            for y in random_points(400, t.support_radius(), 3) {
                let Some(d) = t.derivatives(&y) else {
                    assert_eq!(t.force(&y), Vec3::zeros());
                    continue;
                };
                assert!((d.force - t.force(&y)).norm() <= 1e-14 * t.strength().abs());
                // Differences across the boundary see a jump of the second derivative.
                if t.distance(&y) > -1e-4 {
                    continue;
                }
                inside += 1;
                let h = 1e-5 * t.radius();
                let scale = t.strength().abs() / t.radius();
                for axis in 0..3 {
                    let step = Vec3::ith(axis, h);
                    let slope = (t.force(&(y + step)) - t.force(&(y - step))) / (2.0 * h);
                    let error = (d.by_place.column(axis) - slope).norm();
                    assert!(error < 1e-7 * scale, "{t:?} {y:?} axis {axis}: {error}");
                }
                for (i, name) in t.kind().parameter_names().iter().enumerate() {
                    let by = |step: f64| {
                        let mut p = t.parameters().to_vec();
                        p[i] += step;
                        Template::new(t.kind(), &p).unwrap().force(&y)
                    };
                    let h = 1e-5 * t.parameters()[i].abs().min(t.radius());
                    let slope = (by(h) - by(-h)) / (2.0 * h);
                    let scale = if *name == "strength" { 1.0 } else { scale };
                    let error = (d.by_parameter[i] - slope).norm();
                    assert!(error < 1e-7 * scale, "{t:?} {y:?} by {name}: {error}");
                }
            }
            assert!(inside > 40, "{t:?}: {inside}");
        }
    }

    #[test]
    fn force_and_slope_vanish_at_the_border_and_beyond() {
        for t in templates() {
            let border: Vec<Vec3> = random_points(300, 1.0, 11)
                .iter()
                .map(|d| {
                    let d = d.normalize();
                    match t.kind() {
                        TemplateKind::Torus => {
                            let across = Vec3::new(d.x, d.y, 0.0).normalize();
                            let (c, s) = (d.z, (1.0 - d.z * d.z).sqrt());
                            across * (t.parameters()[0] + t.radius() * c)
                                + Vec3::z() * (t.radius() * s)
                        }
                        _ => d * t.radius(),
                    }
                })
                .collect();
            for y in border {
                assert!(t.distance(&y).abs() < 1e-12);
                let mut before = f64::INFINITY;
                for step in [1e-2, 1e-4, 1e-6] {
                    // Towards the inside along the gradient of the distance.
                    let normal = Vec3::from_fn(|axis, _| {
                        let e = Vec3::ith(axis, 1e-6);
                        (t.distance(&(y + e)) - t.distance(&(y - e))) / 2e-6
                    });
                    let length = step * t.radius();
                    let d = t.derivatives(&(y - normal * length)).expect("within");
                    let (force, slope) = (d.force.norm(), d.by_place.norm() * t.radius());
                    let small = 40.0 * t.strength().abs() * step;
                    assert!(force < small * step * 10.0 && slope < small, "{t:?} {step}");
                    assert!(slope < before);
                    before = slope;
                    assert_eq!(t.force(&(y + normal * length)), Vec3::zeros());
                }
            }
        }
    }

    #[test]
    fn a_torus_is_smooth_on_its_circle_and_quiet_on_its_axis() {
        let t = templates()[3];
        for angle in [0.0, 1.0, 2.5, 4.0] {
            let on = Vec3::new(f64::cos(angle), f64::sin(angle), 0.0) * t.parameters()[0];
            let middle = t.derivatives(&on).unwrap();
            assert!(middle.force.norm() < 1e-12 * t.strength());
            for y in random_points(20, 1e-7, 5) {
                let near = t.derivatives(&(on + y)).unwrap();
                let jump = (near.by_place - middle.by_place).norm();
                assert!(jump < 1e-4 * middle.by_place.norm());
            }
        }
        for z in [-0.1, 0.0, 0.05] {
            assert!(t.derivatives(&Vec3::new(0.0, 0.0, z)).is_none());
        }
    }

    #[test]
    fn what_makes_no_field_is_refused_by_name() {
        let refused = |kind, p: &[f64]| Template::new(kind, p).unwrap_err().to_string();
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(refused(TemplateKind::Bump, &[bad, 1.0]).contains("radius"));
            assert!(refused(TemplateKind::Torus, &[1.0, bad, 1.0]).contains("tube_radius"));
        }
        assert!(refused(TemplateKind::Radial, &[1.0, f64::NAN]).contains("strength"));
        for tube in [1.0, 2.0] {
            let e = Template::new(TemplateKind::Torus, &[1.0, tube, 1.0]).unwrap_err();
            assert!(matches!(e, RigError::Tube { .. }), "{e}");
        }
        assert!(refused(TemplateKind::Bump, &[1.0]).contains('2'));
        let unknown = "blob".parse::<TemplateKind>().unwrap_err().to_string();
        assert!(
            unknown.contains("'blob'") && unknown.contains("'torus'"),
            "{unknown}"
        );
    }
}
