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
use super::nonlinear::{Balancer, Domain, Terms};
use super::stepper::{NodalState, Step, Stepper};
use super::{Frames, SimulationError, lost};
use crate::body::Body;
use crate::elasticity::{Curvature, Deformation, Model};
use crate::progress::Silent;
use crate::solve::{Newton, NewtonError, SolveError, SparseCholesky};
use crate::{Mat3, Vec3};

/// The energy of the flesh.
const MODEL: Model = Model::Yeoh;

/// The largest change of a cell's strain that one linearisation is good for.
const TRUSTED: f64 = 0.2;

/// D, 1/s, and V, spreads of the body per second. A steady pull of 100 m/s² leads a body of 1.7 m to 3.7 % of its size in 1/24 s.
const DRAG: f64 = 20.0;
const SPEED: f64 = 0.65;

/// When the minimisation of a step that is too much for that stops: it only has to lead.
const LED: Newton = Newton {
    tolerance: 1e-3,
    iterations: 12,
};

/// The derivative of the energy that a step takes: the true one near rest, where it is positive definite.
fn curvature(h: &Mat3) -> Curvature {
    let f = Mat3::identity() + h;
    let (stretch, volume) = (f.norm_squared() - 3.0, f.determinant() - 1.0);
    if stretch.abs() < 0.4 && volume.abs() < 0.15 {
        Curvature::Exact
    } else {
        Curvature::Convex(0.0)
    }
}

fn domain<'a>(body: &'a Body, frames: &'a Frames) -> Domain<'a> {
    Domain {
        elements: body.elements(),
        turns: Some(&frames.cell_turns),
        pattern: body.pattern(),
        mass: body.mass_matrix(),
        twist: Some(body.twist_matrix()),
    }
}

/// Forces other than elastic ones on flesh with a sway: gravity, given ones, and what holds it against twist.
fn loads(body: &Body, frames: &Frames, load: &Load, sway: &[Vec3], out: &mut [Vec3]) {
    out.fill(Vec3::zeros());
    for (cell, turn) in body.blocks().iter().zip(&frames.cell_turns) {
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
    /// Numbers of `m M + (1 + β/h) Mt` in the solver, and m and β/h.
    base: Vec<f64>,
    scales: Option<(f64, f64)>,
    /// V, m/s.
    fast: f64,
    sway: Vec<Vec3>,
    inertia: Vec<Vec3>,
    forces: Vec<Vec3>,
    elastic: Vec<Vec3>,
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
        let zero = vec![Vec3::zeros(); body.dofs()];
        Ok(Self {
            base: vec![0.0; solver.values().len()],
            scales: None,
            fast: SPEED * spread(body).max(f64::MIN_POSITIVE),
            sway: zero.clone(),
            inertia: zero.clone(),
            forces: zero.clone(),
            elastic: zero.clone(),
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
        frames: &Frames,
        mass: f64,
        damping: f64,
    ) -> Result<(), SimulationError> {
        if self.scales != Some((mass, damping)) {
            self.solver.clear();
            let (m, t) = (body.mass_matrix().values(), body.twist_matrix().values());
            for (slot, (m, t)) in body.pattern().entry_slots().iter().zip(m.iter().zip(t)) {
                if let Some(slot) = slot {
                    self.solver
                        .add_scalar(*slot, mass * m + (1.0 + damping) * t);
                }
            }
            self.base.copy_from_slice(self.solver.values());
            self.scales = Some((mass, damping));
        }
        let deformation = Deformation::carried(&self.sway, &frames.cell_turns);
        let slots = body.pattern().pair_slots();
        for convex in [false, true] {
            self.solver.set_values(&self.base);
            let solver = &mut self.solver;

            body.elements().linearise(
                MODEL,
                deformation,
                |h| {
                    if convex {
                        Curvature::Convex(0.0)
                    } else {
                        curvature(h)
                    }
                },
                &mut self.elastic,
                |pair, _, _, block| {
                    if let Some(slot) = slots[pair] {
                        solver.add(slot, &(block * (1.0 + damping)));
                    }
                },
            );
            match self.solver.factor() {
                Ok(()) => break,
                Err(error) if convex => return Err(error.into()),
                Err(_) => {}
            }
        }
        let free = body.pattern().vertex_of_node();
        for (node, &v) in self.nodes.iter_mut().zip(free) {
            let v = v as usize;
            let inertia = body.mass_matrix().row_times(v, &self.inertia);
            *node = self.forces[v] - self.elastic[v] - inertia;
        }
        self.solver.solve(&mut self.nodes);
        Ok(())
    }

    /// The sway at the end of the step by Newton's method.
    fn minimise(
        &mut self,
        body: &Body,
        frames: &Frames,
        mass: f64,
        damping: f64,
    ) -> Result<(), SimulationError> {
        let balancer = match &mut self.careful {
            Some(balancer) => balancer,
            none => none.insert(Box::new(Balancer::new(body.pattern(), body.dofs())?)),
        };
        self.change.fill(Vec3::zeros());
        let terms = Terms {
            model: MODEL,
            mass,
            inertia: &self.inertia,
            damping,
            lag: &self.change,
            forces: &self.forces,
        };
        let domain = domain(body, frames);
        match balancer.balance(domain, terms, &mut self.sway, &LED, &Silent) {
            // The best so far is lower than the guess: good enough to go on from.
            Ok(_) | Err(NewtonError::NotConverged { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

impl Stepper for HyperelasticStepper {
    fn step(&mut self, step: &Step, nodes: &mut NodalState) -> Result<(), SimulationError> {
        let (body, from, to, h) = (step.body, step.from, step.to, step.duration);
        let (positions, velocities) = (&mut nodes.positions, &mut nodes.velocities);
        let mass = 1.0 / (h * h) + step.mass_damping / h;
        let damping = step.stiffness_damping / h;
        for v in 0..body.dofs() {
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
        loads(body, to, step.load, &self.sway, &mut self.forces);
        self.solve(body, to, mass, damping)?;
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
            self.minimise(body, to, mass, damping)?;
        }
        for (next, place) in self.sway.iter_mut().zip(&to.places) {
            *next += place;
        }
        if let Some(error) = lost(&self.sway) {
            return Err(error);
        }
        for ((p, velocity), next) in positions.iter_mut().zip(velocities).zip(&self.sway) {
            *velocity = (next - *p) / h;
            *p = *next;
        }
        Ok(())
    }
}

/// The sway of the flesh in balance at a pose.
pub(super) fn balance(
    body: &Body,
    frames: &Frames,
    load: &Load,
) -> Result<Vec<Vec3>, SimulationError> {
    let zero = vec![Vec3::zeros(); body.dofs()];
    let (mut forces, mut sway) = (zero.clone(), zero.clone());
    loads(body, frames, load, &sway, &mut forces);
    let terms = Terms {
        model: MODEL,
        mass: 0.0,
        inertia: &zero,
        damping: 0.0,
        lag: &zero,
        forces: &forces,
    };
    let mut balancer = Balancer::new(body.pattern(), body.dofs())?;
    let options = Newton::default();
    balancer.balance(domain(body, frames), terms, &mut sway, &options, &Silent)?;
    Ok(sway)
}

/// The forces (N; zero on held vertices) that hold the flesh at a sway.
pub(super) fn forces_at(body: &Body, frames: &Frames, load: &Load, sway: &[Vec3]) -> Vec<Vec3> {
    let mut outer = vec![Vec3::zeros(); body.dofs()];
    loads(body, frames, load, sway, &mut outer);
    let mut forces = outer.clone();
    let deformation = Deformation::carried(sway, &frames.cell_turns);
    body.elements().gradient(MODEL, deformation, &mut forces);
    for (v, (f, outer)) in forces.iter_mut().zip(&outer).enumerate() {
        *f = match body.bone_of_vertex()[v] {
            Some(_) => Vec3::zeros(),
            None => *f - outer,
        };
    }
    forces
}
