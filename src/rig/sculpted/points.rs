// SPDX-License-Identifier: MIT OR Apache-2.0
//! Few groups of vertices that stand for many: centres are chosen farthest first, and each takes the vertices nearest to it. [gonzalez1985]

use crate::Vec3;
use std::collections::BTreeMap;

/// Relative difference of squared distances below which they are equal: the first vertex then counts, so that symmetric shapes give the
/// same groups however they are turned.
const TIE_TOLERANCE: f64 = 1e-9;

/// A growing set of centres, each farther from those before than any vertex left out. Vertices of different parts are infinitely far from
/// each other.
pub(in crate::rig) struct FarthestFirst<'a> {
    places: &'a [Vec3],
    /// Vertices that are grouped.
    candidates: Vec<u32>,
    parts: Vec<Part>,
    count: usize,
    /// Squared distance of each candidate from the nearest centre, and that centre's number.
    nearest: Vec<(f64, u32)>,
}

/// Candidates of one part.
struct Part {
    /// Their indices among all candidates, ascending.
    members: Vec<u32>,
    /// Largest squared distance of one from its nearest centre.
    farthest: f64,
}

impl<'a> FarthestFirst<'a> {
    /// Starts without centres. `parts`: the part of each vertex.
    pub fn new(places: &'a [Vec3], parts: &[u32], candidates: Vec<u32>) -> Self {
        let mut members: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for (i, &v) in (0..).zip(&candidates) {
            members.entry(parts[v as usize]).or_default().push(i);
        }
        let part = |members: Vec<u32>| Part {
            members,
            farthest: f64::INFINITY,
        };
        Self {
            places,
            parts: members.into_values().map(part).collect(),
            count: 0,
            nearest: vec![(f64::INFINITY, 0); candidates.len()],
            candidates,
        }
    }

    /// Grows the set to `count` centres, or to as many as there are places.
    pub fn grow(&mut self, count: usize) {
        while self.count < count {
            let most = self.parts.iter().map(|p| p.farthest).fold(0.0, f64::max);
            if most <= 0.0 {
                return;
            }
            let least = most * (1.0 - TIE_TOLERANCE);
            let far = |i: &&u32| self.nearest[**i as usize].0 >= least;
            let parts = self.parts.iter().enumerate();
            let first = parts.filter_map(|(part, p)| {
                let reaches = p.farthest >= least;
                let found = reaches.then(|| p.members.iter().find(far)).flatten();
                found.map(|&i| (i, part))
            });
            match first.min() {
                Some((centre, part)) => self.add_centre(centre, part),
                None => return,
            }
        }
    }

    /// Adds a candidate of a part as a centre.
    fn add_centre(&mut self, candidate: u32, part: usize) {
        let place = |i: u32| self.places[self.candidates[i as usize] as usize];
        let (centre, part) = (place(candidate), &mut self.parts[part]);
        part.farthest = 0.0;
        for &i in &part.members {
            let nearest = &mut self.nearest[i as usize];
            let square = (place(i) - centre).norm_squared();
            let nearer = square < nearest.0 * (1.0 - TIE_TOLERANCE);
            if nearer || nearest.0.is_infinite() {
                *nearest = (square, self.count as u32);
            }
            part.farthest = part.farthest.max(nearest.0);
        }
        self.count += 1;
    }

    /// Returns the candidates of each group.
    pub fn groups(&self) -> Vec<Vec<u32>> {
        let mut groups = vec![Vec::new(); self.count];
        for (&(_, group), &v) in self.nearest.iter().zip(&self.candidates) {
            groups[group as usize].push(v);
        }
        groups
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Groups hold each candidate once and no two parts; no vertex is farther from its group's centre than centres are apart.
    #[test]
    fn groups_cover_candidates() {
        let places: Vec<Vec3> = (0..40)
            .map(|i| Vec3::new(f64::from(i).powf(1.3), f64::from(i % 3), 0.0))
            .collect();
        let parts: Vec<u32> = (0..40).map(|v| u32::from(v > 24)).collect();
        let candidates: Vec<u32> = (0..40).filter(|v| v % 7 != 0).collect();
        let mut set = FarthestFirst::new(&places, &parts, candidates.clone());
        let mut widest = f64::INFINITY;
        for count in [2, 5, 11, 100] {
            set.grow(count);
            let groups = set.groups();
            assert_eq!(groups.len(), count.min(candidates.len()));
            let mut all = groups.concat();
            all.sort_unstable();
            assert_eq!(all, candidates);
            let alike = |group: &Vec<u32>| {
                group
                    .iter()
                    .all(|&v| parts[v as usize] == parts[group[0] as usize])
            };
            assert!(groups.iter().all(alike));
            let radius = set.nearest.iter().map(|n| n.0).fold(0.0, f64::max);
            assert!(radius < widest);
            widest = radius;
        }
        assert_eq!(widest, 0.0);
    }
}
