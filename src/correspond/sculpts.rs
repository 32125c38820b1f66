// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sculpted rigs carried to another character: points forward along the map, offsets with its derivative, poses by turns of partners.
//!
//! The wish is carried, not the forces: on the target these are those that its own lattice and stiffness need. The paper carries the
//! displacement of the lattice, which holds the turn of the bones, and so stretches a bent limb; a wish in rest axes does not.

use super::points::SkinPoint;
use super::{Correspondence, CorrespondenceError};
use crate::rig::{BoneTurn, Rig, RigError, Sculpt, SculptPoint, SculptedRig};

impl Correspondence {
    /// Carries a sculpted rig. Points on skin that no partner carries are left out.
    ///
    /// # Errors
    /// A rig with a bone that the source lacks; a rig of which no point has a place on the target.
    pub(super) fn carry_sculpted(
        &self,
        rig: &Rig,
        sculpted: &SculptedRig,
    ) -> Result<Rig, CorrespondenceError> {
        let samples = rig.samples().iter().zip(sculpted.sculpts());
        let carried = samples.map(|(sample, sculpt)| {
            let strength = sample.parameters.first().copied().unwrap_or(1.0);
            Ok((
                sample.control,
                strength,
                self.carry_sculpt(rig.name(), sculpt)?,
            ))
        });
        let carried = carried.collect::<Result<Vec<_>, CorrespondenceError>>()?;
        Rig::sculpted(rig.name(), carried).map_err(|error| CorrespondenceError::CarriedRig {
            name: rig.name().to_owned(),
            error,
        })
    }

    fn carry_sculpt(&self, rig: &str, sculpt: &Sculpt) -> Result<Sculpt, CorrespondenceError> {
        let bone = |name: &String| self.source_bone(rig, name);
        let turns = sculpt.turns().iter();
        let turns = turns.map(|(name, turn)| Ok((bone(name)?, *turn)));
        let turns = turns.collect::<Result<Vec<_>, CorrespondenceError>>()?;
        let names = self.target.skeleton().names();
        let named = |(bone, turn)| -> BoneTurn { (names[bone as usize].clone(), turn) };
        let turns = self.carry_turns(&turns).into_iter().map(named).collect();

        let bones = sculpt.bones().iter().map(bone);
        let bones = bones.collect::<Result<Vec<u32>, _>>()?;
        let (mut points, mut refusal) = (Vec::with_capacity(sculpt.points().len()), None);
        for point in sculpt.points() {
            let point = SkinPoint {
                position: point.place,
                area: point.area,
                bone: bones[point.bone as usize],
                offset: point.offset,
            };
            match self.carry_points(&[point]) {
                Ok(carried) => points.extend(carried),
                Err(error) => refusal = refusal.or(Some(error)),
            }
        }
        match refusal {
            Some(error) if points.is_empty() => Err(error),
            _ => self.target_sculpt(rig, turns, &points, sculpt.smoothness()),
        }
    }

    /// Builds a sculpt of points of the target.
    fn target_sculpt(
        &self,
        rig: &str,
        turns: Vec<BoneTurn>,
        points: &[SkinPoint],
        smoothness: f64,
    ) -> Result<Sculpt, CorrespondenceError> {
        let mut used: Vec<u32> = points.iter().map(|point| point.bone).collect();
        used.sort_unstable();
        used.dedup();
        let point = |point: &SkinPoint| SculptPoint {
            place: point.position,
            area: point.area,
            bone: used.partition_point(|&bone| bone < point.bone) as u32,
            offset: point.offset,
        };
        let names = self.target.skeleton().names();
        let bones = used.iter().map(|&b| names[b as usize].clone()).collect();
        let points = points.iter().map(point).collect();
        Sculpt::new(turns, bones, points, smoothness).map_err(|error| {
            CorrespondenceError::CarriedRig {
                name: rig.to_owned(),
                error,
            }
        })
    }

    fn source_bone(&self, rig: &str, name: &str) -> Result<u32, CorrespondenceError> {
        let names = self.source.skeleton().names();
        let found = names.iter().position(|n| n == name);
        let number = found.ok_or_else(|| CorrespondenceError::ForeignRig {
            name: rig.to_owned(),
            error: RigError::ForeignBone {
                name: name.to_owned(),
            },
        })?;
        Ok(number as u32)
    }
}
