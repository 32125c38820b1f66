// SPDX-License-Identifier: MIT OR Apache-2.0
//! Points of the skin carried to another character, with what a sculpted rig knows of each.

use super::skin::part_row;
use super::{Correspondence, CorrespondenceError};
use crate::Vec3;
use crate::body::Body;
use crate::geometry::matrix::cofactor;
use crate::lattice::Embedding;
use crate::range::is_position;

/// A point of the skin at rest.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SkinPoint {
    /// Position, metres.
    pub position: Vec3,
    /// Area of the skin for which it stands, m².
    pub area: f64,
    /// Number of the bone on whose skin it lies.
    pub bone: u32,
    /// Wished displacement in rest axes, metres.
    pub offset: Vec3,
}

/// The nearest skin to a point.
pub(super) struct SkinFoot {
    /// Vertices of the surface at the corners, and their shares.
    corners: [(u32, f64); 3],
    /// Triangle of the surface as given.
    face: u32,
    pub point: Vec3,
    /// Outward unit normal; zero on a flat triangle.
    pub normal: Vec3,
}

impl SkinFoot {
    pub fn new(body: &Body, p: Vec3) -> Self {
        let surface = body.surface();
        let found = surface.closest_point(p);
        let welded = surface.welded();
        let triangle = welded.triangles[found.triangle as usize];
        let given = surface.triangles()[welded.source[found.triangle as usize] as usize];
        // The welded triangle may be turned round: shares go by vertices.
        let share = |v: u32| {
            let own = welded.of_vertex[v as usize];
            let at = triangle.iter().position(|&w| w == own);
            (v, at.map_or(0.0, |k| found.barycentric[k]))
        };
        let [a, b, c] = triangle.map(|v| welded.vertices[v as usize]);
        let cross = (b - a).cross(&(c - a));
        Self {
            corners: given.map(share),
            face: welded.source[found.triangle as usize],
            point: found.point,
            normal: cross.try_normalize(f64::MIN_POSITIVE).unwrap_or_default(),
        }
    }

    /// Returns the lattice vertices of the point, and their weights.
    pub fn row(&self, embedding: &Embedding) -> Vec<(usize, f64)> {
        let mut row: Vec<(usize, f64)> = Vec::new();
        for (v, share) in self.corners {
            for (a, weight) in embedding.row(v as usize) {
                match row.iter_mut().find(|entry| entry.0 == a) {
                    Some(entry) => entry.1 += share * weight,
                    None => row.push((a, share * weight)),
                }
            }
        }
        row
    }

    /// Returns the corners of the triangle: the share of each, and its lattice vertices with their weights.
    pub fn corner_rows(&self, embedding: &Embedding) -> Vec<(f64, Vec<(usize, f64)>)> {
        let near = self.corners.iter().filter(|(_, share)| *share > 0.0);
        near.map(|&(v, share)| (share, embedding.row(v as usize).collect()))
            .collect()
    }

    /// Returns the triangle of the surface as given, and the shares of its corners.
    pub fn face(&self) -> (u32, [f64; 3]) {
        let shares = self.corners.map(|(_, share)| share.max(0.0));
        let whole: f64 = shares.iter().sum();
        (self.face, shares.map(|share| share / whole))
    }

    /// Returns the skin weights of the point.
    pub fn weights(&self, body: &Body) -> Vec<(u32, f64)> {
        let of = |(v, share): (u32, f64)| {
            body.skin()
                .row(v as usize)
                .map(move |(b, w)| (b, w * share))
        };
        self.corners.into_iter().flat_map(of).collect()
    }

    /// Returns the mean of a value at the surface's vertices.
    pub fn mean(&self, values: &[Vec3]) -> Vec3 {
        self.corners
            .iter()
            .map(|&(v, share)| values[v as usize] * share)
            .sum()
    }
}

impl Correspondence {
    /// Carries points of the source's skin forward: to the nearest skin of the same part of the target. With J the
    /// derivative of the map there, offsets become J times them, areas grow as the map stretches the skin, and bones are
    /// those of the skin there.
    ///
    /// # Errors
    /// A point that is not finite, or on a bone without a partner or beyond the skeleton.
    pub fn carry_points(
        &self,
        points: &[SkinPoint],
    ) -> Result<Vec<SkinPoint>, CorrespondenceError> {
        let each = points.iter().enumerate();
        each.map(|(index, point)| self.carry_point(index, point))
            .collect()
    }

    fn carry_point(
        &self,
        index: usize,
        point: &SkinPoint,
    ) -> Result<SkinPoint, CorrespondenceError> {
        let numbers = is_position(&point.position) && is_position(&point.offset);
        if !(numbers && point.area.is_finite()) {
            return Err(CorrespondenceError::PointNonFinite { point: index });
        }
        let partner = self.partner(point.bone)?;
        let foot = SkinFoot::new(&self.source, point.position);
        let gradient = self.map.gradient(foot.row(&self.embedding).into_iter());
        let aim = foot.mean(&self.places) + gradient * (point.position - foot.point);
        let parts = part_row([(point.bone, 1.0)].into_iter(), &self.maps.pair_of[0]);
        let hit = self.skin.nearest_of_parts(aim, &parts);
        let position = hit.map_or(aim, |hit| hit.point);
        Ok(SkinPoint {
            position,
            area: point.area * (cofactor(&gradient) * foot.normal).norm(),
            bone: self.bone_at(position, partner),
            offset: gradient * point.offset,
        })
    }

    /// Returns the bone of the target that carries its skin at a point: the partner of the source's bone where that carries
    /// nearly as much as any, as borders of parts differ from artist to artist.
    fn bone_at(&self, position: Vec3, partner: u32) -> u32 {
        /// Share of the largest weight from which the partner stands for the skin.
        const NEAR_SHARE: f64 = 0.5;
        let mut weights = vec![0.0; self.target.skeleton().len()];
        for (bone, weight) in SkinFoot::new(&self.target, position).weights(&self.target) {
            weights[bone as usize] += weight;
        }
        let most =
            (0..weights.len()).max_by(|&a, &b| weights[a].total_cmp(&weights[b]).then(b.cmp(&a)));
        match most {
            Some(most) if weights[partner as usize] < NEAR_SHARE * weights[most] => most as u32,
            _ => partner,
        }
    }

    /// Carries turns of bones against their parents, rotation vectors in rest axes: each is turned as its bone is to its
    /// partner, so that an elbow bends about the other elbow's axis. Turns of bones that have no partner of their own are
    /// left out.
    pub fn carry_turns(&self, turns: &[(u32, Vec3)]) -> Vec<(u32, Vec3)> {
        let carry = |&(bone, turn): &(u32, Vec3)| {
            let pair = self.pairs.iter().find(|pair| pair.source == bone)?;
            Some((pair.target, self.maps.maps[bone as usize].rotation * turn))
        };
        turns.iter().filter_map(carry).collect()
    }

    /// Returns the partner of a bone of the source, or that of the nearest bone above it that has one.
    pub(super) fn partner(&self, bone: u32) -> Result<u32, CorrespondenceError> {
        let map = self.maps.maps.get(bone as usize);
        let partner = map.and_then(|map| map.partner).map(|b| b as u32);
        let names = self.source.skeleton().names();
        partner.ok_or_else(|| CorrespondenceError::NoPartner {
            name: names
                .get(bone as usize)
                .cloned()
                .unwrap_or_else(|| bone.to_string()),
        })
    }
}
