// SPDX-License-Identifier: MIT OR Apache-2.0
//! Methods of motion, each a stepper, and the table of their steppers.

pub(super) mod balance;
pub(super) mod blended;
pub(super) mod cells;
pub(super) mod flesh;
pub(super) mod further;
pub(super) mod hyperelastic;
pub(super) mod linear_balance;
pub(super) mod linearised;
pub(super) mod modal;
pub mod nonlinear;
mod patches;
mod step_space;
mod step_system;
pub(super) mod stepper;
pub(super) mod system;
pub(super) mod vertex;
pub(super) mod warped;

use crate::body::Body;
use crate::dynamics::{DEFAULT_MODE_COUNT, Method, SimulationError, SimulationSettings};
use crate::elasticity::ElasticModel;
use crate::modal::Modes;
use crate::progress::Silent;
use hyperelastic::HyperelasticStepper;
use linearised::LinearisedStepper;
use modal::ModalStepper;
use nonlinear::NonlinearStepper;
use std::sync::Arc;
use stepper::Stepper;
use warped::LinearStepper;

/// Returns the stepper of a method. `modes` are for the modal method; `None`: [`DEFAULT_MODE_COUNT`] modes are computed.
pub(in crate::dynamics) fn build_stepper(
    body: &Arc<Body>,
    modes: Option<Arc<Modes>>,
    settings: &SimulationSettings,
) -> Result<Box<dyn Stepper>, SimulationError> {
    let method = settings.method;
    Ok(match method {
        Method::Hyperelastic => Box::new(HyperelasticStepper::new(body, settings.solver)?),
        Method::Warped
        | Method::WarpedVertex
        | Method::Blended
        | Method::BlendedPrinted
        | Method::Linear => Box::new(LinearStepper::new(body, settings)?),
        Method::Linearised => Box::new(LinearisedStepper::new(body, settings.solver)?),
        Method::Nonlinear => Box::new(NonlinearStepper::new(
            body,
            ElasticModel::StVenantKirchhoff,
        )?),
        Method::NeoHookean => Box::new(NonlinearStepper::new(body, ElasticModel::NeoHookean)?),
        Method::Modal => {
            let modes = match modes {
                Some(modes) => modes,
                None => Arc::new(Modes::for_body(
                    body,
                    DEFAULT_MODE_COUNT.min(body.free_dofs()),
                    &Silent,
                )?),
            };
            Box::new(ModalStepper::new(body, modes, settings)?)
        }
    })
}
