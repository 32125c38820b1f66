// SPDX-License-Identifier: MIT OR Apache-2.0
//! The displayed surface: the artist's skin, offset by the flesh. [docs/methods/skinned-ground.md]
//!
//! With q the lattice, u its sway and E the embedding, a vertex with its skin at `skin` is shown at
//!
//! ```text
//! skin + limit( lift + s bend + bound( (1 − s) E f (bend − lift) + w E u ) ),   bend = E (q − u) − skin
//! ```
//!
//! | symbol | meaning |
//! | --- | --- |
//! | s | share of the lattice's own bend |
//! | `lift` | distance of the skin of bent joints ([`JointLiftOffsets`]) from the artist's |
//! | f | share of the rest of the bend, per lattice vertex, at folds of the skin into itself |
//! | w | the vertex's share of sway, 0 where the skin stays as it is |
//! | `bound` | keeps folds and sway within the flesh at the vertex, softly (as [`super::limit`]) |
//! | `limit` | keeps everything within `max_offset` of the skin, softly |

use super::cpu::{PackedRows, RowSource, WeightedRow, with_rows};
use super::limit::{SkinPairs, image, shrink};
use super::target::{OutputWriter, with_form};
use super::{CpuEmbedding, Engine, KernelError, LocalMaps, LocalPositions, OutputSpace};
use crate::Vec3;
use crate::skeleton::SkinWeights;
use rayon::prelude::*;

/// Vertices per chunk; surfaces with fewer than two chunks stay on one thread.
const CHUNK_VERTICES: usize = 8192;

/// Share and limit of the sway shown at a vertex.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SwayBound {
    /// Share w, 0 to 1.
    pub share: f32,
    /// Largest sway shown, metres; may be infinite.
    pub limit: f32,
}

impl SwayBound {
    /// Sway shown unchanged.
    pub const UNLIMITED: Self = Self {
        share: 1.0,
        limit: f32::INFINITY,
    };

    /// Returns the shown sway of a vertex, metres.
    #[inline(always)]
    pub fn apply(&self, sway: [f32; 3]) -> [f32; 3] {
        self.apply_with(sway, [0.0; 3])
    }

    /// Returns the shown sum of a vertex's sway and its fold's part, metres.
    #[inline(always)]
    fn apply_with(&self, sway: [f32; 3], fold: [f32; 3]) -> [f32; 3] {
        let both: [f32; 3] = std::array::from_fn(|k| self.share * sway[k] + fold[k]);
        let squared = both.iter().map(|x| x * x).sum::<f32>();
        match shrink(squared, self.limit) {
            Some(shrink) => both.map(|x| x * shrink),
            None => both,
        }
    }
}

/// State of a lattice at one instant, for display.
#[derive(Debug, Clone, Copy)]
pub struct DisplayState<'a> {
    /// Positions q of the lattice's vertices.
    pub lattice: &'a LocalPositions,
    /// u, metres, one per lattice vertex. `None`: zero.
    pub sway: Option<&'a [[f32; 3]]>,
    /// Pose, from rest relative to the skinned surface's origin to posed relative to its own.
    pub maps: &'a LocalMaps,
    /// Share s of the lattice's own bend.
    pub elastic_joints: f32,
    /// Skin of bent joints. `None`: `elastic_joints` alone bends them.
    pub lifts: Option<JointLiftOffsets<'a>>,
    /// f, one per lattice vertex, 0 to 1. `None`: 0.
    pub folds: Option<&'a [f32]>,
    /// Largest offset from the skin, metres; may be infinite.
    pub max_offset: f32,
}

/// Offsets of the skin of bent joints from the artist's.
#[derive(Debug, Clone, Copy)]
pub struct JointLiftOffsets<'a> {
    /// One offset per vertex of the surface, metres, world axes.
    pub of: &'a [[f32; 3]],
    /// Share shown, 0 to 1.
    pub share: f32,
}

/// Kind of output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputKind {
    /// Positions: metres in the world, mapped by the target.
    Positions,
    /// Offsets from the artist's skin: metres in world axes, mapped by the target.
    Offsets,
}

/// Skinning of one surface, and the bounds of its sway.
#[derive(Debug, Clone)]
pub struct SkinnedSurface {
    rest: Vec<[f32; 3]>,
    skin: SkinPairs,
    bounds: Vec<SwayBound>,
}

impl SkinnedSurface {
    /// Packs a surface at rest, skinned by weights, one row each, with one of `bounds` per vertex. A vertex without
    /// weights has no skin: it follows the flesh, and its offset is its sway.
    pub fn new(
        rest: &[Vec3],
        rest_origin: Vec3,
        weights: &SkinWeights,
        bounds: Vec<SwayBound>,
    ) -> Self {
        let local = |p: &Vec3| (p - rest_origin).cast::<f32>().into();
        Self {
            rest: rest.iter().map(local).collect(),
            skin: SkinPairs::new(weights),
            bounds,
        }
    }

    /// Writes one instant; returns the largest distance from the skin before `max_offset`, metres.
    ///
    /// # Errors
    /// A lattice, sway, folds, lifts, embedding or output of another length.
    pub fn show(
        &self,
        embedding: &CpuEmbedding,
        present: &DisplayState<'_>,
        wanted: OutputKind,
        target: &OutputSpace,
        out: &mut [f32],
    ) -> Result<f32, KernelError> {
        let expected = embedding.lattice_vertices();
        let sway = present.sway.map_or(expected, <[_]>::len);
        let folds = present.folds.map_or(expected, <[_]>::len);
        for given in [present.lattice.points.len(), sway, folds] {
            if given != expected {
                return Err(KernelError::Lattice { expected, given });
            }
        }
        let lifts = present
            .lifts
            .map_or(self.rest.len(), |lifts| lifts.of.len());
        for (expected, given) in [
            (3 * self.rest.len(), out.len()),
            (3 * self.rest.len(), 3 * lifts),
            (3 * self.rest.len(), 3 * embedding.rows().len()),
        ] {
            if given != expected {
                return Err(KernelError::Output { expected, given });
            }
        }
        let wide = |&[x, y, z]: &[f32; 3]| [x, y, z, 0.0];
        let mut flesh: Vec<[f32; 4]> = present.lattice.points.iter().map(wide).collect();
        for (flesh, &fold) in flesh.iter_mut().zip(present.folds.unwrap_or(&[])) {
            flesh[3] = fold;
        }
        let instant = PaddedInstant {
            flesh,
            sway: present.sway.unwrap_or(&[]).iter().map(wide).collect(),
            present,
        };
        Ok(match wanted {
            OutputKind::Positions => {
                let form = target.position_form(present.maps.origin());
                with_form!(form, put => {
                    with_rows!(embedding.rows(), rows => self.show_all::<true>(rows, &instant, put, out))
                })
            }
            OutputKind::Offsets => with_form!(target.vector_form(), put => {
                with_rows!(embedding.rows(), rows => self.show_all::<false>(rows, &instant, put, out))
            }),
        })
    }

    /// Writes all vertices, and returns the largest distance from the skin. `POSITIONS`: positions instead of offsets.
    fn show_all<const POSITIONS: bool>(
        &self,
        rows: impl RowSource,
        instant: &PaddedInstant<'_>,
        put: impl OutputWriter,
        out: &mut [f32],
    ) -> f32 {
        if rows.count() < 2 * CHUNK_VERTICES {
            return self.show_chunk::<POSITIONS>(0, rows, instant, put, out);
        }
        let chunks = out.par_chunks_mut(3 * CHUNK_VERTICES).enumerate();
        chunks
            .map(|(i, out)| {
                self.show_chunk::<POSITIONS>(i * CHUNK_VERTICES, rows, instant, put, out)
            })
            .reduce(|| 0.0, f32::max)
    }

    fn show_chunk<const POSITIONS: bool>(
        &self,
        first: usize,
        rows: impl RowSource,
        instant: &PaddedInstant<'_>,
        put: impl OutputWriter,
        out: &mut [f32],
    ) -> f32 {
        let present = instant.present;
        let joints = present.elastic_joints;
        let bends = joints > 0.0 || present.folds.is_some();
        let skin_needed = bends || POSITIONS;
        let origin = present.maps.origin();
        // From the lattice's origin to the skin's; zero if both were built for one frame.
        let shift: [f32; 3] = std::array::from_fn(|k| present.lattice.origin[k] - origin[k]);
        let mut farthest = 0.0f32;
        let rows = (first..).zip(rows.rows_from(first));
        for ((v, row), out) in rows.zip(out.chunks_exact_mut(3)) {
            let sway = match instant.sway.is_empty() {
                true => [0.0; 3],
                false => first_three(row.mean(&instant.sway)),
            };
            let blend = match skin_needed {
                true => self.skin.blend(v, present.maps.maps()),
                false => None,
            };
            let mut base = blend.map(|blend| image(&blend, self.rest[v]));
            let lift = present
                .lifts
                .map(|lifts| lifts.of[v].map(|x| x * lifts.share));
            let (mut bend, mut fold) = ([0.0; 3], 0.0);
            if skin_needed && (bends || base.is_none()) {
                let [x, y, z, part] = row.mean(&instant.flesh);
                let flesh = [x, y, z];
                let place: [f32; 3] = std::array::from_fn(|k| flesh[k] + shift[k] - sway[k]);
                match &base {
                    Some(skin) => {
                        bend = std::array::from_fn(|k| place[k] - skin[k]);
                        fold = (1.0 - joints) * part.clamp(0.0, 1.0);
                    }
                    None => base = Some(place),
                }
            }
            let folded = match lift {
                Some(lift) => std::array::from_fn(|k| fold * (bend[k] - lift[k])),
                None => bend.map(|x| fold * x),
            };
            let mut offset = self.bounds[v].apply_with(sway, folded);
            for (offset, bend) in offset.iter_mut().zip(bend) {
                *offset += joints * bend;
            }
            for (offset, lift) in offset.iter_mut().zip(lift.unwrap_or_default()) {
                *offset += lift;
            }
            let squared = offset.iter().map(|x| x * x).sum::<f32>();
            farthest = farthest.max(squared);
            if let Some(shrink) = shrink(squared, present.max_offset) {
                offset = offset.map(|x| x * shrink);
            }
            let local = match base {
                Some(base) if POSITIONS => std::array::from_fn(|k| base[k] + offset[k]),
                _ => offset,
            };
            put.put(out, local);
        }
        farthest.sqrt()
    }
}

/// An instant with its arrays as wide as registers.
struct PaddedInstant<'a> {
    /// q, then f.
    flesh: Vec<[f32; 4]>,
    sway: Vec<[f32; 4]>,
    present: &'a DisplayState<'a>,
}

#[inline(always)]
fn first_three([x, y, z, _]: [f32; 4]) -> [f32; 3] {
    [x, y, z]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lattice::Embedding;
    use crate::skeleton::{Affine, Pose};
    use nalgebra::Rotation3;

    const REST: [[f64; 3]; 4] = [
        [0.1, 0.2, 0.1],
        [0.5, 0.2, 0.2],
        [0.1, 0.6, 0.1],
        [0.2, 0.2, 0.5],
    ];

    /// One cell, four vertices in it, two bones; the last vertex hangs on none.
    struct CellScene {
        embedding: Embedding,
        weights: SkinWeights,
        pose: Pose,
        lattice: Vec<Vec3>,
        sway: Vec<Vec3>,
    }

    fn scene() -> CellScene {
        let local = |[x, y, z]: [f64; 3]| vec![(0, 1.0 - x - y - z), (1, x), (2, y), (3, z)];
        let turned = Affine {
            linear: Rotation3::from_euler_angles(0.2, -0.5, 0.4).into_inner(),
            translation: Vec3::new(0.3, 0.1, -0.2),
        };
        let rows = [
            vec![(0, 1.0)],
            vec![(0, 0.5), (1, 0.5)],
            vec![(1, 1.0)],
            vec![],
        ];
        let corners = [[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]].map(Vec3::from);
        let moved = |(k, x): (usize, &Vec3)| x * 1.2 + Vec3::new(0.1, -0.05, 0.02) * k as f64;
        CellScene {
            embedding: Embedding::from_rows(4, REST.map(|x| (0, local(x)))).unwrap(),
            weights: SkinWeights::from_rows(2, rows).unwrap(),
            pose: Pose::new(vec![Affine::identity(), turned]).unwrap(),
            lattice: corners.iter().enumerate().map(moved).collect(),
            sway: (0..4)
                .map(|k| Vec3::new(0.03, 0.01, -0.02) * (k as f64 - 1.2))
                .collect(),
        }
    }

    impl CellScene {
        /// Returns the positions and offsets of the formula above, in double precision and without limits.
        fn expected_output(
            &self,
            v: usize,
            joints: f64,
            folds: Option<&[f64]>,
            lift: Option<(Vec3, f64)>,
        ) -> (Vec3, Vec3) {
            let rest = Vec3::from(REST[v]);
            let mean = |of: &[Vec3]| self.embedding.position(v, of);
            let sway = mean(&self.sway);
            let rooted = mean(&self.lattice) - sway;
            if v == 3 {
                return (rooted + sway, sway);
            }
            let row = self.weights.row(v);
            let skin: Vec3 = row
                .map(|(b, w)| self.pose.maps()[b as usize].apply(rest) * w)
                .sum();
            let bend = rooted - skin;
            let lift = lift.map_or(Vec3::zeros(), |(way, share)| way * share);
            let fold = folds.map_or(0.0, |f| {
                let all: Vec<Vec3> = f.iter().map(|&f| Vec3::repeat(f)).collect();
                mean(&all).x
            });
            let offset = lift + bend * joints + (bend - lift) * ((1.0 - joints) * fold) + sway;
            (skin + offset, offset)
        }
    }

    /// The displayed positions agree with the formula in double precision.
    #[test]
    fn present_matches_formula() {
        let scene = scene();
        let kernel = CpuEmbedding::new(&scene.embedding, 4).unwrap();
        let rest = REST.map(Vec3::from);
        let surface = SkinnedSurface::new(
            &rest,
            Vec3::zeros(),
            &scene.weights,
            vec![SwayBound::UNLIMITED; 4],
        );
        let lattice = LocalPositions::new(&scene.lattice);
        let sway: Vec<[f32; 3]> = scene.sway.iter().map(|u| u.cast::<f32>().into()).collect();
        let maps = LocalMaps::new(&scene.pose, Vec3::zeros(), lattice.origin);
        let way = Vec3::new(0.02, -0.01, 0.03);
        let of = vec![[0.02, -0.01, 0.03]; 4];
        let part = [0.1, 0.9, 0.4, 0.7];
        let parts = part.map(|x| x as f32);
        for joints in [0.0, 0.4, 1.0] {
            for folds in [None, Some(&part[..])] {
                for lift in [None, Some((way, 0.6))] {
                    let present = DisplayState {
                        lattice: &lattice,
                        sway: Some(&sway),
                        maps: &maps,
                        elastic_joints: joints as f32,
                        lifts: lift.map(|(_, share)| JointLiftOffsets {
                            of: &of,
                            share: share as f32,
                        }),
                        folds: folds.map(|_| &parts[..]),
                        max_offset: f32::INFINITY,
                    };
                    for wanted in [OutputKind::Positions, OutputKind::Offsets] {
                        let mut out = vec![0.0; 12];
                        let show =
                            surface.show(&kernel, &present, wanted, &OutputSpace::WORLD, &mut out);
                        let farthest = show.unwrap();
                        let mut most = 0.0f64;
                        for (v, found) in out.chunks_exact(3).enumerate() {
                            // A vertex without skin has no lift.
                            if v == 3 && lift.is_some() {
                                continue;
                            }
                            let (place, offset) = scene.expected_output(v, joints, folds, lift);
                            most = most.max(offset.norm());
                            let wanted = if wanted == OutputKind::Positions {
                                place
                            } else {
                                offset
                            };
                            let found =
                                Vec3::new(found[0].into(), found[1].into(), found[2].into());
                            assert!(
                                (found - wanted).norm() < 1e-6,
                                "{v} {joints} {found} {wanted}"
                            );
                        }
                        assert!(f64::from(farthest) > most - 1e-6);
                    }
                }
            }
        }
    }
}
