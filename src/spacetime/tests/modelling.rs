// SPDX-License-Identifier: MIT OR Apache-2.0
//! Shapes modelled by dragging are balances of the body's own forces with those of the drag.

use super::*;
use crate::Vec3;
use crate::progress::Silent;
use crate::spacetime::Deformable;

const DRAGGED_VERTICES: [usize; 4] = [0, 1, 6, 11];

/// Returns a shape, its dragged vertices and their targets.
fn drag_case() -> (Vec<Vec3>, Vec<u32>, Vec<Vec3>) {
    let shape = strip().1[1].clone();
    let pulled = |(i, &v): (usize, &usize)| {
        let by = 0.04 * i as f64;
        shape[v] + Vec3::new(0.0, by, 0.1 - 2.0 * by)
    };
    let wanted = DRAGGED_VERTICES.iter().enumerate().map(pulled).collect();
    (
        shape.clone(),
        DRAGGED_VERTICES.map(|v| v as u32).to_vec(),
        wanted,
    )
}

/// Returns the forces of the body on the modelled shape, without the factor of stiffness; where keyframes are rests, with the start as
/// rest shape.
fn model_forces(rests: RestShape, begun: &[Vec3], shape: &[Vec3]) -> Vec<Vec3> {
    let (shell, _) = strip();
    match rests {
        RestShape::Body => Deformable::gradient(shell.as_ref(), shape),
        RestShape::Keyframes => {
            let body = Deformable::with_rest_shape(shell.as_ref(), begun).unwrap();
            body.gradient(shape)
        }
    }
}

fn largest_force(forces: &[Vec3], of: impl Fn(usize) -> bool) -> f64 {
    let kept = (0..forces.len()).filter(|&v| of(v));
    kept.map(|v| forces[v].norm()).fold(0.0, f64::max)
}

/// Dragged vertices reach their places, and no force acts on the others.
#[test]
fn dragged_vertices_arrive() {
    for rests in [RestShape::Body, RestShape::Keyframes] {
        for rigid in [RigidMotion::Kept, RigidMotion::Removed] {
            let options = SpaceSettings {
                rests,
                rigid,
                ..SpaceSettings::default()
            };
            let (begun, vertices, wanted) = drag_case();
            let motion = strip_motion(&options);
            let found = motion
                .model_shape(&begun, vertices, wanted.clone(), None, &Silent)
                .unwrap();
            for (&v, x) in DRAGGED_VERTICES.iter().zip(&wanted) {
                assert!((found[v] - x).norm() < 1e-9, "{v}");
            }
            let forces = model_forces(rests, &begun, &found);
            let held = largest_force(&forces, |v| DRAGGED_VERTICES.contains(&v));
            let free = largest_force(&forces, |v| !DRAGGED_VERTICES.contains(&v));
            assert!(held > 0.0 && free < 1e-3 * held, "{rests:?}: {free} {held}");
        }
    }
}

/// With a weight, elastic forces balance the pull towards the wanted places.
#[test]
fn weighted_drag_is_in_balance() {
    let (shell, _) = strip();
    let masses = Deformable::masses(shell.as_ref());
    for rests in [RestShape::Body, RestShape::Keyframes] {
        let (begun, vertices, wanted) = drag_case();
        let options = SpaceSettings {
            rests,
            ..kept_rigid_space()
        };
        let motion = strip_motion(&options);
        let weight = 2e3;
        let found = motion
            .model_shape(&begun, vertices, wanted.clone(), Some(weight), &Silent)
            .unwrap();
        let mut forces = model_forces(rests, &begun, &found);
        forces
            .iter_mut()
            .for_each(|f| *f *= motion.settings().stiffness);
        let own = largest_force(&forces, |_| true);
        for (&v, x) in DRAGGED_VERTICES.iter().zip(&wanted) {
            forces[v] += (found[v] - x) * (2.0 * weight * masses[v]);
        }
        let left = largest_force(&forces, |_| true);
        assert!(own > 0.0 && left < 1e-3 * own, "{rests:?}: {left} {own}");
    }
}
