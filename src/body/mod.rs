// SPDX-License-Identifier: MIT OR Apache-2.0
//! A body: everything precomputed for one character, immutable and shared.
//!
//! ```
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/shapes/arm.rs"));
//! # fn main() -> Result<(), Any> {
//! let body = body()?; // of an arm of flesh around two bones: `examples/shapes/arm.rs`
//! assert!((body.volume() - body.surface().volume()).abs() < 0.02 * body.volume());
//! let free = body.pattern().vertex_of_node().len();
//! assert_eq!(free + body.held_vertices().count(), body.nodes());
//! // Rigid motions cost no energy: rows of the stiffness sum to zero.
//! use thew::solve::NodeMatrix;
//! let stiffness = body.stiffness_matrix(false);
//! let mut forces = vec![Vec3::zeros(); body.nodes()];
//! stiffness.times(&vec![Vec3::new(1.0, 2.0, 3.0); body.nodes()], &mut forces);
//! let largest = stiffness.data().iter().fold(0.0_f64, |most, block| most.max(block.amax()));
//! assert!(forces.iter().all(|f| f.amax() < 1e-9 * largest));
//! # Ok(())
//! # }
//! ```
//!
//! [`Body::new`] integrates the flesh over the lattice ([`crate::elasticity`]), carries the artist's
//! weights and paint from the surface to the lattice, finds the parts that no bone holds, and prepares
//! the sparse system whose unknowns are the lattice vertices off the bones. [capell2002, §3.3, §4.3, §4.6]

mod anatomy;
mod assemble;
mod blocks;
mod check;
mod compliance;
#[cfg(test)]
pub(crate) mod fixture;
mod flesh;
mod inversion;
mod joints;
mod loose;
mod points;
mod skin;
mod stored;
#[cfg(test)]
mod tests;
mod transfer;
mod twist;

pub use anatomy::{Anatomy, BodyPart, Kind, PartName};
pub use blocks::{Blocks, CellBlocks};
pub use flesh::FleshMap;
pub(crate) use inversion::{corner_frames, corner_volume};
pub(crate) use joints::JointShape;
pub use loose::LoosePart;
pub use points::{Brick, FleshPoint, FleshPoints};
pub(crate) use stored::{StoredBody, WIDE};

use crate::aabb;
use crate::elasticity::{Elements, InSurface, Material};
use crate::lattice::{Cell, Embedding, Lattice, heading};
use crate::progress::{Progress, Silent};
use crate::skeleton::{Skeleton, SkinWeights};
pub use crate::solve::Pattern;
use crate::solve::{BlockMatrix, NodeMatrix, ScalarMatrix, SolveError};
use crate::surface::{Heading, Surface};
use crate::{Mat3, Vec3};
use sprs::CsMatI;
use std::sync::{Arc, OnceLock};

/// How a body is made; `..Default::default()` for the rest.
#[derive(Debug, Clone, PartialEq)]
pub struct BodyOptions {
    /// Skin weights on the surface's vertices; none = by distance to the bones.
    pub region_weights: Option<SkinWeights>,
    /// Flesh at the surface's vertices: 0 is the skin as it is, 1 as soft as it gets. None = by the body's [`Anatomy`] where there
    /// are skin weights to tell which bones carry a vertex; without them flesh is the same everywhere.
    pub flesh: Option<Vec<f64>>,
    /// What kind of character it is: what of it may be soft where `flesh` does not say it.
    pub kind: Kind,
    /// Which part of the skin at each surface vertex is of something hard, as materials tell it: 0 none, 1 all. The body's
    /// [`Anatomy`] leaves it so much less flesh.
    pub hard: Option<Vec<f64>>,
    /// Factors on Young's modulus, one per surface vertex.
    pub stiffness: Option<Vec<f64>>,
    /// Factors on the density, one per surface vertex.
    pub density: Option<Vec<f64>>,
    /// Factors on Poisson's ratio, one per surface vertex.
    pub poisson: Option<Vec<f64>>,
    /// Twist stiffness κ per bone, N/m⁴; none = E/r², E that of the flesh around the bone, painted factors included.
    pub twist_stiffness: Option<Vec<f64>>,
    /// Twist radius r per bone, metres; none = half the bone's distance to the skin.
    pub twist_radius: Option<Vec<f64>>,
    /// The modelled shape already sags: at rest gravity and elasticity are in balance.
    pub rest_includes_gravity: bool,
    /// How often cells are subdivided for the integrals, 0 to 3.
    pub level: usize,
    /// Levels of detail functions besides the lattice's own; only 0 is built.
    pub basis_levels: usize,
}

impl Default for BodyOptions {
    fn default() -> Self {
        Self {
            region_weights: None,
            flesh: None,
            kind: Kind::default(),
            hard: None,
            stiffness: None,
            density: None,
            poisson: None,
            twist_stiffness: None,
            twist_radius: None,
            rest_includes_gravity: true,
            level: 1,
            basis_levels: 0,
        }
    }
}

/// Why a body could not be made.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum BodyError {
    /// The caller stopped.
    #[error(transparent)]
    Cancelled(#[from] crate::progress::Cancelled),
    /// The system is too large.
    #[error(transparent)]
    Solve(#[from] SolveError),
    /// An array does not fit.
    #[error("{what}: expected {expected} numbers, one per {per}, but there are {given}")]
    Length {
        /// Which array.
        what: &'static str,
        /// Surface vertex or bone.
        per: &'static str,
        /// How many it should have.
        expected: usize,
        /// How many it has.
        given: usize,
    },
    /// A painted or per-bone number out of range.
    #[error("{what} at {per} {index} is {value}, but must be {range}")]
    Value {
        /// Which array.
        what: &'static str,
        /// Surface vertex or bone.
        per: &'static str,
        /// Where.
        index: usize,
        /// What is there.
        value: f64,
        /// What would be right.
        range: &'static str,
    },
    /// Weights made for another skeleton.
    #[error("the region weights name bone {bone}, but the skeleton has {bones} bones")]
    WeightBone {
        /// The bone they name.
        bone: u32,
        /// How many there are.
        bones: usize,
    },
    /// Bones of the lattice that the skeleton does not have.
    #[error(
        "the lattice follows bone {bone}, but the skeleton has {bones} bones: it was built for another one"
    )]
    LatticeBone {
        /// The bone it follows.
        bone: u32,
        /// How many there are.
        bones: usize,
    },
    /// Stiffening by an impossible factor.
    #[error("flesh can be made stiffer by a positive factor, not by {0}")]
    Stiffening(f64),
    /// Nothing to hold the flesh.
    #[error("the skeleton has no bones: there is nothing for the flesh to hang on")]
    NoBones,
    /// Detail functions are not built yet.
    #[error("basis_levels = {0} is not built yet; built is: 0")]
    BasisLevels(usize),
    /// Subdivision out of range.
    #[error("level must lie between 0 and 3, not {0}")]
    Level(usize),
    /// The surface and the lattice do not overlap.
    #[error(
        "no flesh lies in the lattice: it was built for another mesh, or the mesh encloses nothing"
    )]
    NoFlesh,
    /// A lattice that leaves out most of the mesh.
    #[error(
        "most of the mesh lies outside the lattice, up to {farthest:.3} m: it was built for another mesh; build one around this mesh"
    )]
    OtherMesh {
        /// How far a vertex lies outside, metres.
        farthest: f64,
    },
    /// Weights that say nothing.
    #[error(
        "all region weights are zero: no vertex follows any bone; paint some, or give none and the nearest bones serve"
    )]
    NoWeights,
    /// A kept body that does not fit together.
    #[error("the saved body is damaged: {0}")]
    Damaged(&'static str),
}

/// What twist energy pulls a lattice vertex to: Σ over bones of `s T(0) + T.linear y`.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct TwistLoad {
    /// The lattice vertex.
    pub vertex: u32,
    /// The bone it follows.
    pub bone: u32,
    /// `∫ κ w φ_a`, N/m, w the flesh's weight for the bone.
    pub sum: f64,
    /// `∫ κ w φ_a x`, N, in rest coordinates.
    pub moment: Vec3,
}

/// Everything precomputed for one character.
///
/// Degrees of freedom are the lattice's vertices, three numbers each, in metres and world axes.
pub struct Body {
    lattice: Arc<Lattice>,
    skeleton: Arc<Skeleton>,
    material: Material,
    rest_includes_gravity: bool,
    blocks: Blocks,
    elements: Elements,
    mass: ScalarMatrix,
    twist: ScalarMatrix,
    twist_loads: Vec<TwistLoad>,
    region_weights: SkinWeights,
    cell_weights: SkinWeights,
    bone_of_vertex: Vec<Option<u32>>,
    /// Held vertices that follow all bones of their weights: loose parts that no bone dominates.
    skinned: Vec<bool>,
    loose_parts: Vec<LoosePart>,
    pattern: Arc<Pattern>,
    /// The body's own surface: what its flesh lies in.
    surface: Arc<Surface>,
    /// The flesh as points, made where they are asked for.
    points: Arc<FleshPoints>,
    /// The embedding of its vertices in the lattice.
    embedding: Arc<Embedding>,
    /// Bones and weights of its vertices.
    skin: Arc<SkinWeights>,
    /// Diagonal of the box of the own skin that is the body's, metres.
    size: f64,
    flesh: Option<Arc<FleshMap>>,
    kind: Kind,
    /// What shape and rig tell of it, read where it is asked for.
    anatomy: Arc<OnceLock<Anatomy>>,
    /// How bent joints are shown, prepared where they are.
    joints: Arc<OnceLock<JointShape>>,
    /// How the flesh at rest gives way, made where it is asked for.
    compliance: compliance::Compliance,
}

impl std::fmt::Debug for Body {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Body")
            .field("nodes", &self.nodes())
            .field("cells", &self.blocks.len())
            .field("volume", &self.volume())
            .finish_non_exhaustive()
    }
}

impl Body {
    /// Precomputes the body of a character.
    ///
    /// # Errors
    /// Arrays that do not fit or hold impossible numbers, a lattice for another skeleton or mesh, a stop
    /// by the progress.
    pub fn new(
        surface: &Arc<Surface>,
        skeleton: &Arc<Skeleton>,
        lattice: &Arc<Lattice>,
        material: Material,
        options: &BodyOptions,
        progress: &dyn Progress,
    ) -> Result<Self, BodyError> {
        assemble::body(
            || lattice.embed_surface(surface),
            surface,
            &InSurface { surface, lattice },
            skeleton,
            lattice,
            material,
            options,
            progress,
        )
    }

    /// [`nodes`](Self::nodes) as they were called.
    #[deprecated(note = "renamed to nodes")]
    pub fn dofs(&self) -> usize {
        self.nodes()
    }

    /// [`free_dofs`](Self::free_dofs) as they were called.
    #[deprecated(note = "renamed to free_dofs")]
    pub fn freedom(&self) -> usize {
        self.free_dofs()
    }

    /// Number of nodes, each with three degrees of freedom: the lattice's vertices.
    pub fn nodes(&self) -> usize {
        self.bone_of_vertex.len()
    }

    /// Degrees of freedom that the bones leave: three per vertex that is not held.
    pub fn free_dofs(&self) -> usize {
        3 * (self.nodes() - self.held_vertices().count())
    }

    /// The lattice.
    pub fn lattice(&self) -> &Arc<Lattice> {
        &self.lattice
    }

    /// The skeleton at rest.
    pub fn skeleton(&self) -> &Arc<Skeleton> {
        &self.skeleton
    }

    /// The body's own surface, as given.
    pub fn surface(&self) -> &Arc<Surface> {
        &self.surface
    }

    /// The flesh as points for quadrature.
    pub fn points(&self) -> &FleshPoints {
        &self.points
    }

    /// The material before paint.
    pub fn material(&self) -> Material {
        self.material
    }

    /// Whether the modelled shape counts as sagging already.
    pub fn rest_includes_gravity(&self) -> bool {
        self.rest_includes_gravity
    }

    /// Volume of the flesh, m³.
    pub fn volume(&self) -> f64 {
        self.blocks.volumes().iter().sum()
    }

    /// Integrals of all cells.
    pub fn blocks(&self) -> &Blocks {
        &self.blocks
    }

    /// The flesh as pieces with constant gradients, one element per cell in order: what nonlinear energies are
    /// made of. Their linear stiffness is that of [`blocks`](Self::blocks).
    pub fn elements(&self) -> &Elements {
        &self.elements
    }

    /// Mass over lattice vertices, kg.
    pub fn mass_matrix(&self) -> &ScalarMatrix {
        &self.mass
    }

    /// Twist stiffness over lattice vertices, N/m; the same pattern as the mass.
    pub fn twist_matrix(&self) -> &ScalarMatrix {
        &self.twist
    }

    /// What the twist pulls towards, sorted by vertex, then bone.
    pub fn twist_loads(&self) -> &[TwistLoad] {
        &self.twist_loads
    }

    /// For each lattice vertex the bones that it follows.
    pub fn region_weights(&self) -> &SkinWeights {
        &self.region_weights
    }

    /// For each cell the bones whose turn it takes: the mean of its corners' weights.
    pub fn cell_weights(&self) -> &SkinWeights {
        &self.cell_weights
    }

    /// For each lattice vertex the one bone that holds it; none where it is free.
    pub fn bone_of_vertex(&self) -> &[Option<u32>] {
        &self.bone_of_vertex
    }

    /// Whether a held lattice vertex follows all bones of its region weights instead of one.
    pub fn is_skinned(&self, vertex: usize) -> bool {
        self.skinned[vertex]
    }

    /// Lattice vertices whose motion the pose prescribes, ascending: those that one bone holds, and those of loose
    /// parts that follow their skin.
    pub fn held_vertices(&self) -> impl Iterator<Item = u32> + '_ {
        let held = self.bone_of_vertex.iter().enumerate();
        held.filter_map(|(v, bone)| bone.is_some().then_some(v as u32))
    }

    /// Lattice vertices that one bone holds, ascending; loose parts included where one bone dominates them.
    pub fn bone_vertices(&self) -> impl Iterator<Item = u32> + '_ {
        let held = self.bone_of_vertex.iter().zip(&self.skinned).enumerate();
        held.filter_map(|(v, (bone, skinned))| (bone.is_some() && !skinned).then_some(v as u32))
    }

    /// Tells which way the character faces.
    pub(crate) fn heading(&self) -> Heading {
        heading(&self.surface, &self.skeleton)
    }

    /// Diagonal of the rest box of the body's own skin along the character's own axes, metres: without vertices of no face, and
    /// without what stands far away and hangs on one bone.
    pub fn size(&self) -> f64 {
        self.size
    }

    /// The same body of flesh that is stiffer by a factor; what holds it against twist is too.
    ///
    /// # Errors
    /// A factor that is not positive.
    pub fn stiffened(&self, factor: f64) -> Result<Self, BodyError> {
        let m = &self.material;
        let material = Material::new(m.young() * factor, m.poisson(), m.density())
            .map_err(|_| BodyError::Stiffening(factor))?;
        Ok(Self {
            lattice: self.lattice.clone(),
            skeleton: self.skeleton.clone(),
            material,
            rest_includes_gravity: self.rest_includes_gravity,
            blocks: self.blocks.stiffened(factor),
            elements: self.elements.stiffened(factor),
            mass: self.mass.clone(),
            twist: self.twist.map(|k| k * factor),
            twist_loads: self
                .twist_loads
                .iter()
                .map(|l| TwistLoad {
                    sum: l.sum * factor,
                    moment: l.moment * factor,
                    ..*l
                })
                .collect(),
            region_weights: self.region_weights.clone(),
            cell_weights: self.cell_weights.clone(),
            bone_of_vertex: self.bone_of_vertex.clone(),
            skinned: self.skinned.clone(),
            loose_parts: self.loose_parts.clone(),
            pattern: self.pattern.clone(),
            surface: self.surface.clone(),
            points: self.points.clone(),
            embedding: self.embedding.clone(),
            skin: self.skin.clone(),
            size: self.size,
            flesh: self.flesh.clone(),
            kind: self.kind,
            anatomy: self.anatomy.clone(),
            joints: self.joints.clone(),
            compliance: compliance::Compliance::default(),
        })
    }

    /// Thickness and flesh at the vertices of the own surface; none where flesh is the same everywhere.
    pub fn flesh(&self) -> Option<&FleshMap> {
        self.flesh.as_deref()
    }

    /// What shape and rig tell of the body; read once, whatever is painted.
    pub fn anatomy(&self) -> &Anatomy {
        let read = || {
            let (surface, skeleton) = (&self.surface, &self.skeleton);
            let read = Anatomy::new(surface, skeleton, &self.skin, self.kind, &Silent);
            // Nobody cancels.
            read.unwrap_or_else(|_| unreachable!())
        };
        self.anatomy.get_or_init(read)
    }

    /// How its skin is shown with bent joints; prepared once.
    pub(crate) fn joints(&self) -> &JointShape {
        self.joints.get_or_init(|| JointShape::new(self))
    }

    /// Parts with flesh that no bone holds: they follow one bone rigidly, or their skin.
    pub fn loose_parts(&self) -> &[LoosePart] {
        &self.loose_parts
    }

    /// The unknowns and the symbolic factorisation.
    pub fn pattern(&self) -> &Pattern {
        &self.pattern
    }

    /// The mass matrix, 3·nodes square, kg; floor and bone rows included.
    pub fn mass(&self) -> CsMatI<f64, u32> {
        self.mass.expand()
    }

    /// The stiffness matrix at rest, 3·nodes square, N/m, with the twist's Hessian when asked for.
    pub fn stiffness(&self, twist: bool) -> CsMatI<f64, u32> {
        self.stiffness_matrix(twist).expand()
    }

    /// As [`stiffness`](Self::stiffness), in blocks.
    pub fn stiffness_matrix(&self, twist: bool) -> BlockMatrix {
        let share = if twist { 1.0 } else { 0.0 };
        let mut matrix = self.twist.map(|k| Mat3::identity() * (k * share));
        for cell in self.blocks.iter() {
            let mut pair = 0;
            for (i, &a) in cell.corners.iter().enumerate() {
                for &b in &cell.corners[i..] {
                    matrix.add_pair(a, b, &cell.stiffness[pair]);
                    pair += 1;
                }
            }
        }
        matrix
    }

    /// How many cells are inverted, or flat, with the lattice's vertices at `positions[nodes]`.
    pub fn inverted_cells(&self, positions: &[Vec3]) -> usize {
        let inverted = |cell: &&Cell| inversion::is_inverted(cell, positions);
        self.lattice.cells().iter().filter(inverted).count()
    }
}

/// The size of a body: of its skin without vertices of no face and props far away.
fn size_of(
    surface: &Surface,
    skeleton: &Skeleton,
    skin: &SkinWeights,
    embedding: &Embedding,
    lattice: &Lattice,
) -> f64 {
    let mine = anatomy::of_body(surface, skeleton, skin);
    let is = |i: usize| mine.get(i).copied().unwrap_or(true);
    let heading = heading(surface, skeleton);
    extent(embedding, lattice.vertices(), heading, is)
}

/// Diagonal of the box, along these axes, around those of an embedded surface's vertices that `chosen` names; 0 without any.
fn extent(
    embedding: &Embedding,
    rest: &[Vec3],
    heading: Heading,
    chosen: impl Fn(usize) -> bool,
) -> f64 {
    let points = (0..embedding.len()).filter(|&i| chosen(i));
    aabb::diagonal(points.map(|i| heading.to_own(&embedding.place(i, rest))))
}
