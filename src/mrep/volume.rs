// SPDX-License-Identifier: MIT OR Apache-2.0
//! Volumes: grey values or labels on a three-dimensional grid of voxels, with its position and spacing in the world.

use super::error::MRepError;
use crate::Vec3;
use crate::range;
use rayon::prelude::*;

/// Largest number of voxels. Their values take 8 GiB.
const MAX_VOXELS: usize = 1 << 31;

/// Grey values or labels on a grid of voxels.
#[derive(Debug, Clone, PartialEq)]
pub struct Volume {
    /// Value of each voxel, the last index fastest.
    values: Vec<f32>,
    shape: [usize; 3],
    spacing: Vec3,
    /// Centre of the first voxel, world.
    origin: Vec3,
}

impl Volume {
    /// Builds a volume from voxel values, the last index fastest. `spacing`: distance between voxel centres, `origin`: centre of the first,
    /// metres.
    ///
    /// # Errors
    /// Fewer than two voxels along an axis, too many or too few values, values or sizes that are not numbers or out of range.
    pub fn new(
        values: Vec<f32>,
        shape: [usize; 3],
        spacing: Vec3,
        origin: Vec3,
    ) -> Result<Self, MRepError> {
        let count = shape.iter().try_fold(1_usize, |n, k| n.checked_mul(*k));
        if shape.iter().any(|n| *n < 2) || count.is_none_or(|n| n > MAX_VOXELS) {
            return Err(MRepError::Target(format!(
                "the volume has {} x {} x {} voxels: it needs at least two along each axis, and not more than {MAX_VOXELS} in all",
                shape[0], shape[1], shape[2]
            )));
        }
        MRepError::check_length("the list of voxels", values.len(), count.unwrap_or(0))?;
        if let Some(a) = (0..3).find(|a| !(1e-12..=range::MAX_COORDINATE).contains(&spacing[*a])) {
            return Err(MRepError::Setting {
                name: "the spacing of the voxels",
                value: format!("{} along axis {a}", spacing[a]),
                range: "a number above zero",
            });
        }
        if !range::is_position(&origin) {
            return Err(MRepError::Setting {
                name: "the origin of the volume",
                value: format!("({}, {}, {})", origin.x, origin.y, origin.z),
                range: "a place in the world",
            });
        }
        // Squares of values and of their differences have to stay finite.
        if let Some(bad) = values.iter().position(|v| v.is_nan() || v.abs() > 1e15) {
            let [_, n, m] = shape;
            return Err(MRepError::Target(format!(
                "voxel ({}, {}, {}) of the volume is {}: replace it by a number",
                bad / (n * m),
                bad / m % n,
                bad % m,
                values[bad]
            )));
        }
        Ok(Self {
            values,
            shape,
            spacing,
            origin,
        })
    }

    /// Returns the number of voxels along each axis.
    pub fn shape(&self) -> [usize; 3] {
        self.shape
    }

    /// Returns the distance between voxel centres along each axis, metres.
    pub fn spacing(&self) -> Vec3 {
        self.spacing
    }

    /// Returns the centre of the first voxel, world.
    pub fn origin(&self) -> Vec3 {
        self.origin
    }

    /// Returns the voxel values, the last index fastest.
    pub fn values(&self) -> &[f32] {
        &self.values
    }

    /// Returns the edge of a cube of a voxel's volume, metres.
    pub fn voxel_size(&self) -> f64 {
        self.spacing.product().cbrt()
    }

    /// Returns the value and its gradient (per metre) at a point, by trilinear interpolation. `None`: more than half a voxel outside the
    /// outermost centres.
    pub fn sample(&self, p: &Vec3) -> Option<(f64, Vec3)> {
        let q = (p - self.origin).component_div(&self.spacing);
        let mut first = [0; 3];
        let mut share = [0.0; 3];
        for a in 0..3 {
            let last = (self.shape[a] - 1) as f64;
            if !(-0.5..=last + 0.5).contains(&q[a]) {
                return None;
            }
            let x = q[a].clamp(0.0, last);
            first[a] = (x.floor() as usize).min(self.shape[a] - 2);
            share[a] = x - first[a] as f64;
        }
        let [_, n, m] = self.shape;
        let corner = |i: usize, j: usize, k: usize| {
            let at = ((first[0] + i) * n + first[1] + j) * m + first[2] + k;
            f64::from(self.values[at])
        };
        let mix = |a: f64, b: f64, t: f64| a + (b - a) * t;
        let mut value = [[0.0; 2]; 2];
        let mut along_z = [[0.0; 2]; 2];
        for i in 0..2 {
            for j in 0..2 {
                let (a, b) = (corner(i, j, 0), corner(i, j, 1));
                value[i][j] = mix(a, b, share[2]);
                along_z[i][j] = b - a;
            }
        }
        let rows = value.map(|[a, b]| mix(a, b, share[1]));
        let gradient = Vec3::new(
            rows[1] - rows[0],
            mix(
                value[0][1] - value[0][0],
                value[1][1] - value[1][0],
                share[0],
            ),
            {
                let rows = along_z.map(|[a, b]| mix(a, b, share[1]));
                mix(rows[0], rows[1], share[0])
            },
        );
        Some((
            mix(rows[0], rows[1], share[0]),
            gradient.component_div(&self.spacing),
        ))
    }

    /// Returns the volume blurred by a Gaussian of a standard deviation in metres, isotropic in the world.
    pub fn blur(&self, deviation: f64) -> Self {
        let mut values = self.values.clone();
        for axis in 0..3 {
            let kernel = gaussian(deviation / self.spacing[axis]);
            if kernel.len() > 1 {
                values = convolve(&values, self.shape, axis, &kernel);
            }
        }
        Self {
            values,
            ..self.clone()
        }
    }

    /// Returns the centres of the body's voxels. The level that parts the values best separates them from the background, to which most of the
    /// outermost voxels belong. `None`: all values are alike, or the body touches the border in many places.
    pub fn body_voxels(&self) -> Option<Vec<Vec3>> {
        let level = otsu_threshold(&self.values)?;
        let [n, m, l] = self.shape;
        let mut border = [0_usize; 2];
        let is_high = |i: usize, j: usize, k: usize| self.values[(i * m + j) * l + k] > level;
        let outermost = |i: usize, j: usize, k: usize| {
            i == 0 || j == 0 || k == 0 || i + 1 == n || j + 1 == m || k + 1 == l
        };
        let all =
            || (0..n).flat_map(move |i| (0..m).flat_map(move |j| (0..l).map(move |k| (i, j, k))));
        for (i, j, k) in all().filter(|&(i, j, k)| outermost(i, j, k)) {
            border[usize::from(is_high(i, j, k))] += 1;
        }
        let body_is_high = border[1] < border[0];
        // The centroid of a body that the border cuts is elsewhere.
        if 20 * border[usize::from(body_is_high)] > border[0] + border[1] {
            return None;
        }
        let place = |(i, j, k): (usize, usize, usize)| {
            let at = Vec3::new(i as f64, j as f64, k as f64);
            self.origin + at.component_mul(&self.spacing)
        };
        let body = all().filter(|&(i, j, k)| is_high(i, j, k) == body_is_high);
        Some(body.map(place).collect())
    }

    /// Returns the centres and values of all voxels in a box.
    pub fn voxels_in_box(&self, lo: &Vec3, hi: &Vec3) -> Vec<(Vec3, f64)> {
        let range = |a: usize| {
            let at = |x: f64| (x - self.origin[a]) / self.spacing[a];
            let from = at(lo[a]).ceil().max(0.0) as usize;
            let to = (at(hi[a]).floor() + 1.0).clamp(0.0, self.shape[a] as f64) as usize;
            from..to
        };
        let [_, n, m] = self.shape;
        let mut out = Vec::new();
        for i in range(0) {
            for j in range(1) {
                for k in range(2) {
                    let at = Vec3::new(i as f64, j as f64, k as f64);
                    let place = self.origin + at.component_mul(&self.spacing);
                    out.push((place, f64::from(self.values[(i * n + j) * m + k])));
                }
            }
        }
        out
    }
}

/// Returns the threshold that minimises the spread of values on both sides `[otsu1979]`. `None`: all values are alike.
fn otsu_threshold(values: &[f32]) -> Option<f32> {
    /// Bins of the histogram: levels are known to 0.4 % of the range, less than the noise of any scan, and scans of eight bits are kept whole.
    const HISTOGRAM_BINS: usize = 256;
    let (least, most) = values
        .iter()
        .fold((f32::INFINITY, f32::NEG_INFINITY), |(lo, hi), v| {
            (lo.min(*v), hi.max(*v))
        });
    let width = (most - least) / HISTOGRAM_BINS as f32;
    if width.is_nan() || width <= 0.0 {
        return None;
    }
    let mut counts = [0.0_f64; HISTOGRAM_BINS];
    for v in values {
        counts[(((v - least) / width) as usize).min(HISTOGRAM_BINS - 1)] += 1.0;
    }
    let whole: f64 = counts.iter().sum();
    let sum: f64 = counts.iter().enumerate().map(|(i, c)| i as f64 * c).sum();
    let (mut below, mut below_sum, mut best) = (0.0, 0.0, (f64::NEG_INFINITY, 0));
    for (i, count) in counts.iter().enumerate().take(HISTOGRAM_BINS - 1) {
        below += count;
        below_sum += i as f64 * count;
        let above = whole - below;
        if below == 0.0 || above == 0.0 {
            continue;
        }
        let apart = below_sum / below - (sum - below_sum) / above;
        let between = below * above * apart * apart;
        if between > best.0 {
            best = (between, i);
        }
    }
    Some(least + width * (best.1 + 1) as f32)
}

/// Returns one half of a Gaussian kernel from its centre on; both halves sum to one. Weights are integrated over voxels, as samples of a
/// narrow kernel would lose its width.
fn gaussian(deviation: f64) -> Vec<f64> {
    let radius = (3.5 * deviation).ceil() as usize;
    if radius == 0 || deviation < 1e-3 {
        return vec![1.0];
    }
    /// Samples per voxel: for the narrowest blur in use, 0.7 voxels, their mean equals the integral to 1e-3.
    const SAMPLES_PER_VOXEL: usize = 8;
    let weight = |k: usize| -> f64 {
        let part = |i: usize| {
            let x = k as f64 + (i as f64 + 0.5) / SAMPLES_PER_VOXEL as f64 - 0.5;
            (-0.5 * (x / deviation).powi(2)).exp()
        };
        (0..SAMPLES_PER_VOXEL).map(part).sum()
    };
    let half: Vec<f64> = (0..=radius).map(weight).collect();
    let sum = half[0] + 2.0 * half[1..].iter().sum::<f64>();
    half.into_iter().map(|w| w / sum).collect()
}

/// Convolves along one axis; the outermost values continue beyond the ends.
fn convolve(values: &[f32], shape: [usize; 3], axis: usize, kernel: &[f64]) -> Vec<f32> {
    let n = shape[axis];
    // Distance between the elements of one line, and number of lines side by side.
    let stride: usize = shape[axis + 1..].iter().product();
    let mut out = vec![0.0_f32; values.len()];
    out.par_chunks_mut(n * stride)
        .zip(values.par_chunks(n * stride))
        .for_each(|(out, slab)| {
            let mut sum = vec![0.0_f64; stride];
            for i in 0..n {
                let row = |k: usize| &slab[k * stride..(k + 1) * stride];
                for (s, v) in sum.iter_mut().zip(row(i)) {
                    *s = kernel[0] * f64::from(*v);
                }
                for (k, w) in kernel.iter().enumerate().skip(1) {
                    let (before, after) = (row(i.saturating_sub(k)), row((i + k).min(n - 1)));
                    for ((s, a), b) in sum.iter_mut().zip(before).zip(after) {
                        *s += w * (f64::from(*a) + f64::from(*b));
                    }
                }
                for (o, s) in out[i * stride..(i + 1) * stride].iter_mut().zip(&sum) {
                    *o = *s as f32;
                }
            }
        });
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A volume of a function of the place.
    fn volume(f: impl Fn(Vec3) -> f64) -> Volume {
        let (shape, spacing) = ([12, 9, 7], Vec3::new(0.5, 1.0, 2.0));
        let origin = Vec3::new(-1.0, 2.0, 0.3);
        let mut values = Vec::new();
        for i in 0..shape[0] {
            for j in 0..shape[1] {
                for k in 0..shape[2] {
                    let at = Vec3::new(i as f64, j as f64, k as f64).component_mul(&spacing);
                    values.push(f(origin + at) as f32);
                }
            }
        }
        Volume::new(values, shape, spacing, origin).unwrap()
    }

    /// Linear values and their gradient are reproduced between voxels; there is no value outside.
    #[test]
    fn volume_interpolates_linear_values() {
        let slope = Vec3::new(1.0, -2.0, 0.5);
        let volume = volume(|p| 3.0 + slope.dot(&p));
        for p in [
            Vec3::new(0.3, 4.4, 5.1),
            Vec3::new(-1.0, 2.0, 0.3),
            Vec3::new(4.4, 9.9, 12.0),
        ] {
            let (value, gradient) = volume.sample(&p).unwrap();
            assert!((value - 3.0 - slope.dot(&p)).abs() < 1e-5);
            assert!((gradient - slope).norm() < 1e-5);
        }
        assert!(volume.sample(&Vec3::new(-1.3, 2.0, 0.3)).is_none());
        assert!(volume.sample(&Vec3::repeat(f64::NAN)).is_none());
    }

    /// Blurring widens a Gaussian by its deviation in metres along every axis.
    #[test]
    fn blur_widens_by_deviation() {
        for axis in 0..3 {
            // A voxel's centre half way between the ends, where the borders do not matter.
            let at = Vec3::new(2.0, 6.0, 6.3);
            let bump = volume(|p| (-0.5 * ((p[axis] - at[axis]) / 1.2).powi(2)).exp());
            let blurred = bump.blur(0.9);
            // The heights of Gaussians are as their widths.
            let ratio = blurred.sample(&at).unwrap().0 / bump.sample(&at).unwrap().0;
            // A voxel's width counts, too: coarse along the last axis.
            assert!(
                (ratio - 1.2 / (1.2_f64.powi(2) + 0.9_f64.powi(2)).sqrt()).abs() < 0.06,
                "{axis}: {ratio}"
            );
        }
    }

    /// A volume of the wrong shape, spacing or values is refused, and the error names the entry.
    #[test]
    fn volume_refuses_bad_input() {
        let one = Vec3::repeat(1.0);
        let said = |values: Vec<f32>, shape: [usize; 3], spacing: Vec3| {
            Volume::new(values, shape, spacing, Vec3::zeros())
                .unwrap_err()
                .to_string()
        };
        assert!(said(vec![0.0; 4], [1, 2, 2], one).contains("at least two"));
        assert!(said(vec![0.0; 4], [2, 2, 2], one).contains("4 entries"));
        assert!(said(vec![0.0; 8], [2, 2, 2], Vec3::new(1.0, 0.0, 1.0)).contains("along axis 1"));
        let mut values = vec![0.0; 8];
        values[5] = f32::NAN;
        assert!(said(values, [2, 2, 2], one).contains("voxel (1, 0, 1)"));
    }
}
