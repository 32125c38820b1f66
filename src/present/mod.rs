// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is shown of a state: the one way from a lattice, a sway or amplitudes to vertices on a screen.
//!
//! | file | what |
//! | --- | --- |
//! | `surface` | one carried surface: embedding, skin, bounds of its sway, packed for the kernels when first shown |
//! | `surfaces` | the surfaces that are shown of one body, by [`SurfaceId`] |
//! | `bounds` | what vertices of other surfaces take from the skin beside them |
//! | `lifts` | the skin of bent joints at the instants shown last |
//! | `snapshot` | a state as it is kept to be shown: the lattice and the pose in f32, and what an artist chose about it |
//! | `stored` | a body and what it carries as a file |
//! | `warped` | surfaces under modes and a pose |
//! | `parted` | modal flesh whose surface parts where it overlaps |
//! | `presenter` | all of it: positions, offsets, velocities of any surface, in any [`Target`] |
//!
//! ```
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/shapes/arm.rs"));
//! # fn main() -> Result<(), Any> {
//! use thew::present::{Instant, Presenter, Showing, Snapshot, SurfaceId, Target};
//! use thew::skeleton::Affine;
//!
//! let body = body()?; // of an arm of flesh around two bones: `examples/shapes/arm.rs`
//! let pose = bent(0.4)?;
//! let presenter = Presenter::new(body.clone());
//! let sleeve = presenter.surfaces().carry(body.surface());
//!
//! // The lattice at rest, shown at a pose without elastic joints: the artist's own skin.
//! let plain = Showing { elastic_joints: 0.0, max_offset: None };
//! let rest = body.lattice().vertices();
//! let snapshot = Snapshot::new(&body, rest, None, Some(&pose), plain);
//! let mut skin = vec![0.0; 3 * presenter.vertices(SurfaceId::OWN)?];
//! presenter.positions(SurfaceId::OWN, snapshot.instant(), &Target::WORLD, &mut skin)?;
//!
//! // The same in the space of an object, in centimetres: no pass over the mesh follows the kernel.
//! let mut object = skin.clone();
//! let centimetres = Affine { linear: 100.0 * thew::Mat3::identity(), ..Affine::identity() };
//! presenter.positions(sleeve, snapshot.instant(), &Target::new(centimetres)?, &mut object)?;
//! assert_eq!(object.len(), skin.len());
//! # let _: Instant = snapshot.instant();
//! # Ok(())
//! # }
//! ```

mod bounds;
mod error;
mod lifts;
mod parted;
mod presenter;
mod snapshot;
mod stored;
mod surface;
mod surfaces;
#[cfg(test)]
mod tests;
mod warped;

pub use crate::kernel::Target;
pub use error::PresentError;
pub use presenter::Presenter;
pub use snapshot::{Instant, Presentation, Showing, Snapshot};
pub use surface::CarriedSurface;
pub use surfaces::{CarriedSurfaces, SurfaceId};
pub use warped::{Posed, WarpPresenter};
