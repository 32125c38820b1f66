// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tubes in bodies that bend, other places and orders (slabs as well), and bodies that are no tubes.

use super::*;
use crate::Mat3;
use crate::geometry::frames;
use crate::mrep::Boundary;
use crate::mrep::fixture::apart;
use crate::mrep::initial::along::spoke;
use crate::surface::shapes::{Random, Shape, plane, sphere, torus};

fn surface(shape: &Shape) -> Surface {
    Surface::new(shape.vertices.clone(), shape.triangles.clone()).unwrap()
}

/// A tapered tube around a curve in space: rings of 24, capped by fans.
fn tapered(turns: f64) -> (Vec<Vec3>, Shape) {
    let curve = |s: f64| {
        let (sin, cos) = (turns * s).sin_cos();
        Vec3::new(sin, 1.0 - cos, 1.6 * s * s) * (3.0 / turns)
    };
    let (n, m) = (80, 24);
    let centres: Vec<Vec3> = (0..n)
        .map(|i| curve(f64::from(i) / f64::from(n - 1)))
        .collect();
    let ways: Vec<Vec3> = (0..n as usize)
        .map(|i| (centres[(i + 1).min(79)] - centres[i.max(1) - 1]).normalize())
        .collect();
    let frames = frames::along(&ways);
    let (mut vertices, mut triangles) = (Vec::new(), Vec::new());
    for (i, centre) in centres.iter().enumerate() {
        let r = 0.2 - 0.1 * i as f64 / 79.0;
        vertices.extend((0..m).map(|k| centre + spoke(&frames[i], k, m) * r));
    }
    let at = |i: usize, k: usize| (i * m + k % m) as u32;
    for i in 1..n as usize {
        for k in 0..m {
            let [a, b, c, d] = [at(i - 1, k), at(i - 1, k + 1), at(i, k + 1), at(i, k)];
            triangles.extend([[a, c, b], [a, d, c]]);
        }
    }
    for (i, centre) in [(0, centres[0]), (n as usize - 1, centres[n as usize - 1])] {
        let pole = vertices.len() as u32;
        vertices.push(centre);
        for k in 0..m {
            let [a, b] = [at(i, k), at(i, k + 1)];
            triangles.push(if i == 0 { [pole, a, b] } else { [pole, b, a] });
        }
    }
    (
        centres,
        Shape {
            vertices,
            triangles,
        },
    )
}

/// A tube follows a body that bends and tapers.
#[test]
fn tube_around_follows_tapered_body() {
    // A quarter turn, and a spiral of more than a turn.
    for turns in [1.5, 7.0] {
        let (centres, shape) = tapered(turns);
        let skin = surface(&shape);
        let figure = Figure::tube_around(&skin, 13, 8).unwrap();
        assert!(figure.legality() > 0.03);
        let along = lengths(&centres);
        for (i, atom) in figure.atoms().iter().enumerate() {
            let near = (0..80).min_by(|&i, &j| {
                let far = |k: usize| (atom.hub - centres[k]).norm();
                far(i).total_cmp(&far(j))
            });
            let near = near.unwrap();
            let off = (atom.hub - centres[near]).norm();
            let step = along[79] / 79.0;
            let most = if i % 12 == 0 { 0.04 } else { 0.015 };
            assert!(off < 0.6 * step + most, "{turns}: atom {i} is {off} off");
            let radius = 0.2 - 0.1 * near as f64 / 79.0;
            assert!(
                (atom.radius / radius - 1.0).abs() < 0.05,
                "{turns} {i} {}",
                atom.radius
            );
        }
        // From the thicker end to the thinner.
        assert!((figure.atoms()[0].hub - centres[0]).norm() < 0.4);
        let boundary = Boundary::new(&figure, 2).unwrap();
        for p in boundary.positions(&figure) {
            let out = skin.signed_distance(p) / skin.size();
            assert!(out < 0.025, "{turns} {out}");
        }
    }
}

/// Figures follow a similarity of their bodies and do not depend on the order of the vertices.
#[test]
fn figures_around_are_equivariant() {
    let (_, shape) = tapered(2.0);
    // The farthest points of flat ends are rims; one vertex a little farther decides.
    let shape = shape.mapped(|p| p * (1.0 + 0.01 * p.x + 0.003 * p.z * p.y));
    let both = |shape: &Shape| {
        let skin = surface(shape);
        [
            Figure::tube_around(&skin, 9, 8).unwrap(),
            Figure::slab_around(&skin, 3, 7).unwrap(),
        ]
    };
    let plain = both(&shape);
    let turn = *nalgebra::Rotation3::new(Vec3::new(0.7, -0.4, 1.9)).matrix();
    for (scale, turn, shift) in [
        (1e3, turn, Vec3::new(5.0, 0.3, -2.0)),
        (1e-2, turn.transpose(), Vec3::new(0.05, 0.03, -0.02)),
        (2.5, Mat3::identity(), Vec3::x()),
    ] {
        let moved = both(&shape.clone().mapped(|p| turn * p * scale + shift));
        for (a, b) in plain.iter().zip(&moved) {
            let apart = apart(&a.transformed(scale, &turn, shift), b);
            assert!(apart < 1e-9, "{scale}: {apart:e}");
        }
    }
    let mut random = Random(3);
    let order = random.order(shape.vertices.len());
    let mut place = vec![0u32; order.len()];
    (0u32..)
        .zip(&order)
        .for_each(|(new, old)| place[*old] = new);
    let triangles = random.order(shape.triangles.len());
    let mixed = both(&Shape {
        vertices: order.iter().map(|v| shape.vertices[*v]).collect(),
        triangles: (triangles.iter().map(|t| shape.triangles[*t]))
            .map(|[a, b, c]| [b, c, a].map(|v| place[v as usize]))
            .collect(),
    });
    for (a, b) in plain.iter().zip(&mixed) {
        let apart = apart(a, b);
        assert!(apart < 1e-9, "{apart:e}");
    }
}

/// Rings, sheets and separate pieces are refused.
#[test]
fn tube_around_refuses_other_shapes() {
    let said = |shape: Shape| {
        Figure::tube_around(&surface(&shape), 9, 8)
            .unwrap_err()
            .to_string()
    };
    assert!(said(torus(1.0, 0.3, 40)).contains("ring"));
    assert!(said(plane(4)).contains("sheet"));
    let many = sphere(1.0, 12)
        .with(&sphere(1.0, 12).mapped(|p| p + Vec3::x() * 5.0))
        .with(&sphere(1.0, 12).mapped(|p| p - Vec3::x() * 5.0));
    assert!(said(many).contains("pieces"));
    let skin = surface(&tapered(2.0).1);
    assert!(
        Figure::tube_around(&skin, 1, 8)
            .unwrap_err()
            .to_string()
            .contains("atoms")
    );
    assert!(
        Figure::tube_around(&skin, 9, 2)
            .unwrap_err()
            .to_string()
            .contains("spokes")
    );
    assert!(
        Figure::slab_around(&skin, 1, 8)
            .unwrap_err()
            .to_string()
            .contains("rows")
    );
}
