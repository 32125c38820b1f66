// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of the functions and the subdivision of every kind of cell.

use super::*;

fn examples() -> Vec<(Cell, Vec<Vec3>)> {
    let v = Vec3::new;
    let cube = |i: usize| v((i & 1) as f64, (i >> 1 & 1) as f64, (i >> 2 & 1) as f64);
    let warped = |i: usize| {
        let x = cube(i);
        v(
            x.x * (1.0 + 0.2 * x.z),
            x.y * (1.0 - 0.1 * x.x) + 0.1 * x.z,
            x.z * 1.3 + 0.15 * x.x * x.y,
        )
    };
    vec![
        (
            Cell::Tetrahedron([0, 1, 2, 3]),
            vec![
                v(0.1, 0.0, 0.0),
                v(1.0, 0.2, 0.0),
                v(0.0, 1.1, 0.0),
                v(0.2, 0.1, 0.9),
            ],
        ),
        (
            Cell::Prism([0, 1, 2, 3, 4, 5]),
            vec![
                v(0.0, 0.0, 0.0),
                v(1.0, 0.0, 0.1),
                v(0.0, 1.0, 0.0),
                v(0.1, 0.0, 1.0),
                v(0.9, 0.1, 1.2),
                v(0.1, 1.2, 1.1),
            ],
        ),
        (
            Cell::Hexahedron([0, 1, 2, 3, 4, 5, 6, 7]),
            (0..8).map(warped).collect(),
        ),
    ]
}

/// Shape functions sum to one, and `local_coordinates` inverts `position`.
#[test]
fn shape_functions_are_consistent() {
    for (cell, x) in examples() {
        for l in [
            [0.2, 0.3, 0.4],
            [0.05, 0.05, 0.05],
            [0.3, 0.3, 0.3],
            [0.0, 0.5, 0.2],
        ] {
            let l = Vec3::from(l);
            assert!((cell.shape_values(l).iter().sum::<f64>() - 1.0).abs() < 1e-14);
            let found = cell
                .local_coordinates(&x, cell.position(&x, l))
                .expect("inside");
            assert!((found - l).norm() < 1e-10, "{} {found} {l}", cell.name());
        }
    }
}

/// Extrapolated weights sum to one and reproduce the point.
#[test]
fn extrapolate_reproduces_point() {
    for (cell, x) in examples() {
        let p = Vec3::new(1.7, -0.4, 0.9);
        let s = cell
            .extrapolate(&x, p, cell.clamp(Vec3::new(1.4, -0.3, 0.6)))
            .expect("regular");
        assert!((weighted_position(&x, &s) - p).norm() < 1e-12);
        assert!((s.iter().sum::<f64>() - 1.0).abs() < 1e-12);
    }
}

/// Tetrahedra of a subdivision have positive volumes that add up to the cell's.
#[test]
fn subtetrahedra_fill_cell() {
    for (cell, x) in examples() {
        let volumes: Vec<f64> = (0..4)
            .map(|level| {
                cell.subtetrahedra(level)
                    .iter()
                    .map(|t| {
                        let y = t.map(|s| weighted_position(&x, &s));
                        let v = (y[1] - y[0]).cross(&(y[2] - y[0])).dot(&(y[3] - y[0])) / 6.0;
                        assert!(v > 0.0, "{} level {level}: {v}", cell.name());
                        v
                    })
                    .sum()
            })
            .collect();
        // Planar faces: exact at every level; warped ones converge with order two.
        let limit = volumes[3] + (volumes[3] - volumes[2]) / 3.0;
        for (level, v) in volumes.iter().enumerate().skip(1) {
            let bound = 0.02 * 0.26f64.powi(level as i32 - 1) + 1e-12;
            assert!((v - limit).abs() < bound, "{} {volumes:?}", cell.name());
        }
    }
}

/// Weights of a subdivision agree with the shape functions in closed form.
#[test]
fn subtetrahedra_weights_match_shape() {
    // The averaging rule at every new vertex gives the closed-form functions at the same point.
    for (cell, x) in examples() {
        for t in cell.subtetrahedra(2) {
            for s in t {
                let l = cell
                    .local_coordinates(&x, weighted_position(&x, &s))
                    .expect("inside");
                let direct = cell.shape_values(l);
                for (a, b) in s.iter().zip(direct) {
                    assert!((a - b).abs() < 1e-9, "{}", cell.name());
                }
            }
        }
    }
}

#[test]
fn faces_point_outward() {
    for (cell, x) in examples() {
        let centre: Vec3 = x.iter().sum::<Vec3>() / x.len() as f64;
        for f in cell.faces() {
            let n = (x[f[1]] - x[f[0]]).cross(&(x[f[2]] - x[f[0]]));
            let m: Vec3 = f.iter().map(|&i| x[i]).sum::<Vec3>() / f.len() as f64;
            assert!(n.dot(&(m - centre)) > 0.0, "{} {f:?}", cell.name());
        }
    }
}

/// Cells that are mirrored, flat or folded count as inverted; sound cells do not.
#[test]
fn is_inverted_detects_mirrored_cells() {
    let cube: Vec<Vec3> = (0..8)
        .map(|i| Vec3::new((i & 1) as f64, (i >> 1 & 1) as f64, (i >> 2) as f64))
        .collect();
    let cells = [
        Cell::Tetrahedron([0, 1, 2, 4]),
        Cell::Prism([0, 1, 2, 4, 5, 6]),
        Cell::Hexahedron([0, 1, 2, 3, 4, 5, 6, 7]),
    ];
    let mirrored: Vec<Vec3> = cube.iter().map(|p| Vec3::new(-p.x, p.y, p.z)).collect();
    let mut folded = cube.clone();
    folded[5] = Vec3::new(0.2, 0.1, -0.5);
    for cell in &cells {
        assert!(!cell.is_inverted(&cube));
        assert!(cell.is_inverted(&mirrored));
        assert!(cell.is_inverted(&[Vec3::zeros(); 8]));
    }
    assert!(!cells[0].is_inverted(&folded));
    assert!(cells[1].is_inverted(&folded));
    assert!(cells[2].is_inverted(&folded));
}
