// SPDX-License-Identifier: MIT OR Apache-2.0
//! Models of several named figures: the content of a file, and their common boundary.

use crate::mrep::error::MRepError;
use crate::mrep::figures::blend::blended_boundary;
use crate::mrep::figures::boundary::mesh;
use crate::mrep::figures::figure::Figure;
use crate::progress::Progress;
use crate::range::max_abs_entry;
use crate::{Mat3, Vec3};

/// Finest level of a boundary around several figures. At level 7 the grid around a ball alone would have four times the largest number of nodes.
const MAX_BLEND_LEVEL: u32 = 6;

/// Figures, each with a name.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    /// Names and figures, in order; at least one, all names different.
    figures: Vec<(String, Figure)>,
}

impl Model {
    /// Builds a model from named figures.
    ///
    /// # Errors
    /// No figure; an empty or a repeated name.
    pub fn new(figures: Vec<(String, Figure)>) -> Result<Self, MRepError> {
        if figures.is_empty() {
            return Err(MRepError::Names("a model needs at least one figure".into()));
        }
        for (i, (name, _)) in figures.iter().enumerate() {
            if name.is_empty() {
                return Err(MRepError::Names(format!(
                    "figure {i} has no name: give it one"
                )));
            }
            if figures[..i].iter().any(|(other, _)| other == name) {
                return Err(MRepError::Names(format!(
                    "two figures are called '{name}': give each a name of its own"
                )));
            }
        }
        Ok(Self { figures })
    }

    /// Builds a model from figures and their names, in the same order.
    ///
    /// # Errors
    /// See [`Self::new`]; the numbers of names and figures differ.
    pub fn from_figures(figures: Vec<Figure>, names: Vec<String>) -> Result<Self, MRepError> {
        MRepError::check_length("the list of names", names.len(), figures.len())?;
        Self::new(names.into_iter().zip(figures).collect())
    }

    /// Returns the names and figures.
    pub fn figures(&self) -> &[(String, Figure)] {
        &self.figures
    }

    /// Returns the model after a similarity: `x → scale · turn · x + shift`.
    ///
    /// # Errors
    /// A scale outside `[1e-12, 1e12]`, a matrix that is not a rotation, a figure that leaves the computable range.
    pub fn apply_similarity(
        &self,
        scale: f64,
        turn: &Mat3,
        shift: Vec3,
    ) -> Result<Self, MRepError> {
        if !(1e-12..=1e12).contains(&scale) {
            return Err(MRepError::Setting {
                name: "the scale",
                value: scale.to_string(),
                range: "a number above zero",
            });
        }
        let off = max_abs_entry(&(turn.transpose() * turn - Mat3::identity()));
        if off > 1e-6 || turn.determinant() < 0.0 {
            return Err(MRepError::Setting {
                name: "the rotation",
                value: format!("{turn}"),
                range: "a 3x3 rotation matrix, of determinant 1",
            });
        }
        let moved = |(name, figure): &(String, Figure)| {
            Ok((
                name.clone(),
                figure.apply_similarity(scale, turn, shift).revalidate()?,
            ))
        };
        let figures = self
            .figures
            .iter()
            .map(moved)
            .collect::<Result<_, MRepError>>()?;
        Ok(Self { figures })
    }

    /// Builds a closed mesh around all figures: vertices, and triangles counter-clockwise from outside.
    ///
    /// Overlapping figures are blended over `blend` times the thinner one's mean radius (0: creases). Figures that are only adjacent
    /// are not blended. At level l edges are about the thinnest figure's mean radius over 2^l long, or longer where a grid of four
    /// million nodes would be exceeded. A model of one figure returns that figure's own boundary.
    ///
    /// # Errors
    /// A blend that is negative or above 4, a level above 6, cancellation by `progress`.
    pub fn boundary(
        &self,
        level: u32,
        blend: f64,
        progress: &dyn Progress,
    ) -> Result<(Vec<Vec3>, Vec<[u32; 3]>), MRepError> {
        if !(0.0..=4.0).contains(&blend) {
            return Err(MRepError::Setting {
                name: "the blend",
                value: blend.to_string(),
                range: "between 0 and 4",
            });
        }
        let [(_, first), rest @ ..] = &self.figures[..] else {
            return Ok(Default::default());
        };
        if rest.is_empty() {
            return mesh(first, level, progress);
        }
        if level > MAX_BLEND_LEVEL {
            return Err(MRepError::Setting {
                name: "the level of a boundary around several figures",
                value: level.to_string(),
                range: "at most 6",
            });
        }
        // The grid uses the axes and the size of an atom, so that it moves with the model.
        let atom = &first.atoms()[0];
        let (turn, size) = (atom.frame.transpose(), atom.mean_spoke_length());
        let figures: Vec<Figure> = (self.figures.iter())
            .map(|(_, figure)| {
                figure.apply_similarity(1.0 / size, &turn, -(turn * atom.hub) / size)
            })
            .collect();
        let (vertices, triangles) = blended_boundary(&figures, level, blend, progress)?;
        let back = |p: Vec3| atom.frame * p * size + atom.hub;
        Ok((vertices.into_iter().map(back).collect(), triangles))
    }

    /// Returns the only figure.
    ///
    /// # Errors
    /// The model has several figures.
    pub fn single_figure(&self) -> Result<&Figure, MRepError> {
        match &self.figures[..] {
            [(_, figure)] => Ok(figure),
            several => {
                let names: Vec<&str> = several.iter().map(|(name, _)| &name[..]).collect();
                Err(MRepError::Names(format!(
                    "this model has {} figures ({}): choose one of them first",
                    several.len(),
                    names.join(", ")
                )))
            }
        }
    }
}

impl From<Figure> for Model {
    fn from(figure: Figure) -> Self {
        Self {
            figures: vec![("figure".into(), figure)],
        }
    }
}

#[cfg(test)]
mod tests;
