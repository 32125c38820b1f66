// SPDX-License-Identifier: MIT OR Apache-2.0
//! Correspondence of two characters: pairs of bones, the map from one to the other, and rigs and poses carried along it.
//! [capell2006, §4.4]
//!
//! ```
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/shapes/arm.rs"));
//! # fn main() -> Result<(), Any> {
//! use std::sync::Arc;
//! use thew::correspond::{Correspondence, CorrespondenceSettings};
//! use thew::progress::Silent;
//!
//! // An arm, and the same arm once more: each vertex is its own place.
//! let body = Arc::new(body()?); // `examples/shapes/arm.rs` makes it from numbers
//! let link = Correspondence::new(&body, &body, &CorrespondenceSettings::default(), &Silent)?;
//! assert_eq!(link.pairs().len(), 2);
//! for (place, vertex) in link.places().iter().zip(body.surface().vertices()) {
//!     assert!((place - vertex).norm() < 1e-9);
//! }
//! # Ok(())
//! # }
//! ```
//!
//! | file | content |
//! | --- | --- |
//! | `names` | parts and sides by the names of bones, in several languages |
//! | `bones` | bones in numbers that are compared |
//! | `assignment`, `align`, `skinless` | pairs of bones: trees aligned by dynamic programming; then bones without skin |
//! | `pair_maps` | the similarity of both characters, and an affine map of each pair |
//! | `skin` | the two skins, with the parts that carry them |
//! | `lattice_map` | the map on the source's lattice, fitted to the target's skin, and its derivatives |
//! | `points`, `poses`, `rigs`, `sculpts`, `muscles` | what is carried: points of the skin, poses, rigs with force fields, sculpted rigs, muscles |
//!
//! The map is known at the vertices of the source's lattice; the embedding of a point gives it anywhere. The target's
//! lattice does not matter. The paper keeps face angles and meets features picked by hand; here bones, then the skins
//! themselves, lead, and an elastic energy keeps the shape.

mod align;
mod assignment;
mod bones;
mod error;
mod lattice_map;
mod muscles;
mod names;
mod pair_maps;
mod points;
mod poses;
mod report;
mod rigs;
mod sculpts;
mod skin;
mod skinless;
#[cfg(test)]
mod tests;

pub use error::CorrespondenceError;
pub use points::SkinPoint;
pub use report::CorrespondenceReport;

use crate::body::Body;
use crate::lattice::Embedding;
use crate::progress::{Progress, StageProgress, report_progress};
use crate::rig::BoneRef;
use crate::{Mat3, Vec3};
use align::{Alignment, BonePair, align_bones};
use bones::CharacterBones;
use lattice_map::{Landmark, LatticeFit, LatticeMap};
use pair_maps::{BoneMaps, Similarity};
use skin::{SkinSamples, TargetSkin};
use std::sync::Arc;

/// Largest distance of a landmark from the skin, in sizes of its body. A click on a displayed skin is nearer.
const MAX_LANDMARK_DISTANCE: f64 = 0.02;

/// One of the two characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The one that is mapped.
    Source,
    /// The one that it is mapped to.
    Target,
}

impl std::fmt::Display for Side {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Source => "source",
            Self::Target => "target",
        })
    }
}

/// Settings of a correspondence: what the caller knows of it.
#[derive(Debug, Clone, PartialEq)]
pub struct CorrespondenceSettings {
    /// Pairs of bones, source and target, that are kept whatever the shapes say.
    pub bones: Vec<[BoneRef; 2]>,
    /// Pairs of points on the skins, source and target, metres.
    pub landmarks: Vec<[Vec3; 2]>,
    /// `true`: names of bones count. Default: true.
    pub names: bool,
}

impl Default for CorrespondenceSettings {
    fn default() -> Self {
        Self {
            bones: Vec::new(),
            landmarks: Vec::new(),
            names: true,
        }
    }
}

/// Two bones that correspond.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BoneMatch {
    /// Number of the source's bone.
    pub source: u32,
    /// Number of the target's bone.
    pub target: u32,
    /// Mismatch: 0 for equal bones, below it where names agree, 0.75 and more for bones that hardly match.
    /// `None`: they were passed.
    pub cost: Option<f64>,
}

/// A map from one character to another.
pub struct Correspondence {
    source: Arc<Body>,
    target: Arc<Body>,
    pairs: Vec<BoneMatch>,
    /// Bone of the target at the mirror image of each of its bones.
    twins: Vec<usize>,
    similarity: Similarity,
    maps: BoneMaps,
    /// The source's skin in its lattice, by the functions of level 0.
    embedding: Arc<Embedding>,
    map: LatticeMap,
    skin: TargetSkin,
    places: Vec<Vec3>,
    report: CorrespondenceReport,
}

impl std::fmt::Debug for Correspondence {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Correspondence")
            .field("report", &self.report)
            .finish_non_exhaustive()
    }
}

impl Correspondence {
    /// Finds the pairs of bones of two characters at rest, and the map from the first to the second.
    ///
    /// # Errors
    /// Pairs of bones that a character does not have, or with a bone twice; landmarks that are not finite or off the skin;
    /// no bones in common; cancellation by the progress.
    pub fn new(
        source: &Arc<Body>,
        target: &Arc<Body>,
        settings: &CorrespondenceSettings,
        progress: &dyn Progress,
    ) -> Result<Self, CorrespondenceError> {
        let given = given_pairs(source, target, &settings.bones)?;
        check_landmarks([source, target], &settings.landmarks)?;
        report_progress(progress, 0.0, "Reading both characters")?;
        let bones = [source, target].map(|body| CharacterBones::new(body));
        report_progress(progress, 0.3, "Pairing bones")?;
        let mut alignment = align_bones(&bones[0], &bones[1], &given, settings.names);
        let sides = [(&**source, &bones[0]), (&**target, &bones[1])];
        skinless::pair_rest(sides, &mut alignment, settings.names);
        if alignment.pairs.is_empty() {
            return Err(CorrespondenceError::NoPairs);
        }
        let similarity = Similarity::fit(sides, &alignment);
        let maps = BoneMaps::new(sides, &alignment.pairs, &similarity);
        let embedding = match source.basis().levels() {
            0 => source.embedding().clone(),
            _ => Arc::new(source.lattice().embed_surface(source.surface())),
        };
        let samples = SkinSamples::new(source, &maps);
        let skin = TargetSkin::new(target, &maps);
        let landmarks = placed_landmarks(source, &embedding, &skin, &settings.landmarks);
        let mut fit = LatticeFit::new(source, &embedding, &similarity, skin.size)?;
        let start = fit.bend_to_landmarks(lattice_map::blend(source, &maps), &landmarks)?;
        let rounds = StageProgress {
            whole: progress,
            from: 0.4,
            to: 1.0,
        };
        let fitted = fit.fit_to_skin(&start, (&samples, &skin), &landmarks, &rounds)?;
        let map = LatticeMap::new(source, &maps, fitted);
        let place = |v| embedding.position(v, &map.places);
        let places: Vec<Vec3> = (0..embedding.len()).map(place).collect();
        Ok(Self {
            report: CorrespondenceReport::new(sides, &alignment, (&samples, &skin), &places, &map),
            pairs: matches(&alignment),
            twins: bones[1].tree.twins.clone(),
            source: source.clone(),
            target: target.clone(),
            similarity,
            maps,
            embedding,
            map,
            skin,
            places,
        })
    }

    /// Returns the character that is mapped.
    pub fn source(&self) -> &Arc<Body> {
        &self.source
    }

    /// Returns the character that it is mapped to.
    pub fn target(&self) -> &Arc<Body> {
        &self.target
    }

    /// Returns the pairs of bones, by the source's numbers.
    pub fn pairs(&self) -> &[BoneMatch] {
        &self.pairs
    }

    /// Returns the pairs with left and right of the target exchanged, to be passed to a new correspondence: without names,
    /// a character that looks the other way is paired with its mirror image.
    pub fn pairs_with_sides_swapped(&self) -> Vec<[u32; 2]> {
        let swapped = |pair: &BoneMatch| [pair.source, self.twins[pair.target as usize] as u32];
        let mut pairs: Vec<[u32; 2]> = self.pairs.iter().map(swapped).collect();
        // Two bones that have one mirror image stay with the first of them.
        let mut used = vec![false; self.twins.len()];
        pairs.retain(|pair| !std::mem::replace(&mut used[pair[1] as usize], true));
        pairs
    }

    /// Returns the places on the target of the vertices of the source's surface, `[vertices]`, metres.
    pub fn places(&self) -> &[Vec3] {
        &self.places
    }

    /// Returns how well the characters correspond.
    pub fn report(&self) -> &CorrespondenceReport {
        &self.report
    }

    /// Returns the place on the target of a point in or near the source's lattice, metres.
    pub fn map_point(&self, p: Vec3) -> Vec3 {
        self.source
            .lattice()
            .embed(&[p])
            .position(0, &self.map.places)
    }

    /// Returns the rotation from the source's rest axes to the target's at lattice vertices with weights, and the stretch
    /// across bones there.
    fn turn_and_growth(&self, row: impl Iterator<Item = (usize, f64)>) -> (Mat3, f64) {
        let (mut turn, mut growth) = (Mat3::zeros(), 0.0);
        for (vertex, share) in row {
            for (bone, weight) in self.source.region_weights().row(vertex) {
                let map = &self.maps.maps[bone as usize];
                turn += map.rotation * (share * weight);
                growth += map.across * share * weight;
            }
        }
        let rotation = crate::geometry::rotation::best_rotation(&turn);
        let least = f64::MIN_POSITIVE;
        match rotation {
            Some(rotation) if growth > least => (rotation, growth),
            _ => (self.similarity.rotation, self.similarity.scale),
        }
    }
}

fn matches(alignment: &Alignment) -> Vec<BoneMatch> {
    let each = alignment.pairs.iter().zip(&alignment.costs);
    each.map(|(pair, &cost)| BoneMatch {
        source: pair.source as u32,
        target: pair.target as u32,
        cost,
    })
    .collect()
}

/// Finds the bones of pairs that were passed.
fn given_pairs(
    source: &Body,
    target: &Body,
    given: &[[BoneRef; 2]],
) -> Result<Vec<BonePair>, CorrespondenceError> {
    let mut pairs = Vec::with_capacity(given.len());
    let mut used = [source, target].map(|body| vec![false; body.skeleton().len()]);
    for (pair, refs) in given.iter().enumerate() {
        let mut find = |side: Side| {
            let (at, body) = match side {
                Side::Source => (0, source),
                Side::Target => (1, target),
            };
            let names = body.skeleton().names();
            let bone = match &refs[at] {
                BoneRef::Name(name) => names.iter().position(|n| n == name).ok_or_else(|| {
                    let name = name.clone();
                    CorrespondenceError::UnknownBone { pair, side, name }
                })?,
                BoneRef::Index(bone) if (*bone as usize) < names.len() => *bone as usize,
                &BoneRef::Index(bone) => {
                    let bones = names.len();
                    return Err(CorrespondenceError::BoneIndex {
                        pair,
                        side,
                        bone,
                        bones,
                    });
                }
            };
            match std::mem::replace(&mut used[at][bone], true) {
                true => {
                    let name = names[bone].clone();
                    Err(CorrespondenceError::BoneTwice { pair, side, name })
                }
                false => Ok(bone),
            }
        };
        pairs.push(BonePair {
            source: find(Side::Source)?,
            target: find(Side::Target)?,
        });
    }
    Ok(pairs)
}

fn check_landmarks(
    bodies: [&Arc<Body>; 2],
    landmarks: &[[Vec3; 2]],
) -> Result<(), CorrespondenceError> {
    for (landmark, points) in landmarks.iter().enumerate() {
        for ((body, p), side) in bodies.iter().zip(points).zip([Side::Source, Side::Target]) {
            if !crate::range::is_position(p) {
                return Err(CorrespondenceError::LandmarkNonFinite { landmark, side });
            }
            let distance = body.surface().closest_point(*p).distance;
            let allowed = MAX_LANDMARK_DISTANCE * body.size();
            if distance > allowed {
                return Err(CorrespondenceError::LandmarkOffSkin {
                    landmark,
                    side,
                    distance,
                    allowed,
                });
            }
        }
    }
    Ok(())
}

/// Returns landmarks as corners in the source's lattice, and places on the target's skin.
fn placed_landmarks(
    source: &Body,
    embedding: &Embedding,
    skin: &TargetSkin,
    landmarks: &[[Vec3; 2]],
) -> Vec<Landmark> {
    let place = |[from, to]: &[Vec3; 2]| {
        let foot = points::SkinFoot::new(source, *from);
        Some(Landmark {
            corners: foot.corner_rows(embedding),
            place: skin.nearest(*to)?.point,
        })
    };
    landmarks.iter().filter_map(place).collect()
}
