// SPDX-License-Identifier: MIT OR Apache-2.0
//! Output of a vertex from its displacement u: u itself, the position at rest, or the position under the blended maps
//! of its bones. The latter is `T(x + u) = T(x) + L u` with L the linear part and `L u` softly limited; offsets are
//! `L u` alone. All are relative to the origin near the body, from which they are then written.

use super::super::LocalPositions;
#[cfg(target_arch = "x86_64")]
use super::super::limit::BoneWeight;
use super::super::limit::{MapColumns, SkinPairs, image, shrink};
use super::model::{BoneMaps, Finish};

/// Runs a loop with the finish known at compile time, as a function of a vertex and its displacement.
macro_rules! with_finish {
    ($fma:ident, $finish:expr, $show:ident => $work:expr) => {{
        use $crate::kernel::warp::model::Finish;
        use $crate::kernel::warp::vertex_output::{add_vectors, posed_vertex};
        match $finish {
            Finish::Displacements => {
                let $show = |_: usize, u: [f32; 3]| u;
                $work
            }
            Finish::Rest(rest) => {
                let $show = |vertex: usize, u| add_vectors(rest.points[vertex], u);
                $work
            }
            Finish::Posed(rest, skin, bones) => {
                let $show = |vertex, u| {
                    let (skin, away) = posed_vertex::<$fma>(rest, u, vertex, skin, bones);
                    add_vectors(skin, away)
                };
                $work
            }
            Finish::Offsets(rest, skin, bones) => {
                let $show = |vertex, u| posed_vertex::<$fma>(rest, u, vertex, skin, bones).1;
                $work
            }
        }
    }};
}
pub(super) use with_finish;

/// Returns the output of a vertex with displacement `u`. `FMA`: the caller enables AVX2 and FMA.
#[inline(always)]
pub(super) fn finish_vertex<const FMA: bool>(
    finish: &Finish<'_>,
    vertex: usize,
    u: [f32; 3],
) -> [f32; 3] {
    with_finish!(FMA, finish, show => show(vertex, u))
}

#[inline(always)]
pub(super) fn add_vectors(a: [f32; 3], b: [f32; 3]) -> [f32; 3] {
    [a[0] + b[0], a[1] + b[1], a[2] + b[2]]
}

/// Returns the skin's position, and the offset from it.
#[inline(always)]
pub(super) fn posed_vertex<const FMA: bool>(
    rest: &LocalPositions,
    u: [f32; 3],
    vertex: usize,
    skin: &SkinPairs,
    bones: &BoneMaps,
) -> ([f32; 3], [f32; 3]) {
    let (x, maps) = (rest.points[vertex], bones.maps.maps());
    #[cfg(target_arch = "x86_64")]
    let (skin, away) = if FMA {
        // SAFETY: only callers that enable AVX2 and FMA set `FMA`.
        unsafe { images_avx2(x, u, skin.row(vertex).unwrap_or_default(), maps) }
    } else {
        images(x, u, skin, vertex, maps)
    };
    #[cfg(not(target_arch = "x86_64"))]
    let (skin, away) = images(x, u, skin, vertex, maps);
    let squared = away[0] * away[0] + away[1] * away[1] + away[2] * away[2];
    let scale = shrink(squared, bones.limit).unwrap_or(1.0);
    (skin, away.map(|x| x * scale))
}

/// Returns `T(x)` and `L u`.
#[inline(always)]
fn images(
    x: [f32; 3],
    u: [f32; 3],
    skin: &SkinPairs,
    vertex: usize,
    maps: &[MapColumns],
) -> ([f32; 3], [f32; 3]) {
    let map = skin.blend(vertex, maps).unwrap_or_default();
    let linear = [map[0], map[1], map[2], [0.0; 4]];
    (image(&map, x), image(&linear, u))
}

/// Returns the same as [`images`], with two columns of a map in each register.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx2,fma")]
fn images_avx2(
    x: [f32; 3],
    u: [f32; 3],
    row: &[BoneWeight],
    maps: &[MapColumns],
) -> ([f32; 3], [f32; 3]) {
    use std::arch::x86_64::{
        __m256, _mm_add_ps, _mm_set1_ps, _mm_storeu_ps, _mm256_castps256_ps128,
        _mm256_extractf128_ps, _mm256_fmadd_ps, _mm256_loadu_ps, _mm256_mul_ps, _mm256_set_m128,
        _mm256_set1_ps, _mm256_setzero_ps,
    };
    let (mut first, mut second) = (_mm256_setzero_ps(), _mm256_setzero_ps());
    for pair in row {
        let Some(map) = maps.get(pair.bone as usize) else {
            continue;
        };
        let weight = _mm256_set1_ps(pair.weight);
        let from = map.as_ptr().cast::<f32>();
        // SAFETY: a map is sixteen numbers, two loads of eight that need no alignment.
        let (a, b) = unsafe { (_mm256_loadu_ps(from), _mm256_loadu_ps(from.add(8))) };
        first = _mm256_fmadd_ps(weight, a, first);
        second = _mm256_fmadd_ps(weight, b, second);
    }
    let twice = |low: f32, high: f32| _mm256_set_m128(_mm_set1_ps(high), _mm_set1_ps(low));
    let image = |[x, y, z]: [f32; 3], one: f32| -> [f32; 3] {
        let both: __m256 = _mm256_mul_ps(second, twice(z, one));
        let both = _mm256_fmadd_ps(first, twice(x, y), both);
        let (low, high) = (
            _mm256_castps256_ps128(both),
            _mm256_extractf128_ps::<1>(both),
        );
        let mut sum = [0.0f32; 4];
        // SAFETY: room for four numbers; the store needs no alignment.
        unsafe { _mm_storeu_ps(sum.as_mut_ptr(), _mm_add_ps(low, high)) };
        [sum[0], sum[1], sum[2]]
    };
    (image(x, 1.0), image(u, 0.0))
}
