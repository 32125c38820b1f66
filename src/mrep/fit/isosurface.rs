// SPDX-License-Identifier: MIT OR Apache-2.0
//! Isosurface of a volume around a figure, at the mean of the values inside and outside of the body.

use super::volume::Levels;
use crate::Vec3;
use crate::geometry::aabb;
use crate::geometry::marching;
use crate::geometry::sets::DisjointSets;
use crate::mrep::volume::Volume;
use crate::surface::Surface;

/// Largest number of sampled nodes. 46 along each side of a cube.
const MAX_SAMPLED_NODES: f64 = 1e5;
/// Margin around the figure, over the diagonal of its box. Half a radius of a ball, as far as offsets can move its boundary.
const BOX_MARGIN: f64 = 0.15;

impl Volume {
    /// Returns the largest piece of the isosurface near a figure's boundary, closed where it leaves the volume. `None`: there is
    /// no isosurface.
    pub(super) fn body_surface(&self, boundary: &[Vec3], levels: Levels) -> Option<Surface> {
        let (lo, hi) = aabb::bounds(boundary);
        let margin = Vec3::repeat(BOX_MARGIN * (hi - lo).norm());
        let (lo, hi) = (lo - margin, hi + margin);
        let spacing = self
            .voxel_size()
            .max(((hi - lo).product() / MAX_SAMPLED_NODES).cbrt());
        let nodes: [usize; 3] =
            std::array::from_fn(|a| ((hi[a] - lo[a]) / spacing).ceil() as usize + 3);
        let [nx, ny, nz] = nodes;
        let origin = lo - Vec3::repeat(spacing);
        let middle = 0.5 * (levels.inside + levels.outside);
        let mut values = Vec::with_capacity(nx * ny * nz);
        for k in 0..nz {
            for j in 0..ny {
                for i in 0..nx {
                    let outermost = [i, j, k]
                        .iter()
                        .zip(nodes)
                        .any(|(x, n)| *x == 0 || x + 1 == n);
                    let at = origin + Vec3::new(i as f64, j as f64, k as f64) * spacing;
                    let value = self.sample(&at).filter(|_| !outermost);
                    values.push(value.map_or(1.0, |(value, _)| {
                        (middle - value) / (levels.inside - levels.outside)
                    }));
                }
            }
        }
        let (vertices, triangles) = marching::tetrahedra(&values, nodes);
        let triangles = largest_piece(vertices.len(), &triangles);
        let vertices = vertices.into_iter().map(|p| origin + p * spacing);
        Surface::new(vertices.collect(), triangles).ok()
    }
}

/// Returns the connected piece with the most triangles.
fn largest_piece(vertices: usize, triangles: &[[u32; 3]]) -> Vec<[u32; 3]> {
    let mut sets = DisjointSets::new(vertices);
    for t in triangles {
        sets.join(t[0], t[1]);
        sets.join(t[1], t[2]);
    }
    let numbers = sets.set_numbers();
    let piece = |t: &[u32; 3]| numbers[t[0] as usize];
    let mut counts = vec![0_usize; vertices];
    triangles
        .iter()
        .for_each(|t| counts[piece(t) as usize] += 1);
    let most = (0u32..).zip(counts).max_by_key(|(_, count)| *count);
    let most = most.map_or(0, |(number, _)| number);
    let mine = triangles.iter().filter(|t| piece(t) == most);
    mine.copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two balls, dark in a bright volume: of radius 8 around (14, 14, 14), of 5 around (30, 14, 14).
    fn balls() -> Volume {
        let shape = [40, 28, 28];
        let far = |p: Vec3, x: f64, r: f64| (p - Vec3::new(x, 14.0, 14.0)).norm() - r;
        let value = |v: usize| {
            let (i, j, k) = (v / 784, v / 28 % 28, v % 28);
            let p = Vec3::new(i as f64, j as f64, k as f64);
            100.0 + 50.0 * far(p, 14.0, 8.0).min(far(p, 30.0, 5.0)).clamp(-1.0, 1.0)
        };
        let values = (0..shape.iter().product()).map(|v| value(v) as f32);
        let one = Vec3::repeat(1.0);
        Volume::new(values.collect(), shape, one, Vec3::zeros()).unwrap()
    }

    fn ball_surface(lo: f64, hi: f64) -> Option<Surface> {
        let corners = [Vec3::new(lo, 6.0, 6.0), Vec3::new(hi, 22.0, 22.0)];
        let levels = Levels {
            inside: 50.0,
            outside: 150.0,
        };
        balls().body_surface(&corners, levels)
    }

    /// The isosurface is that of the largest body near the figure.
    #[test]
    fn body_surface_is_largest_nearby() {
        let ball = ball_surface(6.0, 35.0).unwrap();
        let report = ball.report();
        assert!(report.closed && report.components == 1);
        let known = 4.0 / 3.0 * std::f64::consts::PI * 512.0;
        assert!((ball.volume() / known - 1.0).abs() < 0.03);
        assert!((ball.bounds().1.x - 22.0).abs() < 0.2);
        // The small one, where the other is far.
        assert!((ball_surface(27.0, 35.0).unwrap().bounds().0.x - 25.0).abs() < 0.2);
    }

    /// The surface is closed where the region that is read ends, and absent where there is no body.
    #[test]
    fn body_surface_closed_at_region_edge() {
        // Half of the ball lies beyond the sampled region.
        let half = ball_surface(18.0, 19.0).unwrap();
        assert!(half.report().closed);
        assert!(half.bounds().0.x > 14.0);
        assert!(ball_surface(400.0, 420.0).is_none());
    }
}
