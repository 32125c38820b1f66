// SPDX-License-Identifier: MIT OR Apache-2.0
//! Computation of vertices from coordinates in f32: one product for many frames.

use super::rigid::RigidPlacement;
use super::space::ShapeSpace;
use crate::Vec3;
use faer::linalg::matmul::matmul;
use faer::prelude::ReborrowMut;
use faer::{Accum, Mat, MatMut, MatRef, Par};

/// Number of rows of a task.
const PANEL_ROWS: usize = 3 * 512;

/// The reduced space, laid out for frames.
pub(super) struct FrameWriter {
    /// U with a row for every coordinate of every vertex, zero at fixed ones, in panels of `PANEL_ROWS` rows. Each panel is
    /// column-major.
    basis: Vec<f32>,
    reference: Vec<Vec3>,
    /// The reference shape in single precision, and its rounding errors.
    coarse: Vec<f32>,
    fine: Vec<f32>,
}

impl FrameWriter {
    pub fn new(space: &ShapeSpace) -> Self {
        let d = space.dimension();
        let rows = 3 * space.reference.len();
        let mut basis = vec![0.0; rows * d];
        for (i, &v) in space.free.iter().enumerate() {
            for r in 0..3 {
                let row = 3 * v as usize + r;
                let first = row / PANEL_ROWS * PANEL_ROWS;
                let panel = PANEL_ROWS.min(rows - first);
                for j in 0..d {
                    basis[first * d + j * panel + row - first] = space.basis[(3 * i + r, j)] as f32;
                }
            }
        }
        let numbers = || space.reference.iter().flat_map(|x| [x.x, x.y, x.z]);
        Self {
            basis,
            reference: space.reference.clone(),
            coarse: numbers().map(|x| x as f32).collect(),
            fine: numbers()
                .map(|x| (x - f64::from(x as f32)) as f32)
                .collect(),
        }
    }

    /// Writes frames in sequence: `out[frames][n][3]`.
    pub fn write_frames(
        &self,
        coordinates: &Mat<f64>,
        places: Option<(&[RigidPlacement], Vec3)>,
        out: &mut [f32],
    ) {
        let (d, frames) = (coordinates.nrows(), coordinates.ncols());
        let rows = 3 * self.reference.len();
        if rows == 0 || frames == 0 {
            return;
        }
        let small: Vec<f32> = (0..frames)
            .flat_map(|j| (0..d).map(move |i| coordinates[(i, j)] as f32))
            .collect();
        let q = MatRef::from_column_major_slice(&small, d, frames);
        let out = MatMut::from_column_major_slice_mut(out, rows, frames);
        self.write_rows(0, q, places, out);
    }

    fn write_rows(
        &self,
        from: usize,
        q: MatRef<'_, f32>,
        places: Option<(&[RigidPlacement], Vec3)>,
        mut out: MatMut<'_, f32>,
    ) {
        let (rows, d) = (out.nrows(), q.nrows());
        if rows > PANEL_ROWS {
            let middle = (rows / 2).div_ceil(PANEL_ROWS) * PANEL_ROWS;
            let (top, bottom) = out.split_at_row_mut(middle);
            rayon::join(
                || self.write_rows(from, q, places, top),
                || self.write_rows(from + middle, q, places, bottom),
            );
            return;
        }
        let basis = &self.basis[from * d..(from + rows) * d];
        let basis = MatRef::from_column_major_slice(basis, rows, d);
        matmul(out.rb_mut(), Accum::Replace, basis, q, 1.0f32, Par::Seq);
        let reference = &self.reference[from / 3..(from + rows) / 3];
        let (coarse, fine) = (
            &self.coarse[from..from + rows],
            &self.fine[from..from + rows],
        );
        for (j, column) in out.col_iter_mut().enumerate() {
            let Some(column) = column.try_as_col_major_mut() else {
                continue;
            };
            let column = column.as_slice_mut();
            match places {
                // Double precision in effect: the small parts are added first.
                None => {
                    let reference = coarse.iter().zip(fine);
                    let sum =
                        |(x, (coarse, fine)): (&mut f32, (&f32, &f32))| *x = coarse + (fine + *x);
                    column.iter_mut().zip(reference).for_each(sum);
                }
                Some((places, pivot)) => {
                    let RigidPlacement { turn, centre } = places[j];
                    column
                        .chunks_exact_mut(3)
                        .zip(reference)
                        .for_each(|(x, r)| {
                            let own = Vec3::new(f64::from(x[0]), f64::from(x[1]), f64::from(x[2]));
                            let placed = turn * (r + own - pivot) + centre;
                            (0..3).for_each(|k| x[k] = placed[k] as f32);
                        });
                }
            }
        }
    }
}
