// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rigid maps of the helpers for given weights, in each frame by itself.
//!
//! For one helper, the best rotation and translation follow from the singular vectors of a 3 x 3 matrix (weighted Procrustes, eq. 7 to
//! 10 of the paper). Helpers are fitted in turn, several times. All that this needs of the vertices are 4 x 4 moments of each pair of
//! helpers and a 3 x 4 matrix of each helper, which a turn updates. So turns cost nothing by the number of vertices.

use super::alignment::{Map, from_map, to_map};
use super::emphasis::Emphasis;
use super::places::Places;
use super::problem::Problem;
use super::procrustes::nearest_rotation;
use super::rig::Rig;
use crate::{Mat3, Vec3};
use nalgebra::{Matrix3x4, Matrix4};
use rayon::prelude::*;

/// Turns of all helpers in a frame.
const TURNS: usize = 4;

/// Weight with which a helper's former rotation joins, as a part of the square size and the skin's weight. It decides where the skin
/// says nothing: a helper of one point, or of points on a line.
const STEADINESS: f64 = 1e-7;

/// Fits the maps of all helpers.
pub(super) fn fit_transforms(problem: &Problem, rig: &mut Rig, emphasis: &Emphasis) {
    let helpers = rig.maps.len();
    let base = Moments::new(problem, rig);
    let places = Places::new(problem, rig);
    let fit = |f: usize| {
        let mut system = base.clone();
        system.add_frame(problem, &places, emphasis, f);
        let mut maps: Vec<Map> = rig.maps.iter().map(|m| m[f]).collect();
        for _ in 0..TURNS {
            for h in 0..helpers {
                system.turn(h, &mut maps);
            }
        }
        maps
    };
    let found: Vec<Vec<Map>> = (0..problem.frame_count).into_par_iter().map(fit).collect();
    for (h, maps) in rig.maps.iter_mut().enumerate() {
        for (f, map) in maps.iter_mut().enumerate() {
            *map = found[f][h];
        }
    }
}

/// Moments of the helpers' skin.
#[derive(Clone)]
struct Moments {
    helpers: usize,
    /// `Σ w_j w_k p pᵀ`, p with a last entry 1, `[h, h]`.
    pairs: Vec<Matrix4<f64>>,
    /// Helpers that share skin with each.
    beside: Vec<Vec<u32>>,
    /// `Σ w_j r pᵀ` with the residuals r, `[h]`.
    residual: Vec<Matrix3x4<f64>>,
}

impl Moments {
    /// Sums over all vertices, without residuals.
    fn new(problem: &Problem, rig: &Rig) -> Self {
        let helpers = rig.maps.len();
        let mut sums = Self {
            helpers,
            pairs: vec![Matrix4::zeros(); helpers * helpers],
            beside: vec![Vec::new(); helpers],
            residual: vec![Matrix3x4::zeros(); helpers],
        };
        for v in 0..problem.vertex_count() {
            sums.add_vertex(problem, rig, v, 1.0);
        }
        for j in 0..helpers {
            for k in 0..helpers {
                if sums.pairs[j * helpers + k][(3, 3)] > 0.0 {
                    sums.beside[j].push(k as u32);
                }
            }
        }
        sums
    }

    fn add_vertex(&mut self, problem: &Problem, rig: &Rig, v: usize, weight: f64) {
        let [x, y, z] = problem.rest[v];
        let p = nalgebra::Vector4::new(x, y, z, 1.0);
        let square = p * p.transpose() * weight;
        for &(j, wj) in &rig.skins[v].helpers {
            for &(k, wk) in &rig.skins[v].helpers {
                self.pairs[j as usize * self.helpers + k as usize] += square * (wj * wk);
            }
        }
    }

    /// Adds the residuals of a frame, and the extra weights of its vertices.
    fn add_frame(&mut self, problem: &Problem, places: &Places<'_>, emphasis: &Emphasis, f: usize) {
        let (rig, maps) = (places.rig, places.maps(f));
        let mut sums = vec![[[0.0_f64; 4]; 3]; self.helpers];
        for (v, skin) in rig.skins.iter().enumerate() {
            if skin.helpers.is_empty() {
                continue;
            }
            let weight = emphasis.weight(v, f);
            if weight > 1.0 {
                self.add_vertex(problem, rig, v, weight - 1.0);
            }
            let left = places.left(&maps, f, v);
            let [x, y, z] = problem.rest[v];
            for &(j, w) in &skin.helpers {
                for (row, r) in sums[j as usize].iter_mut().zip(left) {
                    let r = weight * w * f64::from(r);
                    let terms = [r * x, r * y, r * z, r];
                    row.iter_mut().zip(terms).for_each(|(sum, t)| *sum += t);
                }
            }
        }
        for (to, sum) in self.residual.iter_mut().zip(&sums) {
            *to += Matrix3x4::from_fn(|i, j| sum[i][j]);
        }
    }

    /// Fits one helper with the others held.
    fn turn(&mut self, h: usize, maps: &mut [Map]) {
        let own = &self.pairs[h * self.helpers + h];
        let total = own[(3, 3)];
        if total <= 0.0 {
            return;
        }
        let (linear, translation) = from_map(&maps[h]);
        let before = Matrix3x4::from_columns(&[
            linear.column(0).into(),
            linear.column(1).into(),
            linear.column(2).into(),
            translation,
        ]);
        let wanted = self.residual[h] + before * own;
        let mean: Vec3 = own.fixed_view::<3, 1>(0, 3) / total;
        let sum: Vec3 = wanted.column(3).into();
        let covariance: Mat3 = wanted.fixed_view::<3, 3>(0, 0) - sum * mean.transpose();
        let Some(rotation) = nearest_rotation(&(covariance + linear * (STEADINESS * total))) else {
            return;
        };
        let translation = sum / total - rotation * mean;
        let after = Matrix3x4::from_columns(&[
            rotation.column(0).into(),
            rotation.column(1).into(),
            rotation.column(2).into(),
            translation,
        ]);
        let change = after - before;
        for &k in &self.beside[h] {
            let k = k as usize;
            self.residual[k] -= change * self.pairs[h * self.helpers + k];
        }
        maps[h] = to_map(&rotation, &translation);
    }
}
