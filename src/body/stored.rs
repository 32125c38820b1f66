// SPDX-License-Identifier: MIT OR Apache-2.0
//! A body as plain data for the on-disk cache, with the surfaces it carried when it was saved. The file format is
//! [`crate::store`]'s.

use super::{Blocks, Body, BodyError, FleshMap, FleshPoints, Kind, LoosePart, Pattern, TwistLoad};
use crate::Vec3;
use crate::basis::Basis;
use crate::elasticity::{Elements, Material};
use crate::lattice::{BoneChains, Cell, Embedding, Flesh, Lattice, Parts, StoredEmbedding};
use crate::range::{all_kept, is_kept};
use crate::skeleton::{Skeleton, SkinWeights};
use crate::solve::matrix::StoredMatrix;
use crate::store::texts;
use crate::surface::Surface;
use serde::ser::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::sync::Arc;

#[derive(Serialize, Deserialize)]
struct Weights {
    offsets: Vec<u32>,
    bones: Vec<u32>,
    weights: Vec<f64>,
}

/// Upper bound of a bone's weight: 1 plus rounding.
const ONE: f64 = 1.0 + 1e-9;

/// Error for a surface that cannot be written.
pub(crate) const WIDE: &str = "a vertex of a surface hangs on more than eight lattice vertices";

/// Error for matrices that do not fit.
const MATRICES: &str = "its matrices do not fit its lattice";

/// A body without its symbolic factorisation, which is quicker to compute again than to read.
#[derive(Serialize, Deserialize)]
pub(crate) struct StoredBody {
    vertices: Vec<Vec3>,
    cells: Vec<Cell>,
    bones: BoneChains,
    flesh: Option<Flesh>,
    parts: Option<Parts>,
    #[serde(deserialize_with = "texts")]
    names: Vec<String>,
    parents: Vec<Option<u32>>,
    heads: Vec<Vec3>,
    tails: Vec<Vec3>,
    elsewhere: Vec<Option<u32>>,
    kind: Kind,
    material: Material,
    rest_includes_gravity: bool,
    blocks: Blocks,
    elements: Elements,
    mass: StoredMatrix,
    twist: StoredMatrix,
    twist_loads: Vec<TwistLoad>,
    region_weights: Weights,
    cell_weights: Weights,
    bone_of_vertex: Vec<Option<u32>>,
    skinned: Vec<bool>,
    loose_parts: Vec<LoosePart>,
    /// Vertices and triangles of the own surface.
    surface: (Vec<Vec3>, Vec<[u32; 3]>),
    /// Embedding and skin of the own surface, then of the others.
    surfaces: Vec<(StoredEmbedding, Weights)>,
    flesh_map: Option<FleshMap>,
}

impl Body {
    /// Returns the body as plain data, with further surfaces embedded in its lattice. `None`: a vertex of a surface
    /// hangs on more than eight lattice vertices.
    pub(crate) fn stored<'a>(
        &'a self,
        further: impl Iterator<Item = (&'a Embedding, &'a SkinWeights)>,
    ) -> Option<StoredBody> {
        let weights = |w: &SkinWeights| Weights {
            offsets: w.offsets.clone(),
            bones: w.bones.clone(),
            weights: w.weights.clone(),
        };
        let own: (&Embedding, &SkinWeights) = (&self.embedding, &self.skin);
        let surfaces: Option<Vec<_>> = std::iter::once(own)
            .chain(further)
            .map(|(e, w)| Some((StoredEmbedding::new(e)?, weights(w))))
            .collect();
        Some(StoredBody {
            vertices: self.lattice().vertices().to_vec(),
            cells: self.lattice().cells().to_vec(),
            bones: self.lattice().bones().clone(),
            flesh: self.lattice().flesh.clone(),
            parts: self.lattice().parts.clone(),
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
            region_weights: weights(&self.region_weights),
            cell_weights: weights(&self.cell_weights),
            bone_of_vertex: self.bone_of_vertex.clone(),
            skinned: self.skinned.clone(),
            loose_parts: self.loose_parts.clone(),
            surface: (
                self.surface.vertices().to_vec(),
                self.surface.triangles().to_vec(),
            ),
            surfaces: surfaces?,
            flesh_map: self.flesh.as_deref().cloned(),
        })
    }
}

impl Serialize for Body {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let stored = self.stored(std::iter::empty());
        stored
            .ok_or_else(|| S::Error::custom(WIDE))?
            .serialize(serializer)
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
type Further = Vec<(Embedding, SkinWeights)>;

impl StoredBody {
    /// Returns the body and the further surfaces; refuses data that would lead out of bounds.
    pub(crate) fn into_body(self) -> Result<(Body, Further), BodyError> {
        let (k, c, b) = (self.vertices.len(), self.cells.len(), self.names.len());
        let fits = |good: bool, what| {
            if good {
                Ok(())
            } else {
                Err(BodyError::Damaged(what))
            }
        };
        let bones_fit = |w: &Weights| w.bones.iter().all(|&x| (x as usize) < b);
        let rows_fit = |w: &Weights, rows: usize| {
            w.offsets.len() == rows + 1
                && w.offsets.windows(2).all(|o| o[0] <= o[1])
                && w.offsets
                    .last()
                    .is_some_and(|&o| o as usize == w.bones.len())
                && w.weights.len() == w.bones.len()
                && w.weights.iter().all(|x| (0.0..=ONE).contains(x))
        };
        fits(
            rows_fit(&self.region_weights, k)
                && rows_fit(&self.cell_weights, c)
                && self.surfaces.iter().all(|(e, w)| rows_fit(w, e.len())),
            "its weights do not fit its lattice",
        )?;
        let embedded = |(e, w): (StoredEmbedding, Weights)| Some((e.into_embedding(k, c)?, w));
        let surfaces: Option<Vec<_>> = self.surfaces.into_iter().map(embedded).collect();
        let surfaces = surfaces.ok_or(BodyError::Damaged("its surfaces do not fit its lattice"))?;
        fits(
            bones_fit(&self.region_weights)
                && bones_fit(&self.cell_weights)
                && surfaces.iter().all(|(_, w)| bones_fit(w))
                && self
                    .bone_of_vertex
                    .iter()
                    .flatten()
                    .all(|&x| (x as usize) < b)
                && self.twist_loads.iter().all(|l| (l.bone as usize) < b),
            "it names bones that its skeleton does not have",
        )?;
        let (mass, twist) = (self.mass.into_matrix(k), self.twist.into_matrix(k));
        let (Some(mass), Some(twist)) = (mass, twist) else {
            return Err(BodyError::Damaged(MATRICES));
        };
        let flesh_fits = self.flesh.as_ref().is_none_or(|f| f.fits(c));
        let parts_fit = self.parts.as_ref().is_none_or(|p| p.fits(c));
        fits(
            flesh_fits && parts_fit,
            "its flesh does not fit its lattice",
        )?;
        let mut lattice = Lattice::with_bones(self.vertices, self.cells, self.bones)
            .map_err(|_| BodyError::Damaged("its lattice is invalid"))?;
        lattice.flesh = self.flesh;
        lattice.parts = self.parts;
        let basis = Basis::new(Arc::new(lattice));
        fits(
            self.blocks.fits(&basis)
                && self.elements.fits(k, basis.all_functions())
                && self.bone_of_vertex.len() == k
                && self.skinned.len() == k
                && mass.structure_view() == twist.structure_view()
                && self
                    .twist_loads
                    .iter()
                    .all(|l| (l.vertex as usize) < k && is_kept(l.sum) && all_kept(&l.moment)),
            MATRICES,
        )?;
        let m = self.material;
        let material = Material::new(m.young(), m.poisson(), m.density())
            .map_err(|_| BodyError::Damaged("its material is impossible"))?;
        let skeleton = Skeleton::new(self.names, self.parents, self.heads, self.tails)
            .and_then(|bones| bones.with_elsewhere(self.elsewhere))
            .map_err(|_| BodyError::Damaged("its skeleton is invalid"))?;
        let surface = Surface::new(self.surface.0, self.surface.1)
            .map_err(|_| BodyError::Damaged("its surface is invalid"))?;
        let mut surfaces = surfaces.into_iter();
        let own = surfaces
            .next()
            .filter(|(e, _)| e.len() == surface.vertices().len());
        let (embedding, skin) = own.ok_or(BodyError::Damaged(
            "its surface is not the one in its lattice",
        ))?;
        let held: Vec<bool> = self.bone_of_vertex.iter().map(Option::is_some).collect();
        let pattern = Pattern::new(self.elements.all_corners(), &mass, &held, basis.places())?;
        let weights = |w: Weights| SkinWeights {
            offsets: w.offsets,
            bones: w.bones,
            weights: w.weights,
            bone_count: b,
        };
        let skin = weights(skin);
        let size = super::size_of(&surface, &skeleton, &skin, &embedding, &basis);
        let n = surface.vertices().len();
        let map_fits = |map: &FleshMap| {
            map.flesh.len() == n
                && map.thickness.len() == n
                && map.flesh.iter().all(|f| (0.0..=1.0).contains(f))
                && map.thickness.iter().all(|r| *r >= 0.0 && is_kept(*r))
        };
        fits(
            self.flesh_map.as_ref().is_none_or(map_fits),
            "its map of flesh does not fit its surface",
        )?;
        let further = surfaces.map(|(e, w)| (e, weights(w))).collect();
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
            region_weights: weights(self.region_weights),
            cell_weights: weights(self.cell_weights),
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
            joints: Arc::default(),
            compliance: super::compliance::Compliance::default(),
        };
        Ok((body, further))
    }
}
