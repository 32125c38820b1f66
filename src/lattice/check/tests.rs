// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests each condition with a lattice that breaks it, and all with lattices that break none.

use super::*;
use crate::lattice::BoneChains;
use crate::lattice::limb::LimbShape;

/// Builds two tetrahedra on a common face, and one that hangs on it.
fn joined_tetrahedra() -> (Vec<Vec3>, Vec<Cell>) {
    let x = [
        [0.0, 0.0, 0.0],
        [1.0, 0.0, 0.0],
        [0.0, 1.0, 0.0],
        [0.2, 0.2, 1.0],
        [0.2, 0.2, -1.0],
    ];
    (
        x.map(Vec3::from).to_vec(),
        vec![
            Cell::Tetrahedron([0, 1, 2, 3]),
            Cell::Tetrahedron([0, 2, 1, 4]),
        ],
    )
}

fn violations(x: Vec<Vec3>, cells: Vec<Cell>) -> Vec<Violation> {
    let lattice = Lattice::with_bones(x, cells, BoneChains::default()).expect("well-formed");
    let mut found = Vec::new();
    let sound = lattice.check_cells(&mut found);
    lattice.check_meeting(&MergedGeometry::new(&lattice), &sound, &mut found);
    found
}

#[test]
fn valid_complex_has_no_violations() {
    let (x, cells) = joined_tetrahedra();
    assert_eq!(violations(x, cells), vec![]);
}

/// Each kind of fault is reported as its own violation.
#[test]
fn each_violation_is_reported() {
    let (mut x, mut cells) = joined_tetrahedra();
    cells[1] = Cell::Tetrahedron([0, 1, 2, 4]);
    assert!(matches!(
        violations(x.clone(), cells)[..],
        [Violation::Inverted { cell: 1, .. }]
    ));

    let (_, mut cells) = joined_tetrahedra();
    cells.push(Cell::Tetrahedron([2, 0, 3, 1]));
    let found = violations(x.clone(), cells);
    assert!(
        found
            .iter()
            .any(|v| matches!(v, Violation::Duplicate(0, 2))),
        "{found:?}"
    );
    assert!(
        found
            .iter()
            .any(|v| matches!(v, Violation::FaceShared { cells: 3, .. }))
    );

    let (_, mut cells) = joined_tetrahedra();
    cells[1] = Cell::Tetrahedron([0, 2, 2, 4]);
    assert!(matches!(
        violations(x.clone(), cells)[..],
        [Violation::RepeatedCorner {
            cell: 1,
            vertex: 2,
            ..
        }]
    ));

    // A vertex in the middle of the common face.
    let (_, mut cells) = joined_tetrahedra();
    x.push(Vec3::new(0.25, 0.25, 0.0));
    cells.pop();
    cells.push(Cell::Tetrahedron([0, 5, 1, 4]));
    let found = violations(x.clone(), cells);
    assert!(
        found
            .iter()
            .any(|v| matches!(v, Violation::Hanging { vertex: 5, cell: 0 })),
        "{found:?}"
    );

    // A cell pushed into its neighbour.
    let (mut x, cells) = joined_tetrahedra();
    x.extend([[0.0, 0.0, 0.1], [1.0, 0.0, 0.1], [0.0, 1.0, 0.1]].map(Vec3::from));
    let cells = vec![cells[0], Cell::Tetrahedron([5, 7, 6, 4])];
    let found = violations(x, cells);
    assert!(
        found.iter().any(|v| matches!(v, Violation::Overlap(0, 1))),
        "{found:?}"
    );
}

/// A cell on a duplicated vertex is reported for its shared face, but not as overlapping.
#[test]
fn shared_copies_may_overlap() {
    let (mut x, mut cells) = joined_tetrahedra();
    x.push(x[3]);
    cells.push(Cell::Tetrahedron([0, 1, 2, 5]));
    let found = violations(x, cells);
    // They still share a face between three cells, but do not count as overlapping.
    assert!(
        found
            .iter()
            .all(|v| matches!(v, Violation::FaceShared { .. })),
        "{found:?}"
    );
}

/// Limbs of twisted and bent cells have no violations, at any size and place.
#[test]
fn warped_limbs_have_no_violations() {
    let mut warped = 0;
    for i in 0..12u64 {
        let limb = LimbShape {
            twist: 0.15 * i as f64,
            bend: 1.5 - 0.2 * (i % 6) as f64,
            jitter: 0.03 * (i % 4) as f64,
            seed: i,
        };
        let (mut x, cells) = limb.lattice(|column| (column as u64 + i) % 3 < i % 4);
        if i % 2 == 1 {
            // Small, and far from the origin.
            x.iter_mut()
                .for_each(|x| *x = *x * 0.02 + Vec3::new(50.0, -30.0, 10.0));
        }
        let lattice = Lattice::new(x.clone(), cells.clone()).expect("well-formed");
        let pairs = (0..cells.len()).flat_map(|a| (0..a).map(move |b| (a, b)));
        warped += pairs.filter(|&(a, b)| lattice.hulls_overlap(a, b)).count();
        assert_eq!(violations(x, cells), vec![], "{limb:?}");
    }
    // The hulls of many pairs overlap although the cells do not.
    assert!(warped > 1000, "{warped}");
}

/// A vertex that is moved through the faces around it is reported; a small move is not.
#[test]
fn misplaced_vertex_is_reported() {
    // One vertex inside a limb is moved far enough to come through the faces around it: cells overlap or are turned
    // over. A small move makes neither.
    let limb = LimbShape {
        twist: 1.0,
        bend: 1.0,
        jitter: 0.0,
        seed: 0,
    };
    let (x, cells) = limb.lattice(|column| column == 4);
    let inner = 2 * 16 + 5;
    for (far, proper) in [(0.2, true), (1.2, false), (2.5, false)] {
        let mut x = x.clone();
        x[inner] += Vec3::new(0.6, 0.64, 0.48) * far;
        assert_eq!(violations(x, cells.clone()).is_empty(), proper, "{far}");
    }
}

/// Limbs that pass through each other are reported, and limbs that lie apart are not.
#[test]
fn interpenetrating_limbs_are_reported() {
    let limb = |twist: f64| LimbShape {
        twist,
        bend: 0.8,
        jitter: 0.04,
        seed: 3,
    };
    let (x, cells) = limb(1.2).lattice(|_| false);
    let (y, others) = limb(-0.9).lattice(|column| column % 2 == 0);
    let both = |shift: Vec3| {
        let n = x.len() as u32;
        let vertices = x.iter().copied().chain(y.iter().map(|p| p + shift));
        let moved = others.iter().map(|c| {
            let corners: Vec<u32> = c.corners().iter().map(|v| v + n).collect();
            Cell::from_corners(&corners).expect("a cell")
        });
        violations(
            vertices.collect(),
            cells.iter().copied().chain(moved).collect(),
        )
    };
    // Nine metres apart, and so near that they touch nowhere or overlap.
    assert_eq!(both(Vec3::y() * 9.0), vec![]);
    for shift in [Vec3::zeros(), Vec3::y() * 2.5, Vec3::new(0.3, 2.0, 1.7)] {
        let found = both(shift);
        assert!(found.iter().any(|v| matches!(v, Violation::Overlap(..))));
    }
}

/// A cell that folds only in its interior is reported, with the place of the fold.
#[test]
fn interior_fold_is_reported() {
    // A prism whose top is its bottom turned by half a turn, and not as wide across as along.
    let x = [
        [0.0, 0.0, 0.0],
        [1.0, 0.0, 0.0],
        [0.0, 1.0, 0.0],
        [0.0, 0.0, 1.0],
        [-1.0, 0.0, 1.0],
        [0.0, -0.3, 1.0],
    ];
    let found = violations(
        x.map(Vec3::from).to_vec(),
        vec![Cell::Prism([0, 1, 2, 3, 4, 5])],
    );
    let [Violation::Folded { cell: 0, at, .. }] = found[..] else {
        panic!("{found:?}");
    };
    // (1 − 2c) (1 − 1.3c) is negative between one half and 1/1.3.
    assert!(at.z > 0.5 && at.z < 1.0 / 1.3, "{at}");
    assert!(found[0].to_string().contains("cell 0 (prism)"));
}
