// SPDX-License-Identifier: MIT OR Apache-2.0
//! Validity of tetrahedral meshes, and errors for those that are refused.

use crate::Vec3;
use crate::geometry::aabb;
use crate::lattice::LatticeError;
use crate::progress::Cancelled;
use std::path::PathBuf;

/// Reason why a tetrahedral mesh was refused, or could not be filled, read or written.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum TetError {
    /// The caller stopped the work.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
    /// The mesh has no elements.
    #[error("the mesh has no tetrahedra: it needs at least one")]
    Empty,
    /// There are more vertices or elements than 32-bit indices allow.
    #[error("the mesh has {count} vertices or elements, more than the {most} that can be handled")]
    TooLarge {
        /// Number of vertices or elements.
        count: usize,
        /// Largest number allowed.
        most: usize,
    },
    /// Coordinates are infinite or NaN.
    #[error(
        "vertex {vertex} has a coordinate that is infinite or not a number ({count} in all have): move or \
         delete it"
    )]
    NonFinite {
        /// Index of the first such vertex.
        vertex: usize,
        /// Number of such vertices.
        count: usize,
    },
    /// The mesh is so large or so small that volumes cannot be computed; holds its size, m.
    #[error("the mesh is {0:e} m across: scale it to between 1e-50 and 1e50 m")]
    Extent(f64),
    /// An element refers to a vertex that does not exist.
    #[error(
        "tetrahedron {tet} uses vertex {vertex}, but there are only {count}: vertices count from 0"
    )]
    OutOfRange {
        /// Index of the first such tetrahedron.
        tet: usize,
        /// Vertex number in the element.
        vertex: i64,
        /// Number of vertices.
        count: usize,
    },
    /// An element uses a vertex twice.
    #[error("tetrahedron {tet} uses vertex {vertex} twice: delete it, it has no volume")]
    Repeated {
        /// Index of the first such tetrahedron.
        tet: usize,
        /// Index of the vertex.
        vertex: u32,
    },
    /// Elements are inverted.
    #[error(
        "tetrahedron {tet} is inverted, its volume is negative ({count} of {total} are): swap two of its \
         vertices, or ask for orientation"
    )]
    Inverted {
        /// Index of the first such tetrahedron.
        tet: usize,
        /// Number of such tetrahedra.
        count: usize,
        /// Number of all tetrahedra.
        total: usize,
    },
    /// Elements have no volume.
    #[error(
        "tetrahedron {tet} is flat, its volume is negligible against its edges ({count} of {total} are): delete \
         it or move its vertices apart"
    )]
    Flat {
        /// Index of the first such tetrahedron.
        tet: usize,
        /// Number of such tetrahedra.
        count: usize,
        /// Number of all tetrahedra.
        total: usize,
    },
    /// Vertices belong to no element: nothing would hold them.
    #[error(
        "vertex {vertex} belongs to no tetrahedron ({count} such vertices): delete it, or ask for unused \
         vertices to be dropped"
    )]
    Unused {
        /// Index of the first such vertex.
        vertex: usize,
        /// Number of such vertices.
        count: usize,
    },
    /// A cube does not split into valid tetrahedra; its corners are in the order `i + 2j + 4k`.
    #[error("cube {cube} cannot be split: {source}")]
    Cube {
        /// Index of the first such cube.
        cube: usize,
        /// Defect of the cube; its number counts the tetrahedra that the cubes were split into.
        #[source]
        source: Box<TetError>,
    },
    /// A grid has no cubes or no extent.
    #[error(
        "a grid needs at least one cube along each axis and lengths above zero, not {counts:?} cubes over {lengths:?} m"
    )]
    Grid {
        /// Numbers of cubes along x, y, z.
        counts: [usize; 3],
        /// Lengths along x, y, z, m.
        lengths: [f64; 3],
    },
    /// The resolution of the filling is out of range.
    #[error("cells across must lie between 2 and 200, not {0}")]
    CellsAcross(f64),
    /// The wanted number of nodes is out of range.
    #[error("the number of nodes must lie between 4 and 1000000, not {0}")]
    Nodes(usize),
    /// The surface cannot be filled.
    #[error("this surface cannot be filled with tetrahedra: {0}")]
    Unfillable(String),
    /// The name is not that of a kind of mass matrix.
    #[error("'{0}' is not a kind of mass matrix: choose 'consistent' or 'lumped'")]
    MassKind(String),
    /// A file does not follow its format.
    #[error("{path}, line {line}: {what}")]
    File {
        /// Path of the file.
        path: PathBuf,
        /// Line number, from 1.
        line: usize,
        /// Defect of the line.
        what: String,
    },
    /// A file follows its format, but its mesh is not valid.
    #[error("{path}: {source}")]
    Content {
        /// Path of the file.
        path: PathBuf,
        /// Defect of the mesh.
        #[source]
        source: Box<TetError>,
    },
    /// The path's ending is not that of a known format.
    #[error(
        "{0}: the ending must name the format: .node or .ele (TetGen), .mesh (Medit), .veg (Vega)"
    )]
    Format(PathBuf),
    /// Cubes are requested of a mesh that was not built from them.
    #[error(
        "the mesh was not made of cubes: write it as tetrahedra, or as a .veg file of a mesh read from cubes"
    )]
    NoCubes,
    /// The name is not that of a kind of element.
    #[error("'{0}' is not a kind of element: choose 'tet' or 'cubic' (.veg only)")]
    ElementKind(String),
    /// A file cannot be read or written.
    #[error("{path} cannot be {action}: {what}")]
    Disk {
        /// Path of the file.
        path: PathBuf,
        /// The action: read or written.
        action: &'static str,
        /// Reason reported by the system.
        what: String,
    },
    /// The mesh is not valid as a lattice.
    #[error(transparent)]
    Lattice(#[from] LatticeError),
}

/// Largest number of vertices and elements: indices of corners fit in 32 bits.
const MAX_COUNT: usize = u32::MAX as usize / 8;
/// Ratio of six times the volume to the longest edge cubed below which a tetrahedron is flat.
const MIN_VOLUME_RATIO: f64 = 1e-9;
/// Ratio of the longest edge to the body's size below which a tetrahedron is flat as well.
const MIN_EDGE_RATIO: f64 = 1e-9;

/// Checks that coordinates and corners can be computed with.
pub(super) fn check_indices<const N: usize>(
    vertices: &[Vec3],
    elements: &[[u32; N]],
) -> Result<(), TetError> {
    if elements.is_empty() {
        return Err(TetError::Empty);
    }
    let count = vertices.len().max(elements.len());
    if count > MAX_COUNT {
        return Err(TetError::TooLarge {
            count,
            most: MAX_COUNT,
        });
    }
    let bad = |v: &Vec3| !v.iter().all(|x| x.is_finite());
    if let Some(vertex) = vertices.iter().position(bad) {
        let count = vertices.iter().filter(|v| bad(v)).count();
        return Err(TetError::NonFinite { vertex, count });
    }
    for (tet, corners) in elements.iter().enumerate() {
        if let Some(&v) = corners.iter().find(|&&v| v as usize >= vertices.len()) {
            return Err(TetError::OutOfRange {
                tet,
                vertex: i64::from(v),
                count: vertices.len(),
            });
        }
        let twice = |&(i, v): &(usize, &u32)| corners[..i].contains(v);
        if let Some((_, &vertex)) = corners.iter().enumerate().find(twice) {
            return Err(TetError::Repeated { tet, vertex });
        }
    }
    Ok(())
}

/// Orientation of a tetrahedron.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TetOrientation {
    Upright,
    Inverted,
    Flat,
}

/// Classifies the orientation of a tetrahedron in a body of the given size.
pub(super) fn classify_orientation(x: &[Vec3; 4], size: f64) -> TetOrientation {
    let mut longest = 0.0f64;
    for i in 0..4 {
        for j in 0..i {
            longest = longest.max((x[i] - x[j]).norm());
        }
    }
    if longest <= MIN_EDGE_RATIO * size {
        return TetOrientation::Flat;
    }
    let edge = |i: usize| (x[i] - x[0]) / longest;
    let volume = edge(1).cross(&edge(2)).dot(&edge(3));
    if volume.abs() <= MIN_VOLUME_RATIO {
        TetOrientation::Flat
    } else if volume < 0.0 {
        TetOrientation::Inverted
    } else {
        TetOrientation::Upright
    }
}

/// Returns the size of a body: the diagonal of its box. Fails if it is too large or too small to
/// compute with.
pub(super) fn body_size(vertices: &[Vec3]) -> Result<f64, TetError> {
    let size = aabb::diagonal(vertices);
    if (1e-50..=1e50).contains(&size) {
        Ok(size)
    } else {
        Err(TetError::Extent(size))
    }
}

/// Checks for inverted and flat tetrahedra.
pub(super) fn check_volumes(vertices: &[Vec3], tets: &[[u32; 4]]) -> Result<(), TetError> {
    let size = body_size(vertices)?;
    let lies: Vec<TetOrientation> = tets
        .iter()
        .map(|t| classify_orientation(&t.map(|v| vertices[v as usize]), size))
        .collect();
    let total = tets.len();
    let count = |kind: TetOrientation| lies.iter().filter(|&&l| l == kind).count();
    if let Some(tet) = lies.iter().position(|&l| l == TetOrientation::Inverted) {
        let count = count(TetOrientation::Inverted);
        return Err(TetError::Inverted { tet, count, total });
    }
    if let Some(tet) = lies.iter().position(|&l| l == TetOrientation::Flat) {
        let count = count(TetOrientation::Flat);
        return Err(TetError::Flat { tet, count, total });
    }
    Ok(())
}

/// Checks for vertices that no element uses.
pub(super) fn check_used(vertices: usize, tets: &[[u32; 4]]) -> Result<(), TetError> {
    let used = used_vertices(vertices, tets);
    match used.iter().position(|u| !u) {
        None => Ok(()),
        Some(vertex) => Err(TetError::Unused {
            vertex,
            count: used.iter().filter(|u| !**u).count(),
        }),
    }
}

/// Returns for each vertex whether an element uses it.
pub(super) fn used_vertices<const N: usize>(vertices: usize, elements: &[[u32; N]]) -> Vec<bool> {
    let mut used = vec![false; vertices];
    for &v in elements.iter().flatten() {
        used[v as usize] = true;
    }
    used
}
