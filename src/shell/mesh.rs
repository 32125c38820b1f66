// SPDX-License-Identifier: MIT OR Apache-2.0
//! The parts of a triangle mesh that have energy: edges, faces, hinges.
//!
//! Any mesh is accepted. Each pair of triangles at an edge is a hinge, so a fin is connected to every sheet that it touches.
//! The orientation of triangles does not matter. Parts that cannot have energy are left out and counted.

use super::ShellError;
use crate::geometry::sets::DisjointSets;
use rayon::prelude::*;

/// Maximum number of pairs of triangles at edges.
const MAX_HINGES: usize = 1 << 24;
/// Maximum number of vertices and of triangles, so that indices of blocks fit in 32 bits.
const MAX_ELEMENTS: usize = 1 << 24;

/// Irregularities of a mesh, counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct MeshDefects {
    /// Triangles that name a vertex twice.
    pub repeated_corners: usize,
    /// Triangles with the same vertices as an earlier one.
    pub doubled: usize,
    /// Edges with one triangle.
    pub borders: usize,
    /// Edges with more than two triangles.
    pub crowded: usize,
    /// Vertices without a triangle.
    pub unused: usize,
    /// Connected parts, not counting unused vertices.
    pub parts: usize,
}

/// Edges, faces and hinges of a triangle mesh.
#[derive(Debug)]
pub(super) struct ShellMesh {
    /// Number of vertices.
    pub nodes: usize,
    /// Triangles as passed in.
    pub triangles: Vec<[u32; 3]>,
    /// Triangles with three different corners.
    pub faces: Vec<[u32; 3]>,
    /// Edges, smaller vertex first, ascending.
    pub edges: Vec<[u32; 2]>,
    /// Hinges: the edge, smaller vertex first, then the opposite vertex of either face.
    pub hinges: Vec<[u32; 4]>,
    /// The two faces of each hinge.
    pub wings: Vec<[u32; 2]>,
    /// Index of each vertex's connected part; unused vertices are parts of their own.
    pub pieces: Vec<u32>,
    /// Irregularities.
    pub counts: MeshDefects,
}

/// One side of a face: its edge, the face, and the vertex opposite the edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct FaceSide {
    edge: [u32; 2],
    face: u32,
    opposite: u32,
}

impl ShellMesh {
    pub fn new(nodes: usize, triangles: Vec<[u32; 3]>) -> Result<Self, ShellError> {
        if nodes > MAX_ELEMENTS || triangles.len() > MAX_ELEMENTS {
            return Err(ShellError::TooLarge {
                vertices: nodes,
                triangles: triangles.len(),
            });
        }
        for (triangle, corners) in triangles.iter().enumerate() {
            if let Some(&vertex) = corners.iter().find(|&&v| v as usize >= nodes) {
                return Err(ShellError::OutOfRange {
                    triangle,
                    vertex,
                    count: nodes,
                });
            }
        }
        let whole = |&[a, b, c]: &[u32; 3]| a != b && b != c && c != a;
        let faces: Vec<[u32; 3]> = triangles.iter().copied().filter(whole).collect();
        if faces.is_empty() {
            return Err(ShellError::Empty);
        }
        let mut sides = sides(&faces);
        // All sides differ, so their order is unique.
        sides.par_sort_unstable();
        let mut mesh = Self {
            nodes,
            counts: MeshDefects {
                repeated_corners: triangles.len() - faces.len(),
                doubled: count_doubled(&faces),
                ..MeshDefects::default()
            },
            triangles,
            faces,
            edges: Vec::new(),
            hinges: Vec::new(),
            wings: Vec::new(),
            pieces: Vec::new(),
        };
        mesh.build_edges(&sides)?;
        mesh.find_pieces();
        Ok(mesh)
    }

    /// Builds edges and hinges from the sides of all faces, sorted by edge.
    fn build_edges(&mut self, sides: &[FaceSide]) -> Result<(), ShellError> {
        let around = || sides.chunk_by(|a, b| a.edge == b.edge);
        let pairs: usize = around().map(|s| s.len() * (s.len() - 1) / 2).sum();
        if pairs > MAX_HINGES {
            let most = around().max_by_key(|s| s.len());
            let (edge, triangles) = most.map_or(([0; 2], 0), |s| (s[0].edge, s.len()));
            return Err(ShellError::Crowded {
                edge,
                triangles,
                most: MAX_HINGES,
            });
        }
        self.hinges.reserve_exact(pairs);
        self.wings.reserve_exact(pairs);
        for here in around() {
            let edge = here[0].edge;
            self.edges.push(edge);
            self.counts.borders += usize::from(here.len() == 1);
            self.counts.crowded += usize::from(here.len() > 2);
            for (i, one) in here.iter().enumerate() {
                for other in &here[i + 1..] {
                    // Two triangles with the same vertices always have the same angle.
                    if one.opposite != other.opposite {
                        self.hinges
                            .push([edge[0], edge[1], one.opposite, other.opposite]);
                        self.wings.push([one.face, other.face]);
                    }
                }
            }
        }
        Ok(())
    }

    /// Numbers the connected parts, and counts the vertices of no face.
    fn find_pieces(&mut self) {
        let mut sets = DisjointSets::new(self.nodes);
        let mut used = vec![false; self.nodes];
        for &[a, b, c] in &self.faces {
            sets.join(a, b);
            sets.join(b, c);
            [a, b, c].iter().for_each(|&v| used[v as usize] = true);
        }
        self.pieces = sets.set_numbers();
        self.counts.unused = used.iter().filter(|used| !**used).count();
        let pieces = self
            .pieces
            .iter()
            .max()
            .map_or(0, |&last| last as usize + 1);
        self.counts.parts = pieces - self.counts.unused;
    }
}

/// Returns the three sides of every face.
fn sides(faces: &[[u32; 3]]) -> Vec<FaceSide> {
    let mut sides = Vec::with_capacity(3 * faces.len());
    for (face, &[a, b, c]) in faces.iter().enumerate() {
        for (from, to, opposite) in [(a, b, c), (b, c, a), (c, a, b)] {
            sides.push(FaceSide {
                edge: [from.min(to), from.max(to)],
                face: face as u32,
                opposite,
            });
        }
    }
    sides
}

/// Counts the faces with the same vertices as an earlier one.
fn count_doubled(faces: &[[u32; 3]]) -> usize {
    let mut sorted: Vec<[u32; 3]> = faces.to_vec();
    sorted.iter_mut().for_each(|face| face.sort_unstable());
    sorted.par_sort_unstable();
    sorted.windows(2).filter(|pair| pair[0] == pair[1]).count()
}
