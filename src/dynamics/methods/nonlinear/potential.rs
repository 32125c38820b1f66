// SPDX-License-Identifier: MIT OR Apache-2.0
//! The incremental potential, which nonlinear statics and implicit steps minimise \[martin2011\].
//!
//! For displacements q of the free nodes, with held ones in place and d = q − q₀ from a first guess q₀:
//!
//! ```text
//! Φ(q) = V(q) + ½ dᵀ (m M + (1 + k) Mt + k K) d − dᵀ (f − M z − (K + Mt) w) + Σ further terms (q)
//! ```
//!
//! V is the elastic energy, Mt the twist's Hessian, and f the non-elastic forces at q₀. K is the stiffness frozen at q₀ (positive
//! semi-definite, so that it only dissipates energy). z is the vector that M acts on in the linear term; w is that for K and for
//! Mt, which is damped like all elastic terms. Statics has m = k = 0; backward Euler has `m = 1/h² + α/h`, `k = β/h`. Quadratic
//! terms count from the guess, so nothing depends on the body's distance from the origin. They form one term, [`QuadraticTerm`],
//! whose rows are summed in one pass. Further terms are not damped.

use crate::body::Body;
use crate::elasticity::{Elastic, ElasticModel, Elements, TangentChoice};
use crate::progress::Progress;
use crate::solve::chord::minimise_with_factor;
use crate::solve::newton::{ForceMagnitude, RoundedSum, minimise};
use crate::solve::{
    Assembly, BlockMatrix, Chord, Configuration, EnergyTerm, Inverse, LinearSolver, Newton,
    NewtonError, NodeMatrix, Outcome, Pattern, Potential, PotentialBuffers, ScalarMatrix,
    SolveError,
};
use crate::{Mat3, Vec3};
use std::sync::Arc;

/// Lower bound of the eigenvalues of Hessians that are made convex, relative to the shear modulus. It is far above rounding, and far below
/// the stiffness that directs a step.
pub(in crate::dynamics) const EIGENVALUE_FLOOR: f64 = 1e-3;

/// Matrices and elastic energy of a body; the matrices share one pattern.
#[derive(Clone, Copy)]
pub(in crate::dynamics) struct ElasticDomain<'a> {
    /// Elastic energy V.
    pub elastic: Elastic<'a>,
    pub pattern: &'a Pattern,
    pub mass: &'a ScalarMatrix,
    pub twist: Option<&'a ScalarMatrix>,
}

impl<'a> ElasticDomain<'a> {
    /// Creates the domain of flesh without twist energy.
    pub fn new(
        elements: &'a Elements,
        model: ElasticModel,
        pattern: &'a Pattern,
        mass: &'a ScalarMatrix,
    ) -> Self {
        Self {
            elastic: Elastic {
                elements,
                model,
                turns: None,
                slots: pattern.pair_slots(),
                tangent: TangentChoice::Exact(EIGENVALUE_FLOOR),
            },
            pattern,
            mass,
            twist: None,
        }
    }

    /// Creates the domain of a body with a skeleton.
    pub fn of_body(body: &'a Body, model: ElasticModel) -> Self {
        Self {
            twist: Some(body.twist_matrix()),
            ..Self::new(body.elements(), model, body.pattern(), body.mass_matrix())
        }
    }
}

/// All terms but the elastic energy, one vector per node each.
#[derive(Clone, Copy)]
pub(in crate::dynamics) struct Increment<'a> {
    /// m, 1/s².
    pub mass: f64,
    /// z, m/s².
    pub inertia: &'a [Vec3],
    /// k, dimensionless.
    pub damping: f64,
    /// w, m.
    pub lag: &'a [Vec3],
    /// f, N.
    pub forces: &'a [Vec3],
    /// Further energy terms.
    pub terms: &'a [Arc<dyn EnergyTerm>],
    /// Origin of the further terms' displacements.
    pub origin: &'a [Vec3],
}

impl<'a> Increment<'a> {
    /// Creates terms without mass and damping, all of whose vectors are `zero`.
    pub fn zero(zero: &'a [Vec3]) -> Self {
        Self {
            mass: 0.0,
            inertia: zero,
            damping: 0.0,
            lag: zero,
            forces: zero,
            terms: &[],
            origin: zero,
        }
    }
}

/// Minimiser of Φ; buffers are allocated once.
pub(in crate::dynamics) struct Balancer {
    solver: Inverse,
    /// Values of `m M + (1 + k) Mt + k K` in the solver.
    assembled: Vec<f64>,
    /// Values of the matrix that the solver holds, kept here while quadratic terms are assembled in their place.
    taken: Vec<f64>,
    /// `m M + (1 + k) Mt`.
    scalar: ScalarMatrix,
    /// K; `None` without damping.
    frozen: Option<BlockMatrix>,
    /// f − M z − (K + Mt) w on the free nodes.
    linear: Vec<Vec3>,
    /// q₀.
    guess: Vec<Vec3>,
    product: Vec<Vec3>,
    buffers: PotentialBuffers,
    free: Vec<Vec3>,
}

impl Balancer {
    pub fn new(pattern: &Pattern, nodes: usize) -> Result<Self, SolveError> {
        Self::with_solver(Inverse::with_factor(pattern.symbolic())?, pattern, nodes)
    }

    /// Creates a minimiser that uses `solver`.
    pub fn with_solver(
        mut solver: Inverse,
        pattern: &Pattern,
        nodes: usize,
    ) -> Result<Self, SolveError> {
        let zero = vec![Vec3::zeros(); nodes];
        let free = vec![Vec3::zeros(); pattern.vertex_of_node().len()];
        Ok(Self {
            assembled: vec![0.0; solver.matrix().values().len()],
            taken: Vec::new(),
            scalar: ScalarMatrix::zero((0, 0)),
            frozen: None,
            linear: free.clone(),
            guess: zero.clone(),
            product: zero,
            buffers: PotentialBuffers::new(nodes),
            free,
            solver,
        })
    }

    /// Minimises from the guess in `q`, whose held nodes stay. On an error `q` is the best point found.
    pub fn balance(
        &mut self,
        domain: ElasticDomain,
        increment: Increment,
        q: &mut [Vec3],
        options: &Newton,
        progress: &dyn Progress,
    ) -> Result<Outcome, NewtonError> {
        self.balance_or_detour(domain, increment, q, false, options, progress)
    }

    /// Minimises from the guess in `q` by the [chord method](crate::solve::chord), with the matrix that [`solver`](Self::solver)
    /// holds; otherwise as [`balance`](Self::balance).
    pub fn correct(
        &mut self,
        domain: ElasticDomain,
        increment: Increment,
        q: &mut [Vec3],
        options: &Chord,
        progress: &dyn Progress,
    ) -> Result<Outcome, NewtonError> {
        self.guess.copy_from_slice(q);
        self.minimise_by(domain, increment, q, |potential, solver, free| {
            minimise_with_factor(potential, solver, free, options, progress)
        })
    }

    /// Returns the solver, for systems of the same pattern.
    pub fn solver(&mut self) -> &mut Inverse {
        &mut self.solver
    }

    /// Minimises from `q` by a `method`, with increments counted from the stored guess.
    fn minimise_by(
        &mut self,
        domain: ElasticDomain,
        increment: Increment,
        q: &mut [Vec3],
        method: impl FnOnce(&mut Potential, &mut Inverse, &mut [Vec3]) -> Result<Outcome, NewtonError>,
    ) -> Result<Outcome, NewtonError> {
        self.taken.clear();
        self.taken.extend_from_slice(self.solver.matrix().values());
        let (size, rounding) = self.prepare(domain, increment);
        let pattern = domain.pattern;
        for (d, &v) in self.free.iter_mut().zip(pattern.vertex_of_node()) {
            *d = q[v as usize] - self.guess[v as usize];
        }
        let quadratic = QuadraticTerm {
            pattern,
            scalar: &self.scalar,
            frozen: self.frozen.as_ref().map(|k| (increment.damping, k)),
            linear: &self.linear,
            assembled: &self.assembled,
            forces: ForceMagnitude { size, rounding },
        };
        let mut terms: Vec<&dyn EnergyTerm> = vec![&domain.elastic, &quadratic];
        terms.extend(increment.terms.iter().map(|term| &**term));
        let mut potential = Potential::new(
            &terms,
            pattern,
            Some(increment.origin),
            &self.guess,
            &mut self.buffers,
            self.solver.matrix(),
        );
        self.solver.matrix().set_values(&self.taken);
        let free = &mut self.free;
        let outcome = method(&mut potential, &mut self.solver, free);
        for (d, &v) in free.iter().zip(pattern.vertex_of_node()) {
            q[v as usize] = self.guess[v as usize] + d;
        }
        outcome
    }

    /// Minimises as [`balance`](Self::balance) does. A `detour` of St. Venant-Kirchhoff flesh leads first to the balance of neo-Hookean
    /// flesh, which does not favour inverted pieces, and on from there.
    pub fn balance_or_detour(
        &mut self,
        domain: ElasticDomain,
        increment: Increment,
        q: &mut [Vec3],
        detour: bool,
        options: &Newton,
        progress: &dyn Progress,
    ) -> Result<Outcome, NewtonError> {
        self.guess.copy_from_slice(q);
        if detour {
            let mut kind = domain;
            kind.elastic.model = ElasticModel::NeoHookean;
            let rough = Newton {
                tolerance: 1e-3,
                ..*options
            };
            self.minimise_by(kind, increment, q, |potential, solver, free| {
                minimise(potential, solver.matrix(), free, &rough, progress)
            })?;
        }
        self.minimise_by(domain, increment, q, |potential, solver, free| {
            minimise(potential, solver.matrix(), free, options, progress)
        })
    }

    /// Prepares everything that is constant during the minimisation. Returns the norm of the linear terms and of their rounding.
    fn prepare(&mut self, domain: ElasticDomain, increment: Increment) -> (f64, f64) {
        let (mass, pattern) = (domain.mass, domain.pattern);
        if self.scalar.nnz() != mass.nnz() {
            self.scalar = mass.clone();
        }
        let scalar = &mut self.scalar;
        for (s, m) in scalar.data_mut().iter_mut().zip(mass.data()) {
            *s = increment.mass * m;
        }
        if let Some(twist) = domain.twist {
            let both = scalar.data_mut().iter_mut().zip(twist.data());
            both.for_each(|(s, t)| *s += (1.0 + increment.damping) * t);
        }
        let solver = self.solver.matrix();
        solver.clear();
        for (slot, &value) in pattern.entry_slots().iter().zip(scalar.data()) {
            if let Some(slot) = slot {
                solver.add_scalar(*slot, value);
            }
        }
        let damped = increment.damping > 0.0;
        if damped {
            let mut frozen = self
                .frozen
                .take()
                .unwrap_or_else(|| mass.map(|_| Mat3::zeros()));
            frozen.data_mut().fill(Mat3::zeros());
            let at = Configuration {
                origin: None,
                displacements: &self.guess,
                increment: None,
            };
            let mut elastic = domain.elastic;
            elastic.tangent = TangentChoice::Exact(0.0);
            elastic.visit_hessian(&at, true, |pair, a, b, block| {
                frozen.add_pair(a, b, block);
                if let Some(slot) = pattern.pair_slots()[pair] {
                    solver.add(slot, &(block * increment.damping));
                }
            });
            frozen.times(increment.lag, &mut self.product);
            if let Some(twist) = domain.twist {
                for (v, product) in self.product.iter_mut().enumerate() {
                    *product += twist.row_times(v, increment.lag);
                }
            }
            self.frozen = Some(frozen);
        } else {
            self.frozen = None;
            self.product.fill(Vec3::zeros());
        }
        self.assembled.copy_from_slice(solver.values());

        let far = self.guess.iter().map(|q| q.amax()).fold(0.0, f64::max);
        let (mut sizes, mut rounding): (f64, f64) = (0.0, 0.0);
        for (linear, &v) in self.linear.iter_mut().zip(pattern.vertex_of_node()) {
            let v = v as usize;
            let inertia = mass.row_times(v, increment.inertia);
            let drag = self.product[v];
            *linear = increment.forces[v] - inertia - drag;
            let size = increment.forces[v].norm() + inertia.norm() + drag.norm();
            sizes += size * size;
            // Rounding of positions enters through the quadratic terms.
            let own: f64 = scalar.data()[scalar.row_range(v)]
                .iter()
                .map(|s| s.abs())
                .sum();
            rounding += (size + far * own).powi(2);
        }
        (sizes.sqrt(), 4.0 * f64::EPSILON * rounding.sqrt())
    }
}

/// The term `½ dᵀ (m M + (1 + k) Mt + k K) d − dᵀ b` of the increments d of free nodes.
struct QuadraticTerm<'a> {
    pattern: &'a Pattern,
    /// `m M + (1 + k) Mt`.
    scalar: &'a ScalarMatrix,
    /// k and K.
    frozen: Option<(f64, &'a BlockMatrix)>,
    /// b on the free nodes.
    linear: &'a [Vec3],
    /// The Hessian's values in the solver.
    assembled: &'a [f64],
    forces: ForceMagnitude,
}

impl QuadraticTerm<'_> {
    /// Returns `(m M + (1 + k) Mt + k K) d` at a node.
    fn row_product(&self, v: usize, d: &[Vec3]) -> Vec3 {
        let mut sum = self.scalar.row_times(v, d);
        if let Some((factor, k)) = self.frozen {
            for i in k.row_range(v) {
                sum += k.data()[i] * d[k.indices()[i] as usize] * factor;
            }
        }
        sum
    }

    /// Iterates over the free nodes with their b.
    fn free_nodes(&self) -> impl Iterator<Item = (usize, &Vec3)> {
        let nodes = self.pattern.vertex_of_node().iter();
        nodes.map(|&v| v as usize).zip(self.linear)
    }
}

impl EnergyTerm for QuadraticTerm<'_> {
    fn add_value(&self, at: &Configuration, sum: &mut RoundedSum) {
        let Some(d) = at.increment else {
            return;
        };
        for (v, b) in self.free_nodes() {
            let (square, line) = (0.5 * d[v].dot(&self.row_product(v, d)), d[v].dot(b));
            sum.value += square - line;
            sum.rounding += 4.0 * f64::EPSILON * (square.abs() + line.abs());
        }
    }

    fn add_gradient(&self, at: &Configuration, gradient: &mut [Vec3]) -> ForceMagnitude {
        for (v, b) in self.free_nodes() {
            if let Some(d) = at.increment {
                gradient[v] += self.row_product(v, d);
            }
            gradient[v] -= b;
        }
        self.forces
    }

    fn add_hessian(&self, _: &Configuration, _: bool, into: &mut Assembly) {
        into.add_values(self.assembled);
    }

    fn add_product(&self, _: &Configuration, _: bool, x: &[Vec3], y: &mut [Vec3]) {
        for (v, _) in self.free_nodes() {
            y[v] += self.row_product(v, x);
        }
    }

    fn visit_pairs(&self, visit: &mut dyn FnMut(usize, usize)) {
        self.scalar.visit_pairs(visit);
    }

    fn is_quadratic(&self) -> bool {
        true
    }
}
