// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reading a vertex animation texture back.

use super::description::Description;
use super::encoding::{Encoding, TextureFormat};
use super::layout::Layout;
use super::{open_exr, png16};
use crate::bake::BakeError;
use crate::disk;
use std::fs;
use std::path::{Path, PathBuf};

/// Longest JSON file that is read, bytes: it has about 100 a clip.
const MAX_TEXT_BYTES: u64 = 1 << 24;
/// Largest ratio of content to compressed bytes that deflate reaches.
const MAX_DEFLATE_RATIO: u64 = 1032;
/// Bytes of a texel.
const TEXEL_BYTES: u64 = 6;

/// Clips of a vertex animation texture.
#[derive(Debug, Clone, PartialEq)]
pub struct TextureClips {
    /// Name of each clip, and its offsets from rest `[f, vertices, 3]`, in metres or in the unit that the file tells.
    pub clips: Vec<(String, Vec<f32>)>,
    /// Number of vertices.
    pub vertices: usize,
    /// Frames per second; single clips may have others.
    pub fps: f64,
}

/// Reads a texture by the path of its JSON file, or of a folder that has one such file.
///
/// # Errors
/// Fails for a folder with no or several JSON files, and for files that cannot be read, are damaged or do not belong together.
pub fn read_vertex_texture(path: &Path) -> Result<TextureClips, BakeError> {
    let path = description_path(path)?;
    let reading = |e| BakeError::reading(&path, &e);
    let bytes = disk::read(&path, MAX_TEXT_BYTES).map_err(reading)?;
    let text = disk::text(bytes).map_err(|line| format!("it is no text from line {line} on"));
    let description = text
        .and_then(|text| Description::parse(&text))
        .map_err(|reason| BakeError::of_file(&path, "read", reason))?;
    let image = path.with_file_name(&description.texture);
    let (format, layout, encoding) = description.content();
    let codes = read_codes(&image, format, &layout)?;
    let clips = description.clips.into_iter().map(|clip| {
        let rows = clip.first_row..clip.first_row + clip.frames * layout.rows_per_frame;
        (clip.name, decode(&codes, rows, &layout, &encoding))
    });
    Ok(TextureClips {
        clips: clips.collect(),
        vertices: layout.vertices,
        fps: description.fps,
    })
}

/// Returns the path of a description, given itself or its folder.
fn description_path(path: &Path) -> Result<PathBuf, BakeError> {
    if !path.is_dir() {
        return Ok(path.to_owned());
    }
    let reading = |e| BakeError::reading(path, &e);
    let mut found = Vec::new();
    for entry in fs::read_dir(path).map_err(reading)? {
        let entry = entry.map_err(reading)?.path();
        if entry.extension().is_some_and(|ending| ending == "json") {
            found.push(entry);
        }
    }
    match <[PathBuf; 1]>::try_from(found) {
        Ok([one]) => Ok(one),
        Err(found) => {
            let reason = match found.is_empty() {
                true => "it is a folder without the JSON file of a texture; check the path",
                false => "it is a folder with several JSON files; name one of them",
            };
            Err(BakeError::of_file(path, "read", reason.into()))
        }
    }
}

/// Reads the texels of an image.
fn read_codes(image: &Path, format: TextureFormat, layout: &Layout) -> Result<Vec<u16>, BakeError> {
    let (file, length) = disk::open(image, u64::MAX).map_err(|e| BakeError::reading(image, &e))?;
    let size = (layout.columns, layout.height());
    let expected = TEXEL_BYTES * size.0 as u64 * size.1 as u64;
    let codes = match expected > MAX_DEFLATE_RATIO.saturating_mul(length) {
        true => Err("it is too short for its texels; write it again".into()),
        false => match format {
            TextureFormat::Exr => open_exr::read(file, size),
            TextureFormat::Png => png16::read(file, size),
        },
    };
    codes.map_err(|reason| BakeError::of_file(image, "read", reason))
}

/// Decodes the offsets of the frames in some rows.
fn decode(
    codes: &[u16],
    rows: std::ops::Range<usize>,
    layout: &Layout,
    encoding: &Encoding,
) -> Vec<f32> {
    let mut offsets = Vec::with_capacity(3 * layout.vertices * rows.len() / layout.rows_per_frame);
    for row in rows {
        let count = 3 * layout.content(row).1.len();
        let texels = &codes[row * 3 * layout.columns..][..count];
        let each = texels.iter().enumerate();
        offsets.extend(each.map(|(i, &bits)| encoding.decode(i % 3, bits) as f32));
    }
    offsets
}
