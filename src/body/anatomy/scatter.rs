// SPDX-License-Identifier: MIT OR Apache-2.0
//! Points spread evenly over the skin: regular, without randomness, the same for the same shape.

use super::skin::BodySkin;
use crate::Vec3;

/// Returns points of the skin: every corner, and a regular grid on every triangle large enough for one, about `count`
/// points without the corners. `only`: selects the triangles.
pub(super) fn scatter_points(
    skin: &BodySkin,
    count: usize,
    only: impl Fn(usize) -> bool,
) -> Vec<Vec3> {
    let faces: Vec<usize> = (0..skin.triangles.len()).filter(|&f| only(f)).collect();
    let whole: f64 = faces.iter().map(|&f| skin.face_area[f]).sum();
    let mut corner = vec![false; skin.len()];
    for &v in faces.iter().flat_map(|&f| &skin.triangles[f]) {
        corner[v as usize] = true;
    }
    let corners = (0..skin.len()).filter(|&v| corner[v]);
    let mut points: Vec<Vec3> = corners.map(|v| skin.x[v]).collect();
    for &f in &faces {
        let [a, b, c] = skin.triangles[f].map(|v| skin.x[v as usize]);
        let share = skin.face_area[f] / whole.max(f64::MIN_POSITIVE) * count as f64;
        let side = share.sqrt().ceil() as usize;
        if side < 2 {
            points.push((a + b + c) / 3.0);
            continue;
        }
        for i in 0..=side {
            for j in 0..=side - i {
                let k = side - i - j;
                points.push((a * i as f64 + b * j as f64 + c * k as f64) / side as f64);
            }
        }
    }
    points
}

/// Returns about `count` of many points, independent of their order: those at even ranks of their distance from the
/// mean.
pub(super) fn thin_points(points: &[Vec3], count: usize) -> Vec<Vec3> {
    let middle = points.iter().sum::<Vec3>() / points.len().max(1) as f64;
    let mut order: Vec<(f64, usize)> = points
        .iter()
        .enumerate()
        .map(|(i, x)| ((x - middle).norm_squared(), i))
        .collect();
    order.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let every = (points.len() / count.max(1)).max(1);
    order
        .iter()
        .step_by(every)
        .map(|&(_, i)| points[i])
        .collect()
}
