// SPDX-License-Identifier: MIT OR Apache-2.0
//! Skin weights: the bones that carry each vertex of the skin.

use super::SkeletonError;

/// Most negative weight that is accepted as a rounding error of zero.
const MIN_WEIGHT: f64 = -1e-6;

/// For each surface vertex, the bones that carry it, in index order; rows sum to one, or are empty.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SkinWeights {
    /// Row starts, one more than the number of vertices.
    pub offsets: Vec<u32>,
    /// Bone of each entry.
    pub bones: Vec<u32>,
    /// Weight of each entry.
    pub weights: Vec<f64>,
    /// Number of bones of the skeleton.
    pub bone_count: usize,
}

impl SkinWeights {
    /// Builds skin weights from a dense table `[vertices, bones]`, row by row.
    ///
    /// # Errors
    /// Fails if the table has another size, or if weights are negative or not finite, by vertex and
    /// bone.
    pub fn from_dense(vertices: usize, bones: usize, table: &[f64]) -> Result<Self, SkeletonError> {
        let expected = vertices.saturating_mul(bones);
        if table.len() != expected {
            let given = table.len();
            return Err(SkeletonError::WeightCount { expected, given });
        }
        let row = |v: usize| (0..bones as u32).zip(table[v * bones..][..bones].iter().copied());
        Self::from_rows(bones, (0..vertices).map(row))
    }

    /// Builds skin weights from `(bone, weight)` pairs per vertex, in any order; pairs for one bone
    /// add up.
    ///
    /// # Errors
    /// Fails if bones are out of range, or if weights are negative or not finite.
    pub fn from_rows<R>(
        bones: usize,
        rows: impl IntoIterator<Item = R>,
    ) -> Result<Self, SkeletonError>
    where
        R: IntoIterator<Item = (u32, f64)>,
    {
        let mut skin = Self {
            offsets: vec![0],
            bone_count: bones,
            ..Self::default()
        };
        let mut row: Vec<(u32, f64)> = Vec::new();
        for (vertex, pairs) in rows.into_iter().enumerate() {
            row.clear();
            for (bone, weight) in pairs {
                if bone as usize >= bones {
                    return Err(SkeletonError::WeightBone {
                        vertex,
                        bone,
                        bones,
                    });
                }
                if !(weight.is_finite() && weight >= MIN_WEIGHT) {
                    let bone = bone as usize;
                    return Err(SkeletonError::Weight {
                        vertex,
                        bone,
                        weight,
                    });
                }
                if weight > 0.0 {
                    row.push((bone, weight));
                }
            }
            row.sort_by_key(|&(bone, _)| bone);
            // Divide by the largest first, so that a sum of huge weights stays finite.
            let largest = row.iter().map(|r| r.1).fold(0.0, f64::max);
            let total: f64 = row.iter().map(|r| r.1 / largest).sum();
            let start = skin.bones.len();
            for &(bone, weight) in &row {
                let weight = weight / largest / total;
                if skin.bones.len() > start && skin.bones.last() == Some(&bone) {
                    let last = skin.weights.len() - 1;
                    skin.weights[last] += weight;
                } else {
                    skin.bones.push(bone);
                    skin.weights.push(weight);
                }
            }
            skin.offsets.push(skin.bones.len() as u32);
        }
        Ok(skin)
    }

    /// Returns the number of vertices.
    pub fn len(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    /// Returns whether the list of vertices is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns whether all weights are zero, so that no vertex follows a bone.
    pub fn is_zero(&self) -> bool {
        self.weights.iter().all(|&w| w == 0.0)
    }

    /// Returns the bones and weights of one vertex.
    pub fn row(&self, vertex: usize) -> impl Iterator<Item = (u32, f64)> + Clone + '_ {
        let r = self.offsets[vertex] as usize..self.offsets[vertex + 1] as usize;
        self.bones[r.clone()]
            .iter()
            .copied()
            .zip(self.weights[r].iter().copied())
    }

    /// Converts to a dense table `[vertices, bones]`, row by row.
    pub fn to_dense(&self) -> Vec<f64> {
        let mut table = vec![0.0; self.len() * self.bone_count];
        for v in 0..self.len() {
            for (b, w) in self.row(v) {
                table[v * self.bone_count + b as usize] += w;
            }
        }
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows are normalised, and a row may be empty.
    #[test]
    fn dense_rows_are_normalised() {
        let table = [2.0, 0.0, 6.0, 0.0, 0.0, 0.0, -1e-9, 1.0, 0.0];
        let skin = SkinWeights::from_dense(3, 3, &table).unwrap();
        assert_eq!(skin.row(0).collect::<Vec<_>>(), [(0, 0.25), (2, 0.75)]);
        assert_eq!(skin.row(1).count(), 0);
        assert_eq!(skin.row(2).collect::<Vec<_>>(), [(1, 1.0)]);
        assert_eq!(
            skin.to_dense(),
            [0.25, 0.0, 0.75, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0]
        );
    }

    /// Sparse rows are sorted by bone, and equal bones are summed.
    #[test]
    fn sparse_rows_are_summed() {
        let rows = [vec![(2, 0.5), (0, 1.0), (2, 0.5)], vec![]];
        let skin = SkinWeights::from_rows(3, rows).unwrap();
        assert_eq!(skin.row(0).collect::<Vec<_>>(), [(0, 0.5), (2, 0.5)]);
        assert_eq!(skin.len(), 2);
        let two = SkinWeights::from_rows(2, [vec![(1, 1.0)], vec![(1, 1.0)]]).unwrap();
        assert_eq!(two.row(1).collect::<Vec<_>>(), [(1, 1.0)]);
    }

    /// Bad weights and bones are refused, and the error names vertex and bone.
    #[test]
    fn weights_refuse_bad_values() {
        let e = SkinWeights::from_dense(2, 2, &[1.0, 0.0, 0.0, f64::NAN]).unwrap_err();
        assert!(matches!(
            e,
            SkeletonError::Weight {
                vertex: 1,
                bone: 1,
                ..
            }
        ));
        let e = SkinWeights::from_dense(1, 2, &[1.0, -0.1]).unwrap_err();
        assert!(e.to_string().contains("vertex 0 for bone 1 is -0.1"));
        let e = SkinWeights::from_dense(1, 2, &[1.0]).unwrap_err();
        assert_eq!(
            e,
            SkeletonError::WeightCount {
                expected: 2,
                given: 1
            }
        );
        let e = SkinWeights::from_rows(2, [[(7, 1.0)]]).unwrap_err();
        assert_eq!(
            e,
            SkeletonError::WeightBone {
                vertex: 0,
                bone: 7,
                bones: 2
            }
        );
    }

    #[test]
    fn huge_weights_do_not_overflow() {
        let skin = SkinWeights::from_dense(1, 2, &[1e308, 1e308]).unwrap();
        assert_eq!(skin.weights, [0.5, 0.5]);
    }
}
