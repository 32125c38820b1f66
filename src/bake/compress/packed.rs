// SPDX-License-Identifier: MIT OR Apache-2.0
//! Keys and curves of all clips, with their errors.

/// How numbers of keys are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quantisation {
    /// 16-bit integers, in steps of each key's own.
    Int16,
    /// Half-precision floats.
    Half,
}

/// Keys and curves: in frame f vertex v is offset by `Σ_k curves[f, k] keys[k, v]`.
#[derive(Debug, Clone, PartialEq)]
pub struct Packed {
    /// Keys `[K, n, 3]`, m, as they are stored.
    pub keys: Vec<f32>,
    /// Curves `[F, K]` over the frames of all clips, from −1 to 1.
    pub curves: Vec<f32>,
    /// K.
    pub count: usize,
    /// n.
    pub vertex_count: usize,
    /// Step of each key's integers `[K]`, m; 0 without them.
    pub steps: Vec<f32>,
    /// Largest error of each frame as it is seen, m, of the numbers as they are stored.
    pub errors: Vec<f32>,
    /// The vertex of it.
    pub worst_vertices: Vec<u32>,
    /// Root of the mean square error over all vertices and frames, m.
    pub rms: f64,
}

impl Packed {
    /// Returns the frame with the largest error, the vertex, and the error, m.
    pub fn worst(&self) -> (usize, u32, f32) {
        let by_error =
            |a: &usize, b: &usize| self.errors[*a].total_cmp(&self.errors[*b]).then(b.cmp(a));
        let frame = (0..self.errors.len()).max_by(by_error).unwrap_or(0);
        (frame, self.worst_vertices[frame], self.errors[frame])
    }

    /// Returns the number of entries (vertices of keys) that are not 0: what sparse storage keeps.
    pub fn stored_entries(&self) -> usize {
        let moves = |x: &&[f32]| x.iter().any(|x| *x != 0.0);
        self.keys.chunks_exact(3).filter(moves).count()
    }
}
