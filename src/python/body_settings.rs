// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bindings of `thew.BodySettings`.

use super::arguments::Arguments;
use super::arrays::{ShapedNumbers, text, weights_in};
use super::errors::{IntoPy, input_error};
use super::progress::with_progress;
use super::settings::{Setting, settings_class};
use super::twist::Twists;
use crate::body::{Body, BodyError, BodySettings, CharacterKind};
use crate::dynamics::soft_body;
use crate::progress::Progress;
use crate::skeleton::Skeleton;
use crate::surface::Surface;
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::sync::Arc;

settings_class! {
    /// Settings of a body, which never change: BodySettings(softness=0.5, kind="toon", ...). Each is a keyword here and a property.
    ///
    /// `Body` takes them as `settings`, or as keywords of its own. A keyword beside `settings` replaces that setting. Settings are equal by their
    /// values. The lengths of arrays are checked with the body. Raises InputError, TypeError for an unknown name.
    pub struct PyBodySettings = "BodySettings" of "a body" {
        /// Bones whose frames each piece of flesh follows, painted on the surface, float64 [n,b]. None: by distance.
        region_weights: Option<ShapedNumbers> = None;
        /// Factors on Young's modulus painted on surface vertices, float64 [n]. None: 1.
        stiffness: Option<Vec<f64>> = None;
        /// Factors on the density painted on surface vertices, float64 [n]. None: 1.
        density: Option<Vec<f64>> = None;
        /// Factors on Poisson's ratio painted on surface vertices, float64 [n]. None: 1.
        poisson: Option<Vec<f64>> = None;
        /// Twist of single bones: {name: {"radius": m, "strength": factor}}, or a list of such or None, one per bone. Flesh within the radius turns
        /// with the bone. None as the radius: half the bone's distance to the skin. Strength is a factor on the default stiffness E/r², paint
        /// included; 0 is off. Bones that are not listed have the default, strength 1 [capell2002, §4.6].
        twist: Twists = Twists::default();
        /// True if the modelled shape already sags.
        rest_includes_gravity: bool = true;
        /// Subdivisions for the integrals, 0 to 3; at least `basis_levels` are made.
        level: usize = 1;
        /// Levels of details beyond the lattice's vertices, 0 to 3, in which flesh deforms too. Each has about eight times as many as the one
        /// before.
        basis_levels: usize = 0;
        /// Flesh painted on surface vertices, float64 [n], from 0, the skin as it is, to 1, as soft as it gets. None: by the body's anatomy if there
        /// are `region_weights`; without them flesh is the same everywhere.
        flesh: Option<Vec<f64>> = None;
        /// A dial, 0 to 1, that overrules the material's `young`. It acts as `with_softness` of the same body unpainted, so that paint on one place
        /// leaves all others as they are. None: the material's own.
        softness: Option<f64> = None;
        /// Kind of character, "automatic", "human", "animal", "toon", "insect" or "robot". It decides which parts the anatomy lets be soft.
        kind: CharacterKind = CharacterKind::default();
        /// Share of the skin at each vertex that is of something hard, float64 [n], 0 to 1, by its materials. The anatomy leaves such skin
        /// correspondingly less flesh. None: 0.
        hard: Option<Vec<f64>> = None;
    }
}

impl PyBodySettings {
    /// Returns the settings and the dial of a body with `vertices`, and `bones` of these names.
    pub fn of_body(
        self,
        vertices: usize,
        bones: &[String],
    ) -> PyResult<(BodySettings, Option<f64>)> {
        let weights = |w| weights_in(w, "region_weights", vertices, bones.len());
        let settings = BodySettings {
            region_weights: self.region_weights.map(weights).transpose()?,
            flesh: self.flesh,
            kind: self.kind,
            hard: self.hard,
            stiffness: self.stiffness,
            density: self.density,
            poisson: self.poisson,
            twist: self.twist.by_name(bones)?,
            rest_includes_gravity: self.rest_includes_gravity,
            level: self.level,
            basis_levels: self.basis_levels,
        };
        Ok((settings, self.softness))
    }
}

impl Setting for CharacterKind {
    fn read(value: &Bound<'_, PyAny>, _name: &str) -> PyResult<Self> {
        parse_kind(text(value)?)
    }

    fn object(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.name().into_py_any(py)
    }
}

/// Returns the kind of character of a name.
fn parse_kind(name: &str) -> PyResult<CharacterKind> {
    CharacterKind::from_name(name).ok_or_else(|| {
        let names = CharacterKind::ALL
            .map(|kind| format!("\"{}\"", kind.name()))
            .join(", ");
        input_error(format!("kind must be one of {names}, not \"{name}\""))
    })
}

/// Builds a body from the arguments that are left: progress and settings, for a surface and skeleton.
pub(super) fn build_body(
    py: Python<'_>,
    given: Arguments<'_>,
    (surface, skeleton): (&Surface, &Skeleton),
    build: impl Fn(&BodySettings, &dyn Progress) -> Result<Body, BodyError> + Sync,
) -> PyResult<Arc<Body>> {
    let progress = given.progress()?;
    given.drop_none(&["region_weights"])?;
    let body_settings = given.settings_of::<PyBodySettings>()?;
    let (settings, dial) = body_settings.of_body(surface.vertices().len(), skeleton.names())?;
    let body = with_progress(py, progress, |progress| match dial {
        None => build(&settings, progress).map_err(IntoPy::into_py),
        Some(dial) => soft_body(|settings| build(settings, progress), &settings, dial)
            .map_err(IntoPy::into_py),
    })?;
    Ok(Arc::new(body))
}
