// SPDX-License-Identifier: MIT OR Apache-2.0
//! Nonlinear motion of any body of [`Elements`], without a skeleton.
//!
//! An implicit step minimises the incremental potential of [`super::potential`]. Backward Euler over h is
//! `M (v' − v)/h + C v' = f − ∇V(q')`, `q' = q + h v'`. The implicit midpoint rule is backward Euler over h/2 to the midpoint m,
//! extrapolated by as much again: `q' = 2m − q`, `v' = 2 v_m − v`. It is of second order and has no numerical damping.
//!
//! Damping `C = αM + βK` acts on the velocities of all nodes. K is the stiffness at the start of the step, projected to be
//! positive semi-definite.

use super::potential::{Balancer, ElasticDomain, Increment};
use super::statics::check;
use crate::Vec3;
use crate::dynamics::{SimulationError, position_error};
use crate::elasticity::{ElasticModel, Elements};
use crate::progress::Progress;
use crate::solve::matrix::zeros;
use crate::solve::{Newton, NodeMatrix, Outcome, Pattern, ScalarMatrix};
use std::sync::Arc;

/// Time integration scheme.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum NonlinearIntegrator {
    /// First order; numerical damping grows with the step.
    #[default]
    BackwardEuler,
    /// Second order, without numerical damping.
    Midpoint,
}

impl NonlinearIntegrator {
    /// Returns the share of a step that is backward Euler.
    fn implicit_part(self) -> f64 {
        match self {
            Self::BackwardEuler => 1.0,
            Self::Midpoint => 0.5,
        }
    }
}

/// Settings of a [`NonlinearSimulation`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NonlinearSettings {
    /// Elastic energy.
    pub model: ElasticModel,
    /// Time integration scheme.
    pub integrator: NonlinearIntegrator,
    /// Step size, s.
    pub step: f64,
    /// Mass damping α, 1/s.
    pub mass_damping: f64,
    /// Stiffness damping β, s.
    pub stiffness_damping: f64,
    /// Acceleration of gravity, m/s².
    pub gravity: Vec3,
    /// Stopping criteria for a step's minimisation.
    pub newton: Newton,
}

impl Default for NonlinearSettings {
    fn default() -> Self {
        Self {
            model: ElasticModel::default(),
            integrator: NonlinearIntegrator::default(),
            step: 1.0 / 240.0,
            mass_damping: 0.0,
            stiffness_damping: 0.0,
            gravity: Vec3::zeros(),
            newton: super::STEP_CRITERIA,
        }
    }
}

/// A body in nonlinear motion with some nodes held.
pub struct NonlinearSimulation {
    elements: Arc<Elements>,
    mass: ScalarMatrix,
    pattern: Pattern,
    settings: NonlinearSettings,
    fixed: Vec<bool>,
    displacements: Vec<Vec3>,
    velocities: Vec<Vec3>,
    balancer: Balancer,
    next: Vec<Vec3>,
    inertia: Vec<Vec3>,
    lag: Vec<Vec3>,
    /// Acceleration of gravity at every node.
    weights: Vec<Vec3>,
}

impl NonlinearSimulation {
    /// Creates a body at rest in its rest shape from elements, mass matrix (kg, within the elements' pattern), rest positions
    /// `[nodes]` (m), and flags of held nodes (optional).
    ///
    /// # Errors
    /// Arrays have another length or are not finite; a free node is in no element; a setting is out of range.
    pub fn new(
        elements: Arc<Elements>,
        mass: ScalarMatrix,
        rest: &[Vec3],
        fixed: &[bool],
        settings: NonlinearSettings,
    ) -> Result<Self, SimulationError> {
        check(&elements, rest, fixed, &[])?;
        if mass.rows() != elements.node_count() {
            return Err(SimulationError::Length {
                expected: elements.node_count(),
                given: mass.rows(),
            });
        }
        for (what, value, good, range) in [
            ("step", settings.step, settings.step > 0.0, "positive"),
            (
                "mass_damping",
                settings.mass_damping,
                settings.mass_damping >= 0.0,
                "zero or positive",
            ),
            (
                "stiffness_damping",
                settings.stiffness_damping,
                settings.stiffness_damping >= 0.0,
                "zero or positive",
            ),
        ] {
            if !(good && value.is_finite()) {
                return Err(SimulationError::Setting { what, range, value });
            }
        }
        if let Some(&value) = settings.gravity.iter().find(|g| !g.is_finite()) {
            let (what, range) = ("gravity", "finite");
            return Err(SimulationError::Setting { what, range, value });
        }
        // A lumped matrix has the diagonal only; the solver needs every pair.
        let mut whole: ScalarMatrix = zeros(elements.node_count(), elements.all_corners());
        for row in 0..mass.rows() {
            for i in mass.row_range(row) {
                whole.add(row as u32, mass.indices()[i], mass.data()[i]);
            }
        }
        let mass = whole;
        let pattern = Pattern::new(elements.all_corners(), &mass, fixed, rest)?;
        let zero = vec![Vec3::zeros(); elements.node_count()];
        Ok(Self {
            balancer: Balancer::new(&pattern, elements.node_count())?,
            elements,
            mass,
            pattern,
            settings,
            fixed: fixed.to_vec(),
            displacements: zero.clone(),
            velocities: zero.clone(),
            next: zero.clone(),
            inertia: zero.clone(),
            weights: vec![settings.gravity; zero.len()],
            lag: zero,
        })
    }

    /// Returns the displacements `[nodes]`, m.
    pub fn displacements(&self) -> &[Vec3] {
        &self.displacements
    }

    /// Returns the velocities `[nodes]`, m/s.
    pub fn velocities(&self) -> &[Vec3] {
        &self.velocities
    }

    /// Sets displacements and velocities, `[nodes]` each.
    ///
    /// # Errors
    /// Arrays have another length or are not finite; the present state then stays.
    pub fn set_state(
        &mut self,
        displacements: &[Vec3],
        velocities: &[Vec3],
    ) -> Result<(), SimulationError> {
        self.check(displacements)?;
        self.check(velocities)?;
        self.displacements.copy_from_slice(displacements);
        self.velocities.copy_from_slice(velocities);
        Ok(())
    }

    fn check(&self, vectors: &[Vec3]) -> Result<(), SimulationError> {
        check(&self.elements, &self.next, &self.fixed, &[vectors])
    }

    /// Takes one step under gravity and `forces[nodes]` (N, world axes, constant). `held[nodes]` are the displacements of held nodes at the
    /// step's end (`None`: they stay; entries of free nodes are not read).
    ///
    /// # Errors
    /// Arrays have another length or are not finite; the minimisation does not converge; a cancellation. The state then stays.
    pub fn step(
        &mut self,
        forces: &[Vec3],
        held: Option<&[Vec3]>,
        progress: &dyn Progress,
    ) -> Result<Outcome, SimulationError> {
        self.next.copy_from_slice(&self.displacements);
        self.check(forces)?;
        if let Some(held) = held {
            self.check(held)?;
        }
        let settings = self.settings;
        let part = settings.integrator.implicit_part();
        let h = part * settings.step;
        self.set_guess(held);
        let weight = |v: usize| self.mass.row_times(v, &self.weights);
        let loads: Vec<Vec3> = (0..forces.len()).map(|v| forces[v] + weight(v)).collect();
        let domain = ElasticDomain::new(&self.elements, settings.model, &self.pattern, &self.mass);
        let increment = Increment {
            mass: 1.0 / (h * h) + settings.mass_damping / h,
            inertia: &self.inertia,
            damping: settings.stiffness_damping / h,
            lag: &self.lag,
            forces: &loads,
            terms: &[],
            origin: &self.displacements,
        };
        let outcome = self.balancer.balance(
            domain,
            increment,
            &mut self.next,
            &settings.newton,
            progress,
        )?;
        if let Some(error) = position_error(&self.next) {
            return Err(error);
        }
        for v in 0..self.fixed.len() {
            let mean = (self.next[v] - self.displacements[v]) / h;
            self.displacements[v] += mean * settings.step;
            self.velocities[v] = if self.fixed[v] {
                mean
            } else {
                self.velocities[v] + (mean - self.velocities[v]) / part
            };
        }
        Ok(outcome)
    }

    /// Sets the guess of a step at whose end fixed nodes are at their `held` displacements, and the linear terms that count from it.
    fn set_guess(&mut self, held: Option<&[Vec3]>) {
        let (settings, whole) = (self.settings, self.settings.step);
        let part = settings.integrator.implicit_part();
        let h = part * whole;
        for v in 0..self.fixed.len() {
            let (q, velocity) = (self.displacements[v], self.velocities[v]);
            let drag = settings.mass_damping / h;
            (self.next[v], self.inertia[v], self.lag[v]) = match (self.fixed[v], held) {
                (true, held) => {
                    let way = held.map_or(Vec3::zeros(), |held| held[v] - q);
                    let inertia = (way / whole - velocity) / whole + way * (part * drag);
                    let way = way * part;
                    (q + way, inertia, way * (settings.stiffness_damping / h))
                }
                // The guess is the present position: it inverts nothing new.
                (false, _) => (q, -velocity / h, Vec3::zeros()),
            };
        }
    }

    /// Returns the kinetic plus elastic energy, J.
    pub fn energy(&self) -> f64 {
        let kinetic: f64 = (0..self.velocities.len())
            .map(|v| 0.5 * self.velocities[v].dot(&self.mass.row_times(v, &self.velocities)))
            .sum();
        let model = self.settings.model;
        kinetic + self.elements.energy(model, &self.displacements)
    }
}
