// SPDX-License-Identifier: MIT OR Apache-2.0
//! Large bodies in a reduced space, computed in several tasks; separate parts, progress, long falls.

use super::*;
use crate::Vec3;
use crate::progress::Silent;
use crate::shell::{Shell, ShellMaterial};
use crate::solve::NodeMatrix;
use crate::spacetime::Deformable;
use std::sync::{Arc, Mutex};

/// Builds strips side by side, each of two rows of triangles.
fn strips(parts: usize, length: usize) -> (Arc<Shell>, Vec<Vec3>) {
    let (mut vertices, mut triangles) = (Vec::new(), Vec::new());
    for part in 0..parts {
        let first = vertices.len() as u32;
        let place = |i: usize| Vec3::new(0.5 * i as f64, (i % 2) as f64 * 0.7, 3.0 * part as f64);
        vertices.extend((0..length).map(place));
        let own = 0..length as u32 - 2;
        triangles.extend(own.map(|i| [0, 1, 2].map(|k| first + i + k)));
    }
    let material = ShellMaterial::default();
    let shell = Shell::new(vertices.clone(), triangles, &material).unwrap();
    (Arc::new(shell), vertices)
}

fn bend_wave(vertices: &[Vec3], by: f64, wave: f64) -> Vec<Vec3> {
    let lift = |x: &Vec3| x + Vec3::new(0.0, 0.0, by * (wave * x.x).sin());
    vertices.iter().map(lift).collect()
}

fn reduced_space(modes: usize) -> SpaceSettings {
    SpaceSettings {
        full_below: 0,
        modes,
        ..kept_rigid_space()
    }
}

/// A long strip in reduced coordinates passes through its keyframes with the projected stiffness UᵀKU.
#[test]
fn reduced_strip_meets_keyframes() {
    let (shell, rest) = strips(1, 700);
    let keys = vec![
        rest.clone(),
        bend_wave(&rest, 0.3, 0.02),
        bend_wave(&rest, 0.2, 0.05),
        bend_wave(&rest, -0.2, 0.03),
    ];
    let times = KEY_TIMES.to_vec();
    let motion = Spacetime::new(
        shell.clone(),
        keys.clone(),
        times,
        ringing_settings(),
        &reduced_space(0),
        &Silent,
    )
    .unwrap();
    assert_eq!(motion.dimension(), 3);
    for (time, key) in KEY_TIMES.iter().zip(&keys) {
        let found = motion.positions(&[*time]);
        for (x, wanted) in found.chunks_exact(3).zip(key) {
            let x = Vec3::new(x[0].into(), x[1].into(), x[2].into());
            assert!((x - wanted).norm() < 1e-4, "{time}: {x} {wanted}");
        }
    }
    // UᵀKU, column by column.
    let hessian = Deformable::hessian(shell.as_ref(), &rest);
    let found = motion.space.reduce_matrix(&hessian);
    let column = |j: usize| -> Vec<Vec3> {
        let rows = 0..rest.len();
        rows.map(|v| Vec3::from_fn(|r, _| motion.space.basis[(3 * v + r, j)]))
            .collect()
    };
    for i in 0..3 {
        for j in 0..3 {
            let (a, b) = (column(i), column(j));
            let mut pushed = vec![Vec3::zeros(); rest.len()];
            hessian.times(&b, &mut pushed);
            let wanted: f64 = a.iter().zip(&pushed).map(|(a, f)| a.dot(f)).sum();
            assert!((found[(i, j)] - wanted).abs() < 1e-9 * found.norm_max());
        }
    }
}

/// A body in a few separate parts gets a note, and one in too many parts is refused.
#[test]
fn separate_parts_noted_or_refused() {
    let make = |parts: usize| {
        let (shell, rest) = strips(parts, 5);
        let keys = vec![rest.clone(), bend_wave(&rest, 0.2, 1.0)];
        let (times, silent) = (vec![0.0, 1.0], &Silent);
        Spacetime::new(
            shell,
            keys,
            times,
            ringing_settings(),
            &reduced_space(2),
            silent,
        )
    };
    let tells = |motion: &Spacetime, what: &str| motion.notes().iter().any(|n| n.contains(what));
    assert!(!tells(&make(1).unwrap(), "parts"));
    assert!(tells(&make(3).unwrap(), "3 separate parts"));
    match make(9) {
        Err(SpacetimeError::Parts { parts, most }) => assert_eq!((parts, most), (9, 8)),
        other => panic!("{:?}", other.map(|_| ())),
    }
}

/// Progress is reported early, in the middle and at the end, always between 0 and 1.
#[test]
fn progress_is_reported() {
    let (shell, rest) = strips(1, 12);
    let keys = [0.0, 0.1, 0.2, 0.3]
        .map(|by| bend_wave(&rest, by, 1.0))
        .to_vec();
    let told = Mutex::new(Vec::new());
    let listen = |share: f64, _: &str| {
        told.lock().unwrap().push(share);
        true
    };
    Spacetime::new(
        shell,
        keys,
        KEY_TIMES.to_vec(),
        ringing_settings(),
        &reduced_space(4),
        &listen,
    )
    .unwrap();
    let told = told.into_inner().unwrap();
    assert!(told.iter().all(|x| (0.0..=1.0).contains(x)));
    assert!(told.iter().any(|x| *x > 0.05 && *x < 0.5), "{told:?}");
    assert!(told.iter().any(|x| *x > 0.99));
}

/// A body that falls for a long time between keyframes follows its parabola.
#[test]
fn long_fall_follows_parabola() {
    let shape = strip().1[0].clone();
    let falling = SpacetimeSettings {
        stiffness: 1e-12,
        gravity: Vec3::new(0.0, 0.0, -1.0),
        ..SpacetimeSettings::default()
    };
    let long = 3e4;
    let motion = motion_through(
        &[shape.clone(), shape],
        &[0.0, long],
        &falling,
        &kept_rigid_space(),
    );
    // Thrown up so that it is back in time: g T² / 8 above.
    let at = motion.coordinates_at(&[0.5 * long]);
    let height = at[(2, 0)];
    assert!((height / (long * long / 8.0) - 1.0).abs() < 0.1, "{height}");
}
