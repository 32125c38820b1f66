// SPDX-License-Identifier: MIT OR Apache-2.0
//! Medial models: bodies described from the inside, by atoms with spokes to the skin.
//!
//! [`Atom`]s in a grid or a row are a [`Figure`]; its [`Boundary`] is implied by their spokes. What lies inside has coordinates
//! along, across, around and in depth ([`Figure::coordinates`]), which belong to the flesh: they stay where the figure moves.
//!
//! First figures come from what is there: [`Figure::from_skeleton`] along bones and the skin that follows them,
//! [`Figure::slab_around`] and [`Figure::tube_around`] in bodies without, which [`suggest_bones`] gives some, or as a
//! [`Template`]. A [`Model`] is several
//! figures with one boundary.
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
