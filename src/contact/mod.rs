// SPDX-License-Identifier: MIT OR Apache-2.0
//! Contact: flesh against itself, and cells that cannot fold. What is here counts bodies: often one, in scenes several.
//!
//! A step of motion is taken without contact first. Where skin, as it is shown, has then come into other flesh
//! (`narrow`, among what `broad` found once for the frame), unilateral rows with friction are solved for on the factor that
//! the step has already (`complementarity`), and the step is displaced. Cells near inversion are rows of the same problem
//! (`cells`). What overlaps, however it came, is parted slowly.
//!
//! Of modal flesh, which has no step in which contact could act, the surface alone is parted in each instant (`parting`): what overlaps
//! is told from the surface as it is shown (`overlaps`), and the skin displaced smoothly so that it parts (`spread`).
//!
//! For comparison there is the crease method as the paper prints it ([`ContactResponse`]): collisions found by fronts that grow from
//! seeds (`fronts`), in order of entry (`creases`), held by equalities (`equalities`).
//!
//! Sources: `[capell2006, §3.4]`, corrected; `[mcadams2011]` for the search at rest; `[otaduy2009]`, `[allard2010]` for contact on
//! implicit steps.
//!
//! ```
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/shapes/arm.rs"));
//! # fn main() -> Result<(), Any> {
//! use thew::contact::Contact;
//! use thew::dynamics::{Method, Settings, Simulation};
//!
//! let body = body()?; // an arm of flesh: `examples/shapes/arm.rs`
//! let contact = Contact::default().prepare(&body, &Silent)?;
//! let mut motion = Simulation::new(body, Method::Hyperelastic, Settings::default())?;
//! motion.set_contact(Some(contact))?;
//! motion.reset(&bent(0.0)?, true, None)?;
//! for frame in 1..=20 {
//!     motion.advance(&bent(0.125 * frame as f64)?, 1.0 / 24.0, None, None)?;
//! }
//! // Folded by 143 degrees, the arm touches itself, and is pushed apart.
//! assert!(motion.contacts().iter().any(|c| c.force.dot(&c.normal) > 0.0));
//! # Ok(())
//! # }
//! ```

mod boxes;
mod broad;
mod bumps;
mod buried;
mod cells;
mod collider;
mod complementarity;
mod compliance;
mod creases;
mod equalities;
mod error;
mod folds;
mod fronts;
mod instant;
mod live;
mod narrow;
mod overlaps;
mod parting;
mod path;
mod placed;
mod posed;
mod record;
mod rows;
mod settings;
mod shorten;
mod skin;
mod spread;
mod stored;
#[cfg(test)]
pub(crate) mod tests;
mod warped;
mod ways_out;

pub use buried::BuriedBone;
pub use collider::{Collider, ColliderMotion};
pub use error::ContactError;
pub use parting::{Parted, Parting};
pub use record::ContactPoint;
pub use settings::{Contact, ContactOptions, ContactResponse, PreparedContact};
pub use skin::ContactSkin;

pub(crate) use broad::Swept;
pub(crate) use buried::Standing;
pub(crate) use cells::LEAST as LEAST_DETERMINANT;
pub(crate) use compliance::Flexible;
pub(crate) use creases::{Crease, Creases};
pub(crate) use folds::Folds;
pub(crate) use live::Contacts;
pub(crate) use path::BOXES_WIDER;
pub(crate) use placed::Span;
pub(crate) use posed::{Lifts, Posed, ShownVertices};
pub(crate) use record::Live;
pub(crate) use stored::StoredContact;
