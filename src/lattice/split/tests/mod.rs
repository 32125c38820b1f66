// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests with bodies of cubes in a plain lattice: which parts separate, and which stay whole.

mod cubes;

use super::space::{SegmentStart, VoxelSpace};
use super::*;
use cubes::{CUBE_EDGE, Cubes, Fixture};
use std::collections::{BTreeMap, BTreeSet};

/// Returns the number of parts that are connected through vertices.
fn count_parts(cells: &[[u32; 4]]) -> usize {
    connected_parts(cells, 1).len()
}

/// Returns groups of cells connected through faces.
fn rigid_parts(cells: &[[u32; 4]]) -> Vec<Vec<usize>> {
    connected_parts(cells, 3)
}

/// Returns groups of cells connected by at least `common` shared corners.
fn connected_parts(cells: &[[u32; 4]], common: usize) -> Vec<Vec<usize>> {
    let mut sets = crate::geometry::sets::DisjointSets::new(cells.len());
    let mut around: BTreeMap<Vec<u32>, u32> = BTreeMap::new();
    for (i, c) in cells.iter().enumerate() {
        for mask in (1..15u32).filter(|m| m.count_ones() as usize == common) {
            let mut key: Vec<u32> = (0..4)
                .filter(|k| mask >> k & 1 == 1)
                .map(|k| c[k])
                .collect();
            key.sort_unstable();
            sets.join(*around.entry(key).or_insert(i as u32), i as u32);
        }
    }
    let mut by_root: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for i in 0..cells.len() {
        by_root.entry(sets.root(i as u32)).or_default().push(i);
    }
    by_root.into_values().collect()
}

/// Builds two legs with a gap between them, hanging from a hip.
fn legs() -> Cubes {
    let mut cubes = Cubes::new(&[
        [0..3, 0..3, 0..20],
        [4..7, 0..3, 0..20],
        [0..7, 0..3, 20..26],
    ]);
    cubes.gap = 0.4;
    cubes
}

fn leg_bones(cubes: &Cubes) -> Vec<Vec<Vec3>> {
    let at = |x: f64, z: f64| cubes.turn * Vec3::new(x, 1.5, z) * CUBE_EDGE;
    let leg = |x: f64| {
        (0..=4)
            .map(|i| at(x, 2.0 + 5.0 * f64::from(i)))
            .collect::<Vec<_>>()
    };
    let (left, right) = (leg(1.6), leg(5.2));
    let hip = vec![left[4], right[4]];
    vec![left, right, hip]
}

/// Two legs that share cells come apart and stay joined at the hip.
#[test]
fn split_legs_share_only_hip() {
    let cubes = legs();
    let f = Fixture::new(cubes.surface(), 0.55, &leg_bones(&cubes));
    let s = f.checked_split();
    for z in [4.0, 10.0, 14.0] {
        let side = |right: bool| {
            f.carriers(&s, |p| {
                let q = cubes.turn.inverse() * p / CUBE_EDGE;
                q.z < z && (q.x > 3.8) == right
            })
        };
        assert!(!side(false).is_empty() && !side(true).is_empty());
        assert!(side(false).is_disjoint(&side(true)), "below {z}");
    }
    assert!(s.cells.len() > f.cells.len(), "no cell was shared");
    assert_eq!(count_parts(&s.cells), 1);
}

/// Each point of a leg is carried by cells of that leg.
#[test]
fn split_assigns_points_to_leg() {
    let cubes = legs();
    let f = Fixture::new(cubes.surface(), 0.55, &leg_bones(&cubes));
    let s = f.checked_split();
    let side = |right: bool| {
        f.carriers(&s, |p| {
            let q = cubes.turn.inverse() * p / CUBE_EDGE;
            q.z < 14.0 && (q.x > 3.8) == right
        })
    };
    let sides = [side(false), side(true)];
    let tiling = Tiling::new(&f.vertices, &f.cells, false);
    let mut shared = 0;
    for i in 0..4000u64 {
        let unit = |k: u64| ((i * 3 + k + 1) as f64 * 0.754877666).fract();
        let right = i % 2 == 1;
        let x = if right {
            4.0 + unit(0) * 2.4
        } else {
            0.2 + unit(0) * 3.2
        };
        let p = cubes.turn * Vec3::new(x, 0.2 + 2.6 * unit(1), 13.0 * unit(2)) * CUBE_EDGE;
        assert!(cubes.contains(p));
        let cell = tiling.locate(p);
        let owner = s.flesh.owner(cell, p);
        let copies = s.group.iter().filter(|&&g| g == cell).count();
        shared += usize::from(copies > 1);
        assert!(
            s.cells[owner as usize]
                .iter()
                .any(|v| sides[usize::from(right)].contains(v))
        );
        assert!(
            s.cells[owner as usize]
                .iter()
                .all(|v| !sides[usize::from(!right)].contains(v))
        );
    }
    assert!(shared > 500, "{shared}");
}

/// A body without gaps is left unchanged.
#[test]
fn split_keeps_gapless_body() {
    // A ball, a rod and a box.
    let ball = |radius: [f64; 3]| {
        let (vertices, triangles) = Cubes::new(&[[0..8, 0..8, 0..8]]).mesh();
        let middle = vertices.iter().sum::<Vec3>() / vertices.len() as f64;
        let round = |p: &Vec3| (p - middle).normalize().component_mul(&Vec3::from(radius));
        Surface::new(vertices.iter().map(round).collect(), triangles).expect("has area")
    };
    let block = Cubes::new(&[[0..4, 0..6, 0..9]]).surface();
    for surface in [
        ball([1.0, 1.0, 1.0]),
        ball([0.2, 0.25, 1.4]),
        ball([1.0, 1.1, 0.1]),
        block,
    ] {
        for h in [0.25, 0.4, 0.7] {
            let f = Fixture::new(
                surface.clone(),
                h,
                &[vec![Vec3::new(0.0, 0.0, 0.1), Vec3::zeros()]],
            );
            let s = f.checked_split();
            assert_eq!(s.vertices, f.vertices);
            assert_eq!(s.cells, f.cells);
            let owners = s.flesh.vertex_owner(&f.surface).expect("the same surface");
            assert!(owners.iter().all(|&c| c != NO_CELL));
        }
    }
}

/// Four fingers in the width of one cell come apart.
#[test]
fn split_separates_close_fingers() {
    // Four fingers in the width of a cell; the gaps are a hundredth of a finger.
    let mut boxes = vec![[0..7, 0..2, 0..5]];
    boxes.extend((0..4).map(|i| [2 * i..2 * i + 1, 0..2, 5..34]));
    let mut cubes = Cubes::new(&boxes);
    cubes.gap = 0.02;
    let bone = |i: i32| {
        let at = |z: f64| cubes.turn * Vec3::new(f64::from(2 * i) + 0.98, 1.0, z) * CUBE_EDGE;
        [3.0, 8.0, 13.0, 18.0, 23.0, 28.0]
            .map(|z| at(z + 0.3 * f64::from(i)))
            .to_vec()
    };
    let chains: Vec<Vec<Vec3>> = (0..4).map(bone).collect();
    for h in [0.5, 0.9] {
        let f = Fixture::new(cubes.surface(), h, &chains);
        let s = f.checked_split();
        let finger = |i: i32| {
            f.carriers(&s, |p| {
                let q = cubes.turn.inverse() * p / CUBE_EDGE;
                q.z > 5.5 + 1.8 * h / CUBE_EDGE && (q.x - f64::from(2 * i) - 0.99).abs() < 1.0
            })
        };
        for i in 0..4 {
            assert!(!finger(i).is_empty());
            for j in 0..i {
                assert!(
                    finger(i).is_disjoint(&finger(j)),
                    "fingers {i} and {j}, h {h}"
                );
            }
        }
        assert_eq!(count_parts(&s.cells), 1);
    }
}

/// Parts without bones stay joined by faces, not by single edges.
#[test]
fn split_boneless_parts_share_faces() {
    // The comb again, but only its palm has a bone: a tooth that hung on an edge would swing.
    let mut boxes = vec![[0..7, 0..2, 0..5]];
    boxes.extend((0..4).map(|i| [2 * i..2 * i + 1, 0..2, 5..16]));
    let mut cubes = Cubes::new(&boxes);
    cubes.gap = 0.1;
    let at = |x: f64| cubes.turn * Vec3::new(x, 1.0, 2.0) * CUBE_EDGE;
    for h in [0.35, 0.6, 0.9] {
        let f = Fixture::new(cubes.surface(), h, &[vec![at(1.0), at(4.0), at(7.0)]]);
        let s = f.checked_split();
        assert_eq!(count_parts(&s.cells), 1);
        assert!(s.cells.len() > f.cells.len());
        for part in rigid_parts(&s.cells) {
            let inside: BTreeSet<u32> = part.iter().flat_map(|&c| s.cells[c]).collect();
            let others = (0..s.cells.len()).filter(|c| !part.contains(c));
            let outside: BTreeSet<u32> = others.flat_map(|c| s.cells[c]).collect();
            let held: Vec<Vec3> = inside
                .intersection(&outside)
                .map(|&v| s.vertices[v as usize])
                .collect();
            let spans = held.iter().any(|p| {
                let (a, b) = (held[0], held[held.len() - 1]);
                (b - a).cross(&(p - a)).norm() > 1e-3 * h * h
            });
            assert!(
                outside.is_empty() || spans,
                "h {h}: a part of {} cells hangs",
                part.len()
            );
        }
    }
}

/// A loose piece floats free unless a single cell holds it together with the body.
#[test]
fn split_loose_pieces() {
    let body = [0..6, 0..6, 0..10];
    // A button above the face of the box, small or longer than a cell.
    for (button, parts) in [([2..4, 8..10, 4..5], 1), ([0..6, 8..10, 0..10], 2)] {
        let cubes = Cubes::new(&[body.clone(), button]);
        let at = |z: f64| cubes.turn * Vec3::new(3.0, 3.0, z) * CUBE_EDGE;
        let f = Fixture::new(cubes.surface(), 0.6, &[vec![at(2.0), at(7.0)]]);
        let s = f.checked_split();
        let mine = |y: f64, up: bool| {
            f.carriers(&s, |p| ((cubes.turn.inverse() * p).y / CUBE_EDGE > y) == up)
        };
        if parts == 2 {
            assert!(mine(7.0, true).is_disjoint(&mine(7.0, false)));
        }
        assert!(count_parts(&s.cells) <= 2);
    }
}

/// The order of the triangles does not change the result of the split.
#[test]
fn split_independent_of_triangle_order() {
    let cubes = legs();
    let chains = leg_bones(&cubes);
    let f = Fixture::new(cubes.surface(), 0.55, &chains);
    let (a, again) = (f.split(), f.split());
    assert_eq!(
        (&a.vertices, &a.cells, &a.flesh),
        (&again.vertices, &again.cells, &again.flesh)
    );
    let (vertices, mut triangles) = cubes.mesh();
    let n = triangles.len();
    triangles = (0..n).map(|i| triangles[i * 37 % n]).collect();
    for (i, t) in triangles.iter_mut().enumerate() {
        t.rotate_left(i % 3);
    }
    let mut other = Fixture {
        surface: Surface::new(vertices, triangles).expect("has area"),
        ..f
    };
    let b = other.split();
    assert_eq!(
        (&a.vertices, &a.cells, &a.group),
        (&b.vertices, &b.cells, &b.group)
    );
    other.surface = cubes.surface();
    let by_place = |s: &Surface, split: &Split| -> Vec<(String, u32)> {
        let owners = split.flesh.vertex_owner(s).expect("the same surface");
        let welded = &s.welded().vertices;
        let mut all: Vec<_> = welded
            .iter()
            .zip(owners)
            .map(|(p, &o)| (format!("{p:?}"), o))
            .collect();
        all.sort();
        all
    };
    let (vertices, mut triangles) = cubes.mesh();
    triangles.reverse();
    let reversed = Surface::new(vertices, triangles).expect("has area");
    let c = Fixture {
        surface: reversed.clone(),
        ..other
    };
    assert_eq!(
        by_place(&cubes.surface(), &a),
        by_place(&reversed, &c.split())
    );
}

#[test]
fn split_can_be_cancelled() {
    let cubes = legs();
    let f = Fixture::new(cubes.surface(), 0.55, &leg_bones(&cubes));
    let input = SplitInput {
        vertices: &f.vertices,
        cells: &f.cells,
        surface: &f.surface,
        h: f.h,
        bone_edges: &f.bones,
        halved: false,
    };
    assert_eq!(
        split(input, &|at: f64, _: &str| at < 0.5).err(),
        Some(Cancelled)
    );
}

/// Voxels and segments are inside exactly where the body is.
#[test]
fn space_agrees_with_body() {
    let cubes = legs();
    let surface = cubes.surface();
    let space = VoxelSpace::new(&surface, 0.07);
    let mut count = [0; 2];
    for v in 0..space.len() {
        assert_eq!(space.is_inside(v), cubes.contains(space.centre(v)));
        count[usize::from(space.is_inside(v))] += 1;
    }
    assert!(count[0] > 500 && count[1] > 500);
    let inside: Vec<usize> = (0..space.len()).filter(|&v| space.is_inside(v)).collect();
    let mut stayed = [0; 2];
    for i in 0..2000 {
        let place = |i: usize| SegmentStart {
            at: space.centre(inside[i % inside.len()]),
            interior: true,
        };
        let (a, b) = (place(i * 7919), place(i * 104_729 + 13));
        // The gap is 0.04 wide: at this step none of it is missed, and corners cut by less do not count.
        let n = ((b.at - a.at).norm() / 0.002) as usize + 1;
        let outside = (0..=n)
            .filter(|&k| !cubes.contains(a.at + (b.at - a.at) * (k as f64 / n as f64)))
            .count();
        let stays = space.stays_inside(a, b);
        assert!(outside < 2 || !stays);
        assert!(outside > 0 || stays);
        stayed[usize::from(stays)] += 1;
    }
    assert!(stayed[0] > 100 && stayed[1] > 100);
}

/// A surface with a tenth of its faces missing has nearly the same voxels inside.
#[test]
fn space_of_open_surface() {
    // Without a tenth of its faces the body is bounded by the winding number in the holes.
    let cubes = legs();
    let (vertices, triangles) = cubes.mesh();
    let left: Vec<[u32; 3]> = (0..)
        .zip(triangles)
        .filter(|(i, _)| i % 10 != 3)
        .map(|t| t.1)
        .collect();
    let surface = Surface::new(vertices, left).expect("has area");
    let space = VoxelSpace::new(&surface, 0.06);
    let wrong = (0..space.len())
        .filter(|&v| space.is_inside(v) != surface.contains(space.centre(v)))
        .count();
    assert!(wrong * 200 < space.len(), "{wrong} of {}", space.len());
}
