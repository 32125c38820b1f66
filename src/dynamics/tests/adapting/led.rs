// SPDX-License-Identifier: MIT OR Apache-2.0
//! Details on which rigs act: they come before the forces, leave after them, and continue from states.

use super::*;

/// Frame from which forces act, and the one at which they are zero again.
const PUSHED: std::ops::Range<usize> = 4..12;

fn led_settings(method: Method) -> SimulationSettings {
    SimulationSettings {
        adapt: Adaptation::Rigs,
        ..adapting_settings(method)
    }
}

/// Returns forces on some details of a body at a frame, of both levels: growing, constant, and zero again.
fn push(body: &Body, frame: usize) -> Vec<Vec3> {
    let coarse = body.basis().coarse_len();
    let strength = match PUSHED.contains(&frame) {
        true => 0.2 * ((frame - PUSHED.start + 1) as f64).min(4.0),
        false => 0.0,
    };
    let force = |a: usize| match a >= coarse && a.is_multiple_of(9) {
        true => Vec3::new(strength, 0.5 * strength, 0.0),
        false => Vec3::zeros(),
    };
    (0..body.node_count()).map(force).collect()
}

/// Details are active from the frame in which their forces begin until some time after these end, and the shape never jumps.
#[test]
fn details_follow_forces() {
    for method in [Method::Hyperelastic, Method::Warped] {
        let bar = BarOptions {
            cells_along: 2,
            ..soft_bar(true)
        };
        let body = bar.build();
        let own = SimulationSettings {
            rate: 24.0,
            ..led_settings(method)
        };
        let build = || {
            let mut sim = Simulation::new(body.clone(), own.clone()).unwrap();
            sim.reset(&bent_pose(&bar, 0.3), true, None).unwrap();
            sim
        };
        let (mut sim, mut twin) = (build(), build());
        let coarse = body.basis().coarse_len();
        let forced = push(&body, 5).iter().filter(|f| f.norm() > 0.0).count();
        assert!(forced > 0 && coarse + forced < body.node_count());
        let mut counts = Vec::new();
        for frame in 1..40 {
            let (before, state) = (shown(&sim), sim.state());
            let rest = push(&body, frame);
            // What is shown at the start of the frame is that of the other set.
            twin.restore(&state).unwrap();
            twin.activate_forced(Some(&rest)).unwrap();
            for (a, b) in before.iter().zip(&shown(&twin)) {
                assert!(max_difference(a, b) < 1e-9 * body.size(), "{method:?}");
            }
            sim.advance(&bent_pose(&bar, 0.3), 1.0 / 24.0, None, Some(&rest))
                .unwrap();
            counts.push(sim.active_functions());
        }
        let count = |frame: usize| counts[frame - 1];
        assert!((1..PUSHED.start).all(|frame| count(frame) == coarse));
        assert!(PUSHED.clone().all(|frame| count(frame) == coarse + forced));
        assert_eq!(count(PUSHED.end + 3), coarse + forced);
        assert_eq!(count(PUSHED.end + 14), coarse);
    }
}

/// A state continues with the same bits, for any number of threads; flesh at rest has the details of its forces at once.
#[test]
fn states_continue_under_forces() {
    let bar = BarOptions {
        cells_along: 2,
        ..soft_bar(true)
    };
    let body = bar.build();
    let start = push(&body, PUSHED.start);
    let run = || {
        let mut sim = Simulation::new(body.clone(), led_settings(Method::Hyperelastic)).unwrap();
        sim.reset(&shaken_pose(&bar, 3), true, Some(&start))
            .unwrap();
        let mut states = vec![sim.state()];
        for frame in 4..16 {
            let rest = push(&body, frame);
            sim.advance(&shaken_pose(&bar, frame), 1.0 / 24.0, None, Some(&rest))
                .unwrap();
            states.push(sim.state());
        }
        (states, sim)
    };
    let in_pool = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        pool.unwrap().install(run)
    };
    let (states, mut sim) = in_pool(1);
    assert!(states == in_pool(3).0);
    let coarse = body.basis().coarse_len();
    for frame in [8, 0, 10] {
        sim.restore(&states[frame]).unwrap();
        assert!(sim.active_functions() > coarse);
        let rest = push(&body, frame + 4);
        let pose = shaken_pose(&bar, frame + 4);
        sim.advance(&pose, 1.0 / 24.0, None, Some(&rest)).unwrap();
        assert!(sim.state() == states[frame + 1], "{frame}");
    }
}

/// Under forces on all details the motion has the bits of one in which they always act.
#[test]
fn forces_on_all_details_equal_uniform_levels() {
    let bar = BarOptions {
        settings: one_level(),
        ..soft_bar(false)
    };
    let body = bar.build();
    let rest = vec![Vec3::new(0.1, 0.0, 0.02); body.node_count()];
    let run = |adapt: Adaptation| {
        let own = SimulationSettings {
            adapt,
            ..led_settings(Method::Warped)
        };
        let mut sim = Simulation::new(body.clone(), own).unwrap();
        sim.reset(&bent_pose(&bar, 0.3), true, Some(&rest)).unwrap();
        for frame in 0..4 {
            let pose = bent_pose(&bar, 0.3 + 0.1 * f64::from(frame));
            sim.advance(&pose, 1.0 / 24.0, None, Some(&rest)).unwrap();
        }
        (sim.lattice_positions().to_vec(), sim.active_functions())
    };
    assert!(run(Adaptation::Rigs) == run(Adaptation::None));
}

/// Bodies of a scene activate the details of their own forces while they touch each other, and continue from their states.
#[test]
fn bodies_of_scenes_follow_forces() {
    let bar = BarOptions {
        settings: one_level(),
        cells_along: 2,
        ..soft_bar(false)
    };
    let body = bar.build();
    let build = || {
        let contact = crate::contact::Contact::default();
        let member = |body: &Arc<Body>| {
            let prepared = contact.prepare(body, &crate::progress::Silent).unwrap();
            let own = led_settings(Method::Hyperelastic);
            (Simulation::new(body.clone(), own).unwrap(), prepared)
        };
        let mut scene = Scene::new(vec![member(&body), member(&body)]).unwrap();
        let pose = [bent_pose(&bar, 0.0), bent_pose(&bar, 0.1)];
        let silent = &crate::progress::Silent;
        scene.reset(&pose, false, &[None, None], silent).unwrap();
        scene
    };
    let mut scene = build();
    let advance = |scene: &mut Scene, frame: usize| {
        let pose = [bent_pose(&bar, 0.0), bent_pose(&bar, 0.1)];
        let rest = push(&body, frame);
        let forces = [(None, Some(&rest[..])), (None, None)];
        let silent = &crate::progress::Silent;
        scene.advance(&pose, 1.0 / 24.0, &forces, silent).unwrap();
    };
    let mut states = vec![scene.state()];
    for frame in 2..7 {
        advance(&mut scene, frame);
        states.push(scene.state());
    }
    let [first, second] = [0, 1].map(|k| scene.bodies()[k].active_functions());
    let coarse = body.basis().coarse_len();
    assert!(first > coarse && second == coarse);
    let mut again = build();
    again.restore(&states[2]).unwrap();
    advance(&mut again, 4);
    assert!(again.state() == states[3]);
}
