// SPDX-License-Identifier: MIT OR Apache-2.0
//! Refusals of targets, settings, methods and poses that cannot be fitted.

use super::*;

/// Returns a target with a valid vertex.
fn target(body: &Body) -> SkinTarget {
    SkinTarget {
        vertex: nearest_vertices(body, 1)[0],
        place: Vec3::new(0.3, 0.0, 0.9),
    }
}

/// Invalid targets are refused with an explanation.
#[test]
fn fit_refuses_invalid_targets() {
    let body = body();
    let mut fit = bent_fit(&body, Method::Warped);
    let rig = &rigs(&body)[0];
    let target = target(&body);
    let mut refused = |points: &[SkinTarget]| {
        fit.fit(rig, points, &RigFitSettings::default())
            .unwrap_err()
    };
    assert_eq!(refused(&[]), RigFitError::NoPoints);
    let vertex = body.surface().vertices().len() as u32;
    let beyond = SkinTarget { vertex, ..target };
    let error = refused(&[target, beyond]);
    assert!(matches!(error, RigFitError::Vertex { index: 1, .. }));
    for bad in [f64::NAN, f64::INFINITY] {
        let place = Vec3::new(0.0, bad, 0.0);
        let error = refused(&[target, SkinTarget { place, ..target }]);
        assert!(matches!(error, RigFitError::Target { index: 1, .. }));
    }
    let vertex = body.held_vertices().next().unwrap();
    let held = SkinTarget { vertex, ..target };
    assert!(matches!(refused(&[held]), RigFitError::NoEffect { .. }));
}

/// Invalid settings are refused with an explanation.
#[test]
fn fit_refuses_invalid_settings() {
    let body = body();
    let mut fit = bent_fit(&body, Method::Warped);
    let rig = &rigs(&body)[0];
    let target = target(&body);
    let none = RigFitSettings::default();
    let mut refused = |options: &RigFitSettings| fit.fit(rig, &[target], options).unwrap_err();
    let one = |name: &str, x: f64| NamedValues::from([(name.to_owned(), x)]);
    for (name, x) in [("colour", 1.0), ("strength", f64::NAN)] {
        for options in [
            RigFitSettings {
                start: one(name, x),
                ..none.clone()
            },
            RigFitSettings {
                preferred: one(name, x),
                ..none.clone()
            },
            RigFitSettings {
                weights: one(name, x),
                ..none.clone()
            },
        ] {
            let error = refused(&options);
            assert!(
                matches!(error, RigFitError::Rig(_)) && error.to_string().contains(name),
                "{error}"
            );
        }
    }
    let negative = RigFitSettings {
        weights: one("radius", -1.0),
        ..none.clone()
    };
    assert!(matches!(refused(&negative), RigFitError::Weight { .. }));
    for (lower, upper) in [
        (2.0, 1.0),
        (f64::NAN, 1.0),
        (-2.0, -1.0),
        (f64::INFINITY, f64::INFINITY),
    ] {
        let error = refused(&RigFitSettings {
            bounds: BTreeMap::from([("radius".to_owned(), (lower, upper))]),
            ..none.clone()
        });
        assert!(matches!(error, RigFitError::Bounds { .. }), "{error}");
    }
    let outside = RigFitSettings {
        start: one("distance", 0.9),
        ..none.clone()
    };
    assert_eq!(refused(&outside), RigFitError::Rig(RigError::Outside));
}

/// Methods without linear equilibria and poses of another skeleton are refused.
#[test]
fn fit_refuses_methods_and_poses() {
    let body = body();
    for method in Method::ALL.into_iter().filter(|m| !m.is_linear()) {
        let error = RigFit::new(&body, method, &Pose::rest(2), GRAVITY, None)
            .err()
            .unwrap();
        assert!(error.to_string().contains("warped"), "{error}");
    }
    let far = Pose::from_matrices(&[Mat4::identity()]).unwrap();
    assert!(RigFit::new(&body, Method::Warped, &far, GRAVITY, None).is_err());
}
