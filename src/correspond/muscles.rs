// SPDX-License-Identifier: MIT OR Apache-2.0
//! Muscles carried to another character: each end as a bone's guide, the radius and the bow with the limbs' thickness.
//!
//! The contraction is a strain, so it needs no change for other stiffness: the target's own flesh gives the forces.

use super::rigs::CarriedGuide;
use super::{Correspondence, CorrespondenceError};
use crate::rig::{BoneRef, Guide, MusclePlace, MuscleRig, Rig, RigError, Sample};

impl Correspondence {
    /// Carries a muscle.
    ///
    /// # Errors
    /// A muscle with a bone that the source lacks or that has no partner; a muscle over a joint whose bones have one partner; a muscle that the
    /// target has no place for.
    pub(super) fn carry_muscle(
        &self,
        rig: &Rig,
        muscle: &MuscleRig,
    ) -> Result<Rig, CorrespondenceError> {
        let foreign = |error| CorrespondenceError::ForeignRig {
            name: rig.name().to_owned(),
            error,
        };
        let carry = |place: &MusclePlace| {
            let [along, angle, distance] = place.values;
            let guide = Guide::bone(place.bone.clone(), [along, angle, distance, 0.0]);
            self.carry_guide(&guide.map_err(foreign)?, foreign)
        };
        let ends = [carry(muscle.origin())?, carry(muscle.insertion())?];
        let is_over_joint = muscle.origin().bone != muscle.insertion().bone;
        if is_over_joint && bone_of(&ends[0]).is_some() && bone_of(&ends[0]) == bone_of(&ends[1]) {
            let name = rig.name().to_owned();
            return Err(CorrespondenceError::OneBone { name });
        }
        // The muscle lies on both limbs.
        let growth = (ends[0].growth() * ends[1].growth()).sqrt();
        let row = |values: &[f64]| -> Vec<f64> {
            let [contraction, radius, bow, places @ ..] = values else {
                return values.to_vec();
            };
            let places = places.chunks(3).zip(&ends);
            let places = places.flat_map(|(place, end)| carried_place(end, place));
            let sizes = [*contraction, radius * growth, bow * growth];
            sizes.into_iter().chain(places).collect()
        };
        let build = || {
            let made = place_muscle(&ends, &row(&muscle.parameters()))?;
            let samples = rig.samples().iter().map(|sample| Sample {
                control: sample.control,
                parameters: row(&sample.parameters),
            });
            made.check_in(&self.target)?;
            Rig::muscle(rig.name(), made, samples.collect())
        };
        build().map_err(|error| CorrespondenceError::CarriedRig {
            name: rig.name().to_owned(),
            error,
        })
    }
}

/// Returns the bone of a carried end.
fn bone_of(end: &CarriedGuide) -> Option<&BoneRef> {
    match end.guide() {
        Guide::Bone { bone, .. } => Some(bone),
        _ => None,
    }
}

/// Returns position along, direction around and distance from the bone on the target.
fn carried_place(end: &CarriedGuide, place: &[f64]) -> Vec<f64> {
    let mut row = end.row(&[place, &[0.0]].concat());
    row.truncate(3);
    row
}

/// Builds a muscle of its parameters between two carried ends.
fn place_muscle(ends: &[CarriedGuide; 2], values: &[f64]) -> Result<MuscleRig, RigError> {
    let wrong = || RigError::Count {
        expected: MuscleRig::spec().parameters.len(),
        given: values.len(),
    };
    let [contraction, radius, bow, a, b, c, d, e, f] = values.try_into().map_err(|_| wrong())?;
    let place = |end: &CarriedGuide, values| match end.guide() {
        Guide::Bone { bone, .. } => Ok(MusclePlace {
            bone: bone.clone(),
            values,
        }),
        _ => Err(RigError::NoTemplate),
    };
    let [origin, insertion] = ends;
    MuscleRig::new(
        place(origin, [a, b, c])?,
        place(insertion, [d, e, f])?,
        [contraction, radius, bow],
    )
}
