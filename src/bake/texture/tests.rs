// SPDX-License-Identifier: MIT OR Apache-2.0
//! Vertex textures: layouts, errors as stated, files whole or not at all, and refusals of damaged ones.

use super::*;
use crate::bake::{BakeError, VertexFrames};
use crate::disk::tests::TestFolder;
use crate::progress::Silent;
use std::fs;
use std::path::Path;

const VERTICES: usize = 7;

/// Positions of some frames that wave around `rest`.
fn waves(frames: usize, phase: f32) -> Vec<f32> {
    let at = |i: usize| 0.05 * (0.7 * i as f32 + phase).sin();
    let rest = rest();
    (0..frames * 3 * VERTICES)
        .map(|i| rest[i % rest.len()] + at(i))
        .collect()
}

fn rest() -> Vec<f32> {
    (0..3 * VERTICES).map(|i| 0.1 * i as f32 - 0.9).collect()
}

fn settings(format: TextureFormat, max_size: usize) -> TextureSettings {
    TextureSettings {
        format,
        max_size,
        ..TextureSettings::new(24.0)
    }
}

/// Returns values between −0.3 and 0.3 of each vertex in some frames.
fn tensions(frames: usize, phase: f32) -> Vec<f32> {
    (0..frames * VERTICES)
        .map(|i| 0.3 * (0.9 * i as f32 + phase).cos())
        .collect()
}

/// Writes two clips of 4 and 3 frames with tension.
fn write_tension(
    folder: &Path,
    values: [&[f32]; 2],
    settings: &TextureSettings,
) -> Result<VertexTexture, BakeError> {
    let clips = [waves(4, 0.0), waves(3, 1.0)];
    let frames = VertexFrames::new(clips.iter().map(|c| &c[..]), VERTICES)?;
    let names = ["walk", "run"].map(String::from);
    let content = (&names[..], &frames);
    write_vertex_texture(folder, content, &rest(), Some(&values), settings, &Silent)
}

/// Writes two clips of 4 and 3 frames.
fn write(folder: &Path, settings: &TextureSettings) -> Result<VertexTexture, BakeError> {
    write_clips(folder, [4, 3], settings)
}

fn write_clips(
    folder: &Path,
    [first, second]: [usize; 2],
    settings: &TextureSettings,
) -> Result<VertexTexture, BakeError> {
    let clips = [waves(first, 0.0), waves(second, 1.0)];
    let frames = VertexFrames::new(clips.iter().map(|c| &c[..]), VERTICES)?;
    let names = ["walk", "run"].map(String::from);
    let content = (&names[..], &frames);
    write_vertex_texture(folder, content, &rest(), None, settings, &Silent)
}

/// Returns the largest distance of offsets from those of `positions`.
fn largest_miss(offsets: &[f32], positions: &[f32]) -> f64 {
    let rest = rest();
    let vertices = positions.chunks(3).zip(rest.chunks(3).cycle());
    let misses = offsets
        .chunks(3)
        .zip(vertices)
        .map(|(found, (shown, rest))| {
            let miss = |k: usize| f64::from(found[k]) - (f64::from(shown[k]) - f64::from(rest[k]));
            (0..3).map(|k| miss(k).powi(2)).sum::<f64>().sqrt()
        });
    misses.fold(0.0, f64::max)
}

/// Both formats come back within the stated error, wrapped or not, from a folder that did not exist.
#[test]
fn textures_round_trip() {
    for format in [TextureFormat::Exr, TextureFormat::Png] {
        for (frames, max_size, size) in [([4, 3], 8192, (7, 7)), ([2, 1], 6, (4, 6))] {
            let folder = TestFolder::new();
            let inside = folder.0.join("new");
            let written = write_clips(&inside, frames, &settings(format, max_size)).unwrap();
            assert_eq!((written.width, written.height), size);
            assert!(written.max_error > 0.0 && written.max_error < 4e-5);
            let read = read_vertex_texture(&inside).unwrap();
            assert_eq!(read, read_vertex_texture(&written.description).unwrap());
            assert_eq!((read.vertices, read.fps), (VERTICES, 24.0));
            let [walk, run] = [waves(frames[0], 0.0), waves(frames[1], 1.0)];
            let found: Vec<_> = read
                .clips
                .iter()
                .map(|c| (c.0.as_str(), c.1.len()))
                .collect();
            assert_eq!(found, [("walk", walk.len()), ("run", run.len())]);
            let misses = [
                largest_miss(&read.clips[0].1, &walk),
                largest_miss(&read.clips[1].1, &run),
            ];
            assert!((misses[0].max(misses[1]) - written.max_error).abs() < 1e-8);
        }
    }
}

/// Tension comes back from alpha within the stated error, wrapped or not, and leaves the offsets as they are without it.
#[test]
fn tension_round_trips() {
    for format in [TextureFormat::Exr, TextureFormat::Png] {
        for max_size in [8192, 16] {
            let (folder, plain) = (TestFolder::new(), TestFolder::new());
            let settings = settings(format, max_size);
            let values = [tensions(4, 0.0), tensions(3, 2.0)];
            let written = write_tension(&folder.0, [&values[0], &values[1]], &settings).unwrap();
            let without = write(&plain.0, &settings).unwrap();
            assert_eq!(written.max_error, without.max_error);
            assert_eq!(without.tension_error, None);
            let read = read_vertex_texture(&folder.0).unwrap();
            let read_plain = read_vertex_texture(&plain.0).unwrap();
            assert_eq!(read.clips, read_plain.clips);
            assert_eq!(read_plain.tension, None);
            let found = read.tension.unwrap();
            let lengths: Vec<_> = found.iter().map(Vec::len).collect();
            assert_eq!(lengths, [4 * VERTICES, 3 * VERTICES]);
            let misses = found.iter().flatten().zip(values.iter().flatten());
            let largest = misses.fold(0.0, |m, (a, b)| {
                (f64::from(*a) - f64::from(*b)).abs().max(m)
            });
            let stated = written.tension_error.unwrap();
            assert!(stated > 0.0 && stated < 1.3e-4 && (largest - stated).abs() < 1e-7);
        }
    }
}

/// Tension of another size or that is no number is refused by its place, and nothing is written.
#[test]
fn tension_refuses_bad_input() {
    let folder = TestFolder::new();
    let inside = folder.0.join("new");
    let good = settings(TextureFormat::Exr, 8192);
    let (walk, mut run) = (tensions(4, 0.0), tensions(3, 2.0));
    for wrong in [[&walk[1..], &run[..]], [&walk, &walk], [&run, &walk]] {
        let error = write_tension(&inside, wrong, &good).unwrap_err();
        let is_told = matches!(error, BakeError::Count { .. } | BakeError::Length { .. });
        assert!(is_told, "{error}");
    }
    for bad in [f32::NAN, f32::INFINITY, -1e5] {
        run[VERTICES + 2] = bad;
        let place = BakeError::Tension {
            clip: 1,
            frame: 1,
            vertex: 2,
        };
        let error = write_tension(&inside, [&walk, &run], &good).unwrap_err();
        assert_eq!(error, place);
    }
    assert!(folder.names().is_empty());
}

/// A description that tells of tension in an image without it, and the reverse, is refused.
#[test]
fn tension_belongs_to_its_image() {
    for format in [TextureFormat::Exr, TextureFormat::Png] {
        let (folder, plain) = (TestFolder::new(), TestFolder::new());
        let settings = settings(format, 8192);
        let values = [tensions(4, 0.0), tensions(3, 2.0)];
        let written = write_tension(&folder.0, [&values[0], &values[1]], &settings).unwrap();
        let without = write(&plain.0, &settings).unwrap();
        for (image, description) in [
            (&written.texture, &without.description),
            (&without.texture, &written.description),
        ] {
            let mixed = TestFolder::new();
            fs::copy(image, mixed.0.join(image.file_name().unwrap())).unwrap();
            fs::copy(description, mixed.0.join("offsets.json")).unwrap();
            assert!(matches!(
                read_vertex_texture(&mixed.0),
                Err(BakeError::File { .. })
            ));
        }
        let text = fs::read_to_string(&written.description).unwrap();
        let broken = text.replace("\"scale\": ", "\"scale\": 1e30");
        assert_ne!(text, broken);
        fs::write(&written.description, broken).unwrap();
        assert!(read_vertex_texture(&folder.0).is_err());
    }
}

/// The description states the unit and the frame rate of a clip that has its own, and says nothing where all is usual.
#[test]
fn textures_tell_units_and_rates() {
    let folder = TestFolder::new();
    let usual = settings(TextureFormat::Exr, 8192);
    let text = |settings: &TextureSettings| {
        let written = write(&folder.0, settings).unwrap();
        let text = fs::read_to_string(written.description).unwrap();
        serde_json::from_str::<serde_json::Value>(&text).unwrap()
    };
    let plain = text(&usual);
    assert_eq!(plain["units"], "metres");
    assert_eq!(plain["metres_per_unit"], serde_json::json!([1.0, 1.0, 1.0]));
    assert_eq!(plain["space"], "rest");
    assert!(plain["clips"][1].get("fps").is_none());
    let own = text(&TextureSettings {
        metres_per_unit: [0.01, 0.01, 0.02],
        clip_fps: vec![24.0, 30.0],
        ..usual.clone()
    });
    assert_eq!(own["units"], "units of the mesh");
    assert_eq!(
        own["metres_per_unit"],
        serde_json::json!([0.01, 0.01, 0.02])
    );
    assert!(own["clips"][0].get("fps").is_none());
    assert_eq!(own["clips"][1]["fps"], 30.0);
    let clips = [waves(4, 0.0), waves(3, 1.0)];
    let frames = VertexFrames::new(clips.iter().map(|c| &c[..]), VERTICES).unwrap();
    let names = ["walk", "run"].map(String::from);
    for wrong in [
        TextureSettings {
            clip_fps: vec![24.0],
            ..usual.clone()
        },
        TextureSettings {
            clip_fps: vec![24.0, 0.0],
            ..usual.clone()
        },
        TextureSettings {
            metres_per_unit: [1.0, f64::NAN, 1.0],
            ..usual
        },
    ] {
        let content = (&names[..], &frames);
        write_vertex_texture(&folder.0, content, &rest(), None, &wrong, &Silent).unwrap_err();
    }
}

/// The reader tells the space that was written, takes a file without one for rest, and refuses an unknown one.
#[test]
fn textures_tell_their_space() {
    let folder = TestFolder::new();
    let posed = TextureSettings {
        space: TextureSpace::Posed,
        ..settings(TextureFormat::Exr, 8192)
    };
    let written = write(&folder.0, &posed).unwrap();
    assert_eq!(written.space, TextureSpace::Posed);
    let read = || read_vertex_texture(&folder.0).map(|read| read.space);
    assert_eq!(read(), Ok(TextureSpace::Posed));
    let text = fs::read_to_string(&written.description).unwrap();
    let line = "\"space\": \"posed\",";
    assert!(text.contains(line), "{text}");
    fs::write(&written.description, text.replace(line, "")).unwrap();
    assert_eq!(read(), Ok(TextureSpace::Rest));
    fs::write(&written.description, text.replace("posed", "world")).unwrap();
    assert!(read().is_err());
}

/// The same frames give the same bytes.
#[test]
fn textures_are_deterministic() {
    for format in [TextureFormat::Exr, TextureFormat::Png] {
        let bytes = [0, 1].map(|_| {
            let folder = TestFolder::new();
            let written = write(&folder.0, &settings(format, 8192)).unwrap();
            (
                fs::read(written.texture).unwrap(),
                fs::read(written.description).unwrap(),
            )
        });
        assert_eq!(bytes[0], bytes[1]);
    }
}

/// Writes two clips of 2 frames under these names, which must be refused and leave nothing behind.
fn refusal(names: &[&str], rest: &[f32], settings: &TextureSettings) -> BakeError {
    let folder = TestFolder::new();
    let clip = waves(2, 0.0);
    let frames = VertexFrames::new([&clip[..], &clip[..]], VERTICES).unwrap();
    let names: Vec<String> = names.iter().map(|&name| name.into()).collect();
    let content = (&names[..], &frames);
    let inside = folder.0.join("new");
    let error = write_vertex_texture(&inside, content, rest, None, settings, &Silent).unwrap_err();
    assert!(folder.names().is_empty(), "{error}");
    error
}

/// Names of clips that are alike, empty or too few are refused, and names that are no file's.
#[test]
fn textures_refuse_names() {
    let good = settings(TextureFormat::Exr, 8192);
    assert!(matches!(
        refusal(&["a", "a"], &rest(), &good),
        BakeError::Name { what: "clip", .. }
    ));
    assert!(matches!(
        refusal(&["a", ""], &rest(), &good),
        BakeError::Name { .. }
    ));
    assert!(matches!(
        refusal(&["a"], &rest(), &good),
        BakeError::Count { .. }
    ));
    for name in ["", "a/b", "..", ".hidden", "a\\b"] {
        let settings = TextureSettings {
            name: name.into(),
            ..good.clone()
        };
        assert!(matches!(
            refusal(&["a", "b"], &rest(), &settings),
            BakeError::Name {
                what: "texture",
                ..
            }
        ));
    }
}

/// Rest shapes of another length, not finite or beyond half floats, rates and sizes out of range are refused by place.
#[test]
fn textures_refuse_numbers() {
    let good = settings(TextureFormat::Exr, 8192);
    let refused = |rest: &[f32], settings: &TextureSettings| refusal(&["a", "b"], rest, settings);
    let mut broken = rest();
    assert!(matches!(
        refused(&broken[3..], &good),
        BakeError::Count { .. }
    ));
    broken[4] = f32::NAN;
    let point = BakeError::Point {
        what: "rest",
        vertex: 1,
    };
    assert_eq!(refused(&broken, &good), point);
    broken[4] = 70_000.0;
    let place = BakeError::HalfRange {
        clip: 0,
        frame: 0,
        vertex: 1,
    };
    assert_eq!(refused(&broken, &good), place);
    for fps in [0.0, -1.0, f64::NAN] {
        let settings = TextureSettings {
            fps,
            ..good.clone()
        };
        assert!(matches!(
            refused(&rest(), &settings),
            BakeError::Setting { what: "fps", .. }
        ));
    }
    assert!(matches!(
        refused(&rest(), &settings(TextureFormat::Png, 3)),
        BakeError::TextureSize { .. }
    ));
}

/// A write that is stopped keeps earlier files.
#[test]
fn stopped_textures_keep_earlier_files() {
    let folder = TestFolder::new();
    let good = settings(TextureFormat::Exr, 8192);
    write(&folder.0, &good).unwrap();
    let before = fs::read(folder.0.join("offsets.exr")).unwrap();
    let clip = waves(2, 0.0);
    let frames = VertexFrames::new([&clip[..], &clip[..]], VERTICES).unwrap();
    let names = ["a", "b"].map(String::from);
    for stop_at in [0.0, 0.2] {
        let stop = |fraction: f64, _: &str| fraction < stop_at;
        let content = (&names[..], &frames);
        let stopped = write_vertex_texture(&folder.0, content, &rest(), None, &good, &stop);
        assert!(matches!(stopped, Err(BakeError::Cancelled(_))));
    }
    let after = fs::read(folder.0.join("offsets.exr")).unwrap();
    assert_eq!(after, before);
    assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 2);
}

/// Cut, changed and exchanged files are refused in a sentence or read, and never end the process.
#[test]
fn damaged_textures_are_refused() {
    for format in [TextureFormat::Exr, TextureFormat::Png] {
        let folder = TestFolder::new();
        let written = write(&folder.0, &settings(format, 8192)).unwrap();
        let image = fs::read(&written.texture).unwrap();
        let refused = || match read_vertex_texture(&folder.0) {
            Err(BakeError::File { .. }) => true,
            Err(error) => panic!("{error}"),
            Ok(_) => false,
        };
        let ends = if format == TextureFormat::Png { 16 } else { 0 };
        for n in 0..image.len() - ends {
            fs::write(&written.texture, &image[..n]).unwrap();
            assert!(refused(), "{n} of {} bytes", image.len());
        }
        for at in 0..image.len() {
            for bits in [0xff, 0x80, 0x01] {
                let mut damaged = image.clone();
                damaged[at] ^= bits;
                fs::write(&written.texture, &damaged).unwrap();
                refused();
            }
        }
        fs::write(&written.texture, &image).unwrap();
        let text = fs::read_to_string(&written.description).unwrap();
        for (from, to) in [
            ("\"version\": 1", "\"version\": 2"),
            ("\"width\": 7", "\"width\": 8"),
            ("\"width\": 7", "\"width\": 0"),
            ("\"height\": 7", "\"height\": 16384"),
            ("\"rows_per_frame\": 1", "\"rows_per_frame\": 0"),
            ("\"frames\": 4", "\"frames\": 18446744073709551615"),
            ("\"frames\": 4", "\"frames\": 5"),
            ("\"vertices\": 7", "\"vertices\": 70"),
            ("\"run\"", "\"walk\""),
            ("\"texture\": \"", "\"texture\": \"../"),
            ("\"encoding\": \"", "\"encoding\": \"x"),
            ("{", ""),
        ] {
            assert!(text.contains(from), "{from}");
            fs::write(&written.description, text.replacen(from, to, 1)).unwrap();
            assert!(refused(), "{to}");
        }
        fs::remove_file(&written.description).unwrap();
        assert!(refused());
    }
}
