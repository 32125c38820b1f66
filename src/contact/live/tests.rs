// SPDX-License-Identifier: MIT OR Apache-2.0
//! The part of the forces of contacts that moved flesh.

use super::*;
use crate::contact::skin::SkinPoint;

const TARGET: SkinPoint = SkinPoint {
    triangle: 0,
    weights: [1.0, 0.0, 0.0],
};

#[test]
fn of_shortened_displacements_as_much_of_the_forces_moved_flesh() {
    let touch = |other: u32| Touch {
        body: 0,
        proxy: 4,
        other,
        target: TARGET,
        normal: Vec3::z(),
        depth: 0.0,
        side: 1.0,
    };
    let parts = [0.5, 0.25];
    let whole = (8.0, Vec3::new(2.0, -4.0, 0.0));
    // The shorter of two bodies' parts counts; a collider has none.
    for (other, part) in [(0, 0.5), (1, 0.25), (2, 0.5)] {
        let (force, friction) = moving(&parts, None, &touch(other), whole);
        assert!((force - part * 8.0).abs() < 1e-12);
        assert!((friction - whole.1 * part).norm() < 1e-12);
        // Forces of the step before moved it whole.
        let before = |proxy: u32| Live {
            body: 0,
            proxy,
            other,
            target: TARGET,
            force: 3.0,
            friction: Vec3::new(1.0, 1.0, 1.0),
            side: 1.0,
        };
        let former = [before(1), before(4), before(9)];
        let (force, friction) = moving(&parts, Some(&former), &touch(other), whole);
        assert!((force - (3.0 + 5.0 * part)).abs() < 1e-12);
        let wanted = Vec3::repeat(1.0) * (1.0 - part) + whole.1 * part;
        assert!((friction - wanted).norm() < 1e-12);
    }
    assert_eq!(moving(&[1.0, 1.0], None, &touch(1), whole), whole);
}
