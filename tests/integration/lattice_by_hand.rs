// SPDX-License-Identifier: MIT OR Apache-2.0
//! Lattices made by hand: read from faces, fitted to a character, each condition demanded.

use crate::common::{biped, character};
use thew::Vec3;
use thew::lattice::{Cell, EncloseSettings, HandSettings, Lattice, LatticeError, Tip, Violation};
use thew::progress::Silent;

#[expect(dead_code, reason = "its bodies and poses are for other tests")]
mod arm {
    include!("../../examples/shapes/arm.rs");
}

const X: [f64; 7] = [-0.12, 0.0, 0.25, 0.5, 0.75, 1.0, 1.12];

/// Builds the arm's lattice by hand: seven sections of 3 × 3 vertices, the bones along the middle.
fn hexahedra() -> (Vec<Vec3>, Vec<Cell>) {
    let mut vertices = Vec::new();
    for x in X {
        for i in 0..9 {
            let across = |k: i32| 0.13 * f64::from(k - 1);
            vertices.push(Vec3::new(x, across(i % 3), across(i / 3)));
        }
    }
    let mut cells = Vec::new();
    for k in 0..X.len() as u32 - 1 {
        for (i, j) in [(0, 0), (1, 0), (0, 1), (1, 1)] {
            let at = |b: u32| 9 * (k + (b & 1)) + i + (b >> 1 & 1) + 3 * (j + (b >> 2));
            cells.push(Cell::Hexahedron(std::array::from_fn(|b| at(b as u32))));
        }
    }
    (vertices, cells)
}

/// Cuts every hexahedron into two prisms along the arm.
fn prisms() -> (Vec<Vec3>, Vec<Cell>) {
    let (vertices, cells) = hexahedra();
    let cut = |c: &Cell| {
        let h = c.corners();
        [[0, 2, 4, 1, 3, 5], [2, 6, 4, 3, 7, 5]].map(|p: [usize; 6]| Cell::Prism(p.map(|b| h[b])))
    };
    (vertices, cells.iter().flat_map(cut).collect())
}

fn fit(vertices: Vec<Vec3>, cells: Vec<Cell>) -> Result<Lattice, LatticeError> {
    let surface = arm::surface().expect("made");
    let skin = arm::skin(&surface).expect("made");
    let skeleton = arm::skeleton().expect("made");
    Lattice::new(vertices, cells)?.for_character(
        &surface,
        &skeleton,
        Some(&skin),
        &HandSettings::default(),
        &Silent,
    )
}

fn violations(vertices: Vec<Vec3>, cells: Vec<Cell>) -> Vec<Violation> {
    match fit(vertices, cells) {
        Err(LatticeError::Conditions(found)) => found,
        other => panic!("{other:?}"),
    }
}

/// Hexahedra and prisms around the arm hold its bones on their edges and pass the check.
#[test]
fn arm_fits() {
    for (vertices, cells) in [hexahedra(), prisms()] {
        let lattice = fit(vertices.clone(), cells.clone()).expect("fits");
        assert_eq!(lattice.vertices(), &vertices[..]);
        assert_eq!(lattice.cells(), &cells[..]);
        assert_eq!(lattice.bones().used_bones, [0, 1]);
        let middle = |k: u32| 9 * k + 4;
        assert_eq!(lattice.bones().chains[0], [1, 2, 3].map(middle));
        assert_eq!(lattice.bones().chains[1], [3, 4, 5].map(middle));
        // The elbow is the head of the lower bone, which wins.
        let drivers: Vec<Option<u32>> = (0..7)
            .map(|k| lattice.bones().bone_of_vertex[middle(k) as usize])
            .collect();
        assert_eq!(
            drivers,
            [None, Some(0), Some(0), Some(1), Some(1), Some(1), None]
        );
    }
}

/// A vertex a little beside its bone or joint is moved onto it; one far off leaves a gap, named with its places.
#[test]
fn condition_2_snaps_or_names_the_gap() {
    let (exact, cells) = hexahedra();
    for v in [9 * 2 + 4, 9 * 3 + 4] {
        let mut vertices = exact.clone();
        vertices[v] += Vec3::new(0.0, 0.011, -0.012);
        let lattice = fit(vertices, cells.clone()).expect("fits");
        assert!((lattice.vertices()[v] - exact[v]).norm() < 1e-12);
    }
    let mut vertices = exact.clone();
    vertices[9 * 2 + 4] += Vec3::new(0.0, 0.05, 0.0);
    let found = violations(vertices.clone(), cells);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!((found[0].condition(), found[0].bone()), (2, Some("upper")));
    assert_eq!(found[0].places(&vertices), [exact[9 + 4], exact[27 + 4]]);
}

/// Skin outside the lattice breaks condition 3, with the place.
#[test]
fn condition_3_names_the_place() {
    let (mut vertices, cells) = hexahedra();
    let v = 9 * 3;
    vertices[v] = Vec3::new(0.5, -0.067, -0.067);
    let found = violations(vertices, cells.clone());
    assert!(found.iter().all(|v| v.condition() == 3), "{found:?}");
    for at in found.iter().flat_map(|v| v.places(&[])) {
        assert!((at.x - 0.5).abs() < 0.26 && at.y < 0.0 && at.z < 0.0);
    }
    // Without a cell the skin there is outside, and the free faces of its neighbours lie in flesh.
    let (vertices, mut cells) = hexahedra();
    cells.remove(8);
    let found = violations(vertices, cells);
    assert!(found.iter().all(|v| v.condition() == 3));
    assert!(found.iter().any(|v| v.kind() == "uncontained"));
}

/// Overlaps, hanging vertices and faces of three cells break condition 1, with the cells.
#[test]
fn condition_1_names_the_cells() {
    let (mut vertices, mut cells) = hexahedra();
    let first = vertices.len() as u32;
    let corner = |b: u32| Vec3::new(f64::from(b & 1), f64::from(b >> 1 & 1), f64::from(b >> 2));
    vertices.extend((0..8).map(|b| Vec3::new(0.3, 0.02, 0.02) + corner(b) * 0.05));
    cells.push(Cell::Hexahedron(std::array::from_fn(|b| first + b as u32)));
    let found = violations(vertices.clone(), cells.clone());
    let lattice = Lattice::new(vertices, cells).expect("well-formed");
    let overlap = (found.iter())
        .find(|v| v.kind() == "overlap")
        .expect("overlaps");
    assert_eq!(overlap.condition(), 1);
    assert!(overlap.cells(&lattice).contains(&24));
}

/// A corner drawn through its cell breaks condition 4, with the cell and the corner.
#[test]
fn condition_4_names_cell_and_corner() {
    let (mut vertices, cells) = hexahedra();
    vertices[0] = Vec3::new(0.3, 0.05, 0.05);
    let found = violations(vertices, cells.clone());
    let lattice = Lattice::new(hexahedra().0, cells).expect("well-formed");
    let fault = found.iter().find(|v| v.condition() == 4).expect("inverted");
    assert_eq!(fault.cells(&lattice), [0]);
}

/// A tip on edges is followed by its bone; one beside edges is left out with a note.
#[test]
fn tips_on_edges_are_kept() {
    let (vertices, cells) = hexahedra();
    let lattice = Lattice::new(vertices, cells).expect("well-formed");
    let surface = arm::surface().expect("made");
    let skeleton = arm::skeleton().expect("made");
    let with = |end: Vec3, bone: u32| {
        let ends = [Vec3::x(), end];
        let settings = HandSettings {
            tips: vec![Tip { bone, ends }],
            ..Default::default()
        };
        lattice.for_character(&surface, &skeleton, None, &settings, &Silent)
    };
    let kept = with(Vec3::new(1.12, 0.0, 0.0), 1).expect("fits");
    assert_eq!(kept.bones().tip_bones, [1]);
    assert_eq!(kept.bones().chains[2], [9 * 5 + 4, 9 * 6 + 4]);
    assert!(kept.notes().is_empty());
    let lost = with(Vec3::new(1.05, 0.05, 0.05), 1).expect("fits");
    assert!(lost.bones().tip_bones.is_empty() && lost.notes()[0].contains("lower"));
    assert!(matches!(
        with(Vec3::x(), 2),
        Err(LatticeError::TipBone { .. })
    ));
    assert_eq!(
        with(Vec3::repeat(f64::NAN), 1).err(),
        Some(LatticeError::TipEnds(0))
    );
}

/// The enclosed lattice of a biped survives the way through its faces: same cells, same bones, its legs doubled again.
#[test]
fn enclosed_lattice_comes_back() {
    let c = character(&biped(), 0.05);
    let settings = EncloseSettings {
        cells_across: 9.0,
        ..EncloseSettings::default()
    };
    let lattice = Lattice::enclose(&c.surface, &c.skeleton, Some(&c.skin), settings, &Silent)
        .expect("encloses");
    let (vertices, faces) = lattice.face_mesh();
    let bare = Lattice::from_faces(&vertices, &faces).expect("read");
    let places = |l: &Lattice| -> std::collections::BTreeSet<Vec<[u64; 3]>> {
        let of = |c: usize| {
            let mut x: Vec<[u64; 3]> = (l.corners(c as u32).iter())
                .map(|x| <[u64; 3]>::from(x.map(f64::to_bits)))
                .collect();
            x.sort_unstable();
            x
        };
        (0..l.cells().len()).map(of).collect()
    };
    assert!(places(&bare).is_superset(&places(&lattice)));
    assert!(places(&bare).len() <= places(&lattice).len() + 2);
    let bones = lattice.bones();
    let end = |chain: &Vec<u32>, last: bool| {
        let v = if last { chain.last() } else { chain.first() };
        lattice.vertices()[*v.expect("not empty") as usize]
    };
    let tips = bones.chains[bones.used_bones.len()..].iter();
    let tips = tips.zip(&bones.tip_bones).map(|(chain, &bone)| Tip {
        bone,
        ends: [end(chain, false), end(chain, true)],
    });
    let settings = HandSettings {
        tips: tips.collect(),
        ..Default::default()
    };
    let again = bare
        .for_character(&c.surface, &c.skeleton, Some(&c.skin), &settings, &Silent)
        .expect("fits");
    assert_eq!(again.bones().used_bones, bones.used_bones);
    assert_eq!(again.bones().tip_bones, bones.tip_bones);
    let copies = |l: &Lattice| l.cells().len() - places(l).len();
    assert!(copies(&lattice) > 0);
    assert!(copies(&again) > 0);
    assert_eq!(again.check(&c.surface, &c.skeleton), []);
}
