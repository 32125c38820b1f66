// SPDX-License-Identifier: MIT OR Apache-2.0
//! Arrays across the language boundary. Arguments may be anything that numpy can make an array of; results are new arrays.

use super::errors::{IntoPy, input_error};
use crate::range::{MAX_NUMBER, is_sound};
use crate::skeleton::{Affine, Pose, SkinWeights};
use crate::{Mat4, Vec3};
use numpy::ndarray::{Array1, Array2, Array3, Array4};
use numpy::{
    IntoPyArray, PyArray1, PyArray2, PyArray3, PyArray4, PyArrayDyn, PyArrayMethods,
    PyUntypedArrayMethods,
};
use pyo3::conversion::FromPyObjectOwned;
use pyo3::exceptions::{PyException, PyOverflowError, PyUnicodeError};
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyString};

/// Numbers and the shape of their array.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ShapedNumbers {
    pub data: Vec<f64>,
    pub shape: Vec<usize>,
}

/// Converts an object by numpy to an array, or fails with a sentence that names the argument. Ctrl-C comes through.
pub(super) fn as_array<'py>(object: &Bound<'py, PyAny>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    let py = object.py();
    PyModule::import(py, "numpy")?
        .call_method1("asarray", (object,))
        .map_err(|e| array_error(py, name, e))
}

/// Turns an error of numpy into a sentence that names the argument.
pub(super) fn array_error(py: Python<'_>, name: &str, error: PyErr) -> PyErr {
    if !error.is_instance_of::<PyException>(py) {
        return error;
    }
    input_error(format!(
        "{name}: not an array of numbers ({})",
        error.value(py)
    ))
}

/// Returns the kind of an array's numbers, as numpy's letter.
pub(super) fn kind_of(array: &Bound<'_, PyAny>) -> PyResult<String> {
    array.getattr("dtype")?.getattr("kind")?.extract()
}

/// Returns a contiguous array of a type, or fails with a sentence that names the argument.
pub(super) fn contiguous_array<'py, T: numpy::Element>(
    object: &Bound<'py, PyAny>,
    name: &str,
    dtype: &str,
) -> PyResult<Bound<'py, PyArrayDyn<T>>> {
    let py = object.py();
    let array = as_array(object, name)?;
    // Text and complex numbers would be converted with a loss, or by chance; rows of unequal length are objects.
    let kind = kind_of(&array)?;
    if !"biuf".contains(&kind) && array.getattr("size")?.extract::<usize>()? > 0 {
        let dtype = array.getattr("dtype")?;
        return Err(input_error(format!(
            "{name}: expected an array of numbers, got one of {dtype}"
        )));
    }
    let options = [("dtype", dtype), ("order", "C")].into_py_dict(py)?;
    let array = PyModule::import(py, "numpy")?
        .call_method("asarray", (array,), Some(&options))
        .map_err(|e| array_error(py, name, e))?;
    array
        .cast_into()
        .map_err(|_| input_error(format!("{name}: not an array of numbers")))
}

pub(super) fn describe_shape(shape: &[usize]) -> String {
    let sizes: Vec<String> = shape.iter().map(ToString::to_string).collect();
    format!(
        "({}{})",
        sizes.join(", "),
        if shape.len() == 1 { "," } else { "" }
    )
}

/// Reads floats of a shape; `None` in `wanted` is any size.
pub(super) fn read_floats(
    object: &Bound<'_, PyAny>,
    name: &str,
    wanted: &[Option<usize>],
) -> PyResult<ShapedNumbers> {
    fitting(numbers(object, name)?, name, wanted)
}

/// Reads floats of any shape.
pub(super) fn numbers(object: &Bound<'_, PyAny>, name: &str) -> PyResult<ShapedNumbers> {
    let array = contiguous_array::<f64>(object, name, "float64")?;
    let shape = array.shape().to_vec();
    let data = array.readonly().as_slice()?.to_vec();
    Ok(ShapedNumbers { data, shape })
}

/// Returns numbers if they are of a shape; `None` in `wanted` is any size.
pub(super) fn fitting(
    numbers: ShapedNumbers,
    name: &str,
    wanted: &[Option<usize>],
) -> PyResult<ShapedNumbers> {
    let shape = &numbers.shape;
    let fits = shape.len() == wanted.len()
        && shape
            .iter()
            .zip(wanted)
            .all(|(s, w)| w.is_none_or(|w| w == *s));
    if !fits {
        let want: Vec<String> = wanted
            .iter()
            .map(|w| w.map_or("any".into(), |w| w.to_string()))
            .collect();
        return Err(input_error(format!(
            "{name}: expected an array of shape ({}), got {}",
            want.join(", "),
            describe_shape(shape)
        )));
    }
    Ok(numbers)
}

/// Refuses NaN, infinity and numbers that are too large, by index.
pub(super) fn check_finite(numbers: &ShapedNumbers, name: &str) -> PyResult<()> {
    match numbers.data.iter().position(|x| !is_sound(*x)) {
        None => Ok(()),
        Some(at) => {
            let row: usize = numbers.shape.iter().skip(1).product::<usize>().max(1);
            Err(input_error(format!(
                "{name}[{}] has a value that is not a finite number, or larger than {MAX_NUMBER:e}",
                at / row
            )))
        }
    }
}

/// Reads points (n, 3).
pub(super) fn read_points(object: &Bound<'_, PyAny>, name: &str) -> PyResult<Vec<Vec3>> {
    let numbers = read_floats(object, name, &[None, Some(3)])?;
    Ok(numbers
        .data
        .chunks_exact(3)
        .map(|p| Vec3::new(p[0], p[1], p[2]))
        .collect())
}

/// Reads points (n, 3) that must be finite.
pub(super) fn read_finite_points(object: &Bound<'_, PyAny>, name: &str) -> PyResult<Vec<Vec3>> {
    let numbers = read_floats(object, name, &[None, Some(3)])?;
    check_finite(&numbers, name)?;
    Ok(numbers
        .data
        .chunks_exact(3)
        .map(|p| Vec3::new(p[0], p[1], p[2]))
        .collect())
}

/// Reads one vector (3,).
pub(super) fn read_vector(object: &Bound<'_, PyAny>, name: &str) -> PyResult<Vec3> {
    let numbers = read_floats(object, name, &[Some(3)])?;
    Ok(Vec3::new(numbers.data[0], numbers.data[1], numbers.data[2]))
}

/// Reads finite points, one per lattice vertex.
pub(super) fn read_nodal(
    object: &Bound<'_, PyAny>,
    name: &str,
    count: usize,
) -> PyResult<Vec<Vec3>> {
    let numbers = read_floats(object, name, &[Some(count), Some(3)])?;
    check_finite(&numbers, name)?;
    let vector = |p: &[f64]| Vec3::new(p[0], p[1], p[2]);
    Ok(numbers.data.chunks_exact(3).map(vector).collect())
}

/// Reads optional numbers (n,).
pub(super) fn read_optional_floats(
    object: Option<&Bound<'_, PyAny>>,
    name: &str,
) -> PyResult<Option<Vec<f64>>> {
    object
        .map(|o| Ok(read_floats(o, name, &[None])?.data))
        .transpose()
}

/// Reads whole numbers of any shape; floats are refused rather than cut.
pub(super) fn read_integers(
    object: &Bound<'_, PyAny>,
    name: &str,
) -> PyResult<(Vec<i64>, Vec<usize>)> {
    let array = as_array(object, name)?;
    let kind = kind_of(&array)?;
    let empty = array.getattr("size")?.extract::<usize>()? == 0;
    if !(kind == "i" || kind == "u" || empty) {
        return Err(input_error(format!(
            "{name}: expected whole numbers (indices)"
        )));
    }
    let array = contiguous_array::<i64>(&array, name, "int64")?;
    Ok((
        array.readonly().as_slice()?.to_vec(),
        array.shape().to_vec(),
    ))
}

/// A count or an index: a whole number that is not negative.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct WholeNumber(pub usize);

impl<'a, 'py> FromPyObject<'a, 'py> for WholeNumber {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        let refused = || {
            let shown = object.str().map(|s| s.to_string()).unwrap_or_default();
            input_error(format!(
                "expected a whole number that is not negative, got {shown}"
            ))
        };
        match object.extract::<i64>() {
            Ok(number) => usize::try_from(number).map(Self).map_err(|_| refused()),
            Err(e) if e.is_instance_of::<PyOverflowError>(object.py()) => Err(refused()),
            Err(e) => Err(e),
        }
    }
}

/// Reads an argument of any type. A number too large or text with half a character is refused like other unusable values; for another type
/// Python's own error is raised.
pub(super) fn read<'a, 'py, T: FromPyObject<'a, 'py>>(
    object: &'a Bound<'py, PyAny>,
) -> PyResult<T> {
    object
        .extract::<T>()
        .map_err(|e| clarify_error(object, e.into()))
}

/// Reads a number.
pub(super) fn real(object: &Bound<'_, PyAny>) -> PyResult<f64> {
    read(object)
}

/// Reads a number or None.
pub(super) fn optional_real(object: &Bound<'_, PyAny>) -> PyResult<Option<f64>> {
    read(object)
}

/// Reads a whole number of 64 bits.
pub(super) fn integer(object: &Bound<'_, PyAny>) -> PyResult<i64> {
    read(object)
}

/// Reads a whole number or None.
pub(super) fn optional_integer(object: &Bound<'_, PyAny>) -> PyResult<Option<i64>> {
    read(object)
}

/// Reads a text.
pub(super) fn text<'a>(object: &'a Bound<'_, PyAny>) -> PyResult<&'a str> {
    read(object)
}

/// Reads a text or None.
pub(super) fn optional_text<'a>(object: &'a Bound<'_, PyAny>) -> PyResult<Option<&'a str>> {
    read(object)
}

/// Replaces Python's error by a sentence if it speaks of internals: a number out of range, half a character.
fn clarify_error(object: &Bound<'_, PyAny>, error: PyErr) -> PyErr {
    /// Largest number of letters of a text that are shown.
    const MAX_QUOTED_LETTERS: usize = 60;
    let py = object.py();
    if error.is_instance_of::<PyOverflowError>(py) {
        return input_error("a number is too large to compute with");
    }
    if error.is_instance_of::<PyUnicodeError>(py) {
        let shown = object.repr().map(|r| r.to_string()).unwrap_or_default();
        let shown: String = shown.chars().take(MAX_QUOTED_LETTERS).collect();
        return input_error(format!(
            "{shown} has half a character in it (a lone surrogate), which no file and no name can hold: write it without"
        ));
    }
    error
}

/// A list: anything that can be iterated over. The length that it reports is not used, as it may be wrong.
pub(super) struct List<T>(pub Vec<T>);

impl<'py, T: FromPyObjectOwned<'py>> List<T> {
    /// Reads a list.
    pub fn from_object(object: &Bound<'py, PyAny>) -> PyResult<Self> {
        object.extract()
    }
}

impl<T> Default for List<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'a, 'py, T: FromPyObjectOwned<'py>> FromPyObject<'a, 'py> for List<T> {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        /// Longest list that is read; longer ones are most likely endless.
        const MAX_LIST_LENGTH: usize = 1 << 22;
        if object.is_instance_of::<PyString>() {
            return Err(input_error(format!(
                "expected a list, got the text {}",
                object.str()?
            )));
        }
        let mut items = Vec::new();
        for item in object.try_iter()? {
            if items.len() == MAX_LIST_LENGTH {
                return Err(input_error(format!(
                    "a list has more than {MAX_LIST_LENGTH} items"
                )));
            }
            items.push(read(&item?)?);
        }
        Ok(Self(items))
    }
}

/// Reads a count; the error names it.
pub(super) fn read_count(number: i64, name: &str) -> PyResult<usize> {
    usize::try_from(number).map_err(|_| {
        input_error(format!(
            "{name}: expected a whole number that is not negative, got {number}"
        ))
    })
}

impl WholeNumber {
    /// Returns it as an index; a number beyond 32 bits becomes one that is out of range.
    pub(super) fn to_index(self) -> u32 {
        u32::try_from(self.0).unwrap_or(u32::MAX)
    }
}

/// Reads triangles (t, 3). An index beyond 32 bits becomes one that is out of range.
pub(super) fn read_triangles(object: &Bound<'_, PyAny>, name: &str) -> PyResult<Vec<[u32; 3]>> {
    let (data, shape) = read_integers(object, name)?;
    if !(shape.len() == 2 && shape[1] == 3 || data.is_empty()) {
        return Err(input_error(format!(
            "{name}: expected an array of shape (any, 3), got {}",
            describe_shape(&shape)
        )));
    }
    if let Some(at) = data.iter().position(|&i| i < 0) {
        return Err(input_error(format!(
            "{name}[{}] has a negative index, {}",
            at / 3,
            data[at]
        )));
    }
    let index = |i: i64| u32::try_from(i).unwrap_or(u32::MAX);
    Ok(data
        .chunks_exact(3)
        .map(|t| [index(t[0]), index(t[1]), index(t[2])])
        .collect())
}

/// Reads skin weights (n, b).
pub(super) fn read_weights(
    object: &Bound<'_, PyAny>,
    name: &str,
    vertices: usize,
    bones: usize,
) -> PyResult<SkinWeights> {
    weights_in(numbers(object, name)?, name, vertices, bones)
}

/// Returns numbers (n, b) as skin weights.
pub(super) fn weights_in(
    numbers: ShapedNumbers,
    name: &str,
    vertices: usize,
    bones: usize,
) -> PyResult<SkinWeights> {
    let numbers = fitting(numbers, name, &[Some(vertices), Some(bones)])?;
    SkinWeights::from_dense(vertices, bones, &numbers.data).map_err(IntoPy::into_py)
}

fn read_matrices(data: &[f64]) -> PyResult<Pose> {
    let maps: Vec<Mat4> = data.chunks_exact(16).map(Mat4::from_row_slice).collect();
    Pose::from_matrices(&maps).map_err(IntoPy::into_py)
}

/// Reads a pose (b, 4, 4).
pub(super) fn read_pose(object: &Bound<'_, PyAny>) -> PyResult<Pose> {
    read_matrices(&read_floats(object, "pose", &[None, Some(4), Some(4)])?.data)
}

/// Reads poses (f, b, 4, 4).
pub(super) fn read_poses(object: &Bound<'_, PyAny>, bones: usize) -> PyResult<Vec<Pose>> {
    let n = read_floats(object, "poses", &[None, Some(bones), Some(4), Some(4)])?;
    n.data
        .chunks_exact((16 * bones).max(1))
        .enumerate()
        .map(|(frame, data)| {
            read_matrices(data).map_err(|e| {
                Python::attach(|py| input_error(format!("poses[{frame}]: {}", e.value(py))))
            })
        })
        .collect()
}

/// Returns points as a new array (n, 3).
pub(super) fn from_points<'py>(py: Python<'py>, points: &[Vec3]) -> Bound<'py, PyArray2<f64>> {
    Array2::from_shape_fn((points.len(), 3), |(i, k)| points[i][k]).into_pyarray(py)
}

/// Returns a pose as a new array (b, 4, 4).
pub(super) fn from_pose<'py>(py: Python<'py>, pose: &Pose) -> Bound<'py, PyArray3<f64>> {
    let matrices: Vec<Mat4> = pose.maps().iter().map(Affine::to_matrix).collect();
    Array3::from_shape_fn((matrices.len(), 4, 4), |(b, i, k)| matrices[b][(i, k)]).into_pyarray(py)
}

/// Returns poses of `bones` bones as a new array (f, b, 4, 4).
pub(super) fn from_poses<'py>(
    py: Python<'py>,
    poses: &[Pose],
    bones: usize,
) -> Bound<'py, PyArray4<f64>> {
    let maps = poses.iter().flat_map(|pose| pose.maps());
    let matrices: Vec<Mat4> = maps.map(Affine::to_matrix).collect();
    let at = |(f, b, i, k): (usize, usize, usize, usize)| matrices[f * bones + b][(i, k)];
    Array4::from_shape_fn((poses.len(), bones, 4, 4), at).into_pyarray(py)
}

/// Returns indices as a new array.
pub(super) fn from_indices<'py>(py: Python<'py>, v: &[u32]) -> Bound<'py, PyArray1<i32>> {
    Array1::from_iter(v.iter().map(|&i| i as i32)).into_pyarray(py)
}

/// Returns f32 positions as a new array (n, 3).
pub(super) fn from_f32(py: Python<'_>, data: Vec<f32>) -> PyResult<Bound<'_, PyArray2<f32>>> {
    let n = data.len() / 3;
    let array = Array2::from_shape_vec((n, 3), data).map_err(|e| input_error(e.to_string()))?;
    Ok(array.into_pyarray(py))
}

/// Returns frames, float32 (t, n, 3), that `write` fills, in numpy's own memory. Numpy requests large pages and reports a lack of memory.
pub(super) fn fill_frames<'py>(
    py: Python<'py>,
    (frames, nodes): (usize, usize),
    write: impl FnOnce(&mut [f32]) -> PyResult<()>,
) -> PyResult<Bound<'py, PyArray3<f32>>> {
    let numpy = PyModule::import(py, "numpy")?;
    let array = numpy.call_method1("zeros", ((frames, nodes, 3), "float32"))?;
    let array = array.cast_into::<PyArray3<f32>>()?;
    write(array.readwrite().as_slice_mut()?)?;
    Ok(array)
}

/// Returns f32 frames as a new array (f, n, 3).
pub(super) fn from_frames(
    py: Python<'_>,
    shape: (usize, usize),
    data: Vec<f32>,
) -> PyResult<Bound<'_, PyArray3<f32>>> {
    let array = Array3::from_shape_vec((shape.0, shape.1, 3), data)
        .map_err(|e| input_error(e.to_string()))?;
    Ok(array.into_pyarray(py))
}
