// SPDX-License-Identifier: MIT OR Apache-2.0
//! Shapes modelled by dragging are balances of the body's own forces with what drags.

use super::*;
use crate::Vec3;
use crate::progress::Silent;
use crate::spacetime::Deformable;

const DRAGGED: [usize; 4] = [0, 1, 6, 11];

/// A shape, and where its dragged vertices are to be.
fn drag() -> (Vec<Vec3>, Vec<u32>, Vec<Vec3>) {
    let shape = strip().1[1].clone();
    let pulled = |(i, &v): (usize, &usize)| {
        let by = 0.04 * i as f64;
        shape[v] + Vec3::new(0.0, by, 0.1 - 2.0 * by)
    };
    let wanted = DRAGGED.iter().enumerate().map(pulled).collect();
    (shape.clone(), DRAGGED.map(|v| v as u32).to_vec(), wanted)
}

/// The forces of the body on the modelled shape, without the factor of stiffness; where keyframes are rests, from where it began.
fn forces(rests: Rests, begun: &[Vec3], shape: &[Vec3]) -> Vec<Vec3> {
    let (shell, _) = strip();
    match rests {
        Rests::Body => Deformable::gradient(shell.as_ref(), shape),
        Rests::Keyframes => {
            let body = Deformable::at_rest(shell.as_ref(), begun).unwrap();
            body.gradient(shape)
        }
    }
}

fn largest(forces: &[Vec3], of: impl Fn(usize) -> bool) -> f64 {
    let kept = (0..forces.len()).filter(|&v| of(v));
    kept.map(|v| forces[v].norm()).fold(0.0, f64::max)
}

/// Dragged vertices reach their places, and no force acts on the others.
#[test]
fn dragged_vertices_arrive() {
    for rests in [Rests::Body, Rests::Keyframes] {
        for rigid in [RigidMotion::Kept, RigidMotion::Removed] {
            let options = SpaceSettings {
                rests,
                rigid,
                ..SpaceSettings::default()
            };
            let (begun, vertices, wanted) = drag();
            let motion = motion(&options);
            let found = motion
                .model(&begun, vertices, wanted.clone(), None, &Silent)
                .unwrap();
            for (&v, x) in DRAGGED.iter().zip(&wanted) {
                assert!((found[v] - x).norm() < 1e-9, "{v}");
            }
            let forces = forces(rests, &begun, &found);
            let held = largest(&forces, |v| DRAGGED.contains(&v));
            let free = largest(&forces, |v| !DRAGGED.contains(&v));
            assert!(held > 0.0 && free < 1e-3 * held, "{rests:?}: {free} {held}");
        }
    }
}

/// With a weight, elastic forces balance the pull towards the wanted places.
#[test]
fn weighted_drag_is_in_balance() {
    let (shell, _) = strip();
    let masses = Deformable::masses(shell.as_ref());
    for rests in [Rests::Body, Rests::Keyframes] {
        let (begun, vertices, wanted) = drag();
        let options = SpaceSettings { rests, ..kept() };
        let motion = motion(&options);
        let weight = 2e3;
        let found = motion
            .model(&begun, vertices, wanted.clone(), Some(weight), &Silent)
            .unwrap();
        let mut forces = forces(rests, &begun, &found);
        forces
            .iter_mut()
            .for_each(|f| *f *= motion.settings().stiffness);
        let own = largest(&forces, |_| true);
        for (&v, x) in DRAGGED.iter().zip(&wanted) {
            forces[v] += (found[v] - x) * (2.0 * weight * masses[v]);
        }
        let left = largest(&forces, |_| true);
        assert!(own > 0.0 && left < 1e-3 * own, "{rests:?}: {left} {own}");
    }
}
