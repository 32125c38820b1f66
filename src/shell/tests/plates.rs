// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bending against the theory of plates.
//!
//! A sheet of equilateral triangles has the bending energy per area `k_B (3κ₁² + 3κ₂² − 2κ₁κ₂)`: that of an isotropic plate with
//! the rigidity `D = 6 k_B` and Poisson's ratio −1/3. Squares cut in two have `k_B (3κ_xx² + 3κ_yy² + 12κ_xy²)`, which is not
//! isotropic: bent along a diagonal they are half as stiff again.

use super::shapes::{IndexedMesh, sheet};
use crate::Vec3;
use crate::progress::Silent;
use crate::shell::{Shell, ShellMaterial};
use crate::solve::eigen::{EigenSettings, lowest_eigenpairs};
use crate::solve::{NodeMatrix, ScalarMatrix, matrix};
use std::f64::consts::PI;

fn bending_material(stretching: f64) -> ShellMaterial {
    ShellMaterial {
        stretching: stretching.into(),
        area: stretching.into(),
        unit: Some(1.0),
        ..ShellMaterial::default()
    }
}

/// Returns an equilateral triangle of side one, cut into `n²` triangles, and for each vertex whether it lies on the border.
fn equilateral_mesh(n: usize) -> (IndexedMesh, Vec<bool>) {
    let at = |i: usize, j: usize| (i * (2 * n + 3 - i) / 2 + j) as u32;
    let (mut vertices, mut border, mut triangles) = (Vec::new(), Vec::new(), Vec::new());
    for i in 0..=n {
        for j in 0..=n - i {
            let (u, v) = (i as f64 / n as f64, j as f64 / n as f64);
            vertices.push(Vec3::new(v + 0.5 * u, 0.75f64.sqrt() * u, 0.0));
            border.push(i == 0 || j == 0 || i + j == n);
            if i + j < n {
                triangles.push([at(i, j), at(i, j + 1), at(i + 1, j)]);
            }
            if i + j + 1 < n {
                triangles.push([at(i, j + 1), at(i + 1, j + 1), at(i + 1, j)]);
            }
        }
    }
    ((vertices, triangles), border)
}

/// Returns the bending energy per area of a sheet lifted to `½ κ(x, x)`. The area is that of the hinges, so that missing hinges at the
/// border do not count.
fn bending_energy_density((vertices, triangles): IndexedMesh, [xx, yy, xy]: [f64; 3]) -> f64 {
    const LIFT_SCALE: f64 = 1e-4;
    let shell = Shell::new(vertices, triangles, &bending_material(0.0)).unwrap();
    let lift = |x: &Vec3| 0.5 * (xx * x.x * x.x + yy * x.y * x.y) + xy * x.x * x.y;
    let x: Vec<Vec3> = shell
        .rest()
        .iter()
        .map(|x| Vec3::new(x.x, x.y, LIFT_SCALE * lift(x)))
        .collect();
    // A hinge has a third of the area of both its wings.
    let area: f64 = shell
        .mesh
        .wings
        .iter()
        .flatten()
        .map(|&face| shell.rest.faces[face as usize].rest / 3.0)
        .sum();
    shell.energy(&x) / (area * LIFT_SCALE * LIFT_SCALE)
}

/// Equilateral triangles bend like a plate with a Poisson's ratio of minus one third.
#[test]
fn equilateral_mesh_matches_plate() {
    for (kappa, wanted) in [
        ([1.0, 0.0, 0.0], 3.0),
        ([0.0, 1.0, 0.0], 3.0),
        // The same cylinder, turned.
        ([0.5, 0.5, 0.5], 3.0),
        ([0.75, 0.25, 0.75f64.sqrt() / 2.0], 3.0),
        // A bowl and saddles: 6 ∓ 2.
        ([1.0, 1.0, 0.0], 4.0),
        ([1.0, -1.0, 0.0], 8.0),
        ([0.0, 0.0, 1.0], 8.0),
    ] {
        // All three edge directions are equally frequent, and equally many are missing at the border.
        let found = bending_energy_density(equilateral_mesh(24).0, kappa);
        assert!(
            (found / wanted - 1.0).abs() < 1e-5,
            "{kappa:?}: {found}, not {wanted}"
        );
    }
}

/// Squares that are cut along one diagonal bend like a plate but are stiffer against twist.
#[test]
fn split_squares_resist_twist() {
    for (kappa, wanted) in [
        ([1.0, 0.0, 0.0], 3.0),
        ([0.0, 1.0, 0.0], 3.0),
        ([0.5, 0.5, 0.5], 4.5),
    ] {
        let n = 40;
        let found = bending_energy_density(sheet([n, n], [1.0, 1.0]), kappa);
        // At the border hinges of straight edges are missing, but not of diagonals: a share of about 1/n.
        assert!(
            (found / wanted - 1.0).abs() < 2.0 / n as f64,
            "{kappa:?}: {found}, not {wanted}"
        );
    }
}

/// The energy per area of a plate rolled to a cylinder of curvature c, with exact positions, converges to 3 c².
#[test]
fn cylinder_energy_converges() {
    let c = 1.7;
    let error = |n: usize, (vertices, triangles): IndexedMesh, axis: f64| {
        let shell = Shell::new(vertices, triangles, &bending_material(0.0)).unwrap();
        let (s, k) = axis.sin_cos();
        let x: Vec<Vec3> = shell
            .rest()
            .iter()
            .map(|x| {
                let (u, v) = (k * x.x + s * x.y, -s * x.x + k * x.y);
                let (sin, cos) = (c * u).sin_cos();
                Vec3::new(sin / c, v, (1.0 - cos) / c)
            })
            .collect();
        let area: f64 = shell.rest.faces.iter().map(|f| f.rest).sum();
        (shell.energy(&x) / area / (3.0 * c * c) - 1.0).abs() * n as f64
    };
    // The error is first order in the size of the triangles: a strip along the border has no hinges.
    for axis in [0.0, 0.3, 1.1] {
        let errors = [8, 16, 32, 64].map(|n| error(n, equilateral_mesh(n).0, axis));
        assert!(errors.iter().all(|e| *e < 3.0), "{errors:?}");
        assert!(errors[3] > 0.05, "the border is there: {errors:?}");
    }
    // Without a border across the bend, the error is of second order.
    for n in [8, 16, 32, 64] {
        let mesh = sheet([n, 4], [1.0, 0.5]);
        let missing = 1.0 / n as f64;
        let shell_error = error(n, mesh, 0.0) / n as f64;
        assert!(
            (shell_error - missing).abs() < 2.0 / (n * n) as f64,
            "{n}: {shell_error}"
        );
    }
}

/// Returns λ of the lowest modes over those of a simply supported plate of side one: `D/ρ · μ²`, where μ are Lamé's eigenvalues of the
/// membrane, `16π²/9 (m² + mn + n²)` with m, n from 1. For plates with straight borders the square is exact.
fn supported_frequencies(n: usize) -> Vec<f64> {
    let ((vertices, triangles), border) = equilateral_mesh(n);
    // In its plane the sheet is so stiff that all low modes are bending modes.
    let shell = Shell::new(vertices, triangles, &bending_material(1e3)).unwrap();
    let inner: Vec<u32> = (0..border.len() as u32)
        .filter(|&v| !border[v as usize])
        .collect();
    let k = shell.hessian(shell.rest()).restrict_to(&inner);
    let mut m: ScalarMatrix = matrix::zeros(inner.len(), []);
    let centres: Vec<Vec3> = inner.iter().map(|&v| shell.rest()[v as usize]).collect();
    for (i, &v) in inner.iter().enumerate() {
        m.add(i as u32, i as u32, shell.masses()[v as usize]);
    }
    let pairs = lowest_eigenpairs(&k, &m, &centres, &EigenSettings::new(6), &Silent).unwrap();
    assert!(pairs.verified);
    // (1,1), (1,2) and (2,1), (2,2), (1,3) and (3,1).
    let wanted =
        [3.0, 7.0, 7.0, 12.0, 13.0, 13.0].map(|s| 6.0 * (16.0 * PI * PI / 9.0 * s).powi(2));
    pairs
        .values
        .iter()
        .zip(wanted)
        .map(|(found, wanted)| (found / wanted).sqrt())
        .collect()
}

/// The frequencies of a supported triangle converge to those of a plate.
#[test]
fn supported_triangle_frequencies() {
    let ratios = [8, 16, 32].map(supported_frequencies);
    eprintln!("{ratios:?}");
    for mode in 0..6 {
        let off = [0, 1, 2].map(|i: usize| (ratios[i][mode] - 1.0).abs());
        assert!(off[2] < 0.02, "{ratios:?}");
        assert!(off[1] < 0.6 * off[0] && off[2] < 0.6 * off[1], "{ratios:?}");
    }
}
