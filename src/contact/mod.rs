// SPDX-License-Identifier: MIT OR Apache-2.0
//! Contact: keeps flesh from passing through itself, other bodies and colliders, and cells from inversion. Everything here takes a list of bodies:
//! often one, several in scenes.
//!
//! Each step of motion is first taken without contact. `broad` finds the candidates once a frame; `narrow` finds the points of the displayed skin
//! that lie in other flesh. Each such point is a unilateral row with friction; cells near inversion are rows of the same problem (`cells`).
//! `complementarity` solves it on the factor that the step already has, and the step is displaced. Overlaps of any origin are parted slowly.
//!
//! Modal flesh has no step in which contact could act. Its surface alone is parted at each instant (`parting`): `overlaps` finds the overlaps of the
//! displayed surface, and `parting_field` displaces the skin smoothly until it parts.
//!
//! For comparison there is the crease method as the paper prints it ([`ContactResponse`]). Fronts that grow from seeds find the collisions
//! (`fronts`), in order of entry (`creases`), and equalities hold them (`equalities`).
//!
//! | file | content |
//! | --- | --- |
//! | `skin`, `posed`, `bone_points` | the prepared skin of a body; its displayed flesh at one instant; vertices that stand for bones |
//! | `collider`, `placed`, `instant` | colliders; their placement over a frame; bodies and colliders at one instant |
//! | `live`, `record` | contacts kept from step to step; one contact as stored and as reported |
//! | `search` | `broad`, `narrow`, `bumps` (colliders), `buried` (bones), `warped` (cells displaced to carry the skin), `path`, `boxes` |
//! | `response` | `rows`, `cells`, `complementarity`, `compliance`, `shorten` |
//! | `display` | `folds` and `ways_out` of the skin; `parting`, `overlaps` and `spread` for modal flesh |
//! | `creases` | the crease method: `fronts`, `equalities` |
//! | `settings`, `stored`, `error` | settings, their form in files, errors |
//!
//! Sources: `[capell2006, §3.4]`, corrected; `[mcadams2011]` for the search at rest; `[otaduy2009]`, `[allard2010]` for contact on
//! implicit steps.
//!
//! ```
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/shapes/arm.rs"));
//! # fn main() -> Result<(), Any> {
//! use thew::contact::Contact;
//! use thew::dynamics::{Simulation, SimulationSettings};
//!
//! let body = body()?; // an arm of flesh: `examples/shapes/arm.rs`
//! let contact = Contact::default().prepare(&body, &Silent)?;
//! let mut motion = Simulation::new(body, SimulationSettings::default())?;
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

mod bone_points;
mod collider;
mod collider_span;
mod contacts;
mod creases;
mod display;
mod error;
mod instant;
mod placed_collider;
mod posed_flesh;
mod record;
mod response;
mod search;
mod settings;
mod skin;
mod stored;
#[cfg(test)]
pub(crate) mod tests;

pub use collider::{Collider, ColliderMotion};
pub use display::parting::{Parting, PartingOffsets};
pub use error::ContactError;
pub use record::ContactPoint;
pub use search::buried::BuriedBone;
pub use settings::{Contact, ContactResponse, ContactSettings, PreparedContact};
pub use skin::ContactSkin;

pub(crate) use collider_span::ColliderSpan;
pub(crate) use contacts::Contacts;
pub(crate) use creases::{Crease, Creases};
pub(crate) use display::folds::FoldSearch;
pub(crate) use posed_flesh::{DisplayedVertices, PosedFlesh, SkinLifts};
pub(crate) use record::LiveContact;
pub(crate) use response::cells::MIN_DETERMINANT;
pub(crate) use response::compliance::FlexibleBody;
pub(crate) use search::buried::StandingBody;
pub(crate) use search::path::BOX_MARGIN;
pub(crate) use search::path::SweptBody;
pub(crate) use stored::StoredContact;
