// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which of the finest nodal functions are zero on the flesh, and which are dependent there.
//!
//! Flesh lies in some of the pieces into which integrals cut a hexahedron of K_J. The nodal functions at its corners that
//! are not zero there are *determined* by it if they are independent on these pieces. A combination that vanishes on the flesh
//! has no part of a determined function, so the others of a hexahedron may be determined in turn. What remains lies in slivers
//! of flesh. There, in each connected cluster, the pivots of a pivoted Cholesky factorisation of the diagonally scaled mass
//! matrix are independent, and each other function is a combination of them.

use super::complex::Complex;
use super::values::FleshShares;
use crate::geometry::sets::DisjointSets;
use crate::lattice::cell::{SubTetrahedron, hexahedron_pieces};
use nalgebra::DMatrix;
use std::collections::BTreeMap;

/// Coefficients of finest nodal functions by vertex, of a combination that is zero on the flesh.
pub(super) type NodalRelation = BTreeMap<u32, f64>;

/// Smallest pivot of a scaled mass matrix. [capell2002, §3.1, mended] Matrices of slivers have pivots of 1e-4 and more, and rounding leaves
/// 1e-15: the choice is the same at 1e-7 and 1e-13.
const PIVOT_TOLERANCE: f64 = 1e-10;

/// The finest nodal functions on the flesh.
pub(super) struct FinestNodes {
    /// Whether the function at each vertex of K_J is not zero on the flesh.
    pub live: Vec<bool>,
    /// Relations of live functions that are dependent on the flesh.
    pub relations: Vec<NodalRelation>,
}

/// Mass matrix of the nodal functions at the corners of a hexahedron, by reference volumes.
type HexahedronMass = [[f64; 8]; 8];

impl FinestNodes {
    pub fn new(complex: &Complex, shares: &FleshShares, levels: usize) -> Self {
        let pieces = hexahedron_pieces(shares.level - levels);
        let masses: Vec<HexahedronMass> = pieces.iter().map(piece_mass).collect();
        let in_flesh: Vec<&[f64]> = (shares.cells.iter())
            .flat_map(|cell| cell.chunks_exact(pieces.len()))
            .collect();
        let mut live = vec![false; complex.len()];
        let mut cut = Vec::new();
        for (h, corners) in complex.hexahedra.iter().enumerate() {
            if in_flesh[h].iter().all(|&share| share <= 0.0) {
                continue;
            }
            let mass = hexahedron_mass(&masses, in_flesh[h]);
            for (k, &v) in corners.iter().enumerate() {
                live[v as usize] |= mass[k][k] > 0.0;
            }
            // The four functions that are not zero on one piece are independent there. On pieces of a hexahedron
            // that is divided further, eight may be not zero.
            if shares.level > levels {
                cut.push((h, mass));
            }
        }
        let mut determined = vec![shares.level == levels; complex.len()];
        determined
            .iter_mut()
            .zip(&live)
            .for_each(|(d, live)| *d |= !live);
        while determine(complex, &mut cut, &mut determined) {}
        Self {
            relations: sliver_relations(complex, &cut, &determined),
            live,
        }
    }
}

/// Marks the functions that hexahedra determine, and removes these hexahedra; returns whether any was found.
fn determine(
    complex: &Complex,
    cut: &mut Vec<(usize, HexahedronMass)>,
    determined: &mut [bool],
) -> bool {
    let before = cut.len();
    cut.retain(|(h, mass)| {
        let corners = &complex.hexahedra[*h];
        let open = |&k: &usize| !determined[corners[k] as usize] && mass[k][k] > 0.0;
        let open: Vec<usize> = (0..8).filter(open).collect();
        let own = DMatrix::from_fn(open.len(), open.len(), |i, j| mass[open[i]][open[j]]);
        let known = pivots(&own).len() == open.len();
        if known {
            open.iter()
                .for_each(|&k| determined[corners[k] as usize] = true);
        }
        !known
    });
    cut.len() < before
}

/// Returns the relations in each cluster of functions that are not determined.
fn sliver_relations(
    complex: &Complex,
    cut: &[(usize, HexahedronMass)],
    determined: &[bool],
) -> Vec<NodalRelation> {
    let mut clusters = DisjointSets::new(complex.len());
    let open = |h: usize| {
        complex.hexahedra[h]
            .iter()
            .enumerate()
            .filter(|(_, v)| !determined[**v as usize])
    };
    for (h, _) in cut {
        let mut first = None;
        for (_, &v) in open(*h) {
            clusters.join(*first.get_or_insert(v), v);
        }
    }
    let mut members: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for v in (0..complex.len() as u32).filter(|&v| !determined[v as usize]) {
        members.entry(clusters.root(v)).or_default().push(v);
    }
    let mut masses: BTreeMap<u32, DMatrix<f64>> = BTreeMap::new();
    for (root, members) in &members {
        masses.insert(*root, DMatrix::zeros(members.len(), members.len()));
    }
    for (h, own) in cut {
        for (i, a) in open(*h) {
            let root = clusters.root(*a);
            let (Some(members), Some(mass)) = (members.get(&root), masses.get_mut(&root)) else {
                continue;
            };
            let at = |v: &u32| members.partition_point(|m| m < v);
            for (j, b) in open(*h) {
                mass[(at(a), at(b))] += own[i][j];
            }
        }
    }
    let clusters = members.values().zip(masses.values());
    clusters
        .flat_map(|(members, mass)| relations(members, mass))
        .collect()
}

/// Returns each function of a cluster that is not a pivot, less the combination of pivots that equals it.
fn relations(members: &[u32], mass: &DMatrix<f64>) -> Vec<NodalRelation> {
    let chosen = pivots(mass);
    let among = DMatrix::from_fn(chosen.len(), chosen.len(), |i, j| {
        mass[(chosen[i], chosen[j])]
    });
    let Some(factor) = among.cholesky() else {
        return Vec::new();
    };
    let rest = (0..members.len()).filter(|i| !chosen.contains(i));
    let relation = |i: usize| {
        let with = chosen.iter().map(|&j| mass[(j, i)]);
        let shares = factor.solve(&nalgebra::DVector::from_iterator(chosen.len(), with));
        let others = chosen.iter().zip(shares.iter());
        let others = others.map(|(&j, share)| (members[j], -share));
        others.chain([(members[i], 1.0)]).collect()
    };
    rest.map(relation).collect()
}

/// Returns the pivots of a pivoted Cholesky factorisation of a matrix scaled to a diagonal of ones.
pub(super) fn pivots(matrix: &DMatrix<f64>) -> Vec<usize> {
    let n = matrix.nrows();
    let scale = matrix
        .diagonal()
        .map(|d| if d > 0.0 { d.sqrt().recip() } else { 0.0 });
    let mut left = DMatrix::from_fn(n, n, |i, j| matrix[(i, j)] * scale[i] * scale[j]);
    let mut found = Vec::new();
    while found.len() < n {
        // Of equal pivots the first is taken, whatever the rounding.
        let mut best = 0;
        for i in 1..n {
            if left[(i, i)] > left[(best, best)] * (1.0 + 1e-9) {
                best = i;
            }
        }
        let pivot = left[(best, best)];
        if pivot <= PIVOT_TOLERANCE {
            break;
        }
        let column = left.column(best).into_owned();
        left.ger(-1.0 / pivot, &column, &column, 1.0);
        left.row_mut(best).fill(0.0);
        left.column_mut(best).fill(0.0);
        found.push(best);
    }
    found
}

/// Returns the mass matrix of a piece of unit volume.
fn piece_mass(piece: &SubTetrahedron) -> HexahedronMass {
    let sum = |k: usize| piece.iter().map(|shape| shape[k]).sum::<f64>();
    let product = |a: usize, b: usize| piece.iter().map(|shape| shape[a] * shape[b]).sum::<f64>();
    std::array::from_fn(|a| std::array::from_fn(|b| (sum(a) * sum(b) + product(a, b)) / 20.0))
}

/// Returns the mass matrix over the flesh of a hexahedron.
fn hexahedron_mass(masses: &[HexahedronMass], shares: &[f64]) -> HexahedronMass {
    let mut all = HexahedronMass::default();
    for (mass, share) in masses.iter().zip(shares) {
        for (sums, row) in all.iter_mut().zip(mass) {
            sums.iter_mut()
                .zip(row)
                .for_each(|(sum, m)| *sum += m * share);
        }
    }
    all
}
