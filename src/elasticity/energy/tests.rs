// SPDX-License-Identifier: MIT OR Apache-2.0
//! Energies of tetrahedra and of lattice bodies against finite differences and rigid motions.

use super::*;
use crate::body::fixture::BarOptions;
use crate::elasticity::Material;
use crate::solve::matrix::zeros;
use nalgebra::{Isometry3, Translation3, UnitQuaternion};

/// Builds bodies of all kinds of pieces, with their rest positions: tetrahedra, prisms cut by the boundary,
/// hexahedra.
fn bodies() -> Vec<(Vec<Vec3>, Elements)> {
    let x = vec![
        Vec3::zeros(),
        Vec3::new(0.3, 0.02, 0.0),
        Vec3::new(0.05, 0.4, 0.03),
        Vec3::new(0.0, 0.1, 0.25),
        Vec3::new(0.3, 0.3, 0.4),
    ];
    let tets = [[0, 1, 2, 3], [1, 2, 3, 4]];
    let stiff = Material::new(1e5, 0.45, 1000.0).unwrap();
    let mut all = vec![(x.clone(), Elements::tetrahedra(&x, &tets, &stiff))];
    let shrinking = Material::new(1e5, -0.3, 1000.0).unwrap();
    all.push((x.clone(), Elements::tetrahedra(&x, &tets, &shrinking)));
    for hexahedra in [false, true] {
        let bar = BarOptions {
            hexahedra,
            cells_along: 4,
            ..Default::default()
        };
        let body = bar.build();
        all.push((body.lattice().vertices().to_vec(), body.elements().clone()));
    }
    all
}

fn wobble(x: &[Vec3], size: f64, phase: f64) -> Vec<Vec3> {
    let f = |x: &Vec3, a: f64| (a * (x.x + 2.0 * x.y + 3.0 * x.z) + phase).sin() * size;
    x.iter()
        .map(|x| Vec3::new(f(x, 11.0), f(x, 7.0), f(x, 5.0)))
        .collect()
}

fn dot(a: &[Vec3], b: &[Vec3]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a.dot(b)).sum()
}

fn displace(u: &[Vec3], d: &[Vec3], by: f64) -> Vec<Vec3> {
    u.iter().zip(d).map(|(u, d)| u + d * by).collect()
}

fn gradient(elements: &Elements, model: ElasticModel, u: &[Vec3]) -> Vec<Vec3> {
    let mut g = vec![Vec3::zeros(); u.len()];
    elements.gradient(model, u, &mut g);
    g
}

fn hessian(
    elements: &Elements,
    model: ElasticModel,
    u: &[Vec3],
    curvature: Curvature,
) -> BlockMatrix {
    let mut k = zeros(elements.node_count(), elements.all_corners());
    elements.hessian(model, u, curvature, &mut k);
    k
}

fn norm(x: &[Vec3]) -> f64 {
    dot(x, x).sqrt()
}

/// Gradient and Hessian agree with differences of the energy, also for inverted shapes.
#[test]
fn gradient_and_hessian_match_differences() {
    for (x, elements) in bodies() {
        for model in ElasticModel::ALL {
            // Small, large, and inverted.
            for size in [0.003, 0.1, 1.0] {
                let u = wobble(&x, size, 0.3);
                let g = gradient(&elements, model, &u);
                let k = hessian(&elements, model, &u, Curvature::Exact);
                for phase in 0..4 {
                    let d = wobble(&x, 1.0, f64::from(phase));
                    let h = 3e-5 * size;
                    // Richardson's extrapolation: fourth order.
                    let slope = |h: f64| {
                        let at = |t: f64| elements.energy(model, &displace(&u, &d, t));
                        (at(h) - at(-h)) / (2.0 * h)
                    };
                    let slope = (4.0 * slope(100.0 * h) - slope(200.0 * h)) / 3.0;
                    let exact = dot(&g, &d);
                    assert!((slope - exact).abs() < 1e-6 * norm(&g) * norm(&d));
                    let mut kd = d.clone();
                    k.times(&d, &mut kd);
                    let (up, down) = (displace(&u, &d, h), displace(&u, &d, -h));
                    let (up, down) = (
                        gradient(&elements, model, &up),
                        gradient(&elements, model, &down),
                    );
                    let change: Vec<Vec3> = up
                        .iter()
                        .zip(&down)
                        .map(|(a, b)| (a - b) / (2.0 * h))
                        .collect();
                    let off = norm(&displace(&change, &kd, -1.0));
                    assert!(
                        off < 1e-6 * norm(&kd),
                        "{model:?} {size} {off} {}",
                        norm(&kd)
                    );
                }
            }
        }
    }
}

/// Rigid motions cost no energy, and at rest the Hessian is the linear stiffness.
#[test]
fn rigid_motion_costs_no_energy() {
    for (x, elements) in bodies() {
        let stretch: Vec<Vec3> = x.iter().map(|x| Vec3::new(0.0, 0.0, 0.01 * x.z)).collect();
        let stiffness = elements.stiffness_matrix();
        for model in ElasticModel::ALL {
            let unit = elements.energy(model, &stretch);
            assert!(unit > 0.0);
            for (angle, shift) in [(0.0, 1e3), (2.1, 0.0), (-3.1, 50.0), (1e-6, 0.0)] {
                let rigid = Isometry3::from_parts(
                    Translation3::new(shift, -2.0 * shift, 0.5 * shift),
                    UnitQuaternion::from_scaled_axis(Vec3::new(0.6, -0.64, 0.48) * angle),
                );
                let u: Vec<Vec3> = x
                    .iter()
                    .map(|x| rigid * nalgebra::Point3::from(*x) - nalgebra::Point3::from(*x))
                    .collect();
                let energy = elements.energy(model, &u).abs();
                if model != ElasticModel::Linear || angle.abs() < 1e-3 {
                    assert!(
                        energy < 1e-10 * unit,
                        "{model:?} {angle} {shift} {}",
                        energy / unit
                    );
                }
            }
            let zero = vec![Vec3::zeros(); x.len()];
            let k = hessian(&elements, model, &zero, Curvature::Exact);
            let largest = stiffness.data().iter().map(Mat3::amax).fold(0.0, f64::max);
            for (a, b) in k.data().iter().zip(stiffness.data()) {
                assert!((a - b).amax() < 1e-12 * largest);
            }
            let forces = elements.gradient(model, &zero, &mut vec![Vec3::zeros(); x.len()]);
            let mut g = zero.clone();
            elements.gradient(model, &zero, &mut g);
            assert!(norm(&g) <= forces.rounding);
        }
    }
}

/// Inverted, flat and huge shapes give finite energies and gradients.
#[test]
fn degenerate_shapes_stay_finite() {
    for (x, elements) in bodies() {
        let to = |place: &dyn Fn(&Vec3) -> Vec3| -> Vec<Vec3> {
            x.iter().map(|x| place(x) - x).collect()
        };
        let shapes = [
            to(&|x| -x),
            to(&|x| Vec3::new(x.x, x.y, -2.0 * x.z)),
            to(&|x| Vec3::new(x.x, x.y, 0.0)),
            to(&|_| Vec3::new(1.0, 2.0, 3.0)),
            to(&|x| x * 1e20),
            wobble(&x, 1e15, 0.0),
        ];
        for model in ElasticModel::ALL {
            for (i, u) in shapes.iter().enumerate() {
                assert!(elements.energy(model, u).is_finite());
                assert!(
                    gradient(&elements, model, u)
                        .iter()
                        .all(|g| g.norm().is_finite())
                );
                for curvature in [Curvature::Exact, Curvature::Convex(1e-3)] {
                    let k = hessian(&elements, model, u, curvature);
                    assert!(k.data().iter().flatten().all(|x| x.is_finite()));
                }
                assert_eq!(elements.inverted_piece_count(u) > 0, i != 4, "{i}");
            }
            // Inverted, neo-Hookean flesh is under load; a mirror image is not to be at rest.
            if model == ElasticModel::NeoHookean {
                let mirror = to(&|x| Vec3::new(x.x, x.y, -x.z));
                assert!(elements.energy(model, &mirror) > 0.0);
                assert!(norm(&gradient(&elements, model, &mirror)) > 0.0);
            }
        }
    }
}
