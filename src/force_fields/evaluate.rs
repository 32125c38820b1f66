// SPDX-License-Identifier: MIT OR Apache-2.0
//! Accelerations of one field at one instant.

use super::noise::noise_3d;
use super::{
    FLOW, Falloff, FieldKind, FieldShape, FieldSide, ForceField, LINEAR, MAX_DISTANCE, MAX_RADIUS,
    MIN_DISTANCE, MIN_RADIUS, NUMBER_COUNT, POWER, QUADRATIC, RADIAL_POWER, SIZE, STRENGTH,
};
use crate::Vec3;
use nalgebra::Isometry3;

/// Distance in units within which a force falls to zero at its centre, where it has no direction.
const CORE: f64 = 0.05;

/// Place and numbers of a field at an instant.
#[derive(Debug, Clone)]
pub(crate) struct FieldState {
    pub place: Isometry3<f64>,
    pub numbers: [f64; NUMBER_COUNT],
}

impl FieldState {
    /// Returns the state at the share `s` from this one to another; exact at both ends and where nothing changes.
    pub fn interpolate(&self, end: &Self, s: f64) -> Self {
        if s >= 1.0 {
            return end.clone();
        }
        let mut numbers = self.numbers;
        for (from, to) in numbers.iter_mut().zip(&end.numbers) {
            let finite = from.is_finite() && to.is_finite();
            *from = match finite && *from != *to {
                true => *from * (1.0 - s) + to * s,
                false => *to,
            };
        }
        let place = match self.place == end.place {
            true => self.place,
            false => {
                let (from, to) = (&self.place, &end.place);
                let middle = from.translation.vector * (1.0 - s) + to.translation.vector * s;
                // Half a turn between two frames has no shortest way; the end's direction is as good as any.
                let turn = from
                    .rotation
                    .try_slerp(&to.rotation, s, 1e-9)
                    .unwrap_or(to.rotation);
                Isometry3::from_parts(middle.into(), turn)
            }
        };
        Self { place, numbers }
    }

    /// Returns the state moved by a rigid motion of the world.
    pub fn transform(&self, by: &Isometry3<f64>) -> Self {
        Self {
            place: by * self.place,
            numbers: self.numbers,
        }
    }
}

/// Returns the falloff by a distance: 1 up to `least`, 0 beyond `most`, and a power of the distance in between.
fn distance_falloff(distance: f64, least: f64, most: f64, power: f64) -> f64 {
    if distance > most {
        0.0
    } else if power == 0.0 || distance <= least {
        1.0
    } else {
        (1.0 + distance - least).powf(-power)
    }
}

impl ForceField {
    /// Returns the acceleration of flesh at rest at a point, m/s², and the rate at which flesh of velocity `v` slows down, 1/s.
    pub(crate) fn acceleration(&self, at: &FieldState, x: &Vec3, v: &Vec3) -> (Vec3, f64) {
        let n = &at.numbers;
        let from_place = x - at.place.translation.vector;
        // In the field's own axes and units.
        let own = at.place.rotation.inverse_transform_vector(&from_place) / self.unit;
        let away = match self.shape {
            FieldShape::Point => own,
            FieldShape::Line => Vec3::new(own.x, own.y, 0.0),
            FieldShape::Plane => Vec3::new(0.0, 0.0, own.z),
        };
        let falloff = self.falloff_at(n, &own, away.norm());
        if falloff == 0.0 {
            return (Vec3::zeros(), 0.0);
        }
        let strength = n[STRENGTH] * falloff;
        let flow = n[FLOW] * falloff;
        let (acceleration, rate) = match self.kind {
            FieldKind::Wind => (Vec3::new(0.0, 0.0, strength), flow),
            FieldKind::Force => {
                let distance = away.norm();
                let square = if self.gravitation {
                    distance.max(CORE).powi(2)
                } else {
                    1.0
                };
                (away * (strength / distance.max(CORE) / square), flow)
            }
            FieldKind::Vortex => (Vec3::new(-own.y, own.x, 0.0) * strength, flow),
            FieldKind::Turbulence => {
                let size = n[SIZE];
                if self.global {
                    let force = noise_3d(self.seed, &(x / (self.unit * size))) * strength;
                    return (force, flow);
                }
                (noise_3d(self.seed, &(own / size)) * strength, flow)
            }
            FieldKind::Drag => {
                let rate = falloff * (n[LINEAR] + n[QUADRATIC] * v.norm());
                return (Vec3::zeros(), rate);
            }
        };
        (at.place.rotation * acceleration, rate)
    }

    /// Returns the falloff at a point in the field's own axes and units, at a distance from its shape.
    fn falloff_at(&self, n: &[f64; NUMBER_COUNT], own: &Vec3, distance: f64) -> f64 {
        let along = own.z;
        let wrong_side = match self.side {
            FieldSide::Both => false,
            FieldSide::Positive => along < 0.0,
            FieldSide::Negative => along > 0.0,
        };
        if wrong_side {
            return 0.0;
        }
        let by_distance = |d: f64| distance_falloff(d, n[MIN_DISTANCE], n[MAX_DISTANCE], n[POWER]);
        let by_radius = |r: f64| distance_falloff(r, n[MIN_RADIUS], n[MAX_RADIUS], n[RADIAL_POWER]);
        let radius = own.x.hypot(own.y);
        match self.falloff {
            Falloff::Sphere => by_distance(distance),
            Falloff::Tube => by_distance(along.abs()) * by_radius(radius),
            Falloff::Cone => by_distance(along.abs()) * by_radius(radius.atan2(along).to_degrees()),
        }
    }
}
