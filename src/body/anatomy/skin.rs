// SPDX-License-Identifier: MIT OR Apache-2.0
//! The skin from which anatomy is read: welded, without distant props, with areas, normals, edges, pieces and
//! weights.

use super::point_tree::PointTree;
use crate::geometry::aabb;
use crate::geometry::groups::{Groups, directed_edges};
use crate::geometry::sets::DisjointSets;
use crate::lattice;
use crate::skeleton::{Skeleton, SkinWeights};
use crate::surface::Surface;
use crate::{Mat3, Vec3};
use rayon::prelude::*;
use std::ops::{Add, Mul};

/// Most passes of smoothing. One pass spreads by an edge, this number by 7.7. Halving or doubling them changes the map
/// of one of ten known characters, by 0.002 on the mean.
const MAX_SMOOTHING_PASSES: usize = 60;
/// Largest distance of a piece from the body, as a part of the body's own size. Twice of it would count a thrown
/// spear for the size; half of it would lose a floating halo or an eye without a visible stalk.
const MAX_PIECE_DISTANCE: f64 = 0.5;
/// Largest size of a piece on one bone, relative to the extent of all bones; a larger one is ground, sky or a cage.
const MAX_PIECE_SIZE: f64 = 4.0;

/// The welded skin of the body, and the bones that carry it.
pub(super) struct BodySkin {
    pub x: Vec<Vec3>,
    pub triangles: Vec<[u32; 3]>,
    /// A third of the area of the triangles around each vertex, m².
    pub area: Vec<f64>,
    /// Outward unit normals; zero for degenerate ones.
    pub normal: Vec<Vec3>,
    pub face_area: Vec<f64>,
    pub face_normal: Vec<Vec3>,
    /// Each edge once, smaller end first, ascending.
    pub edges: Vec<[u32; 2]>,
    /// Index of the connected piece of each vertex.
    pub island: Vec<u32>,
    pub islands: usize,
    /// Diagonal of the box along the principal axes of its area, metres: the unit of lengths, whatever the body's
    /// pose in space.
    pub span: f64,
    /// The body's size: diagonal of the box along the character's own axes about z, metres.
    pub size: f64,
    /// Skin weights per vertex: a row sums to one or is empty.
    pub rows: Vec<Vec<(u32, f64)>>,
    /// Skin vertex of each vertex of the original surface; `u32::MAX` outside the body.
    pub of_given: Vec<u32>,
    neighbours: Groups,
}

impl BodySkin {
    /// Extracts the body's skin from a surface.
    pub fn new(surface: &Surface, skeleton: &Skeleton, weights: &SkinWeights) -> Self {
        let welded = surface.welded();
        let rows = welded_rows(surface, weights);
        let (piece_of, pieces) = pieces(welded.vertices.len(), &welded.triangles);
        let kept = mark_body_pieces(surface, skeleton, &rows, &piece_of, pieces);

        let mut new = vec![u32::MAX; welded.vertices.len()];
        let (mut x, mut island, mut own_rows) = (Vec::new(), Vec::new(), Vec::new());
        let mut rows = rows.into_iter();
        for (v, new) in new.iter_mut().enumerate() {
            let row = rows.next().unwrap_or_default();
            if kept[piece_of[v] as usize] {
                *new = x.len() as u32;
                x.push(welded.vertices[v]);
                island.push(piece_of[v]);
                own_rows.push(row);
            }
        }
        let triangles: Vec<[u32; 3]> = welded
            .triangles
            .iter()
            .map(|t| t.map(|v| new[v as usize]))
            .filter(|t| t[0] != u32::MAX)
            .collect();
        let of_given = welded.of_vertex.iter();
        let of_given = of_given.map(|&w| new.get(w as usize).copied().unwrap_or(u32::MAX));
        let heading = lattice::heading(surface, skeleton);
        let mut skin = Self {
            span: 0.0,
            size: aabb::diagonal(x.iter().map(|p| heading.to_own(p))).max(f64::MIN_POSITIVE),
            area: vec![0.0; x.len()],
            normal: vec![Vec3::zeros(); x.len()],
            face_area: Vec::new(),
            face_normal: Vec::new(),
            edges: Vec::new(),
            island,
            islands: pieces,
            rows: own_rows,
            of_given: of_given.collect(),
            neighbours: Groups::default(),
            x,
            triangles,
        };
        skin.measure();
        skin.link_neighbours();
        skin
    }

    pub fn len(&self) -> usize {
        self.x.len()
    }

    /// Returns values of the skin at the vertices of the original surface, and `missing` outside the body.
    pub fn to_original(&self, values: &[f64], missing: f64) -> Vec<f64> {
        let of = |&v: &u32| values.get(v as usize).copied().unwrap_or(missing);
        self.of_given.iter().map(of).collect()
    }

    /// Returns values of the original surface at the skin's vertices; a welded vertex takes that of its first
    /// original.
    pub fn gather_values(&self, values: &[f64]) -> Vec<f64> {
        let mut own = vec![f64::NAN; self.len()];
        for (v, &value) in self.of_given.iter().zip(values) {
            if let Some(own) = own.get_mut(*v as usize).filter(|own| own.is_nan()) {
                *own = value;
            }
        }
        own
    }

    /// Smooths values over neighbours within `reach` metres, independent of the resolution.
    pub fn smooth<T>(&self, values: &mut Vec<T>, reach: f64)
    where
        T: Copy + Send + Sync + Add<Output = T> + Mul<f64, Output = T>,
    {
        let length = |e: &[u32; 2]| (self.x[e[0] as usize] - self.x[e[1] as usize]).norm();
        let mean = self.edges.iter().map(length).sum::<f64>() / self.edges.len().max(1) as f64;
        // A pass spreads by about one edge, n of them by √n.
        let wanted = (reach / mean.max(1e-9 * self.span)).powi(2).ceil();
        let passes = (wanted as usize).clamp(1, MAX_SMOOTHING_PASSES);
        let mut next = values.clone();
        for _ in 0..passes {
            let of = |(v, next): (usize, &mut T)| {
                let own = self.neighbours.members(v);
                if let Some((first, rest)) = own.split_first() {
                    let sum = rest
                        .iter()
                        .fold(values[*first as usize], |s, &n| s + values[n as usize]);
                    *next = values[v] * 0.5 + sum * (0.5 / own.len() as f64);
                }
            };
            next.par_iter_mut()
                .with_min_len(4096)
                .enumerate()
                .for_each(of);
            std::mem::swap(values, &mut next);
        }
    }

    /// Returns the share of each vertex that chosen bones carry.
    pub fn bone_share(&self, chosen: &[bool]) -> Vec<f64> {
        let of = |row: &Vec<(u32, f64)>| {
            let mine = row.iter().filter(|(bone, _)| chosen[*bone as usize]);
            mine.map(|(_, w)| w).sum()
        };
        self.rows.iter().map(of).collect()
    }

    /// Returns the nearest chosen vertex to each of the others: (vertex, nearest).
    pub fn nearest_chosen(&self, chosen: &[bool]) -> Vec<(usize, usize)> {
        let list: Vec<usize> = (0..self.len()).filter(|&v| chosen[v]).collect();
        let points: Vec<Vec3> = list.iter().map(|&v| self.x[v]).collect();
        let tree = PointTree::new(&points);
        let others = (0..self.len()).filter(|&v| !chosen[v]);
        others
            .filter_map(|v| Some((v, list[tree.nearest(&self.x[v])?.0])))
            .collect()
    }

    fn measure(&mut self) {
        for t in &self.triangles {
            let [a, b, c] = t.map(|v| self.x[v as usize]);
            let cross = (b - a).cross(&(c - a));
            let area = 0.5 * cross.norm();
            self.face_area.push(area);
            self.face_normal
                .push(cross / (2.0 * area).max(f64::MIN_POSITIVE));
            for &v in t {
                self.area[v as usize] += area / 3.0;
                self.normal[v as usize] += cross;
            }
        }
        for n in &mut self.normal {
            *n = n.try_normalize(f64::MIN_POSITIVE).unwrap_or_default();
        }
        let each = || self.x.iter().zip(&self.area);
        let whole = self.area.iter().sum::<f64>().max(f64::MIN_POSITIVE);
        let middle = each().map(|(x, area)| x * *area).sum::<Vec3>() / whole;
        let spread: Mat3 = each()
            .map(|(x, area)| (x - middle) * (x - middle).transpose() * (area / whole))
            .sum();
        let axes = spread.symmetric_eigen().eigenvectors;
        let along = self.x.iter().map(|x| axes.tr_mul(x));
        self.span = aabb::diagonal(along).max(f64::MIN_POSITIVE);
    }

    fn link_neighbours(&mut self) {
        let mut links = directed_edges(self.triangles.iter().copied());
        links.dedup();
        let once = links.iter().filter(|(a, b)| a < b);
        self.edges = once.map(|&(a, b)| [a, b]).collect();
        self.neighbours = Groups::new(self.len(), links.into_iter());
    }
}

/// Returns the weights of welded vertices: the mean of their originals'.
fn welded_rows(surface: &Surface, weights: &SkinWeights) -> Vec<Vec<(u32, f64)>> {
    let welded = surface.welded();
    let mut rows: Vec<Vec<(u32, f64)>> = vec![Vec::new(); welded.vertices.len()];
    for (v, &w) in welded.of_vertex.iter().enumerate() {
        let Some(row) = rows.get_mut(w as usize) else {
            continue;
        };
        for (bone, weight) in weights.row(v) {
            match row.iter_mut().find(|entry| entry.0 == bone) {
                Some(entry) => entry.1 += weight,
                None => row.push((bone, weight)),
            }
        }
    }
    for row in &mut rows {
        row.sort_unstable_by_key(|entry| entry.0);
        let total: f64 = row.iter().map(|entry| entry.1).sum();
        row.iter_mut().for_each(|entry| entry.1 /= total);
        if !(total > 1e-9 && total.is_finite()) {
            row.clear();
        }
    }
    rows
}

/// Returns the connected piece of each vertex, and the number of pieces.
fn pieces(vertices: usize, triangles: &[[u32; 3]]) -> (Vec<u32>, usize) {
    let mut sets = DisjointSets::new(vertices);
    for t in triangles {
        sets.join(t[0], t[1]);
        sets.join(t[1], t[2]);
    }
    let of = sets.set_numbers();
    let count = of.iter().max().map_or(0, |&most| most as usize + 1);
    (of, count)
}

/// Marks the pieces of the body: the one that shares in most bones, and those near pieces already marked.
///
/// A prop hangs on one bone, however large it is; the body is carried by most bones.
fn mark_body_pieces(
    surface: &Surface,
    skeleton: &Skeleton,
    rows: &[Vec<(u32, f64)>],
    piece_of: &[u32],
    pieces: usize,
) -> Vec<bool> {
    let welded = surface.welded();
    if pieces <= 1 {
        return vec![true; pieces];
    }
    let mut area = vec![0.0; rows.len()];
    for t in &welded.triangles {
        let [a, b, c] = t.map(|v| welded.vertices[v as usize]);
        let third = (b - a).cross(&(c - a)).norm() / 6.0;
        t.iter().for_each(|&v| area[v as usize] += third);
    }
    let mut of_bone = vec![0.0; skeleton.len()];
    let each = || rows.iter().zip(&area).zip(piece_of);
    for ((row, a), _) in each() {
        row.iter().for_each(|(b, w)| of_bone[*b as usize] += a * w);
    }
    let (mut score, mut own_area) = (vec![0.0; pieces], vec![0.0; pieces]);
    let whole = area.iter().sum::<f64>().max(f64::MIN_POSITIVE);
    for ((row, a), &piece) in each() {
        own_area[piece as usize] += a / whole;
        for (b, w) in row {
            score[piece as usize] += a * w / of_bone[*b as usize].max(f64::MIN_POSITIVE);
        }
    }
    // Boxes are along the character's own axes, so that its heading does not matter.
    let heading = lattice::heading(surface, skeleton);
    let far = Vec3::repeat(f64::INFINITY);
    let mut boxes = vec![(far, -far); pieces];
    for (x, &piece) in welded.vertices.iter().zip(piece_of) {
        let (lo, hi) = &mut boxes[piece as usize];
        let x = heading.to_own(x);
        (*lo, *hi) = (lo.inf(&x), hi.sup(&x));
    }
    let carrying: Vec<usize> = (0..of_bone.len()).filter(|&b| of_bone[b] > 0.0).collect();
    let ends = carrying
        .iter()
        .flat_map(|&b| [skeleton.heads()[b], skeleton.tails()[b]].map(|x| heading.to_own(&x)));
    let surrounds = match carrying.len() {
        0..3 => f64::INFINITY,
        _ => MAX_PIECE_SIZE * aabb::diagonal(ends),
    };
    let hangs_around =
        |p: usize| score[p] <= 1.0 + 1e-9 && (boxes[p].1 - boxes[p].0).norm() > surrounds;
    let rank = |p: &usize| score[*p] + own_area[*p];
    let Some(first) = (0..pieces).max_by(|a, b| rank(a).total_cmp(&rank(b)).then(b.cmp(a))) else {
        return Vec::new();
    };
    grow(first, &boxes, hangs_around)
}

/// Marks the first of some boxes, and those near boxes already marked unless they are `excluded`.
fn grow(first: usize, boxes: &[(Vec3, Vec3)], excluded: impl Fn(usize) -> bool) -> Vec<bool> {
    let mut kept = vec![false; boxes.len()];
    kept[first] = true;
    let mut body = boxes[first];
    loop {
        let reach = MAX_PIECE_DISTANCE * (body.1 - body.0).norm();
        let gap = |(lo, hi): &(Vec3, Vec3)| {
            let apart = (lo - body.1).sup(&(body.0 - hi)).sup(&Vec3::zeros());
            apart.norm()
        };
        // Adds all near pieces at once; the grown box counts from the next round, so that their order does not
        // matter.
        let next: Vec<usize> = (0..boxes.len())
            .filter(|&p| !kept[p] && !excluded(p) && gap(&boxes[p]) <= reach)
            .collect();
        if next.is_empty() {
            break;
        }
        for p in next {
            kept[p] = true;
            body = (body.0.inf(&boxes[p].0), body.1.sup(&boxes[p].1));
        }
    }
    kept
}
