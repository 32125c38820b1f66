// SPDX-License-Identifier: MIT OR Apache-2.0
//! Thickness of the body below each vertex of its skin: the shape diameter function. [shapira2008, §3]
//!
//! Rays run inwards in a narrow cone about the normal until they leave the body. The median over those that leave is
//! robust against a ray that slips along an edge. Deviation: the cone is half as wide and has few rays, as thickness is
//! smoothed over the skin afterwards; on finely cut skins one ray per vertex suffices.

use super::{OwnUnit, Surface};
use crate::Vec3;
use crate::progress::{Cancelled, Progress, map_parallel};

/// Angle between the cone and its axis, radians.
const CONE_HALF_ANGLE: f64 = 0.5;
/// Number of rays on the cone, in addition to the one along the normal.
const CONE_RAYS: usize = 6;
/// Number of vertices of a mesh from which on each vertex has only the ray along the normal.
const SINGLE_RAY_VERTICES: usize = 60_000;
/// Distance below the skin at which a ray starts, and behind a hit at which it restarts, as a share of the size.
const RAY_START_DEPTH: f64 = 1e-5;
/// Largest number of surfaces that a ray may enter before it must leave.
const MAX_ENTERED_SURFACES: usize = 8;

impl Surface {
    /// Returns the thickness of the body below each input vertex, m; infinite if no ray leaves the body.
    ///
    /// It is measured in the body's own unit, so that a ray that just touches an edge does not depend on the scale.
    ///
    /// # Errors
    /// [`Cancelled`] if the progress stops it.
    pub(crate) fn diameters(&self, progress: &dyn Progress) -> Result<Vec<f64>, Cancelled> {
        match self.in_own_unit() {
            Some(own) => {
                let scale = OwnUnit::from_surface(self).scale;
                Ok(own.chords(progress)?.iter().map(|d| d * scale).collect())
            }
            None => self.chords(progress),
        }
    }

    /// Measures the thickness in this surface's own coordinates.
    fn chords(&self, progress: &dyn Progress) -> Result<Vec<f64>, Cancelled> {
        let welded = self.welded();
        let frames = frames(&welded.vertices, &welded.triangles);
        let fine = welded.vertices.len() >= SINGLE_RAY_VERTICES;
        let chord = |v: usize| {
            let (x, Some((normal, tangent))) = (welded.vertices[v], &frames[v]) else {
                return f64::INFINITY;
            };
            let side = normal.cross(tangent);
            let way = |k: usize| {
                let a = k as f64 * std::f64::consts::TAU / CONE_RAYS as f64;
                (tangent * a.cos() + side * a.sin()) * CONE_HALF_ANGLE.sin()
                    - normal * CONE_HALF_ANGLE.cos()
            };
            let central = self.exit_distance(x, -normal);
            if fine {
                return central;
            }
            let mut all: Vec<f64> = (0..CONE_RAYS)
                .map(|k| self.exit_distance(x, way(k)))
                .collect();
            all.push(central);
            all.retain(|d| d.is_finite());
            all.sort_by(f64::total_cmp);
            all.get(all.len() / 2).copied().unwrap_or(f64::INFINITY)
        };
        let stage = (progress, "Measuring how thick it is");
        let at = map_parallel(welded.vertices.len(), stage, chord)?;
        let input_vertices = welded.of_vertex.iter();
        Ok(input_vertices
            .map(|&w| at.get(w as usize).copied().unwrap_or(f64::INFINITY))
            .collect())
    }

    /// Returns the distance from a point of the skin to the point where an inward ray leaves the body; infinite if it never does.
    fn exit_distance(&self, from: Vec3, direction: Vec3) -> f64 {
        let below = RAY_START_DEPTH * self.size();
        let mut travelled = below;
        for _ in 0..MAX_ENTERED_SURFACES {
            let Some(hit) = self.intersect_ray(from + direction * travelled, direction) else {
                break;
            };
            travelled += hit.distance;
            if !hit.front {
                return travelled;
            }
            travelled += below;
        }
        f64::INFINITY
    }
}

/// Returns for each vertex the unit of the area-weighted outward normals, and a unit tangent along the vertex's longest edge.
fn frames(vertices: &[Vec3], triangles: &[[u32; 3]]) -> Vec<Option<(Vec3, Vec3)>> {
    let mut normals = vec![Vec3::zeros(); vertices.len()];
    let mut longest = vec![Vec3::zeros(); vertices.len()];
    for t in triangles {
        let corners = t.map(|v| vertices[v as usize]);
        let [a, b, c] = corners;
        let normal = (b - a).cross(&(c - a));
        for k in 0..3 {
            let v = t[k] as usize;
            normals[v] += normal;
            for edge in [
                corners[(k + 1) % 3] - corners[k],
                corners[(k + 2) % 3] - corners[k],
            ] {
                // Among edges of equal length the first counts, whatever rounding does.
                if edge.norm_squared() > longest[v].norm_squared() * (1.0 + 1e-6) {
                    longest[v] = edge;
                }
            }
        }
    }
    let frame = |(normal, edge): (&Vec3, &Vec3)| {
        let normal = normal.try_normalize(f64::MIN_POSITIVE)?;
        let tangent = (edge - normal * normal.dot(edge)).try_normalize(f64::MIN_POSITIVE)?;
        Some((normal, tangent))
    };
    normals.iter().zip(&longest).map(frame).collect()
}

#[cfg(test)]
mod tests {
    use super::super::shapes::*;
    use super::*;
    use crate::progress::Silent;

    /// The local diameter of a ball is the chord at the edge of the cone of rays.
    #[test]
    fn ball_diameter_is_chord() {
        let shape = sphere(0.7, 40);
        let surface = Surface::new(shape.vertices, shape.triangles).unwrap();
        // The central ray is the diameter, those of the cone chords of 2 R cos α; the median is one of these.
        let chord = 2.0 * 0.7 * CONE_HALF_ANGLE.cos();
        for d in surface.diameters(&Silent).unwrap() {
            assert!((d / chord - 1.0).abs() < 0.02, "{d} {chord}");
        }
    }

    /// The local diameter of a plate is small everywhere and follows a similarity.
    #[test]
    fn plate_diameter_is_equivariant() {
        let turn = nalgebra::Rotation3::from_euler_angles(0.3, -1.0, 2.0);
        let shape = cuboid(Vec3::new(1.0, 0.8, 0.02));
        let shift = Vec3::new(30.0, -7.0, 2.0);
        let moved = shape.vertices.iter().map(|x| turn * x * 5.0 + shift);
        let plain = Surface::new(shape.vertices.clone(), shape.triangles.clone()).unwrap();
        let moved = Surface::new(moved.collect(), shape.triangles.clone()).unwrap();
        for (a, b) in plain
            .diameters(&Silent)
            .unwrap()
            .iter()
            .zip(moved.diameters(&Silent).unwrap())
        {
            assert!((a * 5.0 - b).abs() < 1e-6 * b, "{a} {b}");
        }
        // Seen from its corners a plate is thin as well.
        assert!(plain.diameters(&Silent).unwrap().iter().all(|d| *d < 0.1));
    }

    /// The local diameter of a single sheet is infinite.
    #[test]
    fn sheet_diameter_is_infinite() {
        let x = |x: f64, y: f64| Vec3::new(x, y, 0.0);
        let vertices = vec![x(0.0, 0.0), x(1.0, 0.0), x(0.0, 1.0)];
        let surface = Surface::new(vertices, vec![[0, 1, 2]]).unwrap();
        assert!(
            surface
                .diameters(&Silent)
                .unwrap()
                .iter()
                .all(|d| d.is_infinite())
        );
    }
}
