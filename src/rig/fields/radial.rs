// SPDX-License-Identifier: MIT OR Apache-2.0
//! Radial: `f = a k W x/R` in a ball.

use super::*;

pub(in crate::rig) struct RadialField;

impl ForceField for RadialField {
    fn spec(&self) -> &'static Spec {
        &Spec {
            name: "radial",
            label: "Radial",
            doc: "Pushes outward from a point, or inward: swelling, shrinking",
            icon: "FORCE_FORCE",
            parameters: &[RADIUS_PARAMETER, STRENGTH_PARAMETER],
        }
    }

    #[inline]
    fn force(&self, &[radius, strength, _]: &ParameterValues, y: &Vec3) -> Option<Vec3> {
        let w = window_root(y.norm_squared(), radius)?.powi(2);
        Some(y * (strength * PEAK_NORMALISATION / radius * w))
    }

    #[inline]
    fn derivatives(
        &self,
        &[radius, strength, _]: &ParameterValues,
        y: &Vec3,
    ) -> Option<ForceDerivatives> {
        let w = WindowWeight::evaluate(y, radius)?;
        Some(windowed_linear_field(
            &w,
            *y,
            &Mat3::identity(),
            (radius, PEAK_NORMALISATION),
            strength,
        ))
    }

    /// Returns a ball, and arrows away from its centre along axes and diagonals.
    fn outline(&self, &[radius, ..]: &ParameterValues) -> OutlineSegments {
        let grid =
            (0..27).map(|i| Vec3::from([i / 9, i / 3 % 3, i % 3].map(|k| f64::from(k) - 1.0)));
        let ways = grid.filter(|d| [1.0, 3.0].contains(&d.abs().sum()));
        let arrows = ways.flat_map(|d| {
            let end = d.normalize() * radius;
            outline::arrow(end * 0.35, end, 0.12 * radius)
        });
        outline::sphere(radius).into_iter().chain(arrows).collect()
    }
}
