// SPDX-License-Identifier: MIT OR Apache-2.0
//! One medial atom: its spokes, its fans, and their derivatives by the atom's parameters.
//!
//! Sources: [oguz2005, slides 5 and 6; pizer2003, §2]; the fan is ours.

use super::fan::Fan;
use crate::geometry::rotation::{logarithm, renormalise};
use crate::mrep::error::MRepError;
use crate::range::{self, max_abs_entry};
use crate::{Mat3, Vec3};
use std::f64::consts::{FRAC_PI_2, PI, TAU};

/// A hub inside a body with spokes to its boundary.
#[derive(Debug, Clone, PartialEq)]
pub struct Atom {
    /// Position, metres.
    pub hub: Vec3,
    /// Base length r of the spokes, metres, before the relative lengths.
    pub radius: f64,
    /// Rotation with columns b (bisector of a slab's spokes, direction along a tube), b⊥ and n.
    pub frame: Mat3,
    /// Object angle θ between b and the spokes, radians: in (0, π/2] for a slab, in (0, π) for a tube.
    pub angle: f64,
    /// End factor η: length of the end spoke along b over r. Used on a slab's border and at a tube's ends.
    pub end: f64,
    /// Relative lengths ρ: \[up, down\] in a slab, one per spoke around a tube.
    pub lengths: Vec<f64>,
}

/// Role of an atom in its figure: the directions of its spokes, and whether the boundary closes around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::mrep) enum Role {
    /// Atom of a slab, on its border or inside.
    Sheet { border: bool },
    /// Atom of a tube, at its first end, its last end or between.
    Axis { first: bool, last: bool },
}

impl Role {
    /// Returns whether the boundary closes around the atom.
    pub fn is_closing(self) -> bool {
        match self {
            Self::Sheet { border } => border,
            Self::Axis { first, last } => first || last,
        }
    }

    /// Returns the largest object angle; for a tube it is exclusive.
    fn max_object_angle(self) -> f64 {
        match self {
            Self::Sheet { .. } => FRAC_PI_2,
            Self::Axis { .. } => PI,
        }
    }

    /// Returns the component of spoke `q` of `count` across b, a unit vector in the atom's axes.
    fn transverse_direction(self, q: usize, count: usize) -> Vec3 {
        match self {
            Self::Sheet { .. } => Vec3::new(0.0, 0.0, if q == 0 { 1.0 } else { -1.0 }),
            Self::Axis { .. } => {
                let (sin, cos) = (TAU * q as f64 / count as f64).sin_cos();
                Vec3::new(0.0, sin, cos)
            }
        }
    }

    /// Returns the sign of the end spoke along b, and the angle between it and the spokes; a tube's first end points along −b.
    fn end_spoke_angle(self, angle: f64) -> (f64, f64) {
        match self {
            Self::Axis { first: true, .. } => (-1.0, PI - angle),
            _ => (1.0, angle),
        }
    }

    /// Returns the number of vectors per atom: hub, spokes, and where the boundary closes the end spoke and two tangents per fan.
    pub fn vector_count(self, spokes: usize) -> usize {
        if self.is_closing() {
            Self::tangent_index(0, spokes, spokes)
        } else {
            Self::spoke_index(spokes)
        }
    }

    /// Returns the index of spoke `q` among an atom's vectors.
    pub fn spoke_index(q: usize) -> usize {
        1 + q
    }

    /// Returns the index of the end spoke among an atom's vectors.
    pub fn end_spoke_index(spokes: usize) -> usize {
        1 + spokes
    }

    /// Returns the index of a fan's tangent: at spoke `q` (`which` 0) or at the end spoke (1).
    pub fn tangent_index(which: usize, q: usize, spokes: usize) -> usize {
        2 + spokes + 2 * q + which
    }

    /// Returns the number of unknowns per atom: hub 3, log r, rotation 3, θ, log η where the boundary closes, log ρ of each spoke.
    pub fn unknown_count(self, spokes: usize) -> usize {
        8 + usize::from(self.is_closing()) + spokes
    }

    /// Returns the index of log ρ of spoke `q` among the unknowns.
    pub fn length_index(self, q: usize) -> usize {
        8 + usize::from(self.is_closing()) + q
    }
}

/// Index of log r. Unknowns 0 to 2 are the hub's displacement over r, in the atom's axes.
pub(in crate::mrep) const LOG_RADIUS: usize = 3;
/// First index of the rotation vector in the atom's axes, of three.
pub(in crate::mrep) const ROTATION: usize = 4;
/// Index of the object angle.
pub(in crate::mrep) const ANGLE: usize = 7;
/// Index of log η, where the boundary closes.
pub(in crate::mrep) const LOG_END: usize = 8;

impl Atom {
    /// Builds an atom whose spokes all have length r.
    pub fn new(hub: Vec3, radius: f64, frame: Mat3, angle: f64, spokes: usize) -> Self {
        Self {
            hub,
            radius,
            frame,
            angle,
            end: 1.0,
            lengths: vec![1.0; spokes],
        }
    }

    /// Returns the mean length of the spokes, metres: r times the geometric mean of ρ. The boundary depends on the products r ρ alone, and so does
    /// this length.
    pub fn mean_spoke_length(&self) -> f64 {
        let logarithms = self.lengths.iter().map(|x| x.ln()).sum::<f64>();
        self.radius * (logarithms / self.lengths.len().max(1) as f64).exp()
    }

    /// Returns the atom with its frame made an exact rotation; refuses numbers out of range, with `name` in the error.
    pub(in crate::mrep) fn validated(
        mut self,
        role: Role,
        name: &dyn Fn() -> String,
    ) -> Result<Self, MRepError> {
        if !range::is_position(&self.hub) {
            return Err(MRepError::Place(name()));
        }
        let wrong = |what, value, range| MRepError::Atom {
            what,
            atom: name(),
            value,
            range,
        };
        const POSITIVE_NUMBER: &str = "a number above zero";
        let positive = |x: f64| (1e-12..=range::MAX_COORDINATE).contains(&x);
        if !positive(self.radius) {
            return Err(wrong("the radius", self.radius, POSITIVE_NUMBER));
        }
        if !positive(self.end) {
            return Err(wrong("the end factor", self.end, POSITIVE_NUMBER));
        }
        if let Some(&length) = self.lengths.iter().find(|x| !positive(**x)) {
            return Err(wrong("a relative length", length, POSITIVE_NUMBER));
        }
        let widest = role.max_object_angle();
        if !(self.angle > 0.0 && self.angle <= widest + 1e-12) || self.angle >= PI {
            let range = match role {
                Role::Sheet { .. } => "above 0 and at most π/2",
                Role::Axis { .. } => "above 0 and below π",
            };
            return Err(wrong("the object angle", self.angle, range));
        }
        self.angle = self.angle.min(widest);
        let off = max_abs_entry(&(self.frame.transpose() * self.frame - Mat3::identity()));
        // Frames in single precision, or from files with few digits, still count as rotations.
        if !(off < 1e-4 && self.frame.determinant() > 0.0) {
            return Err(MRepError::Frame(name()));
        }
        if off > 1e-14 {
            self.frame = renormalise(&self.frame);
        }
        Ok(self)
    }

    /// Returns the vectors from which the boundary is interpolated, in world axes; order: hub, then as [`Role::spoke_index`] and its siblings.
    pub(in crate::mrep) fn vectors(&self, role: Role) -> Vec<Vec3> {
        let spokes = self.lengths.len();
        let mut out = vec![Vec3::zeros(); role.vector_count(spokes)];
        out[0] = self.hub;
        let axes = self.frame * self.radius;
        let (facing, angle) = role.end_spoke_angle(self.angle);
        for (q, &length) in self.lengths.iter().enumerate() {
            let across = role.transverse_direction(q, spokes);
            let [fan, ..] = Fan::new(angle, length, self.end);
            let place = |v: [f64; 2]| axes * (Vec3::x() * (facing * v[0]) + across * v[1]);
            out[Role::spoke_index(q)] = place(fan.spoke);
            if role.is_closing() {
                out[Role::tangent_index(0, q, spokes)] = place(fan.leave);
                out[Role::tangent_index(1, q, spokes)] = place(fan.arrive);
            }
        }
        if role.is_closing() {
            out[Role::end_spoke_index(spokes)] = axes * Vec3::x() * (facing * self.end);
        }
        out
    }

    /// Returns the derivatives of all vectors by all unknowns: `[vector][unknown]`.
    pub(in crate::mrep) fn derivatives(&self, role: Role) -> Vec<Vec<Vec3>> {
        let spokes = self.lengths.len();
        let count = role.unknown_count(spokes);
        let axes = self.frame * self.radius;
        let mut out = vec![vec![Vec3::zeros(); count]; role.vector_count(spokes)];
        for (slot, axis) in out[0].iter_mut().zip(axes.column_iter()) {
            *slot = axis.into_owned();
        }
        // Rotation and scale act on all vectors but the hub.
        for (row, vector) in out.iter_mut().zip(self.vectors(role)).skip(1) {
            row[LOG_RADIUS] = vector;
            for k in 0..3 {
                row[ROTATION + k] = self.frame.column(k).cross(&vector);
            }
        }
        let (facing, angle) = role.end_spoke_angle(self.angle);
        for (q, &length) in self.lengths.iter().enumerate() {
            let across = role.transverse_direction(q, spokes);
            let place = |v: [f64; 2]| axes * (Vec3::x() * (facing * v[0]) + across * v[1]);
            let mut set = |unknown: usize, sign: f64, fan: &Fan| {
                out[Role::spoke_index(q)][unknown] = place(fan.spoke) * sign;
                if role.is_closing() {
                    out[Role::tangent_index(0, q, spokes)][unknown] = place(fan.leave) * sign;
                    out[Role::tangent_index(1, q, spokes)][unknown] = place(fan.arrive) * sign;
                }
            };
            let [_, turned, longer, farther] = Fan::new(angle, length, self.end);
            // At an end that points along −b, the angle to the end spoke falls as θ grows.
            set(ANGLE, facing, &turned);
            set(role.length_index(q), 1.0, &longer);
            if role.is_closing() {
                set(LOG_END, 1.0, &farther);
            }
        }
        if role.is_closing() {
            out[Role::end_spoke_index(spokes)][LOG_END] = axes * Vec3::x() * (facing * self.end);
        }
        out
    }

    /// Returns the step by which [`Self::apply_step`] leads from this atom to another.
    pub(in crate::mrep) fn difference(&self, role: Role, other: &Self) -> Vec<f64> {
        let axes = self.frame.transpose();
        let hub = axes * (other.hub - self.hub) / self.radius;
        let turn = logarithm(&(axes * other.frame));
        let mut out: Vec<f64> = hub.iter().copied().collect();
        out.push((other.radius / self.radius).ln());
        out.extend(turn.iter());
        out.push(other.angle - self.angle);
        if role.is_closing() {
            out.push((other.end / self.end).ln());
        }
        let lengths = self.lengths.iter().zip(&other.lengths);
        out.extend(lengths.map(|(a, b)| (b / a).ln()));
        out
    }

    /// Returns the atom after a step of its unknowns, with angles clamped to their range.
    pub(in crate::mrep) fn apply_step(&self, role: Role, step: &[f64]) -> Self {
        /// Margin of object angles to the ends of their range, radians: 1.1°. Nearer angles leave no body between the spokes.
        const ANGLE_MARGIN: f64 = 0.02;
        let turn = nalgebra::Rotation3::new(Vec3::from_column_slice(&step[ROTATION..ROTATION + 3]));
        let widest = match role {
            Role::Sheet { .. } => FRAC_PI_2,
            Role::Axis { .. } => PI - ANGLE_MARGIN,
        };
        let mut lengths = self.lengths.clone();
        for (q, length) in lengths.iter_mut().enumerate() {
            *length *= step[role.length_index(q)].exp();
        }
        Self {
            hub: self.hub + self.frame * Vec3::from_column_slice(&step[..3]) * self.radius,
            radius: self.radius * step[LOG_RADIUS].exp(),
            frame: renormalise(&(self.frame * turn.matrix())),
            // An atom that is already narrower keeps its angle, unless the step opens it.
            angle: (self.angle + step[ANGLE])
                .clamp(ANGLE_MARGIN.min(self.angle), widest.max(self.angle)),
            end: self.end
                * if role.is_closing() {
                    step[LOG_END].exp()
                } else {
                    1.0
                },
            lengths,
        }
    }
}

#[cfg(test)]
pub(in crate::mrep) mod tests {
    use super::*;

    pub const ROLES: [Role; 5] = [
        Role::Sheet { border: false },
        Role::Sheet { border: true },
        Role::Axis {
            first: true,
            last: false,
        },
        Role::Axis {
            first: false,
            last: true,
        },
        Role::Axis {
            first: false,
            last: false,
        },
    ];

    /// An atom with nothing special about it.
    fn atom(role: Role) -> Atom {
        let turn = nalgebra::Rotation3::new(Vec3::new(0.4, -1.1, 0.7));
        let lengths = match role {
            Role::Sheet { .. } => vec![0.9, 1.2],
            Role::Axis { .. } => vec![0.8, 1.0, 1.3, 1.1, 0.7],
        };
        Atom {
            hub: Vec3::new(1.0, 2.0, -0.5),
            radius: 0.7,
            frame: *turn.matrix(),
            angle: 1.1,
            end: 1.4,
            lengths,
        }
    }

    /// The difference between an atom and its moved copy is the step that was taken.
    #[test]
    fn difference_inverts_apply_step() {
        let mut random = crate::surface::shapes::Random(2);
        for role in ROLES {
            let atom = atom(role);
            let count = role.unknown_count(atom.lengths.len());
            let step: Vec<f64> = (0..count).map(|_| 0.6 * (random.next() - 0.5)).collect();
            let found = atom.difference(role, &atom.apply_step(role, &step));
            for (a, b) in step.iter().zip(&found) {
                assert!((a - b).abs() < 1e-12, "{role:?} {step:?} {found:?}");
            }
        }
    }

    /// The derivatives of an atom's vectors agree with finite differences.
    #[test]
    fn atom_derivatives_match_differences() {
        for role in ROLES {
            let atom = atom(role);
            let exact = atom.derivatives(role);
            for unknown in 0..role.unknown_count(atom.lengths.len()) {
                let h = 1e-6;
                let mut step = vec![0.0; role.unknown_count(atom.lengths.len())];
                step[unknown] = h;
                let after = atom.apply_step(role, &step).vectors(role);
                step[unknown] = -h;
                let before = atom.apply_step(role, &step).vectors(role);
                for (v, row) in exact.iter().enumerate() {
                    let difference = (after[v] - before[v]) / (2.0 * h);
                    let error = (difference - row[unknown]).norm();
                    assert!(
                        error < 1e-8,
                        "{role:?} vector {v} unknown {unknown}: {error}"
                    );
                }
            }
        }
    }
}
