// SPDX-License-Identifier: MIT OR Apache-2.0
//! Details come and go without a jump of the shape.

use super::*;

/// Details come with the strain and leave after it, and the shape does not jump when they do.
#[test]
fn shape_never_jumps() {
    for (method, share) in [
        (Method::Hyperelastic, 1.0),
        (Method::Warped, 1.0),
        (Method::Warped, 0.3),
        (Method::NeoHookean, 1.0),
    ] {
        let bar = BarOptions {
            settings: one_level(),
            ..soft_bar(true)
        };
        let body = bar.build();
        // One step a frame: sets change at its end alone.
        let own = SimulationSettings {
            elastic_joints: share,
            rate: 24.0,
            ..adapting_settings(method)
        };
        let build = || Simulation::new(body.clone(), own.clone()).unwrap();
        let (mut sim, mut frozen) = (build(), build());
        for sim in [&mut sim, &mut frozen] {
            sim.reset(&shaken_pose(&bar, 0), true, None).unwrap();
        }
        frozen.adapting.as_mut().unwrap().freeze();
        let (mut grown, mut shrunk) = (0, 0);
        let frames = if method == Method::NeoHookean { 12 } else { 64 };
        for frame in 1..frames {
            let (before, state) = (sim.active_functions(), sim.state());
            let pose = shaken_pose(&bar, frame);
            sim.advance(&pose, 1.0 / 24.0, None, None).unwrap();
            if sim.active_functions() == before {
                continue;
            }
            grown += usize::from(sim.active_functions() > before);
            shrunk += usize::from(sim.active_functions() < before);
            frozen.restore(&state).unwrap();
            frozen.advance(&pose, 1.0 / 24.0, None, None).unwrap();
            assert_eq!(frozen.active_functions(), before);
            for (a, b) in shown(&sim).iter().zip(&shown(&frozen)) {
                let jump = max_difference(a, b);
                assert!(jump < 1e-6 * body.size(), "{method:?} {frame} {jump}");
            }
        }
        assert!(grown > 0, "{method:?}");
        if method != Method::NeoHookean {
            assert!(shrunk > 0, "{method:?}");
            let coarse = body.basis().coarse_len();
            assert_eq!(sim.active_functions(), coarse, "{method:?} {share}");
        }
    }
}
