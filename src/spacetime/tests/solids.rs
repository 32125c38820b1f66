// SPDX-License-Identifier: MIT OR Apache-2.0
//! Solids as deformable bodies: derivatives, and a changed rest shape against a body built from it.

use crate::Vec3;
use crate::elasticity::{ElasticModel, Material};
use crate::progress::Silent;
use crate::spacetime::{
    Deformable, ElasticSolid, SpaceSettings, Spacetime, SpacetimeError, SpacetimeSettings, Velocity,
};
use crate::tets::TetMesh;
use std::sync::Arc;

fn block() -> TetMesh {
    TetMesh::grid([2, 1, 1], [0.8, 0.3, 0.4]).unwrap()
}

/// Maps a point by a deformation that inverts no element.
fn deform_point(x: &Vec3) -> Vec3 {
    let bend = Vec3::new(0.1 * x.y, 0.3 * x.x * x.x, 0.2 * x.x * x.z - 0.1 * x.y);
    x * 1.2 + bend
}

fn material() -> Material {
    Material::new(2e3, 0.3, 900.0).unwrap()
}

/// A solid has the rest shape and mass of its mesh, and its gradient is that of its energy.
#[test]
fn solid_rests_at_its_mesh() {
    let mesh = block();
    let solid = ElasticSolid::from_tets(&mesh, &material(), ElasticModel::NeoHookean);
    assert_eq!(solid.rest(), mesh.vertices());
    let mass: f64 = solid.masses().iter().sum();
    assert!((mass - 900.0 * 0.8 * 0.3 * 0.4).abs() < 1e-9 * mass);
    assert!(solid.energy(mesh.vertices()).abs() < 1e-9);
    let x: Vec<Vec3> = mesh.vertices().iter().map(deform_point).collect();
    let gradient = solid.gradient(&x);
    let h = 1e-6;
    for v in 0..x.len() {
        for k in 0..3 {
            let at = |by: f64| {
                let mut x = x.clone();
                x[v][k] += by;
                solid.energy(&x)
            };
            let slope = (at(h) - at(-h)) / (2.0 * h);
            let size = 1.0 + slope.abs();
            assert!((gradient[v][k] - slope).abs() < 1e-5 * size, "{v} {k}");
        }
    }
}

/// A solid with a changed rest shape equals one that was built from that shape.
#[test]
fn at_rest_matches_new_solid() {
    let mesh = block();
    let there: Vec<Vec3> = mesh.vertices().iter().map(deform_point).collect();
    let built = TetMesh::new(there.clone(), mesh.tets().to_vec()).unwrap();
    for model in ElasticModel::ALL {
        let solid = ElasticSolid::from_tets(&mesh, &material(), model);
        let carried = solid.with_rest_shape(&there).unwrap();
        let built = ElasticSolid::from_tets(&built, &material(), model);
        let twice: Vec<Vec3> = there.iter().map(deform_point).collect();
        let (a, b) = (carried.energy(&twice), built.energy(&twice));
        assert!((a - b).abs() < 1e-9 * b.abs(), "{model:?}: {a} {b}");
        let pairs = [
            (
                solid.hessian_at_rest(&there).unwrap(),
                built.hessian(&there),
            ),
            (carried.hessian(&twice), built.hessian(&twice)),
        ];
        for (a, b) in pairs {
            let size = b.data().iter().map(|m| m.amax()).fold(0.0, f64::max);
            for (a, b) in a.data().iter().zip(b.data()) {
                assert!((a - b).amax() < 1e-9 * size, "{model:?}");
            }
        }
        assert_eq!(carried.rest(), there);
        assert_eq!(carried.masses(), solid.masses());
    }
}

/// Elements that the new rest shape inverts resist deformation as they did at their old rest.
#[test]
fn at_rest_handles_inverted_elements() {
    let mesh = block();
    let mirrored: Vec<Vec3> = mesh
        .vertices()
        .iter()
        .map(|x| Vec3::new(-x.x, x.y, x.z))
        .collect();
    let solid = ElasticSolid::from_tets(&mesh, &material(), ElasticModel::NeoHookean);
    let kept = solid.with_rest_shape(&mirrored).unwrap();
    // A deformation of the inverted shape takes as much energy as one of the original.
    let shift = |x: &[Vec3]| -> Vec<Vec3> {
        let by = mesh.vertices().iter().map(|x| deform_point(x) - x);
        x.iter().zip(by).map(|(x, u)| x + u).collect()
    };
    let (a, b) = (
        kept.energy(&shift(&mirrored)),
        solid.energy(&shift(mesh.vertices())),
    );
    assert!((a - b).abs() < 1e-9 * b, "{a} {b}");
}

/// A motion in a unit of length is that in metres, in numbers of that unit.
#[test]
fn motion_same_in_any_unit() {
    let motion = |unit: f64| -> (Vec<Vec3>, f64) {
        let scaled = |x: Vec<Vec3>| -> Vec<Vec3> { x.iter().map(|x| x / unit).collect() };
        let mesh = block();
        let keys = [1.0, -0.5].map(|share| {
            let bent = mesh.vertices().iter();
            scaled(bent.map(|x| x.lerp(&deform_point(x), share)).collect())
        });
        let rest = scaled(mesh.vertices().to_vec());
        let mesh = TetMesh::new(rest, mesh.tets().to_vec()).unwrap();
        let solid = ElasticSolid::from_tets(&mesh, &material(), ElasticModel::StVenantKirchhoff);
        let solid = solid.in_unit(unit).unwrap();
        let even = |v: Vec3| Velocity::Given(vec![v / unit; mesh.vertices().len()]);
        let settings = SpacetimeSettings {
            damping: (0.5, 1e-3),
            gravity: Vec3::new(0.0, 0.0, -9.81) / unit,
            velocities: [
                (0, even(Vec3::new(0.0, 0.2, 0.0))),
                (1, even(Vec3::zeros())),
            ]
            .into(),
            ..SpacetimeSettings::default()
        };
        let options = SpaceSettings::default();
        let (solid, keys, times) = (Arc::new(solid), keys.to_vec(), vec![0.0, 0.7]);
        let motion = Spacetime::new(solid, keys, times, settings, &options, &Silent).unwrap();
        let mut at = vec![0.0; 3 * mesh.vertices().len()];
        motion.positions_into(&[0.3], &mut at);
        let at = at.chunks_exact(3);
        let metres = at.map(|x| unit * Vec3::new(x[0].into(), x[1].into(), x[2].into()));
        (metres.collect(), unit * unit * motion.cost())
    };
    let (metres, cost) = motion(1.0);
    for unit in [0.01, 0.0254, 1000.0] {
        let (found, other) = motion(unit);
        // Positions are rounded to f32.
        for (a, b) in found.iter().zip(&metres) {
            assert!((a - b).amax() < 1e-5, "{unit}: {a} {b}");
        }
        assert!((other - cost).abs() < 1e-6 * cost, "{unit}: {other} {cost}");
    }
    let solid = ElasticSolid::from_tets(&block(), &material(), ElasticModel::StVenantKirchhoff);
    for unit in [0.0, -1.0, f64::NAN] {
        assert!(matches!(
            solid.in_unit(unit),
            Err(SpacetimeError::Setting { .. })
        ));
    }
}
