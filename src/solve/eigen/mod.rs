// SPDX-License-Identifier: MIT OR Apache-2.0
//! The lowest eigenpairs of `K x = λ M x`: vibration modes of a body.
//!
//! Shift-invert block Lanczos [grimes1994; wu2000] finds them, and Rayleigh-Ritz on K and M refines them. One more
//! factorisation proves that the set is complete: the number of eigenvalues below a bound is the number of negative pivots
//! of `K − bound · M`. Where some are missing (more equal ones than a block has columns), the search continues with those
//! found projected out. Free motions of unattached parts are known beforehand. Bodies so small that a basis would span half
//! of the space are solved densely.
//!
//! Computation starts from fixed numbers and sums in a fixed order, so results do not depend on the number of threads.
//! Among equal eigenvalues any basis of their space is equally valid.

mod error;
mod lanczos;
mod pencil;
mod rayleigh_ritz;
mod rigid;

pub use error::EigenError;

use super::{BlockMatrix, NodeMatrix, ScalarMatrix, SolveError, SymbolicCholesky};
use crate::Vec3;
use crate::progress::{Cancelled, Progress, StageProgress, report_progress};
use faer::Mat;
use lanczos::{LanczosError, LanczosResult, LanczosSearch};
use pencil::Pencil;
use std::sync::Arc;

/// Pivot, as a share of its diagonal entry, below which the matrix counts as singular.
const SINGULAR_PIVOT_RATIO: f64 = 1e-10;
/// Relative difference above which eigenvalues count as distinct.
const DISTINCT_GAP: f64 = 1e-4;
/// Maximum number of searches.
const MAX_SEARCHES: usize = 24;
/// Maximum number of columns of a block.
const MAX_BLOCK_WIDTH: usize = 32;

/// Settings of [`lowest_eigenpairs`].
#[derive(Debug, Clone, PartialEq)]
pub struct EigenSettings {
    /// Number of eigenpairs.
    pub count: usize,
    /// Largest residual `‖K φ − λ M φ‖` relative to `λ ‖M φ‖`, where rounding allows it. Default: 1e-9.
    pub tolerance: f64,
    /// Shift below all eigenvalues, 1/s²: `K − shift · M` is factored and has to be positive definite. `None`: 0 when K is
    /// definite, else a small negative number.
    pub shift: Option<f64>,
    /// Block size; `None`: automatic.
    pub block: Option<usize>,
    /// Basis size that triggers a restart; `None`: automatic.
    pub room: Option<usize>,
    /// Maximum number of restarts of a search.
    pub max_restarts: usize,
    /// Whether free motions of unattached parts are returned in addition to `count`. Default: false.
    pub beyond_free: bool,
    /// Whether a further factorisation proves that the set is complete. Default: true.
    pub verify: bool,
}

impl EigenSettings {
    /// Creates settings for `count` eigenpairs, with defaults for the rest.
    pub fn new(count: usize) -> Self {
        Self {
            count,
            tolerance: 1e-9,
            shift: None,
            block: None,
            room: None,
            max_restarts: 60,
            beyond_free: false,
            verify: true,
        }
    }
}

/// Eigenpairs, ascending.
#[derive(Debug, Clone, PartialEq)]
pub struct Eigenpairs {
    /// Eigenvalues λ, 1/s², ascending, never negative.
    pub values: Vec<f64>,
    /// Eigenvectors φ, one vector per node, with `φᵀ M φ = 1`; the largest component is positive.
    pub vectors: Vec<Vec<Vec3>>,
    /// Residual norms `‖K φ − λ M φ‖`.
    pub residuals: Vec<f64>,
    /// Allowed size of each residual: the larger of `tolerance · λ ‖M φ‖` and `1e-13 (‖K‖ + λ ‖M‖) ‖φ‖`, with norms of
    /// matrices bounded from below by their longest columns.
    pub allowed: Vec<f64>,
    /// Number of right-hand sides solved for.
    pub solves: usize,
    /// Number of restarts of the basis.
    pub restarts: usize,
    /// Number of searches; more than one where equal eigenvalues exceed a block.
    pub searches: usize,
    /// Whether a count of the eigenvalues below a bound proves that the set is complete.
    pub verified: bool,
}

/// Computes the lowest eigenpairs of `K x = λ M x` on free nodes. `stiffness` in N/m is positive semi-definite, `mass` in
/// kg positive definite, both are symmetric. `centres` are the nodes' positions, for the elimination order and rigid
/// motions. `ΦᵀMΦ = I` to rounding. [choi2003, §3.1]
///
/// # Errors
/// Arrays of different sizes or with entries that are not finite; more modes than degrees of freedom; matrices that are not
/// (semi-)definite; no convergence; memory; cancelled. A factorisation cannot be interrupted.
pub fn lowest_eigenpairs(
    stiffness: &BlockMatrix,
    mass: &ScalarMatrix,
    centres: &[Vec3],
    settings: &EigenSettings,
    progress: &dyn Progress,
) -> Result<Eigenpairs, EigenError> {
    check_input(stiffness, mass, centres, settings)?;
    report_progress(progress, 0.0, "Order of elimination")?;
    let symbolic = analyse_pattern(stiffness, mass, centres)?;
    lowest_with_symbolic(stiffness, mass, (&symbolic, centres), settings, progress)
}

/// Analyses the pattern of a pencil, for many pencils of the same pattern.
///
/// # Errors
/// Memory or indices ran out.
pub fn analyse_pattern(
    stiffness: &BlockMatrix,
    mass: &ScalarMatrix,
    centres: &[Vec3],
) -> Result<Arc<SymbolicCholesky>, EigenError> {
    Ok(Arc::new(SymbolicCholesky::new(
        &pencil::graph(stiffness, mass),
        centres,
    )?))
}

/// Computes as [`lowest_eigenpairs`] with a pattern analysed before and the nodes' positions.
///
/// # Errors
/// The errors of [`lowest_eigenpairs`].
pub fn lowest_with_symbolic(
    stiffness: &BlockMatrix,
    mass: &ScalarMatrix,
    (symbolic, centres): (&Arc<SymbolicCholesky>, &[Vec3]),
    settings: &EigenSettings,
    progress: &dyn Progress,
) -> Result<Eigenpairs, EigenError> {
    check_input(stiffness, mass, centres, settings)?;
    let mut pencil = Pencil::new(stiffness, mass, symbolic.clone())?;
    pencil.check_mass()?;
    report_progress(progress, 0.03, "Factorisation")?;
    let rigid = rigid::find_free_motions(&pencil, centres);
    let mut settings = settings.clone();
    if settings.beyond_free {
        settings.count = (settings.count + rigid.fields.ncols()).min(pencil.len());
    }
    let settings = &settings;
    choose_shift(&mut pencil, settings, &rigid)?;
    report_progress(progress, 0.15, "Modes")?;
    let mut search = EigenDriver::new(&pencil, settings, rigid.fields);
    let subspace = if search.is_small() {
        search.verified = true;
        rayleigh_ritz::dense_eigenvectors(&pencil, settings.count)?
    } else {
        search.search_all(&mut pencil, progress)?;
        std::mem::replace(&mut search.vectors, Mat::new())
    };
    report_progress(progress, 0.95, "Modes")?;
    let finished = rayleigh_ritz::refine_eigenpairs(
        &mut pencil,
        subspace,
        settings.count,
        settings.tolerance,
    )?;
    // Zero up to rounding, relative to the largest eigenvalue.
    let zero = 1e-11 * pencil.norm_k / pencil.norm_m;
    if let Some(&value) = finished.values.iter().find(|&&v| v < -zero) {
        return Err(EigenError::Negative { value });
    }
    let (residuals, allowed): (Vec<f64>, Vec<f64>) = finished.residuals.into_iter().unzip();
    let converged = residuals.iter().zip(&allowed).filter(|(r, a)| *r <= *a);
    let converged = converged.count();
    if converged < settings.count {
        return Err(EigenError::NotConverged {
            found: converged,
            asked: settings.count,
            restarts: search.restarts,
        });
    }
    report_progress(progress, 1.0, "Modes")?;
    Ok(Eigenpairs {
        values: finished.values.iter().map(|v| v.max(0.0)).collect(),
        vectors: rayleigh_ritz::to_caller_order(&pencil, finished.vectors.as_ref()),
        residuals,
        allowed,
        solves: search.solves + finished.solves,
        restarts: search.restarts,
        searches: search.searches,
        verified: search.verified,
    })
}

fn check_input(
    stiffness: &BlockMatrix,
    mass: &ScalarMatrix,
    centres: &[Vec3],
    settings: &EigenSettings,
) -> Result<(), EigenError> {
    let nodes = stiffness.rows();
    if mass.rows() != nodes || centres.len() != nodes {
        return Err(EigenError::Sizes {
            stiffness: nodes,
            mass: mass.rows(),
            centres: centres.len(),
        });
    }
    if settings.count == 0 {
        return Err(EigenError::None);
    }
    if settings.count > 3 * nodes {
        return Err(EigenError::TooMany {
            asked: settings.count,
            free: 3 * nodes,
        });
    }
    let setting = |name, range, value| Err(EigenError::Setting { name, range, value });
    if !(settings.tolerance > 0.0 && settings.tolerance < 1.0) {
        return setting(
            "the tolerance of modes",
            "between 0 and 1",
            settings.tolerance,
        );
    }
    if let Some(shift) = settings.shift.filter(|s| !s.is_finite()) {
        return setting("the shift", "a finite number", shift);
    }
    if settings.block == Some(0) {
        return setting("the block of vectors", "at least 1", 0.0);
    }
    let finite = |what, good: bool, node| {
        good.then_some(())
            .ok_or(EigenError::NotFinite { what, node })
    };
    for (node, centre) in centres.iter().enumerate() {
        let of_k = &stiffness.data()[stiffness.row_range(node)];
        let of_m = &mass.data()[mass.row_range(node)];
        let number = |b: &crate::Mat3| b.iter().all(|x| x.is_finite());
        finite("stiffness", of_k.iter().all(number), node)?;
        finite("mass", of_m.iter().all(|m| m.is_finite()), node)?;
        finite("position", centre.iter().all(|x| x.is_finite()), node)?;
        let mass = mass.get(node, node).copied().unwrap_or(0.0);
        if mass <= 0.0 {
            return Err(EigenError::Massless { node, mass });
        }
    }
    Ok(())
}

/// Factors `K − σ M` with the caller's shift, with zero, or with a small negative one.
fn choose_shift(
    pencil: &mut Pencil<'_>,
    settings: &EigenSettings,
    rigid: &rigid::FreeMotions,
) -> Result<(), EigenError> {
    let named = |shift| {
        move |error| match error {
            SolveError::Singular { node } => EigenError::Indefinite { shift, node },
            other => EigenError::Solve(other),
        }
    };
    if let Some(shift) = settings.shift {
        return pencil.factor(shift).map(|_| ()).map_err(named(shift));
    }
    if rigid.fields.ncols() == 0 {
        match pencil.factor(0.0) {
            Ok(pivot) if pivot > SINGULAR_PIVOT_RATIO => return Ok(()),
            Ok(_) | Err(SolveError::Singular { .. }) => {}
            Err(other) => return Err(other.into()),
        }
    }
    // Far enough from zero for a good factor, close enough to separate the lowest modes.
    let least = 1e-9 * pencil.norm_k / pencil.norm_m;
    let shift = -(0.1 * rigid.elastic).max(least);
    pencil.factor(shift).map(|_| ()).map_err(named(shift))
}

/// Searches repeated until the count of eigenvalues agrees.
struct EigenDriver<'a> {
    settings: &'a EigenSettings,
    block: usize,
    /// Eigenvectors found, M-orthonormal, and their eigenvalues, both ascending within each search.
    vectors: Mat<f64>,
    values: Vec<f64>,
    /// Lower bound of the next eigenvalue.
    next: f64,
    unknowns: usize,
    solves: usize,
    restarts: usize,
    searches: usize,
    verified: bool,
}

impl<'a> EigenDriver<'a> {
    fn new(pencil: &Pencil<'_>, settings: &'a EigenSettings, free: Mat<f64>) -> Self {
        let chosen = if pencil.len() < 15_000 { 4 } else { 8 };
        Self {
            settings,
            block: settings.block.unwrap_or(chosen).min(MAX_BLOCK_WIDTH),
            values: vec![0.0; free.ncols()],
            vectors: free,
            next: 0.0,
            unknowns: pencil.len(),
            solves: 0,
            restarts: 0,
            searches: 0,
            verified: false,
        }
    }

    /// Returns the number of columns of a basis that triggers a restart, for a search for `wanted` eigenpairs.
    fn basis_columns(&self, wanted: usize, block: usize) -> usize {
        let chosen = 3 * wanted + 6 * block;
        self.settings.room.unwrap_or(chosen).max(wanted + 2 * block)
    }

    fn is_small(&self) -> bool {
        2 * (self.basis_columns(self.settings.count, self.block) + self.values.len())
            > self.unknowns
    }

    fn search_all(
        &mut self,
        pencil: &mut Pencil<'_>,
        progress: &dyn Progress,
    ) -> Result<(), EigenError> {
        let count = self.settings.count;
        if self.values.len() >= count {
            self.verified = true;
            return Ok(());
        }
        let mut wanted = count - self.values.len();
        while self.searches < MAX_SEARCHES {
            let part = StageProgress {
                whole: progress,
                from: 0.15,
                to: 0.85,
            };
            let found = self.search(pencil, wanted, &part)?;
            let new = found.values.len();
            if !found.complete || (self.searches == 0 && new < wanted) {
                return Err(EigenError::NotConverged {
                    found: self.values.len() + new,
                    asked: count,
                    restarts: self.restarts + found.restarts,
                });
            }
            self.append_result(found);
            if !self.settings.verify {
                return Ok(());
            }
            report_progress(progress, 0.85, "Count of eigenvalues")?;
            let (bound, expected) = self.counting_bound();
            // A zero pivot means that the bound hit an eigenvalue of a leading part.
            let below = pencil
                .count_below(bound)
                .or_else(|_| pencil.count_below(bound * (1.0 + 1e-7)));
            let below = below?;
            if below == expected {
                self.verified = true;
                return Ok(());
            }
            if below < expected || (self.searches > 1 && new == 0) {
                return Ok(());
            }
            wanted = (below - expected).min(count);
            pencil.restore()?;
        }
        Ok(())
    }

    /// Searches for `wanted` further eigenpairs.
    fn search(
        &self,
        pencil: &Pencil<'_>,
        wanted: usize,
        progress: &dyn Progress,
    ) -> Result<LanczosResult, EigenError> {
        let mut known = self.values.clone();
        known.sort_by(f64::total_cmp);
        // A wider block finds at once the eigenvalues that a narrow one missed.
        let block = if self.searches == 0 {
            self.block
        } else {
            wanted.clamp(self.block, MAX_BLOCK_WIDTH)
        };
        let search = LanczosSearch {
            pencil,
            locked: self.vectors.as_ref(),
            known: &known,
            wanted,
            total: self.settings.count,
            block,
            room: self.basis_columns(wanted, block),
            max_restarts: self.settings.max_restarts,
            tolerance: 0.05 * self.settings.tolerance,
            seed: 1000 * (self.searches as u64 + 1),
        };
        lanczos::run(&search, progress).map_err(|error| match error {
            LanczosError::Cancelled => EigenError::Cancelled(Cancelled),
            LanczosError::NotFinite => EigenError::Overflow,
            LanczosError::Memory(error) => EigenError::Solve(error),
        })
    }

    fn append_result(&mut self, found: LanczosResult) {
        let mut joined = Mat::zeros(self.unknowns, self.values.len() + found.values.len());
        joined
            .subcols_mut(0, self.values.len())
            .copy_from(&self.vectors);
        joined
            .subcols_mut(self.values.len(), found.values.len())
            .copy_from(&found.vectors);
        self.vectors = joined;
        self.values.extend(found.values);
        self.next = found.next.unwrap_or(f64::INFINITY);
        self.solves += found.solves;
        self.restarts += found.restarts;
        self.searches += 1;
    }

    /// Returns a bound in a gap between the eigenvalues found, and the number of them below it. The gap is behind the last
    /// wanted one if there is one, else before the values equal to it.
    fn counting_bound(&self) -> (f64, usize) {
        let mut values = self.values.clone();
        values.sort_by(f64::total_cmp);
        let count = self.settings.count.min(values.len());
        let last = values[count - 1];
        let next = values.get(count).copied().unwrap_or(self.next);
        let next = next.min(self.next.max(last));
        if next > last * (1.0 + DISTINCT_GAP) {
            return (last + (0.5 * (next - last)).min(0.05 * last), count);
        }
        let mut first = count - 1;
        while first > 0 && values[first] - values[first - 1] <= DISTINCT_GAP * last {
            first -= 1;
        }
        let before = if first > 0 { values[first - 1] } else { 0.0 };
        let gap = 0.5 * (values[first] - before);
        (values[first] - gap.min(0.05 * values[first]), first)
    }
}
