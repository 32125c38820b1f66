// SPDX-License-Identifier: MIT OR Apache-2.0
//! Lattices of slabs and tubes.

use super::*;
use crate::mrep::Boundary;
use crate::mrep::fixture::{ellipsoid, helix};

/// Returns whether all cells have positive volume.
fn is_valid(lattice: &Lattice) -> bool {
    (0..lattice.cells().len()).all(|c| {
        let cell = lattice.cells()[c];
        cell.volume(&lattice.corners(c as u32)) > 0.0
    })
}

/// Tubes and slabs are filled with valid cells that enclose their skin.
#[test]
fn figure_lattice_holds_skin() {
    for figure in [
        helix(7, 8),
        ellipsoid([2.0, 1.2, 0.6], 3, 7, 0.8),
        helix(4, 5),
    ] {
        for layers in [1, 2, 3] {
            let boundary = Boundary::new(&figure, 3).unwrap();
            let skin =
                Surface::new(boundary.positions(&figure), boundary.triangles.clone()).unwrap();
            let lattice = figure.lattice(None, layers, Some(&skin)).unwrap();
            assert!(is_valid(&lattice), "{:?} {layers}", figure.kind());
            assert!(skin.vertices().iter().all(|p| lattice.locate(*p).is_some()));
            let nobody = Skeleton::new(
                vec!["a".into()],
                vec![None],
                vec![Vec3::zeros()],
                vec![Vec3::x()],
            )
            .unwrap();
            let wrong = lattice.check(&skin, &nobody);
            assert!(wrong.is_empty(), "{:?} {layers}: {wrong:?}", figure.kind());
        }
    }
}

/// The lattice of a figure follows a similarity of it.
#[test]
fn figure_lattice_is_equivariant() {
    let turn = *nalgebra::Rotation3::new(Vec3::new(0.4, -1.1, 2.0)).matrix();
    let shift = Vec3::new(3.0, -1.0, 0.5);
    let figure = helix(5, 6);
    let here = figure.lattice(None, 2, None).unwrap();
    let there = figure
        .apply_similarity(0.2, &turn, shift)
        .lattice(None, 2, None)
        .unwrap();
    assert_eq!(here.cells(), there.cells());
    for (p, q) in here.vertices().iter().zip(there.vertices()) {
        assert!((turn * p * 0.2 + shift - q).norm() < 1e-9);
    }
}

/// Bones whose ends are hubs lie on edges of the lattice; other bones are not used.
#[test]
fn hub_bones_lie_on_edges() {
    let tube = helix(7, 6);
    let hubs: Vec<Vec3> = tube.atoms().iter().map(|a| a.hub).collect();
    // A bone from hub to hub is used; one that ends elsewhere is not.
    let names = ["one", "two", "away"].map(String::from).to_vec();
    let heads = vec![hubs[0], hubs[1], hubs[0]];
    let tails = vec![hubs[1], hubs[2], hubs[0] + Vec3::z()];
    let skeleton = Skeleton::new(names, vec![None, Some(0), None], heads, tails).unwrap();
    let lattice = tube.lattice(Some(&skeleton), 2, None).unwrap();
    assert_eq!(lattice.bones().used_bones, [0, 1]);
    assert_eq!(lattice.bones().chains, [[0, 1], [1, 2]]);
}

/// A skin that the lattice cannot cover is refused with an explanation.
#[test]
fn lattice_refuses_uncovered_skin() {
    let figure = helix(5, 6);
    let said = |layers: usize, covers: Option<&Surface>| {
        figure
            .lattice(None, layers, covers)
            .map(|_| ())
            .unwrap_err()
            .to_string()
    };
    assert!(said(0, None).contains("layers"));
    let far = crate::surface::shapes::sphere(30.0, 8);
    let far = Surface::new(far.vertices, far.triangles).unwrap();
    assert!(said(2, Some(&far)).contains("far beyond"));
    let mut atoms = figure.atoms().to_vec();
    atoms.iter_mut().for_each(|a| a.radius *= 6.0);
    let folded = Figure::tube(atoms).unwrap();
    assert!(
        folded
            .lattice(None, 2, None)
            .map(|_| ())
            .unwrap_err()
            .to_string()
            .contains("folds")
    );
}
