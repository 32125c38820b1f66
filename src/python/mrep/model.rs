// SPDX-License-Identifier: MIT OR Apache-2.0
//! A model with the coordinates of its only figure.

use crate::mrep::{Coordinates, Figure, FigureKind, Model};
use crate::python::errors::IntoPy;
use pyo3::prelude::*;
use std::sync::{Arc, OnceLock};

/// A medial model: atoms with spokes to the skin, which imply a boundary and coordinates of everything inside [oguz2005; pizer2003].
///
/// Models are made by `MRep.slab`, `MRep.tube`, `MRep.join`. Most properties and methods are of a single figure; for several take one of
/// `figures`.
#[pyclass(name = "MRep", module = "thew", frozen)]
pub(in crate::python) struct PyMRep {
    pub(super) model: Arc<Model>,
    /// Coordinates of the figure, prepared at their first use.
    coordinates: OnceLock<Arc<Coordinates>>,
}

impl From<Model> for PyMRep {
    fn from(model: Model) -> Self {
        Self {
            model: Arc::new(model),
            coordinates: OnceLock::new(),
        }
    }
}

impl From<Figure> for PyMRep {
    fn from(figure: Figure) -> Self {
        Model::from(figure).into()
    }
}

impl PyMRep {
    /// Returns the only figure, or refuses several.
    pub(super) fn only_figure(&self) -> PyResult<&Figure> {
        self.model.single_figure().map_err(IntoPy::into_py)
    }

    /// Returns the coordinates of the only figure.
    pub(super) fn shared_coordinates(&self) -> PyResult<Arc<Coordinates>> {
        let figure = self.only_figure()?;
        Ok(self
            .coordinates
            .get_or_init(|| Arc::new(Coordinates::new(figure)))
            .clone())
    }

    /// Returns the figures, a model each.
    pub(super) fn parts(&self) -> Vec<Self> {
        let one = |(name, figure): &(String, Figure)| {
            Model::new(vec![(name.clone(), figure.clone())])
                .map(Into::into)
                .ok()
        };
        self.model.figures().iter().filter_map(one).collect()
    }

    /// Returns the faults of each figure, named if there are several.
    pub(super) fn faults(&self) -> Vec<String> {
        let several = self.model.figures().len() > 1;
        let of = |(name, figure): &(String, Figure)| -> Vec<String> {
            let said = figure.check().into_iter();
            said.map(|s| if several { format!("'{name}': {s}") } else { s })
                .collect()
        };
        self.model.figures().iter().flat_map(of).collect()
    }

    /// Writes the kind and the size of the model.
    pub(super) fn described(&self) -> String {
        match self.model.single_figure().map(Figure::kind) {
            Ok(FigureKind::Slab { rows, cols }) => {
                format!("<thew.MRep: slab of {rows} x {cols} atoms>")
            }
            Ok(FigureKind::Tube { atoms, spokes }) => {
                format!("<thew.MRep: tube of {atoms} atoms with {spokes} spokes each>")
            }
            Err(_) => format!("<thew.MRep: {} figures>", self.model.figures().len()),
        }
    }
}
