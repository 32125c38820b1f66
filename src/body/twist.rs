// SPDX-License-Identifier: MIT OR Apache-2.0
//! Twist energy of a body: a tube of flesh around each bone resists spinning about it [capell2002, §4.6].

use super::BodySettings;
use super::cell_pairs::add_pairs;
use super::transfer::NodeField;
use crate::Vec3;
use crate::basis::Basis;
use crate::elasticity::twist::default_radius;
use crate::elasticity::{FleshDomain, Material, PaintMap, TwistRegion};
use crate::lattice::Lattice;
use crate::skeleton::Skeleton;
use crate::solve::ScalarMatrix;
use rayon::prelude::*;

/// Bone of a straight piece of skeleton in a lattice, with its ends.
type Axis = (u32, Vec3, Vec3);

/// Returns each straight piece of skeleton in a lattice: its chains, virtual tips included.
fn axes(lattice: &Lattice) -> impl Iterator<Item = Axis> {
    let bones = lattice.bones();
    let drivers = bones.used_bones.iter().chain(&bones.tip_bones);
    drivers.zip(&bones.chains).filter_map(|(&bone, chain)| {
        let at = |v: &u32| lattice.vertices()[*v as usize];
        Some((bone, at(chain.first()?), at(chain.last()?)))
    })
}

/// Returns the default radius around each straight piece of skeleton, as the flesh has it, metres.
pub(super) fn default_radii(lattice: &Lattice, flesh: &dyn FleshDomain) -> Vec<f64> {
    let axes: Vec<Axis> = axes(lattice).collect();
    let radius = |&(_, head, tail): &Axis| default_radius(flesh, head, tail);
    axes.par_iter().map(radius).collect()
}

/// Builds one tube per straight piece of skeleton, with its default radius of `radii` as the flesh has it.
pub(super) fn regions(
    skeleton: &Skeleton,
    basis: &Basis,
    radii: &[f64],
    material: &Material,
    weights: &NodeField,
    settings: &BodySettings,
) -> Vec<TwistRegion> {
    axes(basis.lattice())
        .zip(radii)
        .map(|((bone, head, tail), &radius)| {
            let own = settings.twist.get(&skeleton.names()[bone as usize]);
            let radius = own.and_then(|own| own.radius).unwrap_or_else(|| {
                // A bone on the skin or outside still has to hold the flesh that follows it.
                let radius =
                    radius.max(MIN_RADIUS_SHARE * mean_breadth(basis, weights, bone, head, tail));
                // A tube much thicker than its bone would tie down flesh that other bones move.
                let bone = bone as usize;
                let reach = (skeleton.tails()[bone] - skeleton.heads()[bone]).norm();
                radius.min(0.5 * reach.max((tail - head).norm()))
            });
            let stiffness = material.young() / (radius * radius);
            TwistRegion {
                bone,
                head,
                tail,
                radius,
                stiffness: own.map_or(stiffness, |own| own.strength * stiffness),
                own: own.is_some(),
            }
        })
        .filter(|r| r.radius > 0.0 && r.stiffness.is_finite())
        .collect()
}

/// Lower bound of the default twist radius, as a part of the flesh's mean distance from the bone's line.
const MIN_RADIUS_SHARE: f64 = 0.25;

/// Returns the weighted mean distance, from a bone's line, of the lattice vertices that follow the bone.
fn mean_breadth(basis: &Basis, weights: &NodeField, bone: u32, head: Vec3, tail: Vec3) -> f64 {
    let Some(axis) = (tail - head).try_normalize(0.0) else {
        return 0.0;
    };
    let (mut sum, mut total) = (0.0, 0.0);
    for (v, x) in basis.lattice().vertices().iter().enumerate() {
        let w = weights.row(v)[bone as usize];
        sum += w * (x - head).cross(&axis).norm();
        total += w;
    }
    if total > 0.0 { sum / total } else { 0.0 }
}

/// Target of the twist energy at a lattice vertex: the sum over bones of `s T(0) + T.linear y`, with T the map of the
/// bone from rest to the pose, and s and y below.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct TwistLoad {
    /// The lattice vertex.
    pub vertex: u32,
    /// The bone whose tube of flesh contains part of the vertex's function.
    pub bone: u32,
    /// s = `∫ κ w φ_a`, N/m, with w the flesh's weight for the bone.
    pub sum: f64,
    /// y = `∫ κ w φ_a x`, N, in rest coordinates.
    pub moment: Vec3,
}

impl TwistLoad {
    /// Returns the target of flesh that is stiffer by a factor.
    pub(super) fn scaled(&self, factor: f64) -> Self {
        Self {
            sum: self.sum * factor,
            moment: self.moment * factor,
            ..*self
        }
    }
}

/// Twist of the bones for which it was [set](BodySettings::twist): the part of the twist energy that acts as a load by every method.
///
/// Its **pull** `Σ_β (Mt_β T_β(x)) − Mt T(x)`, β over these bones, moves flesh from where all its bones carry it to where each
/// of these bones has it.
#[derive(Debug, Clone)]
pub struct OwnTwist {
    /// Hessian Mt of these bones, N/m, with the sparsity of the mass.
    pub matrix: ScalarMatrix,
    /// Targets of these bones, sorted by vertex, then bone.
    pub loads: Vec<TwistLoad>,
}

impl OwnTwist {
    /// Takes the targets of the bones with a twist of their own; `None` without a matrix.
    pub(super) fn new(
        matrix: Option<ScalarMatrix>,
        loads: &[TwistLoad],
        regions: &[TwistRegion],
    ) -> Option<Self> {
        let is_own = |load: &&TwistLoad| regions.iter().any(|r| r.own && r.bone == load.bone);
        Some(Self {
            matrix: matrix?,
            loads: loads.iter().filter(is_own).copied().collect(),
        })
    }

    /// Returns the twist of flesh that is stiffer by a factor.
    pub(super) fn scaled(&self, factor: f64) -> Self {
        Self {
            matrix: self.matrix.map(|k| k * factor),
            loads: self.loads.iter().map(|l| l.scaled(factor)).collect(),
        }
    }
}

/// The twist's Hessian, its targets, and the points at which it acts.
pub(super) struct TwistEnergy {
    pub matrix: ScalarMatrix,
    pub loads: Vec<TwistLoad>,
    /// Cell and place at rest of each integration point.
    pub points: Vec<(u32, Vec3)>,
    /// Hessian of the bones with a twist of their own; `None`: no bone has one.
    pub own: Option<ScalarMatrix>,
}

/// Integrates the tubes over the flesh inside them. `painted` holds the material factors, which scale the tube's stiffness
/// point by point.
pub(super) fn energy(
    basis: &Basis,
    flesh: &dyn FleshDomain,
    regions: &[TwistRegion],
    weights: &NodeField,
    painted: &PaintMap,
) -> TwistEnergy {
    let mut twist = TwistEnergy {
        matrix: basis.matrix(),
        loads: Vec::new(),
        points: Vec::new(),
        own: regions.iter().any(|r| r.own).then(|| basis.matrix()),
    };
    let sampled: Vec<_> = regions
        .par_iter()
        .map(|r| r.samples(basis, flesh))
        .collect();
    for (region, samples) in regions.iter().zip(&sampled) {
        for ((&element, row), &w) in samples
            .elements
            .iter()
            .zip(&samples.rows)
            .zip(&samples.weights)
        {
            // Flesh in the overlap of two bones' tubes must not be torn between them.
            let coarse = || {
                row.iter()
                    .filter(|(v, _)| (*v as usize) < basis.coarse_len())
            };
            let follows: f64 = coarse()
                .map(|&(v, s)| s * weights.row(v as usize)[region.bone as usize])
                .sum();
            if follows <= 0.0 {
                continue;
            }
            let cell = basis.cell(element);
            let w = w * follows * painted.factors(cell, coarse().copied()).stiffness;
            let at = |&(v, s): &(u32, f64)| basis.rest_shape()[v as usize] * s;
            let x: Vec3 = row.iter().map(at).sum();
            twist.points.push((cell, x));
            let mut products = Vec::with_capacity(row.len() * (row.len() + 1) / 2);
            for (i, &(a, s)) in row.iter().enumerate() {
                products.extend(row[i..].iter().map(|&(_, t)| w * s * t));
                twist.loads.push(TwistLoad {
                    vertex: a,
                    bone: region.bone,
                    sum: w * s,
                    moment: x * (w * s),
                });
            }
            add_pairs(&mut twist.matrix, basis.functions(element), &products);
            if let Some(own) = twist.own.as_mut().filter(|_| region.own) {
                add_pairs(own, basis.functions(element), &products);
            }
        }
    }
    // A stable sort keeps the order of summation, and with it the bits.
    twist.loads.sort_by_key(|l| (l.vertex, l.bone));
    twist.loads.dedup_by(|next, kept| {
        let same = (next.vertex, next.bone) == (kept.vertex, kept.bone);
        if same {
            kept.sum += next.sum;
            kept.moment += next.moment;
        }
        same
    });
    twist
}
