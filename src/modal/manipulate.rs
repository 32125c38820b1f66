// SPDX-License-Identifier: MIT OR Apache-2.0
//! Constraints on positions and orientations of nodes, enforced by forces at exercised nodes. [choi2003, §5]
//!
//! The paper solves `F_x = R_x (R̃_c Φ_c γ Φ_xᵀ)⁺ (u_c − R̃_c Φ_c q)` for positions, `F_x = R_x (Ψ_c γ Φ_xᵀ)⁺ (w_c − Ψ_c q)`
//! for orientations, with the pseudo-inverse ⁺ (the paper's `Aᵀ` is a misprint), stacked when both occur. R_x only sets the
//! axes of F_x: the unknown here is the force in the exercised nodes' own frames.
//!
//! Deviations: by default the exercised nodes are the constrained ones and, for orientations, their neighbours. R̃ depends on
//! the corrected amplitudes, so the solve is iterated until the constraints hold, with the full derivative of `R̃(Ψq) Φq`.
//! The exact integrator has no damping of its own, so a force for the position alone would make it oscillate for ever. There
//! an impulse at the end of the step, a second unknown, enforces the velocity; and before the step begins the body is bent
//! with the least elastic energy to targets that are new or jump. With either integrator, the body comes to rest where forces
//! within the step could satisfy the constraints only by pumping energy in.

use super::budget::{Budget, Targets, Verdict, energy};
use super::oscillator::{Oscillators, State};
use super::satisfy::{Solver, pseudo_solve};
use super::simulation::finite;
use super::{ModalError, Modes};
use crate::Vec3;
use crate::geometry::aabb;
use nalgebra::{DMatrix, DVector};

/// Largest length of a target, metres or radians.
const FARTHEST: f64 = 1e9;
/// Largest deviation at which constraints count as satisfied, as a share of the body's size.
pub(super) const CLOSE: f64 = 1e-6;
/// Motion of a target in one step, as a share of the body's size, beyond which it is a jump.
const LEAP: f64 = 0.1;
/// For the paper's integrator: the energy of forces that reach new targets may be at most this multiple of the energy of
/// bending there.
const HURLED: f64 = 300.0;
/// Weight of a radian where constraints conflict, as a share of the body's size.
const RADIAN: f64 = 0.1;

/// Target of a constraint on one node.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Target {
    /// A displacement from rest, metres.
    Position(Vec3),
    /// A rotation vector, radians.
    Orientation(Vec3),
}

/// A constraint on one node.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hold {
    /// Index of the node.
    pub node: usize,
    /// Target of the constraint.
    pub target: Target,
}

/// Accuracy of constraints after a step.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Held {
    /// Largest distance of a constrained node from its target, metres.
    pub distance: f64,
    /// Largest difference of an orientation from its target, radians.
    pub angle: f64,
    /// Number of corrections made.
    pub passes: usize,
    /// Whether the constraints conflict for these modes and exercised nodes; they then hold in the least-squares sense.
    pub overdetermined: bool,
    /// Whether motion was slowed because the constraints would have pumped energy into the body.
    pub slowed: bool,
    /// Whether the body was brought to rest because forces within the step would have hurled it.
    pub stopped: bool,
    /// Constraint forces (N, frames of the nodes) per exercised node; zero where the body was brought to rest.
    pub forces: Vec<(usize, Vec3)>,
}

/// All constraints of a simulation.
#[derive(Debug, Clone, Default)]
pub(super) struct Constraints {
    pub(super) rows: Vec<Row>,
    exercised: Vec<usize>,
    pub(super) size: f64,
    budget: Budget,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Row {
    pub hold: Hold,
    /// Target in the step before, if the constraint existed then.
    before: Option<Vec3>,
}

impl Target {
    fn vector(&self) -> Vec3 {
        match self {
            Self::Position(v) | Self::Orientation(v) => *v,
        }
    }

    fn is_like(&self, other: &Self) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }
}

impl Constraints {
    /// Returns a copy with other constraints. Those that existed before keep their last targets, hence their velocities.
    /// Forces act at `exercised` nodes; `None`: at the constrained ones and, for orientations, their neighbours.
    pub fn replaced(
        &self,
        modes: &Modes,
        holds: &[Hold],
        exercised: Option<&[usize]>,
    ) -> Result<Self, ModalError> {
        let nodes = modes.node_count();
        for hold in holds {
            let node = hold.node;
            let what = "a constraint";
            if node >= nodes {
                return Err(ModalError::Node { what, node, nodes });
            }
            if modes.fixed()[node] {
                return Err(ModalError::Supported { node });
            }
            let target = hold.target.vector();
            finite("the target of a constraint", target)?;
            if target.norm() > FARTHEST {
                return Err(ModalError::Setting {
                    what: "the target of a constraint",
                    range: "within a billion metres or radians",
                    value: target.amax(),
                });
            }
        }
        let mut chosen: Vec<usize> = match exercised {
            Some(named) => named.to_vec(),
            None => holds.iter().flat_map(|h| around(modes, h)).collect(),
        };
        let what = "the list of exercised nodes";
        if let Some(&node) = chosen.iter().find(|&&n| n >= nodes) {
            return Err(ModalError::Node { what, node, nodes });
        }
        chosen.retain(|&n| !modes.fixed()[n]);
        chosen.sort_unstable();
        chosen.dedup();
        if chosen.is_empty() && !holds.is_empty() {
            return Err(ModalError::NotExercised);
        }
        let before = |hold: &Hold| {
            let same = |r: &&Row| r.hold.node == hold.node && r.hold.target.is_like(&hold.target);
            self.rows.iter().find(same).and_then(|r| r.before)
        };
        let row = |hold: &Hold| Row {
            hold: *hold,
            before: before(hold),
        };
        Ok(Self {
            rows: holds.iter().map(row).collect(),
            exercised: chosen,
            size: aabb::diagonal(modes.lattice().vertices()).max(f64::MIN_POSITIVE),
            budget: self.budget.clone(),
        })
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Ends a step: its targets become those of the step before.
    pub fn stepped(&mut self) {
        for row in &mut self.rows {
            row.before = Some(row.hold.target.vector());
        }
    }

    /// Discards the energy bound after the state was changed from outside.
    pub fn restart(&mut self) {
        self.budget = Budget::default();
    }

    /// Discards the last targets, and with them the velocities.
    pub fn forget(&mut self) {
        self.rows.iter_mut().for_each(|r| r.before = None);
    }

    /// Returns whether a target is new or jumps. The body is then brought there at rest instead of being hurled.
    pub fn leaps(&self) -> bool {
        let far = LEAP * self.size;
        let leap = |row: &Row| row.before.is_none_or(|b| self.moved(row, b).norm() > far);
        self.rows.iter().any(leap)
    }

    /// Bends the body to its targets with the least elastic energy; velocities are unchanged.
    pub fn relax(&self, modes: &Modes, warp: bool, state: &mut State) {
        let gain = self.compliance(modes);
        let solver = self.solver(modes, warp, &gain);
        let (found, _) = solver.satisfy(&DVector::from_column_slice(&state.q));
        state.q.copy_from_slice(found.q.as_slice());
    }

    /// Corrects the amplitudes and velocities at the end of a step so that the constraints hold. The step began at `from`,
    /// under modal forces `loads`.
    pub fn enforce(
        &mut self,
        modes: &Modes,
        oscillators: &Oscillators,
        warp: bool,
        (from, loads): (&State, &[f64]),
        state: &mut State,
    ) -> Held {
        let spread = self.spread(modes);
        let gain = weighted(&spread, |i| oscillators.gain(i));
        let predicted = DVector::from_column_slice(&state.q);
        let (found, mut passes) = self.solver(modes, warp, &gain).satisfy(&predicted);
        let targets = self.targets();
        let mut error = &targets - &found.value;
        let mut force = pseudo_solve(gain, &(&found.q - &predicted));
        let pushed = &spread * &force;
        for (i, (q, v)) in state.q.iter_mut().zip(&mut state.v).enumerate() {
            *q = found.q[i];
            *v += oscillators.velocity_gain(i) * pushed[i];
        }
        let exact = oscillators.keeps_energy();
        // Mean over the step.
        let mut acting = pushed;
        if exact {
            let wanted = self.velocities(oscillators.step());
            let have = &found.jacobian * DVector::from_column_slice(&state.v);
            let impulse = pseudo_solve(&found.jacobian * &spread, &(wanted - have));
            let added = &spread * impulse;
            state
                .v
                .iter_mut()
                .zip(added.iter())
                .for_each(|(v, d)| *v += d);
            acting += added / oscillators.step();
        }
        let hurled = !exact && self.leaps() && self.is_hurled(modes, warp, from, state);
        let moved = if self.leaps() {
            Targets::New
        } else if self.still() {
            Targets::Still
        } else {
            // Work on the targets: the multipliers of the constraints times the displacements of their targets.
            let multipliers = pseudo_solve(found.jacobian.transpose(), &acting);
            Targets::Led(multipliers.dot(&self.ways()))
        };
        if let Targets::Led(_) = moved {
            let base = DVector::from_column_slice(self.budget.base(moved, &from.q));
            let gain = self.compliance(modes);
            let (rest, more) = self.solver(modes, warp, &gain).satisfy(&base);
            passes += more;
            self.budget.follow(rest.q.as_slice());
        }
        let verdict = self
            .budget
            .admits(modes, exact, moved, (from, loads), state);
        let fits = verdict != Verdict::Refused && !hurled;
        let mut stopped = false;
        if !fits || exact && error.norm() > CLOSE * self.size {
            // Forces within the step fail, or succeed only by pumping in energy: the body comes to rest where it is bent
            // least.
            let gain = self.compliance(modes);
            let base = self.budget.base(moved, &from.q);
            let start = DVector::from_column_slice(base);
            let (rest, more) = self.solver(modes, warp, &gain).satisfy(&start);
            passes += more;
            if !fits || rest.off(&targets) <= error.norm() {
                error = &targets - &rest.value;
                force.fill(0.0);
                state.q.copy_from_slice(rest.q.as_slice());
                state.v.fill(0.0);
                self.budget.start(modes, state);
                stopped = true;
            }
        }
        Held {
            slowed: verdict == Verdict::Slowed && !stopped,
            stopped,
            ..self.report(&error, &force, passes)
        }
    }

    /// Returns whether reaching new targets by forces within the step takes many times the energy of bending there. That
    /// happens with exercised nodes far from the constrained ones.
    fn is_hurled(&self, modes: &Modes, warp: bool, from: &State, to: &State) -> bool {
        let mut relaxed = from.clone();
        self.relax(modes, warp, &mut relaxed);
        let [bent, before, now] = [&relaxed, from, to].map(|s| energy(modes, s));
        now.is_nan() || now > HURLED * (bent + before)
    }

    /// Returns whether no target is new or moves.
    fn still(&self) -> bool {
        let still = |row: &Row| row.before == Some(row.hold.target.vector());
        self.rows.iter().all(still)
    }

    fn solver<'a>(&'a self, modes: &'a Modes, warp: bool, gain: &'a DMatrix<f64>) -> Solver<'a> {
        Solver {
            constraints: self,
            modes,
            warp,
            gain,
        }
    }

    /// Returns Φ_xᵀ: modal forces of unit forces at exercised nodes.
    fn spread(&self, modes: &Modes) -> DMatrix<f64> {
        DMatrix::from_fn(modes.len(), 3 * self.exercised.len(), |i, c| {
            modes.shapes()[i][self.exercised[c / 3]][c % 3]
        })
    }

    /// Returns the static amplitudes under unit forces at exercised nodes; modes without stiffness yield most.
    fn compliance(&self, modes: &Modes) -> DMatrix<f64> {
        let all = modes.eigenvalues();
        let stiffest = all.iter().copied().fold(0.0, f64::max);
        let held = all.iter().copied().filter(|l| *l > 1e-9 * stiffest);
        let softest = held.fold(stiffest, f64::min).max(f64::MIN_POSITIVE);
        weighted(&self.spread(modes), |i| 1.0 / all[i].max(1e-3 * softest))
    }

    /// Returns all targets, orientations scaled to metres.
    pub(super) fn targets(&self) -> DVector<f64> {
        let mut all = DVector::zeros(3 * self.rows.len());
        for (r, row) in self.rows.iter().enumerate() {
            let target = row.hold.target.vector() * self.scale(&row.hold.target);
            all.fixed_rows_mut::<3>(3 * r).copy_from(&target);
        }
        all
    }

    /// Returns the velocities of the targets over the last step; zero where they jumped.
    fn velocities(&self, step: f64) -> DVector<f64> {
        self.ways() / step
    }

    /// Returns the displacements of the targets in the last step, orientations scaled to metres; zero where they jumped.
    fn ways(&self) -> DVector<f64> {
        let mut all = DVector::zeros(3 * self.rows.len());
        for (r, row) in self.rows.iter().enumerate() {
            let moved = row.before.map(|b| self.moved(row, b));
            let moved = moved.filter(|m| m.norm() <= LEAP * self.size);
            all.fixed_rows_mut::<3>(3 * r)
                .copy_from(&moved.unwrap_or_default());
        }
        all
    }

    /// Returns the displacement of a target since the step before, orientations scaled to metres.
    fn moved(&self, row: &Row, before: Vec3) -> Vec3 {
        (row.hold.target.vector() - before) * self.scale(&row.hold.target)
    }

    pub(super) fn scale(&self, target: &Target) -> f64 {
        match target {
            Target::Position(_) => 1.0,
            Target::Orientation(_) => RADIAN * self.size,
        }
    }

    fn report(&self, error: &DVector<f64>, force: &DVector<f64>, passes: usize) -> Held {
        let mut held = Held {
            passes,
            ..Held::default()
        };
        for (r, row) in self.rows.iter().enumerate() {
            let off = error.fixed_rows::<3>(3 * r).norm() / self.scale(&row.hold.target);
            match row.hold.target {
                Target::Position(_) => held.distance = held.distance.max(off),
                Target::Orientation(_) => held.angle = held.angle.max(off),
            }
        }
        held.overdetermined = held.distance > CLOSE * self.size || held.angle * RADIAN > CLOSE;
        let at = |(i, &node): (usize, &usize)| {
            (
                node,
                Vec3::new(force[3 * i], force[3 * i + 1], force[3 * i + 2]),
            )
        };
        held.forces = self.exercised.iter().enumerate().map(at).collect();
        held
    }
}

/// Returns the default exercised nodes of a constraint.
fn around(modes: &Modes, hold: &Hold) -> Vec<usize> {
    match hold.target {
        Target::Position(_) => vec![hold.node],
        Target::Orientation(_) => modes
            .neighbours(hold.node)
            .iter()
            .map(|&n| n as usize)
            .collect(),
    }
}

/// Multiplies each row by a factor.
fn weighted(matrix: &DMatrix<f64>, factor: impl Fn(usize) -> f64) -> DMatrix<f64> {
    DMatrix::from_fn(matrix.nrows(), matrix.ncols(), |i, c| {
        factor(i) * matrix[(i, c)]
    })
}
