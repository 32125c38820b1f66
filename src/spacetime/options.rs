// SPDX-License-Identifier: MIT OR Apache-2.0
//! Settings of a motion through keyframes.

use super::SpacetimeError;
use crate::Vec3;
use crate::range::is_sound;
use std::collections::BTreeMap;

/// Prescribed velocities at a keyframe; one vector per vertex, per second.
#[derive(Debug, Clone, PartialEq, Default, serde::Serialize, serde::Deserialize)]
pub enum Velocity {
    /// Nothing is prescribed. The first and the last keyframe are natural ends, at which no force acts.
    #[default]
    Free,
    /// One velocity, equal before and behind.
    Given(Vec<Vec3>),
    /// A cut: velocities before and behind differ, each prescribed or free.
    Cut(Option<Vec<Vec3>>, Option<Vec<Vec3>>),
}

/// Additional shapes to linearise around. They attract the motion, which need not reach them.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Ghosts {
    /// No ghosts.
    #[default]
    None,
    /// Ghosts where neighbouring keyframes differ by large rotations.
    Auto,
    /// Ghosts at given times between keyframes.
    Given(Vec<(f64, Vec<Vec3>)>),
}

/// Treatment of the best rigid motion: factored out before modes are computed, or kept.
///
/// Factored out, rotations do not stretch the body, and the centre's motion is a minimiser. The rotation is a minimiser about a single
/// axis, and otherwise a smooth curve through the keyframes' rotations. Centrifugal and Coriolis forces on the deformation are neglected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RigidMotion {
    /// Factored out where no vertex is fixed.
    #[default]
    Auto,
    /// Like `Auto`, with a note where fixed vertices prevent it.
    Removed,
    /// Never factored out: the problem of \[hildebrandt2012, §4.1\] as printed.
    Kept,
}

/// Parameters that change without a new preprocess. [hildebrandt2012, §4.4]
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct SpacetimeSettings {
    /// Factor of the elastic energy.
    pub stiffness: f64,
    /// α (1/s) and β (s): damping `αM + βK`.
    pub damping: (f64, f64),
    /// A constant acceleration.
    pub gravity: Vec3,
    /// Velocities by keyframe; free where a keyframe has no entry.
    pub velocities: BTreeMap<usize, Velocity>,
}

impl Default for SpacetimeSettings {
    fn default() -> Self {
        Self {
            stiffness: 1.0,
            damping: (0.0, 0.0),
            gravity: Vec3::zeros(),
            velocities: BTreeMap::new(),
        }
    }
}

/// Rest shape of the elastic energy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
pub enum RestShape {
    /// The body's own rest shape: keyframes are strained, and spring back. [hildebrandt2012, §3]
    #[default]
    Body,
    /// Every keyframe: it is a pose around which the body oscillates.
    Keyframes,
}

/// Settings of the preprocess: the reduced space.
#[derive(Debug, Clone, PartialEq)]
pub struct SpaceSettings {
    /// Number of lowest modes of each keyframe at rest, in addition to its free motions.
    pub modes: usize,
    /// Mask of vertices fixed at their positions in the keyframes; empty: no vertex is fixed.
    pub fixed: Vec<bool>,
    /// Whether the last keyframe is the first again.
    pub cyclic: bool,
    /// Additional shapes to linearise around.
    pub ghosts: Ghosts,
    /// Treatment of rigid motion.
    pub rigid: RigidMotion,
    /// Rest shape of the body.
    pub rests: RestShape,
    /// Largest number of unknowns with which a body keeps its full space.
    pub full_below: usize,
}

impl Default for SpaceSettings {
    fn default() -> Self {
        Self {
            modes: 10,
            fixed: Vec::new(),
            cyclic: false,
            ghosts: Ghosts::None,
            rigid: RigidMotion::Auto,
            rests: RestShape::Body,
            full_below: 1500,
        }
    }
}

impl SpacetimeSettings {
    /// Checks that the settings are in range.
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

/// Checks the number of vectors and that all are finite.
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
    match shape.iter().position(|x| !crate::range::is_position(x)) {
        Some(vertex) => Err(SpacetimeError::NotFinite {
            what: what(),
            vertex,
        }),
        None => Ok(()),
    }
}
