// SPDX-License-Identifier: MIT OR Apache-2.0
//! Files and pickled bytes of modes, shells, motions, lattices, tetrahedral meshes and colliders.

use crate::files::{file_of, scratch, seeds_of, written};
use crate::targets::{brick, use_mesh};
use std::path::Path;
use std::sync::Arc;
use thew::Vec3;
use thew::contact::{Collider, ColliderMotion};
use thew::elasticity::Material;
use thew::lattice::Lattice;
use thew::modal::{ModalSystem, Modes};
use thew::progress::Silent;
use thew::shell::{Shell, ShellMaterial};
use thew::spacetime::{SpaceSettings, Spacetime, SpacetimeSettings};
use thew::store;
use thew::tets::{MassKind, TetMesh};

/// Kinds, by the first byte of an input.
const KINDS: [&str; 6] = ["modes", "shell", "spacetime", "lattice", "tets", "collider"];

pub fn stored_file(bytes: &[u8]) {
    let Some((&kind, rest)) = bytes.split_first() else {
        return;
    };
    let kind = KINDS[usize::from(kind) % KINDS.len()];
    let Some(file) = file_of(kind, rest) else {
        return;
    };
    let name = Path::new("the bytes");
    match kind {
        "modes" => {
            if let Ok(modes) = Modes::load(&written(kind, &file)) {
                let _ = (
                    modes.frequencies(),
                    modes.displacements(&vec![0.1; modes.len()], true),
                );
            }
        }
        "shell" => {
            if let Ok(shell) = Shell::load(&written(kind, &file)) {
                let _ = (
                    shell.energy(shell.rest()),
                    shell.hessian(shell.rest()),
                    shell.report(),
                );
            }
        }
        "spacetime" => {
            if let Ok(motion) = Spacetime::load(&written(kind, &file)) {
                let _ = (
                    motion.positions(&[0.0, 0.3, 9.0]),
                    motion.cost(),
                    motion.ghosts(),
                );
            }
        }
        "lattice" => {
            if let Ok(lattice) = store::from_bytes::<Lattice>(name, kind, &file) {
                let _ = lattice.embed(&[Vec3::zeros(), Vec3::repeat(0.4)]);
                let _ = (lattice.face_mesh(), lattice.copies());
            }
        }
        "tets" => {
            if let Ok(mesh) = store::from_bytes::<TetMesh>(name, kind, &file) {
                use_mesh(&mesh);
            }
        }
        _ => {
            if let Ok(collider) = store::from_bytes::<Collider>(name, kind, &file) {
                let _ = collider.part(&(0..3));
            }
        }
    }
}

pub fn stored_seeds() -> Vec<Vec<u8>> {
    let path = scratch("seed");
    let bar = TetMesh::grid([2, 1, 1], [2.0, 1.0, 1.0]).expect("a bar");
    let system =
        ModalSystem::for_tets(&bar, &Material::default(), MassKind::Consistent, &[0, 1, 2]);
    let modes = Modes::compute(&system.expect("a system"), 2, None, &Silent).expect("modes");
    let corner = |x: f64, y: f64| Vec3::new(x, y, 0.1 * x * y);
    let corners = vec![
        corner(0.0, 0.0),
        corner(1.0, 0.0),
        corner(1.0, 1.0),
        corner(0.0, 1.0),
    ];
    let faces = vec![[0, 1, 2], [0, 2, 3]];
    let shell = Shell::new(corners.clone(), faces, &ShellMaterial::default()).expect("a shell");
    let larger = corners.iter().map(|x| x * 1.2).collect();
    let keyframes = vec![corners.clone(), larger, corners];
    let options = SpaceSettings {
        full_below: 0,
        modes: 2,
        ..SpaceSettings::default()
    };
    let settings = SpacetimeSettings::default();
    let times = vec![0.0, 0.5, 1.0];
    let body = Arc::new(shell.clone());
    let motion = Spacetime::new(body, keyframes, times, settings, &options, &Silent);
    let surface = brick().surface().clone();
    let places = surface.vertices().to_vec();
    let motion_of = ColliderMotion::Deforming(vec![places; 2]);
    let collider = Collider::mesh(surface, motion_of).expect("a collider");
    let mut seeds = Vec::new();
    for (number, kind) in (0..).zip(KINDS) {
        let saved = match kind {
            "modes" => modes.save(&path),
            "shell" => shell.save(&path),
            "spacetime" => motion.as_ref().expect("a motion").save(&path),
            "lattice" => store::save(&path, kind, &**brick().lattice()),
            "tets" => store::save(&path, kind, &bar),
            _ => store::save(&path, kind, &collider),
        };
        saved.expect("it can be saved");
        let of_kind = seeds_of(&path).into_iter();
        seeds.extend(of_kind.map(|seed| [&[number][..], &seed].concat()));
    }
    seeds
}
