// SPDX-License-Identifier: MIT OR Apache-2.0
//! Relaxation of shapes, and the shell as an energy term.

use super::shapes::{fins, mesh_folder, perturb, read_obj, sheet, torus};
use crate::Vec3;
use crate::progress::Silent;
use crate::shell::{Shell, ShellError, ShellMaterial, ShellTerm};
use crate::solve::Configuration;
use crate::solve::nodal::norm;

fn shell((vertices, triangles): (Vec<Vec3>, Vec<[u32; 3]>)) -> Shell {
    // The weights below are chosen for a unit of 1.
    let material = ShellMaterial {
        unit: Some(1.0),
        ..ShellMaterial::default()
    };
    Shell::new(vertices, triangles, &material).unwrap()
}

/// Returns the norm of the total gradient, as a share of the forces that balance in it.
fn residual_ratio(shell: &Shell, x: &[Vec3], y: &[Vec3], weight: f64) -> f64 {
    let mut g = vec![Vec3::zeros(); x.len()];
    shell.gradient(y, &mut g);
    let pull: Vec<Vec3> = (0..x.len())
        .map(|v| (y[v] - x[v]) * (2.0 * weight * shell.masses()[v]))
        .collect();
    let sum: Vec<Vec3> = g.iter().zip(&pull).map(|(g, p)| g + p).collect();
    norm(&sum) / norm(&pull)
}

/// Relaxing removes noise, and at the end the forces balance.
#[test]
fn relax_removes_noise() {
    for (mesh, by) in [
        (torus(40, 20), 0.01),
        (sheet([20, 20], [1.0, 1.0]), 0.01),
        (fins(), 0.05),
    ] {
        let shell = shell(mesh);
        let x = perturb(shell.rest(), by, 3);
        let weight = 10.0;
        let relaxed = shell.relax(&x, weight, None, &Silent).unwrap();
        assert!(
            relaxed.converged && relaxed.after < 0.05 * relaxed.before,
            "{}",
            relaxed.after / relaxed.before
        );
        assert_eq!(
            (relaxed.before, relaxed.after),
            (shell.energy(&x), shell.energy(&relaxed.positions))
        );
        assert!(residual_ratio(&shell, &x, &relaxed.positions, weight) < 1e-5);
        let far = relaxed
            .positions
            .iter()
            .zip(&x)
            .map(|(y, x)| (y - x).norm())
            .fold(0.0, f64::max);
        assert!((far - relaxed.largest_move).abs() < 1e-12 && far > 0.0);
    }
}

/// A larger weight moves vertices less and leaves more energy.
#[test]
fn relax_weight_limits_motion() {
    let shell = shell(torus(30, 16));
    let x = perturb(shell.rest(), 0.02, 3);
    let all =
        [1e-2, 1.0, 1e2, 1e4, 1e6].map(|weight| shell.relax(&x, weight, None, &Silent).unwrap());
    let moved = |y: &[Vec3]| -> f64 {
        let square = |v: usize| shell.masses()[v] * (y[v] - x[v]).norm_squared();
        (0..x.len()).map(square).sum()
    };
    for pair in all.windows(2) {
        assert!(pair[0].after < pair[1].after);
        assert!(moved(&pair[0].positions) > moved(&pair[1].positions));
    }
    // A small weight lets the shape relax to rest; a large one holds it where it was.
    assert!(all[0].after < 1e-3 * all[0].before && all[4].after > 0.5 * all[4].before);
}

/// Fixed vertices stay exactly, and a shape with all vertices fixed is unchanged.
#[test]
fn relax_keeps_fixed_vertices() {
    let shell = shell(sheet([12, 12], [1.0, 1.0]));
    let x = perturb(shell.rest(), 0.02, 3);
    let fixed: Vec<bool> = (0..x.len()).map(|v| v % 3 == 0).collect();
    let relaxed = shell.relax(&x, 1.0, Some(&fixed), &Silent).unwrap();
    assert!(relaxed.after < relaxed.before);
    for (v, fixed) in fixed.iter().enumerate() {
        assert_eq!(*fixed, relaxed.positions[v] == x[v]);
    }
    let still = shell
        .relax(&x, 1.0, Some(&vec![true; x.len()]), &Silent)
        .unwrap();
    assert_eq!((still.positions, still.after), (x, still.before));
}

/// Crumpled, folded and crushed shapes come out with less energy.
#[test]
fn relax_lowers_crumpled_shapes() {
    let shell = shell(sheet([14, 14], [1.0, 1.0]));
    let rest = shell.rest();
    let edge = 1.0 / 14.0;
    let middle = rest.len() / 2;
    let folded = rest
        .iter()
        .map(|x| Vec3::new((x.x - 0.5).abs(), x.y, 1e-3 * x.x))
        .collect();
    let crumpled = perturb(rest, 2.0 * edge, 5);
    let crushed = rest.iter().map(|x| x * 1e-3).collect();
    let mut spike = rest.to_vec();
    spike[middle].z += 3.0;
    let mut inside_out = rest.to_vec();
    inside_out[middle].x += 3.0 * edge;
    for (name, x) in [
        ("folded", folded),
        ("crumpled", crumpled),
        ("crushed", crushed),
        ("spike", spike),
        ("inside out", inside_out),
    ] {
        for weight in [1e-3, 1.0, 1e3] {
            let relaxed = shell.relax(&x, weight, None, &Silent).unwrap();
            eprintln!(
                "{name} {weight}: {} to {}, {} steps, {}",
                relaxed.before, relaxed.after, relaxed.iterations, relaxed.converged
            );
            assert!(relaxed.after < relaxed.before, "{name} {weight}");
            assert!(
                relaxed
                    .positions
                    .iter()
                    .all(|x| x.iter().all(|x| x.is_finite()))
            );
        }
    }
}

/// Real meshes with noise come out with less energy.
#[test]
fn relax_lowers_noisy_meshes() {
    let Some(folder) = mesh_folder("meshes") else {
        eprintln!("left out: no data");
        return;
    };
    for (name, noise, share) in [
        ("wingnut", 0.03, 0.2),
        ("spot_low_resolution", 0.03, 1e-3),
        ("spot_low_resolution", 0.3, 1e-3),
    ] {
        let shell = shell(read_obj(&folder.join(format!("{name}.obj"))));
        // Independent noise of single vertices has a λ of about 1/length⁴ or above.
        let weight = 1e-2 / shell.rest.length.powi(4);
        let x = perturb(shell.rest(), noise * shell.rest.length, 3);
        let relaxed = shell.relax(&x, weight, None, &Silent).unwrap();
        let left = relaxed.after / relaxed.before;
        eprintln!(
            "{name}, noise {noise}: {left} in {} steps, {}",
            relaxed.iterations, relaxed.converged
        );
        assert!(left < share);
    }
}

/// Weights, positions and flags that are not valid are refused.
#[test]
fn relax_refuses_bad_input() {
    let shell = shell(sheet([4, 4], [1.0, 1.0]));
    let x = shell.rest().to_vec();
    for weight in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let told = shell
            .relax(&x, weight, None, &Silent)
            .unwrap_err()
            .to_string();
        assert!(
            told.starts_with("the weight that holds the shape is"),
            "{told}"
        );
    }
    assert!(matches!(
        shell.relax(&x[1..], 1.0, None, &Silent),
        Err(ShellError::Length { .. })
    ));
    assert!(matches!(
        shell.relax(&x, 1.0, Some(&[true]), &Silent),
        Err(ShellError::Length { .. })
    ));
    let mut bad = x.clone();
    bad[3].x = f64::NAN;
    assert!(matches!(
        shell.relax(&bad, 1.0, None, &Silent),
        Err(ShellError::Place { vertex: 3, .. })
    ));
    let stop = |_: f64, _: &str| false;
    assert!(matches!(
        shell.relax(&x, 1.0, None, &stop),
        Err(ShellError::Cancelled(_))
    ));
}

/// The gradient and Hessian of the shell as an energy term agree with differences of its energy.
#[test]
fn shell_term_derivatives_match() {
    let shell = shell(fins());
    let x = perturb(shell.rest(), 0.03, 6);
    let moves: Vec<Vec3> = x.iter().zip(shell.rest()).map(|(x, r)| x - r).collect();
    let held: Vec<bool> = (0..x.len()).map(|v| v % 5 == 1).collect();
    let pattern = shell.solve_pattern(&held).unwrap();
    let term = ShellTerm {
        shell: &shell,
        slots: pattern.entry_slots(),
        damping: 1e-3,
    };
    for (origin, displacements) in [(None, &x), (Some(shell.rest()), &moves)] {
        let at = Configuration {
            origin,
            displacements,
            increment: None,
        };
        crate::solve::term::tests::check_derivatives(&term, at, &pattern, 1e-5);
    }
}
