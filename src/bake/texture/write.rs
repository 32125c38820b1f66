// SPDX-License-Identifier: MIT OR Apache-2.0
//! Writing a vertex animation texture: bounds, rounding errors, and both files, whole or not at all.

use super::description::{ClipRows, Description, is_file_name, one_metre};
use super::encoding::{Encoding, MAX_HALF, TextureFormat};
use super::layout::Layout;
use super::space::TextureSpace;
use super::tension::TensionChannel;
use super::{open_exr, png16};
use crate::bake::output::{WriteProgress, check_positive, write_files};
use crate::bake::{BakeError, VertexFrames};
use crate::progress::{Progress, StageProgress, report_progress};
use crate::range::MAX_COORDINATE;
use rayon::prelude::*;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Part of the progress at which the files begin: measuring reads the frames twice, compression takes most of the time.
const WRITING_STARTS: f64 = 0.2;

/// Settings of [`write_vertex_texture`].
#[derive(Debug, Clone, PartialEq)]
pub struct TextureSettings {
    /// Name of both files, without ending.
    pub name: String,
    /// Frames per second.
    pub fps: f64,
    /// Frames per second of each clip, where clips differ. Default: none, so that all have `fps`.
    pub clip_fps: Vec<f64>,
    /// Length of a unit of the positions along each axis, m: what the JSON file tells engines. Default: 1.
    pub metres_per_unit: [f64; 3],
    /// Format of the image.
    pub format: TextureFormat,
    /// Space of the positions: what the JSON file tells engines. Default: rest.
    pub space: TextureSpace,
    /// Largest number of columns and of rows, at most 16,384. Default: 8,192, which engines on all devices take.
    pub max_size: usize,
}

impl TextureSettings {
    /// Creates the default settings.
    pub fn new(fps: f64) -> Self {
        Self {
            name: "offsets".into(),
            fps,
            clip_fps: Vec::new(),
            metres_per_unit: one_metre(),
            format: TextureFormat::default(),
            space: TextureSpace::default(),
            max_size: 8192,
        }
    }
}

/// A vertex animation texture on the disk.
#[derive(Debug, Clone, PartialEq)]
pub struct VertexTexture {
    /// Path of the image.
    pub texture: PathBuf,
    /// Path of the JSON file.
    pub description: PathBuf,
    /// Space of the positions.
    pub space: TextureSpace,
    /// Number of columns.
    pub width: usize,
    /// Number of rows.
    pub height: usize,
    /// Rows of each frame.
    pub rows_per_frame: usize,
    /// Largest distance of a decoded position from the given one, in units of the positions.
    pub max_error: f64,
    /// Largest difference of a decoded tension from the given one, if there is tension.
    pub tension_error: Option<f64>,
    /// Centre of the texel of each vertex in the first frame, `[n, 2]`: u from the left, v from the bottom.
    pub texels: Vec<f32>,
}

/// Writes offsets of the vertices of clips from `rest` to a texture and a JSON file in `folder`, whole or not at all.
///
/// `frames`: positions in the space of the settings; `names`: of the clips; `rest`: `[n, 3]`; `tension`: `[f, n]` of each clip, written
/// to alpha. Lengths are in metres, or in the unit of the settings. A missing folder is created in an existing one.
///
/// # Errors
/// Fails for names that are empty or used twice, settings out of range, `rest` or `tension` of another size or not finite, a
/// texture that would be too large, offsets beyond half floats, files that cannot be written, or if the caller stops. Earlier files
/// then stay.
pub fn write_vertex_texture(
    folder: &Path,
    (names, frames): (&[String], &VertexFrames),
    rest: &[f32],
    tension: Option<&[&[f32]]>,
    settings: &TextureSettings,
    progress: &dyn Progress,
) -> Result<VertexTexture, BakeError> {
    check_names(names, frames, settings)?;
    check_scales(frames, settings)?;
    check_rest(rest, frames)?;
    let layout = Layout::new(frames.vertex_count(), frames.len(), settings.max_size)?;
    let tension = tension.map(|clips| TensionChannel::new(clips, frames, settings.format));
    let tension = tension.transpose()?;
    let texture = format!("{}.{}", settings.name, settings.format.ending());
    let bounds = Bounds::measure(frames, rest, progress)?;
    if settings.format == TextureFormat::Exr {
        bounds.check_half(frames, rest)?;
    }
    let [min, max] = bounds.offsets;
    let encoding = Encoding::between(settings.format, min, max);
    let mut description = Description::new(texture, &layout, &encoding, settings.fps);
    description.set_unit(settings.metres_per_unit);
    description.space = settings.space;
    description.offset_bounds = bounds.offsets;
    description.position_bounds = bounds.positions;
    description.max_error = largest_error(frames, rest, &encoding);
    description.tension = tension.as_ref().map(TensionChannel::description);
    description.clips = clip_rows(names, frames, layout.rows_per_frame, settings);
    let writing = StageProgress {
        whole: progress,
        from: WRITING_STARTS,
        to: 1.0,
    };
    let coded = CodedFrames {
        frames,
        rest,
        layout,
        encoding,
        tension,
    };
    let paths = [&description.texture, &format!("{}.json", settings.name)].map(|n| folder.join(n));
    write_pair(folder, &paths, &coded, &description, &writing)?;
    let [texture, path] = paths;
    Ok(VertexTexture {
        texture,
        description: path,
        space: settings.space,
        width: layout.columns,
        height: layout.height(),
        rows_per_frame: layout.rows_per_frame,
        max_error: description.max_error,
        tension_error: description.tension.map(|code| code.max_error),
        texels: (0..frames.vertex_count())
            .flat_map(|v| layout.texel(v))
            .collect(),
    })
}

/// Returns the rows of each clip.
fn clip_rows(
    names: &[String],
    frames: &VertexFrames,
    rows_per_frame: usize,
    settings: &TextureSettings,
) -> Vec<ClipRows> {
    let of_clip = |(clip, name): (usize, &String)| {
        let range = frames.clip_range(clip);
        ClipRows {
            name: name.clone(),
            first_row: range.start * rows_per_frame,
            frames: range.len(),
            fps: (settings.clip_fps.get(clip).copied()).filter(|&fps| fps != settings.fps),
        }
    };
    names.iter().enumerate().map(of_clip).collect()
}

/// Checks the names of clips and of the files.
fn check_names(
    names: &[String],
    frames: &VertexFrames,
    settings: &TextureSettings,
) -> Result<(), BakeError> {
    if names.len() != frames.clip_count() {
        let what = "the names are of".into();
        return Err(BakeError::clips(what, names.len(), frames.clip_count()));
    }
    let refuse = |what, name: &str, reason| {
        let name = name.to_owned();
        Err(BakeError::Name { what, name, reason })
    };
    let mut known = BTreeSet::new();
    for name in names {
        if name.is_empty() {
            return refuse("clip", name, "give each clip a name");
        }
        if !known.insert(name) {
            return refuse("clip", name, "another clip has it; give each its own");
        }
    }
    match is_file_name(&settings.name) {
        true => Ok(()),
        false => refuse(
            "texture",
            &settings.name,
            "name a file, without folder and without a point at its beginning",
        ),
    }
}

/// Checks the frame rates and the unit.
fn check_scales(frames: &VertexFrames, settings: &TextureSettings) -> Result<(), BakeError> {
    check_positive("fps", settings.fps)?;
    for &fps in &settings.clip_fps {
        check_positive("fps", fps)?;
    }
    for unit in settings.metres_per_unit {
        check_positive("metres_per_unit", unit)?;
    }
    let given = settings.clip_fps.len();
    match given == 0 || given == frames.clip_count() {
        true => Ok(()),
        false => Err(BakeError::clips(
            "the frame rates are of".into(),
            given,
            frames.clip_count(),
        )),
    }
}

fn check_rest(rest: &[f32], frames: &VertexFrames) -> Result<(), BakeError> {
    let expected = 3 * frames.vertex_count();
    if rest.len() != expected {
        let (given, expected) = (rest.len() / 3, frames.vertex_count());
        return Err(BakeError::vertices("rest has", given, expected));
    }
    let is_usable = |x: &f32| f64::from(x.abs()) <= MAX_COORDINATE;
    match rest.iter().position(|x| !is_usable(x)) {
        None => Ok(()),
        Some(at) => Err(BakeError::Point {
            what: "rest",
            vertex: at / 3,
        }),
    }
}

/// Smallest and largest coordinate along each axis.
struct Bounds {
    offsets: [[f64; 3]; 2],
    positions: [[f64; 3]; 2],
}

impl Bounds {
    const EMPTY: Self = Self {
        offsets: [[f64::INFINITY; 3], [f64::NEG_INFINITY; 3]],
        positions: [[f64::INFINITY; 3], [f64::NEG_INFINITY; 3]],
    };

    fn measure(
        frames: &VertexFrames,
        rest: &[f32],
        progress: &dyn Progress,
    ) -> Result<Self, BakeError> {
        report_progress(progress, 0.0, "Measuring offsets")?;
        let of_frame = |f| {
            let mut bounds = Self::EMPTY;
            for (shown, rest) in frames.frame(f).chunks_exact(3).zip(rest.chunks_exact(3)) {
                for axis in 0..3 {
                    let (x, x0) = (f64::from(shown[axis]), f64::from(rest[axis]));
                    bounds.positions = include(bounds.positions, axis, x);
                    bounds.offsets = include(bounds.offsets, axis, x - x0);
                }
            }
            bounds
        };
        let all = (0..frames.len()).into_par_iter().map(of_frame);
        Ok(all.reduce(|| Self::EMPTY, Self::union))
    }

    fn union(mut self, other: Self) -> Self {
        for axis in 0..3 {
            for end in 0..2 {
                self.offsets = include(self.offsets, axis, other.offsets[end][axis]);
                self.positions = include(self.positions, axis, other.positions[end][axis]);
            }
        }
        self
    }

    /// Checks that half floats hold all offsets.
    fn check_half(&self, frames: &VertexFrames, rest: &[f32]) -> Result<(), BakeError> {
        let is_beyond = |x: f64| x.abs() > MAX_HALF;
        if !self.offsets.iter().flatten().any(|&x| is_beyond(x)) {
            return Ok(());
        }
        for f in 0..frames.len() {
            let mut offsets = frames.frame(f).iter().zip(rest);
            let found = offsets.position(|(&x, &x0)| is_beyond(f64::from(x) - f64::from(x0)));
            if let Some(at) = found {
                let (clip, frame) = frames.locate(f);
                let vertex = at / 3;
                return Err(BakeError::HalfRange {
                    clip,
                    frame,
                    vertex,
                });
            }
        }
        Ok(())
    }
}

fn include([mut min, mut max]: [[f64; 3]; 2], axis: usize, x: f64) -> [[f64; 3]; 2] {
    min[axis] = min[axis].min(x);
    max[axis] = max[axis].max(x);
    [min, max]
}

/// Returns the largest distance of a decoded position from the given one.
fn largest_error(frames: &VertexFrames, rest: &[f32], encoding: &Encoding) -> f64 {
    let of_frame = |f| {
        let vertices = frames.frame(f).chunks_exact(3).zip(rest.chunks_exact(3));
        let squares = vertices.map(|(shown, rest)| {
            let miss = |axis: usize| {
                let offset = f64::from(shown[axis]) - f64::from(rest[axis]);
                encoding.decode(axis, encoding.encode(axis, offset)) - offset
            };
            (0..3).map(|axis| miss(axis).powi(2)).sum::<f64>()
        });
        squares.fold(0.0, f64::max)
    };
    let all = (0..frames.len()).into_par_iter().map(of_frame);
    all.reduce(|| 0.0, f64::max).sqrt()
}

/// Rows of a texture, coded one by one.
struct CodedFrames<'a> {
    frames: &'a VertexFrames<'a>,
    rest: &'a [f32],
    layout: Layout,
    encoding: Encoding,
    tension: Option<TensionChannel<'a>>,
}

impl CodedFrames<'_> {
    /// Returns the number of channels.
    fn channels(&self) -> usize {
        3 + usize::from(self.tension.is_some())
    }

    /// Fills a row with red, green, blue and, with tension, alpha in turn; texels of no vertex are 0.
    fn fill(&self, row: usize, out: &mut [u16]) {
        let (frame, vertices) = self.layout.content(row);
        let (clip, at) = self.frames.locate(frame);
        let shown = self.frames.frame(frame);
        out[self.channels() * vertices.len()..].fill(0);
        for (vertex, texel) in vertices.zip(out.chunks_exact_mut(self.channels())) {
            for (axis, code) in texel[..3].iter_mut().enumerate() {
                let i = 3 * vertex + axis;
                let offset = f64::from(shown[i]) - f64::from(self.rest[i]);
                *code = self.encoding.encode(axis, offset);
            }
            if let Some(tension) = &self.tension {
                texel[3] = tension.code(clip, at, vertex);
            }
        }
    }
}

/// Writes the texture and its description, in a folder that is created for them if it is missing.
fn write_pair(
    folder: &Path,
    paths: &[PathBuf; 2],
    coded: &CodedFrames,
    description: &Description,
    progress: &dyn Progress,
) -> Result<(), BakeError> {
    let is_new = !folder.exists();
    if is_new {
        fs::create_dir(folder).map_err(|e| BakeError::writing(folder, &e))?;
    }
    let progress = WriteProgress::new(progress, "Writing the texture");
    let size = (
        coded.layout.columns,
        coded.layout.height(),
        coded.channels(),
    );
    let mut write_texture = |file: &mut File| {
        let fill = |row: usize, out: &mut [u16]| coded.fill(row, out);
        let report = |fraction| progress.report(fraction);
        match coded.encoding {
            Encoding::Half => open_exr::write(file, size, fill, report),
            Encoding::Steps { .. } => png16::write(file, size, fill, report),
        }
    };
    let mut write_text = |file: &mut File| file.write_all(description.to_text().as_bytes());
    let [texture, path] = paths;
    let mut files: [(&Path, &mut crate::disk::ContentWriter); 2] =
        [(texture, &mut write_texture), (path, &mut write_text)];
    let done = write_files(texture, &mut files, &progress);
    if done.is_err() && is_new {
        // It may hold files of others by now, which keeps it.
        let _ = fs::remove_dir(folder);
    }
    done
}
