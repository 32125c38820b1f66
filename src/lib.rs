//! Thew: physically based rigging and secondary motion for skinned characters.
//!
//! ```
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/shapes/arm.rs"));
//! # fn main() -> Result<(), Any> {
//! use thew::clip::ClipSettings;
//! use thew::dynamics::SimulationSettings;
//! use thew::present::SurfaceId;
//! use thew::progress::Silent;
//! use thew::shot::Shot;
//!
//! // A body around two bones (`examples/shapes/arm.rs` makes it from numbers), and an elbow that bends for half a second.
//! let body = body()?;
//! let poses = (0..24).map(|frame| bent(0.1 * frame.min(12) as f64)).collect::<Result<Vec<_>, _>>()?;
//! let settings = ClipSettings::new(24.0, SimulationSettings::default());
//! let (clip, _) = Shot::new(body, poses, settings).simulate(&Silent)?;
//!
//! // Offsets of the flesh from the artist's skin at each vertex, x, y, z in metres: it lags behind while the elbow moves.
//! let far = |frame| clip.offsets(frame, SurfaceId::OWN).map(|o| o.iter().fold(0.0_f32, |far, x| far.max(x.abs())));
//! assert!(far(0)? < 1e-6 && far(10)? > 0.005);
//! # Ok(())
//! # }
//! ```
//!
//! Data flows one way: immutable objects, each built once, lead to one mutable simulation, and results return through one kernel:
//!
//! ```text
//! Surface, Skeleton ──enclose──▶ Lattice ──assemble──▶ Body ──▶ Simulation ──▶ Clip
//!                                                                  │ lattice coordinates q
//!                              positions (n, 3) f32 ◀── kernel ◀───┘
//! ```
//!
//! | module | contents |
//! | --- | --- |
//! | [`surface`] | triangle surfaces as they come: defects, closest point, ray, winding number, the domain Ω |
//! | [`skeleton`] | bones, poses, blended rigid motions, C¹ motion inside a frame, skin weights |
//! | [`lattice`] | cell complexes: automatic construction, validity, embedding |
//! | [`basis`] | functions in which flesh deforms, their values and gradients on cells |
//! | [`elasticity`] | materials, integrals over the part of a cell that is flesh, linear and nonlinear energies |
//! | [`body`] | everything precomputed for one character |
//! | [`solve`] | thin layers over faer: sparse Cholesky with a reusable symbolic part, eigenpairs, energy terms, Newton, Krylov, L-BFGS-B |
//! | [`contact`] | contact of flesh with itself, other flesh and colliders |
//! | [`force_fields`] | force fields of a scene, such as wind |
//! | [`dynamics`] | simulations, one file per method of motion, and static equilibrium |
//! | [`contact`] | flesh against itself, other bodies and colliders; cells near inversion |
//! | [`rig`] | force fields that push the flesh: templates, guides, samples over a control, their generalised forces, fitting |
//! | [`correspond`] | two characters: pairs of bones, the map from one to the other, rigs and poses carried along it |
//! | [`shell`] | discrete shells: the elastic energy of any triangle mesh, its derivatives, relaxation of shapes |
//! | [`tets`] | tetrahedral meshes without a skeleton: filling, file formats |
//! | [`modal`] | modes, warping, modal dynamics, manipulation |
//! | [`mrep`] | medial models: atoms with spokes, implied boundaries, coordinates along, around and in depth, fits |
//! | [`present`] | display of a state: carried surfaces, the artist's skin, modes, in the world's space or an object's |
//! | [`clip`] | simulated clips, the unit of preview and bake |
//! | [`bake`] | frames in forms that files and engines play: few keys, helper bones, caches, textures |
//! | [`shot`] | a body, its poses, rigs and settings in one file, for machines without the scene |
//! | [`kernel`] | the work for every surface vertex of every frame: embedding, modal warp |
//! | [`progress`] | progress and cancellation of long calls |
//! | [`exclusive`] | a lock that refuses to wait for its own holder |
//! | [`spacetime`] | motions through keyframes with the least acting force: reduced spaces, wiggly splines, blending |
//! | [`store`] | the on-disk cache: versioned, checksummed |
//! | [`progress`] | progress and cancelling: one hook for all long work |
//! | [`exclusive`] | a lock that refuses to wait for itself |
//! | [`prelude`] | the names that a program around one character uses |
//!
//! Units are SI (metres, kilograms, seconds, pascals) throughout; positions are world positions.
//! Citations such as `[capell2002, §3.3]` are listed in `docs/references.md`.
#![deny(unsafe_code)]
#![warn(missing_docs)]

pub mod bake;
pub mod basis;
pub mod body;
pub mod clip;
pub mod contact;
pub mod correspond;
mod disk;
pub mod dynamics;
pub mod elasticity;
pub mod exclusive;
pub mod force_fields;
mod geometry;
pub mod kernel;
pub mod lattice;
pub mod modal;
pub mod mrep;
pub mod prelude;
pub mod present;
pub mod progress;
mod range;
pub mod rig;
pub mod shell;
pub mod shot;
pub mod skeleton;
pub mod solve;
pub mod spacetime;
pub mod store;
pub mod surface;
pub mod tets;

// It has no unit tests, and takes a while to compile.
#[cfg(all(feature = "python", not(test)))]
#[doc(hidden)]
pub mod python;

/// A point or a vector in space, metres.
pub type Vec3 = nalgebra::Vector3<f64>;
/// A 3x3 matrix: a rotation, a stretch, a stiffness block.
pub type Mat3 = nalgebra::Matrix3<f64>;
/// A 4x4 matrix acting on column vectors: an affine map.
pub type Mat4 = nalgebra::Matrix4<f64>;
