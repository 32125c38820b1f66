// SPDX-License-Identifier: MIT OR Apache-2.0
//! All that can touch at one instant: bodies, followed by colliders in one numbering.

use super::placed_collider::PlacedCollider;
use super::posed_flesh::PosedFlesh;
use super::record::LiveContact;
use super::skin::SkinPoint;
use crate::Vec3;
use crate::contact::search::narrow::{self, Touch};

/// Bodies and colliders at one instant.
#[derive(Clone, Copy)]
pub(crate) struct ContactInstant<'a> {
    pub bodies: &'a [PosedFlesh<'a>],
    pub colliders: &'a [PlacedCollider<'a>],
}

impl<'a> ContactInstant<'a> {
    /// Returns the collider with a number, counted after the bodies; `None` for a body.
    pub fn collider(&self, other: u32) -> Option<&'a PlacedCollider<'a>> {
        (other as usize)
            .checked_sub(self.bodies.len())
            .map(|k| &self.colliders[k])
    }

    /// Returns the position of a point of a touched body or collider.
    pub fn target_position(&self, other: u32, target: &SkinPoint) -> Vec3 {
        match self.collider(other) {
            Some(collider) => collider.position(target),
            None => self.bodies[other as usize].point(target),
        }
    }

    /// Returns the position of a proxy.
    pub fn proxy_position(&self, body: u32, proxy: u32) -> Vec3 {
        let body = &self.bodies[body as usize];
        body.point(&body.skin.proxies()[proxy as usize].point)
    }

    /// Returns the surface vertex nearest to a point of a touched body or collider, by weight.
    pub fn vertex_at(&self, other: u32, target: &SkinPoint) -> u32 {
        match self.collider(other) {
            Some(collider) => collider.vertex_at(target),
            None => self.bodies[other as usize].skin.vertex_at(target),
        }
    }

    /// Updates a contact of the last step; `None` where its point has slid off or its normals no longer oppose.
    pub fn update_contact(&self, live: &LiveContact) -> Option<Touch> {
        let body = &self.bodies[live.body as usize];
        let place = self.proxy_position(live.body, live.proxy);
        let other = self.bodies.get(live.other as usize)?;
        let target = narrow::slide_point(other, &live.target, place)?;
        let normal = other.normal(&target);
        let own = body.normal(&body.skin.proxies()[live.proxy as usize].point);
        let opposed = normal != Vec3::zeros() && own.dot(&normal) < narrow::MAX_NORMAL_COSINE;
        opposed.then_some(Touch {
            body: live.body,
            proxy: live.proxy,
            other: live.other,
            target,
            normal,
            depth: 0.0,
            side: 1.0,
        })
    }
}
