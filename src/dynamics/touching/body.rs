// SPDX-License-Identifier: MIT OR Apache-2.0
//! One body in contact: the displayed positions of its flesh before and after each step.
//!
//! The balance without loads, to which sway is added for display, is solved for once a frame. During the frame, its
//! displacement from the skinned shape turns along with the bones. The lifts of bent joints from the artist's skin are known at
//! the frame's ends; between them they are interpolated in the axes of the bones.

use crate::contact::{ContactSkin, DisplayedVertices, PosedFlesh, SkinLifts};
use crate::dynamics::methods::stepper::Step;
use crate::dynamics::shape::FleshShape;
use crate::dynamics::{Method, SimulationError, SkinnedLattice};
use crate::skeleton::{BonePoses, FrameMotion, Pose};
use crate::{Mat3, Vec3};
use std::sync::Arc;

/// Display options of a simulation's flesh.
#[derive(Clone, Copy)]
pub(in crate::dynamics) struct FleshDisplay {
    pub method: Method,
    /// True: sway is separate from the joints' own shape.
    pub separate_sway: bool,
    /// Share of the joints' own shape that is shown, 0 to 1.
    pub joints: f64,
}

impl FleshDisplay {
    /// Returns the share of the lattice's own bend that is shown.
    fn bend_share(&self) -> f64 {
        match (self.separate_sway, self.method) {
            (true, Method::Hyperelastic) => 0.0,
            (true, _) => self.joints,
            (false, _) => 1.0,
        }
    }
}

/// State of a body at the beginning of a frame, and its motion in the frame.
pub(in crate::dynamics) struct FrameStart<'a> {
    pub shown: FleshDisplay,
    /// Skinned lattice at the present pose.
    pub skinned: &'a SkinnedLattice,
    pub positions: &'a [Vec3],
    pub shape: &'a FleshShape,
    pub motion: &'a FrameMotion,
    /// [`FleshShape::folds`] at the frame's end.
    pub folds: Vec<f64>,
    /// [`FleshShape::lifts_at`] at the frame's beginning and end.
    pub lifts: [Arc<Vec<Vec3>>; 2],
}

/// Contact state of one body.
pub(super) struct TouchingBody {
    pub skin: Arc<ContactSkin>,
    /// Displacement of the balance without loads from the skinned shape, in rest axes, `[nodes]`, metres.
    bend: Vec<Vec3>,
    /// Rotations of the lattice's vertices at the frame's beginning.
    begun: Vec<Mat3>,
    /// Skinned lattice at the frame's end.
    end: SkinnedLattice,
    /// Folds at the frame's beginning and end; empty: zero.
    folds: [Vec<f64>; 2],
    /// Lifts of bent joints at the frame's beginning and end; empty: zero.
    lifts: [Arc<Vec<Vec3>>; 2],
    pub before: DisplayedLattice,
    pub after: DisplayedLattice,
}

/// Displayed lattice for contact, at one time.
#[derive(Default)]
pub(super) struct DisplayedLattice {
    /// Lattice without sway, and sway, `[nodes]`, metres.
    base: Vec<Vec3>,
    sway: Vec<Vec3>,
    folds: Vec<f64>,
    lifts: Vec<Vec3>,
    bones: Option<BonePoses>,
    vertices: DisplayedVertices,
}

impl DisplayedLattice {
    fn set(
        &mut self,
        (skin, shown): (&ContactSkin, FleshDisplay),
        skinned: &SkinnedLattice,
        bend: &[Vec3],
        positions: &[Vec3],
    ) {
        self.vertices.clear(skin.body().surface().vertices().len());
        self.base.clear();
        self.sway.clear();
        for (v, p) in positions.iter().enumerate() {
            let place = skinned.places[v];
            let base = match shown.separate_sway {
                true => place + skinned.turns[v] * bend[v],
                false => place,
            };
            let sway = match shown.method.adds_joint_shape() {
                true => p - place,
                false => p - base,
            };
            self.base.push(base);
            self.sway.push(sway);
        }
    }

    /// Interpolates folds and lifts at the share `s` of the frame; lifts are in the axes of the bones there.
    fn interpolate(
        &mut self,
        (folds, [from, to]): (&[Vec<f64>; 2], &[Arc<Vec<Vec3>>; 2]),
        s: f64,
        skinned: &SkinnedLattice,
    ) {
        interpolate_folds(folds, s, &mut self.folds);
        self.lifts.clear();
        let between = |(a, b): (&Vec3, &Vec3)| a * (1.0 - s) + b * s;
        self.lifts.extend(from.iter().zip(to.iter()).map(between));
        match &mut self.bones {
            _ if self.lifts.is_empty() => self.bones = None,
            Some(bones) => bones.copy(skinned.bones()),
            none => *none = Some(skinned.bones().clone()),
        }
    }

    pub fn posed_flesh<'a>(
        &'a self,
        skin: &'a ContactSkin,
        pose: &'a Pose,
        shown: FleshDisplay,
    ) -> PosedFlesh<'a> {
        PosedFlesh {
            skin,
            pose,
            base: &self.base,
            sway: &self.sway,
            joints: shown.bend_share(),
            lifts: SkinLifts::new(&self.lifts, self.bones.as_ref()),
            folds: &self.folds,
            bounded: shown.separate_sway,
            shown: &self.vertices,
        }
    }
}

impl TouchingBody {
    pub fn new(skin: &Arc<ContactSkin>) -> Result<Self, SimulationError> {
        let body = skin.body();
        Ok(Self {
            bend: vec![Vec3::zeros(); body.node_count()],
            begun: vec![Mat3::identity(); body.node_count()],
            end: SkinnedLattice::new(body)?,
            folds: [Vec::new(), Vec::new()],
            lifts: [Arc::default(), Arc::default()],
            before: DisplayedLattice::default(),
            after: DisplayedLattice::default(),
            skin: skin.clone(),
        })
    }

    /// Prepares for a frame: `before` is the present flesh, `after` the flesh carried by the bones to the frame's end.
    pub fn begin(&mut self, begun: &FrameStart) -> Result<(), SimulationError> {
        let (now, shape, shown) = (begun.skinned, begun.shape, begun.shown);
        for (v, bend) in self.bend.iter_mut().enumerate() {
            *bend = match shown.separate_sway {
                true => {
                    let bent = shape.places[v] - shape.sway[v];
                    now.turns[v].tr_mul(&(bent - now.places[v]))
                }
                false => Vec3::zeros(),
            };
        }
        self.begun.copy_from_slice(&now.turns);
        self.folds[0].clone_from(&shape.folds);
        self.folds[1].clone_from(&begun.folds);
        self.lifts.clone_from(&begun.lifts);
        self.end
            .set(self.skin.body(), shown.method, begun.motion.end_pose())?;
        let of = (&*self.skin, shown);
        self.before.set(of, now, &self.bend, begun.positions);
        self.before
            .interpolate((&self.folds, &self.lifts), 0.0, now);
        let carried: Vec<Vec3> = begun
            .positions
            .iter()
            .enumerate()
            .map(|(v, p)| now.carry(&self.end, v, *p))
            .collect();
        self.after.set(of, &self.end, &self.bend, &carried);
        self.after
            .interpolate((&self.folds, &self.lifts), 1.0, &self.end);
        Ok(())
    }

    /// Sets `before` to the flesh at the start of a step.
    pub fn set_before(&mut self, shown: FleshDisplay, step: &Step, positions: &[Vec3]) {
        let of = (&*self.skin, shown);
        self.before.set(of, step.from, &self.bend, positions);
        let at = step.end - step.part;
        self.before
            .interpolate((&self.folds, &self.lifts), at, step.from);
    }

    /// Sets `after` to the flesh at the proposed end of a step.
    pub fn set_after(&mut self, shown: FleshDisplay, step: &Step, positions: &[Vec3]) {
        let of = (&*self.skin, shown);
        self.after.set(of, step.to, &self.bend, positions);
        self.after
            .interpolate((&self.folds, &self.lifts), step.end, step.to);
    }

    /// Returns the rotation of a lattice vertex from the frame's beginning to a step's end.
    pub fn rotation(&self, step: &Step, v: usize) -> Mat3 {
        step.to.turns[v] * self.begun[v].transpose()
    }

    /// Computes the last step's contact forces on all `[nodes]`, N, turned along to the step's end, from those on the free nodes.
    pub fn rotate_pushes(&self, step: &Step, pushes: &[Vec3], turned: &mut Vec<Vec3>) {
        turned.clear();
        turned.resize(step.body.node_count(), Vec3::zeros());
        let free = step.body.pattern().vertex_of_node();
        for (push, &v) in pushes.iter().zip(free) {
            let v = v as usize;
            turned[v] = step.to.turns[v] * step.from.turns[v].tr_mul(push);
        }
    }
}

/// Interpolates folds at the share `s` of a frame; empty if both ends are empty.
fn interpolate_folds([from, to]: &[Vec<f64>; 2], s: f64, folds: &mut Vec<f64>) {
    folds.clear();
    let count = from.len().max(to.len());
    let at = |folds: &[f64], v: usize| folds.get(v).copied().unwrap_or(0.0);
    folds.extend((0..count).map(|v| at(from, v) * (1.0 - s) + at(to, v) * s));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::body::fixture::BarOptions;

    /// Folds and lifts change linearly from one end of a frame to the other.
    #[test]
    fn folds_and_lifts_interpolate_linearly() {
        let body = BarOptions::default().build();
        let skinned = SkinnedLattice::new(&body).unwrap();
        let folds = [vec![0.0, 0.4], vec![1.0, 0.2]];
        let lifts = [
            Arc::new(vec![Vec3::x(), Vec3::y() * 3.0]),
            Arc::new(vec![Vec3::y(), Vec3::z()]),
        ];
        let mut lattice = DisplayedLattice::default();
        for s in [0.0, 0.25, 0.7, 1.0] {
            lattice.interpolate((&folds, &[lifts[0].clone(), lifts[1].clone()]), s, &skinned);
            for k in 0..2 {
                let fold = folds[0][k] + (folds[1][k] - folds[0][k]) * s;
                let lift = lifts[0][k] + (lifts[1][k] - lifts[0][k]) * s;
                assert!((lattice.folds[k] - fold).abs() < 1e-12);
                assert!((lattice.lifts[k] - lift).norm() < 1e-12);
            }
            assert!(lattice.bones.is_some());
        }
        let none = [Arc::default(), Arc::default()];
        lattice.interpolate((&[Vec::new(), Vec::new()], &none), 0.5, &skinned);
        assert!(lattice.bones.is_none() && lattice.lifts.is_empty() && lattice.folds.is_empty());
    }
}
