// SPDX-License-Identifier: MIT OR Apache-2.0
//! The length unit of a shell's energy. [hildebrandt2012, §5]
//!
//! With lengths in units of u, the three sums of the energy scale with u, u² and u⁰. So the same stiffnesses make a sheet of 0.6 m and
//! one of 10 m move differently. [hildebrandt2012, §5] scales meshes to a diameter of ten for that reason. Here positions stay unscaled,
//! and the stiffnesses are scaled instead: `k_L u³`, `k_A u²` and `k_B u⁴`. The energy then is `u⁴` times that of the scaled mesh. With
//! unscaled masses, frequencies are those of the scaled mesh.

use super::material::ShellMaterial;
use super::mesh::ShellMesh;
use crate::Vec3;

/// Diameter to which the stiffnesses refer, in units: that of [hildebrandt2012, §5].
const REFERENCE_DIAMETER: f64 = 10.0;
/// Maximum number of sweeps. Each goes from one point to the point farthest from it; after the second sweep the distance seldom grows.
const MAX_SWEEPS: usize = 8;

/// Returns the unit of a material on a mesh with rest positions `x`: the material's own, or a tenth of the diameter.
pub(super) fn unit(material: &ShellMaterial, mesh: &ShellMesh, x: &[Vec3]) -> f64 {
    let measured = || {
        let mut used = vec![false; x.len()];
        mesh.faces
            .iter()
            .flatten()
            .for_each(|&v| used[v as usize] = true);
        let used: Vec<Vec3> = (0..x.len()).filter(|&v| used[v]).map(|v| x[v]).collect();
        diameter(&used) / REFERENCE_DIAMETER
    };
    material.unit.unwrap_or_else(measured)
}

/// Returns the distance between two far points, found by going from farthest point to farthest point. It is the largest distance or, for
/// bodies of similar length in several directions, a little less.
fn diameter(points: &[Vec3]) -> f64 {
    let centre = points.iter().sum::<Vec3>() / points.len().max(1) as f64;
    let farthest = |from: Vec3| {
        let far = |(best, at): (f64, Vec3), x: &Vec3| match (x - from).norm() {
            d if d > best => (d, *x),
            _ => (best, at),
        };
        points.iter().fold((0.0, from), far)
    };
    let (_, mut end) = farthest(centre);
    let mut longest = 0.0;
    for _ in 0..MAX_SWEEPS {
        let (distance, other) = farthest(end);
        if distance <= longest {
            break;
        }
        (longest, end) = (distance, other);
    }
    longest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell::Shell;

    /// A strip, bent and turned at any size.
    fn strip(size: f64) -> (Vec<Vec3>, Vec<[u32; 3]>) {
        let place = |i: u32| {
            let (u, v) = (f64::from(i / 2) / 9.0, f64::from(i % 2) * 0.3);
            Vec3::new(u, v, 0.2 * u * u) * size
        };
        let triangles = (0..18).map(|i| [i, i + 1, i + 2]);
        ((0..20).map(place).collect(), triangles.collect())
    }

    fn shell(size: f64, unit: Option<f64>) -> Shell {
        let (vertices, triangles) = strip(size);
        let material = ShellMaterial {
            stretching: 3.0.into(),
            bending: 0.4.into(),
            density: 0.7.into(),
            unit,
            ..ShellMaterial::default()
        };
        Shell::new(vertices, triangles, &material).unwrap()
    }

    fn perturb(shell: &Shell, size: f64) -> Vec<Vec3> {
        let moved = |(i, x): (usize, &Vec3)| x + Vec3::repeat(0.02 * size * (7.0 * i as f64).sin());
        shell.rest().iter().enumerate().map(moved).collect()
    }

    /// The diameter of a set of points is the largest distance between two of them.
    #[test]
    fn diameter_is_largest_distance() {
        for size in [1e-6, 0.6, 3e5] {
            let (vertices, _) = strip(size);
            let pairs = vertices
                .iter()
                .flat_map(|a| vertices.iter().map(move |b| (a - b).norm()));
            let longest = pairs.fold(0.0, f64::max);
            assert!((diameter(&vertices) / longest - 1.0).abs() < 1e-12);
        }
        assert_eq!(diameter(&[Vec3::zeros(); 4]), 0.0);
    }

    /// Accelerations are in proportion to the size of a body, as if its diameter were ten units.
    #[test]
    fn accelerations_scale_with_size() {
        let accelerations = |size: f64, unit| -> Vec<Vec3> {
            let shell = shell(size, unit);
            let mut forces = vec![Vec3::zeros(); shell.node_count()];
            shell.gradient(&perturb(&shell, size), &mut forces);
            let each = forces.iter().zip(shell.masses());
            each.map(|(f, m)| f / (m * size)).collect()
        };
        let (vertices, _) = strip(1.0);
        let ten = 10.0 / diameter(&vertices);
        let wanted = accelerations(ten, Some(1.0));
        for size in [1e-4, 0.6, 1.0, 250.0] {
            for (found, wanted) in accelerations(size, None).iter().zip(&wanted) {
                assert!(
                    (found - wanted).norm() < 1e-9 * (1.0 + wanted.norm()),
                    "{size}"
                );
            }
        }
        // Masses are those of the mesh as it is, in kilograms.
        let mass = |size: f64| shell(size, None).masses().iter().sum::<f64>();
        assert!((mass(2.0) / mass(1.0) - 4.0).abs() < 1e-12);
    }

    /// A shell with a changed rest shape keeps its unit of length.
    #[test]
    fn with_rest_positions_keeps_unit() {
        let shell = shell(0.6, None);
        let larger: Vec<Vec3> = shell.rest().iter().map(|x| x * 3.0).collect();
        let other = shell.with_rest_positions(&larger).unwrap();
        let rebuilt = self::shell(1.8, Some(shell.unit()));
        let x = perturb(&other, 1.8);
        assert!((other.energy(&x) / rebuilt.energy(&x) - 1.0).abs() < 1e-12);
        assert!((shell.unit() * REFERENCE_DIAMETER - diameter(shell.rest())).abs() < 1e-12);
    }
}
