// SPDX-License-Identifier: MIT OR Apache-2.0
//! Limbs of known radius, limbs beside and inside of other bodies, other places and orders, and bones that carry no tube.

use super::super::fixture::{apart, limb};
use super::*;
use crate::Mat3;
use crate::surface::shapes::{Random, Shape, cuboid};
use std::f64::consts::TAU;

const RADIUS: f64 = 0.05;

/// Joints of an arm in the plane z = 0.1, bent by 46° at the elbow and 20° at the wrist.
fn joints() -> Vec<Vec3> {
    let mut at = Vec3::new(0.0, 0.0, 0.1);
    let mut all = vec![at];
    for (length, angle) in [(0.3, 0.0_f64), (0.27, 46.0), (0.2, 66.0)] {
        let (sin, cos) = angle.to_radians().sin_cos();
        at += Vec3::new(cos, sin, 0.0) * length;
        all.push(at);
    }
    all
}

/// Bones along joints, the first the child of `body`, a bone that comes before them.
fn skeleton(joints: &[Vec3]) -> Skeleton {
    let bones = joints.len() - 1;
    let names = ["body", "upper", "lower", "hand", "finger"];
    let names = names[..=bones].iter().map(|n| n.to_string()).collect();
    let parents = (0..=bones as u32).map(|b| b.checked_sub(1)).collect();
    let heads = [&[joints[0] - Vec3::x()], &joints[..bones]].concat();
    let tails = [&[joints[0]], &joints[1..]].concat();
    Skeleton::new(names, parents, heads, tails).unwrap()
}

/// Each vertex follows the bone that is nearest, with smooth seams; `body` vertices, the last ones, the first bone.
fn weights(shape: &Shape, joints: &[Vec3], body: usize) -> SkinWeights {
    let arm = shape.vertices.len() - body;
    let near = |p: &Vec3, w: &[Vec3]| {
        let way = w[1] - w[0];
        let t = ((p - w[0]).dot(&way) / way.norm_squared()).clamp(0.0, 1.0);
        (p - w[0] - way * t).norm()
    };
    let row = |(v, p): (usize, &Vec3)| -> Vec<(u32, f64)> {
        if v >= arm {
            return vec![(0, 1.0)];
        }
        let all = joints.windows(2).map(|w| (-near(p, w) / 0.01).exp());
        (1u32..).zip(all).collect()
    };
    let rows: Vec<_> = shape.vertices.iter().enumerate().map(row).collect();
    SkinWeights::from_rows(joints.len(), rows).unwrap()
}

fn surface(shape: &Shape) -> Surface {
    Surface::new(shape.vertices.clone(), shape.triangles.clone()).unwrap()
}

/// The tube along all bones but the first.
fn tube(shape: &Shape, joints: &[Vec3], body: usize) -> Figure {
    let bones: Vec<usize> = (1..joints.len()).collect();
    let weights = weights(shape, joints, body);
    Figure::from_skeleton(&surface(shape), &skeleton(joints), &weights, &bones, 3, 8).unwrap()
}

#[test]
fn spokes_reach_the_skin_of_a_bent_limb() {
    let joints = joints();
    let figure = tube(&limb(&joints, RADIUS, 96), &joints, 0);
    assert!(figure.legality() > 0.03);
    assert_eq!(figure.atoms().len(), 10);
    for (k, u) in figure.joints().iter().enumerate() {
        assert_eq!(*u, figure.knots()[3 * (k + 1)]);
    }
    for (i, atom) in figure.atoms().iter().enumerate() {
        let (bone, share) = (i / 3, (i % 3) as f64 / 3.0);
        let next = joints.get(bone + 1).unwrap_or(&joints[bone]);
        assert!((atom.hub - joints[bone].lerp(next, share)).norm() < 1e-12);
        let [b, side, n] = [0, 1, 2].map(|k| atom.frame.column(k).into_owned());
        // At a joint the mitre is an ellipse: longer by 1/cos of half the bend in the plane of the bend.
        let way = (joints[(bone + 1).min(3)] - joints[bone.min(2)]).normalize();
        let stretch = if i % 3 == 0 && i > 0 && i < 9 {
            1.0 / way.dot(&b)
        } else {
            assert!((way - b).norm() < 1e-9, "{i}");
            1.0
        };
        for (q, length) in atom.lengths.iter().enumerate() {
            let (sin, cos) = (TAU * q as f64 / 8.0).sin_cos();
            let direction = n * cos + side * sin;
            // z is across the bend, in the plane the rest.
            let inverse = direction.z.powi(2) + direction.xy().norm_squared() / stretch.powi(2);
            let error = length * atom.radius / RADIUS * inverse.sqrt() - 1.0;
            assert!(error.abs() < 2e-3, "atom {i} spoke {q}: {error}");
        }
    }
    // The chain bends to the left of where it goes.
    assert!((figure.atoms()[0].frame.column(2) - Vec3::y()).norm() < 1e-9);
    for end in [&figure.atoms()[0], &figure.atoms()[9]] {
        assert!((end.end - 1.0).abs() < 5e-3, "{}", end.end);
    }
}

#[test]
fn skin_beside_and_around_a_limb_is_not_its_own() {
    let joints = joints();
    let arm = limb(&joints, RADIUS, 48);
    let alone = tube(&arm, &joints, 0);
    // A body that holds the first third of the upper arm, and another limb right beside the lower one.
    let body = cuboid(Vec3::repeat(0.2)).mapped(|p| p + Vec3::new(-0.1, 0.0, 0.1));
    let beside = arm
        .clone()
        .mapped(|p| p + Vec3::new(0.0, 0.0, 2.05 * RADIUS));
    let other = body.with(&beside);
    let figure = tube(&arm.with(&other), &joints, other.vertices.len());
    for (a, b) in figure.atoms().iter().zip(alone.atoms()) {
        assert!((a.radius - b.radius).abs() < 1e-9 * RADIUS);
        let lengths = a.lengths.iter().zip(&b.lengths);
        assert!(lengths.fold(0.0_f64, |m, (x, y)| m.max((x - y).abs())) < 1e-9);
    }
}

#[test]
fn gaps_are_filled_from_neighbours() {
    let joints = joints();
    let arm = limb(&joints, RADIUS, 48);
    let mut weights = weights(&arm, &joints, 0);
    // The lower half of the middle of the upper arm follows the body.
    let rows = (0..weights.len()).map(|v| {
        let p = arm.vertices[v];
        if (0.08..0.22).contains(&p.x) && p.z < 0.1 {
            vec![(0, 1.0)]
        } else {
            weights.row(v).collect::<Vec<_>>()
        }
    });
    weights = SkinWeights::from_rows(joints.len(), rows.collect::<Vec<_>>()).unwrap();
    let made = Figure::from_skeleton(
        &surface(&arm),
        &skeleton(&joints),
        &weights,
        &[1, 2, 3],
        3,
        8,
    );
    for length in made.unwrap().atoms().iter().flat_map(|a| a.lengths.clone()) {
        assert!((length - 1.0).abs() < 0.1, "{length}");
    }
}

#[test]
fn a_figure_goes_along_with_a_similarity_of_its_character() {
    let joints = joints();
    let arm = limb(&joints, RADIUS, 40);
    let plain = tube(&arm, &joints, 0);
    let turn = *nalgebra::Rotation3::new(Vec3::new(0.7, -0.4, 1.9)).matrix();
    for (scale, turn, shift) in [
        (1e3, turn, Vec3::new(5.0, 0.3, -2.0)),
        (1e-2, turn.transpose(), Vec3::new(0.5, 0.3, -0.2)),
        (2.5, Mat3::identity(), Vec3::x()),
    ] {
        let to = |p: Vec3| turn * p * scale + shift;
        let moved: Vec<Vec3> = joints.iter().map(|p| to(*p)).collect();
        // Weights belong to the vertices.
        let weights = weights(&arm, &joints, 0);
        let made = Figure::from_skeleton(
            &surface(&arm.clone().mapped(to)),
            &skeleton(&moved),
            &weights,
            &[1, 2, 3],
            3,
            8,
        );
        let apart = apart(&plain.transformed(scale, &turn, shift), &made.unwrap());
        assert!(apart < 1e-9, "{scale}: {apart:e}");
    }
}

#[test]
fn a_figure_does_not_depend_on_the_order_of_vertices_and_triangles() {
    let joints = joints();
    let arm = limb(&joints, RADIUS, 40);
    let plain = tube(&arm, &joints, 0);
    let mut random = Random(3);
    let order = random.order(arm.vertices.len());
    let mut place = vec![0u32; order.len()];
    (0u32..)
        .zip(&order)
        .for_each(|(new, old)| place[*old] = new);
    let triangles = random.order(arm.triangles.len());
    let mixed = Shape {
        vertices: order.iter().map(|v| arm.vertices[*v]).collect(),
        triangles: (triangles.iter().map(|t| arm.triangles[*t]))
            .map(|[a, b, c]| [b, c, a].map(|v| place[v as usize]))
            .collect(),
    };
    let apart = apart(&plain, &tube(&mixed, &joints, 0));
    assert!(apart < 1e-9, "{apart:e}");
}

#[test]
fn ends_at_the_skin_are_drawn_back_into_it() {
    let joints = joints();
    let arm = limb(&joints, RADIUS, 48);
    let mut long = joints.clone();
    long[3] = joints[3] + (joints[3] - joints[2]).normalize() * (1.5 * RADIUS);
    let figure = tube(&arm, &long, 0);
    let tip = figure.atoms()[9].hub;
    let inside = -surface(&arm).signed_distance(tip);
    assert!(inside > 0.3 * RADIUS, "{inside}");
    let size = figure.size();
    let boundary = super::super::Boundary::new(&figure, 2).unwrap();
    let skin = surface(&arm);
    for (p, [u, ..]) in (boundary.positions(&figure).iter()).zip(&boundary.coordinates) {
        let out = skin.signed_distance(*p) / size;
        assert!(*u < 0.75 || out < 5e-3, "{u} {out}");
    }
}

#[test]
fn bones_that_carry_no_tube_are_refused_by_name() {
    let joints = joints();
    let arm = limb(&joints, RADIUS, 24);
    let (skin, skeleton, weights) = (surface(&arm), skeleton(&joints), weights(&arm, &joints, 0));
    let with = |skeleton: &Skeleton, weights: &SkinWeights, bones: &[usize]| {
        let made = Figure::from_skeleton(&skin, skeleton, weights, bones, 3, 8);
        made.unwrap_err().to_string()
    };
    let moved = |bone: usize, head: Vec3| {
        let mut heads = skeleton.heads().to_vec();
        heads[bone] = head;
        let (names, parents) = (skeleton.names().to_vec(), skeleton.parents().to_vec());
        Skeleton::new(names, parents, heads, skeleton.tails().to_vec()).unwrap()
    };
    let far = |shift: f64| {
        let shifted = |points: &[Vec3]| points.iter().map(|p| p + Vec3::z() * shift).collect();
        let (names, parents) = (skeleton.names().to_vec(), skeleton.parents().to_vec());
        let (heads, tails) = (shifted(skeleton.heads()), shifted(skeleton.tails()));
        Skeleton::new(names, parents, heads, tails).unwrap()
    };
    let none = SkinWeights::from_rows(4, vec![[(0, 1.0)]; arm.vertices.len()]).unwrap();
    let short = SkinWeights::from_rows(4, vec![[(0, 1.0)]]).unwrap();
    for (said, parts) in [
        (with(&skeleton, &weights, &[]), ["no bones", "named"]),
        (with(&skeleton, &weights, &[1, 9]), ["no bone 9", "4 bones"]),
        (with(&skeleton, &weights, &[1, 2, 1]), ["'upper'", "twice"]),
        (with(&skeleton, &weights, &[1, 3]), ["'hand'", "'lower'"]),
        (with(&skeleton, &weights, &[2, 1]), ["'upper'", "'body'"]),
        (
            with(&moved(2, joints[0]), &weights, &[1, 2]),
            ["'upper'", "no length"],
        ),
        (
            with(
                &moved(2, joints[2].lerp(&joints[3], 0.5)),
                &weights,
                &[2, 3],
            ),
            ["'hand'", "turns back"],
        ),
        (with(&skeleton, &none, &[1, 2]), ["no skin", "'lower'"]),
        (with(&far(3.0), &weights, &[1, 2, 3]), ["no ray", "'hand'"]),
        (
            with(&skeleton, &short, &[1, 2]),
            ["skin weights", "1 entries"],
        ),
    ] {
        for part in parts {
            assert!(said.contains(part), "{part}: {said}");
        }
    }
    let counts = |atoms, spokes| {
        let made = Figure::from_skeleton(&skin, &skeleton, &weights, &[1, 2], atoms, spokes);
        made.unwrap_err().to_string()
    };
    assert!(counts(0, 8).contains("atoms per bone"));
    assert!(counts(3, 2).contains("spokes"));
    assert!(counts(usize::MAX, 8).contains("atoms"));
}
