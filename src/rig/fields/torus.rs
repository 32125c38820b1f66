// SPDX-License-Identifier: MIT OR Apache-2.0
//! Torus: `f = a k W(|v|/R) v/R`, v from the nearest point of the circle of radius A about Z, `R < A`.
//!
//! W is zero on the torus's axis, where v is not smooth.

use super::*;

pub(in crate::rig) struct TorusField;

impl ForceField for TorusField {
    fn spec(&self) -> &'static Spec {
        &Spec {
            name: "torus",
            label: "Torus",
            doc: "Pushes away from a ring, or towards it: a nostril, a collar, a swallow",
            icon: "MESH_TORUS",
            parameters: &[
                Parameter {
                    name: "ring_radius",
                    label: "Ring Radius",
                    doc: "Radius of the ring that the field surrounds",
                    ..RADIUS_PARAMETER
                },
                Parameter {
                    name: "tube_radius",
                    label: "Tube Radius",
                    doc: "Distance from the ring that the field reaches; less than the ring's own radius",
                    default: 0.05,
                    ..RADIUS_PARAMETER
                },
                STRENGTH_PARAMETER,
            ],
        }
    }

    fn usual_proportions(&self) -> &'static [f64] {
        &[0.6, 0.4]
    }

    fn nested_indices(&self) -> Option<(usize, usize)> {
        Some((0, 1))
    }

    fn resolved_index(&self) -> usize {
        1
    }

    /// The grid's errors even out around the ring.
    fn voxels_per_length(&self) -> f64 {
        3.0
    }

    /// A ring reaches much new flesh.
    fn max_update_change(&self) -> (f64, f64) {
        (0.1, 0.25)
    }

    fn reach(&self, &[ring, tube, _]: &ParameterValues) -> f64 {
        ring + tube
    }

    fn distance(&self, &[ring, tube, _]: &ParameterValues, y: &Vec3) -> f64 {
        (y.xy().norm() - ring).hypot(y.z) - tube
    }

    fn window(&self, &[ring, tube, _]: &ParameterValues, y: &Vec3) -> Option<f64> {
        let out = y.xy().norm() - ring;
        Some(window_root(out * out + y.z * y.z, tube)?.powi(2))
    }

    fn volume(&self, &[ring, tube, _]: &ParameterValues) -> f64 {
        2.0 * (PI * tube).powi(2) * ring
    }

    fn depth(&self, &[_, tube, _]: &ParameterValues) -> f64 {
        2.0 * tube
    }

    #[inline]
    fn force(&self, &[ring, tube, strength]: &ParameterValues, y: &Vec3) -> Option<Vec3> {
        let rho = y.xy().norm();
        let out = rho - ring;
        let w = window_root(out * out + y.z * y.z, tube)?.powi(2);
        // The axis lies outside the support.
        let v = Vec3::new(y.x * out / rho, y.y * out / rho, y.z);
        Some(v * (strength * PEAK_NORMALISATION / tube * w))
    }

    #[inline]
    fn derivatives(
        &self,
        &[ring, tube, strength]: &ParameterValues,
        y: &Vec3,
    ) -> Option<ForceDerivatives> {
        let rho = y.xy().norm();
        let out = rho - ring;
        if out * out + y.z * y.z >= tube * tube {
            return None;
        }
        let across = Vec3::new(y.x / rho, y.y / rho, 0.0);
        let along = Vec3::new(-across.y, across.x, 0.0);
        let v = across * out + Vec3::z() * y.z;
        let w = WindowWeight::evaluate(&v, tube)?;
        let of_v = windowed_linear_field(
            &w,
            v,
            &Mat3::identity(),
            (tube, PEAK_NORMALISATION),
            strength,
        );
        // v follows the point except around the circle, and moves by −across with the ring's radius.
        let v_by_y = Mat3::identity() - along * along.transpose() * (ring / rho);
        let [by_tube, by_strength, _] = of_v.by_parameter;
        Some(ForceDerivatives {
            force: of_v.force,
            by_place: of_v.by_place * v_by_y,
            by_parameter: [-(of_v.by_place * across), by_tube, by_strength],
        })
    }

    /// Returns the inner, outer, upper and lower ring, and eight rings of the tube.
    fn outline(&self, &[ring, tube, _]: &ParameterValues) -> OutlineSegments {
        let rings = [
            (ring + tube, 0.0),
            ((ring - tube).abs(), 0.0),
            (ring, -tube),
            (ring, tube),
        ];
        let rings = rings
            .into_iter()
            .flat_map(|(r, z)| outline::horizontal_circle(r, z));
        let round = |sin: f64, cos: f64| (ring + tube * cos, tube * sin);
        let tubes = (0..8).flat_map(|i| outline::profile(FRAC_PI_4 * f64::from(i), true, round));
        rings.chain(tubes).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::surface::shapes::random_points;

    /// A torus field is smooth on its circle and zero on its axis.
    #[test]
    fn torus_smooth_on_circle() {
        let p = [0.3, 0.12, 90.0];
        for angle in [0.0, 1.0, 2.5, 4.0] {
            let on = Vec3::new(f64::cos(angle), f64::sin(angle), 0.0) * p[0];
            let middle = TorusField.derivatives(&p, &on).unwrap();
            assert!(middle.force.norm() < 1e-12 * p[2]);
            for y in random_points(20, 1e-7, 5) {
                let near = TorusField.derivatives(&p, &(on + y)).unwrap();
                let jump = (near.by_place - middle.by_place).norm();
                assert!(jump < 1e-4 * middle.by_place.norm());
            }
        }
        for z in [-0.1, 0.0, 0.05] {
            assert!(
                TorusField
                    .derivatives(&p, &Vec3::new(0.0, 0.0, z))
                    .is_none()
            );
        }
    }
}
