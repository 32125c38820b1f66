// SPDX-License-Identifier: MIT OR Apache-2.0
//! The functions of levels above 0 over a lattice: which are kept, where they live, and their values.

use super::active::ActiveSet;
use super::complex::Complex;
use super::kept::kept_functions;
use super::kind::{CellKind, KindHexahedron, cell_kinds, kind_index};
use super::slivers::FinestNodes;
use super::values::{BasisRow, BasisValues, FleshShares};
use crate::Vec3;
use crate::lattice::Cell;
use crate::lattice::Lattice;
use crate::lattice::cell::{ShapeValues, weighted_position};
use std::collections::HashSet;
use std::ops::Range;

/// Details of a lattice's cells. *Elements* are the hexahedra of K_J, cell by cell.
#[derive(Debug, PartialEq)]
pub(super) struct Details {
    pub levels: usize,
    /// Number of vertices of K_0, …, K_J.
    pub counts: Vec<u32>,
    /// Of each function: coefficient of the rest shape, place at rest, bone, level.
    pub rest: Vec<Vec3>,
    pub centres: Vec<Vec3>,
    pub bones: Vec<Option<u32>>,
    pub level_of: Vec<u8>,
    /// Vertices of K_J, beyond the lattice's own, with a kept function, ascending.
    kept: Vec<u32>,
    /// First cell of each of these, and the vertex there.
    origins: Vec<(u32, u16)>,
    /// First element of each cell, and the number of all.
    pub starts: Vec<u32>,
    /// First entry of each element in the two lists, and their length.
    offsets: Vec<u32>,
    functions: Vec<u32>,
    /// Index of each function among those of the kind's hexahedron.
    places: Vec<u8>,
    /// Subdivisions of each cell into elements.
    cell_levels: Vec<u8>,
}

impl Details {
    /// Chooses the functions of `levels` levels that are independent on the flesh.
    pub fn choose(lattice: &Lattice, levels: usize, shares: &FleshShares) -> Self {
        let complex = complex(lattice, levels);
        let nodes = FinestNodes::new(&complex, shares, levels);
        let held = held_vertices(lattice, &complex, levels);
        let kept = kept_functions(&complex, &nodes, &held);
        let own = lattice.vertices().len();
        let details = (own as u32..complex.len() as u32).filter(|&v| kept[v as usize]);
        Self::new(lattice, &complex, levels, details.collect())
    }

    /// Restores details from [`kept`](Self::kept); `None` if a number is out of order or range.
    pub fn restore(lattice: &Lattice, levels: usize, kept: Vec<u32>) -> Option<Self> {
        let complex = complex(lattice, levels);
        let ends = kept.first().zip(kept.last());
        let fit = kept.windows(2).all(|w| w[0] < w[1])
            && ends.is_none_or(|(&first, &last)| {
                first as usize >= lattice.vertices().len() && (last as usize) < complex.len()
            });
        fit.then(|| Self::new(lattice, &complex, levels, kept))
    }

    fn new(lattice: &Lattice, complex: &Complex, levels: usize, kept: Vec<u32>) -> Self {
        let own = lattice.vertices().len();
        let places = complex.interpolate(lattice.vertices());
        let mut number = vec![u32::MAX; complex.len()];
        let vertices = (0..own as u32).chain(kept.iter().copied());
        for (function, v) in (0..).zip(vertices.clone()) {
            number[v as usize] = function;
        }
        let mut rest = lattice.vertices().to_vec();
        rest.resize(own + kept.len(), Vec3::zeros());
        let mut bones = lattice.bones().bone_of_vertex.clone();
        bones.resize(own + kept.len(), None);
        let mut details = Self {
            levels,
            counts: complex.counts.clone(),
            rest,
            bones,
            centres: vertices.clone().map(|v| places[v as usize]).collect(),
            level_of: vertices.map(|v| complex.level(v as usize) as u8).collect(),
            origins: vec![(u32::MAX, 0); kept.len()],
            kept,
            starts: complex.starts.clone(),
            offsets: vec![0],
            functions: Vec::new(),
            places: Vec::new(),
            cell_levels: vec![levels as u8; lattice.cells().len()],
        };
        for (c, cell) in lattice.cells().iter().enumerate() {
            details.add_cell(cell, complex, c, &number);
        }
        details
    }

    /// Adds the elements of a cell; `number` holds the function at each vertex of K_J.
    fn add_cell(&mut self, cell: &Cell, complex: &Complex, c: usize, number: &[u32]) {
        let kind = &cell_kinds(self.levels)[kind_index(cell)];
        let elements = complex.starts[c] as usize..complex.starts[c + 1] as usize;
        let vertices = cell_vertices(kind, &complex.hexahedra[elements]);
        let own = self.rest.len() - self.kept.len();
        for hexahedron in &kind.hexahedra {
            for (place, &v) in (0..).zip(&hexahedron.functions) {
                let function = number[vertices[v as usize] as usize];
                if function == u32::MAX {
                    continue;
                }
                self.functions.push(function);
                self.places.push(place);
                if let Some(detail) = (function as usize).checked_sub(own)
                    && self.origins[detail].0 == u32::MAX
                {
                    self.origins[detail] = (c as u32, v);
                }
            }
            self.offsets.push(self.functions.len() as u32);
        }
    }

    /// Chooses some of the details, on elements as coarse as they allow.
    pub fn with_active(whole: &Self, lattice: &Lattice, set: &ActiveSet) -> Self {
        let own = lattice.vertices().len();
        let functions: Vec<u32> = set.functions().collect();
        let mut number = vec![u32::MAX; whole.rest.len()];
        for (new, &old) in (0..).zip(&functions) {
            number[old as usize] = new;
        }
        let details = &functions[own..];
        let of = |a: &u32| *a as usize;
        let mut some = Self {
            levels: whole.levels,
            counts: whole.counts.clone(),
            rest: functions.iter().map(|a| whole.rest[of(a)]).collect(),
            centres: functions.iter().map(|a| whole.centres[of(a)]).collect(),
            bones: functions.iter().map(|a| whole.bones[of(a)]).collect(),
            level_of: functions.iter().map(|a| whole.level_of[of(a)]).collect(),
            kept: details.iter().map(|a| whole.kept[of(a) - own]).collect(),
            origins: details.iter().map(|a| whole.origins[of(a) - own]).collect(),
            starts: vec![0],
            offsets: vec![0],
            functions: Vec::new(),
            places: Vec::new(),
            cell_levels: Vec::with_capacity(lattice.cells().len()),
        };
        for (c, cell) in (0..).zip(lattice.cells()) {
            some.add_active_cell(whole, (c, cell), &number);
        }
        some
    }

    /// Adds the elements of a cell from those of the `whole` basis; `number` holds the new number of each of its functions.
    fn add_active_cell(&mut self, whole: &Self, (c, cell): (u32, &Cell), number: &[u32]) {
        let fine = &cell_kinds(whole.levels)[kind_index(cell)];
        let mut at_vertex = vec![u32::MAX; fine.vertices];
        let mut level = 0;
        for element in whole.starts[c as usize]..whole.starts[c as usize + 1] {
            let hexahedron = &fine.hexahedra[(element - whole.starts[c as usize]) as usize];
            for entry in whole.entries(element) {
                let function = whole.functions[entry] as usize;
                if number[function] != u32::MAX {
                    at_vertex[hexahedron.functions[whole.places[entry] as usize] as usize] =
                        number[function];
                    level = level.max(whole.level_of[function]);
                }
            }
        }
        self.cell_levels.push(level);
        if level == 0 {
            self.functions.extend(cell.corners());
            self.places.extend(0..cell.corners().len() as u8);
            self.offsets.push(self.functions.len() as u32);
        } else {
            let kind = &cell_kinds(level.into())[kind_index(cell)];
            for hexahedron in &kind.hexahedra {
                for (place, &v) in (0..).zip(&hexahedron.functions) {
                    if at_vertex[v as usize] != u32::MAX {
                        self.functions.push(at_vertex[v as usize]);
                        self.places.push(place);
                    }
                }
                self.offsets.push(self.functions.len() as u32);
            }
        }
        self.starts.push(self.offsets.len() as u32 - 1);
    }

    /// Returns the subdivisions of a cell into elements; zero if the cell itself is one.
    pub fn cell_level(&self, cell: u32) -> usize {
        self.cell_levels[cell as usize].into()
    }

    /// Returns the vertices of K_J, beyond the lattice's own, whose functions are kept, ascending.
    pub fn kept(&self) -> &[u32] {
        &self.kept
    }

    /// Returns the functions of level 0 at the centre of a detail, with their values there.
    pub fn coarse_row(&self, lattice: &Lattice, detail: usize) -> BasisRow {
        let (cell, vertex) = self.origins[detail];
        let kinds = &cell_kinds(self.levels);
        let kind = &kinds[kind_index(&lattice.cells()[cell as usize])];
        let shape = &kind.shapes[vertex as usize];
        let corners = lattice.cells()[cell as usize].corners().iter().copied();
        corners
            .zip(shape.iter().copied())
            .filter(|&(_, w)| w != 0.0)
            .collect()
    }

    /// Returns the functions that are not zero at the centre of a detail, with their values there.
    pub fn centre_row(&self, lattice: &Lattice, detail: usize) -> BasisRow {
        let (cell, vertex) = self.origins[detail];
        let hexahedra = self.kind(lattice, cell).hexahedra.iter();
        let at = hexahedra
            .zip(self.starts[cell as usize]..)
            .find_map(|(h, element)| {
                let corner = h.corners.iter().position(|&v| v == vertex)?;
                Some((h, element, corner))
            });
        let Some((hexahedron, element, corner)) = at else {
            return BasisRow::new();
        };
        let entries = self.entries(element);
        let functions = self.functions[entries.clone()].iter().copied();
        let values = self.places[entries].iter();
        functions
            .zip(values.map(|&place| hexahedron.values[place as usize][corner]))
            .filter(|&(_, value)| value != 0.0)
            .collect()
    }

    /// Returns the functions of level 0 at the centre of an element, with their values there.
    pub fn element_row(&self, lattice: &Lattice, element: u32) -> BasisRow {
        let cell = self.cell(element);
        let corners = lattice.cells()[cell as usize].corners().iter().copied();
        if self.cell_level(cell) == 0 {
            let share = 1.0 / corners.len() as f64;
            return corners.map(|v| (v, share)).collect();
        }
        let kind = self.kind(lattice, cell);
        let (hexahedron, _) = self.hexahedron(lattice, element);
        let value = |i: usize| {
            let at = hexahedron
                .corners
                .iter()
                .map(|&v| kind.shapes[v as usize][i]);
            at.sum::<f64>() / 8.0
        };
        corners.enumerate().map(|(i, v)| (v, value(i))).collect()
    }

    /// Returns the cell of an element.
    pub fn cell(&self, element: u32) -> u32 {
        self.starts.partition_point(|&start| start <= element) as u32 - 1
    }

    /// Returns the functions of an element.
    #[inline]
    pub fn functions(&self, element: u32) -> &[u32] {
        &self.functions[self.entries(element)]
    }

    /// Returns the functions of each element in order.
    pub fn all_functions(&self) -> impl ExactSizeIterator<Item = &[u32]> + Clone {
        let ends = self.offsets.windows(2);
        ends.map(|ends| &self.functions[ends[0] as usize..ends[1] as usize])
    }

    /// Returns the entries of an element in the lists of functions.
    fn entries(&self, element: u32) -> Range<usize> {
        let element = element as usize;
        self.offsets[element] as usize..self.offsets[element + 1] as usize
    }

    /// Returns the hexahedron of its kind that an element of a subdivided cell is, with the index there of each of its functions.
    pub fn hexahedron(&self, lattice: &Lattice, element: u32) -> (&'static KindHexahedron, &[u8]) {
        let cell = self.cell(element);
        let kind = self.kind(lattice, cell);
        let local = element - self.starts[cell as usize];
        (
            &kind.hexahedra[local as usize],
            &self.places[self.entries(element)],
        )
    }

    /// Returns the kind of a subdivided cell.
    pub fn kind(&self, lattice: &Lattice, cell: u32) -> &'static CellKind {
        &cell_kinds(self.cell_level(cell))[kind_index(&lattice.cells()[cell as usize])]
    }

    /// Returns the corners at rest of an element, m.
    pub fn corners(&self, lattice: &Lattice, element: u32) -> [Vec3; 8] {
        let cell = self.cell(element);
        let kind = self.kind(lattice, cell);
        let x = lattice.corners(cell);
        let (hexahedron, _) = self.hexahedron(lattice, element);
        hexahedron
            .corners
            .map(|v| weighted_position(&x, &kind.shapes[v as usize]))
    }

    /// Returns the element of a cell that holds a point, or that is nearest to it in local coordinates.
    pub fn element_at(&self, lattice: &Lattice, cell: u32, x: Vec3) -> u32 {
        if self.cell_level(cell) == 0 {
            return self.starts[cell as usize];
        }
        let l = lattice.clamped_coordinates(cell, x);
        self.starts[cell as usize] + self.kind(lattice, cell).hexahedron_at(l) as u32
    }

    /// Returns the values of an element's functions at a point in it or near it. Outside of the cell the lattice's own
    /// functions are extrapolated, and details keep their value at the nearest point.
    pub fn values(&self, lattice: &Lattice, element: u32, x: Vec3) -> BasisValues {
        let cell = self.cell(element);
        let own = lattice.weights_in(cell, x);
        let corners = lattice.cells()[cell as usize].corners().len();
        if self.cell_level(cell) == 0 {
            return BasisValues::from_slice(&own[..corners]);
        }
        let l = lattice.clamped_coordinates(cell, x);
        let local = element - self.starts[cell as usize];
        let place = self.kind(lattice, cell).place_in(local as usize, l);
        let weights: ShapeValues = Cell::Hexahedron([0; 8]).shape_values(place);
        let (hexahedron, places) = self.hexahedron(lattice, element);
        let value = |(i, &at): (usize, &u8)| match i < corners {
            true => own[i],
            false => hexahedron.value(at as usize, &weights),
        };
        places.iter().enumerate().map(value).collect()
    }
}

/// Subdivides the cells of a lattice.
fn complex(lattice: &Lattice, levels: usize) -> Complex {
    Complex::new(lattice.cells(), lattice.vertices().len(), levels)
}

/// Returns the vertex of the whole complex at each vertex of a cell's own, given the cell's hexahedra.
fn cell_vertices(kind: &CellKind, hexahedra: &[[u32; 8]]) -> Vec<u32> {
    let mut vertices = vec![0; kind.vertices];
    for (own, whole) in kind.hexahedra.iter().zip(hexahedra) {
        for (&v, &number) in own.corners.iter().zip(whole) {
            vertices[v as usize] = number;
        }
    }
    vertices
}

/// Returns for each vertex of K_J that the lattice lacks whether it lies on a bone: on an edge of a chain, or between lattice
/// vertices that one bone holds.
fn held_vertices(lattice: &Lattice, complex: &Complex, levels: usize) -> Vec<bool> {
    let bones = lattice.bones();
    let ordered = |a: u32, b: u32| (a.min(b), a.max(b));
    let edges = bones.chains.iter().flat_map(|chain| chain.windows(2));
    let edges: HashSet<(u32, u32)> = edges.map(|w| ordered(w[0], w[1])).collect();
    let bone = |v: u32| bones.bone_of_vertex[v as usize];
    let mut held = vec![false; complex.len()];
    for (c, cell) in lattice.cells().iter().enumerate() {
        let kind = &cell_kinds(levels)[kind_index(cell)];
        let elements = complex.starts[c] as usize..complex.starts[c + 1] as usize;
        let vertices = cell_vertices(kind, &complex.hexahedra[elements]);
        for (shape, &v) in kind.shapes.iter().zip(&vertices).skip(cell.corners().len()) {
            let between = cell.corners().iter().zip(shape).filter(|(_, w)| **w > 0.0);
            let between: Vec<u32> = between.map(|(&v, _)| v).collect();
            let on_chain = match between[..] {
                [a, b] => edges.contains(&ordered(a, b)),
                _ => false,
            };
            let first = bone(between[0]);
            held[v as usize] =
                on_chain || first.is_some() && between.iter().all(|&v| bone(v) == first);
        }
    }
    held
}
