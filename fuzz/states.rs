// SPDX-License-Identifier: MIT OR Apache-2.0
//! Saved states: of flesh alone, of flesh that touches, of a scene.

use crate::numbers::finite;
use crate::shots::{folded, scene, touching};
use crate::targets::brick;
use thew::dynamics::{Method, Scene, Simulation, SimulationSettings};
use thew::progress::Silent;
use thew::shot::Shot;
use thew::skeleton::Pose;

/// What states of a kind are of: the usual method, the modal one, flesh that folds and touches.
fn simulation(kind: u8) -> Simulation {
    let method = match kind {
        1 => Method::Modal,
        _ => Method::Hyperelastic,
    };
    let shot = touching();
    let settings = match kind {
        2 => shot.settings.simulation,
        _ => SimulationSettings::for_method(method),
    };
    let made = Simulation::new(brick().clone(), settings);
    let mut simulation = made.expect("settings by default");
    if let (2, Some(contact)) = (kind, &shot.contact) {
        let ready = contact.prepare(brick(), &Silent).expect("contact");
        let touching = simulation.set_contact(Some(ready));
        touching.expect("contact of this body");
    }
    simulation
}

/// Two bodies that touch, and colliders.
fn bodies() -> Scene {
    let member = |shot: Shot| {
        let (settings, contact) = (shot.settings.simulation, shot.contact.unwrap_or_default());
        let simulation = Simulation::new(brick().clone(), settings);
        let ready = contact.prepare(brick(), &Silent);
        (simulation.expect("settings"), ready.expect("contact"))
    };
    Scene::new(scene().map(member).into()).expect("a scene")
}

/// The first byte: a kind of [`simulation`], or 3, a scene.
pub fn state(bytes: &[u8]) {
    const STEP: f64 = 1.0 / 240.0;
    let Some((&kind, bytes)) = bytes.split_first() else {
        return;
    };
    let rest = Pose::rest(2);
    if kind == 3 {
        let mut scene = bodies();
        if scene.restore(bytes).is_ok() {
            let free = [(None, None); 2];
            let poses = [rest.clone(), rest];
            let _ = scene.advance(&poses, STEP, &free, &Silent);
            for body in scene.bodies() {
                finite("lattice vertex of a scene", body.lattice_positions());
            }
        }
        return;
    }
    let mut simulation = simulation(kind.min(2));
    if simulation.restore(bytes).is_ok() {
        finite("restored vertex", simulation.lattice_positions());
        if simulation.advance(&rest, STEP, None, None).is_ok() {
            finite("lattice vertex", simulation.lattice_positions());
        }
    }
}

pub fn state_seeds() -> Vec<Vec<u8>> {
    const STEP: f64 = 1.0 / 240.0;
    let pose = folded();
    let seed = |kind: u8| {
        let mut simulation = simulation(kind);
        simulation.reset(&pose, true, None).expect("a pose");
        simulation.advance(&pose, STEP, None, None).expect("a step");
        assert_eq!(kind == 2, !simulation.contacts().is_empty());
        [&[kind], &simulation.state()[..]].concat()
    };
    let mut scene = bodies();
    let poses = scene_poses();
    scene
        .reset(&poses, true, &[None; 2], &Silent)
        .expect("poses");
    scene
        .advance(&poses, STEP, &[(None, None); 2], &Silent)
        .expect("a step");
    let others = scene.contacts().iter().any(|c| c.other_body == 1);
    assert!(others && !scene.colliders().is_empty());
    let mut seeds = [0, 1, 2].map(seed).to_vec();
    seeds.push([&[3], &scene.state()[..]].concat());
    seeds
}

fn scene_poses() -> [Pose; 2] {
    scene().map(|shot| shot.poses[0].clone())
}
