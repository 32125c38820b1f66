// SPDX-License-Identifier: MIT OR Apache-2.0
//! A bar of flesh around two bones: the body that benches and whole-crate tests run on.

use std::sync::Arc;
use thew::body::{Body, BodySettings};
use thew::elasticity::Material;
use thew::lattice::{BoneChains, Cell, Lattice};
use thew::progress::Silent;
use thew::skeleton::{Pose, Skeleton};
use thew::surface::Surface;
use thew::{Mat4, Vec3};

const LENGTH: f64 = 1.6;

/// The upper bone turned about the x axis at the joint.
pub fn pose(angle: f64) -> Pose {
    let joint = nalgebra::Translation3::new(0.0, 0.0, LENGTH / 2.0);
    let turn = nalgebra::UnitQuaternion::from_axis_angle(&Vec3::x_axis(), angle);
    let upper = (joint * turn * joint.inverse()).to_homogeneous();
    Pose::from_matrices(&[Mat4::identity(), upper]).expect("finite")
}

/// A bar of tetrahedra around the z axis, the flesh a box a little smaller.
#[allow(dead_code, reason = "a file that includes this one needs one of both")]
pub fn bar(across: usize, along: usize) -> Arc<Body> {
    bar_with(across, along, Material::default(), &BodySettings::default())
}

#[allow(dead_code, reason = "a file that includes this one needs one of both")]
/// The same bar of another material and with other settings.
pub fn bar_with(
    across: usize,
    along: usize,
    material: Material,
    settings: &BodySettings,
) -> Arc<Body> {
    let (m, n) = (across + 1, along + 1);
    let half = 0.2;
    let at = |i: usize, j: usize, k: usize| (i + m * (j + m * k)) as u32;
    let mut vertices = Vec::new();
    let mut bone_of_vertex = Vec::new();
    let mut chains = vec![Vec::new(); 2];
    for k in 0..n {
        for j in 0..m {
            for i in 0..m {
                let side = |i: usize| (2.0 * i as f64 / across as f64 - 1.0) * half;
                vertices.push(Vec3::new(
                    side(i),
                    side(j),
                    LENGTH * k as f64 / along as f64,
                ));
                let axis = 2 * i == across && 2 * j == across;
                bone_of_vertex.push(axis.then_some(u32::from(k > along / 2)));
                if axis && k <= along / 2 {
                    chains[0].push(at(i, j, k));
                }
                if axis && k >= along / 2 {
                    chains[1].push(at(i, j, k));
                }
            }
        }
    }
    let mut cells = Vec::new();
    for k in 0..along {
        for j in 0..across {
            for i in 0..across {
                let h: [u32; 8] =
                    std::array::from_fn(|c| at(i + (c & 1), j + (c >> 1 & 1), k + (c >> 2)));
                for t in [
                    [0, 1, 3, 7],
                    [0, 3, 2, 7],
                    [0, 2, 6, 7],
                    [0, 6, 4, 7],
                    [0, 4, 5, 7],
                    [0, 5, 1, 7],
                ] {
                    cells.push(Cell::Tetrahedron(t.map(|c: usize| h[c])));
                }
            }
        }
    }
    let joint = chains[0]
        .last()
        .map_or(Vec3::zeros(), |&v| vertices[v as usize]);
    let bones = BoneChains {
        used_bones: vec![0, 1],
        chains,
        tip_bones: Vec::new(),
        bone_of_vertex,
    };
    let lattice = Lattice::with_bones(vertices, cells, bones).expect("a valid lattice");
    let skeleton = Skeleton::new(
        vec!["lower".into(), "upper".into()],
        vec![None, Some(0)],
        vec![Vec3::zeros(), joint],
        vec![joint, Vec3::new(0.0, 0.0, LENGTH)],
    )
    .expect("a valid skeleton");
    let body = Body::new(
        &Arc::new(box_surface(0.95 * half)),
        &Arc::new(skeleton),
        &Arc::new(lattice),
        material,
        settings,
        &Silent,
    );
    Arc::new(body.expect("a body"))
}

/// A box as a finely triangulated surface.
fn box_surface(half: f64) -> Surface {
    const CELLS_PER_SIDE: usize = 68;
    let mut vertices = Vec::new();
    let mut triangles = Vec::new();
    let along = |z: f64| LENGTH * (0.02 + 0.96 * z);
    for axis in 0..3 {
        for side in [0.0, 1.0] {
            let first = vertices.len() as u32;
            for j in 0..=CELLS_PER_SIDE {
                for i in 0..=CELLS_PER_SIDE {
                    let mut p = [side; 3];
                    p[(axis + 1) % 3] = i as f64 / CELLS_PER_SIDE as f64;
                    p[(axis + 2) % 3] = j as f64 / CELLS_PER_SIDE as f64;
                    let wide = |x: f64| (2.0 * x - 1.0) * half;
                    vertices.push(Vec3::new(wide(p[0]), wide(p[1]), along(p[2])));
                }
            }
            let v = |i: usize, j: usize| first + (i + (CELLS_PER_SIDE + 1) * j) as u32;
            for j in 0..CELLS_PER_SIDE {
                for i in 0..CELLS_PER_SIDE {
                    let q = [v(i, j), v(i + 1, j), v(i + 1, j + 1), v(i, j + 1)];
                    let flip = side == 0.0;
                    for t in [[q[0], q[1], q[2]], [q[0], q[2], q[3]]] {
                        triangles.push(if flip { [t[0], t[2], t[1]] } else { t });
                    }
                }
            }
        }
    }
    Surface::new(vertices, triangles).expect("a surface")
}
