// SPDX-License-Identifier: MIT OR Apache-2.0
//! Guides: where on a character a template sits, and which ways it can still go. [capell2006, §4.1]
//!
//! A guide places a rigid frame in rest space, with columns X, Y, Z and an origin, from a few continuous parameters:
//!
//! - **bone**: `origin = head + along (tail − head) + distance·out`. `out` is perpendicular to the bone; at angle 0 it is
//!   the part of world −Y that is perpendicular to the bone (of +Z for bones within 30° of Y), and a positive angle turns it
//!   right-handed about the direction head to tail. At tilt 0, Z = out and X points along the bone.
//! - **skin**: `origin = the point of a rest triangle − depth·n`, n the outward normal. At tilt 0, Z = n and X is the
//!   direction of the triangle's first edge, turned about n by roll.
//! - **free**: a frame, then a translation (x, y, z) in it, then the rotation by the vector (rx, ry, rz).
//!
//! Tilt turns about Y, so that at +π/2 Z points where X pointed. Lengths are metres, angles radians, `along` is a fraction
//! of the bone. [`Placed`] carries with the frame its motion by each parameter: spin and velocity, exact.

use super::{ParameterKind, RigError};
use crate::body::Body;
use crate::range;
use crate::skeleton::polar;
use crate::skeleton::rotation_vector::{mean_rotation, rotation};
use crate::{Mat3, Mat4, Vec3};

/// A rigid frame in rest space.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GuideFrame {
    /// Columns X, Y, Z.
    pub rotation: Mat3,
    /// Metres.
    pub origin: Vec3,
}

/// A frame and how it moves with each parameter of its guide.
#[derive(Debug, Clone, PartialEq)]
pub struct Placed {
    /// The frame.
    pub frame: GuideFrame,
    /// One per parameter, in order.
    pub motions: Vec<Motion>,
}

/// How a frame moves with a parameter: `dR = [spin]ₓ R`, `d origin = velocity`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Motion {
    /// Radians per unit of the parameter, rest axes.
    pub spin: Vec3,
    /// Metres per unit of the parameter, rest axes.
    pub velocity: Vec3,
}

/// A bone by its name, or by its number in the skeleton.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BoneRef {
    /// By name; of several bones with it the first.
    Name(String),
    /// By number.
    Index(u32),
}

/// What a template is tied to, and the values of the guide's parameters.
#[derive(Debug, Clone, PartialEq)]
pub enum Guide {
    /// Beside a bone; `[along, angle, distance, tilt]`.
    Bone {
        /// The bone.
        bone: BoneRef,
        /// Values of its parameters.
        values: [f64; 4],
    },
    /// Under a point of the body's own surface; `[depth, roll, tilt]`.
    Skin {
        /// Triangle of the surface as given.
        face: u32,
        /// Weights of the triangle's corners; they sum to one.
        barycentric: [f64; 3],
        /// Values of its parameters.
        values: [f64; 3],
    },
    /// Anywhere; `[x, y, z, rx, ry, rz]`.
    Free {
        /// Where it is when all parameters are zero.
        frame: GuideFrame,
        /// Values of its parameters.
        values: [f64; 6],
    },
}

/// Barycentric weights may miss a sum of one by this much, and then are scaled.
const SUM_SLACK: f64 = 1e-3;
/// A free frame's columns may differ this much from a rotation's, as a share of their length.
const RIGID_SLACK: f64 = 1e-4;
/// Cosine of the angle to Y below which a bone takes +Z for its angle 0.
const NEAR_Y: f64 = 0.866_025_403_784_438_6;

impl GuideFrame {
    /// The frame of world axes.
    pub fn identity() -> Self {
        Self {
            rotation: Mat3::identity(),
            origin: Vec3::zeros(),
        }
    }

    /// The frame of a matrix that acts on column vectors. A uniform scale is taken out of it, and small deviations
    /// from a rotation (single precision) are evened out.
    ///
    /// # Errors
    /// A matrix that is not finite, singular, mirrored, sheared or scaled differently along its axes.
    pub fn from_matrix(matrix: &Mat4) -> Result<Self, RigError> {
        if let Some(value) = matrix
            .iter()
            .copied()
            .find(|x| x.is_nan() || x.abs() > range::FARTHEST)
        {
            return Err(RigError::NonFinite {
                name: "matrix",
                value,
            });
        }
        let refused = |what| Err(RigError::Matrix { what });
        let row = matrix.row(3);
        if row.columns(0, 3).iter().any(|x| x.abs() > 1e-9) || (row[3] - 1.0).abs() > 1e-9 {
            return refused("its last row is not 0 0 0 1");
        }
        let linear: Mat3 = matrix.fixed_view::<3, 3>(0, 0).into_owned();
        let origin = matrix.fixed_view::<3, 1>(0, 3).into_owned();
        if is_rotation(&linear) {
            // Kept to the bit: files give back what was written.
            return Ok(Self {
                rotation: linear,
                origin,
            });
        }
        let scale = linear.norm() / 3f64.sqrt();
        if scale <= 0.0 || !(1.0 / scale).is_finite() {
            return refused("it is singular");
        }
        let unit = linear / scale;
        let (turn, stretch) = polar(&unit);
        if unit.determinant().abs() < 1e-9 {
            return refused("it is singular");
        }
        if unit.determinant() < 0.0 {
            return refused("it mirrors");
        }
        if range::largest(&(stretch - Mat3::identity())) > RIGID_SLACK {
            return refused("it shears, or scales its axes differently");
        }
        Ok(Self {
            rotation: turn.to_rotation_matrix().into_inner(),
            origin,
        })
    }

    /// As a matrix that acts on column vectors.
    pub fn matrix(&self) -> Mat4 {
        let mut m = self.rotation.to_homogeneous();
        m.fixed_view_mut::<3, 1>(0, 3).copy_from(&self.origin);
        m
    }

    /// A point of rest space in the frame.
    #[inline]
    pub fn local(&self, x: &Vec3) -> Vec3 {
        self.rotation.tr_mul(&(x - self.origin))
    }
}

impl Guide {
    /// A guide beside a bone; angle and tilt in radians, distance in metres.
    ///
    /// # Errors
    /// A value that is not finite.
    pub fn bone(bone: BoneRef, values: [f64; 4]) -> Result<Self, RigError> {
        Self::Bone { bone, values }.checked()
    }

    /// A guide under a point of a triangle of the body's own surface, as given; depth in metres, roll and tilt in radians.
    ///
    /// # Errors
    /// A value that is not finite, weights that are negative or whose sum is not one; small errors are scaled away.
    pub fn skin(face: u32, barycentric: [f64; 3], values: [f64; 3]) -> Result<Self, RigError> {
        let sum: f64 = barycentric.iter().sum();
        let nonsense = barycentric.iter().any(|&w| w.is_nan() || w < -SUM_SLACK);
        if nonsense || (sum - 1.0).abs() > SUM_SLACK || !sum.is_finite() {
            return Err(RigError::Barycentric { barycentric });
        }
        // Weights that sum to one up to rounding are kept to the bit: files give back what was written.
        let exact = (sum - 1.0).abs() <= 4.0 * f64::EPSILON;
        let barycentric = barycentric.map(|w| if exact { w } else { w / sum });
        Self::Skin {
            face,
            barycentric,
            values,
        }
        .checked()
    }

    /// A guide anywhere; x, y, z in metres, rx, ry, rz in radians.
    ///
    /// # Errors
    /// A value that is not finite.
    pub fn free(frame: GuideFrame, values: [f64; 6]) -> Result<Self, RigError> {
        Self::Free { frame, values }.checked()
    }

    fn checked(self) -> Result<Self, RigError> {
        let mut named = self.parameter_names().iter().zip(self.values());
        match named.find(|(_, value)| !range::is_sound(**value)) {
            Some((name, &value)) => Err(RigError::NonFinite { name, value }),
            None => Ok(self),
        }
    }

    /// The kind's name in the interface.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Bone { .. } => "bone",
            Self::Skin { .. } => "skin",
            Self::Free { .. } => "free",
        }
    }

    /// Names of its continuous parameters, in order.
    pub fn parameter_names(&self) -> &'static [&'static str] {
        match self {
            Self::Bone { .. } => &["along", "angle", "distance", "tilt"],
            Self::Skin { .. } => &["depth", "roll", "tilt"],
            Self::Free { .. } => &["x", "y", "z", "rx", "ry", "rz"],
        }
    }

    /// What kind of number each of them is.
    pub fn parameter_kinds(&self) -> &'static [ParameterKind] {
        use ParameterKind::{Angle, Distance, Offset, Share};
        match self {
            Self::Bone { .. } => &[Share, Angle, Distance, Angle],
            Self::Skin { .. } => &[Offset, Angle, Angle],
            Self::Free { .. } => &[Offset, Offset, Offset, Angle, Angle, Angle],
        }
    }

    /// Values of its parameters, in order.
    pub fn values(&self) -> &[f64] {
        match self {
            Self::Bone { values, .. } => values,
            Self::Skin { values, .. } => values,
            Self::Free { values, .. } => values,
        }
    }

    /// The frame with other values of the parameters, as many as there are names.
    ///
    /// # Errors
    /// A bone or face that the body does not have, or that has no length or area; a wrong number of values.
    pub fn place(&self, body: &Body, values: &[f64]) -> Result<Placed, RigError> {
        let placed = match (self, values) {
            (Self::Bone { bone, .. }, &[along, angle, distance, tilt]) => {
                by_bone(body, bone, along, angle, distance, tilt)?
            }
            (
                Self::Skin {
                    face, barycentric, ..
                },
                &[depth, roll, tilt],
            ) => by_skin(body, *face, barycentric, depth, roll, tilt)?,
            (Self::Free { frame, .. }, &[x, y, z, rx, ry, rz]) => {
                freely(frame, Vec3::new(x, y, z), Vec3::new(rx, ry, rz))
            }
            _ => {
                return Err(RigError::Count {
                    expected: self.parameter_names().len(),
                    given: values.len(),
                });
            }
        };
        // Values so large that positions overflow.
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

fn is_rotation(m: &Mat3) -> bool {
    range::largest(&(m.tr_mul(m) - Mat3::identity())) < 1e-14 && m.determinant() > 0.0
}

fn still(spin: Vec3) -> Motion {
    Motion {
        spin,
        velocity: Vec3::zeros(),
    }
}

fn sliding(velocity: Vec3) -> Motion {
    Motion {
        spin: Vec3::zeros(),
        velocity,
    }
}

/// Columns for Z outward and X across at tilt 0, turned by tilt about Y.
fn tilted(x: Vec3, z: Vec3, tilt: f64) -> Mat3 {
    let (sin, cos) = tilt.sin_cos();
    let y = z.cross(&x);
    Mat3::from_columns(&[x * cos - z * sin, y, z * cos + x * sin])
}

/// A unit vector turned about a perpendicular unit axis.
fn turned(v: Vec3, axis: &Vec3, angle: f64) -> Vec3 {
    let (sin, cos) = angle.sin_cos();
    v * cos + axis.cross(&v) * sin
}

fn by_bone(
    body: &Body,
    bone: &BoneRef,
    along: f64,
    angle: f64,
    distance: f64,
    tilt: f64,
) -> Result<Placed, RigError> {
    let skeleton = body.skeleton();
    let b = match bone {
        BoneRef::Name(name) => skeleton.names().iter().position(|n| n == name),
        BoneRef::Index(index) => Some(*index as usize).filter(|&b| b < skeleton.len()),
    };
    let b = b.ok_or_else(|| match bone {
        BoneRef::Name(name) => RigError::NoBone { name: name.clone() },
        BoneRef::Index(bone) => RigError::BoneIndex {
            bone: *bone,
            bones: skeleton.len(),
        },
    })?;
    let head = skeleton.heads()[b];
    let way = skeleton.tails()[b] - head;
    let axis = way
        .try_normalize(1e-12 * body.size())
        .ok_or_else(|| RigError::NoLength {
            name: skeleton.names()[b].clone(),
        })?;
    let start = if axis.y.abs() > NEAR_Y {
        Vec3::z()
    } else {
        -Vec3::y()
    };
    let start = (start - axis * axis.dot(&start)).normalize();
    let out = turned(start, &axis, angle);
    let rotation = tilted(axis, out, tilt);
    let side = rotation.column(1).into_owned();
    Ok(Placed {
        frame: GuideFrame {
            rotation,
            origin: head + way * along + out * distance,
        },
        motions: vec![
            sliding(way),
            Motion {
                spin: axis,
                velocity: axis.cross(&out) * distance,
            },
            sliding(out),
            still(side),
        ],
    })
}

fn by_skin(
    body: &Body,
    face: u32,
    barycentric: &[f64; 3],
    depth: f64,
    roll: f64,
    tilt: f64,
) -> Result<Placed, RigError> {
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
    let normal = match surface.outward(face) {
        Some(outward) if outward.dot(&given) < 0.0 => -given,
        _ => given,
    };
    let across = turned(edge, &normal, roll);
    let rotation = tilted(across, normal, tilt);
    let side = rotation.column(1).into_owned();
    let [u, v, w] = *barycentric;
    Ok(Placed {
        frame: GuideFrame {
            rotation,
            origin: a * u + b * v + c * w - normal * depth,
        },
        motions: vec![sliding(-normal), still(normal), still(side)],
    })
}

fn freely(base: &GuideFrame, place: Vec3, turn: Vec3) -> Placed {
    let frame = GuideFrame {
        rotation: base.rotation * rotation(&turn),
        origin: base.origin + base.rotation * place,
    };
    // The derivative of exp [r]ₓ from the left is the mean rotation on the way to r.
    let spins = base.rotation * mean_rotation(&turn);
    let column = |m: &Mat3, k: usize| m.column(k).into_owned();
    let slides = (0..3).map(|k| sliding(column(&base.rotation, k)));
    let turns = (0..3).map(|k| still(column(&spins, k)));
    Placed {
        frame,
        motions: slides.chain(turns).collect(),
    }
}
