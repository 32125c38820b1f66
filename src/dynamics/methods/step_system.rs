// SPDX-License-Identifier: MIT OR Apache-2.0
//! The linear system of a step that linearises an elastic energy once.
//!
//! For displacements u from an origin, with first guess u₀ and d = u' − u₀:
//!
//! ```text
//! (m M + (1 + k) (V''(u₀) + Mt)) d = f − V'(u₀) − m M z/m − terms,   m = 1/h² + α/h,  k = β/h
//! ```
//!
//! M is the mass, Mt the twist's Hessian, f the non-elastic forces at u₀, M z the inertia of the guess. The exact V'' is taken
//! near rest, and a convex one in cells farther away ([`TangentChoice::Guarded`]). Where that sum is not positive definite, all
//! cells take a convex one.
//!
//! **With details** the system is in the [nodal functions](crate::body::NodalForm) of the body's basis, a `StepSpace` of its own. There a level
//! of details costs what as many vertices of a finer lattice cost.
//!
//! **Solved** by conjugate gradients on [sweeps](crate::solve::sweeps), as masses keep the system well conditioned, or by a
//! factorisation if that costs less.

use super::patches::{CellPatches, DisplacedCells};
use super::step_space::StepSpace;
use crate::Vec3;
use crate::body::Body;
use crate::dynamics::{SimulationError, Solver};
use crate::elasticity::{Elastic, ElasticModel, TangentChoice};
use crate::solve::{
    Assembly, Configuration, ConstantForces, EnergyTerm, Inverse, LinearSolver, ScalarMatrix,
    ScalarTerm, SparseCholesky,
};
use std::sync::Arc;

/// Buffers of the systems of the flesh of one body, and its cells.
pub(super) struct StepSystem {
    pub cells: CellPatches,
    /// Body whose stiffness decides between iterations and factoring, where that of the flesh varies; `None`: the flesh's own.
    pub at_ease: Option<Arc<Body>>,
    /// Values of `m M + (1 + k) Mt` in the solver, and m and k; whether the twist has changed since.
    base: Vec<f64>,
    scales: Option<(f64, f64)>,
    other_twist: bool,
    /// Initial guess of the solution: flesh in free flight, one entry per free vertex.
    flight: Vec<Vec3>,
    /// True if the cheaper of iterations and factoring is chosen whenever the scales change.
    automatic: bool,
    /// Gradient, N, one entry per lattice vertex.
    gradient: Vec<Vec3>,
    /// Right-hand side, then solution d, one entry per free vertex.
    pub nodes: Vec<Vec3>,
}

/// First guess of a step, and what acts there; one vector per lattice vertex each.
pub(super) struct StepGuess<'a> {
    /// Flesh at the guess.
    pub cells: DisplacedCells<'a>,
    /// Origin of the displacements, m, world axes.
    pub origin: &'a [Vec3],
    /// z, m/s².
    pub inertia: &'a [Vec3],
    /// f, N.
    pub forces: &'a [Vec3],
    /// Further energy terms.
    pub terms: &'a [Arc<dyn EnergyTerm>],
}

impl StepSystem {
    /// Creates the buffers; `solver` is that of [`StepSpace::solver`], which made `inverse`.
    pub fn new(
        space: &StepSpace,
        model: ElasticModel,
        solver: Solver,
        inverse: &mut Inverse,
    ) -> Self {
        let free = vec![Vec3::zeros(); space.pattern.vertex_of_node().len()];
        Self {
            cells: CellPatches::new(space, model),
            at_ease: None,
            base: vec![0.0; inverse.matrix().values().len()],
            scales: None,
            other_twist: false,
            flight: free.clone(),
            automatic: solver == Solver::Automatic && !space.has_few_nodes(),
            gradient: vec![Vec3::zeros(); space.elements.node_count()],
            nodes: free,
        }
    }

    /// Takes over the stiffness of the body, whose functions are those of the system.
    pub fn copy_stiffness(&mut self, body: &Body) {
        self.cells.copy_stiffness(body.elements());
        self.other_twist = true;
    }

    /// Assembles the matrix that all steps with these scales share, and decides whether iterations cost less than its factorisation.
    /// The decision depends on the body at ease and the scales alone, so that every step is reproducible.
    fn assemble_base(
        &mut self,
        space: &StepSpace,
        solver: &mut Inverse,
        (mass, damping): (f64, f64),
    ) {
        let pattern = space.pattern;
        let matrix = solver.matrix();
        let set_scalars = |matrix: &mut SparseCholesky, twist: &ScalarMatrix| {
            matrix.clear();
            let mut assembly = Assembly::new(pattern, matrix);
            assembly.scaled_by(mass).add_scalars(space.mass);
            assembly.scaled_by(1.0 + damping).add_scalars(twist);
        };
        set_scalars(matrix, space.twist);
        self.base.copy_from_slice(matrix.values());
        let decided = self.scales == Some((mass, damping));
        self.scales = Some((mass, damping));
        self.other_twist = false;
        if !self.automatic || decided {
            return;
        }
        if let Some(at_ease) = &self.at_ease {
            set_scalars(matrix, at_ease.twist_matrix());
        }
        // The matrix at rest, loaded by the weight of all flesh.
        let still = vec![Vec3::zeros(); space.elements.node_count()];
        let at = Configuration {
            origin: None,
            displacements: &still,
            increment: None,
        };
        let elastic = Elastic {
            elements: self
                .at_ease
                .as_ref()
                .map_or(space.elements, |b| b.elements()),
            model: self.cells.model(),
            turns: None,
            slots: pattern.pair_slots(),
            tangent: TangentChoice::Guarded,
        };
        let assembly = &mut Assembly::new(pattern, matrix);
        elastic.add_hessian(&at, false, &mut assembly.scaled_by(1.0 + damping));
        for (node, &v) in self.nodes.iter_mut().zip(pattern.vertex_of_node()) {
            *node = Vec3::repeat(space.carried_mass(v as usize));
        }
        let iterations = solver.measure_iterations(&mut self.nodes);
        solver.enable_sweeps(iterations.is_some());
    }

    /// Solves one linearisation at a guess: `nodes` then holds d on the free nodes. `scales` are m and k.
    ///
    /// # Errors
    /// The system is singular.
    pub fn solve(
        &mut self,
        space: &StepSpace,
        solver: &mut Inverse,
        guess: &StepGuess,
        scales: (f64, f64),
    ) -> Result<(), SimulationError> {
        let (pattern, (mass, damping)) = (space.pattern, scales);
        if self.scales != Some(scales) || self.other_twist {
            self.assemble_base(space, solver, scales);
        }
        let at = Configuration {
            origin: Some(guess.origin),
            displacements: guess.cells.displacements,
            increment: None,
        };
        for (flight, &v) in self.flight.iter_mut().zip(pattern.vertex_of_node()) {
            *flight = guess.inertia[v as usize] / -mass;
        }
        // Their Hessians are in `base`.
        let forces = ConstantForces {
            forces: guess.forces,
        };
        let inertia = ScalarTerm {
            matrix: space.mass,
            factor: mass,
            slope: guess.inertia,
        };
        let gradient = &mut self.gradient;
        for convex in [false, true] {
            let matrix = solver.matrix();
            matrix.set_values(&self.base);
            gradient.fill(Vec3::zeros());
            let mut assembly = Assembly::new(pattern, matrix);
            let damped = &mut assembly.scaled_by(1.0 + damping);
            self.cells.linearise(guess.cells, convex, gradient, damped);
            for term in guess.terms {
                term.linearise(&at, convex, gradient, &mut assembly);
            }
            for term in [&forces as &dyn EnergyTerm, &inertia] {
                term.add_gradient(&at, gradient);
            }
            for (node, &v) in self.nodes.iter_mut().zip(pattern.vertex_of_node()) {
                *node = -gradient[v as usize];
            }
            let renewed = solver.adopt_matrix();
            match renewed.and_then(|()| solver.solve_from(&mut self.nodes, Some(&self.flight))) {
                Ok(()) => break,
                Err(error) if convex => return Err(error.into()),
                Err(_) => {}
            }
        }
        Ok(())
    }
}
