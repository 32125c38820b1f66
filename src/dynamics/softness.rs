// SPDX-License-Identifier: MIT OR Apache-2.0
//! One number that says how soft a body is, and one dial that sets it.
//!
//! What an artist means by soft is how far flesh yields where there is much of it, as a part of the character's size, by one g
//! sideways. The dial, 0 to 1, asks for a yield, `y = 1.8 % · 17^(2 s − 1)`: 0.1 % at 0, 1.8 % in the middle, 30 % at 1. As flesh of one body yields in proportion to 1/E, [`softened`] finds E by one measurement; it means the same on a
//! mouse and on a whale, whatever is painted.

use super::{Equilibrium, Method, Settings, SimulationError};
use crate::Vec3;
use crate::body::Body;
use crate::solve::NodeMatrix;
use std::sync::Arc;

/// What flesh yields in the middle of the dial, as a part of the body's size.
const MIDDLE: f64 = 0.018;
/// What either half of the dial multiplies or divides that by.
const SPAN: f64 = 17.0;
/// Flesh counts from this part of the softest on: many thin legs do not make a body firm, nor a few ear tips soft.
const THICK: f64 = 0.6;
/// The part of the vertices with such flesh that yields less than what counts.
const QUANTILE: f64 = 0.9;

/// How far each vertex of the body's surface is moved by one g along x, y or z in the rest pose, the farthest of the three, m.
fn yields(body: &Arc<Body>) -> Result<Vec<f64>, SimulationError> {
    let mut balance = Equilibrium::new(body, Method::Warped)?;
    let gravity = Settings::default().gravity;
    let embedding = body.embedding();
    let mut farthest = vec![0.0f64; embedding.len()];
    for axis in 0..3 {
        let mut pull = Vec3::zeros();
        pull[axis] = gravity.norm();
        let everywhere = vec![pull; body.nodes()];
        let forces: Vec<Vec3> = (0..body.nodes())
            .map(|v| body.mass_matrix().row_times(v, &everywhere))
            .collect();
        // With gravity as part of the rest shape the body is in balance without the extra pull.
        let q = balance.solve(Vec3::zeros(), Some(&forces), None)?;
        for (i, far) in farthest.iter_mut().enumerate() {
            *far = far.max(embedding.place(i, &q).norm());
        }
    }
    Ok(farthest)
}

/// The farthest that a vertex of the body's surface is moved by one g along x, y or z in the rest pose, as a
/// part of the body's size.
///
/// # Errors
/// A singular system.
pub fn softness(body: &Arc<Body>) -> Result<f64, SimulationError> {
    let farthest = yields(body)?.into_iter().fold(0.0, f64::max);
    let size = body.size();
    Ok(if size > 0.0 { farthest / size } else { 0.0 })
}

/// The same body, as soft as a dial between 0 and 1 says. A body without free flesh stays as it is.
///
/// # Errors
/// A dial out of range; a singular system.
pub fn softened(body: &Arc<Body>, dial: f64) -> Result<Body, SimulationError> {
    if !(0.0..=1.0).contains(&dial) {
        return Err(SimulationError::Setting {
            what: "softness",
            range: "between 0 (firm) and 1 (soft)",
            value: dial,
        });
    }
    let mut all = yields(body)?;
    if let Some(map) = body.flesh() {
        let most = map.flesh.iter().copied().fold(0.0, f64::max);
        let mut thick = map.flesh.iter().map(|f| *f >= THICK * most);
        all.retain(|_| thick.next().unwrap_or(true));
    }
    all.sort_by(f64::total_cmp);
    let last = all.len().saturating_sub(1);
    let there = all
        .get((QUANTILE * last as f64).round() as usize)
        .copied()
        .unwrap_or(0.0);
    let wanted = MIDDLE * SPAN.powf(2.0 * dial - 1.0) * body.size();
    let factor = if there > 0.0 && wanted > 0.0 {
        there / wanted
    } else {
        1.0
    };
    body.stiffened(factor)
        .map_err(|_| SimulationError::Setting {
            what: "the stiffness that the dial asks for",
            range: "a number",
            value: factor,
        })
}
