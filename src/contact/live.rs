// SPDX-License-Identifier: MIT OR Apache-2.0
//! The contacts of some bodies from step to step.

use super::ContactOptions;
use super::broad::{self, Swept};
use super::bumps::{self, Bump};
use super::cells;
use super::collider::Collider;
use super::complementarity::{Constraint, Rows};
use super::compliance::{Compliance, Flexible};
use super::instant::Instant;
use super::narrow::{FLAT, Narrow, Touch};
use super::placed::{Moving, Span, tree_at_rest};
use super::posed::{Posed, ShownVertices};
use super::record::{ContactPoint, Live};
use super::rows::{Pairing, RECOVERY, tangents};
use crate::{Mat3, Vec3};
use parry3d_f64::partitioning::Bvh;
use std::sync::Arc;

/// Contacts without force are kept while they are nearer than this, in sizes.
const KEPT: f64 = 0.002;
/// Contacts that pushed are kept while they are nearer than this, in cells.
const HELD: f64 = 0.1;
/// Contacts that the search does not find again are given up when they are deeper than this, in cells.
const DEEPEST: f64 = 0.25;
/// How often a correction that would flatten cells is halved at most.
const HALVINGS: usize = 6;

/// Contacts among bodies, and of these with colliders; the order is the same throughout.
pub(crate) struct Contacts {
    pairing: Pairing,
    colliders: Vec<(Arc<Collider>, Option<Arc<Bvh>>)>,
    live: Vec<Live>,
    /// Colliders over the present frame, and what may come to them.
    moving: Vec<Moving>,
    bumps: Vec<Bump>,
    /// The search in the present frame, and what it found in the present step.
    narrow: Narrow,
    touches: Vec<Touch>,
    compliances: Vec<Compliance>,
    rows: Rows,
    points: Vec<ContactPoint>,
    held_cells: Vec<usize>,
    /// What rows pushed the free nodes of each body with in the last step, N, world axes; none where there were none.
    pushes: Vec<Vec<Vec3>>,
}

impl Contacts {
    /// Of bodies that touch each in its own way.
    pub fn new(options: &[ContactOptions], colliders: &[Arc<Collider>]) -> Self {
        let ready = |c: &Arc<Collider>| (c.clone(), tree_at_rest(c));
        Self {
            pairing: Pairing::new(options),
            colliders: colliders.iter().map(ready).collect(),
            live: Vec::new(),
            moving: Vec::new(),
            bumps: Vec::new(),
            narrow: Narrow::default(),
            touches: Vec::new(),
            compliances: Vec::new(),
            rows: Rows::default(),
            points: Vec::new(),
            held_cells: Vec::new(),
            pushes: Vec::new(),
        }
    }

    /// Lets bodies touch in other ways from now on.
    pub fn set_options(&mut self, options: &[ContactOptions]) {
        self.pairing = Pairing::new(options);
    }

    /// What there was at the end of the last step.
    pub fn points(&self) -> &[ContactPoint] {
        &self.points
    }

    /// Cells near inversion of a body at the last step that hang on bones alone: no contact helps these.
    pub fn held_cells(&self, body: usize) -> usize {
        self.held_cells.get(body).copied().unwrap_or(0)
    }

    pub fn live(&self) -> &[Live] {
        &self.live
    }

    /// What contacts and cells pushed the free nodes of each body with in the last step, N, world axes; nothing where nothing did.
    pub fn pushes(&self) -> &[Vec<Vec3>] {
        &self.pushes
    }

    /// Takes up the contacts of a kept state, and what pushed.
    pub fn restore(&mut self, live: Vec<Live>, pushes: Vec<Vec<Vec3>>) {
        self.live = live;
        self.pushes = pushes;
        self.points.clear();
    }

    /// Before the first step of a frame, in which colliders go through a span of their motion; none: there are none in it.
    pub fn begin(&mut self, bodies: &[Swept], span: Option<&Span>) {
        let from: Vec<Posed> = bodies.iter().map(|b| b.from).collect();
        let to: Vec<Posed> = bodies.iter().map(|b| b.to).collect();
        self.narrow.begin(&from, broad::candidates(bodies));
        self.compliances.iter_mut().for_each(Compliance::clear);
        self.moving.clear();
        let moving = |span| {
            let of = self.colliders.iter();
            of.map(move |(c, tree)| Moving::new(c, tree.as_ref(), span))
        };
        self.moving = span.into_iter().flat_map(moving).collect();
        let ends = [0.0, 1.0].map(|s| self.moving.iter().map(|m| m.at(s)).collect::<Vec<_>>());
        let at = |bodies, colliders| Instant { bodies, colliders };
        let (from, to) = (at(&from[..], &ends[0][..]), at(&to[..], &ends[1][..]));
        self.bumps = bumps::chosen(&from, &to, self.pairing.largest_thickness());
    }

    /// By how much contact displaces the free nodes of each body at the end of a step of `h` seconds; none where nothing touches.
    /// `pushed`: forces on the free nodes under which the step was proposed in place of those of contacts and cells.
    /// `turn` tells how a lattice vertex has turned since the frame began, `part` from where to where in the frame the step goes.
    pub fn step(
        &mut self,
        (before, after): (&[Posed], &[Posed]),
        part: (f64, f64),
        turn: &dyn Fn(usize, usize) -> Mat3,
        flesh: &mut [&mut dyn Flexible],
        pushed: Option<Vec<Vec<Vec3>>>,
        h: f64,
    ) -> Option<Vec<Vec<Vec3>>> {
        let moving = std::mem::take(&mut self.moving);
        let at = |s| moving.iter().map(|m| m.at(s)).collect::<Vec<_>>();
        let colliders = (at(part.0), at(part.1));
        let begin = Instant {
            bodies: before,
            colliders: &colliders.0,
        };
        let end = Instant {
            bodies: after,
            colliders: &colliders.1,
        };
        let moved = self.step_between(&begin, &end, turn, flesh, pushed, h);
        self.moving = moving;
        moved
    }

    fn step_between(
        &mut self,
        before: &Instant,
        after: &Instant,
        turn: &dyn Fn(usize, usize) -> Mat3,
        flesh: &mut [&mut dyn Flexible],
        pushed: Option<Vec<Vec<Vec3>>>,
        h: f64,
    ) -> Option<Vec<Vec<Vec3>>> {
        let mut touches = std::mem::take(&mut self.touches);
        self.narrow.touches(after.bodies, turn, &mut touches);
        self.add_former(before, after, &mut touches);
        touches.retain(|touch| self.matters(touch, after));
        let mut constraints = Vec::new();
        for touch in &touches {
            let former = self.former((touch.body, touch.proxy, touch.other));
            let row = self.pairing.row(touch, (before, after), former, h);
            constraints.push(row);
        }
        let contacts = constraints.len();
        self.held_cells.clear();
        for (i, (before, after)) in before.bodies.iter().zip(after.bodies).enumerate() {
            let recovery = RECOVERY * after.skin.body().size() * h;
            let held = cells::rows(i as u32, (before, after), recovery, &mut constraints);
            self.held_cells.push(held);
        }
        self.live.clear();
        self.points.clear();
        self.pushes.clear();
        let pushed = pushed.map(|mut pushed| {
            let pairs = flesh.iter_mut().zip(&mut pushed);
            pairs.for_each(|(flesh, pushed)| flesh.displace(pushed));
            pushed
        });
        if constraints.is_empty() {
            self.touches = touches;
            let back = |pushed: Vec<Vec3>| pushed.into_iter().map(|d| -d).collect();
            return pushed.map(|all| all.into_iter().map(back).collect());
        }
        if let Some(pushed) = &pushed {
            constraints.iter_mut().for_each(|c| c.without(pushed));
        }
        let nodes: Vec<usize> = after
            .bodies
            .iter()
            .map(|b| b.skin.body().pattern().vertex_of_node().len())
            .collect();
        self.cover(&constraints, &nodes, flesh);
        let compliance = self.pairing.compliance();
        let mut moved = Vec::new();
        self.rows.solve(
            &mut constraints,
            &self.compliances,
            flesh,
            (&nodes, compliance),
            (&mut moved, &mut self.pushes),
        );
        if let Some(pushed) = pushed {
            for (moved, pushed) in moved.iter_mut().flatten().zip(pushed.iter().flatten()) {
                *moved -= pushed;
            }
        }
        shorten(after.bodies, &mut moved);
        self.keep(&touches, &constraints[..contacts], after, &moved);
        self.touches = touches;
        Some(moved)
    }

    /// Adds what touched and still nearly does, and what meets colliders, to what the search found.
    fn add_former(&self, before: &Instant, after: &Instant, touches: &mut Vec<Touch>) {
        let key = |t: &Touch| (t.body, t.proxy, t.other);
        let found = touches.len();
        for live in &self.live {
            let of = (live.body, live.proxy, live.other);
            if touches[..found].binary_search_by_key(&of, key).is_ok() {
                continue;
            }
            let Some(touch) = after.again(live) else {
                continue;
            };
            let other = &after.bodies[live.other as usize].skin;
            let (gap, near) = (self.pairing.gap(&touch, after), KEPT * other.body().size());
            let deep = gap < -DEEPEST * other.cell();
            let near = if live.force > 0.0 {
                HELD * other.cell()
            } else {
                near
            };
            if gap < near && !deep && (live.force > 0.0 || gap > -near) {
                touches.push(touch);
            }
        }
        let former = |bump: &Bump| self.former((bump.body, bump.proxy, bump.other));
        bumps::touches(&self.bumps, before, after, former, touches);
        touches.sort_unstable_by_key(key);
    }

    /// Whether a touch can push within the step: what is still apart is for the next one.
    fn matters(&self, touch: &Touch, after: &Instant) -> bool {
        let size = after.bodies[touch.body as usize].skin.body().size();
        let of = (touch.body, touch.proxy, touch.other);
        let former = self.former(of);
        let near = KEPT * size;
        match after.collider(touch.other) {
            Some(_) => self.pairing.gap(touch, after) < near,
            None => self.pairing.gap(touch, after) < near || former.is_some(),
        }
    }

    /// The same contact in the step before.
    fn former(&self, of: (u32, u32, u32)) -> Option<&Live> {
        let key = |l: &Live| (l.body, l.proxy, l.other);
        let at = self.live.binary_search_by_key(&of, key).ok()?;
        Some(&self.live[at])
    }

    /// Lets the compliances know all nodes that constraints push.
    fn cover(
        &mut self,
        constraints: &[Constraint],
        free: &[usize],
        flesh: &mut [&mut dyn Flexible],
    ) {
        self.compliances
            .resize_with(flesh.len(), Compliance::default);
        let mut nodes: Vec<Vec<u32>> = vec![Vec::new(); flesh.len()];
        for constraint in constraints {
            for entry in constraint.entries() {
                nodes[entry.body as usize].push(entry.node);
            }
        }
        for (i, mut nodes) in nodes.into_iter().enumerate() {
            nodes.sort_unstable();
            nodes.dedup();
            self.compliances[i].cover(&nodes, free[i], flesh[i]);
        }
    }

    /// Keeps what touches after the step.
    fn keep(
        &mut self,
        touches: &[Touch],
        constraints: &[Constraint],
        after: &Instant,
        moved: &[Vec<Vec3>],
    ) {
        let sways: Vec<Vec<Vec3>> = after
            .bodies
            .iter()
            .zip(moved)
            .map(|(b, m)| displaced(b, m))
            .collect();
        let mut shown = Vec::new();
        for body in after.bodies {
            let mut none = ShownVertices::default();
            none.clear(body.skin.body().surface().vertices().len());
            shown.push(none);
        }
        let bodies = after.bodies.iter().zip(&sways).zip(&shown);
        let end: Vec<Posed> = bodies
            .map(|((b, sway), shown)| Posed { sway, shown, ..*b })
            .collect();
        let end = Instant {
            bodies: &end,
            colliders: after.colliders,
        };
        for (touch, constraint) in touches.iter().zip(constraints) {
            let tangents = tangents(after, touch);
            let friction = constraint.friction.as_ref().map_or(Vec3::zeros(), |f| {
                tangents[0] * f.forces[0] + tangents[1] * f.forces[1]
            });
            self.live.push(Live {
                body: touch.body,
                proxy: touch.proxy,
                other: touch.other,
                target: touch.target,
                force: constraint.force,
                friction,
                side: touch.side,
            });
            let skin = end.bodies[touch.body as usize].skin;
            self.points.push(ContactPoint {
                point: end.proxy(touch.body, touch.proxy),
                normal: touch.normal,
                gap: self.pairing.told_gap(touch, &end),
                force: touch.normal * constraint.force + friction,
                body: touch.body,
                vertex: skin.proxies()[touch.proxy as usize].vertex,
                other: touch.other,
                partner: end.vertex_at(touch.other, &touch.target),
                held: constraint.is_held(),
            });
        }
    }
}

/// The sway with displacements of its free nodes.
pub(super) fn displaced(body: &Posed, moved: &[Vec3]) -> Vec<Vec3> {
    let mut sway = body.sway.to_vec();
    for (d, &v) in moved
        .iter()
        .zip(body.skin.body().pattern().vertex_of_node())
    {
        sway[v as usize] += d;
    }
    sway
}

/// Halves displacements until they flatten no cell that was none.
fn shorten(after: &[Posed], moved: &mut [Vec<Vec3>]) {
    for (body, moved) in after.iter().zip(moved) {
        let cells = body.skin.body().lattice().cells().len() as u32;
        let flat: Vec<bool> = (0..cells).map(|c| cells::least(body, c) < FLAT).collect();
        for _ in 0..HALVINGS {
            let sway = displaced(body, moved);
            let end = Posed {
                sway: &sway,
                ..*body
            };
            let sound = (0..cells).all(|c| flat[c as usize] || cells::least(&end, c) >= FLAT);
            if sound {
                break;
            }
            moved.iter_mut().for_each(|d| *d *= 0.5);
        }
    }
}
