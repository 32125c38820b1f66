// SPDX-License-Identifier: MIT OR Apache-2.0
//! Several figures under names: what a file holds, and what is joined.

use super::error::MRepError;
use super::figure::Figure;

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
