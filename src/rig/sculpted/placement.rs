// SPDX-License-Identifier: MIT OR Apache-2.0
//! Points of a sculpted rig on the skin of a body: each goes to the nearest skin of its bone, and its area to the corners there.

use super::correction::SkinGoal;
use super::sculpt::Sculpt;
use super::turns::bone_index;
use crate::Vec3;
use crate::body::Body;
use crate::geometry::aabb;
use crate::rig::RigError;
use crate::skeleton::{BonePoses, SkinWeights};
use crate::surface::closest_leaf;
use std::collections::BTreeMap;

/// Points of a sculpt on the vertices of a body's skin.
pub(in crate::rig) struct PlacedSculpt {
    /// Area of each vertex, m².
    areas: Vec<f64>,
    /// Wanted displacement of each vertex in rest axes, m.
    offsets: Vec<Vec3>,
}

/// Places sculpts on a body. The search of each bone's skin is prepared once.
pub(in crate::rig) struct SculptPlacement<'a> {
    body: &'a Body,
    /// Main bone of each vertex.
    main_bones: Vec<Option<u32>>,
    /// Skin of the bones that points were placed on.
    skins: BTreeMap<u32, BoneSkin<'a>>,
}

impl<'a> SculptPlacement<'a> {
    pub fn new(body: &'a Body) -> Self {
        let vertices = 0..body.embedding().len();
        Self {
            main_bones: vertices.map(|v| main_bone(body.skin(), v)).collect(),
            skins: BTreeMap::new(),
            body,
        }
    }

    /// Places the points of a sculpt.
    ///
    /// # Errors
    /// A bone that the body's skeleton lacks.
    pub fn place(&mut self, sculpt: &Sculpt) -> Result<PlacedSculpt, RigError> {
        let (body, vertices) = (self.body, self.main_bones.len());
        let mut placed = PlacedSculpt {
            areas: vec![0.0; vertices],
            offsets: vec![Vec3::zeros(); vertices],
        };
        for (index, name) in sculpt.bones().iter().enumerate() {
            let bone = bone_index(body.skeleton(), name)? as u32;
            let main_bones = &self.main_bones;
            let skin = self.skins.entry(bone);
            let skin = skin.or_insert_with(|| BoneSkin::new(body, main_bones, bone));
            for point in sculpt.points().iter().filter(|p| p.bone as usize == index) {
                if let Some((corners, shares)) = skin.closest(point.place) {
                    for (v, share) in corners.into_iter().zip(shares) {
                        placed.areas[v as usize] += share * point.area;
                        placed.offsets[v as usize] += point.offset * (share * point.area);
                    }
                }
            }
        }
        for (offset, area) in placed.offsets.iter_mut().zip(&placed.areas) {
            *offset = if *area > 0.0 {
                *offset / *area
            } else {
                Vec3::zeros()
            };
        }
        Ok(placed)
    }
}

impl PlacedSculpt {
    /// Returns the goal at a pose: offsets turn with the skin.
    pub fn goal(self, body: &Body, bones: &BonePoses) -> SkinGoal {
        let turned = |(v, offset): (usize, &Vec3)| bones.rotation(body.skin().row(v)) * offset;
        SkinGoal {
            offsets: self.offsets.iter().enumerate().map(turned).collect(),
            weights: self.areas,
            normals: Vec::new(),
        }
    }
}

/// Returns the bone with the most weight at a vertex of a skin, the first of equal ones; `None` without weights.
pub(in crate::rig) fn main_bone(skin: &SkinWeights, vertex: usize) -> Option<u32> {
    let more = |a: (u32, f64), b: (u32, f64)| if b.1 > a.1 { b } else { a };
    skin.row(vertex).reduce(more).map(|(bone, _)| bone)
}

/// Triangles of a body's skin with a corner that mainly follows one bone; all triangles if there are none.
struct BoneSkin<'a> {
    vertices: &'a [Vec3],
    triangles: Vec<[u32; 3]>,
    hierarchy: parry3d_f64::partitioning::Bvh,
}

impl<'a> BoneSkin<'a> {
    fn new(body: &'a Body, bones: &[Option<u32>], bone: u32) -> Self {
        let (vertices, all) = (body.surface().vertices(), body.surface().triangles());
        let own = |t: &&[u32; 3]| t.iter().any(|&v| bones[v as usize] == Some(bone));
        let mut triangles: Vec<[u32; 3]> = all.iter().filter(own).copied().collect();
        if triangles.is_empty() {
            triangles = all.to_vec();
        }
        let corners = |t: &[u32; 3]| t.map(|v| vertices[v as usize]);
        let boxes = triangles.iter().map(|t| aabb::bounds(corners(t)));
        let hierarchy = aabb::hierarchy(boxes);
        Self {
            vertices,
            triangles,
            hierarchy,
        }
    }

    /// Returns the corners of the nearest triangle, with the barycentric coordinates of its nearest point.
    fn closest(&self, place: Vec3) -> Option<([u32; 3], [f64; 3])> {
        let corners = |t: u32| self.triangles[t as usize].map(|v| self.vertices[v as usize]);
        let (t, _, shares) = closest_leaf(&self.hierarchy, &place, f64::INFINITY, corners)?;
        Some((self.triangles[t as usize], shares))
    }
}
