// SPDX-License-Identifier: MIT OR Apache-2.0
//! The contacts of some bodies from step to step.

use super::ContactOptions;
use super::broad::{self, Candidate, Swept};
use super::cells;
use super::complementarity::{Compliance, Constraint, Entry, Flexible, Friction, solve};
use super::narrow::{self, FLAT, Touch};
use super::posed::{Posed, ShownVertices};
use super::skin::{ContactSkin, SkinPoint};
use crate::{Mat3, Vec3};

/// How fast what overlaps is parted, sizes of the body per second.
const RECOVERY: f64 = 0.5;
/// Contacts without force are kept while they are nearer than this, in sizes.
const KEPT: f64 = 0.002;
/// Contacts that the search does not find again are given up when they are deeper than this, in cells.
const DEEPEST: f64 = 0.25;
/// The largest pressure of a contact, in Young's moduli: where skin is folded through itself more than flesh can make up for, no
/// force would part it, and ever larger ones would do harm.
pub(crate) const PRESSURE: f64 = 4.0;
/// How often a correction that would flatten cells is halved at most.
const HALVINGS: usize = 6;

/// A contact that was there at the end of the last step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Live {
    pub body: u32,
    pub proxy: u32,
    pub other: u32,
    pub target: SkinPoint,
    /// N.
    pub force: f64,
    /// N, world axes.
    pub friction: Vec3,
}

impl Live {
    /// How many numbers one is kept as.
    pub const NUMBERS: usize = 11;

    /// To be kept.
    pub fn numbers(&self) -> [f64; Self::NUMBERS] {
        let [a, b, c] = self.target.weights;
        let indices = [self.body, self.proxy, self.other, self.target.triangle].map(f64::from);
        let [i, proxy, j, triangle] = indices;
        let f = self.friction;
        [i, proxy, j, triangle, a, b, c, self.force, f.x, f.y, f.z]
    }

    /// From kept numbers; none where they fit no such skins.
    pub fn read(numbers: &[f64], skins: &[&ContactSkin]) -> Option<Self> {
        let index = |x: f64, count: usize| {
            let whole = x.fract() == 0.0 && (0.0..count as f64).contains(&x);
            whole.then_some(x as u32)
        };
        let body = index(numbers[0], skins.len())?;
        let other = index(numbers[2], skins.len())?;
        let target = skins[other as usize];
        let triangle = index(numbers[3], target.triangles())?;
        let weights = [numbers[4], numbers[5], numbers[6]];
        let sound = weights.iter().all(|w| (-0.01..=1.01).contains(w)) && numbers[7] >= 0.0;
        (sound && target.is_skin(triangle)).then_some(Self {
            body,
            proxy: index(numbers[1], skins[body as usize].proxies().len())?,
            other,
            target: SkinPoint { triangle, weights },
            force: numbers[7],
            friction: Vec3::new(numbers[8], numbers[9], numbers[10]),
        })
    }
}

/// One contact as it is reported.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ContactPoint {
    /// Where, metres.
    pub point: Vec3,
    /// Outward of the skin that is touched.
    pub normal: Vec3,
    /// Metres; negative: overlap.
    pub gap: f64,
    /// What pushes the vertex, N.
    pub force: Vec3,
    /// The body that is pushed.
    pub body: u32,
    /// A vertex of its surface.
    pub vertex: u32,
    /// The body that is touched.
    pub other: u32,
    /// A vertex of its surface.
    pub partner: u32,
}

/// Contacts among bodies; the order of bodies is the same throughout.
pub(crate) struct Contacts {
    options: ContactOptions,
    live: Vec<Live>,
    /// Of the present frame.
    candidates: Vec<Candidate>,
    /// By how much lattices are moved to carry the skin as it is shown, at the beginning of the frame.
    warps: Vec<Vec<Vec3>>,
    compliances: Vec<Compliance>,
    points: Vec<ContactPoint>,
    held_cells: usize,
}

impl Contacts {
    pub fn new(options: ContactOptions) -> Self {
        Self {
            options,
            live: Vec::new(),
            candidates: Vec::new(),
            warps: Vec::new(),
            compliances: Vec::new(),
            points: Vec::new(),
            held_cells: 0,
        }
    }

    /// What there was at the end of the last step.
    pub fn points(&self) -> &[ContactPoint] {
        &self.points
    }

    /// Cells near inversion at the last step that hang on bones alone: no contact helps these.
    pub fn held_cells(&self) -> usize {
        self.held_cells
    }

    pub fn live(&self) -> &[Live] {
        &self.live
    }

    /// Takes up the contacts of a kept state.
    pub fn restore(&mut self, live: Vec<Live>) {
        self.live = live;
        self.points.clear();
    }

    /// Before the first step of a frame.
    pub fn begin(&mut self, bodies: &[Swept]) {
        self.candidates = broad::candidates(bodies);
        let from: Vec<Posed> = bodies.iter().map(|b| b.from).collect();
        self.warps = narrow::all_warps(&from, &self.candidates);
        self.compliances.clear();
    }

    /// By how much contact displaces the free nodes of each body at the end of a step of `h` seconds; none where nothing touches.
    /// `turn` tells how a lattice vertex has turned since the frame began.
    pub fn step(
        &mut self,
        before: &[Posed],
        after: &[Posed],
        turn: &dyn Fn(usize, usize) -> Mat3,
        flesh: &mut [&mut dyn Flexible],
        h: f64,
    ) -> Option<Vec<Vec<Vec3>>> {
        let warps: Vec<Vec<Vec3>> = self
            .warps
            .iter()
            .enumerate()
            .map(|(i, warps)| {
                let turned = |(v, warp): (usize, &Vec3)| turn(i, v) * warp;
                warps.iter().enumerate().map(turned).collect()
            })
            .collect();
        let mut touches = self.found(after, &warps);
        touches.retain(|touch| self.matters(touch, after));
        let mut constraints = Vec::new();
        for touch in &touches {
            constraints.push(self.constraint(touch, before, after, h));
        }
        let contacts = constraints.len();
        self.held_cells = 0;
        for (i, (before, after)) in before.iter().zip(after).enumerate() {
            let recovery = RECOVERY * after.skin.body().size() * h;
            self.held_cells += cells::rows(i as u32, (before, after), recovery, &mut constraints);
        }
        self.live.clear();
        self.points.clear();
        if constraints.is_empty() {
            return None;
        }
        let nodes: Vec<usize> = after
            .iter()
            .map(|b| b.skin.body().pattern().vertex_of_node().len())
            .collect();
        self.cover(&constraints, &nodes, flesh);
        let compliance = self.options.compliance;
        let mut moved = solve(
            &mut constraints,
            &self.compliances,
            flesh,
            &nodes,
            compliance,
        );
        shorten(after, &mut moved);
        self.keep(&touches, &constraints[..contacts], after, &moved);
        Some(moved)
    }

    /// What touches now: what is found among the candidates, and what did and still nearly does.
    fn found(&self, after: &[Posed], warps: &[Vec<Vec3>]) -> Vec<Touch> {
        let mut touches = narrow::touches(after, &self.candidates, warps);
        let key = |t: &Touch| (t.body, t.proxy, t.other);
        let mut former = Vec::new();
        for live in &self.live {
            let of = (live.body, live.proxy, live.other);
            if touches.binary_search_by_key(&of, key).is_ok() {
                continue;
            }
            let (body, other) = (&after[live.body as usize], &after[live.other as usize]);
            let point = &body.skin.proxies()[live.proxy as usize].point;
            let place = body.point(point);
            let Some(target) = narrow::slid(other, &live.target, place) else {
                continue;
            };
            let normal = other.normal(&target);
            let gap = normal.dot(&(place - other.point(&target))) - self.options.thickness;
            let near = KEPT * other.skin.body().size();
            let deep = gap < -DEEPEST * other.skin.cell();
            let opposed =
                normal != Vec3::zeros() && body.normal(point).dot(&normal) < narrow::ALIKE;
            if opposed && gap < near && !deep && (live.force > 0.0 || gap > -near) {
                former.push(Touch {
                    body: live.body,
                    proxy: live.proxy,
                    other: live.other,
                    target,
                    normal,
                    depth: 0.0,
                });
            }
        }
        touches.extend(former);
        touches.sort_by_key(key);
        touches
    }

    /// Whether a touch can push within the step: what is still apart is for the next one.
    fn matters(&self, touch: &Touch, after: &[Posed]) -> bool {
        let (body, other) = (&after[touch.body as usize], &after[touch.other as usize]);
        let proxy = &body.skin.proxies()[touch.proxy as usize];
        let apart = body.point(&proxy.point) - other.point(&touch.target);
        let gap = touch.normal.dot(&apart) - self.options.thickness;
        gap < KEPT * other.skin.body().size() || self.former(touch).is_some()
    }

    /// The same contact in the step before.
    fn former(&self, touch: &Touch) -> Option<&Live> {
        let of = (touch.body, touch.proxy, touch.other);
        let key = |l: &Live| (l.body, l.proxy, l.other);
        let at = self.live.binary_search_by_key(&of, key).ok()?;
        Some(&self.live[at])
    }

    fn constraint(&self, touch: &Touch, before: &[Posed], after: &[Posed], h: f64) -> Constraint {
        let (i, j) = (touch.body as usize, touch.other as usize);
        let proxy = &after[i].skin.proxies()[touch.proxy as usize];
        let at = |bodies: &[Posed]| bodies[i].point(&proxy.point) - bodies[j].point(&touch.target);
        let (was, now) = (at(before), at(after));
        let (n, slid) = (touch.normal, now - was);
        // What the sculpt has nearer than the thickness may stay so.
        let modelled = match i == j {
            true => {
                let apart = proxy.rest - after[i].skin.rest_point(&touch.target);
                (self.options.thickness - apart.norm()).max(0.0)
            }
            false => 0.0,
        };
        let gap = n.dot(&now) - self.options.thickness + modelled;
        let recovery = RECOVERY * after[j].skin.body().size() * h;
        let mut slopes = [Vec::new(), Vec::new()];
        let give = after[i].add_slopes(&proxy.point, 1.0, &mut slopes[0]);
        let give = give.max(after[j].add_slopes(&touch.target, -1.0, &mut slopes[1]));
        let mut joint: Vec<(u32, u32, Mat3)> = Vec::new();
        for (body, slopes) in [i, j].into_iter().zip(slopes) {
            let pattern = after[body].skin.body().pattern();
            for (vertex, slope) in slopes {
                let Some(node) = pattern.node_of_vertex(vertex as usize) else {
                    continue;
                };
                let of = (body as u32, node);
                match joint.iter_mut().find(|(b, n, _)| (*b, *n) == of) {
                    Some((.., sum)) => *sum += slope,
                    None => joint.push((of.0, of.1, slope)),
                }
            }
        }
        let entries = |direction: Vec3| {
            let entry = |&(body, node, slope): &(u32, u32, Mat3)| Entry {
                body,
                node,
                direction: slope.tr_mul(&direction),
            };
            joint.iter().map(entry).collect()
        };
        let former = self.former(touch);
        let tangents = tangents(&after[j], touch);
        let friction = (self.options.friction > 0.0).then(|| Friction {
            tangents: tangents.map(entries),
            slides: tangents.map(|t| t.dot(&slid)),
            coefficient: self.options.friction,
            forces: tangents.map(|t| former.map_or(0.0, |l| l.friction.dot(&t))),
        });
        Constraint {
            normal: entries(n),
            gap: gap.max(n.dot(&slid) - recovery),
            friction,
            give,
            limit: PRESSURE * strength(&after[i]).max(strength(&after[j])),
            force: former.map_or(0.0, |l| l.force),
        }
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
            let tangents = constraint.friction.iter().flat_map(|f| &f.tangents);
            for entry in std::iter::once(&constraint.normal)
                .chain(tangents)
                .flatten()
            {
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
        after: &[Posed],
        moved: &[Vec<Vec3>],
    ) {
        let sways: Vec<Vec<Vec3>> = after
            .iter()
            .zip(moved)
            .map(|(b, m)| displaced(b, m))
            .collect();
        let mut shown = Vec::new();
        for body in after {
            let mut none = ShownVertices::default();
            none.clear(body.skin.body().surface().vertices().len());
            shown.push(none);
        }
        let bodies = after.iter().zip(&sways).zip(&shown);
        let end: Vec<Posed> = bodies
            .map(|((b, sway), shown)| Posed { sway, shown, ..*b })
            .collect();
        for (touch, constraint) in touches.iter().zip(constraints) {
            let tangents = tangents(&after[touch.other as usize], touch);
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
            });
            let (body, other) = (&end[touch.body as usize], &end[touch.other as usize]);
            let proxy = &body.skin.proxies()[touch.proxy as usize];
            let (point, target) = (body.point(&proxy.point), other.point(&touch.target));
            self.points.push(ContactPoint {
                point,
                normal: touch.normal,
                gap: touch.normal.dot(&(point - target)) - self.options.thickness,
                force: touch.normal * constraint.force + friction,
                body: touch.body,
                vertex: proxy.vertex,
                other: touch.other,
                partner: other.skin.vertex_at(&touch.target),
            });
        }
    }
}

/// Young's modulus times the skin that one proxy stands for, N.
fn strength(body: &Posed) -> f64 {
    body.skin.body().material().young() * body.skin.area_of_proxy()
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

/// Two directions across the normal, turned with the flesh.
fn tangents(other: &Posed, touch: &Touch) -> [Vec3; 2] {
    let [a, b, _] = other
        .skin
        .corners(touch.target.triangle)
        .map(|v| other.vertex(v));
    let n = touch.normal;
    let along = b - a;
    let along = (along - n * n.dot(&along)).try_normalize(0.0);
    let first = along.unwrap_or_else(|| {
        n.cross(&Vec3::x())
            .try_normalize(0.5)
            .unwrap_or_else(Vec3::y)
    });
    [first, n.cross(&first)]
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
