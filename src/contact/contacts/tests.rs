// SPDX-License-Identifier: MIT OR Apache-2.0
//! Effective contact forces, and the touches that are kept.

use super::*;
use crate::contact::skin::SkinPoint;
use crate::contact::tests::ShapedBar;

const TARGET: SkinPoint = SkinPoint {
    triangle: 0,
    weights: [1.0, 0.0, 0.0],
};

/// If a displacement is shortened, the contact and friction forces of that step are reduced by the same factor.
#[test]
fn shortened_step_scales_forces() {
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
    // The smaller of two bodies' parts counts; a collider has no part.
    for (other, part) in [(0, 0.5), (1, 0.25), (2, 0.5)] {
        let (force, friction) = effective_forces(&parts, None, &touch(other), whole);
        assert!((force - part * 8.0).abs() < 1e-12);
        assert!((friction - whole.1 * part).norm() < 1e-12);
        // Forces of the step before moved the flesh in full.
        let before = |proxy: u32| LiveContact {
            body: 0,
            proxy,
            other,
            target: TARGET,
            force: 3.0,
            friction: Vec3::new(1.0, 1.0, 1.0),
            side: 1.0,
        };
        let former = [before(1), before(4), before(9)];
        let (force, friction) = effective_forces(&parts, Some(&former), &touch(other), whole);
        assert!((force - (3.0 + 5.0 * part)).abs() < 1e-12);
        let wanted = Vec3::repeat(1.0) * (1.0 - part) + whole.1 * part;
        assert!((friction - wanted).norm() < 1e-12);
    }
    assert_eq!(effective_forces(&[1.0, 1.0], None, &touch(1), whole), whole);
}

/// A touch is kept while its points are near each other and not lost inside the flesh.
#[test]
fn touches_kept_while_near() {
    // Bars of 10 cm beside each other along x, with cells of about 5 cm.
    let here = ShapedBar::new(|x| *x, 0.0);
    let proxies = here.skin.proxies();
    let on = |side: f64| {
        let inside = move |rest: &Vec3| (rest.x - side).abs() < 1e-9 && rest.y.abs() < 0.02;
        (0u32..).zip(proxies).filter(move |(_, p)| inside(&p.rest))
    };
    let (proxy, first) = on(0.05).find(|(_, p)| p.rest.z > 0.5).unwrap();
    let across = |p: &Vec3| (p - first.rest).yz().norm();
    let (_, second) = on(-0.05)
        .min_by(|a, b| across(&a.1.rest).total_cmp(&across(&b.1.rest)))
        .unwrap();
    let contacts = |force: f64| {
        let mut contacts = Contacts::new(&[ContactSettings::default(); 2], &[]);
        let live = LiveContact {
            body: 0,
            proxy,
            other: 1,
            target: second.point,
            force,
            friction: Vec3::zeros(),
            side: 1.0,
        };
        contacts.restore(vec![live], Vec::new());
        contacts
    };
    for (force, gap, kept) in [
        (1.0, 0.004, true),
        (1.0, 0.01, false),
        (1.0, -0.008, true),
        (1.0, -0.02, false),
        (0.0, 0.002, true),
        (0.0, 0.0045, false),
        (0.0, -0.002, true),
        (0.0, -0.005, false),
    ] {
        let there = ShapedBar::new(|x| x + Vec3::x() * (0.1 + gap), 0.0);
        let bodies = [here.posed_flesh(), there.posed_flesh()];
        let at = ContactInstant {
            bodies: &bodies,
            colliders: &[],
        };
        let mut touches = Vec::new();
        contacts(force).add_former_contacts(&at, &at, &mut touches);
        assert_eq!(touches.len(), usize::from(kept), "{force} {gap}");
        for touch in &touches {
            assert_eq!((touch.body, touch.proxy, touch.other), (0, proxy, 1));
            assert!(touch.normal.x < -0.9, "{}", touch.normal);
        }
        // A touch that the search has found again is present once.
        contacts(force).add_former_contacts(&at, &at, &mut touches);
        assert_eq!(touches.len(), usize::from(kept));
    }
}
