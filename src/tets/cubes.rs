// SPDX-License-Identifier: MIT OR Apache-2.0
//! Cubes split into six tetrahedra each, consistently between neighbours, and bars made of them.
//!
//! Each face of a cube is cut by the diagonal through the smallest of its four vertex numbers. Neighbours see
//! the same numbers and cut alike, whatever their corner orders. The tetrahedra join the cube's smallest vertex
//! to the two halves of the three faces that do not contain it. [dompierre1999]

use super::{TetError, TetMesh, check};
use crate::Vec3;
use crate::lattice::Cell;

impl TetMesh {
    /// Splits cubes (hexahedra, corners in the order `i + 2j + 4k`) into six tetrahedra each.
    ///
    /// # Errors
    /// [`TetError::Cube`] for the first cube with a corner that does not exist or is used twice, or so
    /// distorted that a part of it is inverted or flat; else those of [`TetMesh::new`].
    pub fn from_cubes(vertices: Vec<Vec3>, cubes: Vec<[u32; 8]>) -> Result<Self, TetError> {
        let of_cube = |cube: usize, e: TetError| TetError::Cube {
            cube,
            source: Box::new(e),
        };
        check::check_indices(&vertices, &cubes).map_err(|e| match e {
            TetError::OutOfRange { tet, .. } | TetError::Repeated { tet, .. } => of_cube(tet, e),
            e => e,
        })?;
        let tets = cubes.iter().flat_map(split).collect();
        let mesh = Self::new(vertices, tets).map_err(|e| match e {
            TetError::Inverted { tet, .. } | TetError::Flat { tet, .. } => of_cube(tet / 6, e),
            e => e,
        })?;
        Ok(Self { cubes, ..mesh })
    }

    /// Builds a bar: `counts` cubes along x, y, z over `lengths` metres from the origin, six tetrahedra each.
    /// Vertex `(i, j, k)` has the number `(i (n_y + 1) + j)(n_z + 1) + k`.
    ///
    /// # Errors
    /// [`TetError::Grid`], [`TetError::TooLarge`].
    pub fn grid(counts: [usize; 3], lengths: [f64; 3]) -> Result<Self, TetError> {
        if counts.contains(&0) || !lengths.iter().all(|l| l.is_finite() && *l > 0.0) {
            return Err(TetError::Grid { counts, lengths });
        }
        // Ten times what anything here simulates; eight times more would not fit in memory.
        let most = 1 << 22;
        let all = counts
            .iter()
            .try_fold(1usize, |n, &c| n.checked_mul(c.checked_add(1)?))
            .unwrap_or(usize::MAX);
        if all > most {
            return Err(TetError::TooLarge { count: all, most });
        }
        let [nx, ny, nz] = counts;
        let place =
            |at: [usize; 3]| Vec3::from_fn(|k, _| lengths[k] * at[k] as f64 / counts[k] as f64);
        let number = |i: usize, j: usize, k: usize| ((i * (ny + 1) + j) * (nz + 1) + k) as u32;
        let mut vertices = Vec::with_capacity(all);
        let mut cubes = Vec::with_capacity(nx * ny * nz);
        for i in 0..=nx {
            for j in 0..=ny {
                for k in 0..=nz {
                    vertices.push(place([i, j, k]));
                    if i < nx && j < ny && k < nz {
                        cubes.push(std::array::from_fn(|c| {
                            number(i + (c & 1), j + (c >> 1 & 1), k + (c >> 2 & 1))
                        }));
                    }
                }
            }
        }
        Self::from_cubes(vertices, cubes)
    }
}

/// Splits a cube into six tetrahedra.
pub(super) fn split(cube: &[u32; 8]) -> [[u32; 4]; 6] {
    let first = (0..8).min_by_key(|&c| cube[c]).unwrap_or(0);
    let mut tets = [[0; 4]; 6];
    let opposite = Cell::Hexahedron(*cube)
        .faces()
        .iter()
        .filter(|f| !f.contains(&first));
    for (two, face) in tets.chunks_exact_mut(2).zip(opposite) {
        let least = (0..4).min_by_key(|&k| cube[face[k]]).unwrap_or(0);
        let corner = |k: usize| cube[face[(least + k) % 4]];
        // Counter-clockwise seen from outside, hence from `first` clockwise: it comes last.
        two[0] = [corner(0), corner(2), corner(1), cube[first]];
        two[1] = [corner(0), corner(3), corner(2), cube[first]];
    }
    tets
}
