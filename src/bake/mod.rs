// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bakes: motion of vertices in the forms that files and engines play, without a simulation and without Thew.
//!
//! All forms read [`VertexFrames`]: the vertices of one mesh in the frames of several clips. Where a skeleton moves the mesh,
//! [`VertexMaps`] say how, and errors are measured after it, as they are seen.
//!
//! | file | content |
//! | --- | --- |
//! | `compress` | few keys for all clips |
//! | `frames` | vertices of a mesh in the frames of several clips |
//! | `maps` | maps by which the skeleton moves the vertices |
//! | `rest_space` | posed vertices carried back to before the maps |

mod compress;
mod error;
mod frames;
mod maps;
mod rest_space;

pub use compress::{CompressSettings, Packed, Quantisation, Regions, compress};
pub use error::BakeError;
pub use frames::VertexFrames;
pub use maps::{VertexMap, VertexMaps};
pub use rest_space::{RestFrames, to_rest_space};
