// SPDX-License-Identifier: MIT OR Apache-2.0
//! Contacts of bodies, kept from step to step.

use super::ContactSettings;
use super::collider::Collider;
use super::collider_span::{ColliderSpan, MovingCollider, build_rest_tree};
use super::instant::ContactInstant;
use super::placed_collider::PlacedCollider;
use super::posed_flesh::PosedFlesh;
use super::record::{ContactPoint, LiveContact};
use crate::contact::response::cells;
use crate::contact::response::complementarity::{ConstraintSet, ProjectedGaussSeidel};
use crate::contact::response::compliance::{ComplianceColumns, FlexibleBody};
use crate::contact::response::rows::{PairParameters, RECOVERY_SPEED, tangents};
use crate::contact::response::shorten::DisplacementLimiter;
use crate::contact::search::broad;
use crate::contact::search::buried::{self, BuriedBone, StandingBody};
use crate::contact::search::collider_candidates::{self, ColliderCandidate};
use crate::contact::search::narrow::{NarrowPhase, Touch};
use crate::contact::search::path::SweptBody;
use crate::{Mat3, Vec3};
use parry3d_f64::partitioning::Bvh;
use smallvec::SmallVec;
use std::sync::Arc;

/// Gap below which contacts without force are kept, in sizes: they push again before they overlap. Half and twice the value give the same depths.
const MAX_IDLE_GAP: f64 = 0.002;
/// Gap below which contacts that pushed are kept, in cells, so that a contact that opens for a step keeps its force. Half and twice the value give
/// the same depths.
const MAX_PUSHING_GAP: f64 = 0.1;
/// Depth beyond which contacts that the search does not find again are dropped, in cells: the search finds shallower ones, so these are not real.
/// Half and twice the value give the same depths.
const MAX_FORMER_DEPTH: f64 = 0.25;

/// Contacts among bodies, and of bodies with colliders. All calls take bodies and colliders in the same order.
pub(crate) struct Contacts {
    pairing: PairParameters,
    colliders: Vec<(Arc<Collider>, Option<Arc<Bvh>>)>,
    live: Vec<LiveContact>,
    /// For each collider and body, whether the collider is a room of the body; empty: no collider is a room.
    rooms: Vec<Vec<bool>>,
    /// Colliders over the present frame, and the points that may touch them.
    moving: Vec<MovingCollider>,
    collider_candidates: Vec<ColliderCandidate>,
    /// Cells of each body that are kept from inversion in the present frame, ascending.
    kept_cells: Vec<Vec<u32>>,
    /// Search in the present frame, and its touches in the present step.
    narrow: NarrowPhase,
    touches: Vec<Touch>,
    constraints: ConstraintSet,
    compliances: Vec<ComplianceColumns>,
    rows: ProjectedGaussSeidel,
    points: Vec<ContactPoint>,
    held_cells: Vec<usize>,
    /// Forces of rows on the free nodes of each body in the last step, N, world axes; and whether there were rows.
    pushes: Vec<Vec<Vec3>>,
    pushed: bool,
    /// `live`, `pushes` and `pushed` before the last step.
    former: (Vec<LiveContact>, Vec<Vec<Vec3>>, bool),
    scratch: Scratch,
}

/// Working data of a step, kept for its memory.
#[derive(Default)]
struct Scratch {
    /// Displacements of each body's free nodes by the forces under which the step was proposed, metres.
    proposed: Vec<Vec<Vec3>>,
    /// Number of free nodes of each body, and the nodes that constraints push.
    free: Vec<usize>,
    nodes: Vec<Vec<u32>>,
    shortening: DisplacementLimiter,
}

impl Contacts {
    /// Creates the state without contacts; each body has its own options.
    pub fn new(options: &[ContactSettings], colliders: &[Arc<Collider>]) -> Self {
        let ready = |c: &Arc<Collider>| (c.clone(), build_rest_tree(c));
        Self {
            pairing: PairParameters::new(options),
            colliders: colliders.iter().map(ready).collect(),
            live: Vec::new(),
            rooms: Vec::new(),
            moving: Vec::new(),
            collider_candidates: Vec::new(),
            kept_cells: Vec::new(),
            narrow: NarrowPhase::default(),
            touches: Vec::new(),
            constraints: ConstraintSet::default(),
            compliances: Vec::new(),
            rows: ProjectedGaussSeidel::default(),
            points: Vec::new(),
            held_cells: Vec::new(),
            pushes: Vec::new(),
            pushed: false,
            former: Default::default(),
            scratch: Scratch::default(),
        }
    }

    /// Replaces the parameters of all bodies.
    pub fn set_options(&mut self, options: &[ContactSettings]) {
        self.pairing = PairParameters::new(options);
    }

    /// Returns the contacts at the end of the last step.
    pub fn points(&self) -> &[ContactPoint] {
        &self.points
    }

    /// Returns the number of a body's cells near inversion in the last step that depend on bones alone; contact cannot help these.
    pub fn held_cells(&self, body: usize) -> usize {
        self.held_cells.get(body).copied().unwrap_or(0)
    }

    pub fn live_contacts(&self) -> &[LiveContact] {
        &self.live
    }

    /// Returns the forces of contacts and cells on the free nodes of each body in the last step, N, world axes; empty without any.
    pub fn pushes(&self) -> &[Vec<Vec3>] {
        if self.pushed { &self.pushes } else { &[] }
    }

    /// Replaces the forces of the last step on the free nodes of a body whose functions have changed, N, if there were any.
    pub fn replace_pushes(&mut self, body: usize, pushes: Vec<Vec3>) {
        if let Some(own) = self.pushes.get_mut(body).filter(|_| self.pushed) {
            *own = pushes;
        }
    }

    /// Restores the state before the last step.
    pub fn undo(&mut self) {
        self.swap_former();
        self.points.clear();
    }

    fn swap_former(&mut self) {
        std::mem::swap(&mut self.live, &mut self.former.0);
        std::mem::swap(&mut self.pushes, &mut self.former.1);
        std::mem::swap(&mut self.pushed, &mut self.former.2);
    }

    /// Takes over the contacts and forces of a stored state.
    pub fn restore(&mut self, live: Vec<LiveContact>, pushes: Vec<Vec<Vec3>>) {
        self.live = live;
        self.pushed = !pushes.is_empty();
        self.pushes = pushes;
        self.points.clear();
        self.moving.clear();
    }

    fn moving_colliders(&self, span: &ColliderSpan) -> Vec<MovingCollider> {
        let rooms = |k: usize| self.rooms.get(k).map_or(&[][..], |rooms| rooms);
        let all = self.colliders.iter().enumerate();
        all.map(|(k, (c, tree))| MovingCollider::new(c, tree.as_ref(), span).with_rooms(rooms(k)))
            .collect()
    }

    /// Finds the colliders that are rooms of bodies, with bodies as they stand and colliders at the entry `at` of their motions.
    pub fn find_rooms(&mut self, bodies: &[StandingBody], at: usize) {
        let moving = self.moving_colliders(&ColliderSpan::between_entries(at, at));
        let rooms = |collider: &MovingCollider| {
            let collider = collider.place_at(1.0);
            let is_in = |body: &StandingBody| body.is_in_room(&collider);
            bodies.iter().map(is_in).collect()
        };
        self.set_rooms(moving.iter().map(rooms).collect());
    }

    /// Returns for each collider and body whether the collider is a room of the body; empty: no collider is a room.
    pub fn rooms(&self) -> &[Vec<bool>] {
        &self.rooms
    }

    pub fn set_rooms(&mut self, rooms: Vec<Vec<bool>>) {
        let any = rooms.iter().flatten().any(|room| *room);
        self.rooms = if any { rooms } else { Vec::new() };
        self.moving.clear();
    }

    /// Returns the buried bones of each body, with bodies at the end of the frame and colliders at the entry `at` of their motions.
    pub fn find_buried_bones(&self, bodies: &[StandingBody], at: usize) -> Vec<Vec<BuriedBone>> {
        let made = match self.moving.is_empty() {
            true => self.moving_colliders(&ColliderSpan::between_entries(at, at)),
            false => Vec::new(),
        };
        let moving = self.moving.iter().chain(&made);
        let placed: Vec<PlacedCollider> = moving.map(|m| m.place_at(1.0)).collect();
        buried::find_buried_bones(bodies, &placed)
    }

    /// Begins a frame: finds the candidates. Colliders move through `span` of their motions; `None`: no colliders.
    pub fn begin(&mut self, bodies: &[SweptBody], span: Option<&ColliderSpan>) {
        let from: Vec<PosedFlesh> = bodies.iter().map(|b| b.from).collect();
        let to: Vec<PosedFlesh> = bodies.iter().map(|b| *b.end()).collect();
        self.narrow.begin(&from, broad::find_candidates(bodies));
        self.compliances
            .iter_mut()
            .for_each(ComplianceColumns::clear);
        self.moving.clear();
        self.moving = span.map_or_else(Vec::new, |span| self.moving_colliders(span));
        let ends = [0.0, 1.0].map(|s| {
            self.moving
                .iter()
                .map(|m| m.place_at(s))
                .collect::<Vec<_>>()
        });
        let at = |bodies, colliders| ContactInstant { bodies, colliders };
        let (from, to) = (at(&from[..], &ends[0][..]), at(&to[..], &ends[1][..]));
        self.collider_candidates = collider_candidates::find_collider_candidates(
            &from,
            &to,
            self.pairing.largest_thickness(),
        );
        let near_colliders = self.collider_candidates.iter().map(|b| (b.body, b.proxy));
        let live = self.live.iter().map(|l| (l.body, l.proxy));
        let (found, met) = (self.narrow.candidates(), near_colliders.chain(live));
        self.kept_cells = cells::find_dependent_cells([from.bodies, to.bodies], found, met);
    }

    /// Solves for contact at the end of a step of `h` seconds and stores in `moved` the displacements of the free nodes of each body, metres. Returns
    /// false where nothing touches. `pushed`: forces on the lattice vertices of each body, under which the step was proposed in place of those of
    /// contacts and cells. `turn` returns the rotation of a lattice vertex since the frame began; `part` is the range of the frame that the step
    /// covers.
    pub fn step(
        &mut self,
        (before, after): (&[PosedFlesh], &[PosedFlesh]),
        (part, h): ((f64, f64), f64),
        turn: &dyn Fn(usize, usize) -> Mat3,
        flesh: &mut [&mut dyn FlexibleBody],
        pushed: Option<&[Vec<Vec3>]>,
        moved: &mut Vec<Vec<Vec3>>,
    ) -> bool {
        let moving = std::mem::take(&mut self.moving);
        let mut touches = std::mem::take(&mut self.touches);
        let mut constraints = std::mem::take(&mut self.constraints);
        let placed = [part.0, part.1].map(|s| -> SmallVec<[PlacedCollider; 2]> {
            let placed = moving.iter().map(|m| m.place_at(s));
            placed.collect()
        });
        let begin = ContactInstant {
            bodies: before,
            colliders: &placed[0],
        };
        let end = ContactInstant {
            bodies: after,
            colliders: &placed[1],
        };
        self.narrow.find_touches(after, turn, &mut touches);
        self.add_former_contacts(&begin, &end, &mut touches);
        touches.retain(|touch| self.can_push(touch, &end));
        self.constrain(&touches, (&begin, &end), h, &mut constraints);
        let touched = self.displace(&touches, &mut constraints, &end, flesh, pushed, moved);
        drop(placed);
        self.moving = moving;
        self.touches = touches;
        self.constraints = constraints;
        touched
    }

    /// Builds the rows of touches and of cells in a step.
    fn constrain(
        &mut self,
        touches: &[Touch],
        (before, after): (&ContactInstant, &ContactInstant),
        h: f64,
        constraints: &mut ConstraintSet,
    ) {
        constraints.clear();
        for touch in touches {
            let former = self.former_contact((touch.body, touch.proxy, touch.other));
            let at = (before, after);
            self.pairing.add_row(touch, at, former, h, constraints);
        }
        self.held_cells.clear();
        for (i, (before, after)) in before.bodies.iter().zip(after.bodies).enumerate() {
            let recovery = RECOVERY_SPEED * after.skin.body().size() * h;
            let kept = self.kept_cells.get(i).map_or(&[][..], |kept| kept);
            let at = (before, after);
            let options = (recovery, self.pairing.compliance(i));
            let held = cells::add_cell_rows((i as u32, kept), at, options, constraints);
            self.held_cells.push(held);
        }
    }

    /// Solves for the displacements and stores the contacts. The rows of the touches precede those of the cells.
    fn displace(
        &mut self,
        touches: &[Touch],
        constraints: &mut ConstraintSet,
        after: &ContactInstant,
        flesh: &mut [&mut dyn FlexibleBody],
        pushed: Option<&[Vec<Vec3>]>,
        moved: &mut Vec<Vec<Vec3>>,
    ) -> bool {
        self.swap_former();
        self.live.clear();
        self.points.clear();
        self.pushed = !constraints.rows.is_empty();
        let proposed = &mut self.scratch.proposed;
        proposed.resize_with(after.bodies.len(), Vec::new);
        for (k, pushed) in pushed.into_iter().flatten().enumerate() {
            let free = after.bodies[k].skin.body().pattern().vertex_of_node();
            proposed[k].clear();
            proposed[k].extend(free.iter().map(|&v| pushed[v as usize]));
            flesh[k].displace(&mut proposed[k]);
        }
        if !self.pushed {
            if pushed.is_some() {
                moved.clone_from(proposed);
                moved.iter_mut().flatten().for_each(|d| *d = -*d);
            }
            return pushed.is_some();
        }
        if pushed.is_some() {
            constraints.subtract_displacements(&self.scratch.proposed);
        }
        self.cover_nodes(constraints, after.bodies, flesh);
        self.rows.solve(
            constraints,
            &self.compliances,
            flesh,
            &self.scratch.free,
            (moved, &mut self.pushes),
        );
        if pushed.is_some() {
            let proposed = self.scratch.proposed.iter().flatten();
            for (moved, proposed) in moved.iter_mut().flatten().zip(proposed) {
                *moved -= proposed;
            }
        }
        self.scratch.shortening.shorten(after.bodies, moved);
        self.store_contacts(touches, (constraints, pushed.is_some()), after);
        true
    }

    /// Adds the former contacts that are still close, and the touches of colliders, to the touches that the search found.
    fn add_former_contacts(
        &self,
        before: &ContactInstant,
        after: &ContactInstant,
        touches: &mut Vec<Touch>,
    ) {
        let key = |t: &Touch| (t.body, t.proxy, t.other);
        let found = touches.len();
        for live in &self.live {
            let of = (live.body, live.proxy, live.other);
            if touches[..found].binary_search_by_key(&of, key).is_ok() {
                continue;
            }
            let Some(touch) = after.update_contact(live) else {
                continue;
            };
            let other = &after.bodies[live.other as usize].skin;
            let (gap, near) = (
                self.pairing.gap(&touch, after),
                MAX_IDLE_GAP * other.body().size(),
            );
            let deep = gap < -MAX_FORMER_DEPTH * other.cell_size();
            let near = if live.force > 0.0 {
                MAX_PUSHING_GAP * other.cell_size()
            } else {
                near
            };
            if gap < near && !deep && (live.force > 0.0 || gap > -near) {
                touches.push(touch);
            }
        }
        let former =
            |bump: &ColliderCandidate| self.former_contact((bump.body, bump.proxy, bump.other));
        collider_candidates::add_touches(&self.collider_candidates, before, after, former, touches);
        touches.sort_unstable_by_key(key);
    }

    /// Returns whether a touch can push within the step; wider gaps are left to the next step.
    fn can_push(&self, touch: &Touch, after: &ContactInstant) -> bool {
        let size = after.bodies[touch.body as usize].skin.body().size();
        let of = (touch.body, touch.proxy, touch.other);
        let former = self.former_contact(of);
        let near = MAX_IDLE_GAP * size;
        match after.collider(touch.other) {
            Some(_) => self.pairing.gap(touch, after) < near,
            None => self.pairing.gap(touch, after) < near || former.is_some(),
        }
    }

    /// Returns the contact of the last step with a key: body, proxy, touched body or collider.
    fn former_contact(&self, of: (u32, u32, u32)) -> Option<&LiveContact> {
        find_contact(&self.live, of)
    }

    /// Adds all nodes that constraints push to the compliances.
    fn cover_nodes(
        &mut self,
        constraints: &ConstraintSet,
        bodies: &[PosedFlesh],
        flesh: &mut [&mut dyn FlexibleBody],
    ) {
        let count = bodies.len();
        self.compliances
            .resize_with(count, ComplianceColumns::default);
        let Scratch { nodes, free, .. } = &mut self.scratch;
        nodes.resize_with(count, Vec::new);
        nodes.iter_mut().for_each(Vec::clear);
        for entry in constraints.all_entries() {
            nodes[entry.body as usize].push(entry.node);
        }
        free.clear();
        for (i, nodes) in nodes.iter_mut().enumerate() {
            nodes.sort_unstable();
            nodes.dedup();
            free.push(bodies[i].skin.body().pattern().vertex_of_node().len());
            self.compliances[i].add_nodes(nodes, free[i], flesh[i]);
        }
    }

    /// Stores the contacts after the step. `proposed`: the step was proposed under the forces of the one before.
    fn store_contacts(
        &mut self,
        touches: &[Touch],
        (constraints, proposed): (&ConstraintSet, bool),
        after: &ContactInstant,
    ) {
        let bodies = after.bodies.iter().zip(&mut self.scratch.shortening.ends);
        let end = bodies.map(|(b, (sway, shown))| {
            shown.clear(b.skin.body().surface().vertices().len());
            PosedFlesh { sway, shown, ..*b }
        });
        let end: SmallVec<[PosedFlesh; 1]> = end.collect();
        let end = ContactInstant {
            bodies: &end,
            colliders: after.colliders,
        };
        for (touch, constraint) in touches.iter().zip(&constraints.rows) {
            let tangents = tangents(after, touch);
            let friction = constraint.friction.as_ref().map_or(Vec3::zeros(), |f| {
                tangents[0] * f.forces[0] + tangents[1] * f.forces[1]
            });
            self.live.push(LiveContact {
                body: touch.body,
                proxy: touch.proxy,
                other: touch.other,
                target: touch.target,
                force: constraint.force,
                friction,
                side: touch.side,
            });
            let former = proposed.then_some(&self.former.0[..]);
            let whole = (constraint.force, friction);
            let (force, friction) =
                effective_forces(&self.scratch.shortening.parts, former, touch, whole);
            let skin = end.bodies[touch.body as usize].skin;
            self.points.push(ContactPoint {
                point: end.proxy_position(touch.body, touch.proxy),
                normal: touch.normal,
                gap: self.pairing.reported_gap(touch, &end),
                force: touch.normal * force + friction,
                body: touch.body,
                vertex: skin.proxies()[touch.proxy as usize].vertex,
                other_body: touch.other,
                other_vertex: end.vertex_at(touch.other, &touch.target),
                kinematic: constraints.is_immovable(constraint),
            });
        }
    }
}

/// Returns the contact with a key (body, proxy, touched body or collider) from a sorted list.
fn find_contact(live: &[LiveContact], of: (u32, u32, u32)) -> Option<&LiveContact> {
    let key = |l: &LiveContact| (l.body, l.proxy, l.other);
    let at = live.binary_search_by_key(&of, key).ok()?;
    Some(&live[at])
}

/// Returns the part of a touch's force and friction that moved the flesh. Displacements were shortened to `parts`, and the rest moved nothing.
/// `former`: contacts whose forces were in the proposed step, which moved the flesh in full.
fn effective_forces(
    parts: &[f64],
    former: Option<&[LiveContact]>,
    touch: &Touch,
    (force, friction): (f64, Vec3),
) -> (f64, Vec3) {
    let own = parts[touch.body as usize];
    let part = parts.get(touch.other as usize).map_or(own, |p| own.min(*p));
    if part == 1.0 {
        return (force, friction);
    }
    let of = (touch.body, touch.proxy, touch.other);
    let before = former.and_then(|live| find_contact(live, of));
    let (former_force, former_friction) =
        before.map_or((0.0, Vec3::zeros()), |l| (l.force, l.friction));
    (
        former_force + (force - former_force) * part,
        former_friction + (friction - former_friction) * part,
    )
}

#[cfg(test)]
mod tests;
