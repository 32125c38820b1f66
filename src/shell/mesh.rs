// SPDX-License-Identifier: MIT OR Apache-2.0
//! The parts of a triangle mesh that have energy: edges, faces, hinges.
//!
//! Nothing is asked of the mesh. Each pair of triangles at an edge is a hinge, so that a fin hangs on every sheet it touches;
//! how triangles are oriented is not looked at. What cannot carry energy is left out and counted.

use super::ShellError;
use crate::sets::DisjointSets;
use rayon::prelude::*;

/// Pairs of triangles at an edge that are taken, in all.
const MOST_HINGES: usize = 1 << 24;
/// Vertices or triangles that are taken, so that indices of blocks fit in 32 bits.
const MOST: usize = 1 << 24;

/// What was found in a mesh.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Counts {
    /// Triangles that name a vertex twice.
    pub repeated_corners: usize,
    /// Triangles over the same vertices as another.
    pub doubled: usize,
    /// Edges of one triangle.
    pub borders: usize,
    /// Edges of more than two.
    pub crowded: usize,
    /// Vertices of no triangle.
    pub unused: usize,
    /// Parts that share no vertex, without those.
    pub parts: usize,
}

/// Edges, faces and hinges over the vertices.
#[derive(Debug)]
pub(super) struct Mesh {
    /// Vertices.
    pub nodes: usize,
    /// Triangles as they were given.
    pub triangles: Vec<[u32; 3]>,
    /// Those with three different corners.
    pub faces: Vec<[u32; 3]>,
    /// Smaller vertex first, ascending.
    pub edges: Vec<[u32; 2]>,
    /// The edge, smaller vertex first, then what lies opposite in either face.
    pub hinges: Vec<[u32; 4]>,
    /// The two faces of each hinge.
    pub wings: Vec<[u32; 2]>,
    /// For each vertex the number of its part; loose vertices are parts of their own.
    pub pieces: Vec<u32>,
    /// What was found.
    pub counts: Counts,
}

/// An edge as a face has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Side {
    edge: [u32; 2],
    face: u32,
    opposite: u32,
}

impl Mesh {
    pub fn new(nodes: usize, triangles: Vec<[u32; 3]>) -> Result<Self, ShellError> {
        if nodes > MOST || triangles.len() > MOST {
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
        // All different, so that there is only one order.
        sides.par_sort_unstable();
        let mut mesh = Self {
            nodes,
            counts: Counts {
                repeated_corners: triangles.len() - faces.len(),
                doubled: doubled(&faces),
                ..Counts::default()
            },
            triangles,
            faces,
            edges: Vec::new(),
            hinges: Vec::new(),
            wings: Vec::new(),
            pieces: Vec::new(),
        };
        mesh.join(&sides)?;
        mesh.part();
        Ok(mesh)
    }

    /// Edges and hinges from the sides of all faces, those of an edge one after another.
    fn join(&mut self, sides: &[Side]) -> Result<(), ShellError> {
        let around = || sides.chunk_by(|a, b| a.edge == b.edge);
        let pairs: usize = around().map(|s| s.len() * (s.len() - 1) / 2).sum();
        if pairs > MOST_HINGES {
            let most = around().max_by_key(|s| s.len());
            let (edge, triangles) = most.map_or(([0; 2], 0), |s| (s[0].edge, s.len()));
            return Err(ShellError::Crowded {
                edge,
                triangles,
                most: MOST_HINGES,
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
                    // Two triangles over the same vertices have the same angle always.
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

    /// Connected parts, and vertices of no face.
    fn part(&mut self) {
        let mut sets = DisjointSets::new(self.nodes);
        let mut used = vec![false; self.nodes];
        for &[a, b, c] in &self.faces {
            sets.join(a, b);
            sets.join(b, c);
            [a, b, c].iter().for_each(|&v| used[v as usize] = true);
        }
        self.pieces = sets.numbers();
        self.counts.unused = used.iter().filter(|used| !**used).count();
        let pieces = self
            .pieces
            .iter()
            .max()
            .map_or(0, |&last| last as usize + 1);
        self.counts.parts = pieces - self.counts.unused;
    }
}

fn sides(faces: &[[u32; 3]]) -> Vec<Side> {
    let mut sides = Vec::with_capacity(3 * faces.len());
    for (face, &[a, b, c]) in faces.iter().enumerate() {
        for (from, to, opposite) in [(a, b, c), (b, c, a), (c, a, b)] {
            sides.push(Side {
                edge: [from.min(to), from.max(to)],
                face: face as u32,
                opposite,
            });
        }
    }
    sides
}

/// Faces over the same vertices as an earlier one.
fn doubled(faces: &[[u32; 3]]) -> usize {
    let mut sorted: Vec<[u32; 3]> = faces.to_vec();
    sorted.iter_mut().for_each(|face| face.sort_unstable());
    sorted.par_sort_unstable();
    sorted.windows(2).filter(|pair| pair[0] == pair[1]).count()
}
