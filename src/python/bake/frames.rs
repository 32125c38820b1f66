// SPDX-License-Identifier: MIT OR Apache-2.0
//! Frames of one clip, or of several, as arguments and results.
//!
//! One array is one clip; a list of arrays is a list of clips; a dictionary has them by name. Results have the form of the argument:
//! one item, a list, or a dictionary.

use crate::bake::{BakeError, VertexFrames, VertexMaps};
use crate::python::arrays::{
    as_array, contiguous_array, describe_shape, numbers, text, weights_in,
};
use crate::python::errors::{IntoPy, input_error};
use crate::skeleton::SkinWeights;
use numpy::{PyArrayDyn, PyArrayMethods, PyReadonlyArrayDyn, PyUntypedArrayMethods};
use pyo3::PyTypeInfo;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};

/// Arrays of one clip or of several, borrowed from numpy.
pub(super) struct ClipArrays<'py> {
    arrays: Vec<PyReadonlyArrayDyn<'py, f32>>,
    /// Shapes of the arrays, which `wanted` fixes but for the number of frames.
    shapes: Vec<Vec<usize>>,
    /// Names of the arrays in errors.
    labels: Vec<String>,
    form: Form,
}

/// Form in which clips came.
enum Form {
    One,
    List,
    Named(Vec<String>),
}

/// Reads the names of a dictionary of clips.
fn read_names(named: &Bound<'_, PyDict>, what: &str) -> PyResult<Vec<String>> {
    let names = named.keys().iter().map(|name| match text(&name) {
        Ok(name) => Ok(name.to_owned()),
        Err(_) => Err(input_error(format!(
            "{what}: the name {name} of a clip must be a text that files can hold"
        ))),
    });
    names.collect()
}

impl<'py> ClipArrays<'py> {
    /// Reads one array, or a list or dictionary of arrays, of `wanted.len()` dimensions; `None` in `wanted` is any size.
    pub(super) fn read(
        object: &Bound<'py, PyAny>,
        name: &str,
        wanted: &[Option<usize>],
    ) -> PyResult<Self> {
        let (form, object) = match object.cast::<PyDict>() {
            Ok(named) => {
                let list = PyList::new(object.py(), named.values())?;
                (Form::Named(read_names(named, name)?), list.into_any())
            }
            Err(_) if is_list_of_clips(object, wanted.len())? => (Form::List, object.clone()),
            Err(_) => (Form::One, object.clone()),
        };
        let items: Vec<(String, Bound<'py, PyAny>)> = match &form {
            Form::One => vec![(name.into(), object)],
            _ => {
                let label = |i: usize| match &form {
                    Form::Named(names) => format!("{name}[{:?}]", names[i]),
                    _ => format!("{name}[{i}]"),
                };
                let items = object.try_iter()?.enumerate();
                items
                    .map(|(i, item)| Ok((label(i), item?)))
                    .collect::<PyResult<_>>()?
            }
        };
        let (mut arrays, mut shapes, mut labels) = (Vec::new(), Vec::new(), Vec::new());
        for (name, item) in items {
            let array: Bound<'py, PyArrayDyn<f32>> = contiguous_array(&item, &name, "float32")?;
            let shape = array.shape().to_vec();
            let fits = shape.len() == wanted.len()
                && shape
                    .iter()
                    .zip(wanted)
                    .all(|(s, w)| w.is_none_or(|w| w == *s));
            if !fits {
                let sizes = wanted
                    .iter()
                    .map(|w| w.map_or("any".into(), |w| w.to_string()));
                return Err(input_error(format!(
                    "{name}: expected an array of shape ({}), got {}",
                    sizes.collect::<Vec<_>>().join(", "),
                    describe_shape(&shape)
                )));
            }
            arrays.push(array.readonly());
            shapes.push(shape);
            labels.push(name);
        }
        Ok(Self {
            arrays,
            shapes,
            labels,
            form,
        })
    }

    /// Reads what belongs to the clips of `frames`, in one of the forms of [`read`](Self::read); a dictionary by their names, in any
    /// order.
    pub(super) fn read_beside(
        object: &Bound<'py, PyAny>,
        name: &str,
        wanted: &[Option<usize>],
        frames: &Self,
    ) -> PyResult<Self> {
        let Ok(named) = object.cast::<PyDict>() else {
            return Self::read(object, name, wanted);
        };
        let Form::Named(names) = &frames.form else {
            return Err(input_error(format!(
                "{name}: a dictionary goes with clips by name; give those as a dictionary too, or both as lists"
            )));
        };
        let of_clip = |clip: &String| match named.get_item(clip)? {
            Some(values) => Ok(values),
            None => Err(input_error(format!(
                "{name}: there is none of the clip “{clip}”; give that of each clip"
            ))),
        };
        let items = names.iter().map(of_clip).collect::<PyResult<Vec<_>>>()?;
        if named.len() != names.len() {
            return Err(input_error(format!(
                "{name}: it has {} clips, and there are {}; give that of the clips alone",
                named.len(),
                names.len()
            )));
        }
        let list = PyList::new(object.py(), items)?;
        Self::read(list.as_any(), name, wanted)
    }

    /// Returns the names of the clips; those without are clip0, clip1 and so on.
    pub(super) fn names(&self) -> Vec<String> {
        match &self.form {
            Form::Named(names) => names.clone(),
            _ => (0..self.arrays.len()).map(|i| format!("clip{i}")).collect(),
        }
    }

    /// Borrows the numbers of each clip.
    pub(super) fn slices(&self) -> PyResult<Vec<&[f32]>> {
        let slices = self.arrays.iter().map(|array| array.as_slice());
        Ok(slices.collect::<Result<_, _>>()?)
    }

    /// Returns the size of a dimension, the same for all clips; 0 without clips.
    pub(super) fn size(&self, dimension: usize) -> PyResult<usize> {
        let size = self.shapes.first().map_or(0, |shape| shape[dimension]);
        match self
            .shapes
            .iter()
            .position(|shape| shape[dimension] != size)
        {
            None => Ok(size),
            Some(other) => Err(input_error(format!(
                "{} has {} where {} has {size}: clips must be of one mesh",
                self.labels[other], self.shapes[other][dimension], self.labels[0]
            ))),
        }
    }

    /// Returns items of the clips in the form of the argument: one item, a list, or a dictionary.
    pub(super) fn like_argument<T: PyTypeInfo>(
        &self,
        py: Python<'py>,
        items: Vec<Bound<'py, T>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        match &self.form {
            Form::One if items.len() == 1 => Ok(items[0].clone().into_any()),
            Form::Named(names) => {
                let named = PyDict::new(py);
                for (name, item) in names.iter().zip(items) {
                    named.set_item(name, item)?;
                }
                Ok(named.into_any())
            }
            _ => Ok(PyList::new(py, items)?.into_any()),
        }
    }
}

/// Returns whether an argument is a list of clips, whose items have as many dimensions as one clip.
fn is_list_of_clips(object: &Bound<'_, PyAny>, dimensions: usize) -> PyResult<bool> {
    if !(object.is_instance_of::<PyList>() || object.is_instance_of::<PyTuple>()) {
        return Ok(false);
    }
    match object.get_item(0) {
        Err(_) => Ok(true), // no clips
        Ok(first) => Ok(as_array(&first, "clip")?
            .getattr("ndim")?
            .extract::<usize>()?
            == dimensions),
    }
}

/// Reads `frames[f,n,3]`, or a list or dictionary of them.
pub(super) fn read_frames<'py>(object: &Bound<'py, PyAny>) -> PyResult<ClipArrays<'py>> {
    ClipArrays::read(object, "frames", &[None, None, Some(3)])
}

/// Borrows the vertices of clips that [`read_frames`] has read.
pub(super) fn vertex_frames<'a>(arrays: &'a ClipArrays<'_>) -> PyResult<VertexFrames<'a>> {
    let slices = arrays.slices()?;
    if slices.is_empty() {
        return Err(BakeError::Empty.into_py());
    }
    VertexFrames::new(slices, arrays.size(1)?).map_err(IntoPy::into_py)
}

/// Reads positions `[n,3]` of a mesh in single precision.
pub(super) fn read_single_points<'py>(
    object: &Bound<'py, PyAny>,
    name: &str,
) -> PyResult<Bound<'py, PyArrayDyn<f32>>> {
    let points: Bound<'_, PyArrayDyn<f32>> = contiguous_array(object, name, "float32")?;
    match *points.shape() {
        [_, 3] => Ok(points),
        ref shape => Err(input_error(format!(
            "{name}: expected an array of shape (any, 3), got {}",
            describe_shape(shape)
        ))),
    }
}

/// Reads `skin_weights[n,b]` for the vertices of frames and the bones of poses.
pub(super) fn read_skin_weights(
    object: &Bound<'_, PyAny>,
    (vertices, bones): (usize, usize),
) -> PyResult<SkinWeights> {
    let weights = numbers(object, "skin_weights")?;
    if let [rows, columns] = weights.shape[..] {
        for (given, expected, what, other) in [
            (rows, vertices, "vertices", "the frames have"),
            (columns, bones, "bones", "the poses have"),
        ] {
            if given != expected {
                return Err(input_error(format!(
                    "skin_weights has {given} {what}, and {other} {expected}: give weights [n,b] of n vertices and b bones"
                )));
            }
        }
    }
    weights_in(weights, "skin_weights", vertices, bones)
}

/// Reads `poses[f,b,4,4]`, or a list or dictionary of them, of the clips of frames.
pub(super) fn read_poses<'py>(
    object: &Bound<'py, PyAny>,
    clips: &ClipArrays<'py>,
) -> PyResult<ClipArrays<'py>> {
    ClipArrays::read_beside(object, "poses", &[None, None, Some(4), Some(4)], clips)
}

/// The maps of vertices, as they were given.
pub(super) enum MapArguments<'py> {
    Identity,
    Matrices(ClipArrays<'py>),
    Skinned(ClipArrays<'py>, SkinWeights),
}

impl<'py> MapArguments<'py> {
    /// Reads `matrices[f,n,3,3]`, `[f,n,3,4]` or `[f,n,4,4]`, a list or dictionary of them, or a tuple `(poses, skin_weights[n,b])` with
    /// poses `[f,b,4,4]`, a list or dictionary of them. `clips`, of `vertices`: the frames.
    pub(super) fn read(
        given: Option<&Bound<'py, PyAny>>,
        clips: &ClipArrays<'py>,
        vertices: usize,
    ) -> PyResult<Self> {
        let Some(given) = given else {
            return Ok(Self::Identity);
        };
        if let Ok(pair) = given.cast::<PyTuple>()
            && pair.len() == 2
        {
            let poses = read_poses(&pair.get_item(0)?, clips)?;
            let sizes = (vertices, poses.size(1)?);
            let weights = read_skin_weights(&pair.get_item(1)?, sizes)?;
            return Ok(Self::Skinned(poses, weights));
        }
        let matrices = ClipArrays::read_beside(given, "matrices", &[None; 4], clips)?;
        let count = matrices.size(1)?;
        if count != vertices && !matrices.shapes.is_empty() {
            return Err(input_error(format!(
                "matrices: there are {count} in a frame, and the frames have {vertices} vertices: give one for each vertex, or for \
                 poses of bones the pair (poses, skin_weights)"
            )));
        }
        Ok(Self::Matrices(matrices))
    }

    /// Borrows the maps for `frames`.
    pub(super) fn maps<'a>(&'a self, frames: &VertexFrames) -> PyResult<VertexMaps<'a>> {
        let maps = match self {
            Self::Identity => Ok(VertexMaps::Identity),
            Self::Matrices(arrays) => {
                let sizes = (arrays.size(2)?, arrays.size(3)?);
                if !matches!(sizes, (3, 3 | 4) | (4, 4)) {
                    return Err(input_error(format!(
                        "matrices: expected the last two sizes (3, 3), (3, 4) or (4, 4), got {sizes:?}"
                    )));
                }
                VertexMaps::from_matrices(arrays.slices()?, sizes, frames)
            }
            Self::Skinned(poses, weights) => {
                VertexMaps::from_poses(poses.slices()?, weights.clone(), frames)
            }
        };
        maps.map_err(IntoPy::into_py)
    }
}
