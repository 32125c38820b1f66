// SPDX-License-Identifier: MIT OR Apache-2.0
//! Validation of the input, and removal of triangles without area.
use super::WeldedSurface;
use super::orient::SurfacePatch;
use super::welding::WeldResult;
use crate::Vec3;
use crate::geometry::sets::DisjointSets;
use crate::range::{self, MAX_COORDINATE};

/// Reason why a surface was refused.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SurfaceError {
    /// The mesh has no vertices.
    #[error("the mesh has no vertices: there is no surface to give flesh to")]
    NoVertices,
    /// The mesh has vertices, but no triangles.
    #[error("the mesh has {vertices} vertices but no faces: there is no surface to give flesh to")]
    NoTriangles {
        /// Number of vertices.
        vertices: usize,
    },
    /// No triangle has area.
    #[error("the mesh has no triangles with area: there is no surface to give flesh to")]
    Empty,
    /// Coordinates are infinite, NaN or out of range.
    #[error(
        "vertex {vertex} has a coordinate that is infinite, not a number or beyond {MAX_COORDINATE:e} m ({count} in all have): \
         move or delete it"
    )]
    NonFinite {
        /// Index of the first such vertex.
        vertex: usize,
        /// Number of such vertices.
        count: usize,
    },
    /// A triangle refers to a vertex that does not exist.
    #[error(
        "triangle {triangle} refers to vertex {index}, but the mesh has only {vertices} vertices"
    )]
    IndexOutOfRange {
        /// Index of the first such triangle.
        triangle: usize,
        /// Vertex that it names.
        index: u32,
        /// Number of vertices.
        vertices: usize,
    },
    /// There are more vertices or triangles than 32-bit indices allow.
    #[error("the mesh has {count} vertices or triangles, more than the {most} that can be handled")]
    TooLarge {
        /// Number of vertices or triangles.
        count: usize,
        /// Largest number allowed.
        most: usize,
    },
}

/// Largest number of vertices or triangles: indices of triangle corners fit in 32 bits.
const MAX_ELEMENTS: usize = u32::MAX as usize / 4;

/// Checks that the input can be computed with.
pub(super) fn check(vertices: &[Vec3], triangles: &[[u32; 3]]) -> Result<(), SurfaceError> {
    if vertices.is_empty() {
        return Err(SurfaceError::NoVertices);
    }
    let count = vertices.len().max(triangles.len());
    if count > MAX_ELEMENTS {
        return Err(SurfaceError::TooLarge {
            count,
            most: MAX_ELEMENTS,
        });
    }
    let bad = |v: &Vec3| !range::is_position(v);
    if let Some(vertex) = vertices.iter().position(bad) {
        let count = vertices.iter().filter(|v| bad(v)).count();
        return Err(SurfaceError::NonFinite { vertex, count });
    }
    if triangles.is_empty() {
        return Err(SurfaceError::NoTriangles {
            vertices: vertices.len(),
        });
    }
    for (triangle, corners) in triangles.iter().enumerate() {
        if let Some(&index) = corners.iter().find(|&&v| v as usize >= vertices.len()) {
            return Err(SurfaceError::IndexOutOfRange {
                triangle,
                index,
                vertices: vertices.len(),
            });
        }
    }
    Ok(())
}

/// Welded surface without triangles of zero area.
pub(super) struct CleanSurface {
    pub welded: WeldedSurface,
    pub local: Vec<Vec3>,
    pub patches: Vec<SurfacePatch>,
    /// Number of triangles whose orientation was reversed.
    pub flipped: usize,
}

/// Height above its longest edge, local units, below which a triangle has no area.
const MIN_HEIGHT: f64 = 1e-10;

/// Removes triangles without area, and then unused vertices. Flat triangles stay up to this point because they
/// connect their neighbours during orientation.
pub(super) fn drop_flat_triangles(
    input: &[Vec3],
    joined: WeldResult,
    patches: Vec<SurfacePatch>,
    flipped: &[bool],
) -> CleanSurface {
    let has_area = |t: &[u32; 3]| {
        let [a, b, c] = t.map(|v| joined.local[v as usize]);
        let longest = (b - a).norm().max((c - b).norm()).max((a - c).norm());
        (b - a).cross(&(c - a)).norm() > MIN_HEIGHT * longest
    };
    let mut new_triangle = vec![u32::MAX; joined.triangles.len()];
    let mut new_vertex = vec![u32::MAX; joined.local.len()];
    let mut welded = WeldedSurface::default();
    let mut turned = 0;
    for (t, corners) in joined
        .triangles
        .iter()
        .enumerate()
        .filter(|(_, c)| has_area(c))
    {
        new_triangle[t] = welded.triangles.len() as u32;
        welded.triangles.push(*corners);
        welded.source.push(joined.source[t]);
        turned += flipped[t] as usize;
        corners.iter().for_each(|&v| new_vertex[v as usize] = 0);
    }
    let mut local = Vec::new();
    for (v, new) in new_vertex
        .iter_mut()
        .enumerate()
        .filter(|(_, new)| **new == 0)
    {
        *new = local.len() as u32;
        local.push(joined.local[v]);
        welded.vertices.push(input[joined.first[v] as usize]);
    }
    for v in welded.triangles.iter_mut().flatten() {
        *v = new_vertex[*v as usize];
    }
    let welded_of = |v: u32| {
        if v == u32::MAX {
            v
        } else {
            new_vertex[v as usize]
        }
    };
    welded.of_vertex = joined.of_vertex.iter().map(|&v| welded_of(v)).collect();
    let renumbered = |mut patch: SurfacePatch| {
        patch
            .triangles
            .iter_mut()
            .for_each(|t| *t = new_triangle[*t as usize]);
        patch.triangles.retain(|&t| t != u32::MAX);
        (!patch.triangles.is_empty()).then_some(patch)
    };
    CleanSurface {
        patches: patches.into_iter().filter_map(renumbered).collect(),
        welded,
        local,
        flipped: turned,
    }
}

/// Counts the pieces connected by vertices.
pub(super) fn count_components(vertices: usize, triangles: &[[u32; 3]]) -> usize {
    let mut sets = DisjointSets::new(vertices);
    let mut pieces = vertices;
    for t in triangles {
        for [a, b] in [[t[0], t[1]], [t[1], t[2]]] {
            pieces -= usize::from(sets.join(a, b));
        }
    }
    pieces
}
