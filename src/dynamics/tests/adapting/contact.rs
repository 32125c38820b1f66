// SPDX-License-Identifier: MIT OR Apache-2.0
//! Flesh in contact adapts, alone and in scenes.

use super::*;

/// Flesh in contact with itself adapts, and continues from its states.
#[test]
fn contact_goes_on_with_other_functions() {
    let bar = BarOptions {
        settings: one_level(),
        ..soft_bar(false)
    };
    let body = bar.build();
    let contact = crate::contact::Contact::default()
        .prepare(&body, &crate::progress::Silent)
        .unwrap();
    let build = || {
        let own = adapting_settings(Method::Hyperelastic);
        let mut sim = Simulation::new(body.clone(), own).unwrap();
        sim.set_contact(Some(contact.clone())).unwrap();
        sim.reset(&bent_pose(&bar, 1.2), true, None).unwrap();
        sim
    };
    let mut sim = build();
    let (mut states, mut touched, mut counts) = (vec![sim.state()], 0, Vec::new());
    for frame in 1..14 {
        let pose = bent_pose(&bar, 1.2 + 0.12 * f64::from(frame));
        sim.advance(&pose, 1.0 / 24.0, None, None).unwrap();
        touched += usize::from(!sim.contacts().is_empty());
        counts.push(sim.active_functions());
        states.push(sim.state());
    }
    counts.dedup();
    assert!(touched > 2 && counts.len() > 1, "{touched} {counts:?}");
    let mut again = build();
    for frame in [9, 4] {
        again.restore(&states[frame]).unwrap();
        let pose = bent_pose(&bar, 1.2 + 0.12 * (frame + 1) as f64);
        again.advance(&pose, 1.0 / 24.0, None, None).unwrap();
        assert!(again.state() == states[frame + 1], "{frame}");
    }
}

/// Returns a scene of two bars that press each other, of which the first has levels of details.
fn adapting_scene(bar: &BarOptions) -> Scene {
    let fine = adapting_settings(Method::Hyperelastic);
    let plain = SimulationSettings {
        adapt: Adaptation::None,
        ..fine.clone()
    };
    let member = |body: Arc<Body>, own: SimulationSettings| {
        let contact = crate::contact::Contact::default();
        let prepared = contact.prepare(&body, &crate::progress::Silent).unwrap();
        (Simulation::new(body, own).unwrap(), prepared)
    };
    let other = BarOptions::default().build();
    Scene::new(vec![member(bar.build(), fine), member(other, plain)]).unwrap()
}

/// Bodies of a scene adapt while they touch each other, and continue from their states.
#[test]
fn bodies_of_scenes_adapt() {
    let bar = BarOptions {
        cells_along: 2,
        ..soft_bar(true)
    };
    let across = |frame: usize| {
        let aside = Translation3::new(0.36 - 0.01 * frame as f64, 0.0, 0.0);
        let turn = UnitQuaternion::from_axis_angle(&Vec3::x_axis(), 1.2);
        let middle = Translation3::new(0.0, 0.0, 0.8);
        pose(
            &[Isometry3::from_parts(aside, UnitQuaternion::identity())
                * middle
                * turn
                * middle.inverse(); 2],
        )
    };
    let silent = crate::progress::Silent;
    let advance = |scene: &mut Scene, frame: usize| {
        let poses = [bent_pose(&bar, 0.02 * frame as f64), across(frame)];
        let free = [(None, None); 2];
        scene.advance(&poses, 1.0 / 24.0, &free, &silent).unwrap();
    };
    let mut scene = adapting_scene(&bar);
    let poses = [bent_pose(&bar, 0.0), across(0)];
    scene.reset(&poses, true, &[None, None], &silent).unwrap();
    let (mut states, mut counts, mut touched) = (vec![scene.state()], Vec::new(), 0);
    for frame in 1..10 {
        advance(&mut scene, frame);
        touched += usize::from(!scene.contacts().is_empty());
        let [first, second] = scene.bodies() else {
            unreachable!()
        };
        counts.push(first.active_functions());
        assert_eq!(second.active_functions(), second.body().node_count());
        let forces = scene.contact_forces(0).unwrap();
        assert_eq!(forces.len(), first.body().node_count());
        states.push(scene.state());
    }
    let all = scene.bodies()[0].body().node_count();
    let coarse = scene.bodies()[0].body().basis().coarse_len();
    assert!(touched > 4, "{touched}");
    assert!(counts.iter().all(|&c| c < all) && counts.iter().any(|&c| c > coarse));
    counts.dedup();
    assert!(counts.len() > 1, "{counts:?}");
    for frame in [5, 2] {
        scene.restore(&states[frame]).unwrap();
        assert!(scene.state() == states[frame], "{frame}");
        advance(&mut scene, frame + 1);
        assert!(scene.state() == states[frame + 1], "{frame}");
    }
    let before = scene.state();
    assert!(scene.restore(&states[8][..states[8].len() - 8]).is_err());
    assert!(scene.state() == before);
    advance(&mut scene, 4);
    assert!(scene.state() == states[4]);
}
