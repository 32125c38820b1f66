// SPDX-License-Identifier: MIT OR Apache-2.0
//! Distances from points of a skin in other flesh to points outside of other flesh.
//!
//! On the way between the two the other flesh ends, so nothing is deeper in it than this way is long. Skin that enters other flesh point by point
//! therefore begins at depth zero, whichever skin is found to be nearest.

use crate::Vec3;
use crate::contact::skin::ContactSkin;
use std::collections::BTreeMap;

/// Distance at rest below which proxies are neighbours, in distances between proxies. Half and twice the value leave the same depths.
const NEIGHBOUR_DISTANCE: f64 = 2.5;
/// Most neighbours that a way passes. Half and twice the number leave the same depths.
const MAX_NEIGHBOURS: usize = 24;

/// The proxies of a skin and their neighbours.
#[derive(Debug)]
pub(in crate::contact) struct ProxyGraph {
    /// Neighbours of all proxies; and the first index of each proxy's.
    neighbours: Vec<u32>,
    starts: Vec<usize>,
    ways: Vec<f64>,
}

impl ProxyGraph {
    pub fn new(skin: &ContactSkin) -> Self {
        let far = NEIGHBOUR_DISTANCE * skin.proxy_distance();
        let key = |x: &Vec3| [0, 1, 2].map(|k| (x[k] / far).floor() as i64);
        let mut cubes: BTreeMap<[i64; 3], Vec<u32>> = BTreeMap::new();
        for (i, proxy) in (0u32..).zip(skin.proxies()) {
            cubes.entry(key(&proxy.rest)).or_default().push(i);
        }
        let (mut neighbours, mut starts) = (Vec::new(), vec![0]);
        for (i, proxy) in (0u32..).zip(skin.proxies()) {
            let [x, y, z] = key(&proxy.rest);
            let around = (0..27).map(|n| [x + n / 9 - 1, y + n / 3 % 3 - 1, z + n % 3 - 1]);
            let near = around
                .filter_map(|cube| cubes.get(&cube))
                .flatten()
                .copied();
            let is_near = |&j: &u32| {
                let apart = skin.proxies()[j as usize].rest - proxy.rest;
                j != i && apart.norm_squared() <= far * far
            };
            neighbours.extend(near.filter(is_near));
            starts.push(neighbours.len());
        }
        Self {
            neighbours,
            starts,
            ways: vec![0.0; skin.proxies().len()],
        }
    }

    /// Finds the lengths of the ways out of the proxies in `inside`, which lie in other flesh, metres, in their order. `unknown` marks proxies
    /// through which no way leads; `place` returns the position of a proxy.
    pub fn exit_distances(
        &mut self,
        inside: &[u32],
        unknown: &[bool],
        place: impl Fn(u32) -> Vec3,
    ) -> Vec<f64> {
        for &i in inside {
            self.ways[i as usize] = f64::INFINITY;
        }
        let step = |j: u32, ways: &[f64]| match unknown[j as usize] {
            true => f64::INFINITY,
            false => ways[j as usize],
        };
        let lengths: Vec<Vec<f64>> = inside
            .iter()
            .map(|&i| {
                let x = place(i);
                let far = |&j: &u32| (place(j) - x).norm();
                self.neighbours(i).iter().map(far).collect()
            })
            .collect();
        for _ in 0..MAX_NEIGHBOURS {
            let mut changed = false;
            for (&i, lengths) in inside.iter().zip(&lengths) {
                let ways = self.neighbours(i).iter().zip(lengths);
                let ways = ways.map(|(&j, length)| step(j, &self.ways) + length);
                let way = ways.fold(f64::INFINITY, f64::min);
                if way < self.ways[i as usize] {
                    self.ways[i as usize] = way;
                    changed = true;
                }
            }
            if !changed {
                break;
            }
        }
        let found = inside
            .iter()
            .map(|&i| std::mem::take(&mut self.ways[i as usize]));
        found.collect()
    }

    /// Returns proxies and their neighbours, ascending.
    pub fn with_neighbours(&self, proxies: &[u32]) -> Vec<u32> {
        let beside = proxies.iter().flat_map(|&i| self.neighbours(i)).copied();
        let mut all: Vec<u32> = proxies.iter().copied().chain(beside).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    fn neighbours(&self, i: u32) -> &[u32] {
        &self.neighbours[self.starts[i as usize]..self.starts[i as usize + 1]]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contact::tests::ShapedBar;

    /// Returns a bar in its rest shape and the exit distances of its proxies in `inside`.
    fn find_exits(inside: &[u32], unknown: impl Fn(u32) -> bool) -> (ShapedBar, Vec<f64>) {
        let flesh = ShapedBar::new(|x| *x, 0.0);
        let all = flesh.skin.proxies();
        let unknown: Vec<bool> = (0..all.len() as u32).map(unknown).collect();
        let place = |i: u32| all[i as usize].rest;
        let ways = ProxyGraph::new(&flesh.skin).exit_distances(inside, &unknown, place);
        (flesh, ways)
    }

    /// A way out is no shorter than the distance to the nearest free point; for a single point it equals it.
    #[test]
    fn way_out_at_least_nearest_distance() {
        let (flesh, alone) = find_exits(&[7], |_| false);
        let rest = |i: usize| flesh.skin.proxies()[i].rest;
        let count = flesh.skin.proxies().len();
        let nearest = |i: usize, but: &[u32]| {
            let others = (0..count).filter(|&j| j != i && !but.contains(&(j as u32)));
            others
                .map(|j| (rest(j) - rest(i)).norm())
                .fold(f64::INFINITY, f64::min)
        };
        assert!((alone[0] - nearest(7, &[])).abs() < 1e-12);
        let half: Vec<u32> = (0..count as u32)
            .filter(|&i| rest(i as usize).z > 0.8)
            .collect();
        let (_, found) = find_exits(&half, |_| false);
        for (&i, way) in half.iter().zip(&found) {
            let least = nearest(i as usize, &half);
            assert!(way.is_finite() && *way >= least - 1e-12, "{way} {least}");
        }
        assert!(
            found
                .iter()
                .any(|way| *way > 2.0 * flesh.skin.proxy_distance())
        );
    }

    /// Points whose place is unknown set no bound, so the way out is infinite.
    #[test]
    fn way_out_infinite_if_unknown() {
        let (_, found) = find_exits(&[3, 4], |_| true);
        assert_eq!(found, [f64::INFINITY; 2]);
    }
}
