// SPDX-License-Identifier: MIT OR Apache-2.0
//! Few groups of vertices that stand for many: centres are chosen farthest first, and each takes the vertices nearest to it. [gonzalez1985]

use crate::Vec3;

/// Relative difference of squared distances below which they are equal: the first vertex then counts, so that symmetric shapes give the
/// same groups however they are turned.
const TIE_TOLERANCE: f64 = 1e-9;

/// A growing set of centres, each farther from those before than any vertex left out. Vertices of different parts are infinitely far from
/// each other.
pub(in crate::rig) struct FarthestFirst<'a> {
    places: &'a [Vec3],
    /// Part of each vertex.
    parts: &'a [u32],
    /// Vertices that are grouped.
    candidates: Vec<u32>,
    count: usize,
    /// Squared distance of each candidate from the nearest centre, and that centre's number.
    nearest: Vec<(f64, u32)>,
}

impl<'a> FarthestFirst<'a> {
    /// Starts without centres.
    pub fn new(places: &'a [Vec3], parts: &'a [u32], candidates: Vec<u32>) -> Self {
        Self {
            places,
            parts,
            count: 0,
            nearest: vec![(f64::INFINITY, 0); candidates.len()],
            candidates,
        }
    }

    /// Returns the vertices that are grouped.
    pub fn candidates(&self) -> &[u32] {
        &self.candidates
    }

    /// Grows the set to `count` centres, or to as many as there are places.
    pub fn grow(&mut self, count: usize) {
        while self.count < count {
            let most = self.nearest.iter().map(|n| n.0).fold(0.0, f64::max);
            let far = |n: &(f64, u32)| n.0 >= most * (1.0 - TIE_TOLERANCE);
            match self.nearest.iter().position(far) {
                Some(next) if most > 0.0 => self.add_centre(self.candidates[next] as usize),
                _ => return,
            }
        }
    }

    fn add_centre(&mut self, centre: usize) {
        let (place, part) = (self.places[centre], self.parts[centre]);
        for (nearest, &v) in self.nearest.iter_mut().zip(&self.candidates) {
            let square = (self.places[v as usize] - place).norm_squared();
            let nearer = square < nearest.0 * (1.0 - TIE_TOLERANCE);
            if self.parts[v as usize] == part && (nearer || nearest.0.is_infinite()) {
                *nearest = (square, self.count as u32);
            }
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
