// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests the cells read from faces: those of lattices of all kinds, filled shells, moved vertices and faulty faces.

use super::*;
use crate::lattice::limb::LimbShape;
use crate::surface::shapes::Random;

/// Returns kind and ascending corners of the cells, ascending.
fn cell_set(cells: &[Cell]) -> Vec<(&'static str, Vec<u32>)> {
    let of = |c: &Cell| {
        let mut corners = c.corners().to_vec();
        corners.sort_unstable();
        (c.name(), corners)
    };
    let mut all: Vec<_> = cells.iter().map(of).collect();
    all.sort();
    all
}

fn limb(prisms: impl Fn(usize) -> bool) -> Lattice {
    let shape = LimbShape {
        twist: 0.8,
        bend: 1.0,
        jitter: 0.1,
        seed: 7,
    };
    let (vertices, cells) = shape.lattice(prisms);
    Lattice::new(vertices, cells).expect("well-formed")
}

/// Hexahedra, prisms and both together come back from their faces, not inverted, with the same vertices.
#[test]
fn cells_come_back() {
    for prisms in [|_| false, |_| true, |c: usize| c.is_multiple_of(2)] {
        let lattice = limb(prisms);
        let (vertices, faces) = lattice.face_mesh();
        let back = Lattice::from_faces(&vertices, &faces).expect("read");
        assert_eq!(back.vertices(), lattice.vertices());
        assert_eq!(cell_set(back.cells()), cell_set(lattice.cells()));
        assert_eq!(back.faulty_cells(), Vec::<usize>::new());
        for f in &faces {
            let inner = back.cells().iter().filter(|c| {
                let corners = c.corners();
                f.iter().all(|v| corners.contains(v))
            });
            assert!((1..=2).contains(&inner.count()));
        }
    }
}

/// The cells depend neither on where vertices are moved, nor on the order, start and sense of the faces.
#[test]
fn cells_do_not_depend_on_places() {
    let lattice = limb(|c| c.is_multiple_of(3));
    let (vertices, mut faces) = lattice.face_mesh();
    let mut random = Random(3);
    let moved: Vec<Vec3> = (vertices.iter())
        .map(|x| x + Vec3::from_fn(|_, _| random.next() - 0.5))
        .collect();
    faces.reverse();
    for (i, face) in faces.iter_mut().enumerate() {
        face.rotate_left(i % 3);
        if i.is_multiple_of(2) {
            face.reverse();
        }
    }
    let back = Lattice::from_faces(&moved, &faces).expect("read");
    assert_eq!(cell_set(back.cells()), cell_set(lattice.cells()));
}

/// A vertex drawn through the opposite face leaves its cells inverted and all others as they were.
#[test]
fn turned_over_cells_stay_inverted() {
    let lattice = limb(|_| false);
    let (mut vertices, faces) = lattice.face_mesh();
    let corner = lattice.cells()[0].corners()[0];
    let far = lattice.cells()[0].corners()[7];
    vertices[corner as usize] = vertices[far as usize] * 2.0 - vertices[corner as usize];
    let back = Lattice::from_faces(&vertices, &faces).expect("read");
    let faulty = back.faulty_cells();
    let mine = |&c: &usize| back.cells()[c].corners().contains(&corner);
    assert!(!faulty.is_empty() && faulty.iter().all(mine));
}

/// A shell that smaller cells fill is no cell: a tetrahedron around a vertex, a hexahedron around a hexahedron.
#[test]
fn filled_shells_are_no_cells() {
    let x = [
        [0.0, 0.0, 0.0],
        [1.0, 0.0, 0.0],
        [0.0, 1.0, 0.0],
        [0.0, 0.0, 1.0],
        [0.2, 0.2, 0.2],
    ];
    let cells = [[0, 1, 2, 4], [0, 3, 1, 4], [0, 2, 3, 4], [1, 3, 2, 4]];
    let cells: Vec<Cell> = cells.map(Cell::Tetrahedron).to_vec();
    let lattice = Lattice::new(x.map(Vec3::from).to_vec(), cells).expect("well-formed");
    let (vertices, faces) = lattice.face_mesh();
    assert_eq!(faces.len(), 10);
    let back = Lattice::from_faces(&vertices, &faces).expect("read");
    assert_eq!(cell_set(back.cells()), cell_set(lattice.cells()));

    let corner = |i: u32| Vec3::from_fn(|k, _| f64::from(i >> k & 1) - 0.5);
    let vertices: Vec<Vec3> = (0..8)
        .map(|i| corner(i) * 3.0)
        .chain((0..8).map(corner))
        .collect();
    let inner: [u32; 8] = std::array::from_fn(|i| i as u32 + 8);
    let mut cells = vec![Cell::Hexahedron(inner)];
    for face in cells[0].faces() {
        let [a, b, c, d] = [face[0], face[1], face[2], face[3]].map(|i| inner[i]);
        let outer = |v: u32| v - 8;
        cells.push(Cell::Hexahedron([
            a,
            b,
            d,
            c,
            outer(a),
            outer(b),
            outer(d),
            outer(c),
        ]));
    }
    let lattice = Lattice::new(vertices, cells).expect("well-formed");
    assert_eq!(lattice.faulty_cells(), Vec::<usize>::new());
    let (vertices, faces) = lattice.face_mesh();
    let back = Lattice::from_faces(&vertices, &faces).expect("read");
    assert_eq!(cell_set(back.cells()), cell_set(lattice.cells()));
}

/// A lone cell in the hands of its faces is oriented by its volume; unused vertices are left out.
#[test]
fn lone_cell_is_oriented() {
    let corner = |i: u32| Vec3::from_fn(|k, _| f64::from(i >> k & 1));
    let mut vertices = vec![Vec3::repeat(9.0)];
    vertices.extend((0..8).map(corner));
    let cube = Cell::Hexahedron(std::array::from_fn(|i| i as u32 + 1));
    let faces: Vec<Vec<u32>> = (cube.faces().iter())
        .map(|f| f.iter().map(|&i| cube.corners()[i]).collect())
        .collect();
    let lattice = Lattice::from_faces(&vertices, &faces).expect("read");
    assert_eq!(lattice.vertices(), &vertices[1..]);
    assert!((lattice.cells()[0].volume(&lattice.corners(0)) - 1.0).abs() < 1e-12);
}

/// Faces that bound no cell, have five corners, a corner twice or one that is missing are refused by name.
#[test]
fn faulty_faces_are_named() {
    let lattice = limb(|_| false);
    let (mut vertices, faces) = lattice.face_mesh();
    let mut more = faces.clone();
    vertices.push(Vec3::repeat(5.0));
    let lone = vertices.len() as u32 - 1;
    more.push(vec![0, 1, lone]);
    match Lattice::from_faces(&vertices, &more) {
        Err(LatticeError::Conditions(found)) => {
            assert!(
                matches!(&found[..], [Violation::LooseFace { face, .. }] if face == &[0, 1, lone])
            );
            assert_eq!((found[0].condition(), found[0].kind()), (0, "loose face"));
        }
        other => panic!("{other:?}"),
    }
    // Without one of its faces the first cell is open: its other free faces bound nothing.
    let open = Lattice::from_faces(&vertices, &faces[1..]).expect_err("open");
    assert!(matches!(open, LatticeError::Conditions(_)));
    for face in [vec![0, 1, 2, 3, 4], vec![0, 1], vec![0, 1, 1], vec![]] {
        let refused = Lattice::from_faces(&vertices, std::slice::from_ref(&face));
        assert_eq!(
            refused.err(),
            Some(LatticeError::Conditions(vec![Violation::FaceCorners {
                face
            }]))
        );
    }
    let refused = Lattice::from_faces(&vertices, &[vec![0, 1, 9999]]).err();
    assert!(matches!(
        refused,
        Some(LatticeError::FaceVertex {
            face: 0,
            vertex: 9999,
            ..
        })
    ));
    assert_eq!(
        Lattice::from_faces(&vertices, &[]).err(),
        Some(LatticeError::Empty)
    );
}
