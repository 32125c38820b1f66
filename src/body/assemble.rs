// SPDX-License-Identifier: MIT OR Apache-2.0
//! Construction of a [`Body`], step by step.

use super::anatomy::CharacterKind;
use super::cell_pairs::add_pairs;
use super::check::{check, check_embedding};
use super::held::pin_loose_parts;
use super::painted::{flesh_map, paint_map, region_field};
use super::skin::embedded_skin;
use super::transfer::{NodeField, weights_from_rows};
use super::{
    Body, BodyError, BodyRecipe, BodySettings, FleshPoints, IntegralBlocks, OwnTwist, Pattern,
    twist,
};
use crate::basis::{Basis, FleshShares};
use crate::elasticity::{
    CellIntegrals, Elements, FleshDomain, Material, PaintMap, TwistRegion, flesh_shares,
    integrate_shares,
};
use crate::lattice::{Embedding, Lattice};
use crate::progress::{Progress, report_progress};
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
    /// Default radius of the tube around each straight piece of skeleton, metres.
    radii: Arc<[f64]>,
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
    let plain = |former: &&Body| former.basis.levels() == 0;
    let embedding = ingredients
        .former
        .filter(plain)
        .map_or_else(|| embed(&coarse), |former| (*former.embedding).clone());
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
    let former = ingredients.former.and_then(|body| body.measured.as_ref());
    let radii = former.map_or_else(
        || twist::default_radii(lattice, ingredients.flesh).into(),
        |known| known.radii.clone(),
    );
    let (regions, twist) = tie_flesh(ingredients, &basis, &radii, (&painted, &weights));
    let own_twist = OwnTwist::new(twist.own, &twist.loads, &regions);
    let of_cells = (&twist.points[..], &blocks.cell_volumes(&basis)[..]);
    let held = pin_loose_parts(
        (surface, skeleton),
        settings.region_weights.is_some(),
        (&basis, &embedding),
        of_cells,
        &mut weights,
    );
    let cell_weights = cell_weights(&basis, &weights);

    report_progress(progress, 0.9, "Preparing the solver")?;
    let fixed: Vec<bool> = held.bone_of_vertex.iter().map(Option::is_some).collect();
    let pattern = Pattern::new(elements.all_corners(), &mass, &fixed, basis.centres())?;
    let region_weights = weights.into_weights();
    let (own, vertices) = (settings.region_weights.as_ref(), lattice.vertices().len());
    let skin = embedded_skin(&embedding, vertices, &region_weights, own);
    let embedding = with_details(embedding, &basis, embed);
    let alike = |f: &&Body| *f.skin == skin && *f.embedding == embedding;
    let size = ingredients.former.filter(alike).map_or_else(
        || super::skin::body_size(surface, skeleton, &skin, &embedding, &basis),
        |former| former.size,
    );
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
            radii,
        })),
        joints: Arc::default(),
        compliance: super::compliance::RestFactors::default(),
        merged_pieces: false,
        identity: Arc::default(),
        nodal: super::nodal::CachedNodalForm::default(),
        recipe: Some(Arc::new(BodyRecipe {
            material,
            settings: settings.clone(),
            cell_stiffness: Vec::new(),
        })),
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
    radii: &[f64],
    (painted, weights): (&PaintMap, &NodeField),
) -> (Vec<TwistRegion>, twist::TwistEnergy) {
    let &Ingredients {
        skeleton,
        flesh,
        material,
        settings,
        ..
    } = ingredients;
    let regions = twist::regions(skeleton, basis, radii, &material, weights, settings);
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
            .map(|corners| weights.mean_row(corners))
            .collect(),
        _ => (0..basis.element_count() as u32).map(at_centre).collect(),
    };
    weights_from_rows(rows.iter().map(Vec::as_slice), weights.columns)
}
