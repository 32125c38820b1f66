// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rigs carried to another character.
//!
//! The guide goes by the pair of its bone, or by the map: a point of the skin to the nearest skin of the same part, a free
//! frame to its place. Lengths of template and guide grow as the limb is thicker there, m. The strength, a force per
//! volume, is multiplied by Ē/E ÷ m with the moduli E before paint, so that flesh yields in proportion: of a body scaled by
//! s and turned by R generalised forces are `s² R Q`.

use super::points::SkinFoot;
use super::skin::part_row;
use super::{Correspondence, CorrespondenceError};
use crate::Vec3;
use crate::rig::{
    BoneRef, ForceRig, Guide, GuideFrame, ParameterKind, Rig, RigError, RigKind, Sample, Template,
};
use std::f64::consts::TAU;

/// A guide on the target, and what becomes of the numbers of its samples.
pub(super) struct CarriedGuide {
    guide: Guide,
    /// Added to the angle about the bone or about the normal, radians.
    angle: f64,
    /// Position along the other bone of the ends of the first, 0 and 1.
    along: [f64; 2],
    /// Factor of lengths.
    growth: f64,
}

impl Correspondence {
    /// Carries a rig of the source to the target.
    ///
    /// # Errors
    /// A rig whose guide or bones do not fit the source, whose bone has no partner, or that the target has no place for.
    pub fn carry_rig(&self, rig: &Rig) -> Result<Rig, CorrespondenceError> {
        let carried = match rig.kind() {
            RigKind::Force(force) => self.carry_force(rig, force),
            RigKind::Sculpted(sculpted) => self.carry_sculpted(rig, sculpted),
            RigKind::Muscle(muscle) => self.carry_muscle(rig, muscle),
        }?;
        let carried = carried.with_firmness(rig.firmness());
        carried.map_err(|error| CorrespondenceError::CarriedRig {
            name: rig.name().to_owned(),
            error,
        })
    }

    fn carry_force(&self, rig: &Rig, force: &ForceRig) -> Result<Rig, CorrespondenceError> {
        let name = || rig.name().to_owned();
        let foreign = |error| CorrespondenceError::ForeignRig {
            name: name(),
            error,
        };
        let refused = |error| CorrespondenceError::CarriedRig {
            name: name(),
            error,
        };
        let carried = self.carry_guide(force.guide(), foreign)?;
        let strength =
            self.target.material().young() / (self.source.material().young() * carried.growth);
        let count = force.template().parameters().len();
        let kinds = rig.parameter_kinds();
        let row = |values: &[f64]| -> Vec<f64> {
            let (template, guide) = values.split_at(count);
            let scaled = template.iter().zip(kinds).map(|(value, kind)| match kind {
                ParameterKind::Strength => value * strength,
                _ => value * carried.growth,
            });
            scaled.chain(carried.row(guide)).collect()
        };
        let own = row(&rig.own_parameters());
        let build = || {
            let template = Template::new(force.template().kind(), &own[..count])?;
            let guide = carried.with_values(&own[count..])?;
            let samples = rig.samples().iter().map(|sample| Sample {
                control: sample.control,
                parameters: row(&sample.parameters),
            });
            let made = Rig::new(rig.name(), template, guide, samples.collect())?;
            made.place(&self.target, &own)?;
            Ok(made)
        };
        build().map_err(refused)
    }

    pub(super) fn carry_guide(
        &self,
        guide: &Guide,
        foreign: impl Fn(RigError) -> CorrespondenceError,
    ) -> Result<CarriedGuide, CorrespondenceError> {
        // The frame checks that the source has the guide's bone or face.
        let frame = guide
            .place(&self.source, guide.values())
            .map_err(&foreign)?
            .frame;
        match guide {
            Guide::Bone { bone, values } => self.carry_bone_guide(bone, *values, foreign),
            Guide::Skin { values, .. } => self.carry_skin_guide(guide, *values, foreign),
            Guide::Free {
                frame: base,
                values,
            } => Ok(self.carry_free_guide(base, *values, &frame)),
        }
    }

    fn carry_bone_guide(
        &self,
        bone: &BoneRef,
        values: [f64; 4],
        foreign: impl Fn(RigError) -> CorrespondenceError,
    ) -> Result<CarriedGuide, CorrespondenceError> {
        let skeleton = self.source.skeleton();
        let number = match bone {
            BoneRef::Name(name) => {
                skeleton.names().iter().position(|n| n == name).unwrap_or(0) as u32
            }
            BoneRef::Index(index) => *index,
        };
        let partner = self.partner(number)?;
        let map = &self.maps.maps[number as usize];
        let other = self.target.skeleton();
        let (head, tail) = (
            other.heads()[partner as usize],
            other.tails()[partner as usize],
        );
        let way = tail - head;
        let along = [skeleton.heads(), skeleton.tails()].map(|ends| {
            let end = map.affine.apply(ends[number as usize]);
            (end - head).dot(&way) / way.norm_squared().max(f64::MIN_POSITIVE)
        });
        let reference = match bone {
            BoneRef::Name(_) => BoneRef::Name(other.names()[partner as usize].clone()),
            BoneRef::Index(_) => BoneRef::Index(partner),
        };
        let [_, angle, ..] = values;
        let plain = |bone: &BoneRef, angle| Guide::Bone {
            bone: bone.clone(),
            values: [0.0, angle, 0.0, 0.0],
        };
        let ours = plain(bone, angle);
        let ours = ours
            .place(&self.source, ours.values())
            .map_err(foreign)?
            .frame;
        let guide = plain(&reference, 0.0);
        // A partner without length is told when the rig is placed.
        let theirs = guide.place(&self.target, guide.values());
        let theirs = theirs.map_or(ours, |placed| placed.frame);
        let out = map.rotation * ours.rotation.column(2);
        let around = turn_about(
            &theirs.rotation.column(0).into_owned(),
            &theirs.rotation.column(2).into_owned(),
            &out,
        );
        Ok(CarriedGuide {
            guide,
            angle: wrapped(around - angle),
            along,
            growth: map.across,
        })
    }

    fn carry_skin_guide(
        &self,
        guide: &Guide,
        [_, roll, _]: [f64; 3],
        foreign: impl Fn(RigError) -> CorrespondenceError,
    ) -> Result<CarriedGuide, CorrespondenceError> {
        let on_skin = guide
            .place(&self.source, &[0.0, roll, 0.0])
            .map_err(foreign)?
            .frame;
        let foot = SkinFoot::new(&self.source, on_skin.origin);
        let row = foot.row(&self.embedding);
        let (_, growth) = self.turn_and_growth(row.iter().copied());
        let parts = part_row(
            foot.weights(&self.source).into_iter(),
            &self.maps.pair_of[0],
        );
        let aim = foot.mean(&self.places);
        let point = self
            .skin
            .nearest_of_parts(aim, &parts)
            .map_or(aim, |hit| hit.point);
        let (face, barycentric) = SkinFoot::new(&self.target, point).face();
        let guide = Guide::Skin {
            face,
            barycentric,
            values: [0.0; 3],
        };
        let gradient = self.map.gradient(row.into_iter());
        let across = gradient * on_skin.rotation.column(0);
        let theirs = guide.place(&self.target, &[0.0; 3]);
        let theirs = theirs.map_or(on_skin, |placed| placed.frame);
        let around = turn_about(
            &theirs.rotation.column(2).into_owned(),
            &theirs.rotation.column(0).into_owned(),
            &across,
        );
        Ok(CarriedGuide {
            guide,
            angle: wrapped(around - roll),
            along: [0.0, 1.0],
            growth,
        })
    }

    fn carry_free_guide(
        &self,
        base: &GuideFrame,
        values: [f64; 6],
        frame: &GuideFrame,
    ) -> CarriedGuide {
        let embedded = self.source.lattice().embed(&[frame.origin]);
        let (turn, growth) = self.turn_and_growth(embedded.row(0));
        // The frame with its values comes to the mapped place; the base lies behind it as before.
        let way = turn * (base.origin - frame.origin) * growth;
        CarriedGuide {
            guide: Guide::Free {
                frame: GuideFrame {
                    rotation: crate::geometry::rotation::renormalise(&(turn * base.rotation)),
                    origin: embedded.position(0, &self.map.places) + way,
                },
                values,
            },
            angle: 0.0,
            along: [0.0, 1.0],
            growth,
        }
    }
}

impl CarriedGuide {
    /// Returns the guide, with values that are those of no sample.
    pub fn guide(&self) -> &Guide {
        &self.guide
    }

    /// Returns the factor of lengths across the bone.
    pub fn growth(&self) -> f64 {
        self.growth
    }

    /// Returns a row of the guide's numbers on the target.
    pub fn row(&self, values: &[f64]) -> Vec<f64> {
        let grown = |x: f64| x * self.growth;
        match (&self.guide, values) {
            (Guide::Bone { .. }, &[along, angle, distance, tilt]) => {
                let along = self.along[0] + (self.along[1] - self.along[0]) * along;
                vec![along, angle + self.angle, grown(distance), tilt]
            }
            (Guide::Skin { .. }, &[depth, roll, tilt]) => {
                vec![grown(depth), roll + self.angle, tilt]
            }
            (Guide::Free { .. }, &[x, y, z, ..]) => {
                let mut row = values.to_vec();
                row[..3].copy_from_slice(&[x, y, z].map(grown));
                row
            }
            _ => values.to_vec(),
        }
    }

    fn with_values(&self, row: &[f64]) -> Result<Guide, RigError> {
        let wrong = || RigError::Count {
            expected: self.guide.spec().parameters.len(),
            given: row.len(),
        };
        match &self.guide {
            Guide::Bone { bone, .. } => {
                Guide::bone(bone.clone(), row.try_into().map_err(|_| wrong())?)
            }
            Guide::Skin {
                face, barycentric, ..
            } => Guide::skin(*face, *barycentric, row.try_into().map_err(|_| wrong())?),
            Guide::Free { frame, .. } => Guide::free(*frame, row.try_into().map_err(|_| wrong())?),
        }
    }
}

/// Returns the angle about a unit axis from one direction to the part of another across the axis, radians; 0 where it has none.
fn turn_about(axis: &Vec3, from: &Vec3, to: &Vec3) -> f64 {
    let (sin, cos) = (
        axis.dot(&from.cross(to)),
        from.dot(to) - axis.dot(from) * axis.dot(to),
    );
    if sin.hypot(cos) > 0.0 {
        sin.atan2(cos)
    } else {
        0.0
    }
}

/// Returns an angle in the half-open turn around 0.
fn wrapped(angle: f64) -> f64 {
    angle - TAU * (angle / TAU).round()
}
