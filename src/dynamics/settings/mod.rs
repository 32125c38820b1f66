// SPDX-License-Identifier: MIT OR Apache-2.0
//! Settings of a simulation: one table, from which names, values, checks, digests and the Python properties follow.
//!
//! # Adding a setting
//!
//! A setting is a row at the end of the table below, and a use of it. Files and digests hold a row after [`FORMER`] only where its value differs
//! from its default. Its default therefore stands for the behaviour before it existed and never changes: files written before open as they were,
//! cached results stay valid, and a file with a setting that is unknown to an older version is refused there.

mod table;

pub use table::{Kind, SettingField, Value};

use super::{Adaptation, Method, Solver};
use crate::Vec3;
use crate::kernel::{EngineChoice, Precision, WarpForm};
use crate::modal::DeformSettings;
use crate::present::DisplaySettings;

/// Damping (1/s, s) of a body of two metres at the middle of the dial, for bodies without a swing of their own.
pub(super) const DEFAULT_DAMPING: (f64, f64) = (4.4, 0.004);

/// Number of settings that files and digests always hold, the first of the table.
const FORMER: usize = 11;

table::settings! {
    /// Settings of a simulation.
    pub struct SimulationSettings {
        /// Method of motion: "hyperelastic" (Yeoh's flesh carried by the skeleton: the warped method for small motion, and sound for any), "warped"
        /// [capell2006, §3.3, cell form], "warped_vertex" (vertex form, as printed), "blended" (linear in the frames of the bones, blended by weights
        /// [capell2002, §4.5]), "blended_printed" (as printed), "linear", "modal" [choi2003, §4], and by Newton's method "nonlinear" (St.
        /// Venant-Kirchhoff), "linearised" (its first iteration [capell2002, eq. 16]) and "neohookean" (stable for inverted flesh).
        method: Method = Method::Hyperelastic, "", |_| true, "";
        /// Steps per second at least, within 1 %. A frame holds a whole number of steps.
        rate: f64 = 240.0, "1/s", |x| (1.0..=1e5).contains(&x), "between 1 and 100000 steps per second";
        /// Acceleration of gravity, m/s².
        gravity: Vec3 = Vec3::new(0.0, 0.0, -9.81), "m/s²", |x| x.abs() <= 1e6, "finite";
        /// Damping by mass of all motion relative to the skinned motion, 1/s. None: the body's own, of `default_damping`.
        mass_damping: Option<f64> = None, "1/s", |x| x >= 0.0, "zero or positive";
        /// Damping by stiffness of all deformation, s, the numerical damping of the steps included. None: the body's own, of `default_damping`.
        stiffness_damping: Option<f64> = None, "s", |x| x >= 0.0, "zero or positive";
        /// Largest distance from its skin at which flesh is shown, as a part of the body's size. None: no limit.
        max_offset: Option<f64> = None, "", |x| x > 0.0, "a positive part of the body's size";
        /// Solver of hyperelastic, linearised and warped steps: "direct" (factoring), "cg" (conjugate gradients), or "auto" for the quicker one.
        solver: Solver = Solver::Automatic, "", |_| true, "";
        /// Part of the joints' own shape that is shown in place of the plain skin, 0 to 1. At 0 it is the skin as it is, plus sway. At 1 hyperelastic
        /// joints are round and keep their volume; other methods show the flesh that bones bend. Sway is always shown in full.
        elastic_joints: f64 = 1.0, "", |x| (0.0..=1.0).contains(&x), "between 0 (the plain skin) and 1";
        /// Form in which the method "modal" warps modes: "vertex" or "embedded" (at the body's nodes).
        form: WarpForm = WarpForm::Embedded, "", |_| true, "";
        /// Precision in which the method "modal" stores modes: "f32" or "f16".
        precision: Precision = Precision::F32, "", |_| true, "";
        /// Engine that shows the method "modal": "auto" (the quickest), "cpu", "gpu", or "gpu:NAME" for a device by its number or a part of its name.
        engine: EngineChoice = EngineChoice::Auto, "", |_| true, "";
        /// Details of a body with levels that act: "none" (all of them, always), "strain" (those where the flesh is strained
        /// [capell2002, §4.7]) or "rigs" (those on which forces of rigs act [capell2006, §4.5]). A step costs as much as these need. The
        /// method "modal" does not adapt.
        adapt: Adaptation = Adaptation::None, "", |_| true, "";
        /// Strains above which details of levels 1, 2 and 3 act with `adapt` "strain"; below a third they leave. Smaller values are nearer to flesh
        /// with all details, and cost more.
        adapt_strain: Vec3 = Vec3::new(0.01, 0.04, 0.16), "", |x| x > 0.0, "positive strains";
    }
}

impl SimulationSettings {
    /// Returns the default settings of a method.
    pub fn for_method(method: Method) -> Self {
        Self {
            method,
            ..Self::default()
        }
    }

    /// Returns (mass damping 1/s, stiffness damping s) of settings [for a body](Self::for_body); zero for `None`.
    pub(super) fn damping(&self) -> (f64, f64) {
        let or_zero = |damping: Option<f64>| damping.unwrap_or(0.0);
        (or_zero(self.mass_damping), or_zero(self.stiffness_damping))
    }

    /// Returns the settings with which surfaces are shown.
    pub fn display_settings(&self) -> DisplaySettings {
        DisplaySettings {
            elastic_joints: self.elastic_joints,
            max_offset: self.max_offset,
        }
    }

    /// Sets the settings with which modes are shown.
    pub(crate) fn set_deform_settings(&mut self, shown: DeformSettings) {
        (self.form, self.precision, self.engine) = (shown.form, shown.precision, shown.engine);
    }

    /// Returns the settings with which modes are shown.
    pub fn deform_settings(&self) -> DeformSettings {
        DeformSettings {
            form: self.form,
            precision: self.precision,
            engine: self.engine.clone(),
        }
    }
}

#[cfg(test)]
mod tests;
