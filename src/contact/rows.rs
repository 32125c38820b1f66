// SPDX-License-Identifier: MIT OR Apache-2.0
//! One contact as a row of the complementarity problem, with its tangents. [contact.md]

use super::ContactOptions;
use super::complementarity::{Constraint, Constraints, Entry, Friction};
use super::instant::Instant;
use super::narrow::Touch;
use super::posed::{Posed, Slopes};
use super::record::Live;
use super::skin::SkinPoint;
use crate::{Mat3, Vec3};
use smallvec::SmallVec;

/// Speed at which what overlaps is parted, sizes of the body per second: a tenth in a fifth of a second, which is no jump. Half and twice as fast leave
/// the same depths.
pub(super) const RECOVERY: f64 = 0.5;
/// Skin bulges between the points that are looked up: by so much they are kept apart, in cells. With half of it an elbow at 136° keeps 0.07 % of
/// the size double instead of nothing.
const BETWEEN: f64 = 0.005;
/// The largest pressure of a contact, in Young's moduli of the flesh there: where plain skinning folds skin through itself, flesh cannot make up for
/// it, and ever larger forces would do harm; and what more there may be where joints are elastic, whose folds are of flesh. Half of the first leaves
/// 102 vertices of an elbow at 148° in other flesh instead of 98, twice 87; where joints are elastic half of the second leaves 76 instead of 62,
/// twice 54.
const PRESSURE: f64 = 1.0;
const ELASTIC: f64 = 3.0;

/// How bodies touch each other and colliders, each in its own way.
#[derive(Debug)]
pub(super) struct Pairing(Vec<ContactOptions>);

impl Pairing {
    pub fn new(options: &[ContactOptions]) -> Self {
        Self(options.to_vec())
    }

    /// The largest thickness of all.
    pub fn largest_thickness(&self) -> f64 {
        let thickness = self.0.iter().map(|o| o.thickness);
        thickness.fold(0.0, f64::max)
    }

    /// The compliance of a body's own contacts.
    pub fn compliance(&self, body: usize) -> f64 {
        self.0[body].compliance
    }

    /// The compliance of a touch: of bodies the mean of both.
    fn compliance_of(&self, touch: &Touch) -> f64 {
        let own = self.compliance(touch.body as usize);
        let other = self.0.get(touch.other as usize);
        other.map_or(own, |other| 0.5 * (own + other.compliance))
    }

    /// What was asked to be kept between a body and what it touches, metres: of bodies the mean of both.
    fn asked(&self, touch: &Touch, at: &Instant) -> f64 {
        let own = self.0[touch.body as usize].thickness;
        match at.collider(touch.other) {
            Some(collider) => own + collider.collider().thickness(),
            None => 0.5 * (own + self.0[touch.other as usize].thickness),
        }
    }

    /// What is kept besides, for skin between points, metres.
    fn besides(touch: &Touch, at: &Instant) -> f64 {
        let other = at.bodies.get(touch.other as usize);
        other.map_or(0.0, |other| BETWEEN * other.skin.cell())
    }

    /// The gap as it is told: less what was asked to be kept, metres.
    pub(super) fn told_gap(&self, touch: &Touch, at: &Instant) -> f64 {
        let apart = at.proxy(touch.body, touch.proxy) - at.place(touch.other, &touch.target);
        touch.normal.dot(&apart) - self.asked(touch, at)
    }

    /// How far the point of a touch is from being as near as it may, metres.
    pub(super) fn gap(&self, touch: &Touch, at: &Instant) -> f64 {
        self.told_gap(touch, at) - Self::besides(touch, at)
    }

    /// Adds the row of a touch at the end of a step of `h` seconds, and the tangents; `former`: the same contact in the step before.
    pub(super) fn add_row(
        &self,
        touch: &Touch,
        (before, after): (&Instant, &Instant),
        former: Option<&Live>,
        h: f64,
        constraints: &mut Constraints,
    ) {
        let body = &after.bodies[touch.body as usize];
        let proxy = &body.skin.proxies()[touch.proxy as usize];
        let at = |instant: &Instant| {
            instant.proxy(touch.body, touch.proxy) - instant.place(touch.other, &touch.target)
        };
        let (n, slid) = (touch.normal, at(after) - at(before));
        // What the sculpt has nearer than the thickness may stay so.
        let modelled = match touch.body == touch.other {
            true => {
                let apart = proxy.rest - body.skin.rest_point(&touch.target);
                (self.asked(touch, after) + Self::besides(touch, after) - apart.norm()).max(0.0)
            }
            false => 0.0,
        };
        let gap = self.gap(touch, after) + modelled;
        let recovery = RECOVERY * body.skin.body().size() * h;
        let other = after.collider(touch.other).is_none();
        let other = other.then_some((touch.other, &touch.target, -1.0));
        let mut give = 1.0_f64;
        let mut joint: SmallVec<[(u32, u32, Mat3); 64]> = SmallVec::new();
        for (index, point, sign) in [(touch.body, &proxy.point, 1.0)].into_iter().chain(other) {
            let body = &after.bodies[index as usize];
            let mut slopes = Slopes::new();
            give = give.max(body.add_slopes(point, sign, &mut slopes));
            for (vertex, slope) in slopes {
                let Some(node) = body.skin.body().pattern().node_of_vertex(vertex as usize) else {
                    continue;
                };
                let of = (index, node);
                match joint.iter_mut().find(|(b, n, _)| (*b, *n) == of) {
                    Some((.., sum)) => *sum += slope,
                    None => joint.push((of.0, of.1, slope)),
                }
            }
        }
        let mut entries = |direction: Vec3| {
            let entry = |&(body, node, slope): &(u32, u32, Mat3)| Entry {
                body,
                node,
                direction: slope.tr_mul(&direction),
            };
            constraints.add_entries(joint.iter().map(entry))
        };
        let normal = entries(n);
        let tangents = tangents(after, touch);
        let coefficient = self.coefficient(touch, after);
        let friction = (coefficient > 0.0).then(|| Friction {
            tangents: tangents.map(&mut entries),
            slides: tangents.map(|t| t.dot(&slid)),
            coefficient,
            forces: tangents.map(|t| former.map_or(0.0, |l| l.friction.dot(&t))),
        });
        // What comes from elsewhere is no fold of the skin.
        let fold = touch.body == touch.other;
        let of = |body: &Posed, point: &SkinPoint| {
            let joints = if fold {
                body.elastic_joints_at(point)
            } else {
                1.0
            };
            largest_pressure(body.young_at(point), joints)
        };
        let mut pressure = of(body, &proxy.point);
        if let Some(other) = after.bodies.get(touch.other as usize) {
            pressure = pressure.max(of(other, &touch.target));
        }
        constraints.rows.push(Constraint {
            normal,
            gap: gap.max(n.dot(&slid) - recovery),
            friction,
            compliance: self.compliance_of(touch),
            give,
            limit: pressure * proxy.area,
            force: former.map_or(0.0, |l| l.force),
        });
    }

    /// Coulomb's coefficient: the geometric mean of both sides'.
    fn coefficient(&self, touch: &Touch, at: &Instant) -> f64 {
        let own = self.0[touch.body as usize].friction;
        let other = match at.collider(touch.other) {
            Some(collider) => collider.collider().friction(),
            None if touch.other == touch.body => None,
            None => Some(self.0[touch.other as usize].friction),
        };
        match other {
            Some(other) => (own * other).sqrt(),
            None => own,
        }
    }
}

/// The largest pressure with which flesh of a Young's modulus is pushed that shows so much of the joints' elastic shape, Pa.
pub(super) fn largest_pressure(young: f64, joints: f64) -> f64 {
    (PRESSURE + ELASTIC * joints) * young
}

/// Two directions across the normal, turned with what is touched; of colliders as the normal has them.
pub(super) fn tangents(at: &Instant, touch: &Touch) -> [Vec3; 2] {
    let n = touch.normal;
    let along = at.bodies.get(touch.other as usize).and_then(|other| {
        let corners = other.skin.corners(touch.target.triangle);
        let [a, b, _] = corners.map(|v| other.vertex(v));
        let along = b - a;
        (along - n * n.dot(&along)).try_normalize(0.0)
    });
    let first = along.unwrap_or_else(|| {
        let across = |axis: Vec3| (axis - n * n.dot(&axis)).try_normalize(0.5);
        across(Vec3::x())
            .or_else(|| across(Vec3::y()))
            .unwrap_or_else(Vec3::z)
    });
    [first, n.cross(&first)]
}
