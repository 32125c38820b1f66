// SPDX-License-Identifier: MIT OR Apache-2.0
//! Weights and paint of the surface's vertices, carried to the lattice: the map of flesh, the factors on the material, the bones that nodes follow.

use super::anatomy::Anatomy;
use super::transfer::{NodeField, fill_by_distance, weights_from_rows};
use super::{BodySettings, FleshMap};
use crate::Vec3;
use crate::basis::Basis;
use crate::elasticity::{PaintFactors, PaintMap};
use crate::lattice::Embedding;
use crate::progress::{Cancelled, Progress, StageProgress};
use crate::skeleton::{Skeleton, SkinWeights};
use crate::surface::Surface;

/// Returns the flesh map, from the artist's paint or from the body's anatomy, and that anatomy if it was
/// computed.
pub(super) fn flesh_map(
    surface: &Surface,
    skeleton: &Skeleton,
    settings: &BodySettings,
    progress: &dyn Progress,
) -> Result<Option<(FleshMap, Option<Anatomy>)>, Cancelled> {
    let (painted, hard) = (settings.flesh.as_deref(), settings.hard.as_deref());
    let kind_and_hardness = (settings.kind, hard);
    let part = StageProgress {
        whole: progress,
        from: 0.1,
        to: 0.2,
    };
    let map = |weights| {
        FleshMap::new(
            surface,
            skeleton,
            weights,
            painted,
            kind_and_hardness,
            &part,
        )
    };
    match &settings.region_weights {
        Some(weights) => map(weights).map(Some),
        None if painted.is_some() => map(&weights_by_distance(surface, skeleton)).map(Some),
        None => Ok(None),
    }
}

/// Returns skin weights by distance to the bones.
fn weights_by_distance(surface: &Surface, skeleton: &Skeleton) -> SkinWeights {
    let bones: Vec<u32> = (0..skeleton.len() as u32).collect();
    let row = |&p: &Vec3| {
        let mut row = vec![0.0; bones.len()];
        fill_by_distance(skeleton, &bones, p, &mut row);
        row
    };
    let rows: Vec<Vec<f64>> = surface.vertices().iter().map(row).collect();
    weights_from_rows(rows.iter().map(Vec::as_slice), bones.len())
}

/// Returns the painted factors: per lattice vertex for a body with details, so that the material varies inside a cell, else
/// per cell, the mean over its corners.
pub(super) fn paint_map(
    basis: &Basis,
    embedding: &Embedding,
    settings: &BodySettings,
    flesh: Option<&FleshMap>,
) -> PaintMap {
    let stiffness = flesh.map(|flesh| match &settings.stiffness {
        Some(painted) => flesh.stiffness().zip(painted).map(|(a, b)| a * b).collect(),
        None => flesh.stiffness().collect(),
    });
    let stiffness = stiffness.or_else(|| settings.stiffness.clone());
    let layers = [&stiffness, &settings.density, &settings.poisson];
    if layers.iter().all(|l| l.is_none()) {
        return PaintMap::Plain;
    }
    let mut field = NodeField::gather(basis.len(), 3, embedding, |i, add| {
        for (column, layer) in layers.iter().enumerate() {
            add(column, layer.as_ref().map_or(1.0, |l| l[i]));
        }
        true
    });
    field.diffuse(basis, |_, row| row.fill(1.0));
    let factors = |row: &[f64]| PaintFactors {
        stiffness: row[0],
        density: row[1],
        poisson: row[2],
    };
    if settings.basis_levels > 0 {
        let vertices = (0..basis.len()).map(|v| factors(field.row(v)));
        return PaintMap::Vertices(vertices.collect());
    }
    let cells = basis.all_functions();
    PaintMap::Cells(
        cells
            .map(|corners| factors(&field.mean_row(corners)))
            .collect(),
    )
}

/// Returns the weights of the bones that each node follows. Nodes that a bone holds follow that one alone.
pub(super) fn region_field(
    skeleton: &Skeleton,
    basis: &Basis,
    embedding: &Embedding,
    settings: &BodySettings,
) -> NodeField {
    let mut candidates = basis.lattice().bones().used_bones.clone();
    if candidates.is_empty() {
        candidates = (0..skeleton.len() as u32).collect();
    }
    candidates.sort_unstable();
    candidates.dedup();
    let (k, b) = (basis.len(), skeleton.len());
    let mut field = match &settings.region_weights {
        Some(weights) => NodeField::gather(k, b, embedding, |i, add| {
            let total: f64 = weights.row(i).map(|(_, w)| w).sum();
            if !(total > 0.0 && total.is_finite()) {
                return false;
            }
            weights
                .row(i)
                .for_each(|(bone, w)| add(bone as usize, w / total));
            true
        }),
        None => NodeField {
            columns: b,
            values: vec![0.0; k * b],
            known: vec![true; k],
        },
    };
    if settings.region_weights.is_none() {
        for (v, row) in field.values.chunks_exact_mut(b).enumerate() {
            fill_by_distance(skeleton, &candidates, basis.centres()[v], row);
        }
    }
    for (v, bone) in basis.bones().iter().enumerate() {
        if let Some(bone) = bone {
            field.set(v, *bone as usize);
        }
    }
    field.diffuse(basis, |v, row| {
        fill_by_distance(skeleton, &candidates, basis.centres()[v], row);
    });
    field
}
