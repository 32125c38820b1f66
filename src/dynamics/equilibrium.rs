// SPDX-License-Identifier: MIT OR Apache-2.0
//! Static equilibrium at a pose, its inverse, and its adjoint. [capell2006, §4, eq. 13; §4.2.2, eq. 20]
//!
//! `A q = b − A x + f_g + F + R Q` on the free vertices, with bone vertices at their prescribed positions, F forces in world axes
//! and Q forces in rest axes, which R turns once. A is assembled and factored once per pose, whatever the [`Solver`] of a
//! simulation, and serves any number of forces. The nonlinear methods minimise instead ([`super::nonlinear`]).

use super::forces::{ExternalForces, Load, check_forces, check_terms};
use super::settings::DEFAULT_DAMPING;
use super::volume::VolumeBalance;
use super::{
    Method, Simulation, SimulationError, SimulationSettings, SkinnedLattice, Solver, check_gravity,
    nonlinear, position_error,
};
use crate::body::Body;
use crate::contact::{ContactPoint, PreparedContact};
use crate::dynamics::methods::blended::RegionalRest;
use crate::dynamics::methods::further::LinearisedTerms;
use crate::dynamics::methods::hyperelastic;
use crate::dynamics::methods::linear_balance::{linear_balance, solve_balance};
use crate::dynamics::methods::system::LinearSystem;
use crate::progress::{Progress, Silent};
use crate::skeleton::Pose;
use crate::solve::EnergyTerm;
use crate::{Mat3, Vec3};
use std::sync::Arc;

/// Static equilibrium of one body at successive poses.
///
/// The result depends on the last pose and on the forces only, never on earlier solves.
pub struct Equilibrium {
    body: Arc<Body>,
    method: Method,
    pose: Pose,
    skinned: SkinnedLattice,
    external: ExternalForces,
    terms: Vec<Arc<dyn EnergyTerm>>,
    /// System of the methods with linear forces and of the hyperelastic one.
    system: Option<LinearSystem>,
    /// State of rest of the methods with regions.
    regional: Option<Box<RegionalRest>>,
    /// Simulation that finds balances with contact.
    touching: Option<Box<Simulation>>,
}

impl Equilibrium {
    /// Creates the balances of a body, in its rest pose at first.
    ///
    /// # Errors
    /// The method is modal, which balances amplitudes; the system is singular.
    pub fn new(body: &Arc<Body>, method: Method) -> Result<Self, SimulationError> {
        check_method(method)?;
        Ok(Self {
            body: body.clone(),
            method,
            pose: Pose::rest(body.skeleton().len()),
            skinned: SkinnedLattice::new(body)?,
            external: ExternalForces::zero(body.node_count()),
            terms: Vec::new(),
            system: match method.linear_form() {
                Some(method) => Some(LinearSystem::new(body, method, Solver::Factor)?),
                None => None,
            },
            regional: match method.has_regions() {
                true => Some(Box::new(RegionalRest::new(body, method, None)?)),
                false => None,
            },
            touching: None,
        })
    }

    /// Sets the pose; its system is assembled and factored on first use.
    ///
    /// # Errors
    /// The pose does not fit the skeleton or leads out of the range of numbers; the balance then stays at the previous pose.
    pub fn set_pose(&mut self, pose: &Pose) -> Result<(), SimulationError> {
        if let Err(error) = self.skinned.set(&self.body, self.method, pose) {
            self.skinned.set(&self.body, self.method, &self.pose)?;
            return Err(error);
        }
        self.pose.clone_from(pose);
        Ok(())
    }

    /// Sets energy terms of the lattice vertices' positions (world axes) that act in balances, as
    /// [`Simulation::set_terms`](super::Simulation::set_terms) does. Linearised methods linearise each at the carried shape.
    ///
    /// # Errors
    /// The method is the printed form of the blended one; a term refers to missing nodes or couples nodes that share no cell.
    pub fn set_terms(&mut self, terms: Vec<Arc<dyn EnergyTerm>>) -> Result<(), SimulationError> {
        if self.method == Method::BlendedPrinted && !terms.is_empty() {
            return Err(SimulationError::PrintedTerms);
        }
        check_terms(&self.body, &terms)?;
        if let Some(simulation) = &mut self.touching {
            simulation.set_terms(terms.clone())?;
        }
        self.terms = terms;
        Ok(())
    }

    /// Sets the contact of the flesh with itself, without friction, for balances; `None`: the flesh passes through itself.
    /// [`adjoint`](Self::adjoint) and [`forces_at`](Self::forces_at) ignore contact.
    ///
    /// # Errors
    /// The method supports no contact; the skin is of another body; a crease method is set.
    pub fn set_contact(&mut self, contact: Option<PreparedContact>) -> Result<(), SimulationError> {
        let Some(contact) = contact else {
            self.touching = None;
            return Ok(());
        };
        contact.contact().refuse_creases()?;
        if self.method == Method::Modal {
            return Err(SimulationError::ModalBalance);
        }
        // At rest nothing is damped: `default_damping` need not be found.
        let settings = SimulationSettings {
            mass_damping: Some(DEFAULT_DAMPING.0),
            stiffness_damping: Some(DEFAULT_DAMPING.1),
            ..SimulationSettings::for_method(self.method)
        };
        let mut simulation = Simulation::new(self.body.clone(), settings)?;
        simulation.set_contact(Some(contact))?;
        simulation.set_terms(self.terms.clone())?;
        self.touching = Some(Box::new(simulation));
        Ok(())
    }

    /// Returns the contacts of the last balance.
    pub fn contacts(&self) -> &[ContactPoint] {
        self.touching.as_ref().map_or(&[], |s| s.contacts())
    }

    /// Returns the displacements `q[nodes]` from rest (m, world axes) in balance under gravity (m/s²), generalised forces in
    /// world axes (N, `[nodes]`) and others in rest axes (N, `[nodes]`), which [`turns`](Self::turns) turn.
    ///
    /// # Errors
    /// Forces have the wrong length or are not finite (the error gives the index); the system is singular; a nonlinear method does
    /// not converge.
    pub fn solve(
        &mut self,
        gravity: Vec3,
        forces: Option<&[Vec3]>,
        rest_forces: Option<&[Vec3]>,
    ) -> Result<Vec<Vec3>, SimulationError> {
        self.solve_with_progress(gravity, (forces, rest_forces), &Silent)
    }

    /// Solves as [`solve`](Self::solve) does, with `(forces, rest_forces)` and progress; nonlinear methods can be cancelled before each Newton step.
    ///
    /// # Errors
    /// As [`solve`](Self::solve); a cancellation.
    pub fn solve_with_progress(
        &mut self,
        gravity: Vec3,
        (forces, rest_forces): (Option<&[Vec3]>, Option<&[Vec3]>),
        progress: &dyn Progress,
    ) -> Result<Vec<Vec3>, SimulationError> {
        check_gravity(gravity)?;
        check_forces(&self.body, forces)?;
        check_forces(&self.body, rest_forces)?;
        let rest = self.body.rest_shape();
        if let Some(simulation) = &mut self.touching {
            simulation.set_gravity(gravity);
            simulation.reset_with_forces(&self.pose, true, (forces, rest_forces), progress)?;
            let places = simulation.lattice_positions().iter().zip(rest);
            return Ok(places.map(|(p, x)| p - x).collect());
        }
        let (body, skinned) = (&self.body, &self.skinned);
        let forces = self
            .external
            .world_forces(skinned, forces, rest_forces, 1.0);
        let load = Load::new(body, gravity, forces, &self.terms);
        let mut q = match (&mut self.system, self.method.model()) {
            (Some(system), _) if self.method == Method::Hyperelastic => {
                let bend = solve_balance(system, body, skinned, &Load::ZERO)?;
                let sway = hyperelastic::balance(body, skinned, &load, progress)?;
                bend.iter().zip(&sway).map(|(p, u)| p + u).collect()
            }
            (Some(system), _) if self.method == Method::Blended => {
                let mut bend = solve_balance(system, body, skinned, &Load::ZERO)?;
                if let Some(regional) = &mut self.regional {
                    let swayed = regional.solve(body, skinned, &load)?;
                    for ((p, place), carried) in bend.iter_mut().zip(swayed).zip(&skinned.places) {
                        *p += place - carried;
                    }
                }
                bend
            }
            (Some(system), _) => match &mut self.regional {
                Some(regional) => regional.solve(body, skinned, &load)?,
                None => solve_balance(system, body, skinned, &load)?,
            },
            (None, Some(model)) => {
                let method = (self.method, model);
                nonlinear::balanced_positions(body, method, (&self.pose, skinned), &load, progress)?
            }
            (None, None) => return Err(SimulationError::ModalBalance),
        };
        for (q, x) in q.iter_mut().zip(body.rest_shape()) {
            *q -= x;
        }
        Ok(q)
    }

    /// Returns `A⁻ᵀ g` on the free vertices, and zero on held ones. For a function of the balance whose derivative by q is
    /// `g[nodes]`, this is its derivative by forces in world axes, `[nodes]`. By forces in rest axes it is `Rᵀ A⁻ᵀ g`.
    ///
    /// # Errors
    /// `g` has another length or is not finite (the error gives the index); the system is singular; the method's balance is not linear
    /// in its forces.
    pub fn adjoint(&mut self, g: &[Vec3]) -> Result<Vec<Vec3>, SimulationError> {
        check_forces(&self.body, Some(g))?;
        let system = self.system.as_mut();
        let Some(system) = system.filter(|_| self.method.is_linear()) else {
            let method = self.method;
            return Err(SimulationError::Adjoint { method });
        };
        system.prepare(&self.body, &self.skinned, 0.0, 1.0, &LinearisedTerms::EMPTY)?;
        let free = self.body.pattern().vertex_of_node();
        for (node, &v) in system.nodes.iter_mut().zip(free) {
            *node = g[v as usize];
        }
        system.solve_transposed(&self.body)?;
        let mut adjoint = vec![Vec3::zeros(); self.body.node_count()];
        for (node, &v) in system.nodes.iter().zip(free) {
            adjoint[v as usize] = *node;
        }
        position_error(&adjoint).map_or(Ok(adjoint), Err)
    }

    /// Returns the generalised forces (N, world axes; zero on held vertices) that hold the flesh at displacements `q[nodes]`. This
    /// is the inverse of [`solve`](Self::solve) if q has its bone vertices in place.
    ///
    /// # Errors
    /// `q` has another length or is not finite.
    pub fn forces_at(&mut self, gravity: Vec3, q: &[Vec3]) -> Result<Vec<Vec3>, SimulationError> {
        check_gravity(gravity)?;
        check_forces(&self.body, Some(q))?;
        let pull = &self.skinned.twist_pull;
        let pull = (!pull.is_empty()).then_some(&pull[..]);
        let load = Load::new(&self.body, gravity, pull, &[]);
        if let Some(model) = self.method.model() {
            return Ok(nonlinear::forces_at(
                &self.body,
                model,
                &self.skinned,
                &load,
                q,
            ));
        }
        let mut forces = vec![Vec3::zeros(); self.body.node_count()];
        let Some(system) = &mut self.system else {
            return Err(SimulationError::ModalBalance);
        };
        let rest = self.body.rest_shape();
        let mut p: Vec<Vec3> = q.iter().zip(rest).map(|(q, x)| q + x).collect();
        let mut sway = Vec::new();
        if self.method.adds_joint_shape() {
            let bend = solve_balance(system, &self.body, &self.skinned, &Load::ZERO)?;
            sway.extend(p.iter().zip(&bend).map(|(p, b)| p - b));
            let carried = self.skinned.places.iter().zip(&sway);
            p.clear();
            p.extend(carried.map(|(place, u)| place + u));
        }
        if self.method == Method::Hyperelastic {
            return Ok(hyperelastic::forces_at(
                &self.body,
                &self.skinned,
                &load,
                &sway,
            ));
        }
        let free = self.body.pattern().vertex_of_node();
        if let Some(regional) = &mut self.regional {
            let held = regional.forces_at(&self.body, &self.skinned, &load, &p)?;
            free.iter()
                .zip(held)
                .for_each(|(&v, f)| forces[v as usize] = f);
            return Ok(forces);
        }
        system.set_forces(&self.body, &self.skinned, &load, 1.0, &p);
        for (f, &v) in system.nodes.iter().zip(free) {
            forces[v as usize] = -f;
        }
        Ok(forces)
    }

    /// Returns R_i, `[nodes]`: the skeleton's rotation of the flesh at each lattice vertex, which also turns rest-axes forces.
    pub fn turns(&self) -> &[Mat3] {
        &self.skinned.turns
    }

    /// Returns the pull of the bones with a [twist of their own](crate::body::OwnTwist), `[nodes]`, N, world axes, which acts as a load in
    /// every balance; empty without such bones.
    pub fn twist_pull(&self) -> &[Vec3] {
        &self.skinned.twist_pull
    }

    /// Returns the positions to which the bones alone carry the lattice's vertices, `[nodes]`, m.
    pub fn carried_positions(&self) -> &[Vec3] {
        &self.skinned.places
    }

    /// Returns the body.
    pub fn body(&self) -> &Arc<Body> {
        &self.body
    }

    /// Returns the method.
    pub fn method(&self) -> Method {
        self.method
    }

    /// Returns the current pose.
    pub fn pose(&self) -> &Pose {
        &self.pose
    }
}

/// Returns the balance of a body at one pose, by an [`Equilibrium`] of its own.
///
/// # Errors
/// As [`Equilibrium`].
pub fn equilibrium(
    body: &Arc<Body>,
    pose: &Pose,
    forces: Option<&[Vec3]>,
    rest_forces: Option<&[Vec3]>,
    gravity: Vec3,
    method: Method,
) -> Result<Vec<Vec3>, SimulationError> {
    check_gravity(gravity)?;
    check_forces(body, forces)?;
    check_forces(body, rest_forces)?;
    let mut balance = Equilibrium::new(body, method)?;
    balance.set_pose(pose)?;
    balance.solve(gravity, forces, rest_forces)
}

/// Returns the generalised forces (N, world axes; zero on bone vertices) that hold the flesh at displacements
/// `q[nodes]` at a pose: the inverse of [`equilibrium`].
///
/// # Errors
/// As [`Equilibrium`].
pub fn equilibrium_forces(
    body: &Arc<Body>,
    pose: &Pose,
    q: &[Vec3],
    gravity: Vec3,
    method: Method,
) -> Result<Vec<Vec3>, SimulationError> {
    let mut balance = Equilibrium::new(body, method)?;
    balance.set_pose(pose)?;
    balance.forces_at(gravity, q)
}

/// Returns the sway `[nodes]`, metres, of flesh at displacements `q[nodes]`: their difference from the warped balance without
/// loads at the pose. A [`Presentation`](crate::present::Presentation) draws it separately from the joints' own shape.
///
/// # Errors
/// As [`Equilibrium`].
pub fn sway(body: &Arc<Body>, pose: &Pose, q: &[Vec3]) -> Result<Vec<Vec3>, SimulationError> {
    check_forces(body, Some(q))?;
    let mut skinned = SkinnedLattice::new(body)?;
    skinned.set(body, Method::Warped, pose)?;
    let bend = linear_balance(body, Method::Warped, &skinned, &Load::ZERO)?;
    let rest = body.rest_shape();
    let places = q.iter().zip(bend).zip(rest);
    Ok(places
        .map(|((q, bend), x)| (q + x) - ((bend - x) + x))
        .collect())
}

/// Returns the displacements that restore the volume of bent joints at a pose, `[nodes]`, metres, world axes, for
/// [`with_joints`](crate::present::Snapshot::with_joints).
///
/// # Errors
/// As [`Equilibrium`].
pub fn joint_volume(body: &Body, pose: &Pose) -> Result<Vec<Vec3>, SimulationError> {
    VolumeBalance::new(body)?.solve(body, pose)
}

/// Refuses the modal method: modes cannot take every shape, and its balance is one of amplitudes.
fn check_method(method: Method) -> Result<(), SimulationError> {
    match method {
        Method::Modal => Err(SimulationError::ModalBalance),
        _ => Ok(()),
    }
}
