// SPDX-License-Identifier: MIT OR Apache-2.0
//! What overlaps at one instant, parted on the surface alone: for flesh whose motion no contact can act on.
//!
//! Where flesh may have come into other flesh is known from the lattice (`broad`), what has from the surface as it is shown
//! (`overlaps`). Both sides then give way by half, and the skin around follows (`spread`); out of colliders skin goes all the way.
//! It is a function of one instant: no history, no forces.

use super::bumps;
use super::instant::Instant;
use super::narrow::Touch;
use super::overlaps::{Bounding, Overlap};
use super::placed::{Moving, Placed, Span, tree_at_rest};
use super::posed::{Posed, ShownVertices};
use super::spread::Membrane;
use super::{Collider, ContactOptions, ContactPoint, ContactSkin, PreparedContact, Swept, broad};
use crate::Vec3;
use crate::skeleton::Pose;
use parry3d_f64::partitioning::Bvh;
use std::sync::Arc;

/// What parts the surface of a body.
#[derive(Debug)]
pub struct Parting {
    skin: ContactSkin,
    options: ContactOptions,
    colliders: Vec<(Arc<Collider>, Option<Arc<Bvh>>)>,
    bounding: Bounding,
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
            bounding: Bounding::new(&skin),
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
        let mut pairs = self.overlaps(vertices, &at);
        pairs.extend(self.bumps(&at));
        if pairs.is_empty() {
            return Parted::default();
        }
        let overlaps: Vec<Overlap> = pairs.iter().map(|(overlap, _)| *overlap).collect();
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
            points: pairs.iter().map(|t| self.point(t, &after)).collect(),
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

    /// Where the body is in itself.
    fn overlaps(&self, vertices: &[Vec3], at: &Instant) -> Vec<(Overlap, Touch)> {
        if !self.options.self_contact {
            return Vec::new();
        }
        let swept = at.bodies.iter().map(|&posed| Swept {
            from: posed,
            to: posed,
            itself: true,
        });
        let candidates = broad::candidates(&swept.collect::<Vec<_>>());
        let mut proxies: Vec<u32> = candidates.iter().map(|c| c.proxy).collect();
        proxies.dedup();
        if proxies.is_empty() {
            return Vec::new();
        }
        let thickness = self.options.thickness;
        let found = self
            .bounding
            .overlaps(&self.skin, vertices, &proxies, thickness);
        let touch = |overlap: Overlap| {
            let target = overlap.partner?;
            let touch = Touch {
                body: 0,
                proxy: overlap.proxy,
                other: 0,
                target,
                normal: overlap.normal,
                depth: -overlap.depth,
                side: 1.0,
            };
            Some((overlap, touch))
        };
        found.into_iter().filter_map(touch).collect()
    }

    /// Where it is in colliders.
    fn bumps(&self, at: &Instant) -> Vec<(Overlap, Touch)> {
        let near = bumps::chosen(at, at, self.options.thickness);
        let found = bumps::touches(&near, at, at, |_| None);
        let overlap = |touch: Touch| {
            let depth = -self.options.told_gap(&touch, at);
            let overlap = Overlap {
                proxy: touch.proxy,
                point: self.skin.proxies()[touch.proxy as usize].point,
                partner: None,
                normal: touch.normal,
                depth,
            };
            (depth > 0.0).then_some((overlap, touch))
        };
        found.into_iter().filter_map(overlap).collect()
    }

    fn point(&self, (overlap, touch): &(Overlap, Touch), after: &Instant) -> ContactPoint {
        ContactPoint {
            point: after.proxy(touch.body, touch.proxy),
            normal: overlap.normal,
            gap: self.options.told_gap(touch, after),
            force: Vec3::zeros(),
            body: touch.body,
            vertex: self.skin.proxies()[touch.proxy as usize].vertex,
            other: touch.other,
            partner: after.vertex_at(touch.other, &touch.target),
        }
    }
}
