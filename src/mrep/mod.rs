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
//! * [`Template`]: a named shape.
//!
//! A [`Model`] joins several figures under one boundary.
//!
//! Sources: `[oguz2005]` on the whole; `[pizer2003]` m-reps; `[thall2004]` implied boundaries; `[damon2003]` legality.

mod along;
mod around;
mod atom;
mod bend;
mod blend;
mod bones;
mod boundary;
mod cells;
mod chain;
mod coordinates;
mod correspondence;
mod cut;
mod ellipsoid;
mod error;
mod extent;
mod figure;
mod file;
mod fit;
#[cfg(test)]
mod fixture;
mod flesh;
mod frames;
mod geodesic;
mod legality;
mod limbs;
mod marching;
mod membrane;
mod model;
mod moments;
mod pieces;
mod pour;
mod rings;
mod rotation;
mod runs;
mod samples;
mod sites;
mod skin;
mod spline;
mod spokes;
mod srep;
mod statistics;
mod template;
#[cfg(test)]
mod tests;
mod tube;
mod volume;

pub use atom::Atom;
pub use bones::{SuggestedBones, suggest_bones};
pub use boundary::Boundary;
pub(crate) use boundary::{site_coordinates, site_radii};
pub use chain::{ChainSettings, chain_weights};
pub use coordinates::{Coordinates, FARTHEST_DEPTH};
pub use correspondence::Correspondence;
pub use error::MRepError;
pub use figure::{Figure, Kind};
pub use fit::{Fit, FitSettings, Levels, Report, Stage};
pub use model::Model;
pub use statistics::Statistics;
pub use template::Template;
pub use volume::Volume;
