// SPDX-License-Identifier: MIT OR Apache-2.0
//! Vertices on a mirror plane that both halves of a lattice share.
//!
//! A vertex of half a lattice is its own mirror image if flesh passes through the plane beside it, in a copy that has
//! the vertex. If none does, it is shared unless skin faces the plane across a gap, or flesh passes nowhere near:
//! legs that stand close together stay apart. Bone vertices on the plane, and vertices without flesh, are shared.

use super::complex::CopyComplex;
use super::flesh_graph::FleshGraph;
use super::space::VoxelSpace;
use super::{NO_CELL, Vec3};

/// Smallest cosine between a normal and the direction to the plane at which skin faces the plane; that of skin that
/// faces skin.
const MIN_FACING_COSINE: f64 = super::complex::MIN_FACING_COSINE;

/// Returns the roots of the vertices that are their own mirror images, ascending.
pub(super) fn shared_roots(
    complex: &mut CopyComplex,
    pins: &[(u32, u32)],
    samples: &FleshGraph,
    space: &VoxelSpace,
) -> Vec<u32> {
    let mut shared: Vec<u32> = Vec::new();
    let mut passing = vec![false; complex.copies.len()];
    for joint in &samples.joints {
        let corners = joint.corners.into_iter().filter(|&v| v != NO_CELL);
        if !complex.tiling.is_on_plane(corners.clone()) {
            continue;
        }
        for s in joint.first..joint.first + joint.count {
            let copy = complex.copies.of_sample[s as usize];
            if copy == NO_CELL {
                continue;
            }
            passing[copy as usize] = true;
            for v in corners.clone() {
                let corner = complex.corner_at(copy, v);
                shared.extend(corner.map(|c| complex.root(c)));
            }
        }
    }
    for &(v, corner) in pins {
        if complex.tiling.is_on_plane([v]) {
            shared.push(complex.root(corner));
        }
    }
    shared.sort_unstable();
    shared.dedup();
    let facing = facing_copies(complex, samples, space);
    let mut more = Vec::new();
    for corner in 0..complex.copies.len() as u32 * 4 {
        let v = complex.original_vertex(corner);
        if complex.root(corner) != corner
            || !complex.tiling.is_on_plane([v])
            || shared.binary_search(&corner).is_ok()
        {
            continue;
        }
        let copies: Vec<u32> = complex.members(corner).iter().map(|m| m / 4).collect();
        let near = |&c: &u32| {
            let next = complex.flesh_neighbours[c as usize].iter();
            passing[c as usize] || next.into_iter().any(|&n| passing[n as usize])
        };
        let fleshy = |c: &&u32| complex.copies.size[**c as usize] > 0;
        let apart = copies.iter().any(|&c| facing[c as usize]) || !copies.iter().any(near);
        if copies.iter().find(fleshy).is_none() || !apart {
            more.push(corner);
        }
    }
    shared.extend(more);
    shared.sort_unstable();
    shared
}

/// Returns for each copy whether skin in it faces its own image across a gap at the plane.
fn facing_copies(complex: &CopyComplex, samples: &FleshGraph, space: &VoxelSpace) -> Vec<bool> {
    let mut facing = vec![false; complex.copies.len()];
    for s in 0..samples.voxels {
        let copy = complex.copies.of_sample[s];
        if copy == NO_CELL || facing[copy as usize] {
            continue;
        }
        let (skin, p) = (&samples.skin[s], samples.position[s]);
        let towards = match skin.both_sides {
            true => skin.normal.x.abs(),
            false => -skin.normal.x,
        };
        let foot = Vec3::new(0.0, p.y, p.z);
        facing[copy as usize] = towards > MIN_FACING_COSINE && !space.contains(foot);
    }
    facing
}
