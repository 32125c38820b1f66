// SPDX-License-Identifier: MIT OR Apache-2.0
//! Meshes for tests: synthetic ones, and files from `THEW_DATA`.

use crate::Vec3;
use std::path::{Path, PathBuf};

pub type IndexedMesh = (Vec<Vec3>, Vec<[u32; 3]>);

/// Builds a rectangle of sides `a` and `b` from `n` by `m` squares, each cut in two; every other cut runs the other way ("union jack").
pub fn sheet([n, m]: [usize; 2], [a, b]: [f64; 2]) -> IndexedMesh {
    let at = |i: usize, j: usize| (i * (m + 1) + j) as u32;
    let mut vertices = Vec::new();
    let mut triangles = Vec::new();
    for i in 0..=n {
        for j in 0..=m {
            vertices.push(Vec3::new(
                a * i as f64 / n as f64,
                b * j as f64 / m as f64,
                0.0,
            ));
        }
    }
    for i in 0..n {
        for j in 0..m {
            let [p, q, r, s] = [at(i, j), at(i + 1, j), at(i + 1, j + 1), at(i, j + 1)];
            if (i + j) % 2 == 0 {
                triangles.extend([[p, q, r], [p, r, s]]);
            } else {
                triangles.extend([[p, q, s], [q, r, s]]);
            }
        }
    }
    (vertices, triangles)
}

/// Builds a torus of `n` by `m` squares, each cut in two.
pub fn torus(n: usize, m: usize) -> IndexedMesh {
    let at = |i: usize, j: usize| ((i % n) * m + j % m) as u32;
    let mut vertices = Vec::new();
    let mut triangles = Vec::new();
    for i in 0..n {
        for j in 0..m {
            let (u, v) = (i as f64, j as f64);
            let (u, v) = (
                u * std::f64::consts::TAU / n as f64,
                v * std::f64::consts::TAU / m as f64,
            );
            let r = 1.0 + 0.4 * v.cos();
            vertices.push(Vec3::new(r * u.cos(), r * u.sin(), 0.4 * v.sin()));
            triangles.extend([
                [at(i, j), at(i + 1, j), at(i + 1, j + 1)],
                [at(i, j), at(i + 1, j + 1), at(i, j + 1)],
            ]);
        }
    }
    (vertices, triangles)
}

/// Builds three sheets that share one line, their triangles in mixed orientation.
pub fn fins() -> IndexedMesh {
    let (mut vertices, mut triangles) = sheet([3, 4], [0.9, 1.2]);
    let flat = vertices.clone();
    let sheet = triangles.clone();
    for turn in [2.0f64, 4.4] {
        let number: Vec<u32> = flat
            .iter()
            .enumerate()
            .map(|(v, x)| {
                if x.x == 0.0 {
                    return v as u32;
                }
                let (s, c) = turn.sin_cos();
                vertices.push(Vec3::new(c * x.x, x.y, s * x.x));
                vertices.len() as u32 - 1
            })
            .collect();
        triangles.extend(sheet.iter().map(|t| t.map(|v| number[v as usize])));
    }
    for (i, t) in triangles.iter_mut().enumerate() {
        if i % 3 == 0 {
            t.swap(1, 2);
        }
    }
    (vertices, triangles)
}

/// Returns a generator of pseudorandom numbers from −1 to 1.
pub fn noise(seed: u64) -> impl FnMut() -> f64 {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }
}

/// Moves each coordinate at random by at most `by`.
pub fn perturb(x: &[Vec3], by: f64, seed: u64) -> Vec<Vec3> {
    let mut next = noise(seed);
    x.iter()
        .map(|x| x + Vec3::new(next(), next(), next()) * by)
        .collect()
}

/// Returns a folder of real meshes; `None` if the data are absent.
pub fn mesh_folder(folder: &str) -> Option<PathBuf> {
    let default = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data");
    let data = std::env::var_os("THEW_DATA").map_or(default, PathBuf::from);
    Some(data.join(folder)).filter(|folder| folder.is_dir())
}

/// Reads vertices and faces of an OBJ file, faces as fans of triangles. Unreadable indices come out of range, unreadable coordinates as
/// NaN.
pub fn read_obj(path: &Path) -> IndexedMesh {
    let text = String::from_utf8_lossy(&std::fs::read(path).unwrap()).into_owned();
    let (mut vertices, mut triangles) = (Vec::new(), Vec::new());
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.first() {
            Some(&"v") => {
                let number = |i: usize| words.get(i).and_then(|w| w.parse().ok());
                vertices.push(Vec3::from_fn(|i, _| number(i + 1).unwrap_or(f64::NAN)));
            }
            Some(&"f") => {
                let index = |w: &&str| {
                    let first = w.split('/').next().and_then(|w| w.parse::<i64>().ok());
                    match first {
                        Some(i) if i > 0 => (i - 1) as u32,
                        Some(i) if i < 0 => (vertices.len() as i64 + i) as u32,
                        _ => u32::MAX,
                    }
                };
                let corners: Vec<u32> = words[1..].iter().map(index).collect();
                triangles
                    .extend((2..corners.len()).map(|i| [corners[0], corners[i - 1], corners[i]]));
            }
            _ => {}
        }
    }
    (vertices, triangles)
}
