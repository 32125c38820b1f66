// SPDX-License-Identifier: MIT OR Apache-2.0
//! Posed vertices carried back to before the skeleton acts, where keys of engines and of Blender act.
//!
//! A vertex at rest x₀ moves by `x ↦ B x + t`. To appear at x it must be at x₀ + d before, with `B d = o` for its offset
//! `o = x − (B x₀ + t)` from the plain skin. Where B flattens (a joint folded over under linear blending, a bone scaled to
//! nothing), d is kept finite by damped least squares: in the singular directions of B, `argmin |B d − o|² + e(s)² |d|²`. The
//! damping e is 0 for singular values s from [`FLAT_SHARE`] of the usual stretch on, and grows to half of it where s is 0, so that d
//! changes smoothly and never exceeds about twelve times o. What is missed is reported. Cost: linear in vertices and frames.

use super::{BakeError, VertexFrames, VertexMap, VertexMaps};
use crate::progress::{Cancelled, Progress};
use crate::{Mat3, Vec3};
use rayon::prelude::*;

/// Singular values below this share of a frame's usual stretch are damped. At half of it, offsets near folded joints would be
/// twice as long for nothing that is seen; at twice, ordinary creases would miss.
const FLAT_SHARE: f64 = 0.1;

/// Positions before the skeleton acts.
#[derive(Debug, Clone, PartialEq)]
pub struct RestFrames {
    /// Positions `[f, n, 3]` of all clips, m.
    pub positions: Vec<f32>,
    /// Largest distance of a vertex, moved by its map again, from the given one, m.
    pub max_error: f64,
}

/// Returns where vertices must be before `maps` act on them to appear at `frames`.
///
/// `rest`: positions of the plain mesh before the maps, `[n, 3]`, m. Positions that no map could bring to their place stay as near
/// to them as the damping allows.
///
/// # Errors
/// Fails if `rest` has another number of vertices, or if the caller stops.
pub fn to_rest_space(
    frames: &VertexFrames,
    maps: &VertexMaps,
    rest: &[f32],
    progress: &dyn Progress,
) -> Result<RestFrames, BakeError> {
    let row = 3 * frames.vertex_count();
    if rest.len() != row {
        let (given, expected) = (rest.len() / 3, frames.vertex_count());
        return Err(BakeError::vertices("rest has", given, expected));
    }
    let mut positions = vec![0.0_f32; frames.len() * row];
    let mut max_error = 0.0_f64;
    for (f, to) in positions.chunks_exact_mut(row).enumerate() {
        if !progress.report(f as f64 / frames.len() as f64, "Into rest space") {
            return Err(Cancelled.into());
        }
        let vertex_maps: Vec<VertexMap> = (0..frames.vertex_count())
            .map(|v| maps.map(frames, f, v))
            .collect();
        let flat = FLAT_SHARE * usual_stretch(&vertex_maps);
        let vertices = to
            .par_chunks_exact_mut(3)
            .zip(frames.frame(f).par_chunks_exact(3));
        let errors = vertices.zip(rest.par_chunks_exact(3)).zip(&vertex_maps);
        let frame_error = errors
            .map(|(((to, seen), rest), map)| {
                let rest = Vec3::new(rest[0].into(), rest[1].into(), rest[2].into());
                let seen = Vec3::new(seen[0].into(), seen[1].into(), seen[2].into());
                let linear: Mat3 = map.linear.cast();
                let plain = linear * rest + map.translation.cast::<f64>();
                let offset = before_map(&linear, &(seen - plain), flat);
                let at = (rest + offset).cast::<f32>();
                to.copy_from_slice(at.as_slice());
                (linear * at.cast::<f64>() + map.translation.cast::<f64>() - seen).norm()
            })
            .reduce(|| 0.0, f64::max);
        max_error = max_error.max(frame_error);
    }
    Ok(RestFrames {
        positions,
        max_error,
    })
}

/// Returns the median over the maps of the stretch, the root of the mean square of their singular values.
fn usual_stretch(maps: &[VertexMap]) -> f64 {
    let mut stretches: Vec<f64> = maps
        .iter()
        .map(|map| (map.linear.cast::<f64>().norm_squared() / 3.0).sqrt())
        .collect();
    let middle = stretches.len() / 2;
    *stretches.select_nth_unstable_by(middle, f64::total_cmp).1
}

/// Solves `B d = o`, damped in directions that B scales by less than `flat`.
fn before_map(linear: &Mat3, offset: &Vec3, flat: f64) -> Vec3 {
    let determinant = linear.determinant();
    // The smallest singular value is at least |det| over the product of the others, which is at most half of their squares' sum.
    if determinant.abs() > 0.5 * flat * linear.norm_squared()
        && let Some(inverse) = linear.try_inverse()
    {
        return inverse * offset;
    }
    let svd = linear.svd(true, true);
    let (Some(u), Some(v_t)) = (svd.u, svd.v_t) else {
        return Vec3::zeros();
    };
    let along = u.tr_mul(offset);
    let scaled = Vec3::from_fn(|i, _| {
        let s = svd.singular_values[i];
        let damping = match s < flat {
            true => (0.5 * flat).powi(2) * (1.0 - (s / flat).powi(2)),
            false => 0.0,
        };
        match s * s + damping {
            0.0 => 0.0,
            square => along[i] * s / square,
        }
    });
    v_t.tr_mul(&scaled)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::progress::Silent;
    use nalgebra::Rotation3;

    fn matrices(linear: &[Mat3], translation: &Vec3) -> Vec<f32> {
        let rows = linear
            .iter()
            .flat_map(|b| (0..3).flat_map(|i| [b[(i, 0)], b[(i, 1)], b[(i, 2)], translation[i]]));
        rows.map(|x| x as f32).collect()
    }

    /// Turned, stretched and moved vertices come back to where they were; the error is that of single precision.
    #[test]
    fn rest_space_inverts_maps() {
        let turn = Rotation3::from_euler_angles(0.3, -1.0, 2.0).into_inner();
        let linear = [turn, turn * Mat3::from_diagonal(&Vec3::new(1.0, 0.5, 1.7))];
        let shift = Vec3::new(3.0, -1.0, 0.2);
        let before = [Vec3::new(0.1, 0.2, 0.3), Vec3::new(-0.4, 0.0, 0.9)];
        let seen: Vec<f32> = (0..2)
            .flat_map(|v| {
                (linear[v] * before[v] + shift)
                    .iter()
                    .map(|&x| x as f32)
                    .collect::<Vec<_>>()
            })
            .collect();
        let frames = VertexFrames::new([&seen[..]], 2).unwrap();
        let given = matrices(&linear, &shift);
        let maps = VertexMaps::from_matrices(vec![&given], (3, 4), &frames).unwrap();
        let found = to_rest_space(&frames, &maps, &[0.0; 6], &Silent).unwrap();
        for (v, at) in found.positions.chunks(3).enumerate() {
            for i in 0..3 {
                assert!((f64::from(at[i]) - before[v][i]).abs() < 1e-6);
            }
        }
        assert!(found.max_error < 1e-6);
    }

    /// A flat map loses what it flattens, reports it, and keeps the rest finite.
    #[test]
    fn rest_space_reports_what_a_flat_map_loses() {
        let linear = [
            Mat3::identity(),
            Mat3::identity(),
            Mat3::from_diagonal(&Vec3::new(1.0, 1.0, 0.0)),
        ];
        let given = matrices(&linear, &Vec3::zeros());
        let seen = [0.0, 0.0, 0.1, 0.0, 0.0, 0.1, 0.1, 0.0, 0.2_f32];
        let frames = VertexFrames::new([&seen[..]], 3).unwrap();
        let maps = VertexMaps::from_matrices(vec![&given], (3, 4), &frames).unwrap();
        let found = to_rest_space(&frames, &maps, &[0.0; 9], &Silent).unwrap();
        assert!((found.max_error - 0.2).abs() < 1e-6);
        assert!((found.positions[6] - 0.1).abs() < 1e-6 && found.positions[8].abs() < 1e-6);
    }

    /// Nearly flat maps never lengthen an offset more than twelve times, and the solution is continuous at the threshold.
    #[test]
    fn damped_solution_is_bounded_and_continuous() {
        let offset = Vec3::new(0.0, 0.0, 1.0);
        let along =
            |s: f64| before_map(&Mat3::from_diagonal(&Vec3::new(1.0, 1.0, s)), &offset, 0.1).z;
        for i in 0..1000 {
            assert!(along(i as f64 * 1e-3).abs() < 12.0);
        }
        assert!((along(0.1 - 1e-9) - along(0.1 + 1e-9)).abs() < 1e-5);
        assert!((along(0.5) - 2.0).abs() < 1e-12);
    }
}
