// SPDX-License-Identifier: MIT OR Apache-2.0
//! What blended flesh comes to rest in, and the forces that hold it in a shape.
//!
//! At rest a pass over the regions changes nothing: `Σ_i W_i K_i⁻¹ r_i(p) = 0`, r_i the static forces in region i. Where the frames
//! of regions disagree, so do their forces, and the matrices K_i decide between them. The state of rest therefore depends on
//! the length and the damping of the steps.
//!
//! The equation is linear and not symmetric. GMRES solves it, starting from the balance of the warped method, whose matrix A
//! preconditions it: a pass is nearly `(m M + s A)⁻¹ A`.

use super::regions::{Regions, StepScales};
use crate::Vec3;
use crate::body::Body;
use crate::dynamics::forces::Load;
use crate::dynamics::methods::further::LinearisedTerms;
use crate::dynamics::methods::linear_balance::{solve_balance, solve_sway_balance};
use crate::dynamics::methods::stepper::Step;
use crate::dynamics::methods::system::LinearSystem;
use crate::dynamics::{
    Method, SimulationError, SimulationSettings, SkinnedLattice, Solver, position_error,
};
use crate::solve::krylov::{Gmres, PreconditionedSystem, StoppingCriteria};
use crate::solve::{NodeMatrix, SolveError};

/// Stopping criteria of GMRES.
const GMRES_CRITERIA: StoppingCriteria = StoppingCriteria {
    tolerance: 1e-12,
    iterations: 512,
};

/// Solver for the state of rest of one body.
pub(in crate::dynamics) struct RegionalRest {
    regions: Regions,
    scales: StepScales,
    /// Matrix A of the warped method.
    system: LinearSystem,
    method: Method,
}

impl StepScales {
    /// Returns the scales of a step.
    pub fn of_step(step: &Step) -> Self {
        let h = step.duration;
        Self {
            mass: 1.0 + h * step.mass_damping,
            stiffness: h * step.implicit_stiffness_damping() + h * h,
        }
    }

    /// Returns the scales of the steps of settings whose damping is known.
    pub fn of_settings(settings: &SimulationSettings) -> Self {
        let (h, (alpha, beta)) = (1.0 / settings.rate, settings.damping());
        Self {
            mass: 1.0 + h * alpha,
            stiffness: h * (beta - h).max(0.0) + h * h,
        }
    }
}

impl RegionalRest {
    /// Creates the solver for steps of `scales`; `None`: undamped steps of the default rate.
    pub fn new(
        body: &Body,
        method: Method,
        scales: Option<StepScales>,
    ) -> Result<Self, SolveError> {
        let default = || StepScales::of_settings(&SimulationSettings::default());
        Ok(Self {
            regions: super::divide(body, method == Method::BlendedPrinted)?,
            scales: scales.unwrap_or_else(default),
            system: LinearSystem::new(body, Method::Warped, Solver::Factor)?,
            method,
        })
    }

    /// Returns the positions at rest. With further terms they are those of the warped matrix.
    pub fn solve(
        &mut self,
        body: &Body,
        skinned: &SkinnedLattice,
        load: &Load,
    ) -> Result<Vec<Vec3>, SimulationError> {
        let mut p = self.warped_balance(body, skinned, load)?;
        if !load.terms.is_empty() {
            return Ok(p);
        }
        let mut change = self.pass(body, skinned, load, &p)?;
        let mut pass = RegionPass {
            body,
            skinned,
            regions: &mut self.regions,
            system: &mut self.system,
            scales: self.scales,
            whole: vec![Vec3::zeros(); body.node_count()],
            inverse: false,
        };
        solve_by_gmres(&mut pass, &mut change)?;
        for (d, &v) in change.iter().zip(body.pattern().vertex_of_node()) {
            p[v as usize] += d;
        }
        position_error(&p).map_or(Ok(p), Err)
    }

    /// Returns the positions in the balance from which the search for the rest starts.
    pub fn warped_balance(
        &mut self,
        body: &Body,
        skinned: &SkinnedLattice,
        load: &Load,
    ) -> Result<Vec<Vec3>, SimulationError> {
        match self.method {
            Method::Blended => solve_sway_balance(&mut self.system, body, skinned, load),
            _ => solve_balance(&mut self.system, body, skinned, load),
        }
    }

    /// Returns the forces on the free nodes, N, that hold the flesh at positions `p`, with bone vertices in place.
    pub fn forces_at(
        &mut self,
        body: &Body,
        skinned: &SkinnedLattice,
        load: &Load,
        p: &[Vec3],
    ) -> Result<Vec<Vec3>, SimulationError> {
        let none = &LinearisedTerms::EMPTY;
        self.system.prepare(body, skinned, 0.0, 1.0, none)?;
        let mut forces = self.pass(body, skinned, load, p)?;
        let mut pass = RegionPass {
            body,
            skinned,
            regions: &mut self.regions,
            system: &mut self.system,
            scales: self.scales,
            whole: vec![Vec3::zeros(); body.node_count()],
            inverse: true,
        };
        solve_by_gmres(&mut pass, &mut forces)?;
        forces.iter_mut().for_each(|f| *f = -*f);
        Ok(forces)
    }

    /// Computes one pass with the static forces at positions `p`.
    fn pass(
        &mut self,
        body: &Body,
        skinned: &SkinnedLattice,
        load: &Load,
        p: &[Vec3],
    ) -> Result<Vec<Vec3>, SolveError> {
        self.regions.prepare(body, self.scales)?;
        let mut x = vec![Vec3::zeros(); body.pattern().vertex_of_node().len()];
        let mut sums = vec![Vec3::zeros(); p.len()];
        let sway: Vec<Vec3>;
        let operand = match self.method {
            Method::Blended => {
                let carried = p.iter().zip(&skinned.places);
                sway = carried.map(|(p, place)| p - place).collect();
                (0.0, &sway[..])
            }
            _ => {
                sums.copy_from_slice(&skinned.twist_loads);
                (1.0, p)
            }
        };
        let loads = (1.0, &mut sums[..]);
        common_forces(body, skinned, load, loads, operand.1, &mut x);
        self.regions.solve(body, skinned, operand, &mut x);
        Ok(x)
    }
}

/// Computes the forces that all regions share, `scale · (forces + f_g + F) − Mt z`, on the free nodes. `forces[nodes]` are changed.
pub(in crate::dynamics) fn common_forces(
    body: &Body,
    skinned: &SkinnedLattice,
    load: &Load,
    (scale, forces): (f64, &mut [Vec3]),
    z: &[Vec3],
    out: &mut [Vec3],
) {
    load.add_net_weight(body, skinned, forces);
    for (out, &v) in out.iter_mut().zip(body.pattern().vertex_of_node()) {
        let v = v as usize;
        let given = load.forces.map_or(Vec3::zeros(), |forces| forces[v]);
        *out = (forces[v] + given) * scale - body.twist_matrix().row_times(v, z);
    }
}

/// A pass as a linear map: of displacements, `Σ_i W_i K_i⁻¹ (S_i + Mt) x`, or, as the `inverse`, of forces, `Σ_i W_i K_i⁻¹ x`.
struct RegionPass<'a> {
    body: &'a Body,
    skinned: &'a SkinnedLattice,
    regions: &'a mut Regions,
    /// A, factored.
    system: &'a mut LinearSystem,
    scales: StepScales,
    whole: Vec<Vec3>,
    inverse: bool,
}

impl RegionPass<'_> {
    /// Spreads `x` from the free nodes to all; held ones are zero.
    fn spread(&mut self, x: &[Vec3]) {
        for (x, &v) in x.iter().zip(self.body.pattern().vertex_of_node()) {
            self.whole[v as usize] = *x;
        }
    }
}

impl PreconditionedSystem for RegionPass<'_> {
    fn apply(&mut self, x: &[Vec3], y: &mut [Vec3]) {
        if self.inverse {
            y.copy_from_slice(x);
            self.whole.fill(Vec3::zeros());
        } else {
            self.spread(x);
            for (y, &v) in y.iter_mut().zip(self.body.pattern().vertex_of_node()) {
                *y = -self.body.twist_matrix().row_times(v as usize, &self.whole);
            }
        }
        let z = (0.0, &self.whole[..]);
        self.regions.solve(self.body, self.skinned, z, y);
        if !self.inverse {
            y.iter_mut().for_each(|y| *y = -*y);
        }
    }

    /// Applies `A⁻¹ (m M + s A)`, or `m M + s A`.
    fn precondition(&mut self, x: &mut [Vec3]) {
        self.spread(x);
        let StepScales { mass, stiffness } = self.scales;
        let matrix = self.body.mass_matrix();
        let free = self.body.pattern().vertex_of_node();
        let inert = free
            .iter()
            .map(|&v| matrix.row_times(v as usize, &self.whole) * mass);
        if self.inverse {
            let elastic = self.system.product(self.body, self.skinned, &self.whole);
            for ((x, m), a) in x.iter_mut().zip(inert).zip(elastic) {
                *x = m + a * stiffness;
            }
            return;
        }
        let mut solved: Vec<Vec3> = inert.collect();
        self.system.substitute(&mut solved);
        for (x, d) in x.iter_mut().zip(solved) {
            *x = *x * stiffness + d;
        }
    }
}

fn solve_by_gmres(pass: &mut RegionPass, x: &mut [Vec3]) -> Result<(), SolveError> {
    match Gmres::new(x.len()).solve(pass, x, GMRES_CRITERIA) {
        Some(_) => Ok(()),
        None => Err(SolveError::NotConverged),
    }
}
