// SPDX-License-Identifier: MIT OR Apache-2.0
//! Construction of a [`Body`], step by step.

use super::anatomy::{Anatomy, CharacterKind};
use super::bone_distance::distance_to_bone;
use super::cell_pairs::add_pairs;
use super::check::{check, check_embedding};
use super::loose::{self, LoosePart};
use super::skin::embedded_skin;
use super::transfer::{NodeField, fill_by_distance, weights_from_rows};
use super::{
    Body, BodyError, BodySettings, FleshMap, FleshPoints, IntegralBlocks, OwnTwist, Pattern, twist,
};
use crate::Vec3;
use crate::basis::{Basis, FleshShares};
use crate::elasticity::{
    CellIntegrals, Elements, FleshDomain, Material, PaintFactors, PaintMap, TwistRegion,
    flesh_shares, integrate_shares,
};
use crate::lattice::{Embedding, Lattice, heading};
use crate::progress::{Cancelled, Progress, StageProgress, report_progress};
use crate::skeleton::{Skeleton, SkinWeights};
use crate::solve::ScalarMatrix;
use crate::surface::Surface;
use std::sync::{Arc, OnceLock};

/// Ingredients of a body.
pub(super) struct Ingredients<'a> {
    /// The surface, whose vertices carry weights and paint.
    pub surface: &'a Arc<Surface>,
    pub skeleton: &'a Arc<Skeleton>,
    pub lattice: &'a Arc<Lattice>,
    /// Test for flesh at points of the lattice.
    pub flesh: &'a dyn FleshDomain,
    pub material: Material,
    pub settings: &'a BodySettings,
    /// Body of the same surface, skeleton, lattice and flesh, whose measurements are used again.
    pub former: Option<&'a Body>,
}

/// Measurements that do not depend on the material, and the inputs of those that depend on settings; kept for bodies that are
/// built again with others.
#[derive(Debug)]
pub(super) struct Measured {
    shares: Arc<FleshShares>,
    map: MapInputs,
}

/// Settings on which the map of flesh depends.
#[derive(Debug, PartialEq)]
struct MapInputs {
    region_weights: Option<SkinWeights>,
    flesh: Option<Vec<f64>>,
    kind: CharacterKind,
    hard: Option<Vec<f64>>,
}

impl MapInputs {
    fn of(settings: &BodySettings) -> Self {
        Self {
            region_weights: settings.region_weights.clone(),
            flesh: settings.flesh.clone(),
            kind: settings.kind,
            hard: settings.hard.clone(),
        }
    }
}

/// Builds a body. `embed` computes the surface's embedding. Weights and paint are carried to the functions of level 0, and
/// from these to details.
pub(super) fn assemble_body(
    ingredients: &Ingredients<'_>,
    embed: impl Fn(&Basis) -> Embedding,
    progress: &dyn Progress,
) -> Result<Body, BodyError> {
    let &Ingredients {
        surface,
        skeleton,
        lattice,
        material,
        settings,
        ..
    } = ingredients;
    check(surface, skeleton, lattice, &material, settings)?;
    report_progress(progress, 0.0, "Placing the mesh in the lattice")?;
    let coarse = Basis::new(lattice.clone());
    let embedding = embed(&coarse);
    check_embedding(surface, lattice, &embedding)?;

    report_progress(progress, 0.1, "Carrying weights to the lattice")?;
    let map_inputs = MapInputs::of(settings);
    let known = |former: &&Body| {
        former
            .measured
            .as_ref()
            .is_some_and(|m| m.map == map_inputs)
    };
    let (map, anatomy) = match ingredients.former.filter(known) {
        Some(former) => (former.flesh.clone(), former.anatomy.clone()),
        None => {
            let (map, anatomy) = flesh_map(surface, skeleton, settings, progress)?.unzip();
            let anatomy = anatomy.flatten().map(OnceLock::from).unwrap_or_default();
            (map.map(Arc::new), Arc::new(anatomy))
        }
    };
    let painted = paint_map(&coarse, &embedding, settings, map.as_deref());
    let mut weights = region_field(skeleton, &coarse, &embedding, settings);

    let shares = measure_flesh(ingredients, progress)?;
    let (basis, blocks, elements, mass) = integrate_cells(ingredients, coarse, &painted, &shares);
    weights.extend_to_details(&basis);
    report_progress(progress, 0.8, "Tying the flesh to the bones")?;
    let (regions, twist) = tie_flesh(ingredients, &basis, &painted, &weights);
    let own_twist = OwnTwist::new(twist.own, &twist.loads, &regions);
    let of_cells = (&twist.points[..], &blocks.cell_volumes(&basis)[..]);
    let held = pin_loose_parts(ingredients, &basis, &embedding, of_cells, &mut weights);
    let cell_weights = cell_weights(&basis, &weights);

    report_progress(progress, 0.9, "Preparing the solver")?;
    let fixed: Vec<bool> = held.bone_of_vertex.iter().map(Option::is_some).collect();
    let pattern = Pattern::new(elements.all_corners(), &mass, &fixed, basis.centres())?;
    let region_weights = weights.into_weights();
    let (own, vertices) = (settings.region_weights.as_ref(), lattice.vertices().len());
    let skin = embedded_skin(&embedding, vertices, &region_weights, own);
    let embedding = with_details(embedding, &basis, embed);
    let size = super::skin::body_size(surface, skeleton, &skin, &embedding, &basis);
    report_progress(progress, 1.0, "done")?;
    Ok(Body {
        skeleton: skeleton.clone(),
        material,
        rest_includes_gravity: settings.rest_includes_gravity,
        blocks,
        elements,
        mass,
        twist: twist.matrix,
        twist_loads: twist.loads,
        twist_regions: regions,
        own_twist,
        region_weights,
        cell_weights,
        bone_of_vertex: held.bone_of_vertex,
        skinned: held.skinned,
        loose_parts: held.loose_parts,
        pattern: Arc::new(pattern),
        surface: surface.clone(),
        points: Arc::new(FleshPoints::new(surface.clone(), basis.clone())),
        size,
        embedding: Arc::new(embedding),
        skin: Arc::new(skin),
        flesh: map,
        kind: settings.kind,
        anatomy,
        measured: Some(Arc::new(Measured {
            shares,
            map: map_inputs,
        })),
        joints: Arc::default(),
        compliance: super::compliance::RestFactors::default(),
        merged_pieces: false,
        identity: Arc::default(),
        nodal: super::nodal::CachedNodalForm::default(),
        basis,
    })
}

/// Returns the surface's embedding in all functions, from that in those of level 0.
fn with_details(
    coarse: Embedding,
    basis: &Basis,
    embed: impl Fn(&Basis) -> Embedding,
) -> Embedding {
    match basis.levels() {
        0 => coarse,
        _ => embed(basis),
    }
}

/// Measures the flesh in every cell, or takes it from the former body.
fn measure_flesh(
    ingredients: &Ingredients<'_>,
    progress: &dyn Progress,
) -> Result<Arc<FleshShares>, BodyError> {
    let settings = ingredients.settings;
    let level = settings.level.max(settings.basis_levels);
    let former = ingredients.former.and_then(|body| body.measured.as_ref());
    if let Some(known) = former.filter(|known| known.shares.level == level) {
        return Ok(known.shares.clone());
    }
    let measuring = |f: f64, stage: &str| progress.report(0.2 + 0.6 * f, stage);
    let shares = flesh_shares(ingredients.lattice, ingredients.flesh, level, &measuring)?;
    if shares.cells.iter().flatten().all(|&share| share <= 0.0) {
        return Err(BodyError::NoFlesh);
    }
    Ok(Arc::new(shares))
}

/// Chooses the functions that are independent on the flesh, and integrates them: basis, blocks, elements and mass matrix.
fn integrate_cells(
    ingredients: &Ingredients<'_>,
    coarse: Basis,
    painted: &PaintMap,
    shares: &FleshShares,
) -> (Basis, IntegralBlocks, Elements, ScalarMatrix) {
    let basis = match ingredients.settings.basis_levels {
        0 => coarse,
        levels => Basis::with_levels(ingredients.lattice.clone(), levels, shares),
    };
    let integrals = integrate_shares(&basis, shares, &ingredients.material, painted);
    let (blocks, elements) = (
        IntegralBlocks::new(&basis, &integrals),
        CellIntegrals::elements(&basis, &integrals),
    );
    let mass = mass_matrix(&basis, &blocks, &integrals);
    (basis, blocks, elements, mass)
}

/// Returns the mass matrix over nodes, kg.
fn mass_matrix(
    basis: &Basis,
    blocks: &IntegralBlocks,
    integrals: &[CellIntegrals],
) -> ScalarMatrix {
    let mut mass = basis.matrix();
    for (cell, c) in blocks.iter().zip(integrals) {
        add_pairs(&mut mass, cell.nodes, &c.mass);
    }
    mass
}

/// Returns the tubes around the bones, and the energy that ties the flesh in them to the bones.
fn tie_flesh(
    ingredients: &Ingredients<'_>,
    basis: &Basis,
    painted: &PaintMap,
    weights: &NodeField,
) -> (Vec<TwistRegion>, twist::TwistEnergy) {
    let &Ingredients {
        skeleton,
        flesh,
        material,
        settings,
        ..
    } = ingredients;
    let regions = twist::regions(skeleton, basis, flesh, &material, weights, settings);
    let energy = twist::energy(basis, flesh, &regions, weights, painted);
    (regions, energy)
}

/// Returns the weights of the bones that each element follows: those at its centre, the mean over its corners.
fn cell_weights(basis: &Basis, weights: &NodeField) -> SkinWeights {
    let at_centre = |element: u32| {
        let mut row = vec![0.0; weights.columns];
        for (v, share) in basis.element_row(element) {
            let from = row.iter_mut().zip(weights.row(v as usize));
            from.for_each(|(sum, w)| *sum += w * share);
        }
        row
    };
    let rows: Vec<Vec<f64>> = match basis.levels() {
        0 => basis
            .all_functions()
            .map(|corners| mean_row(weights, corners))
            .collect(),
        _ => (0..basis.element_count() as u32).map(at_centre).collect(),
    };
    weights_from_rows(rows.iter().map(Vec::as_slice), weights.columns)
}

/// Returns the flesh map, from the artist's paint or from the body's anatomy, and that anatomy if it was
/// computed.
fn flesh_map(
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
fn paint_map(
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
            .map(|corners| factors(&mean_row(&field, corners)))
            .collect(),
    )
}

fn mean_row(field: &NodeField, nodes: &[u32]) -> Vec<f64> {
    let mut mean = vec![0.0; field.columns];
    for &v in nodes {
        for (m, x) in mean.iter_mut().zip(field.row(v as usize)) {
            *m += x / nodes.len() as f64;
        }
    }
    mean
}

/// Returns the weights of the bones that each node follows. Nodes that a bone holds follow that one alone.
fn region_field(
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

/// Share of its weights from which a dominant bone carries a loose part rigidly.
const DOMINANT_SHARE: f64 = 0.95;
/// Size, as a share of the body's, up to which a loose part (an eye, a button) follows rigidly a bone
/// with half of its weights.
const SMALL_PART_SIZE: f64 = 0.15;

/// Vertices held by bones, and the loose parts among them.
struct HeldVertices {
    bone_of_vertex: Vec<Option<u32>>,
    /// `true`: the held vertex follows all bones of its weights.
    skinned: Vec<bool>,
    loose_parts: Vec<LoosePart>,
}

/// Pins every loose part to its dominant bone, the one with the largest sum of weights over its vertices.
/// A large part without a dominant bone (a belt, a strap) is held at its skinned positions.
fn pin_loose_parts(
    ingredients: &Ingredients<'_>,
    basis: &Basis,
    embedding: &Embedding,
    (tied, volumes): (&[(u32, Vec3)], &[f64]),
    weights: &mut NodeField,
) -> HeldVertices {
    let skeleton = ingredients.skeleton;
    let painted = ingredients.settings.region_weights.is_some();
    let mut bone_of_vertex = basis.bones().to_vec();
    let mut skinned = vec![false; bone_of_vertex.len()];
    let mut used = skinned.clone();
    for &v in basis.all_functions().flatten() {
        used[v as usize] = true;
    }
    for v in (0..used.len()).filter(|&v| !used[v]) {
        // A node of no cell carries nothing; it follows its dominant bone.
        let bone = *bone_of_vertex[v].get_or_insert(dominant_bone(weights, &[v as u32]).0);
        weights.set(v, bone as usize);
    }
    let heading = heading(ingredients.surface, skeleton);
    let extent = |chosen: &dyn Fn(usize) -> bool| {
        super::skin::extent(embedding, basis.rest_shape(), heading, chosen)
    };
    let size = extent(&|_| true);
    let pinned: Vec<bool> = bone_of_vertex.iter().map(Option::is_some).collect();
    // Cells around bones that stick out hold no flesh and need no warning.
    let flesh_in = |part: &LoosePart| part.cells.iter().any(|&c| volumes[c as usize] > 0.0);
    let loose_parts = loose::find(basis, &pinned, tied)
        .into_iter()
        .map(|(cells, vertices)| {
            let corners = |c: &u32| basis.lattice().cells()[*c as usize].corners();
            let all: Vec<u32> = cells.iter().flat_map(corners).copied().collect();
            let (bone, share) = dominant_bone(weights, &all);
            let in_part = |i: usize| cells.binary_search(&embedding.cells()[i]).is_ok();
            let small = extent(&in_part) <= SMALL_PART_SIZE * size;
            let rigid = !painted || share >= DOMINANT_SHARE || small && share >= 0.5;
            for &v in &vertices {
                bone_of_vertex[v as usize] = Some(bone);
                if rigid {
                    weights.set(v as usize, bone as usize);
                } else {
                    skinned[v as usize] = true;
                }
            }
            let near = basis.centres()[all[0] as usize];
            LoosePart {
                sentence: loose_sentence(skeleton, bone, rigid, cells.len(), near),
                cells,
                vertices,
                bone,
            }
        })
        .filter(flesh_in)
        .collect();
    HeldVertices {
        bone_of_vertex,
        skinned,
        loose_parts,
    }
}

/// Returns the sentence that tells the artist about a loose part near a point, and how it follows its bone.
fn loose_sentence(skeleton: &Skeleton, bone: u32, rigid: bool, cells: usize, near: Vec3) -> String {
    let name = &skeleton.names()[bone as usize];
    let how = if rigid {
        format!("it follows '{name}' rigidly")
    } else {
        "it follows its skin weights without flesh of its own".to_owned()
    };
    format!(
        "A loose part of {cells} cell(s) at ({:.3}, {:.3}, {:.3}), {:.3} m from the bone \
         '{name}', is held by no bone: {how}.",
        near.x,
        near.y,
        near.z,
        distance_to_bone(skeleton, bone, near),
    )
}

/// Returns the bone with the largest sum of weights, and its share of all.
fn dominant_bone(weights: &NodeField, vertices: &[u32]) -> (u32, f64) {
    let mut sums = vec![0.0; weights.columns];
    for &v in vertices {
        for (s, w) in sums.iter_mut().zip(weights.row(v as usize)) {
            *s += w;
        }
    }
    let mut best = 0;
    for (b, &s) in sums.iter().enumerate() {
        if s > sums[best] {
            best = b;
        }
    }
    let total: f64 = sums.iter().sum();
    (
        best as u32,
        if total > 0.0 { sums[best] / total } else { 1.0 },
    )
}
