// SPDX-License-Identifier: MIT OR Apache-2.0
//! Characters for tests, made by code: unions of capsules polygonised by marching tetrahedra, with a
//! skeleton along the capsules' axes and smooth skin weights.
#![allow(dead_code)]

pub mod gltf;
pub mod json;

use std::collections::BTreeMap;
use thew::Vec3;
use thew::skeleton::{Skeleton, SkinWeights};
use thew::surface::Surface;

/// A rigged character.
pub struct Character {
    pub surface: Surface,
    pub skeleton: Skeleton,
    pub skin: SkinWeights,
}

/// A limb: a capsule around a bone.
#[derive(Clone, Copy)]
pub struct Limb {
    pub name: &'static str,
    pub parent: Option<u32>,
    pub head: [f64; 3],
    pub tail: [f64; 3],
    pub radius: f64,
}

pub fn limb(
    name: &'static str,
    parent: Option<u32>,
    head: [f64; 3],
    tail: [f64; 3],
    radius: f64,
) -> Limb {
    Limb {
        name,
        parent,
        head,
        tail,
        radius,
    }
}

/// Two bones in one arm of a metre.
pub fn arm() -> Vec<Limb> {
    vec![
        limb("upper", None, [0.0, 0.0, 0.0], [0.5, 0.0, 0.0], 0.11),
        limb("lower", Some(0), [0.5, 0.0, 0.0], [1.0, 0.0, 0.0], 0.09),
    ]
}

/// A fat-bellied biped, 1.6 m, legs close together, hands close to the hips.
pub fn biped() -> Vec<Limb> {
    vec![
        limb("pelvis", None, [0.0, 0.0, 0.85], [0.0, 0.0, 1.0], 0.17),
        limb("belly", Some(0), [0.0, 0.0, 1.0], [0.0, -0.05, 1.2], 0.24),
        limb("chest", Some(1), [0.0, 0.0, 1.2], [0.0, 0.0, 1.35], 0.17),
        limb("head", Some(2), [0.0, 0.0, 1.4], [0.0, 0.0, 1.55], 0.12),
        limb(
            "thigh.L",
            Some(0),
            [0.1, 0.0, 0.85],
            [0.11, 0.0, 0.47],
            0.085,
        ),
        limb(
            "shin.L",
            Some(4),
            [0.11, 0.0, 0.47],
            [0.12, 0.0, 0.08],
            0.065,
        ),
        limb(
            "thigh.R",
            Some(0),
            [-0.1, 0.0, 0.85],
            [-0.11, 0.0, 0.47],
            0.085,
        ),
        limb(
            "shin.R",
            Some(6),
            [-0.11, 0.0, 0.47],
            [-0.12, 0.0, 0.08],
            0.065,
        ),
        limb("arm.L", Some(2), [0.2, 0.0, 1.34], [0.34, 0.0, 1.08], 0.06),
        limb(
            "forearm.L",
            Some(8),
            [0.34, 0.0, 1.08],
            [0.38, 0.0, 0.8],
            0.05,
        ),
        limb(
            "arm.R",
            Some(2),
            [-0.2, 0.0, 1.34],
            [-0.34, 0.0, 1.08],
            0.06,
        ),
        limb(
            "forearm.R",
            Some(10),
            [-0.34, 0.0, 1.08],
            [-0.38, 0.0, 0.8],
            0.05,
        ),
    ]
}

/// Distance to the union of the capsules, and the limbs near a point with smooth weights.
fn surface_distance(limbs: &[Limb], p: Vec3) -> f64 {
    limbs
        .iter()
        .map(|l| axis_distance(l, p) - l.radius)
        .fold(f64::INFINITY, f64::min)
}

fn axis_distance(l: &Limb, p: Vec3) -> f64 {
    let (a, b) = (Vec3::from(l.head), Vec3::from(l.tail));
    let d = b - a;
    let t = ((p - a).dot(&d) / d.norm_squared()).clamp(0.0, 1.0);
    (a + d * t - p).norm()
}

/// Polygonises the limbs at a spacing.
pub fn character(limbs: &[Limb], spacing: f64) -> Character {
    let (vertices, triangles) = polygonise(&|p| surface_distance(limbs, p), limbs, spacing);
    let skin = skin_weights(limbs, &vertices);
    let skeleton = Skeleton::new(
        limbs.iter().map(|l| l.name.to_string()).collect(),
        limbs.iter().map(|l| l.parent).collect(),
        limbs.iter().map(|l| Vec3::from(l.head)).collect(),
        limbs.iter().map(|l| Vec3::from(l.tail)).collect(),
    )
    .expect("a valid skeleton");
    let surface = Surface::new(vertices, triangles).expect("a valid surface");
    Character {
        surface,
        skeleton,
        skin,
    }
}

fn skin_weights(limbs: &[Limb], vertices: &[Vec3]) -> SkinWeights {
    let mut dense = Vec::with_capacity(vertices.len() * limbs.len());
    for &p in vertices {
        let w: Vec<f64> = limbs
            .iter()
            .map(|l| {
                let d = (axis_distance(l, p) / l.radius).max(0.2);
                let w = (-6.0 * (d - 1.0)).exp();
                if w < 0.02 { 0.0 } else { w.min(10.0) }
            })
            .collect();
        let sum: f64 = w.iter().sum();
        dense.extend(w.iter().map(|w| if sum > 0.0 { w / sum } else { 0.0 }));
    }
    SkinWeights::from_dense(vertices.len(), limbs.len(), &dense).expect("valid weights")
}

/// Marching tetrahedra over a grid around the limbs; closed and oriented outward.
fn polygonise(f: &dyn Fn(Vec3) -> f64, limbs: &[Limb], spacing: f64) -> (Vec<Vec3>, Vec<[u32; 3]>) {
    let far = Vec3::repeat(f64::INFINITY);
    let (lo, hi) = limbs.iter().fold((far, -far), |(lo, hi), l| {
        let (a, b, r) = (
            Vec3::from(l.head),
            Vec3::from(l.tail),
            Vec3::repeat(l.radius),
        );
        (
            lo.inf(&(a - r)).inf(&(b - r)),
            hi.sup(&(a + r)).sup(&(b + r)),
        )
    });
    let lo = lo - Vec3::repeat(1.37 * spacing);
    let n: [usize; 3] = std::array::from_fn(|k| ((hi[k] - lo[k]) / spacing).ceil() as usize + 3);
    let at = |i: [usize; 3]| lo + Vec3::new(i[0] as f64, i[1] as f64, i[2] as f64) * spacing;
    let id = |i: [usize; 3]| (i[2] * n[1] + i[1]) * n[0] + i[0];
    let mut value = vec![0.0; n[0] * n[1] * n[2]];
    for k in 0..n[2] {
        for j in 0..n[1] {
            for i in 0..n[0] {
                value[id([i, j, k])] = f(at([i, j, k]));
            }
        }
    }
    let mut vertices = Vec::new();
    let mut on_edge: BTreeMap<(usize, usize), u32> = BTreeMap::new();
    let mut triangles = Vec::new();
    for k in 0..n[2] - 1 {
        for j in 0..n[1] - 1 {
            for i in 0..n[0] - 1 {
                let corner = |c: usize| [i + (c & 1), j + (c >> 1 & 1), k + (c >> 2 & 1)];
                let tets = [
                    [0, 1, 3, 7],
                    [0, 3, 2, 7],
                    [0, 2, 6, 7],
                    [0, 6, 4, 7],
                    [0, 4, 5, 7],
                    [0, 5, 1, 7],
                ];
                for t in tets {
                    let c = t.map(corner);
                    let mut cut = |a: [usize; 3], b: [usize; 3]| {
                        let (a, b) = if id(a) < id(b) { (a, b) } else { (b, a) };
                        *on_edge.entry((id(a), id(b))).or_insert_with(|| {
                            let (u, v) = (value[id(a)], value[id(b)]);
                            // Kept off the corners, or thin triangles would weld.
                            let s = (u / (u - v)).clamp(0.05, 0.95);
                            vertices.push(at(a) + (at(b) - at(a)) * s);
                            (vertices.len() - 1) as u32
                        })
                    };
                    let inside: Vec<usize> = (0..4).filter(|&x| value[id(c[x])] < 0.0).collect();
                    let outside: Vec<usize> = (0..4).filter(|&x| value[id(c[x])] >= 0.0).collect();
                    let mut polygon: Vec<u32> = Vec::new();
                    match inside.len() {
                        1 => polygon.extend(outside.iter().map(|&o| cut(c[inside[0]], c[o]))),
                        3 => polygon.extend(inside.iter().map(|&o| cut(c[o], c[outside[0]]))),
                        2 => polygon.extend([
                            cut(c[inside[0]], c[outside[0]]),
                            cut(c[inside[0]], c[outside[1]]),
                            cut(c[inside[1]], c[outside[1]]),
                            cut(c[inside[1]], c[outside[0]]),
                        ]),
                        _ => continue,
                    }
                    let outward = at(c[outside[0]]) - at(c[inside[0]]);
                    for m in 2..polygon.len() {
                        let mut tri = [polygon[0], polygon[m - 1], polygon[m]];
                        let x = tri.map(|v| vertices[v as usize]);
                        if (x[1] - x[0]).cross(&(x[2] - x[0])).dot(&outward) < 0.0 {
                            tri.swap(1, 2);
                        }
                        triangles.push(tri);
                    }
                }
            }
        }
    }
    (vertices, triangles)
}
