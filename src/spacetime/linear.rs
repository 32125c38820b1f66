// SPDX-License-Identifier: MIT OR Apache-2.0
//! Decoupled equations of motion around one shape. [hildebrandt2012, §3.1, eqs 4 to 9]

use super::dense::StoredDense;
use super::interval::Oscillator;
use super::options::RestShape;
use super::space::ShapeSpace;
use super::{Deformable, SpacetimeError};
use crate::Vec3;
use crate::range::is_storable;
use crate::solve::tall::{product, symmetric_eigen, symmetrise, transposed_vector};
use faer::linalg::triangular_solve::{
    solve_lower_triangular_in_place, solve_upper_triangular_in_place,
};
use faer::{Mat, Par};
use std::borrow::Cow;

/// `K̄Φ = M̄ΦΛ`, `ΦᵀM̄Φ = 1` around a shape `reference + U p`.
#[derive(Debug, Clone)]
pub(super) struct Linearisation {
    /// p: coordinates of the shape in the space.
    pub centre: Vec<f64>,
    /// Mode shapes Φ in coordinates of the space, one column per mode.
    pub modes: Mat<f64>,
    /// `ΦᵀM̄`: maps coordinates to those of the modes.
    pub to_modes: Mat<f64>,
    /// λ of each mode, for stiffness 1.
    values: Vec<f64>,
    /// `ŨᵀG`, for stiffness 1.
    gradient: Vec<f64>,
}

/// File format of a linearisation.
#[derive(serde::Serialize, serde::Deserialize)]
pub(super) struct StoredLinearisation<'a> {
    centre: Cow<'a, [f64]>,
    modes: StoredDense,
    values: Cow<'a, [f64]>,
    gradient: Cow<'a, [f64]>,
}

impl<'a> StoredLinearisation<'a> {
    pub fn new(linear: &'a Linearisation) -> Self {
        Self {
            centre: Cow::Borrowed(&linear.centre),
            modes: StoredDense::new(&linear.modes),
            values: Cow::Borrowed(&linear.values),
            gradient: Cow::Borrowed(&linear.gradient),
        }
    }

    /// Builds the linearisation in a space; `None` where it does not fit.
    pub fn into_linearisation(self, space: &ShapeSpace) -> Option<Linearisation> {
        let d = space.dimension();
        let fits = |numbers: &[f64]| numbers.len() == d && numbers.iter().all(|&x| is_storable(x));
        let modes = self.modes.into_matrix((d, d))?;
        let good = [&self.centre, &self.values, &self.gradient]
            .into_iter()
            .all(|numbers| fits(numbers));
        good.then(|| Linearisation {
            centre: self.centre.into_owned(),
            to_modes: modes_from(&modes, space),
            modes,
            values: self.values.into_owned(),
            gradient: self.gradient.into_owned(),
        })
    }
}

/// Returns `ΦᵀM̄`.
fn modes_from(modes: &Mat<f64>, space: &ShapeSpace) -> Mat<f64> {
    product(modes.transpose().to_owned().as_ref(), space.mass.as_ref())
}

impl Linearisation {
    /// Linearises around a shape of a body. The rest shape of the energy is the body's own or the shape itself.
    pub fn new(
        body: &dyn Deformable,
        space: &ShapeSpace,
        shape: &[Vec3],
        rests: RestShape,
        what: &dyn Fn() -> String,
    ) -> Result<Self, SpacetimeError> {
        let overflow = || SpacetimeError::Overflow { what: what() };
        let crumpled = || SpacetimeError::Crumpled { what: what() };
        let (gradient, hessian) = match rests {
            RestShape::Body => (body.gradient(shape), body.hessian(shape)),
            RestShape::Keyframes => {
                let hessian = body.hessian_at_rest(shape).ok_or_else(crumpled)?;
                (vec![Vec3::zeros(); shape.len()], hessian)
            }
        };
        let reduced = space.reduce_matrix(&hessian);
        let not_finite = gradient.iter().any(|g| !g.iter().all(|x| x.is_finite()));
        if not_finite || !reduced.norm_max().is_finite() {
            return Err(crumpled());
        }
        let (values, modes) = reduced_eigenpairs(reduced, space).ok_or_else(overflow)?;
        let to_modes = modes_from(&modes, space);
        let projected = space.project(|v| gradient[v]);
        Ok(Self {
            centre: space.coordinates(shape),
            gradient: transposed_vector(&modes, &projected),
            modes,
            to_modes,
            values,
        })
    }

    /// Returns the oscillators for a factor of stiffness, damping (α, β; β acts only where λ > 0) and `UᵀM a` of a constant
    /// acceleration a.
    pub fn oscillators(
        &self,
        stiffness: f64,
        (alpha, beta): (f64, f64),
        acceleration: &[f64],
    ) -> Vec<Oscillator> {
        let pushed = transposed_vector(&self.modes, acceleration);
        let numbers = self.values.iter().zip(&self.gradient).zip(pushed);
        numbers
            .map(|((value, gradient), pushed)| {
                let lambda = stiffness * value;
                Oscillator {
                    stiffness: lambda,
                    // Unstable modes get no stiffness damping: negative damping would feed motion.
                    damping: 0.5 * (alpha + beta * lambda.max(0.0)),
                    gravity: stiffness * gradient - pushed,
                }
            })
            .collect()
    }
}

/// Returns ascending eigenvalues and mass-orthonormal eigenvectors of a reduced stiffness.
fn reduced_eigenpairs(mut reduced: Mat<f64>, space: &ShapeSpace) -> Option<(Vec<f64>, Mat<f64>)> {
    let l = space.factor.as_ref();
    solve_lower_triangular_in_place(l, reduced.as_mut(), Par::Seq);
    solve_lower_triangular_in_place(l, reduced.as_mut().transpose_mut(), Par::Seq);
    symmetrise(&mut reduced);
    let (values, mut modes) = symmetric_eigen(reduced.as_ref())?;
    solve_upper_triangular_in_place(l.transpose(), modes.as_mut(), Par::Seq);
    let finite = values.iter().all(|v| v.is_finite()) && modes.norm_max().is_finite();
    finite.then_some((values, modes))
}
