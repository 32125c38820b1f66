// SPDX-License-Identifier: MIT OR Apache-2.0
//! Integrals against closed forms.

use super::*;
use crate::elasticity::FleshDomain;
use crate::geometry::tetrahedron::CUBE_TETRAHEDRA;
use crate::lattice::Cell;
use crate::lattice::Lattice;
use crate::progress::Silent;
use crate::solve::NodeMatrix;
use approx::assert_relative_eq;
use std::sync::Arc;

/// A ball or everything.
struct BallFlesh {
    centre: Vec3,
    radius: f64,
}
impl FleshDomain for BallFlesh {
    fn signed_distance(&self, p: Vec3) -> f64 {
        (p - self.centre).norm() - self.radius
    }
    fn contains(&self, p: Vec3) -> bool {
        self.signed_distance(p) < 0.0
    }
    fn owner(&self, cell: u32, _: Vec3) -> u32 {
        cell
    }
}
const FULL_FLESH: BallFlesh = BallFlesh {
    centre: Vec3::new(0.0, 0.0, 0.0),
    radius: 1e6,
};

/// Builds a box of n³ hexahedra on [0, 1]³, or the same cut into tetrahedra.
fn cube(n: usize, tetrahedra: bool) -> Lattice {
    let m = n + 1;
    let mut x = Vec::new();
    for k in 0..m {
        for j in 0..m {
            for i in 0..m {
                x.push(Vec3::new(i as f64, j as f64, k as f64) / n as f64);
            }
        }
    }
    let mut cells = Vec::new();
    for k in 0..n {
        for j in 0..n {
            for i in 0..n {
                let h: [u32; 8] = std::array::from_fn(|c| {
                    (i + (c & 1) + m * (j + (c >> 1 & 1) + m * (k + (c >> 2)))) as u32
                });
                if tetrahedra {
                    for t in CUBE_TETRAHEDRA {
                        cells.push(Cell::Tetrahedron(t.map(|c| h[c])));
                    }
                } else {
                    cells.push(Cell::Hexahedron(h));
                }
            }
        }
    }
    Lattice::new(x, cells).unwrap()
}

fn basis(lattice: &Lattice) -> Basis {
    Basis::new(lattice.clone().into())
}

fn integrate_all(lattice: &Lattice, flesh: &dyn FleshDomain, level: usize) -> Vec<CellIntegrals> {
    integrate(
        &basis(lattice),
        flesh,
        &Material::default(),
        &PaintMap::Plain,
        level,
        &Silent,
    )
    .unwrap()
}

/// Returns ½ Σ dᵀ S d over all cells, for a displacement field.
fn energy(lattice: &Lattice, all: &[CellIntegrals], d: impl Fn(Vec3) -> Vec3) -> f64 {
    let mut u = 0.0;
    for (cell, c) in lattice.cells().iter().zip(all) {
        let d: Vec<Vec3> = cell
            .corners()
            .iter()
            .map(|&v| d(lattice.vertices()[v as usize]))
            .collect();
        let mut pair = 0;
        for a in 0..d.len() {
            for b in a..d.len() {
                let e = d[a].dot(&(c.stiffness[pair] * d[b]));
                u += if a == b { 0.5 * e } else { e };
                pair += 1;
            }
        }
    }
    u
}

/// The integrals over the cells add up to the volume of a ball.
#[test]
fn ball_volume() {
    let ball = BallFlesh {
        centre: Vec3::new(0.52, 0.47, 0.5),
        radius: 0.4,
    };
    let exact = 4.0 / 3.0 * std::f64::consts::PI * 0.4f64.powi(3);
    for tetrahedra in [false, true] {
        let lattice = cube(4, tetrahedra);
        let all = integrate_all(&lattice, &ball, 1);
        let volume: f64 = all.iter().map(|c| c.volume).sum();
        assert_relative_eq!(volume, exact, max_relative = 0.005);
        for c in &all {
            assert!((0.0..=1.0 + 1e-12).contains(&c.fraction));
            let m: f64 = c.weight.iter().sum();
            let floored = c.volume.max(MASS_FLOOR / c.fraction.max(1e-300) * c.volume);
            assert!(m >= 1000.0 * c.volume - 1e-9);
            if c.fraction > 0.0 {
                assert_relative_eq!(m, 1000.0 * floored, max_relative = 1e-9);
            }
        }
    }
}

/// Flesh that fills little of its cells gets hardly more mass than its own.
#[test]
fn sparse_flesh_keeps_mass() {
    let thin = BallFlesh {
        centre: Vec3::new(0.52, 0.47, 0.5),
        radius: 0.1,
    };
    for tetrahedra in [false, true] {
        let all = integrate_all(&cube(4, tetrahedra), &thin, 1);
        let full: Vec<_> = all.iter().filter(|c| c.fraction > 0.0).collect();
        let volume: f64 = full.iter().map(|c| c.volume).sum();
        let mass: f64 = full.iter().flat_map(|c| &c.weight).sum();
        assert_relative_eq!(mass, 1000.0 * volume, max_relative = 0.03);
        // Its stiffness keeps the larger floor.
        let floored = |c: &&CellIntegrals| c.pieces.iter().sum::<f64>() > 1.2 * c.volume;
        assert!(full.iter().any(floored));
    }
}

/// The energy of an affine strain is exact, and small rigid motions cost nothing.
#[test]
fn affine_strain_energy_is_exact() {
    let h = Mat3::new(0.1, 0.2, -0.1, 0.05, -0.2, 0.3, 0.0, 0.1, 0.15);
    let e = (h + h.transpose()) * 0.5;
    let m = Material::default();
    let exact = m.shear() * e.norm_squared() + 0.5 * m.lame() * e.trace().powi(2);
    for (tetrahedra, level) in [(false, 0), (false, 1), (true, 0), (true, 2)] {
        let lattice = cube(2, tetrahedra);
        let all = integrate_all(&lattice, &FULL_FLESH, level);
        let u = energy(&lattice, &all, |x| h * x);
        assert_relative_eq!(u, exact, max_relative = 1e-10);
        // Rigid motions to first order cost nothing.
        let w = Vec3::new(0.3, -0.2, 0.5);
        let rigid = energy(&lattice, &all, |x| w.cross(&x) + w);
        assert!(rigid.abs() < 1e-9 * exact);
    }
}

/// The mass matrix integrates the square of a linear field exactly.
#[test]
fn mass_integrates_quadratics_exactly() {
    // Σ_ab f_a M_ab f_b = ρ ∫ f² for a linear f; over the unit cube with f = x: 1/3.
    for (tetrahedra, level) in [(false, 2), (true, 0), (true, 1)] {
        let lattice = cube(2, tetrahedra);
        let all = integrate_all(&lattice, &FULL_FLESH, level);
        let mut sum = 0.0;
        for (cell, c) in lattice.cells().iter().zip(&all) {
            let f: Vec<f64> = cell
                .corners()
                .iter()
                .map(|&v| lattice.vertices()[v as usize].x)
                .collect();
            let mut pair = 0;
            for a in 0..f.len() {
                for b in a..f.len() {
                    sum += f[a] * f[b] * c.mass[pair] * if a == b { 1.0 } else { 2.0 };
                    pair += 1;
                }
            }
        }
        assert_relative_eq!(sum, 1000.0 / 3.0, max_relative = 1e-10);
    }
}

/// Subdivision does not change the integrals of a tetrahedron that is full of flesh.
#[test]
fn subdivision_keeps_full_tetrahedron() {
    let lattice = cube(1, true);
    let (coarse, fine) = (
        integrate_all(&lattice, &FULL_FLESH, 0),
        integrate_all(&lattice, &FULL_FLESH, 2),
    );
    for (a, b) in coarse.iter().zip(&fine) {
        for (a, b) in a.stiffness.iter().zip(&b.stiffness) {
            assert!((a - b).norm() < 1e-9 * a.norm().max(1.0));
        }
        for (a, b) in a.mass.iter().zip(&b.mass) {
            assert_relative_eq!(a, b, max_relative = 1e-10);
        }
    }
}

/// Paint scales the integrals of its own cell only.
#[test]
fn paint_scales_own_cell() {
    let lattice = cube(1, true);
    let mut painted = vec![PaintFactors::default(); 6];
    painted[2].stiffness = 3.0;
    painted[3].density = 0.5;
    let plain = integrate_all(&lattice, &FULL_FLESH, 1);
    let all = integrate(
        &basis(&lattice),
        &FULL_FLESH,
        &Material::default(),
        &PaintMap::Cells(painted),
        1,
        &Silent,
    )
    .unwrap();
    for i in 0..6 {
        let s = if i == 2 { 3.0 } else { 1.0 };
        let m = if i == 3 { 0.5 } else { 1.0 };
        assert!((all[i].stiffness[1] - plain[i].stiffness[1] * s).norm() < 1e-9);
        assert_relative_eq!(all[i].mass[1], plain[i].mass[1] * m, max_relative = 1e-12);
    }
}

/// Copies of a cell divide its flesh between them.
#[test]
fn copies_share_flesh() {
    struct HalvedFlesh;
    impl FleshDomain for HalvedFlesh {
        fn signed_distance(&self, p: Vec3) -> f64 {
            -(p.x - 0.5).abs()
        }
        fn contains(&self, _: Vec3) -> bool {
            true
        }
        fn owner(&self, _: u32, p: Vec3) -> u32 {
            u32::from(p.x > 0.5)
        }
    }
    let x = cube(1, false).vertices().to_vec();
    let both: Vec<Vec3> = x.iter().chain(&x).copied().collect();
    let cells = vec![
        Cell::Hexahedron([0, 1, 2, 3, 4, 5, 6, 7]),
        Cell::Hexahedron([8, 9, 10, 11, 12, 13, 14, 15]),
    ];
    let lattice = Lattice::new(both, cells).unwrap();
    let all = integrate_all(&lattice, &HalvedFlesh, 2);
    assert_relative_eq!(all[0].volume + all[1].volume, 1.0, max_relative = 1e-9);
    assert_relative_eq!(all[0].volume, 0.5, max_relative = 0.02);
    // The flesh of copy 0 is on the left: corner 0 carries more than corner 1.
    assert!(all[0].weight[0] > 1.5 * all[0].weight[1]);
    assert!(all[1].weight[1] > 1.5 * all[1].weight[0]);
}

#[test]
fn integrate_obeys_stop() {
    let stop = |_: f64, _: &str| false;
    let lattice = cube(1, true);
    assert!(
        integrate(
            &basis(&lattice),
            &FULL_FLESH,
            &Material::default(),
            &PaintMap::Plain,
            1,
            &stop
        )
        .is_err()
    );
}

/// The pieces of a cell add up to its stiffness, also with the floor of nearly empty cells.
#[test]
fn pieces_sum_to_cell_stiffness() {
    // A ball that leaves most cells nearly empty: floored ones count in the pieces as they do in the matrix.
    let ball = BallFlesh {
        centre: Vec3::new(0.4, 0.5, 0.6),
        radius: 0.35,
    };
    let painted = PaintFactors {
        stiffness: 3.0,
        poisson: 0.7,
        density: 2.0,
    };
    for tetrahedra in [true, false] {
        let lattice = cube(3, tetrahedra);
        let painted = PaintMap::Cells(vec![painted; lattice.cells().len()]);
        let material = Material::default();
        let basis = basis(&lattice);
        let cells = integrate(&basis, &ball, &material, &painted, 1, &Silent).unwrap();
        assert!(cells.iter().any(|c| c.fraction == 0.0));
        assert!(cells.iter().any(|c| c.fraction > 0.5));
        let k = basis.len();
        let elements = CellIntegrals::elements(&basis, &cells);
        for (e, (cell, c)) in lattice.cells().iter().zip(&cells).enumerate() {
            assert_eq!(elements.corners(e), cell.corners());
            assert_eq!(elements.pieces(e).count() == 1, tetrahedra);
            let largest = c.stiffness.iter().map(Mat3::amax).fold(0.0, f64::max);
            let mut pair = 0;
            for a in 0..cell.corners().len() {
                for b in a..cell.corners().len() {
                    let mut block = Mat3::zeros();
                    for p in elements.pieces(e) {
                        let (ga, gb) = (p.gradients[a], p.gradients[b]);
                        block += (ga * gb.transpose() * p.lame
                            + gb * ga.transpose() * p.shear
                            + Mat3::identity() * (p.shear * ga.dot(&gb)))
                            * p.volume;
                    }
                    assert!((block - c.stiffness[pair]).amax() < 1e-12 * largest);
                    pair += 1;
                }
            }
        }
        // What a damaged file may hold is noticed.
        let corners = || basis.all_functions();
        assert!(elements.fits((k, k), corners()));
        assert!(!elements.fits((k + 1, k), corners()) && !elements.fits((k, k - 1), corners()));
        assert!(!Elements::new(k).fits((k, k), corners()));
    }
}

/// Painted factors have the same effect as another material.
#[test]
fn painted_factors_equal_material() {
    let material = Material::default();
    let painted = PaintFactors {
        stiffness: 3.0,
        density: 0.5,
        poisson: 0.6,
    };
    let other = Material::new(
        3.0 * material.young(),
        0.6 * material.poisson(),
        0.5 * material.density(),
    );
    let ball = BallFlesh {
        centre: Vec3::new(0.5, 0.5, 0.5),
        radius: 0.4,
    };
    for tetrahedra in [false, true] {
        let lattice = cube(2, tetrahedra);
        let all = PaintMap::Cells(vec![painted; lattice.cells().len()]);
        let basis = basis(&lattice);
        let found = integrate(&basis, &ball, &material, &all, 2, &Silent).unwrap();
        let plain = PaintMap::Plain;
        let wanted = integrate(&basis, &ball, &other.clone().unwrap(), &plain, 2, &Silent).unwrap();
        for (a, b) in found.iter().zip(&wanted) {
            let moduli = a
                .lame
                .iter()
                .chain(&a.shear)
                .zip(b.lame.iter().chain(&b.shear));
            for (a, b) in moduli {
                assert_relative_eq!(a, b, max_relative = 1e-12);
            }
            for (a, b) in a.mass.iter().zip(&b.mass) {
                assert_relative_eq!(a, b, max_relative = 1e-12);
            }
            for (a, b) in a.stiffness.iter().zip(&b.stiffness) {
                assert_relative_eq!(a, b, epsilon = 1e-9 * b.norm());
            }
        }
    }
}

/// The reported share of measured cells starts at zero and rises.
#[test]
fn integrate_reports_progress() {
    let told = std::sync::Mutex::new(Vec::new());
    let listen = |share: f64, _: &str| {
        told.lock().unwrap().push(share);
        true
    };
    integrate(
        &basis(&cube(6, false)),
        &FULL_FLESH,
        &Material::default(),
        &PaintMap::Plain,
        1,
        &listen,
    )
    .unwrap();
    let told = told.into_inner().unwrap();
    assert!(told.len() > 2 && told[0] == 0.0);
    assert!(
        told.windows(2)
            .all(|pair| pair[0] < pair[1] && pair[1] < 1.0)
    );
}

/// A flake of flesh in one piece of an element, which hangs on the rest by an edge, cannot turn about it without force.
#[test]
fn flake_on_an_edge_is_held() {
    let lattice = Arc::new(cube(1, false));
    let whole = Basis::with_levels(lattice.clone(), 1, &shares_of(&lattice, |_, _| 1.0));
    let subdivision = whole.subdivision(1);
    let beyond = |x: &Vec3| x.x > 0.5 + 1e-9;
    let mut flakes = 0;
    let shares = shares_of(&lattice, |element, piece| {
        let corners = subdivision.pieces(element)[piece].corners;
        if !corners.iter().any(beyond) {
            return 1.0;
        }
        let hangs = flakes == 0 && corners.iter().filter(|x| beyond(x)).count() == 2;
        flakes += usize::from(hangs);
        if hangs { 1.0 } else { 0.0 }
    });
    assert_eq!(flakes, 1);
    let basis = Basis::with_levels(lattice.clone(), 1, &shares);
    let material = Material::default();
    let integrals = integrate_shares(&basis, &shares, &material, &PaintMap::Plain);
    let stiffness = CellIntegrals::elements(&basis, &integrals).stiffness_matrix();
    // The side x = 0 is held.
    let centres = basis.centres();
    let free: Vec<u32> = (0..basis.len() as u32)
        .filter(|&a| centres[a as usize].x > 1e-9)
        .collect();
    let stiffness = stiffness.restrict_to(&free).expand();
    let n = stiffness.rows();
    let at = |i: usize, j: usize| stiffness.get(i, j).copied().unwrap_or(0.0);
    let scaled = nalgebra::DMatrix::from_fn(n, n, |i, j| at(i, j) / (at(i, i) * at(j, j)).sqrt());
    let least = scaled.symmetric_eigenvalues().min();
    assert!(least > 1e-6, "{least}");
}

/// Returns shares of flesh at level 1 of a lattice of one cell, by element and piece.
fn shares_of(lattice: &Lattice, mut share: impl FnMut(u32, usize) -> f64) -> FleshShares {
    let pieces = lattice.cells()[0].subtetrahedra(1).len();
    let each = pieces / 8;
    FleshShares {
        level: 1,
        cells: vec![
            (0..pieces)
                .map(|i| share((i / each) as u32, i % each))
                .collect(),
        ],
    }
}
