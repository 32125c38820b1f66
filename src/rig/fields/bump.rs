// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bump: `f = a W Z` in a ball.

use super::*;

pub(in crate::rig) struct BumpField;

impl ForceField for BumpField {
    fn spec(&self) -> &'static Spec {
        &Spec {
            name: "bump",
            label: "Bump",
            doc: "Pushes one way, along the arrow: a dent, a lump, a corner of the mouth",
            icon: "EMPTY_SINGLE_ARROW",
            parameters: &[RADIUS_PARAMETER, STRENGTH_PARAMETER],
        }
    }

    #[inline]
    fn force(&self, &[radius, strength, _]: &ParameterValues, y: &Vec3) -> Option<Vec3> {
        let w = strength * window_root(y.norm_squared(), radius)?.powi(2);
        Some(Vec3::new(0.0, 0.0, w))
    }

    #[inline]
    fn derivatives(
        &self,
        &[radius, strength, _]: &ParameterValues,
        y: &Vec3,
    ) -> Option<ForceDerivatives> {
        let (w, up) = (WindowWeight::evaluate(y, radius)?, Vec3::z());
        Some(ForceDerivatives {
            force: up * (strength * w.value),
            by_place: up * w.by_place.transpose() * strength,
            by_parameter: [up * (strength * w.by_radius), up * w.value, Vec3::zeros()],
        })
    }

    /// Returns a ball, and an arrow along the force.
    fn outline(&self, &[radius, strength, _]: &ParameterValues) -> OutlineSegments {
        let end = Vec3::z() * if strength < 0.0 { -radius } else { radius };
        let arrow = outline::arrow(Vec3::zeros(), end, 0.2 * radius);
        [outline::sphere(radius), arrow].concat()
    }
}
