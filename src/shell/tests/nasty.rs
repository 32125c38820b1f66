// SPDX-License-Identifier: MIT OR Apache-2.0
//! Degenerate meshes: finite numbers, or an error with one clear sentence.

use super::shapes::{mesh_folder, perturb, read_obj, sheet};
use crate::Vec3;
use crate::progress::Silent;
use crate::shell::{Shell, ShellError, ShellMaterial};

fn shell(vertices: Vec<Vec3>, triangles: Vec<[u32; 3]>) -> Result<Shell, ShellError> {
    Shell::new(vertices, triangles, &ShellMaterial::default())
}

/// Checks that all results are finite for several degenerate positions of the vertices.
fn check(shell: &Shell, name: &str) {
    let size = shell.rest.length;
    let rest = shell.rest();
    let places = [
        rest.to_vec(),
        perturb(rest, 0.3 * size, 1),
        perturb(rest, 30.0 * size, 2),
        vec![Vec3::zeros(); rest.len()],
        rest.iter().map(|x| Vec3::new(x.x, x.y, 0.0)).collect(),
        rest.iter().map(|x| Vec3::new(x.x, 0.0, 0.0)).collect(),
        rest.iter().map(|x| -x).collect(),
    ];
    assert!(
        shell.masses().iter().all(|m| m.is_finite() && *m > 0.0),
        "{name}"
    );
    for (i, x) in places.iter().enumerate() {
        let energy = shell.rounded_energy(x);
        assert!(
            energy.value.is_finite() && energy.value >= 0.0,
            "{name} {i}: {energy:?}"
        );
        assert!(i > 0 || energy.value == 0.0, "{name}: {energy:?} at rest");
        let mut g = vec![Vec3::zeros(); x.len()];
        shell.gradient(x, &mut g);
        assert!(
            g.iter().all(|g| g.iter().all(|x| x.is_finite())),
            "{name} {i}: gradient"
        );
        for k in [shell.hessian(x), shell.convex_hessian(x)] {
            let number = |b: &crate::Mat3| b.iter().all(|x| x.is_finite());
            assert!(k.data().iter().all(number), "{name} {i}: Hessian");
        }
    }
}

/// Every defective file gives finite numbers or an error.
#[test]
fn nasty_files_give_numbers_or_errors() {
    let Some(folder) = mesh_folder("nasty") else {
        eprintln!("left out: no data");
        return;
    };
    let mut paths: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|e| e.unwrap().path())
        .collect();
    paths.sort();
    let (mut good, mut bad) = (0, 0);
    for path in paths
        .iter()
        .filter(|p| p.extension().is_some_and(|e| e == "obj"))
    {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let (vertices, triangles) = read_obj(path);
        match shell(vertices, triangles) {
            Err(error) => {
                bad += 1;
                eprintln!("{name}: {error}");
            }
            Ok(shell) => {
                good += 1;
                eprintln!("{name}: {:?}", shell.report());
                check(&shell, &name);
                if shell.node_count() > 1500 {
                    continue;
                }
                let x = perturb(shell.rest(), 0.5 * shell.rest.length, 3);
                let weight = 0.1 * (shell.unit() / shell.rest.length).powi(4);
                let relaxed = shell.relax(&x, weight, None, &Silent).unwrap();
                assert!(relaxed.after < relaxed.before, "{name}: {relaxed:?}");
                let finite = |x: &Vec3| x.iter().all(|x| x.is_finite());
                assert!(relaxed.positions.iter().all(finite), "{name}");
            }
        }
    }
    assert!(good > 15 && bad > 3, "{good} {bad}");
}

/// Slivers, triangles without size and loose vertices are reported and do no harm.
#[test]
fn degenerate_parts_are_reported() {
    // A sheet, with an edge of no length, a triangle of no height, one of no size, one that names a vertex twice, a duplicate triangle,
    // a third triangle at an inner edge, and an unused vertex.
    let (mut vertices, mut triangles) = sheet([3, 3], [1.0, 1.0]);
    let n = vertices.len() as u32;
    let end = vertices[15];
    for x in [
        end,
        end + Vec3::x(),
        end + Vec3::x() * 0.4,
        end,
        end,
        Vec3::z() * 9.0,
        Vec3::new(0.2, 0.2, 0.8),
    ] {
        vertices.push(x);
    }
    triangles.extend([
        [15, n, n + 1],
        [15, n + 1, n + 2],
        [15, n + 3, n + 4],
        [0, 1, 0],
    ]);
    triangles.push(triangles[0]);
    triangles.push([triangles[0][0], triangles[0][2], n + 6]);
    let shell = shell(vertices, triangles).unwrap();
    check(&shell, "made");
    let told = shell.report().join(" ");
    for (count, what) in [
        (1, "triangle names a vertex twice"),
        (1, "triangle lies on another"),
        (1, "vertex belongs to no triangle"),
        (3, "triangles are thinner"),
    ] {
        assert!(told.contains(&format!("{count} {what}")), "{told}");
    }
    assert!(
        told.contains("more than two triangles") && told.contains("hardly any length"),
        "{told}"
    );
    // Loose vertices are parts of their own.
    let pieces = shell.pieces();
    assert_eq!(
        pieces
            .iter()
            .filter(|p| **p == pieces[n as usize + 5])
            .count(),
        1
    );
    assert_eq!(pieces[0], pieces[n as usize + 4]);
}

/// A mesh that cannot be a shell is refused with an explanation.
#[test]
fn shell_refuses_bad_meshes() {
    let three = vec![Vec3::zeros(), Vec3::x(), Vec3::y()];
    let refused = |x: &[Vec3], t: &[[u32; 3]]| shell(x.to_vec(), t.to_vec()).unwrap_err();
    assert_eq!(refused(&three, &[]), ShellError::Empty);
    assert_eq!(refused(&[], &[]), ShellError::Empty);
    assert_eq!(refused(&three, &[[0, 0, 1]]), ShellError::Empty);
    assert_eq!(
        refused(&three, &[[0, 1, 2], [0, 1, 3]]).to_string(),
        "triangle 1 uses vertex 3, but there are only 3: vertices count from 0"
    );
    assert_eq!(
        refused(&[Vec3::x(); 3], &[[0, 1, 2]]),
        ShellError::Extent(0.0)
    );
    for bad in [f64::NAN, f64::INFINITY, 1e13] {
        let mut x = three.clone();
        x[2].y = bad;
        assert_eq!(
            refused(&x, &[[0, 1, 2]]),
            ShellError::Place {
                what: "the mesh",
                vertex: 2
            }
        );
    }
    // Six thousand triangles at one edge: 18 million pairs.
    let mut x = three.clone();
    x.extend((0..6000).map(|i| Vec3::new(0.0, 1.0, i as f64)));
    let fan: Vec<[u32; 3]> = (3..6003).map(|v| [0, 1, v]).collect();
    let told = refused(&x, &fan).to_string();
    assert!(
        told.starts_with("edge 0 to 1 belongs to 6000 triangles"),
        "{told}"
    );
}

/// A sheet whose triangles occur twice is twice as heavy. It has four times as many hinges, and no hinge joins the two copies of a
/// triangle.
#[test]
fn doubled_sheet_masses_and_hinges() {
    let (vertices, mut triangles) = sheet([4, 3], [1.0, 1.0]);
    let one = shell(vertices.clone(), triangles.clone()).unwrap();
    triangles.extend(triangles.clone());
    let two = shell(vertices, triangles).unwrap();
    check(&two, "doubled");
    assert_eq!(two.mesh.edges.len(), one.mesh.edges.len());
    // Each of the two triangles on one side forms a hinge with each of the two on the other.
    assert_eq!(two.mesh.hinges.len(), 4 * one.mesh.hinges.len());
    for (a, b) in two.masses().iter().zip(one.masses()) {
        assert!((a / b - 2.0).abs() < 1e-12);
    }
}
