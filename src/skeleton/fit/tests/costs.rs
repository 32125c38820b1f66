// SPDX-License-Identifier: MIT OR Apache-2.0
//! Costs of turns and metrics of features.

use super::*;

/// A cost that is no weight, and metrics that could be negative, are refused in a sentence.
#[test]
fn bad_costs_and_metrics_are_refused() {
    let skeleton = skeleton();
    let (points, weights) = features(&skeleton);
    let refuse = |settings: PoseFitSettings| {
        let found = fit_pose(&skeleton, &points, &weights, &points, &settings);
        found.unwrap_err().to_string()
    };
    for turn_cost in [0.0, -1e-3, f64::NAN, f64::INFINITY, 1e200] {
        let text = refuse(PoseFitSettings {
            turn_cost,
            ..PoseFitSettings::default()
        });
        assert!(text.contains("the cost of turns is"), "{text}");
    }
    let with = |metrics: Vec<Mat3>| {
        refuse(PoseFitSettings {
            metrics: Some(metrics),
            ..PoseFitSettings::default()
        })
    };
    assert!(with(vec![Mat3::identity(); 14]).contains("15 features and 14 metrics"));
    assert!(with(vec![Mat3::zeros(); 15]).contains("all metrics"));
    let mut skew = Mat3::identity();
    skew[(0, 1)] = 0.1;
    let hole = Mat3::from_element(f64::NAN);
    let down = Mat3::from_diagonal(&Vec3::new(1.0, 1.0, -0.01));
    for bad in [skew, hole, down, Mat3::identity() * f64::INFINITY] {
        let mut metrics = vec![Mat3::identity(); 15];
        metrics[3] = bad;
        assert!(with(metrics).contains("metric 3 is not finite, symmetric"));
    }
}

/// A larger cost of turns leaves turns nearer to the start, and any cost meets features that the start explains.
#[test]
fn turns_cost() {
    let skeleton = skeleton();
    let (points, weights) = features(&skeleton);
    let wanted = pose(&skeleton, &world(), &TURNS);
    let targets = skinned(&skeleton, &wanted);
    let with = |turn_cost: f64, start: Option<Pose>| {
        let settings = PoseFitSettings {
            start,
            turn_cost,
            ..PoseFitSettings::default()
        };
        fit_pose(&skeleton, &points, &weights, &targets, &settings).unwrap()
    };
    // Angle by which the forearm turns against the arm.
    let bend = |pose: &Pose| {
        let turn = pose.maps()[1].linear.tr_mul(&pose.maps()[2].linear);
        ((turn.trace() - 1.0) / 2.0).clamp(-1.0, 1.0).acos()
    };
    let bends = [1e-7, 1e-3, 1e-1, 1e3].map(|cost| bend(&with(cost, None)));
    assert!((bends[0] - bend(&wanted)).abs() < 1e-3);
    assert!(bends.windows(2).all(|b| b[0] > b[1]), "{bends:?}");
    assert!(bends[3] < 1e-3, "{bends:?}");
    let still = with(1e3, Some(wanted.clone()));
    assert!(distance(&skeleton, &still, &wanted) < 1e-9);
    // The same metric for all features changes nothing, whatever its size.
    let settings = PoseFitSettings {
        metrics: Some(vec![Mat3::identity() * 1e-30; 15]),
        ..PoseFitSettings::default()
    };
    let found = fit_pose(&skeleton, &points, &weights, &targets, &settings).unwrap();
    assert!(distance(&skeleton, &found, &with(1e-7, None)) < 1e-9);
}

/// Features that count only across planes find the pose from places that slid along these.
#[test]
fn features_slide_along_planes() {
    let skeleton = skeleton();
    let (points, weights) = features(&skeleton);
    // Each feature gives three planes across axes of its own.
    let mut rest = Vec::new();
    let (mut targets, mut metrics, mut rows) = (Vec::new(), Vec::new(), Vec::new());
    let wanted = pose(&skeleton, &world(), &TURNS.map(|t| t.map(|x| 0.5 * x)));
    for (k, place) in BonePoses::new(&skeleton, &wanted)
        .map(|bones| {
            (0..15)
                .map(|k| (k, bones.place(weights.row(k), points[k])))
                .collect::<Vec<_>>()
        })
        .unwrap()
    {
        let axes = Rotation3::new(Vec3::new(k as f64, 1.0, 0.3)).into_inner();
        for i in 0..3 {
            let normal: Vec3 = axes.column(i).into();
            let along: Vec3 = axes.column((i + 1) % 3).into();
            rest.push(points[k]);
            rows.push(weights.row(k).collect::<Vec<_>>());
            targets.push(place + along * 0.2 * (k as f64).sin());
            metrics.push(normal * normal.transpose());
        }
    }
    let rows = SkinWeights::from_rows(5, rows).unwrap();
    let fit = |metrics: Option<Vec<Mat3>>| {
        let settings = PoseFitSettings {
            metrics,
            ..PoseFitSettings::default()
        };
        let found = fit_pose(&skeleton, &rest, &rows, &targets, &settings).unwrap();
        distance(&skeleton, &found, &wanted)
    };
    assert!(fit(Some(metrics)) < 1e-4);
    assert!(fit(None) > 1e-2);
}
