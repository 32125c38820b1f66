// SPDX-License-Identifier: MIT OR Apache-2.0
//! How long the modal warp of a surface takes, against the bandwidth measured in the same run.
//!
//! On the processor: the per-vertex form and the embedded form, on one core and on all. On every graphics device
//! that is hardware (software ones with THEW_BENCH_SOFTWARE set): the kernels alone against the bandwidth of a copy,
//! end to end with transfers, a clip with two frames in flight, and the size from which it beats the processor.

use rayon::prelude::*;
use std::sync::Arc;
use std::time::Instant;
use thew::Vec3;
use thew::kernel::{
    CpuWarp, Deformer, EngineChoice, FrameOutput, Precision, Threads, WarpEngine, WarpForm,
    WarpInput, WarpModel, gpu_adapters,
};
use thew::lattice::Embedding;
use thew::progress::Silent;
use thew::skeleton::{Pose, SkinWeights};

const NODE_COUNT: usize = 1000;
const LARGE_VERTEX_COUNT: usize = 1_000_000;

fn main() {
    let adapters = gpu_adapters();
    println!(
        "graphics devices: {}",
        if adapters.is_empty() { "none" } else { "" }
    );
    adapters.iter().for_each(|a| println!("  {a}"));
    report_processor();
    report_half_precision();
    report_clip();
    #[cfg(feature = "gpu")]
    device::report_all(&adapters);
    println!("\nchoosing");
    for n in [2_000, 28_000, 280_000] {
        let deformer = Deformer::new(
            model(n, 32, WarpForm::Vertex, Precision::F32),
            &EngineChoice::Auto,
        );
        println!("  {n} x 32: {}", deformer.report());
    }
}

/// A buffer far larger than any cache, which is read to learn what reading costs.
struct Memory(Vec<u64>);

impl Memory {
    fn new() -> Self {
        Self((0..220_000_000).collect())
    }

    /// Bytes per second, read by one core or by all.
    fn read_bandwidth(&self, threads: Threads) -> f64 {
        let sum = |part: &[u64]| {
            let mut sums = [0u64; 64];
            for line in part.chunks_exact(64) {
                for (s, x) in sums.iter_mut().zip(line) {
                    *s = s.wrapping_add(*x);
                }
            }
            std::hint::black_box(sums);
        };
        let start = Instant::now();
        match threads {
            Threads::One => sum(&self.0),
            Threads::All => self.0.par_chunks(1 << 16).for_each(sum),
        }
        size_of_val(self.0.as_slice()) as f64 / start.elapsed().as_secs_f64()
    }
}

/// Modes of a bar of a thousand nodes: bending and twisting, waves of growing number.
fn model(vertices: usize, modes: usize, form: WarpForm, precision: Precision) -> WarpModel {
    let along = |i: usize| i as f64 / NODE_COUNT as f64;
    let wave = |m: usize, x: f64, shift: f64| (x * (m + 1) as f64 * 1.7 + shift).sin();
    let list = |shift: f64| {
        let at = |m: usize, i: usize| {
            let x = along(i);
            Vec3::new(
                wave(m, x, shift),
                wave(m, x, shift + 2.0),
                0.3 * wave(m, x, 1.0),
            )
        };
        let mode = |m: usize| (0..NODE_COUNT).map(|i| at(m, i)).collect();
        (0..modes).map(mode).collect::<Vec<Vec<Vec3>>>()
    };
    let hung = (0..vertices).map(|v| {
        // Neighbouring vertices are embedded in neighbouring nodes, as on a real surface.
        let base = (v * (NODE_COUNT - 4) / vertices) as u32;
        (0, (base..).zip([0.4, 0.3, 0.2, 0.1]))
    });
    let embedding = Embedding::from_rows(NODE_COUNT, hung).expect("nodes exist");
    let rest: Vec<Vec3> = (0..vertices)
        .map(|v| Vec3::new(v as f64 / vertices as f64, 0.1, 0.2))
        .collect();
    let rows = (0..vertices).map(|v| {
        let base = (v * 36 / vertices) as u32;
        [0.4, 0.3, 0.2, 0.1]
            .into_iter()
            .zip(0..)
            .map(move |(w, k)| (base + k, w))
    });
    let skin = SkinWeights::from_rows(40, rows).expect("good weights");
    let make = match form {
        WarpForm::Vertex => WarpModel::per_vertex,
        WarpForm::Embedded => WarpModel::embedded,
    };
    let (shapes, rotations, embedding) = (list(0.0), list(0.7), Some(&embedding));
    make(
        &shapes,
        &rotations,
        embedding,
        &rest,
        Some(&skin),
        precision,
    )
    .expect("good input")
}

/// Amplitudes that turn by a few tenths of a radian.
fn amplitudes(modes: usize) -> Vec<f64> {
    (0..modes)
        .map(|m| 0.3 * (m as f64).cos() / modes as f64)
        .collect()
}

fn report_processor() {
    let memory = Memory::new();
    let cores = rayon::current_num_threads();
    println!(
        "\non the processor, {cores} cores; GB/s: reading memory, in turns with the kernel; share: of what the"
    );
    println!("kernel's bytes would take at that rate (above one where they stay in a cache)");
    println!(
        "form  storage  vertices  modes  shown  |  one: ms  share  GB/s  |  all: ms  share  GB/s"
    );
    for (form, precision, n, m) in [
        (WarpForm::Vertex, Precision::F32, LARGE_VERTEX_COUNT, 64),
        (WarpForm::Vertex, Precision::F16, LARGE_VERTEX_COUNT, 64),
        (WarpForm::Embedded, Precision::F32, LARGE_VERTEX_COUNT, 64),
        (WarpForm::Vertex, Precision::F32, 28_000, 32),
        (WarpForm::Vertex, Precision::F16, 28_000, 32),
        (WarpForm::Vertex, Precision::F32, 28_000, 64),
        (WarpForm::Embedded, Precision::F32, 28_000, 32),
    ] {
        let model = Arc::new(model(n, m, form, precision));
        let bones = model.pose(&Pose::rest(40), Some(1.0)).expect("forty bones");
        for (what, shown) in [
            ("displacements", FrameOutput::Displacements),
            ("posed", FrameOutput::Posed(&bones)),
        ] {
            let (form, storage) = (form.name(), precision.name());
            let mut line = format!("{form:8} {storage:7} {n:9} {m:5}  {what:13}");
            for threads in [Threads::One, Threads::All] {
                let engine = CpuWarp::new(model.clone(), threads);
                let (mut seconds, mut read) = (f64::INFINITY, 0.0f64);
                for _ in 0..5 {
                    read = read.max(memory.read_bandwidth(threads));
                    seconds = seconds.min(frame_seconds(&engine, shown));
                }
                let share = model.bytes(what == "posed") as f64 / read / seconds;
                line += &format!("|{:8.3} {share:6.2} {:5.1} ", 1e3 * seconds, read / 1e9);
            }
            println!("{line}");
        }
    }
}

/// Largest distance that half precision makes, relative to the largest displacement.
fn report_half_precision() {
    let q = amplitudes(32);
    let both = [Precision::F32, Precision::F16].map(|precision| {
        let model = Arc::new(model(28_000, 32, WarpForm::Vertex, precision));
        let mut out = vec![0.0; 3 * 28_000];
        let engine = CpuWarp::new(model, Threads::All);
        engine.displacements_into(&q, &mut out).expect("good input");
        out
    });
    let norm = |p: &[f32]| p.iter().map(|x| x * x).sum::<f32>().sqrt();
    let size = both[0].chunks(3).map(norm).fold(0.0, f32::max);
    let apart: Vec<f32> = both[0].iter().zip(&both[1]).map(|(a, b)| a - b).collect();
    let error = apart.chunks(3).map(norm).fold(0.0, f32::max);
    println!(
        "\nf16 against f32, 28000 x 32: {:.1e} of the largest displacement",
        error / size
    );
}

fn report_clip() {
    println!("\na clip of 48 frames on all cores, ms per frame (alone, and in the clip)");
    for (n, m) in [(28_000, 32), (200_000, 64)] {
        let model = Arc::new(model(n, m, WarpForm::Vertex, Precision::F32));
        let engine = CpuWarp::new(model, Threads::All);
        let (alone, together) = (
            frame_seconds(&engine, FrameOutput::Rest),
            clip_frame_seconds(&engine, 48),
        );
        println!("  {n} x {m}: {:.3} {:.3}", 1e3 * alone, 1e3 * together);
    }
}

/// Seconds of one frame.
fn frame_seconds(engine: &dyn WarpEngine, shown: FrameOutput<'_>) -> f64 {
    let q = amplitudes(engine.model().modes());
    let mut out = vec![0.0; 3 * engine.model().vertices()];
    let runs = if engine.model().bytes(true) > 50_000_000 {
        8
    } else {
        200
    };
    fastest_run(runs, || {
        let done = engine.frame_into(WarpInput::new(&q, shown), &mut out);
        assert!(done.is_ok(), "{done:?}");
    })
}

/// Seconds of a frame within a clip.
fn clip_frame_seconds(engine: &dyn WarpEngine, frames: usize) -> f64 {
    let q = amplitudes(engine.model().modes());
    let mut out = vec![0.0; 3 * engine.model().vertices() * frames];
    let all = vec![WarpInput::new(&q, FrameOutput::Rest); frames];
    let seconds = fastest_run(3, || {
        let done = engine.frames_into(&all, &Silent, &mut out);
        assert!(done.is_ok(), "{done:?}");
    });
    seconds / frames as f64
}

fn fastest_run(runs: usize, mut run: impl FnMut()) -> f64 {
    let seconds = |_| {
        let start = Instant::now();
        run();
        start.elapsed().as_secs_f64()
    };
    (0..=runs)
        .map(seconds)
        .skip(1)
        .fold(f64::INFINITY, f64::min)
}

#[cfg(feature = "gpu")]
mod device {
    use super::*;
    use thew::kernel::{Adapter, GpuWarp};

    pub fn report_all(adapters: &[String]) {
        let software = std::env::var_os("THEW_BENCH_SOFTWARE").is_some();
        for name in adapters {
            if software || !name.contains("software") {
                report_device(name);
            }
        }
    }

    fn open_engine(name: &str, model: &Arc<WarpModel>) -> Option<GpuWarp> {
        let engine = GpuWarp::new(model.clone(), Adapter::Named(name));
        engine.map_err(|e| println!("  {e}")).ok()
    }

    fn report_device(name: &str) {
        println!("\n{name}");
        let small = Arc::new(model(1000, 8, WarpForm::Vertex, Precision::F32));
        let Some(engine) = open_engine(name, &small) else {
            return;
        };
        let repeats = if name.contains("software") { 2 } else { 50 };
        let Ok(copy) = engine.copy_bandwidth(repeats) else {
            return;
        };
        println!(
            "  copy within its memory: {:.1} GB/s, read and written",
            copy / 1e9
        );
        println!("  ms; share: of what its bytes would take at the copy's bandwidth");
        println!(
            "  form     storage  vertices modes  shown             kernel  share  end to end  in a clip  processor"
        );
        for (form, precision, n, m) in [
            (WarpForm::Vertex, Precision::F32, LARGE_VERTEX_COUNT, 64),
            (WarpForm::Vertex, Precision::F16, LARGE_VERTEX_COUNT, 64),
            (WarpForm::Embedded, Precision::F32, LARGE_VERTEX_COUNT, 64),
            (WarpForm::Vertex, Precision::F32, 28_000, 32),
            (WarpForm::Embedded, Precision::F32, 28_000, 32),
        ] {
            let model = Arc::new(model(n, m, form, precision));
            let Some(engine) = open_engine(name, &model) else {
                continue;
            };
            let bones = model.pose(&Pose::rest(40), Some(1.0)).expect("forty bones");
            for (what, shown) in [
                ("displacements", FrameOutput::Displacements),
                ("posed", FrameOutput::Posed(&bones)),
            ] {
                let q = amplitudes(m);
                let kernel = engine.kernel_seconds(&WarpInput::new(&q, shown), repeats);
                let Ok(kernel) = kernel else { continue };
                let least = model.bytes(what == "posed") as f64 / copy;
                let cpu = frame_seconds(&CpuWarp::new(model.clone(), Threads::All), shown);
                println!(
                    "  {:8} {:7} {n:9} {m:5}  {what:13} {:10.3} {:6.2} {:11.3} {:10.3} {:10.3}",
                    form.name(),
                    precision.name(),
                    1e3 * kernel,
                    least / kernel,
                    1e3 * frame_seconds(&engine, shown),
                    1e3 * clip_frame_seconds(&engine, 8),
                    1e3 * cpu,
                );
            }
        }
        println!("  per-vertex form, 32 modes, end to end: device and processor, ms");
        let mut beats = None;
        for n in [1_000, 3_000, 10_000, 28_000, 100_000, 300_000] {
            let model = Arc::new(model(n, 32, WarpForm::Vertex, Precision::F32));
            let Some(engine) = open_engine(name, &model) else {
                continue;
            };
            let cpu = [Threads::One, Threads::All]
                .map(|t| frame_seconds(&CpuWarp::new(model.clone(), t), FrameOutput::Rest));
            let (device, cpu) = (
                frame_seconds(&engine, FrameOutput::Rest),
                cpu[0].min(cpu[1]),
            );
            println!("  {n:9} {:8.3} {:8.3}", 1e3 * device, 1e3 * cpu);
            beats = beats.or((device < cpu).then_some(n));
        }
        match beats {
            Some(n) => println!("  it beats the processor from {n} vertices"),
            None => println!("  it does not beat the processor at these sizes"),
        }
    }
}
