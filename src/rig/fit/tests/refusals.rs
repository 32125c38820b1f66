// SPDX-License-Identifier: MIT OR Apache-2.0
//! What cannot be fitted is refused with a sentence.

use super::*;

/// Invalid targets and settings are refused with an explanation.
#[test]
fn fit_refuses_invalid_input() {
    let body = body();
    let mut fit = new(&body, Method::Warped);
    let rig = &rigs(&body)[0];
    let vertex = near(&body, 1)[0];
    let place = Vec3::new(0.3, 0.0, 0.9);
    let target = Target { vertex, place };
    let mut refused =
        |points: &[Target], options: &FitSettings| fit.fit(rig, points, options).unwrap_err();
    let none = FitSettings::default();
    assert_eq!(refused(&[], &none), FitError::NoPoints);
    let vertices = body.surface().vertices().len() as u32;
    let beyond = Target {
        vertex: vertices,
        place,
    };
    assert!(matches!(
        refused(&[target, beyond], &none),
        FitError::Vertex { index: 1, .. }
    ));
    for bad in [f64::NAN, f64::INFINITY] {
        let bad = Target {
            vertex,
            place: Vec3::new(0.0, bad, 0.0),
        };
        assert!(matches!(
            refused(&[target, bad], &none),
            FitError::Target { index: 1, .. }
        ));
    }
    let one = |name: &str, x: f64| Named::from([(name.to_owned(), x)]);
    for (name, x) in [("colour", 1.0), ("strength", f64::NAN)] {
        for options in [
            FitSettings {
                start: one(name, x),
                ..none.clone()
            },
            FitSettings {
                preferred: one(name, x),
                ..none.clone()
            },
            FitSettings {
                weights: one(name, x),
                ..none.clone()
            },
        ] {
            let error = refused(&[target], &options);
            assert!(
                matches!(error, FitError::Rig(_)) && error.to_string().contains(name),
                "{error}"
            );
        }
    }
    let negative = FitSettings {
        weights: one("radius", -1.0),
        ..none.clone()
    };
    assert!(matches!(
        refused(&[target], &negative),
        FitError::Weight { .. }
    ));
    for (lower, upper) in [
        (2.0, 1.0),
        (f64::NAN, 1.0),
        (-2.0, -1.0),
        (f64::INFINITY, f64::INFINITY),
    ] {
        let bounds = BTreeMap::from([("radius".to_owned(), (lower, upper))]);
        let error = refused(
            &[target],
            &FitSettings {
                bounds,
                ..none.clone()
            },
        );
        assert!(matches!(error, FitError::Bounds { .. }), "{error}");
    }
    let outside = FitSettings {
        start: one("distance", 0.9),
        ..none.clone()
    };
    assert_eq!(
        refused(&[target], &outside),
        FitError::Rig(RigError::Outside)
    );
    let bone = body.held_vertices().next().unwrap();
    let held = Target {
        vertex: bone,
        place,
    };
    assert!(matches!(refused(&[held], &none), FitError::NoEffect { .. }));
    for method in Method::ALL.into_iter().filter(|m| !m.is_linear()) {
        let error = Fit::new(&body, method, &Pose::rest(2), GRAVITY, None)
            .err()
            .unwrap();
        assert!(error.to_string().contains("warped"), "{error}");
    }
    let far = Pose::from_matrices(&[Mat4::identity()]).unwrap();
    assert!(Fit::new(&body, Method::Warped, &far, GRAVITY, None).is_err());
}
