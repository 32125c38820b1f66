// SPDX-License-Identifier: MIT OR Apache-2.0
//! Medial models: bodies described from the inside, by atoms with spokes to the skin.
//!
//! [`Atom`]s in a grid (slab) or a row (tube) form a [`Figure`]. Their spokes imply its [`Boundary`]. Points inside have
//! figural coordinates along, across, around and in depth ([`Figure::coordinates`]). These coordinates belong to the flesh:
//! they stay the same when the figure moves.
//!
//! Initial figures come from:
//!
//! * [`Figure::from_skeleton`]: bones and the skin that follows them;
//! * [`Figure::slab_around`], [`Figure::tube_around`]: a body without bones ([`suggest_bones`] proposes bones for it);
//! * [`FigureTemplate`]: a named shape.
//!
//! A [`Model`] joins several figures under one boundary.
//!
//! Sources: `[oguz2005]` on the whole; `[pizer2003]` m-reps; `[thall2004]` implied boundaries; `[damon2003]` legality.

mod error;
mod figures;
mod files;
mod fit;
#[cfg(test)]
mod fixture;
mod initial;
mod lattices;
mod spline;
mod statistics;
#[cfg(test)]
mod tests;
mod volume;

pub use error::MRepError;
pub use figures::atom::Atom;
pub use figures::boundary::Boundary;
pub(crate) use figures::boundary::{site_coordinates, site_radii};
pub use figures::coordinates::{Coordinates, MAX_DEPTH};
pub use figures::correspondence::Correspondence;
pub use figures::figure::{Figure, FigureKind};
pub use figures::model::Model;
pub use fit::{FigureFit, FigureFitSettings, FitReport, FitStage, Levels};
pub use initial::bones::{SuggestedBones, suggest_bones};
pub use initial::chain::{ChainSettings, chain_weights};
pub use initial::template::FigureTemplate;
pub use statistics::Statistics;
pub use volume::Volume;
