// SPDX-License-Identifier: MIT OR Apache-2.0
//! Copies of a body with another stiffness of all flesh.

use super::compliance::RestFactors;
use super::nodal::CachedNodalForm;
use super::{Body, BodyError};
use crate::elasticity::{Material, TwistRegion};
use std::sync::Arc;

impl Body {
    /// Returns the same body with another Young's modulus before paint, Pa. Twist stiffness is scaled with it.
    ///
    /// # Errors
    /// A modulus that is not positive.
    pub fn with_young(&self, young: f64) -> Result<Self, BodyError> {
        self.with_scaled_stiffness(young / self.material.young())
    }

    /// Returns the same body with flesh and twist stiffness multiplied by a factor.
    ///
    /// # Errors
    /// A factor that is not positive.
    pub fn with_scaled_stiffness(&self, factor: f64) -> Result<Self, BodyError> {
        let m = &self.material;
        let material = Material::new(m.young() * factor, m.poisson(), m.density())
            .map_err(|_| BodyError::Stiffening(factor))?;
        Ok(Self {
            basis: self.basis.clone(),
            skeleton: self.skeleton.clone(),
            material,
            rest_includes_gravity: self.rest_includes_gravity,
            blocks: self.blocks.with_scaled_stiffness(factor),
            elements: self.elements.with_scaled_stiffness(factor),
            mass: self.mass.clone(),
            twist: self.twist.map(|k| k * factor),
            twist_loads: self.twist_loads.iter().map(|l| l.scaled(factor)).collect(),
            twist_regions: self
                .twist_regions
                .iter()
                .map(|r| TwistRegion {
                    stiffness: r.stiffness * factor,
                    ..*r
                })
                .collect(),
            own_twist: self.own_twist.as_ref().map(|own| own.scaled(factor)),
            region_weights: self.region_weights.clone(),
            cell_weights: self.cell_weights.clone(),
            bone_of_vertex: self.bone_of_vertex.clone(),
            skinned: self.skinned.clone(),
            loose_parts: self.loose_parts.clone(),
            pattern: self.pattern.clone(),
            surface: self.surface.clone(),
            points: self.points.clone(),
            embedding: self.embedding.clone(),
            skin: self.skin.clone(),
            size: self.size,
            flesh: self.flesh.clone(),
            kind: self.kind,
            anatomy: self.anatomy.clone(),
            measured: self.measured.clone(),
            joints: self.joints.clone(),
            compliance: RestFactors::default(),
            merged_pieces: self.merged_pieces,
            identity: Arc::default(),
            nodal: CachedNodalForm::default(),
            recipe: self.recipe.clone(),
        })
    }
}
