// SPDX-License-Identifier: MIT OR Apache-2.0
//! Search for the nearest triangle in a winding tree, so that no second hierarchy is needed.

use super::{FAR_FIELD_FACTOR, Node, WindingTree};
use crate::Vec3;

impl WindingTree {
    /// Returns the nearest triangle closer than `within`, its squared distance, and an extra result. `of` computes a
    /// triangle's squared distance and that extra result, or `None` for triangles to skip.
    pub fn nearest<T>(
        &self,
        q: &Vec3,
        within: f64,
        of: impl Fn(u32) -> Option<(f64, T)>,
    ) -> Option<(u32, f64, T)> {
        let mut best = (within * within, None);
        if !self.nodes.is_empty() {
            self.nearest_below(0, q, &of, &mut best);
        }
        let (distance2, found) = best;
        found.map(|(id, what)| (id, distance2, what))
    }

    fn nearest_below<T>(
        &self,
        i: usize,
        q: &Vec3,
        of: &impl Fn(u32) -> Option<(f64, T)>,
        best: &mut (f64, Option<(u32, T)>),
    ) {
        let node = &self.nodes[i];
        if node.count > 0 {
            let range = node.first as usize..(node.first + node.count) as usize;
            for &id in &self.ids[range] {
                if let Some((distance2, what)) = of(id)
                    && distance2 < best.0
                {
                    *best = (distance2, Some((id, what)));
                }
            }
            return;
        }
        let children = [i + 1, self.nodes[i + 1].skip as usize];
        let mut children = children.map(|c| (self.nodes[c].distance_bound(q), c));
        if children[1].0 < children[0].0 {
            children.swap(0, 1);
        }
        for (least, child) in children {
            if least * least < best.0 {
                self.nearest_below(child, q, of, best);
            }
        }
    }
}

impl Node {
    /// Returns a lower bound on the distance of the node's triangles from a point.
    #[inline]
    fn distance_bound(&self, q: &Vec3) -> f64 {
        ((self.centre - q).norm() - self.far2.sqrt() / FAR_FIELD_FACTOR).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::closest_of_triangle;
    use super::super::super::shapes::*;
    use super::*;

    /// The nearest of the triangles that a filter admits is the one that a test of all of them finds.
    #[test]
    fn nearest_matches_brute_force() {
        for shape in [torus(1.0, 0.4, 30), spindle(100)] {
            let tree = WindingTree::new(
                &shape.vertices,
                &shape.triangles,
                (0..shape.triangles.len() as u32).collect(),
            );
            let of = |id: u32, q: &Vec3| {
                let corners = shape.triangles[id as usize].map(|v| shape.vertices[v as usize]);
                let found = closest_of_triangle(corners, q);
                found.filter(|_| !id.is_multiple_of(3))
            };
            for q in random_points(300, 1.6, 3) {
                for within in [f64::INFINITY, 0.2] {
                    let all = (0..shape.triangles.len() as u32).filter_map(|id| of(id, &q));
                    let least = all.map(|(d, _)| d).fold(f64::INFINITY, f64::min);
                    let found = tree.nearest(&q, within, |id| of(id, &q));
                    let expected = (least < within * within).then_some(least);
                    assert_eq!(found.map(|(_, d, _)| d), expected);
                }
            }
        }
    }
}
