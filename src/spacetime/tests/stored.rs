// SPDX-License-Identifier: MIT OR Apache-2.0
//! Motions come back from files with all their changes and move to the same bits.

use super::*;
use crate::Vec3;
use crate::disk::tests::TestFolder;
use crate::elasticity::{ElasticModel, Material};
use crate::progress::Silent;
use crate::store::StoreError;
use crate::tets::TetMesh;
use std::path::Path;
use std::sync::Arc;

/// Returns a motion with all kinds of changes.
fn changed_motion(options: &SpaceSettings) -> Spacetime {
    let mut motion = strip_motion(options);
    let shape: Vec<Vec3> = strip().1[1].iter().map(|x| x * 1.05).collect();
    motion.insert(0.7, &shape, &Silent).unwrap();
    motion.reshape(1, &shape).unwrap();
    motion.soften(2, Some(3.0)).unwrap();
    let position = strip().1[0][3] + Vec3::new(0.0, 0.05, 0.1);
    motion
        .add_partial(0.9, vec![3], vec![position], None)
        .unwrap();
    let dropped = motion
        .add_partial(1.0, vec![4], vec![position], Some(2.0))
        .unwrap();
    motion.drop_partial(dropped).unwrap();
    let velocities = [(1, Velocity::Given(vec![Vec3::new(0.2, -0.1, 0.4); 12]))];
    let settings = SpacetimeSettings {
        damping: (0.1, 1e-3),
        velocities: velocities.into_iter().collect(),
        ..ringing_settings()
    };
    motion.update(None, Some(settings)).unwrap();
    motion
}

fn assert_same(again: &Spacetime, motion: &Spacetime) {
    let times: Vec<f64> = (-3..40).map(|i| 0.05 * f64::from(i)).collect();
    assert_eq!(again.positions(&times), motion.positions(&times));
    assert_eq!(
        again.cubic_positions(&times),
        motion.cubic_positions(&times)
    );
    assert_eq!(again.cost().to_bits(), motion.cost().to_bits());
    assert_eq!(again.partial_misses(), motion.partial_misses());
    assert_eq!(again.settings(), motion.settings());
    assert_eq!(again.notes(), motion.notes());
}

/// A changed motion of a shell comes back from its file, and can be changed further alike.
#[test]
fn changed_motion_comes_back() {
    let folder = TestFolder::new();
    let path = folder.0.join("motion.thew");
    let reduced = SpaceSettings {
        full_below: 0,
        modes: 3,
        ..SpaceSettings::default()
    };
    for options in [kept_rigid_space(), SpaceSettings::default(), reduced] {
        let mut motion = changed_motion(&options);
        motion.save(&path).unwrap();
        let mut again = Spacetime::load(&path).unwrap();
        assert_same(&again, &motion);
        for motion in [&mut motion, &mut again] {
            let shape: Vec<Vec3> = strip().1[2].iter().map(|x| x * 0.97).collect();
            motion.insert(1.2, &shape, &Silent).unwrap();
            let position = strip().1[0][5];
            motion
                .add_partial(1.1, vec![5], vec![position], Some(1.0))
                .unwrap();
        }
        assert_same(&again, &motion);
    }
}

/// A motion of a solid comes back from its bytes.
#[test]
fn solid_motion_comes_back() {
    let mesh = TetMesh::grid([2, 1, 1], [0.8, 0.3, 0.4]).unwrap();
    let material = Material::new(2e3, 0.3, 900.0).unwrap();
    let solid = ElasticSolid::from_tets(&mesh, &material, ElasticModel::StVenantKirchhoff);
    let bent = |x: &Vec3| x * 1.1 + Vec3::new(0.0, 0.2 * x.x * x.x, 0.0);
    let shapes = vec![
        mesh.vertices().to_vec(),
        mesh.vertices().iter().map(bent).collect(),
    ];
    let settings = SpacetimeSettings::default();
    let options = SpaceSettings::default();
    let body = Arc::new(solid.in_unit(0.5).unwrap());
    let motion = Spacetime::new(body, shapes, vec![0.0, 1.0], settings, &options, &Silent);
    let motion = motion.unwrap();
    let name = Path::new("a motion");
    let bytes = motion.to_bytes(name).unwrap();
    assert_same(&Spacetime::from_bytes(name, &bytes).unwrap(), &motion);
}

/// Bytes of a motion that were cut, or changed behind a valid checksum, are refused or give a motion, and never a panic.
#[test]
fn damaged_motion_is_refused() {
    let name = Path::new("a motion");
    let bytes = changed_motion(&kept_rigid_space()).to_bytes(name).unwrap();
    for length in [0, 10, 39, 40, 200, bytes.len() - 1] {
        assert!(Spacetime::from_bytes(name, &bytes[..length]).is_err());
    }
    let folder = TestFolder::new();
    let path = folder.0.join("motion.thew");
    for at in (40..bytes.len()).step_by(97) {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x55;
        let mut sum = crc32fast::Hasher::new();
        sum.update(&damaged[..36]);
        sum.update(&damaged[40..]);
        damaged[36..40].copy_from_slice(&sum.finalize().to_le_bytes());
        std::fs::write(&path, &damaged).unwrap();
        if let Err(error) = Spacetime::load(&path) {
            assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
        }
    }
}
