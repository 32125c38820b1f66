// SPDX-License-Identifier: MIT OR Apache-2.0
//! Input that surface fits refuse, and what cannot be asked of a sculpted rig.

use super::*;

/// Targets and settings that cannot be fitted are refused with their place.
#[test]
fn unfit_input_is_refused() {
    let bar = bar();
    let body = bar.build();
    let pose = bent(&bar, ANGLE);
    let target = swollen(&bar, &body);
    let good = SurfaceFitSettings::default();
    let refused = |target: &[Vec3], settings: &SurfaceFitSettings| {
        fit(&body, &pose, target, settings).unwrap_err()
    };
    let changed = |v: usize, to: Vec3| {
        let mut target = target.clone();
        target[v] = to;
        refused(&target, &good)
    };
    assert!(matches!(
        refused(&target[1..], &good),
        SurfaceFitError::Count { what: "target", .. }
    ));
    assert_eq!(
        changed(7, Vec3::new(0.0, f64::NAN, 0.0)),
        SurfaceFitError::Target { vertex: 7 }
    );
    assert!(matches!(
        changed(7, Vec3::new(0.0, 9.0, 0.0)),
        SurfaceFitError::Far { vertex: 7, .. }
    ));
    let n = target.len();
    let selected = |select: Vec<f64>| {
        refused(
            &target,
            &SurfaceFitSettings {
                select: Some(select),
                ..good.clone()
            },
        )
    };
    assert_eq!(selected(vec![0.0; n]), SurfaceFitError::NothingSelected);
    assert!(matches!(
        selected(vec![1.0; n + 1]),
        SurfaceFitError::Count {
            what: "selection",
            ..
        }
    ));
    assert!(matches!(
        selected(vec![1.5; n]),
        SurfaceFitError::Selection { vertex: 0, .. }
    ));
    assert!(matches!(
        selected(vec![f64::NAN; n]),
        SurfaceFitError::Selection { vertex: 0, .. }
    ));
    for settings in [
        SurfaceFitSettings {
            hold: -0.1,
            ..good.clone()
        },
        SurfaceFitSettings {
            smoothness: Some(0.0),
            ..good.clone()
        },
        SurfaceFitSettings {
            steps: 0,
            ..good.clone()
        },
        SurfaceFitSettings {
            control: 0.0,
            ..good.clone()
        },
        SurfaceFitSettings {
            tolerance: f64::NAN,
            ..good.clone()
        },
    ] {
        assert!(matches!(
            refused(&target, &settings),
            SurfaceFitError::Range { .. }
        ));
    }
    let linear = SurfaceFitSettings {
        method: Method::Linear,
        ..good.clone()
    };
    assert!(matches!(
        refused(&target, &linear),
        SurfaceFitError::Method { .. }
    ));
    let short = SurfaceFitSettings {
        rest_forces: Some(vec![Vec3::zeros()]),
        ..good.clone()
    };
    assert!(matches!(
        refused(&target, &short),
        SurfaceFitError::Simulation(SimulationError::Length { .. })
    ));
    let stop = |_: f64, _: &str| false;
    let cancelled = fit_surface(&body, &pose, SurfaceTarget::Vertices(&target), &good, &stop);
    assert!(matches!(cancelled, Err(SurfaceFitError::Cancelled(_))));
}

/// A rig of another skeleton names the bone, and nothing of a template can be asked of it.
#[test]
fn foreign_and_template_uses_are_refused() {
    let bar = bar();
    let body = bar.build();
    let rig = fitted_swelling(&bar, &body);
    let text = crate::rig::format_rigs(std::slice::from_ref(&rig)).unwrap();
    let foreign = crate::rig::parse_rigs("rigs", &text.replace("\"lower\"", "\"tail\"")).unwrap();
    let error = foreign[0].forces(&body, &[1.0]).unwrap_err();
    assert_eq!(
        error,
        RigError::ForeignBone {
            name: "tail".into()
        }
    );
    assert!(foreign[0].check(&body)[0].contains("'tail'"));
    assert_eq!(rig.place(&body, &[1.0]).unwrap_err(), RigError::NoTemplate);
    assert_eq!(rig.template(), None);
    let sample = Sample {
        control: 0.0,
        parameters: vec![1.0],
    };
    assert!(matches!(
        rig.with_samples(vec![sample]),
        Err(RigError::SculptSamples {
            expected: 2,
            given: 1
        })
    ));
}
