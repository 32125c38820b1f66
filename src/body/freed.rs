// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bodies some of whose bones hold no flesh, so that these bones can follow it. [capell2006, §6, future work]
//!
//! The lattice vertices of a freed bone become free, and the bone loses its twist energy. Its flesh still turns with it: the bones' frames are
//! the shape about which the flesh is elastic. Bones below a freed one are freed too, as they hang on it.

use super::compliance::RestFactors;
use super::nodal::CachedNodalForm;
use super::transfer::NodeField;
use super::{Body, BodyError, OwnTwist, Pattern, loose, twist};
use crate::elasticity::{EnclosedFlesh, PaintFactors, PaintMap};
use std::sync::Arc;

impl Body {
    /// Returns some bones and all bones below them, ascending.
    ///
    /// # Errors
    /// A bone that the skeleton lacks.
    pub fn bones_below(&self, bones: &[u32]) -> Result<Vec<u32>, BodyError> {
        let count = self.skeleton.len();
        if let Some(&bone) = bones.iter().find(|&&b| b as usize >= count) {
            return Err(BodyError::FreedBone { bone, bones: count });
        }
        let mut below = vec![false; count];
        for &b in self.skeleton.topological_order() {
            let parent = self.skeleton.parents()[b as usize];
            below[b as usize] = bones.contains(&b) || parent.is_some_and(|p| below[p as usize]);
        }
        Ok((0..count as u32).filter(|&b| below[b as usize]).collect())
    }

    /// Returns the same body with some bones, and all below them, freed: they hold no flesh.
    ///
    /// # Errors
    /// A bone that the skeleton lacks; no other bone would hold the flesh around these.
    pub fn with_free_bones(&self, bones: &[u32]) -> Result<Self, BodyError> {
        let bones = self.bones_below(bones)?;
        let freed = |bone: &u32| bones.binary_search(bone).is_ok();
        let mut body = self.with_scaled_stiffness(1.0)?;
        let loose: Vec<u32> = self
            .loose_parts
            .iter()
            .flat_map(|p| &p.vertices)
            .copied()
            .collect();
        for (v, bone) in (0..).zip(&mut body.bone_of_vertex) {
            if bone.as_ref().is_some_and(freed) && !loose.contains(&v) {
                *bone = None;
            }
        }
        let regions = self.twist_regions.iter().filter(|r| !freed(&r.bone));
        body.twist_regions = regions.copied().collect();
        let flesh = EnclosedFlesh {
            surface: &self.surface,
            lattice: self.lattice(),
        };
        let (weights, paint) = (self.node_weights(), self.stiffness_paint());
        let energy = twist::energy(&self.basis, &flesh, &body.twist_regions, &weights, &paint);
        let held: Vec<bool> = body.bone_of_vertex.iter().map(Option::is_some).collect();
        if !loose::find(&self.basis, &held, &energy.points).is_empty() {
            return Err(BodyError::FreedBones);
        }
        body.own_twist = OwnTwist::new(energy.own, &energy.loads, &body.twist_regions);
        (body.twist, body.twist_loads) = (energy.matrix, energy.loads);
        let corners = body.elements.all_corners();
        let pattern = Pattern::new(corners, &body.mass, &held, self.basis.centres())?;
        body.pattern = Arc::new(pattern);
        body.joints = Arc::default();
        body.compliance = RestFactors::default();
        body.nodal = CachedNodalForm::default();
        Ok(body)
    }

    /// Returns the region weights as rows.
    fn node_weights(&self) -> NodeField {
        let columns = self.skeleton.len();
        let mut values = vec![0.0; self.node_count() * columns];
        for v in 0..self.node_count() {
            for (b, w) in self.region_weights.row(v) {
                values[v * columns + b as usize] = w;
            }
        }
        NodeField {
            columns,
            values,
            known: vec![true; self.node_count()],
        }
    }

    /// Returns the factors on the stiffness of the material, cell by cell.
    fn stiffness_paint(&self) -> PaintMap {
        let factors = |cell: u32| PaintFactors {
            stiffness: self.cell_young(cell).unwrap_or(0.0) / self.material.young(),
            ..PaintFactors::default()
        };
        PaintMap::Cells(
            (0..self.lattice().cells().len() as u32)
                .map(factors)
                .collect(),
        )
    }
}
