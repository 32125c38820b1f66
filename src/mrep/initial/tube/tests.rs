// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tubes in bent bodies, equivariance of tubes and slabs, and refusal of bodies that are not tubes.

use super::*;
use crate::Mat3;
use crate::geometry::frames;
use crate::mrep::Boundary;
use crate::mrep::fixture::figure_distance;
use crate::mrep::initial::line_tube::spoke_direction;
use crate::surface::shapes::{Random, TestMesh, plane, sphere, torus};

fn surface(shape: &TestMesh) -> Surface {
    Surface::new(shape.vertices.clone(), shape.triangles.clone()).unwrap()
}

/// Builds a tapered tube around a space curve: rings of 24 vertices, capped by fans.
fn tapered_tube(turns: f64) -> (Vec<Vec3>, TestMesh) {
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
    let frames = frames::transport_frames(&ways);
    let (mut vertices, mut triangles) = (Vec::new(), Vec::new());
    for (i, centre) in centres.iter().enumerate() {
        let r = 0.2 - 0.1 * i as f64 / 79.0;
        vertices.extend((0..m).map(|k| centre + spoke_direction(&frames[i], k, m) * r));
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
        TestMesh {
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
        let (centres, shape) = tapered_tube(turns);
        let skin = surface(&shape);
        let figure = Figure::tube_around(&skin, 13, 8).unwrap();
        assert!(figure.legality() > 0.03);
        let along = arc_lengths(&centres);
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
    let (_, shape) = tapered_tube(2.0);
    // The farthest points of flat ends are rims; one vertex a little farther decides.
    let shape = shape.map_vertices(|p| p * (1.0 + 0.01 * p.x + 0.003 * p.z * p.y));
    let both = |shape: &TestMesh| {
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
        let moved = both(&shape.clone().map_vertices(|p| turn * p * scale + shift));
        for (a, b) in plain.iter().zip(&moved) {
            let apart = figure_distance(&a.apply_similarity(scale, &turn, shift), b);
            assert!(apart < 1e-9, "{scale}: {apart:e}");
        }
    }
    let mut random = Random(3);
    let order = random.permutation(shape.vertices.len());
    let mut place = vec![0u32; order.len()];
    (0u32..)
        .zip(&order)
        .for_each(|(new, old)| place[*old] = new);
    let triangles = random.permutation(shape.triangles.len());
    let mixed = both(&TestMesh {
        vertices: order.iter().map(|v| shape.vertices[*v]).collect(),
        triangles: (triangles.iter().map(|t| shape.triangles[*t]))
            .map(|[a, b, c]| [b, c, a].map(|v| place[v as usize]))
            .collect(),
    });
    for (a, b) in plain.iter().zip(&mixed) {
        let apart = figure_distance(a, b);
        assert!(apart < 1e-9, "{apart:e}");
    }
}

/// Rings, sheets and separate pieces are refused.
#[test]
fn tube_around_refuses_other_shapes() {
    let said = |shape: TestMesh| {
        Figure::tube_around(&surface(&shape), 9, 8)
            .unwrap_err()
            .to_string()
    };
    assert!(said(torus(1.0, 0.3, 40)).contains("ring"));
    assert!(said(plane(4)).contains("sheet"));
    let many = sphere(1.0, 12)
        .merge(&sphere(1.0, 12).map_vertices(|p| p + Vec3::x() * 5.0))
        .merge(&sphere(1.0, 12).map_vertices(|p| p - Vec3::x() * 5.0));
    assert!(said(many).contains("pieces"));
    let skin = surface(&tapered_tube(2.0).1);
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
