// SPDX-License-Identifier: MIT OR Apache-2.0
//! One contact as a row of the complementarity problem, with its tangents. [docs/methods/contact.md]

use crate::contact::ContactSettings;
use crate::contact::instant::ContactInstant;
use crate::contact::posed_flesh::{PosedFlesh, SwayDerivatives};
use crate::contact::record::LiveContact;
use crate::contact::response::complementarity::{
    Constraint, ConstraintEntry, ConstraintSet, Friction,
};
use crate::contact::search::narrow::Touch;
use crate::contact::skin::SkinPoint;
use crate::{Mat3, Vec3};
use smallvec::SmallVec;

/// Speed at which overlaps are parted, sizes of the body per second: a tenth in a fifth of a second, which is no jump. Half and twice the value leave
/// the same depths.
pub(in crate::contact) const RECOVERY_SPEED: f64 = 0.5;
/// Distance kept for skin that bulges between the proxies, in cells. With half the value an elbow at 136° keeps 0.07 % of the size double instead of
/// nothing.
const BULGE_MARGIN: f64 = 0.005;
/// Largest pressure of a contact, in Young's moduli of the flesh there, and the increase where joints are elastic, whose folds are of flesh. Where
/// plain skinning folds skin through itself, flesh cannot make up for it, and ever larger forces would do harm. Half the first leaves 102 vertices of
/// an elbow at 148° in other flesh instead of 98, twice 87. Where joints are elastic half the second leaves 76 instead of 62, twice 54.
const MAX_PRESSURE: f64 = 1.0;
const JOINT_PRESSURE_GAIN: f64 = 3.0;

/// Parameters of contact of each body, and their combination for pairs.
#[derive(Debug)]
pub(in crate::contact) struct PairParameters(Vec<ContactSettings>);

impl PairParameters {
    pub fn new(options: &[ContactSettings]) -> Self {
        Self(options.to_vec())
    }

    /// Returns the largest thickness of all bodies.
    pub fn largest_thickness(&self) -> f64 {
        let thickness = self.0.iter().map(|o| o.thickness);
        thickness.fold(0.0, f64::max)
    }

    /// Returns the compliance of a body's own contacts.
    pub fn compliance(&self, body: usize) -> f64 {
        self.0[body].compliance
    }

    /// Returns the compliance of a touch: for two bodies the mean of both.
    fn touch_compliance(&self, touch: &Touch) -> f64 {
        let own = self.compliance(touch.body as usize);
        let other = self.0.get(touch.other as usize);
        other.map_or(own, |other| 0.5 * (own + other.compliance))
    }

    /// Returns the requested thickness between a body and the touched body or collider, metres: for two bodies the mean of both.
    fn requested_thickness(&self, touch: &Touch, at: &ContactInstant) -> f64 {
        let own = self.0[touch.body as usize].thickness;
        match at.collider(touch.other) {
            Some(collider) => own + collider.collider().thickness(),
            None => 0.5 * (own + self.0[touch.other as usize].thickness),
        }
    }

    /// Returns the distance kept in addition, for skin between proxies, metres.
    fn bulge_distance(touch: &Touch, at: &ContactInstant) -> f64 {
        let other = at.bodies.get(touch.other as usize);
        other.map_or(0.0, |other| BULGE_MARGIN * other.skin.cell_size())
    }

    /// Returns the reported gap: the distance less the requested thickness, metres.
    pub(in crate::contact) fn reported_gap(&self, touch: &Touch, at: &ContactInstant) -> f64 {
        let apart = at.proxy_position(touch.body, touch.proxy)
            - at.target_position(touch.other, &touch.target);
        touch.normal.dot(&apart) - self.requested_thickness(touch, at)
    }

    /// Returns the gap that the constraint uses, metres.
    pub(in crate::contact) fn gap(&self, touch: &Touch, at: &ContactInstant) -> f64 {
        self.reported_gap(touch, at) - Self::bulge_distance(touch, at)
    }

    /// Adds the row of a touch, with its tangents, at the end of a step of `h` seconds. `former` is its contact in the last step.
    pub(in crate::contact) fn add_row(
        &self,
        touch: &Touch,
        (before, after): (&ContactInstant, &ContactInstant),
        former: Option<&LiveContact>,
        h: f64,
        constraints: &mut ConstraintSet,
    ) {
        let body = &after.bodies[touch.body as usize];
        let proxy = &body.skin.proxies()[touch.proxy as usize];
        let at = |instant: &ContactInstant| {
            instant.proxy_position(touch.body, touch.proxy)
                - instant.target_position(touch.other, &touch.target)
        };
        let (n, slid) = (touch.normal, at(after) - at(before));
        let gap = self.gap(touch, after) + self.modelled_overlap(touch, after);
        let recovery = RECOVERY_SPEED * body.skin.body().size() * h;
        let (slopes, give) = node_slopes(touch, after);
        let mut entries = |direction: Vec3| {
            let entry = |&(body, node, slope): &(u32, u32, Mat3)| ConstraintEntry {
                body,
                node,
                direction: slope.tr_mul(&direction),
            };
            constraints.add_entries(slopes.iter().map(entry))
        };
        let normal = entries(n);
        let tangents = tangents(after, touch);
        let coefficient = self.friction_coefficient(touch, after);
        let friction = (coefficient > 0.0).then(|| Friction {
            tangents: tangents.map(&mut entries),
            slides: tangents.map(|t| t.dot(&slid)),
            coefficient,
            forces: tangents.map(|t| former.map_or(0.0, |l| l.friction.dot(&t))),
        });
        constraints.rows.push(Constraint {
            normal,
            gap: gap.max(n.dot(&slid) - recovery),
            friction,
            compliance: self.touch_compliance(touch),
            give,
            limit: pressure(touch, after) * proxy.area,
            force: former.map_or(0.0, |l| l.force),
        });
    }

    /// Returns the distance by which a body's own skin is nearer at rest than the distance kept, metres: it may stay so.
    fn modelled_overlap(&self, touch: &Touch, at: &ContactInstant) -> f64 {
        if touch.body != touch.other {
            return 0.0;
        }
        let skin = at.bodies[touch.body as usize].skin;
        let rest = skin.proxies()[touch.proxy as usize].rest;
        let apart = rest - skin.rest_point(&touch.target);
        (self.requested_thickness(touch, at) + Self::bulge_distance(touch, at) - apart.norm())
            .max(0.0)
    }

    /// Returns Coulomb's friction coefficient: the geometric mean of both sides.
    fn friction_coefficient(&self, touch: &Touch, at: &ContactInstant) -> f64 {
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

/// Derivatives of a touch's separation with respect to nodes: body, node, matrix.
type NodeSlopes = SmallVec<[(u32, u32, Mat3); 64]>;

/// Returns the derivatives of a touch's separation, and the largest `SwayLimiter::restraint_factor` of its corners, at least 1.
fn node_slopes(touch: &Touch, at: &ContactInstant) -> (NodeSlopes, f64) {
    let proxy = &at.bodies[touch.body as usize].skin.proxies()[touch.proxy as usize];
    let other = at.collider(touch.other).is_none();
    let other = other.then_some((touch.other, &touch.target, -1.0));
    let mut give = 1.0_f64;
    let mut joint = NodeSlopes::new();
    for (index, point, sign) in [(touch.body, &proxy.point, 1.0)].into_iter().chain(other) {
        let body = &at.bodies[index as usize];
        let mut slopes = SwayDerivatives::new();
        give = give.max(body.add_derivatives(point, sign, &mut slopes));
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
    (joint, give)
}

/// Returns the largest pressure of a touch, Pa: of two bodies the larger one.
fn pressure(touch: &Touch, at: &ContactInstant) -> f64 {
    // Contact with other bodies is not a fold of the skin.
    let fold = touch.body == touch.other;
    let of = |body: &PosedFlesh, point: &SkinPoint| {
        let joints = if fold {
            body.elastic_joints_at(point)
        } else {
            1.0
        };
        largest_pressure(body.young_at(point), joints)
    };
    let body = &at.bodies[touch.body as usize];
    let own = of(body, &body.skin.proxies()[touch.proxy as usize].point);
    let other = at.bodies.get(touch.other as usize);
    other.map_or(own, |other| own.max(of(other, &touch.target)))
}

/// Returns the largest contact pressure, Pa, for a Young's modulus, Pa, and the share of the joints' elastic shape that is shown.
pub(in crate::contact) fn largest_pressure(young: f64, joints: f64) -> f64 {
    (MAX_PRESSURE + JOINT_PRESSURE_GAIN * joints) * young
}

/// Returns two unit tangents, which turn with the touched skin; for colliders they depend on the normal alone.
pub(in crate::contact) fn tangents(at: &ContactInstant, touch: &Touch) -> [Vec3; 2] {
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
