// SPDX-License-Identifier: MIT OR Apache-2.0
//! Conversion of figures from arrays and to arrays.

use super::PyMRep;
use crate::mrep::{Atom, Figure, FigureKind, Model};
use crate::python::arguments::Arguments;
use crate::python::arrays::{List, ShapedNumbers, read, read_floats};
use crate::python::errors::{IntoPy, input_error};
use crate::skeleton::Skeleton;
use crate::{Mat3, Vec3};
use numpy::ndarray::ArrayD;
use numpy::{IntoPyArray, PyArrayDyn};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

fn hub_at(all: &ShapedNumbers, i: usize) -> Vec3 {
    Vec3::from_column_slice(&all.data[3 * i..3 * i + 3])
}

fn frame_at(all: &ShapedNumbers, i: usize) -> Mat3 {
    Mat3::from_row_slice(&all.data[9 * i..9 * i + 9])
}

pub(super) fn read_slab(
    hubs: &Bound<'_, PyAny>,
    radii: &Bound<'_, PyAny>,
    frames: &Bound<'_, PyAny>,
    angles: &Bound<'_, PyAny>,
    ends: Option<&Bound<'_, PyAny>>,
    lengths: Option<&Bound<'_, PyAny>>,
) -> PyResult<Figure> {
    let hubs = read_floats(hubs, "hubs", &[None, None, Some(3)])?;
    let (m, n) = (hubs.shape[0], hubs.shape[1]);
    let each = [Some(m), Some(n)];
    let radii = read_floats(radii, "radii", &each)?;
    let frames = read_floats(frames, "frames", &[Some(m), Some(n), Some(3), Some(3)])?;
    let angles = read_floats(angles, "angles", &each)?;
    let ends = ends.map(|x| read_floats(x, "ends", &each)).transpose()?;
    let lengths = lengths
        .map(|x| read_floats(x, "lengths", &[Some(m), Some(n), Some(2)]))
        .transpose()?;
    let atom = |i: usize| Atom {
        end: ends.as_ref().map_or(1.0, |e| e.data[i]),
        lengths: lengths
            .as_ref()
            .map_or(vec![1.0; 2], |l| l.data[2 * i..2 * i + 2].to_vec()),
        ..Atom::new(
            hub_at(&hubs, i),
            radii.data[i],
            frame_at(&frames, i),
            angles.data[i],
            2,
        )
    };
    Figure::slab(m, n, (0..m * n).map(atom).collect()).map_err(IntoPy::into_py)
}

/// Default number of spokes around a tube.
const DEFAULT_SPOKES: usize = 8;

/// Reads a tube from the arguments of a call: hubs, radii, frames and angles of its atoms, and optional arguments.
pub(super) fn read_tube<'py>(
    arguments: &Bound<'py, PyTuple>,
    keywords: Option<&Bound<'py, PyDict>>,
) -> PyResult<Figure> {
    const NAMES: [&str; 8] = [
        "hubs", "radii", "frames", "angles", "lengths", "ends", "knots", "joints",
    ];
    let given = Arguments::new("tube", &NAMES, arguments, keywords)?;
    let needed = |name| given.require(name, |object| Ok(object.clone()));
    let (hubs, radii) = (&needed("hubs")?, &needed("radii")?);
    let (frames, angles) = (&needed("frames")?, &needed("angles")?);
    let lengths = given.any("lengths")?;
    let ends: (f64, f64) = given.take("ends", |e| read(e))?.unwrap_or((1.0, 1.0));
    let knots = given.take("knots", |k| Ok(read_floats(k, "knots", &[None])?.data))?;
    let joints = given
        .take("joints", List::<f64>::from_object)?
        .unwrap_or_default()
        .0;
    given.finish()?;
    let hubs = read_floats(hubs, "hubs", &[None, Some(3)])?;
    let n = hubs.shape[0];
    let radii = read_floats(radii, "radii", &[Some(n)])?;
    let frames = read_floats(frames, "frames", &[Some(n), Some(3), Some(3)])?;
    let angles = read_floats(angles, "angles", &[Some(n)])?;
    let lengths = lengths
        .map(|x| read_floats(&x, "lengths", &[Some(n), None]))
        .transpose()?;
    let spokes = lengths.as_ref().map_or(DEFAULT_SPOKES, |l| l.shape[1]);
    let atom = |i: usize| Atom {
        end: if i == 0 {
            ends.0
        } else if i + 1 == n {
            ends.1
        } else {
            1.0
        },
        lengths: lengths.as_ref().map_or(vec![1.0; spokes], |l| {
            l.data[spokes * i..spokes * (i + 1)].to_vec()
        }),
        ..Atom::new(
            hub_at(&hubs, i),
            radii.data[i],
            frame_at(&frames, i),
            angles.data[i],
            spokes,
        )
    };
    Figure::tube_with_knots((0..n).map(atom).collect(), knots, joints).map_err(IntoPy::into_py)
}

/// Returns the indices of bones by their names.
pub(super) fn bone_indices(skeleton: &Skeleton, names: &[String]) -> PyResult<Vec<u32>> {
    let index = |name: &String| {
        let found = skeleton.names().iter().position(|n| n == name);
        found
            .map(|b| b as u32)
            .ok_or_else(|| input_error(format!("bones: there is no bone '{name}'")))
    };
    names.iter().map(index).collect()
}

/// Returns a value of each atom in an array shaped as the figure.
pub(super) fn atom_array<'py>(
    py: Python<'py>,
    figure: &Figure,
    each: &[usize],
    of: impl Fn(&Atom) -> Vec<f64>,
) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
    let mut shape = match figure.kind() {
        FigureKind::Slab { rows, cols } => vec![rows, cols],
        FigureKind::Tube { atoms, .. } => vec![atoms],
    };
    shape.extend(each);
    let data = figure.atoms().iter().flat_map(of).collect();
    let array = ArrayD::from_shape_vec(shape, data).map_err(|e| input_error(e.to_string()))?;
    Ok(array.into_pyarray(py))
}

/// Joins all figures of all models, under their names or others.
pub(super) fn join_models(mreps: &[&PyMRep], names: Option<Vec<String>>) -> PyResult<Model> {
    let all: Vec<&(String, Figure)> = mreps.iter().flat_map(|m| m.model.figures()).collect();
    if let Some(names) = &names
        && names.len() != all.len()
    {
        return Err(input_error(format!(
            "names: expected one for each of {} figures, got {}",
            all.len(),
            names.len()
        )));
    }
    let own = all
        .iter()
        .enumerate()
        .all(|(i, (a, _))| all[..i].iter().all(|(b, _)| a != b));
    let named = |(i, (name, figure)): (usize, &&(String, Figure))| {
        let name = match &names {
            Some(names) => names[i].clone(),
            None if own => name.clone(),
            None => format!("figure {}", i + 1),
        };
        (name, figure.clone())
    };
    Model::new(all.iter().enumerate().map(named).collect()).map_err(IntoPy::into_py)
}

/// Returns the lengths of the end spokes over the radius: of each atom of a slab, of both ends of a tube.
pub(super) fn ends<'py>(py: Python<'py>, figure: &Figure) -> PyResult<Bound<'py, PyAny>> {
    if let (FigureKind::Tube { atoms, .. }, all) = (figure.kind(), figure.atoms()) {
        let ends = vec![all[0].end, all[atoms - 1].end];
        return Ok(ends.into_pyarray(py).into_any());
    }
    Ok(atom_array(py, figure, &[], |a| vec![a.end])?.into_any())
}

/// Returns the constructor and the arrays that make the model again.
pub(super) fn pickle_parts<'py>(py: Python<'py>, model: &Model) -> PyResult<Bound<'py, PyTuple>> {
    let class = py.get_type::<PyMRep>();
    if let [(name, figure)] = model.figures()
        && name == "figure"
    {
        let mrep = PyMRep::from(figure.clone());
        let (hubs, radii, frames) = (mrep.hubs(py)?, mrep.radii(py)?, mrep.frames(py)?);
        let (angles, lengths, ends) = (mrep.angles(py)?, mrep.lengths(py)?, mrep.ends(py)?);
        return match figure.kind() {
            FigureKind::Slab { .. } => {
                let arguments = (hubs, radii, frames, angles, ends, lengths);
                (class.getattr("slab")?, arguments).into_pyobject(py)
            }
            FigureKind::Tube { .. } => {
                let ends: (f64, f64) = (ends.get_item(0)?.extract()?, ends.get_item(1)?.extract()?);
                let (knots, joints) = (mrep.knots(py)?, mrep.joints(py)?);
                let arguments = (hubs, radii, frames, angles, lengths, ends, knots, joints);
                (class.getattr("tube")?, arguments).into_pyobject(py)
            }
        };
    }
    let single = |(_, figure): &(String, Figure)| Py::new(py, PyMRep::from(figure.clone()));
    let figures = model
        .figures()
        .iter()
        .map(single)
        .collect::<PyResult<Vec<_>>>()?;
    let names: Vec<String> = model
        .figures()
        .iter()
        .map(|(name, _)| name.clone())
        .collect();
    (class.getattr("join")?, (figures, names)).into_pyobject(py)
}
