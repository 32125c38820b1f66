// SPDX-License-Identifier: MIT OR Apache-2.0
//! Flesh as pieces with constant gradients, over which elastic energies, rotations and stiffness are summed.
//!
//! A tetrahedral mesh has one piece per tetrahedron. A cell of a lattice has one piece if it is a tetrahedron
//! (its functions are linear), else one for each tetrahedron of its subdivision. [capell2002, §3.3] Integrals
//! over pieces serve both kinds of bodies alike.

use super::Material;
use crate::range::{all_storable, is_storable};
use crate::solve::matrix::zeros;
use crate::solve::{BlockMatrix, NodeMatrix, ScalarMatrix};
use crate::{Mat3, Vec3};
use std::ops::Range;

/// Elements over any number of nodes, each with pieces of constant gradients.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Elements {
    nodes: usize,
    /// Number of nodes with a place, which come first; the others are details.
    placed: usize,
    corner_starts: Vec<u32>,
    corners: Vec<u32>,
    piece_starts: Vec<u32>,
    /// For each piece, the start of its gradients.
    gradient_starts: Vec<u32>,
    gradients: Vec<Vec3>,
    volumes: Vec<f64>,
    lame: Vec<f64>,
    shear: Vec<f64>,
}

/// One piece of an element.
#[derive(Debug, Clone, Copy)]
pub struct ElementPiece<'a> {
    /// Gradients of the nodes' functions, 1/m, one per node of the element.
    pub gradients: &'a [Vec3],
    /// Volume of flesh that the piece represents, m³.
    pub volume: f64,
    /// Lamé's first parameter, Pa.
    pub lame: f64,
    /// Shear modulus, Pa.
    pub shear: f64,
}

impl ElementPiece<'_> {
    /// Returns the block of the linear stiffness of functions with two gradients, N/m.
    pub(crate) fn stiffness_block(&self, ga: &Vec3, gb: &Vec3) -> Mat3 {
        let block = ga * gb.transpose() * self.lame
            + gb * ga.transpose() * self.shear
            + Mat3::identity() * (self.shear * ga.dot(gb));
        block * self.volume
    }
}

impl Elements {
    /// Starts without elements, over `nodes` nodes.
    pub fn new(nodes: usize) -> Self {
        Self::with_details(nodes, nodes)
    }

    /// Starts without elements, over `placed` nodes whose functions sum to one, and details up to `nodes` nodes. Every element has
    /// the former first.
    pub fn with_details(nodes: usize, placed: usize) -> Self {
        Self {
            nodes,
            placed,
            corner_starts: vec![0],
            corners: Vec::new(),
            piece_starts: vec![0],
            gradient_starts: vec![0],
            gradients: Vec::new(),
            volumes: Vec::new(),
            lame: Vec::new(),
            shear: Vec::new(),
        }
    }

    /// Adds an element with its nodes and pieces.
    pub fn push<'a>(
        &mut self,
        corners: &[u32],
        pieces: impl IntoIterator<Item = ElementPiece<'a>>,
    ) {
        self.corners.extend(corners);
        self.corner_starts.push(self.corners.len() as u32);
        for piece in pieces {
            self.gradients.extend(piece.gradients);
            self.gradient_starts.push(self.gradients.len() as u32);
            self.volumes.push(piece.volume);
            self.lame.push(piece.lame);
            self.shear.push(piece.shear);
        }
        self.piece_starts.push(self.volumes.len() as u32);
    }

    /// Builds tetrahedra of one material; flat ones have zero volume.
    pub fn tetrahedra(vertices: &[Vec3], tets: &[[u32; 4]], material: &Material) -> Self {
        let mut all = Self::new(vertices.len());
        for tet in tets {
            let x = tet.map(|v| vertices[v as usize]);
            let (gradients, volume) = gradients(&x);
            let piece = ElementPiece {
                gradients: &gradients,
                volume,
                lame: material.lame(),
                shear: material.shear(),
            };
            all.push(tet, [piece]);
        }
        all
    }

    /// Returns whether stored elements have the given corners over `nodes` nodes, of which `placed` have a place, and sound numbers.
    pub(crate) fn fits<'a>(
        &self,
        (nodes, placed): (usize, usize),
        corners: impl ExactSizeIterator<Item = &'a [u32]>,
    ) -> bool {
        let runs = |starts: &[u32], count: usize, len: usize| {
            starts.len() == count + 1
                && starts[0] == 0
                && starts.windows(2).all(|s| s[0] <= s[1])
                && starts[count] as usize == len
        };
        let pieces = self.volumes.len();
        let fit = self.nodes == nodes
            && self.placed == placed
            && self.corners.iter().all(|&v| (v as usize) < nodes)
            && runs(&self.corner_starts, corners.len(), self.corners.len())
            && runs(&self.piece_starts, corners.len(), pieces)
            && runs(&self.gradient_starts, pieces, self.gradients.len())
            && self.lame.len() == pieces
            && self.shear.len() == pieces
            && self.gradients.iter().all(all_storable)
            && self.volumes.iter().all(|&x| x >= 0.0 && is_storable(x))
            && [&self.lame, &self.shear]
                .into_iter()
                .flatten()
                .all(|&x| is_storable(x));
        fit && self.all_corners().eq(corners)
            && (0..self.len()).all(|e| {
                let n = self.corners(e).len();
                self.pieces(e).all(|piece| piece.gradients.len() == n)
            })
    }

    /// Returns whether stored elements without details fit themselves and `nodes` nodes.
    pub(crate) fn is_consistent(&self, nodes: usize) -> bool {
        let starts = &self.corner_starts;
        starts.first() == Some(&0)
            && starts.windows(2).all(|s| s[0] <= s[1])
            && starts
                .last()
                .is_some_and(|&s| s as usize == self.corners.len())
            && self.fits((nodes, nodes), self.all_corners())
    }

    /// Returns the number of nodes.
    pub fn node_count(&self) -> usize {
        self.nodes
    }

    /// Returns whether a node has a place, and takes part in a translation.
    #[inline]
    pub(super) fn is_placed(&self, node: u32) -> bool {
        (node as usize) < self.placed
    }

    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        self.corner_starts.len() - 1
    }

    /// Returns whether the list of elements is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the nodes of an element.
    #[inline]
    pub fn corners(&self, element: usize) -> &[u32] {
        let (a, b) = (self.corner_starts[element], self.corner_starts[element + 1]);
        &self.corners[a as usize..b as usize]
    }

    /// Returns the nodes of each element in order.
    pub fn all_corners(&self) -> impl ExactSizeIterator<Item = &[u32]> {
        (0..self.len()).map(|e| self.corners(e))
    }

    /// Returns the pieces of an element.
    #[inline]
    pub fn pieces(&self, element: usize) -> impl Iterator<Item = ElementPiece<'_>> {
        let (a, b) = (self.piece_starts[element], self.piece_starts[element + 1]);
        (a as usize..b as usize).map(|p| ElementPiece {
            gradients: &self.gradients
                [self.gradient_starts[p] as usize..self.gradient_starts[p + 1] as usize],
            volume: self.volumes[p],
            lame: self.lame[p],
            shear: self.shear[p],
        })
    }

    /// Returns whether a piece of an element is inverted or flat with the nodes at `positions`.
    pub(crate) fn is_inverted(&self, element: usize, positions: &[Vec3]) -> bool {
        let mut volumes = self.piece_determinants(element, |a| positions[a]);
        volumes.any(|volume| volume.is_nan() || volume <= 0.0)
    }

    /// Returns the least volume of a piece of an element over that at rest, with each node at a position; `None` without pieces.
    pub(crate) fn least_determinant(
        &self,
        element: usize,
        position: impl Fn(usize) -> Vec3,
    ) -> Option<f64> {
        self.piece_determinants(element, position).reduce(f64::min)
    }

    /// Returns the volume over that at rest of each piece of an element, negative for inverted ones.
    fn piece_determinants(
        &self,
        element: usize,
        position: impl Fn(usize) -> Vec3,
    ) -> impl Iterator<Item = f64> {
        let corners = self.corners(element);
        self.pieces(element).map(move |piece| {
            let both = corners.iter().zip(piece.gradients);
            let map: Mat3 = both
                .map(|(&a, g)| position(a as usize) * g.transpose())
                .sum();
            map.determinant()
        })
    }

    /// Returns Young's modulus of some elements, the mean over their pieces by volume, Pa; `None` without flesh.
    pub fn young(&self, elements: Range<usize>) -> Option<f64> {
        let (mut sum, mut volume) = (0.0, 0.0);
        for piece in elements.flat_map(|e| self.pieces(e)) {
            let (lame, shear) = (piece.lame, piece.shear);
            sum += piece.volume * shear * (3.0 * lame + 2.0 * shear) / (lame + shear);
            volume += piece.volume;
        }
        (volume > 0.0).then(|| sum / volume)
    }

    /// Returns the same elements with moduli multiplied by `factor`.
    pub fn with_scaled_stiffness(&self, factor: f64) -> Self {
        Self {
            lame: self.lame.iter().map(|x| x * factor).collect(),
            shear: self.shear.iter().map(|x| x * factor).collect(),
            ..self.clone()
        }
    }

    /// Sets the moduli of an element's pieces to those of element `from` of others, which has the same pieces, times a factor.
    pub(crate) fn set_scaled_moduli(
        &mut self,
        element: usize,
        others: &Self,
        from: usize,
        factor: f64,
    ) {
        let own = self.piece_starts[element] as usize..self.piece_starts[element + 1] as usize;
        let first = others.piece_starts[from] as usize;
        for (k, piece) in own.enumerate() {
            self.lame[piece] = others.lame[first + k] * factor;
            self.shear[piece] = others.shear[first + k] * factor;
        }
    }

    /// Returns a subset of the elements over `nodes`, some nodes in ascending order, renumbered by their place there.
    pub fn subset(&self, chosen: &[u32], nodes: &[u32]) -> Self {
        let renamed = |v: u32| nodes.partition_point(|&w| w < v) as u32;
        let placed = nodes.partition_point(|&v| self.is_placed(v));
        let mut part = Self::with_details(nodes.len(), placed);
        for &e in chosen {
            let corners = self.corners(e as usize).iter();
            let corners: Vec<u32> = corners.map(|&v| renamed(v)).collect();
            part.push(&corners, self.pieces(e as usize));
        }
        part
    }

    /// Returns the linear stiffness matrix, N/m: `S_ab = Σ |T| (λ g_a g_bᵀ + G g_b g_aᵀ + G (g_a·g_b) I)`.
    /// [capell2002, §3.3]
    pub fn stiffness_matrix(&self) -> BlockMatrix {
        let mut matrix: BlockMatrix = zeros(self.nodes, self.all_corners());
        self.add_stiffness(&mut matrix);
        matrix
    }

    /// Adds the linear stiffness to a matrix that has an entry wherever two nodes share an element.
    pub(crate) fn add_stiffness(&self, matrix: &mut BlockMatrix) {
        for e in 0..self.len() {
            let corners = self.corners(e);
            for piece in self.pieces(e) {
                for (i, (&a, ga)) in corners.iter().zip(piece.gradients).enumerate() {
                    for (&b, gb) in corners.iter().zip(piece.gradients).skip(i) {
                        matrix.add_pair(a, b, &piece.stiffness_block(ga, gb));
                    }
                }
            }
        }
    }

    /// Returns the nodes' rotation vectors at displacements `u`: `½ ∇×u` of each element (the mean over its
    /// pieces, by volume), then the mean over the elements around each node. [choi2003, §3.2, eq. 7]
    pub fn rotations(&self, u: &[Vec3]) -> Vec<Vec3> {
        let mut sums = vec![Vec3::zeros(); self.nodes];
        let mut counts = vec![0u32; self.nodes];
        for e in 0..self.len() {
            let corners = self.corners(e);
            let (mut curl, mut volume) = (Vec3::zeros(), 0.0);
            for piece in self.pieces(e) {
                for (&a, g) in corners.iter().zip(piece.gradients) {
                    curl += g.cross(&u[a as usize]) * piece.volume;
                }
                volume += piece.volume;
            }
            if volume <= 0.0 {
                continue;
            }
            for &a in corners {
                sums[a as usize] += curl * (0.5 / volume);
                counts[a as usize] += 1;
            }
        }
        for (sum, &count) in sums.iter_mut().zip(&counts) {
            *sum /= f64::from(count.max(1));
        }
        sums
    }
}

/// Returns the gradients of the four linear functions of a tetrahedron, and its volume (not negative; flat:
/// all zero).
pub fn gradients(x: &[Vec3; 4]) -> ([Vec3; 4], f64) {
    let edges = Mat3::from_columns(&[x[1] - x[0], x[2] - x[0], x[3] - x[0]]);
    let Some(inverse) = edges.try_inverse() else {
        return ([Vec3::zeros(); 4], 0.0);
    };
    let row = |i: usize| inverse.row(i).transpose();
    let (a, b, c) = (row(0), row(1), row(2));
    ([-(a + b + c), a, b, c], edges.determinant().abs() / 6.0)
}

/// Returns the consistent mass matrix of tetrahedra, kg: `ρ |T|/20 (1 + δ_ab)`.
pub fn tetrahedral_mass(vertices: &[Vec3], tets: &[[u32; 4]], density: f64) -> ScalarMatrix {
    let corners = tets.iter().map(|t| t.as_slice());
    let mut mass: ScalarMatrix = zeros(vertices.len(), corners);
    for tet in tets {
        let (_, volume) = gradients(&tet.map(|v| vertices[v as usize]));
        for (i, &a) in tet.iter().enumerate() {
            for (j, &b) in tet.iter().enumerate() {
                let same = if i == j { 2.0 } else { 1.0 };
                mass.add(a, b, density * volume / 20.0 * same);
            }
        }
    }
    mass
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::elasticity::Material;

    /// The elements find the rotation vector of a linear turn, which costs no linear energy.
    #[test]
    fn turn_gives_rotation_vector() {
        let x = [
            Vec3::zeros(),
            Vec3::new(1.0, 0.1, 0.0),
            Vec3::new(0.2, 1.3, 0.1),
            Vec3::new(0.0, 0.3, 0.9),
            Vec3::new(1.0, 1.0, 1.2),
        ];
        let tets = [[0, 1, 2, 3], [1, 2, 3, 4]];
        let elements = Elements::tetrahedra(&x, &tets, &Material::default());
        let w = Vec3::new(0.3, -0.2, 0.7);
        let u: Vec<Vec3> = x.iter().map(|x| w.cross(x)).collect();
        for r in elements.rotations(&u) {
            assert!((r - w).norm() < 1e-14);
        }
        // An infinitesimal turn costs no linear energy, a translation neither.
        let k = elements.stiffness_matrix();
        let mut f = u.clone();
        k.times(&u, &mut f);
        assert!(f.iter().all(|f| f.norm() < 1e-10));
    }

    #[test]
    fn mass_equals_density_times_volume() {
        let x = [Vec3::zeros(), Vec3::x(), Vec3::y(), Vec3::z()];
        let m = tetrahedral_mass(&x, &[[0, 1, 2, 3]], 600.0);
        approx::assert_relative_eq!(m.data().iter().sum::<f64>(), 100.0, max_relative = 1e-12);
    }

    /// The Young's modulus of an element is that of its material, and an element without pieces has none.
    #[test]
    fn young_matches_material() {
        let x = [Vec3::zeros(), Vec3::x(), Vec3::y(), Vec3::z()];
        for (young, poisson) in [(2e4, 0.45), (3.0, 0.0), (1e9, -0.6)] {
            let material = Material::new(young, poisson, 600.0).unwrap();
            let elements = Elements::tetrahedra(&x, &[[0, 1, 2, 3]], &material);
            let found = elements.young(0..1).unwrap();
            approx::assert_relative_eq!(found, young, max_relative = 1e-12);
            let stiffer = elements.with_scaled_stiffness(2.5).young(0..1).unwrap();
            approx::assert_relative_eq!(stiffer, 2.5 * young, max_relative = 1e-12);
        }
        let mut empty = Elements::new(4);
        empty.push(&[0, 1, 2, 3], []);
        assert_eq!(empty.young(0..1), None);
    }

    /// Elements of other cells and damaged elements do not fit.
    #[test]
    fn fits_refuses_other_elements() {
        let x = [
            Vec3::zeros(),
            Vec3::x(),
            Vec3::y(),
            Vec3::z(),
            Vec3::new(1.0, 1.0, 1.0),
        ];
        let tets = [[0, 1, 2, 3], [1, 2, 3, 4]];
        let good = Elements::tetrahedra(&x, &tets, &Material::default());
        let fits = |elements: &Elements, tets: &[[u32; 4]]| {
            elements.fits((5, 5), tets.iter().map(|t| &t[..]))
        };
        assert!(fits(&good, &tets));
        assert!(!fits(&good, &tets[..1]) && !fits(&good, &[[0, 1, 2, 3], [1, 2, 4, 3]]));
        let spoilt: [fn(&mut Elements); 8] = [
            |e| e.nodes = 4,
            |e| e.corners[3] = 5,
            |e| e.volumes[0] = -1.0,
            |e| e.volumes[1] = f64::NAN,
            |e| e.lame[0] = f64::INFINITY,
            |e| e.shear.truncate(1),
            |e| e.gradients[2].y = f64::NAN,
            |e| e.gradient_starts[1] = 3,
        ];
        for (i, spoil) in spoilt.into_iter().enumerate() {
            let mut bad = good.clone();
            spoil(&mut bad);
            assert!(!fits(&bad, &tets), "{i}");
        }
    }
}
