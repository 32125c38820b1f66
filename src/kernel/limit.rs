// SPDX-License-Identifier: MIT OR Apache-2.0
//! A soft limit on the distance of a displayed surface from the artist's own skinning.
//!
//! Linearised flesh stretches without bound under a strong blow (fifty g). Where skin weights jump from bone to
//! bone (armour, dolls' joints), no smooth flesh can follow them. The limit acts on the displayed surface, never on
//! the motion. A distance d from the skin's position, linear blend skinning with the surface's own weights, is
//! kept up to two thirds of the limit L. Beyond, it becomes `L/3 (2 + tanh(3 d/L − 2))`, which never passes L and
//! is C¹. The limit is stateless, so frames keep their independence, and monotone, so stronger motion still looks
//! stronger.

use super::KernelError;
use crate::range::MAX_COORDINATE;
use crate::skeleton::{Affine, Pose, SkeletonError, SkinWeights};
use crate::{Mat3, Vec3};
use rayon::prelude::*;

/// Vertices per chunk; surfaces with fewer than two chunks stay on one thread.
const CHUNK_VERTICES: usize = 8192;
/// Part of the limit within which distances are kept.
const FREE_SHARE: f32 = 2.0 / 3.0;

/// The maps of a pose's bones in f32, between two local origins.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct LocalMaps {
    maps: Vec<MapColumns>,
    /// Origin in posed space, metres.
    origin: [f32; 3],
}

/// Columns of the linear part of a map, then its translation; four wide, so that each fills a register.
pub(super) type MapColumns = [[f32; 4]; 4];

impl LocalMaps {
    /// Converts a pose to maps from rest positions relative to `rest_origin` to posed ones relative to `origin`.
    pub fn new(pose: &Pose, rest_origin: Vec3, origin: [f32; 3]) -> Self {
        let maps = pose.maps().iter();
        Self {
            maps: maps
                .map(|m| columns(m, rest_origin, Vec3::from(origin.map(f64::from))))
                .collect(),
            origin,
        }
    }

    /// Acts as [`new`](Self::new), and adds an identity map for vertices that no bone carries.
    pub(super) fn with_rest(pose: &Pose, rest_origin: Vec3, origin: [f32; 3]) -> Self {
        let mut local = Self::new(pose, rest_origin, origin);
        let there = Vec3::from(origin.map(f64::from));
        let rest = columns(&Affine::identity(), rest_origin, there);
        local.maps.push(rest);
        local
    }

    /// Returns the maps as a pose, from rest positions to posed ones relative to the origin.
    pub(crate) fn pose(&self, rest_origin: Vec3) -> Result<Pose, SkeletonError> {
        let wide = |c: &[f32; 4]| Vec3::new(c[0].into(), c[1].into(), c[2].into());
        let map = |columns: &MapColumns| {
            let linear = Mat3::from_columns(&[0, 1, 2].map(|k| wide(&columns[k])));
            Affine {
                linear,
                translation: wide(&columns[3]) - linear * rest_origin,
            }
        };
        Pose::new(self.maps.iter().map(map).collect())
    }

    /// Returns one map per bone.
    pub(super) fn maps(&self) -> &[MapColumns] {
        &self.maps
    }

    /// Returns the origin in posed space, metres.
    pub(super) fn origin(&self) -> [f32; 3] {
        self.origin
    }

    /// Returns the memory used, bytes.
    pub fn bytes(&self) -> usize {
        size_of_val(self.maps.as_slice())
    }

    /// Returns whether there are `bones` maps with numbers in range.
    pub(crate) fn fits(&self, bones: usize) -> bool {
        let mut numbers = self.maps.iter().flatten().flatten().chain(&self.origin);
        self.maps.len() == bones && numbers.all(|&x| f64::from(x).abs() <= MAX_COORDINATE)
    }
}

fn columns(map: &Affine, rest_origin: Vec3, origin: Vec3) -> MapColumns {
    let wide = |v: Vec3| [v.x as f32, v.y as f32, v.z as f32, 0.0];
    let column = |k: usize| wide(map.linear.column(k).into_owned());
    let translation = wide(map.apply(rest_origin) - origin);
    [column(0), column(1), column(2), translation]
}

/// A bone and its weight.
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(C)]
pub(super) struct BoneWeight {
    pub bone: u32,
    pub weight: f32,
}

/// Skin weights, packed row by row.
#[derive(Debug, Clone, Default)]
pub(super) struct SkinPairs {
    offsets: Vec<u32>,
    pairs: Vec<BoneWeight>,
}

impl SkinPairs {
    pub(super) fn new(weights: &SkinWeights) -> Self {
        let pairs = weights.bones.iter().zip(&weights.weights);
        Self {
            offsets: weights.offsets.clone(),
            pairs: pairs
                .map(|(&bone, &w)| BoneWeight {
                    bone,
                    weight: w as f32,
                })
                .collect(),
        }
    }

    /// Packs `(bone, weight)` pairs per vertex.
    pub(super) fn from_rows(rows: &[Vec<(u32, f64)>]) -> Self {
        let mut skin = Self {
            offsets: vec![0],
            ..Self::default()
        };
        for row in rows {
            let pair = |&(bone, w): &(u32, f64)| BoneWeight {
                bone,
                weight: w as f32,
            };
            skin.pairs.extend(row.iter().map(pair));
            skin.offsets.push(skin.pairs.len() as u32);
        }
        skin
    }

    /// Returns the memory used, bytes.
    pub(super) fn bytes(&self) -> usize {
        size_of_val(self.offsets.as_slice()) + size_of_val(self.pairs.as_slice())
    }

    /// Returns the pairs of a vertex.
    #[inline(always)]
    pub(super) fn row(&self, vertex: usize) -> Option<&[BoneWeight]> {
        let row = *self.offsets.get(vertex)? as usize..*self.offsets.get(vertex + 1)? as usize;
        self.pairs.get(row)
    }

    /// Returns the blended map of a vertex; `None` if no bone carries it.
    #[inline(always)]
    pub(super) fn blend(&self, vertex: usize, maps: &[MapColumns]) -> Option<MapColumns> {
        let row = self.row(vertex)?;
        if row.is_empty() {
            return None;
        }
        let mut blend = [[0.0f32; 4]; 4];
        for &BoneWeight { bone, weight } in row {
            let map = maps.get(bone as usize)?;
            for (sum, column) in blend.iter_mut().zip(map) {
                for (s, c) in sum.iter_mut().zip(column) {
                    *s += weight * c;
                }
            }
        }
        Some(blend)
    }
}

/// Returns the image of a point under a map.
#[inline(always)]
pub(super) fn image(map: &MapColumns, [x, y, z]: [f32; 3]) -> [f32; 3] {
    std::array::from_fn(|k| map[0][k] * x + map[1][k] * y + map[2][k] * z + map[3][k])
}

/// Returns the factor that shrinks a squared distance from the skin; `None` if the distance is kept.
#[inline(always)]
pub(super) fn shrink(squared: f32, limit: f32) -> Option<f32> {
    let free = FREE_SHARE * limit;
    (squared > free * free).then(|| shrink_factor(squared, limit))
}

/// Returns the factor for a distance beyond the free part. Kept out of line, so that the usual path keeps its registers.
#[inline(never)]
fn shrink_factor(squared: f32, limit: f32) -> f32 {
    let (d, free) = (squared.sqrt(), FREE_SHARE * limit);
    let rest = limit - free;
    (free + rest * ((d - free) / rest).tanh()) / d
}

/// The skinning of one surface, packed.
#[derive(Debug, Clone)]
pub struct SkinLimit {
    rest: Vec<[f32; 3]>,
    skin: SkinPairs,
}

impl SkinLimit {
    /// Packs the skinning of rest positions by weights, one row each. Vertices without weights are not limited.
    pub fn new(rest: &[Vec3], rest_origin: Vec3, weights: &SkinWeights) -> Self {
        let local = |p: &Vec3| {
            let d = p - rest_origin;
            [d.x as f32, d.y as f32, d.z as f32]
        };
        Self {
            rest: rest.iter().map(local).collect(),
            skin: SkinPairs::new(weights),
        }
    }

    /// Draws world positions `[vertices · 3]` towards their skin, to within `limit` metres; returns the largest
    /// distance before, metres.
    ///
    /// # Errors
    /// Positions of another surface.
    pub fn draw(
        &self,
        maps: &LocalMaps,
        limit: f32,
        positions: &mut [f32],
    ) -> Result<f32, KernelError> {
        let (expected, given) = (3 * self.rest.len(), positions.len());
        if expected != given {
            return Err(KernelError::Output { expected, given });
        }
        if self.rest.len() < 2 * CHUNK_VERTICES {
            return Ok(self.draw_chunk(0, maps, limit, positions));
        }
        let chunks = positions.par_chunks_mut(3 * CHUNK_VERTICES).enumerate();
        Ok(chunks
            .map(|(i, out)| self.draw_chunk(i * CHUNK_VERTICES, maps, limit, out))
            .reduce(|| 0.0, f32::max))
    }

    fn draw_chunk(&self, first: usize, maps: &LocalMaps, limit: f32, positions: &mut [f32]) -> f32 {
        let mut farthest = 0.0f32;
        for (i, p) in positions.chunks_exact_mut(3).enumerate() {
            let Some(blend) = self.skin.blend(first + i, &maps.maps) else {
                continue;
            };
            let skin = image(&blend, self.rest[first + i]);
            let away: [f32; 3] = std::array::from_fn(|k| p[k] - maps.origin[k] - skin[k]);
            let squared = away.iter().map(|x| x * x).sum::<f32>();
            farthest = farthest.max(squared);
            if let Some(shrink) = shrink(squared, limit) {
                for k in 0..3 {
                    p[k] = maps.origin[k] + skin[k] + away[k] * shrink;
                }
            }
        }
        farthest.sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nalgebra::Rotation3;

    /// Returns the skin and the result for a vertex on two bones, the second bone turned and moved, far from the origin.
    fn limited_vertex(limit: f32, away: f32) -> ([f64; 3], [f32; 3]) {
        let far = Vec3::new(300.0, -200.0, 100.0);
        let rest = [far + Vec3::new(0.1, 0.2, 0.3)];
        let turn = Rotation3::from_euler_angles(0.3, -0.8, 1.1).into_inner();
        let maps = vec![
            Affine::identity(),
            Affine {
                linear: turn,
                translation: far - turn * far + Vec3::new(0.5, 0.0, -0.2),
            },
        ];
        let pose = Pose::new(maps.clone()).expect("finite");
        let weights = SkinWeights::from_rows(2, [[(0, 0.25), (1, 0.75)]]).expect("good");
        let skin = maps[0].apply(rest[0]) * 0.25 + maps[1].apply(rest[0]) * 0.75;
        let origin = [300.0, -200.0, 100.0];
        let local = LocalMaps::new(&pose, far, origin);
        let limiter = SkinLimit::new(&rest, far, &weights);
        let mut p = [skin.x as f32, skin.y as f32 + away, skin.z as f32];
        limiter.draw(&local, limit, &mut p).expect("fits");
        ([skin.x, skin.y, skin.z], p)
    }

    /// With a tiny limit the result is the linear blend skin.
    #[test]
    fn tiny_limit_leaves_skin() {
        // A limit next to nothing leaves the skin itself.
        let (skin, shown) = limited_vertex(1e-6, 0.4);
        for k in 0..3 {
            assert!(
                (skin[k] - f64::from(shown[k])).abs() < 6e-5,
                "{skin:?} {shown:?}"
            );
        }
    }

    /// Small distances stay, and large ones grow monotonically towards the limit.
    #[test]
    fn limit_saturates_monotonically() {
        let at = |d: f32| f64::from(limited_vertex(0.3, d).1[1]) - limited_vertex(0.3, d).0[1];
        assert!((at(0.19) - 0.19).abs() < 5e-5);
        let mut last = 0.0;
        for i in 1..200 {
            let shown = at(i as f32 * 0.01);
            assert!(shown > last - 5e-5 && shown <= 0.3 + 5e-5);
            last = shown;
        }
        assert!(last > 0.299);
    }

    /// Positions of another surface are refused.
    #[test]
    fn draw_refuses_other_surface() {
        let weights = SkinWeights::from_rows(1, [[(0, 1.0)]]).expect("good");
        let limiter = SkinLimit::new(&[Vec3::zeros()], Vec3::zeros(), &weights);
        let maps = LocalMaps::new(&Pose::rest(1), Vec3::zeros(), [0.0; 3]);
        let refused = limiter.draw(&maps, 1.0, &mut [0.0; 6]);
        assert!(matches!(
            refused,
            Err(KernelError::Output {
                expected: 3,
                given: 6
            })
        ));
    }

    /// Every vertex of a surface of many chunks is drawn to its own place on the skin.
    #[test]
    fn chunks_draw_to_own_skin() {
        let turn = Rotation3::from_euler_angles(0.3, -0.8, 1.1).into_inner();
        let second = Affine {
            linear: turn,
            translation: Vec3::new(0.5, 0.0, -0.2),
        };
        let pose = Pose::new(vec![Affine::identity(), second]).expect("finite");
        // In chunks, with vertices in the last one that fill no chunk, or in one.
        for count in [5, 2 * CHUNK_VERTICES + 7] {
            let share = |v: usize| (v % 5) as f64 / 4.0;
            let rest: Vec<Vec3> = (0..count)
                .map(|v| Vec3::new((v as f64).sin(), (0.7 * v as f64).cos(), 0.1 * share(v)))
                .collect();
            let rows = (0..count).map(|v| [(0, share(v)), (1, 1.0 - share(v))]);
            let weights = SkinWeights::from_rows(2, rows).expect("good");
            let limiter = SkinLimit::new(&rest, Vec3::zeros(), &weights);
            let maps = LocalMaps::new(&pose, Vec3::zeros(), [0.0; 3]);
            // Far away, they are drawn to where the limit ends on the same side.
            let mut shown: Vec<f32> = vec![50.0; 3 * count];
            let farthest = limiter.draw(&maps, 0.1, &mut shown).expect("fits");
            let mut wanted = 0.0f64;
            for (v, shown) in shown.chunks_exact(3).enumerate() {
                let skin = rest[v] * share(v) + second.apply(rest[v]) * (1.0 - share(v));
                let away = Vec3::repeat(50.0) - skin;
                wanted = wanted.max(away.norm());
                let place = skin + away.normalize() * 0.1;
                let shown = Vec3::new(shown[0].into(), shown[1].into(), shown[2].into());
                assert!((shown - place).norm() < 1e-5, "{v}: {shown} {place}");
            }
            assert!((f64::from(farthest) - wanted).abs() < 1e-4);
        }
    }

    /// Displacements within the free part of the limit do not change.
    #[test]
    fn free_part_stays() {
        for limit in [0.3f32, 1e-3, 7.0] {
            let free = FREE_SHARE * limit;
            assert_eq!(shrink(0.0, limit), None);
            assert_eq!(shrink(free * free, limit), None);
            let beyond = shrink(1.5 * free * free, limit).expect("beyond");
            assert!(beyond < 1.0 && beyond > 0.9);
        }
        assert_eq!(shrink(1e30, f32::INFINITY), None);
    }
}
