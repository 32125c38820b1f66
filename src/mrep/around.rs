// SPDX-License-Identifier: MIT OR Apache-2.0
//! First figures of bodies without bones: a slab in the ellipsoid that a body is most like, a tube along its rings.

use super::ellipsoid;
use super::error::MRepError;
use super::extent::Ellipsoid;
use super::figure::{Figure, Kind};
use super::moments::Moments;
use super::volume::Volume;
use crate::surface::Surface;

/// How far a slab's border goes of the way to the end of the ellipsoid's sheet.
const REACH: f64 = 0.8;
/// How many times as long as wide the ellipsoid may be, and which part of its width it may be thick; where the slab folds, less. The
/// sheet of a longer one has its border's spokes turn too fast at its ends, that of a thicker one nearly is a line.
const SHAPES: [[f64; 2]; 4] = [[2.2, 0.75], [1.8, 0.6], [1.5, 0.5], [1.2, 0.4]];
/// Legality that a first figure has to have.
const LEAST_LEGALITY: f64 = 0.035;

impl Figure {
    /// A slab in a body: the medial sheet of the ellipsoid that has its centre, axes and volume, its columns along the longest axis
    /// and its rows along the next.
    ///
    /// The axes' signs are those in which the body is skewed, so that the slab goes along when the body is turned. Where the two shorter axes are alike
    /// (as in a tube) the sheet lies across one of them, as narrow as it has to be.
    ///
    /// # Errors
    /// A surface that bounds no volume; too few or too many atoms.
    pub fn slab_around(surface: &Surface, rows: usize, cols: usize) -> Result<Self, MRepError> {
        // Before anything is measured.
        Kind::Slab { rows, cols }.check()?;
        slab_in(&Ellipsoid::of(surface)?, rows, cols)
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
        /// Noise would be parted like the body.
        const BLUR: f64 = 1.5;
        Kind::Slab { rows, cols }.check()?;
        let body = volume.blurred(BLUR * volume.voxel()).body();
        let moments = body.and_then(|body| Moments::of_points(body.iter().map(|p| (*p, 1.0))));
        let moments = moments.ok_or_else(|| {
            MRepError::Target(
                "no body can be told from its surroundings in the volume: its values are all alike, or what they show is cut off by its \
                 border; make a template by hand"
                    .into(),
            )
        })?;
        let (axes, spreads) = moments.axes();
        // A solid ellipsoid's half axes; a layer of voxels has a thickness.
        let thickness = volume.voxel();
        let half = spreads
            .map(|s| (5.0 * s).sqrt().max(0.5 * thickness))
            .into();
        let ellipsoid = Ellipsoid {
            centre: moments.centre,
            axes,
            half,
        };
        slab_in(&ellipsoid, rows, cols)
    }
}

/// A slab in an ellipsoid, as long and thin as it is legal.
fn slab_in(
    Ellipsoid { centre, axes, half }: &Ellipsoid,
    rows: usize,
    cols: usize,
) -> Result<Figure, MRepError> {
    let mut best: Option<(f64, Figure)> = None;
    for [longest, thickest] in SHAPES {
        let slab = within(half.map(|x| x / half[0]), rows, cols, longest, thickest)?;
        let legality = slab.legality();
        if best.as_ref().is_none_or(|(most, _)| legality > *most) {
            best = Some((legality, slab));
        }
        if legality >= LEAST_LEGALITY {
            break;
        }
    }
    match best {
        Some((legality, slab)) if legality > 0.0 => Ok(slab.transformed(half[0], axes, *centre)),
        _ => Err(MRepError::Target(format!(
            "a slab of {rows} rows and {cols} columns folds in this body: take fewer, the more along its longest axis"
        ))),
    }
}

/// A slab in an ellipsoid with half axes a ≥ b ≥ c that is at most so many times as long as wide and such a part of its width thick;
/// what it lacks in length its hubs are moved apart.
fn within(
    [a, b, c]: [f64; 3],
    rows: usize,
    cols: usize,
    longest: f64,
    thickest: f64,
) -> Result<Figure, MRepError> {
    let short = a.min(longest * b);
    let slab = ellipsoid::slab([short, b, c.min(thickest * b)], rows, cols, REACH)?;
    let mut atoms = slab.atoms().to_vec();
    let far = atoms.iter().fold(0.0_f64, |far, atom| far.max(atom.hub.x));
    let stretch = 1.0 + (a - short) / far;
    atoms.iter_mut().for_each(|atom| atom.hub.x *= stretch);
    Figure::slab(rows, cols, atoms)
}

#[cfg(test)]
mod tests {
    use super::super::Boundary;
    use super::*;
    use crate::Vec3;
    use crate::surface::shapes::{Shape, cuboid, sphere};

    fn surface(shape: &Shape) -> Surface {
        Surface::new(shape.vertices.clone(), shape.triangles.clone()).unwrap()
    }

    #[test]
    fn a_slab_lies_in_its_body() {
        let egg = sphere(1.0, 40).mapped(|p| {
            Vec3::new(
                2.0 * p.x,
                (1.2 + 0.2 * p.x) * p.y + 0.1 * p.y * p.y,
                0.6 * p.z,
            )
        });
        // As wide as it is high: the slab has to lie somewhere.
        let round = sphere(1.0, 40).mapped(|p| Vec3::new(2.0 * p.x, 0.7 * p.y, 0.7 * p.z));
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
}
