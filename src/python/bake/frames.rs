// SPDX-License-Identifier: MIT OR Apache-2.0
//! Frames of one clip, or of several, as arguments and results.
//!
//! One array is one clip; a list of arrays is a list of clips. Results have the form of the argument: one item, or a list.

use crate::bake::{BakeError, VertexFrames, VertexMaps};
use crate::python::arrays::{as_array, contiguous_array, describe_shape, read_weights};
use crate::python::errors::{IntoPy, input_error};
use crate::skeleton::SkinWeights;
use numpy::{PyArrayDyn, PyArrayMethods, PyReadonlyArrayDyn, PyUntypedArrayMethods};
use pyo3::PyTypeInfo;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

/// Arrays of one clip or of several, borrowed from numpy.
pub(super) struct ClipArrays<'py> {
    arrays: Vec<PyReadonlyArrayDyn<'py, f32>>,
    /// Shapes of the arrays, which `wanted` fixes but for the number of frames.
    shapes: Vec<Vec<usize>>,
    /// Whether they came as a list.
    listed: bool,
}

impl<'py> ClipArrays<'py> {
    /// Reads one array or a list of arrays of `wanted.len()` dimensions; `None` in `wanted` is any size.
    pub(super) fn read(
        object: &Bound<'py, PyAny>,
        name: &str,
        wanted: &[Option<usize>],
    ) -> PyResult<Self> {
        let listed = is_list_of_clips(object, wanted.len())?;
        let items: Vec<(String, Bound<'py, PyAny>)> = match listed {
            false => vec![(name.into(), object.clone())],
            true => object
                .try_iter()?
                .enumerate()
                .map(|(i, item)| Ok((format!("{name}[{i}]"), item?)))
                .collect::<PyResult<_>>()?,
        };
        let (mut arrays, mut shapes) = (Vec::new(), Vec::new());
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
        }
        Ok(Self {
            arrays,
            shapes,
            listed,
        })
    }

    /// Borrows the numbers of each clip.
    pub(super) fn slices(&self) -> PyResult<Vec<&[f32]>> {
        let slices = self.arrays.iter().map(|array| array.as_slice());
        Ok(slices.collect::<Result<_, _>>()?)
    }

    /// Returns the size of a dimension, the same for all clips; 0 without clips.
    pub(super) fn size(&self, name: &str, dimension: usize) -> PyResult<usize> {
        let size = self.shapes.first().map_or(0, |shape| shape[dimension]);
        match self
            .shapes
            .iter()
            .position(|shape| shape[dimension] != size)
        {
            None => Ok(size),
            Some(other) => Err(input_error(format!(
                "{name}[{other}] has {} where {name}[0] has {size}: clips must be of one mesh",
                self.shapes[other][dimension]
            ))),
        }
    }

    /// Returns items of the clips in the form of the argument: one item, or a list.
    pub(super) fn like_argument<T: PyTypeInfo>(
        &self,
        py: Python<'py>,
        items: Vec<Bound<'py, T>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        match (self.listed, <[_; 1]>::try_from(items)) {
            (false, Ok([one])) => Ok(one.into_any()),
            (_, Ok([one])) => Ok(PyList::new(py, [one])?.into_any()),
            (_, Err(items)) => Ok(PyList::new(py, items)?.into_any()),
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

/// Reads `frames[f,n,3]`, or a list of them.
pub(super) fn read_frames<'py>(object: &Bound<'py, PyAny>) -> PyResult<ClipArrays<'py>> {
    ClipArrays::read(object, "frames", &[None, None, Some(3)])
}

/// Borrows the vertices of clips that [`read_frames`] has read.
pub(super) fn vertex_frames<'a>(arrays: &'a ClipArrays<'_>) -> PyResult<VertexFrames<'a>> {
    let slices = arrays.slices()?;
    if slices.is_empty() {
        return Err(BakeError::Empty.into_py());
    }
    VertexFrames::new(slices, arrays.size("frames", 1)?).map_err(IntoPy::into_py)
}

/// The maps of vertices, as they were given.
pub(super) enum MapArguments<'py> {
    Identity,
    Matrices(ClipArrays<'py>),
    Skinned(ClipArrays<'py>, SkinWeights),
}

impl<'py> MapArguments<'py> {
    /// Reads `matrices[f,n,3,3]`, `[f,n,3,4]` or `[f,n,4,4]`, a list of them, or a tuple `(poses[f,b,4,4], skin_weights[n,b])`.
    pub(super) fn read(given: Option<&Bound<'py, PyAny>>, vertices: usize) -> PyResult<Self> {
        let Some(given) = given else {
            return Ok(Self::Identity);
        };
        match given.cast::<PyTuple>() {
            Ok(pair) if pair.len() == 2 => {
                Self::read_skinned(&pair.get_item(0)?, &pair.get_item(1)?, vertices)
            }
            _ => Ok(Self::Matrices(ClipArrays::read(
                given, "matrices", &[None; 4],
            )?)),
        }
    }

    /// Reads `poses[f,b,4,4]`, or a list of them, and `skin_weights[n,b]`.
    pub(super) fn read_skinned(
        poses: &Bound<'py, PyAny>,
        skin_weights: &Bound<'py, PyAny>,
        vertices: usize,
    ) -> PyResult<Self> {
        let poses = ClipArrays::read(poses, "poses", &[None, None, Some(4), Some(4)])?;
        let bones = poses.size("poses", 1)?;
        let weights = read_weights(skin_weights, "skin_weights", vertices, bones)?;
        Ok(Self::Skinned(poses, weights))
    }

    /// Borrows the maps for `frames`.
    pub(super) fn maps<'a>(&'a self, frames: &VertexFrames) -> PyResult<VertexMaps<'a>> {
        let maps = match self {
            Self::Identity => Ok(VertexMaps::Identity),
            Self::Matrices(arrays) => {
                let sizes = (arrays.size("matrices", 2)?, arrays.size("matrices", 3)?);
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
