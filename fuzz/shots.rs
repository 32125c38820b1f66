// SPDX-License-Identifier: MIT OR Apache-2.0
//! What seeds are of: the brick in a shot, flesh that folds and lies in what it collides with, two bricks that lie in each other.

use crate::targets::brick;
use std::sync::Arc;
use thew::Vec3;
use thew::clip::{Clip, ClipSettings};
use thew::contact::{Collider, ColliderMotion, Contact};
use thew::dynamics::{Method, SimulationSettings};
use thew::progress::Silent;
use thew::shot::{Shot, ShotModes};
use thew::skeleton::{Affine, Pose};

/// A shot of two frames.
pub fn shot(method: Method) -> Shot {
    let settings = ClipSettings::new(120.0, SimulationSettings::for_method(method));
    let mut shot = Shot::new(brick().clone(), vec![Pose::rest(2); 2], settings);
    shot.modes = match method {
        Method::Modal => ShotModes::Lowest(2),
        _ => ShotModes::Usual,
    };
    if method.supports_contact() {
        let vertices = brick().surface().vertices().len();
        shot.contact = Some(Contact {
            regions: Some(vec![1; vertices].into()),
            ..Contact::default()
        });
    }
    shot
}

/// A floor that the brick lies in, and below it a mesh that is carried and one that deforms.
fn colliders() -> Vec<Arc<Collider>> {
    let surface = brick().surface();
    let lowered = |by: f64| Affine {
        translation: Vec3::new(0.0, 0.0, by),
        ..Affine::identity()
    };
    let carried = ColliderMotion::Carried(vec![lowered(-0.19), lowered(-0.18)]);
    let places = |by: f64| {
        surface
            .vertices()
            .iter()
            .map(move |&x| lowered(by).apply(x))
    };
    let deforming = [-0.19, -0.17].map(|by| places(by).collect()).to_vec();
    let mesh = |motion| Collider::mesh(surface.clone(), motion);
    let all = [
        Collider::plane(Vec3::new(0.0, 0.0, -0.09), Vec3::z()),
        mesh(carried).and_then(|c| c.with_properties(Some(0.1), 0.01)),
        mesh(ColliderMotion::Deforming(deforming)),
    ];
    all.map(|c| Arc::new(c.expect("a collider"))).to_vec()
}

/// The lower bone turned back onto the upper one.
pub fn folded() -> Pose {
    let (elbow, turn) = (
        Vec3::new(0.5, 0.0, 0.0),
        nalgebra::Rotation3::from_axis_angle(&Vec3::y_axis(), -2.6),
    );
    let lower = Affine {
        linear: turn.into_inner(),
        translation: elbow - turn * elbow,
    };
    Pose::new(vec![Affine::identity(), lower]).expect("two bones")
}

/// A shot of flesh that folds, and lies in what it collides with.
pub fn touching() -> Shot {
    let mut shot = shot(Method::Hyperelastic);
    shot.name = "brick".into();
    shot.settings.simulation.elastic_joints = 0.0;
    shot.poses = vec![folded(); 2];
    let contact = shot.contact.take().unwrap_or_default();
    shot.contact = Some(Contact {
        colliders: colliders(),
        ..contact
    });
    shot
}

/// Two that lie in each other.
pub fn scene() -> [Shot; 2] {
    let aside = Affine {
        translation: Vec3::new(0.0, 0.15, 0.0),
        ..Affine::identity()
    };
    let mut other = touching();
    other.poses = vec![folded().apply_map(&aside); 2];
    [touching(), other]
}

pub fn clips_of_scene() -> Vec<Clip> {
    let [one, other] = scene();
    let clips = Shot::simulate_together(&[&one, &other], &Silent).expect("clips");
    clips.into_iter().map(|(clip, _)| clip).collect()
}
