// SPDX-License-Identifier: MIT OR Apache-2.0
//! The implied boundary as a mesh, by fixed sparse matrices: `y = Σ_i W_i (x_i + Σ_q V_q L_iq)`.
//!
//! The weights depend on the kind of figure, its knots and the level alone. One sparse product therefore moves the mesh with its atoms, and
//! further products give the derivatives. The sides of a fan use the weights of its edge, which keeps the mesh closed. For a mesh that does
//! not move, [`mesh`] computes the same rows one at a time, without matrices.
//!
//! Source: [oguz2005, slides 6 to 8]; `[thall2004]` for boundaries interpolated through spokes, here by splines.

use crate::Vec3;
use crate::mrep::error::MRepError;
use crate::mrep::figures::atom::Role;
use crate::mrep::figures::figure::{Figure, FigureKind};
use crate::mrep::figures::pieces::{HERMITE, VolumePart, fan};
pub(in crate::mrep) use crate::mrep::figures::sites::Site;
use crate::mrep::figures::sites::{build_sites, coordinates, vertex_count};
use crate::mrep::spline::{Spline, power_derivatives};
use crate::progress::{Progress, map_parallel};
use sprs::CsMatI;
use std::f64::consts::{FRAC_PI_2, TAU};

/// Largest number of entries in each map of a [`Boundary`]. Three maps then take 1 GB. A mesh with 80 weights per vertex, such as a limb of
/// nine atoms, may have 330,000 vertices.
const MAX_ENTRIES: usize = 1 << 25;

/// A sparse matrix of weights.
pub(in crate::mrep) type WeightMatrix = CsMatI<f64, u32>;

/// Sample sites on the boundary, triangles over them, and the sparse matrices that place them.
#[derive(Debug, Clone)]
pub struct Boundary {
    /// (u, v, φ, 1) of each vertex.
    pub coordinates: Vec<[f64; 4]>,
    /// Vertices of each triangle, counter-clockwise from outside.
    pub triangles: Vec<[u32; 3]>,
    /// Matrix from the vectors of all atoms to vertex positions.
    pub(in crate::mrep) value: WeightMatrix,
    /// Matrices from the same vectors to two tangents per vertex.
    pub(in crate::mrep) tangents: [WeightMatrix; 2],
    /// Matrix from values per atom (hubs, radii) to values per vertex.
    pub(in crate::mrep) atoms: WeightMatrix,
}

/// Builder of the matrices' rows.
pub(in crate::mrep) struct BoundaryRows {
    kind: FigureKind,
    splines: [Spline; 2],
    /// Index of each atom's first vector; the last entry is the number of vectors.
    first: Vec<usize>,
}

impl BoundaryRows {
    pub fn new(figure: &Figure) -> Self {
        let kind = figure.kind();
        let mut first = vec![0];
        for i in 0..kind.atom_count() {
            first.push(first[i] + kind.role(i).vector_count(kind.spoke_count()));
        }
        Self {
            kind,
            splines: figure.splines(),
            first,
        }
    }

    /// Returns the index of each atom's first vector; the last entry is the number of vectors.
    pub fn first_vectors(&self) -> &[usize] {
        &self.first
    }

    /// Returns the weights of atoms at a site, differentiated `along` times by s and `across` times by t.
    fn atom_weights(&self, site: &Site, along: usize, across: usize) -> Vec<(usize, f64)> {
        let [u, v] = &self.splines;
        match (self.kind, site.part) {
            (FigureKind::Slab { cols, .. }, VolumePart::Sheet { .. }) => {
                let (a, b) = (u.weights(site.s, along), v.weights(site.t, across));
                let all = a.iter().enumerate().flat_map(|(i, x)| {
                    b.iter()
                        .enumerate()
                        .map(move |(j, y)| (i * cols + j, x * y))
                });
                all.collect()
            }
            (FigureKind::Slab { rows, cols }, VolumePart::Rim { edge, .. }) => {
                let spline = if edge.is_row() { v } else { u };
                let weights = spline.weights(site.s, along);
                edge.atoms(rows, cols).into_iter().zip(weights).collect()
            }
            (FigureKind::Tube { atoms, .. }, VolumePart::Cap { last }) => {
                vec![(if last { atoms - 1 } else { 0 }, 1.0)]
            }
            _ => u.weights(site.s, along).into_iter().enumerate().collect(),
        }
    }

    /// Returns the row of a vertex (0, 0) or of its derivative, `along` times by s and `across` times by t, at most once in all.
    pub fn row(&self, site: &Site, along: usize, across: usize) -> Vec<(usize, f64)> {
        let spokes = self.kind.spoke_count();
        let hermite = |p: f64, derivative: usize| -> [f64; 4] {
            let powers = power_derivatives(p)[derivative];
            std::array::from_fn(|k| (0..4).map(|i| powers[i] * HERMITE[i][k]).sum())
        };
        // Weights of the vectors of each atom.
        let (local, hub): (Vec<(usize, f64)>, f64) = match site.part {
            VolumePart::Sheet { up } => (vec![(Role::spoke_index(usize::from(!up)), 1.0)], 1.0),
            VolumePart::Rim { up, .. } => {
                let fan = fan(usize::from(!up), spokes);
                let weights = hermite(site.t, across);
                (
                    fan.into_iter().zip(weights).collect(),
                    f64::from(u8::from(across == 0)),
                )
            }
            VolumePart::Body => {
                let weights = self.splines[1].weights(site.t.rem_euclid(TAU), across);
                let all = weights.into_iter().enumerate();
                (
                    all.map(|(q, w)| (Role::spoke_index(q), w)).collect(),
                    f64::from(u8::from(across == 0)),
                )
            }
            VolumePart::Cap { .. } => {
                let around = self.splines[1].weights(site.t.rem_euclid(TAU), across);
                let powers = hermite(site.s, along);
                let mut all = Vec::with_capacity(4 * spokes);
                for (q, w) in around.into_iter().enumerate() {
                    all.extend(fan(q, spokes).into_iter().zip(powers.map(|p| p * w)));
                }
                (all, f64::from(u8::from(along + across == 0)))
            }
        };
        let atoms = match site.part {
            // Across, the fans of a rim and the spokes of a tube have no spline over atoms; a cap's have none in either direction.
            VolumePart::Sheet { .. } => self.atom_weights(site, along, across),
            VolumePart::Rim { .. } | VolumePart::Body => self.atom_weights(site, along, 0),
            VolumePart::Cap { .. } => self.atom_weights(site, 0, 0),
        };
        let mut row = Vec::with_capacity(atoms.len() * (1 + local.len()));
        for (atom, w) in atoms {
            let first = self.first[atom];
            row.push((first, w * hub));
            row.extend(local.iter().map(|&(vector, x)| (first + vector, w * x)));
        }
        row
    }

    /// Builds a matrix from rows, with one column per vector.
    pub fn weight_matrix(
        &self,
        rows: impl ExactSizeIterator<Item = Vec<(usize, f64)>>,
    ) -> WeightMatrix {
        matrix(rows, self.first[self.kind.atom_count()])
    }

    /// Returns the row of a tangent by s or by t. At a cap's pole the second one is the derivative by s a quarter turn farther around.
    fn tangent(&self, site: &Site, by_t: bool) -> Vec<(usize, f64)> {
        let pole = matches!(site.part, VolumePart::Cap { .. }) && site.s == 1.0;
        match (by_t, pole) {
            (false, _) => self.row(site, 1, 0),
            (true, false) => self.row(site, 0, 1),
            (true, true) => {
                let t = site.t + FRAC_PI_2;
                self.row(&Site { t, ..*site }, 1, 0)
            }
        }
    }

    /// Returns an upper bound of the number of entries in a row.
    fn max_row_entries(&self) -> usize {
        let spokes = self.kind.spoke_count();
        match self.kind {
            FigureKind::Slab { rows, cols } => (2 * rows * cols).max(5 * rows.max(cols)),
            FigureKind::Tube { atoms, .. } => (atoms * (1 + spokes)).max(1 + 4 * spokes),
        }
    }
}

/// Builds a sparse matrix from its rows, each [`merge_entries`].
fn matrix(rows: impl ExactSizeIterator<Item = Vec<(usize, f64)>>, columns: usize) -> WeightMatrix {
    let count = rows.len();
    let (mut ends, mut indices, mut weights) = (vec![0], Vec::new(), Vec::new());
    for row in rows {
        for (column, weight) in merge_entries(row) {
            indices.push(column as u32);
            weights.push(weight);
        }
        ends.push(indices.len() as u32);
    }
    CsMatI::new((count, columns), ends, indices, weights)
}

/// Sorts a row by columns, and adds up entries of one column in their order.
fn merge_entries(mut row: Vec<(usize, f64)>) -> Vec<(usize, f64)> {
    row.sort_by_key(|(column, _)| *column);
    row.dedup_by(|next, kept| {
        let same = next.0 == kept.0;
        if same {
            kept.1 += next.1;
        }
        same
    });
    row.retain(|(_, weight)| *weight != 0.0);
    row
}

/// Returns the product of a matrix with vectors.
pub(in crate::mrep) fn multiply(map: &WeightMatrix, vectors: &[Vec3]) -> Vec<Vec3> {
    let sum = |row: sprs::CsVecViewI<'_, f64, u32>| {
        row.iter()
            .map(|(column, weight)| vectors[column] * *weight)
            .sum()
    };
    map.outer_iterator().map(sum).collect()
}

/// Returns the vertices and triangles of a figure's boundary. They equal those of a [`Boundary`], whose matrices take fifty times the
/// memory.
///
/// # Errors
/// A level that needs too many vertices; cancellation by `progress`.
pub(in crate::mrep) fn mesh(
    figure: &Figure,
    level: u32,
    progress: &dyn Progress,
) -> Result<(Vec<Vec3>, Vec<[u32; 3]>), MRepError> {
    let (sites, triangles) = build_sites(figure, level)?;
    let (rows, vectors) = (BoundaryRows::new(figure), figure_vectors(figure));
    let place = |i: usize| {
        let row = merge_entries(rows.row(&sites[i], 0, 0)).into_iter();
        row.map(|(column, weight)| vectors[column] * weight).sum()
    };
    let vertices = map_parallel(sites.len(), (progress, "boundary"), place)?;
    Ok((vertices, triangles))
}

/// Returns (u, v, φ, 1) of each vertex of a figure's boundary.
///
/// # Errors
/// A level that needs too many vertices.
pub(crate) fn site_coordinates(figure: &Figure, level: u32) -> Result<Vec<[f64; 4]>, MRepError> {
    let (sites, _) = build_sites(figure, level)?;
    Ok(sites.iter().map(coordinates).collect())
}

/// Returns the radius below each vertex of a figure's boundary, as [`Boundary::radii`] does.
///
/// # Errors
/// A level that needs too many vertices; cancellation by `progress`.
pub(crate) fn site_radii(
    figure: &Figure,
    level: u32,
    progress: &dyn Progress,
) -> Result<Vec<f64>, MRepError> {
    let (sites, _) = build_sites(figure, level)?;
    let (rows, radii) = (BoundaryRows::new(figure), AtomRadii::new(figure));
    let radius = |i: usize| radii.interpolate(merge_entries(rows.atom_weights(&sites[i], 0, 0)));
    Ok(map_parallel(sites.len(), (progress, "radii"), radius)?)
}

/// Radius of each atom, with the least and the largest, metres.
struct AtomRadii {
    each: Vec<f64>,
    bounds: (f64, f64),
}

impl AtomRadii {
    fn new(figure: &Figure) -> Self {
        let each: Vec<f64> = figure
            .atoms()
            .iter()
            .map(|atom| atom.mean_spoke_length())
            .collect();
        let bounds = (each.iter()).fold((f64::INFINITY, 0.0_f64), |(lo, hi), r| {
            (lo.min(*r), hi.max(*r))
        });
        Self { each, bounds }
    }

    /// Interpolates by weights of atoms, clamped between the least and the largest radius.
    fn interpolate(&self, weights: impl IntoIterator<Item = (usize, f64)>) -> f64 {
        let r: f64 = weights
            .into_iter()
            .map(|(atom, weight)| self.each[atom] * weight)
            .sum();
        r.clamp(self.bounds.0, self.bounds.1)
    }
}

impl Boundary {
    /// Builds the sites and matrices of a figure's boundary at a level.
    ///
    /// # Errors
    /// A level that needs too many vertices, or too many weights for them.
    pub fn new(figure: &Figure, level: u32) -> Result<Self, MRepError> {
        let kind = figure.kind();
        let rows = BoundaryRows::new(figure);
        let most = MAX_ENTRIES / rows.max_row_entries();
        let vertices = vertex_count(figure, level)?;
        if vertices > most {
            return Err(MRepError::Level {
                level,
                vertices: vertices as f64,
                most,
            });
        }
        let (sites, triangles) = build_sites(figure, level)?;
        Ok(Self {
            coordinates: sites.iter().map(coordinates).collect(),
            triangles,
            value: rows.weight_matrix(sites.iter().map(|site| rows.row(site, 0, 0))),
            tangents: [false, true]
                .map(|by_t| rows.weight_matrix(sites.iter().map(|site| rows.tangent(site, by_t)))),
            atoms: matrix(
                sites.iter().map(|site| rows.atom_weights(site, 0, 0)),
                kind.atom_count(),
            ),
        })
    }

    /// Returns the number of vertices.
    pub fn len(&self) -> usize {
        self.coordinates.len()
    }

    /// Returns whether the boundary has no vertices: always false.
    pub fn is_empty(&self) -> bool {
        self.coordinates.is_empty()
    }

    /// Returns the vertex positions for a figure of the same kind and knots, metres.
    pub fn positions(&self, figure: &Figure) -> Vec<Vec3> {
        multiply(&self.value, &figure_vectors(figure))
    }

    /// Returns vertices, outward unit normals and radii; normals are zero where the tangents are parallel.
    pub(in crate::mrep) fn shape(&self, figure: &Figure) -> BoundaryShape {
        let vectors = figure_vectors(figure);
        let positions = multiply(&self.value, &vectors);
        let [a, b] = [0, 1].map(|k| multiply(&self.tangents[k], &vectors));
        let hubs: Vec<Vec3> = figure.atoms().iter().map(|atom| atom.hub).collect();
        let hubs = multiply(&self.atoms, &hubs);
        let normals = (0..positions.len())
            .map(|i| {
                let n = a[i].cross(&b[i]);
                let n = n.try_normalize(0.0).unwrap_or_default();
                n * (positions[i] - hubs[i]).dot(&n).signum()
            })
            .collect();
        BoundaryShape {
            positions,
            normals,
            radii: self.radii(figure),
        }
    }

    /// Returns the [mean length of the spokes](crate::mrep::Atom::mean_spoke_length) below each vertex, interpolated between the atoms and
    /// clamped to their range, metres.
    pub fn radii(&self, figure: &Figure) -> Vec<f64> {
        let radii = AtomRadii::new(figure);
        let sum = |row: sprs::CsVecViewI<'_, f64, u32>| {
            radii.interpolate(row.iter().map(|(a, w)| (a, *w)))
        };
        self.atoms.outer_iterator().map(sum).collect()
    }
}

/// Vertex positions, unit normals and radii of a boundary in space.
pub(in crate::mrep) struct BoundaryShape {
    pub positions: Vec<Vec3>,
    pub normals: Vec<Vec3>,
    pub radii: Vec<f64>,
}

/// Returns the vectors of all atoms, concatenated.
pub(in crate::mrep) fn figure_vectors(figure: &Figure) -> Vec<Vec3> {
    let of =
        |(i, atom): (usize, &crate::mrep::figures::atom::Atom)| atom.vectors(figure.kind().role(i));
    figure.atoms().iter().enumerate().flat_map(of).collect()
}
