// SPDX-License-Identifier: MIT OR Apache-2.0
//! The JSON file beside a vertex animation texture, which tells a program how to play it.

use super::encoding::{Encoding, TextureFormat};
use super::layout::{Layout, MAX_TEXTURE_SIZE};
use super::space::TextureSpace;
use crate::range::MAX_COORDINATE;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

const FORMAT: &str = "thew vertex animation texture";
const VERSION: u32 = 1;

/// Content of the JSON file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Description {
    pub format: String,
    pub version: u32,
    /// Name of the texture, in the same folder.
    pub texture: String,
    /// Encoding of a channel: "half" or "unorm16".
    pub encoding: String,
    pub width: usize,
    pub height: usize,
    pub vertices: usize,
    pub rows_per_frame: usize,
    pub fps: f64,
    pub clips: Vec<ClipRows>,
    /// Offset of a value 0 of each channel, in `units`.
    pub offset_min: [f64; 3],
    /// Offset between the values 0 and 1 of each channel, in `units`.
    pub offset_scale: [f64; 3],
    /// Smallest and largest offset along each axis, in `units`.
    pub offset_bounds: [[f64; 3]; 2],
    /// Smallest and largest position along each axis, in `units`, for culling.
    pub position_bounds: [[f64; 3]; 2],
    /// Largest distance of a decoded position from the given one, in `units`.
    pub max_error: f64,
    /// Tension in a channel of its own, if the texture has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tension: Option<TensionCode>,
    pub units: String,
    /// Length of a unit along each axis, m.
    #[serde(default = "one_metre")]
    pub metres_per_unit: [f64; 3],
    pub axes: String,
    /// Whether the vertices move before the bones act or in their place.
    #[serde(default)]
    pub space: TextureSpace,
    /// Coordinate u of vertex i: `first + (i mod width) · step`.
    pub u: Steps,
    /// Coordinate v of a row from the top of the texture: `first + row · step`.
    pub v_from_top: Steps,
    /// Coordinate v of a row from the bottom of the texture.
    pub v_from_bottom: Steps,
}

/// Tension in the channel alpha: `min + scale · value`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct TensionCode {
    /// Always "alpha".
    pub channel: String,
    pub min: f64,
    pub scale: f64,
    /// Largest difference of a decoded value from the given one.
    pub max_error: f64,
}

/// Frames of a clip in the texture.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct ClipRows {
    pub name: String,
    /// First row, from the top.
    pub first_row: usize,
    pub frames: usize,
    /// Frames per second, where these are not the texture's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fps: Option<f64>,
}

/// A texture coordinate that grows by steps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Steps {
    pub first: f64,
    pub step: f64,
}

impl Description {
    /// Describes a texture; bounds and error are to be filled in.
    pub fn new(texture: String, layout: &Layout, encoding: &Encoding, fps: f64) -> Self {
        let (width, height) = (layout.columns, layout.height());
        let (column, row) = (1.0 / width as f64, 1.0 / height as f64);
        let steps = |first, step| Steps { first, step };
        let name = match encoding {
            Encoding::Half => "half",
            Encoding::Steps { .. } => "unorm16",
        };
        let (offset_min, offset_scale) = encoding.decoding();
        Self {
            format: FORMAT.into(),
            version: VERSION,
            texture,
            encoding: name.into(),
            width,
            height,
            vertices: layout.vertices,
            rows_per_frame: layout.rows_per_frame,
            fps,
            clips: Vec::new(),
            offset_min,
            offset_scale,
            offset_bounds: [[0.0; 3]; 2],
            position_bounds: [[0.0; 3]; 2],
            max_error: 0.0,
            tension: None,
            units: "metres".into(),
            metres_per_unit: one_metre(),
            axes: "those of the positions given".into(),
            space: TextureSpace::default(),
            u: steps(0.5 * column, column),
            v_from_top: steps(0.5 * row, row),
            v_from_bottom: steps(1.0 - 0.5 * row, -row),
        }
    }

    /// States the length of a unit along each axis, m.
    pub fn set_unit(&mut self, metres: [f64; 3]) {
        self.metres_per_unit = metres;
        if metres != one_metre() {
            self.units = "units of the mesh".into();
        }
    }

    /// Returns the text of the file.
    pub fn to_text(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }

    /// Reads the text of a file. The reason for a refusal is a sentence about the file.
    pub fn parse(text: &str) -> Result<Self, String> {
        let description: Self = serde_json::from_str(text)
            .map_err(|e| format!("it does not describe a texture ({e}); write it again"))?;
        description.check()?;
        Ok(description)
    }

    /// Returns the format, the places and the encoding of the texture, which [`parse`](Self::parse) has checked.
    pub fn content(&self) -> (TextureFormat, Layout, Encoding) {
        let layout = Layout {
            vertices: self.vertices,
            frames: self.height / self.rows_per_frame.max(1),
            columns: self.width,
            rows_per_frame: self.rows_per_frame,
        };
        match self.encoding == "half" {
            true => (TextureFormat::Exr, layout, Encoding::Half),
            false => {
                let (min, scale) = (self.offset_min, self.offset_scale);
                (TextureFormat::Png, layout, Encoding::Steps { min, scale })
            }
        }
    }

    /// Returns the encoding of the tension, along each axis of which it is the same; None without tension.
    pub fn tension_encoding(&self) -> Option<Encoding> {
        let code = self.tension.as_ref()?;
        Some(match self.encoding == "half" {
            true => Encoding::Half,
            false => Encoding::Steps {
                min: [code.min; 3],
                scale: [code.scale; 3],
            },
        })
    }

    /// Returns the number of channels of the texture.
    pub fn channels(&self) -> usize {
        3 + usize::from(self.tension.is_some())
    }

    fn check(&self) -> Result<(), String> {
        if self.format != FORMAT || self.version != VERSION {
            let what = format!("it is a “{}” of version {}", self.format, self.version);
            return Err(format!("{what}; “{FORMAT}” of version {VERSION} is read"));
        }
        if !is_file_name(&self.texture) {
            return Err(format!("“{}” is no name of a file beside it", self.texture));
        }
        if !matches!(self.encoding.as_str(), "half" | "unorm16") {
            let what = &self.encoding;
            return Err(format!(
                "its encoding “{what}” is unknown; half and unorm16 are read"
            ));
        }
        let sizes = [self.width, self.height];
        let texels = self.width.saturating_mul(self.rows_per_frame);
        let is_whole = sizes
            .iter()
            .all(|size| (1..=MAX_TEXTURE_SIZE).contains(size))
            && (1..=texels).contains(&self.vertices)
            && self.rows_per_frame >= 1
            && self.height.is_multiple_of(self.rows_per_frame);
        if !is_whole {
            return Err("its sizes do not fit together; write it again".into());
        }
        let code = self
            .tension
            .iter()
            .flat_map(|code| [&code.min, &code.scale]);
        let mut numbers = (self.offset_min.iter())
            .chain(&self.offset_scale)
            .chain(code);
        if !numbers.all(|x| x.abs() <= 2.0 * MAX_COORDINATE) {
            return Err("its bounds are not finite numbers; write it again".into());
        }
        let (mut names, mut all_rows) = (BTreeSet::new(), 0_usize);
        for clip in &self.clips {
            let rows = clip.frames.saturating_mul(self.rows_per_frame);
            all_rows = all_rows.saturating_add(rows);
            if clip.first_row.saturating_add(rows).max(all_rows) > self.height {
                return Err(format!(
                    "its clip “{}” ends below the texture; write it again",
                    clip.name
                ));
            }
            if !names.insert(&clip.name) {
                return Err(format!(
                    "it has two clips “{}”; rename one of them",
                    clip.name
                ));
            }
        }
        Ok(())
    }
}

/// Returns the scale of positions in metres.
pub(super) fn one_metre() -> [f64; 3] {
    [1.0; 3]
}

/// Returns whether a text is the name of a file, without a folder.
pub(super) fn is_file_name(name: &str) -> bool {
    !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\\', ':', '\0'])
}
