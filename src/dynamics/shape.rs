// SPDX-License-Identifier: MIT OR Apache-2.0
//! The shape of the flesh, split into the bones' part and its own.
//!
//! `q = q_bend + u`: q_bend is the balance at the pose without any load (no gravity, no forces), u the **sway**. The share of
//! each that is shown is decided elsewhere. The hyperelastic and the blended method simulate the sway; the former's bent joints are shown
//! by [`super::volume`] and the body's [`JointShape`](crate::body::JointShape) in place of q_bend. For the other methods the balance is solved for and
//! subtracted.

use super::bends::BendCache;
use super::lifts::PoseLifts;
use super::{Method, SimulationError, SkinnedLattice, Solver};
use crate::Vec3;
use crate::body::Body;
use crate::contact::{ContactSkin, FoldSearch};
use crate::skeleton::Pose;
use std::sync::Arc;

/// Time constant with which folds follow those of the pose, s. Less than a frame of film, 0.042 s.
const FOLD_TIME_CONSTANT: f64 = 0.025;
/// Folds that decay to zero are set to zero below this value. A thousandth of a fold moves skin by a thousandth of its overlap.
const MIN_FOLD: f64 = 1e-3;

/// Positions and sway of the lattice's vertices, metres, world axes.
pub(super) struct FleshShape {
    /// Positions q + x, `[nodes]`.
    pub places: Vec<Vec3>,
    /// Sway u, `[nodes]`; empty if not computed.
    pub sway: Vec<Vec3>,
    /// Displacements that restore the volume of bent joints, `[nodes]`, metres, world axes; empty if joints are not shown.
    pub joints: Vec<Vec3>,
    /// Folds, `[nodes]`, 0 to 1: more of the joints' elastic shape is shown where the skin intersects itself. Empty: all zero.
    pub folds: Vec<f64>,
    /// Folds for the next [`update`](Self::update), if they lag behind the pose or were set. `None`: those of the pose.
    coming: Option<Vec<f64>>,
    /// Balances without loads; `None` if sway is not computed.
    bends: Option<BendCache>,
    folding: Option<FoldCache>,
    lifts: PoseLifts,
}

/// Computes folds, which depend on the pose alone.
struct FoldCache {
    folds: FoldSearch,
    /// The last two results: as a rule those at the beginning and the end of a frame.
    known: [Option<(Pose, Vec<f64>)>; 2],
}

impl FleshShape {
    /// Creates the shape at rest. `share`: share of the joints' own shape that is shown.
    pub fn new(
        body: &Body,
        method: Method,
        solver: Solver,
        share: f64,
    ) -> Result<Self, SimulationError> {
        let wanted = match method {
            _ if method.adds_joint_shape() => true,
            Method::Modal => false,
            _ => share < 1.0,
        };
        let joints = method == Method::Hyperelastic && share > 0.0;
        let bends = wanted.then(|| BendCache::new(body, method, solver, joints));
        Ok(Self {
            places: body.rest_shape().to_vec(),
            sway: vec![Vec3::zeros(); if wanted { body.node_count() } else { 0 }],
            joints: Vec::new(),
            folds: Vec::new(),
            coming: None,
            folding: None,
            lifts: PoseLifts::new(if joints { share } else { 0.0 }),
            bends: bends.transpose()?,
        })
    }

    /// Returns the balances without loads; `None` if sway is not computed.
    pub fn bends(&mut self) -> Option<&mut BendCache> {
        self.bends.as_mut()
    }

    /// Sets the skin whose self-intersections are searched for folds; `None`: no folds.
    pub fn set_fold_skin(&mut self, skin: Option<&Arc<ContactSkin>>) {
        self.folds.clear();
        self.coming = None;
        let skin = skin.filter(|_| self.has_sway());
        self.folding = skin.map(|skin| FoldCache {
            folds: FoldSearch::new(skin),
            known: [None, None],
        });
    }

    /// Returns the folds at a pose.
    pub fn folds_at(&mut self, body: &Body, pose: &Pose) -> Result<&[f64], SimulationError> {
        let (Some(folding), Some(bends)) = (&mut self.folding, &mut self.bends) else {
            return Ok(&[]);
        };
        let is_of = |known: &Option<(Pose, _)>| known.as_ref().is_some_and(|(of, _)| of == pose);
        if is_of(&folding.known[1]) {
            folding.known.swap(0, 1);
        } else if !is_of(&folding.known[0]) {
            let lifts = self.lifts.lifts_at(body, bends, pose)?;
            let bend = bends.balance_at(body, pose)?;
            let places = (bend.skinned.as_slice(), bend.places.as_slice());
            let folds = folding.folds.find(pose, lifts, places);
            folding.known.swap(0, 1);
            folding.known[0] = Some((pose.clone(), folds));
        }
        Ok(folding.known[0].as_ref().map_or(&[], |(_, folds)| folds))
    }

    /// Returns the displacements of the shown skin of bent joints from the artist's at a pose, in the rest axes of its vertices.
    pub fn lifts_at(
        &mut self,
        body: &Body,
        pose: &Pose,
    ) -> Result<&Arc<Vec<Vec3>>, SimulationError> {
        match &mut self.bends {
            Some(bends) => self.lifts.lifts_at(body, bends, pose),
            None => Ok(&self.lifts.none),
        }
    }

    /// Returns the folds at the end of a frame of `dt` seconds that ends in a pose. They follow those of the pose with a time constant,
    /// so that skin passing quickly through skin does not leap. The next [`update`](Self::update) takes them.
    pub fn follow_folds(
        &mut self,
        body: &Body,
        pose: &Pose,
        dt: f64,
    ) -> Result<Vec<f64>, SimulationError> {
        let own = self.folds_at(body, pose)?.to_vec();
        let part = -f64::exp_m1(-dt / FOLD_TIME_CONSTANT);
        let count = own.len().max(self.folds.len());
        let at = |folds: &[f64], v: usize| folds.get(v).copied().unwrap_or(0.0);
        let fold = |v| {
            let (from, to) = (at(&self.folds, v), at(&own, v));
            let fold = from + (to - from) * part;
            // Decay towards zero ends at zero.
            if to == 0.0 && fold < MIN_FOLD {
                0.0
            } else {
                fold
            }
        };
        let folds: Vec<f64> = (0..count).map(fold).collect();
        let any = folds.iter().any(|&f| f != 0.0);
        let folds = if any { folds } else { Vec::new() };
        self.coming = Some(folds.clone());
        Ok(folds)
    }

    /// Scales the folds' change back to a `part` of the frame, where the frame stopped.
    pub fn scale_back_folds(&mut self, part: f64) {
        let count = self.folds.len();
        if let Some(coming) = &mut self.coming {
            coming.resize(coming.len().max(count), 0.0);
            for (v, to) in coming.iter_mut().enumerate() {
                let from = self.folds.get(v).copied().unwrap_or(0.0);
                *to = from + (*to - from) * part;
            }
        }
    }

    /// Sets the folds for the next [`update`](Self::update); `None`: those of the pose.
    pub fn set_folds(&mut self, folds: Option<Vec<f64>>) {
        self.coming = folds.filter(|_| self.folding.is_some());
    }

    /// Returns whether sway is computed.
    pub fn has_sway(&self) -> bool {
        !self.sway.is_empty()
    }

    /// Updates the shape from a simulation's positions; `skinned` is the lattice at `pose`.
    pub fn update(
        &mut self,
        body: &Body,
        method: Method,
        (pose, skinned): (&Pose, &SkinnedLattice),
        positions: &[Vec3],
    ) -> Result<(), SimulationError> {
        self.places.copy_from_slice(positions);
        if self.bends.is_none() {
            return Ok(());
        }
        let coming = self.coming.take();
        let own = self.folds_at(body, pose)?;
        self.folds = coming.unwrap_or_else(|| own.to_vec());
        let Some(bends) = &mut self.bends else {
            return Ok(());
        };
        let bend = bends.balance_at(body, pose)?;
        self.joints.clone_from(&bend.volume);
        let bend = &bend.places;
        if method.adds_joint_shape() {
            for (v, place) in self.places.iter_mut().enumerate() {
                self.sway[v] = positions[v] - skinned.places[v];
                *place = bend[v] + self.sway[v];
            }
        } else {
            for ((sway, p), bend) in self.sway.iter_mut().zip(positions).zip(bend) {
                *sway = p - bend;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contact::tests::ShapedBar;

    /// Folds approach those of the pose alike for any division of time, and a stop keeps the part that they have
    /// reached.
    #[test]
    fn folds_ignore_step_length() {
        let flesh = ShapedBar::new(|x| *x, 0.0);
        let (body, pose) = (flesh.skin.body(), &flesh.pose);
        // No skin is set, so the pose has no folds.
        let after = |times: &[f64], stopped: Option<f64>| {
            let mut shape =
                FleshShape::new(body, Method::Hyperelastic, Solver::Automatic, 0.0).unwrap();
            shape.folds = (0..body.node_count())
                .map(|v| (v % 5) as f64 / 4.0)
                .collect();
            for &dt in times {
                let coming = shape.follow_folds(body, pose, dt);
                shape.folds = coming.unwrap();
            }
            if let Some(part) = stopped {
                let before = shape.folds.clone();
                let method = Method::Hyperelastic;
                let coming = shape.follow_folds(body, pose, FOLD_TIME_CONSTANT).unwrap();
                shape.scale_back_folds(part);
                let skinned = SkinnedLattice::new(body).unwrap();
                let places = body.rest_shape();
                shape
                    .update(body, method, (pose, &skinned), places)
                    .unwrap();
                for ((now, from), to) in shape.folds.iter().zip(before).zip(coming) {
                    assert!((now - (from + (to - from) * part)).abs() < 1e-15);
                }
            }
            shape.folds
        };
        let (whole, cut) = (after(&[0.03], None), after(&[0.01, 0.02], None));
        let near = whole.iter().zip(&cut).all(|(a, b)| (a - b).abs() < 1e-12);
        assert!(near && whole.iter().any(|f| (0.1..0.9).contains(f)));
        assert!(after(&[1.0], None).is_empty());
        for part in [0.0, 0.4, 1.0] {
            after(&[0.01], Some(part));
        }
    }
}
