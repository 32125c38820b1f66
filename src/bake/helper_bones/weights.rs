// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sparse weights of each vertex for given maps: own bones and helpers whose blend is nearest to where the vertex is seen.
//!
//! The sums over frames that least squares need follow from a table of 4 x 4 blocks, one for each pair of bones, and from one product
//! of matrices. So a vertex costs little more for more frames. Frames in which it weighs more are added one by one. Only the
//! helpers that would help a vertex most by themselves are candidates.

use super::alignment::{Map, apply, dot};
use super::choice::{Choice, Columns};
use super::emphasis::Emphasis;
use super::polish::polish_skin;
use super::problem::Problem;
use super::rig::{Rig, VertexSkin};
use super::settings::HelperBonesSettings;
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
    moments: Forms,
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
            moments: Forms::new(&transposed_product(poses.as_ref(), poses.as_ref())),
            poses,
            products: products.concat(),
            squares,
        }
    }
}

/// Returns the best choice of bones of some vertices for the maps of `rig`. With `keep`, vertices that weigh 1 in all frames keep their
/// number of own bones, and a search begins with the bones that they have.
pub(super) fn fit_weights(
    problem: &Problem,
    sums: &FixedSums,
    rig: &Rig,
    emphasis: &Emphasis,
    settings: &HelperBonesSettings,
    vertices: &[u32],
    keep: bool,
) -> Vec<Choice> {
    let helpers = rig.maps.len();
    let rows = stack_maps(problem.frame_count, helpers, |f, h| &rig.maps[h][f]);
    let table = Table {
        problem,
        sums,
        rig,
        of_helpers: Forms::new(&transposed_product(rows.as_ref(), rows.as_ref())),
        with_own: Forms::new(&transposed_product(rows.as_ref(), sums.poses.as_ref())),
        plain_at_rest: settings.plain_at_rest(),
    };
    let chunks = vertices.par_chunks(CHUNK).map(|vertices| {
        let targets = stack_targets(problem, vertices);
        let products = transposed_product(rows.as_ref(), targets.as_ref());
        let choose = |(at, v): (usize, &u32)| {
            let (products, v) = (products.col_as_slice(at), *v as usize);
            let columns = table.columns(v, products, emphasis);
            let polish =
                |skin: &VertexSkin| polish_skin(problem, rig, v, skin, table.plain_at_rest);
            let polish = emphasis
                .is_raised(v)
                .then_some(&polish as super::choice::Polish<'_>);
            let (previous, influences) = (&rig.skins[v], settings.influences);
            let keep = keep && polish.is_none();
            if table.plain_at_rest {
                let groups = table.groups(v, &columns.candidates);
                let fewest = problem.own.fewest[v];
                return Shares::new(columns, groups, influences)
                    .choose(previous, fewest, polish, keep);
            }
            columns.choose(previous, influences, polish, keep)
        };
        vertices.iter().enumerate().map(choose).collect::<Vec<_>>()
    });
    chunks.collect::<Vec<_>>().concat()
}

/// Sums over frames for all pairs of bones.
struct Table<'a> {
    problem: &'a Problem,
    sums: &'a FixedSums,
    rig: &'a Rig,
    /// `Σ T_jᵀ T_k`, `[4h, 4h]`.
    of_helpers: Forms,
    /// `Σ T_jᵀ M_b`, `[4h, 4b]`.
    with_own: Forms,
    plain_at_rest: bool,
}

impl Table<'_> {
    /// Returns the columns of a vertex: candidates among the helpers, then its own bones.
    fn columns(&self, v: usize, products: &[f64], emphasis: &Emphasis) -> Columns<'_> {
        let (bones, weights) = self.problem.own.row(v);
        let own = bones.len();
        let [x, y, z] = self.problem.rest[v];
        let p = monomials(x, y, z);
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
                    (true, _) => self.of_helpers.value(candidates[i], candidates[j], &p),
                    (_, true) => self.with_own.value(candidates[j], own_bone(i), &p),
                    _ => self.sums.moments.value(own_bone(i), own_bone(j), &p),
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
    fn base(&self, v: usize, products: &[f64], p: &Monomials) -> Base<'_> {
        let (bones, weights) = self.problem.own.row(v);
        let (mut right, mut square) = (0.0, 0.0);
        for i in 0..bones.len() {
            right += weights[i] * products[i];
            for j in 0..bones.len() {
                let product = self
                    .sums
                    .moments
                    .value(bones[i] as usize, bones[j] as usize, p);
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
        p: &Monomials,
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
                .map(|(&b, w)| w * self.with_own.value(h, b as usize, p))
                .sum();
            let slope = products[h] - with - base.right + base.square;
            let length = self.of_helpers.value(h, h, p) - 2.0 * with + base.square;
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

/// Products of the coordinates of a point, of which a quadratic form is a sum.
type Monomials = [f64; 10];

fn monomials(x: f64, y: f64, z: f64) -> Monomials {
    [x * x, y * y, z * z, x * y, x * z, y * z, x, y, z, 1.0]
}

/// Quadratic forms `pᵀ S p` of the 4 x 4 blocks S of a table, p with a last entry 1.
struct Forms {
    columns: usize,
    coefficients: Vec<Monomials>,
}

impl Forms {
    fn new(table: &Mat<f64>) -> Self {
        let (rows, columns) = (table.nrows() / 4, table.ncols() / 4);
        let of_block = |at: usize| {
            let (j, k) = (4 * (at / columns), 4 * (at % columns));
            let s = |a: usize, b: usize| table[(j + a, k + b)];
            let both = |a, b| s(a, b) + s(b, a);
            let squares = [s(0, 0), s(1, 1), s(2, 2), s(3, 3)];
            [
                squares[0],
                squares[1],
                squares[2],
                both(0, 1),
                both(0, 2),
                both(1, 2),
                both(0, 3),
                both(1, 3),
                both(2, 3),
                squares[3],
            ]
        };
        Self {
            columns,
            coefficients: (0..rows * columns).map(of_block).collect(),
        }
    }

    /// Returns the form of the block (j, k).
    #[inline]
    fn value(&self, j: usize, k: usize, p: &Monomials) -> f64 {
        let c = &self.coefficients[j * self.columns + k];
        let mut sums = [0.0; 2];
        for (c, p) in c.chunks_exact(2).zip(p.chunks_exact(2)) {
            sums[0] += c[0] * p[0];
            sums[1] += c[1] * p[1];
        }
        sums[0] + sums[1]
    }
}

/// Stacks the places of vertices into `[3 frames, vertices]`.
fn stack_targets(problem: &Problem, vertices: &[u32]) -> Mat<f64> {
    let mut to = Mat::zeros(3 * problem.frame_count, vertices.len());
    for (at, &v) in vertices.iter().enumerate() {
        let column = to.col_as_slice_mut(at).chunks_exact_mut(3);
        for (f, to) in column.enumerate() {
            to.copy_from_slice(&problem.target(f, v as usize));
        }
    }
    to
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
