// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a motion through keyframes can be told.

use super::SpacetimeError;
use crate::Vec3;
use crate::range::is_sound;
use std::collections::BTreeMap;

/// What is prescribed of the velocities at a keyframe; one vector per vertex, per second.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Velocity {
    /// Nothing. At the first and the last keyframe: the natural end, at which no force acts.
    #[default]
    Free,
    /// One velocity before and behind.
    Given(Vec<Vec3>),
    /// A cut: velocities before and behind differ, each prescribed or free.
    Cut(Option<Vec<Vec3>>, Option<Vec<Vec3>>),
}

/// Further shapes to linearise around, which draw the motion and need not be reached.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Ghosts {
    /// None.
    #[default]
    None,
    /// Where two neighbours differ by large turns.
    Auto,
    /// At times between keyframes.
    Given(Vec<(f64, Vec<Vec3>)>),
}

/// Whether the best rigid motion is taken out before modes are.
///
/// Where it is, turns do not stretch the body. The centre is a minimiser then; the rotation is one about a single axis, and a smooth
/// curve through the turns of the keyframes otherwise. The centrifugal and Coriolis forces of the turning on what deforms are left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RigidMotion {
    /// Where nothing is fixed.
    #[default]
    Auto,
    /// The same, with a note where vertices are fixed, since it is kept then.
    Removed,
    /// Never: the problem of \[hildebrandt2012, §4.1\] as it is printed.
    Kept,
}

/// Numbers that cost no new preprocess. [hildebrandt2012, §4.4]
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Factor of the elastic energy.
    pub stiffness: f64,
    /// α (1/s) and β (s): damping `αM + βK`.
    pub damping: (f64, f64),
    /// A constant acceleration.
    pub gravity: Vec3,
    /// Velocities at keyframes; free where none is named.
    pub velocities: BTreeMap<usize, Velocity>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            stiffness: 1.0,
            damping: (0.0, 0.0),
            gravity: Vec3::zeros(),
            velocities: BTreeMap::new(),
        }
    }
}

/// Where forces vanish.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Rests {
    /// At the body's own rest: keyframes are strained, and spring back. [hildebrandt2012, §3]
    #[default]
    Body,
    /// At every keyframe: it is a pose, about which the body rings.
    Keyframes,
}

/// What the preprocess is told.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// Lowest modes of each keyframe as its own rest, beyond its free motions.
    pub modes: usize,
    /// Vertices that stay where the keyframes have them; empty: none.
    pub fixed: Vec<bool>,
    /// Whether the last keyframe is the first again.
    pub cyclic: bool,
    /// Further shapes to linearise around.
    pub ghosts: Ghosts,
    /// Rigid motion.
    pub rigid: RigidMotion,
    /// Where the body is at rest.
    pub rests: Rests,
    /// Bodies of at most so many unknowns take all of their freedom.
    pub full_below: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            modes: 10,
            fixed: Vec::new(),
            cyclic: false,
            ghosts: Ghosts::None,
            rigid: RigidMotion::Auto,
            rests: Rests::Body,
            full_below: 1500,
        }
    }
}

impl Settings {
    /// Refuses what cannot be computed with.
    pub(super) fn check(&self, nodes: usize, keys: usize) -> Result<(), SpacetimeError> {
        let setting = |name, range, value: f64, good: bool| match good {
            true => Ok(()),
            false => Err(SpacetimeError::Setting { name, range, value }),
        };
        let (alpha, beta) = self.damping;
        let not_negative = |x: f64| x >= 0.0 && is_sound(x);
        let stiffness = self.stiffness;
        setting(
            "the stiffness",
            "a number above zero",
            stiffness,
            stiffness > 0.0 && is_sound(stiffness),
        )?;
        setting(
            "the damping alpha",
            "not negative",
            alpha,
            not_negative(alpha),
        )?;
        setting("the damping beta", "not negative", beta, not_negative(beta))?;
        for &g in self.gravity.iter() {
            setting("gravity", "finite", g, is_sound(g))?;
        }
        for (&key, velocity) in &self.velocities {
            if key >= keys {
                return Err(SpacetimeError::NoSuch {
                    what: "keyframe",
                    index: key,
                    count: keys,
                });
            }
            for (side, given) in [velocity.incoming(), velocity.outgoing()]
                .iter()
                .enumerate()
            {
                let Some(given) = given else { continue };
                let what = || {
                    let side = ["incoming", "outgoing"][side];
                    format!("the {side} velocity at keyframe {key}")
                };
                check_shape(given, nodes, what)?;
            }
        }
        Ok(())
    }
}

impl Velocity {
    pub(super) fn incoming(&self) -> Option<&[Vec3]> {
        match self {
            Self::Free => None,
            Self::Given(v) => Some(v),
            Self::Cut(v, _) => v.as_deref(),
        }
    }

    pub(super) fn outgoing(&self) -> Option<&[Vec3]> {
        match self {
            Self::Free => None,
            Self::Given(v) => Some(v),
            Self::Cut(_, v) => v.as_deref(),
        }
    }
}

/// Refuses vectors of another number or that are no numbers.
pub(super) fn check_shape(
    shape: &[Vec3],
    nodes: usize,
    what: impl Fn() -> String,
) -> Result<(), SpacetimeError> {
    if shape.len() != nodes {
        return Err(SpacetimeError::Size {
            what: what(),
            vertices: shape.len(),
            nodes,
        });
    }
    match shape.iter().position(|x| !crate::range::is_place(x)) {
        Some(vertex) => Err(SpacetimeError::NotFinite {
            what: what(),
            vertex,
        }),
        None => Ok(()),
    }
}
