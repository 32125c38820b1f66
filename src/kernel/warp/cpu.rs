// SPDX-License-Identifier: MIT OR Apache-2.0
//! The warp on the processor: one thread, or all over fixed chunks, with vector instructions chosen at run time.
//!
//! The code is compiled twice on x86-64: for every processor, and for those with AVX2, FMA and F16C. Every vertex is
//! computed alone and in the same order, so that results do not depend on the number of threads, bit by bit. A clip
//! is computed chunk by chunk rather than frame by frame: the modes of a chunk are read from memory once and stay in
//! the cache for its other frames.

use super::super::cpu::{PackedRows, RowSource, WeightedRow, with_rows};
use super::super::target::{OutputForm, OutputWriter, with_form};
use super::blocks::{HalfRow, ModeValues, ROWS_PER_MODE, SingleRow};
use super::model::{Finish, PreparedFrame, WarpInput, WarpModel};
use super::turn::{LANES, Lanes, turn};
use super::vertex_output::{finish_vertex, with_finish};
use super::{KernelError, WarpEngine};
use crate::progress::{Progress, report_progress};
use rayon::prelude::*;
use std::sync::Arc;

/// Approximate bytes of mode values per chunk.
const CHUNK_BYTES: usize = 1 << 19;
/// Vertices per chunk of the embedded form.
const CHUNK_VERTICES: usize = 8192;
/// Frames between two reports to the progress.
const REPORT_FRAMES: usize = 16;

/// Threads of an engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Threads {
    /// The caller's thread.
    One,
    /// All threads of rayon's pool.
    All,
}

/// Set of vector instructions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Instructions {
    /// Instructions of every processor of the architecture.
    Plain,
    /// AVX2 with FMA and F16C, on x86-64.
    Avx2,
}

impl Instructions {
    /// Returns the best set that this processor supports.
    pub fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("fma")
            && is_x86_feature_detected!("f16c")
        {
            return Self::Avx2;
        }
        Self::Plain
    }
}

/// A surface warped on the processor.
#[derive(Debug, Clone)]
pub struct CpuWarp {
    model: Arc<WarpModel>,
    threads: Threads,
    instructions: Instructions,
    name: String,
}

impl CpuWarp {
    /// Builds the engine with the best instructions of this processor.
    pub fn new(model: Arc<WarpModel>, threads: Threads) -> Self {
        Self::with_instructions(model, threads, Instructions::detect())
    }

    /// Builds the engine with the best instructions of this processor, or with plain ones on request.
    pub fn with_instructions(
        model: Arc<WarpModel>,
        threads: Threads,
        requested: Instructions,
    ) -> Self {
        let instructions = match requested {
            Instructions::Avx2 => Instructions::detect(),
            Instructions::Plain => Instructions::Plain,
        };
        let name = match threads {
            Threads::One => "CPU, 1 thread".into(),
            Threads::All => match rayon::current_num_threads() {
                1 => "CPU, 1 thread (pool)".into(),
                n => format!("CPU, {n} threads"),
            },
        };
        Self {
            model,
            threads,
            instructions,
            name,
        }
    }

    fn run(&self, frames: &[PreparedFrame<'_>], out: &mut [f32]) {
        let warp = |out: &mut [f32], frames: &[PreparedFrame<'_>]| match &self.model.blocks.values {
            ModeValues::F32(rows) => self.warp_blocks(rows, frames, out),
            ModeValues::F16(rows) => self.warp_blocks(rows, frames, out),
        };
        let Some(rows) = &self.model.rows else {
            return warp(out, frames);
        };
        let nodes = self.model.blocks.points;
        let mut moved = vec![0.0; 3 * nodes * frames.len()];
        let bare: Vec<PreparedFrame<'_>> = frames
            .iter()
            .map(PreparedFrame::displacements_only)
            .collect();
        warp(&mut moved, &bare);
        let wide: Vec<[f32; 4]> = moved
            .chunks_exact(3)
            .map(|u| [u[0], u[1], u[2], 0.0])
            .collect();
        with_rows!(rows, rows => self.embed(rows, frames, &wide, out));
    }

    /// Warps all points that have mode values.
    fn warp_blocks<R: ModeRow>(&self, rows: &[R], frames: &[PreparedFrame<'_>], out: &mut [f32]) {
        let (points, per_block) = (self.model.blocks.points, ROWS_PER_MODE * self.model.modes());
        let blocks = (CHUNK_BYTES / (per_block * size_of::<R>())).clamp(2, 512);
        let work = |first: usize, out: &mut [&mut [f32]]| {
            let from = first / LANES * per_block;
            let to = (from + blocks * per_block).min(rows.len());
            let rows = &rows[from..to];
            match self.instructions {
                Instructions::Plain => warp_chunk::<false, R>(rows, per_block, first, frames, out),
                // SAFETY: `with_instructions` sets these instructions only if the processor was detected to have them.
                #[cfg(target_arch = "x86_64")]
                Instructions::Avx2 => unsafe {
                    warp_chunk_avx2::<R>(rows, per_block, first, frames, out);
                },
                #[cfg(not(target_arch = "x86_64"))]
                Instructions::Avx2 => warp_chunk::<false, R>(rows, per_block, first, frames, out),
            }
        };
        self.for_each_chunk(points, blocks * LANES, out, work);
    }

    /// Moves the surface with displacements `[frame][node]`.
    fn embed(
        &self,
        rows: impl RowSource,
        frames: &[PreparedFrame<'_>],
        moved: &[[f32; 4]],
        out: &mut [f32],
    ) {
        let work = |first: usize, out: &mut [&mut [f32]]| match self.instructions {
            Instructions::Plain => embed_chunk::<false>(rows, first, frames, moved, out),
            // SAFETY: `with_instructions` sets these instructions only if the processor was detected to have them.
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx2 => unsafe { embed_chunk_avx2(rows, first, frames, moved, out) },
            #[cfg(not(target_arch = "x86_64"))]
            Instructions::Avx2 => embed_chunk::<false>(rows, first, frames, moved, out),
        };
        self.for_each_chunk(rows.count(), CHUNK_VERTICES, out, work);
    }

    /// Splits an output `[frame][point][3]` into chunks of points and passes each, with all its frames, to `work`.
    fn for_each_chunk(
        &self,
        points: usize,
        chunk: usize,
        out: &mut [f32],
        work: impl Fn(usize, &mut [&mut [f32]]) + Sync,
    ) {
        if points == 0 {
            return;
        }
        let mut chunks: Vec<Vec<&mut [f32]>> = Vec::new();
        chunks.resize_with(points.div_ceil(chunk), Vec::new);
        for frame in out.chunks_exact_mut(3 * points) {
            for (part, of) in frame.chunks_mut(3 * chunk).zip(&mut chunks) {
                of.push(part);
            }
        }
        match self.threads {
            Threads::One => {
                let all = chunks.iter_mut().enumerate();
                all.for_each(|(i, out)| work(i * chunk, out));
            }
            Threads::All => {
                let all = chunks.par_iter_mut().enumerate();
                all.for_each(|(i, out)| work(i * chunk, out));
            }
        }
    }
}

impl WarpEngine for CpuWarp {
    fn name(&self) -> &str {
        &self.name
    }

    fn model(&self) -> &Arc<WarpModel> {
        &self.model
    }

    fn frames_into(
        &self,
        frames: &[WarpInput<'_>],
        progress: &dyn Progress,
        out: &mut [f32],
    ) -> Result<(), KernelError> {
        let prepared = self.model.prepare_all(frames, out.len())?;
        let size = (3 * self.model.vertices()).max(1);
        let groups = prepared
            .chunks(REPORT_FRAMES)
            .zip(out.chunks_mut(REPORT_FRAMES * size));
        for (i, (frames, out)) in groups.enumerate() {
            let done = (i * REPORT_FRAMES) as f64 / prepared.len() as f64;
            report_progress(progress, done, "deforming")?;
            self.run(frames, out);
        }
        Ok(())
    }
}

impl PreparedFrame<'_> {
    /// Returns the same frame with displacements as output.
    fn displacements_only(&self) -> PreparedFrame<'static> {
        PreparedFrame {
            amplitudes: self.amplitudes.clone(),
            finish: Finish::Displacements,
            writing: OutputForm::Plain,
        }
    }
}

/// A stored row.
trait ModeRow: Copy + Sync {
    /// Returns its numbers in f32. `F16C`: the processor converts half precision itself.
    fn load<const F16C: bool>(&self) -> Lanes;
}

impl ModeRow for SingleRow {
    #[inline(always)]
    fn load<const F16C: bool>(&self) -> Lanes {
        self.0
    }
}

impl ModeRow for HalfRow {
    #[inline(always)]
    fn load<const F16C: bool>(&self) -> Lanes {
        #[cfg(target_arch = "x86_64")]
        if F16C {
            use std::arch::x86_64::{_mm_load_si128, _mm256_cvtph_ps, _mm256_storeu_ps};
            let mut lanes = [0.0f32; LANES];
            // SAFETY: `F16C` is only set within functions that enable it. A row is sixteen half numbers aligned to
            // 32 bytes, each half of it one aligned 128-bit load; `lanes` has room for two stores of eight.
            unsafe {
                let from = self.0.as_ptr().cast();
                let to = lanes.as_mut_ptr();
                _mm256_storeu_ps(to, _mm256_cvtph_ps(_mm_load_si128(from)));
                _mm256_storeu_ps(to.add(8), _mm256_cvtph_ps(_mm_load_si128(from.add(1))));
            }
            return lanes;
        }
        let mut lanes = [0.0f32; LANES];
        for (to, &bits) in lanes.iter_mut().zip(&self.0) {
            *to = widen(bits);
        }
        lanes
    }
}

/// Converts a finite half number to f32. Its exponent is moved into place and multiplied by the difference of the
/// biases, which handles the smallest numbers too.
#[inline(always)]
fn widen(bits: u16) -> f32 {
    const BIAS_SCALE: f32 = f32::from_bits((127 + 127 - 15) << 23);
    let bits = u32::from(bits);
    let size = f32::from_bits((bits & 0x7fff) << 13) * BIAS_SCALE;
    f32::from_bits(size.to_bits() | ((bits & 0x8000) << 16))
}

/// Returns `a b + c`, rounded once with `FMA`.
#[inline(always)]
fn multiply_add<const FMA: bool>(a: f32, b: f32, c: f32) -> f32 {
    if FMA { a.mul_add(b, c) } else { a * b + c }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c")]
fn warp_chunk_avx2<R: ModeRow>(
    rows: &[R],
    per_block: usize,
    first: usize,
    frames: &[PreparedFrame<'_>],
    out: &mut [&mut [f32]],
) {
    warp_chunk::<true, R>(rows, per_block, first, frames, out);
}

/// Computes the blocks of a chunk with first point `first`; `out` has one part per frame.
#[inline(always)]
fn warp_chunk<const FMA: bool, R: ModeRow>(
    rows: &[R],
    per_block: usize,
    first: usize,
    frames: &[PreparedFrame<'_>],
    out: &mut [&mut [f32]],
) {
    for (frame, out) in frames.iter().zip(out.iter_mut()) {
        let blocks = rows.chunks_exact(per_block).zip((first..).step_by(LANES));
        let blocks = blocks.zip(out.chunks_mut(3 * LANES));
        with_form!(frame.writing, put => for ((rows, first), out) in blocks {
            let [a, b, c, d, e, f] = mode_sums::<FMA, R>(rows, &frame.amplitudes);
            let u = turn(&[a, b, c], &[d, e, f]);
            write::<FMA>(&frame.finish, put, first, &u, out);
        });
    }
}

/// Returns `Φ q` and `Ψ q` of a block.
#[inline(always)]
fn mode_sums<const FMA: bool, R: ModeRow>(
    rows: &[R],
    amplitudes: &[[f32; 2]],
) -> [Lanes; ROWS_PER_MODE] {
    let mut sums = [[0.0f32; LANES]; ROWS_PER_MODE];
    for (rows, q) in rows.chunks_exact(ROWS_PER_MODE).zip(amplitudes) {
        for k in 0..ROWS_PER_MODE {
            let values = rows[k].load::<FMA>();
            for l in 0..LANES {
                sums[k][l] = multiply_add::<FMA>(values[l], q[k / 3], sums[k][l]);
            }
        }
    }
    sums
}

/// Writes the output of the points of a block.
#[inline(always)]
fn write<const FMA: bool>(
    finish: &Finish<'_>,
    put: impl OutputWriter,
    first: usize,
    u: &[Lanes; 3],
    out: &mut [f32],
) {
    for (l, out) in out.chunks_exact_mut(3).enumerate() {
        let u = [u[0][l], u[1][l], u[2][l]];
        put.put(out, finish_vertex::<FMA>(finish, first + l, u));
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c")]
fn embed_chunk_avx2(
    rows: impl RowSource,
    first: usize,
    frames: &[PreparedFrame<'_>],
    moved: &[[f32; 4]],
    out: &mut [&mut [f32]],
) {
    embed_chunk::<true>(rows, first, frames, moved, out);
}

#[inline(always)]
fn embed_chunk<const FMA: bool>(
    rows: impl RowSource,
    first: usize,
    frames: &[PreparedFrame<'_>],
    moved: &[[f32; 4]],
    out: &mut [&mut [f32]],
) {
    let nodes = (moved.len() / frames.len().max(1)).max(1);
    let frames = frames.iter().zip(out.iter_mut()).zip(moved.chunks(nodes));
    for ((frame, out), moved) in frames {
        let rows = (first..).zip(rows.rows_from(first));
        let vertices = rows.zip(out.chunks_exact_mut(3));
        with_form!(frame.writing, put => with_finish!(FMA, &frame.finish, show => {
            for ((vertex, row), out) in vertices {
                let [x, y, z, _] = row.mean(moved);
                put.put(out, show(vertex, [x, y, z]));
            }
        }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every finite half-precision number is widened exactly.
    #[test]
    fn widen_is_exact() {
        for bits in 0..=u16::MAX {
            let wanted = half::f16::from_bits(bits);
            if wanted.is_finite() {
                assert_eq!(widen(bits).to_bits(), wanted.to_f32().to_bits());
            }
        }
    }

    /// A row is one cache line in single precision and half of one in half precision.
    #[test]
    fn rows_fit_cache_lines() {
        assert_eq!((size_of::<SingleRow>(), align_of::<SingleRow>()), (64, 64));
        assert_eq!((size_of::<HalfRow>(), align_of::<HalfRow>()), (32, 32));
    }
}
