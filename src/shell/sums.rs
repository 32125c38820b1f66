// SPDX-License-Identifier: MIT OR Apache-2.0
//! Energy, gradient and Hessian of a whole shell, as sums over its parts.
//!
//! Parts are processed in parallel in chunks of fixed size, and their results are added in order: the same bits for any
//! number of threads.

use super::hinge::{Hinge, angle, wrap_angle};
use super::membrane::{EdgeGeometry, FaceGeometry};
use super::mesh::ShellMesh;
use super::rest::{PartRest, ShellRest};
use super::slots::ShellPattern;
use crate::solve::newton::{ForceMagnitude, RoundedSum};
use crate::{Mat3, Vec3};
use rayon::prelude::*;

/// Number of parts that one thread takes at a time.
const CHUNK_SIZE: usize = 512;
/// Number of parts whose blocks are buffered before they are added.
const BATCH_SIZE: usize = 8 * CHUNK_SIZE;
/// Lower bound of a triangle's area in derivatives, as a share of its bounded rest area.
const MIN_AREA_RATIO: f64 = 1e-6;

/// The parts of a shell at given positions.
pub(super) struct ShellSums<'a> {
    pub mesh: &'a ShellMesh,
    pub rest: &'a ShellRest,
    pub pattern: &'a ShellPattern,
    pub x: &'a [Vec3],
}

impl ShellSums<'_> {
    fn corner_positions<const N: usize>(&self, corners: &[u32; N]) -> [Vec3; N] {
        corners.map(|v| self.x[v as usize])
    }

    /// Returns the rounding error of the largest coordinate.
    fn rounding(&self) -> f64 {
        let size = self.x.iter().fold(0.0, |size: f64, x| size.max(x.amax()));
        f64::EPSILON * size
    }

    /// Returns the energy and a bound on its rounding error.
    pub fn energy(&self) -> RoundedSum {
        let (mesh, rest) = (self.mesh, self.rest);
        let rounding = self.rounding();
        // A part's energy from its difference from rest, and the energy's error from that of the difference.
        let square = |part: &PartRest, off: f64, error: f64| {
            let force = part.k * off;
            [
                0.5 * force * off,
                force.abs() * error + f64::EPSILON * force.abs() * off.abs(),
            ]
        };
        let edges = sum_over_parts(&mesh.edges, &rest.edges, |ends, part| {
            let off = EdgeGeometry::new(self.corner_positions(ends)).length - part.rest;
            square(part, off, rounding)
        });
        let faces = sum_over_parts(&mesh.faces, &rest.faces, |corners, part| {
            let off = FaceGeometry::new(self.corner_positions(corners)).area - part.rest;
            square(part, off, rounding * part.scale.sqrt())
        });
        let hinges = sum_over_parts(&mesh.hinges, &rest.hinges, |corners, part| {
            let off = wrap_angle(angle(self.corner_positions(corners)) - part.rest);
            square(part, off, f64::EPSILON + rounding / part.scale)
        });
        RoundedSum {
            value: edges[0] + faces[0] + hinges[0],
            rounding: edges[1] + faces[1] + hinges[1],
        }
    }

    /// Adds the gradient to `gradient`. Returns the root of the sum of the squares of all parts' forces, and the same for their errors.
    pub fn add_gradient(&self, gradient: &mut [Vec3]) -> ForceMagnitude {
        let (mesh, rest) = (self.mesh, self.rest);
        let rounding = self.rounding();
        let (edges, faces) = (2 * mesh.edges.len(), 3 * mesh.faces.len());
        let mut forces = vec![Vec3::zeros(); edges + faces + 4 * mesh.hinges.len()];
        let (of_edges, others) = forces.split_at_mut(edges);
        let (of_faces, of_hinges) = others.split_at_mut(faces);
        let parts = [
            write_forces(&mesh.edges, &rest.edges, of_edges, |ends, part| {
                let edge = EdgeGeometry::new(self.corner_positions(ends));
                let force = edge.along * (part.k * (edge.length - part.rest));
                ([-force, force], part.k * rounding)
            }),
            write_forces(&mesh.faces, &rest.faces, of_faces, |corners, part| {
                let face = FaceGeometry::new(self.corner_positions(corners));
                let force = part.k * (face.area - part.rest);
                let error = part.k * part.scale * rounding;
                (face.gradient().map(|g| g * force), error)
            }),
            write_forces(&mesh.hinges, &rest.hinges, of_hinges, |corners, part| {
                let hinge = Hinge::new(self.corner_positions(corners), part.scale);
                let torque = part.k * wrap_angle(hinge.angle - part.rest);
                let turn = hinge.max_rotation(1.0);
                let error = part.k * turn * (f64::EPSILON + turn * rounding);
                (hinge.gradient().map(|g| g * torque), error)
            }),
        ];
        self.pattern.gather_forces(&forces, gradient);
        let sum = |i: usize| parts.iter().map(|p| p[i]).sum::<f64>().sqrt();
        ForceMagnitude {
            size: sum(0),
            rounding: sum(1),
        }
    }

    /// Returns the blocks of the Hessian. With `convex`, each part contributes a positive semi-definite approximation.
    pub fn hessian(&self, convex: bool) -> Vec<Mat3> {
        let (mesh, rest, pattern) = (self.mesh, self.rest, self.pattern);
        let mut blocks = vec![Mat3::zeros(); pattern.block_count()];
        let mut stripes = pattern.split_stripes(&mut blocks);
        let edges = (&mesh.edges[..], &rest.edges[..], &pattern.of_edges[..]);
        add_blocks(
            edges,
            &mut stripes,
            |ends, part, to: &mut [[Mat3; 2]; 2]| {
                let edge = EdgeGeometry::new(self.corner_positions(ends));
                let block = edge.hessian(part.k, part.rest, part.scale, convex);
                *to = [[block, -block], [-block, block]];
            },
        );
        let faces = (&mesh.faces[..], &rest.faces[..], &pattern.of_faces[..]);
        add_blocks(faces, &mut stripes, |corners, part, to| {
            let face = FaceGeometry::new(self.corner_positions(corners));
            let least = MIN_AREA_RATIO * part.scale;
            face.hessian(part.k, part.rest, least, convex, |i, j, block| {
                to[i][j] = *block;
            });
        });
        let hinges = (&mesh.hinges[..], &rest.hinges[..], &pattern.of_hinges[..]);
        add_blocks(hinges, &mut stripes, |corners, part, to| {
            let hinge = Hinge::new(self.corner_positions(corners), part.scale);
            let torque = part.k * wrap_angle(hinge.angle - part.rest);
            // Without the angle's second derivative the block is positive semi-definite.
            let bent = if convex { 0.0 } else { torque };
            hinge.hessian(part.k, bent, |i, j, block| to[i][j] = *block);
        });
        blocks
    }
}

/// Sums two quantities over parts.
fn sum_over_parts<const N: usize>(
    corners: &[[u32; N]],
    parts: &[PartRest],
    of: impl Fn(&[u32; N], &PartRest) -> [f64; 2] + Sync,
) -> [f64; 2] {
    let chunks = corners
        .par_chunks(CHUNK_SIZE)
        .zip(parts.par_chunks(CHUNK_SIZE));
    let sums: Vec<[f64; 2]> = chunks
        .map(|(corners, parts)| {
            let all = corners.iter().zip(parts).map(|(c, p)| of(c, p));
            all.fold([0.0; 2], |sum, x| [sum[0] + x[0], sum[1] + x[1]])
        })
        .collect();
    sums.iter()
        .fold([0.0; 2], |sum, x| [sum[0] + x[0], sum[1] + x[1]])
}

/// Writes the forces of all corners and returns the sums of their squares and of their squared errors.
fn write_forces<const N: usize>(
    corners: &[[u32; N]],
    parts: &[PartRest],
    forces: &mut [Vec3],
    of: impl Fn(&[u32; N], &PartRest) -> ([Vec3; N], f64) + Sync,
) -> [f64; 2] {
    let sums: Vec<[f64; 2]> = forces
        .par_chunks_mut(N * CHUNK_SIZE)
        .zip(
            corners
                .par_chunks(CHUNK_SIZE)
                .zip(parts.par_chunks(CHUNK_SIZE)),
        )
        .map(|(forces, (corners, parts))| {
            let mut sum = [0.0; 2];
            for ((to, c), p) in forces.chunks_exact_mut(N).zip(corners).zip(parts) {
                let (force, error) = of(c, p);
                to.copy_from_slice(&force);
                sum[0] += force.iter().map(Vec3::norm_squared).sum::<f64>();
                sum[1] += error * error;
            }
            sum
        })
        .collect();
    sums.iter()
        .fold([0.0; 2], |sum, x| [sum[0] + x[0], sum[1] + x[1]])
}

/// Corners and rest data of parts, and the entries of all pairs of corners.
type PartBlocks<'a, const N: usize> = (&'a [[u32; N]], &'a [PartRest], &'a [[[u32; N]; N]]);

/// Adds the blocks of all parts; `of` writes those on and above the diagonal. Stripes of rows are filled in parallel, each
/// from all parts in order.
fn add_blocks<const N: usize>(
    (corners, parts, slots): PartBlocks<N>,
    stripes: &mut [(u32, &mut [Mat3])],
    of: impl Fn(&[u32; N], &PartRest, &mut [[Mat3; N]; N]) + Sync,
) {
    let mut blocks = vec![[[Mat3::zeros(); N]; N]; BATCH_SIZE.min(corners.len())];
    let batches = corners.chunks(BATCH_SIZE).zip(parts.chunks(BATCH_SIZE));
    for ((corners, parts), slots) in batches.zip(slots.chunks(BATCH_SIZE)) {
        let filled = &mut blocks[..corners.len()];
        filled
            .par_iter_mut()
            .with_min_len(CHUNK_SIZE / 4)
            .zip(corners.par_iter().zip(parts))
            .for_each(|(to, (c, p))| of(c, p, to));
        stripes.par_iter_mut().for_each(|(first, stripe)| {
            for (block, slots) in filled.iter().zip(slots) {
                for i in 0..N {
                    // A row lies in one stripe.
                    let row = slots[i][i].wrapping_sub(*first) as usize;
                    if row >= stripe.len() {
                        continue;
                    }
                    for j in 0..N {
                        let to = &mut stripe[(slots[i][j] - *first) as usize];
                        if i == j {
                            // Makes the diagonal block exactly symmetric.
                            *to += (block[i][i] + block[i][i].transpose()) * 0.5;
                        } else if i < j {
                            *to += block[i][j];
                        } else {
                            *to += block[j][i].transpose();
                        }
                    }
                }
            }
        });
    }
}
