// SPDX-License-Identifier: MIT OR Apache-2.0
//! Options of a fit: start, preferred values and bounds of a rig's parameters.
//!
//! Default bounds: radii lie between 1/200 of the body's size and its size, `distance` between zero and the size,
//! `depth`, `x`, `y` and `z` within the size of their start, `along` between −0.5 and 1.5, angles within ±2π of their
//! start, and `strength` within ±10⁴ E/size, far more than flesh can bear. A start outside widens them. A torus keeps
//! its hole: bounds of nested lengths do not overlap in any round of a fit.

use super::RigFitError;
use crate::body::Body;
use crate::rig::{ParameterKind, Rig, RigError, RigKind};
use std::collections::BTreeMap;
use std::f64::consts::TAU;

/// Numbers by parameter name.
pub type NamedValues = BTreeMap<String, f64>;

/// Default lower bound of radii, as a part of the body's size.
const MIN_RADIUS: f64 = 1.0 / 200.0;
/// Smallest lower bound of radii that options may set, as a part of the body's size.
const MIN_RADIUS_BOUND: f64 = 1e-5;
/// Typical change of lengths, as a part of the body's size.
const TYPICAL_LENGTH: f64 = 0.05;
/// Typical change of angles, radians.
const TYPICAL_ANGLE: f64 = 0.5;
/// Typical change of `along`, a share of the bone.
const TYPICAL_SHARE: f64 = 0.2;
/// Default bound of the strength, in E/size.
const MAX_STRENGTH: f64 = 1e4;
/// Default weight of a preferred value: a deviation by a typical change costs as much as missing a point by this part
/// of the body's size.
const PREFERENCE_WEIGHT: f64 = 1e-3;
/// Typical changes of strength that a first step of a fit may make.
const FIRST_STRENGTH_STEP: f64 = 1e3;
/// Largest ratio of a length to the one that surrounds it.
const MAX_NESTED_RATIO: f64 = 0.98;

/// Options by parameter name. Parameters without an entry take the rig's values and defaults.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RigFitSettings {
    /// Start; default: the rig's last sample, or its only state.
    pub start: NamedValues,
    /// Preferred values η⁰; default: the rig's last sample, or its only state.
    pub preferred: NamedValues,
    /// Weights ξ, m² per unit squared; default: zero, or a small weight for parameters in `preferred`.
    pub weights: NamedValues,
    /// Lower and upper bounds; equal ones fix a parameter.
    pub bounds: BTreeMap<String, (f64, f64)>,
    /// Largest number of evaluations, for an update while the mouse moves. The result is the best found, and the next
    /// update continues from it. `None`: no limit.
    pub evaluations: Option<usize>,
}

impl RigFitSettings {
    /// Returns the start: all of the rig's parameters in order.
    ///
    /// # Errors
    /// Parameters that the rig does not have, or invalid numbers.
    pub fn parameters(&self, rig: &Rig, body: &Body) -> Result<Vec<f64>, RigFitError> {
        Ok(ResolvedOptions::new(rig, body, self)?.asked)
    }
}

/// Options as numbers, one per parameter in the rig's order.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ResolvedOptions {
    /// The start as requested.
    pub asked: Vec<f64>,
    /// The start, clamped to the bounds.
    pub start: Vec<f64>,
    pub preferred: Vec<f64>,
    pub weights: Vec<f64>,
    pub bounds: Vec<(f64, f64)>,
    /// Typical changes.
    pub scales: Vec<f64>,
    /// `true`: the parameter is a radius.
    radii: Vec<bool>,
    /// Index of the strength.
    strength: usize,
    /// Indices of two lengths, of which the second stays below the first.
    nested: Option<(usize, usize)>,
    /// Index of the length that the quadrature resolves.
    resolved: usize,
    /// Largest change in one update while the mouse moves: a part of a radius, and a multiple of other typical
    /// changes; strengths are free.
    drag: (f64, f64),
}

/// Another start, for a fit whose first minimum does not meet the points.
pub(super) struct FitAttempt {
    /// Length of the first step, in typical changes.
    pub first_step: f64,
    /// Factor on the radii of the start.
    radii: f64,
    /// Factor on the strength of the start.
    strength: f64,
}

impl FitAttempt {
    pub const RETRIES: [Self; 4] = [
        Self::new(f64::INFINITY, 1.0, 1.0),
        Self::new(1.0, 1.5, 0.5),
        Self::new(1.0, 0.7, 2.0),
        Self::new(1.0, 1.0, -1.0),
    ];

    const fn new(first_step: f64, radii: f64, strength: f64) -> Self {
        Self {
            first_step,
            radii,
            strength,
        }
    }
}

impl ResolvedOptions {
    /// Returns the start of an attempt, within the bounds.
    pub fn attempt_start(&self, attempt: &FitAttempt) -> Vec<f64> {
        self.scale_parameters(&self.start, attempt.radii, attempt.strength)
    }

    /// Returns parameters with the radii multiplied by a factor, within the bounds.
    pub fn widen_radii(&self, eta: &[f64], radii: f64) -> Vec<f64> {
        self.scale_parameters(eta, radii, 1.0)
    }

    fn scale_parameters(&self, eta: &[f64], radii: f64, strength: f64) -> Vec<f64> {
        let ways = |(k, (&x, &(lower, upper))): (usize, (&f64, &(f64, f64)))| {
            let by = if self.radii[k] {
                radii
            } else if k == self.strength {
                strength
            } else {
                1.0
            };
            (x * by).max(lower).min(upper)
        };
        let each = eta.iter().zip(&self.bounds).enumerate();
        each.map(ways).collect()
    }

    pub fn new(rig: &Rig, body: &Body, options: &RigFitSettings) -> Result<Self, RigFitError> {
        let names = rig.parameter_names();
        let (size, young) = (body.size(), body.material().young());
        let kinds = rig.parameter_kinds();
        let scales: Vec<f64> = kinds
            .iter()
            .map(|&k| typical_change(k, size, young))
            .collect();
        let replaced = |eta: Vec<f64>, named: &NamedValues| {
            rig.replace_parameters(eta, named.iter().map(|(name, &x)| (name.as_str(), x)))
        };
        let asked = replaced(rig.last_parameters(), &options.start)?;
        let preferred = replaced(rig.last_parameters(), &options.preferred)?;
        let gentle = names.iter().zip(&scales).map(|(name, scale)| {
            let wanted = options.preferred.contains_key(*name);
            if wanted {
                (PREFERENCE_WEIGHT * size / scale).powi(2)
            } else {
                0.0
            }
        });
        let weights = replaced(gentle.collect(), &options.weights)?;
        if let Some((name, &value)) = options.weights.iter().find(|(_, w)| **w < 0.0) {
            let name = name.clone();
            return Err(RigFitError::Weight { name, value });
        }
        let bounds = fit_bounds(rig, &asked, options, (size, young))?;
        let (nested, resolved, drag) = match rig.kind() {
            RigKind::Force(force) => {
                let field = force.field();
                (
                    field.nested_indices(),
                    field.resolved_index(),
                    field.max_update_change(),
                )
            }
            RigKind::Sculpted(_) | RigKind::Muscle(_) => return Err(RigFitError::kind_of(rig)),
        };
        let mut start: Vec<f64> = asked.clone();
        for (x, (lower, upper)) in start.iter_mut().zip(&bounds) {
            *x = x.max(*lower).min(*upper);
        }
        if let Some(nested) = nested {
            separate_nested(&mut start, &bounds, nested, names)?;
        }
        Ok(Self {
            asked,
            start,
            preferred,
            weights,
            bounds,
            scales,
            strength: (kinds.iter().position(|k| *k == ParameterKind::Strength))
                .unwrap_or(usize::MAX),
            radii: kinds.iter().map(|k| *k == ParameterKind::Radius).collect(),
            nested,
            resolved,
            drag,
        })
    }

    /// Returns the largest first steps: typical changes, and far more for the strength, in which forces are linear.
    pub fn first_steps(&self) -> Vec<f64> {
        let each = self.scales.iter().enumerate();
        each.map(|(k, scale)| {
            if k == self.strength {
                scale * FIRST_STRENGTH_STEP
            } else {
                *scale
            }
        })
        .collect()
    }

    /// Returns the index of the strength if it is not fixed.
    pub fn free_strength(&self) -> Option<usize> {
        let (lower, upper) = self.bounds.get(self.strength)?;
        (lower < upper).then_some(self.strength)
    }

    /// Returns whether all parameters are fixed.
    pub fn is_all_fixed(&self) -> bool {
        self.bounds.iter().all(|(lower, upper)| lower >= upper)
    }

    /// Returns the bounds of one round. Radii at most halve or double, so that the quadrature's level fits them. Of
    /// two nested lengths the inner one stays below, and the outer one above, a length between both.
    pub fn round_bounds(&self, eta: &[f64]) -> Vec<(f64, f64)> {
        let near = |(&(lower, upper), (&x, &radius)): (&(f64, f64), (&f64, &bool))| {
            let all = (lower, upper);
            let near = (lower.max(0.5 * x), upper.min(2.0 * x));
            if radius { near } else { all }
        };
        let each = self.bounds.iter().zip(eta.iter().zip(&self.radii));
        let mut bounds: Vec<(f64, f64)> = each.map(near).collect();
        if let Some((outer, inner)) = self.nested {
            let middle = (eta[outer] * eta[inner]).sqrt();
            let between = middle.max(bounds[outer].0.min(eta[outer]));
            let between = between.max(eta[inner] / MAX_NESTED_RATIO).min(eta[outer]);
            bounds[outer].0 = bounds[outer].0.max(between);
            bounds[inner].1 = bounds[inner]
                .1
                .min((MAX_NESTED_RATIO * between).max(eta[inner]));
        }
        bounds
    }

    /// Narrows bounds to the change of one update while the mouse moves. A larger leap of a template would startle, and
    /// would need flesh that no update has evaluated yet.
    pub fn limit_to_update(&self, bounds: &mut [(f64, f64)], eta: &[f64]) {
        let (radii, others) = self.drag;
        for (k, bounds) in bounds.iter_mut().enumerate() {
            let change = match k {
                k if k == self.strength => continue,
                k if self.radii[k] => radii * eta[k],
                k => others * self.scales[k],
            };
            *bounds = (bounds.0.max(eta[k] - change), bounds.1.min(eta[k] + change));
        }
    }

    /// Keeps the radius that determines the quadrature's level within the level's range.
    pub fn limit_radius(&self, bounds: &mut [(f64, f64)], (least, most): (f64, f64)) {
        if let Some(bounds) = bounds.get_mut(self.resolved) {
            let (lower, upper) = (bounds.0.max(least), bounds.1.min(most));
            if lower <= upper {
                *bounds = (lower, upper);
            }
        }
    }

    /// Returns whether a round ended at a bound of its own that is not one of the fit's; the strength is ignored.
    pub fn ended_at_round_bound(&self, eta: &[f64], bounds: &[(f64, f64)]) -> bool {
        let mut each = eta.iter().zip(bounds).zip(&self.bounds).enumerate();
        each.any(|(k, ((&x, of_round), all))| {
            k != self.strength
                && ((x <= of_round.0 && of_round.0 > all.0)
                    || (x >= of_round.1 && of_round.1 < all.1))
        })
    }
}

/// Returns the bounds of a fit: the usual ones, widened to the start, or those of the options.
fn fit_bounds(
    rig: &Rig,
    asked: &[f64],
    options: &RigFitSettings,
    (size, young): (f64, f64),
) -> Result<Vec<(f64, f64)>, RigFitError> {
    let (names, kinds) = (rig.parameter_names(), rig.parameter_kinds());
    let usual = kinds.iter().zip(asked).map(|(&kind, &start)| {
        let (lower, upper) = default_bounds(kind, start, size, young);
        (lower.min(start), upper.max(start))
    });
    let mut bounds: Vec<(f64, f64)> = usual.collect();
    for (name, &(lower, upper)) in &options.bounds {
        let k = names.iter().position(|n| n == name);
        let k = k.ok_or_else(|| RigError::unknown_parameter(name, names))?;
        let is_radius = kinds[k] == ParameterKind::Radius;
        let least = if is_radius {
            MIN_RADIUS_BOUND * size
        } else {
            f64::NEG_INFINITY
        };
        let inside = lower.max(least);
        if !(lower <= upper
            && inside <= upper
            && inside < f64::INFINITY
            && upper > f64::NEG_INFINITY)
        {
            let name = name.clone();
            return Err(RigFitError::Bounds {
                name,
                lower,
                upper,
                is_radius,
            });
        }
        bounds[k] = (inside, upper);
    }
    Ok(bounds)
}

/// Keeps the inner of two nested lengths below the outer one, within their bounds. Clamping may have moved it beyond.
fn separate_nested(
    start: &mut [f64],
    bounds: &[(f64, f64)],
    (outer, inner): (usize, usize),
    names: &[&str],
) -> Result<(), RigFitError> {
    if start[inner] > MAX_NESTED_RATIO * start[outer] {
        start[inner] = (MAX_NESTED_RATIO * start[outer]).max(bounds[inner].0);
        let least = start[inner] / MAX_NESTED_RATIO;
        start[outer] = start[outer].max(least).min(bounds[outer].1);
    }
    if start[inner] >= start[outer] {
        return Err(RigFitError::Bounds {
            name: names[outer].into(),
            lower: bounds[inner].0,
            upper: bounds[outer].1,
            is_radius: true,
        });
    }
    Ok(())
}

/// Returns the typical change of a parameter.
fn typical_change(kind: ParameterKind, size: f64, young: f64) -> f64 {
    match kind {
        ParameterKind::Strength => young / size,
        ParameterKind::Factor => 1.0,
        ParameterKind::Share => TYPICAL_SHARE,
        ParameterKind::Angle => TYPICAL_ANGLE,
        ParameterKind::Radius | ParameterKind::Distance | ParameterKind::Offset => {
            TYPICAL_LENGTH * size
        }
    }
}

/// Returns the default bounds of a parameter.
fn default_bounds(kind: ParameterKind, start: f64, size: f64, young: f64) -> (f64, f64) {
    match kind {
        ParameterKind::Strength => (-MAX_STRENGTH * young / size, MAX_STRENGTH * young / size),
        ParameterKind::Share => (-0.5, 1.5),
        ParameterKind::Factor => (0.0, 1.0),
        ParameterKind::Distance => (0.0, size),
        ParameterKind::Radius => (MIN_RADIUS * size, size),
        ParameterKind::Angle => (start - TAU, start + TAU),
        ParameterKind::Offset => (start - size, start + size),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::body::fixture::BarOptions;
    use crate::rig::{Guide, GuideFrame, Template, TemplateKind};

    fn resolve(kind: TemplateKind, numbers: &[f64]) -> ResolvedOptions {
        let body = BarOptions::default().build();
        let template = Template::new(kind, numbers).unwrap();
        let guide = Guide::free(GuideFrame::identity(), [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]).unwrap();
        let rig = Rig::new("Rig", template, guide, Vec::new()).unwrap();
        let mut options = RigFitSettings::default();
        options.bounds.insert("x".into(), (0.0, 0.15));
        ResolvedOptions::new(&rig, &body, &options).unwrap()
    }

    /// Other starting points differ only in radii and strengths, and stay within the bounds.
    #[test]
    fn widened_changes_radii_within_bounds() {
        let plain = [0.2, 0.1, 500.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6];
        let options = resolve(TemplateKind::Torus, &plain[..3]);
        assert_eq!(options.start, plain);
        let mut wider = plain;
        (wider[0], wider[1]) = (0.3, 0.15);
        for (found, wanted) in options.widen_radii(&plain, 1.5).iter().zip(wider) {
            assert!((found - wanted).abs() < 1e-12);
        }
        let attempt = FitAttempt::new(1.0, 0.5, -2.0);
        let other = options.attempt_start(&attempt);
        let mut wanted = plain;
        (wanted[0], wanted[1], wanted[2]) = (0.1, 0.05, -1000.0);
        for (found, wanted) in other.iter().zip(wanted) {
            assert!((found - wanted).abs() < 1e-12);
        }
        let mut outside = plain;
        outside[3] = 0.4;
        assert_eq!(options.widen_radii(&outside, 1.0)[3], 0.15);
    }

    /// A radius is kept in the range that the quadrature resolves, if its bounds allow it.
    #[test]
    fn radius_bounded_by_quadrature() {
        for (kind, at) in [(TemplateKind::Bump, 0), (TemplateKind::Torus, 1)] {
            let options = match kind {
                TemplateKind::Torus => resolve(kind, &[0.2, 0.1, 500.0]),
                _ => resolve(kind, &[0.1, 500.0]),
            };
            let round = options.round_bounds(&options.start);
            let others = |a: &[(f64, f64)], b: &[(f64, f64)]| {
                let kept = a.iter().zip(b).enumerate();
                kept.filter(|(k, _)| *k != at).all(|(_, (a, b))| a == b)
            };
            // A radius of 0.1 may halve or double.
            for (radii, wanted) in [
                ((0.08, 0.16), (0.08, round[at].1.min(0.16))),
                ((0.01, 0.11), (round[at].0, 0.11)),
                ((0.01, 0.02), round[at]),
            ] {
                let mut bounds = round.clone();
                options.limit_radius(&mut bounds, radii);
                assert_eq!(bounds[at], wanted, "{kind:?}");
                assert!(others(&bounds, &round));
            }
        }
    }

    /// Typical changes of parameters scale with the size and stiffness of the body.
    #[test]
    fn typical_changes_scale() {
        for (kind, by) in [
            (ParameterKind::Strength, 5.0 / 3.0),
            (ParameterKind::Share, 1.0),
            (ParameterKind::Angle, 1.0),
            (ParameterKind::Radius, 3.0),
            (ParameterKind::Distance, 3.0),
            (ParameterKind::Offset, 3.0),
        ] {
            let (small, large) = (
                typical_change(kind, 2.0, 1e4),
                typical_change(kind, 6.0, 5e4),
            );
            assert!(small > 0.0 && (large / small / by - 1.0).abs() < 1e-12);
            // It is far within the usual range.
            let (lower, upper) = default_bounds(kind, 1.0, 2.0, 1e4);
            assert!(lower < 1.0 && small < 0.5 * (upper - lower), "{kind:?}");
        }
    }
}
