// SPDX-License-Identifier: MIT OR Apache-2.0
//! Eigenpairs of tetrahedral bodies: residuals, orthonormality, multiplicities, free motions; refusals in a module.

use nalgebra::{DMatrix, SymmetricEigen};
use thew::progress::Silent;
use thew::solve::eigen::{EigenError, EigenSettings, Eigenpairs, lowest_eigenpairs};
use thew::solve::matrix::zeros;
use thew::solve::{NodeMatrix, ScalarMatrix};
use thew::{Mat3, Vec3};

mod refusals;
use crate::box_of_tets::{Problem, box_of_tets};

fn solve(problem: &Problem, count: usize) -> Eigenpairs {
    solve_with(problem, &EigenSettings::new(count))
}

fn solve_with(problem: &Problem, options: &EigenSettings) -> Eigenpairs {
    let pairs = try_solve(problem, options).unwrap();
    check_pairs(problem, &pairs, options.count);
    pairs
}

fn try_solve(problem: &Problem, options: &EigenSettings) -> Result<Eigenpairs, EigenError> {
    let Problem {
        stiffness,
        mass,
        centres,
    } = problem;
    lowest_eigenpairs(stiffness, mass, centres, options, &Silent)
}

fn mass_times(mass: &ScalarMatrix, x: &[Vec3]) -> Vec<Vec3> {
    (0..x.len()).map(|i| mass.row_times(i, x)).collect()
}

fn dot(a: &[Vec3], b: &[Vec3]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a.dot(b)).sum()
}

fn norm(a: &[Vec3]) -> f64 {
    dot(a, a).sqrt()
}

/// Asserts the conditions of every answer, with lower bounds of the norms of matrices by the power method.
fn check_pairs(problem: &Problem, pairs: &Eigenpairs, count: usize) {
    assert_eq!((pairs.values.len(), pairs.vectors.len()), (count, count));
    assert!(pairs.verified);
    assert!(pairs.values.is_sorted() && pairs.values[0] >= 0.0);
    let n = problem.centres.len();
    let (mut norm_k, mut norm_m) = (0.0, 0.0);
    let mut x: Vec<Vec3> = (0..n)
        .map(|i| Vec3::new(1.0, (i as f64).sin(), (3.0 * i as f64).cos()))
        .collect();
    let mut y = x.clone();
    let mut z = x.clone();
    for _ in 0..30 {
        let mut kx = x.clone();
        problem.stiffness.times(&x, &mut kx);
        norm_k = norm(&kx) / norm(&x);
        x = kx.iter().map(|v| v / norm(&kx)).collect();
        let mx = mass_times(&problem.mass, &z);
        norm_m = norm(&mx) / norm(&z);
        z = mx.iter().map(|v| v / norm(&mx)).collect();
    }
    let moved: Vec<Vec<Vec3>> = pairs
        .vectors
        .iter()
        .map(|v| mass_times(&problem.mass, v))
        .collect();
    for (i, (v, &value)) in pairs.vectors.iter().zip(&pairs.values).enumerate() {
        problem.stiffness.times(v, &mut y);
        let r: Vec<Vec3> = y
            .iter()
            .zip(&moved[i])
            .map(|(k, m)| k - m * value)
            .collect();
        let rounding = 1e-13 * (norm_k + value * norm_m) * norm(v);
        let bound = rounding.max(1e-9 * value * norm(&moved[i]));
        assert!(norm(&r) <= bound, "mode {i}: {:e} over {bound:e}", norm(&r));
        for (j, m) in moved.iter().enumerate() {
            let expected = f64::from(u8::from(i == j));
            assert!(
                (dot(v, m) - expected).abs() < 1e-12,
                "modes {i}, {j}: {:e}",
                dot(v, m) - expected
            );
        }
        let largest = v.iter().map(Vec3::amax).fold(0.0, f64::max);
        let mut components = v.iter().flat_map(|v| v.iter());
        let first = components.find(|x| x.abs() > (1.0 - 1e-6) * largest);
        assert!(*first.unwrap() > 0.0);
    }
}

/// Returns all eigenvalues, by dense factorisations of nalgebra.
fn dense_eigenvalues(problem: &Problem) -> Vec<f64> {
    let n = problem.centres.len();
    let (mut k, mut m) = (DMatrix::zeros(3 * n, 3 * n), DMatrix::zeros(3 * n, 3 * n));
    for i in 0..n {
        for e in problem.stiffness.row_range(i) {
            let j = problem.stiffness.indices()[e] as usize;
            k.fixed_view_mut::<3, 3>(3 * i, 3 * j)
                .copy_from(&problem.stiffness.data()[e]);
        }
        for e in problem.mass.row_range(i) {
            let j = problem.mass.indices()[e] as usize;
            for c in 0..3 {
                m[(3 * i + c, 3 * j + c)] = problem.mass.data()[e];
            }
        }
    }
    let inverse = m.cholesky().unwrap().l().try_inverse().unwrap();
    let mut values: Vec<f64> = SymmetricEigen::new(&inverse * k * inverse.transpose())
        .eigenvalues
        .iter()
        .copied()
        .collect();
    values.sort_by(f64::total_cmp);
    values
}

fn bar(cubes: [usize; 3]) -> (Vec<Vec3>, Vec<[u32; 4]>) {
    box_of_tets(
        cubes,
        Vec3::new(cubes[0] as f64, cubes[1] as f64, cubes[2] as f64) * 0.01,
    )
}

/// Returns copies side by side that share nothing.
fn unconnected_copies(
    mesh: &(Vec<Vec3>, Vec<[u32; 4]>),
    count: usize,
) -> (Vec<Vec3>, Vec<[u32; 4]>) {
    let (mut vertices, mut tets) = (Vec::new(), Vec::new());
    for c in 0..count {
        let offset = Vec3::new(0.0, 0.25 * c as f64, 0.0);
        tets.extend(mesh.1.iter().map(|t| t.map(|v| v + vertices.len() as u32)));
        vertices.extend(mesh.0.iter().map(|x| x + offset));
    }
    (vertices, tets)
}

/// Builds a mesh with rotational symmetry about x: cubes whose diagonals meet in the middle planes.
fn symmetric_bar(along: usize) -> (Vec<Vec3>, Vec<[u32; 4]>) {
    // A quarter, turned by 90 degrees three times.
    let (quarter, tets) = bar([along, 2, 2]);
    let mut vertices: Vec<Vec3> = Vec::new();
    let mut all = Vec::new();
    for turn in 0..4 {
        let rotate = |x: &Vec3| (0..turn).fold(*x, |x, _| Vec3::new(x.x, -x.z, x.y));
        let numbers: Vec<u32> = quarter
            .iter()
            .map(|x| {
                let x = rotate(x);
                let same = vertices.iter().position(|y| (x - y).norm() < 1e-9);
                same.unwrap_or_else(|| {
                    vertices.push(x);
                    vertices.len() - 1
                }) as u32
            })
            .collect();
        all.extend(tets.iter().map(|t| t.map(|v| numbers[v as usize])));
    }
    (vertices, all)
}

/// All eigenvalues of a small bar agree with those of a dense solver.
#[test]
fn small_bar_matches_dense() {
    let (vertices, tets) = bar([4, 2, 1]);
    let problem = Problem::new(&vertices, &tets, |x| x.x > 1e-9);
    let expected = dense_eigenvalues(&problem);
    for count in [1, 8, 40, expected.len()] {
        let pairs = solve(&problem, count);
        for (value, expected) in pairs.values.iter().zip(&expected) {
            assert!((value - expected).abs() < 1e-9 * expected + 1e-12 * 1e7);
        }
    }
}

/// Lanczos iterations with any block size agree with a dense solver.
#[test]
fn lanczos_matches_dense() {
    let (vertices, tets) = bar([10, 3, 2]);
    let problem = Problem::new(&vertices, &tets, |x| x.x > 1e-9);
    let expected = dense_eigenvalues(&problem);
    for (count, block) in [(1, 1), (5, 1), (12, 2), (24, 3), (32, 8), (12, 16)] {
        let options = EigenSettings {
            block: Some(block),
            ..EigenSettings::new(count)
        };
        let pairs = solve_with(&problem, &options);
        for (value, expected) in pairs.values.iter().zip(&expected) {
            assert!((value / expected - 1.0).abs() < 1e-9);
        }
        assert!(pairs.searches > 0);
    }
}

/// Little room for vectors takes more restarts and gives the same eigenvalues.
#[test]
fn little_room_keeps_values() {
    let problem = Problem::clamped_bar(12, 4);
    let plenty = solve(&problem, 20);
    let options = EigenSettings {
        block: Some(3),
        room: Some(30),
        ..EigenSettings::new(20)
    };
    let little = solve_with(&problem, &options);
    assert!(little.restarts > plenty.restarts);
    for (a, b) in plenty.values.iter().zip(&little.values) {
        assert!((a / b - 1.0).abs() < 1e-11);
    }
}

/// A bar with a square section has its bending eigenvalues in equal pairs.
#[test]
fn symmetric_bar_has_pairs() {
    let (vertices, tets) = symmetric_bar(12);
    let problem = Problem::new(&vertices, &tets, |x| x.x > 1e-9);
    let pairs = solve(&problem, 16);
    assert!((pairs.values[1] / pairs.values[0] - 1.0).abs() < 1e-10);
    let equal = pairs.values.windows(2).filter(|v| v[1] / v[0] - 1.0 < 1e-8);
    assert!(equal.count() >= 4);
    // Cutting a pair in two leaves a member of it.
    let first = solve(&problem, 1);
    assert!((first.values[0] / pairs.values[0] - 1.0).abs() < 1e-10);
}

/// Equal copies of a bar have every eigenvalue once per copy.
#[test]
fn copies_multiply_eigenvalues() {
    for (number, count) in [(8, 40), (20, 32), (20, 50)] {
        let one = bar([5, 2, 2]);
        let single = Problem::new(&one.0, &one.1, |x| x.x > 1e-9);
        let expected = dense_eigenvalues(&single);
        let (vertices, tets) = unconnected_copies(&one, number);
        let problem = Problem::new(&vertices, &tets, |x| x.x > 1e-9);
        for block in [None, Some(1)] {
            let options = EigenSettings {
                block,
                ..EigenSettings::new(count)
            };
            let pairs = solve_with(&problem, &options);
            for (i, value) in pairs.values.iter().enumerate() {
                assert!(
                    (value / expected[i / number] - 1.0).abs() < 1e-9,
                    "{number} copies, value {i}"
                );
            }
        }
    }
}

/// A free body has six eigenvalues of zero.
#[test]
fn free_body_has_six_zeros() {
    let (vertices, tets) = bar([9, 3, 4]);
    // Far from the origin, as in a scene.
    let vertices: Vec<Vec3> = vertices
        .iter()
        .map(|x| x + Vec3::new(50.0, -20.0, 3.0))
        .collect();
    let problem = Problem::new(&vertices, &tets, |_| true);
    let expected = dense_eigenvalues(&problem);
    for count in [3, 6, 7, 20] {
        let pairs = solve(&problem, count);
        for (i, &value) in pairs.values.iter().enumerate() {
            if i < 6 {
                assert!(value < 1e-8 * expected[6]);
            } else {
                assert!((value / expected[i] - 1.0).abs() < 1e-8);
            }
        }
    }
}

/// Each of several free bodies has six eigenvalues of zero.
#[test]
fn free_bodies_have_six_zeros() {
    let one = bar([5, 3, 2]);
    let single = dense_eigenvalues(&Problem::new(&one.0, &one.1, |_| true));
    let (vertices, tets) = unconnected_copies(&one, 9);
    let pairs = solve(&Problem::new(&vertices, &tets, |_| true), 80);
    for (i, &value) in pairs.values.iter().enumerate() {
        if i < 54 {
            assert!(value < 1e-8 * single[6]);
        } else {
            assert!((value / single[6 + (i - 54) / 9] - 1.0).abs() < 1e-8);
        }
    }
}

/// A free body beside a held one has six eigenvalues of zero.
#[test]
fn held_and_free_bodies_mix() {
    let one = bar([6, 3, 3]);
    let (vertices, tets) = unconnected_copies(&one, 2);
    let problem = Problem::new(&vertices, &tets, |x| x.y > 0.2 || x.x > 1e-9);
    let pairs = solve(&problem, 12);
    let zeros = pairs
        .values
        .iter()
        .filter(|&&v| v < 1e-8 * pairs.values[11]);
    assert_eq!(zeros.count(), 6);
}

/// A body that is held at one node has three free turns, and at two nodes one.
#[test]
fn hinge_leaves_free_turns() {
    let (vertices, tets) = bar([8, 3, 3]);
    // One node held: three turns; two held: one.
    for (held, zeros) in [(1, 3), (2, 1)] {
        let problem = Problem::new(&vertices, &tets, |x| {
            !(x.norm() < 1e-9 || (held == 2 && (x - Vec3::new(0.0, 0.03, 0.0)).norm() < 1e-9))
        });
        let pairs = solve(&problem, 10);
        let zero = pairs.values.iter().filter(|&&v| v < 1e-8 * pairs.values[9]);
        assert_eq!(zero.count(), zeros);
    }
}

/// Eigenvalues with a lumped mass matrix agree with those of a dense solver.
#[test]
fn lumped_mass_matches_dense() {
    let (vertices, tets) = bar([12, 3, 3]);
    let consistent = Problem::new(&vertices, &tets, |x| x.x > 1e-9);
    let lumped = consistent.mass.lump_rows();
    let problem = Problem {
        mass: lumped,
        ..consistent
    };
    let pairs = solve(&problem, 16);
    for (value, expected) in pairs.values.iter().zip(dense_eigenvalues(&problem)) {
        assert!((value / expected - 1.0).abs() < 1e-9);
    }
}

/// The solver converges for a thin needle with cells of very different sizes.
#[test]
fn graded_needle_converges() {
    // Cubes from 1:1 to 1:300, 100 times as long as wide.
    let (vertices, tets) = bar([60, 2, 2]);
    let vertices: Vec<Vec3> = vertices
        .iter()
        .map(|x| Vec3::new(0.003 * ((x.x / 0.6 * 6.0).exp() - 1.0), x.y, x.z))
        .collect();
    let problem = Problem::new(&vertices, &tets, |x| x.x > 1e-9);
    solve(&problem, 24);
    solve(&Problem::new(&vertices, &tets, |_| true), 24);
}

/// Separate springs have two eigenvalues of high multiplicity, which the solver finds.
#[test]
fn separate_springs_share_eigenvalues() {
    // Every block of the iteration loses its rank at once.
    let n = 300;
    let single: Vec<[u32; 1]> = (0..n as u32).map(|i| [i]).collect();
    let mut problem = Problem {
        stiffness: zeros(n, single.iter().map(|s| s.as_slice())),
        mass: zeros(n, single.iter().map(|s| s.as_slice())),
        centres: (0..n).map(|i| Vec3::x() * i as f64).collect(),
    };
    for i in 0..n as u32 {
        problem.stiffness.add_pair(i, i, &(Mat3::identity() * 50.0));
        problem.mass.add(i, i, 2.0);
    }
    for value in solve(&problem, 40).values {
        assert!((value - 25.0).abs() < 1e-11);
    }
    // Two of them softer, one stiffer.
    for (i, k) in [(7, -30.0), (200, -30.0), (100, 90.0)] {
        problem.stiffness.add_pair(i, i, &(Mat3::identity() * k));
    }
    for (i, value) in solve(&problem, 40).values.into_iter().enumerate() {
        assert!((value - if i < 6 { 10.0 } else { 25.0 }).abs() < 1e-11);
    }
}

/// A change of units scales the eigenvalues and nothing else.
#[test]
fn units_scale_eigenvalues() {
    let problem = Problem::clamped_bar(10, 3);
    let pairs = solve(&problem, 64);
    for (k, m) in [(1e12, 1.0), (1e-9, 1e6), (1.0, 1e-12)] {
        let mut scaled = Problem {
            stiffness: problem.stiffness.clone(),
            mass: zeros(0, []),
            centres: problem.centres.clone(),
        };
        scaled.stiffness.data_mut().iter_mut().for_each(|b| *b *= k);
        let n = problem.mass.rows();
        let rows: Vec<Vec<u32>> = (0..n)
            .flat_map(|i| {
                let columns = problem.mass.indices()[problem.mass.row_range(i)].to_vec();
                columns.into_iter().map(move |j| vec![i as u32, j])
            })
            .collect();
        scaled.mass = zeros(n, rows.iter().map(Vec::as_slice));
        for i in 0..n {
            for e in problem.mass.row_range(i) {
                scaled.mass.add(
                    i as u32,
                    problem.mass.indices()[e],
                    m * problem.mass.data()[e],
                );
            }
        }
        for (a, b) in solve(&scaled, 64).values.iter().zip(&pairs.values) {
            assert!((a / (b * k / m) - 1.0).abs() < 1e-9);
        }
    }
}

/// The eigenpairs have the same bits in every run and on any number of threads.
#[test]
fn eigenpairs_ignore_thread_count() {
    let problem = Problem::clamped_bar(24, 8);
    let first = solve(&problem, 12);
    for threads in [1, 3] {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        // An odd allocation in between moves what follows in memory.
        let _shift: Vec<Vec<u8>> = (1..50).map(|i| vec![0; 24 * i + 8]).collect();
        assert_eq!(pool.install(|| solve(&problem, 12)), first);
    }
}

/// The eigenvalues do not depend on the numbering of the vertices.
#[test]
fn eigenvalues_ignore_numbering() {
    let (vertices, tets) = bar([9, 4, 3]);
    let n = vertices.len();
    let to = |i: usize| (i * 37 + 11) % n;
    assert_ne!(n % 37, 0);
    let mut moved = vertices.clone();
    for (i, x) in vertices.iter().enumerate() {
        moved[to(i)] = *x;
    }
    let renamed: Vec<[u32; 4]> = tets
        .iter()
        .map(|t| t.map(|v| to(v as usize) as u32))
        .collect();
    let a = solve(&Problem::new(&vertices, &tets, |x| x.x > 1e-9), 12);
    let b = solve(&Problem::new(&moved, &renamed, |x| x.x > 1e-9), 12);
    for (a, b) in a.values.iter().zip(&b.values) {
        assert!((a / b - 1.0).abs() < 1e-10);
    }
}

/// A shift below the lowest eigenvalue is accepted, and one above it is refused.
#[test]
fn given_shift_is_used() {
    let problem = Problem::clamped_bar(8, 3);
    let pairs = solve(&problem, 6);
    let with = |shift| EigenSettings {
        shift: Some(shift),
        ..EigenSettings::new(6)
    };
    for shift in [-0.5 * pairs.values[0], 0.5 * pairs.values[0]] {
        for (a, b) in solve_with(&problem, &with(shift))
            .values
            .iter()
            .zip(&pairs.values)
        {
            assert!((a / b - 1.0).abs() < 1e-10);
        }
    }
    let beyond = try_solve(&problem, &with(1.5 * pairs.values[0]));
    assert!(matches!(beyond, Err(EigenError::Indefinite { .. })));
}
