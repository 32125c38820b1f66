// SPDX-License-Identifier: MIT OR Apache-2.0
//! Comparison of posed skin with the kernel that shows frames.

use super::*;

/// The bound on the sway agrees with the kernel's, and its slope with finite differences.
#[test]
fn sway_bound_matches_kernel() {
    let bound = SwayBound {
        share: 0.8,
        limit: 0.3,
    };
    for d in [0.0, 0.1, 0.24, 0.26, 0.3, 0.5, 2.0] {
        let sway = Vec3::new(0.6, -0.64, 0.48) * d;
        let shown = SwayLimiter(bound).apply(sway, Vec3::zeros());
        let kernel = bound.apply(sway.cast::<f32>().into());
        assert!((0..3).all(|k| (shown[k] - f64::from(kernel[k])).abs() < 1e-6));
        for fold in [Vec3::zeros(), Vec3::new(0.05, 0.2, -0.1)] {
            let slope = SwayLimiter(bound).slope(&sway, &fold);
            for k in 0..3 {
                let step = Vec3::ith(k, 1e-6);
                let at = |sway| SwayLimiter(bound).apply(sway, fold);
                let change = at(sway + step) - at(sway - step);
                assert!((change / 2e-6 - slope.column(k)).norm() < 1e-6);
            }
        }
    }
}

/// Posed skin with folds and bent joints lies where the kernel displays it.
#[test]
fn posed_skin_matches_kernel() {
    use crate::contact::tests::ShapedBar;
    use crate::kernel::{LocalMaps, OutputSpace};
    use crate::present::{DisplaySettings, Presenter, Snapshot, SurfaceId};

    let flesh = ShapedBar::new(|x| x + Vec3::x() * (3.0 * x.z).sin() * 0.2, 0.01);
    let body = flesh.skin.body();
    let folds: Vec<f64> = (0..body.node_count())
        .map(|v| (0.7 * v as f64).sin().max(0.0))
        .collect();
    let volume: Vec<Vec3> = (0..body.node_count())
        .map(|v| Vec3::new(0.1, 0.05 * (v as f64).sin(), -0.02))
        .collect();
    let maps = LocalMaps::new(&flesh.pose, body.rest_origin(), [0.0; 3]);
    let u: Vec<[f32; 3]> = volume.iter().map(|u| u.cast::<f32>().into()).collect();
    let lifts = body.joints().lifts(&maps, &u);
    let bones = BonePoses::new(body.skeleton(), &flesh.pose).unwrap();
    for (joints, bent) in [(0.0, false), (0.4, false), (0.4, true), (1.0, true)] {
        let turned = |(v, lift): (usize, &[f32; 3])| {
            let lift = Vec3::from(lift.map(f64::from)) * joints;
            bones.rotation(body.skin().row(v)).inverse() * lift
        };
        let lifts: Vec<Vec3> = lifts.iter().enumerate().map(turned).collect();
        let posed = PosedFlesh {
            joints: if bent { 0.0 } else { joints },
            lifts: SkinLifts::new(if bent { &lifts } else { &[] }, Some(&bones)),
            folds: &folds,
            bounded: true,
            ..flesh.posed_flesh()
        };
        let nodes: Vec<Vec3> = (0..body.node_count()).map(|a| posed.node(a)).collect();
        let showing = DisplaySettings {
            elastic_joints: joints,
            max_offset: None,
        };
        let pose = Some(&flesh.pose);
        let snapshot = Snapshot::new(body, &nodes, Some(posed.sway), pose, showing);
        let snapshot = snapshot.with_folds(&folds);
        let snapshot = snapshot.with_joints(if bent { &volume } else { &[] });
        let count = body.surface().vertices().len();
        let mut shown = vec![0.0; 3 * count];
        Presenter::new(body.clone())
            .positions(
                SurfaceId::OWN,
                snapshot.instant(),
                &OutputSpace::WORLD,
                &mut shown,
            )
            .unwrap();
        let (mut moved, mut lifted) = (0.0_f64, 0.0_f64);
        for (v, p) in (0u32..).zip(shown.chunks_exact(3)) {
            let p = Vec3::new(f64::from(p[0]), f64::from(p[1]), f64::from(p[2]));
            assert!((posed.compute_vertex(v) - p).norm() < 1e-5);
            let without = PosedFlesh {
                folds: &[],
                ..posed
            };
            moved = moved.max((posed.compute_vertex(v) - without.compute_vertex(v)).norm());
            let plain = PosedFlesh {
                lifts: SkinLifts::ZERO,
                ..without
            };
            lifted = lifted.max((plain.compute_vertex(v) - without.compute_vertex(v)).norm());
        }
        assert!(moved > 0.05, "{moved}");
        assert_eq!(lifted > 0.02, bent, "{lifted}");
    }
}
