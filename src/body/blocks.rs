// SPDX-License-Identifier: MIT OR Apache-2.0
//! Integrals of all elements in flat arrays.

use crate::basis::Basis;
use crate::elasticity::CellIntegrals;
use crate::range::is_storable;
use crate::{Mat3, Vec3};
use smallvec::SmallVec;

/// The integrals of all elements of a basis, concatenated.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct IntegralBlocks {
    node_starts: Vec<u32>,
    pair_starts: Vec<u32>,
    nodes: Vec<u32>,
    stiffness: Vec<Mat3>,
    weight: Vec<f64>,
    volume: Vec<f64>,
    fraction: Vec<f64>,
}

/// One element of [`IntegralBlocks`]: a cell, or a part of one in a body with details.
#[derive(Debug, Clone, Copy)]
pub struct CellBlocks<'a> {
    /// Functions that live on the element: those of the cell's corners, then details.
    pub nodes: &'a [u32],
    /// Stiffness of pairs of nodes a ≤ b, row by row, N/m.
    pub stiffness: &'a [Mat3],
    /// `∫ ρ φ_a`, kg.
    pub weight: &'a [f64],
    /// Index of the element's first pair among all pairs.
    pub first_pair: usize,
}

impl IntegralBlocks {
    /// Returns these blocks with a stiffness multiplied by `factor`.
    pub(super) fn with_scaled_stiffness(&self, factor: f64) -> Self {
        Self {
            stiffness: self.stiffness.iter().map(|b| b * factor).collect(),
            ..self.clone()
        }
    }

    /// Sets the stiffness of an element to that of the same one of `others` times a factor.
    pub(super) fn set_scaled_stiffness(&mut self, others: &Self, element: usize, factor: f64) {
        let pairs = self.pair_starts[element] as usize..self.pair_starts[element + 1] as usize;
        let theirs = &others.stiffness[pairs.clone()];
        for (own, block) in self.stiffness[pairs].iter_mut().zip(theirs) {
            *own = block * factor;
        }
    }

    pub(super) fn new(basis: &Basis, integrals: &[CellIntegrals]) -> Self {
        let mut all = Self {
            node_starts: vec![0],
            pair_starts: vec![0],
            nodes: Vec::new(),
            stiffness: Vec::new(),
            weight: Vec::new(),
            volume: integrals.iter().map(|c| c.volume).collect(),
            fraction: integrals.iter().map(|c| c.fraction).collect(),
        };
        for (functions, c) in basis.all_functions().zip(integrals) {
            all.nodes.extend(functions);
            all.weight.extend(&c.weight);
            all.stiffness.extend(&c.stiffness);
            all.node_starts.push(all.nodes.len() as u32);
            all.pair_starts.push(all.stiffness.len() as u32);
        }
        all
    }

    /// Returns the integrals over the elements of a subset of functions: sums over the `whole` basis' elements that each consists of.
    /// `bases` are the whole one and the subset's; `number` gives a function's number in the subset. `known` gives for an element the same
    /// one among former sums.
    pub(super) fn sum_parts<'a>(
        whole: &Self,
        bases: (&Basis, &Basis),
        number: impl Fn(u32) -> Option<u32>,
        known: impl Fn(u32) -> Option<(&'a Self, u32)>,
    ) -> Self {
        let mut all = Self {
            node_starts: vec![0],
            pair_starts: vec![0],
            nodes: Vec::new(),
            stiffness: Vec::new(),
            weight: Vec::new(),
            volume: Vec::new(),
            fraction: Vec::new(),
        };
        let counts = || bases.1.all_functions().map(<[u32]>::len);
        all.nodes.reserve_exact(counts().sum());
        all.weight.reserve_exact(counts().sum());
        all.stiffness
            .reserve_exact(counts().map(|n| n * (n + 1) / 2).sum());
        for (e, nodes) in (0..).zip(bases.1.all_functions()) {
            all.nodes.extend(nodes);
            match known(e) {
                Some((former, known)) => all.copy_element(former, known as usize),
                None => {
                    let parts = bases.1.parts_of_element(bases.0, e);
                    all.sum_element(
                        whole,
                        nodes,
                        parts.start as usize..parts.end as usize,
                        &number,
                    );
                }
            }
            all.node_starts.push(all.nodes.len() as u32);
            all.pair_starts.push(all.stiffness.len() as u32);
        }
        all
    }

    /// Appends the integrals of an element of others.
    fn copy_element(&mut self, others: &Self, element: usize) {
        let cell = others.cell(element);
        self.weight.extend(cell.weight);
        self.stiffness.extend(cell.stiffness);
        self.volume.push(others.volume[element]);
        self.fraction.push(others.fraction[element]);
    }

    /// Appends the integrals of an element with some functions, `nodes`, which consists of some elements of `whole`.
    fn sum_element(
        &mut self,
        whole: &Self,
        nodes: &[u32],
        parts: std::ops::Range<usize>,
        number: impl Fn(u32) -> Option<u32>,
    ) {
        let (n, node, pair) = (nodes.len(), self.weight.len(), self.stiffness.len());
        self.weight.resize(node + n, 0.0);
        self.stiffness.resize(pair + n * (n + 1) / 2, Mat3::zeros());
        self.volume.push(whole.volume[parts.clone()].iter().sum());
        let fractions = whole.fraction[parts.clone()].iter().sum::<f64>();
        self.fraction.push(fractions / parts.len() as f64);
        for part in parts {
            let cell = whole.cell(part);
            let count = cell.nodes.len();
            let at = |a: &u32| {
                let a = number(*a)?;
                nodes.iter().position(|b| *b == a)
            };
            let places: SmallVec<[Option<usize>; 32]> = cell.nodes.iter().map(at).collect();
            for (i, a) in places.iter().enumerate() {
                let Some(a) = *a else {
                    continue;
                };
                self.weight[node + a] += cell.weight[i];
                let row = &cell.stiffness[pair_index(count, i, i)..];
                for (b, block) in places[i..].iter().zip(row) {
                    if let Some(b) = b {
                        // Functions have the same order in both.
                        self.stiffness[pair + pair_index(n, a, *b)] += block;
                    }
                }
            }
        }
    }

    /// Returns whether these are valid integrals over the elements of `basis`; checks data read from outside.
    pub(super) fn fits(&self, basis: &Basis) -> bool {
        let cells = basis.all_functions();
        let starts_fit = |starts: &[u32], count: fn(usize) -> usize, len: usize| {
            starts.first() == Some(&0)
                && starts.len() == cells.len() + 1
                && starts.last().is_some_and(|&s| s as usize == len)
                && starts.windows(2).zip(cells.clone()).all(|(s, functions)| {
                    s[0].checked_add(count(functions.len()) as u32) == Some(s[1])
                })
        };
        starts_fit(&self.node_starts, |n| n, self.nodes.len())
            && starts_fit(&self.pair_starts, |n| n * (n + 1) / 2, self.stiffness.len())
            && self.weight.len() == self.nodes.len()
            && self.volume.len() == cells.len()
            && self.fraction.len() == cells.len()
            && cells.clone().flatten().eq(&self.nodes)
            && self.stiffness.iter().flatten().all(|&x| is_storable(x))
            && self.volume.iter().all(|&x| x >= 0.0 && is_storable(x))
            && [&self.weight, &self.fraction]
                .into_iter()
                .flatten()
                .all(|&x| is_storable(x))
    }

    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        self.volume.len()
    }

    /// Returns whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.volume.is_empty()
    }

    /// Returns one element.
    #[inline]
    pub fn cell(&self, c: usize) -> CellBlocks<'_> {
        let nodes = self.node_starts[c] as usize..self.node_starts[c + 1] as usize;
        let pairs = self.pair_starts[c] as usize..self.pair_starts[c + 1] as usize;
        CellBlocks {
            nodes: &self.nodes[nodes.clone()],
            weight: &self.weight[nodes],
            first_pair: pairs.start,
            stiffness: &self.stiffness[pairs],
        }
    }

    /// Returns all elements in order.
    pub fn iter(&self) -> impl Iterator<Item = CellBlocks<'_>> {
        (0..self.len()).map(|c| self.cell(c))
    }

    /// Returns the volume of flesh per element, m³.
    pub fn volumes(&self) -> &[f64] {
        &self.volume
    }

    /// Returns the volume of flesh per cell of the lattice, m³.
    pub(super) fn cell_volumes(&self, basis: &Basis) -> Vec<f64> {
        let cells = 0..basis.lattice().cells().len() as u32;
        let volume = |cell| -> f64 {
            let elements = basis.elements(cell);
            let own = &self.volume[elements.start as usize..elements.end as usize];
            own.iter().sum()
        };
        cells.map(volume).collect()
    }

    /// Returns the share of each element that is flesh, 0 to 1.
    pub fn fractions(&self) -> &[f64] {
        &self.fraction
    }
}

/// Returns the index of a pair a ≤ b among those of n nodes, row by row.
fn pair_index(n: usize, a: usize, b: usize) -> usize {
    a * n - a * (a + 1) / 2 + b
}

impl CellBlocks<'_> {
    /// Sets `y` to `S z`, with one vector per node.
    #[inline]
    pub fn multiply(&self, z: &[Vec3], y: &mut [Vec3]) {
        let n = self.nodes.len();
        let (z, y) = (&z[..n], &mut y[..n]);
        y.fill(Vec3::zeros());
        let mut pair = 0;
        for a in 0..n {
            y[a] += self.stiffness[pair] * z[a];
            pair += 1;
            for b in a + 1..n {
                let s = &self.stiffness[pair];
                y[a] += s * z[b];
                y[b] += s.tr_mul(&z[a]);
                pair += 1;
            }
        }
    }
}
