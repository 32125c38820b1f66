// SPDX-License-Identifier: MIT OR Apache-2.0
//! Functions in which flesh deforms, over the cells of a lattice. [capell2002, §3.1]
//!
//! A point moves by `p(x) = Σ_a φ_a(x) p_a`: each function φ_a is a *node*, with three unknowns p_a. The first functions
//! are those of the lattice's vertices, with their numbers; each is one at its own vertex and zero at all others. *Details*
//! follow, level by level: functions at the vertices that further subdivisions of the cells bring ([`with_levels`]).
//! They have no place of their own: the coefficients of the rest shape are the lattice's vertices and zeros.
//!
//! Functions live on *elements*. Without details these are the lattice's cells, with their numbers; with J levels of
//! details they are the hexahedra of the J-times subdivided cells, cell by cell, on which each function is trilinear.
//! Sums over nodes use this module: the functions that live on an element, their values at a point, their constant
//! gradients on the pieces of an element ([`pieces`]), and the coefficients of the rest shape. For the shape of a cell, or
//! to search for a point, use the vertices of the [`Lattice`]. Every element lists the functions of its cell's own vertices
//! first, in the order of the cell's corners.
//!
//! [`with_levels`]: Basis::with_levels
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

mod active;
mod complex;
mod details;
mod kept;
mod kind;
mod nodal;
pub mod pieces;
mod slivers;
mod values;

pub use active::ActiveSet;
pub use kind::MAX_LEVELS;
pub use nodal::NodalValues;
pub use pieces::{CellPiece, Subdivision};
pub use values::{BasisRow, BasisValues, FleshShares};

use details::Details;

use crate::Vec3;
use crate::lattice::{Embedding, Lattice};
use crate::solve::ScalarMatrix;
use crate::solve::matrix::zeros;
use crate::surface::Surface;
use rayon::iter::Either;
use rayon::prelude::*;
use std::ops::Range;
use std::sync::Arc;

/// The functions over a lattice.
#[derive(Debug, Clone)]
pub struct Basis {
    lattice: Arc<Lattice>,
    /// Functions of levels above 0; `None`: there are no such levels.
    details: Option<Arc<Details>>,
}

impl Basis {
    /// Takes the functions of a lattice's vertices.
    pub fn new(lattice: Arc<Lattice>) -> Self {
        Self {
            lattice,
            details: None,
        }
    }

    /// Takes the functions of a lattice's vertices, and details of `levels` levels (at most [`MAX_LEVELS`]) that are
    /// independent on the flesh and zero on the bones. `shares` is the flesh in the pieces of at least as many
    /// subdivisions; pieces without flesh do not count.
    pub fn with_levels(lattice: Arc<Lattice>, levels: usize, shares: &FleshShares) -> Self {
        let levels = levels.min(MAX_LEVELS).min(shares.level);
        let details = (levels > 0).then(|| Details::choose(&lattice, levels, shares));
        Self {
            details: details.map(Arc::new),
            lattice,
        }
    }

    /// Returns about how much memory the integrals of a body need with `levels` levels of details in all cells and `level` subdivisions,
    /// bytes; 0 without details.
    pub fn integral_bytes(lattice: &Lattice, levels: usize, level: usize) -> u64 {
        let levels = levels.min(MAX_LEVELS);
        if levels == 0 {
            return 0;
        }
        let kinds = kind::cell_kinds(levels);
        let bytes = kinds
            .each_ref()
            .map(|kind| kind.integral_bytes(level.saturating_sub(levels)));
        let cells = lattice.cells().iter();
        cells.map(|cell| bytes[kind::kind_index(cell)]).sum()
    }

    /// Restores a basis of `elements` elements from its [`levels`](Self::levels) and [`kept_details`](Self::kept_details);
    /// `None` if these do not fit the lattice.
    pub(crate) fn restore(
        lattice: Arc<Lattice>,
        levels: usize,
        kept: Vec<u32>,
        elements: usize,
    ) -> Option<Self> {
        // Checked before memory is allocated.
        let cells = lattice.cells().iter().map(|cell| match levels {
            0 => 1,
            _ => (cell.corners().len() as u64) << (3 * (levels.min(MAX_LEVELS) - 1)),
        });
        if cells.sum::<u64>() != elements as u64 {
            return None;
        }
        let details = match levels {
            0 if kept.is_empty() => None,
            1..=MAX_LEVELS => Some(Details::restore(&lattice, levels, kept)?),
            _ => return None,
        };
        Some(Self {
            details: details.map(Arc::new),
            lattice,
        })
    }

    /// Returns the vertices of the subdivided lattice, beyond its own, whose functions are kept, ascending.
    pub(crate) fn kept_details(&self) -> &[u32] {
        self.details.as_ref().map_or(&[], |details| details.kept())
    }

    /// Returns the lattice whose cells the functions live on.
    pub fn lattice(&self) -> &Arc<Lattice> {
        &self.lattice
    }

    /// Returns the number of levels of details, 0 to [`MAX_LEVELS`].
    pub fn levels(&self) -> usize {
        self.details.as_ref().map_or(0, |details| details.levels)
    }

    /// Returns the number of functions.
    pub fn len(&self) -> usize {
        self.rest_shape().len()
    }

    /// Returns whether there are no functions.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of functions of level 0, which come first: those of the lattice's vertices. They sum to one at
    /// every point.
    #[inline]
    pub fn coarse_len(&self) -> usize {
        self.lattice.vertices().len()
    }

    /// Returns the level of a function.
    pub fn level_of(&self, function: usize) -> usize {
        let details = self.details.as_ref();
        details.map_or(0, |details| details.level_of[function] as usize)
    }

    /// Returns the number of functions of each level, 0 to [`levels`](Self::levels).
    pub fn level_counts(&self) -> Vec<usize> {
        let mut counts = vec![0; self.levels() + 1];
        (0..self.len()).for_each(|function| counts[self.level_of(function)] += 1);
        counts
    }

    /// Returns the number of functions of each level before those are dropped that are zero or dependent on the flesh, or not zero on
    /// the bones: one for each vertex that the subdivision brings.
    pub fn candidate_counts(&self) -> Vec<usize> {
        match &self.details {
            None => vec![self.len()],
            Some(details) => {
                let totals = details.counts.iter().map(|&count| count as usize);
                let before = std::iter::once(0).chain(totals.clone());
                totals
                    .zip(before)
                    .map(|(total, before)| total - before)
                    .collect()
            }
        }
    }

    /// Returns the functions of level 0 that are not zero at a function's centre, with their values there.
    pub fn coarse_row(&self, function: usize) -> BasisRow {
        match (&self.details, function.checked_sub(self.coarse_len())) {
            (Some(details), Some(detail)) => details.coarse_row(&self.lattice, detail),
            _ => std::iter::once((function as u32, 1.0)).collect(),
        }
    }

    /// Returns the functions of level 0 at an element's centre, with their values there.
    pub fn element_row(&self, element: u32) -> BasisRow {
        match &self.details {
            Some(details) => details.element_row(&self.lattice, element),
            None => {
                let corners = self.functions(element).iter();
                let share = 1.0 / corners.len() as f64;
                corners.map(|&v| (v, share)).collect()
            }
        }
    }

    /// Returns the number of elements.
    pub fn element_count(&self) -> usize {
        self.all_functions().len()
    }

    /// Returns the elements of a cell.
    pub fn elements(&self, cell: u32) -> Range<u32> {
        match &self.details {
            Some(details) => details.starts[cell as usize]..details.starts[cell as usize + 1],
            None => cell..cell + 1,
        }
    }

    /// Returns the cell of an element.
    pub fn cell(&self, element: u32) -> u32 {
        match &self.details {
            Some(details) => details.cell(element),
            None => element,
        }
    }

    /// Returns the element of a cell that holds a point in the cell or near it.
    pub fn element_at(&self, cell: u32, x: Vec3) -> u32 {
        match &self.details {
            Some(details) => details.element_at(&self.lattice, cell, x),
            None => cell,
        }
    }

    /// Returns the functions that live on an element.
    #[inline]
    pub fn functions(&self, element: u32) -> &[u32] {
        match &self.details {
            Some(details) => details.functions(element),
            None => self.lattice.cells()[element as usize].corners(),
        }
    }

    /// Returns the functions of each element in order.
    pub fn all_functions(&self) -> impl ExactSizeIterator<Item = &[u32]> + Clone {
        let details = self.details.as_ref().map(|details| details.all_functions());
        let cells = self.lattice.cells().iter().map(|cell| cell.corners());
        match details {
            Some(details) => Either::Right(details),
            None => Either::Left(cells),
        }
    }

    /// Returns the functions that live on a cell, ascending by level: those of its own corners, then details.
    pub fn cell_functions(&self, cell: u32) -> Vec<u32> {
        let corners = self.lattice.cells()[cell as usize].corners();
        let all = self.elements(cell).flat_map(|e| self.functions(e));
        let coarse = self.coarse_len();
        let mut details: Vec<u32> = all.copied().filter(|&a| a as usize >= coarse).collect();
        details.sort_unstable();
        details.dedup();
        [corners, &details].concat()
    }

    /// Returns the elements that each function lives on, ascending.
    pub fn supports(&self) -> Vec<Vec<u32>> {
        let mut supports = vec![Vec::new(); self.len()];
        for (element, functions) in (0u32..).zip(self.all_functions()) {
            functions
                .iter()
                .for_each(|&a| supports[a as usize].push(element));
        }
        supports
    }

    /// Returns pairs of neighbouring functions of level 0, in both directions, ascending: those at the ends of an edge.
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

    /// Returns a matrix of zeros with an entry wherever two functions share an element.
    pub fn matrix(&self) -> ScalarMatrix {
        zeros(self.len(), self.all_functions())
    }

    /// Returns the coefficients of the rest shape, m: `Σ_a φ_a(x) rest_a = x`. Those of details are zero.
    pub fn rest_shape(&self) -> &[Vec3] {
        match &self.details {
            Some(details) => &details.rest,
            None => self.lattice.vertices(),
        }
    }

    /// Returns the point at rest around which each function lives, m.
    pub fn centres(&self) -> &[Vec3] {
        match &self.details {
            Some(details) => &details.centres,
            None => self.lattice.vertices(),
        }
    }

    /// Returns the bone that holds each function; `None`: it is free. Bones hold functions of level 0 alone.
    pub fn bones(&self) -> &[Option<u32>] {
        match &self.details {
            Some(details) => &details.bones,
            None => &self.lattice.bones().bone_of_vertex,
        }
    }

    /// Returns the values of the functions of an element at a point in it or near it.
    pub fn values(&self, element: u32, x: Vec3) -> BasisValues {
        match &self.details {
            Some(details) => details.values(&self.lattice, element, x),
            None => {
                let values = self.lattice.weights_in(element, x);
                BasisValues::from_slice(&values[..self.functions(element).len()])
            }
        }
    }

    /// Returns the functions at a point in a cell or near it, with their values there.
    pub fn row(&self, cell: u32, x: Vec3) -> BasisRow {
        let element = self.element_at(cell, x);
        let functions = self.functions(element).iter().copied();
        functions.zip(self.values(element, x)).collect()
    }

    /// Embeds points anywhere, each in the first cell that contains it, or else in the nearest cell by extrapolation.
    pub fn embed(&self, points: &[Vec3]) -> Embedding {
        match self.details {
            None => self.lattice.embed(points),
            Some(_) => {
                let cells = points.par_iter().map(|&p| self.lattice.cell_around(p));
                self.collect_rows(cells.collect(), points)
            }
        }
    }

    /// Embeds a surface like [`embed`](Self::embed); where virtual copies of a cell overlap in space, each vertex is
    /// embedded in the copy that holds its own flesh.
    pub fn embed_surface(&self, surface: &Surface) -> Embedding {
        match self.details {
            None => self.lattice.embed_surface(surface),
            Some(_) => self.collect_rows(self.lattice.surface_cells(surface), surface.vertices()),
        }
    }

    /// Returns the set of the functions of level 0.
    pub fn coarse_set(&self) -> ActiveSet {
        ActiveSet::coarse(self.coarse_len(), self.len())
    }

    /// Returns the set of all functions.
    pub fn whole_set(&self) -> ActiveSet {
        let details = self.coarse_len() as u32..self.len() as u32;
        let mut set = self.coarse_set();
        details.for_each(|a| set.insert(a));
        set
    }

    /// Returns the functions of a set, numbered by their order in it, on elements as coarse as they allow.
    pub(crate) fn with_active(&self, set: &ActiveSet) -> Self {
        let any = (self.coarse_len() as u32..self.len() as u32).any(|a| set.contains(a));
        let details = self.details.as_ref().filter(|_| any);
        let details = details.map(|details| Details::with_active(details, &self.lattice, set));
        Self {
            lattice: self.lattice.clone(),
            details: details.map(Arc::new),
        }
    }

    /// Returns the elements of `whole` that an element of some of its functions consists of.
    pub(crate) fn parts_of_element(&self, whole: &Self, element: u32) -> Range<u32> {
        let cell = self.cell(element);
        let all = whole.elements(cell);
        let level = match &self.details {
            Some(details) => details.cell_level(cell),
            None => 0,
        };
        if level == 0 {
            return all;
        }
        let finer = 3 * (whole.levels() - level);
        let first = all.start + ((element - self.elements(cell).start) << finer);
        first..first + (1 << finer)
    }

    /// Embeds points in the given cells. Functions that are zero at a point are left out.
    fn collect_rows(&self, cells: Vec<u32>, points: &[Vec3]) -> Embedding {
        let both = cells.par_iter().zip(points);
        let rows: Vec<BasisRow> = both.map(|(&cell, &p)| self.row(cell, p)).collect();
        let coarse = self.coarse_len();
        let counts = |&(a, w): &(u32, f64)| w != 0.0 || (a as usize) < coarse;
        let rows = rows.into_iter().map(|row| row.into_iter().filter(counts));
        // Functions of elements are functions of the basis.
        Embedding::from_rows(self.len(), cells.into_iter().zip(rows)).unwrap_or_default()
    }
}

impl PartialEq for Basis {
    /// Returns whether the functions are the same, whatever the bones of their lattices.
    fn eq(&self, other: &Self) -> bool {
        let (own, others) = (&self.lattice, &other.lattice);
        let same = Arc::ptr_eq(own, others)
            || own.vertices() == others.vertices() && own.cells() == others.cells();
        same && self.levels() == other.levels() && self.kept_details() == other.kept_details()
    }
}

/// Returns the vertices and cells of a lattice whose cells are subdivided `levels` times.
#[cfg(test)]
pub(crate) fn subdivided_lattice(
    lattice: &Lattice,
    levels: usize,
) -> (Vec<Vec3>, Vec<crate::lattice::Cell>) {
    let complex = complex::Complex::new(lattice.cells(), lattice.vertices().len(), levels);
    let cells = complex.hexahedra.iter().copied();
    let vertices = complex.interpolate(lattice.vertices());
    (
        vertices,
        cells.map(crate::lattice::Cell::Hexahedron).collect(),
    )
}

#[cfg(test)]
mod tests;
