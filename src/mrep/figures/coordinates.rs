// SPDX-License-Identifier: MIT OR Apache-2.0
//! Figural coordinates (u, v, φ, τ) of points, and points of coordinates.
//!
//! Points come from evaluating the patches. The inverse starts at the nearest of many sampled points of the volume, and runs Newton's method
//! in its piece. Where that leaves the piece, the next nearest pieces are tried. Polar pieces are solved in Cartesian axes around their hubs,
//! so that only the direction is singular at the hub.
//!
//! Source: [pizer2003, §2.4] for the coordinates; the inverse is ours.

use crate::geometry::aabb;
use crate::mrep::error::MRepError;
use crate::mrep::figures::figure::{Figure, FigureKind};
use crate::mrep::figures::legality;
use crate::mrep::figures::pieces::{EDGES, FigurePiece, MedialPoint, VolumePart};
use crate::surface::closest_point_leaf;
use crate::{Mat3, Vec3};
use parry3d_f64::partitioning::Bvh;
use rayon::prelude::*;
use std::f64::consts::TAU;
use std::sync::OnceLock;

/// Largest depth τ that has coordinates: as far outside of the boundary as the boundary is from the hub.
pub const MAX_DEPTH: f64 = 2.0;
/// Fractions of an interval at which starting points are sampled: the middles of its halves.
const START_FRACTIONS: [f64; 2] = [0.25, 0.75];
/// Fractions across the fan of a rim or a cap. Spokes turn there by up to a right angle in one interval: twice as many, nearer to its ends.
const FAN_START_FRACTIONS: [f64; 4] = [0.1, 0.35, 0.65, 0.9];
/// Depths τ of the starting points. Every depth that has coordinates lies within 0.25 of one, the longest step of Newton's method in depth.
const START_DEPTHS: [f64; 6] = [0.1, 0.35, 0.65, 0.95, 1.3, 1.8];
/// Depth below which directions at a cap's hub are those at this depth. Ten thousand times rounding.
const MIN_DIRECTION_DEPTH: f64 = 1e-12;
/// Tolerance of a piece's ends, in its range: rounding.
const SEAM_TOLERANCE: f64 = 1e-12;
/// Tolerance where no other piece has the point. About the root of rounding, which Newton's steps reach where the map is nearly flat.
const WIDE_SEAM_TOLERANCE: f64 = 1e-7;

/// Solver of figural coordinates for one figure.
pub struct Coordinates {
    kind: FigureKind,
    pieces: Vec<FigurePiece>,
    /// Starting points of each piece, built on first use.
    starts: OnceLock<Vec<PieceSamples>>,
    /// Diagonal of the bounding box of the hubs and the spokes' ends, metres.
    size: f64,
}

/// Sampled points of one piece, with a hierarchy for nearest-point queries.
struct PieceSamples {
    tree: Bvh,
    points: Vec<Vec3>,
    /// (s, t, τ) of each point.
    places: Vec<[f64; 3]>,
    /// Directions of the spokes, for caps only.
    fan: Option<HubSpokes>,
}

/// Spokes of one hub, searched by direction. Near the hub the nearest sampled point always lies on the shortest spoke, whichever direction a
/// point has.
struct HubSpokes {
    hub: Vec3,
    tree: Bvh,
    directions: Vec<Vec3>,
    /// (s, t) of each spoke, and its length.
    places: Vec<[f64; 3]>,
}

impl HubSpokes {
    fn new(piece: &FigurePiece, places: &[[f64; 3]]) -> Self {
        let mut at: Vec<[f64; 2]> = places.iter().map(|[s, t, _]| [*s, *t]).collect();
        at.dedup();
        let spokes = at.iter().map(|[s, t]| piece.evaluate(*s, *t).spoke);
        let directions: Vec<Vec3> = spokes.clone().map(|x| x.normalize()).collect();
        Self {
            hub: piece.evaluate(0.0, 0.0).hub,
            tree: aabb::hierarchy(directions.iter().map(|d| (*d, *d))),
            places: (at.iter().zip(spokes))
                .map(|([s, t], spoke)| [*s, *t, spoke.norm()])
                .collect(),
            directions,
        }
    }

    /// Returns (s, t, τ) on the spoke with the closest direction, at about the point's distance from the hub. `None`: `p` is the hub.
    fn closest_spoke(&self, p: &Vec3) -> Option<[f64; 3]> {
        let away = p - self.hub;
        let direction = away.try_normalize(0.0)?;
        let (leaf, _) =
            closest_point_leaf(&self.tree, &direction, |i| self.directions[i as usize])?;
        let [s, t, long] = self.places[leaf as usize];
        Some([s, t, away.norm() / long])
    }
}

impl PieceSamples {
    fn new(piece: &FigurePiece) -> Self {
        let [s, t] = piece.knots();
        let fan = match piece.part {
            VolumePart::Rim { .. } => [false, true],
            VolumePart::Cap { .. } => [true, false],
            _ => [false, false],
        };
        let spread = |knots: &[f64], fan: bool| -> Vec<f64> {
            let shares = if fan {
                &FAN_START_FRACTIONS[..]
            } else {
                &START_FRACTIONS[..]
            };
            (knots.windows(2))
                .flat_map(|w| {
                    shares
                        .iter()
                        .map(|x| w[0] + x * (w[1] - w[0]))
                        .collect::<Vec<_>>()
                })
                .collect()
        };
        let (mut points, mut places) = (Vec::new(), Vec::new());
        for s in spread(s, fan[0]) {
            for t in spread(t, fan[1]) {
                let at = piece.evaluate(s, t);
                for depth in START_DEPTHS {
                    points.push(at.hub + at.spoke * depth);
                    places.push([s, t, depth]);
                }
            }
        }
        let tree = aabb::hierarchy(points.iter().map(|p| (*p, *p)));
        let fan =
            matches!(piece.part, VolumePart::Cap { .. }).then(|| HubSpokes::new(piece, &places));
        Self {
            tree,
            points,
            places,
            fan,
        }
    }

    /// Returns the squared distance of the nearest sample, and (s, t, τ) to start from.
    fn nearest_sample(&self, p: &Vec3) -> Option<(f64, [f64; 3])> {
        let (leaf, square) = closest_point_leaf(&self.tree, p, |i| self.points[i as usize])?;
        let towards = self.fan.as_ref().and_then(|fan| fan.closest_spoke(p));
        Some((square, towards.unwrap_or(self.places[leaf as usize])))
    }
}

/// Result of Newton's method.
#[derive(Clone, Copy)]
struct NewtonSolution {
    s: f64,
    t: f64,
    depth: f64,
    /// Distance beyond the piece's ends, over its range.
    beyond: f64,
}

impl Coordinates {
    /// Prepares a figure; starting points are sampled on first use.
    pub fn new(figure: &Figure) -> Self {
        Self {
            kind: figure.kind(),
            pieces: FigurePiece::for_figure(figure),
            starts: OnceLock::new(),
            size: figure.size(),
        }
    }

    fn piece_samples(&self) -> &[PieceSamples] {
        let make = || self.pieces.par_iter().map(PieceSamples::new).collect();
        self.starts.get_or_init(make)
    }

    /// Returns the coordinates of points. NaN: farther out than [`MAX_DEPTH`], where spokes would cross, or not a number.
    pub fn at_points(&self, points: &[Vec3]) -> Vec<[f64; 4]> {
        self.piece_samples();
        let one = |p: &Vec3| self.at_point(p).unwrap_or([f64::NAN; 4]);
        points.par_iter().with_min_len(64).map(one).collect()
    }

    fn at_point(&self, p: &Vec3) -> Option<[f64; 4]> {
        if !crate::range::is_position(p) {
            return None;
        }
        let mut near: Vec<(f64, usize, [f64; 3])> = (self.piece_samples().iter().enumerate())
            .filter_map(|(i, starts)| starts.nearest_sample(p).map(|(d, place)| (d, i, place)))
            .collect();
        near.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let mut best: Option<([f64; 4], f64)> = None;
        let mut wide: Option<([f64; 4], f64)> = None;
        for &(square, i, start) in &near {
            // A solution inside the body is final; outside, another piece may have a nearer one.
            if let Some((_, depth)) = best
                && (depth <= 1.0 || square > 4.0 * near[0].0)
            {
                break;
            }
            let piece = &self.pieces[i];
            let Some(found) = self.solve_in_piece(piece, p, start) else {
                continue;
            };
            if found.beyond > WIDE_SEAM_TOLERANCE {
                continue;
            }
            let [[s0, s1], [t0, t1]] = piece.range();
            let s = found.s.clamp(s0, s1);
            let t = if piece.is_periodic() {
                found.t
            } else {
                found.t.clamp(t0, t1)
            };
            let [u, v, around] = piece.coordinates(s, t);
            let answer = ([u, v, around, found.depth], found.depth);
            let slot = if found.beyond <= SEAM_TOLERANCE {
                &mut best
            } else {
                &mut wide
            };
            if slot.is_none_or(|(_, depth)| found.depth < depth) {
                *slot = Some(answer);
            }
        }
        best.or(wide).map(|(coordinates, _)| coordinates)
    }

    /// Runs Newton's method in one piece from a start. `None`: no convergence, or a solution beyond a fold.
    fn solve_in_piece(
        &self,
        piece: &FigurePiece,
        p: &Vec3,
        start: [f64; 3],
    ) -> Option<NewtonSolution> {
        /// Largest number of Newton's steps. Starts in the same interval need four to six; shortened steps take more, and beyond these the
        /// iteration cycles.
        const MAX_NEWTON_STEPS: usize = 30;
        let [mut s, mut t, mut depth] = start;
        let [[s0, s1], [t0, t1]] = piece.range();
        let span_s = s1 - s0;
        let residual = |at: &MedialPoint, depth: f64| p - at.hub - at.spoke * depth;
        let mut at = piece.evaluate(s, t);
        let mut off = residual(&at, depth);
        for _ in 0..MAX_NEWTON_STEPS {
            let [a, b, c] = piece.columns(&at, s, depth);
            let step = solve(&a, &b, &c, &off)?;
            let mut factor = trusted_fraction(piece, &step, depth);
            let mut taken = None;
            for _ in 0..6 {
                let next = apply_step(piece, [s, t, depth], &(step * factor));
                let there = piece.evaluate(next[0], next[1]);
                let left = residual(&there, next[2]);
                if left.norm() < off.norm() {
                    taken = Some((next, there, left));
                    break;
                }
                factor *= 0.5;
            }
            let Some((next, there, left)) = taken else {
                break;
            };
            // Gives up far outside of the piece.
            if next[0] < s0 - 0.5 * span_s
                || next[0] > s1 + 0.5 * span_s
                || next[2] > 2.0 * MAX_DEPTH
            {
                return None;
            }
            let halved = left.norm() < 0.5 * off.norm();
            ([s, t, depth], at, off) = (next, there, left);
            if off.norm() <= 1e-17 * self.size || (!halved && off.norm() < 1e-13 * self.size) {
                break;
            }
        }
        let reached = off.norm() <= 1e-11 * self.size;
        if !reached || !(-1e-12..=MAX_DEPTH).contains(&depth) {
            return None;
        }
        // Beyond a fold a point has these coordinates only by continuation.
        if depth > 0.0 && legality::legality_at(piece, s.clamp(s0, s1), t, depth) <= 0.0 {
            return None;
        }
        let outside = |x: f64, lo: f64, hi: f64| (lo - x).max(x - hi).max(0.0) / (hi - lo);
        let mut beyond = outside(s, s0, s1);
        if !piece.is_periodic() {
            beyond = beyond.max(outside(t, t0, t1));
        }
        Some(NewtonSolution {
            s,
            t,
            depth: depth.max(0.0),
            beyond,
        })
    }

    /// Returns the points of coordinates; four NaN give NaN.
    ///
    /// # Errors
    /// The first coordinates outside the figure's range.
    pub fn points(&self, coordinates: &[[f64; 4]]) -> Result<Vec<Vec3>, MRepError> {
        let one = |(row, c): (usize, &[f64; 4])| {
            if c.iter().all(|x| x.is_nan()) {
                return Ok(Vec3::repeat(f64::NAN));
            }
            if c.iter().any(|x| x.is_nan()) {
                let why = "some of the four are NaN: give four numbers, or four NaN for a point without coordinates";
                return Err(MRepError::Coordinates { row, at: *c, why });
            }
            let (piece, s, t) =
                self.locate(c)
                    .map_err(|why| MRepError::Coordinates { row, at: *c, why })?;
            let at = self.pieces[piece].evaluate(s, t);
            Ok(at.hub + at.spoke * c[3])
        };
        coordinates.par_iter().enumerate().map(one).collect()
    }

    /// Returns the piece of some coordinates, and (s, t) in it.
    fn locate(&self, c: &[f64; 4]) -> Result<(usize, f64, f64), &'static str> {
        let [u, v, around, depth] = *c;
        if depth.is_nan() || depth.abs() > 1e6 {
            return Err("the depth τ must be a finite number, 0 at the hub and 1 on the skin");
        }
        let unit = |x: f64| (-SEAM_TOLERANCE..=1.0 + SEAM_TOLERANCE).contains(&x);
        let piece = |part: VolumePart| self.pieces.iter().position(|p| p.part == part).unwrap_or(0);
        match self.kind {
            FigureKind::Slab { .. } => {
                if !(unit(u) && unit(v) && around.abs() <= 1.0 + SEAM_TOLERANCE) {
                    return Err("u and v of a slab lie between 0 and 1, φ between -1 and 1");
                }
                let up = around >= 0.0;
                if around.abs() >= 1.0 - SEAM_TOLERANCE {
                    return Ok((piece(VolumePart::Sheet { up }), u, v));
                }
                let edge = EDGES.iter().find(|edge| {
                    let [a, b] = edge.coordinates_at(0.5);
                    let (x, y) = if edge.is_row() { (u, a) } else { (v, b) };
                    (x - y).abs() <= SEAM_TOLERANCE
                });
                let Some(&edge) = edge else {
                    return Err(
                        "φ of a slab is 1 or -1, except on its border, where u or v is 0 or 1",
                    );
                };
                let s = if edge.is_row() { v } else { u };
                Ok((piece(VolumePart::Rim { edge, up }), s, 1.0 - around.abs()))
            }
            FigureKind::Tube { .. } => {
                if !around.is_finite()
                    || !(-1.0 - SEAM_TOLERANCE..=2.0 + SEAM_TOLERANCE).contains(&u)
                {
                    return Err(
                        "u of a tube lies between -1 and 2 (0 to 1 between its ends), φ is an angle",
                    );
                }
                Ok(if u < 0.0 {
                    (piece(VolumePart::Cap { last: false }), -u, around)
                } else if u > 1.0 {
                    (piece(VolumePart::Cap { last: true }), u - 1.0, around)
                } else {
                    (piece(VolumePart::Body), u, around)
                })
            }
        }
    }
}

/// Returns the fraction of a step of Newton's method that stays in the range in which a piece's polynomials can be trusted.
fn trusted_fraction(piece: &FigurePiece, step: &Vec3, depth: f64) -> f64 {
    let [span_s, span_t] = piece.range().map(|[from, to]| to - from);
    let reach = match piece.part {
        VolumePart::Sheet { .. } => (step.x / span_s).abs().max((step.y / span_t).abs()),
        // Both are rotations of the spoke, scaled by the depth.
        VolumePart::Cap { .. } => step.x.abs().max(step.y.abs()) / depth.max(MIN_DIRECTION_DEPTH),
        _ => (step.x / span_s)
            .abs()
            .max(step.y.abs() / depth.abs().max(0.1)),
    };
    (0.5 / reach.max(step.z.abs() / 0.5)).min(1.0)
}

/// Returns the place after a Newton step; in polar pieces the step is Cartesian around the hub.
fn apply_step(piece: &FigurePiece, [s, t, depth]: [f64; 3], step: &Vec3) -> [f64; 3] {
    match piece.part {
        VolumePart::Sheet { .. } => [s + step.x, t + step.y, depth + step.z],
        VolumePart::Rim { .. } => {
            // The fan's parameter resembles an angle, but is neither periodic nor defined far beyond its ends.
            [s + step.x, t + step.y / depth.max(1e-3), depth + step.z]
        }
        VolumePart::Body => {
            let (along, across) = (depth + step.z, step.y);
            let turned = across.atan2(along);
            [
                s + step.x,
                (t + turned).rem_euclid(TAU),
                along.hypot(across),
            ]
        }
        VolumePart::Cap { .. } => {
            let (from, depth) = (depth, depth.max(MIN_DIRECTION_DEPTH));
            let s_new = s + step.x / depth;
            // Polar step around the pole, at the distance 1 − s.
            let (along, across) = (1.0 - s_new, step.y / depth);
            let turned = across.atan2(along);
            [
                1.0 - along.hypot(across),
                (t + turned).rem_euclid(TAU),
                from + step.z,
            ]
        }
    }
}

/// Solves a 3 x 3 system with given columns. `None`: the columns are coplanar.
fn solve(a: &Vec3, b: &Vec3, c: &Vec3, right: &Vec3) -> Option<Vec3> {
    let lengths = Vec3::new(a.norm(), b.norm(), c.norm());
    if lengths.iter().any(|x| x.is_nan() || *x == 0.0) {
        return None;
    }
    let m = Mat3::from_columns(&[a / lengths.x, b / lengths.y, c / lengths.z]);
    let x = m.try_inverse()? * right;
    x.iter()
        .all(|x| x.is_finite())
        .then(|| x.component_div(&lengths))
}

impl Figure {
    /// Returns the figural coordinates (u, v, φ, τ) of points; NaN where a point has none (see [`Coordinates::at_points`]).
    ///
    /// Slab: u over the rows and v over the columns, 0 to 1. φ is 1 on the upper side, −1 on the lower, between on the border, and 0 at the
    /// end spokes. Tube: u runs along it from 0 to 1, in the first cap from −1 (end spoke), in the last to 2. v is 0, φ the angle from the
    /// first spoke, radians. τ is 0 at the hub, 1 on the implied boundary.
    pub fn coordinates(&self, points: &[Vec3]) -> Vec<[f64; 4]> {
        Coordinates::new(self).at_points(points)
    }

    /// Returns the points of figural coordinates: `X = x + τ S`; four NaN give NaN.
    ///
    /// # Errors
    /// The first coordinates outside the figure's range.
    pub fn points(&self, coordinates: &[[f64; 4]]) -> Result<Vec<Vec3>, MRepError> {
        Coordinates::new(self).points(coordinates)
    }
}
