// SPDX-License-Identifier: MIT OR Apache-2.0
//! Errors of shells and of their relaxation.

use crate::progress::Cancelled;
use crate::solve::SolveError;

/// Reason why a shell, or an operation on it, was refused.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ShellError {
    /// The caller stopped the work.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
    /// A mesh without a triangle with three different corners.
    #[error("the mesh has no triangle with three different corners: a shell needs at least one")]
    Empty,
    /// Coordinates that are not finite, or too large.
    #[error(
        "{what}: vertex {vertex} has a coordinate that is not a number or is larger than 1e12: move or delete it"
    )]
    Place {
        /// Name of the positions.
        what: &'static str,
        /// Index of the first such vertex.
        vertex: usize,
    },
    /// A triangle with a corner that does not exist.
    #[error(
        "triangle {triangle} uses vertex {vertex}, but there are only {count}: vertices count from 0"
    )]
    OutOfRange {
        /// Index of the first such triangle.
        triangle: usize,
        /// Vertex that it names.
        vertex: u32,
        /// Number of vertices.
        count: usize,
    },
    /// Edges whose mean length is zero, or nearly.
    #[error(
        "the edges of the mesh are {0:e} long on average: nothing is left of a shell that small, scale it up"
    )]
    Extent(f64),
    /// More pairs of triangles at edges than the limit.
    #[error(
        "edge {} to {} belongs to {triangles} triangles, which makes more than {most} pairs of triangles that bend against each \
         other in all: merge vertices and delete repeated faces", edge[0], edge[1]
    )]
    Crowded {
        /// Edge with the most triangles.
        edge: [u32; 2],
        /// Number of its triangles.
        triangles: usize,
        /// Maximum number of pairs.
        most: usize,
    },
    /// More vertices or triangles than the limit.
    #[error(
        "the mesh has {vertices} vertices and {triangles} triangles, more than can be handled: use a coarser one"
    )]
    TooLarge {
        /// Number of vertices.
        vertices: usize,
        /// Number of triangles.
        triangles: usize,
    },
    /// A material parameter out of range.
    #[error("{name} is {value}: it must be {range}")]
    Material {
        /// Name of the parameter.
        name: &'static str,
        /// Its value.
        value: f64,
        /// Permitted range.
        range: &'static str,
    },
    /// A value of a map on the vertices out of range.
    #[error("{name} at vertex {vertex} is {value}: it must be {range}")]
    Map {
        /// Name of the map.
        name: &'static str,
        /// Index of the first such vertex.
        vertex: usize,
        /// Its value.
        value: f64,
        /// Permitted range.
        range: &'static str,
    },
    /// An array of the wrong length.
    #[error("{what} has {found} entries, but the shell has {expected} vertices: give one for each")]
    Length {
        /// Name of the array.
        what: &'static str,
        /// Its length.
        found: usize,
        /// Number of vertices of the shell.
        expected: usize,
    },
    /// A relaxation weight that is not positive and finite.
    #[error("the weight that holds the shape is {0}: it must be a finite number above zero")]
    Weight(f64),
    /// An energy beyond the range of numbers.
    #[error(
        "the energy of this shape is beyond the range of numbers: it is too far from rest, or the material too stiff"
    )]
    Overflow,
    /// A failure to set up the system.
    #[error(transparent)]
    Solve(#[from] SolveError),
}
