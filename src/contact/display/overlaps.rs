// SPDX-License-Identifier: MIT OR Apache-2.0
//! Search for points of a posed skin in other flesh of their body, and for the skin there, on the displayed surface alone.
//!
//! A point lies in other flesh where the winding number of the posed skin just outside of it is that of flesh. Its partner is the nearest other skin
//! that faces it and that it is behind. Skin that is about as near at rest is its own. Borderline pairs count less, so that nothing jumps when a pair
//! appears or vanishes.

use crate::Vec3;
use crate::contact::skin::{ContactSkin, SkinPoint};
use crate::surface::{WindingTree, closest_of_triangle};
use rayon::prelude::*;

/// Distance outside of the skin at which a point is tested, in sizes of the body: more than rounding, less than [`PARTING_MARGIN`]. Half and twice
/// the value give the same.
const OUTWARD_OFFSET: f64 = 1e-6;
/// Ratios of a point's distance at rest to its present distance: up to the first, skin is its own; from the second on, other skin counts in full. The
/// first is the definition. The wider the range, the softer skin begins to part; twice the second keeps a fourth more of an elbow at 148° double.
const REST_DISTANCE_RATIOS: [f64; 2] = [1.0, 1.5];
/// Cosines between the point's inward normal and the outward normal of the skin, at which a pair begins to count and counts in full. Skin that faces
/// the same way is not another side. With half the second modal flesh keeps 0.39 % double instead of 0.06.
const FACING_COSINES: [f64; 2] = [0.0, 0.3];
/// Depths, in cells, from which a point counts less and from which it is ignored: at a depth of the flesh's thickness no way out is the intended one.
/// Half or twice the values change the vertices of an elbow in other flesh by a fifth at most.
const FADING_DEPTHS: [f64; 2] = [1.0, 3.0];
/// Additional distance between parted skins, in sizes: they would show through each other. Half the value leaves 0.20 % double where it leaves 0.06,
/// twice 0.01.
const PARTING_MARGIN: f64 = 3e-4;

/// A point of the skin that overlaps skin or a collider.
#[derive(Debug, Clone, Copy)]
pub(in crate::contact) struct SkinOverlap {
    /// Number of the proxy.
    pub proxy: u32,
    pub point: SkinPoint,
    /// Skin in front of the point; `None`: something that does not yield.
    pub partner: Option<SkinPoint>,
    /// Direction in which the point leaves.
    pub normal: Vec3,
    /// Distance by which the point and its partner must be parted, metres.
    pub depth: f64,
}

/// The skin triangles that may touch, as the boundary of flesh, and the proxies that lie in other flesh in the sculpt.
#[derive(Debug)]
pub(in crate::contact) struct FleshBoundary {
    triangles: Vec<[u32; 3]>,
    /// Their numbers among the triangles of the skin.
    numbers: Vec<u32>,
    /// Mask of the proxies that lie in other flesh in the sculpt.
    modelled: Vec<bool>,
}

impl FleshBoundary {
    pub fn new(skin: &ContactSkin) -> Self {
        let all = 0..skin.triangles() as u32;
        let numbers: Vec<u32> = all.filter(|&t| skin.is_skin(t)).collect();
        let mut boundary = Self {
            triangles: numbers.iter().map(|&t| skin.corners(t)).collect(),
            numbers,
            modelled: Vec::new(),
        };
        let rest = DisplayedSkin::new(skin, skin.rest_vertices());
        let tree = boundary.tree(rest.vertices);
        let proxies = 0..skin.proxies().len() as u32;
        let inside = |proxy: u32| rest.is_inside(&tree, &skin.proxies()[proxy as usize].point);
        boundary.modelled = proxies.into_par_iter().map(inside).collect();
        boundary
    }

    fn tree(&self, vertices: &[Vec3]) -> WindingTree {
        let all = (0..self.triangles.len() as u32).collect();
        WindingTree::new(vertices, &self.triangles, all)
    }

    /// Finds the overlaps of `proxies`, in their order, at displayed vertices; also within `thickness` (metres) around the skin.
    pub fn find_overlaps(
        &self,
        skin: &ContactSkin,
        vertices: &[Vec3],
        proxies: &[u32],
        thickness: f64,
    ) -> Vec<SkinOverlap> {
        let tree = self.tree(vertices);
        self.find_overlaps_in(skin, vertices, &tree, proxies, thickness)
            .0
    }

    /// Returns for each proxy whether it lies in other flesh in the sculpt.
    pub fn sculpted_overlaps(&self) -> &[bool] {
        &self.modelled
    }

    /// Finds the overlaps with an existing tree of the skin. Also returns the proxies that lie in other flesh.
    pub fn find_overlaps_in(
        &self,
        skin: &ContactSkin,
        vertices: &[Vec3],
        tree: &WindingTree,
        proxies: &[u32],
        thickness: f64,
    ) -> (Vec<SkinOverlap>, Vec<u32>) {
        let shown = DisplayedSkin::new(skin, vertices);
        let looked = proxies.par_iter().map(|&proxy| {
            let point = skin.proxies()[proxy as usize].point;
            let modelled = self.modelled[proxy as usize];
            if modelled && thickness <= 0.0 {
                return None;
            }
            let inside = shown.is_inside(tree, &point);
            let is_new = !(inside && modelled);
            (is_new && (inside || thickness > 0.0)).then_some((proxy, inside))
        });
        let looked: Vec<Option<(u32, bool)>> = looked.collect();
        let looked: Vec<(u32, bool)> = looked.into_iter().flatten().collect();
        let inside = looked.iter().filter(|(_, inside)| *inside);
        let inside = inside.map(|&(proxy, _)| proxy).collect();
        let of = (&self.numbers[..], tree);
        let met = looked
            .par_iter()
            .map(|&(proxy, inside)| shown.find_partner(of, proxy, inside, thickness));
        let found: Vec<Option<SkinOverlap>> = met.collect();
        (found.into_iter().flatten().collect(), inside)
    }

    /// Returns a winding tree of the skin, to be [set](Self::move_tree) to displayed vertices.
    pub fn build_tree(&self, skin: &ContactSkin) -> WindingTree {
        let all = (0..self.triangles.len() as u32).collect();
        WindingTree::new_movable(skin.rest_vertices(), &self.triangles, all)
    }

    /// Moves a [movable](Self::build_tree) tree to displayed vertices.
    pub fn move_tree(&self, tree: &mut WindingTree, vertices: &[Vec3]) {
        tree.move_vertices(vertices, &self.triangles);
    }
}

/// A displayed skin.
struct DisplayedSkin<'a> {
    skin: &'a ContactSkin,
    vertices: &'a [Vec3],
    normals: Vec<Vec3>,
    size: f64,
}

impl<'a> DisplayedSkin<'a> {
    fn new(skin: &'a ContactSkin, vertices: &'a [Vec3]) -> Self {
        let mut normals = vec![Vec3::zeros(); vertices.len()];
        for t in (0..skin.triangles() as u32).filter(|&t| skin.is_skin(t)) {
            let corners = skin.corners(t);
            let [a, b, c] = corners.map(|v| vertices[v as usize]);
            let area = (b - a).cross(&(c - a));
            corners.iter().for_each(|&v| normals[v as usize] += area);
        }
        let unit = |n: &Vec3| n.try_normalize(0.0).unwrap_or_else(Vec3::zeros);
        Self {
            skin,
            vertices,
            normals: normals.iter().map(unit).collect(),
            size: skin.body().size(),
        }
    }

    fn position(&self, point: &SkinPoint) -> Vec3 {
        self.skin.blend(point, self.vertices)
    }

    fn normal(&self, point: &SkinPoint) -> Vec3 {
        let n = self.skin.blend(point, &self.normals);
        n.try_normalize(0.0).unwrap_or_else(Vec3::zeros)
    }

    fn is_inside(&self, tree: &WindingTree, point: &SkinPoint) -> bool {
        let out = self.position(point) + self.normal(point) * (OUTWARD_OFFSET * self.size);
        tree.is_wound(&out)
    }

    /// Finds the skin through which a point inside other flesh came in, or the skin that an outside point is nearer to than the thickness.
    fn find_partner(
        &self,
        (numbers, tree): (&[u32], &WindingTree),
        proxy: u32,
        inside: bool,
        thickness: f64,
    ) -> Option<SkinOverlap> {
        let of = &self.skin.proxies()[proxy as usize];
        let (x, out) = (self.position(&of.point), self.normal(&of.point));
        let cell = self.skin.cell_size();
        let within = if inside {
            FADING_DEPTHS[1] * cell
        } else {
            thickness
        };
        let apart = |point: &SkinPoint| (of.rest - self.skin.rest_point(point)).norm();
        let other = |id: u32| {
            let triangle = numbers[id as usize];
            let corners = self.skin.corners(triangle);
            // If no corner faces the point, no point between the corners does.
            if corners
                .iter()
                .all(|&v| out.dot(&self.normals[v as usize]) >= 0.0)
            {
                return None;
            }
            let (distance2, weights) =
                closest_of_triangle(corners.map(|v| self.vertices[v as usize]), &x)?;
            let point = SkinPoint { triangle, weights };
            let n = self.normal(&point);
            let behind = n.dot(&(x - self.position(&point))) <= 0.0;
            let is_other = out.dot(&n) < -FACING_COSINES[0]
                && behind == inside
                && apart(&point).powi(2) > REST_DISTANCE_RATIOS[0].powi(2) * distance2;
            is_other.then_some((distance2, point))
        };
        let (_, distance2, partner) = tree.nearest(&x, within, other)?;
        let (distance, rest) = (distance2.sqrt(), apart(&partner));
        let n = self.normal(&partner);
        // Both sides leave along the same line.
        let normal = (n - out).try_normalize(0.0)?;
        let deep = normal.dot(&(self.position(&partner) - x));
        // Skin that the sculpt has nearer than the thickness may stay so.
        let kept = thickness.min(rest);
        let short = match inside {
            true => deep + (PARTING_MARGIN * self.size).min(deep.max(0.0)) + kept,
            false => deep + kept,
        };
        let whole = ramp(-out.dot(&n), FACING_COSINES)
            * ramp(rest, REST_DISTANCE_RATIOS.map(|o| o * distance))
            * (1.0 - ramp(distance / cell, FADING_DEPTHS));
        let depth = short * whole;
        (depth > 0.0).then_some(SkinOverlap {
            proxy,
            point: of.point,
            partner: Some(partner),
            normal,
            depth,
        })
    }
}

/// Returns the linear ramp from 0 at the first bound to 1 at the second.
fn ramp(x: f64, [from, to]: [f64; 2]) -> f64 {
    if x >= to {
        return 1.0;
    }
    ((x - from) / (to - from)).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::ramp;

    /// A ramp is 0 below its lower bound, 1 above its upper bound, and linear between them.
    #[test]
    fn ramp_is_linear_between_bounds() {
        for (from, to) in [(0.0, 1.0), (0.2, 0.9), (-3.0, 5.0)] {
            assert_eq!(ramp(from - 1.0, [from, to]), 0.0);
            assert_eq!(ramp(to + 1.0, [from, to]), 1.0);
            for part in [0.0, 0.25, 0.5, 0.875, 1.0] {
                let x = from + part * (to - from);
                assert!((ramp(x, [from, to]) - part).abs() < 1e-12);
            }
        }
    }
}
