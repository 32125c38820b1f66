// SPDX-License-Identifier: MIT OR Apache-2.0
//! Correspondence of two figures: points are mapped by their figural coordinates.
//!
//! Along a tube u is stretched piecewise linearly, joint onto joint. Around a tube φ begins on the side to which the limb bends. A
//! straight limb begins elsewhere, so that φ between a straight and a bent limb is rotated by the angle between both beginnings. Between a
//! left and a right limb φ runs the other way. All other coordinates stay the same.

use crate::Vec3;
use crate::geometry::frames;
use crate::mrep::error::MRepError;
use crate::mrep::figures::coordinates::Coordinates;
use crate::mrep::figures::figure::{Figure, FigureKind};

/// Map from one figure to another.
pub struct Correspondence {
    from: Coordinates,
    to: Coordinates,
    /// u of the ends and the joints in both figures; for slabs of the ends.
    stations: [Vec<f64>; 2],
    /// Angle added to φ, radians.
    roll: f64,
    /// True if φ runs the other way on the other figure.
    mirrored: bool,
}

impl Correspondence {
    /// Builds the map between two figures of one kind, with any numbers of atoms and spokes. Where either has no joints only the ends
    /// correspond. `mirrored`: for tubes, one on the left of a body and the other on the right.
    ///
    /// # Errors
    /// A slab and a tube; tubes along chains with different numbers of bones.
    pub fn new(from: &Figure, to: &Figure, mirrored: bool) -> Result<Self, MRepError> {
        if is_tube(from) != is_tube(to) {
            let name = |figure| if is_tube(figure) { "tube" } else { "slab" };
            return Err(MRepError::Apart(format!(
                "one figure is a {} and the other a {}: places on one have no counterpart on the other",
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
                "one tube runs along {} bones and the other along {}: make both along the same number",
                a.len() + 1,
                b.len() + 1
            )));
        }
        let whole = |inner: Vec<f64>| [vec![0.0], inner, vec![1.0]].concat();
        Ok(Self {
            from: Coordinates::new(from),
            to: Coordinates::new(to),
            stations: [whole(a), whole(b)],
            roll: roll_between(from, to, mirrored),
            mirrored: mirrored && is_tube(from),
        })
    }

    /// Returns the difference of φ, other figure less first, radians; for mirrored tubes the sum of both.
    pub fn roll(&self) -> f64 {
        self.roll
    }

    /// Returns the other figure's coordinates for coordinates of the first.
    pub fn coordinates(&self, coordinates: &[f64; 4]) -> [f64; 4] {
        let [u, v, around, depth] = *coordinates;
        [
            map_stations(u, &self.stations[0], &self.stations[1]),
            v,
            self.roll + if self.mirrored { -around } else { around },
            depth,
        ]
    }

    /// Returns the other figure's points for points of the first; NaN where a point has no coordinates.
    ///
    /// # Errors
    /// Coordinates outside the other figure's range, which does not occur: both ranges are the same.
    pub fn points(&self, points: &[Vec3]) -> Result<Vec<Vec3>, MRepError> {
        let there: Vec<[f64; 4]> = self
            .from
            .at_points(points)
            .iter()
            .map(|c| self.coordinates(c))
            .collect();
        self.to.points(&there)
    }
}

fn is_tube(figure: &Figure) -> bool {
    matches!(figure.kind(), FigureKind::Tube { .. })
}

/// Returns the angle between the beginnings of φ of a bent and a straight tube, radians. The first is rotated the shortest way onto the
/// second's initial direction: between rest poses a limb is lifted or lowered, hardly rolled. 0 for two bent or two straight tubes, for
/// slabs, and for tubes that face away from each other. `mirrored`: the first is reflected at x = 0 before.
fn roll_between(from: &Figure, to: &Figure, mirrored: bool) -> f64 {
    let bends = [from, to].map(|figure| {
        let directions = figure
            .atoms()
            .iter()
            .map(|a| a.frame.column(0).into_owned());
        frames::total_bend(&directions.collect::<Vec<Vec3>>()).is_some()
    });
    let [a, b] = [from, to].map(|figure| figure.atoms()[0].frame);
    let seen = |v: Vec3| {
        if mirrored {
            Vec3::new(-v.x, v.y, v.z)
        } else {
            v
        }
    };
    let (way, onto) = (seen(a.column(0).into_owned()), b.column(0).into_owned());
    if !is_tube(from) || bends[0] == bends[1] || way.dot(&onto) <= 0.0 {
        return 0.0;
    }
    let turned =
        frames::shortest_rotation(&way, &onto).map(|turn| turn * seen(a.column(2).into_owned()));
    turned.map_or(0.0, |n| n.dot(&b.column(1)).atan2(n.dot(&b.column(2))))
}

/// Maps u piecewise linearly from stations to stations; caps beyond both ends stay.
fn map_stations(u: f64, from: &[f64], to: &[f64]) -> f64 {
    if !(u > 0.0 && u < 1.0) {
        return u;
    }
    let i = from[1..from.len() - 1].partition_point(|s| *s <= u);
    let share = (u - from[i]) / (from[i + 1] - from[i]);
    to[i] + share * (to[i + 1] - to[i])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Mat3;
    use crate::mrep::Atom;
    use crate::mrep::figures::boundary::Boundary;
    use crate::mrep::fixture::{ellipsoid, helix};
    use std::f64::consts::FRAC_PI_2;

    /// A tube with joints, and one that is bent, thinner and longer, with them elsewhere, of more atoms and fewer spokes.
    fn limbs() -> [Figure; 2] {
        let with_joints = |figure: Figure, joints: Vec<f64>| {
            let knots = figure.knots().to_vec();
            Figure::tube_with_knots(figure.atoms().to_vec(), Some(knots), joints).unwrap()
        };
        let turn = *nalgebra::Rotation3::new(Vec3::new(0.4, -1.1, 2.0)).matrix();
        [
            with_joints(helix(7, 8), vec![0.0, 0.45, 1.0]),
            with_joints(helix(11, 6), vec![0.0, 0.6, 1.0]).apply_similarity(
                0.5,
                &turn,
                Vec3::repeat(3.0),
            ),
        ]
    }

    /// Points that are mapped to another figure and back return to their places, and joints map to joints.
    #[test]
    fn correspondence_round_trip() {
        let slabs = [
            ellipsoid([2.0, 1.2, 0.6], 3, 7, 0.8),
            ellipsoid([1.0, 0.8, 0.3], 5, 6, 0.75).apply_similarity(
                2.0,
                &Mat3::identity(),
                Vec3::x(),
            ),
        ];
        for [a, b] in [limbs(), slabs] {
            let (there, back) = (
                Correspondence::new(&a, &b, false).unwrap(),
                Correspondence::new(&b, &a, false).unwrap(),
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
        let there = Correspondence::new(&a, &b, false).unwrap();
        let joint = there.coordinates(&[0.45, 0.0, 1.0, 0.5]);
        assert!((joint[0] - 0.6).abs() < 1e-12);
    }

    /// Mapping a boundary to another figure turns none of its triangles inside out.
    #[test]
    fn correspondence_keeps_triangle_orientation() {
        let [a, b] = limbs();
        let boundary = Boundary::new(&a, 2).unwrap();
        let there = Correspondence::new(&a, &b, false)
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

    /// Builds a limb of two bones that runs along `begins` and bends towards `bends` by `angle` at its middle.
    fn bent_limb(begins: &Vec3, bends: &Vec3, angle: f64) -> Figure {
        let (sin, cos) = angle.sin_cos();
        let hubs: Vec<Vec3> = (0..7)
            .map(|i| {
                let beyond = (f64::from(i) - 3.0).max(0.0);
                begins * (f64::from(i).min(3.0) + beyond * cos) + bends * (beyond * sin)
            })
            .collect();
        let frames = frames::hub_frames(&hubs, 1.0);
        let atom = |(hub, frame): (&Vec3, &Mat3)| Atom::new(*hub, 0.5, *frame, FRAC_PI_2, 8);
        let atoms = hubs.iter().zip(&frames).map(atom).collect();
        Figure::tube_with_knots(atoms, None, vec![0.0, 0.5, 1.0]).unwrap()
    }

    /// A point in front of a straight limb maps to the front of a bent one, whichever spoke comes first.
    #[test]
    fn correspondence_keeps_front_of_limb() {
        let front = -Vec3::y();
        let down = Vec3::new(1.0, 0.0, -1.0).normalize();
        let (straight, bent) = (
            bent_limb(&Vec3::x(), &front, 0.0),
            bent_limb(&down, &front, 0.6),
        );
        let before = Vec3::x() + front * 0.4;
        let there = Correspondence::new(&straight, &bent, false).unwrap();
        let back = Correspondence::new(&bent, &straight, false).unwrap();
        // Which spoke comes first makes no difference.
        assert!(
            (there.roll().abs() - FRAC_PI_2).abs() < 0.05,
            "{}",
            there.roll()
        );
        let found = there.points(&[before]).unwrap()[0];
        assert!((found - down - front * 0.4).norm() < 0.1, "{found}");
        assert!((back.points(&[found]).unwrap()[0] - before).norm() < 1e-12);
        assert!((there.roll() + back.roll()).abs() < 1e-15);
        // Limbs of a sort begin alike, however they lie.
        let turn = *nalgebra::Rotation3::new(Vec3::new(0.4, -1.1, 0.3)).matrix();
        for one in [straight, bent] {
            let other = one.apply_similarity(2.0, &turn, Vec3::y());
            let found = Correspondence::new(&one, &other, false)
                .unwrap()
                .points(&[before]);
            let meant = turn * before * 2.0 + Vec3::y();
            assert!((found.unwrap()[0] - meant).norm() < 1e-12);
        }
    }

    /// Figures of different kinds, or with different numbers of bones, have no correspondence.
    #[test]
    fn correspondence_refuses_unlike_figures() {
        let [a, _] = limbs();
        let slab = ellipsoid([2.0, 1.2, 0.6], 3, 7, 0.8);
        let said = |a: &Figure, b: &Figure| match Correspondence::new(a, b, false) {
            Ok(_) => panic!("no correspondence"),
            Err(why) => why.to_string(),
        };
        assert!(said(&a, &slab).contains("a tube and the other a slab"));
        let more =
            Figure::tube_with_knots(helix(7, 8).atoms().to_vec(), None, vec![0.0, 0.3, 0.6, 1.0])
                .unwrap();
        assert!(said(&a, &more).contains("along 2 bones and the other along 3"));
        assert!(Correspondence::new(&a, &helix(5, 5), false).is_ok());
    }

    /// Reflects a tube at x = 0.
    fn mirror_figure(figure: &Figure) -> Figure {
        let seen = Mat3::from_diagonal(&Vec3::new(-1.0, 1.0, 1.0));
        let atom = |a: &Atom| {
            let [b, n] = [0, 2].map(|k| seen * a.frame.column(k));
            let mut lengths = a.lengths.clone();
            lengths[1..].reverse();
            Atom {
                hub: seen * a.hub,
                frame: Mat3::from_columns(&[b, n.cross(&b), n]),
                lengths,
                ..a.clone()
            }
        };
        let atoms = figure.atoms().iter().map(atom).collect();
        let (knots, joints) = (figure.knots().to_vec(), figure.joints().to_vec());
        Figure::tube_with_knots(atoms, Some(knots), joints).unwrap()
    }

    /// Between a left and a right figure, points map to their mirror images.
    #[test]
    fn mirrored_correspondence_reflects_points() {
        let seen = |p: &Vec3| Vec3::new(-p.x, p.y, p.z);
        let [a, b] = limbs();
        let points = Boundary::new(&a, 1).unwrap().positions(&a);
        for to in [&a, &b] {
            let plain = Correspondence::new(&a, to, false).unwrap().points(&points);
            let there = Correspondence::new(&a, &mirror_figure(to), true).unwrap();
            for (x, y) in there.points(&points).unwrap().iter().zip(plain.unwrap()) {
                assert!((x - seen(&y)).norm() < 1e-6, "{x} {y}");
            }
        }
    }
}
