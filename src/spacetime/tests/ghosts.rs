// SPDX-License-Identifier: MIT OR Apache-2.0
//! Ghosts between keyframes that differ by a rotation: times at which they are passed, and their weights.

use super::*;
use crate::Vec3;
use crate::spacetime::ghost_times;
use nalgebra::Rotation3;

/// Returns the strip turned about an axis through its first vertex.
fn turn_strip(angle: f64) -> Vec<Vec3> {
    let shape = &strip().1[0];
    let axis = nalgebra::Unit::new_normalize(Vec3::new(1.0, 2.0, -0.5));
    let turn = Rotation3::from_axis_angle(&axis, angle);
    let first = shape[0];
    shape.iter().map(|x| first + turn * (x - first)).collect()
}

fn spinning_motion(angles: &[f64], times: &[f64], options: &SpaceSettings) -> Spacetime {
    let shapes: Vec<_> = angles.iter().map(|&angle| turn_strip(angle)).collect();
    motion_through(&shapes, times, &ringing_settings(), options)
}

/// The ghosts of a large turn divide it into equal parts.
#[test]
fn ghosts_divide_turn_evenly() {
    let mut pinned = vec![false; 12];
    pinned[0] = true;
    for fixed in [Vec::new(), pinned] {
        let options = SpaceSettings {
            ghosts: Ghosts::Auto,
            fixed,
            ..kept_rigid_space()
        };
        // The second time by little: no ghost is needed.
        let motion = spinning_motion(&[0.0, 2.0, 2.3], &[0.0, 1.0, 1.6], &options);
        let ghosts = motion.ghosts();
        assert_eq!(ghosts.len(), 2);
        let note = "2 ghost shapes between keyframes 0 and 1, which differ by turns of 115°.";
        assert!(motion.notes().iter().any(|n| n == note));
        for (i, (interval, share, shape)) in ghosts.iter().enumerate() {
            assert_eq!(*interval, 0);
            assert!((share - (i + 1) as f64 / 3.0).abs() < 1e-12);
            // Without fixed vertices the whole may lie anywhere.
            for (x, wanted) in shape.iter().zip(&turn_strip(2.0 * share)) {
                let (x, wanted) = match options.fixed.is_empty() {
                    true => (x - shape[0], wanted - turn_strip(0.0)[0]),
                    false => (*x, *wanted),
                };
                assert!((x - wanted).norm() < 1e-5, "{i}: {x} {wanted}");
            }
        }
    }
}

/// Ghosts are passed at the times when a plain spline has gone their share of the way.
#[test]
fn ghosts_passed_at_spline_times() {
    let options = SpaceSettings {
        ghosts: Ghosts::Auto,
        ..kept_rigid_space()
    };
    let (angles, times) = ([0.0, 2.0, 3.6, 4.2], [0.5, 1.5, 1.9, 3.0]);
    let motion = spinning_motion(&angles, &times, &options);
    let ghosts = motion.ghosts();
    assert!(ghosts.iter().any(|g| g.0 == 1) && ghosts.len() > 3);
    let passed = ghost_times::ghost_times(&motion, &motion.cubic_splines());
    assert_eq!(passed.len(), ghosts.len());
    for ((interval, share, _), time) in ghosts.iter().zip(passed) {
        let (start, end) = (times[*interval], times[interval + 1]);
        assert!(time > start && time < end);
        let q = motion.cubic_coordinates_at(&[start, end, time]);
        let mass = |row: usize| motion.space.mass[(row, row)];
        let along = |column: usize| -> f64 {
            let from = |row: usize, c: usize| q[(row, c)] - q[(row, 0)];
            let parts = (0..36).map(|row| mass(row) * from(row, column) * from(row, 1));
            parts.sum()
        };
        let gone = along(2) / along(1);
        assert!((gone - share).abs() < 1e-3, "{gone} {share}");
    }
}

/// Ghosts with given times are passed at these times.
#[test]
fn ghosts_passed_at_given_times() {
    let ghost = |time: f64, angle: f64| (time, turn_strip(angle));
    let options = SpaceSettings {
        ghosts: Ghosts::Given(vec![ghost(0.9, 1.5), ghost(0.2, 0.4), ghost(0.3, 0.9)]),
        ..kept_rigid_space()
    };
    let motion = spinning_motion(&[0.0, 1.2, 1.8], &[0.0, 0.8, 1.3], &options);
    let found = ghost_times::ghost_times(&motion, &motion.cubic_splines());
    for (found, wanted) in found.iter().zip([0.2, 0.3, 0.9]) {
        assert!((found - wanted).abs() < 1e-12);
    }
    let ghosts = motion.ghosts();
    for ((interval, share, shape), wanted) in
        ghosts
            .iter()
            .zip([(0, 0.25, 0.4), (0, 0.375, 0.9), (1, 0.2, 1.5)])
    {
        assert_eq!(*interval, wanted.0);
        assert!((share - wanted.1).abs() < 1e-12);
        let misses = shape.iter().zip(turn_strip(wanted.2));
        assert!(misses.map(|(a, b)| (a - b).norm()).fold(0.0, f64::max) < 1e-12);
    }
}

/// The weight of a ghost scales with the unit of time like the cost that it is balanced against.
#[test]
fn ghost_weight_scales_with_time() {
    // With time c times as long, λ is c⁻² and δ c⁻¹ times as large, and so is ∫ r² c⁻³ times.
    for (stiffness, damping, gap) in [(30.0, 0.4, 0.2), (-5.0, 3.0, 0.9), (0.0, 0.0, 2.0)] {
        let mode = |c: f64| Oscillator {
            stiffness: stiffness / (c * c),
            damping: damping / c,
            gravity: 0.0,
        };
        let plain = ghost_times::ghost_weight(&mode(1.0), gap);
        assert!(plain > 0.0);
        for c in [0.1, 3.0] {
            let other = ghost_times::ghost_weight(&mode(c), c * gap) * c.powi(3);
            assert!((other / plain - 1.0).abs() < 1e-12, "{other} {plain}");
        }
    }
}

/// An undamped motion with ghosts is the same backwards as forwards.
#[test]
fn ghosts_are_time_reversible() {
    let ghost = |time: f64, angle: f64| (time, turn_strip(angle));
    let ghosts = [ghost(0.2, 0.5), ghost(1.1, 1.7)];
    let (angles, times) = ([0.0, 1.2, 1.8], [0.0, 0.8, 1.3]);
    let end = times[2];
    let undamped = SpacetimeSettings {
        stiffness: 30.0,
        ..SpacetimeSettings::default()
    };
    let make = |back: bool| {
        let at = |t: f64| if back { end - t } else { t };
        let mut shapes: Vec<_> = angles.iter().map(|&angle| turn_strip(angle)).collect();
        let mut times: Vec<f64> = times.iter().map(|&t| at(t)).collect();
        if back {
            shapes.reverse();
            times.reverse();
        }
        let ghosts = ghosts.iter().map(|(t, shape)| (at(*t), shape.clone()));
        let options = SpaceSettings {
            ghosts: Ghosts::Given(ghosts.collect()),
            ..kept_rigid_space()
        };
        motion_through(&shapes, &times, &undamped, &options)
    };
    let (forth, back) = (make(false), make(true));
    for i in 0..27 {
        let time = 0.05 * f64::from(i);
        let pair = (forth.positions(&[time]), back.positions(&[end - time]));
        for (a, b) in pair.0.iter().zip(&pair.1) {
            assert!((a - b).abs() < 1e-4, "{time}: {a} {b}");
        }
    }
}
