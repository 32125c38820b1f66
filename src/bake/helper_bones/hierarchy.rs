// SPDX-License-Identifier: MIT OR Apache-2.0
//! Parents of the helpers, and where they lie at rest.

use super::problem::Problem;
use super::rig::Rig;
use crate::{Mat3, Vec3};

/// Shortest helper, in units of the size: bones of no length are removed by 3D programs.
const MIN_LENGTH: f64 = 0.02;

/// Names the own bones that carry most of each helper's skin, unless its parent is a part of the fit.
pub(super) fn set_parents(rig: &mut Rig, problem: &Problem, plain_at_rest: bool) {
    if !plain_at_rest {
        rig.parents = parents(problem, rig);
    }
}

/// Returns the own bone that carries most of the skin of each helper.
fn parents(problem: &Problem, rig: &Rig) -> Vec<u32> {
    let mut carried = vec![vec![0.0; problem.bone_count]; rig.maps.len()];
    for (v, skin) in rig.skins.iter().enumerate() {
        let (bones, weights) = problem.own.row(v);
        for &(h, w) in &skin.helpers {
            for (&b, own) in bones.iter().zip(weights) {
                carried[h as usize][b as usize] += w * own;
            }
        }
    }
    let heaviest = |sums: &Vec<f64>| {
        let first = |best: usize, b: usize| if sums[b] > sums[best] { b } else { best };
        (0..sums.len()).fold(0, first) as u32
    };
    carried.iter().map(heaviest).collect()
}

/// Returns the head of each helper, the centre of its skin, and its tail, by the root mean square of its skin's distance from there
/// along the axis in which its skin is longest, outwards.
pub(super) fn heads_and_tails(problem: &Problem, rig: &Rig) -> Vec<(Vec3, Vec3)> {
    let helpers = rig.maps.len();
    let mut total = vec![0.0; helpers];
    let mut sums = vec![Vec3::zeros(); helpers];
    let mut squares = vec![Mat3::zeros(); helpers];
    for (skin, p) in rig.skins.iter().zip(&problem.rest) {
        let p = Vec3::from(*p);
        for &(h, w) in &skin.helpers {
            total[h as usize] += w;
            sums[h as usize] += p * w;
            squares[h as usize] += p * p.transpose() * w;
        }
    }
    let place = |h: usize| {
        let head = sums[h] / total[h].max(f64::MIN_POSITIVE);
        let spread = squares[h] / total[h].max(f64::MIN_POSITIVE) - head * head.transpose();
        let eigen = spread.symmetric_eigen();
        let longest = eigen.eigenvalues.imax();
        let mut axis: Vec3 = eigen.eigenvectors.column(longest).into();
        if axis.dot(&head) < 0.0 {
            axis = -axis;
        }
        let length = eigen.eigenvalues[longest].max(0.0).sqrt().max(MIN_LENGTH);
        (head, head + axis * length)
    };
    (0..helpers).map(place).collect()
}
