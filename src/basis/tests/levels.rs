// SPDX-License-Identifier: MIT OR Apache-2.0
//! Properties of details: what they reproduce, where they are zero, and which of them are independent on the flesh.

use super::*;
use crate::elasticity::flesh_shares;
use crate::lattice::BoneChains;
use crate::surface::shapes::Random;
use nalgebra::DMatrix;

struct Ball(Vec3, f64);
impl FleshDomain for Ball {
    fn signed_distance(&self, p: Vec3) -> f64 {
        (p - self.0).norm() - self.1
    }
    fn contains(&self, p: Vec3) -> bool {
        self.signed_distance(p) < 0.0
    }
    fn owner(&self, cell: u32, _: Vec3) -> u32 {
        cell
    }
}

/// Builds n³ hexahedra on [−1, 1]³.
fn cubes(n: usize) -> Arc<Lattice> {
    let m = n + 1;
    let at = |i: usize| 2.0 * i as f64 / n as f64 - 1.0;
    let x = (0..m * m * m).map(|v| Vec3::new(at(v % m), at(v / m % m), at(v / (m * m))));
    let corner = |o: usize, c: usize| {
        let of = |step: usize, bit: usize| o / step % n + (c >> bit & 1);
        (of(1, 0) + m * (of(n, 1) + m * of(n * n, 2))) as u32
    };
    let cell = |o| Cell::Hexahedron(std::array::from_fn(|c| corner(o, c)));
    Arc::new(Lattice::new(x.collect(), (0..n * n * n).map(cell).collect()).unwrap())
}

fn basis(lattice: &Arc<Lattice>, flesh: &dyn FleshDomain, levels: usize, level: usize) -> Basis {
    let shares = flesh_shares(lattice, flesh, level, &Silent).unwrap();
    Basis::with_levels(lattice.clone(), levels, &shares)
}

/// Returns the mass matrix of a basis over the flesh, without floors, scaled to a diagonal of ones.
fn scaled_mass(basis: &Basis, shares: &FleshShares) -> DMatrix<f64> {
    let subdivision = basis.subdivision(shares.level);
    let mut mass = DMatrix::<f64>::zeros(basis.len(), basis.len());
    for cell in 0..shares.cells.len() as u32 {
        let pieces = basis.elements(cell).flat_map(|e| {
            let functions = basis.functions(e);
            subdivision
                .pieces(e)
                .into_iter()
                .map(move |p| (functions, p))
        });
        for ((functions, piece), share) in pieces.zip(&shares.cells[cell as usize]) {
            for (i, &a) in functions.iter().enumerate() {
                for (j, &b) in functions.iter().enumerate() {
                    let sum = |i: usize| piece.values.iter().map(|v| v[i]).sum::<f64>();
                    let both: f64 = piece.values.iter().map(|v| v[i] * v[j]).sum();
                    mass[(a as usize, b as usize)] +=
                        piece.volume * share * (sum(i) * sum(j) + both) / 20.0;
                }
            }
        }
    }
    let scale = mass
        .diagonal()
        .map(|m| if m > 0.0 { m.sqrt().recip() } else { 0.0 });
    DMatrix::from_fn(basis.len(), basis.len(), |a, b| {
        mass[(a, b)] * scale[a] * scale[b]
    })
}

/// Returns the number of eigenvalues of a symmetric matrix that are not rounding.
fn rank(matrix: DMatrix<f64>) -> usize {
    let eigenvalues = matrix.symmetric_eigenvalues();
    eigenvalues.iter().filter(|&&l| l > 1e-9).count()
}

/// Returns the rank on the flesh of all functions that the subdivided lattice has, by its own vertices' functions.
fn full_rank(lattice: &Arc<Lattice>, levels: usize, shares: &FleshShares) -> usize {
    rank(scaled_mass(&whole_basis(lattice, levels, shares), shares))
}

/// Returns all functions that the subdivided lattice has, as if all of it were flesh.
fn whole_basis(lattice: &Arc<Lattice>, levels: usize, shares: &FleshShares) -> Basis {
    let full = |cell: &Vec<f64>| vec![1.0; cell.len()];
    let whole = FleshShares {
        level: shares.level,
        cells: shares.cells.iter().map(full).collect(),
    };
    Basis::with_levels(lattice.clone(), levels, &whole)
}

/// The functions of level 0 still sum to one and reproduce points; details add nothing to the rest shape.
#[test]
fn coarse_functions_partition_unity() {
    for levels in 1..=MAX_LEVELS {
        let basis = basis(&mixed_lattice(), &FullSpace, levels, levels);
        assert_eq!(basis.levels(), levels);
        for (cell, x) in inner_points(&basis) {
            let row = basis.row(cell, x);
            let coarse = row
                .iter()
                .filter(|(a, _)| (*a as usize) < basis.coarse_len());
            assert!((coarse.map(|&(_, w)| w).sum::<f64>() - 1.0).abs() < 1e-12);
            let place: Vec3 = row
                .iter()
                .map(|&(a, w)| basis.rest_shape()[a as usize] * w)
                .sum();
            assert!((place - x).norm() < 1e-12);
            let element = basis.element_at(cell, x);
            assert_eq!(basis.cell(element), cell);
            assert!(basis.elements(cell).contains(&element));
        }
    }
}

/// A further level leaves the functions of all coarser ones as they are.
#[test]
fn finer_basis_contains_coarser() {
    let lattice = mixed_lattice();
    let mut random = Random(2);
    for levels in 0..MAX_LEVELS {
        let coarse = basis(&lattice, &FullSpace, levels, MAX_LEVELS);
        let fine = basis(&lattice, &FullSpace, levels + 1, MAX_LEVELS);
        for _ in 0..300 {
            let cell = (random.next() * 3.0) as u32;
            let kind = &lattice.cells()[cell as usize];
            let l = kind.clamp(Vec3::from_fn(|_, _| 1.2 * random.next() - 0.1));
            let x = kind.position(&lattice.corners(cell), l);
            let value = |basis: &Basis, a: u32| {
                let row = basis.row(cell, x);
                row.iter().find(|r| r.0 == a).map_or(0.0, |r| r.1)
            };
            for a in 0..coarse.len() as u32 {
                assert!((value(&coarse, a) - value(&fine, a)).abs() < 1e-9);
            }
        }
        assert_eq!(coarse.centres(), &fine.centres()[..coarse.len()]);
        let level = |a: usize| fine.level_of(a);
        assert!((coarse.len()..fine.len()).all(|a| level(a) == levels + 1));
    }
}

/// A detail is one at its own vertex of the subdivided lattice, and zero at those of its own and coarser levels.
#[test]
fn details_are_nodal() {
    let basis = basis(&mixed_lattice(), &FullSpace, 2, 2);
    for cell in 0..3 {
        for &a in &basis.cell_functions(cell) {
            let centre = basis.centres()[a as usize];
            for (b, value) in basis.row(cell, centre) {
                if basis.level_of(b as usize) >= basis.level_of(a as usize) {
                    let wanted = f64::from(u8::from(a == b));
                    assert!((value - wanted).abs() < 1e-9, "{a} {b} {value}");
                }
            }
        }
    }
}

/// Details are zero on the bones at every level, so bones stay straight.
#[test]
fn bones_stay_straight() {
    let plain = cubes(2);
    let chain = [4, 13, 22]; // along z through the middle
    let mut bone_of_vertex = vec![None; plain.vertices().len()];
    chain
        .iter()
        .for_each(|&v| bone_of_vertex[v as usize] = Some(0));
    let bones = BoneChains {
        used_bones: vec![0],
        chains: vec![chain.to_vec()],
        tip_bones: Vec::new(),
        bone_of_vertex,
    };
    let (vertices, cells) = (plain.vertices().to_vec(), plain.cells().to_vec());
    let lattice = Arc::new(Lattice::with_bones(vertices, cells, bones).unwrap());
    for levels in 1..=MAX_LEVELS {
        let basis = basis(&lattice, &FullSpace, levels, levels);
        let free = self::basis(&plain, &FullSpace, levels, levels);
        assert_eq!(free.len() - basis.len(), 2 * ((1 << levels) - 1));
        for k in 0..=40 {
            let x = Vec3::new(0.0, 0.0, f64::from(k) / 20.0 - 1.0);
            for cell in (0..8).filter(|&c| basis.lattice().corners(c).contains(&Vec3::zeros())) {
                let inside = basis
                    .lattice()
                    .corners(cell)
                    .iter()
                    .any(|c| c.z.signum() == x.z.signum() && c.z != 0.0);
                for (a, value) in basis.row(cell, x).into_iter().filter(|_| inside) {
                    let is_held = basis.bones()[a as usize].is_some();
                    assert!(is_held || value.abs() < 1e-12, "{a} {value}");
                }
            }
        }
    }
}

/// The kept functions are independent on the flesh, and span all that the subdivided lattice can do there: also for a ball
/// in 2x2x2 cells, where the paper's choice is dependent.
#[test]
fn kept_functions_are_basis() {
    let ball = Ball(Vec3::zeros(), 0.95);
    // The paper keeps every function that is not zero on the flesh.
    let lattice = cubes(2);
    let shares = flesh_shares(&lattice, &ball, 1, &Silent).unwrap();
    let all = scaled_mass(&whole_basis(&lattice, 1, &shares), &shares);
    let touching = (0..all.nrows()).filter(|&a| all[(a, a)] > 0.0).count();
    assert!(rank(all) < touching);
    for (lattice, flesh, levels, level) in [
        (cubes(2), ball, 1, 1),
        (cubes(2), Ball(Vec3::new(0.1, 0.2, -0.3), 0.55), 1, 2),
        (cubes(2), Ball(Vec3::new(0.1, 0.2, -0.3), 0.55), 2, 2),
        (cubes(2), Ball(Vec3::new(0.4, 0.4, 0.4), 0.15), 1, 3),
        (mixed_lattice(), Ball(Vec3::new(1.1, 0.5, 1.0), 0.5), 1, 1),
        (mixed_lattice(), Ball(Vec3::new(1.1, 0.5, 1.0), 0.5), 1, 2),
        (mixed_lattice(), Ball(Vec3::new(1.1, 0.5, 1.0), 0.5), 2, 2),
        (mixed_lattice(), Ball(Vec3::new(1.1, 0.5, 1.0), 0.4), 2, 3),
        (mixed_lattice(), Ball(Vec3::new(1.3, 0.5, 1.4), 0.2), 1, 3),
    ] {
        let shares = flesh_shares(&lattice, &flesh, level, &Silent).unwrap();
        let basis = Basis::with_levels(lattice.clone(), levels, &shares);
        let mass = scaled_mass(&basis, &shares);
        let touching = (0..basis.len()).filter(|&a| mass[(a, a)] > 0.0).count();
        let details = (basis.coarse_len()..basis.len()).filter(|&a| mass[(a, a)] > 0.0);
        assert_eq!(details.count(), basis.len() - basis.coarse_len());
        let found = rank(mass);
        assert_eq!(found, touching, "{levels} {level}");
        assert_eq!(
            found,
            full_rank(&lattice, levels, &shares),
            "{levels} {level}"
        );
    }
}

/// The choice of functions and their order are the same for any number of threads.
#[test]
fn basis_ignores_threads() {
    let build = || basis(&mixed_lattice(), &Ball(Vec3::new(1.1, 0.5, 1.0), 0.5), 2, 3);
    let in_pool = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        pool.unwrap().install(build)
    };
    let one = in_pool(1);
    for threads in [2, 3] {
        let other = in_pool(threads);
        assert!(one == other && one.all_functions().eq(other.all_functions()));
    }
    let kept = one.kept_details().to_vec();
    let restore = |kept, elements| Basis::restore(one.lattice().clone(), 2, kept, elements);
    let restored = restore(kept.clone(), one.element_count()).unwrap();
    assert!(restored == one && restored.all_functions().eq(one.all_functions()));
    let refused = |kept: Vec<u32>| restore(kept, one.element_count()).is_none();
    assert!(restore(kept, 7).is_none());
    assert!(refused(vec![3]) && refused(vec![20, 19]) && refused(vec![1 << 30]));
}

/// The integrals of embedded flesh keep its volume and mass, and its volume is within 1 % of the exact one at two subdivisions.
#[test]
fn integrals_cover_flesh() {
    let ball = Ball(Vec3::new(1.1, 0.5, 1.0), 0.45);
    let inside = Ball(Vec3::zeros(), 0.7);
    let inner = 4.0 / 3.0 * std::f64::consts::PI * inside.1.powi(3);
    for levels in 0..=2 {
        for (lattice, flesh, exact) in [
            (mixed_lattice(), &ball, None),
            (cubes(2), &inside, Some(inner)),
        ] {
            let material = Material::default();
            let shares = flesh_shares(&lattice, flesh, 2, &Silent).unwrap();
            let basis = Basis::with_levels(lattice.clone(), levels, &shares);
            let all = integrate_shares(&basis, &shares, &material, &PaintMap::Plain);
            let volume: f64 = all.iter().map(|c| c.volume).sum();
            if let Some(exact) = exact {
                assert!((volume / exact - 1.0).abs() < 0.01, "{volume} {exact}");
            }
            let plain = Basis::new(lattice.clone());
            let coarse = integrate_shares(&plain, &shares, &material, &PaintMap::Plain);
            let wanted: f64 = coarse.iter().map(|c| c.volume).sum();
            assert!((volume / wanted - 1.0).abs() < 1e-12);
            // Level-0 functions have the same integrals whatever else there is.
            let weights = |basis: &Basis, all: &[crate::elasticity::CellIntegrals]| {
                let mut weights = vec![0.0; basis.len()];
                for (functions, c) in basis.all_functions().zip(all) {
                    functions
                        .iter()
                        .zip(&c.weight)
                        .for_each(|(&a, w)| weights[a as usize] += w);
                }
                weights
            };
            let (own, wanted) = (weights(&basis, &all), weights(&plain, &coarse));
            for (a, b) in own.iter().zip(&wanted) {
                assert!((a - b).abs() < 1e-9 * b.abs().max(1.0), "{a} {b}");
            }
        }
    }
}
