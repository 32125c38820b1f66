// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bodies of cubes, and a plain lattice around a surface.

use super::super::*;
use crate::geometry::tetrahedron::{closest_on_segment, meets_triangle, volume};
use crate::lattice::delaunay::delaunay;
use crate::progress::Silent;
use nalgebra::Rotation3;
use std::collections::{BTreeMap, BTreeSet};

/// Edge of a cube.
pub(super) const CUBE_EDGE: f64 = 0.1;

/// A body of cubes, turned so that nothing is aligned with the axes.
pub(super) struct Cubes {
    pub(super) filled: BTreeSet<[i32; 3]>,
    /// Width of odd layers of cubes along x, which may serve as gaps, in units of [`CUBE_EDGE`]; even layers fill up to two.
    pub(super) gap: f64,
    pub(super) turn: Rotation3<f64>,
}

impl Cubes {
    pub(super) fn new(boxes: &[[std::ops::Range<i32>; 3]]) -> Self {
        let mut filled = BTreeSet::new();
        for [x, y, z] in boxes {
            for i in x.clone() {
                for j in y.clone() {
                    filled.extend(z.clone().map(|k| [i, j, k]));
                }
            }
        }
        Self {
            filled,
            gap: 1.0,
            turn: Rotation3::from_euler_angles(0.3, -0.5, 0.8),
        }
    }

    /// Returns the x coordinate at which layer `i` begins: odd layers are `gap` wide, even ones fill up to two.
    pub(super) fn x(&self, i: i32) -> f64 {
        f64::from(i.div_euclid(2) * 2) + f64::from(i.rem_euclid(2)) * (2.0 - self.gap)
    }

    /// Returns the position of a corner from its cube coordinates.
    pub(super) fn position(&self, p: [i32; 3]) -> Vec3 {
        self.turn * Vec3::new(self.x(p[0]), f64::from(p[1]), f64::from(p[2])) * CUBE_EDGE
    }

    /// Returns the cube at a point.
    pub(super) fn cube(&self, p: Vec3) -> [i32; 3] {
        let q = self.turn.inverse() * p / CUBE_EDGE;
        let even = (q.x / 2.0).floor() as i32 * 2;
        let x = if q.x < self.x(even + 1) {
            even
        } else {
            even + 1
        };
        [x, q.y.floor() as i32, q.z.floor() as i32]
    }

    pub(super) fn contains(&self, p: Vec3) -> bool {
        self.filled.contains(&self.cube(p))
    }

    /// Returns the boundary squares as two triangles each.
    pub(super) fn mesh(&self) -> (Vec<Vec3>, Vec<[u32; 3]>) {
        let mut number = BTreeMap::new();
        let mut vertices = Vec::new();
        let mut triangles = Vec::new();
        for &cube in &self.filled {
            for axis in 0..3 {
                for side in 0..2 {
                    let mut beyond = cube;
                    beyond[axis] += 2 * side - 1;
                    if self.filled.contains(&beyond) {
                        continue;
                    }
                    let corners = [[0, 0], [1, 0], [1, 1], [0, 1]].map(|[u, v]| {
                        let mut p = cube;
                        p[axis] += side;
                        p[(axis + 1) % 3] += u;
                        p[(axis + 2) % 3] += v;
                        *number.entry(p).or_insert_with(|| {
                            vertices.push(self.position(p));
                            vertices.len() as u32 - 1
                        })
                    });
                    let [a, b, c, d] = corners;
                    let square = [[a, b, c], [a, c, d]];
                    triangles.extend(
                        square.map(|[a, b, c]| if side == 1 { [a, b, c] } else { [a, c, b] }),
                    );
                }
            }
        }
        (vertices, triangles)
    }

    pub(super) fn surface(&self) -> Surface {
        let (vertices, triangles) = self.mesh();
        Surface::new(vertices, triangles).expect("has area")
    }
}

/// Returns the points of chains, each once, and the edges between them with their bones.
fn bone_edges(chains: &[Vec<Vec3>]) -> (Vec<Vec3>, Vec<(u32, u32, u32)>) {
    let (mut points, mut bones) = (Vec::<Vec3>::new(), Vec::new());
    for (bone, chain) in chains.iter().enumerate() {
        let mut last = None;
        for &p in chain {
            let at = points.iter().position(|q| (p - q).norm() < 1e-9);
            let at = at.unwrap_or(points.len());
            if at == points.len() {
                points.push(p);
            }
            if let Some(l) = last.replace(at as u32) {
                bones.push((l, at as u32, bone as u32));
            }
        }
    }
    (points, bones)
}

/// A body-centred cubic lattice around a surface with bones on its edges.
pub(super) struct Fixture {
    pub(super) surface: Surface,
    pub(super) vertices: Vec<Vec3>,
    pub(super) cells: Vec<[u32; 4]>,
    pub(super) bones: Vec<(u32, u32, u32)>,
    pub(super) h: f64,
}

impl Fixture {
    pub(super) fn new(surface: Surface, h: f64, chains: &[Vec<Vec3>]) -> Self {
        let (mut points, bones) = bone_edges(chains);
        let fixed = points.len();
        let (lo, hi) = surface.bounds();
        let n = ((hi - lo) / h).map(|x| x.ceil() as i32 + 3);
        for i in -3..=n.x {
            for j in -3..=n.y {
                for k in -3..=n.z {
                    for half in [0.0, 0.5] {
                        let p = Vec3::new(f64::from(i), f64::from(j), f64::from(k));
                        // Off the exact grid, whose cospherical points would give slivers.
                        let off = (p * 12.9898 + Vec3::new(half, 0.3, 0.7)).map(f64::sin) * 0.04;
                        let p = lo + (p + Vec3::repeat(half) + off) * h;
                        let on = |e: &(u32, u32, u32)| {
                            let (a, b) = (points[e.0 as usize], points[e.1 as usize]);
                            (closest_on_segment(a, b, p).0 - p).norm() < 0.55 * h
                        };
                        if !bones.iter().any(on) {
                            points.push(p);
                        }
                    }
                }
            }
        }
        let kept = |t: &[u32; 4]| {
            let x = t.map(|v| points[v as usize]);
            let bone = bones.iter().any(|e| t.contains(&e.0) && t.contains(&e.1));
            let welded = surface.welded();
            let mut near = Vec::new();
            let lo = x.iter().fold(x[0], |lo, p| lo.inf(p));
            let hi = x.iter().fold(x[0], |hi, p| hi.sup(p));
            surface.triangles_in_box(lo, hi, &mut near);
            bone || surface.contains(x.iter().sum::<Vec3>() / 4.0)
                || near.iter().any(|&c| {
                    let corners = welded.triangles[c as usize];
                    meets_triangle(&x, &corners.map(|v| welded.vertices[v as usize]), 1e-9)
                })
        };
        let tets = delaunay(&points).expect("spans space");
        let tets: Vec<[u32; 4]> = tets.into_iter().filter(kept).collect();
        // Used vertices only, those on bones first.
        let mut number: Vec<u32> = (0..points.len() as u32)
            .map(|v| if v < fixed as u32 { v } else { NO_CELL })
            .collect();
        let mut vertices = points[..fixed].to_vec();
        let cells = tets
            .iter()
            .map(|t| {
                t.map(|v| {
                    if number[v as usize] == NO_CELL {
                        number[v as usize] = vertices.len() as u32;
                        vertices.push(points[v as usize]);
                    }
                    number[v as usize]
                })
            })
            .collect();
        Self {
            surface,
            vertices,
            cells,
            bones,
            h,
        }
    }

    pub(super) fn split(&self) -> Split {
        let input = SplitInput {
            vertices: &self.vertices,
            cells: &self.cells,
            surface: &self.surface,
            h: self.h,
            bone_edges: &self.bones,
            halved: false,
        };
        split(input, &Silent).expect("not cancelled")
    }

    /// Returns the split, after it asserts everything that must always hold.
    pub(super) fn checked_split(&self) -> Split {
        let s = self.split();
        let (n, m) = (self.vertices.len(), self.cells.len());
        assert_eq!(s.vertices[..n], self.vertices[..]);
        assert_eq!(s.vertices.len(), s.original.len());
        assert_eq!(s.cells.len(), s.group.len());
        for (v, &o) in s.original.iter().enumerate() {
            assert_eq!(s.vertices[v], self.vertices[o as usize]);
            assert!(v >= n || v == o as usize);
        }
        let mut faces: BTreeMap<[u32; 3], Vec<usize>> = BTreeMap::new();
        for (c, (cell, &g)) in s.cells.iter().zip(&s.group).enumerate() {
            assert!(c >= m || c == g as usize);
            assert_eq!(cell.map(|v| s.original[v as usize]), self.cells[g as usize]);
            assert!(volume(&cell.map(|v| s.vertices[v as usize])) > 0.0);
            for k in 0..4 {
                let mut f = [1, 2, 3].map(|i| cell[(k + i) % 4]);
                f.sort_unstable();
                faces.entry(f).or_default().push(c);
            }
        }
        assert!(faces.values().all(|cells| cells.len() <= 2));
        for e in &self.bones {
            let held = s.cells.iter().any(|c| c.contains(&e.0) && c.contains(&e.1));
            assert!(held, "bone edge {e:?} is lost");
        }
        let mut used = vec![false; s.vertices.len()];
        s.cells
            .iter()
            .flatten()
            .for_each(|&v| used[v as usize] = true);
        assert!(used[n..].iter().all(|&u| u));
        s
    }

    /// Returns the lattice vertices that carry the surface vertices at which a condition holds.
    pub(super) fn carriers(&self, s: &Split, at: impl Fn(Vec3) -> bool) -> BTreeSet<u32> {
        let owners = s
            .flesh
            .vertex_owner(&self.surface)
            .expect("the same surface");
        let welded = &self.surface.welded().vertices;
        let chosen = welded.iter().zip(owners).filter(|(p, _)| at(**p));
        chosen.flat_map(|(_, &c)| s.cells[c as usize]).collect()
    }
}
