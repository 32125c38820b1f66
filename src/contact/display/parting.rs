// SPDX-License-Identifier: MIT OR Apache-2.0
//! Parting of overlaps at one instant on the surface alone, for flesh whose motion no contact can act on.
//!
//! The lattice tells where flesh may have come into other flesh (`broad`), the displayed surface where it has (`overlaps`). Both sides then yield by
//! half, and the skin around follows (`spread`); out of colliders skin goes all the way. The result depends on one instant alone: no history, no
//! forces.

use crate::Vec3;
use crate::contact::display::overlaps::{Bounding, Overlap};
use crate::contact::display::spread::Membrane;
use crate::contact::instant::Instant;
use crate::contact::placed::{Moving, Placed, Span, tree_at_rest};
use crate::contact::posed::{Lifts, Posed, ShownVertices};
use crate::contact::response::rows::Pairing;
use crate::contact::search::broad;
use crate::contact::search::bumps;
use crate::contact::search::buried::Standing;
use crate::contact::search::narrow::Touch;
use crate::contact::{
    Collider, ContactPoint, ContactSettings, ContactSkin, PreparedContact, Swept,
};
use crate::skeleton::Pose;
use parry3d_f64::partitioning::Bvh;
use std::sync::Arc;

/// Search rounds, each on the surface parted by all pairs found before. One round leaves 184 vertices of modal flesh at an elbow of 120° in other
/// flesh, 1.7 % deep. Three rounds leave 6, 0.06 % deep, as do six.
const ROUNDS: usize = 3;

/// A body prepared for parting its surface.
#[derive(Debug)]
pub struct Parting {
    skin: ContactSkin,
    options: ContactSettings,
    pairing: Pairing,
    colliders: Vec<(Arc<Collider>, Option<Arc<Bvh>>)>,
    bounding: Bounding,
    membrane: Membrane,
}

/// Offsets that part a surface.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Parted {
    /// Displacements of vertices, ascending, metres, world axes. All other vertices stay.
    pub moves: Vec<(u32, Vec3)>,
    /// Parted pairs, after parting. Nothing presses: forces are zero.
    pub points: Arc<[ContactPoint]>,
}

impl Parted {
    /// Returns the memory used, bytes.
    pub(crate) fn bytes(&self) -> usize {
        size_of_val(self.moves.as_slice()) + size_of_val(&*self.points)
    }
}

impl Parting {
    /// Prepares for a body. Self-contact, thickness, regions and colliders of the contact count; the rest is ignored.
    pub fn new(contact: &PreparedContact) -> Self {
        let ready = |c: &Arc<Collider>| (c.clone(), tree_at_rest(c));
        let skin = contact.skin().with_all_vertices();
        Self {
            bounding: Bounding::new(&skin),
            membrane: Membrane::new(&skin),
            skin,
            options: contact.options(),
            pairing: Pairing::new(&[contact.options()]),
            colliders: contact.contact().colliders.iter().map(ready).collect(),
        }
    }

    /// Parts a surface displayed at `vertices`, `[n]`, on a lattice at `nodes`, `[nodes]`, metres, world axes, with colliders at an entry of their
    /// motions.
    pub(crate) fn part(
        &self,
        pose: &Pose,
        nodes: &[Vec3],
        vertices: &[Vec3],
        entry: usize,
    ) -> Parted {
        let all = nodes.iter().chain(vertices);
        if !all.flatten().all(|x| x.is_finite()) {
            return Parted::default();
        }
        let still = vec![Vec3::zeros(); nodes.len()];
        let span = Span::between(entry, entry);
        let moving = self.colliders.iter();
        let moving: Vec<Moving> = moving
            .map(|(c, tree)| Moving::new(c, tree.as_ref(), &span))
            .collect();
        let standing = Standing {
            skin: &self.skin,
            places: nodes,
            itself: self.options.self_contact,
        };
        let in_room = |m: Moving| {
            let room = standing.is_in_room(&m.at(0.0));
            m.with_rooms(&[room])
        };
        let moving: Vec<Moving> = moving.into_iter().map(in_room).collect();
        let colliders: Vec<Placed> = moving.iter().map(|m| m.at(0.0)).collect();
        let mut near = None;
        let mut pairs: Vec<Pair> = Vec::new();
        let (mut moves, mut places) = (Vec::new(), vertices.to_vec());
        for round in 0..=ROUNDS {
            let shown = ShownVertices::given(&places);
            let posed = self.posed(pose, (nodes, &still), &shown);
            let at = Instant {
                bodies: &[posed],
                colliders: &colliders,
            };
            if round == ROUNDS {
                return Parted {
                    points: self.points(pairs, &at),
                    moves,
                };
            }
            let near = near.get_or_insert_with(|| self.near(&at));
            let found = self.overlaps(&places, near).into_iter();
            for mut pair in found.chain(self.bumps(&at)) {
                pair.overlap.depth += self.membrane.apart(&self.skin, &pair.overlap, &moves);
                pairs.push(pair);
            }
            if pairs.is_empty() {
                break;
            }
            let overlaps: Vec<Overlap> = pairs.iter().map(|pair| pair.overlap).collect();
            moves = self.membrane.parted(&self.skin, &overlaps);
            places.copy_from_slice(vertices);
            for (v, d) in &moves {
                places[*v as usize] += d;
            }
        }
        Parted::default()
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
            // The cache holds the displayed vertices, so nothing is computed from the lattice.
            joints: 0.0,
            lifts: Lifts::NONE,
            folds: &[],
            bounded: false,
            shown,
        }
    }

    /// Returns the proxies that may have come into other flesh of the body, ascending.
    fn near(&self, at: &Instant) -> Vec<u32> {
        if !self.options.self_contact {
            return Vec::new();
        }
        let swept = at.bodies.iter().map(|&posed| Swept {
            from: posed,
            to: None,
            itself: true,
        });
        let found = broad::candidates(&swept.collect::<Vec<_>>());
        let mut proxies: Vec<u32> = found.candidates.iter().map(|c| c.proxy).collect();
        proxies.dedup();
        proxies
    }

    /// Finds the overlaps of the body with itself.
    fn overlaps(&self, vertices: &[Vec3], near: &[u32]) -> Vec<Pair> {
        if near.is_empty() {
            return Vec::new();
        }
        let thickness = self.options.thickness;
        let found = self
            .bounding
            .overlaps(&self.skin, vertices, near, thickness);
        let pair = |overlap: Overlap| {
            let touch = Touch {
                body: 0,
                proxy: overlap.proxy,
                other: 0,
                target: overlap.partner?,
                normal: overlap.normal,
                depth: -overlap.depth,
                side: 1.0,
            };
            Some(Pair { overlap, touch })
        };
        found.into_iter().filter_map(pair).collect()
    }

    /// Finds the overlaps of the body with colliders.
    fn bumps(&self, at: &Instant) -> Vec<Pair> {
        let near = bumps::chosen(at, at, self.options.thickness);
        let mut found = Vec::new();
        bumps::touches(&near, at, at, |_| None, &mut found);
        let pair = |touch: Touch| {
            let overlap = Overlap {
                proxy: touch.proxy,
                point: self.skin.proxies()[touch.proxy as usize].point,
                partner: None,
                normal: touch.normal,
                depth: -self.pairing.told_gap(&touch, at),
            };
            (overlap.depth > 0.0).then_some(Pair { overlap, touch })
        };
        found.into_iter().filter_map(pair).collect()
    }

    /// Reports pairs, each point with its last partner.
    fn points(&self, mut pairs: Vec<Pair>, at: &Instant) -> Arc<[ContactPoint]> {
        let key = |pair: &Pair| (pair.touch.proxy, pair.touch.other);
        pairs.reverse();
        pairs.sort_by_key(key);
        pairs.dedup_by_key(|pair| key(pair));
        let point = |Pair { touch, .. }: &Pair| ContactPoint {
            point: at.proxy(touch.body, touch.proxy),
            normal: touch.normal,
            gap: self.pairing.told_gap(touch, at),
            force: Vec3::zeros(),
            body: touch.body,
            vertex: self.skin.proxies()[touch.proxy as usize].vertex,
            other_body: touch.other,
            other_vertex: at.vertex_at(touch.other, &touch.target),
            kinematic: false,
        };
        pairs.iter().map(point).collect()
    }
}

/// An overlap and the same as a touch.
struct Pair {
    overlap: Overlap,
    touch: Touch,
}

#[cfg(test)]
mod tests;
