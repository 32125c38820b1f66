// SPDX-License-Identifier: MIT OR Apache-2.0
//! Energy that keeps flesh from spinning about a straight bone. [capell2002, §4.6]
//!
//! `U = ½ κ ∫_{Ω_β} d·d` over the flesh Ω_β within a radius of a bone, with the displacement d relative
//! to the moved bone. Its Hessian `κ ∫ φ_a φ_b I` does not depend on the pose.
//!
//! Deviation: the pull on flesh is multiplied by the flesh's region weight for the bone ([`crate::body`]
//! applies it). Otherwise tubes of bones that meet or overlap would tear it.
//!
//! Deviation: Ω_β is a thin tube, often thinner than a cell's subdivision. So it is not assembled from
//! the cells' tetrahedra, but integrated by its own points: along the bone, on rings around it.

use super::flesh::FleshDomain;
use crate::Vec3;
use crate::basis::{Basis, BasisRow};
use crate::lattice::Lattice;
use rayon::prelude::*;

/// Default radius, as a share of the distance to the skin. Half keeps the tube in flesh where the distance falls to half of its mean.
const RADIUS_SHARE: f64 = 0.5;
/// Number of points on a ring. Eight even points are exact for up to seven waves around.
const POINTS_PER_RING: usize = 8;
/// Squared radii of the rings, as shares of the squared radius: Gauss points, exact for cubics in ρ².
const RING_SQUARED_RADII: [f64; 2] = [0.211_324_865_405_187_1, 0.788_675_134_594_812_9];

/// Neighbourhood of one straight piece of skeleton.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct TwistRegion {
    /// Bone that the flesh around the piece follows.
    pub bone: u32,
    /// One end of the piece at rest, m.
    pub head: Vec3,
    /// Other end of the piece at rest, m.
    pub tail: Vec3,
    /// Radius of the tube, m.
    pub radius: f64,
    /// Stiffness κ, N/m⁴, before paint.
    pub stiffness: f64,
    /// Whether radius or strength were chosen for this bone.
    pub own: bool,
}

/// Points of the tube that lie in flesh.
#[derive(Debug, Clone, Default)]
pub struct TwistSamples {
    /// Element of each point.
    pub elements: Vec<u32>,
    /// Functions at each point.
    pub rows: Vec<BasisRow>,
    /// κ times the volume that each point represents, N/m.
    pub weights: Vec<f64>,
}

/// Returns the default radius around a piece of skeleton, m: half its mean distance to the skin; zero
/// outside.
pub fn default_radius(flesh: &dyn FleshDomain, head: Vec3, tail: Vec3) -> f64 {
    const AXIS_SAMPLES: usize = 7;
    let depth: f64 = (0..AXIS_SAMPLES)
        .map(|i| head.lerp(&tail, (i as f64 + 0.5) / AXIS_SAMPLES as f64))
        .map(|p| (-flesh.signed_distance(p)).max(0.0))
        .sum();
    RADIUS_SHARE * depth / AXIS_SAMPLES as f64
}

impl TwistRegion {
    /// Returns the points of the tube in flesh, with the cells that own them.
    pub fn samples(&self, basis: &Basis, flesh: &dyn FleshDomain) -> TwistSamples {
        let lattice = basis.lattice();
        let axis = self.tail - self.head;
        let length = axis.norm();
        if !(length > 0.0 && self.radius > 0.0 && self.stiffness > 0.0) {
            return TwistSamples::default();
        }
        let (u, v) = perpendicular_axes(self.head, axis / length, lattice);
        let along = ((2.0 * length / self.radius).ceil() as usize).clamp(8, 32);
        let volume = std::f64::consts::PI * self.radius.powi(2) * length
            / (along * POINTS_PER_RING * RING_SQUARED_RADII.len()) as f64;
        let found: Vec<(u32, BasisRow)> = (0..along * POINTS_PER_RING * RING_SQUARED_RADII.len())
            .into_par_iter()
            .filter_map(|i| {
                let (s, rest) = (
                    i / (POINTS_PER_RING * RING_SQUARED_RADII.len()),
                    i % (POINTS_PER_RING * RING_SQUARED_RADII.len()),
                );
                let (ring, k) = (rest / POINTS_PER_RING, rest % POINTS_PER_RING);
                let angle = (k as f64 + 0.25 + 0.5 * (s % 2) as f64) * std::f64::consts::TAU
                    / POINTS_PER_RING as f64;
                let r = self.radius * RING_SQUARED_RADII[ring].sqrt();
                let p = self.head
                    + axis * ((s as f64 + 0.5) / along as f64)
                    + (u * angle.cos() + v * angle.sin()) * r;
                if !flesh.contains(p) {
                    return None;
                }
                let cell = flesh.owner(lattice.locate(p)?, p);
                let element = basis.element_at(cell, p);
                let functions = basis.functions(element).iter().copied();
                Some((element, functions.zip(basis.values(element, p)).collect()))
            })
            .collect();
        TwistSamples {
            weights: vec![self.stiffness * volume; found.len()],
            elements: found.iter().map(|f| f.0).collect(),
            rows: found.into_iter().map(|f| f.1).collect(),
        }
    }
}

/// Returns two unit vectors perpendicular to the axis and to each other. The first points to the nearest
/// lattice vertex off the axis, so that the points turn with the character.
fn perpendicular_axes(head: Vec3, axis: Vec3, lattice: &Lattice) -> (Vec3, Vec3) {
    let mut nearest = Vec3::zeros();
    let mut least = f64::INFINITY;
    for x in lattice.vertices() {
        let from = x - head;
        let off = from - axis * from.dot(&axis);
        let (d, length) = (off.norm(), from.norm());
        // Among equally near ones the first counts, whatever the rounding.
        if d > 1e-3 * length && length < least * (1.0 - 1e-9) {
            (nearest, least) = (off, length);
        }
    }
    let Some(u) = nearest.try_normalize(0.0) else {
        let mut other = Vec3::zeros();
        other[axis.iamin()] = 1.0;
        let u = axis.cross(&other).normalize();
        return (u, axis.cross(&u));
    };
    (u, axis.cross(&u))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lattice::Cell;
    use approx::assert_relative_eq;

    struct FleshEverywhere;
    impl FleshDomain for FleshEverywhere {
        fn signed_distance(&self, p: Vec3) -> f64 {
            -(0.6 - p.x.abs())
        }
        fn contains(&self, _: Vec3) -> bool {
            true
        }
        fn owner(&self, cell: u32, _: Vec3) -> u32 {
            cell
        }
    }

    fn basis() -> Basis {
        let x = (0..8)
            .map(|i| Vec3::new((i & 1) as f64, (i >> 1 & 1) as f64, (i >> 2 & 1) as f64) * 2.0)
            .map(|x| x - Vec3::repeat(1.0))
            .collect();
        let cells = vec![Cell::Hexahedron([0, 1, 2, 3, 4, 5, 6, 7])];
        Basis::new(Lattice::new(x, cells).unwrap().into())
    }

    /// The energy of a spin equals the exact integral over the tube.
    #[test]
    fn spin_energy_matches_tube() {
        let region = TwistRegion {
            bone: 0,
            head: Vec3::new(0.0, 0.0, -0.5),
            tail: Vec3::new(0.0, 0.0, 0.5),
            radius: 0.3,
            stiffness: 7.0,
            own: false,
        };
        let basis = basis();
        let samples = region.samples(&basis, &FleshEverywhere);
        let volume: f64 = samples.weights.iter().sum::<f64>() / 7.0;
        assert_relative_eq!(volume, std::f64::consts::PI * 0.09, max_relative = 1e-12);
        // d = ω ẑ × x: ½ κ ω² ∫ ρ² = ½ κ ω² L π r⁴ / 2. The sample's position is reproduced by its functions.
        let energy: f64 = samples
            .rows
            .iter()
            .zip(&samples.weights)
            .map(|(row, w)| {
                let at = |&(a, share): &(u32, f64)| basis.rest_shape()[a as usize] * share;
                let p: Vec3 = row.iter().map(at).sum();
                0.5 * w * (p.x * p.x + p.y * p.y)
            })
            .sum();
        let exact = 0.25 * 7.0 * std::f64::consts::PI * 0.3f64.powi(4);
        assert_relative_eq!(energy, exact, max_relative = 1e-9);
    }

    /// The default radius is half the depth of the bone in the flesh, and zero outside.
    #[test]
    fn default_radius_is_half_depth() {
        let r = default_radius(
            &FleshEverywhere,
            Vec3::new(0.2, 0.0, 0.0),
            Vec3::new(0.2, 0.0, 1.0),
        );
        assert_relative_eq!(r, 0.2, max_relative = 1e-12);
        let outside = Vec3::new(3.0, 0.0, 0.0);
        assert_eq!(default_radius(&FleshEverywhere, outside, outside), 0.0);
    }
}
