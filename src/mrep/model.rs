// SPDX-License-Identifier: MIT OR Apache-2.0
//! Several figures under names: what a file holds, and what is joined.

use super::error::MRepError;
use super::figure::Figure;
use crate::{Mat3, Vec3};

/// Figures with a name each.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    /// In their order, one at least; no name twice.
    figures: Vec<(String, Figure)>,
}

impl Model {
    /// Of figures with names.
    ///
    /// # Errors
    /// No figure; a name that is empty or there twice.
    pub fn new(figures: Vec<(String, Figure)>) -> Result<Self, MRepError> {
        if figures.is_empty() {
            return Err(MRepError::Names("a model needs one figure at least".into()));
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

    /// The figures with their names.
    pub fn figures(&self) -> &[(String, Figure)] {
        &self.figures
    }

    /// All figures after a similarity: `x → scale · turn · x + shift`.
    ///
    /// # Errors
    /// A scale that is not above zero, a matrix that is no rotation, a figure that leaves the space that can be computed in.
    pub fn transformed(&self, scale: f64, turn: &Mat3, shift: Vec3) -> Result<Self, MRepError> {
        if !(1e-12..=1e12).contains(&scale) {
            return Err(MRepError::Setting {
                name: "the scale",
                value: scale.to_string(),
                range: "a number above zero",
            });
        }
        let off = (turn.transpose() * turn - Mat3::identity()).amax();
        if off.is_nan() || off > 1e-6 || turn.determinant() < 0.0 {
            return Err(MRepError::Setting {
                name: "the rotation",
                value: format!("{turn}"),
                range: "a 3x3 rotation matrix, of determinant 1",
            });
        }
        let moved = |(name, figure): &(String, Figure)| {
            Ok((
                name.clone(),
                figure.transformed(scale, turn, shift).checked_again()?,
            ))
        };
        let figures = self
            .figures
            .iter()
            .map(moved)
            .collect::<Result<_, MRepError>>()?;
        Ok(Self { figures })
    }

    /// The only figure.
    ///
    /// # Errors
    /// There are several.
    pub fn one(&self) -> Result<&Figure, MRepError> {
        match &self.figures[..] {
            [(_, figure)] => Ok(figure),
            several => {
                let names: Vec<&str> = several.iter().map(|(name, _)| &name[..]).collect();
                Err(MRepError::Names(format!(
                    "this model has {} figures ({}): take one of them first",
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
