// SPDX-License-Identifier: MIT OR Apache-2.0
//! Slots of a shell's parts in its gradient and its Hessian, looked up once per mesh.

use super::mesh::ShellMesh;
use crate::geometry::groups::Groups;
use crate::solve::matrix::zeros;
use crate::solve::{BlockMatrix, ScalarMatrix};
use crate::{Mat3, Vec3};
use rayon::prelude::*;

/// Number of row ranges of a Hessian that are assembled in parallel.
const STRIPE_COUNT: usize = 8;

/// The structure of a shell's Hessian, and the entries of each part in it. All shells of one mesh share it, so one
/// symbolic factorisation serves all of their Hessians.
#[derive(Debug)]
pub struct ShellPattern {
    starts: Vec<u32>,
    columns: Vec<u32>,
    /// Entries of all pairs of corners, row by row, for edges, faces and hinges.
    pub(super) of_edges: Vec<[[u32; 2]; 2]>,
    pub(super) of_faces: Vec<[[u32; 3]; 3]>,
    pub(super) of_hinges: Vec<[[u32; 4]; 4]>,
    /// Ends of row ranges with about equal numbers of entries.
    stripes: Vec<u32>,
    /// Corners at each vertex. Corners are numbered consecutively: those of edges, then of faces, then of hinges.
    corners: Groups,
}

impl ShellPattern {
    pub(super) fn new(mesh: &ShellMesh) -> Self {
        let elements = || {
            let faces = mesh.faces.iter().map(|c| &c[..]);
            faces.chain(mesh.hinges.iter().map(|c| &c[..]))
        };
        let (starts, columns, _) = zeros::<f64>(mesh.nodes, elements()).into_raw_storage();
        let (starts_of, columns_of) = (&starts, &columns);
        let slots = SlotLookup {
            starts: starts_of,
            columns: columns_of,
        };
        Self {
            of_edges: mesh
                .edges
                .par_iter()
                .map(|c| slots.corner_entries(c))
                .collect(),
            of_faces: mesh
                .faces
                .par_iter()
                .map(|c| slots.corner_entries(c))
                .collect(),
            of_hinges: mesh
                .hinges
                .par_iter()
                .map(|c| slots.corner_entries(c))
                .collect(),
            stripes: stripes(&starts),
            corners: corners(mesh),
            starts,
            columns,
        }
    }

    /// Returns the number of blocks of a Hessian.
    pub fn block_count(&self) -> usize {
        self.columns.len()
    }

    /// Builds a matrix of this structure from its blocks.
    pub(super) fn matrix(&self, blocks: Vec<Mat3>) -> BlockMatrix {
        let rows = self.starts.len() - 1;
        BlockMatrix::new(
            (rows, rows),
            self.starts.clone(),
            self.columns.clone(),
            blocks,
        )
    }

    /// Builds a zero matrix of this structure, one number per pair of vertices.
    pub(super) fn scalars(&self) -> ScalarMatrix {
        let rows = self.starts.len() - 1;
        ScalarMatrix::new(
            (rows, rows),
            self.starts.clone(),
            self.columns.clone(),
            vec![0.0; self.columns.len()],
        )
    }

    /// Returns the columns of a row.
    pub(super) fn row(&self, row: usize) -> &[u32] {
        &self.columns[self.starts[row] as usize..self.starts[row + 1] as usize]
    }

    /// Returns the index of a row's diagonal entry.
    pub(super) fn diagonal(&self, row: usize) -> Option<usize> {
        let found = self.row(row).binary_search(&(row as u32)).ok()?;
        Some(self.starts[row] as usize + found)
    }

    /// Splits the blocks into ranges of whole rows, each with the index of its first block.
    pub(super) fn split_stripes<'a>(
        &self,
        mut blocks: &'a mut [Mat3],
    ) -> Vec<(u32, &'a mut [Mat3])> {
        let mut first = 0;
        let mut all = Vec::with_capacity(self.stripes.len());
        for &end in &self.stripes {
            let (here, rest) = blocks.split_at_mut((end - first) as usize);
            all.push((first, here));
            (first, blocks) = (end, rest);
        }
        all
    }

    /// Adds the force of each corner to its vertex, in a fixed order.
    pub(super) fn gather_forces(&self, forces: &[Vec3], into: &mut [Vec3]) {
        into.par_iter_mut()
            .with_min_len(256)
            .enumerate()
            .for_each(|(v, sum)| {
                for &corner in self.corners.members(v) {
                    *sum += forces[corner as usize];
                }
            });
    }
}

/// Looks up entries in sorted rows.
struct SlotLookup<'a> {
    starts: &'a [u32],
    columns: &'a [u32],
}

impl SlotLookup<'_> {
    /// Returns the entry of each pair of an element's corners.
    fn corner_entries<const N: usize>(&self, corners: &[u32; N]) -> [[u32; N]; N] {
        corners.map(|row| {
            let (a, b) = (self.starts[row as usize], self.starts[row as usize + 1]);
            let here = &self.columns[a as usize..b as usize];
            // Every pair of an element's corners is in the structure.
            corners.map(|column| a + here.partition_point(|&c| c < column) as u32)
        })
    }
}

/// Returns the ends of up to [`STRIPE_COUNT`] ranges of whole rows with about equal numbers of entries.
fn stripes(starts: &[u32]) -> Vec<u32> {
    let all = starts.last().map_or(0, |&end| end as usize);
    let mut ends: Vec<u32> = (1..=STRIPE_COUNT)
        .map(|i| {
            let wanted = (all * i / STRIPE_COUNT) as u32;
            let row = starts.partition_point(|&start| start < wanted);
            starts[row.min(starts.len() - 1)]
        })
        .collect();
    ends.dedup();
    ends
}

/// Returns the corners at each vertex, ascending.
fn corners(mesh: &ShellMesh) -> Groups {
    let edges = mesh.edges.iter().flatten();
    let all = edges.chain(mesh.faces.iter().flatten());
    let all = all.chain(mesh.hinges.iter().flatten());
    Groups::new(mesh.nodes, all.copied().zip(0u32..))
}
