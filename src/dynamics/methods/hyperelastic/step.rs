// SPDX-License-Identifier: MIT OR Apache-2.0
//! Steps of the hyperelastic method.

use super::balance::{self, compute_loads, nearest_balance};
use super::cells::CellPatches;
use crate::Vec3;
use crate::body::Body;
use crate::dynamics::forces::Load;
use crate::dynamics::methods::nonlinear::{Balancer, EIGENVALUE_FLOOR, ElasticDomain, Increment};
use crate::dynamics::methods::stepper::{
    FactoredStep, NodalState, Proposal, ResetInput, SplitStep, Step, StepFactor, Stepper,
};
use crate::dynamics::{SimulationError, SkinnedLattice, Solver, position_error};
use crate::elasticity::TangentChoice;
use crate::progress::Progress;
use crate::solve::{
    Assembly, Chord, Configuration, ConstantForces, EnergyTerm, Inverse, LinearSolver, NewtonError,
    NodeMatrix, ScalarTerm, SolveError,
};

/// Largest change of a cell's strain for which one linearisation is used. At half and twice the value an arm whose bones stop suddenly moves
/// the same; at ten times one changes by 5 % of its sway.
const MAX_STRAIN_CHANGE: f64 = 0.1;

/// Drag coefficient C, dimensionless. An arm of a metre whose bones stop at 1.2, 3 and 12 m/s sways 0.94, 0.85 and 0.63 times as far as
/// exact flesh; at half the value 0.96, 0.90 and 0.69, at twice 0.89, 0.77 and 0.54.
const DRAG_COEFFICIENT: f64 = 2.0;

/// Stopping criteria for steps beyond [`MAX_STRAIN_CHANGE`]: the remaining error is a few percent of the step's change.
const CHORD_CRITERIA: Chord = Chord {
    tolerance: 0.03,
    stale: 0.3,
    corrections: 24,
};

/// Bodies with fewer free vertices are factored. At 255, a factorisation with its substitution takes 0.18 ms and iterations 0.10 ms;
/// below, the saving is too small to give up digits for.
const MIN_ITERATIVE_VERTICES: usize = 128;

/// Maximum number of iterations with [`Solver::Iterate`], whatever factoring costs. In exact arithmetic conjugate gradients end after as
/// many iterations as there are unknowns, here those of 667 vertices.
const MAX_ITERATIONS: usize = 2_000;

/// Stepper of the hyperelastic method: solver and buffers of a step.
pub(in crate::dynamics) struct HyperelasticStepper {
    /// Chord and Newton solver; its linear solver serves every step.
    balancer: Balancer,
    /// Values of `m M + (1 + β/h) Mt` in the solver, and m and β/h.
    base: Vec<f64>,
    scales: Option<(f64, f64)>,
    cells: CellPatches,
    /// Initial guess of the solution: flesh in free flight, one entry per free vertex.
    flight: Vec<Vec3>,
    /// True if the cheaper of iterations and factoring is chosen whenever the scales change.
    automatic: bool,
    /// Drag C/L, 1/m.
    drag: f64,
    /// Buffers, one entry per lattice vertex each: sway, then positions at the step's end; z + ẅ after drag, m/s²; non-elastic forces, N; gradient,
    /// N.
    sway: Vec<Vec3>,
    inertia: Vec<Vec3>,
    forces: Vec<Vec3>,
    gradient: Vec<Vec3>,
    /// Right-hand side, then solution, one entry per free vertex.
    nodes: Vec<Vec3>,
    change: Vec<Vec3>,
    unconverged: usize,
}

/// Returns the diagonal of the box with the flesh's moments of inertia, m: a size that does not depend on orientation.
fn inertia_diagonal(body: &Body) -> f64 {
    let (mass, rest) = (body.mass_matrix(), body.rest_shape());
    let all = || rest.iter().enumerate().map(|(v, x)| (mass.row_sum(v), x));
    let total: f64 = all().map(|(m, _)| m).sum();
    let centre = all().map(|(m, x)| x * m).sum::<Vec3>() / total;
    let square = |(m, x): (f64, &Vec3)| m * (x - centre).norm_squared();
    (12.0 * all().map(square).sum::<f64>() / total).sqrt()
}

impl HyperelasticStepper {
    pub fn new(body: &Body, solver: Solver) -> Result<Self, SolveError> {
        let pattern = body.pattern();
        let few = pattern.vertex_of_node().len() < MIN_ITERATIVE_VERTICES;
        let mut inverse = match solver {
            Solver::Automatic if few => Inverse::with_factor(pattern.symbolic())?,
            Solver::Factor => Inverse::with_factor(pattern.symbolic())?,
            Solver::Automatic | Solver::Iterate => Inverse::with_sweeps(pattern.symbolic())?,
        };
        if solver == Solver::Iterate {
            inverse.set_limit(MAX_ITERATIONS);
        }
        let mut balancer = Balancer::with_solver(inverse, pattern, body.node_count())?;
        let zero = vec![Vec3::zeros(); body.node_count()];
        Ok(Self {
            base: vec![0.0; balancer.solver().matrix().values().len()],
            scales: None,
            automatic: solver == Solver::Automatic && !few,
            cells: CellPatches::new(body),
            flight: vec![Vec3::zeros(); pattern.vertex_of_node().len()],
            drag: DRAG_COEFFICIENT / inertia_diagonal(body).max(f64::MIN_POSITIVE),
            sway: zero.clone(),
            inertia: zero.clone(),
            forces: zero.clone(),
            gradient: zero.clone(),
            nodes: vec![Vec3::zeros(); body.pattern().vertex_of_node().len()],
            change: zero,
            unconverged: 0,
            balancer,
        })
    }

    /// Assembles the matrix that all steps with these scales share, and decides whether iterations cost less than its factorisation.
    /// The decision depends on the body and the scales alone, so that every step is reproducible.
    fn assemble_base(&mut self, body: &Body, (mass, damping): (f64, f64)) {
        let (pattern, solver) = (body.pattern(), self.balancer.solver());
        let matrix = solver.matrix();
        matrix.clear();
        let mut assembly = Assembly::new(pattern, matrix);
        assembly.scaled_by(mass).add_scalars(body.mass_matrix());
        let both = &mut assembly.scaled_by(1.0 + damping);
        both.add_scalars(body.twist_matrix());
        self.base.copy_from_slice(matrix.values());
        self.scales = Some((mass, damping));
        if !self.automatic {
            return;
        }
        // The matrix at rest, loaded by the weight of all flesh.
        let still = vec![Vec3::zeros(); body.node_count()];
        let at = Configuration {
            origin: None,
            displacements: &still,
            increment: None,
        };
        let elastic = balance::elastic_energy(body, None, TangentChoice::Guarded);
        let assembly = &mut Assembly::new(pattern, matrix);
        elastic.add_hessian(&at, false, &mut assembly.scaled_by(1.0 + damping));
        for (node, &v) in self.nodes.iter_mut().zip(pattern.vertex_of_node()) {
            *node = Vec3::repeat(body.mass_matrix().row_sum(v as usize));
        }
        let iterations = solver.measure_iterations(&mut self.nodes);
        solver.enable_sweeps(iterations.is_some());
    }

    /// Solves one linearisation at the sway: `nodes` then holds d on the free nodes.
    fn solve(
        &mut self,
        body: &Body,
        skinned: &SkinnedLattice,
        load: &Load,
        mass: f64,
        damping: f64,
    ) -> Result<(), SimulationError> {
        let pattern = body.pattern();
        if self.scales != Some((mass, damping)) {
            self.assemble_base(body, (mass, damping));
        }
        let solver = self.balancer.solver();
        let at = Configuration {
            origin: Some(&skinned.places),
            displacements: &self.sway,
            increment: None,
        };
        for (flight, &v) in self.flight.iter_mut().zip(pattern.vertex_of_node()) {
            *flight = self.inertia[v as usize] / -mass;
        }
        // Their Hessians are in `base`.
        let forces = ConstantForces {
            forces: &self.forces,
        };
        let inertia = ScalarTerm {
            matrix: body.mass_matrix(),
            factor: mass,
            slope: &self.inertia,
        };
        let gradient = &mut self.gradient;
        for convex in [false, true] {
            let matrix = solver.matrix();
            matrix.set_values(&self.base);
            gradient.fill(Vec3::zeros());
            let mut assembly = Assembly::new(pattern, matrix);
            let from = (skinned, &self.sway[..]);
            let damped = &mut assembly.scaled_by(1.0 + damping);
            self.cells.linearise(from, convex, gradient, damped);
            for term in load.terms {
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

    /// Computes the sway at the step's end by the chord method, from the matrix that [`solve`](Self::solve) leaves.
    fn minimise(
        &mut self,
        body: &Body,
        skinned: &SkinnedLattice,
        load: &Load,
        (mass, damping): (f64, f64),
        progress: &dyn Progress,
    ) -> Result<(), SimulationError> {
        self.change.fill(Vec3::zeros());
        let increment = Increment {
            mass,
            inertia: &self.inertia,
            damping,
            lag: &self.change,
            forces: &self.forces,
            terms: load.terms,
            origin: &skinned.places,
        };
        let domain = ElasticDomain {
            elastic: balance::elastic_energy(
                body,
                Some(skinned),
                TangentChoice::Exact(EIGENVALUE_FLOOR),
            ),
            ..ElasticDomain::of_body(body, balance::MODEL)
        };
        let sway = &mut self.sway;
        match self
            .balancer
            .correct(domain, increment, sway, &CHORD_CRITERIA, progress)
        {
            Ok(_) => Ok(()),
            // The best point found is lower than the guess: good enough to continue from. The step is counted.
            Err(NewtonError::NotConverged { .. }) => {
                self.unconverged += 1;
                Ok(())
            }
            Err(error) => Err(error.into()),
        }
    }
}

impl Stepper for HyperelasticStepper {
    /// Starts in balance, or at the nearest state found: a first pose that folds flesh is accepted and counted as unconverged.
    fn reset(&mut self, start: &ResetInput, nodes: &mut NodalState) -> Result<(), SimulationError> {
        let sway = if start.settled {
            let (sway, left) =
                nearest_balance(start.body, start.skinned, start.load, start.progress)?;
            self.unconverged += usize::from(left.is_some());
            sway
        } else {
            vec![Vec3::zeros(); start.body.node_count()]
        };
        let carried = start.skinned.places.iter().zip(&sway);
        nodes.positions = carried.map(|(p, u)| p + u).collect();
        Ok(())
    }

    fn step(&mut self, step: &Step, nodes: &mut NodalState) -> Result<(), SimulationError> {
        self.propose(step, nodes)?;
        self.accept(step, nodes, None)
    }

    fn split_step(&mut self) -> Option<&mut dyn SplitStep> {
        Some(self)
    }

    fn unconverged_steps(&self) -> usize {
        self.unconverged
    }
}

impl SplitStep for HyperelasticStepper {
    fn propose(&mut self, step: &Step, nodes: &NodalState) -> Result<(), SimulationError> {
        let (body, from, to, h) = (step.body, step.from, step.to, step.duration);
        let (positions, velocities) = (&nodes.positions, &nodes.velocities);
        let mass = 1.0 / (h * h) + step.mass_damping / h;
        let damping = step.implicit_stiffness_damping() / h;
        for v in 0..body.node_count() {
            let p = positions[v];
            self.sway[v] = match body.bone_of_vertex()[v] {
                Some(_) => Vec3::zeros(),
                None => to.turns[v] * from.turns[v].tr_mul(&(p - from.places[v])),
            };
            let carried = (to.places[v] + self.sway[v] - p) / h;
            self.inertia[v] = (carried - velocities[v]) / h;
            if body.bone_of_vertex()[v].is_none() {
                let speed = self.inertia[v].norm() * h;
                self.inertia[v] /= 1.0 + h * self.drag * speed;
            }
            if let Some(bending) = step.bending {
                self.inertia[v] += bending[v];
            }
        }
        compute_loads(body, to, &step.load, &self.sway, &mut self.forces);
        self.solve(body, to, &step.load, mass, damping)?;
        self.change.fill(Vec3::zeros());
        for (d, &v) in self.nodes.iter().zip(body.pattern().vertex_of_node()) {
            self.change[v as usize] = *d;
        }
        let steep = self.cells.max_gradient_norm(&self.change);
        if steep <= MAX_STRAIN_CHANGE {
            for (sway, d) in self.sway.iter_mut().zip(&self.change) {
                *sway += d;
            }
        } else {
            self.minimise(body, to, &step.load, (mass, damping), step.progress)?;
        }
        for (next, place) in self.sway.iter_mut().zip(&to.places) {
            *next += place;
        }
        position_error(&self.sway).map_or(Ok(()), Err)
    }

    fn proposal(&mut self, _: &Step) -> Result<Proposal<'_>, SimulationError> {
        Ok(Proposal {
            positions: &self.sway,
            factored: FactoredStep {
                solver: StepFactor::Pending(self.balancer.solver()),
                scale: 1.0,
            },
        })
    }

    fn accept(
        &mut self,
        step: &Step,
        nodes: &mut NodalState,
        displaced: Option<&[Vec3]>,
    ) -> Result<(), SimulationError> {
        if let Some(displaced) = displaced {
            for (d, &v) in displaced.iter().zip(step.body.pattern().vertex_of_node()) {
                self.sway[v as usize] += d;
            }
            if let Some(error) = position_error(&self.sway) {
                return Err(error);
            }
        }
        nodes.move_to(&self.sway, step.duration);
        Ok(())
    }
}
