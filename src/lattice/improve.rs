// SPDX-License-Identifier: MIT OR Apache-2.0
//! Mesh improvement at fixed topology: vertices climb the worst dihedral angle around them.

use crate::Vec3;
use crate::geometry::groups::Groups;
use crate::geometry::tetrahedron::quality;

/// Input of a climb: the mesh, its movable vertices and their limits.
pub(crate) struct Climb<'a> {
    /// Tetrahedra of the whole box.
    pub tets: &'a [[u32; 4]],
    /// Tetrahedra that stay in the lattice; the others only must not be inverted.
    pub keep: &'a [bool],
    /// For each vertex, its size, or zero if it is fixed.
    pub step_bound: &'a [f64],
    /// Predicate for the positions that a vertex may move to.
    pub allowed: &'a dyn Fn(usize, Vec3) -> bool,
    /// Quality from which a vertex is not moved, radians.
    pub goal: f64,
}

/// Lengths of trial steps, the longest first, as shares of a vertex's `step_bound`.
const STEP_SHARES: [f64; 4] = [0.25, 0.1, 0.04, 0.015];
/// Smallest quality of a tetrahedron that is not kept, radians.
const MIN_KEPT_QUALITY: f64 = 0.01;

impl Climb<'_> {
    /// Sweeps over the vertices until none moves, at most `sweeps` times.
    pub(crate) fn run(&self, x: &mut [Vec3], sweeps: usize) {
        let incident = Groups::from_elements(x.len(), self.tets);
        let directions = directions();
        // A vertex is examined again only after a vertex near it has moved.
        let mut active = vec![true; x.len()];
        for _ in 0..sweeps {
            let mut any = false;
            let mut around: Vec<u32> = Vec::new();
            for v in 0..x.len() {
                if self.step_bound[v] <= 0.0 || !std::mem::replace(&mut active[v], false) {
                    continue;
                }
                around.clear();
                around.extend(incident.members(v));
                let before = self.worst_quality(x, &around, v, x[v], f64::NEG_INFINITY);
                if before >= self.goal {
                    continue;
                }
                // Worst first: most positions fail at the first few.
                around.sort_by_cached_key(|&t| {
                    let q = quality(&self.tets[t as usize].map(|u| x[u as usize]));
                    ((q * 1e9) as i64, t)
                });
                let mut best = (before * 1.01 + 1e-4, x[v]);
                for step in STEP_SHARES {
                    for d in &directions {
                        let p = x[v] + d * (step * self.step_bound[v]);
                        if !(self.allowed)(v, p) {
                            continue;
                        }
                        let q = self.worst_quality(x, &around, v, p, best.0);
                        if q > best.0 {
                            best = (q, p);
                        }
                    }
                }
                if best.1 != x[v] {
                    x[v] = best.1;
                    any = true;
                    for &t in &around {
                        for &u in &self.tets[t as usize] {
                            active[u as usize] = true;
                        }
                    }
                }
            }
            if !any {
                break;
            }
        }
    }

    /// Returns the worst quality around `v` placed at `p`; stops early once it is at most `bar`.
    fn worst_quality(&self, x: &[Vec3], around: &[u32], v: usize, p: Vec3, bar: f64) -> f64 {
        let mut worst = f64::INFINITY;
        for &t in around {
            let corners =
                self.tets[t as usize].map(|u| if u as usize == v { p } else { x[u as usize] });
            let mut q = quality(&corners);
            if !self.keep[t as usize] && q > MIN_KEPT_QUALITY {
                q = f64::INFINITY;
            }
            worst = worst.min(q);
            if worst <= bar {
                break;
            }
        }
        worst
    }
}

fn directions() -> Vec<Vec3> {
    (0..27)
        .map(|i| {
            Vec3::new(
                (i % 3 - 1) as f64,
                (i / 3 % 3 - 1) as f64,
                (i / 9 - 1) as f64,
            )
        })
        .filter_map(|d| d.try_normalize(0.5))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Smoothing raises the worst angle, inverts no cell and leaves the fixed vertices in place.
    #[test]
    fn improve_raises_worst_angle() {
        // An octahedron around an off-centre inner vertex.
        let mut x: Vec<Vec3> = vec![Vec3::new(0.7, 0.1, 0.1)];
        for k in 0..3 {
            for s in [1.0, -1.0] {
                let mut p = Vec3::zeros();
                p[k] = s;
                x.push(p);
            }
        }
        let mut tets = Vec::new();
        for i in 0..8 {
            let c = [1 + (i & 1), 3 + (i >> 1 & 1), 5 + (i >> 2 & 1)];
            let mut t = [0, c[0] as u32, c[1] as u32, c[2] as u32];
            if crate::geometry::tetrahedron::volume(&t.map(|v| x[v as usize])) < 0.0 {
                t.swap(2, 3);
            }
            tets.push(t);
        }
        let worst = |x: &[Vec3]| {
            let q = |t: &[u32; 4]| quality(&t.map(|v| x[v as usize]));
            tets.iter().map(q).fold(f64::INFINITY, f64::min)
        };
        let before = worst(&x);
        let mut step_bound = vec![0.0; 7];
        step_bound[0] = 1.0;
        let fixed = x[1..].to_vec();
        Climb {
            tets: &tets,
            keep: &[true; 8],
            step_bound: &step_bound,
            allowed: &|_, _| true,
            goal: 1.2,
        }
        .run(&mut x, 20);
        assert!(worst(&x) > before + 0.2 && worst(&x) > 0.9);
        assert_eq!(&x[1..], &fixed[..]);
    }
}
