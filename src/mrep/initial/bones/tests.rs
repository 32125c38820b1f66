// SPDX-License-Identifier: MIT OR Apache-2.0
//! Suggested bones of a creature with four legs and a tail, and of bodies without limbs; their equivariance.

use super::*;
use crate::mrep::fixture::{creature, limb};
use crate::progress::Silent;
use crate::surface::shapes::{Random, plane, sphere, torus};

fn body() -> Surface {
    let (vertices, triangles) = creature().boundary(1, 1.0, &Silent).unwrap();
    Surface::new(vertices, triangles).unwrap()
}

/// First and last joint of each chain, by the limb's name.
fn chains(bones: &SuggestedBones) -> Vec<(String, Vec3, Vec3)> {
    let mut all: Vec<(String, Vec3, Vec3)> = Vec::new();
    for (b, name) in bones.names.iter().enumerate() {
        let limb = name.split('.').next().unwrap_or(name);
        let limb = if name.starts_with("Body") {
            "Body"
        } else {
            limb
        };
        match all.last_mut() {
            Some(last) if last.0 == limb => last.2 = bones.tails[b],
            _ => all.push((limb.into(), bones.heads[b], bones.tails[b])),
        }
    }
    all
}

/// A creature gets one chain of bones for its body and one for each limb.
#[test]
fn suggest_bones_chains_for_limbs() {
    let surface = body();
    let bones = suggest_bones(&surface).unwrap();
    let skeleton = bones.skeleton().unwrap();
    assert_eq!(skeleton.parents()[0], None);
    assert!(skeleton.parents()[1..].iter().all(|p| p.is_some()));
    for (head, tail) in bones.heads.iter().zip(&bones.tails) {
        assert!(surface.contains(*head) && surface.contains(*tail));
        assert!((head - tail).norm() > 0.02);
    }
    let chains = chains(&bones);
    assert_eq!(chains[0].0, "Body");
    // Every leg and the tail has a chain of its own that ends near its tip.
    for (name, figure) in &creature().figures()[1..] {
        let tip = figure.atoms()[6].hub;
        let near = |end: &Vec3| (end - tip).norm() < 0.25;
        let count = chains.iter().filter(|c| near(&c.2) || near(&c.1)).count();
        assert_eq!(count, 1, "{name}: {chains:?}");
    }
    assert!(chains.len() <= 7, "{chains:?}");
    // The legs bend by the angle at their knees: three joints or more.
    for (limb, ..) in &chains[1..] {
        let count = bones
            .names
            .iter()
            .filter(|n| n.starts_with(&format!("{limb}.")))
            .count();
        assert!(count >= 2, "{limb}");
    }
}

/// A single limb is a body whose joints lie where it bends.
#[test]
fn suggest_bones_joints_at_bends() {
    let joints = [
        Vec3::zeros(),
        Vec3::new(0.5, 0.0, 0.0),
        Vec3::new(0.7, 0.5, 0.0),
    ];
    let shape = limb(&joints, 0.08, 24);
    let surface = Surface::new(shape.vertices, shape.triangles).unwrap();
    let bones = suggest_bones(&surface).unwrap();
    assert!(bones.names.iter().all(|n| n.starts_with("Body")));
    let elbow = bones.tails[..bones.tails.len() - 1].iter();
    let nearest = elbow.map(|t| (t - joints[1]).norm()).fold(1.0, f64::min);
    assert!(nearest < 0.06, "{nearest} {bones:?}");
    for (b, parent) in bones.parents.iter().enumerate() {
        assert_eq!(*parent, (b as u32).checked_sub(1));
    }
}

/// Suggested bones follow a similarity of the body and do not depend on the order of its vertices.
#[test]
fn suggest_bones_is_equivariant() {
    let surface = body();
    let plain = suggest_bones(&surface).unwrap();
    let turn = *nalgebra::Rotation3::new(Vec3::new(0.7, -0.4, 1.9)).matrix();
    let to = |p: &Vec3| turn * p * 30.0 + Vec3::new(5.0, 1.0, -3.0);
    let mut random = Random(3);
    let order = random.permutation(surface.vertices().len());
    let mut place = vec![0u32; order.len()];
    (0u32..)
        .zip(&order)
        .for_each(|(new, old)| place[*old] = new);
    let vertices = order.iter().map(|v| to(&surface.vertices()[*v])).collect();
    let triangles = random.permutation(surface.triangles().len());
    let triangles = triangles
        .iter()
        .map(|t| surface.triangles()[*t].map(|v| place[v as usize]));
    let other = suggest_bones(&Surface::new(vertices, triangles.collect()).unwrap()).unwrap();
    assert_eq!(
        (&plain.names, &plain.parents),
        (&other.names, &other.parents)
    );
    let ends = |bones: &SuggestedBones| [bones.heads.clone(), bones.tails.clone()].concat();
    for (a, b) in ends(&plain).iter().zip(ends(&other)) {
        assert!((to(a) - b).norm() < 1e-9 * 30.0, "{a} {b}");
    }
}

/// Bodies without limbs get valid bones; sheets and separate pieces are refused.
#[test]
fn suggest_bones_without_limbs() {
    let suggest = |shape: crate::surface::shapes::TestMesh| {
        suggest_bones(&Surface::new(shape.vertices, shape.triangles).unwrap())
    };
    for shape in [sphere(1.0, 16), torus(1.0, 0.3, 40)] {
        let bones = suggest(shape).unwrap();
        assert!(bones.skeleton().is_ok());
        let all = bones.heads.iter().chain(&bones.tails);
        assert!(all.copied().all(|p| p.iter().all(|x| x.is_finite())));
    }
    assert!(suggest(plane(5)).unwrap_err().to_string().contains("sheet"));
    let two = sphere(1.0, 12)
        .merge(&sphere(1.0, 12).map_vertices(|p| p + Vec3::x() * 5.0))
        .merge(&sphere(1.0, 12).map_vertices(|p| p - Vec3::x() * 5.0));
    assert!(suggest(two).unwrap_err().to_string().contains("pieces"));
}
