// SPDX-License-Identifier: MIT OR Apache-2.0
//! What warping is for [capell2006, fig. 2]: bends by both of its forms and by global linear elasticity, beside the nonlinear
//! equilibrium. `cargo test --release --test integration bends -- --nocapture` prints the table.

use crate::{bar, common};
use std::sync::Arc;
use thew::body::{Body, BodySettings};
use thew::dynamics::{Equilibrium, Method};
use thew::elasticity::Material;
use thew::lattice::{EncloseSettings, Lattice};
use thew::progress::Silent;
use thew::skeleton::Pose;
use thew::{Mat3, Mat4, Vec3};

/// Returns the pose with the forearm turned about the elbow.
fn forearm_pose(angle: f64) -> Pose {
    let elbow = nalgebra::Translation3::new(0.5, 0.0, 0.0);
    let turn = nalgebra::UnitQuaternion::from_axis_angle(&Vec3::y_axis(), -angle);
    let lower = (elbow * turn * elbow.inverse()).to_homogeneous();
    Pose::from_matrices(&[Mat4::identity(), lower]).unwrap()
}

fn arm_body() -> Arc<Body> {
    let c = common::character(&common::arm(), 0.03);
    let settings = EncloseSettings {
        cells_across: 10.0,
        ..EncloseSettings::default()
    };
    let lattice =
        Lattice::enclose(&c.surface, &c.skeleton, Some(&c.skin), settings, &Silent).unwrap();
    let options = BodySettings {
        region_weights: Some(c.skin.clone()),
        ..Default::default()
    };
    let (skeleton, lattice) = (Arc::new(c.skeleton), Arc::new(lattice));
    let material = Material::default();
    let surface = Arc::new(c.surface);
    let body = Body::new(&surface, &skeleton, &lattice, material, &options, &Silent);
    Arc::new(body.unwrap())
}

/// Returns the volume of the flesh within a distance of a rest point, as a part of that at rest.
fn volume_near(body: &Body, q: &[Vec3], joint: Vec3, reach: f64) -> f64 {
    let (mut now, mut rest) = (0.0, 0.0);
    for e in 0..body.elements().len() {
        let corners = body.elements().corners(e);
        let x = |&v: &u32| body.lattice().vertices()[v as usize];
        let centre: Vec3 = corners.iter().map(x).sum::<Vec3>() / corners.len() as f64;
        if (centre - joint).norm() > reach {
            continue;
        }
        for piece in body.elements().pieces(e) {
            let mut gradient = Mat3::identity();
            for (&v, g) in corners.iter().zip(piece.gradients) {
                gradient += q[v as usize] * g.transpose();
            }
            now += piece.volume * gradient.determinant();
            rest += piece.volume;
        }
    }
    now / rest
}

/// Returns the root mean square distance as a part of the body's size.
fn rms_distance(body: &Body, a: &[Vec3], b: &[Vec3]) -> f64 {
    let sum: f64 = a.iter().zip(b).map(|(a, b)| (a - b).norm_squared()).sum();
    (sum / a.len() as f64).sqrt() / body.size()
}

/// In bends warped flesh stays nearer to nonlinear flesh than linear flesh does.
#[test]
fn warped_bend_stays_near_nonlinear() {
    let bar = (bar::bar(2, 16), Vec3::new(0.0, 0.0, 0.8), 0.4);
    let arm = (arm_body(), Vec3::new(0.5, 0.0, 0.0), 0.2);
    println!(
        "body bend   method          volume near the bend   distance to nonlinear (rms / size)"
    );
    for (name, (body, joint, reach)) in [("bar", bar), ("arm", arm)] {
        for degrees in [30.0f64, 60.0, 90.0, 120.0] {
            let pose = match name {
                "bar" => bar::pose(degrees.to_radians()),
                _ => forearm_pose(degrees.to_radians()),
            };
            let solve = |method| {
                let mut balance = Equilibrium::new(&body, method).unwrap();
                balance.set_pose(&pose).unwrap();
                balance.solve(Vec3::zeros(), None, None).unwrap()
            };
            let nonlinear = solve(Method::NeoHookean);
            let measure = |method: Method| {
                let q = solve(method);
                let volume = volume_near(&body, &q, joint, reach);
                let off = rms_distance(&body, &q, &nonlinear);
                println!(
                    "{name} {degrees:5.0}°  {:14} {volume:10.4} {off:26.5}",
                    method.name()
                );
                (volume, off)
            };
            let (kept, _) = measure(Method::NeoHookean);
            let linear = measure(Method::Linear);
            for method in [Method::Warped, Method::WarpedVertex] {
                let (volume, off) = measure(method);
                assert!(off < linear.1, "{name} {degrees} {}", method.name());
                assert!((volume - kept).abs() < (linear.0 - kept).abs());
            }
        }
    }
}
