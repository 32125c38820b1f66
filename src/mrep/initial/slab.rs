// SPDX-License-Identifier: MIT OR Apache-2.0
//! Initial figures of bodies without bones: a slab in the ellipsoid with the moments of the body, once its bend is removed.

use crate::Vec3;
use crate::geometry::aabb;
use crate::geometry::moments::{BodyMoments, vertex_areas};
use crate::geometry::samples::even_points;
use crate::mrep::error::MRepError;
use crate::mrep::figures::boundary::Boundary;
use crate::mrep::figures::figure::{Figure, FigureKind};
use crate::mrep::figures::legality::MIN_LEGALITY;
use crate::mrep::initial::bend::SheetBend;
use crate::mrep::initial::ellipsoid;
use crate::mrep::initial::extent::Ellipsoid;
use crate::mrep::volume::Volume;
use crate::surface::{Surface, TriangleRole};
use rayon::prelude::*;

/// Fraction of the distance from the centre to the edge of the ellipsoid's sheet that a slab covers. The ellipsoid has 0.6 of its half thickness
/// there; at its edge spokes would have no angle between them.
const SHEET_EXTENT: f64 = 0.8;
/// Largest length over width of the ellipsoid, and largest thickness over width, in order of trial until the slab does not fold. In a longer sheet
/// the border's spokes turn too fast at the ends; a thicker one is nearly a line.
const ASPECT_LIMITS: [[f64; 2]; 4] = [[2.2, 0.75], [1.8, 0.6], [1.5, 0.5], [1.2, 0.4]];

impl Figure {
    /// Builds a slab in a body: the medial sheet of the ellipsoid with the body's centre, axes and volume. Its columns run along the longest axis,
    /// its rows along the next.
    ///
    /// The axes' signs follow the skew of the body, so that the slab turns with the body. Where the two shorter axes are alike (as in a tube) the
    /// sheet lies across one of them, as narrow as necessary. In a bent body the slab of the flattened body is bent back, where it is clearly more
    /// like the body.
    ///
    /// # Errors
    /// A surface that bounds no volume; too few or too many atoms.
    pub fn slab_around(surface: &Surface, rows: usize, cols: usize) -> Result<Self, MRepError> {
        // Checked before any measurement.
        FigureKind::Slab { rows, cols }.check()?;
        let flat = Ellipsoid::from_surface(surface)?;
        let bent = SheetBend::from_points(&weighted_vertices(surface)).and_then(|bend| {
            let vertices = surface.vertices().iter().map(|p| bend.straighten(*p));
            let straight = Surface::new(vertices.collect(), surface.triangles().to_vec());
            bent_slab(
                &bend,
                &Ellipsoid::from_surface(&straight.ok()?).ok()?,
                rows,
                cols,
            )
        });
        let slab = slab_in_ellipsoid(&flat, rows, cols);
        choose_slab(slab, bent, || interior_points(surface, &flat))
    }

    /// Builds a slab around the body in a volume: the voxels beyond the level that parts its values best.
    ///
    /// # Errors
    /// See [`Self::slab_around`]; a volume in which no body can be distinguished from its surroundings.
    pub fn slab_around_volume(
        volume: &Volume,
        rows: usize,
        cols: usize,
    ) -> Result<Self, MRepError> {
        /// Standard deviation of the blur, voxels. Unblurred, noise would be parted like the body. Blurred, white noise falls to 8 %.
        const BLUR_DEVIATION: f64 = 1.5;
        /// Number of voxels from which the bend is estimated. Means over as many random voxels err by 0.4 % of the spread.
        const BEND_VOXELS: usize = 50_000;
        FigureKind::Slab { rows, cols }.check()?;
        let body = volume
            .blur(BLUR_DEVIATION * volume.voxel_size())
            .body_voxels();
        let body = body.unwrap_or_default();
        let flat = voxel_ellipsoid(body.iter().copied(), volume).ok_or_else(|| {
            MRepError::Target(
                "no body can be told apart from its surroundings in the volume: its values are all alike, or what \
                 they show is cut off by its border; make a template by hand"
                    .into(),
            )
        })?;
        let step = body.len().div_ceil(BEND_VOXELS).max(1);
        let some: Vec<Vec3> = body.iter().copied().step_by(step).collect();
        let bent = SheetBend::from_points(&some.iter().map(|p| (*p, 1.0)).collect::<Vec<_>>());
        let bent = bent.and_then(|bend| {
            let straight = body.iter().map(|p| bend.straighten(*p));
            bent_slab(&bend, &voxel_ellipsoid(straight, volume)?, rows, cols)
        });
        let whole = body.len() as f64 * volume.spacing().product();
        choose_slab(slab_in_ellipsoid(&flat, rows, cols), bent, || (some, whole))
    }
}

/// Returns the bent slab where it is clearly more like the body, else the flat one. `body` returns evenly spread points of the body and its volume.
fn choose_slab(
    flat: Result<Figure, MRepError>,
    bent: Option<Figure>,
    body: impl FnOnce() -> (Vec<Vec3>, f64),
) -> Result<Figure, MRepError> {
    /// Least Dice coefficient of a bent slab with the body: below it not even three quarters are shared, and the flat slab is as good a start.
    const MIN_BENT_DICE: f64 = 0.75;
    /// Margin by which the bent slab's coefficient has to exceed the flat one's: ten times the counting error of [`interior_points`]'s points.
    const BENT_DICE_MARGIN: f64 = 0.05;
    let Some(bent) = bent else {
        return flat;
    };
    let (points, volume) = body();
    let shared = |figure: &Figure| {
        let boundary = Boundary::new(figure, 1).ok()?;
        let own = Surface::new(boundary.positions(figure), boundary.triangles).ok()?;
        let inside = points.par_iter().filter(|p| own.is_wound(**p));
        let both = volume * inside.count() as f64 / points.len() as f64;
        Some(2.0 * both / (volume + own.volume()))
    };
    let least = flat.as_ref().ok().and_then(shared);
    let least = least.map_or(MIN_BENT_DICE, |flat| {
        MIN_BENT_DICE.max(flat + BENT_DICE_MARGIN)
    });
    if shared(&bent).is_some_and(|share| share > least) {
        return Ok(bent);
    }
    flat
}

/// Returns points spread evenly in a surface's body, and its volume. The points move with the body's ellipsoid.
fn interior_points(surface: &Surface, ellipsoid: &Ellipsoid) -> (Vec<Vec3>, f64) {
    /// Points in the bounding box: at a share of one half the standard error is 0.006 for random points, less for points spread evenly.
    const BODY_SAMPLES: usize = 8_000;
    let own = surface.welded().vertices.iter();
    let (lo, hi) = aabb::bounds(own.map(|p| ellipsoid.axes.tr_mul(&(p - ellipsoid.centre))));
    let points: Vec<Vec3> = (even_points(BODY_SAMPLES).into_par_iter())
        .map(|x| ellipsoid.centre + ellipsoid.axes * (lo + (hi - lo).component_mul(&x)))
        .filter(|p| surface.is_wound(*p))
        .collect();
    let share = points.len() as f64 / BODY_SAMPLES as f64;
    (points, share * (hi - lo).product())
}

/// Returns the vertices of a surface's skin, each with its share of the area.
fn weighted_vertices(surface: &Surface) -> Vec<(Vec3, f64)> {
    let welded = surface.welded();
    let triangles = surface.triangle_roles().iter().zip(&welded.triangles);
    let skin = triangles.filter(|(role, _)| **role == TriangleRole::Skin);
    let shares = vertex_areas(&welded.vertices, skin.map(|(_, t)| t));
    welded.vertices.iter().copied().zip(shares).collect()
}

/// Returns the solid ellipsoid with the moments of the voxels' centres. `None`: no voxels.
fn voxel_ellipsoid(body: impl Iterator<Item = Vec3> + Clone, volume: &Volume) -> Option<Ellipsoid> {
    let moments = BodyMoments::from_points(body.map(|p| (p, 1.0)))?;
    let (axes, spreads) = moments.axes();
    // A single layer of voxels has a thickness, too.
    let least = 0.5 * volume.voxel_size();
    Some(Ellipsoid {
        centre: moments.centre,
        axes,
        half: spreads.map(|s| (5.0 * s).sqrt().max(least)).into(),
    })
}

/// Returns the slab of a flattened body's ellipsoid, bent back. `None`: it is near a fold or fails.
fn bent_slab(bend: &SheetBend, flat: &Ellipsoid, rows: usize, cols: usize) -> Option<Figure> {
    let slab = bend
        .bend_figure(&slab_in_ellipsoid(flat, rows, cols).ok()?)
        .ok()?;
    (slab.legality() >= MIN_LEGALITY).then_some(slab)
}

/// Builds a slab in an ellipsoid, as long and thick as its legality allows.
fn slab_in_ellipsoid(
    Ellipsoid { centre, axes, half }: &Ellipsoid,
    rows: usize,
    cols: usize,
) -> Result<Figure, MRepError> {
    let mut best: Option<(f64, Figure)> = None;
    for [longest, thickest] in ASPECT_LIMITS {
        let slab = slab_in_half_axes(half.map(|x| x / half[0]), rows, cols, longest, thickest)?;
        let legality = slab.legality();
        if best.as_ref().is_none_or(|(most, _)| legality > *most) {
            best = Some((legality, slab));
        }
        if legality >= MIN_LEGALITY {
            break;
        }
    }
    match best {
        Some((legality, slab)) if legality > 0.0 => {
            Ok(slab.apply_similarity(half[0], axes, *centre))
        }
        _ => Err(MRepError::Target(format!(
            "a slab of {rows} rows and {cols} columns folds in this body: use fewer, with the larger number along its \
             longest axis"
        ))),
    }
}

/// Builds a slab in an ellipsoid with half axes a ≥ b ≥ c, with length over width at most `longest` and thickness over width at most `thickest`. Hubs
/// are then moved apart to restore the missing length.
fn slab_in_half_axes(
    [a, b, c]: [f64; 3],
    rows: usize,
    cols: usize,
    longest: f64,
    thickest: f64,
) -> Result<Figure, MRepError> {
    let short = a.min(longest * b);
    let slab = ellipsoid::slab([short, b, c.min(thickest * b)], rows, cols, SHEET_EXTENT)?;
    let mut atoms = slab.atoms().to_vec();
    let far = atoms.iter().fold(0.0_f64, |far, atom| far.max(atom.hub.x));
    let stretch = 1.0 + (a - short) / far;
    atoms.iter_mut().for_each(|atom| atom.hub.x *= stretch);
    Figure::slab(rows, cols, atoms)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::surface::shapes::{TestMesh, cuboid, sphere};

    fn surface(shape: &TestMesh) -> Surface {
        Surface::new(shape.vertices.clone(), shape.triangles.clone()).unwrap()
    }

    /// The hubs of a slab lie in its body, and its spokes nearly reach the skin.
    #[test]
    fn slab_lies_in_body() {
        let egg = sphere(1.0, 40).map_vertices(|p| {
            Vec3::new(
                2.0 * p.x,
                (1.2 + 0.2 * p.x) * p.y + 0.1 * p.y * p.y,
                0.6 * p.z,
            )
        });
        // As wide as it is high: the slab has to lie somewhere.
        let round = sphere(1.0, 40).map_vertices(|p| Vec3::new(2.0 * p.x, 0.7 * p.y, 0.7 * p.z));
        let block = cuboid(Vec3::new(2.0, 1.0, 0.4));
        for shape in [egg, round, sphere(1.0, 30), block] {
            let skin = surface(&shape);
            for (rows, cols) in [(3, 7), (2, 2), (5, 9)] {
                let figure = Figure::slab_around(&skin, rows, cols).unwrap();
                assert!(
                    figure.legality() > 0.03,
                    "{rows} {cols} {}",
                    figure.legality()
                );
                for atom in figure.atoms() {
                    assert!(skin.contains(atom.hub));
                }
                if rows > 2 {
                    let boundary = Boundary::new(&figure, 2).unwrap();
                    let mesh =
                        Surface::new(boundary.positions(&figure), boundary.triangles.clone());
                    let share = mesh.unwrap().volume() / skin.volume();
                    assert!((0.6..1.2).contains(&share), "{share}");
                }
            }
        }
    }

    /// A block with rounded edges, wider at one end, bent about its width by so many radians at its ends and twisted by some.
    fn bent_block(angle: f64, twist: f64) -> TestMesh {
        sphere(1.0, 60).map_vertices(|p| {
            let round = |x: f64| x.signum() * x.abs().powf(0.8);
            let wide = 0.45 * (1.0 + 0.2 * p.x);
            let p = Vec3::new(1.6 * round(p.x), wide * round(p.y), 0.25 * round(p.z));
            let (sin, cos) = (twist * p.x / 1.6).sin_cos();
            let (y, z) = (cos * p.y - sin * p.z, sin * p.y + cos * p.z);
            let (radius, a) = (1.6 / angle, angle * p.x / 1.6);
            Vec3::new((radius + z) * a.sin(), y, (radius + z) * a.cos())
        })
    }

    /// A slab in a bent body bends with it, is equivariant and fits closely.
    #[test]
    fn slab_follows_bent_body() {
        let turn = *nalgebra::Rotation3::new(Vec3::new(0.4, 1.1, -2.0)).matrix();
        let shift = Vec3::new(10.0, 3.0, -5.0);
        for (angle, twist) in [(0.8, 0.3), (1.0, 0.0), (1.3, -0.4)] {
            let shape = bent_block(angle, twist);
            let skin = surface(&shape);
            let figure = Figure::slab_around(&skin, 3, 7).unwrap();
            for atom in figure.atoms() {
                assert!(skin.contains(atom.hub), "{angle}");
            }
            let moved = surface(&shape.map_vertices(|p| turn * p * 0.01 + shift));
            let moved = Figure::slab_around(&moved, 3, 7).unwrap();
            for (a, b) in figure.atoms().iter().zip(moved.atoms()) {
                let off = (turn * a.hub * 0.01 + shift - b.hub).norm();
                assert!(off < 1e-9 * 0.01, "{angle}: {off}");
                assert!((turn * a.frame - b.frame).amax() < 1e-8);
            }
            let settings = crate::mrep::FigureFitSettings::default();
            let fit = figure
                .fit_surface(&skin, None, &settings, &crate::progress::Silent)
                .unwrap();
            let report = &fit.stages.last().unwrap().report;
            assert!(report.mean < 7e-4 * skin.size(), "{angle}: {report:?}");
        }
    }

    /// A slab made from the volume of a bent body lies in the body.
    #[test]
    fn slab_lies_in_bent_volume() {
        let skin = surface(&bent_block(1.1, 0.2));
        let (lo, hi) = skin.bounds();
        let spacing = Vec3::new(0.04, 0.06, 0.05);
        let origin = lo - spacing * 4.0;
        let shape: [usize; 3] =
            std::array::from_fn(|k| ((hi[k] - lo[k]) / spacing[k]) as usize + 9);
        let at = |i: usize, j: usize, k: usize| {
            origin + spacing.component_mul(&Vec3::new(i as f64, j as f64, k as f64))
        };
        let values: Vec<f32> = (0..shape[0] * shape[1] * shape[2])
            .map(|v| {
                let (i, rest) = (v / (shape[1] * shape[2]), v % (shape[1] * shape[2]));
                let inside = skin.contains(at(i, rest / shape[2], rest % shape[2]));
                f32::from(u8::from(inside))
            })
            .collect();
        let volume = Volume::new(values, shape, spacing, origin).unwrap();
        let figure = Figure::slab_around_volume(&volume, 3, 7).unwrap();
        for atom in figure.atoms() {
            assert!(skin.contains(atom.hub));
        }
        let thickest = figure.atoms().iter().map(|a| a.radius).fold(0.0, f64::max);
        assert!((0.15..0.4).contains(&thickest), "{thickest}");
    }
}
