// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rigs of the kind *muscle*: a spindle of flesh between two places on bones, whose belly gets wider at constant volume.
//!
//! | file | content |
//! | --- | --- |
//! | `tube` | the spindle: its line, its share at a point |
//! | `contraction` | generalised forces of a contraction, at which the volume stays |
//! | `fit` | displacements of flesh nearest to wanted ones |
//! | `peak` | contractions at which skin moves by a given distance |
//! | `presets` | the muscles of a character's limbs and chest, found by shape |
//!
//! The origin and the insertion are places at bones, each with the numbers of a bone guide. The line between them bows away from the bones. Forces
//! are those that hold the contracted shape in flesh at rest; bones bear the rest. They act in rest axes and turn with the flesh, as
//! those of templates do. Their control is free; [`MuscleRig::shortening`] tells how much shorter the muscle is in a pose.

mod contraction;
mod fit;
mod peak;
mod presets;
#[cfg(test)]
mod tests;
mod tube;

use super::guide::{bone_index, cylindrical_place, place_on_bone};
use super::{BoneRef, Parameter, ParameterKind, Rig, RigError, Sample, Spec};
use crate::Vec3;
use crate::body::Body;
use crate::skeleton::{Pose, Skeleton};
use contraction::{MuscleIntegral, MuscleResponse};
use std::f64::consts::PI;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use tube::Tube;

/// Range of contractions. Real muscles shorten by half at most, and beyond 0.7 the belly would have twice its width.
const CONTRACTIONS: (f64, f64) = (-0.5, 0.7);

/// A place at a bone.
#[derive(Debug, Clone, PartialEq)]
pub struct MusclePlace {
    /// The bone.
    pub bone: BoneRef,
    /// Position along the bone (0 at its head, 1 at its tail), direction around it (rad) and distance from it (m), as of a bone guide.
    pub values: [f64; 3],
}

/// A muscle. Its parameters are `contraction`, `radius`, `bow`, then three of each place.
#[derive(Debug, Clone)]
pub struct MuscleRig {
    origin: MusclePlace,
    insertion: MusclePlace,
    /// Contraction, radius (m), bow (m).
    values: [f64; 3],
    cache: Arc<Mutex<Option<CachedResponse>>>,
}

/// The response of the last body to the muscle of the last shape.
#[derive(Debug)]
struct CachedResponse {
    body: Weak<()>,
    /// All parameters but the contraction.
    shape: Vec<f64>,
    response: Arc<Option<MuscleResponse>>,
}

impl PartialEq for MuscleRig {
    fn eq(&self, other: &Self) -> bool {
        let parts = |m: &Self| (m.origin.clone(), m.insertion.clone(), m.values);
        parts(self) == parts(other)
    }
}

const fn place_parameter(
    name: &'static str,
    label: &'static str,
    doc: &'static str,
    kind: ParameterKind,
) -> Parameter {
    let (default, range) = match kind {
        ParameterKind::Share => (0.5, (0.0, 1.0)),
        ParameterKind::Angle => (0.0, (-PI, PI)),
        _ => (0.0, (0.0, 1.0)),
    };
    Parameter {
        name,
        kind,
        label,
        doc,
        default,
        range,
    }
}

const SPEC: Spec = Spec {
    name: "muscle",
    label: "Muscle",
    doc: "Shortens between two places on bones and bulges at constant volume",
    icon: "FORCE_CURVE",
    parameters: &[
        Parameter {
            name: "contraction",
            kind: ParameterKind::Share,
            label: "Contraction",
            doc: "Contraction c: the muscle's belly gets 1/√(1 − c) times as wide; negative makes it thinner",
            default: 0.3,
            range: (0.0, 0.5),
        },
        Parameter {
            name: "radius",
            kind: ParameterKind::Radius,
            label: "Radius",
            doc: "Distance from its middle that the field, or the muscle, reaches",
            default: 0.1,
            range: (0.0, 1.0),
        },
        Parameter {
            name: "bow",
            kind: ParameterKind::Offset,
            label: "Bow",
            doc: "Distance of the muscle's middle from the straight line between its ends, away from the bones",
            default: 0.0,
            range: (-1.0, 1.0),
        },
        place_parameter(
            "origin_along",
            "Origin Along",
            "Position of the origin along its bone: 0 at the head, 1 at the tail",
            ParameterKind::Share,
        ),
        place_parameter(
            "origin_angle",
            "Origin Around",
            "Direction of the origin out from its bone; 0 is the front",
            ParameterKind::Angle,
        ),
        place_parameter(
            "origin_distance",
            "Origin Out",
            "Distance of the origin from its bone",
            ParameterKind::Distance,
        ),
        place_parameter(
            "insertion_along",
            "Insertion Along",
            "Position of the insertion along its bone: 0 at the head, 1 at the tail",
            ParameterKind::Share,
        ),
        place_parameter(
            "insertion_angle",
            "Insertion Around",
            "Direction of the insertion out from its bone; 0 is the front",
            ParameterKind::Angle,
        ),
        place_parameter(
            "insertion_distance",
            "Insertion Out",
            "Distance of the insertion from its bone",
            ParameterKind::Distance,
        ),
    ],
};

impl MuscleRig {
    /// Builds a muscle between two places, with its contraction, radius (m) and bow (m).
    ///
    /// # Errors
    /// A value that is not finite, a radius that is not positive, a contraction out of range.
    pub fn new(
        origin: MusclePlace,
        insertion: MusclePlace,
        values: [f64; 3],
    ) -> Result<Self, RigError> {
        let muscle = Self {
            origin,
            insertion,
            values,
            cache: Arc::default(),
        };
        muscle.check(&muscle.parameters())?;
        Ok(muscle)
    }

    /// Returns the muscle with other parameters.
    pub(super) fn with_parameters(&self, eta: &[f64]) -> Result<Self, RigError> {
        self.check(eta)?;
        let place = |place: &MusclePlace, values: &[f64]| MusclePlace {
            bone: place.bone.clone(),
            values: [values[0], values[1], values[2]],
        };
        let sizes = [eta[0], eta[1], eta[2]];
        let (origin, insertion) = (
            place(&self.origin, &eta[3..6]),
            place(&self.insertion, &eta[6..9]),
        );
        Self::new(origin, insertion, sizes)
    }

    /// Returns the table of its parameters.
    pub fn spec() -> &'static Spec {
        &SPEC
    }

    /// Returns samples without contraction at control 0 and with all of it at 1.
    pub fn full_samples(&self) -> Vec<Sample> {
        let sample = |control: f64| {
            let mut parameters = self.parameters();
            parameters[0] *= control;
            Sample {
                control,
                parameters,
            }
        };
        vec![sample(0.0), sample(1.0)]
    }

    /// Returns the place where it begins.
    pub fn origin(&self) -> &MusclePlace {
        &self.origin
    }

    /// Returns the place where it ends.
    pub fn insertion(&self) -> &MusclePlace {
        &self.insertion
    }

    /// Returns its parameters.
    pub fn parameters(&self) -> Vec<f64> {
        [self.values, self.origin.values, self.insertion.values].concat()
    }

    /// Refuses parameters with which there is no muscle.
    pub(super) fn check(&self, eta: &[f64]) -> Result<(), RigError> {
        let [contraction, radius, ..] = muscle_values(eta)?;
        let mut named = SPEC.parameters.iter().zip(eta);
        if let Some((&Parameter { name, .. }, &value)) =
            named.find(|(_, value)| !crate::range::is_sound(**value))
        {
            return Err(RigError::NonFinite { name, value });
        }
        if radius <= 0.0 {
            return Err(RigError::Radius {
                name: "radius",
                value: radius,
            });
        }
        let (least, most) = CONTRACTIONS;
        match (least..=most).contains(&contraction) {
            true => Ok(()),
            false => Err(RigError::Contraction {
                value: contraction,
                range: CONTRACTIONS,
            }),
        }
    }

    /// Returns the tube at η.
    fn tube(&self, body: &Body, eta: &[f64]) -> Result<Tube, RigError> {
        self.check(eta)?;
        let [_, radius, bow, places @ ..] = muscle_values(eta)?;
        let place =
            |bone: &BoneRef, at: &[f64]| place_on_bone(body, bone, at[0], at[1], at[2], 0.0);
        let start = place(&self.origin.bone, &places[..3])?.frame;
        let end = place(&self.insertion.bone, &places[3..])?.frame;
        let chord = end.origin - start.origin;
        if chord.norm() <= 1e-6 * body.size() {
            return Err(RigError::MuscleEnds);
        }
        // Outwards as at both ends, across the chord.
        let out = start.rotation.column(2) + end.rotation.column(2);
        let out = out - chord * (chord.dot(&out) / chord.norm_squared());
        Ok(Tube {
            start: start.origin,
            end: end.origin,
            out: out.try_normalize(1e-6).unwrap_or_default(),
            bow,
            radius,
        })
    }

    /// Returns the generalised forces `[nodes]` at η, N, rest axes.
    pub(super) fn forces(&self, body: &Body, eta: &[f64]) -> Result<Vec<Vec3>, RigError> {
        Ok(match &*self.response(body, eta)? {
            Some(response) => response.forces(body, eta[0]),
            None => vec![Vec3::zeros(); body.node_count()],
        })
    }

    /// Returns the contraction up to that of η at which no flesh of a body at rest is pressed flat: the one with which [`forces`](Self::forces) are
    /// made.
    pub(super) fn bearable_contraction(&self, body: &Body, eta: &[f64]) -> Result<f64, RigError> {
        let response = self.response(body, eta)?;
        Ok(match &*response {
            Some(response) => response.bearable_contraction(body, eta[0]),
            None => eta[0],
        })
    }

    /// Returns the response of a body's flesh to the muscle of a shape; that of the last one is kept.
    fn response(&self, body: &Body, eta: &[f64]) -> Result<Arc<Option<MuscleResponse>>, RigError> {
        let lock = || self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        self.check(eta)?;
        let own = self.parameters();
        let shape = match is_same_shape(&own[1..], &eta[1..]) {
            true => own[1..].to_vec(),
            false => eta[1..].to_vec(),
        };
        let tube = self.tube(body, &[&eta[..1], &shape].concat())?;
        let identity = Arc::downgrade(body.identity());
        if let Some(known) = &*lock()
            && known.body.ptr_eq(&identity)
            && known.shape == shape
        {
            return Ok(known.response.clone());
        }
        let response = Arc::new(MuscleResponse::new(&MuscleIntegral::new(body, &tube)?)?);
        *lock() = Some(CachedResponse {
            body: identity,
            shape,
            response: response.clone(),
        });
        Ok(response)
    }

    /// Returns how tense the muscle makes the flesh of each cell of a body's lattice at η, `[cells]`: its contraction times the share of the
    /// cell's flesh that is muscle. A stretched muscle makes no flesh tense.
    ///
    /// # Errors
    /// Errors of [`check_in`](Self::check_in), and parameters that define no muscle.
    pub fn tension(&self, body: &Body, eta: &[f64]) -> Result<Vec<f64>, RigError> {
        let integral = MuscleIntegral::new(body, &self.tube(body, eta)?)?;
        let contraction = eta[0].max(0.0);
        let shares = integral.cell_shares().into_iter();
        Ok(shares.map(|share| share * contraction).collect())
    }

    /// Returns the growth of the muscle's volume, as a part of it, under displacements of a body's nodes from rest, m.
    ///
    /// # Errors
    /// A muscle that the body cannot have; displacements of another number.
    pub fn volume_growth(&self, body: &Body, displacements: &[Vec3]) -> Result<f64, RigError> {
        super::evaluation::check_field(body, displacements)?;
        let integral = MuscleIntegral::new(body, &self.tube(body, &self.parameters())?)?;
        Ok(integral.growth(displacements))
    }

    /// Refuses a muscle that a body cannot have.
    ///
    /// # Errors
    /// A bone that the body lacks, ends in one place, a tube wholly outside the flesh.
    pub fn check_in(&self, body: &Body) -> Result<(), RigError> {
        MuscleIntegral::new(body, &self.tube(body, &self.parameters())?).map(drop)
    }

    /// Returns points along the muscle's line at rest, from the origin, and its radius at each, m.
    ///
    /// # Errors
    /// A muscle that the body cannot have.
    pub fn line(&self, body: &Body, count: usize) -> Result<Vec<(Vec3, f64)>, RigError> {
        let tube = self.tube(body, &self.parameters())?;
        let at = |i: usize| {
            let s = i as f64 / count.saturating_sub(1).max(1) as f64;
            (tube.point(s), tube.radius * (4.0 * s * (1.0 - s)).sqrt())
        };
        Ok((0..count).map(at).collect())
    }

    /// Returns by which share of its rest length the muscle is shorter in a pose, between its ends as their bones carry them; negative where
    /// the pose stretches it.
    ///
    /// # Errors
    /// A muscle that the body cannot have; a pose with another number of bones.
    pub fn shortening(&self, body: &Body, pose: &Pose) -> Result<f64, RigError> {
        pose.check(body.skeleton())?;
        let tube = self.tube(body, &self.parameters())?;
        let carry = |place: &MusclePlace, x: Vec3| {
            let bone = bone_index(body.skeleton(), &place.bone)?;
            Ok::<_, RigError>(pose.maps()[bone].apply(x))
        };
        let (start, end) = (
            carry(&self.origin, tube.start)?,
            carry(&self.insertion, tube.end)?,
        );
        Ok(1.0 - (end - start).norm() / (tube.chord() * pose.scale()))
    }
}

/// Returns the muscles that a character has, as rigs: biceps and triceps of its arms, quadriceps and calves of its legs, and pectorals and
/// trapezius of an upright trunk. Each is named with its side, does nothing at control 0, and contracts by 0.3 at 1. None where the
/// character's front is unknown.
pub fn muscles(body: &Body) -> Vec<Rig> {
    let presets = presets::preset_muscles(body).into_iter();
    let rig = |(name, muscle): (String, MuscleRig)| {
        let samples = muscle.full_samples();
        Rig::muscle(name, muscle, samples).ok()
    };
    presets.filter_map(rig).collect()
}

/// Returns whether parameters differ by no more than the rounding of an interpolation between equal samples, for which no new response is made.
fn is_same_shape(own: &[f64], eta: &[f64]) -> bool {
    const ROUNDING: f64 = 1e-14;
    let mut each = own.iter().zip(eta);
    each.all(|(a, b)| (a - b).abs() <= ROUNDING * a.abs())
}

/// Returns the nine parameters.
fn muscle_values(eta: &[f64]) -> Result<[f64; 9], RigError> {
    eta.try_into().map_err(|_| RigError::Count {
        expected: SPEC.parameters.len(),
        given: eta.len(),
    })
}

/// Returns a point as a place at a bone, named if no earlier bone has its name.
fn place_at(skeleton: &Skeleton, bone: u32, x: Vec3) -> Result<MusclePlace, RigError> {
    Ok(MusclePlace {
        bone: BoneRef::of(skeleton, bone),
        values: cylindrical_place(skeleton, bone as usize, x)?,
    })
}
