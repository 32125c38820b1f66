// SPDX-License-Identifier: MIT OR Apache-2.0
//! Filled surfaces: shapes made by code, and every mesh in `THEW_DATA` (default `../shared/data`), which is filled or
//! refused with a sentence; the tetrahedral meshes there are read.

use rayon::prelude::*;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use thew::Vec3;
use thew::progress::Silent;
use thew::surface::Surface;
use thew::tets::{FillSettings, MeshRepairs, TetError, TetMesh};

fn fill_settings(cells_across: f64) -> FillSettings {
    FillSettings {
        cells_across: Some(cells_across),
        ..FillSettings::default()
    }
}

/// Builds a surface of revolution about the z axis from radius by height, with both ends closed by a point.
fn lathe(profile: &[(f64, f64)], around: u32) -> (Vec<Vec3>, Vec<[u32; 3]>) {
    let n = profile.len() as u32;
    let mut x = Vec::new();
    for &(r, z) in profile {
        for j in 0..around {
            let a = std::f64::consts::TAU * f64::from(j) / f64::from(around);
            x.push(Vec3::new(r * a.cos(), r * a.sin(), z));
        }
    }
    let mut t = Vec::new();
    for i in 0..n - 1 {
        for j in 0..around {
            let at = |i: u32, j: u32| i * around + j % around;
            let (a, b, c, d) = (at(i, j), at(i, j + 1), at(i + 1, j + 1), at(i + 1, j));
            t.extend([[a, b, c], [a, c, d]]);
        }
    }
    (x, t)
}

/// Builds a ball whose poles are rings of width zero.
fn ball(radius: f64) -> (Vec<Vec3>, Vec<[u32; 3]>) {
    let angle = |i: u32| std::f64::consts::PI * f64::from(i) / 24.0;
    let profile: Vec<(f64, f64)> = (0..=24)
        .map(|i| (radius * angle(i).sin().abs(), -radius * angle(i).cos()))
        .collect();
    lathe(&profile, 48)
}

fn build_surface((x, t): (Vec<Vec3>, Vec<[u32; 3]>)) -> Surface {
    Surface::new(x, t).unwrap()
}

/// Returns the smallest and the largest dihedral angle of a mesh, degrees.
fn dihedral_range(mesh: &TetMesh) -> (f64, f64) {
    let (mut least, mut most) = (180.0f64, 0.0f64);
    for t in 0..mesh.tets().len() {
        let x = mesh.corners(t);
        let normal = |a: usize, b: usize, c: usize| (x[b] - x[a]).cross(&(x[c] - x[a])).normalize();
        let n = [
            normal(1, 2, 3),
            normal(0, 3, 2),
            normal(0, 1, 3),
            normal(0, 2, 1),
        ];
        for i in 0..4 {
            for j in 0..i {
                let angle = (-n[i].dot(&n[j])).clamp(-1.0, 1.0).acos().to_degrees();
                (least, most) = (least.min(angle), most.max(angle));
            }
        }
    }
    (least, most)
}

/// Asserts the conditions of every filled mesh.
fn check_mesh(name: &str, mesh: &TetMesh) {
    assert!(
        TetMesh::new(mesh.vertices().to_vec(), mesh.tets().to_vec()).is_ok(),
        "{name}"
    );
    let (least, most) = dihedral_range(mesh);
    assert!(least > 5.0 && most < 170.0, "{name}: {least} to {most}");
    let mut faces: BTreeMap<[u32; 3], u32> = BTreeMap::new();
    for t in mesh.tets() {
        for skip in 0..4 {
            let mut key: Vec<u32> = (0..4).filter(|&k| k != skip).map(|k| t[k]).collect();
            key.sort_unstable();
            *faces.entry([key[0], key[1], key[2]]).or_default() += 1;
        }
    }
    assert!(faces.values().all(|&n| n <= 2), "{name}");
    let single = faces.values().filter(|&&n| n == 1).count();
    assert_eq!(mesh.surface_triangles().len(), single, "{name}");
}

/// The mesh of a ball keeps its volume and comes nearer to the surface with more cells.
#[test]
fn ball_fill_converges() {
    let ball = build_surface(ball(1.0));
    let mut before = f64::INFINITY;
    for cells in [8.0, 16.0, 32.0] {
        let mesh = TetMesh::fill(&ball, fill_settings(cells), &Silent).unwrap();
        check_mesh("ball", &mesh);
        assert_eq!(mesh.components(), 1);
        approx::assert_relative_eq!(mesh.volume(), ball.volume(), max_relative = 0.005);
        let edge = ball.size() / cells;
        let boundary = mesh.surface_triangles();
        let far = boundary
            .iter()
            .flatten()
            .map(|&v| ball.signed_distance(mesh.vertices()[v as usize]).abs())
            .fold(0.0, f64::max);
        // The margin is of the order of edge²/8 over the radius.
        assert!(far < 0.25 * edge * edge, "{far} {edge}");
        assert!(far < before);
        before = far;
        // Inertia as of a ball: the mass lies where it should.
        let inertia: f64 = mesh
            .tets()
            .iter()
            .enumerate()
            .map(|(t, _)| {
                let x = mesh.corners(t);
                let volume = (x[1] - x[0]).cross(&(x[2] - x[0])).dot(&(x[3] - x[0])) / 6.0;
                let sum: Vec3 = x.iter().sum();
                let squares: f64 = x.iter().map(|x| x.norm_squared()).sum();
                volume / 20.0 * (squares + sum.norm_squared())
            })
            .sum();
        approx::assert_relative_eq!(inertia, 0.8 * std::f64::consts::PI, max_relative = 0.04);
    }
}

/// The same input gives the same mesh, also scaled by powers of two, and a mesh far away has nearly as many nodes.
#[test]
fn fill_is_deterministic() {
    let (x, t) = ball(1.0);
    let stretched: Vec<Vec3> = x
        .iter()
        .map(|x| Vec3::new(x.x, 0.6 * x.y, 1.7 * x.z + 0.3 * x.x))
        .collect();
    let fill = |map: &dyn Fn(&Vec3) -> Vec3| {
        let x = stretched.iter().map(map).collect();
        TetMesh::fill(
            &Surface::new(x, t.clone()).unwrap(),
            fill_settings(14.0),
            &Silent,
        )
        .unwrap()
    };
    let mesh = fill(&|x| *x);
    assert_eq!(mesh, fill(&|x| *x));
    for scale in [2f64.powi(-20), 2f64.powi(30)] {
        let scaled = fill(&|x| x * scale);
        assert_eq!(scaled.tets(), mesh.tets());
        for (a, b) in scaled.vertices().iter().zip(mesh.vertices()) {
            assert!((a / scale - b).norm() < 1e-12);
        }
    }
    let far = fill(&|x| x + Vec3::repeat(1e6));
    check_mesh("far", &far);
    approx::assert_relative_eq!(far.volume(), mesh.volume(), max_relative = 1e-3);
    let counts = far.vertices().len() as f64 / mesh.vertices().len() as f64;
    assert!((counts - 1.0).abs() < 0.02, "{counts}");
}

/// A body with mirror symmetry gives a mesh with the same symmetry.
#[test]
fn fill_is_mirror_symmetric() {
    // An ellipsoid from an octahedron: symmetric to the last bit, as a ring of rings is not.
    let mut x: Vec<Vec3> = Vec::new();
    let mut t: Vec<[u32; 3]> = Vec::new();
    let n = 12;
    for octant in 0..8u32 {
        let sign = |k: u32| if octant >> k & 1 == 1 { -1.0 } else { 1.0 };
        let at = |i: u32, j: u32| {
            let p = Vec3::new(f64::from(i), f64::from(j), f64::from(n - i - j)).normalize();
            Vec3::new(1.3 * sign(0) * p.x, 0.8 * sign(1) * p.y, sign(2) * p.z)
        };
        let mut push = |a: Vec3, b: Vec3, c: Vec3| {
            let first = x.len() as u32;
            let outward = (b - a).cross(&(c - a)).dot(&(a + b + c)) > 0.0;
            x.extend(if outward { [a, b, c] } else { [a, c, b] });
            t.push([first, first + 1, first + 2]);
        };
        for i in 0..n {
            for j in 0..n - i {
                push(at(i, j), at(i + 1, j), at(i, j + 1));
                if i + j + 1 < n {
                    push(at(i + 1, j), at(i + 1, j + 1), at(i, j + 1));
                }
            }
        }
    }
    let mesh = TetMesh::fill(&build_surface((x, t)), fill_settings(11.0), &Silent).unwrap();
    let mut places: Vec<[i64; 3]> = Vec::new();
    let key = |x: &Vec3| -> [i64; 3] { std::array::from_fn(|k| (x[k] * 1e3).round() as i64) };
    places.extend(mesh.vertices().iter().map(key));
    places.sort_unstable();
    let near = |x: Vec3| {
        let k = key(&x);
        (0..27).any(|i| {
            let at = [k[0] + i % 3 - 1, k[1] + i / 3 % 3 - 1, k[2] + i / 9 - 1];
            places.binary_search(&at).is_ok()
        })
    };
    for axis in 0..3 {
        let alone = mesh.vertices().iter().filter(|x| {
            let mut y = **x;
            y[axis] = -y[axis];
            !near(y)
        });
        assert_eq!(alone.count(), 0, "axis {axis}");
    }
}

/// The mesh meets a wanted number of nodes within a few per cent.
#[test]
fn fill_meets_node_count() {
    let ball = build_surface(ball(1.0));
    for nodes in [363, 400, 552, 1883] {
        let options = FillSettings {
            nodes: Some(nodes),
            ..FillSettings::default()
        };
        let mesh = TetMesh::fill(&ball, options, &Silent).unwrap();
        check_mesh("wanted", &mesh);
        let ratio = mesh.vertices().len() as f64 / nodes as f64;
        assert!((ratio - 1.0).abs() < 0.05, "{nodes}: {ratio}");
    }
}

/// Parts that a thin rod connects stay connected, and separate pieces are reported.
#[test]
fn fill_keeps_thin_links() {
    // Two balls with a rod between them, much thinner than a cell.
    let angle = |i: u32| std::f64::consts::PI * f64::from(i) / 24.0;
    let mut profile: Vec<(f64, f64)> = (0..24)
        .map(|i| (angle(i).sin(), -2.0 - angle(i).cos()))
        .collect();
    profile.retain(|p| p.1 < -1.5 || p.0 > 0.06);
    profile.extend((0..=20).map(|i| (0.06, -1.0 + 0.1 * f64::from(i))));
    let mut other: Vec<(f64, f64)> = profile.iter().take(22).map(|p| (p.0, -p.1)).collect();
    other.reverse();
    profile.extend(other);
    let dumbbell = build_surface(lathe(&profile, 32));
    for cells in [9.0, 12.0, 17.0, 30.0] {
        let mesh = TetMesh::fill(&dumbbell, fill_settings(cells), &Silent).unwrap();
        check_mesh("dumbbell", &mesh);
        assert_eq!(mesh.components(), 1, "{cells}: {:?}", mesh.notes());
        approx::assert_relative_eq!(mesh.volume(), dumbbell.volume(), max_relative = 0.02);
    }
    // Two balls that touch nowhere are two.
    let (mut x, mut t) = ball(1.0);
    let n = x.len() as u32;
    t.extend(t.clone().iter().map(|t| t.map(|v| v + n)));
    x.extend(x.clone().iter().map(|x| x + Vec3::x() * 3.0));
    let mesh = TetMesh::fill(&build_surface((x, t)), fill_settings(16.0), &Silent).unwrap();
    assert_eq!(mesh.components(), 2);
    assert!(
        mesh.notes().iter().any(|n| n.contains("2 separate pieces")),
        "{:?}",
        mesh.notes()
    );
}

/// A body that cannot be filled is refused with a sentence.
#[test]
fn fill_refuses_with_sentence() {
    let thin = build_surface(lathe(
        &[(0.0, 0.0), (1.0, 0.0), (1.0, 0.003), (0.0, 0.003)],
        24,
    ));
    let refused = TetMesh::fill(&thin, fill_settings(12.0), &Silent).unwrap_err();
    assert!(matches!(refused, TetError::Unfillable(_)), "{refused}");
    assert!(refused.to_string().contains("more cells"), "{refused}");
    let ball = build_surface(ball(1.0));
    for wrong in [1.0, 1e9, f64::NAN, -3.0] {
        let refused = TetMesh::fill(&ball, fill_settings(wrong), &Silent).unwrap_err();
        assert!(matches!(refused, TetError::CellsAcross(_)));
    }
    for nodes in [0, 3, usize::MAX] {
        let options = FillSettings {
            nodes: Some(nodes),
            ..FillSettings::default()
        };
        assert_eq!(
            TetMesh::fill(&ball, options, &Silent),
            Err(TetError::Nodes(nodes))
        );
    }
    let stop = |fraction: f64, _: &str| fraction < 0.3;
    let refused = TetMesh::fill(&ball, fill_settings(12.0), &stop).unwrap_err();
    assert!(matches!(refused, TetError::Cancelled(_)));
}

fn data_folder() -> PathBuf {
    let default = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data");
    std::env::var_os("THEW_DATA").map_or(default, PathBuf::from)
}

/// Returns the files of a folder with an extension by name, or an empty list if the folder is missing.
fn data_files(folder: &str, ending: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(data_folder().join(folder))
        .into_iter()
        .flatten();
    let mut paths: Vec<PathBuf> = entries.flatten().map(|e| e.path()).collect();
    paths.retain(|p| p.extension().is_some_and(|e| e == ending));
    paths.sort();
    paths
}

/// Reads vertices and faces of an OBJ file as fans of triangles.
fn read_obj(path: &Path) -> (Vec<Vec3>, Vec<[u32; 3]>) {
    let text = String::from_utf8_lossy(&std::fs::read(path).unwrap()).into_owned();
    let (mut x, mut t) = (Vec::new(), Vec::new());
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let number = |i: usize| {
            words
                .get(i)
                .and_then(|w| w.parse().ok())
                .unwrap_or(f64::NAN)
        };
        match words.first() {
            Some(&"v") => x.push(Vec3::new(number(1), number(2), number(3))),
            Some(&"f") => {
                let index = |w: &&str| match w.split('/').next().and_then(|w| w.parse::<i64>().ok())
                {
                    Some(i) if i > 0 => (i - 1) as u32,
                    Some(i) if i < 0 => (x.len() as i64 + i) as u32,
                    _ => u32::MAX,
                };
                let face: Vec<u32> = words[1..].iter().map(index).collect();
                t.extend((2..face.len()).map(|k| [face[0], face[k - 1], face[k]]));
            }
            _ => {}
        }
    }
    (x, t)
}

/// The closed meshes of the data set are filled with their volume and stay in one piece.
#[test]
fn data_meshes_are_filled() {
    for path in data_files("meshes", "obj") {
        let (x, t) = read_obj(&path);
        let surface = Surface::new(x, t).unwrap();
        for cells in [12.0, 24.0] {
            let name = format!("{} at {cells}", path.display());
            let mesh = TetMesh::fill(&surface, fill_settings(cells), &Silent).unwrap();
            check_mesh(&name, &mesh);
            approx::assert_relative_eq!(mesh.volume(), surface.volume(), max_relative = 0.06);
            if surface.report().components == 1 {
                assert_eq!(mesh.components(), 1, "{name}: {:?}", mesh.notes());
            }
        }
    }
}

/// Meshes with defects are filled or refused with a sentence.
#[test]
fn nasty_meshes_fill_or_explain() {
    // Few take long, each on one thread.
    data_files("nasty", "obj").par_iter().for_each(|path| {
        let (x, t) = read_obj(path);
        let Ok(surface) = Surface::new(x, t) else {
            return;
        };
        for options in [
            fill_settings(12.0),
            FillSettings {
                nodes: Some(120),
                ..fill_settings(12.0)
            },
        ] {
            match TetMesh::fill(&surface, options, &Silent) {
                Ok(mesh) => check_mesh(&path.display().to_string(), &mesh),
                Err(e) => assert!(
                    matches!(e, TetError::Unfillable(_)),
                    "{}: {e}",
                    path.display()
                ),
            }
        }
    });
}

/// The tetrahedral meshes of the data set agree between their file formats.
#[test]
fn data_tet_formats_agree() {
    for path in data_files("tetmeshes", "mesh") {
        let medit = TetMesh::read(&path, MeshRepairs::default()).unwrap();
        let tetgen = TetMesh::read(&path.with_extension("ele"), MeshRepairs::default()).unwrap();
        assert_eq!(medit.tets(), tetgen.tets(), "{}", path.display());
        for (a, b) in medit.vertices().iter().zip(tetgen.vertices()) {
            assert!((a - b).norm() < 1e-6 * medit.size());
        }
    }
    for path in data_files("tetmeshes", "veg") {
        let mesh = TetMesh::read(&path, MeshRepairs::default()).unwrap();
        assert_eq!(mesh.components(), 1, "{}", path.display());
        assert!(mesh.cubes().is_empty() || mesh.tets().len() == 6 * mesh.cubes().len());
        // The cubes of these files are all alike: so must be their volumes.
        if let Some(first) = mesh.cubes().first() {
            let x = |c: usize| mesh.vertices()[first[c] as usize];
            let one = (x(1) - x(0)).cross(&(x(2) - x(0))).dot(&(x(4) - x(0)));
            let all = one * mesh.cubes().len() as f64;
            approx::assert_relative_eq!(mesh.volume(), all, max_relative = 1e-4);
        }
    }
}
