// SPDX-License-Identifier: MIT OR Apache-2.0
//! A figure's volume as bicubic patches: `X(s, t, τ) = x(s, t) + τ S(s, t)`, hub x and spoke S.
//!
//! | piece | s | t | |
//! | --- | --- | --- | --- |
//! | sheet, up and down | u | v | a slab's two sides |
//! | rim, four edges, up and down | along the edge | p, from the spoke (0) to the end spoke (1) | hub constant in t |
//! | body | u | φ | a tube between its ends; hub constant in t |
//! | cap, two | p | φ | the end of a tube; hub constant |
//!
//! Inside a piece everything is twice continuously differentiable; pieces meet in the same points.

use crate::Vec3;
use crate::mrep::figures::atom::Role;
use crate::mrep::figures::figure::{Figure, FigureKind};
use crate::mrep::spline::{Spline, power_derivatives};
use std::f64::consts::TAU;

/// Edge of a slab.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::mrep) enum SlabEdge {
    /// The edge u = 0.
    FirstRow,
    /// The edge u = 1.
    LastRow,
    /// The edge v = 0.
    FirstColumn,
    /// The edge v = 1.
    LastColumn,
}

pub(in crate::mrep) const EDGES: [SlabEdge; 4] = [
    SlabEdge::FirstRow,
    SlabEdge::LastRow,
    SlabEdge::FirstColumn,
    SlabEdge::LastColumn,
];

impl SlabEdge {
    /// Returns whether v runs along the edge.
    pub fn is_row(self) -> bool {
        matches!(self, Self::FirstRow | Self::LastRow)
    }

    /// Returns the coordinate that is constant on the edge.
    fn constant_coordinate(self) -> f64 {
        match self {
            Self::FirstRow | Self::FirstColumn => 0.0,
            Self::LastRow | Self::LastColumn => 1.0,
        }
    }

    /// Returns (u, v) at a parameter along the edge.
    pub fn coordinates_at(self, s: f64) -> [f64; 2] {
        if self.is_row() {
            [self.constant_coordinate(), s]
        } else {
            [s, self.constant_coordinate()]
        }
    }

    /// Returns the atoms on the edge.
    pub fn atoms(self, rows: usize, cols: usize) -> Vec<usize> {
        match self {
            Self::FirstRow => (0..cols).collect(),
            Self::LastRow => ((rows - 1) * cols..rows * cols).collect(),
            Self::FirstColumn => (0..rows).map(|i| i * cols).collect(),
            Self::LastColumn => (0..rows).map(|i| i * cols + cols - 1).collect(),
        }
    }
}

/// Part of a figure's volume that a piece covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::mrep) enum VolumePart {
    Sheet { up: bool },
    Rim { edge: SlabEdge, up: bool },
    Body,
    Cap { last: bool },
}

/// Hub and spoke at (s, t), with their derivatives.
#[derive(Debug, Clone, Copy)]
pub(in crate::mrep) struct MedialPoint {
    pub hub: Vec3,
    pub hub_s: Vec3,
    pub hub_t: Vec3,
    pub spoke: Vec3,
    pub spoke_s: Vec3,
    pub spoke_t: Vec3,
    pub spoke_st: Vec3,
}

/// Coefficients of products of powers of both fractions of an interval.
type BicubicCoefficients = [[Vec3; 4]; 4];

/// A piece of the volume: bicubic patches over intervals of s and t.
#[derive(Debug, Clone)]
pub(in crate::mrep) struct FigurePiece {
    pub part: VolumePart,
    /// Sign that det ∂X has to have; its columns are the derivatives by s, t and τ, less the factors τ and 1 − p.
    pub sign: f64,
    /// Knots of s; those of t follow.
    s: Vec<f64>,
    t: Vec<f64>,
    /// Patches of hub and spoke; for each interval of s those of t.
    patches: Vec<(BicubicCoefficients, BicubicCoefficients)>,
}

/// Returns the tensor product of two splines over values `value(i, j)`.
fn product(
    a: &[Vec<f64>; 4],
    b: &[Vec<f64>; 4],
    value: impl Fn(usize, usize) -> Vec3,
) -> BicubicCoefficients {
    let mut out = BicubicCoefficients::default();
    for i in 0..a[0].len() {
        // Summing over one direction first takes a quarter of the work.
        let mut row = [Vec3::zeros(); 4];
        for j in 0..b[0].len() {
            let x = value(i, j);
            for (sum, weights) in row.iter_mut().zip(b) {
                *sum += x * weights[j];
            }
        }
        for (sums, weights) in out.iter_mut().zip(a) {
            for (sum, x) in sums.iter_mut().zip(&row) {
                *sum += x * weights[i];
            }
        }
    }
    out
}

/// Powers of p in Hermite's cubic from `spoke` with tangent `leave` to `end` with tangent `arrive`.
pub(in crate::mrep) const HERMITE: [[f64; 4]; 4] = [
    [1.0, 0.0, 0.0, 0.0],
    [0.0, 1.0, 0.0, 0.0],
    [-3.0, -2.0, 3.0, -1.0],
    [2.0, 1.0, -2.0, 1.0],
];

/// Returns the vectors of an atom that form the fan from spoke `q`, in the order of [`HERMITE`].
pub(in crate::mrep) fn fan(q: usize, spokes: usize) -> [usize; 4] {
    [
        Role::spoke_index(q),
        Role::tangent_index(0, q, spokes),
        Role::end_spoke_index(spokes),
        Role::tangent_index(1, q, spokes),
    ]
}

/// Returns the weights of a polynomial that is constant in one direction.
fn constant_weights() -> [Vec<f64>; 4] {
    [vec![1.0], vec![0.0], vec![0.0], vec![0.0]]
}

/// Returns [`HERMITE`] as a spline of four values.
fn hermite() -> [Vec<f64>; 4] {
    HERMITE.map(|power| power.to_vec())
}

impl FigurePiece {
    /// Builds all pieces of a figure.
    pub fn for_figure(figure: &Figure) -> Vec<Self> {
        let vectors: Vec<Vec<Vec3>> = (figure.atoms().iter().enumerate())
            .map(|(i, atom)| atom.vectors(figure.kind().role(i)))
            .collect();
        let [along, across] = figure.splines();
        match figure.kind() {
            FigureKind::Slab { rows, cols } => slab(&vectors, &along, &across, rows, cols),
            FigureKind::Tube { atoms, spokes } => tube(&vectors, &along, &across, atoms, spokes),
        }
    }

    /// Returns the ranges of s and of t.
    pub fn range(&self) -> [[f64; 2]; 2] {
        let ends = |knots: &[f64]| [knots[0], knots[knots.len() - 1]];
        [ends(&self.s), ends(&self.t)]
    }

    /// Returns the knots of s and t.
    pub fn knots(&self) -> [&[f64]; 2] {
        [&self.s, &self.t]
    }

    /// Returns whether t is periodic.
    pub fn is_periodic(&self) -> bool {
        matches!(self.part, VolumePart::Body | VolumePart::Cap { .. })
    }

    /// Returns hub, spoke and derivatives; beyond the ends the last polynomials continue.
    pub fn evaluate(&self, s: f64, t: f64) -> MedialPoint {
        let find = |knots: &[f64], x: f64| {
            let i = knots[1..knots.len() - 1].partition_point(|&k| k <= x);
            let length = knots[i + 1] - knots[i];
            (i, power_derivatives((x - knots[i]) / length), length)
        };
        let t = if self.is_periodic() {
            t.rem_euclid(TAU)
        } else {
            t
        };
        let ((i, p, ps), (j, q, qt)) = (find(&self.s, s), find(&self.t, t));
        let (hub, spoke) = &self.patches[i * (self.t.len() - 1) + j];
        let value = |c: &BicubicCoefficients, a: usize, b: usize| {
            let mut sum = Vec3::zeros();
            for (row, x) in c.iter().zip(&p[a]) {
                let inner =
                    row[0] * q[b][0] + row[1] * q[b][1] + row[2] * q[b][2] + row[3] * q[b][3];
                sum += inner * *x;
            }
            sum / (ps.powi(a as i32) * qt.powi(b as i32))
        };
        MedialPoint {
            hub: value(hub, 0, 0),
            hub_s: value(hub, 1, 0),
            hub_t: value(hub, 0, 1),
            spoke: value(spoke, 0, 0),
            spoke_s: value(spoke, 1, 0),
            spoke_t: value(spoke, 0, 1),
            spoke_st: value(spoke, 1, 1),
        }
    }

    /// Returns the columns of ∂X by s, t and τ. Polar pieces lack the factor τ in columns that contain it, caps τ and (1 −
    /// p).
    pub fn columns(&self, at: &MedialPoint, s: f64, depth: f64) -> [Vec3; 3] {
        /// Distance from the pole below which the quotient by 1 − p is replaced by its limit. It is near the root of rounding, 1.5e-8, where rounding
        /// of the quotient and the error of the limit are alike.
        const MIN_POLE_DISTANCE: f64 = 1e-7;
        match self.part {
            VolumePart::Sheet { .. } => [
                at.hub_s + at.spoke_s * depth,
                at.hub_t + at.spoke_t * depth,
                at.spoke,
            ],
            VolumePart::Rim { .. } | VolumePart::Body => {
                [at.hub_s + at.spoke_s * depth, at.spoke_t, at.spoke]
            }
            VolumePart::Cap { .. } => {
                let around = if 1.0 - s > MIN_POLE_DISTANCE {
                    at.spoke_t / (1.0 - s)
                } else {
                    -at.spoke_st
                };
                [at.spoke_s, around, at.spoke]
            }
        }
    }

    /// Returns (u, v, φ) of a place.
    pub fn coordinates(&self, s: f64, t: f64) -> [f64; 3] {
        let side = |up: bool| if up { 1.0 } else { -1.0 };
        match self.part {
            VolumePart::Sheet { up } => [s, t, side(up)],
            VolumePart::Rim { edge, up } => {
                let [u, v] = edge.coordinates_at(s);
                [u, v, side(up) * (1.0 - t)]
            }
            VolumePart::Body => [s, 0.0, t.rem_euclid(TAU)],
            VolumePart::Cap { last: true } => [1.0 + s, 0.0, t.rem_euclid(TAU)],
            VolumePart::Cap { last: false } => [-s, 0.0, t.rem_euclid(TAU)],
        }
    }
}

fn slab(
    vectors: &[Vec<Vec3>],
    along: &Spline,
    across: &Spline,
    rows: usize,
    cols: usize,
) -> Vec<FigurePiece> {
    let (u, v) = (along.knots(), across.knots());
    let mut pieces = Vec::new();
    for up in [true, false] {
        let spoke = Role::spoke_index(usize::from(!up));
        let patches = intervals(u, v)
            .map(|(i, j)| {
                let of = |vector: usize| {
                    product(along.interval(i), across.interval(j), |i, j| {
                        vectors[i * cols + j][vector]
                    })
                };
                (of(0), of(spoke))
            })
            .collect();
        pieces.push(FigurePiece {
            part: VolumePart::Sheet { up },
            sign: 1.0,
            s: u.to_vec(),
            t: v.to_vec(),
            patches,
        });
    }
    // Orientation of the sheet: its upper side decides for all pieces.
    let side = spoke_side(&pieces[0]);
    (pieces[0].sign, pieces[1].sign) = (side, -side);
    for edge in EDGES {
        let atoms = edge.atoms(rows, cols);
        let spline = if edge.is_row() { across } else { along };
        for up in [true, false] {
            let fan = fan(usize::from(!up), 2);
            let patch = |i: usize| {
                let edge = spline.interval(i);
                let hub = product(edge, &constant_weights(), |i, _| vectors[atoms[i]][0]);
                let spoke = product(edge, &hermite(), |i, k| vectors[atoms[i]][fan[k]]);
                (hub, spoke)
            };
            let turns = matches!(edge, SlabEdge::FirstRow | SlabEdge::LastColumn);
            pieces.push(FigurePiece {
                part: VolumePart::Rim { edge, up },
                sign: if turns == up { side } else { -side },
                s: spline.knots().to_vec(),
                t: vec![0.0, 1.0],
                patches: (0..spline.knots().len() - 1).map(patch).collect(),
            });
        }
    }
    pieces
}

fn tube(
    vectors: &[Vec<Vec3>],
    along: &Spline,
    around: &Spline,
    atoms: usize,
    spokes: usize,
) -> Vec<FigurePiece> {
    let (u, angle) = (along.knots(), around.knots());
    let patch = |(i, j): (usize, usize)| {
        let (a, b) = (along.interval(i), around.interval(j));
        let hub = product(a, &constant_weights(), |i, _| vectors[i][0]);
        let spoke = product(a, b, |i, q| vectors[i][Role::spoke_index(q)]);
        (hub, spoke)
    };
    let mut pieces = vec![FigurePiece {
        part: VolumePart::Body,
        sign: 1.0,
        s: u.to_vec(),
        t: angle.to_vec(),
        patches: intervals(u, angle).map(patch).collect(),
    }];
    for last in [false, true] {
        let end = &vectors[if last { atoms - 1 } else { 0 }];
        let patch = |j: usize| {
            let hub = product(&constant_weights(), &constant_weights(), |_, _| end[0]);
            let spoke = product(&hermite(), around.interval(j), |k, q| {
                end[fan(q, spokes)[k]]
            });
            (hub, spoke)
        };
        pieces.push(FigurePiece {
            part: VolumePart::Cap { last },
            sign: if last { 1.0 } else { -1.0 },
            s: vec![0.0, 1.0],
            t: angle.to_vec(),
            patches: (0..spokes).map(patch).collect(),
        });
    }
    pieces
}

/// Returns all pairs of intervals.
fn intervals(a: &[f64], b: &[f64]) -> impl Iterator<Item = (usize, usize)> {
    let m = b.len() - 1;
    (0..(a.len() - 1) * m).map(move |k| (k / m, k % m))
}

/// Returns on which side of a slab's sheet its upper spokes mostly lie: 1 where they point to a viewer who sees u then v
/// counter-clockwise, else −1. Tubes return 1, as their frames are right-handed.
pub(in crate::mrep) fn handedness(figure: &Figure) -> f64 {
    match (figure.kind(), FigurePiece::for_figure(figure).first()) {
        (FigureKind::Slab { .. }, Some(sheet)) => spoke_side(sheet),
        _ => 1.0,
    }
}

/// Returns on which side of a sheet its spokes mostly lie, 1 or −1.
fn spoke_side(sheet: &FigurePiece) -> f64 {
    let mut sum = 0.0;
    for s in sheet.s.windows(2) {
        for t in sheet.t.windows(2) {
            let (s, t) = (0.5 * (s[0] + s[1]), 0.5 * (t[0] + t[1]));
            let at = sheet.evaluate(s, t);
            sum += at.hub_s.cross(&at.hub_t).dot(&at.spoke);
        }
    }
    if sum < 0.0 { -1.0 } else { 1.0 }
}
