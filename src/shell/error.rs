// SPDX-License-Identifier: MIT OR Apache-2.0
//! Why there is no shell, or why one could not be relaxed.

use crate::progress::Cancelled;
use crate::solve::SolveError;

/// Why a shell was refused, or what it was asked.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ShellError {
    /// The caller stopped the work.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
    /// No triangle that could be kept.
    #[error("the mesh has no triangle with three different corners: a shell needs at least one")]
    Empty,
    /// Coordinates that are no numbers, or too far out.
    #[error(
        "{what}: vertex {vertex} has a coordinate that is no number or larger than 1e12: move or delete it"
    )]
    Place {
        /// Which positions.
        what: &'static str,
        /// The first such vertex.
        vertex: usize,
    },
    /// A corner that does not exist.
    #[error(
        "triangle {triangle} uses vertex {vertex}, but there are only {count}: vertices count from 0"
    )]
    OutOfRange {
        /// The first such triangle.
        triangle: usize,
        /// The vertex it names.
        vertex: u32,
        /// How many there are.
        count: usize,
    },
    /// All edges are points, or nearly.
    #[error(
        "the edges of the mesh are {0:e} long on average: nothing is left of a shell that small, scale it up"
    )]
    Extent(f64),
    /// More than memory or indices should be asked for.
    #[error(
        "edge {} to {} belongs to {triangles} triangles, which makes more than {most} pairs of triangles that bend against each \
         other in all: merge vertices and delete repeated faces", edge[0], edge[1]
    )]
    Crowded {
        /// The edge that is shared by most.
        edge: [u32; 2],
        /// How many share it.
        triangles: usize,
        /// Pairs that are taken.
        most: usize,
    },
    /// More vertices or triangles than indices can count.
    #[error(
        "the mesh has {vertices} vertices and {triangles} triangles, more than can be handled: use a coarser one"
    )]
    TooLarge {
        /// Vertices given.
        vertices: usize,
        /// Triangles given.
        triangles: usize,
    },
    /// A number of the material.
    #[error("{name} is {value}: it has to be {range}")]
    Material {
        /// Which one.
        name: &'static str,
        /// As given.
        value: f64,
        /// What it may be.
        range: &'static str,
    },
    /// A number of a map on the vertices.
    #[error("{name} at vertex {vertex} is {value}: it has to be {range}")]
    Map {
        /// Which one.
        name: &'static str,
        /// The first such vertex.
        vertex: usize,
        /// As given.
        value: f64,
        /// What it may be.
        range: &'static str,
    },
    /// Arrays of the wrong length.
    #[error("{what} has {found} entries, but the shell has {expected} vertices: give one for each")]
    Length {
        /// Which array.
        what: &'static str,
        /// Its length.
        found: usize,
        /// Vertices of the shell.
        expected: usize,
    },
    /// The weight of a relaxation.
    #[error("the weight that holds the shape is {0}: it has to be a finite number above zero")]
    Weight(f64),
    /// Numbers that overflow.
    #[error(
        "the energy of this shape is beyond the range of numbers: it is too far from rest, or the material too stiff"
    )]
    Overflow,
    /// The system could not be set up.
    #[error(transparent)]
    Solve(#[from] SolveError),
}
