// SPDX-License-Identifier: MIT OR Apache-2.0
//! A lattice taken apart into arrays and given back makes the same body.

use crate::common::{Character, biped, character};
use std::sync::Arc;
use thew::body::{Body, BodySettings};
use thew::elasticity::Material;
use thew::lattice::{EncloseSettings, Lattice, LatticeError};
use thew::progress::Silent;

fn enclose(c: &Character) -> Lattice {
    let settings = EncloseSettings {
        cells_across: 9.0,
        ..EncloseSettings::default()
    };
    Lattice::enclose(&c.surface, &c.skeleton, Some(&c.skin), settings, &Silent).expect("encloses")
}

/// Rebuilds a lattice from its arrays, without the owners of the flesh.
fn rebuild_lattice(lattice: &Lattice) -> Lattice {
    let (vertices, cells) = (lattice.vertices().to_vec(), lattice.cells().to_vec());
    Lattice::with_bones(vertices, cells, lattice.bones().clone()).expect("valid")
}

/// Returns the body in numbers: the bones of its vertices, the volumes of its cells, its matrices.
fn body_numbers(c: &Character, lattice: Lattice) -> Vec<f64> {
    let options = BodySettings {
        region_weights: Some(c.skin.clone()),
        ..Default::default()
    };
    let body = Body::new(
        &Arc::new(c.surface.clone()),
        &Arc::new(c.skeleton.clone()),
        &Arc::new(lattice),
        Material::default(),
        &options,
        &Silent,
    )
    .expect("a body");
    let held = body.bone_of_vertex().iter();
    let mut all: Vec<f64> = held.map(|b| b.map_or(-1.0, f64::from)).collect();
    all.extend(body.blocks().volumes());
    all.extend(body.mass().data());
    all.extend(body.stiffness(true).data());
    all
}

/// A lattice that is rebuilt with its copies gives the same body.
#[test]
fn copies_restore_body() {
    let c = character(&biped(), 0.05);
    let lattice = enclose(&c);
    let copies = lattice.copies().expect("legs in one cell");
    let again = rebuild_lattice(&lattice)
        .with_copies(&copies)
        .expect("fits");
    let without = body_numbers(&c, rebuild_lattice(&lattice));
    let (first, second) = (body_numbers(&c, lattice), body_numbers(&c, again));
    assert_eq!(first, second);
    // The flesh of the legs would go to one of them.
    assert_ne!(first, without);
}

/// Copies of another lattice are refused.
#[test]
fn copies_refuse_other_lattice() {
    let c = character(&biped(), 0.05);
    let lattice = enclose(&c);
    let copies = lattice.copies().expect("legs in one cell");
    let fewer = lattice.cells()[1..].to_vec();
    let other = Lattice::new(lattice.vertices().to_vec(), fewer).expect("valid");
    assert_eq!(
        other.clone().with_copies(&copies).err(),
        Some(LatticeError::Copies)
    );
    let half = &copies[..copies.len() / 2];
    assert_eq!(other.with_copies(half).err(), Some(LatticeError::Copies));
    assert!(rebuild_lattice(&lattice).with_copies(&[]).is_err());
}

/// The bones of a bare lattice are found again by their places.
#[test]
fn bones_by_place_match() {
    let c = character(&biped(), 0.05);
    let lattice = enclose(&c);
    let bones = lattice.bones();
    let bare = Lattice::new(lattice.vertices().to_vec(), lattice.cells().to_vec()).expect("valid");
    let found = bare.find_bone_chains(&c.skeleton);
    assert_eq!(found.used_bones, bones.used_bones);
    assert_eq!(found.chains, bones.chains[..bones.used_bones.len()]);
    for (v, bone) in found.bone_of_vertex.iter().enumerate() {
        let heads = found.chains.iter().filter(|chain| chain[0] as usize == v);
        // Which of several heads at one point drives it the skin decides.
        if bone.is_some() && heads.count() < 2 {
            assert_eq!(*bone, bones.bone_of_vertex[v], "vertex {v}");
        }
    }
}
