// SPDX-License-Identifier: MIT OR Apache-2.0
//! A body: everything precomputed for one character, immutable and shared.
//!
//! ```
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/shapes/arm.rs"));
//! # fn main() -> Result<(), Any> {
//! let body = body()?; // of an arm of flesh around two bones: `examples/shapes/arm.rs`
//! assert!((body.volume() - body.surface().volume()).abs() < 0.02 * body.volume());
//! let free = body.pattern().vertex_of_node().len();
//! assert_eq!(free + body.held_vertices().count(), body.node_count());
//! // Rigid motions cost no energy: rows of the stiffness sum to zero.
//! use thew::solve::NodeMatrix;
//! let stiffness = body.stiffness_matrix(false);
//! let mut forces = vec![Vec3::zeros(); body.node_count()];
//! stiffness.times(&vec![Vec3::new(1.0, 2.0, 3.0); body.node_count()], &mut forces);
//! let largest = stiffness.data().iter().fold(0.0_f64, |most, block| most.max(block.amax()));
//! assert!(forces.iter().all(|f| f.amax() < 1e-9 * largest));
//! # Ok(())
//! # }
//! ```
//!
//! [`Body::new`] integrates the flesh over the lattice ([`crate::elasticity`]) and transfers the artist's weights and
//! paint from the surface to the lattice. It then finds the parts that no bone holds, and prepares the sparse system
//! whose unknowns are the free nodes. [capell2002, §3.3, §4.3, §4.6]

mod active;
mod anatomy;
mod assemble;
mod blocks;
mod bone_distance;
mod brick_cube;
mod cell_pairs;
mod check;
mod compliance;
mod error;
#[cfg(test)]
pub(crate) mod fixture;
mod flesh;
mod freed;
mod held;
mod joints;
mod loose;
mod nodal;
mod painted;
mod point_grid;
mod points;
mod recipe;
mod settings;
mod skin;
mod stiffened;
mod stored;
mod stored_weights;
mod tense;
#[cfg(test)]
mod tests;
mod transfer;
mod twist;

pub(crate) use anatomy::SkinTree;
pub use anatomy::{Anatomy, BodyPart, CharacterKind, LimbSegments, PartName, TrunkFrame};
pub use blocks::{CellBlocks, IntegralBlocks};
pub use error::BodyError;
pub use flesh::FleshMap;
pub(crate) use joints::JointShape;
pub use loose::LoosePart;
pub(crate) use nodal::NodalForm;
pub use points::{Brick, FleshPoint, FleshPoints};
pub use recipe::BodyRecipe;
pub use settings::{BodySettings, BoneTwist};
pub(crate) use stored::StoredBody;
pub use tense::STIFFNESS_FACTORS;
pub(crate) use tense::check_factors;
pub use twist::{OwnTwist, TwistLoad};

use crate::basis::Basis;
use crate::elasticity::{Elements, EnclosedFlesh, Material, TwistRegion};
use crate::lattice::{Embedding, Lattice, heading};
use crate::progress::{Progress, Silent};
use crate::skeleton::{Skeleton, SkinWeights};
pub use crate::solve::Pattern;
use crate::solve::{BlockMatrix, NodeMatrix, ScalarMatrix};
use crate::surface::{Heading, Surface};
use crate::{Mat3, Vec3};
use sprs::CsMatI;
use std::sync::{Arc, OnceLock};

/// Everything precomputed for one character.
///
/// Nodes are the functions of its [`Basis`], with three degrees of freedom each, in metres and world axes.
pub struct Body {
    basis: Basis,
    skeleton: Arc<Skeleton>,
    material: Material,
    rest_includes_gravity: bool,
    blocks: IntegralBlocks,
    elements: Elements,
    mass: ScalarMatrix,
    twist: ScalarMatrix,
    twist_loads: Vec<TwistLoad>,
    /// Tubes of flesh around the bones.
    twist_regions: Vec<TwistRegion>,
    own_twist: Option<OwnTwist>,
    region_weights: SkinWeights,
    cell_weights: SkinWeights,
    bone_of_vertex: Vec<Option<u32>>,
    /// Held vertices that follow all bones of their weights: loose parts that no bone dominates.
    skinned: Vec<bool>,
    loose_parts: Vec<LoosePart>,
    pattern: Arc<Pattern>,
    /// The body's own surface, which bounds its flesh.
    surface: Arc<Surface>,
    /// The flesh as points, built on first use.
    points: Arc<FleshPoints>,
    /// Embedding of the surface's vertices in the lattice.
    embedding: Arc<Embedding>,
    /// Skin weights of the surface's vertices.
    skin: Arc<SkinWeights>,
    /// Diagonal of the box of the body's own skin, metres.
    size: f64,
    flesh: Option<Arc<FleshMap>>,
    kind: CharacterKind,
    /// Anatomy read from shape and rig, built on first use.
    anatomy: Arc<OnceLock<Anatomy>>,
    /// Measurements for [`rebuilt`](Self::rebuilt); `None`: the body comes from a file.
    measured: Option<Arc<assemble::Measured>>,
    /// Shape of bent joints, built on first use.
    joints: Arc<OnceLock<JointShape>>,
    /// Compliance at rest, factored on first use.
    compliance: compliance::RestFactors,
    /// Flag of merged pieces of elements, with which energies and linear forces differ a little where elements are coarse.
    merged_pieces: bool,
    /// Sign by which a cache outside knows this body again.
    identity: Arc<()>,
    /// Flesh in nodal functions, made on first use.
    nodal: nodal::CachedNodalForm,
    /// Settings it was made with; `None`: it cannot be made again from these.
    recipe: Option<Arc<BodyRecipe>>,
}

impl std::fmt::Debug for Body {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Body")
            .field("nodes", &self.node_count())
            .field("cells", &self.blocks.len())
            .field("volume", &self.volume())
            .finish_non_exhaustive()
    }
}

impl Body {
    /// Builds the body of a character.
    ///
    /// # Errors
    /// Arrays of the wrong length or with impossible numbers, a lattice of another skeleton or mesh, cancellation by
    /// the progress.
    pub fn new(
        surface: &Arc<Surface>,
        skeleton: &Arc<Skeleton>,
        lattice: &Arc<Lattice>,
        material: Material,
        settings: &BodySettings,
        progress: &dyn Progress,
    ) -> Result<Self, BodyError> {
        Self::assemble(
            surface,
            skeleton,
            lattice,
            None,
            (material, settings),
            progress,
        )
    }

    /// Builds the body of the same surface, skeleton and lattice with another material and other settings, bit for bit as
    /// [`new`](Self::new). Measurements of this body that these do not change are used again.
    ///
    /// # Errors
    /// Those of [`new`](Self::new).
    pub fn rebuilt(
        &self,
        material: Material,
        settings: &BodySettings,
        progress: &dyn Progress,
    ) -> Result<Self, BodyError> {
        let (surface, skeleton) = (&self.surface, &self.skeleton);
        let given = (material, settings);
        Self::assemble(
            surface,
            skeleton,
            self.lattice(),
            Some(self),
            given,
            progress,
        )
    }

    fn assemble(
        surface: &Arc<Surface>,
        skeleton: &Arc<Skeleton>,
        lattice: &Arc<Lattice>,
        former: Option<&Self>,
        (material, settings): (Material, &BodySettings),
        progress: &dyn Progress,
    ) -> Result<Self, BodyError> {
        let ingredients = assemble::Ingredients {
            surface,
            skeleton,
            lattice,
            flesh: &EnclosedFlesh { surface, lattice },
            material,
            settings,
            former,
        };
        assemble::assemble_body(&ingredients, |basis| basis.embed_surface(surface), progress)
    }

    /// Returns the functions in which the flesh deforms.
    pub fn basis(&self) -> &Basis {
        &self.basis
    }

    /// Returns whether a node is a detail, whose coefficient turns with the flesh and has no place of its own.
    #[inline]
    pub fn is_detail(&self, node: usize) -> bool {
        node >= self.basis.coarse_len()
    }

    /// Returns the number of nodes of an element that are no details; these come first.
    #[inline]
    pub fn placed_count(&self, nodes: &[u32]) -> usize {
        nodes.partition_point(|&a| !self.is_detail(a as usize))
    }

    /// Returns the number of nodes: the functions of the basis, with three degrees of freedom each.
    pub fn node_count(&self) -> usize {
        self.basis.len()
    }

    /// Returns the coefficients of the rest shape, `[nodes]`, metres.
    pub fn rest_shape(&self) -> &[Vec3] {
        self.basis.rest_shape()
    }

    /// Returns the number of free degrees of freedom: three per vertex that is not held.
    pub fn free_dofs(&self) -> usize {
        3 * (self.node_count() - self.held_vertices().count())
    }

    /// Returns the lattice.
    pub fn lattice(&self) -> &Arc<Lattice> {
        self.basis.lattice()
    }

    /// Returns the skeleton at rest.
    pub fn skeleton(&self) -> &Arc<Skeleton> {
        &self.skeleton
    }

    /// Returns the body's own surface, as passed to [`new`](Self::new).
    pub fn surface(&self) -> &Arc<Surface> {
        &self.surface
    }

    /// Returns the flesh as points for quadrature.
    pub fn points(&self) -> &FleshPoints {
        &self.points
    }

    /// Returns the material before painted factors.
    pub fn material(&self) -> Material {
        self.material
    }

    /// Returns the settings it was made with; `None` for a body of which bones were freed.
    pub fn recipe(&self) -> Option<&BodyRecipe> {
        self.recipe.as_deref()
    }

    /// Returns whether the modelled shape counts as sagging already.
    pub fn rest_includes_gravity(&self) -> bool {
        self.rest_includes_gravity
    }

    /// Returns the volume of the flesh, m³.
    pub fn volume(&self) -> f64 {
        self.blocks.volumes().iter().sum()
    }

    /// Returns the integrals of all elements.
    pub fn blocks(&self) -> &IntegralBlocks {
        &self.blocks
    }

    /// Returns the flesh as pieces with constant gradients, one element per element of the basis, for nonlinear energies.
    /// Their linear stiffness is that of [`blocks`](Self::blocks).
    pub fn elements(&self) -> &Elements {
        &self.elements
    }

    /// Returns Young's modulus of the flesh in a cell of the lattice, the mean over its pieces by volume, Pa; `None` without
    /// flesh.
    pub fn cell_young(&self, cell: u32) -> Option<f64> {
        let elements = self.basis.elements(cell);
        self.elements
            .young(elements.start as usize..elements.end as usize)
    }

    /// Returns the mass matrix over nodes, kg.
    pub fn mass_matrix(&self) -> &ScalarMatrix {
        &self.mass
    }

    /// Returns `∫ ρ φ_a`, kg: the mass that pulls at a node where all flesh accelerates alike.
    pub fn carried_mass(&self, node: usize) -> f64 {
        // The functions of level 0 sum to one.
        let row = self.mass.row_range(node);
        let coarse =
            self.mass.indices()[row.clone()].partition_point(|&b| !self.is_detail(b as usize));
        self.mass.data()[row][..coarse].iter().sum()
    }

    /// Returns the twist stiffness over nodes, N/m, with the sparsity of the mass.
    pub fn twist_matrix(&self) -> &ScalarMatrix {
        &self.twist
    }

    /// Returns the targets of the twist, sorted by vertex, then bone.
    pub fn twist_loads(&self) -> &[TwistLoad] {
        &self.twist_loads
    }

    /// Returns the tubes of flesh that turn with the bones, one or two per bone of the lattice. A bone without a tube carries no flesh.
    pub fn twist_regions(&self) -> &[TwistRegion] {
        &self.twist_regions
    }

    /// Returns the twist of the bones for which it was set; `None`: all bones have the default one.
    pub fn own_twist(&self) -> Option<&OwnTwist> {
        self.own_twist.as_ref()
    }

    /// Returns the bones that each node follows, with weights.
    pub fn region_weights(&self) -> &SkinWeights {
        &self.region_weights
    }

    /// Returns the bones whose rotation each element takes, with weights: the mean of its corners' weights.
    pub fn cell_weights(&self) -> &SkinWeights {
        &self.cell_weights
    }

    /// Returns the bone that holds each node; `None`: the node is free.
    pub fn bone_of_vertex(&self) -> &[Option<u32>] {
        &self.bone_of_vertex
    }

    /// Returns whether a held lattice vertex follows all bones of its region weights instead of one.
    pub fn is_skinned(&self, vertex: usize) -> bool {
        self.skinned[vertex]
    }

    /// Returns the lattice vertices whose motion the pose prescribes, ascending: those held by one bone, and those of
    /// loose parts that follow their skin.
    pub fn held_vertices(&self) -> impl Iterator<Item = u32> + '_ {
        let held = self.bone_of_vertex.iter().enumerate();
        held.filter_map(|(v, bone)| bone.is_some().then_some(v as u32))
    }

    /// Returns the lattice vertices held by one bone, ascending. They include loose parts that one bone dominates.
    pub fn bone_vertices(&self) -> impl Iterator<Item = u32> + '_ {
        let held = self.bone_of_vertex.iter().zip(&self.skinned).enumerate();
        held.filter_map(|(v, (bone, skinned))| (bone.is_some() && !skinned).then_some(v as u32))
    }

    /// Returns the direction that the character faces, as a rotation about z.
    pub(crate) fn heading(&self) -> Heading {
        heading(&self.surface, &self.skeleton)
    }

    /// Returns the diagonal of the rest box of the body's own skin along the character's own axes, metres. Vertices
    /// without faces are left out, and so is skin that stands far away and hangs on one bone.
    pub fn size(&self) -> f64 {
        self.size
    }

    /// Returns a sign that no other body has while it or a weak copy of it lives.
    pub(crate) fn identity(&self) -> &Arc<()> {
        &self.identity
    }

    /// Returns thickness and flesh at the surface's vertices. `None`: flesh is uniform.
    pub fn flesh(&self) -> Option<&FleshMap> {
        self.flesh.as_deref()
    }

    /// Returns the anatomy read from shape and rig, whatever is painted. It is computed on first use.
    pub fn anatomy(&self) -> &Anatomy {
        let read = || {
            let (surface, skeleton) = (&self.surface, &self.skeleton);
            Anatomy::new(surface, skeleton, &self.skin, self.kind, &Silent)
                .expect("the silent progress never cancels")
        };
        self.anatomy.get_or_init(read)
    }

    /// Returns the shape of the skin at bent joints. It is prepared on first use.
    pub(crate) fn joints(&self) -> &JointShape {
        self.joints.get_or_init(|| JointShape::new(self))
    }

    /// Returns the parts with flesh that no bone holds; they follow one bone rigidly, or their skin.
    pub fn loose_parts(&self) -> &[LoosePart] {
        &self.loose_parts
    }

    /// Returns the numbering of the unknowns and the symbolic factorisation.
    pub fn pattern(&self) -> &Pattern {
        &self.pattern
    }

    /// Returns the mass matrix, 3·nodes square, kg, rows of held nodes included.
    pub fn mass(&self) -> CsMatI<f64, u32> {
        self.mass.expand()
    }

    /// Returns the stiffness matrix at rest, 3·nodes square, N/m, plus the twist's Hessian if `twist`.
    pub fn stiffness(&self, twist: bool) -> CsMatI<f64, u32> {
        self.stiffness_matrix(twist).expand()
    }

    /// Returns the matrix of [`stiffness`](Self::stiffness) in 3 × 3 blocks.
    pub fn stiffness_matrix(&self, twist: bool) -> BlockMatrix {
        let share = if twist { 1.0 } else { 0.0 };
        let mut matrix = self.twist.map(|k| Mat3::identity() * (k * share));
        for cell in self.blocks.iter() {
            let mut pair = 0;
            for (i, &a) in cell.nodes.iter().enumerate() {
                for &b in &cell.nodes[i..] {
                    matrix.add_pair(a, b, &cell.stiffness[pair]);
                    pair += 1;
                }
            }
        }
        matrix
    }

    /// Returns the number of inverted or flat cells with the nodes at `positions[nodes]`: at a corner, or in a piece of a
    /// body with details.
    pub fn inverted_cell_count(&self, positions: &[Vec3]) -> usize {
        let cells = self.lattice().cells().iter();
        if self.basis.levels() == 0 {
            return cells.filter(|cell| cell.is_inverted(positions)).count();
        }
        let inverted = |element| self.elements.is_inverted(element as usize, positions);
        let cells = 0..cells.len() as u32;
        cells
            .filter(|&c| self.basis.elements(c).any(inverted))
            .count()
    }
}
