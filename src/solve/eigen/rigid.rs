// SPDX-License-Identifier: MIT OR Apache-2.0
//! Motions that cost no energy: rigid fields of unattached parts, found part by part.
//!
//! They are eigenvectors for the eigenvalue 0 in closed form, for any number of free parts. A field is
//! accepted only if its elastic force is zero up to rounding, so the method also works for matrices that are
//! not those of an elastic body. The Rayleigh quotients of quadratic fields give the order of magnitude of
//! the lowest elastic eigenvalue, from which a shift is chosen.

use super::pencil::Pencil;
use crate::Vec3;
use crate::solve::tall;
use faer::Mat;

/// Force of a field, as a share of the stiffness, below which the field is free.
const FREE_FORCE_TOLERANCE: f64 = 1e-13;
/// Squared length, as a share of the longest, below which fields are dependent.
const DEPENDENCE_TOLERANCE: f64 = 1e-11;

/// Free motions of the body's parts.
pub(super) struct FreeMotions {
    /// M-orthonormal fields without elastic force.
    pub fields: Mat<f64>,
    /// Estimate of the lowest nonzero eigenvalue, 1/s², from above.
    pub elastic: f64,
}

/// Finds the free motions. `centres` are in the caller's numbering.
pub(super) fn find_free_motions(pencil: &Pencil<'_>, centres: &[Vec3]) -> FreeMotions {
    let parts = pencil.connected_parts();
    let centres: Vec<Vec3> = pencil
        .order()
        .iter()
        .map(|&i| centres[i as usize])
        .collect();
    let places = local_coordinates(&parts, &centres);
    let fields = free_fields(pencil, &parts, &places);
    FreeMotions {
        elastic: lowest_quadratic(pencil, &parts, &places, fields.ncols() > 0),
        fields,
    }
}

/// Returns coordinates relative to the mean of each part, in units of its size.
fn local_coordinates(parts: &[Vec<u32>], centres: &[Vec3]) -> Vec<Vec3> {
    let mut places = vec![Vec3::zeros(); centres.len()];
    for part in parts {
        let sum: Vec3 = part.iter().map(|&i| centres[i as usize]).sum();
        let middle = sum / part.len() as f64;
        let distances = part.iter().map(|&i| (centres[i as usize] - middle).amax());
        let size = distances.fold(0.0, f64::max);
        for &i in part {
            let offset = centres[i as usize] - middle;
            places[i as usize] = if size > 0.0 { offset / size } else { offset };
        }
    }
    places
}

fn free_fields(pencil: &Pencil<'_>, parts: &[Vec<u32>], places: &[Vec3]) -> Mat<f64> {
    let p = Mat::from_fn(pencil.len(), 6, |row, column| {
        let axis = Vec3::ith(column % 3, 1.0);
        let field = if column < 3 {
            axis
        } else {
            axis.cross(&places[row / 3])
        };
        field[row % 3]
    });
    let (kp, mp) = (
        pencil.stiffness_times(p.as_ref()),
        pencil.mass_times(p.as_ref()),
    );
    let mut free: Vec<(&Vec<u32>, Vec<f64>)> = Vec::new();
    for part in parts {
        let Some((_, combinations)) = rayleigh_quotients(part, &p, &kp, &mp) else {
            continue;
        };
        for k in 0..combinations.ncols() {
            let at = |field: &Mat<f64>, row: usize| -> f64 {
                (0..6).map(|j| field[(row, j)] * combinations[(j, k)]).sum()
            };
            let rows = || {
                part.iter()
                    .flat_map(|&i| (0..3).map(move |c| 3 * i as usize + c))
            };
            let force: f64 = rows().map(|row| at(&kp, row).powi(2)).sum();
            let values: Vec<f64> = rows().map(|row| at(&p, row)).collect();
            let length: f64 = values.iter().map(|v| v * v).sum();
            if force.sqrt() <= FREE_FORCE_TOLERANCE * pencil.norm_k * length.sqrt() {
                free.push((part, values));
            }
        }
    }
    let mut fields = Mat::zeros(pencil.len(), free.len());
    for (k, (part, values)) in free.iter().enumerate() {
        for (&i, value) in part.iter().zip(values.chunks_exact(3)) {
            for (c, &v) in value.iter().enumerate() {
                fields[(3 * i as usize + c, k)] = v;
            }
        }
    }
    fields
}

/// Returns the lowest nonzero Rayleigh quotient over fields of second degree on each part.
fn lowest_quadratic(pencil: &Pencil<'_>, parts: &[Vec<u32>], places: &[Vec3], free: bool) -> f64 {
    let fallback = 1e-6 * pencil.norm_k / pencil.norm_m;
    if !free {
        return fallback;
    }
    let p = Mat::from_fn(pencil.len(), 30, |row, column| {
        let x = places[row / 3];
        let monomials = [
            1.0,
            x.x,
            x.y,
            x.z,
            x.x * x.x,
            x.y * x.y,
            x.z * x.z,
            x.x * x.y,
            x.y * x.z,
            x.z * x.x,
        ];
        if row % 3 == column % 3 {
            monomials[column / 3]
        } else {
            0.0
        }
    });
    let (kp, mp) = (
        pencil.stiffness_times(p.as_ref()),
        pencil.mass_times(p.as_ref()),
    );
    let lowest = parts.iter().filter_map(|part| {
        let (values, _) = rayleigh_quotients(part, &p, &kp, &mp)?;
        let largest = values.last().copied().unwrap_or(0.0);
        values.into_iter().find(|&v| v > 1e-9 * largest)
    });
    let lowest = lowest.fold(f64::INFINITY, f64::min);
    if lowest.is_finite() { lowest } else { fallback }
}

/// Runs Rayleigh-Ritz on the fields `p` of one part. Returns the values, ascending, and M-orthonormal
/// combinations of fields.
fn rayleigh_quotients(
    part: &[u32],
    p: &Mat<f64>,
    kp: &Mat<f64>,
    mp: &Mat<f64>,
) -> Option<(Vec<f64>, Mat<f64>)> {
    let m = p.ncols();
    let (mut a, mut b) = (Mat::<f64>::zeros(m, m), Mat::<f64>::zeros(m, m));
    for &node in part {
        for row in 3 * node as usize..3 * node as usize + 3 {
            for j in 0..m {
                let x = p[(row, j)];
                if x != 0.0 {
                    for i in 0..m {
                        a[(i, j)] += kp[(row, i)] * x;
                        b[(i, j)] += mp[(row, i)] * x;
                    }
                }
            }
        }
    }
    tall::symmetrise(&mut a);
    tall::symmetrise(&mut b);
    let (lengths, u) = tall::symmetric_eigen(b.as_ref())?;
    let longest = lengths.last().copied().unwrap_or(0.0);
    let first = lengths.partition_point(|&d| d <= DEPENDENCE_TOLERANCE * longest);
    let whiten = Mat::from_fn(m, m - first, |i, k| {
        u[(i, first + k)] / lengths[first + k].sqrt()
    });
    let inner = whiten.transpose() * a * &whiten;
    let (values, turn) = tall::symmetric_eigen(inner.as_ref())?;
    Some((values, whiten * turn))
}
