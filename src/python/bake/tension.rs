// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bindings of the tension of skin.

use super::frames::read_single_points;
use crate::bake::{self, BakeError};
use crate::python::arrays::{describe_shape, read_integers};
use crate::python::errors::{IntoPy, input_error, run_detached};
use numpy::{IntoPyArray, PyArray1, PyArrayMethods};
use pyo3::prelude::*;

/// Reads edges `[e,2]`, or triangles `[t,3]`, whose edges count once each.
fn read_edges(object: &Bound<'_, PyAny>) -> PyResult<Vec<[u32; 2]>> {
    let (data, shape) = read_integers(object, "edges")?;
    let corners = match shape[..] {
        [_, corners @ (2 | 3)] => corners,
        _ if data.is_empty() => 2,
        _ => {
            return Err(input_error(format!(
                "edges: expected edges of shape (any, 2) or triangles of shape (any, 3), got {}",
                describe_shape(&shape)
            )));
        }
    };
    if let Some(at) = data.iter().position(|&i| i < 0) {
        return Err(input_error(format!(
            "edges[{}] has a negative index, {}",
            at / corners,
            data[at]
        )));
    }
    let index = |i: &i64| u32::try_from(*i).unwrap_or(u32::MAX);
    let indices: Vec<u32> = data.iter().map(index).collect();
    Ok(match corners {
        2 => indices.chunks_exact(2).map(|e| [e[0], e[1]]).collect(),
        _ => {
            let triangles = indices.chunks_exact(3).map(|t| [t[0], t[1], t[2]]);
            bake::triangle_edges(&triangles.collect::<Vec<_>>())
        }
    })
}

/// Returns how far the skin around each vertex is stretched or compressed against the plain skin, float32 [n]: the summed length of its
/// edges as shown, divided by that on the plain skin, less 1. It is 0 on the plain skin and for rigid motions, -0.5 where edges are half
/// as long, 1 where they are twice as long.
///
/// - `edges[e,2]`: pairs of vertices, or triangles [t,3], whose edges count once each.
/// - `plain[n,3]`, `shown[n,3]`: the skin without and with flesh, in the same pose and one unit.
#[pyfunction]
pub(in crate::python) fn tension<'py>(
    py: Python<'py>,
    edges: &Bound<'py, PyAny>,
    plain: &Bound<'py, PyAny>,
    shown: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyArray1<f32>>> {
    let edges = read_edges(edges)?;
    let plain = read_single_points(plain, "plain")?.readonly();
    let shown = read_single_points(shown, "shown")?.readonly();
    let (plain, shown) = (plain.as_slice()?, shown.as_slice()?);
    let found: Vec<f32> = run_detached(py, || {
        bake::tension(&edges, plain, shown).map_err(BakeError::into_py)
    })?;
    Ok(found.into_pyarray(py))
}
