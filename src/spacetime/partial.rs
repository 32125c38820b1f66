// SPDX-License-Identifier: MIT OR Apache-2.0
//! Partial keyframes: positions of some vertices at a time, exact or weighted. [hildebrandt2012, §7.1 leaves them open]
//!
//! `P (reference + U q) = p` at a time gives rows of U. A singular value decomposition of all exact rows of one time makes them
//! orthonormal, so that duplicates count once. It also finds conditions that no shape of the space satisfies. These are fulfilled
//! in the least-squares sense, and reported as a miss.

use super::SpacetimeError;
use super::rigid::RigidPlacement;
use super::space::ShapeSpace;
use crate::Vec3;
use crate::range::is_position;
use crate::solve::tall::matrix_vector;
use faer::Mat;

/// Singular value, as a share of the largest, below which a row is dependent.
const RANK_TOLERANCE: f64 = 1e-9;

/// Positions of some vertices at a time.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub(super) struct PartialKeyframe {
    pub id: usize,
    pub time: f64,
    pub vertices: Vec<u32>,
    pub positions: Vec<Vec3>,
    pub weight: Option<f64>,
}

/// Conditions on coordinates at a time: `rows q = wanted`.
#[derive(Debug, Clone)]
pub(super) struct PartialConditions {
    pub time: f64,
    pub rows: Mat<f64>,
    pub wanted: Vec<f64>,
    pub compliance: Vec<f64>,
    /// Identifier of each partial keyframe, and the distance of its farthest vertex from its target.
    pub misses: Vec<(usize, f64)>,
}

impl PartialKeyframe {
    pub fn check_time(&self, (start, end): (f64, f64)) -> Result<(), SpacetimeError> {
        if self.time >= start && self.time <= end {
            return Ok(());
        }
        Err(SpacetimeError::Outside {
            what: "a partial keyframe",
            time: self.time,
            start,
            end,
        })
    }

    pub fn check(&self, nodes: usize, span: (f64, f64)) -> Result<(), SpacetimeError> {
        self.check_time(span)?;
        if self.vertices.len() != self.positions.len() {
            return Err(SpacetimeError::Size {
                what: "the partial keyframe".to_owned(),
                vertices: self.positions.len(),
                nodes: self.vertices.len(),
            });
        }
        if let Some(&index) = self.vertices.iter().find(|&&v| v as usize >= nodes) {
            return Err(SpacetimeError::NoSuch {
                what: "vertex",
                index: index as usize,
                count: nodes,
            });
        }
        match self.positions.iter().position(|x| !is_position(x)) {
            Some(at) => Err(SpacetimeError::NotFinite {
                what: format!("the partial keyframe at {} s", self.time),
                vertex: self.vertices[at] as usize,
            }),
            None => self.check_pairs(self),
        }
    }

    /// Checks that no exact partial keyframe of the same time contradicts this one.
    pub fn check_against(&self, others: &[Self]) -> Result<(), SpacetimeError> {
        let same = |o: &&Self| o.time == self.time && o.weight.is_none();
        if self.weight.is_some() {
            return Ok(());
        }
        others
            .iter()
            .filter(same)
            .try_for_each(|o| self.check_pairs(o))
    }

    fn check_pairs(&self, other: &Self) -> Result<(), SpacetimeError> {
        if self.weight.is_some() {
            return Ok(());
        }
        let mut places: Vec<(u32, Vec3)> = other
            .vertices
            .iter()
            .copied()
            .zip(other.positions.iter().copied())
            .collect();
        places.sort_by_key(|p| p.0);
        for (&vertex, x) in self.vertices.iter().zip(&self.positions) {
            let from = places.partition_point(|p| p.0 < vertex);
            let same = places[from..].iter().take_while(|p| p.0 == vertex);
            for (_, y) in same {
                self.check_distance(vertex, x, y, "ask for one of them, or give a weight")?;
            }
        }
        Ok(())
    }

    /// Checks that an exact keyframe at the same time agrees.
    pub fn check_key(&self, shape: &[Vec3]) -> Result<(), SpacetimeError> {
        let remedy = "a keyframe is exact at this time; soften it, or choose another time";
        let mut pairs = self.vertices.iter().zip(&self.positions);
        pairs.try_for_each(|(&v, x)| self.check_distance(v, x, &shape[v as usize], remedy))
    }

    fn check_distance(
        &self,
        vertex: u32,
        x: &Vec3,
        y: &Vec3,
        remedy: &'static str,
    ) -> Result<(), SpacetimeError> {
        let distance = (x - y).norm();
        if distance <= 1e-9 * (1.0 + x.norm()) {
            return Ok(());
        }
        Err(SpacetimeError::Contradiction {
            vertex: vertex as usize,
            time: self.time,
            distance,
            remedy,
        })
    }

    /// Builds the conditions of all partial keyframes, by time: exact ones of one time together, then weighted ones singly.
    pub fn all_conditions(
        all: &[Self],
        space: &ShapeSpace,
        masses: &[f64],
        place: &dyn Fn(&PartialConditions) -> Option<RigidPlacement>,
    ) -> Vec<PartialConditions> {
        let mut times: Vec<f64> = all.iter().map(|p| p.time).collect();
        times.sort_by(f64::total_cmp);
        times.dedup();
        let mut result = Vec::new();
        for time in times {
            let here = |exact: bool| {
                let at = all.iter().filter(move |p| p.time == time);
                at.filter(move |p| p.weight.is_none() == exact)
            };
            let exact: Vec<&Self> = here(true).collect();
            if !exact.is_empty() {
                result.push(Self::joint_conditions(&exact, space, masses, place));
            }
            result.extend(here(false).map(|p| Self::joint_conditions(&[p], space, masses, place)));
        }
        result
    }

    fn joint_conditions(
        all: &[&Self],
        space: &ShapeSpace,
        masses: &[f64],
        place: &dyn Fn(&PartialConditions) -> Option<RigidPlacement>,
    ) -> PartialConditions {
        let weight = all[0].weight;
        let mut rows = PartialConditions {
            time: all[0].time,
            rows: Mat::new(),
            wanted: Vec::new(),
            compliance: Vec::new(),
            misses: Vec::new(),
        };
        let at = place(&rows);
        let pivot = super::rigid::centre_of_mass(&space.reference, masses);
        let vertices: Vec<u32> = all
            .iter()
            .flat_map(|p| p.vertices.iter().copied())
            .collect();
        let wanted: Vec<Vec3> = all.iter().flat_map(|p| p.positions.clone()).collect();
        let wanted = at.map_or(wanted.clone(), |at| at.align(&wanted, pivot));
        let mut matrix = space.basis_rows(&vertices);
        let mut offsets: Vec<f64> = vertices
            .iter()
            .zip(&wanted)
            .flat_map(|(&v, x)| {
                let d = x - space.reference[v as usize];
                [d.x, d.y, d.z]
            })
            .collect();
        let plain = (matrix.clone(), offsets.clone());
        if let Some(weight) = weight {
            for (i, &v) in vertices.iter().enumerate() {
                let root = (weight * masses[v as usize]).sqrt();
                for r in 3 * i..3 * i + 3 {
                    offsets[r] *= root;
                    (0..matrix.ncols()).for_each(|j| matrix[(r, j)] *= root);
                }
            }
        }
        let Ok(svd) = matrix.thin_svd() else {
            return rows;
        };
        let values: Vec<f64> = svd.S().column_vector().iter().copied().collect();
        let largest = values.first().copied().unwrap_or(0.0);
        let rank = values
            .iter()
            .filter(|&&s| s > RANK_TOLERANCE * largest && s > 0.0)
            .count();
        let (u, v) = (svd.U(), svd.V());
        rows.rows = Mat::from_fn(rank, matrix.ncols(), |i, j| v[(j, i)]);
        for (i, value) in values.iter().enumerate().take(rank) {
            let along: f64 = offsets.iter().enumerate().map(|(r, o)| u[(r, i)] * o).sum();
            rows.wanted.push(along / value);
            rows.compliance
                .push(weight.map_or(0.0, |_| 1.0 / (value * value)));
        }
        if weight.is_none() {
            let (matrix, offsets) = plain;
            let reached: Vec<f64> = (0..matrix.ncols())
                .map(|j| (0..rank).map(|i| v[(j, i)] * rows.wanted[i]).sum())
                .collect();
            rows.misses = target_distances(all, &matrix_vector(&matrix, &reached), &offsets);
        }
        rows
    }
}

/// Returns for each partial keyframe the distance of its farthest vertex from its target.
fn target_distances(
    all: &[&PartialKeyframe],
    reached: &[f64],
    wanted: &[f64],
) -> Vec<(usize, f64)> {
    let mut from = 0;
    let one = |partial: &&PartialKeyframe| {
        let to = from + 3 * partial.vertices.len();
        let far = (from..to).step_by(3).map(|r| {
            let d = |k: usize| reached[r + k] - wanted[r + k];
            Vec3::new(d(0), d(1), d(2)).norm()
        });
        from = to;
        (partial.id, far.fold(0.0, f64::max))
    };
    all.iter().map(one).collect()
}

impl PartialConditions {
    /// Returns the coordinates if exact conditions determine all of them.
    pub fn determined_coordinates(&self) -> Option<Vec<f64>> {
        let exact = self.compliance.iter().all(|&c| c == 0.0);
        let (rank, d) = (self.rows.nrows(), self.rows.ncols());
        if !exact || rank < d {
            return None;
        }
        let coordinate = |j: usize| (0..rank).map(|i| self.rows[(i, j)] * self.wanted[i]).sum();
        Some((0..d).map(coordinate).collect())
    }
}
