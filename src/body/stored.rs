// SPDX-License-Identifier: MIT OR Apache-2.0
//! A body as plain data for the on-disk cache, with the surfaces it carried when it was saved. The file format is
//! [`crate::store`]'s.

use super::{
    Body, BodyError, CharacterKind, FleshMap, FleshPoints, IntegralBlocks, LoosePart, OwnTwist,
    Pattern, TwistLoad,
};
use crate::Vec3;
use crate::basis::Basis;
use crate::elasticity::{Elements, Material, TwistRegion};
use crate::lattice::{
    BoneChains, Cell, CellParts, Embedding, FleshOwnership, Lattice, MirrorPlane, StoredEmbedding,
};
use crate::range::{all_storable, is_storable};
use crate::skeleton::{Skeleton, SkinWeights};
use crate::solve::ScalarMatrix;
use crate::solve::matrix::StoredMatrix;
use crate::store::texts;
use crate::surface::Surface;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::mem::take;
use std::sync::Arc;

#[derive(Serialize, Deserialize)]
struct StoredWeights {
    offsets: Vec<u32>,
    bones: Vec<u32>,
    weights: Vec<f64>,
}

impl StoredWeights {
    fn new(weights: &SkinWeights) -> Self {
        Self {
            offsets: weights.offsets.clone(),
            bones: weights.bones.clone(),
            weights: weights.weights.clone(),
        }
    }

    /// Returns whether these are weights of `rows` points.
    fn fits(&self, rows: usize) -> bool {
        self.offsets.len() == rows + 1
            && self.offsets.windows(2).all(|o| o[0] <= o[1])
            && self
                .offsets
                .last()
                .is_some_and(|&o| o as usize == self.bones.len())
            && self.weights.len() == self.bones.len()
            && self.weights.iter().all(|x| (0.0..=MAX_WEIGHT).contains(x))
    }

    fn into_weights(self, bone_count: usize) -> SkinWeights {
        SkinWeights {
            offsets: self.offsets,
            bones: self.bones,
            weights: self.weights,
            bone_count,
        }
    }
}

/// Upper bound of a bone's weight: 1 plus rounding.
const MAX_WEIGHT: f64 = 1.0 + 1e-9;

/// Error for matrices that do not fit.
const MATRIX_ERROR: &str = "its matrices do not fit its lattice";

/// A body without its symbolic factorisation, which is quicker to compute again than to read.
#[derive(Serialize, Deserialize)]
pub(crate) struct StoredBody {
    vertices: Vec<Vec3>,
    cells: Vec<Cell>,
    bones: BoneChains,
    flesh: Option<FleshOwnership>,
    parts: Option<CellParts>,
    mirror_plane: Option<MirrorPlane>,
    /// Levels of details, and which are kept.
    levels: u8,
    details: Vec<u32>,
    #[serde(deserialize_with = "texts")]
    names: Vec<String>,
    parents: Vec<Option<u32>>,
    heads: Vec<Vec3>,
    tails: Vec<Vec3>,
    elsewhere: Vec<Option<u32>>,
    kind: CharacterKind,
    material: Material,
    rest_includes_gravity: bool,
    blocks: IntegralBlocks,
    elements: Elements,
    mass: StoredMatrix,
    twist: StoredMatrix,
    twist_loads: Vec<TwistLoad>,
    twist_regions: Vec<TwistRegion>,
    /// Matrix of the bones with a twist of their own.
    own_twist: Option<StoredMatrix>,
    region_weights: StoredWeights,
    cell_weights: StoredWeights,
    bone_of_vertex: Vec<Option<u32>>,
    skinned: Vec<bool>,
    loose_parts: Vec<LoosePart>,
    /// Vertices and triangles of the body's own surface.
    surface: (Vec<Vec3>, Vec<[u32; 3]>),
    /// Embedding and skin of the body's own surface, then of the further ones.
    surfaces: Vec<(StoredEmbedding, StoredWeights)>,
    flesh_map: Option<FleshMap>,
}

impl Body {
    /// Returns the body as plain data, with further surfaces embedded in its lattice.
    pub(crate) fn to_stored<'a>(
        &'a self,
        further: impl Iterator<Item = (&'a Embedding, &'a SkinWeights)>,
    ) -> StoredBody {
        let own: (&Embedding, &SkinWeights) = (&self.embedding, &self.skin);
        let surfaces = std::iter::once(own).chain(further);
        let stored = |(e, w)| (StoredEmbedding::new(e), StoredWeights::new(w));
        StoredBody {
            vertices: self.lattice().vertices().to_vec(),
            cells: self.lattice().cells().to_vec(),
            bones: self.lattice().bones().clone(),
            flesh: self.lattice().flesh.clone(),
            parts: self.lattice().parts.clone(),
            mirror_plane: self.lattice().mirror_plane(),
            levels: self.basis.levels() as u8,
            details: self.basis.kept_details().to_vec(),
            names: self.skeleton.names().to_vec(),
            parents: self.skeleton.parents().to_vec(),
            heads: self.skeleton.heads().to_vec(),
            tails: self.skeleton.tails().to_vec(),
            elsewhere: self.skeleton.elsewhere().to_vec(),
            kind: self.kind,
            material: self.material,
            rest_includes_gravity: self.rest_includes_gravity,
            blocks: self.blocks.clone(),
            elements: self.elements.clone(),
            mass: (&self.mass).into(),
            twist: (&self.twist).into(),
            twist_loads: self.twist_loads.clone(),
            twist_regions: self.twist_regions.clone(),
            own_twist: self.own_twist.as_ref().map(|own| (&own.matrix).into()),
            region_weights: StoredWeights::new(&self.region_weights),
            cell_weights: StoredWeights::new(&self.cell_weights),
            bone_of_vertex: self.bone_of_vertex.clone(),
            skinned: self.skinned.clone(),
            loose_parts: self.loose_parts.clone(),
            surface: (
                self.surface.vertices().to_vec(),
                self.surface.triangles().to_vec(),
            ),
            surfaces: surfaces.map(stored).collect(),
            flesh_map: self.flesh.as_deref().cloned(),
        }
    }
}

impl Serialize for Body {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_stored(std::iter::empty()).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Body {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let stored = StoredBody::deserialize(deserializer)?;
        let (body, _) = stored.into_body().map_err(serde::de::Error::custom)?;
        Ok(body)
    }
}

/// Embeddings of further surfaces in a body's lattice, with their skin.
type FurtherSurfaces = Vec<(Embedding, SkinWeights)>;

/// Returns the error of a damaged body with this fault unless the test has passed.
fn refuse_unless(good: bool, fault: &'static str) -> Result<(), BodyError> {
    if good {
        Ok(())
    } else {
        Err(BodyError::Damaged(fault))
    }
}

impl StoredBody {
    /// Returns the body and the further surfaces; refuses data that would lead out of bounds.
    pub(crate) fn into_body(mut self) -> Result<(Body, FurtherSurfaces), BodyError> {
        let (k, bones) = (self.node_count(), self.names.len());
        let mut surfaces = self.take_surfaces()?.into_iter();
        let (mass, twist, own_twist) = self.take_matrices()?;
        let own_twist = OwnTwist::new(own_twist, &self.twist_loads, &self.twist_regions);
        let (levels, details) = (usize::from(self.levels), take(&mut self.details));
        let lattice = Arc::new(self.take_lattice()?);
        let basis = Basis::restore(lattice, levels, details, self.blocks.len())
            .ok_or(BodyError::Damaged("its details do not fit its lattice"))?;
        refuse_unless(
            self.blocks.fits(&basis)
                && self
                    .elements
                    .fits((k, basis.coarse_len()), basis.all_functions())
                && self.bone_of_vertex.len() == k
                && self.skinned.len() == k
                && self.twist_fits(k, (&mass, &twist), own_twist.as_ref()),
            MATRIX_ERROR,
        )?;
        let m = self.material;
        let material = Material::new(m.young(), m.poisson(), m.density())
            .map_err(|_| BodyError::Damaged("its material is impossible"))?;
        let skeleton = Skeleton::new(self.names, self.parents, self.heads, self.tails)
            .and_then(|bones| bones.with_elsewhere(self.elsewhere))
            .map_err(|_| BodyError::Damaged("its skeleton is invalid"))?;
        let surface = Surface::new(self.surface.0, self.surface.1)
            .map_err(|_| BodyError::Damaged("its surface is invalid"))?;
        let n = surface.vertices().len();
        let own = surfaces.next().filter(|(e, _)| e.len() == n);
        let (embedding, skin) = own.ok_or(BodyError::Damaged(
            "its surface is not the one in its lattice",
        ))?;
        let held: Vec<bool> = self.bone_of_vertex.iter().map(Option::is_some).collect();
        let pattern = Pattern::new(self.elements.all_corners(), &mass, &held, basis.centres())?;
        let size = super::skin::body_size(&surface, &skeleton, &skin, &embedding, &basis);
        refuse_unless(
            self.flesh_map.as_ref().is_none_or(|map| map_fits(map, n)),
            "its map of flesh does not fit its surface",
        )?;
        let surface = Arc::new(surface);
        let points = FleshPoints::new(surface.clone(), basis.clone());
        let body = Body {
            basis,
            skeleton: Arc::new(skeleton),
            material,
            rest_includes_gravity: self.rest_includes_gravity,
            blocks: self.blocks,
            elements: self.elements,
            mass,
            twist,
            twist_loads: self.twist_loads,
            twist_regions: self.twist_regions,
            own_twist,
            region_weights: self.region_weights.into_weights(bones),
            cell_weights: self.cell_weights.into_weights(bones),
            bone_of_vertex: self.bone_of_vertex,
            skinned: self.skinned,
            loose_parts: self.loose_parts,
            pattern: Arc::new(pattern),
            surface,
            points: Arc::new(points),
            embedding: Arc::new(embedding),
            skin: Arc::new(skin),
            size,
            flesh: self.flesh_map.map(Arc::new),
            kind: self.kind,
            anatomy: Arc::default(),
            measured: None,
            joints: Arc::default(),
            compliance: super::compliance::RestFactors::default(),
            merged_pieces: false,
            identity: Arc::default(),
            nodal: super::nodal::CachedNodalForm::default(),
        };
        Ok((body, surfaces.collect()))
    }

    /// Returns whether the twist is one of so many nodes, with matrices like the mass and numbers in range.
    fn twist_fits(
        &self,
        nodes: usize,
        (mass, twist): (&ScalarMatrix, &ScalarMatrix),
        own: Option<&OwnTwist>,
    ) -> bool {
        let like_mass = |m: &ScalarMatrix| m.structure_view() == mass.structure_view();
        like_mass(twist)
            && own.is_none_or(|own| like_mass(&own.matrix))
            && self.twist_loads.iter().all(|l| {
                let known = (l.vertex as usize) < nodes;
                known && is_storable(l.sum) && all_storable(&l.moment)
            })
            && self.twist_regions.iter().all(|r| {
                let ends = all_storable(&r.head) && all_storable(&r.tail);
                ends && is_storable(r.radius) && is_storable(r.stiffness)
            })
    }

    /// Returns the number of nodes.
    fn node_count(&self) -> usize {
        self.vertices.len() + self.details.len()
    }

    /// Takes the embedded surfaces; refuses weights that fit neither the lattice nor the skeleton.
    fn take_surfaces(&mut self) -> Result<FurtherSurfaces, BodyError> {
        let (k, c, b) = (self.node_count(), self.cells.len(), self.names.len());
        refuse_unless(
            self.region_weights.fits(k)
                && self.cell_weights.fits(self.blocks.len())
                && self.surfaces.iter().all(|(e, w)| w.fits(e.len())),
            "its weights do not fit its lattice",
        )?;
        let embedded = |(e, w): (StoredEmbedding, StoredWeights)| {
            Some((e.into_embedding(k, self.vertices.len(), c)?, w))
        };
        let surfaces = take(&mut self.surfaces).into_iter();
        let surfaces: Option<Vec<_>> = surfaces.map(embedded).collect();
        let surfaces = surfaces.ok_or(BodyError::Damaged("its surfaces do not fit its lattice"))?;
        let known = |&x: &u32| (x as usize) < b;
        let bones_fit = |w: &StoredWeights| w.bones.iter().all(known);
        refuse_unless(
            bones_fit(&self.region_weights)
                && bones_fit(&self.cell_weights)
                && surfaces.iter().all(|(_, w)| bones_fit(w))
                && self.bone_of_vertex.iter().flatten().all(known)
                && self.twist_loads.iter().all(|l| known(&l.bone))
                && self.twist_regions.iter().all(|r| known(&r.bone)),
            "it names bones that its skeleton does not have",
        )?;
        let skins = surfaces.into_iter().map(|(e, w)| (e, w.into_weights(b)));
        Ok(skins.collect())
    }

    /// Takes the matrices of mass, of the twist, and of the twist of the bones that have one of their own.
    fn take_matrices(
        &mut self,
    ) -> Result<(ScalarMatrix, ScalarMatrix, Option<ScalarMatrix>), BodyError> {
        let k = self.node_count();
        let matrix = |m: StoredMatrix| m.into_matrix(k).ok_or(BodyError::Damaged(MATRIX_ERROR));
        Ok((
            matrix(take(&mut self.mass))?,
            matrix(take(&mut self.twist))?,
            self.own_twist.take().map(matrix).transpose()?,
        ))
    }

    /// Takes the lattice with its flesh and parts.
    fn take_lattice(&mut self) -> Result<Lattice, BodyError> {
        let c = self.cells.len();
        refuse_unless(
            self.flesh.as_ref().is_none_or(|f| f.fits(c))
                && self.parts.as_ref().is_none_or(|p| p.fits(c)),
            "its flesh does not fit its lattice",
        )?;
        let (vertices, cells) = (take(&mut self.vertices), take(&mut self.cells));
        let mut lattice = Lattice::with_bones(vertices, cells, take(&mut self.bones))
            .map_err(|_| BodyError::Damaged("its lattice is invalid"))?;
        lattice.flesh = self.flesh.take();
        lattice.parts = self.parts.take();
        let plane = self.mirror_plane;
        refuse_unless(
            plane.is_none_or(|p| lattice.may_be_mirrored(&p)),
            "its mirror plane does not fit its lattice",
        )?;
        lattice.mirror_plane = plane;
        Ok(lattice)
    }
}

/// Returns whether a map of flesh is one of `n` vertices.
fn map_fits(map: &FleshMap, n: usize) -> bool {
    map.flesh.len() == n
        && map.thickness.len() == n
        && map.flesh.iter().all(|f| (0.0..=1.0).contains(f))
        && map.thickness.iter().all(|r| *r >= 0.0 && is_storable(*r))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::body::BodySettings;
    use crate::body::fixture::BarOptions;

    /// A stored body comes back with its details, and is refused if they do not fit its lattice.
    #[test]
    fn wrong_details_are_refused() {
        let bar = BarOptions {
            cells_along: 2,
            cells_across: 1,
            hexahedra: true,
            bones: false,
            settings: BodySettings {
                basis_levels: 1,
                ..BodySettings::default()
            },
            ..BarOptions::default()
        };
        let body = bar.build();
        let stored = || body.to_stored(std::iter::empty());
        let (loaded, _) = stored().into_body().unwrap();
        assert!(loaded.basis() == body.basis());
        let spoilt: [fn(&mut StoredBody); 8] = [
            |s| s.levels = 2,
            |s| s.levels = 0,
            |s| s.levels = 200,
            |s| s.details[0] = 0,
            |s| s.details.swap(0, 1),
            |s| s.details.truncate(5),
            |s| s.details.push(u32::MAX),
            |s| s.details.clear(),
        ];
        for (i, spoil) in spoilt.into_iter().enumerate() {
            let mut bad = stored();
            spoil(&mut bad);
            let error = bad.into_body().err();
            assert!(matches!(error, Some(BodyError::Damaged(_))), "{i}");
        }
    }
}
