// SPDX-License-Identifier: MIT OR Apache-2.0
//! Cells in a figure: prisms around its hubs, hexahedra in the outer layers, tetrahedra in the caps of tubes.
//!
//! Hubs are vertices, and successive hubs are joined by edges. All other vertices lie on *columns*, one per spoke, at even steps from
//! the hub outward. A fan is cut in two. A cap is a fan of tetrahedra, in several rings where it is long.
//!
//! Source: [oguz2005, slides 9 and 23; crouch2007] for hexahedra along medial sheets; prisms at the hubs and the cells that close a
//! body are ours.

use crate::Vec3;
use crate::lattice::Cell;
use crate::mrep::figures::atom::Role;
use crate::mrep::figures::boundary::{Rows, Site, times, vectors};
use crate::mrep::figures::figure::{Figure, Kind};
use crate::mrep::figures::pieces::{EDGES, Part, Piece};
use std::collections::HashMap;
use std::f64::consts::TAU;

/// End factors beyond which a cap has one more ring each: straight edges from ring to pole cut off too much of a long cap. Of a half ellipsoid edges
/// keep 50 % without another ring, 85, 93 and 96 % with one, two and three. What they cut off grows with its length.
const LONG_CAPS: [f64; 3] = [1.3, 2.5, 4.0];

/// A line of vertices from a hub outward.
#[derive(Debug, Clone)]
pub(in crate::mrep) struct Column {
    pub hub: Vec3,
    pub spoke: Vec3,
    /// Distance of the last vertex from the hub, in spokes.
    pub reach: f64,
    /// Vertices from the innermost to the outermost, without the hub.
    vertices: Vec<u32>,
}

/// Cells of a figure, with columns along which their outer vertices can move.
pub(in crate::mrep) struct Complex {
    /// Positions, hubs first.
    pub vertices: Vec<Vec3>,
    pub cells: Vec<Cell>,
    pub columns: Vec<Column>,
    /// Outer faces, as three or four columns each.
    pub faces: Vec<Vec<usize>>,
    /// Triangles at each open end of a tube. They are counter-clockwise as seen from the rest of the body.
    pub ends: Vec<Vec<[u32; 3]>>,
    /// Columns around each open end.
    rims: Vec<Vec<usize>>,
    layers: usize,
}

/// Range of atoms along a tube that get cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::mrep) struct Span {
    /// First atom, and whether a cap closes it.
    pub first: (usize, bool),
    /// Last atom, and whether a cap closes it.
    pub last: (usize, bool),
}

impl Complex {
    /// Builds the cells of a figure in `layers` layers.
    pub fn new(figure: &Figure, layers: usize) -> Self {
        let mut complex = Self::empty(figure, layers);
        match figure.kind() {
            Kind::Tube { atoms, spokes } => {
                let span = Span {
                    first: (0, true),
                    last: (atoms - 1, true),
                };
                complex.tube(figure, span, spokes);
            }
            Kind::Slab { rows, cols } => complex.slab(figure, rows, cols),
        }
        complex.place();
        complex.orient();
        complex
    }

    /// Builds the cells of a piece of a tube in one layer, so that its open ends are triangles; none for a slab.
    pub fn piece(figure: &Figure, span: Span) -> Self {
        let mut complex = Self::empty(figure, 1);
        if let Kind::Tube { spokes, .. } = figure.kind() {
            complex.tube(figure, span, spokes);
        }
        complex.place();
        complex.orient();
        complex
    }

    fn empty(figure: &Figure, layers: usize) -> Self {
        Self {
            vertices: figure.atoms().iter().map(|atom| atom.hub).collect(),
            cells: Vec::new(),
            columns: Vec::new(),
            faces: Vec::new(),
            ends: Vec::new(),
            rims: Vec::new(),
            layers,
        }
    }

    /// Adds a column from a hub along a spoke.
    fn column(&mut self, hub: Vec3, spoke: Vec3) -> usize {
        let first = self.vertices.len() as u32;
        self.vertices.resize(self.vertices.len() + self.layers, hub);
        self.columns.push(Column {
            hub,
            spoke,
            reach: 1.0,
            vertices: (first..first + self.layers as u32).collect(),
        });
        self.columns.len() - 1
    }

    /// Places the vertices of all columns by their reach.
    pub fn place(&mut self) {
        for column in &self.columns {
            for (l, &v) in column.vertices.iter().enumerate() {
                let share = (l + 1) as f64 / self.layers as f64;
                self.vertices[v as usize] = column.hub + column.spoke * (column.reach * share);
            }
        }
    }

    /// Moves corners around open ends outward until the circle through the hub and two successive corners contains no other. The
    /// triangles there are then those of a Delaunay triangulation. The condition holds where the corners' inverses about the hub form
    /// a convex polygon.
    pub fn even_ends(&mut self) {
        /// Share of its distance by which a corner moves per step.
        const STEP: f64 = 0.02;
        /// Sine of the least turn at a corner of the inverses, as a share of that of a regular polygon.
        const CONVEX: f64 = 0.1;
        /// Largest number of rounds: a corner can move by a factor of `1.02⁴⁰⁰`, 2,750, which no rim needs.
        const ROUNDS: usize = 400;
        for rim in &self.rims {
            let n = rim.len();
            let least = CONVEX * (TAU / n as f64).sin();
            let normal = (self.columns[rim[0]].spoke).cross(&self.columns[rim[1 % n]].spoke);
            for _ in 0..ROUNDS {
                let inverse = |columns: &[Column], q: usize| {
                    let column = &columns[rim[q % n]];
                    column.spoke / (column.reach * column.spoke.norm_squared())
                };
                let mut even = true;
                for q in 0..n {
                    let [a, b, c] = [q + n - 1, q, q + 1].map(|k| inverse(&self.columns, k));
                    let turn = (b - a).cross(&(c - b)).dot(&normal);
                    if turn > least * (b - a).norm() * (c - b).norm() * normal.norm() {
                        continue;
                    }
                    even = false;
                    // The neighbour nearer to the hub moves.
                    let other = if a.norm() > c.norm() {
                        q + n - 1
                    } else {
                        q + 1
                    };
                    self.columns[rim[other % n]].reach *= 1.0 + STEP;
                }
                if even {
                    break;
                }
            }
        }
    }

    /// Returns the vertex of a column in a layer.
    fn at(&self, column: usize, layer: usize) -> u32 {
        self.columns[column].vertices[layer]
    }

    /// Returns the outermost vertex of a column.
    pub fn outer(&self, column: usize) -> u32 {
        self.at(column, self.layers - 1)
    }

    /// Adds the cells between two hubs with two columns each: a prism, then hexahedra.
    fn sector(&mut self, [a, b]: [u32; 2], [a0, a1, b0, b1]: [usize; 4]) {
        let corner = |c: usize| self.at(c, 0);
        let prism = [a, corner(a0), corner(a1), b, corner(b0), corner(b1)];
        self.cells.push(Cell::Prism(prism));
        self.outward([a0, a1, b0, b1]);
        self.faces.push(vec![a0, a1, b1, b0]);
    }

    /// Adds hexahedra outward along four columns.
    fn outward(&mut self, [a0, a1, b0, b1]: [usize; 4]) {
        for l in 1..self.layers {
            let at = |c: usize, l: usize| self.at(c, l);
            // Corner order: outward first, then from column 0 to 1, then from a to b.
            let hexahedron = [
                at(a0, l - 1),
                at(a0, l),
                at(a1, l - 1),
                at(a1, l),
                at(b0, l - 1),
                at(b0, l),
                at(b1, l - 1),
                at(b1, l),
            ];
            self.cells.push(Cell::Hexahedron(hexahedron));
        }
    }

    fn tube(&mut self, figure: &Figure, span: Span, spokes: usize) {
        let vectors: Vec<Vec<Vec3>> = (figure.atoms().iter().enumerate())
            .map(|(i, atom)| atom.vectors(figure.kind().role(i)))
            .collect();
        let mut rings = Vec::new();
        let (from, to) = (span.first.0, span.last.0);
        for of in &vectors[from..=to] {
            let ring: Vec<usize> = (0..spokes)
                .map(|q| self.column(of[0], of[Role::spoke(q)]))
                .collect();
            rings.push(ring);
        }
        for i in from + 1..=to {
            for q in 0..spokes {
                let r = (q + 1) % spokes;
                let (a, b) = (&rings[i - 1 - from], &rings[i - from]);
                let columns = [a[q], a[r], b[q], b[r]];
                self.sector([i as u32 - 1, i as u32], columns);
            }
        }
        for (end, closed) in [span.first, span.last] {
            let ring = &rings[end - from];
            if !closed {
                let away = if end == from { 1.0 } else { -1.0 };
                let b = figure.atoms()[end].frame.column(0) * away;
                let face = |q: usize| {
                    let [a, c] = [ring[q], ring[(q + 1) % spokes]];
                    let normal = self.columns[a].spoke.cross(&self.columns[c].spoke);
                    let face = [end as u32, self.outer(a), self.outer(c)];
                    if normal.dot(&b) < 0.0 {
                        face
                    } else {
                        [face[0], face[2], face[1]]
                    }
                };
                self.ends.push((0..spokes).map(face).collect());
                self.rims.push(ring.clone());
                continue;
            }
            let mut around = ring.clone();
            let (hub, far) = (vectors[end][0], vectors[end][Role::end_spoke(spokes)]);
            let long = far.norm() / figure.atoms()[end].reach();
            let between = LONG_CAPS.iter().filter(|from| long > **from).count();
            let pieces = Piece::all(figure);
            let cap = (pieces.iter()).find(|p| p.part == Part::Cap { last: end > 0 });
            for k in 1..=between {
                let Some(cap) = cap else {
                    break;
                };
                let p = k as f64 / (between + 1) as f64;
                let turn = |q: usize| TAU * q as f64 / spokes as f64;
                let next: Vec<usize> = (0..spokes)
                    .map(|q| self.column(hub, cap.at(p, turn(q)).spoke))
                    .collect();
                for q in 0..spokes {
                    let r = (q + 1) % spokes;
                    self.wedge(end as u32, [around[q], around[r], next[r]]);
                    self.wedge(end as u32, [around[q], next[r], next[q]]);
                }
                around = next;
            }
            let pole = self.column(hub, far);
            for q in 0..spokes {
                self.wedge(end as u32, [around[q], around[(q + 1) % spokes], pole]);
            }
        }
    }

    /// Adds a tetrahedron at a hub between three columns, and prisms outward of it.
    fn wedge(&mut self, hub: u32, columns: [usize; 3]) {
        let [a, b, c] = columns.map(|column| self.at(column, 0));
        self.cells.push(Cell::Tetrahedron([hub, a, b, c]));
        for l in 1..self.layers {
            let [a, b, c] = columns.map(|column| self.at(column, l - 1));
            let [d, e, f] = columns.map(|column| self.at(column, l));
            self.cells.push(Cell::Prism([a, b, c, d, e, f]));
        }
        self.faces.push(columns.to_vec());
    }

    fn slab(&mut self, figure: &Figure, rows: usize, cols: usize) {
        let vectors = vectors(figure);
        let maps = Rows::new(figure);
        let hub = |atom: usize| figure.atoms()[atom].hub;
        let spoke = |atom: usize, q: usize| vectors[maps.first()[atom] + Role::spoke(q)];
        let sides: Vec<Vec<usize>> = (0..2)
            .map(|q| {
                (0..rows * cols)
                    .map(|atom| self.column(hub(atom), spoke(atom, q)))
                    .collect()
            })
            .collect();
        for side in &sides {
            for i in 1..rows {
                for j in 1..cols {
                    let at = |i: usize, j: usize| i * cols + j;
                    let around = [at(i - 1, j - 1), at(i - 1, j), at(i, j - 1), at(i, j)];
                    let [a0, a1, b0, b1] = around.map(|atom| side[atom]);
                    let hubs = around.map(|atom| atom as u32);
                    let first = [a0, a1, b0, b1].map(|c| self.at(c, 0));
                    let hexahedron = [
                        hubs[0], first[0], hubs[1], first[1], hubs[2], first[2], hubs[3], first[3],
                    ];
                    self.cells.push(Cell::Hexahedron(hexahedron));
                    self.outward([a0, a1, b0, b1]);
                    self.faces.push(vec![a0, a1, b1, b0]);
                }
            }
        }
        // Fans around the border, in quarters: from the upper spoke over the end spoke to the lower one.
        let mut fans: HashMap<usize, Vec<usize>> = HashMap::new();
        for edge in EDGES {
            let atoms = edge.atoms(rows, cols);
            let last = (atoms.len() - 1) as f64;
            for (k, &atom) in atoms.iter().enumerate() {
                if fans.contains_key(&atom) {
                    continue;
                }
                let mut column = |up: bool, t: f64| {
                    let site = Site {
                        part: Part::Rim { edge, up },
                        s: k as f64 / last,
                        t,
                    };
                    let tip = times(&maps.map([maps.row(&site, 0, 0)].into_iter()), &vectors)[0];
                    self.column(hub(atom), tip - hub(atom))
                };
                let inner = [column(true, 0.5), column(true, 1.0), column(false, 0.5)];
                fans.insert(
                    atom,
                    [&[sides[0][atom]], &inner[..], &[sides[1][atom]]].concat(),
                );
            }
            for pair in atoms.windows(2) {
                let (a, b) = (fans[&pair[0]].clone(), fans[&pair[1]].clone());
                for k in 1..a.len() {
                    self.sector(
                        [pair[0] as u32, pair[1] as u32],
                        [a[k - 1], a[k], b[k - 1], b[k]],
                    );
                }
            }
        }
    }

    /// Reorders the corners of cells with negative volume.
    fn orient(&mut self) {
        for cell in &mut self.cells {
            let corners: Vec<Vec3> = cell
                .corners()
                .iter()
                .map(|v| self.vertices[*v as usize])
                .collect();
            if cell.volume(&corners) >= 0.0 {
                continue;
            }
            match cell {
                Cell::Tetrahedron(c) => c.swap(1, 2),
                Cell::Prism(c) => {
                    c.swap(1, 2);
                    c.swap(4, 5);
                }
                Cell::Hexahedron(c) => *c = [2, 3, 0, 1, 6, 7, 4, 5].map(|k| c[k]),
            }
        }
    }

    /// Returns the outer faces as triangles of columns.
    pub fn triangles(&self) -> Vec<[usize; 3]> {
        let cut = |face: &Vec<usize>| match face[..] {
            [a, b, c, d] => vec![[a, b, c], [a, c, d]],
            [a, b, c] => vec![[a, b, c]],
            _ => Vec::new(),
        };
        self.faces.iter().flat_map(cut).collect()
    }

    /// Returns the factor by which the corners of a polygon around a tube have to be farther out than its inscribed circle.
    pub fn circumscribed(spokes: usize) -> f64 {
        1.0 / (0.5 * TAU / spokes as f64).cos()
    }
}
