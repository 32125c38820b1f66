// SPDX-License-Identifier: MIT OR Apache-2.0
//! St. Venant-Kirchhoff flesh, linearised once a step. [capell2002, §4.2, eqs 15 and 16, corrected]
//!
//! A step is one Newton step of the [nonlinear](crate::dynamics::methods::nonlinear) method's, from its first guess p₀: the
//! flesh carried rigidly along with its bones, held vertices at the pose. With p' = p₀ + d:
//!
//! ```text
//! ((1/h² + α/h) M + (1 + β/h) (V''(p₀) + Mt)) d = t + f_g + F − V'(p₀) − Mt p₀ − M z,   z = ((p₀ − p)/h − v)/h
//! ```
//!
//! z, relative damping, β and gravity are as in [`crate::dynamics::methods::warped`], the twist's t and Mt as in the
//! nonlinear method.
//!
//! **Deviations** from the print. V' and V'' are taken at the carried shape instead of the one before the step, so that
//! bones that turn far in a step do not strain the flesh: a rigid motion of all bones is exact. The drag μ has its sign corrected
//! and acts relative to the bones. Cells far from rest take a convex V'' ([`crate::dynamics::methods::step_system`]).
//!
//! **Balance** is that of the nonlinear method: at rest the forces are not linearised. Flesh that a step deforms strongly
//! may overshoot and gain energy, as nothing checks the step; the nonlinear method searches on.

use crate::Vec3;
use crate::body::{Body, NodalForm};
use crate::dynamics::methods::nonlinear::compute_loads;
use crate::dynamics::methods::patches::DisplacedCells;
use crate::dynamics::methods::step_space::StepSpace;
use crate::dynamics::methods::step_system::{StepGuess, StepSystem};
use crate::dynamics::methods::stepper::{
    FactoredStep, NodalState, Proposal, SplitStep, Step, StepFactor, Stepper,
};
use crate::dynamics::{SimulationError, Solver, position_error};
use crate::elasticity::ElasticModel;
use crate::solve::{Inverse, NodeMatrix, SolveError};
use std::sync::Arc;

/// Stepper of the method: system, solver and buffers of a step, one entry per lattice vertex each.
pub(in crate::dynamics) struct LinearisedStepper {
    choice: Solver,
    /// Nodal functions in which steps with details are solved; `None`: in the body's own.
    form: Option<Arc<NodalForm>>,
    system: StepSystem,
    solver: Inverse,
    /// Displacements, inertia and forces in nodal functions.
    nodal: [Vec<Vec3>; 3],
    displacements: Vec<Vec3>,
    inertia: Vec<Vec3>,
    forces: Vec<Vec3>,
    /// Positions at the step's end.
    positions: Vec<Vec3>,
    /// Scratch of the factored step.
    scratch: Vec<Vec3>,
}

impl LinearisedStepper {
    pub fn new(body: &Body, solver: Solver) -> Result<Self, SolveError> {
        Self::with_form(body, solver, body.nodal_form()?.cloned())
    }

    fn with_form(
        body: &Body,
        solver: Solver,
        form: Option<Arc<NodalForm>>,
    ) -> Result<Self, SolveError> {
        let space = StepSpace::of(body, form.as_deref());
        let mut inverse = space.solver(solver)?;
        let zero = vec![Vec3::zeros(); body.node_count()];
        let model = ElasticModel::StVenantKirchhoff;
        Ok(Self {
            system: StepSystem::new(&space, model, solver, &mut inverse),
            choice: solver,
            solver: inverse,
            nodal: [zero.clone(), zero.clone(), zero.clone()],
            displacements: zero.clone(),
            inertia: zero.clone(),
            forces: zero.clone(),
            positions: zero,
            scratch: Vec::new(),
            form,
        })
    }
}

impl Stepper for LinearisedStepper {
    fn step(&mut self, step: &Step, nodes: &mut NodalState) -> Result<(), SimulationError> {
        self.propose(step, nodes)?;
        self.accept(step, nodes, None)
    }

    fn lead_stiffness(&mut self, at_ease: &Arc<Body>) {
        self.system.at_ease = Some(at_ease.clone());
    }

    fn follow_stiffness(&mut self, body: &Body) {
        self.system.copy_stiffness(body);
    }

    fn split_step(&mut self) -> Option<&mut dyn SplitStep> {
        Some(self)
    }
}

impl SplitStep for LinearisedStepper {
    fn propose(&mut self, step: &Step, nodes: &NodalState) -> Result<(), SimulationError> {
        let (body, from, to, h) = (step.body, step.from, step.to, step.duration);
        if self.form.is_some() && !step.load.terms.is_empty() {
            // Further terms know the body's own functions alone.
            *self = Self::with_form(body, self.choice, None)?;
        }
        let rest = body.rest_shape();
        for (v, &p) in nodes.positions.iter().enumerate() {
            let guess = match body.bone_of_vertex()[v] {
                Some(_) => to.places[v],
                None => from.carry(to, v, p),
            };
            self.positions[v] = guess;
            self.displacements[v] = guess - rest[v];
            self.inertia[v] = ((guess - p) / h - nodes.velocities[v]) / h;
        }
        let displacements = &self.displacements;
        compute_loads(body, to, &step.load, displacements, &mut self.forces);
        let (mut displacements, mut inertia, mut forces) =
            (&displacements[..], &self.inertia[..], &self.forces[..]);
        if let Some(form) = &self.form {
            let [u, z, f] = &mut self.nodal;
            form.values.to_values(displacements, u);
            form.values.to_values(inertia, z);
            form.values.to_nodal_forces(forces, f);
            (displacements, inertia, forces) = (&u[..], &z[..], &f[..]);
        }
        let guess = StepGuess {
            cells: DisplacedCells {
                turns: None,
                displacements,
            },
            origin: rest,
            inertia,
            forces,
            terms: step.load.terms,
        };
        let mass = 1.0 / (h * h) + step.mass_damping / h;
        let scales = (mass, step.implicit_stiffness_damping() / h);
        let space = StepSpace::of(body, self.form.as_deref());
        self.system
            .solve(&space, &mut self.solver, &guess, scales)?;
        let changes = &self.system.nodes;
        for (node, &v) in space.pattern.vertex_of_node().iter().enumerate() {
            self.positions[v as usize] += match &self.form {
                Some(form) => form.free_values.inverse().row_times(node, changes),
                None => changes[node],
            };
        }
        position_error(&self.positions).map_or(Ok(()), Err)
    }

    fn proposal(&mut self, _: &Step) -> Result<Proposal<'_>, SimulationError> {
        Ok(Proposal {
            positions: &self.positions,
            factored: FactoredStep {
                solver: StepFactor::Pending(&mut self.solver),
                scale: 1.0,
                form: self.form.clone(),
                scratch: &mut self.scratch,
            },
        })
    }

    fn displace(&mut self, step: &Step, displaced: &[Vec3]) -> Result<(), SimulationError> {
        step.displace(&mut self.positions, displaced)
    }

    fn accept(
        &mut self,
        step: &Step,
        nodes: &mut NodalState,
        displaced: Option<&[Vec3]>,
    ) -> Result<(), SimulationError> {
        nodes.accept(step, &mut self.positions, displaced)
    }
}
