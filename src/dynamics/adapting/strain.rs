// SPDX-License-Identifier: MIT OR Apache-2.0
//! Strain of the flesh, and the details that it asks for.
//!
//! The strain of an element is the norm of `E = ½ (FᵀF − I)`, with F the mean of the deformation gradient over the element's flesh.
//! Flesh of the hyperelastic method, which bones carry, has `F = I + Rᵀ ∇u` with the sway u. The peak of a detail is the largest strain in
//! the elements that it lives on. A detail becomes active where its peak exceeds the threshold of its level, and inactive where
//! it falls below [`COARSEN_SHARE`] of that.
//!
//! Thresholds grow fourfold with the level: coarse functions underestimate the strain that asks for finer ones. An arm pulled at a point by a third of its
//! thickness, with the default thresholds, has the shape of all functions to 2.0 % of the displacement with a twelfth of them; with half the values 0.8 % and a
//! seventh, with twice 2.6 % and a twentieth. At a twofold growth the same errors take a half more functions.
//!
//! Sets change rarely, because each change costs about as much as some steps: whenever one detail must become active, all above
//! [`FILL_SHARE`] of their threshold do so too; and details leave together, when they are a good part of all.

use crate::basis::{ActiveSet, MAX_LEVELS};
use crate::body::Body;
use crate::dynamics::SkinnedLattice;
use crate::{Mat3, Vec3};

/// Share of its level's threshold below which a detail leaves. With a half flesh that swings around its threshold
/// changes its set in every swing; with a fifth details stay where nothing moves.
const COARSEN_SHARE: f64 = 1.0 / 3.0;
/// Share of its level's threshold from which a detail becomes active together with others. At 1 a pull that grows
/// changes the set in every frame; at a half a third more functions are active.
const FILL_SHARE: f64 = 0.7;
/// Share of the active details that must be superfluous before these leave by themselves.
const LEAVING_SHARE: f64 = 0.2;

/// Returns the strain of each element; zero without flesh. `relative`: positions are a sway around carried flesh.
pub(in crate::dynamics) fn element_strains(
    body: &Body,
    (positions, skinned): (&[Vec3], &SkinnedLattice),
    relative: bool,
) -> Vec<f64> {
    let (elements, volumes) = (body.elements(), body.blocks().volumes());
    let strain = |e: usize| {
        let corners = elements.corners(e);
        let origin = positions[corners[0] as usize];
        let moved = |a: u32| {
            let a = a as usize;
            match (relative, body.is_detail(a)) {
                (true, _) => positions[a] - skinned.places[a],
                (false, true) => positions[a],
                (false, false) => positions[a] - origin,
            }
        };
        let (mut sum, mut volume) = (Mat3::zeros(), 0.0);
        for piece in elements.pieces(e) {
            for (&a, g) in corners.iter().zip(piece.gradients) {
                sum += moved(a) * g.transpose() * piece.volume;
            }
            volume += piece.volume;
        }
        let gradient = sum / volume;
        let f = match relative {
            true => Mat3::identity() + skinned.cell_turns[e].tr_mul(&gradient),
            false => gradient,
        };
        (0.5 * (f.tr_mul(&f) - Mat3::identity())).norm()
    };
    let all = volumes.iter().enumerate();
    all.map(|(e, &volume)| if volume > 0.0 { strain(e) } else { 0.0 })
        .collect()
}

/// Returns the largest strain in the support of each function of the whole body, from those in the elements of the active one. Strains that no
/// detail stays for are taken for zero, where `lowest` is the lowest threshold.
pub(in crate::dynamics) fn peaks(
    (whole, active): (&Body, &Body),
    strains: &[f64],
    lowest: f64,
) -> Vec<f64> {
    let mut peaks = vec![0.0f64; whole.node_count()];
    let volumes = whole.blocks().volumes();
    for (e, &strain) in (0..).zip(strains) {
        if strain < COARSEN_SHARE * lowest {
            continue;
        }
        for part in active.basis().parts_of_element(whole.basis(), e) {
            if volumes[part as usize] > 0.0 {
                for &a in whole.basis().functions(part) {
                    let peak = &mut peaks[a as usize];
                    *peak = peak.max(strain);
                }
            }
        }
    }
    peaks
}

/// Returns the set that the peaks ask for; `None` if the present one stays. `coarsen`: details may leave.
pub(in crate::dynamics) fn wanted(
    (whole, set): (&Body, &ActiveSet),
    peaks: &[f64],
    thresholds: &[f64; MAX_LEVELS],
    coarsen: bool,
) -> Option<ActiveSet> {
    let basis = whole.basis();
    let details = basis.coarse_len() as u32..basis.len() as u32;
    let share = |a: u32| {
        let threshold = thresholds[basis.level_of(a as usize) - 1];
        peaks[a as usize] / threshold
    };
    let missing = details.clone().any(|a| !set.contains(a) && share(a) > 1.0);
    let leaving: Vec<u32> = details
        .clone()
        .filter(|&a| coarsen && set.contains(a) && share(a) < COARSEN_SHARE)
        .collect();
    let active = set.count() - basis.coarse_len();
    let enough = !leaving.is_empty() && leaving.len() as f64 >= LEAVING_SHARE * active as f64;
    if !missing && !enough {
        return None;
    }
    let mut next = set.clone();
    leaving.into_iter().for_each(|a| next.remove(a));
    if missing {
        details
            .filter(|&a| share(a) > FILL_SHARE)
            .for_each(|a| next.insert(a));
    }
    Some(next)
}
