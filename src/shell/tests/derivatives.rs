// SPDX-License-Identifier: MIT OR Apache-2.0
//! Gradients and Hessians against finite differences, on synthetic and real meshes.

use super::shapes::{IndexedMesh, fins, mesh_folder, perturb, read_obj, sheet, torus};
use crate::Vec3;
use crate::shell::{Shell, ShellMaterial};
use crate::solve::NodeMatrix;
use crate::solve::nodal::norm;

fn material() -> ShellMaterial {
    ShellMaterial {
        stretching: 3.0.into(),
        area: 2.0.into(),
        bending: 0.7.into(),
        density: 1.5.into(),
        unit: Some(1.0),
    }
}

fn shell((vertices, triangles): IndexedMesh) -> Shell {
    Shell::new(vertices, triangles, &material()).unwrap()
}

fn gradient(shell: &Shell, x: &[Vec3]) -> Vec<Vec3> {
    let mut g = vec![Vec3::zeros(); x.len()];
    shell.gradient(x, &mut g);
    g
}

fn dot(a: &[Vec3], b: &[Vec3]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a.dot(b)).sum()
}

/// Compares derivatives with finite differences along random directions at a perturbed shape; `size` is the length scale of the mesh.
fn check(shell: &Shell, size: f64, seed: u64) {
    let x = perturb(shell.rest(), 0.1 * size, seed);
    let zero = vec![Vec3::zeros(); x.len()];
    for way in 0..3 {
        let d = perturb(&zero, 1.0, 100 + 10 * seed + way);
        let h = 1e-5 * size;
        let moved =
            |s: f64| -> Vec<Vec3> { x.iter().zip(&d).map(|(x, d)| x + d * (s * h)).collect() };
        let five =
            |f: &dyn Fn(f64) -> f64| (8.0 * (f(1.0) - f(-1.0)) - (f(2.0) - f(-2.0))) / (12.0 * h);
        let g = gradient(shell, &x);
        let difference = five(&|s| shell.energy(&moved(s)));
        assert!(
            (difference - dot(&g, &d)).abs() < 1e-7 * norm(&g) * norm(&d),
            "gradient"
        );
        let mut product = zero.clone();
        shell.hessian(&x).times(&d, &mut product);
        let g = [-2.0, -1.0, 1.0, 2.0].map(|s| gradient(shell, &moved(s)));
        let off: Vec<Vec3> = (0..x.len())
            .map(|v| {
                let difference = ((g[2][v] - g[1][v]) * 8.0 - (g[3][v] - g[0][v])) / (12.0 * h);
                difference - product[v]
            })
            .collect();
        assert!(
            norm(&off) < 1e-7 * norm(&product),
            "{} of {}",
            norm(&off),
            norm(&product)
        );
    }
}

/// Gradient and Hessian agree with differences of the energy on sheets, rings and fins.
#[test]
fn derivatives_match_energy_on_shapes() {
    for (seed, mesh) in [sheet([5, 4], [1.0, 0.8]), torus(12, 8), fins()]
        .into_iter()
        .enumerate()
    {
        let shell = shell(mesh);
        check(&shell, 0.2, seed as u64);
    }
}

/// Gradient and Hessian agree with differences of the energy on real meshes.
#[test]
fn derivatives_match_energy_on_meshes() {
    let Some(folder) = mesh_folder("meshes") else {
        eprintln!("left out: no data");
        return;
    };
    for (seed, name) in ["spot_low_resolution", "torus", "goathead"]
        .iter()
        .enumerate()
    {
        let shell = shell(read_obj(&folder.join(format!("{name}.obj"))));
        check(&shell, shell.rest.length, seed as u64);
    }
}

/// At rest the energy and all forces are zero.
#[test]
fn rest_has_no_energy() {
    for mesh in [sheet([5, 4], [1.0, 0.8]), torus(12, 8), fins()] {
        let shell = shell(mesh);
        assert_eq!(shell.energy(shell.rest()), 0.0);
        let g = gradient(&shell, shell.rest());
        assert!(g.iter().all(|g| *g == Vec3::zeros()));
    }
}

/// The convex Hessian equals the exact one at rest and is positive semi-definite elsewhere.
#[test]
fn convex_hessian_is_semidefinite() {
    for mesh in [sheet([3, 4], [1.0, 0.8]), torus(6, 5), fins()] {
        let shell = shell(mesh);
        let same = shell.hessian(shell.rest());
        assert!(same == shell.convex_hessian(shell.rest()));
        for (by, seed) in [(0.05, 1), (0.5, 2), (3.0, 3)] {
            let x = perturb(shell.rest(), by, seed);
            let lowest = |convex: bool| {
                let k = if convex {
                    shell.convex_hessian(&x)
                } else {
                    shell.hessian(&x)
                };
                let n = 3 * x.len();
                let mut dense = nalgebra::DMatrix::zeros(n, n);
                k.visit_pairs(&mut |a, b| {
                    dense
                        .view_mut((3 * a, 3 * b), (3, 3))
                        .copy_from(k.get(a, b).unwrap());
                });
                assert!(dense == dense.transpose(), "not symmetric");
                let values = dense.symmetric_eigenvalues();
                values.min() / values.amax()
            };
            assert!(lowest(true) > -1e-13, "{by}: {}", lowest(true));
            assert!(lowest(false) < -1e-6);
        }
    }
}
