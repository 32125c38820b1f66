// SPDX-License-Identifier: MIT OR Apache-2.0
//! Cells near inversion as unilateral rows. [contact.md]
//!
//! Where flesh folds, cells invert before skins meet, and then no place in them means anything. J is the determinant of the
//! deformation at a corner of a cell, 1 at rest: `(J − 0.1) / |∂J| ≥ 0`, ∂J by cofactors.

use super::complementarity::{Constraint, Constraints, Entry};
use super::posed::Posed;
use super::rows::largest_pressure;
use crate::body::{corner_frames, corner_volume};
use smallvec::SmallVec;

/// What J is kept from.
pub(crate) const LEAST: f64 = 0.1;
/// J below which a cell gets a row.
pub(super) const NEAR: f64 = 0.25;

/// Visits the corners of a cell: the vertices of each one's frame, J there, and the frame's determinant at rest, m³.
pub(super) fn determinants(body: &Posed, cell: u32, mut visit: impl FnMut([u32; 4], f64, f64)) {
    let lattice = body.skin.body().lattice();
    let shape = &lattice.cells()[cell as usize];
    let (corners, rest) = (shape.corners(), lattice.vertices());
    for frame in corner_frames(shape) {
        let vertices = frame.map(|i| corners[i]);
        let now = corner_volume(vertices, |v| body.node(v as usize));
        let whole = corner_volume(vertices, |v| rest[v as usize]);
        visit(vertices, now / whole, whole);
    }
}

/// The least J of a cell.
pub(crate) fn least(body: &Posed, cell: u32) -> f64 {
    let mut least = f64::INFINITY;
    determinants(body, cell, |_, j, _| least = least.min(j));
    least
}

/// Rows of the cells of a body that are, or come, near inversion within a step; and how many there are that no free vertex
/// can help.
pub(crate) fn rows(
    index: u32,
    (before, after): (&Posed, &Posed),
    recovery: f64,
    constraints: &mut Constraints,
) -> usize {
    let (mut held, body) = (0, after.skin.body());
    let pattern = body.pattern();
    for cell in 0..body.lattice().cells().len() as u32 {
        determinants(after, cell, |vertices, j, whole| {
            if j >= NEAR {
                return;
            }
            let [o, a, b, c] = vertices.map(|v| after.node(v as usize));
            let (a, b, c) = (a - o, b - o, c - o);
            let slopes = [b.cross(&c), c.cross(&a), a.cross(&b)].map(|s| s / whole);
            let all = [
                -slopes[0] - slopes[1] - slopes[2],
                slopes[0],
                slopes[1],
                slopes[2],
            ];
            let mut normal = SmallVec::<[Entry; 4]>::new();
            for (&v, slope) in vertices.iter().zip(all) {
                if let Some(node) = pattern.node_of_vertex(v as usize) {
                    normal.push(Entry {
                        body: index,
                        node,
                        direction: slope,
                    });
                }
            }
            let size = normal
                .iter()
                .map(|e| e.direction.norm_squared())
                .sum::<f64>();
            let size = size.sqrt();
            if size.is_nan() || size * before.skin.cell() <= 1e-6 {
                held += usize::from(j < LEAST);
                return;
            }
            normal.iter_mut().for_each(|e| e.direction /= size);
            let was = corner_volume(vertices, |v| before.node(v as usize)) / whole;
            let gap = (j - LEAST) / size;
            let joints = vertices.map(|v| after.elastic_joints_of_node(v as usize));
            let joints = joints.iter().sum::<f64>() / 4.0;
            let normal = constraints.add_entries(normal);
            constraints.rows.push(Constraint {
                normal,
                // What was lost before is won back slowly.
                gap: gap.max((j - was) / size - recovery),
                friction: None,
                give: 1.0,
                limit: largest_pressure(after, joints) * after.skin.cell().powi(2),
                force: 0.0,
            });
        });
    }
    held
}
