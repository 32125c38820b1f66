// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bodies with some of the functions of another one: their matrices, pieces and sizes.

use super::*;
use crate::surface::shapes::Random;

/// The matrices of a subset are rows and columns of the whole body's, whatever its elements.
#[test]
fn subset_picks_rows_and_columns() {
    for hexahedra in [false, true] {
        let whole = soft_bar(hexahedra).build();
        let mut random = Random(7);
        let coarse = whole.basis().coarse_len() as u32;
        for kept in [0.0, 0.1, 0.5] {
            let details = coarse..whole.node_count() as u32;
            // Details of one end of the bar only, so that elements of all sizes occur.
            let chosen = details
                .filter(|&a| whole.basis().centres()[a as usize].z < 0.8 && random.next() < kept);
            let set = whole.basis().coarse_set().with_details(chosen).unwrap();
            let part = whole.with_active(&set, None).unwrap();
            assert_eq!(part.node_count(), set.count());
            assert!((part.volume() / whole.volume() - 1.0).abs() < 1e-12);
            let functions: Vec<u32> = set.functions().collect();
            let (own, all) = (part.stiffness_matrix(true), whole.stiffness_matrix(true));
            let scale = all.data().iter().map(|b| b.norm()).fold(0.0, f64::max);
            let entry = |m: &crate::solve::BlockMatrix, a: usize, b: u32| {
                let row = m.row_range(a);
                let at = m.indices()[row.clone()].binary_search(&b);
                at.map_or(Mat3::zeros(), |at| m.data()[row.start + at])
            };
            for (a, &old_a) in functions.iter().enumerate() {
                for (b, &old_b) in (0u32..).zip(&functions) {
                    let (x, y) = (entry(&own, a, b), entry(&all, old_a as usize, old_b));
                    assert!((x - y).norm() < 1e-12 * scale, "{hexahedra} {kept} {a} {b}");
                }
                assert_eq!(part.carried_mass(a), whole.carried_mass(old_a as usize));
                assert_eq!(
                    part.basis().level_of(a),
                    whole.basis().level_of(old_a as usize)
                );
            }
            check_pieces(&part, &mut random);
            // Sums that a former subset lends are those that are made anew.
            let few = functions
                .iter()
                .copied()
                .filter(|&a| a >= coarse && a % 3 > 0);
            let former = whole.basis().coarse_set().with_details(few).unwrap();
            let lender = whole.with_active(&former, None).unwrap();
            let again = whole.with_active(&set, Some((&former, &lender))).unwrap();
            assert_eq!(again.blocks(), part.blocks());
            assert_eq!(again.elements(), part.elements());
        }
    }
}

/// Checks that pieces and blocks are the same flesh: equal forces in affine motions, and nearly the energy of the blocks in any other.
fn check_pieces(part: &Body, random: &mut Random) {
    let (pieces, blocks) = (
        part.elements().stiffness_matrix(),
        part.stiffness_matrix(false),
    );
    let times = |matrix: &crate::solve::BlockMatrix, q: &[Vec3]| {
        let mut forces = vec![Vec3::zeros(); q.len()];
        matrix.times(q, &mut forces);
        forces
    };
    let strain = Mat3::from_fn(|_, _| random.next() - 0.5);
    let affine: Vec<Vec3> = part.rest_shape().iter().map(|x| strain * x).collect();
    let (own, exact) = (times(&pieces, &affine), times(&blocks, &affine));
    let largest = exact.iter().map(|f| f.norm()).fold(0.0, f64::max);
    for (a, b) in own.iter().zip(&exact) {
        assert!((a - b).norm() < 1e-10 * largest);
    }
    let mut any = || Vec3::from_fn(|_, _| random.next() - 0.5);
    let q: Vec<Vec3> = (0..part.node_count()).map(|_| any()).collect();
    let energy = |matrix| -> f64 {
        times(matrix, &q)
            .iter()
            .zip(&q)
            .map(|(f, q)| f.dot(q))
            .sum()
    };
    let ratio = energy(&pieces) / energy(&blocks);
    assert!((0.5..1.0 + 1e-9).contains(&ratio), "{ratio}");
}

/// Elements and unknowns follow the number of active functions.
#[test]
fn size_follows_active_functions() {
    let whole = soft_bar(false).build();
    let coarse = whole
        .with_active(&whole.basis().coarse_set(), None)
        .unwrap();
    assert_eq!(coarse.blocks().len(), whole.lattice().cells().len());
    assert_eq!(coarse.node_count(), whole.basis().coarse_len());
    let pieces = |body: &Body| -> Vec<usize> {
        let elements = 0..body.elements().len();
        elements
            .map(|e| body.elements().pieces(e).count())
            .collect()
    };
    let hexahedra = soft_bar(true).build();
    let coarse_set = hexahedra.basis().coarse_set();
    let plain = hexahedra.with_active(&coarse_set, None).unwrap();
    assert!(pieces(&plain).iter().all(|&count| count == 8));
    assert!(pieces(&coarse).iter().all(|&count| count == 1));
    assert!(pieces(&whole).iter().sum::<usize>() > 100 * coarse.blocks().len());
    let again = whole.with_active(&whole.basis().whole_set(), None).unwrap();
    assert_eq!(again.blocks(), whole.blocks());
    assert_eq!(again.elements(), whole.elements());
    assert_eq!(again.mass_matrix(), whole.mass_matrix());
}
