// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sparse weights of each vertex for given maps: own bones and helpers whose blend is nearest to where the vertex is seen.
//!
//! The sums over frames that least squares need follow from a table of 4 x 4 blocks, one for each pair of bones, and from one product
//! of matrices. So a vertex costs little more for more frames. Frames in which it weighs more are added one by one. Only the
//! helpers that would help a vertex most by themselves are candidates.

use super::HelperBonesSettings;
use super::alignment::{Map, apply, dot};
use super::choice::{Choice, Columns};
use super::emphasis::Emphasis;
use super::polish::polish_skin;
use super::problem::Problem;
use super::rig::{Rig, VertexSkin};
use super::shares::Shares;
use super::simplex::gain_towards;
use faer::{Accum, Mat, MatRef, Par};
use rayon::prelude::*;

/// Vertices whose products are computed together.
const CHUNK: usize = 64;

/// Helpers that are considered for a vertex. With half of them the largest error of 32 helpers was 1.4 times as large on two lively clips.
const CANDIDATES: usize = 20;

/// Sums over the frames of a problem that no helper changes.
pub(super) struct FixedSums {
    /// Maps of the character's bones, `[3f, 4b]`.
    poses: Mat<f64>,
    /// `Σ M_aᵀ M_b`, `[4b, 4b]`.
    moments: Mat<f64>,
    /// `Σ (M_b p)·v` for each entry of the own skin.
    products: Vec<f64>,
    /// `Σ |v|²` for each vertex.
    squares: Vec<f64>,
}

impl FixedSums {
    /// Computes them.
    pub(super) fn new(problem: &Problem) -> Self {
        let poses = stack_maps(problem.frame_count, problem.bone_count, |f, b| {
            &problem.pose(f)[b]
        });
        let of_vertex = |v: usize| {
            let (bones, _) = problem.own.row(v);
            let (mut products, mut square) = (vec![0.0; bones.len()], 0.0);
            for f in 0..problem.frame_count {
                let (to, pose) = (problem.target(f, v), problem.pose(f));
                square += dot(&to, &to);
                for (sum, &b) in products.iter_mut().zip(bones) {
                    *sum += dot(&apply(&pose[b as usize], &problem.rest[v]), &to);
                }
            }
            (products, square)
        };
        let vertices = (0..problem.vertex_count()).into_par_iter();
        let (products, squares): (Vec<_>, Vec<_>) =
            vertices.with_min_len(64).map(of_vertex).unzip();
        Self {
            moments: transposed_product(poses.as_ref(), poses.as_ref()),
            poses,
            products: products.concat(),
            squares,
        }
    }
}

/// Returns the best choice of bones of each vertex for the maps of `rig`.
pub(super) fn fit_weights(
    problem: &Problem,
    sums: &FixedSums,
    rig: &Rig,
    emphasis: &Emphasis,
    settings: &HelperBonesSettings,
) -> Vec<Choice> {
    let helpers = rig.maps.len();
    let rows = stack_maps(problem.frame_count, helpers, |f, h| &rig.maps[h][f]);
    let table = Table {
        problem,
        sums,
        rig,
        of_helpers: transposed_product(rows.as_ref(), rows.as_ref()),
        with_own: transposed_product(rows.as_ref(), sums.poses.as_ref()),
        plain_at_rest: settings.plain_at_rest(),
    };
    let count = problem.vertex_count();
    let chunks = (0..count.div_ceil(CHUNK)).into_par_iter().map(|chunk| {
        let vertices = chunk * CHUNK..((chunk + 1) * CHUNK).min(count);
        let targets = Mat::from_fn(3 * problem.frame_count, vertices.len(), |i, v| {
            f64::from(problem.targets[3 * (i / 3 * count + vertices.start + v) + i % 3])
        });
        let products = transposed_product(rows.as_ref(), targets.as_ref());
        let choose = |v: usize| {
            let products = products.col_as_slice(v - vertices.start);
            let columns = table.columns(v, products, emphasis);
            let polish =
                |skin: &VertexSkin| polish_skin(problem, rig, v, skin, table.plain_at_rest);
            let polish = emphasis
                .is_raised(v)
                .then_some(&polish as super::choice::Polish<'_>);
            let (previous, influences) = (&rig.skins[v], settings.influences);
            if table.plain_at_rest {
                let groups = table.groups(v, &columns.candidates);
                let fewest = problem.own.fewest[v];
                return Shares::new(columns, groups, influences).choose(previous, fewest, polish);
            }
            columns.choose(previous, influences, polish)
        };
        vertices.clone().map(choose).collect::<Vec<_>>()
    });
    chunks.collect::<Vec<_>>().concat()
}

/// Sums over frames for all pairs of bones.
struct Table<'a> {
    problem: &'a Problem,
    sums: &'a FixedSums,
    rig: &'a Rig,
    /// `Σ T_jᵀ T_k`, `[4h, 4h]`.
    of_helpers: Mat<f64>,
    /// `Σ T_jᵀ M_b`, `[4h, 4b]`.
    with_own: Mat<f64>,
    plain_at_rest: bool,
}

impl Table<'_> {
    /// Returns the columns of a vertex: candidates among the helpers, then its own bones.
    fn columns(&self, v: usize, products: &[f64], emphasis: &Emphasis) -> Columns<'_> {
        let (bones, weights) = self.problem.own.row(v);
        let own = bones.len();
        let [x, y, z] = self.problem.rest[v];
        let p = [x, y, z, 1.0];
        let of_products = |q: &[f64]| q[0] * x + q[1] * y + q[2] * z + q[3];
        let products: Vec<f64> = products.chunks_exact(4).map(of_products).collect();
        let first = self.problem.own.offsets[v];
        let own_products = &self.sums.products[first..first + own];
        let base = self.base(v, own_products, &p);
        let candidates = self.candidates(v, &products, &base, &p, emphasis);

        let (helpers, size) = (candidates.len(), candidates.len() + own);
        let mut gram = vec![0.0; size * size];
        for i in 0..size {
            for j in 0..=i {
                let own_bone = |i: usize| bones[i - helpers] as usize;
                gram[i * size + j] = match (i < helpers, j < helpers) {
                    (true, _) => form(&self.of_helpers, candidates[i], candidates[j], &p),
                    (_, true) => form(&self.with_own, candidates[j], own_bone(i), &p),
                    _ => form(&self.sums.moments, own_bone(i), own_bone(j), &p),
                };
            }
        }
        let mut right: Vec<f64> = candidates.iter().map(|&h| products[h]).collect();
        right.extend_from_slice(own_products);
        let mut columns = Columns::new(candidates, weights, gram, right, self.sums.squares[v]);
        for (f, extra) in emphasis.extra(v) {
            let pose = self.problem.pose(f);
            let map = |h: Option<usize>, own: usize| -> &Map {
                h.map_or(&pose[bones[own] as usize], |h| &self.rig.maps[h][f])
            };
            let place = |h, own| apply(map(h, own), &self.problem.rest[v]);
            columns.add_frame(extra, &self.problem.target(f, v), place);
        }
        columns
    }

    /// Returns the place of each candidate's parent among the own bones of a vertex.
    fn groups(&self, v: usize, candidates: &[usize]) -> Vec<usize> {
        let (bones, _) = self.problem.own.row(v);
        let place = |h: &usize| bones.iter().position(|b| *b == self.rig.parents[*h]);
        candidates.iter().filter_map(place).collect()
    }

    /// Returns the blend of the own bones.
    fn base(&self, v: usize, products: &[f64], p: &[f64; 4]) -> Base<'_> {
        let (bones, weights) = self.problem.own.row(v);
        let (mut right, mut square) = (0.0, 0.0);
        for i in 0..bones.len() {
            right += weights[i] * products[i];
            for j in 0..bones.len() {
                let product = form(&self.sums.moments, bones[i] as usize, bones[j] as usize, p);
                square += weights[i] * weights[j] * product;
            }
        }
        Base {
            bones,
            weights,
            right,
            square,
        }
    }

    /// Returns the helpers of the vertex, and those that lower its distance most beside its own bones.
    fn candidates(
        &self,
        v: usize,
        products: &[f64],
        base: &Base<'_>,
        p: &[f64; 4],
        emphasis: &Emphasis,
    ) -> Vec<usize> {
        let usable: Vec<usize> = (0..products.len())
            .filter(|&h| !self.plain_at_rest || base.bones.contains(&self.rig.parents[h]))
            .collect();
        if usable.len() <= CANDIDATES {
            return usable;
        }
        let gain = |h: usize| {
            let with: f64 = (base.bones.iter().zip(base.weights))
                .map(|(&b, w)| w * form(&self.with_own, h, b as usize, p))
                .sum();
            let slope = products[h] - with - base.right + base.square;
            let length = form(&self.of_helpers, h, h, p) - 2.0 * with + base.square;
            gain_towards(slope, length)
        };
        let held = |h: usize| {
            self.rig.skins[v]
                .helpers
                .iter()
                .any(|&(g, _)| g as usize == h)
        };
        let gain = |&h: &usize| (if held(h) { f64::INFINITY } else { gain(h) }, h);
        let mut gains: Vec<(f64, usize)> = usable.iter().map(gain).collect();
        gains.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let mut kept: Vec<usize> = gains[..CANDIDATES].iter().map(|g| g.1).collect();
        for h in self.candidates_of_raised_frames(v, emphasis) {
            if !kept.contains(&h) && usable.contains(&h) {
                kept.push(h);
            }
        }
        kept
    }

    /// Returns the helpers towards which the vertex comes nearest in the frames in which it weighs more.
    fn candidates_of_raised_frames(&self, v: usize, emphasis: &Emphasis) -> Vec<usize> {
        if !emphasis.is_raised(v) {
            return Vec::new();
        }
        let mut sums = vec![(0.0, 0.0); self.rig.maps.len()];
        for (f, extra) in emphasis.extra(v) {
            let at = self.rig.position(self.problem, f, v);
            let to = self.problem.target(f, v);
            let left: [f64; 3] = std::array::from_fn(|i| to[i] - at[i]);
            for (maps, sum) in self.rig.maps.iter().zip(&mut sums) {
                let x = apply(&maps[f], &self.problem.rest[v]);
                let way: [f64; 3] = std::array::from_fn(|i| x[i] - at[i]);
                sum.0 += extra * dot(&way, &left);
                sum.1 += extra * dot(&way, &way);
            }
        }
        let gains = sums.iter().map(|s| gain_towards(s.0, s.1)).enumerate();
        let mut gains: Vec<(usize, f64)> = gains.filter(|g| g.1 > 0.0).collect();
        gains.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        gains.iter().take(CANDIDATES / 2).map(|g| g.0).collect()
    }
}

/// Blend of the own bones of a vertex: its weights, and its products with the target and itself.
struct Base<'a> {
    bones: &'a [u32],
    weights: &'a [f64],
    right: f64,
    square: f64,
}

/// Returns `pᵀ S p` of the block (j, k) of a table, p with a last entry 1.
#[inline]
fn form(table: &Mat<f64>, j: usize, k: usize, p: &[f64; 4]) -> f64 {
    let mut sum = 0.0;
    for (b, pb) in p.iter().enumerate() {
        let column = &table.col_as_slice(4 * k + b)[4 * j..4 * j + 4];
        sum += pb * (column[0] * p[0] + column[1] * p[1] + column[2] * p[2] + column[3] * p[3]);
    }
    sum
}

/// Stacks maps into `[3 frames, 4 count]`.
fn stack_maps<'m>(frames: usize, count: usize, map: impl Fn(usize, usize) -> &'m Map) -> Mat<f64> {
    Mat::from_fn(3 * frames, 4 * count, |row, column| {
        map(row / 3, column / 4)[4 * (row % 3) + column % 4]
    })
}

/// Returns `Aᵀ B`.
fn transposed_product(a: MatRef<'_, f64>, b: MatRef<'_, f64>) -> Mat<f64> {
    let mut to = Mat::zeros(a.ncols(), b.ncols());
    let a = a.transpose();
    faer::linalg::matmul::matmul(&mut to, Accum::Replace, a, b, 1.0, Par::Seq);
    to
}
