// SPDX-License-Identifier: MIT OR Apache-2.0
//! Details come within a frame.

use super::*;

/// Details come after the step that strains the flesh, not at the end of its frame, and pins hold with them.
#[test]
fn details_come_within_frames() {
    let bar = soft_bar(true);
    let body = bar.build();
    let point = PinPoint::Vertex(bar.vertex(0, 0, bar.cells_along) as u32);
    for (method, share) in [(Method::Warped, 1.0), (Method::Hyperelastic, 0.5)] {
        let own = SimulationSettings {
            elastic_joints: share,
            rate: 240.0,
            adapt_strain: Vec3::repeat(0.005),
            ..adapting_settings(method)
        };
        let uniform = SimulationSettings {
            adapt: Adaptation::None,
            ..own.clone()
        };
        let run = |own: &SimulationSettings, frozen: bool| {
            let mut sim = Simulation::new(body.clone(), own.clone()).unwrap();
            sim.reset(&rest_pose(), false, None).unwrap();
            if frozen {
                sim.adapting.as_mut().unwrap().freeze();
            }
            let target = sim.point_position(point).unwrap() + Vec3::new(0.02, 0.0, 0.0);
            sim.pin_point(point, Some(target), 1.0).unwrap();
            sim.advance(&bent_pose(&bar, 0.05), 1.0 / 24.0, None, None)
                .unwrap();
            let gap = (sim.point_position(point).unwrap() - target).norm();
            assert!(gap < 1e-8 * body.size(), "{method:?} {gap}");
            (shown(&sim).swap_remove(0), sim.active_functions())
        };
        let (exact, all) = run(&uniform, false);
        let (adapted, some) = run(&own, false);
        let (coarse, few) = run(&own, true);
        assert!(few < some && some < all, "{method:?} {few} {some} {all}");
        let (near, far) = (
            max_difference(&exact, &adapted),
            max_difference(&exact, &coarse),
        );
        assert!(near < 0.3 * far, "{method:?} {near} {far}");
    }
}
