// SPDX-License-Identifier: MIT OR Apache-2.0
//! The complexes K_0 ⊂ K_1 ⊂ … ⊂ K_J of some cells: each subdivides the one before by means. [capell2002, §3.1]
//!
//! K_0 are the given cells. K_1 puts a vertex into each edge, face and cell, and has one hexahedron around each corner of a
//! cell; K_2 and further do the same with hexahedra. A vertex of K_j that K_{j−1} lacks is *new* at level j; it is the mean
//! of its *parents*, vertices of K_{j−1}. Vertices keep their numbers at finer levels. New ones follow in the order in which
//! the cells come to them: by level, first cell, and place in the cell. Cells that share the corners of an edge or face share
//! its vertices, so virtual copies of a cell are separate where the lattice separates them.

use crate::lattice::Cell;
use crate::lattice::cell::{MeanCorners, hexahedron_means};
use smallvec::SmallVec;
use std::collections::HashMap;

/// Vertices of a complex, ascending: the parents of a vertex.
type Parents = SmallVec<[u32; 8]>;

/// Vertices and finest hexahedra of nested subdivided complexes.
#[derive(Debug)]
pub(super) struct Complex {
    /// Number of vertices of K_0, …, K_J.
    pub counts: Vec<u32>,
    /// Parents of each vertex that K_0 lacks.
    parents: Vec<Parents>,
    /// Hexahedra of K_J, those of each cell consecutively.
    pub hexahedra: Vec<[u32; 8]>,
    /// First hexahedron of each cell, and the number of all.
    pub starts: Vec<u32>,
}

impl Complex {
    /// Subdivides cells over `vertices` vertices `levels` times, at least once.
    pub fn new(cells: &[Cell], vertices: usize, levels: usize) -> Self {
        let mut complex = Self {
            counts: vec![vertices as u32],
            parents: Vec::new(),
            hexahedra: Vec::new(),
            starts: vec![0],
        };
        let mut known = HashMap::new();
        for cell in cells {
            let corners = cell.corners();
            for means in cell.subdivision_means() {
                let hexahedron = means.map(|mean| complex.vertex(corners, &mean, &mut known));
                complex.hexahedra.push(hexahedron);
            }
            complex.starts.push(complex.hexahedra.len() as u32);
        }
        complex.counts.push(complex.vertex_count());
        let split = hexahedron_means();
        for _ in 1..levels {
            known.clear();
            let coarse = std::mem::take(&mut complex.hexahedra);
            for corners in &coarse {
                for means in &split {
                    let hexahedron = means
                        .each_ref()
                        .map(|mean| complex.vertex(corners, mean, &mut known));
                    complex.hexahedra.push(hexahedron);
                }
            }
            complex.counts.push(complex.vertex_count());
            complex.starts.iter_mut().for_each(|start| *start *= 8);
        }
        complex
    }

    /// Returns the vertex at the mean of some corners; makes it if it is new.
    fn vertex(
        &mut self,
        corners: &[u32],
        mean: &MeanCorners,
        known: &mut HashMap<(Parents, bool), u32>,
    ) -> u32 {
        if let [corner] = mean[..] {
            return corners[corner as usize];
        }
        let mut parents: Parents = mean.iter().map(|&i| corners[i as usize]).collect();
        parents.sort_unstable();
        // The centre of a cell with four corners is not that of a face with the same ones.
        let key = (parents, mean.len() == corners.len());
        if let Some(&vertex) = known.get(&key) {
            return vertex;
        }
        let vertex = self.vertex_count();
        self.parents.push(key.0.clone());
        known.insert(key, vertex);
        vertex
    }

    /// Returns the number of vertices so far.
    fn vertex_count(&self) -> u32 {
        self.counts[0] + self.parents.len() as u32
    }

    /// Returns the number of vertices of K_J.
    pub fn len(&self) -> usize {
        self.vertex_count() as usize
    }

    /// Returns the parents of a vertex; empty for one of K_0.
    pub fn parents(&self, vertex: usize) -> &[u32] {
        match vertex.checked_sub(self.counts[0] as usize) {
            Some(new) => &self.parents[new],
            None => &[],
        }
    }

    /// Returns the level at which a vertex is new; zero for one of K_0.
    pub fn level(&self, vertex: usize) -> usize {
        self.counts
            .partition_point(|&count| count as usize <= vertex)
    }

    /// Returns values at all vertices from those in K_0, by means.
    pub fn interpolate<T>(&self, values: &[T]) -> Vec<T>
    where
        T: Copy + std::iter::Sum<T> + std::ops::Mul<f64, Output = T>,
    {
        let mut all = values.to_vec();
        for parents in &self.parents {
            let sum: T = parents.iter().map(|&p| all[p as usize]).sum();
            all.push(sum * (parents.len() as f64).recip());
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two hexahedra side by side share the vertices of their common face at every level, and have as many as a grid.
    #[test]
    fn neighbours_share_face_vertices() {
        let number = |i: u32, j: u32, k: u32| i + 3 * (j + 2 * k);
        let cell = |i: u32| {
            Cell::Hexahedron(std::array::from_fn(|c| {
                let c = c as u32;
                number(i + (c & 1), c >> 1 & 1, c >> 2)
            }))
        };
        for levels in 1..4 {
            let complex = Complex::new(&[cell(0), cell(1)], 12, levels);
            for (level, &count) in complex.counts.iter().enumerate() {
                let side = 1 << level;
                assert_eq!(count, (2 * side + 1) * (side + 1) * (side + 1));
            }
            assert_eq!(complex.hexahedra.len(), 2 << (3 * levels));
            assert_eq!(complex.starts, [0, 1 << (3 * levels), 2 << (3 * levels)]);
            let x: Vec<f64> = (0..12).map(|v| f64::from(v % 3)).collect();
            let x = complex.interpolate(&x);
            let middle = x.iter().filter(|&&x| x == 1.0).count();
            assert_eq!(middle, ((1 << levels) + 1) * ((1 << levels) + 1));
        }
    }

    /// A tetrahedron between four corners of a quadrilateral face keeps a centre of its own.
    #[test]
    fn centre_differs_from_face() {
        let cells = [
            Cell::Hexahedron([0, 1, 2, 3, 4, 5, 6, 7]),
            Cell::Tetrahedron([0, 1, 3, 2]),
        ];
        let complex = Complex::new(&cells, 8, 1);
        // Twelve edges, six faces, two centres; the tetrahedron adds two edges and four faces.
        assert_eq!(complex.len(), 8 + 12 + 6 + 2 + 2 + 4);
        let centres = (8..complex.len()).filter(|&v| complex.parents(v) == [0, 1, 2, 3]);
        assert_eq!(centres.count(), 2);
    }

    /// A vertex is new at the level of the first complex that has it, and the mean of vertices of the one before.
    #[test]
    fn parents_are_coarser() {
        let complex = Complex::new(&[Cell::Prism([0, 1, 2, 3, 4, 5])], 6, 3);
        for v in 0..complex.len() {
            let level = complex.level(v);
            assert_eq!(complex.parents(v).is_empty(), level == 0);
            for &parent in complex.parents(v) {
                assert!(complex.level(parent as usize) < level);
            }
            if level > 0 {
                let parents = complex.parents(v).iter();
                let coarse = parents.map(|&p| complex.level(p as usize)).max();
                assert_eq!(coarse, Some(level - 1));
            }
        }
    }
}
