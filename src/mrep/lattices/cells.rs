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
use crate::mrep::figures::boundary::{BoundaryRows, Site, figure_vectors, multiply};
use crate::mrep::figures::figure::{Figure, FigureKind};
use crate::mrep::figures::pieces::{EDGES, FigurePiece, VolumePart};
use std::collections::HashMap;
use std::f64::consts::TAU;

/// End factors beyond which a cap has one more ring each: straight edges from ring to pole cut off too much of a long cap. Of a half ellipsoid edges
/// keep 50 % without another ring, 85, 93 and 96 % with one, two and three. What they cut off grows with its length.
const CAP_RING_END_FACTORS: [f64; 3] = [1.3, 2.5, 4.0];

/// A line of vertices from a hub outward.
#[derive(Debug, Clone)]
pub(in crate::mrep) struct VertexColumn {
    pub hub: Vec3,
    pub spoke: Vec3,
    /// Distance of the last vertex from the hub, in spokes.
    pub reach: f64,
    /// Vertices from the innermost to the outermost, without the hub.
    vertices: Vec<u32>,
}

/// Cells of a figure, with columns along which their outer vertices can move.
pub(in crate::mrep) struct FigureCells {
    /// Positions, hubs first.
    pub vertices: Vec<Vec3>,
    pub cells: Vec<Cell>,
    pub columns: Vec<VertexColumn>,
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
pub(in crate::mrep) struct AtomSpan {
    /// First atom, and whether a cap closes it.
    pub first: (usize, bool),
    /// Last atom, and whether a cap closes it.
    pub last: (usize, bool),
}

impl FigureCells {
    /// Builds the cells of a figure in `layers` layers.
    pub fn new(figure: &Figure, layers: usize) -> Self {
        let mut complex = Self::empty(figure, layers);
        match figure.kind() {
            FigureKind::Tube { atoms, spokes } => {
                let span = AtomSpan {
                    first: (0, true),
                    last: (atoms - 1, true),
                };
                complex.add_tube(figure, span, spokes);
            }
            FigureKind::Slab { rows, cols } => complex.add_slab(figure, rows, cols),
        }
        complex.place_vertices();
        complex.orient();
        complex
    }

    /// Builds the cells of a piece of a tube in one layer, so that its open ends are triangles; none for a slab.
    pub fn for_tube_span(figure: &Figure, span: AtomSpan) -> Self {
        let mut complex = Self::empty(figure, 1);
        if let FigureKind::Tube { spokes, .. } = figure.kind() {
            complex.add_tube(figure, span, spokes);
        }
        complex.place_vertices();
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
    fn add_column(&mut self, hub: Vec3, spoke: Vec3) -> usize {
        let first = self.vertices.len() as u32;
        self.vertices.resize(self.vertices.len() + self.layers, hub);
        self.columns.push(VertexColumn {
            hub,
            spoke,
            reach: 1.0,
            vertices: (first..first + self.layers as u32).collect(),
        });
        self.columns.len() - 1
    }

    /// Places the vertices of all columns by their reach.
    pub fn place_vertices(&mut self) {
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
    pub fn even_out_ends(&mut self) {
        /// Share of its distance by which a corner moves per step.
        const CORNER_STEP: f64 = 0.02;
        /// Sine of the least turn at a corner of the inverses, as a share of that of a regular polygon.
        const MIN_TURN_SINE: f64 = 0.1;
        /// Largest number of rounds: a corner can move by a factor of `1.02⁴⁰⁰`, 2,750, which no rim needs.
        const MAX_CORNER_ROUNDS: usize = 400;
        for rim in &self.rims {
            let n = rim.len();
            let least = MIN_TURN_SINE * (TAU / n as f64).sin();
            let normal = (self.columns[rim[0]].spoke).cross(&self.columns[rim[1 % n]].spoke);
            for _ in 0..MAX_CORNER_ROUNDS {
                let inverse = |columns: &[VertexColumn], q: usize| {
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
                    self.columns[rim[other % n]].reach *= 1.0 + CORNER_STEP;
                }
                if even {
                    break;
                }
            }
        }
    }

    /// Returns the vertex of a column in a layer.
    fn vertex(&self, column: usize, layer: usize) -> u32 {
        self.columns[column].vertices[layer]
    }

    /// Returns the outermost vertex of a column.
    pub fn outer_vertex(&self, column: usize) -> u32 {
        self.vertex(column, self.layers - 1)
    }

    /// Adds the cells between two hubs with two columns each: a prism, then hexahedra.
    fn add_sector(&mut self, [a, b]: [u32; 2], [a0, a1, b0, b1]: [usize; 4]) {
        let corner = |c: usize| self.vertex(c, 0);
        let prism = [a, corner(a0), corner(a1), b, corner(b0), corner(b1)];
        self.cells.push(Cell::Prism(prism));
        self.add_outer_cells([a0, a1, b0, b1]);
        self.faces.push(vec![a0, a1, b1, b0]);
    }

    /// Adds hexahedra outward along four columns.
    fn add_outer_cells(&mut self, [a0, a1, b0, b1]: [usize; 4]) {
        for l in 1..self.layers {
            let at = |c: usize, l: usize| self.vertex(c, l);
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

    fn add_tube(&mut self, figure: &Figure, span: AtomSpan, spokes: usize) {
        let vectors: Vec<Vec<Vec3>> = (figure.atoms().iter().enumerate())
            .map(|(i, atom)| atom.vectors(figure.kind().role(i)))
            .collect();
        let mut rings = Vec::new();
        let (from, to) = (span.first.0, span.last.0);
        for of in &vectors[from..=to] {
            let ring: Vec<usize> = (0..spokes)
                .map(|q| self.add_column(of[0], of[Role::spoke_index(q)]))
                .collect();
            rings.push(ring);
        }
        for i in from + 1..=to {
            for q in 0..spokes {
                let r = (q + 1) % spokes;
                let (a, b) = (&rings[i - 1 - from], &rings[i - from]);
                let columns = [a[q], a[r], b[q], b[r]];
                self.add_sector([i as u32 - 1, i as u32], columns);
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
                    let face = [end as u32, self.outer_vertex(a), self.outer_vertex(c)];
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
            let (hub, far) = (vectors[end][0], vectors[end][Role::end_spoke_index(spokes)]);
            let long = far.norm() / figure.atoms()[end].mean_spoke_length();
            let between = CAP_RING_END_FACTORS
                .iter()
                .filter(|from| long > **from)
                .count();
            let pieces = FigurePiece::for_figure(figure);
            let cap = (pieces.iter()).find(|p| p.part == VolumePart::Cap { last: end > 0 });
            for k in 1..=between {
                let Some(cap) = cap else {
                    break;
                };
                let p = k as f64 / (between + 1) as f64;
                let turn = |q: usize| TAU * q as f64 / spokes as f64;
                let next: Vec<usize> = (0..spokes)
                    .map(|q| self.add_column(hub, cap.evaluate(p, turn(q)).spoke))
                    .collect();
                for q in 0..spokes {
                    let r = (q + 1) % spokes;
                    self.add_wedge(end as u32, [around[q], around[r], next[r]]);
                    self.add_wedge(end as u32, [around[q], next[r], next[q]]);
                }
                around = next;
            }
            let pole = self.add_column(hub, far);
            for q in 0..spokes {
                self.add_wedge(end as u32, [around[q], around[(q + 1) % spokes], pole]);
            }
        }
    }

    /// Adds a tetrahedron at a hub between three columns, and prisms outward of it.
    fn add_wedge(&mut self, hub: u32, columns: [usize; 3]) {
        let [a, b, c] = columns.map(|column| self.vertex(column, 0));
        self.cells.push(Cell::Tetrahedron([hub, a, b, c]));
        for l in 1..self.layers {
            let [a, b, c] = columns.map(|column| self.vertex(column, l - 1));
            let [d, e, f] = columns.map(|column| self.vertex(column, l));
            self.cells.push(Cell::Prism([a, b, c, d, e, f]));
        }
        self.faces.push(columns.to_vec());
    }

    fn add_slab(&mut self, figure: &Figure, rows: usize, cols: usize) {
        let vectors = figure_vectors(figure);
        let maps = BoundaryRows::new(figure);
        let hub = |atom: usize| figure.atoms()[atom].hub;
        let spoke =
            |atom: usize, q: usize| vectors[maps.first_vectors()[atom] + Role::spoke_index(q)];
        let sides: Vec<Vec<usize>> = (0..2)
            .map(|q| {
                (0..rows * cols)
                    .map(|atom| self.add_column(hub(atom), spoke(atom, q)))
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
                    let first = [a0, a1, b0, b1].map(|c| self.vertex(c, 0));
                    let hexahedron = [
                        hubs[0], first[0], hubs[1], first[1], hubs[2], first[2], hubs[3], first[3],
                    ];
                    self.cells.push(Cell::Hexahedron(hexahedron));
                    self.add_outer_cells([a0, a1, b0, b1]);
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
                        part: VolumePart::Rim { edge, up },
                        s: k as f64 / last,
                        t,
                    };
                    let tip = multiply(
                        &maps.weight_matrix([maps.row(&site, 0, 0)].into_iter()),
                        &vectors,
                    )[0];
                    self.add_column(hub(atom), tip - hub(atom))
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
                    self.add_sector(
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
    pub fn circumscription_factor(spokes: usize) -> f64 {
        1.0 / (0.5 * TAU / spokes as f64).cos()
    }
}
