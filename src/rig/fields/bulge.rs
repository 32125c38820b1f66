// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bulge: `f = a (k/2) W (x_⊥ − 2 x_∥)/R` in a ball, about the axis Z.

use super::*;

pub(in crate::rig) struct BulgeField;

/// Factors of the bulge: it widens across and squeezes along Z.
const BULGE_FACTORS: Vec3 = Vec3::new(1.0, 1.0, -2.0);

impl ForceField for BulgeField {
    fn spec(&self) -> &'static Spec {
        &Spec {
            name: "bulge",
            label: "Bulge",
            doc: "Draws together along its axis and pushes outward around it: a muscle that contracts",
            icon: "META_ELLIPSOID",
            parameters: &[RADIUS_PARAMETER, STRENGTH_PARAMETER],
        }
    }

    /// A muscle lies along its bone.
    fn tilt(&self) -> f64 {
        FRAC_PI_2
    }

    #[inline]
    fn force(&self, &[radius, strength, _]: &ParameterValues, y: &Vec3) -> Option<Vec3> {
        let w = window_root(y.norm_squared(), radius)?.powi(2);
        Some(y.component_mul(&BULGE_FACTORS) * (0.5 * strength * PEAK_NORMALISATION / radius * w))
    }

    #[inline]
    fn derivatives(
        &self,
        &[radius, strength, _]: &ParameterValues,
        y: &Vec3,
    ) -> Option<ForceDerivatives> {
        let (w, m) = (
            WindowWeight::evaluate(y, radius)?,
            y.component_mul(&BULGE_FACTORS),
        );
        let slope = Mat3::from_diagonal(&BULGE_FACTORS);
        Some(windowed_linear_field(
            &w,
            m,
            &slope,
            (radius, 0.5 * PEAK_NORMALISATION),
            strength,
        ))
    }

    /// Returns the boundary about the middle, lobes where it pushes out, and arrows where it draws in.
    fn outline(&self, &[radius, ..]: &ParameterValues) -> OutlineSegments {
        let lobe = |sin: f64, cos: f64| (radius * sin.powi(3), radius * sin.powi(2) * cos);
        let lobes = (0..4).flat_map(|i| outline::profile(FRAC_PI_2 * f64::from(i), false, lobe));
        let arrows = [-1.0, 1.0].into_iter().flat_map(|side| {
            let start = Vec3::z() * (side * radius);
            outline::arrow(start, start * 0.3, 0.15 * radius)
        });
        let middle = outline::horizontal_circle(radius, 0.0).into_iter();
        middle.chain(lobes).chain(arrows).collect()
    }
}
