// SPDX-License-Identifier: MIT OR Apache-2.0
//! Vertex animation textures: the offsets of all vertices in all frames of several clips as an image, which the vertex shader of an
//! engine reads, and a JSON file that tells how.
//!
//! A row is a frame, and a column is a vertex. More vertices than the texture may have columns are wrapped over several rows, the
//! same number in each frame. Clips follow one another from the top. The channels red, green and blue hold x, y and z of the
//! offset from rest, in the caller's axes and unit, 6 bytes a vertex and frame: as half floats in an EXR file, or as steps
//! between bounds in a PNG file. A fourth channel, alpha, may hold the tension of each vertex, 2 bytes more. Neither file states a
//! colour space, since the numbers are no colours. The largest rounding error is
//! measured on the values that are written.
//!
//! | file | content |
//! | --- | --- |
//! | `layout` | texels of vertices and frames |
//! | `encoding` | offsets as 16 bits, and back |
//! | `description` | the JSON file |
//! | `space` | rest or posed positions |
//! | `tension` | the channel alpha |
//! | `write`, `read` | both files, whole or not at all |
//! | `open_exr`, `png16` | the image formats |

mod description;
mod encoding;
mod layout;
mod open_exr;
mod png16;
mod read;
mod space;
mod tension;
#[cfg(test)]
mod tests;
mod write;

pub use encoding::TextureFormat;
pub use read::{TextureClips, read_vertex_texture};
pub use space::TextureSpace;
pub use write::{TextureSettings, VertexTexture, write_vertex_texture};

/// Returns the sentence for an image of another size than its description's.
fn size_mismatch(found: (usize, usize), expected: (usize, usize)) -> String {
    format!(
        "it has {} x {} texels, and the JSON file beside it tells of {} x {}: it was cut, scaled or exchanged; write both again",
        found.0, found.1, expected.0, expected.1
    )
}
