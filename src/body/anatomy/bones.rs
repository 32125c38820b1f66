// SPDX-License-Identifier: MIT OR Apache-2.0
//! The tree of bones according to the skin: bones that share most skin are linked, whatever the file's parents are.
//!
//! Files hang feet on the root and legs on a bone called Body; the skin is more reliable. Kruskal's algorithm builds
//! the tree. Weights are the skin that two bones share, relative to the smaller one's area, counted twice for parent
//! and child. Links between bones of the mirror plane come first, so that no limb lies between two pieces of the
//! middle, and links across the plane last. Helpers (twist bones, correctives) that lead no skin are left out.
//! O(n + b²) of n vertices and b bones.

use super::mirror::MirrorPlane;
use super::skin::BodySkin;
use super::statistics::mean_point;
use crate::Vec3;
use crate::geometry::sets::DisjointSets;
use crate::skeleton::Skeleton;

/// Smallest share of the skin's area that a bone must lead to count; it leads a vertex where no other bone has a
/// larger weight. Half of it leaves the maps of ten known characters the same to 0.001 on the mean; with twice, a dragon's map changes by 0.02.
const MIN_LEAD_SHARE: f64 = 0.001;
/// Largest distance between a bone and its mirror image, as a part of the size. Halving or doubling it leaves the maps
/// of ten known characters the same to 0.001.
const MAX_TWIN_DISTANCE: f64 = 0.03;
/// Factor on the skin that parent and child share, and on their distance if they share no skin. With half of the first
/// the maps of a fox, a horse and a bull change by 0.02 to 0.09 on the mean, and with twice those of a spider and a
/// dragon by 0.02 and 0.03. Halving or doubling the second changes none by 0.001.
const KINSHIP_FACTOR: f64 = 2.0;
const KINSHIP_DISTANCE_FACTOR: f64 = 0.3;
/// Smallest skin that two bones share, as a part of the smaller one's area. Halving or doubling it leaves the maps of
/// ten known characters the same.
const MIN_SHARED_SHARE: f64 = 1e-3;
/// Area that two bones share along an edge between their skins, as a part of its length squared; low-poly models
/// bind each vertex to one bone. Half of it changes a dragon's map by 0.004 on the mean, twice a spider's by 0.016.
const EDGE_AREA_FACTOR: f64 = 0.1;

/// Bones, measured by the skin that they lead.
pub(super) struct BoneTree {
    /// `true`: the bone leads skin.
    pub live: Vec<bool>,
    /// `true`: its skin lies equally on both sides of the mirror plane.
    pub middle: Vec<bool>,
    /// Skin area, m².
    pub area: Vec<f64>,
    /// A quarter of area times mean thickness, m³.
    pub volume: Vec<f64>,
    /// Half the mean thickness, metres.
    pub radius: Vec<f64>,
    /// Centre of the bone's skin.
    pub centre: Vec<Vec3>,
    /// Signed mean distance of the bone's skin from the mirror plane, as a part of the size.
    pub side: Vec<f64>,
    links: Vec<Vec<Link>>,
}

/// A neighbour in the tree, and the joint: the middle of the skin that both carry.
#[derive(Clone, Copy)]
struct Link {
    to: usize,
    joint: Vec3,
}

impl BoneTree {
    /// Builds the tree; `diameters`: the body's thickness at the skin's vertices.
    pub fn new(
        skin: &BodySkin,
        skeleton: &Skeleton,
        diameters: &[f64],
        plane: &MirrorPlane,
    ) -> Self {
        let n = skeleton.len();
        let mut bones = Self::measure(skin, n, diameters, plane);
        let twin = bones.twins(plane, skin.span);
        let plain = shared_areas(skin, n);
        let strength = |i: usize, j: usize| {
            let both = 0.5 * (plain[i * n + j] + plain[twin[i] * n + twin[j]]);
            both / bones.area[i].min(bones.area[j]).max(f64::MIN_POSITIVE)
        };
        let kin = leading_ancestors(skeleton, &bones.live);
        let is_kin = |i: usize, j: usize| kin[i] == Some(j) || kin[j] == Some(i);
        let live: Vec<usize> = (0..n).filter(|&b| bones.live[b]).collect();
        let (mut pairs, mut rest) = (Vec::new(), Vec::new());
        for (k, &i) in live.iter().enumerate() {
            for &j in &live[k + 1..] {
                let (s, kin) = (strength(i, j), is_kin(i, j));
                if s > MIN_SHARED_SHARE {
                    pairs.push((-s * if kin { KINSHIP_FACTOR } else { 1.0 }, i, j));
                }
                let gap = (bones.centre[i] - bones.centre[j]).norm();
                rest.push((gap * if kin { KINSHIP_DISTANCE_FACTOR } else { 1.0 }, i, j));
            }
        }
        for list in [&mut pairs, &mut rest] {
            list.sort_by(|a, b| a.0.total_cmp(&b.0).then((a.1, a.2).cmp(&(b.1, b.2))));
        }
        let inner = |q: &&(f64, usize, usize)| bones.middle[q.1] && bones.middle[q.2];
        let one_side = |q: &&(f64, usize, usize)| {
            let outer = !bones.middle[q.1] && !bones.middle[q.2] && plane.exists();
            !(outer && bones.side[q.1] * bones.side[q.2] < 0.0)
        };
        let both = || pairs.iter().chain(&rest);
        let order = both()
            .filter(inner)
            .chain(both().filter(one_side))
            .chain(both());
        let mut sets = DisjointSets::new(n);
        let mut links: Vec<(usize, usize)> = Vec::new();
        for &(_, i, j) in order {
            if sets.join(i as u32, j as u32) {
                links.push((i, j));
            }
        }
        let joints = bones.joints(skin, &links);
        for (&(i, j), &joint) in links.iter().zip(&joints) {
            bones.links[i].push(Link { to: j, joint });
            bones.links[j].push(Link { to: i, joint });
        }
        bones
    }

    pub fn len(&self) -> usize {
        self.live.len()
    }

    /// Returns the neighbours of a bone.
    pub fn neighbours(&self, bone: usize) -> impl Iterator<Item = usize> + '_ {
        self.links[bone].iter().map(|l| l.to)
    }

    /// Returns the joint of two linked bones, or the centre of the first one's skin if they are not linked.
    pub fn joint(&self, bone: usize, other: usize) -> Vec3 {
        let link = self.links[bone].iter().find(|l| l.to == other);
        link.map_or(self.centre[bone], |l| l.joint)
    }

    /// Returns all bones on `bone`'s side of its link with `from`, breadth first from `bone`.
    pub fn bones_beyond(&self, bone: usize, from: usize) -> Vec<usize> {
        let mut seen = vec![false; self.len()];
        (seen[bone], seen[from]) = (true, true);
        let mut found = vec![bone];
        let mut at = 0;
        while at < found.len() {
            for other in self.neighbours(found[at]) {
                if !std::mem::replace(&mut seen[other], true) {
                    found.push(other);
                }
            }
            at += 1;
        }
        found
    }

    /// Returns a mark per bone, `true` for those in a list.
    pub fn bone_mask(&self, list: &[usize]) -> Vec<bool> {
        let mut marked = vec![false; self.len()];
        list.iter().for_each(|&b| marked[b] = true);
        marked
    }

    /// Measures the skin of bones, without links.
    fn measure(skin: &BodySkin, n: usize, diameters: &[f64], plane: &MirrorPlane) -> Self {
        let (mut area, mut volume, mut main) = (vec![0.0; n], vec![0.0; n], vec![0.0; n]);
        let (mut side, mut spread) = (vec![0.0; n], vec![0.0; n]);
        let mut centre = vec![Vec3::zeros(); n];
        for (v, row) in skin.rows.iter().enumerate() {
            let away = plane.signed_distance(&skin.x[v]) / skin.span;
            let most = row.iter().map(|r| r.1).fold(0.0, f64::max);
            let firsts = || row.iter().filter(|r| r.1 >= most * (1.0 - 1e-6));
            for &(b, _) in firsts() {
                main[b as usize] += skin.area[v] / firsts().count() as f64;
            }
            for &(b, w) in row {
                let (b, a) = (b as usize, w * skin.area[v]);
                area[b] += a;
                volume[b] += a * diameters[v].min(skin.span) / 4.0;
                centre[b] += skin.x[v] * a;
                side[b] += a * away;
                spread[b] += a * away.abs();
            }
        }
        let whole: f64 = area.iter().sum();
        let mut live: Vec<bool> = main.iter().map(|m| *m > MIN_LEAD_SHARE * whole).collect();
        if !live.contains(&true) {
            let most = main.iter().copied().fold(0.0, f64::max);
            live = main.iter().map(|m| *m >= most).collect();
        }
        let each = |b: usize| area[b].max(f64::MIN_POSITIVE);
        for b in 0..n {
            centre[b] /= each(b);
            side[b] /= each(b);
            spread[b] /= each(b);
        }
        Self {
            middle: (0..n)
                .map(|b| live[b] && plane.exists() && side[b].abs() < (0.35 * spread[b]).max(0.002))
                .collect(),
            radius: (0..n).map(|b| 2.0 * volume[b] / each(b)).collect(),
            links: vec![Vec::new(); n],
            live,
            area,
            volume,
            centre,
            side,
        }
    }

    /// Returns, for each bone, the one with its skin at the mirror image, or the bone itself if there is none.
    pub fn twins(&self, plane: &MirrorPlane, size: f64) -> Vec<usize> {
        let n = self.len();
        let nearest = |b: usize| {
            let image = plane.image(&self.centre[b]);
            let others = (0..n).filter(|&c| self.live[c]);
            let apart = others.map(|c| ((self.centre[c] - image).norm(), c));
            apart.min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)))
        };
        let best: Vec<Option<usize>> = (0..n)
            .map(|b| {
                let found = nearest(b).filter(|_| self.live[b] && plane.exists())?;
                (found.0 < MAX_TWIN_DISTANCE * size).then_some(found.1)
            })
            .collect();
        let mutual = |b: usize| best[b].filter(|&c| best[c] == Some(b));
        (0..n).map(|b| mutual(b).unwrap_or(b)).collect()
    }

    /// Returns the joint of each link.
    fn joints(&self, skin: &BodySkin, links: &[(usize, usize)]) -> Vec<Vec3> {
        let n = self.len();
        let mut number = vec![u32::MAX; n * n];
        for (k, &(i, j)) in (0u32..).zip(links) {
            (number[i * n + j], number[j * n + i]) = (k, k);
        }
        let mut on_vertices = vec![(Vec3::zeros(), 0.0); links.len()];
        let mut on_edges = on_vertices.clone();
        for (v, row) in skin.rows.iter().enumerate() {
            for (k, &(i, wi)) in row.iter().enumerate() {
                for &(j, wj) in &row[k + 1..] {
                    let link = number[i as usize * n + j as usize] as usize;
                    if let Some((sum, total)) = on_vertices.get_mut(link) {
                        let m = skin.area[v] * wi * wj;
                        *sum += skin.x[v] * m;
                        *total += m;
                    }
                }
            }
        }
        for e in &skin.edges {
            let [a, b] = e.map(|v| v as usize);
            let half = (skin.x[a] + skin.x[b]) * 0.5;
            for &(i, wi) in &skin.rows[a] {
                for &(j, wj) in &skin.rows[b] {
                    let link = number[i as usize * n + j as usize] as usize;
                    if let (Some((sum, total)), true) = (on_edges.get_mut(link), i != j) {
                        *sum += half * (wi * wj);
                        *total += wi * wj;
                    }
                }
            }
        }
        let joint = |(k, &(i, j)): (usize, &(usize, usize))| {
            let least = self.area[i].min(self.area[j]);
            let (sum, total) = on_vertices[k];
            if total > 1e-5 * least {
                return sum / total;
            }
            let (sum, total) = on_edges[k];
            if total > 0.0 {
                return sum / total;
            }
            // Of disconnected pieces, the point of the smaller nearest to the larger.
            let (small, large) = if self.area[i] < self.area[j] {
                (i, j)
            } else {
                (j, i)
            };
            let mine =
                |row: &&Vec<(u32, f64)>| row.iter().any(|r| r.0 as usize == small && r.1 > 0.5);
            let own = skin.rows.iter().zip(&skin.x).filter(|(row, _)| mine(row));
            let apart = |x: &Vec3| (x - self.centre[large]).norm_squared();
            let near = own
                .map(|(_, x)| x)
                .min_by(|a, b| apart(a).total_cmp(&apart(b)));
            near.copied()
                .unwrap_or((self.centre[i] + self.centre[j]) * 0.5)
        };
        links.iter().enumerate().map(joint).collect()
    }
}

/// Returns the skin that two bones share, m², dense: on its vertices and along its edges.
fn shared_areas(skin: &BodySkin, n: usize) -> Vec<f64> {
    let mut table = vec![0.0; n * n];
    let mut add = |i: u32, j: u32, value: f64| {
        if i != j {
            table[i as usize * n + j as usize] += value;
            table[j as usize * n + i as usize] += value;
        }
    };
    for (row, area) in skin.rows.iter().zip(&skin.area) {
        for (k, &(i, wi)) in row.iter().enumerate() {
            for &(j, wj) in &row[k + 1..] {
                add(i, j, 2.0 * area * wi * wj);
            }
        }
    }
    for e in &skin.edges {
        let [a, b] = e.map(|v| v as usize);
        let wide = EDGE_AREA_FACTOR * (skin.x[a] - skin.x[b]).norm_squared();
        for &(i, wi) in &skin.rows[a] {
            for &(j, wj) in &skin.rows[b] {
                add(i, j, wide * wi * wj);
            }
        }
    }
    table
}

/// Returns, for each bone that leads skin, its nearest ancestor that does.
fn leading_ancestors(skeleton: &Skeleton, live: &[bool]) -> Vec<Option<usize>> {
    let above = |b: usize| {
        let mut at = skeleton.parents()[b];
        for _ in 0..live.len() {
            match at {
                Some(p) if !live[p as usize] => at = skeleton.parents()[p as usize],
                _ => break,
            }
        }
        at.map(|p| p as usize).filter(|&p| live[p])
    };
    (0..live.len())
        .map(|b| live[b].then(|| above(b)).flatten())
        .collect()
}

/// Restricts the weights of each vertex to bones that lead skin. A vertex that they hardly carry copies the weights of
/// the nearest vertex that they do carry.
pub(super) fn keep_leading(skin: &mut BodySkin, live: &[bool]) {
    let mut led = vec![false; skin.len()];
    for (row, led) in skin.rows.iter_mut().zip(&mut led) {
        row.retain(|r| live[r.0 as usize]);
        let total: f64 = row.iter().map(|r| r.1).sum();
        *led = total > 0.05;
        row.iter_mut().for_each(|r| r.1 /= total);
    }
    if led.contains(&true) {
        for (v, near) in skin.nearest_chosen(&led) {
            skin.rows[v] = skin.rows[near].clone();
        }
    } else {
        skin.rows.iter_mut().for_each(Vec::clear);
    }
}

/// Returns the reach of the skin of bones from a point, and its mean distance from the line through its middle,
/// metres.
pub(super) fn skin_reach(skin: &BodySkin, share: &[f64], start: &Vec3) -> (f64, f64) {
    let mine: Vec<usize> = (0..skin.len()).filter(|&v| share[v] > 0.5).collect();
    let Some(middle) = mean_point(mine.iter().map(|&v| (skin.x[v], skin.area[v]))) else {
        return (0.0, 0.0);
    };
    let along = (middle - start)
        .try_normalize(f64::MIN_POSITIVE)
        .unwrap_or_default();
    let (mut off, mut total) = (0.0, 0.0);
    for &v in &mine {
        let x = skin.x[v] - start;
        off += skin.area[v] * (x - along * x.dot(&along)).norm();
        total += skin.area[v];
    }
    let lengths = mine.iter().map(|&v| (skin.x[v] - start).norm()).collect();
    let reach = super::statistics::quantile(lengths, 0.97).unwrap_or(0.0);
    (reach, off / total.max(f64::MIN_POSITIVE))
}
