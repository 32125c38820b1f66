// SPDX-License-Identifier: MIT OR Apache-2.0
//! Files of bakes: point caches, and both files of vertex animation textures.

use crate::files::scratch;
use std::path::PathBuf;
use thew::bake::{
    TextureFormat, TextureSettings, VertexFrames, VertexTexture, read_mdd, read_pc2,
    read_vertex_texture, write_mdd, write_pc2, write_vertex_texture,
};
use thew::progress::Silent;

const VERTICES: usize = 5;

fn positions() -> Vec<f32> {
    (0..3 * 3 * VERTICES)
        .map(|i| (0.7 * i as f32).sin())
        .collect()
}

/// Writes a texture of this thread.
fn texture(format: TextureFormat, has_tension: bool) -> VertexTexture {
    let positions = positions();
    let frames = VertexFrames::new([&positions[..]], VERTICES).expect("frames");
    let settings = TextureSettings {
        format,
        ..TextureSettings::new(24.0)
    };
    let (folder, names) = (scratch("texture"), ["wave".to_owned()]);
    let rest = &positions[..3 * VERTICES];
    let tension = [&positions[..3 * VERTICES]];
    let tension = has_tension.then_some(&tension[..]);
    write_vertex_texture(
        &folder,
        (&names, &frames),
        rest,
        tension,
        &settings,
        &Silent,
    )
    .expect("it can be written")
}

/// Path of the file that a first byte names, in a folder where the others are whole.
fn place(kind: u8) -> Option<PathBuf> {
    Some(match kind {
        0 => scratch("pc2"),
        1 => scratch("mdd"),
        2 => texture(TextureFormat::Exr, false).texture,
        3 => texture(TextureFormat::Exr, false).description,
        4 => texture(TextureFormat::Png, false).texture,
        5 => texture(TextureFormat::Png, false).description,
        6 => texture(TextureFormat::Exr, true).texture,
        7 => texture(TextureFormat::Exr, true).description,
        8 => texture(TextureFormat::Png, true).texture,
        9 => texture(TextureFormat::Png, true).description,
        _ => return None,
    })
}

/// The first byte: which file. What is read of a cache can be written and read again.
pub fn bake_files(bytes: &[u8]) {
    let Some((&kind, content)) = bytes.split_first() else {
        return;
    };
    let Some(path) = place(kind) else {
        return;
    };
    std::fs::write(&path, content).expect("the scratch folder can be written to");
    match kind {
        0 => {
            if let Ok(cache) = read_pc2(&path) {
                let frames =
                    VertexFrames::new([&cache.positions[..]], cache.vertices).expect("frames");
                if write_pc2(
                    &path,
                    &frames,
                    (cache.start.into(), cache.rate.into()),
                    &Silent,
                )
                .is_ok()
                {
                    assert_eq!(read_pc2(&path).expect("it was written"), cache);
                }
            }
        }
        1 => {
            if let Ok(cache) = read_mdd(&path) {
                let frames =
                    VertexFrames::new([&cache.positions[..]], cache.vertices).expect("frames");
                write_mdd(&path, &frames, 24.0, &Silent).expect("what was read can be written");
                assert_eq!(
                    read_mdd(&path).expect("it was written").positions,
                    cache.positions
                );
            }
        }
        _ => {
            if let Ok(read) = read_vertex_texture(&path.with_extension("json")) {
                assert!(
                    read.clips
                        .iter()
                        .all(|clip| clip.1.len() % (3 * read.vertices) == 0)
                );
                let tension = read.tension.iter().flatten();
                assert!(
                    tension
                        .zip(&read.clips)
                        .all(|(values, clip)| 3 * values.len() == clip.1.len())
                );
            }
        }
    }
}

pub fn bake_seeds() -> Vec<Vec<u8>> {
    let positions = positions();
    let frames = VertexFrames::new([&positions[..]], VERTICES).expect("frames");
    write_pc2(&scratch("pc2"), &frames, (1.0, 0.5), &Silent).expect("it can be written");
    write_mdd(&scratch("mdd"), &frames, 24.0, &Silent).expect("it can be written");
    let seed = |kind: u8| {
        let path = match kind {
            0 => scratch("pc2"),
            1 => scratch("mdd"),
            _ => place(kind).expect("a file of a texture"),
        };
        [&[kind], &std::fs::read(path).expect("it is there")[..]].concat()
    };
    (0..10).map(seed).collect()
}
