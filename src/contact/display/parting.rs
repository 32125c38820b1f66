// SPDX-License-Identifier: MIT OR Apache-2.0
//! Parting of overlaps at one instant on the surface alone, for flesh whose motion no contact can act on.
//!
//! On the lattice, `broad` finds flesh that may have come into other flesh; on the displayed surface, `overlaps` finds flesh that has. Both sides
//! then yield by half, and the skin around follows (`parting_field`); out of colliders skin goes all the way. The result depends on one instant alone: no
//! history, no forces.

use crate::Vec3;
use crate::contact::collider_span::{ColliderSpan, MovingCollider, build_rest_tree};
use crate::contact::display::overlaps::{FleshBoundary, SkinOverlap};
use crate::contact::display::parting_field::Membrane;
use crate::contact::instant::ContactInstant;
use crate::contact::placed_collider::PlacedCollider;
use crate::contact::posed_flesh::{DisplayedVertices, PosedFlesh, SkinLifts};
use crate::contact::response::rows::PairParameters;
use crate::contact::search::broad;
use crate::contact::search::buried::StandingBody;
use crate::contact::search::collider_candidates;
use crate::contact::search::narrow::Touch;
use crate::contact::{
    Collider, ContactPoint, ContactSettings, ContactSkin, PreparedContact, SweptBody,
};
use crate::skeleton::Pose;
use parry3d_f64::partitioning::Bvh;
use std::sync::Arc;

/// Search rounds, each on the surface parted by all pairs found before. One round leaves 184 vertices of modal flesh at an elbow of 120° in other
/// flesh, 1.7 % deep. Three rounds leave 6, 0.06 % deep, as do six.
const SEARCH_ROUNDS: usize = 3;

/// A body prepared for parting its surface.
#[derive(Debug)]
pub struct Parting {
    skin: ContactSkin,
    options: ContactSettings,
    pairing: PairParameters,
    colliders: Vec<(Arc<Collider>, Option<Arc<Bvh>>)>,
    bounding: FleshBoundary,
    membrane: Membrane,
}

/// Offsets that part a surface.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PartingOffsets {
    /// Displacements of vertices, ascending, metres, world axes. All other vertices stay.
    pub moves: Vec<(u32, Vec3)>,
    /// Parted pairs, after parting. Nothing presses: forces are zero.
    pub points: Arc<[ContactPoint]>,
}

impl PartingOffsets {
    /// Returns the memory used, bytes.
    pub(crate) fn bytes(&self) -> usize {
        size_of_val(self.moves.as_slice()) + size_of_val(&*self.points)
    }
}

impl Parting {
    /// Prepares for a body. Self-contact, thickness, regions and colliders of the contact count; the rest is ignored.
    pub fn new(contact: &PreparedContact) -> Self {
        let ready = |c: &Arc<Collider>| (c.clone(), build_rest_tree(c));
        let skin = contact.skin().with_all_vertices();
        Self {
            bounding: FleshBoundary::new(&skin),
            membrane: Membrane::new(&skin),
            skin,
            options: contact.options(),
            pairing: PairParameters::new(&[contact.options()]),
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
    ) -> PartingOffsets {
        let all = nodes.iter().chain(vertices);
        if !all.flatten().all(|x| x.is_finite()) {
            return PartingOffsets::default();
        }
        let still = vec![Vec3::zeros(); nodes.len()];
        let span = ColliderSpan::between_entries(entry, entry);
        let moving = self.colliders.iter();
        let moving: Vec<MovingCollider> = moving
            .map(|(c, tree)| MovingCollider::new(c, tree.as_ref(), &span))
            .collect();
        let standing = StandingBody {
            skin: &self.skin,
            places: nodes,
            itself: self.options.self_contact,
        };
        let in_room = |m: MovingCollider| {
            let room = standing.is_in_room(&m.place_at(0.0));
            m.with_rooms(&[room])
        };
        let moving: Vec<MovingCollider> = moving.into_iter().map(in_room).collect();
        let colliders: Vec<PlacedCollider> = moving.iter().map(|m| m.place_at(0.0)).collect();
        let mut near = None;
        let mut pairs: Vec<OverlapTouch> = Vec::new();
        let (mut moves, mut places) = (Vec::new(), vertices.to_vec());
        for round in 0..=SEARCH_ROUNDS {
            let shown = DisplayedVertices::from_positions(&places);
            let posed = self.posed_flesh(pose, (nodes, &still), &shown);
            let at = ContactInstant {
                bodies: &[posed],
                colliders: &colliders,
            };
            if round == SEARCH_ROUNDS {
                return PartingOffsets {
                    points: self.contact_points(pairs, &at),
                    moves,
                };
            }
            let near = near.get_or_insert_with(|| self.find_near_proxies(&at));
            let found = self.find_self_overlaps(&places, near).into_iter();
            for mut pair in found.chain(self.find_collider_overlaps(&at)) {
                pair.overlap.depth +=
                    self.membrane
                        .parting_distance(&self.skin, &pair.overlap, &moves);
                pairs.push(pair);
            }
            if pairs.is_empty() {
                break;
            }
            let overlaps: Vec<SkinOverlap> = pairs.iter().map(|pair| pair.overlap).collect();
            moves = self.membrane.part_overlaps(&self.skin, &overlaps);
            places.copy_from_slice(vertices);
            for (v, d) in &moves {
                places[*v as usize] += d;
            }
        }
        PartingOffsets::default()
    }

    fn posed_flesh<'a>(
        &'a self,
        pose: &'a Pose,
        (base, sway): (&'a [Vec3], &'a [Vec3]),
        shown: &'a DisplayedVertices,
    ) -> PosedFlesh<'a> {
        PosedFlesh {
            skin: &self.skin,
            pose,
            base,
            sway,
            // The cache holds the displayed vertices, so nothing is computed from the lattice.
            joints: 0.0,
            lifts: SkinLifts::ZERO,
            folds: &[],
            bounded: false,
            shown,
        }
    }

    /// Returns the proxies that may have come into other flesh of the body, ascending.
    fn find_near_proxies(&self, at: &ContactInstant) -> Vec<u32> {
        if !self.options.self_contact {
            return Vec::new();
        }
        let swept = at.bodies.iter().map(|&posed| SweptBody {
            from: posed,
            to: None,
            itself: true,
        });
        let found = broad::find_candidates(&swept.collect::<Vec<_>>());
        let mut proxies: Vec<u32> = found.candidates.iter().map(|c| c.proxy).collect();
        proxies.dedup();
        proxies
    }

    /// Finds the overlaps of the body with itself.
    fn find_self_overlaps(&self, vertices: &[Vec3], near: &[u32]) -> Vec<OverlapTouch> {
        if near.is_empty() {
            return Vec::new();
        }
        let thickness = self.options.thickness;
        let found = self
            .bounding
            .find_overlaps(&self.skin, vertices, near, thickness);
        let pair = |overlap: SkinOverlap| {
            let touch = Touch {
                body: 0,
                proxy: overlap.proxy,
                other: 0,
                target: overlap.partner?,
                normal: overlap.normal,
                depth: -overlap.depth,
                side: 1.0,
            };
            Some(OverlapTouch { overlap, touch })
        };
        found.into_iter().filter_map(pair).collect()
    }

    /// Finds the overlaps of the body with colliders.
    fn find_collider_overlaps(&self, at: &ContactInstant) -> Vec<OverlapTouch> {
        let near = collider_candidates::find_collider_candidates(at, at, self.options.thickness);
        let mut found = Vec::new();
        collider_candidates::add_touches(&near, at, at, |_| None, &mut found);
        let pair = |touch: Touch| {
            let overlap = SkinOverlap {
                proxy: touch.proxy,
                point: self.skin.proxies()[touch.proxy as usize].point,
                partner: None,
                normal: touch.normal,
                depth: -self.pairing.reported_gap(&touch, at),
            };
            (overlap.depth > 0.0).then_some(OverlapTouch { overlap, touch })
        };
        found.into_iter().filter_map(pair).collect()
    }

    /// Reports pairs, each point with its last partner.
    fn contact_points(
        &self,
        mut pairs: Vec<OverlapTouch>,
        at: &ContactInstant,
    ) -> Arc<[ContactPoint]> {
        let key = |pair: &OverlapTouch| (pair.touch.proxy, pair.touch.other);
        pairs.reverse();
        pairs.sort_by_key(key);
        pairs.dedup_by_key(|pair| key(pair));
        let point = |OverlapTouch { touch, .. }: &OverlapTouch| ContactPoint {
            point: at.proxy_position(touch.body, touch.proxy),
            normal: touch.normal,
            gap: self.pairing.reported_gap(touch, at),
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
struct OverlapTouch {
    overlap: SkinOverlap,
    touch: Touch,
}

#[cfg(test)]
mod tests;
