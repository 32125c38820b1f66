// SPDX-License-Identifier: MIT OR Apache-2.0
//! Lifts of the skin of bent joints from the artist's skin, in axes that turn with the bones, for contact and folds.

use super::SimulationError;
use super::bends::BendCache;
use crate::Vec3;
use crate::body::Body;
use crate::kernel::LocalMaps;
use crate::skeleton::{BonePoses, Pose};
use rayon::prelude::*;
use std::sync::Arc;

/// Minimum number of vertices for a task.
const MIN_TASK_VERTICES: usize = 512;

/// Cache of lifts at poses. The last two are kept: as a rule those of a frame's ends.
pub(super) struct PoseLifts {
    /// Share of the joints' own shape that is shown.
    share: f64,
    known: [Option<(Pose, Arc<Vec<Vec3>>)>; 2],
    /// Empty lifts, used if joints are not shown.
    pub none: Arc<Vec<Vec3>>,
}

impl PoseLifts {
    pub fn new(share: f64) -> Self {
        Self {
            share,
            known: [None, None],
            none: Arc::default(),
        }
    }

    /// Returns the shown lifts at a pose, `[vertices]`, metres, in the rest axes of each vertex; empty if joints are not shown.
    pub fn lifts_at(
        &mut self,
        body: &Body,
        bends: &mut BendCache,
        pose: &Pose,
    ) -> Result<&Arc<Vec<Vec3>>, SimulationError> {
        if self.share == 0.0 {
            return Ok(&self.none);
        }
        let is_of = |known: &Option<(Pose, _)>| known.as_ref().is_some_and(|(of, _)| of == pose);
        if is_of(&self.known[1]) {
            self.known.swap(0, 1);
        } else if !is_of(&self.known[0]) {
            let bend = bends.balance_at(body, pose)?;
            let lifts = compute_lifts(body, pose, &bend.volume, self.share)?;
            self.known.swap(0, 1);
            self.known[0] = Some((pose.clone(), Arc::new(lifts)));
        }
        Ok(self.known[0]
            .as_ref()
            .map_or(&self.none, |(_, lifts)| lifts))
    }
}

fn compute_lifts(
    body: &Body,
    pose: &Pose,
    volume: &[Vec3],
    share: f64,
) -> Result<Vec<Vec3>, SimulationError> {
    let bones = BonePoses::new(body.skeleton(), pose)?;
    let skin = body.skin();
    // Relative to a point near the body, as positions are computed in f32.
    let heads = pose.maps().iter().zip(body.skeleton().heads());
    let near = heads.map(|(map, head)| map.apply(*head)).next();
    let origin = near.unwrap_or_default().cast::<f32>().into();
    let maps = LocalMaps::new(pose, body.rest_origin(), origin);
    let u: Vec<[f32; 3]> = volume.iter().map(|u| u.cast::<f32>().into()).collect();
    let lifts = body.joints().lifts(&maps, &u);
    let turned = |(v, &[x, y, z]): (usize, &[f32; 3])| {
        let lift = Vec3::new(x.into(), y.into(), z.into()) * share;
        bones.rotation(skin.row(v)).inverse() * lift
    };
    let vertices = lifts.par_iter().with_min_len(MIN_TASK_VERTICES).enumerate();
    Ok(vertices.map(turned).collect())
}
