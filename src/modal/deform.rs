// SPDX-License-Identifier: MIT OR Apache-2.0
//! Modes made visible: the surfaces of a body under amplitudes and a pose, `p = T(x + R̃(Ψq) Φq)`, T by the artist's own
//! skin weights.

use super::{ModalError, Modes};
use crate::Vec3;
use crate::body::Body;
use crate::kernel::{
    Bones, Deformer, EngineChoice, Form, Frame, KernelError, Precision, Shown, WarpModel,
};
use crate::lattice::Embedding;
use crate::progress::Progress;
use crate::skeleton::{Pose, SkinWeights};
use crate::surface::Surface;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

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
    /// What shows a surface that hangs on the nodes; skin weights let it follow a pose.
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

    /// How a surface hangs on the nodes, and, on a body of flesh, which bones carry its vertices.
    pub fn hang(&self, surface: &Surface) -> (Embedding, Option<SkinWeights>) {
        match self.body() {
            Some(body) => {
                let (embedding, skin) = body.hang(surface);
                (embedding, Some(skin))
            }
            None => (self.lattice().embed_surface(surface), None),
        }
    }
}

impl Modes {
    /// As [`hang`](Self::hang), for points without triangles between them.
    pub fn hang_points(&self, points: &[Vec3]) -> (Embedding, Option<SkinWeights>) {
        let embedding = self.lattice().embed(points);
        let skin = self.body().map(|body| body.skin_around(&embedding));
        (embedding, skin)
    }
}

/// Shows the surfaces of a body of flesh; each is made ready when it is first asked for.
pub struct BodyDeformer {
    modes: Arc<Modes>,
    body: Arc<Body>,
    options: DeformOptions,
    ready: Mutex<BTreeMap<usize, Arc<Deformer>>>,
}

impl std::fmt::Debug for BodyDeformer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BodyDeformer")
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

/// Amplitudes and a pose.
pub type Posed<'a> = (&'a [f64], &'a Pose);

impl BodyDeformer {
    /// For modes of the body.
    pub fn new(body: Arc<Body>, modes: Arc<Modes>, options: DeformOptions) -> Self {
        Self {
            body,
            modes,
            options,
            ready: Mutex::new(BTreeMap::new()),
        }
    }

    /// How surfaces are shown.
    pub fn options(&self) -> &DeformOptions {
        &self.options
    }

    /// What shows a surface of the body: 0 is its own, others by the id that [`Body::embed_surface`] gave; none if the
    /// body carries no such surface.
    ///
    /// # Errors
    /// Modes that cannot be shown in single precision.
    pub fn surface(&self, id: usize) -> Option<Result<Arc<Deformer>, KernelError>> {
        let mut ready = self.ready.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(deformer) = ready.get(&id) {
            return Some(Ok(deformer.clone()));
        }
        let (embedding, skin) = (self.body.embedding(id)?, self.body.skin(id)?);
        let nodes = self.body.lattice().vertices();
        let rest: Vec<Vec3> = (0..embedding.len())
            .map(|i| embedding.place(i, nodes))
            .collect();
        let made = self
            .modes
            .deformer(&embedding, &rest, Some(&skin), &self.options);
        Some(made.map(|deformer| {
            let deformer = Arc::new(deformer);
            ready.insert(id, deformer.clone());
            deformer
        }))
    }

    /// World positions `[frames · vertices · 3]`, metres, of a surface under amplitudes and poses, none farther from its
    /// skin than `reach`, a part of the body's size.
    ///
    /// # Errors
    /// Amplitudes or poses of other modes or skeletons, an output of another length.
    pub fn show(
        &self,
        id: usize,
        frames: &[Posed<'_>],
        reach: Option<f64>,
        progress: &dyn Progress,
        out: &mut [f32],
    ) -> Option<Result<(), KernelError>> {
        let deformer = match self.surface(id)? {
            Ok(deformer) => deformer,
            Err(error) => return Some(Err(error)),
        };
        let model = deformer.model();
        let limit = |pose: &Pose| reach.map(|part| part * self.body.size_in(pose));
        let bones = frames.iter().map(|(_, pose)| model.pose(pose, limit(pose)));
        Some(bones.collect::<Result<Vec<Bones>, _>>().and_then(|bones| {
            let frames: Vec<Frame<'_>> = frames
                .iter()
                .zip(&bones)
                .map(|((q, _), bones)| Frame::new(q, Shown::Posed(bones)))
                .collect();
            deformer.frames_into(&frames, progress, out)
        }))
    }

    /// What the modes add to the skin of a surface, `[vertices · 3]`, metres, world axes, none farther than `reach`, a part of
    /// the body's size.
    ///
    /// # Errors
    /// As [`show`](Self::show).
    pub fn offsets(
        &self,
        id: usize,
        (q, pose): Posed<'_>,
        reach: Option<f64>,
        out: &mut [f32],
    ) -> Option<Result<(), KernelError>> {
        let vertices = match self.surface(id)? {
            Ok(deformer) => deformer.model().vertices(),
            Err(error) => return Some(Err(error)),
        };
        let (expected, given) = (3 * vertices, out.len());
        if expected != given {
            return Some(Err(KernelError::Output { expected, given }));
        }
        let still = vec![0.0; q.len()];
        let mut both = vec![0.0; 6 * vertices];
        let frames = [(q, pose), (still.as_slice(), pose)];
        let shown = self.show(id, &frames, reach, &crate::progress::Silent, &mut both)?;
        let (moved, skin) = both.split_at(3 * vertices);
        Some(shown.map(|()| {
            for ((out, moved), skin) in out.iter_mut().zip(moved).zip(skin) {
                *out = moved - skin;
            }
        }))
    }

    /// The largest distance of a surface's vertex from its skin, metres, without a limit.
    ///
    /// # Errors
    /// As [`show`](Self::show).
    pub fn stray(&self, id: usize, posed: Posed<'_>) -> Option<Result<f32, KernelError>> {
        let vertices = match self.surface(id)? {
            Ok(deformer) => deformer.model().vertices(),
            Err(error) => return Some(Err(error)),
        };
        let mut away = vec![0.0; 3 * vertices];
        let found = self.offsets(id, posed, None, &mut away)?;
        let norm = |v: &[f32]| v.iter().map(|x| x * x).sum::<f32>();
        Some(found.map(|()| away.chunks_exact(3).map(norm).fold(0.0, f32::max).sqrt()))
    }
}
