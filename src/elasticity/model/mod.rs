// SPDX-License-Identifier: MIT OR Apache-2.0
//! Models of elasticity by name, with their energy density: value, stress, second derivative.
//!
//! With the displacement gradient `H = ∇u`, `F = I + H`, Lamé's λ and the shear modulus G:
//!
//! - linear: `λ/2 tr²ε + G ε:ε`, `ε = ½(H + Hᵀ)`
//! - St. Venant-Kirchhoff [capell2002, eqs 10, 12, with the ½ that the print lacks]: `λ/2 tr²E + G E:E`,
//!   `E = ½(H + Hᵀ + HᵀH)`
//! - stable neo-Hookean [smith2018, eq. 14]: `μ/2 (I − 3) + Λ/2 (J − α)² − μ/2 log(I + 1)`, `I = F:F`, `J = det F`, with
//!   `μ = 4/3 G`, `Λ = λ + 5/6 G`, `α = 1 + 3μ/(4Λ)`, less its value at rest. Near rest it is the linear model.
//!
//! - Yeoh [yeoh1993, two terms, on the stable form]: adds `μ k/2 (I − 3)²` and reduces Λ by `4 μ k`, so that near rest
//!   it is still the linear model; k = 0.1, less if Λ is small. It stiffens where flesh is stretched. Neo-Hookean flesh
//!   of length L that turns at ω about its end grows without bound from `ρ ω² L² ≈ μ` on; Yeoh's does not.
//!
//! St. Venant-Kirchhoff softens under compression: below 58 % of its length a fibre pushes back less and less, and
//! inverted it is at rest again. Stable neo-Hookean flesh recovers from flat and inverted shapes. All models are
//! polynomials or smooth for every F, so no result is NaN.
//!
//! For Newton's method the second derivative may be projected to be positive semi-definite. In the frame of the
//! singular vectors of F the second derivative of an isotropic energy is one 3x3 block and six numbers, whose negative
//! eigenvalues are clamped. [smith2019, §4]

mod tangent;

pub(super) use tangent::{StressTangent, TangentProducts};

use crate::geometry::matrix::cofactor;
use crate::{Mat3, Vec3};

/// Model of the resistance of flesh to deformation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
pub enum ElasticModel {
    /// Linear in small strain: rotations cost energy. The stiffness is the same at every displacement.
    Linear,
    /// Green's strain with the linear law: rotations are free.
    #[default]
    StVenantKirchhoff,
    /// Stable neo-Hookean: rotations are free, and flat or inverted pieces are driven back.
    NeoHookean,
    /// Stable neo-Hookean that stiffens as it is stretched.
    Yeoh,
}

/// The name is not that of a model.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("there is no model '{name}'; there are: {}", ElasticModel::names())]
pub struct ElasticModelError {
    /// The unknown name.
    pub name: String,
}

impl ElasticModel {
    /// All models.
    pub const ALL: [Self; 4] = [
        Self::Linear,
        Self::StVenantKirchhoff,
        Self::NeoHookean,
        Self::Yeoh,
    ];

    /// Returns the model's name in the interface.
    pub fn name(self) -> &'static str {
        match self {
            Self::Linear => "linear",
            Self::StVenantKirchhoff => "stvk",
            Self::NeoHookean => "neohookean",
            Self::Yeoh => "yeoh",
        }
    }

    fn names() -> String {
        Self::ALL.map(|m| format!("'{}'", m.name())).join(", ")
    }
}

impl std::str::FromStr for ElasticModel {
    type Err = ElasticModelError;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|m| m.name() == name)
            .ok_or_else(|| ElasticModelError {
                name: name.to_owned(),
            })
    }
}

/// A model with its moduli.
#[derive(Debug, Clone, Copy)]
pub(super) struct Density {
    pub model: ElasticModel,
    /// λ, Pa.
    pub lame: f64,
    /// G, Pa.
    pub shear: f64,
}

/// k of Yeoh's second term: a stretch of 1.3 takes 2 % more force than without it, one of 2 half as much again.
const YEOH_STIFFENING: f64 = 0.1;

/// Coefficients of the neo-Hookean form and of Yeoh's.
struct ElasticCoefficients {
    mu: f64,
    /// Λ.
    bulk: f64,
    alpha: f64,
    /// k.
    stiffening: f64,
}

impl ElasticCoefficients {
    /// Returns `2 ∂ψ/∂I` and `4 ∂²ψ/∂I²` at I = F:F.
    #[inline]
    fn spring_coefficients(&self, square: f64) -> (f64, f64) {
        let i = square + 1.0;
        let (mu, k) = (self.mu, self.stiffening);
        (
            mu * (1.0 - 1.0 / i) + 2.0 * mu * k * (square - 3.0),
            2.0 * mu / (i * i) + 4.0 * mu * k,
        )
    }
}

/// Choice of the second derivative of a piece's energy.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Curvature {
    /// Exact second derivative.
    Exact,
    /// Nearest one whose eigenvalues are at least this share of the shear modulus.
    Convex(f64),
}

impl Density {
    /// Returns the energy per volume at a displacement gradient, Pa.
    #[inline]
    pub fn value(&self, h: &Mat3) -> f64 {
        match self.model {
            ElasticModel::Linear => self.quadratic_energy(&symmetric_strain(h)),
            ElasticModel::StVenantKirchhoff => self.quadratic_energy(&green_strain(h)),
            ElasticModel::NeoHookean | ElasticModel::Yeoh => {
                let c = self.coefficients();
                // I − 3 and J − 1, without cancellation at small strains.
                let trace = h.trace();
                let i = 2.0 * trace + h.norm_squared();
                let j = trace + 0.5 * (trace * trace - (h * h).trace()) + h.determinant();
                0.5 * c.mu * (i - (0.25 * i).ln_1p() + c.stiffening * i * i) + 0.5 * c.bulk * j * j
                    - 0.75 * c.mu * j
            }
        }
    }

    /// Returns `λ/2 tr²E + G E:E`.
    #[inline]
    fn quadratic_energy(&self, e: &Mat3) -> f64 {
        0.5 * self.lame * e.trace().powi(2) + self.shear * e.norm_squared()
    }

    /// Returns `λ tr E I + 2G E`.
    #[inline]
    fn hooke_stress(&self, e: &Mat3) -> Mat3 {
        Mat3::from_diagonal_element(self.lame * e.trace()) + e * (2.0 * self.shear)
    }

    /// Returns the coefficients of the neo-Hookean form or of Yeoh's.
    #[inline]
    fn coefficients(&self) -> ElasticCoefficients {
        let mu = self.shear * 4.0 / 3.0;
        // Positive for every Poisson's ratio above -1.
        let bulk = self.lame + self.shear * 5.0 / 6.0;
        let stiffening = match self.model {
            ElasticModel::Yeoh => YEOH_STIFFENING.min(0.125 * bulk / mu),
            _ => 0.0,
        };
        let bulk = bulk - 4.0 * mu * stiffening;
        ElasticCoefficients {
            mu,
            bulk,
            alpha: 1.0 + 0.75 * mu / bulk,
            stiffening,
        }
    }

    /// Returns the first Piola-Kirchhoff stress, Pa: the derivative of the value by H.
    #[inline]
    pub fn stress(&self, h: &Mat3) -> Mat3 {
        match self.model {
            ElasticModel::Linear => self.hooke_stress(&symmetric_strain(h)),
            ElasticModel::StVenantKirchhoff => {
                (Mat3::identity() + h) * self.hooke_stress(&green_strain(h))
            }
            ElasticModel::NeoHookean | ElasticModel::Yeoh => {
                let c = self.coefficients();
                let f = Mat3::identity() + h;
                let (spring, _) = c.spring_coefficients(f.norm_squared());
                f * spring + cofactor(&f) * (c.bulk * (f.determinant() - c.alpha))
            }
        }
    }

    /// Returns the derivative of the stress at a displacement gradient.
    #[inline]
    pub fn tangent(&self, h: &Mat3, curvature: Curvature) -> StressTangent {
        let f = Mat3::identity() + h;
        match (self.model, curvature) {
            (ElasticModel::Linear, _) => StressTangent::Linear {
                lame: self.lame,
                shear: self.shear,
            },
            (_, Curvature::Convex(floor)) => self.convex_tangent(&f, floor * self.shear),
            (ElasticModel::StVenantKirchhoff, Curvature::Exact) => StressTangent::Kirchhoff {
                lame: self.lame,
                shear: self.shear,
                stress: self.hooke_stress(&green_strain(h)),
                square: f * f.transpose(),
                f,
            },
            (ElasticModel::NeoHookean | ElasticModel::Yeoh, Curvature::Exact) => {
                let c = self.coefficients();
                let (spring, slope) = c.spring_coefficients(f.norm_squared());
                StressTangent::NeoHookean {
                    spring,
                    slope,
                    bulk: c.bulk,
                    pressure: c.bulk * (f.determinant() - c.alpha),
                    cofactor: cofactor(&f),
                    f,
                }
            }
        }
    }

    /// Returns the derivative in the frame of the singular vectors, its eigenvalues clamped at a floor.
    fn convex_tangent(&self, f: &Mat3, floor: f64) -> StressTangent {
        let Some((u, s, v)) = rotation_svd(f) else {
            return StressTangent::Linear {
                lame: 0.0,
                shear: self.shear.max(floor),
            };
        };
        // The energy is a function of the singular values. `block` is its second derivative. Of each pair, `own` and
        // `crossed` are mean and half difference of (ψ_i − ψ_k)/(s_i − s_k) and (ψ_i + ψ_k)/(s_i + s_k).
        let mut block = Mat3::zeros();
        let (mut own, mut crossed) = (Mat3::zeros(), Mat3::zeros());
        for i in 0..3 {
            block[(i, i)] = self.second_derivative(&s, i);
            for k in (0..3).filter(|&k| k != i) {
                let (mixed, sheared, turned) = self.mixed_derivatives(&s, i, k);
                block[(i, k)] = mixed;
                let (sheared, turned) = (sheared.max(floor), turned.max(floor));
                own[(i, k)] = 0.5 * (sheared + turned);
                crossed[(i, k)] = 0.5 * (sheared - turned);
            }
        }
        let mut eigen = block.symmetric_eigen();
        eigen.eigenvalues.apply(|x| *x = x.max(floor));
        StressTangent::Principal {
            u,
            v,
            block: eigen.recompose(),
            own,
            crossed,
        }
    }

    /// Returns `∂²ψ/∂s_i²`.
    fn second_derivative(&self, s: &Vec3, i: usize) -> f64 {
        let total = s.norm_squared();
        let square = s[i] * s[i];
        match self.model {
            ElasticModel::Linear => self.lame + 2.0 * self.shear,
            ElasticModel::StVenantKirchhoff => {
                self.lame * (square + 0.5 * (total - 3.0)) + self.shear * (3.0 * square - 1.0)
            }
            ElasticModel::NeoHookean | ElasticModel::Yeoh => {
                let c = self.coefficients();
                let others = s[(i + 1) % 3] * s[(i + 2) % 3];
                let (spring, slope) = c.spring_coefficients(total);
                spring + slope * square + c.bulk * others * others
            }
        }
    }

    /// Returns `∂²ψ/∂s_i∂s_k`, `(ψ_i − ψ_k)/(s_i − s_k)` and `(ψ_i + ψ_k)/(s_i + s_k)`, without the divisions.
    fn mixed_derivatives(&self, s: &Vec3, i: usize, k: usize) -> (f64, f64, f64) {
        let total = s.norm_squared();
        let product = s[i] * s[k];
        match self.model {
            ElasticModel::Linear => (self.lame, 2.0 * self.shear, 0.0),
            ElasticModel::StVenantKirchhoff => {
                let squares = s[i] * s[i] + s[k] * s[k] - 1.0;
                let spring = 0.5 * self.lame * (total - 3.0);
                (
                    self.lame * product,
                    spring + self.shear * (squares + product),
                    spring + self.shear * (squares - product),
                )
            }
            ElasticModel::NeoHookean | ElasticModel::Yeoh => {
                let c = self.coefficients();
                let third = s[3 - i - k];
                let pressure = c.bulk * (product * third - c.alpha);
                let (spring, slope) = c.spring_coefficients(total);
                (
                    slope * product + c.bulk * product * third * third + pressure * third,
                    spring - pressure * third,
                    spring + pressure * third,
                )
            }
        }
    }
}

/// Returns `½(H + Hᵀ)`.
#[inline]
fn symmetric_strain(h: &Mat3) -> Mat3 {
    (h + h.transpose()) * 0.5
}

/// Returns Green's strain `½(H + Hᵀ + HᵀH)`.
#[inline]
fn green_strain(h: &Mat3) -> Mat3 {
    (h + h.transpose() + h.tr_mul(h)) * 0.5
}

/// Decomposes `F = U diag(s) Vᵀ` with rotations U and V; the last singular value is negative if det F is.
fn rotation_svd(f: &Mat3) -> Option<(Mat3, Vec3, Mat3)> {
    if !f.iter().all(|x| x.is_finite()) {
        return None;
    }
    let svd = f.try_svd(true, true, f64::EPSILON, 200)?;
    let (mut u, mut v) = (svd.u?, svd.v_t?.transpose());
    let mut s = svd.singular_values;
    for turn in [&mut u, &mut v] {
        if turn.determinant() < 0.0 {
            turn.column_mut(2).neg_mut();
            s[2] = -s[2];
        }
    }
    Some((u, s, v))
}

#[cfg(test)]
mod tests;
