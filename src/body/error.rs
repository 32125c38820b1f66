// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reasons why a body cannot be built.

use crate::basis::MAX_LEVELS;
use crate::solve::SolveError;

/// Reasons why a body cannot be built.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum BodyError {
    /// The caller cancelled.
    #[error(transparent)]
    Cancelled(#[from] crate::progress::Cancelled),
    /// The system is too large.
    #[error(transparent)]
    Solve(#[from] SolveError),
    /// An array has the wrong length.
    #[error("{what}: expected {expected} numbers, one per {per}, but there are {given}")]
    Length {
        /// Name of the array.
        what: &'static str,
        /// Item of the array: a surface vertex or a bone.
        per: &'static str,
        /// Expected length.
        expected: usize,
        /// Actual length.
        given: usize,
    },
    /// A painted factor makes Poisson's ratio impossible.
    #[error(
        "painted Poisson factor at vertex {vertex} is {factor}: times the material's Poisson's ratio, {ratio}, it makes {product}, and a ratio lies above \
         -1 and below 0.5"
    )]
    PoissonFactor {
        /// Index of the vertex.
        vertex: usize,
        /// The factor painted there.
        factor: f64,
        /// Poisson's ratio of the material.
        ratio: f64,
        /// Their product.
        product: f64,
    },
    /// A painted or per-bone number is out of range.
    #[error("{what} at {per} {index} is {value}, but must be {range}")]
    Value {
        /// Name of the array.
        what: &'static str,
        /// Item of the array: a surface vertex or a bone.
        per: &'static str,
        /// Index of the item.
        index: usize,
        /// The value found.
        value: f64,
        /// The permitted range.
        range: &'static str,
    },
    /// The weights belong to another skeleton.
    #[error("the region weights name bone {bone}, but the skeleton has {bones} bones")]
    WeightBone {
        /// Bone index in the weights.
        bone: u32,
        /// Number of bones of the skeleton.
        bones: usize,
    },
    /// The lattice follows a bone that the skeleton does not have.
    #[error(
        "the lattice follows bone {bone}, but the skeleton has {bones} bones: it was built for another skeleton"
    )]
    LatticeBone {
        /// Bone index in the lattice.
        bone: u32,
        /// Number of bones of the skeleton.
        bones: usize,
    },
    /// The twist names a bone that the skeleton does not have.
    #[error("the twist names bone '{bone}', but the skeleton has no bone of that name")]
    TwistBone {
        /// Name of the bone.
        bone: String,
    },
    /// The radius of a bone's twist is out of range.
    #[error(
        "the twist radius of bone '{bone}' is {radius} m, but must be above 0 and at most the body's size, {size:.4} m; strength 0 switches a twist off"
    )]
    TwistRadius {
        /// Name of the bone.
        bone: String,
        /// Its radius, metres.
        radius: f64,
        /// Size of the body, metres.
        size: f64,
    },
    /// The strength of a bone's twist is out of range.
    #[error(
        "the twist strength of bone '{bone}' is {strength}, but must be between 0, off, and {max:e}"
    )]
    TwistStrength {
        /// Name of the bone.
        bone: String,
        /// Its strength.
        strength: f64,
        /// Upper bound.
        max: f64,
    },
    /// The stiffening factor is not positive.
    #[error("the factor of stiffness must be positive, not {0}")]
    Stiffening(f64),
    /// A bone to free that the skeleton lacks.
    #[error("there is no bone {bone} to free: the skeleton has {bones}")]
    FreedBone {
        /// Number of the bone.
        bone: u32,
        /// Number of bones.
        bones: usize,
    },
    /// Freed bones whose flesh no other bone holds.
    #[error(
        "without these bones nothing would hold their flesh: they need a bone above them to hang on, which is not one of them"
    )]
    FreedBones,
    /// A body that cannot be made again with another softness.
    #[error(
        "bones of this body were freed, so it cannot be made again with another softness: set the softness before"
    )]
    NoRecipe,
    /// The skeleton has no bones to hold the flesh.
    #[error("the skeleton has no bones: there is nothing for the flesh to hang on")]
    NoBones,
    /// The subdivision level is out of range.
    #[error("level must lie between 0 and 3, not {0}")]
    Level(usize),
    /// The number of levels of the basis is out of range.
    #[error("basis_levels must lie between 0 and {MAX_LEVELS}, not {0}")]
    BasisLevels(usize),
    /// The levels of the basis need too much memory.
    #[error(
        "basis_levels {levels} on a lattice of {cells} cells needs about {gigabytes:.0} GB of memory: use at most {possible}, or a coarser lattice"
    )]
    Memory {
        /// Levels asked for.
        levels: usize,
        /// Number of cells of the lattice.
        cells: usize,
        /// Memory needed, 10⁹ bytes.
        gigabytes: f64,
        /// Largest number of levels that fits.
        possible: usize,
    },
    /// The surface and the lattice do not overlap.
    #[error(
        "no flesh lies in the lattice: it was built for another mesh, or the mesh encloses nothing"
    )]
    NoFlesh,
    /// The lattice leaves out most of the mesh.
    #[error(
        "most of the mesh lies outside the lattice, up to {farthest:.3} m: it was built for another mesh; build one around this mesh"
    )]
    OtherMesh {
        /// Distance of the farthest vertex from the lattice, metres.
        farthest: f64,
    },
    /// All region weights are zero.
    #[error(
        "all region weights are zero: no vertex follows any bone; paint some, or leave them out to use the nearest bones"
    )]
    NoWeights,
    /// A stored body is inconsistent.
    #[error("the saved body is damaged: {0}")]
    Damaged(&'static str),
}
