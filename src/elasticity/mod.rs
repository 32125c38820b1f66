// SPDX-License-Identifier: MIT OR Apache-2.0
//! Elasticity of the flesh: materials, and integrals over the flesh in each cell.
//!
//! ```
//! use thew::Vec3;
//! use thew::elasticity::{ElasticModel, Elements, Material};
//!
//! let corners = [[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]].map(Vec3::from);
//! let flesh = Elements::tetrahedra(&corners, &[[0, 1, 2, 3]], &Material::default());
//! // Turned by a quarter, flesh is as it was; only the linear model takes the turn for strain.
//! let turn = nalgebra::Rotation3::from_axis_angle(&Vec3::z_axis(), std::f64::consts::FRAC_PI_2);
//! let u = corners.map(|x| turn * x - x);
//! assert!(flesh.energy(ElasticModel::NeoHookean, &u[..]).abs() < 1e-9);
//! assert!(flesh.energy(ElasticModel::StVenantKirchhoff, &u[..]).abs() < 1e-9);
//! assert!(flesh.energy(ElasticModel::Linear, &u[..]) > 1.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The warped methods need linear strain in each cell's own turning frame only. There the energy of a cell is
//! `½ dᵀ S d` with the stiffness blocks of [`integrals`]. It does not resist a loss of volume as real flesh does.
//! [`elements`] describes the same flesh as pieces with constant gradients. These have the nonlinear energies of
//! [`model`] in [`energy`], and [`term`] turns them into a term that statics and steps minimise. [`twist`] adds the
//! energy that holds flesh around a straight bone. Contact is separate: [`crate::contact`].

pub mod elements;
pub mod energy;
pub mod flesh;
pub mod integrals;
pub mod model;
pub mod paint;
pub mod term;
pub mod twist;

use crate::range::is_sound;
pub use elements::{ElementPiece, Elements};
pub use energy::Deformation;
pub use flesh::{EnclosedFlesh, FleshDomain, flesh_shares};
pub use integrals::{CellIntegrals, integrate, integrate_shares};
pub use model::{Curvature, ElasticModel, ElasticModelError};
pub use paint::{PaintFactors, PaintMap};
pub use term::{Elastic, TangentChoice};
pub use twist::{TwistRegion, TwistSamples};

/// An isotropic elastic material.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Material {
    young: f64,
    poisson: f64,
    density: f64,
}

/// Reason why a material was refused.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum MaterialError {
    /// Young's modulus is out of range.
    #[error("the stiffness (Young's modulus) must be a positive number of pascals, not {0}")]
    Young(f64),
    /// Poisson's ratio is out of range.
    #[error("Poisson's ratio must lie above -1 and below 0.5, not {0}")]
    Poisson(f64),
    /// The density is out of range.
    #[error("the density must be a positive number of kilograms per cubic metre, not {0}")]
    Density(f64),
}

impl Default for Material {
    /// Returns soft flesh: 20 kPa, 0.4, 1000 kg/m³.
    fn default() -> Self {
        Self {
            young: 20e3,
            poisson: 0.4,
            density: 1000.0,
        }
    }
}

impl Material {
    /// Builds a material from Young's modulus (Pa), Poisson's ratio and density (kg/m³).
    ///
    /// # Errors
    /// The first number that is not finite or out of range.
    pub fn new(young: f64, poisson: f64, density: f64) -> Result<Self, MaterialError> {
        if !(is_sound(young) && young > 0.0) {
            return Err(MaterialError::Young(young));
        }
        if !(poisson > -1.0 && poisson < 0.5) {
            return Err(MaterialError::Poisson(poisson));
        }
        if !(is_sound(density) && density > 0.0) {
            return Err(MaterialError::Density(density));
        }
        Ok(Self {
            young,
            poisson,
            density,
        })
    }

    /// Returns Young's modulus E, Pa.
    pub fn young(&self) -> f64 {
        self.young
    }

    /// Returns Poisson's ratio ν.
    pub fn poisson(&self) -> f64 {
        self.poisson
    }

    /// Returns the density ρ, kg/m³.
    pub fn density(&self) -> f64 {
        self.density
    }

    /// Returns the shear modulus `G = E / (2 (1 + ν))`, Pa.
    pub fn shear(&self) -> f64 {
        self.young / (2.0 * (1.0 + self.poisson))
    }

    /// Returns Lamé's first parameter `λ = E ν / ((1 + ν)(1 − 2ν))`, Pa.
    pub fn lame(&self) -> f64 {
        self.young * self.poisson / ((1.0 + self.poisson) * (1.0 - 2.0 * self.poisson))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Young's modulus and Poisson's ratio can be recovered from the moduli.
    #[test]
    fn moduli_invert_to_young_poisson() {
        let m = Material::new(3e4, 0.35, 900.0).unwrap();
        let (g, l) = (m.shear(), m.lame());
        approx::assert_relative_eq!(g * (3.0 * l + 2.0 * g) / (l + g), 3e4, max_relative = 1e-12);
        approx::assert_relative_eq!(l / (2.0 * (l + g)), 0.35, max_relative = 1e-12);
    }

    /// Impossible values of a material are refused, and the error names the value.
    #[test]
    fn material_refuses_bad_values() {
        for (m, word) in [
            (Material::new(0.0, 0.3, 1.0), "Young"),
            (Material::new(f64::NAN, 0.3, 1.0), "Young"),
            (Material::new(1.0, 0.5, 1.0), "Poisson"),
            (Material::new(1.0, f64::NAN, 1.0), "Poisson"),
            (Material::new(1.0, 0.3, -2.0), "density"),
        ] {
            assert!(m.unwrap_err().to_string().contains(word));
        }
    }
}
