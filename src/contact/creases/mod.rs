// SPDX-License-Identifier: MIT OR Apache-2.0
//! The crease method, for comparison: collisions in order of entry, held by equalities. `[capell2006, §3.4]`
//!
//! At the beginning of a step, on the skin at the end of the last one:
//!
//! 1. Vertices of the pairs P (`fronts`) that have come through triangles join the collision list, behind earlier ones. Each keeps the barycentric
//!    coordinates at which it came through.
//! 2. Vertices that are exterior (χ > 0) leave the list.
//! 3. P becomes the seeds and the neighbourhoods of the list.
//!
//! The step without contact is then displaced so that the first n_a of the list move no farther along the normal. n_a is the smallest number with
//! which all later ones become exterior. The released method holds the vertices that push instead (`equalities`). A vertex that came in before it was
//! found stays in and moves no deeper along that normal. Rows are derivatives of the displayed skin along the normal of the triangle at the predicted
//! end of the step.

mod equalities;
mod fronts;

use super::posed_flesh::{DisplayedVertices, PosedFlesh, SwayDerivatives};
use super::record::{are_weights, to_index};
use super::skin::{ContactSkin, SkinPoint};
use super::{ContactError, ContactPoint, ContactResponse, FlexibleBody};
use crate::contact::response::shorten::displace_sway;
use crate::{Mat3, Vec3};
use equalities::{ActiveSet, CreaseRow, Equalities};
use fronts::{signed_distance, triangle_normal, vertex_point};
use std::collections::BTreeSet;

/// An element of the collision list.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Crease {
    pub vertex: u32,
    /// Point at which it came through; fixed while it is listed.
    pub target: SkinPoint,
}

impl Crease {
    /// Number of values that store one element.
    pub const NUMBER_COUNT: usize = 5;

    /// Returns the values that store the element.
    pub fn numbers(&self) -> [f64; Self::NUMBER_COUNT] {
        let [a, b, c] = self.target.weights;
        let [vertex, triangle] = [self.vertex, self.target.triangle].map(f64::from);
        [vertex, triangle, a, b, c]
    }

    /// Reads stored values; `None` where they do not fit the skin.
    pub fn from_numbers(numbers: &[f64], skin: &ContactSkin) -> Option<Self> {
        let &[vertex, triangle, a, b, c] = numbers else {
            return None;
        };
        let vertex = to_index(vertex, skin.body().surface().vertices().len())?;
        let triangle = to_index(triangle, skin.triangles())?;
        let weights = [a, b, c];
        vertex_point(skin, vertex)?;
        (are_weights(&weights) && skin.is_skin(triangle)).then_some(Self {
            vertex,
            target: SkinPoint { triangle, weights },
        })
    }
}

/// The collision list and the seeds of one body.
pub(crate) struct Creases {
    released: bool,
    /// Collision list C, in order of entry.
    list: Vec<Crease>,
    /// Seeds D, pairs of vertices.
    seeds: Vec<[u32; 2]>,
    points: Vec<ContactPoint>,
}

impl Creases {
    /// Starts with an empty list; `None` for a response that is not a crease method.
    pub fn new(response: ContactResponse) -> Option<Self> {
        let released = match response {
            ContactResponse::Complementarity => return None,
            ContactResponse::Creases => false,
            ContactResponse::ReleasedCreases => true,
        };
        Some(Self {
            released,
            list: Vec::new(),
            seeds: Vec::new(),
            points: Vec::new(),
        })
    }

    /// Returns the active elements at the end of the last step.
    pub fn points(&self) -> &[ContactPoint] {
        &self.points
    }

    pub fn list(&self) -> &[Crease] {
        &self.list
    }

    /// Takes over a stored list.
    pub fn restore(&mut self, list: Vec<Crease>) {
        self.list = list;
        self.points.clear();
    }

    pub fn seeds(&self) -> &[[u32; 2]] {
        &self.seeds
    }

    /// Sets pairs of vertices to be tested in every step from now on.
    ///
    /// # Errors
    /// A pair that does not name two different vertices of skin that may touch.
    pub fn set_seeds(
        &mut self,
        seeds: &[[u32; 2]],
        skin: &ContactSkin,
    ) -> Result<(), ContactError> {
        let count = skin.body().surface().vertices().len();
        let skinned = |v: u32| (v as usize) < count && vertex_point(skin, v).is_some();
        let wrong = |&[i, j]: &[u32; 2]| i == j || !skinned(i) || !skinned(j);
        if let Some(index) = seeds.iter().position(wrong) {
            return Err(ContactError::Seed { index });
        }
        self.seeds = seeds.to_vec();
        Ok(())
    }

    /// Returns the displacements of the free nodes at the end of a step, metres; `None` where nothing is held.
    pub fn step(
        &mut self,
        before: &PosedFlesh,
        after: &PosedFlesh,
        flesh: &mut dyn FlexibleBody,
    ) -> Option<Vec<Vec3>> {
        self.points.clear();
        self.update_list(before);
        if self.list.is_empty() {
            return None;
        }
        let row = |crease: &Crease| build_row(crease, before, after);
        let rows: Vec<CreaseRow> = self.list.iter().map(row).collect();
        let free = after.skin.body().pattern().vertex_of_node().len();
        let equalities = Equalities::new(&rows, free, flesh);
        let held = match self.released {
            true => equalities.hold_pushing(),
            false => equalities.hold_first(),
        }?;
        if held.rows.is_empty() {
            return None;
        }
        let moved = equalities.displacements(&held, flesh);
        self.report(&held, after, &moved);
        Some(moved)
    }

    /// Updates the list on the skin at the end of the last step.
    fn update_list(&mut self, now: &PosedFlesh) {
        let live = self.list.iter().map(|c| (c.vertex, c.target));
        let pairs = fronts::test_pairs(now.skin, &self.seeds, live);
        let mut found = fronts::penetrations(now, &pairs);
        let exterior = |c: &Crease| signed_distance(now, c.vertex, &c.target) > 0.0;
        self.list.retain(|c| !exterior(c));
        let listed: BTreeSet<u32> = self.list.iter().map(|c| c.vertex).collect();
        found.retain(|p| !listed.contains(&p.vertex));
        // Among vertices that came in the same step the deepest came first.
        found.sort_by(|a, b| a.value.total_cmp(&b.value));
        self.list.extend(found.iter().map(|p| Crease {
            vertex: p.vertex,
            target: p.target,
        }));
    }

    fn report(&mut self, held: &ActiveSet, after: &PosedFlesh, moved: &[Vec3]) {
        let mut sway = Vec::new();
        displace_sway(after, moved, &mut sway);
        let mut shown = DisplayedVertices::default();
        shown.clear(after.skin.body().surface().vertices().len());
        let end = PosedFlesh {
            sway: &sway,
            shown: &shown,
            ..*after
        };
        for (&j, &force) in held.rows.iter().zip(&held.multipliers) {
            let crease = &self.list[j];
            let n = triangle_normal(after, crease.target.triangle);
            self.points.push(ContactPoint {
                point: end.vertex(crease.vertex),
                normal: n,
                gap: signed_distance(&end, crease.vertex, &crease.target),
                force: n * force,
                body: 0,
                vertex: crease.vertex,
                other_body: 0,
                other_vertex: end.skin.vertex_at(&crease.target),
                kinematic: false,
            });
        }
    }
}

/// Builds the row of an element: χ at the predicted end of a step, its change in the step, and its derivatives with respect to the free nodes.
fn build_row(crease: &Crease, before: &PosedFlesh, after: &PosedFlesh) -> CreaseRow {
    let n = triangle_normal(after, crease.target.triangle);
    let apart =
        |body: &PosedFlesh| n.dot(&(body.vertex(crease.vertex) - body.point(&crease.target)));
    let mut slopes = SwayDerivatives::new();
    if let Some(vertex) = vertex_point(after.skin, crease.vertex) {
        after.add_derivatives(&vertex, 1.0, &mut slopes);
        after.add_derivatives(&crease.target, -1.0, &mut slopes);
    }
    let pattern = after.skin.body().pattern();
    let entry = |(v, slope): &(u32, Mat3)| {
        let node = pattern.node_of_vertex(*v as usize)?;
        Some((node, slope.tr_mul(&n)))
    };
    CreaseRow {
        entries: slopes.iter().filter_map(entry).collect(),
        gap: apart(after),
        motion: apart(after) - apart(before),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contact::tests::ShapedBar;
    use std::f64::consts::TAU;

    /// Builds a bar, 0.1 thick, rolled up by 1.2 turns, each `apart` outside of the one before.
    fn rolled_bar(apart: f64) -> ShapedBar {
        let place = |x: &Vec3| {
            let angle = (x.z / 1.6 - 0.5) * 1.2 * TAU;
            let out = 1.6 / (1.2 * TAU) + x.x + apart * angle / TAU;
            Vec3::new(out * angle.cos(), x.y, out * angle.sin())
        };
        ShapedBar::new(place, 0.0)
    }

    /// Returns all pairs of vertices a turn apart at rest.
    fn all_pairs(skin: &ContactSkin) -> Vec<[u32; 2]> {
        let count = skin.body().surface().vertices().len() as u32;
        let skinned: Vec<u32> = (0..count)
            .filter(|&v| vertex_point(skin, v).is_some())
            .collect();
        let mut pairs = Vec::new();
        for &i in &skinned {
            for &j in skinned.iter().filter(|&&j| j > i) {
                if (skin.rest_vertex(i).z - skin.rest_vertex(j).z).abs() > 1.2 {
                    pairs.push([i, j]);
                }
            }
        }
        pairs
    }

    fn creases() -> Creases {
        Creases::new(ContactResponse::Creases).unwrap()
    }

    fn vertices(creases: &Creases) -> Vec<u32> {
        creases.list.iter().map(|c| c.vertex).collect()
    }

    /// Creases already in the list stay first and unchanged, new ones follow by value, and all leave once nothing
    /// overlaps.
    #[test]
    fn update_list_keeps_listed_creases_first() {
        let (close, apart) = (rolled_bar(0.095), rolled_bar(0.12));
        let mut every = creases();
        every
            .set_seeds(&all_pairs(&close.skin), &close.skin)
            .unwrap();
        every.update_list(&close.posed_flesh());
        assert!(every.list.len() > 10, "{}", every.list.len());
        let mut some = creases();
        some.set_seeds(every.seeds(), &close.skin).unwrap();
        some.list = every.list.iter().rev().take(5).copied().collect();
        // The target is not the point at which it would be found now.
        some.list[2].target.weights = [0.2, 0.3, 0.5];
        let first = some.list.clone();
        some.update_list(&close.posed_flesh());
        assert_eq!(some.list[..5], first[..]);
        assert_eq!(some.list.len(), every.list.len());
        let values: Vec<f64> = some.list[5..]
            .iter()
            .map(|c| signed_distance(&close.posed_flesh(), c.vertex, &c.target))
            .collect();
        assert!(values.windows(2).all(|w| w[0] < w[1] + 1e-12) && values.iter().all(|&x| x < 0.0));
        let before = some.list.clone();
        some.update_list(&close.posed_flesh());
        assert_eq!(some.list, before);
        some.update_list(&apart.posed_flesh());
        assert!(some.list.is_empty());
    }

    /// A front that starts at one seed finds the same creases as a search over all pairs.
    #[test]
    fn front_from_one_seed_finds_all() {
        let close = rolled_bar(0.095);
        let mut every = creases();
        every
            .set_seeds(&all_pairs(&close.skin), &close.skin)
            .unwrap();
        every.update_list(&close.posed_flesh());
        let first = &every.list[0];
        let seed = [first.vertex, close.skin.vertex_at(&first.target)];
        let mut grown = creases();
        grown.set_seeds(&[seed], &close.skin).unwrap();
        grown.update_list(&close.posed_flesh());
        let begun = grown.list.len();
        for _ in 0..60 {
            grown.update_list(&close.posed_flesh());
        }
        let (mut all, mut reached) = (vertices(&every), vertices(&grown));
        all.sort_unstable();
        reached.sort_unstable();
        assert!(begun < all.len());
        assert_eq!(reached, all);
        let mut nowhere = creases();
        nowhere.update_list(&close.posed_flesh());
        assert!(nowhere.list.is_empty());
    }

    /// A crease read from its numbers is unchanged; numbers and seeds of another skin are refused.
    #[test]
    fn crease_numbers_round_trip() {
        let close = rolled_bar(0.095);
        let mut creases = creases();
        creases
            .set_seeds(&all_pairs(&close.skin), &close.skin)
            .unwrap();
        creases.update_list(&close.posed_flesh());
        for crease in &creases.list {
            let numbers = crease.numbers();
            assert_eq!(Crease::from_numbers(&numbers, &close.skin), Some(*crease));
            for (at, wrong) in [(0, 1e9), (0, 0.5), (1, -1.0), (2, 3.0), (4, f64::NAN)] {
                let mut other = numbers;
                other[at] = wrong;
                assert_eq!(Crease::from_numbers(&other, &close.skin), None);
            }
        }
        let count = close.skin.body().surface().vertices().len() as u32;
        for wrong in [[0, count], [3, 3], [u32::MAX, 0]] {
            let seeds = [creases.seeds()[0], wrong];
            let refused = creases.set_seeds(&seeds, &close.skin).unwrap_err();
            assert_eq!(refused, ContactError::Seed { index: 1 });
        }
        assert!(Creases::new(ContactResponse::Complementarity).is_none());
    }
}
