// SPDX-License-Identifier: MIT OR Apache-2.0
//! The shape of bent joints, which Elastic Joints shows in place of the artist's skin.
//!
//! ```text
//! best = M(DQ(x)) + K E u
//! M(g) = S g + R (x − S x), less the slow part of its displacement from g along its normal;   K = S
//! ```
//!
//! | symbol | meaning |
//! | --- | --- |
//! | `DQ(x)` | the skin at rest carried by dual quaternions of the artist's own weights [kavan2007] |
//! | S | [`HALF_DEPTH_ROUNDS`] rounds of smoothing over half the flesh's thickness ([`smoothing`]) |
//! | R | the bones' rotations, blended by weights that S has smoothed |
//! | slow part | [`FULL_DEPTH_ROUNDS`] rounds of smoothing over the thickness: smoothing pulls a joint's outer side in, subtracting this part restores it |
//! | E u | volume lost in the bend, restored on the lattice (`dynamics/volume.rs`) and embedded; K hides the faces of cells |
//!
//! Smoothing a skin and restoring its details is delta mush [mancewicz2014]; on linear skinning it loses a third of a
//! knee. Here it rounds the creases of dual quaternions. The skin itself is not carried by linear tetrahedra, which
//! would cost a joint a tenth of its volume and sharpen it. Nothing is stretched, so nothing pulls a kneecap in.
//!
//! The shape depends on the pose alone. Coincident vertices with the same weights move as one; elsewhere the skin is
//! torn as the artist has it. Borders stay where dual quaternions carry them, and vertices that no bone carries stay
//! put. [`JointShape`] is prepared once per body: neighbours, shares, details, smoothed weights. A pose costs
//! 7 to 10 ms at 9,000 to 13,000 vertices on two busy cores.

mod smoothing;

use super::{Body, flesh};
use crate::Vec3;
use crate::geometry::groups::Groups;
use crate::kernel::LocalMaps;
use crate::lattice::Embedding;
use crate::skeleton::{BonePoses, Skeleton, SkinWeights};
use rayon::prelude::*;
use smoothing::{Links, Shares};
use std::sync::Arc;

/// Rounds that smooth over half the thickness. They spread over √(16 · 0.6) = 3.1 edges at most.
const HALF_DEPTH_ROUNDS: usize = 16;
/// Rounds that smooth over the thickness. They spread over √(24 · 0.6) = 3.8 edges at most.
const FULL_DEPTH_ROUNDS: usize = 24;
/// Smoothed weights below this are dropped. They move skin by less than a thousandth of their bone's displacement.
const MIN_WEIGHT: f32 = 1e-3;
/// Largest sum of differences between weights of coincident vertices that count as the same: as much as [`MIN_WEIGHT`] drops.
const WEIGHT_TOLERANCE: f64 = 1e-3;
/// Fewest vertices per parallel task.
const MIN_TASK_VERTICES: usize = 512;
/// Marks a vertex without a node.
const NO_NODE: u32 = u32::MAX;

/// The skin of a body, prepared for bent joints. A node is a vertex, or several coincident ones that move as one.
#[derive(Debug, Clone)]
pub(crate) struct JointShape {
    skeleton: Arc<Skeleton>,
    skin: Arc<SkinWeights>,
    embedding: Arc<Embedding>,
    rest_origin: Vec3,
    /// Skin at rest, metres, `[vertices]`.
    rest: Vec<Vec3>,
    node_of_vertex: Vec<u32>,
    /// One vertex of each node.
    vertex_of_node: Vec<u32>,
    triangles: Vec<[u32; 3]>,
    /// Triangles around each node.
    around: Groups,
    links: Links,
    near: Shares,
    slow: Shares,
    /// x − S x of each node, metres.
    details: Vec<Vec3>,
    /// Weights of each node, smoothed by S.
    smoothed: SkinWeights,
}

impl JointShape {
    pub(super) fn new(body: &Body) -> Self {
        let (surface, skin) = (&body.surface, &body.skin);
        let nodes = Nodes::new(body);
        let rest: Vec<Vec3> = nodes
            .first
            .iter()
            .map(|&v| surface.vertices()[v as usize])
            .collect();
        let links = Links::new(&rest, &nodes.triangles);
        let thickness = match body.flesh() {
            Some(map) => map.thickness.clone(),
            None => flesh::thickness(surface, &body.skeleton, skin, body.size),
        };
        let deep = |v: usize| thickness[nodes.first[v] as usize];
        let near = links.shares(HALF_DEPTH_ROUNDS, |v| 0.5 * deep(v));
        let slow = links.shares(FULL_DEPTH_ROUNDS, deep);
        let rest_origin = body.rest_origin();
        let wide = |x: &Vec3| to_f32(&(x - rest_origin));
        let given: Vec<[f32; 3]> = rest.iter().map(wide).collect();
        let mut smooth = given.clone();
        links.smooth(&near, &mut smooth);
        let pairs = given.iter().zip(&smooth);
        let details = pairs.map(|(x, s)| to_f64(x) - to_f64(s)).collect();
        Self {
            skeleton: body.skeleton.clone(),
            skin: skin.clone(),
            embedding: body.embedding.clone(),
            rest_origin,
            rest: surface.vertices().to_vec(),
            smoothed: smooth_weights(skin, &nodes.first, &links, &near),
            around: Groups::from_elements(rest.len(), &nodes.triangles),
            node_of_vertex: nodes.of_vertex,
            vertex_of_node: nodes.first,
            triangles: nodes.triangles,
            links,
            near,
            slow,
            details,
        }
    }

    /// Returns the same shape for displacements of other nodes, in which `embedding` embeds the skin.
    pub fn with_embedding(&self, embedding: &Arc<Embedding>) -> Self {
        Self {
            embedding: embedding.clone(),
            ..self.clone()
        }
    }

    /// Returns the offset of the skin of bent joints from the artist's, `best − skin`, `[vertices]`, metres, along
    /// the axes of posed space. u `[lattice vertices]` is in the same axes.
    pub fn lifts(&self, maps: &LocalMaps, u: &[[f32; 3]]) -> Vec<[f32; 3]> {
        let still = || vec![[0.0; 3]; self.node_of_vertex.len()];
        let Ok(pose) = maps.pose(self.rest_origin) else {
            return still();
        };
        let (own, scale) = pose.remove_scale();
        let Ok(bones) = BonePoses::new(&self.skeleton, &own) else {
            return still();
        };
        let unscaled = |u: &[f32; 3]| u.map(|x| x / scale as f32);
        let u: Vec<[f32; 3]> = u.iter().map(unscaled).collect();
        let shown = self.displayed_positions(&bones, &u);
        let lift = |(v, &node): (usize, &u32)| {
            if node == NO_NODE {
                return [0.0; 3];
            }
            let (x, mut skin) = (self.rest[v], Vec3::zeros());
            for (bone, weight) in self.skin.row(v) {
                skin += pose.maps()[bone as usize].apply(x) * weight;
            }
            to_f32(&(shown[node as usize] * scale - skin))
        };
        let vertices = self
            .node_of_vertex
            .par_iter()
            .with_min_len(MIN_TASK_VERTICES);
        vertices.enumerate().map(lift).collect()
    }

    /// Returns what displacements u `[lattice vertices]` add to the skin of bent joints, `[vertices]`, metres, in the axes of u. This is the
    /// part of [`lifts`](Self::lifts) that depends on u, which is linear.
    pub fn moved_skin(&self, u: &[Vec3]) -> Vec<Vec3> {
        let moved = |&v: &u32| {
            let row = self.embedding.row(v as usize);
            let sum: Vec3 = row
                .map(|(a, share)| u.get(a).copied().unwrap_or_default() * share)
                .sum();
            to_f32(&sum)
        };
        let mut nodes: Vec<[f32; 3]> = self.vertex_of_node.iter().map(moved).collect();
        self.links.smooth(&self.near, &mut nodes);
        let at = |&node: &u32| match node == NO_NODE {
            true => Vec3::zeros(),
            false => to_f64(&nodes[node as usize]),
        };
        self.node_of_vertex.iter().map(at).collect()
    }

    /// Returns the displayed positions of nodes, in posed space.
    fn displayed_positions(&self, bones: &BonePoses, u: &[[f32; 3]]) -> Vec<Vec3> {
        // DQ(x) and E u side by side: one pass smooths both.
        let carried = |&v: &u32| {
            let v = v as usize;
            let g = to_f32(&bones.place(self.skin.row(v), self.rest[v]));
            let mut moved = [0.0f32; 3];
            for (a, share) in self.embedding.row(v) {
                let u = u.get(a).copied().unwrap_or_default();
                (0..3).for_each(|k| moved[k] += u[k] * share as f32);
            }
            [g[0], g[1], g[2], 0.0, moved[0], moved[1], moved[2], 0.0]
        };
        let vertices = self
            .vertex_of_node
            .par_iter()
            .with_min_len(MIN_TASK_VERTICES);
        let given: Vec<[f32; 8]> = vertices.map(carried).collect();
        let nodes = || {
            (0..given.len())
                .into_par_iter()
                .with_min_len(MIN_TASK_VERTICES)
        };
        let mut smooth = given.clone();
        self.links.smooth(&self.near, &mut smooth);
        let detailed = |node: usize| {
            let detail = bones.carry_vector(self.smoothed.row(node), self.details[node]);
            to_f64(&first_three(&smooth[node])) + detail
        };
        let mut shown: Vec<Vec3> = nodes().map(detailed).collect();
        let normals = self.normals(&shown);
        let along = |node: usize| {
            let moved = shown[node] - to_f64(&first_three(&given[node]));
            [moved.dot(&normals[node]) as f32]
        };
        let mut slow: Vec<[f32; 1]> = nodes().map(along).collect();
        self.links.smooth(&self.slow, &mut slow);
        for (node, p) in shown.iter_mut().enumerate() {
            let [.., x, y, z, _] = smooth[node];
            *p += to_f64(&[x, y, z]) - normals[node] * f64::from(slow[node][0]);
        }
        shown
    }

    /// Returns unit normals of nodes; zero for degenerate ones.
    fn normals(&self, places: &[Vec3]) -> Vec<Vec3> {
        let area = |t: &[u32; 3]| {
            let [a, b, c] = t.map(|v| places[v as usize]);
            (b - a).cross(&(c - a))
        };
        let areas = self
            .triangles
            .par_iter()
            .with_min_len(MIN_TASK_VERTICES)
            .map(area);
        let areas: Vec<Vec3> = areas.collect();
        let normal = |node: usize| {
            let sum: Vec3 = self
                .around
                .members(node)
                .iter()
                .map(|&t| areas[t as usize])
                .sum();
            sum.try_normalize(0.0).unwrap_or_default()
        };
        let nodes = (0..places.len())
            .into_par_iter()
            .with_min_len(MIN_TASK_VERTICES);
        nodes.map(normal).collect()
    }
}

/// Nodes of a skin and the triangles between them.
struct Nodes {
    of_vertex: Vec<u32>,
    first: Vec<u32>,
    triangles: Vec<[u32; 3]>,
}

impl Nodes {
    fn new(body: &Body) -> Self {
        let (welded, skin) = (body.surface.welded(), &body.skin);
        let mut of_vertex = vec![NO_NODE; welded.of_vertex.len()];
        let mut first: Vec<u32> = Vec::new();
        let mut at = vec![Vec::<u32>::new(); welded.vertices.len()];
        for (v, &w) in welded.of_vertex.iter().enumerate() {
            let Some(here) = at.get_mut(w as usize) else {
                continue;
            };
            if skin.row(v).next().is_none() {
                continue;
            }
            let same = |node: &&u32| have_same_weights(skin, first[**node as usize] as usize, v);
            let known = here.iter().find(same).copied();
            of_vertex[v] = known.unwrap_or_else(|| {
                first.push(v as u32);
                let node = first.len() as u32 - 1;
                here.push(node);
                node
            });
        }
        let corners =
            |&t: &u32| body.surface.triangles()[t as usize].map(|v| of_vertex[v as usize]);
        let whole = |&[a, b, c]: &[u32; 3]| {
            [a, b, c].iter().all(|&v| v != NO_NODE) && a != b && b != c && c != a
        };
        let triangles = welded.source.iter().map(corners).filter(whole).collect();
        Self {
            of_vertex,
            first,
            triangles,
        }
    }
}

/// Returns whether two vertices have the same weights.
fn have_same_weights(skin: &SkinWeights, a: usize, b: usize) -> bool {
    let of =
        |v: usize, bone: u32| -> f64 { skin.row(v).filter(|p| p.0 == bone).map(|p| p.1).sum() };
    let from = |v: usize, other: usize| -> f64 {
        skin.row(v)
            .map(|(bone, w)| (w - of(other, bone)).abs())
            .sum()
    };
    from(a, b) + from(b, a) <= 2.0 * WEIGHT_TOLERANCE
}

/// Returns the smoothed weights of nodes.
fn smooth_weights(
    skin: &SkinWeights,
    vertices: &[u32],
    links: &Links,
    shares: &Shares,
) -> SkinWeights {
    const BONES_AT_ONCE: usize = 8;
    let mut rows = vec![Vec::<(u32, f64)>::new(); vertices.len()];
    let mut carries = vec![false; skin.bone_count];
    for &v in vertices {
        skin.row(v as usize)
            .for_each(|(bone, _)| carries[bone as usize] = true);
    }
    let bones: Vec<u32> = (0..skin.bone_count as u32)
        .filter(|&b| carries[b as usize])
        .collect();
    for bones in bones.chunks(BONES_AT_ONCE) {
        let row = |&v: &u32| {
            let mut row = [0.0f32; BONES_AT_ONCE];
            for (bone, weight) in skin.row(v as usize) {
                if let Ok(k) = bones.binary_search(&bone) {
                    row[k] = weight as f32;
                }
            }
            row
        };
        let mut values: Vec<[f32; BONES_AT_ONCE]> = vertices.iter().map(row).collect();
        links.smooth(shares, &mut values);
        for (row, values) in rows.iter_mut().zip(&values) {
            let pairs = bones.iter().zip(values).filter(|(_, w)| **w > MIN_WEIGHT);
            row.extend(pairs.map(|(&bone, &w)| (bone, f64::from(w))));
        }
    }
    // Means of valid rows are valid.
    SkinWeights::from_rows(skin.bone_count, rows).unwrap_or_default()
}

fn to_f32(v: &Vec3) -> [f32; 3] {
    v.cast::<f32>().into()
}

fn to_f64(&[x, y, z]: &[f32; 3]) -> Vec3 {
    Vec3::new(f64::from(x), f64::from(y), f64::from(z))
}

fn first_three(&[x, y, z, ..]: &[f32; 8]) -> [f32; 3] {
    [x, y, z]
}
