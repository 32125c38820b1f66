// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where the artist's own skin lies in itself at a pose.
//!
//! There the bend that skinning gives is none that flesh could have, and no contact can make up for it: what is shown has the joints'
//! elastic shape instead, the more of it the deeper skin lies in skin. It depends on the pose alone, and goes to nothing as skin
//! and skin come apart.

use super::overlaps::Bounding;
use super::posed::{Posed, ShownVertices};
use super::{ContactSkin, Swept, broad};
use crate::Vec3;
use crate::skeleton::Pose;
use std::sync::Arc;

/// From this depth on the joints' shape is shown whole, in cells.
const WHOLE: f64 = 0.5;
/// How often folds are spread to the cells around.
const ROUNDS: usize = 2;

/// Finds folds of one skin.
pub(crate) struct Folds {
    skin: Arc<ContactSkin>,
    bounding: Bounding,
}

impl Folds {
    pub fn new(skin: &Arc<ContactSkin>) -> Self {
        Self {
            bounding: Bounding::new(skin),
            skin: skin.clone(),
        }
    }

    /// Folds `[nodes]`, 0 to 1, at a pose whose bones carry the lattice to `places`; empty where there are none.
    pub fn find(&self, pose: &Pose, places: &[Vec3]) -> Vec<f64> {
        let body = self.skin.body();
        let still = vec![Vec3::zeros(); places.len()];
        let mut shown = ShownVertices::default();
        shown.clear(body.surface().vertices().len());
        let posed = Posed {
            skin: &self.skin,
            pose,
            base: places,
            sway: &still,
            joints: 0.0,
            folds: &[],
            bounded: true,
            shown: &shown,
        };
        let swept = Swept {
            from: posed,
            to: posed,
            itself: true,
        };
        let mut near: Vec<u32> = broad::candidates(&[swept])
            .candidates
            .iter()
            .map(|c| c.proxy)
            .collect();
        near.dedup();
        if near.is_empty() {
            return Vec::new();
        }
        let vertices = body.surface().vertices().len() as u32;
        let vertices: Vec<Vec3> = (0..vertices).map(|v| posed.vertex(v)).collect();
        let found = self.bounding.overlaps(&self.skin, &vertices, &near, 0.0);
        let mut folds = vec![0.0_f64; places.len()];
        let embedding = body.embedding();
        for overlap in &found {
            let fold = (overlap.depth / (WHOLE * self.skin.cell())).clamp(0.0, 1.0);
            let points = std::iter::once(&overlap.point).chain(&overlap.partner);
            for v in points.flat_map(|p| self.skin.corners(p.triangle)) {
                for (a, share) in embedding.row(v as usize) {
                    if share > 1e-6 {
                        folds[a] = folds[a].max(fold);
                    }
                }
            }
        }
        match folds.iter().all(|&f| f == 0.0) {
            true => Vec::new(),
            false => self.spread(folds),
        }
    }

    /// Folds that fall off over the cells around.
    fn spread(&self, mut folds: Vec<f64>) -> Vec<f64> {
        let cells = self.skin.body().lattice().cells();
        let (mut sums, mut counts) = (vec![0.0; folds.len()], vec![0.0; folds.len()]);
        for _ in 0..ROUNDS {
            sums.fill(0.0);
            counts.fill(0.0);
            for cell in cells {
                let corners = cell.corners();
                let sum: f64 = corners.iter().map(|&a| folds[a as usize]).sum();
                for &a in corners {
                    sums[a as usize] += sum / corners.len() as f64;
                    counts[a as usize] += 1.0;
                }
            }
            for (fold, (sum, count)) in folds.iter_mut().zip(sums.iter().zip(&counts)) {
                *fold = fold.max(sum / f64::max(*count, 1.0));
            }
        }
        folds
    }
}
