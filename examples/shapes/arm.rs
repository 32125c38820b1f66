// An arm along x around two bones, made from numbers: what the examples of this crate and of its docs are about.
// (Included by paths: comments here are no docs.)

use std::f64::consts::{PI, TAU};
use std::sync::Arc;
use thew::body::{Body, BodySettings};
use thew::elasticity::Material;
use thew::lattice::{EncloseSettings, Lattice};
use thew::progress::Silent;
use thew::skeleton::{Pose, Skeleton, SkinWeights};
use thew::surface::Surface;
use thew::{Mat4, Vec3};

type Any = Box<dyn std::error::Error>;

/// A closed tube from −0.1 to 1.1 m, 0.2 m thick, its ends rounded.
pub fn surface() -> Result<Surface, Any> {
    const ALONG: usize = 30;
    const AROUND: usize = 16;
    let mut vertices = vec![Vec3::new(-0.1, 0.0, 0.0), Vec3::new(1.1, 0.0, 0.0)];
    for i in 1..=ALONG {
        let turn = PI * i as f64 / (ALONG + 1) as f64;
        let radius = 0.1 * turn.sin().powf(0.3);
        for j in 0..AROUND {
            let (s, c) = (TAU * j as f64 / AROUND as f64).sin_cos();
            vertices.push(Vec3::new(0.5 - 0.6 * turn.cos(), radius * c, radius * s));
        }
    }
    let at = |ring: usize, j: usize| (2 + ring * AROUND + j % AROUND) as u32;
    let mut triangles = Vec::new();
    for j in 0..AROUND {
        triangles.push([0, at(0, j + 1), at(0, j)]);
        triangles.push([1, at(ALONG - 1, j), at(ALONG - 1, j + 1)]);
        for i in 0..ALONG - 1 {
            triangles.push([at(i, j), at(i, j + 1), at(i + 1, j + 1)]);
            triangles.push([at(i, j), at(i + 1, j + 1), at(i + 1, j)]);
        }
    }
    Ok(Surface::new(vertices, triangles)?)
}

/// Two bones of half a metre, the elbow between them.
pub fn skeleton() -> Result<Skeleton, Any> {
    let at = |x: f64| Vec3::new(x, 0.0, 0.0);
    Ok(Skeleton::new(
        vec!["upper".into(), "lower".into()],
        vec![None, Some(0)],
        vec![at(0.0), at(0.5)],
        vec![at(0.5), at(1.0)],
    )?)
}

/// From one bone to the other over the elbow's 0.2 m.
pub fn skin(surface: &Surface) -> Result<SkinWeights, Any> {
    let row = |p: &Vec3| {
        let lower = ((p.x - 0.4) / 0.2).clamp(0.0, 1.0);
        [(0, 1.0 - lower), (1, lower)]
    };
    Ok(SkinWeights::from_rows(
        2,
        surface.vertices().iter().map(row),
    )?)
}

/// The arm with flesh.
pub fn body() -> Result<Arc<Body>, Any> {
    let (surface, skeleton) = (Arc::new(surface()?), Arc::new(skeleton()?));
    let skin = skin(&surface)?;
    let settings = EncloseSettings {
        cells_across: 8.0,
        ..EncloseSettings::default()
    };
    let lattice = Lattice::enclose(&surface, &skeleton, Some(&skin), settings, &Silent)?;
    let options = BodySettings {
        region_weights: Some(skin),
        ..Default::default()
    };
    let (lattice, material) = (Arc::new(lattice), Material::default());
    Ok(Arc::new(Body::new(
        &surface, &skeleton, &lattice, material, &options, &Silent,
    )?))
}

/// The lower bone turned about y at the elbow, radians; positive lowers the hand.
pub fn bent(angle: f64) -> Result<Pose, Any> {
    let elbow = nalgebra::Translation3::new(0.5, 0.0, 0.0);
    let turn = nalgebra::UnitQuaternion::from_axis_angle(&Vec3::y_axis(), angle);
    let lower = (elbow * turn * elbow.inverse()).to_homogeneous();
    Ok(Pose::from_matrices(&[Mat4::identity(), lower])?)
}
