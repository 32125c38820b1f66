// SPDX-License-Identifier: MIT OR Apache-2.0
//! Characters out of binary glTF files, as far as tests need them: mesh, weights, bones in the bind pose.

use super::Character;
use super::json::Value;
use std::path::Path;
use thew::skeleton::{Skeleton, SkinWeights};
use thew::surface::Surface;
use thew::{Mat3, Vec3};

struct GltfFile {
    json: Value,
    blob: Vec<u8>,
}

impl GltfFile {
    fn read(path: &Path) -> Option<Self> {
        let data = std::fs::read(path).ok()?;
        let length = u32::from_le_bytes(data.get(12..16)?.try_into().ok()?) as usize;
        let text = String::from_utf8_lossy(data.get(20..20 + length)?).into_owned();
        Some(Self {
            json: Value::parse(&text),
            blob: data.get(28 + length..)?.to_vec(),
        })
    }

    /// Rows of an accessor.
    fn accessor_rows(&self, accessor: &Value) -> Vec<Vec<f64>> {
        let a = &self.json["accessors"][accessor.index()];
        let view = &self.json["bufferViews"][a["bufferView"].index()];
        let width = match a["type"].text() {
            "SCALAR" => 1,
            "VEC3" => 3,
            "VEC4" => 4,
            _ => 16,
        };
        let kind = a["componentType"].index();
        let bytes = [1, 1, 2, 2, 4, 4, 4][kind - 5120];
        let start = view["byteOffset"].index() + a["byteOffset"].index();
        let stride = match view["byteStride"].index() {
            0 => width * bytes,
            stride => stride,
        };
        let number = |at: usize| {
            let b = &self.blob[at..at + bytes];
            match kind {
                5121 => f64::from(b[0]),
                5123 => f64::from(u16::from_le_bytes([b[0], b[1]])),
                5125 => f64::from(u32::from_le_bytes([b[0], b[1], b[2], b[3]])),
                _ => f64::from(f32::from_le_bytes([b[0], b[1], b[2], b[3]])),
            }
        };
        let row = |i: usize| (0..width).map(move |k| start + i * stride + k * bytes);
        (0..a["count"].index())
            .map(|i| row(i).map(number).collect())
            .collect()
    }
}

/// The file's first skin in its bind pose, Z up; none where the file is missing. Bones end at their child,
/// or go on as far as their parent's.
pub fn read(path: &Path) -> Option<Character> {
    let file = GltfFile::read(path)?;
    let skin = &file.json["skins"][0];
    let joints: Vec<usize> = skin["joints"].items().iter().map(Value::index).collect();
    let (mut vertices, mut triangles, mut dense) = (Vec::new(), Vec::new(), Vec::new());
    let nodes = file.json["nodes"].items();
    for node in nodes.iter().filter(|n| n.has("mesh") && n.has("skin")) {
        for part in file.json["meshes"][node["mesh"].index()]["primitives"].items() {
            let given = &part["attributes"];
            let base = vertices.len() as u32;
            vertices.extend(
                file.accessor_rows(&given["POSITION"])
                    .iter()
                    .map(|r| z_up(r[0], r[1], r[2])),
            );
            let (bones, weights) = (
                file.accessor_rows(&given["JOINTS_0"]),
                file.accessor_rows(&given["WEIGHTS_0"]),
            );
            for (bones, weights) in bones.iter().zip(&weights) {
                let total: f64 = weights.iter().sum();
                let mut row = vec![0.0; joints.len()];
                for (&b, &w) in bones.iter().zip(weights) {
                    row[b as usize] += w / total.max(1e-12);
                }
                dense.extend(row);
            }
            let corners: Vec<u32> = if part.has("indices") {
                file.accessor_rows(&part["indices"])
                    .iter()
                    .map(|r| base + r[0] as u32)
                    .collect()
            } else {
                (base..vertices.len() as u32).collect()
            };
            triangles.extend(corners.chunks_exact(3).map(|c| [c[0], c[1], c[2]]));
        }
    }
    let parent_node = |child: usize| {
        nodes
            .iter()
            .position(|n| n["children"].items().iter().any(|c| c.index() == child))
    };
    let parents: Vec<Option<u32>> = joints
        .iter()
        .map(|&j| {
            let p = parent_node(j)?;
            joints.iter().position(|&k| k == p).map(|p| p as u32)
        })
        .collect();
    let heads: Vec<Vec3> = file
        .accessor_rows(&skin["inverseBindMatrices"])
        .iter()
        .map(|m| {
            let turn = Mat3::new(m[0], m[4], m[8], m[1], m[5], m[9], m[2], m[6], m[10]);
            let head = -(turn.try_inverse().expect("regular") * Vec3::new(m[12], m[13], m[14]));
            z_up(head.x, head.y, head.z)
        })
        .collect();
    let size = heads
        .iter()
        .fold(0.0f64, |s, h| s.max((h - heads[0]).norm()));
    let tails = (0..heads.len())
        .map(|b| {
            let child = parents.iter().position(|p| *p == Some(b as u32));
            match (child, parents[b]) {
                (Some(c), _) => heads[c],
                (None, Some(p)) => heads[b] + (heads[b] - heads[p as usize]) * 0.5,
                (None, None) => heads[b] + Vec3::z() * (0.05 * size),
            }
        })
        .collect();
    let skin = SkinWeights::from_dense(vertices.len(), joints.len(), &dense).expect("weights");
    Some(Character {
        surface: Surface::new(vertices, triangles).expect("a surface"),
        skeleton: Skeleton::new(
            (0..joints.len()).map(|j| format!("joint {j}")).collect(),
            parents,
            heads,
            tails,
        )
        .expect("a skeleton"),
        skin,
    })
}

fn z_up(x: f64, y: f64, z: f64) -> Vec3 {
    Vec3::new(x, -z, y)
}
