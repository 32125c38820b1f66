// SPDX-License-Identifier: MIT OR Apache-2.0
//! Anatomy of a character from its shape and rig: soft parts, hard parts, and the positions of parts.
//!
//! The result does not depend on names, on the order of vertices or bones, on scale, or on the body's pose in space.
//! The welded skin (`skin`) gives a mirror plane (`mirror`) and thickness by inscribed balls (`balls`). From these
//! follow the tree of bones (`bones`), its trunk (`trunk`), the fraction along limbs and their ends (`limbs`), the
//! stance (`stance`), coordinates on the trunk (`regions`), and limbs as two segments (`segments`). All of them give the map of flesh (`map`) and the
//! parts that presets refer to (`parts`).

mod balls;
mod bones;
mod kind;
mod limbs;
mod machine;
mod map;
mod mirror;
mod parts;
mod point_tree;
mod regions;
mod scatter;
mod segments;
mod skin;
mod skin_tree;
mod stance;
mod statistics;
#[cfg(test)]
mod tests;
mod trunk;

pub use kind::CharacterKind;
pub use parts::{BodyPart, PartName};
pub use segments::{LimbSegments, TrunkFrame};
pub(crate) use skin_tree::SkinTree;

use super::bone_distance::{bone_distance, last_bones};
use crate::progress::{Cancelled, Progress, StageProgress, report_progress};
use crate::skeleton::{Skeleton, SkinWeights};
use crate::surface::Surface;
use bones::BoneTree;
use limbs::LimbFractions;
use mirror::MirrorPlane;
use regions::TrunkCoordinates;
use skin::BodySkin;
use stance::Stance;
use trunk::Trunk;

/// Upper bound of depth on limbs, as a part of the thickness there: more than the half for a bone in the middle, as a
/// calf hangs behind its bone. Half of it changes the maps of ten known characters by 0.023 on the mean at most,
/// twice by 0.009.
const MAX_DEPTH_SHARE: f64 = 0.75;
/// Length over which depth is smoothed over the skin, as a part of the size. Halving or doubling it changes the maps of
/// ten known characters by 0.021 on the mean at most.
const SMOOTHING_RADIUS: f64 = 0.03;

/// The anatomy of a character's body.
pub struct Anatomy {
    kind: CharacterKind,
    skin: BodySkin,
    plane: MirrorPlane,
    bones: BoneTree,
    trunk: Trunk,
    along: LimbFractions,
    stance: Option<(Stance, TrunkCoordinates)>,
    /// Thickness by rays at the skin's vertices, metres.
    diameters: Vec<f64>,
    /// Depth of the flesh at the skin's vertices, metres.
    depth: Vec<f64>,
    /// Median thickness of the trunk by rays, metres.
    thick: f64,
    /// `true`: a bone carries the vertex.
    carried: Vec<bool>,
    machine: bool,
}

impl std::fmt::Debug for Anatomy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Anatomy")
            .field("kind", &self.kind)
            .field("thick", &self.thick)
            .field("trunk", &self.trunk.bones)
            .field("machine", &self.machine)
            .finish_non_exhaustive()
    }
}

impl Anatomy {
    /// Reads the anatomy of a skinned surface.
    ///
    /// # Errors
    /// Cancellation by the progress.
    pub fn new(
        surface: &Surface,
        skeleton: &Skeleton,
        weights: &SkinWeights,
        kind: CharacterKind,
        progress: &dyn Progress,
    ) -> Result<Self, Cancelled> {
        const STAGE: &str = "Telling flesh from bone";
        let rays = StageProgress {
            whole: progress,
            from: 0.0,
            to: 0.5,
        };
        let mut skin = BodySkin::new(surface, skeleton, weights);
        let by_rays = skin.gather_values(&surface.diameters(&rays)?);
        report_progress(progress, 0.5, STAGE)?;
        let by_balls = balls::diameters(&skin, &by_rays);
        report_progress(progress, 0.7, STAGE)?;
        let plane = MirrorPlane::find(&skin);
        report_progress(progress, 0.8, STAGE)?;
        let carried = skin.rows.iter().map(|row| !row.is_empty()).collect();
        let bones = BoneTree::new(&skin, skeleton, &by_balls, &plane);
        bones::keep_leading(&mut skin, &bones.live);
        let known = by_rays.iter().zip(&by_balls);
        let diameters: Vec<f64> = known
            .map(|(&ray, &ball)| {
                if ray.is_finite() {
                    ray.min(skin.span)
                } else {
                    ball
                }
            })
            .collect();
        let limb = trunk::limb_root(skeleton, &bones.live);
        let trunk = Trunk::find(&skin, &bones, &diameters, limb);
        let limb_starts = limb.map(|root| (root, skeleton.heads()[root]));
        let along = LimbFractions::measure(&skin, &bones, &trunk, limb_starts);
        report_progress(progress, 0.9, STAGE)?;
        let machine = kind.machine_override().unwrap_or_else(|| {
            machine::is_machine(&skin, &trunk.share, skeleton.character_bone_count())
        });
        let depth = depths(&skin, skeleton, &trunk, &diameters);
        let stance = match limb {
            Some(_) => None,
            None => Stance::find(&skin, &bones, &trunk, &along, &diameters, &plane),
        };
        let mut anatomy = Self {
            thick: trunk.thick.max(f64::MIN_POSITIVE),
            kind,
            plane,
            bones,
            along,
            stance: None,
            diameters,
            depth,
            carried,
            machine,
            trunk,
            skin,
        };
        let mask = anatomy.on_trunk_mask();
        anatomy.stance = stance.map(|stance| {
            let upright = kind.upright_override().unwrap_or(stance.upright);
            let stance = Stance { upright, ..stance };
            let places = TrunkCoordinates::measure(&anatomy.skin, &stance, &mask, anatomy.thick);
            (stance, places)
        });
        Ok(anatomy)
    }

    /// Returns the map of flesh at the original surface's vertices: 0 keeps the skin as it is, 1 is the softest.
    ///
    /// `hard`: share of hard material at each of them, 0 to 1; `None`: 0.
    pub fn flesh(&self, hard: Option<&[f64]>) -> Vec<f64> {
        let hard = hard.map(|hard| self.skin.gather_values(hard));
        self.skin
            .to_original(&map::skin_flesh_map(self, hard.as_deref()), 0.0)
    }

    /// Returns the median thickness of the trunk, metres.
    pub fn thickness(&self) -> f64 {
        self.thick
    }

    /// Returns the diagonal of the box of the body's skin, without distant props and vertices without faces, metres.
    pub fn size(&self) -> f64 {
        self.skin.size
    }

    /// Returns, for each vertex of the original surface, whether it belongs to the body.
    pub fn body_mask(&self) -> Vec<bool> {
        self.skin.of_given.iter().map(|&v| v != u32::MAX).collect()
    }

    /// Returns whether the body is hard throughout: made of rigid pieces, or of kind robot.
    pub fn is_machine(&self) -> bool {
        self.machine
    }

    /// Returns the parts of the body that can be located.
    pub fn parts(&self) -> Vec<BodyPart> {
        parts::find(self)
    }

    /// Returns the tree of bones by the skin, rooted; `skeleton` is the one that it was read from.
    pub(crate) fn skin_tree(&self, skeleton: &Skeleton) -> SkinTree {
        SkinTree::new(&self.skin, &self.bones, &self.plane, skeleton)
    }

    /// Returns a one-line summary for people.
    pub fn summary(&self) -> String {
        let count = |marks: &[bool]| marks.iter().filter(|m| **m).count();
        format!(
            "{} bones of the trunk, {} branches, {} bones of ends, {}",
            self.trunk.bones.len(),
            self.trunk.limbs.len(),
            count(&self.along.ends),
            match &self.stance {
                Some((stance, _)) if stance.upright => "upright",
                Some(_) => "not upright",
                None => "front unknown",
            }
        )
    }

    /// Marks the skin that the trunk mostly carries; all of it if that is fewer than four vertices.
    fn on_trunk_mask(&self) -> Vec<bool> {
        let mask: Vec<bool> = self.trunk.share.iter().map(|s| *s > 0.5).collect();
        match mask.iter().filter(|m| **m).count() {
            0..4 => vec![true; mask.len()],
            _ => mask,
        }
    }

    /// Returns the share of each vertex that heads carry: compact ends in the mirror plane.
    fn head_share(&self) -> Vec<f64> {
        let ends = self.along.ends.iter().zip(&self.bones.middle);
        let heads: Vec<bool> = ends.map(|(end, middle)| *end && *middle).collect();
        self.skin.bone_share(&heads)
    }
}

/// Returns which vertices of a surface belong to the body: those of faces, without distant props.
pub(super) fn body_vertices(
    surface: &Surface,
    skeleton: &Skeleton,
    weights: &SkinWeights,
) -> Vec<bool> {
    let skin = BodySkin::new(surface, skeleton, weights);
    skin.of_given.iter().map(|&v| v != u32::MAX).collect()
}

/// Returns the depth of the flesh at the skin's vertices, metres.
fn depths(skin: &BodySkin, skeleton: &Skeleton, trunk: &Trunk, diameters: &[f64]) -> Vec<f64> {
    let carrying = skin.rows.iter().flatten().filter(|r| r.1 > 0.0);
    let last = last_bones(skeleton, carrying.map(|r| r.0));
    let depth = |v: usize| {
        let row = skin.rows[v].iter().copied();
        let distance = bone_distance(skeleton, &last, row, skin.x[v]);
        let limb = match distance.is_finite() {
            true => distance.min(MAX_DEPTH_SHARE * diameters[v]),
            false => 0.0,
        };
        limb + trunk.share[v].clamp(0.0, 1.0) * (0.5 * diameters[v] - limb)
    };
    let mut depths: Vec<f64> = (0..skin.len()).map(depth).collect();
    skin.smooth(&mut depths, SMOOTHING_RADIUS * skin.span);
    depths
}
