// SPDX-License-Identifier: MIT OR Apache-2.0
//! Modes prepared for display: embedding of a surface in their nodes, and the kernel that moves it. [`crate::present`]
//! displays a body's surfaces with it.

use super::{ModalError, Modes};
use crate::Vec3;
use crate::geometry::aabb;
use crate::kernel::{Deformer, EngineChoice, Form, KernelError, Precision, WarpModel};
use crate::lattice::Embedding;
use crate::skeleton::SkinWeights;
use crate::surface::Surface;

/// Options for displaying surfaces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeformOptions {
    /// Whether the warp is computed at vertices or at nodes.
    pub form: Form,
    /// Number format of stored modes.
    pub precision: Precision,
    /// Engine that runs the warp.
    pub engine: EngineChoice,
}

impl Default for DeformOptions {
    fn default() -> Self {
        Self {
            form: Form::Embedded,
            precision: Precision::F32,
            engine: EngineChoice::Auto,
        }
    }
}

impl DeformOptions {
    /// Builds options from the names of the interface. `device` is a device, a part of its name or its number, for the
    /// engine 'gpu'.
    ///
    /// # Errors
    /// An unknown name.
    pub fn named(
        form: &str,
        precision: &str,
        engine: &str,
        device: Option<&str>,
    ) -> Result<Self, ModalError> {
        let unknown = |what, name: &str, known| ModalError::Unknown {
            what,
            name: name.to_owned(),
            known,
        };
        let device = device.map(str::trim).filter(|d| !d.is_empty());
        let chosen = EngineChoice::parse(engine)
            .map_err(|_| unknown("engine", engine, "'auto', 'cpu', 'gpu', 'gpu:NAME'"))?;
        Ok(Self {
            form: Form::parse(form).ok_or_else(|| unknown("form", form, "'vertex', 'embedded'"))?,
            precision: Precision::parse(precision)
                .ok_or_else(|| unknown("precision", precision, "'f32', 'f16'"))?,
            engine: match (chosen, device) {
                (EngineChoice::Gpu, Some(device)) => EngineChoice::Adapter(device.to_owned()),
                (chosen, _) => chosen,
            },
        })
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
        options: &DeformOptions,
    ) -> Result<Deformer, KernelError> {
        let make = match options.form {
            Form::Vertex => WarpModel::per_vertex,
            Form::Embedded => WarpModel::embedded,
        };
        let (shapes, rotations) = (self.shapes(), self.rotations());
        let model = make(
            shapes,
            rotations,
            Some(embedding),
            rest,
            skin,
            options.precision,
        )?;
        Ok(Deformer::new(model, &options.engine))
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
        let skin = self.body().map(|body| body.skin_around(&embedding));
        (embedding, skin)
    }
}
