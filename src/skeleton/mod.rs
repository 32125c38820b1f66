// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bones, their poses, and the rigid motions that flesh near them follows.
//!
//! ```
//! use thew::skeleton::{Affine, Pose, Skeleton, polar};
//! use thew::{Mat3, Vec3};
//!
//! let (hip, knee, foot) = (Vec3::zeros(), Vec3::new(0.0, 0.0, -0.5), Vec3::new(0.0, 0.0, -1.0));
//! let leg = Skeleton::new(
//!     vec!["thigh".into(), "shin".into()],
//!     vec![None, Some(0)],
//!     vec![hip, knee],
//!     vec![knee, foot],
//! )?;
//! // A map that turns and stretches, decomposed into rotation and stretch.
//! let turn = nalgebra::Rotation3::from_axis_angle(&Vec3::x_axis(), 0.7).into_inner();
//! let (rotation, stretch) = polar(&(turn * Mat3::from_diagonal(&Vec3::new(1.0, 1.0, 1.2))));
//! assert!((rotation.angle() - 0.7).abs() < 1e-12 && (stretch[(2, 2)] - 1.2).abs() < 1e-12);
//! let shin = Affine { linear: turn, translation: knee - turn * knee };
//! let pose = Pose::new(vec![Affine::identity(), shin])?;
//! pose.check(&leg)?;
//! assert!(((shin.apply(foot) - knee).norm() - 0.5).abs() < 1e-12);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A bone's motion from rest is an affine map in **world** space. Rigs stretch and squash, so a bone's own
//! points follow the whole map; the frames in which flesh is warped take only its rotation.
//!
//! | file | content |
//! | --- | --- |
//! | `pose` | affine maps, poses, the polar decomposition into rotation and stretch |
//! | `rigid` | rigid motions as dual quaternions and their blending |
//! | `blend` | skinning by one pose: the posed position and frame of a rest point |
//! | `blend_share` | derivatives of skinned points by turns of bones |
//! | `fit` | the pose that brings points of the skin to known positions |
//! | `motion` | C¹ bone motion inside a frame |
//! | `skin` | skin weights |
//! | `elsewhere` | bones of the character that carry only its other meshes |
//! | `refit` | tails for imported rigs, whose own tails are arbitrary |
//! | `stored` | poses as plain data, for files |

mod blend;
mod blend_share;
mod elsewhere;
mod fit;
mod motion;
mod pose;
mod refit;
mod rigid;
mod skin;
mod stored;

pub use crate::geometry::rotation_vector;
pub use blend::BonePoses;
pub(crate) use fit::PoseFit;
pub use fit::{PoseFitSettings, fit_pose};
pub use motion::FrameMotion;
pub use pose::{Affine, Pose, polar};
pub use rigid::{RigidTransform, blend, slerp};
pub use skin::SkinWeights;

use crate::Vec3;
use crate::progress::Cancelled;
use crate::range::{MAX_COORDINATE, is_position};

/// Bones at rest, in world space, metres.
#[derive(Debug, Clone, PartialEq)]
pub struct Skeleton {
    names: Vec<String>,
    parents: Vec<Option<u32>>,
    heads: Vec<Vec3>,
    tails: Vec<Vec3>,
    /// Bone indices, every parent before its children.
    order: Vec<u32>,
    /// For each bone of the character outside this skeleton, its nearest ancestor in the skeleton, if any.
    elsewhere: Vec<Option<u32>>,
}

/// Reason why a skeleton, a pose or skin weights were refused.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SkeletonError {
    /// A frame has no next pose to move to.
    #[error("frame {frame} of a motion lies between two poses, but there are only {poses} poses")]
    Motion {
        /// Index of the frame.
        frame: usize,
        /// Number of poses.
        poses: usize,
    },
    /// The arrays have different lengths.
    #[error(
        "a skeleton needs one name, parent, head and tail per bone, but there are {names} names, \
         {parents} parents, {heads} heads and {tails} tails"
    )]
    Lengths {
        /// Number of names.
        names: usize,
        /// Number of parents.
        parents: usize,
        /// Number of heads.
        heads: usize,
        /// Number of tails.
        tails: usize,
    },
    /// The position of a bone is not finite or out of range.
    #[error("the {end} of bone '{name}' is not finite, or farther away than {MAX_COORDINATE:e} m")]
    NonFinite {
        /// Name of the bone.
        name: String,
        /// Which end: head or tail.
        end: &'static str,
    },
    /// A parent does not exist.
    #[error("the parent of bone '{name}' has index {parent}, but there are only {bones} bones")]
    ParentOutOfRange {
        /// Name of the child.
        name: String,
        /// Index of the parent.
        parent: u32,
        /// Number of bones.
        bones: usize,
    },
    /// A bone of other meshes hangs on a bone that does not exist.
    #[error("bone {index} of other meshes hangs on bone {above}, but there are only {bones} bones")]
    Elsewhere {
        /// Index of the bone among the others.
        index: usize,
        /// Index of the bone above it.
        above: u32,
        /// Number of bones.
        bones: usize,
    },
    /// A bone is its own ancestor.
    #[error("bone '{name}' is its own ancestor: the parents form a cycle")]
    Cycle {
        /// Name of a bone on the cycle.
        name: String,
    },
    /// The pose has the wrong number of bones.
    #[error("the pose has {given} bones, but the skeleton has {bones}")]
    PoseLength {
        /// Number of bones of the skeleton.
        bones: usize,
        /// Number of bones of the pose.
        given: usize,
    },
    /// A pose matrix has a number that is NaN, infinite or out of range.
    #[error("the pose of bone {bone} is not finite, or beyond {MAX_COORDINATE:e}")]
    PoseNonFinite {
        /// Index of the bone.
        bone: usize,
    },
    /// A pose matrix is a projection.
    #[error(
        "the pose of bone {bone} is not an affine map: the last row of its matrix is not 0, 0, 0, 1"
    )]
    PoseNotAffine {
        /// Index of the bone.
        bone: usize,
    },
    /// The number of skin weights is wrong.
    #[error("there must be {expected} skin weights (vertices times bones), but there are {given}")]
    WeightCount {
        /// Number of weights expected.
        expected: usize,
        /// Number of weights present.
        given: usize,
    },
    /// A skin weight is negative or not finite.
    #[error(
        "the skin weight of vertex {vertex} for bone {bone} is {weight}: weights must be finite and not negative"
    )]
    Weight {
        /// Index of the vertex.
        vertex: usize,
        /// Index of the bone.
        bone: usize,
        /// Value of the weight.
        weight: f64,
    },
    /// A skin weight refers to a bone that does not exist.
    #[error("vertex {vertex} has a skin weight for bone {bone}, but there are only {bones} bones")]
    WeightBone {
        /// Index of the vertex.
        vertex: usize,
        /// Index of the bone.
        bone: u32,
        /// Number of bones.
        bones: usize,
    },
    /// The features of a pose are too few.
    #[error(
        "a pose needs at least three features on the skin of bones, but there are {features}: mark more points and their targets"
    )]
    FeatureCount {
        /// Number of features with skin weights.
        features: usize,
    },
    /// Numbers of features and targets differ.
    #[error(
        "there must be one target per feature, but there are {features} features and {targets} targets"
    )]
    TargetCount {
        /// Number of features.
        features: usize,
        /// Number of targets.
        targets: usize,
    },
    /// The position of a feature or target is not finite or out of range.
    #[error("{noun} {index} is not finite, or farther away than {MAX_COORDINATE:e} m")]
    FeatureNonFinite {
        /// The position: feature or target.
        noun: &'static str,
        /// Index of the feature.
        index: usize,
    },
    /// Features or targets lie in a line, about which the pose could turn.
    #[error(
        "the {noun} lie in a line or in one place, so they do not show how the pose is turned: mark a point beside them"
    )]
    FeatureLine {
        /// The positions: features or targets.
        noun: &'static str,
    },
    /// The cost of turns is no weight.
    #[error(
        "the cost of turns is {cost}: it must be above 0 and finite, such as 1e-7 for exact features and 1e-3 for rough ones"
    )]
    TurnCost {
        /// The cost.
        cost: f64,
    },
    /// Numbers of features and metrics differ.
    #[error(
        "there must be one metric per feature, but there are {features} features and {metrics} metrics"
    )]
    MetricCount {
        /// Number of features.
        features: usize,
        /// Number of metrics.
        metrics: usize,
    },
    /// A metric could be negative, or is not finite.
    #[error(
        "metric {index} is not finite, symmetric and positive semidefinite: it must be a weight of squared distances, such as n nᵀ of a unit normal n"
    )]
    Metric {
        /// Index of the feature.
        index: usize,
    },
    /// All metrics are zero.
    #[error(
        "all metrics of features on the skin of bones are zero, so that no feature counts: give some of them a weight"
    )]
    NoMetric,
    /// A bone does not exist.
    #[error("there is no bone {bone}: the skeleton has {bones} bones")]
    UnknownBone {
        /// Index of the bone.
        bone: u32,
        /// Number of bones of the skeleton.
        bones: usize,
    },
    /// The caller cancelled.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

impl Skeleton {
    /// Builds a skeleton at rest.
    ///
    /// Parents need not precede their children. Several roots, bones without length and equal names are
    /// allowed.
    ///
    /// # Errors
    /// Fails on arrays of different lengths, positions that are not finite, parents out of range or in a
    /// cycle.
    pub fn new(
        names: Vec<String>,
        parents: Vec<Option<u32>>,
        heads: Vec<Vec3>,
        tails: Vec<Vec3>,
    ) -> Result<Self, SkeletonError> {
        let bones = heads.len();
        if [names.len(), parents.len(), tails.len()] != [bones; 3] {
            return Err(SkeletonError::Lengths {
                names: names.len(),
                parents: parents.len(),
                heads: bones,
                tails: tails.len(),
            });
        }
        for (places, end) in [(&heads, "head"), (&tails, "tail")] {
            if let Some(b) = places.iter().position(|p| !is_position(p)) {
                let name = names[b].clone();
                return Err(SkeletonError::NonFinite { name, end });
            }
        }
        let order = sort_parents_first(&names, &parents)?;
        Ok(Self {
            names,
            parents,
            heads,
            tails,
            order,
            elsewhere: Vec::new(),
        })
    }

    /// Returns the number of bones.
    pub fn len(&self) -> usize {
        self.heads.len()
    }

    /// Returns whether the skeleton is empty.
    pub fn is_empty(&self) -> bool {
        self.heads.is_empty()
    }

    /// Returns the names.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Returns the parents; `None` for a root.
    pub fn parents(&self) -> &[Option<u32>] {
        &self.parents
    }

    /// Returns the rest heads, m.
    pub fn heads(&self) -> &[Vec3] {
        &self.heads
    }

    /// Returns the rest tails, m.
    pub fn tails(&self) -> &[Vec3] {
        &self.tails
    }

    /// Returns all bones, every parent before its children.
    pub fn topological_order(&self) -> &[u32] {
        &self.order
    }

    /// Returns the children of each bone, in index order.
    pub fn children(&self) -> Vec<Vec<u32>> {
        let mut children = vec![Vec::new(); self.len()];
        for (b, parent) in self.parents.iter().enumerate() {
            if let Some(p) = parent {
                children[*p as usize].push(b as u32);
            }
        }
        children
    }
}

/// Orders bones by index, except that each bone's ancestors come before it.
fn sort_parents_first(
    names: &[String],
    parents: &[Option<u32>],
) -> Result<Vec<u32>, SkeletonError> {
    let bones = parents.len();
    for (b, parent) in parents.iter().enumerate() {
        if let Some(p) = *parent
            && p as usize >= bones
        {
            return Err(SkeletonError::ParentOutOfRange {
                name: names[b].clone(),
                parent: p,
                bones,
            });
        }
    }
    let mut done = vec![false; bones];
    let mut order = Vec::with_capacity(bones);
    let mut path = Vec::new();
    for start in 0..bones {
        // Up to the first ancestor that is already in the order; a path longer than the skeleton is a
        // cycle.
        let mut at = Some(start as u32);
        while let Some(b) = at.filter(|&b| !done[b as usize]) {
            if path.len() > bones {
                let name = names[b as usize].clone();
                return Err(SkeletonError::Cycle { name });
            }
            path.push(b);
            at = parents[b as usize];
        }
        for b in path.drain(..).rev() {
            done[b as usize] = true;
            order.push(b);
        }
    }
    Ok(order)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bones(parents: &[Option<u32>]) -> Result<Skeleton, SkeletonError> {
        let n = parents.len();
        let names = (0..n).map(|i| format!("b{i}")).collect();
        let at = |dx: f64| (0..n).map(|i| Vec3::new(i as f64 + dx, 0.0, 0.0)).collect();
        Skeleton::new(names, parents.to_vec(), at(0.0), at(1.0))
    }

    #[test]
    fn children_may_precede_parents() {
        let s = bones(&[Some(2), None, Some(1), None, Some(0)]).unwrap();
        let place = |b: u32| s.topological_order().iter().position(|&x| x == b).unwrap();
        for b in 0..s.len() as u32 {
            if let Some(p) = s.parents()[b as usize] {
                assert!(place(p) < place(b));
            }
        }
        assert_eq!(
            s.children(),
            vec![vec![4], vec![2], vec![0], vec![], vec![]]
        );
    }

    /// A cycle of parents is refused, and the error names a bone of it.
    #[test]
    fn skeleton_refuses_cycles() {
        let e = bones(&[None, Some(3), Some(1), Some(2)]).unwrap_err();
        let SkeletonError::Cycle { name } = &e else {
            panic!("{e}")
        };
        assert!(["b1", "b2", "b3"].contains(&name.as_str()));
        assert!(matches!(
            bones(&[Some(0)]),
            Err(SkeletonError::Cycle { .. })
        ));
    }

    /// Bad parents, lengths and coordinates are refused, and the error names the bone.
    #[test]
    fn skeleton_refuses_bad_input() {
        assert!(
            bones(&[None, Some(9)])
                .unwrap_err()
                .to_string()
                .contains("'b1'")
        );
        let e = Skeleton::new(vec!["a".into()], vec![None], vec![], vec![]).unwrap_err();
        assert!(e.to_string().contains("1 names"));
        let nan = Vec3::new(0.0, f64::NAN, 0.0);
        let e = Skeleton::new(
            vec!["ear".into()],
            vec![None],
            vec![Vec3::zeros()],
            vec![nan],
        );
        assert_eq!(
            e.unwrap_err().to_string(),
            "the tail of bone 'ear' is not finite, or farther away than 1e12 m"
        );
    }

    /// A skeleton may be empty, and its bones may have length zero and equal names.
    #[test]
    fn empty_skeleton_is_allowed() {
        assert!(bones(&[]).unwrap().is_empty());
        let p = vec![Vec3::zeros(); 2];
        let names = vec!["same".to_string(); 2];
        assert_eq!(
            Skeleton::new(names, vec![None; 2], p.clone(), p)
                .unwrap()
                .len(),
            2
        );
    }
}
