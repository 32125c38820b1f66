// SPDX-License-Identifier: MIT OR Apache-2.0
//! Constraints on positions and orientations of nodes, held by forces at exercised nodes. [choi2003, §5]
//!
//! The print solves `F_x = R_x (R̃_c Φ_c γ Φ_xᵀ)⁺ (u_c − R̃_c Φ_c q)` for positions, `F_x = R_x (Ψ_c γ Φ_xᵀ)⁺ (w_c − Ψ_c q)`
//! for orientations, ⁺ the pseudo-inverse (the print's `Aᵀ` is a misprint), stacked when both are given. R_x only
//! names the axes of F_x: the unknown here is the force in the exercised nodes' own frames.
//!
//! Deviations: R̃ depends on the corrected amplitudes, so the solve is iterated, with the whole derivative of
//! `R̃(Ψq) Φq`, until the constraints hold. With the exact integrator, which damps nothing by itself, a force for the
//! position alone would ring for ever: there an impulse at the end of the step, a second unknown, holds the velocity,
//! and the body is bent to targets that are new or leap with the least of elastic energy before the step begins.

use super::oscillator::{Oscillators, State};
use super::simulation::finite;
use super::warp::{mean_rotation, mean_rotation_derivative};
use super::{ModalError, Modes};
use crate::{Mat3, Vec3};
use nalgebra::{DMatrix, DVector};

/// The print's corrections per step at most,
const TURNS: usize = 16;
/// which go on while the constraints are farther off than this part of the body's size; then Newton's.
const NEAR: f64 = 1e-3;
/// Newton's corrections at most.
const PASSES: usize = 40;
/// Constraints hold when none is farther off than this part of the body's size,
const CLOSE: f64 = 1e-6;
/// but corrections go on to this part, which costs one pass more.
const AIM: f64 = 1e-11;
/// A target that moves by more than this part of the body's size in one step leaps.
const LEAP: f64 = 0.1;
/// Places between the present ones and the targets.
const WAYPOINTS: u32 = 8;
/// Directions in which the exercised nodes have less than this part of their largest effect are not used.
const RANK: f64 = 1e-10;
/// A radian counts like this part of the body's size where constraints cannot all hold.
const RADIAN: f64 = 0.1;

/// What one node is held at.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Target {
    /// A displacement from rest, metres.
    Position(Vec3),
    /// A rotation vector, radians.
    Orientation(Vec3),
}

/// One constraint.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hold {
    /// The node.
    pub node: usize,
    /// What it is held at.
    pub target: Target,
}

/// How well constraints hold after a step.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Held {
    /// Largest distance of a constrained node from its place, metres.
    pub distance: f64,
    /// Largest difference of an orientation from its target, radians.
    pub angle: f64,
    /// Corrections that were made.
    pub passes: usize,
    /// Not all constraints can hold together with these modes and exercised nodes: they hold in least squares.
    pub overdetermined: bool,
    /// Forces (N, the frames of the nodes) that held them, per exercised node.
    pub forces: Vec<(usize, Vec3)>,
}

/// All constraints of a simulation.
#[derive(Debug, Clone, Default)]
pub(super) struct Constraints {
    rows: Vec<Row>,
    exercised: Vec<usize>,
    size: f64,
}

#[derive(Debug, Clone, Copy)]
struct Row {
    hold: Hold,
    /// The target of the step before, if it was held then.
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
    /// Other constraints; those that were there before know how fast they move. Forces act at `exercised` nodes; if
    /// none are named, at the constrained ones and, for orientations, at those around them.
    pub fn replaced(
        &self,
        modes: &Modes,
        holds: &[Hold],
        exercised: Option<&[usize]>,
    ) -> Result<Self, ModalError> {
        let nodes = modes.nodes();
        for hold in holds {
            let node = hold.node;
            let what = "a constraint";
            if node >= nodes {
                return Err(ModalError::Node { what, node, nodes });
            }
            if modes.fixed()[node] {
                return Err(ModalError::Supported { node });
            }
            finite("the target of a constraint", hold.target.vector())?;
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
        let rest = modes.lattice().vertices();
        let (lo, hi) = rest
            .iter()
            .fold((rest[0], rest[0]), |(lo, hi), p| (lo.inf(p), hi.sup(p)));
        Ok(Self {
            rows: holds.iter().map(row).collect(),
            exercised: chosen,
            size: (hi - lo).norm().max(f64::MIN_POSITIVE),
        })
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// A step is over: its targets are those of the step before.
    pub fn stepped(&mut self) {
        for row in &mut self.rows {
            row.before = Some(row.hold.target.vector());
        }
    }

    /// The constraints do not move from anywhere.
    pub fn forget(&mut self) {
        self.rows.iter_mut().for_each(|r| r.before = None);
    }

    /// Whether a target is new or leaps: the body then is to be brought there at rest instead of being hurled.
    pub fn leaps(&self) -> bool {
        let far = LEAP * self.size;
        let leap = |row: &Row| row.before.is_none_or(|b| self.moved(row, b).norm() > far);
        self.rows.iter().any(leap)
    }

    /// Bends the body to its targets with the least of elastic energy, velocities kept.
    pub fn relax(&self, modes: &Modes, warp: bool, state: &mut State) {
        let gain = self.compliance(modes);
        let solver = self.solver(modes, warp, &gain);
        let (found, _) = solver.reach(&DVector::from_column_slice(&state.q));
        state.q.copy_from_slice(found.q.as_slice());
    }

    /// Corrects the amplitudes and velocities at the end of the step that began at `from` so that the constraints
    /// hold.
    pub fn enforce(
        &self,
        modes: &Modes,
        oscillators: &Oscillators,
        warp: bool,
        from: &State,
        state: &mut State,
    ) -> Held {
        let spread = self.spread(modes);
        let gain = weighted(&spread, |i| oscillators.gain(i));
        let predicted = DVector::from_column_slice(&state.q);
        let (mut found, mut passes) = self.solver(modes, warp, &gain).reach(&predicted);
        let targets = self.targets();
        let mut force = pseudo_solve(gain, &(&found.q - &predicted));
        let exact = oscillators.keeps_energy();
        if exact && found.off(&targets) > CLOSE * self.size {
            // Forces within the step cannot do it: the body comes to rest where it is least bent.
            let gain = self.compliance(modes);
            let (rest, more) = self
                .solver(modes, warp, &gain)
                .reach(&DVector::from_column_slice(&from.q));
            passes += more;
            if rest.off(&targets) <= found.off(&targets) {
                found = rest;
                force.fill(0.0);
                state.v.fill(0.0);
            }
        }
        let pushed = &spread * &force;
        for (i, (q, v)) in state.q.iter_mut().zip(&mut state.v).enumerate() {
            *q = found.q[i];
            *v += oscillators.velocity_gain(i) * pushed[i];
        }
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
        }
        self.report(&(targets - &found.value), &force, passes)
    }

    fn solver<'a>(&'a self, modes: &'a Modes, warp: bool, gain: &'a DMatrix<f64>) -> Solver<'a> {
        Solver {
            constraints: self,
            modes,
            warp,
            gain,
        }
    }

    /// Φ_xᵀ: modal forces of unit forces at exercised nodes.
    fn spread(&self, modes: &Modes) -> DMatrix<f64> {
        DMatrix::from_fn(modes.len(), 3 * self.exercised.len(), |i, c| {
            modes.shapes()[i][self.exercised[c / 3]][c % 3]
        })
    }

    /// Amplitudes at rest under unit forces at exercised nodes; modes without stiffness give way most.
    fn compliance(&self, modes: &Modes) -> DMatrix<f64> {
        let all = modes.eigenvalues();
        let stiffest = all.iter().copied().fold(0.0, f64::max);
        let held = all.iter().copied().filter(|l| *l > 1e-9 * stiffest);
        let softest = held.fold(stiffest, f64::min).max(f64::MIN_POSITIVE);
        weighted(&self.spread(modes), |i| 1.0 / all[i].max(1e-3 * softest))
    }

    /// All targets, orientations in metres.
    fn targets(&self) -> DVector<f64> {
        let mut all = DVector::zeros(3 * self.rows.len());
        for (r, row) in self.rows.iter().enumerate() {
            let target = row.hold.target.vector() * self.scale(&row.hold.target);
            all.fixed_rows_mut::<3>(3 * r).copy_from(&target);
        }
        all
    }

    /// Velocities of the targets over the last step; none where they leapt.
    fn velocities(&self, step: f64) -> DVector<f64> {
        let mut all = DVector::zeros(3 * self.rows.len());
        for (r, row) in self.rows.iter().enumerate() {
            let moved = row.before.map(|b| self.moved(row, b));
            let moved = moved.filter(|m| m.norm() <= LEAP * self.size);
            let velocity = moved.unwrap_or_default() / step;
            all.fixed_rows_mut::<3>(3 * r).copy_from(&velocity);
        }
        all
    }

    /// How far a target moved since the step before, an orientation in metres.
    fn moved(&self, row: &Row, before: Vec3) -> Vec3 {
        (row.hold.target.vector() - before) * self.scale(&row.hold.target)
    }

    fn scale(&self, target: &Target) -> f64 {
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

/// Finds amplitudes at which the constraints hold, among those that forces at exercised nodes can make.
struct Solver<'a> {
    constraints: &'a Constraints,
    modes: &'a Modes,
    warp: bool,
    /// What unit forces at exercised nodes add to the amplitudes.
    gain: &'a DMatrix<f64>,
}

/// What is held at some amplitudes, orientations in metres.
struct Place {
    q: DVector<f64>,
    value: DVector<f64>,
    /// Its derivative.
    jacobian: DMatrix<f64>,
    /// The same with R̃ as it stands: the print's.
    frozen: DMatrix<f64>,
}

impl Place {
    fn off(&self, targets: &DVector<f64>) -> f64 {
        (targets - &self.value).norm()
    }
}

impl Solver<'_> {
    /// Goes to the targets; where the straight way gets stuck, by way of places in between.
    fn reach(&self, from: &DVector<f64>) -> (Place, usize) {
        let targets = self.constraints.targets();
        let start = self.at(from.clone());
        let begin = start.value.clone();
        let (best, mut passes) = self.pursue(start, &targets);
        let off = |place: &Place| place.off(&targets);
        if !self.warp || off(&best) <= CLOSE * self.constraints.size {
            return (best, passes);
        }
        let mut place = self.at(from.clone());
        for way in 1..=WAYPOINTS {
            let part = f64::from(way) / f64::from(WAYPOINTS);
            let (next, more) = self.pursue(place, &begin.lerp(&targets, part));
            (place, passes) = (next, passes + more);
        }
        (
            if off(&place) < off(&best) {
                place
            } else {
                best
            },
            passes,
        )
    }

    /// The print's step again and again, which turns far but may go astray; then Newton's from the best place.
    fn pursue(&self, start: Place, targets: &DVector<f64>) -> (Place, usize) {
        let (close, far) = (NEAR * self.constraints.size, 10.0 * start.off(targets));
        let mut best = start;
        let mut passes = 0;
        let mut trial: Option<Place> = None;
        while self.warp && passes < TURNS && best.off(targets) > close {
            let place = trial.as_ref().unwrap_or(&best);
            let next = self.stepped(place, &place.frozen, targets, 1.0);
            passes += 1;
            let off = next.off(targets);
            if off.is_nan() || off > far {
                break;
            }
            if off < best.off(targets) {
                (best, trial) = (next, None);
            } else {
                trial = Some(next);
            }
        }
        let (place, more) = self.descend(best, targets);
        (place, passes + more)
    }

    /// Newton's steps, shortened until they help, until the targets are met or as near as they can be.
    fn descend(&self, mut place: Place, targets: &DVector<f64>) -> (Place, usize) {
        for pass in 0..PASSES {
            let length = place.off(targets);
            if length <= AIM * self.constraints.size {
                return (place, pass);
            }
            let mut part = 1.0;
            let mut better = None;
            while better.is_none() && part > 1e-3 {
                let next = self.stepped(&place, &place.jacobian, targets, part);
                better = (next.off(targets) < length).then_some(next);
                part *= 0.5;
            }
            let Some(better) = better else {
                return (place, pass + 1);
            };
            place = better;
            if place.off(targets) > length * (1.0 - 1e-6) {
                return (place, pass + 1);
            }
        }
        (place, PASSES)
    }

    /// Part of the step that would reach the targets if what is held changed by a constant matrix.
    fn stepped(
        &self,
        place: &Place,
        by: &DMatrix<f64>,
        targets: &DVector<f64>,
        part: f64,
    ) -> Place {
        let force = pseudo_solve(by * self.gain, &(targets - &place.value));
        self.at(&place.q + self.gain * force * part)
    }

    fn at(&self, q: DVector<f64>) -> Place {
        let (rows, m) = (&self.constraints.rows, self.modes.len());
        let mut place = Place {
            value: DVector::zeros(3 * rows.len()),
            jacobian: DMatrix::zeros(3 * rows.len(), m),
            frozen: DMatrix::zeros(3 * rows.len(), m),
            q,
        };
        for (r, row) in rows.iter().enumerate() {
            let (node, q) = (row.hold.node, place.q.as_slice());
            let (u, w) = (
                self.modes.displacement(q, node),
                self.modes.rotation(q, node),
            );
            let scale = self.constraints.scale(&row.hold.target);
            let (value, by_u, by_w, frozen_w) = match row.hold.target {
                Target::Position(_) if self.warp => {
                    let turn = mean_rotation(&w);
                    (
                        turn * u,
                        turn,
                        mean_rotation_derivative(&w, &u),
                        Mat3::zeros(),
                    )
                }
                Target::Position(_) => (u, Mat3::identity(), Mat3::zeros(), Mat3::zeros()),
                Target::Orientation(_) => (w, Mat3::zeros(), Mat3::identity(), Mat3::identity()),
            };
            place
                .value
                .fixed_rows_mut::<3>(3 * r)
                .copy_from(&(value * scale));
            for i in 0..m {
                let (shape, turn) = (
                    self.modes.shapes()[i][node],
                    self.modes.rotations()[i][node],
                );
                let put = |to: &mut DMatrix<f64>, by_w: Mat3| {
                    let d = (by_u * shape + by_w * turn) * scale;
                    to.fixed_view_mut::<3, 1>(3 * r, i).copy_from(&d);
                };
                put(&mut place.jacobian, by_w);
                put(&mut place.frozen, frozen_w);
            }
        }
        place
    }
}

/// The nodes that a constraint is exercised at by default.
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

/// Rows times factors.
fn weighted(matrix: &DMatrix<f64>, factor: impl Fn(usize) -> f64) -> DMatrix<f64> {
    DMatrix::from_fn(matrix.nrows(), matrix.ncols(), |i, c| {
        factor(i) * matrix[(i, c)]
    })
}

/// `A⁺ b`: the smallest of the vectors nearest to a solution.
fn pseudo_solve(a: DMatrix<f64>, b: &DVector<f64>) -> DVector<f64> {
    let columns = a.ncols();
    let svd = a.svd(true, true);
    let largest = svd.singular_values.iter().copied().fold(0.0, f64::max);
    if !(largest > 0.0 && largest.is_finite()) {
        return DVector::zeros(columns);
    }
    svd.solve(b, RANK * largest)
        .unwrap_or_else(|_| DVector::zeros(columns))
}
