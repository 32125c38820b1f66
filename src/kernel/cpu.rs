// SPDX-License-Identifier: MIT OR Apache-2.0
//! The embedding on the processor: the weights of all vertices in one packed stream.
//!
//! A lattice of tetrahedra needs four weights, 32 bytes a vertex. Rows of more than eight weights have lengths of their
//! own. The lattice's own positions, a few thousand bytes, stay in the L1 cache. Each is four floats wide, so that a
//! vertex takes four multiply-adds of whole registers.
//! Large surfaces are cut into fixed chunks over threads. Every vertex is computed alone, so the result does not
//! depend on the number of threads.

use super::target::{OutputWriter, with_form};
use super::{Engine, KernelError, LocalPositions, OutputSpace};
use crate::lattice::Embedding;
use rayon::prelude::*;

/// Vertices per chunk; surfaces with fewer than two chunks stay on one thread.
const CHUNK_VERTICES: usize = 8192;

/// A surface's embedding, packed for the processor.
#[derive(Debug, Clone)]
pub struct CpuEmbedding {
    rows: PackedRows,
    lattice_vertices: usize,
}

/// Rows of a surface: four or eight wide if that suffices for every vertex.
#[derive(Debug, Clone)]
pub(super) enum PackedRows {
    Four(Vec<PackedRow<4>>),
    Eight(Vec<PackedRow<8>>),
    Long(LongRows),
}

/// Runs code with the rows of a surface as a [`RowSource`].
macro_rules! with_rows {
    ($rows:expr, $packed:ident => $code:expr) => {
        match $rows {
            PackedRows::Four(rows) => {
                let $packed = rows.as_slice();
                $code
            }
            PackedRows::Eight(rows) => {
                let $packed = rows.as_slice();
                $code
            }
            PackedRows::Long($packed) => $code,
        }
    };
}
pub(super) use with_rows;

/// Rows of consecutive surface vertices.
pub(super) trait RowSource: Copy + Send + Sync {
    /// Returns the number of rows.
    fn count(self) -> usize;

    /// Returns the rows from `first` on.
    fn rows_from(self, first: usize) -> impl Iterator<Item: WeightedRow>;
}

/// Lattice vertices and weights of one surface vertex.
pub(super) trait WeightedRow {
    /// Returns the weighted mean of values of the lattice vertices.
    fn mean(&self, of: &[[f32; 4]]) -> [f32; 4];
}

/// Lattice vertices and weights of one surface vertex; unused entries have weight zero.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(super) struct PackedRow<const N: usize> {
    pub indices: [u32; N],
    pub weights: [f32; N],
}

/// Rows of any length, one after the other.
#[derive(Debug, Clone)]
pub(super) struct LongRows {
    starts: Vec<u32>,
    entries: Vec<(u32, f32)>,
}

impl<const N: usize> RowSource for &[PackedRow<N>] {
    #[inline(always)]
    fn count(self) -> usize {
        self.len()
    }

    #[inline(always)]
    fn rows_from(self, first: usize) -> impl Iterator<Item: WeightedRow> {
        self[first..].iter()
    }
}

impl<const N: usize> WeightedRow for &PackedRow<N> {
    #[inline(always)]
    fn mean(&self, of: &[[f32; 4]]) -> [f32; 4] {
        let entries = self.indices.iter().zip(&self.weights);
        mean(entries.map(|(&index, &w)| (index, w)), of)
    }
}

impl RowSource for &LongRows {
    fn count(self) -> usize {
        self.starts.len() - 1
    }

    #[inline(always)]
    fn rows_from(self, first: usize) -> impl Iterator<Item: WeightedRow> {
        let ends = self.starts[first..].windows(2);
        ends.map(|s| &self.entries[s[0] as usize..s[1] as usize])
    }
}

impl WeightedRow for &[(u32, f32)] {
    #[inline(always)]
    fn mean(&self, of: &[[f32; 4]]) -> [f32; 4] {
        mean(self.iter().copied(), of)
    }
}

#[inline(always)]
fn mean(entries: impl Iterator<Item = (u32, f32)>, of: &[[f32; 4]]) -> [f32; 4] {
    let mut sum = [0.0f32; 4];
    for (index, w) in entries {
        for (s, p) in sum.iter_mut().zip(&of[index as usize]) {
            *s += w * p;
        }
    }
    sum
}

impl LongRows {
    fn new(embedding: &Embedding, lattice_vertices: usize) -> Result<Self, KernelError> {
        let mut all = Self {
            starts: vec![0],
            entries: Vec::new(),
        };
        for vertex in 0..embedding.len() {
            for (index, weight) in embedding.row(vertex) {
                let index = check_index(vertex, index, lattice_vertices)?;
                all.entries.push((index, weight as f32));
            }
            all.starts.push(all.entries.len() as u32);
        }
        Ok(all)
    }

    /// Returns the rows as wide as the longest, as `width` indices and `width` weights each, and the width. Unused entries
    /// have weight zero.
    #[cfg(any(feature = "gpu", test))]
    pub(super) fn pad_rows(&self) -> (usize, Vec<u32>) {
        let lengths = self.starts.windows(2).map(|s| (s[1] - s[0]) as usize);
        let width = lengths.max().unwrap_or(0);
        let mut all = vec![0; 2 * width * (self.starts.len() - 1)];
        for (row, s) in all.chunks_exact_mut(2 * width).zip(self.starts.windows(2)) {
            let entries = &self.entries[s[0] as usize..s[1] as usize];
            for (k, &(index, weight)) in entries.iter().enumerate() {
                (row[k], row[width + k]) = (index, weight.to_bits());
            }
        }
        (width, all)
    }
}

impl PackedRows {
    /// Packs an embedding in a lattice of `lattice_vertices` vertices.
    ///
    /// # Errors
    /// A lattice vertex that does not exist.
    pub(super) fn new(embedding: &Embedding, lattice_vertices: usize) -> Result<Self, KernelError> {
        let lengths = (0..embedding.len()).map(|vertex| embedding.row(vertex).len());
        Ok(match lengths.max().unwrap_or(0) {
            0..=4 => Self::Four(pack(embedding, lattice_vertices)?),
            5..=8 => Self::Eight(pack(embedding, lattice_vertices)?),
            _ => Self::Long(LongRows::new(embedding, lattice_vertices)?),
        })
    }

    /// Embeds every surface vertex at the lattice vertex of the same number.
    pub(super) fn identity(vertices: usize) -> Self {
        let row = |v: usize| PackedRow {
            indices: [v as u32, 0, 0, 0],
            weights: [1.0, 0.0, 0.0, 0.0],
        };
        Self::Four((0..vertices).map(row).collect())
    }

    /// Returns the memory used, bytes.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Four(rows) => size_of_val(rows.as_slice()),
            Self::Eight(rows) => size_of_val(rows.as_slice()),
            Self::Long(rows) => {
                size_of_val(rows.starts.as_slice()) + size_of_val(rows.entries.as_slice())
            }
        }
    }

    /// Returns the number of surface vertices.
    pub(super) fn len(&self) -> usize {
        with_rows!(self, rows => rows.count())
    }
}

impl CpuEmbedding {
    /// Packs an embedding in a lattice of `lattice_vertices` vertices.
    ///
    /// # Errors
    /// A lattice vertex that does not exist.
    pub fn new(embedding: &Embedding, lattice_vertices: usize) -> Result<Self, KernelError> {
        Ok(Self {
            rows: PackedRows::new(embedding, lattice_vertices)?,
            lattice_vertices,
        })
    }

    /// Returns the packed rows.
    pub(super) fn rows(&self) -> &PackedRows {
        &self.rows
    }
}

impl Engine for CpuEmbedding {
    fn name(&self) -> &'static str {
        "cpu"
    }

    fn vertices(&self) -> usize {
        self.rows.len()
    }

    fn lattice_vertices(&self) -> usize {
        self.lattice_vertices
    }

    fn embed_to(
        &self,
        lattice: &LocalPositions,
        target: &OutputSpace,
        out: &mut [f32],
    ) -> Result<(), KernelError> {
        let (expected, given) = (self.lattice_vertices, lattice.points.len());
        if expected != given {
            return Err(KernelError::Lattice { expected, given });
        }
        let (expected, given) = (3 * self.vertices(), out.len());
        if expected != given {
            return Err(KernelError::Output { expected, given });
        }
        let wide = |&[x, y, z]: &[f32; 3]| [x, y, z, 0.0];
        let points: Vec<[f32; 4]> = lattice.points.iter().map(wide).collect();
        with_form!(target.position_form(lattice.origin), put => {
            with_rows!(&self.rows, rows => embed_all_rows(rows, &points, put, out));
        });
        Ok(())
    }
}

fn pack<const N: usize>(
    embedding: &Embedding,
    lattice_vertices: usize,
) -> Result<Vec<PackedRow<N>>, KernelError> {
    let row = |vertex: usize| {
        let mut row = PackedRow {
            indices: [0; N],
            weights: [0.0; N],
        };
        for (to, (index, weight)) in embedding.row(vertex).enumerate() {
            row.indices[to] = check_index(vertex, index, lattice_vertices)?;
            row.weights[to] = weight as f32;
        }
        Ok(row)
    };
    (0..embedding.len()).map(row).collect()
}

/// Returns a lattice vertex of a row, if there is one of that number.
fn check_index(vertex: usize, index: usize, count: usize) -> Result<u32, KernelError> {
    let of = index as u32;
    if index < count {
        return Ok(of);
    }
    Err(KernelError::OutOfRange {
        vertex,
        index: of,
        count,
    })
}

fn embed_all_rows(
    rows: impl RowSource,
    points: &[[f32; 4]],
    put: impl OutputWriter,
    out: &mut [f32],
) {
    if rows.count() < 2 * CHUNK_VERTICES {
        embed_rows(0, rows, points, put, out);
    } else {
        let chunks = out.par_chunks_mut(3 * CHUNK_VERTICES).enumerate();
        chunks.for_each(|(i, out)| embed_rows(i * CHUNK_VERTICES, rows, points, put, out));
    }
}

fn embed_rows(
    first: usize,
    rows: impl RowSource,
    points: &[[f32; 4]],
    put: impl OutputWriter,
    out: &mut [f32],
) {
    for (row, out) in rows.rows_from(first).zip(out.chunks_exact_mut(3)) {
        let [x, y, z, _] = row.mean(points);
        put.put(out, [x, y, z]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Vec3;

    /// Returns a repeatable number between 0 and 1.
    fn number(i: usize, j: usize) -> f64 {
        let x = (i as f64 * 12.9898 + j as f64 * 78.233 + 1.0).sin() * 43758.5453;
        x - x.floor()
    }

    fn embedding(vertices: usize, lattice: usize, corners: usize) -> Embedding {
        Embedding::from_rows(
            lattice,
            (0..vertices).map(|v| (0, row(v, lattice, corners))),
        )
        .unwrap()
    }

    /// Returns different vertices with weights that sum to one.
    fn row(v: usize, lattice: usize, corners: usize) -> Vec<(u32, f64)> {
        let first = (number(v, 0) * lattice as f64) as usize;
        let weights: Vec<f64> = (0..corners).map(|k| number(v, k + 10) + 0.01).collect();
        let total: f64 = weights.iter().sum();
        let vertex = |k: usize| ((first + k * (lattice / corners)) % lattice) as u32;
        let entry = |(k, w): (usize, &f64)| (vertex(k), w / total);
        weights.iter().enumerate().map(entry).collect()
    }

    fn positions(n: usize, offset: Vec3) -> Vec<Vec3> {
        let p = |i| Vec3::new(number(i, 1), number(i, 2), number(i, 3)) * 2.0 + offset;
        (0..n).map(p).collect()
    }

    /// Returns the largest distance between the kernel and the embedding in f64, relative to a position.
    fn error(e: &Embedding, positions: &[Vec3], about: Vec3) -> f64 {
        let kernel = CpuEmbedding::new(e, positions.len()).unwrap();
        let out = kernel.embed(&LocalPositions::new(positions)).unwrap();
        let mut worst: f64 = 0.0;
        for (i, p) in out.chunks_exact(3).enumerate() {
            let p = Vec3::new(p[0].into(), p[1].into(), p[2].into());
            worst = worst.max(((p - about) - (e.position(i, positions) - about)).norm());
        }
        worst
    }

    /// The kernel agrees with the embedding in double precision for every kind of cell.
    #[test]
    fn embed_matches_double_precision() {
        for corners in [4, 6, 8, 9, 27] {
            let e = embedding(500, 60, corners);
            assert!(error(&e, &positions(60, Vec3::zeros()), Vec3::zeros()) < 1e-6);
        }
    }

    /// Rows of four and eight weights together are stored as rows of eight.
    #[test]
    fn mixed_cells_pack_wide() {
        let corners = |v: usize| if v < 100 { 4 } else { 8 };
        let rows = (0..200).map(|v| (0, row(v, 60, corners(v))));
        let e = Embedding::from_rows(60, rows).unwrap();
        assert!(matches!(PackedRows::new(&e, 60), Ok(PackedRows::Eight(_))));
        assert!(error(&e, &positions(60, Vec3::zeros()), Vec3::zeros()) < 1e-6);
    }

    /// Far from the origin only the result is rounded, and relative positions keep the shape.
    #[test]
    fn far_origin_rounds_result_only() {
        let far = Vec3::new(1e6, -1e6, 3e5);
        let e = embedding(500, 60, 4);
        let worst = error(&e, &positions(60, far), far);
        // Half a unit in the last place of 1e6 is 0.031; a body computed in f32 there would be off by several.
        assert!(worst < 0.031 * 3f64.sqrt() + 1e-6, "{worst}");
        // Relative positions keep the shape to rounding of its own size.
        let local = LocalPositions::new(&positions(60, far));
        for (i, p) in positions(60, far).iter().enumerate() {
            assert!((local.world(i) - p).norm() < 3e-7);
        }
    }

    /// The division into chunks does not change a bit of the result.
    #[test]
    fn chunks_keep_bits() {
        for corners in [4, 9] {
            let e = embedding(3 * CHUNK_VERTICES + 17, 350, corners);
            let at = LocalPositions::new(&positions(350, Vec3::repeat(3.0)));
            let whole = CpuEmbedding::new(&e, 350).unwrap().embed(&at).unwrap();
            for start in [0, 5, CHUNK_VERTICES - 1, 2 * CHUNK_VERTICES + 3] {
                let rows = (start..start + 40).map(|v| (0, row(v, 350, corners)));
                let part = Embedding::from_rows(350, rows).unwrap();
                let part = CpuEmbedding::new(&part, 350).unwrap().embed(&at).unwrap();
                assert_eq!(part, whole[3 * start..3 * (start + 40)]);
            }
        }
    }

    /// Long rows are padded to the length of the longest.
    #[test]
    fn long_rows_pad_to_longest() {
        let rows = [3, 9, 11].map(|corners| (0, row(corners, 60, corners)));
        let e = Embedding::from_rows(60, rows).unwrap();
        let Ok(PackedRows::Long(long)) = PackedRows::new(&e, 60) else {
            panic!("eleven weights need long rows");
        };
        let (width, all) = long.pad_rows();
        assert_eq!((width, all.len()), (11, 3 * 22));
        for (row, i) in all.chunks_exact(22).zip(0..) {
            let given = e
                .row(i)
                .map(|(index, w)| (index as u32, (w as f32).to_bits()));
            let empty = std::iter::repeat((0, 0));
            let found = row[..11].iter().copied().zip(row[11..].iter().copied());
            assert!(found.eq(given.chain(empty).take(11)));
        }
    }

    /// Wrong lengths and indices are refused.
    #[test]
    fn embed_refuses_bad_lengths() {
        let e = embedding(10, 60, 4);
        assert!(matches!(
            CpuEmbedding::new(&e, 5),
            Err(KernelError::OutOfRange { count: 5, .. })
        ));
        let long = embedding(10, 60, 9);
        assert!(matches!(
            CpuEmbedding::new(&long, 5),
            Err(KernelError::OutOfRange { count: 5, .. })
        ));
        let kernel = CpuEmbedding::new(&e, 60).unwrap();
        let at = LocalPositions::new(&positions(59, Vec3::zeros()));
        assert_eq!(
            kernel.embed(&at),
            Err(KernelError::Lattice {
                expected: 60,
                given: 59
            })
        );
        let at = LocalPositions::new(&positions(60, Vec3::zeros()));
        let mut short = vec![0.0; 29];
        assert_eq!(
            kernel.embed_into(&at, &mut short),
            Err(KernelError::Output {
                expected: 30,
                given: 29
            })
        );
        let empty = CpuEmbedding::new(&Embedding::default(), 0).unwrap();
        assert_eq!(empty.embed(&LocalPositions::new(&[])), Ok(vec![]));
    }
}
