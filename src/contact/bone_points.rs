// SPDX-License-Identifier: MIT OR Apache-2.0
//! Lattice vertices inside of the flesh, which stand for the bones that hold them.

use crate::Vec3;
use crate::body::Body;

/// A lattice vertex inside of the flesh, and the bone that holds it.
#[derive(Debug, Clone, Copy)]
pub(super) struct BonePoint {
    pub node: u32,
    pub bone: u32,
}

impl BonePoint {
    /// Returns the bone points of a body. `depth` returns the signed distance of a rest position from the skin, negative inside.
    pub fn for_body(body: &Body, depth: impl Fn(Vec3) -> f64) -> Vec<Self> {
        let all = body.bone_of_vertex().iter().zip(body.lattice().vertices());
        let point = |(node, (bone, rest)): (u32, (&Option<u32>, &Vec3))| {
            let inside = depth(*rest) < 0.0;
            bone.filter(|_| inside).map(|bone| Self { node, bone })
        };
        (0u32..).zip(all).filter_map(point).collect()
    }
}

/// Returns for each bone the next bone above it that holds flesh; helper bones without flesh are skipped.
pub(super) fn bones_above(body: &Body, points: &[BonePoint]) -> Vec<Option<u32>> {
    let parents = body.skeleton().parents();
    let mut holds = vec![false; parents.len()];
    points.iter().for_each(|p| holds[p.bone as usize] = true);
    let above = |bone: usize| {
        let mut above = parents[bone];
        while let Some(b) = above.filter(|&b| !holds[b as usize]) {
            above = parents[b as usize];
        }
        above
    };
    (0..parents.len()).map(above).collect()
}
