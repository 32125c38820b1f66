// SPDX-License-Identifier: MIT OR Apache-2.0
//! Functions in which flesh deforms, over the cells of a lattice. [capell2002, §3.1]
//!
//! A point moves by `p(x) = Σ_a φ_a(x) p_a`: each function φ_a is a *node*, with three unknowns p_a. Here the functions
//! are those of the lattice's vertices, with their numbers; each is one at its own vertex and zero at all others.
//!
//! Sums over nodes use this module: the functions that live on a cell, their values at a point, their constant
//! gradients on the pieces of a cell ([`pieces`]), and the coefficients of the rest shape. For the shape of a cell, or
//! to search for a point, use the vertices of the [`Lattice`]. Every cell lists the functions of its own vertices
//! first, in the order of its corners.
//!
//! ```
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/shapes/arm.rs"));
//! # fn main() -> Result<(), Any> {
//! let body = body()?; // of an arm of flesh around two bones: `examples/shapes/arm.rs`
//! let (basis, x) = (body.basis(), body.surface().vertices()[0]);
//! let cell = body.embedding().cells()[0];
//! let row = basis.row(cell, x);
//! // Coefficients of the rest shape give every point its own place.
//! let place: Vec3 = row.iter().map(|&(a, w)| basis.rest_shape()[a as usize] * w).sum();
//! assert!((place - x).norm() < 1e-12);
//! # Ok(())
//! # }
//! ```

pub mod pieces;

pub use pieces::{CellPiece, Subdivision};

use crate::Vec3;
use crate::lattice::{Embedding, Lattice};
use crate::solve::ScalarMatrix;
use crate::solve::matrix::zeros;
use crate::surface::Surface;
use smallvec::SmallVec;
use std::sync::Arc;

/// Functions at a point, each with its value there.
pub type BasisRow = SmallVec<[(u32, f64); 8]>;

/// Values at a point of the functions of a cell, in the cell's order.
pub type BasisValues = SmallVec<[f64; 8]>;

/// The functions over a lattice.
#[derive(Debug, Clone)]
pub struct Basis {
    lattice: Arc<Lattice>,
}

impl Basis {
    /// Takes the functions of a lattice's vertices.
    pub fn new(lattice: Arc<Lattice>) -> Self {
        Self { lattice }
    }

    /// Returns the lattice whose cells the functions live on.
    pub fn lattice(&self) -> &Arc<Lattice> {
        &self.lattice
    }

    /// Returns the number of functions.
    pub fn len(&self) -> usize {
        self.lattice.vertices().len()
    }

    /// Returns whether there are no functions.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the functions that live on a cell.
    #[inline]
    pub fn functions(&self, cell: u32) -> &[u32] {
        self.lattice.cells()[cell as usize].corners()
    }

    /// Returns the functions of each cell in order.
    pub fn all_functions(&self) -> impl ExactSizeIterator<Item = &[u32]> + Clone {
        self.lattice.cells().iter().map(|cell| cell.corners())
    }

    /// Returns the cells that each function lives on, ascending.
    pub fn supports(&self) -> Vec<Vec<u32>> {
        let mut supports = vec![Vec::new(); self.len()];
        for (cell, functions) in (0u32..).zip(self.all_functions()) {
            functions
                .iter()
                .for_each(|&a| supports[a as usize].push(cell));
        }
        supports
    }

    /// Returns pairs of neighbouring functions, in both directions, ascending: those at the ends of an edge.
    pub fn links(&self) -> Vec<(u32, u32)> {
        let mut links: Vec<(u32, u32)> = Vec::new();
        for cell in self.lattice.cells() {
            let c = cell.corners();
            for e in cell.edges() {
                links.push((c[e[0]], c[e[1]]));
                links.push((c[e[1]], c[e[0]]));
            }
        }
        links.sort_unstable();
        links.dedup();
        links
    }

    /// Returns a matrix of zeros with an entry wherever two functions share a cell.
    pub fn matrix(&self) -> ScalarMatrix {
        zeros(self.len(), self.all_functions())
    }

    /// Returns the coefficients of the rest shape, m: `Σ_a φ_a(x) rest_a = x`.
    pub fn rest_shape(&self) -> &[Vec3] {
        self.lattice.vertices()
    }

    /// Returns the point at rest around which each function lives, m.
    pub fn centres(&self) -> &[Vec3] {
        self.lattice.vertices()
    }

    /// Returns the bone that holds each function; `None`: it is free.
    pub fn bones(&self) -> &[Option<u32>] {
        &self.lattice.bones().bone_of_vertex
    }

    /// Returns the values of the functions of a cell at a point in it or near it.
    pub fn values(&self, cell: u32, x: Vec3) -> BasisValues {
        let values = self.lattice.weights_in(cell, x);
        BasisValues::from_slice(&values[..self.functions(cell).len()])
    }

    /// Returns the functions of a cell with their values at a point in it or near it.
    pub fn row(&self, cell: u32, x: Vec3) -> BasisRow {
        let values = self.lattice.weights_in(cell, x);
        self.functions(cell).iter().copied().zip(values).collect()
    }

    /// Embeds points anywhere, each in the first cell that contains it, or else in the nearest cell by extrapolation.
    pub fn embed(&self, points: &[Vec3]) -> Embedding {
        self.lattice.embed(points)
    }

    /// Embeds a surface like [`embed`](Self::embed); where virtual copies of a cell overlap in space, each vertex is
    /// embedded in the copy that holds its own flesh.
    pub fn embed_surface(&self, surface: &Surface) -> Embedding {
        self.lattice.embed_surface(surface)
    }
}

impl PartialEq for Basis {
    /// Returns whether the functions are the same, whatever the bones of their lattices.
    fn eq(&self, other: &Self) -> bool {
        let (own, others) = (&self.lattice, &other.lattice);
        Arc::ptr_eq(own, others)
            || own.vertices() == others.vertices() && own.cells() == others.cells()
    }
}

#[cfg(test)]
mod tests;
