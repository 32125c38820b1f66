// SPDX-License-Identifier: MIT OR Apache-2.0
//! Folds: places where the artist's skin, or that of bent joints, lies in itself at a pose.
//!
//! Real flesh could not have the bend that skinning gives there, and no contact can make up for it. The displayed skin then has more of the joints'
//! elastic shape, enough to part the skins. Folds depend on the pose alone and vanish as skin and skin come apart.

use crate::Vec3;
use crate::contact::display::overlaps::{FleshBoundary, SkinOverlap};
use crate::contact::display::ways_out::ProxyGraph;
use crate::contact::posed_flesh::{DisplayedVertices, PosedFlesh, SkinLifts};
use crate::contact::response::cells;
use crate::contact::search::broad::{self, FrameCandidates};
use crate::contact::{ContactSkin, SweptBody};
use crate::geometry::aabb;
use crate::lattice::Cell;
use crate::skeleton::{BonePoses, Pose};
use crate::surface::WindingTree;
use rayon::prelude::*;
use std::sync::Arc;

/// Share of a depth that each side moves: then skin lies on skin, and contact does the rest. With half the value an elbow at 136° keeps 0.13 % of the
/// size double instead of nothing.
const SIDE_SHARE: f64 = 0.5;
/// Farthest displacement of the displayed skin, in depths. With half the value an elbow bent as skin bends, at 148°, keeps 134 vertices in other
/// flesh instead of 94; twice the value makes no difference there.
const MAX_DISPLACEMENT: f64 = 1.5;
/// Rounds in which overlaps are parted; each parts those that remain. One round leaves 63 vertices of an elbow at 136° in other flesh, 0.4 % deep,
/// three rounds one. Six rounds part a falling frog by a twelfth more, and an elbow no more.
const PARTING_ROUNDS: usize = 3;
/// Sum of the shares at a node at which its fold is half of the mean: small overlaps part little, so that folds grow from zero. Half or twice the
/// value changes depths by a twentieth.
const HALF_WEIGHT_SHARE: f64 = 0.03;
/// Cosine between a way and the direction in which a point leaves, below which the way parts it less. At twice the value an elbow at 136° keeps 0.06
/// % double instead of nothing; at half nothing is gained.
const MIN_WAY_COSINE: f64 = 0.25;
/// Least share of its volume at rest below which a cell may fold onto its neighbours. Half and twice the value leave an elbow the same.
const PRESSED_VOLUME_SHARE: f64 = 0.5;
/// Passes that spread folds to the cells around. One pass leaves skin of an elbow at 148° 2.6 % of the size deep in other skin instead of 1.6, four
/// passes 1.7.
const SPREAD_PASSES: usize = 2;
/// Least number of vertices per task. It changes the speed alone.
const MIN_TASK_VERTICES: usize = 512;

/// Search for folds of one skin.
pub(crate) struct FoldSearch {
    skin: Arc<ContactSkin>,
    bounding: FleshBoundary,
    /// Winding tree of the skin, at the vertices of the last search.
    tree: WindingTree,
    ways_out: ProxyGraph,
}

impl FoldSearch {
    pub fn new(skin: &Arc<ContactSkin>) -> Self {
        let bounding = FleshBoundary::new(skin);
        Self {
            tree: bounding.build_tree(skin),
            bounding,
            ways_out: ProxyGraph::new(skin),
            skin: skin.clone(),
        }
    }

    /// Finds folds, `[nodes]`, 0 to 1; empty without any. `places` is the lattice as the bones carry it, `bent` its balance without loads, both
    /// `[nodes]`, metres. `lifts`: displacements of the skin at bent joints, metres, in rest axes; empty: none.
    pub fn find(
        &mut self,
        pose: &Pose,
        lifts: &[Vec3],
        (places, bent): (&[Vec3], &[Vec3]),
    ) -> Vec<f64> {
        let own = self.skin.clone();
        let body = own.body();
        // The pose has already been checked against the body.
        let bones = BonePoses::new(body.skeleton(), pose).ok();
        let mut shown = DisplayedVertices::default();
        shown.clear(body.surface().vertices().len());
        let posed = PosedFlesh {
            skin: &own,
            pose,
            base: places,
            sway: &[],
            joints: 0.0,
            lifts: SkinLifts::new(lifts, bones.as_ref()),
            folds: &[],
            bounded: true,
            shown: &shown,
        };
        let swept = SweptBody {
            from: posed,
            to: None,
            itself: true,
        };
        let mut near = proxies_in_flesh(&posed, &broad::find_candidates(&[swept]));
        if near.is_empty() {
            return Vec::new();
        }
        let vertices = body.surface().vertices().len() as u32;
        let vertices = (0..vertices)
            .into_par_iter()
            .with_min_len(MIN_TASK_VERTICES);
        let skin: Vec<Vec3> = vertices.map(|v| posed.vertex(v)).collect();
        let embedding = body.embedding();
        let bend = |(v, skin): (usize, &Vec3)| embedding.position(v, bent) - skin;
        let ways: Vec<Vec3> = skin.iter().enumerate().map(bend).collect();
        let mut shown = skin.clone();
        let mut folds = vec![0.0; places.len()];
        for _ in 0..PARTING_ROUNDS {
            let (found, inside) = self.find_overlaps(&shown, &near);
            if found.is_empty() {
                break;
            }
            near = self.ways_out.with_neighbours(&inside);
            let more = self.parting_folds(&found, &ways);
            for (fold, more) in folds.iter_mut().zip(&more) {
                *fold = (*fold + more).min(1.0);
            }
            for (v, shown) in shown.iter_mut().enumerate() {
                let fold: f64 = embedding.row(v).map(|(a, share)| folds[a] * share).sum();
                if fold > 0.0 {
                    *shown = skin[v] + ways[v] * fold.min(1.0);
                }
            }
        }
        match folds.iter().all(|&f| f == 0.0) {
            true => Vec::new(),
            false => folds,
        }
    }

    /// Finds the overlaps of proxies at displayed vertices, and the proxies in other flesh.
    fn find_overlaps(&mut self, shown: &[Vec3], near: &[u32]) -> (Vec<SkinOverlap>, Vec<u32>) {
        self.bounding.move_tree(&mut self.tree, shown);
        let (skin, tree) = (&self.skin, &self.tree);
        let (mut found, inside) = self.bounding.find_overlaps_in(skin, shown, tree, near, 0.0);
        let place = |proxy: u32| skin.blend(&skin.proxies()[proxy as usize].point, shown);
        let unknown = self.bounding.sculpted_overlaps();
        let ways_out = self.ways_out.exit_distances(&inside, unknown, place);
        let mut ways_out = inside.iter().zip(&ways_out);
        for overlap in &mut found {
            if let Some((_, way)) = ways_out.find(|(proxy, _)| **proxy == overlap.proxy) {
                overlap.depth = overlap.depth.min(*way);
            }
        }
        (found, inside)
    }

    /// Computes the folds that part overlaps, `[nodes]`. `ways` lead from each vertex to the joints' shape, metres.
    fn parting_folds(&self, found: &[SkinOverlap], ways: &[Vec3]) -> Vec<f64> {
        let body = self.skin.body();
        let embedding = body.embedding();
        let none = || vec![0.0; self.skin.body().node_count()];
        let (mut folds, mut depths, mut shares) = (none(), none(), none());
        for overlap in found {
            let points = std::iter::once((overlap.point, overlap.normal));
            let partner = overlap.partner.map(|point| (point, -overlap.normal));
            for (point, out) in points.chain(partner) {
                let corners = self.skin.corners(point.triangle);
                let corners = || corners.into_iter().zip(point.weights);
                let way = self.skin.blend(&point, ways);
                let fold = parting_share(overlap.depth, &way, &out);
                for (v, weight) in corners() {
                    let row = embedding
                        .row(v as usize)
                        .filter(|(a, _)| !body.is_detail(*a));
                    for (a, share) in row {
                        // Points that need more count more.
                        let share = weight * share.max(0.0) * fold;
                        folds[a] += share * fold;
                        depths[a] += share * overlap.depth;
                        shares[a] += share;
                    }
                }
            }
        }
        for (v, share) in shares.iter().enumerate() {
            folds[v] /= share + HALF_WEIGHT_SHARE;
            depths[v] /= share + HALF_WEIGHT_SHARE;
        }
        let (mut folds, depths) = (self.spread_folds(folds), self.spread_folds(depths));
        // Nothing nearby moves farther than the parted points, however far away the joints' shape is.
        let mut farthest = none();
        for (v, way) in ways.iter().enumerate() {
            let way = way.norm();
            for (a, _) in embedding.row(v).filter(|(_, share)| *share > 0.0) {
                farthest[a] = f64::max(farthest[a], way);
            }
        }
        for (fold, (depth, way)) in folds.iter_mut().zip(depths.iter().zip(&farthest)) {
            *fold = fold.min(MAX_DISPLACEMENT * depth / f64::max(*way, f64::MIN_POSITIVE));
        }
        folds
    }

    /// Spreads values at nodes to the cells around, with falloff.
    fn spread_folds(&self, mut folds: Vec<f64>) -> Vec<f64> {
        let cells = self.skin.body().lattice().cells();
        let (mut sums, mut counts) = (vec![0.0; folds.len()], vec![0.0; folds.len()]);
        for _ in 0..SPREAD_PASSES {
            sums.fill(0.0);
            counts.fill(0.0);
            for functions in cells.iter().map(Cell::corners) {
                let sum: f64 = functions.iter().map(|&a| folds[a as usize]).sum();
                for &a in functions {
                    sums[a as usize] += sum / functions.len() as f64;
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

/// Returns the points that may be in other flesh, ascending: points in boxes of its cells, and points around cells so pressed that neighbours may
/// fold.
fn proxies_in_flesh(posed: &PosedFlesh, found: &FrameCandidates) -> Vec<u32> {
    let lattice = posed.skin.body().lattice();
    let mut near = Vec::new();
    for candidate in &found.candidates {
        let corners = lattice.cells()[candidate.cell as usize].corners();
        let corners = corners.iter().map(|&a| a as usize);
        let (lo, hi) = aabb::bounds(corners.map(|a| posed.node(a) + found.warps[0][a]));
        let place = posed.point(&posed.skin.proxies()[candidate.proxy as usize].point);
        if (0..3).all(|k| place[k] >= lo[k] && place[k] <= hi[k]) {
            near.push(candidate.proxy);
        }
    }
    let all = 0..lattice.cells().len() as u32;
    for c in all.filter(|&c| cells::min_determinant(posed, c) < PRESSED_VOLUME_SHARE) {
        let beside = posed.skin.neighbours(c).iter();
        near.extend(beside.flat_map(|&c| posed.skin.proxies_in(c)));
    }
    near.sort_unstable();
    near.dedup();
    near
}

/// Returns the part of a way `away` that moves a point by its share of a depth along `out`: zero where the way leads inwards, little where it leads
/// sideways.
fn parting_share(depth: f64, away: &Vec3, out: &Vec3) -> f64 {
    let along = away.dot(out);
    if along <= 0.0 {
        return 0.0;
    }
    let square = along * along + MIN_WAY_COSINE * MIN_WAY_COSINE * away.norm_squared();
    (SIDE_SHARE * depth * along / square).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contact::tests::ShapedBar;
    use crate::skeleton::Affine;
    use nalgebra::{Rotation3, Vector3};

    /// Builds a bar whose two bones turn about the middle by `angle` each, so that plain skinning folds its halves through each other. Returns it
    /// with its pose, its carried lattice, and a stand-in for its balance, pushed out of the bend.
    fn bent_bar(angle: f64) -> (ShapedBar, Pose, Vec<Vec3>, Vec<Vec3>) {
        let flesh = ShapedBar::new(|x| *x, 0.0);
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
        let rest = body.rest_shape();
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

    fn find_folds(angle: f64) -> Vec<f64> {
        let (flesh, pose, places, balance) = bent_bar(angle);
        FoldSearch::new(&flesh.skin).find(&pose, &[], (&places, &balance))
    }

    /// A bend whose skin does not lie on itself has no folds.
    #[test]
    fn folds_none_without_overlap() {
        for angle in [0.0, 0.5, 1.2] {
            assert!(find_folds(angle).is_empty(), "{angle}");
        }
    }

    /// Folds grow from zero as the skin comes to lie on itself, on both sides of the bend.
    #[test]
    fn folds_grow_from_zero() {
        let most = |angle: f64| find_folds(angle).into_iter().fold(0.0, f64::max);
        let (mut apart, mut lies) = (1.2, 3.0);
        while lies - apart > 1e-4 {
            let middle = 0.5 * (apart + lies);
            match most(middle) > 0.0 {
                true => lies = middle,
                false => apart = middle,
            }
        }
        assert!(most(lies) < 0.1 && most(3.0) > 0.3, "{}", most(lies));
        let (found, (flesh, ..)) = (find_folds(3.0), bent_bar(3.0));
        assert!(found.iter().all(|f| (0.0..=1.0).contains(f)));
        let rest = flesh.skin.body().rest_shape();
        for sign in [-1.0, 1.0] {
            let mut half = rest.iter().zip(&found);
            assert!(half.any(|(x, f)| sign * (x.z - 0.8) > 0.0 && *f > 0.0));
        }
    }

    /// A direction that leads inward or sideways parts nothing, and no direction parts more than the overlap requires.
    #[test]
    fn parting_ignores_inward_directions() {
        let out = Vec3::z();
        assert_eq!(parting_share(0.1, &-Vec3::z(), &out), 0.0);
        assert_eq!(parting_share(0.1, &Vec3::x(), &out), 0.0);
        assert_eq!(parting_share(9.0, &Vec3::z(), &out), 1.0);
        let aside = |slope: f64| Vec3::new(1.0, 0.0, slope);
        assert!(parting_share(0.1, &aside(1e-6), &out) < 1e-5);
        for slope in [0.01, 0.1, 0.3, 1.0, 10.0] {
            let way = aside(slope);
            let taken = parting_share(0.1, &way, &out);
            assert!(taken * slope <= SIDE_SHARE * 0.1 + 1e-12);
            assert!(taken * way.norm() <= SIDE_SHARE * 0.1 / (2.0 * MIN_WAY_COSINE) + 1e-12);
        }
        assert!(parting_share(0.1, &Vec3::z(), &out) > 0.9 * SIDE_SHARE * 0.1);
    }

    /// The points to examine include every one that overlaps other flesh, and not all points of the skin.
    #[test]
    fn proxies_in_flesh_include_overlapping_points() {
        let bent = ShapedBar::from_turns(1.2);
        let body = SweptBody {
            from: bent.posed_flesh(),
            to: None,
            itself: true,
        };
        let examined = proxies_in_flesh(&bent.posed_flesh(), &broad::find_candidates(&[body]));
        assert!(examined.windows(2).all(|pair| pair[0] < pair[1]));
        let touching = crate::contact::tests::find_touches(&bent);
        assert!(touching.iter().any(|touch| touch.depth < 0.0));
        for touch in touching.iter().filter(|touch| touch.depth < 0.0) {
            assert!(examined.binary_search(&touch.proxy).is_ok());
        }
        assert!(examined.len() < bent.skin.proxies().len());
    }

    /// Folds move the skin not much farther than the overlap, however far away the balance lies.
    #[test]
    fn fold_displacement_is_bounded() {
        let (flesh, pose, places, balance) = bent_bar(3.0);
        for far in [1.0, 10.0, 100.0] {
            let away = |(p, q): (&Vec3, &Vec3)| p + (q - p) * far;
            let balance: Vec<Vec3> = places.iter().zip(&balance).map(away).collect();
            let found = FoldSearch::new(&flesh.skin).find(&pose, &[], (&places, &balance));
            let ways = balance.iter().zip(&places).map(|(q, p)| (q - p).norm());
            let moved = found.iter().zip(ways).map(|(fold, way)| fold * way);
            // Skin of a bar of 10 cm cannot lie deeper than that.
            let most = moved.fold(0.0, f64::max);
            assert!(
                most > 1e-3 && most < MAX_DISPLACEMENT * 0.1,
                "{far}: {most}"
            );
        }
    }
}
