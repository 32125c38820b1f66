// SPDX-License-Identifier: MIT OR Apache-2.0
//! First slabs for bodies without bones: that of the ellipsoid with the body's moments.

use super::ellipsoid;
use super::error::MRepError;
use super::figure::Figure;
use super::moments::Moments;
use super::volume::Volume;
use crate::surface::Surface;
use crate::{Mat3, Vec3};

/// Where the border of the sheet lies between the middle (0) and the sheet's own border (1).
const REACH: f64 = 0.8;
/// Most of the thickness over the width: rounder bodies have no sheet, but can be described by one.
const THICKEST: f64 = 0.8;

impl Figure {
    /// A slab around a body, along its longest axes: columns along the longest, rows across. It goes along with the body.
    ///
    /// # Errors
    /// Numbers of atoms that make no slab; a surface that has no extent in some direction.
    pub fn slab_around(surface: &Surface, rows: usize, cols: usize) -> Result<Self, MRepError> {
        let welded = surface.welded();
        let (vertices, triangles) = (&welded.vertices, &welded.triangles);
        let solid = surface
            .report()
            .closed
            .then(|| Moments::of_solid(vertices, triangles));
        // Half axes of an ellipsoid of these moments: five times the spread of a solid, three times that of a skin.
        let (moments, factor) = match solid.flatten() {
            Some(moments) => (Some(moments), 5.0),
            None => {
                let centres = triangles.iter().map(|t| {
                    let [a, b, c] = t.map(|v| vertices[v as usize]);
                    ((a + b + c) / 3.0, 0.5 * (b - a).cross(&(c - a)).norm())
                });
                (Moments::of_points(centres), 3.0)
            }
        };
        let corners = triangles.iter().map(|t| {
            let [a, b, c] = t.map(|v| vertices[v as usize]);
            ((a + b + c) / 3.0, 0.5 * (b - a).cross(&(c - a)).norm())
        });
        slab(moments, factor, corners, rows, cols)
    }

    /// A slab around what is not background in a volume: beyond the level that parts its values best.
    ///
    /// # Errors
    /// As [`Self::slab_around`]; a volume in which no body can be told from its surroundings.
    pub fn slab_around_volume(
        volume: &Volume,
        rows: usize,
        cols: usize,
    ) -> Result<Self, MRepError> {
        // Noise would be parted like the body.
        const BLUR: f64 = 1.5;
        let blurred = volume.blurred(BLUR * volume.voxel());
        let voxels = blurred.body().ok_or_else(|| {
            MRepError::Target(
                "no body can be told from its surroundings in the volume: its values are all alike, or what they show is cut off by its \
                 border; make a template by hand"
                    .into(),
            )
        })?;
        let points = voxels.iter().map(|p| (*p, 1.0));
        slab(Moments::of_points(points.clone()), 5.0, points, rows, cols)
    }
}

fn slab(
    moments: Option<Moments>,
    factor: f64,
    points: impl Iterator<Item = (Vec3, f64)> + Clone,
    rows: usize,
    cols: usize,
) -> Result<Figure, MRepError> {
    let flat = || {
        MRepError::Target(
            "the body has no extent in some direction: a slab needs a thickness; give a closed surface".into(),
        )
    };
    let moments = moments.ok_or_else(flat)?;
    let (axes, spreads) = moments.axes();
    let [a, b, c]: [f64; 3] = spreads.map(|s| (factor * s).sqrt()).into();
    if c.is_nan() || c <= 1e-6 * a {
        return Err(flat());
    }
    let axes = directed(&axes, &moments.centre, points);
    // A sheet needs a direction in which it is longer than thick.
    let c = c.min(THICKEST * b);
    let figure = ellipsoid::slab([a, b, c], rows, cols, REACH)?;
    Ok(figure.transformed(1.0, &axes, moments.centre))
}

/// The axes with their signs from the third moments, so that the same body moved has the same axes moved: each looks to where the body
/// has its longer end.
fn directed(axes: &Mat3, centre: &Vec3, points: impl Iterator<Item = (Vec3, f64)>) -> Mat3 {
    let mut third = Vec3::zeros();
    for (p, weight) in points {
        let along = axes.transpose() * (p - centre);
        third += along.map(|x| x * x * x) * weight;
    }
    let sign = |x: f64| if x < 0.0 { -1.0 } else { 1.0 };
    let (a, b) = (
        axes.column(0) * sign(third.x),
        axes.column(1) * sign(third.y),
    );
    Mat3::from_columns(&[a, b, a.cross(&b)])
}
