// SPDX-License-Identifier: MIT OR Apache-2.0
//! Cells recognised from a mesh of their faces, and that mesh of a lattice.
//!
//! A cell is a closed shell of four triangles (tetrahedron), two triangles and three quadrilaterals (prism) or six
//! quadrilaterals (hexahedron). Shells are found from how faces meet, so vertices may be moved anywhere. A shell is
//! no cell if smaller cells fill it: then each of its faces has one of them on the same side. Neighbours pass through
//! their common face in opposite senses; this orients a connected set of cells up to one sign, and the sign is that of
//! the set's volume. So a cell that was turned over by moving its vertices is recognised as inverted.
//!
//! A hole with the faces of a cell all around reads as a cell. [`Lattice::face_mesh`] merges virtual copies.
//!
//! Cost: about `n log n` for `n` faces, with a bounded number of faces at each edge.

use super::check::MergedGeometry;
use super::{Cell, Lattice, LatticeError, Violation};
use crate::Vec3;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Share of its volume by which the cells on the inner sides of a shell may exceed it and still fill it: rounding.
const VOLUME_TOLERANCE: f64 = 1e-9;

/// A mesh of faces: vertices, and the corners of each face in cyclic order.
pub type FaceMesh = (Vec<Vec3>, Vec<Vec<u32>>);

impl Lattice {
    /// Recognises the cells of a mesh of triangles and quadrilaterals, corners in cyclic order. Each face belongs to
    /// one cell or to two. Vertices without a face are left out, the others keep their order.
    ///
    /// # Errors
    /// [`LatticeError::Conditions`] names the faces that bound no cell; those of [`Lattice::new`].
    pub fn from_faces(vertices: &[Vec3], faces: &[Vec<u32>]) -> Result<Self, LatticeError> {
        let table = FaceTable::new(vertices, faces)?;
        let mut shells = table.shells(vertices);
        remove_filled(&mut shells);
        orient(&mut shells);
        let bounding: BTreeSet<usize> = shells.iter().flat_map(Shell::face_ids).collect();
        let loose = (0..table.faces.len()).filter(|f| !bounding.contains(f));
        let loose: Vec<Violation> = loose
            .map(|f| {
                let face = table.faces[f].clone();
                let centre = face.iter().map(|&v| vertices[v as usize]).sum::<Vec3>();
                let at = centre / face.len() as f64;
                Violation::LooseFace { face, at }
            })
            .collect();
        if !loose.is_empty() {
            return Err(LatticeError::Conditions(loose));
        }
        let used: BTreeSet<u32> = table.faces.iter().flatten().copied().collect();
        let numbers: BTreeMap<u32, u32> = used.iter().copied().zip(0..).collect();
        let kept = used.iter().map(|&v| vertices[v as usize]).collect();
        let cells = shells.iter().map(|s| s.cell.renumber(|v| numbers[&v]));
        Self::new(kept, cells.collect())
    }

    /// Returns the lattice as a mesh of the faces of its cells, each once, seen from outside its first cell. Virtual
    /// copies are merged. [`from_faces`](Self::from_faces) reads the cells back.
    pub fn face_mesh(&self) -> FaceMesh {
        let merged = MergedGeometry::new(self);
        let mut numbers = vec![u32::MAX; self.vertices.len()];
        let (mut vertices, mut faces) = (Vec::new(), Vec::new());
        let used: BTreeSet<u32> = (self.cells.iter())
            .flat_map(|c| c.corners().iter().map(|&v| merged.vertex(v)))
            .collect();
        for v in used {
            numbers[v as usize] = vertices.len() as u32;
            vertices.push(self.vertices[v as usize]);
        }
        let mut seen = BTreeSet::new();
        for cell in &self.cells {
            for f in cell.faces() {
                let corner = |&i: &usize| numbers[merged.vertex(cell.corners()[i]) as usize];
                let face: Vec<u32> = f.iter().map(corner).collect();
                if seen.insert(face_key(&face)) {
                    faces.push(face);
                }
            }
        }
        (vertices, faces)
    }
}

/// Returns the corners of a face from the lowest on, towards its lower neighbour: the same for every start and sense.
fn face_key(face: &[u32]) -> Vec<u32> {
    let n = face.len();
    let first = (0..n).min_by_key(|&i| face[i]).unwrap_or(0);
    let (next, before) = (face[(first + 1) % n], face[(first + n - 1) % n]);
    let step = if next < before { 1 } else { n - 1 };
    (0..n).map(|k| face[(first + k * step) % n]).collect()
}

/// Returns whether a face runs around in the sense of its key.
fn runs_as_key(face: &[u32], key: &[u32]) -> bool {
    let at = face.iter().position(|&v| v == key[0]).unwrap_or(0);
    face[(at + 1) % face.len()] == key[1]
}

/// Distinct faces of a mesh, found by key, edge and corner.
struct FaceTable {
    /// Keys of the faces.
    faces: Vec<Vec<u32>>,
    /// Face of each key.
    number: BTreeMap<Vec<u32>, usize>,
    /// Faces at each edge, from the lower vertex to the higher.
    at_edge: BTreeMap<(u32, u32), Vec<usize>>,
    /// Fourth vertices of the quadrilaterals at each corner: vertex, then its two neighbours, the lower first.
    opposite: BTreeMap<(u32, u32, u32), Vec<u32>>,
}

impl FaceTable {
    /// Checks and collects the faces.
    fn new(vertices: &[Vec3], given: &[Vec<u32>]) -> Result<Self, LatticeError> {
        let mut table = Self {
            faces: Vec::new(),
            number: BTreeMap::new(),
            at_edge: BTreeMap::new(),
            opposite: BTreeMap::new(),
        };
        let mut faulty = Vec::new();
        for (index, face) in given.iter().enumerate() {
            if let Some(&v) = face.iter().find(|&&v| v as usize >= vertices.len()) {
                return Err(LatticeError::FaceVertex {
                    face: index,
                    vertex: i64::from(v),
                    count: vertices.len(),
                });
            }
            let distinct: BTreeSet<u32> = face.iter().copied().collect();
            if !(3..=4).contains(&face.len()) || distinct.len() != face.len() {
                faulty.push(Violation::FaceCorners { face: face.clone() });
                continue;
            }
            table.insert(face_key(face));
        }
        if faulty.is_empty() {
            Ok(table)
        } else {
            Err(LatticeError::Conditions(faulty))
        }
    }

    fn insert(&mut self, key: Vec<u32>) {
        let id = self.faces.len();
        if self.number.contains_key(&key) {
            return;
        }
        let n = key.len();
        for i in 0..n {
            let (v, next, before) = (key[i], key[(i + 1) % n], key[(i + n - 1) % n]);
            let edge = (v.min(next), v.max(next));
            self.at_edge.entry(edge).or_default().push(id);
            if n == 4 {
                let corner = (v, before.min(next), before.max(next));
                let across = key[(i + 2) % n];
                self.opposite.entry(corner).or_default().push(across);
            }
        }
        self.number.insert(key.clone(), id);
        self.faces.push(key);
    }

    fn find(&self, face: &[u32]) -> Option<usize> {
        self.number.get(&face_key(face)).copied()
    }

    /// Returns the faces with `corners` corners at an edge.
    fn at(&self, a: u32, b: u32, corners: usize) -> impl Iterator<Item = &[u32]> {
        let at = self.at_edge.get(&(a.min(b), a.max(b)));
        let of = |&f: &usize| &self.faces[f][..];
        at.into_iter()
            .flatten()
            .map(of)
            .filter(move |f| f.len() == corners)
    }

    /// Returns the fourth vertices of the quadrilaterals with `v` between `a` and `b`.
    fn across(&self, v: u32, a: u32, b: u32) -> &[u32] {
        let corner = (v, a.min(b), a.max(b));
        self.opposite.get(&corner).map_or(&[], |list| &list[..])
    }

    /// Finds all closed shells with the faces of a cell, each once.
    fn shells(&self, vertices: &[Vec3]) -> Vec<Shell> {
        let mut found = BTreeMap::new();
        for base in &self.faces {
            let mut add = |cell: Cell| {
                if let Some(shell) = self.shell(cell, vertices) {
                    let mut key: Vec<usize> = shell.face_ids().collect();
                    key.sort_unstable();
                    found.entry(key).or_insert(shell);
                }
            };
            let (a, b) = (base[0], base[1]);
            if let &[_, _, c] = &base[..] {
                for side in self.at(a, b, 3) {
                    for &d in side.iter().filter(|v| !base.contains(v)) {
                        add(Cell::Tetrahedron([a, b, c, d]));
                    }
                }
            }
            for side in self.at(a, b, 4) {
                let (a1, b1) = beyond(side, a, b);
                self.columns(base, a1, b1, &mut add);
            }
        }
        found.into_values().collect()
    }

    /// Finds the prisms or hexahedra over `base` whose side at its first edge ends in the edge `a1`, `b1`.
    fn columns(&self, base: &[u32], a1: u32, b1: u32, add: &mut impl FnMut(Cell)) {
        match *base {
            [a, b, c] => {
                for &c1 in self.across(b, b1, c) {
                    add(Cell::Prism([a, b, c, a1, b1, c1]));
                }
            }
            [a, b, c, d] => {
                for &c1 in self.across(b, b1, c) {
                    for &d1 in self.across(c, c1, d) {
                        add(Cell::Hexahedron([a, b, d, c, a1, b1, d1, c1]));
                    }
                }
            }
            _ => {}
        }
    }

    /// Returns the shell of a cell with positive volume; `None` if a face is missing or a corner repeated.
    fn shell(&self, cell: Cell, vertices: &[Vec3]) -> Option<Shell> {
        let distinct: BTreeSet<u32> = cell.corners().iter().copied().collect();
        if distinct.len() != cell.corners().len() {
            return None;
        }
        let corners: Vec<Vec3> = (cell.corners().iter())
            .map(|&v| vertices[v as usize])
            .collect();
        let volume = cell.volume(&corners);
        let mut shell = Shell {
            cell,
            faces: self.sides(&cell)?,
            volume,
        };
        if volume < 0.0 {
            shell.turn_over();
        }
        Some(shell)
    }

    /// Returns the faces of a cell, each with whether the cell passes through it in the sense of its key.
    fn sides(&self, cell: &Cell) -> Option<Vec<(usize, bool)>> {
        let side = |f: &&[usize]| {
            let face: Vec<u32> = f.iter().map(|&i| cell.corners()[i]).collect();
            let id = self.find(&face)?;
            Some((id, runs_as_key(&face, &self.faces[id])))
        };
        cell.faces().iter().map(side).collect()
    }
}

/// Returns the neighbours of `a` and of `b` in a quadrilateral with the edge from `a` to `b`.
fn beyond(face: &[u32], a: u32, b: u32) -> (u32, u32) {
    let at = |v: u32| face.iter().position(|&w| w == v).unwrap_or(0);
    let across = |v: u32| face[(at(v) + 2) % 4];
    (across(b), across(a))
}

/// Closed shell with the faces of a cell.
struct Shell {
    cell: Cell,
    /// Faces, each with whether the cell passes through it in the sense of its key: the side on which it lies.
    faces: Vec<(usize, bool)>,
    /// Signed volume in the cell's order, m³.
    volume: f64,
}

impl Shell {
    fn face_ids(&self) -> impl Iterator<Item = usize> + '_ {
        self.faces.iter().map(|&(f, _)| f)
    }

    /// Reverses the orientation of the cell.
    fn turn_over(&mut self) {
        self.cell = match self.cell {
            Cell::Tetrahedron([a, b, c, d]) => Cell::Tetrahedron([b, a, c, d]),
            Cell::Prism([a, b, c, d, e, f]) => Cell::Prism([a, c, b, d, f, e]),
            Cell::Hexahedron(c) => Cell::Hexahedron(std::array::from_fn(|i| c[i ^ 1])),
        };
        self.faces.iter_mut().for_each(|(_, side)| *side = !*side);
        self.volume = -self.volume;
    }
}

/// Removes the shells that smaller ones fill, from the largest on.
fn remove_filled(shells: &mut Vec<Shell>) {
    shells.sort_by(|a, b| b.volume.total_cmp(&a.volume));
    let mut at_side: BTreeMap<(usize, bool), BTreeSet<usize>> = BTreeMap::new();
    for (s, shell) in shells.iter().enumerate() {
        for &side in &shell.faces {
            at_side.entry(side).or_default().insert(s);
        }
    }
    let mut filled = vec![false; shells.len()];
    for (s, shell) in shells.iter().enumerate() {
        let mut inner: BTreeSet<usize> = BTreeSet::new();
        let covered = shell.faces.iter().all(|side| {
            let others = at_side[side].range(s + 1..);
            let smaller: Vec<usize> = others.copied().collect();
            inner.extend(&smaller);
            !smaller.is_empty()
        });
        let total: f64 = inner.iter().map(|&i| shells[i].volume).sum();
        if covered && total <= shell.volume * (1.0 + VOLUME_TOLERANCE) {
            filled[s] = true;
            for side in &shell.faces {
                at_side.entry(*side).or_default().remove(&s);
            }
        }
    }
    let mut number = 0..;
    shells.retain(|_| number.next().is_some_and(|s: usize| !filled[s]));
    // In the order of their lowest corners, which does not change when vertices are moved.
    shells.sort_by_key(|shell| {
        let mut corners = shell.cell.corners().to_vec();
        corners.sort_unstable();
        corners
    });
}

/// Orients each connected set of shells so that neighbours pass through their common face in opposite senses.
fn orient(shells: &mut [Shell]) {
    let mut of_face: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (s, shell) in shells.iter().enumerate() {
        shell
            .face_ids()
            .for_each(|f| of_face.entry(f).or_default().push(s));
    }
    let mut seen = vec![false; shells.len()];
    for first in 0..shells.len() {
        if std::mem::replace(&mut seen[first], true) {
            continue;
        }
        let (mut queue, mut members) = (VecDeque::from([first]), vec![first]);
        while let Some(s) = queue.pop_front() {
            for (face, side) in shells[s].faces.clone() {
                // A face of more than two cells breaks condition 1 and tells no sense.
                let &[a, b] = &of_face[&face][..] else {
                    continue;
                };
                let other = if a == s { b } else { a };
                if std::mem::replace(&mut seen[other], true) {
                    continue;
                }
                if shells[other].faces.contains(&(face, side)) {
                    shells[other].turn_over();
                }
                queue.push_back(other);
                members.push(other);
            }
        }
        let volume: f64 = members.iter().map(|&s| shells[s].volume).sum();
        if volume < 0.0 {
            members.iter().for_each(|&s| shells[s].turn_over());
        }
    }
}

#[cfg(test)]
mod tests;
