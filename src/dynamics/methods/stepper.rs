// SPDX-License-Identifier: MIT OR Apache-2.0
//! The interface that every method of motion implements.
//!
//! A [`Simulation`](crate::dynamics::Simulation) keeps the pose history, the forces, and the positions and velocities of all nodes. A
//! [`Stepper`] advances these from one pose to the next. A method with another state (amplitudes) keeps that state itself,
//! converts it to positions for display, and saves it in sections of its own.

use crate::Vec3;
use crate::basis::NodalValues;
use crate::body::{Body, NodalForm};
use crate::contact::FlexibleBody;
use crate::dynamics::forces::Load;
use crate::dynamics::methods::balance;
use crate::dynamics::sections::{SectionKind, SectionReader, SectionWriter};
use crate::dynamics::{Method, SimulationError, SkinnedLattice, position_error};
use crate::modal::Modes;
use crate::progress::Progress;
use crate::skeleton::{FrameMotion, Pose};
use crate::solve::{Inverse, NodeMatrix, SparseCholesky};
use nalgebra::DMatrix;
use std::sync::Arc;

/// Positions (m) and velocities (m/s) of the lattice's vertices, `[nodes]` each, world axes.
pub(in crate::dynamics) struct NodalState {
    pub positions: Vec<Vec3>,
    pub velocities: Vec<Vec3>,
}

impl NodalState {
    /// Moves the nodes to `positions` within a step of `h` seconds.
    pub fn move_to(&mut self, positions: &[Vec3], h: f64) {
        let all = self.positions.iter_mut().zip(&mut self.velocities);
        for ((p, velocity), next) in all.zip(positions) {
            *velocity = (next - *p) / h;
            *p = *next;
        }
    }

    /// Moves the nodes to the proposed `positions` of a step, with `displaced` added to its free nodes.
    ///
    /// # Errors
    /// Positions are out of range: nothing has moved.
    pub fn accept(
        &mut self,
        step: &Step,
        positions: &mut [Vec3],
        displaced: Option<&[Vec3]>,
    ) -> Result<(), SimulationError> {
        if let Some(displaced) = displaced {
            step.displace(positions, displaced)?;
        }
        self.move_to(positions, step.duration);
        Ok(())
    }
}

/// Pose, loads and options of a reset.
pub(in crate::dynamics) struct ResetInput<'a> {
    pub body: &'a Body,
    pub method: Method,
    pub pose: &'a Pose,
    /// Skinned lattice at the pose.
    pub skinned: &'a SkinnedLattice,
    pub load: &'a Load<'a>,
    /// True: start in static equilibrium; false: start where the bones alone carry the flesh.
    pub settled: bool,
    /// Progress, which can cancel.
    pub progress: &'a dyn Progress,
}

/// One step along a frame's bone motion.
#[derive(Clone, Copy)]
pub(in crate::dynamics) struct Step<'a> {
    pub body: &'a Body,
    /// Step size h, s.
    pub duration: f64,
    /// Mass damping α, 1/s.
    pub mass_damping: f64,
    /// Stiffness damping β, s.
    pub stiffness_damping: f64,
    pub motion: &'a FrameMotion,
    /// End of the step on the motion, 0 to 1, and the share of the motion that the step covers.
    pub end: f64,
    pub part: f64,
    pub from: &'a SkinnedLattice,
    pub to: &'a SkinnedLattice,
    /// Acceleration of the joints' own elastic shape, `[nodes]`, m/s², for methods that keep it separate; `None`: zero.
    pub bending: Option<&'a [Vec3]>,
    /// Load at the step's end.
    pub load: Load<'a>,
    /// Progress, which can cancel.
    pub progress: &'a dyn Progress,
}

impl<'a> Step<'a> {
    /// Adds displacements of the free nodes, m, to positions.
    ///
    /// # Errors
    /// The positions are out of range then.
    pub fn displace(
        &self,
        positions: &mut [Vec3],
        displaced: &[Vec3],
    ) -> Result<(), SimulationError> {
        for (d, &v) in displaced.iter().zip(self.body.pattern().vertex_of_node()) {
            positions[v as usize] += d;
        }
        position_error(positions).map_or(Ok(()), Err)
    }

    /// Returns β of a backward Euler step, s, less the numerical damping of the step itself, which equals β = h to first order.
    pub fn implicit_stiffness_damping(&self) -> f64 {
        (self.stiffness_damping - self.duration).max(0.0)
    }

    /// Returns the step with other forces in world axes; `None` keeps its own.
    pub fn with_forces<'b>(&self, forces: Option<&'b [Vec3]>) -> Step<'b>
    where
        'a: 'b,
    {
        let load = Load {
            forces: forces.or(self.load.forces),
            ..self.load
        };
        Step { load, ..*self }
    }
}

/// A method of motion: takes steps, and saves and restores its state.
pub(in crate::dynamics) trait Stepper: Send + Sync {
    /// Puts the flesh at rest at a pose.
    fn reset(&mut self, start: &ResetInput, nodes: &mut NodalState) -> Result<(), SimulationError> {
        nodes.positions = if start.settled {
            balance::balanced_positions(
                start.body,
                start.method,
                start.pose,
                start.skinned,
                start.load,
                start.progress,
            )?
        } else {
            start.skinned.places.clone()
        };
        Ok(())
    }

    /// Prepares for the steps of a frame: each lasts `step` seconds and covers a `part` of the frame's motion.
    fn begin(
        &mut self,
        _body: &Body,
        _motion: &FrameMotion,
        _part: f64,
        _step: f64,
    ) -> Result<(), SimulationError> {
        Ok(())
    }

    /// Prepares for a stiffness that follows factors, of a body that is `at_ease` without them.
    fn lead_stiffness(&mut self, _at_ease: &Arc<Body>) {}

    /// Takes over the stiffness of the body, which has changed.
    fn follow_stiffness(&mut self, _body: &Body) {}

    /// Takes one step. On an error the previous state stays.
    fn step(&mut self, step: &Step, nodes: &mut NodalState) -> Result<(), SimulationError>;

    /// Returns the interface for steps in two parts, between which contact displaces them; `None` without contact.
    fn split_step(&mut self) -> Option<&mut dyn SplitStep> {
        None
    }

    /// Updates positions and velocities at a pose, for methods whose state is not positions.
    fn show(&self, _body: &Body, _now: &SkinnedLattice, _pose: &Pose, _nodes: &mut NodalState) {}

    /// Returns the modes and their amplitudes; `None` for methods other than the modal one.
    fn modal_amplitudes(&self) -> Option<(&Arc<Modes>, &[f64])> {
        None
    }

    /// Returns the total number of steps whose minimisation stopped short of its tolerance.
    fn unconverged_steps(&self) -> usize {
        0
    }

    /// Returns whether the state is relative to the bones: the state of flesh frozen to them is then constant.
    fn is_relative(&self) -> bool {
        false
    }

    /// Writes all data on which the next steps depend, except those that the simulation itself saves.
    fn save(&self, nodes: &NodalState, state: &mut SectionWriter) {
        state.add_vectors(POSITIONS, &nodes.positions);
        state.add_vectors(VELOCITIES, &nodes.velocities);
    }

    /// Restores the output of [`save`](Self::save). The sections of the method are the last to be read: [`finish`](SectionReader::finish) checks the
    /// rest before anything changes. On an error nothing has changed.
    fn restore(
        &mut self,
        nodes: &mut NodalState,
        mut state: SectionReader,
    ) -> Result<(), SimulationError> {
        let count = nodes.positions.len();
        let positions = state.take_vectors(POSITIONS, count)?;
        let velocities = state.take_vectors(VELOCITIES, count)?;
        state.finish()?;
        (nodes.positions, nodes.velocities) = (positions, velocities);
        Ok(())
    }
}

/// A step that contact can displace before it is taken.
pub(in crate::dynamics) trait SplitStep: Send {
    /// Computes the end of the step. Changes no state.
    ///
    /// # Errors
    /// As [`Stepper::step`].
    fn propose(&mut self, step: &Step, nodes: &NodalState) -> Result<(), SimulationError>;

    /// Returns the positions at the step's end and the compliance of the flesh during the step.
    ///
    /// # Errors
    /// The system is singular.
    fn proposal(&mut self, step: &Step) -> Result<Proposal<'_>, SimulationError>;

    /// Displaces the proposed end of the step; `displaced` holds displacements of its free nodes, metres.
    ///
    /// # Errors
    /// Positions are out of range.
    fn displace(&mut self, step: &Step, displaced: &[Vec3]) -> Result<(), SimulationError>;

    /// Returns the largest number of proposals in which forces of pins are corrected: 1 for steps that linearise their energy.
    fn pin_rounds(&self) -> usize {
        1
    }

    /// Takes the proposed step; `displaced` holds displacements of its free nodes, metres.
    ///
    /// # Errors
    /// Positions are out of range: the state before the step stays.
    fn accept(
        &mut self,
        step: &Step,
        nodes: &mut NodalState,
        displaced: Option<&[Vec3]>,
    ) -> Result<(), SimulationError>;
}

/// Positions and compliance of a proposed step, for contact.
pub(in crate::dynamics) struct Proposal<'a> {
    /// Positions, `[nodes]`, metres, in the method's own representation.
    pub positions: &'a [Vec3],
    /// The step's matrix, and the factor that turns its inverse into displacements per force.
    pub factored: FactoredStep<'a>,
}

/// A step's matrix, factored at the latest when contact needs its inverse.
pub(in crate::dynamics) struct FactoredStep<'a> {
    pub solver: StepFactor<'a>,
    pub scale: f64,
    /// Nodal functions, if the matrix is in these; `None`: it is in the body's own.
    pub form: Option<Arc<NodalForm>>,
    /// Scratch for vectors in nodal functions.
    pub scratch: &'a mut Vec<Vec3>,
}

/// A factored matrix, or one to be factored on first use.
pub(in crate::dynamics) enum StepFactor<'a> {
    Made(&'a mut SparseCholesky),
    Pending(&'a mut Inverse),
}

impl StepFactor<'_> {
    fn solve(&mut self, forces: &mut [Vec3]) {
        match self {
            Self::Made(solver) => solver.solve(forces),
            Self::Pending(solver) => solver.solve_by_factor(forces),
        }
    }

    fn columns(&mut self, nodes: &[u32], scale: f64) -> DMatrix<f64> {
        match self {
            Self::Made(solver) => solver.inverse_columns(nodes, scale),
            Self::Pending(solver) => solver.inverse_columns(nodes, scale),
        }
    }
}

impl FlexibleBody for FactoredStep<'_> {
    fn displace(&mut self, forces: &mut [Vec3]) {
        match &self.form {
            None => self.solver.solve(forces),
            Some(form) => {
                let values = &form.free_values;
                let nodal = &mut *self.scratch;
                nodal.resize(forces.len(), Vec3::zeros());
                values.to_nodal_forces(forces, nodal);
                self.solver.solve(nodal);
                values.to_coefficients(nodal, forces);
            }
        }
        forces.iter_mut().for_each(|d| *d *= self.scale);
    }

    fn columns(&mut self, nodes: &[u32]) -> DMatrix<f64> {
        match self.form.clone() {
            None => self.solver.columns(nodes, self.scale),
            Some(form) => self.nodal_columns(&form.free_values, nodes),
        }
    }
}

impl FactoredStep<'_> {
    /// Returns columns of the inverse in the body's own functions: a force on one acts on a few nodal ones.
    fn nodal_columns(&mut self, values: &NodalValues, nodes: &[u32]) -> DMatrix<f64> {
        let inverse = values.inverse();
        let row = |node: u32| inverse.row_range(node as usize);
        let mut touched: Vec<u32> = Vec::new();
        for &node in nodes {
            touched.extend(&inverse.indices()[row(node)]);
        }
        touched.sort_unstable();
        touched.dedup();
        let nodal = self.solver.columns(&touched, self.scale);
        let mut all = DMatrix::zeros(nodal.nrows(), 3 * nodes.len());
        let count = inverse.rows();
        let (mut sum, mut coefficients) = (vec![Vec3::zeros(); count], vec![Vec3::zeros(); count]);
        for (j, mut column) in all.column_iter_mut().enumerate() {
            sum.fill(Vec3::zeros());
            for i in row(nodes[j / 3]) {
                let at = touched.partition_point(|&b| b < inverse.indices()[i]);
                let from = nodal.column(3 * at + j % 3);
                for (sum, d) in sum.iter_mut().zip(from.as_slice().chunks_exact(3)) {
                    *sum += Vec3::new(d[0], d[1], d[2]) * inverse.data()[i];
                }
            }
            values.to_coefficients(&sum, &mut coefficients);
            let numbers = coefficients.iter().flat_map(|d| d.iter());
            column.iter_mut().zip(numbers).for_each(|(to, d)| *to = *d);
        }
        all
    }
}

/// Sections of nodal states.
pub(in crate::dynamics) const POSITIONS: SectionKind = SectionKind::required("positions", 1);
pub(in crate::dynamics) const VELOCITIES: SectionKind = SectionKind::required("velocities", 1);
