// SPDX-License-Identifier: MIT OR Apache-2.0
//! Mirrored lattices of a figure of boxes, anywhere and in any direction.

use super::find::mirror_plane;
use super::*;
use crate::Vec3;
use crate::lattice::bones::select;
use crate::lattice::{EncloseSettings, corner_volume};
use crate::progress::Silent;
use crate::skeleton::{Skeleton, SkinWeights};
use crate::surface::shapes::{TestMesh, cuboid};
use nalgebra::Rotation3;
use std::collections::BTreeSet;

/// A trunk of three bones over two legs that stand a hand's breadth apart, in metres. One leg is longer by `more`.
fn figure(more: f64, map: impl Fn(Vec3) -> Vec3) -> (Surface, Skeleton, SkinWeights) {
    let at = |x: f64, y: f64, z: f64| Vec3::new(x, y, z);
    let piece = |half: Vec3, centre: Vec3| cuboid(half).map_vertices(|p| p + centre);
    let leg = |side: f64, more: f64| {
        piece(
            at(0.11, 0.1, 0.4 + 0.5 * more),
            at(0.15 * side, 0.0, 0.3 - 0.5 * more),
        )
    };
    let mesh: TestMesh = piece(at(0.3, 0.16, 0.35), at(0.0, 0.0, 0.95))
        .merge(&piece(at(0.1, 0.22, 0.12), at(0.0, -0.1, 1.4)))
        .merge(&leg(1.0, 0.0))
        .merge(&leg(-1.0, more));
    let bones = [
        ("pelvis", None, at(0.0, 0.0, 0.7), at(0.0, 0.02, 0.95)),
        ("chest", Some(0), at(0.0, 0.02, 0.95), at(0.0, 0.0, 1.25)),
        ("head", Some(1), at(0.0, 0.0, 1.3), at(0.0, -0.1, 1.45)),
        ("left", Some(0), at(0.15, 0.0, 0.6), at(0.15, 0.0, 0.0)),
        ("right", Some(0), at(-0.15, 0.0, 0.6), at(-0.15, 0.0, 0.0)),
    ];
    let of_vertex = |i: usize| match i {
        0..8 => 1,
        8..16 => 2,
        16..24 => 3,
        _ => 4,
    };
    let rows = (0..mesh.vertices.len()).map(|i| [(of_vertex(i), 0.9), (0, 0.1)]);
    let skin = SkinWeights::from_rows(bones.len(), rows).expect("weights");
    let mesh = mesh.map_vertices(&map);
    let surface = Surface::new(mesh.vertices, mesh.triangles).expect("a surface");
    let skeleton = Skeleton::new(
        bones.iter().map(|b| b.0.to_owned()).collect(),
        bones.iter().map(|b| b.1).collect(),
        bones.iter().map(|b| map(b.2)).collect(),
        bones.iter().map(|b| map(b.3)).collect(),
    )
    .expect("a skeleton");
    (surface, skeleton, skin)
}

fn enclose(c: &(Surface, Skeleton, SkinWeights), symmetric: Symmetry) -> Lattice {
    let settings = EncloseSettings {
        cells_across: 9.0,
        symmetric,
    };
    Lattice::enclose(&c.0, &c.1, Some(&c.2), settings, &Silent).expect("encloses")
}

/// Returns for each vertex of a mirrored lattice its image.
fn images(lattice: &Lattice) -> Vec<usize> {
    let half = lattice.cells().len() / 2;
    let mut image = vec![usize::MAX; lattice.vertices().len()];
    let (first, second) = lattice.cells().split_at(half);
    for (a, b) in first.iter().zip(second) {
        let (a, b) = (a.corners(), b.corners());
        for (i, j) in [(0, 0), (1, 1), (2, 3), (3, 2)] {
            let (v, w) = (a[i] as usize, b[j] as usize);
            assert!(
                [usize::MAX, w].contains(&image[v]),
                "vertex {v} has two images"
            );
            assert!(
                [usize::MAX, v].contains(&image[w]),
                "vertex {w} has two images"
            );
            (image[v], image[w]) = (w, v);
        }
    }
    image
}

/// Somewhere, in some direction, at some scale; the first is none at all.
fn places() -> Vec<(f64, Rotation3<f64>, Vec3)> {
    let turn = |x: f64, y: f64, z: f64| Rotation3::from_euler_angles(x, y, z);
    vec![
        (1.0, turn(0.0, 0.0, 0.0), Vec3::zeros()),
        (100.0, turn(0.0, 0.0, 1.1), Vec3::new(300.0, -20.0, 7.0)),
        (0.01, turn(0.7, -0.4, 2.0), Vec3::new(0.5, 0.5, 0.5)),
    ]
}

/// Vertices, cells, chains and drivers are mirrored to rounding, and the four conditions hold.
#[test]
fn mirrored_figure_is_its_own_image() {
    for (scale, turn, shift) in places() {
        let c = figure(0.0, |p| turn * p * scale + shift);
        let lattice = enclose(&c, Symmetry::Auto);
        assert_eq!(lattice.check(&c.0, &c.1), vec![]);
        let plane = lattice.mirror_plane().expect("has a mirror plane");
        assert!((plane.normal.dot(&(turn * Vec3::x())).abs() - 1.0).abs() < 1e-9);
        assert!(plane.signed_distance(shift).abs() < 1e-7 * scale);
        let image = images(&lattice);
        let x = lattice.vertices();
        let mut on_plane = 0;
        for (v, &w) in image.iter().enumerate().filter(|(_, w)| **w != usize::MAX) {
            assert!((plane.image(x[v]) - x[w]).norm() < 1e-7 * scale, "{v} {w}");
            on_plane += usize::from(v == w);
        }
        assert!(on_plane > 10, "{on_plane}");
        let bones = lattice.bones();
        assert_eq!(bones.used_bones, vec![0, 1, 2, 3, 4]);
        let partner = |b: u32| [0, 1, 2, 4, 3][b as usize];
        for (v, &w) in image.iter().enumerate().filter(|(_, w)| **w != usize::MAX) {
            let (own, other) = (bones.bone_of_vertex[v], bones.bone_of_vertex[w]);
            assert_eq!(own.map(partner), other, "{v} {w}");
        }
        let mirrored = |chain: &[u32]| -> Vec<u32> {
            chain.iter().map(|v| image[*v as usize] as u32).collect()
        };
        assert_eq!(mirrored(&bones.chains[3]), bones.chains[4]);
        for chain in &bones.chains[..3] {
            assert_eq!(&mirrored(chain), chain);
        }
    }
}

/// No cell crosses the plane, and no cell is inverted.
#[test]
fn no_cell_crosses_plane() {
    let c = figure(0.0, |p| p);
    let lattice = enclose(&c, Symmetry::Auto);
    for cell in 0..lattice.cells().len() {
        let x = lattice.corners(cell as u32);
        assert!(corner_volume([0, 1, 2, 3], |i: usize| x[i]) > 0.0);
        let sides: BTreeSet<bool> = x
            .iter()
            .filter(|p| p.x.abs() > 1e-9)
            .map(|p| p.x > 0.0)
            .collect();
        assert!(sides.len() < 2, "cell {cell}: {x:?}");
    }
}

/// Legs close to the plane share no vertex below the crotch; the skin of each is in cells of its own side.
#[test]
fn legs_stay_apart() {
    let c = figure(0.0, |p| p);
    let lattice = enclose(&c, Symmetry::Auto);
    let embedding = lattice.embed_surface(&c.0);
    let used = |side: f64| -> BTreeSet<usize> {
        let of_leg = c.0.vertices().iter().enumerate();
        of_leg
            .filter(|(_, p)| p.z < 0.1 && p.x * side > 0.0)
            .flat_map(|(i, _)| embedding.row(i).map(|(v, _)| v))
            .collect()
    };
    let (left, right) = (used(1.0), used(-1.0));
    assert!(!left.is_empty() && left.is_disjoint(&right));
    let image = images(&lattice);
    let of_left: BTreeSet<usize> = left.iter().map(|v| image[*v]).collect();
    assert_eq!(of_left, right);
}

/// A leg that is longer by more than a thousandth of the size takes the plane away; the lattice is that without
/// symmetry, bit for bit.
#[test]
fn uneven_figure_is_built_whole() {
    let size = figure(0.0, |p| p).0.size();
    for (more, mirrored) in [(5e-4, true), (2e-3, false)] {
        let c = figure(more * size, |p| p);
        let lattice = enclose(&c, Symmetry::Auto);
        assert_eq!(lattice.mirror_plane().is_some(), mirrored, "{more}");
        assert_eq!(lattice.check(&c.0, &c.1), vec![]);
        if !mirrored {
            let whole = enclose(&c, Symmetry::Off);
            assert_eq!(lattice.vertices(), whole.vertices());
            assert_eq!(lattice.cells(), whole.cells());
            assert_eq!(lattice.bones(), whole.bones());
        }
    }
}

/// Bones that are not mirror images take the plane away, whatever the skin is.
#[test]
fn bones_decide_first() {
    let (surface, skeleton, skin) = figure(0.0, |p| p);
    let h = surface.size() / 9.0;
    let plane = |heads: Vec<Vec3>, tails: Vec<Vec3>| {
        let moved = Skeleton::new(
            skeleton.names().to_vec(),
            skeleton.parents().to_vec(),
            heads,
            tails,
        );
        let segments = select(
            &surface,
            &moved.expect("valid"),
            Some(&skin),
            h,
            &mut Vec::new(),
        );
        mirror_plane(&surface, &segments, h)
    };
    let (heads, tails) = (skeleton.heads().to_vec(), skeleton.tails().to_vec());
    let (found, partners) = plane(heads.clone(), tails.clone()).expect("symmetric");
    assert_eq!((found.normal, found.offset), (Vec3::x(), 0.0));
    assert_eq!(partners[..5], [0, 1, 2, 4, 3]);
    let mut lower = tails.clone();
    lower[3].z += 2e-3 * surface.size();
    assert!(plane(heads.clone(), lower).is_none());
}

/// Bones on a line lie in many planes: a flat limb has that across its width, a round one has none.
#[test]
fn skin_decides_about_line() {
    let segment = |from: f64, to: f64| BoneSegment {
        bone: 0,
        head: Vec3::z() * from,
        tail: Vec3::z() * to,
        tip: false,
        weight: 1.0,
        skin: Vec::new(),
    };
    let bones = [segment(-0.8, 0.1), segment(0.1, 0.9)];
    let plane = |width: f64| {
        let mesh = cuboid(Vec3::new(0.2, width, 1.0));
        let surface = Surface::new(mesh.vertices, mesh.triangles).expect("a box");
        mirror_plane(&surface, &bones, 0.2).map(|found| found.0)
    };
    assert_eq!(plane(0.2), None);
    for (width, normal) in [(0.1, Vec3::x()), (0.3, Vec3::y())] {
        let found = plane(width).expect("flat");
        assert_eq!((found.normal, found.offset), (normal, 0.0));
    }
}

/// Stored ownership carries the plane, and refuses a plane for cells that are not two halves.
#[test]
fn copies_carry_plane() {
    let c = figure(0.0, |p| p);
    let lattice = enclose(&c, Symmetry::Auto);
    let bytes = lattice.copies().expect("enclosed");
    let rebuild = |cells: Vec<crate::lattice::Cell>| {
        Lattice::with_bones(lattice.vertices().to_vec(), cells, lattice.bones().clone())
            .expect("valid")
            .with_copies(&bytes)
    };
    let again = rebuild(lattice.cells().to_vec()).expect("the same cells");
    assert_eq!(again.mirror_plane(), lattice.mirror_plane());
    let fewer = lattice.cells()[1..].to_vec();
    assert_eq!(rebuild(fewer).err(), Some(LatticeError::Copies));
}
