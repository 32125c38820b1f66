// SPDX-License-Identifier: MIT OR Apache-2.0
//! The cell form's matrix `m M + s A`, `A = Σ_c R_c S_c R_cᵀ + Mt`, symmetric and positive definite. It is assembled at a pose, then
//! factored, or solved by conjugate gradients.
//!
//! Conjugate gradients are preconditioned by `P = R_n K₀⁻¹ R_nᵀ`: K₀ is the same matrix at rest, factored once for a pair
//! (m, s), R_n the skeleton's rotation at each vertex. Where the flesh of a region turns as one, P is the exact inverse,
//! so that only bends are left to the iterations. A step depends on its own state alone; nothing is carried over from earlier
//! steps. If the iterations do not converge, the matrix is factored.
//!
//! With details the matrix is in the [nodal functions](crate::body::NodalForm) of the basis, which leave few of its entries.

use crate::body::{Body, NodalForm};
use crate::dynamics::methods::flesh::{TwistTerm, add_cells};
use crate::dynamics::methods::further::LinearisedTerms;
use crate::dynamics::methods::step_space::StepSpace;
use crate::dynamics::{SkinnedLattice, Solver};
use crate::solve::krylov::{ConjugateGradients, PreconditionedSystem, StoppingCriteria};
use crate::solve::{Assembly, EnergyTerm, Inverse, LinearSolver, SolveError, SparseCholesky};
use crate::{Mat3, Vec3};
use std::sync::Arc;

/// Number of 3x3 blocks of a factor from which conjugate gradients are no slower than factoring anew at every step, however far the
/// flesh is bent: `cargo bench --bench warped`, also with `-- 14 40`. At slight bends they are faster much earlier.
const MIN_ITERATIVE_BLOCKS: u64 = 1_000_000;

/// Stopping criteria of conjugate gradients.
const CG_CRITERIA: StoppingCriteria = StoppingCriteria {
    tolerance: 1e-11,
    iterations: 60,
};

/// Matrix of one body; all buffers are allocated once.
pub(in crate::dynamics) struct CellMatrix {
    purpose: Purpose,
    /// Nodal functions in which a matrix with details is assembled; `None`: in the body's own functions.
    form: Option<Arc<NodalForm>>,
    /// Matrix at the present pose and its solver.
    now: Inverse,
    /// Values of `m M + s Mt`, which do not depend on the pose.
    base: Vec<f64>,
    /// m and s of `base`.
    scales: Option<(f64, f64)>,
    /// Cell rotations of the present matrix, and whether it includes further terms.
    turns: Vec<Mat3>,
    with_terms: bool,
    /// Iterations, in place of a factorisation at every pose.
    iterating: Option<IterativeSolver>,
    /// Scratch, one entry per free node.
    nodal: Vec<Vec3>,
}

/// Purpose of a matrix: what it is solved for.
#[derive(Clone, Copy)]
enum Purpose {
    /// Steps, by a solver.
    Steps(Solver),
    /// Balances, one or two at each of many poses.
    Balances,
}

/// Conjugate gradients and their preconditioner.
struct IterativeSolver {
    /// K₀.
    rest: SparseCholesky,
    /// R_n of each free vertex.
    turns: Vec<Mat3>,
    method: ConjugateGradients,
}

impl CellMatrix {
    /// Creates the matrix of steps by a solver.
    pub fn new(body: &Body, solver: Solver) -> Result<Self, SolveError> {
        let form = body.linear_form()?.cloned();
        Self::build(body, Purpose::Steps(solver), form)
    }

    /// Creates a matrix for one or two solves at each pose, by sweeps where these cost less than a factorisation.
    pub fn with_sweeps(body: &Body) -> Result<Self, SolveError> {
        let form = body.linear_form()?.cloned();
        Self::build(body, Purpose::Balances, form)
    }

    fn build(
        body: &Body,
        purpose: Purpose,
        form: Option<Arc<NodalForm>>,
    ) -> Result<Self, SolveError> {
        let symbolic = StepSpace::of(body, form.as_deref()).pattern.symbolic();
        let nodes = symbolic.node_count();
        let iterate = match purpose {
            Purpose::Steps(Solver::Automatic) => symbolic.ordering().blocks >= MIN_ITERATIVE_BLOCKS,
            Purpose::Steps(Solver::Factor) | Purpose::Balances => false,
            Purpose::Steps(Solver::Iterate) => true,
        };
        let iterating = match iterate {
            true => Some(IterativeSolver {
                rest: SparseCholesky::new(symbolic.clone())?,
                turns: vec![Mat3::identity(); nodes],
                method: ConjugateGradients::new(nodes),
            }),
            false => None,
        };
        let mut now = match purpose {
            Purpose::Steps(_) => Inverse::with_factor(symbolic)?,
            Purpose::Balances => Inverse::with_sweeps(symbolic)?,
        };
        if let Purpose::Balances = purpose {
            now.set_tolerance(CG_CRITERIA.tolerance);
        }
        Ok(Self {
            purpose,
            base: vec![0.0; now.matrix().values().len()],
            now,
            scales: None,
            turns: Vec::new(),
            with_terms: false,
            iterating,
            nodal: vec![Vec3::zeros(); if form.is_some() { nodes } else { 0 }],
            form,
        })
    }

    /// Prepares `mass · M + stiffness · A` with further terms for [`solve`](Self::solve); does nothing if nothing has changed.
    pub fn prepare(
        &mut self,
        body: &Body,
        skinned: &SkinnedLattice,
        mass: f64,
        stiffness: f64,
        further: &LinearisedTerms,
    ) -> Result<(), SolveError> {
        match self.assemble(body, skinned, mass, stiffness, further)? {
            // Iterations factor only if they fail.
            true if self.iterating.is_none() => self.now.adopt_matrix(),
            _ => Ok(()),
        }
    }

    /// Assembles the matrix as [`prepare`](Self::prepare) does, without factoring it; returns whether it has changed.
    fn assemble(
        &mut self,
        body: &Body,
        skinned: &SkinnedLattice,
        mass: f64,
        stiffness: f64,
        further: &LinearisedTerms,
    ) -> Result<bool, SolveError> {
        if self.form.is_some() && !further.terms.is_empty() {
            // Further terms know the body's own functions alone.
            *self = Self::build(body, self.purpose, None)?;
        }
        let form = self.form.clone();
        let form = form.as_deref();
        let space = StepSpace::of(body, form);
        if let Some(iterating) = &mut self.iterating {
            let free = body.pattern().vertex_of_node();
            for (turn, &v) in iterating.turns.iter_mut().zip(free) {
                *turn = skinned.turns[v as usize];
            }
        }
        let same = self.scales == Some((mass, stiffness));
        let pattern = space.pattern;
        let alone = further.terms.is_empty() && !self.with_terms;
        self.with_terms = !further.terms.is_empty();
        if same && alone && self.turns == skinned.cell_turns {
            return Ok(false);
        }
        // Invalid until everything has succeeded.
        self.scales = None;
        let now = self.now.matrix();
        if !same {
            now.clear();
            let mut assembly = Assembly::new(pattern, now);
            assembly.scaled_by(mass).add_scalars(space.mass);
            let twist = &mut assembly.scaled_by(stiffness);
            match form {
                Some(form) => twist.add_scalars(&form.twist),
                None => {
                    TwistTerm { body, skinned }.add_hessian(&further.configuration(), true, twist)
                }
            }
            self.base.copy_from_slice(now.values());
            if let Some(IterativeSolver { rest, .. }) = &mut self.iterating {
                rest.set_values(&self.base);
                let mut assembly = Assembly::new(pattern, rest);
                let unturned = Mat3::identity();
                let turns = std::iter::repeat(&unturned);
                add_flesh(body, form, turns, &mut assembly.scaled_by(stiffness));
                rest.factor()?;
            }
        }
        now.set_values(&self.base);
        let mut assembly = Assembly::new(pattern, now);
        let turns = skinned.cell_turns.iter();
        add_flesh(body, form, turns, &mut assembly.scaled_by(stiffness));
        for term in further.terms {
            term.add_hessian(
                &further.configuration(),
                true,
                &mut assembly.scaled_by(further.factor),
            );
        }
        self.now.postpone_factor();
        self.turns.clear();
        self.turns.extend_from_slice(&skinned.cell_turns);
        self.scales = Some((mass, stiffness));
        Ok(true)
    }

    /// Forgets the matrix, so that it is assembled anew.
    pub fn forget(&mut self) {
        self.scales = None;
    }

    /// Assembles `mass · M + stiffness · A` and returns it, to be factored on first use.
    pub fn assembled_matrix(
        &mut self,
        body: &Body,
        skinned: &SkinnedLattice,
        mass: f64,
        stiffness: f64,
    ) -> Result<&mut Inverse, SolveError> {
        self.assemble(body, skinned, mass, stiffness, &LinearisedTerms::EMPTY)?;
        Ok(&mut self.now)
    }

    /// Factors the matrix at the pose if necessary.
    pub fn factor(&mut self) -> Result<(), SolveError> {
        self.now.factored_matrix().map(|_| ())
    }

    /// Returns the factored matrix.
    pub fn factored_matrix(&mut self) -> Result<&mut SparseCholesky, SolveError> {
        self.now.factored_matrix()
    }

    /// Returns the nodal functions in which the matrix is; `None`: it is in the body's own.
    pub fn nodal_form(&self) -> Option<Arc<NodalForm>> {
        self.form.clone()
    }

    /// Solves in place, one entry per free vertex.
    pub fn solve(&mut self, x: &mut [Vec3]) -> Result<(), SolveError> {
        self.in_functions(x, Self::solve_inside)
    }

    /// Solves in place with the factors of [`factor`](Self::factor).
    pub fn substitute(&mut self, x: &mut [Vec3]) {
        self.in_functions(x, |own, x| own.now.matrix().solve(x));
    }

    /// Applies an approximate inverse by one substitution; it is exact if the matrix is factored at every step.
    pub fn precondition(&mut self, x: &mut [Vec3]) {
        self.in_functions(x, |own, x| match &mut own.iterating {
            Some(IterativeSolver { rest, turns, .. }) => apply_rotated_inverse(rest, turns, x),
            None => own.now.matrix().solve(x),
        });
    }

    /// Solves with vectors of the functions of the matrix: forces in, displacements out.
    fn in_functions<T>(
        &mut self,
        x: &mut [Vec3],
        solve: impl FnOnce(&mut Self, &mut [Vec3]) -> T,
    ) -> T {
        let Some(form) = self.form.clone() else {
            return solve(self, x);
        };
        let mut nodal = std::mem::take(&mut self.nodal);
        form.free_values.to_nodal_forces(x, &mut nodal);
        let result = solve(self, &mut nodal);
        form.free_values.to_coefficients(&nodal, x);
        self.nodal = nodal;
        result
    }

    fn solve_inside(&mut self, x: &mut [Vec3]) -> Result<(), SolveError> {
        if let Some(iterating) = &mut self.iterating {
            let IterativeSolver {
                rest,
                turns,
                method,
            } = iterating;
            let now = self.now.matrix();
            let mut system = PosedMatrix { now, rest, turns };
            if method.solve(&mut system, x, CG_CRITERIA).is_some() {
                return Ok(());
            }
        }
        self.now.solve(x)
    }

    /// Returns whether [`precondition`](Self::precondition) is only approximate.
    pub fn is_iterating(&self) -> bool {
        self.iterating.is_some()
    }
}

/// Adds `Σ_c R_c S_c R_cᵀ` to an assembly in a body's own functions, or in nodal ones.
fn add_flesh<'a>(
    body: &Body,
    form: Option<&NodalForm>,
    turns: impl Iterator<Item = &'a Mat3>,
    into: &mut Assembly,
) {
    let Some(form) = form else {
        return add_cells(body, turns, into);
    };
    for (element, turn) in (0..body.blocks().len()).zip(turns) {
        let scaled = turn * into.factor();
        let back = turn.transpose();
        for (slot, block) in form.stiffness(element) {
            into.add_multiplied_at(Some(slot), &(scaled * block * back));
        }
    }
}

/// The matrix at a pose, preconditioned by the one at rest.
struct PosedMatrix<'a> {
    now: &'a mut SparseCholesky,
    rest: &'a mut SparseCholesky,
    turns: &'a [Mat3],
}

impl PreconditionedSystem for PosedMatrix<'_> {
    fn apply(&mut self, x: &[Vec3], y: &mut [Vec3]) {
        self.now.multiply(x, y);
    }
    fn precondition(&mut self, x: &mut [Vec3]) {
        apply_rotated_inverse(self.rest, self.turns, x);
    }
}

/// Computes `R K₀⁻¹ Rᵀ x` in place.
fn apply_rotated_inverse(rest: &mut SparseCholesky, turns: &[Mat3], x: &mut [Vec3]) {
    for (x, turn) in x.iter_mut().zip(turns) {
        *x = turn.tr_mul(x);
    }
    rest.solve(x);
    for (x, turn) in x.iter_mut().zip(turns) {
        *x = turn * *x;
    }
}
