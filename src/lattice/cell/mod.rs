// SPDX-License-Identifier: MIT OR Apache-2.0
//! Cells (tetrahedra, triangular prisms, hexahedra), their level-0 functions and their subdivision.
//!
//! The level-0 function of a corner is the piecewise trilinear function of [capell2002, §3.1 and A.1]: its
//! value at an edge, face or cell centre is the mean over the corners. Repeated, that rule gives linear
//! functions on a tetrahedron, linear × linear on a prism and trilinear on a hexahedron, so they are evaluated
//! in closed form here.
//!
//! *Local coordinates* `(a, b, c)`: on a tetrahedron the barycentric coordinates of corners 1, 2 and 3;
//! on a prism those of corners 1 and 2 in the triangle, and the height; on a hexahedron the unit cube.

mod inverse;
mod refine;

use crate::Vec3;
use crate::geometry::tetrahedron::CUBE_TETRAHEDRA;
pub(super) use inverse::LOCAL_TOLERANCE;
pub(crate) use refine::{MeanCorners, hexahedron_means, hexahedron_pieces};

/// A cell of a control lattice.
///
/// Corner order: a tetrahedron is positively oriented; a prism lists the bottom triangle, then the top (the
/// bottom counter-clockwise as seen from the top); a hexahedron numbers its corners `i + 2j + 4k`. A face with
/// four corners is their bilinear patch, so cells meet without gaps even if the four are not coplanar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Cell {
    /// Four corners.
    Tetrahedron([u32; 4]),
    /// Six corners.
    Prism([u32; 6]),
    /// Eight corners.
    Hexahedron([u32; 8]),
}

/// Values of a cell's (at most eight) level-0 functions at a point; unused entries are zero.
pub type ShapeValues = [f64; 8];

/// A tetrahedron inside a cell: the cell's functions at its four corners.
pub type SubTetrahedron = [ShapeValues; 4];

const TETRAHEDRON_EDGES: [[usize; 2]; 6] = [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]];
const PRISM_EDGES: [[usize; 2]; 9] = [
    [0, 1],
    [1, 2],
    [2, 0],
    [3, 4],
    [4, 5],
    [5, 3],
    [0, 3],
    [1, 4],
    [2, 5],
];
const HEXAHEDRON_EDGES: [[usize; 2]; 12] = [
    [0, 1],
    [2, 3],
    [4, 5],
    [6, 7],
    [0, 2],
    [1, 3],
    [4, 6],
    [5, 7],
    [0, 4],
    [1, 5],
    [2, 6],
    [3, 7],
];
// Faces seen from outside, counter-clockwise.
const TETRAHEDRON_FACES: [&[usize]; 4] = [&[1, 2, 3], &[0, 3, 2], &[0, 1, 3], &[0, 2, 1]];
const PRISM_FACES: [&[usize]; 5] = [
    &[0, 2, 1],
    &[3, 4, 5],
    &[0, 1, 4, 3],
    &[1, 2, 5, 4],
    &[2, 0, 3, 5],
];
const HEXAHEDRON_FACES: [&[usize]; 6] = [
    &[0, 2, 3, 1],
    &[4, 5, 7, 6],
    &[0, 1, 5, 4],
    &[2, 6, 7, 3],
    &[0, 4, 6, 2],
    &[1, 3, 7, 5],
];

/// A corner and its three neighbours, right-handed in a valid cell.
type CornerFrame = [usize; 4];

// One corner decides for a tetrahedron: its others have the same volume.
const TETRAHEDRON_FRAMES: [CornerFrame; 1] = [[0, 1, 2, 3]];
const PRISM_FRAMES: [CornerFrame; 6] = [
    [0, 1, 2, 3],
    [1, 2, 0, 4],
    [2, 0, 1, 5],
    [3, 5, 4, 0],
    [4, 3, 5, 1],
    [5, 4, 3, 2],
];
const HEXAHEDRON_FRAMES: [CornerFrame; 8] = [
    [0, 1, 2, 4],
    [1, 3, 0, 5],
    [2, 0, 3, 6],
    [3, 2, 1, 7],
    [4, 6, 5, 0],
    [5, 4, 7, 1],
    [6, 7, 4, 2],
    [7, 5, 6, 3],
];

/// Returns six times the signed volume of the tetrahedron of a frame with corners at `x`, m³.
pub(crate) fn corner_volume<I>(frame: [I; 4], x: impl Fn(I) -> Vec3) -> f64 {
    let [o, a, b, c] = frame.map(x);
    (a - o).cross(&(b - o)).dot(&(c - o))
}

impl Cell {
    /// Returns the same cell with its vertices renumbered.
    pub(crate) fn renumber(&self, number: impl Fn(u32) -> u32) -> Self {
        match self {
            Self::Tetrahedron(c) => Self::Tetrahedron(c.map(number)),
            Self::Prism(c) => Self::Prism(c.map(number)),
            Self::Hexahedron(c) => Self::Hexahedron(c.map(number)),
        }
    }

    /// Builds a cell from 4, 6 or 8 corners; `None` for other numbers.
    pub fn from_corners(corners: &[u32]) -> Option<Self> {
        match corners.len() {
            4 => corners.try_into().ok().map(Cell::Tetrahedron),
            6 => corners.try_into().ok().map(Cell::Prism),
            8 => corners.try_into().ok().map(Cell::Hexahedron),
            _ => None,
        }
    }

    /// Returns the corner vertices in the cell's order.
    pub fn corners(&self) -> &[u32] {
        match self {
            Cell::Tetrahedron(c) => c,
            Cell::Prism(c) => c,
            Cell::Hexahedron(c) => c,
        }
    }

    /// Returns the name of the cell's kind for error sentences.
    pub fn name(&self) -> &'static str {
        match self {
            Cell::Tetrahedron(_) => "tetrahedron",
            Cell::Prism(_) => "prism",
            Cell::Hexahedron(_) => "hexahedron",
        }
    }

    /// Returns the edges as pairs of local corner numbers.
    pub fn edges(&self) -> &'static [[usize; 2]] {
        match self {
            Cell::Tetrahedron(_) => &TETRAHEDRON_EDGES,
            Cell::Prism(_) => &PRISM_EDGES,
            Cell::Hexahedron(_) => &HEXAHEDRON_EDGES,
        }
    }

    /// Returns corners with their three neighbours, as local corner numbers; right-handed while the cell is valid.
    pub(crate) fn corner_frames(&self) -> &'static [CornerFrame] {
        match self {
            Cell::Tetrahedron(_) => &TETRAHEDRON_FRAMES,
            Cell::Prism(_) => &PRISM_FRAMES,
            Cell::Hexahedron(_) => &HEXAHEDRON_FRAMES,
        }
    }

    /// Returns whether the cell is inverted or flat at one of its corners, with the lattice's vertices at `positions`.
    pub(crate) fn is_inverted(&self, positions: &[Vec3]) -> bool {
        let x = |i: usize| positions[self.corners()[i] as usize];
        self.corner_frames().iter().any(|&frame| {
            let signed = corner_volume(frame, x);
            signed.is_nan() || signed <= 0.0
        })
    }

    /// Returns the faces as local corner numbers, counter-clockwise seen from outside.
    pub fn faces(&self) -> &'static [&'static [usize]] {
        match self {
            Cell::Tetrahedron(_) => &TETRAHEDRON_FACES,
            Cell::Prism(_) => &PRISM_FACES,
            Cell::Hexahedron(_) => &HEXAHEDRON_FACES,
        }
    }

    /// Returns the corner functions at local coordinates.
    pub fn shape_values(&self, l: Vec3) -> ShapeValues {
        let (a, b, c) = (l.x, l.y, l.z);
        match self {
            Cell::Tetrahedron(_) => [1.0 - a - b - c, a, b, c, 0.0, 0.0, 0.0, 0.0],
            Cell::Prism(_) => {
                let t = [1.0 - a - b, a, b];
                let d = 1.0 - c;
                [
                    t[0] * d,
                    t[1] * d,
                    t[2] * d,
                    t[0] * c,
                    t[1] * c,
                    t[2] * c,
                    0.0,
                    0.0,
                ]
            }
            Cell::Hexahedron(_) => std::array::from_fn(|i| {
                let f = |bit: usize, x: f64| if i >> bit & 1 == 1 { x } else { 1.0 - x };
                f(0, a) * f(1, b) * f(2, c)
            }),
        }
    }

    /// Returns the derivatives of the corner functions by the three local coordinates.
    fn shape_derivatives(&self, l: Vec3) -> [Vec3; 8] {
        let (a, b, c) = (l.x, l.y, l.z);
        let mut g = [Vec3::zeros(); 8];
        match self {
            Cell::Tetrahedron(_) => {
                g[0] = Vec3::new(-1.0, -1.0, -1.0);
                g[1].x = 1.0;
                g[2].y = 1.0;
                g[3].z = 1.0;
            }
            Cell::Prism(_) => {
                let t = [1.0 - a - b, a, b];
                let dt = [[-1.0, -1.0], [1.0, 0.0], [0.0, 1.0]];
                for i in 0..3 {
                    g[i] = Vec3::new(dt[i][0] * (1.0 - c), dt[i][1] * (1.0 - c), -t[i]);
                    g[i + 3] = Vec3::new(dt[i][0] * c, dt[i][1] * c, t[i]);
                }
            }
            Cell::Hexahedron(_) => {
                for (i, g) in g.iter_mut().enumerate() {
                    let f = |bit: usize, x: f64| if i >> bit & 1 == 1 { x } else { 1.0 - x };
                    let s = |bit: usize| if i >> bit & 1 == 1 { 1.0 } else { -1.0 };
                    *g = Vec3::new(
                        s(0) * f(1, b) * f(2, c),
                        s(1) * f(0, a) * f(2, c),
                        s(2) * f(0, a) * f(1, b),
                    );
                }
            }
        }
        g
    }

    /// Returns the position of local coordinates in a cell with the given corner positions.
    pub fn position(&self, corners: &[Vec3], l: Vec3) -> Vec3 {
        let s = self.shape_values(l);
        corners.iter().zip(s).map(|(x, w)| x * w).sum()
    }

    /// Returns the derivatives of the position by the three local coordinates, as columns.
    pub(super) fn jacobian(&self, corners: &[Vec3], l: Vec3) -> crate::Mat3 {
        let g = self.shape_derivatives(l);
        corners.iter().zip(g).map(|(x, g)| x * g.transpose()).sum()
    }

    /// Returns the smallest margin of local coordinates inside the reference cell; negative outside.
    pub fn inside_margin(&self, l: Vec3) -> f64 {
        match self {
            Cell::Tetrahedron(_) => l.min().min(1.0 - l.sum()),
            Cell::Prism(_) => l.min().min(1.0 - l.x - l.y).min(1.0 - l.z),
            Cell::Hexahedron(_) => l.min().min(1.0 - l.max()),
        }
    }

    /// Returns the point of the reference cell that is nearest in local coordinates (not in space).
    pub fn clamp(&self, l: Vec3) -> Vec3 {
        let simplex = |v: &mut [f64]| {
            // Projection onto {v >= 0, sum v <= 1}.
            v.iter_mut().for_each(|x| *x = x.max(0.0));
            let sum: f64 = v.iter().sum();
            if sum > 1.0 {
                v.iter_mut().for_each(|x| *x /= sum);
            }
        };
        let mut v = [l.x, l.y, l.z];
        match self {
            Cell::Tetrahedron(_) => simplex(&mut v),
            Cell::Prism(_) => {
                simplex(&mut v[..2]);
                v[2] = v[2].clamp(0.0, 1.0);
            }
            Cell::Hexahedron(_) => v.iter_mut().for_each(|x| *x = x.clamp(0.0, 1.0)),
        }
        Vec3::from(v)
    }

    /// Extrapolates the corner functions to a point outside, linearly from local coordinates `from`.
    ///
    /// They reproduce the point exactly. `None` if the cell is degenerate at `from`.
    pub fn extrapolate(&self, corners: &[Vec3], p: Vec3, from: Vec3) -> Option<ShapeValues> {
        let g = self.shape_derivatives(from);
        let step = self.jacobian(corners, from).try_inverse()? * (p - self.position(corners, from));
        let mut s = self.shape_values(from);
        for (s, g) in s.iter_mut().zip(g) {
            *s += g.dot(&step);
        }
        Some(s)
    }

    /// Returns the signed volume, by the tetrahedra of [`Cell::subtetrahedra`] at level 0.
    pub fn volume(&self, corners: &[Vec3]) -> f64 {
        let of = |t: &SubTetrahedron| {
            let x = t.map(|s| weighted_position(corners, &s));
            (x[1] - x[0]).cross(&(x[2] - x[0])).dot(&(x[3] - x[0])) / 6.0
        };
        match self {
            Cell::Tetrahedron(_) => of(&std::array::from_fn(corner_shape)),
            Cell::Prism(_) => prism_tetrahedra().iter().map(of).sum(),
            Cell::Hexahedron(_) => cut_hexahedron(&std::array::from_fn(corner_shape))
                .iter()
                .map(of)
                .sum(),
        }
    }

    /// Returns the tetrahedra of the cell after `level` hexahedral subdivisions [capell2002, §3.3, steps 1 and
    /// 3].
    ///
    /// Level 0 is the cell itself: a tetrahedron unchanged, a prism cut in three, a hexahedron in six. From
    /// level 1 on all pieces are hexahedra (four in a tetrahedron, six in a prism, eight in a hexahedron), each
    /// cut in six along its diagonal.
    pub fn subtetrahedra(&self, level: usize) -> Vec<SubTetrahedron> {
        if level == 0 {
            return match self {
                Cell::Tetrahedron(_) => vec![std::array::from_fn(corner_shape)],
                Cell::Prism(_) => prism_tetrahedra().to_vec(),
                Cell::Hexahedron(_) => cut_hexahedron(&std::array::from_fn(corner_shape)).to_vec(),
            };
        }
        let mut hexahedra = self.first_subdivision();
        for _ in 1..level {
            hexahedra = hexahedra.iter().flat_map(split_hexahedron).collect();
        }
        hexahedra.iter().flat_map(cut_hexahedron).collect()
    }

    /// Splits the cell into one hexahedron per corner: corner, edge centres, face centres, cell centre.
    fn first_subdivision(&self) -> Vec<[ShapeValues; 8]> {
        let n = self.corners().len();
        let mean = |corners: &[usize]| {
            let mut s = [0.0; 8];
            for &c in corners {
                s[c] += 1.0 / corners.len() as f64;
            }
            s
        };
        let all: Vec<usize> = (0..n).collect();
        (0..n)
            .map(|v| {
                // The three faces at the corner, in order around it; each edge lies between two of them.
                let next = |f: &[usize], step: usize| {
                    let at = f.iter().position(|&c| c == v).unwrap_or(0);
                    f[(at + step) % f.len()]
                };
                let around: Vec<&[usize]> = self
                    .faces()
                    .iter()
                    .copied()
                    .filter(|f| f.contains(&v))
                    .collect();
                let first = around[0];
                let e1 = next(first, 1);
                let e2 = next(first, first.len() - 1);
                // Seen from outside the face runs e2 → v → e1, so (e2, e1, third) is right-handed at v.
                let with = |e: usize, f: &&&[usize]| f.contains(&e) && !std::ptr::eq(**f, first);
                let f1 = around
                    .iter()
                    .find(|f| with(e1, f))
                    .copied()
                    .unwrap_or(first);
                let f2 = around
                    .iter()
                    .find(|f| with(e2, f))
                    .copied()
                    .unwrap_or(first);
                let e3 = f1
                    .iter()
                    .copied()
                    .find(|&c| c != v && f2.contains(&c) && self.has_edge(v, c))
                    .unwrap_or(v);
                [
                    mean(&[v]),
                    mean(&[v, e2]),
                    mean(&[v, e1]),
                    mean(first),
                    mean(&[v, e3]),
                    mean(f2),
                    mean(f1),
                    mean(&all),
                ]
            })
            .collect()
    }

    fn has_edge(&self, a: usize, b: usize) -> bool {
        self.edges().iter().any(|e| *e == [a, b] || *e == [b, a])
    }
}

/// Returns the position with the given corner functions.
pub fn weighted_position(corners: &[Vec3], shape: &[f64]) -> Vec3 {
    corners.iter().zip(shape).map(|(x, w)| x * *w).sum()
}

fn interpolate(points: &[ShapeValues; 8], l: Vec3) -> ShapeValues {
    let w = Cell::Hexahedron([0; 8]).shape_values(l);
    std::array::from_fn(|k| points.iter().zip(w).map(|(p, w)| p[k] * w).sum())
}

/// Splits a hexahedron into eight by the averaging rule.
fn split_hexahedron(h: &[ShapeValues; 8]) -> Vec<[ShapeValues; 8]> {
    let corner = |i: usize| Vec3::new((i & 1) as f64, (i >> 1 & 1) as f64, (i >> 2 & 1) as f64);
    (0..8)
        .map(|o| std::array::from_fn(|i| interpolate(h, (corner(o) + corner(i)) * 0.5)))
        .collect()
}

/// Returns the shape that is one at corner `i`.
fn corner_shape(i: usize) -> ShapeValues {
    let mut s = [0.0; 8];
    s[i] = 1.0;
    s
}

/// Returns the three tetrahedra of a prism.
fn prism_tetrahedra() -> [SubTetrahedron; 3] {
    [[0, 1, 2, 3], [1, 4, 2, 3], [2, 4, 5, 3]].map(|t| t.map(corner_shape))
}

/// Cuts a hexahedron into six tetrahedra around the diagonal from corner 0 to corner 7.
fn cut_hexahedron(h: &[ShapeValues; 8]) -> [SubTetrahedron; 6] {
    CUBE_TETRAHEDRA.map(|t| t.map(|i| h[i]))
}

#[cfg(test)]
mod tests;
