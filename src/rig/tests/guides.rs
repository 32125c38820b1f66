// SPDX-License-Identifier: MIT OR Apache-2.0
//! Frames of guides and their motions.

use super::*;
use crate::Mat4;
use std::f64::consts::FRAC_PI_2;

/// The frame at a bone has the origin and axes of its definition.
#[test]
fn bone_frame_definition() {
    let body = BarOptions::default().build();
    let place = |values: [f64; 4]| {
        let guide = Guide::bone(BoneRef::Index(1), values).unwrap();
        guide.place(&body, guide.values()).unwrap().frame
    };
    // The bone goes up from (0, 0, 0.8) to (0, 0, 1.6); −Y is its angle 0.
    let plain = place([0.25, 0.0, 0.1, 0.0]);
    assert_relative_eq!(plain.origin, Vec3::new(0.0, -0.1, 1.0), epsilon = 1e-12);
    // Y = Z × X = −y × z = −x.
    let columns = Mat3::from_columns(&[Vec3::z(), -Vec3::x(), -Vec3::y()]);
    assert_relative_eq!(plain.rotation, columns, epsilon = 1e-12);
    // A quarter right-handed about +z takes −y to x.
    let turned = place([0.25, FRAC_PI_2, 0.1, 0.0]);
    assert_relative_eq!(turned.origin, Vec3::new(0.1, 0.0, 1.0), epsilon = 1e-12);
    let tilted = place([0.25, 0.0, 0.1, FRAC_PI_2]);
    assert_relative_eq!(tilted.origin, plain.origin);
    assert_relative_eq!(
        tilted.rotation.column(2).into_owned(),
        Vec3::z(),
        epsilon = 1e-12
    );
    assert_relative_eq!(place([1.5, 0.0, 0.0, 0.0]).origin.z, 2.0, epsilon = 1e-12);

    // A bone along Y starts at +Z.
    let lying = BarOptions {
        frame: Isometry3::rotation(Vec3::x() * -FRAC_PI_2),
        ..Default::default()
    };
    let guide = Guide::bone(BoneRef::Index(0), [0.0, 0.0, 1.0, 0.0]).unwrap();
    let placed = guide.place(&lying.build(), guide.values()).unwrap();
    assert_relative_eq!(placed.frame.origin, Vec3::z(), epsilon = 1e-12);
}

/// The frame on the skin points outward, whichever way its face is wound.
#[test]
fn skin_frame_points_outward() {
    let body = BarOptions::default().build();
    let surface = body.surface();
    for (face, corners) in surface.triangles().iter().enumerate() {
        let [a, b, c] = corners.map(|v| surface.vertices()[v as usize]);
        let guide = Guide::skin(face as u32, [0.2, 0.3, 0.5], [0.01, 0.0, 0.0]).unwrap();
        let GuidePlacement { frame, .. } = guide.place(&body, guide.values()).unwrap();
        let point = a * 0.2 + b * 0.3 + c * 0.5;
        assert_relative_eq!(frame.rotation.determinant(), 1.0, epsilon = 1e-12);
        assert_relative_eq!(
            frame.rotation.column(0).into_owned(),
            (b - a).normalize(),
            epsilon = 1e-12
        );
        // A little below the skin there is flesh, above none.
        assert!(surface.contains(frame.origin));
        let n = frame.rotation.column(2).into_owned();
        assert_relative_eq!(frame.origin, point - n * 0.01, epsilon = 1e-12);
        assert!(!surface.contains(point + n * 0.01));
        let tilted = guide.place(&body, &[0.01, 0.6, FRAC_PI_2]).unwrap().frame;
        let x = frame.rotation.column(0) * 0.6f64.cos() + frame.rotation.column(1) * 0.6f64.sin();
        assert_relative_eq!(tilted.rotation.column(2).into_owned(), x, epsilon = 1e-12);
    }
    // The same surface inside out.
    let turned = surface
        .triangles()
        .iter()
        .map(|t| [t[0], t[2], t[1]])
        .collect();
    let inside_out = crate::surface::Surface::new(surface.vertices().to_vec(), turned).unwrap();
    for face in 0..surface.triangles().len() as u32 {
        let (a, b) = (
            surface.outward_normal(face).unwrap(),
            inside_out.outward_normal(face).unwrap(),
        );
        assert_relative_eq!(a, b, epsilon = 1e-12);
    }
}

/// The motions of a frame agree with finite differences.
#[test]
fn frame_motions_match_differences() {
    let body = BarOptions::default().build();
    for guide in guides(&body) {
        let placed = guide.place(&body, guide.values()).unwrap();
        for (i, motion) in placed.motions.iter().enumerate() {
            let by = |step: f64| {
                let mut values = guide.values().to_vec();
                values[i] += step;
                guide.place(&body, &values).unwrap().frame
            };
            let h = 1e-6;
            let (a, b) = (by(-h), by(h));
            let velocity = (b.origin - a.origin) / (2.0 * h);
            let spin = (b.rotation - a.rotation) * placed.frame.rotation.transpose() / (2.0 * h);
            assert_relative_eq!(velocity, motion.velocity, epsilon = 1e-8);
            assert_relative_eq!(spin, motion.spin.cross_matrix(), epsilon = 1e-8);
        }
    }
}

/// A free frame takes its rotation from the matrix, and a matrix that is not nearly rigid is refused.
#[test]
fn free_frame_must_be_rigid() {
    let turn = crate::geometry::rotation_vector::rotation(&Vec3::new(0.3, 2.0, -1.0));
    let exact = GuideFrame {
        rotation: turn,
        origin: Vec3::new(1.0, -2.0, 3.0),
    };
    assert_eq!(GuideFrame::from_matrix(&exact.matrix()).unwrap(), exact);
    let with = |linear: Mat3| {
        let mut m = exact.matrix();
        m.fixed_view_mut::<3, 3>(0, 0).copy_from(&linear);
        GuideFrame::from_matrix(&m)
    };
    for scale in [1e-3, 0.5, 1e3] {
        assert_relative_eq!(with(turn * scale).unwrap().rotation, turn, epsilon = 1e-12);
    }
    let single = turn.map(|x| f64::from(x as f32));
    let evened = with(single).unwrap().rotation;
    assert_relative_eq!(evened.tr_mul(&evened), Mat3::identity(), epsilon = 1e-14);
    let shear = Mat3::new(1.0, 0.1, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0);
    for bad in [
        Mat3::zeros(),
        turn * -1.0,
        turn * shear,
        turn * Mat3::from_diagonal(&Vec3::new(1.0, 1.0, 1.01)),
        turn * Mat3::from_diagonal(&Vec3::new(1.0, 1.0, 0.0)),
        turn * f64::NAN,
        turn * f64::INFINITY,
    ] {
        assert!(with(bad).is_err(), "{bad}");
    }
    let mut projective = exact.matrix();
    projective[(3, 0)] = 0.1;
    assert!(GuideFrame::from_matrix(&projective).is_err());
}

/// A frame at a bone of any direction is orthonormal and points away from the bone.
#[test]
fn bone_frame_points_away() {
    for way in [[0.3, -0.5, 0.2], [1.0, 0.1, -0.4], [-0.2, 0.9, 0.1]] {
        let turn = nalgebra::Rotation3::rotation_between(&Vec3::z(), &Vec3::from(way)).unwrap();
        let bar = BarOptions {
            frame: Isometry3::from_parts(Vec3::new(1.0, 2.0, -3.0).into(), turn.into()),
            ..Default::default()
        };
        let body = bar.build();
        let axis = Vec3::from(way).normalize();
        let head = body.skeleton().heads()[1];
        for angle in [0.0, 1.1, -2.4] {
            let guide = Guide::bone(BoneRef::Index(1), [0.5, angle, 0.3, 0.0]).unwrap();
            let frame = guide.place(&body, guide.values()).unwrap().frame;
            let unit = frame.rotation.tr_mul(&frame.rotation);
            assert_relative_eq!(unit, Mat3::identity(), epsilon = 1e-12);
            assert_relative_eq!(frame.rotation.determinant(), 1.0, epsilon = 1e-12);
            let out = frame.rotation.column(2).into_owned();
            assert_relative_eq!(out.dot(&axis), 0.0, epsilon = 1e-12);
            // The bone is 0.8 m long.
            assert_relative_eq!(frame.origin, head + axis * 0.4 + out * 0.3, epsilon = 1e-12);
            // Angle 0 is the way across that is nearest to −Y, or to +Z beside a bone along Y.
            let towards = if axis.y.abs() > 0.87 {
                Vec3::z()
            } else {
                -Vec3::y()
            };
            let across = towards - axis * axis.dot(&towards);
            let cosine = out.dot(&across) / across.norm();
            assert_relative_eq!(cosine, angle.cos(), epsilon = 1e-12);
        }
    }
}

/// Guides have the names that files use.
#[test]
fn guide_names_match_files() {
    let body = BarOptions::default().build();
    let guides = guides(&body);
    let kinds: Vec<_> = guides.iter().map(|guide| guide.spec().name).collect();
    assert_eq!(kinds, ["bone", "skin", "free"]);
}

/// A free frame may lie as far away as coordinates are permitted, and no farther.
#[test]
fn free_frame_distance_limit() {
    let far = crate::range::MAX_COORDINATE;
    let at = |x: f64| GuideFrame::from_matrix(&Mat4::new_translation(&Vec3::new(x, 0.0, -x)));
    assert_eq!(at(far).unwrap().origin.x, far);
    assert!(at(far * 1.000_001).is_err());
}
