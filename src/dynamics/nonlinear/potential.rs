// SPDX-License-Identifier: MIT OR Apache-2.0
//! What nonlinear statics and implicit steps minimise.
//!
//! Over the displacements q of the free nodes, the held ones in place, with d = q − q₀ from a first guess q₀:
//!
//! ```text
//! Φ(q) = V(q) + ½ dᵀ (m M + Mt + k K) d − dᵀ (f − M z − K w)
//! ```
//!
//! V is the elastic energy, Mt the twist's Hessian, K the stiffness frozen at q₀ (made convex, so that it only takes energy out),
//! f the forces other than elastic ones at q₀, z what M and w what K act on there. Statics has m = k = 0; backward Euler is
//! the incremental potential with `m = 1/h² + α/h`, `k = β/h` \[martin2011\]. All but V counts from the
//! guess, so nothing depends on how far away the body is.

use crate::elasticity::{Curvature, Deformation, Elements, Model};
use crate::progress::Progress;
use crate::solve::newton::{Forces, Problem, Rounded, minimise};
use crate::solve::{
    BlockMatrix, Newton, NewtonError, Outcome, Pattern, ScalarMatrix, SolveError, SparseCholesky,
};
use crate::{Mat3, Vec3};

/// Where Hessians are made convex, they resist every deformation at least with this share of the shear modulus.
const FLOOR: f64 = 1e-3;

/// A body as its equations see it; the matrices have one pattern.
#[derive(Clone, Copy)]
pub(in super::super) struct Domain<'a> {
    pub elements: &'a Elements,
    /// How each element is turned before it is displaced: displacements then count from turned flesh at rest.
    pub turns: Option<&'a [Mat3]>,
    pub pattern: &'a Pattern,
    pub mass: &'a ScalarMatrix,
    pub twist: Option<&'a ScalarMatrix>,
}

impl<'a> Domain<'a> {
    fn deformation(&self, q: &'a [Vec3]) -> Deformation<'a> {
        match self.turns {
            Some(turns) => Deformation::carried(q, turns),
            None => q.into(),
        }
    }
}

/// All terms but the elastic energy, one vector per node each.
#[derive(Clone, Copy)]
pub(in super::super) struct Terms<'a> {
    /// The elastic energy V.
    pub model: Model,
    /// m, 1/s².
    pub mass: f64,
    /// z, m/s².
    pub inertia: &'a [Vec3],
    /// k, without unit.
    pub damping: f64,
    /// w, m.
    pub lag: &'a [Vec3],
    /// f, N.
    pub forces: &'a [Vec3],
}

/// Finds minima of Φ; buffers allocated once.
pub(in super::super) struct Balancer {
    solver: SparseCholesky,
    /// Numbers of `m M + Mt + k K` in the solver.
    base: Vec<f64>,
    /// `m M + Mt`.
    scalar: Vec<f64>,
    frozen: Option<BlockMatrix>,
    /// f − M z − K w on the free nodes.
    linear: Vec<Vec3>,
    guess: Vec<Vec3>,
    whole: Buffers,
    free: Vec<Vec3>,
}

/// One vector per node.
struct Buffers {
    displacement: Vec<Vec3>,
    step: Vec<Vec3>,
    product: Vec<Vec3>,
}

impl Balancer {
    pub fn new(pattern: &Pattern, nodes: usize) -> Result<Self, SolveError> {
        let solver = SparseCholesky::new(pattern.symbolic().clone())?;
        let zero = vec![Vec3::zeros(); nodes];
        let free = vec![Vec3::zeros(); pattern.vertex_of_node().len()];
        Ok(Self {
            base: vec![0.0; solver.values().len()],
            scalar: Vec::new(),
            frozen: None,
            linear: free.clone(),
            guess: zero.clone(),
            whole: Buffers {
                displacement: zero.clone(),
                step: zero.clone(),
                product: zero,
            },
            free,
            solver,
        })
    }

    /// Minimises from the guess in `q`; the held nodes of it stay. On an error `q` is the best point so far.
    pub fn balance(
        &mut self,
        domain: Domain,
        terms: Terms,
        q: &mut [Vec3],
        options: &Newton,
        progress: &dyn Progress,
    ) -> Result<Outcome, NewtonError> {
        self.guess.copy_from_slice(q);
        self.go_on(domain, terms, q, options, progress)
    }

    /// Minimises from `q`, where the guess that the terms count from is another.
    fn go_on(
        &mut self,
        domain: Domain,
        terms: Terms,
        q: &mut [Vec3],
        options: &Newton,
        progress: &dyn Progress,
    ) -> Result<Outcome, NewtonError> {
        let (size, rounding) = self.prepare(domain, terms);
        let mut free = std::mem::take(&mut self.free);
        for (d, &v) in free.iter_mut().zip(domain.pattern.vertex_of_node()) {
            *d = q[v as usize] - self.guess[v as usize];
        }
        let mut problem = Potential {
            domain,
            model: terms.model,
            base: &self.base,
            scalar: &self.scalar,
            frozen: self.frozen.as_ref().map(|k| (terms.damping, k)),
            linear: &self.linear,
            guess: &self.guess,
            whole: &mut self.whole,
            size,
            rounding,
        };
        let outcome = minimise(&mut problem, &mut self.solver, &mut free, options, progress);
        for (d, &v) in free.iter().zip(domain.pattern.vertex_of_node()) {
            q[v as usize] = self.guess[v as usize] + d;
        }
        self.free = free;
        outcome
    }

    /// As [`balance`](Self::balance), for St. Venant-Kirchhoff flesh with a detour: first to the balance of neo-Hookean flesh,
    /// which is not drawn to where pieces are inside out, and from there on.
    pub fn balance_by_detour(
        &mut self,
        domain: Domain,
        terms: Terms,
        q: &mut [Vec3],
        options: &Newton,
        progress: &dyn Progress,
    ) -> Result<Outcome, NewtonError> {
        let start = q.to_vec();
        let kind = Terms {
            model: Model::NeoHookean,
            ..terms
        };
        let rough = Newton {
            tolerance: 1e-3,
            ..*options
        };
        self.balance(domain, kind, q, &rough, progress)?;
        self.guess.copy_from_slice(&start);
        self.go_on(domain, terms, q, options, progress)
    }

    /// Everything that does not change during the minimisation. Gives the size of the linear terms and of their rounding.
    fn prepare(&mut self, domain: Domain, terms: Terms) -> (f64, f64) {
        let (mass, pattern) = (domain.mass, domain.pattern);
        self.scalar.clear();
        self.scalar
            .extend(mass.values().iter().map(|m| terms.mass * m));
        if let Some(twist) = domain.twist {
            let both = self.scalar.iter_mut().zip(twist.values());
            both.for_each(|(s, t)| *s += t);
        }
        self.solver.clear();
        for (slot, &value) in pattern.entry_slots().iter().zip(&self.scalar) {
            if let Some(slot) = slot {
                self.solver.add_scalar(*slot, value);
            }
        }
        let damped = terms.damping > 0.0;
        if damped {
            let mut frozen = self
                .frozen
                .take()
                .unwrap_or_else(|| BlockMatrix::like(mass, 0.0));
            frozen.blocks_mut().fill(Mat3::zeros());
            domain.elements.visit_hessian(
                terms.model,
                domain.deformation(&self.guess),
                |_| Curvature::Convex(0.0),
                |pair, a, b, block| {
                    frozen.add_pair(a, b, block);
                    if let Some(slot) = pattern.pair_slots()[pair] {
                        self.solver.add(slot, &(block * terms.damping));
                    }
                },
            );
            frozen.times(terms.lag, &mut self.whole.product);
            self.frozen = Some(frozen);
        } else {
            self.frozen = None;
            self.whole.product.fill(Vec3::zeros());
        }
        self.base.copy_from_slice(self.solver.values());

        let far = self.guess.iter().map(|q| q.amax()).fold(0.0, f64::max);
        let (mut sizes, mut rounding): (f64, f64) = (0.0, 0.0);
        for (linear, &v) in self.linear.iter_mut().zip(pattern.vertex_of_node()) {
            let v = v as usize;
            let inertia = mass.row_times(v, terms.inertia);
            let drag = self.whole.product[v];
            *linear = terms.forces[v] - inertia - drag;
            let size = terms.forces[v].norm() + inertia.norm() + drag.norm();
            sizes += size * size;
            // What positions are off by, the quadratic terms feel.
            let own: f64 = mass.row_range(v).map(|i| self.scalar[i].abs()).sum();
            rounding += (size + far * own).powi(2);
        }
        (sizes.sqrt(), 4.0 * f64::EPSILON * rounding.sqrt())
    }
}

/// Φ as Newton's method sees it: unknowns are d on the free nodes.
struct Potential<'a> {
    domain: Domain<'a>,
    model: Model,
    base: &'a [f64],
    scalar: &'a [f64],
    frozen: Option<(f64, &'a BlockMatrix)>,
    linear: &'a [Vec3],
    guess: &'a [Vec3],
    whole: &'a mut Buffers,
    size: f64,
    rounding: f64,
}

impl Potential<'_> {
    fn place(&mut self, x: &[Vec3]) {
        self.whole.displacement.copy_from_slice(self.guess);
        for (d, &v) in x.iter().zip(self.domain.pattern.vertex_of_node()) {
            self.whole.displacement[v as usize] += d;
            self.whole.step[v as usize] = *d;
        }
    }

    /// `(m M + Mt + k K) d` of a free node, after `place`.
    fn row(&self, v: usize) -> Vec3 {
        let mass = self.domain.mass;
        let mut sum = Vec3::zeros();
        for i in mass.row_range(v) {
            sum += self.whole.step[mass.columns()[i] as usize] * self.scalar[i];
        }
        if let Some((factor, k)) = self.frozen {
            for i in k.row_range(v) {
                sum += k.blocks()[i] * self.whole.step[k.columns()[i] as usize] * factor;
            }
        }
        sum
    }
}

impl Problem for Potential<'_> {
    fn value(&mut self, x: &[Vec3]) -> Rounded {
        self.place(x);
        let deformation = self.domain.deformation(&self.whole.displacement);
        let elements = self.domain.elements;
        let mut sum = elements.rounded_energy(self.model, deformation);
        for ((d, b), &v) in x
            .iter()
            .zip(self.linear)
            .zip(self.domain.pattern.vertex_of_node())
        {
            let (square, line) = (0.5 * d.dot(&self.row(v as usize)), d.dot(b));
            sum.value += square - line;
            sum.rounding += 4.0 * f64::EPSILON * (square.abs() + line.abs());
        }
        sum
    }

    fn gradient(&mut self, x: &[Vec3], gradient: &mut [Vec3]) -> Forces {
        self.place(x);
        let mut product = std::mem::take(&mut self.whole.product);
        let deformation = self.domain.deformation(&self.whole.displacement);
        let elements = self.domain.elements;
        let mut forces = elements.gradient(self.model, deformation, &mut product);
        for ((g, b), &v) in gradient
            .iter_mut()
            .zip(self.linear)
            .zip(self.domain.pattern.vertex_of_node())
        {
            *g = product[v as usize] + self.row(v as usize) - b;
        }
        self.whole.product = product;
        forces.size = forces.size.max(self.size);
        forces.rounding += self.rounding;
        forces
    }

    fn hessian(&mut self, x: &[Vec3], convex: bool, solver: &mut SparseCholesky) {
        self.place(x);
        solver.set_values(self.base);
        let curvature = if convex {
            Curvature::Convex(FLOOR)
        } else {
            Curvature::Exact
        };
        let slots = self.domain.pattern.pair_slots();
        let deformation = self.domain.deformation(&self.whole.displacement);
        let elements = self.domain.elements;
        elements.visit_hessian(
            self.model,
            deformation,
            |_| curvature,
            |pair, _, _, block| {
                if let Some(slot) = slots[pair] {
                    solver.add(slot, block);
                }
            },
        );
    }
}
