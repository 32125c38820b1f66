// SPDX-License-Identifier: MIT OR Apache-2.0
//! The shape of a muscle: a spindle along a parabola between two points.

use crate::Vec3;
use crate::body::{Body, Brick};
use std::sync::Arc;

/// Distance from the line, as a part of the radius there, within which the whole muscle contracts; beyond, its share falls smoothly
/// to zero at the radius, so that skin over it shows no edge. The volume's mean share is then 0.63; at 0.3 it is 0.44, at 0.9 0.9.
const CORE: f64 = 0.6;
/// Voxels of the quadrature per radius. With half of them forces on single nodes depend on the voxels' places by two hundredths.
const VOXELS_PER_RADIUS: f64 = 16.0;
/// Largest number of voxels along a cell of the lattice, corner to corner: finer ones tell the cell's functions nothing.
const VOXELS_PER_CELL: f64 = 40.0;
/// Smallest radius of the quadrature in voxels, so that a thinner muscle is not missed.
const MIN_RADIUS_VOXELS: f64 = 2.0;

/// Distance from the line, in radii of the muscle's middle, up to which skin counts. Beyond, a muscle moves it by less than a ninth as far as its
/// own surface.
const SKIN_REACH: f64 = 3.0;

/// Fibre of a muscle at a point.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Fibre {
    /// Share of muscle, 0 to 1.
    pub share: f64,
    /// Weight along the muscle, `4 s (1 − s)`: 1 in the belly, 0 at the ends.
    pub activity: f64,
    /// Direction of the line, a unit vector.
    pub along: Vec3,
    /// Wanted displacement of unit widening, m.
    pub wish: Vec3,
}

/// A point of the skin near a muscle.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct SkinWish {
    /// Wanted displacement of unit widening, m.
    pub wish: Vec3,
    /// Direction out of the muscle, a unit vector.
    pub out: Vec3,
    /// Share with which the point lies over the belly, 0 to 1: the widening's profile, times the cosine between its direction from the line and
    /// `out`.
    pub over: f64,
}

/// A spindle along `p(s) = start + s (end − start) + 4 s (1 − s) bow out`, s from 0 to 1, of radius `r √(4 s (1 − s))`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Tube {
    pub start: Vec3,
    pub end: Vec3,
    /// Direction away from the bones, across the chord, a unit vector; zero if there is none.
    pub out: Vec3,
    /// Way of the line's middle from the chord along it, m.
    pub bow: f64,
    /// Radius at the middle, m.
    pub radius: f64,
}

impl Tube {
    /// Returns the length of the chord, m.
    pub fn chord(&self) -> f64 {
        (self.end - self.start).norm()
    }

    /// Returns a point of the line.
    pub fn point(&self, s: f64) -> Vec3 {
        self.start.lerp(&self.end, s) + self.out * (self.bow * 4.0 * s * (1.0 - s))
    }

    /// Returns the derivative of the line's point by s, m.
    fn slope(&self, s: f64) -> Vec3 {
        self.end - self.start + self.out * (self.bow * (4.0 - 8.0 * s))
    }

    /// Returns the parameter of the point of the line nearest to x, by Newton's method with the line as its tangent.
    fn nearest(&self, x: &Vec3) -> f64 {
        /// A bow of the chord's half needs four to get within a thousandth.
        const ROUNDS: usize = 5;
        let mut s = 0.5;
        for _ in 0..ROUNDS {
            let slope = self.slope(s);
            let step = (x - self.point(s)).dot(&slope) / slope.norm_squared();
            s = (s + step).clamp(0.0, 1.0);
        }
        s
    }

    /// Returns the fibre at a point; `None` outside.
    pub fn fibre(&self, x: &Vec3) -> Option<Fibre> {
        let s = self.nearest(x);
        let radius = self.radius * (4.0 * s * (1.0 - s)).sqrt();
        let away = (x - self.point(s)).norm();
        if away >= radius {
            return None;
        }
        let rest = ((1.0 - away / radius) / (1.0 - CORE)).min(1.0);
        Some(Fibre {
            share: rest * rest * (3.0 - 2.0 * rest),
            activity: 4.0 * s * (1.0 - s),
            along: self.slope(s).normalize(),
            wish: self.wish(x, s),
        })
    }

    /// Returns what a point of the skin wants; `None` far away. Around the muscle flesh gives way as what cannot be compressed: by
    /// `(r/ρ)²` of what the muscle would do there.
    pub fn skin_wish(&self, x: &Vec3) -> Option<SkinWish> {
        let s = self.nearest(x);
        let from = x - self.point(s);
        let away = from.norm();
        if away >= SKIN_REACH * self.radius {
            return None;
        }
        let radius = self.radius * (4.0 * s * (1.0 - s)).sqrt();
        let part = if away > radius {
            (radius / away).powi(2)
        } else {
            1.0
        };
        let way = from.try_normalize(0.0).unwrap_or_default();
        let (out, facing) = match self.out == Vec3::zeros() {
            true => (way, 1.0),
            false => (self.out, way.dot(&self.out).max(0.0)),
        };
        Some(SkinWish {
            wish: self.wish(x, s) * part,
            out,
            over: profile(s) * facing,
        })
    }

    /// Returns the wanted displacement of unit widening of a point whose nearest point of the line is at s, as if it were in the muscle: away from
    /// the line by as much as from it, and at the muscle's surface the same way out, `g (ρ + r out)`.
    fn wish(&self, x: &Vec3, s: f64) -> Vec3 {
        let radius = self.radius * (4.0 * s * (1.0 - s)).sqrt();
        (x - self.point(s) + self.out * radius) * profile(s)
    }

    /// Returns the tube with the radius with which its points are taken: thick enough for voxels that are no finer than a body's cells need.
    pub fn resolved(&self, body: &Body) -> Self {
        let least = MIN_RADIUS_VOXELS * self.voxel(body);
        Self {
            radius: self.radius.max(least),
            ..*self
        }
    }

    /// Returns the side of the quadrature's voxels, m.
    fn voxel(&self, body: &Body) -> f64 {
        let lattice = body.lattice();
        let (mut sum, mut count) = (0.0, 0.0);
        for cell in 0..lattice.cells().len() as u32 {
            let corners = lattice.corners(cell);
            let first = corners[0];
            let long = corners.iter().map(|x| (x - first).norm());
            let long = long.fold(0.0, f64::max);
            if (first - self.point(self.nearest(&first))).norm() < self.radius + long {
                sum += long;
                count += 1.0;
            }
        }
        let cell = if count > 0.0 { sum / count } else { 0.0 };
        (self.radius / VOXELS_PER_RADIUS).max(cell / VOXELS_PER_CELL)
    }

    /// Returns the flesh that the tube may reach.
    pub fn bricks(&self, body: &Body) -> Vec<Arc<Brick>> {
        let level = body.points().level(self.voxel(body));
        let corners = [self.start, self.end, self.point(0.5)];
        let far = Vec3::repeat(self.radius);
        let lo = corners.iter().fold(self.start, |lo, p| lo.inf(p)) - far;
        let hi = corners.iter().fold(self.start, |hi, p| hi.sup(p)) + far;
        body.points()
            .bricks_in_box(level, (lo, hi), |middle, radius| {
                let s = self.nearest(&middle);
                (middle - self.point(s)).norm() < self.radius + radius
            })
    }
}

/// Returns the profile g of the widening along the muscle, `(4 s (1 − s))³`: 1 in the middle, a half at 0.23 of the length from it, and flat at the
/// ends, so that the crook of a joint stays. `1 − 3 (2s − 1)²`, with ends that get thinner, sinks the crook of an elbow two to three times as deep.
fn profile(s: f64) -> f64 {
    (4.0 * s * (1.0 - s)).powi(3)
}
