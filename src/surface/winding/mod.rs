// SPDX-License-Identifier: MIT OR Apache-2.0
//! Generalised winding numbers by a tree of multipoles.
//!
//! Source: Jacobson, Kavan, Sorkine-Hornung 2013 (the generalised winding number), van Oosterom, Strackee
//! 1983 (solid angle of a triangle), Barill et al. 2018 (fast winding numbers, Taylor terms to second order).
//!
//! With φ(r) = 1/|r|, `w(q) = −1/4π ∫ n·∇φ(x − q) dA`. About a node's centre c, with y = x − c and r = c − q, the
//! Taylor terms are contractions with derivatives of φ, which are symmetric and traceless; only those parts
//! of the moments matter:
//!
//! `4π w ≈ N·r/r³ − 3 rᵀSr/r⁵ + 15 T(r,r,r)/r⁷`,  N = ∫n, S = ∫n⊗y, T = ½∫n⊗y⊗y (symmetric, traceless parts).
//!
//! Deviations: the paper evaluates the far field beyond β = 2 node radii and keeps full moments; the
//! traceless form needs 19 numbers for a node in place of 39. Many long needles are cut across.
mod nearest;

use super::moments::Moments;
use super::needles;
use crate::Vec3;
use rayon::prelude::*;
use std::f64::consts::PI;

/// Distance from a node's centre, in node radii, beyond which a query uses the far field.
const FAR_FIELD_FACTOR: f64 = 2.0;
/// Far-field distance in the quick test against one half, in node radii.
const ROUGH_FAR_FIELD_FACTOR: f64 = 1.25;
/// Distance of the quick test's value from one half beyond which it is trusted.
const DECISION_MARGIN: f64 = 0.3;
/// Largest number of triangles in a leaf.
const MAX_LEAF_TRIANGLES: usize = 6;
/// Largest number of nodes below a node whose radius is taken over all its triangles; larger nodes bound it by their children.
const EXACT_RADIUS_NODES: usize = 6;
/// Number of nodes above which the halves of a subtree are processed in parallel.
const PARALLEL_NODES: usize = 1024;

/// Binary tree of triangles whose nodes carry the moments of their subtrees.
#[derive(Debug, Clone)]
pub(crate) struct WindingTree {
    nodes: Vec<Node>,
    /// Corners in leaf order, of triangles or of pieces of needles.
    corners: Vec<[Vec3; 3]>,
    /// Triangle index of each entry of `corners`.
    ids: Vec<u32>,
}

/// A node, stored depth first: its first child follows it, and `skip` is the node after its subtree.
#[derive(Debug, Clone)]
struct Node {
    centre: Vec3,
    /// Squared distance beyond which the far field is used.
    far2: f64,
    n: Vec3,
    /// xx yy zz xy xz yz, as coefficients of the quadratic form.
    s: [f64; 6],
    /// xxx yyy zzz xxy xxz xyy yyz xzz yzz xyz, as coefficients of the cubic form.
    t: [f64; 10],
    skip: u32,
    first: u32,
    /// Number of triangles of a leaf; 0 for an inner node.
    count: u32,
}

impl WindingTree {
    /// Builds a tree over the `chosen` triangles.
    pub fn new(vertices: &[Vec3], triangles: &[[u32; 3]], chosen: Vec<u32>) -> Self {
        let corner = |&t: &u32| triangles[t as usize].map(|v| vertices[v as usize]);
        let corners = chosen.iter().map(corner).collect();
        let (corners, ids) = needles::cut_needles(corners, chosen);
        let mut tree = Self::from_corners(corners, ids);
        tree.compute_moments();
        tree
    }

    /// Builds a tree over the `chosen` triangles, with needles uncut, that can be [moved](Self::move_vertices).
    pub fn new_movable(vertices: &[Vec3], triangles: &[[u32; 3]], chosen: Vec<u32>) -> Self {
        let corner = |&t: &u32| triangles[t as usize].map(|v| vertices[v as usize]);
        let corners = chosen.iter().map(corner).collect();
        let mut tree = Self::from_corners(corners, chosen);
        tree.compute_moments();
        tree
    }

    /// Moves the vertices of a [`new_movable`](Self::new_movable) tree; its partition stays.
    pub fn move_vertices(&mut self, vertices: &[Vec3], triangles: &[[u32; 3]]) {
        let moved = self.corners.par_iter_mut().zip(&self.ids);
        moved
            .with_min_len(PARALLEL_NODES)
            .for_each(|(corners, &id)| {
                *corners = triangles[id as usize].map(|v| vertices[v as usize]);
            });
        self.compute_moments();
    }

    /// Builds a tree without moments.
    fn from_corners(corners: Vec<[Vec3; 3]>, ids: Vec<u32>) -> Self {
        let centroids: Vec<Vec3> = corners
            .iter()
            .map(|c| c.iter().sum::<Vec3>() / 3.0)
            .collect();
        let mut order: Vec<u32> = (0..ids.len() as u32).collect();
        let mut nodes = Vec::with_capacity(ids.len());
        if !ids.is_empty() {
            split(&mut order, 0, &centroids, &mut nodes);
        }
        let ids = order.iter().map(|&i| ids[i as usize]).collect();
        let corners = order.iter().map(|&i| corners[i as usize]).collect();
        Self {
            nodes,
            corners,
            ids,
        }
    }

    /// Returns the winding number at a point; 0 at a point that is not finite.
    pub fn winding_number(&self, q: &Vec3) -> f64 {
        self.winding_number_without(q, u32::MAX)
    }

    /// Returns the winding number of all triangles but one. At a point of that triangle this is the mean of the values
    /// on its two sides, which are half a turn above and below it.
    pub fn winding_number_without(&self, q: &Vec3, left_out: u32) -> f64 {
        self.sum_tree(q, left_out, 1.0)
    }

    /// Returns whether the winding number at a point is above one half.
    pub fn is_wound(&self, q: &Vec3) -> bool {
        let roughly = self.sum_tree(
            q,
            u32::MAX,
            (ROUGH_FAR_FIELD_FACTOR / FAR_FIELD_FACTOR).powi(2),
        );
        let is_sure = (roughly - 0.5).abs() > DECISION_MARGIN;
        (if is_sure {
            roughly
        } else {
            self.winding_number(q)
        }) > 0.5
    }

    /// Sums the tree with the squared far distances scaled by `factor`.
    fn sum_tree(&self, q: &Vec3, left_out: u32, factor: f64) -> f64 {
        let mut far = 0.0;
        let mut near = 0.0;
        let mut i = 0;
        while let Some(node) = self.nodes.get(i) {
            let r = node.centre - q;
            let r2 = r.norm_squared();
            if r2 > node.far2 * factor {
                far += node.far_field(&r, r2);
                i = node.skip as usize;
            } else if node.count > 0 {
                let range = node.first as usize..(node.first + node.count) as usize;
                near += self.half_solid_angle(range, q, left_out);
                i = node.skip as usize;
            } else {
                i += 1;
            }
        }
        let w = far / (4.0 * PI) + near / (2.0 * PI);
        if w.is_finite() { w } else { 0.0 }
    }

    /// Sums half the solid angles of a leaf. Each is the argument of a complex number. Their product, with full turns
    /// counted, takes a single arc tangent.
    fn half_solid_angle(&self, range: std::ops::Range<usize>, q: &Vec3, left_out: u32) -> f64 {
        let (mut re, mut im, mut turns) = (1.0, 0.0, 0.0);
        for (corners, &id) in self.corners[range.clone()].iter().zip(&self.ids[range]) {
            if id == left_out {
                continue;
            }
            let [a, b, c] = corners.map(|x| x - q);
            let (la, lb, lc) = (a.norm(), b.norm(), c.norm());
            let y = a.dot(&b.cross(&c));
            let x = la * lb * lc + a.dot(&b) * lc + b.dot(&c) * la + c.dot(&a) * lb;
            if x == 0.0 && y == 0.0 {
                continue;
            }
            let (re_next, im_next) = (re * x - im * y, re * y + im * x);
            if im >= 0.0 && y >= 0.0 && im_next < 0.0 {
                turns += 1.0;
            } else if im < 0.0 && y < 0.0 && im_next >= 0.0 {
                turns -= 1.0;
            }
            (re, im) = (re_next, im_next);
        }
        f64::atan2(im, re) + 2.0 * PI * turns
    }

    /// Fills the nodes with centres, radii and moments.
    fn compute_moments(&mut self) {
        gather_moments(&mut self.nodes, 0, &self.corners);
    }
}

/// Fills the nodes of the subtree that starts at node number `at`, children before parents; returns its moments.
fn gather_moments(nodes: &mut [Node], at: usize, corners: &[[Vec3; 3]]) -> Moments {
    let large = nodes.len() > PARALLEL_NODES;
    let [node, below @ ..] = nodes else {
        return Moments::default();
    };
    let moments = if node.count > 0 {
        let first = node.first as usize;
        Moments::from_triangles(&corners[first..first + node.count as usize])
    } else {
        let second = below[0].skip as usize;
        let (left, right) = below.split_at_mut(second - at - 1);
        let mut first = || gather_moments(left, at + 1, corners);
        let mut other = || gather_moments(right, second, corners);
        let (a, b) = match large {
            true => rayon::join(first, other),
            false => (first(), other()),
        };
        Moments::sum(&a, &b)
    };
    let radius2 = squared_radius(&moments.centre, node, below, corners);
    node.centre = moments.centre;
    node.far2 = radius2 * FAR_FIELD_FACTOR * FAR_FIELD_FACTOR;
    node.n = moments.n;
    node.s = moments.quadratic();
    node.t = moments.cubic();
    moments
}

/// Returns the squared distance of the node's farthest corner from its centre.
fn squared_radius(centre: &Vec3, node: &Node, below: &[Node], corners: &[[Vec3; 3]]) -> f64 {
    let farthest = |first: &Node, last: &Node, known: f64| {
        let all = &corners[first.first as usize..(last.first + last.count) as usize];
        let far = all.iter().flatten().map(|x| (x - centre).norm_squared());
        far.fold(known, f64::max)
    };
    // All triangles below a node are contiguous: from its first leaf to its last.
    if below.len() <= EXACT_RADIUS_NODES {
        return farthest(node, below.last().unwrap_or(node), 0.0);
    }
    // Skips subtrees whose balls end nearer than the farthest corner so far.
    let start = node.skip as usize - below.len();
    let (mut radius2, mut i) = (0.0, 0);
    while let Some(ball) = below.get(i) {
        let own = ball.far2.sqrt() / FAR_FIELD_FACTOR;
        let reach = (ball.centre - centre).norm() + own;
        if reach * reach * (1.0 + 1e-9) < radius2 {
            i = ball.skip as usize - start;
            continue;
        }
        if ball.count > 0 {
            radius2 = farthest(ball, ball, radius2);
        }
        i += 1;
    }
    radius2
}

impl Node {
    /// Returns 4π times the winding number of the node's triangles in the far field.
    #[inline]
    fn far_field(&self, r: &Vec3, r2: f64) -> f64 {
        let (x, y, z) = (r.x, r.y, r.z);
        let (s, t) = (&self.s, &self.t);
        let quadratic =
            x * (s[0] * x + s[3] * y + s[4] * z) + y * (s[1] * y + s[5] * z) + s[2] * z * z;
        let cubic = x
            * (x * (t[0] * x + t[3] * y + t[4] * z) + y * (t[5] * y + t[9] * z) + t[7] * z * z)
            + y * (y * (t[1] * y + t[6] * z) + t[8] * z * z)
            + t[2] * z * z * z;
        let i2 = 1.0 / r2;
        let i3 = i2 * i2.sqrt();
        i3 * (self.n.dot(r) + i2 * (quadratic + i2 * cubic))
    }
}

/// Halves `order` by the longest axis of its centroids until leaves are small.
fn split(order: &mut [u32], first: usize, centroids: &[Vec3], nodes: &mut Vec<Node>) {
    let at = nodes.len();
    nodes.push(Node {
        centre: Vec3::zeros(),
        far2: 0.0,
        n: Vec3::zeros(),
        s: [0.0; 6],
        t: [0.0; 10],
        skip: 0,
        first: first as u32,
        count: 0,
    });
    if order.len() <= MAX_LEAF_TRIANGLES {
        nodes[at].count = order.len() as u32;
    } else {
        let (lo, hi) = crate::geometry::aabb::bounds(order.iter().map(|&i| centroids[i as usize]));
        let axis = (hi - lo).imax();
        let middle = order.len() / 2;
        order.select_nth_unstable_by(middle, |&i, &j| {
            let (a, b) = (centroids[i as usize][axis], centroids[j as usize][axis]);
            a.total_cmp(&b).then(i.cmp(&j))
        });
        let (left, right) = order.split_at_mut(middle);
        split(left, first, centroids, nodes);
        split(right, first + middle, centroids, nodes);
    }
    nodes[at].skip = nodes.len() as u32;
}

#[cfg(test)]
mod tests {
    use super::super::shapes::*;
    use super::*;

    fn exact_winding(shape: &TestMesh, q: &Vec3) -> f64 {
        shape
            .triangles
            .iter()
            .map(|t| {
                let [a, b, c] = t.map(|v| shape.vertices[v as usize] - q);
                let (la, lb, lc) = (a.norm(), b.norm(), c.norm());
                let den = la * lb * lc + a.dot(&b) * lc + b.dot(&c) * la + c.dot(&a) * lb;
                a.dot(&b.cross(&c)).atan2(den) / (2.0 * PI)
            })
            .sum()
    }

    fn tree(shape: &TestMesh) -> WindingTree {
        let all = (0..shape.triangles.len() as u32).collect();
        WindingTree::new(&shape.vertices, &shape.triangles, all)
    }

    /// The tree agrees with the exact sum inside, outside and at open rims.
    #[test]
    fn tree_matches_exact_sum() {
        let half = |mut s: TestMesh| {
            s.triangles.truncate(s.triangles.len() / 2);
            s
        };
        for shape in [
            sphere(1.0, 40),
            torus(1.0, 0.4, 60),
            half(sphere(1.0, 40)),
            half(torus(1.0, 0.4, 60)),
        ] {
            let tree = tree(&shape);
            let mut worst: f64 = 0.0;
            for q in random_points(3000, 1.6, 7) {
                worst = worst.max((tree.winding_number(&q) - exact_winding(&shape, &q)).abs());
            }
            assert!(worst < 0.01, "worst error {worst}");
        }
    }

    /// The quick inside test agrees with the exact winding number.
    #[test]
    fn is_wound_matches_exact_winding() {
        let mut cut = sphere(1.0, 40);
        cut.triangles.truncate(cut.triangles.len() * 3 / 4);
        for shape in [sphere(1.0, 40), torus(1.0, 0.4, 60), cut, spindle(200)] {
            let tree = tree(&shape);
            for q in random_points(3000, 1.3, 9) {
                let exact = exact_winding(&shape, &q);
                if (exact - 0.5).abs() > 0.01 {
                    assert_eq!(tree.is_wound(&q), exact > 0.5, "{q} {exact}");
                }
            }
        }
    }

    /// Once needles are cut, each point is near only a few pieces, so queries stay cheap.
    #[test]
    fn needles_are_near_few_points() {
        let shape = spindle(1000);
        let tree = tree(&shape);
        let points = random_points(500, 0.7, 5);
        let mut visited = 0;
        for q in &points {
            assert!((tree.winding_number(q) - exact_winding(&shape, q)).abs() < 0.01);
            let mut i = 0;
            while let Some(node) = tree.nodes.get(i) {
                let is_far = (node.centre - q).norm_squared() > node.far2;
                visited += if is_far { 0 } else { node.count as usize };
                let on = !is_far && node.count == 0;
                i = if on { i + 1 } else { node.skip as usize };
            }
        }
        // Without cutting, every point would be near all of them.
        assert!(
            visited < points.len() * shape.triangles.len() / 5,
            "{visited}"
        );
    }

    /// A needle that was cut is left out as a whole.
    #[test]
    fn without_omits_whole_needle() {
        let shape = spindle(200);
        let tree = tree(&shape);
        for (i, t) in shape.triangles.iter().enumerate() {
            let [a, b, c] = t.map(|v| shape.vertices[v as usize]);
            for p in [(a + b + c) / 3.0, a * 0.1 + b * 0.1 + c * 0.8] {
                assert!((tree.winding_number_without(&p, i as u32) - 0.5).abs() < 0.01);
            }
        }
    }

    /// Triangles that are not needles are not cut.
    #[test]
    fn tree_keeps_regular_triangles() {
        for shape in [
            sphere(1.0, 20),
            torus(1.0, 0.4, 30),
            cuboid(Vec3::repeat(1.0)),
        ] {
            assert_eq!(tree(&shape).corners.len(), shape.triangles.len());
        }
    }

    /// The error of the far field falls with a high power of the distance.
    #[test]
    fn far_field_error_order() {
        // An open shape far away: the first left-out term is the octupole's successor, 1/r⁵.
        let mut shape = sphere(1.0, 12);
        shape.triangles.truncate(60);
        let tree = tree(&shape);
        let error = |d: f64| {
            let q = Vec3::new(0.3, -0.5, 0.8) * d;
            (tree.nodes[0].far_field(
                &(tree.nodes[0].centre - q),
                (tree.nodes[0].centre - q).norm_squared(),
            ) / (4.0 * PI)
                - exact_winding(&shape, &q))
            .abs()
        };
        let (near, far) = (error(6.0), error(12.0));
        assert!(near / far > 20.0, "{near} {far}");
    }

    /// Without the triangle that a point lies on, the winding number is the mean of both sides.
    #[test]
    fn without_gives_mean_of_sides() {
        let shape = sphere(1.0, 12);
        let tree = tree(&shape);
        for (i, t) in shape.triangles.iter().enumerate() {
            let c = t.iter().map(|&v| shape.vertices[v as usize]).sum::<Vec3>() / 3.0;
            assert!((tree.winding_number_without(&c, i as u32) - 0.5).abs() < 0.01);
        }
    }

    /// Points on a vertex, far away or not finite give a finite number.
    #[test]
    fn tree_finite_at_special_points() {
        let shape = sphere(1.0, 12);
        let tree = tree(&shape);
        assert!(tree.winding_number(&shape.vertices[3]).is_finite());
        assert_eq!(tree.winding_number(&Vec3::new(f64::NAN, 0.0, 0.0)), 0.0);
        assert!(tree.winding_number(&Vec3::repeat(1e200)).abs() < 1e-9);
        assert_eq!(
            WindingTree::new(&[], &[], vec![]).winding_number(&Vec3::zeros()),
            0.0
        );
    }
}
