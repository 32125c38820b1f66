// SPDX-License-Identifier: MIT OR Apache-2.0
//! Modes made ready to be shown: how a surface is embedded in their nodes, and the kernel that moves it ([`crate::present`]
//! shows the surfaces of a body with it).

use super::{ModalError, Modes};
use crate::Vec3;
use crate::aabb;
use crate::kernel::{Deformer, EngineChoice, Form, KernelError, Precision, WarpModel};
use crate::lattice::Embedding;
use crate::skeleton::SkinWeights;
use crate::surface::Surface;

/// How surfaces are shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeformOptions {
    /// Where the warp is done.
    pub form: Form,
    /// How modes are stored.
    pub precision: Precision,
    /// Which engine.
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
    /// By the names of the interface; a device, a part of its name or its number, is for the engine 'gpu'.
    ///
    /// # Errors
    /// A name that there is none of.
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
    /// What shows a surface embedded in the nodes; skin weights let it follow a pose.
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

    /// Refuses points that all lie farther from the flesh than this is across: to embed them says nothing.
    ///
    /// # Errors
    /// [`ModalError::Away`].
    pub fn check_near(&self, points: &[Vec3]) -> Result<(), ModalError> {
        let (lo, hi) = aabb::bounds(self.lattice().vertices());
        let (first, last) = aabb::bounds(points);
        let gap = (first - hi).sup(&(lo - last)).sup(&Vec3::zeros());
        let (distance, size) = (gap.norm(), (hi - lo).norm());
        if distance.is_finite() && distance > size {
            return Err(ModalError::Away { distance, size });
        }
        Ok(())
    }

    /// The embedding of a surface in the nodes, and, on a body of flesh, which bones carry its vertices.
    pub fn embed_surface(&self, surface: &Surface) -> (Embedding, Option<SkinWeights>) {
        match self.body() {
            Some(body) => {
                let (embedding, skin) = body.embed_surface(surface);
                (embedding, Some(skin))
            }
            None => (self.lattice().embed_surface(surface), None),
        }
    }
}

impl Modes {
    /// [`embed_surface`](Self::embed_surface) as it was called.
    #[deprecated(note = "renamed to embed_surface")]
    pub fn hang(&self, surface: &Surface) -> (Embedding, Option<SkinWeights>) {
        self.embed_surface(surface)
    }

    /// [`embed_points`](Self::embed_points) as it was called.
    #[deprecated(note = "renamed to embed_points")]
    pub fn hang_points(&self, points: &[Vec3]) -> (Embedding, Option<SkinWeights>) {
        self.embed_points(points)
    }

    /// As [`embed_surface`](Self::embed_surface), for points without triangles between them.
    pub fn embed_points(&self, points: &[Vec3]) -> (Embedding, Option<SkinWeights>) {
        let embedding = self.lattice().embed(points);
        let skin = self.body().map(|body| body.skin_around(&embedding));
        (embedding, skin)
    }
}
