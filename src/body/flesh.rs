// SPDX-License-Identifier: MIT OR Apache-2.0
//! The flesh at each vertex of the skin, and the stiffness and bounds of sway that follow from it.
//!
//! **Thickness** r is the distance at rest of a skin vertex to the bones that carry it, smoothed over the skin. Last
//! bones are extended past their ends (skulls, toes, finger tips). [docs/methods/skinned-ground.md] Linear flesh of depth t on a rigid
//! core answers an acceleration a by about `ρ a t²/(2G)`. Flesh of uniform stiffness would thus sway most where bones
//! are least felt, and yet tear thin parts. With a stiffness ∝ 1/r² all parts sway by the same length, and thick
//! ones, softened further, by more.
//!
//! **Flesh** f, 0 to 1, is the map that an artist paints: 1 is the softest, 0 keeps the skin as it is. An unpainted
//! map follows from shape and rig ([`Anatomy`]). Stiffness is multiplied by `1/f²`, at most [`MAX_STIFFNESS_RATIO`]; below f =
//! `1/√MAX_STIFFNESS_RATIO` sway fades out.

use super::BodyError;
use super::anatomy::{Anatomy, CharacterKind, body_vertices};
use super::bone_distance::{bone_distance, last_bones};
use crate::Vec3;
use crate::geometry::aabb;
use crate::geometry::groups::{Groups, directed_edges};
use crate::kernel::SwayBound;
use crate::lattice::heading;
use crate::progress::{Cancelled, Progress, StageProgress, map_parallel, report_progress};
use crate::skeleton::{Skeleton, SkinWeights};
use crate::surface::Surface;
use rayon::prelude::*;

/// Largest ratio of stiffness between thin and thick flesh. Flesh this firm sways by a hundredth, which nobody sees.
pub(super) const MAX_STIFFNESS_RATIO: f64 = 100.0;
/// Radius over which thickness is smoothed, as a part of the body's size.
const SMOOTHING_RADIUS: f64 = 0.03;
/// Most passes of smoothing. One pass spreads by an edge, this number by 7.7.
const MAX_SMOOTHING_PASSES: usize = 60;
/// Sway is shown up to this part of the thickness plus [`SWAY_SIZE_SHARE`] times the size. Below 1, so that no bone is reached.
const SWAY_DEPTH_SHARE: f64 = 0.6;
const SWAY_SIZE_SHARE: f64 = 0.005;

/// Flesh at the vertices of a skin.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct FleshMap {
    /// Thickness r, metres; infinite at vertices that no bone carries.
    pub thickness: Vec<f64>,
    /// Flesh f, 0 to 1.
    pub flesh: Vec<f64>,
}

impl FleshMap {
    /// Builds the map of a surface skinned by weights, and the anatomy if it was computed. `painted` replaces the
    /// automatic f, which uses the kind and the hard share of each vertex.
    pub(super) fn new(
        surface: &Surface,
        skeleton: &Skeleton,
        weights: &SkinWeights,
        painted: Option<&[f64]>,
        (kind, hard): (CharacterKind, Option<&[f64]>),
        progress: &dyn Progress,
    ) -> Result<(Self, Option<Anatomy>), Cancelled> {
        let part = |from, to| StageProgress {
            whole: progress,
            from,
            to,
        };
        const STAGE: &str = "Measuring how thick it is";
        let anatomy = match painted {
            Some(_) => None,
            None => Some(Anatomy::new(
                surface,
                skeleton,
                weights,
                kind,
                &part(0.0, 0.6),
            )?),
        };
        let size = match &anatomy {
            Some(anatomy) => anatomy.size(),
            None => {
                let mine = body_vertices(surface, skeleton, weights);
                let own = surface
                    .vertices()
                    .iter()
                    .zip(mine)
                    .filter(|(_, mine)| *mine);
                let heading = heading(surface, skeleton);
                aabb::diagonal(own.map(|(x, _)| heading.to_own(x)))
            }
        };
        let last = last_bones(skeleton, weights.bones.iter().copied());
        let vertices = surface.vertices();
        let raw = map_parallel(vertices.len(), (&part(0.6, 0.8), STAGE), |v| {
            bone_distance(skeleton, &last, weights.row(v), vertices[v])
        })?;
        report_progress(progress, 0.8, STAGE)?;
        let thickness = smooth_distances(surface, raw, size);
        let flesh = match (painted, &anatomy) {
            (Some(painted), _) => painted.to_vec(),
            (None, Some(anatomy)) => anatomy.flesh(hard),
            (None, None) => vec![1.0; vertices.len()],
        };
        Ok((Self { thickness, flesh }, anatomy))
    }

    /// Returns the stiffness factor at each vertex, relative to the softest flesh.
    pub(super) fn stiffness(&self) -> impl Iterator<Item = f64> + '_ {
        self.flesh
            .iter()
            .map(|f| (f * f).recip().min(MAX_STIFFNESS_RATIO))
    }

    /// Returns the share and limit of the sway shown at each vertex of a body of this size.
    pub(crate) fn bounds(&self, size: f64) -> Vec<SwayBound> {
        (0..self.flesh.len()).map(|v| self.bound(v, size)).collect()
    }

    /// Returns the share and limit of the sway shown at a vertex of a body of this size.
    pub(crate) fn bound(&self, vertex: usize, size: f64) -> SwayBound {
        let (f, r) = (self.flesh[vertex], self.thickness[vertex]);
        let part = (f / MAX_STIFFNESS_RATIO.sqrt().recip()).clamp(0.0, 1.0);
        SwayBound {
            share: (part * part * (3.0 - 2.0 * part)) as f32,
            limit: ((SWAY_DEPTH_SHARE * (r + SWAY_SIZE_SHARE * size)) as f32)
                .max(f32::MIN_POSITIVE),
        }
    }
}

/// Returns the thickness r of a skin without a [`FleshMap`].
pub(super) fn thickness(
    surface: &Surface,
    skeleton: &Skeleton,
    weights: &SkinWeights,
    size: f64,
) -> Vec<f64> {
    let last = last_bones(skeleton, weights.bones.iter().copied());
    let of = |(v, x): (usize, &Vec3)| bone_distance(skeleton, &last, weights.row(v), *x);
    let raw = surface.vertices().par_iter().enumerate().map(of).collect();
    smooth_distances(surface, raw, size)
}

/// Smooths distances to bones over the skin. Skin that is thin next to thick flesh stays thin: a leg at a belly, a
/// horn on a head.
fn smooth_distances(surface: &Surface, raw: Vec<f64>, size: f64) -> Vec<f64> {
    let mut thickness = raw.clone();
    smooth(surface, SMOOTHING_RADIUS * size, &mut thickness);
    for (r, raw) in thickness.iter_mut().zip(raw) {
        *r = r.min(raw);
    }
    smooth(surface, 0.3 * SMOOTHING_RADIUS * size, &mut thickness);
    thickness
}

/// Checks the length and range of a painted map.
pub(super) fn check(painted: Option<&[f64]>, expected: usize) -> Result<(), BodyError> {
    let Some(painted) = painted else {
        return Ok(());
    };
    let (what, per) = ("painted flesh", "vertex of the mesh");
    if painted.len() != expected {
        let given = painted.len();
        return Err(BodyError::Length {
            what,
            per,
            expected,
            given,
        });
    }
    match painted.iter().position(|f| !(0.0..=1.0).contains(f)) {
        Some(index) => Err(BodyError::Value {
            what,
            per,
            index,
            value: painted[index],
            range: "between 0 (the skin as it is) and 1 (as soft as it gets)",
        }),
        None => Ok(()),
    }
}

/// Averages values over neighbours within `reach` metres along the skin's edges, across seams, independent of the
/// resolution.
fn smooth(surface: &Surface, reach: f64, values: &mut [f64]) {
    let welded = surface.welded();
    let mut links = directed_edges(welded.triangles.iter().copied());
    links.dedup();
    if links.is_empty() {
        return;
    }
    let length =
        |&(a, b): &(u32, u32)| (welded.vertices[a as usize] - welded.vertices[b as usize]).norm();
    let mean = links.iter().map(length).sum::<f64>() / links.len() as f64;
    // A pass spreads by about one edge, n of them by √n.
    let wanted = (reach / mean.max(f64::MIN_POSITIVE)).powi(2);
    let passes = (wanted.ceil() as usize).clamp(1, MAX_SMOOTHING_PASSES);

    let mut at = vec![f64::INFINITY; welded.vertices.len()];
    for (v, &w) in welded.of_vertex.iter().enumerate() {
        if let Some(at) = at.get_mut(w as usize) {
            *at = at.min(values[v]);
        }
    }
    let known: Vec<bool> = at.iter().map(|r| r.is_finite()).collect();
    let neighbours = Groups::new(at.len(), links.into_iter());
    let mut next = at.clone();
    for _ in 0..passes {
        let mean = |(v, next): (usize, &mut f64)| {
            if !known[v] {
                return;
            }
            let own = neighbours.members(v).iter();
            let near = own.map(|&n| n as usize).filter(|&n| known[n]);
            let (sum, count) = near.fold((0.0, 0.0), |(s, c), n| (s + at[n], c + 1.0));
            if count > 0.0 {
                *next = 0.5 * (at[v] + sum / count);
            }
        };
        next.par_iter_mut()
            .with_min_len(4096)
            .enumerate()
            .for_each(mean);
        std::mem::swap(&mut at, &mut next);
    }
    for (v, &w) in welded.of_vertex.iter().enumerate() {
        if let (Some(&at), true) = (at.get(w as usize), values[v].is_finite()) {
            values[v] = at;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::body::bone_distance::distance_to_bone;
    use crate::progress::Silent;

    fn build_map(
        surface: &Surface,
        skeleton: &Skeleton,
        weights: &SkinWeights,
        painted: Option<&[f64]>,
    ) -> FleshMap {
        let kind = CharacterKind::Automatic;
        let made = FleshMap::new(surface, skeleton, weights, painted, (kind, None), &Silent);
        made.unwrap().0
    }

    /// Builds an open tube along z from 0 to 1, of 41 rings, around bones one after the other.
    fn tube(radius: impl Fn(f64) -> f64, bones: &[(f64, f64)]) -> (Surface, Skeleton, SkinWeights) {
        const RINGS: usize = 41;
        const RING_VERTICES: usize = 24;
        let mut vertices = Vec::new();
        for k in 0..RINGS {
            let z = k as f64 / (RINGS - 1) as f64;
            for i in 0..RING_VERTICES {
                let a = i as f64 * std::f64::consts::TAU / RING_VERTICES as f64;
                vertices.push(Vec3::new(radius(z) * a.cos(), radius(z) * a.sin(), z));
            }
        }
        let mut triangles = Vec::new();
        for k in 0..RINGS - 1 {
            for i in 0..RING_VERTICES {
                let at = |k: usize, i: usize| (k * RING_VERTICES + i % RING_VERTICES) as u32;
                let [a, b, c, d] = [at(k, i), at(k, i + 1), at(k + 1, i), at(k + 1, i + 1)];
                triangles.extend([[a, b, d], [a, d, c]]);
            }
        }
        let end = |z: f64| Vec3::new(0.0, 0.0, z);
        let names = (0..bones.len()).map(|b| format!("bone {b}")).collect();
        let parents = (0..bones.len() as u32).map(|b| b.checked_sub(1)).collect();
        let heads = bones.iter().map(|b| end(b.0)).collect();
        let tails = bones.iter().map(|b| end(b.1)).collect();
        let skeleton = Skeleton::new(names, parents, heads, tails).unwrap();
        let nearest = |p: &Vec3| {
            let of = |b: usize| distance_to_bone(&skeleton, b as u32, *p);
            let best = (0..bones.len()).min_by(|&a, &b| of(a).total_cmp(&of(b)));
            [(best.unwrap() as u32, 1.0)]
        };
        let weights = SkinWeights::from_rows(bones.len(), vertices.iter().map(nearest)).unwrap();
        let surface = Surface::new(vertices, triangles).unwrap();
        (surface, skeleton, weights)
    }

    /// The thickness of a tube equals its radius, also beyond the end of its last bone.
    #[test]
    fn thickness_equals_tube_radius() {
        let (surface, skeleton, weights) = tube(|_| 0.1, &[(0.0, 0.3), (0.3, 0.5)]);
        let map = build_map(&surface, &skeleton, &weights, None);
        assert!(map.thickness.iter().all(|r| (r - 0.1).abs() < 1e-12));
        // No skin closes the ends of an open tube: only its middle is as thick as it looks.
        assert!(map.flesh[10 * 24..31 * 24].iter().all(|f| *f > 0.9));
        // Only the last bone is extended past its end.
        let (surface, skeleton, weights) = tube(|_| 0.1, &[(0.0, 0.3), (0.7, 1.0)]);
        let map = build_map(&surface, &skeleton, &weights, None);
        let middle = 20 * 24;
        assert!(map.thickness[middle] > 0.15, "{}", map.thickness[middle]);
    }

    /// Thin flesh is firm and sways little, also next to thick flesh.
    #[test]
    fn thin_flesh_is_firm() {
        let radius = |z: f64| if z < 0.5 { 0.2 } else { 0.05 };
        let (surface, skeleton, weights) = tube(radius, &[(0.0, 0.5), (0.5, 1.0)]);
        let map = build_map(&surface, &skeleton, &weights, None);
        let stiffness: Vec<f64> = map.stiffness().collect();
        let (thick, thin) = (5 * 24, 35 * 24);
        assert!(stiffness[thin] > 10.0 * stiffness[thick]);
        let bounds = map.bounds(surface.size());
        assert!((bounds[thick].limit / bounds[thin].limit) > 3.0);
        // Right behind the step it has not grown much.
        assert!(map.thickness[23 * 24] < 0.1, "{}", map.thickness[23 * 24]);
        let (surface, ..) = tube(|z| if z < 0.9 { 0.001 } else { 0.2 }, &[(0.0, 1.0)]);
        let weights =
            SkinWeights::from_rows(1, surface.vertices().iter().map(|_| [(0, 1.0)])).unwrap();
        let skeleton = Skeleton::new(
            vec!["a".into()],
            vec![None],
            vec![Vec3::zeros()],
            vec![Vec3::z()],
        )
        .unwrap();
        let map = build_map(&surface, &skeleton, &weights, None);
        assert!(
            map.stiffness()
                .all(|s| (1.0..=MAX_STIFFNESS_RATIO * (1.0 + 1e-12)).contains(&s))
        );
    }

    /// A thin wing has little flesh even if its bone lies far away.
    #[test]
    fn thin_wing_has_little_flesh() {
        let radius = |z: f64| if z < 0.5 { 0.2 } else { 0.02 };
        let (surface, mut skeleton, weights) = tube(radius, &[(0.0, 1.0)]);
        let aside = |x: &Vec3| x + Vec3::new(0.2, 0.0, 0.0);
        skeleton = Skeleton::new(
            skeleton.names().to_vec(),
            skeleton.parents().to_vec(),
            skeleton.heads().iter().map(aside).collect(),
            skeleton.tails().iter().map(aside).collect(),
        )
        .unwrap();
        let map = build_map(&surface, &skeleton, &weights, None);
        for v in 30 * 24..38 * 24 {
            assert!(map.thickness[v] > 0.15 && map.flesh[v] < 0.2, "{v}");
        }
    }

    /// The map depends neither on the scale nor on seams between triangles with corners of their own.
    #[test]
    fn map_ignores_scale_and_seams() {
        let radius = |z: f64| 0.1 + 0.08 * (6.0 * z).sin();
        let (surface, skeleton, weights) = tube(radius, &[(0.0, 0.4), (0.4, 1.0)]);
        let map = build_map(&surface, &skeleton, &weights, None);
        // Every triangle with corners of its own.
        let corners: Vec<usize> = surface
            .triangles()
            .iter()
            .flatten()
            .map(|&v| v as usize)
            .collect();
        let apart: Vec<Vec3> = corners
            .iter()
            .map(|&v| surface.vertices()[v] * 64.0)
            .collect();
        let triangles = (0..corners.len() as u32 / 3)
            .map(|t| [3 * t, 3 * t + 1, 3 * t + 2])
            .collect();
        let rows = corners.iter().map(|&v| weights.row(v).collect::<Vec<_>>());
        let weights = SkinWeights::from_rows(2, rows).unwrap();
        let scaled = |x: &[Vec3]| x.iter().map(|x| x * 64.0).collect::<Vec<_>>();
        let skeleton = Skeleton::new(
            skeleton.names().to_vec(),
            skeleton.parents().to_vec(),
            scaled(skeleton.heads()),
            scaled(skeleton.tails()),
        )
        .unwrap();
        let apart = Surface::new(apart, triangles).unwrap();
        let other = build_map(&apart, &skeleton, &weights, None);
        for (i, &v) in corners.iter().enumerate() {
            assert!((other.thickness[i] / 64.0 - map.thickness[v]).abs() < 1e-9);
            assert!((other.flesh[i] - map.flesh[v]).abs() < 1e-6);
        }
    }

    /// Painted flesh replaces the map, and skin that no bone carries keeps its place.
    #[test]
    fn paint_overrides_map() {
        let (surface, skeleton, weights) = tube(|_| 0.1, &[(0.0, 1.0)]);
        let n = surface.vertices().len();
        let painted: Vec<f64> = (0..n).map(|v| v as f64 / (n - 1) as f64).collect();
        let map = build_map(&surface, &skeleton, &weights, Some(&painted));
        assert_eq!(map.flesh, painted);
        let shares: Vec<f32> = map.bounds(1.0).iter().map(|b| b.share).collect();
        assert!(shares[0] == 0.0 && shares[n - 1] == 1.0 && shares.is_sorted());
        let none = SkinWeights::from_rows(1, (0..n).map(|_| [(0, 0.0)])).unwrap();
        let map = build_map(&surface, &skeleton, &none, None);
        assert!(map.thickness.iter().all(|r| r.is_infinite()));
        assert!(map.bounds(1.0).iter().all(|b| b.share == 0.0));
        for (bad, word) in [
            (vec![0.5; n - 1], "expected"),
            (vec![1.5; n], "between"),
            (vec![f64::NAN; n], "between"),
        ] {
            let error = check(Some(&bad), n).unwrap_err().to_string();
            assert!(
                error.contains("painted flesh") && error.contains(word),
                "{error}"
            );
        }
    }
}
