// SPDX-License-Identifier: MIT OR Apache-2.0
//! Displayed flesh at one instant: the artist's skin and the offset that the flesh adds to it. [docs/methods/skinned-ground.md]
//!
//! Let q = base + u be the lattice, u its sway, E the embedding, s₀ the share of the lattice's own bend, f folds, and skin the artist's or that of
//! bent joints. A vertex is shown at `skin + s₀ bend + bound((1 − s₀) E f bend + w E u)`, `bend = E base − skin` ([`crate::kernel::present`] computes
//! the same for frames, in f32). Contacts are found on the displayed skin and push the sway: their rows are its derivatives with respect to u.

use super::skin::{ContactSkin, SkinPoint};
use crate::kernel::SwayBound;
use crate::skeleton::{BonePoses, Pose};
use crate::{Mat3, Vec3};
use smallvec::SmallVec;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Derivatives of a displayed point with respect to lattice vertices; inline capacity for three corners in hexahedra.
pub(crate) type SwayDerivatives = SmallVec<[(u32, Mat3); 24]>;

/// Flesh of a body at one instant.
#[derive(Clone, Copy)]
pub(crate) struct PosedFlesh<'a> {
    pub skin: &'a ContactSkin,
    pub pose: &'a Pose,
    /// Lattice vertices without sway, `[nodes]`, metres, world axes.
    pub base: &'a [Vec3],
    /// u, `[nodes]`, metres; empty: 0.
    pub sway: &'a [Vec3],
    /// s₀, 0 to 1.
    pub joints: f64,
    /// Displacements of the skin at bent joints.
    pub lifts: SkinLifts<'a>,
    /// f, `[nodes]`, 0 to 1; empty: 0.
    pub folds: &'a [f64],
    /// Whether the bounds of the flesh map limit the displayed sway.
    pub bounded: bool,
    /// Cache of the displayed vertices.
    pub shown: &'a DisplayedVertices,
}

/// Displacements of vertices from the artist's skin at bent joints.
#[derive(Clone, Copy)]
pub(crate) struct SkinLifts<'a>(Option<(&'a [Vec3], &'a BonePoses)>);

impl<'a> SkinLifts<'a> {
    /// No displacement.
    pub const ZERO: Self = Self(None);

    /// Builds from `lifts[vertices]`, metres, in the rest axes of each vertex, which `bones` turn. Empty, or without bones: no displacement.
    pub fn new(lifts: &'a [Vec3], bones: Option<&'a BonePoses>) -> Self {
        Self(
            bones
                .filter(|_| !lifts.is_empty())
                .map(|bones| (lifts, bones)),
        )
    }

    fn vertex_lift(&self, skin: &ContactSkin, v: u32) -> Option<Vec3> {
        let (lifts, bones) = self.0?;
        let lift = lifts.get(v as usize)?;
        Some(bones.rotation(skin.body().skin().row(v as usize)) * lift)
    }
}

/// Displayed vertices at one instant, computed on demand by any thread; all threads compute the same.
#[derive(Debug, Default)]
pub(crate) struct DisplayedVertices {
    /// Bit patterns of the coordinates.
    places: Vec<[AtomicU64; 3]>,
    /// Instant of each stored position.
    instants: Vec<AtomicU32>,
    instant: u32,
}

impl DisplayedVertices {
    /// Builds a full cache from known positions.
    pub fn from_positions(places: &[Vec3]) -> Self {
        let mut shown = Self::default();
        shown.clear(places.len());
        for (v, place) in (0u32..).zip(places) {
            shown.set(v, place);
        }
        shown
    }

    /// Empties the cache for another instant of a skin with `vertices` vertices.
    pub fn clear(&mut self, vertices: usize) {
        self.instant = self.instant.wrapping_add(1);
        if self.instant == 0 || self.instants.len() != vertices {
            self.instant = 1;
            self.instants.clear();
            self.instants.resize_with(vertices, AtomicU32::default);
            self.places.resize_with(vertices, Default::default);
        }
    }

    fn get(&self, v: u32) -> Option<Vec3> {
        // Acquire pairs with the release in `set`: the coordinates are written before the instant.
        let instant = self.instants[v as usize].load(Ordering::Acquire);
        let place = &self.places[v as usize];
        (instant == self.instant)
            .then(|| Vec3::from_fn(|k, _| f64::from_bits(place[k].load(Ordering::Relaxed))))
    }

    fn set(&self, v: u32, place: &Vec3) {
        for (to, x) in self.places[v as usize].iter().zip(place.iter()) {
            to.store(x.to_bits(), Ordering::Relaxed);
        }
        self.instants[v as usize].store(self.instant, Ordering::Release);
    }
}

impl PosedFlesh<'_> {
    /// Returns the position of a lattice vertex, metres.
    pub fn node(&self, a: usize) -> Vec3 {
        match self.sway.get(a) {
            Some(sway) => self.base[a] + sway,
            None => self.base[a],
        }
    }

    /// Returns the sway of a vertex of the skin before bounds, metres.
    fn vertex_sway(&self, v: u32) -> Vec3 {
        match self.sway {
            [] => Vec3::zeros(),
            sway => self.skin.body().embedding().position(v as usize, sway),
        }
    }

    /// Returns the displayed position of a vertex of the skin, metres.
    pub fn vertex(&self, v: u32) -> Vec3 {
        self.shown.get(v).unwrap_or_else(|| {
            let place = self.compute_vertex(v);
            self.shown.set(v, &place);
            place
        })
    }

    fn compute_vertex(&self, v: u32) -> Vec3 {
        let body = self.skin.body();
        let embedding = body.embedding();
        let sway = self.vertex_sway(v);
        let bound = self.sway_limiter(v);
        let Some(skin) = self.lifted_skin_vertex(v) else {
            return embedding.position(v as usize, self.base) + bound.apply(sway, Vec3::zeros());
        };
        let fold = self.fold(v);
        if self.joints == 0.0 && fold == 0.0 {
            return skin + bound.apply(sway, Vec3::zeros());
        }
        let bend = embedding.position(v as usize, self.base) - skin;
        skin + bend * self.joints + bound.apply(sway, bend * ((1.0 - self.joints) * fold))
    }

    /// Returns a vertex of the artist's skin, lifted at bent joints; `None` where it has no effect or no skin weights.
    fn lifted_skin_vertex(&self, v: u32) -> Option<Vec3> {
        let mut row = self.skin.body().skin().row(v as usize).peekable();
        if self.joints >= 1.0 || row.peek().is_none() {
            return None;
        }
        let x = self.skin.rest_vertex(v);
        let mut skin = Vec3::zeros();
        for (bone, weight) in row {
            skin += self.pose.maps()[bone as usize].apply(x) * weight;
        }
        if let Some(lift) = self.lifts.vertex_lift(self.skin, v) {
            skin += lift;
        }
        Some(skin)
    }

    /// Returns f at a vertex of the skin.
    fn fold(&self, v: u32) -> f64 {
        if self.folds.is_empty() {
            return 0.0;
        }
        let row = self.skin.body().embedding().row(v as usize);
        let fold: f64 = row.map(|(a, share)| self.folds[a] * share).sum();
        fold.clamp(0.0, 1.0)
    }

    /// Returns the part of the joints' shape that a vertex shows for its fold, before bounds, metres.
    fn fold_displacement(&self, v: u32) -> Vec3 {
        match (self.fold(v), self.lifted_skin_vertex(v)) {
            (fold, Some(skin)) if fold > 0.0 => {
                let bend = self.skin.body().embedding().position(v as usize, self.base) - skin;
                bend * ((1.0 - self.joints) * fold)
            }
            _ => Vec3::zeros(),
        }
    }

    /// Returns the share s of the joints' elastic shape that a vertex of the skin shows.
    fn elastic_joints(&self, v: u32) -> f64 {
        self.joints + (1.0 - self.joints) * self.fold(v)
    }

    /// Returns the share s at a lattice vertex.
    pub fn elastic_joints_of_node(&self, a: usize) -> f64 {
        let fold = self.folds.get(a).copied().unwrap_or(0.0);
        self.joints + (1.0 - self.joints) * fold
    }

    /// Returns the share s at a point of the skin.
    pub fn elastic_joints_at(&self, point: &SkinPoint) -> f64 {
        let corners = self.skin.corners(point.triangle);
        let parts = corners.into_iter().zip(point.weights);
        parts.map(|(v, w)| self.elastic_joints(v) * w).sum()
    }

    /// Returns Young's modulus of the flesh in a cell, Pa; that of the body's material for a cell without flesh.
    pub fn young_of_cell(&self, cell: u32) -> f64 {
        let body = self.skin.body();
        let young = body.cell_young(cell);
        young.unwrap_or_else(|| body.material().young())
    }

    /// Returns Young's modulus at a point of the skin, Pa.
    pub fn young_at(&self, point: &SkinPoint) -> f64 {
        let cells = self.skin.body().embedding().cells();
        let corners = self.skin.corners(point.triangle);
        let parts = corners.into_iter().zip(point.weights);
        parts
            .map(|(v, w)| self.young_of_cell(cells[v as usize]) * w)
            .sum()
    }

    /// Returns the displayed position of a point of the skin, metres.
    pub fn point(&self, point: &SkinPoint) -> Vec3 {
        let corners = self.skin.corners(point.triangle);
        let mut p = Vec3::zeros();
        for (v, weight) in corners.into_iter().zip(point.weights) {
            if weight != 0.0 {
                p += self.vertex(v) * weight;
            }
        }
        p
    }

    /// Returns the outward normal at a point of the skin, interpolated from its corners; zero where undefined.
    pub fn normal(&self, point: &SkinPoint) -> Vec3 {
        let corners = self.skin.corners(point.triangle);
        let mut n = Vec3::zeros();
        for (v, weight) in corners.into_iter().zip(point.weights) {
            if weight != 0.0 {
                n += self.vertex_normal(v) * weight;
            }
        }
        n.try_normalize(0.0).unwrap_or_else(Vec3::zeros)
    }

    fn vertex_normal(&self, v: u32) -> Vec3 {
        let mut n = Vec3::zeros();
        for &t in self.skin.vertex_triangles(v) {
            n += self.area(t);
        }
        n.try_normalize(0.0).unwrap_or_else(Vec3::zeros)
    }

    /// Returns twice the area of a triangle along its outward normal, m².
    fn area(&self, triangle: u32) -> Vec3 {
        let [a, b, c] = self.skin.corners(triangle).map(|v| self.vertex(v));
        (b - a).cross(&(c - a))
    }

    /// Returns the displacement of a displayed point of the skin from the position that the lattice's vertices alone give it, metres.
    pub fn offset(&self, point: &SkinPoint) -> Vec3 {
        let body = self.skin.body();
        let embedding = body.embedding();
        let corners = self.skin.corners(point.triangle);
        let mut flesh = Vec3::zeros();
        for (v, weight) in corners.into_iter().zip(point.weights) {
            if weight == 0.0 {
                continue;
            }
            let place = match body.basis().levels() {
                0 => embedding.position(v as usize, self.base) + self.vertex_sway(v),
                _ => {
                    let row = embedding.row(v as usize);
                    let row = row.filter(|(a, _)| !body.is_detail(*a));
                    row.map(|(a, share)| self.node(a) * share).sum()
                }
            };
            flesh += place * weight;
        }
        self.point(point) - flesh
    }

    /// Adds the derivatives of a displayed point with respect to the sway of lattice vertices, times `factor`: one matrix per vertex. Returns the
    /// largest `SwayLimiter::restraint_factor` of its corners.
    pub fn add_derivatives(
        &self,
        point: &SkinPoint,
        factor: f64,
        slopes: &mut SwayDerivatives,
    ) -> f64 {
        let embedding = self.skin.body().embedding();
        let corners = self.skin.corners(point.triangle);
        let mut most = 1.0_f64;
        for (v, weight) in corners.into_iter().zip(point.weights) {
            if weight == 0.0 {
                continue;
            }
            let bound = self.sway_limiter(v);
            let sway = self.vertex_sway(v);
            let fold = self.fold_displacement(v);
            most = most.max(bound.restraint_factor(&sway, &fold));
            let slope = bound.slope(&sway, &fold) * (weight * factor);
            for (a, share) in embedding.row(v as usize) {
                let a = a as u32;
                match slopes.iter_mut().find(|(b, _)| *b == a) {
                    Some((_, sum)) => *sum += slope * share,
                    None => slopes.push((a, slope * share)),
                }
            }
        }
        most
    }

    fn sway_limiter(&self, v: u32) -> SwayLimiter {
        SwayLimiter(match self.bounded {
            true => self.skin.sway_bound(v),
            false => SwayBound::UNLIMITED,
        })
    }
}

/// [`SwayBound`] in f64, with its derivative.
struct SwayLimiter(SwayBound);

impl SwayLimiter {
    fn combine(&self, sway: &Vec3, fold: &Vec3) -> Vec3 {
        sway * f64::from(self.0.share) + fold
    }

    /// Returns the displayed part of sway and fold together.
    fn apply(&self, sway: Vec3, fold: Vec3) -> Vec3 {
        let both = self.combine(&sway, &fold);
        both * self.shrink(both.norm()).0
    }

    /// Returns the derivative of the displayed part with respect to the sway: symmetric.
    fn slope(&self, sway: &Vec3, fold: &Vec3) -> Mat3 {
        let both = self.combine(sway, fold);
        let d = both.norm();
        let (across, along) = self.shrink(d);
        let mut slope = Mat3::identity() * across;
        if d > 0.0 {
            slope += both * both.transpose() * ((along - across) / (d * d));
        }
        slope * f64::from(self.0.share)
    }

    /// Returns the inverse square of the bound's slope, the factor by which the bound holds back growing sway: 1 to 100.
    fn restraint_factor(&self, sway: &Vec3, fold: &Vec3) -> f64 {
        let (_, along) = self.shrink(self.combine(sway, fold).norm());
        (along * along).max(1e-2).recip()
    }

    /// Returns the factor that shrinks a distance, and the derivative of the shrunk distance.
    fn shrink(&self, d: f64) -> (f64, f64) {
        let limit = f64::from(self.0.limit);
        let free = limit * (2.0 / 3.0);
        if d <= free {
            return (1.0, 1.0);
        }
        let rest = limit - free;
        let tanh = ((d - free) / rest).tanh();
        ((free + rest * tanh) / d, 1.0 - tanh * tanh)
    }
}

#[cfg(test)]
mod tests;
