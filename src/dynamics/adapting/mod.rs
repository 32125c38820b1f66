// SPDX-License-Identifier: MIT OR Apache-2.0
//! Adaptation: details act only where and while the flesh needs them. [capell2002, §4.7]
//!
//! A simulation that adapts moves a body that has some functions of its own body, the *active* ones: all of level 0, and details
//! where flesh is strained (`strain`) or on which rigs act (`led`). At the end of a frame the set may change. Coefficients of new functions start at zero. Those
//! of removed ones leave the motion at once, and what they displaced is faded out of the displayed shape (`fading`). So the shape
//! never jumps, and a step costs what its active functions cost. Without contact, details also come after each step within a frame (`within`).
//!
//! All that others see has one entry per function of the whole body: positions are those of the active functions, and zeros.
//! Forces on functions that are not active do not act. The set, and what is fading, are part of the saved state: a run
//! continues from any state with the same bits.

mod contact;
mod fading;
mod led;
mod strain;
mod switching;
mod whole_shape;
mod within;

pub(super) use fading::FadedShape;

use super::body_step::FrameDrive;
use super::forces::NodalForces;
use super::methods::stepper::NodalState;
use super::sections::SectionKind;
use super::shape::FleshShape;
use super::{Adaptation, Method, SimulationError, SimulationSettings, SkinnedLattice};
use crate::Vec3;
use crate::basis::{ActiveSet, MAX_LEVELS};
use crate::body::Body;
use crate::contact::PreparedContact;
use crate::skeleton::BonePoses;
use fading::Fading;
use std::sync::Arc;
use strain::{StrainMeasure, StrainPeaks};
use whole_shape::WholeShape;

/// Bodies of former sets that are kept, so that a motion that swings between two sets does not analyse them again. One body takes as much
/// memory as the active part of the whole one.
const KEPT_BODIES: usize = 4;

/// Numbers of the active details.
const ACTIVE: SectionKind = SectionKind::required("active details", 1);
/// Remembered peak of the strain of each of these.
const PEAKS: SectionKind = SectionKind::required("detail strains", 1);

/// A set of functions with the body that has these, and the measure of its strain.
struct KnownSet {
    set: ActiveSet,
    body: Arc<Body>,
    measure: StrainMeasure,
}

/// The whole body of a simulation that adapts, its active functions, and the shape that others see.
pub(super) struct Adapting {
    whole: Arc<Body>,
    set: ActiveSet,
    criterion: Adaptation,
    /// Strain above which details of each level are active; 1 for details on which rigs act.
    thresholds: [f64; MAX_LEVELS],
    /// The present and former sets, the latest first.
    known: Vec<KnownSet>,
    peaks: StrainPeaks,
    fading: Fading,
    shown: WholeShape,
    /// Contact prepared for the whole body.
    contact: Option<PreparedContact>,
    /// Unconverged steps of former steppers.
    unconverged: usize,
}

impl Adapting {
    /// Prepares the adaptation of a body, with the functions of level 0 active; `None` where the settings ask for none, the body has no details,
    /// or the method moves modes.
    pub fn new(whole: &Arc<Body>, settings: &SimulationSettings) -> Option<Self> {
        let adapts = settings.adapt != Adaptation::None && settings.method != Method::Modal;
        if !adapts || whole.basis().levels() == 0 {
            return None;
        }
        let mut thresholds: [f64; MAX_LEVELS] = match settings.adapt {
            Adaptation::Rigs => [1.0; MAX_LEVELS],
            _ => settings.adapt_strain.into(),
        };
        for level in 1..MAX_LEVELS {
            // Fine details are active only where coarser ones are.
            thresholds[level] = thresholds[level].max(thresholds[level - 1]);
        }
        Some(Self {
            set: whole.basis().coarse_set(),
            whole: whole.clone(),
            criterion: settings.adapt,
            thresholds,
            known: Vec::new(),
            peaks: StrainPeaks::default(),
            fading: Fading::default(),
            shown: WholeShape::default(),
            contact: None,
            unconverged: 0,
        })
    }

    /// Returns the body that has the functions of level 0.
    pub fn coarse_body(&mut self) -> Result<Arc<Body>, SimulationError> {
        let set = self.set.clone();
        self.body_of(&set)
    }

    /// Returns the whole body.
    pub fn whole(&self) -> &Arc<Body> {
        &self.whole
    }

    /// Returns the displayed shape.
    pub fn shown(&self) -> &WholeShape {
        &self.shown
    }

    /// Returns what fades of the displayed shape with bones at a pose: at present, or after a frame of `dt` seconds. `None`: nothing.
    pub fn faded(&self, bones: &BonePoses, dt: Option<f64>) -> Option<FadedShape<'_>> {
        self.fading.shape(&self.whole, bones, dt)
    }

    /// Keeps the present set from now on.
    #[cfg(test)]
    pub fn freeze(&mut self) {
        self.thresholds = [f64::NAN; MAX_LEVELS];
    }

    /// Returns the unconverged steps before the present set.
    pub fn unconverged(&self) -> usize {
        self.unconverged
    }

    /// Returns the body that has the functions of a set, made from that of the latest one where both are the same.
    pub fn body_of(&mut self, set: &ActiveSet) -> Result<Arc<Body>, SimulationError> {
        let known = self.known.iter().position(|known| known.set == *set);
        let latest = match known {
            Some(at) => self.known.remove(at),
            None => {
                let former = self.known.first().map(|known| (&known.set, &*known.body));
                let body = match set.is_whole() {
                    true => self.whole.clone(),
                    false => Arc::new(self.whole.with_active(set, former)?),
                };
                KnownSet {
                    set: set.clone(),
                    measure: StrainMeasure::new(&body),
                    body,
                }
            }
        };
        let body = latest.body.clone();
        self.known.insert(0, latest);
        self.known.truncate(KEPT_BODIES);
        Ok(body)
    }

    /// Returns the entries of the active functions.
    pub fn gather<T: Copy>(&self, values: &[T]) -> Vec<T> {
        gather(&self.set, values)
    }

    /// Returns values of one set of functions for another: those of functions in both, and zeros. No values stay none.
    fn carry_over<T: Copy + Default>(&self, values: &[T], to: &ActiveSet) -> Vec<T> {
        if values.is_empty() {
            return Vec::new();
        }
        let count = self.whole.node_count();
        let mut all = Vec::new();
        scatter(&self.set, values, count, &mut all);
        gather(to, &all)
    }

    /// Sets the displayed shape.
    fn show(&mut self, (shape, nodes): (&FleshShape, &NodalState), now: &SkinnedLattice) {
        let (set, count, shown) = (&self.set, self.whole.node_count(), &mut self.shown);
        scatter(set, &shape.places, count, &mut shown.places);
        scatter(set, &shape.sway, count, &mut shown.sway);
        scatter(set, &shape.joints, count, &mut shown.joints);
        scatter(set, &shape.folds, count, &mut shown.folds);
        scatter(set, &nodes.velocities, count, &mut shown.velocities);
        scatter(set, &now.places, count, &mut shown.carried);
        self.fading.add_to(shown, &self.whole, now.bones());
    }
}

fn gather<T: Copy>(set: &ActiveSet, values: &[T]) -> Vec<T> {
    set.functions().map(|a| values[a as usize]).collect()
}

/// Sets `all` to `count` entries: those of the functions of a set, and zeros. Empty values stay empty.
fn scatter<T: Copy + Default>(set: &ActiveSet, values: &[T], count: usize, all: &mut Vec<T>) {
    all.clear();
    if values.is_empty() {
        return;
    }
    all.resize(count, T::default());
    for (a, value) in set.functions().zip(values) {
        all[a as usize] = *value;
    }
}

/// Forces on the active functions of a body, in world and in rest axes; `None` where all functions are active, or without forces.
pub(super) struct ActiveForces([Option<Vec<Vec3>>; 2]);

impl ActiveForces {
    /// Takes the forces on active functions from those on all.
    pub fn new(adapting: Option<&Adapting>, forces: NodalForces) -> Self {
        let of = |forces: Option<&[Vec3]>| Some(adapting?.gather(forces?));
        Self([of(forces.0), of(forces.1)])
    }

    /// Takes those of a frame.
    pub fn of_drive(adapting: Option<&Adapting>, drive: &FrameDrive) -> Self {
        Self::new(adapting, (drive.forces, drive.rest_forces))
    }

    /// Returns the forces, or the given ones where all functions are active.
    pub fn or<'a>(&'a self, given: NodalForces<'a>) -> NodalForces<'a> {
        let [world, rest] = &self.0;
        (world.as_deref().or(given.0), rest.as_deref().or(given.1))
    }

    /// Returns a frame's motion with the forces.
    pub fn replace<'a>(&'a self, drive: &FrameDrive<'a>) -> FrameDrive<'a> {
        let (forces, rest_forces) = self.or((drive.forces, drive.rest_forces));
        FrameDrive {
            forces,
            rest_forces,
            ..*drive
        }
    }
}
