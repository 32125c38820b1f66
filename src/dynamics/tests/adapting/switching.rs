// SPDX-License-Identifier: MIT OR Apache-2.0
//! Saved states keep the active functions; what all functions do, and what is refused.

use super::*;

/// A state continues with the same bits, whichever functions were active before it was restored, for any number of threads.
#[test]
fn states_keep_active_functions() {
    let bar = BarOptions {
        cells_along: 2,
        ..soft_bar(true)
    };
    let body = bar.build();
    for method in [Method::Hyperelastic, Method::Warped] {
        let build = || {
            let mut sim = Simulation::new(body.clone(), adapting_settings(method)).unwrap();
            sim.reset(&shaken_pose(&bar, 0), true, None).unwrap();
            sim
        };
        let run = || {
            let mut sim = build();
            let mut states = vec![sim.state()];
            for frame in 1..12 {
                let pose = shaken_pose(&bar, frame);
                sim.advance(&pose, 1.0 / 24.0, None, None).unwrap();
                states.push(sim.state());
            }
            states
        };
        let in_pool = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
            pool.unwrap().install(run)
        };
        let states = in_pool(1);
        assert!(states == in_pool(3));
        let mut sim = build();
        let mut counts = Vec::new();
        for frame in [5, 0, 10, 2, 7] {
            sim.restore(&states[frame]).unwrap();
            assert!(sim.state() == states[frame]);
            counts.push(sim.active_functions());
            let pose = shaken_pose(&bar, frame + 1);
            sim.advance(&pose, 1.0 / 24.0, None, None).unwrap();
            assert!(sim.state() == states[frame + 1], "{method:?} {frame}");
        }
        counts.sort_unstable();
        counts.dedup();
        assert!(counts.len() > 1);
    }
}

/// Motion with the whole set active from the beginning has the bits of a body whose details always act.
#[test]
fn whole_set_equals_uniform_levels() {
    let bar = BarOptions {
        settings: BodySettings {
            basis_levels: 1,
            level: 1,
            rest_includes_gravity: false,
            ..Default::default()
        },
        ..soft_bar(false)
    };
    let body = bar.build();
    for method in [Method::Hyperelastic, Method::Warped, Method::Linear] {
        let adapting = SimulationSettings {
            adapt_strain: Vec3::repeat(1e-12),
            ..adapting_settings(method)
        };
        let uniform = SimulationSettings {
            adapt: Adaptation::None,
            ..adapting.clone()
        };
        let run = |own: &SimulationSettings| {
            let mut sim = Simulation::new(body.clone(), own.clone()).unwrap();
            sim.reset(&bent_pose(&bar, 0.3), true, None).unwrap();
            for frame in 0..6 {
                let pose = bent_pose(&bar, 0.3 + 0.1 * f64::from(frame));
                sim.advance(&pose, 1.0 / 24.0, None, None).unwrap();
                assert_eq!(sim.active_functions(), body.node_count());
            }
            (
                sim.lattice_positions().to_vec(),
                sim.lattice_velocities().to_vec(),
            )
        };
        assert!(run(&adapting) == run(&uniform), "{method:?}");
    }
}

/// Methods and bodies that cannot adapt are refused with the reason.
#[test]
fn refusals_name_the_reason() {
    let bar = soft_bar(false);
    let body = bar.build();
    let own = adapting_settings(Method::Warped);
    let refused = |body: &Arc<Body>, own: SimulationSettings| {
        Simulation::new(body.clone(), own)
            .err()
            .unwrap()
            .to_string()
    };
    let negative = SimulationSettings {
        adapt_strain: Vec3::new(0.1, 0.0, 0.1),
        ..own.clone()
    };
    assert!(refused(&body, negative).contains("adapt_strain"));
    assert!(
        "strains"
            .parse::<Adaptation>()
            .unwrap_err()
            .to_string()
            .contains("'strain'")
    );
    // Where nothing can adapt, all functions act.
    let coarse = BarOptions::default().build();
    let plain = Simulation::new(coarse.clone(), own.clone()).unwrap();
    assert_eq!(plain.active_functions(), coarse.node_count());
    // A state of a run that did not adapt, and of one that did, are told apart.
    let state = |own: &SimulationSettings| {
        let mut sim = Simulation::new(body.clone(), own.clone()).unwrap();
        sim.reset(&bent_pose(&bar, 0.4), true, None).unwrap();
        sim.advance(&bent_pose(&bar, 0.5), 1.0 / 24.0, None, None)
            .unwrap();
        (sim.state(), sim)
    };
    let plain = SimulationSettings {
        adapt: Adaptation::None,
        ..own.clone()
    };
    let ((adapted, mut adapting), (uniform, mut whole)) = (state(&own), state(&plain));
    assert!(whole.restore(&adapted).is_err() && adapting.restore(&uniform).is_err());
    assert!(whole.state() == uniform && adapting.state() == adapted);
    for cut in [8, 100, adapted.len() / 2, adapted.len() - 1] {
        assert!(adapting.restore(&adapted[..cut]).is_err());
        assert!(adapting.state() == adapted);
    }
}
