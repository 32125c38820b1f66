// SPDX-License-Identifier: MIT OR Apache-2.0
//! Interpolates lengths of spokes where rays are missing: a membrane over the tube with the least change from spoke to spoke, held by rays
//! according to their trust.

use crate::mrep::initial::skin::Exit;

/// Stiffness of the membrane around the tube. Along the tube it is the mean length over the distance of the hubs. Around it is lower, as limbs change
/// less along than across. Half and twice of it leave fits to limbs of five known characters the same.
const AROUND: f64 = 0.3;
/// Compliance of a fully trusted ray. It is above zero, as many rays from hubs much nearer to each other than their spokes are long tell no more
/// than few. Half and twice of it leave fits to limbs of five known characters the same.
const SLACK: f64 = 0.004;
/// Largest stiffness along the tube, however near hubs are. Half and twice of it leave fits to limbs of five known characters the same.
const STIFFEST: f64 = 1e3;

/// Fills the lengths of all spokes from rays, with hubs `steps` apart: minimises `Σ w (x − told)² + Σ stiffness (x_i − x_j)²` by conjugate gradients.
pub(in crate::mrep) fn fill(exits: &[Vec<Option<Exit>>], steps: &[f64]) -> Vec<Vec<f64>> {
    let (rows, cols) = (exits.len(), exits[0].len());
    let hold = |exit: &Option<Exit>| exit.map_or(0.0, |e| e.trust / (1.0 - e.trust + SLACK));
    let all: Vec<Option<Exit>> = exits.iter().flatten().copied().collect();
    let holds: Vec<f64> = all.iter().map(hold).collect();
    let told: Vec<f64> = all.iter().map(|e| e.map_or(0.0, |e| e.distance)).collect();
    let total: f64 = holds.iter().sum();
    let mean = holds.iter().zip(&told).map(|(w, x)| w * x).sum::<f64>() / total;
    let along: Vec<f64> = steps
        .iter()
        .map(|step| (mean / step).min(STIFFEST))
        .collect();
    let neighbours = |k: usize| {
        let (i, q) = (k / cols, k % cols);
        let around = [(q + 1) % cols, (q + cols - 1) % cols].map(|q| (i * cols + q, AROUND));
        let before = (i > 0).then(|| (k - cols, along[i - 1]));
        let after = (i + 1 < rows).then(|| (k + cols, along[i]));
        around.into_iter().chain(before).chain(after)
    };
    let apply = |x: &[f64]| -> Vec<f64> {
        let row = |k: usize| {
            let differences = neighbours(k).map(|(j, c)| c * (x[k] - x[j]));
            holds[k] * x[k] + differences.sum::<f64>()
        };
        (0..x.len()).map(row).collect()
    };
    let diagonal: Vec<f64> = (0..all.len())
        .map(|k| holds[k] + neighbours(k).map(|(_, c)| c).sum::<f64>())
        .collect();
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>();
    // Starting from the mean, constant lengths are solved at once.
    let mut x = vec![mean; all.len()];
    let right: Vec<f64> = holds.iter().zip(&told).map(|(w, x)| w * x).collect();
    let mut residual: Vec<f64> = (right.iter().zip(apply(&x))).map(|(b, y)| b - y).collect();
    let precondition =
        |r: &[f64]| -> Vec<f64> { r.iter().zip(&diagonal).map(|(r, d)| r / d).collect() };
    let mut scaled = precondition(&residual);
    let mut way = scaled.clone();
    let mut energy = dot(&residual, &scaled);
    let least = energy * 1e-30;
    for _ in 0..4 * (rows + cols) + 100 {
        if energy <= least || energy <= 1e-30 * total * mean * mean {
            break;
        }
        let image = apply(&way);
        let step = energy / dot(&way, &image);
        for k in 0..x.len() {
            x[k] += step * way[k];
            residual[k] -= step * image[k];
        }
        scaled = precondition(&residual);
        let next = dot(&residual, &scaled);
        for k in 0..x.len() {
            way[k] = scaled[k] + next / energy * way[k];
        }
        energy = next;
    }
    // Up to rounding a membrane stays within the range of its rays.
    let (least, most) = (all.iter().flatten().filter(|e| e.trust > 0.0))
        .fold((f64::INFINITY, 0.0_f64), |(lo, hi), e| {
            (lo.min(e.distance), hi.max(e.distance))
        });
    x.chunks(cols)
        .map(|row| row.iter().map(|x| x.clamp(least, most)).collect())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(distance: f64, trust: f64) -> Option<Exit> {
        Some(Exit { distance, trust })
    }

    #[test]
    fn rays_are_kept_and_gaps_filled_between_them() {
        let mut exits = vec![vec![None; 6]; 5];
        exits[0].fill(told(1.0, 1.0));
        exits[4].fill(told(2.0, 1.0));
        exits[2][3] = told(7.0, 0.0);
        let filled = fill(&exits, &[1.0; 4]);
        for (i, row) in filled.iter().enumerate() {
            for x in row {
                assert!((x - (1.0 + 0.25 * i as f64)).abs() < 0.02, "{filled:?}");
            }
        }
        // Half a trust holds half.
        exits[2][3] = told(2.5, 0.5);
        let held = fill(&exits, &[1.0; 4])[2][3];
        assert!(held > 1.6 && held < 2.4, "{held}");
    }

    #[test]
    fn gaps_do_not_depend_on_the_unit() {
        let exits = |scale: f64| -> Vec<Vec<Option<Exit>>> {
            (0..7)
                .map(|i| {
                    let told = |q: usize| {
                        (!(i * 8 + q).is_multiple_of(3))
                            .then(|| {
                                told(scale * (1.0 + 0.1 * (i * q) as f64), 0.1 * (2 + q) as f64)
                            })
                            .flatten()
                    };
                    (0..8).map(told).collect()
                })
                .collect()
        };
        let (plain, large) = (fill(&exits(1.0), &[2.0; 6]), fill(&exits(1e3), &[2e3; 6]));
        for (a, b) in plain.iter().flatten().zip(large.iter().flatten()) {
            assert!((a - b / 1e3).abs() < 1e-12, "{a} {b}");
        }
    }
}
