// SPDX-License-Identifier: MIT OR Apache-2.0
//! Line segments from which fields make their outlines.

use crate::Vec3;
use std::f64::consts::{PI, TAU};

/// Line segments: start and end point of each.
pub(super) type OutlineSegments = Vec<[Vec3; 2]>;

/// Corners of a drawn circle. Chords of one with a radius of 100 pixels are off by 0.2.
const CIRCLE_CORNERS: usize = 48;

/// Returns the segments between points of a curve at `parts + 1` values of its parameter from zero to `end`.
pub(super) fn curve_segments(parts: usize, end: f64, at: impl Fn(f64) -> Vec3) -> OutlineSegments {
    let at = |i: usize| at(end * i as f64 / parts as f64);
    (0..parts).map(|i| [at(i), at(i + 1)]).collect()
}

/// Returns a circle about Z at a height.
pub(super) fn horizontal_circle(radius: f64, height: f64) -> OutlineSegments {
    curve_segments(CIRCLE_CORNERS, TAU, |a| {
        Vec3::new(radius * a.cos(), radius * a.sin(), height)
    })
}

/// Returns a half circle of directions from Z to −Z, or a whole one, in the plane through Z at an angle, shaped by a
/// function of (sine, cosine) that returns (distance from Z, height).
pub(super) fn profile(
    turn: f64,
    whole: bool,
    shape: impl Fn(f64, f64) -> (f64, f64),
) -> OutlineSegments {
    curve_segments(CIRCLE_CORNERS / 2, if whole { TAU } else { PI }, |a| {
        let (out, up) = shape(a.sin(), a.cos());
        Vec3::new(out * turn.cos(), out * turn.sin(), up)
    })
}

/// Returns three circles, one about each axis.
pub(super) fn sphere(radius: f64) -> OutlineSegments {
    let flat = horizontal_circle(radius, 0.0);
    let turned = |shift: usize| {
        let turn = move |x: &Vec3| Vec3::from_fn(|k, _| x[(k + 3 - shift) % 3]);
        flat.iter()
            .map(move |line| [turn(&line[0]), turn(&line[1])])
    };
    (0..3).flat_map(turned).collect()
}

/// Returns a line whose head has four strokes of length `head`.
pub(super) fn arrow(start: Vec3, end: Vec3, head: f64) -> OutlineSegments {
    let along = (end - start).normalize();
    let least = Vec3::ith(along.iamin(), 1.0);
    let one = along.cross(&least).normalize();
    let other = along.cross(&one);
    let stroke = |side: Vec3| [end, end - along * head + side * (0.4 * head)];
    let strokes = [one, other, -one, -other].map(stroke);
    [[start, end]].into_iter().chain(strokes).collect()
}
