// SPDX-License-Identifier: MIT OR Apache-2.0
//! Vortex: `f = a k W (Z × x)/R` in a ball. The worked example of CONTRIBUTING.md, for tests alone.

use super::*;

pub(in crate::rig) struct VortexField;

impl ForceField for VortexField {
    fn spec(&self) -> &'static Spec {
        &Spec {
            name: "vortex",
            label: "Vortex",
            doc: "Turns flesh around its axis: a wrung wrist",
            icon: "FORCE_VORTEX",
            parameters: &[RADIUS_PARAMETER, STRENGTH_PARAMETER],
        }
    }

    #[inline]
    fn force(&self, &[radius, strength, _]: &ParameterValues, y: &Vec3) -> Option<Vec3> {
        let w = window_root(y.norm_squared(), radius)?.powi(2);
        Some(Vec3::new(-y.y, y.x, 0.0) * (strength * PEAK_NORMALISATION / radius * w))
    }

    #[inline]
    fn derivatives(
        &self,
        &[radius, strength, _]: &ParameterValues,
        y: &Vec3,
    ) -> Option<ForceDerivatives> {
        let (w, m) = (
            WindowWeight::evaluate(y, radius)?,
            Vec3::new(-y.y, y.x, 0.0),
        );
        let slope = Vec3::z().cross_matrix();
        Some(windowed_linear_field(
            &w,
            m,
            &slope,
            (radius, PEAK_NORMALISATION),
            strength,
        ))
    }

    fn outline(&self, &[radius, strength, _]: &ParameterValues) -> OutlineSegments {
        let (far, way) = (
            radius / 5f64.sqrt(),
            Vec3::y() * (0.4 * radius * strength.signum()),
        );
        let arrow = |side: f64| {
            outline::arrow(
                Vec3::x() * (side * far),
                Vec3::x() * (side * far) + way * side,
                0.1 * radius,
            )
        };
        [outline::sphere(radius), arrow(1.0), arrow(-1.0)].concat()
    }
}
