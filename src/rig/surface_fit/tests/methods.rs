// SPDX-License-Identifier: MIT OR Apache-2.0
//! Surface fits of flesh whose balance is not linear in the forces.

use super::*;

/// Nonlinear flesh comes nearer to a shape, also to one far beyond what linear forces reach, and as near as the report says.
#[test]
fn nonlinear_flesh_comes_nearer() {
    let bar = bar();
    let (body, pose) = (bar.build(), bent(&bar, ANGLE));
    let settings = SurfaceFitSettings {
        method: Method::Hyperelastic,
        ..Default::default()
    };
    let shown = |forces: Option<&[Vec3]>| skin_by(settings.method, &body, &pose, forces);
    let still = shown(None);
    for (size, most) in [(1.0, 0.15), (4.0, 0.8)] {
        let swollen = still.iter().zip(swelling(&bar, &body));
        let target: Vec<Vec3> = swollen.map(|(p, d)| p + d * size).collect();
        let rig = fit(&body, &pose, &target, &settings).unwrap();
        let found = report(&rig);
        assert!(found.left < most * found.start, "{size}: {found:?}");
        let got = shown(Some(&forces(&rig, &body, 1.0)));
        let left = distance(&body, &got, &target);
        let off = (left - found.left).abs();
        assert!(off < 0.01 * found.start, "{size}: {left}, {found:?}");
    }
}
