// SPDX-License-Identifier: MIT OR Apache-2.0
//! Settings of a body.

use super::anatomy::CharacterKind;
use crate::skeleton::SkinWeights;
use std::collections::BTreeMap;

/// Twist of one bone: the tube of flesh around it that turns with it. [capell2002, §4.6]
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BoneTwist {
    /// Radius of the tube, metres. `None`: half the bone's distance to the skin.
    pub radius: Option<f64>,
    /// Factor on the default stiffness κ = E/r², E of the flesh around the bone, paint included. 0: the bone does not turn its flesh.
    pub strength: f64,
}

impl Default for BoneTwist {
    fn default() -> Self {
        Self {
            radius: None,
            strength: 1.0,
        }
    }
}

/// Settings for building a body; fill the rest with `..Default::default()`.
#[derive(Debug, Clone, PartialEq)]
pub struct BodySettings {
    /// Skin weights at the surface's vertices. `None`: weights by distance to the bones.
    pub region_weights: Option<SkinWeights>,
    /// Flesh at the surface's vertices: 0 keeps the skin as it is, 1 is the softest. `None`: from the body's
    /// [`Anatomy`](super::Anatomy) if the surface has skin weights; uniform flesh otherwise.
    pub flesh: Option<Vec<f64>>,
    /// Kind of character; it decides which parts may be soft if `flesh` is `None`.
    pub kind: CharacterKind,
    /// Share of hard material at each surface vertex, 0 to 1, as read from materials. The [`Anatomy`](super::Anatomy) reduces the
    /// flesh there by this share.
    pub hard: Option<Vec<f64>>,
    /// Factors on Young's modulus, one per surface vertex. `None`: 1.
    pub stiffness: Option<Vec<f64>>,
    /// Factors on the density, one per surface vertex. `None`: 1.
    pub density: Option<Vec<f64>>,
    /// Factors on Poisson's ratio, one per surface vertex. `None`: 1.
    pub poisson: Option<Vec<f64>>,
    /// Twist of single bones, by name. Flesh follows these bones by every method; see [`Body::own_twist`](super::Body::own_twist).
    /// Bones that are not listed have the default twist.
    pub twist: BTreeMap<String, BoneTwist>,
    /// The modelled shape already sags: gravity and elasticity balance at rest.
    pub rest_includes_gravity: bool,
    /// Subdivisions of each cell for the integrals, 0 to 3. At least [`basis_levels`](Self::basis_levels) are made.
    pub level: usize,
    /// Levels of details beyond the functions of the lattice's vertices, 0 to 3, in which the flesh deforms too.
    /// [`Basis`](crate::basis::Basis)
    pub basis_levels: usize,
}

impl Default for BodySettings {
    fn default() -> Self {
        Self {
            region_weights: None,
            flesh: None,
            kind: CharacterKind::default(),
            hard: None,
            stiffness: None,
            density: None,
            poisson: None,
            twist: BTreeMap::new(),
            rest_includes_gravity: true,
            level: 1,
            basis_levels: 0,
        }
    }
}
