// SPDX-License-Identifier: MIT OR Apache-2.0
//! What makes a tetrahedral mesh, and why one is refused.

use crate::Vec3;
use crate::aabb;
use crate::lattice::LatticeError;
use crate::progress::Cancelled;
use std::path::PathBuf;

/// Why a tetrahedral mesh was refused, could not be filled, read or written.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum TetError {
    /// The caller stopped the work.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
    /// No elements.
    #[error("the mesh has no tetrahedra: it needs at least one")]
    Empty,
    /// More than can be counted.
    #[error("the mesh has {count} vertices or elements, more than the {most} that can be handled")]
    TooLarge {
        /// Vertices or elements given.
        count: usize,
        /// Most that are taken.
        most: usize,
    },
    /// Coordinates that are infinite or not a number.
    #[error(
        "vertex {vertex} has a coordinate that is infinite or not a number ({count} in all have): move or \
         delete it"
    )]
    NonFinite {
        /// The first such vertex.
        vertex: usize,
        /// How many there are.
        count: usize,
    },
    /// So large or so small that volumes cannot be computed.
    #[error("the mesh is {0:e} m across: scale it to between 1e-50 and 1e50 m")]
    Extent(f64),
    /// A corner that does not exist.
    #[error(
        "tetrahedron {tet} uses vertex {vertex}, but there are only {count}: vertices count from 0"
    )]
    OutOfRange {
        /// The first such tetrahedron.
        tet: usize,
        /// The vertex it names.
        vertex: i64,
        /// How many there are.
        count: usize,
    },
    /// A corner used twice.
    #[error("tetrahedron {tet} uses vertex {vertex} twice: delete it, it has no volume")]
    Repeated {
        /// The first such tetrahedron.
        tet: usize,
        /// The vertex.
        vertex: u32,
    },
    /// Elements turned inside out.
    #[error(
        "tetrahedron {tet} is inverted, its volume is negative ({count} of {total} are): swap two of its \
         vertices, or ask for orientation"
    )]
    Inverted {
        /// The first such tetrahedron.
        tet: usize,
        /// How many there are.
        count: usize,
        /// Of how many.
        total: usize,
    },
    /// Elements without volume.
    #[error(
        "tetrahedron {tet} is flat, its volume is nothing against its edges ({count} of {total} are): delete \
         it or move its vertices apart"
    )]
    Flat {
        /// The first such tetrahedron.
        tet: usize,
        /// How many there are.
        count: usize,
        /// Of how many.
        total: usize,
    },
    /// Vertices of no element: nothing would hold them.
    #[error(
        "vertex {vertex} belongs to no tetrahedron ({count} such vertices): delete it, or ask for unused \
         vertices to be dropped"
    )]
    Unused {
        /// The first such vertex.
        vertex: usize,
        /// How many there are.
        count: usize,
    },
    /// A cube that does not split into tetrahedra; its corners are in the order `i + 2j + 4k`.
    #[error("cube {cube} cannot be split: {source}")]
    Cube {
        /// The first such cube.
        cube: usize,
        /// What is wrong; the number in it counts the tetrahedra that the cubes were split into.
        #[source]
        source: Box<TetError>,
    },
    /// A grid of no cubes.
    #[error(
        "a grid needs at least one cube along each axis and lengths above zero, not {counts:?} cubes over {lengths:?} m"
    )]
    Grid {
        /// Cubes along x, y, z.
        counts: [usize; 3],
        /// Lengths along x, y, z.
        lengths: [f64; 3],
    },
    /// A setting of the filling out of its range.
    #[error("cells across must lie between 2 and 200, not {0}")]
    CellsAcross(f64),
    /// A number of nodes that no body can have.
    #[error("the number of nodes must lie between 4 and 1000000, not {0}")]
    Nodes(usize),
    /// A surface that cannot be filled.
    #[error("this surface cannot be filled with tetrahedra: {0}")]
    Unfillable(String),
    /// Not a kind of mass matrix.
    #[error("'{0}' is no kind of mass matrix: choose 'consistent' or 'lumped'")]
    MassKind(String),
    /// A file that is not what its name says.
    #[error("{path}, line {line}: {what}")]
    File {
        /// The file.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// What is wrong with it.
        what: String,
    },
    /// A file that reads well, but holds no mesh.
    #[error("{path}: {source}")]
    Content {
        /// The file.
        path: PathBuf,
        /// What is wrong with the mesh.
        #[source]
        source: Box<TetError>,
    },
    /// A format that is not known.
    #[error("{0}: the ending says the format: .node or .ele (TetGen), .mesh (Medit), .veg (Vega)")]
    Format(PathBuf),
    /// Cubes asked for of a mesh that was not made of them.
    #[error(
        "the mesh was not made of cubes: write it as tetrahedra, or as a .veg file of a mesh read from cubes"
    )]
    NoCubes,
    /// Not a kind of element.
    #[error("'{0}' is no kind of element: choose 'tet' or 'cubic' (.veg only)")]
    ElementKind(String),
    /// The disk refuses.
    #[error("{path} cannot be {action}: {what}")]
    Disk {
        /// The file.
        path: PathBuf,
        /// Read or written.
        action: &'static str,
        /// What the system says.
        what: String,
    },
    /// The mesh as a lattice.
    #[error(transparent)]
    Lattice(#[from] LatticeError),
}

/// Most vertices and elements: indices of corners fit in 32 bits.
const MOST: usize = u32::MAX as usize / 8;
/// A tetrahedron is flat when six times its volume is less than this part of its longest edge cubed.
const FLAT: f64 = 1e-9;
/// Or when its longest edge is less than this part of the body's size.
const SPECK: f64 = 1e-9;

/// Refuses coordinates and corners that cannot be computed with.
pub(super) fn check_indices<const N: usize>(
    vertices: &[Vec3],
    elements: &[[u32; N]],
) -> Result<(), TetError> {
    if elements.is_empty() {
        return Err(TetError::Empty);
    }
    let count = vertices.len().max(elements.len());
    if count > MOST {
        return Err(TetError::TooLarge { count, most: MOST });
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

/// How a tetrahedron lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lie {
    Upright,
    Inverted,
    Flat,
}

/// How a tetrahedron in a body of a size lies.
pub(super) fn lie(x: &[Vec3; 4], size: f64) -> Lie {
    let mut longest = 0.0f64;
    for i in 0..4 {
        for j in 0..i {
            longest = longest.max((x[i] - x[j]).norm());
        }
    }
    if longest <= SPECK * size {
        return Lie::Flat;
    }
    let edge = |i: usize| (x[i] - x[0]) / longest;
    let volume = edge(1).cross(&edge(2)).dot(&edge(3));
    if volume.abs() <= FLAT {
        Lie::Flat
    } else if volume < 0.0 {
        Lie::Inverted
    } else {
        Lie::Upright
    }
}

/// The size of a body: the diagonal of its box, within what can be computed with.
pub(super) fn size(vertices: &[Vec3]) -> Result<f64, TetError> {
    let size = aabb::diagonal(vertices);
    if (1e-50..=1e50).contains(&size) {
        Ok(size)
    } else {
        Err(TetError::Extent(size))
    }
}

/// Refuses inverted and flat tetrahedra.
pub(super) fn check_volumes(vertices: &[Vec3], tets: &[[u32; 4]]) -> Result<(), TetError> {
    let size = size(vertices)?;
    let lies: Vec<Lie> = tets
        .iter()
        .map(|t| lie(&t.map(|v| vertices[v as usize]), size))
        .collect();
    let total = tets.len();
    let count = |kind: Lie| lies.iter().filter(|&&l| l == kind).count();
    if let Some(tet) = lies.iter().position(|&l| l == Lie::Inverted) {
        let count = count(Lie::Inverted);
        return Err(TetError::Inverted { tet, count, total });
    }
    if let Some(tet) = lies.iter().position(|&l| l == Lie::Flat) {
        let count = count(Lie::Flat);
        return Err(TetError::Flat { tet, count, total });
    }
    Ok(())
}

/// Refuses vertices that no element uses.
pub(super) fn check_used(vertices: usize, tets: &[[u32; 4]]) -> Result<(), TetError> {
    let used = used(vertices, tets);
    match used.iter().position(|u| !u) {
        None => Ok(()),
        Some(vertex) => Err(TetError::Unused {
            vertex,
            count: used.iter().filter(|u| !**u).count(),
        }),
    }
}

/// Which vertices the elements use.
pub(super) fn used<const N: usize>(vertices: usize, elements: &[[u32; N]]) -> Vec<bool> {
    let mut used = vec![false; vertices];
    for &v in elements.iter().flatten() {
        used[v as usize] = true;
    }
    used
}
