// SPDX-License-Identifier: MIT OR Apache-2.0
//! A sample of a sculpted rig: a pose, and displacements that points of the skin are to make there, apart from any mesh.

use super::turns::BoneTurn;
use crate::Vec3;
use crate::range::{all_sound, is_position, is_sound};
use crate::rig::RigError;

/// Digits of the numbers in files: far below what points between vertices miss.
const DIGITS: usize = 5;

/// Largest number of points: several times the vertices of a detailed character.
pub(in crate::rig) const MAX_POINTS: usize = 1 << 20;

/// A point of the skin, and the displacement that it is to make.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SculptPoint {
    /// Place at rest, m.
    pub place: Vec3,
    /// Area of skin that the point stands for, m².
    pub area: f64,
    /// Bone that the skin mainly follows: an index into [`Sculpt::bones`].
    pub bone: u32,
    /// Wanted displacement beyond the balance at the pose, m, in rest axes.
    pub offset: Vec3,
}

/// A pose, and displacements that the skin is to make there. Without points it has no effect.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Sculpt {
    turns: Vec<BoneTurn>,
    bones: Vec<String>,
    points: Vec<SculptPoint>,
    smoothness: f64,
}

impl Sculpt {
    /// Builds a sculpt: turns of bones against their parents (by name, rotation vectors in rest axes, rad), the names of the bones of
    /// the points, the points, and the smoothness η of their fit.
    ///
    /// # Errors
    /// Numbers that are not finite or too large, areas or a smoothness that are not positive, bones that are not among the names, too
    /// many points; the error names the point.
    pub fn new(
        turns: Vec<BoneTurn>,
        bones: Vec<String>,
        points: Vec<SculptPoint>,
        smoothness: f64,
    ) -> Result<Self, RigError> {
        let refuse = |index: usize, what: &'static str| Err(RigError::SculptPoint { index, what });
        if points.len() > MAX_POINTS {
            return refuse(MAX_POINTS, "lies beyond the largest number of points");
        }
        for (index, point) in points.iter().enumerate() {
            if !is_position(&point.place) || !is_position(&point.offset) {
                return refuse(index, "has a place or an offset that is not finite");
            }
            if !(point.area > 0.0 && is_sound(point.area)) {
                return refuse(index, "has an area that is not positive");
            }
            if point.bone as usize >= bones.len() {
                return refuse(index, "has a bone that is not among the names");
            }
        }
        if let Some((name, _)) = turns.iter().find(|(_, turn)| !all_sound(turn)) {
            return Err(RigError::SculptTurn { name: name.clone() });
        }
        if !points.is_empty() && (smoothness <= 0.0 || !is_sound(smoothness)) {
            let (name, value) = ("smoothness", smoothness);
            return Err(RigError::NotPositive { name, value });
        }
        Ok(Self {
            turns,
            bones,
            points,
            smoothness,
        })
    }

    /// Returns the turns of the bones that are not at rest against their parents.
    pub fn turns(&self) -> &[BoneTurn] {
        &self.turns
    }

    /// Returns the names of the bones of the points.
    pub fn bones(&self) -> &[String] {
        &self.bones
    }

    /// Returns the points.
    pub fn points(&self) -> &[SculptPoint] {
        &self.points
    }

    /// Returns the smoothness η of the fit.
    pub fn smoothness(&self) -> f64 {
        self.smoothness
    }

    /// Returns the sculpt with another smoothness, which is positive.
    pub(in crate::rig) fn with_smoothness(self, smoothness: f64) -> Self {
        Self { smoothness, ..self }
    }

    /// Returns the sculpt on the way: the share `s` of every bone's turn and of every offset.
    pub(in crate::rig) fn on_the_way(&self, s: f64) -> Self {
        let mut part = self.clone();
        part.turns.iter_mut().for_each(|(_, turn)| *turn *= s);
        part.points.iter_mut().for_each(|point| point.offset *= s);
        part
    }

    /// Returns the sculpt with the digits of files.
    pub(in crate::rig) fn rounded(&self) -> Self {
        let mut short = self.clone();
        short.smoothness = rounded(short.smoothness);
        for (_, turn) in &mut short.turns {
            *turn = turn.map(rounded);
        }
        for point in &mut short.points {
            point.place = point.place.map(rounded);
            point.offset = point.offset.map(rounded);
            point.area = rounded(point.area);
        }
        short
    }
}

/// Returns the number of [`DIGITS`] significant digits nearest to a number.
fn rounded(x: f64) -> f64 {
    format!("{x:.*e}", DIGITS - 1).parse().unwrap_or(x)
}
