// SPDX-License-Identifier: MIT OR Apache-2.0
//! Named initial figures: a limb, a tail, a torso, a head, at unit size or along the bones of a character.
//!
//! Limbs and tails are tubes, torsos and heads slabs: a part whose width and depth differ has a medial sheet. [oguz2005, slide 9] begins fits
//! with such templates.

use crate::mrep::Atom;
use crate::mrep::error::MRepError;
use crate::mrep::figures::figure::Figure;
use crate::mrep::initial::chain;
use crate::mrep::initial::chain::ChainSettings;
use crate::mrep::initial::ellipsoid;
use crate::skeleton::{Skeleton, SkinWeights};
use crate::surface::Surface;
use crate::{Mat3, Vec3};
use std::f64::consts::FRAC_PI_2;

/// Kind of body part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FigureTemplate {
    /// An arm or a leg: a tube of two bones.
    Limb,
    /// A tail, a neck, a tentacle: a tube of four bones that runs thin.
    Tail,
    /// A trunk: a slab, wider than deep, wider at the shoulders.
    Torso,
    /// A head: a slab between the left and the right side.
    Head,
}

/// Rows and columns of slabs. They are odd, so that the middle row and column lie on the long and the short axis.
const SLAB_SIZE: [usize; 2] = [5, 7];
/// Spokes around tubes. One every 45°, as many as tubes along bones have by default.
const TUBE_SPOKES: usize = 8;
/// Fraction of the distance from the centre to the edge of an ellipsoid's sheet that a slab covers. The ellipsoid has 0.6 of its half thickness
/// there; at its edge spokes would have no angle between them.
const SHEET_EXTENT: f64 = 0.8;

impl FigureTemplate {
    /// All templates.
    pub const ALL: [Self; 4] = [Self::Limb, Self::Tail, Self::Torso, Self::Head];

    /// Returns the name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Limb => "limb",
            Self::Tail => "tail",
            Self::Torso => "torso",
            Self::Head => "head",
        }
    }

    /// Returns the template of a name.
    ///
    /// # Errors
    /// An unknown name.
    pub fn from_name(name: &str) -> Result<Self, MRepError> {
        let found = Self::ALL.into_iter().find(|t| t.name() == name);
        found.ok_or_else(|| MRepError::Setting {
            name: "the template",
            value: format!("'{name}'"),
            range: "one of limb, tail, torso, head",
        })
    }
}

impl Figure {
    /// Builds a template one metre long, around the origin, symmetric between left and right. Tubes run upwards along z. A torso's columns
    /// run up along z and its rows from the right (-x) to the left, with the sheet facing the front (-y). A head's columns run up along z and
    /// its rows from the front (-y) to the back, with the sheet facing the left (x).
    ///
    /// # Errors
    /// Does not occur for these templates.
    pub fn from_template(template: FigureTemplate) -> Result<Self, MRepError> {
        match template {
            FigureTemplate::Limb => tube(7, [0.11, 0.07], 2),
            FigureTemplate::Tail => tube(13, [0.07, 0.015], 4),
            FigureTemplate::Torso => slab(
                [0.5, 0.27, 0.16],
                Mat3::from_columns(&[Vec3::z(), Vec3::x(), Vec3::y()]),
                |up| 1.0 + 0.2 * up,
            ),
            FigureTemplate::Head => slab(
                [0.5, 0.42, 0.3],
                Mat3::from_columns(&[Vec3::z(), Vec3::y(), -Vec3::x()]),
                |up| 1.0 + 0.16 * up,
            ),
        }
    }

    /// Builds a template around the skin that follows bones of a character. Limbs and tails are built as by [`Self::from_skeleton`], torsos
    /// and heads as slabs of 5 rows and 7 columns in that skin, as by [`Self::slab_around`]. It is an initial figure: a fit with the weights
    /// of [`chain_weights`](crate::mrep::chain_weights) brings it onto the skin.
    ///
    /// # Errors
    /// See [`Self::from_skeleton`] and [`Self::slab_around`]; no skin that follows the bones.
    pub fn template_from_skeleton(
        template: FigureTemplate,
        surface: &Surface,
        skeleton: &Skeleton,
        skin: &SkinWeights,
        bones: &[u32],
        settings: ChainSettings,
    ) -> Result<Self, MRepError> {
        match template {
            FigureTemplate::Limb | FigureTemplate::Tail => {
                Self::from_skeleton(surface, skeleton, skin, bones, settings)
            }
            FigureTemplate::Torso | FigureTemplate::Head => {
                let part = chain::chain_surface(surface, skeleton, skin, bones)?;
                let [rows, cols] = SLAB_SIZE;
                Self::slab_around(&part, rows, cols)
            }
        }
    }
}

/// Builds a tube along z whose radius changes linearly from the first to the last, over `bones` bones of equal length.
fn tube(atoms: usize, [first, last]: [f64; 2], bones: usize) -> Result<Figure, MRepError> {
    // The caps reach beyond the hubs; the whole is a metre long.
    let long = 1.0 - first - last;
    let frame = Mat3::from_columns(&[Vec3::z(), Vec3::x(), Vec3::y()]);
    let atom = |i: usize| {
        let share = i as f64 / (atoms - 1) as f64;
        let hub = Vec3::z() * (first - 0.5 + long * share);
        Atom::new(
            hub,
            first + (last - first) * share,
            frame,
            FRAC_PI_2,
            TUBE_SPOKES,
        )
    };
    let joints = (0..=bones).map(|i| i as f64 / bones as f64).collect();
    Figure::tube_with_knots((0..atoms).map(atom).collect(), None, joints)
}

/// Builds an ellipsoid's slab, rotated by `turn`; `wide` is its width as a function of the height, −1 to 1, along its columns.
fn slab(half: [f64; 3], turn: Mat3, wide: impl Fn(f64) -> f64) -> Result<Figure, MRepError> {
    let [rows, cols] = SLAB_SIZE;
    let plain = ellipsoid::slab(half, rows, cols, SHEET_EXTENT)?;
    let atoms = (plain.atoms().iter()).map(|atom| {
        let factor = wide(atom.hub.x / half[0]);
        let mut atom = atom.clone();
        atom.hub.y *= factor;
        atom.radius *= factor;
        atom
    });
    let slab = Figure::slab(rows, cols, atoms.collect())?;
    Ok(slab.apply_similarity(1.0, &turn, Vec3::zeros()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mrep::fixture::arm;
    use crate::mrep::{Boundary, FigureFitSettings, chain_weights};
    use crate::progress::Silent;

    fn skin(figure: &Figure) -> Surface {
        let boundary = Boundary::new(figure, 3).unwrap();
        Surface::new(boundary.positions(figure), boundary.triangles).unwrap()
    }

    /// Templates are legal figures, one metre long and symmetrical.
    #[test]
    fn templates_are_valid() {
        for template in FigureTemplate::ALL {
            let figure = Figure::from_template(template).unwrap();
            assert!(
                figure.legality() > 0.1,
                "{template:?} {}",
                figure.legality()
            );
            let skin = skin(&figure);
            let (lo, hi) = skin.bounds();
            assert!(
                ((hi - lo).z - 1.0).abs() < 0.05,
                "{template:?} {lo:?} {hi:?}"
            );
            assert!((lo.x + hi.x).abs() < 1e-9);
            for p in skin.vertices() {
                let other = Vec3::new(-p.x, p.y, p.z);
                assert!(
                    skin.signed_distance(other).abs() < 2e-3,
                    "{template:?} {p:?}"
                );
            }
            assert_eq!(
                FigureTemplate::from_name(template.name()).unwrap(),
                template
            );
        }
        let said = FigureTemplate::from_name("wing").unwrap_err().to_string();
        assert!(said.contains("'wing'") && said.contains("torso"));
    }

    /// A template fits a body of its kind, wherever that lies.
    #[test]
    fn template_fits_similar_body() {
        let turn = *nalgebra::Rotation3::new(Vec3::new(0.4, -1.1, 0.7)).matrix();
        for template in FigureTemplate::ALL {
            let figure = Figure::from_template(template).unwrap();
            // Thicker here, thinner there, and moved.
            let body = skin(&figure);
            let changed = body.vertices().iter().map(|p| {
                let wide = 1.0 + 0.12 * (3.0 * p.z).sin();
                turn * Vec3::new(p.x * wide, p.y * wide + 0.05 * p.z * p.z, p.z) * 3.0 + Vec3::y()
            });
            let target = Surface::new(changed.collect(), body.triangles().to_vec()).unwrap();
            let settings = FigureFitSettings {
                boundary: false,
                ..FigureFitSettings::default()
            };
            let fit = figure
                .fit_surface(&target, None, &settings, &Silent)
                .unwrap();
            let mean = fit.stages[fit.stages.len() - 1].report.mean / target.size();
            assert!(mean < 0.01, "{template:?} {mean}");
        }
    }

    /// The slab of a template lies in the skin that follows the chosen bones.
    #[test]
    fn template_slab_lies_in_skin() {
        let (surface, skeleton, weights) = arm(0.0, |p| Vec3::new(p.x, 1.6 * p.y, p.z));
        let bones = [1, 2];
        let settings = ChainSettings::default();
        for template in [FigureTemplate::Torso, FigureTemplate::Limb] {
            let figure = Figure::template_from_skeleton(
                template, &surface, &skeleton, &weights, &bones, settings,
            );
            let figure = figure.unwrap();
            let share = chain_weights(&weights, &bones);
            for atom in figure.atoms() {
                assert!(surface.contains(atom.hub));
                assert!(
                    (-0.1..2.1).contains(&atom.hub.x),
                    "{template:?} {:?}",
                    atom.hub
                );
            }
            assert!(share.contains(&1.0));
        }
        let none = SkinWeights::from_dense(1, 4, &[1.0, 0.0, 0.0, 0.0]).unwrap();
        let torso = FigureTemplate::Torso;
        let wrong =
            Figure::template_from_skeleton(torso, &surface, &skeleton, &none, &bones, settings)
                .unwrap_err();
        assert!(wrong.to_string().contains("weights"), "{wrong}");
        let lost =
            Figure::template_from_skeleton(torso, &surface, &skeleton, &weights, &[9], settings);
        assert!(lost.unwrap_err().to_string().contains("no bone 9"));
    }
}
