// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where the artist's own skin lies in itself at a pose.
//!
//! There the bend that skinning gives is none that flesh could have, and no contact can make up for it: what is shown has more of the
//! joints' elastic shape, as much as parts the skins. It depends on the pose alone, and goes to nothing as skin and skin come apart.

use super::broad::{self, Found};
use super::overlaps::Bounding;
use super::posed::{Posed, ShownVertices};
use super::{ContactSkin, Swept};
use crate::Vec3;
use crate::aabb;
use crate::skeleton::Pose;
use crate::surface::WindingTree;
use rayon::prelude::*;
use std::sync::Arc;

/// Which part of a depth each side goes: then skin lies on skin, and contact does the rest.
const EACH: f64 = 0.5;
/// What is shown moves by so many times the depth at most.
const FARTHEST: f64 = 1.5;
/// How often folds are spread to the cells around.
const ROUNDS: usize = 2;
/// Vertices that one task poses at least.
const SOME: usize = 512;
/// Points so far outside of a cell are in it still, in its own coordinates.
const BESIDE: f64 = 0.1;

/// Finds folds of one skin.
pub(crate) struct Folds {
    skin: Arc<ContactSkin>,
    bounding: Bounding,
    /// Of the skin, moved to where it was looked for last.
    tree: WindingTree,
    /// Triangles of the skin that have a vertex in each cell, or in one beside it.
    triangles: Vec<Vec<u32>>,
}

impl Folds {
    pub fn new(skin: &Arc<ContactSkin>) -> Self {
        let bounding = Bounding::new(skin);
        Self {
            tree: bounding.movable(skin),
            bounding,
            triangles: triangles_around(skin),
            skin: skin.clone(),
        }
    }

    /// Folds `[nodes]`, 0 to 1, at a pose whose bones carry the lattice to `places`, where it is in balance without loads at `bent`;
    /// empty where there are none.
    pub fn find(&mut self, pose: &Pose, places: &[Vec3], bent: &[Vec3]) -> Vec<f64> {
        let body = self.skin.body();
        let mut shown = ShownVertices::default();
        shown.clear(body.surface().vertices().len());
        let posed = Posed {
            skin: &self.skin,
            pose,
            base: places,
            sway: &[],
            joints: 0.0,
            folds: &[],
            bounded: true,
            shown: &shown,
        };
        let swept = Swept {
            from: posed,
            to: None,
            itself: true,
        };
        let (near, cells) = entered(&posed, &broad::candidates(&[swept]));
        if near.is_empty() {
            return Vec::new();
        }
        let vertices = body.surface().vertices().len() as u32;
        let vertices = (0..vertices).into_par_iter().with_min_len(SOME);
        let vertices: Vec<Vec3> = vertices.map(|v| posed.vertex(v)).collect();
        self.bounding.set(&mut self.tree, &vertices);
        let mut is_around = vec![false; self.skin.triangles()];
        for &t in cells.iter().flat_map(|&c| &self.triangles[c as usize]) {
            is_around[t as usize] = true;
        }
        let around = (0..self.skin.triangles() as u32).filter(|&t| is_around[t as usize]);
        let around: Vec<u32> = around.collect();
        let skin = (&*self.skin, &vertices[..]);
        let of = (&self.tree, &around[..]);
        let found = self.bounding.overlaps_among(skin, of, &near, 0.0);
        let none = || vec![0.0; places.len()];
        let (mut folds, mut depths, mut shares) = (none(), none(), none());
        let embedding = body.embedding();
        // How far the joints' shape is from the skin.
        let away = |v: u32| embedding.place(v as usize, bent) - vertices[v as usize];
        for overlap in &found {
            let points = std::iter::once((overlap.point, overlap.normal));
            let partner = overlap.partner.map(|point| (point, -overlap.normal));
            for (point, out) in points.chain(partner) {
                let corners = self.skin.corners(point.triangle);
                let weighed = corners.into_iter().zip(point.weights);
                let away = weighed.map(|(v, w)| away(v) * w).sum::<Vec3>();
                let fold = parting(overlap.depth, &away, &out);
                let rows = corners.into_iter().flat_map(|v| embedding.row(v as usize));
                for (a, share) in rows {
                    // What needs more counts more.
                    let share = share.max(0.0) * fold;
                    folds[a] += share * fold;
                    depths[a] += share * overlap.depth;
                    shares[a] += share;
                }
            }
        }
        for (v, share) in shares.iter().enumerate() {
            folds[v] /= f64::max(*share, f64::MIN_POSITIVE);
            depths[v] /= f64::max(*share, f64::MIN_POSITIVE);
        }
        if folds.iter().all(|&f| f == 0.0) {
            return Vec::new();
        }
        let (mut folds, depths) = (self.spread(folds), self.spread(depths));
        // Nothing around moves farther than what is parted, wherever the joints' shape may be.
        let mut ways = none();
        for v in 0..vertices.len() as u32 {
            let row = || embedding.row(v as usize).filter(|(_, share)| *share > 0.0);
            if row().any(|(a, _)| folds[a] > 0.0) {
                let way = away(v).norm();
                row().for_each(|(a, _)| ways[a] = f64::max(ways[a], way));
            }
        }
        for (fold, (depth, way)) in folds.iter_mut().zip(depths.iter().zip(&ways)) {
            *fold = fold.min(FARTHEST * depth / f64::max(*way, f64::MIN_POSITIVE));
        }
        folds
    }

    /// Numbers that fall off over the cells around.
    fn spread(&self, mut folds: Vec<f64>) -> Vec<f64> {
        let cells = self.skin.body().lattice().cells();
        let (mut sums, mut counts) = (vec![0.0; folds.len()], vec![0.0; folds.len()]);
        for _ in 0..ROUNDS {
            sums.fill(0.0);
            counts.fill(0.0);
            for cell in cells {
                let corners = cell.corners();
                let sum: f64 = corners.iter().map(|&a| folds[a as usize]).sum();
                for &a in corners {
                    sums[a as usize] += sum / corners.len() as f64;
                    counts[a as usize] += 1.0;
                }
            }
            for (fold, (sum, count)) in folds.iter_mut().zip(sums.iter().zip(&counts)) {
                *fold = fold.max(sum / f64::max(*count, 1.0));
            }
        }
        folds
    }
}

/// Which points are in cells of other flesh, ascending, and which cells these are.
fn entered(posed: &Posed, found: &Found) -> (Vec<u32>, Vec<u32>) {
    let lattice = posed.skin.body().lattice();
    let (mut near, mut cells) = (Vec::new(), Vec::new());
    for candidate in &found.candidates {
        let cell = &lattice.cells()[candidate.cell as usize];
        let corners = cell.corners();
        let mut at = [Vec3::zeros(); 8];
        for (p, &a) in at.iter_mut().zip(corners) {
            *p = posed.node(a as usize) + found.warps[0][a as usize];
        }
        let at = &at[..corners.len()];
        let place = posed.point(&posed.skin.proxies()[candidate.proxy as usize].point);
        let (lo, hi) = aabb::bounds(at);
        if (0..3).any(|k| place[k] < lo[k] || place[k] > hi[k]) {
            continue;
        }
        if cell
            .local(at, place)
            .is_some_and(|l| cell.inside(l) > -BESIDE)
        {
            near.push(candidate.proxy);
            cells.push(candidate.cell);
        }
    }
    near.dedup();
    cells.sort_unstable();
    cells.dedup();
    (near, cells)
}

/// Triangles with a vertex in each cell, or in one that shares a vertex with it.
fn triangles_around(skin: &ContactSkin) -> Vec<Vec<u32>> {
    let body = skin.body();
    let cells = body.embedding().cells();
    let mut own: Vec<Vec<u32>> = vec![Vec::new(); body.lattice().cells().len()];
    for t in (0..skin.triangles() as u32).filter(|&t| skin.is_skin(t)) {
        for v in skin.corners(t) {
            own[cells[v as usize] as usize].push(t);
        }
    }
    let around = |c: u32| {
        let beside = skin.neighbours(c).iter();
        let mut all: Vec<u32> = beside.flat_map(|&c| &own[c as usize]).copied().collect();
        all.sort_unstable();
        all.dedup();
        all
    };
    (0..own.len() as u32).map(around).collect()
}

/// The part of a way `away` that takes a point its part of a depth along `out`; nothing where it leads in.
fn parting(depth: f64, away: &Vec3, out: &Vec3) -> f64 {
    let along = away.dot(out);
    if along <= 0.0 {
        return 0.0;
    }
    let far = FARTHEST * depth / away.norm();
    (EACH * depth / along).min(far).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contact::tests::Shaped;
    use crate::skeleton::Affine;
    use nalgebra::{Rotation3, Vector3};

    /// The bar whose two bones turn about the middle, by so much each, so that its halves come to lie on each other: plain skinning
    /// folds it through itself there; and where its lattice would be in balance, pushed out of the bend.
    fn bent(angle: f64) -> (Shaped, Pose, Vec<Vec3>, Vec<Vec3>) {
        let flesh = Shaped::new(|x| *x, 0.0);
        let middle = Vec3::new(0.0, 0.0, 0.8);
        let map = |sign: f64| {
            let turn = Rotation3::from_scaled_axis(Vector3::y() * (sign * angle)).into_inner();
            Affine {
                linear: turn,
                translation: middle - turn * middle,
            }
        };
        let pose = Pose::new(vec![map(-0.5), map(0.5)]).unwrap();
        let body = flesh.skin.body();
        let weights = body.region_weights();
        let rest = body.lattice().vertices();
        let place = |(v, x): (usize, &Vec3)| {
            let row = weights.row(v);
            row.map(|(b, w)| pose.maps()[b as usize].apply(*x) * w)
                .sum()
        };
        let places: Vec<Vec3> = rest.iter().enumerate().map(place).collect();
        // Away from the plane between the halves.
        let out = |(p, x): (&Vec3, &Vec3)| p + Vec3::z() * (0.2 * (x.z - 0.8).signum());
        let balance = places.iter().zip(rest).map(out).collect();
        (flesh, pose, places, balance)
    }

    fn folds(angle: f64) -> Vec<f64> {
        let (flesh, pose, places, balance) = bent(angle);
        Folds::new(&flesh.skin).find(&pose, &places, &balance)
    }

    #[test]
    fn skin_that_lies_on_no_skin_folds_nowhere() {
        for angle in [0.0, 0.5, 1.2] {
            assert!(folds(angle).is_empty(), "{angle}");
        }
    }

    #[test]
    fn folds_come_from_nothing_on_both_sides_of_the_bend() {
        let most = |angle: f64| folds(angle).into_iter().fold(0.0, f64::max);
        let (mut apart, mut lies) = (1.2, 3.0);
        while lies - apart > 1e-4 {
            let middle = 0.5 * (apart + lies);
            match most(middle) > 0.0 {
                true => lies = middle,
                false => apart = middle,
            }
        }
        assert!(most(lies) < 0.1 && most(3.0) > 0.3, "{}", most(lies));
        let (found, (flesh, ..)) = (folds(3.0), bent(3.0));
        assert!(found.iter().all(|f| (0.0..=1.0).contains(f)));
        let rest = flesh.skin.body().lattice().vertices();
        for sign in [-1.0, 1.0] {
            let mut half = rest.iter().zip(&found);
            assert!(half.any(|(x, f)| sign * (x.z - 0.8) > 0.0 && *f > 0.0));
        }
    }

    #[test]
    fn a_way_that_leads_in_parts_nothing_and_none_is_longer_than_asked() {
        let out = Vec3::z();
        assert_eq!(parting(0.1, &-Vec3::z(), &out), 0.0);
        assert_eq!(parting(0.1, &Vec3::x(), &out), 0.0);
        let along = parting(0.1, &Vec3::z(), &out);
        assert!((along - EACH * 0.1).abs() < 1e-12);
        let aslant = Vec3::new(5.0, 0.0, 1.0);
        assert!(parting(0.1, &aslant, &out) * aslant.norm() <= FARTHEST * 0.1 + 1e-12);
        assert_eq!(parting(9.0, &Vec3::z(), &out), 1.0);
    }
}
