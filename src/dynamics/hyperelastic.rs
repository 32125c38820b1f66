// SPDX-License-Identifier: MIT OR Apache-2.0
//! Hyperelastic flesh carried by the skeleton: the default method.
//!
//! The skeleton carries each lattice vertex to T(x) and turns each cell by R_c, as in skeletally warped linearisation
//! [capell2006, §3.3]; the flesh adds a displacement u, its **sway**: `p = T(x) + u`. Its energy counts from the carried
//! shape, `V(u) = Σ_c ∫ W(R_c + ∇u)`, W Yeoh's ([`crate::elasticity::model`]). Near u = 0 that is the warped method
//! exactly: V'' = A. Beyond, cells turn along with their flesh and not only with the bones, and stiffen as they are
//! stretched, where warped flesh, softened by centrifugal load and never stiffening, runs away for good. What the bones do
//! to a joint costs no energy, so that no bend folds a cell: the joints' own elastic shape is the warped balance without
//! loads, q_bend, to which the sway is added: `q = q_bend + u`. Neglected: that a bent joint is stiffer or softer than a
//! straight one, and that q_bend accelerates a little differently from T(x).
//!
//! **Steps** are backward Euler, linearised once [capell2002, eq. 16, mended], from the guess u₀ in which the bones carry
//! the sway rigidly along, `u₀ = R' Rᵀ (p − T(x))`, d = u' − u₀:
//!
//! ```text
//! ((1/h² + α/h) M + (1 + β/h) (V''(u₀) + Mt)) d = f_g + F − V'(u₀) − Mt u₀ − M (v_skin − v)/h
//! ```
//!
//! with v_skin, relative damping and gravity as in [`super::warped`]. **Drag**: flesh that sways quickly is slowed down
//! before each step, by the factor `1/(1 + h D (|v − v_skin| / V)⁴)` on `v − v_skin`: next to nothing in usual motion, and so much
//! where bones are thrown about that flesh hardly moves by more than a few percent of the body in 1/24 s. Cells far from rest take a convex V''. Where a step
//! would strain some cell by more than [`TRUSTED`], one linearisation is not to be trusted and the step's energy is minimised
//! by Newton's method instead.

use super::forces::Load;
use super::nonlinear::{Balancer, Domain, FLOOR, Increment};
use super::stepper::{Factored, NodalState, Proposal, Step, StepInParts, Stepper};
use super::{SimulationError, SkinnedLattice, lost};
use crate::Vec3;
use crate::body::Body;
use crate::elasticity::{Elastic, Model, Tangent};
use crate::progress::Progress;
use crate::solve::{
    Assembly, Configuration, ConstantForces, EnergyTerm, Newton, NewtonError, NodeMatrix,
    ScalarTerm, SolveError, SparseCholesky,
};

/// The energy of the flesh.
const MODEL: Model = Model::Yeoh;

/// The largest change of a cell's strain that one linearisation is good for.
const TRUSTED: f64 = 0.2;

/// D, 1/s, and V, spreads of the body per second. A steady pull of 100 m/s² moves a body of 1.7 m by 3.7 % of its size in
/// 1/24 s.
const DRAG: f64 = 20.0;
const SPEED: f64 = 0.65;

/// When the minimisation of a step that is too much for that stops: it need not converge fully.
const LED: Newton = Newton {
    tolerance: 1e-3,
    iterations: 12,
};

/// The elastic energy, from where the skeleton carries the flesh; steps take its derivatives in one pass.
fn elastic<'a>(body: &'a Body, skinned: &'a SkinnedLattice, tangent: Tangent) -> Elastic<'a> {
    Elastic {
        elements: body.elements(),
        model: MODEL,
        turns: Some(&skinned.cell_turns),
        slots: body.pattern().pair_slots(),
        tangent,
    }
}

fn domain<'a>(body: &'a Body, skinned: &'a SkinnedLattice) -> Domain<'a> {
    Domain {
        elastic: elastic(body, skinned, Tangent::Exact(FLOOR)),
        pattern: body.pattern(),
        mass: body.mass_matrix(),
        twist: Some(body.twist_matrix()),
    }
}

/// Forces other than elastic ones on flesh with a sway: gravity, external ones, and the twist's.
fn loads(body: &Body, skinned: &SkinnedLattice, load: &Load, sway: &[Vec3], out: &mut [Vec3]) {
    out.fill(Vec3::zeros());
    for (cell, turn) in body.blocks().iter().zip(&skinned.cell_turns) {
        let g = load.net_gravity(turn);
        for (&a, &w) in cell.corners.iter().zip(cell.weight) {
            out[a as usize] += g * w;
        }
    }
    for (v, out) in out.iter_mut().enumerate() {
        *out -= body.twist_matrix().row_times(v, sway);
        if let Some(forces) = load.forces {
            *out += forces[v];
        }
    }
}

/// Buffers of a step.
pub(super) struct HyperelasticStepper {
    solver: SparseCholesky,
    /// Values of `m M + (1 + β/h) Mt` in the solver, and m and β/h.
    base: Vec<f64>,
    scales: Option<(f64, f64)>,
    /// V, m/s.
    fast: f64,
    sway: Vec<Vec3>,
    inertia: Vec<Vec3>,
    forces: Vec<Vec3>,
    gradient: Vec<Vec3>,
    /// One entry per free vertex: right-hand side, then solution.
    nodes: Vec<Vec3>,
    change: Vec<Vec3>,
    /// Made when first needed.
    careful: Option<Box<Balancer>>,
}

/// The diagonal of the box that has the flesh's moments of inertia, m: a size that does not depend on how the body stands.
fn spread(body: &Body) -> f64 {
    let (mass, rest) = (body.mass_matrix(), body.lattice().vertices());
    let all = || rest.iter().enumerate().map(|(v, x)| (mass.row_sum(v), x));
    let total: f64 = all().map(|(m, _)| m).sum();
    let centre = all().map(|(m, x)| x * m).sum::<Vec3>() / total;
    let square = |(m, x): (f64, &Vec3)| m * (x - centre).norm_squared();
    (12.0 * all().map(square).sum::<f64>() / total).sqrt()
}

impl HyperelasticStepper {
    pub fn new(body: &Body) -> Result<Self, SolveError> {
        let solver = SparseCholesky::new(body.pattern().symbolic().clone())?;
        let zero = vec![Vec3::zeros(); body.nodes()];
        Ok(Self {
            base: vec![0.0; solver.values().len()],
            scales: None,
            fast: SPEED * spread(body).max(f64::MIN_POSITIVE),
            sway: zero.clone(),
            inertia: zero.clone(),
            forces: zero.clone(),
            gradient: zero.clone(),
            nodes: vec![Vec3::zeros(); body.pattern().vertex_of_node().len()],
            change: zero,
            careful: None,
            solver,
        })
    }

    /// One linearisation at the sway: d on the free nodes.
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
            self.solver.clear();
            let mut assembly = Assembly::new(pattern, &mut self.solver);
            assembly.times(mass).add_scalars(body.mass_matrix());
            assembly
                .times(1.0 + damping)
                .add_scalars(body.twist_matrix());
            self.base.copy_from_slice(self.solver.values());
            self.scales = Some((mass, damping));
        }
        let at = Configuration {
            origin: Some(&skinned.places),
            displacements: &self.sway,
            increment: None,
        };
        let elastic = elastic(body, skinned, Tangent::Guarded);
        let gradient = &mut self.gradient;
        for convex in [false, true] {
            self.solver.set_values(&self.base);
            gradient.fill(Vec3::zeros());
            let mut assembly = Assembly::new(pattern, &mut self.solver);
            elastic.linearise(&at, convex, gradient, &mut assembly.times(1.0 + damping));
            for term in load.terms {
                term.linearise(&at, convex, gradient, &mut assembly);
            }
            match self.solver.factor() {
                Ok(()) => break,
                Err(error) if convex => return Err(error.into()),
                Err(_) => {}
            }
        }
        // Their Hessians are in the base.
        let forces = ConstantForces {
            forces: &self.forces,
        };
        let inertia = ScalarTerm {
            matrix: body.mass_matrix(),
            factor: mass,
            slope: &self.inertia,
        };
        for term in [&forces as &dyn EnergyTerm, &inertia] {
            term.add_gradient(&at, gradient);
        }
        for (node, &v) in self.nodes.iter_mut().zip(pattern.vertex_of_node()) {
            *node = -gradient[v as usize];
        }
        self.solver.solve(&mut self.nodes);
        Ok(())
    }

    /// The sway at the end of the step by Newton's method.
    fn minimise(
        &mut self,
        body: &Body,
        skinned: &SkinnedLattice,
        load: &Load,
        (mass, damping): (f64, f64),
        progress: &dyn Progress,
    ) -> Result<(), SimulationError> {
        let balancer = match &mut self.careful {
            Some(balancer) => balancer,
            none => none.insert(Box::new(Balancer::new(body.pattern(), body.nodes())?)),
        };
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
        let domain = domain(body, skinned);
        match balancer.balance(domain, increment, &mut self.sway, &LED, progress) {
            // The best so far is lower than the guess: good enough to go on from.
            Ok(_) | Err(NewtonError::NotConverged { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

impl Stepper for HyperelasticStepper {
    fn step(&mut self, step: &Step, nodes: &mut NodalState) -> Result<(), SimulationError> {
        self.propose(step, nodes)?;
        self.accept(step, nodes, None)
    }

    fn in_parts(&mut self) -> Option<&mut dyn StepInParts> {
        Some(self)
    }
}

impl StepInParts for HyperelasticStepper {
    fn propose(&mut self, step: &Step, nodes: &NodalState) -> Result<(), SimulationError> {
        let (body, from, to, h) = (step.body, step.from, step.to, step.duration);
        let (positions, velocities) = (&nodes.positions, &nodes.velocities);
        let mass = 1.0 / (h * h) + step.mass_damping / h;
        let damping = step.stiffness_damping / h;
        for v in 0..body.nodes() {
            let p = positions[v];
            self.sway[v] = match body.bone_of_vertex()[v] {
                Some(_) => Vec3::zeros(),
                None => to.turns[v] * from.turns[v].tr_mul(&(p - from.places[v])),
            };
            let carried = (to.places[v] + self.sway[v] - p) / h;
            self.inertia[v] = (carried - velocities[v]) / h;
            if body.bone_of_vertex()[v].is_none() {
                let speed = self.inertia[v].norm() * h / self.fast;
                self.inertia[v] /= 1.0 + h * DRAG * speed.powi(4);
            }
        }
        loads(body, to, &step.load, &self.sway, &mut self.forces);
        self.solve(body, to, &step.load, mass, damping)?;
        self.change.fill(Vec3::zeros());
        for (d, &v) in self.nodes.iter().zip(body.pattern().vertex_of_node()) {
            self.change[v as usize] = *d;
        }
        let steep = body.elements().steepest(&self.change);
        if steep <= TRUSTED {
            for (sway, d) in self.sway.iter_mut().zip(&self.change) {
                *sway += d;
            }
        } else {
            self.minimise(body, to, &step.load, (mass, damping), step.progress)?;
        }
        for (next, place) in self.sway.iter_mut().zip(&to.places) {
            *next += place;
        }
        lost(&self.sway).map_or(Ok(()), Err)
    }

    fn proposal(&mut self, _: &Step) -> Result<Proposal<'_>, SimulationError> {
        Ok(Proposal {
            positions: &self.sway,
            factored: Factored {
                solver: &mut self.solver,
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
            if let Some(error) = lost(&self.sway) {
                return Err(error);
            }
        }
        let all = nodes.positions.iter_mut().zip(&mut nodes.velocities);
        for ((p, velocity), next) in all.zip(&self.sway) {
            *velocity = (next - *p) / step.duration;
            *p = *next;
        }
        Ok(())
    }
}

/// The sway of the flesh in balance at a pose.
pub(super) fn balance(
    body: &Body,
    skinned: &SkinnedLattice,
    load: &Load,
    progress: &dyn Progress,
) -> Result<Vec<Vec3>, SimulationError> {
    let zero = vec![Vec3::zeros(); body.nodes()];
    let (mut forces, mut sway) = (zero.clone(), zero.clone());
    loads(body, skinned, load, &sway, &mut forces);
    let increment = Increment {
        mass: 0.0,
        inertia: &zero,
        damping: 0.0,
        lag: &zero,
        forces: &forces,
        terms: load.terms,
        origin: &skinned.places,
    };
    let mut balancer = Balancer::new(body.pattern(), body.nodes())?;
    let options = Newton::default();
    let domain = domain(body, skinned);
    balancer.balance(domain, increment, &mut sway, &options, progress)?;
    Ok(sway)
}

/// The forces (N; zero on held vertices) that hold the flesh at a sway.
pub(super) fn forces_at(
    body: &Body,
    skinned: &SkinnedLattice,
    load: &Load,
    sway: &[Vec3],
) -> Vec<Vec3> {
    let mut outer = vec![Vec3::zeros(); body.nodes()];
    loads(body, skinned, load, sway, &mut outer);
    let mut forces = vec![Vec3::zeros(); body.nodes()];
    let at = Configuration {
        origin: Some(&skinned.places),
        displacements: sway,
        increment: None,
    };
    elastic(body, skinned, Tangent::Guarded).add_gradient(&at, &mut forces);
    for (v, (f, outer)) in forces.iter_mut().zip(&outer).enumerate() {
        *f = match body.bone_of_vertex()[v] {
            Some(_) => Vec3::zeros(),
            None => *f - outer,
        };
    }
    forces
}
