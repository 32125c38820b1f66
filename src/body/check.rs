// SPDX-License-Identifier: MIT OR Apache-2.0
//! Checks of a body's inputs before anything is integrated.

use super::{BodyError, BodySettings};
use crate::basis::{Basis, MAX_LEVELS};
use crate::elasticity::Material;
use crate::lattice::{Embedding, Lattice};
use crate::skeleton::{Skeleton, SkinWeights};
use crate::surface::Surface;

/// Distance outside the lattice, as a part of the mesh's size, up to which a vertex counts as inside.
const OUTSIDE_TOLERANCE: f64 = 0.01;

/// Largest memory of a body's integrals with details, bytes. The factored matrix takes about as much again, so that a computer with
/// 16 GB holds both beside other programs.
const MAX_INTEGRAL_BYTES: u64 = 4 << 30;

/// Refuses levels whose integrals do not fit in memory.
fn check_memory(lattice: &Lattice, settings: &BodySettings) -> Result<(), BodyError> {
    let bytes = |levels: usize| Basis::integral_bytes(lattice, levels, settings.level.max(levels));
    let levels = settings.basis_levels;
    if bytes(levels) <= MAX_INTEGRAL_BYTES {
        return Ok(());
    }
    let possible = (0..levels).rev().find(|&l| bytes(l) <= MAX_INTEGRAL_BYTES);
    Err(BodyError::Memory {
        levels,
        cells: lattice.cells().len(),
        gigabytes: bytes(levels) as f64 / 1e9,
        possible: possible.unwrap_or(0),
    })
}

/// Refuses a lattice that was built for another mesh. Some of the skin may lie outside, where cells are extrapolated,
/// but no more than half of it.
pub(super) fn check_embedding(
    surface: &Surface,
    lattice: &Lattice,
    embedding: &Embedding,
) -> Result<(), BodyError> {
    let distances = lattice.outside_distances(embedding, surface.vertices());
    let least = OUTSIDE_TOLERANCE * surface.size();
    let corners = || surface.triangles().iter().flatten();
    let distance = |&vertex: &u32| distances[vertex as usize];
    let outside = corners().map(distance).filter(|&d| d > least);
    if 2 * outside.clone().count() > corners().count() {
        return Err(BodyError::OtherMesh {
            farthest: outside.fold(0.0, f64::max),
        });
    }
    Ok(())
}

/// Checks the settings and the lattice's bones.
pub(super) fn check(
    surface: &Surface,
    skeleton: &Skeleton,
    lattice: &Lattice,
    material: &Material,
    settings: &BodySettings,
) -> Result<(), BodyError> {
    let (n, b) = (surface.vertices().len(), skeleton.len());
    if b == 0 {
        return Err(BodyError::NoBones);
    }
    if settings.level > 3 {
        return Err(BodyError::Level(settings.level));
    }
    if settings.basis_levels > MAX_LEVELS {
        return Err(BodyError::BasisLevels(settings.basis_levels));
    }
    check_memory(lattice, settings)?;
    let followed = lattice.bones().bone_of_vertex.iter().flatten();
    let bones = followed.chain(&lattice.bones().used_bones);
    if let Some(&bone) = bones.max().filter(|&&x| x as usize >= b) {
        return Err(BodyError::LatticeBone { bone, bones: b });
    }
    let vertices = ("vertex of the mesh", n);
    super::flesh::check(settings.flesh.as_deref(), n)?;
    let part = (|x: f64| (0.0..=1.0).contains(&x), "between 0 and 1");
    check_numbers("part that is hard", vertices, &settings.hard, part)?;
    let positive = (|x: f64| x > 0.0, "a positive number");
    check_numbers("painted stiffness", vertices, &settings.stiffness, positive)?;
    check_numbers("painted density", vertices, &settings.density, positive)?;
    check_poisson(material.poisson(), vertices, &settings.poisson)?;
    check_twist(surface.size(), skeleton, settings)?;
    match &settings.region_weights {
        Some(weights) => check_weights(weights, n, b),
        None => Ok(()),
    }
}

/// Upper bound of a twist's strength. A tube 10⁶ times as firm as its flesh moves by 10⁻⁶ of what the flesh would, and still leaves
/// the factored system ten digits.
pub const MAX_TWIST_STRENGTH: f64 = 1e6;

/// Checks painted factors on Poisson's ratio `ratio`: each product is a possible ratio.
fn check_poisson(
    ratio: f64,
    vertices: (&'static str, usize),
    factors: &Option<Vec<f64>>,
) -> Result<(), BodyError> {
    let positive = (|x: f64| x >= 0.0, "zero or positive");
    check_numbers("painted Poisson factor", vertices, factors, positive)?;
    let possible = |factor: f64| ratio * factor > -1.0 && ratio * factor < 0.5;
    let mut all = factors.iter().flatten().enumerate();
    match all.find(|&(_, &factor)| !possible(factor)) {
        Some((vertex, &factor)) => Err(BodyError::PoissonFactor {
            vertex,
            factor,
            ratio,
            product: ratio * factor,
        }),
        None => Ok(()),
    }
}

/// Checks the twist of single bones of a body of some size, metres.
fn check_twist(size: f64, skeleton: &Skeleton, settings: &BodySettings) -> Result<(), BodyError> {
    for (bone, twist) in &settings.twist {
        let bone = || bone.clone();
        if !skeleton.names().iter().any(|name| *name == bone()) {
            return Err(BodyError::TwistBone { bone: bone() });
        }
        match twist.radius {
            Some(radius) if !(radius > 0.0 && radius <= size) => {
                return Err(BodyError::TwistRadius {
                    bone: bone(),
                    radius,
                    size,
                });
            }
            _ => {}
        }
        if !(0.0..=MAX_TWIST_STRENGTH).contains(&twist.strength) {
            return Err(BodyError::TwistStrength {
                bone: bone(),
                strength: twist.strength,
                max: MAX_TWIST_STRENGTH,
            });
        }
    }
    Ok(())
}

/// Checks the weights of `n` vertices for `b` bones.
fn check_weights(weights: &SkinWeights, n: usize, b: usize) -> Result<(), BodyError> {
    if weights.offsets.len() != n + 1 {
        return Err(BodyError::Length {
            what: "region weights",
            per: "vertex of the mesh",
            expected: n,
            given: weights.offsets.len().saturating_sub(1),
        });
    }
    for vertex in 0..n {
        for (bone, w) in weights.row(vertex) {
            if bone as usize >= b {
                return Err(BodyError::WeightBone { bone, bones: b });
            }
            if !(w.is_finite() && w >= 0.0) {
                return Err(BodyError::Value {
                    what: "the region weight",
                    per: "vertex of the mesh",
                    index: vertex,
                    value: w,
                    range: "zero or positive",
                });
            }
        }
    }
    if weights.is_zero() {
        return Err(BodyError::NoWeights);
    }
    Ok(())
}

fn check_numbers(
    what: &'static str,
    (per, expected): (&'static str, usize),
    values: &Option<Vec<f64>>,
    (good, range): (impl Fn(f64) -> bool, &'static str),
) -> Result<(), BodyError> {
    let Some(values) = values else {
        return Ok(());
    };
    if values.len() != expected {
        return Err(BodyError::Length {
            what,
            per,
            expected,
            given: values.len(),
        });
    }
    match values.iter().position(|&x| !(x.is_finite() && good(x))) {
        Some(index) => Err(BodyError::Value {
            what,
            per,
            index,
            value: values[index],
            range,
        }),
        None => Ok(()),
    }
}
