// SPDX-License-Identifier: MIT OR Apache-2.0
//! A made-up body with modes, a surface on it, two bones, and what the engines should show, in double precision;
//! and every engine there is.
//!
//! Graphics devices are tested where there is one; with THEW_REQUIRE_GPU set it is an error to have none.
#![allow(dead_code, reason = "each suite uses its part")]

use nalgebra::Rotation3;
use std::sync::Arc;
use thew::Vec3;
use thew::kernel::{
    CpuWarp, FrameOutput, Instructions, KernelError, Precision, Threads, WarpEngine, WarpForm,
    WarpInput, WarpModel,
};
use thew::lattice::Embedding;
use thew::skeleton::{Affine, Pose, SkinWeights};

pub const FORMS: [WarpForm; 2] = [WarpForm::Vertex, WarpForm::Embedded];
pub const PRECISIONS: [Precision; 2] = [Precision::F32, Precision::F16];

/// A body about two metres large.
#[derive(Debug, Clone)]
pub struct Case {
    pub shapes: Vec<Vec<Vec3>>,
    pub rotations: Vec<Vec<Vec3>>,
    pub embedding: Option<Embedding>,
    pub rest: Vec<Vec3>,
    pub skin: SkinWeights,
}

/// A repeatable number between 0 and 1.
pub fn number(i: usize, j: usize) -> f64 {
    let x = (i as f64 * 12.9898 + j as f64 * 78.233 + 1.0).sin() * 43758.5453;
    x - x.floor()
}

/// A repeatable vector that half precision holds exactly: every number has eleven bits.
fn vector(i: usize, j: usize, size: f64) -> Vec3 {
    let part = |k: usize| (number(i + 1000 * k, j) * 2047.0 - 1023.0).round() / 1024.0;
    size * Vec3::new(part(1), part(2), part(3))
}

impl Case {
    /// So many vertices and modes; vertices are embedded in four nodes, with 33 modes on eight.
    pub fn new(vertices: usize, modes: usize) -> Self {
        let nodes = (vertices / 3).max(100);
        let corners = if modes == 33 { 8 } else { 4 };
        let embedded = (0..vertices).map(|v| {
            let weight = move |k: usize| number(v, k + 10) + 0.01;
            let total: f64 = (0..corners).map(weight).sum();
            let node = move |k: usize| (number(v, k) * nodes as f64) as u32;
            (0, (0..corners).map(move |k| (node(k), weight(k) / total)))
        });
        let embedding = Embedding::from_rows(nodes, embedded).expect("nodes exist");
        // Sizes of modes differ by powers of two, as those of a body differ.
        let size = |mode: usize| 2f64.powi((mode % 7) as i32 - 3);
        let list = |shift: usize| {
            let mode = |m: usize| (0..nodes).map(|i| vector(i + shift, m, size(m))).collect();
            (0..modes).map(mode).collect()
        };
        let rows = (0..vertices).map(|v| [(0, number(v, 31)), (1, number(v, 32) + 0.1)]);
        Self {
            shapes: list(7),
            rotations: list(70_000),
            embedding: Some(embedding),
            rest: (0..vertices).map(|v| vector(v, 999, 1.0)).collect(),
            skin: SkinWeights::from_rows(2, rows).expect("good weights"),
        }
    }

    /// Amplitudes that turn and move by about `size`, radians and metres, at most.
    pub fn amplitudes(&self, size: f64) -> Vec<f64> {
        let largest = |m: &Vec<Vec3>| m.iter().map(|v| v.norm()).fold(0.0, f64::max);
        let modes = self.shapes.iter().enumerate();
        let count = self.shapes.len() as f64;
        let part = |m: usize| size * (2.0 * number(m, 555) - 1.0) / count;
        modes
            .map(|(m, s)| part(m) / largest(s).max(1e-30))
            .collect()
    }

    /// The model in a form. In the per-vertex form every vertex follows one node, since half precision does not
    /// hold the means of numbers that it holds.
    pub fn try_model(
        &self,
        form: WarpForm,
        precision: Precision,
    ) -> Result<WarpModel, KernelError> {
        let make = match form {
            WarpForm::Vertex => WarpModel::per_vertex,
            WarpForm::Embedded => WarpModel::embedded,
        };
        let skin = Some(&self.skin);
        let embedding = self.embedding.as_ref();
        let nearest = embedding
            .filter(|_| form == WarpForm::Vertex)
            .map(on_one_node);
        let embedding = nearest.as_ref().or(embedding);
        make(
            &self.shapes,
            &self.rotations,
            embedding,
            &self.rest,
            skin,
            precision,
        )
    }

    /// As [`try_model`](Self::try_model), of a case that fits.
    pub fn model(&self, form: WarpForm, precision: Precision) -> WarpModel {
        self.try_model(form, precision).expect("a good case")
    }

    /// `Φ q` at the surface.
    pub fn linear(&self, form: WarpForm, q: &[f64]) -> Vec<Vec3> {
        let sums = combine_modes(&self.shapes, q);
        self.carry_to_vertices(form, &sums)
    }

    /// `R̃(Ψ q) Φ q` at the vertices, or at the nodes and carried to the vertices.
    pub fn displacements(&self, form: WarpForm, q: &[f64]) -> Vec<Vec3> {
        let (a, w) = (
            combine_modes(&self.shapes, q),
            combine_modes(&self.rotations, q),
        );
        let turned: Vec<Vec3> = a
            .iter()
            .zip(&w)
            .map(|(a, w)| rotate_displacement(*w, *a))
            .collect();
        self.carry_to_vertices(form, &turned)
    }

    /// Values of nodes at the vertices. In the per-vertex form every vertex follows one node, where the two agree.
    fn carry_to_vertices(&self, form: WarpForm, of: &[Vec3]) -> Vec<Vec3> {
        let Some(embedding) = &self.embedding else {
            return of[..self.rest.len()].to_vec();
        };
        let nearest = on_one_node(embedding);
        let embedding = match form {
            WarpForm::Vertex => &nearest,
            WarpForm::Embedded => embedding,
        };
        (0..self.rest.len())
            .map(|v| embedding.position(v, of))
            .collect()
    }

    /// `T(x + u)`.
    pub fn posed(&self, pose: &Pose, u: &[Vec3]) -> Vec<Vec3> {
        let at = |v: usize| {
            let image = |(b, w): (u32, f64)| pose.maps()[b as usize].apply(self.rest[v] + u[v]) * w;
            self.skin.row(v).map(image).sum()
        };
        (0..self.rest.len()).map(at).collect()
    }

    /// Two bones, one turned, moved and stretched.
    pub fn pose(&self) -> Pose {
        let turn = Rotation3::from_euler_angles(0.3, -0.8, 1.1).into_inner();
        let second = Affine {
            linear: turn * 1.2,
            translation: Vec3::new(0.5, 0.1, -0.2),
        };
        let first = Affine {
            translation: Vec3::new(0.0, 0.2, 0.0),
            ..Affine::identity()
        };
        Pose::new(vec![first, second]).expect("finite")
    }

    /// The same body elsewhere.
    pub fn moved(&self, by: Vec3) -> Self {
        let mut other = self.clone();
        other.rest.iter_mut().for_each(|p| *p += by);
        other
    }

    /// The same body turned.
    pub fn turned(&self, by: &Rotation3<f64>) -> Self {
        let mut other = self.clone();
        let lists = other.shapes.iter_mut().chain(&mut other.rotations);
        let all = lists.flatten().chain(&mut other.rest);
        all.for_each(|v| *v = by * *v);
        other
    }
}

/// Every point on the first of its nodes alone.
fn on_one_node(embedding: &Embedding) -> Embedding {
    let first = |v: usize| {
        let first = embedding.row(v).next();
        first.map(|(node, weight)| (node as u32, weight.signum()))
    };
    with_rows(embedding, |v| first(v).into_iter().collect())
}

/// The same points on other nodes, which need not be there.
pub fn with_rows(embedding: &Embedding, row: impl Fn(usize) -> Vec<(u32, f64)>) -> Embedding {
    let rows = (0..embedding.len()).map(|v| (0, row(v)));
    Embedding::from_rows(1 << 20, rows).expect("no row has a node beyond")
}

fn combine_modes(modes: &[Vec<Vec3>], q: &[f64]) -> Vec<Vec3> {
    let nodes = modes.first().map_or(0, Vec::len);
    let at = |node: usize| modes.iter().zip(q).map(|(m, q)| m[node] * *q).sum();
    (0..nodes).map(at).collect()
}

fn rotate_displacement(w: Vec3, a: Vec3) -> Vec3 {
    let t = w.norm();
    if t < 1e-6 {
        return a + w.cross(&a) / 2.0;
    }
    let n = w / t;
    let once = n.cross(&a);
    a + once * ((1.0 - t.cos()) / t) + n.cross(&once) * (1.0 - t.sin() / t)
}

/// `[n · 3]` as points.
pub fn points(of: &[f32]) -> Vec<Vec3> {
    let point = |p: &[f32]| Vec3::new(p[0].into(), p[1].into(), p[2].into());
    of.chunks_exact(3).map(point).collect()
}

/// The largest distance; not a number where one is not.
pub fn largest(got: &[f32], expected: &[Vec3]) -> f64 {
    assert_eq!(got.len(), 3 * expected.len());
    let apart = points(got)
        .into_iter()
        .zip(expected)
        .map(|(a, b)| (a - b).norm());
    apart.fold(0.0, |a, b| if b.is_nan() { b } else { a.max(b) })
}

/// Every engine there is, for one model.
pub fn engines(model: &Arc<WarpModel>) -> Vec<Box<dyn WarpEngine>> {
    let mut all: Vec<Box<dyn WarpEngine>> = vec![
        Box::new(CpuWarp::new(model.clone(), Threads::One)),
        Box::new(CpuWarp::new(model.clone(), Threads::All)),
        Box::new(CpuWarp::with_instructions(
            model.clone(),
            Threads::All,
            Instructions::Plain,
        )),
    ];
    all.extend(device(model, u64::MAX));
    all
}

#[cfg(feature = "gpu")]
pub fn device(model: &Arc<WarpModel>, largest: u64) -> Option<Box<dyn WarpEngine>> {
    use thew::kernel::{Adapter, GpuWarp, gpu_adapters};
    if gpu_adapters().is_empty() {
        let required = std::env::var_os("THEW_REQUIRE_GPU").is_some();
        assert!(
            !required,
            "THEW_REQUIRE_GPU is set, but no adapter was found"
        );
        return None;
    }
    let engine = GpuWarp::with_limit(model.clone(), Adapter::Any, largest);
    Some(Box::new(engine.expect("the device takes the surface")))
}

#[cfg(not(feature = "gpu"))]
pub fn device(_: &Arc<WarpModel>, _: u64) -> Option<Box<dyn WarpEngine>> {
    None
}

pub fn shown(engine: &dyn WarpEngine, amplitudes: &[f64], shown: FrameOutput<'_>) -> Vec<f32> {
    let mut out = vec![f32::NAN; 3 * engine.model().vertices()];
    let done = engine.frame_into(WarpInput::new(amplitudes, shown), &mut out);
    done.unwrap_or_else(|e| panic!("{}: {e}", engine.name()));
    out
}

pub fn displacements(engine: &dyn WarpEngine, amplitudes: &[f64]) -> Vec<f32> {
    shown(engine, amplitudes, FrameOutput::Displacements)
}

/// Runs a check on every engine, form and precision.
pub fn each(case: &Case, check: impl Fn(&dyn WarpEngine)) {
    for form in FORMS {
        for precision in PRECISIONS {
            let model = Arc::new(case.model(form, precision));
            for engine in engines(&model) {
                check(engine.as_ref());
            }
        }
    }
}
