// SPDX-License-Identifier: MIT OR Apache-2.0
//! The same place on another figure: points go over by their figural coordinates.
//!
//! Along a tube u is stretched piecewise so that joint comes to lie on joint; everything else stays as it is.

use super::coordinates::Coordinates;
use super::error::MRepError;
use super::figure::{Figure, Kind};
use crate::Vec3;

/// From one figure to another and back.
pub struct Correspondence {
    from: Coordinates,
    to: Coordinates,
    /// u of the ends and the joints in both figures; of slabs the ends.
    stations: [Vec<f64>; 2],
}

impl Correspondence {
    /// Between figures of one kind; how many atoms and spokes they have does not matter. Where either has no joints only the
    /// ends correspond.
    ///
    /// # Errors
    /// A slab and a tube; tubes along chains of different numbers of bones.
    pub fn new(from: &Figure, to: &Figure) -> Result<Self, MRepError> {
        let is_tube = |figure: &Figure| matches!(figure.kind(), Kind::Tube { .. });
        if is_tube(from) != is_tube(to) {
            let name = |figure| if is_tube(figure) { "tube" } else { "slab" };
            return Err(MRepError::Apart(format!(
                "one figure is a {} and the other a {}: places of one have none on the other",
                name(from),
                name(to)
            )));
        }
        let inner = |figure: &Figure| -> Vec<f64> {
            let mut all = figure.joints().to_vec();
            all.retain(|u| *u > 1e-9 && *u < 1.0 - 1e-9);
            all.sort_by(f64::total_cmp);
            all.dedup_by(|a, b| *a - *b < 1e-9);
            all
        };
        let (mut a, mut b) = (inner(from), inner(to));
        if from.joints().is_empty() || to.joints().is_empty() {
            (a, b) = (Vec::new(), Vec::new());
        }
        if a.len() != b.len() {
            return Err(MRepError::Apart(format!(
                "one tube has {} joints between its ends and the other {}: make both along the same number of bones",
                a.len(),
                b.len()
            )));
        }
        let whole = |inner: Vec<f64>| [vec![0.0], inner, vec![1.0]].concat();
        Ok(Self {
            from: Coordinates::new(from),
            to: Coordinates::new(to),
            stations: [whole(a), whole(b)],
        })
    }

    /// Coordinates of the other figure at coordinates of the first.
    pub fn coordinates(&self, coordinates: &[f64; 4]) -> [f64; 4] {
        let [u, v, around, depth] = *coordinates;
        [
            stretched(u, &self.stations[0], &self.stations[1]),
            v,
            around,
            depth,
        ]
    }

    /// Points of the other figure at points of the first; NaN where a point has no coordinates.
    ///
    /// # Errors
    /// None of points: coordinates of one figure are some of the other.
    pub fn points(&self, points: &[Vec3]) -> Result<Vec<Vec3>, MRepError> {
        let there: Vec<[f64; 4]> = self
            .from
            .of(points)
            .iter()
            .map(|c| self.coordinates(c))
            .collect();
        self.to.points(&there)
    }
}

/// u between other stations; caps beyond both ends stay.
fn stretched(u: f64, from: &[f64], to: &[f64]) -> f64 {
    if !(u > 0.0 && u < 1.0) {
        return u;
    }
    let i = from[1..from.len() - 1].partition_point(|s| *s <= u);
    let share = (u - from[i]) / (from[i + 1] - from[i]);
    to[i] + share * (to[i + 1] - to[i])
}

#[cfg(test)]
mod tests {
    use super::super::boundary::Boundary;
    use super::super::fixture::{ellipsoid, helix};
    use super::*;
    use crate::Mat3;

    /// A tube with joints, and one that is bent, thinner and longer, with them elsewhere, of more atoms and fewer spokes.
    fn limbs() -> [Figure; 2] {
        let with_joints = |figure: Figure, joints: Vec<f64>| {
            let knots = figure.knots().to_vec();
            Figure::tube_with(figure.atoms().to_vec(), Some(knots), joints).unwrap()
        };
        let turn = *nalgebra::Rotation3::new(Vec3::new(0.4, -1.1, 2.0)).matrix();
        [
            with_joints(helix(7, 8), vec![0.0, 0.45, 1.0]),
            with_joints(helix(11, 6), vec![0.0, 0.6, 1.0]).transformed(
                0.5,
                &turn,
                Vec3::repeat(3.0),
            ),
        ]
    }

    #[test]
    fn there_and_back_is_where_it_was_and_joints_meet() {
        let slabs = [
            ellipsoid([2.0, 1.2, 0.6], 3, 7, 0.8),
            ellipsoid([1.0, 0.8, 0.3], 5, 6, 0.75).transformed(2.0, &Mat3::identity(), Vec3::x()),
        ];
        for [a, b] in [limbs(), slabs] {
            let (there, back) = (
                Correspondence::new(&a, &b).unwrap(),
                Correspondence::new(&b, &a).unwrap(),
            );
            let boundary = Boundary::new(&a, 2).unwrap();
            for depth in [0.3, 1.0, 1.1] {
                let inner: Vec<[f64; 4]> = boundary
                    .coordinates
                    .iter()
                    .map(|[u, v, p, _]| [*u, *v, *p, depth])
                    .collect();
                let points = a.points(&inner).unwrap();
                let again = back.points(&there.points(&points).unwrap()).unwrap();
                for (p, q) in points.iter().zip(&again) {
                    assert!((p - q).norm() < 1e-12 * a.size(), "{p:?} {q:?}");
                }
            }
        }
        let [a, b] = limbs();
        let there = Correspondence::new(&a, &b).unwrap();
        let joint = there.coordinates(&[0.45, 0.0, 1.0, 0.5]);
        assert!((joint[0] - 0.6).abs() < 1e-12);
    }

    #[test]
    fn no_triangle_of_the_boundary_is_turned() {
        let [a, b] = limbs();
        let boundary = Boundary::new(&a, 2).unwrap();
        let there = Correspondence::new(&a, &b)
            .unwrap()
            .points(&boundary.positions(&a))
            .unwrap();
        let normal =
            |corners: [Vec3; 3]| (corners[1] - corners[0]).cross(&(corners[2] - corners[0]));
        let coordinates = b.coordinates(&there);
        for t in &boundary.triangles {
            let corners = t.map(|v| there[v as usize]);
            // Outward is away from the hub below.
            let c = coordinates[t[0] as usize];
            let hub = b.points(&[[c[0], c[1], c[2], 0.0]]).unwrap()[0];
            assert!(
                normal(corners).dot(&(corners[0] - hub)) > 0.0,
                "{corners:?}"
            );
        }
    }

    #[test]
    fn figures_without_a_common_place_are_refused() {
        let [a, _] = limbs();
        let slab = ellipsoid([2.0, 1.2, 0.6], 3, 7, 0.8);
        let said = |a: &Figure, b: &Figure| match Correspondence::new(a, b) {
            Ok(_) => panic!("no correspondence"),
            Err(why) => why.to_string(),
        };
        assert!(said(&a, &slab).contains("a tube and the other a slab"));
        let more = Figure::tube_with(helix(7, 8).atoms().to_vec(), None, vec![0.0, 0.3, 0.6, 1.0])
            .unwrap();
        assert!(said(&a, &more).contains("1 joints"), "{}", said(&a, &more));
        assert!(Correspondence::new(&a, &helix(5, 5)).is_ok());
    }
}
