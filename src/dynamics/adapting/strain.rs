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
//! [`FILL_SHARE`] of their threshold do so too; and details leave together, when they are a good part of all and have been calm for a while.

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
/// Time constant with which the peak of an active detail is forgotten, s. Flesh that swings passes through rest twice in a swing: without
/// memory its details leave and come back each time, and a change costs as much as ten steps. With twice the value they stay for long after
/// a motion.
const MEMORY: f64 = 0.25;
/// Share of the active details that must be superfluous before these leave by themselves.
const LEAVING_SHARE: f64 = 0.2;

/// Mean gradients of a body's functions over the flesh of each element. They give the strains of all elements in a time that follows the
/// functions, whatever the pieces of the elements.
pub(in crate::dynamics) struct StrainMeasure {
    /// 1/m, element by element, one per function there; zero without flesh.
    gradients: Vec<Vec3>,
}

impl StrainMeasure {
    pub fn new(body: &Body) -> Self {
        let elements = body.elements();
        let mut gradients = Vec::new();
        for e in 0..elements.len() {
            let first = gradients.len();
            gradients.resize(first + elements.corners(e).len(), Vec3::zeros());
            let own = &mut gradients[first..];
            let mut volume = 0.0;
            for piece in elements.pieces(e) {
                volume += piece.volume;
                for (sum, g) in own.iter_mut().zip(piece.gradients) {
                    *sum += g * piece.volume;
                }
            }
            if volume > 0.0 {
                own.iter_mut().for_each(|sum| *sum /= volume);
            }
        }
        Self { gradients }
    }

    /// Sets `strains` to the strain of each element; zero without flesh. `relative`: positions are a sway around carried flesh.
    fn measure(
        &self,
        body: &Body,
        (positions, skinned): (&[Vec3], &SkinnedLattice),
        relative: bool,
        strains: &mut Vec<f64>,
    ) {
        strains.clear();
        let mut first = 0;
        for (e, &volume) in body.blocks().volumes().iter().enumerate() {
            let corners = body.elements().corners(e);
            let gradients = &self.gradients[first..first + corners.len()];
            first += corners.len();
            if volume <= 0.0 {
                strains.push(0.0);
                continue;
            }
            let origin = positions[corners[0] as usize];
            let moved = |a: u32| {
                let a = a as usize;
                match (relative, body.is_detail(a)) {
                    (true, _) => positions[a] - skinned.places[a],
                    (false, true) => positions[a],
                    (false, false) => positions[a] - origin,
                }
            };
            let both = corners.iter().zip(gradients);
            let gradient: Mat3 = both.map(|(&a, g)| moved(a) * g.transpose()).sum();
            let f = match relative {
                true => Mat3::identity() + skinned.cell_turns[e].tr_mul(&gradient),
                false => gradient,
            };
            strains.push((0.5 * (f.tr_mul(&f) - Mat3::identity())).norm());
        }
    }
}

/// Scratch: the strain of each element of the active body, and the largest one in the support of each function of the whole body.
#[derive(Default)]
pub(in crate::dynamics) struct StrainPeaks {
    strains: Vec<f64>,
    peaks: Vec<f64>,
    /// Peaks of the active details at the ends of frames, the largest of the present one and the forgotten ones.
    remembered: Vec<f64>,
}

impl StrainPeaks {
    /// Finds the peaks at positions of the `active` body. Strains below `least` are taken for zero.
    pub fn find(
        &mut self,
        (whole, active, measure): (&Body, &Body, &StrainMeasure),
        shape: (&[Vec3], &SkinnedLattice),
        (relative, least): (bool, f64),
    ) {
        measure.measure(active, shape, relative, &mut self.strains);
        self.peaks.clear();
        self.peaks.resize(whole.node_count(), 0.0);
        let volumes = whole.blocks().volumes();
        for (e, &strain) in (0..).zip(&self.strains) {
            if strain < least {
                continue;
            }
            for part in active.basis().parts_of_element(whole.basis(), e) {
                if volumes[part as usize] > 0.0 {
                    for &a in whole.basis().functions(part) {
                        let peak = &mut self.peaks[a as usize];
                        *peak = peak.max(strain);
                    }
                }
            }
        }
    }

    /// Sets the peaks.
    pub fn set(&mut self, peaks: impl Iterator<Item = f64>) {
        self.peaks.clear();
        self.peaks.extend(peaks);
    }

    /// Remembers the peaks of the details of a set at the end of a frame of `dt` seconds.
    pub fn remember(&mut self, set: &ActiveSet, dt: f64) {
        let kept = (-dt / MEMORY).exp();
        self.remembered.resize(self.peaks.len(), 0.0);
        let both = self.remembered.iter_mut().zip(&self.peaks);
        for (a, (known, &peak)) in (0..).zip(both) {
            *known = match set.contains(a) {
                true => peak.max(*known * kept),
                false => 0.0,
            };
        }
    }

    /// Returns the remembered peak of a function.
    pub fn remembered(&self, function: u32) -> f64 {
        let known = self.remembered.get(function as usize);
        known.copied().unwrap_or_default()
    }

    /// Forgets all peaks, and remembers those of some functions.
    pub fn set_remembered(&mut self, count: usize, peaks: impl Iterator<Item = (u32, f64)>) {
        self.remembered.clear();
        self.remembered.resize(count, 0.0);
        peaks.for_each(|(a, peak)| self.remembered[a as usize] = peak);
    }
}

/// Returns the least strain that matters where the lowest threshold is `lowest`, and details may leave or not.
pub(in crate::dynamics) fn least_strain(lowest: f64, coarsen: bool) -> f64 {
    match coarsen {
        true => COARSEN_SHARE * lowest,
        false => FILL_SHARE * lowest,
    }
}

/// Returns the set that the peaks ask for; `None` if the present one stays. `coarsen`: details may leave, by the remembered peaks.
pub(in crate::dynamics) fn wanted(
    (whole, set): (&Body, &ActiveSet),
    peaks: &StrainPeaks,
    thresholds: &[f64; MAX_LEVELS],
    coarsen: bool,
) -> Option<ActiveSet> {
    let basis = whole.basis();
    let details = basis.coarse_len() as u32..basis.len() as u32;
    let threshold = |a: u32| thresholds[basis.level_of(a as usize) - 1];
    let share = |a: u32| peaks.peaks[a as usize] / threshold(a);
    let past = |a: u32| peaks.remembered(a) / threshold(a);
    let missing = details.clone().any(|a| !set.contains(a) && share(a) > 1.0);
    let leaves = |a: &u32| coarsen && set.contains(*a) && past(*a) < COARSEN_SHARE;
    let leaving = details.clone().filter(leaves).count();
    let active = set.count() - basis.coarse_len();
    let enough = leaving > 0 && leaving as f64 >= LEAVING_SHARE * active as f64;
    if !missing && !enough {
        return None;
    }
    let mut next = set.clone();
    details.clone().filter(leaves).for_each(|a| next.remove(a));
    if missing {
        details
            .filter(|&a| share(a) > FILL_SHARE)
            .for_each(|a| next.insert(a));
    }
    Some(next)
}
