//! The names that a program around one character uses, for `use thew::prelude::*`.
//!
//! ```
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/shapes/arm.rs"));
//! # fn main() -> Result<(), Any> {
//! use thew::prelude::*;
//!
//! let body = body()?; // of an arm of flesh around two bones: `examples/shapes/arm.rs`
//! let mut balance = Equilibrium::new(&body, Method::Hyperelastic)?;
//! balance.set_pose(&bent(0.4)?)?;
//! let q: Vec<Vec3> = balance.solve(Vec3::new(0.0, 0.0, -9.81), None, None)?;
//! assert_eq!(q.len(), body.node_count());
//! # Ok(())
//! # }
//! ```

pub use crate::body::{Body, BodySettings};
pub use crate::clip::{Clip, ClipSettings};
pub use crate::contact::{Collider, Contact};
pub use crate::dynamics::{Equilibrium, Method, Scene, Simulation, SimulationSettings};
pub use crate::elasticity::Material;
pub use crate::lattice::Lattice;
pub use crate::modal::DeformSettings;
pub use crate::present::{Presenter, SurfaceId};
pub use crate::progress::{Progress, Silent};
pub use crate::rig::{Guide, Rig, Sample, Template, TemplateKind};
pub use crate::shot::Shot;
pub use crate::skeleton::{Pose, Skeleton};
pub use crate::surface::Surface;
pub use crate::{Mat3, Mat4, Vec3};
