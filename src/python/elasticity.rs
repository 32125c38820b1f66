// SPDX-License-Identifier: MIT OR Apache-2.0
//! Elastic energies of anything made of elements: bodies of flesh and tetrahedral meshes.

use super::arrays::read_nodal;
use super::errors::{IntoPy, input_error, run_detached};
use crate::Vec3;
use crate::elasticity::{Curvature, ElasticModel, Elements};
use crate::solve::matrix::zeros;
use crate::solve::{BlockMatrix, NodeMatrix};
use pyo3::prelude::*;
use sprs::CsMatI;

fn read_arguments(
    q: &Bound<'_, PyAny>,
    model: &str,
    nodes: usize,
) -> PyResult<(ElasticModel, Vec<Vec3>)> {
    Ok((
        model.parse().map_err(IntoPy::into_py)?,
        read_nodal(q, "q", nodes)?,
    ))
}

/// Returns the energy, J, at displacements `q`.
pub(super) fn energy(elements: &Elements, q: &Bound<'_, PyAny>, model: &str) -> PyResult<f64> {
    let (model, given) = read_arguments(q, model, elements.node_count())?;
    let energy = run_detached(q.py(), || Ok(elements.energy(model, &given)))?;
    check_range([&energy])?;
    Ok(energy)
}

/// Returns the derivative of the energy, N.
pub(super) fn gradient(
    elements: &Elements,
    q: &Bound<'_, PyAny>,
    model: &str,
) -> PyResult<Vec<Vec3>> {
    let (model, given) = read_arguments(q, model, elements.node_count())?;
    let forces = run_detached(q.py(), || {
        let mut forces = given.clone();
        elements.gradient(model, &given, &mut forces);
        Ok(forces)
    })?;
    check_range(forces.iter().flatten())?;
    Ok(forces)
}

/// Returns the Hessian of the energy, N/m, with the sparsity pattern of the linear stiffness.
pub(super) fn hessian(
    elements: &Elements,
    q: &Bound<'_, PyAny>,
    model: &str,
) -> PyResult<CsMatI<f64, u32>> {
    let (model, given) = read_arguments(q, model, elements.node_count())?;
    let hessian = run_detached(q.py(), || {
        let mut hessian: BlockMatrix = zeros(elements.node_count(), elements.all_corners());
        elements.hessian(model, &given, Curvature::Exact, &mut hessian);
        Ok(hessian.expand())
    })?;
    check_range(hessian.data())?;
    Ok(hessian)
}

/// Refuses numbers that overflowed.
fn check_range<'a>(numbers: impl IntoIterator<Item = &'a f64>) -> PyResult<()> {
    if numbers.into_iter().all(|x| x.is_finite()) {
        return Ok(());
    }
    Err(input_error(
        "q: the elastic energy at displacements as large as these is beyond the range of numbers",
    ))
}
