// SPDX-License-Identifier: MIT OR Apache-2.0
//! What overlaps at one instant, parted on the surface alone: for flesh whose motion no contact can act on.
//!
//! Vertices in other flesh are found as contacts are (`narrow`), in the shape at rest; both sides then give way by half,
//! and the skin around follows (`spread`). It is a function of one instant: no history, no forces. What the search would leave out
//! a little later counts less and less before, so that nothing jumps when a pair comes or goes.

use super::bumps;
use super::instant::Instant;
use super::narrow::{self, ALIKE, Touch};
use super::placed::{Moving, Placed, Span, tree_at_rest};
use super::posed::{Posed, ShownVertices};
use super::spread::{Membrane, Overlap};
use super::{Collider, ContactOptions, ContactPoint, ContactSkin, PreparedContact, Swept, broad};
use crate::Vec3;
use crate::skeleton::Pose;
use parry3d_f64::partitioning::Bvh;
use std::sync::Arc;

/// Where skins are at rest how many cells, and how many times their depth, apart they begin to count and count whole.
const APART: [f64; 2] = [0.75, 1.0];
const DEPTHS: [f64; 2] = [3.0, 4.0];
/// From which depth on, in cells, flesh of the same body counts less, and from which not at all.
const DEEP: [f64; 2] = [0.35, 0.5];
/// By which part of what the search allows skin is shown elsewhere it begins to count less, and no more.
const MISLED: [f64; 2] = [0.6, 0.9];

/// What parts the surface of a body.
#[derive(Debug)]
pub struct Parting {
    skin: ContactSkin,
    options: ContactOptions,
    colliders: Vec<(Arc<Collider>, Option<Arc<Bvh>>)>,
    membrane: Membrane,
}

/// What is added to a surface so that it parts.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Parted {
    /// Displacements of vertices, ascending, metres, world axes; of all others there are none.
    pub moves: Vec<(u32, Vec3)>,
    /// What was parted, as it is after. Nothing presses: forces are zero.
    pub points: Arc<[ContactPoint]>,
}

impl Parted {
    /// Memory, bytes.
    pub(crate) fn bytes(&self) -> usize {
        size_of_val(self.moves.as_slice()) + size_of_val(&*self.points)
    }
}

impl Parting {
    /// By contact that is ready for a body: whether it touches itself, thickness, regions and colliders count.
    pub fn new(contact: &PreparedContact) -> Self {
        let ready = |c: &Arc<Collider>| (c.clone(), tree_at_rest(c));
        let skin = contact.skin().with_all_vertices();
        Self {
            membrane: Membrane::new(&skin),
            skin,
            options: contact.options(),
            colliders: contact.contact().colliders.iter().map(ready).collect(),
        }
    }

    /// Parts a surface that is shown at `vertices`, `[n]`, on a lattice at `nodes`, `[nodes]`, metres, world axes, with colliders
    /// at an entry of their motions.
    pub(crate) fn part(
        &self,
        pose: &Pose,
        nodes: &[Vec3],
        vertices: &[Vec3],
        entry: usize,
    ) -> Parted {
        let still = vec![Vec3::zeros(); nodes.len()];
        let span = Span::between(entry, entry);
        let moving = self.colliders.iter();
        let moving: Vec<Moving> = moving
            .map(|(c, tree)| Moving::new(c, tree.as_ref(), &span))
            .collect();
        let colliders: Vec<Placed> = moving.iter().map(|m| m.at(0.0)).collect();
        let shown = ShownVertices::given(vertices);
        let posed = self.posed(pose, (nodes, &still), &shown);
        let at = Instant {
            bodies: &[posed],
            colliders: &colliders,
        };
        let mut touches = self.touches(&at);
        touches.retain(|touch| self.depth(touch, &at) > 0.0);
        if touches.is_empty() {
            return Parted::default();
        }
        let overlap = |touch: &Touch| Overlap {
            point: self.skin.proxies()[touch.proxy as usize].point,
            partner: at.collider(touch.other).is_none().then_some(touch.target),
            normal: touch.normal,
            depth: self.depth(touch, &at),
        };
        let overlaps: Vec<Overlap> = touches.iter().map(overlap).collect();
        let moves = self.membrane.parted(&self.skin, &overlaps);
        let mut places = vertices.to_vec();
        for (v, d) in &moves {
            places[*v as usize] += d;
        }
        let shown = ShownVertices::given(&places);
        let after = Instant {
            bodies: &[self.posed(pose, (nodes, &still), &shown)],
            colliders: &colliders,
        };
        Parted {
            points: touches.iter().map(|t| self.point(t, &after)).collect(),
            moves,
        }
    }

    fn posed<'a>(
        &'a self,
        pose: &'a Pose,
        (base, sway): (&'a [Vec3], &'a [Vec3]),
        shown: &'a ShownVertices,
    ) -> Posed<'a> {
        Posed {
            skin: &self.skin,
            pose,
            base,
            sway,
            // Vertices are shown elsewhere than the lattice has them.
            joints: 0.0,
            bounded: false,
            shown,
        }
    }

    /// What touches, of the body itself and then of colliders.
    fn touches(&self, at: &Instant) -> Vec<Touch> {
        let mut touches = Vec::new();
        if self.options.self_contact {
            let swept = at.bodies.iter().map(|&posed| Swept {
                from: posed,
                to: posed,
                itself: true,
            });
            let candidates = broad::candidates(&swept.collect::<Vec<_>>());
            if !candidates.is_empty() {
                let warps = narrow::all_warps(at.bodies, &candidates);
                touches = narrow::touches(at.bodies, &candidates, &warps);
            }
        }
        let near = bumps::chosen(at, at, self.options.thickness);
        touches.extend(bumps::touches(&near, at, at, |_| None));
        touches
    }

    /// By how much a touch is to be parted, metres.
    fn depth(&self, touch: &Touch, at: &Instant) -> f64 {
        let gap = self.options.told_gap(touch, at);
        if at.collider(touch.other).is_some() {
            return -gap;
        }
        let (body, other) = (&at.bodies[0], &at.bodies[0]);
        let (cell, deep) = (self.skin.cell(), touch.depth.abs());
        let proxy = &self.skin.proxies()[touch.proxy as usize];
        let apart = (proxy.rest - self.skin.rest_point(&touch.target)).norm();
        // What the sculpt has nearer than the thickness may stay so.
        let modelled = (self.options.thickness - apart).max(0.0);
        let begin = APART.map(|a| a * cell);
        let own = ramp(apart, [0, 1].map(|i| begin[i].max(DEPTHS[i] * deep)));
        let shallow = 1.0 - ramp(-touch.depth / cell, DEEP);
        let shown = (body.point(&proxy.point) - other.point(&touch.target)).norm();
        let told = 1.0 - ramp(shown / narrow::farthest(deep, cell), MISLED);
        let facing = ramp(
            ALIKE - body.normal(&proxy.point).dot(&touch.normal),
            [0.0, ALIKE],
        );
        -(gap + modelled) * own * shallow * told * facing
    }

    fn point(&self, touch: &Touch, after: &Instant) -> ContactPoint {
        ContactPoint {
            point: after.proxy(touch.body, touch.proxy),
            normal: touch.normal,
            gap: self.options.told_gap(touch, after),
            force: Vec3::zeros(),
            body: touch.body,
            vertex: self.skin.proxies()[touch.proxy as usize].vertex,
            other: touch.other,
            partner: after.vertex_at(touch.other, &touch.target),
        }
    }
}

/// From 0 below the first bound to 1 above the second.
fn ramp(x: f64, [from, to]: [f64; 2]) -> f64 {
    ((x - from) / (to - from)).clamp(0.0, 1.0)
}
