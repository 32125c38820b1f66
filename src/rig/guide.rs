// SPDX-License-Identifier: MIT OR Apache-2.0
//! Guides: the position of a template on a character, and its remaining degrees of freedom. [capell2006, §4.2.1]
//!
//! A guide places a rigid frame in rest space, with columns X, Y, Z and an origin, from a few continuous parameters:
//!
//! - **bone**: `origin = head + along (tail − head) + distance·out`. `out` is perpendicular to the bone. At angle 0
//!   it is the part of world −Y that is perpendicular to the bone (of +Z for bones within 30° of Y). A positive angle
//!   turns it right-handed about the direction head to tail. At tilt 0, Z = out and X points along the bone.
//! - **skin**: `origin = point − depth·n`, with the point on a rest triangle and its outward normal n. At tilt 0, Z =
//!   n and X is the direction of the triangle's first edge, turned about n by roll.
//! - **free**: a frame, then a translation (x, y, z) in it, then the rotation by the vector (rx, ry, rz).
//!
//! Tilt turns about Y: at +π/2, Z points along the former X. Lengths are metres, angles radians, `along` is a
//! fraction of the bone. [`GuidePlacement`] holds the frame and its exact motion by each parameter: spin and velocity.

use super::{GuideFrame, Parameter, ParameterKind, RigError, Spec};
use crate::body::Body;
use crate::geometry::rotation_vector::{mean_rotation, rotation};
use crate::range;
use crate::skeleton::Skeleton;
use crate::{Mat3, Vec3};
use std::f64::consts::PI;

/// A frame and its motion with each parameter of its guide.
#[derive(Debug, Clone, PartialEq)]
pub struct GuidePlacement {
    /// The frame.
    pub frame: GuideFrame,
    /// One motion per parameter, in order.
    pub motions: Vec<GuideMotion>,
}

/// Derivative of a frame by a parameter: `dR = [spin]ₓ R`, `d origin = velocity`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GuideMotion {
    /// Rotation vector, radians per unit of the parameter, rest axes.
    pub spin: Vec3,
    /// Velocity of the origin, metres per unit of the parameter, rest axes.
    pub velocity: Vec3,
}

/// A bone by its name or by its number in the skeleton.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BoneRef {
    /// By name; the first of several bones with that name.
    Name(String),
    /// By number.
    Index(u32),
}

impl BoneRef {
    /// Returns a bone of a skeleton by its name, or by its number if another bone before it has that name.
    pub fn of(skeleton: &Skeleton, bone: u32) -> Self {
        let name = skeleton.names().get(bone as usize);
        let first = skeleton.names().iter().position(|n| Some(n) == name);
        match name.filter(|_| first == Some(bone as usize)) {
            Some(name) => Self::Name(name.clone()),
            None => Self::Index(bone),
        }
    }
}

/// Anchor of a template, and the values of the guide's parameters.
#[derive(Debug, Clone, PartialEq)]
pub enum Guide {
    /// At a bone; `[along, angle, distance, tilt]`.
    Bone {
        /// The bone.
        bone: BoneRef,
        /// Values of its parameters.
        values: [f64; 4],
    },
    /// Under a point of the body's own surface; `[depth, roll, tilt]`.
    Skin {
        /// Triangle of the original surface, before welding.
        face: u32,
        /// Barycentric coordinates in the triangle; they sum to one.
        barycentric: [f64; 3],
        /// Values of its parameters.
        values: [f64; 3],
    },
    /// Anywhere; `[x, y, z, rx, ry, rz]`.
    Free {
        /// Frame at which all parameters are zero.
        frame: GuideFrame,
        /// Values of its parameters.
        values: [f64; 6],
    },
}

const fn length_parameter(name: &'static str, label: &'static str, doc: &'static str) -> Parameter {
    Parameter {
        name,
        kind: ParameterKind::Offset,
        label,
        doc,
        default: 0.0,
        range: (-1.0, 1.0),
    }
}

const fn angle_parameter(name: &'static str, label: &'static str, doc: &'static str) -> Parameter {
    Parameter {
        kind: ParameterKind::Angle,
        range: (-PI, PI),
        ..length_parameter(name, label, doc)
    }
}

const TILT_PARAMETER: Parameter = angle_parameter(
    "tilt",
    "Tilt",
    "Turns the field's axis from straight out (0) towards the bone's tail, or along the skin (90 degrees)",
);

const BONE_SPEC: Spec = Spec {
    name: "bone",
    label: "Bone",
    doc: "Hangs on a bone, at a position along, around and out from it",
    icon: "BONE_DATA",
    parameters: &[
        Parameter {
            kind: ParameterKind::Share,
            default: 0.5,
            range: (0.0, 1.0),
            ..length_parameter(
                "along",
                "Along",
                "Position along the bone: 0 at its head, 1 at its tail; values beyond are allowed",
            )
        },
        angle_parameter(
            "angle",
            "Around",
            "Direction out from the bone; 0 is the front",
        ),
        Parameter {
            kind: ParameterKind::Distance,
            range: (0.0, 1.0),
            ..length_parameter("distance", "Out", "Distance from the bone")
        },
        TILT_PARAMETER,
    ],
};

const SKIN_SPEC: Spec = Spec {
    name: "skin",
    label: "Skin",
    doc: "Hangs under a point of the skin, at a depth and a rotation",
    icon: "SNAP_FACE",
    parameters: &[
        Parameter {
            range: (0.0, 1.0),
            ..length_parameter(
                "depth",
                "Depth",
                "Depth under the skin; negative is outside",
            )
        },
        angle_parameter(
            "roll",
            "Roll",
            "Turns the field about the skin's outward direction",
        ),
        TILT_PARAMETER,
    ],
};

const FREE_SPEC: Spec = Spec {
    name: "free",
    label: "Free",
    doc: "Stands anywhere in the flesh of the rest pose",
    icon: "EMPTY_AXIS",
    parameters: &[
        length_parameter("x", "X", "Moves the field along its first axis"),
        length_parameter("y", "Y", "Moves the field along its second axis"),
        length_parameter("z", "Z", "Moves the field along its third axis"),
        angle_parameter(
            "rx",
            "Turn X",
            "Turns the field about its first axis (the three are one rotation vector)",
        ),
        angle_parameter("ry", "Turn Y", "Turns the field about its second axis"),
        angle_parameter("rz", "Turn Z", "Turns the field about its third axis"),
    ],
};

/// Largest deviation from one of the sum of barycentric coordinates, which are then rescaled.
const BARYCENTRIC_SUM_TOLERANCE: f64 = 1e-3;
/// Cosine of 30°: bones closer to Y than this angle take +Z for their angle 0.
const NEAR_Y_COSINE: f64 = 0.866_025_403_784_438_6;

impl Guide {
    /// Kinds of guides.
    pub const SPECS: [Spec; 3] = [BONE_SPEC, SKIN_SPEC, FREE_SPEC];

    /// Builds a guide at a bone; angle and tilt in radians, distance in metres.
    ///
    /// # Errors
    /// A value that is not finite.
    pub fn bone(bone: BoneRef, values: [f64; 4]) -> Result<Self, RigError> {
        Self::Bone { bone, values }.check_finite()
    }

    /// Builds a guide under a point of a triangle of the body's original surface; depth in metres, roll and tilt in
    /// radians.
    ///
    /// # Errors
    /// A value that is not finite, or barycentric coordinates that are negative or do not sum to one; small errors
    /// are rescaled.
    pub fn skin(face: u32, barycentric: [f64; 3], values: [f64; 3]) -> Result<Self, RigError> {
        let sum: f64 = barycentric.iter().sum();
        let nonsense = barycentric
            .iter()
            .any(|&w| w.is_nan() || w < -BARYCENTRIC_SUM_TOLERANCE);
        if nonsense || (sum - 1.0).abs() > BARYCENTRIC_SUM_TOLERANCE || !sum.is_finite() {
            return Err(RigError::Barycentric { barycentric });
        }
        // Coordinates that sum to one up to rounding are kept to the bit: files return exactly what was written.
        let exact = (sum - 1.0).abs() <= 4.0 * f64::EPSILON;
        let barycentric = barycentric.map(|w| if exact { w } else { w / sum });
        Self::Skin {
            face,
            barycentric,
            values,
        }
        .check_finite()
    }

    /// Builds a free guide; x, y, z in metres, rx, ry, rz in radians.
    ///
    /// # Errors
    /// A value that is not finite.
    pub fn free(frame: GuideFrame, values: [f64; 6]) -> Result<Self, RigError> {
        Self::Free { frame, values }.check_finite()
    }

    fn check_finite(self) -> Result<Self, RigError> {
        let mut named = self.spec().parameters.iter().zip(self.values());
        match named.find(|(_, value)| !range::is_sound(**value)) {
            Some((&Parameter { name, .. }, &value)) => Err(RigError::NonFinite { name, value }),
            None => Ok(self),
        }
    }

    /// Returns the kind's name, texts and parameters.
    pub fn spec(&self) -> &'static Spec {
        let [bone, skin, free] = &Self::SPECS;
        match self {
            Self::Bone { .. } => bone,
            Self::Skin { .. } => skin,
            Self::Free { .. } => free,
        }
    }

    /// Returns the values of its parameters, in order.
    pub fn values(&self) -> &[f64] {
        match self {
            Self::Bone { values, .. } => values,
            Self::Skin { values, .. } => values,
            Self::Free { values, .. } => values,
        }
    }

    /// Returns the frame at other values of the parameters, one per name.
    ///
    /// # Errors
    /// A bone or face that the body does not have, or that has no length or area; a wrong number of values.
    pub fn place(&self, body: &Body, values: &[f64]) -> Result<GuidePlacement, RigError> {
        let placed = match (self, values) {
            (Self::Bone { bone, .. }, &[along, angle, distance, tilt]) => {
                place_on_bone(body, bone, along, angle, distance, tilt)?
            }
            (
                Self::Skin {
                    face, barycentric, ..
                },
                &[depth, roll, tilt],
            ) => place_under_skin(body, *face, barycentric, depth, roll, tilt)?,
            (Self::Free { frame, .. }, &[x, y, z, rx, ry, rz]) => {
                place_freely(frame, Vec3::new(x, y, z), Vec3::new(rx, ry, rz))
            }
            _ => {
                return Err(RigError::Count {
                    expected: self.spec().parameters.len(),
                    given: values.len(),
                });
            }
        };
        // Large values can overflow positions.
        let frame = &placed.frame;
        if frame
            .origin
            .iter()
            .chain(&frame.rotation)
            .all(|x| x.is_finite())
        {
            Ok(placed)
        } else {
            Err(RigError::TooFar)
        }
    }
}

fn pure_spin(spin: Vec3) -> GuideMotion {
    GuideMotion {
        spin,
        velocity: Vec3::zeros(),
    }
}

fn pure_translation(velocity: Vec3) -> GuideMotion {
    GuideMotion {
        spin: Vec3::zeros(),
        velocity,
    }
}

/// Returns a rotation with Z outward and X across at tilt 0, turned by tilt about Y.
fn tilted_rotation(x: Vec3, z: Vec3, tilt: f64) -> Mat3 {
    let (sin, cos) = tilt.sin_cos();
    let y = z.cross(&x);
    Mat3::from_columns(&[x * cos - z * sin, y, z * cos + x * sin])
}

/// Returns a unit vector turned about a perpendicular unit axis.
fn rotate_about(v: Vec3, axis: &Vec3, angle: f64) -> Vec3 {
    let (sin, cos) = angle.sin_cos();
    v * cos + axis.cross(&v) * sin
}

pub(super) fn place_on_bone(
    body: &Body,
    bone: &BoneRef,
    along: f64,
    angle: f64,
    distance: f64,
    tilt: f64,
) -> Result<GuidePlacement, RigError> {
    let skeleton = body.skeleton();
    let b = bone_index(skeleton, bone)?;
    let head = skeleton.heads()[b];
    let way = skeleton.tails()[b] - head;
    let (axis, start) = bone_axes(skeleton, b, 1e-12 * body.size())?;
    let out = rotate_about(start, &axis, angle);
    let rotation = tilted_rotation(axis, out, tilt);
    let side = rotation.column(1).into_owned();
    Ok(GuidePlacement {
        frame: GuideFrame {
            rotation,
            origin: head + way * along + out * distance,
        },
        motions: vec![
            pure_translation(way),
            GuideMotion {
                spin: axis,
                velocity: axis.cross(&out) * distance,
            },
            pure_translation(out),
            pure_spin(side),
        ],
    })
}

/// Returns the index of a bone.
pub(super) fn bone_index(skeleton: &Skeleton, bone: &BoneRef) -> Result<usize, RigError> {
    match bone {
        BoneRef::Name(name) => {
            let found = skeleton.names().iter().position(|n| n == name);
            found.ok_or_else(|| RigError::NoBone { name: name.clone() })
        }
        BoneRef::Index(index) => {
            let found = Some(*index as usize).filter(|&b| b < skeleton.len());
            found.ok_or(RigError::BoneIndex {
                bone: *index,
                bones: skeleton.len(),
            })
        }
    }
}

/// Returns the direction of a bone longer than `least`, and that of angle 0 around it.
fn bone_axes(skeleton: &Skeleton, bone: usize, least: f64) -> Result<(Vec3, Vec3), RigError> {
    let way = skeleton.tails()[bone] - skeleton.heads()[bone];
    let axis = way.try_normalize(least).ok_or_else(|| RigError::NoLength {
        name: skeleton.names()[bone].clone(),
    })?;
    let start = if axis.y.abs() > NEAR_Y_COSINE {
        Vec3::z()
    } else {
        -Vec3::y()
    };
    Ok((axis, (start - axis * axis.dot(&start)).normalize()))
}

/// Returns a point by its position along a bone, its direction around it and its distance from it, as [`Guide::Bone`] has them.
pub(super) fn cylindrical_place(
    skeleton: &Skeleton,
    bone: usize,
    x: Vec3,
) -> Result<[f64; 3], RigError> {
    let (axis, start) = bone_axes(skeleton, bone, 0.0)?;
    let (head, tail) = (skeleton.heads()[bone], skeleton.tails()[bone]);
    let along = (x - head).dot(&axis);
    let out = x - head - axis * along;
    let angle = out.dot(&axis.cross(&start)).atan2(out.dot(&start));
    Ok([along / (tail - head).norm(), angle, out.norm()])
}

fn place_under_skin(
    body: &Body,
    face: u32,
    barycentric: &[f64; 3],
    depth: f64,
    roll: f64,
    tilt: f64,
) -> Result<GuidePlacement, RigError> {
    let surface = body.surface();
    let faces = surface.triangles().len();
    let corners = surface
        .triangles()
        .get(face as usize)
        .ok_or(RigError::NoFace { face, faces })?;
    let flat = || RigError::FlatFace { face };
    let [a, b, c] = corners.map(|v| surface.vertices()[v as usize]);
    let size = body.size();
    let edge = (b - a).try_normalize(1e-12 * size).ok_or_else(flat)?;
    let longest = (b - a).norm().max((c - b).norm()).max((a - c).norm());
    let given = (b - a)
        .cross(&(c - a))
        .try_normalize(1e-10 * longest * longest)
        .ok_or_else(flat)?;
    let normal = match surface.outward_normal(face) {
        Some(outward) if outward.dot(&given) < 0.0 => -given,
        _ => given,
    };
    let across = rotate_about(edge, &normal, roll);
    let rotation = tilted_rotation(across, normal, tilt);
    let side = rotation.column(1).into_owned();
    let [u, v, w] = *barycentric;
    Ok(GuidePlacement {
        frame: GuideFrame {
            rotation,
            origin: a * u + b * v + c * w - normal * depth,
        },
        motions: vec![
            pure_translation(-normal),
            pure_spin(normal),
            pure_spin(side),
        ],
    })
}

fn place_freely(base: &GuideFrame, place: Vec3, turn: Vec3) -> GuidePlacement {
    let frame = GuideFrame {
        rotation: base.rotation * rotation(&turn),
        origin: base.origin + base.rotation * place,
    };
    // The left derivative of exp [r]ₓ is the mean rotation on the path from 0 to r.
    let spins = base.rotation * mean_rotation(&turn);
    let column = |m: &Mat3, k: usize| m.column(k).into_owned();
    let slides = (0..3).map(|k| pure_translation(column(&base.rotation, k)));
    let turns = (0..3).map(|k| pure_spin(column(&spins, k)));
    GuidePlacement {
        frame,
        motions: slides.chain(turns).collect(),
    }
}
