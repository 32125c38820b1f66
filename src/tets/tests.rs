// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of tetrahedral meshes: refusals, repairs, volumes, masses and splits against exact values.

use super::*;

fn unit_tetrahedron() -> (Vec<Vec3>, Vec<[u32; 4]>) {
    (
        vec![Vec3::zeros(), Vec3::x(), Vec3::y(), Vec3::z()],
        vec![[0, 1, 2, 3]],
    )
}

fn enclosed_volume(vertices: &[Vec3], triangles: &[[u32; 3]]) -> f64 {
    let corner = |v: u32| vertices[v as usize];
    triangles
        .iter()
        .map(|&[a, b, c]| corner(a).dot(&corner(b).cross(&corner(c))) / 6.0)
        .sum()
}

/// Bad vertices and tetrahedra are refused, and the error gives their number.
#[test]
fn mesh_refuses_bad_input() {
    let (x, t) = unit_tetrahedron();
    let refused = |x: &[Vec3], t: &[[u32; 4]]| TetMesh::new(x.to_vec(), t.to_vec()).unwrap_err();
    assert_eq!(refused(&x, &[]), TetError::Empty);
    assert_eq!(refused(&[], &[]), TetError::Empty);
    let mut bad = x.clone();
    bad[2].y = f64::NAN;
    bad[3].y = f64::INFINITY;
    assert_eq!(
        refused(&bad, &t),
        TetError::NonFinite {
            vertex: 2,
            count: 2
        }
    );
    assert!(matches!(
        refused(&x, &[[0, 1, 2, 3], [0, 1, 2, 4]]),
        TetError::OutOfRange {
            tet: 1,
            vertex: 4,
            count: 4
        }
    ));
    assert_eq!(
        refused(&x, &[[0, 1, 2, 1]]),
        TetError::Repeated { tet: 0, vertex: 1 }
    );
    let (tet, count, total) = (1, 2, 3);
    assert_eq!(
        refused(&x, &[[0, 1, 2, 3], [1, 0, 2, 3], [0, 1, 3, 2]]),
        TetError::Inverted { tet, count, total }
    );
    let mut more = x.clone();
    more.push(Vec3::new(0.3, 0.3, 1e-12));
    let (tet, count, total) = (1, 1, 2);
    assert_eq!(
        refused(&more, &[[0, 1, 2, 3], [0, 1, 2, 4]]),
        TetError::Flat { tet, count, total }
    );
    assert_eq!(
        refused(&more, &t),
        TetError::Unused {
            vertex: 4,
            count: 1
        }
    );
    let huge: Vec<Vec3> = x.iter().map(|x| x * 1e200).collect();
    assert!(matches!(refused(&huge, &t), TetError::Extent(_)));
    let speck: Vec<Vec3> = x.iter().map(|x| x * 1e-60).collect();
    assert!(matches!(refused(&speck, &t), TetError::Extent(_)));
}

/// The test for flat tetrahedra depends neither on scale nor on place.
#[test]
fn flatness_test_ignores_scale() {
    let (x, t) = unit_tetrahedron();
    for scale in [1e-40, 1e-6, 1.0, 1e6, 1e40] {
        let moved: Vec<Vec3> = x.iter().map(|x| (x + Vec3::repeat(3.0)) * scale).collect();
        assert!(TetMesh::new(moved, t.clone()).is_ok());
    }
    let far: Vec<Vec3> = x.iter().map(|x| x + Vec3::repeat(1e6)).collect();
    let mesh = TetMesh::new(far, t).unwrap();
    approx::assert_relative_eq!(mesh.volume(), 1.0 / 6.0, max_relative = 1e-9);
}

/// Repairs orient tetrahedra and drop unused vertices only if the options request it.
#[test]
fn repairs_follow_options() {
    let (mut x, _) = unit_tetrahedron();
    x.insert(1, Vec3::repeat(7.0));
    let t = vec![[0, 2, 4, 3]];
    let both = MeshRepairs {
        orient: true,
        drop_unused: true,
    };
    let mesh = TetMesh::with_repairs(x.clone(), t.clone(), both).unwrap();
    assert_eq!(
        (mesh.vertices().len(), mesh.tets()),
        (4, &[[0, 1, 2, 3]][..])
    );
    let orient = MeshRepairs {
        orient: true,
        ..MeshRepairs::default()
    };
    assert!(matches!(
        TetMesh::with_repairs(x.clone(), t.clone(), orient),
        Err(TetError::Unused { vertex: 1, .. })
    ));
    let drop = MeshRepairs {
        drop_unused: true,
        ..MeshRepairs::default()
    };
    assert!(matches!(
        TetMesh::with_repairs(x, t, drop),
        Err(TetError::Inverted { .. })
    ));
}

/// A bar of cubes has the exact counts, volume, surface and mass.
#[test]
fn grid_measures_are_exact() {
    let mesh = TetMesh::grid([10, 2, 2], [1.0, 0.2, 0.2]).unwrap();
    assert_eq!((mesh.vertices().len(), mesh.tets().len()), (99, 240));
    assert_eq!(mesh.cubes().len(), 40);
    approx::assert_relative_eq!(mesh.volume(), 0.04, max_relative = 1e-12);
    let surface = mesh.surface_triangles();
    assert_eq!(surface.len(), 2 * (2 * 2 * 2 + 4 * 10 * 2));
    approx::assert_relative_eq!(
        enclosed_volume(mesh.vertices(), &surface),
        0.04,
        max_relative = 1e-12
    );
    assert_eq!(mesh.components(), 1);
    let material = Material::new(1e5, 0.4, 1000.0).unwrap();
    for kind in ["consistent", "lumped"] {
        let mass = mesh.mass_matrix(&material, kind.parse().unwrap());
        approx::assert_relative_eq!(mass.data().iter().sum::<f64>(), 40.0, max_relative = 1e-12);
        // A uniform motion has the same momentum either way.
        let ones = vec![Vec3::x(); 99];
        let total: f64 = (0..99).map(|i| mass.row_times(i, &ones).x).sum();
        approx::assert_relative_eq!(total, 40.0, max_relative = 1e-12);
    }
    assert_eq!(
        mesh.mass_matrix(&material, MassKind::Lumped).data().len(),
        99
    );
    assert!("heavy".parse::<MassKind>().is_err());
}

/// The tetrahedra of neighbouring cubes meet in whole faces for any numbering.
#[test]
fn cubes_split_conformingly() {
    // A 3x2x2 grid with its vertices numbered at random and its cubes turned at random.
    let grid = TetMesh::grid([3, 2, 2], [3.0, 2.0, 2.0]).unwrap();
    let n = grid.vertices().len();
    for seed in 1..20u64 {
        let mut state = seed;
        let mut random = |n: usize| {
            state = state
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            ((state >> 33) as usize) % n
        };
        let mut order: Vec<u32> = (0..n as u32).collect();
        for i in (1..n).rev() {
            order.swap(i, random(i + 1));
        }
        let mut vertices = vec![Vec3::zeros(); n];
        for (i, &to) in order.iter().enumerate() {
            vertices[to as usize] = grid.vertices()[i];
        }
        // Turn about x or y: a permutation of the corners that keeps the orientation.
        let about_x = [2, 3, 6, 7, 0, 1, 4, 5];
        let about_y = [4, 0, 6, 2, 5, 1, 7, 3];
        let cubes: Vec<[u32; 8]> = grid
            .cubes()
            .iter()
            .map(|c| {
                let mut c = c.map(|v| order[v as usize]);
                for _ in 0..random(6) {
                    let turn = if random(2) == 0 { about_x } else { about_y };
                    c = turn.map(|k| c[k]);
                }
                c
            })
            .collect();
        let mesh = TetMesh::from_cubes(vertices, cubes).unwrap();
        assert_eq!(mesh.tets().len(), 72);
        // Conforming: only the outer faces are single.
        assert_eq!(
            mesh.surface_triangles().len(),
            2 * 2 * (3 * 2 + 3 * 2 + 2 * 2)
        );
        approx::assert_relative_eq!(mesh.volume(), 12.0, max_relative = 1e-12);
    }
}

/// Inverted cubes, unknown vertices and impossible grids are refused, and the error names them.
#[test]
fn bad_cubes_are_named() {
    let grid = TetMesh::grid([2, 1, 1], [2.0, 1.0, 1.0]).unwrap();
    let mut cubes = grid.cubes().to_vec();
    cubes[1].swap(0, 1);
    cubes[1].swap(2, 3);
    cubes[1].swap(4, 5);
    cubes[1].swap(6, 7);
    let refused = TetMesh::from_cubes(grid.vertices().to_vec(), cubes.clone()).unwrap_err();
    assert!(
        matches!(refused, TetError::Cube { cube: 1, .. }),
        "{refused}"
    );
    cubes[1][3] = 99;
    let refused = TetMesh::from_cubes(grid.vertices().to_vec(), cubes).unwrap_err();
    assert!(refused.to_string().contains("vertex 99"), "{refused}");
    assert!(matches!(
        TetMesh::grid([0, 1, 1], [1.0; 3]),
        Err(TetError::Grid { .. })
    ));
    assert!(matches!(
        TetMesh::grid([usize::MAX, 9, 9], [1.0; 3]),
        Err(TetError::TooLarge { .. })
    ));
}

/// Separate pieces are counted, and a point is embedded in the tetrahedron that contains it.
#[test]
fn mesh_counts_and_embeds_pieces() {
    let (mut x, mut t) = unit_tetrahedron();
    x.extend(unit_tetrahedron().0.iter().map(|x| x + Vec3::repeat(5.0)));
    t.push([4, 5, 6, 7]);
    let mesh = TetMesh::new(x, t).unwrap();
    assert_eq!(mesh.components(), 2);
    let lattice = mesh.lattice().unwrap();
    let p = [Vec3::new(0.2, 0.3, 0.1), Vec3::new(5.2, 5.3, 5.1)];
    let embedding = lattice.embed(&p);
    assert_eq!(embedding.cells(), [0, 1]);
    for (i, p) in p.iter().enumerate() {
        assert!((embedding.position(i, mesh.vertices()) - p).norm() < 1e-12);
    }
}
