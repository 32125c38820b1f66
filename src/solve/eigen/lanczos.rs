// SPDX-License-Identifier: MIT OR Apache-2.0
//! Block Lanczos for `(K − σ M)⁻¹ M`, self-adjoint in the inner product of M, with full
//! reorthogonalisation [grimes1994] and thick restart [wu2000].
//!
//! The basis is `V = [V₀ … V_j]`, `VᵀMV = I`, and `OP V = V T + Q R Eᵀ` with the next block `Q` and `E` the last
//! columns. All entries of T are inner products that the orthogonalisation computes anyway, so a restart
//! needs no special case: kept Ritz vectors are columns of V whose coupling to Q is found when Q is expanded.
//! Where the block loses rank, new random directions replace the lost columns; their rows of R are zero. Vectors
//! found earlier (`locked`) are projected out.

use super::pencil::{Pencil, RESIDUAL_ROUNDING};
use crate::progress::{Cancelled, Progress, report_progress};
use crate::solve::SolveError;
use crate::solve::tall;
use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatRef, Par};

/// Norm of a direction, as a share of the operator's, below which it is rounding.
const RANK_TOLERANCE: f64 = 1e-13;
/// Ratio of squared lengths inside a block below which a second orthonormalisation is needed.
const REORTHOGONALISATION_RATIO: f64 = 1e-5;
/// Ratio of squared lengths inside a block below which the short directions get a round of their own.
const SEPARATE_ROUND_RATIO: f64 = 1e-10;

/// Settings of a search.
pub(super) struct LanczosSearch<'a> {
    pub pencil: &'a Pencil<'a>,
    /// Eigenvectors found earlier, M-orthonormal, and their eigenvalues, ascending.
    pub locked: MatRef<'a, f64>,
    pub known: &'a [f64],
    /// Maximum number of eigenpairs in addition to the locked ones.
    pub wanted: usize,
    /// The search may end early when `total` of the locked and found ones lie below all others.
    pub total: usize,
    pub block: usize,
    /// Number of columns of the basis that triggers a restart.
    pub room: usize,
    pub max_restarts: usize,
    pub tolerance: f64,
    pub seed: u64,
}

/// Result of a search.
pub(super) struct LanczosResult {
    /// Eigenvectors, M-orthonormal, by ascending eigenvalue.
    pub vectors: Mat<f64>,
    pub values: Vec<f64>,
    /// Lower bound for the next eigenvalue that this search saw; `None` at the end of the spectrum.
    pub next: Option<f64>,
    /// Number of columns solved for.
    pub solves: usize,
    pub restarts: usize,
    /// Whether the search met its goal or exhausted the space.
    pub complete: bool,
}

struct LanczosBasis<'a> {
    search: &'a LanczosSearch<'a>,
    v: Mat<f64>,
    t: Mat<f64>,
    /// Number of columns in T; the current block follows them in `v`.
    known: usize,
    width: usize,
    /// The mass times the current block.
    mass_block: Mat<f64>,
    /// Coupling R from the last columns to the current block.
    coupling: Mat<f64>,
    /// First column of the basis in the first pass of the next orthogonalisation.
    recent: usize,
    /// Largest norm of a column of `OP V`.
    scale: f64,
    solves: usize,
    draws: u64,
}

/// Ritz values of the operator, descending, their vectors in the basis, and the residuals.
struct RitzPairs {
    theta: Vec<f64>,
    vectors: Mat<f64>,
    /// M-norm of `OP x − θ x`.
    error: Vec<f64>,
    /// Euclidean norm of `K x − λ M x`.
    residual: Vec<f64>,
}

/// Runs a search.
pub(super) fn run(
    search: &LanczosSearch<'_>,
    progress: &dyn Progress,
) -> Result<LanczosResult, LanczosError> {
    let mut basis = LanczosBasis::start(search)?;
    let mut restarts = 0;
    let mut next_check = (search.wanted + search.wanted / 2).min(search.room);
    let mut reported = 0.0f64;
    loop {
        basis.expand()?;
        let exhausted = basis.width == 0;
        let full = basis.known + 2 * basis.width > basis.v.ncols() || basis.known >= search.room;
        if !(exhausted || full || basis.known >= next_check) {
            let expected = basis.known as f64 / (3 * search.wanted + 2 * search.block) as f64;
            reported = reported.max(0.5 * expected.min(1.0));
            report_progress(progress, reported, "Modes")?;
            continue;
        }
        next_check = basis.known + (2 * search.block).max(12);
        let ritz = basis.ritz_pairs().ok_or(LanczosError::NotFinite)?;
        let converged = basis.count_converged(&ritz);
        let done = basis.may_end(&ritz, converged, exhausted);
        reported = reported
            .max(converged as f64 / search.wanted as f64)
            .min(1.0);
        report_progress(progress, reported, "Modes")?;
        if done || exhausted || restarts >= search.max_restarts {
            let count = if exhausted {
                search.wanted.min(ritz.theta.len())
            } else {
                converged
            };
            return Ok(basis.build_result(&ritz, count, done || exhausted, restarts));
        }
        if full {
            basis.restart(&ritz);
            restarts += 1;
            next_check = basis.known + (2 * search.block).max(12);
        }
    }
}

/// Reason why a search failed.
#[derive(Debug)]
pub(super) enum LanczosError {
    Cancelled,
    NotFinite,
    Memory(SolveError),
}

impl From<Cancelled> for LanczosError {
    fn from(_: Cancelled) -> Self {
        Self::Cancelled
    }
}

impl<'a> LanczosBasis<'a> {
    fn start(search: &'a LanczosSearch<'a>) -> Result<Self, LanczosError> {
        let n = search.pencil.len();
        let columns = (search.room + 2 * search.block).min(n - search.locked.ncols());
        let mut v = Mat::new();
        v.try_reserve(n, columns)
            .map_err(|_| LanczosError::Memory(SolveError::TooLarge { nodes: n / 3 }))?;
        v.resize_with(n, columns, |_, _| 0.0);
        let mut basis = Self {
            search,
            v,
            t: Mat::zeros(columns, columns),
            known: 0,
            width: 0,
            mass_block: Mat::new(),
            coupling: Mat::new(),
            recent: 0,
            scale: 0.0,
            solves: 0,
            draws: search.seed,
        };
        let (block, mass_block) = basis.draw_directions(Mat::zeros(n, 0).as_ref(), columns);
        basis.store_block(block, mass_block, Mat::new());
        Ok(basis)
    }

    /// Applies `(K − σ M)⁻¹` to the loads.
    fn solve(&mut self, mut x: Mat<f64>) -> Mat<f64> {
        self.solves += x.ncols();
        self.search.pencil.solve(&mut x);
        x
    }

    /// Applies the operator to the current block, appends its columns to the known ones and forms the next.
    fn expand(&mut self) -> Result<(), LanczosError> {
        let end = self.known + self.width;
        let loads = std::mem::replace(&mut self.mass_block, Mat::new());
        let mut w = self.solve(loads);
        let mass_w = self.search.pencil.mass_times(w.as_ref());
        let norms = column_norms(&w, &mass_w);
        if norms.iter().any(|x| !x.is_finite()) {
            return Err(LanczosError::NotFinite);
        }
        self.scale = norms.into_iter().fold(self.scale, f64::max);
        // First the large components, then the whole basis.
        self.project(&mut w, &mass_w, self.recent);
        let mass_w = self.search.pencil.mass_times(w.as_ref());
        self.project(&mut w, &mass_w, 0);
        for j in self.known..end {
            for i in 0..self.known {
                self.t[(j, i)] = self.t[(i, j)];
            }
        }
        self.recent = self.known;
        self.known = end;
        let from = self.known - self.width;
        let mut corner = self
            .t
            .submatrix(from, from, self.width, self.width)
            .to_owned();
        tall::symmetrise(&mut corner);
        self.t
            .submatrix_mut(from, from, self.width, self.width)
            .copy_from(&corner);
        let wanted = self.search.block.min(self.v.ncols() - self.known);
        let (block, mass_block, coupling) = self.orthonormalise(&w, self.scale * RANK_TOLERANCE);
        let (block, mass_block, coupling) = self.refill(block, mass_block, coupling, wanted);
        self.width = block.ncols();
        self.store_block(block, mass_block, coupling);
        Ok(())
    }

    /// Removes from `w` its components along locked vectors and along the basis from column `from` on. Adds the
    /// latter to T's columns of the current block.
    fn project(&mut self, w: &mut Mat<f64>, mass_w: &Mat<f64>, from: usize) {
        let end = self.known + self.width;
        project_out(w, mass_w, self.search.locked);
        let c = project_out(w, mass_w, self.v.subcols(from, end - from));
        let mut t = self
            .t
            .submatrix_mut(from, self.known, end - from, self.width);
        t += c;
    }

    /// Returns an M-orthonormal basis of the span of `w` that is also orthogonal to all earlier vectors, the
    /// mass times it, and `w` in terms of it. Directions shorter than `least` are dropped.
    fn orthonormalise(&self, w: &Mat<f64>, least: f64) -> (Mat<f64>, Mat<f64>, Mat<f64>) {
        let pencil = self.search.pencil;
        let mass_w = pencil.mass_times(w.as_ref());
        let (mut q, mut mass_q) = (Mat::zeros(w.nrows(), 0), Mat::zeros(w.nrows(), 0));
        let (mut rest, mut mass_rest) = (w.clone(), mass_w.clone());
        // Each round takes the directions that the Gram matrix resolves beside the longest one.
        while q.ncols() < w.ncols() {
            let Some((values, u)) = gram_eigen(&rest, &mass_rest) else {
                break;
            };
            let largest = values.last().copied().unwrap_or(0.0);
            let bound = (least * least).max(SEPARATE_ROUND_RATIO * largest);
            let first = values.partition_point(|&d| d <= bound).max(q.ncols());
            if first == values.len() {
                break;
            }
            let (mut new, mut mass_new) = normalise_columns(&rest, &mass_rest, &values, &u, first);
            if q.ncols() > 0 || values[first] < REORTHOGONALISATION_RATIO * largest {
                // Normalising short directions amplifies their rounding errors.
                project_out(&mut new, &mass_new, self.search.locked);
                project_out(&mut new, &mass_new, self.v.subcols(0, self.known));
                project_out(&mut new, &mass_new, q.as_ref());
                mass_new = pencil.mass_times(new.as_ref());
                let Some((values, u)) = gram_eigen(&new, &mass_new) else {
                    break;
                };
                let first = values.partition_point(|&d| d < 0.25);
                (new, mass_new) = normalise_columns(&new, &mass_new, &values, &u, first);
            }
            q = concatenate_columns(&q, &new);
            mass_q = concatenate_columns(&mass_q, &mass_new);
            if first == 0 || values[first - 1] <= least * least || new.ncols() == 0 {
                break;
            }
            project_out(&mut rest, &mass_rest, q.as_ref());
            mass_rest = pencil.mass_times(rest.as_ref());
        }
        let coupling = tall::transposed_product(q.as_ref(), mass_w.as_ref());
        (q, mass_q, coupling)
    }

    /// Fills up a block with random directions.
    fn refill(
        &mut self,
        block: Mat<f64>,
        mass_block: Mat<f64>,
        coupling: Mat<f64>,
        wanted: usize,
    ) -> (Mat<f64>, Mat<f64>, Mat<f64>) {
        let have = block.ncols();
        if have >= wanted {
            return (block, mass_block, coupling);
        }
        let (extra, mass_extra) = self.draw_directions(block.as_ref(), wanted - have);
        let rows = have + extra.ncols();
        let coupling = Mat::from_fn(rows, coupling.ncols(), |i, j| {
            if i < have { coupling[(i, j)] } else { 0.0 }
        });
        let mass_block = if have == 0 {
            mass_extra
        } else {
            concatenate_columns(&mass_block, &mass_extra)
        };
        (concatenate_columns(&block, &extra), mass_block, coupling)
    }

    /// Draws random directions, smoothed by the operator, M-orthonormal and orthogonal to the basis and `also`.
    fn draw_directions(&mut self, also: MatRef<'_, f64>, wanted: usize) -> (Mat<f64>, Mat<f64>) {
        let n = self.v.nrows();
        let wanted = wanted.min(self.search.block);
        let (mut block, mut mass_block) = (Mat::zeros(n, 0), Mat::zeros(n, 0));
        for _ in 0..3 {
            let missing = wanted - block.ncols();
            if missing == 0 {
                break;
            }
            self.draws += 1;
            let mut w = self.search.pencil.random_columns(missing, self.draws);
            w = self.solve(self.search.pencil.mass_times(w.as_ref()));
            let mass_w = self.search.pencil.mass_times(w.as_ref());
            let longest = column_norms(&w, &mass_w).into_iter().fold(0.0, f64::max);
            for _ in 0..3 {
                let mass_w = self.search.pencil.mass_times(w.as_ref());
                project_out(&mut w, &mass_w, self.search.locked);
                project_out(&mut w, &mass_w, self.v.subcols(0, self.known));
                project_out(&mut w, &mass_w, also);
                project_out(&mut w, &mass_w, block.as_ref());
            }
            let (q, mass_q, _) = self.orthonormalise(&w, longest * RANK_TOLERANCE);
            if q.ncols() > 0 {
                block = concatenate_columns(&block, &q);
                mass_block = concatenate_columns(&mass_block, &mass_q);
            }
        }
        (block, mass_block)
    }

    fn store_block(&mut self, block: Mat<f64>, mass_block: Mat<f64>, coupling: Mat<f64>) {
        self.width = block.ncols();
        self.v.subcols_mut(self.known, self.width).copy_from(&block);
        self.t
            .submatrix_mut(0, self.known, self.known + self.width, self.width)
            .fill(0.0);
        self.mass_block = mass_block;
        self.coupling = coupling;
    }

    /// Computes the eigenpairs of T with the residuals from the coupling to the current block.
    fn ritz_pairs(&self) -> Option<RitzPairs> {
        let m = self.known;
        let (values, u) = tall::symmetric_eigen(self.t.submatrix(0, 0, m, m))?;
        let theta: Vec<f64> = values.into_iter().rev().collect();
        let vectors = Mat::from_fn(m, m, |i, j| u[(i, m - 1 - j)]);
        let mut ritz = RitzPairs {
            error: vec![0.0; m],
            residual: vec![0.0; m],
            theta,
            vectors,
        };
        if self.width == 0 {
            return Some(ritz);
        }
        let last = self.coupling.ncols();
        let z = &self.coupling * ritz.vectors.subrows(m - last, last);
        // (K − σM) x − (1/θ) M x = −(1/θ) (K − σM) Q z, in the Euclidean norm by the Gram matrix of (K − σM) Q.
        let pencil = self.search.pencil;
        let mut kq = pencil.stiffness_times(self.v.subcols(m, self.width));
        if pencil.shift != 0.0 {
            kq -= faer::Scale(pencil.shift) * &self.mass_block;
        }
        let gram = tall::transposed_product(kq.as_ref(), kq.as_ref());
        let gz = &gram * &z;
        for j in 0..m {
            let (z, gz) = (z.col(j), gz.col(j));
            ritz.error[j] = z.norm_l2();
            ritz.residual[j] = (z.transpose() * gz).max(0.0).sqrt() / ritz.theta[j].abs();
        }
        Some(ritz)
    }

    fn eigenvalue(&self, theta: f64) -> f64 {
        self.search.pencil.shift + 1.0 / theta
    }

    /// Counts the largest Ritz values that have converged, up to the first that has not.
    fn count_converged(&self, ritz: &RitzPairs) -> usize {
        let pencil = self.search.pencil;
        // Scale of a mode with evenly spread mass; the finished vectors are measured themselves.
        let unit = pencil.mean_mass.sqrt();
        (0..ritz.theta.len().min(self.search.wanted))
            .take_while(|&i| {
                let theta = ritz.theta[i];
                let relative = self.search.tolerance * self.eigenvalue(theta).abs() * unit;
                let rounding = 0.3 * RESIDUAL_ROUNDING * pencil.norm_k / unit;
                theta > 0.0 && ritz.residual[i] <= rounding.max(relative)
            })
            .count()
    }

    /// Returns whether the search may end with `converged` Ritz values.
    fn may_end(&self, ritz: &RitzPairs, converged: usize, exhausted: bool) -> bool {
        if exhausted {
            return true;
        }
        let Some(&next) = ritz.theta.get(converged) else {
            return false;
        };
        // The next value need only be accurate enough to locate the gap before it.
        if ritz.error[converged] > 0.02 * next && converged < self.search.wanted + 1 {
            let last = converged.checked_sub(1).map(|i| ritz.theta[i]);
            if last.is_none_or(|last| next + ritz.error[converged] > last) {
                return false;
            }
        }
        if converged >= self.search.wanted {
            return true;
        }
        let below = self.eigenvalue(next);
        let found = ritz.theta[..converged].iter().map(|&t| self.eigenvalue(t));
        let lower = |values: &mut dyn Iterator<Item = f64>| values.filter(|&v| v < below).count();
        lower(&mut found.into_iter()) + lower(&mut self.search.known.iter().copied())
            >= self.search.total
    }

    /// Restarts with the largest Ritz vectors and the current block.
    fn restart(&mut self, ritz: &RitzPairs) {
        let m = self.known;
        let keep = (self.search.wanted + (m.saturating_sub(self.search.wanted)) / 3).min(m);
        let vectors = ritz.vectors.subcols(0, keep);
        let kept = tall::product(self.v.subcols(0, m), vectors);
        self.v.subcols_mut(0, keep).copy_from(&kept);
        let block = self.v.subcols(m, self.width).to_owned();
        self.t.fill(0.0);
        for i in 0..keep {
            self.t[(i, i)] = ritz.theta[i];
        }
        self.known = keep;
        self.recent = 0;
        self.v.subcols_mut(keep, self.width).copy_from(&block);
    }

    fn build_result(
        &self,
        ritz: &RitzPairs,
        count: usize,
        complete: bool,
        restarts: usize,
    ) -> LanczosResult {
        let next = ritz.theta.get(count).map(|&theta| {
            let theta = theta + ritz.error[count];
            if theta > 0.0 {
                self.eigenvalue(theta)
            } else {
                f64::INFINITY
            }
        });
        LanczosResult {
            vectors: tall::product(
                self.v.subcols(0, self.known),
                ritz.vectors.subcols(0, count),
            ),
            values: ritz.theta[..count]
                .iter()
                .map(|&t| self.eigenvalue(t))
                .collect(),
            next,
            solves: self.solves,
            restarts,
            complete,
        }
    }
}

/// Removes from `w` its components along the M-orthonormal columns of `v` and returns the coefficients.
fn project_out(w: &mut Mat<f64>, mass_w: &Mat<f64>, v: MatRef<'_, f64>) -> Mat<f64> {
    let c = tall::transposed_product(v, mass_w.as_ref());
    if v.ncols() > 0 {
        tall::add_product(w.as_mut(), v, c.as_ref(), -1.0, Accum::Add);
    }
    c
}

/// Computes the eigenvalues and vectors of `wᵀ M w`.
fn gram_eigen(w: &Mat<f64>, mass_w: &Mat<f64>) -> Option<(Vec<f64>, Mat<f64>)> {
    let mut gram = tall::transposed_product(w.as_ref(), mass_w.as_ref());
    tall::symmetrise(&mut gram);
    tall::symmetric_eigen(gram.as_ref())
}

/// Returns `w u` with unit columns, from the eigenpairs of the Gram matrix from `first` on, and M times it.
fn normalise_columns(
    w: &Mat<f64>,
    mass_w: &Mat<f64>,
    values: &[f64],
    u: &Mat<f64>,
    first: usize,
) -> (Mat<f64>, Mat<f64>) {
    let scaled = Mat::from_fn(u.nrows(), values.len() - first, |i, k| {
        u[(i, first + k)] / values[first + k].sqrt()
    });
    let of = |w: &Mat<f64>| tall::product(w.as_ref(), scaled.as_ref());
    (of(w), of(mass_w))
}

/// Returns the M-norms of the columns.
fn column_norms(w: &Mat<f64>, mass_w: &Mat<f64>) -> Vec<f64> {
    (0..w.ncols())
        .map(|j| {
            let mut square = Mat::zeros(1, 1);
            let (a, b) = (w.subcols(j, 1), mass_w.subcols(j, 1));
            matmul(
                square.as_mut(),
                Accum::Replace,
                a.transpose(),
                b,
                1.0,
                Par::Seq,
            );
            square[(0, 0)].max(0.0).sqrt()
        })
        .collect()
}

fn concatenate_columns(a: &Mat<f64>, b: &Mat<f64>) -> Mat<f64> {
    let mut joined = Mat::zeros(a.nrows(), a.ncols() + b.ncols());
    joined.subcols_mut(0, a.ncols()).copy_from(a);
    joined.subcols_mut(a.ncols(), b.ncols()).copy_from(b);
    joined
}
