// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bones that lie in flesh or colliders. Contact moves flesh, not the bones that carry it: they stay where they were animated.
//!
//! The lattice vertices inside of the flesh that a bone holds stand for it. Their depth in colliders is measured directly, in flesh at the matching
//! position at rest.

use crate::Vec3;
use crate::contact::bone_points::BonePoint;
use crate::contact::placed_collider::PlacedCollider;
use crate::contact::search::narrow::FLAT_DETERMINANT;
use crate::contact::skin::ContactSkin;
use crate::geometry::aabb;
use crate::lattice::Corners;
use crate::range::is_storable;
use std::collections::BTreeMap;

/// Depth below which a bone does not count as buried, in sizes: a millimetre of a person, invisible.
const MIN_BURIED_DEPTH: f64 = 5e-4;
/// Distance at rest, in cells and in depths of the bone, up to which flesh of the same body around a bone is its own. A bend
/// moves flesh of the bone's own cell; two depths reach from the bone to its skin and as far again.
const OWN_FLESH_CELLS: f64 = 1.0;
const OWN_FLESH_DEPTHS: f64 = 2.0;
/// Share of a body's bones inside a collider from which on it is a room: hardly more than half of a body lies in an object that it touches. And the
/// number of points tested, which gives the share to a twentieth.
const MIN_ROOM_SHARE: f64 = 0.8;
const ROOM_TEST_POINTS: usize = 64;

/// A bone of a body that lies in flesh or in a collider.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct BuriedBone {
    /// Index of the buried bone.
    pub bone: u32,
    /// Index of the body in whose flesh it lies; colliders follow the bodies.
    pub other: u32,
    /// Bone whose flesh is there, for a body; 0 for a collider.
    pub partner: u32,
    /// Depth, metres.
    pub depth: f64,
}

impl BuriedBone {
    /// Returns whether stored values are valid for a body with `bones` bones.
    pub(crate) fn is_valid(&self, bones: usize) -> bool {
        (self.bone as usize) < bones && self.depth > 0.0 && is_storable(self.depth)
    }
}

/// A body with its present lattice.
#[derive(Clone, Copy)]
pub(crate) struct StandingBody<'a> {
    pub skin: &'a ContactSkin,
    /// Lattice vertices, `[nodes]`, metres, world axes.
    pub places: &'a [Vec3],
    /// `true`: the body may touch itself.
    pub itself: bool,
}

impl StandingBody<'_> {
    fn position(&self, point: &BonePoint) -> Vec3 {
        self.places[point.node as usize]
    }

    /// Returns whether the body stands in a collider that encloses it: a room.
    pub fn is_in_room(&self, collider: &PlacedCollider) -> bool {
        let all = self.skin.bone_points();
        let Some((lo, hi)) = collider.bounds() else {
            return false;
        };
        let every = all.len().div_ceil(ROOM_TEST_POINTS).max(1);
        let tested: Vec<Vec3> = all
            .iter()
            .step_by(every)
            .map(|p| self.position(p))
            .collect();
        let least = (MIN_ROOM_SHARE * tested.len() as f64).ceil() as usize;
        let is_in = |x: &&Vec3| is_in_box(x, &(lo, hi));
        tested.iter().filter(is_in).count() >= least.max(1)
            && collider.count_enclosed(&tested) >= least
    }
}

fn is_in_box(x: &Vec3, (lo, hi): &(Vec3, Vec3)) -> bool {
    (0..3).all(|k| x[k] >= lo[k] && x[k] <= hi[k])
}

/// Finds the bones of each body that lie in other flesh or in colliders, in order. Sheets have no inside.
pub(crate) fn find_buried_bones(
    bodies: &[StandingBody],
    colliders: &[PlacedCollider],
) -> Vec<Vec<BuriedBone>> {
    let boxes: Vec<ClusterBoxes> = bodies.iter().map(ClusterBoxes::new).collect();
    let of = |(i, body): (usize, &StandingBody)| {
        let least = MIN_BURIED_DEPTH * body.skin.body().size();
        let mut deepest: BTreeMap<(u32, u32, u32), f64> = BTreeMap::new();
        let mut add = |bone, other, partner, depth: f64| {
            if depth > least {
                let known = deepest.entry((bone, other, partner)).or_insert(depth);
                *known = known.max(depth);
            }
        };
        for point in body.skin.bone_points() {
            let x = body.position(point);
            for (j, (other, boxes)) in bodies.iter().zip(&boxes).enumerate() {
                if i == j && !body.itself {
                    continue;
                }
                let own = (i == j).then_some(point);
                for (partner, depth) in boxes.covering_bones(other, own, &x) {
                    add(point.bone, j as u32, partner, depth);
                }
            }
            for (other, collider) in (bodies.len() as u32..).zip(colliders) {
                add(point.bone, other, 0, collider.depth(&x, i));
            }
        }
        let bone = |((bone, other, partner), depth)| BuriedBone {
            bone,
            other,
            partner,
            depth,
        };
        deepest.into_iter().map(bone).collect()
    };
    bodies.iter().enumerate().map(of).collect()
}

/// Boxes around the clusters of a body's cells.
struct ClusterBoxes(Vec<(Vec3, Vec3)>);

impl ClusterBoxes {
    fn new(body: &StandingBody) -> Self {
        let cells = body.skin.body().lattice().cells();
        let clusters = body.skin.clusters().iter();
        let of = |cluster: &Vec<u32>| {
            let corners = cluster.iter().flat_map(|&c| cells[c as usize].corners());
            aabb::bounds(corners.map(|&a| body.places[a as usize]))
        };
        Self(clusters.map(of).collect())
    }

    /// Returns the bones whose flesh covers a position, with its depth, metres. `own`: the bone point of the same body at that position, whose own
    /// flesh does not count.
    fn covering_bones<'a>(
        &'a self,
        body: &'a StandingBody,
        own: Option<&'a BonePoint>,
        x: &'a Vec3,
    ) -> impl Iterator<Item = (u32, f64)> + 'a {
        let clusters = body.skin.clusters().iter().zip(&self.0);
        let near = clusters.filter(|(_, bounds)| is_in_box(x, bounds));
        let cells = near.flat_map(|(cluster, _)| cluster);
        cells.filter_map(move |&cell| depth_in_cell(body, cell, own, x))
    }
}

/// Returns the bone whose flesh a cell is, and the depth of a position in it, metres; `None` outside or in flesh of its own.
fn depth_in_cell(
    body: &StandingBody,
    number: u32,
    own: Option<&BonePoint>,
    x: &Vec3,
) -> Option<(u32, f64)> {
    let of = body.skin.body();
    let lattice = of.lattice();
    let cell = &lattice.cells()[number as usize];
    let corners = cell.corners();
    if own.is_some_and(|point| corners.contains(&point.node)) {
        return None;
    }
    let places = corners.iter().map(|&a| body.places[a as usize]);
    if !is_in_box(x, &aabb::bounds(places.clone())) {
        return None;
    }
    let posed = &places.collect::<Corners>();
    let rest = &lattice.corners(number);
    if cell.volume(posed) < FLAT_DETERMINANT * cell.volume(rest) {
        return None;
    }
    let local = cell.local_coordinates(posed, *x)?;
    if cell.inside_margin(local) < -1e-9 {
        return None;
    }
    let found = cell.position(rest, local);
    let depth = -body.skin.rest_distance(found);
    let element = of.basis().element_at(number, found);
    let weighs = of.cell_weights().row(element as usize);
    let (bone, _) = weighs.max_by(|a, b| a.1.total_cmp(&b.1))?;
    if let Some(point) = own {
        let apart = (found - lattice.vertices()[point.node as usize]).norm();
        let is_beside = |a, b| body.skin.bone_above(a) == Some(b);
        let is_own =
            apart <= (OWN_FLESH_CELLS * body.skin.cell_size()).max(OWN_FLESH_DEPTHS * depth);
        let beside =
            bone == point.bone || is_beside(bone, point.bone) || is_beside(point.bone, bone);
        // Adjacent bones may bend into each other at their joint.
        if is_own || beside {
            return None;
        }
    }
    Some((bone, depth))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contact::collider_span::{ColliderSpan, MovingCollider, build_rest_tree};
    use crate::contact::tests::ShapedBar;
    use crate::contact::{Collider, ColliderMotion};
    use crate::surface::Surface;
    use crate::surface::shapes::cuboid;
    use std::sync::Arc;

    fn standing_body<'a>(flesh: &'a ShapedBar, itself: bool) -> StandingBody<'a> {
        StandingBody {
            skin: &flesh.skin,
            places: &flesh.base,
            itself,
        }
    }

    fn moving_collider(collider: Collider) -> MovingCollider {
        let collider = Arc::new(collider);
        let tree = build_rest_tree(&collider);
        MovingCollider::new(
            &collider,
            tree.as_ref(),
            &ColliderSpan::between_entries(0, 0),
        )
    }

    fn floor(height: f64) -> MovingCollider {
        moving_collider(Collider::plane(Vec3::x() * height, Vec3::x()).unwrap())
    }

    /// Builds a box about the bar's middle with half edges `half`, still or deforming.
    fn hall(half: Vec3, deforming: bool) -> MovingCollider {
        let shape = cuboid(half);
        let places = shape.vertices.iter().map(|x| x + Vec3::z() * 0.8);
        let places: Vec<Vec3> = places.collect();
        let surface = Arc::new(Surface::new(places.clone(), shape.triangles).unwrap());
        moving_collider(match deforming {
            true => Collider::mesh(surface, ColliderMotion::Deforming(vec![places])).unwrap(),
            false => Collider::mesh(surface, ColliderMotion::Still).unwrap(),
        })
    }

    /// Bones below a floor are buried as deep as they lie under it.
    #[test]
    fn buried_depth_below_floor() {
        let bar = ShapedBar::new(|x| *x, 0.0);
        let at = |height: f64| {
            let floor = floor(height);
            find_buried_bones(&[standing_body(&bar, true)], &[floor.place_at(1.0)]).remove(0)
        };
        assert!(at(-0.06).is_empty());
        let (shallow, deep) = (at(0.02), at(0.05));
        assert_eq!(shallow.iter().map(|b| b.bone).collect::<Vec<_>>(), [0, 1]);
        for (a, b) in shallow.iter().zip(&deep) {
            assert!(a.other == 1 && a.depth >= 0.02 - 1e-12);
            assert!((b.depth - a.depth - 0.03).abs() < 1e-12);
        }
    }

    /// Bones of one body that lie in the flesh of another are found, in both bodies.
    #[test]
    fn buried_in_other_body() {
        let (here, there) = (
            ShapedBar::new(|x| *x, 0.0),
            ShapedBar::new(|x| x + Vec3::x() * 0.3, 0.0),
        );
        let all = |other| {
            find_buried_bones(
                &[standing_body(&here, true), standing_body(other, true)],
                &[],
            )
        };
        assert!(all(&there).concat().is_empty());
        let same = all(&here);
        for (body, found) in same.iter().enumerate() {
            assert!(found.iter().all(|b| b.other as usize == 1 - body));
            assert!([0, 1].iter().all(|bone| {
                let mut own = found.iter().filter(|b| b.bone == *bone);
                own.any(|b| b.partner == *bone && b.depth > 0.02)
            }));
        }
    }

    /// A body whose joint is folded shut has no buried bones.
    #[test]
    fn buried_ignores_folded_joint() {
        let fold = |x: &Vec3| match x.z > 0.8 {
            true => Vec3::new(-x.x, x.y, 1.6 - x.z),
            false => *x,
        };
        let bar = ShapedBar::new(fold, 0.0);
        assert!(
            find_buried_bones(&[standing_body(&bar, true)], &[])
                .concat()
                .is_empty()
        );
    }

    /// A collider is a room for a body only if it encloses enough of it; a floor never is.
    #[test]
    fn room_must_enclose_body() {
        let bar = ShapedBar::new(|x| *x, 0.0);
        for deforming in [false, true] {
            let is_room = |half: Vec3| {
                let hall = hall(half, deforming);
                standing_body(&bar, true).is_in_room(&hall.place_at(1.0))
            };
            assert!(is_room(Vec3::new(0.4, 0.4, 1.0)));
            // These enclose too little of the body, or nothing.
            assert!(!is_room(Vec3::new(0.4, 0.4, 0.6)));
            assert!(!is_room(Vec3::new(0.4, 0.4, 0.01)));
        }
        assert!(!standing_body(&bar, true).is_in_room(&floor(1.0).place_at(1.0)));
    }

    /// A room is solid outside its walls for the body within it, and inside them for all other bodies.
    #[test]
    fn room_is_solid_outside() {
        for deforming in [false, true] {
            let half = Vec3::new(0.4, 0.5, 1.0);
            let room = hall(half, deforming).with_rooms(&[true]);
            let (room, solid) = (room.place_at(1.0), hall(half, deforming));
            let solid = solid.place_at(1.0);
            for x in [0.1, 0.39, 0.41, 0.7] {
                let point = Vec3::new(x, 0.05, 0.9);
                let depth = room.depth(&point, 0);
                assert!((depth - (x - 0.4)).abs() < 1e-12, "{x} {depth}");
                // For a body that came from outside it is no room.
                let other = room.depth(&point, 1);
                assert!(x > 0.4 && other < 0.0 || (other + depth).abs() < 1e-12);
                assert_eq!(other, solid.depth(&point, 0));
                let near = room.nearest_point(&point, 0, &|_, _, _| 1.0).unwrap();
                assert!((near.normal + Vec3::x()).norm() < 1e-9);
            }
        }
    }

    /// A stored bone is kept only if it exists and its depth is positive and finite.
    #[test]
    fn buried_bone_validity() {
        let good = BuriedBone {
            bone: 1,
            other: 0,
            partner: 0,
            depth: 0.01,
        };
        assert!(good.is_valid(2) && !good.is_valid(1));
        for depth in [0.0, -0.01, f64::NAN, f64::INFINITY] {
            assert!(!BuriedBone { depth, ..good }.is_valid(2), "{depth}");
        }
    }
}
