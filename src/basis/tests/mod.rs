// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of the functions on every kind of cell.

mod levels;

use super::*;
use crate::Mat3;
use crate::body::fixture::{BarOptions, FullSpace};
use crate::elasticity::{FleshDomain, Material, PaintMap, integrate, integrate_shares};
use crate::lattice::Cell;
use crate::progress::Silent;
use crate::solve::NodeMatrix;

/// Builds a hexahedron, a prism at its side and a tetrahedron on that: conforming cells with warped faces.
fn mixed_lattice() -> Arc<Lattice> {
    let x = [
        [0.0, 0.0, 0.0],
        [1.0, 0.0, 0.1],
        [0.0, 1.1, 0.0],
        [1.0, 1.0, 0.0],
        [0.1, 0.0, 1.0],
        [1.0, 0.1, 1.1],
        [0.0, 1.0, 1.2],
        [1.1, 1.0, 1.0],
        [2.0, 0.4, 0.1],
        [1.9, 0.5, 1.0],
        [1.4, 0.5, 2.0],
    ];
    let cells = vec![
        Cell::Hexahedron([0, 1, 2, 3, 4, 5, 6, 7]),
        Cell::Prism([1, 8, 3, 5, 9, 7]),
        Cell::Tetrahedron([5, 9, 7, 10]),
    ];
    Arc::new(Lattice::new(x.map(Vec3::from).to_vec(), cells).unwrap())
}

/// Builds its basis.
fn mixed_basis() -> Basis {
    Basis::new(mixed_lattice())
}

/// Returns points inside each cell.
fn inner_points(basis: &Basis) -> Vec<(u32, Vec3)> {
    let lattice = basis.lattice();
    let places = [[0.2, 0.3, 0.4], [0.1, 0.1, 0.1], [0.3, 0.2, 0.3]].map(Vec3::from);
    let of = |(c, cell): (u32, &Cell)| {
        let corners = lattice.corners(c);
        places.map(|l| (c, cell.position(&corners, l)))
    };
    (0u32..).zip(lattice.cells()).flat_map(of).collect()
}

/// The basis functions sum to one at every point, and the coefficients of the rest shape reproduce the point.
#[test]
fn functions_partition_unity() {
    let basis = mixed_basis();
    for (cell, x) in inner_points(&basis) {
        let row = basis.row(cell, x);
        assert!(
            row.iter()
                .map(|&(a, _)| a)
                .eq(basis.functions(cell).iter().copied())
        );
        assert!(row.iter().map(|&(_, w)| w).eq(basis.values(cell, x)));
        assert!((row.iter().map(|&(_, w)| w).sum::<f64>() - 1.0).abs() < 1e-12);
        let place: Vec3 = row
            .iter()
            .map(|&(a, w)| basis.rest_shape()[a as usize] * w)
            .sum();
        assert!((place - x).norm() < 1e-12);
    }
}

/// Each basis function is one at its own centre and zero at the centres of all others.
#[test]
fn functions_are_nodal() {
    let basis = mixed_basis();
    for (cell, functions) in (0u32..).zip(basis.all_functions()) {
        for &a in functions {
            for (b, value) in basis.row(cell, basis.centres()[a as usize]) {
                let wanted = f64::from(u8::from(a == b));
                assert!((value - wanted).abs() < 1e-9, "{cell} {a} {b}: {value}");
            }
        }
    }
}

/// The row of basis values at a point equals the point's row in an embedding.
#[test]
fn row_equals_embedding() {
    let body = BarOptions {
        hexahedra: true,
        ..Default::default()
    }
    .build();
    for basis in [&mixed_basis(), body.basis()] {
        let points: Vec<Vec3> = inner_points(basis).into_iter().map(|(_, x)| x).collect();
        let embedding = basis.embed(&points);
        for (i, x) in points.iter().enumerate() {
            let row = basis.row(embedding.cells()[i], *x);
            let row = row.iter().map(|&(a, w)| (a as usize, w));
            assert!(embedding.row(i).eq(row));
        }
    }
}

/// The gradients of a piece equal the differences of the basis values along its edges.
#[test]
fn piece_gradients_match_differences() {
    let basis = mixed_basis();
    for level in 0..3 {
        let subdivision = basis.subdivision(level);
        for (cell, functions) in (0u32..).zip(basis.all_functions()) {
            for piece in subdivision.pieces(cell) {
                assert_eq!(piece.gradients.len(), functions.len());
                let sum: Vec3 = piece.gradients.iter().sum();
                assert!(sum.norm() < 1e-11);
                for (a, gradient) in piece.gradients.iter().enumerate() {
                    for k in 1..4 {
                        let edge = piece.corners[k] - piece.corners[0];
                        let change = piece.values[k][a] - piece.values[0][a];
                        assert!((gradient.dot(&edge) - change).abs() < 1e-12);
                    }
                }
                // The rest shape has the identity as its gradient.
                let rest = functions.iter().map(|&a| basis.rest_shape()[a as usize]);
                let map: Mat3 = rest
                    .zip(&piece.gradients)
                    .map(|(x, g)| x * g.transpose())
                    .sum();
                assert!((map - Mat3::identity()).norm() < 1e-10);
            }
        }
    }
}

/// The pieces of a cell fill its volume, and their corner values equal the basis functions there.
#[test]
fn pieces_fill_cells() {
    let basis = mixed_basis();
    for level in 0..3 {
        let subdivision = basis.subdivision(level);
        for (cell, kind) in (0u32..).zip(basis.lattice().cells()) {
            let volume: f64 = subdivision.pieces(cell).iter().map(|p| p.volume).sum();
            let whole = kind.volume(&basis.lattice().corners(cell));
            // Warped faces are cut differently at every level.
            assert!((volume / whole - 1.0).abs() < 0.05, "{volume} {whole}");
            for piece in subdivision.pieces(cell) {
                for (x, values) in piece.corners.iter().zip(&*piece.values) {
                    let found = basis.values(cell, *x);
                    let off = found.iter().zip(values).map(|(a, b)| (a - b).abs());
                    assert!(off.fold(0.0, f64::max) < 1e-9);
                }
            }
        }
    }
}

/// The mass matrix has full rank at every level of subdivision.
#[test]
fn mass_matrix_has_full_rank() {
    let basis = mixed_basis();
    let material = Material::default();
    for level in 0..3 {
        let cells = integrate(
            &basis,
            &FullSpace,
            &material,
            &PaintMap::Plain,
            level,
            &Silent,
        )
        .unwrap();
        let mut mass = nalgebra::DMatrix::<f64>::zeros(basis.len(), basis.len());
        for (functions, cell) in basis.all_functions().zip(&cells) {
            let mut pair = 0;
            for (i, &a) in functions.iter().enumerate() {
                for (j, &b) in functions.iter().enumerate().skip(i) {
                    let (a, b) = (a as usize, b as usize);
                    mass[(a, b)] += cell.mass[pair];
                    if i != j {
                        mass[(b, a)] += cell.mass[pair];
                    }
                    pair += 1;
                }
            }
        }
        let scale = mass.diagonal().map(|m| m.sqrt().recip());
        let scaled = nalgebra::DMatrix::from_fn(basis.len(), basis.len(), |a, b| {
            mass[(a, b)] * scale[a] * scale[b]
        });
        assert_eq!(scaled.rank(1e-6), basis.len(), "level {level}");
    }
}

/// Supports, links and the matrix pattern agree on which functions share a cell.
#[test]
fn links_join_functions_sharing_cells() {
    let basis = mixed_basis();
    let supports = basis.supports();
    for (a, cells) in (0u32..).zip(&supports) {
        for (cell, functions) in (0u32..).zip(basis.all_functions()) {
            assert_eq!(cells.contains(&cell), functions.contains(&a));
        }
    }
    let matrix = basis.matrix();
    let shared = |a: u32, b: u32| {
        basis
            .all_functions()
            .any(|f| f.contains(&a) && f.contains(&b))
    };
    for a in 0..basis.len() as u32 {
        let row = &matrix.indices()[matrix.row_range(a as usize)];
        for b in 0..basis.len() as u32 {
            assert_eq!(row.contains(&b), shared(a, b));
        }
    }
    let links = basis.links();
    assert!(links.is_sorted() && links.iter().all(|&(a, b)| a != b && shared(a, b)));
    assert!(links.iter().all(|&(a, b)| links.contains(&(b, a))));
}

/// Two bases are equal if their lattices are equal, and different if the lattices differ.
#[test]
fn equality_follows_lattice() {
    let (one, other) = (mixed_basis(), mixed_basis());
    assert!(one == other && one == one.clone());
    let body = BarOptions::default().build();
    assert!(&one != body.basis());
}
