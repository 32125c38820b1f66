// SPDX-License-Identifier: MIT OR Apache-2.0
//! First figures of bodies: along bones and around surfaces.

use super::atoms;
use super::fit::MRepFitTarget;
use crate::mrep::{self, ChainSettings, Figure, FigureTemplate};
use crate::python::arrays::read_weights;
use crate::python::errors::{IntoPy, run_detached};
use crate::python::skeleton::PySkeleton;
use crate::python::surface::PySurface;
use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;

/// Builds a figure along named bones in the skin that follows them.
pub(super) fn along_bones(
    template: FigureTemplate,
    (surface, skeleton, skin_weights): (&PySurface, &PySkeleton, &Bound<'_, PyAny>),
    bones: &[String],
    settings: ChainSettings,
) -> PyResult<Figure> {
    let (surface, skeleton) = (&surface.0, &skeleton.0);
    let n = surface.vertices().len();
    let skin = read_weights(skin_weights, "skin_weights", n, skeleton.len())?;
    let bones = atoms::bone_indices(skeleton, bones)?;
    run_detached(skin_weights.py(), || {
        Figure::template_from_skeleton(template, surface, skeleton, &skin, &bones, settings)
            .map_err(IntoPy::into_py)
    })
}

/// Returns the weight of each vertex in a fit to the skin of named bones.
pub(super) fn chain_weights<'py>(
    skeleton: &PySkeleton,
    skin_weights: &Bound<'py, PyAny>,
    bones: &[String],
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let n = skin_weights.len()?;
    let skin = read_weights(skin_weights, "skin_weights", n, skeleton.0.len())?;
    let bones = atoms::bone_indices(&skeleton.0, bones)?;
    Ok(mrep::chain_weights(&skin, &bones).into_pyarray(skin_weights.py()))
}

/// Builds a slab around the body in a surface or a volume.
pub(super) fn slab_around(target: &Bound<'_, PyAny>, rows: usize, cols: usize) -> PyResult<Figure> {
    let seen = MRepFitTarget::new(target, None, 1)?;
    run_detached(target.py(), || {
        let figure = match &seen {
            MRepFitTarget::Surface(surface, _) => Figure::slab_around(surface, rows, cols),
            MRepFitTarget::Volume(volume) => Figure::slab_around_volume(volume, rows, cols),
        };
        figure.map_err(IntoPy::into_py)
    })
}
