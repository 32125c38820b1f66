// SPDX-License-Identifier: MIT OR Apache-2.0
//! Errors of correspondences.

use super::Side;
use crate::progress::Cancelled;
use crate::rig::RigError;
use crate::skeleton::SkeletonError;
use crate::solve::SolveError;

/// Reasons why two characters do not correspond, or why something cannot be carried.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CorrespondenceError {
    /// The caller cancelled.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
    /// No bone of one character corresponds to one of the other.
    #[error(
        "the two characters have no bones in common: pass the pairs of bones that correspond, such as their hips and heads"
    )]
    NoPairs,
    /// A pair names a bone that the character does not have.
    #[error("pair {pair} names the bone '{name}', which the {side} character does not have")]
    UnknownBone {
        /// Index of the pair.
        pair: usize,
        /// Character.
        side: Side,
        /// Name passed.
        name: String,
    },
    /// A pair has a number of a bone that the character does not have.
    #[error("pair {pair} names bone {bone}, but the {side} character has {bones} bones")]
    BoneIndex {
        /// Index of the pair.
        pair: usize,
        /// Character.
        side: Side,
        /// Number passed.
        bone: u32,
        /// Number of bones.
        bones: usize,
    },
    /// A bone is in two pairs.
    #[error(
        "pair {pair} has the bone '{name}' of the {side} character, which is in an earlier pair already"
    )]
    BoneTwice {
        /// Index of the later pair.
        pair: usize,
        /// Character.
        side: Side,
        /// Name of the bone.
        name: String,
    },
    /// A landmark is not finite.
    #[error("landmark {landmark} is not finite on the {side} character")]
    LandmarkNonFinite {
        /// Index of the landmark.
        landmark: usize,
        /// Character.
        side: Side,
    },
    /// A landmark is off the skin.
    #[error(
        "landmark {landmark} is {distance:.3} m off the skin of the {side} character, and may be {allowed:.3} m: put it on the skin"
    )]
    LandmarkOffSkin {
        /// Index of the landmark.
        landmark: usize,
        /// Character.
        side: Side,
        /// Distance from the skin, metres.
        distance: f64,
        /// Largest distance allowed, metres.
        allowed: f64,
    },
    /// The bone has no partner, nor has a bone above it.
    #[error("the bone '{name}' has no partner on the target character: pass a pair with it")]
    NoPartner {
        /// Name of the source bone.
        name: String,
    },
    /// Both ends of a muscle over a joint would lie on one bone.
    #[error(
        "the muscle '{name}' would have both ends on one bone of the target character, so that no joint shortens it: pass a pair with its \
         other bone"
    )]
    OneBone {
        /// Name of the muscle.
        name: String,
    },
    /// A point to carry has a number that is not finite.
    #[error("point {point} to carry has a number that is not finite")]
    PointNonFinite {
        /// Index of the point.
        point: usize,
    },
    /// The rig does not fit the source character.
    #[error("the rig '{name}' does not belong to the source character: {error}")]
    ForeignRig {
        /// Name of the rig.
        name: String,
        /// Reason.
        error: RigError,
    },
    /// The rig as carried is none.
    #[error("the rig '{name}' cannot stand on the target character: {error}")]
    CarriedRig {
        /// Name of the rig.
        name: String,
        /// Reason.
        error: RigError,
    },
    /// The pose does not fit the source skeleton.
    #[error(transparent)]
    Pose(#[from] SkeletonError),
    /// The system of the fit cannot be solved.
    #[error(transparent)]
    Solve(#[from] SolveError),
}
