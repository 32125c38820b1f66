// SPDX-License-Identifier: MIT OR Apache-2.0
//! The map from one character to another on the lattice of the source: blended bones, landmarks, then the nearest skin.
//!
//! The start is `h₀(x_a) = Σ_b w_ab A_b(x_a)` with region weights w and the maps A of the bones. Then y is fitted, in rounds, to
//!
//! `min_y  Σ_v a_v ρ_v ( (n·r_v)² + 0.1 |r_v|² ) + λ ℓ²/V ∫ |∇(y − h₀)|² dV / s²`,  `r_v = E_v y − nearest skin of the target`
//!
//! with areas a summing to one, n the normal there, V the lattice's volume, s the scale, and ρ ≤ 1 by normals, parts and
//! distance. Points slide along the skin, so that λ may fall [amberg2007]. A round is one factorisation of a system with
//! three unknowns a lattice vertex.

use super::CorrespondenceError;
use super::pair_maps::{BoneMaps, Similarity};
use super::skin::{SkinSamples, TargetSkin};
use crate::basis::Basis;
use crate::body::Body;
use crate::lattice::Embedding;
use crate::progress::{Progress, report_progress};
use crate::solve::{Pattern, SparseCholesky};
use crate::{Mat3, Vec3};
use rayon::prelude::*;

/// Weights λ of the regulariser, from stiff to soft, and rounds at each.
const STIFFNESSES: [f64; 5] = [3.0, 1.0, 0.3, 0.1, 0.03];
const ROUNDS: usize = 4;
/// Length ℓ of the regulariser, in sizes of the target. With 0.03 skins of six pairs of characters stay 1.35 to 1.7 times as
/// far apart; with 0.003 the true vertices of two builds of one person are up to a tenth farther away.
const STIFFNESS_LENGTH: f64 = 0.01;
/// Weight of distances along the skin, beside those across it.
const SLIDE_WEIGHT: f64 = 0.1;
/// Weight of a landmark, of all skin together: it counts like a tenth of the skin.
const LANDMARK_WEIGHT: f64 = 0.1;
/// Distance at which a point counts half, in sizes of the target. Twice of it changes the distances of six pairs by 0.15 of
/// them at most.
const HALF_DISTANCE: f64 = 0.05;
/// Share of the regulariser that ties vertices to h₀ themselves, so that parts that no skin reaches are determined.
const TIE_SHARE: f64 = 1e-6;

/// A point of the source's skin and its place on the target.
pub(super) struct Landmark {
    /// Corners of its triangle: the share of each, and its lattice vertices with their weights. Corners may lie in cells that share
    /// no entries of the matrix, so each is pulled by itself.
    pub corners: Vec<(f64, Vec<(usize, f64)>)>,
    pub place: Vec3,
}

/// The map at the lattice's vertices.
pub(super) struct LatticeMap {
    /// Places of the lattice's vertices on the target, metres.
    pub places: Vec<Vec3>,
    /// Derivatives of the map at the lattice's vertices.
    pub gradients: Vec<Mat3>,
    /// Number of lattice vertices at which the map turns inside out, so that the bones' own map stands in.
    pub inverted: usize,
}

/// Returns h₀ at the lattice's vertices.
pub(super) fn blend(body: &Body, maps: &BoneMaps) -> Vec<Vec3> {
    let place = |(a, &x): (usize, &Vec3)| {
        let rows = body.region_weights().row(a);
        rows.map(|(b, w)| maps.maps[b as usize].affine.apply(x) * w)
            .sum()
    };
    body.lattice()
        .vertices()
        .iter()
        .enumerate()
        .map(place)
        .collect()
}

/// The system of the fit, for increments from h₀.
pub(super) struct LatticeFit<'a> {
    body: &'a Body,
    embedding: &'a Embedding,
    /// Regulariser between vertices, in the order of `slots`, for λ = 1.
    stiffness: Vec<(u32, u32, f64)>,
    solver: SparseCholesky,
}

impl<'a> LatticeFit<'a> {
    /// Prepares the system; `size` is the target's, metres.
    pub fn new(
        body: &'a Body,
        embedding: &'a Embedding,
        similarity: &Similarity,
        size: f64,
    ) -> Result<Self, CorrespondenceError> {
        let lattice = body.lattice();
        let basis = Basis::new(lattice.clone());
        let held = vec![false; lattice.vertices().len()];
        let pattern = Pattern::new(
            basis.all_functions(),
            &basis.matrix(),
            &held,
            lattice.vertices(),
        )?;
        let length = STIFFNESS_LENGTH * size / similarity.scale;
        Ok(Self {
            body,
            embedding,
            stiffness: laplacian(body, length * length),
            solver: SparseCholesky::new(pattern.symbolic().clone())?,
        })
    }

    /// Returns h₀ bent so that landmarks of the source come to those of the target.
    pub fn bend_to_landmarks(
        &mut self,
        start: Vec<Vec3>,
        landmarks: &[Landmark],
    ) -> Result<Vec<Vec3>, CorrespondenceError> {
        if landmarks.is_empty() {
            return Ok(start);
        }
        let softest = STIFFNESSES[STIFFNESSES.len() - 1];
        let mut forces = self.begin(softest);
        self.pull_landmarks(&start, landmarks, 1.0, &mut forces);
        self.solve(&start, forces)
    }

    /// Fits the lattice so that the source's skin lies on the target's.
    pub fn fit_to_skin(
        &mut self,
        start: &[Vec3],
        (samples, target): (&SkinSamples, &TargetSkin),
        landmarks: &[Landmark],
        progress: &dyn Progress,
    ) -> Result<Vec<Vec3>, CorrespondenceError> {
        let mut places = start.to_vec();
        let rounds = (STIFFNESSES.len() * ROUNDS) as f64;
        for (stage, stiffness) in STIFFNESSES.into_iter().enumerate() {
            for round in 0..ROUNDS {
                let done = (stage * ROUNDS + round) as f64 / rounds;
                report_progress(progress, done, "Fitting one skin to the other")?;
                let mut forces = self.begin(stiffness);
                self.pull_to_skin(start, &places, samples, target, &mut forces);
                self.pull_landmarks(start, landmarks, LANDMARK_WEIGHT, &mut forces);
                places = self.solve(start, forces)?;
            }
        }
        Ok(places)
    }

    /// Sets the matrix to the regulariser alone, and returns forces of zero.
    fn begin(&mut self, stiffness: f64) -> Vec<Vec3> {
        let symbolic = self.solver.symbolic().clone();
        self.solver.clear();
        for &(a, b, value) in &self.stiffness {
            if let Some(slot) = symbolic.slot(a as usize, b as usize) {
                self.solver.add_scalar(slot, stiffness * value);
            }
        }
        vec![Vec3::zeros(); self.body.lattice().vertices().len()]
    }

    /// Adds the pull of the target's skin on that of the source, which lies at `places`; unknowns are increments from `start`.
    fn pull_to_skin(
        &mut self,
        start: &[Vec3],
        places: &[Vec3],
        samples: &SkinSamples,
        target: &TargetSkin,
        forces: &mut [Vec3],
    ) {
        let at = |v: &u32| self.embedding.position(*v as usize, places);
        let points: Vec<Vec3> = samples.vertices.par_iter().map(at).collect();
        let normals = samples.normals(&points);
        let pulls: Vec<Option<(Mat3, Vec3)>> = (0..points.len())
            .into_par_iter()
            .map(|v| {
                let hit = target.nearest(points[v])?;
                let near = (hit.distance / (HALF_DISTANCE * target.size)).powi(2);
                let facing = normals[v].dot(&hit.normal).max(0.0).powi(2);
                // The root, as weights of two artists differ far from joints too.
                let belonging = target.affinity(&samples.parts[v], &hit).sqrt();
                let weight = samples.areas[v] * facing * belonging / (1.0 + near);
                let across = hit.normal * hit.normal.transpose();
                let block = (across + Mat3::identity() * SLIDE_WEIGHT) * weight;
                (weight > 0.0).then_some((block, hit.point))
            })
            .collect();
        for (v, pull) in pulls.into_iter().enumerate() {
            if let Some((block, goal)) = pull {
                let vertex = samples.vertices[v] as usize;
                let row: Vec<(usize, f64)> = self.embedding.row(vertex).collect();
                self.pull(
                    &row,
                    &block,
                    goal - self.embedding.position(vertex, start),
                    forces,
                );
            }
        }
    }

    fn pull_landmarks(
        &mut self,
        start: &[Vec3],
        landmarks: &[Landmark],
        weight: f64,
        forces: &mut [Vec3],
    ) {
        let place = |row: &[(usize, f64)]| row.iter().map(|&(a, w)| start[a] * w).sum::<Vec3>();
        for landmark in landmarks {
            let corners = landmark.corners.iter();
            let own: Vec3 = corners.map(|(share, row)| place(row) * *share).sum();
            for (share, row) in &landmark.corners {
                let block = Mat3::identity() * (weight * share);
                self.pull(row, &block, landmark.place - own, forces);
            }
        }
    }

    /// Adds `½ (E u − way)ᵀ block (E u − way)`.
    fn pull(&mut self, row: &[(usize, f64)], block: &Mat3, way: Vec3, forces: &mut [Vec3]) {
        let force = block * way;
        let symbolic = self.solver.symbolic().clone();
        for (i, &(a, one)) in row.iter().enumerate() {
            forces[a] += force * one;
            for &(b, other) in &row[i..] {
                if let Some(slot) = symbolic.slot(a, b) {
                    self.solver.add(slot, &(block * (one * other)));
                }
            }
        }
    }

    fn solve(
        &mut self,
        start: &[Vec3],
        mut forces: Vec<Vec3>,
    ) -> Result<Vec<Vec3>, CorrespondenceError> {
        self.solver.factor()?;
        self.solver.solve(&mut forces);
        Ok(start.iter().zip(forces).map(|(x, u)| x + u).collect())
    }
}

/// Returns the entries, upper triangle, of `length² (1/V) ∫ ∇φ_a·∇φ_b`, with a little on the diagonal.
fn laplacian(body: &Body, length2: f64) -> Vec<(u32, u32, f64)> {
    let lattice = body.lattice();
    let mut entries = Vec::new();
    let mut whole = 0.0;
    for (c, cell) in (0u32..).zip(lattice.cells()) {
        let corners = lattice.corners(c);
        let ids = cell.corners();
        let mut block = [[0.0; 8]; 8];
        for piece in cell.subtetrahedra(0) {
            let x = piece.map(|shape| {
                let weighted = corners.iter().zip(shape);
                weighted.map(|(x, w)| x * w).sum::<Vec3>()
            });
            let edges = Mat3::from_columns(&[x[1] - x[0], x[2] - x[0], x[3] - x[0]]);
            let volume = edges.determinant().abs() / 6.0;
            let Some(inverse) = edges.try_inverse() else {
                continue;
            };
            whole += volume;
            let g = [0, 1, 2].map(|k| inverse.row(k).transpose());
            let g = [-(g[0] + g[1] + g[2]), g[0], g[1], g[2]];
            for (i, j) in (0..4).flat_map(|i| (0..4).map(move |j| (i, j))) {
                let value = volume * g[i].dot(&g[j]);
                for k in 0..ids.len() {
                    for l in 0..ids.len() {
                        block[k][l] += value * piece[i][k] * piece[j][l];
                    }
                }
            }
        }
        for k in 0..ids.len() {
            for l in k..ids.len() {
                entries.push((ids[k], ids[l], block[k][l]));
            }
            // A tie of each vertex to its own place.
            entries.push((ids[k], ids[k], TIE_SHARE * block[k][k]));
        }
    }
    let scale = length2 / f64::max(whole, f64::MIN_POSITIVE);
    entries.iter_mut().for_each(|entry| entry.2 *= scale);
    entries
}

impl LatticeMap {
    /// Completes a map by its derivatives: at each vertex the least squares `J = (Σ ē eᵀ)(Σ e eᵀ)⁻¹` over the edges of the cells
    /// around it, or the blended maps of the bones where det J ≤ 0.
    pub fn new(body: &Body, maps: &BoneMaps, places: Vec<Vec3>) -> Self {
        let lattice = body.lattice();
        let x = lattice.vertices();
        let mut sums = vec![(Mat3::zeros(), Mat3::zeros()); x.len()];
        for cell in lattice.cells() {
            let ids = cell.corners();
            let (mut mixed, mut own) = (Mat3::zeros(), Mat3::zeros());
            for edge in cell.edges() {
                let [a, b] = edge.map(|k| ids[k] as usize);
                let e = x[b] - x[a];
                // Equal weight of every edge, so that long ones do not outweigh short ones.
                let weight = 1.0 / e.norm_squared().max(f64::MIN_POSITIVE);
                mixed += (places[b] - places[a]) * e.transpose() * weight;
                own += e * e.transpose() * weight;
            }
            for &a in ids {
                sums[a as usize].0 += mixed;
                sums[a as usize].1 += own;
            }
        }
        let mut inverted = 0;
        let mut gradients = Vec::with_capacity(x.len());
        for (a, (mixed, own)) in sums.into_iter().enumerate() {
            let fitted = own.try_inverse().map(|inverse| mixed * inverse);
            gradients.push(match fitted.filter(|j| j.determinant() > 0.0) {
                Some(fitted) => fitted,
                None => {
                    inverted += 1;
                    bone_gradient(body, maps, a)
                }
            });
        }
        Self {
            places,
            gradients,
            inverted,
        }
    }

    /// Returns the derivative of the map at a point of the lattice.
    pub fn gradient(&self, row: impl Iterator<Item = (usize, f64)>) -> Mat3 {
        row.map(|(a, w)| self.gradients[a] * w).sum()
    }
}

/// Returns the blend of the bones' linear maps at a lattice vertex, or that of its first bone where they turn it inside out.
fn bone_gradient(body: &Body, maps: &BoneMaps, vertex: usize) -> Mat3 {
    let rows = || body.region_weights().row(vertex);
    let linear = |b: u32| maps.maps[b as usize].affine.linear;
    let blend: Mat3 = rows().map(|(b, w)| linear(b) * w).sum();
    let most = rows().max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)));
    match most {
        Some((bone, _)) if blend.determinant() <= 0.0 => linear(bone),
        _ => blend,
    }
}
