// SPDX-License-Identifier: MIT OR Apache-2.0
//! Details act where the flesh is strained.

use super::*;

/// Details around a pulled point bring the shape nearer to that of the whole body, and others stay away.
#[test]
fn pull_activates_details_around_it() {
    let bar = soft_bar(true);
    let body = bar.build();
    // The skin's vertices are the lattice's.
    let tip = bar.vertex(0, 0, bar.cells_along);
    let mut forces = vec![Vec3::zeros(); body.node_count()];
    for (a, w) in body.embedding().row(tip) {
        forces[a] = Vec3::new(10.0, 0.0, 0.0) * w;
    }
    let run = |threshold: Option<f64>| {
        let own = SimulationSettings {
            adapt: match threshold {
                Some(_) => Adaptation::Strain,
                None => Adaptation::None,
            },
            adapt_strain: Vec3::repeat(threshold.unwrap_or(1.0)),
            ..adapting_settings(Method::Warped)
        };
        let mut sim = Simulation::new(body.clone(), own).unwrap();
        sim.reset(&rest_pose(), true, None).unwrap();
        for _ in 0..36 {
            sim.advance(&rest_pose(), 1.0 / 24.0, Some(&forces), None)
                .unwrap();
        }
        let count = sim.active_functions();
        (shown(&sim).swap_remove(0), count)
    };
    let (uniform, all) = run(None);
    let (adapted, some) = run(Some(0.005));
    let (coarse, few) = run(Some(1e6));
    assert_eq!((all, few), (body.node_count(), body.basis().coarse_len()));
    assert!(few < some && 4 * some < 3 * all, "{few} {some} {all}");
    let (near, far) = (
        max_difference(&uniform, &adapted),
        max_difference(&uniform, &coarse),
    );
    assert!(near < 0.3 * far, "{near} {far}");
}
