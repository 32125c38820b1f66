// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reading a vertex animation texture back.

use super::description::{ClipRows, Description};
use super::encoding::{Encoding, TextureFormat};
use super::layout::Layout;
use super::space::TextureSpace;
use super::{open_exr, png16};
use crate::bake::BakeError;
use crate::disk;
use std::fs;
use std::path::{Path, PathBuf};

/// Longest JSON file that is read, bytes: it has about 100 a clip.
const MAX_TEXT_BYTES: u64 = 1 << 24;
/// Largest ratio of content to compressed bytes that deflate reaches.
const MAX_DEFLATE_RATIO: u64 = 1032;
/// Bytes of a channel of a texel.
const CHANNEL_BYTES: u64 = 2;

/// Clips of a vertex animation texture.
#[derive(Debug, Clone, PartialEq)]
pub struct TextureClips {
    /// Name of each clip, and its offsets from rest `[f, vertices, 3]`, in metres or in the unit that the file tells.
    pub clips: Vec<(String, Vec<f32>)>,
    /// Tension of each clip `[f, vertices]`, if the texture has it.
    pub tension: Option<Vec<Vec<f32>>>,
    /// Space of the positions.
    pub space: TextureSpace,
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
    let count = description.channels();
    let codes = read_codes(&image, format, (layout.columns, layout.height(), count))?;
    let texels = Texels {
        codes,
        count,
        layout,
    };
    let rows =
        |clip: &ClipRows| clip.first_row..clip.first_row + clip.frames * layout.rows_per_frame;
    let clips = description.clips.iter();
    let tension = description.tension_encoding().map(|tension| {
        let of_clip = |clip| texels.decode(rows(clip), &[3], &tension);
        clips.clone().map(of_clip).collect()
    });
    let clips = clips.map(|clip| {
        let offsets = texels.decode(rows(clip), &[0, 1, 2], &encoding);
        (clip.name.clone(), offsets)
    });
    Ok(TextureClips {
        clips: clips.collect(),
        tension,
        space: description.space,
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
fn read_codes(
    image: &Path,
    format: TextureFormat,
    size: (usize, usize, usize),
) -> Result<Vec<u16>, BakeError> {
    let (file, length) = disk::open(image, u64::MAX).map_err(|e| BakeError::reading(image, &e))?;
    let expected = CHANNEL_BYTES * size.2 as u64 * size.0 as u64 * size.1 as u64;
    let codes = match expected > MAX_DEFLATE_RATIO.saturating_mul(length) {
        true => Err("it is too short for its texels; write it again".into()),
        false => match format {
            TextureFormat::Exr => open_exr::read(file, size),
            TextureFormat::Png => png16::read(file, size),
        },
    };
    codes.map_err(|reason| BakeError::of_file(image, "read", reason))
}

/// Texels of an image, `[height, columns, count]`.
struct Texels {
    codes: Vec<u16>,
    count: usize,
    layout: Layout,
}

impl Texels {
    /// Decodes some channels of the frames in some rows, `[f, vertices, channels]`; the i-th channel is coded as axis i.
    fn decode(
        &self,
        rows: std::ops::Range<usize>,
        channels: &[usize],
        encoding: &Encoding,
    ) -> Vec<f32> {
        let layout = &self.layout;
        let frames = rows.len() / layout.rows_per_frame;
        let mut values = Vec::with_capacity(channels.len() * layout.vertices * frames);
        for row in rows {
            let used = self.count * layout.content(row).1.len();
            let texels = &self.codes[row * self.count * layout.columns..][..used];
            for texel in texels.chunks_exact(self.count) {
                let each = channels.iter().enumerate();
                values.extend(each.map(|(axis, &c)| encoding.decode(axis, texel[c]) as f32));
            }
        }
        values
    }
}
