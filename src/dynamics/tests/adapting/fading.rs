// SPDX-License-Identifier: MIT OR Apache-2.0
//! Details come and go without a jump of the shape, and pins hold beside those that fade.

use super::*;
use crate::present::{CarriedSurfaces, Presenter, SurfaceId};

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

/// Returns how far a pinned point is pulled in a frame, m: out, back, and then not at all.
fn pull(frame: usize) -> f64 {
    match frame {
        0..6 => 0.02 * frame as f64,
        6..12 => 0.02 * (12 - frame) as f64,
        _ => 0.0,
    }
}

/// Pins hold what is shown while details beside them come, go and fade: the display of a vertex to its single precision, and
/// points as pins count them to rounding.
#[test]
fn pins_hold_beside_fading_details() {
    let bar = BarOptions {
        settings: one_level(),
        ..soft_bar(true)
    };
    let body = bar.build();
    let vertex = bar.vertex(0, 0, bar.cells_along) as u32;
    let inside = Vec3::new(0.13, 0.02, 1.13);
    let starts = [body.surface().vertices()[vertex as usize], inside];
    let points = [PinPoint::Vertex(vertex), PinPoint::Place(inside)];
    let cell = body.lattice().locate(inside).unwrap();
    let row = body.basis().row(cell, inside);
    let presenter = Presenter::new(CarriedSurfaces::from(body.clone()));
    for (method, share) in [
        (Method::Hyperelastic, 1.0),
        (Method::Hyperelastic, 0.5),
        (Method::Warped, 1.0),
        (Method::Warped, 0.4),
        (Method::Blended, 0.7),
        (Method::Linearised, 1.0),
    ] {
        let own = SimulationSettings {
            elastic_joints: share,
            ..adapting_settings(method)
        };
        let mut sim = Simulation::new(body.clone(), own).unwrap();
        sim.reset(&rest_pose(), true, None).unwrap();
        let ids = [0, 1].map(|k| sim.pin(Pin::new(points[k], starts[k])).unwrap());
        let (mut left, mut faded, mut worst) = (0, 0, [0.0f64; 3]);
        for frame in 1..72 {
            let before = sim.active_functions();
            let targets = starts.map(|x| x + Vec3::new(0.7, -0.4, 0.2) * pull(frame));
            for (id, target) in ids.into_iter().zip(targets) {
                sim.move_pin(id, target, None).unwrap();
            }
            let bend = 0.05 * frame.min(20usize.saturating_sub(frame)) as f64;
            let bend = bent_pose(&bar, bend);
            sim.advance(&bend, 1.0 / 24.0, None, None).unwrap();
            left += usize::from(sim.active_functions() < before);
            let adapting = sim.adapting.as_ref().unwrap();
            faded += usize::from(adapting.faded(sim.now.bones(), None).is_some());
            let world = crate::kernel::OutputSpace::WORLD;
            let mut skin = vec![0.0f32; 3 * body.surface().vertices().len()];
            presenter
                .positions(SurfaceId::OWN, sim.snapshot().instant(), &world, &mut skin)
                .unwrap();
            let seen = Vec3::from_fn(|k, _| f64::from(skin[3 * vertex as usize + k]));
            let nodes = sim.lattice_positions();
            let place: Vec3 = row.iter().map(|&(a, w)| nodes[a as usize] * w).sum();
            let counted = points.map(|point| sim.point_position(point).unwrap());
            let gaps = [
                (seen - targets[0]).norm(),
                (place - targets[1]).norm(),
                max_difference(&counted, &targets),
            ];
            (0..3).for_each(|k| worst[k] = worst[k].max(gaps[k] / body.size()));
        }
        assert!(left > 0 && faded > 4, "{method:?} {share} {left} {faded}");
        let [seen, place, counted] = worst;
        let most = [seen / 1e-6, place / 1e-8, counted / 1e-8];
        assert!(
            most.iter().all(|&x| x < 1.0),
            "{method:?} {share} {worst:?}"
        );
    }
}
