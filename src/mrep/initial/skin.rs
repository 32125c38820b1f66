// SPDX-License-Identifier: MIT OR Apache-2.0
//! The skin of a figure, as rays from inside the body meet it.
//!
//! Bodies consist of overlapping and touching pieces. A ray passes through inner pieces, and its exit is the last face that belongs to the figure.
//! The trust in an exit varies smoothly from the figure's skin to its neighbours', so that nothing depends on where exactly a weight passes one
//! half.

use crate::Vec3;
use crate::mrep::error::MRepError;
use crate::skeleton::SkinWeights;
use crate::surface::{RayHit, Surface, TriangleRole};

/// Distance behind a hit at which a ray restarts, over the surface's size. Far above the rounding of the hit, 1e-15, and far below the distance
/// between skins.
const RAY_RESTART_DISTANCE: f64 = 1e-8;
/// Distance beyond a hit at which a ray has to be outside of the body, over the surface's size. Two hundredths of a millimetre of a person: doubled
/// skins lie farther apart.
const OUTSIDE_PROBE_DISTANCE: f64 = 1e-5;
/// Largest number of faces on a ray. Twelve nested shells, each met twice.
const MAX_FACES_ON_RAY: usize = 24;
/// Angle by which a ray is turned for another attempt, radians: a ray through an edge may slip between its triangles. Far above rounding and far
/// below what shows.
const RETRY_ANGLE: f64 = 1e-10;
/// Shares of skin at which trust begins and is full. With half of both a horse's leg is missed by 0.17 % of the size instead of 0.13, with twice by
/// 0.14.
const TRUST_SHARES: [f64; 2] = [0.25, 0.75];
/// Cosines between ray and normal at which trust begins and is full: grazing rays measure the distance poorly. Half and twice of both change the
/// distance by which limbs of five known characters are missed by 0.006 % of the size at most.
const TRUST_COSINES: [f64; 2] = [0.05, 0.3];

/// Exit of a ray from the body.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::mrep) struct SkinExit {
    /// Distance from the ray's origin, metres.
    pub distance: f64,
    /// Trust in it as the figure's skin, 0 to 1.
    pub trust: f64,
}

/// A surface, with the share of it that belongs to a figure.
pub(in crate::mrep) struct FigureSkin<'a> {
    surface: &'a Surface,
    /// Share of each welded vertex; `None`: all belong.
    shares: Option<Vec<f64>>,
}

impl<'a> FigureSkin<'a> {
    /// Takes all of a surface.
    pub fn from_surface(surface: &'a Surface) -> Self {
        Self {
            surface,
            shares: None,
        }
    }

    /// Takes the skin that follows some bones.
    ///
    /// # Errors
    /// Weights of another surface or another skeleton.
    pub fn from_bones(
        surface: &'a Surface,
        weights: &SkinWeights,
        follows: &[bool],
    ) -> Result<Self, MRepError> {
        let length = MRepError::check_length;
        let vertices = surface.vertices().len();
        length("the table of skin weights", weights.len(), vertices)?;
        length(
            "a row of the table of skin weights",
            weights.bone_count,
            follows.len(),
        )?;
        let welded = surface.welded();
        // Vertices at one position may differ; their mean does not depend on their order.
        let mut sums = vec![(0.0, 0.0); welded.vertices.len()];
        for (v, &w) in welded.of_vertex.iter().enumerate() {
            let Some((sum, count)) = sums.get_mut(w as usize) else {
                continue;
            };
            let own = weights.row(v).filter(|(b, _)| follows[*b as usize]);
            *sum += own.map(|(_, weight)| weight).sum::<f64>();
            *count += 1.0;
        }
        let mean = |&(sum, count): &(f64, f64)| if count > 0.0 { sum / count } else { 0.0 };
        Ok(Self {
            surface,
            shares: Some(sums.iter().map(mean).collect()),
        })
    }

    /// Returns whether no vertex belongs mostly to the figure.
    pub fn is_empty(&self) -> bool {
        !self.followed_vertices().contains(&true)
    }

    /// Returns for each welded vertex whether it belongs mostly to the figure.
    pub fn followed_vertices(&self) -> Vec<bool> {
        match &self.shares {
            Some(shares) => shares.iter().map(|s| *s > 0.5).collect(),
            None => vec![true; self.surface.welded().vertices.len()],
        }
    }

    /// Returns whether a point lies in the body.
    pub fn contains(&self, point: &Vec3) -> bool {
        self.surface.contains(*point)
    }

    /// Returns the exit from the figure's skin of a ray from inside the body. `None`: the ray begins outside or never leaves. `aside` is a direction
    /// perpendicular to it.
    pub fn find_exit(&self, origin: &Vec3, direction: &Vec3, aside: &Vec3) -> Option<SkinExit> {
        if !self.surface.contains(*origin) {
            return None;
        }
        (0..4).find_map(|k| {
            let turned = direction + aside * (RETRY_ANGLE * f64::from(k));
            self.walk(origin, &turned.normalize())
        })
    }

    /// Follows a ray through inner faces to its most trusted exit.
    fn walk(&self, origin: &Vec3, direction: &Vec3) -> Option<SkinExit> {
        let size = self.surface.size();
        let (mut travelled, mut best) = (0.0, None::<SkinExit>);
        for _ in 0..MAX_FACES_ON_RAY {
            let from = travelled + RAY_RESTART_DISTANCE * size;
            let hit = self
                .surface
                .intersect_ray(origin + direction * from, *direction)?;
            travelled = from + hit.distance;
            let role = self.surface.triangle_roles()[hit.triangle as usize];
            if hit.front || role == TriangleRole::Thin {
                continue;
            }
            let trust = self.trust(&hit, direction);
            if best.is_none_or(|best| trust >= best.trust.min(0.5)) {
                best = Some(SkinExit {
                    distance: travelled,
                    trust,
                });
            }
            let beyond = origin + direction * (travelled + OUTSIDE_PROBE_DISTANCE * size);
            if !self.surface.contains(beyond) {
                return best;
            }
        }
        None
    }

    /// Returns the trust in a hit as the figure's skin, 0 to 1.
    fn trust(&self, hit: &RayHit, direction: &Vec3) -> f64 {
        let corners = self.surface.welded().triangles[hit.triangle as usize];
        let share = self.shares.as_ref().map_or(1.0, |shares| {
            let each = corners.iter().zip(hit.barycentric);
            each.map(|(&v, b)| shares[v as usize] * b).sum()
        });
        let [a, b, c] = corners.map(|v| self.surface.welded().vertices[v as usize]);
        let normal = (b - a).cross(&(c - a));
        let cosine = normal.dot(direction).abs() / normal.norm().max(f64::MIN_POSITIVE);
        smooth_step(TRUST_SHARES, share) * smooth_step(TRUST_COSINES, cosine)
    }
}

/// Returns a cubic in x that rises from 0 to 1 between two ends, with slope 0 at both; constant beyond.
fn smooth_step([from, to]: [f64; 2], x: f64) -> f64 {
    let t = ((x - from) / (to - from)).clamp(0.0, 1.0);
    t * t * (3.0 - 2.0 * t)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::surface::shapes::{TestMesh, cuboid};

    fn surface(shape: TestMesh) -> Surface {
        Surface::new(shape.vertices, shape.triangles).unwrap()
    }

    /// Rays pass through pieces that lie inside, and leave through edges as well as faces.
    #[test]
    fn exit_passes_inner_pieces() {
        let inner = cuboid(Vec3::repeat(0.4)).map_vertices(|p| p + Vec3::x() * 0.4);
        let both = surface(cuboid(Vec3::repeat(0.5)).merge(&inner));
        let skin = FigureSkin::from_surface(&both);
        for (direction, distance) in [
            (Vec3::x(), 0.8),
            (-Vec3::x(), 0.5),
            (Vec3::y(), 0.5),
            // Along diagonals of the faces, through edges.
            (Vec3::new(0.0, 1.0, 1.0), 0.5_f64.sqrt()),
            (Vec3::new(-1.0, -1.0, -1.0), 0.75_f64.sqrt()),
        ] {
            let direction = direction.normalize();
            let aside = direction.cross(&Vec3::new(0.3, -0.8, 0.5)).normalize();
            let exit = skin.find_exit(&Vec3::zeros(), &direction, &aside).unwrap();
            assert!(
                (exit.distance - distance).abs() < 1e-9,
                "{direction} {exit:?}"
            );
            assert_eq!(exit.trust, 1.0);
        }
        let outside = Vec3::new(0.0, 3.0, 0.0);
        assert!(skin.find_exit(&outside, &-Vec3::y(), &Vec3::x()).is_none());
    }

    /// For a limb inside another body, rays stop at the limb's own skin.
    #[test]
    fn exit_prefers_own_skin() {
        // A rod out of a block: inside the block its rays meet its own skin first and leave through the block's.
        let rod = cuboid(Vec3::new(2.0, 0.1, 0.1)).map_vertices(|p| p + Vec3::x() * 2.0);
        let both = surface(cuboid(Vec3::repeat(0.5)).merge(&rod));
        let rows = (0..16).map(|v| [(u32::from(v >= 8), 1.0)]);
        let weights = SkinWeights::from_rows(2, rows).unwrap();
        let skin = FigureSkin::from_bones(&both, &weights, &[false, true]).unwrap();
        for x in [0.3, 3.0] {
            let at = Vec3::new(x, 0.01, 0.02);
            let exit = skin.find_exit(&at, &Vec3::y(), &Vec3::x()).unwrap();
            assert!(
                (exit.distance - 0.09).abs() < 1e-12 && exit.trust == 1.0,
                "{x} {exit:?}"
            );
        }
        let block = FigureSkin::from_bones(&both, &weights, &[true, false]).unwrap();
        let exit = block.find_exit(&Vec3::new(3.0, 0.0, 0.03), &Vec3::y(), &Vec3::x());
        assert_eq!(exit.unwrap().trust, 0.0);
        assert!(!block.is_empty());
        let foreign = SkinWeights::from_rows(2, vec![[(0, 1.0)]]).unwrap();
        assert!(FigureSkin::from_bones(&both, &foreign, &[true, false]).is_err());
    }
}
