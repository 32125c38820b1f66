// SPDX-License-Identifier: MIT OR Apache-2.0
//! Properties of every template's field, over the table of kinds.

use super::*;
use crate::surface::shapes::{Random, random_points};

/// Returns one template of each kind, of different sizes and signs.
fn templates() -> impl Iterator<Item = Template> {
    let kinds = TemplateKind::ALL.iter().enumerate();
    kinds.map(|(i, &kind)| {
        let size = 0.2 + 0.05 * (i % 4) as f64;
        Template::with_reach(kind, size, [700.0, -50.0, 20.0][i % 3]).unwrap()
    })
}

/// The largest force of a template is its strength.
#[test]
fn largest_force_is_strength() {
    for t in templates() {
        // A search that narrows down around the best point so far.
        let (mut best, mut at, mut span) = (0.0, Vec3::zeros(), t.support_radius());
        let mut random = Random(7);
        for round in 0..400 {
            for _ in 0..500 {
                let y = at + Vec3::from_fn(|_, _| (2.0 * random.next() - 1.0) * span);
                let force = t.force(&y).norm();
                if force > best {
                    (best, at) = (force, y);
                }
            }
            if round > 20 {
                span *= 0.95;
            }
        }
        let strength = t.strength().abs();
        assert!((best - strength).abs() < 1e-9 * strength, "{t:?}: {best}");
    }
}

/// The derivatives by place and by parameters agree with finite differences.
#[test]
fn template_derivatives_match_differences() {
    for t in templates() {
        let mut inside = 0;
        for y in random_points(400, t.support_radius(), 3) {
            let Some(d) = t.derivatives(&y) else {
                assert_eq!(t.force(&y), Vec3::zeros());
                continue;
            };
            assert!((d.force - t.force(&y)).norm() <= 1e-14 * t.strength().abs());
            // Differences across the boundary see a jump of the second derivative.
            if t.distance(&y) > -1e-4 {
                continue;
            }
            inside += 1;
            let h = 1e-5 * t.radius();
            let scale = t.strength().abs() / t.radius();
            for axis in 0..3 {
                let step = Vec3::ith(axis, h);
                let slope = (t.force(&(y + step)) - t.force(&(y - step))) / (2.0 * h);
                let error = (d.by_place.column(axis) - slope).norm();
                assert!(error < 1e-7 * scale, "{t:?} {y:?} axis {axis}: {error}");
            }
            for (i, name) in t.kind().spec().parameter_names().iter().enumerate() {
                let by = |step: f64| {
                    let mut p = t.parameters().to_vec();
                    p[i] += step;
                    Template::new(t.kind(), &p).unwrap().force(&y)
                };
                // The force is linear in the strength: a step as large as half of it rounds least.
                let (h, scale) = match *name {
                    "strength" => (0.5 * t.strength().abs(), 1.0),
                    _ => (1e-5 * t.parameters()[i].abs().min(t.radius()), scale),
                };
                let slope = (by(h) - by(-h)) / (2.0 * h);
                let error = (d.by_parameter[i] - slope).norm();
                assert!(error < 1e-7 * scale, "{t:?} {y:?} by {name}: {error}");
            }
        }
        assert!(inside > 40, "{t:?}: {inside}");
    }
}

/// The force and its slope are zero at the border of the support and beyond it.
#[test]
fn force_vanishes_at_border() {
    for t in templates() {
        // Points at which rays from inside leave the support.
        let mut random = Random(11);
        let inside = random_points(2000, t.support_radius(), 11).into_iter();
        let inside = inside.filter(|y| t.distance(y) < -0.1 * t.radius());
        let border: Vec<Vec3> = inside
            .take(300)
            .map(|start| {
                let way = Vec3::from_fn(|_, _| random.next() - 0.5).normalize();
                let (mut near, mut far) = (0.0, 2.0 * t.support_radius());
                for _ in 0..60 {
                    let middle = 0.5 * (near + far);
                    if t.distance(&(start + way * middle)) < 0.0 {
                        near = middle;
                    } else {
                        far = middle;
                    }
                }
                start + way * near
            })
            .collect();
        assert!(border.len() > 100);
        for y in border {
            assert!(t.distance(&y).abs() < 1e-12);
            let mut before = f64::INFINITY;
            for step in [1e-2, 1e-4, 1e-6] {
                // Towards the inside along the gradient of the distance.
                let normal = Vec3::from_fn(|axis, _| {
                    let e = Vec3::ith(axis, 1e-6);
                    (t.distance(&(y + e)) - t.distance(&(y - e))) / 2e-6
                });
                let length = step * t.radius();
                let d = t.derivatives(&(y - normal * length)).expect("within");
                let (force, slope) = (d.force.norm(), d.by_place.norm() * t.radius());
                let small = 40.0 * t.strength().abs() * step;
                assert!(force < small * step * 10.0 && slope < small, "{t:?} {step}");
                assert!(slope < before);
                before = slope;
                assert_eq!(t.force(&(y + normal * length)), Vec3::zeros());
            }
        }
    }
}

/// Parameters that do not make a field are refused by name.
#[test]
fn template_refuses_bad_parameters() {
    let refused = |kind, p: &[f64]| Template::new(kind, p).unwrap_err().to_string();
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(refused(TemplateKind::Bump, &[bad, 1.0]).contains("radius"));
        assert!(refused(TemplateKind::Torus, &[1.0, bad, 1.0]).contains("tube_radius"));
    }
    assert!(refused(TemplateKind::Radial, &[1.0, f64::NAN]).contains("strength"));
    for tube in [1.0, 2.0] {
        let e = Template::new(TemplateKind::Torus, &[1.0, tube, 1.0]).unwrap_err();
        assert!(matches!(e, RigError::Nested { .. }), "{e}");
    }
    assert!(refused(TemplateKind::Bump, &[1.0]).contains('2'));
    let unknown = "blob".parse::<TemplateKind>().unwrap_err().to_string();
    assert!(
        unknown.contains("'blob'") && unknown.contains("'torus'"),
        "{unknown}"
    );
}

/// A template made for a given reach has that reach, and so has its outline.
#[test]
fn sized_template_has_given_reach() {
    for &kind in TemplateKind::ALL {
        for (reach, strength) in [(1e-3, 1.0), (0.25, -1.0), (40.0, 5e4)] {
            let t = Template::with_reach(kind, reach, strength).unwrap();
            assert!((t.support_radius() / reach - 1.0).abs() < 1e-12);
            assert!(t.radius() <= reach && t.depth() <= 2.0 * reach && t.depth() > 0.0);
            let ends: Vec<Vec3> = t.outline().into_iter().flatten().collect();
            let far = ends.iter().map(Vec3::norm).fold(0.0, f64::max);
            assert!((far / reach - 1.0).abs() < 1e-9, "{kind:?}: {far}");
            assert!(ends.iter().all(|x| t.distance(x) < 1e-9 * reach));
        }
        assert!(kind.tilt().abs() < std::f64::consts::PI);
        assert_eq!(kind.name().parse::<TemplateKind>().unwrap(), kind);
        assert_eq!(
            kind.spec().parameters.last().unwrap().kind,
            ParameterKind::Strength
        );
    }
}
