// SPDX-License-Identifier: MIT OR Apache-2.0
//! Pinned points: the functions at each, what is shown there, and the compliance of the flesh at rest.
//!
//! In a method's own positions P a point is at `Σ φ_a P_a`. Without sway it would be at `T + R z`, with T its skinned place, R the
//! rotation of its bones and z in rest axes, and it would be shown at `T + R b`. Sway u is shown as `bound(w u)`, w and the bound from
//! the flesh map. Hence the place in P at which the point is shown at a target: `T + R (z + w⁻¹ bound⁻¹(Rᵀ (t − T) − b))`.

use super::pin::PinPoint;
use crate::basis::BasisRow;
use crate::body::Body;
use crate::dynamics::shape::FleshShape;
use crate::dynamics::skinned::SkinnedLattice;
use crate::dynamics::{Method, SimulationError};
use crate::kernel::SwayBound;
use crate::range::is_position;
use crate::skeleton::Pose;
use crate::{Mat3, Vec3};
use smallvec::SmallVec;

/// Distance outside the skin up to which a place counts as flesh, as a share of the body's size: a point that a modelling tool puts on the skin.
const SKIN_TOLERANCE: f64 = 1e-3;
/// Norm of the values of free functions below which bones hold a point. At this value the flesh of its cell would move ten thousand
/// times as far as the point.
const MIN_FREE_NORM: f64 = 1e-4;
/// Least share of sway that a pinned vertex may show; below it the flesh underneath would move a hundred times as far.
const MIN_SWAY_SHARE: f32 = 1e-2;
/// Share of the bound on sway that pins may use; at it the sway is 1.75 times the bound.
const MAX_BOUND_SHARE: f64 = 0.999;

/// Functions with their values at a point.
type PointValues = SmallVec<[(u32, f64); 8]>;

/// A point of the flesh: its functions, and how it is shown.
pub(super) struct HeldPoint {
    pub row: BasisRow,
    /// Free functions with their numbers among the free ones.
    pub free: PointValues,
    /// Functions that bones hold.
    known: PointValues,
    /// Function with the largest value; its rotation is that of the point.
    lead: usize,
    /// Vertex of the surface, if it is one.
    vertex: Option<u32>,
    /// Bound of the shown sway.
    bound: SwayBound,
    /// Displacement of the point at rest per force at it, m/N, rest axes.
    pub compliance: Mat3,
}

/// Zero sway of a point at a pose: z and b, m, rest axes.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ZeroSway {
    pub own: Vec3,
    pub shown: Vec3,
    /// Whether the bound of the flesh map applies.
    pub bounded: bool,
    /// Share of the joints' elastic shape in what is shown.
    pub bent: f64,
}

impl ZeroSway {
    /// Flesh that is shown where the method has it.
    const PLAIN: Self = Self {
        own: Vec3::new(0.0, 0.0, 0.0),
        shown: Vec3::new(0.0, 0.0, 0.0),
        bounded: false,
        bent: 1.0,
    };
}

impl HeldPoint {
    /// Finds a point.
    ///
    /// # Errors
    /// A vertex that the surface lacks; a place outside the flesh; a point that bones hold or where the flesh map shows no sway.
    pub fn new(body: &Body, point: PinPoint) -> Result<Self, SimulationError> {
        let mut point = Self::at(body, point)?;
        point.compliance = point.static_compliance(body)?;
        Ok(point)
    }

    /// Finds a point, without its compliance.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn at(body: &Body, point: PinPoint) -> Result<Self, SimulationError> {
        let (row, vertex, bound) = match point {
            PinPoint::Vertex(vertex) => {
                let count = body.surface().vertices().len();
                if vertex as usize >= count {
                    return Err(SimulationError::PinVertex { vertex, count });
                }
                let row = find_row(body, point).unwrap_or_default();
                let bound = body
                    .flesh()
                    .map(|map| map.bound(vertex as usize, body.size()));
                (row, Some(vertex), bound.unwrap_or(SwayBound::UNLIMITED))
            }
            PinPoint::Place(place) => {
                let outside = SimulationError::PinOutside {
                    place: place.into(),
                };
                if !is_position(&place)
                    || body.surface().signed_distance(place) > SKIN_TOLERANCE * body.size()
                {
                    return Err(outside);
                }
                let row = find_row(body, point).ok_or(outside)?;
                (row, None, SwayBound::UNLIMITED)
            }
        };
        let pattern = body.pattern();
        let (mut free, mut known) = (PointValues::new(), PointValues::new());
        for &(a, value) in &row {
            match pattern.node_of_vertex(a as usize) {
                Some(node) => free.push((node, value)),
                None => known.push((a, value)),
            }
        }
        let norm = free
            .iter()
            .map(|(_, value)| value * value)
            .sum::<f64>()
            .sqrt();
        if norm < MIN_FREE_NORM {
            return Err(SimulationError::PinOnBone {
                point: point.to_string(),
            });
        }
        if let Some(vertex) = vertex.filter(|_| bound.share < MIN_SWAY_SHARE) {
            return Err(SimulationError::PinRigid { vertex });
        }
        let larger = |best: usize, k: usize| match row[k].1 > row[best].1 {
            true => k,
            false => best,
        };
        let lead = row[(1..row.len()).fold(0, larger)].0 as usize;
        Ok(Self {
            row,
            free,
            known,
            lead,
            vertex,
            bound,
            compliance: Mat3::zeros(),
        })
    }

    /// Returns the part of the point that functions held by bones give, m.
    pub fn known_part(&self, positions: &[Vec3]) -> Vec3 {
        let values = self.known.iter();
        values
            .map(|&(a, value)| positions[a as usize] * value)
            .sum()
    }

    /// Returns the displacement of the point at rest per force at it, m/N: symmetric.
    fn static_compliance(&self, body: &Body) -> Result<Mat3, SimulationError> {
        let mut compliance = Mat3::zeros();
        for k in 0..3 {
            let mut forces = vec![Vec3::zeros(); body.node_count()];
            for &(a, value) in &self.row {
                forces[a as usize][k] = value;
            }
            let moved = body.static_displacements(&forces)?;
            compliance.set_column(k, &self.position(&moved));
        }
        Ok((compliance + compliance.transpose()) * 0.5)
    }

    /// Returns the point in positions of the lattice's vertices, m.
    pub fn position(&self, positions: &[Vec3]) -> Vec3 {
        let values = self.row.iter();
        values
            .map(|&(a, value)| positions[a as usize] * value)
            .sum()
    }

    /// Returns the rotation of the point's bones.
    pub fn turn(&self, skinned: &SkinnedLattice) -> Mat3 {
        skinned.turns[self.lead]
    }

    /// Returns a place relative to the skinned point, in rest axes.
    pub fn relative(&self, skinned: &SkinnedLattice, place: Vec3) -> Vec3 {
        let carried = self.position(&skinned.places);
        self.turn(skinned).tr_mul(&(place - carried))
    }

    /// Returns a place from one relative to the skinned point, in rest axes.
    pub fn placed(&self, skinned: &SkinnedLattice, relative: Vec3) -> Vec3 {
        self.position(&skinned.places) + self.turn(skinned) * relative
    }

    /// Computes zero sway at a pose; `share` of the joints' own shape is shown.
    pub fn zero_sway(
        &self,
        (body, method): (&Body, Method),
        (shape, share): (&mut FleshShape, f64),
        (pose, skinned): (&Pose, &SkinnedLattice),
    ) -> Result<ZeroSway, SimulationError> {
        if !shape.has_sway() {
            return Ok(ZeroSway::PLAIN);
        }
        let hyperelastic = method == Method::Hyperelastic;
        let lift = match self.vertex {
            Some(vertex) if hyperelastic => {
                shape.lifts_at(body, pose)?.get(vertex as usize).copied()
            }
            _ => None,
        };
        let Some(bends) = shape.bends() else {
            return Ok(ZeroSway::PLAIN);
        };
        let bent = self.position(&bends.balance_at(body, pose)?.places);
        let share = if hyperelastic { 0.0 } else { share };
        let skin = self.skin(body, pose).map(|skin| match lift {
            Some(lift) => {
                let vertex = self.vertex.unwrap_or_default() as usize;
                skin + skinned.bones().rotation(body.skin().row(vertex)) * lift
            }
            None => skin,
        });
        let shown = skin.map_or(bent, |skin| skin + (bent - skin) * share);
        let own = match method.adds_joint_shape() {
            true => Vec3::zeros(),
            false => self.relative(skinned, bent),
        };
        Ok(ZeroSway {
            own,
            shown: self.relative(skinned, shown),
            bounded: self.vertex.is_some(),
            bent: if skin.is_some() { share } else { 1.0 },
        })
    }

    /// Returns the artist's skin at the point; `None` if it is no vertex that bones carry.
    fn skin(&self, body: &Body, pose: &Pose) -> Option<Vec3> {
        let mut row = body.skin().row(self.vertex? as usize).peekable();
        row.peek()?;
        let x = self.position(body.rest_shape());
        Some(
            row.map(|(bone, weight)| pose.maps()[bone as usize].apply(x) * weight)
                .sum(),
        )
    }

    /// Returns the place in a method's positions, relative to the skinned point, at which the point is shown at `shown`; both in rest axes.
    pub fn own_of_shown(&self, zero: &ZeroSway, shown: Vec3) -> Vec3 {
        let sway = shown - zero.shown;
        let sway = match zero.bounded {
            true => self.unbounded(sway),
            false => sway,
        };
        zero.own + sway
    }

    /// Returns where a point at `own` in a method's positions is shown; inverse of [`own_of_shown`](Self::own_of_shown).
    pub fn shown_of_own(&self, zero: &ZeroSway, own: Vec3) -> Vec3 {
        let mut sway = own - zero.own;
        if zero.bounded {
            sway *= f64::from(self.bound.share);
            let (limit, d) = (f64::from(self.bound.limit), sway.norm());
            let free = limit * (2.0 / 3.0);
            if d > free {
                let rest = limit - free;
                sway *= (free + rest * ((d - free) / rest).tanh()) / d;
            }
        }
        zero.shown + sway
    }

    /// Returns the sway that is shown as `shown`.
    fn unbounded(&self, shown: Vec3) -> Vec3 {
        let (limit, d) = (f64::from(self.bound.limit), shown.norm());
        let free = limit * (2.0 / 3.0);
        let factor = match d > free {
            true => {
                let (rest, most) = (limit - free, limit * MAX_BOUND_SHARE);
                (free + rest * ((d.min(most) - free) / rest).atanh()) / d
            }
            false => 1.0,
        };
        shown * (factor / f64::from(self.bound.share))
    }
}

/// Returns the functions of a body with their values at a point; `None`: the lattice does not contain it.
pub(super) fn find_row(body: &Body, point: PinPoint) -> Option<BasisRow> {
    match point {
        PinPoint::Vertex(vertex) => {
            let row = body.embedding().row(vertex as usize);
            Some(row.map(|(a, value)| (a as u32, value)).collect())
        }
        PinPoint::Place(place) => {
            let cell = body.lattice().locate(place)?;
            Some(body.basis().row(cell, place))
        }
    }
}
