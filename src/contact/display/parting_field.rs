// SPDX-License-Identifier: MIT OR Apache-2.0
//! Smooth displacements of a skin that part pairs of its points, without effect far away.
//!
//! The skin is a membrane on springs: a displacement d that is left alone fades by ∇²d = d/ℓ². Pairs are unilateral rows on it, `n·(d_x − d_y) ≥
//! depth`, projected one after the other between sweeps over the membrane. The numbers of sweeps and projections are fixed, so that the result is a
//! continuous function of depths, normals and positions. Vertices farther than [`MEMBRANE_SWEEPS`] edges from all pairs do not move.

use crate::Vec3;
use crate::contact::display::overlaps::SkinOverlap;
use crate::contact::skin::{ContactSkin, SkinPoint};
use crate::geometry::groups::{Groups, directed_edges};

/// Distance over which displacements fade by e, in cells. With half the value modal flesh of an elbow at 136° keeps 168 vertices in other flesh
/// instead of 66, and the excess of its sharpest edges over rest grows from 24° to 36. Twice the value leaves 43, and at 120° 6 instead of 4.
const FADE_LENGTH: f64 = 1.0;
/// Sweeps over the membrane; rows are projected before each. Half of them leave the elbow 114 vertices in other flesh instead of 66, twice 44.
const MEMBRANE_SWEEPS: usize = 24;
/// Final projections of the rows alone. Half and twice the number leave the same.
const FINAL_PROJECTIONS: usize = 6;
/// Relaxation factor of a sweep: it multiplies displacements that alternate from vertex to vertex by −0.4. At half the value the elbow keeps 124
/// vertices in other flesh instead of 66; at 0.98, where displacements nearly keep swinging, 44.
const RELAXATION_FACTOR: f64 = 0.7;

/// A skin as a membrane.
#[derive(Debug)]
pub(in crate::contact) struct Membrane {
    neighbours: Groups,
    /// Factor from the mean of the neighbours' displacements to a vertex's own, `[n]`.
    shares: Vec<f64>,
    /// Vertices that coincide with one that triangles use: (copy, original).
    copies: Vec<(u32, u32)>,
}

impl Membrane {
    /// Builds the membrane from all triangles of a skin, also those that touch nothing: they move along.
    pub fn new(skin: &ContactSkin) -> Self {
        let surface = skin.body().surface();
        let count = surface.vertices().len();
        let mut edges = directed_edges((0..skin.triangles() as u32).map(|t| skin.corners(t)));
        edges.dedup();
        let mut squares = vec![0.0; count];
        for &(a, b) in &edges {
            squares[a as usize] += (skin.rest_vertex(a) - skin.rest_vertex(b)).norm_squared();
        }
        let neighbours = Groups::new(count, edges.into_iter());
        // The mean of neighbours at a distance h exceeds a value by h²/4 ∇².
        let fade = (2.0 * FADE_LENGTH * skin.cell_size()).powi(2);
        let share = |v: usize| {
            let around = (neighbours.members(v).len() as f64).max(1.0);
            1.0 / (1.0 + squares[v] / around / fade)
        };
        let welded = surface.welded();
        let given = welded.first_input_vertices();
        let of = (0u32..).zip(&welded.of_vertex);
        let copy = |(v, &w): (u32, &u32)| Some((v, *given.get(w as usize)?));
        Self {
            shares: (0..count).map(share).collect(),
            copies: of.filter_map(copy).filter(|(v, of)| v != of).collect(),
            neighbours,
        }
    }

    fn neighbours(&self, v: u32) -> &[u32] {
        self.neighbours.members(v as usize)
    }

    /// Returns the distance by which displacements part a pair along its normal, metres.
    pub fn parting_distance(
        &self,
        skin: &ContactSkin,
        overlap: &SkinOverlap,
        moves: &[(u32, Vec3)],
    ) -> f64 {
        let at = |v: u32| match moves.binary_search_by_key(&v, |(v, _)| *v) {
            Ok(i) => moves[i].1,
            Err(_) => Vec3::zeros(),
        };
        let of = |point: SkinPoint| -> Vec3 {
            let corners = skin.corners(point.triangle);
            (0..3).map(|k| at(corners[k]) * point.weights[k]).sum()
        };
        let partner = overlap.partner.map_or_else(Vec3::zeros, of);
        overlap.normal.dot(&(of(overlap.point) - partner))
    }

    /// Returns displacements that part overlaps, metres, for the vertices that move, ascending.
    pub fn part_overlaps(&self, skin: &ContactSkin, overlaps: &[SkinOverlap]) -> Vec<(u32, Vec3)> {
        let mut region = Region::new(self, skin, overlaps);
        for sweep in 1..=MEMBRANE_SWEEPS {
            region.project();
            region.relax(self, sweep);
        }
        for _ in 0..FINAL_PROJECTIONS {
            region.project();
        }
        let deepest = overlaps.iter().map(|o| o.depth).fold(0.0, f64::max);
        let mut moves: Vec<(u32, Vec3)> = region
            .vertices
            .iter()
            .zip(&region.moves)
            .filter(|(_, d)| **d != Vec3::zeros())
            .map(|(&v, d)| (v, d * (deepest / d.norm()).min(1.0)))
            .collect();
        moves.sort_unstable_by_key(|(v, _)| *v);
        let at = |v: u32| moves.binary_search_by_key(&v, |(v, _)| *v).ok();
        let copies = self.copies.iter();
        let copies = copies.filter_map(|&(v, of)| Some((v, moves[at(of)?].1)));
        let copies: Vec<(u32, Vec3)> = copies.collect();
        if !copies.is_empty() {
            moves.extend(copies);
            moves.sort_unstable_by_key(|(v, _)| *v);
        }
        moves
    }
}

/// One side of a row: up to three vertices of the region with a factor each.
type WeightedCorners = [(u32, f64); 3];

struct PartingRow {
    /// For each side the barycentric coordinates of the point, and the displacement of each corner that moves the point by one.
    sides: [(WeightedCorners, WeightedCorners); 2],
    normal: Vec3,
    depth: f64,
    /// Share of the missing distance that each side moves.
    each: f64,
}

/// The vertices that displacements can reach, ordered by their distance from all rows, in edges.
struct Region {
    vertices: Vec<u32>,
    /// Number of vertices within 0, 1, 2, … edges.
    within: Vec<usize>,
    /// Neighbours within the region, as indices into it.
    around: Vec<u32>,
    starts: Vec<u32>,
    moves: Vec<Vec3>,
    relaxed: Vec<Vec3>,
    rows: Vec<PartingRow>,
}

impl Region {
    fn new(membrane: &Membrane, skin: &ContactSkin, overlaps: &[SkinOverlap]) -> Self {
        let mut at = vec![u32::MAX; membrane.shares.len()];
        let mut vertices: Vec<u32> = Vec::new();
        let mut reach = |v: u32, vertices: &mut Vec<u32>| {
            if at[v as usize] == u32::MAX {
                at[v as usize] = vertices.len() as u32;
                vertices.push(v);
            }
        };
        for overlap in overlaps {
            for point in [Some(overlap.point), overlap.partner].into_iter().flatten() {
                let corners = skin.corners(point.triangle);
                corners.into_iter().for_each(|v| reach(v, &mut vertices));
            }
        }
        let mut within = vec![vertices.len()];
        for _ in 0..MEMBRANE_SWEEPS {
            let begin = within.len().checked_sub(2).map_or(0, |i| within[i]);
            for i in begin..vertices.len() {
                for &v in membrane.neighbours(vertices[i]) {
                    reach(v, &mut vertices);
                }
            }
            within.push(vertices.len());
        }
        let (mut around, mut starts) = (Vec::new(), vec![0]);
        for &v in &vertices {
            let known = membrane.neighbours(v).iter().map(|&w| at[w as usize]);
            around.extend(known.filter(|&w| w != u32::MAX));
            starts.push(around.len() as u32);
        }
        let none = [(0, 0.0); 3];
        let side = |point: SkinPoint| {
            let (corners, weights) = (skin.corners(point.triangle), point.weights);
            let squares: f64 = weights.iter().map(|w| w * w).sum();
            let part = |k: usize| (at[corners[k] as usize], weights[k]);
            let way = |k: usize| (at[corners[k] as usize], weights[k] / squares);
            ([0, 1, 2].map(part), [0, 1, 2].map(way))
        };
        let row = |overlap: &SkinOverlap| PartingRow {
            sides: [
                side(overlap.point),
                overlap.partner.map_or((none, none), side),
            ],
            normal: overlap.normal,
            depth: overlap.depth,
            each: if overlap.partner.is_some() { 0.5 } else { 1.0 },
        };
        let count = vertices.len();
        Self {
            rows: overlaps.iter().map(row).collect(),
            moves: vec![Vec3::zeros(); count],
            relaxed: vec![Vec3::zeros(); count],
            vertices,
            within,
            around,
            starts,
        }
    }

    /// Parts each pair by the distance that it lacks.
    fn project(&mut self) {
        for row in &self.rows {
            let moves = &self.moves;
            let of = |side: &WeightedCorners| -> Vec3 {
                side.iter().map(|&(v, w)| moves[v as usize] * w).sum()
            };
            let parted = row.normal.dot(&(of(&row.sides[0].0) - of(&row.sides[1].0)));
            let short = row.depth - parted;
            if short <= 0.0 {
                continue;
            }
            let step = row.normal * (short * row.each);
            for (side, sign) in row.sides.iter().zip([1.0, -1.0]) {
                for &(v, way) in &side.1 {
                    self.moves[v as usize] += step * (sign * way);
                }
            }
        }
    }

    /// Sweeps once over the membrane. Displaced vertices lie within `edges` edges by then.
    fn relax(&mut self, membrane: &Membrane, edges: usize) {
        let reached = self.within[edges];
        for i in 0..reached {
            let around = &self.around[self.starts[i] as usize..self.starts[i + 1] as usize];
            let share = membrane.shares[self.vertices[i] as usize];
            let sum: Vec3 = around.iter().map(|&w| self.moves[w as usize]).sum();
            let whole = membrane.neighbours(self.vertices[i]).len().max(1);
            let balance = sum * (share / whole as f64);
            self.relaxed[i] = self.moves[i] + (balance - self.moves[i]) * RELAXATION_FACTOR;
        }
        self.moves[..reached].copy_from_slice(&self.relaxed[..reached]);
    }
}
