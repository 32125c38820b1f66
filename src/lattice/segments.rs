// SPDX-License-Identifier: MIT OR Apache-2.0
//! Skeleton points and protected sub-segments.
//!
//! Bones are cut into sub-segments no longer than `h`, until each has a ball through its ends that holds no other
//! skeleton point. Each is then an edge of the Delaunay tetrahedralisation of any point set outside these balls. Bones
//! that meet in a joint are cut at the same radius around it (concentric shells), because cutting at midpoints would
//! never end.

use super::balls::{self, Ball, encroaching_points};
use super::bones::{BoneSegment, WELD_DISTANCE};
use crate::Vec3;
use crate::geometry::tetrahedron::closest_on_segment;

/// Skeleton for the Delaunay step: points, edges and faces with their protecting balls.
#[derive(Debug, Clone, Default)]
pub(crate) struct ProtectedSkeleton {
    /// Skeleton points: joints first.
    pub points: Vec<Vec3>,
    /// Edges `(point, point, segment)`.
    pub edges: Vec<(u32, u32, u32)>,
    /// For each edge, the ball that must stay free of points.
    pub balls: Vec<Ball>,
    /// For each segment, its points from head to tail.
    pub chains: Vec<Vec<u32>>,
    /// Number of edges whose ball could not be emptied before they became too short.
    pub unresolved: usize,
    /// Triangles that must be faces of the cells; seen from the side of the flesh, corners run counter-clockwise.
    pub faces: Vec<[u32; 3]>,
    /// For each triangle, the ball that must stay free of points.
    pub face_balls: Vec<Ball>,
}

impl ProtectedSkeleton {
    /// Adds a point between two neighbours on chains, and returns its number.
    pub fn insert(&mut self, x: Vec3, a: u32, b: u32) -> u32 {
        let new = self.points.len() as u32;
        self.points.push(x);
        for chain in &mut self.chains {
            let at = chain
                .windows(2)
                .position(|w| w.contains(&a) && w.contains(&b));
            if let Some(i) = at {
                chain.insert(i + 1, new);
            }
        }
        new
    }

    /// Returns the length of an edge.
    pub fn length(&self, edge: usize) -> f64 {
        let (a, b, _) = self.edges[edge];
        (self.points[a as usize] - self.points[b as usize]).norm()
    }

    /// Finds the balls of the edges: an empty one if possible, or else the smallest.
    pub fn find_balls(&mut self) {
        let ball = |&(a, b, _): &(u32, u32, u32)| {
            balls::empty_ball(&self.points, a, b)
                .unwrap_or_else(|| balls::smallest_ball(&self.points, a, b))
        };
        self.balls = self.edges.iter().map(ball).collect();
    }
}

/// Shortest sub-segment that may result from a cut, as a share of `h`.
const MIN_SUBSEGMENT: f64 = 0.06;

/// Cuts segments until all balls are empty. `faces` are triangles that must become faces of the cells; a bone that
/// meets one ends at a corner. `halved`: the segments lie on one side of the plane x = 0, and what is on it stays on it.
pub(crate) fn protect(
    segments: &[BoneSegment],
    faces: &[[Vec3; 3]],
    h: f64,
    halved: bool,
) -> ProtectedSkeleton {
    let weld = WELD_DISTANCE * h;
    let (points, ends) = join_ends(segments, weld, halved);
    let mut p = ProtectedSkeleton {
        points,
        ..Default::default()
    };
    add_crossings(&mut p.points, segments, &ends, weld, halved);
    for face in faces {
        let corners = face.map(|x| find_or_add_point(&mut p.points, x, 1e-6 * h));
        let [a, b, c] = corners.map(|v| p.points[v as usize]);
        p.face_balls.push(balls::triangle_ball(a, b, c));
        p.faces.push(corners);
    }
    for &(a, b) in &ends {
        let chain = points_on_segment(&p.points, a, b, weld, halved);
        let mut cut = vec![chain[0]];
        for w in chain.windows(2) {
            subdivide(&mut p.points, &mut cut, w[0], w[1], h);
        }
        p.chains.push(cut);
    }
    cut_until_empty(&mut p, &ends, MIN_SUBSEGMENT * h);
    for (s, chain) in p.chains.iter().enumerate() {
        for w in chain.windows(2) {
            p.edges.push((w[0], w[1], s as u32));
        }
    }
    p.find_balls();
    p
}

/// Assigns each end of the segments to the first joint that can move to the middle of all its ends within `reach` of
/// each. Returns the joints' positions, and the joints of each segment.
fn join_ends(segments: &[BoneSegment], reach: f64, halved: bool) -> (Vec<Vec3>, Vec<(u32, u32)>) {
    let mut boxes: Vec<(Vec3, Vec3)> = Vec::new();
    let mut joint = |x: Vec3| {
        let wider = |b: &(Vec3, Vec3)| (b.0.inf(&x), b.1.sup(&x));
        let near = boxes.iter().position(|b| {
            let (lo, hi) = wider(b);
            (hi - lo).norm() <= 2.0 * reach && !(halved && (b.0.x == 0.0) != (x.x == 0.0))
        });
        match near {
            Some(i) => boxes[i] = wider(&boxes[i]),
            None => boxes.push((x, x)),
        }
        near.unwrap_or(boxes.len() - 1) as u32
    };
    let ends = segments.iter().map(|s| (joint(s.head), joint(s.tail)));
    let ends = ends.collect();
    let middles = boxes.iter().map(|(lo, hi)| lo + (hi - lo) * 0.5);
    (middles.collect(), ends)
}

/// Returns the index of the point at a position, adding it if it does not exist yet.
fn find_or_add_point(points: &mut Vec<Vec3>, x: Vec3, near: f64) -> u32 {
    if let Some(i) = points.iter().position(|p| (p - x).norm() <= near) {
        return i as u32;
    }
    points.push(x);
    (points.len() - 1) as u32
}

/// Adds a joint midway between bones that cross without one.
fn add_crossings(
    points: &mut Vec<Vec3>,
    segments: &[BoneSegment],
    ends: &[(u32, u32)],
    weld: f64,
    halved: bool,
) {
    let joints = points.clone();
    let in_plane = |e: (u32, u32)| joints[e.0 as usize].x == 0.0 && joints[e.1 as usize].x == 0.0;
    for i in 0..segments.len() {
        for j in 0..i {
            let (a, b) = (ends[i], ends[j]);
            if a.0 == a.1 || b.0 == b.1 || [a.0, a.1].iter().any(|x| *x == b.0 || *x == b.1) {
                continue;
            }
            if halved && in_plane(a) != in_plane(b) {
                continue;
            }
            let at = |k: u32| joints[k as usize];
            let (p, q) = closest_points(at(a.0), at(a.1), at(b.0), at(b.1));
            let apart = |x: Vec3| joints.iter().all(|y| (x - y).norm() > 2.0 * weld);
            let middle = (p + q) / 2.0;
            if (p - q).norm() <= 2.0 * weld * (1.0 - 1e-9) && apart(middle) {
                find_or_add_point(points, middle, 1e-6 * weld);
            }
        }
    }
}

fn closest_points(a: Vec3, b: Vec3, c: Vec3, d: Vec3) -> (Vec3, Vec3) {
    // Alternating projection converges for segments; it starts from the lines' common normal.
    let (u, v, w) = (b - a, d - c, a - c);
    let (uu, uv, vv) = (u.dot(&u), u.dot(&v), v.dot(&v));
    let det = uu * vv - uv * uv;
    let s = if det > 1e-12 * uu * vv {
        (uv * v.dot(&w) - vv * u.dot(&w)) / det
    } else {
        0.5
    };
    let mut p = a + u * s.clamp(0.0, 1.0);
    let mut q = c;
    for _ in 0..8 {
        q = closest_on_segment(c, d, p).0;
        p = closest_on_segment(a, b, q).0;
    }
    (p, q)
}

/// Returns the points that a segment passes within `reach`, from head to tail; `halved`: a segment in the plane x = 0
/// has only points there.
fn points_on_segment(points: &[Vec3], a: u32, b: u32, reach: f64, halved: bool) -> Vec<u32> {
    let (x, y) = (points[a as usize], points[b as usize]);
    if a == b {
        return vec![a];
    }
    let d = y - x;
    let in_plane = halved && x.x == 0.0 && y.x == 0.0;
    let mut on: Vec<(f64, u32)> = points
        .iter()
        .enumerate()
        .filter(|&(k, _)| k as u32 != a && k as u32 != b)
        .filter(|(_, p)| !in_plane || p.x == 0.0)
        .filter_map(|(k, p)| {
            let t = (p - x).dot(&d) / d.norm_squared();
            (t > 0.0 && t < 1.0 && (x + d * t - p).norm() <= reach).then_some((t, k as u32))
        })
        .collect();
    on.sort_by(|p, q| p.0.total_cmp(&q.0).then(p.1.cmp(&q.1)));
    let mut chain = vec![a];
    chain.extend(on.into_iter().map(|(_, k)| k));
    chain.push(b);
    chain
}

/// Appends the points between `a` and `b` (and `b`); points of another segment on the same line are reused.
fn subdivide(points: &mut Vec<Vec3>, chain: &mut Vec<u32>, a: u32, b: u32, h: f64) {
    let (x, y) = (points[a as usize], points[b as usize]);
    let n = (((y - x).norm() / h - 1e-9).ceil() as usize).max(1);
    for m in 1..n {
        let p = x + (y - x) * (m as f64 / n as f64);
        chain.push(find_or_add_point(points, p, 1e-6 * h));
    }
    chain.push(b);
}

/// Cuts edges until every ball is free of other skeleton points or the edge is no longer than `shortest`.
fn cut_until_empty(p: &mut ProtectedSkeleton, ends: &[(u32, u32)], shortest: f64) {
    // Each pass cuts at most once per edge; the shortest length bounds the number of passes.
    for _ in 0..64 {
        let mut cuts: Vec<(u32, u32, f64)> = Vec::new();
        p.unresolved = 0;
        for s in 0..p.chains.len() {
            for w in p.chains[s].windows(2) {
                let (a, b) = (w[0].min(w[1]), w[0].max(w[1]));
                let empty = || balls::empty_ball(&p.points, a, b).is_some();
                if cuts.iter().any(|c| (c.0, c.1) == (a, b)) || empty() {
                    continue;
                }
                let inside = encroaching_points(&p.points, a, b);
                let length = (p.points[a as usize] - p.points[b as usize]).norm();
                if length <= shortest {
                    p.unresolved += 1;
                    continue;
                }
                cuts.push((a, b, cut_share(p, ends, s, a, b, &inside)));
            }
        }
        if cuts.is_empty() {
            return;
        }
        for (a, b, t) in cuts {
            let (x, y) = (p.points[a as usize], p.points[b as usize]);
            p.insert(x + (y - x) * t, a, b);
        }
    }
}

/// Returns where to cut an edge, as a share of its length. First choice is the radius of an encroaching point whose
/// bone shares a joint with this one, then the foot of a close point, then the middle.
fn cut_share(
    p: &ProtectedSkeleton,
    ends: &[(u32, u32)],
    segment: usize,
    a: u32,
    b: u32,
    inside: &[u32],
) -> f64 {
    let mut best: Option<f64> = None;
    let mine = [ends[segment].0, ends[segment].1];
    for &k in inside {
        for (other, chain) in p.chains.iter().enumerate() {
            if other == segment || !chain.contains(&k) {
                continue;
            }
            for e in [ends[other].0, ends[other].1] {
                if !mine.contains(&e) {
                    continue;
                }
                let r = |i: u32| (p.points[i as usize] - p.points[e as usize]).norm();
                let t = (r(k) - r(a)) / (r(b) - r(a));
                let nearer = |old: f64| (t - 0.5).abs() < (old - 0.5).abs();
                if t > 0.02 && t < 0.98 && best.is_none_or(nearer) {
                    best = Some(t);
                }
            }
        }
    }
    let (x, y) = (p.points[a as usize], p.points[b as usize]);
    let beside = inside.iter().map(|&k| {
        let (q, t) = closest_on_segment(x, y, p.points[k as usize]);
        ((q - p.points[k as usize]).norm(), t)
    });
    let close = beside
        .filter(|&(off, t)| off < MAX_OFFSET_SHARE * t.min(1.0 - t) * (y - x).norm())
        .min_by(|a, b| a.0.total_cmp(&b.0));
    best.or(close.map(|c| c.1)).unwrap_or(0.5)
}

/// Distance of a point from an edge, as a share of the shorter piece, up to which the edge is cut beside the point.
const MAX_OFFSET_SHARE: f64 = 0.5;

#[cfg(test)]
mod tests {
    use super::*;

    fn segment(bone: u32, a: [f64; 3], b: [f64; 3]) -> BoneSegment {
        BoneSegment {
            bone,
            head: Vec3::from(a),
            tail: Vec3::from(b),
            tip: false,
            weight: 1.0,
            skin: Vec::new(),
        }
    }

    fn assert_protected(p: &ProtectedSkeleton, segments: &[BoneSegment], h: f64) {
        assert_eq!(p.unresolved, 0);
        for (i, &(a, b, _)) in p.edges.iter().enumerate() {
            assert!(balls::empty_ball(&p.points, a.min(b), a.max(b)).is_some());
            assert!(p.length(i) <= h * (1.0 + 1e-9));
        }
        for (s, chain) in segments.iter().zip(&p.chains) {
            assert!((p.points[chain[0] as usize] - s.head).norm() <= WELD_DISTANCE * h);
            assert!(
                (p.points[chain[chain.len() - 1] as usize] - s.tail).norm() <= WELD_DISTANCE * h
            );
        }
    }

    /// Bones that meet at acute angles are split until the balls of their edges are empty.
    #[test]
    fn acute_joints_are_protected() {
        let mut segments = vec![segment(0, [0.0; 3], [3.0, 0.0, 0.0])];
        for (i, angle) in [10.0f64, 25.0, 47.0, 80.0, 130.0].iter().enumerate() {
            let r = angle.to_radians();
            let tail = [2.0 * r.cos(), 2.0 * r.sin(), 0.3];
            segments.push(segment(1 + i as u32, [0.0; 3], tail));
        }
        let p = protect(&segments, &[], 0.8, false);
        assert_protected(&p, &segments, 0.8);
        assert!(p.edges.len() < 120, "{}", p.edges.len());
    }

    /// A joint on another bone becomes a vertex of both chains.
    #[test]
    fn joint_on_bone_is_shared() {
        let segments = vec![
            segment(0, [0.0; 3], [2.0, 0.0, 0.0]),
            segment(1, [1.0, 0.004, 0.0], [1.0, 2.0, 0.0]),
        ];
        let p = protect(&segments, &[], 0.5, false);
        assert_protected(&p, &segments, 0.5);
        assert!(p.chains[0].contains(&p.chains[1][0]));
    }

    #[test]
    fn crossing_bones_share_vertex() {
        let segments = vec![
            segment(0, [-1.0, 0.0, 0.0], [1.0, 0.0, 0.0]),
            segment(1, [0.1, -1.0, 0.0], [0.1, 1.0, 0.003]),
        ];
        let p = protect(&segments, &[], 0.5, false);
        assert_protected(&p, &segments, 0.5);
        assert!(p.chains[0].iter().any(|v| p.chains[1].contains(v)));
    }

    #[test]
    fn zero_length_bone_is_point() {
        let p = protect(&[segment(0, [1.0; 3], [1.0; 3])], &[], 0.5, false);
        assert_eq!(
            (p.chains[0].len(), p.edges.len(), p.points.len()),
            (1, 0, 1)
        );
    }
}
