// SPDX-License-Identifier: MIT OR Apache-2.0
//! Poses carried to another character.
//!
//! A bone's motion relative to the nearest paired bone above it is turned from its own rest axes to its partner's. So an
//! elbow that bends by 40° bends the other elbow by 40°, wherever the arms hang at rest. What a head moves relative to the
//! bone above it is scaled: a root's way by the characters' sizes, and zero for bones that hang together. Bones without a
//! partner follow the bone above them.

use super::{Correspondence, CorrespondenceError};
use crate::Mat3;
use crate::skeleton::{Affine, Pose};

impl Correspondence {
    /// Carries a pose of the source to the target.
    ///
    /// # Errors
    /// A pose of another skeleton.
    pub fn carry_pose(&self, pose: &Pose) -> Result<Pose, CorrespondenceError> {
        pose.check(self.source.skeleton())?;
        let skeleton = self.target.skeleton();
        let maps = pose.maps();
        let mut source_of = vec![None; skeleton.len()];
        for pair in &self.pairs {
            source_of[pair.target as usize] = Some(pair.source as usize);
        }
        let mut carried = vec![Affine::identity(); skeleton.len()];
        // The nearest paired bone at or above each bone.
        let mut paired = vec![None; skeleton.len()];
        for &b in skeleton.topological_order() {
            let b = b as usize;
            let parent = skeleton.parents()[b].map(|p| p as usize);
            let above = parent.and_then(|p| paired[p]);
            paired[b] = above;
            let base = parent.map_or_else(Affine::identity, |p| carried[p]);
            carried[b] = match source_of[b] {
                Some(source) => {
                    paired[b] = Some(b);
                    let from = above.and_then(|a: usize| source_of[a]).map(|a| maps[a]);
                    let leading = above.map_or_else(Affine::identity, |a| carried[a]);
                    self.moved(b, source, &maps[source], from, (&base, &leading))
                }
                None => base,
            };
        }
        Ok(Pose::new(carried)?)
    }

    /// Returns the motion of a target bone whose partner moves by `own` while the paired bone above that moves by `above`.
    fn moved(
        &self,
        bone: usize,
        source: usize,
        own: &Affine,
        above: Option<Affine>,
        (base, leading): (&Affine, &Affine),
    ) -> Affine {
        let turn = self.maps.maps[source].rotation;
        let above = above.unwrap_or_else(Affine::identity);
        let back = above.linear.try_inverse().unwrap_or_else(Mat3::identity);
        let local = turn * (back * own.linear) * turn.transpose();
        let linear = leading.linear * local;
        let head = self.source.skeleton().heads()[source];
        let slip = back * (own.apply(head) - above.apply(head));
        let slip = self.similarity.rotation * slip * self.similarity.scale;
        let place = self.target.skeleton().heads()[bone];
        let moved = base.apply(place) + leading.linear * slip;
        Affine {
            linear,
            translation: moved - linear * place,
        }
    }
}
