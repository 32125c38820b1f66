//! Bones and their poses.
use crate::Vec3;

/// Bones at rest, in world space.
#[derive(Debug, Clone, PartialEq)]
pub struct Skeleton {
    names: Vec<String>,
    parents: Vec<Option<u32>>,
    heads: Vec<Vec3>,
    tails: Vec<Vec3>,
}

impl Skeleton {
    /// Number of bones.
    pub fn len(&self) -> usize {
        self.heads.len()
    }
    /// No bones at all.
    pub fn is_empty(&self) -> bool {
        self.heads.is_empty()
    }
    /// Names.
    pub fn names(&self) -> &[String] {
        &self.names
    }
    /// Parents; none for a root.
    pub fn parents(&self) -> &[Option<u32>] {
        &self.parents
    }
    /// Rest heads.
    pub fn heads(&self) -> &[Vec3] {
        &self.heads
    }
    /// Rest tails.
    pub fn tails(&self) -> &[Vec3] {
        &self.tails
    }
}

/// Skin weights: for each surface vertex the bones that carry it, rows summing to one (or empty).
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SkinWeights {
    /// Row starts, one more than there are vertices.
    pub offsets: Vec<u32>,
    /// Bones.
    pub bones: Vec<u32>,
    /// Weights.
    pub weights: Vec<f64>,
    /// Number of bones of the skeleton.
    pub bone_count: usize,
}

impl SkinWeights {
    /// The bones and weights of one vertex.
    pub fn row(&self, vertex: usize) -> impl Iterator<Item = (u32, f64)> + '_ {
        let r = self.offsets[vertex] as usize..self.offsets[vertex + 1] as usize;
        r.map(|i| (self.bones[i], self.weights[i]))
    }
}
