// SPDX-License-Identifier: MIT OR Apache-2.0
//! Modes prepared for display: embedding of a surface in their nodes, and the kernel that moves it. [`crate::present`]
//! displays a body's surfaces with it.

use super::{ModalError, Modes};
use crate::Vec3;
use crate::basis::NodalValues;
use crate::geometry::aabb;
use crate::kernel::{Deformer, EngineChoice, KernelError, Precision, WarpForm, WarpModel};
use crate::lattice::Embedding;
use crate::skeleton::SkinWeights;
use crate::surface::Surface;

/// Settings of the display of modes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeformSettings {
    /// Whether the warp is computed at vertices or at nodes.
    pub form: WarpForm,
    /// Number format of stored modes.
    pub precision: Precision,
    /// Engine that runs the warp.
    pub engine: EngineChoice,
}

impl Default for DeformSettings {
    fn default() -> Self {
        Self {
            form: WarpForm::Embedded,
            precision: Precision::F32,
            engine: EngineChoice::Auto,
        }
    }
}

impl DeformSettings {
    /// Builds settings from the names of the interface. `device` is a device, a part of its name or its number, for the
    /// engine 'gpu'.
    ///
    /// # Errors
    /// An unknown name.
    pub fn from_names(
        form: &str,
        precision: &str,
        engine: &str,
        device: Option<&str>,
    ) -> Result<Self, ModalError> {
        let engine = self::parse_engine(engine)?;
        Ok(Self {
            form: self::parse_form(form)?,
            precision: self::parse_precision(precision)?,
            engine: device.map_or(engine.clone(), |device| engine.with_device(device)),
        })
    }
}

/// Reads the name of a form.
pub(crate) fn parse_form(name: &str) -> Result<WarpForm, ModalError> {
    WarpForm::parse(name).ok_or_else(|| unknown_name("form", name, "'vertex', 'embedded'"))
}

/// Reads the name of a precision.
pub(crate) fn parse_precision(name: &str) -> Result<Precision, ModalError> {
    Precision::parse(name).ok_or_else(|| unknown_name("precision", name, "'f32', 'f16'"))
}

/// Reads the name of an engine.
pub(crate) fn parse_engine(name: &str) -> Result<EngineChoice, ModalError> {
    let known = "'auto', 'cpu', 'gpu', 'gpu:NAME'";
    EngineChoice::parse(name).map_err(|_| unknown_name("engine", name, known))
}

fn unknown_name(what: &'static str, name: &str, known: &'static str) -> ModalError {
    ModalError::Unknown {
        what,
        name: name.to_owned(),
        known,
    }
}

impl Modes {
    /// Builds a deformer for a surface embedded in the nodes. Skin weights let it follow a pose.
    ///
    /// # Errors
    /// No modes, an embedding or weights of another surface, numbers that are not finite.
    pub fn deformer(
        &self,
        embedding: &Embedding,
        rest: &[Vec3],
        skin: Option<&SkinWeights>,
        settings: &DeformSettings,
    ) -> Result<Deformer, KernelError> {
        let make = match settings.form {
            WarpForm::Vertex => WarpModel::per_vertex,
            WarpForm::Embedded => WarpModel::embedded,
        };
        let coefficients = match settings.form {
            WarpForm::Vertex => self.rotation_coefficients(),
            WarpForm::Embedded => None,
        };
        let rotations = coefficients.as_deref().unwrap_or(self.rotations());
        let model = make(
            self.shapes(),
            rotations,
            Some(embedding),
            rest,
            skin,
            settings.precision,
        )?;
        Ok(Deformer::new(model, &settings.engine))
    }

    /// Returns Ψ as coefficients of the functions, for its values at points; `None`: they are its values at the nodes, as without details.
    fn rotation_coefficients(&self) -> Option<Vec<Vec<Vec3>>> {
        if self.functions().levels() == 0 {
            return None;
        }
        let values = NodalValues::new(self.functions());
        let coefficients = |rotations: &Vec<Vec3>| {
            let mut coefficients = rotations.clone();
            values.to_coefficients(rotations, &mut coefficients);
            coefficients
        };
        Some(self.rotations().iter().map(coefficients).collect())
    }

    /// Checks that the gap between the bounding boxes of points and flesh is at most the flesh's diagonal. Farther
    /// away an embedding is meaningless.
    ///
    /// # Errors
    /// [`ModalError::Away`].
    pub fn check_near(&self, points: &[Vec3]) -> Result<(), ModalError> {
        let (lo, hi) = aabb::bounds(self.functions().lattice().vertices());
        let (first, last) = aabb::bounds(points);
        let gap = (first - hi).sup(&(lo - last)).sup(&Vec3::zeros());
        let (distance, size) = (gap.norm(), (hi - lo).norm());
        if distance.is_finite() && distance > size {
            return Err(ModalError::Away { distance, size });
        }
        Ok(())
    }

    /// Embeds a surface in the nodes. On a body of flesh it also returns the skin weights of the vertices.
    pub fn embed_surface(&self, surface: &Surface) -> (Embedding, Option<SkinWeights>) {
        match self.body() {
            Some(body) => {
                let (embedding, skin) = body.embed_surface(surface);
                (embedding, Some(skin))
            }
            None => (self.functions().embed_surface(surface), None),
        }
    }
}

impl Modes {
    /// Embeds points as [`embed_surface`](Self::embed_surface) does vertices, without triangles between them.
    pub fn embed_points(&self, points: &[Vec3]) -> (Embedding, Option<SkinWeights>) {
        let embedding = self.functions().embed(points);
        let skin = self.body().map(|body| body.interpolated_skin(&embedding));
        (embedding, skin)
    }
}
