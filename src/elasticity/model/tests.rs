// SPDX-License-Identifier: MIT OR Apache-2.0
//! Derivatives of the densities by differences, and their limits.

use super::*;

fn density(model: ElasticModel) -> Density {
    Density {
        model,
        lame: 1.7,
        shear: 0.6,
    }
}

/// Returns displacement gradients from small to inverted, flat and collapsed.
fn shapes() -> Vec<Mat3> {
    let m = Mat3::new(0.3, -0.2, 0.5, 0.1, 0.4, -0.3, 0.2, 0.6, -0.1);
    let flat = Mat3::from_diagonal(&Vec3::new(0.1, 0.2, -1.0));
    let mirrored = Mat3::from_diagonal(&Vec3::new(-0.1, 0.2, -1.9)) + m * 0.2;
    vec![
        Mat3::zeros(),
        m * 0.01,
        m,
        m * -1.4,
        flat,
        -Mat3::identity(),
        mirrored,
        m * 20.0,
    ]
}

/// Returns `δH : ∂P/∂H : δH'`, from the blocks of unit gradients.
fn curvature(tangent: &StressTangent, d: &Mat3, e: &Mat3) -> f64 {
    let mut sum = 0.0;
    for j in 0..3 {
        for l in 0..3 {
            let unit = |i: usize| Vec3::from_fn(|r, _| f64::from(u8::from(r == i)));
            let (mut turned, mut blocks) = ([TangentProducts::default(); 2], [Mat3::zeros(); 3]);
            tangent.add_blocks(&[unit(j), unit(l)], 1.0, &mut turned, &mut blocks);
            let block = blocks[1];
            sum += d.column(j).dot(&(block * e.column(l)));
        }
    }
    sum
}

fn directions() -> impl Iterator<Item = Mat3> {
    (0..9).map(|i| Mat3::from_fn(|r, c| ((i * 7 + r * 3 + c) as f64 * 1.3).sin()))
}

/// Stress and tangent are the first and second derivatives of the energy density.
#[test]
fn stress_and_tangent_match_differences() {
    for model in ElasticModel::ALL {
        let w = density(model);
        for h in shapes() {
            let size = 1.0 + h.norm();
            let step = 1e-4 * size;
            let scale = size.powi(3);
            for d in directions() {
                let (up, down) = (h + d * step, h - d * step);
                let slope = (w.value(&up) - w.value(&down)) / (2.0 * step);
                assert!((slope - w.stress(&h).dot(&d)).abs() < 1e-6 * scale);
                let change = (w.stress(&up) - w.stress(&down)) / (2.0 * step);
                let tangent = w.tangent(&h, Curvature::Exact);
                for e in directions() {
                    assert!((change.dot(&e) - curvature(&tangent, &d, &e)).abs() < 1e-6 * scale);
                }
            }
        }
    }
}

/// Near rest every model equals the linear model.
#[test]
fn models_are_linear_near_rest() {
    let linear = density(ElasticModel::Linear);
    for model in ElasticModel::ALL {
        let w = density(model);
        for d in directions() {
            let h = d * 1e-4;
            let exact = linear.value(&h);
            assert!((w.value(&h) - exact).abs() < 1e-3 * exact);
            for e in directions() {
                let [a, b] = [w, linear]
                    .map(|w| curvature(&w.tangent(&Mat3::zeros(), Curvature::Exact), &d, &e));
                assert!((a - b).abs() < 1e-13);
            }
        }
    }
}

/// The convex curvature equals the exact one if that is convex, and is positive otherwise.
#[test]
fn convex_curvature_matches_exact() {
    for model in ElasticModel::ALL {
        let w = density(model);
        for h in shapes() {
            let exact = w.tangent(&h, Curvature::Exact);
            let below = w.tangent(&h, Curvature::Convex(-1e9));
            let convex = w.tangent(&h, Curvature::Convex(0.01));
            let scale = (1.0 + h.norm()).powi(4);
            for d in directions() {
                for e in directions() {
                    let (a, b) = (curvature(&exact, &d, &e), curvature(&below, &d, &e));
                    assert!((a - b).abs() < 1e-9 * scale, "{model:?} {a} {b} {h}");
                }
                let (a, b) = (curvature(&exact, &d, &d), curvature(&convex, &d, &d));
                assert!(b >= a - 1e-9 * scale);
                if model != ElasticModel::Linear {
                    assert!(b >= 0.005 * w.shear * d.norm_squared());
                }
            }
        }
    }
}

/// Every model is found by its name, and an unknown name is refused with a list.
#[test]
fn model_names_parse() {
    for model in ElasticModel::ALL {
        assert_eq!(model.name().parse(), Ok(model));
    }
    let error = "rubber".parse::<ElasticModel>().unwrap_err().to_string();
    assert!(error.contains("'rubber'") && error.contains("'linear', 'stvk', 'neohookean'"));
}

/// The principal curvatures are second derivatives of the density by principal stretches.
#[test]
fn principal_curvatures_match_density() {
    let step = 1e-3;
    for model in ElasticModel::ALL {
        let w = density(model);
        let at = |s: Vec3| w.value(&(Mat3::from_diagonal(&s) - Mat3::identity()));
        for s in [[1.0, 1.0, 1.0], [1.3, 0.8, 1.1], [0.5, 0.7, 1.9]].map(Vec3::from) {
            for i in 0..3 {
                let by = |t: f64| at(s + Vec3::from_fn(|k, _| if k == i { t } else { 0.0 }));
                let second = (by(step) + by(-step) - 2.0 * by(0.0)) / (step * step);
                let found = w.second_derivative(&s, i);
                assert!((found - second).abs() < 1e-4, "{model:?} {found} {second}");
            }
        }
    }
}

/// Flesh at rest resists every small strain, for every Poisson's ratio.
#[test]
fn rest_resists_for_every_poisson() {
    for poisson in [-0.99, -0.9, -0.5, 0.0, 0.45] {
        let material = crate::elasticity::Material::new(1.0, poisson, 1000.0).unwrap();
        let (lame, shear) = (material.lame(), material.shear());
        for model in ElasticModel::ALL {
            let w = Density { model, lame, shear };
            let c = w.coefficients();
            assert!(c.bulk > 0.0 && c.alpha > 1.0, "{model:?} {poisson}");
            assert!(c.stiffening >= 0.0);
            for d in directions() {
                assert!(w.value(&(d * 1e-3)) > 0.0, "{model:?} {poisson}");
            }
        }
    }
}
