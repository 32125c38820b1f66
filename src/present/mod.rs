// SPDX-License-Identifier: MIT OR Apache-2.0
//! Display of states: the only path from a lattice, a sway or amplitudes to vertices on a screen.
//!
//! | file | content |
//! | --- | --- |
//! | `surface` | one carried surface: embedding, skin, bounds of its sway, packed for the kernels on first use |
//! | `surfaces` | the shown surfaces of one body, by [`SurfaceId`] |
//! | `bounds` | properties that vertices of other surfaces take from the nearest skin |
//! | `lifts` | cache of the skin of bent joints at the last instants |
//! | `snapshot` | a state for display: the lattice and the pose in f32, and the artist's options |
//! | `stored` | a body and its carried surfaces as a file |
//! | `warped` | surfaces under modes and a pose |
//! | `parting` | modal flesh whose surface is parted where it overlaps |
//! | `presenter` | all of the above: positions, offsets, velocities of any surface, in any [`OutputSpace`] |
//!
//! ```
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/shapes/arm.rs"));
//! # fn main() -> Result<(), Any> {
//! use thew::present::{DisplaySettings, Instant, OutputSpace, Presenter, Snapshot, SurfaceId};
//! use thew::skeleton::Affine;
//!
//! let body = body()?; // of an arm of flesh around two bones: `examples/shapes/arm.rs`
//! let pose = bent(0.4)?;
//! let presenter = Presenter::new(body.clone());
//! let sleeve = presenter.surfaces().carry(body.surface());
//!
//! // The lattice at rest, shown at a pose without elastic joints: the artist's own skin.
//! let plain = DisplaySettings { elastic_joints: 0.0, max_offset: None };
//! let rest = body.rest_shape();
//! let snapshot = Snapshot::new(&body, rest, None, Some(&pose), plain);
//! let mut skin = vec![0.0; 3 * presenter.vertices(SurfaceId::OWN)?];
//! presenter.positions(SurfaceId::OWN, snapshot.instant(), &OutputSpace::WORLD, &mut skin)?;
//!
//! // The same in the space of an object, in centimetres: no pass over the mesh follows the kernel.
//! let mut object = skin.clone();
//! let centimetres = Affine { linear: 100.0 * thew::Mat3::identity(), ..Affine::identity() };
//! presenter.positions(sleeve, snapshot.instant(), &OutputSpace::new(centimetres)?, &mut object)?;
//! assert_eq!(object.len(), skin.len());
//! # let _: Instant = snapshot.instant();
//! # Ok(())
//! # }
//! ```

mod bounds;
mod error;
mod lifts;
mod parting;
mod presenter;
mod snapshot;
mod stored;
mod surface;
mod surfaces;
#[cfg(test)]
mod tests;
mod warped;

pub use crate::kernel::OutputSpace;
pub use error::PresentError;
pub use presenter::Presenter;
pub use snapshot::{DisplaySettings, Instant, ModalPose, Presentation, Snapshot};
pub use surface::CarriedSurface;
pub use surfaces::{CarriedSurfaces, SurfaceId};
pub use warped::WarpPresenter;
