// SPDX-License-Identifier: MIT OR Apache-2.0
//! A measure of a body's softness, and a dial that sets it.
//!
//! Softness here is the displacement of flesh, where there is much of it, under one g sideways, relative to the character's size.
//! The dial s, 0 to 1, requests the displacement
//!
//! `y = softmin(1.8 % · 17^(2 s − 1) · min(L, 10 T), T/2)`, `softmin(a, b) = a b / √(a² + b²)`,
//!
//! L the body's size, T the median thickness of its trunk. No flesh yields by more than half of its thickness, and a snake is
//! no softer for being long. y grows with s throughout. As flesh of one body yields in proportion to 1/E, [`soften`] finds E by
//! one measurement. The dial means the same on a mouse and on a whale, whatever is painted. A body without any soft part (a robot)
//! yields by a hundredth of y: the dial is for flesh, and a small sway must not grow because nothing else moves.
//!
//! [`soft_body`] measures the body without paint, so that painting one place leaves all others as they are.

use super::SimulationError;
use super::damping::deflections;
use crate::body::{Body, BodyError, BodySettings};
use std::sync::Arc;

/// Displacement at the middle of the dial, relative to the body's size.
const MIDDLE_DISPLACEMENT: f64 = 0.018;
/// Factor by which each half of the dial multiplies or divides [`MIDDLE_DISPLACEMENT`].
const DIAL_FACTOR: f64 = 17.0;
/// Upper limit of a body's length in thicknesses of its trunk; people have 5 to 12, beasts 5 to 15, snakes 50.
const MAX_SLENDERNESS: f64 = 10.0;
/// Upper limit of the displacement, relative to the trunk's thickness.
const MAX_DISPLACEMENT: f64 = 0.5;
/// Largest flesh value of a body that counts as without soft parts. Such a body yields by its square times as much as others.
const MAX_HARD_FLESH: f64 = 0.1;
/// Smallest flesh value, relative to the softest, that counts: many thin legs do not make a body firm, nor a few ear tips soft.
const MIN_COUNTED_FLESH: f64 = 0.6;
/// Quantile of the displacements of the counted vertices that is compared with the requested one.
const DISPLACEMENT_QUANTILE: f64 = 0.9;

/// Returns the displacement of each vertex of the body's surface under one g along the body's own axes in the rest pose, the largest of
/// the three, m.
fn surface_displacements(body: &Arc<Body>) -> Result<Vec<f64>, SimulationError> {
    let embedding = body.embedding();
    let mut farthest = vec![0.0f64; embedding.len()];
    for q in deflections(body)? {
        for (i, far) in farthest.iter_mut().enumerate() {
            *far = far.max(embedding.position(i, &q).norm());
        }
    }
    Ok(farthest)
}

/// Returns the largest displacement of a vertex of the body's surface under one g along z or either of its own horizontal axes in the
/// rest pose, relative to the body's size.
///
/// # Errors
/// The system is singular.
pub fn softness(body: &Arc<Body>) -> Result<f64, SimulationError> {
    let farthest = surface_displacements(body)?.into_iter().fold(0.0, f64::max);
    let size = body.size();
    Ok(if size > 0.0 { farthest / size } else { 0.0 })
}

/// Returns the displacement that the dial requests, m, for a body of this size and trunk thickness `thick`, both in m.
fn requested_displacement(dial: f64, size: f64, thick: f64) -> f64 {
    let free = MIDDLE_DISPLACEMENT
        * DIAL_FACTOR.powf(2.0 * dial - 1.0)
        * size.min(MAX_SLENDERNESS * thick);
    match thick.is_finite() {
        true => free / (free / (MAX_DISPLACEMENT * thick).max(f64::MIN_POSITIVE)).hypot(1.0),
        false => free,
    }
}

/// Builds a body by `build`, such as [`Body::new`] for some surface, whose flesh without `settings.flesh` and `settings.stiffness` would have the softness of a dial
/// between 0 and 1. The dial overrules the material's Young's modulus.
///
/// # Errors
/// The errors of `build` and [`soften`].
pub fn soft_body(
    build: impl Fn(&BodySettings) -> Result<Body, BodyError>,
    settings: &BodySettings,
    dial: f64,
) -> Result<Body, SimulationError> {
    let build = |settings: &BodySettings| build(settings).map(Arc::new);
    let body = build(settings)?;
    if settings.flesh.is_none() && settings.stiffness.is_none() {
        return soften(&body, dial);
    }
    let unpainted = build(&BodySettings {
        flesh: None,
        stiffness: None,
        ..settings.clone()
    })?;
    Ok(body.with_young(young_of_softness(&unpainted, dial)?)?)
}

/// Returns the Young's modulus before paint, Pa, at which a body has the softness of a dial between 0 and 1. A body without free flesh
/// keeps its own.
///
/// # Errors
/// The dial is out of range; the system is singular.
pub fn young_of_softness(body: &Arc<Body>, dial: f64) -> Result<f64, SimulationError> {
    Ok(body.material().young() * stiffness_factor(body, dial)?)
}

/// Relative difference of a factor from 1 that is rounding.
const FACTOR_TOLERANCE: f64 = 1e-9;

/// Returns the factors on a body's stiffness that give it the softness of each dial between 0 and 1, by one measurement. That of its own softness
/// is 1 exactly.
///
/// # Errors
/// A dial is out of range; the system is singular.
pub fn softness_factors(body: &Arc<Body>, dials: &[f64]) -> Result<Vec<f64>, SimulationError> {
    let mut known = std::collections::BTreeMap::new();
    let mut factors = Vec::with_capacity(dials.len());
    for &dial in dials {
        let factor = match known.get(&dial.to_bits()) {
            Some(factor) => *factor,
            None => {
                let factor = match known.first_key_value() {
                    // Flesh yields in proportion to 1/E: one measurement serves all.
                    Some((first, known)) if (0.0..=1.0).contains(&dial) => {
                        known * displacement_ratio(body, f64::from_bits(*first), dial)
                    }
                    _ => stiffness_factor(body, dial)?,
                };
                known.insert(dial.to_bits(), factor);
                factor
            }
        };
        let is_one = (factor - 1.0).abs() < FACTOR_TOLERANCE;
        factors.push(if is_one { 1.0 } else { factor });
    }
    Ok(factors)
}

/// Returns the displacement that one dial requests of a body over that of another.
fn displacement_ratio(body: &Body, dial: f64, other: f64) -> f64 {
    let thick = match body.flesh() {
        Some(_) => body.anatomy().thickness(),
        None => f64::INFINITY,
    };
    let wanted = |dial| requested_displacement(dial, body.size(), thick);
    wanted(dial) / wanted(other)
}

/// Returns the same body with the softness of a dial between 0 and 1. A body without free flesh stays unchanged.
///
/// # Errors
/// The dial is out of range; the system is singular.
pub fn soften(body: &Arc<Body>, dial: f64) -> Result<Body, SimulationError> {
    let factor = stiffness_factor(body, dial)?;
    body.with_scaled_stiffness(factor)
        .map_err(|_| SimulationError::Setting {
            what: "the stiffness that the dial asks for",
            range: "a number",
            value: factor,
        })
}

/// Returns the factor on a body's stiffness that gives it the softness of a dial between 0 and 1.
fn stiffness_factor(body: &Arc<Body>, dial: f64) -> Result<f64, SimulationError> {
    if !(0.0..=1.0).contains(&dial) {
        return Err(SimulationError::Setting {
            what: "softness",
            range: "between 0 (firm) and 1 (soft)",
            value: dial,
        });
    }
    let mut all = surface_displacements(body)?;
    let (mut thick, mut share) = (f64::INFINITY, 1.0);
    if let Some(map) = body.flesh() {
        thick = body.anatomy().thickness();
        let most = map.flesh.iter().copied().fold(0.0, f64::max);
        let mut soft = map.flesh.iter().map(|f| *f >= MIN_COUNTED_FLESH * most);
        all.retain(|_| soft.next().unwrap_or(true));
        if most <= MAX_HARD_FLESH {
            share = MAX_HARD_FLESH * MAX_HARD_FLESH;
        }
    }
    all.sort_by(f64::total_cmp);
    let last = all.len().saturating_sub(1);
    let measured = all
        .get((DISPLACEMENT_QUANTILE * last as f64).round() as usize)
        .copied()
        .unwrap_or(0.0);
    let wanted = share * requested_displacement(dial, body.size(), thick);
    Ok(if measured > 0.0 && wanted > 0.0 {
        measured / wanted
    } else {
        1.0
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The requested displacement grows along the whole dial and stays below half the thickness.
    #[test]
    fn dial_is_monotonic_and_bounded() {
        for (size, thick) in [(2.0, 0.2), (10.0, 0.1), (1.0, 0.8), (1.7, f64::INFINITY)] {
            let all: Vec<f64> = (0..=20)
                .map(|k| requested_displacement(k as f64 / 20.0, size, thick))
                .collect();
            // Every twentieth of the dial adds at least half a percent.
            assert!(all.windows(2).all(|y| y[1] > y[0] * 1.005), "{all:?}");
            assert!(all.iter().all(|y| *y < 0.5 * thick));
        }
        // At the middle of the dial the size decides for a thick body, the thickness for a long and thin one.
        assert!((requested_displacement(0.5, 1.0, 0.4) / 0.018 - 1.0).abs() < 0.005);
        assert_eq!(
            requested_displacement(0.5, 1.0, 0.01),
            requested_displacement(0.5, 9.0, 0.01)
        );
        let (large, small) = (
            requested_displacement(0.5, 3.0, 0.6),
            requested_displacement(0.5, 1.0, 0.2),
        );
        assert!((large / small / 3.0 - 1.0).abs() < 1e-12);
    }

    /// The softness dial measures the body without its painted stiffness.
    #[test]
    fn dial_ignores_paint() {
        use crate::body::fixture::BarOptions;
        let bar = BarOptions::default().build();
        let settings = BodySettings {
            stiffness: Some(vec![4.0; bar.surface().vertices().len()]),
            ..BodySettings::default()
        };
        let made = |settings: &BodySettings| {
            let quiet = &crate::progress::Silent;
            let (surface, skeleton, lattice) = (bar.surface(), bar.skeleton(), bar.lattice());
            let build = |settings: &BodySettings| {
                Body::new(surface, skeleton, lattice, bar.material(), settings, quiet)
            };
            soft_body(build, settings, 0.7).unwrap()
        };
        let (plain, painted) = (made(&BodySettings::default()), made(&settings));
        let young = [&plain, &painted].map(|body| body.material().young());
        assert!((young[0] / young[1] - 1.0).abs() < 1e-12, "{young:?}");
        let first = |body: &Body| body.blocks().iter().next().unwrap().stiffness[0].trace();
        let ratio = first(&painted) / first(&plain);
        assert!((ratio - 4.0).abs() < 1e-9, "{ratio}");
    }

    /// Nine of ten vertices yield no more than the dial demands.
    #[test]
    fn dial_sets_yield_quantile() {
        use crate::body::fixture::BarOptions;
        let body = BarOptions::default().build();
        for dial in [0.1, 0.5, 0.9] {
            let soft = Arc::new(soften(&body, dial).unwrap());
            let wanted = requested_displacement(dial, body.size(), f64::INFINITY);
            let all = surface_displacements(&soft).unwrap();
            let within = all.iter().filter(|y| **y <= wanted * (1.0 + 1e-9)).count();
            let share = within as f64 / all.len() as f64;
            assert!(
                (share - DISPLACEMENT_QUANTILE).abs() < 0.05,
                "{dial}: {share}"
            );
            let most = softness(&soft).unwrap() * body.size();
            assert!(
                most >= wanted * (1.0 - 1e-9) && most < 3.0 * wanted,
                "{dial}: {most}"
            );
        }
        for dial in [-0.01, 1.01, f64::NAN] {
            assert!(soften(&body, dial).is_err());
        }
    }
}
