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
//! | `helper_bones` | few rigid bones beside the character's own |
//! | `caches` | point caches, PC2 and MDD |
//! | `texture` | vertex animation textures, EXR and PNG |
//! | `tension` | stretch and compression of the skin |
//! | `output` | files on their way to the disk, with progress |

mod caches;
mod compress;
mod error;
mod frames;
mod helper_bones;
mod maps;
mod output;
mod rest_space;
mod tension;
mod texture;

pub use caches::{MddCache, Pc2Cache, read_mdd, read_pc2, write_mdd, write_pc2};
pub use compress::{CompressSettings, Packed, Quantisation, Regions, compress};
pub use error::{BakeError, Counted};
pub use frames::VertexFrames;
pub use helper_bones::{
    HelperBones, HelperBonesSettings, MAX_HELPERS, MAX_INFLUENCES, helper_bones,
};
pub use maps::{VertexMap, VertexMaps};
pub use rest_space::{RestFrames, to_rest_space};
pub use tension::{tension, triangle_edges};
pub use texture::{
    TextureClips, TextureFormat, TextureSettings, TextureSpace, VertexTexture, read_vertex_texture,
    write_vertex_texture,
};
