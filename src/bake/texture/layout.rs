// SPDX-License-Identifier: MIT OR Apache-2.0
//! Places of vertices and frames in a texture: rows are frames, columns are vertices, wrapped over several rows where there are many.
//!
//! Vertices are wrapped in rows of equal length, so that fewer texels than rows are left empty in a frame.

use crate::bake::BakeError;
use std::ops::Range;

/// Largest size of a texture that graphics devices of today take.
pub(super) const MAX_TEXTURE_SIZE: usize = 16384;

/// Places of the texels of all frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Layout {
    pub vertices: usize,
    /// Frames of all clips, from the top.
    pub frames: usize,
    pub columns: usize,
    pub rows_per_frame: usize,
}

impl Layout {
    /// Lays vertices and frames out in a texture of at most `max_size` texels a side.
    pub fn new(vertices: usize, frames: usize, max_size: usize) -> Result<Self, BakeError> {
        if !(1..=MAX_TEXTURE_SIZE).contains(&max_size) {
            return Err(BakeError::Setting {
                what: "max_size",
                range: "from 1 to 16384",
                value: max_size as f64,
            });
        }
        let rows_per_frame = vertices.div_ceil(max_size).max(1);
        let layout = Self {
            vertices,
            frames,
            columns: vertices.div_ceil(rows_per_frame),
            rows_per_frame,
        };
        match layout.height() <= max_size {
            true => Ok(layout),
            false => Err(BakeError::TextureSize {
                frames,
                vertices,
                width: layout.columns,
                height: layout.height(),
                max_size,
            }),
        }
    }

    /// Returns the number of rows of the texture.
    pub fn height(&self) -> usize {
        self.frames.saturating_mul(self.rows_per_frame)
    }

    /// Returns the frame in a row, and its vertices there.
    pub fn content(&self, row: usize) -> (usize, Range<usize>) {
        let first = row % self.rows_per_frame * self.columns;
        let end = (first + self.columns).min(self.vertices);
        (row / self.rows_per_frame, first.min(end)..end)
    }

    /// Returns the centre of a vertex's texel in the first frame, with v from the bottom of the texture, as float32 holds it.
    pub fn texel(&self, vertex: usize) -> [f32; 2] {
        let (row, column) = (vertex / self.columns, vertex % self.columns);
        let (u, v) = (column as f64 + 0.5, row as f64 + 0.5);
        let (u, v) = (u / self.columns as f64, 1.0 - v / self.height() as f64);
        [u as f32, v as f32]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Vertices are wrapped in equal rows, each at a texel of its own, all of them in every frame.
    #[test]
    fn layout_wraps_vertices() {
        let layout = Layout::new(10, 3, 9).unwrap();
        assert_eq!(
            (layout.columns, layout.rows_per_frame, layout.height()),
            (5, 2, 6)
        );
        let rows: Vec<_> = (0..6).map(|row| layout.content(row)).collect();
        assert_eq!(rows[..3], [(0, 0..5), (0, 5..10), (1, 0..5)]);
        let layout = Layout::new(7, 1, 3).unwrap();
        assert_eq!((layout.columns, layout.rows_per_frame), (3, 3));
        assert_eq!(layout.content(2), (0, 6..7));
        assert_eq!(
            layout.texel(6),
            [(0.5_f64 / 3.0) as f32, (1.0 - 2.5_f64 / 3.0) as f32]
        );
    }

    /// Each vertex has one texel, rows are no longer than permitted, and none is empty.
    #[test]
    fn layout_fills_rows() {
        for vertices in 1..40 {
            for size in 8..20 {
                let Ok(layout) = Layout::new(vertices, 1, size) else {
                    continue;
                };
                let counts = (0..layout.height()).map(|row| layout.content(row).1.len());
                let counts: Vec<usize> = counts.collect();
                assert_eq!(counts.iter().sum::<usize>(), vertices);
                assert!(counts.iter().all(|count| (1..=size).contains(count)));
            }
        }
    }

    /// What does not fit is refused with the size that it needs.
    #[test]
    fn layout_refuses_large_textures() {
        let error = Layout::new(28_000, 2500, 8192).unwrap_err();
        let size = BakeError::TextureSize {
            frames: 2500,
            vertices: 28_000,
            width: 7000,
            height: 10_000,
            max_size: 8192,
        };
        assert_eq!(error, size);
        assert_eq!(Layout::new(28_000, 2500, 16384).unwrap().rows_per_frame, 2);
        for bad in [0, 16385] {
            assert!(matches!(
                Layout::new(3, 3, bad),
                Err(BakeError::Setting { .. })
            ));
        }
    }
}
