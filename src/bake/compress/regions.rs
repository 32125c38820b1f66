// SPDX-License-Identifier: MIT OR Apache-2.0
//! Regions of a mesh whose keys are fitted apart, so that each key moves few vertices and files store few numbers.

use crate::bake::BakeError;

/// Largest number of regions: beyond it keys move fewer vertices than they have frames.
const MAX_REGIONS: usize = 1024;

/// Rounds of moving centres to the middle of their regions. Later rounds move hardly any vertex.
const ROUNDS: usize = 12;

/// How a mesh is divided into regions.
#[derive(Debug, Clone, PartialEq)]
pub enum Regions {
    /// This many regions of nearby vertices at rest.
    Count(usize),
    /// The region of each vertex.
    Labels(Vec<u32>),
}

impl Regions {
    /// Returns the region of each vertex and the number of regions. `rest` `[n, 3]`: positions at rest, needed by a count.
    pub(super) fn labels(
        &self,
        rest: Option<&[f32]>,
        vertices: usize,
    ) -> Result<(Vec<u32>, usize), BakeError> {
        match self {
            Self::Labels(labels) if labels.len() != vertices => {
                let (what, given) = ("the list of regions has", labels.len());
                Err(BakeError::vertices(what, given, vertices))
            }
            Self::Labels(labels) => {
                let count = labels.iter().max().map_or(0, |&most| most as usize + 1);
                check_count(count)?;
                Ok((labels.clone(), count))
            }
            Self::Count(count) => {
                check_count(*count)?;
                let rest = rest.ok_or(BakeError::RegionsWithoutRest)?;
                Ok((nearest_centres(rest, (*count).min(vertices)), *count))
            }
        }
    }
}

fn check_count(count: usize) -> Result<(), BakeError> {
    if (1..=MAX_REGIONS).contains(&count) {
        return Ok(());
    }
    Err(BakeError::Setting {
        what: "the number of regions",
        range: "from 1 to 1024",
        value: count as f64,
    })
}

/// Divides points `[n, 3]` among centres that begin far apart and move to the middle of their points [lloyd1982].
fn nearest_centres(points: &[f32], count: usize) -> Vec<u32> {
    let point = |v: usize| [points[3 * v], points[3 * v + 1], points[3 * v + 2]];
    let vertices = points.len() / 3;
    let mut centres = vec![point(0)];
    let mut distances = vec![f32::INFINITY; vertices];
    while centres.len() < count {
        let last = centres[centres.len() - 1];
        let mut farthest = 0;
        for v in 0..vertices {
            distances[v] = distances[v].min(square_distance(&point(v), &last));
            if distances[v] > distances[farthest] {
                farthest = v;
            }
        }
        centres.push(point(farthest));
    }
    let nearest = |centres: &[[f32; 3]], v: usize| {
        let far = |c: &[f32; 3]| square_distance(&point(v), c);
        let by_distance = |a: &usize, b: &usize| far(&centres[*a]).total_cmp(&far(&centres[*b]));
        (0..centres.len()).min_by(by_distance).unwrap_or(0)
    };
    for _ in 0..ROUNDS {
        let mut sums = vec![([0.0_f64; 3], 0.0_f64); count];
        for v in 0..vertices {
            let (sum, number) = &mut sums[nearest(&centres, v)];
            sum.iter_mut()
                .zip(point(v))
                .for_each(|(s, x)| *s += f64::from(x));
            *number += 1.0;
        }
        for (centre, (sum, number)) in centres.iter_mut().zip(&sums).filter(|(_, s)| s.1 > 0.0) {
            *centre = sum.map(|s| (s / number) as f32);
        }
    }
    (0..vertices).map(|v| nearest(&centres, v) as u32).collect()
}

fn square_distance(a: &[f32; 3], b: &[f32; 3]) -> f32 {
    (0..3).map(|i| (a[i] - b[i]).powi(2)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two clusters of points are two regions, and labels come back as they are.
    #[test]
    fn regions_follow_distance() {
        let points: Vec<f32> = (0..20)
            .flat_map(|i| [if i < 9 { 0.0 } else { 5.0 }, i as f32 * 0.01, 0.0])
            .collect();
        let (labels, count) = Regions::Count(2).labels(Some(&points), 20).unwrap();
        assert_eq!(count, 2);
        assert!(
            labels[..9].iter().all(|l| *l == labels[0])
                && labels[9..].iter().all(|l| *l == labels[19])
        );
        assert_ne!(labels[0], labels[19]);
        let given = Regions::Labels(vec![2, 0, 2]);
        assert_eq!(given.labels(None, 3).unwrap(), (vec![2, 0, 2], 3));
    }

    /// Counts out of range, labels of another mesh and a count without positions are refused.
    #[test]
    fn regions_refuse_what_does_not_fit() {
        let labels = |r: Regions| r.labels(None, 3).err();
        assert!(matches!(
            labels(Regions::Count(0)),
            Some(BakeError::Setting { .. })
        ));
        assert_eq!(
            labels(Regions::Count(2)),
            Some(BakeError::RegionsWithoutRest)
        );
        assert!(matches!(
            labels(Regions::Labels(vec![0; 4])),
            Some(BakeError::Count { .. })
        ));
        assert!(matches!(
            labels(Regions::Labels(vec![0, 0, 5000])),
            Some(BakeError::Setting { .. })
        ));
    }
}
