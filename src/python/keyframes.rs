// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bindings of `thew.SpacetimeSettings`: velocities, masks, shapes, choices.

use super::arrays::{
    ShapedNumbers, WholeNumber, as_array, check_finite, fitting, from_points, kind_of, numbers,
    read_finite_points, read_floats, read_integers, text,
};
use super::errors::input_error;
use super::settings::{Setting, settings_class};
use crate::Vec3;
use crate::spacetime::{
    Ghosts, RestShape, RigidMotion, SpaceSettings, SpacetimeSettings, Velocity,
};
use numpy::ToPyArray;
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};
use std::collections::BTreeMap;

settings_class! {
    /// Settings of a motion through keyframes, which never change: SpacetimeSettings(stiffness=40.0, cyclic=True, ...). Each is a keyword here and
    /// a property.
    ///
    /// `Spacetime` takes them as `settings`, or as keywords of its own. A keyword beside `settings` replaces that setting. Settings are equal by
    /// their values. The numbers of vertices are checked with the body. Raises InputError, TypeError for an unknown name.
    pub struct PySpacetimeSettings = "SpacetimeSettings" of "a motion" {
        /// Factor of the elastic energy.
        stiffness: f64 = 1.0;
        /// Damping (alpha 1/s, beta s), of mass and stiffness.
        damping: (f64, f64) = (0.0, 0.0);
        /// A constant acceleration, m/s².
        gravity: (f64, f64, f64) = (0.0, 0.0, 0.0);
        /// Number of lowest modes of each keyframe, beyond the rigid ones.
        modes: WholeNumber = WholeNumber(10);
        /// Velocity at the first keyframe, float64 [3] or [n,3], given as a number too. None: a natural end, at which no force acts.
        start_velocity: Option<Pace> = None;
        /// Velocity at the last keyframe, float64 [3] or [n,3], as `start_velocity`.
        end_velocity: Option<Pace> = None;
        /// Velocities at keyframes, {keyframe: velocity}, each float64 [3] or [n,3] or given as a number; or {keyframe: (before, behind)} for a cut,
        /// None in place of one that is free.
        velocities: Option<Paces> = None;
        /// Vertices that stay, a mask [n] or numbers [k].
        fixed: Option<Fixed> = None;
        /// True if the last keyframe is the first again.
        cyclic: bool = false;
        /// Further shapes to linearise around and to be drawn to, "auto" or [(time, shape)].
        ghosts: Ghosts = Ghosts::None;
        /// True if the best rigid motion is taken out first, else False. "auto": if nothing is fixed. Its rotation is a minimiser about one axis
        /// alone, and puts no centrifugal and no Coriolis forces on what deforms.
        rigid: RigidMotion = RigidMotion::Auto;
        /// Rest, where forces vanish: the "body"'s own (keyframes are strains) or the "keyframes" (poses).
        rest: RestShape = RestShape::Body;
        /// Length of the unit of a TetMesh or Body, of keyframes, velocities and gravity, m. A Shell has a `unit` of its own. None: 1.
        unit: Option<f64> = None;
    }
}

impl PySpacetimeSettings {
    /// Returns the settings of a motion of `nodes` vertices through keyframes up to number `last`.
    pub fn of_motion(
        self,
        nodes: usize,
        last: usize,
    ) -> PyResult<(SpacetimeSettings, SpaceSettings)> {
        let mut velocities = BTreeMap::new();
        for (key, given) in [(0, self.start_velocity), (last, self.end_velocity)] {
            if let (Some(given), false) = (given, self.cyclic) {
                velocities.insert(key, Velocity::Given(given.each(nodes)));
            }
        }
        if let Some(given) = self.velocities {
            given.add_to(&mut velocities, nodes);
        }
        let settings = SpacetimeSettings {
            stiffness: self.stiffness,
            damping: self.damping,
            gravity: Vec3::new(self.gravity.0, self.gravity.1, self.gravity.2),
            velocities,
        };
        let fixed = self.fixed.map_or(Ok(Vec::new()), |f| f.read_mask(nodes))?;
        let space = SpaceSettings {
            modes: self.modes.0,
            fixed,
            cyclic: self.cyclic,
            ghosts: self.ghosts,
            rigid: self.rigid,
            rests: self.rest,
            ..SpaceSettings::default()
        };
        Ok((settings, space))
    }
}

/// A velocity, equal for all vertices or each with its own.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Pace {
    Even(Vec3),
    Each(Vec<Vec3>),
}

impl Pace {
    /// Returns one velocity per vertex of `nodes`, or the velocities as read, whatever their number.
    pub fn each(self, nodes: usize) -> Vec<Vec3> {
        match self {
            Self::Even(velocity) => vec![velocity; nodes],
            Self::Each(velocities) => velocities,
        }
    }
}

impl Setting for Pace {
    /// Reads velocities given as a number, [3] or [n,3].
    fn read(object: &Bound<'_, PyAny>, name: &str) -> PyResult<Self> {
        if object.len().is_err()
            && let Ok(number) = object.extract::<f64>()
        {
            return Ok(Self::Even(Vec3::repeat(number)));
        }
        if let Ok(one) = read_floats(object, name, &[Some(3)]) {
            check_finite(&one, name)?;
            return Ok(Self::Even(Vec3::new(one.data[0], one.data[1], one.data[2])));
        }
        read_finite_points(object, name).map(Self::Each)
    }

    fn object(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        match self {
            Self::Even(velocity) => velocity.as_slice().to_pyarray(py).into_py_any(py),
            Self::Each(velocities) => from_points(py, velocities).into_py_any(py),
        }
    }
}

/// Velocities prescribed at a keyframe.
#[derive(Debug, Clone, PartialEq)]
enum KeyPace {
    Free,
    Given(Pace),
    Cut(Option<Pace>, Option<Pace>),
}

/// Velocities by keyframe.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Paces(BTreeMap<usize, KeyPace>);

impl Paces {
    /// Adds the velocities, one vector per vertex.
    pub fn add_to(self, velocities: &mut BTreeMap<usize, Velocity>, nodes: usize) {
        let each = |pace: Pace| pace.each(nodes);
        velocities.extend(self.0.into_iter().map(|(key, pace)| match pace {
            KeyPace::Free => (key, Velocity::Free),
            KeyPace::Given(one) => (key, Velocity::Given(each(one))),
            KeyPace::Cut(before, behind) => {
                (key, Velocity::Cut(before.map(each), behind.map(each)))
            }
        }));
    }
}

impl Setting for Paces {
    /// Reads {keyframe: velocity | (before, behind) | None}.
    fn read(object: &Bound<'_, PyAny>, _name: &str) -> PyResult<Self> {
        let Ok(given) = object.cast::<PyDict>() else {
            return Err(input_error(
                "velocities: expected a dictionary {keyframe: velocity}",
            ));
        };
        let mut all = BTreeMap::new();
        for (key, value) in given.iter() {
            let key = key.extract::<WholeNumber>()?.0;
            let name = format!("velocities[{key}]");
            let pace = if value.is_none() {
                KeyPace::Free
            } else if let Ok(pair) = value.cast::<PyTuple>().map(|p| (p.len(), p)) {
                match pair {
                    (2, pair) => KeyPace::Cut(
                        Setting::read(&pair.get_item(0)?, &name)?,
                        Setting::read(&pair.get_item(1)?, &name)?,
                    ),
                    (3, _) => KeyPace::Given(Setting::read(&value, &name)?),
                    _ => {
                        return Err(input_error(format!(
                            "{name}: expected a velocity or a pair (before, behind)"
                        )));
                    }
                }
            } else {
                KeyPace::Given(Setting::read(&value, &name)?)
            };
            all.insert(key, pace);
        }
        Ok(Self(all))
    }

    fn object(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let dict = PyDict::new(py);
        for (key, pace) in &self.0 {
            let value = match pace {
                KeyPace::Free => py.None(),
                KeyPace::Given(one) => one.object(py)?,
                KeyPace::Cut(before, behind) => {
                    (before.object(py)?, behind.object(py)?).into_py_any(py)?
                }
            };
            dict.set_item(key, value)?;
        }
        dict.into_py_any(py)
    }
}

/// Vertices that stay: a mask or numbers.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Fixed {
    Mask(ShapedNumbers),
    Vertices(Vec<i64>),
}

impl Fixed {
    fn read_mask(self, nodes: usize) -> PyResult<Vec<bool>> {
        let vertices = match self {
            Self::Vertices(vertices) => vertices,
            Self::Mask(mask) => {
                let mask = fitting(mask, "fixed", &[Some(nodes)])?;
                return Ok(mask.data.iter().map(|&x| x != 0.0).collect());
            }
        };
        let mut mask = vec![false; nodes];
        for v in vertices {
            let place = usize::try_from(v).ok().and_then(|v| mask.get_mut(v));
            *place.ok_or_else(|| {
                input_error(format!(
                    "fixed: there is no vertex {v}; there are {nodes} vertices"
                ))
            })? = true;
        }
        Ok(mask)
    }
}

impl Setting for Fixed {
    fn read(object: &Bound<'_, PyAny>, name: &str) -> PyResult<Self> {
        let object = &as_array(object, name)?;
        match kind_of(object)? == "b" {
            true => numbers(object, name).map(Self::Mask),
            false => Ok(Self::Vertices(read_integers(object, name)?.0)),
        }
    }

    fn object(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        match self {
            Self::Mask(mask) => mask.object(py)?.call_method1(py, "astype", ("bool",)),
            Self::Vertices(vertices) => vertices.to_pyarray(py).into_py_any(py),
        }
    }
}

pub(super) fn read_frames(object: &Bound<'_, PyAny>, name: &str) -> PyResult<Vec<Vec<Vec3>>> {
    let numbers = read_floats(object, name, &[None, None, Some(3)])?;
    let shape = |data: &[f64]| {
        data.chunks_exact(3)
            .map(|p| Vec3::new(p[0], p[1], p[2]))
            .collect()
    };
    let size = 3 * numbers.shape[1];
    if size == 0 {
        return Ok(vec![Vec::new(); numbers.shape[0]]);
    }
    Ok(numbers.data.chunks_exact(size).map(shape).collect())
}

impl Setting for RestShape {
    fn read(value: &Bound<'_, PyAny>, _name: &str) -> PyResult<Self> {
        match text(value)? {
            "body" => Ok(Self::Body),
            "keyframes" => Ok(Self::Keyframes),
            other => Err(input_error(format!(
                "rest: expected \"body\" or \"keyframes\", not '{other}'"
            ))),
        }
    }

    fn object(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        match self {
            Self::Body => "body".into_py_any(py),
            Self::Keyframes => "keyframes".into_py_any(py),
        }
    }
}

impl Setting for Ghosts {
    fn read(object: &Bound<'_, PyAny>, _name: &str) -> PyResult<Self> {
        if object.is_none() {
            return Ok(Self::None);
        }
        if let Ok(name) = object.cast::<PyString>() {
            return match text(name)? {
                "auto" => Ok(Self::Auto),
                other => Err(input_error(format!(
                    "ghosts: expected \"auto\" or a list of (time, shape), not '{other}'"
                ))),
            };
        }
        let mut all = Vec::new();
        for (number, item) in object.try_iter()?.enumerate() {
            let (time, shape): (f64, Bound<'_, PyAny>) = item?.extract().map_err(|_: PyErr| {
                input_error(format!("ghosts[{number}]: expected a pair (time, shape)"))
            })?;
            all.push((
                time,
                read_finite_points(&shape, &format!("ghosts[{number}]"))?,
            ));
        }
        Ok(Self::Given(all))
    }

    fn object(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        match self {
            Self::None => Ok(py.None()),
            Self::Auto => "auto".into_py_any(py),
            Self::Given(all) => {
                let each = all.iter();
                let each = each.map(|(time, shape)| (*time, from_points(py, shape)));
                each.collect::<Vec<_>>().into_py_any(py)
            }
        }
    }
}

impl Setting for RigidMotion {
    /// Reads "auto", True or False; None is "auto".
    fn read(object: &Bound<'_, PyAny>, _name: &str) -> PyResult<Self> {
        if object.is_none() {
            return Ok(Self::Auto);
        }
        if let Ok(removed) = object.extract::<bool>() {
            return Ok(if removed { Self::Removed } else { Self::Kept });
        }
        match object.extract::<String>().as_deref() {
            Ok("auto") => Ok(Self::Auto),
            _ => Err(input_error("rigid: expected \"auto\", True or False")),
        }
    }

    fn object(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        match self {
            Self::Auto => "auto".into_py_any(py),
            Self::Removed => true.into_py_any(py),
            Self::Kept => false.into_py_any(py),
        }
    }
}
